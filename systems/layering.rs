//! Layering: lays an actor's layers over its animated poses, in their order. `[L1]`–`[L4]` `[B4]` `[B6]`
//!
//! Runs in [`FrameSystems::Layering`], once per frame, after sampling. Reads [`Layers`]; reads and writes the poses of the
//! actor's slot, those of the substeps and the one the frame shows, and its channels. A layer is sampled at each pose's
//! own time, like the clip below it; its weight is the one it has now.
//!
//! What a layer cannot use (a weight that is no number from 0 to 1, a value that is not finite, a rotation without
//! direction) leaves the pose below as it is; the layer says so in its readout, and once in a warning.

use bevy_ecs::prelude::*;

use super::FrameSystems;
use super::preparation::Seat;
use super::sampling;
use super::substeps::{Workers, for_each_slot};
use crate::crowd::{Crowds, Slot};
use crate::layer::{
    Additive, JointContribution, Layer, LayerContribution, LayerKind, LayerReadout, LayerSource,
    LayerState, LayerWork, Layers, Missing, Reference, add_joint, override_joint,
};
use crate::plan::Plan;
use crate::pose::JointTransform;

mod sources;

use sources::{act, blend, sample};

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
            slot.layers.states.clear();
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
            is_told: false,
        };
        lay_pose(&mut below, point.time, layers, &mut slot.layers);
    }
    let mut below = Below {
        plan,
        pose: &mut slot.shown,
        channels: &mut slot.channels,
        is_shown: true,
        is_told: slot.layers.is_read,
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
    /// Whether somebody wants to know which joints move.
    is_told: bool,
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
    work.contributions
        .resize_with(layers.len(), LayerContribution::default);
    for (index, layer) in layers.iter().enumerate() {
        let state = work.state(index, &layer.name, joints);
        if reset {
            state.deltas.fill(None);
        }
        if let LayerKind::Additive { reference, .. } = &layer.kind
            && state.renews(reference)
        {
            make_reference(plan, state, reference);
        }
        let report = &mut work.contributions[index];
        report.name.clone_from(&layer.name);
        report.weight = 0.0;
        report.refused = false;
        report.channels = 0.0;
        report.action = None;
        report.joints.clear();
        report.kept.clear();
    }
    work.states.truncate(layers.len());
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
        // A mask that was made for another rig means other joints.
        let fits = layer.mask.len() == below.plan.rest.len();
        let weight = layer.weight_at(time).filter(|_| fits);
        let report = &mut work.contributions[index];
        if below.is_shown {
            report.weight = weight.unwrap_or(0.0);
        }
        report.refused |= weight.is_none();
        let Some(weight) = weight.filter(|&weight| weight > 0.0) else {
            if below.is_shown {
                // What it showed before it paused says nothing about where it goes on.
                work.states[index].deltas.fill(None);
            }
            continue;
        };
        match &layer.source {
            LayerSource::Clip(playback) => {
                let LayerWork { sampled, rows, .. } = work;
                sample(below, layer, playback, time, sampled, rows);
            }
            LayerSource::Blend { clips, about_rest } => {
                blend(below, layer, clips, *about_rest, time, index, work);
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

/// Notes, ascending and once, a joint that kept a part of the pose below.
fn note_kept(kept: &mut Vec<usize>, joint: usize) {
    if let Err(place) = kept.binary_search(&joint) {
        kept.insert(place, joint);
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
    if kept {
        note_kept(&mut report.kept, joint);
    }
    if below.is_told {
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
            let report = &mut work.contributions[index];
            if out.is_finite() {
                report.channels = report.channels.max((out - base).abs());
                below.channels[number] = out;
            } else {
                note_kept(&mut report.kept, of.joint);
            }
        }
    }
}

/// Tells people, once per layer and actor, what it could not use.
fn warn(plan: &Plan, slot: &mut Slot, layers: &Layers) {
    let (actor, joints) = (slot.actor, plan.rest.len());
    let work = &mut slot.layers;
    let reports = work.contributions.iter().zip(layers.iter());
    for ((report, layer), state) in reports.zip(&mut work.states) {
        let acts_not = report.action.is_some_and(|action| action.kept > 0);
        if state.warned || !(report.refused || acts_not || !report.kept.is_empty()) {
            continue;
        }
        state.warned = true;
        let what = if layer.mask.len() != joints {
            let made_for = layer.mask.len();
            format!("its mask is for a rig of {made_for} joints, this one has {joints}")
        } else if report.refused {
            format!("weight {}, expected a number from 0 to 1", layer.weight)
        } else if let Some(joint) = report.kept.first() {
            format!("joint {joint} of {joints} is not finite there or has a zero rotation")
        } else {
            "a channel of the action has no joint or is not finite".to_owned()
        };
        tracing::warn!(
            ?actor,
            "layer \"{}\": {what}; the pose below stays",
            layer.name
        );
    }
}
