//! Where a layer's motion comes from: a clip, clips side by side, an action. `[L4]` `[B4]` `[K5]`

use std::sync::Arc;

use bevy_math::Vec3;

use super::super::sampling;
use super::{Below, note_kept, set};
use crate::action::Action;
use crate::blend::{BlendInput, BlendReference, blend_many};
use crate::clip::Playback;
use crate::layer::{BlendClip, Layer, LayerWork, Present, Sampled, override_joint};
use crate::plan::Plan;
use crate::pose::JointTransform;
use crate::uniform::PoseRows;

/// A blend's input that takes no part: weights below 0 are left out. `[B4]`
const LEFT_OUT: f32 = -1.0;

/// What a clip shows, at `time` on the actor's clock, of the joints and channels that the layer reaches.
pub(super) fn sample(
    below: &Below,
    layer: &Layer,
    playback: &Playback,
    time: f64,
    to: &mut Sampled,
    rows: &mut PoseRows,
) {
    let (plan, clip, time) = (below.plan, &playback.clip, playback.clip_time(time));
    let reaches = |joint| below.reaches(layer, joint);
    to.clear(plan.rest.len(), &plan.channels);
    if let Some(uniform) = &playback.rows {
        to.sample_rows(uniform, time, &plan.rest, reaches, rows);
    } else {
        for track in &clip.tracks {
            // A clip of another rig may name joints that this one does not have.
            if track.joint < plan.rest.len() && reaches(track.joint) {
                to.sample(track, time, &plan.rest);
            }
        }
    }
    if below.is_shown {
        let (channels, moved) = (&mut to.channels, &mut to.moved_sets);
        sampling::sample_channels(plan, clip, time, channels, |set| moved[set] = true);
    }
    to.fill_missing(layer.missing, &plan.rest, reaches);
}

/// Blends clips side by side: each property of each joint by the weights of the clips that move it. `[B4]`
pub(super) fn blend(
    below: &Below,
    layer: &Layer,
    clips: &[BlendClip],
    about_rest: bool,
    time: f64,
    index: usize,
    work: &mut LayerWork,
) {
    let (plan, joints) = (below.plan, below.plan.rest.len());
    let LayerWork {
        sampled,
        part,
        rotations,
        totals,
        rows,
        contributions,
        ..
    } = work;
    let kept = &mut contributions[index].kept;
    sampled.clear(joints, &plan.channels);
    totals.clear(joints, plan.channels.sets().len());
    rotations.clear();
    let places = (0..joints).flat_map(|_| 0..clips.len());
    rotations.extend(places.map(|id| BlendInput {
        id: id as u32,
        rotation: [0.0; 4],
        weight: LEFT_OUT,
    }));
    for (id, clip) in clips.iter().enumerate() {
        if !(clip.weight > 0.0 && clip.weight.is_finite()) {
            continue;
        }
        sample(below, layer, &clip.playback, time, part, rows);
        for &joint in &part.touched {
            let (of, present) = (&part.pose[joint], part.present[joint]);
            let (to, known) = sampled.touch(joint, &plan.rest);
            if totals.add(joint, clip.weight, of, present, to, known) {
                note_kept(kept, joint);
            }
            if present.rotation {
                let input = &mut rotations[joint * clips.len() + id];
                input.rotation = of.rotation.to_array();
                input.weight = clip.weight;
            }
        }
        totals.add_channels(&plan.channels, clip.weight, part, sampled);
    }
    for &joint in &sampled.touched {
        if !sampled.present[joint].rotation {
            continue;
        }
        let inputs = &rotations[joint * clips.len()..][..clips.len()];
        let reference = if about_rest {
            BlendReference::Rest(plan.rest[joint].rotation.to_array())
        } else {
            BlendReference::Heaviest
        };
        match blend_many(inputs, reference) {
            Ok(rotation) => sampled.pose[joint].rotation = rotation.into(),
            // None of them has a direction.
            Err(_) => {
                sampled.present[joint].rotation = false;
                note_kept(kept, joint);
            }
        }
    }
}

/// Lets an action act on the joints that the layer reaches. `[K5]`
pub(super) fn act(
    below: &mut Below,
    layer: &Layer,
    weight: f32,
    action: &Arc<Action>,
    time: f64,
    index: usize,
    work: &mut LayerWork,
) {
    work.acted.clear();
    work.acted.extend_from_slice(below.pose);
    let plan = below.plan;
    let readout = action.apply(time, weight, &mut work.acted, |pose, joint| {
        units_of_parent(plan, pose, joint)
    });
    let report = &mut work.contributions[index];
    if below.is_shown {
        report.action = Some(readout);
        report.weight = readout.weight;
    }
    for (place, channel) in action.channels.iter().enumerate() {
        let joint = channel.joint();
        // All channels of a joint have acted by now: the mask weighs them once.
        let is_done = action.channels[..place].iter().any(|c| c.joint() == joint);
        if is_done || joint >= plan.rest.len() || !below.reaches(layer, joint) {
            continue;
        }
        let mask = layer.mask.weight(joint);
        let (base, acted) = (&below.pose[joint], &work.acted[joint]);
        let (out, kept) = override_joint(base, acted, Present::ALL, mask, layer.interpolant);
        set(below, joint, out, kept, report);
    }
}

/// Metres per unit, per axis, of what `joint` hangs on in this pose.
fn units_of_parent(plan: &Plan, pose: &[JointTransform], joint: usize) -> Vec3 {
    let mut metres = Vec3::splat(plan.metres_per_unit);
    let mut above = plan.parents[joint];
    while let Some(parent) = above {
        metres *= pose[parent].scale;
        above = plan.parents[parent];
    }
    metres
}
