//! Claim: the bits of an actor depend on its own input alone: not on its neighbours, threads, hosts, frame rate or lane.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::sync::Arc;

use bevy_app::App;
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use flounce::account::Unwatched;
use flounce::clip::{Clip, ClipPlayer, Interpolation, Repeat, Track, TrackValues};
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::crowd::{Crowds, Group, RIGID, particle, result};
use flounce::lane::{Lane, Wide};
use flounce::plan::Plan;
use flounce::pose::{AnimatedPose, JointTransform, LocalPose, ModelTransform, Rigid};
use flounce::profile::{DeltaPolicy, ParallelEpsilon, SubstepPolicy, SwingProfile};
use flounce::rig::{Rig, RigParts};
use flounce::substep::{ActorClock, FIXED_STEP, FrameClock, FrameSchedule};
use flounce::swing::{ActorProperties, Limit, ReferenceLimit, SwingJoint, SwingReadout};
use flounce::systems::motion::WorldFromActor;
use flounce::systems::plugin::{FlouncePlugin, Headless, advance_clock};
use flounce::systems::preparation::CompiledRig;
use flounce::systems::substeps::{Workers, run_frame};
use support::chains::{
    BONE, Frame, Stage, assert_same_bits, ball, chain, joint, rest_pose, rod3, soft, static_ball,
    static_plane, stick3, turn,
};

/// A rig that uses what the solver has: two chains on one body, the second hanging on the first through a joint that
/// does not swing and under a mirrored joint, limits, a limit that follows another joint, every kind of collider.
fn rich() -> Rig {
    let mut rig = chain(4, Vec3::new(0.05, -0.1, 0.02), soft());
    let between = rig.joints.len();
    let mut mirrored = joint(Some(4), Vec3::new(0.0, -0.03, 0.0));
    mirrored.rest.scale = Vec3::new(-1.0, 1.0, 1.0);
    mirrored.rest.rotation = turn(Vec3::Z, 20.0);
    rig.joints.push(mirrored);
    for i in 0..4 {
        rig.joints
            .push(joint(Some(between + i), Vec3::new(0.02, -0.09, 0.01)));
    }
    let limit = Limit {
        low: Vec3::new(-30.0, -20.0, -25.0),
        high: Vec3::new(10.0, 35.0, 40.0),
    };
    for (i, swing) in rig.swing.iter_mut().enumerate() {
        swing.collider = Some(ball(0.02));
        swing.spring = 0.2;
        swing.limit = (i > 1).then_some(limit);
    }
    let line = Collider {
        shape: Shape::Line {
            inset_a: 0.01,
            inset_b: 0.02,
            radius_a: 0.02,
            radius_b: 0.01,
            scale: 1.0,
        },
        mask: Mask::ALL,
    };
    for i in 1..4 {
        rig.swing.push(SwingJoint {
            pendulum: 0.3,
            pendulum_range: 0.4,
            stiffness: 0.4,
            collider: Some(line),
            limit: Some(limit),
            reference_limit: Some(ReferenceLimit {
                joint: 2,
                weight: 0.5,
            }),
            root_horizontal_weight: 0.5,
            root_vertical_weight: 0.25,
            ..SwingJoint::new(between + i)
        });
    }
    let capsule = Shape::Capsule {
        offset_a: Vec3::new(0.0, -0.1, 0.05),
        offset_b: Vec3::new(0.1, -0.4, -0.05),
        radius_a: 0.08,
        radius_b: 0.05,
    };
    rig.colliders = vec![
        static_ball(0, Vec3::new(0.12, -0.2, 0.0), 0.09),
        StaticCollider {
            joint: Some(0),
            collider: Collider {
                shape: capsule,
                mask: Mask::ALL,
            },
        },
        StaticCollider {
            joint: Some(2),
            collider: line,
        },
        static_plane(Vec3::new(0.1, 1.0, 0.0), 0.35),
    ];
    rig.root_correction = Some(0);
    rig
}

/// Hips that walk and turn, chains whose joints the clip bends.
fn walk() -> Arc<Clip> {
    let times: Arc<[f32]> = (0..=20_u8).map(|i| f32::from(i) * 0.1).collect();
    let wave = |i: usize, speed: f32| bevy_math::ops::sin(i as f32 * speed);
    let hips = (0..times.len()).map(|i| [wave(i, 0.9) * 0.2, 1.0 + wave(i, 1.7) * 0.05, 0.0]);
    let bend = |axis: Vec3, speed: f32| {
        let keys = (0..times.len()).map(|i| turn(axis, wave(i, speed) * 25.0).to_array());
        TrackValues::Rotation(keys.collect())
    };
    let track = |joint: usize, values: TrackValues| Track {
        joint,
        source: 0,
        interpolation: Interpolation::Linear,
        times: Arc::clone(&times),
        values,
    };
    Arc::new(Clip {
        name: String::new(),
        source: 0,
        tracks: vec![
            track(0, TrackValues::Translation(hips.collect())),
            track(0, bend(Vec3::Y, 1.1)),
            track(1, bend(Vec3::Z, 0.7)),
            track(3, bend(Vec3::X, 1.3)),
        ],
        duration: 2.0,
    })
}

fn player() -> ClipPlayer {
    ClipPlayer::new(walk(), Repeat::Loop)
}

/// The input of a host that animates itself: the same motion, told apart by `seed`.
fn input(rig: &Rig, frame: usize, seed: u32) -> Vec<JointTransform> {
    let time = frame as f32 * 0.1 + seed as f32;
    let mut pose = rest_pose(rig);
    pose[0].translation.x += bevy_math::ops::sin(time) * 0.2;
    pose[0].rotation = turn(Vec3::Y, bevy_math::ops::sin(time * 1.3) * 40.0);
    pose[2].rotation = turn(Vec3::Z, bevy_math::ops::cos(time * 0.7) * 30.0);
    pose
}

// --- Twice, alone, among others ------------------------------------------------------------------------------------

const FRAMES: usize = 90;

/// Spawns the watched actor, clip-driven or not, into a host that may have others already.
fn spawn_watched(host: &mut Headless, rig: Entity, clip_driven: bool) -> Entity {
    let actor = host.spawn_actor(
        rig,
        (SwingReadout::default(), AnimatedPose(rest_pose(&rich()))),
    );
    if clip_driven {
        host.world.entity_mut(actor).insert(player());
    }
    actor
}

fn spawn_other(host: &mut Headless, rig: Entity, seed: u32) -> Entity {
    let placed = WorldFromActor::turned(turn(Vec3::X, seed as f32 * 11.0));
    let properties = ActorProperties {
        weight: 1.0 - 0.1 * (seed % 5) as f32,
        global_force: Vec3::X * 0.01 * seed as f32,
        ..ActorProperties::default()
    };
    let player = ClipPlayer {
        start: f64::from(seed) * 0.37,
        ..player()
    };
    host.spawn_actor(rig, (placed, properties, player))
}

fn drive(host: &mut Headless, rig: &Rig, actor: Entity, frame: usize) {
    host.world.get_mut::<AnimatedPose>(actor).unwrap().0 = input(rig, frame, 0);
}

/// The watched actor among `before` others that were spawned before it and `after` after it.
fn among(before: u32, after: u32, clip_driven: bool, workers: Workers) -> Vec<Frame> {
    let rig = rich();
    let mut host = Headless::new();
    *host.world.resource_mut::<Workers>() = workers;
    let entity = host.spawn_rig(&rig);
    let other_rig = host.spawn_rig(&stick3());
    let spawn_others = |host: &mut Headless, seeds: core::ops::Range<u32>| {
        for seed in seeds {
            spawn_other(host, if seed % 3 == 2 { other_rig } else { entity }, seed);
        }
    };
    spawn_others(&mut host, 0..before);
    let actor = spawn_watched(&mut host, entity, clip_driven);
    spawn_others(&mut host, before..before + after);
    (0..FRAMES)
        .map(|frame| {
            drive(&mut host, &rig, actor, frame);
            host.run_to(frame as f64 / 60.0).unwrap();
            Frame::of(&host.world, actor)
        })
        .collect()
}

#[test]
fn the_same_actor_twice_has_the_same_bits() {
    for clip_driven in [true, false] {
        let first = among(0, 0, clip_driven, Workers::One);
        assert!(first.iter().all(Frame::is_finite));
        assert!(
            first
                .iter()
                .flat_map(|f| &f.swings)
                .flatten()
                .any(|s| s.hits > 0),
            "the scene has contacts"
        );
        let second = among(0, 0, clip_driven, Workers::One);
        assert_same_bits(&second, &first, "the second run");
    }
}

#[test]
fn det_03_neighbours_and_their_spawn_order_change_no_bit() {
    for clip_driven in [true, false] {
        let alone = among(0, 0, clip_driven, Workers::One);
        for (before, after) in [(1, 0), (0, 1), (7, 0), (0, 7), (3, 4), (40, 0), (13, 27)] {
            let found = among(before, after, clip_driven, Workers::Pool);
            assert_same_bits(&found, &alone, &format!("{before} before, {after} after"));
        }
    }
}

#[test]
fn det_03_the_number_of_threads_changes_no_bit() {
    let alone = among(0, 0, true, Workers::One);
    for threads in [1, 2, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        for workers in [Workers::Pool, Workers::One] {
            let found = pool.install(|| among(20, 20, true, workers));
            assert_same_bits(&found, &alone, &format!("{threads} threads, {workers:?}"));
        }
    }
}

#[test]
fn det_03_actors_that_come_and_go_change_no_bit() {
    let rig = rich();
    let alone = among(0, 0, true, Workers::One);
    let mut host = Headless::new();
    let entity = host.spawn_rig(&rig);
    let mut guests: Vec<Entity> = (0..3)
        .map(|seed| spawn_other(&mut host, entity, seed))
        .collect();
    let actor = spawn_watched(&mut host, entity, true);
    let mut found = Vec::new();
    for frame in 0..FRAMES {
        if frame % 3 == 1 {
            // The free slot is taken again, also in the same frame.
            let leaving = guests.remove(frame % guests.len());
            host.world.despawn(leaving);
            guests.push(spawn_other(&mut host, entity, frame as u32));
        }
        if frame % 7 == 2 {
            guests.push(spawn_other(&mut host, entity, frame as u32));
        }
        host.run_to(frame as f64 / 60.0).unwrap();
        found.push(Frame::of(&host.world, actor));
    }
    assert_same_bits(&found, &alone, "among guests");
}

#[test]
fn det_03_an_actor_spawned_later_starts_like_the_first() {
    let rig = rich();
    let alone = among(0, 0, true, Workers::One);
    let mut host = Headless::new();
    let entity = host.spawn_rig(&rig);
    let first = spawn_watched(&mut host, entity, true);
    for _ in 0..17 {
        host.step(FIXED_STEP).unwrap();
    }
    host.world.despawn(first);
    host.step(FIXED_STEP).unwrap();
    let second = spawn_watched(&mut host, entity, true);
    // The host's clock starts at a whole number of seconds again, where sixtieths are as exact as at 0.
    let found: Vec<Frame> = (0..FRAMES)
        .map(|frame| {
            host.run_to(2.0 + frame as f64 / 60.0).unwrap();
            Frame::of(&host.world, second)
        })
        .collect();
    assert_same_bits(&found, &alone, "spawned after another was despawned");
}

#[test]
fn root_07_settling_gives_one_answer_twenty_times() {
    let first = among(0, 0, true, Workers::One).swap_remove(0);
    for run in 0..20 {
        let mut host = Headless::new();
        let entity = host.spawn_rig(&rich());
        let actor = spawn_watched(&mut host, entity, true);
        drive(&mut host, &rich(), actor, 0);
        host.run_to(0.0).unwrap();
        let found = Frame::of(&host.world, actor);
        assert_same_bits(
            &[found],
            core::slice::from_ref(&first),
            &format!("run {run}"),
        );
    }
}

// --- Hosts ---------------------------------------------------------------------------------------------------------

#[test]
fn an_app_has_the_bits_of_a_headless_world() {
    let rig = rich();
    for clip_driven in [true, false] {
        let mut app = App::new();
        app.add_plugins(FlouncePlugin);
        let entity = RigParts::spawn(&rig, app.world_mut());
        let actor = flounce::systems::preparation::Actor { rig: entity };
        let parts = (
            actor,
            SwingReadout::default(),
            AnimatedPose(rest_pose(&rig)),
        );
        let actor = app.world_mut().spawn(parts).id();
        if clip_driven {
            app.world_mut().entity_mut(actor).insert(player());
        }
        let mut stage = Stage::new(&rig);
        if clip_driven {
            stage.host.world.entity_mut(stage.actor).insert(player());
        }
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for frame in 0..FRAMES {
            // Frames of two lengths and, now and then, none.
            let seconds = [FIXED_STEP, 1.0 / 45.0, 0.0][frame % 7 % 3];
            let pose = input(&rig, frame, 3);
            app.world_mut()
                .get_mut::<AnimatedPose>(actor)
                .unwrap()
                .0
                .clone_from(&pose);
            advance_clock(&mut app.world_mut().resource_mut::<FrameClock>(), seconds).unwrap();
            app.update();
            found.push(Frame::of(app.world(), actor));
            stage.pose().0 = pose;
            stage.host.step(seconds).unwrap();
            expected.push(stage.frame());
        }
        assert_same_bits(&found, &expected, "in an App");
    }
}

// --- Frame rates ---------------------------------------------------------------------------------------------------

/// `[T2]` What is shown at whole twelfths of a second, a time that all rates have a frame at.
#[test]
fn t2_every_frame_rate_shows_the_same_bits_at_common_times() {
    let at_rate = |rate: u32| -> Vec<Frame> {
        let mut host = Headless::new();
        let entity = host.spawn_rig(&rich());
        let actor = spawn_watched(&mut host, entity, true);
        let mut common = Vec::new();
        for frame in 0..=rate * 10 {
            host.run_to(f64::from(frame) / f64::from(rate)).unwrap();
            if frame * 6 % rate == 0 {
                common.push(Frame::of(&host.world, actor));
            }
        }
        common
    };
    let expected = at_rate(60);
    assert_eq!(expected.len(), 61);
    for rate in [24, 30, 144] {
        assert_same_bits(&at_rate(rate), &expected, &format!("at {rate} Hz"));
    }
}

// --- Editing -------------------------------------------------------------------------------------------------------

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
    let slots: usize = crowds.iter().map(|crowd| crowd.slots.len()).sum();
    assert!(
        crowds.len() <= 1 && slots <= 2,
        "{} crowds, {slots} slots",
        crowds.len()
    );
    assert!(
        crowds
            .iter()
            .all(|c| c.slots.iter().all(|s| s.actor.is_none()))
    );
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
    let actor = *stage
        .host
        .world
        .get::<flounce::systems::preparation::Actor>(stage.actor)
        .unwrap();
    stage
        .host
        .world
        .entity_mut(stage.actor)
        .remove::<flounce::systems::preparation::Actor>();
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
    let actor = *stage
        .host
        .world
        .get::<flounce::systems::preparation::Actor>(stage.actor)
        .unwrap();
    let mut entity = stage.host.world.entity_mut(stage.actor);
    entity.remove::<flounce::systems::preparation::Actor>();
    entity.insert(actor);
    let found = stage.substep();
    let mut fresh = Stage::new(&rod3());
    fresh.host.step(0.0).unwrap();
    assert_same_bits(&[found], &[fresh.frame()], "it starts again");
}

// --- Lanes ---------------------------------------------------------------------------------------------------------

/// What one lane is given: its own properties and its own poses.
struct LaneInput {
    properties: ActorProperties,
    seed: u32,
}

fn lane_inputs(count: usize) -> Vec<LaneInput> {
    (0..count as u32)
        .map(|seed| LaneInput {
            properties: ActorProperties {
                // Some lanes show the swing whole and some in part, some hang in another direction, some are pushed.
                weight: if seed % 3 == 1 { 0.6 } else { 1.0 },
                swing_power: 1.0 + 0.05 * (seed % 4) as f32,
                root_horizontal_weight: 1.0 - 0.2 * (seed % 5) as f32,
                root_vertical_weight: 0.5,
                global_force: Vec3::new(0.01, 0.0, -0.02) * (seed % 6) as f32,
                gravity: turn(Vec3::Z, 40.0 * (seed % 9) as f32) * Vec3::NEG_Y,
            },
            seed,
        })
        .collect()
}

/// The input of a lane in a frame. One lane is handed a joint that is not finite, one a joint far outside of f32's
/// comfort, one a half-turn in a single frame.
fn lane_pose(rig: &Rig, frame: usize, seed: u32) -> Vec<JointTransform> {
    let mut pose = input(rig, frame, seed);
    match (seed % 8, frame) {
        (1, 20..23) => pose[0].translation.y = f32::NAN,
        (2, 30) => pose[0].translation.x = 1e30,
        (3, 40..) => pose[0].rotation *= turn(Vec3::X, 180.0),
        (4, 50) => pose[2].rotation = Quat::from_xyzw(f32::INFINITY, 0.0, 0.0, 1.0),
        _ => {}
    }
    pose
}

/// Fills one lane of pose `index` as propagation does.
fn fill_lane(plan: &Plan, pose: &[JointTransform], index: usize, group: &mut Group, lane: usize) {
    let root = ModelTransform::root(plan.metres_per_unit);
    let mut models: Vec<ModelTransform> = Vec::new();
    for (joint, transform) in pose.iter().enumerate() {
        let parent = plan.parents[joint].map_or(root, |parent| models[parent]);
        let local = parent.scaled(transform);
        let model = ModelTransform {
            rigid: parent.rigid.compose(local),
            scale: parent.scale * transform.scale,
        };
        let offset = group.pose_offset(index, joint, plan.rest.len());
        let lanes = group.lanes;
        for (to, rigid) in [(&mut group.locals, local), (&mut group.models, model.rigid)] {
            scatter(rigid, &mut to[offset..], lanes, lane);
        }
        models.push(model);
    }
}

fn scatter(rigid: Rigid<f32>, to: &mut [f32], lanes: usize, lane: usize) {
    let mut numbers = [0.0; RIGID];
    rigid.store(&mut numbers);
    for (component, number) in numbers.into_iter().enumerate() {
        to[component * lanes + lane] = number;
    }
}

/// The memory of lane `lane` of a group: particles, then results.
fn lane_memory(group: &Group, lane: usize) -> Vec<f32> {
    let all = group.particles.iter().chain(&group.results);
    all.skip(lane).step_by(group.lanes).copied().collect()
}

/// Runs the inputs side by side in lanes of `L` through the public kernel; per frame the memory of every lane.
fn run_lanes<L: Lane>(
    rig: &Rig,
    profile: &SwingProfile,
    inputs: &[LaneInput],
    seconds: f64,
) -> Vec<Vec<Vec<f32>>> {
    assert_eq!(inputs.len(), L::LANES);
    let plan = Plan::compile(rig);
    let mut group = Group::new(&plan, L::LANES);
    for (lane, input) in inputs.iter().enumerate() {
        group.set_properties(lane, &input.properties);
    }
    let (mut clock, mut schedule) = (ActorClock::default(), FrameSchedule::default());
    let mut last: Vec<Vec<JointTransform>> = Vec::new();
    let mut memory = Vec::new();
    for frame in 0..FRAMES {
        clock.schedule(frame as f64 * seconds, profile, &mut schedule);
        let now: Vec<_> = inputs
            .iter()
            .map(|i| lane_pose(rig, frame, i.seed))
            .collect();
        if last.is_empty() {
            last.clone_from(&now);
        }
        group.reserve_poses(schedule.poses.len(), plan.rest.len());
        for (index, point) in schedule.poses.iter().enumerate() {
            for lane in 0..L::LANES {
                let pairs = last[lane].iter().zip(&now[lane]);
                let pose: Vec<_> = pairs
                    .map(|(from, to)| {
                        if point.input >= 1.0 {
                            *to
                        } else {
                            from.blend(to, point.input)
                        }
                    })
                    .collect();
                fill_lane(&plan, &pose, index, &mut group, lane);
            }
        }
        run_frame::<L, _>(&plan, profile, &schedule, &mut group, &mut Unwatched);
        last = now;
        memory.push(
            (0..L::LANES)
                .map(|lane| lane_memory(&group, lane))
                .collect(),
        );
    }
    memory
}

/// Every lane against the same actor alone in a scalar group; NaN equals NaN, whatever its payload.
fn assert_lanes<L: Lane>(rig: &Rig, profile: &SwingProfile, seconds: f64, what: &str) {
    let inputs = lane_inputs(L::LANES);
    let wide = run_lanes::<L>(rig, profile, &inputs, seconds);
    for (lane, input) in inputs.into_iter().enumerate() {
        let seed = input.seed;
        let alone = run_lanes::<f32>(rig, profile, &[input], seconds);
        for (frame, (wide, alone)) in wide.iter().zip(&alone).enumerate() {
            for (place, (a, b)) in wide[lane].iter().zip(&alone[0]).enumerate() {
                assert!(
                    a.to_bits() == b.to_bits() || (a.is_nan() && b.is_nan()),
                    "{what}: lane {lane} (seed {seed}), frame {frame}, number {place}: {a:e} is not {b:e}; \
                     difference {:e}; {} numbers per particle, then {} per result",
                    a - b,
                    particle::COMPONENTS,
                    result::COMPONENTS
                );
            }
        }
    }
}

fn lane_profiles() -> Vec<(SwingProfile, f64)> {
    let fixed = SwingProfile::default();
    let frame = SwingProfile {
        substeps: SubstepPolicy::Frame,
        parallel_epsilon: ParallelEpsilon::Relative,
        ..fixed
    };
    let current = SwingProfile {
        delta: DeltaPolicy::Current,
        prewarm: 3,
        ..fixed
    };
    vec![
        (fixed, FIXED_STEP),
        (frame, 1.0 / 30.0),
        (current, 1.0 / 45.0),
    ]
}

/// `[R1]`
#[test]
fn r1_every_lane_has_the_bits_of_the_actor_alone() {
    for (name, rig) in [("rich", rich()), ("rod3", rod3())] {
        for (profile, seconds) in lane_profiles() {
            let what = format!("{name}, {:?} of {seconds} s", profile.substeps);
            assert_lanes::<Wide<4>>(&rig, &profile, seconds, &what);
            assert_lanes::<Wide<8>>(&rig, &profile, seconds, &what);
        }
    }
}

/// The scalar kernel fed by hand is the one behind the host, so the test above speaks about actors.
#[test]
fn r1_the_kernel_fed_by_hand_has_the_bits_of_the_host() {
    let rig = rich();
    let input_of = |seed| lane_inputs(32).swap_remove(seed);
    // Lanes whose input is finite; the host replaces the others before propagation.
    for seed in [0_usize, 3, 5, 7, 14] {
        let profile = SwingProfile::default();
        let inputs = [input_of(seed)];
        let by_hand = run_lanes::<f32>(&rig, &profile, &inputs, FIXED_STEP);
        let mut stage = Stage::with(&rig, profile, inputs[0].properties, ());
        for (frame, by_hand) in by_hand.iter().enumerate() {
            stage.pose().0 = lane_pose(&rig, frame, seed as u32);
            stage.host.run_to(frame as f64 * FIXED_STEP).unwrap();
            let slot = &stage.host.world.resource::<Crowds>().0[0].slots[0];
            let found = lane_memory(&slot.group, 0);
            let same = found
                .iter()
                .zip(&by_hand[0])
                .all(|(a, b)| a.to_bits() == b.to_bits());
            assert!(
                same,
                "seed {seed}, frame {frame}: {found:?}\n{:?}",
                by_hand[0]
            );
        }
    }
}

#[test]
fn local_translations_and_scales_are_those_of_the_input() {
    let rig = rod3();
    let mut stage = Stage::new(&rig);
    stage.substeps(30);
    let local = &stage.host.world.get::<LocalPose>(stage.actor).unwrap().0;
    for (i, (shown, rest)) in local.iter().zip(rest_pose(&rig)).enumerate() {
        assert_eq!(shown.translation, rest.translation, "joint {i}");
        assert_eq!(shown.scale, rest.scale, "joint {i}");
    }
    assert!((local[2].translation.x - BONE).abs() < 1e-9);
}
