//! Claim: what the model promises holds for rigs and motions nobody thought of.
//!
//! Random trees with in-between joints, mirrored and scaled joints, limits, colliders of every kind, animated poses that
//! jump. The seeds are fixed, so a failure repeats; `PROPTEST_CASES=20000 cargo test --test properties` searches longer.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use bevy_math::{Quat, Vec3};
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::pose::{AnimatedPose, JointTransform, ModelPose};
use flounce::profile::{DeltaPolicy, ParallelEpsilon, RootPolicy, SubstepPolicy, SwingProfile};
use flounce::rig::{Joint, Rig};
use flounce::substep::FIXED_STEP;
use flounce::swing::{ActorProperties, Limit, ReferenceLimit, SwingJoint, SwingResult, Tip};
use flounce::systems::motion::WorldFromActor;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use support::chains::{Frame, Stage, euler_zxy};

fn config(cases: u32, seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").map_or(cases, |text| text.parse().unwrap()),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// A rig, how it is solved, and the input of every frame.
#[derive(Clone, Debug)]
struct Scene {
    rig: Rig,
    profile: SwingProfile,
    properties: ActorProperties,
    placed: Quat,
    /// Length in seconds and animated pose.
    frames: Vec<(f64, Vec<JointTransform>)>,
}

impl Scene {
    fn stage(&self) -> Stage {
        let placed = WorldFromActor::turned(self.placed);
        Stage::with(&self.rig, self.profile, self.properties, placed)
    }

    /// Runs every frame and hands what it shows to `check`.
    fn run(&self, mut check: impl FnMut(usize, &Stage)) {
        let mut stage = self.stage();
        for (index, (seconds, pose)) in self.frames.iter().enumerate() {
            stage.pose().0.clone_from(pose);
            stage.host.step(*seconds).unwrap();
            check(index, &stage);
        }
    }

    fn shown(&self) -> Vec<Frame> {
        let mut frames = Vec::new();
        self.run(|_, stage| frames.push(stage.frame()));
        frames
    }

    /// Every frame one substep at its own time, so that what is shown is what the substep resolved.
    fn in_substeps(mut self) -> Self {
        self.profile.substeps = SubstepPolicy::Fixed;
        for frame in &mut self.frames {
            frame.0 = FIXED_STEP;
        }
        self
    }
}

// --- Random scenes -------------------------------------------------------------------------------------------------

fn number() -> impl Strategy<Value = f32> + Clone {
    -1.0_f32..1.0
}
fn share() -> impl Strategy<Value = f32> + Clone {
    prop_oneof![Just(0.0_f32), Just(1.0), 0.0_f32..1.0]
}
fn vector(reach: f32) -> impl Strategy<Value = Vec3> + Clone {
    [number(), number(), number()].prop_map(move |v| Vec3::from(v) * reach)
}
/// Turned by up to about 90 degrees, or not at all.
fn rotation() -> impl Strategy<Value = Quat> + Clone {
    let turned = [number(), number(), number()].prop_map(|[x, y, z]| small_turn(x, y, z, 1.0));
    prop_oneof![1 => Just(Quat::IDENTITY), 3 => turned]
}
fn small_turn(x: f32, y: f32, z: f32, reach: f32) -> Quat {
    Quat::from_xyzw(x * reach, y * reach, z * reach, 1.0).normalize()
}
fn scale() -> impl Strategy<Value = Vec3> + Clone {
    let stretched = [0.4_f32..2.0, 0.4_f32..2.0, 0.4_f32..2.0].prop_map(Vec3::from);
    let mirrored = select(vec![
        Vec3::new(-1.0, 1.0, 1.0),
        Vec3::new(1.0, -1.5, 1.0),
        Vec3::new(-0.5, -0.5, -0.5),
    ]);
    prop_oneof![6 => Just(Vec3::ONE), 1 => stretched, 1 => mirrored]
}
fn mask() -> impl Strategy<Value = Mask> + Clone {
    select(vec![Mask::ALL, Mask::ALL, Mask(1), Mask(6)])
}
fn limit() -> impl Strategy<Value = Limit> + Clone {
    // Sometimes one-sided, sometimes wide, sometimes locked.
    let end = || prop_oneof![Just(0.0_f32), 0.0_f32..40.0, 40.0_f32..180.0];
    let ends = || [end(), end(), end()].prop_map(Vec3::from);
    (ends(), ends()).prop_map(|(low, high)| Limit { low: -low, high })
}

fn shape(reach: f32) -> impl Strategy<Value = Shape> + Clone {
    let radius = move || 0.0_f32..reach;
    let sphere =
        (vector(reach), radius()).prop_map(|(offset, radius)| Shape::Sphere { offset, radius });
    let capsule = (vector(reach), vector(reach), radius(), radius()).prop_map(
        |(offset_a, offset_b, radius_a, radius_b)| Shape::Capsule {
            offset_a,
            offset_b,
            radius_a,
            radius_b,
        },
    );
    let line = (radius(), radius(), radius(), radius(), share()).prop_map(
        |(inset_a, inset_b, radius_a, radius_b, scale)| Shape::Line {
            inset_a,
            inset_b,
            radius_a,
            radius_b,
            scale,
        },
    );
    prop_oneof![sphere, capsule, line]
}

fn dynamic() -> impl Strategy<Value = Collider> + Clone {
    let centred = (0.0_f32..0.1).prop_map(|radius| Shape::Sphere {
        offset: Vec3::ZERO,
        radius,
    });
    (prop_oneof![centred, shape(0.1)], mask()).prop_map(|(shape, mask)| Collider { shape, mask })
}

/// Joint by a number to be wrapped, or a plane.
fn obstacle() -> impl Strategy<Value = (usize, Collider)> + Clone {
    let plane = (vector(1.0), -0.4_f32..0.1).prop_map(|(normal, offset)| Shape::Plane {
        normal: normal.normalize_or(Vec3::Y),
        offset,
    });
    let shape = prop_oneof![5 => shape(0.2), 1 => plane];
    (any::<u16>(), shape, mask())
        .prop_map(|(j, shape, mask)| (usize::from(j), Collider { shape, mask }))
}

/// A swing joint whose indices (joint, tip, reference) are still to be set.
fn swing() -> impl Strategy<Value = SwingJoint> + Clone {
    let tail = (vector(1.0), 0.02_f32..0.3).prop_map(|(axis, length)| Tip::Tail {
        axis: axis.normalize_or(Vec3::Y),
        length,
    });
    let tip = prop_oneof![3 => Just(Tip::FirstChild), 1 => tail, 1 => Just(Tip::Joint(0))];
    let forces = (share(), 0.0_f32..2.0, share(), 0.0_f32..2.0);
    let pendulum = (share(), share(), any::<bool>());
    let reference = option::of((any::<u16>(), number()));
    let bounds = (
        option::of(limit()),
        reference,
        option::weighted(0.8, dynamic()),
    );
    (tip, forces, pendulum, (share(), share()), bounds, 0..12_u8).prop_map(
        |(tip, forces, pendulum, root, (limit, reference, collider), dice)| SwingJoint {
            tip,
            active: dice > 0,
            damping: forces.0,
            stiffness: forces.1,
            spring: forces.2,
            mass: forces.3,
            pendulum: pendulum.0,
            pendulum_range: pendulum.1,
            use_wind_global_force: pendulum.2,
            root_horizontal_weight: root.0,
            root_vertical_weight: root.1,
            limit,
            reference_limit: reference.map(|(joint, weight)| ReferenceLimit {
                joint: usize::from(joint),
                weight,
            }),
            collider,
            ..SwingJoint::new(0)
        },
    )
}

type RandomJoint = (u16, JointTransform, Option<SwingJoint>);

fn random_joint() -> impl Strategy<Value = RandomJoint> + Clone {
    let rest = (vector(0.3), rotation(), scale()).prop_map(|(translation, rotation, scale)| {
        JointTransform {
            translation,
            rotation,
            scale,
        }
    });
    // Long chains more often than bushes: every second joint hangs on the one before it.
    let parent = prop_oneof![Just(0_u16), any::<u16>()];
    (parent, rest, option::weighted(0.7, swing()))
}

fn rig(joints: Vec<RandomJoint>, obstacles: Vec<(usize, Collider)>, root: Option<u16>) -> Rig {
    let count = joints.len();
    let parent = |i: usize, back: u16| i.checked_sub(1 + usize::from(back) % i.max(1));
    let parents: Vec<Option<usize>> = joints
        .iter()
        .enumerate()
        .map(|(i, joint)| parent(i, joint.0))
        .collect();
    let named = joints.iter().zip(&parents).map(|(joint, &parent)| Joint {
        name: String::new(),
        source: 0,
        parent,
        rest: joint.1,
    });
    let mut rig = Rig::new(named.collect());
    let swinging: Vec<usize> = (0..count).filter(|&i| joints[i].2.is_some()).collect();
    let child_of = |joint: usize| (joint + 1..count).find(|&i| parents[i] == Some(joint));
    for &i in &swinging {
        let mut swing = joints[i].2.unwrap();
        swing.joint = i;
        if let Tip::Joint(_) = swing.tip {
            let grandchild = child_of(i).and_then(child_of);
            swing.tip = grandchild.map_or(Tip::FirstChild, Tip::Joint);
        }
        if let Some(reference) = &mut swing.reference_limit {
            reference.joint = swinging[reference.joint % swinging.len()];
        }
        if swing.reference_limit.is_some_and(|r| r.joint == i) {
            swing.reference_limit = None;
        }
        rig.swing.push(swing);
    }
    rig.root_correction = root.map(|joint| usize::from(joint) % count);
    rig.colliders = obstacles
        .into_iter()
        .map(|(joint, collider)| StaticCollider {
            joint: match collider.shape {
                Shape::Plane { .. } => None,
                _ => Some(joint % count),
            },
            collider,
        })
        .collect();
    rig
}

fn profile() -> impl Strategy<Value = SwingProfile> + Clone {
    let delta = select(vec![
        DeltaPolicy::Carried,
        DeltaPolicy::Rest,
        DeltaPolicy::Current,
        DeltaPolicy::CarriedPairs,
    ]);
    let root = select(vec![
        RootPolicy::Shift,
        RootPolicy::FrameDelta,
        RootPolicy::Off,
    ]);
    (
        delta,
        root,
        any::<bool>(),
        any::<bool>(),
        0..4_u32,
        1..6_u32,
    )
        .prop_map(
            |(delta, root, by_frame, relative, prewarm, max_substeps)| SwingProfile {
                substeps: if by_frame {
                    SubstepPolicy::Frame
                } else {
                    SubstepPolicy::Fixed
                },
                delta,
                root,
                prewarm,
                max_substeps,
                parallel_epsilon: if relative {
                    ParallelEpsilon::Relative
                } else {
                    ParallelEpsilon::Documented
                },
                ..SwingProfile::default()
            },
        )
}

fn properties() -> impl Strategy<Value = ActorProperties> + Clone {
    let gravity = prop_oneof![Just(Vec3::NEG_Y), vector(1.0)];
    (
        share(),
        0.1_f32..1.5,
        share(),
        share(),
        vector(0.1),
        gravity,
    )
        .prop_map(
            |(weight, swing_power, horizontal, vertical, global_force, gravity)| ActorProperties {
                weight,
                swing_power,
                root_horizontal_weight: horizontal,
                root_vertical_weight: vertical,
                global_force,
                gravity: gravity.normalize_or(Vec3::NEG_Y),
            },
        )
}

/// The rest pose, each joint turned and moved by one of `jumps`, anew in every frame.
fn poses(rig: &Rig, lengths: &[f64], jumps: &[[f32; 6]]) -> Vec<(f64, Vec<JointTransform>)> {
    let joints = rig.joints.len();
    let frame = |(index, &seconds): (usize, &f64)| {
        let pose = rig.joints.iter().enumerate().map(|(i, joint)| {
            let [x, y, z, dx, dy, dz] = jumps[(index * joints + i) % jumps.len()];
            JointTransform {
                rotation: joint.rest.rotation * small_turn(x, y, z, 0.3),
                translation: joint.rest.translation + Vec3::new(dx, dy, dz) * 0.02,
                scale: joint.rest.scale,
            }
        });
        (seconds, pose.collect())
    };
    lengths.iter().enumerate().map(frame).collect()
}

fn scene() -> impl Strategy<Value = Scene> {
    let length = select(vec![
        FIXED_STEP,
        FIXED_STEP,
        1.0 / 30.0,
        1.0 / 144.0,
        1.0 / 24.0,
        0.1,
        0.0,
    ]);
    let jump = [number(), number(), number(), number(), number(), number()];
    (
        (vec(random_joint(), 2..12), vec(obstacle(), 0..6)),
        option::of(any::<u16>()),
        (profile(), properties(), rotation()),
        (vec(length, 12..24), vec(jump, 8..64)),
    )
        .prop_map(|((joints, obstacles), root, how, (lengths, jumps))| {
            let rig = rig(joints, obstacles, root);
            let frames = poses(&rig, &lengths, &jumps);
            Scene {
                rig,
                profile: how.0,
                properties: how.1,
                placed: how.2,
                frames,
            }
        })
}

// --- [C1] ----------------------------------------------------------------------------------------------------------

fn mirrored(v: Vec3) -> Vec3 {
    Vec3::new(-v.x, v.y, v.z)
}
fn mirrored_rotation(q: Quat) -> Quat {
    Quat::from_xyzw(q.x, -q.y, -q.z, q.w)
}
fn mirrored_transform(t: &JointTransform) -> JointTransform {
    JointTransform {
        translation: mirrored(t.translation),
        rotation: mirrored_rotation(t.rotation),
        scale: t.scale,
    }
}
fn mirrored_shape(shape: &Shape) -> Shape {
    let mut shape = *shape;
    match &mut shape {
        Shape::Sphere { offset, .. } => *offset = mirrored(*offset),
        Shape::Capsule {
            offset_a, offset_b, ..
        } => (*offset_a, *offset_b) = (mirrored(*offset_a), mirrored(*offset_b)),
        Shape::Plane { normal, .. } => *normal = mirrored(*normal),
        Shape::Line { .. } => {}
    }
    shape
}
fn mirrored_collider(collider: Collider) -> Collider {
    Collider {
        shape: mirrored_shape(&collider.shape),
        mask: collider.mask,
    }
}
/// An interval stays on X and becomes [−high, −low] on Y and Z.
fn mirrored_limit(limit: Limit) -> Limit {
    let (low, high) = (limit.low, limit.high);
    Limit {
        low: Vec3::new(low.x, -high.y, -high.z),
        high: Vec3::new(high.x, -low.y, -low.z),
    }
}
fn mirrored_swing(swing: &SwingJoint) -> SwingJoint {
    SwingJoint {
        tip: match swing.tip {
            Tip::Tail { axis, length } => Tip::Tail {
                axis: mirrored(axis),
                length,
            },
            other => other,
        },
        limit: swing.limit.map(mirrored_limit),
        collider: swing.collider.map(mirrored_collider),
        ..*swing
    }
}

impl Scene {
    fn mirrored(&self) -> Self {
        let mut scene = self.clone();
        for joint in &mut scene.rig.joints {
            joint.rest = mirrored_transform(&joint.rest);
        }
        for swing in &mut scene.rig.swing {
            *swing = mirrored_swing(swing);
        }
        for collider in &mut scene.rig.colliders {
            collider.collider = mirrored_collider(collider.collider);
        }
        for (_, pose) in &mut scene.frames {
            for transform in pose {
                *transform = mirrored_transform(transform);
            }
        }
        scene.placed = mirrored_rotation(scene.placed);
        scene.properties.global_force = mirrored(scene.properties.global_force);
        scene.properties.gravity = mirrored(scene.properties.gravity);
        scene
    }
}

/// Equal bits, where 0 and −0 are the same and so are q and −q.
fn same_rotation(a: Quat, b: Quat) -> bool {
    a == b || a == -b
}

fn same_result(found: &SwingResult, expected: &SwingResult) -> bool {
    let hit = expected.last_hit.map(|(n, at)| (mirrored(n), mirrored(at)));
    found.particle == mirrored(expected.particle)
        && same_rotation(found.rotation, mirrored_rotation(expected.rotation))
        && found.hits == expected.hits
        && found.last_hit == hit
}

fn mirror_mismatch(found: &Frame, expected: &Frame) -> Option<String> {
    for (i, (a, b)) in found.swings.iter().zip(&expected.swings).enumerate() {
        let same = match (a, b) {
            (Some(a), Some(b)) => same_result(a, b),
            (None, None) => true,
            _ => false,
        };
        if !same {
            return Some(format!("swing joint {i}: {a:?} is not the mirror of {b:?}"));
        }
    }
    for (i, (a, b)) in found.local.iter().zip(&expected.local).enumerate() {
        let b = mirrored_transform(b);
        let same = a.translation == b.translation && a.scale == b.scale;
        if !same || !same_rotation(a.rotation, b.rotation) {
            return Some(format!("joint {i}: {a:?}, expected {b:?}"));
        }
    }
    None
}

proptest! {
    #![proptest_config(config(1200, 1))]

    /// `[C1]`
    #[test]
    fn c1_a_mirrored_scene_swings_in_the_mirror_bit_for_bit(scene in scene()) {
        let (found, expected) = (scene.mirrored().shown(), scene.shown());
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let mismatch = mirror_mismatch(found, expected);
            prop_assert!(mismatch.is_none(), "frame {index}: {}", mismatch.unwrap());
        }
    }
}

// --- Lengths -------------------------------------------------------------------------------------------------------

/// Shares of the bone length, dimensionless: 16 roundings of f32 at model positions of up to 3 m for bones of 2 cm.
const LENGTH_TOLERANCE: f64 = 1e-5;

proptest! {
    #![proptest_config(config(800, 2))]

    /// `[S8]` `[X5]`
    #[test]
    fn coll_05_no_contact_stretches_a_bone(scene in scene()) {
        let scene = scene.in_substeps();
        let lengths = bone_lengths(&scene.rig);
        let mut failure = None;
        scene.run(|index, stage| {
            let frame = stage.frame();
            for (i, swing) in scene.rig.swing.iter().enumerate() {
                let Some(result) = frame.swings[i] else { continue };
                let origin = stage.model(swing.joint).0;
                let found = result.particle.as_dvec3().distance(origin.as_dvec3());
                // The origin is recomposed in f32 through every joint above, so positions round at their own size.
                let rounding = f64::from(origin.abs().max_element()) * 4e-6;
                let off = (found - lengths[i]).abs();
                if off > lengths[i] * LENGTH_TOLERANCE + rounding {
                    failure = Some((index, i, found, lengths[i], off));
                }
            }
        });
        prop_assert!(failure.is_none(), "(frame, swing joint, length, expected, difference): {failure:?}");
    }
}

/// The length of every swing joint's bone at rest, metres; 0 for those without one.
fn bone_lengths(rig: &Rig) -> Vec<f64> {
    let tree = flounce::bone::SwingTree::new(rig);
    let length = |swing| tree.bone(swing).map_or(0.0, |bone| f64::from(bone.length));
    rig.swing.iter().map(length).collect()
}

// --- Limits --------------------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(config(1200, 3))]

    /// `[V2]`
    #[test]
    fn v2_a_joint_never_leaves_its_limit(scene in scene()) {
        let mut scene = scene.in_substeps();
        scene.properties.weight = 1.0;
        for swing in &mut scene.rig.swing {
            swing.reference_limit = None;
        }
        let mut failure = None;
        scene.run(|index, stage| {
            let frame = stage.frame();
            for (i, swing) in scene.rig.swing.iter().enumerate() {
                let (Some(result), Some(limit)) = (frame.swings[i], swing.limit) else { continue };
                let animated = scene.frames[index].1[swing.joint].rotation.as_dquat().normalize();
                let deviation = animated.conjugate() * result.rotation.as_dquat();
                let Some(angles) = euler_zxy(deviation) else { continue };
                let low = limit.low.as_dvec3() * 1_f64.to_radians();
                let high = limit.high.as_dvec3() * 1_f64.to_radians();
                // Radians. f32 quaternions resolve about 1e-7 rad, divided by cos x ≥ 0.045 this far from the pole.
                let outside = (low - angles).max(angles - high).max_element();
                // −180° and 180° are one angle.
                let half_turn = angles.abs().max_element() > core::f64::consts::PI - 1e-4;
                if outside > 1e-4 && !half_turn {
                    failure = Some((index, i, angles, low, high));
                }
            }
        });
        prop_assert!(failure.is_none(), "(frame, swing joint, angles, low, high) in radians: {failure:?}");
    }
}

// --- Placement -----------------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(config(400, 4))]

    /// Gravity is along the axis of the turn, so nothing in model space depends on it.
    #[test]
    fn a_yaw_of_the_actor_changes_no_bit(scene in scene(), yaw in -7.0_f32..7.0) {
        let mut scene = scene;
        scene.properties.gravity = Vec3::NEG_Y;
        scene.properties.global_force = Vec3::ZERO;
        scene.placed = Quat::IDENTITY;
        let expected = scene.shown();
        scene.placed = Quat::from_rotation_y(yaw);
        for (index, (found, expected)) in scene.shown().iter().zip(&expected).enumerate() {
            prop_assert!(found.numbers() == expected.numbers(), "frame {index}: {found:?}\n{expected:?}");
        }
    }
}

// --- Finite numbers ------------------------------------------------------------------------------------------------

/// Where an extreme number is put.
#[derive(Clone, Copy, Debug)]
enum Target {
    RestTranslation,
    RestScale,
    Stiffness,
    Spring,
    Mass,
    Damping,
    PendulumRange,
    OwnOffset,
    OwnRadius,
    ObstacleOffset,
    ObstacleRadius,
    PoseTranslation,
    PoseScale,
    GlobalForce,
    MetresPerUnit,
    SwingPower,
    RootWeight,
}

fn extreme() -> impl Strategy<Value = f32> + Clone {
    let sizes = select(vec![
        0.0_f32,
        1e-45,
        1e-40,
        f32::MIN_POSITIVE,
        1e-20,
        1e-10,
        1e-6,
        1e3,
        1e6,
        1e10,
        1e19,
        3e19,
        1e30,
        f32::MAX,
    ]);
    (sizes, any::<bool>()).prop_map(|(size, negative)| if negative { -size } else { size })
}

fn target() -> impl Strategy<Value = Target> + Clone {
    select(vec![
        Target::RestTranslation,
        Target::RestScale,
        Target::Stiffness,
        Target::Spring,
        Target::Mass,
        Target::Damping,
        Target::PendulumRange,
        Target::OwnOffset,
        Target::OwnRadius,
        Target::ObstacleOffset,
        Target::ObstacleRadius,
        Target::PoseTranslation,
        Target::PoseScale,
        Target::GlobalForce,
        Target::MetresPerUnit,
        Target::SwingPower,
        Target::RootWeight,
    ])
}

fn put_in_shape(shape: &mut Shape, offset: Option<f32>, size: Option<f32>) {
    match shape {
        Shape::Sphere { offset: at, radius } => {
            at.y = offset.unwrap_or(at.y);
            *radius = size.unwrap_or(*radius);
        }
        Shape::Capsule {
            offset_b, radius_a, ..
        } => {
            offset_b.z = offset.unwrap_or(offset_b.z);
            *radius_a = size.unwrap_or(*radius_a);
        }
        Shape::Line {
            inset_b, radius_a, ..
        } => {
            *inset_b = offset.map_or(*inset_b, f32::abs);
            *radius_a = size.unwrap_or(*radius_a);
        }
        Shape::Plane { offset: at, .. } => *at = offset.or(size).unwrap_or(*at),
    }
}

impl Scene {
    /// Puts `value` where `target` says, as far as a rig's check lets it in.
    fn put(&mut self, target: Target, index: usize, value: f32) {
        let (size, share) = (value.abs(), value.abs().min(1.0));
        let joints = self.rig.joints.len();
        let rest = &mut self.rig.joints[index % joints].rest;
        let frames = self.frames.len();
        let pose = &mut self.frames[index % frames].1[index / 7 % joints];
        match target {
            Target::RestTranslation => rest.translation.x = value,
            Target::RestScale => rest.scale.y = value,
            Target::PoseTranslation => pose.translation.z = value,
            Target::PoseScale => pose.scale.x = value,
            Target::GlobalForce => self.properties.global_force.x = value,
            Target::MetresPerUnit if size > 0.0 => self.rig.metres_per_unit = size,
            Target::SwingPower if size > 0.0 => self.properties.swing_power = size.min(1.5),
            Target::RootWeight => self.properties.root_horizontal_weight = share,
            _ => {}
        }
        let obstacles = self.rig.colliders.len().max(1);
        if let Some(other) = self.rig.colliders.get_mut(index % obstacles) {
            match target {
                Target::ObstacleOffset => {
                    put_in_shape(&mut other.collider.shape, Some(value), None);
                }
                Target::ObstacleRadius => put_in_shape(&mut other.collider.shape, None, Some(size)),
                _ => {}
            }
        }
        let swings = self.rig.swing.len().max(1);
        if let Some(swing) = self.rig.swing.get_mut(index % swings) {
            match target {
                Target::Stiffness => swing.stiffness = size,
                Target::Spring => swing.spring = share,
                Target::Mass => swing.mass = size,
                Target::Damping => swing.damping = share,
                Target::PendulumRange => (swing.pendulum, swing.pendulum_range) = (1.0, share),
                _ => {}
            }
            if let Some(own) = &mut swing.collider {
                match target {
                    Target::OwnOffset => put_in_shape(&mut own.shape, Some(value), None),
                    Target::OwnRadius => put_in_shape(&mut own.shape, None, Some(size)),
                    _ => {}
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(2000, 5))]

    /// `[V8]` `[B6]` A pose that can be shown is finite, whatever finite numbers went in.
    #[test]
    fn v8_finite_numbers_never_make_a_pose_that_is_not(
        scene in scene(),
        extremes in vec((target(), any::<u16>(), extreme()), 1..5),
    ) {
        let mut scene = scene;
        for (target, index, value) in extremes {
            scene.put(target, usize::from(index), value);
        }
        let mut failure = None;
        let mut calm = 0;
        scene.run(|index, stage| {
            let frame = stage.frame();
            for (i, joint) in frame.local.iter().enumerate() {
                if !joint.is_finite() {
                    failure = Some(format!("frame {index}, joint {i}: {joint:?}"));
                }
            }
            // What overflows in model space has no finite particle to show, until a few substeps after it did.
            let model = &stage.host.world.get::<ModelPose>(stage.actor).unwrap().0;
            let inside = model.iter().all(|m| Vec3::from(m.rigid.t).abs().max_element() < 1e37);
            let long = u32::from(scene.frames[index].0 >= FIXED_STEP);
            calm = if inside { calm + long } else { 0 };
            for (i, result) in frame.swings.iter().enumerate() {
                let Some(result) = result else { continue };
                let shown = result.particle.is_finite() || calm < 4;
                let hit = result.last_hit.is_none_or(|(normal, _)| normal.is_finite());
                if !shown || !hit || !result.rotation.is_finite() {
                    failure = Some(format!("frame {index}, swing joint {i}: {result:?}"));
                }
            }
        });
        prop_assert!(failure.is_none(), "{}", failure.unwrap());
    }
}

proptest! {
    #![proptest_config(config(800, 6))]

    /// `[B6]` A host that hands over rotations of any length gets a pose that can be shown.
    #[test]
    fn b6_rotations_of_any_length_never_make_a_pose_that_is_not_finite(
        scene in scene(),
        lengths in vec((any::<u16>(), any::<u16>(), extreme()), 1..5),
    ) {
        let mut scene = scene;
        for (frame, joint, length) in lengths {
            let frames = scene.frames.len();
            let pose: &mut Vec<JointTransform> = &mut scene.frames[usize::from(frame) % frames].1;
            let joints = pose.len();
            let rotation = &mut pose[usize::from(joint) % joints].rotation;
            *rotation *= length;
        }
        let mut failure = None;
        scene.run(|index, stage| {
            let local = stage.frame().local;
            if let Some(i) = local.iter().position(|joint| !joint.is_finite()) {
                failure = Some(format!("frame {index}, joint {i}: {:?}", local[i]));
            }
        });
        prop_assert!(failure.is_none(), "{}", failure.unwrap());
    }
}

/// The properties above are about something: the scenes have contacts of every kind, joints at their limits, depth.
#[test]
fn the_random_scenes_are_not_empty() {
    let mut runner = TestRunner::new(config(1, 7));
    let (mut hits, mut limited, mut deep, mut moved) = (0, 0, 0, 0);
    for _ in 0..100 {
        let scene = scene().new_tree(&mut runner).unwrap().current();
        let plan = flounce::plan::Plan::compile(&scene.rig);
        deep += usize::from(plan.depths.len() > 2);
        limited += plan
            .swings
            .iter()
            .filter(|swing| swing.limit.is_some())
            .count();
        let frames = scene.shown();
        let results = frames.iter().flat_map(|frame| &frame.swings).flatten();
        hits += results.filter(|result| result.hits > 0).count();
        let (first, last) = (&frames[0], &frames[frames.len() - 1]);
        moved += usize::from(first.turned(last) > 0.1);
    }
    let seen = [hits, limited, deep, moved];
    let least = [200, 100, 20, 50];
    assert!(
        seen.iter().zip(least).all(|(&seen, least)| seen >= least),
        "hits, limits, deep rigs, rigs that moved: {seen:?}, at least {least:?}"
    );
}

#[test]
fn an_animated_pose_of_another_length_counts_as_rest() {
    let rig = support::chains::rod3();
    let mut expected = Stage::new(&rig);
    let mut stage = Stage::new(&rig);
    stage.substep();
    expected.substep();
    *stage.pose() = AnimatedPose(Vec::new());
    support::chains::assert_same_bits(&stage.substeps(20), &expected.substeps(20), "no pose");
}
