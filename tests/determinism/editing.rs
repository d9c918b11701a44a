//! Editing: values that are set to what they were, small changes, actors and rigs that come and go.

use std::sync::Arc;

use bevy_ecs::prelude::*;
use flounce::collider::StaticCollider;
use flounce::crowd::{Crowd, Crowds};
use flounce::profile::SwingProfile;
use flounce::rig::RigParts;
use flounce::substep::FIXED_STEP;
use flounce::swing::{ActorProperties, SwingJoint, SwingReadout};
use flounce::systems::plugin::Headless;
use flounce::systems::preparation::{Actor, CompiledRig};

use crate::support::chains::{Frame, Stage, assert_same_bits, rod3};
use crate::{FRAMES, rich};

fn every_joint(stage: &mut Stage, mut edit: impl FnMut(&mut SwingJoint)) {
    let joints = stage
        .host
        .world
        .get::<RigParts>(stage.rig)
        .unwrap()
        .joints
        .clone();
    for entity in joints {
        if let Some(mut swing) = stage.host.world.get_mut::<SwingJoint>(entity) {
            edit(&mut swing);
        }
    }
}

#[test]
fn root_05_setting_equal_values_changes_no_bit() {
    let untouched = Stage::new(&rich()).substeps(FRAMES);
    let mut stage = Stage::new(&rich());
    let mut found = Vec::new();
    for _ in 0..FRAMES {
        every_joint(&mut stage, |swing| *swing = SwingJoint { ..*swing });
        let world = &mut stage.host.world;
        let mut colliders = world.query::<&mut StaticCollider>();
        for mut collider in colliders.iter_mut(world) {
            collider.set_changed();
        }
        let mut properties = world.get_mut::<ActorProperties>(stage.actor).unwrap();
        properties.set_changed();
        let mut profile = world.get_mut::<SwingProfile>(stage.actor).unwrap();
        profile.set_changed();
        found.push(stage.substep());
    }
    assert_same_bits(&found, &untouched, "set to what it was");
}

#[test]
fn root_05_a_small_change_does_not_make_the_actor_start_again() {
    let mut stage = Stage::new(&rod3());
    let twin = Stage::new(&rod3()).substeps(60);
    let before = stage.substeps(20);
    every_joint(&mut stage, |swing| swing.stiffness += 1e-3);
    let changed = stage.substep();
    let (was, twin) = (&before[19], &twin[20]);
    assert!(was.turned(twin) > 1e-4, "the chain is moving");
    // Metres: 1e-3 of stiffness moves each of three particles by 1e-3 · 0.01 · 2/3, and each carries those below.
    for i in 0..3 {
        let moved = (changed.particle(i) - twin.particle(i)).length();
        assert!(
            moved < 6.0 * 1e-3 * 0.01,
            "particle {i}: {moved:e} m from the twin"
        );
    }
}

#[test]
fn root_05_a_plan_of_the_same_shape_keeps_the_state() {
    let mut stage = Stage::new(&rod3());
    stage.substeps(20);
    every_joint(&mut stage, |swing| swing.damping = 0.31);
    let moved = stage.substep();
    every_joint(&mut stage, |swing| swing.damping = 0.3);
    stage.substep();
    let plans = stage.host.world.resource::<Crowds>().0.len();
    assert_eq!(plans, 2, "the first plan is found again");
    let mut fresh = Stage::new(&rod3());
    assert!(
        moved.turned(&fresh.substep()) > 1e-2,
        "it did not start again"
    );
}

/// A slider that somebody drags makes a new plan in every frame; the old ones must not stay for ever.
#[test]
fn det_05_plans_that_nobody_uses_are_let_go() {
    let mut stage = Stage::new(&rod3());
    stage.substep();
    for step in 0..200_u16 {
        every_joint(&mut stage, |swing| {
            swing.stiffness = 0.1 + f32::from(step) * 1e-4;
        });
        stage.substep();
    }
    let crowds = stage.host.world.resource::<Crowds>().0.len();
    assert!(crowds <= 4, "{crowds} crowds for one actor");
}

#[test]
fn det_05_a_thousand_spawns_and_despawns_leave_nothing_behind() {
    let mut host = Headless::new();
    let rig = host.spawn_rig(&rod3());
    for cycle in 0..1000 {
        let actor = host.spawn_actor(rig, ());
        if cycle % 3 > 0 {
            host.step(FIXED_STEP).unwrap();
        }
        // A despawn in the frame of the spawn is one of the cycles; so is a second one of an actor that is gone.
        host.world.despawn(actor);
        let _ = host.world.try_despawn(actor);
        if cycle % 2 > 0 {
            host.step(FIXED_STEP).unwrap();
        }
    }
    host.step(FIXED_STEP).unwrap();
    let crowds = &host.world.resource::<Crowds>().0;
    let squads: usize = crowds.iter().map(|crowd| crowd.squads.len()).sum();
    assert!(
        crowds.len() <= 1 && squads <= 2,
        "{} crowds, {squads} squads",
        crowds.len()
    );
    assert!(crowds.iter().all(Crowd::is_empty));
}

#[test]
fn det_05_rigs_that_come_and_go_leave_one_plan() {
    let mut host = Headless::new();
    let mut plans = Vec::new();
    for _ in 0..50 {
        let rig = host.spawn_rig(&rod3());
        let actor = host.spawn_actor(rig, ());
        host.step(FIXED_STEP).unwrap();
        plans.push(Arc::clone(&host.world.get::<CompiledRig>(rig).unwrap().0));
        host.world.despawn(actor);
        host.world.despawn(rig);
    }
    assert!(
        plans.iter().all(|plan| Arc::ptr_eq(plan, &plans[0])),
        "equal rigs share a plan"
    );
    assert_eq!(host.world.resource::<Crowds>().0.len(), 1);
}

/// Whoever takes `Actor` off an entity has an ordinary entity again.
#[test]
fn det_05_taking_the_component_off_is_leaving() {
    let mut stage = Stage::new(&rod3());
    let other = stage.host.spawn_actor(stage.rig, SwingReadout::default());
    stage.substeps(3);
    let actor = *stage.host.world.get::<Actor>(stage.actor).unwrap();
    stage.host.world.entity_mut(stage.actor).remove::<Actor>();
    stage.host.step(FIXED_STEP).unwrap();
    stage.host.step(FIXED_STEP).unwrap();
    stage.host.world.entity_mut(stage.actor).insert(actor);
    stage.host.step(FIXED_STEP).unwrap();
    assert!(Frame::of(&stage.host.world, other).is_finite());
    let mut fresh = Stage::new(&rod3());
    fresh.host.step(0.0).unwrap();
    assert_same_bits(&[stage.frame()], &[fresh.frame()], "it starts again");
}

/// Off and on again between two frames.
#[test]
fn det_05_taking_the_component_off_and_on_starts_again() {
    let mut stage = Stage::new(&rod3());
    stage.substeps(3);
    let actor = *stage.host.world.get::<Actor>(stage.actor).unwrap();
    let mut entity = stage.host.world.entity_mut(stage.actor);
    entity.remove::<Actor>();
    entity.insert(actor);
    let found = stage.substep();
    let mut fresh = Stage::new(&rod3());
    fresh.host.step(0.0).unwrap();
    assert_same_bits(&[found], &[fresh.frame()], "it starts again");
}
