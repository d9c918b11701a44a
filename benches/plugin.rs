//! What a game pays for the plugin: a frame of an `App` with so many characters, against the same frame of a bare World.
//!
//! `cargo bench --bench plugin --features bevy`; `-- --characters 100 --rounds 9` for others. Both sides have the rig of
//! workload S, the same poses and the same times; the App reads and writes `Transform`s, in Bevy's own `PostUpdate`
//! without its propagation. CPU time, medians of rounds in turn. Asked for: at most 1.25 times the World's frame plus
//! 5 ns for each bone that is written.
#![allow(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a bench prints what it measures, and stops where it cannot"
)]

#[path = "support/record.rs"]
mod record;
#[path = "support/workload.rs"]
#[expect(dead_code, reason = "the springs' bench uses all of it")]
mod workload;

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use bevy_app::{App, PostUpdate, TaskPoolOptions, TaskPoolPlugin};
use bevy_asset::{AssetPlugin, Assets};
use bevy_ecs::prelude::*;
use bevy_math::Quat;
use bevy_time::{Time, TimePlugin, TimeUpdateStrategy, Virtual};
use bevy_transform::components::Transform;
use cpu_time::ProcessTime;
use flounce::assets::rig_file::{self, RigFile};
use flounce::game::{FlouncePlugins, RigAsset, Swing};
use flounce::prelude::*;

use workload::{CHAINS, LINKS, joint_of};

/// Frames of a round.
const FRAMES: usize = 24;

/// Workload S as a rig file.
fn rules() -> RigFile {
    let mut text = "(version: 1, chains: [".to_owned();
    for chain in 0..CHAINS {
        write!(
            text,
            "(root: \"chain_{chain}_0\", parameters: (damping: 0.4, stiffness: 0.6, mass: 0.3, pendulum: 0.3, \
             pendulum_range: 0.5, limit_x_deg: (-20, 20), limit_y_deg: (-30, 30), limit_z_deg: (-40, 25), \
             tail: (axis: (0, -1, 0), length: 0.07), collider: (shape: sphere(radius: 0.02)))),"
        )
        .unwrap();
    }
    text.push_str("], colliders: [");
    for capsule in 0..8 {
        let (sin, cos) = bevy_math::ops::sin_cos(capsule as f32 / 8.0 * core::f32::consts::TAU);
        let (x, z) = (0.08 * cos, 0.08 * sin);
        write!(
            text,
            "(joint: \"hips\", shape: capsule(offset_a: ({x:?}, 0, {z:?}), offset_b: ({x:?}, -0.4, {z:?}), \
             radius_a: 0.06, radius_b: 0.05)),"
        )
        .unwrap();
    }
    text.push_str("])");
    rig_file::parse(Path::new("workload.ron"), &text).unwrap()
}

/// How character `character` turns its hips in frame `frame`.
fn hips(frame: usize, character: usize) -> Quat {
    Quat::from_array(
        workload::hips(frame + character * workload::PHASE)
            .rotation
            .to_array(),
    )
}

fn app(characters: usize) -> (App, Vec<Entity>) {
    let mut app = App::new();
    let task_pool_options = TaskPoolOptions::with_num_threads(1);
    app.add_plugins((
        TaskPoolPlugin { task_pool_options },
        TimePlugin,
        AssetPlugin::default(),
        FlouncePlugins::default(),
    ));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_nanos(
        15_625_000,
    )));
    let mut files = app.world_mut().resource_mut::<Assets<RigAsset>>();
    let rig = files.add(RigAsset(rules()));
    let whole = workload::rig(0);
    let mut all = Vec::with_capacity(characters);
    for _ in 0..characters {
        let root = app.world_mut().spawn(Swing::rig(rig.clone())).id();
        let mut joints: Vec<Entity> = Vec::new();
        for joint in &whole.joints {
            let parent = joint.parent.map_or(root, |parent| joints[parent]);
            let rest = Transform {
                translation: joint.rest.translation,
                rotation: joint.rest.rotation,
                scale: joint.rest.scale,
            };
            let parts = (Name::new(joint.name.clone()), rest, ChildOf(parent));
            joints.push(app.world_mut().spawn(parts).id());
        }
        all.push(joints[0]);
    }
    app.finish();
    app.cleanup();
    app.update();
    (app, all)
}

fn world(characters: usize) -> (Headless, Vec<Entity>) {
    let mut host = Headless::new();
    let mut rig = workload::rig(0);
    rules().apply(&mut rig).unwrap();
    let pose: Vec<JointTransform> = rig.joints.iter().map(|joint| joint.rest).collect();
    let rig = host.spawn_rig(&rig);
    let spawn = |_| host.spawn_actor(rig, AnimatedPose(pose.clone()));
    let actors = (0..characters).map(spawn).collect();
    (host, actors)
}

/// CPU time of a round's frames in the App, without what sets the hips, seconds.
fn app_round(app: &mut App, joints: &[Entity], frame: &mut usize) -> f64 {
    let mut spent = Duration::ZERO;
    for _ in 0..FRAMES {
        for (character, &joint) in joints.iter().enumerate() {
            app.world_mut()
                .get_mut::<Transform>(joint)
                .unwrap()
                .rotation = hips(*frame, character);
        }
        app.world_mut().run_schedule(bevy_app::First);
        let begin = ProcessTime::now();
        app.world_mut().run_schedule(PostUpdate);
        spent += begin.elapsed();
        app.world_mut().clear_trackers();
        *frame += 1;
    }
    spent.as_secs_f64()
}

/// CPU time of the same frames in the World, seconds.
fn world_round(host: &mut Headless, actors: &[Entity], frame: &mut usize, begin_at: f64) -> f64 {
    let mut spent = Duration::ZERO;
    for _ in 0..FRAMES {
        for (character, &actor) in actors.iter().enumerate() {
            host.world.get_mut::<AnimatedPose>(actor).unwrap().0[0].rotation =
                hips(*frame, character);
        }
        *frame += 1;
        let time = begin_at + *frame as f64 / 64.0;
        let begin = ProcessTime::now();
        host.run_to(time).unwrap();
        spent += begin.elapsed();
    }
    spent.as_secs_f64()
}

fn median(of: &mut [f64]) -> f64 {
    of.sort_unstable_by(f64::total_cmp);
    of[of.len() / 2]
}

fn record_both(machine: &str, characters: usize, app_ns: f64, world_ns: f64) {
    let row = |side: &str, median| record::Row {
        workload: format!("S-{characters}"),
        side: side.to_owned(),
        figure: "ns_per_bone_frame".to_owned(),
        median,
    };
    let rows = [row("app", app_ns), row("world", world_ns)];
    record::append("plugin", machine, &rows).unwrap();
}

fn argument(name: &str, default: usize) -> usize {
    let mut arguments = std::env::args().skip_while(|argument| argument != name);
    arguments
        .nth(1)
        .map_or(default, |value| value.parse().unwrap())
}

fn main() {
    let characters = argument("--characters", 1000);
    let rounds = argument("--rounds", 7);
    let ((mut app, joints), (mut host, actors)) = (app(characters), world(characters));
    let begin_at = app.world().resource::<Time<Virtual>>().elapsed_secs_f64();
    host.run_to(begin_at).unwrap();
    let (mut in_app, mut in_world) = (Vec::new(), Vec::new());
    let (mut app_frame, mut world_frame) = (0, 0);
    for round in 0..=rounds {
        let one = app_round(&mut app, &joints, &mut app_frame);
        let other = world_round(&mut host, &actors, &mut world_frame, begin_at);
        // The first warms up.
        if round > 0 {
            in_app.push(one);
            in_world.push(other);
        }
    }
    let bone = app.world().get::<Children>(joints[0]).unwrap()[0];
    let shown = app.world().get::<Transform>(bone).unwrap().rotation;
    let expected = host.world.get::<LocalPose>(actors[0]).unwrap().0[joint_of(0, 0)].rotation;
    assert_eq!(shown, expected, "both sides do the same work");
    let each = (FRAMES * characters * CHAINS * LINKS) as f64 / 1e9;
    let (app_ns, world_ns) = (median(&mut in_app) / each, median(&mut in_world) / each);
    let allowed = 1.25 * world_ns + 5.0;
    let mut arguments = std::env::args().skip_while(|argument| argument != "--record");
    if let Some(machine) = arguments.nth(1) {
        record_both(&machine, characters, app_ns, world_ns);
    }
    println!(
        "{characters} characters of {} swing joints, ns per written bone and frame",
        CHAINS * LINKS
    );
    println!("  App's PostUpdate    {app_ns:7.1}");
    println!("  World's frame       {world_ns:7.1}");
    println!(
        "  more by             {:7.1}  ({:.2} x)",
        app_ns - world_ns,
        app_ns / world_ns
    );
    println!(
        "  allowed, 1.25 x + 5 {allowed:7.1}  {}",
        if app_ns <= allowed {
            "held"
        } else {
            "not held"
        }
    );
}
