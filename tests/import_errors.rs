//! Claim: nothing in a glTF file makes reading panic, hang or answer without a reason. *SEC-01, SEC-02, SEC-06*
//!
//! The corpus in `tests/data` is read file by file; what comes out is compared with `tests/snapshots/import.txt`.
//! After a deliberate change, `FLOUNCE_RECORD=1 cargo test --test import_errors` writes it anew. With
//! `FLOUNCE_CORPUS_DIR` set and `-- --ignored`, all files below that folder are read, without a comparison.

#![cfg(feature = "assets")]
#![expect(clippy::print_stdout, reason = "a corpus run tells what it read")]
#![expect(clippy::unwrap_used, reason = "helpers of tests stop where they fail")]

use std::fs;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use flounce::assets::Error;
use flounce::assets::container::{self, Container};
use flounce::assets::import::{Model, model, read_model};

/// Any file of the corpus reads within milliseconds; a machine that is busy has this long.
const TIME_LIMIT: Duration = Duration::from_secs(2);

fn here(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(name)
}

/// All glTF files below `folder`, in the order of their paths.
fn corpus(folder: &Path) -> Vec<PathBuf> {
    let mut folders = vec![folder.to_path_buf()];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let extension = path.extension().and_then(|extension| extension.to_str());
            match extension {
                _ if path.is_dir() => folders.push(path),
                Some("gltf" | "glb" | "vrm" | "vrma") => files.push(path),
                _ => {}
            }
        }
    }
    files.sort();
    files
}

fn from_bytes(file: &Path, bytes: &[u8]) -> Result<Model, Error> {
    model(&container::from_bytes(file, bytes.to_vec())?)
}

/// Runs `read` in the time it has, without a panic; what it refuses has file, place, found and expected.
fn answer<T>(
    file: &Path,
    read: impl FnOnce() -> Result<T, Error> + std::panic::UnwindSafe,
) -> Result<T, String> {
    let start = Instant::now();
    let result = catch_unwind(read).unwrap_or_else(|_| panic!("{}: panics", file.display()));
    let time = start.elapsed();
    assert!(time < TIME_LIMIT, "{}: {time:?}", file.display());
    result.map_err(|error| {
        let Error::Gltf {
            file: named,
            place,
            found,
            expected,
        } = &error
        else {
            panic!("{}: {error}", file.display());
        };
        assert_eq!(named, file);
        let starts = ["/", "GLB", "JSON text", "file"];
        assert!(
            starts.iter().any(|start| place.starts_with(start)),
            "{error}"
        );
        assert!(!found.is_empty() && !expected.is_empty(), "{error}");
        assert!(error.to_string().len() < 1500, "{error}");
        format!("{place}: found {found}, expected {expected}")
    })
}

#[test]
fn every_file_of_the_corpus_loads_or_is_refused_with_a_reason() {
    let folder = here("data");
    let mut lines = String::new();
    for file in corpus(&folder) {
        let name = file
            .strip_prefix(&folder)
            .unwrap()
            .to_string_lossy()
            .replace('\\', "/");
        match answer(&file, || read_model(&file)) {
            Ok((model, _)) => {
                let (joints, clips) = (model.rig.joints.len(), model.clips.len());
                lines += &format!("{name}\n  joints {joints}, clips {clips}\n");
                for warning in &model.warnings {
                    lines += &format!("  warning: {warning}\n");
                }
            }
            Err(reason) => lines += &format!("{name}\n  {reason}\n"),
        }
    }
    let snapshot = here("snapshots/import.txt");
    if std::env::var_os("FLOUNCE_RECORD").is_some() {
        fs::create_dir_all(snapshot.parent().unwrap()).unwrap();
        fs::write(&snapshot, &lines).unwrap();
    }
    let expected = fs::read_to_string(&snapshot).unwrap();
    for (line, (found, expected)) in lines.lines().zip(expected.lines()).enumerate() {
        assert_eq!(found, expected, "line {}", line + 1);
    }
    assert_eq!(lines.lines().count(), expected.lines().count());
}

#[test]
#[ignore = "reads the folder that FLOUNCE_CORPUS_DIR names"]
fn every_file_of_an_outside_corpus_answers() {
    let folder = std::env::var_os("FLOUNCE_CORPUS_DIR").expect("FLOUNCE_CORPUS_DIR names a folder");
    let files = corpus(Path::new(&folder));
    let mut loaded = 0;
    for file in &files {
        match answer(file, || read_model(file)) {
            Ok((model, _)) => {
                loaded += 1;
                println!(
                    "{}: {} joints, {:?}",
                    file.display(),
                    model.rig.joints.len(),
                    model.warnings
                );
            }
            Err(reason) => println!("{}: {reason}", file.display()),
        }
    }
    println!("{loaded} of {} files load", files.len());
}

/// Numerical Recipes' generator: the same damage on every run.
struct Lcg(u32);

impl Lcg {
    fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (self.0 >> 8) as usize % below
    }
}

#[test]
fn sec_02_a_glb_cut_anywhere_is_refused() {
    let file = here("data/other/SimpleAnimation.glb");
    let whole = fs::read(&file).unwrap();
    assert!(answer(&file, || from_bytes(&file, &whole)).is_ok());
    for length in 0..whole.len() {
        let mut cut = whole[..length].to_vec();
        assert!(
            answer(&file, || from_bytes(&file, &cut)).is_err(),
            "{length}"
        );
        // With the header put right the chunks are what is cut.
        if length >= 12 {
            cut[8..12].copy_from_slice(&(length as u32).to_le_bytes());
            assert!(
                answer(&file, || from_bytes(&file, &cut)).is_err(),
                "{length}"
            );
        }
    }
}

#[test]
fn json_text_cut_anywhere_is_refused() {
    let file = here("data/khronos/SimpleSkin-glTF-Embedded/SimpleSkin.gltf");
    let whole = fs::read(&file).unwrap();
    let end = whole.trim_ascii_end().len();
    for length in 0..end {
        assert!(
            answer(&file, || from_bytes(&file, &whole[..length])).is_err(),
            "{length}"
        );
    }
}

#[test]
fn sec_02_ten_thousand_wrong_bytes_never_panic() {
    let mut random = Lcg(1);
    for name in [
        "khronos/BoxAnimated.glb",
        "khronos/SimpleSkin-glTF-Embedded/SimpleSkin.gltf",
        "khronos/AnimatedMorphCube.glb",
        "other/CubeVisibility.glb",
    ] {
        let file = here("data").join(name);
        let whole = fs::read(&file).unwrap();
        for _ in 0..2500 {
            let mut broken = whole.clone();
            let at = random.next(broken.len());
            broken[at] ^= 1 << random.next(8);
            let _ = answer(&file, || from_bytes(&file, &broken));
        }
    }
}

#[test]
fn ten_thousand_wrong_bytes_in_the_json_never_panic() {
    let file = here("data/other/SimpleAnimation.glb");
    let good = container::read(&file).unwrap();
    let mut random = Lcg(2);
    for _ in 0..10_000 {
        let mut json = good.json.clone().into_bytes();
        let at = random.next(json.len());
        json[at] = b"0123456789-.eE\"[]{},:nt"[random.next(23)];
        let Ok(json) = String::from_utf8(json) else {
            continue;
        };
        let broken = Container {
            json,
            ..good.clone()
        };
        let _ = answer(&file, || model(&broken));
    }
}

#[test]
fn sec_06_deep_wide_and_blank_json_answers() {
    let file = Path::new("test.gltf");
    let wide: Vec<String> = (0..1_000_000).map(|key| format!("\"{key}\":0")).collect();
    for (extras, fine) in [
        (format!("{}{}", "[".repeat(100), "]".repeat(100)), true),
        (
            format!("{}{}", "[".repeat(10_000), "]".repeat(10_000)),
            false,
        ),
        ("[".repeat(1_000_000), false),
        ("{\"a\":".repeat(1_000_000), false),
        (format!("{{{}}}", wide.join(",")), true),
        (format!("{}0", " ".repeat(4_000_000)), true),
    ] {
        let json = format!("{{\"asset\":{{\"version\":\"2.0\"}},\"extras\":{extras}}}");
        let thread = std::thread::Builder::new().stack_size(1 << 20);
        let read = move || answer(file, || from_bytes(file, json.as_bytes()));
        let answered = thread.spawn(read).unwrap().join().unwrap();
        assert_eq!(answered.is_ok(), fine, "{:?}", answered.err());
    }
}
