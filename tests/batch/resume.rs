//! Runs that are killed: whatever the moment, the rest is finished with the same bytes and the same report.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::Stage;

const RIGS: usize = 12;

/// Two foxes and twelve rigs that differ.
fn stage() -> Stage {
    let stage = Stage::new();
    fs::remove_dir_all(stage.at("rigs")).unwrap();
    fs::create_dir(stage.at("rigs")).unwrap();
    for index in 0..RIGS {
        stage.rig(&format!("r{index:02}"), &format!("{}.5", index));
    }
    stage
}

/// Starts the command and kills it once `count` outputs are there; how many there are then.
fn kill_at(stage: &Stage, words: &str, count: usize) -> usize {
    let mut command = stage.command(words);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begin = Instant::now();
    let outputs = || {
        let entries = fs::read_dir(stage.at("out"))
            .into_iter()
            .flatten()
            .flatten();
        entries
            .filter(|entry| {
                entry
                    .path()
                    .extension()
                    .is_some_and(|it| it == "glb" || it == "gltf")
            })
            .count()
    };
    while outputs() < count && begin.elapsed() < Duration::from_secs(60) {
        if child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::yield_now();
    }
    // SIGKILL: nothing can be put in order.
    child.kill().unwrap();
    child.wait().unwrap();
    outputs()
}

/// Everything below `out`, ledgers included.
fn all_names(stage: &Stage) -> Vec<String> {
    let mut names = stage.names("out");
    names.extend(
        stage
            .names("out/.flounce")
            .iter()
            .map(|name| format!(".flounce/{name}")),
    );
    names
}

#[test]
fn a_run_that_was_killed_again_and_again_ends_as_one_that_was_not() {
    let stage = stage();
    // Many keys: a job takes long enough to be caught in it.
    let words = "batch cast --rig rigs --rate 240 --jobs 2 -q --resume --report r.json --out-dir";
    stage.ok(&format!("{words} whole"));
    let whole = stage.files("whole");
    assert_eq!(whole.len(), 2 * RIGS);
    let report = stage.merged("r.json");
    let mut caught = 0;
    for count in [1, 4, 9, 16] {
        let there = kill_at(&stage, &format!("{words} out"), count);
        caught += usize::from(there < 2 * RIGS);
        for (name, bytes) in stage.files("out") {
            assert!(whole[&name] == bytes, "{name} is there and not whole");
        }
    }
    assert!(caught >= 2, "it was over before it was killed");
    let before = stage.names("out").len();
    stage.ok(&format!("{words} out"));
    assert!(stage.files("out") == whole);
    assert!(stage.merged("r.json") == report, "another report");
    let baked = stage.json("r.json")["timing"]["jobs"]
        .as_array()
        .unwrap()
        .len();
    // At most those in flight are done twice: there, but not in the journal.
    assert!(baked <= 2 * RIGS - before + 4, "{baked} again of {before}");
    // Nothing temporary is left, here or in the ledger.
    let mut expected: Vec<String> = whole.into_keys().collect();
    expected.push(".flounce/batch.jsonl".to_owned());
    assert_eq!(all_names(&stage), expected);
}

#[test]
fn a_shard_that_was_killed_resumes_beside_another() {
    let stage = stage();
    stage.ok("plan cast --rig rigs --rate 240 --out-dir whole -o m.json -q");
    stage.ok("batch --manifest m.json --report one.json -q");
    let report = stage.merged("one.json --manifest m.json");
    let shard = |index: usize| {
        format!(
            "batch --manifest m.json --shard {index}/2 --out-dir out --resume --report part{index}.json -q --jobs 1"
        )
    };
    kill_at(&stage, &shard(1), 3);
    stage.ok(&shard(2));
    kill_at(&stage, &shard(1), RIGS + 5);
    stage.ok(&shard(1));
    assert!(stage.files("out") == stage.files("whole"));
    let merged = stage.merged("part2.json part1.json --manifest m.json");
    assert!(merged == report, "another report");
    let ledgers = stage.names("out/.flounce");
    assert_eq!(ledgers.len(), 2, "{ledgers:?}");
    assert!(ledgers[0].ends_with(".shard-1-of-2.jsonl"), "{ledgers:?}");
}

#[test]
fn a_text_model_that_is_done_again_and_killed_never_has_the_keys_of_another() {
    let stage = Stage::new().with_text_model();
    let rule = fs::read_to_string(stage.at("rigs/arms.ron")).unwrap();
    fs::remove_dir_all(stage.at("rigs")).unwrap();
    fs::create_dir(stage.at("rigs")).unwrap();
    for index in 0..RIGS {
        fs::write(stage.at(&format!("rigs/r{index:02}.ron")), &rule).unwrap();
    }
    // Two contents of each pair of files, by their rates.
    let words = |rate: u32, out: &str| {
        format!("batch cast/man.gltf --rig rigs --rate {rate} --jobs 2 -q --force --out-dir {out}")
    };
    stage.ok(&words(120, "first"));
    stage.ok(&words(240, "second"));
    let (first, second) = (stage.files("first"), stage.files("second"));
    stage.ok(&words(120, "out"));
    for pause in [30, 80, 150, 300] {
        let mut child = stage.command(&words(240, "out")).spawn().unwrap();
        std::thread::sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        child.wait().unwrap();
        let found = stage.files("out");
        for (name, main) in found.iter().filter(|(name, _)| name.ends_with(".gltf")) {
            let side = name.replace(".gltf", ".baked.bin");
            let is_of = |whole: &std::collections::BTreeMap<String, Vec<u8>>| {
                whole[name] == *main && whole[&side] == found[&side]
            };
            assert!(is_of(&first) || is_of(&second), "{name} is torn");
        }
    }
    stage.ok(&words(240, "out").replace("--force", "--resume"));
    assert!(stage.files("out") == second);
}
