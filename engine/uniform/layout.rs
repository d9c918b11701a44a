//! Clips made ready to be blended: differences from a reference, and one layout for several clips. `[L2]` `[L4]`

use super::rows::{self, Property, RowJoints, WeightRows, neutral_rows};
use super::{Constant, UniformClip};
use crate::additive;
use crate::pose::JointTransform;
use crate::rotation::{self, Rotation};
impl UniformClip {
    /// The clip of differences from `reference`, for [`additive_rows`](super::blend::additive_rows). `[L2]`
    ///
    /// `reference` is a pose in the rig's joint order. What it has no usable value for (beyond its end, not finite, a zero
    /// quaternion) the result has no track for, so that the joint keeps what is below.
    pub fn additive(&self, reference: &[JointTransform]) -> Self {
        let mut differences = self.clone();
        differences.constants.clear();
        for constant in &self.constants {
            let (joint, property) = (constant.joint, constant.property);
            let value = difference(property, reference.get(joint), constant.value);
            match value {
                Some(value) => differences.constants.push(Constant {
                    joint,
                    property,
                    value,
                }),
                None => differences.present[joint][property as usize] = false,
            }
        }
        for property in Property::ALL {
            let stride = self.of(property).len() / self.rows;
            for (position, &joint) in self.joints.of(property).iter().enumerate() {
                for row in 0..self.rows {
                    let value = rows::get(self.row(property, row), property, position);
                    let value = difference(property, reference.get(joint), value);
                    differences.present[joint][property as usize] &= value.is_some();
                    let to = &mut differences.of_mut(property)[row * stride..(row + 1) * stride];
                    rows::set(to, property, position, value.unwrap_or(property.neutral()));
                }
            }
        }
        differences
    }

    /// The same clip in a layout that has `joints` as well as its own: equal for all clips of a rig that are given the
    /// union of all.
    ///
    /// Constants of joints that now have a position fill their rows. Where the clip has no track the rows hold the joint
    /// of `fill` (the rest pose, say; identity beyond its end), and the clip still has none: [`UniformClip::weights`].
    pub fn laid_out(&self, joints: &RowJoints, fill: &[JointTransform]) -> Self {
        let mut wide = self.clone();
        wide.joints = self.joints.union(joints);
        for property in Property::ALL {
            let joints = wide.joints.of(property).clone();
            let mut to = neutral_rows(property, joints.len(), self.rows);
            let stride = to.len() / self.rows;
            for (position, &joint) in joints.iter().enumerate() {
                let own = self.joints.of(property).binary_search(&joint).ok();
                let held = self.held(property, joint);
                let still = held.or_else(|| fill.get(joint).map(|fill| property.of(fill)));
                for row in 0..self.rows {
                    let value = own.map_or_else(
                        || still.unwrap_or(property.neutral()),
                        |own| rows::get(self.row(property, row), property, own),
                    );
                    let to = &mut to[row * stride..(row + 1) * stride];
                    rows::set(to, property, position, value);
                }
            }
            *wide.of_mut(property) = to;
        }
        let joints = &wide.joints;
        wide.constants
            .retain(|c| joints.of(c.property).binary_search(&c.joint).is_err());
        wide
    }

    /// The value of a constant.
    fn held(&self, property: Property, joint: usize) -> Option<[f32; 4]> {
        let mut constants = self.constants.iter();
        let of = |c: &&Constant| c.property == property && c.joint == joint;
        constants.find(of).map(|constant| constant.value)
    }

    /// The weights of this clip as a layer: `weight` by joint, 0 where the clip has no track. `[L3]` `[L4]`
    pub fn weights(&self, weight: impl Fn(usize) -> f32) -> WeightRows {
        WeightRows::new(&self.joints, |joint, property| {
            if self.has(joint, property) {
                weight(joint)
            } else {
                0.0
            }
        })
    }
}

/// How a value differs from the reference; `None` if that cannot be said.
fn difference(
    property: Property,
    reference: Option<&JointTransform>,
    value: [f32; 4],
) -> Option<[f32; 4]> {
    let reference = property.of(reference?);
    let difference = match property {
        Property::Rotation => {
            let reference = rotation::unit(Rotation::splat(reference), "reference").ok()?;
            let difference = reference.conjugate() * Rotation::splat(value);
            rotation::unit(difference, "difference").ok()?.lane(0)
        }
        Property::Translation => core::array::from_fn(|c| value[c] - reference[c]),
        Property::Scale => core::array::from_fn(|c| additive::ratio(reference[c], value[c], 1.0)),
    };
    difference
        .iter()
        .all(|c| c.is_finite())
        .then_some(difference)
}
