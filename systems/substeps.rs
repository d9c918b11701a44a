//! Substeps: moves the particles of every actor through the frame. `[5.2]` `[S1]` `[S10]`
//!
//! Runs in [`FrameSystems::Substeps`], once per frame. Reads the poses and properties in the lanes; writes particles and
//! results.
//!
//! A squad moves as a whole: all its lanes whose frames are cut alike take their substeps together (`substeps/frame.rs` has
//! their order), those that are cut otherwise keep their bits meanwhile and take theirs after.

use core::marker::PhantomData;
use core::ops::Range;

use bevy_ecs::prelude::*;
use rayon::prelude::*;

use super::FrameSystems;
use crate::account::Unwatched;
use crate::crowd::{Crowd, Crowds, Form, Group, Slot, Squad, motion};
use crate::lane::Lane;
use crate::plan::Plan;
use crate::plan::chains::ChainRows;
use crate::plan::constant::{PerActor, PerChain, Spread};
use crate::profile::SwingProfile;
use crate::substep::FrameSchedule;

mod explain;
mod frame;
mod idle;
mod joining;

pub use frame::{Pass, run_frame};

use frame::{Frame, run_lanes};

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

fn is_busy(slot: &Slot) -> bool {
    slot.actor.is_some() && !slot.schedule.idle
}

/// Runs `work` on every squad in which somebody's frame is not idle, on threads where that pays.
///
/// Squads share nothing but the plan, so the order does not matter.
pub fn for_each_squad(
    crowds: &mut Crowds,
    workers: Workers,
    work: impl Fn(&Plan, &mut Squad) + Sync,
) {
    let in_crowd = |crowd: &Crowd| -> usize {
        let slots = crowd.squads.iter().flat_map(|squad| &squad.slots);
        let busy = slots.filter(|slot| is_busy(slot));
        let steps: usize = busy.map(|slot| slot.schedule.substeps.len()).sum();
        steps * crowd.plan.swings.len()
    };
    let is_used = |squad: &Squad| squad.slots.iter().any(is_busy);
    let pays = || crowds.0.iter().map(in_crowd).sum::<usize>() > PARALLEL_ABOVE;
    if workers == Workers::Pool && pays() {
        crowds.0.par_iter_mut().for_each(|crowd| {
            let squads = crowd.squads.par_iter_mut();
            let used = squads.filter(|squad| is_used(squad));
            used.for_each(|squad| work(&crowd.plan, squad));
        });
    } else {
        for crowd in &mut crowds.0 {
            let used = crowd.squads.iter_mut().filter(|squad| is_used(squad));
            used.for_each(|squad| work(&crowd.plan, squad));
        }
    }
}

/// Runs `work` on every slot whose actor's frame is not idle, see [`for_each_squad`].
pub fn for_each_slot(
    crowds: &mut Crowds,
    workers: Workers,
    work: impl Fn(&Plan, &mut Slot) + Sync,
) {
    for_each_squad(crowds, workers, |plan, squad| {
        let busy = squad.slots.iter_mut().filter(|slot| is_busy(slot));
        busy.for_each(|slot| work(plan, slot));
    });
}

fn run_substeps(mut crowds: ResMut<Crowds>, workers: Res<Workers>) {
    for_each_squad(&mut crowds, *workers, run_squad);
}

fn run_squad(plan: &Plan, squad: &mut Squad) {
    let Squad { form, slots, group } = squad;
    for slot in slots.iter_mut() {
        slot.restored.clear();
    }
    lay_motion(slots, group);
    lay_wind(slots, group);
    match form {
        Form::Alone => run_alone(plan, &mut slots[0], group),
        Form::Actors => run_actors(plan, slots, group),
        Form::Chains(rows) => run_chains(rows, &mut slots[0], group),
    }
    // Only while nobody else holds it can a wind be turned in place.
    group.winds.clear();
}

fn run_alone(plan: &Plan, slot: &mut Slot, group: &mut Group) {
    let frame = Frame {
        plan,
        profile: &slot.profile,
        schedule: &slot.schedule,
        chains: None,
    };
    match &mut slot.watched {
        None => run_lanes::<f32, PerActor, _>(frame, group, &mut Unwatched),
        Some(watched) => explain::explain_frame(frame, group, watched),
    }
    let restored = group.restored.drain(..);
    slot.restored.extend(restored.map(|(_, place)| place));
}

fn run_chains(rows: &ChainRows, slot: &mut Slot, group: &mut Group) {
    let frame = Frame {
        plan: &rows.plan,
        profile: &slot.profile,
        schedule: &slot.schedule,
        chains: Some(rows),
    };
    run_wide::<PerChain>(frame, group);
    for (lane, row) in group.restored.drain(..) {
        slot.restored.extend(rows.places[row][lane]);
    }
    slot.restored.sort_unstable();
    slot.restored.dedup();
}

/// Runs the lanes class by class: those whose frames are cut alike together.
fn run_actors(plan: &Plan, slots: &mut [Slot], group: &mut Group) {
    let mut waiting = slots.iter().zip(0..).fold(0_u64, |waiting, (slot, lane)| {
        waiting | u64::from(is_busy(slot)) << lane
    });
    let taken = slots.iter().zip(0..).fold(0_u64, |taken, (slot, lane)| {
        taken | u64::from(slot.actor.is_some()) << lane
    });
    while waiting != 0 {
        let first = waiting.trailing_zeros() as usize;
        let (profile, schedule) = (&slots[first].profile, &slots[first].schedule);
        let alike = |slot: &Slot| slot.profile == *profile && schedule.is_cut_like(&slot.schedule);
        // Not even a NaN in a profile keeps an actor from being like itself.
        let mut class = 1_u64 << first;
        for (lane, slot) in slots.iter().enumerate() {
            class |= u64::from(waiting >> lane & 1 == 1 && alike(slot)) << lane;
        }
        waiting &= !class;
        group.active.clear();
        // What an empty lane holds is nobody's: it may move along.
        if class != taken {
            let turn = |lane: usize| f32::from(u8::from(class >> lane & 1 == 1));
            group.active.extend((0..group.lanes).map(turn));
        }
        let frame = Frame {
            plan,
            profile,
            schedule,
            chains: None,
        };
        run_wide::<PerActor>(frame, group);
    }
    for (lane, place) in group.restored.drain(..) {
        if slots[lane].actor.is_some() {
            slots[lane].restored.push(place);
        }
    }
}

/// Work that is done in lanes of any width.
pub(super) trait WideTask {
    /// What it gives.
    type Output;
    /// Does it in the lanes of `L`.
    fn on<L: Lane>(self) -> Self::Output;
}

/// Does `task` on the registers that have `lanes` lanes.
///
/// The only way to the wide kernels: that they run where the processor has their instructions, and nowhere else, is
/// what the safety of `engine/lane/x86.rs` rests on.
pub(super) fn enter_wide<T: WideTask>(lanes: usize, task: T) -> T::Output {
    #[cfg(target_arch = "x86_64")]
    {
        use crate::instruction_set::InstructionSet;
        use crate::lane::x86::{Avx2, Avx512, Sse2};
        match lanes {
            8 => return task.on::<Sse2>(),
            16 if InstructionSet::Avx2.is_available() => return task.on::<Avx2>(),
            32 if InstructionSet::Avx512.is_available() => return task.on::<Avx512>(),
            _ => {}
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    if lanes == 4 {
        return task.on::<crate::lane::Wide<4>>();
    }
    unreachable!("groups are as wide as an instruction set of this processor");
}

/// Runs a frame in the lanes of `group`.
fn run_wide<S: Spread>(frame: Frame, group: &mut Group) {
    struct Run<'a, S>(Frame<'a>, &'a mut Group, PhantomData<S>);
    impl<S: Spread> WideTask for Run<'_, S> {
        type Output = ();
        fn on<L: Lane>(self) {
            run_lanes::<L, S, _>(self.0, self.1, &mut Unwatched);
        }
    }
    enter_wide(group.lanes, Run(frame, group, PhantomData::<S>));
}

/// Runs a frame of the actors in the lanes of `group`, on the widest registers that fit; all share `profile` and
/// `schedule`. Groups of [`crate::instruction_set::InstructionSet::widths`] lanes, or of one.
///
/// # Panics
/// For groups of another width.
pub fn run_group(plan: &Plan, profile: &SwingProfile, schedule: &FrameSchedule, group: &mut Group) {
    frame::lay_times(schedule, group);
    let frame = Frame {
        plan,
        profile,
        schedule,
        chains: None,
    };
    if group.lanes == 1 {
        run_lanes::<f32, PerActor, _>(frame, group, &mut Unwatched);
    } else {
        run_wide::<PerActor>(frame, group);
    }
}

/// As [`run_group`], for one actor whose chains lie in the lanes of `group`.
///
/// # Panics
/// For groups of another width than `rows`.
pub fn run_rows(
    rows: &ChainRows,
    profile: &SwingProfile,
    schedule: &FrameSchedule,
    group: &mut Group,
) {
    frame::lay_times(schedule, group);
    let frame = Frame {
        plan: &rows.plan,
        profile,
        schedule,
        chains: Some(rows),
    };
    run_wide::<PerChain>(frame, group);
}

/// The lanes of slot `index`: its own, or all `lanes` where it is the only one.
fn own_lanes(slots: &[Slot], lanes: usize, index: usize) -> Range<usize> {
    if slots.len() == 1 {
        0..lanes
    } else {
        index..index + 1
    }
}

/// Lays the motion of each slot into its lanes; nothing where nobody moved. `[S2]`
fn lay_motion(slots: &[Slot], group: &mut Group) {
    group.motion.clear();
    let busy = || slots.iter().enumerate().filter(|(_, slot)| is_busy(slot));
    let longest = busy().map(|(_, slot)| slot.motion.len()).max().unwrap_or(0);
    if longest == 0 {
        return;
    }
    let lanes = group.lanes;
    group.motion.resize(longest * lanes, 0.0);
    for (lane, slot) in busy() {
        let own = own_lanes(slots, lanes, lane);
        for (number, &value) in slot.motion.iter().enumerate() {
            group.motion[number * lanes..][own.clone()].fill(value);
        }
    }
    debug_assert_eq!(
        longest % motion::COMPONENTS,
        0,
        "motion comes in whole parts"
    );
}

/// Lays the wind of each slot and the times of its substeps into its lanes; nothing where the air is still. `[W1]`
fn lay_wind(slots: &[Slot], group: &mut Group) {
    group.winds.clear();
    group.times.clear();
    let busy = || slots.iter().enumerate().filter(|(_, slot)| is_busy(slot));
    if !busy().any(|(_, slot)| slot.wind.is_some()) {
        return;
    }
    let lanes = group.lanes;
    let most = busy().map(|(_, slot)| slot.schedule.substeps.len()).max();
    group.winds.resize(lanes, None);
    group.times.resize(most.unwrap_or(0) * lanes, 0.0);
    for (lane, slot) in busy() {
        let own = own_lanes(slots, lanes, lane);
        group.winds[own.clone()].fill(slot.wind.clone());
        for (index, substep) in slot.schedule.substeps.iter().enumerate() {
            group.times[index * lanes..][own.clone()].fill(substep.time);
        }
    }
}
