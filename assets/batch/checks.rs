//! Checks of planned jobs: what is known to fail, or cannot be meant, before anything runs.

use std::path::Path;
use std::sync::Arc;

use super::hash::ContentHash;
use super::manifest::{Entry, Manifest};
use super::names::{LONGEST_PART, is_reserved};
use super::plan::{Read, beside};
use crate::assets::container::Form;
use crate::assets::rig_file::RigFile;
use crate::assets::{Error, patch};
use crate::rig::Rig;

/// Why each of `rigs` does not fit the joints of a model; `None` for those that do or cannot be read.
///
/// Putting a rig on is nothing beside reading the model.
pub(super) fn misfits(
    joints: &Rig,
    rigs: &[Read<(RigFile, ContentHash)>],
) -> Vec<Option<Arc<Error>>> {
    let misfit = |rig: &Read<(RigFile, ContentHash)>| {
        let (rules, _) = rig.as_ref().ok()?;
        rules.apply(&mut joints.clone()).err().map(Arc::new)
    };
    rigs.iter().map(misfit).collect()
}

/// Why the output of `entry` cannot have its name: that of another kind of file than the model.
pub(super) fn misnamed(form: Form, out_dir: &Path, entry: &Entry) -> Option<Arc<Error>> {
    let right = patch::check_extension(form, &out_dir.join(&entry.output));
    right.err().map(Arc::new)
}

/// Refuses an entry whose files no file system takes, or that would be among the ledgers.
///
/// # Errors
/// [`Error::Request`] that names the job and the file.
pub(super) fn refuse_name(manifest: &Manifest, entry: &Entry) -> Result<(), Error> {
    let references = &manifest.models[entry.model].references;
    let copies = references.iter().map(|it| beside(&entry.output, &it.file));
    let own = [Some(&entry.output), entry.side.as_ref()];
    for file in own.into_iter().flatten().cloned().chain(copies) {
        let refuse = |why: String| {
            let job = manifest.describe(entry);
            Err(Error::Request(format!(
                "{file}: a file of job {} ({job}) {why}",
                entry.number
            )))
        };
        if is_reserved(&file) {
            return refuse(
                "would be in .flounce, the folder of ledgers; expected another".to_owned(),
            );
        }
        let longest = file.split('/').map(str::len).max().unwrap_or(0);
        if longest > LONGEST_PART {
            return refuse(format!(
                "has a name of {longest} bytes, expected at most {LONGEST_PART}; shorten --name"
            ));
        }
    }
    Ok(())
}
