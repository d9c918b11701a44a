//! What one pass of `[X5]` and `[S8]` leaves of a penetration: a bound that is derived, and met.
//!
//! A joint at A whose particle x hangs at bone length L; a ball of radius r on the particle, a static ball of radius r' at
//! C, R = r + r', D = |C − A|. With the particle inside, s = R − |x − C| ≥ 0 deep, and n = (x − C)/|x − C|, the pass does
//!
//! ```text
//! T = C + n·R             the push        a = |T − A|     u = (T − A)/a
//! y = A + u·L             the length, so that y − T = u·(L − a)
//! ```
//!
//! What is left is h = R − |y − C|.
//!
//! ```text
//! (1)  h ≤ |y − T| = |a − L|                                     triangle with |T − C| = R
//! (2)  |y − C|² = |T − C|² + 2·(L − a)·u·(T − C) + (L − a)²      and 2·a·u·(T − C) = R² + a² − D²  (cosines in A, C, T)
//!               = R² + (L − a)·(L − P/a),   P = D² − R²
//!      so h = R − √(R² + (L − a)·(L − P/a)): nothing is left exactly where a lies between L and P/L
//! (3)  h ≤ R − |D − L|                                           whatever is at L from A is at least |D − L| from C
//! (4)  h ≤ s      in the plane of A, C, x the push multiplies the distance from the line AC by R/(R − s) and the way along
//!                 it, from C, too; seen from A the angle between particle and C grows, and with it |y − C|
//! (5)  h = s·cos²θ + O(s²),   cos θ = (L² + R² − D²)/(2·L·R)     θ between bone and normal; from a² = L² + s·(R + (L² − D²)/(R − s))
//! ```
//!
//! (5) says what (1) to (4) mean for people: a bone along the surface is pushed out whole in one pass, one that points
//! into the ball not at all. A target on the anchor (a ≤ 1e-5 m, `[X5]`) has no direction: the pass leaves the particle
//! on the anchor, at most a deep by (1), and resolve then turns the joint to rest `[V1]`, where (3) is all that holds.
//!
//! The bound is for one static ball and no limit. Another collider, a limit or a chain layer may push back in afterwards;
//! a ball moved between substeps is met anew in each, so in a chain of joints it holds for each joint in every substep,
//! with the joint's own A of that substep.

use bevy_math::{DVec3, Vec3};
use flounce::account::{Explanation, Term};
use flounce::crowd::particle;
use flounce::pose::JointTransform;
use flounce::profile::SwingProfile;
use flounce::rig::Rig;
use flounce::swing::{ActorProperties, SwingJoint, Tip};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use crate::config;
use crate::random::{direction, number, share, vector};
use crate::scene::{actor, particle_at};
use crate::support::chains::{Stage, ball, joint, static_ball, turn};

/// Metres: rounding of f32 in positions within 2 m of the origin and in the turn that resolve makes of them.
const TOLERANCE: f64 = 3e-6;
/// On the anchor, squared metres. `[X5]`
const ON_ANCHOR: f64 = 1e-5;

/// A ball, a chain of `count` bones of random lengths and directions with balls at their ends, and how it is driven.
#[derive(Clone, Debug)]
struct Pendulum {
    rig: Rig,
    radii: Vec<f32>,
    properties: ActorProperties,
    prewarm: u32,
    /// Per frame, where the static ball is moved to and how far the first joint turns, degrees.
    frames: Vec<(Vec3, f32)>,
}

/// Radius of the static ball, metres, and of the chain's.
const WIDEST: f32 = 0.4;

fn pendulum(count: core::ops::Range<usize>) -> impl Strategy<Value = Pendulum> + Clone {
    let swing = (
        (share(), 0.0_f32..2.0, 0.0_f32..2.0),
        share(),
        0.0_f32..0.15,
    )
        .prop_map(|((damping, stiffness, mass), spring, radius)| SwingJoint {
            damping,
            stiffness,
            mass,
            spring,
            collider: Some(ball(radius)),
            ..SwingJoint::new(0)
        });
    let bone = (direction(), 0.02_f32..0.4, swing);
    let static_radius = 0.01..WIDEST;
    let actor = (0.2_f32..1.4, vector(0.1), direction(), 0..3_u32);
    let frames = vec((vector(0.4), number()), 6..12);
    (vec(bone, count), static_radius, actor, frames).prop_map(
        |(bones, static_radius, (swing_power, global_force, gravity, prewarm), frames)| {
            // Joint 0 carries the static ball, joint 1 the chain.
            let mut joints = vec![joint(None, Vec3::ZERO), joint(None, Vec3::ZERO)];
            let mut swings = Vec::new();
            for (direction, length, swing) in bones {
                let index = joints.len() - 1;
                joints.push(joint(Some(index), direction * length));
                swings.push(SwingJoint {
                    joint: index,
                    tip: Tip::Joint(index + 1),
                    ..swing
                });
            }
            let radii = swings.iter().map(own_radius).collect();
            let mut rig = Rig::new(joints);
            rig.swing = swings;
            rig.colliders = vec![static_ball(0, Vec3::ZERO, static_radius)];
            Pendulum {
                rig,
                radii,
                properties: ActorProperties {
                    swing_power,
                    global_force,
                    gravity,
                    ..ActorProperties::default()
                },
                prewarm,
                frames: frames
                    .into_iter()
                    .map(|(at, turn)| (at, turn * 60.0))
                    .collect(),
            }
        },
    )
}

fn own_radius(swing: &SwingJoint) -> f32 {
    match swing.collider.map(|own| own.shape) {
        Some(flounce::collider::Shape::Sphere { radius, .. }) => radius,
        _ => 0.0,
    }
}

fn static_radius(rig: &Rig) -> f32 {
    match rig.colliders[0].collider.shape {
        flounce::collider::Shape::Sphere { radius, .. } => radius,
        _ => 0.0,
    }
}

/// One joint, its particle and the ball in a substep, metres.
struct Pass {
    /// A
    anchor: DVec3,
    /// L
    length: f64,
    /// C
    centre: DVec3,
    /// R
    reach: f64,
    /// y, as resolved.
    after: DVec3,
    /// T, if it was hit.
    target: Option<DVec3>,
    /// s, if that is known.
    before: Option<f64>,
}

impl Pass {
    /// The bounds of the module's text, and the exact (2).
    fn check(&self) -> TestCaseResult {
        let left = self.reach - self.after.distance(self.centre);
        let (distance, length) = (self.centre.distance(self.anchor), self.length);
        prop_assert!(
            left <= self.reach - (distance - length).abs() + TOLERANCE,
            "(3): {left:e} m left"
        );
        let Some(target) = self.target else {
            prop_assert!(left <= TOLERANCE, "no hit, and {left:e} m deep");
            return Ok(());
        };
        let a = target.distance(self.anchor);
        if a <= 2.0 * ON_ANCHOR {
            return Ok(());
        }
        // Rounding of the target turns the bone by its share of a.
        let tolerance = TOLERANCE * (1.0 + length / a);
        prop_assert!(
            left <= (a - length).abs() + tolerance,
            "(1): {left:e} m left, a = {a}"
        );
        let power = distance * distance - self.reach * self.reach;
        let squared = self.reach * self.reach + (length - a) * (length - power / a);
        let exact = self.reach - squared.max(0.0).sqrt();
        // Turning the bone by ε moves the particle by ε·L, towards C at most by that.
        prop_assert!(
            (left - exact).abs() <= tolerance,
            "(2): {left:e} m left, expected {exact:e} m; difference {:e}, tolerance {tolerance:e}",
            left - exact
        );
        if let Some(before) = self.before {
            prop_assert!(
                left <= before + tolerance,
                "(4): {before:e} m deep before, {left:e} m after"
            );
        }
        Ok(())
    }
}

impl Pendulum {
    fn stage(&self) -> Stage {
        let profile = SwingProfile {
            prewarm: self.prewarm,
            ..SwingProfile::default()
        };
        Stage::with(&self.rig, profile, self.properties, ())
    }

    fn pose(&self, frame: usize) -> Vec<JointTransform> {
        let (at, degrees) = self.frames[frame];
        let mut pose: Vec<_> = self.rig.joints.iter().map(|joint| joint.rest).collect();
        pose[0].translation = at;
        pose[1].rotation = turn(Vec3::new(0.6, 0.0, 0.8), degrees);
        pose
    }

    /// What happened to joint `i` in the substep that `stage` shows.
    fn pass(&self, stage: &Stage, frame: usize, i: usize) -> Pass {
        let result = stage.frame().swings[i].unwrap();
        let memory = actor(stage);
        let centre = self.frames[frame].0.as_dvec3();
        let reach = f64::from(self.radii[i] + static_radius(&self.rig));
        let normal = result.last_hit.filter(|_| result.hits > 0);
        let target = normal.map(|(normal, _)| centre + normal.as_dvec3() * reach);
        let plan = flounce::plan::Plan::compile(&self.rig);
        Pass {
            anchor: particle_at(&memory, i, particle::ORIGIN).as_dvec3(),
            length: f64::from(plan.swings[i].length),
            centre,
            reach,
            after: result.particle.as_dvec3(),
            target,
            before: None,
        }
    }
}

/// How deep the particle was when the push began: where the terms before the hit had taken it.
fn depth_before(explanation: &Explanation, pass: &Pass) -> Option<f64> {
    let account = explanation.substeps.last()?;
    let hit = account
        .terms
        .iter()
        .position(|(term, _)| matches!(term, Term::Hit(_)))?;
    let moved: DVec3 = account.terms[..hit]
        .iter()
        .map(|(_, moved)| moved.as_dvec3())
        .sum();
    let at = account.before.as_dvec3() + account.correction.as_dvec3() + moved;
    Some(pass.reach - at.distance(pass.centre))
}

proptest! {
    #![proptest_config(config(10_000, 9))]

    /// `[X5]` `[S8]` One joint, the first substep: the state after a pass is what the text above says.
    #[test]
    fn x5_one_pass_leaves_no_more_of_a_penetration_than_derived(pendulum in pendulum(1..2)) {
        let mut stage = pendulum.stage();
        stage.host.world.entity_mut(stage.actor).insert(Explanation::of(0));
        stage.pose().0 = pendulum.pose(0);
        stage.host.step(0.0).unwrap();
        let mut frames = 0..pendulum.frames.len().min(3);
        frames.try_for_each(|frame| {
            stage.pose().0 = pendulum.pose(frame);
            stage.substep();
            let mut pass = pendulum.pass(&stage, frame, 0);
            let explanation = stage.host.world.get::<Explanation>(stage.actor).unwrap();
            pass.before = depth_before(explanation, &pass);
            pass.check()
        })?;
    }
}

proptest! {
    #![proptest_config(config(2000, 10))]

    /// `[X5]` `[S8]` A chain whose ball jumps about: the same for every joint in every substep.
    #[test]
    fn x5_the_bound_holds_for_every_joint_of_a_chain_in_every_substep(pendulum in pendulum(2..6)) {
        let mut stage = pendulum.stage();
        stage.pose().0 = pendulum.pose(0);
        stage.host.step(0.0).unwrap();
        for frame in 0..pendulum.frames.len() {
            stage.pose().0 = pendulum.pose(frame);
            stage.substep();
            for i in 0..pendulum.rig.swing.len() {
                pendulum.pass(&stage, frame, i).check()?;
            }
        }
    }
}

/// `[X5]` (5) follows from (2): of a shallow penetration the share cos²θ is left.
#[test]
fn x5_a_shallow_penetration_leaves_the_share_of_its_angle() {
    let (length, reach, depth) = (0.3_f64, 0.2_f64, 1e-5_f64);
    for (sine, cosine) in [(0.6, 0.8), (0.8, 0.6), (1.0, 0.0), (0.0, 1.0)] {
        // The particle hangs below the joint; the ball lies such that the normal is at θ to the bone.
        let normal = DVec3::new(sine, -cosine, 0.0);
        let particle = DVec3::NEG_Y * length;
        let centre = particle - normal * (reach - depth);
        let a = (centre + normal * reach).length();
        let power = centre.length_squared() - reach * reach;
        let left = reach - (reach * reach + (length - a) * (length - power / a)).sqrt();
        let (found, expected) = (left / depth, cosine * cosine);
        assert!(
            (found - expected).abs() < 1e-3,
            "{found}, expected {expected}"
        );
    }
}
