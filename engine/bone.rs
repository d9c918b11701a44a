//! Bones: the segment from a swing joint to its tip, and how swing joints stack. `[5.1]`

use bevy_math::Vec3;

use crate::pose::ModelTransform;
use crate::rig::Rig;
use crate::swing::{Motion, SwingJoint, Tip};

/// A bone this short or shorter, metres, has no direction: its joint is passive. `[5.1]`
pub const COINCIDENT: f32 = 1e-6;

/// The bone of a swing joint at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bone {
    /// The joint at its tip; `None` for a virtual tail.
    pub tip: Option<usize>,
    /// Unit, in the joint's model frame (mirrored axes reflected).
    pub axis: Vec3,
    /// Metres in model space, above [`COINCIDENT`]; 0 for a slide joint, which has none.
    pub length: f32,
}

/// Why a swing joint is passive: it follows its parent undeflected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passive {
    /// No child and no tail: nothing says where the bone ends.
    NoTip,
    /// The tip coincides with the joint (or is not finite).
    NoLength,
    /// A slide joint below a joint that is scaled to nothing, or beyond all numbers.
    NoRoom,
}

/// How the joints of a rig hang together, seen from its swing joints. All slices have one entry per joint.
#[derive(Clone, Debug)]
pub struct SwingTree {
    /// Index in [`Rig::swing`] of the swing joint on each joint.
    pub swing_of_joint: Vec<Option<usize>>,
    /// The first child that is a swing joint, else the first child. `[5.1]`
    pub first_child: Vec<Option<usize>>,
    /// Number of swing joints, passive and inactive ones included, among all ancestors. `[5.1]`
    pub depth: Vec<usize>,
    /// Rest transforms in model space.
    pub model: Vec<ModelTransform>,
    /// The parent of each joint.
    pub parents: Vec<Option<usize>>,
    /// See [`Rig::metres_per_unit`].
    pub metres_per_unit: f32,
}

impl SwingTree {
    /// Reads the tree of `rig`. Where two swing joints are on one joint, the first counts.
    pub fn new(rig: &Rig) -> Self {
        let count = rig.joints.len();
        let mut tree = Self {
            swing_of_joint: vec![None; count],
            first_child: vec![None; count],
            depth: vec![0; count],
            model: rig.rest_model(),
            parents: rig.joints.iter().map(|joint| joint.parent).collect(),
            metres_per_unit: rig.metres_per_unit,
        };
        for (index, swing) in rig.swing.iter().enumerate().rev() {
            tree.swing_of_joint[swing.joint] = Some(index);
        }
        let swings: Vec<bool> = tree.swing_of_joint.iter().map(Option::is_some).collect();
        for (child, joint) in rig.joints.iter().enumerate() {
            let Some(parent) = joint.parent else {
                continue;
            };
            tree.depth[child] = tree.depth[parent] + usize::from(swings[parent]);
            let known = tree.first_child[parent];
            if known.is_none_or(|known| !swings[known] && swings[child]) {
                tree.first_child[parent] = Some(child);
            }
        }
        tree
    }

    /// The bone of `swing`, or why it is passive. A slide joint moves without a bone: its has no tip and length 0.
    ///
    /// # Errors
    /// [`Passive`] when there is no tip or the bone has no length, or no room to slide in.
    pub fn bone(&self, swing: &SwingJoint) -> Result<Bone, Passive> {
        if swing.motion == Motion::Slide {
            let scale = self.parent_scale(swing.joint).abs();
            let room = scale.min_element() > COINCIDENT && scale.is_finite();
            let placed = Vec3::from(self.model[swing.joint].rigid.t).is_finite();
            let bone = Bone {
                tip: None,
                axis: Vec3::ZERO,
                length: 0.0,
            };
            return (room && placed).then_some(bone).ok_or(Passive::NoRoom);
        }
        let own = self.model[swing.joint];
        let (tip, offset) = match swing.tip {
            Tip::Tail { axis, length } => (None, own.scale * (axis * length)),
            Tip::Joint(tip) => (Some(tip), self.offset(swing.joint, tip)),
            Tip::FirstChild => {
                let tip = self.first_child[swing.joint].ok_or(Passive::NoTip)?;
                (Some(tip), self.offset(swing.joint, tip))
            }
        };
        let length = offset.length();
        if length > COINCIDENT && length.is_finite() {
            let axis = offset / length;
            Ok(Bone { tip, axis, length })
        } else {
            Err(Passive::NoLength)
        }
    }

    /// The scale at rest that acts on the translation of `joint`.
    pub fn parent_scale(&self, joint: usize) -> Vec3 {
        self.parents[joint].map_or(Vec3::splat(self.metres_per_unit), |parent| {
            self.model[parent].scale
        })
    }

    /// From `joint` to `tip` at rest, in `joint`'s model frame, metres.
    fn offset(&self, joint: usize, tip: usize) -> Vec3 {
        let own = self.model[joint].rigid;
        let offset = self.model[tip].rigid.t - own.t;
        own.r.conjugate().rotate(offset).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::JointTransform;
    use crate::rig::Joint;
    use bevy_math::Quat;

    fn joint(parent: Option<usize>, y: f32) -> Joint {
        Joint {
            name: String::new(),
            source: 0,
            parent,
            rest: JointTransform::rigid(Vec3::new(0.0, y, 0.0), Quat::IDENTITY),
        }
    }

    #[test]
    fn bone_01_a_child_on_its_parent_makes_the_joint_passive() {
        let mut rig = Rig::new(vec![
            joint(None, 1.0),
            joint(Some(0), 0.0),
            joint(Some(1), -0.1),
        ]);
        rig.swing = vec![SwingJoint::new(0), SwingJoint::new(1), SwingJoint::new(2)];
        let tree = SwingTree::new(&rig);
        assert_eq!(tree.bone(&rig.swing[0]), Err(Passive::NoLength));
        assert_eq!(tree.bone(&rig.swing[2]), Err(Passive::NoTip));
        let bone = tree.bone(&rig.swing[1]).unwrap();
        assert_eq!((bone.tip, bone.axis), (Some(2), Vec3::NEG_Y));
        assert_eq!(tree.depth, [0, 1, 2]);
    }

    #[test]
    fn bone_03_the_tip_may_be_a_grandchild() {
        let mut rig = Rig::new(vec![
            joint(None, 0.0),
            joint(Some(0), -0.1),
            joint(Some(1), -0.1),
        ]);
        let half = core::f32::consts::FRAC_1_SQRT_2;
        rig.joints[1].rest.rotation = Quat::from_xyzw(half, 0.0, 0.0, half);
        let mut swing = SwingJoint::new(0);
        swing.tip = Tip::Joint(2);
        rig.swing = vec![swing];
        let bone = SwingTree::new(&rig).bone(&swing).unwrap();
        assert!((bone.length - 0.141_421).abs() < 1e-6, "{}", bone.length);
        assert!((bone.axis * bone.length - Vec3::new(0.0, -0.1, -0.1)).length() < 1e-6);
    }

    #[test]
    fn a_child_that_swings_is_the_tip_before_an_older_one_that_does_not() {
        let mut rig = Rig::new(vec![
            joint(None, 0.0),
            joint(Some(0), 0.5),
            joint(Some(0), -0.1),
        ]);
        rig.swing = vec![SwingJoint::new(0), SwingJoint::new(2)];
        assert_eq!(SwingTree::new(&rig).first_child[0], Some(2));
    }
}
