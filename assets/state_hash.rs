//! State hashes: the bits of an actor's state in 32 bytes, to compare runs on different machines.

use core::fmt;

use bevy_ecs::entity::Entity;
use bevy_ecs::world::World;

use crate::crowd::Crowds;
use crate::pose::LocalPose;
use crate::systems::preparation::Seat;

/// BLAKE3 of the state; prints as its first 16 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct StateHash(pub [u8; 32]);

impl StateHash {
    /// All 64 hexadecimal digits.
    pub fn to_hex(&self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl fmt::Display for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..8]
            .iter()
            .try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
impl fmt::Debug for StateHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The state of one actor: the bits of its particles and of the pose it shows, little-endian, in the plan's order.
///
/// Entity numbers, names and addresses do not enter. An entity without a seat has the hash of nothing.
pub fn of_actor(world: &World, actor: Entity) -> StateHash {
    let mut hasher = blake3::Hasher::new();
    feed_actor(world, actor, &mut hasher);
    StateHash(*hasher.finalize().as_bytes())
}

/// The states of several actors together, in the order given.
pub fn of_actors(world: &World, actors: &[Entity]) -> StateHash {
    let mut hasher = blake3::Hasher::new();
    for &actor in actors {
        feed_actor(world, actor, &mut hasher);
    }
    StateHash(*hasher.finalize().as_bytes())
}

fn feed_actor(world: &World, actor: Entity, hasher: &mut blake3::Hasher) {
    let mut feed = |number: f32| {
        hasher.update(&number.to_bits().to_le_bytes());
    };
    let seat = world.get::<Seat>(actor).copied();
    if let Some((seat, crowds)) = seat.zip(world.get_resource::<Crowds>()) {
        let state = crowds.actor(seat);
        for place in 0..crowds.0[seat.crowd].plan.swings.len() {
            state.particle(place).into_iter().for_each(&mut feed);
        }
    }
    if let Some(pose) = world.get::<LocalPose>(actor) {
        for joint in &pose.0 {
            joint.translation.to_array().into_iter().for_each(&mut feed);
            joint.rotation.to_array().into_iter().for_each(&mut feed);
            joint.scale.to_array().into_iter().for_each(&mut feed);
        }
    }
}

/// BLAKE3 of a file's bytes, as 16 hexadecimal digits: which input a run had.
pub fn of_bytes(bytes: &[u8]) -> StateHash {
    StateHash(*blake3::hash(bytes).as_bytes())
}
