//! A fraction of a rotation: the way from no rotation to a delta, gone to a weight. `[L2]`
//!
//! `slerp(identity, D, w)` is an angle and two sines in the textbook. Here it is one rational function of the weight
//! and of the delta, built from `+ − × ÷` alone: the same bits on every machine and in every lane, nothing that would
//! send lanes back to a scalar library, and no branch near the identity, where the sine form divides 0 by 0.
//!
//! ```text
//! D = (n·sin θ, cos θ), cos θ ≥ 0         θ is half the angle of the rotation, 0 to π/2
//! k = n·tan(θ/2) = D.xyz / (1 + D.w)      no root; |k| ≤ 1
//! q = k·k = (1 − D.w) / (1 + D.w)         its digits matter less the smaller it is
//! n·tan(wθ/2) = g·k, g = tan(w·atan √q) / √q
//! D_w = (2·g·k, 1 − g²q) / (1 + g²q)      the half-angle formulas
//! ```
//!
//! `g` comes from a continued fraction that is as old as *Euler 1748* (the tangent of a multiple of an angle):
//!
//! ```text
//! g = w / (1 + (1² − m)q / (3 + (2² − m)q / (5 + (3² − m)q / (7 + …))))      m = w²
//! ```
//!
//! At w = 1 every tail vanishes; elsewhere it gains a factor of 6 per level at q = 1, where it is slowest. Cut off after
//! seven levels, with 15 + (3.3 − 0.6m)q in place of the last denominator (about where the tails settle: the next would
//! be 15 + 64q / (17 + …)), it is off by 2e-8 radians at most, a tenth of what rounding adds. Multiplied out it is
//! `w·B/A` with two polynomials of the fourth degree in q, whose coefficients are polynomials in m, all of them
//! positive: sums that lose no digits. With one weight for all joints the coefficients are computed once.
//!
//! *Eberly 2011, A Fast and Accurate Algorithm for Computing SLERP*, has the same aim with two truncated series in
//! cos θ − 1; those need twelve terms each for these digits.

use crate::lane::Lane;
use crate::rotation::Rotation;

/// Coefficients of q to the powers 1 to 4 in A, the polynomial below, each a polynomial in m, lowest power first. The
/// coefficient of q⁰ is 1.
const BELOW: [&[f32]; 4] = [
    &[2.086_666_7, -0.506_666_66],
    &[1.432_307_7, -0.730_256_4, 0.044_102_564],
    &[0.357_342_66, -0.288_888_9, 0.038_383_838, -0.001_243_201_3],
    &[
        0.023_387_723,
        -0.026_911_656,
        0.006_052_318,
        -0.000_439_264_43,
        8.781_342e-6,
    ],
];
/// The same of B, the polynomial above.
const ABOVE: [&[f32]; 4] = [
    &[1.753_333_3, -0.173_333_34],
    &[0.936_752_14, -0.199_145_3, 0.008_547_009],
    &[
        0.154_382_95,
        -0.053_811_967,
        0.005_153_069,
        -0.000_129_648_12,
    ],
    &[
        0.003_750_915_8,
        -0.001_958_337_9,
        0.000_323_232_33,
        -1.820_401_8e-5,
        2.96e-7,
    ],
];

/// How much of a rotation to take: a weight, prepared for many deltas.
#[derive(Clone, Copy, Debug)]
pub struct Fraction<L> {
    weight: L,
    below: [L; 4],
    above: [L; 4],
}

impl<L: Lane> Fraction<L> {
    /// The fraction of `weight`, 0 to 1: 0 takes nothing, 1 all. `[L2]`
    ///
    /// Outside that range the result is a rotation, but no longer the one the weight means.
    #[inline(always)]
    pub fn new(weight: L) -> Self {
        let m = weight * weight;
        let in_m = |of: &[f32]| polynomial(of, m);
        Self {
            weight,
            below: BELOW.map(in_m),
            above: ABOVE.map(in_m),
        }
    }

    /// `slerp(identity, ±delta, weight)`: the shorter way, so the sign of `delta` plays no part. `[L2]`
    ///
    /// `delta` is unit. Weight 0 gives exactly the identity, 1 gives ±`delta` to rounding, and any weight is within
    /// 3e-7 of the sine form. At a half-turn the way is that of the stored sign.
    #[inline(always)]
    pub fn of(&self, delta: Rotation<L>) -> Rotation<L> {
        let (long, length) = self.scaled(delta);
        let shrink = L::splat(1.0) / length;
        let axis = long.xyz() * shrink;
        // Divided, not multiplied: x / x is 1.
        Rotation::new(axis.x, axis.y, axis.z, long.w / length)
    }

    /// `normalise(base · slerp(identity, ±delta, weight))`: a delta on the joint's own side. `[L2]`
    #[inline(always)]
    pub fn added(&self, base: Rotation<L>, delta: Rotation<L>) -> Rotation<L> {
        (base * self.scaled(delta).0).normalized()
    }

    /// The fraction times a number above 0, and that number.
    ///
    /// ```text
    /// D_w ∝ (2·A·wB·k, A² − (wB)²·q), as long as A² + (wB)²·q      q = (1 − cos θ)/(1 + cos θ)
    /// ```
    #[inline(always)]
    fn scaled(&self, delta: Rotation<L>) -> (Rotation<L>, L) {
        let one = L::splat(1.0);
        let cosine = delta.w.abs();
        let inverse = one / (one + cosine);
        let q = (one - cosine) * inverse;
        let a = series(self.below, q);
        let b = self.weight * series(self.above, q);
        let (aa, bbq, ab) = (a * a, b * b * q, a * b);
        // + 0: a half-turn stored with w = −0 goes the way of its axis like one with w = 0.
        let sided = inverse.copysign(delta.w + L::splat(0.0));
        let axis = delta.xyz() * ((ab + ab) * sided);
        (Rotation::new(axis.x, axis.y, axis.z, aa - bbq), aa + bbq)
    }
}

/// `slerp(identity, ±delta, weight)` for one delta: see [`Fraction::of`]. `[L2]`
#[inline(always)]
pub fn fraction<L: Lane>(delta: Rotation<L>, weight: L) -> Rotation<L> {
    Fraction::new(weight).of(delta)
}

/// A polynomial, lowest power first, at least one coefficient.
#[inline(always)]
fn polynomial<L: Lane>(of: &[f32], x: L) -> L {
    let last = L::splat(of[of.len() - 1]);
    let before = &of[..of.len() - 1];
    before
        .iter()
        .rev()
        .fold(last, |sum, &coefficient| sum * x + L::splat(coefficient))
}

/// `1 + c₁q + c₂q² + c₃q³ + c₄q⁴`.
#[inline(always)]
fn series<L: Lane>(c: [L; 4], q: L) -> L {
    (((c[3] * q + c[2]) * q + c[1]) * q + c[0]) * q + L::splat(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Wide;

    /// `[x, y, z, w]` of the textbook form, in f64.
    fn by_sines(delta: [f32; 4], weight: f32) -> [f64; 4] {
        let d = delta.map(f64::from);
        let d = if d[3] < 0.0 { d.map(|c| -c) } else { d };
        let sine = (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]).sqrt();
        let angle = f64::atan2(sine, d[3]) * f64::from(weight);
        if sine == 0.0 {
            return [0.0, 0.0, 0.0, 1.0];
        }
        let (s, c) = f64::sin_cos(angle);
        [d[0] / sine * s, d[1] / sine * s, d[2] / sine * s, c]
    }

    fn turn(axis: [f64; 3], half_angle: f64) -> Rotation<f32> {
        let (s, c) = f64::sin_cos(half_angle);
        let [x, y, z] = axis.map(|a| (a * s) as f32);
        Rotation::new(x, y, z, c as f32)
    }

    #[test]
    fn l2_any_fraction_is_the_sine_forms_to_rounding() {
        let axis = [0.36, -0.48, 0.8];
        let mut largest = 0.0_f64;
        for step in 0..=900 {
            let delta = turn(axis, core::f64::consts::FRAC_PI_2 * f64::from(step) / 900.0);
            for part in 0..=100 {
                let weight = part as f32 / 100.0;
                let found = fraction(delta, weight).lane(0);
                let expected = by_sines(delta.lane(0), weight);
                for (found, expected) in found.into_iter().zip(expected) {
                    largest = largest.max((f64::from(found) - expected).abs());
                }
            }
        }
        assert!(largest < 3e-7, "off by {largest:e}");
    }

    #[test]
    fn l2_tiny_deltas_and_tiny_weights_keep_their_digits() {
        for (half_angle, weight) in [(1e-12, 0.5), (1e-5, 1e-6), (1.0, 1e-20), (1e-20, 1.0)] {
            let delta = turn([0.0, 1.0, 0.0], half_angle);
            let found = f64::from(fraction(delta, weight).y);
            let expected = by_sines(delta.lane(0), weight)[1];
            assert!((found / expected - 1.0).abs() < 1e-6, "{found:e}");
        }
    }

    #[test]
    fn l2_weight_0_takes_nothing_and_1_takes_all() {
        for step in 0..=180 {
            let delta = turn([0.6, 0.0, -0.8], f64::from(step).to_radians() / 2.0);
            for sign in [delta, -delta] {
                assert_eq!(fraction(sign, 0.0), Rotation::identity());
                let all = fraction(sign, 1.0);
                let difference = all.dot(delta).abs() - 1.0;
                assert!(difference.abs() < 4e-7, "{step}: {all:?}");
                for (all, delta) in all.lane(0).into_iter().zip(delta.lane(0)) {
                    let off = if step == 180 && all * delta < 0.0 {
                        all + delta
                    } else {
                        all - delta
                    };
                    assert!(off.abs() < 3e-7, "{step}: {all} {delta}");
                }
            }
        }
    }

    #[test]
    fn every_lane_has_the_bits_of_the_scalar() {
        let deltas: [Rotation<f32>; 8] =
            core::array::from_fn(|i| turn([0.36, -0.48, 0.8], 0.43 * i as f64));
        let weights: [f32; 8] = core::array::from_fn(|i| i as f32 / 7.0);
        let wide = Rotation::new(
            Wide(deltas.map(|d| d.x)),
            Wide(deltas.map(|d| d.y)),
            Wide(deltas.map(|d| d.z)),
            Wide(deltas.map(|d| d.w)),
        );
        let base = turn([0.0, 0.6, 0.8], 0.7);
        let found = Fraction::new(Wide(weights)).added(Rotation::splat(base.lane(0)), wide);
        for i in 0..8 {
            let alone = Fraction::new(weights[i]).added(base, deltas[i]);
            assert_eq!(
                found.lane(i).map(f32::to_bits),
                alone.lane(0).map(f32::to_bits)
            );
        }
    }

    #[test]
    fn the_coefficients_are_those_of_the_continued_fraction() {
        let at = |of: &[&[f32]; 4], m: f64, q: f64| {
            let in_m = |of: &[f32]| of.iter().rev().fold(0.0, |s, &c| s * m + f64::from(c));
            of.iter().rev().fold(0.0, |s, of| (s + in_m(of)) * q) + 1.0
        };
        for step in 0..=20 {
            for part in 0..=20 {
                let (q, m) = (f64::from(step) / 20.0, f64::from(part) / 20.0);
                let mut tail = 15.0 + (3.3 - 0.6 * m) * q;
                for k in (1..8).rev() {
                    let k = f64::from(k);
                    tail = 2.0 * k - 1.0 + (k * k - m) * q / tail;
                }
                let found = at(&BELOW, m, q) / at(&ABOVE, m, q);
                assert!((found - tail).abs() < 3e-7, "{q} {m}: {found} {tail}");
            }
        }
    }

    #[test]
    fn l2_the_facts_of_the_model() {
        let half = |axis: [f64; 3], degrees: f64| turn(axis, degrees.to_radians() / 2.0);
        let (base, delta) = (half([0.0, 1.0, 0.0], 90.0), half([1.0, 0.0, 0.0], 60.0));
        let up = crate::lane::Vec3x::new(0.0, 1.0, 0.0);
        let facts = [(1.0, [0.866_026, 0.5, 0.0]), (0.5, [0.5, 0.866_025, 0.0])];
        for (weight, expected) in facts {
            let found = Fraction::new(weight).added(base, delta).rotate(up).lane(0);
            for (found, expected) in found.into_iter().zip(expected) {
                assert!((found - expected).abs() < 2e-6, "{found} {expected}");
            }
        }
    }
}
