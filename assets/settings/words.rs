//! What serde refuses, in the words of our other messages. Serde says it as text only: `unknown field …, expected one of
//! …`; what is not recognised is passed on as it is.

use super::{did_you_mean, one_of, quoted};

/// What separates the two halves of serde's sentences.
const EXPECTED: &str = ", expected ";

/// The fault of writing `value` at `path`: where, what was found, what was expected. `refusals`: serde's, of the value
/// as it reads and as a word; the one that lists names says most.
pub(super) fn explain(path: &str, value: &str, refusals: &[String; 2]) -> String {
    let listing = refusals.iter().find(|refused| !choices(refused).is_empty());
    // A number of the wrong kind is an "invalid number" to serde_json and no more.
    let telling = || refusals.iter().find(|refused| refused.contains(EXPECTED));
    let refused = listing.or_else(telling).unwrap_or(&refusals[0]);
    let choices = choices(refused);
    let near = |name: &str| {
        let help = did_you_mean(name, choices.iter().copied());
        help.map_or_else(String::new, |help| format!("; {help}"))
    };
    let expected = expected(refused);
    if refused.starts_with("unknown field ") {
        let key = ticks(refused).next().unwrap_or(path);
        let help = near(key);
        return format!(
            "{path}: found unknown key {}, expected {expected}{help}",
            quoted(key)
        );
    }
    let help = near(value);
    format!("{path}: found {}, expected {expected}{help}", quoted(value))
}

/// The names that serde would have taken, if it lists any.
fn choices(refused: &str) -> Vec<&str> {
    match refused.split_once(EXPECTED) {
        Some((_, after)) => ticks(after).collect(),
        None => Vec::new(),
    }
}

/// What was expected, for people.
pub(super) fn expected(refused: &str) -> String {
    let names = choices(refused);
    if !names.is_empty() {
        return ticked(&names);
    }
    let Some((_, after)) = refused.rsplit_once(EXPECTED) else {
        return format!("something else: {refused}");
    };
    match after {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number, not negative".to_owned(),
        "f32" | "f64" => "a number".to_owned(),
        "a boolean" => "true or false".to_owned(),
        "a string" => "a word".to_owned(),
        "a sequence" => "a list in brackets".to_owned(),
        other if other.starts_with("struct ") => "the path of one of its fields".to_owned(),
        other => other.strip_prefix("an array of length ").map_or_else(
            || other.to_owned(),
            |count| format!("{count} values in brackets"),
        ),
    }
}

/// The words in backticks.
fn ticks(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// `` `a`, `b` or `c` ``.
fn ticked(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    one_of(&names)
}
