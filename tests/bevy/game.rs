//! A small game without a window: Bevy's time, assets, transforms and animation, and characters made in code.

use std::path::Path;
use std::time::Duration;

use bevy_animation::graph::{AnimationGraph, AnimationGraphHandle};
use bevy_animation::prelude::{AnimatableCurve, AnimatableKeyframeCurve};
use bevy_animation::{
    AnimatedBy, AnimationClip, AnimationPlayer, AnimationPlugin, AnimationTargetId, animated_field,
};
use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::{AssetPlugin, Assets, Handle};
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use bevy_transform::TransformPlugin;
use bevy_transform::components::Transform;
use flounce::assets::rig_file;
use flounce::game::{FlouncePlugins, RigAsset, Swing, SwingBones, SwingStatus};

/// Frames of 1/64 s: a number of nanoseconds and a binary fraction, so that times are the same numbers on every host.
pub const FRAME: Duration = Duration::from_nanos(15_625_000);

/// Hair that hangs softly on a head with a collider.
pub const HAIR: &str = r#"(
    version: 1,
    chains: [(root: "hair_1", parameters: (stiffness: 0.2, damping: 0.1, mass: 0.3, collider: (shape: sphere(radius: 0.02))))],
    colliders: [(joint: "head", shape: sphere(offset: (0, 0, -0.1), radius: 0.08))],
)"#;

/// The joints of the character: name, index of the parent, place against it.
pub const JOINTS: [(&str, Option<usize>, Vec3); 8] = [
    ("hips", None, Vec3::new(0.0, 1.0, 0.0)),
    ("spine", Some(0), Vec3::new(0.0, 0.3, 0.0)),
    ("head", Some(1), Vec3::new(0.0, 0.3, 0.0)),
    ("hair_1", Some(2), Vec3::new(0.0, 0.1, -0.1)),
    ("hair_2", Some(3), Vec3::new(0.0, 0.0, -0.15)),
    ("hair_3", Some(4), Vec3::new(0.0, 0.0, -0.15)),
    ("hair_4", Some(5), Vec3::new(0.0, 0.0, -0.15)),
    ("hand", Some(1), Vec3::new(0.5, 0.0, 0.0)),
];

/// Seconds that the head's animation takes.
pub const CLIP_SECONDS: f32 = 2.0;

/// An App with everything but a renderer.
pub fn app() -> App {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        AssetPlugin::default(),
        TransformPlugin,
        AnimationPlugin,
        FlouncePlugins::default(),
    ));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME));
    app.finish();
    app.cleanup();
    app
}

/// A rig file as an asset.
pub fn rig(app: &mut App, text: &str) -> Handle<RigAsset> {
    let file = rig_file::parse(Path::new("hair.ron"), text).unwrap();
    let mut files = app.world_mut().resource_mut::<Assets<RigAsset>>();
    files.add(RigAsset(file))
}

/// A character: its root and its joints, in the order of [`JOINTS`].
#[derive(Clone, Debug)]
pub struct Character {
    pub root: Entity,
    pub joints: Vec<Entity>,
}

/// The path of a joint from the animation's root, which is the character's.
pub fn path(joint: usize) -> Vec<&'static str> {
    let up = core::iter::successors(Some(joint), |&i| JOINTS[i].1);
    let mut names: Vec<&str> = up.map(|i| JOINTS[i].0).collect();
    names.reverse();
    names
}

/// Spawns joint `joint` below `parent`.
pub fn spawn_joint(app: &mut App, root: Entity, parent: Entity, joint: usize) -> Entity {
    let (name, _, at) = JOINTS[joint];
    let target: AnimationTargetId = path(joint).iter().collect();
    let parts = (
        Name::new(name),
        Transform::from_translation(at),
        target,
        AnimatedBy(root),
        ChildOf(parent),
    );
    app.world_mut().spawn(parts).id()
}

/// Spawns the joints of a character below `root`.
pub fn spawn_joints(app: &mut App, root: Entity) -> Vec<Entity> {
    let mut joints: Vec<Entity> = Vec::new();
    for (joint, &(_, parent, _)) in JOINTS.iter().enumerate() {
        let parent = parent.map_or(root, |parent| joints[parent]);
        joints.push(spawn_joint(app, root, parent, joint));
    }
    joints
}

/// A character with `swing` and all its joints, that stands still.
pub fn spawn(app: &mut App, swing: Swing) -> Character {
    let root = app.world_mut().spawn(swing).id();
    let joints = spawn_joints(app, root);
    Character { root, joints }
}

/// A clip in which spine and head turn to and fro.
fn nod() -> AnimationClip {
    let mut clip = AnimationClip::default();
    for (joint, axis) in [(1, Vec3::Y), (2, Vec3::X)] {
        let key = |key: u8| {
            let angle = [0.0, 0.9, -0.7, 0.5, 0.0][usize::from(key)];
            let time = f32::from(key) * CLIP_SECONDS / 4.0;
            (time, Quat::from_axis_angle(axis, angle))
        };
        let keys = AnimatableKeyframeCurve::new((0..5).map(key)).unwrap();
        let curve = AnimatableCurve::new(animated_field!(Transform::rotation), keys);
        clip.add_curve_to_target(path(joint).iter().collect::<AnimationTargetId>(), curve);
    }
    clip
}

/// Lets Bevy's animation move the spine and the head of `character`, for ever.
pub fn animate(app: &mut App, character: &Character) {
    let world = app.world_mut();
    let clip = world.resource_mut::<Assets<AnimationClip>>().add(nod());
    let (graph, node) = AnimationGraph::from_clip(clip);
    let graph = world.resource_mut::<Assets<AnimationGraph>>().add(graph);
    let mut player = AnimationPlayer::default();
    player.play(node).repeat();
    world
        .entity_mut(character.root)
        .insert((player, AnimationGraphHandle(graph)));
}

/// The local transforms of the joints.
pub fn shown(app: &App, character: &Character) -> Vec<Transform> {
    let joints = character.joints.iter();
    joints
        .map(|&joint| *app.world().get::<Transform>(joint).unwrap())
        .collect()
}

/// How far the hair's first joint is turned from rest, radians.
pub fn swung(app: &App, character: &Character) -> f32 {
    let turned = shown(app, character)[3].rotation;
    turned.angle_between(Quat::IDENTITY)
}

pub fn status(app: &App, character: &Character) -> SwingStatus {
    app.world()
        .get::<SwingStatus>(character.root)
        .unwrap()
        .clone()
}

/// The entity that carries the rig of `character`.
pub fn rig_entity(app: &App, character: &Character) -> Entity {
    let actor = app
        .world()
        .get::<flounce::systems::preparation::Actor>(character.root);
    actor.unwrap().rig
}

pub fn bones(app: &App, character: &Character) -> SwingBones {
    app.world()
        .get::<SwingBones>(character.root)
        .unwrap()
        .clone()
}

pub fn update(app: &mut App, frames: usize) {
    for _ in 0..frames {
        app.update();
    }
}

/// Fails with both where two lists of transforms differ in a bit.
pub fn assert_same(found: &[Transform], expected: &[Transform], what: &str) {
    for (joint, (found, expected)) in found.iter().zip(expected).enumerate() {
        let bits = |of: &Transform| {
            let numbers = [of.translation.to_array(), of.scale.to_array()].concat();
            let numbers = numbers.into_iter().chain(of.rotation.to_array());
            numbers.map(f32::to_bits).collect::<Vec<u32>>()
        };
        let name = JOINTS.get(joint).map_or("", |joint| joint.0);
        assert_eq!(
            bits(found),
            bits(expected),
            "{what}, joint {name}: {found:?} and {expected:?}"
        );
    }
}
