//! Faults of values: collected with their field paths, placed in the text at the end.

use std::fmt;
use std::path::Path;

use super::{Error, at_byte, places};

/// Where a value is in a file: `chains[2].overrides["hair_03"].stiffness`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::assets) struct FieldPath {
    text: String,
    /// Lengths of the shorter paths that lead here.
    cuts: Vec<usize>,
}

impl FieldPath {
    fn then(&self, segment: &str) -> Self {
        let mut cuts = self.cuts.clone();
        cuts.push(self.text.len());
        Self {
            text: format!("{}{segment}", self.text),
            cuts,
        }
    }

    /// The field `name` of this.
    pub(in crate::assets) fn field(&self, name: &str) -> Self {
        if self.text.is_empty() {
            self.then(name)
        } else {
            self.then(&format!(".{name}"))
        }
    }

    /// Element `index` of this.
    pub(in crate::assets) fn index(&self, index: usize) -> Self {
        self.then(&format!("[{index}]"))
    }

    /// The entry of this map under `key`.
    pub(in crate::assets) fn key(&self, key: &str) -> Self {
        self.then(&format!("[{key:?}]"))
    }

    /// This path and the shorter ones that lead to it, longest first.
    fn and_above(&self) -> impl Iterator<Item = &str> {
        let shorter = self.cuts.iter().rev().map(|&cut| &self.text[..cut]);
        std::iter::once(self.text.as_str()).chain(shorter)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// One thing that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::assets) struct Fault {
    /// Where.
    pub path: FieldPath,
    /// What was found and what was expected.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// What is wrong in a file, in the order of finding.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::assets) struct Faults(pub Vec<Fault>);

/// How many faults are kept: nobody reads more, and a file of faults should not take the memory of many files.
const MOST: usize = 500;

impl Faults {
    /// Notes a fault.
    pub(in crate::assets) fn add(&mut self, path: &FieldPath, message: impl Into<String>) {
        self.add_with_help(path, message, None);
    }

    /// Notes a fault and what to do about it.
    pub(in crate::assets) fn add_with_help(
        &mut self,
        path: &FieldPath,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        let fault = Fault {
            path: path.clone(),
            message: message.into(),
            help,
        };
        // Joints that share parameters share their faults.
        if self.0.len() < MOST && !self.0.contains(&fault) {
            self.0.push(fault);
        }
    }

    /// Each fault with its place in `text`, for people: `12:5: chains[2].root: found …, expected …`.
    pub(in crate::assets) fn lines(&self, text: &str) -> Vec<String> {
        self.placed(text)
            .map(|(fault, at)| {
                let (line, column) = places::line_and_column(text, at);
                let help = fault.help.as_deref().map(|help| format!("; {help}"));
                format!(
                    "{line}:{column}: {}{}",
                    joined(&fault.path.text, &fault.message),
                    help.unwrap_or_default()
                )
            })
            .collect()
    }

    /// Each fault without its place, for values that are in no file: `rate_hz: found …, expected …`.
    pub(in crate::assets) fn messages(&self) -> Vec<String> {
        let message = |fault: &Fault| {
            let help = fault.help.as_deref().map(|help| format!("; {help}"));
            joined(&fault.path.text, &fault.message) + &help.unwrap_or_default()
        };
        self.0.iter().map(message).collect()
    }

    /// Nothing wrong, or an [`Error::Faults`] of values that have no place in a text.
    pub(in crate::assets) fn into_error(self, file: &Path) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Error::Faults {
            file: file.to_path_buf(),
            faults: self.messages(),
        })
    }

    /// Nothing wrong, or an [`Error::Faults`].
    pub(in crate::assets) fn into_result(self, file: &Path, text: &str) -> Result<(), Error> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(Error::Faults {
            file: file.to_path_buf(),
            faults: self.lines(text),
        })
    }

    /// Nothing wrong; one fault, which is shown in the text; or several, which are listed.
    pub(in crate::assets) fn into_value_result(self, file: &Path, text: &str) -> Result<(), Error> {
        let [fault] = self.0.as_slice() else {
            return self.into_result(file, text);
        };
        let at = self.placed(text).map(|(_, at)| at).next().unwrap_or(0);
        let message = joined(&fault.path.text, &fault.message);
        Err(at_byte(file, text, at, message, fault.help.clone()))
    }

    /// Each fault with the byte where its field is, or the nearest field around it that is written in the file.
    fn placed(&self, text: &str) -> impl Iterator<Item = (&Fault, usize)> {
        let paths = self.0.iter().flat_map(|fault| fault.path.and_above());
        let places = places::locate(text, paths);
        self.0.iter().map(move |fault| {
            let at = fault.path.and_above().find_map(|path| places.get(path));
            (fault, at.copied().unwrap_or(0))
        })
    }
}

/// `path: message`, or the message alone for the whole file.
pub(super) fn joined(path: &str, message: &str) -> String {
    if path.is_empty() {
        message.to_owned()
    } else {
        format!("{path}: {message}")
    }
}
