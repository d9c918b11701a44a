//! Claim: a baked file is the input plus the baked keys, and nothing else changes.
//!
//! The models of `scenes/models` and, when `FLOUNCE_DATA` names a folder, all glTF files below it. When
//! `FLOUNCE_WRITING_OUT` names a folder, the outputs stay there with what the judges of `tests/judges` expect of them.

use std::f32::consts::PI;
use std::path::{Path, PathBuf};

use flounce::assets::Error;
use flounce::assets::container::{Container, Form};
use flounce::assets::import;
use flounce::assets::patch::{
    BakedClip, BakedTarget, BakedTrack, BakedValues, PatchOptions, Patched, patch, write,
};
use flounce::assets::reduce::rotation_keys;
use flounce::clip::{Clip, Interpolation, Track, TrackValues};
use serde_json::{Value, json};

#[path = "support/gltf.rs"]
mod gltf;

use gltf::{differences, floats, list, load, number, parse, root};

const MODELS: [&str; 6] = [
    "Fox.glb",
    "SpringTestRig_2025.glb",
    "CesiumMan.glb",
    "CesiumMan-separate/CesiumMan.gltf",
    "RiggedFigure.glb",
    "Godette_vrm1_derived.vrm",
];

fn models() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models")
}

/// A slow turn about an axis that depends on the node, with the other sign now and then as a solver may leave it.
fn turn(node: usize, time: f32) -> [f32; 4] {
    let angle = 0.5 * (2.0 * PI * 0.7 * time + node as f32).sin();
    let (s, c) = ((angle * 0.5).sin(), (angle * 0.5).cos());
    let mut q = [0.0, 0.0, 0.0, c];
    q[node % 3] = s;
    if (time * 30.0) as usize % 7 == 3 {
        q = q.map(|c| -c);
    }
    q
}

/// Two seconds at 30 Hz: turning nodes, one of them with fewer keys, one that rests, one that slides.
fn synthetic_clip(target: BakedTarget, nodes: &[usize]) -> BakedClip {
    let times: Vec<f32> = (0..=60).map(|i| (f64::from(i) / 30.0) as f32).collect();
    let mut tracks: Vec<BakedTrack> = nodes
        .iter()
        .enumerate()
        .map(|(i, &node)| {
            let turned = |&time: &f32| turn(node, time);
            let values: Vec<[f32; 4]> = match i {
                1 => vec![[0.0, 0.0, 0.0, 1.0]; times.len()],
                _ => times.iter().map(turned).collect(),
            };
            let keys = (i == 1 || i == 2).then(|| rotation_keys(&times, &values, 0.2));
            BakedTrack {
                node,
                values: BakedValues::Rotation(values),
                keys,
            }
        })
        .collect();
    if let Some(&node) = nodes.first() {
        let slide = times.iter().map(|&t| [0.1 * t, -1.0 - t, 0.0]).collect();
        tracks.push(BakedTrack {
            node,
            values: BakedValues::Translation(slide),
            keys: None,
        });
    }
    BakedClip {
        target,
        times,
        tracks,
    }
}

/// Every third node in the first three animations, or in a new one.
fn synthetic_bake(container: &Container) -> Vec<BakedClip> {
    let root = root(container);
    let nodes: Vec<usize> = (0..list(&root, "nodes").len())
        .skip(2)
        .step_by(3)
        .take(12)
        .collect();
    if nodes.is_empty() {
        return Vec::new();
    }
    match list(&root, "animations").len() {
        0 => vec![synthetic_clip(
            BakedTarget::New("bäked \"1\" 髪".into()),
            &nodes,
        )],
        n => (0..n.min(3))
            .map(|i| synthetic_clip(BakedTarget::Animation(i), &nodes))
            .collect(),
    }
}

fn bake(container: &Container, clips: &[BakedClip]) -> Patched {
    let out = container.file.with_file_name(match container.form {
        Form::Glb => "out.glb",
        Form::Gltf => "out.gltf",
    });
    patch(container, clips, PatchOptions::default(), &out).unwrap()
}

/// The output as if it had been read from the input's folder.
fn reread(container: &Container, patched: &Patched) -> Container {
    let mut output = match container.form {
        Form::Glb => parse(&container.file, &patched.main),
        Form::Gltf => Container {
            json: String::from_utf8(patched.main.clone()).unwrap(),
            ..container.clone()
        },
    };
    if let [(_, bytes)] = patched.side_files.as_slice() {
        output.buffers.push(Some(bytes.clone()));
    }
    output
}

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
            BakedValues::Translation(expected) => {
                let expected: Vec<f32> = kept.iter().flat_map(|&key| expected[key]).collect();
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
fn check_differences(old: &Value, new: &Value, clips: &[BakedClip]) {
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
fn check(container: &Container, clips: &[BakedClip], patched: &Patched) {
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
                check_clip(&output, &new, &new["animations"][existing + i], clip)
            }
        }
    }
}

/// The files below `folder` that look like glTF.
fn gltf_files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        let extension = path
            .extension()
            .and_then(|it| it.to_str())
            .unwrap_or_default();
        if path.is_dir() && !path.ends_with("malformed") {
            gltf_files(&path, found);
        } else if ["glb", "gltf", "vrm", "vrma"].contains(&extension) {
            found.push(path);
        }
    }
}

/// What the judges of `tests/judges` compare with.
fn expectation(container: &Container, clips: &[BakedClip]) -> Value {
    let root = root(container);
    let existing = list(&root, "animations").len();
    let clips = clips.iter().enumerate().map(|(i, clip)| {
        let animation = match clip.target {
            BakedTarget::Animation(index) => index,
            BakedTarget::New(_) => existing + i,
        };
        let tracks = clip.tracks.iter().map(|track| {
            let (path, values) = match &track.values {
                BakedValues::Rotation(values) => ("rotation", json!(values)),
                BakedValues::Translation(values) => ("translation", json!(values)),
            };
            json!({"node": track.node, "path": path, "reduced": track.keys.is_some(), "values": values})
        });
        json!({"animation": animation, "times": clip.times, "tracks": tracks.collect::<Vec<_>>()})
    });
    json!({"clips": clips.collect::<Vec<_>>()})
}

/// Leaves the output for the judges.
fn keep_output(container: &Container, clips: &[BakedClip], folder: &str) {
    let folder = Path::new(folder);
    std::fs::create_dir_all(folder).unwrap();
    let name = container.file.file_name().unwrap();
    let out = folder.join(name);
    let patched = patch(container, clips, PatchOptions::default(), &out).unwrap();
    write(&patched, &out, true).unwrap();
    let mut expected = name.to_owned();
    expected.push(".expected.json");
    std::fs::write(
        folder.join(expected),
        expectation(container, clips).to_string(),
    )
    .unwrap();
}

#[test]
fn a_real_model_gains_the_baked_keys_and_nothing_else_changes() {
    let mut files: Vec<PathBuf> = MODELS.iter().map(|name| models().join(name)).collect();
    if let Ok(folder) = std::env::var("FLOUNCE_DATA") {
        gltf_files(Path::new(&folder), &mut files);
    }
    for file in files {
        let container = load(&file);
        let clips = synthetic_bake(&container);
        let patched = bake(&container, &clips);
        check(&container, &clips, &patched);
        assert_eq!(
            patched,
            bake(&container, &clips),
            "{}: the same bytes again",
            file.display()
        );
        if let Ok(folder) = std::env::var("FLOUNCE_WRITING_OUT") {
            keep_output(&container, &clips, &folder);
        }
    }
}

#[test]
fn the_engine_reads_back_what_was_baked() {
    for name in MODELS {
        let container = load(&models().join(name));
        let clips = synthetic_bake(&container);
        let folder = tempfile::tempdir().unwrap();
        let out = folder.path().join(container.file.file_name().unwrap());
        let patched = patch(&container, &clips, PatchOptions::default(), &out).unwrap();
        write(&patched, &out, false).unwrap();
        let (before, after) = (
            import::model(&container).unwrap(),
            import::read_model(&out).unwrap().0,
        );
        assert_eq!(
            before.rig, after.rig,
            "{name}: the rest pose stays, also of nodes that lost their matrix"
        );
        for (i, clip) in clips.iter().enumerate() {
            let index = match clip.target {
                BakedTarget::Animation(index) => index,
                BakedTarget::New(_) => before.clips.len() + i,
            };
            for track in &clip.tracks {
                let joint = after.joint_of_node[track.node].unwrap();
                let (length, last) = read_back(&after.clips[index], joint, &track.values);
                let kept = track.keys.as_ref().map_or(clip.times.len(), Vec::len);
                assert_eq!((length, last), (kept, clip.times[clip.times.len() - 1]));
            }
        }
    }
}

/// Number of keys and last time of the joint's track of the same property.
fn read_back(clip: &Clip, joint: usize, values: &BakedValues) -> (usize, f32) {
    let same = |track: &&Track| match (&track.values, values) {
        (TrackValues::Rotation(_), BakedValues::Rotation(_)) => track.joint == joint,
        (TrackValues::Translation(_), BakedValues::Translation(_)) => track.joint == joint,
        _ => false,
    };
    let track = clip.tracks.iter().find(same).unwrap();
    assert_eq!(track.interpolation, Interpolation::Linear);
    (track.times.len(), track.times[track.times.len() - 1])
}

#[test]
fn the_text_around_the_edits_keeps_every_byte() {
    let container = load(&models().join("Fox.glb"));
    let patched = bake(&container, &synthetic_bake(&container));
    let output = reread(&container, &patched);
    for part in [
        "asset",
        "meshes",
        "nodes",
        "skins",
        "materials",
        "images",
        "textures",
    ] {
        let text = |json: &str| {
            let start = json.find(&format!("\"{part}\"")).unwrap();
            json[start..]
                .split(",\"")
                .take(3)
                .collect::<Vec<_>>()
                .join(",\"")
        };
        assert_eq!(text(&container.json), text(&output.json), "{part}");
    }
}

#[test]
fn no_clips_give_the_same_container() {
    for name in MODELS {
        let container = load(&models().join(name));
        let patched = bake(&container, &[]);
        let output = reread(&container, &patched);
        assert_eq!(output.json, container.json);
        assert_eq!(output.buffers, container.buffers);
        assert!(patched.side_files.is_empty());
    }
}

/// A small GLB, or .gltf, around `members`, with two nodes and the given buffers.
fn container(form: Form, members: &str, buffers: Vec<Option<Vec<u8>>>) -> Container {
    Container {
        file: "model.glb".into(),
        form,
        json: format!(
            "{{\"asset\":{{\"version\":\"2.0\"}},\"nodes\":[{{\"name\":\"a\"}},{{\"name\":\"b\"}}]{members}}}"
        ),
        buffers,
    }
}

fn one_key(target: BakedTarget, node: usize) -> BakedClip {
    BakedClip {
        target,
        times: vec![0.0],
        tracks: vec![BakedTrack {
            node,
            values: BakedValues::Rotation(vec![[0.0, 0.0, 0.0, 1.0]]),
            keys: None,
        }],
    }
}

fn new_clip(node: usize) -> BakedClip {
    one_key(BakedTarget::New("new".into()), node)
}

#[test]
fn exp_08_chunks_are_padded_whatever_the_names_are() {
    for name in ["", "a", "ab", "abc", "髪", "é"] {
        let members = format!(",\"extras\":\"{name}\"");
        let container = container(Form::Glb, &members, Vec::new());
        let patched = bake(&container, &[new_clip(0)]);
        let (json, bin) = gltf::glb_chunks(&patched.main);
        let text = String::from_utf8(json.to_vec()).unwrap();
        assert!(
            json.len() - text.trim_end_matches(' ').len() < 4,
            "padded with spaces"
        );
        assert_eq!(bin.map(<[u8]>::len), Some(4 + 16));
        check(&container, &[new_clip(0)], &patched);
    }
}

#[test]
fn new_keys_come_behind_a_bin_chunk_of_any_length() {
    for (byte_length, chunk, start) in [(5, 5, 8), (5, 8, 8), (7, 8, 8), (8, 8, 8), (6, 7, 8)] {
        let members = format!(",\"buffers\":[{{\"byteLength\":{byte_length},\"name\":\"b\"}}]");
        let container = container(Form::Glb, &members, vec![Some(vec![7; chunk])]);
        let patched = bake(&container, &[new_clip(1)]);
        check(&container, &[new_clip(1)], &patched);
        let new = root(&reread(&container, &patched));
        assert_eq!(number(&new["bufferViews"][0]["byteOffset"]), start);
        assert_eq!(number(&new["buffers"][0]["byteLength"]), start + 20);
        assert_eq!(new["buffers"][0]["name"], "b");
    }
}

#[test]
fn a_glb_whose_first_buffer_has_a_uri_gets_an_embedded_one() {
    for uri in ["data:application/octet-stream;base64,AAAAAA==", "other.bin"] {
        let members = format!(",\"buffers\":[{{\"byteLength\":4,\"uri\":\"{uri}\"}}]");
        let container = container(Form::Glb, &members, vec![Some(vec![0; 4])]);
        let patched = bake(&container, &[new_clip(0)]);
        let (json, bin) = gltf::glb_chunks(&patched.main);
        assert!(bin.is_none());
        let new: Value = serde_json::from_slice(json).unwrap();
        check_differences(&root(&container), &new, &[new_clip(0)]);
        assert_eq!(new["bufferViews"][0]["buffer"], json!(1));
        assert_eq!(
            new["buffers"][1].to_string(),
            "{\"byteLength\":20,\"uri\":\"data:application/gltf-buffer;base64,AAAAAAAAAAAAAAAAAAAAAAAAgD8=\"}"
        );
    }
}

#[test]
fn numbers_and_escapes_of_strange_files_survive() {
    let strange = ",\"extras\":{\"\\u0061\":123456789012345678901234567890,\"b\":1e-07,\"c\":-0.0,\"d\":1.10, \
                   \"e\":\"\\/ \\ud83d\\ude00 髪\",\"same\":1,\"same\":2}\n,\"accessors\":[ ],\"bufferViews\":[\n]";
    let container = container(Form::Gltf, strange, Vec::new());
    let patched = bake(&container, &[new_clip(0)]);
    let text = String::from_utf8(patched.main).unwrap();
    let extras = &strange[..strange.find(",\"accessors\"").unwrap()];
    assert!(text.contains(extras), "{text}");
}

const TWO_CHANNELS: &str = ",\"animations\":[{\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"rotation\"},\
     \"extras\":7},{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"rotation\"}}],\"samplers\":[{\"input\":0,\
     \"interpolation\":\"STEP\",\"output\":1,\"extras\":8}]}]";

fn channel_and_sampler(members: &str, clip: &BakedClip) -> (Value, Value) {
    let container = container(Form::Glb, members, Vec::new());
    let patched = bake(&container, std::slice::from_ref(clip));
    let new = root(&reread(&container, &patched));
    (
        new["animations"][0]["channels"].clone(),
        new["animations"][0]["samplers"].clone(),
    )
}

#[test]
fn a_sampler_that_others_use_stays_as_it_is() {
    let (channels, samplers) =
        channel_and_sampler(TWO_CHANNELS, &one_key(BakedTarget::Animation(0), 1));
    assert_eq!(channels[0]["sampler"], json!(0));
    assert_eq!(channels[1]["sampler"], json!(1));
    assert_eq!(samplers[0]["interpolation"], "STEP");
    assert_eq!(
        samplers[1].to_string(),
        "{\"input\":0,\"interpolation\":\"LINEAR\",\"output\":1}"
    );
}

#[test]
fn a_sampler_that_only_baked_channels_use_is_rewritten() {
    let mut clip = one_key(BakedTarget::Animation(0), 1);
    clip.tracks.push(BakedTrack {
        node: 0,
        ..clip.tracks[0].clone()
    });
    let (channels, samplers) = channel_and_sampler(TWO_CHANNELS, &clip);
    assert_eq!(
        channels[0].to_string(),
        "{\"sampler\":1,\"target\":{\"node\":0,\"path\":\"rotation\"},\"extras\":7}"
    );
    assert_eq!(channels[1]["sampler"], json!(0));
    assert_eq!(
        samplers[0].to_string(),
        "{\"input\":0,\"interpolation\":\"LINEAR\",\"output\":1,\"extras\":8}"
    );
    assert_eq!(
        samplers[1].to_string(),
        "{\"input\":0,\"interpolation\":\"LINEAR\",\"output\":2}"
    );
}

#[test]
fn a_channel_that_points_to_the_property_becomes_a_core_channel() {
    let members = ",\"animations\":[{\"channels\":[{\"sampler\":0,\"target\":{\"path\":\"pointer\",\"extensions\":\
         {\"KHR_animation_pointer\":{\"pointer\":\"/nodes/1/rotation\"}}}}],\"samplers\":[{\"input\":0,\"output\":1}]}]";
    let (channels, samplers) = channel_and_sampler(members, &one_key(BakedTarget::Animation(0), 1));
    assert_eq!(
        channels.to_string(),
        "[{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"rotation\"}}]"
    );
    assert_eq!(samplers.as_array().unwrap().len(), 1);
}

#[test]
fn a_matrix_becomes_translation_rotation_and_scale() {
    // A quarter turn about Z, scale (2, 3, 4), translation (5, 6, 7).
    let node = "\"matrix\":[0,2,0,0,-3,0,0,0,0,0,4,0,5,6,7,1]";
    let mut container = container(Form::Glb, "", Vec::new());
    container.json = container
        .json
        .replace("{\"name\":\"b\"}", &format!("{{{node},\"name\":\"b\"}}"));
    let patched = bake(&container, &[new_clip(1)]);
    assert_eq!(patched.warnings.len(), 1, "{:?}", patched.warnings);
    let new = root(&reread(&container, &patched));
    let numbers = |key: &str| -> Vec<f64> {
        list(&new["nodes"][1], key)
            .iter()
            .map(|n| n.as_f64().unwrap())
            .collect()
    };
    assert_eq!(numbers("translation"), [5.0, 6.0, 7.0]);
    assert_eq!(numbers("scale"), [2.0, 3.0, 4.0]);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    for (found, expected) in numbers("rotation").into_iter().zip([0.0, 0.0, half, half]) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    assert!(new["nodes"][1].get("matrix").is_none());
}

#[test]
fn spring_bones_stay_with_a_warning_or_go() {
    let container = load(&models().join("Godette_vrm1_derived.vrm"));
    let clips = synthetic_bake(&container);
    let kept = bake(&container, &clips);
    assert!(
        kept.warnings[0].contains("VRMC_springBone"),
        "{:?}",
        kept.warnings
    );
    let options = PatchOptions {
        strip_springs: true,
    };
    let stripped = patch(&container, &clips, options, Path::new("out.vrm")).unwrap();
    assert!(stripped.warnings.is_empty());
    let mut found = Vec::new();
    differences(
        &root(&reread(&container, &kept)),
        &root(&reread(&container, &stripped)),
        "",
        &mut found,
    );
    assert_eq!(
        found,
        ["/extensions/VRMC_springBone-", "/extensionsUsed/4-"]
    );
    assert!(!String::from_utf8_lossy(&stripped.main).contains("springBone"));
}

#[test]
fn a_model_with_springs_only_loses_its_extension_lists() {
    let members = ",\"extensionsUsed\":[\"VRMC_springBone\",\"VRMC_springBone_extended_collider\"],\
         \"extensions\":{\"VRMC_springBone\":{\"springs\":[]}}";
    let container = container(Form::Gltf, members, Vec::new());
    let options = PatchOptions {
        strip_springs: true,
    };
    let patched = patch(&container, &[], options, Path::new("out.gltf")).unwrap();
    let json = String::from_utf8(patched.main).unwrap();
    assert_eq!(json, container.json.replace(members, ""));
}

#[test]
fn the_springs_of_an_old_vrm_become_empty_lists() {
    let members = ",\"extensions\":{\"VRM\":{\"meta\":{},\"secondaryAnimation\":{\"boneGroups\":[{\"bones\":[1]}]}}}";
    let container = container(Form::Glb, members, Vec::new());
    let kept = bake(&container, &[]);
    assert!(
        kept.warnings[0].contains("1 bone groups"),
        "{:?}",
        kept.warnings
    );
    let options = PatchOptions {
        strip_springs: true,
    };
    let patched = patch(&container, &[], options, Path::new("out.vrm")).unwrap();
    let new = root(&parse(Path::new("out.vrm"), &patched.main));
    assert_eq!(
        new["extensions"]["VRM"].to_string(),
        "{\"meta\":{},\"secondaryAnimation\":{\"boneGroups\":[],\"colliderGroups\":[]}}"
    );
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let good = new_clip(0);
    let with = |change: &dyn Fn(&mut BakedClip)| {
        let mut clip = good.clone();
        change(&mut clip);
        vec![clip]
    };
    let cases: Vec<(Vec<BakedClip>, &str)> = vec![
        (
            with(&|clip| clip.tracks[0].node = 2),
            "the model has 2 nodes",
        ),
        (
            with(&|clip| clip.target = BakedTarget::Animation(0)),
            "the model has 0 animations",
        ),
        (with(&|clip| clip.tracks.clear()), "found no tracks"),
        (
            with(&|clip| clip.tracks.push(clip.tracks[0].clone())),
            "two tracks",
        ),
        (with(&|clip| clip.times = vec![]), "no times"),
        (with(&|clip| clip.times = vec![-1.0]), "from 0 s on"),
        (with(&|clip| clip.times = vec![f32::NAN]), "from 0 s on"),
        (
            with(&|clip| clip.times = vec![0.0, 0.5, 0.5, 1.0]),
            "time 2 at 0.5 s does not come after time 1",
        ),
        (
            with(&|clip| clip.times = vec![0.0, f32::NAN, 1.0]),
            "time 1 at NaN s",
        ),
        (
            with(&|clip| clip.times = vec![0.0, 1.0]),
            "found 1 values, expected 2",
        ),
        (
            with(&|clip| clip.tracks[0].keys = Some(vec![])),
            "expected indices of 1 times",
        ),
        (
            with(&|clip| clip.tracks[0].keys = Some(vec![1])),
            "expected indices of 1 times",
        ),
        (
            with(&|clip| clip.tracks[0].values = BakedValues::Rotation(vec![[0.0; 4]])),
            "unit quaternion",
        ),
        (
            with(&|clip| clip.tracks[0].values = BakedValues::Rotation(vec![[f32::NAN; 4]])),
            "unit quaternion",
        ),
        (
            with(&|clip| {
                clip.tracks[0].values = BakedValues::Translation(vec![[f32::INFINITY; 3]])
            }),
            "finite",
        ),
    ];
    let container = container(Form::Glb, "", Vec::new());
    for (clips, expected) in cases {
        let error = patch(
            &container,
            &clips,
            PatchOptions::default(),
            Path::new("a.glb"),
        )
        .unwrap_err();
        assert!(matches!(error, Error::Request(_)));
        assert!(
            error.to_string().contains(expected),
            "{error} lacks {expected}"
        );
    }
    let error = patch(
        &container,
        &[good],
        PatchOptions::default(),
        Path::new("a.gltf"),
    )
    .unwrap_err();
    assert!(error.to_string().contains("should end in .glb"), "{error}");
}

#[test]
fn exp_01_bounds_of_times_read_back_as_the_stored_bits() {
    let mut clip = new_clip(0);
    for time in [
        0.1,
        4.526e-17,
        f32::MIN_POSITIVE,
        1e-45,
        2.0 / 60.0,
        16_777_217.0,
        f32::MAX,
    ] {
        clip.times = vec![time];
        let container = container(Form::Glb, "", Vec::new());
        check(
            &container,
            std::slice::from_ref(&clip),
            &bake(&container, std::slice::from_ref(&clip)),
        );
    }
}

/// A folder with CesiumMan as .gltf, a texture in a subfolder with a space in its name.
fn separate_model(folder: &Path) -> PathBuf {
    let source = models().join("CesiumMan-separate");
    std::fs::create_dir_all(folder.join("my maps")).unwrap();
    std::fs::copy(
        source.join("CesiumMan_data.bin"),
        folder.join("CesiumMan_data.bin"),
    )
    .unwrap();
    std::fs::copy(
        source.join("CesiumMan_img0.jpg"),
        folder.join("my maps/img0.jpg"),
    )
    .unwrap();
    let json = std::fs::read_to_string(source.join("CesiumMan.gltf")).unwrap();
    let json = json.replace("CesiumMan_img0.jpg", "my%20maps/img0.jpg");
    let file = folder.join("model.gltf");
    std::fs::write(&file, json).unwrap();
    file
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_text_model_takes_its_files_along_to_another_folder() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let container = load(&separate_model(from.path()));
    let clips = synthetic_bake(&container);
    let out = to.path().join("baked ä.gltf");
    let patched = patch(&container, &clips, PatchOptions::default(), &out).unwrap();
    let written = write(&patched, &out, false).unwrap();
    assert_eq!(written.files.len(), 4);
    assert_eq!(written.files[3], out);
    assert!(written.warnings.is_empty());
    assert_eq!(
        names(to.path()),
        [
            "CesiumMan_data.bin",
            "baked ä.baked.bin",
            "baked ä.gltf",
            "my maps"
        ]
    );
    for name in ["CesiumMan_data.bin", "my maps/img0.jpg"] {
        let [a, b] =
            [from.path(), to.path()].map(|folder| std::fs::read(folder.join(name)).unwrap());
        assert_eq!(a, b);
    }
    let json: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(json["buffers"][1]["uri"], "baked%20%C3%A4.baked.bin");
    // The copies are there already, byte for byte: a second output shares them.
    let second = to.path().join("second.gltf");
    let patched = patch(&container, &clips, PatchOptions::default(), &second).unwrap();
    assert_eq!(write(&patched, &second, false).unwrap().files.len(), 2);
}

#[test]
fn a_baked_text_model_can_be_baked_again_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = separate_model(folder.path());
    for _ in 0..2 {
        let container = load(&file);
        let patched = patch(
            &container,
            &synthetic_bake(&container),
            PatchOptions::default(),
            &file,
        )
        .unwrap();
        assert!(matches!(
            write(&patched, &file, false),
            Err(Error::Exists(_))
        ));
        write(&patched, &file, true).unwrap();
    }
    let names = names(folder.path());
    assert_eq!(
        names,
        [
            "CesiumMan_data.bin",
            "model.baked-2.bin",
            "model.baked.bin",
            "model.gltf",
            "my maps"
        ]
    );
}

#[test]
fn nothing_is_written_when_any_file_is_in_the_way() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let container = load(&separate_model(from.path()));
    let out = to.path().join("out.gltf");
    let patched = patch(
        &container,
        &synthetic_bake(&container),
        PatchOptions::default(),
        &out,
    )
    .unwrap();
    for name in ["CesiumMan_data.bin", "out.baked.bin", "out.gltf"] {
        let taken = to.path().join(name);
        std::fs::write(&taken, "mine").unwrap();
        let error = write(&patched, &out, false).unwrap_err();
        assert!(
            matches!(&error, Error::Exists(path) if *path == taken),
            "{error}"
        );
        assert_eq!(names(to.path()), [name]);
        assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
        std::fs::remove_file(&taken).unwrap();
    }
}

#[test]
fn references_out_of_the_folder_hold_only_where_they_mean_the_same_file() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path();
    for folder in ["in", "beside", "far/away"] {
        std::fs::create_dir_all(base.join(folder)).unwrap();
    }
    std::fs::write(base.join("shared.png"), "x").unwrap();
    std::fs::write(base.join("secret"), "x").unwrap();
    let mut container = container(
        Form::Gltf,
        ",\"images\":[{\"uri\":\"../shared.png\"}]",
        Vec::new(),
    );
    container.file = base.join("in/model.gltf");
    let out = |folder: &str| {
        let out = base.join(folder).join("out.gltf");
        let patched = patch(&container, &[new_clip(0)], PatchOptions::default(), &out).unwrap();
        write(&patched, &out, false)
    };
    assert!(out("in").is_ok());
    assert!(out("beside").is_ok());
    let error = out("far/away").unwrap_err().to_string();
    assert!(
        error.contains("/images/0 refers to \"../shared.png\""),
        "{error}"
    );
    assert!(names(&base.join("far/away")).is_empty());
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_not_copied() {
    let (base, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let base = base.path();
    std::fs::create_dir(base.join("in")).unwrap();
    std::fs::write(base.join("secret"), "x").unwrap();
    std::os::unix::fs::symlink("../secret", base.join("in/a.png")).unwrap();
    let mut container = container(Form::Gltf, ",\"images\":[{\"uri\":\"a.png\"}]", Vec::new());
    container.file = base.join("in/model.gltf");
    let out = to.path().join("out.gltf");
    let patched = patch(&container, &[new_clip(0)], PatchOptions::default(), &out).unwrap();
    let error = write(&patched, &out, false).unwrap_err().to_string();
    assert!(error.contains("leaves the model's folder"), "{error}");
    assert!(names(to.path()).is_empty());
}

#[test]
fn a_missing_image_is_a_warning_and_an_output_in_its_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut container = container(
        Form::Glb,
        ",\"images\":[{\"uri\":\"gone.png\"}]",
        Vec::new(),
    );
    container.file = "nowhere/model.glb".into();
    let patched = bake(&container, &[new_clip(0)]);
    let written = write(&patched, &folder.path().join("out.glb"), false).unwrap();
    assert!(
        written.warnings[0].contains("gone.png is missing"),
        "{:?}",
        written.warnings
    );
    let error = write(&patched, &folder.path().join("gone.png"), false).unwrap_err();
    assert!(error.to_string().contains("/images/0"), "{error}");
}

#[cfg(unix)]
#[test]
fn outputs_are_as_readable_as_other_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.glb");
    let patched = bake(&container(Form::Glb, "", Vec::new()), &[new_clip(0)]);
    write(&patched, &out, false).unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&out), mode(&plain));
    assert_eq!(names(folder.path()), ["out.glb", "plain"]);
}
