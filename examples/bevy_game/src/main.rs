//! A small Bevy game with hair, tails and skirts that swing by flounce. `README.md` says what one sees and how to run it.
//!
//! `characters` is what a game does; `scene` and `controls` are there with a window, `headless` and `judge` without.

mod characters;
#[cfg(feature = "window")]
mod controls;
mod headless;
mod judge;
#[cfg(feature = "window")]
mod scene;

use std::process::ExitCode;

use bevy::prelude::*;
use flounce::game::FlouncePlugins;

use crate::characters::{CharactersPlugin, TellTeleports};

/// Models and rigs of the repository.
const ASSETS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenes");

/// Without a screen much of Bevy says that it misses one.
const QUIET: &str = "warn,bevy_extract=off,bevy_render=off,bevy_gizmos_render=off,bevy_gltf=error";

/// What the command line asks for.
struct Options {
    headless: bool,
    frames: usize,
    tell_teleports: bool,
}

impl Options {
    fn read(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut options = Self {
            headless: !cfg!(feature = "window"),
            frames: headless::LEAST_FRAMES,
            tell_teleports: true,
        };
        while let Some(word) = words.next() {
            match word.as_str() {
                "--headless" => options.headless = true,
                "--forget-teleports" => options.tell_teleports = false,
                "--frames" => {
                    let frames = words.next().and_then(|count| count.parse().ok());
                    let enough = frames.filter(|count| *count >= headless::LEAST_FRAMES);
                    options.frames = enough.ok_or(format!(
                        "--frames wants a number from {}",
                        headless::LEAST_FRAMES
                    ))?;
                }
                _ => {
                    return Err(format!(
                        "{word}: expected --headless, --frames N or --forget-teleports"
                    ));
                }
            }
        }
        Ok(options)
    }
}

fn main() -> ExitCode {
    let options = match Options::read(std::env::args().skip(1)) {
        Ok(options) => options,
        Err(wrong) => {
            eprintln!("{wrong}");
            return ExitCode::from(2);
        }
    };
    let mut app = App::new();
    app.add_plugins((
        host(options.headless),
        FlouncePlugins::default(),
        CharactersPlugin,
    ))
    .insert_resource(TellTeleports(options.tell_teleports));
    if options.headless {
        return headless::run(app, options.frames);
    }
    #[cfg(feature = "window")]
    app.add_plugins((scene::ScenePlugin, controls::ControlsPlugin));
    match app.run() {
        AppExit::Success => ExitCode::SUCCESS,
        AppExit::Error(code) => ExitCode::from(code.get()),
    }
}

/// Bevy itself. Without a window it is the same plugins with nothing to draw on: what is animated is the same.
fn host(headless: bool) -> impl PluginGroup {
    use bevy::window::ExitCondition;

    let assets = AssetPlugin {
        file_path: ASSETS.to_owned(),
        ..default()
    };
    let window = WindowPlugin {
        primary_window: (!headless).then(|| Window {
            title: "flounce in a Bevy game".to_owned(),
            ..default()
        }),
        exit_condition: if headless {
            ExitCondition::DontExit
        } else {
            ExitCondition::OnAllClosed
        },
        ..default()
    };
    let mut plugins = DefaultPlugins.set(assets).set(window);
    if headless {
        plugins = plugins.set(bevy::log::LogPlugin {
            filter: QUIET.to_owned(),
            ..default()
        });
    }
    #[cfg(feature = "window")]
    let plugins = if headless {
        without_screen(plugins)
    } else {
        plugins
    };
    plugins
}

#[cfg(feature = "window")]
fn without_screen(plugins: bevy::app::PluginGroupBuilder) -> bevy::app::PluginGroupBuilder {
    use bevy::render::RenderPlugin;
    use bevy::render::settings::WgpuSettings;

    let nothing = WgpuSettings {
        backends: None,
        ..default()
    };
    plugins
        .disable::<bevy::winit::WinitPlugin>()
        .set(RenderPlugin {
            render_creation: nothing.into(),
            ..default()
        })
}
