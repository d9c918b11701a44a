//! Binding: finds the joints of a character's rig below its root, as soon as they are there and whenever they change.
//!
//! `notice_changes` runs before animation, so that joints are seen at rest; `notice_files` and `bind_characters` in
//! [`FlounceSystems::Read`]. All look at what changed only. A change below a root that leaves the rig's own joints as
//! they are (a sword in a hand) changes nothing.

use std::collections::BTreeSet;

use bevy_app::{AnimationSystems, App, Plugin};
use bevy_asset::{AssetEvent, AssetEventSystems, AssetId, Assets};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{InternedScheduleLabel, ScheduleLabel};
use bevy_ecs::system::SystemState;
use bevy_transform::components::Transform;

use super::rig_asset::RigAsset;
use super::shared_rigs::SharedRigs;
use super::skeleton::{Skeleton, Skeletons, host_transform, joint_transform};
use super::swing::{Bone, JointScope, RestTransform, Swing, SwingBones, SwingStatus};
use crate::pose::{AnimatedPose, JointTransform};
use crate::rig::Rig;
use crate::systems::plugin::FlounceSystems;
use crate::systems::preparation::Actor;

/// After so many frames a character that still waits for joints is named in the log, once.
pub const PATIENCE: u32 = 300;

/// Binds characters to their rigs.
#[derive(Clone, Debug)]
pub struct SwingBindingPlugin {
    pub(super) schedule: InternedScheduleLabel,
}

impl SwingBindingPlugin {
    /// In `schedule`, that of the [`crate::systems::plugin::FlouncePlugin`].
    pub fn new(schedule: impl ScheduleLabel) -> Self {
        Self {
            schedule: schedule.intern(),
        }
    }
}

impl Plugin for SwingBindingPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<Pending>().init_resource::<SharedRigs>();
        app.add_systems(self.schedule, notice_changes.before(AnimationSystems));
        let bind = bind_characters.run_if(|pending: Res<Pending>| !pending.roots.is_empty());
        let systems = (notice_files, bind, count_waiting).chain();
        app.add_systems(self.schedule, systems.in_set(BindingSystems));
        app.configure_sets(self.schedule, BindingSystems.in_set(FlounceSystems::Read));
        // What the asset server has loaded in this frame is there.
        app.configure_sets(
            self.schedule,
            FlounceSystems::First.after(AssetEventSystems),
        );
        app.add_observer(release_with_swing);
    }
}

/// Characters whose joints are there are bound; the rest of [`FlounceSystems::Read`] comes after.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BindingSystems;

/// Characters to look at.
#[derive(Resource, Debug, Default)]
struct Pending {
    roots: BTreeSet<Entity>,
    /// Rig files that changed.
    reloaded: BTreeSet<AssetId<RigAsset>>,
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
    mut orphaned: RemovedComponents<Children>,
    parents: Query<&ChildOf>,
    skeletons: Skeletons,
    unseen: Query<&Transform, Without<RestTransform>>,
) {
    if swings.is_empty() {
        orphaned.clear();
        return;
    }
    let marked = swings.iter().filter(|(_, swing)| swing.is_changed());
    pending.roots.extend(marked.map(|(root, _)| root));
    for entity in changed.iter().chain(orphaned.read()) {
        let mut way = core::iter::once(entity).chain(parents.iter_ancestors(entity));
        pending
            .roots
            .extend(way.find(|&above| swings.contains(above)));
    }
    for &root in &pending.roots {
        skeletons.walk(root, |joint, _| {
            if let Ok(transform) = unseen.get(joint) {
                commands.entity(joint).insert(RestTransform(*transform));
            }
        });
    }
}

/// Notes the roots whose rig file was loaded, or loaded again.
fn notice_files(
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

/// Binds those that wait and can be bound.
fn bind_characters(
    world: &mut World,
    state: &mut SystemState<(
        ResMut<Pending>,
        Query<&Swing>,
        Res<Assets<RigAsset>>,
        Skeletons,
    )>,
) {
    let Ok((mut pending, swings, files, skeletons)) = state.get_mut(world) else {
        return;
    };
    let Pending { roots, reloaded } = core::mem::take(&mut *pending);
    let mut found = Vec::with_capacity(roots.len());
    for root in roots {
        let Ok(swing) = swings.get(root) else {
            continue;
        };
        let fitted = files.get(&swing.rig).map(|RigAsset(file)| {
            let mut skeleton = skeletons.below(root, file);
            let applied = file
                .apply(&mut skeleton.rig)
                .map_err(|error| error.to_string());
            applied.map(|applied| (skeleton, applied.warnings))
        });
        found.push((root, swing.clone(), fitted));
    }
    let mut replaced = Vec::new();
    for (root, swing, fitted) in found {
        match fitted {
            None => wait(world, root, SwingStatus::WaitingForRig),
            Some(Err(reason)) => keep_or_wait(world, root, reason),
            Some(Ok((skeleton, warnings))) => {
                let reloads = reloaded.contains(&swing.rig.id());
                bind(
                    world,
                    root,
                    &swing,
                    skeleton,
                    &warnings,
                    reloads,
                    &mut replaced,
                );
            }
        }
    }
}

/// Binds `root` to `skeleton`, unless it is.
fn bind(
    world: &mut World,
    root: Entity,
    swing: &Swing,
    skeleton: Skeleton,
    warnings: &[String],
    reloads: bool,
    replaced: &mut Vec<Entity>,
) {
    let (needed, old) = skeleton.rig.needed();
    let (rig, entities) = match swing.joints {
        JointScope::Needed => (needed, old.iter().map(|&i| skeleton.entities[i]).collect()),
        JointScope::All => (skeleton.rig, skeleton.entities),
    };
    let bound = world.get::<Actor>(root).map(|actor| actor.rig);
    if let Some(bound) = bound
        && is_bound_so(world, root, bound, swing, &rig, &entities)
    {
        set_status(world, root, SwingStatus::Bound);
        return;
    }
    for warning in warnings {
        tracing::warn!(character = %root, "{warning}");
    }
    let owner = swing.own_parameters.then_some(root);
    let key = (swing.rig.id(), owner);
    let entity = world.resource_scope(|world, mut shared: Mut<SharedRigs>| {
        shared.take(world, key, &rig, bound, reloads, replaced)
    });
    let carried = world.get::<SwingBones>(root).cloned().unwrap_or_default();
    let poses = world.get::<AnimatedPose>(root);
    let poses = poses.map_or(&[][..], |pose| &pose.0);
    let (bones, pose) = lay_out(world, &rig, &entities, &carried, poses);
    if let Ok(mut root) = world.get_entity_mut(root) {
        if root.get::<Actor>() != Some(&Actor { rig: entity }) {
            root.insert(Actor { rig: entity });
        }
        root.insert((bones, AnimatedPose(pose), SwingStatus::Bound));
    }
}

/// Whether `root` has these joints and this rig already; of a whole skeleton only what the swing depends on counts.
fn is_bound_so(
    world: &World,
    root: Entity,
    bound: Entity,
    swing: &Swing,
    rig: &Rig,
    entities: &[Entity],
) -> bool {
    let Some(bones) = world.get::<SwingBones>(root) else {
        return false;
    };
    let owner = swing.own_parameters.then_some(root);
    let shared = world.resource::<SharedRigs>();
    let Some(known) = shared.rig_of(bound, (swing.rig.id(), owner)) else {
        return false;
    };
    let here: Vec<Entity> = bones.entities().collect();
    if **known == *rig && here == entities {
        return true;
    }
    // A thing that was put on a joint is a joint of a whole skeleton, too: no reason to start anew.
    let (now, old) = (rig.needed(), known.needed());
    let alive = here
        .iter()
        .all(|&entity| world.get::<Transform>(entity).is_some());
    swing.joints == JointScope::All
        && alive
        && here.len() <= entities.len()
        && is_like(&now.0, &old.0)
        && now
            .1
            .iter()
            .map(|&i| entities[i])
            .eq(old.1.iter().map(|&i| here[i]))
}

/// Equal but for the numbers that joints have in their file.
fn is_like(one: &Rig, other: &Rig) -> bool {
    let mut one = one.clone();
    for (joint, like) in one.joints.iter_mut().zip(&other.joints) {
        joint.source = like.source;
    }
    one == *other
}

/// The bones of `rig` and their input; those that were bound before keep it.
fn lay_out(
    world: &World,
    rig: &Rig,
    entities: &[Entity],
    carried: &SwingBones,
    poses: &[JointTransform],
) -> (SwingBones, Vec<JointTransform>) {
    let mut moved = vec![false; rig.joints.len()];
    for swing in rig.swing.iter().filter(|swing| swing.active) {
        moved[swing.joint] = true;
    }
    for joint in rig.drivers.iter().flat_map(|driver| driver.sets()) {
        moved[joint] = true;
    }
    let mut bones = Vec::with_capacity(entities.len());
    let mut pose = Vec::with_capacity(entities.len());
    for (joint, &entity) in entities.iter().enumerate() {
        let known = carried.joint(entity);
        let written = known.and_then(|known| carried.bones[known].written);
        let input = known.and_then(|known| poses.get(known).copied());
        let now = world.get::<Transform>(entity).map(joint_transform);
        // Without anything written what stands there is the input, and the next reading finds it.
        let input = input.filter(|_| written.is_some()).or(now);
        pose.push(input.unwrap_or(rig.joints[joint].rest));
        bones.push(Bone {
            entity,
            moved: moved[joint],
            written,
        });
    }
    let bones = SwingBones {
        bones,
        metres_per_world: 1.0,
        metres_per_unit: rig.metres_per_unit,
    };
    (bones, pose)
}

/// A rig file that does not fit: who has all its joints keeps what it has, who does not waits for them.
fn keep_or_wait(world: &mut World, root: Entity, reason: String) {
    let whole = world.get::<SwingBones>(root).is_some_and(|bones| {
        bones
            .entities()
            .all(|bone| world.get::<Transform>(bone).is_some())
    });
    if whole {
        tracing::error!(character = %root, "{reason}\nit keeps the rig it has");
    } else {
        let frames = 0;
        wait(
            world,
            root,
            SwingStatus::WaitingForJoints { reason, frames },
        );
    }
}

fn wait(world: &mut World, root: Entity, status: SwingStatus) {
    release(world, root);
    set_status(world, root, status);
}

fn set_status(world: &mut World, root: Entity, status: SwingStatus) {
    if let Some(mut known) = world.get_mut::<SwingStatus>(root) {
        known.set_if_neq(status);
    }
}

/// What a bound character has.
type BoundParts<'a> = (&'a Actor, &'a SwingBones, &'a AnimatedPose);

/// Who loses its mark, or goes with it, leaves its rig.
fn release_with_swing(event: On<Remove<Swing>>, mut commands: Commands, bound: Query<BoundParts>) {
    if let Ok((actor, bones, pose)) = bound.get(event.entity) {
        // They may be gone when the command runs.
        let parts = (*actor, bones.clone(), pose.clone());
        let root = event.entity;
        commands.queue(move |world: &mut World| release_parts(world, root, parts));
    }
}

/// Makes `root` a character without a rig again.
fn release(world: &mut World, root: Entity) {
    let mut bound = world.query::<BoundParts>();
    if let Ok((actor, bones, pose)) = bound.get(world, root) {
        let parts = (*actor, bones.clone(), pose.clone());
        release_parts(world, root, parts);
    }
}

/// Lets the bones show their animation again, and the rig go.
fn release_parts(
    world: &mut World,
    root: Entity,
    (actor, bones, pose): (Actor, SwingBones, AnimatedPose),
) {
    for (bone, input) in bones.bones.iter().zip(&pose.0) {
        if let (Some(written), Some(mut transform)) =
            (bone.written, world.get_mut::<Transform>(bone.entity))
            && joint_transform(&transform) == written
        {
            *transform = host_transform(input);
        }
    }
    if let Ok(mut root) = world.get_entity_mut(root) {
        root.remove::<(Actor, SwingBones)>();
    }
    world.resource_scope(|world, mut shared: Mut<SharedRigs>| shared.leave(world, actor.rig));
}

/// Counts the frames of those that wait, and says so when it is long.
fn count_waiting(mut waiting: Query<(Entity, &mut SwingStatus)>) {
    for (root, mut status) in &mut waiting {
        if let SwingStatus::WaitingForJoints { reason, frames } = status.bypass_change_detection() {
            *frames = frames.saturating_add(1);
            if *frames == PATIENCE {
                tracing::warn!(character = %root, "nothing swings after {PATIENCE} frames: {reason}");
            }
        }
    }
}
