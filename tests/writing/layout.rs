//! Where the new bytes go, and what is refused.

use std::path::Path;

use flounce::assets::Error;
use flounce::assets::container::Form;
use flounce::assets::patch::{BakedClip, BakedTarget, BakedValues, PatchOptions, patch};
use serde_json::{Value, json};

use crate::claims::{check, check_differences};
use crate::gltf::{glb_chunks, number, root};
use crate::{bake, container, new_clip, reread};

#[test]
fn exp_08_chunks_are_padded_whatever_the_names_are() {
    for name in ["", "a", "ab", "abc", "髪", "é"] {
        let members = format!(",\"extras\":\"{name}\"");
        let container = container(Form::Glb, &members, Vec::new());
        let patched = bake(&container, &[new_clip(0)]);
        let (json, bin) = glb_chunks(&patched.main);
        let text = String::from_utf8(json.to_vec()).unwrap();
        assert!(
            json.len() - text.trim_end_matches(' ').len() < 4,
            "padded with spaces"
        );
        assert_eq!(bin.map(<[u8]>::len), Some(4 + 16));
        check(&container, &[new_clip(0)], &patched);
    }
}

#[test]
fn new_keys_come_behind_a_bin_chunk_of_any_length() {
    for (byte_length, chunk, start) in [(5, 5, 8), (5, 8, 8), (7, 8, 8), (8, 8, 8), (6, 7, 8)] {
        let members = format!(",\"buffers\":[{{\"byteLength\":{byte_length},\"name\":\"b\"}}]");
        let container = container(Form::Glb, &members, vec![Some(vec![7; chunk])]);
        let patched = bake(&container, &[new_clip(1)]);
        check(&container, &[new_clip(1)], &patched);
        let new = root(&reread(&container, &patched));
        assert_eq!(number(&new["bufferViews"][0]["byteOffset"]), start);
        assert_eq!(number(&new["buffers"][0]["byteLength"]), start + 20);
        assert_eq!(new["buffers"][0]["name"], "b");
    }
}

#[test]
fn a_glb_whose_first_buffer_has_a_uri_gets_an_embedded_one() {
    for uri in ["data:application/octet-stream;base64,AAAAAA==", "other.bin"] {
        let members = format!(",\"buffers\":[{{\"byteLength\":4,\"uri\":\"{uri}\"}}]");
        let container = container(Form::Glb, &members, vec![Some(vec![0; 4])]);
        let patched = bake(&container, &[new_clip(0)]);
        let (json, bin) = glb_chunks(&patched.main);
        assert!(bin.is_none());
        let new: Value = serde_json::from_slice(json).unwrap();
        check_differences(&root(&container), &new, &[new_clip(0)]);
        assert_eq!(new["bufferViews"][0]["buffer"], json!(1));
        assert_eq!(
            new["buffers"][1].to_string(),
            "{\"byteLength\":20,\"uri\":\"data:application/gltf-buffer;base64,AAAAAAAAAAAAAAAAAAAAAAAAgD8=\"}"
        );
    }
}

#[test]
fn numbers_and_escapes_of_strange_files_survive() {
    let strange = ",\"extras\":{\"\\u0061\":123456789012345678901234567890,\"b\":1e-07,\"c\":-0.0,\"d\":1.10, \
                   \"e\":\"\\/ \\ud83d\\ude00 髪\",\"same\":1,\"same\":2}\n,\"accessors\":[ ],\"bufferViews\":[\n]";
    let container = container(Form::Gltf, strange, Vec::new());
    let patched = bake(&container, &[new_clip(0)]);
    let text = String::from_utf8(patched.main).unwrap();
    let extras = &strange[..strange.find(",\"accessors\"").unwrap()];
    assert!(text.contains(extras), "{text}");
}

#[test]
fn exp_01_bounds_of_times_read_back_as_the_stored_bits() {
    let mut clip = new_clip(0);
    for time in [
        0.1,
        4.526e-17,
        f32::MIN_POSITIVE,
        1e-45,
        2.0 / 60.0,
        16_777_217.0,
        f32::MAX,
    ] {
        clip.times = vec![time];
        let container = container(Form::Glb, "", Vec::new());
        check(
            &container,
            std::slice::from_ref(&clip),
            &bake(&container, std::slice::from_ref(&clip)),
        );
    }
}

#[test]
fn requests_that_make_no_sense_are_refused() {
    let good = new_clip(0);
    let with = |change: &dyn Fn(&mut BakedClip)| {
        let mut clip = good.clone();
        change(&mut clip);
        vec![clip]
    };
    let cases: Vec<(Vec<BakedClip>, &str)> = vec![
        (
            with(&|clip| clip.tracks[0].node = 2),
            "the model has 2 nodes",
        ),
        (
            with(&|clip| clip.target = BakedTarget::Animation(0)),
            "the model has 0 animations",
        ),
        (with(&|clip| clip.tracks.clear()), "found no tracks"),
        (
            with(&|clip| clip.tracks.push(clip.tracks[0].clone())),
            "two tracks",
        ),
        (with(&|clip| clip.times = vec![]), "no times"),
        (with(&|clip| clip.times = vec![-1.0]), "from 0 s on"),
        (with(&|clip| clip.times = vec![f32::NAN]), "from 0 s on"),
        (
            with(&|clip| clip.times = vec![0.0, 0.5, 0.5, 1.0]),
            "time 2 at 0.5 s does not come after time 1",
        ),
        (
            with(&|clip| clip.times = vec![0.0, f32::NAN, 1.0]),
            "time 1 at NaN s",
        ),
        (
            with(&|clip| clip.times = vec![0.0, 1.0]),
            "found 1 values, expected 2",
        ),
        (
            with(&|clip| clip.tracks[0].keys = Some(vec![])),
            "expected indices of 1 times",
        ),
        (
            with(&|clip| clip.tracks[0].keys = Some(vec![1])),
            "expected indices of 1 times",
        ),
        (
            with(&|clip| clip.tracks[0].values = BakedValues::Rotation(vec![[0.0; 4]])),
            "unit quaternion",
        ),
        (
            with(&|clip| clip.tracks[0].values = BakedValues::Rotation(vec![[f32::NAN; 4]])),
            "unit quaternion",
        ),
        (
            with(&|clip| {
                clip.tracks[0].values = BakedValues::Translation(vec![[f32::INFINITY; 3]]);
            }),
            "finite",
        ),
    ];
    let container = container(Form::Glb, "", Vec::new());
    for (clips, expected) in cases {
        let error = patch(
            &container,
            &clips,
            PatchOptions::default(),
            Path::new("a.glb"),
        )
        .unwrap_err();
        assert!(matches!(error, Error::Request(_)));
        assert!(
            error.to_string().contains(expected),
            "{error} lacks {expected}"
        );
    }
    let error = patch(
        &container,
        &[good],
        PatchOptions::default(),
        Path::new("a.gltf"),
    )
    .unwrap_err();
    assert!(error.to_string().contains("should end in .glb"), "{error}");
}
