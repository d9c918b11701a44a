//! Fitting: a rig file on a list of joints. Characters of one model are looked at together and fitted once.

use std::sync::Arc;

use bevy_asset::AssetId;

use super::joints::FIRST_SOURCE;
use super::rig_asset::RigAsset;
use super::swing::{JointScope, Swing};
use crate::assets::rig_file::RigFile;
use crate::rig::{Joint, Rig};

/// So many of the last fits are looked at for one that is asked for again.
const REMEMBERED: usize = 8;

/// A rig file that fits.
#[derive(Clone, Debug)]
pub(super) struct Fit {
    /// Of the joints in `kept`.
    pub rig: Arc<Rig>,
    /// Which of the joints are joints of the rig, ascending.
    pub kept: Vec<usize>,
    /// What deserves a look.
    pub warnings: Vec<String>,
}

/// The fits of a frame.
#[derive(Debug, Default)]
pub(super) struct Fits(Vec<Known>);

#[derive(Debug)]
struct Known {
    file: AssetId<RigAsset>,
    scope: JointScope,
    joints: Vec<Joint>,
    fit: Arc<Result<Fit, String>>,
}

impl Fits {
    /// `file` on `joints` as `swing` asks for it; else what does not fit, with places in the file.
    pub(super) fn of(
        &mut self,
        swing: &Swing,
        file: &RigFile,
        joints: Vec<Joint>,
    ) -> Arc<Result<Fit, String>> {
        let (id, scope) = (swing.rig.id(), swing.joints);
        let is =
            |known: &&Known| known.file == id && known.scope == scope && known.joints == joints;
        if let Some(known) = self.0.iter().rev().take(REMEMBERED).find(is) {
            return Arc::clone(&known.fit);
        }
        let fit = Arc::new(fit(file, scope, joints.clone()));
        self.0.push(Known {
            file: id,
            scope,
            joints,
            fit: Arc::clone(&fit),
        });
        fit
    }
}

fn fit(file: &RigFile, scope: JointScope, joints: Vec<Joint>) -> Result<Fit, String> {
    let mut rig = Rig::new(joints);
    let applied = file.apply(&mut rig).map_err(|error| error.to_string())?;
    let kept = match scope {
        JointScope::Needed => {
            let (mut part, kept) = rig.needed();
            // Counted anew: what else the character has must not show.
            for (index, joint) in part.joints.iter_mut().enumerate() {
                if joint.source >= FIRST_SOURCE {
                    joint.source = FIRST_SOURCE + index;
                }
            }
            rig = part;
            kept
        }
        JointScope::All => (0..rig.joints.len()).collect(),
    };
    Ok(Fit {
        rig: Arc::new(rig),
        kept,
        warnings: applied.warnings,
    })
}
