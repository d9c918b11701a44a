//! What `ron` reports, in our words and at the token that is wrong.

use std::path::Path;

use ron::error::{Error as Ron, SpannedError};

use super::places::{self, Context};
use super::{Error, at_byte, did_you_mean, faults, one_of, quoted};

/// `error`, which `ron` met in `text`, as an [`Error::Ron`].
pub(super) fn explain(file: &Path, text: &str, error: &SpannedError) -> Error {
    let (start, end) = (error.span.start, error.span.end);
    let start = places::offset(text, start.line, start.col);
    let end = places::offset(text, end.line, end.col);
    // `ron` stops behind what it has read and before what it expected.
    let at = if is_read(&error.code) { start } else { end };
    let context = places::context(text, at);
    let place = match error.code {
        Ron::MissingStructField { .. } | Ron::ExpectedDifferentLength { .. } => context.item,
        Ron::InvalidEscape(_) => at,
        _ => context.token.start,
    };
    let inside = place < at;
    let message = faults::joined(&context.path, &message(&error.code, text, &context, inside));
    at_byte(file, text, place, message, help(&error.code, &context))
}

/// Whether `ron` had read the token before it found it wrong.
fn is_read(code: &Ron) -> bool {
    matches!(
        code,
        Ron::NoSuchStructField { .. }
            | Ron::NoSuchEnumVariant { .. }
            | Ron::DuplicateStructField { .. }
            | Ron::ExpectedDifferentStructName { .. }
            | Ron::IntegerOutOfBounds
            | Ron::InvalidEscape(_)
            | Ron::NoSuchExtension(_)
            | Ron::UnclosedBlockComment
    )
}

/// `inside`: whether the parser stopped inside the token, which is then no number.
fn message(code: &Ron, text: &str, context: &Context, inside: bool) -> String {
    let token = &text[context.token.clone()];
    let found = match token {
        "" => "the end of the file".to_owned(),
        token if token.starts_with('"') => quoted(token.trim_matches('"')),
        token => format!("`{}`", &token[..token.floor_char_boundary(80)]),
    };
    let expected = match code {
        Ron::NoSuchStructField { found, .. } if help(code, context).is_some() => {
            return format!("found unknown field `{found}`");
        }
        Ron::NoSuchStructField {
            found, expected, ..
        } => {
            return format!(
                "found unknown field `{found}`, expected {}",
                ticked(expected)
            );
        }
        Ron::NoSuchEnumVariant {
            found, expected, ..
        } => return format!("found `{found}`, expected {}", ticked(expected)),
        Ron::MissingStructField { field, .. } => return format!("the field `{field}` is missing"),
        Ron::DuplicateStructField { field, .. } => {
            return format!("found the field `{field}` twice, expected it once");
        }
        Ron::ExpectedDifferentLength { expected, found } => {
            let values = if *found == 1 { "value" } else { "values" };
            return format!("found {found} {values}, expected {expected}");
        }
        Ron::UnclosedBlockComment => return "found a comment without its end `*/`".to_owned(),
        Ron::InvalidEscape(what) => return format!("found an unknown escape: {what}"),
        Ron::ExceededRecursionLimit => return "recursion limit: nested too deeply".to_owned(),
        Ron::ExpectedStringEnd => return "found a string without its closing quote".to_owned(),
        Ron::TrailingCharacters => "nothing after the end of the value".to_owned(),
        Ron::IntegerOutOfBounds => "a whole number that is in range (not negative)".to_owned(),
        Ron::ExpectedComma if inside && token.parse::<f64>().is_ok() => "a whole number".to_owned(),
        Ron::ExpectedComma if inside => "a number".to_owned(),
        Ron::ExpectedComma => "a comma, or the end of what was opened".to_owned(),
        Ron::ExpectedFloat => "a number".to_owned(),
        Ron::ExpectedInteger => "a whole number".to_owned(),
        Ron::ExpectedBoolean => "true or false".to_owned(),
        Ron::ExpectedString => "a text in double quotes".to_owned(),
        Ron::ExpectedIdentifier => "a field name".to_owned(),
        Ron::ExpectedArray => "a list `[…]`".to_owned(),
        Ron::ExpectedArrayEnd => "`]`".to_owned(),
        Ron::ExpectedMap => "a map `{…}`".to_owned(),
        Ron::ExpectedMapColon => "`:` after the name".to_owned(),
        Ron::ExpectedMapEnd => "`}`".to_owned(),
        Ron::ExpectedStructLike | Ron::ExpectedNamedStructLike(_) => "`(`".to_owned(),
        Ron::ExpectedStructLikeEnd => "`)`".to_owned(),
        other => return lower(&other.to_string()),
    };
    format!("found {found}, expected {expected}")
}

/// The names that were expected, for people.
fn ticked(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match names.len() {
        0 => "nothing".to_owned(),
        _ => one_of(&names),
    }
}

fn help(code: &Ron, context: &Context) -> Option<String> {
    match code {
        Ron::NoSuchStructField {
            found, expected, ..
        }
        | Ron::NoSuchEnumVariant {
            found, expected, ..
        } => did_you_mean(found, expected.iter().copied()),
        Ron::ExpectedArray if context.path.ends_with("mask") => {
            Some("a mask lists its layers, 0 to 31: `mask: [0, 3]`".to_owned())
        }
        _ => None,
    }
}

fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}
