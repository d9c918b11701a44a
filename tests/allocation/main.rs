//! Claim: after its first frames an actor's frame allocates nothing, driven by a clip or by the host's poses, alone or in a crowd.
#![expect(unsafe_code, reason = "a counting allocator implements GlobalAlloc")]

mod crowds;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec3};
use flounce::additive::Side;
use flounce::channel::ChannelPose;
use flounce::clip::{Clip, ClipPlayer, Interpolation, Playback, Repeat, Track, TrackValues};
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::driver::Driver;
use flounce::foot::{FootAnchor, FootAnchors, FootRecord};
use flounce::layer::{
    BlendClip, Layer, LayerKind, LayerReadout, LayerSource, Layers, Missing, Reference,
};
use flounce::leg::LegChain;
use flounce::mask::JointMask;
use flounce::pose::{AnimatedPose, JointTransform, ModelPose};
use flounce::profile::SwingProfile;
use flounce::rig::{Joint, Rig};
use flounce::swing::{Limit, SwingJoint, SwingReadout};
use flounce::systems::plugin::Headless;
use flounce::systems::substeps::Workers;

/// Frames after which memory has its size: both sides of every double buffer have been used.
const WARM_UP: usize = 90;
/// Frames that may not allocate.
const COUNTED: usize = 240;

thread_local! {
    /// Per thread, so that tests running side by side do not count each other's.
    static ALLOCATIONS: Cell<usize> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

// SAFETY: every call is passed on to the system's allocator unchanged; counting touches no memory of theirs.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`, which is the same.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above; the memory came from `System`.
        unsafe { System.dealloc(memory, layout) }
    }
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

fn count() {
    // A thread that is ending has no counter any more; it is not one that a test measures.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

fn allocations() -> usize {
    ALLOCATIONS.with(Cell::get)
}

/// A root, a chain of three that swings, and a ball that it meets.
fn rig() -> Rig {
    let joint = |source: usize| Joint {
        name: format!("joint_{source}"),
        source,
        parent: source.checked_sub(1),
        rest: JointTransform::rigid(Vec3::new(0.0, -0.1, 0.02), Quat::IDENTITY),
    };
    let mut rig = Rig::new((0..5).map(joint).collect());
    let ball = |radius| Collider {
        shape: Shape::Sphere {
            offset: Vec3::ZERO,
            radius,
        },
        mask: Mask::ALL,
    };
    rig.root_correction = Some(0);
    rig.swing = (1..4)
        .map(|joint| SwingJoint {
            collider: Some(ball(0.02)),
            limit: Some(Limit {
                low: Vec3::splat(-20.0),
                high: Vec3::splat(20.0),
            }),
            ..SwingJoint::new(joint)
        })
        .collect();
    rig.colliders = vec![StaticCollider {
        joint: Some(0),
        collider: ball(0.12),
    }];
    rig
}

fn clip() -> Arc<Clip> {
    let times: Arc<[f32]> = (0..5).map(|key| key as f32 * 0.1).collect();
    let key = |key: u8| [0.05 * f32::from(key % 2), 0.0, 0.0];
    Arc::new(Clip {
        name: "step".to_owned(),
        source: 0,
        tracks: vec![Track {
            joint: 0,
            source: 0,
            interpolation: Interpolation::Linear,
            times,
            values: TrackValues::Translation((0..5).map(key).collect()),
        }],
        duration: 0.4,
    })
}

/// A host with one actor.
fn host(player: Option<ClipPlayer>) -> (Headless, Entity) {
    let mut host = Headless::new();
    host.world.insert_resource(Workers::One);
    let rig = rig();
    let rest = rig.joints.iter().map(|joint| joint.rest).collect();
    let entity = host.spawn_rig(&rig);
    let parts = (
        SwingProfile::default(),
        AnimatedPose(rest),
        ModelPose::default(),
        SwingReadout::default(),
    );
    let actor = host.spawn_actor(entity, parts);
    if let Some(player) = player {
        host.world.entity_mut(actor).insert(player);
    }
    (host, actor)
}

/// Allocations of the counted frames.
fn run(player: Option<&ClipPlayer>, rate: f64) -> usize {
    let (mut host, actor) = host(player.cloned());
    let mut before = 0;
    for frame in 0..WARM_UP + COUNTED {
        if frame == WARM_UP {
            before = allocations();
        }
        if player.is_none() {
            let mut pose = host
                .world
                .get_mut::<AnimatedPose>(actor)
                .expect("set by host");
            pose.0[0].translation.x = if frame % 20 < 10 { 0.0 } else { 0.05 };
        }
        host.run_to(frame as f64 / rate).expect("time goes on");
    }
    assert!(before > 0, "the counter counts: setting up allocates");
    allocations() - before
}

#[test]
fn a_clip_driven_actor_allocates_nothing_after_warm_up() {
    let player = ClipPlayer::new(clip(), Repeat::Loop);
    for rate in [24.0, 60.0, 144.0] {
        assert_eq!(run(Some(&player), rate), 0, "at {rate} Hz");
    }
}

/// One layer of every kind over the clip.
fn layers(rig: &Rig) -> Layers {
    let still = clip();
    let playback = || Playback {
        start: 0.13,
        ..Playback::new(Arc::clone(&still), Repeat::Loop)
    };
    let blended = (0..2).map(|n| BlendClip {
        playback: playback(),
        weight: 1.0 + n as f32,
    });
    let sources = [
        LayerSource::Clip(playback()),
        LayerSource::Clip(playback()),
        LayerSource::Blend {
            clips: blended.collect(),
            about_rest: false,
        },
    ];
    let layers = sources.into_iter().enumerate().map(|(order, source)| {
        let mask = JointMask::all(rig.joints.len());
        let mut layer = Layer::new(format!("layer {order}"), order as i32, source, mask);
        layer.weight = 0.5;
        layer.missing = Missing::Rest;
        if order == 1 {
            layer.kind = LayerKind::Additive {
                side: Side::Own,
                reference: Reference::Rest,
                continuous: true,
            };
        }
        layer
    });
    Layers::new(layers).expect("orders and names of their own")
}

#[test]
fn layers_allocate_nothing_after_warm_up() {
    for rate in [24.0, 60.0, 144.0] {
        let (mut host, actor) = host(Some(ClipPlayer::new(clip(), Repeat::Loop)));
        let parts = (
            layers(&rig()),
            LayerReadout::default(),
            ChannelPose::default(),
        );
        host.world.entity_mut(actor).insert(parts);
        let mut before = 0;
        for frame in 0..WARM_UP + COUNTED {
            if frame == WARM_UP {
                before = allocations();
            }
            host.run_to(frame as f64 / rate).expect("time goes on");
        }
        assert_eq!(allocations() - before, 0, "at {rate} Hz");
        let readout = host.world.get::<LayerReadout>(actor).expect("asked for");
        assert!(
            readout.0.iter().all(|layer| !layer.joints.is_empty()),
            "each acts"
        );
    }
}

#[test]
fn an_actor_with_poses_from_the_host_allocates_nothing_after_warm_up() {
    for rate in [24.0, 60.0, 144.0] {
        assert_eq!(run(None, rate), 0, "at {rate} Hz");
    }
}

/// Beside the strand a leg of three joints.
fn rig_with_leg() -> Rig {
    let mut rig = rig();
    for (source, parent) in [(5, 0), (6, 5), (7, 6)] {
        rig.joints.push(Joint {
            name: format!("joint_{source}"),
            source,
            parent: Some(parent),
            rest: JointTransform::rigid(Vec3::new(0.0, -0.4, 0.01), Quat::IDENTITY),
        });
    }
    rig.drivers.push(Driver::Leg(LegChain {
        name: "leg".to_owned(),
        upper: 5,
        lower: 6,
        foot: 7,
        sole: Vec3::new(0.0, -0.1, 0.0),
        pole: None,
    }));
    rig
}

#[test]
fn q4_a_held_foot_allocates_nothing_after_warm_up() {
    let mut host = Headless::new();
    host.world.insert_resource(Workers::One);
    let entity = host.spawn_rig(&rig_with_leg());
    let parts = (
        ClipPlayer::new(clip(), Repeat::Loop),
        FootAnchors(vec![Some(FootAnchor::here(0))]),
        FootRecord::default(),
    );
    let actor = host.spawn_actor(entity, parts);
    let mut before = 0;
    for frame in 0..WARM_UP + COUNTED {
        if frame == WARM_UP {
            before = allocations();
        }
        let mut anchors = host.world.get_mut::<FootAnchors>(actor).expect("set above");
        // Let go of and caught anew now and then.
        anchors.0[0] = (frame % 50 > 5).then(|| FootAnchor::here((frame / 50) as u32));
        host.run_to(frame as f64 / 60.0).expect("time goes on");
    }
    assert_eq!(allocations() - before, 0);
    let record = host.world.get::<FootRecord>(actor).expect("set above");
    assert!(record.looks as usize > COUNTED / 2, "the foot was held");
}
