//! Ways in which vertices are stored, in and out.

use flounce::assets::skin::{SkinOptions, StoredWeights};
use serde_json::json;

use crate::gltf::number;
use crate::model::{Doc, F32, U8, U16, assert_slots, floats, to};

#[test]
fn stored_integers_sum_to_exactly_their_unit_and_zeros_name_joint_0() {
    let joints: Vec<[u16; 4]> = (0..50).map(|i| [i % 7, 7 + i % 3, 10, 11]).collect();
    let weights: Vec<[f32; 4]> = (1..51)
        .map(|i| [i as f32, 0.37 * i as f32 + 1.0, 1e-4, 51.0 - i as f32])
        .collect();
    for (stored, unit, component) in [
        (StoredWeights::U8, 255.0, U8),
        (StoredWeights::U16, 65535.0, U16),
    ] {
        let mut doc = Doc::row(12);
        doc.primitive(&[(&joints, &weights)]);
        for limit in 1..=4 {
            let options = SkinOptions {
                weights: stored,
                ..to(limit)
            };
            let (output, report) = doc.trim(&options).unwrap();
            let attributes = output.attributes(0, 0);
            let accessor = number(&attributes["WEIGHTS_0"]);
            assert_eq!(
                output.root["accessors"][accessor]["componentType"],
                component
            );
            assert_eq!(output.root["accessors"][accessor]["normalized"], true);
            let weights = output.stored(accessor);
            let joints = output.stored(number(&attributes["JOINTS_0"]));
            for (joints, weights) in joints.iter().zip(&weights) {
                assert_eq!(weights.iter().sum::<f64>(), unit, "{weights:?}");
                assert!(weights.iter().filter(|&&weight| weight > 0.0).count() <= limit);
                let unused = joints
                    .iter()
                    .zip(weights)
                    .filter(|(_, weight)| **weight == 0.0);
                assert!(
                    unused.into_iter().all(|(&joint, _)| joint == 0.0),
                    "{joints:?} {weights:?}"
                );
            }
            // Rounding to bytes moves vertices too, and the bound knows it.
            let worst = report.poses[0].worst.unwrap();
            assert!(
                worst.error > 0.0 && worst.error <= worst.bound * (1.0 + 1e-9),
                "{worst:?}"
            );
        }
    }
}

/// Bytes with `extra` bytes behind each element of `size` bytes.
fn spread(bytes: &[u8], size: usize, extra: usize) -> Vec<u8> {
    let padded = bytes
        .chunks(size)
        .flat_map(|element| [element, &vec![0xEE; extra]].concat());
    padded.collect()
}

#[test]
fn strides_and_sparse_values_are_read() {
    let mut doc = Doc::row(4);
    let positions = doc.positions(&[[2.0, 0.0, 0.0]; 2]);
    let interleaved = spread(&[0, 1, 2, 3, 3, 2, 1, 0], 4, 4);
    let view = doc.view(&interleaved);
    doc.json["bufferViews"][view]["byteStride"] = json!(8);
    let accessor = json!({ "bufferView": view, "componentType": U8, "count": 2, "type": "VEC4" });
    let joints = doc.push("/accessors", accessor);
    let weights = doc.accessor(
        "VEC4",
        F32,
        false,
        &floats(&[0.4, 0.3, 0.2, 0.1, 9.0, 9.0, 9.0, 9.0]),
    );
    let (indices, values) = (
        doc.view(&[1, 0, 0, 0]),
        doc.view(&floats(&[0.1, 0.2, 0.3, 0.4])),
    );
    doc.json["accessors"][weights]["sparse"] = json!({
        "count": 1,
        "indices": { "bufferView": indices, "componentType": U8 },
        "values": { "bufferView": values },
    });
    doc.primitive_of(0, positions, &[(joints, weights)]);
    let (output, report) = doc.trimmed(2);
    let slots = output.slots(0, 0);
    assert_slots(&slots[0], &[(0, 4.0 / 7.0), (1, 3.0 / 7.0)], 1e-7);
    assert_slots(&slots[1], &[(0, 4.0 / 7.0), (1, 3.0 / 7.0)], 1e-7);
    let worst = report.poses[0].worst.unwrap();
    assert!((worst.error - 40.0 / 7.0).abs() < 1e-5, "{worst:?}");
}

#[test]
fn quantised_positions_are_decoded() {
    // Joint 0 turns half a circle about Y, joint 1 rests: they put a point x apart by 2x.
    for (component, normalized, bytes, x) in [
        (U8, false, vec![3, 0, 0, 0], 3.0),
        (U8, true, vec![51, 0, 0, 0], 0.2),
        (5120, false, vec![0xFD, 0, 0, 0], 3.0),
        (5120, true, vec![0x81, 0, 0, 0], 1.0),
        (U16, false, vec![0, 1, 0, 0, 0, 0, 0, 0], 256.0),
        (U16, true, vec![0xFF, 0xFF, 0, 0, 0, 0, 0, 0], 1.0),
        (5122, false, vec![0, 0xFF, 0, 0, 0, 0, 0, 0], 256.0),
        (5122, true, vec![1, 0x80, 0, 0, 0, 0, 0, 0], 1.0),
        (F32, false, floats(&[0.5, 0.0, 0.0]), 0.5),
    ] {
        let mut doc = Doc::new(&[[0.0; 3]; 2]);
        doc.json["nodes"][1]["rotation"] = json!([0, 1, 0, 0]);
        let view = doc.view(&bytes);
        let accessor = json!({
            "bufferView": view, "componentType": component, "normalized": normalized, "count": 1, "type": "VEC3",
        });
        let positions = doc.push("/accessors", accessor);
        let set = doc.set((&[[0, 1, 0, 0]], &[[0.75, 0.25, 0.0, 0.0]]));
        doc.primitive_of(0, positions, &[set]);
        let (_, report) = doc.trimmed(1);
        let worst = report.poses[0].worst.unwrap();
        assert!(
            (worst.error - 0.5 * x).abs() < 1e-6 * x,
            "{component} {normalized}: {worst:?}"
        );
    }
}

#[test]
fn bind_matrices_and_all_scale_are_part_of_the_pose() {
    // Joint 1 is below joint 0, which is scaled unevenly and turned by 90 degrees about Z: a shear that joints
    // themselves cannot have.
    let mut doc = Doc::new(&[[0.0; 3]; 2]);
    doc.json["nodes"][0] = json!({ "children": [1], "scale": [2, 2, 2] });
    doc.json["nodes"][1] = json!({ "children": [2], "scale": [1, 3, 1] });
    let half = std::f32::consts::FRAC_1_SQRT_2;
    doc.json["nodes"][2] = json!({ "rotation": [0, 0, half, half], "translation": [0, 1, 0] });
    let identity = [
        1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
    ];
    let mut shifted = identity;
    shifted[12] = -1.0;
    let view = doc.view(&floats(&[identity, shifted].concat()));
    let matrices = json!({ "bufferView": view, "componentType": F32, "count": 2, "type": "MAT4" });
    doc.json["skins"][0]["inverseBindMatrices"] = json!(doc.push("/accessors", matrices));
    let positions = doc.positions(&[[2.0, 0.0, 0.0]]);
    let set = doc.set((&[[0, 1, 0, 0]], &[[0.75, 0.25, 0.0, 0.0]]));
    doc.primitive_of(0, positions, &[set]);
    let (_, report) = doc.trimmed(1);
    // Joint 0: 2·(2, 0, 0) = (4, 0, 0). Joint 1: from (1, 0, 0) turned to (0, 1, 0), shifted to (0, 2, 0), scaled to
    // (0, 6, 0) and (0, 12, 0).
    let worst = report.poses[0].worst.unwrap();
    let apart = 4.0_f64.hypot(12.0);
    assert!(
        (worst.error - 0.25 * apart).abs() < 1e-5,
        "{worst:?}, {}",
        0.25 * apart
    );
    assert!(
        (worst.bound - worst.error).abs() < 1e-9,
        "of two influences one: the bound is met"
    );
}
