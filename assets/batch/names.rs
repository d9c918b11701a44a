//! Names of outputs: a pattern such as `{model}.{rig}.{ext}`, filled in for each job.
//!
//! | placeholder | becomes |
//! |---|---|
//! | `{model}` | the model's file name without extension |
//! | `{rig}` | the rig's file name without extension |
//! | `{clip}` | the clip's name; makes a job of each clip |
//! | `{index}` | the job's number in the whole plan, from 1, with leading zeros: one more model gives others new names |
//! | `{folder}` | the model's folder below the input that found it; may be empty |
//! | `{ext}` | `glb`, `vrm` or `gltf`, as the model |
//!
//! A `/` makes folders. What comes from a file's or clip's name is made safe: letters that some file systems refuse become
//! `_`, and names are cut to [`LONGEST`] bytes.

use super::ledger;
use crate::assets::Error;

/// The pattern when none is given.
pub const DEFAULT: &str = "{model}.{rig}.{ext}";

/// Longest name that a placeholder becomes, bytes: file systems take 255 for a whole name.
pub const LONGEST: usize = 100;

/// Longest part of a path, bytes: that of ext4, APFS and NTFS, of which two count letters and take a little more.
pub const LONGEST_PART: usize = 255;

/// Names that Windows keeps for devices, whatever their extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// A pattern that was taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    Model,
    Rig,
    Clip,
    Index,
    Folder,
    Extension,
}

/// What the placeholders of a job become, not yet safe.
#[derive(Clone, Copy, Debug, Default)]
pub struct Words<'a> {
    /// Of the model's file.
    pub model: &'a str,
    /// Of the rig's file.
    pub rig: &'a str,
    /// Of the clip; empty where there is none.
    pub clip: &'a str,
    /// From 1.
    pub index: usize,
    /// How many jobs there are.
    pub count: usize,
    /// With `/` between its parts.
    pub folder: &'a str,
    /// Without a dot.
    pub extension: &'a str,
}

impl Pattern {
    /// Takes `text` apart.
    ///
    /// # Errors
    /// [`Error::Request`] for an unknown placeholder, a brace without its partner, and a pattern that leads out of the
    /// output folder or into that of its ledgers, or names no file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let refuse = |found: &str, expected: &str| {
            Err(Error::Request(format!(
                "--name \"{text}\": found {found}, expected {expected}"
            )))
        };
        let (mut parts, mut rest) = (Vec::new(), text);
        while let Some(open) = rest.find(['{', '}']) {
            let (before, at) = rest.split_at(open);
            if !before.is_empty() {
                parts.push(Part::Literal(before.to_owned()));
            }
            let Some((word, after)) = at.strip_prefix('{').and_then(|at| at.split_once('}')) else {
                return refuse("a brace without its partner", "{PLACEHOLDER}");
            };
            parts.push(match word {
                "model" => Part::Model,
                "rig" => Part::Rig,
                "clip" => Part::Clip,
                "index" => Part::Index,
                "folder" => Part::Folder,
                "ext" => Part::Extension,
                _ => {
                    let known = "{model}, {rig}, {clip}, {index}, {folder} or {ext}";
                    return refuse(&format!("{{{word}}}"), known);
                }
            });
            rest = after;
        }
        if !rest.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        if text.starts_with('/') || text.contains(['\\', ':', '\0']) {
            return refuse(
                "an absolute path, a backslash or a colon",
                "a name below --out-dir",
            );
        }
        if text.split('/').any(|part| part == "..") {
            return refuse("\"..\"", "a name below --out-dir");
        }
        if is_reserved(text) {
            return refuse(ledger::FOLDER, "another folder: that is for ledgers");
        }
        if text.is_empty() || text.ends_with('/') {
            return refuse("no file name at its end", "one such as {model}.{rig}.{ext}");
        }
        Ok(Self {
            text: text.to_owned(),
            parts,
        })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether each clip is a job of its own.
    pub fn has_clip(&self) -> bool {
        self.parts.contains(&Part::Clip)
    }

    /// The path of an output below the output folder, `/` between its parts.
    pub fn fill(&self, words: &Words<'_>) -> String {
        let digits = words.count.to_string().len();
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => filled.push_str(text),
                Part::Model => filled.push_str(&safe(words.model)),
                Part::Rig => filled.push_str(&safe(words.rig)),
                Part::Clip => filled.push_str(&safe(words.clip)),
                Part::Index => filled += &format!("{:0digits$}", words.index),
                Part::Folder => {
                    let parts = words.folder.split('/').filter(|part| !part.is_empty());
                    filled += &parts.map(safe).collect::<Vec<_>>().join("/");
                }
                Part::Extension => filled.push_str(words.extension),
            }
        }
        // An empty {folder} leaves separators without names.
        let parts = filled.split('/').filter(|part| !matches!(*part, "" | "."));
        parts.collect::<Vec<_>>().join("/")
    }
}

/// Whether `path`, with `/` between its parts, leads through a folder of ledgers, which some systems find under other cases
/// and with dots and spaces at its end.
pub fn is_reserved(path: &str) -> bool {
    path.split('/').any(|part| {
        let name = part.trim_end_matches(['.', ' ']);
        name.eq_ignore_ascii_case(ledger::FOLDER)
    })
}

/// `name` as a part of a file name that every file system takes.
pub fn safe(name: &str) -> String {
    let refused = |c: char| c.is_control() || "<>:\"/\\|?*{}".contains(c);
    let mut safe: String = name
        .chars()
        .map(|c| if refused(c) { '_' } else { c })
        .collect();
    while safe.len() > LONGEST {
        safe.pop();
    }
    // Windows drops dots and spaces at the end; a dot at the beginning hides.
    let inner = safe.trim_end_matches(['.', ' ']).len();
    safe.replace_range(inner.., &"_".repeat(safe.len() - inner));
    if safe.starts_with('.') {
        safe.replace_range(..1, "_");
    }
    let stem = safe.split('.').next().unwrap_or("").to_ascii_lowercase();
    let port = ["com", "lpt"]
        .iter()
        .filter_map(|port| stem.strip_prefix(port))
        .any(|number| number.len() == 1 && number.bytes().all(|digit| digit.is_ascii_digit()));
    if safe.is_empty() || port || DEVICES.contains(&stem.as_str()) {
        safe.insert(0, '_');
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(pattern: &str, words: &Words<'_>) -> String {
        let pattern = Pattern::parse(pattern).unwrap_or_else(|error| panic!("{error}"));
        pattern.fill(words)
    }

    #[test]
    fn placeholders_become_the_words_of_the_job() {
        let words = Words {
            model: "hero",
            rig: "hair",
            clip: "Walk / fast",
            index: 7,
            count: 120,
            folder: "cast/main",
            extension: "glb",
        };
        assert_eq!(fill(DEFAULT, &words), "hero.hair.glb");
        let all = "{folder}/{index}_{model}-{clip}.{rig}.{ext}";
        assert_eq!(fill(all, &words), "cast/main/007_hero-Walk _ fast.hair.glb");
        let nowhere = Words {
            folder: "",
            ..words
        };
        assert_eq!(fill("{folder}/{model}.{ext}", &nowhere), "hero.glb");
        assert_eq!(fill("./x//{model}.glb", &words), "x/hero.glb");
        assert!(Pattern::parse(all).unwrap().has_clip());
        assert!(!Pattern::parse(DEFAULT).unwrap().has_clip());
    }

    #[test]
    fn names_that_some_system_refuses_are_made_safe() {
        for (name, expected) in [
            ("walk", "walk"),
            ("Läufer 走", "Läufer 走"),
            ("a/b\\c:d*e?f\"g<h>i|j", "a_b_c_d_e_f_g_h_i_j"),
            ("a\nb\0c", "a_b_c"),
            ("..", "__"),
            (".hidden", "_hidden"),
            ("end. .", "end___"),
            ("", "_"),
            ("CON", "_CON"),
            ("nul.x", "_nul.x"),
            ("com1", "_com1"),
            ("common", "common"),
        ] {
            assert_eq!(safe(name), expected, "{name:?}");
        }
        let long = safe(&"ä".repeat(99));
        assert!(
            long.len() <= LONGEST && long.chars().all(|c| c == 'ä'),
            "{long}"
        );
    }

    #[test]
    fn patterns_that_lead_nowhere_are_refused() {
        for (pattern, expected) in [
            (
                "{modle}.glb",
                "found {modle}, expected {model}, {rig}, {clip}",
            ),
            ("{model", "a brace without its partner"),
            ("model}", "a brace without its partner"),
            ("/tmp/{model}.glb", "a name below --out-dir"),
            ("a/../../{model}.glb", "found \"..\""),
            ("c:{model}.glb", "a colon"),
            (".flounce/batch.tmp/{model}.glb", "found .flounce, expected"),
            ("a/.Flounce./{model}.glb", "found .flounce, expected"),
            ("{model}/.FLOUNCE", "found .flounce, expected"),
            ("", "found no file name"),
            ("{model}/", "found no file name"),
        ] {
            let refused = Pattern::parse(pattern).unwrap_err().to_string();
            assert!(refused.contains(expected), "{pattern}: {refused}");
        }
    }
}
