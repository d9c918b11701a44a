//! Euler angles: rotations as turns about three axes, in the orders that limits and drivers use. `[C2]` `[Q1]`

use bevy_math::ops;
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::lane::Lane;
use crate::rotation::Rotation;

/// How near to ±1 the sine of the middle angle counts as gimbal lock. `[C2]`
pub const GIMBAL_SINE: f32 = 1.0 - 1e-6;

/// Euler angles in ZXY order, radians: `q = qy · qx · qz`. `[C2]`
///
/// At gimbal lock (|sin x| above [`GIMBAL_SINE`]) z is 0 and y carries the whole turn.
pub fn to_euler_zxy(q: Rotation<f32>) -> [f32; 3] {
    let Rotation { x, y, z, w } = q;
    let sine = 2.0 * (w * x - y * z);
    let ex = ops::asin(sine.clamp(-1.0, 1.0));
    if sine.abs() > GIMBAL_SINE {
        return [ex, wrapped(2.0 * ops::atan2(y, w)), 0.0];
    }
    let ey = ops::atan2(2.0 * (w * y + x * z), 1.0 - 2.0 * (x * x + y * y));
    let ez = ops::atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (x * x + z * z));
    [ex, ey, ez]
}

/// The rotation `qy · qx · qz` of Euler angles `[x, y, z]`, radians. `[C2]`
pub fn from_euler_zxy(euler: [f32; 3]) -> Rotation<f32> {
    let [(sx, cx), (sy, cy), (sz, cz)] = euler.map(|angle| ops::sin_cos(angle * 0.5));
    compose_half_angles((sx, cx), (sy, cy), (sz, cz))
}

/// `qy · qx · qz` from the sines and cosines of the half angles. `[C2]`
#[inline(always)]
pub fn compose_half_angles<L: Lane>(
    (sx, cx): (L, L),
    (sy, cy): (L, L),
    (sz, cz): (L, L),
) -> Rotation<L> {
    Rotation::new(
        (cy * cz) * sx + (sy * sz) * cx,
        (sy * cz) * cx - (cy * sz) * sx,
        (cy * sz) * cx - (sy * cz) * sx,
        (cy * cz) * cx + (sy * sz) * sx,
    )
}

/// The product of turns about the axes that a rotation is split into. `[Q1]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
pub enum EulerProduct {
    /// q = qx·qy·qz.
    #[default]
    Xyz,
    /// q = qz·qy·qx: the turn about x comes first, then y, then z (Unity's `RotationOrder.XYZ`).
    Zyx,
}

impl EulerProduct {
    /// The angles about x, y, z of a unit quaternion, radians; at the pole of y the outer angle carries the whole turn.
    pub fn split(self, q: Rotation<f32>) -> [f32; 3] {
        let Rotation { x, y, z, w } = q;
        let sign = match self {
            Self::Xyz => 1.0,
            Self::Zyx => -1.0,
        };
        let sine = 2.0 * (w * y + sign * (x * z));
        let ey = ops::asin(sine.clamp(-1.0, 1.0));
        if sine.abs() > GIMBAL_SINE {
            return match self {
                Self::Xyz => [wrapped(2.0 * ops::atan2(x, w)), ey, 0.0],
                Self::Zyx => [0.0, ey, wrapped(2.0 * ops::atan2(z, w))],
            };
        }
        let ex = ops::atan2(2.0 * (w * x - sign * (y * z)), 1.0 - 2.0 * (x * x + y * y));
        let ez = ops::atan2(2.0 * (w * z - sign * (x * y)), 1.0 - 2.0 * (y * y + z * z));
        [ex, ey, ez]
    }

    /// The rotation of angles about x, y, z, radians.
    pub fn compose(self, euler: [f32; 3]) -> Rotation<f32> {
        let [(sx, cx), (sy, cy), (sz, cz)] = euler.map(|angle| ops::sin_cos(angle * 0.5));
        let (about_x, about_y, about_z) = (
            Rotation::new(sx, 0.0, 0.0, cx),
            Rotation::new(0.0, sy, 0.0, cy),
            Rotation::new(0.0, 0.0, sz, cz),
        );
        match self {
            Self::Xyz => about_x * about_y * about_z,
            Self::Zyx => about_z * about_y * about_x,
        }
    }
}

/// An angle in (−π, π].
fn wrapped(angle: f32) -> f32 {
    use core::f32::consts::{PI, TAU};
    if angle > PI {
        angle - TAU
    } else if angle <= -PI {
        angle + TAU
    } else {
        angle
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rotation::{angle_between, mirror_x};
    use core::f32::consts::{FRAC_PI_2, PI};

    #[test]
    fn c2_the_rotation_survives_gimbal_lock() {
        for ex in [FRAC_PI_2, -FRAC_PI_2, 0.3] {
            for (ey, ez) in [(0.4, 0.9), (-2.0, 1.0), (PI, 0.0)] {
                let q = from_euler_zxy([ex, ey, ez]);
                let back = from_euler_zxy(to_euler_zxy(q));
                assert!(angle_between(q, back) < 3e-3, "{ex} {ey} {ez}");
            }
        }
    }

    #[test]
    fn c1_a_mirrored_rotation_has_mirrored_angles() {
        let q = from_euler_zxy([10.0, 15.0, -40.0].map(f32::to_radians));
        let [x, y, z] = to_euler_zxy(mirror_x(q)).map(f32::to_degrees);
        assert!((x - 10.0).abs() < 1e-4 && (y + 15.0).abs() < 1e-4 && (z - 40.0).abs() < 1e-4);
    }

    #[test]
    fn q1_angles_come_back_out_of_the_product_they_went_into() {
        for product in [EulerProduct::Xyz, EulerProduct::Zyx] {
            for angles in [[0.3, -0.4, 1.2], [-2.0, 1.1, 0.0], [0.1, FRAC_PI_2, 0.7]] {
                let q = product.compose(angles);
                let back = product.compose(product.split(q));
                assert!(angle_between(q, back) < 3e-3, "{product:?} {angles:?}");
            }
        }
    }
}
