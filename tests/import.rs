//! Reading real files: what they say is what the model holds. The expected numbers were read from the files with Python.

#![cfg(feature = "assets")]

use std::path::{Path, PathBuf};

use bevy_math::{Quat, Vec3};
use flounce::assets::import::{Model, Projection, read_model};
use flounce::clip::{Interpolation, TrackValues};
use flounce::pose::JointTransform;

fn read(name: &str) -> Model {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    read_model(&folder.join(name))
        .unwrap_or_else(|error| panic!("{error}"))
        .0
}

/// A file of the outside corpus; `None` when there is none on this machine.
fn outside(name: &str) -> Option<PathBuf> {
    std::env::var_os("FLOUNCE_CORPUS_DIR").map(|folder| Path::new(&folder).join(name))
}

fn sample(model: &Model, clip: usize, track: usize, time: f32) -> JointTransform {
    let mut pose = JointTransform::IDENTITY;
    model.clips[clip].tracks[track].sample(time, &mut pose);
    pose
}

#[test]
fn all_three_interpolations_of_all_three_properties_are_read() {
    use Interpolation::{CubicSpline, Linear, Step};
    let model = read("khronos/InterpolationTest.glb");
    let found: Vec<_> = model
        .clips
        .iter()
        .map(|clip| {
            (
                clip.name.as_str(),
                clip.tracks[0].joint,
                clip.tracks[0].interpolation,
            )
        })
        .collect();
    let expected = [
        ("Step Scale", 0, Step),
        ("Linear Scale", 3, Linear),
        ("CubicSpline Scale", 4, CubicSpline),
        ("Step Rotation", 5, Step),
        ("CubicSpline Rotation", 6, CubicSpline),
        ("Linear Rotation", 7, Linear),
        ("Step Translation", 8, Step),
        ("CubicSpline Translation", 9, CubicSpline),
        ("Linear Translation", 10, Linear),
    ];
    assert_eq!(found, expected);
    let linear = sample(&model, 8, 0, 0.416_666_66).translation;
    assert_eq!(linear, Vec3::new(-3.297_580_7, 10.0, 0.0));
    let spline = sample(&model, 7, 0, -1.0).translation;
    assert_eq!(spline, Vec3::new(3.305_179_8, 6.640_117, 0.0));
}

#[test]
fn a_track_that_starts_late_holds_its_first_key_until_then() {
    let model = read("khronos/BoxAnimated.glb");
    let clip = &model.clips[0];
    assert_eq!(clip.tracks[0].times[0], 1.25);
    assert_eq!(clip.duration, 3.708_33);
    assert_eq!(sample(&model, 0, 0, 0.5), sample(&model, 0, 0, 1.25));
}

#[test]
fn weights_in_normalised_bytes_are_those_in_floats_to_a_step() {
    let floats = read("khronos/AnimatedMorphCube.glb");
    let bytes = read("khronos/AnimatedMorphCube-glTF-Quantized/AnimatedMorphCube.gltf");
    let of = |model: &Model| match &model.clips[0].tracks[0].values {
        TrackValues::Weights { count: 2, values } => values.clone(),
        other => panic!("{other:?}"),
    };
    let (floats, bytes) = (of(&floats), of(&bytes));
    assert_eq!((floats.len(), bytes.len()), (254, 254));
    // The exporter rounded 0.500004 down: a whole step and not half of one.
    for (float, byte) in floats.iter().zip(&bytes) {
        assert!((float - byte).abs() <= 1.0 / 255.0, "{float} {byte}");
    }
}

#[test]
fn gltf_10_sparse_outputs_are_read_with_and_without_a_base() {
    for (name, times) in [
        (
            "blender-io/23_multi_prim_vertex_attribute/23_multi_prim_vertex_attribute.gltf",
            [0.041_666_668, 0.083_333_336],
        ),
        ("other/box_sparse.gltf", [1.0, 2.0]),
    ] {
        let model = read(name);
        let track = &model.clips[0].tracks[0];
        assert_eq!(*track.times, times, "{name}");
        match &track.values {
            TrackValues::Weights { values, .. } => assert_eq!(values[..], [0.0, 1.0], "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn skins_come_alike_from_files_and_from_data_uris() {
    let files = read("khronos/SimpleSkin-glTF/SimpleSkin.gltf");
    let embedded = read("khronos/SimpleSkin-glTF-Embedded/SimpleSkin.gltf");
    assert_eq!(files.skins, embedded.skins);
    assert_eq!(files.clips, embedded.clips);
    assert_eq!(files.skins[0].joints, [1, 2]);
    let bind = files.skins[0].inverse_bind[1].to_scale_rotation_translation();
    assert_eq!(bind, (Vec3::ONE, Quat::IDENTITY, Vec3::new(0.0, -1.0, 0.0)));
}

#[test]
fn scenes_and_cameras_are_read() {
    let scenes = read("khronos/MultipleScenes-glTF/MultipleScenes.gltf");
    assert_eq!(scenes.scenes, [[0], [1]]);
    let cameras = read("khronos/Cameras-glTF/Cameras.gltf").cameras;
    let perspective = Projection::Perspective {
        yfov: 0.7,
        aspect: Some(1.0),
        near: 0.01,
        far: Some(100.0),
    };
    let orthographic = Projection::Orthographic {
        xmag: 1.0,
        ymag: 1.0,
        near: 0.01,
        far: 100.0,
    };
    assert_eq!(
        cameras
            .iter()
            .map(|camera| camera.joint)
            .collect::<Vec<_>>(),
        [1, 2]
    );
    assert_eq!(cameras[0].projection, perspective);
    assert_eq!(cameras[1].projection, orthographic);
}

#[test]
fn a_clip_of_one_key_has_length_zero() {
    let model = read("vrma/nop.vrma");
    assert_eq!(model.clips[0].duration, 0.0);
    assert_eq!(model.clips[0].tracks.len(), 12);
    // The file holds the f32 next to √½: 0.7071068286895752.
    let x = sample(&model, 0, 0, 7.0).rotation.x;
    assert_eq!(x, core::f32::consts::FRAC_1_SQRT_2.next_up());
}

#[test]
fn paths_of_extensions_are_left_out_with_a_warning() {
    let model = read("other/CubeVisibility.glb");
    assert!(model.clips[0].tracks.is_empty());
    assert_eq!(model.warnings.len(), 1, "{:?}", model.warnings);
}

#[test]
fn clips_that_share_a_name_stay_apart() {
    let Some(file) = outside("characters/SpringTestRig_2025.glb") else {
        return;
    };
    let model = read_model(&file).unwrap().0;
    assert_eq!((model.rig.joints.len(), model.clips.len()), (83, 31));
    assert_eq!(
        model
            .clips
            .iter()
            .map(|clip| clip.tracks.len())
            .sum::<usize>(),
        6975
    );
    let name = "hmd-run_leftward_with_back";
    let shared: Vec<usize> = model
        .clips
        .iter()
        .filter(|clip| clip.name == name)
        .map(|clip| clip.source)
        .collect();
    assert_eq!(shared.len(), 2);
}

#[test]
fn compressed_motion_is_refused_by_the_name_of_the_extension() {
    let Some(file) = outside("derived/Fox_gltfpack_meshopt.glb") else {
        return;
    };
    let message = read_model(&file).unwrap_err().to_string();
    assert!(message.contains("EXT_meshopt_compression"), "{message}");
}

#[test]
fn rotations_in_16_bits_are_those_in_floats() {
    let (Some(floats), Some(shorts)) = (
        outside("characters/Fox.glb"),
        outside("derived/Fox_gltfpack_quantized.glb"),
    ) else {
        return;
    };
    let (floats, shorts) = (
        read_model(&floats).unwrap().0,
        read_model(&shorts).unwrap().0,
    );
    let joint =
        |model: &Model, name: &str| model.rig.joints.iter().position(|joint| joint.name == name);
    let mut compared = 0;
    for clip in 0..3 {
        for (t, track) in floats.clips[clip].tracks.iter().enumerate() {
            let TrackValues::Rotation(_) = track.values else {
                continue;
            };
            let name = &floats.rig.joints[track.joint].name;
            let twin = joint(&shorts, name).expect("gltfpack keeps the names of joints");
            let tracks = &shorts.clips[clip].tracks;
            let Some(u) = tracks.iter().position(|other| {
                other.joint == twin && matches!(other.values, TrackValues::Rotation(_))
            }) else {
                continue;
            };
            let (a, b) = (
                sample(&floats, clip, t, 0.0).rotation,
                sample(&shorts, clip, u, 0.0).rotation,
            );
            // gltfpack keeps 12 of the 16 bits: components to 2.4e-4, lengths to about as much.
            assert!(a.dot(b).abs() > 1.0 - 5e-4, "{name}: {a} {b}");
            compared += 1;
        }
    }
    assert!(compared > 20, "{compared}");
}
