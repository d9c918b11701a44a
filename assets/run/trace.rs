//! A table of what the swing joints of an actor did, one row per frame and joint.

use std::fmt::Write as _;
use std::path::PathBuf;

use super::Stage;

/// Rows of numbers.
pub(super) struct Trace {
    pub(super) file: PathBuf,
    actor: usize,
    swings: Vec<usize>,
    pub(super) text: String,
}

impl Trace {
    pub(super) fn new(file: PathBuf, actor: usize, swings: Vec<usize>) -> Self {
        let text = "time,joint,name,tip_x,tip_y,tip_z,rotation_x,rotation_y,rotation_z,rotation_w,deflection_deg,hits\n";
        Self {
            file,
            actor,
            swings,
            text: text.to_owned(),
        }
    }

    pub(super) fn keep(&mut self, stage: &Stage, time: f64) {
        let Some(readout) = stage.readout(self.actor) else {
            return;
        };
        for &swing in &self.swings {
            let joint = &stage.rig.joints[stage.rig.swing[swing].joint];
            let Some(result) = readout.0[swing] else {
                continue;
            };
            let (tip, q) = (result.particle, result.rotation);
            let name = joint.name.replace('"', "\"\"");
            // Writing to a string cannot fail. Numbers print in the shortest form that reads back equal.
            let _ = writeln!(
                self.text,
                "{time},{},\"{name}\",{},{},{},{},{},{},{},{},{}",
                joint.source,
                tip.x,
                tip.y,
                tip.z,
                q.x,
                q.y,
                q.z,
                q.w,
                result.deflection.to_degrees(),
                result.hits
            );
        }
    }
}
