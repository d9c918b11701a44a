//! Claim: a uniform clip is never farther from the keyed one than its bound, at any time, for any clip it accepts.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::cell::Cell;

use flounce::clip::{Clip, Interpolation, Track, TrackValues};
use flounce::pose::JointTransform;
use flounce::rotation::{Rotation, angle_between};
use flounce::uniform::{ErrorBound, NotUniform, PoseRows, RATES_HZ, UniformClip};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Largest distances over their bounds, of the whole pose at one time.
fn share_of_bound(
    clip: &Clip,
    uniform: &UniformClip,
    joints: usize,
    bound: &ErrorBound,
    time: f32,
) -> f32 {
    let mut keyed = vec![JointTransform::IDENTITY; joints];
    for track in &clip.tracks {
        track.sample(time, &mut keyed[track.joint]);
    }
    let (mut rows, mut found) = (PoseRows::default(), vec![JointTransform::IDENTITY; joints]);
    uniform.sample_into(time, &mut rows);
    uniform.scatter(&rows, &mut found, |_| true);
    let mut largest = 0.0_f32;
    for (keyed, found) in keyed.iter().zip(&found) {
        let unit = |q: bevy_math::Quat| flounce::rotation::unit_or_identity(Rotation::from(q));
        let angle = angle_between(unit(keyed.rotation), unit(found.rotation));
        for share in [
            angle / bound.rotation,
            keyed.translation.distance(found.translation) / bound.translation,
            keyed.scale.distance(found.scale) / bound.scale,
        ] {
            largest = if share > largest || share.is_nan() {
                share
            } else {
                largest
            };
        }
    }
    largest
}

/// A clip of 3 joints: rotations that wander by up to `speed` a second, a translation, a scale.
fn clips() -> impl Strategy<Value = Clip> {
    let interpolation = prop_oneof![
        Just(Interpolation::Linear),
        Just(Interpolation::CubicSpline)
    ];
    let step = prop_oneof![Just(None), (0.004_f32..0.2).prop_map(Some)];
    let noise = prop::collection::vec(-1.0_f32..1.0, 3 * 30 * 4);
    let form = (
        interpolation,
        step,
        2_usize..30,
        0.0_f32..0.5,
        0.05_f32..2.0,
    );
    (form, noise).prop_map(|((interpolation, step, keys, start, size), noise)| {
        let mut times = vec![start];
        for key in 1..keys {
            let irregular = 0.03 + 0.02 * noise[key];
            times.push(times[key - 1] + step.unwrap_or(irregular));
        }
        let spline = interpolation == Interpolation::CubicSpline;
        let per_key = if spline { 3 } else { 1 };
        let mut tracks = Vec::new();
        for joint in 0..3 {
            let at = |key: usize, c: usize| noise[(joint * 30 + key) * 4 + c];
            let mut quaternions = Vec::new();
            let mut vectors = Vec::new();
            let mut q = [0.1, 0.2, 0.3, 0.9];
            for key in 0..keys {
                q = core::array::from_fn(|c| q[c] + 0.1 * size * at(key, c));
                let unit = Rotation::<f32>::splat(q).normalized().lane(0);
                let vector: [f32; 3] = core::array::from_fn(|c| 0.05 * size * at(key, c));
                if spline {
                    quaternions.push([0.1 * size; 4].map(|t| t * at(key, 0)));
                    vectors.push([0.3 * at(key, 1); 3]);
                }
                quaternions.push(unit);
                vectors.push(vector);
                if spline {
                    quaternions.push([0.1 * size; 4].map(|t| t * at(key, 2)));
                    vectors.push([0.3 * at(key, 3); 3]);
                }
            }
            flounce::clip::align_hemispheres(&mut quaternions, per_key, per_key / 2);
            let values = [
                TrackValues::Rotation(quaternions),
                TrackValues::Translation(vectors.clone()),
                TrackValues::Scale(vectors),
            ];
            for values in values {
                tracks.push(Track {
                    joint,
                    source: tracks.len(),
                    interpolation,
                    times: times.as_slice().into(),
                    values,
                });
            }
        }
        Clip {
            name: "random".to_owned(),
            source: 0,
            duration: times[keys - 1],
            tracks,
        }
    })
}

#[test]
fn random_clips_stay_within_the_bound_at_random_times() {
    let (accepted, refused) = (Cell::new(0), Cell::new(0));
    let config = ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(300)
    };
    let times = prop::collection::vec(-0.1_f32..1.1, 60);
    let cases = (clips(), times, 0.02_f32..1.0);
    let found = TestRunner::new(config).run(&cases, |(clip, times, tight)| {
        let bound = ErrorBound {
            rotation: 0.02 * tight,
            translation: 0.01 * tight,
            scale: 0.01 * tight,
        };
        match UniformClip::resample(&clip, 3, &bound, &RATES_HZ) {
            Ok(uniform) => {
                accepted.set(accepted.get() + 1);
                let start = clip.tracks[0].times[0];
                for time in times {
                    let time = start + time * (clip.duration - start);
                    let share = share_of_bound(&clip, &uniform, 3, &bound, time);
                    prop_assert!(share <= 1.0, "{share} of the bound at {time}");
                }
            }
            Err(NotUniform::TooFar { error, bound, .. }) => {
                refused.set(refused.get() + 1);
                prop_assert!(error > 0.9 * bound);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
        Ok(())
    });
    found.unwrap();
    let (accepted, refused) = (accepted.get(), refused.get());
    assert!(
        accepted > 100 && refused > 10,
        "the clips are too easy or too hard: {accepted} accepted, {refused} refused"
    );
}

#[cfg(feature = "assets")]
#[test]
fn clips_of_real_models_become_uniform_and_stay_within_the_bound() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models");
    let bound = ErrorBound::default();
    let mut accepted = 0;
    for name in [
        "CesiumMan.glb",
        "Fox.glb",
        "RiggedFigure.glb",
        "SpringTestRig_2025.glb",
        "collider_zoo.glb",
        "mannequin.glb",
    ] {
        let (model, _) = flounce::assets::import::read_model(&folder.join(name)).unwrap();
        let joints = model.rig.joints.len();
        for clip in &model.clips {
            let uniform = match UniformClip::resample(clip, joints, &bound, &RATES_HZ) {
                Ok(uniform) => uniform,
                Err(refused) => panic!("{name}: {}: {refused}", clip.name),
            };
            accepted += 1;
            for sample in 0..=500 {
                // Nowhere near the times that were looked at on loading.
                let time = clip.duration * (sample as f32 + 0.371) / 500.0;
                let share = share_of_bound(clip, &uniform, joints, &bound, time);
                assert!(share <= 1.0, "{name}: {}: {share} at {time}", clip.name);
            }
        }
    }
    assert!(accepted > 30, "{accepted}");
}
