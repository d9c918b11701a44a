//! `flounce check`: does a rig file fit a model, and will it behave?

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use flounce::assets::check::{self, Use};
use flounce::assets::{Error, import, rest_check, rig_file};
use flounce::swing::ActorProperties;

use super::profile::ProfileArguments;
use super::{refuse_model, show_warnings};

/// Check a rig file against a model: names on both sides, passive joints, legs, suspicious values.
///
/// Nothing is written. Faults (the rig would be refused) give exit code 1; warnings do not.
#[derive(Args)]
#[command(after_help = "Examples:\n  \
    flounce check hair.ron --model hero.glb\n  \
    flounce check hair.ron --model hero.glb --profile delta=current")]
pub struct CheckArguments {
    /// The rig file (RON)
    rig: PathBuf,
    /// The model it is meant for
    #[arg(long, value_name = "MODEL")]
    model: PathBuf,
    #[command(flatten)]
    profile: ProfileArguments,
}

/// Runs the command.
pub fn run(arguments: &CheckArguments) -> Result<ExitCode, Error> {
    refuse_model(&arguments.rig, "check wants a RON rig file first")?;
    let (model, _) = import::read_model(&arguments.model)?;
    show_warnings(&model.warnings);
    let rules = rig_file::read(&arguments.rig)?;
    let (properties, profile) = (ActorProperties::default(), arguments.profile.profile()?);
    let how = Use {
        clips: &model.clips,
        properties,
        profile,
    };
    let mut report = check::check(&rules, &model.rig, &how);
    if !report.is_refused() {
        let mut rig = model.rig.clone();
        rules.apply(&mut rig)?;
        report.add(rest_check::restless_joints(&rig, &properties, &profile));
    }
    println!("{report}");
    Ok(if report.is_refused() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    })
}
