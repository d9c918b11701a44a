//! Poses: one transform per joint, and how transforms compose.
//!
//! Swing maths is rigid: a model transform is a translation and a rotation. Scale travels beside them, component by
//! component, and acts on the translations of children only; mirrored axes (negative scale) reflect the rotations
//! below them, so that no quaternion is ever taken from a matrix that mirrors.

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
use bevy_math::{Quat, Vec3};
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use thiserror::Error;

use crate::lane::{Lane, Vec3x};
use crate::rotation::{self, Rotation};

/// Translation, rotation and scale of a joint against its parent (or of the whole against the world).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
pub struct JointTransform {
    /// In the parent's space, in the parent's units (metres unless an ancestor is scaled).
    pub translation: Vec3,
    /// Unit.
    pub rotation: Quat,
    /// Dimensionless, per axis; negative mirrors.
    pub scale: Vec3,
}

impl JointTransform {
    /// No translation, no rotation, scale 1.
    pub const IDENTITY: Self = Self {
        translation: Vec3::ZERO,
        rotation: Quat::IDENTITY,
        scale: Vec3::ONE,
    };

    /// From a translation and a rotation, scale 1.
    pub fn rigid(translation: Vec3, rotation: Quat) -> Self {
        Self {
            translation,
            rotation,
            scale: Vec3::ONE,
        }
    }

    /// Whether every number is finite and the rotation has a direction.
    pub fn is_finite(&self) -> bool {
        self.translation.is_finite()
            && self.rotation.is_finite()
            && self.scale.is_finite()
            && self.rotation.to_array() != [0.0; 4]
    }

    /// `self` at 0, `other` at 1: lerp for translation and scale, `[C3]` for rotation.
    pub fn blend(&self, other: &Self, t: f32) -> Self {
        let rotation = rotation::slerp(self.rotation.into(), other.rotation.into(), t);
        Self {
            translation: mix(self.translation, other.translation, t),
            rotation: rotation.into(),
            scale: mix(self.scale, other.scale, t),
        }
    }
}

impl Default for JointTransform {
    fn default() -> Self {
        Self::IDENTITY
    }
}

/// `a` at 0, `b` at 1.
fn mix(a: Vec3, b: Vec3, t: f32) -> Vec3 {
    a + (b - a) * t
}

/// Translation and rotation, per lane: what the swing maths composes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rigid<L> {
    /// Translation.
    pub t: Vec3x<L>,
    /// Rotation, unit.
    pub r: Rotation<L>,
}

impl<L: Lane> Rigid<L> {
    /// Numbers per lane in memory: translation x y z, rotation x y z w.
    pub const COMPONENTS: usize = 7;

    /// Moves nothing.
    #[inline(always)]
    pub fn identity() -> Self {
        Self {
            t: Vec3x::splat([0.0; 3]),
            r: Rotation::identity(),
        }
    }
    /// The same transform in every lane.
    #[inline(always)]
    pub fn splat(of: Rigid<f32>) -> Self {
        Self {
            t: Vec3x::splat(of.t.lane(0)),
            r: Rotation::splat(of.r.lane(0)),
        }
    }
    /// Moves a point.
    #[inline(always)]
    pub fn apply(self, point: Vec3x<L>) -> Vec3x<L> {
        self.t + self.r.rotate(point)
    }
    /// `(ta, ra) * (tb, rb) = (ta + ra·tb, ra·rb)`.
    #[inline(always)]
    pub fn compose(self, local: Self) -> Self {
        Self {
            t: self.t + self.r.rotate(local.t),
            r: self.r * local.r,
        }
    }
    /// Reads seven components.
    #[inline(always)]
    pub fn load(from: &[f32]) -> Self {
        Self {
            t: Vec3x::load(from),
            r: Rotation::load(&from[3 * L::LANES..]),
        }
    }
    /// Writes seven components.
    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        self.t.store(to);
        self.r.store(&mut to[3 * L::LANES..]);
    }
    /// Whether every number is finite.
    #[inline(always)]
    pub fn finite(self) -> L::Mask {
        self.t.finite() & self.r.finite()
    }
}

/// A joint's transform in model space, with the scale that acts below it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelTransform {
    /// Translation and rotation.
    pub rigid: Rigid<f32>,
    /// Product of the scales from the root down, per axis.
    pub scale: Vec3,
}

impl ModelTransform {
    /// The actor's own space with `scale` in front: what root joints hang on.
    pub fn root(scale: f32) -> Self {
        Self {
            rigid: Rigid::identity(),
            scale: Vec3::splat(scale),
        }
    }

    /// `local` as a rigid transform in this joint's frame: the translation scaled, the rotation unit and reflected where
    /// an axis is mirrored. `self.rigid.compose(self.scaled(local))` is the child's model transform.
    pub fn scaled(&self, local: &JointTransform) -> Rigid<f32> {
        Rigid {
            t: Vec3x::from(self.scale * local.translation),
            r: rotation::unit_or_identity(local.rotation.into()).reflected(self.sign()),
        }
    }

    /// The model transform of a child with `local`: `model_from_child = model_from_parent * parent_from_child`.
    pub fn child(&self, local: &JointTransform) -> Self {
        Self {
            rigid: self.rigid.compose(self.scaled(local)),
            scale: self.scale * local.scale,
        }
    }

    /// ±1 per axis: which axes are mirrored.
    pub fn sign(&self) -> Vec3x<f32> {
        let one = |s: f32| if s < 0.0 { -1.0 } else { 1.0 };
        Vec3x::new(one(self.scale.x), one(self.scale.y), one(self.scale.z))
    }
}

/// Why model transforms cannot be composed. `[L6]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error(
    "joint {joint} of {count}: its parent {parent} does not come before it; expected joints parents first"
)]
pub struct HierarchyFault {
    /// Whose parent it is.
    pub joint: usize,
    /// Where its parent is said to be.
    pub parent: usize,
    /// How many joints there are.
    pub count: usize,
}

/// Model transforms from local ones, parents first: after a joint was replaced its descendants keep their local
/// transforms and follow it. `[L6]`
///
/// `parents` and `locals` have one entry per joint; `root` is what joints without a parent hang on.
///
/// # Errors
/// [`HierarchyFault`] with the first joint whose parent does not come before it.
pub fn compose_model(
    parents: &[Option<usize>],
    locals: &[JointTransform],
    root: ModelTransform,
) -> Result<Vec<ModelTransform>, HierarchyFault> {
    let mut model = Vec::with_capacity(parents.len());
    compose_model_into(parents, locals, root, &mut model)?;
    Ok(model)
}

/// As [`compose_model`], into memory that is reused; what it held is lost.
///
/// # Errors
/// As [`compose_model`]; `model` then ends before that joint.
pub fn compose_model_into(
    parents: &[Option<usize>],
    locals: &[JointTransform],
    root: ModelTransform,
    model: &mut Vec<ModelTransform>,
) -> Result<(), HierarchyFault> {
    debug_assert_eq!(
        parents.len(),
        locals.len(),
        "one parent and one transform per joint"
    );
    model.clear();
    for (joint, (&parent, local)) in parents.iter().zip(locals).enumerate() {
        let above = match parent {
            None => root,
            Some(parent) => *model.get(parent).ok_or(HierarchyFault {
                joint,
                parent,
                count: parents.len(),
            })?,
        };
        model.push(above.child(local));
    }
    Ok(())
}

/// The animated pose of an actor, in the rig's joint order: what the host gives before a frame. Starts at rest.
///
/// The engine reads it and never writes it. A clip-driven actor samples its clip instead.
#[derive(Component, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
pub struct AnimatedPose(pub Vec<JointTransform>);

/// The pose of an actor to show: one transform per joint against its parent, in the rig's joint order; right after the
/// frame ran, with the rotations of the swing joints in place.
#[derive(Component, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
pub struct LocalPose(pub Vec<JointTransform>);

/// The model transforms of [`LocalPose`], in the rig's joint order. Optional: actors that carry it get it filled.
#[derive(Component, Clone, Debug, Default, PartialEq)]
pub struct ModelPose(pub Vec<ModelTransform>);

/// Joints whose animated transform was not finite this frame, by index; they took their rest pose. `[B6]` `[V8]`
///
/// A joint is named in a warning once, when it first goes wrong.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct PoseHealth {
    /// Invalid this frame, ascending.
    pub invalid: Vec<usize>,
    /// Named in a warning already, ascending.
    pub reported: Vec<usize>,
}

impl PoseHealth {
    /// Notes that `joint` fell back to its rest pose; true the first time, when it deserves a warning.
    pub fn note(&mut self, joint: usize) -> bool {
        if let Err(place) = self.invalid.binary_search(&joint) {
            self.invalid.insert(place, joint);
        }
        match self.reported.binary_search(&joint) {
            Ok(_) => false,
            Err(place) => {
                self.reported.insert(place, joint);
                true
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bevy_math::Affine3A;

    #[test]
    fn composition_agrees_with_matrices_also_under_a_mirrored_parent() {
        let parent = JointTransform {
            translation: Vec3::new(0.1, 1.0, -0.2),
            rotation: Quat::from_xyzw(0.1, 0.2, 0.3, 0.927_361_8).normalize(),
            scale: Vec3::new(-2.0, 2.0, 2.0),
        };
        let child = JointTransform {
            translation: Vec3::new(0.3, 0.2, 0.1),
            rotation: Quat::from_xyzw(-0.4, 0.1, 0.2, 0.888_819_4).normalize(),
            scale: Vec3::splat(0.5),
        };
        let grandchild = JointTransform::rigid(Vec3::new(0.0, -0.1, 0.05), Quat::IDENTITY);
        let affine = |j: &JointTransform| {
            Affine3A::from_scale_rotation_translation(j.scale, j.rotation, j.translation)
        };
        let expected = (affine(&parent) * affine(&child) * affine(&grandchild)).translation;
        let found = ModelTransform::root(1.0)
            .child(&parent)
            .child(&child)
            .child(&grandchild);
        let difference = Vec3::from(found.rigid.t) - Vec3::from(expected);
        assert!(difference.length() < 1e-6, "{difference}");
    }
}
