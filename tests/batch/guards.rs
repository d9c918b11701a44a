//! What a batch would destroy, bake twice or leave out without a word, it refuses or says.

use std::fs;

use crate::Stage;

const WORDS: &str = "batch cast/fox.glb --rig rigs/tail.ron --clip Walk --out-dir out -q";

#[test]
fn a_report_is_written_over_a_report_and_nothing_else() {
    let stage = Stage::new().with_text_model();
    stage.ok(&format!("{WORDS} --report out/deep/r.json"));
    stage.ok(&format!("{WORDS} --force --report out/deep/r.json"));
    fs::write(stage.at("empty.json"), "").unwrap();
    stage.ok(&format!("{WORDS} --force --report empty.json"));
    fs::write(stage.at("notes.json"), "{\"schema\": \"mine\"}").unwrap();
    fs::write(stage.at("FOREIGN"), "x").unwrap();
    let before = stage.files(".");
    let journal = fs::read(stage.at("out/.flounce/batch.jsonl")).unwrap();
    for (report, expected) in [
        (
            "out/fox.tail.glb",
            "found the output of cast/fox.glb × rigs/tail.ron there",
        ),
        ("OUT/../out/FOX.tail.glb/r.json", "found the output of"),
        ("out/.flounce/batch.jsonl", "is among the ledgers"),
        ("out/.flounce/new.json", "is among the ledgers"),
        ("cast/CesiumMan_img0.jpg", "exists and is no report"),
        ("notes.json", "exists and is no report"),
        ("FOREIGN", "exists and is no report"),
        ("cast", "is no file"),
        ("else/r.json", "does not exist"),
    ] {
        let refused = stage.fails(&format!("{WORDS} --force --report {report}"), 2);
        assert!(refused.contains(expected), "{report}: {refused}");
        let mergeable = report.starts_with("OUT") || report == "out/fox.tail.glb";
        if !mergeable {
            let refused = stage.fails(&format!("merge empty.json -o {report}"), 2);
            assert!(refused.contains(expected), "{report}: {refused}");
        }
    }
    stage.fails("merge empty.json -o out/fox.tail.glb", 2);
    assert!(before == stage.files("."));
    assert!(journal == fs::read(stage.at("out/.flounce/batch.jsonl")).unwrap());
    // Outputs and copies that are not there yet.
    let words = "batch cast/man.gltf --rig rigs/arms.ron --out-dir new -q --report new";
    for file in ["man.arms.gltf", "man.arms.baked.bin", "cesiumman_img0.jpg"] {
        let refused = stage.fails(&format!("{words}/{file}"), 2);
        assert!(refused.contains("found the output of"), "{file}: {refused}");
    }
    assert!(!stage.at("new").exists());
}

#[test]
fn what_a_batch_wrote_elsewhere_is_not_baked_again() {
    let stage = Stage::new();
    let words = "batch cast --rig rigs/tail.ron --clip Walk";
    stage.ok(&format!("{words} --out-dir cast/out1 -q"));
    let listed = stage.ok(&format!("{words} --out-dir cast/out2 --dry-run"));
    assert!(listed.contains("2 of 2 jobs would be baked"), "{listed}");
    // Named, it is a model as any other.
    let named = "batch cast/out1/fox.tail.glb --rig rigs/soft.ron --clip Walk --out-dir two";
    stage.ok(&format!("{named} --dry-run"));
    let refused = stage.fails("batch cast/out1 --rig rigs/soft.ron --out-dir two", 2);
    assert!(refused.contains("found 2 outputs of a batch"), "{refused}");
}

#[test]
fn a_dry_run_knows_names_that_do_not_fit() {
    let stage = Stage::new();
    let words = "batch cast --rig rigs/tail.ron --out-dir out --name {model}.{rig}";
    let listed = stage.ok(&format!("{words} --dry-run"));
    assert_eq!(listed.matches("fail: out/").count(), 2, "{listed}");
    assert!(listed.contains("0 of 2 jobs would be baked"), "{listed}");
    stage.fails(&format!("{words} -q"), 1);
    let long = "a".repeat(256);
    for name in [format!("{long}.glb"), format!("{long}/{{model}}.glb")] {
        let words = format!("batch cast/fox.glb --rig rigs/tail.ron --out-dir out --name {name}");
        let refused = stage.fails(&words, 2);
        assert!(
            refused.contains("expected at most 255; shorten"),
            "{refused}"
        );
    }
    // As soon as the names are filled in.
    fs::copy(stage.at("cast/fox.glb"), stage.at("cast/flounce.glb")).unwrap();
    let words = "batch cast --rig rigs/tail.ron --out-dir out --name .{model}/{rig}.glb";
    let refused = stage.fails(words, 2);
    assert!(refused.contains("would be in .flounce"), "{refused}");
    assert!(!stage.at("out/.flounce").exists());
}

#[test]
fn a_plan_warns_of_jobs_that_will_fail() {
    let stage = Stage::new().with_text_model();
    let words = "plan cast --rig rigs/tail.ron --out-dir out -o m.json";
    let planned = stage.run(words);
    let error = String::from_utf8(planned.stderr).unwrap();
    assert!(planned.status.success(), "{error}");
    assert!(
        error.contains("warning: job 3 (cast/man.gltf × rigs/tail.ron) will fail: "),
        "{error}"
    );
    let listed = stage.ok("batch --manifest m.json --dry-run");
    assert!(listed.contains("rigs fit was not checked"), "{listed}");
}

#[test]
fn models_behind_rigs_are_missed_by_name() {
    let stage = Stage::new();
    let refused = stage.fails("batch --rig rigs/tail.ron cast/fox.glb --out-dir out", 2);
    for part in [
        "found no INPUT, expected models before --rig",
        "takes all words up to the next option: rigs/tail.ron cast/fox.glb",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}

#[test]
fn a_run_beside_another_is_misuse() {
    let stage = Stage::new();
    fs::create_dir_all(stage.at("out/.flounce")).unwrap();
    let journal = fs::File::create(stage.at("out/.flounce/batch.jsonl")).unwrap();
    journal.lock().unwrap();
    let refused = stage.fails(WORDS, 2);
    assert!(refused.contains("is at work in this folder;"), "{refused}");
}

#[test]
fn threads_have_a_limit_and_jobs_their_lines() {
    let stage = Stage::new();
    let words = "batch cast --rig rigs/tail.ron --clip Walk --out-dir out --jobs 60000";
    let error = String::from_utf8(stage.run(words).stderr).unwrap();
    assert!(error.contains("threads instead of 60000: 4 per"), "{error}");
    assert!(
        error.contains("done: kit.tail.glb (") && error.contains("(2 of 2)"),
        "{error}"
    );
    let quiet = stage.run(&format!("{WORDS} --force"));
    assert!(quiet.stderr.is_empty());
}

#[test]
fn failures_of_a_long_table_are_repeated_at_its_end() {
    let stage = Stage::new();
    for model in 0..21 {
        fs::write(stage.at(&format!("cast/{model:02}.glb")), "none").unwrap();
    }
    let words = "batch cast --rig rigs/tail.ron --clip Walk --out-dir out";
    let printed = String::from_utf8(stage.run(words).stdout).unwrap();
    let (_, end) = printed.split_once("23 jobs: 2 done, 21 failed").unwrap();
    assert!(end.contains("\nfailed: 1 00.tail.glb: "), "{printed}");
    assert!(end.ends_with("failed: … and 1 more\n"), "{printed}");
}
