//! Reports: what became of every job; `flounce.batch`, version 1.
//!
//! ```json
//! {
//!   "schema": "flounce.batch", "version": 1, "program": "flounce 0.1.0", "plan": "HASH OF THE MANIFEST", "planned": 2,
//!   "jobs": [{"number": 1, "model": "fox.glb", "rig": "tail.ron", "clip": null, "output": "fox.tail.glb", "state": "done",
//!             "clips": 3, "frames": 184, "keys": 920, "substeps": 274, "bytes": 170000,
//!             "files": [{"file": "fox.tail.glb", "bytes": 170000, "hash": "…"}], "warnings": [], "error": null}],
//!   "totals": {"done": 1, "skipped": 0, "failed": 1, "not_run": 0, "frames": 184, "bytes": 170000},
//!   "timing": {"seconds": 0.2, "threads": 2, "jobs": [{"number": 1, "milliseconds": 110.0}]}
//! }
//! ```
//!
//! All but `timing` hangs on the manifest and the state of its files alone. [`merge`] joins the reports of parts, drops
//! `timing` and gives the same bytes in whatever order; merging the report of one process that ran everything gives those
//! bytes as well.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::PROGRAM;
use super::hash::ContentHash;
use super::ledger::{FileOf, Outcome};
use super::manifest::{Manifest, check_head};
use super::plan::Plan;
use super::portable::portable;
use crate::assets::{Error, patch};

/// What [`Report::schema`] says.
pub const SCHEMA: &str = "flounce.batch";
/// What [`Report::version`] says.
pub const VERSION: u32 = 1;

/// What a batch, a part of one or several parts together came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// Who wrote it.
    pub program: String,
    /// Hash of the manifest.
    pub plan: ContentHash,
    /// How many jobs the manifest has.
    pub planned: usize,
    /// By number.
    pub jobs: Vec<Row>,
    /// Of the jobs here.
    pub totals: Totals,
    /// How long it took, which no two runs agree on; none in what was merged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timing: Option<Timing>,
}

/// What became of a job.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Of the entry.
    pub number: usize,
    /// As the manifest has it.
    pub model: String,
    /// As the manifest has it.
    pub rig: String,
    /// The only clip, where clips are jobs of their own.
    pub clip: Option<String>,
    /// Relative to the output folder.
    pub output: String,
    /// How it ended.
    pub state: State,
    /// Clips baked.
    pub clips: usize,
    /// Frames recorded.
    pub frames: u64,
    /// Keys written.
    pub keys: u64,
    /// Substeps run.
    pub substeps: u64,
    /// Of all files together.
    pub bytes: u64,
    /// The output and what is beside it, relative to the output folder.
    pub files: Vec<FileOf>,
    /// What deserves a look, one sentence each; files as in `model`, `rig` and `files`.
    pub warnings: Vec<String>,
    /// Why it failed; files as in `model`, `rig` and `files`.
    pub error: Option<String>,
    /// See [`Outcome::quantization_microdeg`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantization_microdeg: Option<u32>,
}

/// How a job ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// Its output is there, written by this run or by the one that this one resumed.
    Done,
    /// Its output was up to date.
    Skipped,
    /// It has no output of this run.
    Failed,
    /// Another one failed before, and no more were begun.
    NotRun,
}

impl State {
    /// For people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Failed => "failed",
            Self::NotRun => "not run",
        }
    }
}

/// Jobs by state, and what those that have an output come to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[expect(missing_docs, reason = "the states of jobs, and sums of their fields")]
pub struct Totals {
    pub done: usize,
    pub skipped: usize,
    pub failed: usize,
    pub not_run: usize,
    pub frames: u64,
    pub bytes: u64,
}

/// How long a run took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// From its beginning to its end, seconds.
    pub seconds: f64,
    /// That simulated.
    pub threads: usize,
    /// Those that were baked.
    pub jobs: Vec<JobTime>,
}

/// How long a job took, from its model to its file; others ran meanwhile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobTime {
    /// Of the entry.
    pub number: usize,
    /// Milliseconds.
    pub milliseconds: f64,
}

impl Row {
    /// Of the entry with this index, which has no outcome.
    pub(super) fn new(plan: &Plan, index: usize, state: State, error: Option<String>) -> Self {
        let (manifest, entry) = (&plan.manifest, &plan.manifest.entries[index]);
        let error = error.map(|why| portable(plan, entry, &why));
        Self {
            number: entry.number,
            model: manifest.models[entry.model].file.clone(),
            rig: manifest.rigs[entry.rig].file.clone(),
            clip: entry.clip.as_ref().map(|clip| clip.name.clone()),
            output: entry.output.clone(),
            state,
            clips: entry.clips,
            frames: 0,
            keys: 0,
            substeps: 0,
            bytes: 0,
            files: Vec::new(),
            warnings: Vec::new(),
            error,
            quantization_microdeg: None,
        }
    }

    /// The same with an outcome.
    pub(super) fn with(self, outcome: Outcome) -> Self {
        Self {
            bytes: outcome.bytes(),
            clips: outcome.clips,
            frames: outcome.frames,
            keys: outcome.keys,
            substeps: outcome.substeps,
            files: outcome.files,
            warnings: outcome.warnings,
            quantization_microdeg: outcome.quantization_microdeg,
            ..self
        }
    }

    /// Where two rows of one job contradict each other: the name of a field.
    ///
    /// A job that failed or was not run may be done by another run, so that only outputs can contradict outputs; who made
    /// one when, and what was said of it, does not matter.
    fn contradicts(&self, other: &Self) -> Option<&'static str> {
        let job = |row: &Self| [row.model.clone(), row.rig.clone(), row.output.clone()];
        if job(self) != job(other) || self.clip != other.clip {
            return Some("jobs");
        }
        let there = |row: &Self| matches!(row.state, State::Done | State::Skipped);
        if !there(self) || !there(other) {
            return None;
        }
        [
            ("files", self.files != other.files),
            ("bytes", self.bytes != other.bytes),
            ("clips", self.clips != other.clips),
            ("frames", self.frames != other.frames),
            ("keys", self.keys != other.keys),
            ("substeps", self.substeps != other.substeps),
            (
                "quantization_microdeg",
                self.quantization_microdeg != other.quantization_microdeg,
            ),
        ]
        .into_iter()
        .find_map(|(field, differs)| differs.then_some(field))
    }

    /// Which of two rows that do not contradict each other stands for the job: done before skipped, failed and not run; the
    /// rest only makes the choice independent of their order.
    fn rank(&self) -> impl Ord + '_ {
        (self.state, &self.error, &self.warnings)
    }
}

impl Report {
    /// Of jobs of one manifest.
    pub(super) fn new(plan: ContentHash, planned: usize, jobs: Vec<Row>) -> Self {
        let count = |state: State| jobs.iter().filter(|row| row.state == state).count();
        let totals = Totals {
            done: count(State::Done),
            skipped: count(State::Skipped),
            failed: count(State::Failed),
            not_run: count(State::NotRun),
            frames: jobs.iter().map(|row| row.frames).sum(),
            bytes: jobs.iter().map(|row| row.bytes).sum(),
        };
        Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            program: PROGRAM.to_owned(),
            plan,
            planned,
            jobs,
            totals,
            timing: None,
        }
    }

    /// Whether every job here has its output.
    pub fn is_complete(&self) -> bool {
        self.totals.failed == 0 && self.totals.not_run == 0
    }

    /// As JSON, with a newline at its end.
    pub fn to_json(&self) -> String {
        // Nothing here is what serde_json refuses.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Writes it as `file`, over what is there.
    ///
    /// # Errors
    /// [`Error::Io`] when the system refuses.
    pub fn write(&self, file: &Path) -> Result<(), Error> {
        patch::write_file(file, self.to_json().as_bytes(), true)
    }

    /// Reads a report.
    ///
    /// # Errors
    /// [`Error::Io`] if it cannot be read; [`Error::Request`] if it is none, or of another version.
    pub fn read(file: &Path) -> Result<Self, Error> {
        let refuse = |why: String| Error::Request(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|error| Error::io(file, "read", error))?;
        check_head(&text, SCHEMA, VERSION, "a report of `flounce batch`").map_err(refuse)?;
        serde_json::from_str(&text).map_err(|error| refuse(format!("no report: {error}")))
    }
}

/// What merging came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Merged {
    /// All jobs of all parts, without times.
    pub report: Report,
    /// Numbers of jobs that no part has.
    pub missing: Vec<usize>,
}

/// Joins the reports of parts of one manifest; each has a name for messages. The order does not matter.
///
/// A job that several parts have counts once: as done if any part says so, else as skipped, as failed, as not run.
///
/// # Errors
/// [`Error::Request`] when there are none, when they are of different manifests or not of `manifest`, and when two of them
/// have different outputs of one job.
pub fn merge(parts: &[(String, Report)], manifest: Option<&Manifest>) -> Result<Merged, Error> {
    let refuse = |why: String| Err(Error::Request(why));
    let Some((first_name, first)) = parts.first() else {
        return refuse("found no reports, expected at least one".to_owned());
    };
    let mut rows: BTreeMap<usize, (&str, &Row)> = BTreeMap::new();
    for (name, part) in parts {
        if (&part.plan, part.planned) != (&first.plan, first.planned) {
            return refuse(format!(
                "{name}: is of the manifest {} with {} jobs, but {first_name} of {} with {}; reports of one manifest can be merged",
                part.plan.short(),
                part.planned,
                first.plan.short(),
                first.planned
            ));
        }
        if let Some(manifest) = manifest {
            check_against(name, part, manifest)?;
        }
        for row in &part.jobs {
            if row.number == 0 || row.number > part.planned {
                return refuse(format!(
                    "{name}: found job {} of {}",
                    row.number, part.planned
                ));
            }
            let (of, known) = *rows.entry(row.number).or_insert((name, row));
            if let Some(field) = known.contradicts(row) {
                return refuse(format!(
                    "job {} ({}): {of} and {name} have different {field}: {} and {}",
                    row.number,
                    row.output,
                    said(known),
                    said(row)
                ));
            }
            if row.rank() < known.rank() {
                rows.insert(row.number, (name, row));
            }
        }
    }
    let missing = (1..=first.planned).filter(|number| !rows.contains_key(number));
    let missing = missing.collect();
    let jobs = rows.into_values().map(|(_, row)| row.clone()).collect();
    let report = Report::new(first.plan.clone(), first.planned, jobs);
    Ok(Merged { report, missing })
}

fn check_against(name: &str, part: &Report, manifest: &Manifest) -> Result<(), Error> {
    let fits = part.plan == manifest.hash && part.planned == manifest.entries.len();
    let stranger = part.jobs.iter().find(|row| {
        let entry = manifest.entries.get(row.number.wrapping_sub(1));
        entry.is_none_or(|entry| entry.output != row.output)
    });
    if fits && stranger.is_none() {
        return Ok(());
    }
    let found = stranger.map_or_else(String::new, |row| {
        format!(", job {} is {}", row.number, row.output)
    });
    Err(Error::Request(format!(
        "{name}: is not of this manifest: found {}{found}, expected {}",
        part.plan.short(),
        manifest.hash.short()
    )))
}

/// A row in a few words.
fn said(row: &Row) -> String {
    match (&row.error, row.files.last()) {
        (Some(error), _) => format!("failed ({error})"),
        (None, Some(file)) => format!("{} ({})", row.state.describe(), file.hash.short()),
        (None, None) => row.state.describe().to_owned(),
    }
}

#[cfg(test)]
mod tests;
