//! Claim: editing, swapping and breaking things while a World runs changes what it should and crashes nothing.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use bevy_math::{Quat, Vec3};
use flounce::prelude::*;
use flounce::profile::SubstepPolicy;
use flounce::substep::ActorClock;
use flounce::swing::ReferenceLimit;
use flounce::systems::preparation::CompiledRig;

fn chain(joints: usize) -> Rig {
    let joint = |source: usize| Joint {
        name: format!("joint {source}"),
        source,
        parent: source.checked_sub(1),
        rest: JointTransform::rigid(Vec3::new(0.1, 0.0, 0.0), Quat::IDENTITY),
    };
    let mut rig = Rig::new((0..joints).map(joint).collect());
    rig.swing = (0..joints - 1).map(SwingJoint::new).collect();
    rig
}

struct Stage {
    host: Headless,
    rig: bevy_ecs::entity::Entity,
    actor: bevy_ecs::entity::Entity,
}

fn swinging(rig: &Rig) -> Stage {
    let mut host = Headless::new();
    let rig = host.spawn_rig(rig);
    let actor = host.spawn_actor(rig, SwingReadout::default());
    let mut stage = Stage { host, rig, actor };
    stage.run(10);
    stage
}

impl Stage {
    fn run(&mut self, frames: u32) {
        for _ in 0..frames {
            self.host.step(1.0 / 60.0).unwrap();
        }
    }
    fn rotation(&self, joint: usize) -> Quat {
        self.host.world.get::<LocalPose>(self.actor).unwrap().0[joint].rotation
    }
    fn parts(&self) -> RigParts {
        self.host.world.get::<RigParts>(self.rig).unwrap().clone()
    }
}

#[test]
fn an_edit_that_points_nowhere_keeps_the_last_plan() {
    type Edit = fn(&mut Stage);
    let edits: [Edit; 5] = [
        |s| {
            let entity = s.parts().swing[0];
            s.host.world.get_mut::<SwingJoint>(entity).unwrap().tip = Tip::Joint(50);
        },
        |s| {
            let entity = s.parts().swing[0];
            let reference = ReferenceLimit {
                joint: 50,
                weight: 1.0,
            };
            s.host
                .world
                .get_mut::<SwingJoint>(entity)
                .unwrap()
                .reference_limit = Some(reference);
        },
        |s| {
            let mut parts = s.host.world.get_mut::<RigParts>(s.rig).unwrap();
            parts.root_correction = Some(77);
        },
        |s| {
            let entity = s.parts().joints[1];
            s.host.world.get_mut::<Joint>(entity).unwrap().parent = Some(3);
        },
        |s| {
            let shape = Shape::Sphere {
                offset: Vec3::ZERO,
                radius: 0.1,
            };
            let collider = Collider {
                shape,
                mask: Mask::ALL,
            };
            let stray = StaticCollider {
                joint: Some(40),
                collider,
            };
            let stray = s.host.world.spawn(stray).id();
            s.host
                .world
                .get_mut::<RigParts>(s.rig)
                .unwrap()
                .colliders
                .push(stray);
        },
    ];
    for (index, edit) in edits.iter().enumerate() {
        let (mut edited, mut twin) = (swinging(&chain(5)), swinging(&chain(5)));
        edit(&mut edited);
        edited.run(5);
        twin.run(5);
        assert_eq!(edited.rotation(1), twin.rotation(1), "edit {index}");
    }
}

#[test]
fn a_stale_index_in_a_swing_joint_does_not_matter() {
    let mut stage = swinging(&chain(5));
    let entity = stage.parts().swing[0];
    stage
        .host
        .world
        .get_mut::<SwingJoint>(entity)
        .unwrap()
        .joint = 99;
    stage.run(1);
    let plan = stage.host.world.get::<CompiledRig>(stage.rig).unwrap();
    assert_eq!(plan.0.swings.len(), 4);
}

#[test]
fn a_joint_that_is_told_to_swing_later_does() {
    let mut rig = chain(5);
    rig.swing.clear();
    let mut stage = swinging(&rig);
    assert_eq!(stage.rotation(2), Quat::IDENTITY);
    let entity = stage.parts().joints[2];
    stage
        .host
        .world
        .entity_mut(entity)
        .insert(SwingJoint::new(2));
    stage.run(30);
    assert_ne!(stage.rotation(2), Quat::IDENTITY);
}

#[test]
fn a_rig_without_joints_runs() {
    let mut host = Headless::new();
    let rig = host.spawn_rig(&Rig::new(Vec::new()));
    let actor = host.spawn_actor(rig, SwingReadout::default());
    host.step(0.0).unwrap();
    host.step(0.1).unwrap();
    assert!(host.world.get::<LocalPose>(actor).unwrap().0.is_empty());
}

#[test]
fn a_clip_of_another_rig_moves_the_joints_that_are_there() {
    use flounce::clip::{Interpolation, Track, TrackValues};
    let track = |joint: usize| Track {
        joint,
        source: joint,
        interpolation: Interpolation::Step,
        times: [0.0].into(),
        values: TrackValues::Translation(vec![[0.0, 7.0, 0.0]]),
    };
    let clip = Clip {
        name: String::new(),
        source: 0,
        tracks: vec![track(0), track(50)],
        duration: 0.0,
    };
    let mut host = Headless::new();
    let rig = host.spawn_rig(&chain(3));
    let actor = host.spawn_actor(rig, ClipPlayer::new(clip.into(), Repeat::Once));
    host.step(0.1).unwrap();
    assert_eq!(
        host.world.get::<LocalPose>(actor).unwrap().0[0]
            .translation
            .y,
        7.0
    );
}

#[test]
fn an_actor_that_changes_its_rig_has_the_new_joints() {
    let mut stage = swinging(&chain(4));
    let other = stage.host.spawn_rig(&chain(6));
    stage.host.world.get_mut::<Actor>(stage.actor).unwrap().rig = other;
    stage.run(1);
    assert_eq!(
        stage
            .host
            .world
            .get::<LocalPose>(stage.actor)
            .unwrap()
            .0
            .len(),
        6
    );
}

#[test]
fn an_edit_while_the_clock_stands_still_shows_the_same_pose() {
    let mut stage = swinging(&chain(5));
    let before = stage.rotation(2);
    assert_ne!(before, Quat::IDENTITY);
    let entity = stage.parts().swing[2];
    stage
        .host
        .world
        .get_mut::<SwingJoint>(entity)
        .unwrap()
        .stiffness = 0.9;
    stage.host.step(0.0).unwrap();
    assert_eq!(stage.rotation(2), before);
}

#[test]
fn a_change_of_the_substep_policy_starts_anew_and_goes_on() {
    let mut stage = swinging(&chain(5));
    stage
        .host
        .world
        .get_mut::<SwingProfile>(stage.actor)
        .unwrap()
        .substeps = SubstepPolicy::Frame;
    stage.run(143);
    stage
        .host
        .world
        .get_mut::<SwingProfile>(stage.actor)
        .unwrap()
        .substeps = SubstepPolicy::Fixed;
    stage.run(10);
    let clock = stage.host.world.get::<ActorClock>(stage.actor).unwrap();
    assert_eq!(clock.substeps, 9, "the first frame after the change resets");
    assert!(stage.rotation(2).is_finite());
}

#[test]
fn a_clock_that_is_not_finite_is_refused_and_poisons_nothing() {
    let mut stage = swinging(&chain(5));
    let before = stage.rotation(2);
    let now = stage.host.world.resource::<FrameClock>().now;
    stage.host.world.resource_mut::<FrameClock>().now = f64::NAN;
    assert!(stage.host.step(1.0 / 60.0).is_err());
    assert_eq!(stage.rotation(2), before);
    stage.host.world.resource_mut::<FrameClock>().now = now;
    stage.run(1);
    assert!(stage.rotation(2).is_finite());
}

#[test]
fn b2_rotations_that_are_nearly_unit_do_not_stretch_a_chain() {
    let mut rig = chain(11);
    for joint in &mut rig.joints {
        joint.rest.rotation = Quat::from_xyzw(0.0, 0.0, 0.0, 1.000_45);
    }
    let mut stage = swinging(&rig);
    stage
        .host
        .world
        .entity_mut(stage.actor)
        .insert(ModelPose::default());
    stage.run(1);
    let model = stage.host.world.get::<ModelPose>(stage.actor).unwrap();
    for pair in model.0.windows(2) {
        let bone = Vec3::from(pair[1].rigid.t - pair[0].rigid.t).length();
        assert!((bone / 0.1 - 1.0).abs() < 1e-5, "{bone} m, expected 0.1 m");
    }
}
