//! Scenes out of random numbers: ways to solve a rig, and the input of every frame.

use bevy_math::{Quat, Vec3};
use flounce::pose::JointTransform;
use flounce::profile::{
    DeltaPolicy, ForcePolicy, InertiaPolicy, JointOrder, LinePush, ParallelEpsilon, RestPose,
    RootPolicy, SubstepPolicy, SwingProfile,
};
use flounce::rig::Rig;
use flounce::substep::FIXED_STEP;
use flounce::swing::ActorProperties;
use flounce::systems::motion::WorldFromActor;
use flounce::wind::{Gust, Octave, Wind, WindForm};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::rigs::rig;
use crate::scene::{Event, Input, Scene};

pub fn number() -> impl Strategy<Value = f32> + Clone {
    -1.0_f32..1.0
}
pub fn share() -> impl Strategy<Value = f32> + Clone {
    prop_oneof![Just(0.0_f32), Just(1.0), 0.0_f32..1.0]
}
pub fn vector(reach: f32) -> impl Strategy<Value = Vec3> + Clone {
    [number(), number(), number()].prop_map(move |v| Vec3::from(v) * reach)
}
pub fn direction() -> impl Strategy<Value = Vec3> + Clone {
    vector(1.0).prop_map(|v| v.normalize_or(Vec3::NEG_Y))
}
fn one_of<T: Clone + core::fmt::Debug + 'static>(
    values: impl Into<Vec<T>>,
) -> impl Strategy<Value = T> + Clone {
    select(values.into())
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
pub fn transform(reach: f32) -> impl Strategy<Value = JointTransform> + Clone {
    (vector(reach), rotation(), scale()).prop_map(|(translation, rotation, scale)| JointTransform {
        translation,
        rotation,
        scale,
    })
}
// --- How it is solved ----------------------------------------------------------------------------------------------

pub fn profile() -> impl Strategy<Value = SwingProfile> + Clone {
    let delta = one_of([
        DeltaPolicy::Carried,
        DeltaPolicy::Rest,
        DeltaPolicy::Current,
        DeltaPolicy::CarriedPairs,
    ]);
    let root = one_of([RootPolicy::Shift, RootPolicy::FrameDelta, RootPolicy::Off]);
    let cut = one_of([
        (SubstepPolicy::Fixed, JointOrder::SubstepMajor),
        (SubstepPolicy::Fixed, JointOrder::SubstepMajor),
        (SubstepPolicy::Frame, JointOrder::SubstepMajor),
        (SubstepPolicy::Frame, JointOrder::JointMajor),
    ]);
    let force = one_of([
        ForcePolicy::Direct,
        ForcePolicy::Direct,
        ForcePolicy::VelocityAdd,
        ForcePolicy::VelocityReplace,
    ]);
    let inertia = one_of([InertiaPolicy::Packed, InertiaPolicy::Free]);
    let rest_pose = one_of([RestPose::Animated, RestPose::Bind]);
    let lines = (
        one_of([ParallelEpsilon::Documented, ParallelEpsilon::Relative]),
        one_of([LinePush::Documented, LinePush::Lever]),
    );
    let motion = (
        share(),
        one_of([0.0_f32, 0.3, 1.0]),
        one_of([0.0_f32, 20.0, 90.0]),
        any::<bool>(),
    );
    let counts = (0..4_u32, 1..6_u32);
    (
        (delta, root, cut, rest_pose),
        (inertia, force, share()),
        lines,
        motion,
        counts,
    )
        .prop_map(
            |(
                (delta, root, cut, rest_pose),
                (inertia, force, velocity_damping),
                lines,
                motion,
                counts,
            )| {
                SwingProfile {
                    substeps: cut.0,
                    order: cut.1,
                    delta,
                    root,
                    rest_pose,
                    inertia,
                    force,
                    velocity_damping,
                    parallel_epsilon: lines.0,
                    line_push: lines.1,
                    world_inertia: motion.0,
                    teleport_distance: motion.1,
                    teleport_angle_deg: motion.2,
                    split_motion: motion.3,
                    prewarm: counts.0,
                    max_substeps: counts.1,
                }
            },
        )
}

pub fn properties() -> impl Strategy<Value = ActorProperties> + Clone {
    let gravity = prop_oneof![Just(Vec3::NEG_Y), direction()];
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
                gravity,
            },
        )
}

/// Breezes and storms.
pub fn wind() -> impl Strategy<Value = Wind> + Clone {
    let power = || prop_oneof![Just(0.0_f32), 0.0_f32..0.05, 0.0_f32..1.0];
    let octave = (power(), 0.1_f32..5.0).prop_map(|(power, frequency)| Octave { power, frequency });
    let gust = (power(), 0.0_f32..8.0, number()).prop_map(|(amplitude, frequency, phase)| Gust {
        amplitude,
        frequency,
        phase,
    });
    let form = prop_oneof![
        3 => (-3.0_f32..3.0).prop_map(WindForm::Advected),
        1 => Just(WindForm::Documented)
    ];
    (
        direction(),
        (power(), 0.1_f32..5.0),
        option::of(octave),
        vec(gust, 0..3),
        form,
        any::<u32>(),
    )
        .prop_map(
            |(direction, (power, frequency), octave, gusts, form, seed)| Wind {
                direction,
                power,
                frequency,
                octave,
                gusts,
                form,
                seed,
            },
        )
}

// --- Frames --------------------------------------------------------------------------------------------------------

/// How the actor goes from frame to frame: by how much it moves and turns, now and then far, and what else happens.
type Way = (Vec3, Quat, bool, Option<Event>);

fn way() -> impl Strategy<Value = Way> + Clone {
    let event = prop_oneof![
        18 => Just(None),
        1 => Just(Some(Event::Teleport)),
        1 => Just(Some(Event::Reset)),
    ];
    let step = prop_oneof![2 => Just(Vec3::ZERO), 3 => vector(0.1), 1 => vector(2.0)];
    let turn = (rotation(), share()).prop_map(|(q, few)| {
        if few < 0.5 {
            Quat::IDENTITY.slerp(q, 0.2)
        } else {
            q
        }
    });
    let turn = prop_oneof![2 => Just(Quat::IDENTITY), 3 => turn];
    (step, turn, any::<bool>(), event)
}

/// The rest pose, each joint turned and moved by one of `jumps`, anew in every frame.
fn poses(rig: &Rig, frames: usize, jumps: &[[f32; 6]]) -> Vec<Vec<JointTransform>> {
    let joints = rig.joints.len();
    let frame = |index: usize| {
        let pose = rig.joints.iter().enumerate().map(|(i, joint)| {
            let [x, y, z, dx, dy, dz] = jumps[(index * joints + i) % jumps.len()];
            JointTransform {
                rotation: joint.rest.rotation * small_turn(x, y, z, 0.3),
                translation: joint.rest.translation + Vec3::new(dx, dy, dz) * 0.02,
                scale: joint.rest.scale,
            }
        });
        pose.collect()
    };
    (0..frames).map(frame).collect()
}

/// Every part of the solver, at random.
pub fn scene() -> impl Strategy<Value = Scene> + Clone {
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
    let actor = (
        profile(),
        properties(),
        option::of(wind()),
        option::weighted(0.2, vec(share(), 1..5)),
        rotation(),
    );
    let motion = (vec((length, way()), 10..18), vec(jump, 8..64), 0..2_u8);
    (rig(), actor, motion).prop_map(|(rig, actor, (steps, jumps, walks))| {
        let (profile, properties, wind, bake, turned) = actor;
        let poses = poses(&rig, steps.len(), &jumps);
        let mut placed = WorldFromActor::turned(turned);
        let frame = |(pose, (seconds, way)): (Vec<JointTransform>, (f64, Way))| {
            let (step, turn, far, event) = way;
            if walks > 0 {
                let far = if far { 1.0 } else { 0.2 };
                placed.translation += step * far;
                placed.rotation = (placed.rotation * turn).normalize();
            }
            Input {
                seconds,
                pose,
                placed,
                event,
            }
        };
        let frames = poses.into_iter().zip(steps).map(frame).collect();
        Scene {
            rig,
            profile,
            properties,
            wind,
            bake,
            frames,
        }
    })
}
