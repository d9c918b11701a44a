//! Channels: points a file's animations to the baked keys.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::assets::Error;
use crate::assets::import::matrix::decompose;
use crate::assets::json::{Index, Numbers, Object};
use crate::assets::patch::keys::{TrackAccessors, exact};
use crate::assets::patch::splice::{Array, Document};
use crate::assets::patch::{BakedClip, BakedTarget, BakedTrack};

/// What matters of a channel.
#[derive(Deserialize)]
struct Channel {
    sampler: Index,
    target: Object<Target>,
}

/// What a channel moves.
#[derive(Deserialize)]
struct Target {
    node: Option<Index>,
    path: String,
    extensions: Option<Object<TargetExtensions>>,
}

#[derive(Deserialize)]
struct TargetExtensions {
    #[serde(rename = "KHR_animation_pointer")]
    pointer: Option<Object<AnimationPointer>>,
}

#[derive(Deserialize)]
struct AnimationPointer {
    pointer: String,
}

impl Target {
    /// Whether it is the node and property of `track`, said in the core's way.
    fn is(&self, track: &BakedTrack) -> bool {
        self.node.map(Index::get) == Some(track.node) && self.path == track.path()
    }

    /// Whether it is the node and property of `track`, said by a JSON pointer. *`KHR_animation_pointer`*
    fn points_to(&self, track: &BakedTrack) -> bool {
        let pointer = self.extensions.as_ref().and_then(|it| it.pointer.as_ref());
        pointer.is_some_and(|it| it.pointer == format!("/nodes/{}/{}", track.node, track.path()))
    }
}

/// Refuses animations and nodes that do not exist or are named twice.
pub(super) fn check_targets(document: &Document<'_>, clips: &[BakedClip]) -> Result<(), Error> {
    let animations = document.top_count("animations")?;
    let nodes = document.top_count("nodes")?;
    let mut seen = BTreeSet::new();
    for clip in clips {
        let fault = |what: String| Err(Error::Request(format!("{}: {what}", clip.describe())));
        match clip.target {
            BakedTarget::Animation(index) if index >= animations => {
                return fault(format!("the model has {animations} animations"));
            }
            BakedTarget::Animation(index) if !seen.insert(index) => {
                return fault("another baked clip has the same animation".into());
            }
            BakedTarget::New(_) if clip.tracks.is_empty() => {
                return fault("found no tracks, expected at least one in a new animation".into());
            }
            _ => {}
        }
        let mut moved = BTreeSet::new();
        for track in &clip.tracks {
            let (node, path) = (track.node, track.path());
            if node >= nodes {
                return fault(format!(
                    "{path} of node {node}: the model has {nodes} nodes"
                ));
            }
            if !moved.insert((node, path)) {
                return fault(format!("{path} of node {node}: two tracks, expected one"));
            }
        }
    }
    Ok(())
}

/// Makes each clip's animation play its baked keys; `accessors` per clip and track.
pub(super) fn connect(
    document: &mut Document<'_>,
    clips: &[BakedClip],
    accessors: &[Vec<TrackAccessors>],
) -> Result<(), Error> {
    let mut new = Vec::new();
    // Found once: they are most of the text, and there may be hundreds of clips.
    let animations = document.top_array("animations")?;
    let animations = animations.map_or(Vec::new(), |all| all.elements);
    for (clip, accessors) in clips.iter().zip(accessors) {
        match &clip.target {
            BakedTarget::Animation(index) => {
                let text = animations.get(*index).copied().unwrap_or("null");
                connect_existing(document, *index, text, clip, accessors)?;
            }
            BakedTarget::New(name) => new.push(new_animation(name, clip, accessors)),
        }
    }
    document.push_top("animations", &new)
}

fn new_animation(name: &str, clip: &BakedClip, accessors: &[TrackAccessors]) -> String {
    let channels = clip.tracks.iter().enumerate();
    let channels: Vec<String> = channels.map(|(i, track)| channel_json(i, track)).collect();
    let samplers: Vec<String> = accessors.iter().map(sampler_json).collect();
    format!(
        "{{\"name\":{},\"channels\":[{}],\"samplers\":[{}]}}",
        serde_json::Value::from(name),
        channels.join(","),
        samplers.join(",")
    )
}

fn channel_json(sampler: usize, track: &BakedTrack) -> String {
    format!(
        "{{\"sampler\":{sampler},\"target\":{}}}",
        target_json(track)
    )
}

fn target_json(track: &BakedTrack) -> String {
    format!("{{\"node\":{},\"path\":\"{}\"}}", track.node, track.path())
}

fn sampler_json(accessors: &TrackAccessors) -> String {
    let TrackAccessors { input, output } = accessors;
    format!("{{\"input\":{input},\"interpolation\":\"LINEAR\",\"output\":{output}}}")
}

/// An animation of the file.
struct Animation<'a> {
    place: String,
    channels: Array<'a>,
    samplers: Array<'a>,
    /// What the channels say.
    known: Vec<Channel>,
}

/// Puts the tracks of `clip` into the animation `index`, which is `text`, keeping every index in it.
fn connect_existing<'a>(
    document: &mut Document<'a>,
    index: usize,
    text: &'a str,
    clip: &BakedClip,
    accessors: &[TrackAccessors],
) -> Result<(), Error> {
    let animation = read_animation(document, index, text)?;
    let mut reusable = reusable_samplers(&animation, clip);
    let (mut new_channels, mut new_samplers) = (Vec::new(), Vec::new());
    for (track, accessors) in clip.tracks.iter().zip(accessors) {
        let mine = animation.channels_of(track);
        let old = mine
            .iter()
            .map(|&c| animation.known[c].sampler.get())
            .find(|&s| reusable[s]);
        let sampler = match old {
            Some(old) => {
                reusable[old] = false;
                rewrite_sampler(document, &animation, old, accessors)?;
                old
            }
            None => {
                new_samplers.push(sampler_json(accessors));
                animation.samplers.elements.len() + new_samplers.len() - 1
            }
        };
        for &c in &mine {
            rewrite_channel(document, &animation, c, track, sampler)?;
        }
        if mine.is_empty() {
            new_channels.push(channel_json(sampler, track));
        }
    }
    document.push(&animation.channels, &new_channels);
    document.push(&animation.samplers, &new_samplers);
    Ok(())
}

impl Animation<'_> {
    /// The channels that move what `track` moves; more than one in files that break the rules.
    fn channels_of(&self, track: &BakedTrack) -> Vec<usize> {
        let moves = |channel: &Channel| channel.target.is(track) || channel.target.points_to(track);
        (0..self.known.len())
            .filter(|&c| moves(&self.known[c]))
            .collect()
    }
}

fn read_animation<'a>(
    document: &Document<'a>,
    index: usize,
    text: &'a str,
) -> Result<Animation<'a>, Error> {
    let place = format!("/animations/{index}");
    let animation = document.object(&place, text)?;
    let list = |key: &str| match animation.get(key) {
        Some(text) => document.array(&format!("{place}/{key}"), text),
        None => Err(document.fault(&place, format!("no `{key}`"), "`channels` and `samplers`")),
    };
    let (channels, samplers) = (list("channels")?, list("samplers")?);
    let known = read_channels(
        document,
        &place,
        &channels.elements,
        samplers.elements.len(),
    )?;
    Ok(Animation {
        place,
        channels,
        samplers,
        known,
    })
}

fn read_channels<'a>(
    document: &Document<'a>,
    place: &str,
    channels: &[&'a str],
    samplers: usize,
) -> Result<Vec<Channel>, Error> {
    let read = |(c, text): (usize, &&'a str)| {
        let place = format!("{place}/channels/{c}");
        let Object(channel): Object<Channel> = document.typed(&place, text)?;
        if channel.sampler.get() >= samplers {
            let found = channel.sampler.get().to_string();
            let expected = format!("an index of {samplers} samplers");
            return Err(document.fault(format!("{place}/sampler"), found, expected));
        }
        Ok(channel)
    };
    channels.iter().enumerate().map(read).collect()
}

/// Per sampler: whether only channels that `clip` replaces use it.
fn reusable_samplers(animation: &Animation<'_>, clip: &BakedClip) -> Vec<bool> {
    let mut replaced = vec![false; animation.known.len()];
    for track in &clip.tracks {
        for c in animation.channels_of(track) {
            replaced[c] = true;
        }
    }
    let mut reusable = vec![true; animation.samplers.elements.len()];
    for (channel, replaced) in animation.known.iter().zip(replaced) {
        if !replaced {
            reusable[channel.sampler.get()] = false;
        }
    }
    reusable
}

fn rewrite_sampler<'a>(
    document: &mut Document<'a>,
    animation: &Animation<'a>,
    index: usize,
    accessors: &TrackAccessors,
) -> Result<(), Error> {
    let text = animation.samplers.elements[index];
    let sampler = document.object(&format!("{}/samplers/{index}", animation.place), text)?;
    if sampler.members.is_empty() {
        document.replace(text, sampler_json(accessors));
        return Ok(());
    }
    document.set(&sampler, "input", &accessors.input.to_string());
    document.set(&sampler, "interpolation", "\"LINEAR\"");
    document.set(&sampler, "output", &accessors.output.to_string());
    Ok(())
}

fn rewrite_channel<'a>(
    document: &mut Document<'a>,
    animation: &Animation<'a>,
    index: usize,
    track: &BakedTrack,
    sampler: usize,
) -> Result<(), Error> {
    let (place, old) = (
        format!("{}/channels/{index}", animation.place),
        &animation.known[index],
    );
    let channel = document.object(&place, animation.channels.elements[index])?;
    if old.sampler.get() != sampler {
        document.set(&channel, "sampler", &sampler.to_string());
    }
    // Players that do not know the pointer extension would not show the motion.
    if !old.target.is(track) {
        document.set(&channel, "target", &target_json(track));
    }
    Ok(())
}

/// Gives baked nodes that have a `matrix` a translation, rotation and scale.
pub(super) fn replace_matrices(
    document: &mut Document<'_>,
    clips: &[BakedClip],
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let baked: BTreeSet<usize> = clips
        .iter()
        .flat_map(|clip| clip.tracks.iter().map(|track| track.node))
        .collect();
    let Some(nodes) = document.top_array("nodes")? else {
        return Ok(());
    };
    for index in baked {
        let place = format!("/nodes/{index}");
        let node = document.object(&place, nodes.elements[index])?;
        let Some(member) = node.members.iter().find(|member| member.key == "matrix") else {
            continue;
        };
        if ["translation", "rotation", "scale"]
            .iter()
            .any(|key| node.get(key).is_some())
        {
            let found = "a matrix beside translation, rotation or scale";
            return Err(document.fault(place, found, "one or the other"));
        }
        let Numbers(matrix) = document.typed(&format!("{place}/matrix"), member.value)?;
        document.replace(member.source, parts(&matrix));
        let name = node
            .get("name")
            .map_or(String::new(), |name| format!(" {name}"));
        warnings.push(format!(
            "node {index}{name}: its matrix became translation, rotation and scale, as glTF wants it of animated nodes"
        ));
    }
    Ok(())
}

/// The members that stand for `matrix`: the rest transform that reading takes from it.
fn parts(matrix: &[f32; 16]) -> String {
    let rest = decompose(matrix).transform;
    let list = |numbers: &[f32]| {
        let numbers: Vec<String> = numbers.iter().map(|&number| exact(number)).collect();
        numbers.join(",")
    };
    format!(
        "\"translation\":[{}],\"rotation\":[{}],\"scale\":[{}]",
        list(&rest.translation.to_array()),
        list(&rest.rotation.to_array()),
        list(&rest.scale.to_array())
    )
}
