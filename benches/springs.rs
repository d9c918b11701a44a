//! Cost of the springs: workload S by the engine's kernel, by a whole frame of a World, and by the port, in one run.
//!
//! `cargo bench --bench springs` prints a table; `-- --record MACHINE` also appends it to `benches/results/MACHINE.csv`;
//! `-- --only kernel --case 1x8` runs one side of one case (characters x colliders), for a profiler; `-- --worlds` times
//! whole Worlds alone. `-- --lines` prints the medians of [`LANES`] alone, for `benches/peers/run.sh`, which lets this
//! program and the peers' take turns.
//!
//! All sides take turns, several rounds, CPU time of this thread: what other processes do to the machine then reaches
//! all of them alike. A speed claim is a ratio of two medians of one run. Before anything is timed the sides are checked
//! against each other: the port to a tolerance, wide lanes bit for bit.
#![expect(clippy::print_stdout, reason = "the table is for people")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run says so and stops"
)]

mod support;

use bevy_math::Vec3;
use cpu_time::ThreadTime;
use flounce::clip::{ClipPlayer, Repeat};
use flounce::instruction_set::InstructionSet;
use flounce::plan::Plan;
use flounce::pose::{AnimatedPose, JointTransform};
use flounce::rig::Rig;
use flounce::systems::plugin::Headless;
use flounce::systems::substeps::Workers;
use support::kernel::Kernel;
use support::port::{Character, JointState};
use support::record::{self, Row};
use support::workload::{self, JOINTS, LINKS, PERIOD, PHASE};

/// Colliders of the cases.
const COLLIDERS: [usize; 3] = [0, 8, 24];
/// Rounds in turn; the median of them counts.
const ROUNDS: usize = 15;
/// Joint substeps that a side computes in a round: long against the clock's own cost.
const WORK: usize = 144_000;
/// One step in so many comes untimed before each round: what others left in the caches is not a side's own.
const WARMING: usize = 3;
/// Steps of a round at least, and steps that come before characters are checked.
const LEAST_STEPS: usize = 2;
const LEAST_WARM_UP: usize = 4;
/// How far the tips of each character have to move before they are timed, in the world and against the hips, metres.
const LEAST_MOVED: f32 = 1e-4;
/// How deep below the hips they hang on average, metres.
const LEAST_DEPTH: f32 = 0.2;
/// Frames in a round of [`measure_small_frames`]; few enough that 15 rounds show no blends, see `[T2]`.
const SMALL_FRAMES: usize = 1000;
/// Actors of [`measure_rigs`], and frames of a round.
const MANY: usize = 300;
const MANY_FRAMES: usize = 20;
/// Substeps after which the sides are compared.
const COMPARED: usize = 120;
/// How far the port's particles may be from the engine's, metres: it rounds otherwise and contacts amplify that.
const NEAR: f32 = 3e-5;

/// Something that moves characters of S.
trait Side {
    fn step(&mut self, step: usize);
    /// The hash of its bits, if it has to keep them.
    fn hash(&self) -> Option<u64> {
        None
    }
    /// Where the particles of a character are, in the order of the rig's swing joints, if it can say so.
    fn positions(&self, _character: usize) -> Option<Vec<[f32; 3]>> {
        None
    }
}

/// Name and maker of a side that the peers are compared with.
type LaneSide = (&'static str, fn(Plan, usize) -> Box<dyn Side>);

/// The sides of `--lines`. They have to tell positions.
const LANES: &[LaneSide] = &[
    ("scalar lane", |plan, characters| {
        Box::new(Kernel::new(plan, characters, 1))
    }),
    ("wide lane", |plan, characters| {
        Box::new(Kernel::crowd(plan, characters))
    }),
];

impl Side for Kernel {
    fn step(&mut self, step: usize) {
        Self::step(self, step);
    }
    fn hash(&self) -> Option<u64> {
        Some(Self::hash(self))
    }
    fn positions(&self, character: usize) -> Option<Vec<[f32; 3]>> {
        Some(Self::positions(self, character))
    }
}

/// Characters of the port.
struct Port {
    character: Character,
    /// The hips at each step of their period.
    hips: Vec<JointTransform>,
    states: Vec<Vec<JointState>>,
}

impl Port {
    fn new(colliders: usize, characters: usize) -> Self {
        let character = Character::new(&workload::rig(colliders));
        let rest = |index: usize| character.at_rest(&workload::hips(index * PHASE));
        let states = (0..characters).map(rest).collect();
        Self {
            hips: (0..PERIOD).map(workload::hips).collect(),
            states,
            character,
        }
    }
}

impl Side for Port {
    fn step(&mut self, step: usize) {
        for (index, states) in self.states.iter_mut().enumerate() {
            let hips = &self.hips[(step + index * PHASE) % PERIOD];
            self.character.step(hips, states);
        }
    }
}

/// Actors in a World, driven by a clip, one substep a frame.
struct Frame {
    host: Headless,
    frame: u64,
}

impl Frame {
    fn new(rig: &Rig, actors: usize) -> Self {
        Self::of_rigs(core::slice::from_ref(rig), actors)
    }

    /// `actors` that take `rigs` in turn; all rigs have the same joints.
    fn of_rigs(rigs: &[Rig], actors: usize) -> Self {
        let mut host = Headless::new();
        host.world.insert_resource(Workers::One);
        let rest: Vec<JointTransform> = rigs[0].joints.iter().map(|joint| joint.rest).collect();
        let rigs: Vec<_> = rigs.iter().map(|rig| host.spawn_rig(rig)).collect();
        let clip = workload::clip();
        for index in 0..actors {
            let mut player = ClipPlayer::new(clip.clone(), Repeat::Loop);
            player.playing.start = (index * PHASE) as f64 / 60.0;
            let rig = rigs[index % rigs.len()];
            host.spawn_actor(rig, (AnimatedPose(rest.clone()), player));
        }
        host.run_to(0.0).unwrap();
        Self { host, frame: 0 }
    }
}

impl Side for Frame {
    fn step(&mut self, _step: usize) {
        self.frame += 1;
        self.host.run_to(self.frame as f64 / 60.0).unwrap();
    }
}

/// Names of the wide sides, by the logarithm of their lanes.
const WIDE: [&str; 6] = [
    "scalar lane",
    "2 lanes",
    "4 lanes",
    "8 lanes",
    "16 lanes",
    "32 lanes",
];

struct Case {
    colliders: usize,
    characters: usize,
}

impl Case {
    /// Reads `CHARACTERSxCOLLIDERS`.
    fn parse(name: &str) -> Option<Self> {
        let (characters, colliders) = name.split_once('x')?;
        Some(Self {
            colliders: colliders.parse().ok()?,
            characters: characters.parse().ok().filter(|&count| count > 0)?,
        })
    }

    /// All colliders with all of `characters`.
    fn all(characters: &[usize]) -> Vec<Self> {
        let of = |&colliders| {
            let case = move |&characters| Self {
                colliders,
                characters,
            };
            characters.iter().map(case)
        };
        COLLIDERS.iter().flat_map(of).collect()
    }

    fn name(&self) -> String {
        format!("{}x{}", self.characters, self.colliders)
    }

    /// Joint substeps that `steps` steps are; lanes beyond the characters asked for do no work that counts.
    fn joint_substeps(&self, steps: usize) -> usize {
        steps * self.characters * JOINTS
    }

    /// Steps of a round.
    fn steps(&self) -> usize {
        WORK.div_ceil(self.joint_substeps(1)).max(LEAST_STEPS)
    }

    /// Nanoseconds per joint substep of one round that starts at step `first`.
    fn time(&self, side: &mut dyn Side, first: usize) -> f64 {
        let steps = self.steps();
        let warm = steps.div_ceil(WARMING);
        (first..first + warm).for_each(|step| side.step(step));
        let first = first + warm;
        let start = ThreadTime::now();
        for step in first..first + steps {
            side.step(step);
        }
        start.elapsed().as_nanos() as f64 / self.joint_substeps(steps) as f64
    }

    fn sides(&self) -> Vec<(&'static str, Box<dyn Side>)> {
        let plan = || Plan::compile(&workload::rig(self.colliders));
        let mut sides: Vec<(&str, Box<dyn Side>)> = vec![
            ("port", Box::new(Port::new(self.colliders, self.characters))),
            ("kernel", Box::new(Kernel::new(plan(), self.characters, 1))),
            (
                "frame",
                Box::new(Frame::new(&workload::rig(self.colliders), self.characters)),
            ),
        ];
        for &lanes in InstructionSet::default().widths() {
            let kernel = if self.characters == 1 {
                Kernel::chains(plan(), lanes)
            } else {
                Kernel::new(plan(), self.characters, lanes)
            };
            sides.push((WIDE[lanes.ilog2() as usize], Box::new(kernel)));
        }
        sides.push(("crowd", Box::new(Kernel::crowd(plan(), self.characters))));
        sides
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Runs a case and prints its rows.
fn measure(case: &Case, only: Option<&str>, rounds: usize) -> Vec<Row> {
    let mut sides = case.sides();
    sides.retain(|(name, _)| only.is_none_or(|only| only == *name));
    let mut times = vec![Vec::new(); sides.len()];
    for round in 0..rounds {
        for ((_, side), times) in sides.iter_mut().zip(&mut times) {
            times.push(case.time(side.as_mut(), 1 + round * 1000));
        }
    }
    let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
    for ((name, side), median) in sides.iter().zip(&medians) {
        let ratio = medians[0] / median;
        let hash = side
            .hash()
            .map_or(String::new(), |hash| format!("{hash:016x}"));
        println!(
            "{:>6} {name:<17} {median:>8.2} ns {ratio:>6.2} x  {hash}",
            case.name()
        );
    }
    let row = |((name, _), &median): (&(&str, _), &f64)| Row {
        workload: format!("S {}", case.name()),
        side: (*name).replace(',', ""),
        figure: "ns per joint substep".to_owned(),
        median,
    };
    sides.iter().zip(&medians).map(row).collect()
}

/// Times [`LANES`] in turn and prints a line for each: `S CASE,flounce SIDE,nanoseconds`.
///
/// # Panics
/// If a side did not move its characters.
fn print_lines(case: &Case, rounds: usize) {
    let plan = || Plan::compile(&workload::rig(case.colliders));
    let make = |(name, make): &LaneSide| (*name, make(plan(), case.characters), Vec::new());
    let mut sides: Vec<_> = LANES.iter().map(make).collect();
    let warm_up = case.steps().max(LEAST_WARM_UP);
    for (name, side, _) in &mut sides {
        swing(case, name, side.as_mut(), warm_up);
    }
    for round in 0..rounds {
        for (_, side, times) in &mut sides {
            let first = warm_up + 1 + round * case.steps();
            times.push(case.time(side.as_mut(), first));
        }
    }
    for (name, _, times) in &mut sides {
        println!("S {},flounce {name},{:.4}", case.name(), median(times));
    }
}

/// Lets the characters swing for `steps` steps before they are timed.
///
/// # Panics
/// If the tips of a character did not move, in the world and against the hips, or do not hang below them.
fn swing(case: &Case, name: &str, side: &mut dyn Side, steps: usize) {
    let tips = |side: &dyn Side, step: usize| -> Vec<[Vec<Vec3>; 2]> {
        let of_one = |index: usize| {
            let all = side.positions(index).expect("positions");
            let in_world = all
                .chunks_exact(LINKS)
                .map(|chain| Vec3::from(chain[LINKS - 1]));
            let in_world: Vec<Vec3> = in_world.collect();
            let hips = workload::hips(step + index * PHASE);
            let against = |tip: &Vec3| hips.rotation.inverse() * (*tip - hips.translation);
            let against_hips = in_world.iter().map(against).collect();
            [in_world, against_hips]
        };
        (0..case.characters).map(of_one).collect()
    };
    let before = tips(side, 0);
    for step in 1..=steps {
        side.step(step);
    }
    for (index, (old, new)) in before.iter().zip(tips(side, steps)).enumerate() {
        let [in_world, against_hips] = [0, 1].map(|space| {
            let pairs = old[space].iter().zip(&new[space]);
            pairs
                .map(|(old, new)| old.distance(*new))
                .fold(0.0, f32::max)
        });
        let depth = -new[1].iter().map(|tip| tip.y).sum::<f32>() / new[1].len() as f32;
        assert!(
            in_world.min(against_hips) > LEAST_MOVED && depth > LEAST_DEPTH,
            "{name}, {}, character {index}: tips moved {in_world} m, {against_hips} m against the hips, and hang {depth} m below them",
            case.name()
        );
    }
}

/// Nanoseconds per joint in frames of a World whose actors share a rig, and of one whose actors have a rig each: what it
/// costs that rigs do not share lanes.
fn measure_rigs(rounds: usize) -> Vec<Row> {
    let rigs = |count: usize| -> Vec<Rig> {
        let other = |index: usize| {
            let mut rig = workload::rig(8);
            // Enough to be another plan.
            rig.swing[0].stiffness += index as f32 * 1e-4;
            rig
        };
        (0..count).map(other).collect()
    };
    let mut worlds = [
        ("300 actors of 1 rig", Frame::of_rigs(&rigs(1), MANY)),
        ("300 actors of 300 rigs", Frame::of_rigs(&rigs(MANY), MANY)),
    ];
    let mut times = [const { Vec::new() }; 2];
    for _ in 0..rounds {
        for ((_, world), times) in worlds.iter_mut().zip(&mut times) {
            let start = ThreadTime::now();
            (0..MANY_FRAMES).for_each(|step| world.step(step));
            let joints = (MANY_FRAMES * MANY * JOINTS) as f64;
            times.push(start.elapsed().as_nanos() as f64 / joints);
        }
    }
    let row = |((name, _), times): (&(&str, _), &mut Vec<f64>)| {
        let median = median(times);
        println!("world: {name:<22} {median:>8.2} ns per joint and frame");
        Row {
            workload: (*name).to_owned(),
            side: "frame".to_owned(),
            figure: "ns per joint and frame".to_owned(),
            median,
        }
    };
    worlds.iter().zip(&mut times).map(row).collect()
}

/// Microseconds per frame of a World with nobody in it and with one small actor: what a host costs beside the solver.
fn measure_small_frames(rounds: usize) -> Vec<Row> {
    let mut worlds = [
        ("empty", Frame::new(&workload::rig_of(1, 2), 0)),
        (
            "1 actor of 6 joints",
            Frame::new(&workload::rig_of(1, 2), 1),
        ),
        ("1 actor of 144 joints", Frame::new(&workload::rig(2), 1)),
    ];
    let mut times = [const { Vec::new() }; 3];
    for _ in 0..rounds {
        for ((_, world), times) in worlds.iter_mut().zip(&mut times) {
            let start = ThreadTime::now();
            for step in 0..SMALL_FRAMES {
                world.step(step);
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / SMALL_FRAMES as f64);
        }
    }
    let row = |((name, _), times): (&(&str, _), &mut Vec<f64>)| {
        let median = median(times);
        println!("world: {name:<22} {median:>8.2} µs per frame");
        Row {
            workload: (*name).to_owned(),
            side: "frame".to_owned(),
            figure: "us per frame".to_owned(),
            median,
        }
    };
    worlds.iter().zip(&mut times).map(row).collect()
}

/// Compares the sides after [`COMPARED`] substeps.
///
/// # Panics
/// If they did not do the same work.
fn compare(colliders: usize) {
    const CHARACTERS: usize = 8;
    let plan = || Plan::compile(&workload::rig(colliders));
    let mut scalar = Kernel::new(plan(), CHARACTERS, 1);
    let widths = InstructionSet::default().widths();
    let mut wide: Vec<Kernel> = widths
        .iter()
        .map(|&lanes| Kernel::new(plan(), CHARACTERS, lanes))
        .collect();
    let mut chains: Vec<Kernel> = widths
        .iter()
        .map(|&lanes| Kernel::chains(plan(), lanes))
        .collect();
    let mut port = Port::new(colliders, CHARACTERS);
    let mut hits = 0.0;
    let mut largest = 0.0_f32;
    for step in 1..=COMPARED {
        scalar.step(step);
        wide.iter_mut()
            .chain(&mut chains)
            .for_each(|kernel| kernel.step(step));
        port.step(step);
        hits += scalar.hits() / COMPARED as f32;
        for (index, states) in port.states.iter().enumerate() {
            let ours = scalar.positions(index);
            for kernel in &wide {
                assert_eq!(ours, kernel.positions(index), "lanes differ in step {step}");
            }
            for kernel in chains.iter().filter(|_| index == 0) {
                assert_eq!(ours, kernel.positions(0), "chains differ in step {step}");
            }
            for (ours, theirs) in ours.iter().zip(states) {
                largest = largest.max((theirs.position - Vec3::from(*ours)).length());
            }
        }
    }
    println!(
        "C = {colliders}: port and kernel differ by at most {largest:.1e} m in {COMPARED} substeps, {hits:.2} hits per joint"
    );
    assert!(largest < NEAR, "the port does other work: {largest} m");
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value_of = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let only = value_of("--only");
    let case = value_of("--case").map(|name| Case::parse(name).expect("CHARACTERSxCOLLIDERS"));
    let rounds = value_of("--rounds").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    if arguments.iter().any(|argument| argument == "--lines") {
        let cases = case.map_or_else(|| Case::all(&[1, 100, 10_000]), |case| vec![case]);
        cases.iter().for_each(|case| print_lines(case, rounds));
        return;
    }
    let mut rows = Vec::new();
    if let Some(case) = case {
        rows.extend(measure(&case, only, rounds));
    } else {
        if !arguments.iter().any(|argument| argument == "--worlds") {
            COLLIDERS.iter().for_each(|&colliders| compare(colliders));
            for case in Case::all(&[1, 100]) {
                rows.extend(measure(&case, only, rounds));
            }
        }
        rows.extend(measure_small_frames(rounds));
        rows.extend(measure_rigs(rounds));
    }
    if let Some(machine) = value_of("--record") {
        record::append("springs", machine, &rows).unwrap();
    }
}
