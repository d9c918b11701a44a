//! Places in a RON text: which field stands where.
//!
//! The `ron` crate says where parsing stopped, and nothing about values that parsed but make no sense. This walk over
//! the tokens adds both: the field path at a place, and the place of a field path. It reads any text, correct or not,
//! without recursion, and stops at [`MAX_DEPTH`].

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Deepest nesting of brackets; our schemas need seven. Twice that of `ron`'s own limit would overflow no stack either,
/// but this one is met first and has a place.
pub(super) const MAX_DEPTH: usize = 64;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Open,
    Close,
    Comma,
    Colon,
    /// A string or a character, with its quotes.
    Text,
    /// A number, an identifier, or anything else up to the next space or bracket.
    Word,
}

/// A token and its bytes in the text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Token {
    pub kind: Kind,
    pub range: Range<usize>,
}

/// Cuts a text into tokens; spaces and comments are left out.
struct Tokens<'t> {
    text: &'t str,
    at: usize,
}

impl Tokens<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn skip_space(&mut self) {
        loop {
            let rest = self.rest();
            if let Some(line) = rest.strip_prefix("//") {
                self.at += 2 + line.find('\n').unwrap_or(line.len());
            } else if rest.starts_with("/*") {
                self.at += comment_length(rest);
            } else {
                let space = rest.len() - rest.trim_start().len();
                if space == 0 {
                    return;
                }
                self.at += space;
            }
        }
    }
}

impl Iterator for Tokens<'_> {
    type Item = Token;

    fn next(&mut self) -> Option<Token> {
        self.skip_space();
        let rest = self.rest();
        let (kind, length) = match rest.chars().next()? {
            '(' | '[' | '{' => (Kind::Open, 1),
            ')' | ']' | '}' => (Kind::Close, 1),
            ',' => (Kind::Comma, 1),
            ':' => (Kind::Colon, 1),
            _ => string_length(rest).map_or_else(
                || (Kind::Word, word_length(rest)),
                |length| (Kind::Text, length),
            ),
        };
        let range = self.at..self.at + length;
        self.at = range.end;
        Some(Token { kind, range })
    }
}

/// Length of the block comment that `text` starts with; block comments nest.
fn comment_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at + 1 < bytes.len() {
        match &bytes[at..at + 2] {
            b"/*" => (depth, at) = (depth + 1, at + 2),
            b"*/" => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            return at;
        }
    }
    text.len()
}

/// Length of the string, raw string or character that `text` starts with, if it does; up to the end if it is not
/// closed.
fn string_length(text: &str) -> Option<usize> {
    let body = text.strip_prefix('b').unwrap_or(text);
    let prefix = text.len() - body.len();
    if let Some(quote @ ('"' | '\'')) = body.chars().next() {
        return Some(prefix + quoted_length(body, quote));
    }
    let hashes = body.strip_prefix('r')?;
    let inner = hashes.trim_start_matches('#');
    let count = hashes.len() - inner.len();
    let inner = inner.strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(count));
    let start = text.len() - inner.len();
    Some(
        inner
            .find(&end)
            .map_or(text.len(), |at| start + at + end.len()),
    )
}

/// Length of `text`, which starts with `quote`, up to the next `quote` that no backslash escapes.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, letter) in text.char_indices().skip(1) {
        if escaped {
            escaped = false;
        } else if letter == '\\' {
            escaped = true;
        } else if letter == quote {
            return at + 1;
        }
    }
    text.len()
}

/// Length of the word that `text` starts with, at least one character.
fn word_length(text: &str) -> usize {
    let ends = |letter: char| letter.is_whitespace() || "()[]{},:\"'/".contains(letter);
    let first = text.chars().next().map_or(0, char::len_utf8);
    text[first..]
        .find(ends)
        .map_or(text.len(), |length| first + length)
}

/// One opened bracket, and the item inside it that is being read.
#[derive(Debug)]
struct Frame<'t> {
    /// Whether keys are allowed: not in a list.
    keyed: bool,
    /// `Some(x)`: the item is the outer item itself.
    transparent: bool,
    /// Number of items before this one.
    index: usize,
    /// The key of the item as written, once it was read.
    key: Option<&'t str>,
    /// Where the item's value starts, once it did.
    value: Option<usize>,
    /// Keys so far.
    seen: BTreeSet<&'t str>,
}

impl Frame<'_> {
    fn new(keyed: bool, transparent: bool) -> Self {
        Self {
            keyed,
            transparent,
            index: 0,
            key: None,
            value: None,
            seen: BTreeSet::new(),
        }
    }

    fn next_item(&mut self) {
        (self.index, self.key, self.value) = (self.index + 1, None, None);
    }
}

/// Why a walk cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stop {
    /// A bracket at [`MAX_DEPTH`].
    TooDeep,
    /// A key for the second time.
    Duplicate,
}

/// Walks over the tokens and knows the field path at each.
pub(super) struct Walk<'t> {
    text: &'t str,
    tokens: std::iter::Peekable<Tokens<'t>>,
    frames: Vec<Frame<'t>>,
    /// Opened by the last token, entered by the next.
    opened: Option<Frame<'t>>,
    after_some: bool,
    /// Set when the walk ended early.
    pub stop: Option<Stop>,
}

impl<'t> Walk<'t> {
    pub(super) fn new(text: &'t str) -> Self {
        Self {
            text,
            tokens: Tokens { text, at: 0 }.peekable(),
            frames: vec![Frame::new(false, true)],
            opened: None,
            after_some: false,
            stop: None,
        }
    }

    /// The next token; [`Self::path`] and [`Self::item`] then speak of the item that it belongs to. A bracket belongs
    /// to the item that it opens or closes.
    pub(super) fn next(&mut self) -> Option<Token> {
        if self.stop.is_some() {
            return None;
        }
        let token = self.tokens.next()?;
        self.frames.extend(self.opened.take());
        let was_some = std::mem::take(&mut self.after_some);
        match token.kind {
            Kind::Open => self.open(&token, was_some),
            Kind::Close => {
                if self.frames.len() > 1 {
                    self.frames.pop();
                }
            }
            Kind::Comma => self.top().next_item(),
            Kind::Colon => {}
            Kind::Text | Kind::Word => self.word(&token),
        }
        Some(token)
    }

    fn top(&mut self) -> &mut Frame<'t> {
        if self.frames.is_empty() {
            self.frames.push(Frame::new(false, true));
        }
        let last = self.frames.len() - 1;
        &mut self.frames[last]
    }

    fn open(&mut self, token: &Token, transparent: bool) {
        self.top().value.get_or_insert(token.range.start);
        if self.frames.len() > MAX_DEPTH {
            self.stop = Some(Stop::TooDeep);
        }
        let keyed = !self.text[token.range.clone()].starts_with('[');
        self.opened = Some(Frame::new(keyed, transparent));
    }

    fn word(&mut self, token: &Token) {
        let before_colon = self
            .tokens
            .peek()
            .is_some_and(|next| next.kind == Kind::Colon);
        let text = &self.text[token.range.clone()];
        let frame = self.top();
        if frame.keyed && before_colon && frame.key.is_none() && frame.value.is_none() {
            frame.key = Some(text);
            if !frame.seen.insert(text) {
                self.stop = Some(Stop::Duplicate);
            }
            return;
        }
        frame.value.get_or_insert(token.range.start);
        self.after_some = text == "Some";
    }

    /// The path of the item that the last token belongs to; empty for the whole.
    pub(super) fn path(&self) -> String {
        let mut path = String::new();
        for frame in &self.frames {
            match frame.key {
                Some(key) if key.starts_with(['"', 'r', 'b']) && key.ends_with(['"', '#']) => {
                    path.push_str(&format!("[{key}]"));
                }
                Some(key) if path.is_empty() => path.push_str(key),
                Some(key) => path.push_str(&format!(".{key}")),
                None if frame.transparent || frame.value.is_none() => {}
                None => path.push_str(&format!("[{}]", frame.index)),
            }
        }
        path
    }

    /// Where the value of the item that the last token belongs to starts.
    pub(super) fn item(&self) -> Option<usize> {
        self.frames.last().and_then(|frame| frame.value)
    }
}

/// What stands at a place of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Context {
    /// Path of the field there; empty for the whole.
    pub path: String,
    /// The token there, or the end of the text.
    pub token: Range<usize>,
    /// Where the value of the field starts, or the token.
    pub item: usize,
}

/// What stands at byte `at`: the first token that ends behind it.
pub(super) fn context(text: &str, at: usize) -> Context {
    let mut walk = Walk::new(text);
    while let Some(token) = walk.next() {
        if token.range.end > at {
            return Context {
                path: walk.path(),
                item: walk.item().unwrap_or(token.range.start),
                token: token.range,
            };
        }
    }
    Context {
        path: walk.path(),
        token: text.len()..text.len(),
        item: text.len(),
    }
}

/// Where the values of `paths` start, as byte offsets; paths that do not occur are absent.
pub(super) fn locate<'p>(
    text: &str,
    paths: impl Iterator<Item = &'p str>,
) -> BTreeMap<&'p str, usize> {
    let wanted: BTreeSet<&str> = paths.collect();
    let mut found = BTreeMap::new();
    let mut walk = Walk::new(text);
    while let Some(token) = walk.next() {
        if walk.item() == Some(token.range.start) {
            let path = walk.path();
            if let Some(&wanted) = wanted.get(path.as_str()) {
                found.entry(wanted).or_insert(token.range.start);
            }
        }
    }
    found
}

/// Line and column of byte `at`, both from 1, the column in characters.
pub(super) fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..text.floor_char_boundary(at)];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (
        1 + before.matches('\n').count(),
        1 + before[line_start..].chars().count(),
    )
}

/// Byte of a line and column, both from 1, the column in characters; the end of the text if it is shorter.
pub(super) fn offset(text: &str, line: usize, column: usize) -> usize {
    let start = match line {
        0 | 1 => 0,
        _ => text
            .match_indices('\n')
            .nth(line - 2)
            .map_or(text.len(), |(at, _)| at + 1),
    };
    text[start..]
        .char_indices()
        .nth(column.saturating_sub(1))
        .map_or(text.len(), |(at, _)| start + at)
}
