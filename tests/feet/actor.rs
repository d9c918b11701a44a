//! Held feet of actors in a World.

use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec3};
use flounce::driver::Driver;
use flounce::foot::{FootAnchor, FootAnchors, FootMeasure, FootReadout, FootRecord, FootState};
use flounce::leg::{LegChain, Refusal};
use flounce::pose::{AnimatedPose, JointTransform, LocalPose, ModelPose};
use flounce::rig::{Joint, Rig};
use flounce::swing::SwingJoint;
use flounce::systems::motion::{Reset, Teleport, WorldFromActor};
use flounce::systems::plugin::Headless;

const LEFT: [usize; 4] = [1, 2, 3, 4];
const RIGHT: [usize; 4] = [5, 6, 7, 8];
const SOLE: Vec3 = Vec3::new(0.0, -0.08, 0.05);

/// A body with two legs, each with a joint between upper and lower, and a strand of hair that swings; left and right
/// are mirrored by scale if asked for, and `units` are what a metre has of them.
fn person(mirrored: bool, units: f32) -> Rig {
    let joint = |source: usize, parent: Option<usize>, at: [f32; 3]| Joint {
        name: format!("j{source}"),
        source,
        parent,
        rest: JointTransform::rigid(Vec3::from_array(at) * units, Quat::IDENTITY),
    };
    let mut joints = vec![joint(0, None, [0.0, 0.95, 0.0])];
    for (first, side) in [(1, 0.09), (5, -0.09)] {
        joints.push(joint(first, Some(0), [side, -0.05, 0.0]));
        joints.push(joint(first + 1, Some(first), [0.0, -0.2, 0.01]));
        joints.push(joint(first + 2, Some(first + 1), [0.0, -0.22, 0.01]));
        joints.push(joint(first + 3, Some(first + 2), [0.0, -0.4, -0.02]));
    }
    joints.push(joint(9, Some(0), [0.0, 0.1, -0.1]));
    joints.push(joint(10, Some(9), [0.0, -0.2, 0.0]));
    if mirrored {
        joints[1].rest.scale = Vec3::new(-1.0, 1.0, 1.0);
    }
    let mut rig = Rig::new(joints);
    rig.metres_per_unit = 1.0 / units;
    rig.root_correction = Some(0);
    rig.swing = vec![SwingJoint::new(9)];
    for (name, leg) in [("left", LEFT), ("right", RIGHT)] {
        rig.drivers.push(Driver::Leg(LegChain {
            name: name.to_owned(),
            upper: leg[0],
            lower: leg[2],
            foot: leg[3],
            sole: SOLE * units,
            pole: None,
        }));
    }
    rig
}

/// A pose that moves the body and bends the legs, a little more with each frame.
fn posed(rig: &Rig, frame: u32) -> Vec<JointTransform> {
    let mut pose: Vec<JointTransform> = rig.joints.iter().map(|joint| joint.rest).collect();
    let t = frame as f32 * 0.01;
    pose[0].translation.y *= 1.0 - 0.3 * t;
    pose[0].translation.x += 0.02 * t / rig.metres_per_unit;
    pose[0].rotation = Quat::from_xyzw(0.1 * t, 0.15 * t, 0.05, 1.0).normalize();
    for leg in [LEFT, RIGHT] {
        pose[leg[0]].rotation = Quat::from_xyzw(-0.15 - t * 0.2, 0.02, 0.0, 1.0).normalize();
        pose[leg[2]].rotation = Quat::from_xyzw(0.3 + t * 0.3, 0.0, 0.0, 1.0).normalize();
        pose[leg[3]].rotation = Quat::from_xyzw(-0.1, 0.03, 0.05 * t, 1.0).normalize();
    }
    pose
}

struct Stage {
    host: Headless,
    actor: Entity,
    rig: Rig,
    frame: u32,
}

impl Stage {
    fn new(rig: Rig) -> Self {
        let mut host = Headless::new();
        let entity = host.spawn_rig(&rig);
        let parts = (FootRecord::default(), ModelPose::default());
        let actor = host.spawn_actor(entity, parts);
        Self {
            host,
            actor,
            rig,
            frame: 0,
        }
    }

    fn anchors(&mut self, anchors: [Option<FootAnchor>; 2]) {
        let anchors = FootAnchors(anchors.to_vec());
        self.host.world.entity_mut(self.actor).insert(anchors);
    }

    /// Runs a frame with the pose of frame `pose`.
    fn step(&mut self, pose: u32) {
        let pose = AnimatedPose(posed(&self.rig, pose));
        self.host.world.entity_mut(self.actor).insert(pose);
        self.host.run_to(f64::from(self.frame) / 60.0).unwrap();
        self.frame += 1;
    }

    fn stand(&mut self, x: f32, yaw: f32) {
        let placed = WorldFromActor {
            translation: Vec3::new(x, 0.0, 0.3 * x),
            rotation: Quat::from_xyzw(0.0, yaw, 0.0, 1.0).normalize(),
        };
        self.host.world.entity_mut(self.actor).insert(placed);
    }

    fn feet(&self) -> &FootReadout {
        self.host.world.get(self.actor).unwrap()
    }

    fn record(&self) -> &FootRecord {
        self.host.world.get(self.actor).unwrap()
    }

    fn local(&self) -> Vec<JointTransform> {
        self.host
            .world
            .get::<LocalPose>(self.actor)
            .unwrap()
            .0
            .clone()
    }

    fn model(&self) -> Vec<(Vec3, Quat)> {
        let model = self.host.world.get::<ModelPose>(self.actor).unwrap();
        let rigid = model.0.iter().map(|m| (m.rigid.t.into(), m.rigid.r.into()));
        rigid.collect()
    }
}

fn bits(pose: &[JointTransform]) -> Vec<u32> {
    let numbers = pose.iter().flat_map(|joint| {
        let (t, r) = (joint.translation.to_array(), joint.rotation.to_array());
        t.into_iter().chain(r)
    });
    numbers.map(f32::to_bits).collect()
}

#[test]
fn q4_a_sole_meets_its_anchor_and_bones_and_foot_stay_as_they_are() {
    for (mirrored, units) in [(false, 1.0), (true, 1.0), (true, 100.0)] {
        let mut free = Stage::new(person(mirrored, units));
        let mut held = Stage::new(person(mirrored, units));
        for stage in [&mut free, &mut held] {
            stage.stand(0.4, 0.6);
            stage.step(0);
            stage.step(0);
        }
        let soles: Vec<Vec3> = free.feet().legs.iter().map(|foot| foot.sole).collect();
        for shift in [[0.05, 0.06, 0.02], [-0.1, 0.1, 0.15], [0.0, 0.2, -0.1]] {
            let to = soles[0] + Vec3::from_array(shift);
            held.anchors([Some(FootAnchor::at(to)), None]);
            held.step(0);
            let foot = held.feet().legs[0];
            assert_eq!(foot.state, FootState::Reached, "{shift:?}");
            assert!(foot.residual < 1e-5, "off by {} m", foot.residual);
            assert!((foot.sole - to).length() < 1e-5, "{} for {to}", foot.sole);
            let (now, before) = (held.model(), free.model());
            for pair in LEFT.windows(2) {
                let length = |m: &[(Vec3, Quat)]| m[pair[0]].0.distance(m[pair[1]].0);
                assert!((length(&now) - length(&before)).abs() < 1e-5);
            }
            let turned = now[LEFT[3]].1.dot(before[LEFT[3]].1).abs();
            assert!(turned > 1.0 - 1e-6, "the foot turned: {turned}");
            // The free leg and what is between the held leg's joints keep their bits.
            let (now, before) = (held.local(), free.local());
            assert_eq!(bits(&now[5..9]), bits(&before[5..9]));
            assert_eq!(bits(&now[2..3]), bits(&before[2..3]));
        }
    }
}

#[test]
fn q4_out_of_reach_says_so_and_stretches_nothing() {
    let mut stage = Stage::new(person(false, 1.0));
    stage.step(0);
    let to = stage.feet().legs[1].sole + Vec3::new(-2.0, 0.0, 0.0);
    stage.anchors([None, Some(FootAnchor::at(to))]);
    stage.step(0);
    let foot = stage.feet().legs[1];
    let model = stage.model();
    let [hip, _, knee, ankle] = RIGHT.map(|joint| model[joint].0);
    let reach = hip.distance(knee) + knee.distance(ankle);
    let missing = (to - (foot.sole - ankle)).distance(hip) - reach;
    assert_eq!(foot.state, FootState::TooFar);
    assert!(
        (foot.residual - missing).abs() < 1e-4,
        "{} for {missing}",
        foot.residual
    );
    let failure = stage.record().failure.unwrap();
    assert_eq!((failure.leg, failure.joint), (1, RIGHT[3]));
    assert_eq!(failure.measure, FootMeasure::Residual);
    assert!((failure.time - 1.0 / 60.0).abs() < 1e-9);
    assert!((failure.body.translation - model[0].0).length() < 1e-6);
}

#[test]
fn b6_an_anchor_that_is_not_finite_leaves_its_leg_as_animated() {
    for wrong in [f32::NAN, f32::INFINITY] {
        let mut free = Stage::new(person(false, 1.0));
        let mut held = Stage::new(person(false, 1.0));
        held.anchors([Some(FootAnchor::at(Vec3::new(0.0, wrong, 0.0))), None]);
        for frame in 0..5 {
            free.step(frame);
            held.step(frame);
            assert_eq!(bits(&held.local()), bits(&free.local()));
        }
        let state = held.feet().legs[0].state;
        assert_eq!(state, FootState::Refused(Refusal::NotFinite));
        assert!(held.record().failure.is_some(), "it may not pass for held");
    }
    let mut weightless = Stage::new(person(false, 1.0));
    let anchor = FootAnchor {
        weight: f32::NAN,
        ..FootAnchor::here(0)
    };
    weightless.anchors([Some(anchor), None]);
    weightless.step(0);
    assert!(weightless.record().failure.is_some());
}

#[test]
fn q4_without_anchors_no_bit_changes() {
    let mut bare = person(false, 1.0);
    bare.drivers.clear();
    let mut bare = Stage::new(bare);
    let mut free = Stage::new(person(false, 1.0));
    let mut empty = Stage::new(person(false, 1.0));
    empty.anchors([None, None]);
    let mut weightless = Stage::new(person(false, 1.0));
    let anchor = FootAnchor {
        weight: 0.0,
        ..FootAnchor::at(Vec3::ZERO)
    };
    weightless.anchors([Some(anchor), Some(anchor)]);
    for frame in 0..60 {
        let poses = [&mut bare, &mut free, &mut empty, &mut weightless].map(|stage| {
            stage.stand(frame as f32 * 0.01, 0.0);
            stage.step(frame);
            bits(&stage.local())
        });
        assert!(poses.iter().all(|pose| *pose == poses[0]), "frame {frame}");
    }
    assert_eq!(free.record().looks, 0);
}

#[test]
fn q4_a_caught_sole_stays_while_the_body_moves() {
    let mut stage = Stage::new(person(true, 1.0));
    stage.anchors([Some(FootAnchor::here(0)), Some(FootAnchor::here(0))]);
    for frame in 0..60 {
        stage.stand(frame as f32 * 0.002, frame as f32 * 0.002);
        stage.step(frame);
    }
    let record = stage.record();
    assert_eq!(record.failure, None);
    assert!(record.worst_residual < 1e-5, "{} m", record.worst_residual);
    assert!(record.worst_turn > 0.0 && record.looks == 120);
    let foot = stage.feet().legs[0];
    assert!((foot.sole - foot.anchor).length() < 1e-5);
    // A pop is the first failure, with its joint.
    stage.anchors([Some(FootAnchor::at(foot.sole + Vec3::Y * 0.15)), None]);
    stage.step(59);
    let failure = stage.record().failure.unwrap();
    assert_eq!((failure.leg, failure.measure), (0, FootMeasure::Turn));
    assert!(failure.value > failure.limit);
}

#[test]
fn q4_a_reset_or_a_teleport_catches_anew() {
    for teleport in [false, true] {
        let mut stage = Stage::new(person(false, 1.0));
        stage.anchors([Some(FootAnchor::here(0)), None]);
        stage.step(0);
        stage.stand(0.5, 0.0);
        let entity = stage.actor;
        if teleport {
            stage.host.world.trigger(Teleport { entity });
        } else {
            stage.host.world.trigger(Reset { entity });
        }
        stage.step(0);
        let foot = stage.feet().legs[0];
        assert_eq!(foot.state, FootState::Reached);
        assert_eq!(foot.turned, [0.0; 3], "that was no motion");
        assert_eq!(stage.record().failure, None);
    }
}

#[test]
fn q4_a_growing_weight_leads_to_the_anchor_without_a_jump() {
    let mut stage = Stage::new(person(false, 1.0));
    stage.step(0);
    let to = stage.feet().legs[0].sole + Vec3::new(0.05, 0.1, 0.1);
    let mut before = f32::INFINITY;
    for step in 0..=100 {
        let anchor = FootAnchor {
            weight: step as f32 / 100.0,
            ..FootAnchor::at(to)
        };
        stage.anchors([Some(anchor), None]);
        stage.step(0);
        let foot = stage.feet().legs[0];
        let off = foot.sole.distance(to);
        assert!(off < before, "{off} m at step {step} after {before}");
        let largest = foot.turned.into_iter().fold(0.0, f32::max);
        assert!(largest < 0.02, "{largest} rad at step {step}");
        before = off;
    }
    assert!(before < 1e-5, "{before} m");
}
