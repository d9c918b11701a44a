//! Swing joints: the parameters of a joint that moves by itself and of its actor, and what it did. `[5.1]`

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
use bevy_math::{Quat, Vec3};
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::collider::Collider;

/// What moves at a swing joint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
pub enum Motion {
    /// The joint turns about its origin; its particle is the tip of its bone.
    #[default]
    Swing,
    /// The joint translates against its parent; its particle is its own origin.
    Slide,
}

/// Where a swing joint's bone ends when the rig does not say it by a child.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
pub enum Tip {
    /// The first child that is a swing joint, else the first child; without children the joint is passive.
    #[default]
    FirstChild,
    /// The origin of this joint, a descendant.
    Joint(usize),
    /// A virtual end: `axis` unit in joint space, `length` in the joint's units.
    Tail {
        /// Unit, joint space.
        axis: Vec3,
        /// > 0, in the joint's own units.
        length: f32,
    },
}

/// How far a swing joint may turn from its rest rotation (or slide from its rest translation).
///
/// Per axis; degrees for [`Motion::Swing`], millimetres for [`Motion::Slide`].
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct Limit {
    /// Lower ends, x y z.
    pub low: Vec3,
    /// Upper ends, x y z; none below `low`.
    pub high: Vec3,
}

/// Another swing joint that the limit's middle follows. `[V2]`
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct ReferenceLimit {
    /// Index of the reference joint in the rig; it must be a swing joint.
    pub joint: usize,
    /// How much of its deflection shifts the interval, dimensionless.
    pub weight: f32,
}

/// A joint that swings: its parameters. `[5.1]`
///
/// Defaults are those of a soft strand of hair; see each field.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
pub struct SwingJoint {
    /// Index of the joint in the rig.
    pub joint: usize,
    /// Turns or slides.
    pub motion: Motion,
    /// An inactive joint follows its parent undeflected and writes nothing.
    pub active: bool,
    /// Where its bone ends.
    pub tip: Tip,
    /// Speed lost, 0 to 1: *0 keeps all speed, 1 stops the particle*; (1 − damping)² is kept per substep. Default 0.3.
    pub damping: f32,
    /// Pull towards the rest direction, dimensionless, ≥ 0: *0 hangs freely*; 1 moves the particle 0.01 · 2/3 m per
    /// substep. Default 0.5.
    pub stiffness: f32,
    /// Share of the tip child's speed that pulls this particle along, 0 to 1. Default 0.
    pub spring: f32,
    /// Weight: displacement by gravity of 0.01 · 2/3 m per substep and unit, ≥ 0. Default 0.1.
    pub mass: f32,
    /// How much of the stiffness is lost while the joint is still, dimensionless. Default 0.
    pub pendulum: f32,
    /// Width of the band around "still" in which `pendulum` acts, 0 to 1. Default 0.
    pub pendulum_range: f32,
    /// Share of the wind that it feels, dimensionless. Default 0.
    pub wind: f32,
    /// Whether wind and global force act at all. Default true.
    pub use_wind_global_force: bool,
    /// Slide: sideways force that becomes force along y, dimensionless. Default 0.
    pub axis_add_x_to_y: f32,
    /// Slide: sideways force that becomes force along z, dimensionless. Default 0.
    pub axis_add_x_to_z: f32,
    /// Horizontal root motion that it feels, 0 to 1: *0 none, 1 all*. Default 1. `[S1]`
    pub root_horizontal_weight: f32,
    /// Vertical root motion that it feels, 0 to 1. Default 1. `[S1]`
    pub root_vertical_weight: f32,
    /// How far it may go; `None` is free.
    pub limit: Option<Limit>,
    /// A joint that moves the limit.
    pub reference_limit: Option<ReferenceLimit>,
    /// A sphere or a line that meets the static colliders.
    pub collider: Option<Collider>,
    /// Share of the animation, 0 to 1: *0 swings, 1 is animated*. Default 0. A clip's own track and an actor's
    /// [`BakeWeights`] win over it. `[V4]`
    pub bake_weight: f32,
}

impl SwingJoint {
    /// The defaults on `joint`.
    pub fn new(joint: usize) -> Self {
        Self {
            joint,
            motion: Motion::Swing,
            active: true,
            tip: Tip::FirstChild,
            damping: 0.3,
            stiffness: 0.5,
            spring: 0.0,
            mass: 0.1,
            pendulum: 0.0,
            pendulum_range: 0.0,
            wind: 0.0,
            use_wind_global_force: true,
            axis_add_x_to_y: 0.0,
            axis_add_x_to_z: 0.0,
            root_horizontal_weight: 1.0,
            root_vertical_weight: 1.0,
            limit: None,
            reference_limit: None,
            collider: None,
            bake_weight: 0.0,
        }
    }
}

/// What an actor as a whole has. `[5.1]`
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct ActorProperties {
    /// Share of the swing in the pose, 0 to 1: *0 shows the animation, 1 the swing*. Default 1. `[V5]`
    pub weight: f32,
    /// Multiplies every force and the inertia, dimensionless, > 0. Default 1. `[S7]`
    pub swing_power: f32,
    /// How much of `[S1]`'s horizontal correction the actor takes, 0 to 1. Default 1.
    pub root_horizontal_weight: f32,
    /// How much of `[S1]`'s vertical correction the actor takes, 0 to 1. Default 1.
    pub root_vertical_weight: f32,
    /// A force on every joint that feels it, world space; 1 is 2/3 m per substep. Default 0.
    pub global_force: Vec3,
    /// Direction of gravity, world space, unit. Default (0, −1, 0).
    pub gravity: Vec3,
}

impl Default for ActorProperties {
    fn default() -> Self {
        Self {
            weight: 1.0,
            swing_power: 1.0,
            root_horizontal_weight: 1.0,
            root_vertical_weight: 1.0,
            global_force: Vec3::ZERO,
            gravity: Vec3::NEG_Y,
        }
    }
}

/// How much of the animation a swing joint shows instead of its swing: 0 physics, 1 animation. `[V4]`
///
/// One number per swing joint of the rig, 0 to 1. Optional: without it the weights are those of the clip's tracks
/// ([`crate::clip::TrackValues::BakeWeight`]), and where there is none [`SwingJoint::bake_weight`]. Between two frames
/// they move linearly, as the host's poses do.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct BakeWeights(pub Vec<f32>);

/// What the swing joints of an actor did, in the order of the rig's swing joints. Optional: actors that carry it get it
/// filled. Entries of passive and inactive joints are `None`.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct SwingReadout(pub Vec<Option<SwingResult>>);

/// What one swing joint did.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct SwingResult {
    /// Its particle, model space, metres, at the frame's time.
    pub particle: Vec3,
    /// The local rotation written, at the frame's time.
    pub rotation: Quat,
    /// The local translation written, at the frame's time; slide joints only. `[V3]`
    pub translation: Option<Vec3>,
    /// How far that is from the animated local rotation, radians.
    pub deflection: f32,
    /// Speed of the particle over the last substep, metres per second, in the space that moves with the root. `[S1]`
    pub velocity: Vec3,
    /// Hits of its own collider in the last substep.
    pub hits: u32,
    /// Its last hit: the normal, and where it left the particle, model space; `None` before the first.
    pub last_hit: Option<(Vec3, Vec3)>,
}
