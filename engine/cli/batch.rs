//! `flounce batch`: swing motion into the clips of many models.

use std::collections::{BTreeMap, BTreeSet};
use std::io::IsTerminal;
use std::num::NonZeroU16;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};

use clap::Args;
use flounce::assets::batch::ledger::Ledger;
use flounce::assets::batch::report::{Row, State};
use flounce::assets::batch::selection::{self, Selection};
use flounce::assets::batch::stamp::{Existing, Todo, changed_by_hand, decide};
use flounce::assets::batch::{self, Observer, Plan, Report, RunOptions};
use flounce::assets::check::counted;
use flounce::assets::{Error, patch};
use indicatif::ProgressBar;
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::product::{ProductArguments, misuse};
use super::{bytes, destination, progress_bar, show_error, show_warnings, table};

/// Bake many models with many rigs into a folder.
///
/// Every model with every rig is a job, and its output what `flounce bake` would write; with {clip} in --name every clip
/// is a job, whose output has that clip baked and the others as they were. Jobs come in the order of the models' paths,
/// then of the rigs as they are named, then of the clips. Outputs hang on nothing but their own inputs: neither on --jobs
/// nor on what is baked with them.
///
/// Outputs appear whole or not at all. What was written is recorded beside them in .flounce, with hashes of inputs, options
/// and outputs; --skip-existing and --resume go by it and by the files' contents, never by their times.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce batch models --rig hair.ron --out-dir out\n  \
    flounce batch 'cast/*.glb' @more.txt --rig hair.ron skirt.ron --out-dir out --name '{model}/{rig}/{clip}.{ext}'\n  \
    flounce batch models --rig hair.ron --out-dir out --resume --report report.json\n  \
    flounce batch models --rig hair.ron --out-dir out --skip-existing --dry-run\n  \
    flounce batch --manifest manifest.json --shard 3/8 --out-dir out --report part3.json\n\n\
    Exit codes: 0 every job has its output, 1 some failed or were not run, 2 misuse: nothing was run.")]
pub struct BatchArguments {
    #[command(flatten)]
    product: ProductArguments,
    /// Run the jobs of a manifest of `flounce plan`; each input is checked to be what it was then
    #[arg(long, value_name = "FILE", conflicts_with_all = ProductArguments::ids())]
    manifest: Option<PathBuf>,
    /// Only shard I of N of the manifest, with about a share of N of its frames; the same jobs on every machine
    #[arg(long, value_name = "I/N", value_parser = selection::shard, requires = "manifest", conflicts_with = "range")]
    shard: Option<Selection>,
    /// Only jobs A to B of the manifest, counted from 1, both included
    #[arg(long, value_name = "A-B", value_parser = selection::range, requires = "manifest")]
    range: Option<Selection>,
    /// Where outputs go; made if need be [default: that of the manifest]
    #[arg(long, value_name = "DIR", required_unless_present = "manifest")]
    out_dir: Option<PathBuf>,
    /// Threads that simulate, up to 4 per processor; outputs do not depend on it [default: one per processor]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroU16>,
    /// Leave outputs alone that are up to date: a batch wrote them from the same model, rig, options and version, and they
    /// still hold what it wrote; they are reported as skipped, other outputs of a batch are written anew
    #[arg(long, conflicts_with = "resume")]
    skip_existing: bool,
    /// Go on with a run that was killed or had failures: as --skip-existing, but what is up to date counts as done, so that
    /// the report is that of one uninterrupted run; where nothing was begun, begin
    #[arg(long)]
    resume: bool,
    /// Say what would be done and why; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Go on with the other jobs when one fails; the default
    #[arg(long, conflicts_with = "fail_fast")]
    keep_going: bool,
    /// Begin no more jobs once one has failed
    #[arg(long)]
    fail_fast: bool,
    /// Write what became of each job as JSON (schema flounce.batch), over an older report; a folder below --out-dir is made
    /// if need be; `flounce merge` joins several
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Overwrite files that no batch wrote; without --skip-existing and --resume, everything
    #[arg(long)]
    force: bool,
    /// No progress (a bar, or off a terminal a line for each job), no table; errors are shown
    #[arg(short, long)]
    quiet: bool,
}

/// What is going to be done.
struct Prepared {
    plan: Plan,
    selection: Selection,
    selected: Vec<usize>,
    /// One per selected entry.
    todo: Vec<Todo>,
    /// What is going to be overwritten although it is not what a batch wrote there.
    changed: Vec<String>,
    pool: ThreadPool,
}

/// Runs the command.
pub fn run(arguments: &BatchArguments) -> Result<ExitCode, Error> {
    let prepared = match prepare(arguments) {
        Ok(prepared) => prepared,
        Err(error) => return misuse(error),
    };
    if arguments.dry_run {
        print_todo(&prepared, arguments.manifest.is_some());
    }
    if let Err(error) = refuse_taken(&prepared) {
        return misuse(error);
    }
    if arguments.dry_run {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(folder) = arguments.report.as_deref().and_then(Path::parent) {
        std::fs::create_dir_all(folder).map_err(|error| Error::io(folder, "create", error))?;
    }
    // What it refuses, it refuses before the first job.
    let report = match work(arguments, prepared) {
        Ok(report) => report,
        Err(error) => return misuse(error),
    };
    if let Some(file) = &arguments.report {
        report.write(file)?;
    }
    if !arguments.quiet {
        print_report(&report);
    }
    Ok(if report.is_complete() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn prepare(arguments: &BatchArguments) -> Result<Prepared, Error> {
    let threads = arguments.jobs.map_or(0, threads);
    // It fails where the system has no threads left.
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| Error::Request(format!("--jobs: {error}")))?;
    let (plan, ledger) = plan(arguments, &pool)?;
    let selection = arguments.shard.or(arguments.range).unwrap_or_default();
    let selected = selection.pick(&plan.manifest.entries)?;
    refuse_report(arguments, &plan)?;
    let existing = match (arguments.skip_existing, arguments.resume) {
        (true, _) => Existing::Skip,
        (_, true) => Existing::Resume,
        _ => Existing::Refuse,
    };
    let force = arguments.force;
    let todo = pool.install(|| decide(&plan, &selected, &ledger, existing, force));
    let changed = pool.install(|| changed_by_hand(&plan, &selected, &todo, &ledger));
    Ok(Prepared {
        plan,
        selection,
        selected,
        todo,
        changed,
        pool,
    })
}

/// How many threads `--jobs` gets: more than a few per processor take memory and give nothing.
fn threads(wanted: NonZeroU16) -> usize {
    const PER_PROCESSOR: usize = 4;
    let wanted = usize::from(wanted.get());
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = PER_PROCESSOR * processors;
    if wanted > most {
        eprintln!("note: {most} threads instead of {wanted}: {PER_PROCESSOR} per processor");
    }
    wanted.min(most)
}

/// The plan, and what was written into its output folder before.
fn plan(arguments: &BatchArguments, pool: &ThreadPool) -> Result<(Plan, Ledger), Error> {
    let out_dir = arguments.out_dir.as_deref();
    // Clap lets what it requires go where that conflicts with what is there.
    if arguments.manifest.is_none() && arguments.shard.or(arguments.range).is_some() {
        return Err(Error::Request(
            "found --shard or --range without a manifest, expected --manifest FILE: `flounce plan` writes one".to_owned(),
        ));
    }
    if let Some(manifest) = &arguments.manifest {
        let plan = Plan::read(manifest, out_dir)?;
        let ledger = Ledger::read(&plan.out_dir)?;
        return Ok((plan, ledger));
    }
    let out_dir = out_dir.unwrap_or(Path::new("."));
    if out_dir.exists() && !out_dir.is_dir() {
        return Err(Error::Request(format!(
            "--out-dir {}: is a file, expected a folder",
            out_dir.display()
        )));
    }
    let ledger = Ledger::read(out_dir)?;
    let request = arguments.product.request(out_dir, None)?;
    let plan = pool.install(|| batch::plan(&request))?;
    Ok((plan, ledger))
}

/// The report may be written over an older one, but over nothing else that is known.
fn refuse_report(arguments: &BatchArguments, plan: &Plan) -> Result<(), Error> {
    let Some(report) = &arguments.report else {
        return Ok(());
    };
    let models = (0..plan.manifest.models.len()).map(|model| plan.model(model));
    let rigs = (0..plan.manifest.rigs.len()).map(|rig| plan.rig(rig));
    for input in models.chain(rigs).chain(arguments.manifest.clone()) {
        patch::refuse_same(report, &input)?;
    }
    destination::check_beside(report, plan)
}

/// Refuses to write over files that no batch wrote.
fn refuse_taken(prepared: &Prepared) -> Result<(), Error> {
    let taken = prepared.todo.iter().filter_map(|todo| match todo {
        Todo::Taken(file) => Some(prepared.plan.output(file)),
        _ => None,
    });
    let taken: Vec<PathBuf> = taken.collect();
    let Some(first) = taken.first() else {
        return Ok(());
    };
    let more = match taken.len() - 1 {
        0 => String::new(),
        1 => " (and 1 more output)".to_owned(),
        more => format!(" (and {more} more outputs)"),
    };
    Err(Error::Request(format!(
        "{}{more}: exists already; --skip-existing and --resume keep what a batch wrote and is up to date, --force overwrites",
        first.display()
    )))
}

fn work(arguments: &BatchArguments, prepared: Prepared) -> Result<Report, Error> {
    let Prepared {
        plan,
        selection,
        selected,
        todo,
        changed,
        pool,
    } = prepared;
    let overwritten = |file: &String| {
        let file = plan.output(file);
        format!(
            "{}: changed since a batch wrote it, overwritten",
            file.display()
        )
    };
    show_warnings(&changed.iter().map(overwritten).collect::<Vec<_>>());
    let mut frames = 0;
    for (todo, &index) in todo.iter().zip(&selected) {
        if matches!(todo, Todo::Bake(_)) {
            frames += plan.manifest.entries[index].frames;
        }
    }
    let progress = Progress {
        bar: progress_bar(frames, "frames", arguments.quiet),
        plan: &plan,
        jobs: selected.len(),
        ended: AtomicUsize::new(0),
        lines: !arguments.quiet && !std::io::stderr().is_terminal(),
    };
    let options = RunOptions {
        kept: if arguments.resume {
            State::Done
        } else {
            State::Skipped
        },
        fail_fast: arguments.fail_fast,
        journal: journal(arguments, &plan, selection),
    };
    let report = batch::run(&plan, &selected, todo, &options, &pool, &progress);
    progress.bar.finish_and_clear();
    let report = report?;
    show_warnings(&warnings(&report));
    Ok(report)
}

/// Runs of one manifest may share an output folder, each part with a journal of its own.
fn journal(arguments: &BatchArguments, plan: &Plan, selection: Selection) -> String {
    match arguments.manifest {
        None => "batch".to_owned(),
        Some(_) => format!("{}.{selection}", plan.manifest.hash.short()),
    }
}

/// The bar, and errors above it.
struct Progress<'p> {
    bar: ProgressBar,
    plan: &'p Plan,
    /// How many there are.
    jobs: usize,
    /// How many of them are over.
    ended: AtomicUsize,
    /// Whether each has a line instead of a bar.
    lines: bool,
}

impl Observer for Progress<'_> {
    fn frames(&self, count: u64) {
        self.bar.inc(count);
    }

    fn ended(&self, row: &Row, error: Option<&Error>) {
        let ended = self.ended.fetch_add(1, Ordering::Relaxed) + 1;
        if row.state != State::Failed {
            if self.lines {
                let state = row.state.describe();
                eprintln!(
                    "job {} {state}: {} ({ended} of {})",
                    row.number, row.output, self.jobs
                );
            }
            return;
        }
        let entry = self.plan.manifest.entries.get(row.number - 1);
        // What will not be simulated is nothing to wait for.
        let length = self.bar.length().unwrap_or(0);
        let planned = self.plan.faults.get(row.number - 1);
        let counted = planned.is_some_and(Option::is_none);
        let frames = entry.filter(|_| counted).map_or(0, |entry| entry.frames);
        self.bar.set_length(length.saturating_sub(frames));
        self.bar.suspend(|| {
            let job = entry.map_or_else(String::new, |it| self.plan.manifest.describe(it));
            eprintln!("job {} failed: {job}", row.number);
            match (error, &row.error) {
                (Some(error), _) => show_error(error),
                (None, Some(why)) => eprintln!("{why}"),
                (None, None) => {}
            }
        });
    }
}

/// Each sentence once, with the model that it is of.
fn warnings(report: &Report) -> Vec<String> {
    let (mut warnings, mut known) = (Vec::new(), BTreeSet::new());
    for row in report.jobs.iter().filter(|row| row.state == State::Done) {
        for warning in &row.warnings {
            let named = if warning.contains(&row.model) {
                warning.clone()
            } else {
                format!("{}: {warning}", row.model)
            };
            if known.insert(named.clone()) {
                warnings.push(named);
            }
        }
    }
    warnings
}

/// What would be done, and why.
fn print_todo(prepared: &Prepared, of_manifest: bool) {
    let header = ["job", "clips", "frames", "output", "what"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let mut baked = 0;
    for (todo, &index) in prepared.todo.iter().zip(&prepared.selected) {
        let entry = &prepared.plan.manifest.entries[index];
        let what = match todo {
            Todo::Bake(reason) => {
                baked += 1;
                format!("bake: {}", reason.describe())
            }
            Todo::Keep(_) => "keep: up to date".to_owned(),
            Todo::Taken(file) => format!("refuse: {file} exists already"),
            Todo::Fault => {
                let fault = prepared.plan.faults[index].as_ref();
                format!(
                    "fail: {}",
                    fault.map_or_else(String::new, |why| one_line(&why.to_string()))
                )
            }
        };
        rows.push(vec![
            format!(
                "{} {}",
                entry.number,
                prepared.plan.manifest.describe(entry)
            ),
            entry.clips.to_string(),
            entry.frames.to_string(),
            entry.output.clone(),
            what,
        ]);
    }
    print!("{}", ragged(&rows));
    let jobs = counted(prepared.selected.len(), "job");
    let taken = |todo: &Todo| matches!(todo, Todo::Taken(_));
    if prepared.todo.iter().any(taken) {
        println!("\nnothing would run: outputs exist already");
        return;
    }
    let unchecked = if of_manifest && baked > 0 {
        "; whether inputs changed and rigs fit was not checked"
    } else {
        ""
    };
    println!("\n{baked} of {jobs} would be baked; nothing was written{unchecked}");
}

fn print_report(report: &Report) {
    let timing = report.timing.clone().unwrap_or_default();
    let times: BTreeMap<usize, f64> = timing
        .jobs
        .iter()
        .map(|time| (time.number, time.milliseconds))
        .collect();
    let header = ["job", "clips", "frames", "ms", "size", "state"];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    rows.extend(report.jobs.iter().map(|row| {
        let reason = row.error.as_deref().map(one_line);
        let reason = reason.map_or_else(String::new, |why| format!(": {why}"));
        vec![
            format!("{} {}", row.number, row.output),
            row.clips.to_string(),
            row.frames.to_string(),
            times
                .get(&row.number)
                .map_or_else(|| "-".to_owned(), |time| format!("{time:.0}")),
            bytes(row.bytes),
            format!("{}{reason}", row.state.describe()),
        ]
    }));
    print!("{}", ragged(&rows));
    println!("\n{}; {:.2} s", summary(report), timing.seconds);
    // Where they have scrolled away.
    if report.jobs.len() > SCREEN {
        print!("{}", failures(report));
    }
}

/// Rows that are seen at once.
const SCREEN: usize = 20;

/// The jobs that failed, not more than a screenful.
fn failures(report: &Report) -> String {
    let failed = report.jobs.iter().filter(|row| row.state == State::Failed);
    let line = |row: &Row| {
        let why = row.error.as_deref().map(one_line).unwrap_or_default();
        format!("failed: {} {}: {why}\n", row.number, row.output)
    };
    let mut text: String = failed.take(SCREEN).map(line).collect();
    if report.totals.failed > SCREEN {
        text += &format!("failed: … and {} more\n", report.totals.failed - SCREEN);
    }
    text
}

/// How many jobs ended how, and what their outputs come to.
pub fn summary(report: &Report) -> String {
    let totals = &report.totals;
    let mut text = format!(
        "{}: {} done",
        counted(report.jobs.len(), "job"),
        totals.done
    );
    for (count, what) in [
        (totals.skipped, "skipped"),
        (totals.failed, "failed"),
        (totals.not_run, "not run"),
    ] {
        if count > 0 {
            text += &format!(", {count} {what}");
        }
    }
    text += &format!(
        "; {}, {}",
        counted(totals.frames as usize, "frame"),
        bytes(totals.bytes)
    );
    let errors = report
        .jobs
        .iter()
        .filter_map(|row| row.quantization_microdeg);
    if let Some(largest) = errors.max() {
        let degrees = f64::from(largest) * 1e-6;
        text += &format!(", rotations in 16 bits within {degrees:.4}°");
    }
    text
}

/// A table whose last column is as long as it is, to the left.
fn ragged(rows: &[Vec<String>]) -> String {
    let split = |row: &Vec<String>| match row.split_last() {
        Some((last, first)) => (first.to_vec(), last.clone()),
        None => (Vec::new(), String::new()),
    };
    let (first, last): (Vec<Vec<String>>, Vec<String>) = rows.iter().map(split).unzip();
    let lines = table(&first);
    let lines = lines.lines().zip(last);
    lines
        .map(|(line, last)| format!("{line}  {last}\n"))
        .collect()
}

/// An error in one line, not longer than one reads in a table.
fn one_line(why: &str) -> String {
    const LONGEST: usize = 160;
    let line = why.replace('\n', " ");
    match line.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}
