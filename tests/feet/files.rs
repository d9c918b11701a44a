//! Legs in rig files, feet in scenes.

use std::path::Path;

use flounce::assets::run::{self, RunOptions, RunReport};
use flounce::assets::{Error, import, rig_file, scene};
use flounce::clip::TrackValues;
use tempfile::TempDir;

const LEGS: &str = "(name: \"left\", upper: \"leg_l\", lower: \"knee_l\", foot: \"ankle_l\", sole: (0, -0.08, 0.05)), \
                    (name: \"right\", upper: \"leg_r\", lower: \"knee_r\", foot: \"ankle_r\", sole: (0, -0.08, 0.05))";

/// The mannequin with these legs in a scene of these fields.
fn folder(legs: &str, fields: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models/mannequin.glb");
    std::fs::copy(model, folder.path().join("m.glb")).unwrap();
    let rig = format!("(version: 1, root_correction: \"hips\", legs: [{legs}])");
    std::fs::write(folder.path().join("rig.ron"), rig).unwrap();
    let scene = format!("(version: 1, model: \"m.glb\", rig: \"rig.ron\", {fields})");
    std::fs::write(folder.path().join("scene.ron"), scene).unwrap();
    folder
}

fn run_in(folder: &TempDir) -> Result<RunReport, Error> {
    let options = RunOptions {
        out_dir: Some(folder.path().join("out")),
        ..RunOptions::default()
    };
    let scene = scene::read(&folder.path().join("scene.ron"))?;
    run::run(&scene, &options, &|_| {})
}

fn refusal(legs: &str, fields: &str) -> String {
    run_in(&folder(legs, fields)).unwrap_err().to_string()
}

/// Feet that are held while the body goes down by a hand and `aside`.
fn crouch(aside: f32, expectation: &str) -> String {
    format!(
        "seconds: 1, actors: [(
            moves: [(time: 0.5, position: (0.02, -0.1, 0)), (time: 1, position: ({aside}, -0.1, 0))],
            feet: [(leg: \"left\", plants: [(from: 0, to: 1)]), (leg: \"right\", plants: [(from: 0, to: 1)])],
        )], outputs: [baked(file: \"a.glb\")], expectations: [{expectation}]"
    )
}

#[test]
fn q4_held_feet_hold_and_the_baked_clip_has_the_legs() {
    let folder = folder(
        LEGS,
        &crouch(0.06, "feet_planted(within: 0.0005, at_most_deg: 8)"),
    );
    let report = run_in(&folder).unwrap();
    assert!(report.holds(), "{}", report.verdicts[0].message);
    let (model, _) = import::read_model(&folder.path().join("out/a.glb")).unwrap();
    let clip = model.clips.last().unwrap();
    for name in ["leg_l", "knee_l", "ankle_l", "leg_r", "knee_r", "ankle_r"] {
        let own = |joint: usize| model.rig.joints[joint].name == name;
        let mut tracks = clip.tracks.iter().filter(|track| own(track.joint));
        let turns = tracks.any(|track| match &track.values {
            TrackValues::Rotation(keys) => keys.first() != keys.last(),
            _ => false,
        });
        assert!(turns, "{name} does not turn in the baked clip");
    }
}

#[test]
fn q4_the_verdict_names_the_first_failing_frame() {
    let folder = folder(LEGS, &crouch(1.0, "feet_planted(at_most_deg: 40)"));
    let report = run_in(&folder).unwrap();
    let verdict = &report.verdicts[0];
    assert!(!verdict.holds);
    let message = &verdict.message;
    for part in [
        "feet planted within 0.0005 m, turning at most 40° per frame: leg \"",
        "m off its anchor, out of reach, more than 0.0005 m (first at 0.",
        " s, frame ",
        "actor 0, body at (",
    ] {
        assert!(message.contains(part), "expected {part}: {message}");
    }
    let popped = crouch(0.02, "feet_planted(at_most_deg: 0.5)");
    let report = run_in(&self::folder(LEGS, &popped)).unwrap();
    let message = &report.verdicts[0].message;
    assert!(
        message.contains("turned ") && message.contains("more than 0.50°"),
        "{message}"
    );
}

#[test]
fn q4_feet_that_nobody_holds_are_not_known_to_stay() {
    let report = run_in(&folder(
        LEGS,
        "seconds: 0.1, expectations: [feet_planted()]",
    ))
    .unwrap();
    assert!(!report.holds());
    assert!(report.verdicts[0].message.ends_with("no foot is held"));
}

#[test]
fn q4_the_shipped_walk_slides_without_its_anchors() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/feet.ron");
    let scene = scene::read(&file).unwrap();
    let planted = run::run(&scene, &RunOptions::default(), &|_| {}).unwrap();
    for verdict in &planted.verdicts {
        assert!(verdict.holds, "{}", verdict.message);
    }
    // Let go of at once, so that almost nothing holds the feet: each plant starts where the sole is a frame later.
    let mut rules = scene.rules().clone();
    for foot in &mut rules.actors[0].feet {
        for plant in &mut foot.plants {
            plant.at = Some([0.0, 0.0, 0.0]);
        }
    }
    let elsewhere = run::run(
        &scene.with_rules(rules).unwrap(),
        &RunOptions::default(),
        &|_| {},
    );
    assert!(
        !elsewhere.unwrap().holds(),
        "one place for all steps is out of reach"
    );
}

#[test]
fn feet_that_do_not_fit_are_refused_with_their_names() {
    let foot = |foot: &str| format!("seconds: 1, actors: [(feet: [{foot}])]");
    for (feet, expected) in [
        (
            "(leg: \"middle\", plants: [])",
            "actors[0].feet[0].leg: found \"middle\"; expected a leg of the rig: \"left\", \"right\"",
        ),
        (
            "(leg: \"left\", plants: []), (leg: \"left\", plants: [])",
            "found \"left\" twice, expected each leg once",
        ),
        (
            "(leg: \"left\", plants: [(from: 0.5, to: 0.5)])",
            "to: found 0.5, expected a time after 0.5, its `from`",
        ),
        (
            "(leg: \"left\", plants: [(from: 0, to: 0.5, fade: 0.2), (from: 0.6, to: 0.8)])",
            "begins at 0.6 s, expected no time before 0.7",
        ),
    ] {
        let message = refusal(LEGS, &foot(feet));
        assert!(message.contains(expected), "{expected}: {message}");
    }
    let message = refusal("", &foot("(leg: \"left\", plants: [])"));
    assert!(message.contains("the rig has no `legs`"), "{message}");
}

#[test]
fn legs_that_do_not_fit_are_refused_where_they_stand() {
    let leg = |upper: &str, lower: &str, foot: &str, more: &str| {
        format!(
            "(name: \"left\", upper: \"{upper}\", lower: \"{lower}\", foot: \"{foot}\", {more})"
        )
    };
    let good = leg("leg_l", "knee_l", "ankle_l", "");
    for (legs, expected) in [
        (
            leg("leg_l", "knee_r", "ankle_r", ""),
            "legs[0].lower: found \"knee_r\"",
        ),
        (
            leg("leg_l", "knee_l", "knee_l", ""),
            "legs[0].foot: found \"knee_l\"",
        ),
        (
            leg("leg_l", "knee_l", "ankle_x", ""),
            "legs[0].foot: no joint of the model is called \"ankle_x\"",
        ),
        (
            leg("leg_l", "knee_l", "ankle_l", "pole: (0, 0, 0)"),
            "legs[0].pole: ",
        ),
        (
            leg("leg_l", "knee_l", "ankle_l", "sole: (0, 1e9, 0)"),
            "legs[0].sole[1]: found 1000000000",
        ),
        (
            format!("{good}, {good}"),
            "legs[1].name: found \"left\" twice",
        ),
        (
            format!("{good}, {}", good.replace("left", "other")),
            "leg \"other\" has \"leg_l\"",
        ),
    ] {
        let message = refusal(&legs, "seconds: 1");
        assert!(message.contains(expected), "{expected}: {message}");
    }
}

#[test]
fn c1_a_left_handed_file_mirrors_sole_and_pole() {
    let text = "(version: 1, space: left_handed, legs: [(name: \"l\", upper: \"leg_l\", lower: \"knee_l\", \
                foot: \"ankle_l\", sole: (0.1, -0.08, 0.05), pole: (1, 0, 2))])";
    let model = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models/mannequin.glb");
    let (mut model, _) = import::read_model(&model).unwrap();
    let file = rig_file::parse(Path::new("rig.ron"), text).unwrap();
    file.apply(&mut model.rig).unwrap();
    let leg = model.rig.legs().next().unwrap();
    assert_eq!(leg.sole.to_array(), [-0.1, -0.08, 0.05]);
    assert_eq!(leg.pole.unwrap().to_array(), [-1.0, 0.0, 2.0]);
    let again = file.to_ron().unwrap();
    let again = rig_file::parse(Path::new("rig.ron"), &again).unwrap();
    assert_eq!(again.rules(), file.rules());
}
