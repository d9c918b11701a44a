//! What a bake writes, and models that are made to mislead.

use std::path::Path;
use std::sync::Arc;

use bevy_math::{Quat, Vec3};
use flounce::assets::bake::BakeOptions;
use flounce::assets::container::Container;
use flounce::assets::import::Model;
use flounce::assets::{bake, container, import, reduce, rig_file};
use flounce::clip::{Clip, Interpolation, Track, TrackValues};
use flounce::pose::JointTransform;
use flounce::rig::Rig;

use crate::support::chains::{BONE, Stage, assert_close, assert_near, rod3, turn};

/// The same model as a GLB: one JSON chunk.
fn binary(mut text: String) -> Vec<u8> {
    while !text.len().is_multiple_of(4) {
        text.push(' ');
    }
    let length = text.len() as u32;
    let mut bytes = b"glTF".to_vec();
    for number in [2, length + 20, length] {
        bytes.extend(u32::to_le_bytes(number));
    }
    bytes.extend(b"JSON");
    bytes.extend(text.into_bytes());
    bytes
}

/// A model of these nodes, without animations.
fn model(nodes: &str, more: &str) -> (Model, Container) {
    let text = format!(
        r#"{{"asset": {{"version": "2.0"}}, "scene": 0, "scenes": [{{"nodes": [0]}}], "nodes": [{nodes}]{more}}}"#
    );
    let bytes = binary(text);
    let container = container::from_bytes(Path::new("model.glb"), bytes).unwrap();
    (import::model(&container).unwrap(), container)
}

/// A body with a strand of two bones that hangs straight down.
const STRAND: &str = r#"
    {"name": "body", "translation": [0, 1, 0], "children": [1]},
    {"name": "a", "children": [2]},
    {"name": "b", "translation": [0, -0.2, 0], "children": [3]},
    {"name": "end", "translation": [0, -0.2, 0]}"#;

fn baked(options: &BakeOptions) -> Model {
    let (model, container) = model(STRAND, "");
    let mut rig = model.rig.clone();
    let rules = r#"(version: 1, chains: [(joints: ["a", "b"])])"#;
    let file = rig_file::parse(Path::new("rig.ron"), rules).unwrap();
    file.apply(&mut rig).unwrap();
    let clips = bake::select_clips(&model, options).unwrap();
    let out = Path::new("out.glb");
    let (patched, _) = bake::bake(&container, &rig, &clips, options, out, &|_| {}).unwrap();
    let container = container::from_bytes(out, patched.main).unwrap();
    import::model(&container).unwrap()
}

/// A strand that hangs at rest all the time still has its channels: a player that shows another clip before would keep
/// that one's pose.
#[test]
fn exp_06_a_joint_that_stays_at_rest_has_its_channel() {
    for tolerance_deg in [0.0, 1.0] {
        let options = BakeOptions {
            seconds: 0.5,
            tolerance_deg,
            ..BakeOptions::default()
        };
        let model = baked(&options);
        for (joint, of) in model.rig.joints.iter().enumerate() {
            let tracks = model.clips[0].tracks.iter().filter(|t| t.joint == joint);
            let rotations = tracks.filter(|t| matches!(t.values, TrackValues::Rotation(_)));
            let keys: Vec<usize> = rotations.map(|track| track.times.len()).collect();
            let swings = ["a", "b"].contains(&of.name.as_str());
            assert_eq!(keys.len(), usize::from(swings), "{}", of.name);
            assert!(keys.iter().all(|&keys| keys > 0));
        }
    }
}

/// The shipped fox with its tail: nothing but rotations of the joints that swing is added, and times are shared.
#[test]
fn exp_05_a_bake_grows_by_its_keys_and_little_else() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    let (model, container) = import::read_model(&folder.join("models/Fox.glb")).unwrap();
    let mut rig = model.rig.clone();
    let file = rig_file::read(&folder.join("rigs/fox_tail.ron")).unwrap();
    file.apply(&mut rig).unwrap();
    let options = BakeOptions::default();
    let clips = bake::select_clips(&model, &options).unwrap();
    let out = Path::new("out.glb");
    let (patched, report) = bake::bake(&container, &rig, &clips, &options, out, &|_| {}).unwrap();
    let before = std::fs::metadata(folder.join("models/Fox.glb"))
        .unwrap()
        .len();
    let growth = patched.main.len() as u64 - before;
    let keys: u64 = report.clips.iter().map(|clip| clip.frames as u64).sum();
    let joints = report.joints as u64;
    let channels = joints * report.clips.len() as u64;
    let most = keys * 4 + joints * keys * 16 + channels * 300;
    assert!(
        growth <= most,
        "{growth} bytes more; keys and their names take {most}"
    );

    let after = import::model(&container::from_bytes(out, patched.main).unwrap()).unwrap();
    for (new, old) in after.clips.iter().zip(&model.clips) {
        assert_eq!(
            new.tracks.len(),
            old.tracks.len() + joints as usize - replaced(&rig, old)
        );
    }
}

/// How many rotation tracks of `clip` belong to joints that swing.
fn replaced(rig: &Rig, clip: &Clip) -> usize {
    let swings = |joint: usize| rig.swing.iter().any(|swing| swing.joint == joint);
    let rotations = clip
        .tracks
        .iter()
        .filter(|t| matches!(t.values, TrackValues::Rotation(_)));
    rotations.filter(|track| swings(track.joint)).count()
}

/// Joints in two branches, a helper between them that is no joint of the skin, an armature of 0.01 above, and a
/// `skeleton` that points elsewhere: every ancestor counts.
#[test]
fn gltf_03_joints_stand_where_all_their_ancestors_put_them() {
    let half = core::f32::consts::FRAC_1_SQRT_2;
    let nodes = format!(
        r#"
        {{"name": "armature", "scale": [0.01, 0.01, 0.01], "children": [1, 2, 4]}},
        {{"name": "left", "translation": [-20, 0, 0]}},
        {{"name": "helper", "translation": [0, 10, 0], "rotation": [{half}, 0, 0, {half}], "children": [3]}},
        {{"name": "right", "translation": [0, 10, 0]}},
        {{"name": "elsewhere"}}"#
    );
    let (model, _) = model(&nodes, r#", "skins": [{"joints": [1, 3], "skeleton": 4}]"#);
    let place = model.rig.rest_model();
    let of = |name: &str| {
        let joint = model.rig.joints.iter().position(|joint| joint.name == name);
        Vec3::from(place[joint.unwrap()].rigid.t)
    };
    assert_near(of("left"), Vec3::new(-0.2, 0.0, 0.0), 1e-6, "left");
    // Turned by the helper, its own 10 units lie along +Z.
    assert_near(of("right"), Vec3::new(0.0, 0.1, 0.1), 1e-6, "right");
    let joints: Vec<&str> = model.skins[0]
        .joints
        .iter()
        .map(|&j| model.rig.joints[j].name.as_str())
        .collect();
    assert_eq!(joints, ["left", "right"]);
}

/// The same chain in metres, and in centimetres below a root of 0.01: keys are dropped by angles, so both lose the same
/// at their tips.
#[test]
fn scale_08_centimetres_lose_no_more_keys_than_metres() {
    const BOUND_DEG: f32 = 0.5;
    let reduced = |unit: f32| {
        let mut rig = rod3();
        rig.joints[0].rest.scale = Vec3::splat(unit);
        for joint in &mut rig.joints[1..] {
            joint.rest.translation /= unit;
        }
        let mut stage = Stage::new(&rig);
        let frame = |frame: u16| {
            let angle = 40.0 * bevy_math::ops::sin(f32::from(frame) * 0.06);
            stage.pose().0[0].rotation = turn(Vec3::Z, angle);
            stage.substep().local[3].rotation.to_array()
        };
        let values: Vec<[f32; 4]> = (0..240).map(frame).collect();
        let times: Vec<f32> = (0..240_u16).map(|frame| f32::from(frame) / 60.0).collect();
        let kept = reduce::rotation_keys(&times, &values, BOUND_DEG);
        let pick = |index: &u32| values[*index as usize];
        let track = Track {
            joint: 0,
            source: 0,
            interpolation: Interpolation::Linear,
            times: kept
                .iter()
                .map(|&index| times[index as usize])
                .collect::<Arc<_>>(),
            values: TrackValues::Rotation(kept.iter().map(pick).collect()),
        };
        let worst = times.iter().zip(&values).map(|(&time, &q)| {
            let mut pose = JointTransform::IDENTITY;
            track.sample(time, &mut pose);
            let tip = Vec3::X * BONE;
            (pose.rotation * tip).distance(Quat::from_array(q) * tip)
        });
        (kept.len() as f64, f64::from(worst.fold(0.0, f32::max)))
    };
    let (metres, centimetres) = (reduced(1.0), reduced(0.01));
    let bound = f64::from(BOUND_DEG.to_radians() * BONE);
    for (keys, error) in [metres, centimetres] {
        assert!(keys < 120.0, "{keys} of 240 keys");
        assert!(
            error <= bound && error > bound * 0.2,
            "{error} m at the tip, at most {bound} m"
        );
    }
    assert_close(centimetres.0, metres.0, metres.0 * 0.1, "keys kept");
    assert_close(centimetres.1, metres.1, bound * 0.1, "error at the tip");
}
