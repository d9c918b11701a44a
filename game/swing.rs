//! What a game puts on its entities, and what it finds there.

use bevy_asset::Handle;
use bevy_ecs::prelude::*;
use bevy_reflect::Reflect;
use bevy_reflect::prelude::ReflectDefault;
use bevy_transform::components::Transform;

use super::rig_asset::RigAsset;
use crate::pose::JointTransform;

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

/// The rest transform of a joint below a [`Swing`] root: what it had when it was first seen, before anything animated it.
/// Put it there first where that is something else.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Reflect)]
#[reflect(Component, Default)]
pub struct RestTransform(pub Transform);

/// Something that a character carries: neither it nor what is below it is a joint.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
#[reflect(Component, Default)]
pub struct Attachment;

/// The bones of a bound character: which entity is which joint of its rig.
#[derive(Component, Clone, Debug, Default, PartialEq)]
pub struct SwingBones {
    pub(super) bones: Vec<Bone>,
    /// Engine metres per unit of the world that the root is in.
    pub(super) metres_per_world: f32,
    /// The rig's metres per unit of the file.
    pub(super) metres_per_unit: f32,
}

/// A joint of a character.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Bone {
    pub entity: Entity,
    /// Whether the swing or a driver sets it.
    pub moved: bool,
    /// What was written last, as long as the entity still has it; its input is the pose's.
    pub written: Option<JointTransform>,
}

impl SwingBones {
    /// The entity of joint `joint` of the rig.
    pub fn entity(&self, joint: usize) -> Option<Entity> {
        self.bones.get(joint).map(|bone| bone.entity)
    }

    /// The joint of the rig that `entity` is.
    pub fn joint(&self, entity: Entity) -> Option<usize> {
        self.bones.iter().position(|bone| bone.entity == entity)
    }

    /// One per joint of the rig, in joint order.
    pub fn entities(&self) -> impl Iterator<Item = Entity> + '_ {
        self.bones.iter().map(|bone| bone.entity)
    }
}
