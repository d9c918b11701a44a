//! Curves: one number over time, as straight lines or cubic segments. `[K2]` `[K3]`
//!
//! A [`Curve`] says whether its keys are in seconds or in progress, and refuses to be asked in the other unit. Its keys
//! are either [`LinearKeys`] or a [`PolynomialCurve`], whose segments are cubic polynomials from each key and may jump
//! at the next. [`spline`] turns polynomials into the CUBICSPLINE of glTF, exactly but for a moment before each jump.
//!
//! Times are f64, so that a curve read an hour into a session is as smooth as at its start; values are computed in f64
//! by sums and products alone and rounded once. Before the first and after the last key the end key's value holds.

pub mod spline;

use core::fmt;

#[cfg(feature = "rig_files")]
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use spline::{SplineKey, bake_weight_track, shared_cubic_spline, translation_track};

/// A key, and the cubic from it to the next: `((c3·d + c2)·d + c1)·d + v`, `d` seconds after `t`. `[K2]`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(deny_unknown_fields))]
pub struct PolynomialKey {
    /// When, in the curve's unit.
    pub t: f32,
    /// Per unit of time cubed.
    #[cfg_attr(feature = "rig_files", serde(default))]
    pub c3: f32,
    /// Per unit of time squared.
    #[cfg_attr(feature = "rig_files", serde(default))]
    pub c2: f32,
    /// Per unit of time: the slope at the key.
    #[cfg_attr(feature = "rig_files", serde(default))]
    pub c1: f32,
    /// The value at the key.
    pub v: f32,
}

/// Why keys are no curve.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum CurveFault {
    /// There is no key.
    #[error("no keys; expected at least one")]
    Empty,
    /// A number of a key is infinite or NaN.
    #[error("key {index}: {field} is {found}; expected a finite number")]
    NotFinite {
        /// Which key.
        index: usize,
        /// Which number of it.
        field: &'static str,
        /// What it is.
        found: f32,
    },
    /// A key does not come after the one before it.
    #[error("key {index}: time {found} does not come after {before}, the time of the key before")]
    Order {
        /// Which key.
        index: usize,
        /// Its time.
        found: f32,
        /// The time of the key before.
        before: f32,
    },
    /// A segment grows beyond what f32 holds before the next key is reached.
    #[error(
        "key {index}: its segment reaches {reach:e} before the next key; expected at most {:e}",
        f32::MAX
    )]
    TooLarge {
        /// The key the segment starts from.
        index: usize,
        /// The largest magnitude of a value or slope it can take.
        reach: f64,
    },
}

/// Cubic segments: right-continuous, free to jump at every key. `[K2]`
///
/// Never empty, times strictly rising, all numbers finite, and so is every value and slope in between.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(
    feature = "rig_files",
    serde(try_from = "Vec<PolynomialKey>", into = "Vec<PolynomialKey>")
)]
pub struct PolynomialCurve {
    keys: Vec<PolynomialKey>,
}

impl PolynomialCurve {
    /// From keys in rising order of time.
    ///
    /// # Errors
    /// [`CurveFault`] with the index of the first key that is wrong.
    pub fn new(keys: Vec<PolynomialKey>) -> Result<Self, CurveFault> {
        for (index, key) in keys.iter().enumerate() {
            let fields = [
                ("t", key.t),
                ("c3", key.c3),
                ("c2", key.c2),
                ("c1", key.c1),
                ("v", key.v),
            ];
            if let Some(&(field, found)) = fields.iter().find(|(_, number)| !number.is_finite()) {
                return Err(CurveFault::NotFinite {
                    index,
                    field,
                    found,
                });
            }
        }
        check_times(keys.iter().map(|key| key.t))?;
        for (index, pair) in keys.windows(2).enumerate() {
            let reach = reach(&pair[0], f64::from(pair[1].t) - f64::from(pair[0].t));
            if reach > f64::from(f32::MAX) {
                return Err(CurveFault::TooLarge { index, reach });
            }
        }
        Ok(Self { keys })
    }

    /// The keys, in rising order of time; at least one.
    pub fn keys(&self) -> &[PolynomialKey] {
        &self.keys
    }

    /// The value at `t`, in the curve's unit of time. `[K2]`
    ///
    /// At a key, the key's value; beyond the ends that of the end key, also for infinite times; NaN takes the first.
    pub fn value(&self, t: f64) -> f32 {
        self.evaluate(t).0 as f32
    }

    /// The slope at `t` per unit of time; at a key the one after it, beyond the ends and at the last key 0. `[K2]`
    pub fn derivative(&self, t: f64) -> f32 {
        self.evaluate(t).1 as f32
    }

    /// The two inner control points `(time, value)` of each segment as a cubic Bézier, motion3 style. `[K2]`
    ///
    /// ```text
    /// (t0 + Δ/3, v0 + c1·Δ/3), (t0 + 2Δ/3, v0 + (2·c1·Δ + c2·Δ²)/3)
    /// ```
    /// One entry per segment. A segment ends where its cubic ends, which at a jump is not the next key's value.
    pub fn bezier(&self) -> Vec<[[f32; 2]; 2]> {
        let segment = |pair: &[PolynomialKey]| {
            let [t0, t1, c2, c1, v0] =
                [pair[0].t, pair[1].t, pair[0].c2, pair[0].c1, pair[0].v].map(f64::from);
            let length = t1 - t0;
            let first = [t0 + length / 3.0, v0 + c1 * length / 3.0];
            let rise = (2.0 * c1 * length + c2 * length * length) / 3.0;
            let second = [t0 + 2.0 * length / 3.0, v0 + rise];
            [first, second].map(|point| point.map(|number| number as f32))
        };
        self.keys.windows(2).map(segment).collect()
    }

    /// Value and slope at `t`.
    fn evaluate(&self, t: f64) -> (f64, f64) {
        let after = self.keys.partition_point(|key| f64::from(key.t) <= t);
        if after == 0 {
            return (f64::from(self.keys[0].v), 0.0);
        }
        let key = &self.keys[after - 1];
        if after == self.keys.len() {
            return (f64::from(key.v), 0.0);
        }
        cubic(key, t - f64::from(key.t))
    }

    /// Where the segment before `key` (not the first) ends: value and slope from the left, and its length.
    fn left_end(&self, key: usize) -> (f64, f64, f64) {
        let before = &self.keys[key - 1];
        let length = f64::from(self.keys[key].t) - f64::from(before.t);
        let (value, slope) = cubic(before, length);
        (value, slope, length)
    }
}

impl TryFrom<Vec<PolynomialKey>> for PolynomialCurve {
    type Error = CurveFault;
    fn try_from(keys: Vec<PolynomialKey>) -> Result<Self, CurveFault> {
        Self::new(keys)
    }
}
impl From<PolynomialCurve> for Vec<PolynomialKey> {
    fn from(curve: PolynomialCurve) -> Self {
        curve.keys
    }
}

/// Value and slope of a key's cubic, `d` after the key.
fn cubic(key: &PolynomialKey, d: f64) -> (f64, f64) {
    let [c3, c2, c1, v] = [key.c3, key.c2, key.c1, key.v].map(f64::from);
    let value = ((c3 * d + c2) * d + c1) * d + v;
    let slope = (3.0 * c3 * d + 2.0 * c2) * d + c1;
    (value, slope)
}

/// No value and no slope of a key's cubic is larger within `d` of the key.
fn reach(key: &PolynomialKey, d: f64) -> f64 {
    let [c3, c2, c1, v] = [key.c3, key.c2, key.c1, key.v].map(|c| f64::from(c).abs());
    let value = ((c3 * d + c2) * d + c1) * d + v;
    let slope = (3.0 * c3 * d + 2.0 * c2) * d + c1;
    value.max(slope)
}

fn check_times(times: impl Iterator<Item = f32>) -> Result<(), CurveFault> {
    let mut before = None;
    for (index, found) in times.enumerate() {
        match before {
            Some(before) if found <= before => {
                return Err(CurveFault::Order {
                    index,
                    found,
                    before,
                });
            }
            _ => before = Some(found),
        }
    }
    before.map(|_| ()).ok_or(CurveFault::Empty)
}

/// Straight lines between keys `(time, value)`. Never empty, times strictly rising, all numbers finite.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(
    feature = "rig_files",
    serde(try_from = "Vec<(f32, f32)>", into = "Vec<(f32, f32)>")
)]
pub struct LinearKeys {
    keys: Vec<(f32, f32)>,
}

impl LinearKeys {
    /// From keys in rising order of time.
    ///
    /// # Errors
    /// [`CurveFault`] with the index of the first key that is wrong.
    pub fn new(keys: Vec<(f32, f32)>) -> Result<Self, CurveFault> {
        for (index, &(time, value)) in keys.iter().enumerate() {
            for (field, found) in [("time", time), ("value", value)] {
                if !found.is_finite() {
                    return Err(CurveFault::NotFinite {
                        index,
                        field,
                        found,
                    });
                }
            }
        }
        check_times(keys.iter().map(|key| key.0))?;
        Ok(Self { keys })
    }

    /// The keys, in rising order of time; at least one.
    pub fn keys(&self) -> &[(f32, f32)] {
        &self.keys
    }

    /// The value at `t`, in the curve's unit of time; beyond the ends that of the end key, NaN takes the first.
    pub fn value(&self, t: f64) -> f32 {
        let after = self.keys.partition_point(|key| f64::from(key.0) <= t);
        let (before, after) = (after.saturating_sub(1), after.min(self.keys.len() - 1));
        if before == after {
            return self.keys[before].1;
        }
        let [(t0, v0), (t1, v1)] =
            [self.keys[before], self.keys[after]].map(|(t, v)| (f64::from(t), f64::from(v)));
        (v0 + (v1 - v0) * ((t - t0) / (t1 - t0))) as f32
    }
}

impl TryFrom<Vec<(f32, f32)>> for LinearKeys {
    type Error = CurveFault;
    fn try_from(keys: Vec<(f32, f32)>) -> Result<Self, CurveFault> {
        Self::new(keys)
    }
}
impl From<LinearKeys> for Vec<(f32, f32)> {
    fn from(curve: LinearKeys) -> Self {
        curve.keys
    }
}

/// What a curve's times count. `[K3]`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum Domain {
    /// Seconds since the action became active.
    Seconds,
    /// The share of the action that has passed: *0 its start, 1 its end, up to 2 while it recovers*.
    Progress,
}

impl fmt::Display for Domain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Seconds => "seconds",
            Self::Progress => "progress",
        })
    }
}

/// A curve was asked in a unit that it is not keyed in: a silent rescale would play it at another speed. `[K3]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the curve is keyed in {curve} and was asked in {asked}")]
pub struct DomainError {
    /// What the keys count.
    pub curve: Domain,
    /// What the question counted.
    pub asked: Domain,
}

/// The keys of a [`Curve`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum CurveKeys {
    /// Straight lines.
    Linear(LinearKeys),
    /// Cubic segments. `[K2]`
    Polynomial(PolynomialCurve),
}

impl CurveKeys {
    /// The value at a time in whatever unit the keys have.
    pub fn value(&self, t: f64) -> f32 {
        match self {
            Self::Linear(keys) => keys.value(t),
            Self::Polynomial(curve) => curve.value(t),
        }
    }

    /// Times of the first and the last key.
    pub fn span(&self) -> (f32, f32) {
        match self {
            Self::Linear(LinearKeys { keys }) => (keys[0].0, keys[keys.len() - 1].0),
            Self::Polynomial(PolynomialCurve { keys }) => (keys[0].t, keys[keys.len() - 1].t),
        }
    }
}

/// A number over seconds or over progress.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(deny_unknown_fields))]
pub struct Curve {
    /// What the times of the keys count.
    pub domain: Domain,
    /// The keys.
    pub keys: CurveKeys,
}

impl Curve {
    /// The value `t` seconds after the action became active.
    ///
    /// # Errors
    /// [`DomainError`] when the keys count progress.
    pub fn in_seconds(&self, t: f64) -> Result<f32, DomainError> {
        self.asked(Domain::Seconds, t)
    }

    /// The value at `progress`.
    ///
    /// # Errors
    /// [`DomainError`] when the keys count seconds.
    pub fn in_progress(&self, progress: f64) -> Result<f32, DomainError> {
        self.asked(Domain::Progress, progress)
    }

    fn asked(&self, asked: Domain, t: f64) -> Result<f32, DomainError> {
        if self.domain != asked {
            return Err(DomainError {
                curve: self.domain,
                asked,
            });
        }
        Ok(self.keys.value(t))
    }

    /// The same curve with all values times `factor`, such as degrees made radians.
    ///
    /// # Errors
    /// [`CurveFault`] when `factor` is not finite or a product is too large.
    pub fn scaled(&self, factor: f32) -> Result<Self, CurveFault> {
        let keys = match &self.keys {
            CurveKeys::Linear(LinearKeys { keys }) => {
                let scaled = keys.iter().map(|&(t, v)| (t, v * factor));
                CurveKeys::Linear(LinearKeys::new(scaled.collect())?)
            }
            CurveKeys::Polynomial(PolynomialCurve { keys }) => {
                let scaled = keys.iter().map(|key| PolynomialKey {
                    t: key.t,
                    c3: key.c3 * factor,
                    c2: key.c2 * factor,
                    c1: key.c1 * factor,
                    v: key.v * factor,
                });
                CurveKeys::Polynomial(PolynomialCurve::new(scaled.collect())?)
            }
        };
        Ok(Self {
            domain: self.domain,
            keys,
        })
    }
}

#[cfg(test)]
mod tests;
