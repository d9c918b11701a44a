//! Files: the code that reads and writes them.
//!
//! Nothing in a file can panic, hang or allocate without bound; what is wrong comes back as an [`enum@Error`] that names the
//! file, the place, what was found and what was expected.

use std::path::{Path, PathBuf};

use thiserror::Error;

pub mod action_file;
#[cfg(feature = "assets")]
pub mod bake;
#[cfg(feature = "assets")]
pub mod batch;
pub mod check;
#[cfg(feature = "assets")]
pub mod container;
#[cfg(feature = "assets")]
pub mod explain;
#[cfg(feature = "assets")]
pub mod farm;
#[cfg(feature = "assets")]
pub mod import;
#[cfg(feature = "assets")]
mod json;
pub mod layers;
#[cfg(feature = "assets")]
pub mod library;
#[cfg(feature = "assets")]
pub mod patch;
#[cfg(feature = "assets")]
pub mod pose;
#[cfg(feature = "assets")]
pub mod reduce;
#[cfg(feature = "assets")]
pub mod rest_check;
pub mod rig_file;
#[cfg(feature = "assets")]
pub mod run;
pub mod scene;
#[cfg(feature = "assets")]
pub mod settings;
#[cfg(feature = "assets")]
pub mod skin;
#[cfg(feature = "assets")]
pub mod state_hash;
#[cfg(feature = "assets")]
pub mod sweep;
mod text;

/// Why a file could not be read or written.
#[derive(Debug, Error)]
pub enum Error {
    /// The operating system refused.
    #[error("{}: cannot {action}: {source}", file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// What was tried: "read", "write", "create", …
        action: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// A glTF file breaks a rule that reading depends on.
    #[error("{}: {place}: found {found}, expected {expected}", file.display())]
    Gltf {
        /// The file.
        file: PathBuf,
        /// A JSON pointer such as `/accessors/3/count`, or a part of the container such as `GLB header`. Things with
        /// names are named as well: `/animations/0/channels/12 (rotation of "hair_03" in "walk")`.
        place: String,
        /// What was found there.
        found: String,
        /// What would have been accepted.
        expected: String,
    },
    /// A RON file cannot be parsed, or a value is out of range.
    #[error("{}:{line}:{column}: {message}", file.display())]
    Ron {
        /// The file.
        file: PathBuf,
        /// The whole text, for showing the place.
        text: String,
        /// First line is 1.
        line: usize,
        /// First column is 1, in characters.
        column: usize,
        /// Field path, what was found, what was expected.
        message: String,
        /// What to do next, where there is something: "did you mean `stiffness`?"
        help: Option<String>,
    },
    /// Everything that is wrong about a rig or a scene on a model, collected.
    #[error("{}: {}", file.display(), list(faults))]
    Faults {
        /// The rig or scene file.
        file: PathBuf,
        /// Each names its field path, what was found and what was expected; at least one.
        faults: Vec<String>,
    },
    /// The output exists and overwriting was not asked for.
    #[error("{}: exists already; --force overwrites it", .0.display())]
    Exists(PathBuf),
    /// The request makes no sense for this input.
    #[error("{0}")]
    Request(String),
}

fn list(faults: &[String]) -> String {
    match faults {
        [one] => one.clone(),
        many => {
            let lines: Vec<String> = many.iter().map(|fault| format!("\n  - {fault}")).collect();
            format!("{} faults:{}", many.len(), lines.concat())
        }
    }
}

impl Error {
    /// An [`Error::Io`].
    pub fn io(file: &Path, action: &'static str, source: std::io::Error) -> Self {
        Self::Io {
            file: file.to_path_buf(),
            action,
            source,
        }
    }
    /// An [`Error::Gltf`].
    pub fn gltf(
        file: &Path,
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::Gltf {
            file: file.to_path_buf(),
            place: place.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }
}
