//! Limits: keeping a joint's deviation from rest inside an interval per Euler axis. `[V2]` `[C2]`
//!
//! ```text
//! δ = r0⁻¹·r            e = euler_ZXY(δ)            δ' = from_euler(clamp(e, low, high))
//! ```
//!
//! The hot path needs no trigonometry: an angle is kept as the sine and cosine of its half times a common length,
//! compared by the tangent of the half, which grows with the angle, and replaced by those of the end it passed; what is
//! made of the three is divided by its length once. It agrees with the trigonometric form to 2e-7. Intervals that move with a reference joint, and X intervals that lie wholly
//! beyond ±90° (where an arcsine cannot reach), take the trigonometric form.

use bevy_math::ops;

use crate::euler::{self, GIMBAL_SINE};
use crate::lane::{Lane, LaneMask, MOST_LANES, Vec3x};
use crate::rotation::Rotation;
use crate::swing::Limit;

/// One end of an interval, ready to be compared and put in place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct End<L> {
    /// Tangent of half the angle; infinite from 180° on, where it is never passed.
    pub tangent: L,
    /// Sine of half the angle.
    pub sine: L,
    /// Cosine of half the angle.
    pub cosine: L,
}

/// The intervals of a limit that is clamped on the circle, low and high end each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circle<L> {
    /// Sines of the ends of X.
    pub x: [L; 2],
    /// Ends of Y.
    pub y: [End<L>; 2],
    /// Ends of Z.
    pub z: [End<L>; 2],
}

/// A limit compiled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LimitPlan {
    /// Lower ends x y z, radians, in the joint's model frame.
    pub low: [f32; 3],
    /// Upper ends x y z, radians.
    pub high: [f32; 3],
    /// The ends on the circle.
    pub circle: Circle<f32>,
    /// Whether the interval can be clamped without trigonometry.
    pub algebraic: bool,
    /// Place of the reference joint and, per axis, how much of its angle shifts the interval.
    pub reference: Option<(usize, [f32; 3])>,
}

/// ±1 per axis: what a mirrored frame does to an angle about that axis. `[C1]`
pub fn angle_signs(sign: [f32; 3]) -> [f32; 3] {
    [sign[1] * sign[2], sign[2] * sign[0], sign[0] * sign[1]]
}

impl LimitPlan {
    /// Compiles `limit` (degrees) for a joint whose angles change sign by `signs` in its model frame, see
    /// [`angle_signs`]: an interval [low, high] of a flipped axis becomes [−high, −low].
    pub fn new(limit: &Limit, reference: Option<(usize, [f32; 3])>, signs: [f32; 3]) -> Self {
        let flip = |axis: usize| {
            let (low, high) = (limit.low[axis], limit.high[axis]);
            if signs[axis] < 0.0 {
                (-high, -low)
            } else {
                (low, high)
            }
        };
        let ends = [flip(0), flip(1), flip(2)];
        let low = ends.map(|(low, _)| low.to_radians());
        let high = ends.map(|(_, high)| high.to_radians());
        let ends_of = |(low, high): (f32, f32)| [end(low), end(high)];
        let sine = |degrees: f32| ops::sin(degrees.clamp(-90.0, 90.0).to_radians());
        let (x_low, x_high) = ends[0];
        Self {
            low,
            high,
            circle: Circle {
                x: [sine(x_low), sine(x_high)],
                y: ends_of(ends[1]),
                z: ends_of(ends[2]),
            },
            algebraic: reference.is_none() && x_low <= 90.0 && x_high >= -90.0,
            reference,
        }
    }

    /// `deviation` held inside the interval; where it already is, its bits are kept. `[V2]`
    ///
    /// `deviation` is δ, unit. `circle` are the lanes' own ends, `reference` the Euler angles of the reference joint's own
    /// deviation, radians: without a reference it is not read. Also says which lanes were out.
    #[inline(always)]
    pub fn apply<L: Lane>(
        &self,
        deviation: Rotation<L>,
        circle: &Circle<L>,
        reference: Option<[L; 3]>,
    ) -> (Rotation<L>, L::Mask) {
        if self.algebraic {
            return circle.clamp(deviation);
        }
        let mut shift = [L::splat(0.0); 3];
        if let (Some((_, weight)), Some(angles)) = (self.reference, reference) {
            for axis in 0..3 {
                shift[axis] = angles[axis] * L::splat(weight[axis]);
            }
        }
        self.clamp_angles(deviation, shift)
    }

    /// The form with trigonometry, lane by lane; the intervals are shifted by `shift`, radians.
    #[inline(always)]
    fn clamp_angles<L: Lane>(&self, q: Rotation<L>, shift: [L; 3]) -> (Rotation<L>, L::Mask) {
        let mut numbers = [0.0; 8 * MOST_LANES];
        q.store(&mut numbers);
        let [x, y, z] = shift;
        Vec3x::new(x, y, z).store(&mut numbers[4 * L::LANES..]);
        self.clamp_angles_in(L::LANES, &mut numbers);
        let out = L::splat(0.5).lt(L::load(&numbers[7 * L::LANES..]));
        (Rotation::load(&numbers), out)
    }

    /// `numbers` is `[rotation x y z w, shift x y z, whether it was out][lane]`.
    #[inline(never)]
    fn clamp_angles_in(&self, lanes: usize, numbers: &mut [f32; 8 * MOST_LANES]) {
        for lane in 0..lanes {
            let of = |component: usize| numbers[component * lanes + lane];
            let angles = euler::to_euler_zxy(Rotation::new(of(0), of(1), of(2), of(3)));
            let held: [f32; 3] = core::array::from_fn(|axis| {
                let shift = of(4 + axis);
                angles[axis].clamp_to(self.low[axis] + shift, self.high[axis] + shift)
            });
            let is_out = held != angles;
            numbers[7 * lanes + lane] = f32::from(u8::from(is_out));
            if is_out {
                let limited = euler::from_euler_zxy(held).lane(0);
                for (component, value) in limited.into_iter().enumerate() {
                    numbers[component * lanes + lane] = value;
                }
            }
        }
    }
}

impl<L: Lane> Circle<L> {
    /// `q`, a unit deviation, held between the ends; also says where it was out. `[V2]`
    #[inline(always)]
    pub fn clamp(&self, q: Rotation<L>) -> (Rotation<L>, L::Mask) {
        let (zero, half, one) = (L::splat(0.0), L::splat(0.5), L::splat(1.0));
        let Rotation { x, y, z, w } = q;
        let sine = w * x - y * z;
        let sine = (sine + sine).clamp_to(-one, one);
        let [low, high] = self.x;
        let sx = sine.clamp_to(low, high);
        let cx = (one - sx * sx).max(zero).sqrt();

        // Half the sine and the cosine of Y and of Z times the cosine of X: their length is taken out at the end.
        let (mut ys, mut yc) = (w * y + x * z, half - (x * x + y * y));
        let (mut zs, mut zc) = (w * z + x * y, half - (x * x + z * z));
        let gimbal = L::splat(GIMBAL_SINE).lt(sine.abs());
        if gimbal.any() {
            ys = L::select(gimbal, y * w, ys);
            yc = L::select(gimbal, half * (w * w - y * y), yc);
            zs = L::select(gimbal, zero, zs);
            zc = L::select(gimbal, half, zc);
        }
        let (half_y, y_out) = clamp_half(ys, yc, &self.y);
        let (half_z, z_out) = clamp_half(zs, zc, &self.z);
        let out = sine.lt(low) | high.lt(sine) | y_out | z_out;
        if !out.any() {
            return (q, out);
        }
        let limited = euler::compose_half_angles((sx, one + cx), half_y, half_z);
        let limited = limited.scaled(limited.dot(limited).inverse_sqrt());
        (Rotation::select(out, limited, q), out)
    }
}

impl Circle<f32> {
    /// The same ends in every lane.
    pub fn splat<L: Lane>(&self) -> Circle<L> {
        let end = |end: &End<f32>| End {
            tangent: L::splat(end.tangent),
            sine: L::splat(end.sine),
            cosine: L::splat(end.cosine),
        };
        Circle {
            x: self.x.map(L::splat),
            y: [end(&self.y[0]), end(&self.y[1])],
            z: [end(&self.z[0]), end(&self.z[1])],
        }
    }
}

fn end(degrees: f32) -> End<f32> {
    let (sine, cosine) = ops::sin_cos((degrees * 0.5).to_radians());
    let tangent = if degrees >= 180.0 {
        f32::INFINITY
    } else if degrees <= -180.0 {
        f32::NEG_INFINITY
    } else {
        sine / cosine
    };
    End {
        tangent,
        sine,
        cosine,
    }
}

/// Sine and cosine of half an angle, times any length.
type Half<L> = (L, L);

/// Half the angle of (sine, cosine), any length, held between two ends; times some length. Also says where it was out.
///
/// ```text
/// n = √(sine² + cosine²)    (sin a/2, cos a/2) ∝ (sine, n + cosine) on the right of the circle, ±(n − cosine, |sine|) on the left
/// ```
/// Each is exact on its side, where nothing cancels.
#[inline(always)]
fn clamp_half<L: Lane>(sine: L, cosine: L, [low, high]: &[End<L>; 2]) -> (Half<L>, L::Mask) {
    let length = (sine * sine + cosine * cosine).max(L::splat(1e-20)).sqrt();
    let large = length + cosine.abs();
    let right = L::splat(0.0).le(cosine);
    let half_sine = L::select(right, sine, large.copysign(sine));
    let half_cosine = L::select(right, large, sine.abs());
    let below = half_sine.lt(low.tangent * half_cosine);
    let above = (high.tangent * half_cosine).lt(half_sine);
    let half_sine = L::select(above, high.sine, L::select(below, low.sine, half_sine));
    let half_cosine = L::select(
        above,
        high.cosine,
        L::select(below, low.cosine, half_cosine),
    );
    ((half_sine, half_cosine), below | above)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Wide;
    use crate::rotation;
    use bevy_math::Vec3;

    fn limit(low: [f32; 3], high: [f32; 3]) -> LimitPlan {
        let limit = Limit {
            low: low.into(),
            high: high.into(),
        };
        LimitPlan::new(&limit, None, [1.0; 3])
    }

    fn degrees(q: Rotation<f32>) -> Vec3 {
        Vec3::from(euler::to_euler_zxy(q).map(f32::to_degrees))
    }

    /// Random numbers in [−1, 1).
    fn numbers(mut random: u32) -> impl FnMut() -> f32 {
        move || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 8) as f32 / 8_388_608.0 - 1.0
        }
    }

    #[test]
    fn v2_the_algebraic_form_agrees_with_the_trigonometric_one() {
        let mut next = numbers(12345);
        let mut worst = 0.0_f32;
        for _ in 0..200_000 {
            let q = Rotation::new(next(), next(), next(), next()).normalized();
            let low = [
                next() * 45.0 - 45.0,
                next() * 90.0 - 90.0,
                next() * 90.0 - 90.0,
            ];
            let high = [
                next() * 45.0 + 45.0,
                next() * 90.0 + 90.0,
                next() * 90.0 + 90.0,
            ];
            let plan = limit(low, high);
            // The split of a rotation into angles is not stable near the pole, in either form.
            if 2.0 * (q.w * q.x - q.y * q.z).abs() > 0.999 {
                continue;
            }
            let (fast, _) = plan.circle.clamp(q);
            let (exact, _) = plan.clamp_angles(q, [0.0; 3]);
            worst = worst.max(rotation::angle_between(fast, exact));
        }
        assert!(worst < 2e-5, "largest difference {worst} rad");
    }

    /// Near the poles, X at ±90°, the angles of a rotation are not those it was made of: there Y and Z turn about one axis,
    /// and only their sum is left of them. What holds is the rotation: its angles put together again are it to 3e-3 rad
    /// `[C2]`, and the two forms hold it at the same place. They take the same angles, so that a single end on Y or Z, or
    /// one on X away from the pole, finds them 2e-6 rad apart; an end on X within 0.1° of the pole up to 5e-4 rad, because
    /// a sine in f32 does not tell such angles apart any better.
    #[test]
    fn v2_at_the_poles_the_rotation_is_kept_and_the_forms_agree() {
        let mut next = numbers(54321);
        let mut worst = [0.0_f32; 5];
        for case in 0..200_000_u32 {
            // Within 2.6° of a pole, every third time within 0.17°, and every tenth time there to rounding.
            let near = if case % 3 == 0 { 0.003 } else { 0.045 };
            let off = if case % 10 == 0 { 0.0 } else { next() * near };
            let pole = if case % 2 == 0 { 1.0 } else { -1.0 };
            let x = (core::f32::consts::FRAC_PI_2 - off.abs()) * pole;
            let q = euler::from_euler_zxy([x, next() * 3.1, next() * 3.1]).normalized();
            let apart = |low: [f32; 3], high: [f32; 3]| {
                let plan = limit(low, high);
                let (fast, _) = plan.circle.clamp(q);
                rotation::angle_between(fast, plan.clamp_angles(q, [0.0; 3]).0)
            };
            let end = next() * 40.0 + 40.0;
            let mut ends = |middle: f32| {
                let [x, y, z] = [0.5, 1.0, 1.0].map(|share| (next() * 90.0 + middle) * share);
                [x, y, z]
            };
            let (low, high) = (ends(-90.0), ends(90.0));
            let again = euler::from_euler_zxy(euler::to_euler_zxy(q));
            let found = [
                rotation::angle_between(q, again),
                apart([-end, -180.0, -180.0], [end, 180.0, 180.0]),
                apart([-90.0, -end, -180.0], [90.0, end, 180.0]),
                apart([-90.0, -180.0, -end], [90.0, 180.0, end]),
                apart(low, high),
            ];
            worst = core::array::from_fn(|i| worst[i].max(found[i]));
        }
        let allowed = [3e-3, 2e-6, 2e-6, 2e-6, 5e-4];
        let held = worst
            .iter()
            .zip(allowed)
            .all(|(&found, most)| found <= most);
        assert!(
            held,
            "largest differences {worst:?} rad, allowed {allowed:?} rad"
        );
    }

    #[test]
    fn rot_05_one_sided_limits_hold_on_both_sides() {
        let plan = limit([0.0, -20.0, 0.0], [0.0, 20.0, 40.0]);
        for (angles, expected) in [
            ([10.0, 30.0, 50.0], [0.0, 20.0, 40.0]),
            ([-10.0, -30.0, -50.0], [0.0, -20.0, 0.0]),
        ] {
            let q = euler::from_euler_zxy(angles.map(f32::to_radians));
            let found = degrees(plan.apply(q, &plan.circle, None).0);
            assert!((found - Vec3::from(expected)).length() < 1e-4, "{found}");
        }
    }

    #[test]
    fn rot_05_a_mirrored_frame_mirrors_the_interval() {
        let limit = Limit {
            low: Vec3::new(0.0, -20.0, -40.0),
            high: Vec3::new(0.0, 20.0, 0.0),
        };
        let plan = LimitPlan::new(&limit, None, angle_signs([-1.0, 1.0, 1.0]));
        let (low, high) = (
            plan.low.map(f32::to_degrees),
            plan.high.map(f32::to_degrees),
        );
        assert!((Vec3::from(low) - Vec3::new(0.0, -20.0, 0.0)).length() < 1e-4);
        assert!((Vec3::from(high) - Vec3::new(0.0, 20.0, 40.0)).length() < 1e-4);
    }

    #[test]
    fn rot_06_wide_open_limits_keep_the_bits() {
        let plan = limit([-180.0; 3], [180.0; 3]);
        for angles in [[90.0, 30.0, 0.0], [-90.0, 0.0, 10.0], [5.0, 180.0, -180.0]] {
            let q = euler::from_euler_zxy(angles.map(f32::to_radians));
            assert_eq!(plan.apply(q, &plan.circle, None).0, q);
        }
    }

    #[test]
    fn every_lane_is_limited_on_its_own() {
        let plan = limit([-10.0, -20.0, -30.0], [10.0, 20.0, 30.0]);
        let q: [Rotation<f32>; 4] = [
            [0.0, 0.0, 0.0],
            [40.0, 0.0, 0.0],
            [0.0, 50.0, -60.0],
            [9.0, 19.0, 29.0],
        ]
        .map(|angles: [f32; 3]| euler::from_euler_zxy(angles.map(f32::to_radians)));
        let wide = Rotation::new(
            Wide(q.map(|q| q.x)),
            Wide(q.map(|q| q.y)),
            Wide(q.map(|q| q.z)),
            Wide(q.map(|q| q.w)),
        );
        for (limited, _) in [
            plan.circle.splat().clamp(wide),
            plan.clamp_angles(wide, [Wide([0.0; 4]); 3]),
        ] {
            for (lane, q) in q.iter().enumerate() {
                let algebraic = plan.circle.clamp(*q).0;
                assert!(
                    rotation::angle_between(Rotation::splat(limited.lane(lane)), algebraic) < 1e-6
                );
            }
        }
    }
}
