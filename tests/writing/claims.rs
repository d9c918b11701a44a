//! What holds for every baked file.

use flounce::assets::container::Container;
use flounce::assets::patch::{BakedClip, BakedTarget, BakedTrack, BakedValues, Patched};
use serde_json::{Value, json};

use crate::gltf::{differences, floats, list, number, root};
use crate::reread;

/// What a channel plays: its interpolation, times and values.
fn channel_keys(
    container: &Container,
    root: &Value,
    animation: &Value,
    channel: &Value,
) -> (String, Vec<f32>, Vec<f32>) {
    let sampler = &animation["samplers"][number(&channel["sampler"])];
    let interpolation = sampler["interpolation"]
        .as_str()
        .unwrap_or("LINEAR")
        .to_owned();
    let times = floats(container, root, number(&sampler["input"]));
    (
        interpolation,
        times,
        floats(container, root, number(&sampler["output"])),
    )
}

fn moves(channel: &Value, track: &BakedTrack) -> bool {
    let path = match track.values {
        BakedValues::Rotation(_) => "rotation",
        BakedValues::Translation(_) => "translation",
        BakedValues::Scale(_) => "scale",
        BakedValues::Weights { .. } => "weights",
    };
    channel["target"]["node"].as_u64() == Some(track.node as u64)
        && channel["target"]["path"] == path
}

/// As [`moves`], or by a JSON pointer.
fn replaced_by(channel: &Value, track: &BakedTrack) -> bool {
    let mut core = channel.clone();
    let pointer = &channel["target"]["extensions"]["KHR_animation_pointer"]["pointer"];
    if let Some([path, node]) = pointer
        .as_str()
        .map(|it| it.rsplit('/').take(2).collect::<Vec<_>>())
        .as_deref()
    {
        core["target"] = json!({"node": node.parse::<u64>().ok(), "path": path});
    }
    moves(&core, track)
}

/// That the output plays exactly the keys of `clip`.
fn check_clip(output: &Container, root: &Value, animation: &Value, clip: &BakedClip) {
    for track in &clip.tracks {
        let channels: Vec<&Value> = list(animation, "channels")
            .iter()
            .filter(|channel| moves(channel, track))
            .collect();
        assert_eq!(channels.len(), 1, "one channel for node {}", track.node);
        let (interpolation, times, values) = channel_keys(output, root, animation, channels[0]);
        let kept: Vec<usize> = match &track.keys {
            None => (0..clip.times.len()).collect(),
            Some(keys) => keys.iter().map(|&key| key as usize).collect(),
        };
        assert_eq!(interpolation, "LINEAR");
        let expected: Vec<u32> = kept.iter().map(|&key| clip.times[key].to_bits()).collect();
        assert_eq!(
            times.iter().map(|t| t.to_bits()).collect::<Vec<_>>(),
            expected
        );
        match &track.values {
            BakedValues::Translation(expected) | BakedValues::Scale(expected) => {
                let expected: Vec<f32> = kept.iter().flat_map(|&key| expected[key]).collect();
                assert_eq!(values, expected);
            }
            BakedValues::Weights { count, values: all } => {
                let of = |&key: &usize| &all[key * count..][..*count];
                let expected: Vec<f32> = kept.iter().flat_map(of).copied().collect();
                assert_eq!(values, expected);
            }
            BakedValues::Rotation(expected) => {
                let found: Vec<[f32; 4]> = values
                    .chunks_exact(4)
                    .map(|q| q.try_into().unwrap())
                    .collect();
                for (q, &key) in found.iter().zip(&kept) {
                    let negated = expected[key].map(|c| -c);
                    assert!(
                        *q == expected[key] || *q == negated,
                        "{q:?} is not {:?}",
                        expected[key]
                    );
                }
                for pair in found.windows(2) {
                    let dot: f32 = (0..4).map(|i| pair[0][i] * pair[1][i]).sum();
                    assert!(dot >= 0.0, "neighbouring keys on one hemisphere");
                }
            }
        }
    }
}

/// That nothing but what baking is for differs between the two trees.
pub fn check_differences(old: &Value, new: &Value, clips: &[BakedClip]) {
    let mut found = Vec::new();
    differences(old, new, "", &mut found);
    let added = |path: &str, list_name: &str| {
        let index = path
            .strip_prefix(list_name)
            .and_then(|rest| rest.strip_suffix('+'));
        index.is_some_and(|index| index.parse::<usize>().is_ok())
    };
    for path in found {
        let mut animations = clips.iter().filter_map(|clip| match clip.target {
            BakedTarget::Animation(index) => Some(format!("/animations/{index}/")),
            BakedTarget::New(_) => None,
        });
        let node_matrix = path.starts_with("/nodes/")
            && clips.iter().flat_map(|clip| &clip.tracks).any(|track| {
                let node = format!("/nodes/{}/", track.node);
                path.strip_prefix(&node).is_some_and(|member| {
                    ["matrix-", "translation+", "rotation+", "scale+"].contains(&member)
                })
            });
        let expected = path == "/buffers/0/byteLength"
            || ["/accessors/", "/bufferViews/", "/buffers/"]
                .iter()
                .any(|list| added(&path, list))
            || ["/accessors+", "/bufferViews+", "/buffers+", "/animations+"]
                .contains(&path.as_str())
            || added(&path, "/animations/")
            || node_matrix
            || animations.any(|animation| path.starts_with(&animation));
        assert!(expected, "{path} changed");
    }
}

/// That channels which no track replaces play the accessors they played, in the same place.
fn check_other_channels(old: &Value, new: &Value, clip: &BakedClip) {
    let channels = list(old, "channels").iter().zip(list(new, "channels"));
    for (before, after) in
        channels.filter(|(channel, _)| !clip.tracks.iter().any(|track| replaced_by(channel, track)))
    {
        assert_eq!(before, after);
        let sampler = number(&before["sampler"]);
        assert_eq!(old["samplers"][sampler], new["samplers"][sampler]);
    }
}

/// All claims on one model.
pub fn check(container: &Container, clips: &[BakedClip], patched: &Patched) {
    let output = reread(container, patched);
    let (old, new) = (root(container), root(&output));
    check_differences(&old, &new, clips);
    for (before, after) in container.buffers.iter().zip(&output.buffers) {
        if let (Some(before), Some(after)) = (before, after) {
            assert_eq!(before[..], after[..before.len()], "old bytes stay");
        }
    }
    let first_new = list(&old, "accessors").len();
    for (i, accessor) in list(&new, "accessors").iter().enumerate().skip(first_new) {
        let numbers = floats(&output, &new, i);
        if accessor["type"] == "SCALAR" {
            let bound = |key: &str| accessor[key][0].as_f64().unwrap() as f32;
            assert_eq!(bound("min").to_bits(), numbers[0].to_bits());
            assert_eq!(bound("max").to_bits(), numbers[numbers.len() - 1].to_bits());
        }
    }
    let existing = list(&old, "animations").len();
    for (i, clip) in clips.iter().enumerate() {
        match clip.target {
            BakedTarget::Animation(index) => {
                check_clip(&output, &new, &new["animations"][index], clip);
                check_other_channels(&old["animations"][index], &new["animations"][index], clip);
            }
            BakedTarget::New(_) => {
                check_clip(&output, &new, &new["animations"][existing + i], clip);
            }
        }
    }
}
