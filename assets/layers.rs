//! Layers in RON: what scenes and `flounce pose` lay over an actor's clip.
//!
//! ```ron
//! layers: [
//!     (clip: "Wave", mask: (roots: ["LeftShoulder"]), window: (starts: 1, length: 2, fade_in: 0.3, fade_out: 0.5)),
//!     (clip: "Breathe", kind: additive(reference: at(0)), weight: 0.5),
//!     (action: "actions/nod.ron", starts: 1.5),
//! ]
//! ```
//!
//! [`LayerRule`] is one of them; joints and clips are named as everywhere in RON files.

use std::path::Path;
use std::sync::Arc;

use super::Error;
use super::text::{Faults, FieldPath};
use crate::clip::Clip;
use crate::layer::Layers;
use crate::rig::Rig;

pub(in crate::assets) mod build;
mod checks;
mod schema;

pub(in crate::assets) use build::Surroundings;
pub(in crate::assets) use checks::{check, check_clip_file, check_rows};
pub use schema::{
    BlendRule, ClipFileRule, KindRule, LayerRule, MaskRule, ReferenceRule, RowsRule, WindowRule,
};

/// The layers of `rules` on a rig, with `clips` to name; `file` is what messages call their place, and paths of actions
/// start in its folder.
///
/// # Errors
/// [`Error::Faults`] for values out of range and for joints and clips that are not there; those of reading actions.
pub fn on_rig(
    rules: &[LayerRule],
    rig: &Rig,
    clips: &[Arc<Clip>],
    file: &Path,
) -> Result<Layers, Error> {
    let (path, mut faults) = (FieldPath::default().field("layers"), Faults::default());
    check(rules, &path, &mut faults);
    faults.into_error(file)?;
    let folder = file.parent().unwrap_or(Path::new(""));
    let mut around = Surroundings::new(rig, clips, folder);
    let mut faults = Faults::default();
    let layers = around.build(rules, &path, &mut faults);
    faults.into_error(file)?;
    around.action_error.take().map_or(Ok(layers), Err)
}
