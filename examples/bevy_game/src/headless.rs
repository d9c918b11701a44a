//! The game without a window: 300 frames at 1/60 s with things done to the characters, and a judge.
//!
//! Everything is loaded while virtual time stands still, so that the first frame is the same however long the disk takes;
//! two runs give the same bits.

use core::ops::Range;
use core::time::Duration;
use std::process::ExitCode;
use std::time::Instant;

use bevy::app::PluginsState;
use bevy::prelude::*;
use bevy::time::TimeUpdateStrategy;
use flounce::game::SwingStatus;
use flounce::prelude::{Reset, SwingPaused, TimeScale};

use crate::characters::{Character, ClipToPlay, Players};
use crate::judge::{JudgePlugin, Plan, Watch, verdict};

/// A frame.
const FRAME: Duration = Duration::from_nanos(16_666_667);
/// A frame in which the machine did something else.
const HITCH: Duration = Duration::from_secs(1);
/// How long the disk may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// Updates between the last asset and the first frame: animation graphs are taken up a frame after their clips.
const SETTLE: usize = 8;

/// What is done, and when.
const PLAN: Plan = Plan {
    hitch: 60,
    pause: 100..120,
    slow: 150..210,
    slowed: "skirt",
    hold: 220..250,
    held: "fox",
    reset_frame: 255,
    reset: "astronaut",
};
/// The least number of frames in which all of [`PLAN`] happens.
pub const LEAST_FRAMES: usize = 300;

/// Runs `frames` frames of `app`, which has all plugins but those of a window.
pub fn run(mut app: App, frames: usize) -> ExitCode {
    app.add_plugins(JudgePlugin)
        .insert_resource(TimeUpdateStrategy::ManualDuration(FRAME));
    while app.plugins_state() == PluginsState::Adding {
        bevy::tasks::tick_global_task_pools_on_main_thread();
    }
    app.finish();
    app.cleanup();
    app.world_mut().resource_mut::<Time<Virtual>>().pause();
    if let Err(missing) = load(&mut app) {
        println!("FAILED  after {} s: {missing}", PATIENCE.as_secs());
        return ExitCode::FAILURE;
    }
    app.world_mut().resource_mut::<Time<Virtual>>().unpause();
    Watch::start(app.world_mut());
    let start = Instant::now();
    for frame in 0..frames {
        Watch::announce(app.world_mut(), frame);
        direct(app.world_mut(), frame);
        app.update();
        Watch::look(app.world_mut());
    }
    let each = start.elapsed().as_secs_f64() * 1e3 / frames as f64;
    let right = verdict(app.world(), &PLAN);
    println!("{each:.2} ms a frame, on this machine as it was");
    if right {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Updates until every character is there and bound.
fn load(app: &mut App) -> Result<(), String> {
    let start = Instant::now();
    loop {
        app.update();
        match missing(app.world_mut()) {
            None => break,
            Some(missing) if start.elapsed() > PATIENCE => return Err(missing),
            Some(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
    for _ in 0..SETTLE {
        app.update();
    }
    Ok(())
}

/// What is not there yet.
fn missing(world: &mut World) -> Option<String> {
    let mut characters = world.query::<(&Character, &SwingStatus, &ClipToPlay, Has<Players>)>();
    let assets = world.resource::<AssetServer>();
    for (who, status, clip, here) in characters.iter(world) {
        let name = who.role.name;
        if !here {
            return Some(format!("{name}: {} is not loaded", who.role.model));
        }
        if !assets.is_loaded_with_dependencies(&clip.clip) {
            return Some(format!("{name}: clip {} is not loaded", who.role.clip));
        }
        if *status != SwingStatus::Bound {
            return Some(format!("{name}: {status:?}"));
        }
    }
    None
}

/// Does what [`PLAN`] has for `frame`.
fn direct(world: &mut World, frame: usize) {
    let length = if frame == PLAN.hitch { HITCH } else { FRAME };
    world.insert_resource(TimeUpdateStrategy::ManualDuration(length));
    if frame == PLAN.pause.start {
        world.resource_mut::<Time<Virtual>>().pause();
    }
    if frame == PLAN.pause.end {
        world.resource_mut::<Time<Virtual>>().unpause();
    }
    lend(world, PLAN.slowed, TimeScale(0.1), &PLAN.slow, frame);
    lend(world, PLAN.held, SwingPaused, &PLAN.hold, frame);
    if frame == PLAN.reset_frame
        && let Some(entity) = named(world, PLAN.reset)
    {
        world.trigger(Reset { entity });
    }
}

/// Gives `who` a component for the frames of `frames`.
fn lend<C: Component>(
    world: &mut World,
    who: &str,
    component: C,
    frames: &Range<usize>,
    frame: usize,
) {
    let Some(entity) = named(world, who) else {
        return;
    };
    let mut who = world.entity_mut(entity);
    if frame == frames.start {
        who.insert(component);
    } else if frame == frames.end {
        who.remove::<C>();
    }
}

fn named(world: &mut World, name: &str) -> Option<Entity> {
    let mut characters = world.query::<(Entity, &Character)>();
    let mut found = characters.iter(world);
    found
        .find(|(_, who)| who.role.name == name)
        .map(|(entity, _)| entity)
}
