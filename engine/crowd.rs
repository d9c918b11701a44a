//! Crowds: the state of the actors that share a plan, laid out in lanes.
//!
//! A crowd is a list of squads. A squad is a piece of memory, a [`Group`] of up to 32 lanes `[joint][component][lane]`, and
//! who sits in it ([`Form`]): an actor in every lane, one actor with a chain in every lane, or one actor alone. Which form
//! serves how many actors is decided in `crowd/seating.rs`; the bits of an actor are the same in all of them.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::resource::Resource;

use crate::plan::Plan;
use crate::plan::chains::ChainRows;

mod aligned;
mod group;
mod seating;
mod slot;
mod state;

pub use aligned::Aligned;
pub use group::Group;
pub use seating::Seat;
pub use slot::{SamplingScratch, Slot};
pub use state::ActorState;

/// Components of a particle, as offsets to be multiplied by the number of lanes.
pub mod particle {
    /// Position in shifted space, x y z, metres. `[S1]`
    pub const POSITION: usize = 0;
    /// Position one substep before.
    pub const PREVIOUS: usize = 3;
    /// Origin of the joint in model space: t0.
    pub const ORIGIN: usize = 6;
    /// Rotation resolved last in model space.
    pub const ROTATION: usize = 9;
    /// The actor's root correction for this joint: rc. 0 where the rig has none. `[S1]`
    pub const CORRECTION: usize = 13;
    /// Euler angles of the deviation resolved last, radians; kept only for reference joints. `[V2]`
    pub const ANGLES: usize = 16;
    /// Number of hits in the last substep. `[X5]`
    pub const HITS: usize = 19;
    /// Normal of the last hit.
    pub const HIT_NORMAL: usize = 20;
    /// Where the last hit left the particle, true model space.
    pub const HIT_POSITION: usize = 23;
    /// Of a slide joint, in the place of the angles that it does not have: the origin of its parent in model space.
    pub const PARENT: usize = ANGLES;
    /// Number of components.
    pub const COMPONENTS: usize = 26;
}

/// Components of a joint's result after a substep.
pub mod result {
    /// Local rotation to be written, x y z w, in the parent's model frame.
    pub const ROTATION: usize = 0;
    /// Particle in true model space, metres.
    pub const POSITION: usize = 4;
    /// Local translation to be written, in the parent's model frame, metres; slide joints only. `[V3]`
    pub const TRANSLATION: usize = 7;
    /// Number of components.
    pub const COMPONENTS: usize = 10;
}

/// Components of an actor's motion since the last frame, or of a part of it. `[S2]`
pub mod motion {
    /// 1 where the particles are to be carried, 0 where the actor stood still or was teleported.
    pub const CARRIES: usize = 0;
    /// Δ: translation x y z, rotation x y z w.
    pub const MOVED: usize = 1;
    /// Number of components.
    pub const COMPONENTS: usize = 8;
}

/// Components of an actor's properties, in model space.
pub mod property {
    /// `[V5]`
    pub const WEIGHT: usize = 0;
    /// `[S7]`
    pub const POWER: usize = 1;
    /// a of `[S1]`
    pub const ROOT_HORIZONTAL: usize = 2;
    /// b of `[S1]`
    pub const ROOT_VERTICAL: usize = 3;
    /// Unit, x y z.
    pub const GRAVITY: usize = 4;
    /// x y z.
    pub const FORCE: usize = 7;
    /// Number of components.
    pub const COMPONENTS: usize = 10;
}

/// Components of a placed static collider, in true model space, metres.
pub mod placed {
    /// First end, x y z.
    pub const END_A: usize = 0;
    /// Second end, x y z.
    pub const END_B: usize = 3;
    /// Centre of the bounds, x y z. `[X2]`
    pub const CENTRE: usize = 6;
    /// Radius of the bounds, the factor of `[X2]` applied.
    pub const REACH: usize = 9;
    /// Of a capsule or line, from the centre to the second end, x y z.
    pub const HALF: usize = 10;
    /// 1 over the square of the length of [`HALF`].
    pub const INVERSE: usize = 13;
    /// Of a capsule or line, the square of the distance from its axis within which a ball may touch it.
    pub const BESIDE: usize = 14;
}

/// Components of a joint that waits for others between moving and being resolved.
pub mod waiting {
    /// r0, x y z w.
    pub const REST: usize = 0;
    /// Where its particle was put, x y z, shifted space.
    pub const POSITION: usize = 4;
    /// Direction from the anchor to that, x y z.
    pub const DIRECTION: usize = 7;
    /// 1 where it has one, 0 where the particle is on its anchor, −1 where it is not finite.
    pub const STATE: usize = 10;
    /// Number of components.
    pub const COMPONENTS: usize = 11;
}

/// Numbers per joint of a rigid transform.
pub const RIGID: usize = 7;
/// Numbers of a placed static collider: both ends and its bounds, see [`placed`].
pub const PLACED: usize = 15;

/// Who sits in the lanes of a squad.
#[derive(Clone, Debug, Default)]
pub enum Form {
    /// One actor in a group of one lane.
    #[default]
    Alone,
    /// Up to one actor per lane.
    Actors,
    /// One actor, whose equal chains lie side by side.
    Chains(Arc<ChainRows>),
}

/// Actors that move together: memory in lanes, and what each of them keeps for itself.
#[derive(Debug, Default)]
pub struct Squad {
    /// Who sits in the lanes.
    pub form: Form,
    /// The actors: one per lane, or the only one. Empty where the squad is not in use.
    pub slots: Vec<Slot>,
    /// Their state.
    pub group: Group,
}

impl Squad {
    /// Whether nobody sits in it.
    pub fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.actor.is_none())
    }

    /// The actor in `slot` as it is stored.
    pub fn actor(&self, slot: usize) -> ActorState<'_> {
        ActorState::new(self, slot)
    }

    /// The lanes of the actor in `slot`.
    pub fn lanes_of(&self, slot: usize) -> core::ops::Range<usize> {
        match self.form {
            Form::Alone | Form::Actors => slot..slot + 1,
            Form::Chains(_) => 0..self.group.lanes,
        }
    }
}

/// The actors of one plan.
#[derive(Debug)]
pub struct Crowd {
    /// What they share.
    pub plan: Arc<Plan>,
    /// How one actor is cheapest, once somebody asked.
    single: Option<seating::Single>,
    /// Where they sit.
    pub squads: Vec<Squad>,
    /// All squads before this one are in use.
    first_free: usize,
    /// No squad before this one has a free lane among others.
    last_open: usize,
    /// Whether somebody came or went since they were seated.
    restless: bool,
}

/// All crowds of a World; one without actors is taken over by the next plan that needs one.
#[derive(Resource, Debug, Default)]
pub struct Crowds(pub Vec<Crowd>);

impl Crowds {
    /// The crowd of `plan`, made if there is none; returns its index.
    pub fn of_plan(&mut self, plan: &Arc<Plan>) -> usize {
        let known = self
            .0
            .iter()
            .position(|crowd| Arc::ptr_eq(&crowd.plan, plan));
        let known = known.or_else(|| {
            let empty = self.0.iter().position(Crowd::is_empty)?;
            self.0[empty] = Crowd::new(plan);
            Some(empty)
        });
        known.unwrap_or_else(|| {
            self.0.push(Crowd::new(plan));
            self.0.len() - 1
        })
    }

    /// The actor in `seat`, as it is stored.
    pub fn actor(&self, seat: Seat) -> ActorState<'_> {
        self.0[seat.crowd].squads[seat.squad].actor(seat.slot)
    }

    /// What the actor in `seat` keeps for itself.
    pub fn slot(&self, seat: Seat) -> &Slot {
        &self.0[seat.crowd].squads[seat.squad].slots[seat.slot]
    }

    /// As [`Self::slot`], to be changed.
    pub fn slot_mut(&mut self, seat: Seat) -> &mut Slot {
        &mut self.0[seat.crowd].squads[seat.squad].slots[seat.slot]
    }

    /// Takes the slot of `actor` back, which sits in `seat`; true if it was its own.
    pub fn leave(&mut self, actor: Entity, seat: Seat) -> bool {
        let crowd = self.0.get_mut(seat.crowd);
        crowd.is_some_and(|crowd| crowd.leave(actor, seat))
    }
}
