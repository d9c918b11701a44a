//! Claim: layers do what they say to the joints they reach, and nothing to anything else.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/mod.rs"]
mod support;

mod actions;
mod additive;
mod channels;
mod order;
mod poses;

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec3};
use flounce::clip::{Clip, Interpolation, Playback, Repeat, Track, TrackValues};
use flounce::layer::{Layer, LayerSource, Layers};
use flounce::mask::JointMask;
use flounce::pose::{JointTransform, LocalPose};
use flounce::rig::{Joint, Rig};
use flounce::systems::plugin::Headless;

/// Numbers that look random and are the same everywhere (`SplitMix64`).
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        Self(seed)
    }
    /// −1 to 1.
    fn number(&mut self) -> f32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f32 / (1 << 23) as f32 - 1.0
    }
    fn vector(&mut self) -> Vec3 {
        Vec3::new(self.number(), self.number(), self.number())
    }
    /// Any rotation; longer ones than half a turn come with either sign.
    fn rotation(&mut self) -> Quat {
        loop {
            let q = Quat::from_xyzw(self.number(), self.number(), self.number(), self.number());
            if (0.01..1.0).contains(&q.length_squared()) {
                return q.normalize();
            }
        }
    }
}

/// A tree of `count` joints with random rest poses.
fn tree(count: usize, random: &mut Random) -> Rig {
    let joint = |index: usize| Joint {
        name: format!("joint {index}"),
        source: index,
        parent: index.checked_sub(1).map(|last| last / 2),
        rest: JointTransform {
            translation: random.vector(),
            rotation: random.rotation(),
            scale: Vec3::ONE + random.vector() * 0.3,
        },
    };
    Rig::new((0..count).map(joint).collect())
}

/// A clip of `keys` keys a tenth of a second apart that moves `joints` in every way.
fn clip(name: &str, joints: &[usize], keys: usize, random: &mut Random) -> Arc<Clip> {
    let times: Arc<[f32]> = (0..keys).map(|key| key as f32 * 0.1).collect();
    let mut tracks = Vec::new();
    for &joint in joints {
        let rotations = (0..keys).map(|_| random.rotation().to_array()).collect();
        let translations = (0..keys).map(|_| random.vector().to_array()).collect();
        let scales = (0..keys).map(|_| (Vec3::ONE + random.vector() * 0.3).to_array());
        for values in [
            TrackValues::Rotation(rotations),
            TrackValues::Translation(translations),
            TrackValues::Scale(scales.collect()),
        ] {
            tracks.push(Track {
                joint,
                source: tracks.len(),
                interpolation: Interpolation::Linear,
                times: Arc::clone(&times),
                values,
            });
        }
    }
    Arc::new(Clip {
        name: name.to_owned(),
        source: 0,
        tracks,
        duration: (keys - 1) as f32 * 0.1,
    })
}

fn parents(rig: &Rig) -> Vec<Option<usize>> {
    rig.joints.iter().map(|joint| joint.parent).collect()
}

/// An override of all of `clip`.
fn over(name: &str, order: i32, clip: &Arc<Clip>, mask: JointMask) -> Layer {
    let playback = Playback::new(Arc::clone(clip), Repeat::Loop);
    Layer::new(name, order, LayerSource::Clip(playback), mask)
}

/// A World with one actor that has `layers`.
fn actor(rig: &Rig, layers: Vec<Layer>) -> (Headless, Entity) {
    let mut host = Headless::new();
    let rig = host.spawn_rig(rig);
    let actor = host.spawn_actor(rig, Layers::new(layers).unwrap());
    (host, actor)
}

fn shown(host: &Headless, actor: Entity) -> Vec<JointTransform> {
    host.world.get::<LocalPose>(actor).unwrap().0.clone()
}
