//! What a layer says, field by field: the types that RON is read into.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::action::Ease;
use crate::additive::Side;
use crate::assets::rig_file::is_default;
use crate::blend::Interpolant;
use crate::layer::Missing;
use crate::uniform::ErrorBound;

/// A layer of an actor: one of `clip`, `blend` and `action`, and what is done with it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Layer")]
pub struct LayerRule {
    /// What messages and readouts call it; one of its own. Default: its clip's or action's name, or `blend`.
    #[serde(skip_serializing_if = "is_default")]
    pub name: String,
    /// Its place: lower ones run first; one of its own. Default: its place in the list.
    #[serde(skip_serializing_if = "is_default")]
    pub order: Option<i32>,
    /// The clip: its name, or `#3` for the file's animation 3.
    #[serde(skip_serializing_if = "is_default")]
    pub clip: Option<String>,
    /// Several clips side by side. `[B4]`
    #[serde(skip_serializing_if = "is_default")]
    pub blend: Vec<BlendRule>,
    /// With `blend`: rotations are aligned to the rest pose, which is continuous in the weights. Default no.
    #[serde(skip_serializing_if = "is_default")]
    pub about_rest: bool,
    /// An action file, relative to the folder of this one, with `/`. `[K3]`–`[K6]`
    #[serde(skip_serializing_if = "is_default")]
    pub action: Option<String>,
    /// When the action's lead-in begins, seconds. Default 0.
    #[serde(skip_serializing_if = "is_default")]
    pub starts: f64,
    /// Time in the clip, seconds, that is shown when the scene starts, or when the layer's window opens. Default 0.
    #[serde(skip_serializing_if = "is_default")]
    pub start: f32,
    /// Seconds of the clip per second; negative plays it backwards. Default 1.
    #[serde(skip_serializing_if = "is_one")]
    pub speed: f32,
    /// Whether the clip repeats; else its last pose is held. Default true.
    #[serde(rename = "loop", skip_serializing_if = "is_true")]
    pub repeats: bool,
    /// What is done with it. Default `override`.
    #[serde(skip_serializing_if = "is_default")]
    pub kind: KindRule,
    /// How much of it, 0 to 1. Default 1.
    #[serde(skip_serializing_if = "is_one")]
    pub weight: f32,
    /// When it acts and how it fades. Default always.
    #[serde(skip_serializing_if = "is_default")]
    pub window: Option<WindowRule>,
    /// Which joints it reaches. Default all. `[L3]`
    #[serde(skip_serializing_if = "is_default")]
    pub mask: MaskRule,
    /// What a property without a track does. Default `base`: it stays as it is below the layer. `[L4]`
    #[serde(skip_serializing_if = "is_default")]
    pub missing: Missing,
    /// How rotations blend. Default `slerp`. `[B3]`
    #[serde(skip_serializing_if = "is_default")]
    pub interpolant: Interpolant,
}

impl Default for LayerRule {
    fn default() -> Self {
        Self {
            name: String::new(),
            order: None,
            clip: None,
            blend: Vec::new(),
            about_rest: false,
            action: None,
            starts: 0.0,
            start: 0.0,
            speed: 1.0,
            repeats: true,
            kind: KindRule::default(),
            weight: 1.0,
            window: None,
            mask: MaskRule::default(),
            missing: Missing::default(),
            interpolant: Interpolant::default(),
        }
    }
}

fn is_one(value: &f32) -> bool {
    *value == 1.0
}

fn is_true(value: &bool) -> bool {
    *value
}

/// One clip of a blend.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Blend")]
pub struct BlendRule {
    /// The clip: its name, or `#3`.
    pub clip: String,
    /// How much of it against the others, ≥ 0. Default 1.
    #[serde(default = "one")]
    pub weight: f32,
    /// As a layer's `start`. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub start: f32,
}

fn one() -> f32 {
    1.0
}

/// What a layer does with the pose below.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum KindRule {
    /// Takes its place. `[L1]`
    #[default]
    Override,
    /// Adds what the sample differs from a reference. `[L2]`
    Additive {
        /// Which side of the joint's rotation the difference is put on. Default `own`; `parent` is another kind of layer.
        #[serde(default)]
        side: Side,
        /// What the sample is compared with. Default `rest`.
        #[serde(default)]
        reference: ReferenceRule,
        /// Whether a difference of half a turn and more keeps the way it came. Default no.
        #[serde(default)]
        continuous: bool,
    },
}

/// What an additive layer's sample is compared with.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum ReferenceRule {
    /// The rest pose.
    #[default]
    Rest,
    /// The layer's own clip at this time, seconds.
    At(f32),
    /// Another clip at a time.
    Clip {
        /// Its name, or `#3`.
        clip: String,
        /// Seconds. Default 0.
        #[serde(default)]
        at: f32,
    },
}

/// When a layer acts: nothing before `starts + lead_in`, then for `length`, with fades at both ends. `[K3]` `[K4]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Window")]
pub struct WindowRule {
    /// Seconds. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub starts: f64,
    /// Seconds, ≥ 0. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lead_in: f64,
    /// Seconds, ≥ 0.
    pub length: f64,
    /// Seconds from nothing to all, ≥ 0. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fade_in: f64,
    /// Seconds from all to nothing, ≥ 0. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fade_out: f64,
    /// How both fades go. Default `linear`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub ease: Ease,
}

/// Which joints a layer reaches: those at and below `roots`, without those at and below `except`. `[L3]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Mask")]
pub struct MaskRule {
    /// Joints. Default all.
    #[serde(skip_serializing_if = "is_default")]
    pub roots: Vec<String>,
    /// Joints. Default none.
    #[serde(skip_serializing_if = "is_default")]
    pub except: Vec<String>,
    /// How much single joints take, 0 to 1; the others 1.
    #[serde(skip_serializing_if = "is_default")]
    pub weights: BTreeMap<String, f32>,
}

/// A file whose clips are wanted beside the model's own. `[L5]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "ClipFile")]
pub struct ClipFileRule {
    /// A glTF file, relative to the folder of this one, with `/`.
    pub file: String,
    /// The model's joint for one of the file's, both named as everywhere; joints not paired here find the joint of their
    /// own name.
    #[serde(skip_serializing_if = "is_default")]
    pub names: BTreeMap<String, String>,
    /// Whether joints turn and move from their own rest as the file's do from theirs, for rigs whose joints rest along
    /// other axes; both have to rest in the same posture. Default no: keys are carried as they are.
    #[serde(skip_serializing_if = "is_default")]
    pub from_rest: bool,
    /// The turn that takes the file's axes to the model's: Euler angles ZXY, degrees. Default none.
    #[serde(skip_serializing_if = "is_default")]
    pub basis_deg: [f32; 3],
    /// The model's size over the file's, for translations; > 0. Default 1.
    #[serde(skip_serializing_if = "is_one")]
    pub scale: f32,
}

impl Default for ClipFileRule {
    fn default() -> Self {
        Self {
            file: String::new(),
            names: BTreeMap::new(),
            from_rest: false,
            basis_deg: [0.0; 3],
            scale: 1.0,
        }
    }
}

/// How near rows of a resampled clip stay to its keys.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Rows")]
pub struct RowsRule {
    /// Rotations against the parent, degrees, > 0. Default 0.06.
    pub within_deg: f32,
    /// Translations, in the model's units, > 0. Default 0.0001.
    pub within_length: f32,
    /// Scales, dimensionless, > 0. Default 0.001.
    pub within_scale: f32,
}

impl Default for RowsRule {
    fn default() -> Self {
        Self {
            within_deg: 0.06,
            within_length: 1e-4,
            within_scale: 1e-3,
        }
    }
}

impl RowsRule {
    /// As the engine has it.
    pub fn bound(&self) -> ErrorBound {
        ErrorBound {
            rotation: self.within_deg.to_radians(),
            translation: self.within_length,
            scale: self.within_scale,
        }
    }
}
