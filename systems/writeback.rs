//! Writeback: shows the frame. `[T2]` `[V7]` `[B6]`
//!
//! Runs in [`FrameSystems::Writeback`], once per frame. Reads the results of the last two substeps; writes [`LocalPose`],
//! [`PoseHealth`] and, where an actor carries them, [`ModelPose`], [`SwingReadout`], [`ChannelPose`], [`LayerReadout`] and more.

use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};

use super::FrameSystems;
use super::footing::report_feet;
use crate::account::Explanation;
use crate::chain::ChainReadout;
use crate::channel::ChannelPose;
use crate::crowd::{ActorState, Crowds, Seat, Slot, particle, result};
use crate::lane::Vec3x;
use crate::layer::LayerReadout;
use crate::plan::{Plan, SwingPlan};
use crate::pose::{LocalPose, ModelPose, ModelTransform, PoseHealth, compose_model_into};
use crate::profile::{RestPose, SubstepPolicy};
use crate::rotation::{self, Rotation};
use crate::substep::{FIXED_STEP, STEP_FACTOR};
use crate::swing::{SwingReadout, SwingResult};

/// Registers the systems.
pub fn add(schedule: &mut Schedule) {
    let systems = (write_poses, report_feet);
    schedule.add_systems(systems.chain().in_set(FrameSystems::Writeback));
}

fn write_poses(
    crowds: Res<Crowds>,
    mut actors: Query<(
        Entity,
        &Seat,
        &mut LocalPose,
        &mut PoseHealth,
        Option<&mut ModelPose>,
        Option<&mut SwingReadout>,
        Option<&mut ChainReadout>,
        Option<&mut Explanation>,
        (Option<&mut ChannelPose>, Option<&mut LayerReadout>),
    )>,
) {
    for (entity, seat, mut local, mut health, model, readout, chains, explained, layered) in
        &mut actors
    {
        let crowd = &crowds.0[seat.crowd];
        let squad = &crowd.squads[seat.squad];
        let slot = &squad.slots[seat.slot];
        if slot.schedule.idle {
            continue;
        }
        let state = squad.actor(seat.slot);
        write_local_pose(&crowd.plan, slot, &state, &mut local);
        if let Some(mut model) = model {
            write_model_pose(&crowd.plan, &local, &mut model);
        }
        if let Some(mut readout) = readout {
            write_readout(&crowd.plan, slot, &state, &mut readout);
        }
        if let Some(mut chains) = chains {
            write_chain_readout(&crowd.plan, &state, &mut chains);
        }
        if let (Some(mut explained), Some((_, accounts))) = (explained, &slot.watched) {
            explained.substeps.clone_from(accounts);
        }
        if let Some(mut channels) = layered.0 {
            channels.0.clone_from(&slot.channels);
        }
        if let Some(mut layers) = layered.1 {
            layers.copy_from(&slot.layers.contributions);
        }
        report_health(&crowd.plan, slot, entity, &mut health);
    }
}

/// What one joint shows.
struct Shown {
    /// Local rotation in the parent's model frame.
    rotation: Rotation<f32>,
    /// Particle, model space.
    particle: Vec3x<f32>,
    /// Local translation in the parent's model frame, metres; of slide joints.
    translation: Vec3x<f32>,
}

/// The result of one joint at the frame's time, between the last two substeps. `[T2]`
fn shown_result(slot: &Slot, state: &ActorState, place: usize) -> Shown {
    let read = |own: [f32; result::COMPONENTS]| Shown {
        rotation: Rotation::load(&own[result::ROTATION..]),
        particle: Vec3x::load(&own[result::POSITION..]),
        translation: Vec3x::load(&own[result::TRANSLATION..]),
    };
    let last = read(state.result(place));
    let blend = slot.schedule.blend;
    if blend >= 1.0 {
        return last;
    }
    let before = read(state.result_before(place));
    Shown {
        rotation: rotation::slerp(before.rotation, last.rotation, blend),
        particle: before.particle.lerp(last.particle, blend),
        translation: before.translation.lerp(last.translation, blend),
    }
}

/// Where the particle of the swing joint at `place` of the plan is shown, model space, metres; a frame that takes no time
/// shows it where the last did. `[T2]`
pub fn shown_particle(slot: &Slot, state: &ActorState, place: usize) -> Vec3 {
    shown_result(slot, state, place).particle.into()
}

/// The local translation of a slide joint in the file's units. `[V3]`
fn slid(swing: &SwingPlan, shown: &Shown) -> Option<Vec3> {
    let slide = swing.slide.as_ref()?;
    Some(Vec3::from(shown.translation) / Vec3::from_array(slide.scale))
}

fn write_local_pose(plan: &Plan, slot: &Slot, state: &ActorState, local: &mut LocalPose) {
    local.0.clone_from(&slot.shown);
    for (place, swing) in plan.swings.iter().enumerate() {
        let shown = shown_result(slot, state, place);
        let to = &mut local.0[swing.joint];
        match slid(swing, &shown) {
            Some(translation) => {
                to.translation = translation;
                to.rotation = slide_rotation(plan, slot, swing);
            }
            None => to.rotation = in_file_frame(shown.rotation, swing.sign),
        }
    }
}

/// Takes the mirrored axes of the parents out of a rotation again.
fn in_file_frame(rotation: Rotation<f32>, sign: [f32; 3]) -> Quat {
    rotation.reflected(Vec3x::splat(sign)).into()
}

/// The rotation of a slide joint: the animated one of the frame, or the rest one that its children hang on. `[5.5]`
fn slide_rotation(plan: &Plan, slot: &Slot, swing: &SwingPlan) -> Quat {
    match slot.profile.rest_pose {
        RestPose::Animated => slot.shown[swing.joint].rotation,
        RestPose::Bind => plan.rest[swing.joint].rotation,
    }
}

fn write_model_pose(plan: &Plan, local: &LocalPose, model: &mut ModelPose) {
    let root = ModelTransform::root(plan.metres_per_unit);
    let composed = compose_model_into(&plan.parents, &local.0, root, &mut model.0);
    debug_assert_eq!(composed, Ok(()), "joints come parents first");
}

fn write_readout(plan: &Plan, slot: &Slot, state: &ActorState, readout: &mut SwingReadout) {
    readout.0.clear();
    let places = plan.place_of_swing.iter();
    readout
        .0
        .extend(places.map(|place| place.map(|place| read_swing(plan, slot, state, place))));
}

fn write_chain_readout(plan: &Plan, state: &ActorState, readout: &mut ChainReadout) {
    readout.0.resize_with(plan.layers.len(), Vec::new);
    for (layer, to) in plan.layers.iter().zip(&mut readout.0) {
        let links = layer.first_link..layer.first_link + layer.links;
        to.clear();
        to.extend(links.map(|link| state.link_hits(link) as u32));
    }
}

/// Length of the last substep, seconds.
fn last_step(slot: &Slot) -> f32 {
    let fixed = FIXED_STEP as f32;
    match slot.profile.substeps {
        SubstepPolicy::Fixed => fixed,
        SubstepPolicy::Frame => {
            let last = slot.schedule.substeps.last();
            last.map_or(fixed, |last| last.step / STEP_FACTOR)
        }
    }
}

fn read_swing(plan: &Plan, slot: &Slot, state: &ActorState, place: usize) -> SwingResult {
    let shown = shown_result(slot, state, place);
    let own = state.particle(place);
    let normal: Vec3 = Vec3x::load(&own[particle::HIT_NORMAL..]).into();
    let at: Vec3 = Vec3x::load(&own[particle::HIT_POSITION..]).into();
    let now: Vec3 = Vec3x::load(&own[particle::POSITION..]).into();
    let before: Vec3 = Vec3x::load(&own[particle::PREVIOUS..]).into();
    let swing = &plan.swings[place];
    let rotation = if swing.slide.is_some() {
        slide_rotation(plan, slot, swing)
    } else {
        in_file_frame(shown.rotation, swing.sign)
    };
    let animated = slot.shown[swing.joint].rotation.into();
    SwingResult {
        particle: shown.particle.into(),
        rotation,
        translation: slid(swing, &shown),
        deflection: rotation::angle_between(animated, rotation.into()),
        velocity: (now - before) / last_step(slot),
        hits: own[particle::HITS] as u32,
        // No hit has a normal of length zero; before the first there is none.
        last_hit: (normal != Vec3::ZERO).then_some((normal, at)),
    }
}

/// Passes on what had to be put at rest, and names a joint the first time. `[B6]` `[V8]`
fn report_health(plan: &Plan, slot: &Slot, actor: Entity, health: &mut PoseHealth) {
    if health.invalid.is_empty() && slot.invalid.is_empty() && slot.restored.is_empty() {
        return;
    }
    health.invalid.clear();
    for &joint in &slot.invalid {
        if health.note(joint) {
            tracing::warn!(%actor, joint, "the animated transform is not finite; the joint takes its rest pose");
        }
    }
    for &place in &slot.restored {
        let joint = plan.swings[place].joint;
        if health.note(joint) {
            tracing::warn!(%actor, joint, "the particle is not finite; the joint is put at rest");
        }
    }
}
