//! Channels: what a pose has besides the transforms of joints: morph weights of faces, the lenses of cameras. `[K1]`
//!
//! A channel set hangs on a joint: the morph weights on the joint whose node shows the mesh, a field of view on the one
//! that carries the camera. Nothing of it is simulated; it is sampled, layered, shown and baked with the pose.

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// What the numbers of a channel set mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub enum ChannelKind {
    /// Weights of the morph targets of a mesh, dimensionless, one per target.
    Morph,
    /// Vertical field of view of a camera, radians, one number.
    Fov,
}

/// Numbers of one kind on one joint.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct ChannelSet {
    /// Index of the joint in the rig.
    pub joint: usize,
    /// What they mean.
    pub kind: ChannelKind,
    /// Their values when nothing moves them; at least one.
    pub rest: Vec<f32>,
}

/// Where the numbers of each set of a rig are in a [`ChannelPose`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ChannelLayout {
    sets: Vec<ChannelSet>,
    starts: Vec<usize>,
    rest: Vec<f32>,
}

impl ChannelLayout {
    /// The sets in the rig's order, one behind the other.
    pub fn new(sets: &[ChannelSet]) -> Self {
        let mut layout = Self {
            sets: sets.to_vec(),
            ..Self::default()
        };
        for set in sets {
            layout.starts.push(layout.rest.len());
            layout.rest.extend(&set.rest);
        }
        layout
    }

    /// The sets in order.
    pub fn sets(&self) -> &[ChannelSet] {
        &self.sets
    }

    /// The rest values of all sets.
    pub fn rest(&self) -> &[f32] {
        &self.rest
    }

    /// Where the numbers of set `index` are.
    pub fn range(&self, index: usize) -> core::ops::Range<usize> {
        let start = self.starts[index];
        start..start + self.sets[index].rest.len()
    }

    /// The first set of `kind` on `joint`.
    pub fn find(&self, joint: usize, kind: ChannelKind) -> Option<usize> {
        let is_it = |set: &ChannelSet| set.joint == joint && set.kind == kind;
        self.sets.iter().position(is_it)
    }
}

/// The channels of an actor to show, all sets of its rig one behind the other, see [`ChannelLayout`]. Optional: actors
/// that carry it get it filled.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct ChannelPose(pub Vec<f32>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_lie_one_behind_the_other() {
        let set = |joint, kind, rest: &[f32]| ChannelSet {
            joint,
            kind,
            rest: rest.to_vec(),
        };
        let layout = ChannelLayout::new(&[
            set(3, ChannelKind::Morph, &[0.0, 0.5]),
            set(4, ChannelKind::Fov, &[0.7]),
        ]);
        assert_eq!(layout.rest(), [0.0, 0.5, 0.7]);
        assert_eq!((layout.range(0), layout.range(1)), (0..2, 2..3));
        assert_eq!(layout.find(4, ChannelKind::Fov), Some(1));
        assert_eq!(layout.find(4, ChannelKind::Morph), None);
    }
}
