//! Footing: holds soles where the host anchors them, and says how well they stay there. `[Q4]`
//!
//! Three steps of three stages. `place_anchors` runs in [`super::FrameSystems::Preparation`] and takes
//! [`FootAnchors`] into the actor's slot; `plant_leg` runs in [`super::FrameSystems::Driving`] with the other drivers,
//! on the poses of the substeps and on the one the frame shows; `report_feet` runs in
//! [`super::FrameSystems::Writeback`] and measures what the frame really shows, for [`FootReadout`] and [`FootRecord`].
//!
//! Anchors are seen from the actor's place in the frame, in the poses of all its substeps: particles, too, are carried by
//! a frame's whole motion before its first substep.

use bevy_ecs::prelude::*;
use bevy_math::Vec3;

use super::motion::WorldFromActor;
use super::preparation::Seat;
use crate::crowd::{Crowds, Slot};
use crate::foot::{FootAnchors, FootReadout, FootRecord, FootResult, FootState, LegFooting};
use crate::plan::Plan;
use crate::pose::{JointTransform, LocalPose, ModelTransform};
use crate::rotation::{self, Rotation};
use crate::substep::FrameClock;

/// Takes each actor's anchors and its place.
pub(super) fn place_anchors(
    mut crowds: ResMut<Crowds>,
    actors: Query<(&Seat, &WorldFromActor, Option<&FootAnchors>)>,
) {
    for (seat, placed, anchors) in &actors {
        let crowd = &mut crowds.0[seat.crowd];
        let legs = crowd.plan.legs.len();
        let slot = &mut crowd.squads[seat.squad].slots[seat.slot];
        if slot.schedule.idle {
            continue;
        }
        let anchors = anchors.map_or(&[][..], |anchors| &anchors.0);
        if legs == 0 || anchors.iter().all(Option::is_none) {
            slot.footing.legs.clear();
            continue;
        }
        slot.footing.world_from_model = placed.rigid();
        let fresh = slot.schedule.reset || slot.teleported;
        slot.footing.legs.resize(legs, LegFooting::default());
        for (leg, own) in slot.footing.legs.iter_mut().enumerate() {
            own.take(anchors.get(leg).copied().flatten(), fresh);
        }
    }
}

/// Solves leg `leg` in the poses of a slot, if its foot is held.
pub(super) fn plant_leg(plan: &Plan, leg: usize, slot: &mut Slot) {
    let root = ModelTransform::root(plan.metres_per_unit);
    let footing = &mut slot.footing;
    let Some(own) = footing.legs.get_mut(leg) else {
        return;
    };
    let Some(anchor) = own.anchor else {
        return;
    };
    let (leg, path) = (&plan.legs[leg], &mut footing.path);
    let world = footing.world_from_model;
    let place = own.place().unwrap_or_else(|| {
        // The frame's own pose, before anything holds it.
        leg.place(root, &slot.shown, path);
        let here = Vec3::from(world.apply(leg.sole(path).into()));
        // An actor that is nowhere for a frame catches in the next.
        own.caught = Some(here).filter(|here| here.is_finite());
        here
    });
    // Weightless it changes no bit.
    if anchor.weight == 0.0 {
        return;
    }
    let model = Vec3::from(
        world
            .r
            .conjugate()
            .rotate((place - Vec3::from(world.t)).into()),
    );
    for pose in slot.poses.chunks_exact_mut(plan.rest.len().max(1)) {
        // Whether it can be done, the pose that is shown tells.
        let _ = leg.plant(model, anchor.weight, root, pose, path);
    }
    own.state = leg
        .plant(model, anchor.weight, root, &mut slot.shown, path)
        .into();
}

/// Measures the feet of the pose that each actor shows.
pub(super) fn report_feet(
    clock: Res<FrameClock>,
    mut crowds: ResMut<Crowds>,
    mut actors: Query<(
        Entity,
        &Seat,
        &LocalPose,
        &WorldFromActor,
        Option<&mut FootReadout>,
        Option<&mut FootRecord>,
    )>,
) {
    for (entity, seat, pose, placed, readout, record) in &mut actors {
        let crowd = &mut crowds.0[seat.crowd];
        let (plan, squads) = (&*crowd.plan, &mut crowd.squads);
        let slot = &mut squads[seat.squad].slots[seat.slot];
        if slot.schedule.idle || plan.legs.is_empty() {
            continue;
        }
        warn_of_refusals(slot, entity);
        let Some(mut readout) = readout else { continue };
        read_feet(plan, slot, pose, placed, &mut readout);
        if let Some(mut record) = record {
            look_at_feet(&mut record, plan, pose, placed, &readout, clock.now);
        }
    }
}

/// Names an anchor without an answer, once per actor.
fn warn_of_refusals(slot: &mut Slot, actor: Entity) {
    if slot.footing.reported {
        return;
    }
    for (leg, own) in slot.footing.legs.iter().enumerate() {
        if let FootState::Refused(why) = own.state {
            tracing::warn!(%actor, leg, ?why, "a foot's anchor has no answer; the leg stays as it is animated");
            slot.footing.reported = true;
        }
    }
}

fn read_feet(
    plan: &Plan,
    slot: &mut Slot,
    pose: &LocalPose,
    placed: &WorldFromActor,
    readout: &mut FootReadout,
) {
    let root = ModelTransform::root(plan.metres_per_unit);
    let world = placed.rigid();
    let renewed = core::mem::take(&mut slot.footing.renewed);
    let began = slot.schedule.reset || slot.teleported || renewed;
    if began || readout.legs.len() != plan.legs.len() {
        readout.before.clear();
        readout.legs.clear();
        readout.legs.resize(plan.legs.len(), FootResult::default());
    }
    let known = readout.before.len() == plan.legs.len();
    let still = [Rotation::identity(); 3];
    readout.before.resize(plan.legs.len(), still);
    for (leg, of) in plan.legs.iter().enumerate() {
        let path = &mut slot.footing.path;
        of.place(root, &pose.0, path);
        let sole = Vec3::from(world.apply(of.sole(path).into()));
        let rotations = of.rotations(path).map(|r| world.r * r);
        let before = core::mem::replace(&mut readout.before[leg], rotations);
        let own = slot.footing.legs.get(leg).copied().unwrap_or_default();
        let weight = own.anchor.map_or(0.0, |anchor| anchor.weight);
        let anchor = own.place().unwrap_or(sole);
        let held = weight != 0.0;
        let residual = match held {
            // A weight that is none holds nothing.
            true if !(0.0..=1.0).contains(&weight) => f32::NAN,
            true => (sole - anchor).length(),
            false => 0.0,
        };
        let turned = core::array::from_fn(|joint| {
            let angle = rotation::angle_between(before[joint], rotations[joint]);
            if known { angle } else { 0.0 }
        });
        readout.legs[leg] = FootResult {
            state: own.state,
            weight,
            anchor,
            sole,
            residual,
            turned,
            held: held || readout.legs[leg].weight != 0.0,
        };
    }
}

/// Looks at the feet of the frame that just ran, which ended at `time`: `pose` is what the actor of `plan` shows and
/// `readout` what was measured of it.
pub fn look_at_feet(
    record: &mut FootRecord,
    plan: &Plan,
    pose: &LocalPose,
    placed: &WorldFromActor,
    readout: &FootReadout,
    time: f64,
) {
    let joints = |leg: usize| plan.legs[leg].joints();
    let body = |leg: usize| body_of(plan, leg, pose, placed);
    record.look(time, readout, joints, body);
}

/// Where the body above a leg is in the world: the root correction's joint, or without one the leg's root joint.
fn body_of(plan: &Plan, leg: usize, pose: &LocalPose, placed: &WorldFromActor) -> JointTransform {
    let joint = plan.root_correction.unwrap_or(plan.legs[leg].path[0]);
    let mut up: Vec<usize> =
        core::iter::successors(Some(joint), |&joint| plan.parents[joint]).collect();
    up.reverse();
    let root = ModelTransform::root(plan.metres_per_unit);
    let model = up.iter().fold(root, |at, &joint| at.child(&pose.0[joint]));
    let world = placed.rigid().compose(model.rigid);
    JointTransform {
        translation: world.t.into(),
        rotation: world.r.into(),
        scale: model.scale,
    }
}
