//! `--profile KEY=VALUE`: switches of the solver, for every command that simulates.

use clap::Args;
use flounce::assets::settings::{self, Setting};
use flounce::assets::{Error, scene::Scene};
use flounce::profile::SwingProfile;

/// Switches of the solver.
#[derive(Args)]
pub struct ProfileArguments {
    /// Set a switch of the solver, over what a scene says; may be given several times
    #[arg(
        long = "profile",
        value_name = "KEY=VALUE",
        value_parser = settings::profile_setting,
        long_help = long_help()
    )]
    settings: Vec<Setting>,
}

impl ProfileArguments {
    /// The default profile with these switches.
    pub fn profile(&self) -> Result<SwingProfile, Error> {
        settings::set_profile(&SwingProfile::default(), &self.settings).map_err(name_option)
    }

    /// `scene` with these switches.
    pub fn on_scene(&self, scene: &Scene) -> Result<Scene, Error> {
        settings::set_scene_profile(scene, &self.settings).map_err(name_option)
    }

    /// One line per switch, for what a command prints.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        let settings = self.settings.iter();
        settings.map(|setting| format!("set    {setting}"))
    }
}

/// What is wrong with the switches came from the command line, not from a file.
fn name_option(error: Error) -> Error {
    match error {
        Error::Request(why) => Error::Request(format!("--profile {why}")),
        other => other,
    }
}

/// Every key, its default and what it may be: asked of the library, so that it cannot lag behind.
fn long_help() -> String {
    let keys = settings::profile_keys();
    let width = |column: fn(&(String, String, String)) -> &String| {
        keys.iter().map(|row| column(row).len()).max().unwrap_or(0)
    };
    let (keys_wide, defaults_wide) = (width(|row| &row.0), width(|row| &row.1));
    let mut text =
        "Set a switch of the solver, over what a scene says; may be given several times.\n\n\
                    Keys, their defaults and what they may be:"
            .to_owned();
    for (key, default, choices) in &keys {
        text += &format!("\n  {key:<keys_wide$}  {default:<defaults_wide$}  {choices}");
    }
    text
}
