//! Measuring: how a simulated joint compares with the true one, and whether the ruler is any good. `[D1]`–`[D3]`
//!
//! Not on the simulation path: it reads recorded rotations, computes in f64 and takes its angles from `libm`, so that a
//! report is the same on every machine. [`compare`] gives the numbers of one joint, [`overall`] those of many, and the
//! controls ([`shifted`], [`held`], [`shuffled_ring`]) the series that an improvement has to beat.
//!
//! ```text
//! δ = conj(rest)·q, of w ≥ 0      a joint's deflection from rest, on its own side
//! error_i = angle(truth_i, simulated_i)
//! ```

mod control;
mod math;

use thiserror::Error;

pub use control::{held, shifted, shuffled_ring};

use crate::swing::Limit;
use math::{Quaternion, V3, correlation, dot, length, median, median_angle, principal_axis};

/// A joint turned by less has no axis worth comparing: 0.1°, in radians. `[D2]`
pub const AXIS_FLOOR: f64 = 0.1 * core::f64::consts::PI / 180.0;
/// This near to the end of an interval is at the limit: 0.05°, in radians. `[D2]`
pub const LIMIT_MARGIN: f64 = 0.05 * core::f64::consts::PI / 180.0;

/// A joint's rotations against the truth. Angles are radians; medians are over frames. `[D2]`
///
/// A number that the data does not define (a ratio to a deflection of 0, an axis of a joint at rest) is `None`.
#[derive(Clone, Debug, PartialEq)]
pub struct JointReport {
    /// How many frames were compared.
    pub frames: usize,
    /// Median angle between the two.
    pub median_error: f64,
    /// Median deflection of the truth from rest.
    pub deflection: f64,
    /// Median deflection of the simulation from rest.
    pub simulated_deflection: f64,
    /// `median_error / deflection`, dimensionless: *0 is right, 1 as wrong as not moving*.
    pub error_over_deflection: Option<f64>,
    /// `simulated_deflection / deflection`, dimensionless: *below 1 too stiff, above 1 too loose*.
    pub overshoot: Option<f64>,
    /// Median angle between the axes turned about, 0 to π, over frames where both deflect by more than
    /// [`AXIS_FLOOR`].
    pub axis_angle: Option<f64>,
    /// Angle between the lines along which the two swing most, 0 to π/2.
    pub principal_axis_angle: Option<f64>,
    /// Correlation over time of the deflections' Euler angles x, y, z (ZXY), −1 to 1.
    pub correlation: [Option<f64>; 3],
    /// Share of the frames in which the simulation is at its limit; `None` without one.
    pub share_at_limit: Option<f64>,
    /// Median error with the simulation shown k frames early, cyclically, for every k; `scan[0]` is `median_error`.
    pub scan: Vec<f64>,
    /// 1 + the number of shifts with a smaller error than no shift: 1 is best.
    pub rank_of_zero: usize,
}

impl JointReport {
    /// Whether the error tells the right alignment from every shifted one; else nothing follows from it. `[D2]`
    pub fn can_judge(&self) -> bool {
        can_judge(&self.scan)
    }
}

/// Why there is nothing to compare.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum MeasureError {
    /// There are no frames, or no joints.
    #[error("nothing to measure; expected at least one {0}")]
    Empty(&'static str),
    /// The series are not frame by frame.
    #[error("the simulation has {simulated} frames and the truth {truth}; expected as many")]
    Length {
        /// Frames of the truth.
        truth: usize,
        /// Frames of the simulation.
        simulated: usize,
    },
    /// A rotation is zero or not finite.
    #[error("frame {frame} of the {series} is {found:?}; expected a rotation")]
    Rotation {
        /// Truth, simulation or rest.
        series: &'static str,
        /// Which frame; 0 of the rest.
        frame: usize,
        /// What it is.
        found: [f32; 4],
    },
}

/// Compares a joint's local rotations with the true ones, frame by frame. `[D2]`
///
/// `rest`, `truth` and `simulated` are quaternions (x, y, z, w) of any length but 0 in the joint's parent space; `limit`
/// the joint's own, in degrees. The scan looks at every pair of frames, so its cost grows with the square of their
/// number.
///
/// # Errors
/// [`MeasureError`]: no frames, series of different lengths, a rotation that is none.
pub fn compare(
    rest: [f32; 4],
    truth: &[[f32; 4]],
    simulated: &[[f32; 4]],
    limit: Option<&Limit>,
) -> Result<JointReport, MeasureError> {
    if truth.len() != simulated.len() {
        return Err(MeasureError::Length {
            truth: truth.len(),
            simulated: simulated.len(),
        });
    }
    if truth.is_empty() {
        return Err(MeasureError::Empty("frame"));
    }
    let rest = deflections(Quaternion::IDENTITY, &[rest], "rest")?[0];
    let truth = deflections(rest, truth, "truth")?;
    let simulated = deflections(rest, simulated, "simulation")?;
    let scan = scan(&truth, &simulated);
    let deflection = median_deflection(&truth);
    let simulated_deflection = median_deflection(&simulated);
    let over_deflection = |x: f64| (deflection > 0.0).then(|| x / deflection);
    Ok(JointReport {
        frames: truth.len(),
        median_error: scan[0],
        deflection,
        simulated_deflection,
        error_over_deflection: over_deflection(scan[0]),
        overshoot: over_deflection(simulated_deflection),
        axis_angle: axis_angle(&truth, &simulated),
        principal_axis_angle: principal_axis_angle(&truth, &simulated),
        correlation: correlations(&truth, &simulated),
        share_at_limit: limit.map(|limit| share_at_limit(&simulated, limit)),
        rank_of_zero: rank_of_zero(&scan),
        scan,
    })
}

/// δ of each rotation. Errors of two rotations are those of their δ: the rest cancels.
fn deflections(
    rest: Quaternion,
    series: &[[f32; 4]],
    name: &'static str,
) -> Result<Vec<Quaternion>, MeasureError> {
    let one = |(frame, &found): (usize, &[f32; 4])| {
        let q = Quaternion::unit(found.map(f64::from)).ok_or(MeasureError::Rotation {
            series: name,
            frame,
            found,
        })?;
        Ok(rest.back_and_to(q).short())
    };
    series.iter().enumerate().map(one).collect()
}

fn median_deflection(series: &[Quaternion]) -> f64 {
    median_angle(series.iter().map(|q| q.half_angle_sine_squared()))
}

/// The median error with the simulation shown `k` frames early, for every `k`. `[D2]`
fn scan(truth: &[Quaternion], simulated: &[Quaternion]) -> Vec<f64> {
    let shown = |k: usize| simulated[k..].iter().chain(&simulated[..k]);
    let error = |(a, b): (&Quaternion, &Quaternion)| a.back_and_to(*b).half_angle_sine_squared();
    (0..truth.len())
        .map(|k| median_angle(truth.iter().zip(shown(k)).map(error)))
        .collect()
}

fn rank_of_zero(scan: &[f64]) -> usize {
    1 + scan.iter().filter(|&&error| error < scan[0]).count()
}

fn can_judge(scan: &[f64]) -> bool {
    scan.len() > 1 && scan[1..].iter().all(|&error| error > scan[0])
}

fn axis_angle(truth: &[Quaternion], simulated: &[Quaternion]) -> Option<f64> {
    let turned = |q: &Quaternion| q.rotation_vector();
    let pairs = truth.iter().map(turned).zip(simulated.iter().map(turned));
    let moving = pairs.filter(|(a, b)| length(*a) > AXIS_FLOOR && length(*b) > AXIS_FLOOR);
    median(moving.map(|(a, b)| math::angle_between(a, b)).collect())
}

fn principal_axis_angle(truth: &[Quaternion], simulated: &[Quaternion]) -> Option<f64> {
    let axis =
        |series: &[Quaternion]| principal_axis(series.iter().map(Quaternion::rotation_vector));
    let (a, b) = (axis(truth)?, axis(simulated)?);
    // An axis of variation is a line: it has no sign.
    let b = if dot(a, b) < 0.0 { b.map(|c| -c) } else { b };
    Some(math::angle_between(a, b))
}

fn correlations(truth: &[Quaternion], simulated: &[Quaternion]) -> [Option<f64>; 3] {
    let euler =
        |series: &[Quaternion]| -> Vec<V3> { series.iter().map(Quaternion::euler_zxy).collect() };
    let (a, b) = (euler(truth), euler(simulated));
    let component = |of: &[V3], axis: usize| -> Vec<f64> { of.iter().map(|e| e[axis]).collect() };
    core::array::from_fn(|axis| correlation(&component(&a, axis), &component(&b, axis)))
}

/// At a limit: any axis that has room is within [`LIMIT_MARGIN`] of an end. `[D2]`
fn share_at_limit(simulated: &[Quaternion], limit: &Limit) -> f64 {
    let radians = |degrees: bevy_math::Vec3| degrees.to_array().map(|d| f64::from(d).to_radians());
    let (low, high) = (radians(limit.low), radians(limit.high));
    let at_limit = |q: &&Quaternion| {
        let angles = q.euler_zxy();
        (0..3).any(|axis| {
            let near = |end: f64| (angles[axis] - end).abs() <= LIMIT_MARGIN;
            low[axis] != high[axis] && (near(low[axis]) || near(high[axis]))
        })
    };
    simulated.iter().filter(at_limit).count() as f64 / simulated.len() as f64
}

/// Many joints as one: the median joint of each number, the scan shift by shift. `[D2]`
///
/// Joints that do not define a number do not count towards it; `frames` is what all joints have.
///
/// # Errors
/// [`MeasureError`]: no joints, or joints of different lengths.
pub fn overall(joints: &[JointReport]) -> Result<JointReport, MeasureError> {
    let first = joints.first().ok_or(MeasureError::Empty("joint"))?;
    if let Some(other) = joints.iter().find(|joint| joint.frames != first.frames) {
        return Err(MeasureError::Length {
            truth: first.frames,
            simulated: other.frames,
        });
    }
    let some =
        |of: &dyn Fn(&JointReport) -> Option<f64>| median(joints.iter().filter_map(of).collect());
    let all = |of: &dyn Fn(&JointReport) -> f64| some(&|joint| Some(of(joint))).unwrap_or(0.0);
    let scan: Vec<f64> = (0..first.scan.len())
        .map(|k| all(&|joint| joint.scan[k]))
        .collect();
    Ok(JointReport {
        frames: first.frames,
        median_error: all(&|joint| joint.median_error),
        deflection: all(&|joint| joint.deflection),
        simulated_deflection: all(&|joint| joint.simulated_deflection),
        error_over_deflection: some(&|joint| joint.error_over_deflection),
        overshoot: some(&|joint| joint.overshoot),
        axis_angle: some(&|joint| joint.axis_angle),
        principal_axis_angle: some(&|joint| joint.principal_axis_angle),
        correlation: core::array::from_fn(|axis| some(&|joint| joint.correlation[axis])),
        share_at_limit: some(&|joint| joint.share_at_limit),
        rank_of_zero: rank_of_zero(&scan),
        scan,
    })
}

#[cfg(test)]
mod tests;
