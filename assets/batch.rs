//! Batches of files: models × rigs × clips, baked into a folder, on one machine or on many.
//!
//! ```text
//! inputs ─┐                                ┌ report ─┐
//! rigs   ─┴ plan ─ manifest ─ selection ─ run        ├ merge
//!                                          └ report ─┘
//! ```
//!
//! A [`plan()`] is a [`Manifest`]: every job in a fixed order, with the hash of everything that its output hangs on. A job
//! has one output file and the bytes of `flounce bake` with the same inputs; which thread, process or machine ran it, and
//! what ran beside it, does not show.
//!
//! **Order.** Models by their paths (bytewise, `/` between folders), then rigs as they were named, then clips as the file
//! has them; each job of one model comes before those of the next.
//!
//! **Outputs.** Without `{clip}` in the name pattern a job is model × rig: the model with all wanted clips baked. With
//! `{clip}` it is model × rig × clip: the whole model with that clip baked and its other clips as they were, which is what
//! `flounce bake --clip '#INDEX'` gives.
//!
//! **What was done before** is in a ledger in the output folder, see [`ledger`]: the content of inputs, options and outputs
//! decides what is done again, times of files do not.

use std::path::{Path, PathBuf};

mod checks;
pub mod hash;
pub mod inputs;
mod job;
pub mod ledger;
pub mod manifest;
mod models;
pub mod names;
mod plan;
mod portable;
pub mod report;
mod run;
pub mod selection;
pub mod stamp;

pub use hash::ContentHash;
pub use manifest::Manifest;
pub use plan::{Plan, Request, plan};
pub use report::{Report, merge};
pub use run::{Observer, RunOptions, run};

/// The version that outputs are stamped with.
pub const PROGRAM: &str = concat!("flounce ", env!("CARGO_PKG_VERSION"));

/// `path` with `/` between its parts; `None` where it is not UTF-8.
fn slashed(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    Some(if cfg!(windows) {
        text.replace('\\', "/")
    } else {
        text.to_owned()
    })
}

/// `path` without `.` and doubled separators.
fn tidy(path: &Path) -> PathBuf {
    path.components()
        .filter(|part| !matches!(part, std::path::Component::CurDir))
        .collect()
}
