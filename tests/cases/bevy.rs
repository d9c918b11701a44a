//! The plugin in an `App`.

use bevy_app::{App, PostUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use flounce::pose::{AnimatedPose, ModelPose};
use flounce::rig::{Rig, RigParts};
use flounce::substep::{ActorClock, FIXED_STEP, FrameClock};
use flounce::swing::{SwingJoint, SwingReadout};
use flounce::systems::plugin::{FlouncePlugin, FlounceSystems, advance_clock};
use flounce::systems::preparation::Actor;

use crate::support::chains::{
    BONE, Frame, Stage, assert_close, assert_near, chain, joint, rest_pose, rod3, soft, turn,
};

/// An app with one actor of `rig`.
fn app(rig: &Rig) -> (App, Entity) {
    let mut app = App::new();
    app.add_plugins(FlouncePlugin::default());
    let entity = RigParts::spawn(rig, app.world_mut());
    let outputs = (ModelPose::default(), SwingReadout::default());
    let pose = AnimatedPose(rest_pose(rig));
    let actor = Actor { rig: entity };
    let actor = app.world_mut().spawn((actor, outputs, pose)).id();
    (app, actor)
}

/// The head turns by 90° in frame 10; what comes after the plugin in the same update sees the hair where the head is.
#[test]
fn bevy_01_hair_is_where_the_head_is_in_the_same_update() {
    #[derive(Resource, Default)]
    struct Seen(Vec<(Vec3, Vec3)>);
    let mut rig = rod3();
    rig.joints[1].rest.translation = Vec3::Z * 0.1;
    let (mut app, actor) = app(&rig);
    app.init_resource::<Seen>();
    app.add_systems(
        Update,
        move |mut clock: ResMut<FrameClock>,
              mut poses: Query<&mut AnimatedPose>,
              mut frame: Local<u32>| {
            advance_clock(&mut clock, FIXED_STEP).unwrap();
            let yaw = if *frame < 10 { 0.0 } else { 90.0 };
            poses.get_mut(actor).unwrap().0[0].rotation = turn(Vec3::Y, yaw);
            *frame += 1;
        },
    );
    app.add_systems(
        PostUpdate,
        (move |poses: Query<(&ModelPose, &SwingReadout)>, mut seen: ResMut<Seen>| {
            let (pose, readout) = poses.get(actor).unwrap();
            seen.0
                .push((pose.0[1].rigid.t.into(), readout.0[0].unwrap().particle));
        })
        .in_set(FlounceSystems::Last),
    );
    for frame in 0..12 {
        app.update();
        let yaw = turn(Vec3::Y, if frame < 10 { 0.0 } else { 90.0 });
        let root = Vec3::Y + yaw * (Vec3::Z * 0.1);
        let (found, tip) = app.world().resource::<Seen>().0[frame];
        assert_near(found, root, 1e-6, &format!("hair root in frame {frame}"));
        assert_close(
            f64::from(tip.distance(root)),
            f64::from(BONE),
            1e-6,
            "its bone starts there",
        );
    }
}

/// The simulation has no cap on joints: chains at index 280 to 299 of 300 swing as they would alone. What a renderer can
/// show is its own affair.
#[test]
fn bevy_03_joints_beyond_256_swing_like_others() {
    let mut rig = Rig::new(vec![joint(None, Vec3::Y)]);
    rig.joints
        .extend((1..280).map(|_| joint(Some(0), Vec3::Z * 0.01)));
    rig.joints.push(joint(Some(0), Vec3::ZERO));
    rig.joints
        .extend((280..299).map(|above| joint(Some(above), Vec3::X * 0.05)));
    rig.swing = (280..299)
        .map(|joint| SwingJoint { joint, ..soft() })
        .collect();
    let (mut app, actor) = app(&rig);
    let mut alone = Stage::new(&chain(19, Vec3::X * 0.05, soft()));
    for frame in 0..120 {
        let world = app.world_mut();
        advance_clock(&mut world.resource_mut::<FrameClock>(), FIXED_STEP).unwrap();
        app.update();
        let (found, expected) = (Frame::of(app.world(), actor), alone.substep());
        for i in 0..19 {
            let (a, b) = (
                found.local[280 + i].rotation,
                expected.local[1 + i].rotation,
            );
            assert_eq!(a.to_array(), b.to_array(), "frame {frame}, joint {i}");
        }
    }
}

/// The plugin reads no clock: an app hands it its own time, paused, slowed, in fixed steps or by hand. Substeps are
/// those of the time it was given.
#[test]
fn bevy_04_substeps_are_those_of_the_time_the_app_gives() {
    let ran = |updates: u32, seconds: &dyn Fn(u32) -> f64| {
        let (mut app, actor) = app(&rod3());
        let mut elapsed = 0.0;
        app.update();
        for update in 0..updates {
            let step = seconds(update);
            elapsed += step;
            let world = app.world_mut();
            advance_clock(&mut world.resource_mut::<FrameClock>(), step).unwrap();
            app.update();
        }
        let substeps = app.world().get::<ActorClock>(actor).unwrap().substeps;
        (substeps as f64, elapsed)
    };
    let frame = 1.0 / 60.0;
    let cases: [(&str, u32, &dyn Fn(u32) -> f64); 6] = [
        ("paused", 300, &|_| 0.0),
        ("a tenth of the speed", 600, &|_| frame * 0.1),
        ("four times the speed", 600, &|_| frame * 4.0),
        ("fixed 30 Hz", 300, &|_| 1.0 / 30.0),
        ("now and then paused", 600, &|i| {
            if i % 100 < 50 { frame } else { 0.0 }
        }),
        ("frames of any length", 600, &|i| {
            0.001 + 0.0001 * f64::from(i % 97)
        }),
    ];
    for (what, updates, seconds) in cases {
        let (substeps, elapsed) = ran(updates, seconds);
        assert_close(substeps, (elapsed * 60.0).floor(), 1.0, what);
    }
    // By hand: updates without a step run nothing.
    let (substeps, _) = ran(200, &|update| if update == 100 { frame } else { 0.0 });
    assert_close(substeps, 1.0, 0.0, "one step among many updates");
    let (substeps, _) = ran(2, &|update| [10.0, frame][update as usize]);
    assert_close(substeps, 9.0, 0.0, "max_substeps, then one");
}
