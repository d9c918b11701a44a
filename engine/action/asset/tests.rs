use super::*;
use crate::curve::{CurveKeys, LinearKeys};
use crate::rotation::angle_between;
use bevy_math::Quat;

fn line(domain: Domain, keys: &[(f32, f32)]) -> Option<Curve> {
    let keys = CurveKeys::Linear(LinearKeys::new(keys.to_vec()).unwrap());
    Some(Curve { domain, keys })
}

/// Two seconds that lift the body to 1.05 reference heights and walk it 1 along +Z.
fn lift() -> Action {
    Action {
        name: "lift".to_owned(),
        clock: ActionClock {
            length: 2.0,
            ..ActionClock::default()
        },
        channels: vec![Channel::Body(Body {
            translation: [
                None,
                line(Domain::Progress, &[(0.0, 1.05)]),
                line(Domain::Seconds, &[(0.0, 5.0), (2.0, 6.0)]),
            ],
            ..Body::default()
        })],
        ..Action::default()
    }
}

fn standing() -> Vec<JointTransform> {
    vec![
        JointTransform::rigid(Vec3::new(0.25, 0.9, 0.0), Quat::IDENTITY),
        JointTransform::IDENTITY,
    ]
}

fn nod(joint: usize) -> Channel {
    Channel::Head {
        joint,
        euler: [line(Domain::Progress, &[(0.0, 0.8)]), None, None],
    }
}

/// A pose in metres.
fn metre(_: &[JointTransform], _: usize) -> Vec3 {
    Vec3::ONE
}

#[test]
fn k5_a_body_in_centimetres_rises_as_far_as_one_in_metres() {
    let (mut metres, mut centimetres) = (standing(), standing());
    for joint in &mut centimetres {
        joint.translation *= 100.0;
    }
    let a = lift().apply(1.0, 0.4, &mut metres, metre);
    let b = lift().apply(1.0, 0.4, &mut centimetres, |_, _| Vec3::splat(0.01));
    for (a, b) in metres.iter().zip(&centimetres) {
        assert!(
            (a.translation * 100.0 - b.translation).length() < 1e-4,
            "{a:?} {b:?}"
        );
    }
    let off = (a.feed_forward.velocity - b.feed_forward.velocity).length();
    assert!(off < 1e-4, "{off}");
}

#[test]
fn k5_the_body_goes_up_by_the_weight_and_forward_from_where_it_stood() {
    let mut pose = standing();
    let readout = lift().apply(1.0, 0.4, &mut pose, metre);
    let found = pose[0].translation;
    assert!(
        (found - Vec3::new(0.25, 0.96, 0.2)).length() < 1e-6,
        "{found}"
    );
    assert_eq!((readout.weight, readout.kept), (0.4, 0));
    assert_eq!(readout.time.progress, 0.5);
}

#[test]
fn k4_the_envelope_is_multiplied_into_the_layers_weight() {
    let mut action = lift();
    action.envelope.fade_in = 2.0;
    let readout = action.apply(1.0, 0.5, &mut standing(), metre);
    assert_eq!(readout.weight, 0.25);
}

#[test]
fn without_weight_the_pose_keeps_its_bits() {
    let action = Action {
        channels: [lift().channels, vec![nod(1)]].concat(),
        ..lift()
    };
    let mut pose = standing();
    pose[1].rotation = Quat::from_xyzw(0.1, 0.2, 0.3, 0.927);
    for (time, weight, kept) in [
        (1.0, 0.0, 0),
        (-1.0, 1.0, 0),
        (2.5, 1.0, 0),
        (1.0, f32::NAN, 2),
    ] {
        let before = pose.clone();
        assert_eq!(action.apply(time, weight, &mut pose, metre).kept, kept);
        assert_eq!(pose, before, "at {time} by {weight}");
    }
}

#[test]
fn k5_a_turn_is_added_on_the_joints_own_side_and_a_head_is_blended() {
    let quarter = Quat::from_rotation_z(core::f32::consts::FRAC_PI_2);
    let turn = Channel::Rotation {
        joint: 1,
        euler: [line(Domain::Progress, &[(0.0, 0.8)]), None, None],
    };
    for (channel, expected) in [
        (
            turn,
            Rotation::from(quarter) * from_euler_zxy([0.4, 0.0, 0.0]),
        ),
        (
            nod(1),
            head_rotation(quarter.into(), [0.8, 0.0, 0.0], 0.5).unwrap(),
        ),
    ] {
        let action = Action {
            channels: vec![channel],
            ..lift()
        };
        let mut pose = standing();
        pose[1].rotation = quarter;
        action.apply(1.0, 0.5, &mut pose, metre);
        assert!(angle_between(pose[1].rotation.into(), expected) < 1e-6);
    }
}

#[test]
fn b6_a_joint_that_cannot_be_moved_is_counted_and_kept() {
    let action = Action {
        channels: vec![nod(7), nod(1), nod(0)],
        ..lift()
    };
    let mut pose = standing();
    pose[1].rotation = Quat::from_xyzw(f32::NAN, 0.0, 0.0, 1.0);
    let readout = action.apply(1.0, 1.0, &mut pose, metre);
    assert_eq!(readout.kept, 2);
    assert_ne!(pose[0].rotation, Quat::IDENTITY);
}

#[test]
fn k6_the_bodys_motion_is_told_ahead_and_capped() {
    let mut action = lift();
    let told = action.apply(1.0, 0.5, &mut standing(), metre).feed_forward;
    // 1 m in 2 s by half.
    assert!(
        (told.velocity - Vec3::new(0.0, 0.0, 0.25)).length() < 1e-4,
        "{told:?}"
    );
    action.feed_forward.velocity_max = 0.1;
    let capped = action.apply(1.0, 0.5, &mut standing(), metre).feed_forward;
    assert!((capped.velocity.length() - 0.1).abs() < 1e-6, "{capped:?}");
}

#[test]
fn an_action_that_can_be_played_passes() {
    let mut action = lift();
    action.envelope.ease_in =
        Ease::Custom(line(Domain::Progress, &[(0.0, 0.0), (1.0, 1.0)]).unwrap());
    action.channels.push(nod(1));
    assert_eq!(action.check(), Ok(()));
}

#[test]
fn each_fault_says_what_is_wrong_and_where() {
    let body = |edit: fn(&mut Body)| {
        let mut action = lift();
        if let Channel::Body(body) = &mut action.channels[0] {
            edit(body);
        }
        action
    };
    let edited = |edit: fn(&mut Action)| {
        let mut action = lift();
        edit(&mut action);
        action
    };
    let cases = [
        (
            edited(|a| a.clock.length = -1.0),
            "length is -1 s; expected a finite time of at least 0",
        ),
        (
            edited(|a| a.envelope.fade_out = f64::NAN),
            "fade_out is NaN s; expected a finite time of at least 0",
        ),
        (
            edited(|a| a.feed_forward.step = 0.0),
            "feed_forward step is 0 s; expected a finite time above 0",
        ),
        (
            edited(|a| a.feed_forward.velocity_max = f32::NAN),
            "velocity_max is NaN; expected a number of at least 0",
        ),
        (
            edited(|a| {
                a.envelope.ease_out = Ease::Custom(line(Domain::Seconds, &[(0.0, 0.0)]).unwrap());
            }),
            "ease_out: the curve is keyed in seconds and was asked in progress; expected a curve over progress",
        ),
        (
            edited(|a| a.channels.extend(lift().channels)),
            "channel 1 moves the body, as channel 0 does; expected one",
        ),
        (
            body(|b| b.reference_height = -0.5),
            "channel 0: reference_height is -0.5; expected a finite height of at least 0",
        ),
        (
            body(|b| b.translation[0] = line(Domain::Progress, &[(0.0, 0.0), (1.5, 1.0)])),
            "channel 0, translation x: a key at 1.5 (progress) lies beyond the action, which ends at 1",
        ),
        (
            body(|b| b.euler[2] = line(Domain::Seconds, &[(2.5, 0.0)])),
            "channel 0, euler z: a key at 2.5 (seconds) lies beyond the action, which ends at 2",
        ),
    ];
    for (action, message) in cases {
        assert_eq!(action.check().unwrap_err().to_string(), message);
    }
    let recovering = Action {
        clock: ActionClock {
            recovers: true,
            ..lift().clock
        },
        ..body(|b| b.translation[0] = line(Domain::Progress, &[(0.0, 0.0), (1.5, 1.0)]))
    };
    assert_eq!(recovering.check(), Ok(()));
}
