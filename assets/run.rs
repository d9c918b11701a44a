//! Running scenes: a World with the scene's actors, its frames, its outputs, and a verdict on each expectation.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use bevy_ecs::entity::Entity;
use bevy_math::Vec3;

use super::Error;
use super::bake::recording::uneven_frames;
use super::check::{self, Severity, Use};
use super::container::Container;
use super::import::Model;
use super::scene::{MoveKind, Scene};
use super::state_hash::{self, StateHash};
use crate::rig::Rig;
use crate::substep::ActorClock;
use crate::swing::{ActorProperties, SwingReadout};
use crate::systems::motion::{Reset, Teleport};
use crate::systems::plugin::Headless;

mod baked;
mod cast;
mod expectations;
mod feet;
mod inputs;
pub mod measures;
mod outputs;
mod trace;
mod way;

use cast::Cast;
use expectations::Judge;
pub(super) use expectations::swing_of;
pub use inputs::Inputs;
use measures::{Measure, Measures};
use outputs::Recorder;
use way::place_at;

/// What a scene came to.
#[derive(Clone, Debug)]
pub struct RunReport {
    /// The files that went in, with their hashes.
    pub inputs: Vec<(PathBuf, StateHash)>,
    /// How many actors.
    pub actors: usize,
    /// How many swing joints move on each.
    pub joints: usize,
    /// How many frames ran after the first.
    pub frames: u64,
    /// Substeps of all actors together, without settling.
    pub substeps: u64,
    /// Time the frames took, seconds.
    pub seconds: f64,
    /// State of all actors after each frame, if asked for.
    pub frame_hashes: Vec<StateHash>,
    /// State of all actors at the end.
    pub state: StateHash,
    /// State of each actor at the end, in the scene's order.
    pub states: Vec<StateHash>,
    /// What the actors did, in numbers.
    pub measures: Vec<Measure>,
    /// Each expectation, in the scene's order.
    pub verdicts: Vec<Verdict>,
    /// The files that were written.
    pub written: Vec<PathBuf>,
    /// What deserves a look.
    pub warnings: Vec<String>,
}

impl RunReport {
    /// Whether every expectation holds.
    pub fn holds(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.holds)
    }
}

/// Whether an expectation holds, and by what numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// Whether it does.
    pub holds: bool,
    /// What was expected, what was found, where and when.
    pub message: String,
}

/// How to run.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Where outputs go; `None`: none are written.
    pub out_dir: Option<PathBuf>,
    /// Whether outputs may overwrite.
    pub overwrite: bool,
    /// Whether the state after each frame is hashed.
    pub frame_hashes: bool,
}

/// A scene with its files read and its actors in a World.
pub struct Stage {
    pub(super) container: Arc<Container>,
    pub(super) rig: Rig,
    pub(super) host: Headless,
    pub(super) actors: Vec<Entity>,
    /// Of each actor, the legs that its feet in the scene name.
    legs: Vec<Vec<usize>>,
    inputs: Vec<(PathBuf, StateHash)>,
    pub(super) warnings: Vec<String>,
}

/// Reads the files of `scene` and places its actors.
///
/// # Errors
/// Those of reading the model and the rig file; [`Error::Faults`] for clips that the model does not have, and for what
/// [`check::inspect`] calls a fault under the scene's profile and an actor's properties.
pub fn stage(scene: &Scene) -> Result<Stage, Error> {
    stage_on(scene, &Inputs::read(scene)?)
}

/// As [`stage`], with the files of `scene` read already.
pub(super) fn stage_on(scene: &Scene, inputs: &Inputs) -> Result<Stage, Error> {
    let Inputs { model, rig, .. } = inputs;
    let mut warnings = inputs.warnings.clone();
    inspect(scene, model, rig, &mut warnings)?;
    warnings.extend(uneven_frames(&scene.profile(), scene.rules().rate_hz));
    let mut host = Headless::new();
    let rig_entity = host.spawn_rig(rig);
    let mut cast = Cast::new(scene, inputs)?;
    let actors = scene
        .actors()
        .map(|actor| cast.spawn(&mut host, rig_entity, scene, &actor))
        .collect();
    let mut hashes = inputs.hashes.clone();
    hashes.append(&mut cast.read);
    warnings.append(&mut cast.warnings);
    let (mut legs, mut faults) = (Vec::new(), Vec::new());
    for actor in scene.actors() {
        match feet::legs_of(&actor, rig) {
            Ok(of_feet) => legs.push(of_feet),
            Err(fault) => faults.push(fault),
        }
    }
    faults.dedup();
    expectations::refuse(scene.file(), faults)?;
    Ok(Stage {
        container: Arc::clone(&inputs.container),
        rig: rig.clone(),
        host,
        actors,
        inputs: hashes,
        legs,
        warnings,
    })
}

/// Checks the rig as each group of actors uses it.
fn inspect(
    scene: &Scene,
    model: &Model,
    rig: &Rig,
    warnings: &mut Vec<String>,
) -> Result<(), Error> {
    let mut uses: Vec<(usize, ActorProperties)> = Vec::new();
    for actor in scene.actors() {
        if uses.iter().all(|(_, used)| *used != actor.properties) {
            uses.push((actor.group, actor.properties));
        }
    }
    let mut faults = Vec::new();
    for (group, properties) in uses {
        let how = Use {
            clips: &model.clips,
            properties,
            profile: scene.profile(),
        };
        for finding in check::inspect(rig, &how) {
            let message = finding.to_string();
            match finding.severity {
                Severity::Fault => faults.push(format!("actors[{group}]: {message}")),
                Severity::Warning if !warnings.contains(&message) => warnings.push(message),
                Severity::Warning | Severity::Note => {}
            }
        }
    }
    expectations::refuse(scene.file(), faults)
}

/// Runs `scene`: all its frames, its outputs, its expectations. `progress` hears of every frame.
///
/// # Errors
/// Those of [`stage`] and of writing; [`Error::Faults`] for joints that an expectation or output names and the rig
/// does not have.
pub fn run(
    scene: &Scene,
    options: &RunOptions,
    progress: &dyn Fn(u64),
) -> Result<RunReport, Error> {
    run_on(scene, stage(scene)?, options, progress)
}

/// As [`run`], on a stage of `scene` that has not run yet.
pub(super) fn run_on(
    scene: &Scene,
    mut stage: Stage,
    options: &RunOptions,
    progress: &dyn Fn(u64),
) -> Result<RunReport, Error> {
    let mut judge = Judge::new(scene, &stage.rig)?;
    let mut recorder = Recorder::new(scene, &stage, options)?;
    let mut measures = Measures::new(&stage);
    let mut seconds = 0.0;
    let mut frame_hashes = Vec::new();
    let mut before = f64::NEG_INFINITY;
    for frame in 0..=scene.frames() {
        let time = frame as f64 / scene.rules().rate_hz;
        stage.move_actors(scene, before, time);
        before = time;
        let begin = Instant::now();
        // Times never decrease and are finite, so the clock cannot refuse them.
        let ran = stage.host.run_to(time);
        seconds += begin.elapsed().as_secs_f64();
        debug_assert!(ran.is_ok(), "frames come in order");
        judge.look(&stage, frame, time);
        measures.look(&stage, time);
        recorder.keep(&stage, time);
        if options.frame_hashes {
            frame_hashes.push(state_hash::of_actors(&stage.host.world, &stage.actors));
        }
        progress(1);
    }
    let state = state_hash::of_actors(&stage.host.world, &stage.actors);
    let of_actor = |&actor: &Entity| state_hash::of_actor(&stage.host.world, actor);
    let states = stage.actors.iter().map(of_actor).collect();
    let clock = |&actor: &Entity| stage.host.world.get::<ActorClock>(actor);
    let clocks = || stage.actors.iter().filter_map(clock);
    let substeps = clocks().map(|clock| clock.substeps).sum();
    let dropped = clocks().map(|clock| clock.dropped).fold(0.0, f64::max);
    let mut warnings = stage.warnings.clone();
    if dropped > 0.0 {
        warnings.push(format!(
            "frames needed more substeps than profile.max_substeps: an actor lost {dropped:.3} s"
        ));
    }
    let written = recorder.write(&stage, options, &mut warnings)?;
    Ok(RunReport {
        actors: stage.actors.len(),
        joints: stage.moving_joints(),
        frames: scene.frames(),
        substeps,
        seconds,
        frame_hashes,
        state,
        states,
        verdicts: judge.verdicts(state, &measures),
        measures: measures.rows(),
        written,
        inputs: stage.inputs,
        warnings,
    })
}

impl Stage {
    /// Puts the actors where they are at `time`, and tells of what happened to them since `before`.
    pub(super) fn move_actors(&mut self, scene: &Scene, before: f64, time: f64) {
        // In the numbers that the way is in: what has moved by now has also happened by now.
        let happened = |at: f32| at > before as f32 && at <= time as f32;
        for (number, actor) in scene.actors().enumerate() {
            let entity = self.actors[number];
            let placed = place_at(actor.offset, actor.moves, time as f32);
            let world = &mut self.host.world;
            world.entity_mut(entity).insert(placed);
            if !actor.feet.is_empty() {
                let anchors = feet::anchors_at(&actor, &self.legs[number], time as f32);
                world.entity_mut(entity).insert(anchors);
            }
            let teleports = actor.moves.iter();
            let mut teleports = teleports.filter(|to| to.kind == MoveKind::Teleport);
            if teleports.any(|to| happened(to.time)) {
                world.trigger(Teleport { entity });
            }
            if actor.resets.iter().any(|&at| happened(at)) {
                world.trigger(Reset { entity });
            }
        }
    }

    /// What the swing joints of an actor did in the frame that just ran.
    pub(super) fn readout(&self, actor: usize) -> Option<&SwingReadout> {
        self.host.world.get::<SwingReadout>(self.actors[actor])
    }

    /// Whether the scene holds feet of an actor.
    fn has_anchors(&self, actor: usize) -> bool {
        !self.legs[actor].is_empty()
    }

    fn moving_joints(&self) -> usize {
        let readout = (!self.actors.is_empty()).then(|| self.readout(0)).flatten();
        readout.map_or(0, |readout| readout.0.iter().flatten().count())
    }
}

/// A point for messages, metres.
fn point(v: Vec3) -> String {
    format!("({:.5}, {:.5}, {:.5})", v.x, v.y, v.z)
}
