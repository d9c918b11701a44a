//! `bevy_animation`: its plugin in an App of its own, less an App in which nothing plays; and its curves alone.

use std::hint::black_box;
use std::time::Duration;

use bevy_animation::graph::{AnimationGraph, AnimationGraphHandle};
use bevy_animation::prelude::{AnimatableCurve, AnimatableKeyframeCurve};
use bevy_animation::{
    AnimatedBy, AnimationClip, AnimationPlayer, AnimationPlugin, AnimationTargetId, animated_field,
};
use bevy_app::{App, TaskPoolOptions, TaskPoolPlugin};
use bevy_asset::{AssetPlugin, Assets};
use bevy_curve::Curve;
use bevy_ecs::hierarchy::ChildOf;
use bevy_ecs::name::Name;
use bevy_ecs::prelude::{Entity, With};
use bevy_math::Quat;
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use bevy_transform::components::Transform;

use crate::clip_keys::{JOINTS, KEYS, play, rotation, time};
use crate::{WORK, frames, line, per_joint};

fn curve(joint: usize, size: f64) -> AnimatableKeyframeCurve<Quat> {
    let key = |key| (time(key), Quat::from_array(rotation(joint, key, size)));
    AnimatableKeyframeCurve::new((0..KEYS).map(key)).expect("a curve")
}

fn clip(targets: &[AnimationTargetId], size: f64) -> AnimationClip {
    let mut clip = AnimationClip::default();
    for (joint, target) in targets.iter().enumerate() {
        let curve = AnimatableCurve::new(animated_field!(Transform::rotation), curve(joint, size));
        clip.add_curve_to_target(*target, curve);
    }
    clip
}

/// An App with so many characters: nothing plays with 0 `layers`, a clip with 1, an additive clip over it with 2.
fn app(characters: usize, layers: usize) -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin {
            task_pool_options: TaskPoolOptions::with_num_threads(1),
        },
        TimePlugin,
        AssetPlugin::default(),
        AnimationPlugin,
    ));
    let step = Duration::from_nanos(16_666_667);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(step));
    let target = |joint| AnimationTargetId::from_name(&Name::new(format!("j{joint}")));
    let targets: Vec<AnimationTargetId> = (0..JOINTS).map(target).collect();
    let world = app.world_mut();
    let mut clips = world.resource_mut::<Assets<AnimationClip>>();
    let (base, over) = (
        clips.add(clip(&targets, 1.0)),
        clips.add(clip(&targets, 0.3)),
    );
    let mut graph = AnimationGraph::new();
    let nodes = if layers == 2 {
        let add = graph.add_additive_blend(1.0, graph.root);
        vec![
            graph.add_clip(base, 1.0, add),
            graph.add_clip(over, 0.5, add),
        ]
    } else {
        vec![graph.add_clip(base, 1.0, graph.root)]
    };
    let graph = world.resource_mut::<Assets<AnimationGraph>>().add(graph);
    for character in 0..characters {
        let mut player = AnimationPlayer::default();
        for node in nodes.iter().filter(|_| layers > 0) {
            player.play(*node).repeat().seek_to(play(0, character));
        }
        let root = (
            Transform::IDENTITY,
            player,
            AnimationGraphHandle(graph.clone()),
        );
        let root = world.spawn(root).id();
        let mut joints: Vec<Entity> = Vec::new();
        for joint in 0..JOINTS {
            let parent = match joint {
                0 => root,
                first if (first - 1) % 11 == 0 => joints[0],
                other => joints[other - 1],
            };
            let at = Transform::from_xyz(0.0, 0.1, 0.0);
            let joint = (at, targets[joint], AnimatedBy(root), ChildOf(parent));
            joints.push(world.spawn(joint).id());
        }
    }
    app.finish();
    app.cleanup();
    app
}

/// # Panics
/// If not every joint of every character turned.
fn check(app: &mut App, characters: usize) {
    let world = app.world_mut();
    let mut joints = world.query_filtered::<&Transform, With<AnimationTargetId>>();
    let moved = joints
        .iter(world)
        .filter(|joint| joint.rotation != Quat::IDENTITY);
    let moved = moved.count();
    assert!(
        moved + characters >= characters * JOINTS,
        "{moved} joints move"
    );
}

/// Prints the lines of bevy.
pub fn measure(characters: usize) {
    let curves: Vec<_> = (0..JOINTS).map(|joint| curve(joint, 1.0)).collect();
    let mut poses = vec![[Quat::IDENTITY; JOINTS]; characters];
    let alone = per_joint(characters, frames(characters) / 4 + 1, |frame| {
        for (character, pose) in poses.iter_mut().enumerate() {
            let time = play(frame, character);
            for (joint, curve) in pose.iter_mut().zip(&curves) {
                *joint = curve.sample_clamped(time);
            }
        }
        black_box(&mut poses);
    });
    line(characters, "sample", "bevy_animation curves alone", alone);

    let updates = (WORK / 4 / (characters * JOINTS)).clamp(20, 2000);
    let [empty, sample, layered] = [0, 1, 2].map(|layers| {
        let mut app = app(characters, layers);
        for _ in 0..20 {
            app.update();
        }
        if layers > 0 {
            check(&mut app, characters);
        }
        per_joint(characters, updates, |_| app.update())
    });
    line(characters, "sample", "bevy_animation", sample - empty);
    line(
        characters,
        "two samples and additive",
        "bevy_animation",
        layered - empty,
    );
}
