//! Virtual time: paused, scaled, in hitches and in the fixed loop.

use std::time::Duration;

use bevy_animation::AnimationPlugin;
use bevy_app::PluginGroup;
use bevy_app::{App, FixedPostUpdate, TaskPoolPlugin};
use bevy_asset::AssetPlugin;
use bevy_time::{Fixed, Time, TimePlugin, TimeUpdateStrategy, Virtual};
use bevy_transform::TransformPlugin;
use flounce::game::{FlouncePlugins, Swing, SwingClockPlugin};
use flounce::prelude::*;
use flounce::substep::ActorClock;

use crate::game::{Character, FRAME, HAIR, animate, app, assert_same, rig, shown, spawn, update};

fn nodding(app: &mut App) -> Character {
    let hair = rig(app, HAIR);
    let character = spawn(app, Swing::rig(hair));
    animate(app, &character);
    character
}

fn substeps(app: &App, character: &Character) -> u64 {
    app.world()
        .get::<ActorClock>(character.root)
        .unwrap()
        .substeps
}

/// Sixty substeps in a second of virtual time, whatever makes it pass.
#[test]
fn bevy_04_substeps_follow_virtual_time() {
    for (speed, frames) in [(0.1, 640), (1.0, 320), (4.0, 80), (10.0, 64)] {
        let mut app = app();
        let character = nodding(&mut app);
        update(&mut app, 1);
        app.world_mut()
            .resource_mut::<Time<Virtual>>()
            .set_relative_speed(speed);
        let begin = app.world().resource::<Time<Virtual>>().elapsed_secs_f64();
        update(&mut app, frames);
        let virtual_time = app.world().resource::<Time<Virtual>>().elapsed_secs_f64() - begin;
        let expected = (virtual_time * 60.0).floor();
        let found = substeps(&app, &character) as f64;
        // Ten times as fast a frame asks for more than the cap gives, and drops the rest.
        let cap = if speed > 8.0 {
            frames as f64 * 8.0
        } else {
            expected
        };
        assert!(
            (found - expected.min(cap)).abs() <= 1.0,
            "speed {speed}: {found} for {expected}"
        );
    }
}

/// A pause freezes what swings, bit for bit, and leaves nothing behind.
#[test]
fn bevy_04_a_pause_changes_nothing() {
    let run = |pause: bool| {
        let mut app = app();
        let character = nodding(&mut app);
        update(&mut app, 50);
        let before = shown(&app, &character);
        if pause {
            app.world_mut().resource_mut::<Time<Virtual>>().pause();
            update(&mut app, 25);
            assert_same(&shown(&app, &character), &before, "paused");
            app.world_mut().resource_mut::<Time<Virtual>>().unpause();
        }
        update(&mut app, 50);
        shown(&app, &character)
    };
    assert_same(&run(true), &run(false), "after a pause");
}

/// A frame of a second is cut to `Time<Virtual>`'s longest step: the character is where a steady one is soon after.
#[test]
fn bevy_04_a_hitch_of_a_second_leaves_no_debt() {
    let mut app = app();
    let character = nodding(&mut app);
    update(&mut app, 64);
    let before = substeps(&app, &character);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(Duration::from_secs(1)));
    update(&mut app, 1);
    let hitch = substeps(&app, &character) - before;
    assert!((1..=15).contains(&hitch), "{hitch} substeps");
    app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME));
    let before = substeps(&app, &character);
    update(&mut app, 64);
    let after = substeps(&app, &character) - before;
    assert!((59..=61).contains(&after), "{after} substeps in a second");
    let bones = shown(&app, &character);
    assert!(bones.iter().all(|bone| bone.is_finite()));
}

/// The fixed loop at 30 Hz: two substeps each, and the plugin's clock is the fixed one.
#[test]
fn bevy_04_characters_in_the_fixed_loop_follow_its_clock() {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        AssetPlugin::default(),
        TransformPlugin,
        AnimationPlugin,
        FlouncePlugins::new(FixedPostUpdate),
    ));
    app.insert_resource(Time::<Fixed>::from_hz(32.0));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME));
    let character = nodding(&mut app);
    update(&mut app, 2 * 64);
    let clock = app.world().resource::<FrameClock>().now;
    let fixed = app.world().resource::<Time<Fixed>>().elapsed_secs_f64();
    assert_eq!(clock.to_bits(), fixed.to_bits());
    let expected = (fixed - 1.0 / 32.0) * 60.0;
    assert!((substeps(&app, &character) as f64 - expected).abs() <= 1.0);
}

/// Without the clock's plugin nothing moves but by hand.
#[test]
fn bevy_04_by_hand_there_is_no_update_outside_explicit_calls() {
    let mut app = App::new();
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        AssetPlugin::default(),
        TransformPlugin,
        AnimationPlugin,
        FlouncePlugins::default()
            .build()
            .disable::<SwingClockPlugin>(),
    ));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME));
    let character = nodding(&mut app);
    update(&mut app, 30);
    assert_eq!(substeps(&app, &character), 0);
    for _ in 0..6 {
        let mut clock = app.world_mut().resource_mut::<FrameClock>();
        advance_clock(&mut clock, 0.1).unwrap();
        app.update();
        app.update();
    }
    assert_eq!(substeps(&app, &character), 36);
}

/// One character's time: stopped, slow, fast. What its neighbours do is their own.
#[test]
fn a_characters_own_time_is_its_own() {
    let run = |other: Option<f64>| {
        let mut app = app();
        let one = nodding(&mut app);
        let two = nodding(&mut app);
        update(&mut app, 10);
        if let Some(scale) = other {
            app.world_mut()
                .entity_mut(two.root)
                .insert(TimeScale(scale));
        }
        update(&mut app, 64);
        (shown(&app, &one), substeps(&app, &two))
    };
    let (expected, _) = run(None);
    for (scale, substeps) in [(0.0, 9), (0.1, 15), (1.0, 69), (2.0, 129), (f64::NAN, 9)] {
        let (found, counted) = run(Some(scale));
        assert_same(&found, &expected, "the neighbour");
        assert!(
            counted.abs_diff(substeps) <= 1,
            "scale {scale}: {counted} substeps"
        );
    }
}

/// A paused character keeps its local pose while it is carried through the world, and feels nothing of it afterwards.
#[test]
fn a_paused_character_does_not_feel_where_it_was_carried() {
    use bevy_transform::components::Transform;
    let run = |carried: bool| {
        let mut app = app();
        let hair = rig(&mut app, HAIR);
        let character = spawn(&mut app, Swing::rig(hair));
        update(&mut app, 90);
        app.world_mut()
            .entity_mut(character.root)
            .insert(SwingPaused);
        let before = shown(&app, &character);
        for _ in 0..30 {
            if carried {
                app.world_mut()
                    .get_mut::<Transform>(character.root)
                    .unwrap()
                    .translation
                    .x += 0.03;
            }
            app.update();
            assert_same(&shown(&app, &character), &before, "paused");
        }
        app.world_mut()
            .entity_mut(character.root)
            .remove::<SwingPaused>();
        update(&mut app, 10);
        shown(&app, &character)
    };
    assert_same(&run(true), &run(false), "after the pause");
}
