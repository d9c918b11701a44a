//! Claim: the tree reads in one direction. Nouns do not know verbs, verbs do not know files.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::{Path, PathBuf};

fn sources(folder: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found
}

/// Lines of code (no comments) below `folder` that name one of `words`, with the file.
fn lines_naming(folder: &str, words: &[&str], passed_over: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for path in sources(folder) {
        let name = path.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let code = text
            .lines()
            .filter(|line| !line.trim_start().starts_with("//"));
        for line in code.filter(|line| words.iter().any(|word| line.contains(word))) {
            if !passed_over.iter().any(|part| name.contains(part)) {
                found.push(format!("{}: {}", path.display(), line.trim()));
            }
        }
    }
    found
}

#[test]
fn the_engine_knows_neither_systems_nor_files() {
    let forbidden = [
        "crate::systems",
        "crate::assets",
        "crate::game",
        "std::fs",
        "std::time",
    ];
    // The crate's root declares its neighbours; the program uses everything.
    let passed_over = ["engine/lib.rs", "engine/main.rs", "engine/cli/"];
    let found = lines_naming("engine", &forbidden, &passed_over);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn the_systems_know_no_files_and_no_clock() {
    let forbidden = [
        "crate::assets",
        "crate::game",
        "std::fs",
        "std::time",
        "Instant",
    ];
    let found = lines_naming("systems", &forbidden, &[]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn files_know_no_game_and_a_game_knows_bevys_clock_only() {
    let found = lines_naming("assets", &["crate::game"], &[]);
    assert!(found.is_empty(), "{}", found.join("\n"));
    let forbidden = [
        "std::fs",
        "std::time",
        "Instant",
        "&GlobalTransform",
        "HashMap",
    ];
    let found = lines_naming("game", &forbidden, &[]);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn no_simulation_code_uses_the_platforms_trigonometry_or_fuses() {
    let forbidden = [
        ".sin()",
        ".cos()",
        ".sin_cos()",
        ".acos()",
        ".asin()",
        ".atan2(",
        ".mul_add(",
        "HashMap",
        "HashSet",
    ];
    for folder in ["engine", "systems", "game"] {
        let found = lines_naming(folder, &forbidden, &[]);
        assert!(found.is_empty(), "{}", found.join("\n"));
    }
}

#[test]
fn no_source_file_outgrows_its_room() {
    for folder in ["engine", "systems", "assets", "game"] {
        for path in sources(folder) {
            let lines = std::fs::read_to_string(&path).unwrap().lines().count();
            assert!(
                lines <= 520,
                "{}: {lines} lines; redraw the room",
                path.display()
            );
        }
    }
}
