//! Recording: plays one clip through the stages and keeps what the swing joints did at every frame.

use std::sync::Arc;

use bevy_ecs::entity::Entity;

use super::moved::{Property, moved_properties, push};
use super::{BakeOptions, Seam};
use crate::assets::Error;
use crate::assets::patch::BakedValues;
use crate::assets::state_hash::{self, StateHash};
use crate::clip::{Clip, ClipPlayer, Repeat};
use crate::pose::{LocalPose, PoseHealth};
use crate::profile::{SubstepPolicy, SwingProfile};
use crate::rig::Rig;
use crate::substep::ActorClock;
use crate::swing::SwingReadout;
use crate::systems::plugin::Headless;
use crate::systems::substeps::Workers;

/// More keys than this in one clip are refused: 18 hours at 60 Hz.
pub const MOST_KEYS: f64 = 4e6;
/// Two times this near, seconds, are one key.
const SAME_TIME: f64 = 1e-6;
/// How far from one or two sixtieths a frame may last and still count as even, in sixtieths: as the engine. `[T1]`
const EVEN_FRAME: f64 = 0.01;
/// A loop whose particles end this near to where they started, metres, is closed.
pub const CLOSED_POSITION: f32 = 1e-4;
/// And whose speeds differ by no more than this, metres per second.
pub const CLOSED_VELOCITY: f32 = 5e-3;

/// What the swing joints of one clip did.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Time of each frame from the clip's beginning, seconds, strictly increasing.
    pub times: Vec<f32>,
    /// What moved: the joint of the rig and its values, one per time, in the order of [`moved_properties`].
    pub tracks: Vec<(usize, BakedValues)>,
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
/// Strictly increasing, and so are the same times rounded to f32, as which they are stored.
///
/// # Errors
/// [`Error::Request`] when there would be more than [`MOST_KEYS`], or the product is no number.
pub fn frame_times(duration: f32, rate_hz: f64) -> Result<Vec<f64>, Error> {
    let keys = f64::from(duration) * rate_hz;
    if !(0.0..=MOST_KEYS).contains(&keys) {
        return Err(Error::Request(format!(
            "a clip of {duration:?} s at {rate_hz:?} Hz has {keys:.3e} keys; expected at most {MOST_KEYS}: lower --rate"
        )));
    }
    Ok(frame_times_from(0, duration, rate_hz))
}

/// Those of [`frame_times`] from frame `first` on.
fn frame_times_from(first: u32, duration: f32, rate_hz: f64) -> Vec<f64> {
    let end = f64::from(duration);
    // Each time is computed from its index: a running sum drifts by seconds an hour. An end that was rounded down to
    // f32 may lie more than `SAME_TIME` beside the grid and still be the same f32 as the grid's last time.
    let grid = (first..).map(|frame| f64::from(frame) / rate_hz);
    let before_end = |time: f64| time < end - SAME_TIME && (time as f32) < duration;
    let mut times: Vec<f64> = grid.take_while(|&time| before_end(time)).collect();
    times.push(end);
    times
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
    /// Joint of each swing joint of the rig.
    joints: Vec<usize>,
    moved: Vec<(usize, Property)>,
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
            moved: moved_properties(rig),
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
            tracks: self
                .moved
                .iter()
                .map(|&(joint, property)| (joint, property.values(times.len())))
                .collect(),
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
        if let Some(pose) = self.host.world.get::<LocalPose>(self.actor) {
            for (joint, values) in &mut recording.tracks {
                push(values, &pose.0[*joint]);
            }
        }
        for (result, &joint) in self.readout().0.iter().zip(&self.joints) {
            let Some(result) = result else { continue };
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

/// `profile` with as many substeps as a frame at `rate_hz` can need: bakes and scenes drop no time. `[T2]`
pub fn uncapped(profile: &SwingProfile, rate_hz: f64) -> SwingProfile {
    let most = (60.0 / rate_hz).ceil() as u32 + 2;
    SwingProfile {
        max_substeps: profile.max_substeps.max(most),
        ..*profile
    }
}

/// A warning when frames at `rate_hz` are cut by themselves and are no one or two sixtieths of a second: the motion is
/// then another one at each rate. `[T1]`
pub fn uneven_frames(profile: &SwingProfile, rate_hz: f64) -> Option<String> {
    let sixtieths = 60.0 / rate_hz;
    let even = [1.0, 2.0]
        .iter()
        .any(|n| (sixtieths - n).abs() < EVEN_FRAME);
    (profile.substeps == SubstepPolicy::Frame && !even).then(|| {
        format!(
            "substeps: frame at {rate_hz} Hz: frames that last neither 1/60 nor 1/30 s change the motion; \
             `substeps: fixed` gives the same motion at every rate"
        )
    })
}

impl Seam {
    /// Whether the end meets the start as nearly as a loop is played for.
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
    fn exp_02_stored_times_increase_wherever_a_clip_ends_on_the_grid() {
        for rate in [24_u16, 30, 60, 144] {
            for frames in 1..=600 * u32::from(rate) {
                let end = (f64::from(frames) / f64::from(rate)) as f32;
                // The whole list is long; only its end depends on the clip's.
                let last = frame_times_from(frames.saturating_sub(4), end, rate.into());
                let stored: Vec<f32> = last.iter().map(|&time| time as f32).collect();
                assert!(
                    stored.windows(2).all(|pair| pair[0] < pair[1]),
                    "{end} s at {rate} Hz: {stored:?}"
                );
                assert_eq!(stored.last(), Some(&end));
            }
        }
    }

    #[test]
    fn exp_02_a_clip_that_never_ends_is_refused() {
        for (duration, rate) in [
            (1e30, 60.0),
            (1.0, f64::INFINITY),
            (1.0, 1e300),
            (0.0, f64::INFINITY),
            (1.0, f64::NAN),
        ] {
            let refused = frame_times(duration, rate).unwrap_err().to_string();
            assert!(refused.contains("lower --rate"), "{refused}");
        }
    }

    #[test]
    fn t1_frames_of_odd_length_are_worth_a_warning_when_cut_by_themselves() {
        let frame = SwingProfile {
            substeps: SubstepPolicy::Frame,
            ..SwingProfile::default()
        };
        let warns = |profile: &SwingProfile, rate| uneven_frames(profile, rate).is_some();
        assert!(!warns(&frame, 60.0) && !warns(&frame, 30.0) && !warns(&frame, 59.94));
        assert!(warns(&frame, 24.0) && warns(&frame, 144.0));
        assert!(!warns(&SwingProfile::default(), 24.0));
    }
}
