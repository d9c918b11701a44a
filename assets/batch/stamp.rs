//! Stamps: what an output hangs on, and whether it still is what it would become.
//!
//! The key of an entry is the hash of the program's version and [`OUTPUT_FORMAT`], the options, the bytes of model,
//! referenced files and rig, and the indices of the clips that are baked, whichever way they were asked for. Names, folders and times of files do not enter. An output is up to date when the ledger has
//! a record of it with the entry's key and every file of that record still has the content it was written with.

use std::path::Path;

use rayon::prelude::*;
use serde::Serialize;

use super::hash::ContentHash;
use super::ledger::{Ledger, Outcome, Record};
use super::manifest::{Entry, Manifest, Options, Reference};
use super::plan::{Plan, copies};

/// Raised with every change of the program that changes the bytes of outputs, so that no build keeps what an earlier build
/// of the same version wrote. A manifest carries the keys of the build that planned it: plan again.
pub const OUTPUT_FORMAT: u32 = 1;

/// What is done with outputs that exist already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// They are refused before anything runs.
    #[default]
    Refuse,
    /// Those that are up to date are left alone and reported as skipped; others that a batch wrote are done again.
    Skip,
    /// As [`Self::Skip`], but what is up to date counts as done, with the report that it had: a run that was killed and
    /// resumed reports what one that was not would have.
    Resume,
}

/// What is to be done about an entry.
#[derive(Clone, Debug, PartialEq)]
pub enum Todo {
    /// It is baked, for this reason.
    Bake(Reason),
    /// Its output is up to date.
    Keep(Box<Outcome>),
    /// A file that no batch wrote is in its place.
    Taken(String),
    /// Planning saw that it cannot be baked.
    Fault,
}

/// Why an entry is baked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// There is no output.
    New,
    /// The output was made from other inputs, options or by another version.
    InputsChanged,
    /// The output is not what was written: cut, edited, or the run that wrote it was killed.
    OutputChanged,
    /// Whatever is there is overwritten.
    Forced,
}

impl Reason {
    /// For people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::InputsChanged => "inputs, options or version changed",
            Self::OutputChanged => "output unfinished or changed",
            Self::Forced => "overwritten",
        }
    }
}

/// What goes into a key.
#[derive(Serialize)]
struct Key<'a> {
    program: &'a str,
    format: u32,
    /// Without what only chooses clips.
    options: &'a Options,
    model: &'a ContentHash,
    references: &'a [Reference],
    rig: &'a ContentHash,
    /// Of their animations, in the order of the file; none: the motion of a model without clips.
    clips: &'a [Option<usize>],
}

/// The key of an entry of `manifest` that bakes these clips.
pub(super) fn key(manifest: &Manifest, entry: &Entry, clips: &[Option<usize>]) -> ContentHash {
    let model = &manifest.models[entry.model];
    let mut options = manifest.options.clone();
    options.clips.clear();
    if !clips.contains(&None) {
        // How long to bake what has no clips.
        options.seconds = 0.0;
    }
    ContentHash::of_json(&Key {
        program: &manifest.program,
        format: OUTPUT_FORMAT,
        options: &options,
        model: &model.hash,
        references: &model.references,
        rig: &manifest.rigs[entry.rig].hash,
        clips,
    })
}

/// What is to be done about the entries `selected`, in their order; on the threads of the current rayon pool, because
/// outputs are read whole.
///
/// `overwrite`: files that no batch wrote are no obstacle, and those that are to be skipped or resumed are the only ones
/// that stay.
pub fn decide(
    plan: &Plan,
    selected: &[usize],
    ledger: &Ledger,
    existing: Existing,
    overwrite: bool,
) -> Vec<Todo> {
    let decide = |&index: &usize| {
        if plan.faults[index].is_some() {
            return Todo::Fault;
        }
        decide_one(
            plan,
            &plan.manifest.entries[index],
            ledger,
            existing,
            overwrite,
        )
    };
    selected.par_iter().map(decide).collect()
}

fn decide_one(
    plan: &Plan,
    entry: &Entry,
    ledger: &Ledger,
    existing: Existing,
    overwrite: bool,
) -> Todo {
    let is_there = |file: &str| plan.output(file).symlink_metadata().is_ok();
    let mut own = [Some(&entry.output), entry.side.as_ref()]
        .into_iter()
        .flatten();
    let keeps = existing != Existing::Refuse;
    let records = ledger.records(&entry.output);
    if keeps {
        let fits =
            |record: &&Record| record.key == entry.key && is_whole(&plan.out_dir, &record.outcome);
        if let Some(record) = records.iter().rev().find(fits) {
            return Todo::Keep(Box::new(record.outcome.clone()));
        }
    }
    if !overwrite {
        let foreign = |file: &&String| is_there(file) && !(keeps && ledger.claims(file));
        if let Some(file) = own.clone().find(foreign) {
            return Todo::Taken(file.clone());
        }
        let foreign = |(file, content): &(String, Option<&ContentHash>)| {
            is_there(file)
                && !(keeps && ledger.claims(file))
                && ContentHash::of_file(&plan.output(file)).ok().as_ref() != *content
        };
        // What is missing is not copied: whatever is in its place stays.
        let mut copies = copies(&plan.manifest, entry)
            .filter(|(_, content)| *content != Some(&ContentHash::default()));
        if let Some((file, _)) = copies.find(foreign) {
            return Todo::Taken(file);
        }
    }
    Todo::Bake(if !own.any(|file| is_there(file)) {
        Reason::New
    } else if !keeps {
        Reason::Forced
    } else if records.is_empty() || records.iter().any(|record| record.key == entry.key) {
        Reason::OutputChanged
    } else {
        Reason::InputsChanged
    })
}

/// The files that are going to be overwritten although they are not what the ledger says was written: changed by hand,
/// most likely. Relative to the output folder, in the order of `selected`; on the threads of the current rayon pool.
pub fn changed_by_hand(
    plan: &Plan,
    selected: &[usize],
    todo: &[Todo],
    ledger: &Ledger,
) -> Vec<String> {
    let own = |(&index, todo): (&usize, &Todo)| {
        let entry = &plan.manifest.entries[index];
        let own = [Some(&entry.output), entry.side.as_ref()];
        let own = own.into_iter().flatten();
        let is_changed = |file: &&String| is_changed(plan, entry, file, ledger);
        match todo {
            Todo::Bake(_) => own.filter(is_changed).cloned().collect(),
            _ => Vec::new(),
        }
    };
    let pairs = selected.par_iter().zip(todo);
    pairs.flat_map_iter(own).collect()
}

/// Whether records say what `file` of `entry` held, and it holds something else, which no unfinished run explains.
fn is_changed(plan: &Plan, entry: &Entry, file: &str, ledger: &Ledger) -> bool {
    let records = ledger.records(&entry.output).iter();
    let written = records.flat_map(|record| &record.outcome.files);
    let written: Vec<_> = written.filter(|written| written.file == file).collect();
    let path = plan.output(file);
    let Ok(data) = path.metadata() else {
        return false;
    };
    if written.is_empty() || ledger.left_unfinished(file) {
        return false;
    }
    // A length is cheaper than a content.
    let mut like = written.iter().filter(|it| it.bytes == data.len());
    let content = || ContentHash::of_file(&path).unwrap_or_default();
    like.clone().next().is_none() || {
        let content = content();
        like.all(|it| it.hash != content)
    }
}

/// Whether every file of an outcome is there with the content that it was written with.
fn is_whole(out_dir: &Path, outcome: &Outcome) -> bool {
    !outcome.files.is_empty()
        && outcome.files.iter().all(|written| {
            let file = out_dir.join(&written.file);
            // A length is cheaper than a content.
            file.metadata()
                .is_ok_and(|data| data.len() == written.bytes)
                && ContentHash::of_file(&file).is_ok_and(|hash| hash == written.hash)
        })
}

#[cfg(test)]
mod tests {
    use super::super::manifest::ClipOf;
    use super::super::manifest::tests::manifest;
    use super::*;

    #[test]
    fn a_key_hangs_on_content_and_not_on_names() {
        let same = manifest(&[10]);
        let of = |change: &dyn Fn(&mut Manifest)| {
            let mut changed = same.clone();
            change(&mut changed);
            let clip = changed.entries[0].clip.as_ref().map(|clip| clip.index);
            key(&changed, &changed.entries[0], &[clip.unwrap_or(Some(7))])
        };
        let first = of(&|_| {});
        assert_eq!(
            of(&|it| it.models[0].file = "moved/a.glb".to_owned()),
            first
        );
        assert_eq!(
            of(&|it| it.entries[0].output = "other.glb".to_owned()),
            first
        );
        // The way to the clips does not matter, nor how long what has none would be baked.
        let all = |it: &mut Manifest| it.options.clips = vec!["walk".to_owned(), "#3".to_owned()];
        assert_eq!(of(&all), first);
        let longer = |it: &mut Manifest| it.options.seconds = 9.0;
        assert_eq!(of(&longer), first);
        let other = ContentHash::of(b"other");
        let clip = |index| {
            let name = "walk".to_owned();
            Some(ClipOf { index, name })
        };
        let reference = Reference {
            file: "a.bin".to_owned(),
            hash: other.clone(),
        };
        let mut keys = vec![
            first,
            of(&|it| it.models[0].hash = other.clone()),
            of(&|it| it.rigs[0].hash = other.clone()),
            of(&|it| it.models[0].references.push(reference.clone())),
            of(&|it| it.program = "flounce 9".to_owned()),
            of(&|it| it.options.rate_hz = 30.0),
            of(&|it| it.options.profile.prewarm = 0),
            of(&|it| it.entries[0].clip = clip(None)),
            of(&|it| {
                it.entries[0].clip = clip(None);
                it.options.seconds = 9.0;
            }),
            of(&|it| it.entries[0].clip = clip(Some(0))),
            of(&|it| it.entries[0].clip = clip(Some(1))),
        ];
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 11);
    }
}
