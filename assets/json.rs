//! JSON as glTF files hold it: parsed once into small typed structs, every refusal with a JSON pointer.
//!
//! `serde_json` does the parsing. What it leaves to its callers is done here: a pointer for each error (found again by
//! walking the text up to where the parser stopped), and a limit on nesting that also holds where unknown members are
//! skipped. The types of values are in [`types`].
//!
//! A member that occurs twice in an object is refused where the member is read and skipped where it is not.

use std::path::Path;

use serde::de::Deserialize;

use super::Error;

mod types;
pub(crate) use types::{Index, Number, Numbers, Object, Size, Text, present};

/// How many arrays and objects may lie within each other: what `serde_json` accepts where it builds values, so that a
/// file that can be read can be patched as well. Where it skips members it counts no levels (and does not recurse).
pub(crate) const MAX_DEPTH: usize = 127;

/// Characters of a name, URI or value that a message shows before it is cut.
const MAX_QUOTED: usize = 80;

/// What is wrong, before the file's name is known: the parts of an [`Error::Gltf`].
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Fault {
    /// JSON pointer or part of the container.
    pub(crate) place: String,
    /// What is there.
    pub(crate) found: String,
    /// What would be accepted.
    pub(crate) expected: String,
}

impl Fault {
    /// A fault at `place`.
    pub(crate) fn new(
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            place: place.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// The same fault, reached from `user`: `/skins/0 ("hair"), /accessors/7/count`.
    pub(crate) fn used_by(mut self, user: &str) -> Self {
        self.place = if self.place.is_empty() {
            user.to_owned()
        } else {
            format!("{user}, {}", self.place)
        };
        self
    }

    /// The same fault, at `place` if it had none of its own.
    pub(crate) fn or_at(mut self, place: &str) -> Self {
        if self.place.is_empty() {
            place.clone_into(&mut self.place);
        }
        self
    }

    /// With the file's name.
    pub(crate) fn in_file(self, file: &Path) -> Error {
        Error::gltf(file, self.place, self.found, self.expected)
    }
}

/// `text` in quotes, cut where it is too long for a message.
pub(crate) fn quote(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED) {
        Some((end, _)) => format!("{:?}… ({} bytes)", &text[..end], text.len()),
        None => format!("{text:?}"),
    }
}

/// How a message names a thing that has a name and an index: `"hair_03" (node 17)`.
pub(crate) fn named(kind: &str, index: usize, name: &str) -> String {
    if name.is_empty() {
        format!("{kind} {index}")
    } else {
        format!("{} ({kind} {index})", quote(name))
    }
}

/// Entry `index` of `list`, which messages call `name`, or a fault without a place of its own.
pub(crate) fn entry<'t, T>(list: &'t [T], name: &str, index: usize) -> Result<&'t T, Fault> {
    list.get(index).ok_or_else(|| {
        let expected = match list.len() {
            0 => format!("an index into {name}, which is empty"),
            many => format!("an index into {name}, below {many}"),
        };
        Fault::new("", format!("index {index}"), expected)
    })
}

/// Parses `text`; members that `T` does not know are skipped.
pub(crate) fn parse<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| explain(text, &error))
}

/// The text of the values of some members of the outermost object, found without parsing the others.
///
/// `None` for a member that is not there. The text need not be JSON: what is found then is any part of it.
///
/// # Errors
/// Nesting deeper than [`MAX_DEPTH`] (brackets in strings do not count).
pub(crate) fn outline<'a, const N: usize>(
    text: &'a str,
    names: [&str; N],
) -> Result<[Option<&'a str>; N], Fault> {
    let bytes = text.as_bytes();
    let mut found = [None; N];
    let (mut depth, mut at) = (0_usize, 0);
    let (mut string, mut member) = ("", None);
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at);
                if depth == 1 {
                    string = text.get(at + 1..end).unwrap_or_default();
                }
                at = end;
            }
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(too_deep(text, at));
                }
            }
            b':' if depth == 1 => member = Some((string, at + 1)),
            byte @ (b']' | b'}' | b',') => {
                if let (1, Some((name, start))) = (depth, member) {
                    if let Some(i) = names.iter().position(|&known| known == name) {
                        found[i] = Some(&text[start..at]);
                    }
                    member = None;
                }
                depth = depth.saturating_sub(usize::from(byte != b','));
            }
            _ => {}
        }
        at += 1;
    }
    Ok(found)
}

fn too_deep(text: &str, offset: usize) -> Fault {
    Fault::new(
        pointer_at(text, offset),
        format!("more than {MAX_DEPTH} arrays and objects within each other"),
        format!("at most {MAX_DEPTH}"),
    )
}

/// The offset of the quote that closes the string opened at `start`, or the end of the text or more.
///
/// Eight bytes at a time: most of a document is the names of members, and byte by byte this took a quarter of reading.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        if let Some(eight) = bytes[at..].first_chunk::<8>() {
            let eight = u64::from_le_bytes(*eight);
            let marks = equal_bytes(eight, b'"') | equal_bytes(eight, b'\\');
            if marks == 0 {
                at += 8;
                continue;
            }
            at += marks.trailing_zeros() as usize / 8;
        }
        match bytes[at] {
            b'"' => return at,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    at
}

/// The top bit of each byte of `eight` that is `byte`; above the lowest of them also of some that are not.
fn equal_bytes(eight: u64, byte: u8) -> u64 {
    const LOW: u64 = u64::from_le_bytes([1; 8]);
    let difference = eight ^ (LOW * u64::from(byte));
    difference.wrapping_sub(LOW) & !difference & (LOW << 7)
}

/// Turns `serde_json`'s message into place, found and expected.
fn explain(text: &str, error: &serde_json::Error) -> Fault {
    let offset = offset_of(text, error.line(), error.column());
    let pointer = pointer_at(text, offset);
    let whole = error.to_string();
    let message = whole
        .rsplit_once(" at line ")
        .map_or(whole.as_str(), |(message, _)| message);
    if error.is_data() {
        let (found, expected) = found_and_expected(message);
        return Fault::new(pointer, found, expected);
    }
    let place = format!(
        "{pointer} (line {}, column {})",
        error.line(),
        error.column()
    );
    let found = if error.is_eof() {
        "the end of the text".to_owned()
    } else {
        quote(excerpt(text, offset))
    };
    Fault::new(place, found, format!("JSON ({message})"))
}

/// The two halves of a message about a value or a member.
fn found_and_expected(message: &str) -> (String, String) {
    if let Some((found, expected)) = message.rsplit_once(", expected ") {
        return (shorten(found), expected.to_owned());
    }
    if let Some(member) = message.strip_prefix("missing field ") {
        return (
            format!("no member {member}"),
            format!("{member}, which is required"),
        );
    }
    if let Some(member) = message.strip_prefix("duplicate field ") {
        return (
            format!("a second member {member}"),
            "each member once".to_owned(),
        );
    }
    (shorten(message), "another value".to_owned())
}

/// The text around `offset`.
fn excerpt(text: &str, offset: usize) -> &str {
    let start = text.floor_char_boundary(offset.saturating_sub(12));
    let end = text.ceil_char_boundary((offset + 12).min(text.len()));
    text[start..end].trim()
}

/// Cut to what a message can show.
fn shorten(message: &str) -> String {
    match message.char_indices().nth(2 * MAX_QUOTED) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message.to_owned(),
    }
}

/// The byte offset of a line and column as `serde_json` counts them: lines from 1, columns in bytes from 1.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let mut start = 0;
    for _ in 1..line {
        match text.as_bytes()[start..].iter().position(|&b| b == b'\n') {
            Some(newline) => start += newline + 1,
            None => break,
        }
    }
    (start + column).min(text.len())
}

/// An array or object that is open, and where in it the text is.
enum Open {
    Array(usize),
    Object(Option<(usize, usize)>),
}

/// The JSON pointer of the value that the text before `offset` ends in or has just finished.
fn pointer_at(text: &str, offset: usize) -> String {
    let bytes = &text.as_bytes()[..offset];
    let mut open: Vec<Open> = Vec::new();
    let mut string = None;
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'"' => {
                let end = string_end(bytes, at).min(bytes.len());
                string = Some((at + 1, end));
                at = end;
            }
            b'[' => open.push(Open::Array(0)),
            b'{' => open.push(Open::Object(None)),
            b']' | b'}' => drop(open.pop()),
            b':' => {
                if let Some(Open::Object(member)) = open.last_mut() {
                    *member = string;
                }
            }
            b',' => {
                if let Some(Open::Array(index)) = open.last_mut() {
                    *index += 1;
                }
            }
            _ => {}
        }
        at += 1;
    }
    write_pointer(text, &open)
}

/// *RFC 6901*; the whole document, whose pointer is empty, shows as `/`.
fn write_pointer(text: &str, open: &[Open]) -> String {
    let mut pointer = String::new();
    for level in open {
        match level {
            Open::Array(index) => pointer.push_str(&format!("/{index}")),
            Open::Object(Some((start, end))) => {
                let name = text.get(*start..*end).unwrap_or_default();
                let name = name.replace('~', "~0").replace('/', "~1");
                pointer.push_str(&format!("/{}", shorten(&name)));
            }
            Open::Object(None) => {}
        }
    }
    if pointer.is_empty() {
        pointer.push('/');
    }
    pointer
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, serde::Deserialize)]
    struct Root<'a> {
        #[serde(borrow, default)]
        #[expect(dead_code, reason = "only parsed")]
        list: Vec<Object<Entry<'a>>>,
    }
    #[derive(Debug, serde::Deserialize)]
    struct Entry<'a> {
        #[serde(borrow)]
        #[expect(dead_code, reason = "only parsed")]
        name: Text<'a>,
        #[serde(default, deserialize_with = "present")]
        #[expect(dead_code, reason = "only parsed")]
        size: Option<Size>,
    }

    fn place(text: &str) -> String {
        parse::<Object<Root>>(text).map(|_| ()).unwrap_err().place
    }

    #[test]
    fn errors_point_at_the_value() {
        for (text, pointer) in [
            (
                r#"{"a":[1,{"b":"]"}],"list":[{"name":"x"},{"name":3}]}"#,
                "/list/1/name",
            ),
            (r#"{"list":[{"name":"x","size":-1}]}"#, "/list/0/size"),
            (r#"{"list":[{"name":"x","size":[1]}]}"#, "/list/0/size"),
            (r#"{"list":[{"name":"x","size":null}]}"#, "/list/0/size"),
            (r#"{"list":[{"name":"x"},{}]}"#, "/list/1"),
            (r#"{"list":[[]]}"#, "/list/0"),
            (r#"{"list":[{"name":"\"x\\","name":""}]}"#, "/list/0/name"),
            ("{\n \"list\":\n 7}", "/list"),
            ("[]", "/"),
        ] {
            assert_eq!(place(text), pointer, "{text}");
        }
    }

    #[test]
    fn members_are_there_once() {
        let fault = |text| parse::<Object<Root>>(text).map(|_| ()).unwrap_err();
        let missing = fault(r#"{"list":[{}]}"#);
        assert_eq!(missing.found, "no member `name`");
        let doubled = fault(r#"{"list":[{"name":"a","name":"b"}]}"#);
        assert_eq!(doubled.found, "a second member `name`");
        assert_eq!(doubled.place, "/list/0/name");
        assert!(parse::<Object<Root>>(r#"{"unknown":1,"unknown":2}"#).is_ok());
    }

    #[test]
    fn broken_json_is_placed_by_line_and_column() {
        assert_eq!(place("{\n\"list\":[{]}"), "/list/0 (line 2, column 10)");
        assert_eq!(place(""), "/ (line 1, column 0)");
        assert_eq!(place("{} x"), "/ (line 1, column 4)");
    }

    #[test]
    fn sec_06_nesting_ends_in_an_error_also_where_it_is_skipped() {
        for (depth, fine) in [(126, true), (127, false), (1_000_000, false)] {
            let text = format!("{{\"extras\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
            assert_eq!(outline(&text, ["asset"]).is_ok(), fine, "{depth}");
            let thread = std::thread::Builder::new().stack_size(1 << 20);
            let parse = move || parse::<Object<Root>>(&text).map(|_| ());
            thread.spawn(parse).unwrap().join().unwrap().unwrap();
        }
        // What is read can be patched: `Value` has the same limit.
        let deepest = format!("{{\"extras\":{}{}}}", "[".repeat(126), "]".repeat(126));
        assert!(serde_json::from_str::<serde_json::Value>(&deepest).is_ok());
    }

    #[test]
    fn the_outline_finds_members_of_the_outermost_object_only() {
        let text = r#" {"x":{"a":1,"b":[2]}, "b" : [{"a":"}"}] ,"a":"\\","":3} "#;
        let found = outline(text, ["a", "b", "c"]).unwrap();
        assert_eq!(found, [Some(r#""\\""#), Some(r#" [{"a":"}"}] "#), None]);
        for broken in ["", "\"", "{\"a", "{\"a\":", "}}]],,::", "{\"a\":1", "\"\\"] {
            assert_eq!(outline(broken, ["a"]), Ok([None]), "{broken}");
        }
    }

    #[test]
    fn strings_end_at_their_own_quote() {
        for length in 0..40 {
            for (tail, extra) in [
                ("\"", 0),
                ("\\\\\"", 2),
                ("\\\"\"", 2),
                ("!\"", 1),
                ("]#\"", 2),
            ] {
                let text = format!("\"{}{tail}, \"more\"", "é".repeat(length));
                assert_eq!(
                    string_end(text.as_bytes(), 0),
                    1 + 2 * length + extra,
                    "{text}"
                );
            }
        }
    }

    #[test]
    fn brackets_in_strings_are_not_nesting() {
        let text = format!("{{\"extras\":\"{}\\\"[\"}}", "[".repeat(1000));
        assert!(outline(&text, ["list"]).is_ok());
    }
}
