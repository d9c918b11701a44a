//! One pose asked for from files: the numbers of `flounce pose`.
#![cfg(feature = "assets")]

use std::path::{Path, PathBuf};

use flounce::assets::Error;
use flounce::assets::import::{self, Model};
use flounce::assets::layers::{ClipFileRule, KindRule, LayerRule, MaskRule, ReferenceRule};
use flounce::assets::library::Library;
use flounce::assets::pose::{self, PoseQuestion, Posed};
use flounce::pose::JointTransform;
use flounce::rotation::angle_between;

fn fox() -> Model {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models/Fox.glb");
    import::read_model(&file).unwrap().0
}

fn ask(model: &Model, at: f32, layers: Vec<LayerRule>) -> Result<Posed, Error> {
    let question = PoseQuestion {
        clip: Some("Walk".to_owned()),
        at,
        layers,
        ..PoseQuestion::default()
    };
    pose::pose(model, &Library::new(model), &question)
}

/// What the clip shows by its tracks alone.
fn played(model: &Model, clip: &str, at: f32) -> Vec<JointTransform> {
    let clip = model.clips.iter().find(|of| of.name == clip).unwrap();
    let mut pose: Vec<JointTransform> = model.rig.joints.iter().map(|joint| joint.rest).collect();
    for track in &clip.tracks {
        track.sample(at, &mut pose[track.joint]);
    }
    pose
}

#[test]
fn a_pose_is_the_clip_at_that_time() {
    let model = fox();
    for at in [0.0, 0.1, 0.5, 0.708] {
        assert_eq!(
            ask(&model, at, vec![]).unwrap().local,
            played(&model, "Walk", at),
            "at {at}"
        );
    }
}

#[test]
fn a_layer_is_shown_at_the_same_time_on_its_joints_only() {
    let model = fox();
    let neck = model
        .rig
        .joints
        .iter()
        .position(|joint| joint.name == "b_Neck_04")
        .unwrap();
    let layer = LayerRule {
        clip: Some("Run".to_owned()),
        mask: MaskRule {
            roots: vec!["b_Neck_04".to_owned()],
            ..MaskRule::default()
        },
        ..LayerRule::default()
    };
    let posed = ask(&model, 0.5, vec![layer]).unwrap();
    let (walk, run) = (played(&model, "Walk", 0.5), played(&model, "Run", 0.5));
    for (joint, found) in posed.local.iter().enumerate() {
        let from = if model.rig.is_below(joint, neck) {
            &run
        } else {
            &walk
        };
        assert_eq!(*found, from[joint], "{}", model.rig.describe(joint));
    }
    let report = &posed.layers[0];
    assert_eq!((report.name.as_str(), report.weight), ("Run", 1.0));
    let turned = angle_between(walk[neck].rotation.into(), run[neck].rotation.into());
    assert_eq!(report.joints[0].joint, neck);
    assert_eq!(report.joints[0].turned, turned);
}

#[test]
fn an_additive_clip_compared_with_itself_changes_nothing() {
    let model = fox();
    let layer = LayerRule {
        clip: Some("Walk".to_owned()),
        kind: KindRule::Additive {
            side: flounce::additive::Side::Own,
            reference: ReferenceRule::Clip {
                clip: "Walk".to_owned(),
                at: 0.25,
            },
            continuous: false,
        },
        ..LayerRule::default()
    };
    let posed = ask(&model, 0.25, vec![layer]).unwrap();
    assert_eq!(posed.local, played(&model, "Walk", 0.25));
    assert!(posed.layers[0].joints.is_empty());
}

#[test]
fn everything_wrong_is_said_at_once_with_its_place() {
    let model = fox();
    let layer = |text: &str| pose::layer("--layer 1", text).unwrap();
    let message = |layers: Vec<LayerRule>| ask(&model, 0.5, layers).unwrap_err().to_string();
    let found = message(vec![
        layer("(clip: \"Runn\", mask: (roots: [\"b_Nek_04\"], weights: {\"b_Hed_05\": 0.5}))"),
        layer("(clip: \"Run\", kind: additive(reference: clip(clip: \"Idle\")))"),
    ]);
    for part in [
        "layers[0].clip: found \"Runn\", expected a clip: Survey, Walk, Run; did you mean \"Run\"?",
        "layers[1].kind: found \"Idle\"",
    ] {
        assert!(found.contains(part), "{found}");
    }
    let found = message(vec![layer(
        "(clip: \"Run\", mask: (roots: [\"b_Nek_04\"], weights: {\"b_Hed_05\": 0.5}))",
    )]);
    assert!(found.contains("layers[0].mask.roots[0]: no joint of the model is called \"b_Nek_04\"; did you mean \"b_Neck_04\"?"), "{found}");
    assert!(
        found.contains("layers[0].mask.weights[\"b_Hed_05\"]"),
        "{found}"
    );
    for (text, part) in [
        (
            "(weight: 1)",
            "layers[0]: found neither `clip`, `blend` nor `action`",
        ),
        (
            "(clip: \"Run\", weight: 1.5)",
            "layers[0].weight: found 1.5, expected 0 to 1",
        ),
        (
            "(clip: \"Run\", action: \"a.ron\")",
            "layers[0]: found `clip` and `action`",
        ),
        (
            "(blend: [(clip: \"Run\", weight: -1)])",
            "layers[0].blend[0].weight: found -1",
        ),
        (
            "(action: \"a.ron\", kind: additive())",
            "layers[0].kind: found additive on an action",
        ),
        (
            "(clip: \"Run\", window: (length: -1))",
            "layers[0].window.length: found -1",
        ),
        (
            "(action: \"none.ron\")",
            "layers[0].action: found \"none.ron\", which is no file",
        ),
    ] {
        let found = message(vec![layer(text)]);
        assert!(found.contains(part), "{text}: {found}");
    }
    let twice = message(vec![
        layer("(clip: \"Run\", order: 3)"),
        layer("(clip: \"Walk\", order: 3)"),
    ]);
    assert!(
        twice.contains("layers[1].order: found 3, the order of layer 0 as well"),
        "{twice}"
    );
    let unknown = pose::layer("--layer 1", "(clip: \"Run\", wieght: 1)").unwrap_err();
    assert!(
        unknown.to_string().starts_with("--layer 1:1:15: wieght:"),
        "{unknown}"
    );
}

#[test]
fn clips_of_another_file_find_joints_by_name() {
    let model = fox();
    let mut library = Library::new(&model);
    let rule = ClipFileRule {
        file: "Fox.glb".to_owned(),
        scale: 2.0,
        ..ClipFileRule::default()
    };
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenes/models");
    library.add(&rule, &folder, &model.rig).unwrap();
    assert_eq!(library.clips.len(), 6);
    assert_eq!(library.bound.len(), 3);
    let binding = &library.bound[0].binding;
    assert!(binding.tracks.iter().all(|track| track.target.is_some()));
    assert!(binding.unmatched_source.is_empty());
    // A name that is taken gets the file's in front; twice the size moves twice as far.
    let (own, other) = (&library.clips[1], &library.clips[4]);
    assert_eq!(
        (own.name.as_str(), other.name.as_str()),
        ("Walk", "Fox.glb#Walk")
    );
    for (a, b) in own.tracks.iter().zip(&other.tracks) {
        let (mut x, mut y) = (JointTransform::IDENTITY, JointTransform::IDENTITY);
        a.sample(0.3, &mut x);
        b.sample(0.3, &mut y);
        assert_eq!(x.rotation, y.rotation);
        assert_eq!(x.translation * 2.0, y.translation);
    }
    let stranger = ClipFileRule {
        file: "CesiumMan.glb".to_owned(),
        ..ClipFileRule::default()
    };
    let error = library
        .add(&stranger, &folder, &model.rig)
        .unwrap_err()
        .to_string();
    assert!(error.contains("moves a joint of the model"), "{error}");
}

#[test]
fn a_pose_is_written_as_a_clip_of_one_key_that_shows_it() {
    let model = fox();
    let posed = ask(&model, 0.5, vec![]).unwrap();
    let clip = posed.clip(&model.rig, "pose");
    let container = flounce::assets::container::read(&model.file).unwrap();
    let out = Path::new("pose.glb");
    let patched =
        flounce::assets::patch::patch(&container, &[clip], Default::default(), out).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pose.glb");
    flounce::assets::patch::write(&patched, &file, false).unwrap();
    let (again, _) = import::read_model(&file).unwrap();
    assert_eq!(again.clips.last().unwrap().name, "pose");
    for (found, expected) in played(&again, "pose", 0.0).iter().zip(&posed.local) {
        assert_eq!(found.translation, expected.translation);
        let turned = angle_between(found.rotation.into(), expected.rotation.into());
        assert!(turned < 1e-6, "{turned}");
    }
}

#[test]
fn a_game_reads_layers_and_actions_from_ron() {
    use flounce::assets::{action_file, layers};
    use std::sync::Arc;
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    let (model, _) = import::read_model(&scenes.join("models/RobotExpressive.glb")).unwrap();
    let clips: Vec<_> = model.clips.iter().cloned().map(Arc::new).collect();
    let rule = |text: &str| pose::layer("text", text).unwrap();
    let rules = [
        rule("(clip: \"Wave\", order: 5)"),
        rule("(action: \"actions/nod.ron\", order: -1)"),
    ];
    let built = layers::on_rig(&rules, &model.rig, &clips, &scenes.join("hero.ron")).unwrap();
    let names: Vec<&str> = built.iter().map(|layer| layer.name.as_str()).collect();
    assert_eq!(names, ["actions/nod.ron", "Wave"]);
    let nod = action_file::read(&scenes.join("actions/nod.ron"), &model.rig).unwrap();
    assert_eq!((nod.name.as_str(), nod.channels.len()), ("nod", 2));
}

#[test]
fn faults_of_an_action_have_their_place_in_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("nod.ron");
    let model = fox();
    let refused = |text: &str| {
        std::fs::write(&file, text).unwrap();
        flounce::assets::action_file::read(&file, &model.rig)
            .unwrap_err()
            .to_string()
    };
    let turn = |curve: &str| {
        format!(
            "(version: 1, clock: (length: 1),\n heads: [(joint: \"b_Head_05\", turn_deg: (x: {curve}))])"
        )
    };
    for (text, part) in [
        (
            turn("(domain: progress, keys: linear([(0, 1e9)]))"),
            "nod.ron:2:",
        ),
        (
            turn("(domain: progress, keys: linear([]))"),
            "no keys; expected at least one",
        ),
        (
            turn("(domain: progress, keys: linear([(0, 0), (3, 1)]))"),
            "lies beyond the action",
        ),
        ("(version: 1, clock: (lenght: 1))".to_owned(), "nod.ron:1:"),
        (
            "(version: 1, clock: (length: 1))".to_owned(),
            "found neither `body`, `heads` nor `turns`",
        ),
        (turn("(domain: hours, keys: linear([(0, 0)]))"), "hours"),
    ] {
        let found = refused(&text);
        assert!(found.contains(part), "{text}: {found}");
    }
    let unknown =
        refused("(version: 1, clock: (length: 1), turns: [(joint: \"b_Hed_05\", turn_deg: ())])");
    assert!(
        unknown.contains("turns[0].joint: no joint of the model is called \"b_Hed_05\""),
        "{unknown}"
    );
}

#[test]
fn fields_that_would_not_act_are_refused() {
    let model = fox();
    for (text, part) in [
        (
            "(clip: \"Run\", starts: 2)",
            "layers[0].starts: found it on a clip, expected it on an action; write `window: (starts: …)`",
        ),
        (
            "(clip: \"Run\", about_rest: true)",
            "layers[0].about_rest: found true",
        ),
        (
            "(action: \"a.ron\", speed: 2)",
            "layers[0].speed: found it on an action",
        ),
    ] {
        let layer = pose::layer("text", text).unwrap();
        let found = ask(&model, 0.5, vec![layer]).unwrap_err().to_string();
        assert!(found.contains(part), "{text}: {found}");
    }
}

#[test]
fn names_that_are_not_there_are_refused_and_those_that_are_shared_are_told_by_their_parents() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenes/models");
    let (robot, _) = import::read_model(&folder.join("RobotExpressive.glb")).unwrap();
    let mut library = Library::new(&robot);
    let mut rule = ClipFileRule {
        file: "RobotExpressive.glb".to_owned(),
        ..ClipFileRule::default()
    };
    library.add(&rule, &folder, &robot.rig).unwrap();
    for bound in &library.bound {
        let tracks = bound.binding.tracks.iter();
        for (track, own) in tracks.zip(
            &robot
                .clips
                .iter()
                .find(|clip| clip.name == bound.clip)
                .unwrap()
                .tracks,
        ) {
            assert_eq!(track.target, Some(own.joint), "{}", bound.clip);
        }
    }
    rule.names.insert("Heaad".to_owned(), "Nek".to_owned());
    let error = library
        .add(&rule, &folder, &robot.rig)
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("no joint of this file is called \"Heaad\""),
        "{error}"
    );
    assert!(
        error.contains("no joint of the model is called \"Nek\"; did you mean \"Neck\"?"),
        "{error}"
    );
}
