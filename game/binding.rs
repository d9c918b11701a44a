//! Binding: puts rig files on the joints below their characters' roots, as soon as they are there and whenever they change.
//!
//! Runs in [`FlounceSystems::Read`], for the characters that `noticing` has noticed. A change below a root that
//! leaves the rig's own joints as they are (a sword in a hand) changes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bevy_app::{App, Plugin};
use bevy_asset::{AssetEventSystems, Assets};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::InternedScheduleLabel;
use bevy_ecs::system::SystemState;
use bevy_transform::components::Transform;

use super::fitting::{Fit, Fits};
use super::joints::{JointsBelow, host_transform, joint_transform};
use super::noticing::{self, Pending, notice_files};
use super::rig_asset::RigAsset;
use super::shared_rigs::{self, SharedRigs, Wanted};
use super::swing::{BoneMark, BoneOf, JointScope, Swing, SwingBones, SwingStatus};
use crate::pose::{AnimatedPose, JointTransform, LocalPose};
use crate::rig::Rig;
use crate::systems::plugin::{FlounceSystems, in_schedule};
use crate::systems::preparation::Actor;

/// After so many frames a character that still waits for joints is named in the log, once.
pub const PATIENCE: u32 = 300;

/// Binds characters to their rigs.
#[derive(Clone, Debug)]
pub struct SwingBindingPlugin {
    schedule: InternedScheduleLabel,
}

in_schedule!(SwingBindingPlugin);

impl Plugin for SwingBindingPlugin {
    fn build(&self, app: &mut App) {
        app.init_resource::<SharedRigs>();
        noticing::add(app, self.schedule);
        let bind = bind_characters.run_if(|pending: Res<Pending>| !pending.roots.is_empty());
        let systems = (notice_files, bind, count_waiting).chain();
        app.add_systems(self.schedule, systems.in_set(BindingSystems));
        app.configure_sets(self.schedule, BindingSystems.in_set(FlounceSystems::Read));
        // What the asset server has loaded in this frame is there.
        let first = FlounceSystems::First.after(AssetEventSystems);
        app.configure_sets(self.schedule, first);
        app.add_observer(release_with_swing);
    }
}

/// Characters whose joints are there are bound; the rest of [`FlounceSystems::Read`] comes after.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct BindingSystems;

/// A root that was looked at.
struct Found {
    root: Entity,
    swing: Swing,
    /// The joints below it; empty without a file.
    entities: Vec<Entity>,
    /// Without a file there is nothing to fit.
    fitted: Option<Arc<Result<Fit, String>>>,
    /// The file's name.
    name: String,
}

/// Binds those that wait and can be bound.
fn bind_characters(
    world: &mut World,
    state: &mut SystemState<(
        ResMut<Pending>,
        Query<&Swing>,
        Res<Assets<RigAsset>>,
        JointsBelow,
    )>,
) {
    let Ok((mut pending, swings, files, joints)) = state.get_mut(world) else {
        return;
    };
    let roots = core::mem::take(&mut pending.roots);
    let reloaded = core::mem::take(&mut pending.reloaded);
    let (mut found, mut fits) = (Vec::with_capacity(roots.len()), Fits::default());
    for root in roots {
        let Ok(swing) = swings.get(root) else {
            continue;
        };
        let mut of = Found {
            root,
            swing: swing.clone(),
            entities: Vec::new(),
            fitted: None,
            name: String::new(),
        };
        if let Some(RigAsset(file)) = files.get(&swing.rig) {
            let (entities, list) = joints.of(root, file);
            of.entities = entities;
            of.fitted = Some(fits.of(swing, file, list));
            of.name = format!("rig {}", file.file().display());
        }
        found.push(of);
    }
    let mut replaced = Vec::new();
    for of in found {
        match of.fitted.as_deref() {
            None => wait(world, of.root, SwingStatus::WaitingForRig),
            Some(Err(reason)) => keep_or_wait(world, &of, reason),
            Some(Ok(fit)) => {
                let reloads = reloaded.contains(&of.swing.rig.id());
                bind(world, &of, fit, reloads, &mut replaced);
            }
        }
    }
}

/// Binds a root to what fits it, unless it is.
fn bind(world: &mut World, of: &Found, fit: &Fit, reloads: bool, replaced: &mut Vec<Entity>) {
    let root = of.root;
    let entities: Vec<Entity> = fit.kept.iter().map(|&i| of.entities[i]).collect();
    let owner = of.swing.own_parameters.then_some(root);
    let wanted = Wanted {
        key: (of.swing.rig.id(), owner),
        rig: &fit.rig,
        name: of.name.clone(),
        reloads,
    };
    if is_bound_so(world, of, &wanted, &entities) {
        set_status(world, root, SwingStatus::Bound);
        return;
    }
    for warning in &fit.warnings {
        tracing::warn!(character = %root, "{warning}");
    }
    let rig = shared_rigs::take(world, root, &wanted, replaced);
    let kept: BTreeSet<Entity> = entities.iter().copied().collect();
    disown(world, root, &kept);
    for (joint, &bone) in entities.iter().enumerate() {
        world.entity_mut(bone).insert(BoneOf { root, joint });
    }
    let (parts, left) = lay_out(world, root, &fit.rig, entities);
    show_animation(
        world,
        left.into_iter().filter(|(bone, _)| !kept.contains(bone)),
    );
    if let Ok(mut root) = world.get_entity_mut(root) {
        if root.get::<Actor>() != Some(&Actor { rig }) {
            root.insert(Actor { rig });
        }
        root.insert((parts, SwingStatus::Bound));
    }
}

/// Whether a root has these joints and this rig already; with all joints only those that the swing depends on count.
fn is_bound_so(world: &World, of: &Found, wanted: &Wanted, entities: &[Entity]) -> bool {
    let shared = world.resource::<SharedRigs>();
    let (Some(bones), Some(known)) = (
        world.get::<SwingBones>(of.root),
        shared.rig_of(of.root, wanted.key),
    ) else {
        return false;
    };
    let here = bones.entities();
    if **known == **wanted.rig && here == entities {
        return true;
    }
    if of.swing.joints == JointScope::Needed || here.len() > entities.len() {
        return false;
    }
    // A thing that was put on a joint is a joint of the whole, too: no reason to start anew.
    let below: BTreeSet<Entity> = of.entities.iter().copied().collect();
    let (now, old) = (wanted.rig.needed(), known.needed());
    let now_entities = now.1.iter().map(|&i| entities[i]);
    here.iter().all(|bone| below.contains(bone))
        && is_like(&now.0, &old.0)
        && now_entities.eq(old.1.iter().map(|&i| here[i]))
}

/// Equal but for the numbers that joints have in their file.
fn is_like(one: &Rig, other: &Rig) -> bool {
    let mut one = one.clone();
    for (joint, like) in one.joints.iter_mut().zip(&other.joints) {
        joint.source = like.source;
    }
    one == *other
}

/// What a bound character has.
type BoundParts = (
    &'static SwingBones,
    &'static AnimatedPose,
    &'static LocalPose,
);

/// Bones that show what was written, with their animation.
type Written = Vec<(Entity, JointTransform)>;

/// The bones of `rig`, their input and what they show, and those that show what was written before.
fn lay_out(
    world: &World,
    root: Entity,
    rig: &Rig,
    entities: Vec<Entity>,
) -> ((SwingBones, AnimatedPose, LocalPose), Written) {
    let known = world.entity(root).get_components::<BoundParts>().ok();
    let transform = |bone| world.get::<Transform>(bone).map(joint_transform);
    let written = known.map_or(Vec::new(), |parts| written(parts, transform));
    let inputs: BTreeMap<Entity, JointTransform> = written.iter().copied().collect();
    let (mut marks, mut input, mut shown) = (Vec::new(), Vec::new(), Vec::new());
    for (joint, &entity) in entities.iter().enumerate() {
        // What stands there is the input of those that nobody wrote, and the next reading finds it.
        let now = transform(entity).unwrap_or(rig.joints[joint].rest);
        let known = inputs.get(&entity);
        marks.push(BoneMark {
            moved: false,
            written: known.is_some(),
        });
        input.push(known.copied().unwrap_or(now));
        shown.push(now);
    }
    let bones = SwingBones {
        entities,
        marks,
        read_at: None,
        written_at: known.and_then(|(bones, ..)| bones.written_at),
        plan: None,
        metres_per_world: known.and_then(|(bones, ..)| bones.metres_per_world),
        metres_per_unit: rig.metres_per_unit,
    };
    ((bones, AnimatedPose(input), LocalPose(shown)), written)
}

/// The bones that still show what was written.
fn written(
    (bones, input, shown): (&SwingBones, &AnimatedPose, &LocalPose),
    transform: impl Fn(Entity) -> Option<JointTransform>,
) -> Written {
    let poses = input.0.iter().zip(&shown.0);
    let marked = bones.entities.iter().zip(&bones.marks).zip(poses);
    let still = marked.filter_map(|((&bone, mark), (input, shown))| {
        (mark.written && transform(bone) == Some(*shown)).then_some((bone, *input))
    });
    still.collect()
}

fn show_animation(world: &mut World, bones: impl IntoIterator<Item = (Entity, JointTransform)>) {
    for (bone, input) in bones {
        if let Some(mut transform) = world.get_mut::<Transform>(bone) {
            *transform = host_transform(&input);
        }
    }
}

/// Takes the bones of `root` that are not `kept` from it; what is another's stays so.
fn disown(world: &mut World, root: Entity, kept: &BTreeSet<Entity>) {
    let bones = world.get::<SwingBones>(root);
    let bones = bones.map_or(Vec::new(), |bones| bones.entities.clone());
    for bone in bones.into_iter().filter(|bone| !kept.contains(bone)) {
        if let Ok(mut bone) = world.get_entity_mut(bone)
            && bone.get::<BoneOf>().is_some_and(|of| of.root == root)
        {
            bone.remove::<BoneOf>();
        }
    }
}

/// A rig file that does not fit: who has all its joints keeps what it has, who does not waits for them.
fn keep_or_wait(world: &mut World, of: &Found, reason: &str) {
    let below: BTreeSet<Entity> = of.entities.iter().copied().collect();
    let bones = world.get::<SwingBones>(of.root);
    if bones.is_some_and(|bones| bones.entities.iter().all(|bone| below.contains(bone))) {
        tracing::error!(character = %of.root, "{reason}\nit keeps the rig it has");
        return;
    }
    let frames = match world.get::<SwingStatus>(of.root) {
        Some(SwingStatus::WaitingForJoints { frames, .. }) => *frames,
        _ => 0,
    };
    let reason = reason.to_owned();
    let status = SwingStatus::WaitingForJoints { reason, frames };
    wait(world, of.root, status);
}

fn wait(world: &mut World, root: Entity, status: SwingStatus) {
    let parts = world.entity(root).get_components::<BoundParts>();
    if let Ok(parts) = parts {
        let transform = |bone| world.get::<Transform>(bone).map(joint_transform);
        let written = written(parts, transform);
        release(world, root, written);
    }
    set_status(world, root, status);
}

fn set_status(world: &mut World, root: Entity, status: SwingStatus) {
    if let Some(mut known) = world.get_mut::<SwingStatus>(root) {
        known.set_if_neq(status);
    }
}

/// Who loses its mark, or goes with it, leaves its rig.
fn release_with_swing(
    event: On<Remove<Swing>>,
    mut commands: Commands,
    bound: Query<BoundParts>,
    transforms: Query<&Transform>,
) {
    let root = event.entity;
    let transform = |bone| transforms.get(bone).ok().map(joint_transform);
    // It may be gone when the command runs.
    let written = bound
        .get(root)
        .map_or(Vec::new(), |parts| written(parts, transform));
    commands.queue(move |world: &mut World| release(world, root, written));
}

/// Makes `root` a character without a rig again: its bones show their animation, the rig has a user less.
fn release(world: &mut World, root: Entity, written: Written) {
    show_animation(world, written);
    disown(world, root, &BTreeSet::new());
    if let Ok(mut root) = world.get_entity_mut(root) {
        root.remove::<(Actor, SwingBones, AnimatedPose, LocalPose)>();
    }
    shared_rigs::leave(world, root);
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
