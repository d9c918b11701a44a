//! Propagation: the animated poses of the substeps in model space.
//!
//! Runs in [`FrameSystems::Propagation`], once per frame. Reads the poses of the actor's slot; writes the lanes'
//! [`Group::locals`] and [`Group::models`]: rigid transforms, scale already multiplied into the translations and
//! mirrored axes into the rotations, so that the swing maths composes without looking at scale again. Swing joints that
//! the pose scales to nothing are held to the animation.

use bevy_ecs::prelude::*;

use super::FrameSystems;
use super::substeps::{Workers, for_each_slot};
use crate::crowd::{Crowds, Group, RIGID, Slot, particle};
use crate::plan::Plan;
use crate::pose::{JointTransform, ModelTransform, Rigid};
use crate::substep::FrameSchedule;

/// Registers the systems.
pub fn add(schedule: &mut Schedule) {
    schedule.add_systems(propagate_poses.in_set(FrameSystems::Propagation));
}

fn propagate_poses(mut crowds: ResMut<Crowds>, workers: Res<Workers>) {
    for_each_slot(&mut crowds, *workers, propagate_slot);
}

fn propagate_slot(plan: &Plan, slot: &mut Slot) {
    let joints = plan.rest.len();
    slot.group.reserve_poses(slot.schedule.poses.len(), joints);
    for (index, pose) in slot.poses.chunks_exact(joints.max(1)).enumerate() {
        propagate_pose(plan, pose, index, &mut slot.group, 0, &mut slot.scales);
        let (scales, held) = (&slot.scales, &mut slot.held);
        hold_collapsed(plan, index, &slot.schedule, scales, held, &mut slot.group);
    }
}

/// A joint scaled to this share of the rig's unit or less is a point, dimensionless: nothing can swing there.
const COLLAPSED: f32 = 1e-6;
/// For how many poses a joint is held after its scale came back: in the first its particle goes to its new place, in the
/// second it forgets the way there.
const HELD_AFTER: u8 = 2;

/// Holds to the animation what pose `index` scales to nothing: with bake weight 1, until a while after the scale is back.
///
/// Joints below a point have their anchors in that point. If they swung on there, they would be thrown about when the
/// anchors come back. Slide joints have no bake weight and are not held.
fn hold_collapsed(
    plan: &Plan,
    index: usize,
    schedule: &FrameSchedule,
    scales: &[ModelTransform],
    held: &mut Vec<u8>,
    group: &mut Group,
) {
    let count = plan.swings.len();
    if schedule.reset && index == 0 {
        held.clear();
    }
    held.resize(count, 0);
    let least = COLLAPSED * plan.metres_per_unit;
    for (place, (swing, left)) in plan.swings.iter().zip(held).enumerate() {
        let collapsed = scales[swing.joint].scale.abs().max_element() <= least;
        if !collapsed && *left == 0 {
            continue;
        }
        *left = if collapsed { HELD_AFTER } else { *left - 1 };
        if group.bake.is_empty() {
            group.bake.resize(schedule.poses.len() * count, 0.0);
        }
        group.bake[index * count + place] = 1.0;
        let own = &mut group.particles[place * particle::COMPONENTS..];
        own[particle::VELOCITY..particle::VELOCITY + 3].fill(0.0);
    }
}

/// Writes pose `index` of one actor into `lane` of its group. `scales` is scratch.
fn propagate_pose(
    plan: &Plan,
    pose: &[JointTransform],
    index: usize,
    group: &mut Group,
    lane: usize,
    scales: &mut Vec<ModelTransform>,
) {
    let root = ModelTransform::root(plan.metres_per_unit);
    scales.resize(plan.rest.len(), root);
    for &joint in &plan.needed {
        let parent = plan.parents[joint].map_or(root, |parent| scales[parent]);
        let local = parent.scaled(&pose[joint]);
        let model = ModelTransform {
            rigid: parent.rigid.compose(local),
            scale: parent.scale * pose[joint].scale,
        };
        scales[joint] = model;
        let offset = group.pose_offset(index, joint, plan.rest.len());
        let lanes = group.lanes;
        scatter(local, &mut group.locals[offset..], lanes, lane);
        scatter(model.rigid, &mut group.models[offset..], lanes, lane);
    }
}

/// Writes a transform into one of `lanes` lanes.
fn scatter(transform: Rigid<f32>, to: &mut [f32], lanes: usize, lane: usize) {
    let mut components = [0.0; RIGID];
    transform.store(&mut components);
    for (component, value) in components.into_iter().enumerate() {
        to[component * lanes + lane] = value;
    }
}
