//! The clips that a scene or a command can name: those of its model, and those of other files, bound to its joints.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bevy_math::Quat;

use super::Error;
use super::check::counted;
use super::import::{self, Model};
use super::layers::ClipFileRule;
use crate::binding::{Binding, Retarget};
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
    /// # Errors
    /// Those of reading the file; [`Error::Request`] when no track of it finds a joint.
    pub fn add(&mut self, rule: &ClipFileRule, folder: &Path, rig: &Rig) -> Result<PathBuf, Error> {
        let file = folder.join(&rule.file);
        let (model, _) = import::read_model(&file)?;
        let [x, y, z] = rule.basis_deg.map(f32::to_radians);
        let retarget = Retarget {
            basis: if rule.basis_deg == [0.0; 3] {
                Quat::IDENTITY
            } else {
                from_euler_zxy([x, y, z]).into()
            },
            scale: rule.scale,
        };
        let mut found = 0;
        for clip in &model.clips {
            let binding = Binding::new(clip, &model.rig, rig, &rule.names);
            let bound = binding.apply(clip, &retarget);
            found += bound.tracks.len();
            self.warnings.extend(unmatched(&file, clip, &binding));
            self.clips.push(Arc::new(Clip {
                // `#3` means the model's own.
                source: usize::MAX,
                ..bound
            }));
            self.bound.push(BoundClip {
                file: file.clone(),
                clip: clip.name.clone(),
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
        Ok(file)
    }
}

/// A warning for joints that the model does not have.
fn unmatched(file: &Path, clip: &Clip, binding: &Binding) -> Option<String> {
    const SHOWN: usize = 5;
    let lost = &binding.unmatched_source;
    let first = lost
        .iter()
        .take(SHOWN)
        .cloned()
        .collect::<Vec<_>>()
        .join(", ");
    let more = if lost.len() > SHOWN { ", …" } else { "" };
    (!lost.is_empty()).then(|| {
        format!(
            "{}: clip \"{}\": {} of the file find no joint of the model: {first}{more}",
            file.display(),
            clip.name,
            counted(lost.len(), "joint"),
        )
    })
}
