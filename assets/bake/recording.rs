//! Recording: plays one clip through the stages and keeps what the swing joints did at every frame.

use std::sync::Arc;

use bevy_ecs::entity::Entity;

use super::{BakeOptions, Seam};
use crate::assets::Error;
use crate::assets::state_hash::{self, StateHash};
use crate::clip::{Clip, ClipPlayer, Repeat};
use crate::pose::PoseHealth;
use crate::rig::Rig;
use crate::substep::ActorClock;
use crate::swing::{SwingProfile, SwingReadout};
use crate::systems::plugin::Headless;
use crate::systems::substeps::Workers;

/// More keys than this in one clip are refused: 18 hours at 60 Hz.
pub const MOST_KEYS: f64 = 4e6;
/// Two times this near, seconds, are one key.
const SAME_TIME: f64 = 1e-6;
/// A loop whose particles end this near to where they started, metres, is closed.
const CLOSED_POSITION: f32 = 1e-4;
/// And whose speeds differ by no more than this, metres per second.
const CLOSED_VELOCITY: f32 = 5e-3;

/// What the swing joints of one clip did.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Time of each frame from the clip's beginning, seconds, strictly increasing.
    pub times: Vec<f32>,
    /// Local rotations, one list per moving swing joint in the rig's order, one entry per time.
    pub rotations: Vec<Vec<[f32; 4]>>,
    /// Joint of the rig of each of these lists.
    pub joints: Vec<usize>,
    /// The farthest any joint was from its animated rotation, radians, and which.
    pub deflection: Option<(f32, usize)>,
    /// Substeps run, those of settling and of earlier passes included.
    pub substeps: u64,
    /// How a loop closed.
    pub seam: Option<Seam>,
    /// The state after each frame, if asked for.
    pub hashes: Vec<StateHash>,
    /// Joints that were not finite in some frame, ascending.
    pub invalid: Vec<usize>,
}

/// The times of a clip's frames, seconds: multiples of 1/rate and the clip's end.
///
/// # Errors
/// [`Error::Request`] when there would be more than [`MOST_KEYS`].
pub fn frame_times(duration: f32, rate_hz: f64) -> Result<Vec<f64>, Error> {
    let end = f64::from(duration);
    if end * rate_hz > MOST_KEYS || !rate_hz.is_finite() {
        return Err(Error::Request(format!(
            "a clip of {end} s at {rate_hz} Hz has {:.0} keys; expected at most {MOST_KEYS}: lower --rate",
            end * rate_hz
        )));
    }
    // Each time is computed from its index: a running sum drifts by seconds an hour.
    let grid = (0..).map(|frame| f64::from(frame) / rate_hz);
    // The end is an f32: a key of the grid that is stored as the same f32 is the end's.
    let before_end = |&time: &f64| time < end - SAME_TIME && (time as f32) < duration;
    let mut times: Vec<f64> = grid.take_while(before_end).collect();
    times.push(end);
    Ok(times)
}

/// Plays `clip` on an actor of `rig` and records it. `progress` hears of every frame.
///
/// # Errors
/// [`Error::Request`] when the clip is too long for the rate.
pub fn record(
    rig: &Rig,
    clip: &Arc<Clip>,
    options: &BakeOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Recording, Error> {
    let duration = clip.duration;
    let times = frame_times(duration, options.rate_hz)?;
    let looped = options.looped && duration > 0.0;
    let mut stage = Stage::new(rig, clip, options, looped);
    let mut recording = stage.pass(&times, 0.0, options, progress);
    if looped {
        for pass in 1..options.most_passes {
            let begin = stage.readout();
            let next = stage.pass(
                &times,
                f64::from(pass) * f64::from(duration),
                options,
                progress,
            );
            let seam = Seam::between(&begin, &stage.readout(), pass + 1);
            recording = Recording {
                seam: Some(seam),
                ..next
            };
            if seam.is_closed() {
                break;
            }
        }
    }
    recording.substeps = stage.substeps(options.profile.prewarm);
    recording.invalid = stage.invalid();
    Ok(recording)
}

/// A World with one actor that plays one clip.
struct Stage {
    host: Headless,
    actor: Entity,
    joints: Vec<usize>,
}

impl Stage {
    fn new(rig: &Rig, clip: &Arc<Clip>, options: &BakeOptions, looped: bool) -> Self {
        let mut host = Headless::new();
        host.world.insert_resource(Workers::One);
        let rig_entity = host.spawn_rig(rig);
        let repeat = if looped { Repeat::Loop } else { Repeat::Once };
        let parts = (
            ClipPlayer::new(Arc::clone(clip), repeat),
            options.properties,
            uncapped(&options.profile, options.rate_hz),
            SwingReadout::default(),
        );
        let actor = host.spawn_actor(rig_entity, parts);
        Self {
            host,
            actor,
            joints: rig.swing.iter().map(|swing| swing.joint).collect(),
        }
    }

    /// Runs the clip once from `start` (host's time) and records its frames.
    fn pass(
        &mut self,
        times: &[f64],
        start: f64,
        options: &BakeOptions,
        progress: &(dyn Fn(u64) + Sync),
    ) -> Recording {
        let mut recording = Recording {
            times: times.iter().map(|&time| time as f32).collect(),
            ..Recording::default()
        };
        for &time in times {
            // Times never decrease and are finite, so the clock cannot refuse them.
            let ran = self.host.run_to(start + time);
            debug_assert!(ran.is_ok(), "frames come in order");
            self.keep(&mut recording);
            if options.hashes {
                let hash = state_hash::of_actor(&self.host.world, self.actor);
                recording.hashes.push(hash);
            }
            progress(1);
        }
        recording
    }

    /// Appends the frame that just ran.
    fn keep(&self, recording: &mut Recording) {
        let readout = self.readout();
        let moving = readout.0.iter().zip(&self.joints);
        let moving = moving.filter_map(|(result, &joint)| result.map(|result| (result, joint)));
        for (list, (result, joint)) in moving.enumerate() {
            if recording.rotations.len() == list {
                recording
                    .rotations
                    .push(Vec::with_capacity(recording.times.len()));
                recording.joints.push(joint);
            }
            recording.rotations[list].push(result.rotation.to_array());
            let farthest = recording.deflection.map_or(-1.0, |(angle, _)| angle);
            if result.deflection > farthest {
                recording.deflection = Some((result.deflection, joint));
            }
        }
    }

    fn readout(&self) -> SwingReadout {
        self.host
            .world
            .get::<SwingReadout>(self.actor)
            .cloned()
            .unwrap_or_default()
    }

    fn substeps(&self, prewarm: u32) -> u64 {
        let clock = self.host.world.get::<ActorClock>(self.actor);
        clock.map_or(0, |clock| clock.substeps) + u64::from(prewarm)
    }

    fn invalid(&self) -> Vec<usize> {
        let health = self.host.world.get::<PoseHealth>(self.actor);
        health
            .map(|health| health.reported.clone())
            .unwrap_or_default()
    }
}

/// Profile whose cap drops no time: as many substeps as a frame of this rate can need.
pub fn uncapped(profile: &SwingProfile, rate_hz: f64) -> SwingProfile {
    let most = (60.0 / rate_hz).ceil() as u32 + 2;
    SwingProfile {
        max_substeps: profile.max_substeps.max(most),
        ..*profile
    }
}

impl Seam {
    /// Whether the loop closed: within 0.1 mm and 5 mm/s.
    pub fn is_closed(&self) -> bool {
        self.position <= CLOSED_POSITION && self.velocity <= CLOSED_VELOCITY
    }

    /// The largest difference between two states, reached after `passes`.
    fn between(begin: &SwingReadout, end: &SwingReadout, passes: u32) -> Self {
        let pairs = begin.0.iter().flatten().zip(end.0.iter().flatten());
        let mut seam = Self {
            passes,
            ..Self::default()
        };
        for (a, b) in pairs {
            seam.position = seam.position.max((a.particle - b.particle).length());
            seam.velocity = seam.velocity.max((a.velocity - b.velocity).length());
            let turned = crate::rotation::angle_between(a.rotation.into(), b.rotation.into());
            seam.rotation = seam.rotation.max(turned);
        }
        seam
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_02_frames_lie_at_multiples_of_the_rate_and_at_the_end() {
        assert_eq!(frame_times(0.05, 60.0).unwrap().len(), 4);
        assert_eq!(frame_times(0.0, 60.0).unwrap(), [0.0]);
        let hour = frame_times(3600.0, 60.0).unwrap();
        assert_eq!(hour.len(), 216_001);
        let stored: Vec<f32> = hour.iter().map(|&time| time as f32).collect();
        assert!(stored.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn exp_02_a_clip_that_ends_on_the_grid_has_no_key_twice() {
        for rate in [24.0, 30.0, 60.0, 144.0] {
            for frames in (1..(600.0 * rate) as u32).step_by(7) {
                let times = frame_times((f64::from(frames) / rate) as f32, rate).unwrap();
                let last = [times[times.len() - 2], times[times.len() - 1]].map(|t| t as f32);
                assert!(last[0] < last[1], "{frames} frames at {rate} Hz: {last:?}");
            }
        }
    }

    #[test]
    fn exp_02_a_clip_that_never_ends_is_refused() {
        assert!(frame_times(1e30, 60.0).is_err());
    }
}
