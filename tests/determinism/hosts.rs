//! Hosts and frame rates: an `App` and a bare `World`, 24 frames a second or 144.

use bevy_app::App;
use bevy_ecs::prelude::*;
use flounce::pose::AnimatedPose;
use flounce::profile::SwingProfile;
use flounce::rig::RigParts;
use flounce::substep::{FIXED_STEP, FrameClock};
use flounce::swing::SwingReadout;
use flounce::systems::motion::{Reset, Teleport};
use flounce::systems::plugin::{FlouncePlugin, Headless, advance_clock};
use flounce::systems::preparation::Actor;

use crate::support::chains::{Frame, assert_same_bits, rest_pose};
use crate::{FRAMES, input, player, rich, spawn_watched, walked, wind};

/// The rich rig in the wind, in a World of either host.
fn spawn(world: &mut World, clip_driven: bool) -> Entity {
    let rig = RigParts::spawn(&rich(), world);
    let profile = SwingProfile {
        split_motion: true,
        ..SwingProfile::default()
    };
    let pose = AnimatedPose(rest_pose(&rich()));
    let parts = (
        Actor { rig },
        profile,
        SwingReadout::default(),
        pose,
        wind(2),
    );
    let actor = world.spawn(parts).id();
    if clip_driven {
        world.entity_mut(actor).insert(player());
    }
    actor
}

/// What happens before frame `frame`: the actor moves, it walks and jumps, and now and then somebody says so.
fn happen(world: &mut World, entity: Entity, frame: usize) {
    let pose = input(&rich(), frame, 3);
    world.get_mut::<AnimatedPose>(entity).unwrap().0 = pose;
    let jump = (frame / 25) as f32;
    world
        .entity_mut(entity)
        .insert(walked(frame as f32 * 0.02 + jump));
    match frame {
        20 | 25 | 71 => world.trigger(Teleport { entity }),
        40 | 41 => world.trigger(Reset { entity }),
        _ => {}
    }
}

#[test]
fn an_app_has_the_bits_of_a_headless_world() {
    for clip_driven in [true, false] {
        let mut app = App::new();
        app.add_plugins(FlouncePlugin::default());
        let in_app = spawn(app.world_mut(), clip_driven);
        let mut host = Headless::new();
        let in_world = spawn(&mut host.world, clip_driven);
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for frame in 0..FRAMES {
            // Frames of two lengths and, now and then, none.
            let seconds = [FIXED_STEP, 1.0 / 45.0, 0.0][frame % 7 % 3];
            happen(app.world_mut(), in_app, frame);
            advance_clock(&mut app.world_mut().resource_mut::<FrameClock>(), seconds).unwrap();
            app.update();
            found.push(Frame::of(app.world(), in_app));
            happen(&mut host.world, in_world, frame);
            host.step(seconds).unwrap();
            expected.push(Frame::of(&host.world, in_world));
        }
        assert_same_bits(&found, &expected, "in an App");
    }
}

/// `[T2]` What is shown at whole twelfths of a second, a time that all rates have a frame at.
#[test]
fn t2_every_frame_rate_shows_the_same_bits_at_common_times() {
    let at_rate = |rate: u32| -> Vec<Frame> {
        let mut host = Headless::new();
        let entity = host.spawn_rig(&rich());
        let actor = spawn_watched(&mut host, entity, true);
        let mut common = Vec::new();
        for frame in 0..=rate * 10 {
            host.run_to(f64::from(frame) / f64::from(rate)).unwrap();
            if frame * 6 % rate == 0 {
                common.push(Frame::of(&host.world, actor));
            }
        }
        common
    };
    let expected = at_rate(60);
    assert_eq!(expected.len(), 61);
    for rate in [24, 30, 144] {
        assert_same_bits(&at_rate(rate), &expected, &format!("at {rate} Hz"));
    }
}
