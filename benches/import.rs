//! What reading a file costs, beside the `gltf` crate on the same bytes in the same run.
//!
//! Both start from the bytes of the file in memory and end with every key of every animation visited as numbers. The
//! crate's side is what `gltf::import` does without decoding images, and each channel's iterators to their end.

#![expect(
    clippy::match_same_arms,
    reason = "the crate's iterators have a type each"
)]

use std::hint::black_box;
use std::path::{Path, PathBuf};

use criterion::{Criterion, criterion_group, criterion_main};
use flounce::assets::{container, import};

/// The models of the repository; with `FLOUNCE_CORPUS_DIR` one more with many meshes.
fn files() -> Vec<PathBuf> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![
        own.join("scenes/models/SpringTestRig_2025.glb"),
        own.join("scenes/models/Fox.glb"),
        own.join("tests/data/khronos/InterpolationTest.glb"),
    ];
    if let Some(root) = std::env::var_os("FLOUNCE_CORPUS_DIR") {
        files.push(Path::new(&root).join("characters/RobotExpressive.glb"));
    }
    for file in &files {
        assert!(file.exists(), "{} is missing", file.display());
    }
    files
}

fn flounce_reads(file: &Path, bytes: &[u8]) -> usize {
    let container = container::from_bytes(file, bytes.to_vec()).expect("a valid file");
    let model = import::model(&container).expect("a valid file");
    model
        .clips
        .iter()
        .flat_map(|clip| &clip.tracks)
        .map(|track| track.times.len())
        .sum()
}

/// Keeps the compiler from leaving the value out.
fn visit<T>(value: T) {
    black_box(value);
}

fn gltf_reads(bytes: &[u8]) -> usize {
    use gltf::animation::util::ReadOutputs;
    let file = gltf::Gltf::from_slice(bytes).expect("a valid file");
    let blob = file.blob.as_deref();
    let mut keys = 0;
    for channel in file
        .animations()
        .flat_map(|animation| animation.channels().collect::<Vec<_>>())
    {
        let reader = channel.reader(|_| blob);
        for time in reader.read_inputs().expect("times") {
            black_box(time);
            keys += 1;
        }
        match reader.read_outputs().expect("values") {
            ReadOutputs::Translations(values) => values.for_each(visit),
            ReadOutputs::Scales(values) => values.for_each(visit),
            ReadOutputs::Rotations(values) => values.into_f32().for_each(visit),
            ReadOutputs::MorphTargetWeights(values) => values.into_f32().for_each(visit),
        }
    }
    keys
}

/// The GLB with an empty list in scenes without nodes: the crate refuses those, which the format allows.
fn with_scene_nodes(file: &Path) -> Vec<u8> {
    let container = container::read(file).expect("a valid file");
    let mut document: serde_json::Value = serde_json::from_str(&container.json).expect("JSON");
    for scene in document["scenes"].as_array_mut().into_iter().flatten() {
        if scene.get("nodes").is_none() {
            scene["nodes"] = serde_json::json!([]);
        }
    }
    let mut json = document.to_string().into_bytes();
    json.resize(json.len().next_multiple_of(4), b' ');
    let bin = container.buffers[0].as_deref().expect("a BIN chunk");
    let length = (12 + 8 + json.len() + 8 + bin.len()) as u32;
    let mut bytes = b"glTF".to_vec();
    bytes.extend(2_u32.to_le_bytes());
    bytes.extend(length.to_le_bytes());
    for (kind, data) in [(b"JSON", &json[..]), (b"BIN\0", bin)] {
        bytes.extend((data.len() as u32).to_le_bytes());
        bytes.extend(kind);
        bytes.extend(data);
    }
    bytes
}

fn read(c: &mut Criterion) {
    for file in files() {
        let bytes = with_scene_nodes(&file);
        assert_eq!(
            flounce_reads(&file, &bytes),
            gltf_reads(&bytes),
            "both see the same keys"
        );
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let mut group = c.benchmark_group(name);
        group.bench_function("flounce", |b| {
            b.iter(|| flounce_reads(&file, black_box(&bytes)));
        });
        group.bench_function("gltf", |b| b.iter(|| gltf_reads(black_box(&bytes))));
        group.finish();
    }
}

criterion_group!(benches, read);
criterion_main!(benches);
