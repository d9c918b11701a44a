//! Which influences stay, and that their sum is 1: cases SKIN-01 to SKIN-05.

use flounce::assets::skin::{SkinOptions, StoredWeights, ZeroWeights};

use crate::gltf::number;
use crate::model::{Doc, Set, U8, U16, assert_slots, floats, to};

const FIRST: [u16; 4] = [0, 1, 2, 3];
/// f32 weights, one rounding each.
const ROUNDING: f64 = 1e-7;

fn one<'a>(joints: &'a [u16; 4], weights: &'a [f32; 4]) -> Set<'a> {
    (std::slice::from_ref(joints), std::slice::from_ref(weights))
}

/// Where the first vertex goes when joint `j` moves the point at 2 by `10 (j + 1)`.
fn place(slots: &[(usize, f64)], shift: f64) -> f64 {
    let at = |joint: usize| 2.0 + 10.0 * (joint + 1) as f64 + shift;
    slots
        .iter()
        .map(|&(joint, weight)| weight * at(joint))
        .sum()
}

#[test]
fn skin_01_trimmed_weights_are_normalised_and_a_common_shift_moves_all_of_it() {
    let mut doc = Doc::row(4);
    doc.primitive(&[one(&FIRST, &[0.4, 0.3, 0.2, 0.1])]);
    doc.clip("shifted", 0, [100.0, 0.0, 0.0]);
    for (weights, tolerance) in [
        (StoredWeights::F32, ROUNDING),
        (StoredWeights::U16, 1.0 / 65535.0),
        (StoredWeights::U8, 1.0 / 255.0),
    ] {
        let options = SkinOptions { weights, ..to(2) };
        let (output, report) = doc.trim(&options).unwrap();
        let slots = &output.slots(0, 0)[0];
        assert_slots(slots, &[(0, 4.0 / 7.0), (1, 3.0 / 7.0)], tolerance);
        let near = place(slots, 0.0);
        assert!(
            (near - 16.285_714).abs() < 20.0 * tolerance + 1e-5,
            "{near}"
        );
        // What is not exactly 100 is the last digit of an f32 weight.
        let moved = place(slots, 100.0) - near;
        assert!((moved - 100.0).abs() < 1e-5, "{moved}");
        let [rest, shifted] = &report.poses[..] else {
            panic!("{:?}", report.poses)
        };
        let (rest, shifted) = (rest.worst.unwrap(), shifted.worst.unwrap());
        assert!((rest.error - (22.0 - near)).abs() < 1e-5, "{rest:?}");
        assert!(
            (rest.error - shifted.error).abs() < 1e-9,
            "{rest:?} {shifted:?}"
        );
    }
    let (_, report) = doc.trimmed(2);
    assert!(
        (report.poses[0].bound - 9.0).abs() < 1e-5,
        "r·D = 0.3 · 30: {report:?}"
    );
    assert!(
        (report.dropped_largest - 0.3).abs() < ROUNDING,
        "{report:?}"
    );
}

#[test]
fn skin_01_a_sum_of_0_98_becomes_1_and_is_reported() {
    let mut doc = Doc::row(4);
    doc.primitive(&[(&[FIRST, FIRST], &[[0.49, 0.49, 0.0, 0.0], [0.25; 4]])]);
    let (output, report) = doc.trimmed(4);
    assert_slots(&output.slots(0, 0)[0], &[(0, 0.5), (1, 0.5)], ROUNDING);
    assert_slots(
        &output.slots(0, 0)[1],
        &[(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)],
        0.0,
    );
    let expected = "/meshes/0/primitives/0 (in \"body\" (mesh 0)): the weights of 1 vertices do not sum to 1 (from 0.980000";
    assert!(
        report.warnings[0].starts_with(expected),
        "{:?}",
        report.warnings
    );
    // No influence was lost: the vertex stays where viewers that normalise show it.
    assert_eq!(report.trimmed, 0);
    assert!(report.poses[0].bound < 1e-6, "{report:?}");
}

#[test]
fn skin_01_integers_are_judged_after_decoding() {
    // 254 of 255 is missing something; 255 of 255 is not, though no f32 sum of thirds of it is exactly 1.
    for (stored, changed) in [([127, 127, 0, 0], 1), ([85, 85, 85, 0], 0)] {
        let mut doc = Doc::row(4);
        let positions = doc.positions(&[[2.0, 0.0, 0.0]]);
        let joints = doc.accessor("VEC4", U8, false, &[0, 1, 2, 3]);
        let weights = doc.accessor("VEC4", U8, true, &stored);
        doc.primitive_of(0, positions, &[(joints, weights)]);
        let (output, report) = doc.trimmed(4);
        assert_eq!(report.changed, changed, "{stored:?}");
        let sum: f64 = output.slots(0, 0)[0]
            .iter()
            .map(|&(_, weight)| weight)
            .sum();
        assert!((sum - 1.0).abs() < 1e-6, "{stored:?}: {sum}");
    }
}

/// Weights of case SKIN-02 in two sets.
fn eight() -> Doc {
    let mut doc = Doc::row(8);
    let sets = [
        one(&FIRST, &[0.05, 0.05, 0.1, 0.1]),
        one(&[4, 5, 6, 7], &[0.2, 0.2, 0.15, 0.15]),
    ];
    doc.primitive(&sets);
    doc
}

#[test]
fn skin_02_the_strongest_influences_may_be_in_the_second_set() {
    let (output, report) = eight().trimmed(4);
    let expected = [
        (4, 2.0 / 7.0),
        (5, 2.0 / 7.0),
        (6, 3.0 / 14.0),
        (7, 3.0 / 14.0),
    ];
    assert_slots(&output.slots(0, 0)[0], &expected, ROUNDING);
    let attributes = output.attributes(0, 0).as_object().unwrap();
    assert_eq!(
        attributes.keys().collect::<Vec<_>>(),
        ["POSITION", "JOINTS_0", "WEIGHTS_0"]
    );
    // s = 0.7 stays; the joints are 70 apart.
    let worst = report.poses[0].worst.unwrap();
    assert!((worst.bound - 0.3 * 70.0).abs() < 1e-5, "{worst:?}");
    assert!(worst.error > 1.0 && worst.error <= worst.bound, "{worst:?}");
}

#[test]
fn skin_02_of_equal_weights_the_lower_joint_stays() {
    let (output, _) = eight().trimmed(1);
    assert_slots(&output.slots(0, 0)[0], &[(4, 1.0)], 0.0);
    let (output, _) = eight().trimmed(5);
    let expected = [4, 5, 6, 7, 2].map(|joint| {
        (
            joint,
            [0.1, 0.2, 0.15][[2, 4, 6].iter().rposition(|&from| joint >= from).unwrap()] / 0.8,
        )
    });
    assert_slots(&output.slots(0, 0)[0], &expected, ROUNDING);
    assert!(output.attributes(0, 0).get("JOINTS_1").is_some());
}

#[test]
fn skin_02_eight_influences_that_may_stay_are_not_touched() {
    let doc = eight();
    let (output, report) = doc.trimmed(8);
    assert_eq!(report.changed, 0);
    assert_eq!(output.container.json, doc.container().json);
    assert_eq!(
        output.container.buffers[0].as_ref().unwrap()[..doc.bytes.len()],
        doc.bytes[..]
    );
}

#[test]
fn skin_02_a_second_set_that_holds_nothing_goes() {
    let mut doc = Doc::row(4);
    doc.primitive(&[one(&FIRST, &[0.0, 1.0, 0.0, 0.0]), one(&[9; 4], &[0.0; 4])]);
    let (output, _) = doc.trimmed(4);
    assert_eq!(output.attributes(0, 0).as_object().unwrap().len(), 3);
    assert_slots(&output.slots(0, 0)[0], &[(1, 1.0)], 0.0);
}

#[test]
fn skin_04_a_vertex_without_weight_is_refused_by_name_or_bound() {
    let mut doc = Doc::row(4);
    let (fine, none) = ([1.0, 0.0, 0.0, 0.0], [0.0; 4]);
    let joints = [FIRST, [2, 1, 0, 0], FIRST];
    doc.primitive(&[(&[FIRST], &[fine])]);
    doc.primitive(&[(&joints, &[fine, none, none])]);
    let message = doc.refusal();
    for part in [
        "/meshes/0/primitives/1 (in \"body\" (mesh 0)), vertex 1: found weights of sum 0 (and of 1 vertices behind it)",
        "--zero-weights bind-first",
    ] {
        assert!(message.contains(part), "{message}\nlacks {part}");
    }
    let options = SkinOptions {
        zero_weights: ZeroWeights::BindFirst,
        ..to(4)
    };
    let (output, report) = doc.trim(&options).unwrap();
    assert_slots(&output.slots(0, 1)[1], &[(2, 1.0)], 0.0);
    assert_slots(&output.slots(0, 1)[2], &[(0, 1.0)], 0.0);
    assert_eq!(report.changed, 1);
    assert!(
        report.warnings[0].contains("2 vertices have no weight at all"),
        "{:?}",
        report.warnings
    );
}

#[test]
fn skin_04_negative_and_infinite_weights_are_refused_by_name() {
    for (weight, part) in [
        (-0.1, "weight -0.1"),
        (f32::NAN, "weight NaN of joint 3"),
        (f32::INFINITY, "weight inf of joint 3"),
        (f32::NEG_INFINITY, "weight -inf of joint 3"),
    ] {
        let mut doc = Doc::row(4);
        doc.primitive(&[(&[FIRST; 2], &[[0.25; 4], [1.0, 0.0, 0.0, weight]])]);
        let message = doc.refusal();
        assert!(
            message.contains("vertex 1: found weight") && message.contains(part),
            "{message}"
        );
    }
}

#[test]
fn skin_04_tiny_and_huge_weights_are_normalised() {
    for (weights, expected) in [
        ([1e-38; 4], vec![(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)]),
        (
            [f32::from_bits(1); 4],
            vec![(0, 0.25), (1, 0.25), (2, 0.25), (3, 0.25)],
        ),
        ([f32::MAX, f32::MAX, 0.0, 0.0], vec![(0, 0.5), (1, 0.5)]),
    ] {
        let mut doc = Doc::row(4);
        doc.primitive(&[one(&FIRST, &weights)]);
        assert_slots(&doc.trimmed(4).0.slots(0, 0)[0], &expected, 0.0);
    }
}

#[test]
fn skin_05_the_weights_of_a_doubled_joint_add_up() {
    let mut doc = Doc::row(10);
    doc.primitive(&[one(&[3, 3, 5, 0], &[0.3, 0.3, 0.4, 0.0])]);
    let (output, report) = doc.trimmed(4);
    assert_slots(&output.slots(0, 0)[0], &[(3, 0.6), (5, 0.4)], ROUNDING);
    assert!(
        report.warnings[0].contains("name a joint twice"),
        "{:?}",
        report.warnings
    );
    // Merged before anything is dropped: of two, neither is.
    assert_slots(
        &doc.trimmed(2).0.slots(0, 0)[0],
        &[(3, 0.6), (5, 0.4)],
        ROUNDING,
    );
    assert_slots(&doc.trimmed(1).0.slots(0, 0)[0], &[(3, 1.0)], 0.0);
}

#[test]
fn skin_05_slots_of_weight_zero_do_not_count_but_name_a_joint_that_is_there() {
    let mut doc = Doc::row(10);
    doc.primitive(&[one(&[1, 250, 9, 250], &[1.0, 0.0, 0.0, 0.0])]);
    let (output, report) = doc.trimmed(1);
    let joints = number(&output.attributes(0, 0)["JOINTS_0"]);
    assert_eq!(output.stored(joints), [[1.0, 0.0, 0.0, 0.0]]);
    assert_eq!(report.trimmed, 0);
    let expected = "2 slots of weight 0 name joints that the skin does not have";
    assert!(
        report.warnings[0].contains(expected),
        "{:?}",
        report.warnings
    );
    let mut doc = Doc::row(10);
    doc.primitive(&[one(&[1, 250, 0, 0], &[0.9, 0.1, 0.0, 0.0])]);
    let message = doc.refusal();
    assert!(
        message.contains("vertex 0: found joint 250 of a skin of 10 joints"),
        "{message}"
    );
}

#[test]
fn skin_05_joints_above_255_take_16_bits() {
    for (joint, component) in [(255, U8), (256, U16), (299, U16)] {
        let mut doc = Doc::row(300);
        doc.primitive(&[one(&[joint, 1, 2, 3], &[0.5, 0.2, 0.2, 0.1])]);
        let (output, _) = doc.trimmed(2);
        let joints = number(&output.attributes(0, 0)["JOINTS_0"]);
        assert_eq!(output.root["accessors"][joints]["componentType"], component);
        assert_slots(
            &output.slots(0, 0)[0],
            &[(joint as usize, 5.0 / 7.0), (1, 2.0 / 7.0)],
            ROUNDING,
        );
    }
}

#[test]
fn skin_05_a_mesh_of_several_skins_obeys_the_smallest_and_is_measured_under_each() {
    let mut doc = Doc::row(4);
    doc.primitive(&[one(&[0, 1, 2, 3], &[0.4, 0.3, 0.2, 0.1])]);
    let reverse = doc.push("/skins", serde_json::json!({ "joints": [4, 3, 2, 1, 0] }));
    doc.push("/nodes", serde_json::json!({ "mesh": 0, "skin": reverse }));
    doc.push(
        "/nodes",
        serde_json::json!({ "mesh": 0, "skin": reverse, "translation": [9, 9, 9] }),
    );
    let (_, report) = doc.trimmed(2);
    assert_eq!(report.poses[0].samples, 2);
    let smaller = doc.push("/skins", serde_json::json!({ "joints": [1, 2, 3] }));
    doc.push("/nodes", serde_json::json!({ "mesh": 0, "skin": smaller }));
    let message = doc.refusal();
    assert!(
        message.contains("joint 3 of a skin of 3 joints"),
        "{message}"
    );
}

#[test]
fn primitives_that_share_accessors_share_the_new_ones_and_others_do_not() {
    let mut doc = Doc::row(4);
    let positions = doc.positions(&[[2.0, 0.0, 0.0]; 2]);
    let weights = [[0.4, 0.3, 0.2, 0.1]; 2];
    let shared = doc.set((&[FIRST; 2], &weights));
    let own = doc.set((&[FIRST; 2], &weights));
    let fine = doc.set((&[FIRST; 2], &[[0.5, 0.5, 0.0, 0.0]; 2]));
    for set in [shared, own, shared, fine] {
        doc.primitive_of(0, positions, &[set]);
    }
    let (output, report) = doc.trimmed(2);
    assert_eq!(
        (report.primitives, report.changed, report.vertices),
        (4, 3, 8)
    );
    assert_eq!(output.attributes(0, 0), output.attributes(0, 2));
    assert_ne!(output.attributes(0, 0), output.attributes(0, 1));
    assert_eq!(
        *output.attributes(0, 3),
        doc.json["meshes"][0]["primitives"][3]["attributes"]
    );
    assert_eq!(output.root["accessors"].as_array().unwrap().len(), 7 + 4);
}

#[test]
fn what_cannot_be_read_is_refused_by_its_place() {
    let doc = || {
        let mut doc = Doc::row(4);
        doc.primitive(&[one(&FIRST, &[0.25; 4])]);
        doc
    };
    assert!(doc().trim(&to(4)).is_ok());
    for (pointer, value, part) in [
        (
            "/accessors/2/count",
            serde_json::json!(2),
            "/bufferViews/2/byteLength",
        ),
        (
            "/accessors/1/componentType",
            serde_json::json!(5126),
            "/accessors/1/componentType",
        ),
        (
            "/accessors/1/normalized",
            serde_json::json!(true),
            "/accessors/1/normalized",
        ),
        (
            "/accessors/2/componentType",
            serde_json::json!(5122),
            "/accessors/2/componentType",
        ),
        (
            "/accessors/2/componentType",
            serde_json::json!(5123),
            "/accessors/2/normalized",
        ),
        (
            "/accessors/2/type",
            serde_json::json!("VEC3"),
            "/accessors/2/type",
        ),
        (
            "/meshes/0/primitives/0/attributes/WEIGHTS_0",
            serde_json::json!(9),
            "index 9",
        ),
        (
            "/meshes/0/primitives/0/attributes/JOINTS_1",
            serde_json::json!(1),
            "JOINTS_1 without its fellow",
        ),
        (
            "/meshes/0/primitives/0/extensions",
            serde_json::json!({"KHR_draco_mesh_compression": {}}),
            "KHR_draco",
        ),
        (
            "/meshes/0/primitives/0/attributes",
            serde_json::json!({}),
            "no primitive has joints",
        ),
        (
            "/meshes/0/primitives/0/attributes",
            serde_json::json!({"JOINTS_0": 1, "WEIGHTS_0": 2}),
            "no POSITION",
        ),
    ] {
        let mut doc = doc();
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        doc.json.pointer_mut(parent).unwrap()[member] = value;
        let message = doc.refusal();
        assert!(message.contains(part), "{message}\nlacks {part}");
    }
    let mut fewer = doc();
    let positions = fewer.accessor("VEC3", 5126, false, &floats(&[0.0; 6]));
    fewer.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] =
        serde_json::json!(positions);
    assert!(
        fewer.refusal().contains("found 2 elements, expected 1"),
        "{}",
        fewer.refusal()
    );
    let mut odd = doc();
    let positions = odd.positions(&[[0.0, f32::NAN, 0.0]]);
    odd.json["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = serde_json::json!(positions);
    assert!(
        odd.refusal().contains("expected finite numbers"),
        "{}",
        odd.refusal()
    );
}

#[test]
fn what_would_take_for_ever_is_refused_before_it_is_measured() {
    let mut doc = Doc::row(4);
    doc.primitive(&[one(&FIRST, &[0.25; 4])]);
    doc.clip("long", 0, [0.0; 3]);
    let end = doc.bytes.len() - 24 - 4;
    doc.bytes[end..end + 4].copy_from_slice(&1e9_f32.to_le_bytes());
    let message = doc.refusal();
    assert!(message.contains("take a lower --rate"), "{message}");

    let mut doc = Doc::row(1);
    let positions = doc.positions(&[[0.0; 3]]);
    let set = doc.set((&[[0; 4]], &[[1.0, 0.0, 0.0, 0.0]]));
    for i in 0..1001 {
        doc.primitive_of(0, positions, &[set]);
        if i > 0 {
            let skin = doc.push("/skins", serde_json::json!({ "joints": [1] }));
            doc.push("/nodes", serde_json::json!({ "mesh": 0, "skin": skin }));
        }
    }
    let message = doc.refusal();
    assert!(
        message.contains("more than 1000000 primitives under skins"),
        "{message}"
    );
}
