//! Rotations and limits.

use bevy_math::{DVec3, Quat, Vec3};
use flounce::clip::{Interpolation, Track, TrackValues};
use flounce::euler;
use flounce::mirror;
use flounce::pose::JointTransform;
use flounce::profile::SwingProfile;
use flounce::rig::Rig;
use flounce::rotation::Rotation;
use flounce::swing::{Limit, Motion, SwingJoint};

use crate::support::chains::{
    BONE, Stage, angle, angle_of, assert_close, assert_same_bits, chain, euler_zxy, joint, pushed,
    rod3, soft, turn, weightless,
};

/// The particle stays where it is while the animation turns the joint by exactly a half-turn.
#[test]
fn rot_04_a_bone_exactly_opposite_to_rest_turns_half() {
    for (rest, about) in [
        (Vec3::X, Vec3::Z),
        (Vec3::X, Vec3::Y),
        (Vec3::NEG_Y, Vec3::X),
        (Vec3::Z, Vec3::Y),
    ] {
        for extra in [0.0, 1e-7, -1e-6, 1e-5] {
            let rig = chain(1, rest * BONE, weightless(1));
            let run = || {
                let mut stage = Stage::unsettled(&rig);
                stage.host.step(0.0).unwrap();
                let half = Quat::from_vec4(about.extend(0.0));
                let nearly = Quat::from_axis_angle(about, extra);
                stage.pose().0[1].rotation = half * nearly;
                let shown = stage.substep();
                (shown, stage.model(1).1)
            };
            let (shown, model) = run();
            assert!(shown.is_finite());
            let unit = f64::from(shown.local[1].rotation.length());
            assert_close(unit, 1.0, 1e-6, "length of the rotation");
            let off = angle_of(model * rest, rest);
            assert!(
                off < 1e-4,
                "{rest} about {about} + {extra}: {off:e} rad from the particle"
            );
            assert_same_bits(&[run().0], &[shown], "a second time");
        }
    }
}

#[test]
fn rot_05_one_sided_limits_hold_on_both_sides() {
    let limit = Limit {
        low: Vec3::new(0.0, -20.0, 0.0),
        high: Vec3::new(0.0, 20.0, 40.0),
    };
    let mut rig = chain(1, Vec3::X * BONE, soft());
    rig.swing[0].limit = Some(limit);
    let (mut least, mut most) = (DVec3::splat(f64::MAX), DVec3::splat(f64::MIN));
    for step in 0..16_u8 {
        let (s, c) = bevy_math::ops::sin_cos(f32::from(step) * core::f32::consts::TAU / 16.0);
        let force = Vec3::new(0.0, s, c) * 0.5;
        let mut stage = Stage::with(&rig, SwingProfile::default(), pushed(force), ());
        for frame in stage.substeps(120) {
            let angles = euler_zxy(frame.local[1].rotation.as_dquat()).unwrap();
            let angles = angles.map(f64::to_degrees);
            let (low, high) = (limit.low.as_dvec3(), limit.high.as_dvec3());
            let outside = (low - angles).max(angles - high).max_element();
            // Degrees.
            assert!(
                outside < 1e-4,
                "pushed by {force}: {angles} is {outside:e}° outside"
            );
            (least, most) = (least.min(angles), most.max(angles));
        }
    }
    assert!(
        (least - limit.low.as_dvec3()).length() < 1e-3,
        "lower ends reached: {least}"
    );
    assert!(
        (most - limit.high.as_dvec3()).length() < 1e-3,
        "upper ends reached: {most}"
    );
}

#[test]
fn rot_06_euler_angles_give_the_rotation_back() {
    let degrees: Vec<f32> = (-12..=12).map(|i| i as f32 * 15.0).collect();
    for &x in degrees.iter().filter(|x| x.abs() <= 90.0) {
        for &y in &degrees {
            for &z in &degrees {
                let pole = x.abs() > 89.9;
                let norms = [1.0, 1.0 - 1e-6, 1.0 + 1e-6];
                for &norm in &norms[..if pole { 1 } else { 3 }] {
                    let q = euler::from_euler_zxy([x, y, z].map(f32::to_radians));
                    let q = Rotation::new(q.x * norm, q.y * norm, q.z * norm, q.w * norm);
                    let angles = euler::to_euler_zxy(q);
                    assert!(angles.iter().all(|angle| angle.is_finite()));
                    let off = angle(Quat::from(q), euler::from_euler_zxy(angles).into());
                    // Radians: 1e-3° away from the pole, what `[C2]` says at it; an error of the norm counts
                    // double in the sine and grows towards the pole.
                    let slope = bevy_math::ops::cos(x.to_radians()).max(1e-3);
                    let tolerance = match norm {
                        _ if pole => 3e-3,
                        1.0 => 1e-3_f64.to_radians(),
                        _ => 8e-6 / f64::from(slope),
                    };
                    assert!(
                        off < tolerance,
                        "({x}, {y}, {z})° · {norm}: {off:e} rad off"
                    );
                }
            }
        }
    }
}

#[test]
fn rot_06_limits_that_are_wide_open_change_no_bit() {
    let mut open = rod3();
    for swing in &mut open.swing {
        swing.limit = Some(Limit {
            low: Vec3::splat(-180.0),
            high: Vec3::splat(180.0),
        });
    }
    let run = |rig: &Rig| {
        let mut stage = Stage::new(rig);
        let frame = |frame: u16| {
            stage.pose().0[0].rotation = turn(Vec3::Z, f32::from(frame) * 7.0);
            stage.substep()
        };
        (0..200).map(frame).collect::<Vec<_>>()
    };
    assert_same_bits(&run(&open), &run(&rod3()), "with limits of ±180°");
}

#[test]
fn rot_09_a_swing_limit_is_in_degrees_and_zero_locks() {
    let turned = |limit: Option<f32>| {
        let mut rig = chain(1, Vec3::X * BONE, soft());
        rig.swing[0].limit = limit.map(|degrees| Limit {
            low: Vec3::splat(-degrees),
            high: Vec3::splat(degrees),
        });
        let properties = pushed(Vec3::Y * 2.0);
        let mut stage = Stage::with(&rig, SwingProfile::default(), properties, ());
        let frame = stage.substeps(120).pop().unwrap();
        angle(frame.local[1].rotation, Quat::IDENTITY).to_degrees()
    };
    assert_close(turned(Some(8.0)), 8.0, 1e-3, "degrees at a limit of 8");
    assert_close(turned(Some(0.0)), 0.0, 1e-4, "degrees at a limit of 0");
    assert!(turned(None) > 60.0, "without a limit it is free");
}

/// The check pair: a rotation with ZXY angles (10, 15, −40)° seen in the mirror has (10, −15, 40)°.
#[test]
fn rot_05_a_mirrored_rotation_has_mirrored_angles() {
    let degrees =
        |angles: [f32; 3]| -> Quat { euler::from_euler_zxy(angles.map(f32::to_radians)).into() };
    let mirrored = mirror::rotation(degrees([10.0, 15.0, -40.0]));
    let off = angle(mirrored, degrees([10.0, -15.0, 40.0]));
    assert!(off < 1e-6, "{off:e} rad off");
}

/// Limits that an import from a left-handed space gives, pushed against from every side, hold in the mirror what they
/// hold here: angle for angle.
#[test]
fn rot_05_both_sides_of_the_mirror_stop_at_their_own_limit() {
    let authored = Limit {
        low: Vec3::new(0.0, -20.0, -40.0),
        high: Vec3::new(0.0, 20.0, 0.0),
    };
    let imported = mirror::degrees(authored);
    let expected = [Vec3::new(0.0, -20.0, 0.0), Vec3::new(0.0, 20.0, 40.0)];
    assert_eq!([imported.low, imported.high], expected);
    let reached = |limit: Limit, side: f32| {
        let mut rig = chain(1, Vec3::X * BONE * side, soft());
        rig.swing[0].limit = Some(limit);
        let (mut least, mut most) = (DVec3::splat(f64::MAX), DVec3::splat(f64::MIN));
        for force in [Vec3::Y, Vec3::NEG_Y, Vec3::Z, Vec3::NEG_Z] {
            let mut stage = Stage::with(&rig, SwingProfile::default(), pushed(force * 0.5), ());
            for frame in stage.substeps(120) {
                let angles = euler_zxy(frame.local[1].rotation.as_dquat()).unwrap();
                (least, most) = (least.min(angles), most.max(angles));
            }
        }
        [least, most].map(|angles| angles.map(f64::to_degrees))
    };
    let here = reached(imported, 1.0);
    let mirrored = reached(authored, -1.0);
    for (found, limits) in [(here, imported), (mirrored, authored)] {
        let ends = [limits.low, limits.high];
        for (found, end) in found.into_iter().zip(ends) {
            // Degrees: what is held is held to 1e-4, every end is reached.
            let off = (found - end.as_dvec3()).length();
            assert!(off < 1e-3, "{found} is not {end}");
        }
    }
}

/// A slide joint on a root at (0, 1, 0), pushed along its axes from every side; the shifts it reached, metres.
fn slid(limit: Option<Limit>, force: f32) -> [DVec3; 2] {
    let mut rig = Rig::new(vec![
        joint(None, Vec3::Y),
        joint(Some(0), Vec3::new(0.0, 0.1, 0.05)),
    ]);
    rig.swing = vec![SwingJoint {
        motion: Motion::Slide,
        limit,
        ..soft()
    }];
    let (mut least, mut most) = (DVec3::ZERO, DVec3::ZERO);
    for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
        for side in [force, -force] {
            let properties = pushed(axis * side);
            let mut stage = Stage::with(&rig, SwingProfile::default(), properties, ());
            for frame in stage.substeps(60) {
                assert_eq!(frame.local[1].rotation, Quat::IDENTITY, "it does not turn");
                let shift = frame.local[1].translation - rig.joints[1].rest.translation;
                (least, most) = (least.min(shift.as_dvec3()), most.max(shift.as_dvec3()));
            }
        }
    }
    [least, most]
}

#[test]
fn rot_09_a_slide_limit_is_in_millimetres_and_zero_locks() {
    let within = |millimetres: f32| Limit {
        low: Vec3::splat(-millimetres),
        high: Vec3::splat(millimetres),
    };
    let near = |found: [DVec3; 2], expected: [DVec3; 2], what: &str| {
        for (found, expected) in found.into_iter().zip(expected) {
            let off = (found - expected).abs().max_element();
            // Metres: a translation of 0.1 m is stored to 1e-8.
            assert!(off < 1e-6, "{what}: found {found}, expected {expected}");
        }
    };
    let eight = DVec3::splat(0.008);
    near(slid(Some(within(8.0)), 0.5), [-eight, eight], "±8 mm");
    near(slid(Some(within(0.0)), 0.5), [DVec3::ZERO; 2], "0 mm");
    let one_sided = Limit {
        low: Vec3::new(-3.0, 0.0, -1.0),
        high: Vec3::new(0.0, 5.0, 2.0),
    };
    let ends = [
        DVec3::new(-0.003, 0.0, -0.001),
        DVec3::new(0.0, 0.005, 0.002),
    ];
    near(slid(Some(one_sided), 0.5), ends, "one-sided");
    let free = slid(None, 0.5);
    assert!(
        free[1].min_element() > 0.2 && free[0].max_element() < -0.2,
        "{free:?}"
    );
}

/// A track of two keys, one second apart, brought to one hemisphere as an import does `[B5]`, or as it is.
fn two_keys(interpolation: Interpolation, ends: [Quat; 2], aligned: bool) -> Track {
    let per_key = if interpolation == Interpolation::CubicSpline {
        3
    } else {
        1
    };
    let tangent = [0.0; 4];
    let mut keys: Vec<[f32; 4]> = match per_key {
        1 => ends.map(|q| q.to_array()).to_vec(),
        _ => ends
            .iter()
            .flat_map(|q| [tangent, q.to_array(), tangent])
            .collect(),
    };
    if aligned {
        flounce::clip::align_hemispheres(&mut keys, per_key, per_key / 2);
    }
    Track {
        joint: 0,
        source: 0,
        interpolation,
        times: [0.0, 1.0].into(),
        values: TrackValues::Rotation(keys),
    }
}

#[test]
fn rot_01_a_key_with_the_other_sign_is_the_same_rotation() {
    let at = |track: &Track, time: f32| {
        let mut pose = JointTransform::IDENTITY;
        track.sample(time, &mut pose);
        pose.rotation
    };
    for (interpolation, aligned) in [
        (Interpolation::Linear, true),
        // The check at run time stays, whatever an import did.
        (Interpolation::Linear, false),
        (Interpolation::CubicSpline, true),
    ] {
        let what = format!("{interpolation:?}, aligned: {aligned}");
        for degrees in [20.0, 0.5, 170.0] {
            let ends = [Quat::IDENTITY, -turn(Vec3::Z, degrees)];
            let track = two_keys(interpolation, ends, aligned);
            let found = angle(at(&track, 0.5), Quat::IDENTITY).to_degrees();
            // Degrees: 170° instead of 10° where a check is missing.
            assert_close(found, f64::from(degrees) / 2.0, 1e-3, &what);
        }
        let q = turn(Vec3::new(0.6, 0.0, 0.8), 50.0);
        let track = two_keys(interpolation, [q, -q], aligned);
        for step in 0..=20_u8 {
            let off = angle(at(&track, f32::from(step) / 20.0), q);
            assert!(off < 1e-6, "{what}: {off:e} rad at {step}/20 s");
        }
    }
}
