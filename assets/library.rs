//! The clips that a scene or a command can name: those of its model, and those of other files, bound to its joints.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bevy_math::Quat;

use super::Error;
use super::check::counted;
use super::import::{self, Model};
use super::layers::ClipFileRule;
use super::rig_file::names::Names;
use crate::binding::{Binding, Partners, Retarget};
use crate::clip::Clip;
use crate::euler::from_euler_zxy;
use crate::rig::Rig;

/// How the clip of another file found the model's joints.
#[derive(Clone, Debug)]
pub struct BoundClip {
    /// The file.
    pub file: PathBuf,
    /// The clip.
    pub clip: String,
    /// Its tracks and joints.
    pub binding: Binding,
    /// Joints of the file that it moves and the model does not have, for people.
    pub unmatched: Vec<String>,
}

/// Clips by name; of two that share one the first counts.
#[derive(Clone, Debug, Default)]
pub struct Library {
    /// The model's, in file order, then those of other files.
    pub clips: Vec<Arc<Clip>>,
    /// How those of other files were bound.
    pub bound: Vec<BoundClip>,
    /// What deserves a look, one sentence each.
    pub warnings: Vec<String>,
}

impl Library {
    /// The clips of `model`.
    pub fn new(model: &Model) -> Self {
        Self {
            clips: model.clips.iter().cloned().map(Arc::new).collect(),
            ..Self::default()
        }
    }

    /// Adds the clips of a file, bound to the joints of `rig`; its path is relative to `folder`. Returns the file's path.
    ///
    /// A clip whose name is taken is called `FILE#NAME`, with a warning.
    ///
    /// # Errors
    /// Those of reading the file; [`Error::Faults`] for `names` that the file or the model does not have;
    /// [`Error::Request`] when no track of it finds a joint.
    pub fn add(&mut self, rule: &ClipFileRule, folder: &Path, rig: &Rig) -> Result<PathBuf, Error> {
        let file = folder.join(&rule.file);
        let (model, _) = import::read_model(&file)?;
        let partners = Partners::new(&model.rig, rig, &renamed(&file, rule, &model.rig, rig)?);
        let retarget = retarget(rule);
        let (mut found, mut lost, mut misfits) = (0, BTreeSet::new(), 0);
        for clip in &model.clips {
            let binding = Binding::new(clip, &model.rig, rig, &partners);
            let mut bound = if rule.from_rest {
                binding.apply_by_rest(clip, &model.rig, rig, &retarget)
            } else {
                binding.apply(clip, &retarget)
            };
            found += bound.tracks.len();
            misfits += binding.misfits.len();
            lost.extend(&binding.unmatched_source);
            bound.name = self.name_of(&file, &clip.name);
            // `#3` means the model's own.
            bound.source = usize::MAX;
            self.clips.push(Arc::new(bound));
            self.bound.push(BoundClip {
                file: file.clone(),
                clip: clip.name.clone(),
                unmatched: binding
                    .unmatched_source
                    .iter()
                    .map(|&joint| model.rig.describe(joint))
                    .collect(),
                binding,
            });
        }
        if found == 0 {
            return Err(Error::Request(format!(
                "{}: none of its {} moves a joint of the model; give the model's names in `names`",
                file.display(),
                counted(model.clips.len(), "clip"),
            )));
        }
        let lost: Vec<usize> = lost.into_iter().collect();
        self.warnings
            .extend(unmatched(&file, &model.rig, &lost, &partners));
        if misfits > 0 {
            self.warnings.push(format!(
                "{}: {} of morph weights find no mesh with as many targets",
                file.display(),
                counted(misfits, "track"),
            ));
        }
        Ok(file)
    }

    /// The name of a clip of a file: its own, unless that is taken.
    fn name_of(&mut self, file: &Path, name: &str) -> String {
        if self.clips.iter().all(|clip| clip.name != name) {
            return name.to_owned();
        }
        let of = file.file_name().unwrap_or_default().to_string_lossy();
        let called = format!("{of}#{name}");
        self.warnings.push(format!(
            "{}: its clip \"{name}\" is called \"{called}\" here, because another has its name",
            file.display()
        ));
        called
    }
}

/// The joints that `names` pairs, of the file and of the model.
fn renamed(
    file: &Path,
    rule: &ClipFileRule,
    theirs: &Rig,
    ours: &Rig,
) -> Result<Vec<(usize, usize)>, Error> {
    let (of_file, of_model) = (Names::new(theirs), Names::new(ours));
    let (mut pairs, mut faults) = (Vec::new(), Vec::new());
    for (from, to) in &rule.names {
        let mut find = |names: &Names, name: &str, whose: &str| {
            let found = names.find(name);
            if let Err(missing) = &found {
                let (fault, help) = names.explain(name, missing);
                let help = help.map_or_else(String::new, |help| format!("; {help}"));
                let fault = fault.replace("of the model", whose);
                faults.push(format!("names[{from:?}]: {fault}{help}"));
            }
            found.ok()
        };
        let from_joint = find(&of_file, from, "of this file");
        let to_joint = find(&of_model, to, "of the model");
        pairs.extend(from_joint.zip(to_joint));
    }
    if faults.is_empty() {
        return Ok(pairs);
    }
    let file = file.to_path_buf();
    Err(Error::Faults { file, faults })
}

fn retarget(rule: &ClipFileRule) -> Retarget {
    let [x, y, z] = rule.basis_deg.map(f32::to_radians);
    Retarget {
        basis: if rule.basis_deg == [0.0; 3] {
            Quat::IDENTITY
        } else {
            from_euler_zxy([x, y, z]).into()
        },
        scale: rule.scale,
    }
}

/// A warning for joints that find none of the model.
fn unmatched(file: &Path, rig: &Rig, lost: &[usize], partners: &Partners) -> Option<String> {
    const SHOWN: usize = 5;
    let describe = |&joint: &usize| {
        let why = if partners.ambiguous.binary_search(&joint).is_ok() {
            " (several have its name)"
        } else {
            ""
        };
        format!("{}{why}", rig.describe(joint))
    };
    let first: Vec<String> = lost.iter().take(SHOWN).map(describe).collect();
    let more = if lost.len() > SHOWN { ", …" } else { "" };
    (!lost.is_empty()).then(|| {
        format!(
            "{}: {} that its clips move find no joint of the model: {}{more}; `names` can pair them",
            file.display(),
            counted(lost.len(), "joint"),
            first.join(", "),
        )
    })
}
