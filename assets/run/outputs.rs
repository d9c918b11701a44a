//! Outputs: the files that a scene asks for, recorded frame by frame and written at the end.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::expectations::{refuse, swing_of};
use super::{RunOptions, Stage};
use crate::assets::Error;
use crate::assets::bake::moved::{Property, leg_properties, moved_properties, push};
use crate::assets::bake::{check_size, for_file};
use crate::assets::check::counted;
use crate::assets::patch::{
    self, BakedClip, BakedTarget, BakedTrack, BakedValues, PatchOptions, Patched, patch,
};
use crate::assets::scene::{Output, Scene};
use crate::clip::{ClipPlayer, Track, TrackValues};
use crate::pose::LocalPose;
use crate::rig::Rig;

/// Everything that is being recorded.
pub struct Recorder {
    outputs: Vec<Recording>,
    warnings: Vec<String>,
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
    times: Vec<f32>,
    tracks: Vec<(usize, BakedValues)>,
}

/// Rows of numbers.
struct Trace {
    file: PathBuf,
    actor: usize,
    swings: Vec<usize>,
    text: String,
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
            let read = scene.rig().into_iter().chain([scene.file().to_path_buf()]);
            for read in read {
                patch::refuse_same(&file, &read)?;
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

impl Baked {
    /// The joints that the actor's clip turns, moves or scales, and those that the rig moves.
    fn new(stage: &Stage, file: PathBuf, actor: usize, name: Option<&str>) -> Self {
        let player = stage.host.world.get::<ClipPlayer>(stage.actors[actor]);
        let tracks = player.map_or(&[][..], |player| &player.clip.tracks);
        let rest = |joint: usize| stage.rig.joints[joint].rest;
        let animated = tracks.iter().filter_map(|track| match &track.values {
            TrackValues::Rotation(_) => Some((track.joint, Property::Rotation)),
            TrackValues::Translation(_) => Some((track.joint, Property::Translation)),
            // Exporters write scale for every joint; what only repeats the rest pose is not wanted.
            TrackValues::Scale(keys) => {
                let still = keys
                    .iter()
                    .all(|key| *key == rest(track.joint).scale.to_array());
                (!still).then_some((track.joint, Property::Scale))
            }
            TrackValues::Weights { .. } | TrackValues::BakeWeight(_) => None,
        });
        let mut moved = moved_properties(&stage.rig);
        moved.extend(animated);
        if stage.has_anchors(actor) {
            moved.extend(leg_properties(&stage.rig));
        }
        moved.sort_unstable();
        moved.dedup();
        let clip_name = player.map_or("swing", |player| &player.clip.name);
        Self {
            file,
            actor,
            name: name.unwrap_or(clip_name).to_owned(),
            times: Vec::new(),
            tracks: moved
                .into_iter()
                .map(|(joint, property)| (joint, property.values(0)))
                .collect(),
        }
    }

    /// Numbers kept per frame.
    fn numbers(&self) -> usize {
        let width = |values: &BakedValues| match values {
            BakedValues::Rotation(_) => 4,
            BakedValues::Translation(_) | BakedValues::Scale(_) => 3,
        };
        self.tracks.iter().map(|(_, values)| width(values)).sum()
    }

    /// A warning when the actor's clip moves what a baked clip has no tracks for.
    fn left_out(&self, stage: &Stage) -> Option<String> {
        let player = stage
            .host
            .world
            .get::<ClipPlayer>(stage.actors[self.actor])?;
        let weights = |track: &&Track| matches!(track.values, TrackValues::Weights { .. });
        let count = player.clip.tracks.iter().filter(weights).count();
        (count > 0).then(|| {
            format!(
                "clip \"{}\" has {} of morph weights, which the baked clip leaves out; `flounce bake` keeps them",
                player.clip.name,
                counted(count, "track")
            )
        })
    }

    fn keep(&mut self, stage: &Stage, time: f64) {
        let Some(pose) = stage.host.world.get::<LocalPose>(stage.actors[self.actor]) else {
            return;
        };
        self.times.push(time as f32);
        for (joint, values) in &mut self.tracks {
            push(values, &pose.0[*joint]);
        }
    }

    /// What was kept as a new clip of the file.
    fn clip(self, rig: &Rig) -> BakedClip {
        let tracks = self.tracks.into_iter().map(|(joint, mut values)| {
            if let BakedValues::Rotation(rotations) = &mut values {
                for_file(rotations);
            }
            (joint, values)
        });
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
