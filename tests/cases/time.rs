//! Steps of time: rates, pauses, hitches, poses between frames.

use bevy_math::Vec3;
use flounce::profile::SwingProfile;
use flounce::substep::{
    ActorClock, FIXED_STEP, FrameSchedule, LONGEST_STEP, PosePoint, step_factor,
};
use flounce::swing::ActorProperties;
use flounce::systems::motion::{Reset, WorldFromActor};
use flounce::systems::plugin::ClockError;

use crate::root::swinging;
use crate::support::chains::{
    Frame, ROUNDING, Stage, assert_close, assert_same_bits, assert_turned, joint, rest_pose, rod3,
    static_ball, step, stretch, turn, unsettled, with_balls,
};

#[test]
fn time_01_the_state_depends_on_the_number_of_substeps_alone() {
    let at_rate = |rate: u32, summed: bool| -> Vec<Frame> {
        let mut stage = Stage::unsettled(&rod3());
        stage.host.run_to(0.0).unwrap();
        let mut seconds = Vec::new();
        for frame in 1..=rate * 10 {
            if summed {
                stage.host.step(1.0 / f64::from(rate)).unwrap();
            } else {
                stage
                    .host
                    .run_to(f64::from(frame) / f64::from(rate))
                    .unwrap();
            }
            if frame % rate == 0 {
                seconds.push(stage.frame());
            }
        }
        let clock = stage.host.world.get::<ActorClock>(stage.actor).unwrap();
        assert_eq!(clock.substeps, 600, "after 10 s at {rate} Hz");
        seconds
    };
    let expected = at_rate(60, false);
    let swung = expected[0].particle(2).distance(expected[9].particle(2));
    assert!(swung > 0.05, "the rod falls: {swung} m");
    for rate in [24, 30, 50, 60, 90, 120, 144, 165, 240] {
        for summed in [false, true] {
            assert_same_bits(&at_rate(rate, summed), &expected, &format!("at {rate} Hz"));
        }
    }
}

#[test]
fn time_03_frames_of_no_time_change_nothing() {
    let mut twin = Stage::new(&rod3());
    let expected = twin.substeps(120);

    let mut stage = Stage::new(&rod3());
    let mut found = stage.substeps(60);
    let still = stage.frame();
    for frame in 0..30_u8 {
        // Also when the input moves: the next frame that takes time sees it.
        stage.pose().0[0].translation.x = f32::from(frame);
        stage.host.step(0.0).unwrap();
        assert_same_bits(
            &[stage.frame()],
            core::slice::from_ref(&still),
            "while time stands still",
        );
    }
    stage.pose().0[0].translation.x = 0.0;
    found.extend(stage.substeps(60));
    assert_same_bits(&found, &expected, "after a pause");

    let mut stage = Stage::new(&rod3());
    stage.host.step(0.0).unwrap();
    let mut twin = Stage::new(&rod3());
    twin.host.step(0.0).unwrap();
    assert!(stage.frame().is_finite());
    let mut found = Vec::new();
    for _ in 0..120 {
        stage.host.step(0.0).unwrap();
        found.push(stage.substep());
        assert!(stage.frame().is_finite());
    }
    assert_same_bits(&found, &twin.substeps(120), "every second frame empty");
}

#[test]
fn time_05_a_hitch_is_capped_and_leaves_no_debt() {
    let mut rig = rod3();
    for swing in &mut rig.swing {
        swing.stiffness = 1.0;
    }
    let substeps = |stage: &Stage| {
        stage
            .host
            .world
            .get::<ActorClock>(stage.actor)
            .unwrap()
            .substeps
    };
    for hitch in [1.0, 10.0, 1e6, f64::from(f32::MAX), f64::MAX] {
        let mut stage = Stage::new(&rig);
        stage.substeps(300);
        let before = substeps(&stage);
        stage.host.step(hitch).unwrap();
        assert_eq!(substeps(&stage), before + 8, "in a frame of {hitch:e} s");
        for frame in 1..=20 {
            let shown = stage.substep();
            assert_eq!(
                substeps(&stage),
                before + 8 + frame,
                "frame {frame} after {hitch:e} s"
            );
            assert!(shown.is_finite());
            let off = stretch(&stage, &rig);
            assert!(off < 1e-5, "bones are {off:e} longer after {hitch:e} s");
        }
    }
}

#[test]
fn time_05_a_time_too_far_to_count_does_no_harm() {
    let mut stage = Stage::new(&rod3());
    stage.substeps(20);
    for time in [1e15, 1e300, f64::MAX] {
        stage.host.run_to(time).unwrap();
        assert!(stage.frame().is_finite(), "at {time:e} s");
    }
}

#[test]
fn time_05_steps_that_are_no_time_are_refused_and_change_nothing() {
    let mut twin = Stage::new(&rod3());
    let expected = twin.substeps(40);
    let mut stage = Stage::new(&rod3());
    let mut found = stage.substeps(20);
    for wrong in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, -1.0 / 60.0] {
        let refused = stage.host.step(wrong);
        match refused {
            Err(ClockError::Negative(_)) => assert!(wrong < 0.0),
            Err(ClockError::NotFinite(_)) => assert!(!wrong.is_finite()),
            Ok(()) => panic!("{wrong} was accepted"),
        }
        assert!(stage.host.run_to(wrong).is_err(), "{wrong} was accepted");
        assert_same_bits(&[stage.frame()], &[found[19].clone()], "after a refusal");
    }
    found.extend(stage.substeps(20));
    assert_same_bits(&found, &expected, "after refusals");
}

/// The body turns once a second; a ball on another joint of it pushes the chain. Poses are known at frame ends only.
#[test]
fn time_07_every_substep_sees_the_pose_of_its_own_time() {
    let mut rig = with_balls(rod3(), 0.02);
    rig.joints.push(joint(Some(0), Vec3::new(0.3, -0.2, 0.0)));
    let on = rig.joints.len() - 1;
    rig.colliders.push(static_ball(on, Vec3::ZERO, 0.15));
    let at_rate = |rate: u16| -> Vec<Frame> {
        let mut stage = Stage::new(&rig);
        let mut common = Vec::new();
        for frame in 0..=rate * 3 {
            // Exact degrees below 360, so that the input itself is no rounder at one rate than at another.
            let degrees = u32::from(frame) * 360 / u32::from(rate) % 360;
            stage.pose().0[0].rotation = turn(Vec3::Z, degrees as f32);
            stage
                .host
                .run_to(f64::from(frame) / f64::from(rate))
                .unwrap();
            if frame * 15 % rate == 0 {
                common.push(stage.frame());
            }
        }
        common
    };
    let expected = at_rate(60);
    let touches = |frame: &Frame| frame.swings.iter().flatten().any(|s| s.hits > 0);
    assert!(expected.iter().any(touches), "the ball is met");
    for rate in [30, 15] {
        for (index, (found, expected)) in at_rate(rate).iter().zip(&expected).enumerate() {
            // Slerp of a uniform turn is exact, the rest is rounding; a contact and a bone near a half-turn
            // from rest pass it on at up to four times its size.
            assert_turned(
                found,
                expected,
                4.0 * ROUNDING,
                &format!("{rate} Hz, frame {index}"),
            );
        }
    }
}

#[test]
fn time_08_every_substep_has_the_one_step_length() {
    let profile = SwingProfile::default();
    for rate in [10.0, 24.0, 60.0, 144.0, 240.0] {
        let (mut clock, mut schedule) = (ActorClock::default(), FrameSchedule::default());
        for frame in 0..100 {
            clock.schedule(f64::from(frame) / rate, &profile, &mut schedule);
            for substep in &schedule.substeps {
                let expected = if substep.prewarm {
                    step_factor(LONGEST_STEP)
                } else {
                    step_factor(FIXED_STEP as f32)
                };
                assert_eq!(substep.step, expected, "frame {frame} at {rate} Hz");
            }
            let ends = schedule
                .poses
                .iter()
                .map(|point: &PosePoint| point.time / FIXED_STEP);
            for end in ends {
                assert_close(end, end.round(), 1e-9, "a pose's time in substeps");
            }
        }
    }
    assert_close(step(), 2.0 / 3.0, 1e-7, "[T3] at 1/60 s");
    assert_close(
        f64::from(step_factor(LONGEST_STEP)),
        0.6668,
        1e-6,
        "[T3] at H",
    );
}

fn place(stage: &mut Stage, translation: Vec3) {
    let mut placed = stage.host.world.get_mut::<WorldFromActor>(stage.actor);
    placed.as_mut().unwrap().translation = translation;
}

/// (b) While nothing is simulated the actor walks 10 m. The case asks for a start without speed; `[S2]` takes what is
/// farther than the threshold for a teleport, which carries speed along: the swing goes on as if nothing had happened.
#[test]
fn time_04_a_pause_in_which_the_actor_walks_away_ends_as_it_began() {
    let mut twin = swinging(&rod3(), SwingProfile::default());
    let expected = twin.substeps(60);

    let mut stage = swinging(&rod3(), SwingProfile::default());
    let before = stage.frame();
    for frame in 0..300_u16 {
        place(&mut stage, Vec3::X * f32::from(frame + 1) / 30.0);
        stage.host.step(0.0).unwrap();
        assert_same_bits(&[stage.frame()], core::slice::from_ref(&before), "paused");
    }
    assert_same_bits(&stage.substeps(60), &expected, "after the pause");
}

/// (b) The same, but the host's clock ran on: one long frame. The cap bounds the work, nothing is left behind.
#[test]
fn time_04_five_seconds_in_one_frame_are_no_whip() {
    let mut stage = swinging(&rod3(), SwingProfile::default());
    place(&mut stage, Vec3::X * 10.0);
    stage.host.step(5.0).unwrap();
    let clock = stage.host.world.get::<ActorClock>(stage.actor).unwrap();
    assert_eq!(clock.substeps, 22 + 8, "the cap of max_substeps");
    assert!(clock.dropped > 4.8, "{} s dropped", clock.dropped);
    let mut twin = swinging(&rod3(), SwingProfile::default());
    let expected = twin.substeps(8).pop().unwrap();
    // Radians: the frame shows a blend of its last two substeps, of which one may already be beyond its time.
    assert_turned(&stage.frame(), &expected, 0.05, "after a long frame");
}

/// (c) A reset asked for during the pause: the chain starts like that of a new actor, at rest where nothing settles.
#[test]
fn time_04_a_reset_asked_for_in_a_pause_starts_anew() {
    for profile in [SwingProfile::default(), unsettled()] {
        let mut stage = swinging(&rod3(), profile);
        place(&mut stage, Vec3::X * 10.0);
        stage.host.step(0.0).unwrap();
        let entity = stage.actor;
        stage.host.world.trigger(Reset { entity });
        let mut fresh = Stage::with(&rod3(), profile, ActorProperties::default(), ());
        let found = stage.substeps(60);
        assert_same_bits(&found, &fresh.substeps(60), "a new actor");
        if profile.prewarm == 0 {
            let rest = rest_pose(&rod3());
            assert_eq!(found[0].local, rest, "rest in the first frame");
        }
    }
}
