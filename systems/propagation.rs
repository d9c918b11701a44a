//! Propagation: the animated poses of the substeps in model space.
//!
//! Runs in [`FrameSystems::Propagation`], once per frame. Reads the poses of the actor's slot; writes the lanes'
//! [`Group::locals`] and [`Group::models`]: rigid transforms, scale already multiplied into the translations and
//! mirrored axes into the rotations, so that the swing maths composes without looking at scale again.

use bevy_ecs::prelude::*;

use super::FrameSystems;
use super::substeps::{Workers, for_each_slot};
use crate::crowd::{Crowds, Group, RIGID, Slot};
use crate::plan::{Plan, SwingPlan};
use crate::pose::{JointTransform, ModelTransform, Rigid};

/// A joint whose scale is this share of its volume at rest, or less, is hidden: a thousandth per axis.
const HIDDEN: f32 = 1e-9;

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
    slot.group.held.clear();
    if slot.schedule.reset {
        slot.hidden.clear();
    }
    for (index, pose) in slot.poses.chunks_exact(joints.max(1)).enumerate() {
        propagate_pose(plan, pose, index, &mut slot.group, 0, &mut slot.scales);
        let held = &mut slot.group.held;
        hold_hidden(&plan.swings, index, &slot.scales, &mut slot.hidden, held);
    }
    if !slot.group.held.is_empty() {
        // Poses after the last one that hid something hold nothing.
        let poses = slot.schedule.poses.len();
        slot.group.held.resize(poses * plan.swings.len(), 0.0);
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
    scales: &[ModelTransform],
    hidden: &mut Vec<bool>,
    held: &mut Vec<f32>,
) {
    let is_hidden = |swing: &SwingPlan| {
        let scale = scales[swing.joint].scale;
        (scale.x * scale.y * scale.z / swing.volume).abs() < HIDDEN
    };
    if hidden.is_empty() && !swings.iter().any(is_hidden) {
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
