//! What always holds: numbers are finite, bones keep their length, joints stay inside their limits. `[S8]` `[V2]` `[V3]`
//! `[V8]`

use bevy_math::{DVec3, Quat, Vec3};
use flounce::bone::SwingTree;
use flounce::crowd::particle;
use flounce::plan::Plan;
use flounce::pose::ModelPose;
use flounce::profile::RestPose;
use flounce::swing::{Limit, Motion, SwingResult};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::config;
use crate::random::scene;
use crate::scene::{Scene, actor, particle_at, slot};
use crate::support::chains::{Stage, euler_zxy};

/// Roundings of f32 that add up on the way from the actor's origin to a joint, shares of the largest coordinate on the
/// way: 32 units in the last place.
const ROUNDING: f64 = 4e-6;

proptest! {
    #![proptest_config(config(10_000, 8))]

    /// `[V8]` `[B6]`
    #[test]
    fn v8_every_frame_is_finite(scene in scene()) {
        scene.run(|index, stage| {
            let frame = stage.frame();
            prop_assert!(frame.is_finite(), "frame {index}: {frame:?}");
            Ok(())
        })?;
    }
}

// --- Lengths -------------------------------------------------------------------------------------------------------

/// Shares of the bone length, dimensionless: 16 roundings of f32 at model positions of up to 3 m for bones of 2 cm.
const LENGTH_TOLERANCE: f64 = 1e-5;

proptest! {
    #![proptest_config(config(10_000, 2))]

    /// `[S8]` `[X5]` `[V6]` Of a slide joint, which has no bone, the length is 0: it is where its particle is.
    #[test]
    fn coll_05_nothing_stretches_a_bone(scene in scene()) {
        let scene = scene.unscaled().in_substeps();
        let plan = Plan::compile(&scene.rig);
        scene.run(|index, stage| {
            for place in 0..plan.swings.len() {
                keeps_length(stage, &plan, place, index)?;
            }
            Ok(())
        })?;
    }
}

/// The particle is at bone length from where the substep had the joint; and from where the pose shows it, unless a clip
/// moves the translation of a joint that swings about its rest pose.
fn keeps_length(stage: &Stage, plan: &Plan, place: usize, index: usize) -> TestCaseResult {
    let swing = &plan.swings[place];
    let result = stage.frame().swings[swing.source].unwrap();
    let origin = particle_at(&actor(stage), place, particle::ORIGIN);
    let mut origins = vec![origin];
    if slot(stage).profile.rest_pose == RestPose::Animated {
        origins.push(stage.model(swing.joint).0);
    }
    let model = &stage.host.world.get::<ModelPose>(stage.actor).unwrap().0;
    let farthest = model
        .iter()
        .map(|m| Vec3::from(m.rigid.t).abs().max_element());
    let farthest = f64::from(farthest.fold(origin.abs().max_element(), f32::max));
    // A slide joint's way leads through its parent's rotation and back, and what a constraint mixed is only nearly unit.
    let share = if swing.slide.is_some() {
        LENGTH_TOLERANCE
    } else {
        ROUNDING
    };
    let rounding = farthest * share;
    let length = f64::from(swing.length);
    for origin in origins {
        let found = result.particle.as_dvec3().distance(origin.as_dvec3());
        let off = (found - length).abs();
        prop_assert!(
            off <= length * LENGTH_TOLERANCE + rounding,
            "frame {index}, swing joint {}: {found} m long, expected {length} m; difference {off:e} m",
            swing.source
        );
    }
    Ok(())
}

// --- Limits --------------------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(config(10_000, 3))]

    /// `[V2]` `[V3]` Whatever pushes: a limit beats a collider. From the first substep on: a reset that does not settle
    /// shows the animated pose as it is.
    #[test]
    fn v2_a_joint_never_leaves_its_limit(scene in scene()) {
        let mut scene = scene.unscaled().in_substeps().whole();
        for swing in &mut scene.rig.swing {
            swing.reference_limit = None;
        }
        scene.profile.prewarm = scene.profile.prewarm.max(1);
        let tree = SwingTree::new(&scene.rig);
        scene.run(|index, stage| {
            let frame = stage.frame();
            for (i, swing) in scene.rig.swing.iter().enumerate() {
                let (Some(result), Some(limit)) = (&frame.swings[i], swing.limit) else { continue };
                let outside = match swing.motion {
                    Motion::Swing => turned_beyond(result, rest_rotation(&scene, stage, swing.joint), limit),
                    Motion::Slide => {
                        let rest = scene.rig.joints[swing.joint].rest.translation;
                        slid_beyond(result, rest, tree.parent_scale(swing.joint), limit)
                    }
                };
                prop_assert!(outside <= 0.0, "frame {index}, swing joint {i}: {outside:e} beyond {limit:?}: {result:?}");
            }
            Ok(())
        })?;
    }
}

/// The local rotation that a joint swings about.
fn rest_rotation(scene: &Scene, stage: &Stage, joint: usize) -> Quat {
    match scene.profile.rest_pose {
        RestPose::Animated => slot(stage).shown[joint].rotation,
        RestPose::Bind => scene.rig.joints[joint].rest.rotation,
    }
}

fn beyond(found: DVec3, low: DVec3, high: DVec3) -> f64 {
    (low - found).max(found - high).max_element()
}

/// By how much more than rounding a joint has turned out of its limit, radians.
fn turned_beyond(result: &SwingResult, rest: Quat, limit: Limit) -> f64 {
    let deviation = rest.as_dquat().normalize().conjugate() * result.rotation.as_dquat();
    // Near the pole the split into angles is not unique; there `engine/limit.rs` has tests of its own.
    let Some(angles) = euler_zxy(deviation) else {
        return 0.0;
    };
    // −180° and 180° are one angle.
    if angles.abs().max_element() > core::f64::consts::PI - 1e-4 {
        return 0.0;
    }
    let radians = |degrees: Vec3| degrees.as_dvec3() * 1_f64.to_radians();
    // f32 quaternions resolve about 1e-7 rad, divided by cos x ≥ 0.045 this far from the pole.
    beyond(angles, radians(limit.low), radians(limit.high)) - 1e-4
}

/// By how much more than rounding a joint has slid out of its limit, metres. The file's units are scaled, and an axis that
/// the scale mirrors keeps its interval in the file.
fn slid_beyond(result: &SwingResult, rest: Vec3, scale: Vec3, limit: Limit) -> f64 {
    let scale = scale.abs().as_dvec3();
    let found = result.translation.unwrap().as_dvec3();
    let shift = (found - rest.as_dvec3()) * scale;
    let rounding = (found.abs() * scale).max_element() * ROUNDING + 1e-7;
    let metres = |millimetres: Vec3| millimetres.as_dvec3() * 1e-3;
    beyond(shift, metres(limit.low), metres(limit.high)) - rounding
}
