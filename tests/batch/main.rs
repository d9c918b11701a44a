//! Claim: a batch writes what single bakes would, whatever runs beside them, in however many parts, and wherever it is
//! stopped and started again.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(feature = "cli")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

mod existing;
mod guards;
mod parts;
mod product;
mod refusals;
mod resume;
mod states;

/// A folder with models in `cast` and rigs in `rigs`; commands run in it.
pub struct Stage {
    home: tempfile::TempDir,
}

fn scenes(path: &str) -> PathBuf {
    let scenes = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    scenes.join(path)
}

impl Default for Stage {
    fn default() -> Self {
        Self::new()
    }
}

impl Stage {
    /// `cast/fox.glb`, `cast/deep/kit.glb` (a fox of other bytes), `rigs/tail.ron` and `rigs/soft.ron` for both.
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let stage = Self { home };
        for folder in ["cast/deep", "rigs"] {
            fs::create_dir_all(stage.at(folder)).unwrap();
        }
        let fox = fs::read(scenes("models/Fox.glb")).unwrap();
        fs::write(stage.at("cast/fox.glb"), &fox).unwrap();
        fs::write(
            stage.at("cast/deep/kit.glb"),
            renamed(&fox, b"\"Survey\"", b"\"Scurry\""),
        )
        .unwrap();
        fs::copy(scenes("rigs/fox_tail.ron"), stage.at("rigs/tail.ron")).unwrap();
        stage.rig("soft", "0.9");
        stage
    }

    /// A rig of this stiffness for the fox.
    pub fn rig(&self, name: &str, stiffness: &str) {
        let tail = fs::read_to_string(scenes("rigs/fox_tail.ron")).unwrap();
        let rig = tail.replace("stiffness: 1.6", &format!("stiffness: {stiffness}"));
        fs::write(self.at(&format!("rigs/{name}.ron")), rig).unwrap();
    }

    /// `cast/man.gltf` with a buffer and an image beside it, and `rigs/arms.ron` for it.
    pub fn with_text_model(self) -> Self {
        for file in ["CesiumMan.gltf", "CesiumMan_data.bin", "CesiumMan_img0.jpg"] {
            let to = if file == "CesiumMan.gltf" {
                "man.gltf"
            } else {
                file
            };
            let from = scenes("models/CesiumMan-separate").join(file);
            fs::copy(from, self.at("cast").join(to)).unwrap();
        }
        fs::copy(scenes("rigs/cesium_man.ron"), self.at("rigs/arms.ron")).unwrap();
        self
    }

    /// The path of something in the folder.
    pub fn at(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    /// `flounce`, with words that have no spaces.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flounce"));
        command
            .args(words.split_whitespace())
            .current_dir(self.home.path());
        command
    }

    /// Whatever it ends with.
    pub fn run(&self, words: &str) -> Output {
        self.command(words).output().unwrap()
    }

    /// What it prints; it has to end with 0.
    pub fn ok(&self, words: &str) -> String {
        let output = self.run(words);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{words}: {error}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// What it says on stderr; it has to end with `code`.
    pub fn fails(&self, words: &str, code: i32) -> String {
        let output = self.run(words);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words}: {error}");
        error
    }

    /// The files below `folder` with their bytes, without ledgers.
    pub fn files(&self, folder: &str) -> BTreeMap<String, Vec<u8>> {
        let mut found = BTreeMap::new();
        collect(&self.at(folder), "", &mut found);
        found
    }

    /// Their names.
    pub fn names(&self, folder: &str) -> Vec<String> {
        self.files(folder).into_keys().collect()
    }

    /// A JSON file.
    pub fn json(&self, file: &str) -> Value {
        serde_json::from_slice(&fs::read(self.at(file)).unwrap()).unwrap()
    }

    /// A report as `merge` writes it: without times.
    pub fn merged(&self, reports: &str) -> String {
        // What an earlier merge wrote is no answer.
        let _ = fs::remove_file(self.at("merged.json"));
        self.ok(&format!("merge {reports} -o merged.json"));
        fs::read_to_string(self.at("merged.json")).unwrap()
    }

    /// How the jobs of a report ended, in its order.
    pub fn states(&self, report: &str) -> Vec<String> {
        let report = self.json(report);
        let jobs = report["jobs"].as_array().unwrap();
        let state = |job: &Value| job["state"].as_str().unwrap().to_owned();
        jobs.iter().map(state).collect()
    }
}

fn collect(folder: &Path, below: &str, found: &mut BTreeMap<String, Vec<u8>>) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let relative = format!("{below}{name}");
        if entry.path().is_dir() {
            if name != ".flounce" {
                collect(&entry.path(), &format!("{relative}/"), found);
            }
        } else {
            found.insert(relative, fs::read(entry.path()).unwrap());
        }
    }
}

/// `bytes` with one word for another of the same length.
pub fn renamed(bytes: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let at = bytes.windows(from.len()).position(|window| window == from);
    let mut renamed = bytes.to_vec();
    renamed[at.unwrap()..][..to.len()].copy_from_slice(to);
    renamed
}
