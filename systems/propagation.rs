//! Propagation: the animated poses of the substeps in model space.
//!
//! Runs in [`FrameSystems::Propagation`], once per frame. Reads the poses of a squad's slots; writes its lanes:
//! [`Group::locals`] and [`Group::models`], rigid transforms, scale already multiplied into the translations and
//! mirrored axes into the rotations, so that the swing maths composes without looking at scale again; and with them the
//! bake weights `[V4]` and what is held at rest.

use core::marker::PhantomData;

use bevy_ecs::prelude::*;

use super::FrameSystems;
use super::substeps::{Workers, enter_wide, for_each_squad};
use crate::crowd::{Aligned, Crowds, Form, Group, RIGID, Slot, Squad};
use crate::lane::{Lane, LaneMask, MOST_LANES, Task, Vec3x};
use crate::plan::chains::ChainRows;
use crate::plan::{Plan, SwingPlan};
use crate::pose::{JointTransform, Rigid};
use crate::rotation::{self, Rotation};

/// A joint whose scale is this share of its volume at rest, or less, is hidden: a thousandth per axis.
const HIDDEN: f32 = 1e-9;
/// Numbers of a joint's transform: translation, rotation, scale.
const TRANSFORM: usize = 10;

/// Registers the systems.
pub fn add(schedule: &mut Schedule) {
    schedule.add_systems(propagate_poses.in_set(FrameSystems::Propagation));
}

fn propagate_poses(mut crowds: ResMut<Crowds>, workers: Res<Workers>) {
    for_each_squad(&mut crowds, *workers, propagate_squad);
}

fn propagate_squad(plan: &Plan, squad: &mut Squad) {
    let Squad { form, slots, group } = squad;
    let busy = slots.iter().filter(|slot| !slot.schedule.idle);
    let poses = busy.map(|slot| slot.schedule.poses.len()).max();
    let poses = poses.unwrap_or(0);
    for slot in slots.iter_mut().filter(|slot| !slot.schedule.idle) {
        slot.held.clear();
        if slot.schedule.reset {
            slot.hidden.clear();
        }
    }
    match form {
        Form::Alone => propagate_one(plan, &mut slots[0], group, poses),
        Form::Actors => {
            group.reserve_poses(poses, plan.rest.len());
            for index in 0..poses {
                let hidden = enter_wide(
                    group.lanes,
                    PropagateWide {
                        plan,
                        slots,
                        group,
                        index,
                    },
                );
                hold_hidden_lanes(plan, slots, group, index, hidden);
            }
        }
        Form::Chains(rows) => {
            group.reserve_poses(poses, rows.poses.len());
            if let Some(mut single) = group.single.take() {
                propagate_one(plan, &mut slots[0], &mut single, poses);
                (0..poses).for_each(|index| lay_rows(rows, &single, group, index));
                group.single = Some(single);
            }
        }
    }
    for slot in slots.iter_mut().filter(|slot| !slot.held.is_empty()) {
        // Poses after the last one that hid something hold nothing.
        let poses = slot.schedule.poses.len();
        slot.held.resize(poses * plan.swings.len(), 0.0);
    }
    lay_weights(form, slots, group, poses * plan.swings.len());
}

/// Propagates the poses of one actor in a group of one lane.
fn propagate_one(plan: &Plan, slot: &mut Slot, group: &mut Group, poses: usize) {
    group.reserve_poses(poses, plan.rest.len());
    for index in 0..poses {
        let slots = core::slice::from_mut(slot);
        let hidden = propagate_lanes::<f32>(plan, slots, group, index);
        hold_hidden_lanes(plan, slots, group, index, hidden);
    }
}

/// [`propagate_lanes`] on wide registers.
struct PropagateWide<'a> {
    plan: &'a Plan,
    slots: &'a [Slot],
    group: &'a mut Group,
    index: usize,
}

impl super::substeps::WideTask for PropagateWide<'_> {
    type Output = u64;
    fn on<L: Lane>(self) -> u64 {
        L::enter(PropagateTask(self, PhantomData::<L>))
    }
}

struct PropagateTask<'a, L>(PropagateWide<'a>, PhantomData<L>);

impl<L: Lane> Task for PropagateTask<'_, L> {
    type Output = u64;
    #[inline(always)]
    fn run(self) -> u64 {
        let PropagateWide {
            plan,
            slots,
            group,
            index,
        } = self.0;
        propagate_lanes::<L>(plan, slots, group, index)
    }
}

/// Composes pose `index` of the actors in all lanes, parents first. Says in which lanes a swing joint is scaled to
/// nothing, a bit each.
#[inline(always)]
fn propagate_lanes<L: Lane>(plan: &Plan, slots: &[Slot], group: &mut Group, index: usize) -> u64 {
    let joints = plan.rest.len();
    let at_root = Vec3x::splat([plan.metres_per_unit; 3]);
    let mut numbers = [0.0; TRANSFORM * MOST_LANES];
    // Lanes without an actor turn and scale nothing: a rotation of length 0 would take the long way at every joint.
    numbers[6 * L::LANES..TRANSFORM * L::LANES].fill(1.0);
    for &joint in &plan.needed {
        gather_joint(slots, index * joints + joint, L::LANES, &mut numbers);
        let translation = Vec3x::<L>::load(&numbers);
        let own = Rotation::load(&numbers[3 * L::LANES..]);
        let own_scale = Vec3x::load(&numbers[7 * L::LANES..]);
        let parent = plan.parents[joint];
        let scale = match parent {
            Some(parent) => Vec3x::load(&group.scales[parent * 3 * L::LANES..]),
            None => at_root,
        };
        let local = Rigid {
            t: scale * translation,
            r: rotation::unit_or_identity_in(own).reflected(sign(scale)),
        };
        let offset = group.pose_offset(index, joint, joints);
        local.store(&mut group.locals[offset..]);
        (scale * own_scale).store(&mut group.scales[joint * 3 * L::LANES..]);
        if plan.is_model_read[joint] {
            let above = match parent {
                Some(parent) => group.model(index, parent, joints),
                None => Rigid::identity(),
            };
            let model = above.compose(local);
            model.store(&mut group.models[offset..]);
        }
    }
    hidden_lanes::<L>(plan, &group.scales)
}

/// Copies the transform at `at` of each slot's poses into lanes: `[component][lane]`.
#[inline(always)]
fn gather_joint(
    slots: &[Slot],
    at: usize,
    lanes: usize,
    numbers: &mut [f32; TRANSFORM * MOST_LANES],
) {
    for (lane, slot) in slots.iter().enumerate() {
        let Some(JointTransform {
            translation,
            rotation,
            scale,
        }) = slot.poses.get(at)
        else {
            continue;
        };
        let (t, r, s) = (
            translation.to_array(),
            rotation.to_array(),
            scale.to_array(),
        );
        for axis in 0..3 {
            numbers[axis * lanes + lane] = t[axis];
            numbers[(7 + axis) * lanes + lane] = s[axis];
        }
        for component in 0..4 {
            numbers[(3 + component) * lanes + lane] = r[component];
        }
    }
}

/// ±1 per axis: which axes are mirrored.
#[inline(always)]
fn sign<L: Lane>(scale: Vec3x<L>) -> Vec3x<L> {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let minus = L::splat(-1.0);
    Vec3x::new(
        L::select(scale.x.lt(zero), minus, one),
        L::select(scale.y.lt(zero), minus, one),
        L::select(scale.z.lt(zero), minus, one),
    )
}

/// The lanes in which a swing joint has no volume, a bit each.
#[inline(always)]
fn hidden_lanes<L: Lane>(plan: &Plan, scales: &[f32]) -> u64 {
    let mut hidden = L::Mask::splat(false);
    for swing in &plan.swings {
        let scale = Vec3x::<L>::load(&scales[swing.joint * 3 * L::LANES..]);
        let volume = scale.x * scale.y * scale.z / L::splat(swing.volume);
        hidden = hidden | volume.abs().lt(L::splat(HIDDEN));
    }
    if !hidden.any() {
        return 0;
    }
    let lanes = (0..L::LANES).filter(|&lane| hidden.lane(lane));
    lanes.fold(0, |bits, lane| bits | 1 << lane)
}

/// Holds at rest what pose `index` hides of the actors; `hidden` tells in which lanes that may be anything.
fn hold_hidden_lanes(plan: &Plan, slots: &mut [Slot], group: &Group, index: usize, hidden: u64) {
    for (lane, slot) in slots.iter_mut().enumerate() {
        let has_pose = !slot.schedule.idle && index < slot.schedule.poses.len();
        if slot.actor.is_none() || !has_pose || (hidden >> lane & 1 == 0 && slot.hidden.is_empty())
        {
            continue;
        }
        let scale = |swing: &SwingPlan| {
            let at = |axis: usize| group.scales[(swing.joint * 3 + axis) * group.lanes + lane];
            at(0) * at(1) * at(2)
        };
        let is_hidden = |swing: &SwingPlan| (scale(swing) / swing.volume).abs() < HIDDEN;
        hold_hidden(
            &plan.swings,
            index,
            is_hidden,
            &mut slot.hidden,
            &mut slot.held,
        );
    }
}

/// Holds the swing joints at rest that pose `index` scales to nothing, and for one pose longer those that come back: they
/// start anew, as after a teleport.
///
/// Animators hide parts by scaling them to 0. What is in there has no room to swing, and its anchors fly apart when the
/// scale returns.
fn hold_hidden(
    swings: &[SwingPlan],
    index: usize,
    is_hidden: impl Fn(&SwingPlan) -> bool,
    hidden: &mut Vec<bool>,
    held: &mut Vec<f32>,
) {
    if hidden.is_empty() && !swings.iter().any(&is_hidden) {
        return;
    }
    hidden.resize(swings.len(), false);
    // Poses before this one hid nothing.
    held.resize(index * swings.len(), 0.0);
    for (hidden, swing) in hidden.iter_mut().zip(swings) {
        let now = is_hidden(swing);
        let before = core::mem::replace(hidden, now);
        held.push(f32::from(u8::from(now || before)));
    }
    if hidden.iter().all(|&hidden| !hidden) {
        hidden.clear();
    }
}

/// Lays one actor's pose `index` out in the rows of its chains.
fn lay_rows(rows: &ChainRows, single: &Group, group: &mut Group, index: usize) {
    let joints = rows.whole.rest.len();
    for (row, pose) in rows.poses.iter().enumerate() {
        let to = group.pose_offset(index, row, rows.poses.len());
        let lanes = group.lanes;
        if pose.is_local {
            lay_row(
                pose,
                &single.locals,
                index * joints,
                &mut group.locals[to..],
                lanes,
            );
        }
        if pose.is_model {
            lay_row(
                pose,
                &single.models,
                index * joints,
                &mut group.models[to..],
                lanes,
            );
        }
    }
}

fn lay_row(
    row: &crate::plan::chains::PoseRow,
    from: &Aligned,
    first: usize,
    to: &mut [f32],
    lanes: usize,
) {
    for (lane, &joint) in row.joints.iter().enumerate() {
        let own = &from[(first + joint) * RIGID..][..RIGID];
        for (component, &value) in own.iter().enumerate() {
            to[component * lanes + lane] = value;
        }
    }
}

/// Lays bake weights and what is held at rest into the lanes; nothing where no actor has any. `numbers` is how many a
/// lane has.
fn lay_weights(form: &Form, slots: &[Slot], group: &mut Group, numbers: usize) {
    let lanes = group.lanes;
    let lay = |of: fn(&Slot) -> &Vec<f32>, to: &mut Vec<f32>| {
        to.clear();
        let busy = || {
            slots
                .iter()
                .enumerate()
                .filter(|(_, slot)| !slot.schedule.idle)
        };
        if busy().all(|(_, slot)| of(slot).is_empty()) {
            return;
        }
        match form {
            Form::Alone | Form::Actors => {
                to.resize(numbers * lanes, 0.0);
                for (lane, slot) in busy() {
                    for (number, &value) in of(slot).iter().enumerate() {
                        to[number * lanes + lane] = value;
                    }
                }
            }
            Form::Chains(rows) => lay_rows_of(rows, of(&slots[0]), to),
        }
    };
    lay(|slot| &slot.bake, &mut group.bake);
    lay(|slot| &slot.held, &mut group.held);
}

/// Lays one actor's numbers, `[pose][place]`, out in the rows of its chains.
fn lay_rows_of(rows: &ChainRows, from: &[f32], to: &mut Vec<f32>) {
    let size = rows.len() * rows.lanes;
    for (pose, own) in from.chunks_exact(rows.at.len()).enumerate() {
        to.resize((pose + 1) * size, 0.0);
        for (&(row, lane), &value) in rows.at.iter().zip(own) {
            to[pose * size + row * rows.lanes + lane] = value;
        }
    }
}
