//! Baking: simulated motion written back as tracks of the clips it was simulated on.
//!
//! Each clip is played over its real length in a World of its own, on as many threads as there are; what the swing
//! joints did replaces the tracks that the clip had for them. Keys lie at multiples of 1/rate and at the clip's end.

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use rayon::prelude::*;

use super::Error;
use super::container::Container;
use super::import::Model;
use super::patch::{BakedClip, BakedTarget, BakedTrack, BakedValues, PatchOptions, Patched, patch};
use super::reduce;
use super::state_hash::StateHash;
use crate::clip::{self, Clip};
use crate::rig::Rig;
use crate::rotation::{self, Rotation};
use crate::swing::{ActorProperties, SwingProfile};

pub mod recording;

use recording::Recording;

/// Most rotation keys of all joints and clips in one bake: 1.6 GB of them.
const MOST_ROTATIONS: f64 = 1e8;
/// Numbers of a rotation key.
const ROTATION_WIDTH: usize = 4;

/// How to bake.
#[derive(Clone, Debug)]
pub struct BakeOptions {
    /// Clips by name or `#index`; empty: all.
    pub clips: Vec<String>,
    /// Keys per second, 0.1 to 1000. Default 60.
    pub rate_hz: f64,
    /// Whether each clip is a loop, played until its end meets its start. Default no.
    pub looped: bool,
    /// How often a loop is played at the most. Default 12.
    pub most_passes: u32,
    /// Length of the motion of a model without clips, seconds. Default 2.
    pub seconds: f32,
    /// How far a reduced track may turn from the full one, degrees; 0 keeps all keys. Default 0.
    pub tolerance_deg: f32,
    /// Of the actor.
    pub properties: ActorProperties,
    /// Switches of the solver.
    pub profile: SwingProfile,
    /// Whether the state after each frame is hashed. Default no.
    pub hashes: bool,
    /// See [`PatchOptions::strip_springs`].
    pub strip_springs: bool,
}

impl Default for BakeOptions {
    fn default() -> Self {
        Self {
            clips: Vec::new(),
            rate_hz: 60.0,
            looped: false,
            most_passes: 12,
            seconds: 2.0,
            tolerance_deg: 0.0,
            properties: ActorProperties::default(),
            profile: SwingProfile::default(),
            hashes: false,
            strip_springs: false,
        }
    }
}

/// How a loop closed: the largest difference between its end and its start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seam {
    /// Of a particle's position, metres.
    pub position: f32,
    /// Of a particle's velocity, metres per second.
    pub velocity: f32,
    /// Of a joint's rotation, radians.
    pub rotation: f32,
    /// How often the clip was played.
    pub passes: u32,
}

/// What became of one clip.
#[derive(Clone, Debug)]
pub struct ClipReport {
    /// Name of the clip.
    pub name: String,
    /// Length, seconds.
    pub seconds: f32,
    /// Keys before reduction, per joint.
    pub frames: usize,
    /// Keys written, all joints together.
    pub keys: usize,
    /// Substeps run.
    pub substeps: u64,
    /// The farthest a joint was from its animated rotation, radians, and its description.
    pub deflection: Option<(f32, String)>,
    /// For loops.
    pub seam: Option<Seam>,
    /// The state after each frame, if asked for.
    pub hashes: Vec<StateHash>,
    /// What was not finite and took its rest pose: descriptions of joints.
    pub invalid: Vec<String>,
}

/// What a bake did, besides the files.
#[derive(Clone, Debug)]
pub struct BakeReport {
    /// In the order of the file.
    pub clips: Vec<ClipReport>,
    /// Swing joints that move.
    pub joints: usize,
    /// Time spent simulating, all threads together, seconds.
    pub busy_seconds: f64,
}

impl BakeReport {
    /// Substeps of all clips together.
    pub fn substeps(&self) -> u64 {
        self.clips.iter().map(|clip| clip.substeps).sum()
    }
}

/// The clips that `options` asks for; a clip of rest for a model that has none.
///
/// # Errors
/// [`Error::Request`] for a name that no clip has, naming those that come near, and for options out of range.
pub fn select_clips(model: &Model, options: &BakeOptions) -> Result<Vec<Arc<Clip>>, Error> {
    check(options)?;
    if model.clips.is_empty() {
        if let Some(name) = options.clips.first() {
            return Err(Error::Request(format!(
                "{}: no clip \"{name}\": the file has no clips; leave --clip out to bake its rest pose",
                model.file.display()
            )));
        }
        return Ok(vec![Arc::new(Clip {
            name: "swing".to_owned(),
            source: usize::MAX,
            tracks: Vec::new(),
            duration: options.seconds,
        })]);
    }
    let mut wanted = vec![options.clips.is_empty(); model.clips.len()];
    for name in &options.clips {
        let by_index = name
            .strip_prefix('#')
            .and_then(|index| index.parse::<usize>().ok());
        let named = |clip: &Clip| clip.name == *name;
        let exact = model.clips.iter().any(named);
        let mut found = false;
        for (clip, wanted) in model.clips.iter().zip(&mut wanted) {
            if named(clip) || (!exact && by_index == Some(clip.source)) {
                *wanted = true;
                found = true;
            }
        }
        if !found {
            return Err(no_such_clip(model, name));
        }
    }
    let chosen = model.clips.iter().zip(wanted).filter(|(_, wanted)| *wanted);
    Ok(chosen.map(|(clip, _)| Arc::new(clip.clone())).collect())
}

fn no_such_clip(model: &Model, name: &str) -> Error {
    let mut names: Vec<&str> = model.clips.iter().map(|clip| clip.name.as_str()).collect();
    names.sort_by(|a, b| {
        let near = |other: &str| strsim::jaro_winkler(name, other);
        near(b).total_cmp(&near(a))
    });
    names.dedup();
    names.truncate(5);
    Error::Request(format!(
        "{}: no clip \"{name}\"; nearest of {}: {}",
        model.file.display(),
        model.clips.len(),
        names
            .iter()
            .map(|name| format!("\"{name}\""))
            .collect::<Vec<_>>()
            .join(", ")
    ))
}

/// Frames that baking `clips` takes if no loop needs a second pass: for progress.
pub fn count_frames(clips: &[Arc<Clip>], options: &BakeOptions) -> u64 {
    let keys = |clip: &Arc<Clip>| f64::from(clip.duration) * options.rate_hz;
    let frames = clips
        .iter()
        .map(|clip| keys(clip).min(recording::MOST_KEYS).ceil() as u64 + 1);
    frames.fold(0, u64::saturating_add)
}

/// Simulates `clips` on `rig` (the model's, with swing joints) and patches them into the model's file. Writes nothing:
/// see [`super::patch::write()`].
///
/// `progress` is called from several threads with the number of frames done since its last call.
///
/// # Errors
/// [`Error::Request`] when the options are out of range, no joint moves or a clip is too long; and those of
/// [`patch()`].
pub fn bake(
    container: &Container,
    rig: &Rig,
    clips: &[Arc<Clip>],
    options: &BakeOptions,
    out: &Path,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Patched, BakeReport), Error> {
    check(options)?;
    check_size(rig, clips, options)?;
    let recorded: Result<Vec<(Recording, f64)>, Error> = clips
        .par_iter()
        .map(|clip| {
            let begin = Instant::now();
            let recording = recording::record(rig, clip, options, progress)?;
            Ok((recording, begin.elapsed().as_secs_f64()))
        })
        .collect();
    let recorded = recorded?;
    if recorded
        .iter()
        .all(|(recording, _)| recording.rotations.is_empty())
    {
        return Err(Error::Request(
            "no joint swings: the rig has no swing joints, or all are passive or inactive; `flounce check` lists them".to_owned(),
        ));
    }
    let mut report = BakeReport {
        clips: Vec::with_capacity(clips.len()),
        joints: recorded
            .first()
            .map_or(0, |(recording, _)| recording.joints.len()),
        busy_seconds: recorded.iter().map(|(_, seconds)| seconds).sum(),
    };
    let mut baked = Vec::with_capacity(clips.len());
    for (clip, (recording, _)) in clips.iter().zip(recorded) {
        report.clips.push(describe(rig, clip, &recording));
        baked.push(bake_clip(rig, clip, recording, options.tolerance_deg));
    }
    for (report, clip) in report.clips.iter_mut().zip(&baked) {
        let keys = |track: &BakedTrack| track.keys.as_ref().map_or(clip.times.len(), Vec::len);
        report.keys = clip.tracks.iter().map(keys).sum();
    }
    let options = PatchOptions {
        strip_springs: options.strip_springs,
    };
    Ok((patch(container, &baked, options, out)?, report))
}

/// Refuses what would not fit into memory: keys of all joints of all clips together.
fn check_size(rig: &Rig, clips: &[Arc<Clip>], options: &BakeOptions) -> Result<(), Error> {
    let keys: f64 = clips
        .iter()
        .map(|clip| f64::from(clip.duration) * options.rate_hz)
        .sum();
    let rotations = keys * rig.swing.len() as f64;
    if rotations > MOST_ROTATIONS {
        return Err(Error::Request(format!(
            "{} swing joints over {keys:.0} frames are {rotations:.0} keys; expected at most {MOST_ROTATIONS}: lower --rate or bake fewer clips",
            rig.swing.len()
        )));
    }
    Ok(())
}

/// Refuses options out of range.
///
/// # Errors
/// [`Error::Request`] naming the option, what it is and what it may be.
pub fn check(options: &BakeOptions) -> Result<(), Error> {
    let refuse = |what: &str, found: f64, expected: &str| {
        Err(Error::Request(format!(
            "{what} is {found}; expected {expected}"
        )))
    };
    let BakeOptions {
        rate_hz,
        seconds,
        tolerance_deg,
        ..
    } = *options;
    if !(0.1..=1000.0).contains(&rate_hz) {
        return refuse("--rate", rate_hz, "0.1 to 1000 Hz");
    }
    if !(0.0..=86_400.0).contains(&seconds) {
        return refuse("--seconds", seconds.into(), "0 to 86400 s");
    }
    if !(0.0..=90.0).contains(&tolerance_deg) {
        return refuse("--tolerance-deg", tolerance_deg.into(), "0 to 90 degrees");
    }
    Ok(())
}

fn describe(rig: &Rig, clip: &Clip, recording: &Recording) -> ClipReport {
    ClipReport {
        name: clip.name.clone(),
        seconds: clip.duration,
        frames: recording.times.len(),
        keys: 0,
        substeps: recording.substeps,
        deflection: recording
            .deflection
            .map(|(angle, joint)| (angle, rig.describe(joint))),
        seam: recording.seam,
        hashes: recording.hashes.clone(),
        invalid: recording
            .invalid
            .iter()
            .map(|&joint| rig.describe(joint))
            .collect(),
    }
}

/// The recording as tracks of the file: hemispheres aligned, keys reduced.
fn bake_clip(rig: &Rig, clip: &Clip, recording: Recording, tolerance_deg: f32) -> BakedClip {
    let times = recording.times;
    let tracks = recording.rotations.into_iter().zip(recording.joints);
    let tracks = tracks.map(|(mut rotations, joint)| {
        for rotation in &mut rotations {
            // Rest and animated rotations keep the bits of their file, which may be off by a thousandth.
            *rotation = rotation::unit_or_identity(Rotation::splat(*rotation)).lane(0);
        }
        clip::align_hemispheres(&mut rotations, 1, 0);
        // A track with keys of its own needs times of its own: few dropped keys would make the file larger.
        let keys = (tolerance_deg > 0.0)
            .then(|| reduce::rotation_keys(&times, &rotations, tolerance_deg))
            .and_then(|kept| reduce::if_smaller(kept, times.len(), ROTATION_WIDTH));
        BakedTrack {
            node: rig.joints[joint].source,
            values: BakedValues::Rotation(rotations),
            keys,
        }
    });
    let target = if clip.source == usize::MAX {
        BakedTarget::New(clip.name.clone())
    } else {
        BakedTarget::Animation(clip.source)
    };
    BakedClip {
        target,
        tracks: tracks.collect(),
        times,
    }
}
