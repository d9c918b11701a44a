//! Outputs: the files that a scene asks for, recorded frame by frame and written at the end.

use std::path::{Path, PathBuf};

use super::baked::Baked;
use super::expectations::{refuse, swing_of};
use super::trace::Trace;
use super::{RunOptions, Stage};
use crate::assets::Error;
use crate::assets::bake::check_size;
use crate::assets::patch::{self, PatchOptions, Patched, patch};
use crate::assets::scene::{Output, Scene};

/// Everything that is being recorded.
pub struct Recorder {
    outputs: Vec<Recording>,
    warnings: Vec<String>,
}

enum Recording {
    Baked(Baked),
    Trace(Trace),
}

impl Recorder {
    /// Prepares the outputs of `scene` and makes their folders; none when the options name no folder.
    ///
    /// # Errors
    /// [`Error::Faults`] for joints that are no swing joints; [`Error::Exists`] for a file that is there already;
    /// [`Error::Request`] for one that does not fit the model, is a file that the scene reads, or would be too large.
    pub fn new(scene: &Scene, stage: &Stage, options: &RunOptions) -> Result<Self, Error> {
        let (mut outputs, mut faults, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        let asked = options.out_dir.iter().flat_map(|folder| {
            let outputs = scene.rules().outputs.iter().enumerate();
            outputs.map(move |(index, output)| (index, output, scene.output(folder, output)))
        });
        for (index, output, file) in asked {
            for (read, _) in &stage.inputs {
                patch::refuse_same(&file, read)?;
            }
            if file.exists() && !options.overwrite {
                return Err(Error::Exists(file));
            }
            outputs.push(match output {
                Output::Baked { actor, clip, .. } => {
                    patch::check_extension(stage.container.form, &file)?;
                    let baked = Baked::new(stage, file, *actor, clip.as_deref());
                    check_size(scene.frames() + 1, baked.numbers())?;
                    let left_out = baked.left_out(stage);
                    warnings.extend(left_out.map(|why| format!("outputs[{index}]: {why}")));
                    Recording::Baked(baked)
                }
                Output::Trace { actor, joints, .. } => {
                    let found = joints.iter().map(|joint| swing_of(&stage.rig, joint));
                    let swings: Result<Vec<usize>, String> = found.collect();
                    let all = || (0..stage.rig.swing.len()).collect();
                    let swings = swings.unwrap_or_else(|why| {
                        faults.push(format!("outputs[{index}].joints: {why}"));
                        Vec::new()
                    });
                    let swings = if joints.is_empty() { all() } else { swings };
                    Recording::Trace(Trace::new(file, *actor, swings))
                }
            });
        }
        refuse(scene.file(), faults)?;
        for output in &outputs {
            let (Recording::Baked(Baked { file, .. }) | Recording::Trace(Trace { file, .. })) =
                output;
            make_folder(file)?;
        }
        Ok(Self { outputs, warnings })
    }

    /// Keeps the frame that just ran.
    pub fn keep(&mut self, stage: &Stage, time: f64) {
        for output in &mut self.outputs {
            match output {
                Recording::Baked(baked) => baked.keep(stage, time),
                Recording::Trace(trace) => trace.keep(stage, time),
            }
        }
    }

    /// Writes all files; returns their names.
    ///
    /// # Errors
    /// Those of patching and writing.
    pub fn write(
        self,
        stage: &Stage,
        options: &RunOptions,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<PathBuf>, Error> {
        let mut files = Vec::new();
        warnings.extend(self.warnings);
        for output in self.outputs {
            match output {
                Recording::Baked(baked) => {
                    let file = baked.file.clone();
                    let patch_options = PatchOptions::default();
                    let patched = patch(
                        &stage.container,
                        &[baked.clip(&stage.rig)],
                        patch_options,
                        &file,
                    )?;
                    warnings.extend_from_slice(&patched.warnings);
                    let written = patch::write(&patched, &file, options.overwrite)?;
                    warnings.extend(written.warnings);
                    files.extend(written.files);
                }
                Recording::Trace(trace) => {
                    let patched = Patched {
                        main: trace.text.into_bytes(),
                        ..Patched::default()
                    };
                    let written = patch::write(&patched, &trace.file, options.overwrite)?;
                    files.extend(written.files);
                }
            }
        }
        Ok(files)
    }
}

fn make_folder(file: &Path) -> Result<(), Error> {
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::create_dir_all(folder).map_err(|source| Error::io(folder, "create", source))
}
