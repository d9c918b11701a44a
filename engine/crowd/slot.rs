//! Slots: what an actor of a crowd keeps for itself.

use std::collections::VecDeque;
use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_math::Quat;

use crate::account::Account;
use crate::foot::Footing;
use crate::layer::LayerWork;
use crate::pose::JointTransform;
use crate::profile::SwingProfile;
use crate::substep::FrameSchedule;
use crate::uniform::PoseRows;
use crate::wind::WindField;

/// Scratch of sampling.
#[derive(Debug, Default)]
pub struct SamplingScratch {
    /// A clip that fades in.
    pub pose: Vec<JointTransform>,
    /// The channels of a clip that fades in.
    pub channels: Vec<f32>,
    /// A clip in rows.
    pub rows: PoseRows,
}

/// One actor's place.
#[derive(Debug, Default)]
pub struct Slot {
    /// Whose it is; `None` when free.
    pub actor: Option<Entity>,
    /// What the running frame asks of it.
    pub schedule: FrameSchedule,
    /// The switches it runs with.
    pub profile: SwingProfile,
    /// Poses of the frame's substeps, `[pose][joint]`; only the joints the plan needs are up to date.
    pub poses: Vec<JointTransform>,
    /// Bake weights of the frame's poses, `[pose][swing joint]`; empty where all are 0. `[V4]`
    pub bake: Vec<f32>,
    /// 1 for joints held at rest because an ancestor is scaled to nothing, `[pose][swing joint]`; empty where none is.
    pub held: Vec<f32>,
    /// Its motion since the last frame, `[part][`[`super::motion`]`]`; empty when it did not move. `[S2]`
    pub motion: Vec<f32>,
    /// The wind it stands in, in its model space. `[W1]`
    pub wind: Option<Arc<WindField>>,
    /// The animated pose to be shown, in joint order.
    pub shown: Vec<JointTransform>,
    /// The channels to be shown, see [`crate::channel::ChannelLayout`].
    pub channels: Vec<f32>,
    /// Scratch of sampling.
    pub sampling: SamplingScratch,
    /// The memory of its layers.
    pub layers: LayerWork,
    /// The host's bake weights of the last frame, per swing joint of the rig.
    pub last_bake: Vec<f32>,
    /// The host's input pose of the last frame, in joint order.
    pub last_input: Vec<JointTransform>,
    /// For each swing joint of the plan, whether it was scaled to nothing in the last pose; empty where none was.
    pub hidden: Vec<bool>,
    /// For each driver of the plan, its reference's rotations in the last frames, newest last, as many as it lags.
    pub lagged: Vec<VecDeque<Quat>>,
    /// The swing joint, as an index of the rig's, whose substeps are to be explained, and what was noted of them.
    pub watched: Option<(usize, Vec<Account>)>,
    /// What the feet stand on.
    pub footing: Footing,
    /// Whether the actor was put somewhere else since the last frame, which is no motion. `[S2]`
    pub teleported: bool,
    /// Places of the particles that were not finite in this frame and were put at rest. `[V8]`
    pub restored: Vec<usize>,
    /// Joints whose animated transform was not finite in this frame, ascending.
    pub invalid: Vec<usize>,
}
