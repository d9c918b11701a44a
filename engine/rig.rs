//! Rigs: what a character is. Joints parents-first, rest pose, swing joints, static colliders, chain layers, drivers.

use bevy_ecs::component::Component;
use bevy_ecs::entity::Entity;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
use bevy_ecs::world::World;
#[cfg(feature = "bevy")]
use bevy_reflect::Reflect;
use thiserror::Error;

use crate::chain::ChainLayer;
use crate::channel::ChannelSet;
use crate::collider::StaticCollider;
use crate::driver::{self, Driver, MOST_SOURCES};
use crate::leg::LegChain;
use crate::pose::{JointTransform, ModelTransform, compose_model};
use crate::swing::{SwingJoint, Tip};

mod needed;

/// One joint of a rig.
#[derive(Component, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
pub struct Joint {
    /// Its name in the file; may be empty, doubled, or any Unicode.
    pub name: String,
    /// Index of the node in the file: the identity of a joint whose name is missing or doubled.
    pub source: usize,
    /// Index of its parent in the rig, always lower than its own; `None` for a root.
    pub parent: Option<usize>,
    /// The rest transform, from the file's node (not from a skin's bind matrices).
    pub rest: JointTransform,
}

/// A character: pure data, no entities. [`crate::plan::Plan::compile`] turns it into what the solver reads.
#[derive(Clone, Debug, PartialEq)]
pub struct Rig {
    /// Parents before children.
    pub joints: Vec<Joint>,
    /// Metres per unit of the file, > 0; 1 unless the model was made in other units. Dimensions of bones are measured
    /// after this scale; offsets and radii of colliders scale with it, as with any joint's scale.
    pub metres_per_unit: f32,
    /// The joint whose motion `[S1]` shares out; `None`: no correction.
    pub root_correction: Option<usize>,
    /// Swing joints; their order is part of the result. `[5.2]`
    pub swing: Vec<SwingJoint>,
    /// Static colliders; their order is part of the result. `[5.2]`
    pub colliders: Vec<StaticCollider>,
    /// Chain layers; their order is part of the result.
    pub layers: Vec<ChainLayer>,
    /// Drivers; they run in the order of [`driver::run_order`]. Where two set one joint the later one counts; a rig file
    /// with such two is refused.
    pub drivers: Vec<Driver>,
    /// What hangs on joints besides their transforms: morph weights, fields of view.
    pub channels: Vec<ChannelSet>,
}

impl Rig {
    /// A rig with joints only.
    pub fn new(joints: Vec<Joint>) -> Self {
        debug_assert!(
            joints
                .iter()
                .enumerate()
                .all(|(i, joint)| joint.parent.is_none_or(|parent| parent < i)),
            "joints come parents first"
        );
        Self {
            joints,
            metres_per_unit: 1.0,
            root_correction: None,
            swing: Vec::new(),
            colliders: Vec::new(),
            layers: Vec::new(),
            drivers: Vec::new(),
            channels: Vec::new(),
        }
    }

    /// The rest transforms in model space, metres.
    ///
    /// # Panics
    /// If a joint does not come after its parent, which [`Rig::check`] refuses.
    pub fn rest_model(&self) -> Vec<ModelTransform> {
        let parents: Vec<Option<usize>> = self.joints.iter().map(|joint| joint.parent).collect();
        let rests: Vec<JointTransform> = self.joints.iter().map(|joint| joint.rest).collect();
        let root = ModelTransform::root(self.metres_per_unit);
        compose_model(&parents, &rests, root).expect("joints come parents first")
    }

    /// Whether every index of the rig points where it should and its drivers can be put in order; a rig that fails must
    /// not be compiled.
    ///
    /// # Errors
    /// [`RigFault`] with the first thing that is wrong.
    pub fn check(&self) -> Result<(), RigFault> {
        let count = self.joints.len();
        for (index, of) in self.joints.iter().enumerate() {
            if let Some(parent) = of.parent.filter(|&parent| parent >= index) {
                return Err(RigFault::Index {
                    place: "parent of joint",
                    index,
                    joint: parent,
                    count,
                });
            }
        }
        if let Some(&(place, index, joint)) =
            self.indices().iter().find(|&&(_, _, joint)| joint >= count)
        {
            return Err(RigFault::Index {
                place,
                index,
                joint,
                count,
            });
        }
        for (index, set) in self.channels.iter().enumerate() {
            if let Some(what) = channel_fault(&self.channels[..index], set) {
                return Err(RigFault::Channels { index, what });
            }
        }
        for (index, driver) in self.drivers.iter().enumerate() {
            let sources = driver.sources().len();
            if sources > MOST_SOURCES {
                return Err(RigFault::Sources { index, sources });
            }
            if let Driver::Leg(leg) = driver {
                let under = |joint, above| joint != above && self.is_below(joint, above);
                if !under(leg.lower, leg.upper) || !under(leg.foot, leg.lower) {
                    return Err(RigFault::Leg { index });
                }
            }
        }
        driver::run_order(self)
            .map(drop)
            .map_err(RigFault::DriverCycle)
    }

    /// Every index of a joint outside the joints themselves: what holds it, which of these, the index.
    fn indices(&self) -> Vec<(&'static str, usize, usize)> {
        let mut all = Vec::new();
        for (index, swing) in self.swing.iter().enumerate() {
            all.push(("swing joint", index, swing.joint));
            if let Tip::Joint(tip) = swing.tip {
                all.push(("tip of swing joint", index, tip));
            }
            if let Some(reference) = swing.reference_limit {
                all.push(("reference of swing joint", index, reference.joint));
            }
        }
        for (index, collider) in self.colliders.iter().enumerate() {
            all.extend(
                collider
                    .joint
                    .map(|joint| ("static collider", index, joint)),
            );
        }
        for (index, driver) in self.drivers.iter().enumerate() {
            all.push(("driver", index, driver.joint()));
            let sources = driver.sources().into_iter();
            all.extend(sources.map(|joint| ("source of driver", index, joint)));
        }
        for (index, layer) in self.layers.iter().enumerate() {
            let joints = layer.joints.iter();
            all.extend(joints.map(|&joint| ("chain layer", index, joint)));
        }
        for (index, set) in self.channels.iter().enumerate() {
            all.push(("channel set", index, set.joint));
        }
        let root = self.root_correction.iter();
        all.extend(root.map(|&joint| ("root correction", 0, joint)));
        all
    }

    /// The legs of the rig, in its order: what anchors of feet are counted by. `[Q4]`
    pub fn legs(&self) -> impl Iterator<Item = &LegChain> {
        self.drivers.iter().filter_map(|driver| match driver {
            Driver::Leg(leg) => Some(leg),
            Driver::Skirt(_) | Driver::Blend(_) => None,
        })
    }

    /// The children of `joint`, ascending.
    pub fn children(&self, joint: usize) -> impl Iterator<Item = usize> + '_ {
        (joint + 1..self.joints.len()).filter(move |&i| self.joints[i].parent == Some(joint))
    }

    /// Whether `joint` is `ancestor` or below it.
    pub fn is_below(&self, joint: usize, ancestor: usize) -> bool {
        core::iter::successors(Some(joint), |&i| self.joints[i].parent).any(|i| i == ancestor)
    }

    /// How a message names a joint: by its name and index, `"hair_03" (node 17)`.
    pub fn describe(&self, joint: usize) -> String {
        let Joint { name, source, .. } = &self.joints[joint];
        if name.is_empty() {
            format!("node {source}")
        } else {
            format!("\"{name}\" (node {source})")
        }
    }
}

/// What keeps a rig from being compiled.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum RigFault {
    /// An index that points nowhere, or a joint that does not come after its parent.
    #[error(
        "{place} {index}: joint {joint}; expected one of {count} joints, parents before children"
    )]
    Index {
        /// What holds the index.
        place: &'static str,
        /// Which of these.
        index: usize,
        /// Where it points.
        joint: usize,
        /// How many joints there are.
        count: usize,
    },
    /// A constraint that mixes too much.
    #[error("driver {index}: {sources} sources; expected at most {MOST_SOURCES}")]
    Sources {
        /// Which driver.
        index: usize,
        /// How many it has.
        sources: usize,
    },
    /// A leg whose joints do not hang on each other.
    #[error("driver {index}: a leg; expected its foot below its lower joint below its upper one")]
    Leg {
        /// Which driver.
        index: usize,
    },
    /// A channel set without values, with values that are not finite, or behind another of its kind on its joint.
    #[error("channel set {index}: {what}")]
    Channels {
        /// Which set.
        index: usize,
        /// What was found and expected.
        what: &'static str,
    },
    /// Drivers that wait for each other.
    #[error("drivers that read each other: {0}")]
    DriverCycle(String),
}

/// What is wrong with a channel set behind those before it.
fn channel_fault(before: &[ChannelSet], set: &ChannelSet) -> Option<&'static str> {
    let same = |other: &ChannelSet| other.joint == set.joint && other.kind == set.kind;
    if set.rest.is_empty() {
        Some("no values; expected at least one")
    } else if !set.rest.iter().all(|value| value.is_finite()) {
        Some("a rest value is not finite; expected numbers")
    } else if before.iter().any(same) {
        Some("a second set of its kind on its joint; expected one")
    } else {
        None
    }
}

/// A rig in a World: the entities that carry its parts, each of which can be inspected and edited.
///
/// Joint entities carry [`Joint`] and, where they swing, [`SwingJoint`]; colliders are entities of their own. Editing a
/// component recompiles the rig before the next frame.
#[derive(Component, Clone, Debug)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Component, Debug, Clone))]
pub struct RigParts {
    /// One per joint, parents first.
    #[entities]
    pub joints: Vec<Entity>,
    /// The joint entities that swing, in the rig's order; one whose [`SwingJoint`] was removed is passed over, and one
    /// that was given a [`SwingJoint`] later comes behind, in joint order.
    #[entities]
    pub swing: Vec<Entity>,
    /// The entities of the static colliders, in the rig's order; a despawned one is passed over.
    #[entities]
    pub colliders: Vec<Entity>,
    /// The entities of the chain layers, in the rig's order; a despawned one is passed over.
    #[entities]
    pub layers: Vec<Entity>,
    /// The entities of the drivers, in the rig's order; a despawned one is passed over.
    #[entities]
    pub drivers: Vec<Entity>,
    /// See [`Rig::metres_per_unit`].
    pub metres_per_unit: f32,
    /// See [`Rig::root_correction`].
    pub root_correction: Option<usize>,
    /// See [`Rig::channels`].
    pub channels: Vec<ChannelSet>,
}

impl RigParts {
    /// Spawns the entities of `rig` and returns the rig's own, which carries [`RigParts`].
    ///
    /// Where two swing joints are on one joint the first counts.
    pub fn spawn(rig: &Rig, world: &mut World) -> Entity {
        let parts = Self::spawn_parts(rig, world);
        world.spawn(parts).id()
    }

    /// Makes `entity`, which carries the parts of a rig, carry those of `rig`; the old parts are despawned. Its actors
    /// keep their motion where the same joints swing.
    pub fn replace(rig: &Rig, entity: Entity, world: &mut World) {
        let parts = Self::spawn_parts(rig, world);
        if let Some(old) = world.get::<Self>(entity).cloned() {
            old.despawn_parts(world);
        }
        if let Ok(mut of) = world.get_entity_mut(entity) {
            of.insert(parts);
        }
    }

    /// Despawns the rig of `entity` with its parts.
    pub fn despawn(entity: Entity, world: &mut World) {
        if let Some(parts) = world.get::<Self>(entity).cloned() {
            parts.despawn_parts(world);
        }
        // Who despawned it already has done it.
        let _ = world.try_despawn(entity);
    }

    fn despawn_parts(&self, world: &mut World) {
        for parts in [&self.joints, &self.colliders, &self.layers, &self.drivers] {
            for &part in parts {
                let _ = world.try_despawn(part);
            }
        }
    }

    fn spawn_parts(rig: &Rig, world: &mut World) -> Self {
        let joints: Vec<Entity> = rig
            .joints
            .iter()
            .map(|joint| world.spawn(joint.clone()).id())
            .collect();
        let mut swing = Vec::with_capacity(rig.swing.len());
        for part in &rig.swing {
            let entity = joints[part.joint];
            if world.get::<SwingJoint>(entity).is_none() {
                world.entity_mut(entity).insert(*part);
                swing.push(entity);
            }
        }
        let colliders = rig
            .colliders
            .iter()
            .map(|collider| world.spawn(*collider).id())
            .collect();
        let layers = rig.layers.iter();
        let layers = layers
            .map(|layer| world.spawn(layer.clone()).id())
            .collect();
        let drivers = rig.drivers.iter();
        let drivers = drivers.map(|driver| world.spawn(driver.clone()).id());
        let drivers = drivers.collect();
        Self {
            joints,
            swing,
            colliders,
            layers,
            drivers,
            metres_per_unit: rig.metres_per_unit,
            root_correction: rig.root_correction,
            channels: rig.channels.clone(),
        }
    }
}
