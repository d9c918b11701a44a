//! Small rigs, what an actor shows as bits, and comparisons that print both values and the difference.

use bevy_ecs::prelude::*;
use bevy_math::{DQuat, DVec3, Quat, Vec3};
use flounce::bone::SwingTree;
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::pose::{AnimatedPose, JointTransform, LocalPose, ModelPose};
use flounce::profile::SwingProfile;
use flounce::rig::{Joint, Rig};
use flounce::substep::{FIXED_STEP, step_factor};
use flounce::swing::{ActorProperties, SwingJoint, SwingReadout, SwingResult};
use flounce::systems::plugin::Headless;

/// Length of the bones of [`stick3`] and [`rod3`], metres.
pub const BONE: f32 = 0.2;

/// A joint that rests at `translation` under `parent`, unturned.
pub fn joint(parent: Option<usize>, translation: Vec3) -> Joint {
    Joint {
        name: String::new(),
        source: 0,
        parent,
        rest: JointTransform::rigid(translation, Quat::IDENTITY),
    }
}

/// A root at (0, 1, 0) that does not swing (joint 0), `count` swing joints below it (1 to `count`), the first on the
/// root, the others `bone` apart, and an end (joint `count` + 1).
pub fn chain(count: usize, bone: Vec3, swing: SwingJoint) -> Rig {
    let mut joints = vec![joint(None, Vec3::Y), joint(Some(0), Vec3::ZERO)];
    joints.extend((1..=count).map(|above| joint(Some(above), bone)));
    let mut rig = Rig::new(joints);
    rig.swing = (1..=count)
        .map(|joint| SwingJoint { joint, ..swing })
        .collect();
    rig
}

/// What the joints of [`stick3`] and [`rod3`] are.
pub fn soft() -> SwingJoint {
    SwingJoint {
        stiffness: 0.1,
        mass: 0.05,
        ..SwingJoint::new(1)
    }
}

/// Three bones of 0.2 m that hang along −Y.
pub fn stick3() -> Rig {
    chain(3, Vec3::NEG_Y * BONE, soft())
}

/// The same chain lying along +X, so that gravity bends it.
pub fn rod3() -> Rig {
    chain(3, Vec3::X * BONE, soft())
}

/// A ball at the particle that meets everything.
pub fn ball(radius: f32) -> Collider {
    let offset = Vec3::ZERO;
    Collider {
        shape: Shape::Sphere { offset, radius },
        mask: Mask::ALL,
    }
}

/// A static ball of `radius` at `offset` on `joint`.
pub fn static_ball(joint: usize, offset: Vec3, radius: f32) -> StaticCollider {
    StaticCollider {
        joint: Some(joint),
        collider: Collider {
            shape: Shape::Sphere { offset, radius },
            mask: Mask::ALL,
        },
    }
}

/// The half-space above `offset` along `normal`, which stands still.
pub fn static_plane(normal: Vec3, offset: f32) -> StaticCollider {
    StaticCollider {
        joint: None,
        collider: Collider {
            shape: Shape::Plane { normal, offset },
            mask: Mask::ALL,
        },
    }
}

pub fn rest_pose(rig: &Rig) -> Vec<JointTransform> {
    rig.joints.iter().map(|joint| joint.rest).collect()
}

/// A turn of `degrees` about `axis`.
pub fn turn(axis: Vec3, degrees: f32) -> Quat {
    Quat::from_axis_angle(axis, degrees.to_radians())
}

/// The factor of all forces in a substep of 1/60 s. `[T3]`
pub fn step() -> f64 {
    f64::from(step_factor(FIXED_STEP as f32))
}

/// Starts without settling.
pub fn unsettled() -> SwingProfile {
    SwingProfile {
        prewarm: 0,
        ..SwingProfile::default()
    }
}

/// A joint that nothing moves but what it meets.
pub fn weightless(joint: usize) -> SwingJoint {
    SwingJoint {
        stiffness: 0.0,
        mass: 0.0,
        ..SwingJoint::new(joint)
    }
}

/// How far two runs of a soft chain drift apart that differ by roundings only, radians.
///
/// A particle at 1 m is stored to 6e-8 m. A chain of stiffness 0.1 forgets an error at 0.0025 per substep, so some 200
/// substeps of independent roundings add up: 6e-8 / √3 · √200 · 1 / (1 − κ) ≈ 7e-7 m per bone, 2e-6 m over three, and
/// three times that at worst, on bones of 0.2 m. A wrong pose or unit is off by 1e-2 and more.
pub const ROUNDING: f64 = 5e-5;

/// A pushing force from outside, world space.
pub fn pushed(force: Vec3) -> ActorProperties {
    ActorProperties {
        global_force: force,
        ..ActorProperties::default()
    }
}

/// `rig` with the same collider on every swing joint.
pub fn with_balls(mut rig: Rig, radius: f32) -> Rig {
    for swing in &mut rig.swing {
        swing.collider = Some(ball(radius));
    }
    rig
}

/// The largest relative difference of a bone's length from rest.
pub fn stretch(stage: &Stage, rig: &Rig) -> f64 {
    let (frame, tree) = (stage.frame(), SwingTree::new(rig));
    let one = |(result, swing): (&Option<_>, &SwingJoint)| {
        let result: &SwingResult = result.as_ref().unwrap();
        let origin = stage.model(swing.joint).0.as_dvec3();
        let length = f64::from(tree.bone(swing).unwrap().length);
        (result.particle.as_dvec3().distance(origin) / length - 1.0).abs()
    };
    frame
        .swings
        .iter()
        .zip(&rig.swing)
        .map(one)
        .fold(0.0, f64::max)
}

/// A host with one actor that shows everything it can.
pub struct Stage {
    pub host: Headless,
    pub rig: Entity,
    pub actor: Entity,
}

impl Stage {
    pub fn new(rig: &Rig) -> Self {
        Self::with(rig, SwingProfile::default(), ActorProperties::default(), ())
    }

    /// `extra` must not repeat the profile, the properties or an output.
    pub fn with(
        rig: &Rig,
        profile: SwingProfile,
        properties: ActorProperties,
        extra: impl Bundle,
    ) -> Self {
        let mut host = Headless::new();
        let entity = host.spawn_rig(rig);
        let outputs = (ModelPose::default(), SwingReadout::default());
        let pose = AnimatedPose(rest_pose(rig));
        let actor = host.spawn_actor(entity, (profile, properties, pose, outputs, extra));
        Self {
            host,
            rig: entity,
            actor,
        }
    }

    /// Starts without settling, so that the first substep is the first.
    pub fn unsettled(rig: &Rig) -> Self {
        let profile = SwingProfile {
            prewarm: 0,
            ..SwingProfile::default()
        };
        Self::with(rig, profile, ActorProperties::default(), ())
    }

    /// The input of the frames to come.
    pub fn pose(&mut self) -> Mut<'_, AnimatedPose> {
        self.host.world.get_mut::<AnimatedPose>(self.actor).unwrap()
    }

    /// Runs one frame of one substep.
    pub fn substep(&mut self) -> Frame {
        self.host.step(FIXED_STEP).unwrap();
        self.frame()
    }

    pub fn substeps(&mut self, count: usize) -> Vec<Frame> {
        (0..count).map(|_| self.substep()).collect()
    }

    pub fn frame(&self) -> Frame {
        Frame::of(&self.host.world, self.actor)
    }

    pub fn model(&self, joint: usize) -> (Vec3, Quat) {
        let rigid = self.host.world.get::<ModelPose>(self.actor).unwrap().0[joint].rigid;
        (rigid.t.into(), rigid.r.into())
    }
}

/// What an actor shows: every local transform and, where it carries a readout, every swing joint's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub local: Vec<JointTransform>,
    pub swings: Vec<Option<SwingResult>>,
}

impl Frame {
    pub fn of(world: &World, actor: Entity) -> Self {
        let readout = world.get::<SwingReadout>(actor);
        Self {
            local: world.get::<LocalPose>(actor).unwrap().0.clone(),
            swings: readout.map_or_else(Vec::new, |readout| readout.0.clone()),
        }
    }

    /// Every number of the frame, in a fixed order.
    pub fn numbers(&self) -> Vec<f32> {
        let mut all = Vec::new();
        for joint in &self.local {
            all.extend(joint.translation.to_array());
            all.extend(joint.rotation.to_array());
            all.extend(joint.scale.to_array());
        }
        for swing in &self.swings {
            let Some(swing) = swing else {
                all.push(-1.0);
                continue;
            };
            let (normal, at) = swing.last_hit.unwrap_or_default();
            all.push(f32::from(u8::from(swing.last_hit.is_some())));
            all.push(swing.hits as f32);
            all.extend(swing.rotation.to_array());
            all.extend([swing.particle, normal, at].iter().flat_map(Vec3::to_array));
        }
        all
    }

    pub fn bits(&self) -> Vec<u32> {
        self.numbers().into_iter().map(f32::to_bits).collect()
    }

    pub fn is_finite(&self) -> bool {
        self.numbers().iter().all(|number| number.is_finite())
    }

    /// The particle of swing joint `index` of the rig.
    pub fn particle(&self, index: usize) -> Vec3 {
        self.swings[index].unwrap().particle
    }

    /// The largest angle between the local rotations of two frames, radians.
    pub fn turned(&self, other: &Self) -> f64 {
        let pairs = self.local.iter().zip(&other.local);
        let angles = pairs.map(|(a, b)| angle(a.rotation, b.rotation));
        angles.fold(0.0, f64::max)
    }
}

/// Asserts that two runs are the same bit for bit.
#[track_caller]
pub fn assert_same_bits(found: &[Frame], expected: &[Frame], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}: number of frames");
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        if found.bits() == expected.bits() {
            continue;
        }
        let (a, b) = (found.numbers(), expected.numbers());
        assert_eq!(a.len(), b.len(), "{what}: frame {index}");
        let pairs = a.iter().zip(&b).enumerate();
        let (place, (a, b)) = pairs
            .into_iter()
            .find(|(_, (a, b))| a.to_bits() != b.to_bits())
            .unwrap();
        panic!(
            "{what}: frame {index}, number {place}: {a:e} is not {b:e}; difference {:e}",
            a - b
        );
    }
}

/// The angle between two rotations in double precision, radians. `[D1]`
pub fn angle(a: Quat, b: Quat) -> f64 {
    let (a, b) = (a.as_dquat(), b.as_dquat());
    let d = a.normalize().conjugate() * b.normalize();
    2.0 * d.xyz().length().atan2(d.w.abs())
}

/// The angle between two directions in double precision, radians.
pub fn angle_of(a: Vec3, b: Vec3) -> f64 {
    let (a, b) = (a.as_dvec3(), b.as_dvec3());
    a.cross(b).length().atan2(a.dot(b))
}

/// Euler angles of `q` in ZXY order in double precision, radians; `None` near the pole, where the split is not unique.
pub fn euler_zxy(q: DQuat) -> Option<DVec3> {
    let DQuat { x, y, z, w } = q.normalize();
    let sine = 2.0 * (w * x - y * z);
    (sine.abs() < 0.999).then(|| {
        DVec3::new(
            sine.asin(),
            (2.0 * (w * y + x * z)).atan2(1.0 - 2.0 * (x * x + y * y)),
            (2.0 * (w * z + x * y)).atan2(1.0 - 2.0 * (x * x + z * z)),
        )
    })
}

/// Asserts that two numbers differ by at most `tolerance`.
#[track_caller]
pub fn assert_close(found: f64, expected: f64, tolerance: f64, what: &str) {
    let difference = (found - expected).abs();
    assert!(
        difference <= tolerance,
        "{what}: found {found:e}, expected {expected:e}; difference {difference:e}, tolerance {tolerance:e}"
    );
}

/// Asserts that two points are at most `tolerance` metres apart.
#[track_caller]
pub fn assert_near(found: Vec3, expected: Vec3, tolerance: f32, what: &str) {
    let difference = (found - expected).length();
    assert!(
        difference <= tolerance,
        "{what}: found {found}, expected {expected}; {difference:e} m apart, tolerance {tolerance:e} m"
    );
}

/// Asserts that all local rotations of two frames differ by at most `tolerance` radians.
#[track_caller]
pub fn assert_turned(found: &Frame, expected: &Frame, tolerance: f64, what: &str) {
    for (joint, (a, b)) in found.local.iter().zip(&expected.local).enumerate() {
        let difference = angle(a.rotation, b.rotation);
        assert!(
            difference <= tolerance,
            "{what}: joint {joint}: found {}, expected {}; {difference:e} rad apart, tolerance {tolerance:e} rad",
            a.rotation,
            b.rotation
        );
    }
}
