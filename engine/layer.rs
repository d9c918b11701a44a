//! Layers: motion laid over the pose below, in an explicit order. `[L1]`–`[L4]`
//!
//! An actor carries [`Layers`]. Each has a source (a clip, a blend of clips, an action), a kind ([`LayerKind`]: override
//! or additive, and on which side), a weight, a [`JointMask`] and an order. Layers run in their order, never in that of a
//! container, and two of one order are refused. What lies below the first is the actor's clip, or the pose that its host
//! gives: there is no layer that becomes the base because others are masked out.
//!
//! The systems are in [`crate::systems::layering`]; the arithmetic of one joint is here ([`override_joint`], [`add_joint`]) and in [`crate::additive`].

use std::sync::Arc;

use bevy_ecs::component::Component;
#[cfg(feature = "rig_files")]
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::action::{Action, ActionClock, Envelope};
use crate::additive::Side;
use crate::blend::Interpolant;
use crate::clip::{Clip, Playback};
use crate::mask::JointMask;

mod joint;
mod readout;
mod work;

pub use joint::{Additive, Kept, Present, add_joint, override_joint};
pub use readout::{JointContribution, LayerContribution, LayerReadout};
pub use work::{LayerState, LayerWork, Sampled, Totals};

/// Motion laid over the pose below.
#[derive(Clone, Debug)]
pub struct Layer {
    /// What messages and readouts call it; one of its own on an actor.
    pub name: String,
    /// Its place: lower ones run first. One of its own on an actor.
    pub order: i32,
    /// Where the motion comes from.
    pub source: LayerSource,
    /// What is done with it.
    pub kind: LayerKind,
    /// How much of it, 0 to 1: *0 leaves the pose below as it is, bit for bit, 1 shows all*. Anything else, NaN included,
    /// counts as 0 and is reported. `[B6]`
    pub weight: f32,
    /// When it acts and how it fades; `None`: always.
    pub window: Option<Window>,
    /// Which joints it reaches. `[L3]`
    pub mask: JointMask,
    /// What a property without a track does. `[L4]`
    pub missing: Missing,
    /// How rotations blend. `[B3]`
    pub interpolant: Interpolant,
}

impl Layer {
    /// An override of all of `source` at weight 1 on the joints of `mask`.
    pub fn new(name: impl Into<String>, order: i32, source: LayerSource, mask: JointMask) -> Self {
        Self {
            name: name.into(),
            order,
            source,
            kind: LayerKind::Override,
            weight: 1.0,
            window: None,
            mask,
            missing: Missing::default(),
            interpolant: Interpolant::default(),
        }
    }

    /// Its weight at `time` on the actor's clock, without the mask's; `None` when it is no number from 0 to 1.
    pub fn weight_at(&self, time: f64) -> Option<f32> {
        if !(0.0..=1.0).contains(&self.weight) {
            return None;
        }
        let window = self
            .window
            .as_ref()
            .map_or(1.0, |window| window.weight(time));
        let weight = self.weight * window;
        // So little that it has lost its digits is nothing.
        Some(if weight < f32::MIN_POSITIVE {
            0.0
        } else {
            weight
        })
    }
}

/// Where a layer's motion comes from.
#[derive(Clone, Debug)]
pub enum LayerSource {
    /// A clip, on the actor's clock: one that plays once begins where [`Playback::begins_at`] says.
    Clip(Playback),
    /// Several clips side by side, blended by their weights joint by joint; a joint's weights are those of the clips that
    /// move it. `[B4]`
    Blend {
        /// 1 to [`MOST_BLENDED`] clips.
        clips: Vec<BlendClip>,
        /// Whether rotations are aligned to the joint's rest rotation, which is continuous in the weights; else to the
        /// heaviest input's.
        about_rest: bool,
    },
    /// An action, whose channels act as `[K5]` says; its kind is [`LayerKind::Override`].
    Action {
        /// What is done.
        action: Arc<Action>,
        /// When its lead-in begins, on the actor's clock, seconds.
        starts: f64,
    },
}

/// One clip of a blend.
#[derive(Clone, Debug)]
pub struct BlendClip {
    /// What plays.
    pub playback: Playback,
    /// How much of it against the others, ≥ 0; they need not add up to 1.
    pub weight: f32,
}

/// What a layer does with the pose below.
#[derive(Clone, Debug, Default)]
pub enum LayerKind {
    /// Takes its place: `blend(base, sample, w)`. `[L1]`
    #[default]
    Override,
    /// Adds what the sample differs from a reference. `[L2]`
    Additive {
        /// On which side of the base: [`Side::Own`] unless asked for.
        side: Side,
        /// What the sample is compared with.
        reference: Reference,
        /// Whether a delta of half a turn and more keeps the way it came; else it takes the shorter arc in each frame.
        continuous: bool,
    },
}

/// What an additive layer's sample is compared with; part of the layer. `[L2]`
#[derive(Clone, Debug, Default)]
pub enum Reference {
    /// The rig's rest pose.
    #[default]
    Rest,
    /// A clip at one time, which may be the layer's own; properties without a track are at rest.
    Clip {
        /// Which.
        clip: Arc<Clip>,
        /// Seconds.
        time: f32,
    },
}

/// What a property without a track does, each of translation, rotation and scale by itself. `[L4]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum Missing {
    /// Stays as it is below the layer.
    #[default]
    Base,
    /// Counts as at rest.
    Rest,
}

/// When a layer acts and how it fades in and out. `[K3]` `[K4]`
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Lead-in and length.
    pub clock: ActionClock,
    /// The fades.
    pub envelope: Envelope,
    /// When the lead-in begins, on the actor's clock, seconds.
    pub starts: f64,
}

impl Window {
    /// The fade's weight at `time` on the actor's clock, 0 to 1; 0 outside.
    pub fn weight(&self, time: f64) -> f32 {
        self.envelope.weight(&self.clock.at(time - self.starts))
    }
}

/// Why layers were refused.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum LayerFault {
    /// Which of the two runs first is not said.
    #[error("layers \"{first}\" and \"{second}\" have the same order {order}")]
    Tie {
        /// One.
        first: String,
        /// The other.
        second: String,
        /// Theirs.
        order: i32,
    },
    /// Readouts and edits could mean either.
    #[error("two layers are called \"{0}\"")]
    Name(String),
    /// An action has a way of its own to act.
    #[error("layer \"{0}\" plays an action and is additive; an action is an override")]
    ActionKind(String),
    /// More than can be told apart in a blend.
    #[error("layer \"{name}\" blends {count} clips; expected 1 to {MOST_BLENDED}")]
    Blended {
        /// Which layer.
        name: String,
        /// How many clips.
        count: usize,
    },
}

/// More clips than this are not blended in one layer.
pub const MOST_BLENDED: usize = 64;

/// The layers of an actor, in their order.
///
/// Weights are edited by [`Layers::get_mut`]; order and names are settled by [`Layers::add`].
#[derive(Component, Clone, Debug, Default)]
pub struct Layers(Vec<Layer>);

impl Layers {
    /// Puts `layers` into their order.
    ///
    /// # Errors
    /// As [`Layers::add`].
    pub fn new(layers: impl IntoIterator<Item = Layer>) -> Result<Self, LayerFault> {
        let mut all = Self::default();
        for layer in layers {
            all.add(layer)?;
        }
        Ok(all)
    }

    /// Adds a layer at its place.
    ///
    /// # Errors
    /// [`LayerFault`] when another has its order or name, when an action is additive, and for a blend of no clips or too
    /// many; nothing has changed then.
    pub fn add(&mut self, layer: Layer) -> Result<(), LayerFault> {
        if self.get(&layer.name).is_some() {
            return Err(LayerFault::Name(layer.name));
        }
        match (&layer.source, &layer.kind) {
            (LayerSource::Action { .. }, LayerKind::Additive { .. }) => {
                return Err(LayerFault::ActionKind(layer.name));
            }
            (LayerSource::Blend { clips, .. }, _) if !(1..=MOST_BLENDED).contains(&clips.len()) => {
                let count = clips.len();
                return Err(LayerFault::Blended {
                    name: layer.name,
                    count,
                });
            }
            _ => {}
        }
        match self
            .0
            .binary_search_by_key(&layer.order, |known| known.order)
        {
            Ok(place) => Err(LayerFault::Tie {
                first: self.0[place].name.clone(),
                second: layer.name,
                order: layer.order,
            }),
            Err(place) => {
                self.0.insert(place, layer);
                Ok(())
            }
        }
    }

    /// Takes the layer called `name` away.
    pub fn remove(&mut self, name: &str) -> Option<Layer> {
        let place = self.0.iter().position(|layer| layer.name == name)?;
        Some(self.0.remove(place))
    }

    /// The layer called `name`.
    pub fn get(&self, name: &str) -> Option<&Layer> {
        self.0.iter().find(|layer| layer.name == name)
    }

    /// What may change on the layer called `name` while it is there.
    pub fn get_mut(&mut self, name: &str) -> Option<LayerEdit<'_>> {
        let layer = self.0.iter_mut().find(|layer| layer.name == name)?;
        let (playback, blend) = match &mut layer.source {
            LayerSource::Clip(playback) => (Some(playback), &mut [][..]),
            LayerSource::Blend { clips, .. } => (None, &mut clips[..]),
            LayerSource::Action { .. } => (None, &mut [][..]),
        };
        Some(LayerEdit {
            playback,
            blend,
            weight: &mut layer.weight,
            window: &mut layer.window,
            mask: &mut layer.mask,
            missing: &mut layer.missing,
            interpolant: &mut layer.interpolant,
        })
    }

    /// In their order.
    pub fn iter(&self) -> core::slice::Iter<'_, Layer> {
        self.0.iter()
    }

    /// How many.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The parts of a layer that can change without changing its place; see [`Layer`].
#[derive(Debug)]
pub struct LayerEdit<'l> {
    /// What a layer of one clip plays.
    pub playback: Option<&'l mut Playback>,
    /// The clips of a blend with their weights; empty for other layers.
    pub blend: &'l mut [BlendClip],
    /// See [`Layer::weight`].
    pub weight: &'l mut f32,
    /// See [`Layer::window`].
    pub window: &'l mut Option<Window>,
    /// See [`Layer::mask`].
    pub mask: &'l mut JointMask,
    /// See [`Layer::missing`].
    pub missing: &'l mut Missing,
    /// See [`Layer::interpolant`].
    pub interpolant: &'l mut Interpolant,
}
