//! One pose: a clip at a time with layers over it, computed by the stages that also run games and bakes.

use std::path::{Path, PathBuf};

use super::Error;
use super::bake::for_file;
use super::import::Model;
use super::layers::{self, LayerRule, Surroundings};
use super::library::Library;
use super::patch::{BakedClip, BakedTarget, BakedTrack, BakedValues};
use super::rig_file::names::Names;
use super::rig_file::ranges::in_range;
use super::text::{Faults, FieldPath};
use crate::channel::{ChannelKind, ChannelLayout, ChannelPose};
use crate::clip::{ClipPlayer, Playback, Repeat};
use crate::layer::{LayerContribution, LayerReadout};
use crate::pose::{JointTransform, LocalPose, ModelPose, ModelTransform, PoseHealth};
use crate::rig::Rig;
use crate::systems::plugin::Headless;

mod files;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct PoseQuestion {
    /// The clip: its name, or `#3`; `None`: the rest pose.
    pub clip: Option<String>,
    /// Seconds; layers start at 0 and are shown at this time as well.
    pub at: f32,
    /// Whether the clip repeats beyond its end.
    pub repeats: bool,
    /// What lies over the clip.
    pub layers: Vec<LayerRule>,
    /// Where paths of actions start.
    pub folder: PathBuf,
}

/// A pose with its parts.
#[derive(Clone, Debug)]
pub struct Posed {
    /// One transform per joint against its parent, in the rig's order.
    pub local: Vec<JointTransform>,
    /// Their model transforms, metres.
    pub model: Vec<ModelTransform>,
    /// Morph weights and fields of view, see [`Rig::channels`].
    pub channels: Vec<f32>,
    /// What each layer did, in their order.
    pub layers: Vec<LayerContribution>,
    /// Joints that were not finite and took their rest pose.
    pub invalid: Vec<usize>,
}

/// The pose of `model` that `question` asks for; `library` has the clips it names.
///
/// # Errors
/// [`Error::Faults`] for values out of range and for names that the model does not have.
pub fn pose(model: &Model, library: &Library, question: &PoseQuestion) -> Result<Posed, Error> {
    let mut faults = Faults::default();
    let root = FieldPath::default();
    in_range(
        question.at,
        -3600.0..=3600.0,
        &root.field("at"),
        &mut faults,
    );
    layers::check(&question.layers, &root.field("layers"), &mut faults);
    std::mem::take(&mut faults).into_error(&model.file)?;
    let mut around = Surroundings::new(&model.rig, &library.clips, &question.folder);
    let shifted: Vec<LayerRule> = question
        .layers
        .iter()
        .map(|rule| shift(rule, question.at))
        .collect();
    let layers = around.build(&shifted, &root.field("layers"), &mut faults);
    let clip = question.clip.as_deref().map(|name| {
        let clip = around.clip(name, &root.field("clip"), &mut faults)?;
        let repeat = if question.repeats {
            Repeat::Loop
        } else {
            Repeat::Once
        };
        Some(ClipPlayer::from(Playback {
            start: f64::from(question.at),
            ..Playback::new(clip, repeat)
        }))
    });
    faults.into_error(&model.file)?;
    if let Some(error) = around.action_error.take() {
        return Err(error);
    }
    let mut host = Headless::new();
    let rig = host.spawn_rig(&model.rig);
    let readouts = (
        ModelPose::default(),
        ChannelPose::default(),
        LayerReadout::default(),
    );
    let actor = host.spawn_actor(rig, (layers, readouts));
    if let Some(player) = clip.flatten() {
        host.world.entity_mut(actor).insert(player);
    }
    // The clock starts at 0, which it cannot refuse.
    let ran = host.run_to(0.0);
    debug_assert!(ran.is_ok(), "time 0 is no step back");
    let world = &host.world;
    Ok(Posed {
        local: world
            .get(actor)
            .map(|LocalPose(pose)| pose.clone())
            .unwrap_or_default(),
        model: world
            .get(actor)
            .map(|ModelPose(pose)| pose.clone())
            .unwrap_or_default(),
        channels: world
            .get(actor)
            .map(|ChannelPose(of)| of.clone())
            .unwrap_or_default(),
        layers: world
            .get(actor)
            .map(|LayerReadout(of)| of.clone())
            .unwrap_or_default(),
        invalid: world
            .get(actor)
            .map(|of: &PoseHealth| of.invalid.clone())
            .unwrap_or_default(),
    })
}

/// A layer whose time 0 is shown at `at`.
fn shift(rule: &LayerRule, at: f32) -> LayerRule {
    let mut rule = rule.clone();
    rule.starts -= f64::from(at);
    if let Some(window) = &mut rule.window {
        // Its clips count from when it opens.
        window.starts -= f64::from(at);
        return rule;
    }
    rule.start += at * rule.speed;
    for blend in &mut rule.blend {
        blend.start += at * rule.speed;
    }
    rule
}

impl Posed {
    /// Whether a field of view is not that of the file.
    pub fn moves_lenses(&self, rig: &Rig) -> bool {
        let layout = ChannelLayout::new(&rig.channels);
        let sets = layout.sets().iter().enumerate();
        let mut lenses = sets.filter(|(_, set)| set.kind == ChannelKind::Fov);
        lenses.any(|(index, set)| self.channels[layout.range(index)] != set.rest)
    }

    /// The pose as a new clip of one key called `name`: every property that differs from rest.
    pub fn clip(&self, rig: &Rig, name: &str) -> BakedClip {
        let mut tracks = Vec::new();
        for (joint, local) in rig.joints.iter().zip(&self.local) {
            let mut track = |values| {
                tracks.push(BakedTrack {
                    node: joint.source,
                    values,
                    keys: None,
                });
            };
            if local.rotation != joint.rest.rotation {
                let mut key = [local.rotation.to_array()];
                for_file(&mut key);
                track(BakedValues::Rotation(key.to_vec()));
            }
            if local.translation != joint.rest.translation {
                track(BakedValues::Translation(vec![local.translation.to_array()]));
            }
            if local.scale != joint.rest.scale {
                track(BakedValues::Scale(vec![local.scale.to_array()]));
            }
        }
        let layout = ChannelLayout::new(&rig.channels);
        for (index, set) in layout.sets().iter().enumerate() {
            let values = &self.channels[layout.range(index)];
            if set.kind == ChannelKind::Morph && values != set.rest {
                tracks.push(BakedTrack {
                    node: rig.joints[set.joint].source,
                    values: BakedValues::Weights {
                        count: values.len(),
                        values: values.to_vec(),
                    },
                    keys: None,
                });
            }
        }
        BakedClip {
            target: BakedTarget::New(name.to_owned()),
            times: vec![0.0],
            tracks,
        }
    }
}

/// The joint that `name` means: a joint's name, `#node` or `Parent/Child`.
///
/// # Errors
/// [`Error::Request`] when no joint, or more than one, is meant.
pub fn find_joint(rig: &Rig, name: &str) -> Result<usize, Error> {
    let names = Names::new(rig);
    names.find(name).map_err(|missing| {
        let (fault, help) = names.explain(name, &missing);
        let help = help.map_or_else(String::new, |help| format!("; {help}"));
        Error::Request(format!("{fault}{help}"))
    })
}

/// A layer written on the command line: the RON of a [`LayerRule`].
///
/// # Errors
/// [`Error::Ron`] with the place in `text`; `name` stands for the file.
pub fn layer(name: &str, text: &str) -> Result<LayerRule, Error> {
    super::text::parse(Path::new(name), text)
}
