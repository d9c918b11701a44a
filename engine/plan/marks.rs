//! Marks: what the joints and colliders of a plan are to each other, once all of them are known.

use super::{DynamicPlan, Hold, Plan};

impl Plan {
    /// Marks references, tips and what the substeps read; tells static colliders what meets them.
    pub(super) fn mark(&mut self) {
        self.mark_references();
        self.mark_tips();
        self.mark_needed();
        self.measure_balls();
    }

    fn mark_references(&mut self) {
        for place in 0..self.swings.len() {
            let reference = self.swings[place].limit.and_then(|limit| limit.reference);
            if let Some((reference, _)) = reference {
                self.swings[reference].is_reference = true;
            }
        }
    }

    /// Marks the joints that hang on the tip of a bone.
    fn mark_tips(&mut self) {
        for place in 0..self.swings.len() {
            let swing = &self.swings[place];
            if let Hold::Swing(above) = swing.hold {
                let is_tip = self.swings[above].tip == Some(swing.joint);
                self.swings[place].is_on_tip = is_tip && swing.between.is_empty();
            }
        }
    }

    /// Tells each static collider how large the balls are that meet it.
    fn measure_balls(&mut self) {
        for swing in &self.swings {
            if let Some(DynamicPlan::Sphere { radius, .. }) = swing.collider {
                for &index in &self.meets[swing.meets.clone()] {
                    let widest = &mut self.statics[index].widest;
                    *widest = widest.max(radius.abs());
                }
            }
        }
    }

    fn mark_needed(&mut self) {
        let held = self.swings.iter().filter(|s| s.hold == Hold::Animated);
        let held = held.map(|swing| swing.joint);
        let carrying = self.statics.iter().filter_map(|c| c.joint);
        let read: Vec<usize> = held.chain(carrying).chain(self.root_correction).collect();
        for joint in read {
            mark_up(joint, &self.parents, &mut self.is_model_read);
        }
        let read = self.swings.iter().map(|swing| swing.joint);
        let read = read.chain(self.statics.iter().filter_map(|c| c.joint));
        let driven = self.drivers.iter().flat_map(|driver| {
            let mut joints = driver.sources();
            joints.push(driver.joint());
            joints
        });
        let driven: Vec<usize> = driven.collect();
        let read = read.chain(driven);
        for joint in read.chain(self.root_correction) {
            mark_up(joint, &self.parents, &mut self.is_needed);
        }
        self.needed = (0..self.parents.len())
            .filter(|&j| self.is_needed[j])
            .collect();
    }
}

/// Marks `joint` and its ancestors.
fn mark_up(joint: usize, parents: &[Option<usize>], marks: &mut [bool]) {
    let mut next = Some(joint);
    while let Some(joint) = next.filter(|&joint| !marks[joint]) {
        marks[joint] = true;
        next = parents[joint];
    }
}
