//! Additive motion and layers.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec3};
use flounce::additive::{self, Side};
use flounce::clip::{Clip, ClipPlayer, Interpolation, Playback, Repeat, Track, TrackValues};
use flounce::layer::{Layer, LayerKind, LayerReadout, LayerSource, Layers, Reference};
use flounce::mask::JointMask;
use flounce::pose::{JointTransform, LocalPose};
use flounce::rig::{Joint, Rig};
use flounce::rotation::angle_between;
use flounce::substep::ActorClock;
use flounce::systems::plugin::Headless;

use crate::support::chains::{joint, turn};

/// Hips, spine, right arm, right hand, left arm, left hand; nothing swings.
fn body() -> Rig {
    let named = |name: &str, parent, translation| Joint {
        name: name.to_owned(),
        ..joint(parent, translation)
    };
    let mut rig = Rig::new(vec![
        named("Hips", None, Vec3::Y),
        named("Spine", Some(0), Vec3::Y * 0.3),
        named("RightArm", Some(1), Vec3::NEG_X * 0.2),
        named("RightHand", Some(2), Vec3::NEG_X * 0.5),
        // The name says it is the right arm's; the tree says it is not.
        named("RightArmOfTheOther", Some(1), Vec3::X * 0.2),
        named("LeftHand", Some(4), Vec3::X * 0.5),
    ]);
    rig.joints[2].rest.rotation = turn(Vec3::Z, 10.0);
    rig
}

/// A clip that holds these rotations for ever.
fn still(name: &str, rotations: &[(usize, Quat)]) -> Arc<Clip> {
    let tracks = rotations
        .iter()
        .enumerate()
        .map(|(source, &(joint, q))| Track {
            joint,
            source,
            interpolation: Interpolation::Linear,
            times: [0.0].into(),
            values: TrackValues::Rotation(vec![q.to_array()]),
        });
    Arc::new(Clip {
        name: name.to_owned(),
        source: 0,
        tracks: tracks.collect(),
        duration: 1.0,
    })
}

fn over(name: &str, order: i32, clip: &Arc<Clip>, roots: &[usize], except: &[usize]) -> Layer {
    let parents: Vec<Option<usize>> = body().joints.iter().map(|joint| joint.parent).collect();
    let mask = JointMask::new(&parents, roots, except, &[]).unwrap();
    let playback = Playback::new(Arc::clone(clip), Repeat::Loop);
    Layer::new(name, order, LayerSource::Clip(playback), mask)
}

fn additive(layer: Layer, side: Side, reference: Reference) -> Layer {
    Layer {
        kind: LayerKind::Additive {
            side,
            reference,
            continuous: false,
        },
        ..layer
    }
}

fn actor(layers: Vec<Layer>, base: Option<&Arc<Clip>>) -> (Headless, Entity) {
    let mut host = Headless::new();
    let rig = host.spawn_rig(&body());
    let layers = Layers::new(layers).unwrap();
    let actor = host.spawn_actor(rig, (layers, LayerReadout::default()));
    if let Some(clip) = base {
        let player = ClipPlayer::new(Arc::clone(clip), Repeat::Loop);
        host.world.entity_mut(actor).insert(player);
    }
    (host, actor)
}

fn shown(host: &Headless, actor: Entity) -> Vec<JointTransform> {
    host.world.get::<LocalPose>(actor).unwrap().0.clone()
}

/// The pose after one frame.
fn pose(layers: Vec<Layer>, base: Option<&Arc<Clip>>) -> Vec<JointTransform> {
    let (mut host, actor) = actor(layers, base);
    host.step(0.0).unwrap();
    shown(&host, actor)
}

fn near(found: Quat, expected: Quat) {
    let off = angle_between(found.into(), expected.into());
    assert!(
        off < 1e-5,
        "found {found}, expected {expected}: {off} rad apart"
    );
}

#[test]
fn add_01_an_additive_layer_turns_about_the_joints_own_axes() {
    let (reference, base) = (turn(Vec3::Z, 90.0), turn(Vec3::Y, 90.0));
    let added = still("added", &[(2, reference * turn(Vec3::X, 60.0))]);
    let held = Reference::Clip {
        clip: still("held", &[(2, reference)]),
        time: 0.0,
    };
    let walk = still("walk", &[(2, base)]);
    for (side, weight, expected) in [
        (Side::Own, 1.0, [0.866_025, 0.5, 0.0]),
        (Side::Own, 0.5, [0.5, 0.866_025, 0.0]),
        (Side::Own, 0.0, [0.0, 1.0, 0.0]),
        (Side::Parent, 1.0, [0.0, 1.0, 0.0]),
    ] {
        let layer = Layer {
            weight,
            ..additive(over("added", 0, &added, &[0], &[]), side, held.clone())
        };
        let found = pose(vec![layer], Some(&walk))[2].rotation * Vec3::Y;
        let off = (found - Vec3::from_array(expected)).length();
        assert!(
            off < 1e-5,
            "{side:?} at {weight}: {found}, expected {expected:?}"
        );
    }
    let zero = Layer {
        weight: 0.0,
        ..additive(over("added", 0, &added, &[0], &[]), Side::Own, held)
    };
    assert_eq!(pose(vec![zero], Some(&walk)), pose(vec![], Some(&walk)));
}

#[test]
fn add_02_extracting_a_spline_keeps_its_tangents_and_is_the_delta_at_all_times() {
    let key = |q: Quat, tangent: f32| {
        [
            [tangent, 0.3, 0.0, -0.2],
            q.to_array(),
            [0.1, tangent, 0.2, 0.0],
        ]
    };
    let (p, q) = (turn(Vec3::new(0.6, 0.0, 0.8), 50.0), turn(Vec3::X, 110.0));
    let rotation = Track {
        joint: 0,
        source: 0,
        interpolation: Interpolation::CubicSpline,
        times: [0.0, 1.5].into(),
        values: TrackValues::Rotation([key(p, 0.4), key(q, -0.7)].concat()),
    };
    let moved = vec![
        [9.0; 3],
        [1.0, 2.0, 3.0],
        [0.5; 3],
        [-0.25; 3],
        [4.0, 4.0, 4.0],
        [7.0; 3],
    ];
    let translation = Track {
        source: 1,
        values: TrackValues::Translation(moved),
        ..rotation.clone()
    };
    let clip = Clip {
        name: String::new(),
        source: 0,
        tracks: vec![rotation, translation],
        duration: 1.5,
    };
    let mut reference = JointTransform::IDENTITY;
    clip.tracks
        .iter()
        .for_each(|track| track.sample(0.0, &mut reference));
    let extracted = additive::extract(&clip, &[reference]);
    let TrackValues::Translation(keys) = &extracted.tracks[1].values else {
        panic!("a translation stays one");
    };
    assert_eq!(keys[..3], [[9.0; 3], [0.0; 3], [0.5; 3]]);
    for step in 0..=100 {
        let time = step as f32 * 0.015;
        let (mut whole, mut delta) = (JointTransform::IDENTITY, JointTransform::IDENTITY);
        clip.tracks
            .iter()
            .for_each(|track| track.sample(time, &mut whole));
        extracted
            .tracks
            .iter()
            .for_each(|track| track.sample(time, &mut delta));
        near(
            delta.rotation,
            reference.rotation.inverse() * whole.rotation,
        );
        let off = (delta.translation - (whole.translation - reference.translation)).length();
        assert!(off < 1e-5, "at {time}: {off}");
    }
}

#[test]
fn add_04_a_joint_masked_out_of_the_base_keeps_what_lies_below_and_weights_are_exact() {
    let rest = body().joints;
    let walk = still(
        "walk",
        &[(2, turn(Vec3::Y, 40.0)), (4, turn(Vec3::Y, 40.0))],
    );
    let wave = still("wave", &[(2, turn(Vec3::Z, 10.0) * turn(Vec3::X, 60.0))]);
    let base = Layer {
        weight: 0.5,
        ..over("walk", 0, &walk, &[0], &[2])
    };
    let wave = Layer {
        weight: 0.3,
        ..additive(
            over("wave", 1, &wave, &[2], &[]),
            Side::Own,
            Reference::Rest,
        )
    };
    let found = pose(vec![base, wave], None);
    near(
        found[2].rotation,
        rest[2].rest.rotation * turn(Vec3::X, 18.0),
    );
    near(found[4].rotation, turn(Vec3::Y, 20.0));
    for joint in [0, 1, 3, 5] {
        assert_eq!(found[joint], rest[joint].rest, "joint {joint}");
    }
}

#[test]
fn add_05_layers_that_do_not_overlap_are_both_full() {
    let spine = still("spine", &[(1, turn(Vec3::X, 30.0))]);
    let hand = still("hand", &[(3, turn(Vec3::X, 50.0))]);
    let found = pose(
        vec![
            over("hand", 2, &hand, &[3], &[]),
            over("spine", 1, &spine, &[1], &[2]),
        ],
        None,
    );
    assert_eq!(found[1].rotation, turn(Vec3::X, 30.0));
    assert_eq!(found[3].rotation, turn(Vec3::X, 50.0));
}

#[test]
fn add_05_a_blend_weighs_each_joint_by_the_clips_that_move_it() {
    use flounce::layer::BlendClip;
    let one = still("one", &[(1, turn(Vec3::X, 40.0)), (3, turn(Vec3::X, 40.0))]);
    let two = still("two", &[(1, turn(Vec3::X, 0.0))]);
    let clips = [(&one, 1.0), (&two, 3.0)].map(|(clip, weight)| BlendClip {
        playback: Playback::new(Arc::clone(clip), Repeat::Loop),
        weight,
    });
    let source = LayerSource::Blend {
        clips: clips.to_vec(),
        about_rest: false,
    };
    let mask = JointMask::all(6);
    let found = pose(vec![Layer::new("blend", 0, source, mask)], None);
    // [B4] weighs quaternions: 40° and 0° at 1 to 3 give 9.93°, not 10.
    let off = angle_between(found[1].rotation.into(), turn(Vec3::X, 10.0).into());
    assert!(off.to_degrees() < 0.2, "{}", off.to_degrees());
    near(found[3].rotation, turn(Vec3::X, 40.0));
}

/// The poses of one of three actors that all play `a`, and of which the second changes as `changes` says.
fn three(
    a: &Arc<Clip>,
    b: &Arc<Clip>,
    watched: usize,
    changes: &[(usize, f64)],
) -> Vec<Vec<JointTransform>> {
    let mut host = Headless::new();
    let rig = host.spawn_rig(&body());
    let players = [0.0, 0.1, 0.2].map(|start| {
        ClipPlayer::from(Playback {
            start,
            ..Playback::new(Arc::clone(a), Repeat::Loop)
        })
    });
    let actors = players.map(|player| host.spawn_actor(rig, player));
    let mut poses = Vec::new();
    for frame in 0..60 {
        host.run_to(f64::from(frame) / 60.0).unwrap();
        poses.push(shown(&host, actors[watched]));
        for &(at, seconds) in changes.iter().filter(|(at, _)| *at == frame as usize) {
            let now = host.world.get::<ActorClock>(actors[1]).unwrap().time();
            let mut player = host.world.get_mut::<ClipPlayer>(actors[1]).unwrap();
            let next = if at.is_multiple_of(2) { b } else { a };
            player.cross_fade(Playback::new(Arc::clone(next), Repeat::Loop), now, seconds);
        }
    }
    poses
}

#[test]
fn add_07_a_cross_fade_is_its_actors_own() {
    let (a, b) = (
        still("a", &[(1, turn(Vec3::X, 30.0))]),
        still("b", &[(1, turn(Vec3::X, -30.0)), (3, turn(Vec3::Z, 20.0))]),
    );
    for other in [0, 2] {
        assert_eq!(
            three(&a, &b, other, &[(10, 0.5)]),
            three(&a, &b, other, &[])
        );
    }
    let fading = three(&a, &b, 1, &[(10, 0.5)]);
    near(fading[10][1].rotation, turn(Vec3::X, 30.0));
    near(fading[25][1].rotation, turn(Vec3::X, 0.0));
    near(fading[40][1].rotation, turn(Vec3::X, -30.0));
    near(fading[40][3].rotation, turn(Vec3::Z, 20.0));
    // Restarted and turned round in the middle of fades, it never jumps: a whole fade is 60° in 30 frames.
    let changes: Vec<(usize, f64)> = (0..10).map(|n| (n * 6 + n % 2, 0.5)).collect();
    let restless = three(&a, &b, 1, &changes);
    for pair in restless.windows(2) {
        let step = angle_between(pair[0][1].rotation.into(), pair[1][1].rotation.into());
        assert!(step.to_degrees() < 4.0, "{}", step.to_degrees());
    }
}

#[test]
fn add_08_a_weight_that_is_no_share_leaves_the_pose_and_says_so() {
    let walk = still("walk", &[(1, turn(Vec3::X, 30.0))]);
    let lift = still(
        "lift",
        &[(1, turn(Vec3::Z, 60.0)), (2, turn(Vec3::Z, 60.0))],
    );
    let base = pose(vec![], Some(&walk));
    let kinds: [fn(Layer) -> Layer; 2] = [
        |layer| layer,
        |layer| additive(layer, Side::Own, Reference::Rest),
    ];
    for kind in kinds {
        for (weight, refused) in [
            (-0.1, true),
            (1.1, true),
            (f32::NAN, true),
            (f32::INFINITY, true),
            (1e-40, false),
            (0.0, false),
        ] {
            let layer = Layer {
                weight,
                ..kind(over("lift", 0, &lift, &[0], &[]))
            };
            let (mut host, actor) = actor(vec![layer], Some(&walk));
            host.step(0.0).unwrap();
            assert_eq!(shown(&host, actor), base, "weight {weight}");
            let report = &host.world.get::<LayerReadout>(actor).unwrap().0[0];
            assert_eq!(report.refused, refused, "weight {weight}");
            assert!(report.joints.is_empty() && report.weight == 0.0);
        }
    }
    // A rotation without direction leaves its joint alone and is named; its neighbours take the layer.
    let broken = still(
        "broken",
        &[
            (1, Quat::from_xyzw(0.0, 0.0, 0.0, 0.0)),
            (2, turn(Vec3::Z, 60.0)),
        ],
    );
    for kind in kinds {
        let layer = kind(over("broken", 0, &broken, &[0], &[]));
        let (mut host, actor) = actor(vec![layer], Some(&walk));
        host.step(0.0).unwrap();
        let found = shown(&host, actor);
        assert_eq!(found[1], base[1]);
        near(found[2].rotation, turn(Vec3::Z, 60.0));
        let report = &host.world.get::<LayerReadout>(actor).unwrap().0[0];
        assert_eq!(report.kept, [1]);
        assert_eq!(report.joints.len(), 1);
        assert!((report.joints[0].turned.to_degrees() - 50.0).abs() < 1e-3);
    }
}
