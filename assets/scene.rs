//! Scenes: a model, a rig, actors and what is expected of them, in RON for people. The same scenes feed tests, benches
//! and the command line.
//!
//! ```ron
//! // A fox walks; its tail follows.
//! (
//!     version: 1,
//!     model: "models/Fox.glb",
//!     rig: "rigs/fox_tail.ron",
//!     seconds: 4,
//!     rate_hz: 60,
//!     actors: [
//!         (clip: "Walk"),
//!         (clip: "Walk", feet: [(leg: "hind_left", plants: [(from: 0.5, to: 0.8, fade: 0.1)])]),
//!         (clip: "Run", count: 100, columns: 10, spacing: (1.5, 0, 2), start_step: 0.1),
//!     ],
//!     outputs: [
//!         baked(file: "fox_walk.glb"),
//!         trace(file: "fox_tail.csv", joints: ["b_Tail03_014"]),
//!     ],
//!     expectations: [
//!         lengths_kept(within: 1e-5),
//!         no_penetration(deeper_than: 0.001),
//!         largest_deflection(joint: "b_Tail02_013", at_least_deg: 5, at_most_deg: 60),
//!     ],
//! )
//! ```
//!
//! An actor can also have `moves` and `resets`. Its `feet` stay in place for a time, where they are or `at` a place, by
//! the `legs` of the rig file; `feet_planted` judges them.
//!
//! This module reads a scene and checks what can be checked without the model; it runs nothing. References to joints
//! are those of [`crate::assets::rig_file`]; a clip is its name, or `#3` for the file's animation 3.

use std::path::{Component, Path, PathBuf};

use bevy_math::Vec3;

use super::Error;
use super::text;
use crate::profile::SwingProfile;
use crate::swing::ActorProperties;
use crate::wind::Wind;

mod checks;
mod feet;
mod schema;
mod world;

#[cfg(feature = "assets")]
pub(in crate::assets) use checks::profile as check_profile;
pub use feet::{FootRule, PlantRule};
pub use schema::{ActorRule, Expectation, Output, PropertiesRule, SceneRules};
pub use world::{Form, GustRule, MoveKind, MoveRule, OctaveRule, WindRule};

/// A scene that was read and makes sense by itself.
#[derive(Clone, Debug, PartialEq)]
pub struct Scene {
    file: PathBuf,
    rules: SceneRules,
}

/// One actor of a scene, numbered through all groups.
#[derive(Clone, Debug, PartialEq)]
pub struct SceneActor<'s> {
    /// Index of its group in the scene's `actors`.
    pub group: usize,
    /// Its clip: a name, or `#3`; `None` holds the rest pose.
    pub clip: Option<&'s str>,
    /// Time in the clip at which it starts, seconds, ≥ 0.
    pub start: f32,
    /// Whether the clip repeats.
    pub repeats: bool,
    /// Where it stands, world space, metres.
    pub offset: Vec3,
    /// Its way from there.
    pub moves: &'s [MoveRule],
    /// Times at which it is put at rest, seconds.
    pub resets: &'s [f32],
    /// What holds its feet.
    pub feet: &'s [FootRule],
    /// What it has.
    pub properties: ActorProperties,
}

/// Reads `text` as a scene; `file` is its name for messages, and paths in it are relative to its folder.
///
/// # Errors
/// [`Error::Ron`] with the place if the text cannot be parsed or one value is wrong; [`Error::Faults`] if several are.
pub fn parse(file: &Path, text: &str) -> Result<Scene, Error> {
    let rules: SceneRules = text::parse(file, text)?;
    checks::check(&rules).into_value_result(file, text::without_mark(text))?;
    Ok(Scene {
        file: file.to_path_buf(),
        rules,
    })
}

/// Reads a scene.
///
/// # Errors
/// [`Error::Io`] if it cannot be read; else as [`parse`].
pub fn read(file: &Path) -> Result<Scene, Error> {
    parse(file, &text::load(file)?)
}

impl Scene {
    /// Its name for messages.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What it says.
    pub fn rules(&self) -> &SceneRules {
        &self.rules
    }

    /// This scene as if its file said `rules`.
    ///
    /// # Errors
    /// [`Error::Faults`] with every value that is out of range; they have no place in the file.
    pub fn with_rules(&self, rules: SceneRules) -> Result<Self, Error> {
        let file = self.file.clone();
        let faults = checks::check(&rules).messages();
        if faults.is_empty() {
            return Ok(Self { file, rules });
        }
        Err(Error::Faults { file, faults })
    }

    /// The rules as RON, without the comments of the file; reading it gives equal rules.
    ///
    /// # Errors
    /// [`Error::Request`] if it cannot be written, which no rules cause.
    pub fn to_ron(&self) -> Result<String, Error> {
        text::write(&self.rules)
    }

    /// The model's file.
    pub fn model(&self) -> PathBuf {
        self.beside(&self.rules.model)
    }

    /// The rig's file, if the scene has one.
    pub fn rig(&self) -> Option<PathBuf> {
        self.rules.rig.as_deref().map(|rig| self.beside(rig))
    }

    /// Where an output goes: its file inside `folder`. No output leaves that folder.
    pub fn output(&self, folder: &Path, output: &Output) -> PathBuf {
        folder.join(output.file())
    }

    /// Where its paths start.
    pub fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new(""))
    }

    /// `path` relative to the scene's folder.
    fn beside(&self, path: &str) -> PathBuf {
        self.folder().join(path)
    }

    /// The solver's switches.
    pub fn profile(&self) -> SwingProfile {
        self.rules.profile
    }

    /// The wind, if it blows.
    pub fn wind(&self) -> Option<Wind> {
        let wind = self.rules.wind.as_ref()?;
        Some(wind.wind(self.rules.seed))
    }

    /// Number of frames: the last one ends at `seconds` or up to a frame before. Frame n ends at n / `rate_hz`.
    pub fn frames(&self) -> u64 {
        // A product just below a whole number is meant to be one; both factors are in range, so it fits.
        (self.rules.seconds * self.rules.rate_hz + 1e-6).floor() as u64
    }

    /// Number of actors.
    pub fn actor_count(&self) -> usize {
        self.rules.actor_count()
    }

    /// All actors, in the order of the file, groups spread out.
    pub fn actors(&self) -> impl Iterator<Item = SceneActor<'_>> {
        let groups = self.rules.actors.iter().enumerate();
        groups.flat_map(|(group, rule)| {
            let properties = rule.properties.over(&self.rules.properties).properties();
            (0..rule.count).map(move |n| SceneActor {
                group,
                clip: rule.clip.as_deref(),
                start: rule.start + rule.start_step * n as f32,
                repeats: rule.repeats,
                offset: rule.place(n),
                moves: &rule.moves,
                resets: &rule.resets,
                feet: &rule.feet,
                properties,
            })
        })
    }
}

/// Whether a path only goes down from where it starts.
fn stays_inside(path: &str) -> bool {
    let mut parts = Path::new(path).components();
    parts.all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

#[cfg(test)]
mod tests;
