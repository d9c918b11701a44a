//! What a scene says, field by field: the types that RON is read into.

use bevy_math::Vec3;
use serde::{Deserialize, Serialize};

use super::feet::FootRule;
use super::world::{MoveRule, WindRule};
use crate::assets::layers::{ClipFileRule, LayerRule, RowsRule};
use crate::profile::SwingProfile;
use crate::swing::ActorProperties;

pub(super) use crate::assets::rig_file::is_default;

/// `direction` made unit; `none` for one that is too short. Largest component first, so that no length over- or
/// underflows.
pub(super) fn unit_or(direction: [f32; 3], none: Vec3) -> Vec3 {
    let direction = Vec3::from_array(direction);
    (direction / direction.abs().max_element()).normalize_or(none)
}

/// A scene as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Scene")]
pub struct SceneRules {
    /// Version of the format: 1.
    pub version: u32,
    /// The model, a glTF or VRM file, relative to the scene's folder, with `/`.
    pub model: String,
    /// The rig file, relative to the scene's folder. Default none: nothing swings but what the model brings.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rig: Option<String>,
    /// Files whose clips can be named beside the model's own. Default none. `[L5]`
    #[serde(default, skip_serializing_if = "is_default")]
    pub clip_files: Vec<ClipFileRule>,
    /// Length, seconds, > 0, at most 3600.
    pub seconds: f64,
    /// Frames per second, 1 to 1000. Default 60.
    #[serde(default = "sixty")]
    pub rate_hz: f64,
    /// Of everything random: the noise of the wind. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub seed: u64,
    /// The solver's switches.
    #[serde(default, skip_serializing_if = "is_default")]
    pub profile: SwingProfile,
    /// Of every actor that does not say otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub properties: PropertiesRule,
    /// The wind. Default still air.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wind: Option<WindRule>,
    /// Who is there. Default one actor in the rest pose.
    #[serde(default = "one_actor")]
    pub actors: Vec<ActorRule>,
    /// Files to write.
    #[serde(default, skip_serializing_if = "is_default")]
    pub outputs: Vec<Output>,
    /// What must be true of the run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub expectations: Vec<Expectation>,
}

impl SceneRules {
    /// Number of actors in all groups.
    pub(super) fn actor_count(&self) -> usize {
        let counts = self.actors.iter().map(|actor| actor.count);
        counts.fold(0, usize::saturating_add)
    }
}

fn sixty() -> f64 {
    60.0
}

fn half_a_millimetre() -> f32 {
    0.0005
}

fn five() -> f32 {
    5.0
}

fn one_actor() -> Vec<ActorRule> {
    vec![ActorRule::default()]
}

/// A group of actors that play the same clip.
///
/// Where they stand (`offset`, `spacing`, `columns`) does not change how they swing, only that they move (`moves`) does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Actor")]
pub struct ActorRule {
    /// How many, ≥ 1. Default 1.
    pub count: usize,
    /// The clip: its name, or `#3` for the file's animation 3. Default none: the rest pose.
    #[serde(skip_serializing_if = "is_default")]
    pub clip: Option<String>,
    /// Time in the clip at which the first one starts, seconds, ≥ 0. Default 0.
    pub start: f32,
    /// How much later in the clip each next one starts, seconds, ≥ 0. Default 0.
    pub start_step: f32,
    /// Whether the clip repeats; else its last pose is held. Default true.
    #[serde(rename = "loop")]
    pub repeats: bool,
    /// Clips are resampled to rows that stay this near to their keys, which is cheaper; a clip that cannot keeps its keys,
    /// with a warning. Default: keys.
    #[serde(skip_serializing_if = "is_default")]
    pub in_rows: Option<RowsRule>,
    /// What lies over the clip, lower orders first. Default nothing. `[L1]` `[L2]`
    #[serde(skip_serializing_if = "is_default")]
    pub layers: Vec<LayerRule>,
    /// Where the first one stands, world space, metres. Default the origin.
    pub offset: [f32; 3],
    /// Distance of the columns along x, of the rows along y and z, metres. Default 1, 0, 1.
    pub spacing: [f32; 3],
    /// How many stand in a row, ≥ 1. Default: all.
    #[serde(skip_serializing_if = "is_default")]
    pub columns: Option<usize>,
    /// Their way through the world; of a group, each moves from where it stands by the same way. Default none.
    #[serde(skip_serializing_if = "is_default")]
    pub moves: Vec<MoveRule>,
    /// Times at which they are put at rest and settle, seconds. Default none. `[S10]`
    #[serde(skip_serializing_if = "is_default")]
    pub resets: Vec<f32>,
    /// What holds their feet: legs of the rig file. Default nothing. `[Q4]`
    #[serde(skip_serializing_if = "is_default")]
    pub feet: Vec<FootRule>,
    /// What they have.
    #[serde(skip_serializing_if = "is_default")]
    pub properties: PropertiesRule,
}

impl Default for ActorRule {
    fn default() -> Self {
        Self {
            count: 1,
            clip: None,
            start: 0.0,
            start_step: 0.0,
            repeats: true,
            in_rows: None,
            layers: Vec::new(),
            offset: [0.0; 3],
            spacing: [1.0, 0.0, 1.0],
            columns: None,
            moves: Vec::new(),
            resets: Vec::new(),
            feet: Vec::new(),
            properties: PropertiesRule::default(),
        }
    }
}

impl ActorRule {
    /// Where number `n` of the group stands, metres.
    pub(super) fn place(&self, n: usize) -> Vec3 {
        let columns = self.columns.unwrap_or(self.count).max(1);
        let (column, row) = ((n % columns) as f32, (n / columns) as f32);
        let steps = Vec3::new(column, row, row);
        Vec3::from_array(self.offset) + steps * Vec3::from_array(self.spacing)
    }
}

/// Properties of actors; what is not written comes from the scene's, then from [`ActorProperties::default`]. `[5.1]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Properties")]
pub struct PropertiesRule {
    /// Share of the swing in the pose, 0 to 1.
    #[serde(skip_serializing_if = "is_default")]
    pub weight: Option<f32>,
    /// Multiplies every force and the inertia, > 0, at most 100.
    #[serde(skip_serializing_if = "is_default")]
    pub swing_power: Option<f32>,
    /// How much of the horizontal root correction it takes, 0 to 1.
    #[serde(skip_serializing_if = "is_default")]
    pub root_horizontal_weight: Option<f32>,
    /// How much of the vertical root correction it takes, 0 to 1.
    #[serde(skip_serializing_if = "is_default")]
    pub root_vertical_weight: Option<f32>,
    /// A force on every joint that feels it, world space; 1 is 2/3 m per substep.
    #[serde(skip_serializing_if = "is_default")]
    pub global_force: Option<[f32; 3]>,
    /// Direction of gravity, world space; any length but 0.
    #[serde(skip_serializing_if = "is_default")]
    pub gravity: Option<[f32; 3]>,
}

impl PropertiesRule {
    /// These, and where they say nothing, those of `below`.
    pub fn over(&self, below: &Self) -> Self {
        Self {
            weight: self.weight.or(below.weight),
            swing_power: self.swing_power.or(below.swing_power),
            root_horizontal_weight: self.root_horizontal_weight.or(below.root_horizontal_weight),
            root_vertical_weight: self.root_vertical_weight.or(below.root_vertical_weight),
            global_force: self.global_force.or(below.global_force),
            gravity: self.gravity.or(below.gravity),
        }
    }

    /// As the engine has them, gravity made unit.
    pub fn properties(&self) -> ActorProperties {
        let base = ActorProperties::default();
        let gravity = self.gravity.map(|gravity| unit_or(gravity, base.gravity));
        ActorProperties {
            weight: self.weight.unwrap_or(base.weight),
            swing_power: self.swing_power.unwrap_or(base.swing_power),
            root_horizontal_weight: self
                .root_horizontal_weight
                .unwrap_or(base.root_horizontal_weight),
            root_vertical_weight: self
                .root_vertical_weight
                .unwrap_or(base.root_vertical_weight),
            global_force: self
                .global_force
                .map_or(base.global_force, Vec3::from_array),
            gravity: gravity.unwrap_or(base.gravity),
        }
    }
}

/// A file that a run writes, relative to the folder for outputs, with `/`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Output {
    /// The model with the motion of one actor as a clip.
    Baked {
        /// A `.glb` or `.vrm` file for a binary model, a `.gltf` file for a text one.
        file: String,
        /// Which actor, numbered from 0 through all groups. Default 0.
        #[serde(default)]
        actor: usize,
        /// Name of the clip. Default: that of the actor's clip.
        #[serde(default, skip_serializing_if = "is_default")]
        clip: Option<String>,
    },
    /// A table: one row per frame and joint with time, tip, rotation and hits.
    Trace {
        /// A `.csv` file.
        file: String,
        /// Which actor. Default 0.
        #[serde(default)]
        actor: usize,
        /// Which joints. Default: all swing joints.
        #[serde(default, skip_serializing_if = "is_default")]
        joints: Vec<String>,
    },
}

impl Output {
    /// Its file as written.
    pub fn file(&self) -> &str {
        match self {
            Self::Baked { file, .. } | Self::Trace { file, .. } => file,
        }
    }

    /// The actor that it is about.
    pub fn actor(&self) -> usize {
        match self {
            Self::Baked { actor, .. } | Self::Trace { actor, .. } => *actor,
        }
    }
}

/// What must be true of a run. Without `actor`, it must be true of every actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub enum Expectation {
    /// The end of a joint's bone is at a place at a time.
    TipAt {
        /// A swing joint.
        joint: String,
        /// Seconds from the start, at most the scene's length; the frame that ends nearest to it is looked at.
        time: f64,
        /// Model space, metres.
        position: [f32; 3],
        /// Largest distance from there, metres, ≥ 0.
        within: f32,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// No bone of a swing joint is longer or shorter than at rest, in any frame.
    LengthsKept {
        /// Largest relative change, dimensionless, ≥ 0: 1e-5 is 0.01 mm per metre.
        within: f32,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// No collider of a swing joint reaches into a static collider that it can meet, in any frame.
    NoPenetration {
        /// Deepest that is let pass, metres, ≥ 0.
        deeper_than: f32,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// The largest angle between a joint's animated and swinging rotation over all frames is in a range; at least one
    /// end is given.
    LargestDeflection {
        /// A swing joint.
        joint: String,
        /// Lower end, degrees, 0 to 180. Default 0.
        #[serde(default, skip_serializing_if = "is_default")]
        at_least_deg: Option<f32>,
        /// Upper end, degrees, 0 to 180. Default 180.
        #[serde(default, skip_serializing_if = "is_default")]
        at_most_deg: Option<f32>,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// No swing joint turns farther between two frames: nothing pops. Frames of a reset are not looked at.
    LargestStep {
        /// A swing joint. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        joint: Option<String>,
        /// Upper end, degrees, 0 to 180.
        at_most_deg: f32,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// The share of time that limited swing joints spend at a limit, over all of them, is not above this. `[D2]`
    AtLimit {
        /// Share, 0 to 1.
        at_most: f32,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// No ring of a chain layer is longer or shorter than at rest, in any frame.
    RingLength {
        /// Largest relative change, dimensionless, ≥ 0: 0.05 is a twentieth.
        within: f32,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// After the last frame in which its animation or its place changed, an actor comes to rest: no particle is faster
    /// than 1 cm/s any more.
    Settles {
        /// After this time at the latest, seconds, > 0.
        within_seconds: f32,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// The farthest a layer turns a joint against the pose below it, in any frame, is in this range.
    LayerTurns {
        /// The layer's name.
        layer: String,
        /// The joint.
        joint: String,
        /// Degrees. Default 0.
        #[serde(default, skip_serializing_if = "is_default")]
        at_least_deg: Option<f32>,
        /// Degrees. Default 180.
        #[serde(default, skip_serializing_if = "is_default")]
        at_most_deg: Option<f32>,
        /// Which actor. Default all that have the layer.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// Feet stay where they are held, and no joint of a held leg pops. `[Q4]`
    FeetPlanted {
        /// Largest distance of a sole from where it is wholly held, metres, ≥ 0. Default 0.0005.
        #[serde(default = "half_a_millimetre")]
        within: f32,
        /// Largest turn of a joint of a held leg between two frames, degrees in the world, 0 to 180. Default 5.
        #[serde(default = "five")]
        at_most_deg: f32,
        /// Which actor. Default all.
        #[serde(default, skip_serializing_if = "is_default")]
        actor: Option<usize>,
    },
    /// The state of all actors after the last frame has this hash, the same on every machine.
    StateHash {
        /// 16 to 64 lower-case hexadecimal digits: the hash, or its start.
        hash: String,
    },
}

impl Expectation {
    /// The actor that it is about; `None`: all.
    pub fn actor(&self) -> Option<usize> {
        match self {
            Self::TipAt { actor, .. }
            | Self::LengthsKept { actor, .. }
            | Self::NoPenetration { actor, .. }
            | Self::LargestDeflection { actor, .. }
            | Self::LargestStep { actor, .. }
            | Self::AtLimit { actor, .. }
            | Self::RingLength { actor, .. }
            | Self::LayerTurns { actor, .. }
            | Self::Settles { actor, .. }
            | Self::FeetPlanted { actor, .. } => *actor,
            Self::StateHash { .. } => None,
        }
    }
}
