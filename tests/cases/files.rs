//! What rig files must say or may not.

use std::path::Path;

use bevy_math::{DVec3, Vec3};
use flounce::assets::rig_file::RigFile;
use flounce::assets::{Error, rig_file};
use flounce::collider::Shape;
use flounce::mirror;
use flounce::profile::SwingProfile;
use flounce::rig::{Joint, Rig};

use crate::support::chains::{Frame, Stage, assert_close, euler_zxy, joint, pushed};

/// `body ─ a ─ b ─ c ─ d` and `c ─ e`, each joint 0.1 m below its parent.
fn body() -> Rig {
    let parents = [None, Some(0), Some(1), Some(2), Some(3), Some(3)];
    let named = |(source, (name, parent)): (usize, (&str, Option<usize>))| Joint {
        name: name.to_owned(),
        source,
        ..joint(parent, Vec3::NEG_Y * 0.1)
    };
    let names = ["body", "a", "b", "c", "d", "e"];
    let joints = names.into_iter().zip(parents).enumerate().map(named);
    Rig::new(joints.collect())
}

fn read(text: &str) -> Result<RigFile, Error> {
    rig_file::parse(Path::new("rig.ron"), text)
}

fn applied(text: &str) -> Result<Rig, Error> {
    let mut rig = body();
    read(text)?.apply(&mut rig).map(|_| rig)
}

#[track_caller]
fn assert_refused(text: &str, words: &[&str]) {
    let Err(error) = applied(text) else {
        panic!("accepted: {text}");
    };
    let found = error.to_string();
    for word in words {
        assert!(found.contains(word), "expected {word}: {found}");
    }
}

/// Springs `[b, c, d]` and `[a, b, c, d]`: refused with both chains and the joint.
#[test]
fn bone_05_a_joint_in_two_chains_is_refused_with_both() {
    let text = r#"(version: 1, chains: [(name: "short", joints: ["b", "c", "d"]), (name: "long", root: "a", until: "d")])"#;
    assert_refused(
        text,
        &["\"long\"", "\"b\" (node 2)", "\"short\" (chains[0])"],
    );
}

/// `[a, (b), c]` and `[b, (c), e]`: no joint has two writers, so this is no fault. Each bone ends where its own list
/// says, and every joint is written once per substep. (The case counts skipped joints as listed.)
#[test]
fn bone_05_chains_that_skip_each_others_joints_have_one_writer_each() {
    let text = |order: [&str; 2]| {
        let [first, second] = order;
        format!("(version: 1, chains: [{first}, {second}])")
    };
    let (one, other) = (r#"(joints: ["a", "c"])"#, r#"(joints: ["b", "e"])"#);
    let rig = applied(&text([one, other])).unwrap();
    let mut joints: Vec<usize> = rig.swing.iter().map(|swing| swing.joint).collect();
    joints.sort_unstable();
    assert_eq!(joints, [1, 2, 3, 5]);
    let run = |rig: &Rig| Stage::new(rig).substeps(120);
    let frames = run(&rig);
    assert!(frames.iter().all(Frame::is_finite));
    let swapped = applied(&text([other, one])).unwrap();
    for (found, expected) in run(&swapped).iter().zip(&frames) {
        assert_eq!(found.local, expected.local, "whichever chain comes first");
    }
}

#[test]
fn bone_09_a_model_without_the_tips_of_a_chain_keeps_the_rest() {
    let text = r#"(version: 1, chains: [
        (joints: ["a", "b", "lost"], optional: true),
        (root: "c"),
    ])"#;
    let mut rig = body();
    let applied = read(text).unwrap().apply(&mut rig).unwrap();
    let joints: Vec<usize> = rig.swing.iter().map(|swing| swing.joint).collect();
    assert_eq!(joints, [1, 2, 3, 4, 5]);
    assert!(
        applied
            .warnings
            .iter()
            .any(|warning| warning.contains("\"lost\""))
    );
}

#[test]
fn bone_10_a_list_that_does_not_go_down_the_tree_is_refused() {
    for (list, joint) in [
        (r#""a", "c", "b""#, "\"b\""),
        (r#""c", "b", "a""#, "\"b\""),
        (r#""d", "e""#, "\"e\""),
        (r#""a", "a""#, "\"a\""),
    ] {
        let text = format!("(version: 1, chains: [(joints: [{list}])])");
        assert_refused(&text, &["chains[0].joints[", joint]);
    }
}

/// Forty groups: 32 and 39 are refused with their place, in debug and release builds alike.
#[test]
fn coll_16_groups_beyond_31_are_refused_where_they_are_written() {
    for group in [32, 39, 64, 4_294_967_295_u32] {
        let found = format!("found layer {group}, expected 0 to 31");
        let text = format!(
            "(version: 1, colliders: [(joint: \"body\", shape: sphere(radius: 1), mask: [0, {group}])])"
        );
        assert_refused(&text, &["colliders[0].mask[1]", &found]);
        let text = format!("(version: 1, layers: [(joints: [\"b\", \"c\"], mask: [{group}])])");
        assert_refused(&text, &["layers[0].mask[0]", &found]);
    }
    let text =
        r#"(version: 1, colliders: [(joint: "body", shape: sphere(radius: 1), mask: [0, 31])])"#;
    assert_eq!(
        applied(text).unwrap().colliders[0].collider.mask.0,
        1 | 1 << 31
    );
}

#[test]
fn gltf_07_a_name_that_two_joints_have_is_refused_with_both() {
    let mut rig = body();
    rig.joints[4].name = "b".to_owned();
    let refused = |text: &str| {
        let mut rig = rig.clone();
        let refused = read(text).unwrap().apply(&mut rig).unwrap_err();
        refused.to_string()
    };
    let found = refused(r#"(version: 1, chains: [(root: "b")])"#);
    assert!(
        found.contains("node 2") && found.contains("node 4"),
        "{found}"
    );
    let mut rig = rig.clone();
    read(r##"(version: 1, chains: [(root: "#4")])"##)
        .unwrap()
        .apply(&mut rig)
        .unwrap();
    assert_eq!(rig.swing[0].joint, 4);
}

/// Drivers that read each other are refused with the circle; so is one that reads what hangs on what it drives.
#[test]
fn order_02_drivers_in_a_circle_are_refused_with_the_circle() {
    let driver = |joint: &str, reference: &str| {
        format!(
            "(joint: {joint:?}, reference: {reference:?}, product: xyz, inner: (1, 1, 1), outer: (1, 1, 1), \
             min_deg: (-9, -9, -9), max_deg: (9, 9, 9))"
        )
    };
    let text = format!(
        "(version: 1, skirt_drivers: [{}, {}, {}])",
        driver("a", "b"),
        driver("b", "d"),
        driver("d", "a")
    );
    let read = |who: &str, whom: &str| format!("the skirt driver of {who} reads {whom}");
    assert_refused(
        &text,
        &[
            &read("\"a\" (node 1)", "\"b\" (node 2)"),
            &read("\"b\" (node 2)", "\"d\" (node 4)"),
            &read("\"d\" (node 4)", "\"a\" (node 1)"),
        ],
    );
    let text = format!(
        "(version: 1, chains: [(joints: [\"b\"])], skirt_drivers: [{}])",
        driver("a", "b")
    );
    assert_refused(&text, &["which hangs on \"a\""]);
}

#[test]
fn ring_03_rings_of_mixed_depth_or_with_joints_that_stand_still_are_refused() {
    let refused = |layer: &str, words: &[&str]| {
        let text = format!("(version: 1, chains: [(root: \"a\")], layers: [{layer}])");
        assert_refused(&text, words);
    };
    refused(
        r#"(joints: ["d", "b"])"#,
        &["layers[0] mixes depths", "\"b\""],
    );
    refused(
        r#"(joints: ["d", "a"])"#,
        &["\"a\"", "no swing joint's bone ends"],
    );
    refused(r#"(joints: ["b", "b"])"#, &["\"b\"", "twice"]);
    refused(r#"(joints: ["b"])"#, &["layers[0].joints: found 1"]);
    let text = r#"(version: 1, chains: [(root: "a", overrides: {"b": (active: false)})], layers: [(joints: ["c", "b"])])"#;
    assert_refused(text, &["passive or inactive"]);
}

/// The case's limits, X (0, 0), Y (−20, 20), Z (−40, 0) from a left-handed space, and a slide's, which turn round on X.
#[test]
fn rot_05_a_left_handed_file_is_mirrored_with_its_constants() {
    let text = |space: &str| {
        format!(
            r#"(version: 1, {space} chains: [
                (joints: ["b"], parameters: (
                    limit_x_deg: (0, 0), limit_y_deg: (-20, 20), limit_z_deg: (-40, 0),
                    collider: (shape: sphere(offset: (0.01, 0.02, 0.03), radius: 0.1)),
                )),
                (joints: ["d"], parameters: (
                    motion: slide, slide_x_mm: (-3, 1), slide_y_mm: (0, 5), slide_z_mm: (-2, 7),
                )),
            ], colliders: [(shape: plane(normal: (1, 0, 0), offset: -2))])"#
        )
    };
    let right = applied(&text("")).unwrap();
    let left = applied(&text("space: left_handed,")).unwrap();
    let limits = |rig: &Rig, index: usize| {
        let limit = rig.swing[index].limit.unwrap();
        [limit.low, limit.high]
    };
    assert_eq!(
        limits(&right, 0),
        [Vec3::new(0.0, -20.0, -40.0), Vec3::new(0.0, 20.0, 0.0)]
    );
    assert_eq!(
        limits(&left, 0),
        [Vec3::new(0.0, -20.0, 0.0), Vec3::new(0.0, 20.0, 40.0)]
    );
    assert_eq!(
        limits(&left, 1),
        [Vec3::new(-1.0, 0.0, -2.0), Vec3::new(3.0, 5.0, 7.0)]
    );
    assert_eq!(mirror::swing_joint(&left.swing[0]), right.swing[0]);
    let normal = |rig: &Rig| match rig.colliders[0].collider.shape {
        Shape::Plane { normal, .. } => normal,
        other => panic!("{other:?}"),
    };
    assert_eq!([normal(&right), normal(&left)], [Vec3::X, Vec3::NEG_X]);

    // Pushed by forces, the joint stays inside on both sides.
    let mut rig = left;
    rig.swing.truncate(1);
    rig.colliders.clear();
    let (low, high) = (DVec3::new(0.0, -20.0, 0.0), DVec3::new(0.0, 20.0, 40.0));
    let mut most = DVec3::ZERO;
    for force in [Vec3::X, Vec3::NEG_X, Vec3::Z, Vec3::NEG_Z] {
        let mut stage = Stage::with(&rig, SwingProfile::default(), pushed(force * 0.5), ());
        for frame in stage.substeps(120) {
            let angles = euler_zxy(frame.local[2].rotation.as_dquat()).unwrap();
            let angles = angles.map(f64::to_degrees);
            let outside = (low - angles).max(angles - high).max_element();
            assert!(outside < 1e-4, "pushed by {force}: {angles}");
            most = most.max(angles);
        }
    }
    assert_close(most.z, 40.0, 1e-3, "the open side is reached");
}

#[test]
fn rot_09_limits_say_their_unit_and_have_their_lower_end_first() {
    let parameters =
        |fields: &str| format!("(version: 1, chains: [(joints: [\"a\"], parameters: ({fields}))])");
    for (fields, words) in [
        (
            "limit_z_deg: (10, -10)",
            "limit_z_deg: found (10, -10), expected the lower end first",
        ),
        (
            "motion: slide, slide_y_mm: (3, -3)",
            "slide_y_mm: found (3, -3), expected the lower end first",
        ),
    ] {
        assert_refused(&parameters(fields), &["chains[0].parameters.", words]);
    }
    let limit = |fields: &str| {
        let rig = applied(&parameters(fields)).unwrap();
        rig.swing[0].limit.unwrap()
    };
    let slide = limit("motion: slide, slide_x_mm: (-8, 8)");
    assert_eq!((slide.low.x, slide.high.x), (-8.0, 8.0));
    let swing = limit("limit_x_deg: (-8, 8)");
    assert_eq!((swing.low.x, swing.high.x), (-8.0, 8.0));
}
