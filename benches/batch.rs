//! What a second core gives a bake: the clips of a real model simulated by a rayon pool of one thread and by one of two.
//!
//! Simulation alone, as `flounce bake` does it: from clips in memory to recordings in memory, no file is read or written.
//! The crowd is a library of clips, the model's own ones at several tempi; the model's own 31 are beside it, because they
//! fill no more than one group of lanes.
//!
//! `cargo bench --bench batch` prints a table; `-- --record MACHINE` also appends it to `benches/results/MACHINE.csv`;
//! `-- --rounds N` takes more or fewer rounds.
//!
//! Both pools take turns, several rounds. Wall-clock time decides here, other than in the other benches, and so the
//! machine has to be idle: the processor time of a round beside it says whether two threads did more work than one, and
//! a wall-clock ratio far below that of an idle machine says that others were on it.
#![expect(clippy::print_stdout, reason = "the table is for people")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run says so and stops"
)]

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use cpu_time::ProcessTime;
use flounce::assets::bake::{BakeOptions, select_clips, simulate};
use flounce::assets::{import, rig_file};
use flounce::clip::{Clip, Interpolation};
use flounce::rig::Rig;
use rayon::{ThreadPool, ThreadPoolBuilder};

#[path = "support/record.rs"]
mod record;

use record::Row;

/// Rounds in turn; the median of them counts.
const ROUNDS: usize = 11;
/// Tempi at which the library has each clip.
const TEMPI: u16 = 32;
/// What the second core is to give at least.
const WANTED: f64 = 1.8;

/// The clips of the model, and its rig with swing joints.
fn model() -> (Rig, Vec<Arc<Clip>>) {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    let (model, _) = import::read_model(&scenes.join("models/SpringTestRig_2025.glb")).unwrap();
    let rules = rig_file::read(&scenes.join("rigs/spring_test_rig.ron")).unwrap();
    let mut rig = model.rig.clone();
    rules.apply(&mut rig).unwrap();
    let clips = select_clips(&model, &BakeOptions::default()).unwrap();
    (rig, clips)
}

/// `clip` played so that it lasts `factor` times as long.
fn stretched(clip: &Clip, factor: f32) -> Arc<Clip> {
    let mut stretched = clip.clone();
    for track in &mut stretched.tracks {
        let tangents = track.interpolation == Interpolation::CubicSpline;
        assert!(!tangents, "tangents per second would have to follow");
        track.times = track.times.iter().map(|time| time * factor).collect();
    }
    stretched.duration *= factor;
    Arc::new(stretched)
}

/// Every clip at every tempo, from its own to half of it.
fn library(clips: &[Arc<Clip>]) -> Vec<Arc<Clip>> {
    let tempi = (0..TEMPI).map(|index| 1.0 + f32::from(index) / f32::from(TEMPI));
    tempi
        .flat_map(|factor| clips.iter().map(move |clip| stretched(clip, factor)))
        .collect()
}

/// What one round took, seconds.
struct Round {
    wall: f64,
    processor: f64,
}

fn run(pool: &ThreadPool, rig: &Rig, clips: &[Arc<Clip>]) -> Round {
    let options = BakeOptions::default();
    let (wall, processor) = (Instant::now(), ProcessTime::now());
    let simulated = pool.install(|| simulate(rig, clips, &options, &|_| {}));
    let round = Round {
        wall: wall.elapsed().as_secs_f64(),
        processor: processor.elapsed().as_secs_f64(),
    };
    // The recordings are given back after the clock stopped.
    assert_eq!(simulated.unwrap().recordings.len(), clips.len());
    round
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Simulates `clips` by both pools in turn and prints what that takes.
fn measure(
    name: &str,
    rig: &Rig,
    clips: &[Arc<Clip>],
    pools: &[ThreadPool],
    rounds: usize,
) -> Vec<Row> {
    let mut times: Vec<Vec<Round>> = pools.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (pool, times) in pools.iter().zip(&mut times) {
            times.push(run(pool, rig, clips));
        }
    }
    let medians = |of: fn(&Round) -> f64| -> Vec<f64> {
        let median_of = |times: &Vec<Round>| median(times.iter().map(of).collect());
        times.iter().map(median_of).collect()
    };
    let (walls, processors) = (
        medians(|round| round.wall),
        medians(|round| round.processor),
    );
    let mut rows = Vec::new();
    for (pool, (wall, processor)) in pools.iter().zip(walls.iter().zip(&processors)) {
        let threads = pool.current_num_threads();
        let (ratio, rate) = (walls[0] / wall, clips.len() as f64 / wall);
        println!(
            "{name:<8} {:>5} clips  {threads} threads {:>9.2} ms wall {:>9.2} ms processor {rate:>9.0} clips/s {ratio:>5.2} x",
            clips.len(),
            wall * 1e3,
            processor * 1e3,
        );
        let row = |figure: &str, median: f64| Row {
            workload: format!("bake {name} of {}", clips.len()),
            side: format!("{threads} threads"),
            figure: figure.to_owned(),
            median,
        };
        rows.push(row("ms wall", wall * 1e3));
        rows.push(row("clips per s", rate));
        rows.push(row("x one thread", ratio));
    }
    rows
}

/// Runs both pools once and compares.
///
/// # Panics
/// If they did not record the same.
fn compare(rig: &Rig, clips: &[Arc<Clip>], pools: &[ThreadPool]) {
    let options = BakeOptions::default();
    let recorded = |pool: &ThreadPool| {
        let simulated = pool.install(|| simulate(rig, clips, &options, &|_| {}));
        simulated.unwrap().recordings
    };
    let first = recorded(&pools[0]);
    for pool in &pools[1..] {
        assert!(first == recorded(pool), "another thread, other recordings");
    }
    let frames: usize = first.iter().map(|recording| recording.times.len()).sum();
    let substeps: u64 = first.iter().map(|recording| recording.substeps).sum();
    println!(
        "{} clips: {frames} frames, {substeps} substeps",
        clips.len()
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value_of = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let rounds = value_of("--rounds").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    println!("{cores} cores; two threads are to be at least {WANTED} x as fast as one");
    let pools = [1, 2].map(|threads| {
        ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap()
    });
    let (rig, clips) = model();
    let library = library(&clips);
    compare(&rig, &library, &pools);
    let mut rows = measure("model", &rig, &clips, &pools, rounds);
    rows.extend(measure("library", &rig, &library, &pools, rounds));
    if let Some(machine) = value_of("--record") {
        record::append("batch", machine, &rows).unwrap();
    }
}
