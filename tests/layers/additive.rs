//! The additive chain, checked by turning vectors and not by comparing quaternions. `[L2]`

use std::sync::Arc;

use bevy_math::{DQuat, DVec3, Quat};
use flounce::additive::Side;
use flounce::clip::{Clip, ClipPlayer, Playback, Repeat};
use flounce::layer::{Additive, Layer, LayerKind, Present, Reference, add_joint};
use flounce::mask::JointMask;
use flounce::pose::JointTransform;
use flounce::rotation::angle_between;

use crate::{Random, actor, clip, over, shown, tree};

fn wide(q: Quat) -> DQuat {
    q.as_dquat().normalize()
}

#[test]
fn l2_ten_thousand_triples_turn_a_vector_through_s_then_r_back_then_b() {
    let mut random = Random::new(1);
    for _ in 0..10_000 {
        let [b, r, s] = [0; 3].map(|_| random.rotation());
        let probe = random.vector().as_dvec3();
        let joint = |rotation| JointTransform::rigid(random.vector(), rotation);
        let (base, reference, sample) = {
            let mut joint = joint;
            (joint(b), joint(r), joint(s))
        };
        for (side, expected) in [
            (
                Side::Own,
                wide(b) * (wide(r).conjugate() * (wide(s) * probe)),
            ),
            (
                Side::Parent,
                wide(s) * (wide(r).conjugate() * (wide(b) * probe)),
            ),
        ] {
            let how = Additive {
                side,
                reference: &reference,
                last: None,
            };
            let (out, kept, _) = add_joint(&base, &sample, Present::ALL, 1.0, &how);
            let found: DVec3 = wide(out.rotation) * probe;
            assert!(
                !kept && (found - expected).length() < 2e-6,
                "{side:?}: {found}, expected {expected}"
            );
        }
    }
}

#[test]
fn l2_what_was_extracted_and_put_back_is_the_clip() {
    let mut random = Random::new(2);
    let rig = tree(12, &mut random);
    let joints: Vec<usize> = (0..12).collect();
    for side in [Side::Own, Side::Parent] {
        let motion = clip("motion", &joints, 6, &mut random);
        let still = Arc::new(Clip {
            tracks: motion.tracks.iter().map(first_key).collect(),
            ..(*motion).clone()
        });
        let layer = Layer {
            kind: LayerKind::Additive {
                side,
                reference: Reference::Clip {
                    clip: Arc::clone(&motion),
                    time: 0.0,
                },
                continuous: false,
            },
            ..over("motion", 0, &motion, JointMask::all(12))
        };
        let (mut host, layered) = actor(&rig, vec![layer]);
        host.world
            .entity_mut(layered)
            .insert(ClipPlayer::new(still, Repeat::Loop));
        let (mut twin, plain) = actor(&rig, vec![]);
        twin.world
            .entity_mut(plain)
            .insert(ClipPlayer::new(Arc::clone(&motion), Repeat::Loop));
        for frame in 0..40 {
            let time = f64::from(frame) / 60.0;
            host.run_to(time).unwrap();
            twin.run_to(time).unwrap();
            for (found, expected) in shown(&host, layered).iter().zip(shown(&twin, plain)) {
                let turned = angle_between(found.rotation.into(), expected.rotation.into());
                let moved = (found.translation - expected.translation).length();
                let scaled = (found.scale - expected.scale).length();
                assert!(
                    turned < 2e-6 && moved < 1e-6 && scaled < 1e-6,
                    "frame {frame}: {found:?}, expected {expected:?}"
                );
            }
        }
    }
}

fn first_key(track: &flounce::clip::Track) -> flounce::clip::Track {
    use flounce::clip::TrackValues;
    flounce::clip::Track {
        times: [0.0].into(),
        values: match &track.values {
            TrackValues::Rotation(keys) => TrackValues::Rotation(vec![keys[0]]),
            TrackValues::Translation(keys) => TrackValues::Translation(vec![keys[0]]),
            TrackValues::Scale(keys) => TrackValues::Scale(vec![keys[0]]),
            other => other.clone(),
        },
        ..track.clone()
    }
}

#[test]
fn l2_a_continuous_layer_goes_past_half_a_turn_and_the_other_kind_does_not() {
    use bevy_math::Vec3;
    use flounce::clip::{Interpolation, Track, TrackValues};
    let mut random = Random::new(3);
    let rig = tree(1, &mut random);
    // One turn and a half about X in three seconds, from the rest pose on.
    let times: Arc<[f32]> = (0..=18).map(|key| key as f32 / 6.0).collect();
    let rest = rig.joints[0].rest.rotation;
    let turned =
        |key: usize| rest * Quat::from_axis_angle(Vec3::X, (key as f32 * 30.0).to_radians());
    let spin = Arc::new(Clip {
        name: "spin".to_owned(),
        source: 0,
        tracks: vec![Track {
            joint: 0,
            source: 0,
            interpolation: Interpolation::Linear,
            times,
            values: TrackValues::Rotation((0..=18).map(|key| turned(key).to_array()).collect()),
        }],
        duration: 3.0,
    });
    let largest_step = |continuous: bool| {
        let layer = Layer {
            kind: LayerKind::Additive {
                side: Side::Own,
                reference: Reference::Rest,
                continuous,
            },
            weight: 0.5,
            ..over("spin", 0, &spin, JointMask::all(1))
        };
        let (mut host, actor) = actor(&rig, vec![layer]);
        let mut last: Option<Quat> = None;
        let mut largest = 0.0_f32;
        for frame in 0..100 {
            host.run_to(f64::from(frame) / 60.0).unwrap();
            let now = shown(&host, actor)[0].rotation;
            if let Some(last) = last {
                largest = largest.max(angle_between(last.into(), now.into()).to_degrees());
            }
            last = Some(now);
        }
        largest
    };
    // 180° a second are 3° a frame, of which half is shown.
    assert!(
        (largest_step(true) - 1.5).abs() < 0.01,
        "{}",
        largest_step(true)
    );
    assert!(largest_step(false) > 170.0, "{}", largest_step(false));
}

#[test]
fn l2_a_continuous_layer_remembers_its_way_beside_others_and_forgets_it_in_a_pause() {
    use bevy_math::Vec3;
    use flounce::clip::{Interpolation, Track, TrackValues};
    use flounce::layer::{LayerSource, Layers};
    let mut random = Random::new(15);
    let rig = tree(1, &mut random);
    let rest = rig.joints[0].rest.rotation;
    let still = |degrees: f32| {
        let turned = rest * Quat::from_axis_angle(Vec3::X, degrees.to_radians());
        Arc::new(Clip {
            name: format!("{degrees}"),
            source: 0,
            tracks: vec![Track {
                joint: 0,
                source: 0,
                interpolation: Interpolation::Linear,
                times: [0.0].into(),
                values: TrackValues::Rotation(vec![turned.to_array()]),
            }],
            duration: 0.0,
        })
    };
    let layer = Layer {
        kind: LayerKind::Additive {
            side: Side::Own,
            reference: Reference::Rest,
            continuous: true,
        },
        weight: 0.5,
        ..over("spin", 5, &still(0.0), JointMask::all(1))
    };
    let (mut host, actor) = actor(&rig, vec![layer]);
    let mut now = 0.0;
    let mut angle = |host: &mut flounce::systems::plugin::Headless, degrees: f32| {
        let mut layers = host.world.get_mut::<Layers>(actor).unwrap();
        *layers.get_mut("spin").unwrap().playback.unwrap() =
            Playback::new(still(degrees), Repeat::Loop);
        now += 1.0 / 60.0;
        host.run_to(now).unwrap();
        let turned = rest.inverse() * shown(host, actor)[0].rotation;
        2.0 * bevy_math::ops::atan2(turned.x, turned.w).to_degrees()
    };
    let mut found = 0.0;
    for degrees in (0..=270).step_by(30) {
        found = angle(&mut host, degrees as f32);
    }
    assert!((found.rem_euclid(360.0) - 135.0).abs() < 0.1, "{found}");
    // Another layer below it changes nothing of its way.
    let below = over("below", 1, &still(0.0), JointMask::all(1));
    assert!(matches!(below.source, LayerSource::Clip(_)));
    host.world
        .get_mut::<Layers>(actor)
        .unwrap()
        .add(below)
        .unwrap();
    let found = angle(&mut host, 280.0);
    assert!((found.rem_euclid(360.0) - 140.0).abs() < 0.1, "{found}");
    // A pause does: 280 degrees are −80 the short way.
    let weight = |host: &mut flounce::systems::plugin::Headless, weight: f32| {
        *host
            .world
            .get_mut::<Layers>(actor)
            .unwrap()
            .get_mut("spin")
            .unwrap()
            .weight = weight;
    };
    weight(&mut host, 0.0);
    angle(&mut host, 280.0);
    weight(&mut host, 0.5);
    let found = angle(&mut host, 280.0);
    assert!((found + 40.0).abs() < 0.1, "{found}");
}
