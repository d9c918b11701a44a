//! `flounce plan`: the jobs of a batch as a manifest, for many machines.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use flounce::assets::batch::{self, ContentHash, Plan};
use flounce::assets::check::counted;
use flounce::assets::{Error, patch};

use super::product::{ProductArguments, misuse};
use super::{bytes, file_size, show_error, show_warnings};

/// Write the jobs of a batch into a manifest.
///
/// The manifest (JSON, schema flounce.manifest) has the jobs in a fixed order with their outputs, options and the hashes
/// of every input. Its paths are relative to its folder. `flounce batch --manifest` runs it, whole or in parts, on any
/// machine that has the files; a manifest that was edited and a file that changed since are refused.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce plan models --rig hair.ron --out-dir out -o manifest.json\n  \
    flounce plan 'cast/*.glb' --rig hair.ron skirt.ron --loop --out-dir out --name '{model}/{rig}.{clip}.{ext}' -o manifest.json\n\n\
    Then, on four machines, and at the end on one:\n  \
    flounce batch --manifest manifest.json --shard 1/4 --report part1.json\n  \
    flounce merge part*.json --manifest manifest.json -o report.json\n\n\
    Exit codes: 0 written, 1 a model or a rig cannot be read, 2 misuse.")]
pub struct PlanArguments {
    #[command(flatten)]
    product: ProductArguments,
    /// Where outputs go, unless `flounce batch` is told otherwise; need not exist
    #[arg(long, value_name = "DIR")]
    out_dir: PathBuf,
    /// The manifest, in a folder that exists
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Overwrite the manifest
    #[arg(long)]
    force: bool,
    /// No summary
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &PlanArguments) -> Result<ExitCode, Error> {
    let plan = match plan(arguments) {
        Ok(plan) => plan,
        Err(error) => return misuse(error),
    };
    if refuse_faults(&plan) {
        return Ok(ExitCode::FAILURE);
    }
    plan.manifest.write(&arguments.output, arguments.force)?;
    if !arguments.quiet {
        print_summary(&plan, &arguments.output);
    }
    Ok(ExitCode::SUCCESS)
}

fn plan(arguments: &PlanArguments) -> Result<Plan, Error> {
    let PlanArguments {
        out_dir, output, ..
    } = arguments;
    patch::check_folder(output)?;
    if output.exists() && !arguments.force {
        return Err(Error::Exists(output.clone()));
    }
    let base = match output.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let request = arguments.product.request(out_dir, Some(base))?;
    for input in request
        .models
        .iter()
        .map(|it| &it.file)
        .chain(&request.rigs)
    {
        patch::refuse_same(output, input)?;
    }
    batch::plan(&request)
}

/// Shows each reason once why something cannot be read; whether there is one. Jobs of what can be read that are known to
/// fail are warned of: the others are as good as without them.
fn refuse_faults(plan: &Plan) -> bool {
    let manifest = &plan.manifest;
    let none = ContentHash::default();
    let (mut shown, mut warnings) = (BTreeSet::new(), Vec::new());
    for (fault, entry) in plan.faults.iter().zip(&manifest.entries) {
        let Some(fault) = fault else {
            continue;
        };
        if manifest.models[entry.model].hash != none && manifest.rigs[entry.rig].hash != none {
            let job = manifest.describe(entry);
            warnings.push(format!("job {} ({job}) will fail: {fault}", entry.number));
            continue;
        }
        if shown.insert(fault.to_string()) {
            show_error(fault);
        }
    }
    show_warnings(&warnings);
    !shown.is_empty()
}

fn print_summary(plan: &Plan, file: &Path) {
    let manifest = &plan.manifest;
    let clips = manifest.entries.iter().map(|entry| entry.clips).sum();
    let frames: u64 = manifest.entries.iter().map(|entry| entry.frames).sum();
    println!(
        "{} of {} and {}; {}, {}",
        counted(manifest.entries.len(), "job"),
        counted(manifest.models.len(), "model"),
        counted(manifest.rigs.len(), "rig"),
        counted(clips, "clip"),
        counted(frames as usize, "frame"),
    );
    println!(
        "{} ({}, hash {})",
        file.display(),
        bytes(file_size(file)),
        manifest.hash.short()
    );
}
