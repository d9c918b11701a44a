//! Claim: a polynomial curve keeps its values when it becomes a CUBICSPLINE. `[K2]`
//!
//! Random curves of several kinds are converted, sampled through [`Track::sample`] as any clip is, and compared with
//! the polynomials evaluated here in f64. Only the moment `[t', t)` before a jump is left out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use flounce::clip::Track;
use flounce::curve::{
    PolynomialCurve, PolynomialKey, SplineKey, bake_weight_track, shared_cubic_spline,
    translation_track,
};
use flounce::pose::JointTransform;

/// How far a sample may lie from the polynomial, as a share of the curve's largest value (at least 1).
const TOLERANCE: f64 = 2e-6;
/// Random times of all kinds of curves together.
const SAMPLES: usize = 700_000;

/// `SplitMix64` (Steele, Lea and Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * ((self.next() >> 11) as f64 / (1_u64 << 53) as f64)
    }
    fn chance(&mut self, share: f64) -> bool {
        self.between(0.0, 1.0) < share
    }
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Each segment meets the next key.
    Continuous,
    /// Every segment ends in a jump.
    Jumping,
    /// Constant segments, each at another value.
    Steps,
    /// Now continuous, now a jump; lengths from a frame to half a minute.
    Mixed,
    /// Segments of 1e-5 s to 5e-5 s between long ones.
    Tiny,
    /// Begins before 0 and ends after ten minutes.
    Late,
    /// Values of a thousand.
    Large,
}

const KINDS: [Kind; 7] = [
    Kind::Continuous,
    Kind::Jumping,
    Kind::Steps,
    Kind::Mixed,
    Kind::Tiny,
    Kind::Late,
    Kind::Large,
];

fn evaluate(keys: &[PolynomialKey], t: f64) -> f64 {
    let after = keys.iter().filter(|key| f64::from(key.t) <= t).count();
    if after == 0 {
        return f64::from(keys[0].v);
    }
    let key = keys[after - 1];
    let d = if after == keys.len() {
        0.0
    } else {
        t - f64::from(key.t)
    };
    let [c3, c2, c1, v] = [key.c3, key.c2, key.c1, key.v].map(f64::from);
    v + c1 * d + c2 * d.powi(2) + c3 * d.powi(3)
}

fn random_keys(random: &mut Random, kind: Kind) -> Vec<PolynomialKey> {
    let size = if matches!(kind, Kind::Large) {
        1000.0
    } else {
        1.0
    };
    let mut t = match kind {
        Kind::Late => -2.0,
        _ => random.between(0.0, 2.0),
    };
    let count = 2 + (random.next() % 9) as usize;
    let mut keys: Vec<PolynomialKey> = Vec::new();
    for _ in 0..count {
        let length = match kind {
            Kind::Mixed => random.between(-4.1, 3.4).exp(),
            Kind::Tiny if random.chance(0.5) => random.between(1e-5, 5e-5),
            Kind::Late => random.between(20.0, 100.0),
            _ => random.between(0.02, 1.5),
        };
        let next = (t + length) as f32;
        let meets = match kind {
            Kind::Jumping | Kind::Steps => false,
            Kind::Mixed | Kind::Tiny => random.chance(0.5),
            Kind::Continuous | Kind::Late | Kind::Large => true,
        };
        let v = match keys.last() {
            Some(last) if meets => {
                let end = PolynomialKey {
                    t: f32::MAX,
                    ..*last
                };
                evaluate(&[*last, end], t) as f32
            }
            _ => (size * random.between(-1.0, 1.0)) as f32,
        };
        // Sizes are those of the whole segment, so that short and long ones move alike.
        let slopes = if matches!(kind, Kind::Steps) {
            0.0
        } else {
            size
        };
        let mut part =
            |power: i32| (slopes * random.between(-1.0, 1.0) / length.powi(power)) as f32;
        keys.push(PolynomialKey {
            t: t as f32,
            c3: part(3),
            c2: part(2),
            c1: part(1),
            v,
        });
        t = f64::from(next);
    }
    keys.dedup_by(|later, earlier| later.t <= earlier.t);
    keys
}

/// Whether `t` lies between a key that was added before a jump, or the start of a segment too short for one, and the
/// jump; an f64 reading of the model's rule.
fn before_jump(keys: &[PolynomialKey], t: f64) -> bool {
    let after = keys.iter().filter(|key| f64::from(key.t) <= t).count();
    if after == 0 || after == keys.len() {
        return false;
    }
    let (own, next) = (keys[after - 1], keys[after]);
    let (start, end) = (f64::from(own.t), f64::from(next.t));
    let held = PolynomialKey { t: f32::MAX, ..own };
    let (left, right) = (evaluate(&[own, held], end), f64::from(next.v));
    if (left - right).abs() <= 1e-6 * right.abs().max(1.0) {
        return false;
    }
    let mut led = (end - 1e-5) as f32;
    if f64::from(led) > end - 1e-5 {
        led = led.next_down();
    }
    end - start <= 2e-5 || led <= own.t || t >= f64::from(led)
}

/// The largest magnitude of the curve's values, at least 1.
fn scale(keys: &[PolynomialKey]) -> f64 {
    let terms = keys.windows(2).map(|pair| {
        let (own, d) = (pair[0], f64::from(pair[1].t) - f64::from(pair[0].t));
        (0..=16)
            .map(|k| evaluate(pair, f64::from(own.t) + d * f64::from(k) / 16.0).abs())
            .fold(0.0, f64::max)
    });
    terms.fold(1.0, f64::max)
}

fn x_at(track: &Track, time: f32) -> [f32; 3] {
    let mut pose = JointTransform::IDENTITY;
    track.sample(time, &mut pose);
    pose.translation.to_array()
}

fn random_time(random: &mut Random, keys: &[PolynomialKey]) -> f32 {
    let pick = (random.next() % keys.len() as u64) as usize;
    let near = f64::from(keys[pick].t);
    let (first, last) = (f64::from(keys[0].t), f64::from(keys[keys.len() - 1].t));
    (match random.next() % 4 {
        0 => near + random.between(-1e-4, 1e-4),
        1 => near + random.between(-0.05, 0.05),
        _ => random.between(first - 0.5, last + 0.5),
    }) as f32
}

#[test]
fn k2_seven_hundred_thousand_times_keep_their_value() {
    let mut random = Random(20_240_611);
    let mut compared = 0;
    for kind in KINDS {
        let (mut worst, mut left_out) = ((0.0, 0.0_f32), 0);
        let each = 2000;
        for _ in 0..SAMPLES / KINDS.len() / each {
            let sets: [_; 3] = core::array::from_fn(|_| random_keys(&mut random, kind));
            let curves = sets.clone().map(|keys| PolynomialCurve::new(keys).unwrap());
            let track = translation_track(0, 0, [&curves[0], &curves[1], &curves[2]]);
            let scales = sets.each_ref().map(|keys| scale(keys));
            for _ in 0..each {
                let time = random_time(&mut random, &sets[0]);
                let found = x_at(&track, time);
                for axis in 0..3 {
                    let t = f64::from(time);
                    if before_jump(&sets[axis], t) {
                        left_out += 1;
                        continue;
                    }
                    let off = (f64::from(found[axis]) - evaluate(&sets[axis], t)).abs();
                    if off / scales[axis] > worst.0 {
                        worst = (off / scales[axis], time);
                    }
                    compared += 1;
                }
            }
        }
        assert!(
            worst.0 <= TOLERANCE,
            "{kind:?}: off by {:e} at {} s",
            worst.0,
            worst.1
        );
        assert!(
            left_out < SAMPLES / 10,
            "{kind:?}: {left_out} times left out"
        );
    }
    assert!(compared >= SAMPLES, "{compared} compared");
}

#[test]
fn k2_a_curve_alone_and_in_company_is_the_same_curve() {
    let mut random = Random(7);
    for kind in KINDS {
        for _ in 0..50 {
            let sets: [_; 3] = core::array::from_fn(|_| random_keys(&mut random, kind));
            let curves = sets.clone().map(|keys| PolynomialCurve::new(keys).unwrap());
            let (times, shared) = shared_cubic_spline(&curves.each_ref());
            assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{kind:?}");
            for (curve, shared) in curves.iter().zip(&shared) {
                let own = curve.to_cubic_spline();
                let kept: Vec<SplineKey> = shared
                    .iter()
                    .filter(|key| own.iter().any(|own| own.time == key.time))
                    .copied()
                    .collect();
                assert_eq!(kept, own, "{kind:?}");
            }
        }
    }
}

#[test]
fn k2_the_curve_itself_is_the_polynomial() {
    let mut random = Random(11);
    for kind in KINDS {
        for _ in 0..50 {
            let keys = random_keys(&mut random, kind);
            let curve = PolynomialCurve::new(keys.clone()).unwrap();
            for _ in 0..100 {
                let t = f64::from(random_time(&mut random, &keys));
                let off = (f64::from(curve.value(t)) - evaluate(&keys, t)).abs();
                assert!(
                    off <= 1e-7 * scale(&keys),
                    "{kind:?}: off by {off:e} at {t}"
                );
            }
        }
    }
}

#[test]
fn k2_a_tiny_segment_costs_no_more_than_itself() {
    for length in [1e-6_f32, 1e-5, 1.9e-5, 2.1e-5, 4e-5] {
        let key = |t: f32, c1: f32, v: f32| PolynomialKey {
            t,
            c1,
            v,
            ..PolynomialKey::default()
        };
        let keys = vec![
            key(0.0, 1.0, 0.0),
            key(0.5, 0.0, 3.0),
            key(0.5 + length, -1.0, 0.25),
        ];
        let keys = [keys, vec![key(1.5, 0.0, -0.75)]].concat();
        let curve = PolynomialCurve::new(keys.clone()).unwrap();
        let track = bake_weight_track(0, 0, &curve);
        for step in 0..=30_000 {
            let time = step as f32 * 5e-5;
            let found = track.sample_bake_weight(time).unwrap();
            let off = (f64::from(found) - evaluate(&keys, f64::from(time))).abs();
            let allowed = if before_jump(&keys, f64::from(time)) {
                4.0
            } else {
                6e-6
            };
            assert!(off <= allowed, "{length}: off by {off:e} at {time}");
        }
    }
}
