//! Actions as layers: clocks, fades, masks, and layers over poses that a host gives. `[K3]`–`[K6]` `[L2]`

use std::sync::Arc;

use bevy_math::{Quat, Vec3};
use flounce::action::{Action, ActionClock, Body, Channel, Ease, Envelope};
use flounce::additive::Side;
use flounce::clip::{Playback, Repeat};
use flounce::curve::{Curve, CurveKeys, Domain, LinearKeys};
use flounce::layer::{Layer, LayerKind, LayerReadout, LayerSource, Reference, Window};
use flounce::mask::JointMask;
use flounce::pose::AnimatedPose;
use flounce::rotation::angle_between;
use flounce::uniform::ErrorBound;

use crate::{Random, actor, clip, over, shown, tree};

fn line(domain: Domain, keys: &[(f32, f32)]) -> Option<Curve> {
    let keys = CurveKeys::Linear(LinearKeys::new(keys.to_vec()).unwrap());
    Some(Curve { domain, keys })
}

/// Lifts joint 1 to 1.05 m of 1 m and turns joint 2 by up to a radian about its own x.
fn action() -> Arc<Action> {
    let action = Action {
        name: "lift".to_owned(),
        clock: ActionClock {
            lead_in: 0.25,
            length: 1.0,
            ..ActionClock::default()
        },
        envelope: Envelope {
            fade_in: 0.5,
            fade_out: 0.5,
            ..Envelope::default()
        },
        channels: vec![
            Channel::Body(Body {
                joint: 1,
                translation: [None, line(Domain::Seconds, &[(0.0, 1.05)]), None],
                ..Body::default()
            }),
            Channel::Rotation {
                joint: 2,
                euler: [
                    line(Domain::Progress, &[(0.0, 0.0), (1.0, 1.0)]),
                    None,
                    None,
                ],
            },
        ],
        ..Action::default()
    };
    assert_eq!(action.check(), Ok(()));
    Arc::new(action)
}

fn layer(mask: JointMask) -> Layer {
    let source = LayerSource::Action {
        action: action(),
        starts: 0.5,
    };
    Layer::new("lift", 0, source, mask)
}

#[test]
fn an_action_acts_in_its_time_with_its_fades_on_its_joints() {
    let mut rig = tree(5, &mut Random::new(9));
    // Parents in metres.
    rig.joints
        .iter_mut()
        .for_each(|joint| joint.rest.scale = Vec3::ONE);
    let rest = |joint: usize| rig.joints[joint].rest;
    let (mut host, actor) = actor(&rig, vec![layer(JointMask::all(5))]);
    host.world.entity_mut(actor).insert(LayerReadout::default());
    // Starts at 0.5, leads in until 0.75, and is over at 1.75: halfway both fades are whole.
    for frame in 0..=40 {
        let time = f64::from(frame) / 20.0;
        host.run_to(time).unwrap();
        let found = shown(&host, actor);
        let elapsed = time - 0.75;
        let weight = if (0.0..=1.0).contains(&elapsed) {
            (elapsed / 0.5).min(1.0) * ((1.0 - elapsed) / 0.5).min(1.0)
        } else {
            0.0
        } as f32;
        let height = rest(1).translation.y + (1.05 - rest(1).translation.y) * weight;
        assert!((found[1].translation.y - height).abs() < 1e-5, "at {time}");
        assert_eq!(
            found[1].translation.with_y(0.0),
            rest(1).translation.with_y(0.0)
        );
        let turned = angle_between(rest(2).rotation.into(), found[2].rotation.into());
        let expected = weight * elapsed.clamp(0.0, 1.0) as f32;
        assert!(
            (turned - expected).abs() < 1e-5,
            "at {time}: {turned}, expected {expected}"
        );
        let report = &host.world.get::<LayerReadout>(actor).unwrap().0[0];
        assert!(
            (report.weight - weight).abs() < 1e-6,
            "at {time}: {}",
            report.weight
        );
        let told = report.action.unwrap();
        assert!((told.time.progress - elapsed.clamp(0.0, 1.0)).abs() < 1e-9);
        // While it fades in it is told ahead how fast the body rises; before and after nothing moves.
        let rising = told.feed_forward.velocity.y;
        let up = 1.05 - rest(1).translation.y;
        if (0.1..0.4).contains(&elapsed) {
            assert!(
                (rising - 2.0 * up).abs() < 1e-3,
                "at {time}: {rising}, expected {}",
                2.0 * up
            );
        }
        for joint in [0, 3, 4] {
            assert_eq!(found[joint], rest(joint));
        }
    }
}

#[test]
fn an_action_reaches_only_its_mask() {
    let rig = tree(5, &mut Random::new(9));
    let mask = JointMask::new(&crate::parents(&rig), &[2], &[], &[(2, 0.5)]).unwrap();
    let (mut host, actor) = actor(&rig, vec![layer(mask)]);
    for frame in 0..=25 {
        host.run_to(f64::from(frame) / 20.0).unwrap();
    }
    // 1.25 s: half-way, whole weight, half a radian, of which the mask takes half.
    let found = shown(&host, actor);
    assert_eq!(found[1], rig.joints[1].rest);
    let turned = angle_between(rig.joints[2].rest.rotation.into(), found[2].rotation.into());
    assert!((turned - 0.25).abs() < 1e-5, "{turned}");
}

#[test]
fn add_05_k4_a_window_multiplies_its_fades() {
    let window = Window {
        clock: ActionClock {
            length: 1.0,
            ..ActionClock::default()
        },
        envelope: Envelope {
            fade_in: 1.0,
            fade_out: 0.4,
            ease_in: Ease::Linear,
            ease_out: Ease::Linear,
        },
        starts: 2.0,
    };
    // 0.8 of the way in, and 0.2 s of 0.4 s before the end: 0.8 times 0.5.
    assert!(
        (window.weight(2.8) - 0.4).abs() < 1e-6,
        "{}",
        window.weight(2.8)
    );
    assert_eq!([1.9, 3.1].map(|time| window.weight(time)), [0.0, 0.0]);
}

#[test]
fn l2_additive_layers_lie_over_the_poses_of_a_host() {
    let mut random = Random::new(10);
    let rig = tree(4, &mut random);
    let lift = clip("lift", &[2], 1, &mut random);
    let layer = Layer {
        kind: LayerKind::Additive {
            side: Side::Own,
            reference: Reference::Rest,
            continuous: false,
        },
        ..over("lift", 0, &lift, JointMask::all(4))
    };
    let (mut host, actor) = actor(&rig, vec![layer]);
    let mut sampled = rig.joints[2].rest;
    lift.tracks
        .iter()
        .for_each(|track| track.sample(0.0, &mut sampled));
    for frame in 0..20 {
        let mut pose: Vec<_> = rig.joints.iter().map(|joint| joint.rest).collect();
        let turn = Quat::from_axis_angle(Vec3::Y, 0.1 * frame as f32);
        pose[2].rotation = turn;
        pose[3].translation = Vec3::X * frame as f32;
        host.world
            .entity_mut(actor)
            .insert(AnimatedPose(pose.clone()));
        host.run_to(f64::from(frame) / 60.0).unwrap();
        let found = shown(&host, actor);
        assert_eq!([found[0], found[1], found[3]], [pose[0], pose[1], pose[3]]);
        let expected = turn * rig.joints[2].rest.rotation.inverse() * sampled.rotation;
        let off = angle_between(found[2].rotation.into(), expected.into());
        assert!(off < 2e-6, "frame {frame}: {off}");
    }
}

#[test]
fn clips_in_rows_stay_near_their_keys_in_layers_and_below_them() {
    let mut random = Random::new(11);
    let rig = tree(10, &mut random);
    // Rows are for motion that is smooth; what jumps keeps its keys.
    let jumpy = clip("jumpy", &[1, 2], 20, &mut random);
    let bound = ErrorBound {
        rotation: 0.02,
        translation: 0.02,
        scale: 0.02,
    };
    let play = |clip: &Arc<flounce::clip::Clip>| Playback::new(Arc::clone(clip), Repeat::Loop);
    let in_rows = play(&jumpy).in_rows(10, &bound).unwrap();
    assert!(in_rows.rows.is_some());
    let run = |playback: Playback| {
        let mask = JointMask::all(10);
        let half = Layer {
            weight: 0.5,
            ..Layer::new("half", 0, LayerSource::Clip(playback.clone()), mask)
        };
        let (mut host, actor) = actor(&rig, vec![half]);
        let player = flounce::clip::ClipPlayer::from(playback);
        host.world.entity_mut(actor).insert(player);
        let mut poses = Vec::new();
        for frame in 0..120 {
            host.run_to(f64::from(frame) / 60.0).unwrap();
            poses.push(shown(&host, actor));
        }
        poses
    };
    let (keys, rows) = (run(play(&jumpy)), run(in_rows));
    assert_ne!(keys, rows, "rows are other bits");
    for (keys, rows) in keys.iter().flatten().zip(rows.iter().flatten()) {
        let turned = angle_between(keys.rotation.into(), rows.rotation.into());
        let moved = (keys.translation - rows.translation).length();
        assert!(turned < 0.03 && moved < 0.03, "{turned} {moved}");
    }
    let step = flounce::clip::Clip {
        tracks: jumpy
            .tracks
            .iter()
            .map(|track| flounce::clip::Track {
                interpolation: flounce::clip::Interpolation::Step,
                ..track.clone()
            })
            .collect(),
        ..(*jumpy).clone()
    };
    let refused = play(&Arc::new(step)).in_rows(10, &bound).unwrap_err();
    assert!(refused.to_string().contains("joint"), "{refused}");
}

#[test]
fn two_channels_on_one_joint_meet_the_mask_once() {
    let rig = tree(2, &mut Random::new(14));
    let turn = |axis: usize| {
        let mut euler = [None, None, None];
        euler[axis] = line(Domain::Seconds, &[(0.0, 0.4)]);
        Channel::Rotation { joint: 1, euler }
    };
    let shown_turn = |channels: Vec<Channel>, weight: f32| {
        let action = Action {
            clock: ActionClock {
                length: 1.0,
                ..ActionClock::default()
            },
            channels,
            ..Action::default()
        };
        let mask = JointMask::new(&crate::parents(&rig), &[0], &[], &[(1, weight)]).unwrap();
        let source = LayerSource::Action {
            action: Arc::new(action),
            starts: 0.0,
        };
        let (mut host, actor) = actor(&rig, vec![Layer::new("turn", 0, source, mask)]);
        host.world.entity_mut(actor).insert(LayerReadout::default());
        host.run_to(0.0).unwrap();
        let report = &host.world.get::<LayerReadout>(actor).unwrap().0[0];
        assert_eq!(report.joints.len(), 1, "one joint moved");
        angle_between(
            rig.joints[1].rest.rotation.into(),
            shown(&host, actor)[1].rotation.into(),
        )
    };
    let whole = shown_turn(vec![turn(0), turn(0)], 1.0);
    let half = shown_turn(vec![turn(0), turn(0)], 0.5);
    assert!(
        (whole - 0.8).abs() < 1e-5 && (half - 0.4).abs() < 1e-5,
        "{whole} {half}"
    );
}
