//! Joint masks: which joints a layer reaches, and how much. `[L3]`
//!
//! A mask is made by walking the parent chain of each joint up to the roots it was given, never by the names of joints.
//! A joint outside has no weight and keeps the pose below the layer, bit for bit.

use std::sync::Arc;

use thiserror::Error;

/// How much of a layer each joint of a rig takes.
#[derive(Clone, Debug, PartialEq)]
pub struct JointMask(Arc<[f32]>);

/// Why a mask was refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum MaskFault {
    /// A root, an exception or a weight is on a joint that the rig does not have.
    #[error("joint {joint} of {count}")]
    Joint {
        /// What was given.
        joint: usize,
        /// Joints of the rig.
        count: usize,
    },
    /// A weight outside [0, 1] or not finite.
    #[error("weight {weight} of joint {joint}; expected a number from 0 to 1")]
    Weight {
        /// Whose.
        joint: usize,
        /// What was given.
        weight: f32,
    },
}

impl JointMask {
    /// All `count` joints at weight 1.
    pub fn all(count: usize) -> Self {
        Self(core::iter::repeat_n(1.0, count).collect())
    }

    /// The joints that are one of `roots` or below one, at weight 1, without those that are one of `except` or below
    /// one; then `weights` by joint, which a joint outside does not get.
    ///
    /// `parents` has one entry per joint, parents first. The nearest root or exception above a joint decides, and on one
    /// joint the exception.
    ///
    /// # Errors
    /// [`MaskFault`] for a joint that does not exist and for a weight outside [0, 1].
    pub fn new(
        parents: &[Option<usize>],
        roots: &[usize],
        except: &[usize],
        weights: &[(usize, f32)],
    ) -> Result<Self, MaskFault> {
        let count = parents.len();
        let named = roots.iter().chain(except);
        let named = named
            .copied()
            .chain(weights.iter().map(|&(joint, _)| joint));
        for joint in named {
            if joint >= count {
                return Err(MaskFault::Joint { joint, count });
            }
        }
        // Parents come first, so one pass hands down what the nearest root or exception says.
        let mut inside = vec![false; count];
        let mut own = vec![None; count];
        roots.iter().for_each(|&root| own[root] = Some(true));
        except.iter().for_each(|&except| own[except] = Some(false));
        for joint in 0..count {
            // A parent behind its child is no parent.
            let above = parents[joint].filter(|&parent| parent < joint);
            let handed_down = above.is_some_and(|parent| inside[parent]);
            inside[joint] = own[joint].unwrap_or(handed_down);
        }
        let mut mask: Vec<f32> = inside
            .into_iter()
            .map(|of| f32::from(u8::from(of)))
            .collect();
        for &(joint, weight) in weights {
            if !(0.0..=1.0).contains(&weight) {
                return Err(MaskFault::Weight { joint, weight });
            }
            mask[joint] *= weight;
        }
        Ok(Self(mask.into()))
    }

    /// The weight of `joint`, 0 to 1; 0 for a joint beyond the mask.
    #[inline]
    pub fn weight(&self, joint: usize) -> f32 {
        self.0.get(joint).copied().unwrap_or(0.0)
    }

    /// How many joints the mask is for.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it is a mask for no joints at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The joints inside, ascending.
    pub fn joints(&self) -> impl Iterator<Item = usize> + '_ {
        let inside = self
            .0
            .iter()
            .enumerate()
            .filter(|&(_, &weight)| weight > 0.0);
        inside.map(|(joint, _)| joint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two arms on a spine: 0 hips, 1 spine, 2 left arm, 3 left hand, 4 right arm, 5 right hand.
    const PARENTS: [Option<usize>; 6] = [None, Some(0), Some(1), Some(2), Some(1), Some(4)];

    fn inside(roots: &[usize], except: &[usize]) -> Vec<usize> {
        let mask = JointMask::new(&PARENTS, roots, except, &[]).unwrap();
        mask.joints().collect()
    }

    #[test]
    fn l3_a_mask_is_what_lies_below_its_roots() {
        assert_eq!(inside(&[2, 5], &[]), [2, 3, 5]);
        assert_eq!(inside(&[0], &[4]), [0, 1, 2, 3]);
        assert_eq!(inside(&[0, 5], &[4]), [0, 1, 2, 3, 5]);
        assert_eq!(inside(&[2], &[2]), [0; 0]);
    }

    #[test]
    fn l3_weights_hold_for_their_joint_alone_and_pull_nobody_in() {
        let mask = JointMask::new(&PARENTS, &[2], &[], &[(2, 0.25), (4, 0.5)]).unwrap();
        assert_eq!([2, 3, 4].map(|joint| mask.weight(joint)), [0.25, 1.0, 0.0]);
        assert_eq!(mask.weight(99), 0.0);
    }

    #[test]
    fn a_mask_says_what_it_refuses() {
        let fault = JointMask::new(&PARENTS, &[6], &[], &[]).unwrap_err();
        assert_eq!(fault, MaskFault::Joint { joint: 6, count: 6 });
        for weight in [-0.1, 1.1, f32::NAN, f32::INFINITY] {
            let fault = JointMask::new(&PARENTS, &[0], &[], &[(1, weight)]).unwrap_err();
            assert!(
                matches!(fault, MaskFault::Weight { joint: 1, .. }),
                "{weight}"
            );
        }
    }
}
