//! Resampling: from a keyed clip to rows, at the lowest rate that stays within the error bound.
//!
//! ```text
//! rates, lowest first: the clip's own, if its keys lie on a grid, and those of the caller
//! per rate: rows by the keyed path → largest distance between both paths → within the bound? taken
//! ```
//!
//! The distance is measured, not estimated: between two neighbouring times of rows and keys both paths are smooth, and
//! each such interval is looked at from end to end ([`PARTS`]), and right before each of its keys, where a STEP shows.

use super::rows::{self, Property, RowJoints, neutral_rows};
use super::{Constant, ErrorBound, NotUniform, SHORTEST_INTERVAL, UniformClip};
use crate::clip::{Clip, Interpolation, Track, TrackValues};
use crate::pose::JointTransform;
use crate::rotation::{self, Rotation};

/// The rates that are usually tried, rows per second.
pub const RATES_HZ: [f64; 4] = [30.0, 60.0, 120.0, 240.0];
/// A clip's own rate above this is not tried: its rows would outweigh its keys.
const LARGEST_RATE_HZ: f64 = 1000.0;
/// Rows hold at most this many numbers (256 MB): a mistaken time in a file must not take all memory.
const LARGEST_ROWS: f64 = 67_108_864.0;
/// How far keys may lie from their grid, in intervals: f32 times an hour into a clip are off by this.
const GRID_TOLERANCE: f64 = 1e-2;
/// Parts of an interval between neighbouring rows and keys at whose ends the distance is measured.
const PARTS: usize = 8;
/// Measured distances must stay below this part of the bound: between the times looked at they can be a few percent
/// larger, for a distance that is smooth and 0 at both ends.
const SAFETY: f32 = 0.95;

/// A track that moves, with the position of its joint in the rows.
struct Moving<'a> {
    track: &'a Track,
    property: Property,
    position: usize,
}

impl UniformClip {
    /// `clip` in rows, at the lowest rate at which no joint is farther from the keyed path than `bound`.
    ///
    /// `joints` is the length of the rig. Tried are `rates_hz` (see [`RATES_HZ`]) and the clip's own rate if its keys lie
    /// on a grid, lowest first. Where several tracks move the same property of a joint the last one counts, as it does
    /// when they are sampled in order. Tracks of morph weights and bake weights are not part of a pose and stay keyed.
    ///
    /// # Errors
    /// [`NotUniform`], naming the worst joint at the highest rate: the clip should be sampled by its keys then.
    pub fn resample(
        clip: &Clip,
        joints: usize,
        bound: &ErrorBound,
        rates_hz: &[f64],
    ) -> Result<Self, NotUniform> {
        let mut uniform = Self::of_constants(joints);
        let moving = uniform.sort_tracks(clip)?;
        if moving.is_empty() {
            return Ok(uniform);
        }
        let keys = || moving.iter().flat_map(|moving| moving.track.times.iter());
        uniform.start = keys().copied().fold(f32::INFINITY, f32::min);
        uniform.end = keys().copied().fold(f32::NEG_INFINITY, f32::max);
        let mut refused = NotUniform::NoRate;
        for rate in candidates(&moving, rates_hz) {
            match uniform.fill(&moving, rate) {
                // What was wrong at a lower rate says more than that this one is too large.
                Err(NotUniform::TooLong { .. }) if refused != NotUniform::NoRate => break,
                filled => filled?,
            }
            match uniform.measure(&moving, bound) {
                Ok(error) => {
                    uniform.error = error;
                    return Ok(uniform);
                }
                Err(far) => refused = far,
            }
        }
        Err(refused)
    }

    /// A clip of one row and no tracks.
    pub(super) fn of_constants(joints: usize) -> Self {
        Self {
            start: 0.0,
            end: 0.0,
            rate: 0.0,
            rows: 1,
            last_gain: 1.0,
            joints: RowJoints::default(),
            rotation: Vec::new(),
            translation: Vec::new(),
            scale: Vec::new(),
            constants: Vec::new(),
            present: vec![[false; 3]; joints],
            error: ErrorBound::ZERO,
        }
    }

    /// Notes what is there and what is constant; gives back what moves, with positions by joint.
    fn sort_tracks<'a>(&mut self, clip: &'a Clip) -> Result<Vec<Moving<'a>>, NotUniform> {
        let mut last: Vec<[Option<&Track>; 3]> = vec![[None; 3]; self.present.len()];
        for track in &clip.tracks {
            let Some(property) = property_of(track).filter(|_| !track.times.is_empty()) else {
                continue;
            };
            let joints = last.len();
            let of_joint = last.get_mut(track.joint).ok_or(NotUniform::Joint {
                source_index: track.source,
                joint: track.joint,
                joints,
            })?;
            of_joint[property as usize] = Some(track);
        }
        let mut moving = Vec::new();
        for property in Property::ALL {
            for (joint, tracks) in last.iter().enumerate() {
                let Some(track) = tracks[property as usize] else {
                    continue;
                };
                self.present[joint][property as usize] = true;
                let value = usable(track, property, track.times[0])?;
                if is_constant(track) {
                    self.constants.push(Constant {
                        joint,
                        property,
                        value,
                    });
                    continue;
                }
                let of_property = self.joints.of_mut(property);
                moving.push(Moving {
                    track,
                    property,
                    position: of_property.len(),
                });
                of_property.push(joint);
            }
        }
        Ok(moving)
    }

    /// Lays the rows of `rate`.
    fn fill(&mut self, moving: &[Moving], rate: f64) -> Result<(), NotUniform> {
        let span = (f64::from(self.end) - f64::from(self.start)) * rate;
        let intervals = (span - SHORTEST_INTERVAL).ceil().max(1.0);
        let blocks: usize = Property::ALL
            .map(|property| property.components() * rows::width(self.joints.of(property).len()))
            .iter()
            .sum();
        let numbers = blocks * rows::BLOCK;
        if intervals * numbers as f64 > LARGEST_ROWS {
            return Err(NotUniform::TooLong {
                seconds: self.end - self.start,
                rate_hz: rate,
            });
        }
        self.rate = rate;
        self.rows = intervals as usize + 1;
        self.last_gain = 1.0 / (span - (intervals - 1.0));
        for property in Property::ALL {
            *self.of_mut(property) =
                neutral_rows(property, self.joints.of(property).len(), self.rows);
        }
        for moving in moving {
            self.fill_track(moving)?;
        }
        Ok(())
    }

    fn fill_track(&mut self, moving: &Moving) -> Result<(), NotUniform> {
        let (property, mut before) = (moving.property, [0.0; 4]);
        for row in 0..self.rows {
            let mut value = usable(moving.track, property, self.row_time(row))?;
            if property == Property::Rotation {
                let dot: f32 = (0..4).map(|c| value[c] * before[c]).sum();
                value = value.map(|c| if dot < 0.0 { -c } else { c });
                before = value;
            }
            let stride = self.of(property).len() / self.rows;
            let to = &mut self.of_mut(property)[row * stride..(row + 1) * stride];
            rows::set(to, property, moving.position, value);
        }
        Ok(())
    }

    /// The largest distances from the keyed path.
    ///
    /// # Errors
    /// [`NotUniform::TooFar`] with what is worst against its bound.
    fn measure(&self, moving: &[Moving], bound: &ErrorBound) -> Result<ErrorBound, NotUniform> {
        let mut largest = ErrorBound::ZERO;
        let (mut worst, mut refused) = (1.0, None);
        for moving in moving {
            let property = moving.property;
            let (error, time) = self.worst_of(moving);
            largest.raise(property, error);
            let bound = bound.of(property);
            // A bound of 0 asks for equality, and an error of NaN has no bound.
            let share = if error == 0.0 {
                0.0
            } else {
                error / (bound * SAFETY)
            };
            if share <= worst {
                continue;
            }
            worst = share;
            refused = Some(NotUniform::TooFar {
                joint: moving.track.joint,
                property,
                source_index: moving.track.source,
                error,
                bound,
                time,
                rate_hz: self.rate,
            });
        }
        refused.map_or(Ok(largest), Err)
    }

    /// The largest distance of a track from its keys, and its time.
    fn worst_of(&self, moving: &Moving) -> (f32, f32) {
        let mut worst = (0.0, self.start);
        let mut look = |time: f32| {
            let error = self.distance(moving, time);
            if error > worst.0 || error.is_nan() {
                worst = (error, time);
            }
        };
        let times = &moving.track.times;
        let (mut key, mut row, mut from) = (0, 1, self.start);
        // Walks rows and keys together, by time.
        loop {
            let of_key = times.get(key).copied().unwrap_or(f32::INFINITY);
            let of_row = if row < self.rows {
                self.row_time(row)
            } else {
                f32::INFINITY
            };
            let to = of_key.min(of_row);
            if to == f32::INFINITY {
                return worst;
            }
            for part in 1..PARTS {
                look(from + (to - from) * (part as f32 / PARTS as f32));
            }
            look(to.next_down());
            look(to);
            key += usize::from(of_key == to);
            row += usize::from(of_row == to);
            from = to;
        }
    }

    /// How far the track's uniform value is from its keys' at `time`, in the property's unit.
    fn distance(&self, moving: &Moving, time: f32) -> f32 {
        let mut exact = JointTransform::IDENTITY;
        moving.track.sample(time, &mut exact);
        let (property, exact) = (moving.property, moving.property.of(&exact));
        let found = self.value(property, moving.position, time);
        if property == Property::Rotation {
            let keyed = rotation::unit_or_identity(Rotation::splat(exact));
            return rotation::angle_between(keyed, Rotation::splat(found));
        }
        let squared: f32 = (0..3)
            .map(|c| (found[c] - exact[c]) * (found[c] - exact[c]))
            .sum();
        squared.sqrt()
    }

    /// One value at `time`, by the kernels' arithmetic.
    fn value(&self, property: Property, position: usize, time: f32) -> [f32; 4] {
        let (row, f) = self.place(time);
        let a = rows::get(self.row(property, row), property, position);
        if f == 0.0 {
            return a;
        }
        let b = rows::get(self.row(property, row + 1), property, position);
        match property {
            Property::Rotation => Rotation::splat(a)
                .lerp(Rotation::splat(b), f)
                .normalized()
                .lane(0),
            Property::Translation | Property::Scale => {
                core::array::from_fn(|c| a[c] + (b[c] - a[c]) * f)
            }
        }
    }
}

/// What a track moves, if it is part of a pose.
fn property_of(track: &Track) -> Option<Property> {
    match track.values {
        TrackValues::Translation(_) => Some(Property::Translation),
        TrackValues::Rotation(_) => Some(Property::Rotation),
        TrackValues::Scale(_) => Some(Property::Scale),
        TrackValues::Weights { .. } | TrackValues::BakeWeight(_) | TrackValues::Fov(_) => None,
    }
}

/// Whether every key holds the same value, and no tangent leads away from it.
fn is_constant(track: &Track) -> bool {
    fn same<const N: usize>(values: &[[f32; N]], interpolation: Interpolation) -> bool {
        match interpolation {
            Interpolation::Step | Interpolation::Linear => values.iter().all(|v| *v == values[0]),
            Interpolation::CubicSpline => values
                .chunks_exact(3)
                .all(|key| key[1] == values[1] && key[0] == [0.0; N] && key[2] == [0.0; N]),
        }
    }
    if track.times.len() == 1 {
        return true;
    }
    match &track.values {
        TrackValues::Rotation(values) => same(values, track.interpolation),
        TrackValues::Translation(values) | TrackValues::Scale(values) => {
            same(values, track.interpolation)
        }
        TrackValues::Weights { .. } | TrackValues::BakeWeight(_) | TrackValues::Fov(_) => false,
    }
}

/// The value of a track at `time`, finite, rotations of unit length.
fn usable(track: &Track, property: Property, time: f32) -> Result<[f32; 4], NotUniform> {
    let refused = NotUniform::Value {
        source_index: track.source,
        joint: track.joint,
        property,
        time,
    };
    let mut joint = JointTransform::IDENTITY;
    track.sample(time, &mut joint);
    let value = property.of(&joint);
    if value.iter().any(|c| !c.is_finite()) {
        return Err(refused);
    }
    if property != Property::Rotation || is_constant(track) {
        return Ok(value);
    }
    rotation::unit(Rotation::splat(value), "key").map_or(Err(refused), |q| Ok(q.lane(0)))
}

/// The rates to try, lowest first.
fn candidates(moving: &[Moving], rates_hz: &[f64]) -> Vec<f64> {
    let mut rates: Vec<f64> = rates_hz.to_vec();
    rates.extend(own_rate(moving));
    rates.retain(|rate| rate.is_finite() && *rate > 0.0);
    rates.sort_by(f64::total_cmp);
    rates.dedup_by(|a, b| (*a / *b - 1.0).abs() < 1e-6);
    rates
}

/// The rate of a grid that all keys lie on; a last key between two points of it is no objection.
fn own_rate(moving: &[Moving]) -> Option<f64> {
    let most = moving
        .iter()
        .max_by_key(|moving| moving.track.times.len())?;
    let times = &most.track.times;
    let shortest = times
        .windows(2)
        .map(|pair| f64::from(pair[1]) - f64::from(pair[0]))
        .fold(f64::INFINITY, f64::min);
    // Over the whole track the rounding of its times weighs least; the last interval may be a remainder.
    let (first, end) = (f64::from(times[0]), times.len() - 1);
    let end = if end > 1 { end - 1 } else { end };
    let span = f64::from(times[end]) - first;
    let rate = (span / shortest).round() / span;
    let rounded = rate.round();
    let rate = if (rate / rounded - 1.0).abs() < 1e-4 {
        rounded
    } else {
        rate
    };
    if !rate.is_finite() || rate > LARGEST_RATE_HZ {
        return None;
    }
    let on_grid = |time: f32| {
        let place = (f64::from(time) - first) * rate;
        (place - place.round()).abs() < GRID_TOLERANCE
    };
    let all = moving.iter().all(|moving| {
        let times = &moving.track.times;
        times[..times.len() - 1].iter().all(|&time| on_grid(time))
    });
    all.then_some(rate)
}
