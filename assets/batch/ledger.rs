//! Ledgers: what batches wrote into a folder, in `OUT_DIR/.flounce/`.
//!
//! Each run appends to a journal, a file of JSON lines: `{"begun": …}` with every file that it is going to write, so that
//! a file of a killed run is known as one, then `{"done": …}` for each finished job, flushed to the disk before the job
//! counts as finished, and in the end `{"ended": …}` with what it had begun and never came to write, which is nobody's
//! again. A line that a killed process cut is passed over. A journal most of whose lines are out of date is replaced, whole
//! or not at all, by one with the latest record of each output when the next run begins. The ledger is all journals
//! together: shards that share a folder have one each, `HASH.shard-3-of-8.jsonl`, and take no turns.
//!
//! A run locks its journal, and its temporary files are in a folder beside it that the next run clears, whichever that is:
//! what is killed leaves nothing between the outputs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::PROGRAM;
use super::hash::ContentHash;
use super::models::lock;
use crate::assets::Error;

/// The folder of ledgers in an output folder.
pub const FOLDER: &str = ".flounce";

/// How often a lock is asked for, and the pause between: longer than another run needs to see whether a journal is free.
const TRIES: u32 = 10;
const PAUSE: Duration = Duration::from_millis(20);

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
    Ended { left: Vec<String> },
}

/// What one journal says.
#[derive(Default)]
struct Pages {
    lines: usize,
    /// In the order of their lines.
    records: Vec<Record>,
    /// Files of records.
    written: BTreeSet<String>,
    /// Files that were begun, and neither done nor let go since.
    unfinished: BTreeSet<String>,
}

impl Pages {
    fn parse(bytes: &[u8]) -> Self {
        let mut pages = Self::default();
        for line in bytes.split(|&byte| byte == b'\n') {
            pages.lines += usize::from(!line.is_empty());
            // What was cut says nothing, and so does what another version wrote in another form.
            match serde_json::from_slice(line) {
                Ok(Line::Begun { files, .. }) => pages.unfinished.extend(files),
                Ok(Line::Ended { left }) => pages.unfinished.retain(|file| !left.contains(file)),
                Ok(Line::Done(record)) => {
                    for file in &record.outcome.files {
                        pages.unfinished.remove(&file.file);
                        pages.written.insert(file.file.clone());
                    }
                    pages.records.push(record);
                }
                Err(_) => {}
            }
        }
        pages
    }

    /// The lines that say the same about the files that are in `out_dir` now.
    fn compacted(&self, out_dir: &Path) -> Vec<Line> {
        let latest: BTreeMap<&str, &Record> = self
            .records
            .iter()
            .map(|record| (record.output.as_str(), record))
            .collect();
        let kept = latest.values().flat_map(|record| &record.outcome.files);
        let kept: BTreeSet<&String> = kept.map(|file| &file.file).collect();
        let older = self.written.iter().filter(|file| !kept.contains(file));
        let claimed = self.unfinished.iter().chain(older);
        let claimed = claimed.filter(|file| out_dir.join(file).symlink_metadata().is_ok());
        let claimed: Vec<String> = claimed.cloned().collect();
        let mut lines: Vec<Line> = latest.into_values().cloned().map(Line::Done).collect();
        if !claimed.is_empty() {
            lines.push(Line::Begun {
                program: PROGRAM.to_owned(),
                files: claimed,
            });
        }
        lines
    }
}

/// What earlier runs wrote into a folder.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ledger {
    /// By output, in no particular order.
    records: BTreeMap<String, Vec<Record>>,
    claimed: BTreeSet<String>,
    unfinished: BTreeSet<String>,
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
            ledger.take(Pages::parse(&bytes));
        }
        Ok(ledger)
    }

    fn take(&mut self, pages: Pages) {
        self.claimed.extend(pages.written);
        self.claimed.extend(pages.unfinished.iter().cloned());
        self.unfinished.extend(pages.unfinished);
        for record in pages.records {
            let of = self.records.entry(record.output.clone()).or_default();
            of.push(record);
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

    /// Whether a batch that was going to write `file` never said how that ended: it was killed, its job failed, or it runs.
    pub fn left_unfinished(&self, file: &str) -> bool {
        self.unfinished.contains(file)
    }
}

/// The journal of a run.
pub(super) struct Journal {
    pen: Mutex<Pen>,
    path: PathBuf,
    /// Whether its beginning is on the disk.
    settled: Mutex<bool>,
    /// For temporary files.
    pub(super) scratch: PathBuf,
    /// What earlier runs left unfinished, which is not this one's to let go.
    before: BTreeSet<String>,
    /// The file that was replaced, still locked for whoever opened it before.
    _replaced: Option<File>,
}

/// A file that is written line by line.
struct Pen {
    file: File,
    /// Whether its last line may have no end.
    cut: bool,
}

impl Journal {
    /// Opens the journal `name` of `out_dir`, makes the folders and clears what killed runs left; `files` are those that
    /// are going to be written.
    ///
    /// # Errors
    /// [`Error::Io`] when the system refuses; [`Error::Request`] when another process runs under this name.
    pub(super) fn begin(out_dir: &Path, name: &str, files: Vec<String>) -> Result<Self, Error> {
        let folder = out_dir.join(FOLDER);
        fs::create_dir_all(&folder).map_err(|error| Error::io(&folder, "create", error))?;
        let path = folder.join(format!("{name}.jsonl"));
        let io = |error| Error::io(&path, "write", error);
        // Jobs of no manifest share one journal.
        let what = if name == "batch" {
            "in this folder"
        } else {
            "on these jobs"
        };
        let mut file = lock_journal(&path, TRIES).map_err(io)?.ok_or_else(|| {
            Error::Request(format!(
                "{}: another flounce batch is at work {what}; wait for it, or take another --out-dir",
                path.display()
            ))
        })?;
        clear_others(&folder, &path);
        let scratch = folder.join(format!("{name}.tmp"));
        // It may not be there; if it stays, making temporary files in it says so.
        let _ = fs::remove_dir_all(&scratch);
        fs::create_dir_all(&scratch).map_err(|error| Error::io(&scratch, "create", error))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).map_err(io)?;
        let mut cut = bytes.last().is_some_and(|&last| last != b'\n');
        let pages = Pages::parse(&bytes);
        let mut replaced = None;
        // Where it cannot be replaced it goes on as it is.
        if let Ok(Some(new)) = compact(&path, &pages, out_dir, &scratch) {
            replaced = Some(std::mem::replace(&mut file, new));
            cut = false;
        }
        let journal = Self {
            pen: Mutex::new(Pen { file, cut }),
            path,
            settled: Mutex::new(false),
            scratch,
            before: pages.unfinished,
            _replaced: replaced,
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
            self.flush(&lock(&self.pen).file)?;
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
        let mut pen = lock(&self.pen);
        if pen.cut {
            text.insert(0, '\n');
        }
        pen.cut = true;
        pen.file.write_all(text.as_bytes()).map_err(io)?;
        pen.cut = false;
        pen.file.try_clone().map_err(io)
    }

    /// Lets go of what it had begun and never came to write, `left`, and removes the folder of temporary files.
    pub(super) fn end(self, mut left: Vec<String>) {
        left.retain(|file| !self.before.contains(file));
        if !left.is_empty() {
            // Where it cannot be said, these stay as they would after a kill.
            let _ = self.append(&Line::Ended { left });
        }
        // One that stays is cleared by the next run.
        let _ = fs::remove_dir_all(&self.scratch);
    }
}

/// Opens a journal and locks it; `None` when another process holds it for all of `tries`.
///
/// Some network file systems have no locks; there it is on whoever starts two runs.
fn lock_journal(path: &Path, tries: u32) -> io::Result<Option<File>> {
    for attempt in 0..tries {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).append(true).create(true).open(path)?;
        let is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
        if !is_taken && is_at(&file, path) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Whether the open `file` still is what `path` names: it may have been replaced before it was locked.
fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        let identity = |data: fs::Metadata| (data.dev(), data.ino());
        let (open, named) = (file.metadata().map(identity), path.metadata().map(identity));
        open.is_ok_and(|open| named.is_ok_and(|named| open == named))
    }
    #[cfg(not(unix))]
    {
        // An open file cannot be replaced there.
        let _ = (file, path);
        true
    }
}

/// Clears the temporary files of runs that were killed under other names.
fn clear_others(folder: &Path, own: &Path) {
    // Whatever stays is in nobody's way.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let scratch = entry.path();
        let journal = scratch.with_extension("jsonl");
        if scratch.extension().is_some_and(|it| it == "tmp")
            && journal != own
            && journal.is_file()
            && let Ok(Some(_held)) = lock_journal(&journal, 1)
        {
            let _ = fs::remove_dir_all(&scratch);
        }
    }
}

/// Replaces a journal most of whose lines are out of date; the new one is locked before it has the name.
fn compact(path: &Path, pages: &Pages, out_dir: &Path, scratch: &Path) -> io::Result<Option<File>> {
    let lines = pages.compacted(out_dir);
    if pages.lines <= 2 * (lines.len() + 1) {
        return Ok(None);
    }
    let mut builder = tempfile::Builder::new();
    // Temporary files are private by default and would stay so under their final name.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut new = builder.append(true).tempfile_in(scratch)?;
    for line in &lines {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        new.write_all(&text)?;
    }
    new.as_file().sync_all()?;
    // As in `lock_journal`.
    let _ = new.as_file().try_lock();
    Ok(Some(new.persist(path)?))
}

#[cfg(test)]
mod tests;
