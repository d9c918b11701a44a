//! What to bake and how: options, the clips they mean, and what is refused before anything is simulated.

use std::sync::Arc;

use super::recording;
use crate::assets::Error;
use crate::assets::import::Model;
#[cfg(doc)]
use crate::assets::patch::PatchOptions;
use crate::clip::Clip;
use crate::profile::SwingProfile;
use crate::swing::ActorProperties;

/// Most numbers that a bake or a scene records: 800 MB.
pub const MOST_NUMBERS: u64 = 200_000_000;

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
    /// See [`PatchOptions::quantize`]. Keys are reduced before that: the two errors add up. Default no.
    pub quantize: bool,
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
            quantize: false,
        }
    }
}

/// The clips that `options` asks for; a clip of rest for a model that has none.
///
/// # Errors
/// [`Error::Request`] for options out of range, see [`check`], and for a name that no clip has, naming those that come
/// near.
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

/// Frames that baking `clips` takes if no loop needs a second pass, at least: for progress, and for bounds.
pub fn count_frames(clips: &[Arc<Clip>], options: &BakeOptions) -> u64 {
    let frames = |clip: &Arc<Clip>| {
        let frames = f64::from(clip.duration) * options.rate_hz;
        // Longer ones are refused.
        frames.ceil().min(recording::MOST_KEYS) as u64 + 1
    };
    clips.iter().map(frames).fold(0, u64::saturating_add)
}

/// Refuses to record more than [`MOST_NUMBERS`], before anything is simulated.
///
/// # Errors
/// [`Error::Request`] that says what to change.
pub fn check_size(frames: u64, numbers_per_frame: usize) -> Result<(), Error> {
    let numbers = frames.saturating_mul(numbers_per_frame as u64);
    if numbers > MOST_NUMBERS {
        return Err(Error::Request(format!(
            "{frames} frames of {numbers_per_frame} numbers each would be recorded, {numbers} in all; expected at most \
             {MOST_NUMBERS}: take a lower rate or fewer clips at a time"
        )));
    }
    Ok(())
}

/// Whether the options are in range.
///
/// # Errors
/// [`Error::Request`] with the option, what was found and what was expected.
pub fn check(options: &BakeOptions) -> Result<(), Error> {
    let refuse = |what: &str, found: f64, expected: &str| {
        Err(Error::Request(format!(
            "{what} is {found:?}; expected {expected}"
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn still(duration: f32) -> Arc<Clip> {
        Arc::new(Clip {
            name: "still".to_owned(),
            source: 0,
            tracks: Vec::new(),
            duration,
        })
    }

    #[test]
    fn options_out_of_range_are_refused_by_name() {
        for (options, expected) in [
            (
                BakeOptions {
                    rate_hz: f64::INFINITY,
                    ..BakeOptions::default()
                },
                "--rate is inf; expected 0.1 to 1000 Hz",
            ),
            (
                BakeOptions {
                    rate_hz: 1e300,
                    ..BakeOptions::default()
                },
                "--rate is 1e300;",
            ),
            (
                BakeOptions {
                    seconds: f32::NAN,
                    ..BakeOptions::default()
                },
                "--seconds is NaN;",
            ),
        ] {
            let refused = check(&options).unwrap_err().to_string();
            assert!(refused.contains(expected), "{refused}");
            // Counting is for progress and must not fail even where the bake will.
            assert!(count_frames(&[still(1.0), still(1e30)], &options) >= 1);
        }
    }

    #[test]
    fn what_would_fill_the_memory_is_refused_before_it_is_simulated() {
        assert!(check_size(1_000_000, 200).is_ok());
        let refused = check_size(u64::MAX, 800).unwrap_err().to_string();
        assert!(refused.contains("expected at most 200000000"), "{refused}");
    }
}
