//! What a rig file says, field by field: the types that RON is read into.
//!
//! Everything is optional but `version` and what picks a chain's joints. No field is flattened or untagged, so that
//! an error always has its place.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Whether a value is what stands there when nothing is written.
pub(in crate::assets) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A rig file as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Rig")]
pub struct Rules {
    /// Version of the format: 1.
    pub version: u32,
    /// Handedness of the numbers in this file. Default right-handed.
    #[serde(default, skip_serializing_if = "is_default")]
    pub space: Space,
    /// Metres per unit of the model, > 0: 0.01 for a model made in centimetres. Default 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub metres_per_unit: f32,
    /// The joint whose motion `[S1]` shares out, usually the hips. Default none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub root_correction: Option<String>,
    /// Parameters of every chain that does not say otherwise.
    #[serde(default, skip_serializing_if = "is_default")]
    pub defaults: Parameters,
    /// Parameters under a name, for chains to refer to.
    #[serde(default, skip_serializing_if = "is_default")]
    pub presets: BTreeMap<String, Parameters>,
    /// Which joints swing, and how; the order is part of the result.
    #[serde(default, skip_serializing_if = "is_default")]
    pub chains: Vec<ChainRule>,
    /// What the joints collide with; the order is part of the result.
    #[serde(default, skip_serializing_if = "is_default")]
    pub colliders: Vec<StaticRule>,
    /// Rings of neighbouring chains that keep together. `[X6]` `[M1]`
    #[serde(default, skip_serializing_if = "is_default")]
    pub layers: Vec<ChainLayerRule>,
    /// Legs whose soles scenes and programs can hold in place; the order is that of the anchors. `[Q4]`
    #[serde(default, skip_serializing_if = "is_default")]
    pub legs: Vec<LegRule>,
    /// Joints that follow a part of another joint's rotation: skirts over legs. `[Q1]`
    #[serde(default, skip_serializing_if = "is_default")]
    pub skirt_drivers: Vec<SkirtDriverRule>,
    /// Joints that follow up to four others. `[Q2]`
    #[serde(default, skip_serializing_if = "is_default")]
    pub blend_constraints: Vec<BlendConstraintRule>,
    /// How much of the animation joints show over a clip. `[V4]`
    #[serde(default, skip_serializing_if = "is_default")]
    pub bake_curves: Vec<BakeCurveRule>,
}

fn one() -> f32 {
    1.0
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_one(value: &f32) -> bool {
    *value == 1.0
}

/// Handedness of the numbers in a rig file. `[C1]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// As glTF: +Y up, +Z forward, −X right.
    #[default]
    RightHanded,
    /// As Unity; numbers are mirrored when read.
    LeftHanded,
}

/// Joints that swing.
///
/// Exactly one of `root`, `joints` and `pattern` picks them. Parameters come from, each winning over those before it:
/// the engine's defaults ([`crate::swing::SwingJoint::new`]), the file's `defaults`, the preset, the chain's
/// `parameters`, the joint's `overrides`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Chain")]
pub struct ChainRule {
    /// What messages call it. Default: what picks it.
    #[serde(skip_serializing_if = "is_default")]
    pub name: Option<String>,
    /// This joint and every joint below it, parents first.
    #[serde(skip_serializing_if = "is_default")]
    pub root: Option<String>,
    /// With `root`: at most this many joints deep, the root counting as 1. Default: all.
    #[serde(skip_serializing_if = "is_default")]
    pub depth: Option<usize>,
    /// With `root`: only the joints on the way down to this one, both ends included. Default: all.
    #[serde(skip_serializing_if = "is_default")]
    pub until: Option<String>,
    /// These joints, each below the one before it; joints between them are left alone, and the bone of each ends at
    /// the next.
    #[serde(skip_serializing_if = "is_default")]
    pub joints: Vec<String>,
    /// Every joint whose name matches: `*` is any text, `?` any letter, `{A,B}` either.
    #[serde(skip_serializing_if = "is_default")]
    pub pattern: Option<String>,
    /// A model without these joints is fine: what is missing is left out with a warning. Default false.
    #[serde(skip_serializing_if = "is_default")]
    pub optional: bool,
    /// Name of an entry of `presets`.
    #[serde(skip_serializing_if = "is_default")]
    pub preset: Option<String>,
    /// Parameters of all joints of the chain.
    #[serde(skip_serializing_if = "is_default")]
    pub parameters: Parameters,
    /// Parameters of single joints of the chain, by joint.
    #[serde(skip_serializing_if = "is_default")]
    pub overrides: BTreeMap<String, Parameters>,
}

/// Defines [`Parameters`] and what has to name each of its fields.
macro_rules! parameters {
    ($($(#[$doc:meta])* $field:ident: $kind:ty,)*) => {
        /// Parameters of swing joints; what is not written comes from below, see [`ChainRule`]. `[5.1]`
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Parameters {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "is_default")]
                pub $field: Option<$kind>,
            )*
        }

        impl Parameters {
            /// These, and where they say nothing, those of `below`.
            pub fn over(&self, below: &Self) -> Self {
                Self {
                    $($field: self.$field.clone().or_else(|| below.$field.clone()),)*
                }
            }
        }
    };
}

parameters! {
    /// Whether it turns or slides. Default swing.
    motion: MotionRule,
    /// An inactive joint follows its parent undeflected. Default true.
    active: bool,
    /// The descendant at whose origin the bone ends; in `overrides` only. Default: the first child that swings, else
    /// the first child.
    tip: String,
    /// A virtual end. In `overrides` it wins over the children; elsewhere it is for the joints without children.
    tail: Tail,
    /// Speed lost, 0 to 1: *0 keeps all speed, 1 stops the particle*.
    damping: f32,
    /// Pull towards the rest direction, 0 to 10000: *0 hangs freely*; 1 moves the particle 0.0067 m per substep.
    stiffness: f32,
    /// Share of the tip child's speed that pulls this one along, 0 to 1.
    spring: f32,
    /// Pull of gravity, 0 to 10000; 1 moves the particle 0.0067 m per substep.
    mass: f32,
    /// How much of the stiffness is lost while the joint is still, 0 to 10000.
    pendulum: f32,
    /// Width of the band around "still" in which `pendulum` acts, 0 to 1.
    pendulum_range: f32,
    /// Share of the wind that it feels, −10000 to 10000: at 1 a wind of strength 1 moves the particle 0.67 m per substep.
    wind: f32,
    /// Whether wind and global force act at all.
    use_wind_global_force: bool,
    /// Slide: sideways force that becomes force along y, dimensionless.
    axis_add_x_to_y: f32,
    /// Slide: sideways force that becomes force along z, dimensionless.
    axis_add_x_to_z: f32,
    /// Horizontal root motion that it feels, 0 to 1: *0 none, 1 all*.
    root_horizontal_weight: f32,
    /// Vertical root motion that it feels, 0 to 1.
    root_vertical_weight: f32,
    /// Swing: lowest and highest turn about x from rest, degrees, −180 to 180; (0, 0) locks. Default free.
    limit_x_deg: (f32, f32),
    /// Swing: lowest and highest turn about y, degrees.
    limit_y_deg: (f32, f32),
    /// Swing: lowest and highest turn about z, degrees.
    limit_z_deg: (f32, f32),
    /// Slide: lowest and highest shift along x, millimetres.
    slide_x_mm: (f32, f32),
    /// Slide: lowest and highest shift along y, millimetres.
    slide_y_mm: (f32, f32),
    /// Slide: lowest and highest shift along z, millimetres.
    slide_z_mm: (f32, f32),
    /// Swing: another swing joint that the middle of the limits follows. `[V2]`
    reference_limit: ReferenceRule,
    /// What meets the static colliders, at the particle.
    collider: ColliderRule,
    /// Share of the animation, 0 to 1: *0 physics, 1 animation*; of joints that turn. `[V4]`
    bake_weight: f32,
}

/// What moves at a joint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename = "Motion")]
pub enum MotionRule {
    /// It turns about its origin.
    #[default]
    Swing,
    /// It translates against its parent.
    Slide,
}

/// A virtual end of a bone.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tail {
    /// Direction in joint space; any length but 0.
    pub axis: [f32; 3],
    /// > 0, in the joint's own units.
    pub length: f32,
}

/// A joint that moves another's limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "ReferenceLimit")]
pub struct ReferenceRule {
    /// A swing joint.
    pub joint: String,
    /// How much of its deflection moves the limits, −10 to 10.
    pub weight: f32,
}

/// A shape with its mask.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Collider")]
pub struct ColliderRule {
    /// What it is.
    pub shape: ShapeRule,
    /// Layers that it is on, 0 to 31; two colliders meet when they share one. Default all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mask: Option<Vec<u32>>,
}

/// A collider on a joint of the body.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "StaticCollider")]
pub struct StaticRule {
    /// The joint that it moves with; only a plane may be without.
    #[serde(default, skip_serializing_if = "is_default")]
    pub joint: Option<String>,
    /// What it is.
    pub shape: ShapeRule,
    /// Layers that it is on, 0 to 31. Default all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mask: Option<Vec<u32>>,
    /// A model without this joint is fine: the collider is left out with a warning. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
}

/// A shape. Offsets and radii are in the joint's own units.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case", rename = "Shape")]
pub enum ShapeRule {
    /// No collider: takes away one that comes from a preset.
    None,
    /// A ball.
    Sphere {
        /// Centre, joint space. Default the origin (of the particle, on a swing joint).
        #[serde(default)]
        offset: [f32; 3],
        /// ≥ 0.
        radius: f32,
    },
    /// A capsule whose ends may differ.
    Capsule {
        /// First end, joint space.
        offset_a: [f32; 3],
        /// Second end, joint space.
        offset_b: [f32; 3],
        /// At the first end, ≥ 0.
        radius_a: f32,
        /// At the second end, ≥ 0.
        radius_b: f32,
    },
    /// The bone with a thickness.
    Line {
        /// How far it stops short of its first end, ≥ 0. Default 0.
        #[serde(default)]
        inset_a: f32,
        /// How far it stops short of its second end, ≥ 0. Default 0.
        #[serde(default)]
        inset_b: f32,
        /// At the first end (the particle), ≥ 0.
        radius_a: f32,
        /// At the second end (the joint), ≥ 0.
        radius_b: f32,
        /// Multiplies both insets, ≥ 0. Default 1.
        #[serde(default = "one")]
        scale: f32,
    },
    /// A half-space that stands still in model space.
    Plane {
        /// Points out of it; any length but 0.
        normal: [f32; 3],
        /// Along the normal, metres.
        #[serde(default)]
        offset: f32,
    },
}

/// A ring or row of joints whose particles are linked. `[X6]` `[M1]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Layer")]
pub struct ChainLayerRule {
    /// In ring order: the joints at the *ends* of the linked bones, all equally deep.
    pub joints: Vec<String>,
    /// Whether it acts. Default true.
    #[serde(skip_serializing_if = "is_true")]
    pub active: bool,
    /// Whether the last is linked to the first. Default false.
    pub around: bool,
    /// Of the links, metres, ≥ 0. Default 0.
    pub radius: f32,
    /// How far each particle moves to the middle of its neighbours per substep, 0 to 1; around a ring only. Default 0.
    pub smoothing: f32,
    /// Layers of the links' colliders. Default all.
    #[serde(skip_serializing_if = "is_default")]
    pub mask: Option<Vec<u32>>,
    /// A model without these joints is fine: the layer is left out with a warning. Default false.
    #[serde(skip_serializing_if = "is_default")]
    pub optional: bool,
}

impl Default for ChainLayerRule {
    fn default() -> Self {
        Self {
            joints: Vec::new(),
            active: true,
            around: false,
            radius: 0.0,
            smoothing: 0.0,
            mask: None,
            optional: false,
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde calls it with a reference"
)]
fn is_true(value: &bool) -> bool {
    *value
}

/// A leg whose sole can be held where it is. `[Q4]`
///
/// Joints between these three keep their animation against their parents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Leg")]
pub struct LegRule {
    /// What scenes and messages call it; no two legs alike.
    pub name: String,
    /// The joint at the hip.
    pub upper: String,
    /// The joint at the knee, below `upper`.
    pub lower: String,
    /// The joint at the ankle, below `lower`.
    pub foot: String,
    /// The point of the foot that stays in place, in the foot's joint space. Default its origin.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sole: [f32; 3],
    /// The side to which the leg bends where it is animated straight: a direction in the space of `upper`'s parent, any
    /// length but 0. Default that of the rest pose; where the leg is straight there too, forward.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pole: Option<[f32; 3]>,
    /// A model without these joints is fine: the leg is left out with a warning. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
}

/// A joint that follows a part of another's rotation. `[Q1]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "SkirtDriver")]
pub struct SkirtDriverRule {
    /// The joint that is driven.
    pub joint: String,
    /// The joint that drives.
    pub reference: String,
    /// The product of turns that the rotation is split into.
    pub product: ProductRule,
    /// Share of positive angles, per axis, −10 to 10.
    pub inner: [f32; 3],
    /// Share of negative angles, per axis, −10 to 10.
    pub outer: [f32; 3],
    /// Lowest angles, degrees.
    pub min_deg: [f32; 3],
    /// Highest angles, degrees.
    pub max_deg: [f32; 3],
    /// How many frames late the reference is read, 0 to 600. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub lag: u32,
    /// A model without these joints is fine: the driver is left out with a warning. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
}

/// The product of turns about the axes that a rotation is split into. `[Q1]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", rename = "Product")]
pub enum ProductRule {
    /// q = qx·qy·qz.
    Xyz,
    /// q = qz·qy·qx: Unity's `RotationOrder.XYZ`, the turn about x first.
    Zyx,
}

/// A joint that follows a mixture of others. `[Q2]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "BlendConstraint")]
pub struct BlendConstraintRule {
    /// The joint that is driven.
    pub joint: String,
    /// Up to four joints; the order counts for rotations.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sources: Vec<SourceRule>,
    /// A fixed transform that takes part after the sources.
    #[serde(default, skip_serializing_if = "is_default")]
    pub field: Option<FieldRule>,
    /// Added to the mixed position, multiplied onto the joint's own side of the rotation and onto the scale. Default
    /// nothing; where no weight acts, the joint's rest transform.
    #[serde(default, skip_serializing_if = "is_default")]
    pub offset: PlacementRule,
    /// A model without these joints is fine: the constraint is left out with a warning. Default false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
}

/// A joint that takes part in a mixture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Source")]
pub struct SourceRule {
    /// The joint; it counts as it stands against the driven joint's parent.
    pub joint: String,
    /// Weight in position, rotation and scale, each ≥ 0.
    pub weight: [f32; 3],
}

/// A fixed transform that takes part in a mixture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Field")]
pub struct FieldRule {
    /// Against the driven joint's parent.
    pub transform: PlacementRule,
    /// Weight in position, rotation and scale, each ≥ 0.
    pub weight: [f32; 3],
}

/// A transform for people.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Placement")]
pub struct PlacementRule {
    /// In the parent's units. Default none.
    #[serde(skip_serializing_if = "is_default")]
    pub translation: Option<[f32; 3]>,
    /// Angles about x, y and z in ZXY order, degrees. Default none. `[C2]`
    #[serde(skip_serializing_if = "is_default")]
    pub rotation_deg: Option<[f32; 3]>,
    /// Dimensionless, per axis. Default 1.
    #[serde(skip_serializing_if = "is_default")]
    pub scale: Option<[f32; 3]>,
}

/// How much of the animation joints show over a clip: the scalar channel of their bake weight. `[V4]`
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "BakeCurve")]
pub struct BakeCurveRule {
    /// Name of the clip. Default every clip.
    #[serde(skip_serializing_if = "is_default")]
    pub clip: Option<String>,
    /// Swing joints, by name or pattern as in a chain.
    pub joints: Vec<String>,
    /// (time in seconds, weight): *0 swings, 1 is animated*; straight lines between, the ends hold.
    pub keys: Vec<(f32, f32)>,
}
