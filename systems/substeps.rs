//! Substeps: moves the particles of every actor through the frame. `[5.2]` `[S1]` `[S10]`
//!
//! Runs in [`FrameSystems::Substeps`], once per frame. Reads the poses and properties in the lanes; writes particles and
//! results.
//!
//! Each substep places the static colliders and then runs, depth after depth, integration → collision → chain collision → smoothing → resolve. A
//! deeper joint sees its parent resolved in the same substep.

use bevy_ecs::prelude::*;
use rayon::prelude::*;

use super::FrameSystems;
use super::chain_collision::collide_links;
use super::collision::{collide_particles, place_statics};
use super::integration::{Forces, integrate_particles};
use super::resolve::resolve_rotations;
use super::smoothing::smooth_ring;
use crate::crowd::{Crowds, Group, Slot, particle, result};
use crate::lane::{Lane, Vec3x};
use crate::plan::Plan;
use crate::rotation::Rotation;
use crate::substep::{FrameSchedule, Substep};
use crate::swing::{ParallelEpsilon, RootPolicy, SwingProfile};

/// How many threads share the actors of a frame; results do not depend on it.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Workers {
    /// The rayon pool when a frame has enough work for it, else the calling thread.
    #[default]
    Pool,
    /// The calling thread: for hosts that run many Worlds side by side.
    One,
}

/// Joint substeps in a frame above which threads pay: about 100 µs of work.
const PARALLEL_ABOVE: usize = 1000;

/// Registers the systems.
pub fn add(schedule: &mut Schedule) {
    schedule.add_systems(run_substeps.in_set(FrameSystems::Substeps));
}

/// Runs `work` on every slot that has an actor whose frame is not idle, on threads where that pays.
///
/// Slots share nothing but the plan, so the order does not matter.
pub fn for_each_slot(
    crowds: &mut Crowds,
    workers: Workers,
    work: impl Fn(&Plan, &mut Slot) + Sync,
) {
    for crowd in &mut crowds.0 {
        let plan = &crowd.plan;
        let busy = |slot: &Slot| slot.actor.is_some() && !slot.schedule.idle;
        let steps = crowd.slots.iter().filter(|slot| busy(slot));
        let steps: usize = steps.map(|slot| slot.schedule.substeps.len()).sum();
        if workers == Workers::Pool && steps * plan.swings.len() > PARALLEL_ABOVE {
            let slots = crowd.slots.par_iter_mut().filter(|slot| busy(slot));
            slots.for_each(|slot| work(plan, slot));
        } else {
            let slots = crowd.slots.iter_mut().filter(|slot| busy(slot));
            slots.for_each(|slot| work(plan, slot));
        }
    }
}

fn run_substeps(mut crowds: ResMut<Crowds>, workers: Res<Workers>) {
    for_each_slot(&mut crowds, *workers, |plan, slot| {
        run_frame::<f32>(plan, &slot.profile, &slot.schedule, &mut slot.group);
    });
}

/// Runs all substeps of a frame for the actors in the lanes of `group`. They share the schedule.
pub fn run_frame<L: Lane>(
    plan: &Plan,
    profile: &SwingProfile,
    schedule: &FrameSchedule,
    group: &mut Group,
) {
    group.restored.clear();
    let hips = root_correction::<L>(plan, profile, group, schedule);
    if schedule.reset {
        rest_particles::<L>(plan, group, hips(group, 0));
    }
    for (index, substep) in schedule.substeps.iter().enumerate() {
        let fresh = schedule.reset && index == 0;
        let hips = hips(group, substep.pose);
        run_substep::<L>(plan, profile, substep, hips, fresh, group);
    }
    if schedule.reset {
        forget_speed::<L>(plan, group);
        group.results_before.clone_from(&group.results);
    }
}

/// One substep: the order of `[5.2]`.
#[inline(always)]
fn run_substep<L: Lane>(
    plan: &Plan,
    profile: &SwingProfile,
    substep: &Substep,
    hips: Vec3x<L>,
    fresh: bool,
    group: &mut Group,
) {
    core::mem::swap(&mut group.results, &mut group.results_before);
    place_statics::<L>(plan, group, substep.pose, fresh);
    let forces = Forces::new(group, substep, hips);
    for (depth, places) in plan.depths.iter().enumerate() {
        integrate_particles(plan, places.clone(), group, substep, &forces);
        let parallel = profile.parallel_epsilon;
        collide_particles::<L>(plan, places.clone(), group, substep.from_rest, parallel);
        join_chains::<L>(plan, depth, group, parallel);
        resolve_rotations::<L>(plan, places.clone(), group, substep.pose);
    }
}

/// Chain collision, smoothing, and chain collision again where something was smoothed. `[5.2]`
#[inline(always)]
fn join_chains<L: Lane>(plan: &Plan, depth: usize, group: &mut Group, parallel: ParallelEpsilon) {
    let layers = || {
        plan.layers_of_depth[depth]
            .iter()
            .map(|&layer| &plan.layers[layer])
    };
    for layer in layers() {
        collide_links::<L>(plan, layer, group, parallel);
    }
    for layer in layers() {
        smooth_ring::<L>(layer, group);
    }
    if layers().any(|layer| layer.smoothing > 0.0) {
        for layer in layers() {
            collide_links::<L>(plan, layer, group, parallel);
        }
    }
}

/// hips of `[S1]` for each pose of the frame; remembers the frame's for the next one.
fn root_correction<L: Lane>(
    plan: &Plan,
    profile: &SwingProfile,
    group: &mut Group,
    schedule: &FrameSchedule,
) -> impl Fn(&Group, usize) -> Vec3x<L> + use<L> {
    let joints = plan.rest.len();
    let root = plan.root_correction;
    let policy = profile.root;
    let nowhere = Vec3x::splat([0.0; 3]);
    let hips_at = move |group: &Group, pose: usize| {
        root.map_or(nowhere, |joint| {
            Vec3x::load(&group.models[group.pose_offset(pose, joint, joints)..])
        })
    };
    let mut delta = nowhere;
    if let Some(last) = schedule.poses.len().checked_sub(1) {
        let now = hips_at(group, last);
        if !schedule.reset {
            delta = now - Vec3x::load(&group.last_hips);
        }
        now.store(&mut group.last_hips);
    }
    move |group, pose| match policy {
        RootPolicy::Shift => hips_at(group, pose),
        RootPolicy::FrameDelta => delta,
        RootPolicy::Off => nowhere,
    }
}

/// Puts every particle at rest in the pose of the reset. `[S10]`
fn rest_particles<L: Lane>(plan: &Plan, group: &mut Group, hips: Vec3x<L>) {
    let still = Substep {
        pose: 0,
        step: 0.0,
        from_rest: true,
        prewarm: true,
    };
    group.particles.fill(0.0);
    let forces = Forces::new(group, &still, hips);
    for places in &plan.depths {
        // Integration finds where each joint is; where it moved the particle from nowhere does not count.
        integrate_particles(plan, places.clone(), group, &still, &forces);
        for place in places.clone() {
            rest_particle::<L>(plan, group, place);
        }
    }
}

fn rest_particle<L: Lane>(plan: &Plan, group: &mut Group, place: usize) {
    let swing = &plan.swings[place];
    let local = group.pose_offset(0, swing.joint, plan.rest.len()) + 3 * L::LANES;
    let local = Rotation::<L>::load(&group.locals[local..]);
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
    let origin = Vec3x::load(&own[particle::ORIGIN * L::LANES..]);
    let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
    let rest = Rotation::load(&own[particle::REST * L::LANES..]);
    let reach = rest.rotate(Vec3x::splat(swing.axis)) * L::splat(swing.length);
    let position = origin - correction + reach;
    position.store(&mut own[particle::POSITION * L::LANES..]);
    position.store(&mut own[particle::PREVIOUS * L::LANES..]);
    rest.store(&mut own[particle::ROTATION * L::LANES..]);
    let to = &mut group.results[place * result::COMPONENTS * L::LANES..];
    local.store(&mut to[result::ROTATION * L::LANES..]);
    (origin + reach).store(&mut to[result::POSITION * L::LANES..]);
}

/// After settling nothing has speed. `[S10]`
fn forget_speed<L: Lane>(plan: &Plan, group: &mut Group) {
    for place in 0..plan.swings.len() {
        let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
        let position = Vec3x::<L>::load(&own[particle::POSITION * L::LANES..]);
        position.store(&mut own[particle::PREVIOUS * L::LANES..]);
    }
}
