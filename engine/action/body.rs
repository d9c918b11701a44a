//! The body of an action: how its curves move it, and how fast it is about to move. `[K5]` `[K6]`

use bevy_math::{DVec3, Vec3};
#[cfg(feature = "rig_files")]
use serde::{Deserialize, Serialize};

use crate::euler::from_euler_zxy;
use crate::rotation::{BlendError, Rotation, nlerp};

/// Where the curves put the body. `[K5]`
///
/// Horizontally relative, vertically absolute:
///
/// ```text
/// x, z: base + heading·((c(t) − c(0)) · reference_height) · w
/// y:    base + w · (support_height + c_y(t) · reference_height − base)
/// ```
/// `base`, `support_height` and the result are in the body joint's parent space, metres; `heading` is a turn about
/// +Y; `c_t` and `c_0` are the curves now and at the start, in reference heights; `reference_height` in metres; `w` in
/// [0, 1].
pub fn body_translation(
    base: Vec3,
    heading: Rotation<f32>,
    c_t: Vec3,
    c_0: Vec3,
    reference_height: f32,
    support_height: f32,
    w: f32,
) -> Vec3 {
    let moved = (c_t - c_0) * reference_height;
    let turned = Vec3::from(heading.rotate(Vec3::new(moved.x, 0.0, moved.z).into()));
    let target = support_height + c_t.y * reference_height;
    Vec3::new(
        base.x + turned.x * w,
        base.y + w * (target - base.y),
        base.z + turned.z * w,
    )
}

/// How the curves turn the body, on the joint's own side: angles `[x, y, z]` in radians times the weight. `[K5]` `[C2]`
pub fn body_rotation(euler_rad: [f32; 3], w: f32) -> Rotation<f32> {
    from_euler_zxy(euler_rad.map(|angle| angle * w))
}

/// How the curves turn the head: from the reference towards the angles `[x, y, z]`, radians. `[K5]` `[B1]` `[C2]`
///
/// Not what [`body_rotation`] does: a head looks somewhere, a body is turned by something.
///
/// # Errors
/// [`BlendError`] when the reference is no rotation or `w` is outside [0, 1].
pub fn head_rotation(
    reference: Rotation<f32>,
    euler_rad: [f32; 3],
    w: f32,
) -> Result<Rotation<f32>, BlendError> {
    nlerp(reference, from_euler_zxy(euler_rad), w)
}

/// How [`feed_forward`] measures, and how much of it is believed. `[K6]`
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(default, deny_unknown_fields))]
pub struct FeedForwardRule {
    /// Between samples, seconds, > 0. Default 1/60.
    pub step: f64,
    /// Longest velocity, metres per second, ≥ 0. Default infinite.
    pub velocity_max: f32,
    /// Longest acceleration, metres per second squared, ≥ 0. Default infinite.
    pub acceleration_max: f32,
}

impl Default for FeedForwardRule {
    fn default() -> Self {
        Self {
            step: 1.0 / 60.0,
            velocity_max: f32::INFINITY,
            acceleration_max: f32::INFINITY,
        }
    }
}

/// How fast something is about to move. `[K6]`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct FeedForward {
    /// Metres per second.
    pub velocity: Vec3,
    /// Metres per second squared.
    pub acceleration: Vec3,
}

/// Velocity and acceleration at `t` of a point whose position is known ahead of time. `[K6]`
///
/// ```text
/// v = (p(t+h) − p(t−h)) / 2h          a = (p(t+h) − 2p(t) + p(t−h)) / h²
/// t − h < 0, so that nothing before 0 is read:
/// v = (p(t+h) − p(0)) / (t + h)       a = (p(t+2h) − 2p(t+h) + p(t)) / h²
/// ```
/// Each is shortened to its maximum. Before 0, and for a step that is not above 0, nothing moves; nor does what is not
/// finite.
pub fn feed_forward(position: impl Fn(f64) -> Vec3, t: f64, rule: &FeedForwardRule) -> FeedForward {
    let h = rule.step;
    let usable = h > 0.0 && h.is_finite() && t >= 0.0 && t.is_finite();
    if !usable {
        return FeedForward::default();
    }
    let p = |time: f64| position(time).as_dvec3();
    let (velocity, acceleration) = if t - h < 0.0 {
        let (now, next) = (p(t), p(t + h));
        let curved = p(t + 2.0 * h) - next * 2.0 + now;
        ((next - p(0.0)) / (t + h), curved / (h * h))
    } else {
        let (before, next) = (p(t - h), p(t + h));
        let curved = next - p(t) * 2.0 + before;
        ((next - before) / (2.0 * h), curved / (h * h))
    };
    FeedForward {
        velocity: shortened(velocity, rule.velocity_max),
        acceleration: shortened(acceleration, rule.acceleration_max),
    }
}

/// `v`, or a vector of length `longest` along it.
fn shortened(v: DVec3, longest: f32) -> Vec3 {
    let (length, longest) = (v.length(), f64::from(longest));
    let held = if length > longest {
        v * (longest / length)
    } else {
        v
    };
    let held = held.as_vec3();
    if held.is_finite() { held } else { Vec3::ZERO }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation::angle_between;

    #[test]
    fn k5_a_body_goes_up_to_its_target_by_its_weight() {
        let (base, up) = (Vec3::new(0.0, 0.9, 0.0), Vec3::new(0.0, 1.05, 0.0));
        let at = |w| body_translation(base, Rotation::identity(), up, Vec3::ZERO, 1.0, 0.0, w);
        assert!((at(0.4).y - 0.96).abs() < 1e-6, "{}", at(0.4));
        assert_eq!(at(0.0), base);
    }

    #[test]
    fn k5_a_body_walks_where_it_faces_from_where_it_stood() {
        let quarter = from_euler_zxy([0.0, core::f32::consts::FRAC_PI_2, 0.0]);
        let (base, start) = (Vec3::new(1.0, 0.5, 2.0), Vec3::new(5.0, 0.25, 5.0));
        let now = start + Vec3::new(0.0, 0.0, 1.0);
        // One reference height of 2 m along +Z, turned to +X; half of it by the weight.
        let at = body_translation(base, quarter, now, start, 2.0, 0.0, 0.5);
        assert!((at - Vec3::new(2.0, 0.5, 2.0)).length() < 1e-6, "{at}");
    }

    #[test]
    fn k5_body_and_head_are_not_exchanged() {
        let angles = [0.0, 1.0, 0.0];
        let reference = from_euler_zxy([0.0, 0.5, 0.0]);
        let head = head_rotation(reference, angles, 0.5).unwrap();
        let body = reference * body_rotation(angles, 0.5);
        let turned = |q| angle_between(Rotation::identity(), q);
        assert!((turned(head) - 0.75).abs() < 1e-6, "{}", turned(head));
        assert!((turned(body) - 1.0).abs() < 1e-6, "{}", turned(body));
        assert!(head_rotation(Rotation::splat([0.0; 4]), angles, 0.5).is_err());
    }

    #[test]
    fn k6_a_parabola_gives_its_own_derivatives() {
        let rule = FeedForwardRule {
            step: 0.125,
            ..FeedForwardRule::default()
        };
        let p = |t: f64| Vec3::new((t * t) as f32, t as f32, 0.0);
        for t in [0.125, 0.5, 3.0] {
            let found = feed_forward(p, t, &rule);
            assert_eq!(found.velocity, Vec3::new(2.0 * t as f32, 1.0, 0.0));
            assert_eq!(found.acceleration, Vec3::new(2.0, 0.0, 0.0));
        }
    }

    #[test]
    fn k6_nothing_before_zero_is_read() {
        let p = |t: f64| {
            assert!(t >= 0.0, "read at {t}");
            Vec3::new(0.0, 0.0, t as f32)
        };
        let rule = FeedForwardRule::default();
        for t in [0.0, 0.001, 1.0 / 60.0, 0.02] {
            let found = feed_forward(p, t, &rule);
            assert!((found.velocity.z - 1.0).abs() < 1e-4, "{t}: {found:?}");
        }
        assert_eq!(feed_forward(p, -1.0, &rule), FeedForward::default());
    }

    #[test]
    fn k6_lengths_are_capped_and_directions_kept() {
        let rule = FeedForwardRule {
            step: 0.1,
            velocity_max: 5.0,
            acceleration_max: 1.0,
        };
        let jump = |t: f64| {
            if t > 0.55 {
                Vec3::new(3.0, 4.0, 0.0)
            } else {
                Vec3::ZERO
            }
        };
        let found = feed_forward(jump, 0.5, &rule);
        assert!((found.velocity - Vec3::new(3.0, 4.0, 0.0)).length() < 1e-6);
        assert!((found.acceleration - Vec3::new(0.6, 0.8, 0.0)).length() < 1e-6);
        assert_eq!(
            feed_forward(|_| Vec3::NAN, 0.5, &rule),
            FeedForward::default()
        );
    }
}
