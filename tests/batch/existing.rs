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
    fs::rename(stage.at("moved"), stage.at("out")).unwrap();
    assert_eq!(states(&stage, "--skip-existing"), ["skipped"; 4]);
    assert!(stage.files("out") == first);
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
    assert_eq!(
        states(&stage, "--skip-existing"),
        ["done", "done", "done", "skipped"]
    );
    assert!(stage.files("out") == first);
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
