//! Claim: a baked file is the input plus the baked keys, and nothing else changes.
//!
//! The models of `scenes/models` and, when `FLOUNCE_CORPUS_DIR` names a folder, all glTF files below it. When
//! `FLOUNCE_WRITING_OUT` names a folder, the outputs stay there with what the judges of `tests/judges` expect of them.
#![cfg(feature = "assets")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::f32::consts::PI;
use std::path::{Path, PathBuf};

use bevy_math::ops;
use flounce::assets::container::{Container, Form};
use flounce::assets::patch::{
    BakedClip, BakedTarget, BakedTrack, BakedValues, PatchOptions, Patched, patch,
};
use flounce::assets::reduce::rotation_keys;

#[path = "../support/gltf.rs"]
mod gltf;

mod channels;
mod claims;
mod files;
mod layout;
mod models;
mod quantized;

use gltf::{list, parse, root};

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
    let angle = 0.5 * ops::sin(2.0 * PI * 0.7 * time + node as f32);
    let (s, c) = ops::sin_cos(angle * 0.5);
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
