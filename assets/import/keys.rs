//! Keys of a track: times that increase, values that fit them. *glTF 2.0 §3.11* `[K1]` `[B5]`

use std::sync::Arc;

use gltf::accessor::Dimensions;

use super::accessor::{Reader, Stored};
use super::nodes::check_rotation;
use crate::assets::json::Fault;
use crate::clip::align_hemispheres;

/// How many values a track has, and why.
pub(super) struct Shape {
    /// The accessor of the values.
    pub(super) accessor: usize,
    /// Number of keys.
    pub(super) keys: usize,
    /// 3 for splines (in-tangent, value, out-tangent), else 1.
    pub(super) per_key: usize,
    /// Elements that make up a value: the number of morph targets for weights, else 1.
    pub(super) per_value: usize,
}

impl Shape {
    fn count(&self) -> usize {
        self.keys
            .saturating_mul(self.per_key)
            .saturating_mul(self.per_value)
    }

    /// `6: 3 keys, 2 morph targets`
    fn explain(&self) -> String {
        let mut text = format!("{}: {} keys", self.count(), self.keys);
        if self.per_key == 3 {
            text.push_str(", in-tangent, value and out-tangent each");
        }
        if self.per_value != 1 {
            text.push_str(&format!(", {} morph targets", self.per_value));
        }
        text
    }

    /// A fault of one stored element.
    fn fault(&self, element: usize, found: String, expected: &str) -> Fault {
        let place = format!("/accessors/{}, element {element}", self.accessor);
        Fault::new(place, found, expected)
    }
}

/// What was put right in the values of a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Repairs {
    /// A tangent that is never used was not finite and became 0.
    pub(super) unused_tangents: bool,
    /// Rotations that were made unit.
    pub(super) normalised: usize,
}

/// Key times in seconds: finite and strictly increasing.
pub(super) fn times(reader: &mut Reader, accessor: usize) -> Result<Arc<[f32]>, Fault> {
    let times = reader.read::<1>(accessor, Dimensions::Scalar, Stored::Float)?;
    let times = times.as_flattened();
    for (key, &time) in times.iter().enumerate() {
        let refuse = |expected: String| {
            let place = format!("/accessors/{accessor}, element {key}");
            Fault::new(place, format!("key {key} at {time} s"), expected)
        };
        if !time.is_finite() {
            return Err(refuse("a finite time".to_owned()));
        }
        if key > 0 && times[key - 1] >= time {
            let (before, at) = (key - 1, times[key - 1]);
            return Err(refuse(format!("a time after key {before} at {at} s")));
        }
    }
    Ok(times.into())
}

/// The values of a track, as many as its keys ask for, all finite.
pub(super) fn values<const N: usize>(
    reader: &mut Reader,
    shape: &Shape,
    (dimensions, stored): (Dimensions, Stored),
) -> Result<(Vec<[f32; N]>, Repairs), Fault> {
    let mut values = reader.read::<N>(shape.accessor, dimensions, stored)?;
    if values.len() != shape.count() {
        return Err(Fault::new(
            format!("/accessors/{}/count", shape.accessor),
            values.len().to_string(),
            shape.explain(),
        ));
    }
    let repairs = Repairs {
        unused_tangents: shape.per_key == 3 && clear_unused_tangents(&mut values, shape.per_value),
        normalised: 0,
    };
    let bad = values.as_flattened().iter().position(|n| !n.is_finite());
    match bad.map(|number| number / N) {
        None => Ok((values, repairs)),
        Some(i) => Err(shape.fault(i, format!("{:?}", values[i]), "finite numbers")),
    }
}

/// The rotations of a track, each with a direction, of length 1 and on the side of the one before. `[B5]`
pub(super) fn rotations(
    reader: &mut Reader,
    shape: &Shape,
) -> Result<(Vec<[f32; 4]>, Repairs), Fault> {
    let wanted = (Dimensions::Vec4, Stored::FloatOrNormalized);
    let (mut values, mut repairs) = values::<4>(reader, shape, wanted)?;
    let middle = shape.per_key / 2;
    for (key, stored) in values.chunks_exact_mut(shape.per_key).enumerate() {
        let rotation = stored[middle];
        let unit = check_rotation(rotation).ok_or_else(|| {
            let found = format!("key {key} with rotation {rotation:?}");
            shape.fault(key * shape.per_key + middle, found, "a unit quaternion")
        })?;
        if unit != rotation {
            scale_to(stored, middle, unit);
            repairs.normalised += 1;
        }
    }
    // Unit quaternions in 8 bits are up to 1 % off: that is the storage, not a mistake to warn about.
    if reader
        .stored_as(shape.accessor)
        .is_some_and(|stored| stored.size() == 1)
    {
        repairs.normalised = 0;
    }
    align_hemispheres(&mut values, shape.per_key, middle);
    Ok((values, repairs))
}

/// Replaces the rotation among the values of a key by `unit` and scales the tangents as much: the same curve.
fn scale_to(stored: &mut [[f32; 4]], middle: usize, unit: [f32; 4]) {
    let rotation = stored[middle];
    let mut largest = 0;
    for i in 1..4 {
        if rotation[i].abs() > rotation[largest].abs() {
            largest = i;
        }
    }
    let scale = unit[largest] / rotation[largest];
    for tangent in stored.iter_mut() {
        *tangent = tangent.map(|n| n * scale);
    }
    stored[middle] = unit;
}

/// The first in-tangent and the last out-tangent are never used: what is not finite there becomes 0. True if it did.
fn clear_unused_tangents<const N: usize>(values: &mut [[f32; N]], per_value: usize) -> bool {
    let last = values.len().saturating_sub(per_value);
    let mut cleared = false;
    for range in [0..per_value.min(values.len()), last..values.len()] {
        for number in values[range].as_flattened_mut() {
            if !number.is_finite() {
                *number = 0.0;
                cleared = true;
            }
        }
    }
    cleared
}
