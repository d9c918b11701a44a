//! Real models.

use std::path::{Path, PathBuf};

use flounce::assets::container::Container;
use flounce::assets::import;
use flounce::assets::patch::{BakedClip, BakedTarget, BakedValues, PatchOptions, patch, write};
use flounce::clip::{Clip, Interpolation, Track, TrackValues};
use serde_json::{Value, json};

use crate::claims::check;
use crate::gltf::{list, load, root};
use crate::{MODELS, bake, models, reread, synthetic_bake};

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
fn expectation(container: &Container, clips: &[BakedClip], options: PatchOptions) -> Value {
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
                BakedValues::Scale(values) => ("scale", json!(values)),
                BakedValues::Weights { values, .. } => ("weights", json!(values)),
            };
            json!({"node": track.node, "path": path, "reduced": track.keys.is_some(), "values": values})
        });
        json!({"animation": animation, "times": clip.times, "tracks": tracks.collect::<Vec<_>>()})
    });
    let clips: Vec<Value> = clips.collect();
    json!({"input": container.file, "quantized": options.quantize, "clips": clips})
}

/// Leaves the output for the judges, in a folder of its own: models share names of files.
pub fn keep_output(
    container: &Container,
    clips: &[BakedClip],
    options: PatchOptions,
    folder: &Path,
) {
    std::fs::create_dir_all(folder).unwrap();
    let name = container.file.file_name().unwrap();
    let out = folder.join(name);
    let patched = patch(container, clips, options, &out).unwrap();
    write(&patched, &out, true).unwrap();
    let mut expected = name.to_owned();
    expected.push(".expected.json");
    std::fs::write(
        folder.join(expected),
        expectation(container, clips, options).to_string(),
    )
    .unwrap();
}

#[test]
fn exp_09_a_real_model_gains_the_baked_keys_and_nothing_else_changes() {
    let mut files: Vec<PathBuf> = MODELS.iter().map(|name| models().join(name)).collect();
    if let Ok(folder) = std::env::var("FLOUNCE_CORPUS_DIR") {
        gltf_files(Path::new(&folder), &mut files);
    }
    for (i, file) in files.into_iter().enumerate() {
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
            let folder = Path::new(&folder).join(i.to_string());
            keep_output(&container, &clips, PatchOptions::default(), &folder);
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
        (TrackValues::Rotation(_), BakedValues::Rotation(_))
        | (TrackValues::Translation(_), BakedValues::Translation(_)) => track.joint == joint,
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
