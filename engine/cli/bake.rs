//! `flounce bake`: swing motion into a model's clips.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use flounce::assets::Error;
use flounce::assets::bake::{self, BakeOptions, BakeReport, ClipReport};
use flounce::assets::check::counted;
use flounce::assets::patch::{self, QUANTIZATION_DEG, Written};

use super::baking::BakingArguments;
use super::{Rigged, bytes, file_size, progress_bar, read_rigged, show_warnings, table};

/// Simulate swing joints on a model's clips and write the motion into them.
///
/// Every clip (or those named) is played over its real length; what the swing joints did (rotations, of slide joints
/// translations) and what drivers set replaces the tracks that the clip had for it. Everything else in the file stays as
/// it is, byte for byte.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce bake fox.glb --rig fox_tail.ron -o fox_swinging.glb\n  \
    flounce bake hero.glb --rig hair.ron -o out.glb --clip walk --clip run --loop\n  \
    flounce bake hero.gltf --rig hair.ron -o out.gltf --rate 30 --tolerance-deg 0.1 --quantize\n  \
    flounce bake hero.glb --rig hair.ron -o out.glb --profile delta=current --profile prewarm=0")]
pub struct BakeArguments {
    /// The model: .glb, .gltf or .vrm
    model: PathBuf,
    /// The rig file (RON): which joints swing, and how; its legs move in scenes only, see `flounce run`
    #[arg(long, value_name = "RIG.ron")]
    rig: PathBuf,
    /// The output, in a folder that exists; .glb or .vrm for a binary model, .gltf (with a .bin beside it) for a .gltf.
    /// Default: MODEL.baked.EXT
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    #[command(flatten)]
    baking: BakingArguments,
    /// Print the hash of the state after every frame: #ANIMATION CLIP frame N HASH
    #[arg(long)]
    hashes: bool,
    /// Overwrite the output, even where it is the model
    #[arg(long)]
    force: bool,
    /// No progress, no summary
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &BakeArguments) -> Result<ExitCode, Error> {
    let begin = Instant::now();
    let out = arguments.output.clone();
    let out = out.unwrap_or_else(|| super::default_output(&arguments.model, "baked"));
    // Said before the work is done, not after.
    let options = BakeOptions {
        hashes: arguments.hashes,
        ..arguments.baking.options()?
    };
    patch::refuse_same(&out, &arguments.rig)?;
    if !arguments.force {
        patch::refuse_same(&out, &arguments.model)?;
        if out.exists() {
            return Err(Error::Exists(out));
        }
    }
    // The output may take the model's place.
    let before = file_size(&arguments.model);
    let Rigged {
        model,
        container,
        rig,
        ..
    } = read_rigged(&arguments.model, &arguments.rig)?;
    patch::check_output(container.form, &out)?;
    let clips = bake::select_clips(&model, &options)?;
    if arguments.baking.names_seconds() && !model.clips.is_empty() {
        show_warnings(&[
            "--seconds has no effect: the model has clips, which keep their lengths".to_owned(),
        ]);
    }
    let bar = progress_bar(
        bake::count_frames(&clips, &options),
        "frames",
        arguments.quiet,
    );
    let (patched, report) = bake::bake(&container, &rig, &clips, &options, &out, &|frames| {
        bar.inc(frames);
    })?;
    bar.finish_and_clear();
    show_warnings(&report.warnings);
    show_warnings(&patched.warnings);
    let written = patch::write(&patched, &out, arguments.force)?;
    show_warnings(&written.warnings);
    print_hashes(&report);
    if !arguments.quiet {
        print_clips(&report, &options);
        print_summary(&report, &written, before, begin.elapsed().as_secs_f64());
        print_quantization(&report, options.tolerance_deg);
    }
    warn_invalid(&report);
    Ok(ExitCode::SUCCESS)
}

fn print_hashes(report: &BakeReport) {
    for clip in &report.clips {
        for (frame, hash) in clip.hashes.iter().enumerate() {
            println!("#{} {} frame {frame} {hash}", clip.index, clip.name);
        }
    }
}

fn print_clips(report: &BakeReport, options: &BakeOptions) {
    let mut header = vec![
        "clip",
        "seconds",
        "keys/joint",
        "substeps",
        "largest deflection",
    ];
    if options.quantize {
        header.push("16 bits");
    }
    if options.looped {
        header.extend(["passes", "seam mm", "seam mm/s"]);
    }
    let mut rows = vec![header.into_iter().map(str::to_owned).collect()];
    rows.extend(
        report
            .clips
            .iter()
            .map(|clip| row(clip, report.joints + report.driven)),
    );
    println!("{}", table(&rows));
}

fn row(clip: &ClipReport, joints: usize) -> Vec<String> {
    let deflection = clip.deflection.as_ref().map_or_else(
        || "none".to_owned(),
        |(angle, joint)| format!("{:.1}° {joint}", angle.to_degrees()),
    );
    let keys = clip.keys as f64 / joints.max(1) as f64;
    let mut row = vec![
        clip.name.clone(),
        format!("{:.3}", clip.seconds),
        format!("{keys:.0}"),
        clip.substeps.to_string(),
        deflection,
    ];
    if let Some(error) = clip.quantization {
        row.push(format!("{:.4}°", error.to_degrees()));
    }
    if let Some(seam) = clip.seam {
        row.push(seam.passes.to_string());
        row.push(format!("{:.3}", seam.position * 1e3));
        row.push(format!("{:.2}", seam.velocity * 1e3));
    }
    row
}

fn print_summary(report: &BakeReport, written: &Written, before: u64, seconds: f64) {
    let steps = report.substeps() * report.joints as u64;
    let each = report.busy_seconds * 1e9 / steps.max(1) as f64;
    println!(
        "{}, {}, {}; {each:.0} ns per joint-substep with sampling and recording; {seconds:.2} s in all",
        counted(report.clips.len(), "clip"),
        joints(report),
        counted(report.substeps() as usize, "substep"),
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

/// What storing rotations as integers turned them by, where they are.
fn print_quantization(report: &BakeReport, tolerance_deg: f32) {
    let errors = report.clips.iter().filter_map(|clip| clip.quantization);
    let Some(largest) = errors.reduce(f64::max) else {
        return;
    };
    let reduced = if tolerance_deg > 0.0 {
        format!(", on top of the {tolerance_deg}° of --tolerance-deg")
    } else {
        String::new()
    };
    println!(
        "rotations in 16 bits: keys turn by at most {:.4}° (never more than {QUANTIZATION_DEG}°){reduced}",
        largest.to_degrees()
    );
}

/// How many joints move, and how many of them only because drivers set them.
fn joints(report: &BakeReport) -> String {
    let swinging = counted(report.joints, "joint");
    match report.driven {
        0 => swinging,
        driven => format!("{swinging} and {driven} driven"),
    }
}

fn warn_invalid(report: &BakeReport) {
    for clip in report.clips.iter().filter(|clip| !clip.invalid.is_empty()) {
        eprintln!(
            "warning: clip \"{}\": not finite in some frame, put at rest: {}",
            clip.name,
            clip.invalid.join(", ")
        );
    }
}
