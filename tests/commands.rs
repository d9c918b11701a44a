//! Claim: the commands that look into scenes say what is asked, in a fixed order, and refuse what cannot be meant.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn scenes(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scenes")
        .join(path)
}

/// Runs `flounce COMMAND SCENE …`.
fn flounce(command: &str, scene: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flounce"))
        .arg(command)
        .arg(scene)
        .args(arguments)
        .output()
        .unwrap()
}

fn fox(command: &str, arguments: &[&str]) -> Output {
    flounce(command, &scenes("fox_walk.ron"), arguments)
}

fn printed(output: &Output) -> String {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// What it says on stderr when it ends with `code`.
fn refused(output: &Output, code: i32) -> String {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{error}");
    error
}

/// The x, y, z of the line that starts with `name`.
fn vector(line: &str) -> [f64; 3] {
    let numbers: Vec<f64> = line
        .split_whitespace()
        .rev()
        .map_while(|word| word.parse().ok())
        .take(4)
        .collect();
    assert_eq!(numbers.len(), 4, "{line}");
    [numbers[3], numbers[2], numbers[1]]
}

/// The lines of terms, and that of the displacement.
fn terms(text: &str) -> (Vec<[f64; 3]>, [f64; 3]) {
    let lines = text
        .lines()
        .skip_while(|line| !line.starts_with("moved by"));
    let terms = lines
        .clone()
        .skip(1)
        .take_while(|line| !line.starts_with("sum"));
    let mut displaced = lines.filter(|line| line.starts_with("displacement"));
    (
        terms.map(vector).collect(),
        vector(displaced.next().unwrap()),
    )
}

/// What the terms add up to, against the displacement: each number is printed to 1e-6 m.
fn assert_adds_up(text: &str) {
    let (terms, displaced) = terms(text);
    assert!(terms.len() >= 3, "{text}");
    for axis in 0..3 {
        let sum: f64 = terms.iter().map(|term| term[axis]).sum();
        let off = (sum - displaced[axis]).abs();
        let rounding = 0.6e-6 * (terms.len() + 1) as f64;
        assert!(off <= rounding, "off by {off:e} m:\n{text}");
    }
}

#[test]
fn the_terms_of_a_substep_add_up_to_the_displacement() {
    for time in ["0.5", "1.5", "4"] {
        for profile in [
            "delta=carried",
            "delta=current",
            "force=velocity_add",
            "substeps=frame",
        ] {
            let arguments = [
                "--joint",
                "b_Tail02_013",
                "--time",
                time,
                "--all",
                "--profile",
                profile,
            ];
            let text = printed(&fox("explain", &arguments));
            assert!(
                text.contains("joint    \"b_Tail02_013\" (node 16)"),
                "{text}"
            );
            assert_adds_up(&text);
        }
    }
    let rig = scenes("spring_test_rig.ron");
    let text = printed(&flounce(
        "explain",
        &rig,
        &["--joint", "ball.003", "--time", "1", "--all"],
    ));
    assert_adds_up(&text);
}

#[test]
fn at_time_zero_the_settling_is_explained() {
    let arguments = ["--joint", "b_Tail02_013", "--time", "0", "--all"];
    let text = printed(&fox("explain", &arguments));
    assert!(
        text.contains("the last of 30 substeps that settle"),
        "{text}"
    );
    assert_adds_up(&text);
    let unsettled = [
        "--joint",
        "b_Tail02_013",
        "--time",
        "0",
        "--profile",
        "prewarm=0",
    ];
    let text = printed(&fox("explain", &unsettled));
    assert!(
        text.contains("substep  1 since the reset, ends at 0.016667 s"),
        "{text}"
    );
}

#[test]
fn joint_major_explains_a_frame_as_one() {
    let text = "(version: 1, model: \"models/Fox.glb\", rig: \"rigs/fox_tail.ron\", seconds: 1, rate_hz: 30, \
                profile: (substeps: frame, order: joint_major), actors: [(clip: \"Run\")])";
    let folder = scene_folder(text);
    let scene = folder.path().join("scene.ron");
    let text = printed(&flounce(
        "explain",
        &scene,
        &["--joint", "#16", "--time", "0.5", "--all"],
    ));
    assert!(text.contains("substep  29 to 30 since the reset"), "{text}");
    assert_adds_up(&text);
}

/// A folder with a scene of this text; paths in it are those of the shipped scenes.
fn scene_folder(text: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [("models/Fox.glb", "models"), ("rigs/fox_tail.ron", "rigs")] {
        std::fs::create_dir(folder.path().join(to)).unwrap();
        std::fs::copy(scenes(from), folder.path().join(from)).unwrap();
    }
    std::fs::write(folder.path().join("scene.ron"), text).unwrap();
    folder
}

#[test]
fn hits_are_named_by_the_joint_and_shape_of_the_collider() {
    let zoo = scenes("collider_zoo.ron");
    let explained = (1..8).map(|second| {
        let time = second.to_string();
        let arguments = ["--joint", "sphere_capsule_bone_1", "--time", &time, "--all"];
        let output = flounce("explain", &zoo, &arguments);
        String::from_utf8(output.stdout).unwrap()
    });
    let mut explained = explained.filter(|text| text.contains("hit by"));
    let hit = explained.next().unwrap();
    let name = "hit by collider 1 (capsule on \"sphere_capsule_obstacle\")";
    assert!(hit.contains(name), "{hit}");
    assert_adds_up(&hit);
}

#[test]
fn links_are_named_by_the_joints_they_join() {
    let skirt = scenes("skirt.ron");
    let mut explained = (2..20).map(|tenth| {
        let time = format!("{}", f64::from(tenth) / 10.0);
        let arguments = ["--joint", "skirt_3_1", "--time", &time, "--all"];
        let output = flounce("explain", &skirt, &arguments);
        String::from_utf8(output.stdout).unwrap()
    });
    let hit = explained
        .find(|text| text.contains("link \"skirt_"))
        .unwrap();
    assert!(hit.contains(" hit by collider "), "{hit}");
    assert_adds_up(&hit);
}

#[test]
fn questions_that_cannot_be_answered_are_refused_with_what_would_be() {
    let ask = |joint: &str, time: &str, actor: &str| {
        let arguments = ["--joint", joint, "--time", time, "--actor", actor];
        refused(&fox("explain", &arguments), 1)
    };
    for (joint, time, actor, expected) in [
        ("b_Tail02_031", "1", "0", "did you mean \"b_Tail02_013\""),
        (
            "b_Neck_04",
            "1",
            "0",
            "\"b_Neck_04\" is a joint of the model that no chain picks",
        ),
        (
            "b_Tail02_013",
            "-1",
            "0",
            "time: found -1, expected 0 to 4, the scene's length",
        ),
        (
            "b_Tail02_013",
            "4.1",
            "0",
            "time: found 4.1, expected 0 to 4",
        ),
        ("b_Tail02_013", "NaN", "0", "time: found NaN"),
        (
            "b_Tail02_013",
            "1",
            "12",
            "actor: found 12, expected a number below 12",
        ),
    ] {
        let why = ask(joint, time, actor);
        assert!(why.contains(expected), "{why}");
    }
}

#[test]
fn joints_that_do_not_swing_say_why() {
    let scene = "(version: 1, model: \"models/Fox.glb\", rig: \"rigs/rig.ron\", seconds: 1)";
    let folder = scene_folder(scene);
    let rig = "(version: 1, metres_per_unit: 0.01, chains: [(joints: [\"b_Tail01_012\", \"b_Tail02_013\", \"b_Tail03_014\"], \
               overrides: {\"b_Tail01_012\": (active: false)})])";
    std::fs::write(folder.path().join("rigs/rig.ron"), rig).unwrap();
    let file = folder.path().join("scene.ron");
    for (joint, expected) in [
        ("b_Tail01_012", "is switched off with `active: false`"),
        ("b_Tail03_014", "has no child and no tail"),
    ] {
        let output = flounce("explain", &file, &["--joint", joint, "--time", "0.5"]);
        let why = refused(&output, 1);
        assert!(why.contains(expected), "{why}");
    }
}

/// The rows of a printed table: what follows the line of titles, up to the blank line.
fn rows(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().skip_while(|line| !line.contains("state"));
    let rows = lines.skip(1).take_while(|line| !line.is_empty());
    rows.map(|line| line.split_whitespace().map(str::to_owned).collect())
        .collect()
}

const SWEEP: [&str; 4] = [
    "--vary",
    "profile.delta=carried,rest,current",
    "--vary",
    "rate_hz=30,60",
];

#[test]
fn a_sweep_prints_its_rows_in_order_whatever_the_threads() {
    let with = |threads: &str| {
        let mut arguments = SWEEP.to_vec();
        arguments.extend(["--threads", threads]);
        rows(&printed(&fox("sweep", &arguments)))
    };
    let one = with("1");
    let values: Vec<String> = one.iter().map(|row| row[..2].join(" ")).collect();
    let expected = [
        "carried 30",
        "carried 60",
        "rest 30",
        "rest 60",
        "current 30",
        "current 60",
    ];
    assert_eq!(values, expected);
    assert_eq!(one, with("3"));
    // The scene's own row comes to the scene's own state, those of other switches to others.
    let state = |row: usize| one[row].last().unwrap();
    let run = fox("run", &[]);
    let run = String::from_utf8(run.stdout).unwrap();
    assert!(run.contains(&format!("state  {}", state(1))), "{run}");
    assert_ne!(state(1), state(5));
}

#[test]
fn a_refused_combination_is_a_row_and_an_exit_code() {
    let arguments = [
        "--vary",
        "profile.order=joint_major,substep_major",
        "--vary",
        "seconds=0.1",
    ];
    let output = fox("sweep", &arguments);
    refused(&output, 1);
    let rows = rows(&String::from_utf8(output.stdout).unwrap());
    assert_eq!(rows.len(), 2);
    let why = rows[0].join(" ");
    assert!(
        why.contains("refused: profile.order: found joint_major"),
        "{why}"
    );
    assert_eq!(rows[1][..2], ["substep_major", "0.1"]);
}

#[test]
fn a_sweep_writes_its_table_and_overwrites_none() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("a.csv");
    let mut arguments = vec!["--vary", "seconds=0.1,0.2", "--csv", csv.to_str().unwrap()];
    printed(&fox("sweep", &arguments));
    let text = std::fs::read_to_string(&csv).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("seconds,holding,expectations,largest_deflection_deg,"),
        "{text}"
    );
    assert!(
        lines[1].starts_with("0.1,") && lines[2].starts_with("0.2,"),
        "{text}"
    );
    assert_eq!(lines.len(), 3);
    let why = refused(&fox("sweep", &arguments), 1);
    assert!(why.contains("exists already; --force"), "{why}");
    arguments.push("--force");
    printed(&fox("sweep", &arguments));
}

#[test]
fn fields_and_values_that_are_not_there_are_refused_with_the_list() {
    let why = refused(&fox("sweep", &["--vary", "profile.delt=rest"]), 1);
    assert!(
        why.contains("expected `substeps`, `delta`, `root`"),
        "{why}"
    );
    assert!(why.contains("did you mean \"delta\"?"), "{why}");
    let why = refused(&fox("sweep", &["--vary", "profile.delta=curent"]), 1);
    assert!(
        why.contains("`carried`, `rest`, `current` or `carried_pairs`"),
        "{why}"
    );
    // A misspelt switch is misuse.
    let why = refused(&fox("run", &["--profile", "delt=rest"]), 2);
    assert!(
        why.contains("`teleport_angle_deg` or `split_motion`; did you mean \"delta\"?"),
        "{why}"
    );
}

#[test]
fn a_switch_on_the_command_line_is_a_switch_in_the_scene() {
    let text = "(version: 1, model: \"models/Fox.glb\", rig: \"rigs/fox_tail.ron\", seconds: 1, \
                profile: (delta: current, prewarm: 3), actors: [(clip: \"Run\")])";
    let folder = scene_folder(text);
    let file = folder.path().join("scene.ron");
    let state = |arguments: &[&str]| {
        let text = printed(&flounce("run", &file, arguments));
        let mut lines = text.lines().filter(|line| line.starts_with("state"));
        lines.next().unwrap().to_owned()
    };
    let written = state(&[]);
    std::fs::write(
        &file,
        text.replace("profile: (delta: current, prewarm: 3), ", ""),
    )
    .unwrap();
    assert_ne!(written, state(&[]));
    assert_eq!(
        written,
        state(&["--profile", "delta=current", "--profile", "prewarm=3"])
    );
}

#[test]
fn a_pose_is_printed_with_what_each_layer_did() {
    let model = scenes("models/Fox.glb");
    let plain = ["--clip", "Walk", "--at", "0.5", "--joint", "b_Neck_04"];
    let text = printed(&flounce("pose", &model, &plain));
    let line: Vec<&str> = text.lines().nth(1).unwrap().split_whitespace().collect();
    let expected = ["\"b_Neck_04\"", "(node", "7)", "25.649143", "0.000000"];
    assert_eq!(line[..5], expected, "{text}");
    let layered = [
        &plain[..],
        &[
            "--additive",
            "Run",
            "--weight",
            "0.5",
            "--mask",
            "b_Neck_04",
        ],
    ]
    .concat();
    let text = printed(&flounce("pose", &model, &layered));
    assert!(
        text.contains("\nlayer \"Run\", weight 0.5\n\"b_Neck_04\" (node 7)  turned "),
        "{text}"
    );
    let outside = [&plain[..], &["--override", "Run", "--mask", "b_Tail01_012"]].concat();
    let text = printed(&flounce("pose", &model, &outside));
    assert!(text.contains("changes none of these joints"), "{text}");
    let rest = printed(&flounce("pose", &model, &[]));
    assert_eq!(rest, "every joint is at rest; --all shows them\n");
    let other = scenes("models/Fox.glb");
    let bound = ["--clips-from", other.to_str().unwrap(), "--bindings"];
    let text = printed(&flounce("pose", &model, &bound));
    assert!(
        text.contains("joints of the file without one of the model: none"),
        "{text}"
    );
}

#[test]
fn a_pose_is_written_as_a_table_an_object_or_a_clip() {
    let folder = tempfile::tempdir().unwrap();
    let model = scenes("models/RobotExpressive.glb");
    for name in ["pose.csv", "pose.json", "pose.glb"] {
        let out = folder.path().join(name);
        let arguments = ["--clip", "Wave", "--at", "0.6", "-o", out.to_str().unwrap()];
        printed(&flounce("pose", &model, &arguments));
        let bytes = std::fs::read(&out).unwrap();
        match name {
            "pose.csv" => assert_eq!(bytes.split(|byte| *byte == b'\n').count(), 76),
            "pose.json" => {
                let json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
                assert_eq!(json["joints"].as_array().unwrap().len(), 74);
                assert_eq!(json["channels"][0]["kind"], "weights");
            }
            _ => assert_eq!(&bytes[..4], b"glTF"),
        }
        let again = refused(&flounce("pose", &model, &arguments), 1);
        assert!(
            again.contains("exists already; --force overwrites it"),
            "{again}"
        );
    }
    for (arguments, part) in [
        (
            &["--mask", "Head"][..],
            "--weight, --mask, --except and --missing-rest belong to --additive or --override",
        ),
        (&["--joint", "Head"], "2 joints are called \"Head\""),
        (
            &["--additive", "Yes", "--reference", "soon"],
            "expected rest, seconds such as 0.5, or CLIP@SECONDS",
        ),
        (
            &["--override", "Yes", "--reference", "bogus"],
            "--reference and --parent-side belong to --additive",
        ),
        (&["--all", "-o", "pose.csv"], "--output writes every joint"),
        (&["--clip", "Yes", "-o", "pose.txt"], "expected .csv, .json"),
        (
            &["--clip", "Yes", "-o", "nowhere/pose.csv"],
            "folder nowhere does not exist",
        ),
        (&["--at", "nan", "--clip", "Yes"], "at: found NaN"),
    ] {
        let said = refused(&flounce("pose", &model, arguments), 1);
        assert!(said.contains(part), "{said}");
    }
}
