//! The check that needs simulation: does a rig come to rest when the pose is held? `[S4]`
//!
//! Each swing joint is watched over the last of 300 substeps in the rest pose. A joint that still turns by more than
//! 0.05° per substep swings for ever: stiffness below pendulum, or spring coupling above what its chain can bear.

use super::check::{Finding, Severity, Topic};
use crate::profile::SwingProfile;
use crate::rig::Rig;
use crate::rotation;
use crate::substep::FIXED_STEP;
use crate::swing::{ActorProperties, SwingReadout};
use crate::systems::plugin::Headless;

/// Substeps that a rig has to come to rest.
const SUBSTEPS: u32 = 300;
/// How many of the last are watched: a swing can pause for one.
const WATCHED: u32 = 20;
/// Turn per substep above which a joint is not at rest, degrees.
const RESTLESS_DEG: f32 = 0.05;

/// Joints of `rig` that do not come to rest, as findings for a [`super::check::Report`].
pub fn restless_joints(
    rig: &Rig,
    properties: &ActorProperties,
    profile: &SwingProfile,
) -> Vec<Finding> {
    let mut host = Headless::new();
    let rig_entity = host.spawn_rig(rig);
    let parts = (*properties, *profile, SwingReadout::default());
    let actor = host.spawn_actor(rig_entity, parts);
    let mut turned = vec![0.0_f32; rig.swing.len()];
    let mut before = SwingReadout::default();
    for substep in 0..=SUBSTEPS {
        // Times never decrease and are finite, so the clock cannot refuse them.
        let ran = host.run_to(f64::from(substep) * FIXED_STEP);
        debug_assert!(ran.is_ok(), "frames come in order");
        let now = host
            .world
            .get::<SwingReadout>(actor)
            .cloned()
            .unwrap_or_default();
        if substep + WATCHED > SUBSTEPS {
            for (turned, (a, b)) in turned.iter_mut().zip(before.0.iter().zip(&now.0)) {
                if let (Some(a), Some(b)) = (a, b) {
                    let angle = rotation::angle_between(a.rotation.into(), b.rotation.into());
                    *turned = turned.max(angle.to_degrees());
                }
            }
        }
        before = now;
    }
    let restless = rig
        .swing
        .iter()
        .zip(turned)
        .filter(|(_, turned)| *turned > RESTLESS_DEG);
    restless
        .map(|(swing, turned)| finding(rig, swing.joint, turned))
        .collect()
}

fn finding(rig: &Rig, joint: usize, turned: f32) -> Finding {
    Finding {
        severity: Severity::Warning,
        topic: Topic::AtRest,
        message: format!(
            "{}: still turns {turned:.2}° per substep after {SUBSTEPS} substeps in the rest pose",
            rig.describe(joint)
        ),
        advice: Some(
            "raise damping, lower spring, or keep stiffness above pendulum (or say delta: current)"
                .to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pose::JointTransform;
    use crate::rig::Joint;
    use crate::swing::SwingJoint;
    use bevy_math::{Quat, Vec3};

    fn chain(spring: f32) -> Rig {
        let joint = |i: usize| Joint {
            name: format!("joint {i}"),
            source: i,
            parent: i.checked_sub(1),
            rest: JointTransform::rigid(Vec3::new(0.1, 0.0, 0.0), Quat::IDENTITY),
        };
        let mut rig = Rig::new((0..5).map(joint).collect());
        rig.swing = (0..4).map(SwingJoint::new).collect();
        for swing in &mut rig.swing {
            swing.spring = spring;
            swing.damping = 0.05;
        }
        rig
    }

    #[test]
    fn s4_spring_coupling_rings_for_ever_and_is_named() {
        let of = |spring| {
            restless_joints(
                &chain(spring),
                &ActorProperties::default(),
                &SwingProfile::default(),
            )
        };
        assert_eq!(of(0.0).len(), 0, "{:?}", of(0.0));
        assert!(!of(0.9).is_empty());
    }
}
