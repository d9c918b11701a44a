//! The mirror: a mirrored scene swings in the mirror, and turning an actor about gravity turns nothing. `[C1]`

use bevy_math::{Quat, Vec3};
use flounce::mirror;
use flounce::swing::SwingResult;
use flounce::wind::Wind;
use proptest::prelude::*;

use crate::config;
use crate::random::scene;
use crate::scene::Scene;
use crate::support::chains::Frame;

impl Scene {
    fn mirrored(&self) -> Self {
        let mut scene = self.clone();
        for joint in &mut scene.rig.joints {
            joint.rest = mirror::transform(&joint.rest);
        }
        mirror::parts(&mut scene.rig);
        for frame in &mut scene.frames {
            for transform in &mut frame.pose {
                *transform = mirror::transform(transform);
            }
            frame.placed.translation = mirror::point(frame.placed.translation);
            frame.placed.rotation = mirror::rotation(frame.placed.rotation);
        }
        scene.properties.global_force = mirror::point(scene.properties.global_force);
        scene.properties.gravity = mirror::point(scene.properties.gravity);
        if let Some(wind) = &mut scene.wind {
            wind.direction = mirror::point(wind.direction);
        }
        scene
    }

    /// Noise has no mirror: only gusts are left of the wind.
    fn without_noise(mut self) -> Self {
        self.wind = self.wind.map(|wind| Wind {
            power: 0.0,
            octave: None,
            ..wind
        });
        self
    }
}

/// Equal bits, where 0 and −0 are the same and so are q and −q.
fn same_rotation(a: Quat, b: Quat) -> bool {
    a == b || a == -b
}

fn same_result(found: &SwingResult, expected: &SwingResult) -> bool {
    let hit = expected.last_hit;
    let hit = hit.map(|(n, at)| (mirror::point(n), mirror::point(at)));
    found.particle == mirror::point(expected.particle)
        && found.velocity == mirror::point(expected.velocity)
        && found.translation == expected.translation.map(mirror::point)
        && same_rotation(found.rotation, mirror::rotation(expected.rotation))
        && found.deflection == expected.deflection
        && found.hits == expected.hits
        && found.last_hit == hit
}

fn mirror_mismatch(found: &Frame, expected: &Frame) -> Option<String> {
    for (i, (a, b)) in found.swings.iter().zip(&expected.swings).enumerate() {
        let same = match (a, b) {
            (Some(a), Some(b)) => same_result(a, b),
            (None, None) => true,
            _ => false,
        };
        if !same {
            return Some(format!("swing joint {i}: {a:?} is not the mirror of {b:?}"));
        }
    }
    for (i, (a, b)) in found.local.iter().zip(&expected.local).enumerate() {
        let b = mirror::transform(b);
        let same = a.translation == b.translation && a.scale == b.scale;
        if !same || !same_rotation(a.rotation, b.rotation) {
            return Some(format!("joint {i}: {a:?}, expected {b:?}"));
        }
    }
    None
}

proptest! {
    #![proptest_config(config(2000, 1))]

    /// `[C1]`
    #[test]
    fn c1_a_mirrored_scene_swings_in_the_mirror_bit_for_bit(scene in scene()) {
        let scene = scene.without_noise();
        let (found, expected) = (scene.mirrored().shown(), scene.shown());
        for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
            let mismatch = mirror_mismatch(found, expected);
            prop_assert!(mismatch.is_none(), "frame {index}: {}", mismatch.unwrap());
        }
    }
}

proptest! {
    #![proptest_config(config(400, 4))]

    /// Gravity is along the axis of the turn and nothing else comes from the world, so nothing in model space depends
    /// on it.
    #[test]
    fn a_yaw_of_the_actor_changes_no_bit(scene in scene(), yaw in -7.0_f32..7.0) {
        let mut scene = scene;
        scene.properties.gravity = Vec3::NEG_Y;
        scene.properties.global_force = Vec3::ZERO;
        scene.wind = None;
        let stand = |scene: &mut Scene, rotation: Quat| {
            for frame in &mut scene.frames {
                frame.placed.translation = Vec3::ZERO;
                frame.placed.rotation = rotation;
            }
        };
        stand(&mut scene, Quat::IDENTITY);
        let expected = scene.shown();
        stand(&mut scene, Quat::from_rotation_y(yaw));
        for (index, (found, expected)) in scene.shown().iter().zip(&expected).enumerate() {
            prop_assert!(found.numbers() == expected.numbers(), "frame {index}: {found:?}\n{expected:?}");
        }
    }
}
