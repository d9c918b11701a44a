//! The two hosts: [`FlouncePlugin`] in an `App`, [`Headless`] on a bare `World`.
//!
//! Both register the same stages by [`add_stages`]. What works in one and not in the other is a bug.

use bevy_app::{AnimationSystems, App, Plugin};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{
    InternedScheduleLabel, LogLevel, ScheduleBuildSettings, ScheduleLabel, SingleThreadedExecutor,
};
use thiserror::Error;

use super::add_stages;
use super::preparation::Actor;
use crate::rig::{Rig, RigParts};
use crate::substep::FrameClock;

/// The frame's stages as a schedule of their own.
#[derive(ScheduleLabel, Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlounceFrame;

/// Longest step a host takes in one frame, seconds; more is cut off, as the cap on substeps would do anyway.
///
/// Keeps the clock's seconds exact: an `f64` that holds 1e300 cannot count sixtieths any more.
pub const LONGEST_FRAME: f64 = 3600.0;

/// Why a step was refused; nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ClockError {
    /// Infinite or NaN.
    #[error("a frame of {0} s; expected a finite number")]
    NotFinite(f64),
    /// Time does not run back.
    #[error("a frame of {0} s; expected 0 or more")]
    Negative(f64),
}

fn frame_schedule(world: &mut World) -> Schedule {
    let mut schedule = Schedule::new(FlounceFrame);
    schedule.set_build_settings(ScheduleBuildSettings {
        ambiguity_detection: LogLevel::Error,
        ..ScheduleBuildSettings::default()
    });
    // The stages are a chain: nothing in them can run side by side, and a single thread saves the hand-over.
    schedule.set_executor(SingleThreadedExecutor::new());
    add_stages(world, &mut schedule);
    schedule
}

/// Moves the clock by `seconds`.
///
/// # Errors
/// [`ClockError`] for a step that is negative or not finite.
pub fn advance_clock(clock: &mut FrameClock, seconds: f64) -> Result<(), ClockError> {
    if !clock.now.is_finite() {
        return Err(ClockError::NotFinite(clock.now));
    }
    if !seconds.is_finite() {
        return Err(ClockError::NotFinite(seconds));
    }
    if seconds < 0.0 {
        return Err(ClockError::Negative(seconds));
    }
    clock.now += seconds.min(LONGEST_FRAME);
    Ok(())
}

/// Gives a plugin with a field `schedule` its constructors.
macro_rules! in_schedule {
    ($plugin:ident) => {
        impl Default for $plugin {
            /// In `PostUpdate`.
            fn default() -> Self {
                Self::new(bevy_app::PostUpdate)
            }
        }

        impl $plugin {
            /// In `schedule`, one for all of flounce's plugins: `FixedPostUpdate` for characters that move in steps of the
            /// fixed clock.
            pub fn new(schedule: impl bevy_ecs::schedule::ScheduleLabel) -> Self {
                Self {
                    schedule: bevy_ecs::schedule::ScheduleLabel::intern(&schedule),
                }
            }
        }
    };
}
#[cfg(feature = "bevy")]
pub(crate) use in_schedule;

/// Where [`FlouncePlugin`] runs, in running order; in `PostUpdate` after `AnimationSystems` and before transforms are
/// propagated. [`Self::First`] and [`Self::Last`] are empty: they are for systems of yours.
#[derive(SystemSet, Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FlounceSystems {
    /// Animation is done: change poses, places and parameters here.
    First,
    /// [`crate::pose::AnimatedPose`], [`super::motion::WorldFromActor`] and [`crate::substep::FrameClock`] say what the
    /// host has.
    Read,
    /// [`FlounceFrame`] has run.
    Simulate,
    /// The host has what the actors show.
    Write,
    /// The frame is done: read here what is shown.
    Last,
}

/// Swings the actors of an `App`: runs [`FlounceFrame`] in [`FlounceSystems::Simulate`].
///
/// The plugin reads no clock: whoever uses it alone moves [`crate::substep::FrameClock`] by [`advance_clock`] once per update, before it. With
/// the feature `bevy` that and more is done by the group `FlouncePlugins`.
#[derive(Clone, Debug)]
pub struct FlouncePlugin {
    schedule: InternedScheduleLabel,
}

in_schedule!(FlouncePlugin);

impl Plugin for FlouncePlugin {
    fn build(&self, app: &mut App) {
        let frame = frame_schedule(app.world_mut());
        app.add_schedule(frame);
        let sets = (
            FlounceSystems::First,
            FlounceSystems::Read,
            FlounceSystems::Simulate,
            FlounceSystems::Write,
            FlounceSystems::Last,
        );
        app.configure_sets(self.schedule, sets.chain().after(AnimationSystems));
        app.add_systems(self.schedule, run_frame.in_set(FlounceSystems::Simulate));
    }
}

fn run_frame(world: &mut World) {
    world.run_schedule(FlounceFrame);
}

/// A `World` with the stages and nothing else: baking, tests, servers.
pub struct Headless {
    /// The World; spawn, inspect and edit as in any other.
    pub world: World,
    schedule: Schedule,
}

impl Default for Headless {
    fn default() -> Self {
        Self::new()
    }
}

impl Headless {
    /// An empty World at time 0.
    pub fn new() -> Self {
        let mut world = World::new();
        let schedule = frame_schedule(&mut world);
        Self { world, schedule }
    }

    /// Spawns a rig's parts; see [`RigParts::spawn`].
    pub fn spawn_rig(&mut self, rig: &Rig) -> Entity {
        RigParts::spawn(rig, &mut self.world)
    }

    /// Spawns an actor of `rig` with defaults and `extra` components.
    ///
    /// It starts at rest in the pose of the first frame that runs after.
    pub fn spawn_actor(&mut self, rig: Entity, extra: impl Bundle) -> Entity {
        self.world.spawn((Actor { rig }, extra)).id()
    }

    /// Runs the frame that ends at `time`, seconds since the World began.
    ///
    /// Baking computes `time` as frame / rate, so that no sum of steps can drift.
    ///
    /// # Errors
    /// [`ClockError`] when `time` is not finite or before the last frame's.
    pub fn run_to(&mut self, time: f64) -> Result<(), ClockError> {
        let now = self.world.resource::<FrameClock>().now;
        if !time.is_finite() {
            return Err(ClockError::NotFinite(time - now));
        }
        if time < now {
            return Err(ClockError::Negative(time - now));
        }
        self.world.resource_mut::<FrameClock>().now = time;
        self.run();
        Ok(())
    }

    /// Runs a frame of `seconds`.
    ///
    /// # Errors
    /// [`ClockError`] when `seconds` is negative or not finite.
    pub fn step(&mut self, seconds: f64) -> Result<(), ClockError> {
        advance_clock(&mut self.world.resource_mut::<FrameClock>(), seconds)?;
        self.run();
        Ok(())
    }

    fn run(&mut self) {
        self.schedule.run(&mut self.world);
        self.world.clear_trackers();
    }
}
