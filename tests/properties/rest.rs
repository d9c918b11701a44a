//! Rest: what lies on something lies still. `[X5]`
//!
//! Chains of balls and lines above balls, capsules and planes, up to three at once, gravity any way, under the policies
//! that have a rest: `carried` at one substep per frame, `rest`, `current`. `carried_pairs` has none, and neither has
//! `carried` where a frame has several substeps: stiffness pulls along the rest direction and along the current one in
//! turn `[S3]`, so that a joint that hangs away from rest is moved to and fro by up to stiffness · 0.01 · 2/3 m for ever.
//!
//! Rigs with warnings make no claim, and those that `rest_check` finds restless belong to them: it is part of the same
//! report. Twitching and coming to rest are told apart. No contact makes a particle jump from one substep to the next,
//! after 20 s already: its moves change by less than [`STILL`]. The moves themselves are below it after [`SETTLING`]
//! only: some of these chains begin near the top of what they fall from or hang where stiffness and pendulum cancel, and
//! creep away from there for minutes.

use bevy_math::{Quat, Vec3};
use flounce::assets::check::{Severity, Use, inspect};
use flounce::assets::rest_check::restless_joints;
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::pose::JointTransform;
use flounce::profile::{DeltaPolicy, LinePush, SwingProfile};
use flounce::rig::{Joint, Rig};
use flounce::swing::{ActorProperties, SwingJoint};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use crate::config;
use crate::random::{direction, share, vector};
use crate::support::chains::{Frame, Stage, ball, joint};

/// Until nothing jumps, seconds.
const CALMING: f64 = 20.0;
/// Until nothing moves, seconds.
const SETTLING: f64 = 400.0;
/// A long frame, seconds: 600 substeps.
const FRAME: f64 = 10.0;
/// Substeps that are watched.
const WATCHED: usize = 60;
/// A move that nobody sees, metres per substep. f32 alone makes moves of 2e-6 m at the end of chains of four.
const STILL: f32 = 1e-5;
/// Random rigs.
const RIGS: u32 = 1000;
/// How many of them may be restless.
const MOST_RESTLESS: usize = 4;

#[derive(Clone, Debug)]
struct Resting {
    rig: Rig,
    profile: SwingProfile,
    properties: ActorProperties,
}

fn swing() -> impl Strategy<Value = SwingJoint> + Clone {
    let own = (0.0_f32..0.08, 0.0_f32..0.05, 0..4_u8).prop_map(|(radius, inset, dice)| {
        let mut own = ball(radius);
        if dice == 0 {
            own.shape = Shape::Line {
                inset_a: 0.0,
                inset_b: inset,
                radius_a: radius,
                radius_b: radius * 0.5,
                scale: 1.0,
            };
        }
        own
    });
    (
        (share(), 0.0_f32..1.0, 0.0_f32..0.3, 0.02_f32..1.0),
        (share(), 0.001_f32..1.0),
        own,
    )
        .prop_map(
            |((damping, stiffness, spring, mass), (pendulum, range), own)| SwingJoint {
                damping,
                stiffness,
                spring,
                mass,
                pendulum: pendulum * stiffness,
                pendulum_range: range,
                collider: Some(own),
                ..SwingJoint::new(0)
            },
        )
}

/// Something in the way of what falls along `down`.
fn obstacle(down: Vec3) -> impl Strategy<Value = StaticCollider> + Clone {
    let below =
        move || (0.1_f32..0.5, vector(0.2)).prop_map(move |(far, aside)| down * far + aside);
    let sphere =
        (below(), 0.02_f32..0.3).prop_map(|(offset, radius)| Shape::Sphere { offset, radius });
    let capsule = (below(), below(), 0.02_f32..0.2, 0.02_f32..0.2).prop_map(
        |(offset_a, offset_b, radius_a, radius_b)| Shape::Capsule {
            offset_a,
            offset_b,
            radius_a,
            radius_b,
        },
    );
    let plane = (vector(0.6), -0.4_f32..-0.05).prop_map(move |(tilt, offset)| Shape::Plane {
        normal: (tilt - down).normalize(),
        offset,
    });
    prop_oneof![sphere, capsule, plane].prop_map(|shape| StaticCollider {
        joint: if let Shape::Plane { .. } = shape {
            None
        } else {
            Some(0)
        },
        collider: Collider {
            shape,
            mask: Mask::ALL,
        },
    })
}

fn resting() -> impl Strategy<Value = Resting> + Clone {
    let bone = (direction(), 0.03_f32..0.3, swing());
    let delta = select(vec![
        DeltaPolicy::Carried,
        DeltaPolicy::Rest,
        DeltaPolicy::Current,
    ]);
    let lever = any::<bool>();
    (
        vec(bone, 1..5),
        direction().prop_flat_map(move |down| (vec(obstacle(down), 1..4), Just(down))),
        delta,
        lever,
    )
        .prop_map(|(bones, (obstacles, gravity), delta, lever)| {
            let mut joints = vec![joint(None, Vec3::ZERO), joint(Some(0), Vec3::ZERO)];
            let mut swings = Vec::new();
            for (direction, length, swing) in bones {
                let index = joints.len() - 1;
                joints.push(Joint {
                    rest: JointTransform::rigid(direction * length, Quat::IDENTITY),
                    ..joint(Some(index), Vec3::ZERO)
                });
                swings.push(SwingJoint {
                    joint: index,
                    ..swing
                });
            }
            let mut rig = Rig::new(joints);
            rig.swing = swings;
            rig.colliders = obstacles;
            Resting {
                rig,
                profile: SwingProfile {
                    delta,
                    max_substeps: u32::MAX,
                    line_push: if lever {
                        LinePush::Lever
                    } else {
                        LinePush::Documented
                    },
                    ..SwingProfile::default()
                },
                properties: ActorProperties {
                    gravity,
                    ..ActorProperties::default()
                },
            }
        })
}

impl Resting {
    fn has_warnings(&self) -> bool {
        let how = Use {
            properties: self.properties,
            profile: self.profile,
            ..Use::default()
        };
        let found = inspect(&self.rig, &how);
        let warned = found.iter().any(|f| f.severity <= Severity::Warning);
        warned || !restless_joints(&self.rig, &self.properties, &self.profile).is_empty()
    }
}

/// Lets time pass, in frames that have no more substeps than a frame may have.
fn pass(stage: &mut Stage, seconds: f64) {
    for _ in 0..(seconds / FRAME).round() as u32 {
        stage.host.step(FRAME).unwrap();
    }
}

/// The largest move of a particle in the substeps that are watched, and the largest change of it, metres.
fn watch(stage: &mut Stage) -> (f32, f32) {
    let particles = |frame: &Frame| -> Vec<Vec3> {
        let results = frame.swings.iter().flatten();
        results.map(|result| result.particle).collect()
    };
    let seen: Vec<Vec<Vec3>> = (0..WATCHED).map(|_| particles(&stage.substep())).collect();
    let (mut moved, mut changed) = (0.0_f32, 0.0_f32);
    for three in seen.windows(3) {
        for ((a, b), c) in three[0].iter().zip(&three[1]).zip(&three[2]) {
            moved = moved.max((c - b).length());
            changed = changed.max((c - b - (b - a)).length());
        }
    }
    (moved, changed)
}

/// What a rig does that was told to rest; `None` where it makes no claim.
fn restlessness(resting: &Resting) -> Option<String> {
    if resting.has_warnings() {
        return None;
    }
    let mut stage = Stage::with(&resting.rig, resting.profile, resting.properties, ());
    stage.host.step(0.0).unwrap();
    pass(&mut stage, CALMING);
    let (_, changed) = watch(&mut stage);
    if changed >= STILL {
        return Some(format!(
            "after {CALMING} s a particle's move still changes by {changed:e} m per substep"
        ));
    }
    pass(&mut stage, SETTLING - CALMING);
    let (moved, _) = watch(&mut stage);
    (moved >= STILL)
        .then(|| format!("after {SETTLING} s a particle still moves by {moved:e} m per substep"))
}

/// `[X5]` All but a few of a thousand random rigs: a line that is re-aimed through its push can go round for ever, and a
/// chain that is pushed to and fro between two colliders as well.
#[test]
fn coll_07_resting_contact_does_not_twitch() {
    let mut runner = TestRunner::new(config(RIGS, 13));
    let random = resting();
    let rigs: Vec<Resting> = (0..RIGS)
        .map(|_| random.new_tree(&mut runner).unwrap().current())
        .collect();
    let claims = rigs.iter().filter(|rig| !rig.has_warnings()).count();
    assert!(claims > RIGS as usize / 4, "{claims} rigs make the claim");
    let restless: Vec<String> = rigs.iter().filter_map(restlessness).collect();
    assert!(
        restless.len() <= MOST_RESTLESS,
        "{} of {claims} rigs: {restless:#?}",
        restless.len()
    );
}
