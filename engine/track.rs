//! Tracks: the keys of one property of one joint, and its value at a time. `[K1]` `[B5]`
//!
//! STEP holds, LINEAR interpolates (rotations by slerp `[C3]`), CUBICSPLINE is
//! the Hermite spline of *glTF 2.0 §3.11 and appendix C*, rotations normalised after. Before the first and after the
//! last key the value is that of the end key. A value at exactly a key's time is that key's value, bit for bit.
//!
//! Keys of a rotation are stored with a non-negative dot product to the one before `[B5]`, see [`align_hemispheres`].

use std::sync::Arc;

use bevy_math::{Quat, Vec3};

use crate::channel::ChannelKind;
use crate::pose::JointTransform;
use crate::rotation::{self, Rotation};

/// The keys of one property of one joint.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// Index of the joint in the rig.
    pub joint: usize,
    /// Index of the channel in the file's animation.
    pub source: usize,
    /// Between keys.
    pub interpolation: Interpolation,
    /// Key times in seconds, finite, strictly increasing, at least one; tracks may share them.
    pub times: Arc<[f32]>,
    /// One value per key; with [`Interpolation::CubicSpline`] in-tangent, value, out-tangent per key.
    pub values: TrackValues,
}

/// What happens between two keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interpolation {
    /// The earlier key's value holds.
    Step,
    /// Straight line; slerp for rotations.
    Linear,
    /// Hermite spline through values with tangents per second.
    CubicSpline,
}

impl Interpolation {
    /// Stored values per key: splines have a tangent on either side of the value.
    pub fn per_key(self) -> usize {
        match self {
            Self::Step | Self::Linear => 1,
            Self::CubicSpline => 3,
        }
    }

    /// Where the value is among those of its key.
    pub fn value_of_key(self) -> usize {
        self.per_key() / 2
    }

    /// Whether stored value `index` of a track is a tangent.
    pub fn is_tangent(self, index: usize) -> bool {
        index % self.per_key() != self.value_of_key()
    }
}

/// The property a track moves, and its keys' values in file order.
#[derive(Clone, Debug, PartialEq)]
pub enum TrackValues {
    /// Against the parent, in the parent's units.
    Translation(Vec<[f32; 3]>),
    /// Unit quaternions (x, y, z, w); tangents of CUBICSPLINE are not unit.
    Rotation(Vec<[f32; 4]>),
    /// Dimensionless, per axis.
    Scale(Vec<[f32; 3]>),
    /// `count` morph weights per value, flat.
    Weights {
        /// Morph targets of the mesh.
        count: usize,
        /// `count` numbers per value.
        values: Vec<f32>,
    },
    /// A scalar channel: how much of the animation a swing joint shows, 0 to 1. `[V4]`
    BakeWeight(Vec<[f32; 1]>),
    /// A scalar channel: the vertical field of view of the joint's camera, radians. `[K8]`
    Fov(Vec<[f32; 1]>),
}

/// Where a time lies among the keys.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// On a key, or beyond an end.
    Key(usize),
    /// Between key `.0` and the next: time since that key and distance of the two, seconds.
    Between(usize, f32, f32),
}

impl Track {
    fn place(&self, time: f32) -> Place {
        let next = self.times.partition_point(|&key| key <= time);
        if next == 0 {
            return Place::Key(0);
        }
        let key = next - 1;
        if next == self.times.len() || self.times[key] == time {
            return Place::Key(key);
        }
        let start = self.times[key];
        Place::Between(key, time - start, self.times[next] - start)
    }

    /// Index of the value of `key` among the stored values: splines store three per key.
    fn stored(&self, key: usize) -> usize {
        key * self.interpolation.per_key() + self.interpolation.value_of_key()
    }

    fn vector<const N: usize>(&self, values: &[[f32; N]], time: f32) -> [f32; N] {
        match self.place(time) {
            Place::Key(key) => values[self.stored(key)],
            Place::Between(key, since, length) => match self.interpolation {
                Interpolation::Step => values[key],
                Interpolation::Linear => linear(values[key], values[key + 1], since / length),
                Interpolation::CubicSpline => hermite(values, key, since, length),
            },
        }
    }

    fn rotation(&self, values: &[[f32; 4]], time: f32) -> [f32; 4] {
        match self.place(time) {
            Place::Key(key) => values[self.stored(key)],
            Place::Between(key, since, length) => match self.interpolation {
                Interpolation::Step => values[key],
                Interpolation::Linear => {
                    let (a, b) = (values[key], values[key + 1]);
                    rotation::slerp(Rotation::splat(a), Rotation::splat(b), since / length).lane(0)
                }
                Interpolation::CubicSpline => {
                    let mixed = Rotation::<f32>::splat(hermite(values, key, since, length));
                    // A spline through opposite quaternions can pass zero; the nearer key stands in.
                    rotation::unit(mixed, "spline").map_or(values[self.stored(key)], |q| q.lane(0))
                }
            },
        }
    }

    /// Writes the value at `time` into the property of `pose`; weights and scalars leave the pose alone.
    ///
    /// `time` in seconds; beyond the ends the end key's value, also for infinite times, NaN takes the first key.
    pub fn sample(&self, time: f32, pose: &mut JointTransform) {
        match &self.values {
            TrackValues::Translation(values) => {
                pose.translation = Vec3::from_array(self.vector(values, time));
            }
            TrackValues::Rotation(values) => {
                pose.rotation = Quat::from_array(self.rotation(values, time));
            }
            TrackValues::Scale(values) => pose.scale = Vec3::from_array(self.vector(values, time)),
            TrackValues::Weights { .. } | TrackValues::BakeWeight(_) | TrackValues::Fov(_) => {}
        }
    }

    /// The bake weight at `time`; `None` for other tracks. `[V4]`
    pub fn sample_bake_weight(&self, time: f32) -> Option<f32> {
        let TrackValues::BakeWeight(values) = &self.values else {
            return None;
        };
        Some(self.vector(values, time)[0])
    }

    /// The kind of channel that the track moves, if it moves one.
    pub fn channel(&self) -> Option<ChannelKind> {
        match self.values {
            TrackValues::Weights { .. } => Some(ChannelKind::Morph),
            TrackValues::Fov(_) => Some(ChannelKind::Fov),
            _ => None,
        }
    }

    /// The channel's numbers at `time` into `to`, as many as both have; tracks of other kinds write nothing.
    pub fn sample_channel(&self, time: f32, to: &mut [f32]) {
        match &self.values {
            TrackValues::Weights { count, values } => {
                let place = self.place(time);
                for (i, weight) in to.iter_mut().take(*count).enumerate() {
                    *weight = self.interleaved(values, *count, i, place);
                }
            }
            TrackValues::Fov(values) => {
                if let Some(to) = to.first_mut() {
                    [*to] = self.vector(values, time);
                }
            }
            _ => {}
        }
    }

    /// Number `i` of values that hold `count` each.
    fn interleaved(&self, values: &[f32], count: usize, i: usize, place: Place) -> f32 {
        let at = |stored: usize| [values[stored * count + i]];
        let [value] = match place {
            Place::Key(key) => at(self.stored(key)),
            Place::Between(key, since, length) => match self.interpolation {
                Interpolation::Step => at(key),
                Interpolation::Linear => linear(at(key), at(key + 1), since / length),
                Interpolation::CubicSpline => {
                    let keys: [[f32; 1]; 6] = core::array::from_fn(|k| at(3 * key + k));
                    hermite(&keys, 0, since, length)
                }
            },
        };
        value
    }
}

/// `a` at 0, `b` at 1.
fn linear<const N: usize>(a: [f32; N], b: [f32; N], u: f32) -> [f32; N] {
    core::array::from_fn(|i| a[i] + (b[i] - a[i]) * u)
}

/// The Hermite spline between `key` and the next. *glTF 2.0 appendix C.5*
///
/// ```text
/// u = since / length
/// p(u) = (2u³ − 3u² + 1)·v0 + length·(u³ − 2u² + u)·out0 + (3u² − 2u³)·v1 + length·(u³ − u²)·in1
/// ```
fn hermite<const N: usize>(values: &[[f32; N]], key: usize, since: f32, length: f32) -> [f32; N] {
    let u = since / length;
    let (u2, u3) = (u * u, u * u * u);
    let of_v0 = 2.0 * u3 - 3.0 * u2 + 1.0;
    let of_out0 = length * (u3 - 2.0 * u2 + u);
    let of_v1 = 3.0 * u2 - 2.0 * u3;
    let of_in1 = length * (u3 - u2);
    let (v0, out0) = (values[3 * key + 1], values[3 * key + 2]);
    let (in1, v1) = (values[3 * key + 3], values[3 * key + 4]);
    core::array::from_fn(|i| of_v0 * v0[i] + of_out0 * out0[i] + of_v1 * v1[i] + of_in1 * in1[i])
}

/// Gives each rotation key the sign that is nearer to the key before it. `[B5]`
///
/// `per_key` values belong to a key (1, or 3 for splines: tangents change sign with their value) and `value` is the
/// index of the rotation among them.
pub fn align_hemispheres(keys: &mut [[f32; 4]], per_key: usize, value: usize) {
    let dot = |a: [f32; 4], b: [f32; 4]| a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    let mut before: Option<[f32; 4]> = None;
    for key in keys.chunks_exact_mut(per_key) {
        if before.is_some_and(|before| dot(before, key[value]) < 0.0) {
            for q in key.iter_mut() {
                *q = q.map(|c| -c);
            }
        }
        before = Some(key[value]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn track(interpolation: Interpolation, times: &[f32], values: &[[f32; 3]]) -> Track {
        Track {
            joint: 0,
            source: 0,
            interpolation,
            times: times.into(),
            values: TrackValues::Translation(values.to_vec()),
        }
    }

    fn x_at(track: &Track, time: f32) -> f32 {
        let mut pose = JointTransform::IDENTITY;
        track.sample(time, &mut pose);
        pose.translation.x
    }

    #[test]
    fn samp_01_beyond_the_ends_the_end_keys_hold() {
        let t = track(
            Interpolation::Linear,
            &[0.0, 0.5, 1.0],
            &[[1.0; 3], [2.0; 3], [5.0; 3]],
        );
        let expected = [(-1.0, 1.0), (0.25, 1.5), (1.0, 5.0), (2.0, 5.0)];
        for (time, value) in expected {
            assert_eq!(x_at(&t, time), value, "at {time}");
        }
        assert_eq!(x_at(&t, f32::INFINITY), 5.0);
        assert_eq!(x_at(&t, f32::NAN), 1.0);
    }

    #[test]
    fn samp_05_tangents_are_scaled_by_the_key_distance() {
        let values = [[0.0; 3], [0.0; 3], [1.0; 3], [0.0; 3], [1.0; 3], [9.0; 3]];
        let t = track(Interpolation::CubicSpline, &[0.0, 2.0], &values);
        assert_eq!(x_at(&t, 1.0), 0.75);
        assert_eq!(x_at(&t, 2.0), 1.0);
    }

    #[test]
    fn samp_08_a_step_changes_exactly_at_its_key() {
        let t = track(
            Interpolation::Step,
            &[0.0, 0.5, 1.0],
            &[[0.0; 3], [1.0; 3], [0.0; 3]],
        );
        assert_eq!(x_at(&t, 0.5), 1.0);
        assert_eq!(x_at(&t, 0.5_f32.next_down()), 0.0);
    }

    #[test]
    fn b5_keys_follow_the_sign_of_the_key_before() {
        let mut keys = [
            [0.0, 0.0, 0.0, 1.0],
            [0.0, 0.0, -0.1, -0.99],
            [0.0, 0.0, 0.2, 0.98],
        ];
        align_hemispheres(&mut keys, 1, 0);
        assert_eq!(
            keys,
            [
                [0.0, 0.0, 0.0, 1.0],
                [0.0, 0.0, 0.1, 0.99],
                [0.0, 0.0, 0.2, 0.98]
            ]
        );
    }
}
