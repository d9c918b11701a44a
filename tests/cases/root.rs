//! Starting, rebuilding, and moving through the world.

use bevy_math::{Quat, Vec3};
use flounce::collider::StaticCollider;
use flounce::profile::SwingProfile;
use flounce::rig::{Rig, RigParts};
use flounce::swing::ActorProperties;
use flounce::systems::motion::{Reset, Teleport, WorldFromActor};

use crate::support::chains::{
    Frame, Stage, angle, assert_same_bits, assert_turned, chain, rest_pose, rod3, static_ball,
    stretch, turn, unsettled, weightless, with_balls,
};

#[test]
fn root_03_without_force_and_motion_nothing_moves() {
    let mut rig = chain(3, Vec3::new(0.1, -0.15, 0.05), weightless(1));
    rig.root_correction = Some(0);
    rig.joints[0].rest.translation = Vec3::new(10.0, 0.0, -5.0);
    let placed = WorldFromActor::turned(turn(Vec3::Y, 73.0));
    let mut stage = Stage::with(&rig, unsettled(), ActorProperties::default(), placed);
    stage.substep();
    for (i, transform) in stage.substep().local.iter().enumerate() {
        let off = angle(transform.rotation, rig.joints[i].rest.rotation);
        // Radians: particles at 11 m resolve 1e-6 m, a bone is 0.19 m long.
        assert!(
            off < 1e-5,
            "joint {i} turned by {off:e} rad in the first substep"
        );
    }
}

#[test]
fn root_04_a_rebuild_does_not_take_the_bent_pose_for_rest() {
    let mut rig = with_balls(rod3(), 0.02);
    rig.colliders
        .push(static_ball(0, Vec3::new(0.0, 5.0, 0.0), 0.1));
    let settled = |rebuilt: bool| {
        let mut stage = Stage::new(&rig);
        for frame in 0..80 {
            stage.pose().0[1].rotation = turn(Vec3::Z, 60.0);
            if frame == 50 && rebuilt {
                let world = &mut stage.host.world;
                let mut colliders = world.query::<&mut StaticCollider>();
                let mut collider = colliders.single_mut(world).unwrap();
                *collider = static_ball(0, Vec3::new(0.0, 5.0, 0.0), 0.2);
            }
            stage.substep();
        }
        stage.pose().0 = rest_pose(&rig);
        stage.substeps(1500).pop().unwrap()
    };
    // Radians: two settled chains.
    assert_turned(
        &settled(true),
        &settled(false),
        1e-5,
        "settled after a rebuild",
    );
}

/// Bent and moving: the root was turned and came back. 22 substeps after the reset.
pub fn swinging(rig: &Rig, profile: SwingProfile) -> Stage {
    let mut stage = Stage::with(rig, profile, ActorProperties::default(), ());
    stage.pose().0[0].rotation = turn(Vec3::Z, 40.0);
    stage.substeps(20);
    stage.pose().0[0].rotation = Quat::IDENTITY;
    let frames = stage.substeps(3);
    let moving = frames[2].turned(&frames[1]);
    assert!(moving > 5e-3, "it swings: {moving} rad per substep");
    stage
}

/// Puts the actor somewhere else in the world.
fn place(stage: &mut Stage, translation: Vec3, rotation: Quat) {
    let placed = WorldFromActor {
        translation,
        rotation,
    };
    stage.host.world.entity_mut(stage.actor).insert(placed);
}

/// What a twin shows that stays where it is.
fn untouched(profile: SwingProfile) -> Vec<Frame> {
    swinging(&rod3(), profile).substeps(60)
}

/// (a) By the event, whatever the thresholds say; (b) by the threshold of 1 m. Stored positions live in the actor's
/// space, so that nothing has to be moved: the twin's bits.
#[test]
fn root_01_a_teleport_leaves_the_swing_as_it_is() {
    let never = SwingProfile {
        teleport_distance: 0.0,
        teleport_angle_deg: 0.0,
        ..SwingProfile::default()
    };
    let near = Vec3::X * 0.5;
    for (profile, event, to) in [
        (SwingProfile::default(), true, Vec3::X * 10.0),
        (SwingProfile::default(), true, near),
        (never, true, Vec3::X * 10.0),
        (SwingProfile::default(), false, Vec3::X * 10.0),
        (SwingProfile::default(), false, Vec3::new(0.0, 0.0, -1.001)),
    ] {
        let mut stage = swinging(&rod3(), profile);
        if event {
            let entity = stage.actor;
            stage.host.world.trigger(Teleport { entity });
        }
        place(&mut stage, to, Quat::IDENTITY);
        let what = format!("to {to}, event {event}");
        assert_same_bits(&stage.substeps(60), &untouched(profile), &what);
    }
}

#[test]
fn root_01_an_event_counts_once_and_a_turn_has_its_own_threshold() {
    let step = Vec3::X * 0.5;
    let mut stage = swinging(&rod3(), SwingProfile::default());
    let entity = stage.actor;
    stage.host.world.trigger(Teleport { entity });
    place(&mut stage, step, Quat::IDENTITY);
    stage.substep();
    place(&mut stage, 2.0 * step, Quat::IDENTITY);
    let felt = stage.substep();
    let twin = &untouched(SwingProfile::default())[1];
    assert!(felt.turned(twin) > 0.1, "the second step is motion");

    // Gravity turns with the actor, so the frame of the turn itself is compared: it starts from the same bones.
    let after_turn = |degrees: f32| {
        let mut stage = swinging(&rod3(), SwingProfile::default());
        place(&mut stage, Vec3::ZERO, turn(Vec3::Y, degrees));
        stage.substep()
    };
    let twin = &untouched(SwingProfile::default())[0];
    assert_turned(&after_turn(91.0), twin, 1e-6, "a turn of 91°");
    let felt = after_turn(89.0).turned(twin);
    assert!(felt > 0.5, "a turn of 89° is motion: {felt} rad");
}

/// (c) A threshold of 0 is off: nothing is carried, the chain flies after its root. No bone is torn.
#[test]
fn root_01_without_thresholds_a_jump_is_a_pull_that_tears_nothing() {
    let profile = SwingProfile {
        teleport_distance: 0.0,
        ..SwingProfile::default()
    };
    for to in [Vec3::X * 10.0, Vec3::new(-1e4, 1e3, 5.0)] {
        let mut stage = swinging(&rod3(), profile);
        place(&mut stage, to, Quat::IDENTITY);
        for (index, frame) in stage.substeps(120).iter().enumerate() {
            assert!(frame.is_finite(), "frame {index}");
            if index == 0 {
                let felt = frame.turned(&untouched(profile)[0]);
                assert!(felt > 0.1, "the jump is felt: {felt} rad");
            }
        }
        let off = stretch(&stage, &rod3());
        assert!(off < 1e-5, "bones are {off:e} longer");
    }
    let mut stage = swinging(&rod3(), profile);
    place(&mut stage, Vec3::X * 10.0, Quat::IDENTITY);
    for frame in 0..60 {
        stage.substep();
        let off = stretch(&stage, &rod3());
        assert!(off < 1e-5, "frame {frame}: bones are {off:e} longer");
    }
}

/// (d) Without settling the reset shows rest itself, and the next substep has the speed of none before it: that of a
/// new actor.
#[test]
fn root_01_a_reset_forgets_pose_and_speed() {
    for jump in [Vec3::ZERO, Vec3::X * 10.0, Vec3::X * 0.5] {
        let mut stage = swinging(&rod3(), unsettled());
        place(&mut stage, jump, Quat::IDENTITY);
        let entity = stage.actor;
        stage.host.world.trigger(Reset { entity });
        let found = stage.substeps(60);
        assert_eq!(found[0].local, rest_pose(&rod3()), "rest after {jump}");
        let fresh = Stage::with(&rod3(), unsettled(), ActorProperties::default(), ()).substeps(60);
        assert_same_bits(&found, &fresh, &format!("reset after {jump}"));
    }
}

/// An animated root that jumps is no actor that jumps: thresholds are about the actor `[S2]`. The chain feels it.
#[test]
fn root_01_a_jump_of_the_animated_root_tears_nothing() {
    let mut stage = swinging(&rod3(), SwingProfile::default());
    stage.pose().0[0].translation.x = 10.0;
    for _ in 0..60 {
        assert!(stage.substep().is_finite());
        let off = stretch(&stage, &rod3());
        // Relative: a particle at 10 m is stored to 5e-7 m, a bone is 0.2 m long.
        assert!(off < 1e-5, "bones are {off:e} longer");
    }
}

#[test]
fn root_03_far_away_and_rebuilt_nothing_moves_without_a_force() {
    let rig = chain(3, Vec3::new(0.1, -0.15, 0.05), weightless(1));
    let placed = WorldFromActor {
        translation: Vec3::new(1000.0, 0.0, -500.0),
        rotation: turn(Vec3::Y, 73.0),
    };
    for profile in [unsettled(), SwingProfile::default()] {
        let mut stage = Stage::with(&rig, profile, ActorProperties::default(), placed);
        let rest = stage.substep();
        for (i, transform) in rest.local.iter().enumerate() {
            let off = angle(transform.rotation, rig.joints[i].rest.rotation);
            assert!(off < 1e-6, "joint {i}: {off:e} rad in the first frame");
        }
        stage.substeps(99);
        // Built anew as another rig altogether, and after that with its state carried over.
        let collider = static_ball(0, Vec3::new(0.0, 5.0, 0.0), 0.1);
        let entity = stage.host.world.spawn(collider).id();
        let mut parts = stage.host.world.get_mut::<RigParts>(stage.rig).unwrap();
        parts.colliders.push(entity);
        for rebuild in 0..2 {
            let before = stage.frame();
            let turned = stage.substep().turned(&before);
            assert!(turned < 1e-6, "rebuild {rebuild}: {turned:e} rad at once");
            let world = &mut stage.host.world;
            world
                .entity_mut(entity)
                .insert(static_ball(0, Vec3::Y * 5.0, 0.2));
        }
    }
}

/// Only differences of places enter `[S2]`: where they are exact, the swing has the same bits everywhere.
///
/// Places are f32, as the host's are: at 1e5 m they are 8 mm apart and at 1e7 m a metre, so steps are whole multiples.
#[test]
fn root_09_an_actor_that_walks_far_from_the_origin_swings_alike() {
    let walk = |base: f32, length: f32| {
        let mut stage = Stage::new(&with_balls(rod3(), 0.02));
        let frame = |frame: u16| {
            let (steps, turned) = (f32::from(frame / 2), f32::from(frame) * 1.5);
            let back = if frame > 150 { -1.0 } else { 1.0 };
            let at = Vec3::new(base + back * steps * length, 0.0, -base);
            place(&mut stage, at, turn(Vec3::Y, turned));
            stage.substep()
        };
        (0..300).map(frame).collect::<Vec<_>>()
    };
    let still = Stage::new(&with_balls(rod3(), 0.02)).substeps(300);
    for (length, bases) in [(1.0 / 64.0, &[1e3, 1e5][..]), (1.0, &[1e3, 1e5, 1e7])] {
        let expected = walk(0.0, length);
        let felt = expected.iter().zip(&still).map(|(a, b)| a.turned(b));
        assert!(felt.fold(0.0, f64::max) > 0.1, "the walk is felt");
        for &base in bases {
            let what = format!("steps of {length} m at {base:e} m");
            assert_same_bits(&walk(base, length), &expected, &what);
        }
    }
}
