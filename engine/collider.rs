//! Colliders: shapes, masks, and the same shapes scaled to metres for the solver.
//!
//! What happens when two of them meet is in [`crate::contact`].

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
use bevy_math::Vec3;
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

/// A shape on a joint; offsets and radii are in the joint's own units (metres where the joint is not scaled) and scale
/// with it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub enum Shape {
    /// A ball.
    Sphere {
        /// Centre, joint space.
        offset: Vec3,
        /// ≥ 0.
        radius: f32,
    },
    /// A capsule whose ends may differ: a leg, an arm.
    Capsule {
        /// First end, joint space.
        offset_a: Vec3,
        /// Second end, joint space.
        offset_b: Vec3,
        /// At the first end, ≥ 0.
        radius_a: f32,
        /// At the second end, ≥ 0.
        radius_b: f32,
    },
    /// The bone itself with a thickness: from the joint to its parent (static), from the particle to the joint's origin
    /// (dynamic).
    Line {
        /// How far the line stops short of its first end, ≥ 0.
        inset_a: f32,
        /// How far it stops short of its second end, ≥ 0.
        inset_b: f32,
        /// At the first end, ≥ 0.
        radius_a: f32,
        /// At the second end, ≥ 0.
        radius_b: f32,
        /// Multiplies both insets, dimensionless.
        scale: f32,
    },
    /// A half-space that stands still in model space: everything with `normal · x < offset` is inside.
    Plane {
        /// Unit, model space.
        normal: Vec3,
        /// Along the normal, metres.
        offset: f32,
    },
}

/// Which colliders meet: two collide when they share a bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
pub struct Mask(pub u32);

impl Mask {
    /// Meets everything that meets anything.
    pub const ALL: Self = Self(u32::MAX);

    /// Whether the two share a bit.
    pub fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl Default for Mask {
    fn default() -> Self {
        Self::ALL
    }
}

/// A shape with its mask.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct Collider {
    /// What it is.
    pub shape: Shape,
    /// What it meets.
    pub mask: Mask,
}

/// A collider that moves with the animated pose: a head, a thigh, the ground.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
pub struct StaticCollider {
    /// Index of the joint it is on; `None` for a plane that stands still.
    pub joint: Option<usize>,
    /// Shape and mask.
    pub collider: Collider,
}

/// A shape scaled to metres, in its joint's model frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PlacedShape {
    /// A ball.
    Sphere {
        /// From the joint's origin.
        offset: [f32; 3],
        /// ≥ 0.
        radius: f32,
    },
    /// A tapered capsule.
    Capsule {
        /// Both ends, from the joint's origin.
        offset: [[f32; 3]; 2],
        /// At both ends, ≥ 0.
        radius: [f32; 2],
    },
    /// The bone with a thickness.
    Line {
        /// Inset times scale at both ends, ≥ 0.
        inset: [f32; 2],
        /// At both ends, ≥ 0.
        radius: [f32; 2],
    },
    /// A half-space.
    Plane {
        /// Unit, model space.
        normal: [f32; 3],
        /// Along the normal.
        offset: f32,
    },
}

impl PlacedShape {
    /// `shape` on a joint whose model scale at rest is `scale`: offsets are scaled per axis, radii and insets by the
    /// largest |scale|. A NaN or negative inset counts as 0. `[X1]`
    pub fn new(shape: &Shape, scale: Vec3) -> Self {
        let widest = scale.abs().max_element();
        match *shape {
            Shape::Sphere { offset, radius } => Self::Sphere {
                offset: (scale * offset).to_array(),
                radius: radius * widest,
            },
            Shape::Capsule {
                offset_a,
                offset_b,
                radius_a,
                radius_b,
            } => Self::Capsule {
                offset: [(scale * offset_a).to_array(), (scale * offset_b).to_array()],
                radius: [radius_a * widest, radius_b * widest],
            },
            Shape::Line {
                inset_a,
                inset_b,
                radius_a,
                radius_b,
                scale: stretch,
            } => Self::Line {
                inset: [inset_a, inset_b].map(|inset| inset.max(0.0) * stretch * widest),
                radius: [radius_a * widest, radius_b * widest],
            },
            Shape::Plane { normal, offset } => Self::Plane {
                normal: normal.normalize_or(Vec3::Y).to_array(),
                offset,
            },
        }
    }
}
