//! `flounce explain`: what moved a joint in one substep.

use std::path::PathBuf;
use std::process::ExitCode;

use bevy_math::{DVec3, Vec3};
use clap::Args;
use flounce::assets::check::counted;
use flounce::assets::explain::{self, Answer, Question, When};
use flounce::assets::{Error, scene};

use super::profile::ProfileArguments;
use super::{progress_bar, refuse_model, show_warnings};

/// Say what moved a swing joint in one substep of a scene, term by term, in metres.
///
/// Inertia, spring, gravity, wind, the child, the bone's length, each hit, limit, smoothing, bake: each by how far it
/// moved the particle, in running order. The terms add up to the displacement, to rounding.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce explain scenes/fox_walk.ron --joint b_Tail02_013 --time 1.5\n  \
    flounce explain scenes/fox_walk.ron --joint b_Tail02_013 --time 1.5 --actor 1 --all\n  \
    flounce explain scenes/fox_walk.ron --joint '#16' --time 0 --profile delta=current")]
pub struct ExplainArguments {
    /// The scene file (RON)
    scene: PathBuf,
    /// The swing joint: its name, or #node
    #[arg(long, value_name = "NAME")]
    joint: String,
    /// Seconds from the start; the first substep that ends then or later is explained, at 0 the last that settles
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    time: f64,
    /// Which actor, numbered from 0 through all groups
    #[arg(long, value_name = "N", default_value_t = 0)]
    actor: usize,
    /// Show terms that did nothing as well
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    profile: ProfileArguments,
    /// No progress
    #[arg(short, long)]
    quiet: bool,
}

/// A shorter way, metres, prints as zero.
const SHOWN: f32 = 5e-7;

/// Runs the command.
pub fn run(arguments: &ExplainArguments) -> Result<ExitCode, Error> {
    refuse_model(&arguments.scene, "explain wants a RON scene file")?;
    let scene = arguments
        .profile
        .on_scene(&scene::read(&arguments.scene)?)?;
    let question = Question {
        joint: arguments.joint.clone(),
        time: arguments.time,
        actor: arguments.actor,
    };
    let until = (arguments.time.clamp(0.0, scene.rules().seconds) * scene.rules().rate_hz).ceil();
    let bar = progress_bar(until as u64 + 1, "frames", arguments.quiet);
    let answer = explain::explain(&scene, &question, &|frames| bar.inc(frames))?;
    bar.finish_and_clear();
    show_warnings(&answer.warnings);
    for line in arguments.profile.lines() {
        println!("{line}");
    }
    let clip = scene
        .actors()
        .nth(arguments.actor)
        .and_then(|actor| actor.clip);
    let clip = clip.map_or_else(|| "no clip".to_owned(), |clip| format!("clip \"{clip}\""));
    println!("joint    {}", answer.joint);
    println!("actor    {}, {clip}", arguments.actor);
    println!("substep  {}", when(&answer));
    print_places(&answer);
    print_terms(&answer, arguments.all);
    Ok(ExitCode::SUCCESS)
}

fn when(answer: &Answer) -> String {
    let time = answer.account.time;
    match &answer.when {
        When::Settling { count } => format!(
            "the last of {} that settle after the reset at {time:.6} s, while time stands still",
            counted(*count, "substep")
        ),
        When::Substeps(numbers) if numbers.start() == numbers.end() => {
            format!("{} since the reset, ends at {time:.6} s", numbers.start())
        }
        When::Substeps(numbers) => format!(
            "{} to {} since the reset in one, as joint_major runs them; the last one's pose is that of {time:.6} s",
            numbers.start(),
            numbers.end()
        ),
    }
}

/// Where the particle was and is, in the space of the terms: shifted by the root correction.
fn print_places(answer: &Answer) {
    let account = &answer.account;
    let correction = account.correction.as_dvec3();
    let mut rows = vec![
        (
            "particle before".to_owned(),
            account.before.as_dvec3() + correction,
        ),
        (
            "particle after".to_owned(),
            account.after.as_dvec3() + correction,
        ),
    ];
    if correction != DVec3::ZERO {
        rows[0].0 = "particle before, carried along with the root".to_owned();
    }
    print_table("model space, m", &rows, false);
}

fn print_terms(answer: &Answer, all: bool) {
    let shown = |moved: Vec3| all || moved.length() >= SHOWN;
    let terms = || answer.terms.iter();
    let mut rows: Vec<(String, DVec3)> = terms()
        .filter(|(_, moved)| shown(*moved))
        .map(|(name, moved)| (name.clone(), moved.as_dvec3()))
        .collect();
    let left_out = terms().count() - rows.len();
    let sum: DVec3 = terms().map(|(_, moved)| moved.as_dvec3()).sum();
    let displacement = answer.account.after.as_dvec3() - answer.account.before.as_dvec3();
    rows.push(("sum".to_owned(), sum));
    rows.push(("displacement".to_owned(), displacement));
    print_table("moved by, m", &rows, true);
    println!("difference  {:.1e} m", (displacement - sum).length());
    if left_out > 0 {
        println!(
            "{} of less than 0.0005 mm left out; --all shows them",
            counted(left_out, "term")
        );
    }
}

/// Names to the left, then x, y, z, and with `lengths` how long that is: fixed width, six decimals.
fn print_table(title: &str, rows: &[(String, DVec3)], lengths: bool) {
    let names = rows.iter().map(|(name, _)| name.chars().count());
    let width = names.max().unwrap_or(0).max(title.chars().count());
    let length = if lengths { "      length" } else { "" };
    println!("\n{title:<width$}           x           y           z{length}");
    for (name, v) in rows {
        let length = if lengths {
            format!("{:12.6}", v.length())
        } else {
            String::new()
        };
        let [x, y, z] = v.to_array().map(rounded);
        println!("{name:<width$}{x:12.6}{y:12.6}{z:12.6}{length}");
    }
}

/// What rounds to zero prints without a sign.
fn rounded(value: f64) -> f64 {
    if value.abs() < f64::from(SHOWN) {
        0.0
    } else {
        value
    }
}
