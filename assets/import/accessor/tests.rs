//! Accessors, one broken member at a time.

use serde_json::json;

use super::super::fixture::{Fixture, each_is_accepted, each_is_refused};
use crate::clip::TrackValues;

fn translations(fixture: &Fixture) -> Vec<[f32; 3]> {
    match &fixture.model().clips[0].tracks[0].values {
        TrackValues::Translation(values) => values.clone(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn sec_01_numbers_that_do_not_fit_are_refused_before_anything_is_allocated() {
    let (count, view) = ("/accessors/1/count", "/bufferViews/1/byteLength");
    each_is_refused(&[
        (
            count,
            json!(0),
            &["/accessors/1/count", "found 0, expected at least 1"],
        ),
        (count, json!(4), &[view, "room for 4 elements of 12 bytes"]),
        (count, json!(4_294_967_295_u32), &[view, "found 36 bytes"]),
        (count, json!(1_u64 << 53), &[view]),
        (
            count,
            json!((1_u64 << 53) + 2),
            &["/accessors/1/count", "whole number from 0"],
        ),
        (
            count,
            json!(u64::MAX),
            &["/accessors/1/count", "whole number from 0"],
        ),
        (count, json!(-1), &["/accessors/1/count", "`-1`"]),
        (count, json!(1.5), &["/accessors/1/count", "`1.5`"]),
        (count, json!(null), &["/accessors/1/count", "null"]),
        (count, json!("3"), &["/accessors/1/count", "string \"3\""]),
        ("/accessors/1/byteOffset", json!(4), &[view]),
        ("/accessors/1/byteOffset", json!((1_u64 << 53) - 1), &[view]),
        (
            "/accessors/1/byteOffset",
            json!(u64::MAX),
            &["/accessors/1/byteOffset"],
        ),
        (view, json!(1_u64 << 40), &[view, "an end within"]),
        (
            "/bufferViews/1/byteOffset",
            json!((1_u64 << 53) - 1),
            &[view, "an end within"],
        ),
        (
            "/bufferViews/1/buffer",
            json!(1),
            &["/bufferViews/1/buffer", "index 1", "below 1"],
        ),
        (
            "/accessors/1/bufferView",
            json!(77),
            &["/accessors/1", "index 77", "/bufferViews"],
        ),
        (
            "/animations/0/samplers/0/output",
            json!(99),
            &["index 99", "/accessors"],
        ),
    ]);
    for stride in [0_u64, 1, 3, 4, 8, 253, 254, 256, 1 << 31] {
        let message = Fixture::new()
            .set("/bufferViews/1/byteStride", json!(stride))
            .refusal();
        assert!(
            message.contains("/bufferViews/1/byteStride"),
            "{stride}: {message}"
        );
    }
}

#[test]
fn sec_01_zeros_without_bytes_have_a_budget() {
    let mut fixture = Fixture::new();
    let accessor = json!({ "componentType": 5126, "count": 1_u64 << 31, "type": "VEC3" });
    let message = fixture.set("/accessors/1", accessor).refusal();
    assert!(message.contains("2147483648 elements"), "{message}");
}

#[test]
fn sec_01_an_accessor_that_many_channels_share_has_a_budget_too() {
    let mut fixture = Fixture::new();
    let zeros = json!({ "componentType": 5126, "count": 500_000, "type": "VEC3" });
    let zeros = fixture.push("/accessors", zeros);
    let times: Vec<f32> = (0..500_000).map(|key| key as f32).collect();
    let times = fixture.floats("SCALAR", &times);
    fixture.set(
        "/animations/0/samplers/0",
        json!({ "input": times, "output": zeros }),
    );
    for node in 2..60 {
        fixture.push("/nodes", json!({}));
        let target = json!({ "node": node, "path": "translation" });
        fixture.push(
            "/animations/0/channels",
            json!({ "sampler": 0, "target": target }),
        );
    }
    let message = fixture.refusal();
    assert!(
        message.contains("in all from a file of this size"),
        "{message}"
    );
}

#[test]
fn whole_numbers_may_be_spelt_as_fractions_and_powers() {
    let mut fixture = Fixture::new();
    fixture.set("/accessors/1/count", json!(3.0));
    let mut container = fixture.container();
    assert!(container.json.contains("\"count\":3.0"));
    assert!(super::super::model(&container).is_ok());
    container.json = container.json.replace("\"count\":3.0", "\"count\":30e-1");
    assert!(super::super::model(&container).is_ok());
}

#[test]
fn types_that_do_not_fit_are_refused() {
    each_is_refused(&[
        (
            "/accessors/1/type",
            json!("VEC4"),
            &["/accessors/1/type", "\"VEC4\"", "\"VEC3\""],
        ),
        ("/accessors/1/type", json!("vec3"), &["/accessors/1/type"]),
        (
            "/accessors/1/componentType",
            json!(5122),
            &["/accessors/1/componentType", "5126"],
        ),
        (
            "/accessors/2/componentType",
            json!(5125),
            &["/accessors/2/componentType"],
        ),
        (
            "/accessors/2/componentType",
            json!(1),
            &["/accessors/2/componentType"],
        ),
        (
            "/accessors/2/componentType",
            json!(5122),
            &["/accessors/2/normalized"],
        ),
        (
            "/accessors/0/componentType",
            json!(5123),
            &["/accessors/0/componentType"],
        ),
    ]);
}

#[test]
fn strides_step_over_what_lies_between() {
    let mut fixture = Fixture::new();
    let values: Vec<u8> = (0..12_u8)
        .flat_map(|n| f32::from(n).to_le_bytes())
        .collect();
    // The last element needs no full stride behind it.
    let view = fixture.view(&values[..44]);
    fixture.set("/accessors/1/bufferView", json!(view));
    fixture.set(&format!("/bufferViews/{view}/byteStride"), json!(16));
    assert_eq!(
        translations(&fixture),
        [[0.0, 1.0, 2.0], [4.0, 5.0, 6.0], [8.0, 9.0, 10.0]]
    );
}

#[test]
fn gltf_10_sparse_values_lie_over_zeros_or_over_a_strided_base() {
    let mut fixture = Fixture::new();
    let indices = fixture.view(&[0, 2]);
    let values: Vec<u8> = [10.0_f32, 11.0, 12.0, 13.0, 14.0, 15.0]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    let values = fixture.view(&values);
    let sparse = json!({
        "count": 2,
        "indices": { "bufferView": indices, "componentType": 5121 },
        "values": { "bufferView": values },
    });
    fixture.set("/accessors/1/sparse", sparse.clone());
    assert_eq!(
        translations(&fixture),
        [[10.0, 11.0, 12.0], [4.0, 5.0, 6.0], [13.0, 14.0, 15.0]]
    );
    let base = json!({ "componentType": 5126, "count": 3, "type": "VEC3", "sparse": sparse });
    fixture.set("/accessors/1", base);
    assert_eq!(
        translations(&fixture),
        [[10.0, 11.0, 12.0], [0.0; 3], [13.0, 14.0, 15.0]]
    );
    for (indices, part) in [
        ([1, 1], "element 1"),
        ([2, 0], "element 1"),
        ([0, 3], "index 3"),
    ] {
        let indices = fixture.view(&indices);
        fixture.set("/accessors/1/sparse/indices/bufferView", json!(indices));
        let message = fixture.refusal();
        assert!(
            message.contains("/accessors/1/sparse, indices"),
            "{message}"
        );
        assert!(message.contains(part), "{message}");
    }
    for count in [0_u64, 4, 1 << 53] {
        let message = fixture
            .set("/accessors/1/sparse/count", json!(count))
            .refusal();
        assert!(message.contains("/accessors/1/sparse, count"), "{message}");
    }
}

#[test]
fn gltf_10_rotations_of_nothing_but_zeros_are_refused() {
    let zeros = json!({ "componentType": 5126, "count": 3, "type": "VEC4" });
    each_is_refused(&[(
        "/accessors/2",
        zeros,
        &[
            "/accessors/2, element 0",
            "rotation of \"tip\" (node 1) in \"sway\"",
            "unit quaternion",
        ],
    )]);
    let zeros = json!({ "componentType": 5126, "count": 3, "type": "VEC3" });
    each_is_accepted(&[("/accessors/1", zeros)]);
}

#[test]
fn normalised_integers_become_fractions() {
    let mut fixture = Fixture::new();
    for (code, bytes, expected) in [
        (
            5120,
            vec![127, 0x81, 0x80, 0, 64, 1],
            [1.0, -1.0, -1.0, 0.0, 64.0 / 127.0, 1.0 / 127.0],
        ),
        (
            5121,
            vec![255, 0, 51, 1, 2, 3],
            [1.0, 0.0, 0.2, 1.0 / 255.0, 2.0 / 255.0, 3.0 / 255.0],
        ),
    ] {
        let view = fixture.view(&bytes);
        let accessor = json!({
            "bufferView": view, "componentType": code, "normalized": true, "count": 6, "type": "SCALAR",
        });
        fixture.set("/accessors/3", accessor);
        match &fixture.model().clips[0].tracks[2].values {
            TrackValues::Weights { count: 2, values } => assert_eq!(values[..], expected),
            other => panic!("{other:?}"),
        }
    }
    for (code, words, expected) in [
        (5122, [32767_u16, 0x8001, 0x8000, 0], [1.0, -1.0, -1.0, 0.0]),
        (5123, [65535, 0, 13107, 1], [1.0, 0.0, 0.2, 1.0 / 65535.0]),
    ] {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let view = fixture.view(&[&bytes[..], &[0; 4]].concat());
        let accessor = json!({
            "bufferView": view, "componentType": code, "normalized": true, "count": 6, "type": "SCALAR",
        });
        fixture.set("/accessors/3", accessor);
        match &fixture.model().clips[0].tracks[2].values {
            TrackValues::Weights { count: 2, values } => assert_eq!(values[..4], expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn compressed_views_are_refused_only_where_they_are_needed() {
    let mut fixture = Fixture::new();
    fixture.push("/buffers", json!({ "byteLength": 36 }));
    let mesh_view = json!({
        "buffer": 1, "byteLength": 36, "extensions": { "EXT_meshopt_compression": {} },
    });
    let view = fixture.push("/bufferViews", mesh_view);
    let mut container = fixture.container();
    container.buffers.push(None);
    assert!(super::super::model(&container).is_ok());
    fixture.set("/accessors/1/bufferView", json!(view));
    container.json = fixture.json.to_string();
    let message = super::super::model(&container).unwrap_err().to_string();
    assert!(message.contains("EXT_meshopt_compression"), "{message}");
    assert!(message.contains("decode the file first"), "{message}");
}
