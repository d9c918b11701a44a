//! Workload S: 24 chains of 6 joints round the hips, and tapered capsules inside.
//!
//! The same numbers as the prototype and the peers were measured with, so that figures can be repeated.

use std::f32::consts::TAU;
use std::sync::Arc;

use bevy_math::{Quat, Vec3, ops};
use flounce::clip::{Clip, Interpolation, Track, TrackValues};
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::pose::JointTransform;
use flounce::rig::{Joint, Rig};
use flounce::swing::{Limit, SwingJoint, Tip};

/// Chains round the hips.
pub const CHAINS: usize = 24;
/// Joints of a chain.
pub const LINKS: usize = 6;
/// Swing joints of a character.
pub const JOINTS: usize = CHAINS * LINKS;
/// Steps after which the hips repeat their motion.
pub const PERIOD: usize = 128;
/// By how many steps a character is ahead of the one before.
pub const PHASE: usize = 17;
/// Radius of a swing joint, metres.
pub const JOINT_RADIUS: f32 = 0.02;

/// Direction of item `index` of `count` on a circle in the XZ plane.
fn on_circle(index: usize, count: usize) -> (f32, f32) {
    let (sin, cos) = ops::sin_cos(index as f32 / count as f32 * TAU);
    (cos, sin)
}

/// The joint in the rig of link `link` of chain `chain`; 0 is the hips.
pub fn joint_of(chain: usize, link: usize) -> usize {
    1 + chain * LINKS + link
}

/// The rig of S with `colliders` capsules.
pub fn rig(colliders: usize) -> Rig {
    rig_of(CHAINS, colliders)
}

/// The rig with the first `chains` chains only: a small actor.
pub fn rig_of(chains: usize, colliders: usize) -> Rig {
    let rest = JointTransform::rigid(Vec3::Y, Quat::IDENTITY);
    let mut joints = vec![joint("hips", 0, None, rest)];
    let mut swing = Vec::new();
    for chain in 0..chains {
        let (x, z) = on_circle(chain, CHAINS);
        let step = Vec3::new(0.01 * x, -0.07, 0.01 * z);
        for link in 0..LINKS {
            let index = joint_of(chain, link);
            let (parent, at) = if link == 0 {
                (0, Vec3::new(0.13 * x, 0.0, 0.13 * z))
            } else {
                (index - 1, step)
            };
            let rest = JointTransform::rigid(at, Quat::from_rotation_y(0.01 * link as f32));
            joints.push(joint(
                &format!("chain_{chain}_{link}"),
                index,
                Some(parent),
                rest,
            ));
            swing.push(swing_joint(index, link, step));
        }
    }
    let mut rig = Rig::new(joints);
    rig.swing = swing;
    rig.colliders = (0..colliders)
        .map(|i| capsule(on_circle(i, colliders)))
        .collect();
    rig
}

fn joint(name: &str, source: usize, parent: Option<usize>, rest: JointTransform) -> Joint {
    Joint {
        name: name.to_owned(),
        source,
        parent,
        rest,
    }
}

fn swing_joint(joint: usize, link: usize, step: Vec3) -> SwingJoint {
    let tail = Tip::Tail {
        axis: step.normalize(),
        length: step.length(),
    };
    let z_high = if link.is_multiple_of(2) { 0.0 } else { 25.0 };
    SwingJoint {
        tip: if link + 1 == LINKS {
            tail
        } else {
            Tip::FirstChild
        },
        damping: 0.4,
        stiffness: 0.6,
        pendulum: 0.3,
        pendulum_range: 0.5,
        mass: 0.3,
        limit: Some(Limit {
            low: Vec3::new(-20.0, -30.0, -40.0),
            high: Vec3::new(20.0, 30.0, z_high),
        }),
        collider: Some(Collider {
            shape: Shape::Sphere {
                offset: Vec3::ZERO,
                radius: JOINT_RADIUS,
            },
            mask: Mask::ALL,
        }),
        ..SwingJoint::new(joint)
    }
}

fn capsule((x, z): (f32, f32)) -> StaticCollider {
    StaticCollider {
        joint: Some(0),
        collider: Collider {
            shape: Shape::Capsule {
                offset_a: Vec3::new(0.06 * x, -0.05, 0.06 * z),
                offset_b: Vec3::new(0.06 * x, -0.45, 0.06 * z),
                radius_a: 0.055,
                radius_b: 0.045,
            },
            mask: Mask::ALL,
        },
    }
}

/// Where the hips are at a step: they sway 0.1 m, bob 0.03 m and turn 0.5 rad.
pub fn hips(step: usize) -> JointTransform {
    let u = (step % PERIOD) as f32 / PERIOD as f32 * TAU;
    let at = Vec3::new(0.1 * ops::sin(2.0 * u), 1.0 + 0.03 * ops::sin(4.0 * u), 0.0);
    JointTransform::rigid(at, Quat::from_rotation_y(0.5 * ops::sin(u)))
}

/// The motion of the hips as a clip with a key per substep.
pub fn clip() -> Arc<Clip> {
    let times: Arc<[f32]> = (0..=PERIOD).map(|step| step as f32 / 60.0).collect();
    let keys = || (0..=PERIOD).map(hips);
    let track = |source, values| Track {
        joint: 0,
        source,
        interpolation: Interpolation::Linear,
        times: Arc::clone(&times),
        values,
    };
    let at = TrackValues::Translation(keys().map(|key| key.translation.to_array()).collect());
    let turn = TrackValues::Rotation(keys().map(|key| key.rotation.to_array()).collect());
    Arc::new(Clip {
        name: "sway".to_owned(),
        source: 0,
        tracks: vec![track(0, at), track(1, turn)],
        duration: PERIOD as f32 / 60.0,
    })
}
