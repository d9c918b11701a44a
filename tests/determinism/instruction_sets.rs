//! Instruction sets: scalar, SSE2, AVX2 and AVX-512 compute the same bits. `[R1]`
//!
//! A process chooses its instruction set once, so each has a process of its own: `FLOUNCE_ISA` forces one.

use std::process::Command;

use crate::crowds::growing_crowd_numbers;

/// The instruction sets that this processor has, by the names that `FLOUNCE_ISA` takes.
fn present() -> Vec<&'static str> {
    let mut names = vec!["scalar"];
    #[cfg(target_arch = "x86_64")]
    {
        names.push("sse2");
        if std::arch::is_x86_feature_detected!("avx2") {
            names.push("avx2");
        }
        if std::arch::is_x86_feature_detected!("avx512f") {
            names.push("avx512");
        }
    }
    names
}

/// Set in the processes that the test below starts: there it prints instead of comparing.
const PRINTS: &str = "FLOUNCE_TEST_PRINTS";

/// Every switch of the profile, wind, layers, links, limits: what the demo scenes leave out.
#[test]
fn r1_every_instruction_set_has_the_same_bits_for_a_growing_crowd() {
    if std::env::var_os(PRINTS).is_some() {
        #[expect(clippy::print_stdout, reason = "the other process reads it")]
        for (index, actor) in growing_crowd_numbers().into_iter().enumerate() {
            println!("actor {index} {actor:016x}");
        }
        return;
    }
    let name = "instruction_sets::r1_every_instruction_set_has_the_same_bits_for_a_growing_crowd";
    let crowd = |isa: Option<&str>| -> Vec<String> {
        let mut this = Command::new(std::env::current_exe().unwrap());
        this.args([name, "--exact", "--nocapture"]).env(PRINTS, "1");
        match isa {
            Some(isa) => this.env("FLOUNCE_ISA", isa),
            None => this.env_remove("FLOUNCE_ISA"),
        };
        let output = this.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{isa:?}: {said}");
        let printed = String::from_utf8(output.stdout).unwrap();
        let lines = printed.lines().filter(|line| line.starts_with("actor "));
        lines.map(str::to_owned).collect()
    };
    let expected = crowd(None);
    assert_eq!(expected.len(), 40, "one line per actor: {expected:?}");
    for isa in present() {
        assert_eq!(crowd(Some(isa)), expected, "{isa} against the best one");
    }
}

#[cfg(feature = "cli")]
mod program {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::process::{Child, Command, Output, Stdio};

    use tempfile::TempDir;

    use super::present;
    use crate::scenes::demo_scenes;

    /// `flounce run SCENE` that writes its outputs into a folder of its own; `None` lets the program choose.
    fn start(scene: &Path, isa: Option<&str>) -> (Child, TempDir) {
        let folder = tempfile::tempdir().unwrap();
        let mut program = Command::new(env!("CARGO_BIN_EXE_flounce"));
        program.arg("run").arg(scene).args(["--quiet", "--hashes"]);
        program.arg("--out-dir").arg(folder.path().join("out"));
        match isa {
            Some(isa) => program.env("FLOUNCE_ISA", isa),
            None => program.env_remove("FLOUNCE_ISA"),
        };
        program.stdout(Stdio::piped()).stderr(Stdio::piped());
        (program.spawn().unwrap(), folder)
    }

    /// What was printed of the run: all but what it took and where it wrote.
    fn printed(output: &Output) -> Vec<String> {
        let text = String::from_utf8(output.stdout.clone()).unwrap();
        let lines = text.lines();
        let lines = lines.filter(|line| !line.starts_with("ran ") && !line.starts_with("wrote "));
        lines.map(str::to_owned).collect()
    }

    /// The files of a folder by their names.
    fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
        let entries = std::fs::read_dir(folder).unwrap();
        let files = entries.map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, std::fs::read(&path).unwrap())
        });
        files.collect()
    }

    /// The hash of every frame, the verdicts (among them the hash that the scene expects) and the bytes of all outputs.
    #[test]
    fn r1_every_instruction_set_has_the_same_bits_for_every_demo_scene() {
        let sets: Vec<Option<&str>> = [None]
            .into_iter()
            .chain(present().into_iter().map(Some))
            .collect();
        for scene in demo_scenes() {
            let mut expected = None;
            // One after the other: tests run side by side already.
            for &isa in &sets {
                let (program, folder) = start(&scene, isa);
                let output = program.wait_with_output().unwrap();
                let said = String::from_utf8_lossy(&output.stderr);
                let what = format!("{}, {isa:?}", scene.display());
                assert_eq!(output.status.code(), Some(0), "{what}: {said}");
                let lines = printed(&output);
                assert!(
                    lines.iter().any(|line| line.starts_with("holds  state")),
                    "{lines:?}"
                );
                let found = (lines, files(&folder.path().join("out")));
                assert!(!found.1.is_empty(), "{what}: it wrote nothing");
                let (lines, files) = &*expected.get_or_insert_with(|| found.clone());
                let differs = found.0.iter().zip(lines).find(|(a, b)| a != b);
                assert!(differs.is_none(), "{what}: printed {differs:?}");
                assert_eq!(found.0.len(), lines.len(), "{what}: lines");
                for ((name, bytes), (_, first)) in found.1.iter().zip(files) {
                    assert!(bytes == first, "{what}: the bytes of {name}");
                }
                assert_eq!(found.1.len(), files.len(), "{what}: files");
            }
        }
    }

    #[test]
    fn an_instruction_set_that_is_not_here_is_refused_with_those_that_are() {
        let all = ["scalar", "sse2", "avx2", "avx512"];
        let absent = all.into_iter().filter(|isa| !present().contains(isa));
        for isa in absent.chain(["mmx", "AVX2", "scalar,sse2", "native"]) {
            let (program, folder) = start(&demo_scenes()[0], Some(isa));
            let output = program.wait_with_output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{isa}: {said}");
            assert!(said.contains("FLOUNCE_ISA") && said.contains(isa), "{said}");
            for name in present() {
                assert!(said.contains(name), "{isa}: {name} is not named: {said}");
            }
            assert!(output.stdout.is_empty(), "{isa}: it ran");
            assert!(!folder.path().join("out").exists(), "{isa}: it wrote");
        }
    }
}
