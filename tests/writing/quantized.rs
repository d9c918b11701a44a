//! Rotations as normalised integers of 16 bits: read back within the error that is stated, and nothing else changes.

use std::path::Path;

use flounce::assets::bake::{self, BakeOptions, BakeReport};
use flounce::assets::container::Container;
use flounce::assets::patch::{
    BakedClip, BakedTarget, BakedValues, PatchOptions, Patched, QUANTIZATION_DEG, patch, write,
};
use flounce::assets::{import, rig_file};
use flounce::clip::{Clip, TrackValues};
use serde_json::{Value, json};

use crate::claims::check_differences;
use crate::gltf::{floats, list, load, number, root};
use crate::models::keep_output;
use crate::{MODELS, models, reread, synthetic_bake};

const QUANTIZED: PatchOptions = PatchOptions {
    strip_springs: false,
    quantize: true,
};

/// What glTF's own formula makes of an accessor of normalised i16, after checking how it is stored.
fn dequantized(container: &Container, root: &Value, accessor: usize) -> Vec<[f64; 4]> {
    let accessor = &root["accessors"][accessor];
    assert_eq!(accessor["componentType"], json!(5122));
    assert_eq!(accessor["normalized"], json!(true));
    assert_eq!(accessor["type"], "VEC4");
    let view = &root["bufferViews"][number(&accessor["bufferView"])];
    assert!(view.get("byteStride").is_none(), "no stride");
    let length = 8 * number(&accessor["count"]);
    let within = number(&accessor["byteOffset"]);
    assert!(within + length <= number(&view["byteLength"]));
    let start = number(&view["byteOffset"]) + within;
    assert_eq!(start % 4, 0, "offset");
    let bytes = container.buffers[number(&view["buffer"])].as_ref().unwrap();
    let values = bytes[start..start + length].chunks_exact(8).map(|value| {
        core::array::from_fn(|i| {
            let n = i16::from_le_bytes([value[2 * i], value[2 * i + 1]]);
            assert_ne!(n, i16::MIN, "a pattern that readers clamp");
            (f64::from(n) / 32767.0).max(-1.0)
        })
    });
    values.collect()
}

/// The angle between two rotations of any length, degrees.
fn degrees_between(a: [f64; 4], b: [f64; 4]) -> f64 {
    let unit = |q: [f64; 4]| {
        let length = q.iter().map(|c| c * c).sum::<f64>().sqrt();
        q.map(|c| c / length)
    };
    let (a, b) = (unit(a), unit(b));
    let chord = |sign: f64| {
        let squares = (0..4).map(|i| (a[i] - sign * b[i]).powi(2));
        squares.sum::<f64>().sqrt()
    };
    4.0 * (chord(1.0).min(chord(-1.0)) * 0.5).asin().to_degrees()
}

/// The accessors of times and values that `animation` plays for a node's property.
fn accessors(animation: &Value, node: usize, path: &str) -> (usize, usize) {
    let mut channels = list(animation, "channels").iter();
    let channel = channels
        .find(|it| number(&it["target"]["node"]) == node && it["target"]["path"] == path)
        .unwrap();
    let sampler = &animation["samplers"][number(&channel["sampler"])];
    assert_eq!(sampler["interpolation"], "LINEAR");
    (number(&sampler["input"]), number(&sampler["output"]))
}

/// The largest angle between a key of `clip` and what is stored for it, degrees, after checking everything else.
fn check_clip(output: &Container, animation: &Value, clip: &BakedClip) -> f64 {
    let root = root(output);
    let mut worst = 0.0_f64;
    for track in &clip.tracks {
        let all = || (0..clip.times.len() as u32).collect();
        let kept: Vec<u32> = track.keys.clone().unwrap_or_else(all);
        let times: Vec<f32> = kept.iter().map(|&key| clip.times[key as usize]).collect();
        match &track.values {
            BakedValues::Rotation(values) => {
                let (input, out) = accessors(animation, track.node, "rotation");
                assert_eq!(floats(output, &root, input), times, "times stay f32");
                let read = dequantized(output, &root, out);
                assert_eq!(read.len(), kept.len());
                for (&q, &key) in read.iter().zip(&kept) {
                    let key = values[key as usize].map(f64::from);
                    worst = worst.max(degrees_between(q, key));
                }
                for pair in read.windows(2) {
                    let dot: f64 = (0..4).map(|i| pair[0][i] * pair[1][i]).sum();
                    assert!(dot >= 0.0, "neighbouring keys on one hemisphere");
                }
            }
            BakedValues::Translation(values) => {
                let (input, out) = accessors(animation, track.node, "translation");
                assert_eq!(floats(output, &root, input), times);
                let kept = kept.iter().flat_map(|&key| values[key as usize]);
                let expected: Vec<f32> = kept.collect();
                assert_eq!(floats(output, &root, out), expected, "they stay f32");
            }
            other => panic!("{other:?} is not baked here"),
        }
    }
    worst
}

#[test]
fn a_quantized_model_turns_by_the_stated_error_and_nothing_else_changes() {
    for (number, name) in MODELS.into_iter().enumerate() {
        let container = load(&models().join(name));
        let clips = synthetic_bake(&container);
        if let Ok(folder) = std::env::var("FLOUNCE_WRITING_OUT") {
            let folder = Path::new(&folder).join(format!("quantized-{number}"));
            keep_output(&container, &clips, QUANTIZED, &folder);
        }
        let out = container.file.with_extension(match name {
            name if name.ends_with(".gltf") => "gltf",
            _ => "glb",
        });
        let bake = |options| patch(&container, &clips, options, &out).unwrap();
        let patched = bake(QUANTIZED);
        assert_eq!(patched, bake(QUANTIZED), "{name}: the same bytes again");
        let plain = bake(PatchOptions::default());
        assert!(plain.quantization.is_empty());
        assert!(size(&patched) < size(&plain));

        let (output, old) = (reread(&container, &patched), root(&container));
        let new = root(&output);
        check_differences(&old, &new, &clips);
        assert_eq!(patched.quantization.len(), clips.len());
        let existing = list(&old, "animations").len();
        for (i, (clip, stated)) in clips.iter().zip(&patched.quantization).enumerate() {
            let index = match clip.target {
                BakedTarget::Animation(index) => index,
                BakedTarget::New(_) => existing + i,
            };
            let worst = check_clip(&output, &new["animations"][index], clip);
            let stated = stated.to_degrees();
            assert!(
                (worst - stated).abs() < 1e-9,
                "{name}: {worst} is not {stated}"
            );
            assert!(stated > 0.0 && stated <= QUANTIZATION_DEG, "{stated}");
        }
    }
}

/// Bytes of all new files together.
fn size(patched: &Patched) -> usize {
    let sides = patched.side_files.iter().map(|(_, bytes)| bytes.len());
    patched.main.len() + sides.sum::<usize>()
}

/// The Fox with its tail on, baked into `out` as `options` say.
fn bake_fox(options: &BakeOptions, out: &Path) -> (Patched, BakeReport) {
    let (model, container) = import::read_model(&models().join("Fox.glb")).unwrap();
    let mut rig = model.rig.clone();
    let rules = models().join("../rigs/fox_tail.ron");
    rig_file::read(&rules).unwrap().apply(&mut rig).unwrap();
    let clips = bake::select_clips(&model, options).unwrap();
    let (patched, report) = bake::bake(&container, &rig, &clips, options, out, &|_| {}).unwrap();
    write(&patched, out, false).unwrap();
    (patched, report)
}

/// The rotations of a clip by joint, with their times.
fn rotations(clip: &Clip) -> Vec<(usize, &[f32], &[[f32; 4]])> {
    let tracks = clip.tracks.iter();
    let rotating = tracks.filter_map(|track| match &track.values {
        TrackValues::Rotation(values) => Some((track.joint, &*track.times, values.as_slice())),
        _ => None,
    });
    rotating.collect()
}

#[test]
fn a_quantized_bake_reads_back_as_the_plain_one_within_its_stated_error() {
    let folder = tempfile::tempdir().unwrap();
    let outs = ["plain.glb", "quantized.glb"].map(|name| folder.path().join(name));
    let options = |quantize| BakeOptions {
        quantize,
        ..BakeOptions::default()
    };
    let (plain, unstated) = bake_fox(&options(false), &outs[0]);
    let (quantized, report) = bake_fox(&options(true), &outs[1]);
    assert!(
        unstated
            .clips
            .iter()
            .all(|clip| clip.quantization.is_none())
    );
    let added = |patched: &Patched| {
        patched.main.len()
            - Path::new(&models().join("Fox.glb"))
                .metadata()
                .unwrap()
                .len() as usize
    };
    let share = added(&quantized) as f64 / added(&plain) as f64;
    assert!(share < 0.7, "the new bytes are {share} of the plain ones");

    let [before, after] = outs.map(|out| import::read_model(&out).unwrap().0);
    assert!(
        after.warnings.len() == before.warnings.len(),
        "{:?}",
        after.warnings
    );
    for (i, stated) in report.clips.iter().enumerate() {
        let stated = stated.quantization.unwrap().to_degrees();
        let pairs = rotations(&before.clips[i])
            .into_iter()
            .zip(rotations(&after.clips[i]));
        for ((joint, times, keys), read) in pairs {
            assert_eq!((joint, times), (read.0, read.1));
            for (a, b) in keys.iter().zip(read.2) {
                let off = degrees_between(a.map(f64::from), b.map(f64::from));
                // Dividing in f32 turns by up to 1e-5° more.
                assert!(
                    off <= stated + 1e-5,
                    "{off}° is more than the stated {stated}°"
                );
            }
        }
    }
}

#[test]
fn keys_are_reduced_before_they_are_quantized() {
    let folder = tempfile::tempdir().unwrap();
    let options = |quantize| BakeOptions {
        tolerance_deg: 0.5,
        quantize,
        clips: vec!["Run".to_owned()],
        ..BakeOptions::default()
    };
    let plain = bake_fox(&options(false), &folder.path().join("plain.glb")).1;
    let (_, report) = bake_fox(&options(true), &folder.path().join("quantized.glb"));
    // Smaller keys pay for times of their own later, so that no track has fewer of them than the plain one.
    let unreduced = report.clips[0].frames * report.joints;
    assert!(report.clips[0].keys >= plain.clips[0].keys);
    assert!(
        report.clips[0].keys < unreduced,
        "{} keys",
        report.clips[0].keys
    );
    assert!(report.clips[0].quantization.unwrap().to_degrees() <= QUANTIZATION_DEG);
}
