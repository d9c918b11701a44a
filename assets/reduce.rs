//! Key reduction: which keys of a LINEAR track can go without moving it by more than a bound.
//!
//! From a kept key, the farthest key is sought for which the straight way (slerp `[C3]` or lerp) stays near enough to
//! all keys between; that key is kept and the search goes on from there. The search doubles its reach while it succeeds
//! and halves it after: a reach that is accepted was checked, so the bound holds; that a farther one might have fitted
//! as well costs a key now and then. O(n log n) for n keys, no randomness.
//!
//! The first and the last key stay, so that a track keeps its length: a constant track becomes two keys, because some
//! players drop the length of a clip, or the track, at a single one. Tracks of one clip that are all constant then
//! share one time accessor.
//!
//! The bound holds between the keys too. For translations that is plain, the error is a piecewise linear function. For
//! rotations:
//!
//! ```text
//! p(u), r(u)  slerps on one interval between original keys: the track, and the part of the reduced track over it
//! β           largest error at the interval's two keys, as an arc between unit quaternions (half the turn)
//! θ           the interval's arc in the track, half the turn between its two keys
//! weights of slerp   a(u) = sin((1 − u)θ) / sin θ,  b(u) = sin(uθ) / sin θ,  a + b ≤ 1 / cos(θ/2)
//! |p − r|     ≤ β (a + b)            the ends differ
//!             + ½ tan(θ/2) / cos(θ/2) · 2β   the arcs' lengths differ by 2β at most, which moves the weights
//!             = β (1 + tan(θ/2)) / cos(θ/2)
//! ```
//!
//! So the error at a key is held below the bound times `cos(θ/2) / (1 + tan(θ/2))` for the longer of its two
//! intervals: 0.99 of the bound where a joint turns 2° a key, 0.95 at 10°.

use bevy_math::ops;

use crate::rotation::{Rotation, angle_between, slerp};

/// How far a track may turn between two kept keys, summed over the keys between, degrees: from 180° on a player would
/// turn the other way, and some way below that is left for players that interpolate less carefully. `ROT-02`
const LARGEST_TURN_DEG: f32 = 120.0;

/// The keys of a LINEAR rotation track that are enough for it to stay within `bound_deg` of itself at all times.
///
/// `times` in seconds, strictly increasing; `values` unit quaternions of either sign, one per time; `bound_deg` in
/// degrees, 0 (or NaN, or less) keeps all keys. Ascending indices, the first and the last among them. Neighbouring
/// kept keys are at most 120° apart, unless the track has no key between them.
///
/// # Panics
/// If the two lengths differ.
pub fn rotation_keys(times: &[f32], values: &[[f32; 4]], bound_deg: f32) -> Vec<u32> {
    assert_eq!(times.len(), values.len(), "one rotation per time");
    let rotations: Vec<Rotation<f32>> = values.iter().map(|&q| Rotation::splat(q)).collect();
    let turns: Vec<f32> = rotations
        .windows(2)
        .map(|pair| angle_between(pair[0], pair[1]))
        .collect();
    let (limits, turned) = (chord_limits(&turns, bound_deg.to_radians()), sums(&turns));
    let largest_turn = f64::from(LARGEST_TURN_DEG.to_radians());

    let near = |from: usize, to: usize, key: usize| {
        let mixed = slerp(rotations[from], rotations[to], place(times, from, to, key));
        squared_chord(mixed, rotations[key]) <= limits[key]
    };
    keep(times.len(), bound_deg, |from, to| {
        turned[to] - turned[from] <= largest_turn && (from + 1..to).all(|key| near(from, to, key))
    })
}

/// The keys of a LINEAR translation track that are enough for it to stay within `bound` of itself at all times.
///
/// `times` in seconds, strictly increasing; `values` one per time; `bound` in the units of `values`, 0 (or NaN, or
/// less) keeps all keys. Ascending indices, the first and the last among them.
///
/// # Panics
/// If the two lengths differ.
pub fn translation_keys(times: &[f32], values: &[[f32; 3]], bound: f32) -> Vec<u32> {
    assert_eq!(times.len(), values.len(), "one translation per time");
    let near = |from: usize, to: usize, key: usize| {
        let u = place(times, from, to, key);
        let error: [f32; 3] = core::array::from_fn(|i| {
            let (a, b) = (values[from][i], values[to][i]);
            a + (b - a) * u - values[key][i]
        });
        error.iter().map(|e| e * e).sum::<f32>() <= bound * bound
    };
    keep(times.len(), bound, |from, to| {
        (from + 1..to).all(|key| near(from, to, key))
    })
}

/// The keys `kept` of `times` if a track takes less space with them, else `None`, which stands for all.
///
/// Unreduced tracks of a clip share their times, a reduced one usually has its own: where a value takes the room of
/// `width` times (4 for rotations, 3 for translations, 2 for rotations in integers of 16 bits) fewer keys pay from a
/// fifth, a quarter, a third of them gone.
pub fn if_smaller(kept: Vec<u32>, times: usize, width: usize) -> Option<Vec<u32>> {
    (kept.len() * (width + 1) < times * width).then_some(kept)
}

/// Where `key` lies between two others, 0 to 1.
fn place(times: &[f32], from: usize, to: usize, key: usize) -> f32 {
    (times[key] - times[from]) / (times[to] - times[from])
}

/// The keys to keep of `count`, where `fits(from, to)` says whether all between may go.
fn keep(count: usize, bound: f32, fits: impl Fn(usize, usize) -> bool) -> Vec<u32> {
    if bound.is_nan() || bound <= 0.0 || count < 3 {
        return (0..count as u32).collect();
    }
    let mut kept = vec![0];
    let mut from = 0;
    while from + 1 < count {
        from = farthest(from, count - 1, &fits);
        kept.push(from as u32);
    }
    kept
}

/// A key behind `from`, at most `last`, that fits; as far as doubling and halving finds.
fn farthest(from: usize, last: usize, fits: impl Fn(usize, usize) -> bool) -> usize {
    let mut good = from + 1;
    let mut beyond = last + 1;
    let mut reach = 2;
    while good < last && beyond > last {
        let to = (from + reach).min(last);
        if fits(from, to) {
            good = to;
            reach *= 2;
        } else {
            beyond = to;
        }
    }
    while good + 1 < beyond && good < last {
        let middle = good + (beyond - good) / 2;
        if fits(from, middle) {
            good = middle;
        } else {
            beyond = middle;
        }
    }
    good
}

/// The largest squared distance of quaternions at each key that keeps the angle within `bound`, radians, on both
/// sides of the key; see the module's derivation. `turns` are the angles between neighbouring keys.
fn chord_limits(turns: &[f32], bound: f32) -> Vec<f32> {
    let limit = |key: usize| {
        let before = key.checked_sub(1).map_or(0.0, |before| turns[before]);
        let after = turns.get(key).copied().unwrap_or(0.0);
        let (sine, cosine) = ops::sin_cos(before.max(after) * 0.25);
        let tighter = cosine / (1.0 + sine / cosine);
        // A turn of `a` is an arc of a/2 between quaternions, whose chord is 2 sin(a/4).
        let chord = 2.0 * ops::sin((bound * tighter).min(core::f32::consts::PI) * 0.25);
        chord * chord
    };
    (0..=turns.len()).map(limit).collect()
}

/// Squared distance of two unit quaternions, the nearer of the two signs.
fn squared_chord(a: Rotation<f32>, b: Rotation<f32>) -> f32 {
    let b = if a.dot(b) < 0.0 { -b } else { b };
    let difference = [a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w];
    difference.iter().map(|d| d * d).sum()
}

/// 0, and the sum of the first one, two, … numbers.
fn sums(numbers: &[f32]) -> Vec<f64> {
    let mut sum = 0.0;
    let mut sums = vec![0.0];
    sums.extend(numbers.iter().map(|&number| {
        sum += f64::from(number);
        sum
    }));
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Turns about Y, degrees, with their frames' times at 30 Hz.
    fn turns_about_y(degrees: &[f32]) -> (Vec<f32>, Vec<[f32; 4]>) {
        let turn = |degrees: &f32| {
            let (s, c) = ops::sin_cos(degrees.to_radians() * 0.5);
            [0.0, s, 0.0, c]
        };
        (frames(degrees.len()), degrees.iter().map(turn).collect())
    }

    fn frames(count: usize) -> Vec<f32> {
        (0..count).map(|i| (i as f64 / 30.0) as f32).collect()
    }

    #[test]
    fn a_steady_turn_needs_its_ends_only() {
        let degrees: Vec<f32> = (0..40).map(|i| i as f32).collect();
        let (times, values) = turns_about_y(&degrees);
        assert_eq!(rotation_keys(&times, &values, 0.1), [0, 39]);
    }

    #[test]
    fn a_constant_track_becomes_two_keys() {
        let (times, values) = turns_about_y(&[30.0; 1000]);
        assert_eq!(rotation_keys(&times, &values, 0.01), [0, 999]);
        assert_eq!(translation_keys(&times, &[[1.0; 3]; 1000], 1e-6), [0, 999]);
    }

    #[test]
    fn a_bound_of_zero_keeps_all_keys() {
        let (times, values) = turns_about_y(&[0.0; 4]);
        for bound in [0.0, -1.0, f32::NAN] {
            assert_eq!(rotation_keys(&times, &values, bound), [0, 1, 2, 3]);
        }
    }

    #[test]
    fn fewer_keys_are_used_where_they_save_space() {
        let keys = |count: u32| (0..count).collect::<Vec<u32>>();
        assert_eq!(if_smaller(keys(79), 100, 4), Some(keys(79)));
        assert_eq!(if_smaller(keys(80), 100, 4), None);
        assert_eq!(if_smaller(keys(74), 100, 3), Some(keys(74)));
        assert_eq!(if_smaller(keys(75), 100, 3), None);
        assert_eq!(if_smaller(keys(66), 100, 2), Some(keys(66)));
        assert_eq!(if_smaller(keys(67), 100, 2), None);
    }

    #[test]
    fn short_tracks_stay_as_they_are() {
        assert_eq!(rotation_keys(&[], &[], 1.0), [0_u32; 0]);
        assert_eq!(rotation_keys(&[0.5], &[[0.0, 0.0, 0.0, 1.0]], 1.0), [0]);
        assert_eq!(
            translation_keys(&[0.0, 1.0], &[[0.0; 3], [1.0; 3]], 1.0),
            [0, 1]
        );
    }

    #[test]
    fn rot_02_a_full_turn_keeps_keys_on_its_way() {
        let (times, values) = turns_about_y(&[0.0, 120.0, 240.0, 360.0]);
        for bound in [0.5, 90.0, 1000.0] {
            assert_eq!(rotation_keys(&times, &values, bound), [0, 1, 2, 3]);
        }
        let slow: Vec<f32> = (0..=72).map(|i| i as f32 * 5.0).collect();
        let (times, values) = turns_about_y(&slow);
        let kept = rotation_keys(&times, &values, 1000.0);
        for pair in kept.windows(2) {
            assert!(pair[1] - pair[0] <= 24, "{kept:?}");
        }
    }

    #[test]
    fn a_key_with_the_other_sign_is_the_same_rotation() {
        let (times, mut values) = turns_about_y(&[0.0, 1.0, 2.0, 3.0, 4.0]);
        values[2] = values[2].map(|c| -c);
        assert_eq!(rotation_keys(&times, &values, 0.1), [0, 4]);
    }

    #[test]
    fn a_pulse_of_one_key_is_kept() {
        let mut degrees = vec![0.0; 64];
        degrees[37] = 3.0;
        let (times, values) = turns_about_y(&degrees);
        let kept = rotation_keys(&times, &values, 0.5);
        assert_eq!(kept, [0, 36, 37, 38, 63]);
    }

    /// Angle of two unit rotations in degrees, in f64 so that the measure adds no error of its own.
    fn degrees_between(a: [f64; 4], b: [f64; 4]) -> f64 {
        let chord = |sign: f64| {
            let squares = (0..4).map(|i| (a[i] - sign * b[i]).powi(2));
            squares.sum::<f64>().sqrt()
        };
        4.0 * (chord(1.0).min(chord(-1.0)) * 0.5).asin().to_degrees()
    }

    /// The LINEAR track of these keys at `time`, by the textbook formula in f64.
    fn sample(times: &[f32], values: &[[f32; 4]], time: f64) -> [f64; 4] {
        let next = times.partition_point(|&t| f64::from(t) <= time);
        let next = next.clamp(1, times.len() - 1);
        let (t0, t1) = (f64::from(times[next - 1]), f64::from(times[next]));
        let u = ((time - t0) / (t1 - t0)).clamp(0.0, 1.0);
        // The arc from the chord: the arc cosine of f32 quaternions would be off by more than the bounds tested here.
        let (a, mut b) = (unit(values[next - 1]), unit(values[next]));
        if (0..4).map(|i| a[i] * b[i]).sum::<f64>() < 0.0 {
            b = b.map(|c| -c);
        }
        let chord = (0..4).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt();
        let angle = 2.0 * (chord * 0.5).asin();
        if angle < 1e-9 {
            return a;
        }
        let (f, g) = (((1.0 - u) * angle).sin(), (u * angle).sin());
        core::array::from_fn(|i| (f * a[i] + g * b[i]) / angle.sin())
    }

    fn unit(q: [f32; 4]) -> [f64; 4] {
        let q = q.map(f64::from);
        let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
        q.map(|c| c / length)
    }

    fn worst_degrees(times: &[f32], values: &[[f32; 4]], kept: &[u32]) -> f64 {
        let kept_times: Vec<f32> = kept.iter().map(|&k| times[k as usize]).collect();
        let kept_values: Vec<[f32; 4]> = kept.iter().map(|&k| values[k as usize]).collect();
        let steps = (times.len() - 1) * 8;
        let mut worst = 0.0_f64;
        for i in 0..=steps {
            let (key, part) = (i / 8, (i % 8) as f64 / 8.0);
            let t0 = f64::from(times[key]);
            let t1 = f64::from(times[(key + 1).min(times.len() - 1)]);
            let time = t0 + (t1 - t0) * part;
            let track = sample(times, values, time);
            worst = worst.max(degrees_between(
                track,
                sample(&kept_times, &kept_values, time),
            ));
        }
        worst
    }

    /// A wandering rotation: each key turns the one before by up to `step` degrees.
    fn wander(step: f32) -> impl Strategy<Value = Vec<[f32; 4]>> {
        let turn = prop::array::uniform3(-1.0_f32..1.0);
        prop::collection::vec(turn, 2..120).prop_map(move |turns| {
            let mut q = Rotation::<f32>::identity();
            let next = turns.into_iter().map(|axis| {
                let axis = axis.map(|c| c * (step.to_radians() * 0.5));
                q = (q * Rotation::new(axis[0], axis[1], axis[2], 1.0)).normalized();
                q.lane(0)
            });
            next.collect()
        })
    }

    proptest! {
        #[test]
        fn the_bound_holds_at_and_between_the_keys(
            values in prop_oneof![wander(0.05), wander(3.0), wander(40.0)],
            bound in prop_oneof![0.01_f32..0.1, 0.1_f32..5.0],
        ) {
            let times = frames(values.len());
            let kept = rotation_keys(&times, &values, bound);
            prop_assert_eq!(kept[0], 0);
            prop_assert_eq!(kept[kept.len() - 1] as usize, values.len() - 1);
            let worst = worst_degrees(&times, &values, &kept);
            // f32 quaternions resolve about 1e-5 degrees.
            prop_assert!(worst <= f64::from(bound) + 5e-5, "{} > {}", worst, bound);
        }

        #[test]
        fn kept_rotations_are_never_a_half_turn_apart(values in wander(60.0), bound in 0.1_f32..400.0) {
            let times = frames(values.len());
            let kept = rotation_keys(&times, &values, bound);
            for pair in kept.windows(2) {
                let [a, b] = [pair[0], pair[1]].map(|k| unit(values[k as usize]));
                prop_assert!(pair[1] == pair[0] + 1 || degrees_between(a, b) < 120.01);
            }
        }

        #[test]
        fn translations_stay_within_their_bound(
            values in prop::collection::vec(prop::array::uniform3(-1.0_f32..1.0), 2..100),
            bound in 0.001_f32..2.0,
        ) {
            let times = frames(values.len());
            let kept = translation_keys(&times, &values, bound);
            for pair in kept.windows(2) {
                let (from, to) = (pair[0] as usize, pair[1] as usize);
                for key in from..=to {
                    let u = f64::from(times[key] - times[from]) / f64::from(times[to] - times[from]);
                    let error: f64 = (0..3).map(|i| {
                        let (a, b) = (f64::from(values[from][i]), f64::from(values[to][i]));
                        (a + (b - a) * u - f64::from(values[key][i])).powi(2)
                    }).sum();
                    prop_assert!(error.sqrt() <= f64::from(bound) + 1e-5);
                }
            }
        }
    }
}
