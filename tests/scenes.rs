//! Claim: a scene says what held and what did not, and refuses what cannot be meant.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(feature = "assets")]

use std::path::Path;

use bevy_math::Vec3;
use flounce::assets::run::measures::Measure;
use flounce::assets::run::{self, RunOptions, RunReport};
use flounce::assets::{Error, import, scene};
use flounce::clip::{Clip, Track, TrackValues};
use tempfile::TempDir;

/// A folder with a model of the shipped scenes, its rig, and a scene of these fields.
fn folder(model: &str, rig: Option<&str>, fields: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    let from = scenes.join("models").join(model);
    let model = from.file_name().unwrap().to_str().unwrap();
    std::fs::copy(&from, folder.path().join(model)).unwrap();
    let mut text = format!("(version: 1, model: \"{model}\", ");
    if let Some(rig) = rig {
        std::fs::copy(scenes.join("rigs").join(rig), folder.path().join(rig)).unwrap();
        text += &format!("rig: \"{rig}\", ");
    }
    std::fs::write(folder.path().join("scene.ron"), text + fields + ")").unwrap();
    folder
}

fn run_in(folder: &TempDir, out: bool) -> Result<RunReport, Error> {
    let options = RunOptions {
        out_dir: out.then(|| folder.path().join("out")),
        ..RunOptions::default()
    };
    let scene = scene::read(&folder.path().join("scene.ron"))?;
    run::run(&scene, &options, &|_| {})
}

fn fox(fields: &str) -> Result<RunReport, Error> {
    run_in(&folder("Fox.glb", Some("fox_tail.ron"), fields), false)
}

#[test]
fn what_was_never_seen_does_not_hold() {
    let fields =
        "seconds: 0.1, expectations: [lengths_kept(within: 1e-5), no_penetration(deeper_than: 1)]";
    let report = run_in(&folder("Fox.glb", None, fields), false).unwrap();
    assert!(!report.holds());
    for verdict in &report.verdicts {
        assert!(!verdict.holds, "{}", verdict.message);
        assert!(
            verdict.message.ends_with("nothing swings on this rig"),
            "{}",
            verdict.message
        );
        assert!(!verdict.message.contains("NaN"), "{}", verdict.message);
    }
    let report = fox(fields).unwrap();
    assert!(report.verdicts[0].holds, "{}", report.verdicts[0].message);
}

#[test]
fn s7_properties_that_let_speed_grow_are_refused_with_their_actor() {
    let refused = fox("seconds: 1, actors: [(), (properties: (swing_power: 5))]").unwrap_err();
    let message = refused.to_string();
    assert!(
        message.contains("scene.ron: actors[1]: ") && message.contains("grows without bound"),
        "{message}"
    );
    assert!(fox("seconds: 0.1, properties: (swing_power: 1.5)").is_ok());
}

#[test]
fn the_check_sees_the_scenes_profile() {
    let folder = folder(
        "Fox.glb",
        None,
        "rig: \"soft.ron\", seconds: 0.1, profile: (delta: current)",
    );
    let soft = "(version: 1, metres_per_unit: 0.01, chains: [(root: \"b_Tail01_012\", parameters: \
                (stiffness: 0.1, pendulum: 0.5, pendulum_range: 0.5))])";
    std::fs::write(folder.path().join("soft.ron"), soft).unwrap();
    let warns = |report: RunReport| {
        let mut warnings = report.warnings.iter();
        warnings.any(|warning| warning.contains("is below pendulum"))
    };
    assert!(!warns(run_in(&folder, false).unwrap()));
    let scene = std::fs::read_to_string(folder.path().join("scene.ron")).unwrap();
    let carried = scene.replace("delta: current", "delta: carried");
    std::fs::write(folder.path().join("scene.ron"), carried).unwrap();
    assert!(warns(run_in(&folder, false).unwrap()));
}

#[test]
fn t2_a_low_rate_drops_no_time() {
    let report = fox("seconds: 3, rate_hz: 1, actors: [(clip: \"Walk\")]").unwrap();
    assert_eq!(report.substeps, 180);
    assert!(
        !report
            .warnings
            .iter()
            .any(|warning| warning.contains("lost")),
        "{:?}",
        report.warnings
    );
}

#[test]
fn t1_frames_cut_by_themselves_at_an_odd_rate_are_worth_a_warning() {
    let warned = |rate: u32| {
        let fields = format!("seconds: 0.1, rate_hz: {rate}, profile: (substeps: frame)");
        let warnings = fox(&fields).unwrap().warnings;
        warnings
            .iter()
            .any(|warning| warning.contains("`substeps: fixed`"))
    };
    assert!(warned(24) && !warned(60) && !warned(30));
}

#[test]
fn outputs_that_do_not_fit_the_model_are_refused_before_anything_runs() {
    let folder = folder(
        "Fox.glb",
        Some("fox_tail.ron"),
        "seconds: 0.1, outputs: [baked(file: \"a.gltf\")]",
    );
    let message = run_in(&folder, true).unwrap_err().to_string();
    assert!(message.contains("should end in .glb or .vrm"), "{message}");
    assert!(!folder.path().join("out").exists());
}

#[test]
fn a_vrm_scene_writes_a_vrm() {
    let folder = folder(
        "Godette_vrm1_derived.vrm",
        Some("godette_hair.ron"),
        "seconds: 0.1, outputs: [baked(file: \"deep/a.vrm\")]",
    );
    let report = run_in(&folder, true).unwrap();
    assert_eq!(report.written, [folder.path().join("out/deep/a.vrm")]);
}

#[test]
fn a_scenes_baked_clip_has_the_morph_weights_that_its_clip_moves() {
    let folder = folder(
        "../../tests/data/khronos/AnimatedMorphCube.glb",
        None,
        "rig: \"rig.ron\", seconds: 0.1, actors: [(clip: \"#0\")], outputs: [baked(file: \"a.glb\", clip: \"b\")]",
    );
    let rig = "(version: 1, chains: [(pattern: \"*\", parameters: (tail: (axis: (0, 1, 0), length: 1)))])";
    std::fs::write(folder.path().join("rig.ron"), rig).unwrap();
    let report = run_in(&folder, true).unwrap();
    let weights_lost = |warning: &String| warning.contains("leaves out");
    assert!(
        !report.warnings.iter().any(weights_lost),
        "{:?}",
        report.warnings
    );
    let (model, _) = import::read_model(&folder.path().join("out/a.glb")).unwrap();
    let weights = |clip: &Clip, time: f32| {
        let mut weights = [9.0; 2];
        for track in &clip.tracks {
            track.sample_channel(time, &mut weights);
        }
        weights
    };
    let (played, baked) = (&model.clips[0], model.clips.last().unwrap());
    assert_eq!(baked.name, "b");
    for frame in 0..=6_u8 {
        let time = f32::from(frame) / 60.0;
        assert_eq!(weights(baked, time), weights(played, time), "at {time}");
    }
}

/// The mannequin with a rig of this text, and a scene of these fields.
fn mannequin(rig: &str, fields: &str) -> TempDir {
    let fields = format!("rig: \"rig.ron\", {fields}");
    let folder = folder("mannequin.glb", None, &fields);
    let rig = format!("(version: 1, {rig})");
    std::fs::write(folder.path().join("rig.ron"), rig).unwrap();
    folder
}

#[test]
fn q2_a_joint_that_a_constraint_moves_is_baked_with_all_it_moves() {
    let rig = "blend_constraints: [(joint: \"ribbon_0\", sources: [
        (joint: \"arm_l\", weight: (1, 1, 1)), (joint: \"arm_r\", weight: (1, 1, 1))])]";
    let fields = "seconds: 0.5, actors: [(clip: \"wave\")], outputs: [baked(file: \"a.glb\")]";
    let folder = mannequin(rig, fields);
    run_in(&folder, true).unwrap();
    let (model, _) = import::read_model(&folder.path().join("out/a.glb")).unwrap();
    let clip = model.clips.last().unwrap();
    let moves = |kind: fn(&TrackValues) -> bool| {
        let of = |track: &&Track| model.rig.joints[track.joint].name == "ribbon_0";
        clip.tracks
            .iter()
            .filter(of)
            .any(|track| kind(&track.values))
    };
    assert!(moves(|v| matches!(v, TrackValues::Rotation(_))));
    assert!(moves(|v| matches!(v, TrackValues::Scale(_))));
    let between = clip.tracks.iter().find_map(|track| match &track.values {
        TrackValues::Translation(keys) if model.rig.joints[track.joint].name == "ribbon_0" => {
            Some(keys[0])
        }
        _ => None,
    });
    // Half way between two shoulders lies the middle of the body.
    assert!(between.unwrap()[0].abs() < 1e-6, "{between:?}");
}

#[test]
fn v3_a_slide_joint_is_baked_as_a_translation() {
    let rig = "chains: [(joints: [\"sleeve_l\"], parameters: (motion: slide, stiffness: 20,
        slide_x_mm: (-9, 9), slide_y_mm: (-9, 9), slide_z_mm: (-9, 9)))]";
    let fields = "seconds: 1, actors: [(clip: \"wave\")], outputs: [baked(file: \"a.glb\")]";
    let folder = mannequin(rig, fields);
    run_in(&folder, true).unwrap();
    let (model, _) = import::read_model(&folder.path().join("out/a.glb")).unwrap();
    let joint = model.rig.joints.iter().position(|j| j.name == "sleeve_l");
    let rest = model.rig.joints[joint.unwrap()].rest.translation;
    let tracks = model.clips.last().unwrap().tracks.iter();
    let mut own = tracks.filter(|track| Some(track.joint) == joint);
    let track = own.next().unwrap();
    assert!(own.next().is_none(), "it does not turn");
    let TrackValues::Translation(keys) = &track.values else {
        panic!("{track:?}");
    };
    let shift = |key: &[f32; 3]| (Vec3::from_array(*key) - rest).abs().max_element();
    let farthest = keys.iter().map(shift).fold(0.0, f32::max);
    assert!((0.004..=0.009_001).contains(&farthest), "{farthest} m");
}

#[test]
fn v4_a_bake_curve_leads_from_the_swing_to_the_animation() {
    let rig = |keys: &str| {
        format!(
            "chains: [(root: \"ribbon_0\", parameters: (stiffness: 0.1, mass: 0.5))],
             bake_curves: [(clip: \"walk\", joints: [\"ribbon_*\"], keys: [{keys}])]"
        )
    };
    let deflection = |keys: &str| {
        let folder = mannequin(
            &rig(keys),
            "seconds: 1, actors: [(clip: \"walk\", loop: false)]",
        );
        let report = run_in(&folder, false).unwrap();
        let named = |m: &&Measure| m.name == "largest deflection";
        report.measures.iter().find(named).unwrap().value
    };
    assert!(deflection("(0, 0)") > 1.0);
    assert!(deflection("(0, 1)") < 1e-3);
    let folder = mannequin(&rig("(0, 1)").replace("walk", "none"), "seconds: 1");
    let refused = run_in(&folder, false).unwrap_err().to_string();
    assert!(
        refused.contains("bake_curves[0].clip: found \"none\", expected a clip of the model"),
        "{refused}"
    );
}

#[test]
fn layers_that_do_not_fit_are_refused_with_the_names() {
    let chains = "chains: [(root: \"ribbon_0\"), (root: \"hair_back_0_0\")]";
    for (layer, expected) in [
        (
            "[\"ribbon_1\", \"ribbon_1\"]",
            "lists \"ribbon_1\" (node 81) twice",
        ),
        (
            "[\"ribbon_1\", \"head\"]",
            "at which no swing joint's bone ends",
        ),
        ("[\"ribbon_1\", \"hair_back_0_2\"]", "mixes depths"),
        (
            "[\"ribbon_1\", \"ribon_2\"]",
            "no joint of the model is called \"ribon_2\"",
        ),
    ] {
        let rig = format!("{chains}, layers: [(joints: {layer}, radius: 0.01)]");
        let refused = run_in(&mannequin(&rig, "seconds: 1"), false).unwrap_err();
        let message = format!("{refused}");
        assert!(message.contains(expected), "{layer}: {message}");
    }
}

#[test]
fn order_02_drivers_in_a_circle_are_refused_with_the_circle() {
    let driver = |joint: &str, reference: &str| {
        format!(
            "(joint: \"{joint}\", reference: \"{reference}\", product: xyz, inner: (1, 1, 1), \
             outer: (1, 1, 1), min_deg: (-9, -9, -9), max_deg: (9, 9, 9))"
        )
    };
    let circle = [driver("arm_l", "arm_r"), driver("arm_r", "arm_l")].join(", ");
    let rig = format!("chains: [(root: \"ribbon_0\")], skirt_drivers: [{circle}]");
    let refused = run_in(&mannequin(&rig, "seconds: 1"), false).unwrap_err();
    let message = refused.to_string();
    assert!(
        message.contains("the skirt driver of \"arm_l\"") && message.contains("reads \"arm_r\""),
        "{message}"
    );
}

#[test]
fn root_01_a_told_teleport_is_not_felt_whatever_its_time_rounds_to() {
    let rig = "chains: [(root: \"ribbon_0\"), (root: \"hair_back_0_0\")]";
    // As f32 some of these are above the frame's time and some below; all are nearer than the threshold.
    for time in ["1.5", "1.6", "1.1", "0.7"] {
        let step = |kind: &str| {
            let moves = format!("moves: [(time: {time}, position: (0.9, 0, 0), kind: {kind})]");
            let fields = format!("seconds: 2, rate_hz: 40, actors: [({moves})]");
            let report = run_in(&mannequin(rig, &fields), false).unwrap();
            let named = |m: &&Measure| m.name == "largest step";
            report.measures.iter().find(named).unwrap().value
        };
        assert!(step("teleport") < 2.0, "at {time} s: {}°", step("teleport"));
        assert!(step("jump") > 10.0, "0.9 m in a frame are felt");
    }
}

#[test]
fn limits_of_the_other_motion_are_warned_of() {
    let rig =
        "chains: [(joints: [\"sleeve_l\"], parameters: (motion: slide, limit_x_deg: (-5, 5)))]";
    let report = run_in(&mannequin(rig, "seconds: 0.1"), false).unwrap();
    let mut warnings = report.warnings.iter();
    assert!(
        warnings.any(|w| w.contains("\"sleeve_l\"") && w.contains("have no effect on it")),
        "{:?}",
        report.warnings
    );
}

#[test]
fn an_output_never_takes_the_place_of_a_file_that_was_read() {
    let folder = folder(
        "Fox.glb",
        None,
        "clip_files: [(file: \"out/clips.glb\")], seconds: 0.1, actors: [(clip: \"clips.glb#Walk\")], \
         outputs: [baked(file: \"clips.glb\")]",
    );
    std::fs::create_dir(folder.path().join("out")).unwrap();
    let clips = folder.path().join("out/clips.glb");
    std::fs::copy(folder.path().join("Fox.glb"), &clips).unwrap();
    let before = std::fs::read(&clips).unwrap();
    let scene = scene::read(&folder.path().join("scene.ron")).unwrap();
    let options = RunOptions {
        out_dir: Some(folder.path().join("out")),
        overwrite: true,
        ..RunOptions::default()
    };
    let error = run::run(&scene, &options, &|_| {}).unwrap_err().to_string();
    assert!(error.contains("the output is the input"), "{error}");
    assert_eq!(std::fs::read(&clips).unwrap(), before);
}
