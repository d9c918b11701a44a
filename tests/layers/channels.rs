//! Morph weights and fields of view go through layers like everything else. `[L1]` `[L2]` `[L3]`

use std::sync::Arc;

use flounce::channel::{ChannelKind, ChannelPose, ChannelSet};
use flounce::clip::{Clip, ClipPlayer, Interpolation, Playback, Repeat, Track, TrackValues};
use flounce::layer::{Layer, LayerKind, LayerReadout, Missing, Reference};
use flounce::mask::JointMask;
use flounce::rig::Rig;
use flounce::substep::FrameClock;

use crate::{Random, actor, over, tree};

/// Joint 1 shows a face of two targets, joint 2 carries a camera.
fn rig() -> Rig {
    let mut rig = tree(3, &mut Random::new(8));
    let set = |joint, kind, rest: &[f32]| ChannelSet {
        joint,
        kind,
        rest: rest.to_vec(),
    };
    rig.channels = vec![
        set(1, ChannelKind::Morph, &[0.25, 0.0]),
        set(2, ChannelKind::Fov, &[0.5]),
    ];
    rig
}

fn clip(name: &str, weights: Option<[f32; 2]>, fov: Option<f32>) -> Arc<Clip> {
    let track = |joint, values| Track {
        joint,
        source: 0,
        interpolation: Interpolation::Step,
        times: [0.0].into(),
        values,
    };
    let weights = weights.map(|values| {
        let values = values.to_vec();
        track(1, TrackValues::Weights { count: 2, values })
    });
    let fov = fov.map(|fov| track(2, TrackValues::Fov(vec![[fov]])));
    Arc::new(Clip {
        name: name.to_owned(),
        source: 0,
        tracks: weights.into_iter().chain(fov).collect(),
        duration: 1.0,
    })
}

fn channels(base: Option<&Arc<Clip>>, layers: Vec<Layer>) -> (Vec<f32>, f32) {
    let (mut host, actor) = actor(&rig(), layers);
    let mut entity = host.world.entity_mut(actor);
    entity.insert((ChannelPose::default(), LayerReadout::default()));
    if let Some(clip) = base {
        entity.insert(ClipPlayer::new(Arc::clone(clip), Repeat::Loop));
    }
    host.run_to(0.0).unwrap();
    let readout = host.world.get::<LayerReadout>(actor).unwrap();
    let most = readout.0.first().map_or(0.0, |layer| layer.channels);
    (
        host.world.get::<ChannelPose>(actor).unwrap().0.clone(),
        most,
    )
}

#[test]
fn channels_are_at_rest_until_something_moves_them() {
    assert_eq!(channels(None, vec![]).0, [0.25, 0.0, 0.5]);
    let smile = clip("smile", Some([0.75, 1.0]), None);
    assert_eq!(channels(Some(&smile), vec![]).0, [0.75, 1.0, 0.5]);
}

#[test]
fn overrides_and_additive_layers_reach_them_through_the_mask() {
    let (smile, wide) = (
        clip("smile", Some([0.75, 1.0]), None),
        clip("wide", Some([0.25, 0.5]), Some(1.0)),
    );
    let half = Layer {
        weight: 0.5,
        ..over("wide", 0, &wide, JointMask::all(3))
    };
    assert_eq!(
        channels(Some(&smile), vec![half.clone()]),
        (vec![0.5, 0.75, 0.75], 0.25)
    );
    let added = Layer {
        kind: LayerKind::Additive {
            side: flounce::additive::Side::Own,
            reference: Reference::Rest,
            continuous: false,
        },
        ..half.clone()
    };
    assert_eq!(channels(Some(&smile), vec![added]).0, [0.75, 1.25, 0.75]);
    let masked = Layer {
        mask: JointMask::new(&[None, Some(0), Some(0)], &[2], &[], &[]).unwrap(),
        weight: 1.0,
        ..half.clone()
    };
    assert_eq!(channels(Some(&smile), vec![masked]).0, [0.75, 1.0, 1.0]);
    let resting = Layer {
        missing: Missing::Rest,
        weight: 1.0,
        ..over("empty", 0, &clip("empty", None, None), JointMask::all(3))
    };
    assert_eq!(channels(Some(&smile), vec![resting]).0, [0.25, 0.0, 0.5]);
}

#[test]
fn a_cross_fade_fades_them_too() {
    let (smile, wide) = (
        clip("smile", Some([0.0, 1.0]), None),
        clip("wide", Some([1.0, 0.0]), Some(1.0)),
    );
    let (mut host, actor) = actor(&rig(), vec![]);
    let mut player = ClipPlayer::new(smile, Repeat::Loop);
    player.cross_fade(Playback::new(wide, Repeat::Loop), 0.0, 1.0);
    host.world
        .entity_mut(actor)
        .insert((player, ChannelPose::default()));
    for (time, expected) in [
        (0.0, [0.0, 1.0, 0.5]),
        (0.25, [0.25, 0.75, 0.625]),
        (1.0, [1.0, 0.0, 1.0]),
    ] {
        while host.world.resource::<FrameClock>().now < time {
            host.step(1.0 / 64.0).unwrap();
        }
        host.step(0.0).unwrap();
        assert_eq!(
            host.world.get::<ChannelPose>(actor).unwrap().0,
            expected,
            "at {time}"
        );
    }
}
