//! What clips leave out.

use bevy_math::Vec3;
use flounce::clip::{Clip, ClipPlayer, Interpolation, Repeat, Track, TrackValues};
use flounce::profile::SwingProfile;
use flounce::swing::ActorProperties;

use crate::support::chains::{Stage, angle, joint, stick3, turn};

/// A clip that turns `joint` by 90° or moves it, or both, all the time.
fn clip(joint: usize, turned: bool, moved: bool) -> ClipPlayer {
    let half = core::f32::consts::FRAC_1_SQRT_2;
    let track = |values| Track {
        joint,
        source: joint,
        interpolation: Interpolation::Step,
        times: [0.0].into(),
        values,
    };
    let rotation = TrackValues::Rotation(vec![[half, 0.0, 0.0, half]]);
    let translation = TrackValues::Translation(vec![[0.0, 0.5, 0.0]]);
    let tracks = [turned.then_some(rotation), moved.then_some(translation)];
    let clip = Clip {
        name: String::new(),
        source: 0,
        tracks: tracks.into_iter().flatten().map(track).collect(),
        duration: 1.0,
    };
    ClipPlayer::new(clip.into(), Repeat::Once)
}

#[test]
fn samp_09_what_a_clip_leaves_out_is_at_rest_from_its_first_frame() {
    let mut rig = stick3();
    rig.joints.push(joint(Some(0), Vec3::new(0.1, 0.2, 0.3)));
    rig.joints[5].rest.rotation = turn(Vec3::Y, 20.0);
    let rest = rig.joints[5].rest;
    let (profile, properties) = (SwingProfile::default(), ActorProperties::default());
    let mut stage = Stage::with(&rig, profile, properties, clip(5, true, true));
    let shown = stage.substeps(5).pop().unwrap().local[5];
    assert!(angle(shown.rotation, turn(Vec3::X, 90.0)) < 1e-6);
    assert_eq!(shown.translation, Vec3::Y * 0.5);
    for (turned, moved) in [(true, false), (false, true), (false, false)] {
        stage
            .host
            .world
            .entity_mut(stage.actor)
            .insert(clip(5, turned, moved));
        let shown = stage.substep().local[5];
        assert_eq!(shown.rotation == rest.rotation, !turned, "rotation at rest");
        assert_eq!(
            shown.translation == rest.translation,
            !moved,
            "translation at rest"
        );
        assert_eq!(shown.scale, rest.scale);
        stage
            .host
            .world
            .entity_mut(stage.actor)
            .insert(clip(5, true, true));
        stage.substep();
    }
}
