//! Models × rigs × clips: order, names, and the bytes of single bakes.

use std::fs;

use crate::Stage;

const BOTH: &str = "--rig rigs/tail.ron rigs/soft.ron";

#[test]
fn outputs_are_those_of_single_bakes_on_any_number_of_threads() {
    let stage = Stage::new();
    let options = "--rate 30 --tolerance-deg 0.1 --profile prewarm=3";
    fs::create_dir(stage.at("single")).unwrap();
    for (model, name) in [("cast/fox.glb", "fox"), ("cast/deep/kit.glb", "kit")] {
        for rig in ["tail", "soft"] {
            stage.ok(&format!(
                "bake {model} --rig rigs/{rig}.ron {options} -o single/{name}.{rig}.glb -q"
            ));
        }
    }
    let single = stage.files("single");
    assert_eq!(single.len(), 4);
    for jobs in [1, 2, 5] {
        stage.ok(&format!(
            "batch cast {BOTH} {options} --out-dir out{jobs} --jobs {jobs} -q"
        ));
        let found = stage.files(&format!("out{jobs}"));
        assert_eq!(
            found.keys().collect::<Vec<_>>(),
            single.keys().collect::<Vec<_>>()
        );
        for (name, bytes) in &single {
            assert!(found[name] == *bytes, "{name}, {jobs} threads");
        }
    }
}

#[test]
fn a_clip_in_the_name_makes_a_job_of_each_clip() {
    let stage = Stage::new();
    fs::create_dir(stage.at("single")).unwrap();
    for (index, clip) in ["Survey", "Walk", "Run"].iter().enumerate() {
        stage.ok(&format!(
            "bake cast/fox.glb --rig rigs/tail.ron --clip #{index} -o single/fox-{clip}.glb -q"
        ));
    }
    stage.ok("batch cast/fox.glb --rig rigs/tail.ron --out-dir out --name {model}-{clip}.{ext} --report r.json -q");
    assert!(stage.files("out") == stage.files("single"));
    let report = stage.json("r.json");
    for (index, clip) in ["Survey", "Walk", "Run"].iter().enumerate() {
        let job = &report["jobs"][index];
        assert_eq!(job["clip"], *clip);
        assert_eq!(job["number"], index + 1);
        assert_eq!(job["clips"], 1);
    }
    // Only those that were asked for.
    stage.ok("batch cast/fox.glb --rig rigs/tail.ron --clip Run --clip #1 --out-dir two --name {index}-{clip}.{ext} -q");
    assert_eq!(stage.names("two"), ["1-Walk.glb", "2-Run.glb"]);
}

#[test]
fn a_text_model_takes_its_files_along() {
    let stage = Stage::new().with_text_model();
    fs::create_dir(stage.at("single")).unwrap();
    stage.ok("bake cast/man.gltf --rig rigs/arms.ron -o single/man.arms.gltf -q");
    fs::copy(stage.at("rigs/arms.ron"), stage.at("rigs/legs.ron")).unwrap();
    stage.ok("bake cast/man.gltf --rig rigs/legs.ron -o single/man.legs.gltf -q");
    // Both jobs need the same copies, at the same time.
    stage.ok("batch cast/man.gltf --rig rigs/arms.ron rigs/legs.ron --out-dir out --jobs 2 --report r.json -q");
    assert!(
        stage.files("out") == stage.files("single"),
        "{:?}",
        stage.names("out")
    );
    let files = stage.json("r.json")["jobs"][0]["files"].clone();
    let names: Vec<&str> = files
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["file"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "CesiumMan_data.bin",
            "CesiumMan_img0.jpg",
            "man.arms.baked.bin",
            "man.arms.gltf"
        ]
    );
}

#[test]
fn jobs_come_by_model_then_rig_and_each_model_once() {
    let stage = Stage::new();
    fs::write(stage.at("list.txt"), "# twice\ncast/fox.glb\n").unwrap();
    let printed = stage.ok(
        "batch cast/fox.glb cast @list.txt cast/**/*.glb --rig rigs/tail.ron rigs/soft.ron --out-dir out --name {folder}/{index}.{rig}.{ext} --dry-run",
    );
    let jobs: Vec<&str> = printed.lines().skip(1).take(4).collect();
    for (line, expected) in jobs.iter().zip([
        [
            "1 cast/deep/kit.glb × rigs/tail.ron",
            "deep/1.tail.glb",
            "bake: new",
        ],
        [
            "2 cast/deep/kit.glb × rigs/soft.ron",
            "deep/2.soft.glb",
            "bake: new",
        ],
        ["3 cast/fox.glb × rigs/tail.ron", "3.tail.glb", "bake: new"],
        ["4 cast/fox.glb × rigs/soft.ron", "4.soft.glb", "bake: new"],
    ]) {
        assert!(expected.iter().all(|part| line.contains(part)), "{printed}");
    }
    assert!(
        printed.contains("4 of 4 jobs would be baked; nothing was written"),
        "{printed}"
    );
    assert!(!stage.at("out").exists());
}

#[test]
fn outputs_beside_their_models_are_no_inputs_of_the_next_run() {
    let stage = Stage::new();
    let words = "batch cast --rig rigs/tail.ron --out-dir cast --name {folder}/{model}.{rig}.{ext}";
    stage.ok(&format!("{words} -q"));
    let names = [
        "deep/kit.glb",
        "deep/kit.tail.glb",
        "fox.glb",
        "fox.tail.glb",
    ];
    assert_eq!(stage.names("cast"), names);
    let again = stage.ok(&format!("{words} --skip-existing"));
    assert!(again.contains("2 jobs: 0 done, 2 skipped"), "{again}");
    // An output folder inside of the models' folder is not looked into at all.
    stage
        .ok("batch cast --rig rigs/soft.ron --out-dir cast/baked -q --name {folder}/{model}.{ext}");
    fs::remove_dir_all(stage.at("cast/baked/.flounce")).unwrap();
    let listed = stage.ok("batch cast --rig rigs/soft.ron --out-dir cast/baked --dry-run --force");
    assert!(!listed.contains("cast/baked/"), "{listed}");
}

#[test]
fn the_table_has_a_line_for_each_job() {
    let stage = Stage::new();
    let printed = stage.ok(&format!("batch cast {BOTH} --out-dir out --clip Walk"));
    let header = printed.lines().next().unwrap();
    for title in ["job", "clips", "frames", "ms", "size", "state"] {
        assert!(header.contains(title), "{printed}");
    }
    for line in [
        "1 kit.tail.glb",
        "2 kit.soft.glb",
        "3 fox.tail.glb",
        "4 fox.soft.glb",
    ] {
        assert!(printed.contains(line), "{printed}");
    }
    assert!(printed.contains("4 jobs: 4 done; 176 frames"), "{printed}");
}
