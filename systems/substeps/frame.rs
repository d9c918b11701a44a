//! A frame of the lanes of a group: passes, and inside a pass the order of `[5.2]`.
//!
//! Each substep places the static colliders and then runs, for each joint, integration → collision → chain collision →
//! smoothing → resolve, in the order of [`crate::plan::step`]. A deeper joint sees its parent resolved in the same substep.

use core::marker::PhantomData;

use super::idle;
use super::joining::{join_chains, join_chains_across};
use crate::account::Witness;
use crate::crowd::{Group, motion, particle, result};
use crate::lane::{Lane, Pen, Task, Vec3x};
use crate::plan::Plan;
use crate::plan::chains::ChainRows;
use crate::plan::constant::{self, PerActor, Row, Spread};
use crate::plan::step::Step;
use crate::profile::{JointOrder, RestPose, SubstepPolicy, SwingProfile};
use crate::substep::{FrameSchedule, Substep};
use crate::systems::collision::collide_joint;
use crate::systems::forces::{Forces, hips_at};
use crate::systems::hanging::{Hung, Swung, hang_joint};
use crate::systems::integration::{aim_rotation, integrate_particle};
use crate::systems::motion::carry_particles;
use crate::systems::placement::place_statics;
use crate::systems::resolve::resolve_joint;

/// What the lanes of a group are asked for in a frame: the same of all of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Frame<'p> {
    pub plan: &'p Plan,
    pub profile: &'p SwingProfile,
    pub schedule: &'p FrameSchedule,
    /// Where the plan's rows are the chains of one actor.
    pub chains: Option<&'p ChainRows>,
}

/// What the stages of a pass share.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'p, L: Lane> {
    /// The plan of the lanes.
    pub plan: &'p Plan,
    /// Their switches.
    pub profile: &'p SwingProfile,
    /// Which of them are written.
    pub pen: Pen<L>,
    /// Where the plan's rows are the chains of one actor.
    pub chains: Option<&'p ChainRows>,
}

impl<'p, L: Lane> Pass<'p, L> {
    /// Of all lanes.
    pub fn of(plan: &'p Plan, profile: &'p SwingProfile) -> Self {
        Self {
            plan,
            profile,
            pen: Pen::new(&[]),
            chains: None,
        }
    }
}

/// Hears of the end of each substep.
pub(super) trait Noted<W> {
    fn noted(&mut self, substep: &Substep, group: &Group, witness: &mut W);
}

/// Nobody hears.
impl<W> Noted<W> for () {
    #[inline(always)]
    fn noted(&mut self, _substep: &Substep, _group: &Group, _witness: &mut W) {}
}

/// Runs all substeps of a frame for the actors in the lanes of `group`, which share profile and schedule; `witness`
/// hears what moves the particles.
pub fn run_frame<L: Lane, W: Witness<L>>(
    plan: &Plan,
    profile: &SwingProfile,
    schedule: &FrameSchedule,
    group: &mut Group,
    witness: &mut W,
) {
    lay_times(schedule, group);
    let frame = Frame {
        plan,
        profile,
        schedule,
        chains: None,
    };
    run_lanes::<L, PerActor, W>(frame, group, witness);
}

/// Gives all lanes the times of `schedule`, and forgets what was restored in the last frame.
pub(super) fn lay_times(schedule: &FrameSchedule, group: &mut Group) {
    group.restored.clear();
    group.times.clear();
    for substep in &schedule.substeps {
        let lanes = group.lanes;
        group
            .times
            .extend(core::iter::repeat_n(substep.time, lanes));
    }
}

/// As [`run_frame`], for any spread of constants; times and winds lie in the lanes.
pub(super) fn run_lanes<L: Lane, S: Spread, W: Witness<L>>(
    frame: Frame,
    group: &mut Group,
    witness: &mut W,
) {
    run_lanes_noting::<L, S, W, ()>(frame, group, witness, &mut ());
}

/// As [`run_lanes`]; `noted` hears of each substep's end.
pub(super) fn run_lanes_noting<L: Lane, S: Spread, W: Witness<L>, N: Noted<W>>(
    frame: Frame,
    group: &mut Group,
    witness: &mut W,
    noted: &mut N,
) {
    L::enter(FrameTask {
        frame,
        group,
        witness,
        noted,
        lanes: PhantomData::<(L, S)>,
    });
}

struct FrameTask<'a, L, S, W, N> {
    frame: Frame<'a>,
    group: &'a mut Group,
    witness: &'a mut W,
    noted: &'a mut N,
    lanes: PhantomData<(L, S)>,
}

impl<L: Lane, S: Spread, W: Witness<L>, N: Noted<W>> Task for FrameTask<'_, L, S, W, N> {
    type Output = ();

    #[inline(always)]
    fn run(self) {
        let Self {
            frame,
            group,
            witness,
            noted,
            ..
        } = self;
        let schedule = frame.schedule;
        let pass = Pass::<L> {
            plan: frame.plan,
            profile: frame.profile,
            pen: Pen::new(&group.active),
            chains: frame.chains,
        };
        measure_hips(&pass, schedule, group);
        if schedule.reset {
            rest_particles::<L, S>(&pass, group);
        }
        let parts = group.motion.len() / (motion::COMPONENTS * L::LANES);
        if schedule.substeps.is_empty() && parts > 0 {
            carry_particles(&pass, group, 0, witness);
        }
        // A pass is what runs between two resolves: one substep, or all of the frame's.
        let length = if is_joint_major(frame.profile, schedule) {
            schedule.substeps.len().max(1)
        } else {
            1
        };
        let mut first = 0;
        while first < schedule.substeps.len() {
            let substeps = &schedule.substeps[first..schedule.substeps.len().min(first + length)];
            let index = first / length;
            if index < parts && (parts > 1 || index == 0) {
                carry_particles(&pass, group, index, witness);
            }
            let fresh = schedule.reset && index == 0;
            run_pass::<L, S, W>(&pass, substeps, first, fresh, group, witness);
            noted.noted(&substeps[substeps.len() - 1], group, witness);
            first += length;
        }
        if schedule.reset {
            forget_speed(&pass, group);
            keep_results(&pass, group);
        }
    }
}

/// Settling is substep-major under every profile: each of its substeps collides.
fn is_joint_major(profile: &SwingProfile, schedule: &FrameSchedule) -> bool {
    profile.order == JointOrder::JointMajor
        && profile.substeps == SubstepPolicy::Frame
        && !schedule.reset
}

/// One pass: the order of `[5.2]`. `substeps` is one substep, or, joint-major, all of a frame, which share their pose:
/// each joint then integrates all of them in turn before its depth is finished once. `first` is the first one's index.
#[inline(always)]
fn run_pass<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    substeps: &[Substep],
    first: usize,
    fresh: bool,
    group: &mut Group,
    witness: &mut W,
) {
    let last = &substeps[substeps.len() - 1];
    let last_index = first + substeps.len() - 1;
    if pass.pen.is_whole() {
        core::mem::swap(&mut group.results, &mut group.results_before);
    } else {
        keep_results(pass, group);
    }
    place_statics(pass, group, last.pose, fresh);
    let mut forces = Forces::new(pass, group, last, last_index);
    for &step in &pass.plan.steps {
        match step {
            Step::Swing(place) => {
                let moved =
                    move_joint::<L, S, W>(pass, place, substeps, group, &mut forces, witness);
                finish_joint::<L, S, W>(pass, place, last.pose, group, moved, witness);
            }
            Step::Move(place) => {
                let moved =
                    move_joint::<L, S, W>(pass, place, substeps, group, &mut forces, witness);
                put_aside(place, group, moved);
            }
            Step::Join(depth) => match pass.chains {
                None => join_chains(pass, depth, group, witness),
                Some(rows) => join_chains_across(rows, pass.profile, depth, group),
            },
            Step::Resolve(place) => {
                let hung = Hung::load(pass.plan, group, place);
                let swung = Swung::load(group, place, &hung);
                finish_joint::<L, S, W>(pass, place, last.pose, group, (hung, swung), witness);
            }
        }
    }
}

/// Moves a joint through `substeps`, which share their pose, and collides it at the end of them.
#[inline(always)]
fn move_joint<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    substeps: &[Substep],
    group: &mut Group,
    forces: &mut Forces<L>,
    witness: &mut W,
) -> (Hung<L>, Swung<L>) {
    if !pass.pen.is_whole() {
        idle::keep_joint(pass.plan, place, group);
    }
    let (first, others) = (&substeps[0], &substeps[1..]);
    let hung = hang_joint::<L, S>(pass, place, group, first.pose, forces);
    forces.set_step(group, first);
    let mut swung =
        integrate_particle::<L, S, W>(pass, place, group, first, (forces, &hung), witness);
    for substep in others {
        store_particle(place, group, &swung);
        if !substep.from_rest {
            aim_rotation::<L, S>(pass, place, group, &hung, &swung);
        }
        forces.set_step(group, substep);
        swung =
            integrate_particle::<L, S, W>(pass, place, group, substep, (forces, &hung), witness);
    }
    let from_rest = substeps[substeps.len() - 1].from_rest;
    collide_joint::<L, S, W>(pass, place, group, from_rest, (&hung, &mut swung), witness);
    (hung, swung)
}

/// Resolves a joint that was moved.
#[inline(always)]
fn finish_joint<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    pose: usize,
    group: &mut Group,
    (hung, swung): (Hung<L>, Swung<L>),
    witness: &mut W,
) {
    resolve_joint::<L, S, W>(pass, place, group, pose, (&hung, &swung), witness);
    if !pass.pen.is_whole() {
        idle::give_back(pass, place, group);
    }
}

/// Writes what a joint that waits for others is resolved from.
#[inline(always)]
fn put_aside<L: Lane>(place: usize, group: &mut Group, (hung, swung): (Hung<L>, Swung<L>)) {
    store_particle(place, group, &swung);
    swung.put_aside(&hung, place, group);
}

#[inline(always)]
fn store_particle<L: Lane>(place: usize, group: &mut Group, swung: &Swung<L>) {
    let to = (place * particle::COMPONENTS + particle::POSITION) * L::LANES;
    swung.position.store(&mut group.particles[to..]);
}

/// Keeps the results so far as those of the substep before.
#[inline(always)]
fn keep_results<L: Lane>(pass: &Pass<L>, group: &mut Group) {
    let Group {
        results,
        results_before,
        ..
    } = group;
    let now = results.chunks_exact(L::LANES);
    for (now, before) in now.zip(results_before.chunks_exact_mut(L::LANES)) {
        pass.pen.put(L::load(now), before);
    }
}

/// Remembers where the hips of `[S1]` are, and how far they went since the last frame.
#[inline(always)]
fn measure_hips<L: Lane>(pass: &Pass<L>, schedule: &FrameSchedule, group: &mut Group) {
    let mut moved = Vec3x::splat([0.0; 3]);
    if let Some(last) = schedule.poses.len().checked_sub(1) {
        let now = hips_at::<L>(pass.plan, group, last);
        if !schedule.reset {
            moved = now - Vec3x::load(&group.last_hips);
        }
        pass.pen.put_vector(now, &mut group.last_hips);
    }
    moved.store(&mut group.hips_moved);
}

/// Puts every particle at rest in the pose of the reset. `[S10]`
#[inline(always)]
fn rest_particles<L: Lane, S: Spread>(pass: &Pass<L>, group: &mut Group) {
    let still = Substep {
        pose: 0,
        step: 0.0,
        from_rest: true,
        prewarm: true,
        time: 0.0,
    };
    let particles = group.particles.chunks_exact_mut(L::LANES);
    for number in particles.chain(group.velocities.chunks_exact_mut(L::LANES)) {
        pass.pen.put(L::splat(0.0), number);
    }
    let winds = core::mem::take(&mut group.winds);
    let forces = Forces::new(pass, group, &still, 0);
    group.winds = winds;
    for place in 0..pass.plan.swings.len() {
        if !pass.pen.is_whole() {
            idle::keep_joint(pass.plan, place, group);
        }
        let hung = hang_joint::<L, S>(pass, place, group, 0, &forces);
        rest_particle::<L, S>(pass, group, place, &hung);
        if !pass.pen.is_whole() {
            idle::give_back(pass, place, group);
        }
    }
}

#[inline(always)]
fn rest_particle<L: Lane, S: Spread>(
    pass: &Pass<L>,
    group: &mut Group,
    place: usize,
    hung: &Hung<L>,
) {
    let plan = pass.plan;
    let row = Row::<L, S>::new(plan, place);
    let local = match pass.profile.rest_pose {
        RestPose::Animated => group.local::<L>(0, row.swing.joint, plan.rest.len()),
        RestPose::Bind => row.rest_local(),
    };
    let rest = hung.rest.r;
    let reach = rest.rotate(row.vector(constant::AXIS)) * row.number(constant::LENGTH);
    let position = hung.anchor() + reach;
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
    position.store(&mut own[particle::POSITION * L::LANES..]);
    position.store(&mut own[particle::PREVIOUS * L::LANES..]);
    rest.store(&mut own[particle::ROTATION * L::LANES..]);
    let to = &mut group.results[place * result::COMPONENTS * L::LANES..];
    local.r.store(&mut to[result::ROTATION * L::LANES..]);
    (hung.rest.t + reach).store(&mut to[result::POSITION * L::LANES..]);
    local.t.store(&mut to[result::TRANSLATION * L::LANES..]);
}

/// After settling nothing has speed. `[S10]`
#[inline(always)]
fn forget_speed<L: Lane>(pass: &Pass<L>, group: &mut Group) {
    for place in 0..pass.plan.swings.len() {
        let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
        let position = Vec3x::<L>::load(&own[particle::POSITION * L::LANES..]);
        pass.pen
            .put_vector(position, &mut own[particle::PREVIOUS * L::LANES..]);
    }
    for number in group.velocities.chunks_exact_mut(L::LANES) {
        pass.pen.put(L::splat(0.0), number);
    }
}
