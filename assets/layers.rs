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

pub(in crate::assets) mod build;
mod checks;
mod schema;

pub(in crate::assets) use build::Surroundings;
pub(in crate::assets) use checks::{check, check_clip_file, check_rows};
pub use schema::{
    BlendRule, ClipFileRule, KindRule, LayerRule, MaskRule, ReferenceRule, RowsRule, WindowRule,
};
