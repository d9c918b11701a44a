//! What reading a file costs, beside the `gltf` crate on the same bytes in the same run.
//!
//! Both start from the bytes of the file in memory and end with every key of every animation visited as numbers. The
//! crate's side is what `gltf::import` does without decoding images, and each channel's iterators to their end.
//!
//! `cargo bench --bench import` prints a table; with `FLOUNCE_BENCH_RECORD=1` it also appends to
//! `benches/results/import.csv`. `FLOUNCE_CORPUS_DIR=DIR` adds every GLB in `DIR/characters`.
//!
//! Both sides take turns, several rounds, CPU time of this thread; a speed claim is a ratio of two medians of one run.
#![expect(
    clippy::match_same_arms,
    reason = "the crate's iterators have a type each"
)]
#![expect(clippy::print_stdout, reason = "the table is for people")]

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cpu_time::ThreadTime;
use flounce::assets::{container, import};

#[path = "support/record.rs"]
mod record;

use record::Row;

/// Rounds in turn; the median of them counts.
const ROUNDS: usize = 15;
/// How long a side works in a round: long against the clock's own cost.
const ROUND: Duration = Duration::from_millis(20);

/// The files to read; all must be there.
fn files() -> Vec<PathBuf> {
    let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models");
    let mut files: Vec<PathBuf> = ["SpringTestRig_2025.glb", "Fox.glb"]
        .map(|name| models.join(name))
        .into();
    if let Some(root) = std::env::var_os("FLOUNCE_CORPUS_DIR") {
        let folder = Path::new(&root).join("characters");
        let listed = std::fs::read_dir(&folder);
        let listed = listed.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut corpus: Vec<PathBuf> = listed.flatten().map(|entry| entry.path()).collect();
        corpus.retain(|file| file.extension().is_some_and(|extension| extension == "glb"));
        corpus.sort();
        files.extend(corpus);
    }
    for file in &files {
        assert!(file.is_file(), "{} is missing", file.display());
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

/// Milliseconds per call over one round.
fn time(read: &dyn Fn() -> usize) -> f64 {
    let start = ThreadTime::now();
    let mut calls = 0;
    while start.elapsed() < ROUND {
        black_box(read());
        calls += 1;
    }
    start.elapsed().as_secs_f64() * 1e3 / f64::from(calls)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Reads one file by both sides in turn and prints what that takes.
fn measure(file: &Path) -> Vec<Row> {
    let bytes = with_scene_nodes(file);
    let keys = flounce_reads(file, &bytes);
    assert_eq!(keys, gltf_reads(&bytes), "both see the same keys");
    let sides: [(&str, &dyn Fn() -> usize); 2] = [
        ("gltf", &|| gltf_reads(black_box(&bytes))),
        ("flounce", &|| flounce_reads(file, black_box(&bytes))),
    ];
    let mut times = [Vec::new(), Vec::new()];
    for _ in 0..ROUNDS {
        for ((_, read), times) in sides.iter().zip(&mut times) {
            times.push(time(read));
        }
    }
    let medians = times.map(|mut times| median(&mut times));
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let mut rows = Vec::new();
    for ((side, _), median) in sides.into_iter().zip(medians) {
        let ratio = median / medians[0];
        println!("{name:<22} {keys:>8} keys  {side:<8} {median:>9.3} ms  {ratio:>5.2} x gltf");
        rows.push(Row {
            workload: format!("read {name}"),
            side: side.to_owned(),
            figure: "ms per file".to_owned(),
            median,
        });
    }
    rows
}

fn main() {
    let rows: Vec<Row> = files().iter().flat_map(|file| measure(file)).collect();
    if std::env::var_os("FLOUNCE_BENCH_RECORD").is_some_and(|value| value == "1") {
        record::append("import", "import", &rows).expect("benches/results can be written");
    }
}
