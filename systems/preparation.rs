//! Preparation: compiles rigs that changed, seats new actors, cuts the frame into substeps. `[T1]` `[T2]`
//!
//! Runs in [`FrameSystems::Preparation`]. Reads [`RigParts`] and its parts, [`FrameClock`], [`SwingProfile`]; writes
//! [`CompiledRig`], [`Seat`], [`ActorClock`], the slots of [`Crowds`].

use std::sync::Arc;

use bevy_ecs::change_detection::DetectChanges;
use bevy_ecs::prelude::*;
use bevy_math::Vec3;
#[cfg(feature = "bevy")]
use bevy_reflect::Reflect;

use super::FrameSystems;
use super::footing::place_anchors;
use super::motion::{ActorMotion, WorldFromActor, measure_motion};
use crate::account::Explanation;
use crate::chain::ChainLayer;
use crate::clip::ClipPlayer;
use crate::collider::StaticCollider;
use crate::crowd::Crowds;
pub use crate::crowd::Seat;
use crate::driver::Driver;
use crate::instruction_set::InstructionSet;
use crate::lane::Vec3x;
use crate::plan::Plan;
use crate::pose::{AnimatedPose, LocalPose, PoseHealth};
use crate::profile::SwingProfile;
use crate::rig::{Joint, Rig, RigParts};
use crate::rotation;
use crate::substep::{ActorClock, FrameClock, Notice, SwingPaused, TimeScale};
use crate::swing::{ActorProperties, SwingJoint};
use crate::wind::{Wind, WindField};

/// An instance of a rig: an entity that swings.
#[derive(Component, Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
#[require(
    ActorProperties,
    SwingProfile,
    ActorClock,
    ActorMotion,
    PoseHealth,
    WorldFromActor
)]
pub struct Actor {
    /// The entity that carries [`RigParts`].
    #[entities]
    pub rig: Entity,
}

/// The plan of a rig; on the rig's entity.
#[derive(Component, Clone, Debug)]
pub struct CompiledRig(pub Arc<Plan>);

/// The plans in use; equal rigs share one.
#[derive(Resource, Debug, Default)]
pub struct Plans(Vec<Arc<Plan>>);

impl Plans {
    fn share(&mut self, plan: Plan) -> Arc<Plan> {
        // A slider that somebody drags makes a plan in every frame; those that no rig and no crowd holds are let go.
        self.0.retain(|known| Arc::strong_count(known) > 1);
        if let Some(known) = self.0.iter().find(|known| ***known == plan) {
            return Arc::clone(known);
        }
        let plan = Arc::new(plan);
        self.0.push(Arc::clone(&plan));
        plan
    }
}

/// Registers the systems.
pub fn add(schedule: &mut Schedule) {
    let systems = (
        compile_rigs,
        release_seats,
        seat_actors,
        settle_crowds,
        cut_frames,
        measure_motion,
        place_anchors,
    );
    schedule.add_systems(systems.chain().in_set(FrameSystems::Preparation));
}

/// Compiles rigs whose parts changed since the last frame.
fn compile_rigs(
    mut commands: Commands,
    mut plans: ResMut<Plans>,
    changed: Query<
        (),
        Or<(
            Changed<RigParts>,
            Changed<Joint>,
            Changed<SwingJoint>,
            Changed<StaticCollider>,
            Changed<ChainLayer>,
            Changed<Driver>,
        )>,
    >,
    mut removed: RemovedComponents<SwingJoint>,
    mut removed_colliders: RemovedComponents<StaticCollider>,
    mut removed_layers: RemovedComponents<ChainLayer>,
    mut removed_drivers: RemovedComponents<Driver>,
    rigs: Query<(Entity, Ref<RigParts>, Option<&CompiledRig>)>,
    joints: Query<(&Joint, Option<&SwingJoint>)>,
    colliders: Query<&StaticCollider>,
    layers: Query<&ChainLayer>,
    drivers: Query<&Driver>,
) {
    let gone = removed.read().count()
        + removed_colliders.read().count()
        + removed_layers.read().count()
        + removed_drivers.read().count();
    if changed.is_empty() && gone == 0 {
        return;
    }
    for (entity, parts, compiled) in &rigs {
        let Some(rig) = gather(&parts, &joints, &colliders, &layers, &drivers) else {
            tracing::warn!("a joint entity of rig {entity} is gone; the rig keeps its last plan");
            continue;
        };
        if let Err(fault) = rig.check() {
            tracing::warn!("rig {entity}: {fault}; it keeps its last plan");
            continue;
        }
        let plan = Plan::compile(&rig);
        // A change that changes nothing must not move a bit: the old plan stays.
        if compiled.is_none_or(|compiled| *compiled.0 != plan) {
            commands
                .entity(entity)
                .insert(CompiledRig(plans.share(plan)));
        }
    }
}

fn gather(
    parts: &RigParts,
    joints: &Query<(&Joint, Option<&SwingJoint>)>,
    colliders: &Query<&StaticCollider>,
    layers: &Query<&ChainLayer>,
    drivers: &Query<&Driver>,
) -> Option<Rig> {
    let found: Option<Vec<Joint>> = parts
        .joints
        .iter()
        .map(|&entity| joints.get(entity).ok().map(|(joint, _)| joint.clone()))
        .collect();
    let swing = swing_order(parts).into_iter().filter_map(|joint| {
        let (_, swing) = joints.get(parts.joints[joint]).ok()?;
        // The entity says which joint it is; the component's own index may be stale.
        swing.map(|swing| SwingJoint { joint, ..*swing })
    });
    let statics = parts
        .colliders
        .iter()
        .filter_map(|&entity| colliders.get(entity).ok());
    let layers_of_rig = parts.layers.iter();
    let layers_of_rig = layers_of_rig.filter_map(|&entity| layers.get(entity).ok());
    let drivers_of_rig = parts.drivers.iter();
    let drivers_of_rig = drivers_of_rig.filter_map(|&entity| drivers.get(entity).ok());
    Some(Rig {
        joints: found?,
        metres_per_unit: parts.metres_per_unit,
        root_correction: parts.root_correction,
        swing: swing.collect(),
        colliders: statics.copied().collect(),
        layers: layers_of_rig.cloned().collect(),
        drivers: drivers_of_rig.cloned().collect(),
        channels: parts.channels.clone(),
    })
}

/// Indices of the joints that may swing, those listed first, in the rig's order; then the others, in joint order.
fn swing_order(parts: &RigParts) -> Vec<usize> {
    let mut by_entity: Vec<(Entity, usize)> = parts.joints.iter().copied().zip(0..).collect();
    by_entity.sort_unstable();
    let place = |entity: &Entity| {
        let found = by_entity.binary_search_by_key(entity, |&(entity, _)| entity);
        found.ok().map(|at| by_entity[at].1)
    };
    let mut order: Vec<usize> = parts.swing.iter().filter_map(place).collect();
    let mut listed = vec![false; parts.joints.len()];
    for &joint in &order {
        listed[joint] = true;
    }
    order.extend((0..parts.joints.len()).filter(|&joint| !listed[joint]));
    order
}

/// Takes the seat of an entity that is no actor any more; with the seat goes the slot, see [`observe`].
fn release_seats(mut commands: Commands, mut removed: RemovedComponents<Actor>) {
    for actor in removed.read() {
        if let Ok(mut entity) = commands.get_entity(actor) {
            entity.try_remove::<Seat>();
        }
    }
}

/// Registers the observer that takes back the slot of whoever loses its seat or is despawned.
pub(super) fn observe(world: &mut World) {
    world.add_observer(
        |event: On<Remove<Seat>>, seats: Query<&Seat>, crowds: Option<ResMut<Crowds>>| {
            if let (Ok(seat), Some(mut crowds)) = (seats.get(event.entity), crowds) {
                crowds.leave(event.entity, *seat);
            }
        },
    );
}

/// Seats actors that are new or whose rig has another plan now.
///
/// State is carried over when the same joints move as before; otherwise the actor starts at rest.
fn seat_actors(
    mut commands: Commands,
    mut crowds: ResMut<Crowds>,
    rigs: Query<Ref<CompiledRig>>,
    mut actors: Query<(
        Entity,
        Ref<Actor>,
        Option<&Seat>,
        Option<&AnimatedPose>,
        Option<&LocalPose>,
        &mut ActorClock,
    )>,
) {
    let settled = rigs.iter().all(|rig| !rig.is_changed());
    for (entity, actor, seat, animated, local, mut clock) in &mut actors {
        if seat.is_some() && settled && !actor.is_changed() {
            continue;
        }
        let Ok(CompiledRig(plan)) = rigs.get(actor.rig).map(Ref::into_inner) else {
            continue;
        };
        let crowd = crowds.of_plan(plan);
        if seat.is_some_and(|seat| seat.crowd == crowd) {
            continue;
        }
        let state = seat.and_then(|seat| {
            let old = &mut crowds.0[seat.crowd];
            let carried = old.plan.same_shape(plan);
            let (mut slot, group) = old.take(*seat);
            if old.plan.legs != plan.legs {
                // Where another leg's sole was caught is no place for this one's.
                slot.footing.legs.clear();
                slot.footing.renewed = true;
            }
            carried.then_some((slot, group))
        });
        let joints = plan.rest.len();
        let shown = local.is_some_and(|pose| pose.0.len() == joints) && state.is_some();
        if state.is_none() {
            clock.started = None;
        }
        let state = state.map(|(mut slot, group)| {
            // Another plan may have other drivers: what they remembered is not theirs.
            slot.lagged.clear();
            slot.layers.forget_references();
            (slot, group)
        });
        let (squad, slot) = crowds.0[crowd].seat(entity, state);
        let mut entity = commands.entity(entity);
        entity.insert(Seat { crowd, squad, slot });
        if !shown {
            // An actor that is carried over keeps what it shows, also while the clock stands still.
            entity.insert(LocalPose(plan.rest.clone()));
        }
        if animated.is_none_or(|pose| pose.0.len() != joints) {
            entity.insert(AnimatedPose(plan.rest.clone()));
        }
    }
}

/// Finds everybody's company: who is explained sits alone, see [`mod@crate::crowd`].
fn settle_crowds(
    set: Res<InstructionSet>,
    mut crowds: ResMut<Crowds>,
    mut seats: Query<(&mut Seat, Option<&Explanation>)>,
) {
    for (seat, explained) in &seats {
        let slot = crowds.slot_mut(*seat);
        let is_new = slot.watched.is_some() != explained.is_some();
        slot.watched = explained.map(|explained| {
            let kept = slot.watched.take().map(|(_, accounts)| accounts);
            (explained.swing, kept.unwrap_or_default())
        });
        if is_new {
            crowds.0[seat.crowd].disturb();
        }
    }
    for (crowd, own) in crowds.0.iter_mut().enumerate() {
        own.settle(*set, |actor, squad, slot| {
            if let Ok((mut seat, _)) = seats.get_mut(actor) {
                seat.set_if_neq(Seat { crowd, squad, slot });
            }
        });
    }
}

/// Cuts every actor's frame into substeps and hands its properties to the lanes.
fn cut_frames(
    clock: Res<FrameClock>,
    mut crowds: ResMut<Crowds>,
    mut actors: Query<(
        Entity,
        &Seat,
        &mut ActorClock,
        &SwingProfile,
        &ActorProperties,
        &WorldFromActor,
        Option<&Wind>,
        Option<&mut ClipPlayer>,
        (Option<&TimeScale>, Has<SwingPaused>),
    )>,
) {
    for (entity, seat, mut actor_clock, profile, properties, placed, wind, player, pace) in
        &mut actors
    {
        let squad = &mut crowds.0[seat.crowd].squads[seat.squad];
        let lanes = squad.lanes_of(seat.slot);
        let properties = in_model_space(properties, placed);
        squad.group.set_properties(lanes, &properties);
        let slot = &mut squad.slots[seat.slot];
        let has_run = actor_clock.last > 0.0 || actor_clock.substeps > 0;
        let scale = match pace {
            (_, true) => 0.0,
            (scale, false) => scale.map_or(1.0, |scale| scale.0),
        };
        let now = actor_clock.line.at(clock.now, scale);
        actor_clock.schedule(now, profile, &mut slot.schedule);
        if let Some(mut player) = player
            && (has_run && slot.schedule.reset && player.is_fading())
        {
            // Fades count on the clock that has just begun anew.
            player.settle();
        }
        match slot.schedule.notice {
            Some(Notice::TimeDropped) => tracing::warn!(
                %entity,
                seconds = slot.schedule.dropped,
                "a frame needs more substeps than max_substeps; the rest of its time is dropped"
            ),
            Some(Notice::UnevenFrame) => tracing::warn!(
                %entity,
                "substeps: frame is faithful only where frames last 1/60 or 1/30 s; take substeps: fixed"
            ),
            None => {}
        }
        set_wind(&mut slot.wind, wind, placed);
        slot.profile = *profile;
    }
}

/// World-space directions turned by the inverse of the actor's world rotation. `[5.1]`
fn in_model_space(properties: &ActorProperties, placed: &WorldFromActor) -> ActorProperties {
    ActorProperties {
        gravity: turned(properties.gravity, placed),
        global_force: turned(properties.global_force, placed),
        ..*properties
    }
}

/// A direction of the world seen from the actor; one whose rotation is none stands straight.
fn turned(direction: Vec3, placed: &WorldFromActor) -> Vec3 {
    let model_from_world = rotation::unit_or_identity(placed.rotation.into()).conjugate();
    model_from_world.rotate(Vec3x::from(direction)).into()
}

/// Sets up the wind of an actor anew where it changed.
fn set_wind(field: &mut Option<Arc<WindField>>, wind: Option<&Wind>, placed: &WorldFromActor) {
    let Some(wind) = wind else {
        *field = None;
        return;
    };
    let direction = turned(wind.direction, placed);
    // An actor that turns keeps its noise.
    if let Some(known) = field.as_mut().and_then(Arc::get_mut)
        && known.is_like(wind)
    {
        known.turn_to(direction);
        return;
    }
    *field = Some(Arc::new(WindField::new(&Wind {
        direction,
        ..wind.clone()
    })));
}
