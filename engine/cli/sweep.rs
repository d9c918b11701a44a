//! `flounce sweep`: a scene under every combination of some switches.

use std::num::NonZeroU16;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use clap::Args;
use flounce::assets::check::counted;
use flounce::assets::scene::{self, Scene};
use flounce::assets::sweep::{self, Outcome, Row, Sweep, Vary};
use flounce::assets::{Error, patch};

use super::profile::ProfileArguments;
use super::{progress_bar, refuse_model, show_warnings, table};

/// Run a scene under every combination of some values and print one table.
///
/// Each row has the varied values, how many expectations hold, what the actors did in numbers, and a hash of the end
/// state (the same on every machine). Expectations that fail under other switches are data and no failure; exit code 1
/// says that a combination was refused. Outputs of the scene are not written.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce sweep scenes/fox_walk.ron --vary profile.delta=carried,rest,current\n  \
    flounce sweep scenes/fox_walk.ron --vary profile.root=shift,off --vary rate_hz=30,60,144 --csv rates.csv\n  \
    flounce sweep scenes/fox_walk.ron --profile prewarm=0 --vary properties.swing_power=0.8,1,1.2")]
pub struct SweepArguments {
    /// The scene file (RON)
    scene: PathBuf,
    /// A field of the scene and its values; given several times, every combination runs, the first field slowest.
    /// Fields: `profile.delta`, `rate_hz`, `seconds`, `seed`, `properties.swing_power`, `actors[0].start`, …
    #[arg(long, value_name = "PATH=V1,V2,…", value_parser = sweep::vary, required = true)]
    vary: Vec<Vary>,
    #[command(flatten)]
    profile: ProfileArguments,
    /// Write the table as comma-separated values as well
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// How many runs at a time; rows do not depend on it [default: one per processor]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroU16>,
    /// Overwrite the CSV file
    #[arg(long)]
    force: bool,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &SweepArguments) -> Result<ExitCode, Error> {
    let begin = Instant::now();
    refuse_model(&arguments.scene, "sweep wants a RON scene file")?;
    let scene = arguments
        .profile
        .on_scene(&scene::read(&arguments.scene)?)?;
    refuse_csv(arguments, &scene)?;
    let plan = sweep::plan(&scene, &arguments.vary).map_err(|error| match error {
        Error::Request(why) => Error::Request(format!("--vary {why}")),
        other => other,
    })?;
    let bar = progress_bar(plan.frames(), "frames", arguments.quiet);
    let threads = arguments.threads.map(|threads| threads.get().into());
    let sweep = sweep::run(&plan, threads, &|frames| bar.inc(frames))?;
    bar.finish_and_clear();
    show_warnings(&sweep.warnings);
    print(&sweep, &arguments.profile);
    let refused = sweep.refused();
    let refusals = if refused > 0 {
        format!(", {refused} refused")
    } else {
        String::new()
    };
    let (runs, seconds) = (counted(plan.runs(), "run"), begin.elapsed().as_secs_f64());
    println!("\n{runs}{refusals}; {seconds:.2} s in all");
    if let Some(file) = &arguments.csv {
        patch::write_file(file, sweep.to_csv().as_bytes(), arguments.force)?;
        println!("{}", file.display());
    }
    Ok(if refused > 0 {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}

/// Said before the work is done, not after.
fn refuse_csv(arguments: &SweepArguments, scene: &Scene) -> Result<(), Error> {
    let Some(csv) = &arguments.csv else {
        return Ok(());
    };
    let inputs = [scene.file().to_path_buf(), scene.model()];
    for input in inputs.into_iter().chain(scene.rig()) {
        patch::refuse_same(csv, &input)?;
    }
    if csv.exists() && !arguments.force {
        return Err(Error::Exists(csv.clone()));
    }
    let folder = csv.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder {
        Some(folder) if !folder.is_dir() => Err(Error::Request(format!(
            "{}: found no folder {}, expected one that exists",
            csv.display(),
            folder.display()
        ))),
        _ => Ok(()),
    }
}

fn print(sweep: &Sweep, profile: &ProfileArguments) {
    for line in profile.lines() {
        println!("{line}");
    }
    let measures = sweep.measures();
    let mut rows = Vec::from(header(&sweep.paths, &measures));
    rows.extend(sweep.rows.iter().map(|row| match &row.outcome {
        Ok(outcome) => cells(row, outcome, &measures),
        Err(_) => row.values.clone(),
    }));
    let lines = table(&rows);
    let mut lines = lines.lines();
    for line in lines.by_ref().take(2) {
        println!("{line}");
    }
    for (line, row) in lines.zip(&sweep.rows) {
        match &row.outcome {
            Ok(_) => println!("{line}"),
            Err(why) => println!("{line}  refused: {why}"),
        }
    }
}

/// The titles in two lines: names of measures in one would fill the screen.
fn header(paths: &[String], measures: &[(&str, &str)]) -> [Vec<String>; 2] {
    let mut above = vec![String::new(); paths.len()];
    let mut below = paths.to_vec();
    let mut push = |first: &str, second: String| {
        above.push(first.to_owned());
        below.push(second);
    };
    push("", "holds".to_owned());
    for (name, unit) in measures {
        let spaces = name.match_indices(' ').map(|(at, _)| at);
        let middle = spaces.min_by_key(|at| at.abs_diff(name.len() / 2));
        let (first, second) = name.split_at(middle.unwrap_or(0));
        push(first, format!("{} {unit}", second.trim_start()));
    }
    push("", "state".to_owned());
    [above, below]
}

fn cells(row: &Row, outcome: &Outcome, measures: &[(&str, &str)]) -> Vec<String> {
    let mut cells = row.values.clone();
    cells.push(format!("{}/{}", outcome.holding, outcome.expectations));
    let values = measures.iter().map(|(name, _)| outcome.measure(name));
    cells.extend(values.map(|value| match value {
        None => "-".to_owned(),
        // A settle time of a run that was still moving at its end.
        Some(value) if value.is_infinite() => "never".to_owned(),
        Some(value) => format!("{value:.3}"),
    }));
    cells.push(outcome.state.to_string());
    cells
}
