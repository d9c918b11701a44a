//! Sampling: the animated pose of each substep, and the one the frame shows. `[K1]` `[T2]`
//!
//! Runs in [`FrameSystems::Sampling`], once per frame. Reads [`ClipPlayer`] or [`AnimatedPose`]; writes the poses of the
//! actor's slot.
//!
//! A clip-driven actor samples its clip at each substep's own time, also beyond the frame's. Other actors move from the
//! last frame's input to this frame's. What is not finite takes the rest pose and is noted `[B6]`; a rotation that is
//! not unit is made so `[B2]`.

use bevy_ecs::prelude::*;

use super::FrameSystems;
use super::preparation::Seat;
use super::substeps::{Workers, for_each_slot};
use crate::clip::{Clip, ClipPlayer, Playback, Track, TrackValues};
use crate::crowd::{Crowds, SamplingScratch, Slot};
use crate::lane::Lane;
use crate::plan::Plan;
use crate::pose::{AnimatedPose, JointTransform};
use crate::rotation;
use crate::substep::{FrameSchedule, PosePoint};
use crate::swing::BakeWeights;
use crate::uniform::PoseRows;

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
    let (scratch, invalid) = (&mut slot.sampling, &mut slot.invalid);
    for (point, pose) in poses(&slot.schedule, &mut slot.poses, joints) {
        let wanted = Wanted::Needed;
        sample_player(plan, player, point.time, wanted, pose, scratch, invalid);
    }
    slot.shown.resize(joints, JointTransform::IDENTITY);
    let time = slot.schedule.shown;
    let shown = &mut slot.shown;
    sample_player(plan, player, time, Wanted::All, shown, scratch, invalid);
    let (channels, scratch) = (&mut slot.channels, &mut slot.sampling.channels);
    sample_player_channels(plan, player, time, channels, scratch);
}

/// Which joints of a pose are asked for.
#[derive(Clone, Copy)]
enum Wanted {
    /// Those that the substeps read.
    Needed,
    /// All that are shown.
    All,
}

impl Wanted {
    fn has(self, plan: &Plan, joint: usize) -> bool {
        match self {
            Self::Needed => plan.is_needed[joint],
            Self::All => true,
        }
    }

    /// Calls `visit` for each, ascending.
    fn each(self, plan: &Plan, visit: impl FnMut(usize)) {
        match self {
            Self::Needed => plan.needed.iter().copied().for_each(visit),
            Self::All => (0..plan.rest.len()).for_each(visit),
        }
    }
}

/// The pose that `player` shows at `time` on the actor's clock; each clip is made valid before it is blended. `[B6]`
fn sample_player(
    plan: &Plan,
    player: &ClipPlayer,
    time: f64,
    wanted: Wanted,
    pose: &mut [JointTransform],
    scratch: &mut SamplingScratch,
    invalid: &mut Vec<usize>,
) {
    for (place, (playback, weight)) in player.playing_at(time).enumerate() {
        if place == 0 {
            sample_playback(plan, playback, time, wanted, pose, &mut scratch.rows);
            replace_invalid(plan, pose, wanted, invalid);
            continue;
        }
        let SamplingScratch {
            pose: above, rows, ..
        } = scratch;
        above.resize(plan.rest.len(), JointTransform::IDENTITY);
        sample_playback(plan, playback, time, wanted, above, rows);
        replace_invalid(plan, above, wanted, invalid);
        wanted.each(plan, |joint| {
            pose[joint] = pose[joint].blend(&above[joint], weight);
        });
    }
}

/// The pose of one clip, from its rows if it has them: what has no track is at rest.
fn sample_playback(
    plan: &Plan,
    playback: &Playback,
    time: f64,
    wanted: Wanted,
    pose: &mut [JointTransform],
    rows: &mut PoseRows,
) {
    wanted.each(plan, |joint| pose[joint] = plan.rest[joint]);
    let time = playback.clip_time(time);
    if let Some(uniform) = &playback.rows {
        uniform.sample_into(time, rows);
        // A clip of another rig may name joints that this one does not have.
        let has = |joint| joint < plan.rest.len() && wanted.has(plan, joint);
        uniform.scatter(rows, pose, has);
        return;
    }
    for track in &playback.clip.tracks {
        if track.joint < plan.rest.len() && wanted.has(plan, track.joint) {
            track.sample(time, &mut pose[track.joint]);
        }
    }
}

/// The channels that `player` shows at `time` on the actor's clock; `fading` is scratch.
fn sample_player_channels(
    plan: &Plan,
    player: &ClipPlayer,
    time: f64,
    channels: &mut Vec<f32>,
    fading: &mut Vec<f32>,
) {
    rest_channels(plan, channels);
    if channels.is_empty() {
        return;
    }
    for (place, (playback, weight)) in player.playing_at(time).enumerate() {
        let at = playback.clip_time(time);
        if place == 0 {
            sample_channels(plan, &playback.clip, at, channels, |_| {});
            continue;
        }
        rest_channels(plan, fading);
        sample_channels(plan, &playback.clip, at, fading, |_| {});
        for (below, above) in channels.iter_mut().zip(fading.iter()) {
            *below += (*above - *below) * weight;
        }
    }
    for (number, rest) in channels.iter_mut().zip(plan.channels.rest()) {
        if !number.is_finite() {
            *number = *rest;
        }
    }
}

fn rest_channels(plan: &Plan, channels: &mut Vec<f32>) {
    channels.clear();
    channels.extend(plan.channels.rest());
}

/// Writes the channels that `clip` moves at `time` (of the clip, seconds) into all channels of the rig; `moved` hears of
/// each set.
pub(super) fn sample_channels(
    plan: &Plan,
    clip: &Clip,
    time: f32,
    channels: &mut [f32],
    mut moved: impl FnMut(usize),
) {
    if channels.is_empty() {
        return;
    }
    for track in &clip.tracks {
        let set = track
            .channel()
            .and_then(|kind| plan.channels.find(track.joint, kind));
        if let Some(set) = set {
            track.sample_channel(time, &mut channels[plan.channels.range(set)]);
            moved(set);
        }
    }
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
    replace_invalid(plan, &mut slot.shown, Wanted::All, &mut slot.invalid);
    rest_channels(plan, &mut slot.channels);
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

/// Puts joints that are not finite at rest and notes them; makes rotations nearly unit. `[B6]` `[B2]`
fn replace_invalid(
    plan: &Plan,
    pose: &mut [JointTransform],
    wanted: Wanted,
    invalid: &mut Vec<usize>,
) {
    wanted.each(plan, |joint| {
        if !pose[joint].is_finite() {
            pose[joint] = plan.rest[joint];
            if let Err(place) = invalid.binary_search(&joint) {
                invalid.insert(place, joint);
            }
        }
        pose[joint].rotation = rotation::nearly_unit(pose[joint].rotation.into()).into();
    });
}

/// The bake weights of each pose, in the plan's order: the actor's own, else the clip's, else the joint's constant. What
/// is missing or no share counts as 0; where none is above 0 nothing is kept. While clips fade, the newest one's counts.
/// `[V4]`
fn sample_bake(
    plan: &Plan,
    slot: &mut Slot,
    bake: Option<&BakeWeights>,
    player: Option<&ClipPlayer>,
) {
    slot.bake.clear();
    if let Some(BakeWeights(now)) = bake {
        sample_own_bake(plan, slot, now);
    } else {
        slot.last_bake.clear();
        sample_clip_bake(plan, slot, player);
    }
    if slot.bake.iter().all(|&weight| weight == 0.0) {
        slot.bake.clear();
    }
}

fn sample_own_bake(plan: &Plan, slot: &mut Slot, now: &Vec<f32>) {
    if slot.schedule.reset || slot.last_bake.len() != now.len() {
        slot.last_bake.clone_from(now);
    }
    for point in &slot.schedule.poses {
        slot.bake.extend(plan.swings.iter().map(|swing| {
            let of = |weights: &[f32]| weights.get(swing.source).copied().unwrap_or(0.0);
            let (from, to) = (of(&slot.last_bake), of(now));
            // NaN fails every comparison, and so becomes 0.
            (from + (to - from) * point.input).clamp_to(0.0, 1.0)
        }));
    }
    slot.last_bake.clone_from(now);
}

fn sample_clip_bake(plan: &Plan, slot: &mut Slot, player: Option<&ClipPlayer>) {
    let player = player.map(|player| &player.playing);
    let tracks = player.map_or(&[][..], |playing| &playing.clip.tracks);
    let is_scalar = |track: &&Track| matches!(track.values, TrackValues::BakeWeight(_));
    let constant = plan.swings.iter().any(|swing| swing.bake_weight > 0.0);
    if !constant && !tracks.iter().any(|track| is_scalar(&track)) {
        return;
    }
    for point in &slot.schedule.poses {
        let start = slot.bake.len();
        let weights = plan.swings.iter().map(|swing| swing.bake_weight);
        slot.bake.extend(weights.map(|w| w.clamp_to(0.0, 1.0)));
        let Some(player) = player else { continue };
        let time = player.clip_time(point.time);
        for track in tracks.iter().filter(is_scalar) {
            let place = plan.swings.iter().position(|s| s.joint == track.joint);
            if let (Some(place), Some(weight)) = (place, track.sample_bake_weight(time)) {
                slot.bake[start + place] = weight.clamp_to(0.0, 1.0);
            }
        }
    }
}
