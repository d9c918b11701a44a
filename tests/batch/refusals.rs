//! What cannot be meant is said before anything runs, with exit code 2.

use std::fs;

use crate::Stage;

#[test]
fn misuse_is_refused_before_anything_runs() {
    let stage = Stage::new().with_text_model();
    fs::create_dir(stage.at("empty")).unwrap();
    for (words, expected) in [
        ("batch --out-dir out", "found no INPUT, expected models"),
        (
            "batch cast --out-dir out",
            "found no --rig, expected at least one rig file",
        ),
        ("batch cast --rig rigs/tail.ron", "--out-dir"),
        (
            "batch fax.glb --rig rigs/tail.ron --out-dir out",
            "fax.glb: found nothing of this name",
        ),
        (
            "batch cast/*.fbx --rig rigs/tail.ron --out-dir out",
            "cast/*.fbx: found nothing that it matches",
        ),
        (
            "batch empty --rig rigs/tail.ron --out-dir out",
            "empty: found no files in this folder",
        ),
        (
            "batch cast --rig rigs/tale.ron --out-dir out",
            "rigs/tale.ron: found nothing of this name, expected a rig",
        ),
        (
            "batch cast --rig cast/fox.glb --out-dir out",
            "this looks like a glTF file; --rig wants",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir rigs/tail.ron",
            "is a file, expected a folder",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --name {modle}",
            "found {modle}, expected {model}",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --name ../{model}.glb",
            "a name below --out-dir",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --rate 0",
            "--rate is 0.0; expected 0.1 to 1000 Hz",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --jobs 0",
            "--jobs",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --resume --skip-existing",
            "cannot be used with",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --keep-going --fail-fast",
            "cannot be used with",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --shard 1/2",
            "--manifest",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --report cast/fox.glb",
            "the output is the input",
        ),
        (
            "batch cast --rig rigs/tail.ron --out-dir out --report no/where.json",
            "does not exist",
        ),
        (
            "batch --manifest m.json --loop --out-dir out",
            "cannot be used with",
        ),
        (
            "batch --manifest m.json --profile prewarm=0 --out-dir out",
            "cannot be used with",
        ),
        (
            "batch --manifest m.json --shard 3/2 --out-dir out",
            "expected I/N with I from 1 to N",
        ),
        ("merge -o r.json", "PART.json"),
    ] {
        let refused = stage.fails(words, 2);
        assert!(refused.contains(expected), "{words}: {refused}");
        assert!(!stage.at("out").exists(), "{words}");
    }
}

#[test]
fn two_jobs_with_one_output_are_both_named() {
    let stage = Stage::new();
    let refused = stage.fails(
        "batch cast/fox.glb --rig rigs/tail.ron rigs/soft.ron --out-dir out --name {model}.{ext}",
        2,
    );
    for part in [
        "fox.glb: found two jobs",
        "cast/fox.glb × rigs/tail.ron",
        "cast/fox.glb × rigs/soft.ron",
        "{rig}",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
    // Also where they differ by case only, which some file systems do not see.
    fs::copy(stage.at("cast/fox.glb"), stage.at("cast/FOX.glb")).unwrap();
    let refused = stage.fails("batch cast --rig rigs/tail.ron --out-dir out", 2);
    assert!(refused.contains("found two jobs"), "{refused}");
    assert!(!stage.at("out").exists());
}

#[test]
fn text_models_whose_files_would_meet_are_refused() {
    let stage = Stage::new().with_text_model();
    fs::create_dir(stage.at("other")).unwrap();
    for file in ["man.gltf", "CesiumMan_data.bin", "CesiumMan_img0.jpg"] {
        fs::copy(stage.at("cast").join(file), stage.at("other").join(file)).unwrap();
    }
    fs::rename(stage.at("other/man.gltf"), stage.at("other/twin.gltf")).unwrap();
    let words = "batch cast/man.gltf other/twin.gltf --rig rigs/arms.ron --out-dir out";
    // The same content is shared.
    stage.ok(&format!("{words} --dry-run"));
    let mut image = fs::read(stage.at("other/CesiumMan_img0.jpg")).unwrap();
    image.push(0);
    fs::write(stage.at("other/CesiumMan_img0.jpg"), image).unwrap();
    let refused = stage.fails(words, 2);
    assert!(
        refused.contains("CesiumMan_img0.jpg: found two jobs"),
        "{refused}"
    );
    assert!(refused.contains("{model}/{model}"), "{refused}");
    stage.ok(&format!(
        "{words} --name {{model}}/{{model}}.{{rig}}.{{ext}} -q"
    ));
    assert_eq!(stage.names("out").len(), 8);
}

#[test]
fn an_output_is_never_an_input() {
    let stage = Stage::new();
    let before = stage.files(".");
    for words in [
        "batch cast/fox.glb --rig rigs/tail.ron --out-dir cast --name {model}.{ext} --force",
        "batch cast/fox.glb cast/deep --rig rigs/tail.ron --out-dir cast --name deep/{model}.{ext} --force",
        "batch cast/fox.glb --rig rigs/tail.ron --out-dir rigs --name {rig}.ron --force",
    ] {
        let refused = stage.fails(words, 2);
        assert!(refused.contains("is the input"), "{words}: {refused}");
        assert!(stage.files(".") == before);
    }
    // A manifest is as careful when its outputs go elsewhere.
    stage.ok(
        "plan cast/fox.glb --rig rigs/tail.ron --out-dir out --name {model}.{ext} -o m.json -q",
    );
    let refused = stage.fails("batch --manifest m.json --out-dir cast --force", 2);
    assert!(refused.contains("is the input"), "{refused}");
}

#[test]
fn a_copy_never_goes_over_the_file_of_another_model() {
    let stage = Stage::new().with_text_model();
    fs::create_dir_all(stage.at("x/man")).unwrap();
    for file in ["man.gltf", "CesiumMan_data.bin", "CesiumMan_img0.jpg"] {
        let to = stage.at("x/man").join(file.replace("man.gltf", "b.gltf"));
        fs::copy(stage.at("cast").join(file), to).unwrap();
    }
    let words = "batch cast/man.gltf x/man/b.gltf --rig rigs/arms.ron --out-dir x --name {model}/{model}.{rig}.{ext} --force -q";
    // The same content is no loss.
    stage.ok(&format!("{words} --dry-run"));
    let image = stage.at("x/man/CesiumMan_img0.jpg");
    fs::write(&image, "another image").unwrap();
    let before = stage.files(".");
    let refused = stage.fails(words, 2);
    assert!(
        refused
            .contains("a copy that the output needs of cast/man.gltf × rigs/arms.ron is the input"),
        "{refused}"
    );
    assert!(stage.files(".") == before);
    // Beside its own model each copy is itself.
    stage.ok("batch x/man/b.gltf --rig rigs/arms.ron --out-dir x/man -q");
    assert_eq!(fs::read(image).unwrap(), b"another image");
}
