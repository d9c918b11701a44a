//! Claim: the bits of an actor depend on its own input alone: not on its neighbours, threads, hosts, frame rate or lane.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/mod.rs"]
mod support;

mod among;
#[cfg(feature = "assets")]
mod batch;
mod crowds;
mod editing;
mod hosts;
mod instruction_sets;
mod lanes;
mod parts;
#[cfg(feature = "assets")]
mod scenes;
mod shown;

use std::sync::Arc;

use bevy_ecs::prelude::*;
use bevy_math::Vec3;
use flounce::additive::Side;
use flounce::chain::ChainLayer;
use flounce::clip::{Clip, ClipPlayer, Interpolation, Playback, Repeat, Track, TrackValues};
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::driver::{BlendConstraint, BlendField, BlendSource, Driver, SkirtDriver};
use flounce::euler::EulerProduct;
use flounce::layer::{BlendClip, Layer, LayerKind, LayerSource, Layers, Reference};
use flounce::mask::JointMask;
use flounce::pose::{AnimatedPose, JointTransform};
use flounce::rig::Rig;
use flounce::swing::{Limit, Motion, ReferenceLimit, SwingJoint, SwingReadout, Tip};
use flounce::systems::motion::WorldFromActor;
use flounce::systems::plugin::Headless;
use flounce::uniform::ErrorBound;
use flounce::wind::{Gust, Octave, Wind, WindForm};
use support::chains::{ball, chain, joint, rest_pose, soft, static_ball, static_plane, turn};

/// A rig that uses what the solver has: two chains on one body, the second hanging on the first through a joint that
/// does not swing and under a mirrored joint, limits, a limit that follows another joint, every kind of collider; a skirt
/// whose strands are joined and driven; a joint that slides.
fn rich() -> Rig {
    let mut rig = chain(4, Vec3::new(0.05, -0.1, 0.02), soft());
    let between = rig.joints.len();
    let mut mirrored = joint(Some(4), Vec3::new(0.0, -0.03, 0.0));
    mirrored.rest.scale = Vec3::new(-1.0, 1.0, 1.0);
    mirrored.rest.rotation = turn(Vec3::Z, 20.0);
    rig.joints.push(mirrored);
    for i in 0..4 {
        rig.joints
            .push(joint(Some(between + i), Vec3::new(0.02, -0.09, 0.01)));
    }
    let limit = Limit {
        low: Vec3::new(-30.0, -20.0, -25.0),
        high: Vec3::new(10.0, 35.0, 40.0),
    };
    for (i, swing) in rig.swing.iter_mut().enumerate() {
        swing.collider = Some(ball(0.02));
        swing.spring = 0.2;
        swing.limit = (i > 1).then_some(limit);
    }
    let line = Collider {
        shape: Shape::Line {
            inset_a: 0.01,
            inset_b: 0.02,
            radius_a: 0.02,
            radius_b: 0.01,
            scale: 1.0,
        },
        mask: Mask::ALL,
    };
    for i in 1..4 {
        rig.swing.push(SwingJoint {
            pendulum: 0.3,
            pendulum_range: 0.4,
            stiffness: 0.4,
            collider: Some(line),
            limit: Some(limit),
            reference_limit: Some(ReferenceLimit {
                joint: 2,
                weight: 0.5,
            }),
            root_horizontal_weight: 0.5,
            root_vertical_weight: 0.25,
            ..SwingJoint::new(between + i)
        });
    }
    let capsule = Shape::Capsule {
        offset_a: Vec3::new(0.0, -0.1, 0.05),
        offset_b: Vec3::new(0.1, -0.4, -0.05),
        radius_a: 0.08,
        radius_b: 0.05,
    };
    rig.colliders = vec![
        static_ball(0, Vec3::new(0.12, -0.2, 0.0), 0.09),
        StaticCollider {
            joint: Some(0),
            collider: Collider {
                shape: capsule,
                mask: Mask::ALL,
            },
        },
        StaticCollider {
            joint: Some(2),
            collider: line,
        },
        static_plane(Vec3::new(0.1, 1.0, 0.0), 0.35),
    ];
    rig.root_correction = Some(0);
    hang_skirt(&mut rig);
    slide(&mut rig);
    rig
}

/// Four strands of two bones round a joint that follows joint 1, joined to a smoothed ring above and a row below.
fn hang_skirt(rig: &mut Rig) {
    let waist = rig.joints.len();
    rig.joints.push(joint(Some(0), Vec3::new(0.0, -0.05, 0.0)));
    rig.drivers.push(Driver::Skirt(SkirtDriver {
        joint: waist,
        reference: 1,
        product: EulerProduct::Xyz,
        inner: Vec3::new(0.5, 0.3, 0.7),
        outer: Vec3::new(0.2, 0.8, 0.4),
        min_deg: Vec3::splat(-30.0),
        max_deg: Vec3::splat(20.0),
        lag: 0,
    }));
    let mut tips = [Vec::new(), Vec::new()];
    for out in [Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z] {
        let top = rig.joints.len();
        rig.joints.push(joint(Some(waist), out * 0.1));
        rig.joints
            .push(joint(Some(top), out * 0.03 - Vec3::Y * 0.12));
        rig.joints
            .push(joint(Some(top + 1), out * 0.02 - Vec3::Y * 0.14));
        for (row, tips) in tips.iter_mut().enumerate() {
            tips.push(top + row + 1);
            rig.swing.push(SwingJoint {
                wind: 0.7,
                spring: 0.1,
                collider: Some(ball(0.015)),
                ..SwingJoint::new(top + row)
            });
        }
    }
    let [above, below] = tips;
    let ring = ChainLayer {
        joints: above,
        active: true,
        around: true,
        radius: 0.02,
        smoothing: 0.4,
        mask: Mask::ALL,
    };
    let row = ChainLayer {
        joints: below,
        around: false,
        ..ring.clone()
    };
    rig.layers = vec![ring, row];
}

/// A joint that slides, with a tail that turns on it, on a joint that follows two others.
fn slide(rig: &mut Rig) {
    let base = rig.joints.len();
    rig.joints.push(joint(Some(0), Vec3::new(0.0, 0.1, 0.1)));
    rig.joints
        .push(joint(Some(base), Vec3::new(0.0, 0.05, 0.05)));
    rig.joints
        .push(joint(Some(base + 1), Vec3::new(0.0, -0.05, 0.05)));
    let source = |joint: usize, weight: f32| BlendSource {
        joint,
        weight: Vec3::new(weight, 1.0 - weight, 0.0),
    };
    rig.drivers.push(Driver::Blend(BlendConstraint {
        joint: base,
        sources: vec![source(1, 0.3), source(3, 0.8)],
        field: Some(BlendField {
            transform: rig.joints[base].rest,
            weight: Vec3::splat(0.5),
        }),
        offset: JointTransform::rigid(Vec3::ZERO, turn(Vec3::X, 5.0)),
    }));
    rig.swing.push(SwingJoint {
        motion: Motion::Slide,
        stiffness: 20.0,
        pendulum: 5.0,
        pendulum_range: 0.2,
        wind: 0.5,
        axis_add_x_to_y: 0.3,
        axis_add_x_to_z: -0.2,
        limit: Some(Limit {
            low: Vec3::new(-20.0, 0.0, -5.0),
            high: Vec3::new(10.0, 30.0, 15.0),
        }),
        collider: Some(ball(0.01)),
        ..SwingJoint::new(base + 1)
    });
    rig.swing.push(SwingJoint {
        tip: Tip::Tail {
            axis: Vec3::NEG_Z,
            length: 0.1,
        },
        wind: 1.0,
        bake_weight: 0.2,
        ..SwingJoint::new(base + 2)
    });
}

/// A wind with everything, told apart by `seed`.
fn wind(seed: u32) -> Wind {
    Wind {
        direction: turn(Vec3::Y, 50.0 * seed as f32) * Vec3::X,
        power: 0.02,
        frequency: 1.5,
        octave: Some(Octave {
            power: 0.01,
            frequency: 4.0,
        }),
        gusts: vec![Gust {
            amplitude: 0.01,
            frequency: 0.7 + 0.1 * seed as f32,
            phase: 0.2,
        }],
        form: if seed % 4 == 3 {
            WindForm::Documented
        } else {
            WindForm::Advected(1.5)
        },
        seed,
    }
}

/// Where an actor that walks in a circle stands at `time`, seconds.
fn walked(time: f32) -> WorldFromActor {
    WorldFromActor {
        translation: Vec3::new(bevy_math::ops::cos(time), 0.0, bevy_math::ops::sin(time)) * 0.8,
        rotation: turn(Vec3::Y, -time.to_degrees()) * turn(Vec3::X, 3.0),
    }
}

/// Hips that walk and turn, chains whose joints the clip bends.
fn walk() -> Arc<Clip> {
    let times: Arc<[f32]> = (0..=20_u8).map(|i| f32::from(i) * 0.1).collect();
    let wave = |i: usize, speed: f32| bevy_math::ops::sin(i as f32 * speed);
    let hips = (0..times.len()).map(|i| [wave(i, 0.9) * 0.2, 1.0 + wave(i, 1.7) * 0.05, 0.0]);
    let bend = |axis: Vec3, speed: f32| {
        let keys = (0..times.len()).map(|i| turn(axis, wave(i, speed) * 25.0).to_array());
        TrackValues::Rotation(keys.collect())
    };
    let track = |joint: usize, values: TrackValues| Track {
        joint,
        source: 0,
        interpolation: Interpolation::Linear,
        times: Arc::clone(&times),
        values,
    };
    Arc::new(Clip {
        name: String::new(),
        source: 0,
        tracks: vec![
            track(0, TrackValues::Translation(hips.collect())),
            track(0, bend(Vec3::Y, 1.1)),
            track(1, bend(Vec3::Z, 0.7)),
            track(3, bend(Vec3::X, 1.3)),
        ],
        duration: 2.0,
    })
}

fn player() -> ClipPlayer {
    ClipPlayer::new(walk(), Repeat::Loop)
}

/// Layers of every kind for a rig of `joints` joints: a clip in rows, a continuous additive one, a blend.
fn layers(joints: usize) -> Layers {
    let playback = |start: f64| Playback {
        start,
        speed: 0.7,
        ..Playback::new(walk(), Repeat::Loop)
    };
    let in_rows = playback(0.4).in_rows(joints, &ErrorBound::default());
    let blended = [(0.3, 1.0), (1.1, 2.5)].map(|(start, weight)| BlendClip {
        playback: playback(start),
        weight,
    });
    let layer = |order: i32, source: LayerSource, weight: f32| Layer {
        weight,
        ..Layer::new(format!("{order}"), order, source, JointMask::all(joints))
    };
    let blend = LayerSource::Blend {
        clips: blended.to_vec(),
        about_rest: true,
    };
    let added = Layer {
        kind: LayerKind::Additive {
            side: Side::Own,
            reference: Reference::Clip {
                clip: walk(),
                time: 0.2,
            },
            continuous: true,
        },
        ..layer(2, LayerSource::Clip(playback(0.9)), 0.6)
    };
    let rows = layer(1, LayerSource::Clip(in_rows.unwrap()), 0.5);
    Layers::new([rows, added, layer(3, blend, 0.3)]).unwrap()
}

/// The input of a host that animates itself: the same motion, told apart by `seed`.
fn input(rig: &Rig, frame: usize, seed: u32) -> Vec<JointTransform> {
    let time = frame as f32 * 0.1 + seed as f32;
    let mut pose = rest_pose(rig);
    pose[0].translation.x += bevy_math::ops::sin(time) * 0.2;
    pose[0].rotation = turn(Vec3::Y, bevy_math::ops::sin(time * 1.3) * 40.0);
    pose[2].rotation = turn(Vec3::Z, bevy_math::ops::cos(time * 0.7) * 30.0);
    pose
}

const FRAMES: usize = 90;

/// Spawns the watched actor, clip-driven or not, into a host that may have others already.
fn spawn_watched(host: &mut Headless, rig: Entity, clip_driven: bool) -> Entity {
    let parts = (
        SwingReadout::default(),
        AnimatedPose(rest_pose(&rich())),
        wind(0),
    );
    let actor = host.spawn_actor(rig, parts);
    host.world
        .entity_mut(actor)
        .insert(layers(rich().joints.len()));
    if clip_driven {
        let mut player = player();
        let next = Playback::new(walk(), Repeat::Loop).begins_at(0.3);
        player.cross_fade(next, 0.3, 0.5);
        host.world.entity_mut(actor).insert(player);
    }
    actor
}
