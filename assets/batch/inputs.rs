//! Inputs: what the words of a command line mean as files.
//!
//! A word is the path of a file, a folder (searched with all folders in it), a pattern (`*` and `?` within one name, `**`
//! over folders, `[a-z]`, `{a,b}`) or `@LIST`, a text file with one such word per line; in a list, paths are relative to
//! the list's folder, empty lines and lines that begin with `#` say nothing. What exists by its literal name is never a
//! pattern. Folders and patterns pass over hidden names and do not follow links to folders.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};

use super::{slashed, tidy};
use crate::assets::check::counted;
use crate::assets::{Error, text};

/// A file and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// The file.
    pub file: PathBuf,
    /// Its folder below the folder or the pattern's fixed part that it was found by, `/` between parts; empty for files
    /// that were named.
    pub folder: String,
}

/// Which files are looked for.
struct Kind {
    /// For messages: "model".
    what: &'static str,
    /// In lower case.
    extensions: &'static [&'static str],
}

const MODEL: Kind = Kind {
    what: "model",
    extensions: &["glb", "gltf", "vrm"],
};
const RIG: Kind = Kind {
    what: "rig",
    extensions: &["ron"],
};

/// Letters that make a word a pattern.
const PATTERN: [char; 4] = ['*', '?', '[', '{'];

/// The models that `words` mean, sorted by their paths, bytewise with `/` between parts; each file once, under the first
/// of its paths. What `passes_over` says yes to is not found by folders and patterns.
///
/// # Errors
/// [`Error::Request`] for a word that finds nothing, with what was looked for, and for a file whose name is not UTF-8, which
/// a manifest cannot hold; [`Error::Io`] for folders and lists that
/// cannot be read.
pub fn models(words: &[String], passes_over: &dyn Fn(&Path) -> bool) -> Result<Vec<Input>, Error> {
    let mut found = Vec::new();
    for word in words {
        found.extend(expand(word, Path::new(""), &MODEL, passes_over, true)?);
    }
    found.sort_by_cached_key(|input| slashed(&input.file));
    Ok(each_once(found))
}

/// The rig files that `words` mean, in the order of the words; those of a folder or a pattern sorted. Each file once.
///
/// # Errors
/// As [`models`].
pub fn rigs(words: &[String]) -> Result<Vec<PathBuf>, Error> {
    let mut found = Vec::new();
    for word in words {
        let mut more = expand(word, Path::new(""), &RIG, &|_| false, true)?;
        if !word.starts_with('@') {
            more.sort_by_cached_key(|input| slashed(&input.file));
        }
        found.extend(more);
    }
    Ok(each_once(found)
        .into_iter()
        .map(|input| input.file)
        .collect())
}

/// Drops files that came before, under whatever name.
fn each_once(found: Vec<Input>) -> Vec<Input> {
    let mut seen = BTreeSet::new();
    let is_new = |input: &Input| {
        let real = input.file.canonicalize();
        seen.insert(real.unwrap_or_else(|_| input.file.clone()))
    };
    let mut found = found;
    let mut is_new = is_new;
    found.retain(|input| is_new(input));
    found
}

fn expand(
    word: &str,
    base: &Path,
    kind: &Kind,
    passes_over: &dyn Fn(&Path) -> bool,
    lists: bool,
) -> Result<Vec<Input>, Error> {
    let path = tidy(&base.join(word));
    if path.is_file() {
        let folder = String::new();
        return Ok(vec![Input { file: path, folder }]);
    }
    if base.join(word).is_dir() {
        let search = Search::new(&path, None, usize::MAX, passes_over);
        return search.run(word, kind);
    }
    if let Some(list) = word.strip_prefix('@').filter(|_| lists) {
        return expand_list(&base.join(list), kind, passes_over);
    }
    if word.contains(PATTERN) {
        return expand_pattern(word, base, kind, passes_over);
    }
    Err(Error::Request(format!(
        "{}: found nothing of this name, expected a {} ({}), a folder of them, a pattern, or @LIST",
        path.display(),
        kind.what,
        shown(kind)
    )))
}

/// `.glb, .gltf or .vrm`
fn shown(kind: &Kind) -> String {
    let with_dots: Vec<String> = kind.extensions.iter().map(|e| format!(".{e}")).collect();
    match with_dots.as_slice() {
        [but_last @ .., last] if !but_last.is_empty() => {
            format!("{} or {last}", but_last.join(", "))
        }
        all => all.concat(),
    }
}

fn expand_list(
    list: &Path,
    kind: &Kind,
    passes_over: &dyn Fn(&Path) -> bool,
) -> Result<Vec<Input>, Error> {
    let folder = list.parent().unwrap_or(Path::new(""));
    let mut found = Vec::new();
    for (index, line) in text::load(list)?.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let more = expand(line, folder, kind, passes_over, false);
        found.extend(more.map_err(|error| match error {
            Error::Request(why) => {
                Error::Request(format!("{}:{}: {why}", list.display(), index + 1))
            }
            other => other,
        })?);
    }
    if found.is_empty() {
        return Err(Error::Request(format!(
            "{}: found no line that names a {}, expected one path per line",
            list.display(),
            kind.what
        )));
    }
    Ok(found)
}

fn expand_pattern(
    word: &str,
    base: &Path,
    kind: &Kind,
    passes_over: &dyn Fn(&Path) -> bool,
) -> Result<Vec<Input>, Error> {
    let fixed_parts = word.split('/').take_while(|part| !part.contains(PATTERN));
    let fixed: usize = fixed_parts.map(|part| part.len() + 1).sum();
    let (root, rest) = word.split_at(fixed);
    let matcher = GlobBuilder::new(rest)
        .literal_separator(true)
        .build()
        .map_err(|error| Error::Request(format!("{word}: is no pattern: {}", error.kind())))?
        .compile_matcher();
    let depth = if rest.contains("**") {
        usize::MAX
    } else {
        rest.split('/').count()
    };
    let root = base.join(root);
    Search::new(&tidy(&root), Some(matcher), depth, passes_over).run(word, kind)
}

/// A walk through a folder.
struct Search<'a> {
    root: &'a Path,
    /// Of the path below the root.
    matcher: Option<GlobMatcher>,
    /// Parts of the longest path below the root.
    depth: usize,
    passes_over: &'a dyn Fn(&Path) -> bool,
    found: Vec<Input>,
    /// Files that the pattern matches and that are of another kind.
    others: usize,
    /// Files that were passed over.
    passed: usize,
}

impl<'a> Search<'a> {
    fn new(
        root: &'a Path,
        matcher: Option<GlobMatcher>,
        depth: usize,
        passes_over: &'a dyn Fn(&Path) -> bool,
    ) -> Self {
        Self {
            root,
            matcher,
            depth,
            passes_over,
            found: Vec::new(),
            others: 0,
            passed: 0,
        }
    }

    fn run(mut self, word: &str, kind: &Kind) -> Result<Vec<Input>, Error> {
        let root = if self.root.as_os_str().is_empty() {
            Path::new(".")
        } else {
            self.root
        };
        if root.is_dir() {
            self.walk(root, "", 1, kind)?;
        }
        if !self.found.is_empty() {
            return Ok(self.found);
        }
        let found = match self.others {
            0 if self.passed > 0 => format!(
                "{} of a batch, which folders and patterns pass over",
                counted(self.passed, "output")
            ),
            0 if self.matcher.is_some() => "nothing that it matches".to_owned(),
            0 => "no files in this folder".to_owned(),
            others => format!("{} of other kinds", counted(others, "file")),
        };
        Err(Error::Request(format!(
            "{word}: found {found}, expected at least one {} ({}) below {}",
            kind.what,
            shown(kind),
            root.display()
        )))
    }

    /// Looks through `folder`, which is `below` the root.
    fn walk(&mut self, folder: &Path, below: &str, depth: usize, kind: &Kind) -> Result<(), Error> {
        let io = |error| Error::io(folder, "read", error);
        let mut names: Vec<(OsString, bool)> = Vec::new();
        for entry in fs::read_dir(folder).map_err(io)? {
            let entry = entry.map_err(io)?;
            let is_folder = entry.file_type().map_err(io)?.is_dir();
            names.push((entry.file_name(), is_folder));
        }
        names.sort_unstable();
        for (name, is_folder) in names {
            let path = tidy(&folder.join(&name));
            let name = name.to_string_lossy();
            if name.starts_with('.') {
                continue;
            }
            if (self.passes_over)(&path) {
                self.passed += usize::from(!is_folder);
                continue;
            }
            let relative = if below.is_empty() {
                name.into_owned()
            } else {
                format!("{below}/{name}")
            };
            if is_folder {
                if depth < self.depth {
                    self.walk(&path, &relative, depth + 1, kind)?;
                }
            } else if path.is_file() {
                self.take(path, &relative, below, kind)?;
            }
        }
        Ok(())
    }

    fn take(
        &mut self,
        file: PathBuf,
        relative: &str,
        below: &str,
        kind: &Kind,
    ) -> Result<(), Error> {
        let matcher = self.matcher.as_ref();
        if matcher.is_some_and(|matcher| !matcher.is_match(relative)) {
            return Ok(());
        }
        let extension = file.extension().unwrap_or_default().to_ascii_lowercase();
        if kind.extensions.iter().any(|known| extension == *known) {
            if file.to_str().is_none() {
                return Err(Error::Request(format!(
                    "{}: the path is not UTF-8, which a plan cannot hold; rename it",
                    file.display()
                )));
            }
            let folder = below.to_owned();
            self.found.push(Input { file, folder });
        } else {
            self.others += 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder with models, a rig and what is neither.
    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in [
            "b.glb",
            "a.GLB",
            "deep/er/c.vrm",
            "deep/d.gltf",
            "deep/notes.txt",
            ".hidden/e.glb",
            "hair.ron",
            "[x].glb",
        ] {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    fn found(home: &Path, words: &[&str]) -> Result<Vec<(String, String)>, String> {
        let words: Vec<String> = words
            .iter()
            .map(|word| match word.strip_prefix('@') {
                Some(list) => format!("@{}", home.join(list).display()),
                None => home.join(word).display().to_string(),
            })
            .collect();
        let found = models(&words, &|path| path.ends_with("passed"));
        let found = found.map_err(|error| error.to_string())?;
        let relative = |input: Input| {
            let file = input.file.strip_prefix(home).unwrap().to_path_buf();
            (slashed(&file).unwrap(), input.folder)
        };
        Ok(found.into_iter().map(relative).collect())
    }

    fn files(home: &Path, words: &[&str]) -> Vec<String> {
        let found = found(home, words).unwrap_or_else(|error| panic!("{error}"));
        found.into_iter().map(|(file, _)| file).collect()
    }

    #[test]
    fn folders_patterns_and_lists_find_models_sorted_and_once() {
        let home = folder();
        let home = home.path();
        let all = ["[x].glb", "a.GLB", "b.glb", "deep/d.gltf", "deep/er/c.vrm"];
        assert_eq!(files(home, &["."]), all);
        assert_eq!(files(home, &["deep", "b.glb", "*.glb", "."]), all);
        assert_eq!(files(home, &["**/*"]), all);
        assert_eq!(files(home, &["*"]), all[..3]);
        assert_eq!(files(home, &["deep/*"]), [all[3]]);
        assert_eq!(files(home, &["{a,b}.*"]), [all[1], all[2]]);
        assert_eq!(files(home, &["[x].glb"]), [all[0]], "the literal name wins");
        fs::write(
            home.join("deep/list.txt"),
            "# what to bake\n\n../b.glb\ner\n d.gltf \n",
        )
        .unwrap();
        assert_eq!(
            files(home, &["@deep/list.txt"]),
            ["deep/../b.glb", all[3], all[4]]
        );
    }

    #[test]
    fn an_input_knows_its_folder_below_what_found_it() {
        let home = folder();
        let home = home.path();
        let folders = |words: &[&str]| -> Vec<String> {
            let found = found(home, words).unwrap_or_else(|error| panic!("{error}"));
            found.into_iter().map(|(_, folder)| folder).collect()
        };
        assert_eq!(folders(&["."]), ["", "", "", "deep", "deep/er"]);
        assert_eq!(folders(&["deep"]), ["", "er"]);
        assert_eq!(folders(&["deep/**/*.vrm"]), ["er"]);
        assert_eq!(folders(&["deep/er/c.vrm"]), [""]);
    }

    #[test]
    fn what_finds_nothing_says_what_was_looked_for() {
        let home = folder();
        let home = home.path();
        fs::create_dir(home.join("empty")).unwrap();
        fs::write(home.join("none.txt"), "# nothing\n").unwrap();
        fs::write(home.join("wrong.txt"), "b.glb\nz.glb\n").unwrap();
        for (word, expected) in [
            (
                "z.glb",
                "z.glb: found nothing of this name, expected a model (.glb, .gltf or .vrm), a folder",
            ),
            (
                "*.fbx",
                "*.fbx: found nothing that it matches, expected at least one model",
            ),
            ("*.ron", "*.ron: found 1 file of other kinds"),
            ("nowhere/*.glb", "found nothing that it matches"),
            ("empty", "empty: found no files in this folder"),
            ("{a", "is no pattern"),
            ("@none.txt", "none.txt: found no line that names a model"),
            ("@wrong.txt", "wrong.txt:2: "),
            ("@missing.txt", "missing.txt: cannot read"),
        ] {
            let refused = found(home, &[word]).unwrap_err();
            assert!(refused.contains(expected), "{word}: {refused}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn names_that_are_not_utf_8_are_refused_where_they_are_looked_for() {
        use std::os::unix::ffi::OsStrExt;
        let home = folder();
        let home = home.path();
        let named = |name: &[u8]| home.join(std::ffi::OsStr::from_bytes(name));
        fs::write(named(b"f\xffx.txt"), "").unwrap();
        assert_eq!(files(home, &["."]).len(), 5);
        fs::create_dir(named(b"n\xffn")).unwrap();
        fs::write(named(b"n\xffn/g.glb"), "").unwrap();
        fs::write(named(b"n\xffn/f\xffx.vrm"), "").unwrap();
        assert_eq!(files(home, &["*.glb"]).len(), 2, "not looked for");
        let refused = found(home, &["."]).unwrap_err();
        assert!(
            refused.contains("n\u{fffd}n/f\u{fffd}x.vrm: the path is not UTF-8"),
            "{refused}"
        );
    }

    #[test]
    fn a_folder_of_outputs_alone_says_that_they_are_passed_over() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("passed"), "").unwrap();
        let refused = found(home.path(), &["."]).unwrap_err();
        let expected = "found 1 output of a batch, which folders and patterns pass over";
        assert!(refused.contains(expected), "{refused}");
    }

    #[test]
    fn rigs_keep_the_order_they_were_named_in() {
        let home = folder();
        fs::write(home.path().join("arm.ron"), "").unwrap();
        let word = |name: &str| home.path().join(name).display().to_string();
        let found = rigs(&[word("hair.ron"), word("*.ron")]).unwrap();
        assert_eq!(
            found,
            [home.path().join("hair.ron"), home.path().join("arm.ron")]
        );
        assert!(rigs(&[word("b*.ron")]).is_err());
    }
}
