//! `flounce run`: a scene with expectations.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use flounce::assets::check::counted;
use flounce::assets::run::{self, RunOptions, RunReport};
use flounce::assets::{Error, scene};

use super::profile::ProfileArguments;
use super::{progress_bar, refuse_model, show_warnings};

/// Run a scene and judge its expectations.
///
/// Prints the inputs with their hashes, what ran, a hash of the end state (the same on every machine) and each
/// expectation's verdict. Exit code 1 when one does not hold. A scene also says where and when feet of its actors stay in
/// place, for the legs that the rig file names.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce run scenes/fox_walk.ron\n  \
    flounce run scenes/fox_walk.ron --out-dir out\n  \
    flounce run scenes/fox_walk.ron --hashes > frames.txt\n  \
    flounce run scenes/feet.ron --out-dir out\n  \
    flounce run scenes/fox_walk.ron --profile delta=current --profile prewarm=0")]
pub struct RunArguments {
    /// The scene file (RON)
    scene: PathBuf,
    /// Write the scene's outputs into this folder; without it none are written
    #[arg(long, value_name = "DIR")]
    out_dir: Option<PathBuf>,
    /// Print the hash of the state after every frame
    #[arg(long)]
    hashes: bool,
    #[command(flatten)]
    profile: ProfileArguments,
    /// Overwrite outputs
    #[arg(long)]
    force: bool,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the command.
pub fn run(arguments: &RunArguments) -> Result<ExitCode, Error> {
    refuse_model(&arguments.scene, "run wants a RON scene file")?;
    let scene = arguments
        .profile
        .on_scene(&scene::read(&arguments.scene)?)?;
    let options = RunOptions {
        out_dir: arguments.out_dir.clone(),
        overwrite: arguments.force,
        frame_hashes: arguments.hashes,
    };
    let bar = progress_bar(scene.frames() + 1, "frames", arguments.quiet);
    let report = run::run(&scene, &options, &|frames| bar.inc(frames))?;
    bar.finish_and_clear();
    show_warnings(&report.warnings);
    print(&report, &arguments.profile);
    Ok(if report.holds() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn print(report: &RunReport, profile: &ProfileArguments) {
    for (file, hash) in &report.inputs {
        println!("input  {hash}  {}", file.display());
    }
    for line in profile.lines() {
        println!("{line}");
    }
    for (frame, hash) in report.frame_hashes.iter().enumerate() {
        println!("frame {frame} {hash}");
    }
    let steps = report.substeps * report.joints as u64;
    print!(
        "ran    {} × {}, {}, {} in {:.3} s",
        counted(report.actors, "actor"),
        counted(report.joints, "swing joint"),
        counted(report.frames as usize, "frame"),
        counted(report.substeps as usize, "substep"),
        report.seconds,
    );
    if steps == 0 {
        println!();
    } else {
        let each = report.seconds * 1e9 / steps as f64;
        println!(" ({each:.0} ns per joint-substep, all stages)");
    }
    // Where nothing swings there is nothing to see of it.
    for measure in report.measures.iter().filter(|_| report.joints > 0) {
        println!("saw    {measure}");
    }
    println!("state  {}", report.state);
    for file in &report.written {
        println!("wrote  {}", file.display());
    }
    for verdict in &report.verdicts {
        let word = if verdict.holds { "holds" } else { "FAILS" };
        println!("{word}  {}", verdict.message);
    }
}
