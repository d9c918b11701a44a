//! Jobs that fail, those beside them, and runs that only say what they would do.

use std::fs;

use crate::Stage;

/// A stage on which three of five models can be baked: `a.glb` is no model, `b.glb` has no tail.
fn with_failures() -> Stage {
    let stage = Stage::new();
    fs::write(stage.at("cast/a.glb"), "nothing of the kind").unwrap();
    let man = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models/CesiumMan.glb");
    fs::copy(man, stage.at("cast/b.glb")).unwrap();
    fs::copy(stage.at("cast/fox.glb"), stage.at("cast/vixen.glb")).unwrap();
    stage
}

const WORDS: &str = "batch cast --rig rigs/tail.ron --out-dir out --report r.json";

#[test]
fn the_others_are_baked_when_some_fail() {
    let stage = with_failures();
    let error = stage.fails(&format!("{WORDS} -q"), 1);
    assert_eq!(
        stage.states("r.json"),
        ["failed", "failed", "done", "done", "done"]
    );
    assert_eq!(
        stage.names("out"),
        ["fox.tail.glb", "kit.tail.glb", "vixen.tail.glb"]
    );
    // In full: the file, the place, what was found.
    assert!(
        error.contains("job 1 failed: cast/a.glb × rigs/tail.ron"),
        "{error}"
    );
    assert!(
        error.contains("job 2 failed: cast/b.glb × rigs/tail.ron"),
        "{error}"
    );
    assert!(
        error.contains("cast/a.glb: JSON text") || error.contains("cast/a.glb: "),
        "{error}"
    );
    assert!(
        error.contains("rigs/tail.ron") && error.contains("b_Tail01_012"),
        "{error}"
    );
    let report = stage.json("r.json");
    assert!(
        report["jobs"][1]["error"]
            .as_str()
            .unwrap()
            .contains("b_Tail01_012")
    );
    assert_eq!(report["totals"]["failed"], 2);
    let table = stage.run("batch cast --rig rigs/tail.ron --out-dir again");
    let table = String::from_utf8(table.stdout).unwrap();
    assert!(table.contains("failed: rigs/tail.ron: "), "{table}");
    assert!(table.contains("5 jobs: 3 done, 2 failed;"), "{table}");
}

#[test]
fn after_a_failure_fail_fast_begins_nothing_more() {
    let stage = with_failures();
    stage.fails(&format!("{WORDS} -q --fail-fast --jobs 1"), 1);
    // Planning saw the first two fail.
    assert_eq!(
        stage.states("r.json"),
        ["failed", "failed", "not_run", "not_run", "not_run"]
    );
    assert!(stage.names("out").is_empty());
    // What is mended is finished by --resume.
    fs::remove_file(stage.at("cast/a.glb")).unwrap();
    fs::copy(stage.at("cast/fox.glb"), stage.at("cast/b.glb")).unwrap();
    stage.ok(&format!("{WORDS} -q --resume"));
    assert_eq!(stage.states("r.json"), ["done"; 4]);
}

#[test]
fn fail_fast_also_stops_after_a_job_that_fails_when_it_runs() {
    let stage = with_failures();
    fs::remove_file(stage.at("cast/a.glb")).unwrap();
    // Planning reads `b.glb` well; that it has no tail shows when its job runs, the first of four.
    stage.fails(&format!("{WORDS} -q --fail-fast --jobs 1"), 1);
    let states = stage.states("r.json");
    assert_eq!(states[0], "failed");
    // A second worker may have begun while the first one wrote or failed; never all of them.
    assert!(states.iter().any(|state| state == "not_run"), "{states:?}");
    let there = states.iter().filter(|state| *state == "done").count();
    assert_eq!(stage.names("out").len(), there);
}

#[test]
fn a_job_that_failed_is_tried_again_by_resume() {
    let stage = with_failures();
    stage.fails(&format!("{WORDS} -q"), 1);
    let whole = stage.files("out");
    fs::copy(stage.at("cast/fox.glb"), stage.at("cast/a.glb")).unwrap();
    let error = stage.fails(&format!("{WORDS} -q --resume"), 1);
    assert!(!error.contains("job 1 failed"), "{error}");
    assert_eq!(
        stage.states("r.json"),
        ["done", "failed", "done", "done", "done"]
    );
    let times = stage.json("r.json")["timing"]["jobs"].clone();
    let baked: Vec<u64> = times
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["number"].as_u64().unwrap())
        .collect();
    assert_eq!(baked, [1], "the others were there, or known to fail");
    assert!(
        whole
            .iter()
            .all(|(name, bytes)| stage.files("out")[name] == *bytes)
    );
}

#[test]
fn a_dry_run_says_what_would_be_done_and_writes_nothing() {
    let stage = with_failures();
    let printed = stage.ok(&format!("{WORDS} --dry-run"));
    assert!(printed.contains("fail: cast/a.glb: "), "{printed}");
    assert!(printed.contains("fail: rigs/tail.ron: "), "{printed}");
    assert_eq!(printed.matches("bake: new").count(), 3, "{printed}");
    assert!(!stage.at("out").exists() && !stage.at("r.json").exists());
    stage.fails(&format!("{WORDS} -q"), 1);
    let before = (stage.files("out"), fs::read(stage.at("r.json")).unwrap());
    let journal = fs::read(stage.at("out/.flounce/batch.jsonl")).unwrap();
    let printed = stage.ok(&format!("{WORDS} --dry-run --resume"));
    assert_eq!(printed.matches("keep: up to date").count(), 3, "{printed}");
    // What a real run refuses, this one does as well.
    let refused = stage.run(&format!("{WORDS} --dry-run"));
    let printed = String::from_utf8(refused.stdout).unwrap();
    assert_eq!(refused.status.code(), Some(2), "{printed}");
    assert_eq!(printed.matches("refuse: ").count(), 3, "{printed}");
    assert!(printed.contains("\nnothing would run: "), "{printed}");
    assert!(before == (stage.files("out"), fs::read(stage.at("r.json")).unwrap()));
    assert!(journal == fs::read(stage.at("out/.flounce/batch.jsonl")).unwrap());
}

#[test]
fn a_clip_that_one_model_lacks_fails_its_job_alone() {
    let stage = Stage::new();
    let error = stage.fails(&format!("{WORDS} -q --clip Survey"), 1);
    assert!(
        error.contains("cast/deep/kit.glb: no clip \"Survey\""),
        "{error}"
    );
    assert_eq!(stage.states("r.json"), ["failed", "done"]);
}
