use std::sync::Arc;

use super::blend::{
    Way, Weight, additive_rows, additive_rows_in_lanes, override_rows, override_rows_in_lanes,
};
use super::*;
use crate::clip::{Clip, Interpolation, Track, TrackValues};
use crate::rotation::{Rotation, angle_between};
use bevy_math::{Quat, Vec3};

fn track(joint: usize, times: &[f32], values: TrackValues) -> Track {
    Track {
        joint,
        source: 10 + joint,
        interpolation: Interpolation::Linear,
        times: Arc::from(times),
        values,
    }
}

fn clip(tracks: Vec<Track>) -> Clip {
    let ends = tracks.iter().flat_map(|track| track.times.last().copied());
    Clip {
        name: "test".to_owned(),
        source: 0,
        duration: ends.fold(0.0, f32::max),
        tracks,
    }
}

/// A turn about an axis, by degrees.
fn turn(axis: [f64; 3], degrees: f64) -> [f32; 4] {
    let (s, c) = f64::sin_cos(degrees.to_radians() / 2.0);
    [axis[0] * s, axis[1] * s, axis[2] * s, c].map(|c| c as f32)
}

/// 20 joints that turn, the first also moves and grows; 24 keys a second.
fn dance(size: f64) -> Clip {
    let times: Vec<f32> = (0..25).map(|key| key as f32 / 24.0).collect();
    let mut tracks = Vec::new();
    for joint in 0..20 {
        let at = |key: usize| size * 60.0 * f64::sin(key as f64 * 0.26 + joint as f64);
        let keys = (0..25).map(|key| turn([0.6, 0.0, 0.8], at(key))).collect();
        tracks.push(track(joint, &times, TrackValues::Rotation(keys)));
    }
    let line = |key: usize| [0.1 * key as f32 * size as f32, 1.0, -0.2];
    let growth = |key: usize| [1.0 + 0.01 * key as f32, 1.0, 2.0];
    tracks.push(track(
        0,
        &times,
        TrackValues::Translation((0..25).map(line).collect()),
    ));
    tracks.push(track(
        0,
        &times,
        TrackValues::Scale((0..25).map(growth).collect()),
    ));
    clip(tracks)
}

fn uniform(clip: &Clip, joints: usize) -> UniformClip {
    UniformClip::resample(clip, joints, &ErrorBound::default(), &RATES_HZ).unwrap()
}

fn sampled(clip: &UniformClip, time: f32) -> PoseRows {
    let mut rows = PoseRows::default();
    clip.sample_into(time, &mut rows);
    rows
}

fn bits(rows: &PoseRows) -> Vec<u32> {
    Property::ALL
        .iter()
        .flat_map(|&property| rows.of(property).iter().flat_map(|block| block.0))
        .map(f32::to_bits)
        .collect()
}

#[test]
fn constants_are_folded_and_what_has_no_track_is_missing() {
    let q = turn([0.0, 1.0, 0.0], 30.0);
    let keyed = clip(vec![
        track(
            0,
            &[0.0, 1.0],
            TrackValues::Translation(vec![[0.0; 3], [1.0, 2.0, 3.0]]),
        ),
        track(1, &[0.0, 1.0], TrackValues::Rotation(vec![q, q])),
        track(2, &[0.5], TrackValues::Scale(vec![[1.0, 2.0, 3.0]])),
    ]);
    let clip = uniform(&keyed, 4);
    assert_eq!(clip.joints().translation, [0]);
    assert!(clip.joints().rotation.is_empty() && clip.joints().scale.is_empty());
    let held: Vec<_> = clip
        .constants()
        .iter()
        .map(|c| (c.joint, c.property, c.value))
        .collect();
    let expected = [
        (1, Property::Rotation, q),
        (2, Property::Scale, [1.0, 2.0, 3.0, 0.0]),
    ];
    assert_eq!(held, expected);
    let before = JointTransform::rigid(
        Vec3::splat(9.0),
        Quat::from_array(turn([1.0, 0.0, 0.0], 5.0)),
    );
    let mut pose = [before; 4];
    clip.scatter(&sampled(&clip, 0.5), &mut pose, |joint| joint != 2);
    assert_eq!(pose[0].translation, Vec3::new(0.5, 1.0, 1.5));
    assert_eq!(
        (pose[0].rotation, pose[0].scale),
        (before.rotation, before.scale)
    );
    assert_eq!(pose[1].rotation.to_array(), q);
    assert_eq!(pose[1].translation, before.translation);
    assert_eq!([pose[2], pose[3]], [before; 2], "not needed, no track");
    assert!(clip.has(1, Property::Rotation) && !clip.has(1, Property::Scale));
    assert!(!clip.has(3, Property::Rotation) && !clip.has(99, Property::Rotation));
}

#[test]
fn at_a_rows_time_and_beyond_the_ends_the_value_is_the_rows() {
    let clip = uniform(&dance(1.0), 20);
    assert_eq!((clip.rate_hz(), clip.row_count()), (24.0, 25));
    for row in 0..clip.row_count() {
        let found = sampled(&clip, clip.row_time(row));
        for property in Property::ALL {
            assert_eq!(found.of(property), clip.row(property, row), "row {row}");
        }
    }
    let (first, last) = (sampled(&clip, 0.0), sampled(&clip, 1.0));
    for early in [-1.0, f32::NEG_INFINITY, f32::NAN] {
        assert_eq!(bits(&sampled(&clip, early)), bits(&first), "{early}");
    }
    for late in [1.5, f32::INFINITY] {
        assert_eq!(bits(&sampled(&clip, late)), bits(&last), "{late}");
    }
}

#[test]
fn the_last_interval_ends_with_the_clip() {
    let values = TrackValues::Translation(vec![[0.0; 3], [1.0; 3], [2.0; 3], [2.5; 3]]);
    let keyed = clip(vec![track(0, &[0.5, 0.6, 0.7, 0.75], values)]);
    let clip = UniformClip::resample(&keyed, 1, &ErrorBound::default(), &[10.0]).unwrap();
    let times: Vec<f32> = (0..clip.row_count())
        .map(|row| clip.row_time(row))
        .collect();
    assert_eq!(times, [0.5, 0.6, 0.7, 0.75]);
    for (time, expected) in [(0.55, 0.5), (0.725, 2.25), (0.74, 2.4), (0.75, 2.5)] {
        let x = sampled(&clip, time).value(Property::Translation, 0)[0];
        assert!((x - expected).abs() < 2e-6, "{time}: {x}");
    }
}

#[test]
fn the_lowest_rate_within_the_bound_is_taken() {
    // A quarter turn a second, in 240 keys: 30 rows a second show it.
    let times: Vec<f32> = (0..=240).map(|key| key as f32 / 240.0).collect();
    let keys = |of: fn(f64) -> f64| {
        let at = |key: usize| turn([0.0, 0.0, 1.0], of(key as f64 / 240.0));
        TrackValues::Rotation((0..=240).map(at).collect())
    };
    let slow = uniform(&clip(vec![track(0, &times, keys(|t| 90.0 * t))]), 1);
    assert_eq!(slow.rate_hz(), 30.0);
    let fast = uniform(
        &clip(vec![track(0, &times, keys(|t| 20.0 * f64::sin(60.0 * t)))]),
        1,
    );
    assert_eq!(fast.rate_hz(), 240.0);
    for clip in [slow, fast] {
        let error = clip.largest_error().rotation;
        assert!(error <= ErrorBound::default().rotation, "{error}");
    }
}

#[test]
fn a_jump_larger_than_the_bound_is_refused_by_name() {
    let values = TrackValues::Translation(vec![[0.0; 3], [0.5, 0.0, 0.0]]);
    let mut jump = track(3, &[0.0, 1.0], values);
    jump.interpolation = Interpolation::Step;
    let keyed = clip(vec![jump]);
    let refused = UniformClip::resample(&keyed, 4, &ErrorBound::default(), &RATES_HZ);
    let Err(NotUniform::TooFar {
        joint,
        property,
        source_index,
        error,
        ..
    }) = refused
    else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (joint, property, source_index),
        (3, Property::Translation, 13)
    );
    assert!((error - 0.5).abs() < 1e-5, "{error}");
    let bound = ErrorBound {
        translation: 0.6,
        ..ErrorBound::default()
    };
    assert!(UniformClip::resample(&keyed, 4, &bound, &RATES_HZ).is_ok());
}

#[test]
fn what_cannot_be_resampled_says_why() {
    let moving = |to: f32| TrackValues::Translation(vec![[0.0; 3], [to; 3]]);
    let bound = ErrorBound::default();
    let refusal = |track, rates: &[f64]| {
        UniformClip::resample(&clip(vec![track]), 2, &bound, rates).unwrap_err()
    };
    let joint = refusal(track(2, &[0.0, 1.0], moving(1.0)), &RATES_HZ);
    assert!(
        matches!(
            joint,
            NotUniform::Joint {
                joint: 2,
                joints: 2,
                ..
            }
        ),
        "{joint}"
    );
    let value = refusal(track(1, &[0.0, 1.0], moving(f32::NAN)), &RATES_HZ);
    assert!(
        matches!(value, NotUniform::Value { joint: 1, .. }),
        "{value}"
    );
    let far = TrackValues::Translation(vec![[0.0; 3], [1.0; 3], [0.0; 3]]);
    let long = refusal(track(0, &[0.0, 1.0, 1e8], far), &RATES_HZ);
    assert!(matches!(long, NotUniform::TooLong { .. }), "{long}");
}

#[test]
fn every_lane_width_has_the_bits_of_the_scalar() {
    fn all<L: Lane>(clip: &UniformClip, over: &UniformClip, weights: &WeightRows) -> Vec<u32> {
        let (mut base, mut delta) = (PoseRows::default(), PoseRows::default());
        clip.sample_into_lanes::<L>(0.377, &mut base);
        over.sample_into_lanes::<L>(0.7, &mut delta);
        let mut found = bits(&base);
        let mut out = PoseRows::default();
        for weight in [Weight::All(0.3), Weight::Each(weights)] {
            additive_rows_in_lanes::<L>(&base, &delta, weight, &mut out);
            found.extend(bits(&out));
            for way in [Way::Lerp, Way::Slerp] {
                override_rows_in_lanes::<L>(&base, &delta, weight, way, &mut out);
                found.extend(bits(&out));
            }
        }
        found
    }
    let clip = uniform(&dance(1.0), 20);
    let over = uniform(&dance(0.3), 20).additive(&[JointTransform::IDENTITY; 20]);
    let weights = clip.weights(|joint| joint as f32 / 19.0);
    let alone = all::<f32>(&clip, &over, &weights);
    assert_eq!(all::<Wide<4>>(&clip, &over, &weights), alone);
    assert_eq!(all::<Wide<8>>(&clip, &over, &weights), alone);
    assert_eq!(all::<Wide<16>>(&clip, &over, &weights), alone);
}

#[test]
fn l2_a_clip_over_itself_changes_nothing() {
    let clip = uniform(&dance(1.0), 20);
    let mut reference = [JointTransform::IDENTITY; 20];
    clip.scatter(&sampled(&clip, 0.4), &mut reference, |_| true);
    let over = clip.additive(&reference);
    let (base, delta) = (sampled(&clip, 0.9), sampled(&over, 0.4));
    let mut out = PoseRows::default();
    additive_rows(&base, &delta, Weight::All(1.0), &mut out);
    for property in Property::ALL {
        for position in 0..clip.joints().of(property).len() {
            let (a, b) = (
                base.value(property, position),
                out.value(property, position),
            );
            for (a, b) in a.into_iter().zip(b) {
                assert!((a - b).abs() < 1e-6, "{property:?} {position}: {a} {b}");
            }
        }
    }
}

#[test]
fn l2_rows_give_the_facts_of_the_model() {
    let z90 = turn([0.0, 0.0, 1.0], 90.0);
    let r = Rotation::<f32>::splat(z90);
    let s = (r * Rotation::splat(turn([1.0, 0.0, 0.0], 60.0))).lane(0);
    let keys = |last| TrackValues::Rotation(vec![z90, last]);
    // Sampled at its end, where it is S.
    let keyed = clip(vec![track(0, &[0.0, 1.0], keys(s))]);
    let reference = JointTransform::rigid(Vec3::ZERO, Quat::from_array(z90));
    let over = uniform(&keyed, 1).additive(&[reference]);
    let still = clip(vec![track(
        0,
        &[0.0, 1.0],
        keys(turn([0.0, 1.0, 0.0], 90.0)),
    )]);
    let base = sampled(&uniform(&still, 1), 1.0);
    for (weight, expected) in [(1.0, [0.866_026, 0.5, 0.0]), (0.5, [0.5, 0.866_025, 0.0])] {
        let mut out = PoseRows::default();
        additive_rows(&base, &sampled(&over, 1.0), Weight::All(weight), &mut out);
        let found = Rotation::splat(out.value(Property::Rotation, 0));
        let found = found.rotate(crate::lane::Vec3x::new(0.0, 1.0, 0.0)).lane(0);
        for (found, expected) in found.into_iter().zip(expected) {
            assert!((found - expected).abs() < 2e-6, "{found} {expected}");
        }
    }
}

#[test]
fn l2_translations_add_and_scales_multiply() {
    let tracks = |t: f32, s: f32| {
        vec![
            track(
                0,
                &[0.0, 1.0],
                TrackValues::Translation(vec![[0.0; 3], [t, 0.0, 0.0]]),
            ),
            track(
                0,
                &[0.0, 1.0],
                TrackValues::Scale(vec![[1.0; 3], [s, s, 1.0]]),
            ),
        ]
    };
    let base = sampled(&uniform(&clip(tracks(1.0, 3.0)), 1), 1.0);
    let reference = JointTransform {
        translation: Vec3::new(0.25, 0.0, 0.0),
        scale: Vec3::new(2.0, 1e-9, 1.0),
        ..JointTransform::IDENTITY
    };
    let over = uniform(&clip(tracks(0.75, 4.0)), 1).additive(&[reference]);
    let mut out = PoseRows::default();
    additive_rows(&base, &sampled(&over, 1.0), Weight::All(0.5), &mut out);
    assert_eq!(out.value(Property::Translation, 0)[0], 1.25);
    // 3 · lerp(1, 4 / 2, 0.5); the component whose reference vanishes stays.
    assert_eq!(out.value(Property::Scale, 0)[..3], [4.5, 3.0, 1.0]);
}

#[test]
fn l2_a_weight_that_means_nothing_keeps_the_base_to_the_bit() {
    let clip = uniform(&dance(1.0), 20);
    let over = uniform(&dance(0.3), 20).additive(&[JointTransform::IDENTITY; 20]);
    let (base, delta) = (sampled(&clip, 0.3), sampled(&over, 0.8));
    let mut out = PoseRows::default();
    for weight in [0.0, -0.1, 1.01, f32::NAN, f32::INFINITY] {
        let each = clip.weights(|joint| if joint == 4 { 0.5 } else { weight });
        additive_rows(&base, &delta, Weight::All(weight), &mut out);
        assert_eq!(bits(&out), bits(&base), "{weight}");
        additive_rows(&base, &delta, Weight::Each(&each), &mut out);
        let changed: Vec<usize> = (0..20)
            .filter(|&at| out.value(Property::Rotation, at) != base.value(Property::Rotation, at))
            .collect();
        assert_eq!(changed, [4], "{weight}");
        override_rows(&base, &delta, Weight::All(weight), Way::Lerp, &mut out);
        assert_eq!(bits(&out), bits(&base), "{weight}");
    }
}

#[test]
fn l1_an_override_is_the_pose_blend_of_joints() {
    let clip = uniform(&dance(1.0), 20);
    let (base, over) = (sampled(&clip, 0.1), sampled(&clip, 0.6));
    let (mut a, mut b) = (
        [JointTransform::IDENTITY; 20],
        [JointTransform::IDENTITY; 20],
    );
    clip.scatter(&base, &mut a, |_| true);
    clip.scatter(&over, &mut b, |_| true);
    let mut out = PoseRows::default();
    override_rows(&base, &over, Weight::All(0.3), Way::Slerp, &mut out);
    for joint in 0..20 {
        let expected = a[joint].blend(&b[joint], 0.3);
        let found = Rotation::splat(out.value(Property::Rotation, joint));
        let off = angle_between(found, expected.rotation.into());
        assert!(off < 2e-6, "joint {joint}: {off}");
    }
    override_rows(&base, &over, Weight::All(1.0), Way::Lerp, &mut out);
    for (joint, b) in b.iter().enumerate() {
        let found = Rotation::splat(out.value(Property::Rotation, joint));
        assert!(angle_between(found, b.rotation.into()) < 1e-6);
    }
}

#[test]
fn l4_clips_meet_in_the_union_of_their_layouts() {
    let line = |joint| {
        track(
            joint,
            &[0.0, 1.0],
            TrackValues::Translation(vec![[0.0; 3], [1.0; 3]]),
        )
    };
    let still = |joint| track(joint, &[0.0], TrackValues::Translation(vec![[7.0; 3]]));
    let first = uniform(&clip(vec![line(0), still(2), still(3)]), 5);
    let second = uniform(&clip(vec![line(1), line(2)]), 5);
    let both = first.joints().union(second.joints());
    let rest = [JointTransform::rigid(Vec3::splat(0.5), Quat::IDENTITY); 5];
    let (first, second) = (first.laid_out(&both, &rest), second.laid_out(&both, &rest));
    assert_eq!((first.joints(), second.joints()), (&both, &both));
    assert_eq!(first.constants().len(), 1, "joint 3 has no row in either");
    let (base, over) = (sampled(&first, 0.25), sampled(&second, 0.75));
    let x = |rows: &PoseRows| [0, 1, 2].map(|at| rows.value(Property::Translation, at)[0]);
    assert_eq!(x(&base), [0.25, 0.5, 7.0]);
    let mut out = PoseRows::default();
    let weights = second.weights(|_| 0.5);
    override_rows(&base, &over, Weight::Each(&weights), Way::Lerp, &mut out);
    assert_eq!(x(&out), [0.25, 0.625, 3.875]);
    let mut pose = [JointTransform::IDENTITY; 5];
    first.scatter(&out, &mut pose, |_| true);
    assert_eq!(
        pose[1],
        JointTransform::IDENTITY,
        "the first clip has no track for it"
    );
}
