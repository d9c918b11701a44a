//! Polynomial curves as CUBICSPLINE keys, for clips and for glTF. `[K2]`
//!
//! ```text
//! out-tangent of k    = c1                      (right slope; last key: 0)
//! in-tangent of k + 1 = 3·c3·Δ² + 2·c2·Δ + c1   (left slope; first key: 0)
//! ```
//! A cubic is its own Hermite spline, so this is exact inside segments. Where the left and the right value of a key
//! differ, a key is added [`JUMP_LEAD`] before it that ends the segment there; the value jumps within that moment.
//! Curves that share a sampler are keyed at the union of their times, where a key added between two of a curve's own
//! takes the cubic's value and slope.

use std::sync::Arc;

use super::PolynomialCurve;
use crate::clip::{Interpolation, Track, TrackValues};

/// How long before a jump its segment ends, seconds: too short for a sample at any rate that clips are made at, and
/// long enough for f32 to tell the two times apart within the first minutes. `[K2]`
pub const JUMP_LEAD: f64 = 1e-5;
/// A segment of this length, seconds, or less has no room for a key before the jump at its end. `[K2]`
pub const SHORTEST_LED: f64 = 2e-5;
/// A left value this near to the right one, as a share of it or of 1, is no jump: decimals of a file. `[K2]`
pub const JUMP_TOLERANCE: f64 = 1e-6;

/// A key of a CUBICSPLINE. *glTF 2.0 appendix C.5*
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SplineKey {
    /// When, in the curve's unit.
    pub time: f32,
    /// Slope from the left, per unit of time.
    pub in_tangent: f32,
    /// The value.
    pub value: f32,
    /// Slope to the right, per unit of time.
    pub out_tangent: f32,
}

impl PolynomialCurve {
    /// The same curve as CUBICSPLINE keys: its own, and one before each jump. `[K2]`
    pub fn to_cubic_spline(&self) -> Vec<SplineKey> {
        let times = spline_times(self);
        times.map(|time| self.spline_key(time)).collect()
    }

    /// Whether the segment before `key` misses it.
    fn jumps(&self, key: usize) -> bool {
        let right = f64::from(self.keys[key].v);
        let (left, ..) = self.left_end(key);
        (left - right).abs() > JUMP_TOLERANCE * right.abs().max(1.0)
    }

    /// Time of the key added before the jump at `key` (not the first); `None` without a jump or without room.
    ///
    /// So late that f32 cannot tell the times apart, there is no room either.
    fn lead_time(&self, key: usize) -> Option<f32> {
        let (start, end) = (self.keys[key - 1].t, self.keys[key].t);
        let room = f64::from(end) - f64::from(start) > SHORTEST_LED;
        if !room || !self.jumps(key) {
            return None;
        }
        let lead = at_most(f64::from(end) - JUMP_LEAD);
        (lead > start).then_some(lead)
    }

    /// The key at `time`, whether or not the curve has one of its own there.
    fn spline_key(&self, time: f32) -> SplineKey {
        let next = self.keys.partition_point(|key| key.t <= time);
        if next > 0 && self.keys[next - 1].t == time {
            return self.own_key(next - 1);
        }
        let (value, slope) = self.evaluate(f64::from(time));
        let lead = (0 < next && next < self.keys.len())
            .then(|| self.lead_time(next))
            .flatten();
        let (in_tangent, out_tangent) = match lead {
            Some(lead) if time == lead => (slope, 0.0),
            Some(lead) if time > lead => (0.0, 0.0),
            _ => (slope, slope),
        };
        SplineKey {
            time,
            in_tangent: in_tangent as f32,
            value: value as f32,
            out_tangent: out_tangent as f32,
        }
    }

    fn own_key(&self, key: usize) -> SplineKey {
        let own = &self.keys[key];
        let in_tangent = if key == 0 || self.jumps(key) {
            0.0
        } else {
            self.left_end(key).1 as f32
        };
        let last = key + 1 == self.keys.len();
        SplineKey {
            time: own.t,
            in_tangent,
            value: own.v,
            out_tangent: if last { 0.0 } else { own.c1 },
        }
    }
}

/// The largest f32 that is not above `x`.
fn at_most(x: f64) -> f32 {
    let near = x as f32;
    if f64::from(near) > x {
        near.next_down()
    } else {
        near
    }
}

/// Times at which a curve needs a key, rising.
fn spline_times(curve: &PolynomialCurve) -> impl Iterator<Item = f32> {
    curve.keys.iter().enumerate().flat_map(|(index, key)| {
        let lead = (index > 0).then(|| curve.lead_time(index)).flatten();
        lead.into_iter().chain([key.t])
    })
}

/// Several curves keyed at the same times, as one glTF sampler needs them: the times, and per curve its keys. `[K2]`
///
/// The times are the union of what the curves need on their own, strictly rising; every list of keys is as long.
pub fn shared_cubic_spline(curves: &[&PolynomialCurve]) -> (Vec<f32>, Vec<Vec<SplineKey>>) {
    let mut times: Vec<f32> = curves
        .iter()
        .flat_map(|curve| spline_times(curve))
        .collect();
    times.sort_unstable_by(f32::total_cmp);
    times.dedup();
    let keys = |curve: &&PolynomialCurve| {
        let at = times.iter().map(|&time| curve.spline_key(time));
        at.collect()
    };
    let keys = curves.iter().map(keys).collect();
    (times, keys)
}

/// A translation of `joint` out of three curves over seconds. `[K2]`
///
/// `source` is [`Track::source`]; values are in the parent's units.
pub fn translation_track(joint: usize, source: usize, axes: [&PolynomialCurve; 3]) -> Track {
    let (times, values) = stored(axes);
    spline_track(joint, source, times, TrackValues::Translation(values))
}

/// A bake weight of `joint` out of a curve over seconds. `[K2]` `[V4]`
pub fn bake_weight_track(joint: usize, source: usize, curve: &PolynomialCurve) -> Track {
    let (times, values) = stored([curve]);
    spline_track(joint, source, times, TrackValues::BakeWeight(values))
}

/// Times, and in-tangent, value, out-tangent per time with a component per curve.
fn stored<const N: usize>(curves: [&PolynomialCurve; N]) -> (Vec<f32>, Vec<[f32; N]>) {
    let (times, keys) = shared_cubic_spline(&curves);
    let parts = [
        |key: &SplineKey| key.in_tangent,
        |key: &SplineKey| key.value,
        |key: &SplineKey| key.out_tangent,
    ];
    let values = (0..times.len())
        .flat_map(|index| {
            let keys = &keys;
            parts.map(|part| core::array::from_fn(|curve| part(&keys[curve][index])))
        })
        .collect();
    (times, values)
}

fn spline_track(joint: usize, source: usize, times: Vec<f32>, values: TrackValues) -> Track {
    Track {
        joint,
        source,
        interpolation: Interpolation::CubicSpline,
        times: Arc::from(times),
        values,
    }
}
