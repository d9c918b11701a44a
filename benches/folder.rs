//! What a folder of clips costs from files to files: all clips of a real model with three rigs, on two threads.
//!
//! Beside the whole way, as `flounce batch` goes it (planning with hashes, reading, simulating, writing, the journal), its
//! two large parts are measured alone, each on two threads: simulating, from clips in memory to recordings in memory, and
//! writing, from recordings to files on the disk. Were they fully laid over each other, the whole would take as long as
//! the longer of them.
//!
//! Memory is the peak of a process of its own for each number of jobs: models are copies, so that each is read anew.
//!
//! `cargo bench --bench folder` prints a table; `-- --record MACHINE` also appends it to `benches/results/MACHINE.csv`;
//! `-- --rounds N` takes more or fewer rounds. Wall-clock time decides, so the machine has to be idle; the processor time of
//! the whole way is beside it. Outputs are flushed to the disk of the folder for temporary files.
#![expect(clippy::print_stdout, reason = "the table is for people")]
#![expect(
    clippy::unwrap_used,
    reason = "a bench that cannot run says so and stops"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use cpu_time::ProcessTime;
use flounce::assets::bake::{self, BakeOptions, Simulated, select_clips, simulate};
use flounce::assets::batch::inputs::Input;
use flounce::assets::batch::ledger::Ledger;
use flounce::assets::batch::names::{DEFAULT, Pattern};
use flounce::assets::batch::report::{Row as JobRow, State};
use flounce::assets::batch::stamp::{Existing, decide};
use flounce::assets::batch::{self, Observer, Request, RunOptions};
use flounce::assets::{Error, import, patch, rig_file};
use flounce::clip::Clip;
use flounce::rig::Rig;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

#[path = "support/record.rs"]
mod record;

use record::Row;

/// Rounds in turn; the median of them counts.
const ROUNDS: usize = 11;
/// Rigs of each model.
const RIGS: usize = 3;
/// How much longer than the longer part the whole may take.
const WANTED: f64 = 1.3;

/// Models and rigs in a folder.
struct Folder {
    home: tempfile::TempDir,
    models: Vec<PathBuf>,
    rigs: Vec<PathBuf>,
}

impl Folder {
    /// `models` copies of the model, and rigs that differ.
    fn new(models: usize) -> Self {
        let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
        let home = tempfile::tempdir().unwrap();
        let model = |index: usize| {
            let file = home.path().join(format!("model{index:02}.glb"));
            fs::copy(scenes.join("models/SpringTestRig_2025.glb"), &file).unwrap();
            file
        };
        let rules = fs::read_to_string(scenes.join("rigs/spring_test_rig.ron")).unwrap();
        let rig = |index: usize| {
            let file = home.path().join(format!("rig{index}.ron"));
            let stiffness = format!("stiffness: {}.5", 2 + index);
            assert!(rules.contains("stiffness: 2.5"));
            fs::write(&file, rules.replace("stiffness: 2.5", &stiffness)).unwrap();
            file
        };
        Self {
            models: (0..models).map(model).collect(),
            rigs: (0..RIGS).map(rig).collect(),
            home,
        }
    }

    fn out(&self) -> PathBuf {
        self.home.path().join("out")
    }
}

struct Silent;

impl Observer for Silent {
    fn frames(&self, _: u64) {}
    fn ended(&self, row: &JobRow, _: Option<&Error>) {
        assert_eq!(row.state, State::Done, "{:?}", row.error);
    }
}

/// The whole way, as `flounce batch` goes it.
fn whole(folder: &Folder, pool: &ThreadPool) {
    let input = |file: &PathBuf| Input {
        file: file.clone(),
        folder: String::new(),
    };
    let request = Request {
        models: folder.models.iter().map(input).collect(),
        rigs: folder.rigs.clone(),
        options: BakeOptions::default(),
        name: Pattern::parse(DEFAULT).unwrap(),
        out_dir: folder.out(),
        base: None,
    };
    let plan = pool.install(|| batch::plan(&request)).unwrap();
    let selected: Vec<usize> = (0..plan.manifest.entries.len()).collect();
    let ledger = Ledger::read(&plan.out_dir).unwrap();
    let todo = pool.install(|| decide(&plan, &selected, &ledger, Existing::Refuse, true));
    let options = RunOptions {
        kept: State::Done,
        fail_fast: true,
        journal: "batch".to_owned(),
    };
    batch::run(&plan, &selected, todo, &options, pool, &Silent).unwrap();
}

/// What the parts work on.
struct Parts {
    container: flounce::assets::container::Container,
    clips: Vec<Arc<Clip>>,
    rigs: Vec<Rig>,
}

impl Parts {
    fn new(folder: &Folder) -> Self {
        let (model, container) = import::read_model(&folder.models[0]).unwrap();
        let rigged = |file: &PathBuf| {
            let mut rig = model.rig.clone();
            rig_file::read(file).unwrap().apply(&mut rig).unwrap();
            rig
        };
        Self {
            clips: select_clips(&model, &BakeOptions::default()).unwrap(),
            rigs: folder.rigs.iter().map(rigged).collect(),
            container,
        }
    }

    fn simulate(&self, pool: &ThreadPool) -> Vec<Simulated> {
        let options = BakeOptions::default();
        let one = |rig| simulate(rig, &self.clips, &options, &|_| {}).unwrap();
        pool.install(|| self.rigs.iter().map(one).collect())
    }

    fn write(&self, folder: &Path, simulated: Vec<Simulated>, pool: &ThreadPool) {
        let options = BakeOptions::default();
        let jobs = simulated.into_par_iter().zip(&self.rigs).enumerate();
        let one = |(index, (simulated, rig)): (usize, (Simulated, &Rig))| {
            let out = folder.join(format!("{index}.glb"));
            let put = bake::put(&self.container, rig, &self.clips, &options, &out, simulated);
            patch::write(&put.unwrap().0, &out, true).unwrap();
        };
        pool.install(|| jobs.for_each(one));
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn milliseconds(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64() * 1e3
}

/// All rounds of all sides in turn, and what they come to.
fn measure(rounds: usize, pool: &ThreadPool) -> Vec<Row> {
    let folder = Folder::new(1);
    let parts = Parts::new(&folder);
    let alone = folder.home.path().join("alone");
    fs::create_dir(&alone).unwrap();
    let mut times: [Vec<f64>; 4] = Default::default();
    for _ in 0..rounds {
        let begin = Instant::now();
        let simulated = parts.simulate(pool);
        times[0].push(milliseconds(begin));
        let begin = Instant::now();
        parts.write(&alone, simulated, pool);
        times[1].push(milliseconds(begin));
        // A folder as new as that of a first run.
        let _ = fs::remove_dir_all(folder.out());
        let (begin, processor) = (Instant::now(), ProcessTime::now());
        whole(&folder, pool);
        times[2].push(milliseconds(begin));
        times[3].push(processor.elapsed().as_secs_f64() * 1e3);
    }
    for index in 0..RIGS {
        let [a, b] = [
            alone.join(format!("{index}.glb")),
            folder.out().join(format!("model00.rig{index}.glb")),
        ]
        .map(|file| fs::read(file).unwrap());
        assert!(a == b, "the whole way writes other bytes than its parts");
    }
    let [simulating, writing, whole, processor] = times.map(median);
    let ratio = whole / simulating.max(writing);
    let workload = format!("{} clips x {RIGS} rigs", parts.clips.len());
    println!(
        "{workload}, {} threads, medians of {rounds} rounds:",
        pool.current_num_threads()
    );
    let mut rows = Vec::new();
    for (side, figure, median) in [
        ("simulating alone", "ms wall", simulating),
        ("writing alone", "ms wall", writing),
        ("end to end", "ms wall", whole),
        ("end to end", "ms processor", processor),
        ("end to end", "x the longer part", ratio),
    ] {
        println!("{side:<18} {median:>9.2} {figure}");
        rows.push(Row {
            workload: workload.clone(),
            side: side.to_owned(),
            figure: figure.to_owned(),
            median,
        });
    }
    println!("asked: at most {WANTED} x the longer part");
    rows
}

/// Peak memory of this process, MiB; Linux only.
fn peak() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kibibytes: f64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes / 1024.0)
}

/// Peak memory of processes of their own that bake this many models.
fn memory() -> Vec<Row> {
    let mut rows = Vec::new();
    for models in [1, 4, 16] {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let output = command
            .args(["--memory", &models.to_string()])
            .output()
            .unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        let Ok(median) = printed.trim().parse() else {
            println!("no peak of memory on this system");
            return rows;
        };
        let jobs = models * RIGS;
        println!("{jobs:>3} jobs: peak of {median:>6.1} MiB");
        rows.push(Row {
            workload: format!("{jobs} jobs"),
            side: "end to end".to_owned(),
            figure: "MiB at the peak".to_owned(),
            median,
        });
    }
    rows
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let value_of = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1).map(String::as_str)
    };
    let pool = ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    if let Some(models) = value_of("--memory") {
        whole(&Folder::new(models.parse().unwrap()), &pool);
        if let Some(peak) = peak() {
            println!("{peak:.1}");
        }
        return;
    }
    let rounds = value_of("--rounds").map_or(ROUNDS, |rounds| rounds.parse().unwrap());
    let mut rows = measure(rounds, &pool);
    rows.extend(memory());
    if let Some(machine) = value_of("--record") {
        record::append("folder", machine, &rows).unwrap();
    }
}
