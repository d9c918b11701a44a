//! Substeps: moves the particles of every actor through the frame. `[5.2]` `[S1]` `[S10]`
//!
//! Runs in [`FrameSystems::Substeps`], once per frame. Reads the poses and properties in the lanes; writes particles and
//! results.
//!
//! Each substep places the static colliders and then runs, depth after depth, integration → collision → chain collision → smoothing → resolve. A
//! deeper joint sees its parent resolved in the same substep.

use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use rayon::prelude::*;

use super::FrameSystems;
use super::chain_collision::collide_links;
use super::collision::collide_particles;
use super::forces::Forces;
use super::integration::{aim_rotation, hang_joint, integrate_particle};
use super::motion::carry_particles;
use super::placement::place_statics;
use super::resolve::resolve_joints;
use super::smoothing::smooth_ring;
use crate::account::{Account, Notes, Unwatched, Witness};
use crate::crowd::{Crowds, Group, Slot, motion, particle, result};
use crate::lane::{Lane, Vec3x};
use crate::plan::Plan;
use crate::pose::Rigid;
use crate::profile::{
    JointOrder, ParallelEpsilon, RestPose, RootPolicy, SubstepPolicy, SwingProfile,
};
use crate::rotation::Rotation;
use crate::substep::{FrameSchedule, Substep};

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
        let (profile, schedule) = (&slot.profile, &slot.schedule);
        match &mut slot.watched {
            None => {
                run_frame::<f32, _>(plan, profile, schedule, &mut slot.group, &mut Unwatched);
            }
            Some(watched) => explain_frame(plan, profile, schedule, &mut slot.group, watched),
        }
    });
}

/// Runs all substeps of a frame for the actors in the lanes of `group`, which share the schedule; `witness` hears what
/// moves the particles.
pub fn run_frame<L: Lane, W: Witness<L>>(
    plan: &Plan,
    profile: &SwingProfile,
    schedule: &FrameSchedule,
    group: &mut Group,
    witness: &mut W,
) {
    run_frame_noting::<L, W>(plan, profile, schedule, group, witness, &mut |_, _, _| {});
}

/// As [`run_frame`]; `noted` is called after each substep.
fn run_frame_noting<L: Lane, W: Witness<L>>(
    plan: &Plan,
    profile: &SwingProfile,
    schedule: &FrameSchedule,
    group: &mut Group,
    witness: &mut W,
    noted: &mut impl FnMut(&Substep, &Group, &mut W),
) {
    group.restored.clear();
    let hips = root_correction::<L>(plan, profile, group, schedule);
    if schedule.reset {
        rest_particles::<L>(plan, group, profile, hips(group, 0));
    }
    let parts = group.motion.len() / (motion::COMPONENTS * L::LANES);
    let carry_now = |index: usize| index < parts && (parts > 1 || index == 0);
    if schedule.substeps.is_empty() && carry_now(0) {
        carry_particles::<L, W>(plan, group, 0, profile.world_inertia, witness);
    }
    // A pass is what runs between two resolves: one substep, or all of the frame's.
    let length = if is_joint_major(profile, schedule) {
        schedule.substeps.len().max(1)
    } else {
        1
    };
    for (index, substeps) in schedule.substeps.chunks(length).enumerate() {
        if carry_now(index) {
            carry_particles::<L, W>(plan, group, index, profile.world_inertia, witness);
        }
        let last = &substeps[substeps.len() - 1];
        let hips = hips(group, last.pose);
        let fresh = schedule.reset && index == 0;
        run_pass::<L, W>(plan, profile, substeps, hips, fresh, group, witness);
        noted(last, group, witness);
    }
    if schedule.reset {
        forget_speed::<L>(plan, group);
        group.results_before.clone_from(&group.results);
    }
}

/// Settling is substep-major under every profile: each of its substeps collides.
fn is_joint_major(profile: &SwingProfile, schedule: &FrameSchedule) -> bool {
    profile.order == JointOrder::JointMajor
        && profile.substeps == SubstepPolicy::Frame
        && !schedule.reset
}

/// One pass: the order of `[5.2]`. `substeps` is one substep, or, joint-major, all of a frame, which share their pose:
/// each joint then integrates all of them in turn before its depth is finished once.
#[inline(always)]
fn run_pass<L: Lane, W: Witness<L>>(
    plan: &Plan,
    profile: &SwingProfile,
    substeps: &[Substep],
    hips: Vec3x<L>,
    fresh: bool,
    group: &mut Group,
    witness: &mut W,
) {
    let last = &substeps[substeps.len() - 1];
    core::mem::swap(&mut group.results, &mut group.results_before);
    place_statics::<L>(plan, group, last.pose, fresh);
    let mut forces = Forces::new(group, last, hips);
    for (depth, places) in plan.depths.iter().enumerate() {
        for place in places.clone() {
            for (index, substep) in substeps.iter().enumerate() {
                if index > 0 && !substep.from_rest {
                    aim_rotation::<L>(plan, place, group);
                }
                forces.set_step(group, substep);
                integrate_particle(plan, place, group, profile, substep, &forces, witness);
            }
        }
        let (places, from_rest) = (places.clone(), last.from_rest);
        collide_particles::<L, W>(plan, places.clone(), group, from_rest, profile, witness);
        join_chains::<L, W>(plan, depth, group, profile.parallel_epsilon, witness);
        resolve_joints::<L, W>(plan, places, group, profile, last.pose, witness);
    }
}

/// Runs a frame and keeps the account of each substep of one swing joint.
fn explain_frame(
    plan: &Plan,
    profile: &SwingProfile,
    schedule: &FrameSchedule,
    group: &mut Group,
    (swing, accounts): &mut (usize, Vec<Account>),
) {
    accounts.clear();
    let Some(place) = plan.place_of_swing.get(*swing).copied().flatten() else {
        run_frame::<f32, _>(plan, profile, schedule, group, &mut Unwatched);
        return;
    };
    let mut notes = Notes {
        place,
        terms: Vec::new(),
    };
    let at = |group: &Group, component: usize| -> Vec3 {
        Vec3x::load(&group.particles[place * particle::COMPONENTS + component..]).into()
    };
    let mut before = at(group, particle::POSITION);
    if schedule.reset {
        // A reset forgets where the particle was.
        before = Vec3::NAN;
    }
    run_frame_noting::<f32, _>(
        plan,
        profile,
        schedule,
        group,
        &mut notes,
        &mut |substep, group, notes| {
            let after = at(group, particle::POSITION);
            let terms = core::mem::take(&mut notes.terms);
            let sum: Vec3 = terms.iter().map(|(_, moved)| *moved).sum();
            accounts.push(Account {
                time: substep.time,
                before: if before.is_nan() { after - sum } else { before },
                after,
                correction: at(group, particle::CORRECTION),
                terms,
            });
            before = after;
        },
    );
}

/// Chain collision, smoothing, and chain collision again where something was smoothed. `[5.2]`
#[inline(always)]
fn join_chains<L: Lane, W: Witness<L>>(
    plan: &Plan,
    depth: usize,
    group: &mut Group,
    parallel: ParallelEpsilon,
    witness: &mut W,
) {
    let layers = || {
        plan.layers_of_depth[depth]
            .iter()
            .map(|&layer| &plan.layers[layer])
    };
    for layer in layers() {
        collide_links::<L, W>(plan, layer, group, parallel, witness);
    }
    for layer in layers() {
        smooth_ring::<L, W>(layer, group, witness);
    }
    if layers().any(|layer| layer.smoothing > 0.0) {
        for layer in layers() {
            collide_links::<L, W>(plan, layer, group, parallel, witness);
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
fn rest_particles<L: Lane>(plan: &Plan, group: &mut Group, profile: &SwingProfile, hips: Vec3x<L>) {
    let still = Substep {
        pose: 0,
        step: 0.0,
        from_rest: true,
        prewarm: true,
        time: 0.0,
    };
    group.particles.fill(0.0);
    group.velocities.fill(0.0);
    let forces = Forces::new(group, &still, hips);
    for place in 0..plan.swings.len() {
        hang_joint::<L>(plan, place, group, profile, 0, &forces);
        rest_particle::<L>(plan, group, profile, place);
    }
}

fn rest_particle<L: Lane>(plan: &Plan, group: &mut Group, profile: &SwingProfile, place: usize) {
    let swing = &plan.swings[place];
    let local = match profile.rest_pose {
        RestPose::Animated => group.local::<L>(0, swing.joint, plan.rest.len()),
        RestPose::Bind => Rigid::splat(plan.rest_locals[place]),
    };
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
    local.r.store(&mut to[result::ROTATION * L::LANES..]);
    (origin + reach).store(&mut to[result::POSITION * L::LANES..]);
    local.t.store(&mut to[result::TRANSLATION * L::LANES..]);
}

/// After settling nothing has speed. `[S10]`
fn forget_speed<L: Lane>(plan: &Plan, group: &mut Group) {
    for place in 0..plan.swings.len() {
        let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
        let position = Vec3x::<L>::load(&own[particle::POSITION * L::LANES..]);
        position.store(&mut own[particle::PREVIOUS * L::LANES..]);
    }
    group.velocities.fill(0.0);
}
