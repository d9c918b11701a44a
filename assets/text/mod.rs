//! RON for people: reading with limits, and errors that say where, what was found and what was expected.

use std::fmt::Display;
use std::io::Read;
use std::path::Path;

use ron::extensions::Extensions;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Error;

mod faults;
mod places;
mod words;

pub(super) use faults::{Faults, FieldPath};

/// Largest file that is read, bytes: ten times a rig of a thousand joints with a line of parameters each. Time and
/// memory for what is wrong in it stay small.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// The whole text of `file`.
///
/// # Errors
/// [`Error::Io`] if it cannot be read; [`Error::Ron`] if it is larger than [`MAX_BYTES`] or not UTF-8.
pub(super) fn load(file: &Path) -> Result<String, Error> {
    let io = |source| Error::io(file, "read", source);
    let mut bytes = Vec::new();
    let opened = std::fs::File::open(file).map_err(io)?;
    let limit = MAX_BYTES as u64 + 1;
    opened.take(limit).read_to_end(&mut bytes).map_err(io)?;
    decode(file, bytes)
}

/// The text of `bytes`, the whole of `file`.
///
/// # Errors
/// [`Error::Ron`] if there are more than [`MAX_BYTES`] or they are not UTF-8.
pub(super) fn decode(file: &Path, bytes: Vec<u8>) -> Result<String, Error> {
    if bytes.len() > MAX_BYTES {
        return Err(too_large(file));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let message = "found a byte that is not UTF-8, expected UTF-8 text".to_owned();
        at_byte(file, &text, at, message, None)
    })
}

/// `text`, a whole file, as a `T`. A byte order mark is skipped.
///
/// # Errors
/// [`Error::Ron`], with the place and the field path.
pub(super) fn parse<T: DeserializeOwned>(file: &Path, text: &str) -> Result<T, Error> {
    let text = without_mark(text);
    if text.len() > MAX_BYTES {
        return Err(too_large(file));
    }
    check_shape(file, text)?;
    options()
        .from_str(text)
        .map_err(|error| words::explain(file, text, &error))
}

/// The text that places count in: without a byte order mark.
pub(super) fn without_mark(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// `value` as text that [`parse`] reads back to an equal value.
///
/// # Errors
/// [`Error::Request`] if it cannot be written, which no value of our schemas causes.
pub(super) fn write<T: Serialize>(value: &T) -> Result<String, Error> {
    let pretty = ron::ser::PrettyConfig::new()
        .new_line("\n")
        .separate_tuple_members(false)
        .compact_arrays(false);
    options()
        .to_string_pretty(value, pretty)
        .map(|text| text + "\n")
        .map_err(|error| Error::Request(format!("cannot write RON: {error}")))
}

/// `Some` may be left out. The recursion limit stays at `ron`'s 128.
fn options() -> ron::Options {
    ron::Options::default().with_default_extension(Extensions::IMPLICIT_SOME)
}

/// What `ron` lets pass or says badly: nesting without end, keys written twice, another version.
fn check_shape(file: &Path, text: &str) -> Result<(), Error> {
    let mut walk = places::Walk::new(text);
    while let Some(token) = walk.next() {
        let word = &text[token.range.clone()];
        let message = match walk.stop {
            Some(places::Stop::TooDeep) => format!(
                "recursion limit: found a bracket inside {} others, expected fewer",
                places::MAX_DEPTH
            ),
            Some(places::Stop::Duplicate) => format!("found `{word}` twice, expected it once"),
            None if walk.path() == "version" && walk.item() == Some(token.range.start) => {
                match word.parse::<u64>() {
                    Ok(version) if version != u64::from(VERSION) => {
                        format!("found version {version}, expected version {VERSION}")
                    }
                    _ => continue,
                }
            }
            None => continue,
        };
        let message = faults::joined(&walk.path(), &message);
        return Err(at_byte(file, text, token.range.start, message, None));
    }
    Ok(())
}

/// The version of the rig and scene files that this program reads.
pub(super) const VERSION: u32 = 1;

fn too_large(file: &Path) -> Error {
    let message = format!("found a file of more than {MAX_BYTES} bytes, expected a smaller one");
    at_byte(file, "", 0, message, None)
}

/// An [`Error::Ron`] at byte `at` of `text`.
fn at_byte(file: &Path, text: &str, at: usize, message: String, help: Option<String>) -> Error {
    let (line, column) = places::line_and_column(text, at);
    Error::Ron {
        file: file.to_path_buf(),
        text: text.to_owned(),
        line,
        column,
        message,
        help,
    }
}

/// Up to three of `names` that look like `name`, best first: for "did you mean".
pub(super) fn near<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    let wanted = name.to_lowercase();
    let mut scored: Vec<(f64, &str)> = names
        .map(|other| (likeness(&wanted, &other.to_lowercase()), other))
        .filter(|&(score, _)| score >= LIKE_ENOUGH)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
    scored.dedup();
    scored.into_iter().take(3).map(|(_, other)| other).collect()
}

/// Likeness from which a name is worth proposing: a letter wrong in four passes, unrelated words of five do not.
const LIKE_ENOUGH: f64 = 0.7;

/// 0 to 1; a name that contains the other, as `Armature_hair_01` does `hair_01`, counts as close.
fn likeness(a: &str, b: &str) -> f64 {
    // Edit distances of overlong names would take quadratic time.
    if a.len() > 256 || b.len() > 256 {
        return if a == b { 1.0 } else { 0.0 };
    }
    let shorter = a.len().min(b.len());
    if shorter >= 4 && (a.contains(b) || b.contains(a)) {
        return 0.9;
    }
    strsim::normalized_damerau_levenshtein(a, b)
}

/// "did you mean …?", if there is something to propose.
pub(super) fn did_you_mean<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<String> {
    let near: Vec<String> = near(name, names).into_iter().map(quoted).collect();
    (!near.is_empty()).then(|| format!("did you mean {}?", one_of(&near)))
}

/// `a`, `b` or `c`.
pub(super) fn one_of<T: Display>(things: &[T]) -> String {
    match things {
        [] => String::new(),
        [one] => one.to_string(),
        [first @ .., last] => {
            let first: Vec<String> = first.iter().map(ToString::to_string).collect();
            format!("{} or {last}", first.join(", "))
        }
    }
}

/// A name in quotes, shortened when it would fill the screen.
pub(super) fn quoted(name: &str) -> String {
    const SHOWN: usize = 80;
    if name.len() <= SHOWN {
        return format!("{name:?}");
    }
    let head = &name[..name.floor_char_boundary(SHOWN)];
    format!("{head:?}… ({} bytes)", name.len())
}

#[cfg(test)]
mod tests;
