//! Where reports go: over older reports, and over nothing else.

use std::fs;
use std::path::{Component, Path, PathBuf};

use flounce::assets::batch::{Plan, names, report};
use flounce::assets::{Error, patch};
use serde::Deserialize;

/// Refuses to write a report over what is none, into a folder of ledgers, and into a folder that does not exist.
pub fn check(file: &Path) -> Result<(), Error> {
    check_content(file)?;
    patch::check_folder(file)
}

/// As [`check()`] for a run of `plan`: neither what it is going to write, and a folder below its output folder may be missing.
pub fn check_beside(file: &Path, plan: &Plan) -> Result<(), Error> {
    let (report, out_dir) = (place(file), place(&plan.out_dir));
    for entry in &plan.manifest.entries {
        for output in plan.files(entry) {
            let output = out_dir.join(output.to_lowercase());
            if report.starts_with(&output) || output.starts_with(&report) {
                return Err(Error::Request(format!(
                    "{}: found the output of {} there, expected another name for the report",
                    file.display(),
                    plan.manifest.describe(entry)
                )));
            }
        }
    }
    check_content(file)?;
    if report.starts_with(out_dir) {
        return Ok(());
    }
    patch::check_folder(file)
}

fn check_content(file: &Path) -> Result<(), Error> {
    let refuse = |why: &str| Err(Error::Request(format!("{}: {why}", file.display())));
    if names::is_reserved(&file.to_string_lossy().replace('\\', "/")) {
        return refuse("is among the ledgers of a batch, expected another folder for the report");
    }
    let Ok(data) = file.metadata() else {
        return Ok(());
    };
    if !data.is_file() {
        return refuse("is no file, expected one for the report");
    }
    if data.len() > 0 && !is_report(file) {
        return refuse(
            "exists and is no report of `flounce batch`; a report is written over nothing else",
        );
    }
    Ok(())
}

/// Of any version.
fn is_report(file: &Path) -> bool {
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let bytes = fs::read(file).unwrap_or_default();
    let head = serde_json::from_slice::<Head>(&bytes);
    head.is_ok_and(|head| head.schema == report::SCHEMA)
}

/// The absolute path with the links of all folders that exist followed, in lower case: some systems do not tell cases apart.
fn place(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let mut place = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                place.pop();
            }
            part => place.push(part),
        }
        place = place.canonicalize().unwrap_or(place);
    }
    PathBuf::from(place.to_string_lossy().to_lowercase())
}
