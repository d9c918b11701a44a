//! Animations, one broken member at a time.

use serde_json::json;

use super::super::fixture::{Fixture, each_is_accepted, each_is_refused};
use super::*;

fn with_times(times: &[f32]) -> Fixture {
    let mut fixture = Fixture::new();
    let accessor = fixture.floats("SCALAR", times);
    for sampler in 0..3 {
        fixture.set(
            &format!("/animations/0/samplers/{sampler}/input"),
            json!(accessor),
        );
    }
    fixture
}

#[test]
fn keys_keep_their_bits_and_rotations_follow_the_key_before() {
    let clip = Fixture::new().model().clips.remove(0);
    assert_eq!(
        (clip.name.as_str(), clip.source, clip.duration),
        ("sway", 0, 2.0)
    );
    assert_eq!(clip.tracks.len(), 3);
    assert!(Arc::ptr_eq(&clip.tracks[0].times, &clip.tracks[2].times));
    assert_eq!(*clip.tracks[0].times, [0.0, 0.5, 2.0]);
    let rotations = [
        [0.0, 0.0, 0.0, 1.0],
        [-0.0, -0.0, 0.6, 0.8],
        [1.0, 0.0, 0.0, 0.0],
    ];
    assert_eq!(
        clip.tracks[1].values,
        TrackValues::Rotation(rotations.to_vec())
    );
}

#[test]
fn samp_04_times_that_do_not_increase_are_refused_by_element() {
    for (times, parts) in [
        (
            [0.0, 0.5, 0.5],
            [
                "element 2",
                "found key 2 at 0.5 s, expected a time after key 1 at 0.5 s",
            ],
        ),
        ([0.0, 1.0, 0.5], ["element 2", "a time after key 1 at 1 s"]),
        ([0.0, f32::NAN, 1.0], ["element 1", "a finite time"]),
        ([0.0, 1.0, f32::INFINITY], ["element 2", "a finite time"]),
    ] {
        let message = with_times(&times).refusal();
        let place =
            "/animations/0/channels/0 (translation of \"tip\" (node 1) in \"sway\" (animation 0))";
        assert!(message.contains(place), "{message}");
        assert!(parts.iter().all(|part| message.contains(part)), "{message}");
    }
    let clip = with_times(&[-3.0, -2.0, -1.0]).model().clips.remove(0);
    assert_eq!(clip.duration, 0.0);
}

#[test]
fn counts_that_do_not_match_the_keys_are_refused() {
    let message = with_times(&[0.0, 1.0]).refusal();
    assert!(message.contains("/accessors/1/count"), "{message}");
    assert!(message.contains("found 3, expected 2: 2 keys"), "{message}");
    let mut fixture = Fixture::new();
    let seven = fixture.floats("SCALAR", &[0.0; 7]);
    let message = fixture
        .set("/animations/0/samplers/2/output", json!(seven))
        .refusal();
    assert!(
        message.contains("found 7, expected 6: 3 keys, 2 morph targets"),
        "{message}"
    );
}

#[test]
fn gltf_09_splines_of_weights_hold_three_values_per_key_and_target() {
    let mut fixture = Fixture::new();
    let values: Vec<f32> = (0..18_u8).map(f32::from).collect();
    let output = fixture.floats("SCALAR", &values);
    fixture.set("/animations/0/samplers/2/output", json!(output));
    fixture.set(
        "/animations/0/samplers/2/interpolation",
        json!("CUBICSPLINE"),
    );
    let clip = fixture.model().clips.remove(0);
    let mut weights = [0.0; 2];
    clip.tracks[2].sample_channel(0.5, &mut weights);
    assert_eq!(weights, [8.0, 9.0]);
}

#[test]
fn gltf_09_weights_without_morph_targets_are_left_out_with_a_warning() {
    let mut fixture = Fixture::new();
    let model = fixture
        .set("/meshes/0/primitives/0/targets", json!([]))
        .model();
    assert_eq!(model.clips[0].tracks.len(), 2);
    assert!(
        model.warnings[0].contains("/animations/0/channels/2 (weights of \"tip\""),
        "{:?}",
        model.warnings
    );
}

#[test]
fn samp_11_channels_without_a_rig_property_are_left_out() {
    let target = "/animations/0/channels/0/target";
    let silent = Fixture::new()
        .set(target, json!({ "path": "translation" }))
        .model();
    assert_eq!(
        (silent.clips[0].tracks.len(), silent.warnings.len()),
        (2, 0)
    );
    assert_eq!(silent.clips[0].tracks[0].source, 1);
    let pointer = json!({ "path": "pointer", "extensions": {} });
    let warned = Fixture::new().set(target, pointer).model();
    assert_eq!(warned.clips[0].tracks.len(), 2);
    assert!(
        warned.warnings[0].contains("\"sway\" (animation 0): 1 channels left out"),
        "{:?}",
        warned.warnings
    );
    let root = json!({ "node": 0, "path": "translation" });
    assert_eq!(
        Fixture::new().set(target, root).model().clips[0].tracks[0].joint,
        0
    );
}

#[test]
fn samp_11_two_channels_on_one_target_are_refused() {
    let mut fixture = Fixture::new();
    let channel = json!({ "sampler": 0, "target": { "node": 1, "path": "translation" } });
    fixture.push("/animations/0/channels", channel);
    let message = fixture.refusal();
    assert!(
        message.contains("/animations/0/channels/3 (translation of \"tip\""),
        "{message}"
    );
    assert!(message.contains("after channel 0"), "{message}");
}

#[test]
fn broken_channels_are_refused() {
    each_is_refused(&[
        (
            "/animations/0/channels/0/sampler",
            json!(3),
            &["/animations/0/channels/0", "index 3"],
        ),
        (
            "/animations/0/channels/0/target/node",
            json!(9),
            &["/animations/0/channels/0", "index 9"],
        ),
        (
            "/animations/0/channels/0/target",
            json!({ "node": 1 }),
            &["/animations/0/channels/0/target", "`path`"],
        ),
        (
            "/animations/0/samplers/0/interpolation",
            json!("linear"),
            &["/interpolation", "\"LINEAR\""],
        ),
        (
            "/animations/0/samplers/0/interpolation",
            json!(null),
            &["/interpolation", "a string"],
        ),
        (
            "/animations/0/samplers/0/input",
            json!(-1),
            &["/animations/0/samplers/0/input"],
        ),
        (
            "/animations/0/channels",
            json!({}),
            &["/animations/0/channels"],
        ),
    ]);
    each_is_accepted(&[
        ("/animations/0/channels", json!([])),
        ("/animations/0/samplers/0/interpolation", json!("STEP")),
    ]);
}

#[test]
fn samp_05_tangents_that_are_never_used_may_be_anything() {
    let mut fixture = with_times(&[0.0, 2.0]);
    let nan = f32::NAN;
    let output = fixture.floats(
        "VEC3",
        &[
            nan, nan, nan, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0, 1.0, nan, nan,
            nan,
        ],
    );
    fixture.set("/animations/0/samplers/0/output", json!(output));
    fixture.set(
        "/animations/0/samplers/0/interpolation",
        json!("CUBICSPLINE"),
    );
    fixture.json["animations"][0]["channels"]
        .as_array_mut()
        .unwrap()
        .truncate(1);
    let model = fixture.model();
    assert!(
        model.warnings[0].contains("not finite"),
        "{:?}",
        model.warnings
    );
    let mut pose = crate::pose::JointTransform::IDENTITY;
    model.clips[0].tracks[0].sample(1.0, &mut pose);
    assert_eq!(pose.translation.x, 0.75);
}

#[test]
fn values_that_are_not_finite_are_refused_by_element() {
    let mut fixture = Fixture::new();
    let output = fixture.floats(
        "VEC3",
        &[0.0, 0.0, 0.0, 0.0, f32::INFINITY, 0.0, 0.0, 0.0, 0.0],
    );
    let message = fixture
        .set("/animations/0/samplers/0/output", json!(output))
        .refusal();
    assert!(
        message.contains(&format!("/accessors/{output}, element 1")),
        "{message}"
    );
    let output = fixture.floats(
        "VEC4",
        &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0],
    );
    fixture.set("/animations/0/samplers/0/output", json!(1));
    let message = fixture
        .set("/animations/0/samplers/1/output", json!(output))
        .refusal();
    assert!(
        message.contains("key 1 with rotation [0.0, 0.0, 0.0, 0.0]"),
        "{message}"
    );
}

#[test]
fn samp_02_a_spline_of_one_key_is_a_constant_with_a_warning() {
    let mut fixture = with_times(&[2.0]);
    fixture.set(
        "/animations/0/samplers/0/interpolation",
        json!("CUBICSPLINE"),
    );
    fixture.json["animations"][0]["channels"]
        .as_array_mut()
        .unwrap()
        .truncate(1);
    let model = fixture.model();
    assert!(
        model.warnings[0].contains("one key"),
        "{:?}",
        model.warnings
    );
    let mut pose = crate::pose::JointTransform::IDENTITY;
    model.clips[0].tracks[0].sample(0.0, &mut pose);
    assert_eq!(pose.translation.to_array(), [4.0, 5.0, 6.0]);
    assert_eq!(model.clips[0].duration, 2.0);
}

#[test]
fn rotation_keys_far_from_unit_are_normalised_with_their_tangents() {
    let mut fixture = with_times(&[0.0, 1.0]);
    let key = |scale: f32| {
        [
            [0.5 * scale; 4],
            [0.0, 0.0, 0.6 * scale, 0.8 * scale],
            [0.5 * scale; 4],
        ]
    };
    let keys: Vec<f32> = [key(1.0), key(2.0)].concat().concat();
    let output = fixture.floats("VEC4", &keys);
    fixture.set("/animations/0/samplers/1/output", json!(output));
    fixture.set(
        "/animations/0/samplers/1/interpolation",
        json!("CUBICSPLINE"),
    );
    fixture.json["animations"][0]["channels"]
        .as_array_mut()
        .unwrap()
        .remove(0);
    fixture.json["animations"][0]["channels"]
        .as_array_mut()
        .unwrap()
        .truncate(1);
    let model = fixture.model();
    assert!(
        model.warnings[0].contains("1 keys are not of length 1"),
        "{:?}",
        model.warnings
    );
    let TrackValues::Rotation(values) = &model.clips[0].tracks[0].values else {
        panic!("a rotation track");
    };
    assert_eq!(values[..3], values[3..]);
}

#[test]
fn clips_may_share_names_or_have_none() {
    let mut fixture = Fixture::new();
    let clip = fixture.json["animations"][0].clone();
    let mut unnamed = clip.clone();
    unnamed.as_object_mut().unwrap().remove("name");
    fixture.push("/animations", clip);
    fixture.push("/animations", unnamed);
    let clips = fixture.model().clips;
    let names: Vec<_> = clips
        .iter()
        .map(|clip| (clip.name.as_str(), clip.source))
        .collect();
    assert_eq!(names, [("sway", 0), ("sway", 1), ("animation_2", 2)]);
}

#[test]
fn warnings_end_somewhere() {
    let mut fixture = Fixture::new();
    let clip = fixture.json["animations"][0].clone();
    fixture.set("/meshes/0/primitives/0/targets", json!([]));
    for _ in 0..150 {
        fixture.push("/animations", clip.clone());
    }
    let warnings = fixture.model().warnings;
    assert_eq!(
        (warnings.len(), warnings[100].as_str()),
        (101, "and 51 warnings more")
    );
}
