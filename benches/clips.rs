//! Cost of clips: workload C by the keyed path, by uniform rows of every lane width, and layers over it, in one run.
//!
//! `cargo bench --no-default-features --bench clips` prints a table; `-- --record MACHINE` also appends it to
//! `benches/results/MACHINE.csv`. `-- --lines` prints the medians alone, for `benches/peers/run.sh`, which lets this
//! program and the peers' take turns.
//!
//! All sides take turns, several rounds, CPU time of this thread. Before anything is timed the sides are checked against
//! each other: rows against keys to the bound, lanes bit for bit. A plain x86-64 build: no processor is assumed.
#![expect(clippy::print_stdout, reason = "the table is for people")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run says so and stops"
)]

#[path = "support/clip_keys.rs"]
mod clip_keys;
#[path = "support/record.rs"]
mod record;

use std::hint::black_box;

use clip_keys::{DURATION, JOINTS, KEYS, play};
use cpu_time::ThreadTime;
use flounce::clip::{Clip, Interpolation, Track, TrackValues};
use flounce::lane::{Lane, Wide};
use flounce::pose::JointTransform;
use flounce::rotation::{Rotation, angle_between};
use flounce::uniform::blend::{Way, Weight, additive_rows_in_lanes, override_rows_in_lanes};
use flounce::uniform::{ErrorBound, PoseRows, Property, RATES_HZ, UniformClip, WeightRows};
use record::Row;

/// Rounds in turn; the median of them counts.
const ROUNDS: usize = 15;
/// Joints that a side computes in a round: long against the clock's own cost.
const WORK: usize = 600_000;
/// Characters of the second case.
const CROWD: usize = 100;

/// The clip of workload C.
fn clip(size: f64) -> Clip {
    let times: std::sync::Arc<[f32]> = (0..KEYS).map(clip_keys::time).collect();
    let track = |joint| Track {
        joint,
        source: joint,
        interpolation: Interpolation::Linear,
        times: times.clone(),
        values: TrackValues::Rotation(
            (0..KEYS)
                .map(|key| clip_keys::rotation(joint, key, size))
                .collect(),
        ),
    };
    Clip {
        name: "c".to_owned(),
        source: 0,
        tracks: (0..JOINTS).map(track).collect(),
        duration: DURATION,
    }
}

/// The same clip with a translation and a scale that move at every joint.
fn full_clip() -> Clip {
    let mut clip = clip(1.0);
    for joint in 0..JOINTS {
        let value = |key| {
            let [x, y, z, _] = clip_keys::rotation(joint, key, 1.0);
            [1.0 + 0.1 * x, 1.0 + 0.1 * y, 1.0 + 0.1 * z]
        };
        let values: Vec<[f32; 3]> = (0..KEYS).map(value).collect();
        for values in [
            TrackValues::Translation(values.clone()),
            TrackValues::Scale(values),
        ] {
            let of_rotation = &clip.tracks[joint];
            clip.tracks.push(Track {
                values,
                ..of_rotation.clone()
            });
        }
    }
    clip
}

/// Everything the sides read.
struct Input {
    keyed: Clip,
    full: UniformClip,
    base: UniformClip,
    over: UniformClip,
    weights: WeightRows,
    /// A pose of each clip, for layers alone.
    base_rows: PoseRows,
    over_rows: PoseRows,
}

impl Input {
    fn new() -> Self {
        let bound = ErrorBound::default();
        let uniform = |clip: &Clip| UniformClip::resample(clip, JOINTS, &bound, &RATES_HZ).unwrap();
        let keyed = clip(1.0);
        let base = uniform(&keyed);
        let over = uniform(&clip(0.3)).additive(&[JointTransform::IDENTITY; JOINTS]);
        let (mut base_rows, mut over_rows) = (PoseRows::default(), PoseRows::default());
        base.sample_into(1.33, &mut base_rows);
        over.sample_into(0.42, &mut over_rows);
        Self {
            weights: base.weights(|joint| 0.25 + joint as f32 / 100.0),
            full: uniform(&full_clip()),
            keyed,
            base,
            over,
            base_rows,
            over_rows,
        }
    }

    /// # Panics
    /// If the sides do other work.
    fn check(&self) {
        assert_eq!(self.base.rate_hz(), 30.0);
        let (mut keyed, mut rows) = ([JointTransform::IDENTITY; JOINTS], PoseRows::default());
        let mut largest = 0.0_f32;
        for frame in 0..1000 {
            let time = frame as f32 / 997.0 * DURATION;
            sample_keyed(&self.keyed, time, &mut keyed);
            self.base.sample_into(time, &mut rows);
            for (joint, keyed) in keyed.iter().enumerate() {
                let found = Rotation::splat(rows.value(Property::Rotation, joint));
                largest = largest.max(angle_between(keyed.rotation.into(), found));
            }
        }
        println!("rows and keys differ by at most {largest:.1e} rad");
        assert!(largest <= ErrorBound::default().rotation);
    }
}

fn sample_keyed(clip: &Clip, time: f32, pose: &mut [JointTransform]) {
    for track in &clip.tracks {
        track.sample(time, &mut pose[track.joint]);
    }
}

/// What one character writes.
#[derive(Clone, Default)]
struct Output {
    rows: PoseRows,
    second: PoseRows,
    third: PoseRows,
    pose: Vec<JointTransform>,
}

/// A name and the work of one character at a time.
type Side = (&'static str, &'static str, fn(&Input, f32, &mut Output));

fn sample<L: Lane>(input: &Input, time: f32, output: &mut Output) {
    input.base.sample_into_lanes::<L>(time, &mut output.rows);
}

fn additive<L: Lane>(input: &Input, _time: f32, output: &mut Output) {
    let (base, over) = (&input.base_rows, &input.over_rows);
    additive_rows_in_lanes::<L>(base, over, Weight::All(0.5), &mut output.rows);
}

fn layered(input: &Input, time: f32, output: &mut Output) {
    type L = flounce::uniform::RowLane;
    sample::<L>(input, time, output);
    input.over.sample_into_lanes::<L>(time, &mut output.second);
    let (base, over) = (&output.rows, &output.second);
    additive_rows_in_lanes::<L>(base, over, Weight::All(0.5), &mut output.third);
}

fn additive_each<L: Lane>(input: &Input, _time: f32, output: &mut Output) {
    let (base, over) = (&input.base_rows, &input.over_rows);
    let weight = Weight::Each(&input.weights);
    additive_rows_in_lanes::<L>(base, over, weight, &mut output.rows);
}

fn mix<L: Lane>(way: Way, input: &Input, output: &mut Output) {
    let (base, over) = (&input.base_rows, &input.over_rows);
    override_rows_in_lanes::<L>(base, over, Weight::All(0.3), way, &mut output.rows);
}

const SIDES: &[Side] = &[
    ("sample", "keyed", |input, time, output| {
        sample_keyed(&input.keyed, time, &mut output.pose);
    }),
    ("sample", "rows f32", sample::<f32>),
    ("sample", "rows 4 lanes", sample::<Wide<4>>),
    ("sample", "rows 8 lanes", sample::<Wide<8>>),
    ("sample", "rows 16 lanes", sample::<Wide<16>>),
    (
        "sample of moving t r s",
        "rows 4 lanes",
        |input, time, output| {
            input
                .full
                .sample_into_lanes::<Wide<4>>(time, &mut output.third);
        },
    ),
    (
        "sample and scatter",
        "rows 4 lanes",
        |input, time, output| {
            sample::<Wide<4>>(input, time, output);
            input.base.scatter(&output.rows, &mut output.pose, |_| true);
        },
    ),
    ("additive", "rows f32", additive::<f32>),
    ("additive", "rows 4 lanes", additive::<Wide<4>>),
    ("additive", "rows 8 lanes", additive::<Wide<8>>),
    ("additive", "rows 16 lanes", additive::<Wide<16>>),
    (
        "additive of a weight each",
        "rows 4 lanes",
        additive_each::<Wide<4>>,
    ),
    ("two samples and additive", "rows 4 lanes", layered),
    ("override lerp", "rows 4 lanes", |input, _, output| {
        mix::<Wide<4>>(Way::Lerp, input, output);
    }),
    ("override slerp", "rows 4 lanes", |input, _, output| {
        mix::<Wide<4>>(Way::Slerp, input, output);
    }),
];

/// Nanoseconds per joint of one round.
fn time(side: &Side, input: &Input, outputs: &mut [Output]) -> f64 {
    let frames = WORK.div_ceil(outputs.len() * JOINTS);
    let start = ThreadTime::now();
    for frame in 0..frames {
        for (character, output) in outputs.iter_mut().enumerate() {
            side.2(black_box(input), play(frame, character), output);
            black_box(output);
        }
    }
    start.elapsed().as_nanos() as f64 / (frames * outputs.len() * JOINTS) as f64
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs all sides for so many characters.
fn measure(input: &Input, characters: usize, rounds: usize) -> Vec<Row> {
    let output = Output {
        pose: vec![JointTransform::IDENTITY; JOINTS],
        ..Output::default()
    };
    let mut outputs = vec![output; characters];
    let mut times = vec![Vec::new(); SIDES.len()];
    for _ in 0..rounds {
        for (side, times) in SIDES.iter().zip(&mut times) {
            times.push(time(side, input, &mut outputs));
        }
    }
    let row = |(side, times): (&Side, &mut Vec<f64>)| Row {
        workload: format!("C {characters}: {}", side.0),
        side: side.1.to_owned(),
        figure: "ns per joint".to_owned(),
        median: median(times),
    };
    SIDES.iter().zip(&mut times).map(row).collect()
}

/// # Panics
/// If a lane width changes a bit.
fn compare_lanes(input: &Input) {
    let of = |side: fn(&Input, f32, &mut Output)| {
        let mut output = Output::default();
        side(input, 1.234, &mut output);
        output.rows
    };
    for wide in [sample::<Wide<4>>, sample::<Wide<8>>, sample::<Wide<16>>] {
        assert_eq!(of(wide), of(sample::<f32>));
    }
    for wide in [
        additive::<Wide<4>>,
        additive::<Wide<8>>,
        additive::<Wide<16>>,
    ] {
        assert_eq!(of(wide), of(additive::<f32>));
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value_of = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let lines = arguments.iter().any(|argument| argument == "--lines");
    let rounds = value_of("--rounds").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let input = Input::new();
    if !lines {
        input.check();
        compare_lanes(&input);
    }
    let mut rows = Vec::new();
    for characters in [1, CROWD] {
        rows.extend(measure(&input, characters, rounds));
    }
    for row in &rows {
        if lines {
            println!("{},flounce {},{:.4}", row.workload, row.side, row.median);
        } else {
            println!(
                "{:<34} {:<14} {:>7.2} ns",
                row.workload, row.side, row.median
            );
        }
    }
    if let Some(machine) = value_of("--record") {
        record::append("clips", machine, &rows).unwrap();
    }
}
