//! What ties joints together: chain layers, drivers, and lines that start inside a collider.

use bevy_math::Vec3;

use super::bones::{Bone, Bones};
use super::{Finding, Severity, Topic, listed};
use crate::chain::ChainLayer;
use crate::driver::Driver;
use crate::leg::{LegChain, Limb};
use crate::rig::RigFault;

pub(super) fn inspect(bones: &Bones<'_>) -> Vec<Finding> {
    let owners = owners(bones);
    let layers = bones.rig.layers.iter().enumerate();
    let mut findings: Vec<Finding> = layers
        .flat_map(|(index, layer)| inspect_layer(bones, &owners, index, layer))
        .collect();
    findings.extend(cycle(bones));
    findings.extend(doubled_drivers(bones));
    findings.extend(drivers_of_swing(bones));
    findings.extend(bones.rig.legs().filter_map(|leg| straight_leg(bones, leg)));
    findings
}

fn fault(message: String, advice: &str) -> Finding {
    Finding::new(Severity::Fault, Topic::Bones, message, advice)
}

/// For each joint, the swing joint whose bone ends there, as an index of the bones.
fn owners(bones: &Bones<'_>) -> Vec<Option<usize>> {
    let mut owners = vec![None; bones.rig.joints.len()];
    for (index, bone) in bones.bones.iter().enumerate().rev() {
        if let Some(tip) = bone.tip {
            owners[tip] = Some(index);
        }
    }
    owners
}

/// What a layer may not list: a joint twice, one at which nothing ends, one that stays still, ones of several depths.
fn inspect_layer(
    bones: &Bones<'_>,
    owners: &[Option<usize>],
    index: usize,
    layer: &ChainLayer,
) -> Vec<Finding> {
    let rig = bones.rig;
    let mut findings = Vec::new();
    let mut sorted = layer.joints.clone();
    sorted.sort_unstable();
    let mut doubled: Vec<usize> = sorted
        .windows(2)
        .filter(|pair| pair[0] == pair[1])
        .map(|pair| pair[0])
        .collect();
    doubled.dedup();
    if !doubled.is_empty() {
        findings.push(fault(
            format!("layers[{index}] lists {} twice", listed(rig, &doubled)),
            "list each joint of the ring once",
        ));
    }
    let owner = |joint: usize| owners[joint].map(|owner| &bones.bones[owner]);
    let those = |wanted: &dyn Fn(Option<&Bone<'_>>) -> bool| -> Vec<usize> {
        let joints = layer.joints.iter().copied();
        joints.filter(|&joint| wanted(owner(joint))).collect()
    };
    let loose = those(&|owner| owner.is_none());
    if !loose.is_empty() {
        let message = format!(
            "layers[{index}] lists {}, at which no swing joint's bone ends",
            listed(rig, &loose)
        );
        let advice = "list the joints at the ends of the bones: the children of the swing joints";
        findings.push(fault(message, advice));
    }
    let still = those(&|owner| owner.is_some_and(|owner| !owner.moves()));
    if !still.is_empty() {
        let message = format!(
            "layers[{index}] lists {}, whose swing joint is passive or inactive",
            listed(rig, &still)
        );
        findings.push(fault(message, "leave them out, or let their parents swing"));
    }
    findings.extend(mixed_depths(bones, owners, index, layer));
    if layer.around && layer.joints.len() < 3 {
        let message = format!(
            "layers[{index}] goes around {} joints: that is a row and not a ring",
            layer.joints.len()
        );
        findings.push(Finding::new(
            Severity::Warning,
            Topic::Bones,
            message,
            "it is linked but not smoothed",
        ));
    }
    findings
}

/// A layer acts at one depth: that of its first joint's owner. `[5.1]`
fn mixed_depths(
    bones: &Bones<'_>,
    owners: &[Option<usize>],
    index: usize,
    layer: &ChainLayer,
) -> Option<Finding> {
    let depth = |joint: usize| {
        let owner = owners[joint].map(|owner| bones.bones[owner].swing.joint)?;
        Some(bones.tree.depth[owner])
    };
    let first = *layer.joints.first()?;
    let expected = depth(first)?;
    let joints = layer.joints.iter().copied();
    let others: Vec<usize> = joints
        .filter(|&joint| depth(joint).is_some_and(|depth| depth != expected))
        .collect();
    (!others.is_empty()).then(|| {
        let message = format!(
            "layers[{index}] mixes depths: {} lies {expected} swing joints down, {} does not",
            bones.rig.describe(first),
            listed(bones.rig, &others)
        );
        fault(message, "make one layer per height of the chains")
    })
}

/// Drivers that wait for each other.
fn cycle(bones: &Bones<'_>) -> Option<Finding> {
    let Err(RigFault::DriverCycle(cycle)) = bones.rig.check() else {
        return None;
    };
    Some(fault(
        format!("drivers go round in a circle: {cycle}"),
        "drivers run before anything swings, each after those it reads: take one out",
    ))
}

/// Two drivers that set one joint: only the later one would show.
fn doubled_drivers(bones: &Bones<'_>) -> Vec<Finding> {
    let drivers = &bones.rig.drivers;
    let twice = |(index, driver): (usize, &Driver)| {
        let taken = |joint: &usize| drivers[..index].iter().find(|d| d.sets().contains(joint));
        let sets = driver.sets();
        let (joint, before) = sets
            .iter()
            .find_map(|&joint| Some((joint, taken(&joint)?)))?;
        Some(fault(
            format!(
                "{} is set by a {} and by a {}",
                bones.rig.describe(joint),
                before.kind(),
                driver.kind()
            ),
            "expected at most one driver per joint",
        ))
    };
    drivers.iter().enumerate().filter_map(twice).collect()
}

/// Drivers that read a joint which swings: they see its animation only.
fn drivers_of_swing(bones: &Bones<'_>) -> Vec<Finding> {
    let parents = &bones.tree.parents;
    let mut findings = Vec::new();
    for driver in &bones.rig.drivers {
        let mut read = driver.reads(parents);
        if matches!(driver, Driver::Leg(_)) {
            // A leg that swings does not stay where it is put.
            read.extend(driver.sets());
        }
        let moving: Vec<usize> = read
            .into_iter()
            .filter(|&joint| bones.of(joint).is_some_and(Bone::moves))
            .collect();
        if !moving.is_empty() {
            findings.push(Finding::new(
                Severity::Warning,
                Topic::Bones,
                format!(
                    "the {} of {} reads {}, which swings",
                    driver.kind(),
                    bones.rig.describe(driver.joint()),
                    listed(bones.rig, &moving)
                ),
                "drivers run before anything swings: it follows the animation of that joint, not its swing",
            ));
        }
    }
    findings
}

/// A leg of which nothing says to which side it bends.
fn straight_leg(bones: &Bones<'_>, leg: &LegChain) -> Option<Finding> {
    let at = |joint: usize| Vec3::from(bones.tree.model[joint].rigid.t);
    let limb = Limb {
        hip: at(leg.upper),
        knee: at(leg.lower),
        ankle: at(leg.foot),
    };
    (leg.pole.is_none() && limb.side().is_none()).then(|| {
        Finding::new(
            Severity::Note,
            Topic::Bones,
            format!("leg \"{}\" is straight at rest and has no pole", leg.name),
            "its knee bends forward (+Z of the model) where the animation has it straight; `pole` names another side",
        )
    })
}
