use std::path::Path;

use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Tiny {
    #[serde(rename = "version")]
    _version: u32,
}

fn refusal(text: &str) -> String {
    parse::<Tiny>(Path::new("a.ron"), text)
        .map_or_else(|error| error.to_string(), |_| "accepted".into())
}

fn place(text: &str, path: &str) -> Option<(usize, usize)> {
    let found = places::locate(text, std::iter::once(path));
    found.get(path).map(|&at| places::line_and_column(text, at))
}

#[test]
fn a_field_path_finds_its_value_through_comments_strings_and_lists() {
    let text = "/* a: /* nested */ 1 */ (\n  // b: 2,\n  chains: [(), (r: r#\"x\")\"#, o: {\"h:(\": (s: -1)})],\n)";
    assert_eq!(place(text, "chains"), Some((3, 11)));
    assert_eq!(place(text, "chains[0]"), Some((3, 12)));
    assert_eq!(place(text, "chains[1].r"), Some((3, 20)));
    assert_eq!(place(text, "chains[1].o[\"h:(\"].s"), Some((3, 45)));
    assert_eq!(place(text, "chains[2]"), None);
}

#[test]
fn some_and_variant_names_add_nothing_to_a_path() {
    let text = "(a: Some((b: 1)), s: sphere(radius: 2), t: (3, 4))";
    assert_eq!(place(text, "a.b"), Some((1, 14)));
    assert_eq!(place(text, "s.radius"), Some((1, 37)));
    assert_eq!(place(text, "t[1]"), Some((1, 48)));
}

#[test]
fn columns_count_characters() {
    assert_eq!(place("(\"größe\": 1, b: 2)", "b"), Some((1, 17)));
}

#[test]
fn another_version_is_named_before_its_unknown_fields() {
    assert_eq!(
        refusal("(future: 1, version: 2)"),
        "a.ron:1:22: version: found version 2, expected version 1"
    );
}

#[test]
fn a_key_written_twice_is_refused_also_in_maps() {
    let found = refusal("(version: 1, m: {\"a\": 1,\n  \"a\": 2})");
    assert_eq!(
        found,
        "a.ron:2:3: m[\"a\"]: found `\"a\"` twice, expected it once"
    );
}

#[test]
fn brackets_without_end_are_refused_where_they_are_too_deep() {
    let found = refusal(&"[".repeat(100));
    let expected = "a.ron:1:65: recursion limit: found a bracket inside 64 others, expected fewer";
    assert!(found.starts_with("a.ron:1:65: "), "{found}");
    assert!(found.ends_with(&expected[12..]), "{found}");
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    assert!(refusal(&" ".repeat(MAX_BYTES + 1)).contains("expected a smaller one"));
}

#[test]
fn near_names_come_best_first_and_unrelated_ones_not_at_all() {
    let names = ["hair_02", "Hair_01", "J_hair_01_end", "tail", "root"];
    assert_eq!(
        near("hair_01", names.into_iter()),
        ["Hair_01", "J_hair_01_end", "hair_02"]
    );
    assert!(near("skirt", names.into_iter()).is_empty());
}

#[test]
fn a_very_long_name_is_shortened_in_messages() {
    assert!(quoted(&"é".repeat(100_000)).len() < 200);
}
