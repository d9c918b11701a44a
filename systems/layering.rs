//! Layering: lays an actor's layers over its animated poses, in their order. `[L1]`–`[L4]` `[B4]` `[B6]`
//!
//! Runs in [`FrameSystems::Layering`], once per frame, after sampling. Reads [`Layers`]; reads and writes the poses of the
//! actor's slot, those of the substeps and the one the frame shows, and its channels. A layer is sampled at each pose's
//! own time, like the clip below it; its weight is the one it has now.
//!
//! What a layer cannot use (a weight that is no number from 0 to 1, a value that is not finite, a rotation without
//! direction) leaves the pose below as it is; the layer says so in its readout, and once in a warning.

use std::sync::Arc;

use bevy_ecs::prelude::*;

use super::FrameSystems;
use super::preparation::Seat;
use super::sampling;
use super::substeps::{Workers, for_each_slot};
use crate::action::{Action, Channel};
use crate::blend::{BlendInput, BlendReference, blend_many};
use crate::clip::Playback;
use crate::crowd::{Crowds, Slot};
use crate::layer::{
    Additive, BlendClip, JointContribution, Layer, LayerContribution, LayerKind, LayerReadout,
    LayerSource, LayerState, LayerWork, Layers, Missing, Present, Reference, Sampled, add_joint,
    override_joint,
};
use crate::plan::Plan;
use crate::pose::JointTransform;
use crate::uniform::PoseRows;

/// A blend's input that takes no part: weights below 0 are left out. `[B4]`
const LEFT_OUT: f32 = -1.0;

/// Registers the systems.
pub fn add(schedule: &mut Schedule) {
    schedule.add_systems(lay_layers.in_set(FrameSystems::Layering));
}

fn lay_layers(
    mut crowds: ResMut<Crowds>,
    workers: Res<Workers>,
    actors: Query<(Option<&Layers>, Has<LayerReadout>), With<Seat>>,
) {
    for_each_slot(&mut crowds, *workers, |plan, slot| {
        let found = slot.actor.and_then(|actor| actors.get(actor).ok());
        let Some((Some(layers), is_read)) = found else {
            slot.layers.contributions.clear();
            return;
        };
        slot.layers.is_read = is_read;
        lay_slot(plan, slot, layers);
    });
}

fn lay_slot(plan: &Plan, slot: &mut Slot, layers: &Layers) {
    prepare(plan, &mut slot.layers, layers, slot.schedule.reset);
    let joints = plan.rest.len().max(1);
    let poses = slot.poses.chunks_exact_mut(joints);
    for (point, pose) in slot.schedule.poses.iter().zip(poses) {
        let mut below = Below {
            plan,
            pose,
            channels: &mut [],
            is_shown: false,
        };
        lay_pose(&mut below, point.time, layers, &mut slot.layers);
    }
    let mut below = Below {
        plan,
        pose: &mut slot.shown,
        channels: &mut slot.channels,
        is_shown: true,
    };
    lay_pose(&mut below, slot.schedule.shown, layers, &mut slot.layers);
    warn(plan, slot, layers);
}

/// The pose that layers are laid over.
struct Below<'p> {
    plan: &'p Plan,
    pose: &'p mut [JointTransform],
    /// Only the pose that is shown has them.
    channels: &'p mut [f32],
    /// Whether all joints are up to date, not only those that the substeps need.
    is_shown: bool,
}

impl Below<'_> {
    fn reaches(&self, layer: &Layer, joint: usize) -> bool {
        let known = self.is_shown || self.plan.is_needed[joint];
        known && layer.mask.weight(joint) > 0.0
    }
}

/// Gives each layer its memory: what another layer or another plan left there is forgotten.
fn prepare(plan: &Plan, work: &mut LayerWork, layers: &Layers, reset: bool) {
    let joints = plan.rest.len();
    work.states.resize_with(layers.len(), LayerState::default);
    work.contributions
        .resize_with(layers.len(), LayerContribution::default);
    for ((layer, state), report) in layers
        .iter()
        .zip(&mut work.states)
        .zip(&mut work.contributions)
    {
        if state.name != layer.name || state.deltas.len() != joints {
            *state = LayerState::new(&layer.name, joints);
        }
        if reset {
            state.deltas.fill(None);
        }
        report.name.clone_from(&layer.name);
        report.weight = 0.0;
        report.refused = false;
        report.channels = 0.0;
        report.action = None;
        report.joints.clear();
        report.kept.clear();
        if let LayerKind::Additive { reference, .. } = &layer.kind
            && state.renews(reference)
        {
            make_reference(plan, state, reference);
        }
    }
}

/// The pose an additive layer compares with: what has no track is at rest.
fn make_reference(plan: &Plan, state: &mut LayerState, reference: &Reference) {
    state.reference.clone_from(&plan.rest);
    state.reference_channels.clear();
    state.reference_channels.extend(plan.channels.rest());
    if let Reference::Clip { clip, time } = reference {
        for track in &clip.tracks {
            if let Some(joint) = state.reference.get_mut(track.joint) {
                track.sample(*time, joint);
            }
        }
        sampling::sample_channels(plan, clip, *time, &mut state.reference_channels, |_| {});
    }
}

/// Lays all layers over one pose, taken at `time` on the actor's clock.
fn lay_pose(below: &mut Below, time: f64, layers: &Layers, work: &mut LayerWork) {
    for (index, layer) in layers.iter().enumerate() {
        let weight = layer.weight_at(time);
        let report = &mut work.contributions[index];
        if below.is_shown {
            report.weight = weight.unwrap_or(0.0);
        }
        report.refused |= weight.is_none();
        let Some(weight) = weight.filter(|&weight| weight > 0.0) else {
            continue;
        };
        match &layer.source {
            LayerSource::Clip(playback) => {
                let LayerWork { sampled, rows, .. } = work;
                sample(below, layer, playback, time, sampled, rows);
            }
            LayerSource::Blend { clips, about_rest } => {
                blend(below, layer, clips, *about_rest, time, work);
            }
            LayerSource::Action { action, starts } => {
                act(below, layer, weight, action, time - starts, index, work);
                continue;
            }
        }
        lay_joints(below, layer, weight, index, work);
        if below.is_shown {
            lay_channels(below, layer, weight, index, work);
        }
    }
}

/// What a clip shows, at `time` on the actor's clock, of the joints and channels that the layer reaches.
fn sample(
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
fn blend(
    below: &Below,
    layer: &Layer,
    clips: &[BlendClip],
    about_rest: bool,
    time: f64,
    work: &mut LayerWork,
) {
    let (plan, joints) = (below.plan, below.plan.rest.len());
    let LayerWork {
        sampled,
        part,
        rotations,
        totals,
        rows,
        ..
    } = work;
    sampled.clear(joints, &plan.channels);
    totals.clear(joints, plan.channels.sets().len());
    let left_out = BlendInput {
        id: 0,
        rotation: [0.0; 4],
        weight: LEFT_OUT,
    };
    rotations.clear();
    rotations.resize(joints * clips.len(), left_out);
    for (id, clip) in clips.iter().enumerate() {
        if !(clip.weight > 0.0 && clip.weight.is_finite()) {
            continue;
        }
        sample(below, layer, &clip.playback, time, part, rows);
        for &joint in &part.touched {
            let (of, present) = (&part.pose[joint], part.present[joint]);
            let (to, known) = sampled.touch(joint, &plan.rest);
            totals.add(joint, clip.weight, of, present, to, known);
            if present.rotation {
                rotations[joint * clips.len() + id] = BlendInput {
                    id: id as u32,
                    rotation: of.rotation.to_array(),
                    weight: clip.weight,
                };
            }
        }
        totals.add_channels(&plan.channels, clip.weight, part, sampled);
    }
    for &joint in &sampled.touched {
        let inputs = &mut rotations[joint * clips.len()..][..clips.len()];
        for (id, input) in inputs.iter_mut().enumerate() {
            input.id = id as u32;
        }
        let reference = if about_rest {
            BlendReference::Rest(plan.rest[joint].rotation.to_array())
        } else {
            BlendReference::Heaviest
        };
        // None of them valid: the rest rotation, with which the joint was touched, stays.
        if let Ok(rotation) = blend_many(inputs, reference) {
            sampled.pose[joint].rotation = rotation.into();
        }
    }
}

/// Lets an action act on the joints that the layer reaches. `[K5]`
fn act(
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
    let readout = action.apply(time, weight, &mut work.acted);
    if below.is_shown {
        work.contributions[index].action = Some(readout);
        work.contributions[index].weight = readout.weight;
    }
    for joint in action.channels.iter().map(Channel::joint) {
        if joint >= below.plan.rest.len() || !below.reaches(layer, joint) {
            continue;
        }
        let mask = layer.mask.weight(joint);
        let (out, kept) = override_joint(
            &below.pose[joint],
            &work.acted[joint],
            Present::ALL,
            mask,
            layer.interpolant,
        );
        set(below, joint, out, kept, &mut work.contributions[index]);
    }
}

/// Lays what was sampled over the pose. `[L1]` `[L2]`
fn lay_joints(below: &mut Below, layer: &Layer, weight: f32, index: usize, work: &mut LayerWork) {
    let state = &mut work.states[index];
    for &joint in &work.sampled.touched {
        let w = weight * layer.mask.weight(joint);
        if w < f32::MIN_POSITIVE {
            continue;
        }
        let (base, sample) = (&below.pose[joint], &work.sampled.pose[joint]);
        let present = work.sampled.present[joint];
        let (out, kept) = match &layer.kind {
            LayerKind::Override => override_joint(base, sample, present, w, layer.interpolant),
            LayerKind::Additive {
                side, continuous, ..
            } => {
                let how = Additive {
                    side: *side,
                    reference: &state.reference[joint],
                    last: continuous.then_some(state.deltas[joint]),
                };
                let (out, kept, delta) = add_joint(base, sample, present, w, &how);
                if below.is_shown && delta.is_some() {
                    state.deltas[joint] = delta;
                }
                (out, kept)
            }
        };
        set(below, joint, out, kept, &mut work.contributions[index]);
    }
}

/// Puts a joint's transform into the pose and notes what that changed.
fn set(
    below: &mut Below,
    joint: usize,
    out: JointTransform,
    kept: bool,
    report: &mut LayerContribution,
) {
    if kept && let Err(place) = report.kept.binary_search(&joint) {
        report.kept.insert(place, joint);
    }
    if below.is_shown {
        let moved = JointContribution::between(joint, &below.pose[joint], &out);
        if !moved.is_none() {
            let place = report.joints.partition_point(|known| known.joint < joint);
            report.joints.insert(place, moved);
        }
    }
    below.pose[joint] = out;
}

/// Lays channels: `lerp` for an override, `B + w(S − R)` for an additive layer. `[L1]` `[L2]`
fn lay_channels(below: &mut Below, layer: &Layer, weight: f32, index: usize, work: &mut LayerWork) {
    let layout = &below.plan.channels;
    for (set, of) in layout.sets().iter().enumerate() {
        let rests = layer.missing == Missing::Rest;
        let w = weight * layer.mask.weight(of.joint);
        if !(work.sampled.moved_sets[set] || rests) || w < f32::MIN_POSITIVE {
            continue;
        }
        for number in layout.range(set) {
            let (base, sample) = (below.channels[number], work.sampled.channels[number]);
            let out = match &layer.kind {
                LayerKind::Override if w >= 1.0 => sample,
                LayerKind::Override => base + (sample - base) * w,
                LayerKind::Additive { .. } => {
                    base + (sample - work.states[index].reference_channels[number]) * w
                }
            };
            if out.is_finite() {
                let most = &mut work.contributions[index].channels;
                *most = most.max((out - base).abs());
                below.channels[number] = out;
            }
        }
    }
}

/// Tells people, once per layer and actor, what it could not use.
fn warn(plan: &Plan, slot: &mut Slot, layers: &Layers) {
    let actor = slot.actor;
    let work = &mut slot.layers;
    let reports = work.contributions.iter().zip(layers.iter());
    for ((report, layer), state) in reports.zip(&mut work.states) {
        if state.warned || !(report.refused || !report.kept.is_empty()) {
            continue;
        }
        state.warned = true;
        if report.refused {
            tracing::warn!(
                ?actor,
                "layer \"{}\": weight {}, expected a number from 0 to 1; the pose below stays",
                layer.name,
                layer.weight
            );
        } else {
            let joints = plan.rest.len();
            tracing::warn!(
                ?actor,
                "layer \"{}\": joint {} of {joints} is not finite or has a zero rotation; it keeps the pose below",
                layer.name,
                report.kept[0]
            );
        }
    }
}
