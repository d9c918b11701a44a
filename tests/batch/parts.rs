//! Manifests, shards, ranges and merging: many machines give the bytes of one.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::Stage;

/// A stage with a manifest of six jobs in `jobs/m.json`, outputs in `out`.
fn planned() -> Stage {
    let stage = Stage::new().with_text_model();
    fs::create_dir(stage.at("jobs")).unwrap();
    fs::remove_file(stage.at("cast/man.gltf")).unwrap();
    stage.rig("hard", "3");
    stage.ok("plan cast --rig rigs/tail.ron rigs/soft.ron rigs/hard.ron --clip Walk --clip Run --out-dir out -o jobs/m.json -q");
    stage
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

#[test]
fn shards_on_other_machines_and_a_merge_give_the_bytes_of_one_process() {
    let stage = planned();
    stage.ok("batch --manifest jobs/m.json --report one.json -q");
    let (files, report) = (stage.files("out"), stage.merged("one.json"));
    assert_eq!(files.len(), 6);
    for shards in [1, 2, 4, 9] {
        // The tree is mounted elsewhere, and commands run somewhere else in it.
        let elsewhere = Stage::new();
        for folder in ["cast", "rigs", "jobs"] {
            copy(&stage.at(folder), &elsewhere.at("mnt/farm").join(folder));
        }
        let mut parts = String::new();
        for index in (1..=shards).rev() {
            elsewhere.ok(&format!(
                "batch --manifest mnt/farm/jobs/m.json --shard {index}/{shards} --report part{index}.json -q"
            ));
            parts += &format!("part{index}.json ");
        }
        assert!(elsewhere.files("mnt/farm/out") == files, "{shards} shards");
        let merged = elsewhere.merged(&format!("{parts} --manifest mnt/farm/jobs/m.json"));
        assert_eq!(merged, report, "{shards} shards");
    }
}

#[test]
fn ranges_and_the_whole_are_the_same_jobs() {
    let stage = planned();
    stage.ok("batch --manifest jobs/m.json --report one.json -q");
    let report = stage.merged("one.json");
    for (index, range) in ["1-1", "2-4", "5-6"].iter().enumerate() {
        stage.ok(&format!("batch --manifest jobs/m.json --range {range} --out-dir ranges --report r{index}.json -q"));
    }
    assert!(stage.files("ranges") == stage.files("out"));
    assert_eq!(stage.merged("r2.json r0.json r1.json"), report);
    let refused = stage.fails("batch --manifest jobs/m.json --range 2-7 --out-dir x", 2);
    assert!(refused.contains("the manifest has 6 jobs"), "{refused}");
}

#[test]
fn a_plan_is_the_same_again_and_a_direct_run_writes_the_same() {
    let stage = planned();
    let words = "cast --rig rigs/tail.ron rigs/soft.ron rigs/hard.ron --clip Walk --clip Run";
    stage.ok(&format!("plan {words} --out-dir out -o jobs/again.json -q"));
    let [a, b] = ["jobs/m.json", "jobs/again.json"].map(|file| fs::read(stage.at(file)).unwrap());
    assert_eq!(a, b);
    let manifest = stage.json("jobs/m.json");
    assert_eq!(manifest["schema"], "flounce.manifest");
    assert_eq!(manifest["models"][0]["file"], "../cast/deep/kit.glb");
    assert_eq!(manifest["out_dir"], "../out");
    stage.ok("batch --manifest jobs/m.json -q");
    stage.ok(&format!("batch {words} --out-dir direct -q"));
    assert!(stage.files("out") == stage.files("direct"));
    let refused = stage.fails(&format!("plan {words} --out-dir out -o jobs/m.json"), 2);
    assert!(refused.contains("exists already; --force"), "{refused}");
}

#[test]
fn a_manifest_that_was_edited_is_refused_and_a_file_that_changed_fails_its_jobs() {
    let stage = planned();
    let text = fs::read_to_string(stage.at("jobs/m.json")).unwrap();
    fs::write(stage.at("jobs/edited.json"), text.replace("60.0", "30.0")).unwrap();
    let refused = stage.fails("batch --manifest jobs/edited.json", 2);
    assert!(
        refused.contains("it was edited or cut since it was planned"),
        "{refused}"
    );
    let refused = stage.fails("batch --manifest rigs/tail.ron", 2);
    assert!(refused.contains("no JSON"), "{refused}");
    stage.rig("soft", "0.4");
    let error = stage.fails("batch --manifest jobs/m.json --report r.json -q", 1);
    assert!(
        error.contains("soft.ron: changed since it was planned: found content"),
        "{error}"
    );
    assert_eq!(
        stage.states("r.json"),
        ["done", "failed", "done", "done", "failed", "done"]
    );
    fs::remove_file(stage.at("cast/fox.glb")).unwrap();
    let error = stage.fails(
        "batch --manifest jobs/m.json --out-dir new --report r.json -q",
        1,
    );
    assert!(error.contains("fox.glb: cannot read"), "{error}");
    assert_eq!(
        stage.states("r.json"),
        ["done", "failed", "done", "failed", "failed", "failed"]
    );
}

#[test]
fn a_plan_of_what_cannot_be_read_is_refused() {
    let stage = Stage::new();
    fs::write(stage.at("cast/broken.glb"), "x").unwrap();
    fs::write(stage.at("rigs/broken.ron"), "(version: 1, chain: [])").unwrap();
    let error = stage.fails(
        "plan cast --rig rigs/tail.ron rigs/broken.ron --out-dir out -o m.json",
        1,
    );
    assert!(
        error.contains("cast/broken.glb: ") && error.contains("broken.ron:1:"),
        "{error}"
    );
    assert!(!stage.at("m.json").exists());
}

#[test]
fn merging_names_what_is_missing_twice_or_of_another_manifest() {
    let stage = planned();
    for (index, range) in ["1-2", "3-4", "2-3"].iter().enumerate() {
        stage.ok(&format!("batch --manifest jobs/m.json --range {range} --out-dir out{index} --report r{index}.json -q"));
    }
    let refused = stage.fails(
        "merge r0.json r1.json -o all.json --manifest jobs/m.json",
        1,
    );
    assert!(
        refused.contains("2 jobs of 6 in no report: 5 (fox.soft.glb), 6 (fox.hard.glb); --partial"),
        "{refused}"
    );
    assert!(!stage.at("all.json").exists());
    stage.fails("merge r0.json r1.json -o some.json --partial -q", 1);
    assert_eq!(stage.states("some.json"), ["done"; 4]);
    // The same result twice is one; another one is not.
    stage.fails(
        "merge r0.json r1.json r2.json -o again.json --partial -q",
        1,
    );
    assert_eq!(stage.json("again.json"), stage.json("some.json"));
    let mut report = stage.json("r2.json");
    report["jobs"][0]["files"][0]["hash"] = Value::from("00");
    fs::write(stage.at("r2.json"), report.to_string()).unwrap();
    let refused = stage.fails("merge r0.json r1.json r2.json -o x.json --partial", 1);
    assert!(
        refused.contains("job 2 (kit.soft.glb): r0.json and r2.json have different files"),
        "{refused}"
    );
    stage.ok("plan cast --rig rigs/tail.ron --out-dir out -o jobs/other.json -q");
    stage.ok("batch --manifest jobs/other.json --range 1-1 --out-dir other --report other.json -q");
    let refused = stage.fails("merge r0.json other.json -o x.json --partial", 1);
    assert!(
        refused.contains("other.json: is of the manifest"),
        "{refused}"
    );
    let refused = stage.fails(
        "merge r0.json -o x.json --partial --manifest jobs/other.json",
        1,
    );
    assert!(
        refused.contains("r0.json: is not of this manifest"),
        "{refused}"
    );
    let refused = stage.fails("merge r0.json r1.json -o r0.json --partial", 2);
    assert!(
        refused.contains("the output is the input r0.json"),
        "{refused}"
    );
}

#[test]
fn rows_do_not_hang_on_the_folder_that_a_command_runs_in() {
    let stage = Stage::new().with_text_model();
    fs::remove_file(stage.at("cast/CesiumMan_img0.jpg")).unwrap();
    fs::copy(stage.at("rigs/arms.ron"), stage.at("rigs/soft.ron")).unwrap();
    fs::create_dir(stage.at("jobs")).unwrap();
    stage.ok("plan cast/man.gltf cast/fox.glb --rig rigs/arms.ron --out-dir out -o jobs/m.json -q");
    // The fox has no arms: one warns, one fails, and both name files.
    let words = "batch --manifest m.json -q --report ../here.json --out-dir ../out";
    let mut inside = stage.command(words);
    let inside = inside.current_dir(stage.at("jobs")).output().unwrap();
    assert_eq!(inside.status.code(), Some(1));
    let manifest = stage.at("jobs/m.json");
    let absolute = format!(
        "batch --manifest {} -q --report there.json --out-dir {}",
        manifest.display(),
        stage.at("there").display()
    );
    stage.fails(&absolute, 1);
    let [here, there] = ["here.json", "there.json"].map(|file| stage.json(file)["jobs"].clone());
    let row = here
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["state"] == "done");
    let warnings = row.unwrap()["warnings"].to_string();
    assert!(
        warnings.contains(": ../cast/CesiumMan_img0.jpg is missing"),
        "{warnings}"
    );
    let failed = here
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["state"] == "failed");
    let why = failed.unwrap()["error"].as_str().unwrap();
    assert!(why.starts_with("../rigs/arms.ron"), "{why}");
    assert_eq!(here, there);
    stage.fails("merge here.json there.json -o all.json -q", 1);
    assert_eq!(stage.states("all.json"), ["failed", "done"]);
}

#[test]
fn a_part_that_was_mended_merges_with_the_one_that_failed() {
    let stage = planned();
    let soft = fs::read(stage.at("rigs/soft.ron")).unwrap();
    stage.rig("soft", "0.4");
    stage.fails("batch --manifest jobs/m.json --report a.json -q", 1);
    fs::write(stage.at("rigs/soft.ron"), soft).unwrap();
    stage.ok("batch --manifest jobs/m.json --report b.json --resume -q");
    let [ab, ba] = ["a.json b.json", "b.json a.json"].map(|parts| stage.merged(parts));
    assert_eq!(ab, ba);
    assert_eq!(stage.states("merged.json"), ["done"; 6]);
}

#[test]
fn a_second_process_waits_for_no_lock_and_touches_nothing() {
    let stage = planned();
    stage.ok("batch --manifest jobs/m.json --range 1-1 -q");
    let ledger = stage.at("out/.flounce");
    let journal = fs::read_dir(&ledger).unwrap().next().unwrap().unwrap();
    // As a process holds it that is at work.
    let held = fs::File::open(journal.path()).unwrap();
    held.lock().unwrap();
    let before = fs::read(journal.path()).unwrap();
    let words = "batch --manifest jobs/m.json --range 1-1 --force -q";
    let refused = stage.run(words);
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(!refused.status.success(), "{said}");
    assert!(said.contains("another flounce batch is at work"), "{said}");
    assert_eq!(fs::read(journal.path()).unwrap(), before);
    // Another part has a journal of its own.
    stage.ok("batch --manifest jobs/m.json --range 2-2 -q");
    drop(held);
    stage.ok(words);
}
