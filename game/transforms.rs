//! Transforms: reads the poses that animation left, writes the bones that swing.
//!
//! Runs in [`FlounceSystems::Read`] and [`FlounceSystems::Write`]. Only `Transform`s are read: at this point of a frame
//! `GlobalTransform` is that of the last one.
//!
//! A bone that nobody animates still has what was written last, [`LocalPose`]: its input is what it was then. One that was
//! set since to something else, by a clip, by a system, by hand, has a new input.

use bevy_app::{App, Plugin};
use bevy_ecs::change_detection::Tick;
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::InternedScheduleLabel;
use bevy_ecs::system::SystemChangeTick;
use bevy_transform::TransformSystems;
use bevy_transform::components::Transform;

use super::binding::BindingSystems;
use super::joints::{host_transform, joint_transform};
use super::swing::{BoneOf, SwingBones};
use crate::clip::ClipPlayer;
use crate::crowd::{Crowds, Seat};
use crate::layer::Layers;
use crate::pose::{AnimatedPose, JointTransform, LocalPose};
use crate::systems::motion::{ActorMotion, WorldFromActor};
use crate::systems::plugin::{FlounceSystems, in_schedule};
use crate::systems::preparation::Actor;

/// Connects the poses of actors with the `Transform`s of their bones.
#[derive(Clone, Debug)]
pub struct SwingTransformPlugin {
    schedule: InternedScheduleLabel,
}

in_schedule!(SwingTransformPlugin);

impl Plugin for SwingTransformPlugin {
    fn build(&self, app: &mut App) {
        let read = (read_poses, place_actors).chain();
        let read = read.after(BindingSystems).in_set(FlounceSystems::Read);
        app.add_systems(self.schedule, read);
        app.add_systems(self.schedule, write_poses.in_set(FlounceSystems::Write));
        let before = FlounceSystems::Last.before(TransformSystems::Propagate);
        app.configure_sets(self.schedule, before);
    }
}

/// Takes what was set since the last frame as input. A bone that is gone leaves its last one.
fn read_poses(
    mut actors: Query<(&mut SwingBones, &mut AnimatedPose, &LocalPose), With<Actor>>,
    scene: Query<(&BoneOf, Ref<Transform>)>,
    ticks: SystemChangeTick,
) {
    let now = ticks.this_run();
    let mut bones = scene.iter().peekable();
    while let Some(root) = bones.peek().map(|(of, _)| of.root) {
        let mut actor = actors.get_mut(root);
        while let Some((of, transform)) = bones.next_if(|(of, _)| of.root == root) {
            if let Ok((bones, pose, shown)) = &mut actor {
                let pose = &mut pose.bypass_change_detection().0;
                let bones = bones.bypass_change_detection();
                read_bone(of.joint, &transform, bones, pose, shown, now);
            }
        }
    }
    for (mut bones, ..) in &mut actors {
        bones.bypass_change_detection().read_at = Some(now);
    }
}

/// Takes a bone's transform as input, unless it is what was written.
fn read_bone(
    joint: usize,
    transform: &Ref<Transform>,
    bones: &mut SwingBones,
    pose: &mut [JointTransform],
    shown: &LocalPose,
    now: Tick,
) {
    let (Some(&mark), Some(input)) = (bones.marks.get(joint), pose.get_mut(joint)) else {
        return;
    };
    // Ticks are a tenth of what a transform takes to read, and most bones of most frames are nobody's.
    let changed = transform.last_changed();
    if mark.written {
        let set = bones.is_set_since_written(changed, now)
            && shown.0.get(joint) != Some(&joint_transform(transform));
        if !set {
            return;
        }
        bones.marks[joint].written = false;
    } else if let Some(read) = bones.read_at
        && !changed.is_newer_than(read, now)
    {
        return;
    }
    *input = joint_transform(transform);
}

/// Says where the roots stand in the world, by their own transforms and those above them.
///
/// A character's space is in the metres of its rig: those of the world, divided by its size there. One that grows has not
/// moved by it.
fn place_actors(
    mut actors: Query<
        (
            Entity,
            &mut SwingBones,
            &mut WorldFromActor,
            &mut ActorMotion,
        ),
        With<Actor>,
    >,
    transforms: Query<&Transform>,
    parents: Query<&ChildOf>,
) {
    for (root, mut bones, mut placed, mut motion) in &mut actors {
        let Ok(own) = transforms.get(root) else {
            continue;
        };
        let above = parents.iter_ancestors(root);
        let world = above
            .filter_map(|entity| transforms.get(entity).ok())
            .fold(*own, |below, above| above.mul_transform(below));
        let bones = bones.bypass_change_detection();
        let known = bones.metres_per_world;
        // Shrunk to nothing it keeps the size it had.
        let size = size(&world).map(|size| bones.metres_per_unit / size);
        let metres = size.or(known).unwrap_or(bones.metres_per_unit);
        if let (Some(known), Some(before)) = (known, &mut motion.bypass_change_detection().before)
            && known != metres
        {
            before.translation *= metres / known;
        }
        bones.metres_per_world = Some(metres);
        placed.set_if_neq(WorldFromActor {
            translation: world.translation * metres,
            rotation: world.rotation,
        });
    }
}

/// The scale of a transform as one number; `None` where it has none.
fn size(transform: &Transform) -> Option<f32> {
    let size = transform.scale.abs().element_sum() / 3.0;
    (size.is_finite() && size > f32::MIN_POSITIVE).then_some(size)
}

/// An actor as its bones are written.
type WrittenActor = (
    &'static mut SwingBones,
    &'static Seat,
    &'static AnimatedPose,
    &'static LocalPose,
    Has<Layers>,
    Has<ClipPlayer>,
);

/// Writes the bones that the swing, a driver, a layer or a clip moves, where they changed.
fn write_poses(
    mut actors: Query<WrittenActor, With<Actor>>,
    mut scene: Query<(&BoneOf, &mut Transform)>,
    crowds: Res<Crowds>,
    ticks: SystemChangeTick,
) {
    let now = ticks.this_run();
    let mut bones = scene.iter_mut().peekable();
    while let Some(root) = bones.peek().map(|(of, _)| of.root) {
        let mut actor = actors.get_mut(root).ok();
        let mut fits = false;
        if let Some((bones, seat, input, shown, ..)) = &mut actor {
            let bones = bones.bypass_change_detection();
            let plan = &crowds.0[seat.crowd].plan;
            let lengths = [input.0.len(), shown.0.len(), plan.rest.len()];
            fits = lengths == [bones.entities.len(); 3];
            if fits {
                bones.follow(plan);
                bones.written_at = Some(now);
            }
        }
        while let Some((of, mut transform)) = bones.next_if(|(of, _)| of.root == root) {
            let Some((bones, _, input, shown, layered, played)) = &mut actor else {
                continue;
            };
            let marks = &mut bones.bypass_change_detection().marks;
            let Some(mark) = marks.get_mut(of.joint).filter(|_| fits) else {
                continue;
            };
            let moved = mark.moved || *layered || *played;
            let wanted = match (moved, mark.written) {
                (true, _) => &shown.0[of.joint],
                // What moved it is gone: it shows its animation again.
                (false, true) => &input.0[of.joint],
                (false, false) => continue,
            };
            mark.written = moved;
            if joint_transform(&transform) != *wanted {
                *transform = host_transform(wanted);
            }
        }
    }
}
