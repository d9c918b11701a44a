//! Rig files: which joints of a model swing and how, in RON for people.
//!
//! ```ron
//! (
//!     version: 1,
//!     root_correction: "hips",
//!     defaults: (mass: 0.3),
//!     presets: {
//!         "soft": (stiffness: 0.3, damping: 0.2, collider: (shape: sphere(radius: 0.02))),
//!     },
//!     chains: [
//!         (root: "hair_01", preset: "soft", overrides: {"hair_03": (stiffness: 0.1)}),
//!         (joints: ["ear_l", "ear_l_tip"], parameters: (limit_x_deg: (-20, 35))),
//!         (pattern: "ball.*", parameters: (tail: (axis: (0, 1, 0), length: 0.1))),
//!     ],
//!     colliders: [
//!         (joint: "head", shape: sphere(offset: (0, 0.1, 0), radius: 0.1)),
//!     ],
//! )
//! ```
//!
//! Beside `chains` and `colliders` a file may have `layers` (rings of chains that keep together), `legs` (whose soles
//! scenes can hold in place), `skirt_drivers`, `blend_constraints` and `bake_curves`. [`Rules`] documents every field. A reference to a joint is its exact name; where no joint has that name, `#17` is
//! the joint of node 17 and `Parent/Child` a path from below.
//!
//! **Order.** The rig's swing joints come in the order of the chains in the file, and inside a chain parents first (in
//! the model's joint order). Static colliders come in the order of the file. Both orders are part of the result.
//! `[5.2]`
//!
//! **Precedence.** The engine's defaults, `defaults`, the preset, the chain's `parameters`, the joint's `overrides`:
//! each wins over those before it, field by field.

use std::path::{Path, PathBuf};

use super::text::{self, Faults};
use super::{Error, check};
use crate::chain::ChainLayer;
use crate::clip::Clip;
use crate::collider::StaticCollider;
use crate::driver::Driver;
use crate::mirror;
use crate::rig::Rig;
use crate::swing::SwingJoint;

mod build;
pub(super) mod names;
mod pick;
pub(super) mod ranges;
mod references;
mod schema;
mod ties;

pub(super) use schema::is_default;
pub use schema::{
    BakeCurveRule, BlendConstraintRule, ChainLayerRule, ChainRule, ColliderRule, FieldRule,
    LegRule, MotionRule, Parameters, PlacementRule, ProductRule, ReferenceRule, Rules, ShapeRule,
    SkirtDriverRule, SourceRule, Space, StaticRule, Tail,
};

/// A rig file that was read and makes sense by itself; whether it fits a model, [`Self::apply`] says.
#[derive(Clone, Debug, PartialEq)]
pub struct RigFile {
    file: PathBuf,
    text: String,
    rules: Rules,
}

/// What [`RigFile::apply`] did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// The joints that each chain picked, in the file's order; indices into the rig.
    pub chains: Vec<AppliedChain>,
    /// What deserves a look: optional things that the model lacks, and what [`check::inspect`] warns of.
    pub warnings: Vec<String>,
    /// Names of optional chains, overrides and colliders that match no joint.
    pub unmatched: Vec<Unmatched>,
}

/// The joints of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AppliedChain {
    /// What messages call it, in quotes.
    pub name: String,
    /// Indices into the rig, parents first.
    pub joints: Vec<usize>,
}

/// A name in the file that matches no joint of the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unmatched {
    /// Field path: `chains[2].root`.
    pub path: String,
    /// As written.
    pub name: String,
    /// Names of the model that look like it, best first.
    pub near: Vec<String>,
    /// Whether the file says that the model may lack it.
    pub optional: bool,
}

/// A rig file on a model: what it comes to, and what is wrong with it.
#[derive(Debug, Default)]
pub(super) struct Resolution {
    pub swing: Vec<SwingJoint>,
    pub colliders: Vec<StaticCollider>,
    pub layers: Vec<ChainLayer>,
    pub drivers: Vec<Driver>,
    pub root_correction: Option<usize>,
    pub chains: Vec<AppliedChain>,
    pub faults: Faults,
    pub warnings: Vec<String>,
    pub unmatched: Vec<Unmatched>,
}

/// Reads `text` as a rig file; `file` is its name for messages.
///
/// # Errors
/// [`Error::Ron`] with the place if the text cannot be parsed or one value is wrong (out of range, unknown preset, not
/// supported yet); [`Error::Faults`] if several values are.
pub fn parse(file: &Path, text: &str) -> Result<RigFile, Error> {
    let rules: Rules = text::parse(file, text)?;
    let text = text::without_mark(text);
    ranges::check(&rules).into_value_result(file, text)?;
    Ok(RigFile {
        file: file.to_path_buf(),
        text: text.to_owned(),
        rules,
    })
}

/// Reads `bytes` as a rig file; `file` is its name for messages.
///
/// # Errors
/// [`Error::Ron`] if they are no UTF-8 or too many; else as [`parse`].
pub fn decode(file: &Path, bytes: Vec<u8>) -> Result<RigFile, Error> {
    parse(file, &text::decode(file, bytes)?)
}

/// Reads a rig file.
///
/// # Errors
/// [`Error::Io`] if it cannot be read; else as [`parse`].
pub fn read(file: &Path) -> Result<RigFile, Error> {
    parse(file, &text::load(file)?)
}

impl RigFile {
    /// A rig file from rules made in code; `file` is its name for messages.
    ///
    /// # Errors
    /// As [`parse`].
    pub fn new(file: &Path, rules: &Rules) -> Result<Self, Error> {
        parse(file, &text::write(rules)?)
    }

    /// Its name for messages.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What it says.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// The rules as RON, without the comments of the file; reading it gives equal rules.
    ///
    /// # Errors
    /// [`Error::Request`] if it cannot be written, which no rules cause.
    pub fn to_ron(&self) -> Result<String, Error> {
        text::write(&self.rules)
    }

    /// Puts the swing joints and colliders of this file on `rig`, whose joints come from the model; what was there is
    /// replaced. On an error the rig is unchanged.
    ///
    /// # Errors
    /// [`Error::Faults`] with everything that does not fit the model: names that match no joint or several, a joint in
    /// two chains, a reference limit on a joint that does not swing, …; and with what [`check::inspect`] calls a fault.
    pub fn apply(&self, rig: &mut Rig) -> Result<Applied, Error> {
        let mut complete = rig.clone();
        let mut applied = self.put_on(&mut complete)?;
        let mut faults = Vec::new();
        for finding in check::inspect(&complete, &check::Use::default()) {
            match finding.severity {
                check::Severity::Fault => faults.push(finding.to_string()),
                check::Severity::Warning => applied.warnings.push(finding.to_string()),
                check::Severity::Note => {}
            }
        }
        if !faults.is_empty() {
            let file = self.file.clone();
            return Err(Error::Faults { file, faults });
        }
        *rig = complete;
        Ok(applied)
    }

    /// As [`Self::apply`], without the check: for callers who know how the rig will be used and check it so.
    pub(super) fn put_on(&self, rig: &mut Rig) -> Result<Applied, Error> {
        let mut resolution = self.resolve(rig);
        core::mem::take(&mut resolution.faults).into_result(&self.file, &self.text)?;
        Ok(self.complete(rig, resolution))
    }

    /// Puts a resolution on the rig that it was made for, mirrored where the file is left-handed. `[C1]`
    pub(super) fn complete(&self, rig: &mut Rig, resolution: Resolution) -> Applied {
        rig.metres_per_unit = self.rules.metres_per_unit;
        rig.root_correction = resolution.root_correction;
        rig.swing = resolution.swing;
        rig.colliders = resolution.colliders;
        rig.layers = resolution.layers;
        rig.drivers = resolution.drivers;
        if self.rules.space == Space::LeftHanded {
            mirror::parts(rig);
        }
        Applied {
            chains: resolution.chains,
            warnings: resolution.warnings,
            unmatched: resolution.unmatched,
        }
    }

    /// What is wrong with `bake_curves` on a complete rig and its model's clips, as lines with their places.
    pub(super) fn curve_faults(&self, rig: &Rig, clips: &[Clip]) -> Vec<String> {
        let (_, faults) = ties::bake_tracks(&self.rules, rig, clips);
        faults.lines(&self.text)
    }

    /// Adds the bake weights of `bake_curves` to the clips of a model whose rig this file was put on. `[V4]`
    ///
    /// # Errors
    /// [`Error::Faults`] for a curve whose clip or joints the model does not have, or whose joints do not swing. The
    /// clips are unchanged then.
    pub fn apply_to_clips(&self, rig: &Rig, clips: &mut [Clip]) -> Result<(), Error> {
        let (tracks, faults) = ties::bake_tracks(&self.rules, rig, clips);
        faults.into_result(&self.file, &self.text)?;
        for (clip, track) in tracks {
            clips[clip].tracks.push(track);
        }
        Ok(())
    }

    /// The faults of a resolution as lines with their places.
    pub(super) fn fault_lines(&self, faults: &Faults) -> Vec<String> {
        faults.lines(&self.text)
    }
}

#[cfg(test)]
mod tests;
