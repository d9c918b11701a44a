//! Claim: a manifest becomes a job that farms take, whose tasks do what was asked wherever its files lie.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]
#![cfg(feature = "cli")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flounce::assets::bake::BakeOptions;
use flounce::assets::batch::manifest::{Entry, ModelFile, Options, RigFile, SCHEMA, VERSION};
use flounce::assets::batch::{ContentHash, Manifest, PROGRAM};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A folder whose name a shell would take apart, with a manifest of `entries` entries.
fn folder(entries: usize) -> (TempDir, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    let folder = home.path().join("it's `$HOME` & ä");
    std::fs::create_dir(&folder).unwrap();
    write_manifest(&folder.join("m.json"), entries);
    (home, folder)
}

fn write_manifest(file: &Path, entries: usize) {
    let hash = ContentHash::default;
    let entry = |number| Entry {
        number,
        model: 0,
        rig: 0,
        clip: None,
        output: format!("{number}.glb"),
        side: None,
        clips: 1,
        frames: 60,
        key: hash(),
    };
    let mut manifest = Manifest {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        program: PROGRAM.to_owned(),
        options: Options::new(&BakeOptions::default()),
        name: "{index}.{ext}".to_owned(),
        out_dir: "baked".to_owned(),
        models: vec![ModelFile::default()],
        rigs: vec![RigFile {
            file: "a.ron".to_owned(),
            hash: hash(),
        }],
        entries: (1..=entries).map(entry).collect(),
        hash: hash(),
    };
    manifest.hash = manifest.content();
    manifest.write(file, true).unwrap();
}

/// Runs `flounce farm KIND --manifest m.json …` in `folder`.
fn farm(folder: &Path, kind: &str, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_flounce"))
        .current_dir(folder)
        .args(["farm", kind, "--manifest", "m.json"])
        .args(arguments)
        .output()
        .unwrap()
}

/// What it says on stdout and stderr.
fn done(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    String::from_utf8_lossy(&output.stdout).into_owned() + &told
}

fn refused(output: &Output, code: i32, expected: &str) {
    let told = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{told}");
    assert!(told.contains(expected), "{told}");
}

fn template(folder: &Path, arguments: &[&str]) -> Value {
    let mut all = vec!["-o", "job.json", "--force"];
    all.extend(arguments);
    done(&farm(folder, "openjd", &all));
    serde_json::from_slice(&std::fs::read(folder.join("job.json")).unwrap()).unwrap()
}

#[test]
fn an_openjd_template_bakes_in_shards_and_merges_after_them() {
    let (_home, folder) = folder(9);
    let root = template(&folder, &["--tasks", "4"]);
    assert_eq!(root["specificationVersion"], "jobtemplate-2023-09");
    let parameters = root["parameterDefinitions"].as_array().unwrap();
    let parameter = |name: &str| parameters.iter().find(|it| it["name"] == name).unwrap();
    assert_eq!(parameter("Manifest")["default"], "m.json");
    assert_eq!(parameter("Manifest")["dataFlow"], "IN");
    assert_eq!(parameter("OutDir")["default"], "baked");
    assert_eq!(parameter("OutDir")["dataFlow"], "OUT");
    assert_eq!(parameter("Program")["default"], "flounce");
    assert_eq!(parameter("Tasks")["default"], 4);
    assert_eq!(parameter("Tasks")["maxValue"], 9);

    let [bake, merge] = root["steps"].as_array().unwrap().as_slice() else {
        panic!("{root:#}")
    };
    assert!(bake.get("hostRequirements").is_none());
    let shard = json!([{"name": "Shard", "type": "INT", "range": "1-{{Param.Tasks}}"}]);
    assert_eq!(bake["parameterSpace"]["taskParameterDefinitions"], shard);
    let run = &bake["script"]["actions"]["onRun"];
    assert_eq!(run["command"], "bash");
    let arguments = [
        "{{Task.File.Run}}",
        "{{Param.Program}}",
        "{{Param.Manifest}}",
        "{{Param.OutDir}}",
        "{{Task.Param.Shard}}",
        "{{Param.Tasks}}",
    ];
    assert_eq!(run["args"], json!(arguments));
    assert_eq!(merge["dependencies"], json!([{"dependsOn": "Bake"}]));
}

#[test]
fn processors_are_asked_for_and_used() {
    let (_home, folder) = folder(9);
    let root = template(
        &folder,
        &["--tasks", "2", "--cpus", "3", "--job-name", "night 7"],
    );
    assert_eq!(root["name"], "night 7");
    let bake = &root["steps"][0];
    let amounts = json!([{"name": "amount.worker.vcpu", "min": 3}]);
    assert_eq!(bake["hostRequirements"], json!({"amounts": amounts}));
    let run = &bake["script"]["actions"]["onRun"];
    let arguments = run["args"].as_array().unwrap();
    assert_eq!(arguments[6..], [json!("--jobs"), json!("3")]);
}

#[test]
fn paths_outside_the_templates_folder_are_asked_for_when_it_is_submitted() {
    let (_home, folder) = folder(9);
    std::fs::create_dir(folder.join("jobs")).unwrap();
    let told = done(&farm(
        &folder,
        "openjd",
        &["--tasks", "2", "--out-dir", "jobs/out", "-o", "jobs/a.json"],
    ));
    let root: Value =
        serde_json::from_slice(&std::fs::read(folder.join("jobs/a.json")).unwrap()).unwrap();
    let defaults = |at: usize| root["parameterDefinitions"][at].get("default").cloned();
    assert_eq!(defaults(0), None);
    assert_eq!(defaults(1), Some(json!("out")));
    assert!(told.contains("--job-param 'Manifest=/"), "{told}");
    assert!(!told.contains("OutDir"), "{told}");
}

#[test]
fn a_template_is_yaml_where_its_name_says_so() {
    let (_home, folder) = folder(9);
    done(&farm(
        &folder,
        "openjd",
        &["--tasks", "4", "-o", "job.yaml"],
    ));
    let yaml = std::fs::read_to_string(folder.join("job.yaml")).unwrap();
    for part in [
        "specificationVersion: \"jobtemplate-2023-09\"\n",
        "\n    default: 4\n",
        "\n          range: \"1-{{Param.Tasks}}\"\n",
        "\n          data: |\n            set -euo pipefail\n",
    ] {
        assert!(yaml.contains(part), "{part:?} is not in\n{yaml}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_written() {
    let (_home, folder) = folder(9);
    std::fs::write(folder.join("old.sh"), "mine").unwrap();
    for (kind, tasks, more, out, expected) in [
        ("slurm", "0", "-q", "job.sh", "--tasks"),
        ("openjd", "2", "-q", "job.txt", "end in .json or .yaml"),
        ("openjd", "2", "-q", "no/job.json", "does not exist"),
        (
            "openjd",
            "2",
            "--job-name={{x}}",
            "job.json",
            "begins a reference",
        ),
        ("slurm", "2", "--program=", "job.sh", "--program is empty"),
        ("slurm", "2", "--force", "m.json", "the output is the input"),
        ("slurm", "2", "-q", "old.sh", "--force"),
    ] {
        let output = farm(&folder, kind, &["--tasks", tasks, more, "-o", out]);
        refused(&output, 2, expected);
    }
    write_manifest(&folder.join("m.json"), 0);
    let none = ["--tasks", "2", "-o", "job.sh"];
    refused(&farm(&folder, "slurm", &none), 2, "no jobs");
    std::fs::write(folder.join("m.json"), "{}").unwrap();
    refused(
        &farm(&folder, "slurm", &none),
        2,
        "a manifest of `flounce plan`",
    );
    assert_eq!(std::fs::read(folder.join("old.sh")).unwrap(), b"mine");
    let names = std::fs::read_dir(&folder).unwrap().count();
    assert_eq!(names, 2, "the manifest and the old script");
}

#[test]
fn more_tasks_than_entries_are_not_made() {
    let (_home, folder) = folder(3);
    let told = done(&farm(&folder, "slurm", &["--tasks", "40", "-o", "job.sh"]));
    assert!(told.contains("3 tasks instead of 40"), "{told}");
    assert!(told.contains("job.sh: 3 jobs in 3 tasks"), "{told}");
    let script = std::fs::read_to_string(folder.join("job.sh")).unwrap();
    assert!(script.contains("\n#SBATCH --array=1-3\n"), "{script}");
}

/// Scripts that run as they would on a farm, with programs that only write down how they were called.
#[cfg(unix)]
mod scripts {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A program `name` in `folder` that appends its arguments, one a line and a blank line after them, to `NAME.calls`
    /// beside it and then runs `rest`.
    fn recorder(folder: &Path, name: &str, rest: &str) -> PathBuf {
        let program = folder.join(name);
        let text = format!(
            "#!/usr/bin/env bash\nprintf '%s\\n' \"$@\" '' >> \"$(dirname \"$0\")/{name}.calls\"\n{rest}\n"
        );
        std::fs::write(&program, text).unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        program
    }

    fn calls(folder: &Path, name: &str) -> Vec<Vec<String>> {
        let text = std::fs::read_to_string(folder.join(format!("{name}.calls"))).unwrap();
        let calls = text.trim_end().split("\n\n");
        calls
            .map(|call| call.lines().map(str::to_owned).collect())
            .collect()
    }

    fn bash(folder: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
        let path = std::env::var("PATH").unwrap();
        Command::new("bash")
            .args(arguments)
            // Tasks start wherever a farm likes.
            .current_dir(std::env::temp_dir())
            .env_remove("SLURM_ARRAY_TASK_ID")
            .env_remove("SLURM_CPUS_PER_TASK")
            .env("PATH", format!("{}:{path}", folder.display()))
            .envs(variables.iter().copied())
            .output()
            .unwrap()
    }

    /// The script `job.sh` for two tasks in `folder`.
    fn slurm(folder: &Path) -> String {
        let program = recorder(folder, "my flounce", "");
        let program = program.to_str().unwrap();
        let arguments = [
            "--tasks",
            "2",
            "--program",
            program,
            "--cpus",
            "3",
            "-o",
            "job.sh",
        ];
        done(&farm(folder, "slurm", &arguments));
        folder.join("job.sh").to_str().unwrap().to_owned()
    }

    #[test]
    fn a_slurm_task_bakes_its_shard_whatever_the_paths_are() {
        let (_home, folder) = folder(9);
        let script = slurm(&folder);
        done(&bash(&folder, &[&script], &[("SLURM_ARRAY_TASK_ID", "1")]));
        let variables = [("SLURM_ARRAY_TASK_ID", "2"), ("SLURM_CPUS_PER_TASK", "5")];
        done(&bash(&folder, &[&script], &variables));
        let home = folder.to_str().unwrap();
        let expected = |shard: u32, jobs: &str| {
            [
                "batch",
                "--manifest",
                &format!("{home}/m.json"),
                "--shard",
                &format!("{shard}/2"),
                "--out-dir",
                &format!("{home}/baked"),
                "--resume",
                "--report",
                &format!("{home}/baked/parts/part-{shard}-of-2.json"),
                "--jobs",
                jobs,
            ]
            .map(str::to_owned)
        };
        assert_eq!(
            calls(&folder, "my flounce"),
            [expected(1, "3"), expected(2, "5")]
        );
        assert!(folder.join("baked/parts").is_dir());
    }

    #[test]
    fn a_slurm_script_merges_all_parts_and_sends_both_jobs() {
        let (_home, folder) = folder(9);
        let script = slurm(&folder);
        done(&bash(&folder, &[&script, "merge"], &[]));
        assert_eq!(calls(&folder, "my flounce"), [merged(&folder)]);

        recorder(&folder, "sbatch", "echo '17;cluster'");
        done(&bash(&folder, &[&script, "submit", "--time=1:00"], &[]));
        let sent = calls(&folder, "sbatch");
        assert_eq!(sent[0], ["--parsable", "--time=1:00", &script, "bake"]);
        let merge = [
            "--dependency=afterany:17",
            "--array=1",
            "--cpus-per-task=1",
            "--time=1:00",
            &script,
            "merge",
        ];
        assert_eq!(sent[1], merge);
    }

    /// How two parts in `folder` are merged.
    fn merged(folder: &Path) -> Vec<String> {
        let home = folder.display();
        vec![
            "merge".to_owned(),
            format!("{home}/baked/parts/part-1-of-2.json"),
            format!("{home}/baked/parts/part-2-of-2.json"),
            "--manifest".to_owned(),
            format!("{home}/m.json"),
            "-o".to_owned(),
            format!("{home}/baked/report.json"),
        ]
    }

    #[test]
    fn a_slurm_script_without_a_task_says_so() {
        let (_home, folder) = folder(9);
        let script = slurm(&folder);
        refused(&bash(&folder, &[&script], &[]), 1, "SLURM_ARRAY_TASK_ID");
        refused(
            &bash(&folder, &[&script, "bakery"], &[]),
            2,
            "expected bake, merge or submit",
        );
        assert!(!folder.join("my flounce.calls").exists());
    }

    #[test]
    fn a_failed_task_fails() {
        let (_home, folder) = folder(9);
        let program = recorder(&folder, "failing", "exit 7");
        let program = program.to_str().unwrap();
        done(&farm(
            &folder,
            "slurm",
            &["--tasks", "2", "--program", program, "-o", "job.sh"],
        ));
        let script = folder.join("job.sh").to_str().unwrap().to_owned();
        let run = bash(&folder, &[&script], &[("SLURM_ARRAY_TASK_ID", "2")]);
        assert_eq!(run.status.code(), Some(7));
    }

    /// Runs a step of `template` as a session does, with `values` for its references.
    fn run_step(folder: &Path, step: &Value, values: &[(&str, &str)]) -> Output {
        let script = &step["script"];
        let file = folder.join("run.sh");
        let data = script["embeddedFiles"][0]["data"].as_str().unwrap();
        assert!(!data.contains("{{"), "no parameter gets into the script");
        std::fs::write(&file, data).unwrap();
        let run = &script["actions"]["onRun"];
        assert_eq!(run["command"], "bash");
        let arguments = run["args"].as_array().unwrap().iter().map(|argument| {
            let argument = argument.as_str().unwrap();
            match values
                .iter()
                .find(|(name, _)| format!("{{{{{name}}}}}") == argument)
            {
                Some((_, value)) => *value,
                None if argument == "{{Task.File.Run}}" => file.to_str().unwrap(),
                None => argument,
            }
        });
        bash(folder, &arguments.collect::<Vec<_>>(), &[])
    }

    #[test]
    fn the_steps_of_an_openjd_template_bake_and_merge_whatever_the_paths_are() {
        let (_home, folder) = folder(9);
        let root = template(&folder, &["--tasks", "2", "--cpus", "3"]);
        let program = recorder(&folder, "my flounce", "");
        let (home, program) = (folder.to_str().unwrap(), program.to_str().unwrap());
        let (manifest, out_dir) = (format!("{home}/m.json"), format!("{home}/baked"));
        let values = [
            ("Param.Program", program),
            ("Param.Manifest", &manifest),
            ("Param.OutDir", &out_dir),
            ("Param.Tasks", "2"),
            ("Task.Param.Shard", "1"),
        ];
        let told = done(&run_step(&folder, &root["steps"][0], &values));
        assert!(told.contains("openjd_status: shard 1 of 2"), "{told}");
        done(&run_step(&folder, &root["steps"][1], &values));
        let baked = [
            "batch",
            "--manifest",
            &manifest,
            "--shard",
            "1/2",
            "--out-dir",
            &out_dir,
            "--resume",
            "--report",
            &format!("{out_dir}/parts/part-1-of-2.json"),
            "--jobs",
            "3",
        ]
        .map(str::to_owned);
        assert_eq!(
            calls(&folder, "my flounce"),
            [baked.to_vec(), merged(&folder)]
        );
        assert!(folder.join("baked/parts").is_dir());
    }
}
