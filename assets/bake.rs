//! Baking: simulated motion written back as tracks of the clips it was simulated on.
//!
//! Each clip is played over its real length by an actor of its own, up to 32 of them side by side in a World, on as many
//! threads as there are; what the swing joints did and what drivers set replaces the tracks that the clip had for it.
//! Keys lie at multiples of 1/rate and at the clip's end.

use std::path::Path;
use std::sync::Arc;

use super::Error;
use super::container::Container;
use super::patch::{BakedClip, BakedTarget, BakedTrack, BakedValues, PatchOptions, Patched, patch};
use super::reduce;
use super::state_hash::StateHash;
use crate::clip::{self, Clip};
use crate::driver::Driver;
use crate::pose::JointTransform;
use crate::rig::Rig;
use crate::rotation::{self, Rotation};

mod batch;
pub mod moved;
mod options;
pub mod recording;
mod session;

pub use batch::{MOST_CLIPS, Simulated, Threads, simulate, simulate_on};
pub use options::{BakeOptions, MOST_NUMBERS, check, check_size, count_frames, select_clips};

use moved::moving_swings;
use recording::Recording;

/// Room of a rotation key, in that of an f32.
const ROTATION_WIDTH: usize = 4;
/// Room of a rotation key in integers of 16 bits, in that of an f32.
const QUANTIZED_WIDTH: usize = 2;
/// Room of a key of a translation or a scale, in that of an f32.
const VECTOR_WIDTH: usize = 3;
/// A clip whose length is this near to a multiple of 1/60 s, in sixtieths, is one.
const WHOLE_SIXTIETHS: f64 = 1e-3;
/// A clip whose joints end this near to where they start, radians and share of a length, closes by itself.
const CLIP_CLOSES: f32 = 1e-3;

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
    /// Index of its animation in the output: names may be doubled.
    pub index: usize,
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
    /// The largest angle between a rotation key and what is read for it, radians; `None` where rotations are stored
    /// as they are. See [`super::patch::QUANTIZATION_DEG`].
    pub quantization: Option<f64>,
}

/// What a bake did, besides the files.
#[derive(Clone, Debug)]
pub struct BakeReport {
    /// In the order of the file.
    pub clips: Vec<ClipReport>,
    /// Swing joints that move.
    pub joints: usize,
    /// Joints that drivers set and that do not swing themselves.
    pub driven: usize,
    /// Time spent simulating, with sampling and recording, all threads together, seconds; see
    /// [`Simulated::busy_seconds`].
    pub busy_seconds: f64,
    /// What deserves a look, one sentence each.
    pub warnings: Vec<String>,
}

impl BakeReport {
    /// Substeps of all clips together.
    pub fn substeps(&self) -> u64 {
        self.clips.iter().map(|clip| clip.substeps).sum()
    }
}

/// Number of swing joints of `rig` that move.
pub fn moving_joints(rig: &Rig) -> usize {
    moving_swings(rig).len()
}

/// Number of joints of `rig` that drivers set and that do not swing themselves. A bake holds no feet: legs do not count.
fn driven_joints(rig: &Rig) -> usize {
    let mut driven: Vec<usize> = rig
        .drivers
        .iter()
        .filter(|driver| !matches!(driver, Driver::Leg(_)))
        .map(Driver::joint)
        .collect();
    driven.sort_unstable();
    driven.dedup();
    let swings = |joint: &usize| rig.swing.iter().any(|swing| swing.joint == *joint);
    driven.iter().filter(|joint| !swings(joint)).count()
}

/// Simulates `clips` on `rig` (the model's, with swing joints) and patches them into the model's file. Writes nothing:
/// see [`super::patch::write()`].
///
/// `progress` is called from several threads with the number of frames done since its last call.
///
/// # Errors
/// Those of [`simulate`] and of [`patch()`].
pub fn bake(
    container: &Container,
    rig: &Rig,
    clips: &[Arc<Clip>],
    options: &BakeOptions,
    out: &Path,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<(Patched, BakeReport), Error> {
    let simulated = simulate(rig, clips, options, progress)?;
    put(container, rig, clips, options, out, simulated)
}

/// Puts what [`simulate`] recorded of `clips` on `rig` into the model's file: the second half of [`bake`], with the same
/// arguments.
///
/// # Errors
/// Those of [`patch()`].
///
/// # Panics
/// If `simulated` is not of `rig`.
pub fn put(
    container: &Container,
    rig: &Rig,
    clips: &[Arc<Clip>],
    options: &BakeOptions,
    out: &Path,
    simulated: Simulated,
) -> Result<(Patched, BakeReport), Error> {
    let Simulated {
        recordings,
        busy_seconds,
    } = simulated;
    let mut report = BakeReport {
        clips: Vec::with_capacity(clips.len()),
        joints: moving_joints(rig),
        driven: driven_joints(rig),
        busy_seconds,
        warnings: recording::uneven_frames(&options.profile, options.rate_hz)
            .into_iter()
            .collect(),
    };
    let mut baked = Vec::with_capacity(clips.len());
    for (clip, recording) in clips.iter().zip(recordings) {
        report.warnings.extend(open_loop(clip, &recording));
        report.clips.push(describe(rig, clip, &recording));
        baked.push(bake_clip(rig, clip, recording, options));
    }
    for (report, clip) in report.clips.iter_mut().zip(&baked) {
        let keys = |track: &BakedTrack| track.keys.as_ref().map_or(clip.times.len(), Vec::len);
        report.keys = clip.tracks.iter().map(keys).sum();
    }
    let options = PatchOptions {
        strip_springs: options.strip_springs,
        quantize: options.quantize,
    };
    let patched = patch(container, &baked, options, out)?;
    for (report, &error) in report.clips.iter_mut().zip(&patched.quantization) {
        report.quantization = Some(error);
    }
    Ok((patched, report))
}

fn nothing_moves(rig: &Rig) -> Error {
    Error::Request(if rig.swing.is_empty() && rig.legs().next().is_some() {
        "no joint swings: the rig has legs only, which move where a scene holds their feet; `flounce run` writes that".to_owned()
    } else if rig.swing.is_empty() {
        "no joint swings: the rig has no swing joints; add a chain to the rig file".to_owned()
    } else {
        "no joint swings: every swing joint of the rig is passive or inactive; `flounce check` says why".to_owned()
    })
}

/// A warning for a loop whose end did not come to its start, with the likely reason.
fn open_loop(clip: &Clip, recording: &Recording) -> Option<String> {
    let seam = recording.seam.filter(|seam| !seam.is_closed())?;
    let sixtieths = f64::from(clip.duration) * 60.0;
    let reason = if !closes(clip) {
        "the clip itself ends in another pose than it starts with".to_owned()
    } else if (sixtieths - sixtieths.round()).abs() > WHOLE_SIXTIETHS {
        format!(
            "its length, {} s, is no multiple of the substep of 1/60 s, so that each pass differs a little",
            clip.duration
        )
    } else {
        "the joints keep swinging, for example for want of damping".to_owned()
    };
    Some(format!(
        "clip \"{}\": the loop did not close in {} passes: its end is {:.2} mm and {:.1} mm/s from its start, expected \
         at most {:.1} mm and {:.0} mm/s; likely because {reason}",
        clip.name,
        seam.passes,
        seam.position * 1e3,
        seam.velocity * 1e3,
        recording::CLOSED_POSITION * 1e3,
        recording::CLOSED_VELOCITY * 1e3,
    ))
}

/// Whether a clip ends in the pose it starts with.
fn closes(clip: &Clip) -> bool {
    clip.tracks.iter().all(|track| {
        let (mut start, mut end) = (JointTransform::IDENTITY, JointTransform::IDENTITY);
        track.sample(0.0, &mut start);
        track.sample(clip.duration, &mut end);
        let turned = rotation::angle_between(start.rotation.into(), end.rotation.into());
        let moved = (start.translation - end.translation).length();
        turned <= CLIP_CLOSES && moved <= CLIP_CLOSES * start.translation.length().max(CLIP_CLOSES)
    })
}

fn describe(rig: &Rig, clip: &Clip, recording: &Recording) -> ClipReport {
    ClipReport {
        name: clip.name.clone(),
        // A new clip is the only one of its file.
        index: if clip.source == usize::MAX {
            0
        } else {
            clip.source
        },
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
        quantization: None,
    }
}

/// Rotations as files want them: unit to rounding, neighbours on one hemisphere.
///
/// What the solver composes from a model's own rotations is as far from unit as those were.
pub(super) fn for_file(rotations: &mut [[f32; 4]]) {
    for q in rotations.iter_mut() {
        *q = rotation::unit_or_identity(Rotation::splat(*q)).lane(0);
    }
    clip::align_hemispheres(rotations, 1, 0);
}

/// The recording as tracks of the file: rotations made unit, keys reduced.
fn bake_clip(rig: &Rig, clip: &Clip, recording: Recording, options: &BakeOptions) -> BakedClip {
    let times = recording.times;
    let tolerance_deg = options.tolerance_deg;
    let rotation_width = if options.quantize {
        QUANTIZED_WIDTH
    } else {
        ROTATION_WIDTH
    };
    let tracks = recording.tracks.into_iter();
    let tracks = tracks.map(|(joint, mut values)| {
        let reduces = tolerance_deg > 0.0;
        let keys = match &mut values {
            BakedValues::Rotation(rotations) => {
                for_file(rotations);
                // A track with keys of its own needs times of its own: few dropped keys would make the file larger.
                reduces
                    .then(|| reduce::rotation_keys(&times, rotations, tolerance_deg))
                    .and_then(|kept| reduce::if_smaller(kept, times.len(), rotation_width))
            }
            BakedValues::Translation(vectors) => {
                let bound = reach(rig, joint, tolerance_deg);
                reduce_vectors(&times, vectors, bound, reduces)
            }
            // A scale that is off by this share is off as far as a turn would be.
            BakedValues::Scale(vectors) => {
                reduce_vectors(&times, vectors, tolerance_deg.to_radians(), reduces)
            }
            BakedValues::Weights { .. } => None,
        };
        BakedTrack {
            node: rig.joints[joint].source,
            values,
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

/// The keys that are enough for vectors to stay within `bound`, if they make the file smaller.
fn reduce_vectors(
    times: &[f32],
    vectors: &[[f32; 3]],
    bound: f32,
    reduces: bool,
) -> Option<Vec<u32>> {
    let kept = reduces.then(|| reduce::translation_keys(times, vectors, bound))?;
    reduce::if_smaller(kept, times.len(), VECTOR_WIDTH)
}

/// How far a point at the joint's distance from its parent goes when it turns by `degrees`: the tolerance of a
/// translation.
fn reach(rig: &Rig, joint: usize, degrees: f32) -> f32 {
    rig.joints[joint].rest.translation.length() * degrees.to_radians()
}

#[cfg(test)]
mod tests {
    use super::options::tests::still;
    use super::*;

    #[test]
    fn rotations_for_files_are_unit_and_on_one_hemisphere() {
        let mut rotations = [
            [0.0, 0.0, 0.0, 1.01],
            [0.0, 0.0, 0.0, -0.9],
            [f32::NAN, 0.0, 0.0, 1.0],
        ];
        for_file(&mut rotations);
        assert_eq!(rotations, [[0.0, 0.0, 0.0, 1.0]; 3]);
    }

    #[test]
    fn a_loop_that_stays_open_says_why() {
        let recording = |passes| Recording {
            seam: Some(Seam {
                position: 0.003,
                passes,
                ..Seam::default()
            }),
            ..Recording::default()
        };
        let odd = open_loop(&still(0.708), &recording(12)).unwrap();
        assert!(
            odd.contains("\"still\"")
                && odd.contains("3.00 mm")
                && odd.contains("0.708 s, is no multiple"),
            "{odd}"
        );
        let even = open_loop(&still(0.5), &recording(12)).unwrap();
        assert!(even.contains("keep swinging"), "{even}");
        let closed = Recording {
            seam: Some(Seam::default()),
            ..Recording::default()
        };
        assert_eq!(open_loop(&still(0.5), &closed), None);
    }
}
