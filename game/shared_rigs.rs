//! Rigs in use: one entity with the parameters for all characters of one rig file and the same joints.

use std::collections::BTreeMap;
use std::sync::Arc;

use bevy_asset::AssetId;
use bevy_ecs::prelude::*;

use super::rig_asset::RigAsset;
use crate::rig::{Rig, RigParts};

/// What a rig is for: a file, and the character that does not share it.
pub(super) type RigKey = (AssetId<RigAsset>, Option<Entity>);

/// The rigs of bound characters.
#[derive(Resource, Debug, Default)]
pub struct SharedRigs {
    rigs: Vec<SharedRig>,
    /// The rig's entity of each bound root.
    of_root: BTreeMap<Entity, Entity>,
}

#[derive(Debug)]
struct SharedRig {
    key: RigKey,
    /// As the file made it, before anybody edited its parts.
    rig: Arc<Rig>,
    /// Carries [`RigParts`].
    entity: Entity,
    users: usize,
}

/// A rig that a character asks for.
pub(super) struct Wanted<'w> {
    pub key: RigKey,
    pub rig: &'w Arc<Rig>,
    /// What inspectors call its entity.
    pub name: String,
    /// Whether its file was loaded anew: it changes the rig that it made before, once, so that who uses it keeps moving.
    pub reloads: bool,
}

impl SharedRigs {
    /// The rig that `entity` carries, as its file made it: for binding clips and masks to its joints.
    pub fn rig(&self, entity: Entity) -> Option<&Arc<Rig>> {
        self.find(|shared| shared.entity == entity)
            .map(|shared| &shared.rig)
    }

    /// The entity that carries the rig of the character `root`.
    pub fn entity_of(&self, root: Entity) -> Option<Entity> {
        self.of_root.get(&root).copied()
    }

    /// The rig of `root` if it is for `key`.
    pub(super) fn rig_of(&self, root: Entity, key: RigKey) -> Option<&Arc<Rig>> {
        let entity = self.entity_of(root)?;
        self.find(|shared| shared.entity == entity && shared.key == key)
            .map(|shared| &shared.rig)
    }

    fn find(&self, is: impl Fn(&SharedRig) -> bool) -> Option<&SharedRig> {
        self.rigs.iter().find(|shared| is(shared))
    }

    /// The rig of `root` if it may become `wanted`: nobody else uses it, or all who do ask for the same.
    fn replaceable(&self, root: Entity, wanted: &Wanted, replaced: &[Entity]) -> Option<Entity> {
        let entity = self.entity_of(root)?;
        let own = self.find(|shared| shared.entity == entity && shared.key == wanted.key)?;
        let may = own.users == 1 || wanted.reloads && !replaced.contains(&entity);
        may.then_some(entity)
    }

    /// Makes `root` a user of `entity`'s rig.
    fn enter(&mut self, root: Entity, entity: Entity) {
        self.of_root.insert(root, entity);
        let shared = self.rigs.iter_mut().find(|shared| shared.entity == entity);
        if let Some(shared) = shared {
            shared.users += 1;
        }
    }

    /// Takes `root` from the users of its rig; the rig that has none any more.
    fn leave(&mut self, root: Entity) -> Option<Entity> {
        let entity = self.of_root.remove(&root)?;
        let place = self
            .rigs
            .iter()
            .position(|shared| shared.entity == entity)?;
        self.rigs[place].users -= 1;
        (self.rigs[place].users == 0).then(|| self.rigs.remove(place).entity)
    }

    /// Strikes out what somebody despawned.
    fn forget(&mut self, entity: Entity) {
        self.rigs.retain(|shared| shared.entity != entity);
        self.of_root.retain(|_, of| *of != entity);
    }
}

/// The entity that carries what `root` wants: one that is there, its old one changed, or a new one. `replaced` are those
/// that were changed already.
///
/// The resource is there whenever the World is touched: observers may look at it.
pub(super) fn take(
    world: &mut World,
    root: Entity,
    wanted: &Wanted,
    replaced: &mut Vec<Entity>,
) -> Entity {
    let is = |shared: &SharedRig| shared.key == wanted.key && *shared.rig == **wanted.rig;
    while let Some(known) = world.resource::<SharedRigs>().find(is) {
        let entity = known.entity;
        if world.get::<RigParts>(entity).is_some() {
            change_to(world, root, entity);
            return entity;
        }
        world.resource_mut::<SharedRigs>().forget(entity);
    }
    let shared = world.resource::<SharedRigs>();
    let own = shared.replaceable(root, wanted, replaced);
    if let Some(entity) = own.filter(|&entity| world.get::<RigParts>(entity).is_some()) {
        let mut shared = world.resource_mut::<SharedRigs>();
        let mut rigs = shared.rigs.iter_mut();
        if let Some(shared) = rigs.find(|shared| shared.entity == entity) {
            shared.rig = Arc::clone(wanted.rig);
        }
        replaced.push(entity);
        RigParts::replace(wanted.rig, entity, world);
        return entity;
    }
    let entity = RigParts::spawn(wanted.rig, world);
    if let Ok(mut of) = world.get_entity_mut(entity) {
        of.insert(Name::new(wanted.name.clone()));
    }
    world.resource_mut::<SharedRigs>().rigs.push(SharedRig {
        key: wanted.key,
        rig: Arc::clone(wanted.rig),
        entity,
        users: 0,
    });
    change_to(world, root, entity);
    entity
}

fn change_to(world: &mut World, root: Entity, entity: Entity) {
    if world.resource::<SharedRigs>().entity_of(root) != Some(entity) {
        leave(world, root);
        world.resource_mut::<SharedRigs>().enter(root, entity);
    }
}

/// Takes `root` from the users of its rig; a rig without users goes.
pub(super) fn leave(world: &mut World, root: Entity) {
    let gone = world.resource_mut::<SharedRigs>().leave(root);
    if let Some(gone) = gone {
        RigParts::despawn(gone, world);
    }
}
