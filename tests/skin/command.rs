//! The command `flounce skin`.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

fn skin(arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes/models");
    let mut command = Command::new(env!("CARGO_BIN_EXE_flounce"));
    command
        .current_dir(folder)
        .arg("skin")
        .args(arguments)
        .output()
        .unwrap()
}

fn refused(arguments: &[&str], code: i32) -> String {
    let output = skin(arguments);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{error}");
    error
}

#[test]
fn the_table_and_the_report_say_what_it_costs() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (out, report) = (path("two.glb"), path("two.json"));
    let arguments = [
        "CesiumMan.glb",
        "--limit",
        "2",
        "-o",
        &out,
        "--report",
        &report,
    ];
    let output = skin(&arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "largest mm",
        "(rest)",
        "animation_0",
        "1137 of 3273 vertices lost influences",
        "two.glb",
    ] {
        assert!(text.contains(part), "{text}\nlacks {part}");
    }
    let written: Value = serde_json::from_slice(&std::fs::read(&report).unwrap()).unwrap();
    assert_eq!(written["limit"], 2);
    assert_eq!(written["model"]["blake3"].as_str().unwrap().len(), 64);
    let [rest, clip] = &written["poses"].as_array().unwrap()[..] else {
        panic!("{written}")
    };
    assert_eq!(rest["clip"], Value::Null);
    assert_eq!(clip["clip"], "animation_0");
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(number(&clip["largest"]["error_m"]) <= number(&clip["largest"]["bound_m"]));
    assert!(number(&clip["percentile_99_m"]) <= number(&clip["largest"]["error_m"]));

    assert!(refused(&arguments, 1).contains("exists already"));
    let forced = skin(&[&arguments[..], &["--force", "--quiet"]].concat());
    assert!(forced.status.success() && forced.stdout.is_empty());
}

#[test]
fn what_cannot_be_meant_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.glb").display().to_string();
    assert!(refused(&["Fox.glb", "--limit", "0", "-o", &out], 1).contains("--limit is 0"));
    assert!(refused(&["Fox.glb", "--limit", "9", "-o", &out], 1).contains("--limit is 9"));
    assert!(refused(&["Fox.glb", "--rate", "0", "-o", &out], 1).contains("--rate is 0"));
    assert!(refused(&["Fox.glb", "--weights", "u32", "-o", &out], 2).contains("f32"));
    assert!(refused(&["Fox.glb", "-o", "Fox.glb"], 1).contains("Fox.glb"));
    assert!(refused(&["Fox.glb", "-o", &out, "--report", &out], 1).contains("one name"));
    assert!(refused(&["Fox.glb", "-o", "out.gltf"], 1).contains("should end in .glb"));
    assert!(refused(&["demo_gltf.py", "-o", &out], 1).contains("demo_gltf.py"));
}
