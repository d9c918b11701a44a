//! Noticing: which characters have to be looked at, because something changed below their roots or in their rig files.
//!
//! `notice_changes` runs before animation, so that joints are seen at rest; `notice_files` in
//! [`FlounceSystems::Read`](crate::systems::plugin::FlounceSystems::Read), when the asset server has said what it loaded.
//! What is taken away is noticed as it happens: a schedule that does not run in every frame would miss it.

use std::collections::BTreeSet;

use bevy_app::{AnimationSystems, App, PostUpdate};
use bevy_asset::{AssetEvent, AssetId};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{InternedScheduleLabel, ScheduleLabel};
use bevy_transform::components::Transform;

use super::joints::JointsBelow;
use super::rig_asset::RigAsset;
use super::swing::{Attachment, RestTransform, Swing};

/// Characters to look at.
#[derive(Resource, Debug, Default)]
pub(super) struct Pending {
    pub roots: BTreeSet<Entity>,
    /// Rig files that changed.
    pub reloaded: BTreeSet<AssetId<RigAsset>>,
    /// Entities that lost or gained what makes them a joint or a root.
    touched: BTreeSet<Entity>,
}

/// Registers `notice_changes` and the observers.
pub(super) fn add(app: &mut App, schedule: InternedScheduleLabel) {
    app.init_resource::<Pending>();
    // Bevy animates in `PostUpdate`, whatever our schedule is.
    app.add_systems(PostUpdate, notice_changes.before(AnimationSystems));
    if schedule != PostUpdate.intern() {
        app.add_systems(schedule, notice_changes.before(AnimationSystems));
    }
    app.add_observer(|event: On<Remove<Children>>, pending: ResMut<Pending>| {
        touch(event.entity, pending);
    });
    app.add_observer(|event: On<Add<Attachment>>, pending: ResMut<Pending>| {
        touch(event.entity, pending);
    });
    app.add_observer(|event: On<Remove<Attachment>>, pending: ResMut<Pending>| {
        touch(event.entity, pending);
    });
    app.add_observer(|event: On<Add<Swing>>, pending: ResMut<Pending>| {
        touch(event.entity, pending);
    });
    app.add_observer(|event: On<Remove<Swing>>, pending: ResMut<Pending>| {
        touch(event.entity, pending);
    });
}

fn touch(entity: Entity, mut pending: ResMut<Pending>) {
    pending.touched.insert(entity);
}

/// What a target of Bevy's animation changes about a joint's identity.
#[cfg(feature = "bevy_animation")]
type ChangedTarget = Changed<bevy_animation::AnimationTargetId>;
#[cfg(not(feature = "bevy_animation"))]
type ChangedTarget = Changed<Name>;

/// Notes the roots that something changed below, and what the joints there are at rest.
fn notice_changes(
    mut commands: Commands,
    mut pending: ResMut<Pending>,
    swings: Query<(Entity, Ref<Swing>)>,
    changed: Query<Entity, Or<(Changed<Children>, Changed<Name>, ChangedTarget)>>,
    parents: Query<&ChildOf>,
    joints: JointsBelow,
    unseen: Query<&Transform, Without<RestTransform>>,
) {
    let Pending { roots, touched, .. } = &mut *pending;
    let touched = core::mem::take(touched);
    if swings.is_empty() {
        return;
    }
    let marked = swings.iter().filter(|(_, swing)| swing.is_changed());
    roots.extend(marked.map(|(root, _)| root));
    let roots_above = |entity| {
        let way = core::iter::once(entity).chain(parents.iter_ancestors(entity));
        way.filter(|&above| swings.contains(above))
    };
    for entity in &changed {
        roots.extend(roots_above(entity).next());
    }
    for entity in touched {
        // A root that comes or goes takes joints from the one above or gives them.
        roots.extend(roots_above(entity).take(2));
    }
    for &root in &*roots {
        joints.walk(
            root,
            |_| true,
            |joint, _| {
                if let Ok(transform) = unseen.get(joint) {
                    commands.entity(joint).try_insert(RestTransform(*transform));
                }
            },
        );
    }
}

/// Notes the roots whose rig file was loaded, or loaded again.
pub(super) fn notice_files(
    mut pending: ResMut<Pending>,
    swings: Query<(Entity, &Swing)>,
    mut events: MessageReader<AssetEvent<RigAsset>>,
) {
    let mut files: BTreeSet<AssetId<RigAsset>> = BTreeSet::new();
    for event in events.read() {
        if let AssetEvent::Added { id } | AssetEvent::Modified { id } = event {
            files.insert(*id);
        }
        if let AssetEvent::Modified { id } = event {
            pending.reloaded.insert(*id);
        }
    }
    if !files.is_empty() {
        let users = swings
            .iter()
            .filter(|(_, swing)| files.contains(&swing.rig.id()));
        pending.roots.extend(users.map(|(root, _)| root));
    }
}
