//! Keys: baked values as times and values behind what the file has.

use std::collections::BTreeMap;

use crate::assets::Error;
use crate::assets::patch::additions::{Additions, FLOAT, SHORT};
use crate::assets::patch::quantize::quantize;
use crate::assets::patch::{BakedClip, BakedTarget, BakedTrack, BakedValues};
use crate::clip::align_hemispheres;

/// How far the squared length of a rotation may be from 1. Rounding stays below 1e-6; the Khronos validator refuses
/// lengths that are off by 0.008.
const UNIT_TOLERANCE: f32 = 1e-3;

/// The accessors of a track, by their index in the output file.
#[derive(Clone, Copy)]
pub(super) struct TrackAccessors {
    /// Times.
    pub(super) input: usize,
    /// Values.
    pub(super) output: usize,
}

impl BakedClip {
    /// How a message names the clip.
    pub(super) fn describe(&self) -> String {
        match &self.target {
            BakedTarget::Animation(index) => format!("baked clip of animation {index}"),
            BakedTarget::New(name) => format!("baked clip \"{name}\""),
        }
    }
}

impl BakedTrack {
    /// The property's name in a channel's target.
    pub(super) fn path(&self) -> &'static str {
        match self.values {
            BakedValues::Rotation(_) => "rotation",
            BakedValues::Translation(_) => "translation",
            BakedValues::Scale(_) => "scale",
            BakedValues::Weights { .. } => "weights",
        }
    }

    /// Values before reduction.
    fn len(&self) -> usize {
        match &self.values {
            BakedValues::Rotation(values) => values.len(),
            BakedValues::Translation(values) | BakedValues::Scale(values) => values.len(),
            BakedValues::Weights { count, values } => values.len() / count.max(&1),
        }
    }

    /// The key list, or `None` when it lists all `times`.
    fn reduced(&self, times: usize) -> Option<&[u32]> {
        self.keys.as_deref().filter(|keys| keys.len() < times)
    }

    /// The values that have a key, flat, rotations with neighbours on one hemisphere.
    fn kept(&self) -> Vec<f32> {
        match &self.values {
            BakedValues::Rotation(values) => {
                let mut kept = pick(values, self.keys.as_deref());
                align_hemispheres(&mut kept, 1, 0);
                kept.into_flattened()
            }
            BakedValues::Translation(values) | BakedValues::Scale(values) => {
                pick(values, self.keys.as_deref()).into_flattened()
            }
            BakedValues::Weights { count, values } => {
                let rows: Vec<&[f32]> = values.chunks_exact((*count).max(1)).collect();
                pick(&rows, self.keys.as_deref()).concat()
            }
        }
    }
}

/// The entries of `values` at `keys`, or all.
fn pick<T: Copy>(values: &[T], keys: Option<&[u32]>) -> Vec<T> {
    match keys {
        None => values.to_vec(),
        Some(keys) => keys.iter().map(|&key| values[key as usize]).collect(),
    }
}

/// Refuses clips that cannot be written as valid glTF.
pub(super) fn check(clips: &[BakedClip]) -> Result<(), Error> {
    for clip in clips {
        check_times(clip)?;
        for track in &clip.tracks {
            let fault = |what: String| {
                let (clip, path, node) = (clip.describe(), track.path(), track.node);
                Error::Request(format!("{clip}, {path} of node {node}: {what}"))
            };
            if track.len() != clip.times.len() {
                let (found, expected) = (track.len(), clip.times.len());
                return Err(fault(format!("found {found} values, expected {expected}")));
            }
            check_keys(track, clip.times.len()).map_err(fault)?;
            check_values(track).map_err(fault)?;
        }
    }
    Ok(())
}

fn check_times(clip: &BakedClip) -> Result<(), Error> {
    let fault = |what: String| Err(Error::Request(format!("{}: {what}", clip.describe())));
    let Some(&first) = clip.times.first() else {
        return fault("found no times, expected at least one".into());
    };
    let last = clip.times[clip.times.len() - 1];
    if !(first >= 0.0 && last.is_finite()) {
        return fault(format!(
            "found times from {first} s to {last} s, expected finite times from 0 s on"
        ));
    }
    match clip
        .times
        .windows(2)
        .position(|pair| pair[0] >= pair[1] || pair[1].is_nan())
    {
        Some(i) => fault(format!(
            "time {} at {} s does not come after time {i} at {} s",
            i + 1,
            clip.times[i + 1],
            clip.times[i]
        )),
        None => Ok(()),
    }
}

fn check_keys(track: &BakedTrack, times: usize) -> Result<(), String> {
    let Some(keys) = &track.keys else {
        return Ok(());
    };
    let ascending = keys.windows(2).all(|pair| pair[0] < pair[1]);
    match keys.last() {
        Some(&last) if ascending && (last as usize) < times => Ok(()),
        _ => Err(format!(
            "found keys that are none, not ascending or beyond the last, expected indices of {times} times"
        )),
    }
}

fn check_values(track: &BakedTrack) -> Result<(), String> {
    let bad = match &track.values {
        BakedValues::Rotation(values) => values.iter().position(|q| {
            let squared = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
            squared.is_nan() || (squared - 1.0).abs() > UNIT_TOLERANCE
        }),
        BakedValues::Translation(values) | BakedValues::Scale(values) => {
            values.iter().position(|v| !v.iter().all(|c| c.is_finite()))
        }
        BakedValues::Weights { count: 0, .. } => {
            return Err("found no weights per value, expected one per morph target".into());
        }
        BakedValues::Weights { values, .. } => values.iter().position(|weight| !weight.is_finite()),
    };
    match (bad, &track.values) {
        (None, _) => Ok(()),
        (Some(i), BakedValues::Rotation(values)) => Err(format!(
            "value {i} is {:?}, expected a unit quaternion",
            values[i]
        )),
        (Some(i), BakedValues::Translation(values) | BakedValues::Scale(values)) => Err(format!(
            "value {i} is {:?}, expected finite numbers",
            values[i]
        )),
        (Some(i), BakedValues::Weights { values, .. }) => Err(format!(
            "weight {i} is {:?}, expected a finite number",
            values[i]
        )),
    }
}

/// Upper bound of the bytes that `clips` take, whatever they share.
pub(super) fn size(clips: &[BakedClip], quantizes: bool) -> u64 {
    let track_size = |clip: &BakedClip, track: &BakedTrack| {
        let keys = track.keys.as_ref().map_or(clip.times.len(), Vec::len);
        let number = match track.values {
            BakedValues::Rotation(_) if quantizes => 2,
            _ => 4,
        };
        let time = if track.keys.is_some() { 4 } else { 0 };
        keys as u64 * (number * track.values.width() as u64 + time)
    };
    let clip_size = |clip: &BakedClip| {
        let tracks: u64 = clip
            .tracks
            .iter()
            .map(|track| track_size(clip, track))
            .sum();
        4 * clip.times.len() as u64 + tracks
    };
    clips.iter().map(clip_size).sum()
}

/// What became of clips.
pub(super) struct LaidOut {
    /// The accessors per clip and track.
    pub(super) tracks: Vec<Vec<TrackAccessors>>,
    /// See [`super::Patched::quantization`].
    pub(super) quantization: Vec<f64>,
}

/// Lays the keys of all clips out behind what the file has, each clip in a view of its own.
pub(super) fn lay_out(clips: &[BakedClip], quantizes: bool, additions: &mut Additions) -> LaidOut {
    let mut all = LaidOut {
        tracks: Vec::with_capacity(clips.len()),
        quantization: Vec::new(),
    };
    for clip in clips {
        let start = additions.start_view();
        let mut writer = ClipWriter {
            start,
            additions,
            inputs: BTreeMap::new(),
            error: quantizes.then_some(0.0),
        };
        let tracks = clip.tracks.iter();
        let tracks = tracks.map(|track| writer.track(clip, track)).collect();
        all.tracks.push(tracks);
        all.quantization.extend(writer.error);
        if !clip.tracks.is_empty() {
            additions.end_view(start, "");
        }
    }
    all
}

/// Writes the tracks of one clip into its buffer view.
struct ClipWriter<'k, 'c> {
    /// Where the view begins in the new bytes.
    start: usize,
    additions: &'k mut Additions,
    /// The time accessor of each key set that was written; `None` is all times.
    inputs: BTreeMap<Option<&'c [u32]>, usize>,
    /// The largest angle that quantising turned a key by, radians; `None`: rotations stay f32.
    error: Option<f64>,
}

impl<'c> ClipWriter<'_, 'c> {
    fn track(&mut self, clip: &'c BakedClip, track: &'c BakedTrack) -> TrackAccessors {
        let reduced = track.reduced(clip.times.len());
        let input = match self.inputs.get(&reduced) {
            Some(&input) => input,
            None => {
                let times = pick(&clip.times, reduced);
                let bounds = format!(
                    ",\"min\":[{}],\"max\":[{}]",
                    exact(times[0]),
                    exact(times[times.len() - 1])
                );
                let input = self.accessor(&times, "SCALAR", times.len(), &bounds);
                self.inputs.insert(reduced, input);
                input
            }
        };
        let output = match (&track.values, self.error) {
            (BakedValues::Rotation(values), Some(error)) => {
                self.integers(&pick(values, track.keys.as_deref()), error)
            }
            _ => self.floats(track),
        };
        TrackAccessors { input, output }
    }

    /// The values of `track` as they are.
    fn floats(&mut self, track: &BakedTrack) -> usize {
        let (values, width) = (track.kept(), track.values.width());
        let (kind, count) = match track.values {
            BakedValues::Rotation(_) => ("VEC4", values.len() / width),
            BakedValues::Translation(_) | BakedValues::Scale(_) => ("VEC3", values.len() / width),
            BakedValues::Weights { .. } => ("SCALAR", values.len()),
        };
        self.accessor(&values, kind, count, "")
    }

    /// Rotations as normalised integers, 8 bytes each; `error` is the largest angle before.
    fn integers(&mut self, rotations: &[[f32; 4]], error: f64) -> usize {
        let quantized = quantize(rotations);
        self.error = Some(error.max(quantized.error));
        let numbers = quantized.stored.as_flattened().iter();
        let bytes = numbers.flat_map(|number| number.to_le_bytes());
        let count = rotations.len();
        let rest = format!("\"normalized\":true,\"count\":{count},\"type\":\"VEC4\"");
        self.additions.accessor(self.start, bytes, SHORT, &rest)
    }

    /// Appends `numbers` and an accessor over them; its index.
    fn accessor(&mut self, numbers: &[f32], kind: &str, count: usize, bounds: &str) -> usize {
        let bytes = numbers.iter().flat_map(|number| number.to_le_bytes());
        let rest = format!("\"count\":{count},\"type\":\"{kind}\"{bounds}");
        self.additions.accessor(self.start, bytes, FLOAT, &rest)
    }
}

/// `number` in digits that read back as the same bits, whether the reader parses to f32 or to f64 first.
///
/// The shortest digits of the f32 would not do: parsed to f64 they may land on the middle of two f32.
pub(super) fn exact(number: f32) -> String {
    format!("{:?}", f64::from(number))
}
