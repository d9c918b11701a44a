//! Rows: one property of many joints side by side, `[component][position]`, in whole blocks.
//!
//! A *position* is a place in a row; [`RowJoints`] says which joint stands there. The positions that fill up the last
//! block belong to nobody: they hold a value that every kernel can compute with and nobody reads.

use crate::lane::{Lane, Wide};
use crate::pose::JointTransform;
use crate::rotation::Rotation;

/// Positions per block: a cache line, and a multiple of every lane width the kernels run with.
pub const BLOCK: usize = 16;
/// The numbers of [`BLOCK`] positions, aligned to a cache line.
pub type Block = Wide<BLOCK>;

/// A property of a joint that a track moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Property {
    /// Against the parent, in the parent's units.
    Translation,
    /// Against the parent.
    Rotation,
    /// Dimensionless, per axis.
    Scale,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Translation, Self::Rotation, Self::Scale];

    /// What moves nothing, in four components; vectors use three of them.
    pub(super) fn neutral(self) -> [f32; 4] {
        match self {
            Self::Translation => [0.0; 4],
            Self::Rotation => [0.0, 0.0, 0.0, 1.0],
            Self::Scale => [1.0; 4],
        }
    }

    /// Numbers per value.
    pub(super) fn components(self) -> usize {
        match self {
            Self::Rotation => 4,
            Self::Translation | Self::Scale => 3,
        }
    }

    /// The property of a joint, the fourth component of vectors 0.
    pub(super) fn of(self, joint: &JointTransform) -> [f32; 4] {
        match self {
            Self::Translation => joint.translation.extend(0.0).to_array(),
            Self::Rotation => joint.rotation.to_array(),
            Self::Scale => joint.scale.extend(0.0).to_array(),
        }
    }

    /// Writes the property of a joint.
    pub(super) fn set(self, joint: &mut JointTransform, [x, y, z, w]: [f32; 4]) {
        match self {
            Self::Translation => joint.translation = [x, y, z].into(),
            Self::Rotation => joint.rotation = Rotation::new(x, y, z, w).into(),
            Self::Scale => joint.scale = [x, y, z].into(),
        }
    }
}

/// Which joint stands at which position, per property: what two sets of rows have to share to be blended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RowJoints {
    /// Joints of the rotation rows, by index in the rig, ascending.
    pub rotation: Vec<usize>,
    /// Joints of the translation rows, by index in the rig, ascending.
    pub translation: Vec<usize>,
    /// Joints of the scale rows, by index in the rig, ascending.
    pub scale: Vec<usize>,
}

impl RowJoints {
    /// The joints of a property.
    pub fn of(&self, property: Property) -> &Vec<usize> {
        match property {
            Property::Translation => &self.translation,
            Property::Rotation => &self.rotation,
            Property::Scale => &self.scale,
        }
    }

    /// The joints of a property, to change.
    pub fn of_mut(&mut self, property: Property) -> &mut Vec<usize> {
        match property {
            Property::Translation => &mut self.translation,
            Property::Rotation => &mut self.rotation,
            Property::Scale => &mut self.scale,
        }
    }

    /// Every joint that `self` or `other` has, per property.
    pub fn union(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for property in Property::ALL {
            let joints = both.of_mut(property);
            joints.extend_from_slice(self.of(property));
            joints.extend_from_slice(other.of(property));
            joints.sort_unstable();
            joints.dedup();
        }
        both
    }
}

/// Blocks of a row of one component.
pub(super) fn width(joints: usize) -> usize {
    joints.div_ceil(BLOCK)
}

/// Blocks of `rows` rows of a property, filled with what moves nothing.
pub(super) fn neutral_rows(property: Property, joints: usize, rows: usize) -> Vec<Block> {
    let width = width(joints);
    let neutral = property.neutral();
    let components = property.components();
    (0..rows * components * width)
        .map(|block| Block::splat(neutral[block / width % components]))
        .collect()
}

/// The value at `position` of a row.
pub(super) fn get(row: &[Block], property: Property, position: usize) -> [f32; 4] {
    let width = row.len() / property.components();
    let mut value = [0.0; 4];
    for (component, value) in value.iter_mut().take(property.components()).enumerate() {
        *value = row[component * width + position / BLOCK].0[position % BLOCK];
    }
    value
}

/// Writes the value at `position` of a row.
pub(super) fn set(row: &mut [Block], property: Property, position: usize, value: [f32; 4]) {
    let width = row.len() / property.components();
    for (component, value) in value.into_iter().take(property.components()).enumerate() {
        row[component * width + position / BLOCK].0[position % BLOCK] = value;
    }
}

/// A pose in rows: what clips are sampled into and blended in.
///
/// Reused from frame to frame; it allocates when it first meets a larger layout.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PoseRows {
    pub(super) rotation: Vec<Block>,
    pub(super) translation: Vec<Block>,
    pub(super) scale: Vec<Block>,
}

impl PoseRows {
    /// Rows for `joints` that move nothing.
    pub fn new(joints: &RowJoints) -> Self {
        let rows = |property| neutral_rows(property, joints.of(property).len(), 1);
        Self {
            rotation: rows(Property::Rotation),
            translation: rows(Property::Translation),
            scale: rows(Property::Scale),
        }
    }

    /// The row of a property, `[component][position]`.
    pub fn of(&self, property: Property) -> &[Block] {
        match property {
            Property::Translation => &self.translation,
            Property::Rotation => &self.rotation,
            Property::Scale => &self.scale,
        }
    }

    pub(super) fn of_mut(&mut self, property: Property) -> &mut Vec<Block> {
        match property {
            Property::Translation => &mut self.translation,
            Property::Rotation => &mut self.rotation,
            Property::Scale => &mut self.scale,
        }
    }

    /// The value at a position: x, y, z and for rotations w.
    ///
    /// # Panics
    /// If the layout has no such position.
    pub fn value(&self, property: Property, position: usize) -> [f32; 4] {
        get(self.of(property), property, position)
    }

    /// Gives `self` the size of `other`; what it held is lost if that changed.
    pub(super) fn fit(&mut self, other: [usize; 3]) {
        for (property, blocks) in Property::ALL.into_iter().zip(other) {
            let row = self.of_mut(property);
            if row.len() != blocks {
                row.clear();
                row.resize(blocks, Block::splat(0.0));
            }
        }
    }

    /// Blocks per property, in the order of [`Property::ALL`].
    pub(super) fn sizes(&self) -> [usize; 3] {
        Property::ALL.map(|property| self.of(property).len())
    }
}

/// A weight per joint and property, in the positions of a layout. `[L3]`
#[derive(Clone, Debug, PartialEq)]
pub struct WeightRows {
    rows: [Vec<Block>; 3],
}

impl WeightRows {
    /// The weights that `weight` gives, 0 to 1; any other number, NaN too, leaves the joint as it is below. `[L2]`
    pub fn new(joints: &RowJoints, weight: impl Fn(usize, Property) -> f32) -> Self {
        let rows = Property::ALL.map(|property| {
            let joints = joints.of(property);
            let mut row = vec![Block::splat(0.0); width(joints.len())];
            for (position, &joint) in joints.iter().enumerate() {
                row[position / BLOCK].0[position % BLOCK] = weight(joint, property);
            }
            row
        });
        Self { rows }
    }

    /// The weights of a property.
    pub(super) fn of(&self, property: Property) -> &[Block] {
        match property {
            Property::Translation => &self.rows[0],
            Property::Rotation => &self.rows[1],
            Property::Scale => &self.rows[2],
        }
    }
}

/// A row's components, each `row.len() / N` blocks.
#[inline(always)]
pub(super) fn components<const N: usize>(row: &[Block]) -> [&[Block]; N] {
    let width = row.len() / N;
    core::array::from_fn(|component| &row[component * width..(component + 1) * width])
}

/// The same, to change.
#[inline(always)]
pub(super) fn four_components_mut(row: &mut [Block]) -> [&mut [Block]; 4] {
    let width = row.len() / 4;
    let (x, row) = row.split_at_mut(width);
    let (y, row) = row.split_at_mut(width);
    let (z, w) = row.split_at_mut(width);
    [x, y, z, w]
}

/// The lanes from `at` of the four components.
#[inline(always)]
pub(super) fn load<L: Lane>(of: [&Block; 4], at: usize) -> Rotation<L> {
    let [x, y, z, w] = of.map(|block| L::load(&block.0[at..at + L::LANES]));
    Rotation::new(x, y, z, w)
}

/// Writes the lanes from `at` of the four components.
#[inline(always)]
pub(super) fn store<L: Lane>(q: Rotation<L>, to: [&mut Block; 4], at: usize) {
    let [x, y, z, w] = to.map(|block| &mut block.0[at..at + L::LANES]);
    q.x.store(x);
    q.y.store(y);
    q.z.store(z);
    q.w.store(w);
}
