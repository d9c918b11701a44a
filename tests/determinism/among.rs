//! Twice, alone, among others: neighbours, spawn order and threads change no bit. `[R1]`

use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use flounce::pose::AnimatedPose;
use flounce::rig::Rig;
use flounce::substep::FIXED_STEP;
use flounce::swing::ActorProperties;
use flounce::systems::plugin::Headless;
use flounce::systems::substeps::Workers;

use crate::support::chains::{Frame, assert_same_bits, stick3};
use crate::{FRAMES, input, layers, player, rich, spawn_watched, walked, wind};

fn spawn_other(host: &mut Headless, rig: Entity, seed: u32) -> Entity {
    let placed = walked(seed as f32);
    let properties = ActorProperties {
        weight: 1.0 - 0.1 * (seed % 5) as f32,
        global_force: Vec3::X * 0.01 * seed as f32,
        ..ActorProperties::default()
    };
    let mut player = player();
    player.playing.start = f64::from(seed) * 0.37;
    let actor = host.spawn_actor(rig, (placed, properties, player));
    if seed.is_multiple_of(2) {
        host.world.entity_mut(actor).insert(wind(seed));
    } else {
        host.world
            .entity_mut(actor)
            .insert(layers(rich().joints.len()));
    }
    actor
}

/// The watched actor stands for the first half of the time, then it walks.
fn drive(host: &mut Headless, rig: &Rig, actor: Entity, frame: usize) {
    host.world.get_mut::<AnimatedPose>(actor).unwrap().0 = input(rig, frame, 0);
    let place = walked(frame.saturating_sub(FRAMES / 2) as f32 / 60.0);
    host.world.entity_mut(actor).insert(place);
}

/// The watched actor among `before` others that were spawned before it and `after` after it.
fn among(before: u32, after: u32, clip_driven: bool, workers: Workers) -> Vec<Frame> {
    let rig = rich();
    let mut host = Headless::new();
    *host.world.resource_mut::<Workers>() = workers;
    let entity = host.spawn_rig(&rig);
    let other_rig = host.spawn_rig(&stick3());
    let spawn_others = |host: &mut Headless, seeds: core::ops::Range<u32>| {
        for seed in seeds {
            spawn_other(host, if seed % 3 == 2 { other_rig } else { entity }, seed);
        }
    };
    spawn_others(&mut host, 0..before);
    let actor = spawn_watched(&mut host, entity, clip_driven);
    spawn_others(&mut host, before..before + after);
    (0..FRAMES)
        .map(|frame| {
            drive(&mut host, &rig, actor, frame);
            host.run_to(frame as f64 / 60.0).unwrap();
            Frame::of(&host.world, actor)
        })
        .collect()
}

#[test]
fn the_same_actor_twice_has_the_same_bits() {
    for clip_driven in [true, false] {
        let first = among(0, 0, clip_driven, Workers::One);
        assert!(first.iter().all(Frame::is_finite));
        assert!(
            first
                .iter()
                .flat_map(|f| &f.swings)
                .flatten()
                .any(|s| s.hits > 0),
            "the scene has contacts"
        );
        let second = among(0, 0, clip_driven, Workers::One);
        assert_same_bits(&second, &first, "the second run");
    }
}

#[test]
fn det_03_neighbours_and_their_spawn_order_change_no_bit() {
    for clip_driven in [true, false] {
        let alone = among(0, 0, clip_driven, Workers::One);
        for (before, after) in [(1, 0), (0, 1), (7, 0), (0, 7), (3, 4), (40, 0), (13, 27)] {
            let found = among(before, after, clip_driven, Workers::Pool);
            assert_same_bits(&found, &alone, &format!("{before} before, {after} after"));
        }
    }
}

#[test]
fn det_03_the_number_of_threads_changes_no_bit() {
    let alone = among(0, 0, true, Workers::One);
    for threads in [1, 2, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let pool = pool.build().unwrap();
        for workers in [Workers::Pool, Workers::One] {
            let found = pool.install(|| among(20, 20, true, workers));
            assert_same_bits(&found, &alone, &format!("{threads} threads, {workers:?}"));
        }
    }
}

#[test]
fn det_03_actors_that_come_and_go_change_no_bit() {
    let rig = rich();
    let alone = among(0, 0, true, Workers::One);
    let mut host = Headless::new();
    let entity = host.spawn_rig(&rig);
    let mut guests: Vec<Entity> = (0..3)
        .map(|seed| spawn_other(&mut host, entity, seed))
        .collect();
    let actor = spawn_watched(&mut host, entity, true);
    let mut found = Vec::new();
    for frame in 0..FRAMES {
        if frame % 3 == 1 {
            // The free slot is taken again, also in the same frame.
            let leaving = guests.remove(frame % guests.len());
            host.world.despawn(leaving);
            guests.push(spawn_other(&mut host, entity, frame as u32));
        }
        if frame % 7 == 2 {
            guests.push(spawn_other(&mut host, entity, frame as u32));
        }
        drive(&mut host, &rig, actor, frame);
        host.run_to(frame as f64 / 60.0).unwrap();
        found.push(Frame::of(&host.world, actor));
    }
    assert_same_bits(&found, &alone, "among guests");
}

#[test]
fn det_03_an_actor_spawned_later_starts_like_the_first() {
    let rig = rich();
    // The wind asks for the host's time, so both begin at a whole number of seconds, where sixtieths are as exact as at 0.
    let from_two_seconds = |host: &mut Headless, actor: Entity| -> Vec<Frame> {
        (0..FRAMES)
            .map(|frame| {
                drive(host, &rig, actor, frame);
                host.run_to(2.0 + frame as f64 / 60.0).unwrap();
                Frame::of(&host.world, actor)
            })
            .collect()
    };
    let mut fresh = Headless::new();
    let entity = fresh.spawn_rig(&rig);
    let actor = spawn_watched(&mut fresh, entity, true);
    let expected = from_two_seconds(&mut fresh, actor);

    let mut host = Headless::new();
    let entity = host.spawn_rig(&rig);
    let first = spawn_watched(&mut host, entity, true);
    for _ in 0..17 {
        host.step(FIXED_STEP).unwrap();
    }
    host.world.despawn(first);
    host.step(FIXED_STEP).unwrap();
    let second = spawn_watched(&mut host, entity, true);
    let found = from_two_seconds(&mut host, second);
    assert_same_bits(&found, &expected, "spawned after another was despawned");
}

#[test]
fn root_07_settling_gives_one_answer_twenty_times() {
    let first = among(0, 0, true, Workers::One).swap_remove(0);
    for run in 0..20 {
        let mut host = Headless::new();
        let entity = host.spawn_rig(&rich());
        let actor = spawn_watched(&mut host, entity, true);
        drive(&mut host, &rich(), actor, 0);
        host.run_to(0.0).unwrap();
        let found = Frame::of(&host.world, actor);
        assert_same_bits(
            &[found],
            core::slice::from_ref(&first),
            &format!("run {run}"),
        );
    }
}
