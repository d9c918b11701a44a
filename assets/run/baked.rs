//! The motion of one actor of a scene as a new clip of its model.

use std::path::PathBuf;

use super::Stage;
use crate::action::Channel;
use crate::assets::bake::for_file;
use crate::assets::bake::moved::{Property, leg_properties, moved_properties, push};
use crate::assets::check::counted;
use crate::assets::patch::{BakedClip, BakedTarget, BakedTrack, BakedValues};
use crate::channel::{ChannelKind, ChannelLayout, ChannelPose};
use crate::clip::{Clip, ClipPlayer, Track, TrackValues};
use crate::layer::{LayerSource, Layers, Missing};
use crate::pose::LocalPose;
use crate::rig::Rig;

/// What an actor shows, frame by frame.
pub(super) struct Baked {
    /// Where it goes.
    pub(super) file: PathBuf,
    actor: usize,
    name: String,
    times: Vec<f32>,
    tracks: Vec<(usize, BakedValues)>,
    /// Joint and place in [`ChannelPose`] of each set of morph weights that moves.
    morphs: Vec<(usize, core::ops::Range<usize>, Vec<f32>)>,
}

impl Baked {
    /// The properties that the actor's clip and layers turn, move or scale, and those that the rig moves.
    pub(super) fn new(stage: &Stage, file: PathBuf, actor: usize, name: Option<&str>) -> Self {
        let clips = clips_of(stage, actor);
        let tracks = || clips.iter().flat_map(|clip| &clip.tracks);
        let mut moved = moved_properties(&stage.rig);
        moved.extend(tracks().filter_map(|track| animated(&stage.rig, track)));
        moved.extend(acted(stage, actor));
        if stage.has_anchors(actor) {
            moved.extend(leg_properties(&stage.rig));
        }
        moved.sort_unstable();
        moved.dedup();
        let layout = ChannelLayout::new(&stage.rig.channels);
        let is_moved = |joint: usize| {
            tracks().any(|t| t.joint == joint && t.channel() == Some(ChannelKind::Morph))
        };
        let sets = layout.sets().iter().enumerate();
        let morphs = sets.filter(|(_, set)| set.kind == ChannelKind::Morph && is_moved(set.joint));
        let player = stage.host.world.get::<ClipPlayer>(stage.actors[actor]);
        let clip_name = player.map_or("swing", |player| &player.playing.clip.name);
        Self {
            file,
            actor,
            name: name.unwrap_or(clip_name).to_owned(),
            times: Vec::new(),
            tracks: moved
                .into_iter()
                .map(|(joint, property)| (joint, property.values(0)))
                .collect(),
            morphs: morphs
                .map(|(index, set)| (set.joint, layout.range(index), Vec::new()))
                .collect(),
        }
    }

    /// Numbers kept per frame.
    pub(super) fn numbers(&self) -> usize {
        let of_tracks: usize = self.tracks.iter().map(|(_, values)| values.width()).sum();
        let of_morphs: usize = self.morphs.iter().map(|(_, range, _)| range.len()).sum();
        of_tracks + of_morphs
    }

    /// A warning when what moves the actor also moves what a baked clip has no tracks for.
    pub(super) fn left_out(&self, stage: &Stage) -> Option<String> {
        let clips = clips_of(stage, self.actor);
        let tracks = clips.iter().flat_map(|clip| &clip.tracks);
        let count = tracks
            .filter(|track| matches!(track.values, TrackValues::Fov(_)))
            .count();
        (count > 0).then(|| {
            format!(
                "the baked clip leaves out {} of a camera's field of view, for which glTF has no channel",
                counted(count, "track")
            )
        })
    }

    /// Keeps the frame that just ran.
    pub(super) fn keep(&mut self, stage: &Stage, time: f64) {
        let entity = stage.actors[self.actor];
        let Some(pose) = stage.host.world.get::<LocalPose>(entity) else {
            return;
        };
        self.times.push(time as f32);
        for (joint, values) in &mut self.tracks {
            push(values, &pose.0[*joint]);
        }
        if let Some(channels) = stage.host.world.get::<ChannelPose>(entity) {
            for (_, range, values) in &mut self.morphs {
                values.extend(&channels.0[range.clone()]);
            }
        }
    }

    /// What was kept as a new clip of the file.
    pub(super) fn clip(self, rig: &Rig) -> BakedClip {
        let tracks = self.tracks.into_iter().map(|(joint, mut values)| {
            if let BakedValues::Rotation(rotations) = &mut values {
                for_file(rotations);
            }
            (joint, values)
        });
        let morphs = self.morphs.into_iter().map(|(joint, range, values)| {
            let count = range.len();
            (joint, BakedValues::Weights { count, values })
        });
        BakedClip {
            target: BakedTarget::New(self.name),
            times: self.times,
            tracks: tracks
                .chain(morphs)
                .map(|(joint, values)| BakedTrack {
                    node: rig.joints[joint].source,
                    values,
                    keys: None,
                })
                .collect(),
        }
    }
}

/// Every clip that moves an actor: its own and those of its layers.
fn clips_of(stage: &Stage, actor: usize) -> Vec<&Clip> {
    let entity = stage.actors[actor];
    let player = stage.host.world.get::<ClipPlayer>(entity);
    let mut clips: Vec<&Clip> = player
        .map(|player| &*player.playing.clip)
        .into_iter()
        .collect();
    let layers = stage.host.world.get::<Layers>(entity);
    for layer in layers.into_iter().flat_map(Layers::iter) {
        match &layer.source {
            LayerSource::Clip(playback) => clips.push(&playback.clip),
            LayerSource::Blend { clips: parts, .. } => {
                clips.extend(parts.iter().map(|part| &*part.playback.clip));
            }
            LayerSource::Action { .. } => {}
        }
    }
    clips
}

/// What layers move that have no track for it: actions, and layers that put joints at rest.
fn acted(stage: &Stage, actor: usize) -> Vec<(usize, Property)> {
    let mut moved = Vec::new();
    let layers = stage.host.world.get::<Layers>(stage.actors[actor]);
    for layer in layers.into_iter().flat_map(Layers::iter) {
        let all = [Property::Rotation, Property::Translation, Property::Scale];
        match &layer.source {
            LayerSource::Action { action, .. } => {
                let joints = action.channels.iter().map(Channel::joint);
                let joints = joints.filter(|&joint| layer.mask.weight(joint) > 0.0);
                moved.extend(joints.flat_map(|joint| all[..2].iter().map(move |&p| (joint, p))));
            }
            _ if layer.missing == Missing::Rest => {
                moved.extend(
                    layer
                        .mask
                        .joints()
                        .flat_map(|joint| all.map(|p| (joint, p))),
                );
            }
            _ => {}
        }
    }
    moved
}

/// The property that a track moves, if a clip wants to be told of it.
fn animated(rig: &Rig, track: &Track) -> Option<(usize, Property)> {
    let joint = rig.joints.get(track.joint)?;
    match &track.values {
        TrackValues::Rotation(_) => Some((track.joint, Property::Rotation)),
        TrackValues::Translation(_) => Some((track.joint, Property::Translation)),
        // Exporters write scale for every joint; what only repeats the rest pose is not wanted.
        TrackValues::Scale(keys) => {
            let still = keys.iter().all(|key| *key == joint.rest.scale.to_array());
            (!still).then_some((track.joint, Property::Scale))
        }
        TrackValues::Weights { .. } | TrackValues::BakeWeight(_) | TrackValues::Fov(_) => None,
    }
}
