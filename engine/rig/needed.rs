//! The part of a rig that its swing hangs on: what a host has to look at, and nothing else.

use crate::driver::Driver;
use crate::rig::Rig;
use crate::swing::{SwingJoint, Tip};

impl Rig {
    /// The rig without the joints that nothing of it depends on, and for each of its joints the index it had.
    ///
    /// Kept are the joints that something names, the ends of bones, and all above them: the motion is the same bit for
    /// bit. Joints stay in their order.
    ///
    /// # Panics
    /// If an index points outside the rig, which [`Rig::check`] refuses.
    pub fn needed(&self) -> (Self, Vec<usize>) {
        let mut kept = vec![false; self.joints.len()];
        let named = self.indices().into_iter().map(|(_, _, joint)| joint);
        let tips = self.swing.iter().filter_map(|swing| match swing.tip {
            Tip::FirstChild => self.children(swing.joint).next(),
            _ => None,
        });
        for joint in named.chain(tips) {
            kept[joint] = true;
        }
        for joint in (0..self.joints.len())
            .rev()
            .filter(|&i| kept[i])
            .collect::<Vec<_>>()
        {
            let mut above = self.joints[joint].parent;
            while let Some(parent) = above.filter(|&parent| !kept[parent]) {
                kept[parent] = true;
                above = self.joints[parent].parent;
            }
        }
        let old: Vec<usize> = (0..kept.len()).filter(|&joint| kept[joint]).collect();
        let mut new = vec![usize::MAX; kept.len()];
        for (to, &from) in old.iter().enumerate() {
            new[from] = to;
        }
        (self.renumbered(&old, &new), old)
    }

    /// The joints `old` of this rig, with every index `i` as `new[i]`.
    fn renumbered(&self, old: &[usize], new: &[usize]) -> Self {
        let joints = old.iter().map(|&joint| {
            let mut joint = self.joints[joint].clone();
            joint.parent = joint.parent.map(|parent| new[parent]);
            joint
        });
        let swing = self.swing.iter().map(|swing| renumber_swing(swing, new));
        let mut part = Self {
            joints: joints.collect(),
            swing: swing.collect(),
            root_correction: self.root_correction.map(|joint| new[joint]),
            ..self.clone()
        };
        for collider in &mut part.colliders {
            collider.joint = collider.joint.map(|joint| new[joint]);
        }
        for joint in part.layers.iter_mut().flat_map(|layer| &mut layer.joints) {
            *joint = new[*joint];
        }
        for driver in &mut part.drivers {
            renumber_driver(driver, new);
        }
        for set in &mut part.channels {
            set.joint = new[set.joint];
        }
        part
    }
}

fn renumber_swing(swing: &SwingJoint, new: &[usize]) -> SwingJoint {
    let mut swing = *swing;
    swing.joint = new[swing.joint];
    if let Tip::Joint(tip) = &mut swing.tip {
        *tip = new[*tip];
    }
    if let Some(reference) = &mut swing.reference_limit {
        reference.joint = new[reference.joint];
    }
    swing
}

fn renumber_driver(driver: &mut Driver, new: &[usize]) {
    match driver {
        Driver::Skirt(skirt) => {
            skirt.joint = new[skirt.joint];
            skirt.reference = new[skirt.reference];
        }
        Driver::Blend(blend) => {
            blend.joint = new[blend.joint];
            for source in &mut blend.sources {
                source.joint = new[source.joint];
            }
        }
        Driver::Leg(leg) => {
            for joint in [&mut leg.upper, &mut leg.lower, &mut leg.foot] {
                *joint = new[*joint];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::JointTransform;
    use crate::rig::Joint;

    fn joint(parent: Option<usize>) -> Joint {
        Joint {
            name: String::new(),
            source: 0,
            parent,
            rest: JointTransform::IDENTITY,
        }
    }

    #[test]
    fn what_nothing_hangs_on_is_left_out_and_the_ends_of_bones_stay() {
        // 0 ─ 1 ─ 3 ─ 5 ─ 6   and beside them 2 and 4.
        let parents = [None, Some(0), Some(0), Some(1), Some(1), Some(3), Some(5)];
        let mut rig = Rig::new(parents.map(joint).to_vec());
        rig.swing = vec![SwingJoint::new(3)];
        let (part, old) = rig.needed();
        assert_eq!(old, [0, 1, 3, 5]);
        assert_eq!(part.swing[0].joint, 2);
        assert_eq!(part.joints[3].parent, Some(2));
        assert_eq!(part.needed(), (part.clone(), vec![0, 1, 2, 3]));
    }

    #[test]
    fn a_rig_without_anything_is_empty() {
        let (part, old) = Rig::new(vec![joint(None)]).needed();
        assert!(part.joints.is_empty() && old.is_empty());
    }
}
