//! Uniform clips: a clip resampled to rows at a fixed rate, so that sampling is two row loads, a lerp and a normalise.
//!
//! The keyed clip ([`crate::clip`]) is the reference: it is exact, and searches each track for its keys. A uniform clip
//! is built from it at load, by [`UniformClip::resample`], if it can stay within a stated [`ErrorBound`]; otherwise the
//! keyed clip stays. Rows lie `[row][component][joint]` and hold only what moves: the rotations of successive rows are
//! on one hemisphere `[B5]`, constant tracks are folded into a list, and a joint without a track stays without one
//! `[L4]`. Lanes are joints here, not actors.
//!
//! ```text
//! x = (t − start)·rate, k = ⌊x⌋, f = x − k
//! translation, scale: a + (b − a)·f; rotation: normalise(a + (b − a)·f)      a, b: rows k and k + 1
//! ```
//!
//! The last row lies exactly at the end of the clip, so the last interval is shorter than the others (or longer by up
//! to a thousandth: [`SHORTEST_INTERVAL`]); f is divided by its length there. At the time of a row the value is that
//! row's, bit for bit.
//!
//! Every lane width gives the same bits. [`blend`] lays poses over each other without leaving the rows.

pub mod blend;
mod bound;
mod layout;
mod resample;
pub mod rows;

pub use bound::{ErrorBound, NotUniform};
pub use resample::RATES_HZ;
pub use rows::{Block, PoseRows, Property, RowJoints, WeightRows};

use crate::lane::{Lane, Wide};
use crate::pose::JointTransform;

/// The lanes of kernels over rows: what a register of x86-64 holds as it comes. Eight, sixteen and even one run alike
/// there, as `cargo bench --bench clips` shows: the loops have whole blocks, and the compiler regroups them.
pub type RowLane = Wide<4>;

/// A remainder of the clip below this many intervals is added to the last one: a row of its own would only make the
/// interval's reciprocal large.
pub const SHORTEST_INTERVAL: f64 = 1e-3;

/// A track that does not move.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// Index of the joint in the rig.
    pub joint: usize,
    /// What it holds.
    pub property: Property,
    /// x, y, z and for rotations w; exactly the key's value.
    pub value: [f32; 4],
}

/// A clip in rows at a fixed rate.
#[derive(Clone, Debug, PartialEq)]
pub struct UniformClip {
    /// Time of the first row, seconds.
    start: f32,
    /// Time of the last row, seconds.
    end: f32,
    /// Rows per second; 0 with one row.
    rate: f64,
    /// At least one.
    rows: usize,
    /// Intervals per length of the last one.
    last_gain: f64,
    joints: RowJoints,
    rotation: Vec<Block>,
    translation: Vec<Block>,
    scale: Vec<Block>,
    constants: Vec<Constant>,
    /// Per joint of the rig, in the order of [`Property::ALL`].
    present: Vec<[bool; 3]>,
    error: ErrorBound,
}

impl UniformClip {
    /// Which joints the rows move.
    pub fn joints(&self) -> &RowJoints {
        &self.joints
    }
    /// What does not move.
    pub fn constants(&self) -> &[Constant] {
        &self.constants
    }
    /// Whether the clip says anything about the property of a joint. `[L4]`
    pub fn has(&self, joint: usize, property: Property) -> bool {
        self.present
            .get(joint)
            .is_some_and(|present| present[property as usize])
    }
    /// Rows per second; 0 if nothing moves.
    pub fn rate_hz(&self) -> f64 {
        self.rate
    }
    /// How many rows, at least one.
    pub fn row_count(&self) -> usize {
        self.rows
    }
    /// The largest distances from the keyed clip that were found at load.
    pub fn largest_error(&self) -> ErrorBound {
        self.error
    }
    /// Memory of the rows, bytes.
    pub fn row_bytes(&self) -> usize {
        let blocks = self.rotation.len() + self.translation.len() + self.scale.len();
        blocks * size_of::<Block>()
    }

    /// The time of a row, seconds.
    pub fn row_time(&self, row: usize) -> f32 {
        if row + 1 >= self.rows {
            return self.end;
        }
        (f64::from(self.start) + row as f64 / self.rate) as f32
    }

    /// The rows of a property.
    fn of(&self, property: Property) -> &[Block] {
        match property {
            Property::Translation => &self.translation,
            Property::Rotation => &self.rotation,
            Property::Scale => &self.scale,
        }
    }

    fn of_mut(&mut self, property: Property) -> &mut Vec<Block> {
        match property {
            Property::Translation => &mut self.translation,
            Property::Rotation => &mut self.rotation,
            Property::Scale => &mut self.scale,
        }
    }

    fn row(&self, property: Property, row: usize) -> &[Block] {
        let rows = self.of(property);
        let stride = rows.len() / self.rows;
        &rows[row * stride..(row + 1) * stride]
    }

    /// The row before `time` and how far it is to the next, 0 to 1; exactly 0 on a row and beyond the ends.
    fn place(&self, time: f32) -> (usize, f32) {
        // Written so that NaN takes the first row, as it takes the first key of a track.
        if self.rows == 1 || time.partial_cmp(&self.start).is_none_or(|to| to.is_le()) {
            return (0, 0.0);
        }
        if time >= self.end {
            return (self.rows - 1, 0.0);
        }
        let x = (f64::from(time) - f64::from(self.start)) * self.rate;
        let nearest = (x + 0.5) as usize;
        if nearest < self.rows && self.row_time(nearest) == time {
            return (nearest, 0.0);
        }
        let last = self.rows - 2;
        let row = (x as usize).min(last);
        let since = x - row as f64;
        let gain = if row == last { self.last_gain } else { 1.0 };
        (row, (since * gain) as f32)
    }

    /// The pose at `time`, seconds, into `rows`, which take the layout of [`UniformClip::joints`].
    ///
    /// Before the first and after the last row the value is that of the end row, also for infinite times; NaN takes the
    /// first.
    pub fn sample_into(&self, time: f32, rows: &mut PoseRows) {
        self.sample_into_lanes::<RowLane>(time, rows);
    }

    /// [`UniformClip::sample_into`] with lanes of the caller's choice, which changes no bit.
    pub fn sample_into_lanes<L: Lane>(&self, time: f32, rows: &mut PoseRows) {
        rows.fit(Property::ALL.map(|property| self.of(property).len() / self.rows));
        let (row, fraction) = self.place(time);
        if fraction == 0.0 {
            for property in Property::ALL {
                rows.of_mut(property)
                    .copy_from_slice(self.row(property, row));
            }
            return;
        }
        let of = |property| (self.row(property, row), self.row(property, row + 1));
        let (a, b) = of(Property::Rotation);
        mix_rotations::<L>(a, b, fraction, &mut rows.rotation);
        let (a, b) = of(Property::Translation);
        mix_vectors::<L>(a, b, fraction, &mut rows.translation);
        let (a, b) = of(Property::Scale);
        mix_vectors::<L>(a, b, fraction, &mut rows.scale);
    }

    /// Writes `rows` and the constants into the joints of `pose` that are `needed`; what the clip has no track for
    /// stays as it is. `[L4]`
    ///
    /// `rows` come from this clip or were blended in its layout; `pose` is in the rig's joint order, and joints beyond
    /// its end are passed over.
    pub fn scatter(
        &self,
        rows: &PoseRows,
        pose: &mut [JointTransform],
        needed: impl Fn(usize) -> bool,
    ) {
        for constant in &self.constants {
            if needed(constant.joint)
                && let Some(joint) = pose.get_mut(constant.joint)
            {
                constant.property.set(joint, constant.value);
            }
        }
        self.scatter_property::<3>(Property::Translation, rows, pose, &needed);
        self.scatter_property::<4>(Property::Rotation, rows, pose, &needed);
        self.scatter_property::<3>(Property::Scale, rows, pose, &needed);
    }

    #[inline(always)]
    fn scatter_property<const N: usize>(
        &self,
        property: Property,
        rows: &PoseRows,
        pose: &mut [JointTransform],
        needed: &impl Fn(usize) -> bool,
    ) {
        let row = rows::components::<N>(rows.of(property));
        for (block, joints) in self.joints.of(property).chunks(rows::BLOCK).enumerate() {
            let components = row.map(|component| &component[block].0);
            for (lane, &joint) in joints.iter().enumerate() {
                if needed(joint)
                    && self.has(joint, property)
                    && let Some(to) = pose.get_mut(joint)
                {
                    let mut value = [0.0; 4];
                    for (value, component) in value.iter_mut().zip(&components) {
                        *value = component[lane];
                    }
                    property.set(to, value);
                }
            }
        }
    }
}

/// `normalise(a + (b − a)·f)`, rotation by rotation.
fn mix_rotations<L: Lane>(a: &[Block], b: &[Block], fraction: f32, out: &mut [Block]) {
    let f = L::splat(fraction);
    let ([ax, ay, az, aw], [bx, by, bz, bw]) = (rows::components(a), rows::components(b));
    let [x, y, z, w] = rows::four_components_mut(out);
    let from = ax.iter().zip(ay).zip(az).zip(aw);
    let to = bx.iter().zip(by).zip(bz).zip(bw);
    let out = x.iter_mut().zip(y).zip(z).zip(w);
    for ((from, to), out) in from.zip(to).zip(out) {
        let ((((ax, ay), az), aw), (((bx, by), bz), bw)) = (from, to);
        let (((x, y), z), w) = out;
        for at in (0..rows::BLOCK).step_by(L::LANES) {
            let a = rows::load([ax, ay, az, aw], at);
            let b = rows::load([bx, by, bz, bw], at);
            rows::store(a.lerp(b, f).normalized(), [x, y, z, w], at);
        }
    }
}

fn mix_vectors<L: Lane>(a: &[Block], b: &[Block], fraction: f32, out: &mut [Block]) {
    let f = L::splat(fraction);
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        for at in (0..rows::BLOCK).step_by(L::LANES) {
            let lanes = at..at + L::LANES;
            let (a, b) = (L::load(&a.0[lanes.clone()]), L::load(&b.0[lanes.clone()]));
            (a + (b - a) * f).store(&mut out.0[lanes]);
        }
    }
}

#[cfg(test)]
mod tests;
