use std::path::Path;

use bevy_math::{Quat, Vec3};

use super::*;
use crate::collider::{Mask, Shape};
use crate::pose::JointTransform;
use crate::rig::Joint;
use crate::swing::{ActorProperties, Tip};

/// A rig from `name parent`, nodes numbered from 100, each joint 0.1 m below its parent.
fn rig(joints: &[(&str, Option<usize>)]) -> Rig {
    let joint = |(index, &(name, parent)): (usize, &(&str, Option<usize>))| Joint {
        name: name.to_owned(),
        source: 100 + index,
        parent,
        rest: JointTransform::rigid(Vec3::new(0.0, -0.1, 0.0), Quat::IDENTITY),
    };
    Rig::new(joints.iter().enumerate().map(joint).collect())
}

/// `hips ─ head ─ hair_01 ─ hair_02 ─ hair_03`, `hips ─ tail_01 ─ tail_02`.
fn person() -> Rig {
    rig(&[
        ("hips", None),
        ("head", Some(0)),
        ("hair_01", Some(1)),
        ("hair_02", Some(2)),
        ("hair_03", Some(3)),
        ("tail_01", Some(0)),
        ("tail_02", Some(5)),
    ])
}

fn applied_to(mut rig: Rig, text: &str) -> (Rig, Result<Applied, Error>) {
    let file = parse(Path::new("rig.ron"), text).unwrap_or_else(|error| panic!("{error}"));
    let applied = file.apply(&mut rig);
    (rig, applied)
}

/// The rig after a file that fits.
fn applied(rig: Rig, text: &str) -> Rig {
    let (rig, applied) = applied_to(rig, text);
    applied.unwrap_or_else(|error| panic!("{error}"));
    rig
}

/// The error of a file that does not fit.
fn fault(rig: Rig, text: &str) -> String {
    let (_, applied) = applied_to(rig, text);
    applied.map_or_else(|error| error.to_string(), |_| format!("accepted {text}"))
}

fn joints(rig: &Rig) -> Vec<usize> {
    rig.swing.iter().map(|swing| swing.joint).collect()
}

#[test]
fn swing_joints_come_in_the_order_of_chains_then_parents_first() {
    let text = r#"(version: 1, chains: [(root: "tail_01"), (root: "hair_01")])"#;
    assert_eq!(joints(&applied(person(), text)), [5, 6, 2, 3, 4]);
}

#[test]
fn depth_and_until_cut_a_chain() {
    let text = r#"(version: 1, chains: [(root: "hair_01", depth: 2)])"#;
    assert_eq!(joints(&applied(person(), text)), [2, 3]);
    let text = r#"(version: 1, chains: [(root: "hips", until: "hair_01")])"#;
    assert_eq!(joints(&applied(person(), text)), [0, 1, 2]);
    let text = r#"(version: 1, chains: [(root: "hair_01", until: "tail_01")])"#;
    let found = fault(person(), text);
    assert!(found.ends_with("chains[0].until: found \"tail_01\" (node 105), expected a joint below \"hair_01\" (node 102)"), "{found}");
}

#[test]
fn a_pattern_picks_by_name() {
    let text = r#"(version: 1, chains: [(pattern: "{hair,tail}_01")])"#;
    assert_eq!(joints(&applied(person(), text)), [2, 5]);
    let found = fault(person(), r#"(version: 1, chains: [(pattern: "skirt*")])"#);
    assert!(
        found.contains("1:33: chains[0].pattern: no joint's name matches \"skirt*\""),
        "{found}"
    );
}

#[test]
fn a_list_may_skip_joints_and_each_bone_ends_at_the_next() {
    let rig = applied(
        person(),
        r#"(version: 1, chains: [(joints: ["hair_01", "hair_03"])])"#,
    );
    assert_eq!(joints(&rig), [2, 4]);
    assert_eq!(rig.swing[0].tip, Tip::Joint(4));
    assert_eq!(rig.swing[1].tip, Tip::FirstChild);
}

#[test]
fn a_list_that_does_not_go_down_is_refused() {
    for (names, joint) in [
        (r#""hair_01", "hair_03", "hair_02""#, "hair_02"),
        (r#""hair_01", "tail_01""#, "tail_01"),
        (r#""hair_01", "hair_01""#, "hair_01"),
    ] {
        let found = fault(
            person(),
            &format!("(version: 1, chains: [(joints: [{names}])])"),
        );
        assert!(found.contains(&format!("found \"{joint}\"")), "{found}");
        assert!(found.contains("the one before it"), "{found}");
    }
}

#[test]
fn a_joint_in_two_chains_is_a_fault_that_names_both() {
    let text = r#"(version: 1, chains: [(name: "long", root: "hair_01"), (root: "hair_02")])"#;
    let found = fault(person(), text);
    let expected = "rig.ron: 1:56: chains[1]: chain \"hair_02\" picks \"hair_03\" (node 104)";
    assert!(
        !found.contains(expected),
        "the first shared joint comes first: {found}"
    );
    assert!(
        found.contains("chain \"hair_02\" picks \"hair_02\" (node 103) and 1 more, which chain \"long\" (chains[0]) picks too"),
        "{found}"
    );
}

#[test]
fn later_sources_win_over_earlier_ones_field_by_field() {
    let text = r#"(
        version: 1,
        defaults: (damping: 0.1, stiffness: 0.1, mass: 0.2, spring: 0.1),
        presets: {"soft": (stiffness: 0.2, mass: 0.3, spring: 0.2)},
        chains: [(
            root: "hair_01", preset: "soft",
            parameters: (mass: 0.4, spring: 0.3),
            overrides: {"hair_02": (spring: 0.4)},
        )],
    )"#;
    let rig = applied(person(), text);
    let found: Vec<_> = rig
        .swing
        .iter()
        .map(|s| (s.damping, s.stiffness, s.mass, s.spring))
        .collect();
    assert_eq!(found[0], (0.1, 0.2, 0.4, 0.3));
    assert_eq!(found[1], (0.1, 0.2, 0.4, 0.4));
    assert_eq!(rig.swing[0].pendulum, SwingJoint::new(2).pendulum);
}

#[test]
fn a_tail_is_for_joints_without_children_and_in_overrides_for_any() {
    let text = r#"(version: 1, chains: [(root: "hair_01", parameters: (tail: (axis: (0, 2, 0), length: 0.5)))])"#;
    let rig = applied(person(), text);
    let tail = Tip::Tail {
        axis: Vec3::Y,
        length: 0.5,
    };
    assert_eq!(
        [rig.swing[0].tip, rig.swing[2].tip],
        [Tip::FirstChild, tail]
    );
    let text = r#"(version: 1, chains: [(root: "hair_01", overrides: {"hair_01": (tail: (axis: (0, 1e-30, 0), length: 0.5))})])"#;
    assert_eq!(applied(person(), text).swing[0].tip, tail);
}

#[test]
fn a_tip_must_be_below_its_joint() {
    let text = |tip: &str| {
        format!(
            r#"(version: 1, chains: [(root: "hair_01", overrides: {{"hair_01": (tip: "{tip}")}})])"#
        )
    };
    assert_eq!(
        applied(person(), &text("hair_03")).swing[0].tip,
        Tip::Joint(4)
    );
    let found = fault(person(), &text("head"));
    assert!(
        found.contains("found \"head\" (node 101), expected a joint below \"hair_01\""),
        "{found}"
    );
}

#[test]
fn an_axis_without_limits_is_free_and_no_limits_are_no_limit() {
    let text = r#"(version: 1, chains: [(root: "tail_01", overrides: {"tail_01": (limit_y_deg: (-5, 10))})])"#;
    let rig = applied(person(), text);
    let limit = rig.swing[0].limit.unwrap();
    assert_eq!(
        (limit.low, limit.high),
        (
            Vec3::new(-180.0, -5.0, -180.0),
            Vec3::new(180.0, 10.0, 180.0)
        )
    );
    assert_eq!(rig.swing[1].limit, None);
}

/// A tail whose first joint has these parameters, beside hair that swings.
fn tail_with(parameters: &str) -> String {
    format!(
        r#"(version: 1, chains: [(root: "hair_01"), (joints: ["tail_01"], parameters: ({parameters}))])"#
    )
}

#[test]
fn a_reference_limit_needs_a_swing_joint() {
    let text = |joint: &str| {
        tail_with(&format!(
            r#"limit_x_deg: (0, 9), reference_limit: (joint: "{joint}", weight: 0.5)"#
        ))
    };
    let reference = applied(person(), &text("hair_02")).swing[3]
        .reference_limit
        .unwrap();
    assert_eq!((reference.joint, reference.weight), (3, 0.5));
    let found = fault(person(), &text("head"));
    assert!(found.contains("chains[1].parameters.reference_limit.joint: found \"head\" (node 101), expected a swing joint"), "{found}");
}

#[test]
fn a_reference_limit_that_could_do_nothing_is_a_fault() {
    for (joint, expected) in [
        (
            "tail_01",
            "reference_limit.joint: found \"tail_01\" (node 105) itself, expected another swing joint",
        ),
        (
            "hair_03",
            "reference_limit.joint: found \"hair_03\" (node 104), which is switched off or has no bone",
        ),
    ] {
        let text =
            format!(r#"limit_x_deg: (0, 9), reference_limit: (joint: "{joint}", weight: 1)"#);
        let found = fault(person(), &tail_with(&text));
        assert!(found.contains(expected), "{found}");
    }
    let found = fault(
        person(),
        &tail_with(r#"reference_limit: (joint: "hair_02", weight: 1)"#),
    );
    assert!(
        found.contains(
            "reference_limit: found no limit on \"tail_01\" (node 105) that it could move"
        ),
        "{found}"
    );
}

#[test]
fn until_stops_at_the_depth() {
    let text = r#"(version: 1, chains: [(root: "hips", until: "hair_02", depth: 2)])"#;
    assert_eq!(joints(&applied(person(), text)), [0, 1]);
}

/// Joints "j0", "j1", …, each on its parent.
fn large(count: usize, parent: impl Fn(usize) -> usize) -> Rig {
    let joint = |index: usize| Joint {
        name: format!("hair_{index}"),
        source: index,
        parent: (index > 0).then(|| parent(index)),
        rest: JointTransform::rigid(Vec3::new(0.0, -1e-3, 0.0), Quat::IDENTITY),
    };
    Rig::new((0..count).map(joint).collect())
}

#[test]
fn large_rigs_are_applied_and_checked_in_time_that_grows_with_their_size() {
    const COUNT: usize = 30_000;
    let text = r#"(version: 1, defaults: (tail: (axis: (0, 1, 0), length: 0.1), spring: 0.9), chains: [(root: "hair_0")])"#;
    let until = format!(
        r#"(version: 1, chains: [(root: "hair_0", until: "hair_{}")])"#,
        COUNT - 1
    );
    let file = |text| parse(Path::new("rig.ron"), text).unwrap();
    let star = large(COUNT, |_| 0);
    let chain = large(COUNT, |index| index - 1);
    // Strands of two joints: each is a candidate of its own where no chain picks it.
    let strands = large(COUNT, |index| if index % 2 == 1 { 0 } else { index - 1 });
    let begin = std::time::Instant::now();
    for (rig, text) in [
        (&star, text),
        (&chain, text),
        (&chain, &until),
        (&strands, text),
        (&strands, "(version: 1)"),
    ] {
        let mut applied = rig.clone();
        file(text).apply(&mut applied).unwrap();
        let report = check::check(&file(text), rig, &check::Use::default());
        assert!(!report.is_refused());
    }
    let seconds = begin.elapsed().as_secs_f64();
    // Half a second alone on a slow machine; what grows with the square takes minutes.
    assert!(seconds < 15.0, "{seconds} s");
}

#[test]
fn colliders_keep_their_order_and_layers_become_bits() {
    let text = r#"(
        version: 1,
        metres_per_unit: 0.5,
        root_correction: "hips",
        chains: [(root: "tail_01", parameters: (collider: (shape: line(radius_a: 0.1, radius_b: 0.2), mask: [0, 3, 31])))],
        colliders: [
            (joint: "head", shape: sphere(radius: 1)),
            (joint: "hips", shape: none),
            (joint: "hips", shape: capsule(offset_a: (0, 0, 0), offset_b: (0, 1, 0), radius_a: 1, radius_b: 2), mask: []),
        ],
    )"#;
    let rig = applied(person(), text);
    let line = rig.swing[0].collider.unwrap();
    assert_eq!(line.mask, Mask(1 | 1 << 3 | 1 << 31));
    assert!(matches!(
        line.shape,
        Shape::Line {
            scale: 1.0,
            inset_a: 0.0,
            ..
        }
    ));
    let found: Vec<_> = rig
        .colliders
        .iter()
        .map(|c| (c.joint, c.collider.mask))
        .collect();
    assert_eq!(found, [(Some(1), Mask::ALL), (Some(0), Mask(0))]);
    assert_eq!((rig.metres_per_unit, rig.root_correction), (0.5, Some(0)));
}

#[test]
fn an_unknown_joint_is_a_fault_with_near_names() {
    let found = fault(person(), r#"(version: 1, chains: [(root: "hiar_01")])"#);
    assert!(
        found.contains("rig.ron: 1:30: chains[0].root: no joint of the model is called \"hiar_01\"; did you mean \"hair_01\""),
        "{found}"
    );
}

#[test]
fn all_faults_are_reported_and_the_rig_stays_as_it_was() {
    let text = "(version: 1,\nroot_correction: \"hip\",\nchains: [(root: \"a\"),\n(root: \"b\", overrides: {\"tail_01\": ()})],\ncolliders: [(joint: \"c\", shape: sphere(radius: 1))])";
    let before = person();
    let (after, error) = applied_to(before.clone(), text);
    let found = error.unwrap_err().to_string();
    for place in [
        "2:18: root_correction",
        "3:17: chains[0].root",
        "4:8: chains[1].root",
        "5:21: colliders[0].joint",
    ] {
        assert!(found.contains(place), "{place}: {found}");
    }
    assert!(found.starts_with("rig.ron: 4 faults:"), "{found}");
    assert_eq!(before, after);
}

#[test]
fn overrides_outside_the_chain_or_twice_for_a_joint_are_faults() {
    let found = fault(
        person(),
        r#"(version: 1, chains: [(root: "hair_01", overrides: {"tail_01": ()})])"#,
    );
    assert!(found.contains("chains[0].overrides[\"tail_01\"]: found \"tail_01\" (node 105), expected a joint of this chain"), "{found}");
    let found = fault(
        person(),
        r##"(version: 1, chains: [(root: "hair_01", overrides: {"hair_02": (), "#103": ()})])"##,
    );
    assert!(
        found.contains("found \"hair_02\" (node 103) twice"),
        "{found}"
    );
}

#[test]
fn what_is_optional_may_be_missing_and_is_listed() {
    let text = r#"(version: 1, chains: [
        (root: "skirt_01", optional: true),
        (joints: ["hair_01", "hair_02", "hair_09"], optional: true, overrides: {"hair_08": ()}),
    ], colliders: [(joint: "leg", shape: sphere(radius: 1), optional: true)])"#;
    let (rig, applied) = applied_to(person(), text);
    let applied = applied.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(joints(&rig), [2, 3]);
    let names: Vec<&str> = applied
        .unmatched
        .iter()
        .map(|unmatched| unmatched.name.as_str())
        .collect();
    assert_eq!(names, ["skirt_01", "hair_09", "hair_08", "leg"]);
    assert!(
        applied
            .warnings
            .iter()
            .any(|warning| warning.contains("\"skirt_01\"; it is optional and left out")),
        "{:?}",
        applied.warnings
    );
    assert!(applied.unmatched[1].near.contains(&"hair_01".to_owned()));
}

/// Two armatures with the same names, nodes 100 to 105.
fn twins() -> Rig {
    rig(&[
        ("A", None),
        ("Hips", Some(0)),
        ("Hair01", Some(1)),
        ("B", None),
        ("Hips", Some(3)),
        ("Hair01", Some(4)),
    ])
}

#[test]
fn a_doubled_name_is_a_fault_that_lists_the_nodes_and_the_ways_out() {
    let found = fault(twins(), r#"(version: 1, chains: [(root: "Hair01")])"#);
    assert!(
        found.contains("2 joints are called \"Hair01\": node 102 (Hips/Hair01), node 105 (Hips/Hair01); write \"#102\" for the first"),
        "{found}"
    );
    let found = fault(twins(), r#"(version: 1, root_correction: "Hips")"#);
    assert!(
        found.contains("write \"A/Hips\" or \"#101\" for the first"),
        "{found}"
    );
}

#[test]
fn an_index_or_a_path_tells_doubled_names_apart() {
    let root = |reference: &str| {
        joints(&applied(
            twins(),
            &format!("(version: 1, chains: [(root: {reference:?})])"),
        ))
    };
    assert_eq!(root("#105"), [5]);
    assert_eq!(root("B/Hips/Hair01"), [5]);
    assert_eq!(root("A/Hips"), [1, 2]);
}

#[test]
fn an_exact_name_wins_over_index_and_path() {
    let rig = rig(&[
        ("#101", None),
        ("a/b", Some(0)),
        ("a", Some(0)),
        ("b", Some(2)),
        ("", Some(0)),
    ]);
    let root = |reference: &str| {
        joints(&applied(
            rig.clone(),
            &format!("(version: 1, chains: [(root: {reference:?}, depth: 1)])"),
        ))
    };
    assert_eq!(root("#101"), [0]);
    assert_eq!(root("a/b"), [1]);
    assert!(
        fault(rig.clone(), r#"(version: 1, chains: [(root: "")])"#)
            .contains("no joint of the model is called \"\"")
    );
}

#[test]
fn names_of_any_length_are_told_apart() {
    let (long, longer) = ("x".repeat(100_000), "x".repeat(100_001));
    let rig = rig(&[(&long, None), (&longer, Some(0))]);
    let text = format!("(version: 1, chains: [(root: {longer:?})])");
    assert_eq!(joints(&applied(rig.clone(), &text)), [1]);
    let found = fault(
        rig,
        &format!("(version: 1, chains: [(root: {:?})])", "y".repeat(100_000)),
    );
    assert!(found.len() < 500, "{} bytes", found.len());
}

#[test]
fn rules_made_in_code_are_checked_like_a_file() {
    let mut rules = parse(Path::new("a.ron"), "(version: 1)")
        .unwrap()
        .rules()
        .clone();
    assert!(RigFile::new(Path::new("made.ron"), &rules).is_ok());
    rules.defaults.damping = Some(2.0);
    let error = RigFile::new(Path::new("made.ron"), &rules)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("defaults.damping: found 2, expected 0 to 1"),
        "{error}"
    );
}

#[test]
fn warnings_of_the_check_come_with_applying() {
    let text = r#"(version: 1, metres_per_unit: 100, chains: [(root: "tail_01")])"#;
    let (_, applied) = applied_to(person(), text);
    let warnings = applied.unwrap().warnings;
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("is 10.0000 m long")),
        "{warnings:?}"
    );
    assert_eq!(ActorProperties::default().swing_power, 1.0);
}
