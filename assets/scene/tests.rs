use std::path::Path;

use super::*;
use crate::profile::{DeltaPolicy, JointOrder, SubstepPolicy};

fn scene(text: &str) -> Scene {
    parse(Path::new("scenes/a.ron"), text).unwrap_or_else(|error| panic!("{error}"))
}

/// A scene with more fields.
fn with(fields: &str) -> String {
    format!("(version: 1, model: \"m.glb\", seconds: 2, {fields})")
}

fn refusal(fields: &str) -> String {
    parse(Path::new("a.ron"), &with(fields))
        .map_or_else(|error| error.to_string(), |_| format!("accepted {fields}"))
}

#[test]
fn a_short_scene_has_one_actor_at_sixty_frames_a_second() {
    let scene = scene(&with(""));
    assert_eq!((scene.frames(), scene.actor_count()), (120, 1));
    assert_eq!(scene.profile(), SwingProfile::default());
    assert_eq!(scene.model(), Path::new("scenes/m.glb"));
    assert_eq!(scene.rig(), None);
    let actors: Vec<SceneActor<'_>> = scene.actors().collect();
    assert_eq!((actors[0].clip, actors[0].offset), (None, Vec3::ZERO));
    assert_eq!(actors[0].properties, ActorProperties::default());
}

#[test]
fn frames_do_not_get_lost_to_rounding() {
    assert_eq!(
        scene("(version: 1, model: \"m\", seconds: 0.7, rate_hz: 30)").frames(),
        21
    );
    assert_eq!(
        scene("(version: 1, model: \"m\", seconds: 1, rate_hz: 29.97)").frames(),
        29
    );
}

#[test]
fn groups_stand_in_rows_and_start_one_after_the_other() {
    let scene = scene(&with(
        "actors: [(), (clip: \"Walk\", count: 3, columns: 2, offset: (1, 0, 0), spacing: (2, 0, 3), start: 0.5, start_step: 0.25, loop: false)]",
    ));
    let actors: Vec<_> = scene
        .actors()
        .map(|a| (a.group, a.offset, a.start, a.repeats))
        .collect();
    assert_eq!(actors[0], (0, Vec3::ZERO, 0.0, true));
    assert_eq!(actors[2], (1, Vec3::new(3.0, 0.0, 0.0), 0.75, false));
    assert_eq!(actors[3], (1, Vec3::new(1.0, 0.0, 3.0), 1.0, false));
}

#[test]
fn an_actors_properties_win_over_the_scenes() {
    let scene = scene(&with(
        "properties: (weight: 0.5, gravity: (0, 0, -9.8)), actors: [(properties: (weight: 0.25))]",
    ));
    let properties = scene.actors().next().unwrap().properties;
    assert_eq!((properties.weight, properties.gravity), (0.25, Vec3::NEG_Z));
}

#[test]
fn the_profile_is_the_engines() {
    let scene = scene(&with(
        "profile: (substeps: frame, delta: carried_pairs, root: off, prewarm: 0)",
    ));
    let profile = scene.profile();
    assert_eq!(
        (profile.substeps, profile.delta),
        (SubstepPolicy::Frame, DeltaPolicy::CarriedPairs)
    );
    assert_eq!((profile.prewarm, profile.max_substeps), (0, 8));
}

#[test]
fn switches_that_need_another_one_are_refused_without_it() {
    for (profile, field, needs) in [
        ("order: joint_major", "order", "substeps: frame"),
        (
            "split_motion: true, substeps: frame",
            "split_motion",
            "substeps: fixed",
        ),
    ] {
        let found = refusal(&format!("profile: ({profile})"));
        assert!(
            found.contains(&format!("profile.{field}: found")) && found.ends_with(needs),
            "{found}"
        );
    }
    let both = scene(&with("profile: (order: joint_major, substeps: frame)"));
    assert_eq!(both.profile().order, JointOrder::JointMajor);
}

#[test]
fn a_vrm_may_be_written_as_one() {
    let scene = scene(&with("outputs: [baked(file: \"a.vrm\")]"));
    assert_eq!(scene.rules().outputs[0].file(), "a.vrm");
}

#[test]
fn values_out_of_range_are_refused_at_their_place() {
    for (fields, expected) in [
        ("rate_hz: 0", "1:51: rate_hz: found 0, expected 1 to 1000"),
        ("rate_hz: NaN", "rate_hz: found NaN"),
        ("actors: []", "actors: found no actor"),
        ("actors: [(count: 0)]", "1:59: actors[0].count: found 0"),
        ("actors: [(count: 4000000)]", "expected at most 1000000"),
        ("actors: [(columns: 0)]", "actors[0].columns: found 0"),
        ("actors: [(start: -1)]", "actors[0].start: found -1"),
        (
            "properties: (swing_power: 0)",
            "properties.swing_power: found 0",
        ),
        ("properties: (gravity: (0, 0, 0))", "expected a direction"),
        (
            "profile: (max_substeps: 0)",
            "profile.max_substeps: found 0",
        ),
    ] {
        let found = refusal(fields);
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn expectations_must_make_sense() {
    for (fields, expected) in [
        (
            "tip_at(joint: \"a\", time: 3, position: (0, 0, 0), within: 1)",
            "expected 0 to 2, the scene's length",
        ),
        (
            "tip_at(joint: \"a\", time: 1, position: (0, 0, inf), within: 1)",
            "position[2]: found inf",
        ),
        (
            "tip_at(joint: \"a\", time: 1, position: (0, 0, 0), within: 1, actor: 1)",
            "found actor 1, expected a number below 1",
        ),
        ("lengths_kept(within: -1)", "within: found -1"),
        ("no_penetration(deeper_than: NaN)", "deeper_than: found NaN"),
        ("largest_deflection(joint: \"a\")", "found neither"),
        (
            "largest_deflection(joint: \"a\", at_least_deg: 5, at_most_deg: 4)",
            "at_least_deg: found 5",
        ),
        ("state_hash(hash: \"ABC\")", "expected 16 to 64 digits"),
        (
            "tip_near(joint: \"a\")",
            "found `tip_near`, expected `tip_at`",
        ),
    ] {
        let found = refusal(&format!("expectations: [{fields}]"));
        assert!(found.contains(expected), "{expected}: {found}");
    }
}

#[test]
fn outputs_stay_in_their_folder() {
    for file in [
        "/tmp/a.csv",
        "../a.csv",
        "a/../../a.csv",
        "c:/a.csv",
        "a\\\\b.csv",
        "",
    ] {
        let found = refusal(&format!("outputs: [trace(file: \"{file}\")]"));
        assert!(found.contains("outputs[0].file: found"), "{found}");
    }
    let scene = scene(&with("outputs: [trace(file: \"b/c.csv\")]"));
    assert_eq!(
        scene.output(Path::new("out"), &scene.rules().outputs[0]),
        Path::new("out/b/c.csv")
    );
}

#[test]
fn outputs_have_their_ending_their_actor_and_their_own_file() {
    assert!(refusal("outputs: [baked(file: \"a.fbx\")]").contains("ends in .glb, .gltf or .vrm"));
    assert!(refusal("outputs: [baked(file: \"a.glb\", actor: 2)]").contains("found actor 2"));
    let twice = refusal("outputs: [baked(file: \"a.glb\"), baked(file: \"a.glb\")]");
    assert!(
        twice.contains("outputs[1].file: found \"a.glb\" twice"),
        "{twice}"
    );
}

#[test]
fn saving_what_was_read_is_stable() {
    let text = with(
        "rig: \"../r.ron\", profile: (delta: rest), actors: [(clip: \"#3\", count: 2)], outputs: [baked(file: \"a.glb\")], expectations: [lengths_kept(within: 1e-5), state_hash(hash: \"0123456789abcdef\")]",
    );
    let first = scene(&text);
    let saved = first.to_ron().unwrap();
    let second = scene(&saved);
    assert_eq!(first.rules(), second.rules());
    assert_eq!(saved, second.to_ron().unwrap());
}
