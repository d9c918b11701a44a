//! What a game puts on its entities, and what it finds there.

use std::sync::Arc;

use bevy_asset::Handle;
use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_reflect::Reflect;
use bevy_reflect::prelude::ReflectDefault;
use bevy_transform::components::Transform;

use super::rig_asset::RigAsset;
use crate::driver::Driver;
use crate::plan::Plan;

/// Marks the root of a character, the entity that its scene is spawned on: what its rig file names below this entity
/// swings.
///
/// Joints are found by their `Name`, or by their `AnimationTargetId` where the rig file writes the whole path from the
/// animation's root. Nothing has to be there yet: the scene may come later, and so may single joints. Once all are there
/// the entity is an [`crate::systems::preparation::Actor`] with all that belongs to one; [`SwingStatus`] says how far it is.
#[derive(Component, Clone, Debug, PartialEq, Reflect)]
#[reflect(Component)]
#[require(Transform, SwingStatus)]
pub struct Swing {
    /// The rig file.
    pub rig: Handle<RigAsset>,
    /// Which of the character's joints the rig gets.
    pub joints: JointScope,
    /// Whether its rig's parameters are its own. Characters of one rig file and one skeleton otherwise share the
    /// entities that carry them, as meshes share a material. Default no.
    pub own_parameters: bool,
}

impl Swing {
    /// By the rig file `rig`.
    pub fn rig(rig: Handle<RigAsset>) -> Self {
        Self {
            rig,
            joints: JointScope::default(),
            own_parameters: false,
        }
    }

    /// With every joint of the character, for layers and clips of flounce's own.
    #[must_use]
    pub fn with_all_joints(mut self) -> Self {
        self.joints = JointScope::All;
        self
    }

    /// With parameters that no other character shares.
    #[must_use]
    pub fn with_own_parameters(mut self) -> Self {
        self.own_parameters = true;
        self
    }
}

/// Which joints of a character are part of its rig.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum JointScope {
    /// Those that the swing depends on: what hangs on the others may come and go, and costs nothing.
    #[default]
    Needed,
    /// All: [`crate::layer::Layers`] and [`crate::clip::ClipPlayer`] reach every joint, and all of them are read.
    All,
}

/// How far a character is.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default)]
pub enum SwingStatus {
    /// Its rig file is not loaded.
    #[default]
    WaitingForRig,
    /// The rig file does not fit what is below the root (yet): nothing swings.
    WaitingForJoints {
        /// What is missing or wrong, with its place in the rig file.
        reason: String,
        /// How many frames it has waited.
        frames: u32,
    },
    /// It swings.
    Bound,
}

/// The rest transform of a joint below a [`Swing`] root: what it had when it was first seen there, before the animation of
/// that frame.
///
/// A root that is marked while its scene is animated already sees animated joints: put this on the joints first where that
/// may be. It is read when joints are looked for; changing [`Swing`] makes that happen again.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Component, Default)]
pub struct RestTransform(pub Transform);

/// Something that a character carries: neither it nor what is below it is a joint.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default)]
pub struct Attachment;

/// The bones of a bound character: which entity is which joint of its rig.
#[derive(Component, Clone, Debug, Default)]
#[component(clone_behavior = Ignore)]
pub struct SwingBones {
    /// One per joint of the rig.
    pub(super) entities: Vec<Entity>,
    /// One per joint of the rig.
    pub(super) marks: Vec<BoneMark>,
    /// When the bones were read last.
    pub(super) read_at: Option<Tick>,
    /// When they were written last.
    pub(super) written_at: Option<Tick>,
    /// Says which joints are moved.
    pub(super) plan: Option<Arc<Plan>>,
    /// Engine metres per unit of the world that the root is in, once that is known.
    pub(super) metres_per_world: Option<f32>,
    /// The rig's metres per unit of the file.
    pub(super) metres_per_unit: f32,
}

/// On each bone of a bound character: whose it is. Bones are read and written in the order in which they lie in memory,
/// which takes half as long as looking each of them up.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[component(clone_behavior = Ignore)]
pub(super) struct BoneOf {
    pub root: Entity,
    /// Index in the rig.
    pub joint: usize,
}

/// What is known of a bone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct BoneMark {
    /// Whether the swing or a driver sets it.
    pub moved: bool,
    /// Whether it shows what was written last, [`crate::pose::LocalPose`], unless somebody set it since.
    pub written: bool,
}

impl SwingBones {
    /// The entity of joint `joint` of the rig.
    pub fn entity(&self, joint: usize) -> Option<Entity> {
        self.entities.get(joint).copied()
    }

    /// The joint of the rig that `entity` is.
    pub fn joint(&self, entity: Entity) -> Option<usize> {
        self.entities.iter().position(|&bone| bone == entity)
    }

    /// One per joint of the rig, in joint order.
    pub fn entities(&self) -> &[Entity] {
        &self.entities
    }

    /// Marks the joints that `plan` moves.
    pub(super) fn follow(&mut self, plan: &Arc<Plan>) {
        if let Some(known) = &self.plan
            && Arc::ptr_eq(known, plan)
        {
            return;
        }
        self.plan = Some(Arc::clone(plan));
        for mark in &mut self.marks {
            mark.moved = false;
        }
        let swings = plan.swings.iter().map(|swing| swing.joint);
        let driven = plan.drivers.iter().flat_map(Driver::sets);
        for joint in swings.chain(driven) {
            self.marks[joint].moved = true;
        }
    }

    /// Whether a transform changed at `changed` was set by somebody else after it was written.
    pub(super) fn is_set_since_written(&self, changed: Tick, now: Tick) -> bool {
        let since = self.written_at;
        since.is_none_or(|written| changed.is_newer_than(written, now))
    }
}
