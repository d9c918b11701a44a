//! Portable texts: what rows say of files, without the folder that a command was run in.
//!
//! Errors and warnings name files as they were opened, `jobs/../cast/fox.glb` by one who runs `jobs/m.json` and
//! `/farm/jobs/../cast/fox.glb` by another. Rows name them as the manifest does, `../cast/fox.glb`, and outputs relative to
//! the output folder, so that the rows of one job are equal wherever it ran.

use std::path::Path;

use super::ledger::FOLDER;
use super::manifest::Entry;
use super::plan::{Plan, beside, copies};

/// `text` with the files of `entry` named as the manifest names them.
pub(super) fn portable(plan: &Plan, entry: &Entry, text: &str) -> String {
    replace(&names(plan, entry), text)
}

/// Paths here and their names in rows, longest first.
fn names(plan: &Plan, entry: &Entry) -> Vec<(String, String)> {
    let mut names = Vec::new();
    let mut add = |here: &Path, name: &str| {
        let here = here.display().to_string();
        if !here.is_empty() && here != name {
            names.push((here, name.to_owned()));
        }
    };
    let (model, of_model) = (plan.model(entry.model), &plan.manifest.models[entry.model]);
    add(&model, &of_model.file);
    let folder = model.parent().unwrap_or(Path::new(""));
    for reference in &of_model.references {
        let name = beside(&of_model.file, &reference.file);
        add(&folder.join(&reference.file), &name);
    }
    add(&plan.rig(entry.rig), &plan.manifest.rigs[entry.rig].file);
    let own = [Some(&entry.output), entry.side.as_ref()];
    let own = own.into_iter().flatten().cloned();
    let copies = copies(&plan.manifest, entry).map(|(file, _)| file);
    for file in own.chain(copies) {
        add(&plan.output(&file), &file);
        if let Some((folder, _)) = file.rsplit_once('/') {
            add(&plan.output(folder), folder);
        }
    }
    add(&plan.output(FOLDER), FOLDER);
    names.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    names
}

/// Replaces what stands for itself, not what is a part of another path.
fn replace(names: &[(String, String)], text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let (mut rest, mut begins) = (text, true);
    let ends = |rest: &str| {
        let next = rest.chars().next();
        next.is_none_or(|next| !next.is_alphanumeric() && !matches!(next, '_' | '-'))
    };
    while let Some(next) = rest.chars().next() {
        let found = names.iter().filter(|_| begins).find_map(|(here, name)| {
            let after = rest.strip_prefix(here.as_str())?;
            ends(after).then_some((name, after))
        });
        if let Some((name, after)) = found {
            out.push_str(name);
            (rest, begins) = (after, false);
        } else {
            out.push(next);
            rest = &rest[next.len_utf8()..];
            begins = next.is_whitespace() || matches!(next, '"' | '(' | '`');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_paths_are_named_anew() {
        let names = [
            ("jobs/../cast/fox.glb", "../cast/fox.glb"),
            ("out/a", "a"),
            ("out", "x"),
        ]
        .map(|(here, name)| (here.to_owned(), name.to_owned()));
        let named = |text: &str| replace(&names, text);
        assert_eq!(
            named("jobs/../cast/fox.glb: no (jobs/../cast/fox.glb)"),
            "../cast/fox.glb: no (../cast/fox.glb)"
        );
        assert_eq!(named("/images/0: out/a.glb is"), "/images/0: a.glb is");
        assert_eq!(named("my/out/a is outer"), "my/out/a is outer");
    }
}
