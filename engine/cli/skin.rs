//! `flounce skin`: fewer influences per vertex, and what that costs.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use flounce::assets::check::counted;
use flounce::assets::patch::{self, Written};
use flounce::assets::skin::{
    self, PoseReport, SkinOptions, SkinReport, StoredWeights, ZeroWeights,
};
use flounce::assets::state_hash;
use flounce::assets::{Error, import};

use super::{bytes, file_size, progress_bar, show_warnings, table};

/// Trim a model's skin weights to a few influences per vertex and measure what that does.
///
/// Every vertex of every skinned primitive keeps its strongest influences, of all its sets, with a sum of 1. Primitives
/// that are within the limit already, with sums of 1, stay as they are; so does every other byte of the file: new weights
/// are added, the old ones stay unused until another tool packs the file. For the rest pose and every clip the table
/// shows how far vertices move: the largest distance, what 99 of 100 stay within, and the largest bound (dropped weight
/// times the distance between the places where single joints would put the vertex). Morph targets are not applied.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce skin hero.glb --limit 4 -o hero_4.glb\n  \
    flounce skin hero.vrm --limit 2 -o crowd.vrm --weights u8 --report crowd.json\n  \
    flounce skin hero.gltf --limit 4 -o out.gltf --zero-weights bind-first --rate 60")]
pub struct SkinArguments {
    /// The model: .glb, .gltf or .vrm
    model: PathBuf,
    /// Influences that a vertex keeps, 1 to 8; more than 4 take a second set
    #[arg(long, value_name = "K", default_value_t = 4)]
    limit: usize,
    /// The output, in a folder that exists; .glb or .vrm for a binary model, .gltf (with a .bin beside it) for a .gltf.
    /// Default: MODEL.skinned.EXT
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// How new weights are stored; those of primitives that stay as they are keep their type
    #[arg(long, value_enum, value_name = "TYPE", default_value_t)]
    weights: Weights,
    /// What to do with vertices whose weights are all 0
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    zero_weights: Zero,
    /// Poses measured per second of a clip
    #[arg(long, value_name = "HZ", default_value_t = 30.0)]
    rate: f64,
    /// Write the report as JSON as well
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Overwrite the output and the report, even where the output is the model
    #[arg(long)]
    force: bool,
    /// No progress, no summary
    #[arg(short, long)]
    quiet: bool,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Weights {
    /// Floats
    #[default]
    F32,
    /// 16 bits, of sum 65535
    U16,
    /// 8 bits, of sum 255
    U8,
}

#[derive(Clone, Copy, Default, ValueEnum)]
enum Zero {
    /// Refuse the model
    #[default]
    Refuse,
    /// Have them follow the joint of their first slot
    BindFirst,
}

impl SkinArguments {
    fn options(&self) -> SkinOptions {
        SkinOptions {
            limit: self.limit,
            weights: match self.weights {
                Weights::F32 => StoredWeights::F32,
                Weights::U16 => StoredWeights::U16,
                Weights::U8 => StoredWeights::U8,
            },
            zero_weights: match self.zero_weights {
                Zero::Refuse => ZeroWeights::Refuse,
                Zero::BindFirst => ZeroWeights::BindFirst,
            },
            rate_hz: self.rate,
        }
    }
}

/// Runs the command.
pub fn run(arguments: &SkinArguments) -> Result<ExitCode, Error> {
    let out = arguments.output.clone();
    let out = out.unwrap_or_else(|| super::default_output(&arguments.model, "skinned"));
    let options = arguments.options();
    // Said before the work is done, not after.
    skin::check(&options)?;
    refuse_files(arguments, &out)?;
    // The output may take the model's place.
    let before = file_size(&arguments.model);
    let hash = arguments
        .report
        .as_ref()
        .map(|_| hash(&arguments.model))
        .transpose()?;
    let (model, container) = import::read_model(&arguments.model)?;
    show_warnings(&model.warnings);
    patch::check_output(container.form, &out)?;
    let poses = skin::count_frames(&model, &options);
    let bar = progress_bar(poses, "poses", arguments.quiet);
    let (patched, report) = skin::trim_weights(&container, &model, &options, &out, &|poses| {
        bar.inc(poses);
    })?;
    bar.finish_and_clear();
    show_warnings(&report.warnings);
    show_warnings(&patched.warnings);
    let written = patch::write(&patched, &out, arguments.force)?;
    show_warnings(&written.warnings);
    if let Some(file) = &arguments.report {
        let model = arguments.model.display().to_string();
        let json = report.to_json(&model, hash.as_deref().unwrap_or_default());
        patch::write_file(file, format!("{json:#}\n").as_bytes(), arguments.force)?;
    }
    if !arguments.quiet {
        print_poses(&report);
        print_summary(&report, &written, before);
    }
    warn_not_finite(&report);
    Ok(ExitCode::SUCCESS)
}

/// Refuses outputs that would be lost or would take something with them.
fn refuse_files(arguments: &SkinArguments, out: &Path) -> Result<(), Error> {
    if let Some(report) = &arguments.report {
        patch::refuse_same(report, &arguments.model)?;
        patch::check_folder(report)?;
        if patch::same_place(report, out) {
            return Err(Error::Request(format!(
                "{}: output and report have one name; choose another",
                out.display()
            )));
        }
    }
    if !arguments.force {
        patch::refuse_same(out, &arguments.model)?;
        let files = [Some(out), arguments.report.as_deref()];
        if let Some(taken) = files.into_iter().flatten().find(|file| file.exists()) {
            return Err(Error::Exists(taken.to_path_buf()));
        }
    }
    Ok(())
}

/// The BLAKE3 of a file, as `b3sum` prints it.
fn hash(file: &Path) -> Result<String, Error> {
    let bytes = std::fs::read(file).map_err(|error| Error::io(file, "read", error))?;
    Ok(state_hash::of_bytes(&bytes).to_hex())
}

fn print_poses(report: &SkinReport) {
    let header = ["clip", "poses", "largest mm", "p99 mm", "bound mm", "where"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(report.poses.iter().map(row));
    println!("{}", table(&rows));
}

fn row(pose: &PoseReport) -> Vec<String> {
    let millimetres = |metres: f64| format!("{:.3}", metres * 1e3);
    let place = pose.worst.map_or_else(String::new, |worst| {
        format!(
            "mesh {}, primitive {}, vertex {} at {:.3} s",
            worst.mesh, worst.primitive, worst.vertex, worst.time
        )
    });
    vec![
        pose.name().to_owned(),
        pose.frames.to_string(),
        millimetres(pose.worst.map_or(0.0, |worst| worst.error)),
        millimetres(pose.percentile_99),
        millimetres(pose.bound),
        place,
    ]
}

fn print_summary(report: &SkinReport, written: &Written, before: u64) {
    println!(
        "{} of {} changed; {} of {} vertices lost influences, at most {:.2} % of their weight, {:.3} % on average",
        report.changed,
        counted(report.primitives, "skinned primitive"),
        report.trimmed,
        report.vertices,
        report.dropped_largest * 100.0,
        report.dropped_mean() * 100.0,
    );
    for file in &written.files {
        println!(
            "{} ({}, input {})",
            file.display(),
            bytes(file_size(file)),
            bytes(before)
        );
    }
}

fn warn_not_finite(report: &SkinReport) {
    for pose in report.poses.iter().filter(|pose| pose.not_finite > 0) {
        eprintln!(
            "warning: {}: {} of {} errors are not finite and were left out",
            pose.name(),
            pose.not_finite,
            pose.samples
        );
    }
}
