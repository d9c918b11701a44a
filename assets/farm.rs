//! Farms: a manifest as a job for many machines. Open Job Description and Slurm are written; nothing is run or sent.
//!
//! A job is the same in both: `tasks` times `flounce batch` over a shard of the manifest, each on its own, then one
//! `flounce merge` over the reports of the shards. A task that is run again resumes; a job whose tasks failed has no
//! merged report until they did not.
//!
//! ```text
//! OUT_DIR/…                       outputs, as one process would write them
//! OUT_DIR/parts/part-I-of-N.json  the report of shard I
//! OUT_DIR/report.json             all of them as one
//! ```

use std::path::{Path, PathBuf};

use super::Error;

pub mod openjd;
pub mod slurm;
mod yaml;

/// Most characters of a job's name. *Open Job Description 2023-09 §1.1.1*
const LONGEST_NAME: usize = 128;

/// What a farm is asked to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FarmJob {
    /// How the farm shows it: 1 to 128 characters, see [`FarmJob::check`].
    pub name: String,
    /// The manifest, on a disk that every machine sees.
    pub manifest: PathBuf,
    /// Entries of the manifest.
    pub entries: usize,
    /// Shards, at least one and not more than entries, see [`FarmJob::shards`].
    pub tasks: usize,
    /// Where outputs, parts and the report go, on a disk that every machine sees.
    pub out_dir: PathBuf,
    /// The program as the machines find it: a name on their path, or a path.
    pub program: String,
    /// Processors that a task asks for and uses; `None`: whatever the farm gives it.
    pub cpus: Option<u32>,
}

impl FarmJob {
    /// As many of `wanted` tasks as have an entry to do.
    ///
    /// # Errors
    /// [`Error::Request`] when there is nothing to do, or no task to do it.
    pub fn shards(wanted: usize, entries: usize) -> Result<usize, Error> {
        match (wanted, entries) {
            (_, 0) => Err(Error::Request(
                "the manifest has no jobs; there is nothing to share out".to_owned(),
            )),
            (0, _) => Err(Error::Request(
                "--tasks is 0; expected at least one".to_owned(),
            )),
            _ => Ok(wanted.min(entries)),
        }
    }

    /// Whether a job can say this: names and paths of characters that templates and scripts can hold.
    ///
    /// # Errors
    /// [`Error::Request`] that names the option and what is wrong with it.
    pub fn check(&self) -> Result<(), Error> {
        let length = self.name.chars().count();
        if !(1..=LONGEST_NAME).contains(&length) {
            return Err(Error::Request(format!(
                "--job-name has {length} characters; expected 1 to {LONGEST_NAME}"
            )));
        }
        if self.program.is_empty() {
            return Err(Error::Request("--program is empty".to_owned()));
        }
        let (manifest, out_dir) = (text(&self.manifest)?, text(&self.out_dir)?);
        for (option, said) in [
            ("--job-name", self.name.as_str()),
            ("--program", &self.program),
            ("--manifest", manifest),
            ("--out-dir", out_dir),
        ] {
            if said.chars().any(char::is_control) {
                return Err(Error::Request(format!(
                    "{option} is {said:?}; a job cannot hold control characters"
                )));
            }
        }
        Ok(())
    }
}

/// A path as text.
///
/// # Errors
/// [`Error::Request`] when it has none.
fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| {
        Error::Request(format!(
            "{}: the path is not Unicode; a job cannot hold it",
            path.display()
        ))
    })
}

/// A word as a POSIX shell takes it: as it is where it is plain, else in single quotes.
pub fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:=@%+,-".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> FarmJob {
        FarmJob {
            name: "night".to_owned(),
            manifest: "m.json".into(),
            entries: 9,
            tasks: 4,
            out_dir: "out".into(),
            program: "flounce".to_owned(),
            cpus: None,
        }
    }

    #[test]
    fn no_shard_is_empty_and_nothing_is_not_shared_out() {
        assert_eq!(FarmJob::shards(4, 9).unwrap(), 4);
        assert_eq!(FarmJob::shards(40, 9).unwrap(), 9);
        assert!(
            FarmJob::shards(4, 0)
                .unwrap_err()
                .to_string()
                .contains("no jobs")
        );
        assert!(
            FarmJob::shards(0, 9)
                .unwrap_err()
                .to_string()
                .contains("--tasks is 0")
        );
    }

    #[test]
    fn what_a_job_cannot_hold_is_refused_by_name() {
        assert!(job().check().is_ok());
        let cases: [(FarmJob, &str); 5] = [
            (
                FarmJob {
                    name: String::new(),
                    ..job()
                },
                "--job-name has 0",
            ),
            (
                FarmJob {
                    name: "ä".repeat(129),
                    ..job()
                },
                "--job-name has 129",
            ),
            (
                FarmJob {
                    program: String::new(),
                    ..job()
                },
                "--program is empty",
            ),
            (
                FarmJob {
                    manifest: "a\nb".into(),
                    ..job()
                },
                "--manifest is \"a\\nb\"",
            ),
            (
                FarmJob {
                    out_dir: "a\tb".into(),
                    ..job()
                },
                "--out-dir is",
            ),
        ];
        for (job, expected) in cases {
            let refused = job.check().unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
        }
    }

    #[test]
    fn words_are_quoted_where_the_shell_would_change_them() {
        assert_eq!(shell_word("/mnt/a-b_c.json"), "/mnt/a-b_c.json");
        assert_eq!(shell_word("a b/$c"), "'a b/$c'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
    }
}
