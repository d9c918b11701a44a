//! Channels, samplers, nodes and extensions.

use std::path::Path;

use flounce::assets::container::Form;
use flounce::assets::patch::{BakedClip, BakedTarget, BakedTrack, PatchOptions, patch};
use serde_json::{Value, json};

use crate::gltf::{differences, list, load, parse, root};
use crate::{bake, container, models, new_clip, one_key, reread, synthetic_bake};

const TWO_CHANNELS: &str = ",\"animations\":[{\"channels\":[{\"sampler\":0,\"target\":{\"node\":0,\"path\":\"rotation\"},\
     \"extras\":7},{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"rotation\"}}],\"samplers\":[{\"input\":0,\
     \"interpolation\":\"STEP\",\"output\":1,\"extras\":8}]}]";

fn channel_and_sampler(members: &str, clip: &BakedClip) -> (Value, Value) {
    let container = container(Form::Glb, members, Vec::new());
    let patched = bake(&container, std::slice::from_ref(clip));
    let new = root(&reread(&container, &patched));
    (
        new["animations"][0]["channels"].clone(),
        new["animations"][0]["samplers"].clone(),
    )
}

#[test]
fn a_sampler_that_others_use_stays_as_it_is() {
    let (channels, samplers) =
        channel_and_sampler(TWO_CHANNELS, &one_key(BakedTarget::Animation(0), 1));
    assert_eq!(channels[0]["sampler"], json!(0));
    assert_eq!(channels[1]["sampler"], json!(1));
    assert_eq!(samplers[0]["interpolation"], "STEP");
    assert_eq!(
        samplers[1].to_string(),
        "{\"input\":0,\"interpolation\":\"LINEAR\",\"output\":1}"
    );
}

#[test]
fn a_sampler_that_only_baked_channels_use_is_rewritten() {
    let mut clip = one_key(BakedTarget::Animation(0), 1);
    clip.tracks.push(BakedTrack {
        node: 0,
        ..clip.tracks[0].clone()
    });
    let (channels, samplers) = channel_and_sampler(TWO_CHANNELS, &clip);
    assert_eq!(
        channels[0].to_string(),
        "{\"sampler\":1,\"target\":{\"node\":0,\"path\":\"rotation\"},\"extras\":7}"
    );
    assert_eq!(channels[1]["sampler"], json!(0));
    assert_eq!(
        samplers[0].to_string(),
        "{\"input\":0,\"interpolation\":\"LINEAR\",\"output\":1,\"extras\":8}"
    );
    assert_eq!(
        samplers[1].to_string(),
        "{\"input\":0,\"interpolation\":\"LINEAR\",\"output\":2}"
    );
}

#[test]
fn a_channel_that_points_to_the_property_becomes_a_core_channel() {
    let members = ",\"animations\":[{\"channels\":[{\"sampler\":0,\"target\":{\"path\":\"pointer\",\"extensions\":\
         {\"KHR_animation_pointer\":{\"pointer\":\"/nodes/1/rotation\"}}}}],\"samplers\":[{\"input\":0,\"output\":1}]}]";
    let (channels, samplers) = channel_and_sampler(members, &one_key(BakedTarget::Animation(0), 1));
    assert_eq!(
        channels.to_string(),
        "[{\"sampler\":0,\"target\":{\"node\":1,\"path\":\"rotation\"}}]"
    );
    assert_eq!(samplers.as_array().unwrap().len(), 1);
}

#[test]
fn a_matrix_becomes_translation_rotation_and_scale() {
    // A quarter turn about Z, scale (2, 3, 4), translation (5, 6, 7).
    let node = "\"matrix\":[0,2,0,0,-3,0,0,0,0,0,4,0,5,6,7,1]";
    let mut container = container(Form::Glb, "", Vec::new());
    container.json = container
        .json
        .replace("{\"name\":\"b\"}", &format!("{{{node},\"name\":\"b\"}}"));
    let patched = bake(&container, &[new_clip(1)]);
    assert_eq!(patched.warnings.len(), 1, "{:?}", patched.warnings);
    let new = root(&reread(&container, &patched));
    let numbers = |key: &str| -> Vec<f64> {
        list(&new["nodes"][1], key)
            .iter()
            .map(|n| n.as_f64().unwrap())
            .collect()
    };
    assert_eq!(numbers("translation"), [5.0, 6.0, 7.0]);
    assert_eq!(numbers("scale"), [2.0, 3.0, 4.0]);
    let half = std::f64::consts::FRAC_1_SQRT_2;
    for (found, expected) in numbers("rotation").into_iter().zip([0.0, 0.0, half, half]) {
        assert!((found - expected).abs() < 1e-6, "{found} {expected}");
    }
    assert!(new["nodes"][1].get("matrix").is_none());
}

#[test]
fn spring_bones_stay_with_a_warning_or_go() {
    let container = load(&models().join("Godette_vrm1_derived.vrm"));
    let clips = synthetic_bake(&container);
    let kept = bake(&container, &clips);
    assert!(
        kept.warnings[0].contains("VRMC_springBone"),
        "{:?}",
        kept.warnings
    );
    let options = PatchOptions {
        strip_springs: true,
        ..PatchOptions::default()
    };
    let stripped = patch(&container, &clips, options, Path::new("out.vrm")).unwrap();
    assert!(stripped.warnings.is_empty());
    let mut found = Vec::new();
    differences(
        &root(&reread(&container, &kept)),
        &root(&reread(&container, &stripped)),
        "",
        &mut found,
    );
    assert_eq!(
        found,
        ["/extensions/VRMC_springBone-", "/extensionsUsed/4-"]
    );
    assert!(!String::from_utf8_lossy(&stripped.main).contains("springBone"));
}

#[test]
fn a_model_with_springs_only_loses_its_extension_lists() {
    let members = ",\"extensionsUsed\":[\"VRMC_springBone\",\"VRMC_springBone_extended_collider\"],\
         \"extensions\":{\"VRMC_springBone\":{\"springs\":[]}}";
    let container = container(Form::Gltf, members, Vec::new());
    let options = PatchOptions {
        strip_springs: true,
        ..PatchOptions::default()
    };
    let patched = patch(&container, &[], options, Path::new("out.gltf")).unwrap();
    let json = String::from_utf8(patched.main).unwrap();
    assert_eq!(json, container.json.replace(members, ""));
}

#[test]
fn the_springs_of_an_old_vrm_become_empty_lists() {
    let members = ",\"extensions\":{\"VRM\":{\"meta\":{},\"secondaryAnimation\":{\"boneGroups\":[{\"bones\":[1]}]}}}";
    let container = container(Form::Glb, members, Vec::new());
    let kept = bake(&container, &[]);
    assert!(
        kept.warnings[0].contains("1 bone groups"),
        "{:?}",
        kept.warnings
    );
    let options = PatchOptions {
        strip_springs: true,
        ..PatchOptions::default()
    };
    let patched = patch(&container, &[], options, Path::new("out.vrm")).unwrap();
    let new = root(&parse(Path::new("out.vrm"), &patched.main));
    assert_eq!(
        new["extensions"]["VRM"].to_string(),
        "{\"meta\":{},\"secondaryAnimation\":{\"boneGroups\":[],\"colliderGroups\":[]}}"
    );
}
