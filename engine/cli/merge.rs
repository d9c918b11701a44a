//! `flounce merge`: the reports of parts of a batch as one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use flounce::assets::batch::report::Merged;
use flounce::assets::batch::{Manifest, Report, merge};
use flounce::assets::check::counted;
use flounce::assets::{Error, patch};

use super::batch::summary;
use super::product::misuse;
use super::{destination, show_error};

/// Check and join the reports of the parts of a batch.
///
/// The reports have to be of one manifest and have every job; their order does not matter. The same jobs give the same
/// bytes, in however many parts they ran; times are left out. Merging the report of a whole run gives those bytes as well.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce merge part1.json part2.json part3.json -o report.json\n  \
    flounce merge part*.json --manifest manifest.json -o report.json\n  \
    flounce merge part*.json --partial -o so_far.json\n\n\
    Exit codes: 0 every job has its output; 1 some failed, are missing or differ; 2 misuse.")]
pub struct MergeArguments {
    /// Reports of `flounce batch --report`
    #[arg(value_name = "PART.json", required = true)]
    parts: Vec<PathBuf>,
    /// Check that the reports are of this manifest
    #[arg(long, value_name = "FILE")]
    manifest: Option<PathBuf>,
    /// The merged report, over what is there if that is a report
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Merge what there is, even if jobs are missing
    #[arg(long)]
    partial: bool,
    /// No summary
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &MergeArguments) -> Result<ExitCode, Error> {
    let (parts, manifest) = match read(arguments) {
        Ok(read) => read,
        Err(error) => return misuse(error),
    };
    let merged = merge(&parts, manifest.as_ref())?;
    if !merged.missing.is_empty() && !arguments.partial {
        show_error(&missing(&merged, manifest.as_ref()));
        return Ok(ExitCode::FAILURE);
    }
    merged.report.write(&arguments.output)?;
    if !arguments.quiet {
        println!("{}", summary(&merged.report));
        println!("{}", arguments.output.display());
    }
    Ok(
        if merged.report.is_complete() && merged.missing.is_empty() {
            ExitCode::SUCCESS
        } else {
            ExitCode::FAILURE
        },
    )
}

type Read = (Vec<(String, Report)>, Option<Manifest>);

fn read(arguments: &MergeArguments) -> Result<Read, Error> {
    let mut parts = Vec::with_capacity(arguments.parts.len());
    for file in &arguments.parts {
        patch::refuse_same(&arguments.output, file)?;
        parts.push((file.display().to_string(), Report::read(file)?));
    }
    let manifest = arguments.manifest.as_deref();
    if let Some(manifest) = manifest {
        patch::refuse_same(&arguments.output, manifest)?;
    }
    destination::check(&arguments.output)?;
    Ok((parts, manifest.map(Manifest::read).transpose()?))
}

fn missing(merged: &Merged, manifest: Option<&Manifest>) -> Error {
    const SHOWN: usize = 20;
    let name = |&number: &usize| {
        let entry = manifest.and_then(|manifest| manifest.entries.get(number - 1));
        entry.map_or_else(
            || number.to_string(),
            |entry| format!("{number} ({})", entry.output),
        )
    };
    let shown: Vec<String> = merged.missing.iter().take(SHOWN).map(name).collect();
    let more = if merged.missing.len() > SHOWN {
        ", …"
    } else {
        ""
    };
    Error::Request(format!(
        "{} of {} in no report: {}{more}; --partial merges the others",
        counted(merged.missing.len(), "job"),
        merged.report.planned,
        shown.join(", ")
    ))
}
