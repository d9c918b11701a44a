use std::path::Path;
use std::sync::Arc;

use bevy_math::{Quat, Vec3};

use super::*;
use crate::assets::rig_file;
use crate::clip::{Interpolation, Track, TrackValues};
use crate::pose::JointTransform;
use crate::profile::DeltaPolicy;
use crate::rig::Joint;

/// hips ─ head ─ `strand_01` ─ …, `count` strand joints, each bone `length` long, downwards below the head.
fn strand(count: usize, length: f32) -> Rig {
    let joint = |index: usize| Joint {
        name: match index {
            0 => "hips".to_owned(),
            1 => "head".to_owned(),
            _ => format!("strand_{:02}", index - 1),
        },
        source: index,
        parent: index.checked_sub(1),
        rest: JointTransform::rigid(Vec3::new(0.0, -length, 0.0), Quat::IDENTITY),
    };
    Rig::new((0..count + 2).map(joint).collect())
}

fn report(rig: &Rig, text: &str, how: &Use<'_>) -> Report {
    let file =
        rig_file::parse(Path::new("rig.ron"), text).unwrap_or_else(|error| panic!("{error}"));
    check(&file, rig, how)
}

/// The report on a strand of three joints with `parameters`.
fn with(parameters: &str) -> String {
    let text = format!("(version: 1, chains: [(root: \"strand_01\", parameters: ({parameters}))])");
    report(&strand(3, 0.1), &text, &Use::default()).to_string()
}

#[test]
fn a_sound_rig_gets_only_the_note_on_its_end() {
    let report = report(
        &strand(3, 0.1),
        "(version: 1, chains: [(root: \"strand_01\")])",
        &Use::default(),
    );
    assert_eq!(
        (report.findings.len(), report.count(Severity::Note)),
        (1, 1),
        "{report}"
    );
    let shown = report.to_string();
    assert!(
        shown.contains("\"strand_03\" (node 4): the end of a chain, follows its parent"),
        "{shown}"
    );
    assert!(
        shown.contains("tail: (axis: (0.000, -1.000, 0.000), length: 0.100)"),
        "{shown}"
    );
    assert!(
        shown.ends_with("Next: bake a clip and look at it.\n"),
        "{shown}"
    );
}

#[test]
fn names_that_match_nothing_are_faults_with_their_place() {
    let report = report(
        &strand(3, 0.1),
        "(version: 1, chains: [(root: \"strand_1\")])",
        &Use::default(),
    );
    assert!(report.is_refused());
    assert_eq!(report.unmatched[0].near[0], "strand_01");
    let shown = report.to_string();
    assert!(
        shown.contains("1:30: chains[0].root: no joint of the model is called \"strand_1\""),
        "{shown}"
    );
    assert!(shown.contains("mend the faults"), "{shown}");
}

#[test]
fn a_joint_without_child_and_tail_does_not_swing() {
    let shown = report(
        &strand(1, 0.1),
        "(version: 1, chains: [(root: \"strand_01\")])",
        &Use::default(),
    )
    .to_string();
    assert!(
        shown.contains("\"strand_01\" (node 2) has no child and no tail: it does not swing"),
        "{shown}"
    );
}

#[test]
fn a_bone_without_length_does_not_swing() {
    let mut rig = strand(3, 0.1);
    rig.joints[3].rest.translation = Vec3::new(0.0, 1e-9, 0.0);
    let shown = report(
        &rig,
        "(version: 1, chains: [(root: \"strand_01\")])",
        &Use::default(),
    )
    .to_string();
    assert!(
        shown.contains("the bone of \"strand_01\" (node 2) has no length"),
        "{shown}"
    );
}

#[test]
fn bones_of_a_strange_size_suggest_a_scale() {
    let text = "(version: 1, chains: [(root: \"strand_01\")])";
    let shown = report(&strand(3, 30.0), text, &Use::default()).to_string();
    assert!(
        shown.contains("is 30.0000 m long") && shown.contains("`metres_per_unit: 0.01`"),
        "{shown}"
    );
    let shown = report(&strand(3, 0.0005), text, &Use::default()).to_string();
    assert!(shown.contains("`metres_per_unit: 1000`"), "{shown}");
}

#[test]
fn stiffness_below_pendulum_is_warned_of_unless_delta_is_current() {
    let text = "(version: 1, defaults: (stiffness: 0.2, pendulum: 0.5, pendulum_range: 0.1), chains: [(root: \"strand_01\")])";
    let shown = report(&strand(3, 0.1), text, &Use::default()).to_string();
    assert!(
        shown.contains("stiffness 0.2 is below pendulum 0.5"),
        "{shown}"
    );
    let mut how = Use::default();
    how.profile.delta = DeltaPolicy::Current;
    let shown = report(&strand(3, 0.1), text, &how).to_string();
    assert!(!shown.contains("below pendulum"), "{shown}");
}

#[test]
fn speed_that_grows_is_refused_with_the_numbers() {
    let text = "(version: 1, defaults: (damping: 0), chains: [(root: \"strand_01\")])";
    let mut how = Use::default();
    how.properties.swing_power = 1.5;
    assert!(
        !report(&strand(3, 0.1), text, &how).is_refused(),
        "exactly 1 does not grow"
    );
    how.properties.swing_power = 1.6;
    let report = report(&strand(3, 0.1), text, &how);
    assert!(report.is_refused());
    let shown = report.to_string();
    assert!(
        shown.contains("(1 - 0)² · 0.6667 · 1.6 = 1.0667"),
        "{shown}"
    );
    assert!(
        shown.contains("swing_power at most 1.500, or damping above 0.032"),
        "{shown}"
    );
}

#[test]
fn a_wide_x_limit_beside_others_is_ambiguous() {
    assert!(with("limit_y_deg: (-5, 5)").contains("split into angles in two ways"));
    assert!(
        with("limit_x_deg: (-90, 0), limit_z_deg: (-5, 5)")
            .contains("split into angles in two ways")
    );
    assert!(!with("limit_x_deg: (-89.9, 89.9), limit_z_deg: (-5, 5)").contains("two ways"));
    assert!(!with("limit_x_deg: (-120, 120)").contains("two ways"));
}

#[test]
fn strong_spring_coupling_rings() {
    let tail = "tail: (axis: (0, -1, 0), length: 0.1)";
    assert!(
        with(&format!("spring: 0.6, {tail}")).contains("spring 0.6 on 3 joints rings for ever")
    );
    assert!(!with(&format!("spring: 0.5, {tail}")).contains("rings"));
    let text =
        format!("(version: 1, defaults: (spring: 0.4, {tail}), chains: [(root: \"strand_01\")])");
    assert!(
        report(&strand(6, 0.1), &text, &Use::default())
            .to_string()
            .contains("below about 0.30")
    );
}

#[test]
fn colliders_that_overlap_at_rest_are_measured() {
    // The particle of strand_01 is 0.2 m below the head.
    let text = |radius: f32, own: &str| {
        format!(
            "(version: 1, chains: [(root: \"strand_01\", depth: 1, parameters: (collider: (shape: {own})))], colliders: [(joint: \"head\", shape: sphere(radius: {radius}))])"
        )
    };
    let shown =
        |radius, own| report(&strand(3, 0.1), &text(radius, own), &Use::default()).to_string();
    let found = shown(0.19, "sphere(radius: 0.02)");
    assert!(
        found.contains(
            "overlaps the collider on \"head\" (node 1) (static collider 0) by up to 10.0 mm"
        ),
        "{found}"
    );
    assert!(!shown(0.17, "sphere(radius: 0.02)").contains("overlaps"));
    let line = "line(radius_a: 0.01, radius_b: 0.01)";
    assert!(shown(0.12, line).contains("the joint's end of the line collider lies inside"));
    let short = "line(radius_a: 0.01, radius_b: 0.01, inset_b: 0.05)";
    assert!(!shown(0.12, short).contains("collider lies inside"));
}

#[test]
fn colliders_on_different_layers_do_not_overlap() {
    let text = "(version: 1, chains: [(root: \"strand_01\", parameters: (collider: (shape: sphere(radius: 1), mask: [0])))], colliders: [(joint: \"head\", shape: sphere(radius: 1), mask: [1])])";
    let found = report(&strand(3, 0.1), text, &Use::default());
    assert_eq!(found.count(Severity::Warning), 0, "{found}");
}

#[test]
fn joints_with_telling_names_are_candidates_until_picked() {
    let mut rig = strand(3, 0.1);
    rig.joints[2].name = "J_Sec_HairBack01".to_owned();
    let found = report(&rig, "(version: 1)", &Use::default());
    let [candidate] = found.candidates.as_slice() else {
        panic!("{found}");
    };
    assert_eq!((candidate.root, candidate.joints), (2, 3));
    assert!(
        found
            .to_string()
            .contains("(root: \"J_Sec_HairBack01\"), // 3 joints, named hair"),
        "{found}"
    );
    rig.joints[2].name = "ForeArm_near".to_owned();
    assert!(
        report(&rig, "(version: 1)", &Use::default())
            .candidates
            .is_empty()
    );
    rig.joints[2].name = "tail".to_owned();
    let picked = report(
        &rig,
        "(version: 1, chains: [(root: \"tail\", depth: 1)])",
        &Use::default(),
    );
    assert!(picked.candidates.is_empty(), "{picked}");
}

/// A clip that turns `joint` by `x`.
fn turning(joint: usize, x: f32) -> Clip {
    Clip {
        name: "turn".to_owned(),
        source: 0,
        tracks: vec![Track {
            joint,
            source: 0,
            interpolation: Interpolation::Linear,
            times: Arc::from([0.0, 1.0]),
            values: TrackValues::Rotation(vec![[0.0, 0.0, 0.0, 1.0], [x, 0.0, 0.0, 1.0]]),
        }],
        duration: 1.0,
    }
}

#[test]
fn a_still_strand_on_a_moving_joint_is_a_candidate() {
    let clips = [turning(1, 0.5), turning(2, 0.0)];
    let how = Use {
        clips: &clips,
        ..Use::default()
    };
    let found = report(&strand(3, 0.1), "(version: 1)", &how);
    assert!(
        found
            .to_string()
            .contains("(root: \"strand_01\"), // 3 joints, no clip moves them"),
        "{found}"
    );
}

#[test]
fn findings_of_a_simulation_find_their_place() {
    let mut found = report(
        &strand(3, 0.1),
        "(version: 1, chains: [(root: \"strand_01\")])",
        &Use::default(),
    );
    let moving = Finding {
        severity: Severity::Warning,
        topic: Topic::AtRest,
        message: "\"strand_01\" (node 2) still turns 0.2° per substep after 300 at rest".to_owned(),
        advice: None,
    };
    found.add([moving]);
    assert_eq!(found.findings[0].topic, Topic::AtRest, "{found}");
}

#[test]
fn q4_a_straight_leg_without_a_pole_is_noted_and_one_that_swings_is_warned_of() {
    let leg = |more: &str, chains: &str| {
        let leg = "name: \"left\", upper: \"strand_01\", lower: \"strand_02\", foot: \"strand_03\"";
        let text = format!("(version: 1, legs: [({leg}, {more})], chains: [{chains}])");
        report(&strand(3, 0.1), &text, &Use::default()).to_string()
    };
    let note = "leg \"left\" is straight at rest and has no pole";
    let shown = leg("", "");
    assert!(shown.contains(note), "{shown}");
    assert!(
        shown.contains("0 static colliders, 1 leg\n") && shown.contains("Next: hold the feet"),
        "{shown}"
    );
    let shown = leg("pole: (0, 0, 1)", "(root: \"strand_02\")");
    assert!(!shown.contains(note), "{shown}");
    assert!(
        shown.contains(
            "the leg of \"strand_03\" (node 4) reads \"strand_02\" (node 3), which swings"
        ),
        "{shown}"
    );
}

#[test]
fn q4_a_joint_of_a_leg_that_another_driver_sets_is_a_fault() {
    let text = "(version: 1, legs: [(name: \"left\", upper: \"strand_01\", lower: \"strand_02\", foot: \"strand_03\")], \
                blend_constraints: [(joint: \"strand_02\", sources: [(joint: \"hips\", weight: (1, 1, 1))])])";
    let shown = report(&strand(3, 0.1), text, &Use::default()).to_string();
    assert!(
        shown.contains("\"strand_02\" (node 3) is set by a leg and by a blend constraint"),
        "{shown}"
    );
}
