//! Additive poses: what a sample differs from its reference, added to another pose. `[L2]`
//!
//! ```text
//! D = normalise(conj(R) · S)           the delta on the joint's own (right) side, D.w ≥ 0
//! out = normalise(B · slerp(identity, D, w))
//! ```
//!
//! The side matters as soon as the base B is turned: *`out = base * delta`* turns about the joint's own axes. The
//! parent-side delta `P = S · conj(R)`, `out = P_w · B`, turns about the parent's axes; it is another kind, see
//! [`Side::Parent`].

use bevy_math::{Vec3, ops};
#[cfg(feature = "rig_files")]
use serde::{Deserialize, Serialize};

use crate::clip::{Clip, Track, TrackValues};
use crate::fraction::fraction;
use crate::pose::JointTransform;
use crate::rotation::{self, BlendError, Rotation};

/// A scale of a reference below this, dimensionless, has no ratio to it: the base keeps its own. `[L2]`
const SMALLEST_SCALE: f32 = 1e-8;

/// Below this the vector part of a rotation is rounding and no axis, dimensionless.
const SMALLEST_SINE: f32 = 1e-6;

/// Which side of the base a rotation delta is put on. `[L2]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum Side {
    /// `base * delta`: about the joint's own axes.
    #[default]
    Own,
    /// `delta * base`: about the parent's axes.
    Parent,
}

/// What turns the reference into the sample, unit, with the sign as it comes: its `w` may be negative.
///
/// A sample with the bits of its reference gives no rotation exactly.
///
/// # Errors
/// [`BlendError`] naming the argument that is zero or not finite.
pub fn delta(
    reference: Rotation<f32>,
    sample: Rotation<f32>,
    side: Side,
) -> Result<Rotation<f32>, BlendError> {
    let r = rotation::unit(reference, "reference")?;
    let s = rotation::unit(sample, "sample")?;
    if reference == sample {
        return Ok(Rotation::identity());
    }
    let product = match side {
        Side::Own => r.conjugate() * s,
        Side::Parent => s * r.conjugate(),
    };
    Ok(product.normalized())
}

/// The share `weight` (0 to 1) of a delta along the shorter arc: `slerp(identity, ±D, w)`, see [`fraction()`].
pub fn share(delta: Rotation<f32>, weight: f32) -> Rotation<f32> {
    fraction(delta, weight)
}

/// The share of a delta along its own arc, up to a full turn: `(axis·sin(w·h), cos(w·h))`, `h = atan2(|D.xyz|, D.w)`.
///
/// A full turn has no axis of its own: it takes that of `last`, the delta of the frame before.
pub fn share_of_own_arc(
    delta: Rotation<f32>,
    weight: f32,
    last: Option<Rotation<f32>>,
) -> Rotation<f32> {
    let length = delta.xyz().length_squared().sqrt();
    if length <= SMALLEST_SINE {
        let along = last.filter(|_| delta.w < 0.0).map(Rotation::xyz);
        let long = along.map(|axis| (axis, axis.length_squared().sqrt()));
        let Some((axis, length)) = long.filter(|(_, length)| *length > SMALLEST_SINE) else {
            return Rotation::identity();
        };
        let (sine, cosine) = ops::sin_cos(weight * core::f32::consts::PI);
        let axis = axis * (sine / length);
        return Rotation::new(axis.x, axis.y, axis.z, cosine);
    }
    let (sine, cosine) = ops::sin_cos(weight * ops::atan2(length, delta.w));
    let scale = sine / length;
    Rotation::new(delta.x * scale, delta.y * scale, delta.z * scale, cosine)
}

/// The sign of `delta` that is closest to `last`, the one of the frame before; without one, `w ≥ 0`.
pub fn nearest_sign(delta: Rotation<f32>, last: Option<Rotation<f32>>) -> Rotation<f32> {
    let side = last.map_or(delta.w, |last| last.dot(delta));
    if side < 0.0 { -delta } else { delta }
}

/// The base with the share of a delta put on its side, unit.
pub fn put_on(base: Rotation<f32>, share: Rotation<f32>, side: Side) -> Rotation<f32> {
    let product = match side {
        Side::Own => base * share,
        Side::Parent => share * base,
    };
    product.normalized()
}

/// A clip as what it differs from `reference`, one transform per joint: its tracks hold `conj(R)·S`, `S − R` and `S / R`.
/// `[L2]`
///
/// Multiplying by `conj(R)` is linear in the four components, so values and both tangents of a spline are multiplied
/// alike and the extracted track is the delta at every time, not only at keys; subtracting leaves tangents as they are.
/// Tracks of joints beyond `reference`, channels, and rotations whose reference has no direction are left out.
pub fn extract(clip: &Clip, reference: &[JointTransform]) -> Clip {
    let tracks = clip.tracks.iter().filter_map(|track| {
        let values = difference(track, reference.get(track.joint)?)?;
        Some(Track {
            values,
            ..track.clone()
        })
    });
    Clip {
        tracks: tracks.collect(),
        ..clip.clone()
    }
}

fn difference(track: &Track, from: &JointTransform) -> Option<TrackValues> {
    let is_tangent = |index| track.interpolation.is_tangent(index);
    match &track.values {
        TrackValues::Translation(keys) => {
            let keys = keys.iter().enumerate().map(|(index, &key)| {
                if is_tangent(index) {
                    return key;
                }
                (Vec3::from_array(key) - from.translation).to_array()
            });
            Some(TrackValues::Translation(keys.collect()))
        }
        TrackValues::Rotation(keys) => {
            let back = rotation::unit(from.rotation.into(), "reference")
                .ok()?
                .conjugate();
            let keys = keys
                .iter()
                .map(|&key| (back * Rotation::splat(key)).lane(0));
            Some(TrackValues::Rotation(keys.collect()))
        }
        TrackValues::Scale(keys) => {
            let keys = keys.iter().enumerate().map(|(index, key)| {
                // A reference of no size leaves the base its own: the ratio is 1 and stays so.
                let none = if is_tangent(index) { 0.0 } else { 1.0 };
                core::array::from_fn(|axis| ratio(from.scale[axis], key[axis], none))
            });
            Some(TrackValues::Scale(keys.collect()))
        }
        TrackValues::Weights { .. } | TrackValues::BakeWeight(_) | TrackValues::Fov(_) => None,
    }
}

/// `base + w(sample − reference)`.
pub fn translation(base: Vec3, reference: Vec3, sample: Vec3, weight: f32) -> Vec3 {
    base + (sample - reference) * weight
}

/// `sample / reference`; `none` for a reference that has no ratio to anything.
pub(crate) fn ratio(reference: f32, sample: f32, none: f32) -> f32 {
    if reference.abs() < SMALLEST_SCALE {
        none
    } else {
        sample / reference
    }
}

/// `base · lerp(1, sample / reference, w)`, per axis.
pub fn scale(base: Vec3, reference: Vec3, sample: Vec3, weight: f32) -> Vec3 {
    let one = |base: f32, reference: f32, sample: f32| {
        base * (1.0 + (ratio(reference, sample, 1.0) - 1.0) * weight)
    };
    Vec3::new(
        one(base.x, reference.x, sample.x),
        one(base.y, reference.y, sample.y),
        one(base.z, reference.z, sample.z),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Vec3x;

    fn turn(axis: [f32; 3], degrees: f32) -> Rotation<f32> {
        let (s, c) = ops::sin_cos(degrees.to_radians() * 0.5);
        Rotation::new(axis[0] * s, axis[1] * s, axis[2] * s, c)
    }
    const X: [f32; 3] = [1.0, 0.0, 0.0];
    const Y: [f32; 3] = [0.0, 1.0, 0.0];
    const Z: [f32; 3] = [0.0, 0.0, 1.0];

    /// Where (0, 1, 0) goes with R = Z90, S = R·X60, B = Y90.
    fn probe(side: Side, weight: f32) -> [f32; 3] {
        let reference = turn(Z, 90.0);
        let d = delta(reference, reference * turn(X, 60.0), side).unwrap();
        let out = put_on(turn(Y, 90.0), share(d, weight), side);
        out.rotate(Vec3x::new(0.0, 1.0, 0.0)).lane(0)
    }

    fn assert_near(found: [f32; 3], expected: [f32; 3]) {
        for (a, b) in found.into_iter().zip(expected) {
            assert!((a - b).abs() < 1e-5, "{found:?}, expected {expected:?}");
        }
    }

    #[test]
    fn add_01_l2_the_delta_acts_on_the_joints_own_side() {
        assert_near(probe(Side::Own, 1.0), [0.866_026, 0.5, 0.0]);
        assert_near(probe(Side::Own, 0.5), [0.5, 0.866_025, 0.0]);
        assert_near(probe(Side::Own, 0.0), [0.0, 1.0, 0.0]);
        assert_near(probe(Side::Parent, 1.0), [0.0, 1.0, 0.0]);
        // The same delta put on the wrong side by mistake would give this.
        let reference = turn(Z, 90.0);
        let d = delta(reference, reference * turn(X, 60.0), Side::Own).unwrap();
        let wrong = put_on(turn(Y, 90.0), d, Side::Parent);
        let wrong = wrong.rotate(Vec3x::new(0.0, 1.0, 0.0)).lane(0);
        assert_near(wrong, [0.0, 0.5, 0.866_025]);
    }

    #[test]
    fn l2_a_sample_that_is_its_reference_changes_nothing() {
        let r = turn([0.6, 0.0, 0.8], 77.0);
        for side in [Side::Own, Side::Parent] {
            assert_eq!(delta(r, r, side), Ok(Rotation::identity()));
        }
        let v = Vec3::new(0.3, -2.0, 7.0);
        assert_eq!(translation(v, Vec3::X, Vec3::X, 0.7), v);
        assert_eq!(scale(v, Vec3::splat(0.3), Vec3::splat(0.3), 0.7), v);
    }

    #[test]
    fn l2_a_reference_scaled_to_nothing_leaves_the_base() {
        let base = Vec3::new(2.0, 3.0, 4.0);
        let found = scale(base, Vec3::new(0.0, 1e-9, 2.0), Vec3::splat(5.0), 1.0);
        assert_eq!(found, Vec3::new(2.0, 3.0, 10.0));
    }

    #[test]
    fn l2_names_what_it_refuses() {
        let q = Rotation::identity();
        let zero = Rotation::splat([0.0; 4]);
        assert_eq!(
            delta(zero, q, Side::Own),
            Err(BlendError::Zero("reference"))
        );
        let nan = Rotation::splat([f32::NAN; 4]);
        assert_eq!(
            delta(q, nan, Side::Own),
            Err(BlendError::NotFinite("sample"))
        );
    }

    #[test]
    fn l2_a_continuous_delta_follows_its_own_arc_past_the_half_turn() {
        let mut last = None;
        let mut before = 0.0;
        for degrees in (0..=360).step_by(10) {
            let d = nearest_sign(turn(X, degrees as f32), last);
            let half = share_of_own_arc(d, 0.5, last);
            let angle = 2.0 * ops::atan2(half.x, half.w);
            assert!((angle.to_degrees() - degrees as f32 * 0.5).abs() < 1e-3);
            assert!(angle >= before);
            before = angle;
            last = Some(d);
        }
        let whole = -Rotation::identity();
        let half = share_of_own_arc(whole, 0.5, Some(turn(X, 350.0)));
        assert!((half.x - 1.0).abs() < 1e-6, "{half:?}");
        let none = Rotation::identity();
        assert_eq!(share_of_own_arc(none, 0.3, None), none);
    }
}
