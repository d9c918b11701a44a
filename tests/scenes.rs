//! Claim: a scene says what held and what did not, and refuses what cannot be meant.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(feature = "assets")]

use std::path::Path;

use flounce::assets::run::{self, RunOptions, RunReport};
use flounce::assets::{Error, scene};
use tempfile::TempDir;

/// A folder with a model of the shipped scenes, its rig, and a scene of these fields.
fn folder(model: &str, rig: Option<&str>, fields: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    std::fs::copy(scenes.join("models").join(model), folder.path().join(model)).unwrap();
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
fn tracks_that_a_scenes_baked_clip_leaves_out_are_named() {
    let folder = folder(
        "CesiumMan.glb",
        None,
        "rig: \"rig.ron\", seconds: 0.1, actors: [(clip: \"#0\")], outputs: [baked(file: \"a.glb\")]",
    );
    let rig = "(version: 1, chains: [(root: \"Skeleton_neck_joint_1\")])";
    std::fs::write(folder.path().join("rig.ron"), rig).unwrap();
    let report = run_in(&folder, true).unwrap();
    let mut warnings = report.warnings.iter();
    assert!(
        warnings.any(|warning| warning.starts_with("outputs[0]: clip \"")
            && warning.contains("of scale or morph weights")),
        "{:?}",
        report.warnings
    );
}
