//! What was written before: decided by content, not by time.

use std::fs;
use std::time::{Duration, SystemTime};

use crate::{Stage, renamed};

const WORDS: &str = "batch cast --rig rigs/tail.ron rigs/soft.ron --clip Walk --out-dir out";

fn states(stage: &Stage, more: &str) -> Vec<String> {
    stage.ok(&format!("{WORDS} {more} --report r.json -q"));
    stage.states("r.json")
}

#[test]
fn what_is_up_to_date_is_skipped_whatever_its_times_are() {
    let stage = Stage::new();
    assert_eq!(states(&stage, ""), ["done"; 4]);
    let first = stage.files("out");
    // Newer inputs, older outputs, another name of the folder: the same content.
    for (file, time) in [
        ("cast/fox.glb", 9_000_000_000),
        ("rigs/tail.ron", 9_000_000_000),
        ("out/fox.tail.glb", 1),
    ] {
        let file = fs::File::options()
            .append(true)
            .open(stage.at(file))
            .unwrap();
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(time))
            .unwrap();
    }
    fs::rename(stage.at("out"), stage.at("moved")).unwrap();
    let moved = WORDS.replace("--out-dir out", "--out-dir moved");
    stage.ok(&format!("{moved} --skip-existing --report r.json -q"));
    assert_eq!(stage.states("r.json"), ["skipped"; 4]);
    assert!(stage.files("moved") == first && !stage.at("out").exists());
    let report = stage.json("r.json");
    assert_eq!(report["totals"]["skipped"], 4);
    assert!(report["jobs"][0]["files"][0]["hash"].is_string());
}

#[test]
fn what_hangs_on_a_change_is_done_again_and_nothing_else() {
    let stage = Stage::new();
    states(&stage, "");
    // A rig: its jobs.
    stage.rig("soft", "0.5");
    assert_eq!(
        states(&stage, "--skip-existing"),
        ["skipped", "done", "skipped", "done"]
    );
    assert_eq!(states(&stage, "--skip-existing"), ["skipped"; 4]);
    // A model: its jobs.
    let fox = fs::read(stage.at("cast/fox.glb")).unwrap();
    fs::write(
        stage.at("cast/fox.glb"),
        renamed(&fox, b"\"Survey\"", b"\"Survex\""),
    )
    .unwrap();
    let again = stage.ok(&format!("{WORDS} --skip-existing --dry-run"));
    assert_eq!(again.matches("keep: up to date").count(), 2, "{again}");
    assert_eq!(
        again
            .matches("bake: inputs, options or version changed")
            .count(),
        2,
        "{again}"
    );
    assert_eq!(
        states(&stage, "--skip-existing"),
        ["skipped", "skipped", "done", "done"]
    );
    // An option: all. And back: the first outputs are gone.
    assert_eq!(states(&stage, "--skip-existing --rate 30"), ["done"; 4]);
    assert_eq!(states(&stage, "--skip-existing"), ["done"; 4]);
}

#[test]
fn outputs_that_were_cut_edited_or_removed_are_done_again() {
    let stage = Stage::new();
    states(&stage, "");
    let first = stage.files("out");
    let cut = &first["kit.tail.glb"][..1000];
    fs::write(stage.at("out/kit.tail.glb"), cut).unwrap();
    let mut edited = first["kit.soft.glb"].clone();
    *edited.last_mut().unwrap() ^= 1;
    fs::write(stage.at("out/kit.soft.glb"), edited).unwrap();
    fs::remove_file(stage.at("out/fox.tail.glb")).unwrap();
    let listed = stage.ok(&format!("{WORDS} --skip-existing --dry-run"));
    assert_eq!(
        listed.matches("bake: output unfinished or changed").count(),
        2,
        "{listed}"
    );
    assert_eq!(listed.matches("bake: new").count(), 1, "{listed}");
    let output = stage.run(&format!("{WORDS} --skip-existing --report r.json -q"));
    assert_eq!(stage.states("r.json"), ["done", "done", "done", "skipped"]);
    assert!(stage.files("out") == first);
    // What somebody did to them is gone, so that they are named.
    let said = String::from_utf8(output.stderr).unwrap();
    let warnings = said.matches("changed since a batch wrote it, overwritten");
    assert_eq!(warnings.count(), 2, "{said}");
    for name in ["out/kit.tail.glb: changed", "out/kit.soft.glb: changed"] {
        assert!(said.contains(name), "{said}");
    }
    let output = stage.run(&format!("{WORDS} --force -q"));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!said.contains("changed since"), "{said}");
}

#[test]
fn a_file_that_a_text_model_refers_to_counts_as_its_content() {
    let stage = Stage::new().with_text_model();
    let words =
        "batch cast/man.gltf --rig rigs/arms.ron --out-dir out --report r.json -q --skip-existing";
    stage.ok(words);
    stage.ok(words);
    assert_eq!(stage.states("r.json"), ["skipped"]);
    for file in ["out/man.arms.baked.bin", "out/CesiumMan_img0.jpg"] {
        fs::remove_file(stage.at(file)).unwrap();
        stage.ok(words);
        assert_eq!(stage.states("r.json"), ["done"], "{file}");
    }
    let mut image = fs::read(stage.at("cast/CesiumMan_img0.jpg")).unwrap();
    image.push(0);
    fs::write(stage.at("cast/CesiumMan_img0.jpg"), &image).unwrap();
    stage.ok(words);
    assert_eq!(stage.states("r.json"), ["done"]);
    assert!(stage.files("out")["CesiumMan_img0.jpg"] == image);
}

#[test]
fn files_that_no_batch_wrote_are_overwritten_only_by_force() {
    let stage = Stage::new();
    fs::create_dir(stage.at("out")).unwrap();
    fs::write(stage.at("out/fox.tail.glb"), "mine").unwrap();
    for more in ["", "--skip-existing", "--resume"] {
        let refused = stage.fails(&format!("{WORDS} {more} -q"), 2);
        assert!(
            refused.contains("fox.tail.glb: exists already;"),
            "{refused}"
        );
        assert_eq!(stage.names("out"), ["fox.tail.glb"], "nothing ran");
    }
    assert_eq!(states(&stage, "--skip-existing --force"), ["done"; 4]);
    assert_ne!(stage.files("out")["fox.tail.glb"], b"mine");
    assert_eq!(states(&stage, "--skip-existing"), ["skipped"; 4]);
    // Without a word about what exists everything is refused, by force everything is done.
    let refused = stage.fails(&format!("{WORDS} -q"), 2);
    assert!(refused.contains("(and 3 more outputs)"), "{refused}");
    assert_eq!(states(&stage, "--force"), ["done"; 4]);
}

#[test]
fn the_way_that_clips_are_asked_for_does_not_matter() {
    let stage = Stage::new();
    let words = "batch cast/fox.glb --rig rigs/tail.ron --out-dir out --name {model}.{clip}.{ext}";
    let run = |more: &str| {
        stage.ok(&format!(
            "{words} {more} --skip-existing --report r.json -q"
        ));
        stage.states("r.json")
    };
    assert_eq!(run("--clip Walk"), ["done"]);
    assert_eq!(run("--clip Walk --clip Run"), ["skipped", "done"]);
    assert_eq!(run("--clip #1 --seconds 9"), ["skipped"]);
    assert_eq!(run(""), ["done", "skipped", "skipped"]);
}

#[test]
fn what_a_run_never_came_to_write_is_nobodys() {
    let stage = Stage::new();
    // It fails when it runs: a rig of joints that the model does not have.
    fs::copy(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/rigs/cesium_man.ron"),
        stage.at("rigs/a.ron"),
    )
    .unwrap();
    let words = "batch cast/fox.glb --rig rigs --out-dir out -q";
    stage.fails(&format!("{words} --fail-fast --jobs 1"), 1);
    assert!(stage.names("out").is_empty());
    fs::write(stage.at("out/fox.tail.glb"), "mine").unwrap();
    let refused = stage.fails(&format!("{words} --resume"), 2);
    assert!(
        refused.contains("fox.tail.glb: exists already"),
        "{refused}"
    );
    assert_eq!(stage.files("out")["fox.tail.glb"], b"mine");
}

#[test]
fn in_the_place_of_a_missing_file_a_stranger_may_lie() {
    let stage = Stage::new().with_text_model();
    fs::remove_file(stage.at("cast/CesiumMan_img0.jpg")).unwrap();
    fs::create_dir(stage.at("out")).unwrap();
    fs::write(stage.at("out/CesiumMan_img0.jpg"), "mine").unwrap();
    stage.ok("batch cast/man.gltf --rig rigs/arms.ron --out-dir out -q");
    assert_eq!(stage.files("out")["CesiumMan_img0.jpg"], b"mine");
}
