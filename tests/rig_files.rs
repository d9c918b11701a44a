//! A rig file is read, or refused with the file, the place and the field: cases RON-01, RON-02, RON-04, COLL-16,
//! ROT-09, and what people get wrong.
#![cfg(feature = "rig_files")]

use std::path::{Path, PathBuf};

use flounce::assets::Error;
use flounce::assets::rig_file::{self, RigFile};
use flounce::assets::scene;

fn read(text: &str) -> Result<RigFile, Error> {
    rig_file::parse(Path::new("rig.ron"), text)
}

/// The error of a text, as shown, with its help in brackets.
fn refusal(text: &str) -> String {
    let Err(error) = read(text) else {
        return format!("accepted: {text}");
    };
    let shown = error.to_string();
    match error {
        Error::Ron {
            help: Some(help), ..
        } => format!("{shown} ({help})"),
        _ => shown,
    }
}

/// The error of a file with one chain that has these parameters.
fn parameters(parameters: &str) -> String {
    refusal(&format!(
        "(\nversion: 1,\nchains: [(root: \"a\", parameters: (\n{parameters}\n))])"
    ))
}

#[track_caller]
fn assert_refused(found: &str, place: &str, what: &str) {
    assert!(
        found.starts_with(&format!("rig.ron:{place}: ")),
        "expected {place}: {found}"
    );
    assert!(found.contains(what), "expected {what}: {found}");
}

#[test]
fn ron_01_a_malformed_number_is_named_where_it_stands() {
    assert_refused(
        &parameters("stiffness: 0x0x0,\ndamping: 1"),
        "4:12",
        "chains[0].parameters.stiffness: found `0x0x0`, expected a number",
    );
    assert_refused(
        &parameters("stiffness: 0.5.5"),
        "4:12",
        "stiffness: found `0.5.5`, expected a number",
    );
    assert_refused(
        &parameters("stiffness: \"1\""),
        "4:12",
        "stiffness: found \"1\", expected a number",
    );
    assert_refused(
        &refusal("(version: 1.0)"),
        "1:11",
        "version: found `1.0`, expected a whole number",
    );
}

#[test]
fn a_missing_comma_is_noticed_at_the_next_token() {
    assert_refused(
        &parameters("stiffness: 0.5\ndamping: 1"),
        "5:1",
        "found `damping`, expected a comma",
    );
}

#[test]
fn a_misspelt_field_brings_near_matches() {
    assert_refused(
        &parameters("damping: 1,\n  stifness: 0.5"),
        "5:3",
        "chains[0].parameters.stifness: found unknown field `stifness` (did you mean \"stiffness\"?)",
    );
    assert_refused(
        &refusal("(version: 1, zzz: 1)"),
        "1:14",
        "expected `version`, `space`",
    );
    assert_refused(
        &refusal(
            "(version: 1, presets: {\"soft\": ()}, chains: [(root: \"a\", preset: \"sofd\")])",
        ),
        "1:66",
        "chains[0].preset: found \"sofd\", expected the name of an entry of `presets` (did you mean \"soft\"?)",
    );
}

#[test]
fn a_wrong_variant_lists_the_right_ones() {
    assert_refused(
        &parameters("motion: wobble"),
        "4:9",
        "motion: found `wobble`, expected `swing` or `slide`",
    );
    assert_refused(
        &parameters("collider: (shape: cube(radius: 1))"),
        "4:19",
        "collider.shape: found `cube`, expected `none`, `sphere`",
    );
}

#[test]
fn a_tuple_of_the_wrong_length_is_named() {
    assert_refused(
        &parameters("limit_x_deg: (1)"),
        "4:14",
        "limit_x_deg: found 1 value, expected a tuple of size 2",
    );
    assert_refused(
        &parameters("limit_x_deg: (1, 2, 3)"),
        "4:21",
        "limit_x_deg[2]: found `3`, expected `)`",
    );
    assert_refused(
        &parameters("limit_x_deg: [1, 2]"),
        "4:14",
        "limit_x_deg: found `[`, expected `(`",
    );
}

#[test]
fn ron_01_an_error_on_line_500_is_on_line_500() {
    let lines = "  (root: \"a\"),\n".repeat(497);
    let text = format!("(version: 1, chains: [\n{lines}\n  (root: \"a\", depth: -3),\n])");
    assert_refused(&refusal(&text), "500:22", "chains[497].depth: found `-3`");
}

#[test]
fn a_missing_field_is_named_where_its_owner_starts() {
    assert_refused(
        &refusal("  (chains: [])"),
        "1:3",
        "the field `version` is missing",
    );
    assert_refused(
        &parameters("collider: (shape: sphere())"),
        "4:19",
        "collider.shape: the field `radius` is missing",
    );
    assert_refused(
        &refusal("(version: 1, colliders: [(shape: sphere(radius: 1))])"),
        "1:26",
        "colliders[0]: the field `joint` is missing",
    );
}

#[test]
fn ron_02_deep_nesting_is_an_error_on_a_small_stack() {
    for opener in ["(", "[", "{", "Some(", "/*", "(a:", "[(", "r#\"", "{\"a\":"] {
        for count in [1_000, 1_000_000 / opener.len()] {
            let text = opener.repeat(count);
            let inside = format!("(version: 1, presets: {{\"a\": (tail: {text}");
            let refused = move || (refusal(&text), refusal(&inside));
            let thread = std::thread::Builder::new().stack_size(512 * 1024);
            let (alone, inside) = thread.spawn(refused).unwrap().join().unwrap();
            for found in [alone, inside] {
                assert!(found.starts_with("rig.ron:1:"), "{opener}: {found}");
                assert!(found.len() < 1000, "{opener}: {} bytes", found.len());
            }
        }
    }
    assert_refused(&refusal(&"(".repeat(1_000_000)), "1:65", "recursion limit");
}

#[test]
fn ron_04_names_that_are_no_identifiers_are_refused() {
    assert_refused(
        &refusal("(version: 1, \"chains\": [])"),
        "1:14",
        "found \"chains\", expected a field name",
    );
    assert_refused(
        &refusal("(version: 1, größe: [])"),
        "1:14",
        "unknown field `größe`",
    );
    assert_refused(
        &refusal("(version: 1, cha ins: [])"),
        "1:14",
        "unknown field `cha`",
    );
}

#[test]
fn ron_04_a_field_or_key_written_twice_is_refused() {
    assert_refused(
        &parameters("mass: 1,\nmass: 2"),
        "5:1",
        "chains[0].parameters.mass: found `mass` twice",
    );
    assert_refused(
        &refusal("(version: 1, presets: {\"a\": (), \"a\": ()})"),
        "1:33",
        "presets[\"a\"]",
    );
}

#[test]
fn another_version_is_refused() {
    assert_refused(
        &refusal("(version: 2, what: 3)"),
        "1:11",
        "found version 2, expected version 1",
    );
}

#[test]
fn handles_of_a_running_world_are_no_joints() {
    assert_refused(
        &refusal("(version: 1, chains: [(root: 4294967296)])"),
        "1:30",
        "chains[0].root: found `4294967296`, expected a text in double quotes",
    );
}

#[test]
fn byte_order_mark_windows_line_ends_and_comments_are_fine() {
    let text = "\u{feff}(\r\n// one\r\nversion: 1, /* two /* three */ */\r\nchains: [(root: \"a\")],\r\n)\r\n";
    assert!(read(text).is_ok());
    let found = refusal(&text.replace("root", "rot"));
    assert_refused(
        &found,
        "4:11",
        "chains[0].rot: found unknown field `rot` (did you mean \"root\"?)",
    );
    assert_refused(&refusal("\u{feff}(version: x)"), "1:11", "found `x`");
}

#[test]
fn text_after_the_end_is_refused() {
    assert_refused(
        &refusal("(version: 1) (version: 1)"),
        "1:14",
        "found `(`, expected nothing after the end",
    );
    assert_refused(
        &refusal("(version: 1, chains: [(root: \"a)])"),
        "1:30",
        "a string without its closing quote",
    );
    assert_refused(&refusal("(version: 1"), "1:12", "found the end of the file");
    assert_refused(&refusal(""), "1:1", "found the end of the file");
}

#[test]
fn saving_what_was_read_is_stable() {
    let text = r#"(
        version: 1, metres_per_unit: 0.1, root_correction: "hips",
        defaults: (damping: 0.25, limit_x_deg: (-10, 10.5)),
        presets: {"b": (mass: 1e-3), "a": (collider: (shape: sphere(radius: 0.1), mask: [0, 31]))},
        chains: [(root: "a\"\\ö", preset: "a", overrides: {"x": (tail: (axis: (0, 1, 0), length: 2))}), (joints: ["p", "q"])],
        colliders: [(joint: "h", shape: capsule(offset_a: (0, 0, 0), offset_b: (0, 1, 0), radius_a: 1, radius_b: 2))],
    )"#;
    let first = read(text).unwrap();
    let saved = first.to_ron().unwrap();
    let second = read(&saved).unwrap();
    assert_eq!(first.rules(), second.rules());
    assert_eq!(saved, second.to_ron().unwrap());
}

#[test]
fn values_out_of_range_are_refused_with_range_and_place() {
    for (field, what) in [
        ("damping: 1.5", "damping: found 1.5, expected 0 to 1"),
        ("damping: NaN", "damping: found NaN, expected 0 to 1"),
        (
            "stiffness: -0.1",
            "stiffness: found -0.1, expected 0 to 10000",
        ),
        ("mass: inf", "mass: found inf, expected 0 to 10000"),
        ("mass: 1e40", "mass: found inf, expected 0 to 10000"),
        ("spring: 2", "spring: found 2, expected 0 to 1"),
        ("pendulum_range: -1", "pendulum_range: found -1"),
        (
            "root_vertical_weight: 1.1",
            "root_vertical_weight: found 1.1",
        ),
        (
            "limit_x_deg: (-181, 0)",
            "limit_x_deg[0]: found -181, expected -180 to 180",
        ),
        (
            "limit_z_deg: (10, -10)",
            "limit_z_deg: found (10, -10), expected the lower end first",
        ),
        (
            "collider: (shape: sphere(radius: -1))",
            "collider.shape.radius: found -1",
        ),
        (
            "collider: (shape: sphere(offset: (0, NaN, 0), radius: 1))",
            "collider.shape.offset[1]: found NaN",
        ),
        (
            "tail: (axis: (0, 0, 0), length: 1)",
            "tail.axis: found (0, 0, 0), expected a direction",
        ),
        (
            "tail: (axis: (0, 1, 0), length: 0)",
            "tail.length: found 0, expected more than 0",
        ),
        (
            "reference_limit: (joint: \"a\", weight: 11)",
            "reference_limit.weight: found 11",
        ),
        ("tip: \"a\"", "tip: only goes in `overrides`"),
    ] {
        let found = parameters(field);
        assert!(found.starts_with("rig.ron:4:"), "{found}");
        assert!(
            found.contains(&format!("chains[0].parameters.{what}")),
            "{what}: {found}"
        );
    }
    let found = refusal("(version: 1, metres_per_unit: 0)");
    assert_refused(&found, "1:31", "metres_per_unit: found 0");
}

#[test]
fn several_wrong_values_are_all_reported() {
    let found = parameters("damping: 2,\nmass: -1");
    assert!(
        found.contains("2 faults") && found.contains("4:10: ") && found.contains("5:7: "),
        "{found}"
    );
}

#[test]
fn a_layer_beyond_31_is_refused() {
    let found = parameters("collider: (shape: sphere(radius: 1), mask: [0, 32])");
    assert_refused(
        &found,
        "4:48",
        "collider.mask[1]: found layer 32, expected 0 to 31",
    );
    let found =
        refusal("(version: 1, colliders: [(joint: \"a\", shape: sphere(radius: 1), mask: [39])])");
    assert_refused(&found, "1:72", "colliders[0].mask[0]: found layer 39");
    let found = parameters("collider: (shape: sphere(radius: 1), mask: 3)");
    assert_refused(
        &found,
        "4:44",
        "found `3`, expected a list `[…]` (a mask lists its layers, 0 to 31: `mask: [0, 3]`)",
    );
}

#[test]
fn a_chain_is_picked_in_exactly_one_way() {
    for chain in [
        "()",
        "(root: \"a\", joints: [\"b\"])",
        "(root: \"a\", pattern: \"b\")",
    ] {
        assert_refused(
            &refusal(&format!("(version: 1, chains: [{chain}])")),
            "1:23",
            "expected exactly one",
        );
    }
    assert_refused(
        &refusal("(version: 1, chains: [(pattern: \"a\", depth: 2)])"),
        "1:45",
        "depth: only goes with `root`",
    );
    assert_refused(
        &refusal("(version: 1, chains: [(root: \"a\", depth: 0)])"),
        "1:42",
        "depth: found 0",
    );
    assert_refused(
        &refusal("(version: 1, chains: [(pattern: \"{a\")])"),
        "1:33",
        "a pattern that cannot be read",
    );
}

#[test]
fn layers_drivers_and_curves_out_of_range_are_refused_with_their_place() {
    for (field, place) in [
        ("layers: [(joints: [\"a\"])]", "layers[0].joints: found 1"),
        (
            "layers: [(joints: [\"a\", \"b\"], smoothing: 0.5)]",
            "layers[0].smoothing: only acts around a ring",
        ),
        (
            "skirt_drivers: [(joint: \"a\", reference: \"b\", product: xyz, outer: (1, 1, 99), inner: (0, 0, 0), min_deg: (0, 0, 0), max_deg: (9, 9, 9))]",
            "skirt_drivers[0].outer[2]: found 99",
        ),
        (
            "skirt_drivers: [(joint: \"a\", reference: \"b\", product: xyz, outer: (1, 1, 1), inner: (0, 0, 0), min_deg: (0, 10, 0), max_deg: (9, 9, 9))]",
            "skirt_drivers[0].min_deg[1]: found 10, expected at most max_deg, 9",
        ),
        (
            "blend_constraints: [(joint: \"a\")]",
            "blend_constraints[0].sources: found 0",
        ),
        (
            "bake_curves: [(joints: [\"a\"], keys: [(1, 0), (1, 1)])]",
            "bake_curves[0].keys[1][0]: found 1, expected a time after 1",
        ),
        (
            "bake_curves: [(joints: [\"a\"], keys: [(0, 2)])]",
            "bake_curves[0].keys[0][1]: found 2, expected 0 to 1",
        ),
    ] {
        let found = refusal(&format!("(version: 1, {field})"));
        assert!(found.contains(place), "{field}\n{found}");
    }
}

#[test]
fn a_product_of_turns_that_is_none_is_refused() {
    let found = refusal(
        "(version: 1, skirt_drivers: [(joint: \"a\", reference: \"b\", product: yxz, outer: (1, 1, 1), inner: (0, 0, 0), min_deg: (0, 0, 0), max_deg: (9, 9, 9))])",
    );
    assert!(
        found.contains("`yxz`") && found.contains("`zyx`"),
        "{found}"
    );
}

#[test]
fn a_capsule_or_plane_on_a_swing_joint_would_never_hit_and_is_refused() {
    for shape in [
        "capsule(offset_a: (0, 0, 0), offset_b: (0, 1, 0), radius_a: 1, radius_b: 1)",
        "plane(normal: (0, 1, 0))",
    ] {
        let found = parameters(&format!("collider: (shape: {shape})"));
        assert_refused(
            &found,
            "4:19",
            "on a swing joint, expected a sphere or a line",
        );
    }
}

#[test]
fn a_file_that_is_missing_or_no_text_is_refused() {
    let missing = rig_file::read(Path::new("no/such/rig.ron")).unwrap_err();
    assert!(
        missing
            .to_string()
            .starts_with("no/such/rig.ron: cannot read: "),
        "{missing}"
    );
    let file = std::env::temp_dir().join(format!("flounce-{}.ron", std::process::id()));
    std::fs::write(&file, b"(version: 1,\n\xff)").unwrap();
    let found = rig_file::read(&file).unwrap_err();
    std::fs::remove_file(&file).unwrap();
    assert!(
        matches!(
            found,
            Error::Ron {
                line: 2,
                column: 1,
                ..
            }
        ),
        "{found}"
    );
}

/// The RON examples in the module doc of a source file.
fn examples(source: &str) -> Vec<String> {
    let doc: Vec<&str> = source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    let doc = doc.join("\n");
    let examples = doc.split("```ron\n").skip(1);
    let examples = examples.filter_map(|rest| rest.split("```").next());
    examples.map(str::to_owned).collect()
}

#[test]
fn the_examples_in_the_docs_are_read() {
    let rigs = examples(include_str!("../assets/rig_file.rs"));
    let scenes = examples(include_str!("../assets/scene.rs"));
    assert_eq!((rigs.len(), scenes.len()), (1, 1));
    read(&rigs[0]).unwrap_or_else(|error| panic!("{error}"));
    scene::parse(Path::new("a.ron"), &scenes[0]).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn the_rigs_of_the_repository_are_read_and_say_what_they_show() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenes/rigs");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let file = entry.unwrap().path();
        rig_file::read(&file).unwrap_or_else(|error| panic!("{error}"));
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("// "), "{}", file.display());
        count += 1;
    }
    assert!(count >= 3, "{count} rigs");
}
