//! Several contacts, and coming to rest on them.

use bevy_ecs::prelude::Entity;
use bevy_math::Vec3;
use flounce::rig::{Rig, RigParts};
use flounce::substep::FIXED_STEP;
use flounce::swing::{Limit, SwingJoint, SwingReadout};

use crate::support::chains::{
    BONE, Frame, Stage, assert_close, assert_near, assert_same_bits, ball, chain, euler_zxy, rod3,
    soft, static_ball, weightless, with_balls,
};

/// A bone of about 1 m whose end rests at (0.05, −1, 0), between two balls.
fn wedge(first: f32, second: f32, swing: SwingJoint) -> Rig {
    let mut rig = chain(1, Vec3::new(0.05, -1.0, 0.0), swing);
    rig.joints[0].rest.translation = Vec3::ZERO;
    rig.swing[0].collider = Some(ball(0.1));
    rig.colliders = [first, second]
        .map(|x| static_ball(0, Vec3::new(x, -1.0, 0.0), 0.1))
        .to_vec();
    rig
}

#[test]
fn coll_07_colliders_are_met_in_the_order_of_the_rig() {
    for (first, second) in [(-0.1, 0.1), (0.1, -0.1)] {
        let mut stage = Stage::unsettled(&wedge(first, second, weightless(1)));
        stage.host.step(0.0).unwrap();
        let result = stage.substep().swings[0].unwrap();
        let expected = Vec3::new(-first, -1.0, 0.0).normalize();
        // Metres per metre: the second push starts 4 mm from a centre, which f32 knows to 1e-5 of that.
        assert_near(
            result.particle.normalize(),
            expected,
            2e-5,
            "pushed by both",
        );
        assert_eq!(result.hits, 2);
    }
}

#[test]
fn coll_07_the_spawn_order_of_the_colliders_entities_does_not_count() {
    let rig = wedge(-0.1, 0.1, soft());
    let expected = Stage::new(&rig).substeps(30);
    // The same list of entities, spawned the other way round.
    let mut host = flounce::systems::plugin::Headless::new();
    let entity = host.spawn_rig(&rig);
    let old = host
        .world
        .get::<RigParts>(entity)
        .unwrap()
        .colliders
        .clone();
    let again: Vec<Entity> = rig
        .colliders
        .iter()
        .rev()
        .map(|c| host.world.spawn(*c).id())
        .collect();
    for entity in old {
        host.world.despawn(entity);
    }
    host.world.get_mut::<RigParts>(entity).unwrap().colliders = again.into_iter().rev().collect();
    let outputs = (flounce::pose::ModelPose::default(), SwingReadout::default());
    let actor = host.spawn_actor(entity, outputs);
    let mut found = Vec::new();
    for _ in 0..30 {
        host.step(FIXED_STEP).unwrap();
        found.push(Frame::of(&host.world, actor));
    }
    assert_same_bits(&found, &expected, "spawned in another order");
}

/// Asserts that after `settled` substeps nothing turns by more than 1e-4 rad per substep; returns the last frame.
#[track_caller]
fn assert_still(rig: &Rig, settled: usize, what: &str) -> Frame {
    let frames = Stage::new(rig).substeps(settled + 600);
    let frames = &frames[settled..];
    for pair in frames.windows(2) {
        let turned = pair[1].turned(&pair[0]);
        assert!(turned < 1e-4, "{what}: {turned:e} rad in one substep");
    }
    let moved = |pair: &[Frame]| {
        let particles = 0..rig.swing.len();
        let moved = particles.map(|i| pair[0].particle(i).distance(pair[1].particle(i)));
        moved.fold(0.0, f32::max)
    };
    let early = frames[..300].windows(2).map(moved).fold(0.0, f32::max);
    let late = frames[300..].windows(2).map(moved).fold(0.0, f32::max);
    // Metres: the resolution of f32 at 1 m, twice.
    assert!(
        late <= early + 2.5e-7,
        "{what}: motion grows from {early:e} to {late:e} m per substep"
    );
    frames[599].clone()
}

/// Substeps until a chain hangs still, with or without contacts: an error fades by (stiffness + mass) · 0.01 · step /
/// L / (1 − κ) per substep at most, 0.005 for a stiffness of 0.1 and half of that for none.
fn settling(stiffness: f32) -> usize {
    if stiffness < 1.0 { 2400 } else { 600 }
}

#[test]
fn coll_08_a_tip_that_lies_on_a_ball_is_still() {
    for count in [1, 3] {
        for stiffness in [0.0, 0.1, 1.0] {
            let swing = SwingJoint {
                stiffness,
                ..soft()
            };
            let mut rig = with_balls(chain(count, Vec3::X * BONE, swing), 0.02);
            let below = Vec3::new(BONE * 0.9, -0.1, 0.0);
            rig.colliders.push(static_ball(0, below, 0.09));
            let last = assert_still(
                &rig,
                settling(stiffness),
                &format!("{count} bones, stiffness {stiffness}"),
            );
            assert!(last.swings[0].unwrap().hits > 0, "it lies on the ball");
        }
    }
}

#[test]
fn coll_08_a_tip_between_two_balls_is_still() {
    for stiffness in [0.0, 0.1, 1.0] {
        let swing = SwingJoint {
            stiffness,
            ..soft()
        };
        assert_still(
            &wedge(-0.1, 0.1, swing),
            600,
            &format!("stiffness {stiffness}"),
        );
    }
}

#[test]
fn coll_08_a_hard_limit_wins_over_a_ball() {
    for stiffness in [0.0, 0.1, 1.0] {
        let swing = SwingJoint {
            stiffness,
            limit: Some(Limit {
                low: Vec3::splat(-10.0),
                high: Vec3::splat(10.0),
            }),
            ..soft()
        };
        let mut rig = with_balls(chain(1, Vec3::X * BONE, swing), 0.02);
        rig.colliders
            .push(static_ball(0, Vec3::new(BONE, -0.05, 0.0), 0.15));
        let last = assert_still(&rig, settling(stiffness), &format!("stiffness {stiffness}"));
        let angles = euler_zxy(last.local[1].rotation.as_dquat()).unwrap();
        let outside = angles.abs().max_element() - 10_f64.to_radians();
        assert!(outside < 1e-4, "{outside:e} rad beyond the limit");
    }
}

#[test]
fn coll_12_a_chain_that_starts_inside_a_ball_is_not_blown_out() {
    let (centre, sum) = (Vec3::new(0.3, -0.1, 0.0), 0.191_421_36);
    let mut rig = with_balls(rod3(), 0.02);
    rig.colliders.push(static_ball(0, centre, sum - 0.02));
    let deep = |point: Vec3| sum - point.distance(centre + Vec3::Y);
    for x in [BONE, 2.0 * BONE] {
        let inside = deep(Vec3::new(x, 1.0, 0.0));
        assert_close(f64::from(inside), 0.05, 1e-6, "the tips rest inside");
    }
    let mut stage = Stage::new(&rig);
    let first = stage.substep();
    for i in 0..2 {
        let depth = deep(first.particle(i));
        assert!(
            depth.abs() < 2e-3,
            "tip {i} is {depth} m inside in the first frame"
        );
    }
    // Metres per substep: what gravity alone reaches against the damping, mass · 0.01 · step / (1 − κ), twice.
    let fastest = 2.0 * 0.05 * 0.01 * (2.0 / 3.0) / (1.0 - 0.49 * 2.0 / 3.0);
    let frames = stage.substeps(120);
    for (index, pair) in frames.windows(2).enumerate() {
        for i in 0..2 {
            let moved = pair[0].particle(i).distance(pair[1].particle(i));
            assert!(
                moved < fastest,
                "tip {i} moves {moved} m in substep {index}"
            );
            let height = -deep(pair[1].particle(i));
            assert!(
                height < 1e-3,
                "tip {i} is {height} m off the ball in substep {index}"
            );
        }
    }
    for pair in frames[60..].windows(2) {
        let moved = pair[0].particle(0).distance(pair[1].particle(0));
        assert!(
            moved < 1e-4,
            "after a second the first tip still moves {moved} m per substep"
        );
    }
}
