//! Skin weights of a file: trimmed to a few influences per vertex, and what that does to the vertices in every clip.
//!
//! ```text
//! primitives ─ groups that share accessors ─ slots ─ gather ─ trim ─ stored numbers ─ patch
//!                                                     │                   │
//!                                        full weights └──── measure ──────┘ per clip: largest, 99th percentile, r·D
//! ```
//!
//! `[I1]` `[I2]` All sets of a vertex count together, because the strongest influence may be in the second one. Weights
//! are normalised after they were decoded, and the error is that of the weights as they are read back, so that rounding
//! for storage is part of it. A primitive whose vertices are within the limit already, with sums of 1, each joint once and
//! no more sets than needed, stays as it is.
//!
//! Vertices are moved as *glTF 2.0 §3.7.3* says: by the matrices of the joints, with all their scale and shear, times
//! the inverse bind matrices; the mesh's node plays no part. Morph targets are not applied: an error is that of the
//! base shape.

use std::path::Path;

use super::Error;
use super::container::Container;
use super::import::Model;
use super::import::vertices::Vertices;
use super::patch::Patched;
use super::patch::weights::patch_weights;

mod measure;
mod report;
mod rewrite;
mod store;

pub use measure::{MOST_SAMPLES, count_frames};
pub use report::{PoseReport, SkinReport, Worst};

use rewrite::Rewritten;

/// Most influences per vertex: two sets of four.
pub const MOST_INFLUENCES: usize = 8;

/// How to trim.
#[derive(Clone, Debug, PartialEq)]
pub struct SkinOptions {
    /// Influences that a vertex keeps, 1 to [`MOST_INFLUENCES`]. Default 4, what one set holds and every viewer shows.
    pub limit: usize,
    /// How new weights are stored. Default f32.
    pub weights: StoredWeights,
    /// What to do with a vertex that nothing moves. Default: refuse.
    pub zero_weights: ZeroWeights,
    /// Poses measured per second of a clip, 0.1 to 1000 Hz. Default 30.
    pub rate_hz: f64,
}

impl Default for SkinOptions {
    fn default() -> Self {
        Self {
            limit: 4,
            weights: StoredWeights::default(),
            zero_weights: ZeroWeights::default(),
            rate_hz: 30.0,
        }
    }
}

/// The type of the weights in the file. *glTF 2.0 §3.7.3.3*
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StoredWeights {
    /// f32, whose sum is within half of its last digit of 1.
    #[default]
    F32,
    /// 16 bits, whose sum is exactly 65535.
    U16,
    /// 8 bits, whose sum is exactly 255.
    U8,
}

impl StoredWeights {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::U16 => "u16",
            Self::U8 => "u8",
        }
    }
}

/// What becomes of a vertex whose weights are all 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZeroWeights {
    /// The file is refused: what the vertex should follow is not known.
    #[default]
    Refuse,
    /// It follows the joint of its first slot, as some engines have it.
    BindFirst,
}

impl ZeroWeights {
    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Refuse => "refuse",
            Self::BindFirst => "bind-first",
        }
    }
}

/// Trims all skinned primitives of `container`, which `model` was read from, to be written as `out`. Writes nothing: see
/// [`super::patch::write()`].
///
/// `progress` is called from several threads with the number of poses measured since its last call; see
/// [`count_frames`].
///
/// # Errors
/// [`Error::Request`] when the options are out of range, no primitive has joints, or there is too much to measure; and
/// [`Error::Gltf`] naming mesh, primitive and vertex:
/// - a weight that is negative or not finite, or that belongs to a joint that the skin does not have;
/// - a vertex whose weights are all 0, unless [`ZeroWeights::BindFirst`];
/// - joints, weights or positions that cannot be read, of differing counts, or packed by an extension;
/// - and those of [`super::patch::patch()`] for the file.
pub fn trim_weights(
    container: &Container,
    model: &Model,
    options: &SkinOptions,
    out: &Path,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Patched, SkinReport), Error> {
    check(options)?;
    let in_file = |fault: super::json::Fault| fault.in_file(&container.file);
    let vertices = Vertices::open(container).map_err(in_file)?;
    let primitives = vertices.skinned().map_err(in_file)?;
    if primitives.is_empty() {
        return Err(Error::Request(format!(
            "{}: no primitive has joints and weights: there is nothing to trim",
            container.file.display()
        )));
    }
    let mut reader = vertices.reader();
    let groups = rewrite::groups(model, &primitives);
    let mut report = SkinReport::new(options, primitives.len());
    let mut rewritten = Vec::with_capacity(groups.len());
    for group in &groups {
        let new = rewrite::rewrite(group, &primitives, &mut reader, options, &mut report);
        rewritten.push(new.map_err(in_file)?);
    }
    let scene =
        measure::prepare(model, &primitives, &groups, &rewritten, &mut reader).map_err(in_file)?;
    measure::check_size(model, &scene, options)?;
    report.poses = measure::measure(model, &scene, options, progress);
    let new: Vec<_> = rewritten
        .into_iter()
        .filter_map(Rewritten::into_new)
        .collect();
    report.changed = new.iter().map(|new| new.users.len()).sum();
    Ok((patch_weights(container, &new, out)?, report))
}

/// Whether the options are in range.
///
/// # Errors
/// [`Error::Request`] with the option, what was found and what was expected.
pub fn check(options: &SkinOptions) -> Result<(), Error> {
    if !(1..=MOST_INFLUENCES).contains(&options.limit) {
        return Err(Error::Request(format!(
            "--limit is {}; expected 1 to {MOST_INFLUENCES} influences per vertex",
            options.limit
        )));
    }
    if !(0.1..=1000.0).contains(&options.rate_hz) {
        return Err(Error::Request(format!(
            "--rate is {:?}; expected 0.1 to 1000 Hz",
            options.rate_hz
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_out_of_range_are_refused_by_name() {
        let refused = |options: SkinOptions| check(&options).unwrap_err().to_string();
        for limit in [0, 9] {
            let options = SkinOptions {
                limit,
                ..SkinOptions::default()
            };
            let expected = format!("--limit is {limit}; expected 1 to 8");
            assert!(refused(options).contains(&expected));
        }
        for rate_hz in [0.0, f64::NAN, 1e9] {
            let options = SkinOptions {
                rate_hz,
                ..SkinOptions::default()
            };
            assert!(refused(options).contains("--rate is "));
        }
    }
}
