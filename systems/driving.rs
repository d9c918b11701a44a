//! Driving: joints that follow other joints, and feet that are held, in every animated pose. `[Q1]` `[Q2]` `[Q4]`
//!
//! Runs in [`FrameSystems::Driving`], once per frame, after sampling. Reads and writes the poses of the actor's slot:
//! those of the substeps and the one the frame shows. What it writes is animation to all that comes after: swing joints
//! hang on it and bake weights lead back to it.

use std::collections::VecDeque;

use bevy_ecs::prelude::*;
use bevy_math::Quat;

use super::FrameSystems;
use super::footing::plant_leg;
use super::substeps::{Workers, for_each_slot};
use crate::crowd::{Crowds, Slot};
use crate::driver::{Driver, MOST_LAG, SkirtDriver};
use crate::plan::Plan;
use crate::pose::JointTransform;

/// Registers the systems.
pub fn add(schedule: &mut Schedule) {
    schedule.add_systems(drive_poses.in_set(FrameSystems::Driving));
}

fn drive_poses(mut crowds: ResMut<Crowds>, workers: Res<Workers>) {
    for_each_slot(&mut crowds, *workers, |plan, slot| {
        if !plan.drivers.is_empty() {
            drive_slot(plan, slot);
        }
    });
}

fn drive_slot(plan: &Plan, slot: &mut Slot) {
    slot.lagged.resize_with(plan.drivers.len(), VecDeque::new);
    let joints = plan.rest.len();
    for (index, driver) in plan.drivers.iter().enumerate() {
        if let Some(leg) = plan.leg_of_driver[index] {
            plant_leg(plan, leg, slot);
            continue;
        }
        // The frame's own pose first: what a late driver reads is this pose of some frames ago.
        let late = match driver {
            Driver::Skirt(skirt) if skirt.lag > 0 => {
                let history = &mut slot.lagged[index];
                Some(remember(skirt, history, &slot.shown, slot.schedule.reset))
            }
            _ => None,
        };
        let mut healthy = true;
        for pose in slot.poses.chunks_exact_mut(joints.max(1)) {
            healthy &= drive(plan, driver, pose, late);
        }
        healthy &= drive(plan, driver, &mut slot.shown, late);
        if let (false, Err(at)) = (healthy, slot.invalid.binary_search(&driver.joint())) {
            slot.invalid.insert(at, driver.joint());
        }
    }
}

/// Keeps the reference's rotation of this frame and gives that of `lag` frames ago.
fn remember(
    driver: &SkirtDriver,
    history: &mut VecDeque<Quat>,
    shown: &[JointTransform],
    reset: bool,
) -> Quat {
    let now = shown[driver.reference].rotation;
    let lag = driver.lag.min(MOST_LAG) as usize;
    if reset {
        history.clear();
    }
    history.push_back(now);
    // Until there is a frame that old, the oldest stands in.
    while history.len() > lag + 1 {
        history.pop_front();
    }
    history.front().copied().unwrap_or(now)
}

/// Sets the driven joint of one pose; `late` replaces the reference's rotation. What is not finite, as against a parent
/// that is scaled to nothing, is the joint's rest transform instead: then false. `[B6]`
fn drive(plan: &Plan, driver: &Driver, pose: &mut [JointTransform], late: Option<Quat>) -> bool {
    let joint = driver.joint();
    match driver {
        Driver::Skirt(skirt) => {
            let rest = |joint: usize| plan.rest[joint].rotation.into();
            let local = late.unwrap_or(pose[skirt.reference].rotation).into();
            let turned = skirt.rotation(rest(skirt.reference), local, rest(joint));
            pose[joint].rotation = turned.into();
        }
        Driver::Blend(constraint) => {
            pose[joint] = constraint.local(&plan.parents, pose);
        }
        // A leg acts where its foot is held, see `plant_leg`.
        Driver::Leg(_) => {}
    }
    let healthy = pose[joint].is_finite();
    if !healthy {
        pose[joint] = plan.rest[joint];
    }
    healthy
}
