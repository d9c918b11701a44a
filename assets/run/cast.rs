//! The actors of a scene: what each group plays, found once, and put on every actor of it.

use std::path::PathBuf;

use bevy_ecs::entity::Entity;

use super::expectations::refuse;
use super::inputs::{Inputs, hashed};
use crate::assets::Error;
use crate::assets::bake::recording::uncapped;
use crate::assets::layers::{RowsRule, Surroundings};
use crate::assets::scene::{Scene, SceneActor};
use crate::assets::state_hash::StateHash;
use crate::assets::text::{Faults, FieldPath};
use crate::channel::ChannelPose;
use crate::clip::{ClipPlayer, Playback, Repeat};
use crate::foot::{FootAnchors, FootReadout};
use crate::layer::{LayerReadout, Layers};
use crate::swing::SwingReadout;
use crate::systems::plugin::Headless;

/// What the groups of a scene play.
pub(super) struct Cast {
    groups: Vec<Part>,
    /// Actions that the layers refer to.
    pub(super) read: Vec<(PathBuf, StateHash)>,
    /// What deserves a look.
    pub(super) warnings: Vec<String>,
}

/// What the actors of one group play.
struct Part {
    playing: Option<Playback>,
    layers: Layers,
}

impl Cast {
    /// Finds the clips, joints and actions that the scene's groups name.
    ///
    /// # Errors
    /// [`Error::Faults`] for those that the model does not have or that cannot be read.
    pub(super) fn new(scene: &Scene, inputs: &Inputs) -> Result<Self, Error> {
        let mut around = Surroundings::new(&inputs.rig, &inputs.library.clips, scene.folder());
        let mut faults = Faults::default();
        let path = FieldPath::default().field("actors");
        let mut groups = Vec::new();
        for (index, rule) in scene.rules().actors.iter().enumerate() {
            let path = path.index(index);
            let name = rule.clip.as_deref();
            let clip = name.and_then(|name| around.clip(name, &path.field("clip"), &mut faults));
            around.bound = rule.in_rows.as_ref().map(RowsRule::bound);
            let repeat = if rule.repeats {
                Repeat::Loop
            } else {
                Repeat::Once
            };
            let playing = clip.map(|clip| around.in_rows(Playback::new(clip, repeat)));
            let layers = around.build(&rule.layers, &path.field("layers"), &mut faults);
            groups.push(Part { playing, layers });
        }
        refuse(scene.file(), faults.messages())?;
        if let Some(error) = around.action_error.take() {
            return Err(error);
        }
        let warnings = std::mem::take(&mut around.warnings);
        let read = around.read.iter().map(|file| hashed(file));
        let read = read.collect::<Result<_, _>>()?;
        Ok(Self {
            groups,
            read,
            warnings,
        })
    }

    /// Puts an actor into the World.
    pub(super) fn spawn(
        &mut self,
        host: &mut Headless,
        rig: Entity,
        scene: &Scene,
        actor: &SceneActor,
    ) -> Entity {
        let profile = uncapped(&scene.profile(), scene.rules().rate_hz);
        let parts = (
            actor.properties,
            profile,
            SwingReadout::default(),
            ChannelPose::default(),
        );
        let entity = host.spawn_actor(rig, parts);
        let mut spawned = host.world.entity_mut(entity);
        if !actor.feet.is_empty() {
            spawned.insert((FootAnchors::default(), FootReadout::default()));
        }
        if let Some(wind) = scene.wind() {
            spawned.insert(wind);
        }
        let part = &self.groups[actor.group];
        if !part.layers.is_empty() {
            spawned.insert((part.layers.clone(), LayerReadout::default()));
        }
        if let Some(playing) = &part.playing {
            spawned.insert(ClipPlayer::from(Playback {
                start: f64::from(actor.start),
                ..playing.clone()
            }));
        }
        entity
    }
}
