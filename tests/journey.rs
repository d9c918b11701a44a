//! Claim: a glTF character goes in, its tail comes alive, a baked glTF comes out.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(feature = "assets")]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use flounce::assets::bake::{self, BakeOptions, BakeReport};
use flounce::assets::container::Container;
use flounce::assets::import::{self, Model};
use flounce::assets::{patch, rig_file};
use flounce::clip::TrackValues;
use flounce::rig::Rig;

fn scenes(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenes")
        .join(path)
}

fn rigged(model: &str, rig: &str) -> (Model, Container, Rig) {
    let (model, container) = import::read_model(&scenes(model)).unwrap();
    let mut rig_of_model = model.rig.clone();
    let rules = rig_file::read(&scenes(rig)).unwrap();
    rules.apply(&mut rig_of_model).unwrap();
    (model, container, rig_of_model)
}

fn bake(model: &str, rig: &str, options: &BakeOptions, out: &Path) -> (Vec<u8>, BakeReport) {
    let (model, container, rig) = rigged(model, rig);
    let clips = bake::select_clips(&model, options).unwrap();
    let (patched, report) = bake::bake(&container, &rig, &clips, options, out, &|_| {}).unwrap();
    (patched.main, report)
}

fn fox(options: &BakeOptions) -> (Vec<u8>, BakeReport) {
    bake(
        "models/Fox.glb",
        "rigs/fox_tail.ron",
        options,
        Path::new("out.glb"),
    )
}

/// Reads what was baked as a model again.
fn read_back(bytes: Vec<u8>) -> Model {
    let container = flounce::assets::container::from_bytes(Path::new("out.glb"), bytes).unwrap();
    import::model(&container).unwrap()
}

/// Keys of the rotation track of `joint` in clip `clip`.
fn keys(model: &Model, clip: usize, joint: &str) -> (Vec<f32>, Vec<[f32; 4]>) {
    let joint = model
        .rig
        .joints
        .iter()
        .position(|j| j.name == joint)
        .unwrap();
    let of_joint = model.clips[clip]
        .tracks
        .iter()
        .filter(|track| track.joint == joint);
    let mut rotations = of_joint.filter_map(|track| match &track.values {
        TrackValues::Rotation(values) => Some((track.times.to_vec(), values.clone())),
        _ => None,
    });
    let found = rotations.next().unwrap();
    assert!(rotations.next().is_none(), "one rotation track per joint");
    found
}

#[test]
fn a_fox_goes_in_and_its_tail_comes_alive() {
    let (bytes, report) = fox(&BakeOptions::default());
    assert_eq!((report.clips.len(), report.joints), (3, 3));
    let before = import::read_model(&scenes("models/Fox.glb")).unwrap().0;
    let after = read_back(bytes);
    assert_eq!(before.rig, after.rig, "the rest pose is as it was");
    for clip in 0..3 {
        let (times, rotations) = keys(&after, clip, "b_Tail02_013");
        assert_eq!(times.first(), Some(&0.0));
        assert_eq!(times.last(), Some(&before.clips[clip].duration));
        assert_eq!(times.len(), rotations.len());
        let swings = rotations.windows(2).any(|pair| pair[0] != pair[1]);
        assert!(swings, "clip {clip} is still");
        // Joints that do not swing keep their tracks, bit for bit.
        assert_eq!(
            keys(&before, clip, "b_Neck_04"),
            keys(&after, clip, "b_Neck_04")
        );
    }
}

#[test]
fn exp_10_the_same_input_gives_the_same_bytes_on_any_number_of_threads() {
    let one = fox(&BakeOptions::default()).0;
    for threads in [1, 2, 8] {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        let again = pool.install(|| fox(&BakeOptions::default()).0);
        assert!(one == again, "{threads} threads give other bytes");
    }
}

#[test]
fn t2_every_rate_writes_the_same_bits_at_common_times() {
    let at = |rate_hz: f64| {
        let options = BakeOptions {
            rate_hz,
            ..BakeOptions::default()
        };
        let model = read_back(fox(&options).0);
        let (times, rotations) = keys(&model, 0, "b_Tail03_014");
        // 24, 30, 60 and 144 Hz share the multiples of 1/6 s.
        let sixth =
            |time: f32| (f64::from(time) * 6.0 - (f64::from(time) * 6.0).round()).abs() < 1e-6;
        let common = times
            .iter()
            .zip(rotations)
            .filter(|(time, _)| sixth(**time));
        common
            .map(|(time, q)| (time.to_bits(), q.map(f32::to_bits)))
            .collect::<Vec<_>>()
    };
    let sixty = at(60.0);
    assert!(sixty.len() >= 20);
    for rate in [24.0, 30.0, 144.0] {
        assert_eq!(sixty, at(rate), "at {rate} Hz");
    }
}

#[test]
fn a_clip_baked_alone_has_the_bits_it_has_among_others() {
    let all = read_back(fox(&BakeOptions::default()).0);
    let walk = BakeOptions {
        clips: vec!["Walk".to_owned()],
        ..BakeOptions::default()
    };
    let alone = read_back(fox(&walk).0);
    assert_eq!(
        keys(&all, 1, "b_Tail03_014"),
        keys(&alone, 1, "b_Tail03_014")
    );
    let before = import::read_model(&scenes("models/Fox.glb")).unwrap().0;
    assert_eq!(
        keys(&before, 2, "b_Tail03_014"),
        keys(&alone, 2, "b_Tail03_014")
    );
}

#[test]
fn a_loop_is_played_until_its_end_meets_its_start() {
    let options = BakeOptions {
        looped: true,
        ..BakeOptions::default()
    };
    let (_, report) = fox(&options);
    for clip in &report.clips {
        let seam = clip.seam.unwrap();
        assert!(seam.passes >= 2 && seam.passes <= options.most_passes);
        // The tail is half a metre long; the clip itself does not close to the millimetre.
        assert!(seam.position < 0.02, "{}: {} m", clip.name, seam.position);
    }
    let survey = report.clips[0].seam.unwrap();
    assert!(
        survey.position < 1e-4 && survey.passes < options.most_passes,
        "{survey:?}"
    );
}

#[test]
fn reduced_keys_stay_within_their_bound() {
    let options = BakeOptions {
        tolerance_deg: 0.5,
        ..BakeOptions::default()
    };
    let (full, reduced) = (
        read_back(fox(&BakeOptions::default()).0),
        read_back(fox(&options).0),
    );
    let (times, rotations) = keys(&full, 0, "b_Tail02_013");
    let joint = full
        .rig
        .joints
        .iter()
        .position(|j| j.name == "b_Tail02_013")
        .unwrap();
    let track = reduced.clips[0]
        .tracks
        .iter()
        .find(|track| track.joint == joint && matches!(track.values, TrackValues::Rotation(_)));
    let track = track.unwrap();
    assert!(
        track.times.len() * 2 < times.len(),
        "{} keys",
        track.times.len()
    );
    for (time, q) in times.iter().zip(rotations) {
        let mut pose = flounce::pose::JointTransform::IDENTITY;
        track.sample(*time, &mut pose);
        let off = flounce::rotation::angle_between(
            pose.rotation.into(),
            flounce::rotation::Rotation::splat(q),
        );
        assert!(
            off.to_degrees() <= 0.501,
            "{}° at {time} s",
            off.to_degrees()
        );
    }
}

#[test]
fn a_humanoid_with_31_clips_bakes_and_progress_counts_every_frame() {
    let (model, container, rig) =
        rigged("models/SpringTestRig_2025.glb", "rigs/spring_test_rig.ron");
    let options = BakeOptions::default();
    let clips = bake::select_clips(&model, &options).unwrap();
    let frames = AtomicU64::new(0);
    let (patched, report) = bake::bake(
        &container,
        &rig,
        &clips,
        &options,
        Path::new("o.glb"),
        &|n| {
            frames.fetch_add(n, Ordering::Relaxed);
        },
    )
    .unwrap();
    assert_eq!((report.clips.len(), report.joints), (31, 20));
    let keys: usize = report.clips.iter().map(|clip| clip.frames).sum();
    assert_eq!(frames.load(Ordering::Relaxed), keys as u64);
    assert_eq!(read_back(patched.main).clips.len(), 31);
}

#[test]
fn a_model_without_clips_bakes_its_rest_pose() {
    let options = BakeOptions {
        seconds: 0.5,
        ..BakeOptions::default()
    };
    let out = Path::new("out.vrm");
    let (bytes, report) = bake(
        "models/Godette_vrm1_derived.vrm",
        "rigs/godette_hair.ron",
        &options,
        out,
    );
    assert_eq!(report.clips.len(), 1);
    let model = read_back(bytes);
    assert_eq!((model.clips.len(), model.clips[0].duration), (1, 0.5));
}

#[test]
fn samp_02_a_clip_of_no_length_gets_one_key() {
    let (model, container, rig) = rigged("models/Fox.glb", "rigs/fox_tail.ron");
    let mut clip = model.clips[0].clone();
    for track in &mut clip.tracks {
        track.times = [0.0].into();
        match &mut track.values {
            TrackValues::Translation(v) | TrackValues::Scale(v) => v.truncate(1),
            TrackValues::Rotation(v) => v.truncate(1),
            TrackValues::Weights { count, values } => values.truncate(*count),
            TrackValues::BakeWeight(v) | TrackValues::Fov(v) => v.truncate(1),
        }
    }
    clip.duration = 0.0;
    let options = BakeOptions {
        looped: true,
        ..BakeOptions::default()
    };
    let clips = [std::sync::Arc::new(clip)];
    let (patched, report) = bake::bake(
        &container,
        &rig,
        &clips,
        &options,
        Path::new("o.glb"),
        &|_| {},
    )
    .unwrap();
    assert_eq!(report.clips[0].frames, 1);
    assert_eq!(keys(&read_back(patched.main), 0, "b_Tail02_013").0, [0.0]);
}

#[test]
fn outputs_appear_whole_and_are_not_overwritten_unasked() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("fox.glb");
    let (model, container, rig) = rigged("models/Fox.glb", "rigs/fox_tail.ron");
    let options = BakeOptions::default();
    let clips = bake::select_clips(&model, &options).unwrap();
    let (patched, _) = bake::bake(&container, &rig, &clips, &options, &out, &|_| {}).unwrap();
    patch::write(&patched, &out, false).unwrap();
    let refused = patch::write(&patched, &out, false).unwrap_err().to_string();
    assert!(refused.contains("--force"), "{refused}");
    patch::write(&patched, &out, true).unwrap();
    let files: Vec<_> = std::fs::read_dir(folder.path()).unwrap().collect();
    assert_eq!(files.len(), 1, "no temporary file is left");
}

#[test]
fn a_clip_that_does_not_exist_is_refused_with_those_that_come_near() {
    let (model, ..) = rigged("models/Fox.glb", "rigs/fox_tail.ron");
    let options = BakeOptions {
        clips: vec!["Wolk".to_owned()],
        ..BakeOptions::default()
    };
    let message = bake::select_clips(&model, &options)
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("\"Wolk\"") && message.contains("\"Walk\""),
        "{message}"
    );
}

/// The refusal of a bake of the fox with these options and a rig of these rules.
fn refusal(rules: &str, options: &BakeOptions) -> String {
    let (model, container) = import::read_model(&scenes("models/Fox.glb")).unwrap();
    let mut rig = model.rig.clone();
    let rules = rig_file::parse(Path::new("rig.ron"), rules).unwrap();
    rules.apply(&mut rig).unwrap();
    let clips = match bake::select_clips(&model, options) {
        Ok(clips) => clips,
        Err(error) => return error.to_string(),
    };
    let out = Path::new("out.glb");
    let baked = bake::bake(&container, &rig, &clips, options, out, &|_| {});
    baked.map_or_else(|error| error.to_string(), |_| "baked".to_owned())
}

#[test]
fn a_rig_in_which_nothing_swings_is_refused_and_says_why() {
    let options = BakeOptions::default();
    let none = refusal("(version: 1)", &options);
    assert!(none.contains("the rig has no swing joints"), "{none}");
    let passive = "(version: 1, chains: [(root: \"b_Tail03_014\")])";
    let passive = refusal(passive, &options);
    assert!(passive.contains("passive or inactive"), "{passive}");
}

#[test]
fn rates_that_no_bake_can_hold_are_refused_before_anything_is_counted() {
    for rate_hz in [f64::INFINITY, f64::NAN, 1e300, 0.0, -60.0] {
        let options = BakeOptions {
            rate_hz,
            ..BakeOptions::default()
        };
        let found = refusal("(version: 1)", &options);
        assert!(found.contains("expected 0.1 to 1000 Hz"), "{found}");
    }
}

#[test]
fn a_loop_of_a_clip_that_does_not_close_is_worth_a_warning() {
    let options = BakeOptions {
        looped: true,
        ..BakeOptions::default()
    };
    let (_, report) = fox(&options);
    for clip in &report.clips {
        let seam = clip.seam.unwrap();
        let named = format!("clip \"{}\": the loop did not close", clip.name);
        let mut warnings = report.warnings.iter();
        let warned = warnings.any(|warning| warning.starts_with(&named));
        assert_eq!(warned, !seam.is_closed(), "{seam:?}: {:?}", report.warnings);
    }
}

#[test]
fn reports_name_the_animation_of_each_clip() {
    let walk = BakeOptions {
        clips: vec!["Walk".to_owned()],
        ..BakeOptions::default()
    };
    assert_eq!(fox(&walk).1.clips[0].index, 1);
}
