//! What a rig moves: which properties of which joints a bake has to write.

use crate::bone::SwingTree;
use crate::driver::Driver;
use crate::pose::JointTransform;
use crate::rig::Rig;
use crate::swing::{Motion, SwingJoint};

use crate::assets::patch::BakedValues;

/// A property of a joint that the rig moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Rotation against the parent.
    Rotation,
    /// Translation against the parent, in the parent's units.
    Translation,
    /// Scale.
    Scale,
}

impl Property {
    /// Numbers per value.
    pub fn width(self) -> usize {
        match self {
            Self::Rotation => 4,
            Self::Translation | Self::Scale => 3,
        }
    }

    /// No values yet, with room for `count`.
    pub fn values(self, count: usize) -> BakedValues {
        match self {
            Self::Rotation => BakedValues::Rotation(Vec::with_capacity(count)),
            Self::Translation => BakedValues::Translation(Vec::with_capacity(count)),
            Self::Scale => BakedValues::Scale(Vec::with_capacity(count)),
        }
    }
}

/// Appends the property that `values` holds.
pub fn push(values: &mut BakedValues, of: &JointTransform) {
    match values {
        BakedValues::Rotation(values) => values.push(of.rotation.to_array()),
        BakedValues::Translation(values) => values.push(of.translation.to_array()),
        BakedValues::Scale(values) => values.push(of.scale.to_array()),
        // Channels are no part of a transform.
        BakedValues::Weights { .. } => {}
    }
}

/// Forgets all values and keeps their room.
pub fn clear(values: &mut BakedValues) {
    match values {
        BakedValues::Rotation(values) => values.clear(),
        BakedValues::Translation(values) | BakedValues::Scale(values) => values.clear(),
        BakedValues::Weights { values, .. } => values.clear(),
    }
}

/// The swing joints of `rig` that move, in its order: active, with a bone (or room to slide), the first on their joint.
pub fn moving_swings(rig: &Rig) -> Vec<&SwingJoint> {
    let tree = SwingTree::new(rig);
    let moves = |&(index, swing): &(usize, &SwingJoint)| {
        let first = tree.swing_of_joint[swing.joint] == Some(index);
        first && swing.active && tree.bone(swing).is_ok()
    };
    let moving = rig.swing.iter().enumerate().filter(moves);
    moving.map(|(_, swing)| swing).collect()
}

/// Every property that `rig` moves by itself: the swing joints' in the rig's order, then those of driven joints, each
/// once. Legs move only where feet are held, see [`leg_properties`].
pub fn moved_properties(rig: &Rig) -> Vec<(usize, Property)> {
    let moving = moving_swings(rig).into_iter();
    let mut moved: Vec<(usize, Property)> = moving
        .map(|swing| match swing.motion {
            Motion::Swing => (swing.joint, Property::Rotation),
            Motion::Slide => (swing.joint, Property::Translation),
        })
        .collect();
    for driver in &rig.drivers {
        let driven: &[Property] = match driver {
            Driver::Skirt(_) => &[Property::Rotation],
            Driver::Blend(_) => &[Property::Rotation, Property::Translation, Property::Scale],
            Driver::Leg(_) => &[],
        };
        for &property in driven {
            let entry = (driver.joint(), property);
            if !moved.contains(&entry) {
                moved.push(entry);
            }
        }
    }
    moved
}

/// The properties that the legs of `rig` move where anchors hold their feet. `[Q4]`
pub fn leg_properties(rig: &Rig) -> impl Iterator<Item = (usize, Property)> {
    let joints = rig.legs().flat_map(|leg| [leg.upper, leg.lower, leg.foot]);
    joints.map(|joint| (joint, Property::Rotation))
}
