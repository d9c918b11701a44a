//! One actor's state, wherever it lies: reading it, and carrying it from one squad to another.

use core::ops::Range;

use super::{Form, Group, PLACED, Squad, particle, result};
use crate::plan::Plan;

/// Read access to the state of one actor. Places are those of its own plan.
#[derive(Clone, Copy, Debug)]
pub struct ActorState<'a> {
    form: &'a Form,
    group: &'a Group,
    lane: usize,
}

impl<'a> ActorState<'a> {
    /// The actor in `slot` of `squad`.
    pub fn new(squad: &'a Squad, slot: usize) -> Self {
        Self {
            form: &squad.form,
            group: &squad.group,
            lane: squad.lanes_of(slot).start,
        }
    }

    /// All components of a particle, see [`particle`].
    pub fn particle(&self, place: usize) -> [f32; particle::COMPONENTS] {
        self.read(&self.group.particles, place)
    }

    /// Velocity of a particle, metres per second; 0 but under the velocity policies. `[S7]`
    pub fn velocity(&self, place: usize) -> [f32; 3] {
        self.read(&self.group.velocities, place)
    }

    /// The result of the last substep, see [`result`].
    pub fn result(&self, place: usize) -> [f32; result::COMPONENTS] {
        self.read(&self.group.results, place)
    }

    /// The result of the substep before.
    pub fn result_before(&self, place: usize) -> [f32; result::COMPONENTS] {
        self.read(&self.group.results_before, place)
    }

    /// A placed static collider, see [`super::placed`].
    pub fn placed(&self, index: usize) -> [f32; PLACED] {
        gather(&self.group.statics, index, self.group.lanes, self.lane)
    }

    /// Hits of a link in the last pass. `[X6]`
    pub fn link_hits(&self, link: usize) -> f32 {
        self.group.links[link * self.group.lanes + self.lane]
    }

    fn read<const N: usize>(&self, numbers: &[f32], place: usize) -> [f32; N] {
        let (row, lane) = row_and_lane(self.form, place, self.lane);
        gather(numbers, row, self.group.lanes, lane)
    }
}

/// Where the particle at `place` of an actor in lane `lane` lies.
fn row_and_lane(form: &Form, place: usize, lane: usize) -> (usize, usize) {
    match form {
        Form::Alone | Form::Actors => (place, lane),
        Form::Chains(rows) => rows.at[place],
    }
}

fn gather<const N: usize>(numbers: &[f32], row: usize, lanes: usize, lane: usize) -> [f32; N] {
    core::array::from_fn(|component| numbers[(row * N + component) * lanes + lane])
}

fn scatter<const N: usize>(
    from: &[f32],
    numbers: &mut [f32],
    row: usize,
    width: usize,
    lanes: &Range<usize>,
) {
    for (component, &value) in from[..N].iter().enumerate() {
        numbers[(row * N + component) * width..][lanes.clone()].fill(value);
    }
}

impl Squad {
    /// Copies the state of the actor in `slot` into a group of one lane.
    pub fn take(&self, plan: &Plan, slot: usize) -> Group {
        let actor = self.actor(slot);
        let mut one = Group::new(plan, 1);
        for place in 0..plan.swings.len() {
            let at = place * particle::COMPONENTS..(place + 1) * particle::COMPONENTS;
            one.particles[at].copy_from_slice(&actor.particle(place));
            one.velocities[place * 3..][..3].copy_from_slice(&actor.velocity(place));
            let at = place * result::COMPONENTS..(place + 1) * result::COMPONENTS;
            one.results[at.clone()].copy_from_slice(&actor.result(place));
            one.results_before[at].copy_from_slice(&actor.result_before(place));
        }
        for index in 0..plan.statics.len() {
            one.statics[index * PLACED..][..PLACED].copy_from_slice(&actor.placed(index));
        }
        for link in 0..plan.links() {
            one.links[link] = actor.link_hits(link);
        }
        let lane = actor.lane;
        for axis in 0..3 {
            one.last_hips[axis] = self.group.last_hips[axis * self.group.lanes + lane];
        }
        one
    }

    /// Gives the actor in `slot` the state of `one`, a group of one lane.
    pub fn put(&mut self, plan: &Plan, slot: usize, one: &Group) {
        let lanes = self.lanes_of(slot);
        let group = &mut self.group;
        let width = group.lanes;
        for place in 0..plan.swings.len() {
            let (row, lane) = row_and_lane(&self.form, place, lanes.start);
            let own = lane..lane + 1;
            let particle = &one.particles[place * particle::COMPONENTS..];
            scatter::<{ particle::COMPONENTS }>(particle, &mut group.particles, row, width, &own);
            let velocity = &one.velocities[place * 3..];
            scatter::<3>(velocity, &mut group.velocities, row, width, &own);
            let from = place * result::COMPONENTS;
            let now = &one.results[from..];
            scatter::<{ result::COMPONENTS }>(now, &mut group.results, row, width, &own);
            let before = &one.results_before[from..];
            scatter::<{ result::COMPONENTS }>(before, &mut group.results_before, row, width, &own);
        }
        for index in 0..plan.statics.len() {
            let placed = &one.statics[index * PLACED..];
            scatter::<PLACED>(placed, &mut group.statics, index, width, &lanes);
        }
        for (link, &hits) in one.links.iter().enumerate() {
            group.links[link * width..][lanes.clone()].fill(hits);
        }
        for axis in 0..3 {
            group.last_hips[axis * width..][lanes.clone()].fill(one.last_hips[axis]);
        }
    }
}
