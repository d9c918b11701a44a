//! flounce: the secondary motion of characters (hair, skirts, tails, sleeves, ears), computed with the same bits on
//! every machine.
//!
//! # Spaces and units
//!
//! Right-handed, +Y up, +Z forward; metres, seconds, radians; `a * b` applies `b` first. *Model space* is the space of
//! the actor (the parent of the rig's root joints), *joint space* is a joint's own. Fields in other units say so in
//! their name.
//!
//! # What entities carry
//!
//! | entity | components |
//! |---|---|
//! | rig | [`rig::RigParts`], and once compiled [`systems::preparation::CompiledRig`] |
//! | joint of a rig | [`rig::Joint`]; where it swings [`swing::SwingJoint`] |
//! | static collider of a rig | [`collider::StaticCollider`] |
//! | actor | [`systems::preparation::Actor`] with [`swing::ActorProperties`], [`swing::SwingProfile`], [`substep::ActorClock`], [`pose::PoseHealth`], [`systems::preparation::WorldFromActor`] |
//! | its input | [`pose::AnimatedPose`], or [`clip::ClipPlayer`] which makes it clip-driven |
//! | its output | [`pose::LocalPose`]; on request [`pose::ModelPose`], [`swing::SwingReadout`] |
//!
//! # A frame
//!
//! [`systems::FrameSystems`]: preparation → sampling → propagation → substeps → writeback; in each substep, per depth,
//! integration → collision → resolve. Equation ids such as `[S4]` are those of the model the numbers follow.
//!
//! # Where to start
//!
//! [`systems::plugin::Headless`] for a World of its own, [`systems::plugin::FlouncePlugin`] in an `App`;
//! `assets::bake` for files.

#[cfg(feature = "rig_files")]
#[path = "../assets/mod.rs"]
pub mod assets;
pub mod bone;
pub mod chain;
pub mod clip;
pub mod collider;
pub mod contact;
pub mod crowd;
pub mod lane;
pub mod limit;
pub mod plan;
pub mod pose;
pub mod rig;
pub mod rotation;
pub mod substep;
pub mod swing;
#[path = "../systems/mod.rs"]
pub mod systems;

/// What most programs need.
pub mod prelude {
    pub use crate::clip::{Clip, ClipPlayer, Repeat};
    pub use crate::collider::{Collider, Mask, Shape, StaticCollider};
    pub use crate::pose::{AnimatedPose, JointTransform, LocalPose, ModelPose, PoseHealth};
    pub use crate::rig::{Joint, Rig, RigParts};
    pub use crate::substep::FrameClock;
    pub use crate::swing::{
        ActorProperties, Limit, SwingJoint, SwingProfile, SwingReadout, SwingResult, Tip,
    };
    pub use crate::systems::FrameSystems;
    pub use crate::systems::plugin::{FlouncePlugin, FlounceSystems, Headless, advance_clock};
    pub use crate::systems::preparation::{Actor, WorldFromActor};
}

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
