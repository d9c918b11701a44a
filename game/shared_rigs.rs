//! Rigs in use: one entity with the parameters for all characters of one rig file and one skeleton.

use std::sync::Arc;

use bevy_asset::AssetId;
use bevy_ecs::prelude::*;

use super::rig_asset::RigAsset;
use crate::rig::{Rig, RigParts};

/// What a rig is for: a file, and the character that does not share it.
pub(super) type RigKey = (AssetId<RigAsset>, Option<Entity>);

/// The rigs of bound characters.
#[derive(Resource, Debug, Default)]
pub struct SharedRigs(Vec<SharedRig>);

#[derive(Debug)]
struct SharedRig {
    key: RigKey,
    /// As the file made it, before anybody edited its parts.
    rig: Arc<Rig>,
    /// Carries [`RigParts`].
    entity: Entity,
    users: usize,
}

impl SharedRigs {
    /// The rig that `entity` carries, as its file made it: for binding clips and masks to its joints.
    pub fn rig(&self, entity: Entity) -> Option<&Arc<Rig>> {
        let found = self.0.iter().find(|shared| shared.entity == entity);
        found.map(|shared| &shared.rig)
    }

    /// The rig of `entity` if it is for `key`.
    pub(super) fn rig_of(&self, entity: Entity, key: RigKey) -> Option<&Arc<Rig>> {
        let is = |shared: &&SharedRig| shared.entity == entity && shared.key == key;
        self.0.iter().find(is).map(|shared| &shared.rig)
    }

    /// The entity that carries `rig`, for one more user that leaves `bound`.
    ///
    /// A file that `reloads` changes the rig that it made before, once, so that who uses it keeps moving; `replaced` are
    /// those that have changed already.
    pub(super) fn take(
        &mut self,
        world: &mut World,
        key: RigKey,
        rig: &Rig,
        bound: Option<Entity>,
        reloads: bool,
        replaced: &mut Vec<Entity>,
    ) -> Entity {
        let known = |shared: &SharedRig| shared.key == key && *shared.rig == *rig;
        if let Some(place) = self.0.iter().position(known) {
            let entity = self.0[place].entity;
            if bound != Some(entity) {
                self.0[place].users += 1;
                self.leave_old(world, bound);
            }
            return entity;
        }
        let own = |shared: &&mut SharedRig| Some(shared.entity) == bound && shared.key == key;
        if let Some(shared) = self.0.iter_mut().find(own)
            && (shared.users == 1 || reloads && !replaced.contains(&shared.entity))
        {
            shared.rig = Arc::new(rig.clone());
            replaced.push(shared.entity);
            RigParts::replace(rig, shared.entity, world);
            return shared.entity;
        }
        let entity = RigParts::spawn(rig, world);
        self.0.push(SharedRig {
            key,
            rig: Arc::new(rig.clone()),
            entity,
            users: 1,
        });
        self.leave_old(world, bound);
        entity
    }

    fn leave_old(&mut self, world: &mut World, bound: Option<Entity>) {
        if let Some(bound) = bound {
            self.leave(world, bound);
        }
    }

    /// Takes a user from the rig of `entity`; without users it goes.
    pub(super) fn leave(&mut self, world: &mut World, entity: Entity) {
        let Some(place) = self.0.iter().position(|shared| shared.entity == entity) else {
            return;
        };
        self.0[place].users -= 1;
        if self.0[place].users == 0 {
            self.0.remove(place);
            RigParts::despawn(entity, world);
        }
    }
}
