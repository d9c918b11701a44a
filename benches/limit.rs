//! How near the engine's kernel is to what the machine can do: workload S, time over bound.
//!
//! `cargo bench --bench limit` prints a table with a column per instruction set of this machine, widest first;
//! `-- --record MACHINE` also appends the counts and the first column to `benches/results/MACHINE.csv`; `-- --rounds N`
//! for a quick look.
//!
//! The operations of a joint's substep are counted by running the kernel with [`Counted`] lanes; what a core does at most
//! is measured beside the kernel, in turn, on CPU time of this thread. The bound is the time of the busiest resource:
//!
//! ```text
//! ports    products, sums and blends wait for the same ports: all of them at the mixed rate, or one kind at its own
//! divider  quotients and roots wait for one unit beside those ports: their times add up, where measuring agrees
//! memory   what a substep touches has to come in and, where written, to go out: at the rate of the cache that the
//!          crowd lives in, measured over as many bytes
//! bound    max(ports, divider, memory): the three work at the same time, so their sum is no bound
//! ```
//! No kernel can be faster while it does these operations. What is not in it is what keeps a kernel from it: latency,
//! branches, masks, registers spilled, loads and stores in the first cache, and constants put into lanes.
#![expect(clippy::print_stdout, reason = "the table is for people")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run says so and stops"
)]

#[path = "support/counted.rs"]
mod counted;
#[allow(dead_code, reason = "other benches use the rest")]
#[path = "support/kernel.rs"]
mod kernel;
#[path = "support/peaks.rs"]
mod peaks;
#[path = "support/record.rs"]
mod record;
#[allow(dead_code, reason = "other benches use the rest")]
#[path = "support/workload.rs"]
mod workload;

use counted::{Counted, Counts, Operation};
use cpu_time::ThreadTime;
use flounce::lane::Wide;
use flounce::plan::Plan;
use kernel::Kernel;
use peaks::{InstructionSet, Peak};
use record::Row;
use workload::{JOINTS, PERIOD};

const TIMED: &str = "kernel";

/// The kernel whose time is taken: the widest lanes that there are.
fn timed(plan: Plan, characters: usize) -> Kernel {
    let widths = flounce::instruction_set::InstructionSet::default().widths();
    Kernel::new(plan, characters, widths.last().copied().unwrap_or(1))
}

/// The kernel whose operations are counted: branches are taken as 32 lanes take them.
fn counting(plan: Plan, characters: usize) -> Kernel {
    Kernel::of::<Counted<Wide<32>>>(plan, characters)
}

/// Rounds in turn; the median of them counts.
const ROUNDS: usize = 9;
/// Steps before anything is counted or timed.
const WARM: usize = 32;
/// Colliders of the rigs.
const COLLIDERS: [usize; 2] = [0, 8];
/// Characters of a crowd that stays in a near cache, and of one that does not.
const CROWDS: [usize; 2] = [32, 10_000];

/// What one joint's substep takes, over a period of the hips.
///
/// # Panics
/// If counting changed a bit.
fn count(colliders: usize) -> Counts {
    const CHARACTERS: usize = CROWDS[0];
    let plan = || Plan::compile(&workload::rig(colliders));
    let mut counted = counting(plan(), CHARACTERS);
    let mut plain = timed(plan(), CHARACTERS);
    let mut counts = Counts::default();
    for step in 1..=WARM + PERIOD {
        counted::take();
        counted.step(step);
        plain.step(step);
        if step > WARM {
            counts = counts.plus(counted::take());
        }
    }
    for character in 0..CHARACTERS {
        let (counted, plain) = (counted.positions(character), plain.positions(character));
        assert_eq!(counted, plain, "counting changed character {character}");
    }
    // One operation is done on all lanes; bytes are those of all lanes.
    let lanes = CHARACTERS as f64;
    let mut counts = counts.over((PERIOD * JOINTS) as f64);
    counts.bytes_in /= lanes;
    counts.bytes_out /= lanes;
    counts
}

/// A crowd that is timed, and memory as large.
struct Case {
    colliders: usize,
    kernel: Kernel,
    step: usize,
    numbers: Vec<f32>,
    /// Nanoseconds per joint substep, per round.
    times: Vec<f64>,
    /// Bytes per nanosecond, per instruction set and round.
    bandwidths: Vec<Vec<f64>>,
}

impl Case {
    fn new(colliders: usize, characters: usize, counts: &Counts, sets: usize) -> Self {
        let mut kernel = timed(Plan::compile(&workload::rig(colliders)), characters);
        (1..WARM).for_each(|step| kernel.step(step));
        let bytes = counts.bytes_in * (characters * JOINTS) as f64;
        Self {
            colliders,
            kernel,
            step: WARM,
            numbers: vec![1.0; bytes as usize / size_of::<f32>()],
            times: Vec::new(),
            bandwidths: vec![Vec::new(); sets],
        }
    }

    fn name(&self) -> String {
        format!("{}x{}", self.kernel.characters(), self.colliders)
    }

    /// A round. A few characters move for a whole period; many are at all points of it at once.
    fn measure(&mut self, sets: &[InstructionSet]) {
        let characters = self.kernel.characters();
        let steps = PERIOD.div_ceil(characters.div_ceil(CROWDS[0]));
        let start = ThreadTime::now();
        for step in self.step..self.step + steps {
            self.kernel.step(step);
        }
        let time = start.elapsed().as_nanos() as f64;
        self.step += steps;
        self.times.push(time / (steps * characters * JOINTS) as f64);
        for (set, bandwidths) in sets.iter().zip(&mut self.bandwidths) {
            bandwidths.push(set.bandwidth(&mut self.numbers));
        }
    }
}

fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Operations per nanosecond and lane, per [`Peak`].
type Rates = [f64; Peak::ALL.len()];

/// The least time of each resource for one joint's substep, nanoseconds.
struct Bound {
    multiply: f64,
    add: f64,
    blend: f64,
    ports: f64,
    divider: f64,
    memory: f64,
}

impl Bound {
    fn new(counts: &Counts, rates: &Rates, bandwidth: f64) -> Self {
        let time = |count: f64, peak: Peak| count / rates[peak as usize];
        let [multiplies, adds, blends] =
            [Operation::Multiply, Operation::Add, Operation::Blend].map(|kind| counts.of(kind));
        let multiply = time(multiplies, Peak::Multiply);
        let add = time(adds, Peak::Add);
        let blend = time(blends, Peak::Blend);
        let mixed = time(multiplies + adds + blends, Peak::Mixed);
        let divide = time(counts.of(Operation::Divide), Peak::Divide);
        let root = time(counts.of(Operation::Root), Peak::Root);
        let divider = if shares_divider(rates) {
            divide + root
        } else {
            divide.max(root)
        };
        Self {
            multiply,
            add,
            blend,
            ports: mixed.max(multiply).max(add).max(blend),
            divider,
            memory: (counts.bytes_in + counts.bytes_out) / bandwidth,
        }
    }

    fn all(&self) -> f64 {
        self.ports.max(self.divider).max(self.memory)
    }
}

/// Whether a quotient and a root beside each other take nearly as long as one after the other.
fn shares_divider(rates: &Rates) -> bool {
    let [divide, root, both] =
        [Peak::Divide, Peak::Root, Peak::DivideAndRoot].map(|peak| 1.0 / rates[peak as usize]);
    2.0 * both > 0.75 * (divide + root)
}

/// Prints lines of a table and makes rows of them for the record.
#[derive(Default)]
struct Table {
    workload: String,
    unit: &'static str,
    columns: Vec<String>,
    rows: Vec<Row>,
}

impl Table {
    fn head(&mut self, workload: &str, unit: &'static str, columns: Vec<String>) {
        let title = format!("{workload}: {unit}");
        println!("\n{title:<44}{}", cells(columns.iter().cloned()));
        workload.clone_into(&mut self.workload);
        self.unit = unit;
        self.columns = columns;
    }

    fn line(&mut self, name: &str, values: impl IntoIterator<Item = f64>) {
        let values: Vec<f64> = values.into_iter().collect();
        let texts = values.iter().map(|value| format!("{value:.2}"));
        println!("  {name:<42}{}", cells(texts));
        for (column, median) in self.columns.iter().zip(values) {
            self.rows.push(Row {
                workload: self.workload.clone(),
                side: format!("{column} {name}"),
                figure: self.unit.to_owned(),
                median,
            });
        }
    }
}

fn cells(texts: impl Iterator<Item = String>) -> String {
    texts.map(|text| format!("{text:>10}")).collect()
}

fn print_counts(table: &mut Table, counts: &[Counts]) {
    let columns = COLLIDERS.map(|colliders| format!("C = {colliders}"));
    table.head("S", "operations per joint substep", columns.to_vec());
    for operation in Operation::ALL {
        let name = format!("{operation:?}").to_lowercase();
        table.line(&name, counts.iter().map(|counts| counts.of(operation)));
    }
    table.unit = "bytes per joint substep";
    table.line("bytes in", counts.iter().map(|counts| counts.bytes_in));
    table.line("bytes out", counts.iter().map(|counts| counts.bytes_out));
}

fn print_peaks(table: &mut Table, sets: &[InstructionSet], rates: &[Rates], cases: &[Case]) {
    let names: Vec<String> = sets.iter().map(|set| set.name.to_owned()).collect();
    table.head("peak", "operations on a lane per ns", names.clone());
    for peak in Peak::ALL {
        let of = |rates: &Rates| rates[peak as usize];
        table.line(peak.name(), rates.iter().map(of));
    }
    table.head("peak", "bytes in and out per ns", names);
    for case in cases {
        let kilobytes = size_of_val(&*case.numbers) / 1000;
        let name = format!("{} ({kilobytes} kB)", case.name());
        table.line(&name, case.bandwidths.iter().map(|all| median(all)));
    }
}

fn print_bounds(table: &mut Table, case: &Case, counts: &Counts, rates: &[Rates]) {
    let bounds: Vec<Bound> = rates
        .iter()
        .zip(&case.bandwidths)
        .map(|(rates, bandwidths)| Bound::new(counts, rates, median(bandwidths)))
        .collect();
    let time = median(&case.times);
    let columns = table.columns.clone();
    table.head(
        &format!("S {}", case.name()),
        "ns per joint substep",
        columns,
    );
    let mut line = |name: &str, of: fn(&Bound) -> f64| {
        table.line(name, bounds.iter().map(of));
    };
    line("multiplies alone", |bound| bound.multiply);
    line("adds alone", |bound| bound.add);
    line("blends alone", |bound| bound.blend);
    line("ports", |bound| bound.ports);
    line("divider", |bound| bound.divider);
    line("memory", |bound| bound.memory);
    line("bound", Bound::all);
    table.line(&format!("time of the {TIMED}"), bounds.iter().map(|_| time));
    table.unit = "ratio";
    let ratios = bounds.iter().map(|bound| time / bound.all());
    table.line("time over bound", ratios);
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value_of = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let rounds = value_of("--rounds").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let sets = peaks::instruction_sets();
    let counts = COLLIDERS.map(count);
    let mut cases = Vec::new();
    for (colliders, counts) in COLLIDERS.into_iter().zip(&counts) {
        for characters in CROWDS {
            cases.push(Case::new(colliders, characters, counts, sets.len()));
        }
    }
    let mut rates = vec![[const { Vec::new() }; Peak::ALL.len()]; sets.len()];
    for _ in 0..rounds {
        for (set, rates) in sets.iter().zip(&mut rates) {
            for peak in Peak::ALL {
                rates[peak as usize].push(set.rate(peak));
            }
        }
        for case in &mut cases {
            case.measure(&sets);
        }
    }
    let rates: Vec<Rates> = rates
        .iter()
        .map(|rates| rates.each_ref().map(|rates| median(rates)))
        .collect();

    let mut table = Table::default();
    print_counts(&mut table, &counts);
    print_peaks(&mut table, &sets, &rates, &cases);
    for case in &cases {
        let at = COLLIDERS.iter().position(|&c| c == case.colliders).unwrap();
        print_bounds(&mut table, case, &counts[at], &rates);
    }
    for (set, rates) in sets.iter().zip(&rates) {
        let share = if shares_divider(rates) {
            "share one unit"
        } else {
            "have a unit each"
        };
        println!("{}: quotients and roots {share}", set.name);
    }
    if let Some(machine) = value_of("--record") {
        let widest = |row: &Row| row.workload == "S" || row.side.starts_with(sets[0].name);
        table.rows.retain(widest);
        record::append("limit", machine, &table.rows).unwrap();
    }
}
