//! Joints: what is below a character's root.

use std::collections::BTreeSet;

#[cfg(feature = "bevy_animation")]
use bevy_animation::AnimationTargetId;
use bevy_ecs::prelude::*;
use bevy_ecs::system::SystemParam;
use bevy_math::Vec3;
use bevy_transform::components::Transform;

use super::swing::{Attachment, RestTransform, Swing};
use crate::assets::rig_file::RigFile;
use crate::pose::JointTransform;
use crate::rig::Joint;

/// Joints that say no node of a glTF file count from here.
pub(super) const FIRST_SOURCE: usize = 1_000_000;
/// How Bevy calls node 17 of a glTF file when it has no name: `GltfNode17`.
const UNNAMED_NODE: &str = "GltfNode";

/// Reads what is below a root.
#[derive(SystemParam)]
pub(super) struct JointsBelow<'w, 's> {
    children: Query<'w, 's, &'static Children>,
    joints: Query<
        'w,
        's,
        (
            &'static Transform,
            Option<&'static Name>,
            Option<&'static RestTransform>,
        ),
        (Without<Swing>, Without<Attachment>),
    >,
    #[cfg(feature = "bevy_animation")]
    targets: Query<'w, 's, &'static AnimationTargetId>,
}

impl JointsBelow<'_, '_> {
    /// Calls `visit` for every joint below `root` with the index of its parent, parents first, children in their order.
    /// Carried things, characters that ride on this one and what is no `joint` are passed over.
    pub(super) fn walk(
        &self,
        root: Entity,
        joint: impl Fn(Entity) -> bool,
        mut visit: impl FnMut(Entity, Option<usize>),
    ) {
        let mut open: Vec<(Entity, Option<usize>)> = vec![(root, None)];
        let mut count = 0;
        while let Some((entity, parent)) = open.pop() {
            let mut above = None;
            if entity != root {
                if !self.joints.contains(entity) || !joint(entity) {
                    continue;
                }
                visit(entity, parent);
                above = Some(count);
                count += 1;
            }
            if let Ok(children) = self.children.get(entity) {
                open.extend(children.iter().rev().map(|child| (child, above)));
            }
        }
    }

    /// The joints below `root` as `file` calls them, and the entity of each.
    pub(super) fn of(&self, root: Entity, file: &RigFile) -> (Vec<Entity>, Vec<Joint>) {
        let (mut entities, mut joints) = (Vec::new(), Vec::new());
        let references = file.rules().references();
        let named = references.iter().filter_map(|path| path.rsplit('/').next());
        let named: BTreeSet<&str> = named.collect();
        let is_joint = |entity| !self.is_mesh(entity) || self.is_called(entity, &named);
        self.walk(root, is_joint, |entity, parent| {
            joints.extend(self.joint(entity, parent, joints.len()));
            entities.push(entity);
        });
        self.call_by_target(&entities, &mut joints, file);
        (entities, joints)
    }

    /// Whether `entity` is what is drawn of a joint and no joint itself: Bevy's glTF loader hangs each mesh of a node below
    /// it, as a leaf at the same place that no clip moves. A bone that ended there would have no length.
    fn is_mesh(&self, entity: Entity) -> bool {
        let Ok((transform, _, rest)) = self.joints.get(entity) else {
            return false;
        };
        let place = rest.map_or(transform, |rest| &rest.0).translation;
        place == Vec3::ZERO && !self.children.contains(entity) && !self.is_animated(entity)
    }

    #[cfg(feature = "bevy_animation")]
    fn is_animated(&self, entity: Entity) -> bool {
        self.targets.contains(entity)
    }

    #[cfg(not(feature = "bevy_animation"))]
    fn is_animated(&self, _: Entity) -> bool {
        false
    }

    fn is_called(&self, entity: Entity, names: &BTreeSet<&str>) -> bool {
        let name = self.joints.get(entity).ok().and_then(|(_, name, _)| name);
        name.is_some_and(|name| names.contains(name.as_str()))
    }

    fn joint(&self, entity: Entity, parent: Option<usize>, index: usize) -> Option<Joint> {
        let (transform, name, rest) = self.joints.get(entity).ok()?;
        let name = name.map_or("", Name::as_str);
        let node = name.strip_prefix(UNNAMED_NODE);
        let node: Option<usize> = node.and_then(|number| number.parse().ok());
        Some(Joint {
            name: if node.is_some() { "" } else { name }.to_owned(),
            source: node.unwrap_or(FIRST_SOURCE + index),
            parent,
            rest: joint_transform(rest.map_or(transform, |rest| &rest.0)),
        })
    }

    /// Gives joints whose animation target is a path that `file` writes this path as their name.
    #[cfg(feature = "bevy_animation")]
    fn call_by_target(&self, entities: &[Entity], joints: &mut [Joint], file: &RigFile) {
        let targets: Vec<(usize, AnimationTargetId)> = entities
            .iter()
            .enumerate()
            .filter_map(|(joint, &entity)| Some((joint, *self.targets.get(entity).ok()?)))
            .collect();
        if targets.is_empty() {
            return;
        }
        for reference in file.rules().references() {
            let wanted: AnimationTargetId = reference.split('/').collect();
            let mut found = targets.iter().filter(|(_, target)| *target == wanted);
            if let (Some(&(joint, _)), None) = (found.next(), found.next())
                && reference.rsplit('/').next() != Some(&joints[joint].name)
            {
                reference.clone_into(&mut joints[joint].name);
            }
        }
    }

    #[cfg(not(feature = "bevy_animation"))]
    fn call_by_target(&self, _: &[Entity], _: &mut [Joint], _: &RigFile) {}
}

/// As the engine has it.
pub(super) fn joint_transform(transform: &Transform) -> JointTransform {
    JointTransform {
        translation: transform.translation,
        rotation: transform.rotation,
        scale: transform.scale,
    }
}

/// As the host has it.
pub(super) fn host_transform(transform: &JointTransform) -> Transform {
    Transform {
        translation: transform.translation,
        rotation: transform.rotation,
        scale: transform.scale,
    }
}
