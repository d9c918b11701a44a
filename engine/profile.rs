//! The solver's profile: the model's *Decisions* as switches, so that the source's experiments can be repeated.
//!
//! The defaults are what the model recommends. Everything here is also a field of a scene's `profile` and a key of
//! `--profile`.

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
#[cfg(feature = "rig_files")]
use serde::{Deserialize, Serialize};

/// Settling longer than this is a mistyped number; it settles this long then.
pub const MOST_PREWARM: u32 = 10_000;
/// A higher cap on substeps per frame is none; this one holds then.
pub const MOST_SUBSTEPS: u32 = 1000;

/// Switches of the solver.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(
    feature = "rig_files",
    serde(default, deny_unknown_fields, rename = "Profile")
)]
pub struct SwingProfile {
    /// How a frame is divided.
    pub substeps: SubstepPolicy,
    /// Which rotation stiffness pulls along.
    pub delta: DeltaPolicy,
    /// How root motion is felt.
    pub root: RootPolicy,
    /// Which pose rest directions and limits follow.
    pub rest_pose: RestPose,
    /// Whether a joint's substeps or a substep's joints run together; [`JointOrder::JointMajor`] acts under
    /// [`SubstepPolicy::Frame`] only.
    pub order: JointOrder,
    /// Whether inertia is scaled with the forces.
    pub inertia: InertiaPolicy,
    /// How forces move particles.
    pub force: ForcePolicy,
    /// Speed lost per substep under the velocity policies, 0 to 1. Default 0.
    pub velocity_damping: f32,
    /// Substeps of settling after a reset. Default 30. `[S10]`
    pub prewarm: u32,
    /// Cap on substeps per frame; time beyond it is dropped. Default 8. `[T2]`
    pub max_substeps: u32,
    /// When two lines count as parallel.
    pub parallel_epsilon: ParallelEpsilon,
    /// How a line collider moves its particle.
    pub line_push: LinePush,
    /// How much of an actor's motion in the world its particles feel, 0 to 1: *0 none, 1 all*. Default 1. `[S2]`
    pub world_inertia: f32,
    /// An actor that moves farther than this in one frame is teleported, metres; 0 never. Default 1. `[S2]`
    pub teleport_distance: f32,
    /// An actor that turns farther than this in one frame is teleported, degrees; 0 never. Default 90. `[S2]`
    pub teleport_angle_deg: f32,
    /// Whether an actor's motion is spread over the frame's substeps; else it comes before the first. Default no.
    /// Acts under [`SubstepPolicy::Fixed`] only. `[S2]`
    pub split_motion: bool,
}

impl Default for SwingProfile {
    fn default() -> Self {
        Self {
            substeps: SubstepPolicy::Fixed,
            delta: DeltaPolicy::Carried,
            root: RootPolicy::Shift,
            rest_pose: RestPose::Animated,
            order: JointOrder::SubstepMajor,
            inertia: InertiaPolicy::Packed,
            force: ForcePolicy::Direct,
            velocity_damping: 0.0,
            prewarm: 30,
            max_substeps: 8,
            parallel_epsilon: ParallelEpsilon::Documented,
            line_push: LinePush::Documented,
            world_inertia: 1.0,
            teleport_distance: 1.0,
            teleport_angle_deg: 90.0,
            split_motion: false,
        }
    }
}

impl SwingProfile {
    /// The cap on substeps per frame that holds: [`Self::max_substeps`], at most [`MOST_SUBSTEPS`].
    pub fn substep_cap(&self) -> u32 {
        self.max_substeps.min(MOST_SUBSTEPS)
    }
}

/// How a frame is divided into substeps. `[T1]` `[T2]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum SubstepPolicy {
    /// Substeps of exactly 1/60 s, whatever the frame rate.
    #[default]
    Fixed,
    /// The source's: each frame is cut into pieces of at most 0.01667 s.
    Frame,
}

/// Which rotation the stiffness pulls along. `[S3]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum DeltaPolicy {
    /// Rest in a frame's first substep, then the one resolved before.
    #[default]
    Carried,
    /// Always rest.
    Rest,
    /// Always the one resolved last.
    Current,
    /// Rest in even substeps, the one resolved last in odd ones.
    CarriedPairs,
}

/// How root motion reaches the particles. `[S1]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum RootPolicy {
    /// Particles live in a space that moves with the root.
    #[default]
    Shift,
    /// The shift is the root's motion since the last frame.
    FrameDelta,
    /// No correction.
    Off,
}

/// Which pose rest directions and limits follow. `[5.5]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum RestPose {
    /// The animated one: a clip that moves a swing joint moves what it swings about.
    #[default]
    Animated,
    /// The rest pose (the source's): a clip on a swing joint only shows where its bake weight lets it. `[V4]`
    Bind,
}

/// In which order the joints of a depth and the substeps of a frame run. `[5.2]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum JointOrder {
    /// All joints of a depth, substep by substep.
    #[default]
    SubstepMajor,
    /// The source's: each joint integrates all substeps of the frame, then the depth collides, smooths and resolves
    /// once.
    JointMajor,
}

/// Whether inertia is scaled with the forces. `[S7]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum InertiaPolicy {
    /// It is: part of the packed sum.
    #[default]
    Packed,
    /// It is not.
    Free,
}

/// How forces move particles. `[S7]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum ForcePolicy {
    /// They shift them.
    #[default]
    Direct,
    /// They change a velocity, which moves the particle beside its inertia.
    VelocityAdd,
    /// They change a velocity, which moves the particle instead of its inertia.
    VelocityReplace,
}

/// When two lines count as parallel. `[X4]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum ParallelEpsilon {
    /// Below an absolute 1e-5 (the source's).
    #[default]
    Documented,
    /// Below 1e-6 of the product of the squared lengths.
    Relative,
}

/// How a line collider that is pushed at one place moves its particle. `[X5]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum LinePush {
    /// To the target: the line is aimed through it.
    #[default]
    Documented,
    /// As a lever: the farther from the joint the contact, the less the particle moves; none at the joint itself.
    Lever,
}
