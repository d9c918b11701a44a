//! Quantisation: rotations as normalised integers of 16 bits, half the bytes of f32. *glTF 2.0 §3.11*
//!
//! A number `c` of a unit quaternion is stored as the integer nearest to `32767 c` and read as `n / 32767`; the pattern
//! -32768, which readers clamp, is never written.
//!
//! ```text
//! q, r   the unit quaternion and what is read for it:  |r - q| ≤ √4 · ½ / 32767 = 1 / 32767
//! arc    r lies in that ball about q, so its direction is at most asin(1 / 32767) away
//! turn   twice the arc: at most 0.0034972°
//! ```
//!
//! Between keys an error of `β` at both ends grows to `β (1 + tan(θ/2)) / cos(θ/2)` where the keys are an arc `θ` apart
//! (the derivation is that of [`crate::assets::reduce`], which does not ask what the error at the ends comes from): by
//! 1 % where a joint turns 1° a key, to 0.0064° across the 120° that reduction leaves at the most, and to 0.0099°
//! across the half turn that no two neighbours exceed.
//!
//! Of the 16 integers around a quaternion another one than the nearest may point nearer to it. Measured over random
//! rotations that takes a fifth off the largest turn, a twentieth where rotations are small, for a length twice as far
//! from 1 and several times the work: the nearest is what is written.

/// The farthest that a quantised rotation key turns from the key, degrees, rounded up.
pub const QUANTIZATION_DEG: f64 = 0.0035;

/// What stands for 1.
const ONE: f64 = 32767.0;

/// Rotations as integers.
pub(super) struct Quantized {
    /// One per rotation, neighbours with a non-negative dot product. `[B5]`
    pub(super) stored: Vec<[i16; 4]>,
    /// The largest angle between a rotation and what is read for it, radians.
    pub(super) error: f64,
}

/// The integers for `rotations`, which are unit to about 1e-3.
pub(super) fn quantize(rotations: &[[f32; 4]]) -> Quantized {
    let mut stored: Vec<[i16; 4]> = Vec::with_capacity(rotations.len());
    let mut largest_sine_squared = 0.0_f64;
    for &rotation in rotations {
        let unit = unit(rotation);
        // Rounding goes the same way for both signs, so that a sign may be changed afterwards.
        let nearest = unit.map(|c| (c * ONE).round() as i16);
        largest_sine_squared = largest_sine_squared.max(sine_squared(unit, nearest));
        // After rounding: a dot product near zero may have lost its sign to it.
        let turns_back = stored.last().is_some_and(|last| dot(last, &nearest) < 0);
        stored.push(if turns_back {
            nearest.map(|n| -n)
        } else {
            nearest
        });
    }
    Quantized {
        stored,
        error: 2.0 * libm::asin(largest_sine_squared.sqrt().min(1.0)),
    }
}

/// At unit length, in f64: what is left of the length after it would be a part of the error.
fn unit(rotation: [f32; 4]) -> [f64; 4] {
    let q = rotation.map(f64::from);
    let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
    q.map(|c| c / length)
}

/// sin² of the arc between a unit quaternion and the direction of what is stored for it.
fn sine_squared(unit: [f64; 4], stored: [i16; 4]) -> f64 {
    let read = stored.map(|n| f64::from(n) / ONE);
    let (mut along, mut off, mut length) = (0.0, 0.0, 0.0);
    for (q, r) in unit.iter().zip(read) {
        along += q * (r - q);
        off += (r - q) * (r - q);
        length += r * r;
    }
    // The part of the error across the quaternion; the part along it only lengthens.
    (off - along * along).max(0.0) / length
}

/// Exact: four products of 15 bits each are beyond i32.
fn dot(a: &[i16; 4], b: &[i16; 4]) -> i64 {
    let products = a.iter().zip(b).map(|(&a, &b)| i64::from(a) * i64::from(b));
    products.sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn whole_turns_about_axes_are_stored_exactly() {
        let Quantized { stored, error } = quantize(&[
            [0.0, 0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0, 0.0],
            [0.0, -1.0, 0.0, 0.0],
        ]);
        assert_eq!(
            stored,
            [[0, 0, 0, 32767], [32767, 0, 0, 0], [0, -32767, 0, 0]]
        );
        assert_eq!(error, 0.0);
    }

    #[test]
    fn a_component_beyond_one_is_not_stored_as_the_pattern_that_readers_clamp() {
        let Quantized { stored, error } = quantize(&[[-1.0004, 0.0, 0.0, 0.0]]);
        assert_eq!(stored, [[-32767, 0, 0, 0]]);
        assert_eq!(error, 0.0);
    }

    #[test]
    fn b5_signs_follow_the_stored_integers_where_rounding_turns_a_dot_product_around() {
        // Half turns apart; what makes their dot product positive is too small to be stored.
        let unit = 1.0 / 32767.0_f32;
        let a = [1.0, 0.45 * unit, 0.45 * unit, 0.0];
        let b = [-0.6 * unit, 0.707_106_77, 0.707_106_77, 0.0];
        assert!(a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>() > 0.0);
        let Quantized { stored, .. } = quantize(&[a, b]);
        assert_eq!(stored, [[32767, 0, 0, 0], [1, -23170, -23170, 0]]);
    }

    #[test]
    fn the_error_is_the_angle_to_what_is_read() {
        let q = [(0.49 / ONE) as f32, 0.0, 0.0, 1.0];
        let Quantized { stored, error } = quantize(&[q]);
        assert_eq!(stored, [[0, 0, 0, 32767]]);
        let expected = 2.0 * libm::atan2(f64::from(q[0]), 1.0);
        assert!(
            (error - expected).abs() < 1e-12,
            "{error} is not {expected}"
        );
    }

    proptest! {
        #[test]
        fn no_rotation_is_turned_by_more_than_the_bound(
            turns in prop::collection::vec(prop::array::uniform4(-1.0_f32..1.0), 1..40),
        ) {
            let long = |q: &[f32; 4]| q.iter().map(|c| c * c).sum::<f32>() > 0.01;
            let turns: Vec<[f32; 4]> = turns.into_iter().filter(long).collect();
            let units: Vec<[f32; 4]> = turns.iter().map(|&q| unit(q).map(|c| c as f32)).collect();
            let Quantized { stored, error } = quantize(&units);
            prop_assert!(error.to_degrees() <= QUANTIZATION_DEG, "{}", error.to_degrees());
            for (n, &q) in stored.iter().zip(&units) {
                let angle = 2.0 * libm::asin(sine_squared(unit(q), *n).sqrt());
                let other = 2.0 * libm::asin(sine_squared(unit(q), n.map(|n| -n)).sqrt());
                prop_assert!(angle.min(other) <= error);
                let length = n.map(|n| f64::from(n) / ONE).iter().map(|c| c * c).sum::<f64>().sqrt();
                prop_assert!((length - 1.0).abs() <= 1.0 / ONE, "{}", length);
                prop_assert!(!n.contains(&i16::MIN));
            }
            prop_assert!(stored.windows(2).all(|pair| dot(&pair[0], &pair[1]) >= 0));
        }
    }
}
