//! Layers on a model: names become joints and clips.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::schema::{KindRule, LayerRule, MaskRule, ReferenceRule, WindowRule};
use crate::action::{Action, ActionClock, Envelope};
use crate::assets::rig_file::names::Names;
use crate::assets::text::{Faults, FieldPath, did_you_mean, quoted};
use crate::assets::{Error, action_file};
use crate::clip::{Clip, Playback, Repeat};
use crate::layer::{BlendClip, Layer, LayerKind, LayerSource, Layers, Reference, Window};
use crate::mask::JointMask;
use crate::rig::Rig;
use crate::uniform::ErrorBound;

/// What layers can refer to: the joints of a rig, the clips of its model and of other files, actions beside the file.
pub(in crate::assets) struct Surroundings<'a> {
    names: Names<'a>,
    parents: Vec<Option<usize>>,
    clips: &'a [Arc<Clip>],
    /// Where relative paths start.
    folder: PathBuf,
    /// Actions that were read, by path: a thousand actors share one.
    actions: BTreeMap<String, Arc<Action>>,
    /// The files of these actions.
    pub(in crate::assets) read: Vec<PathBuf>,
    /// How near rows have to stay to the keys of clips; `None`: clips are played by their keys.
    pub(in crate::assets) bound: Option<ErrorBound>,
    /// The first fault of an action's own file, which has a place there.
    pub(in crate::assets) action_error: Option<Error>,
    /// Clips that keep their keys although rows were asked for.
    pub(in crate::assets) warnings: Vec<String>,
}

impl<'a> Surroundings<'a> {
    /// Of layers in a file in `folder`.
    pub(in crate::assets) fn new(rig: &'a Rig, clips: &'a [Arc<Clip>], folder: &Path) -> Self {
        Self {
            names: Names::new(rig),
            parents: rig.joints.iter().map(|joint| joint.parent).collect(),
            clips,
            folder: folder.to_path_buf(),
            actions: BTreeMap::new(),
            read: Vec::new(),
            bound: None,
            action_error: None,
            warnings: Vec::new(),
        }
    }

    /// `playback` in rows, where they are asked for and near enough.
    pub(in crate::assets) fn in_rows(&mut self, playback: Playback) -> Playback {
        let Some(bound) = self.bound else {
            return playback;
        };
        match playback.clone().in_rows(self.parents.len(), &bound) {
            Ok(in_rows) => in_rows,
            Err(why) => {
                let name = &playback.clip.name;
                let warning = format!("clip \"{name}\" is played by its keys: {why}");
                if !self.warnings.contains(&warning) {
                    self.warnings.push(warning);
                }
                playback
            }
        }
    }

    /// `rules`, which [`super::check`] found nothing wrong with, on the rig.
    ///
    /// What does not fit the model is added to `faults`; the layers are of no use then.
    pub(in crate::assets) fn build(
        &mut self,
        rules: &[LayerRule],
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Layers {
        let mut layers = Layers::default();
        for (index, rule) in rules.iter().enumerate() {
            let path = path.index(index);
            let Some(source) = self.source(rule, &path, faults) else {
                continue;
            };
            let mask = self.mask(&rule.mask, &path.field("mask"), faults);
            let layer = Layer {
                kind: self.kind(rule, &path, faults),
                weight: rule.weight,
                window: rule.window.as_ref().map(window),
                missing: rule.missing,
                interpolant: rule.interpolant,
                ..Layer::new(rule.called(), rule.ordered(index), source, mask)
            };
            if let Err(fault) = layers.add(layer) {
                faults.add(&path, fault.to_string());
            }
        }
        layers
    }

    fn source(
        &mut self,
        rule: &LayerRule,
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Option<LayerSource> {
        let repeat = if rule.repeats {
            Repeat::Loop
        } else {
            Repeat::Once
        };
        // A window opens on what its clips start with.
        let window = rule.window.as_ref();
        let opens = window.map_or(0.0, |window| window.starts + window.lead_in);
        let playback = |clip: Arc<Clip>, start: f32| {
            let playback = Playback {
                start: f64::from(start),
                speed: f64::from(rule.speed),
                ..Playback::new(clip, repeat)
            };
            playback.begins_at(opens)
        };
        if let Some(file) = &rule.action {
            let action = self.action(file, &path.field("action"), faults)?;
            let starts = rule.starts;
            return Some(LayerSource::Action { action, starts });
        }
        if let Some(name) = &rule.clip {
            let clip = self.clip(name, &path.field("clip"), faults)?;
            let playback = playback(clip, rule.start);
            return Some(LayerSource::Clip(self.in_rows(playback)));
        }
        let mut clips = Vec::new();
        for (index, blend) in rule.blend.iter().enumerate() {
            let path = path.field("blend").index(index).field("clip");
            let clip = self.clip(&blend.clip, &path, faults)?;
            clips.push(BlendClip {
                playback: self.in_rows(playback(clip, blend.start)),
                weight: blend.weight,
            });
        }
        let about_rest = rule.about_rest;
        Some(LayerSource::Blend { clips, about_rest })
    }

    /// The clip of that name, or `#3`; of two that share a name the first.
    pub(in crate::assets) fn clip(
        &self,
        name: &str,
        path: &FieldPath,
        faults: &mut Faults,
    ) -> Option<Arc<Clip>> {
        let found = find_clip(self.clips, name);
        if found.is_none() {
            let names = || self.clips.iter().map(|clip| clip.name.as_str());
            let all: Vec<&str> = names().collect();
            let known = if all.is_empty() {
                "but the model has no clips".to_owned()
            } else {
                format!("expected a clip: {}", all.join(", "))
            };
            let fault = format!("found {}, {known}", quoted(name));
            faults.add_with_help(path, fault, did_you_mean(name, names()));
        }
        found.cloned()
    }

    fn action(&mut self, file: &str, path: &FieldPath, faults: &mut Faults) -> Option<Arc<Action>> {
        if let Some(known) = self.actions.get(file) {
            return Some(Arc::clone(known));
        }
        let place = self.folder.join(file);
        if !place.is_file() {
            let fault = format!("found {}, which is no file", quoted(file));
            faults.add(path, fault);
            return None;
        }
        match action_file::read_for(&place, &self.names) {
            Ok(action) => {
                let action = Arc::new(action);
                self.actions.insert(file.to_owned(), Arc::clone(&action));
                self.read.push(place);
                Some(action)
            }
            Err(error) => {
                self.action_error.get_or_insert(error);
                None
            }
        }
    }

    fn kind(&self, rule: &LayerRule, path: &FieldPath, faults: &mut Faults) -> LayerKind {
        let KindRule::Additive {
            side,
            reference,
            continuous,
        } = &rule.kind
        else {
            return LayerKind::Override;
        };
        let of = |name: &str, time: f32, faults: &mut Faults| {
            let clip = self.clip(name, &path.field("kind"), faults);
            clip.map_or(Reference::Rest, |clip| Reference::Clip { clip, time })
        };
        let reference = match (reference, &rule.clip) {
            (ReferenceRule::Clip { clip, at }, _) => of(clip, *at, faults),
            (ReferenceRule::At(at), Some(own)) => of(own, *at, faults),
            (ReferenceRule::Rest | ReferenceRule::At(_), _) => Reference::Rest,
        };
        LayerKind::Additive {
            side: *side,
            reference,
            continuous: *continuous,
        }
    }

    fn mask(&self, rule: &MaskRule, path: &FieldPath, faults: &mut Faults) -> JointMask {
        let mut joint = |name: &str, path: &FieldPath| match self.names.find(name) {
            Ok(joint) => Some(joint),
            Err(missing) => {
                let (fault, help) = self.names.explain(name, &missing);
                faults.add_with_help(path, fault, help);
                None
            }
        };
        let mut all = |field: &str, names: &[String]| -> Vec<usize> {
            let path = path.field(field);
            let found = names.iter().enumerate();
            found
                .filter_map(|(index, name)| joint(name, &path.index(index)))
                .collect()
        };
        let (mut roots, except) = (all("roots", &rule.roots), all("except", &rule.except));
        if rule.roots.is_empty() {
            let tops = (0..self.parents.len()).filter(|&joint| self.parents[joint].is_none());
            roots = tops.collect();
        }
        let path = path.field("weights");
        let weights = rule.weights.iter();
        let weights: Vec<(usize, f32)> = weights
            .filter_map(|(name, &weight)| Some((joint(name, &path.key(name))?, weight)))
            .collect();
        match JointMask::new(&self.parents, &roots, &except, &weights) {
            Ok(mask) => mask,
            Err(fault) => {
                faults.add(&path, fault.to_string());
                JointMask::all(self.parents.len())
            }
        }
    }
}

/// The clip called `name`, the first of those; else `#3`, the file's animation 3.
pub(in crate::assets) fn find_clip<'c>(
    clips: &'c [Arc<Clip>],
    name: &str,
) -> Option<&'c Arc<Clip>> {
    let index = name
        .strip_prefix('#')
        .and_then(|index| index.parse::<usize>().ok())
        // Clips of other files have no number of their own here.
        .filter(|&index| index != usize::MAX);
    let by_name = clips.iter().find(|clip| clip.name == name);
    by_name.or_else(|| clips.iter().find(|clip| index == Some(clip.source)))
}

fn window(rule: &WindowRule) -> Window {
    Window {
        clock: ActionClock {
            lead_in: rule.lead_in,
            length: rule.length,
            lead_out: 0.0,
            recovers: false,
        },
        envelope: Envelope {
            fade_in: rule.fade_in,
            fade_out: rule.fade_out,
            ease_in: rule.ease.clone(),
            ease_out: rule.ease.clone(),
        },
        starts: rule.starts,
    }
}
