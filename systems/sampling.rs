//! Sampling: the animated pose of each substep, and the one the frame shows. `[K1]` `[T2]`
//!
//! Runs in [`FrameSystems::Sampling`], once per frame. Reads [`ClipPlayer`] or [`AnimatedPose`]; writes the poses of the
//! actor's slot.
//!
//! A clip-driven actor samples its clip at each substep's own time, also beyond the frame's. Other actors move from the
//! last frame's input to this frame's. What is not finite takes the rest pose and is noted `[B6]`; a rotation that is
//! not unit is made so `[B2]`.

use bevy_ecs::prelude::*;
use bevy_math::Quat;

use super::FrameSystems;
use super::preparation::Seat;
use super::substeps::{Workers, for_each_slot};
use crate::clip::{ClipPlayer, Track, TrackValues};
use crate::crowd::{Crowds, Slot};
use crate::lane::Lane;
use crate::plan::Plan;
use crate::pose::{AnimatedPose, JointTransform};
use crate::rotation::{self, Rotation};
use crate::substep::{FrameSchedule, PosePoint};
use crate::swing::BakeWeights;

/// Registers the systems.
pub fn add(schedule: &mut Schedule) {
    schedule.add_systems(sample_poses.in_set(FrameSystems::Sampling));
}

fn sample_poses(
    mut crowds: ResMut<Crowds>,
    workers: Res<Workers>,
    actors: Query<(&AnimatedPose, Option<&ClipPlayer>, Option<&BakeWeights>), With<Seat>>,
) {
    for_each_slot(&mut crowds, *workers, |plan, slot| {
        let Some((animated, player, bake)) = slot.actor.and_then(|actor| actors.get(actor).ok())
        else {
            return;
        };
        slot.invalid.clear();
        let joints = plan.rest.len();
        slot.poses
            .resize(slot.schedule.poses.len() * joints, JointTransform::IDENTITY);
        match player {
            Some(player) => sample_clip(plan, slot, player),
            None => sample_input(plan, slot, &animated.0),
        }
        sample_bake(plan, slot, bake, player);
    });
}

/// Samples the clip at the time of each pose and at the frame's own time.
fn sample_clip(plan: &Plan, slot: &mut Slot, player: &ClipPlayer) {
    let joints = plan.rest.len();
    for (point, pose) in poses(&slot.schedule, &mut slot.poses, joints) {
        for &joint in &plan.needed {
            pose[joint] = plan.rest[joint];
        }
        let time = player.clip_time(point.time);
        for track in &player.clip.tracks {
            // A clip of another rig may name joints that this one does not have.
            if plan.is_needed.get(track.joint) == Some(&true) {
                track.sample(time, &mut pose[track.joint]);
            }
        }
        let needed = plan.needed.iter().copied();
        replace_invalid(plan, pose, needed, &mut slot.invalid);
    }
    slot.shown.clone_from(&plan.rest);
    let time = player.clip_time(slot.schedule.shown);
    for track in &player.clip.tracks {
        if let Some(joint) = slot.shown.get_mut(track.joint) {
            track.sample(time, joint);
        }
    }
    replace_invalid(plan, &mut slot.shown, 0..joints, &mut slot.invalid);
}

/// When each pose of a frame is taken, with the pose of `joints` joints to be filled.
fn poses<'a>(
    schedule: &'a FrameSchedule,
    poses: &'a mut [JointTransform],
    joints: usize,
) -> impl Iterator<Item = (&'a PosePoint, &'a mut [JointTransform])> {
    let poses = poses.chunks_exact_mut(joints.max(1));
    schedule.poses.iter().zip(poses)
}

/// Moves from the last frame's input to this frame's. `[T2]`
fn sample_input(plan: &Plan, slot: &mut Slot, input: &[JointTransform]) {
    let joints = plan.rest.len();
    slot.shown.clear();
    // A host that is between two rigs has a pose of another length: rest is the one that fits.
    let fits = input.len() == joints;
    slot.shown
        .extend_from_slice(if fits { input } else { &plan.rest });
    replace_invalid(plan, &mut slot.shown, 0..joints, &mut slot.invalid);
    if slot.schedule.reset || slot.last_input.len() != joints {
        slot.last_input.clone_from(&slot.shown);
    }
    for (point, pose) in poses(&slot.schedule, &mut slot.poses, joints) {
        for &joint in &plan.needed {
            let (from, to) = (&slot.last_input[joint], &slot.shown[joint]);
            pose[joint] = if point.input >= 1.0 {
                *to
            } else {
                from.blend(to, point.input)
            };
        }
    }
    slot.last_input.clone_from(&slot.shown);
}

/// How far from 1 the squared length of a rotation may be to be shown with the bits it has, dimensionless.
///
/// A key stored in 16 bits is off by 1e-4. What the simulation composes is made exactly unit, see
/// [`rotation::unit_or_identity`].
const NEARLY_UNIT: f32 = 1e-3;

/// `q` itself when it is nearly unit, else at unit length. `[B2]`
fn nearly_unit(q: Quat) -> Quat {
    let rotation = Rotation::from(q);
    if (rotation.dot(rotation) - 1.0).abs() <= NEARLY_UNIT {
        q
    } else {
        rotation::unit_or_identity(rotation).into()
    }
}

/// Puts joints that are not finite at rest and notes them; makes rotations nearly unit. `[B6]` `[B2]`
fn replace_invalid(
    plan: &Plan,
    pose: &mut [JointTransform],
    joints: impl Iterator<Item = usize>,
    invalid: &mut Vec<usize>,
) {
    for joint in joints {
        if !pose[joint].is_finite() {
            pose[joint] = plan.rest[joint];
            if let Err(place) = invalid.binary_search(&joint) {
                invalid.insert(place, joint);
            }
        }
        pose[joint].rotation = nearly_unit(pose[joint].rotation);
    }
}

/// The bake weights of each pose, in the plan's order: the actor's own, else the clip's, else the joint's constant. What
/// is missing or no share counts as 0; where none is above 0 nothing is kept. `[V4]`
fn sample_bake(
    plan: &Plan,
    slot: &mut Slot,
    bake: Option<&BakeWeights>,
    player: Option<&ClipPlayer>,
) {
    slot.group.bake.clear();
    if let Some(BakeWeights(now)) = bake {
        sample_own_bake(plan, slot, now);
    } else {
        slot.last_bake.clear();
        sample_clip_bake(plan, slot, player);
    }
    if slot.group.bake.iter().all(|&weight| weight == 0.0) {
        slot.group.bake.clear();
    }
}

fn sample_own_bake(plan: &Plan, slot: &mut Slot, now: &Vec<f32>) {
    if slot.schedule.reset || slot.last_bake.len() != now.len() {
        slot.last_bake.clone_from(now);
    }
    for point in &slot.schedule.poses {
        slot.group.bake.extend(plan.swings.iter().map(|swing| {
            let of = |weights: &[f32]| weights.get(swing.source).copied().unwrap_or(0.0);
            let (from, to) = (of(&slot.last_bake), of(now));
            // NaN fails every comparison, and so becomes 0.
            (from + (to - from) * point.input).clamp_to(0.0, 1.0)
        }));
    }
    slot.last_bake.clone_from(now);
}

fn sample_clip_bake(plan: &Plan, slot: &mut Slot, player: Option<&ClipPlayer>) {
    let tracks = player.map_or(&[][..], |player| &player.clip.tracks);
    let is_scalar = |track: &&Track| matches!(track.values, TrackValues::BakeWeight(_));
    let constant = plan.swings.iter().any(|swing| swing.bake_weight > 0.0);
    if !constant && !tracks.iter().any(|track| is_scalar(&track)) {
        return;
    }
    for point in &slot.schedule.poses {
        let start = slot.group.bake.len();
        let weights = plan.swings.iter().map(|swing| swing.bake_weight);
        slot.group
            .bake
            .extend(weights.map(|w| w.clamp_to(0.0, 1.0)));
        let Some(player) = player else { continue };
        let time = player.clip_time(point.time);
        for track in tracks.iter().filter(is_scalar) {
            let place = plan.swings.iter().position(|s| s.joint == track.joint);
            if let (Some(place), Some(weight)) = (place, track.sample_bake_weight(time)) {
                slot.group.bake[start + place] = weight.clamp_to(0.0, 1.0);
            }
        }
    }
}
