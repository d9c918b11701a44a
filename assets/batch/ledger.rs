//! Ledgers: what batches wrote into a folder, in `OUT_DIR/.flounce/`.
//!
//! Each run appends to a journal, a file of JSON lines: `{"begun": …}` with every file that it is going to write, so that
//! a file of a killed run is known as one, then `{"done": …}` for each finished job, flushed to the disk before the job
//! counts as finished. Nothing is ever rewritten; a line that a killed process cut is passed over. The ledger is all
//! journals together: shards that share a folder have one each, `HASH.shard-3-of-8.jsonl`, and take no turns.
//!
//! A run locks its journal, and its temporary files are in a folder beside it that the next run of the same name clears:
//! what is killed leaves nothing between the outputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use serde::{Deserialize, Serialize};

use super::PROGRAM;
use super::hash::ContentHash;
use super::models::lock;
use crate::assets::Error;

/// The folder of ledgers in an output folder.
pub const FOLDER: &str = ".flounce";

/// What a finished job came to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Outcome {
    /// Clips baked.
    pub clips: usize,
    /// Frames recorded, of all clips together.
    pub frames: u64,
    /// Keys written, of all clips and joints together.
    pub keys: u64,
    /// Substeps run.
    pub substeps: u64,
    /// The output with what has to be beside it, the main file last.
    pub files: Vec<FileOf>,
    /// What deserves a look, one sentence each.
    pub warnings: Vec<String>,
    /// The largest angle that storing rotations as integers turned a key by, in millionths of a degree, rounded up; none
    /// where they are f32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantization_microdeg: Option<u32>,
}

impl Outcome {
    /// Bytes of all files together.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|file| file.bytes).sum()
    }
}

/// A file that belongs to an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileOf {
    /// Relative to the output folder.
    pub file: String,
    /// Its length.
    pub bytes: u64,
    /// Of its bytes.
    pub hash: ContentHash,
}

/// That a job was finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The entry's.
    pub output: String,
    /// The entry's.
    pub key: ContentHash,
    /// What it came to.
    pub outcome: Outcome,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    Begun { program: String, files: Vec<String> },
    Done(Record),
}

/// What earlier runs wrote into a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// By output, in no particular order.
    records: BTreeMap<String, Vec<Record>>,
    claimed: BTreeSet<String>,
}

impl Ledger {
    /// Reads all journals of `out_dir`; a folder without any has an empty ledger.
    ///
    /// # Errors
    /// [`Error::Io`] when a journal cannot be read.
    pub fn read(out_dir: &Path) -> Result<Self, Error> {
        let folder = out_dir.join(FOLDER);
        let mut ledger = Self::default();
        if !folder.is_dir() {
            return Ok(ledger);
        }
        let io = |error| Error::io(&folder, "read", error);
        let mut journals = Vec::new();
        for entry in fs::read_dir(&folder).map_err(io)? {
            journals.push(entry.map_err(io)?.path());
        }
        journals.sort();
        journals.retain(|file| {
            file.extension()
                .is_some_and(|extension| extension == "jsonl")
        });
        for file in journals {
            let bytes = fs::read(&file).map_err(|error| Error::io(&file, "read", error))?;
            for line in bytes.split(|&byte| byte == b'\n') {
                // What was cut says nothing, and so does what another version wrote in another form.
                if let Ok(line) = serde_json::from_slice(line) {
                    ledger.take(line);
                }
            }
        }
        Ok(ledger)
    }

    fn take(&mut self, line: Line) {
        match line {
            Line::Begun { files, .. } => self.claimed.extend(files),
            Line::Done(record) => {
                let files = record.outcome.files.iter();
                self.claimed.extend(files.map(|file| file.file.clone()));
                let of = self.records.entry(record.output.clone()).or_default();
                of.push(record);
            }
        }
    }

    /// The records of `output`.
    pub fn records(&self, output: &str) -> &[Record] {
        self.records.get(output).map_or(&[], Vec::as_slice)
    }

    /// Whether a batch wrote `file`, or was going to.
    pub fn claims(&self, file: &str) -> bool {
        self.claimed.contains(file)
    }
}

/// The journal of a run.
pub(super) struct Journal {
    file: Mutex<File>,
    path: PathBuf,
    /// Whether its beginning is on the disk.
    settled: Mutex<bool>,
    /// For temporary files.
    pub(super) scratch: PathBuf,
}

impl Journal {
    /// Opens the journal `name` of `out_dir`, makes the folders and clears what a killed run left; `files` are those that
    /// are going to be written.
    ///
    /// # Errors
    /// [`Error::Io`] when the system refuses; [`Error::Request`] when another process runs under this name.
    pub(super) fn begin(out_dir: &Path, name: &str, files: Vec<String>) -> Result<Self, Error> {
        let folder = out_dir.join(FOLDER);
        fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, "create", error))?;
        let path = folder.join(format!("{name}.jsonl"));
        let io = |error| Error::io(&path, "write", error);
        let mut options = OpenOptions::new();
        let mut file = options
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(io)?;
        // Some network file systems have no locks; there it is on whoever starts two runs.
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            // Jobs of no manifest share one journal.
            let what = if name == "batch" {
                "in this folder"
            } else {
                "on these jobs"
            };
            return Err(Error::Request(format!(
                "{}: another flounce batch is at work {what}; wait for it, or take another --out-dir",
                path.display()
            )));
        }
        let scratch = folder.join(format!("{name}.tmp"));
        // It may not be there; if it stays, making temporary files in it says so.
        let _ = fs::remove_dir_all(&scratch);
        fs::create_dir_all(&scratch).map_err(|error| Error::io(&scratch, "create", error))?;
        end_cut_line(&mut file).map_err(io)?;
        let journal = Self {
            file: Mutex::new(file),
            path,
            settled: Mutex::new(false),
            scratch,
        };
        let program = PROGRAM.to_owned();
        journal.append(&Line::Begun { program, files })?;
        Ok(journal)
    }

    /// Waits until its beginning is on the disk: before the first output is, so that no crash leaves an output that nobody
    /// was going to write. Not when it begins, because there is work to do meanwhile.
    ///
    /// # Errors
    /// [`Error::Io`] when the system refuses.
    pub(super) fn settle(&self) -> Result<(), Error> {
        let mut settled = lock(&self.settled);
        if !*settled {
            self.flush(&lock(&self.file))?;
            *settled = true;
        }
        Ok(())
    }

    /// Adds that a job was finished; on the disk when it returns.
    pub(super) fn add(&self, record: Record) -> Result<(), Error> {
        let file = self.append(&Line::Done(record))?;
        self.flush(&file)
    }

    fn flush(&self, file: &File) -> Result<(), Error> {
        let flushed = file.sync_data();
        flushed.map_err(|error| Error::io(&self.path, "write", error))
    }

    /// Adds a line; gives the file for flushing, while which others may append.
    fn append(&self, line: &Line) -> Result<File, Error> {
        let io = |error| Error::io(&self.path, "write", error);
        let mut text = serde_json::to_string(line).map_err(|error| io(error.into()))?;
        text.push('\n');
        let mut file = lock(&self.file);
        file.write_all(text.as_bytes()).map_err(io)?;
        file.try_clone().map_err(io)
    }

    /// Removes the folder of temporary files.
    pub(super) fn end(self) {
        // One that stays is cleared by the next run.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// Ends a line that a killed process cut.
fn end_cut_line(file: &mut File) -> std::io::Result<()> {
    if file.metadata()?.len() == 0 {
        return Ok(());
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        Ok(())
    } else {
        file.write_all(b"\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(output: &str) -> Record {
        let file = FileOf {
            file: output.to_owned(),
            bytes: 3,
            hash: ContentHash::of(b"abc"),
        };
        Record {
            output: output.to_owned(),
            key: ContentHash::of(output.as_bytes()),
            outcome: Outcome {
                clips: 1,
                files: vec![file],
                ..Outcome::default()
            },
        }
    }

    #[test]
    fn a_ledger_holds_what_all_journals_say_whole_lines_only() {
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path();
        assert_eq!(Ledger::read(out).unwrap(), Ledger::default());
        for (name, output) in [("one", "a.glb"), ("two", "b.glb")] {
            let planned = vec![output.to_owned(), format!("{output}.later")];
            let journal = Journal::begin(out, name, planned).unwrap();
            journal.add(record(output)).unwrap();
            journal.end();
        }
        // Killed in the middle of a line, and begun again.
        let path = out.join(FOLDER).join("one.jsonl");
        let mut cut = OpenOptions::new().append(true).open(&path).unwrap();
        cut.write_all(b"{\"done\":{\"output\":\"c.g").unwrap();
        drop(cut);
        fs::create_dir_all(out.join(FOLDER).join("one.tmp")).unwrap();
        fs::write(out.join(FOLDER).join("one.tmp/left"), "x").unwrap();
        let journal = Journal::begin(out, "one", Vec::new()).unwrap();
        assert_eq!(fs::read_dir(&journal.scratch).unwrap().count(), 0);
        journal.add(record("d.glb")).unwrap();
        let ledger = Ledger::read(out).unwrap();
        for output in ["a.glb", "b.glb", "d.glb"] {
            assert_eq!(ledger.records(output), [record(output)]);
            assert!(ledger.claims(output));
        }
        assert!(ledger.claims("a.glb.later") && ledger.records("a.glb.later").is_empty());
        assert!(!ledger.claims("c.glb") && ledger.records("c.glb").is_empty());
    }

    #[test]
    fn two_runs_of_one_name_do_not_mix() {
        let folder = tempfile::tempdir().unwrap();
        let first = Journal::begin(folder.path(), "one", Vec::new()).unwrap();
        let refused = Journal::begin(folder.path(), "one", Vec::new())
            .err()
            .unwrap();
        assert!(
            refused
                .to_string()
                .contains("another flounce batch is at work"),
            "{refused}"
        );
        assert!(first.scratch.is_dir(), "the running one keeps its files");
        Journal::begin(folder.path(), "two", Vec::new())
            .unwrap()
            .end();
        drop(first);
        assert!(Journal::begin(folder.path(), "one", Vec::new()).is_ok());
    }
}
