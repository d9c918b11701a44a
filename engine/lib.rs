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
//! | chain layer, driver of a rig | [`chain::ChainLayer`], [`driver::Driver`] |
//! | actor | [`systems::preparation::Actor`] with [`swing::ActorProperties`], [`profile::SwingProfile`], [`substep::ActorClock`], [`pose::PoseHealth`], [`systems::motion::WorldFromActor`]; on request [`substep::TimeScale`], [`substep::SwingPaused`] |
//! | root of a character in a Bevy game | `game::Swing`, which makes it an actor with `game::SwingBones` once its joints are there |
//! | its input | [`pose::AnimatedPose`], or [`clip::ClipPlayer`] which makes it clip-driven; on request [`layer::Layers`], [`foot::FootAnchors`], [`swing::BakeWeights`], [`wind::Wind`] |
//! | its output | [`pose::LocalPose`]; on request [`pose::ModelPose`], [`channel::ChannelPose`], [`layer::LayerReadout`], [`swing::SwingReadout`], [`chain::ChainReadout`], [`foot::FootReadout`], [`foot::FootRecord`], [`account::Explanation`] |
//!
//! # A frame
//!
//! [`systems::FrameSystems`]: preparation → sampling → layering → driving → propagation → substeps → writeback; in each substep,
//! per depth, integration → collision → chain collision → smoothing → resolve. Equation ids such as `[S4]` are those of the model the numbers follow.
//!
//! # Where to start
//!
//! [`systems::plugin::Headless`] for a World of its own, [`systems::plugin::FlouncePlugin`] in an `App`;
//! `game::FlouncePlugins` for a Bevy game (feature `bevy`); `assets::bake` for a file, `assets::batch` for folders of them.

pub mod account;
pub mod action;
pub mod additive;
#[cfg(feature = "rig_files")]
#[path = "../assets/mod.rs"]
pub mod assets;
pub mod binding;
pub mod blend;
pub mod bone;
pub mod camera;
pub mod chain;
pub mod channel;
pub mod clip;
pub mod collider;
pub mod contact;
pub mod crowd;
pub mod curve;
pub mod driver;
pub mod euler;
pub mod face;
pub mod foot;
pub mod fraction;
#[cfg(feature = "bevy")]
#[path = "../game/mod.rs"]
pub mod game;
pub mod instruction_set;
pub mod lane;
pub mod layer;
pub mod leg;
pub mod limit;
pub mod mask;
pub mod measure;
pub mod mirror;
pub mod plan;
pub mod pose;
pub mod profile;
pub mod rig;
pub mod rotation;
pub mod skin;
pub mod slide;
pub mod substep;
pub mod swing;
#[path = "../systems/mod.rs"]
pub mod systems;
pub mod track;
pub mod uniform;
pub mod wind;

/// What most programs need.
pub mod prelude {
    pub use crate::channel::ChannelPose;
    pub use crate::clip::{Clip, ClipPlayer, Playback, Repeat};
    pub use crate::collider::{Collider, Mask, Shape, StaticCollider};
    pub use crate::foot::{FootAnchor, FootAnchors, FootReadout, FootRecord};
    pub use crate::layer::{Layer, LayerKind, LayerReadout, LayerSource, Layers, Reference};
    pub use crate::mask::JointMask;
    pub use crate::pose::{AnimatedPose, JointTransform, LocalPose, ModelPose, PoseHealth};
    pub use crate::profile::SwingProfile;
    pub use crate::rig::{Joint, Rig, RigParts};
    pub use crate::substep::{FrameClock, SwingPaused, TimeScale};
    pub use crate::swing::{ActorProperties, Limit, SwingJoint, SwingReadout, SwingResult, Tip};
    pub use crate::systems::FrameSystems;
    pub use crate::systems::motion::{Reset, Teleport, WorldFromActor};
    pub use crate::systems::plugin::{FlouncePlugin, FlounceSystems, Headless, advance_clock};
    pub use crate::systems::preparation::Actor;
}

/// The examples of the README compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
