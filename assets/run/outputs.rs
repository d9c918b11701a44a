//! Outputs: the files that a scene asks for, recorded frame by frame and written at the end.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::expectations::{refuse, swing_of};
use super::{RunOptions, Stage};
use crate::assets::Error;
use crate::assets::patch::{
    self, BakedClip, BakedTarget, BakedTrack, BakedValues, PatchOptions, patch,
};
use crate::assets::scene::{Output, Scene};
use crate::clip::{self, ClipPlayer, TrackValues};
use crate::pose::LocalPose;
use crate::rig::Rig;

/// Everything that is being recorded.
pub struct Recorder {
    outputs: Vec<Recording>,
}

enum Recording {
    Baked(Baked),
    Trace(Trace),
}

/// The motion of one actor.
struct Baked {
    file: PathBuf,
    actor: usize,
    name: String,
    /// Whether the actor's clip has tracks of scale or morph weights, which are not recorded.
    loses: bool,
    times: Vec<f32>,
    rotations: Vec<(usize, Vec<[f32; 4]>)>,
    translations: Vec<(usize, Vec<[f32; 3]>)>,
}

/// Rows of numbers.
struct Trace {
    file: PathBuf,
    actor: usize,
    swings: Vec<usize>,
    text: String,
}

impl Recorder {
    /// Prepares the outputs of `scene`; none when the options name no folder.
    ///
    /// # Errors
    /// [`Error::Faults`] for joints that are no swing joints; [`Error::Exists`] for a file that is there already.
    pub fn new(scene: &Scene, stage: &Stage, options: &RunOptions) -> Result<Self, Error> {
        let (mut outputs, mut faults) = (Vec::new(), Vec::new());
        let asked = options.out_dir.iter().flat_map(|folder| {
            let outputs = scene.rules().outputs.iter().enumerate();
            outputs.map(move |(index, output)| (index, output, scene.output(folder, output)))
        });
        for (index, output, file) in asked {
            if file.exists() && !options.overwrite {
                return Err(Error::Exists(file));
            }
            outputs.push(match output {
                Output::Baked { actor, clip, .. } => {
                    Recording::Baked(Baked::new(stage, file, *actor, clip.as_deref()))
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
        Ok(Self { outputs })
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
        for output in self.outputs {
            match output {
                Recording::Baked(baked) => {
                    let file = baked.file.clone();
                    make_folder(&file)?;
                    if baked.loses {
                        warnings.push(format!(
                            "{}: the tracks of scale and morph weights of \"{}\" are left out",
                            file.display(),
                            baked.name
                        ));
                    }
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
                    make_folder(&trace.file)?;
                    write_whole(&trace.file, trace.text.as_bytes())?;
                    files.push(trace.file);
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

/// Writes a file that appears whole or not at all.
fn write_whole(file: &Path, bytes: &[u8]) -> Result<(), Error> {
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let write = || {
        let mut temporary = tempfile::NamedTempFile::new_in(folder)?;
        temporary.write_all(bytes)?;
        temporary.persist(file).map_err(|error| error.error)
    };
    write()
        .map(drop)
        .map_err(|source| Error::io(file, "write", source))
}

impl Baked {
    /// The joints that the actor's clip turns or moves, and those that swing.
    fn new(stage: &Stage, file: PathBuf, actor: usize, name: Option<&str>) -> Self {
        let player = stage.host.world.get::<ClipPlayer>(stage.actors[actor]);
        let tracks = player.map_or(&[][..], |player| &player.clip.tracks);
        let of_kind = |kind: fn(&TrackValues) -> bool| {
            let tracks = tracks.iter().filter(move |track| kind(&track.values));
            tracks.map(|track| track.joint)
        };
        let mut turned: Vec<usize> = of_kind(|v| matches!(v, TrackValues::Rotation(_))).collect();
        turned.extend(stage.rig.swing.iter().map(|swing| swing.joint));
        turned.sort_unstable();
        turned.dedup();
        let moved = of_kind(|v| matches!(v, TrackValues::Translation(_)));
        let left_out = |values: &TrackValues| {
            matches!(values, TrackValues::Scale(_) | TrackValues::Weights { .. })
        };
        let loses = tracks.iter().any(|track| left_out(&track.values));
        let clip_name = player.map_or("swing", |player| &player.clip.name);
        Self {
            file,
            actor,
            name: name.unwrap_or(clip_name).to_owned(),
            loses,
            times: Vec::new(),
            rotations: turned
                .into_iter()
                .map(|joint| (joint, Vec::new()))
                .collect(),
            translations: moved.map(|joint| (joint, Vec::new())).collect(),
        }
    }

    fn keep(&mut self, stage: &Stage, time: f64) {
        let Some(pose) = stage.host.world.get::<LocalPose>(stage.actors[self.actor]) else {
            return;
        };
        self.times.push(time as f32);
        for (joint, values) in &mut self.rotations {
            values.push(pose.0[*joint].rotation.to_array());
        }
        for (joint, values) in &mut self.translations {
            values.push(pose.0[*joint].translation.to_array());
        }
    }

    /// What was kept as a new clip of the file.
    fn clip(self, rig: &Rig) -> BakedClip {
        let rotations = self.rotations.into_iter().map(|(node, mut values)| {
            clip::align_hemispheres(&mut values, 1, 0);
            (node, BakedValues::Rotation(values))
        });
        let translations = self.translations.into_iter();
        let translations = translations.map(|(node, v)| (node, BakedValues::Translation(v)));
        let tracks = rotations.chain(translations);
        BakedClip {
            target: BakedTarget::New(self.name),
            times: self.times,
            tracks: tracks
                .map(|(joint, values)| BakedTrack {
                    node: rig.joints[joint].source,
                    values,
                    keys: None,
                })
                .collect(),
        }
    }
}

impl Trace {
    fn new(file: PathBuf, actor: usize, swings: Vec<usize>) -> Self {
        let text = "time,joint,name,tip_x,tip_y,tip_z,rotation_x,rotation_y,rotation_z,rotation_w,deflection_deg,hits\n";
        Self {
            file,
            actor,
            swings,
            text: text.to_owned(),
        }
    }

    fn keep(&mut self, stage: &Stage, time: f64) {
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
