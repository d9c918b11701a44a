//! Parameters that fight each other.

use super::bones::{Bone, Bones};
use super::{Finding, Severity, Topic, Use, listed};
use crate::profile::{DeltaPolicy, ForcePolicy, InertiaPolicy, SubstepPolicy};
use crate::swing::{Limit, Motion, SwingJoint};

/// Below this, pendulum and its range have no effect. `[S4]`
const PENDULUM_OFF: f32 = 1e-5;
/// Turns about x beyond this are not told from turns about y and z, degrees. `[V2]`
const UNIQUE_X_DEG: f32 = 89.9;
/// A stiffer slide joint overshoots its target farther each substep. `[S4]`
const STIFFEST_SLIDE: f32 = 50.0;
/// Limits from here on do not limit, degrees.
const FREE_DEG: f32 = 180.0;

pub(super) fn inspect(bones: &Bones<'_>, how: &Use<'_>) -> Vec<Finding> {
    let findings = [
        growing_speed(bones, how),
        weak_stiffness(bones, how),
        ambiguous_limits(bones),
        runaway_slides(bones),
    ];
    let mut findings: Vec<Finding> = findings.into_iter().flatten().collect();
    findings.extend(ringing(bones));
    findings
}

/// The joints of the bones that `wanted` likes.
fn joints(bones: &Bones<'_>, wanted: impl Fn(&Bone<'_>) -> bool) -> Vec<usize> {
    let bones = bones
        .bones
        .iter()
        .filter(|bone| bone.moves() && wanted(bone));
    bones.map(|bone| bone.swing.joint).collect()
}

/// The step of a substep, `[T3]`: the largest one that the policy makes.
fn step(policy: SubstepPolicy) -> f32 {
    match policy {
        SubstepPolicy::Fixed => 40.0 / 60.0,
        SubstepPolicy::Frame => 0.01667 * 40.0,
    }
}

/// Slide joints that nothing holds back. `[S4]`
fn runaway_slides(bones: &Bones<'_>) -> Option<Finding> {
    let runs = |swing: &SwingJoint| {
        let stiff = swing.stiffness > STIFFEST_SLIDE;
        let pushed = swing.stiffness < swing.pendulum;
        swing.motion == Motion::Slide && swing.limit.is_none() && (stiff || pushed)
    };
    let found = joints(bones, |bone| runs(bone.swing));
    let first = bones.of(*found.first()?)?.swing;
    let message = format!(
        "{}: slides without limits at stiffness {} and pendulum {}: it can run away",
        listed(bones.rig, &found),
        first.stiffness,
        first.pendulum
    );
    let advice = format!(
        "give it slide_x_mm, slide_y_mm and slide_z_mm, or keep stiffness above pendulum and below {STIFFEST_SLIDE}"
    );
    Some(Finding::new(
        Severity::Warning,
        Topic::Values,
        message,
        advice,
    ))
}

/// Speed kept per substep, (1 − damping)²·step·power, above 1. `[S7]`
///
/// Only where inertia is part of the packed sum; elsewhere (1 − damping)² is kept, which never is.
fn growing_speed(bones: &Bones<'_>, how: &Use<'_>) -> Option<Finding> {
    let packed = how.profile.inertia == InertiaPolicy::Packed;
    if !packed || how.profile.force != ForcePolicy::Direct {
        return None;
    }
    let (step, power) = (step(how.profile.substeps), how.properties.swing_power);
    let kept = |bone: &Bone<'_>| {
        let rest = 1.0 - bone.swing.damping;
        rest * rest * step * power
    };
    let found = joints(bones, |bone| kept(bone) > 1.0);
    let first = bones.of(*found.first()?)?;
    let damping = first.swing.damping;
    let message = format!(
        "{}: the speed kept per substep, (1 - {damping})² · {step:.4} · {power} = {:.4}, is above 1: \
         it grows without bound",
        listed(bones.rig, &found),
        kept(first),
    );
    let lowest = 1.0 - (1.0 / (step * power)).sqrt();
    let highest = power / kept(first);
    let advice = format!("swing_power at most {highest:.3}, or damping above {lowest:.3}");
    Some(Finding::new(
        Severity::Fault,
        Topic::Values,
        message,
        advice,
    ))
}

/// Stiffness below pendulum pushes away from rest. `[S4]`
fn weak_stiffness(bones: &Bones<'_>, how: &Use<'_>) -> Option<Finding> {
    let profile = &how.profile;
    let along_rest = match profile.delta {
        DeltaPolicy::Rest => true,
        DeltaPolicy::Carried => profile.substeps == SubstepPolicy::Fixed,
        DeltaPolicy::Current | DeltaPolicy::CarriedPairs => false,
    };
    if !along_rest {
        return None;
    }
    let found = joints(bones, |bone| {
        let swing = bone.swing;
        swing.pendulum > PENDULUM_OFF
            && swing.pendulum_range > PENDULUM_OFF
            && swing.stiffness < swing.pendulum
            && swing.motion == Motion::Swing
    });
    let first = bones.of(*found.first()?)?.swing;
    let message = format!(
        "{}: stiffness {} is below pendulum {}: while it is still it is pushed away from rest, \
         and it will sit at its limit most of the time",
        listed(bones.rig, &found),
        first.stiffness,
        first.pendulum
    );
    let advice =
        "run such rigs with the profile `delta: current`, or raise stiffness above pendulum";
    Some(Finding::new(
        Severity::Warning,
        Topic::Values,
        message,
        advice,
    ))
}

/// X beyond ±89.9° while Y or Z is limited. `[V2]`
fn ambiguous_limits(bones: &Bones<'_>) -> Option<Finding> {
    let turns = |bone: &Bone<'_>| bone.swing.motion == Motion::Swing;
    let found = joints(bones, |bone| {
        turns(bone) && bone.swing.limit.is_some_and(is_ambiguous)
    });
    if found.is_empty() {
        return None;
    }
    let message = format!(
        "{}: limit_x_deg is free or reaches beyond ±{UNIQUE_X_DEG} while y or z is limited: \
         there a turn can be split into angles in two ways",
        listed(bones.rig, &found)
    );
    let advice = format!("write `limit_x_deg: (-{UNIQUE_X_DEG}, {UNIQUE_X_DEG})` or less");
    Some(Finding::new(
        Severity::Warning,
        Topic::Values,
        message,
        advice,
    ))
}

fn is_ambiguous(limit: Limit) -> bool {
    let beyond = limit.low.x < -UNIQUE_X_DEG || limit.high.x > UNIQUE_X_DEG;
    let limited = |low: f32, high: f32| low > -FREE_DEG || high < FREE_DEG;
    let others = limited(limit.low.y, limit.high.y) || limited(limit.low.z, limit.high.z);
    beyond && others
}

/// Chains whose spring coupling rings for ever. `[S4]`
fn ringing(bones: &Bones<'_>) -> Vec<Finding> {
    let below = |bone: &Bone<'_>| {
        let tip = bone.tip.filter(|&tip| tip > bone.swing.joint)?;
        bones.of(tip).filter(|below| below.moves())
    };
    let mut has_above = vec![false; bones.rig.joints.len()];
    let moving = bones.bones.iter().filter(|bone| bone.moves());
    for tip in moving.filter_map(|bone| bone.tip) {
        has_above[tip] = true;
    }
    let heads = bones.bones.iter().filter(|bone| bone.moves());
    let mut findings = Vec::new();
    for head in heads.filter(|bone| !has_above[bone.swing.joint]) {
        let line: Vec<&Bone<'_>> = std::iter::successors(Some(head), |bone| below(bone)).collect();
        // The last joint has nothing below that it could be coupled to.
        let coupled = &line[..line.len() - 1];
        let spring = coupled
            .iter()
            .map(|bone| bone.swing.spring)
            .fold(0.0, f32::max);
        let highest = ringing_threshold(line.len());
        if spring > highest {
            let message = format!(
                "the chain below {}: spring {spring} on {} joints rings for ever; \
                 it comes to rest below about {highest:.2}",
                bones.rig.describe(head.swing.joint),
                line.len()
            );
            let advice = format!(
                "lower spring to {highest:.2}, or raise damping and watch the check at rest"
            );
            findings.push(Finding::new(
                Severity::Warning,
                Topic::Values,
                message,
                advice,
            ));
        }
    }
    findings
}

/// Highest spring that dies away in a chain of `joints`: 0.5 for 3, 0.3 for 6 `[S4]`, straight between and level
/// outside.
fn ringing_threshold(joints: usize) -> f32 {
    let share = (joints.clamp(3, 6) - 3) as f32 / 3.0;
    0.5 - 0.2 * share
}
