//! Real models: what is written, what stays, and the report against every vertex measured by hand.

use std::path::{Path, PathBuf};

use bevy_math::{DAffine3, DMat4, DVec3};
use flounce::assets::container::{Container, Form};
use flounce::assets::import::{self, Model};
use flounce::assets::patch;
use flounce::assets::skin::{SkinOptions, StoredWeights};
use flounce::clip::Clip;

use crate::gltf::{differences, load, number, root};
use crate::model::{Output, to, trim};

const MODELS: [&str; 6] = [
    "Fox.glb",
    "CesiumMan.glb",
    "CesiumMan-separate/CesiumMan.gltf",
    "RiggedFigure.glb",
    "SpringTestRig_2025.glb",
    "Godette_vrm1_derived.vrm",
];

fn models(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenes/models")
        .join(name)
}

/// Trims as a file beside the model would be, and reads it as if it were there.
fn output(container: &Container, options: &SkinOptions) -> Output {
    let (patched, _) = trim(container, options).unwrap();
    if container.form == Form::Glb {
        return Output::of(&patched);
    }
    let mut output = container.clone();
    output.json = String::from_utf8(patched.main).unwrap();
    output
        .buffers
        .extend(patched.side_files.into_iter().map(|(_, bytes)| Some(bytes)));
    Output::from(output)
}

/// The strongest `limit` of what a vertex has, with a sum of 1.
fn strongest(slots: &[(usize, f64)], limit: usize) -> Vec<(usize, f64)> {
    let mut kept = slots.to_vec();
    kept.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    kept.truncate(limit);
    let sum: f64 = kept.iter().map(|&(_, weight)| weight).sum();
    kept.iter()
        .map(|&(joint, weight)| (joint, weight / sum))
        .collect()
}

#[test]
fn skin_01_every_vertex_keeps_its_strongest_influences_with_a_sum_of_1() {
    for name in MODELS {
        let container = load(&models(name));
        let before = Output::from(container.clone());
        for limit in 1..=4 {
            let after = output(&container, &to(limit));
            for (mesh, primitive) in before.skinned() {
                let pairs = before
                    .slots(mesh, primitive)
                    .into_iter()
                    .zip(after.slots(mesh, primitive));
                for (vertex, (old, mut new)) in pairs.enumerate() {
                    let sum: f32 = new.iter().map(|&(_, weight)| weight as f32).sum();
                    assert!(
                        (sum - 1.0).abs() <= 1e-6,
                        "{name}, vertex {vertex}: {new:?}"
                    );
                    // Untouched primitives keep the order of their slots.
                    new.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
                    let mut expected = strongest(&old, limit);
                    let by_joint =
                        |slots: &mut Vec<(usize, f64)>| slots.sort_by_key(|&(joint, _)| joint);
                    by_joint(&mut new);
                    by_joint(&mut expected);
                    crate::model::assert_slots(&new, &expected, 1e-6);
                }
            }
        }
    }
}

#[test]
fn nothing_but_weights_changes_and_two_runs_agree() {
    for name in MODELS {
        let container = load(&models(name));
        for limit in [1, 2, 4] {
            let (patched, report) = trim(&container, &to(limit)).unwrap();
            assert_eq!(
                trim(&container, &to(limit)).unwrap(),
                (patched.clone(), report.clone())
            );
            let after = output(&container, &to(limit));
            let mut found = Vec::new();
            differences(&root(&container), &after.root, "", &mut found);
            found.retain(|path| {
                let weights = path.starts_with("/meshes/")
                    && (path.ends_with("/attributes/JOINTS_0")
                        || path.ends_with("/attributes/WEIGHTS_0"));
                let added = ["/accessors/", "/bufferViews/", "/buffers/"]
                    .iter()
                    .any(|list| path.starts_with(list) && path.ends_with('+'));
                !(weights || added || path == "/buffers/0/byteLength")
            });
            assert!(found.is_empty(), "{name}: {found:?}");
            for (old, new) in container.buffers.iter().zip(&after.container.buffers) {
                if let (Some(old), Some(new)) = (old, new) {
                    assert_eq!(old[..], new[..old.len()], "{name}: old bytes stay");
                }
            }
            if report.changed == 0 && container.form == Form::Glb {
                assert_eq!(
                    patched.main,
                    std::fs::read(&container.file).unwrap(),
                    "{name}"
                );
            }
        }
    }
}

#[test]
fn what_was_trimmed_is_left_alone_the_second_time() {
    let container = load(&models("CesiumMan.glb"));
    for weights in [StoredWeights::F32, StoredWeights::U16, StoredWeights::U8] {
        let options = SkinOptions { weights, ..to(2) };
        let once = output(&container, &options).container;
        let (again, report) = trim(&once, &options).unwrap();
        assert_eq!((report.changed, report.trimmed), (0, 0), "{weights:?}");
        assert_eq!(Output::of(&again).container.json, once.json);
    }
}

/// What each joint of the first skin does to a vertex at `time`.
fn skin_matrices(model: &Model, clip: Option<&Clip>, time: f32) -> Vec<DAffine3> {
    let mut local: Vec<_> = model.rig.joints.iter().map(|joint| joint.rest).collect();
    for track in clip.iter().flat_map(|clip| &clip.tracks) {
        track.sample(time, &mut local[track.joint]);
    }
    let mut world: Vec<DMat4> = Vec::new();
    for (joint, local) in model.rig.joints.iter().zip(&local) {
        let (s, r, t) = (local.scale, local.rotation, local.translation);
        let own = DMat4::from_scale_rotation_translation(
            s.as_dvec3(),
            r.as_dquat().normalize(),
            t.as_dvec3(),
        );
        world.push(joint.parent.map_or(own, |parent| world[parent] * own));
    }
    let skin = &model.skins[0];
    let pairs = skin.joints.iter().zip(&skin.inverse_bind);
    pairs
        .map(|(&joint, bind)| DAffine3::from_mat4(world[joint] * bind.as_dmat4()))
        .collect()
}

/// Where weights put a vertex.
fn place(matrices: &[DAffine3], slots: &[(usize, f64)], vertex: DVec3) -> DVec3 {
    let sum: f64 = slots.iter().map(|&(_, weight)| weight).sum();
    let parts = slots.iter();
    parts
        .map(|&(joint, weight)| weight / sum * matrices[joint].transform_point3(vertex))
        .sum()
}

#[test]
fn i2_the_report_is_what_measuring_every_vertex_gives() {
    for (name, limit, weights) in [
        ("CesiumMan.glb", 2, StoredWeights::F32),
        ("Fox.glb", 1, StoredWeights::U8),
        ("RiggedFigure.glb", 3, StoredWeights::U16),
    ] {
        let container = load(&models(name));
        let model = import::model(&container).unwrap();
        let options = SkinOptions {
            weights,
            ..to(limit)
        };
        let (_, report) = trim(&container, &options).unwrap();
        let (before, after) = (
            Output::from(container.clone()),
            output(&container, &options),
        );
        let positions = before.stored(number(&before.attributes(0, 0)["POSITION"]));
        let (old, new) = (before.slots(0, 0), after.slots(0, 0));
        assert_eq!(report.poses.len(), model.clips.len() + 1);
        for pose in &report.poses {
            let clip = pose.clip.as_ref().map(|&(_, index)| &model.clips[index]);
            let mut errors = Vec::new();
            for frame in 0..pose.frames {
                let time = (frame as f64 / 30.0).min(pose.seconds) as f32;
                let matrices = skin_matrices(&model, clip, time);
                for ((old, new), position) in old.iter().zip(&new).zip(&positions) {
                    let vertex = DVec3::from_slice(position);
                    let off = place(&matrices, old, vertex) - place(&matrices, new, vertex);
                    errors.push(off.length());
                }
            }
            errors.sort_by(f64::total_cmp);
            let largest = errors[errors.len() - 1];
            let percentile = errors[errors.len() - 1 - errors.len() / 100];
            let place = format!("{name}, {}: {pose:?}", pose.name());
            // The model is centimetres large; what rounding leaves is far below a micrometre.
            assert_eq!(pose.samples, errors.len() as u64);
            let worst = pose.worst.unwrap();
            assert!(
                (worst.error - largest).abs() <= 1e-9 + 1e-6 * largest,
                "{place}, {largest}"
            );
            assert!(
                worst.error <= worst.bound * (1.0 + 1e-9) && worst.bound <= pose.bound,
                "{place}"
            );
            let p99 = pose.percentile_99;
            assert!(
                p99 >= percentile - 1e-9 && p99 <= percentile * 1.001 + 1e-9,
                "{place}, {percentile}"
            );
        }
    }
}

#[test]
fn a_text_model_gets_its_weights_in_a_file_of_their_own() {
    let file = models("CesiumMan-separate/CesiumMan.gltf");
    let (model, container) = import::read_model(&file).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("two.gltf");
    let (patched, _) =
        flounce::assets::skin::trim_weights(&container, &model, &to(2), &out, &|_| {}).unwrap();
    assert_eq!(patched.side_files[0].0, Path::new("two.skinned.bin"));
    patch::write(&patched, &out, false).unwrap();
    let written = load(&out);
    let most = Output::from(written).slots(0, 0).iter().map(Vec::len).max();
    assert_eq!(most, Some(2));
    import::read_model(&out).unwrap();
}
