//! Transforms: reads the poses that animation left, writes the bones that swing.
//!
//! Runs in [`FlounceSystems::Read`] and [`FlounceSystems::Write`]. Only `Transform`s are read: at this point of a frame
//! `GlobalTransform` is that of the last one.
//!
//! A bone that nobody animates still has what was written last, [`LocalPose`]: its input is what it was then. One that was
//! set since to something else, by a clip, by a system, by hand, has a new input.

use bevy_app::{App, Plugin};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::InternedScheduleLabel;
use bevy_ecs::system::SystemChangeTick;
use bevy_transform::TransformSystems;
use bevy_transform::components::Transform;

use super::binding::BindingSystems;
use super::joints::{host_transform, joint_transform};
use super::swing::SwingBones;
use crate::clip::ClipPlayer;
use crate::crowd::{Crowds, Seat};
use crate::layer::Layers;
use crate::pose::{AnimatedPose, LocalPose};
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

/// Takes what was set since the last frame as input.
fn read_poses(
    mut actors: Query<(&mut SwingBones, &mut AnimatedPose, &LocalPose), With<Actor>>,
    transforms: Query<Ref<Transform>>,
    ticks: SystemChangeTick,
) {
    let now = ticks.this_run();
    for (mut bones, mut pose, shown) in &mut actors {
        let bones = bones.bypass_change_detection();
        let pose = &mut pose.bypass_change_detection().0;
        for joint in 0..bones.entities.len().min(pose.len()) {
            // One that is gone leaves its last input.
            let Ok(transform) = transforms.get(bones.entities[joint]) else {
                continue;
            };
            // Ticks are a tenth of what a transform takes to read, and most bones of most frames are nobody's.
            let changed = transform.last_changed();
            if bones.marks[joint].written {
                let set = bones.is_set_since_written(changed, now)
                    && shown.0.get(joint) != Some(&joint_transform(&transform));
                if !set {
                    continue;
                }
                bones.marks[joint].written = false;
            } else if let Some(read) = bones.read_at
                && !changed.is_newer_than(read, now)
            {
                continue;
            }
            pose[joint] = joint_transform(&transform);
        }
        bones.read_at = Some(now);
    }
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

/// Writes the bones that the swing, a driver, a layer or a clip moves, where they changed.
fn write_poses(
    mut actors: Query<
        (
            &mut SwingBones,
            &Seat,
            &AnimatedPose,
            &LocalPose,
            Has<Layers>,
            Has<ClipPlayer>,
        ),
        With<Actor>,
    >,
    mut transforms: Query<&mut Transform>,
    crowds: Res<Crowds>,
    ticks: SystemChangeTick,
) {
    for (mut bones, seat, input, shown, layered, played) in &mut actors {
        let bones = bones.bypass_change_detection();
        let plan = &crowds.0[seat.crowd].plan;
        let lengths = [input.0.len(), shown.0.len(), plan.rest.len()];
        if lengths != [bones.entities.len(); 3] {
            continue;
        }
        bones.follow(plan);
        for (joint, (mark, &bone)) in bones.marks.iter_mut().zip(&bones.entities).enumerate() {
            let moved = mark.moved || layered || played;
            let wanted = match (moved, mark.written) {
                (true, _) => &shown.0[joint],
                // What moved it is gone: it shows its animation again.
                (false, true) => &input.0[joint],
                (false, false) => continue,
            };
            mark.written = moved;
            if let Ok(mut transform) = transforms.get_mut(bone)
                && joint_transform(&transform) != *wanted
            {
                *transform = host_transform(wanted);
            }
        }
        bones.written_at = Some(ticks.this_run());
    }
}
