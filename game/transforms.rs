//! Transforms: reads the poses that animation left, writes the bones that swing.
//!
//! Runs in [`FlounceSystems::Read`] and [`FlounceSystems::Write`]. Only `Transform`s are read: at this point of a frame
//! `GlobalTransform` is that of the last one.
//!
//! A bone that nobody animates still has what was written last: its input is what it was then. One that was set since,
//! by a clip, by a system, by hand, has a new input.

use bevy_app::{App, Plugin};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{InternedScheduleLabel, ScheduleLabel};
use bevy_transform::TransformSystems;
use bevy_transform::components::Transform;

use super::binding::BindingSystems;
use super::skeleton::{host_transform, joint_transform};
use super::swing::SwingBones;
use crate::clip::ClipPlayer;
use crate::layer::Layers;
use crate::pose::{AnimatedPose, LocalPose};
use crate::systems::motion::WorldFromActor;
use crate::systems::plugin::FlounceSystems;
use crate::systems::preparation::Actor;

/// Connects the poses of actors with the `Transform`s of their bones.
#[derive(Clone, Debug)]
pub struct SwingTransformPlugin {
    pub(super) schedule: InternedScheduleLabel,
}

impl SwingTransformPlugin {
    /// In `schedule`, that of the [`crate::systems::plugin::FlouncePlugin`].
    pub fn new(schedule: impl ScheduleLabel) -> Self {
        Self {
            schedule: schedule.intern(),
        }
    }
}

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
    mut actors: Query<(&mut SwingBones, &mut AnimatedPose), With<Actor>>,
    transforms: Query<&Transform>,
) {
    for (mut bones, mut pose) in &mut actors {
        let bones = &mut bones.bypass_change_detection().bones;
        let pose = &mut pose.bypass_change_detection().0;
        for (bone, input) in bones.iter_mut().zip(pose) {
            // One that is gone leaves its last input.
            if let Ok(transform) = transforms.get(bone.entity) {
                let now = joint_transform(transform);
                if bone.written != Some(now) {
                    bone.written = None;
                    *input = now;
                }
            }
        }
    }
}

/// Says where the roots stand in the world, by their own transforms and those above them.
fn place_actors(
    mut actors: Query<(Entity, &mut SwingBones, &mut WorldFromActor), With<Actor>>,
    transforms: Query<&Transform>,
    parents: Query<&ChildOf>,
) {
    for (root, mut bones, mut placed) in &mut actors {
        let Ok(own) = transforms.get(root) else {
            continue;
        };
        let above = parents.iter_ancestors(root);
        let world = above
            .filter_map(|entity| transforms.get(entity).ok())
            .fold(*own, |below, above| above.mul_transform(below));
        let metres = bones.metres_per_unit / size(&world);
        bones.bypass_change_detection().metres_per_world = metres;
        placed.set_if_neq(WorldFromActor {
            translation: world.translation * metres,
            rotation: world.rotation,
        });
    }
}

/// The scale of a transform as one number; 1 where it has none.
fn size(transform: &Transform) -> f32 {
    let size = transform.scale.abs().element_sum() / 3.0;
    if size.is_finite() && size > 0.0 {
        size
    } else {
        1.0
    }
}

/// Writes the bones that the swing, a driver, a layer or a clip moves, where they changed.
fn write_poses(
    mut actors: Query<
        (
            &mut SwingBones,
            &AnimatedPose,
            &LocalPose,
            Has<Layers>,
            Has<ClipPlayer>,
        ),
        With<Actor>,
    >,
    mut transforms: Query<&mut Transform>,
) {
    for (mut bones, input, shown, layered, played) in &mut actors {
        let bones = &mut bones.bypass_change_detection().bones;
        if shown.0.len() != bones.len() || input.0.len() != bones.len() {
            continue;
        }
        for (joint, bone) in bones.iter_mut().enumerate() {
            let moved = bone.moved || layered || played;
            let wanted = match (moved, bone.written) {
                (true, _) => &shown.0[joint],
                // What moved it is gone: it shows its animation again.
                (false, Some(_)) => &input.0[joint],
                (false, None) => continue,
            };
            if bone.written != Some(*wanted)
                && let Ok(mut transform) = transforms.get_mut(bone.entity)
                && joint_transform(&transform) != *wanted
            {
                *transform = host_transform(wanted);
            }
            bone.written = moved.then_some(*wanted);
        }
    }
}
