//! Files that appear, whole or not at all.

use std::path::{Path, PathBuf};

use flounce::assets::Error;
use flounce::assets::container::Form;
use flounce::assets::patch::{PatchOptions, check_output, patch, refuse_same, write};
use serde_json::Value;

use crate::gltf::load;
use crate::{bake, container, models, new_clip, synthetic_bake};

/// A folder with `CesiumMan` as .gltf, a texture in a subfolder with a space in its name.
fn separate_model(folder: &Path) -> PathBuf {
    let source = models().join("CesiumMan-separate");
    std::fs::create_dir_all(folder.join("my maps")).unwrap();
    std::fs::copy(
        source.join("CesiumMan_data.bin"),
        folder.join("CesiumMan_data.bin"),
    )
    .unwrap();
    std::fs::copy(
        source.join("CesiumMan_img0.jpg"),
        folder.join("my maps/img0.jpg"),
    )
    .unwrap();
    let json = std::fs::read_to_string(source.join("CesiumMan.gltf")).unwrap();
    let json = json.replace("CesiumMan_img0.jpg", "my%20maps/img0.jpg");
    let file = folder.join("model.gltf");
    std::fs::write(&file, json).unwrap();
    file
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_text_model_takes_its_files_along_to_another_folder() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let container = load(&separate_model(from.path()));
    let clips = synthetic_bake(&container);
    let out = to.path().join("baked ä.gltf");
    let patched = patch(&container, &clips, PatchOptions::default(), &out).unwrap();
    let written = write(&patched, &out, false).unwrap();
    assert_eq!(written.files.len(), 4);
    assert_eq!(written.files[3], out);
    assert!(written.warnings.is_empty());
    assert_eq!(
        names(to.path()),
        [
            "CesiumMan_data.bin",
            "baked ä.baked.bin",
            "baked ä.gltf",
            "my maps"
        ]
    );
    for name in ["CesiumMan_data.bin", "my maps/img0.jpg"] {
        let [a, b] =
            [from.path(), to.path()].map(|folder| std::fs::read(folder.join(name)).unwrap());
        assert_eq!(a, b);
    }
    let json: Value = serde_json::from_slice(&std::fs::read(&out).unwrap()).unwrap();
    assert_eq!(json["buffers"][1]["uri"], "baked%20%C3%A4.baked.bin");
    // The copies are there already, byte for byte: a second output shares them.
    let second = to.path().join("second.gltf");
    let patched = patch(&container, &clips, PatchOptions::default(), &second).unwrap();
    assert_eq!(write(&patched, &second, false).unwrap().files.len(), 2);
}

#[test]
fn a_baked_text_model_can_be_baked_again_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = separate_model(folder.path());
    for _ in 0..2 {
        let container = load(&file);
        let patched = patch(
            &container,
            &synthetic_bake(&container),
            PatchOptions::default(),
            &file,
        )
        .unwrap();
        assert!(matches!(
            write(&patched, &file, false),
            Err(Error::Exists(_))
        ));
        write(&patched, &file, true).unwrap();
    }
    let names = names(folder.path());
    assert_eq!(
        names,
        [
            "CesiumMan_data.bin",
            "model.baked-2.bin",
            "model.baked.bin",
            "model.gltf",
            "my maps"
        ]
    );
}

#[test]
fn nothing_is_written_when_any_file_is_in_the_way() {
    let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let container = load(&separate_model(from.path()));
    let out = to.path().join("out.gltf");
    let patched = patch(
        &container,
        &synthetic_bake(&container),
        PatchOptions::default(),
        &out,
    )
    .unwrap();
    for name in ["CesiumMan_data.bin", "out.baked.bin", "out.gltf"] {
        let taken = to.path().join(name);
        std::fs::write(&taken, "mine").unwrap();
        let error = write(&patched, &out, false).unwrap_err();
        assert!(
            matches!(&error, Error::Exists(path) if *path == taken),
            "{error}"
        );
        assert_eq!(names(to.path()), [name]);
        assert_eq!(std::fs::read(&taken).unwrap(), b"mine");
        std::fs::remove_file(&taken).unwrap();
    }
}

#[test]
fn references_out_of_the_folder_hold_only_where_they_mean_the_same_file() {
    let base = tempfile::tempdir().unwrap();
    let base = base.path();
    for folder in ["in", "beside", "far/away"] {
        std::fs::create_dir_all(base.join(folder)).unwrap();
    }
    std::fs::write(base.join("shared.png"), "x").unwrap();
    std::fs::write(base.join("secret"), "x").unwrap();
    let mut container = container(
        Form::Gltf,
        ",\"images\":[{\"uri\":\"../shared.png\"}]",
        Vec::new(),
    );
    container.file = base.join("in/model.gltf");
    let out = |folder: &str| {
        let out = base.join(folder).join("out.gltf");
        let patched = patch(&container, &[new_clip(0)], PatchOptions::default(), &out).unwrap();
        write(&patched, &out, false)
    };
    assert!(out("in").is_ok());
    assert!(out("beside").is_ok());
    let error = out("far/away").unwrap_err().to_string();
    assert!(
        error.contains("/images/0 refers to \"../shared.png\""),
        "{error}"
    );
    assert!(names(&base.join("far/away")).is_empty());
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_not_copied() {
    let (base, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let base = base.path();
    std::fs::create_dir(base.join("in")).unwrap();
    std::fs::write(base.join("secret"), "x").unwrap();
    std::os::unix::fs::symlink("../secret", base.join("in/a.png")).unwrap();
    let mut container = container(Form::Gltf, ",\"images\":[{\"uri\":\"a.png\"}]", Vec::new());
    container.file = base.join("in/model.gltf");
    let out = to.path().join("out.gltf");
    let patched = patch(&container, &[new_clip(0)], PatchOptions::default(), &out).unwrap();
    let error = write(&patched, &out, false).unwrap_err().to_string();
    assert!(error.contains("leaves the model's folder"), "{error}");
    assert!(names(to.path()).is_empty());
}

#[test]
fn a_missing_image_is_a_warning_and_an_output_in_its_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut container = container(
        Form::Glb,
        ",\"images\":[{\"uri\":\"gone.png\"}]",
        Vec::new(),
    );
    container.file = "nowhere/model.glb".into();
    let patched = bake(&container, &[new_clip(0)]);
    let written = write(&patched, &folder.path().join("out.glb"), false).unwrap();
    assert!(
        written.warnings[0].contains("gone.png is missing"),
        "{:?}",
        written.warnings
    );
    let error = write(&patched, &folder.path().join("gone.png"), false).unwrap_err();
    assert!(error.to_string().contains("/images/0"), "{error}");
}

#[cfg(unix)]
#[test]
fn outputs_are_as_readable_as_other_new_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.glb");
    let patched = bake(&container(Form::Glb, "", Vec::new()), &[new_clip(0)]);
    write(&patched, &out, false).unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "").unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode();
    assert_eq!(mode(&out), mode(&plain));
    assert_eq!(names(folder.path()), ["out.glb", "plain"]);
}

#[test]
fn an_output_that_cannot_be_written_is_refused_before_the_work() {
    let folder = tempfile::tempdir().unwrap();
    let refusal = |form, name: &str| {
        let checked = check_output(form, &folder.path().join(name));
        checked.map_or_else(|error| error.to_string(), |()| "accepted".to_owned())
    };
    for (form, name) in [
        (Form::Glb, "a.glb"),
        (Form::Glb, "a.VRM"),
        (Form::Gltf, "a.gltf"),
    ] {
        assert_eq!(refusal(form, name), "accepted", "{name}");
    }
    for (form, name) in [
        (Form::Glb, "a.gltf"),
        (Form::Glb, "a"),
        (Form::Glb, "a.ron"),
        (Form::Gltf, "a.glb"),
        (Form::Gltf, "a.vrm"),
    ] {
        let found = refusal(form, name);
        assert!(
            found.contains("the output should end in ."),
            "{name}: {found}"
        );
    }
    let found = refusal(Form::Glb, "none/a.glb");
    let expected = format!(
        "folder {} does not exist",
        folder.path().join("none").display()
    );
    assert!(found.ends_with(&expected), "{found}");
}

#[test]
fn an_output_that_is_the_input_under_another_name_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rig = folder.path().join("rig.ron");
    std::fs::write(&rig, "(version: 1)").unwrap();
    std::fs::create_dir(folder.path().join("deep")).unwrap();
    let same = folder.path().join("deep/../rig.ron");
    let message = refuse_same(&same, &rig).unwrap_err().to_string();
    assert!(message.contains("choose another name"), "{message}");
    assert!(refuse_same(&folder.path().join("new.glb"), &rig).is_ok());
}
