//! Recordings: what the swing joints did at every frame of a clip, and when the frames of a clip are.

use super::Seam;
use super::moved::{Property, clear, push};
use crate::assets::Error;
use crate::assets::patch::BakedValues;
use crate::assets::state_hash::StateHash;
use crate::pose::JointTransform;
use crate::profile::{SubstepPolicy, SwingProfile};
use crate::swing::SwingReadout;

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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// Time of each frame from the clip's beginning, seconds, strictly increasing.
    pub times: Vec<f32>,
    /// What moved: the joint of the rig and its values, one per time, in the order of
    /// [`moved_properties`](super::moved::moved_properties).
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

impl Recording {
    /// Of what `moved` names, with room for `frames` frames.
    pub(super) fn new(moved: &[(usize, Property)], frames: usize) -> Self {
        let track = |&(joint, property): &(usize, Property)| (joint, property.values(frames));
        Self {
            times: Vec::with_capacity(frames),
            tracks: moved.iter().map(track).collect(),
            ..Self::default()
        }
    }

    /// Appends a frame at `time`: what an actor shows. `joints` has the joint of each entry of the readout.
    pub(super) fn keep(
        &mut self,
        time: f32,
        pose: &[JointTransform],
        readout: &SwingReadout,
        joints: &[usize],
    ) {
        self.times.push(time);
        for (joint, values) in &mut self.tracks {
            push(values, &pose[*joint]);
        }
        for (result, &joint) in readout.0.iter().zip(joints) {
            let Some(result) = result else { continue };
            let farthest = self.deflection.map_or(-1.0, |(angle, _)| angle);
            if result.deflection > farthest {
                self.deflection = Some((result.deflection, joint));
            }
        }
    }

    /// Forgets all frames and keeps their room: a loop is recorded in its last pass.
    pub(super) fn forget(&mut self) {
        self.times.clear();
        self.tracks.iter_mut().for_each(|(_, values)| clear(values));
        self.deflection = None;
        self.hashes.clear();
    }
}

/// When the frames of a clip are: at multiples of 1/rate and at the clip's end.
///
/// Their times increase strictly, and so do they rounded to f32, as which they are stored.
#[derive(Clone, Copy, Debug)]
pub struct FrameTimes {
    /// Length of the clip, seconds, ≥ 0.
    duration: f32,
    rate_hz: f64,
}

impl FrameTimes {
    /// Those of a clip of `duration` seconds.
    ///
    /// # Errors
    /// [`Error::Request`] when there would be more than [`MOST_KEYS`], or the product is no number.
    pub fn new(duration: f32, rate_hz: f64) -> Result<Self, Error> {
        let keys = f64::from(duration) * rate_hz;
        if !(0.0..=MOST_KEYS).contains(&keys) {
            return Err(Error::Request(format!(
                "a clip of {duration:?} s at {rate_hz:?} Hz has {keys:.3e} keys; expected at most {MOST_KEYS}: lower --rate"
            )));
        }
        Ok(Self { duration, rate_hz })
    }

    /// Length of the clip, seconds.
    pub fn end(&self) -> f64 {
        f64::from(self.duration)
    }

    /// Time of frame `frame`, counted from 0, seconds; of those behind the last one, its.
    pub fn at(&self, frame: u32) -> f64 {
        // Computed from its index: a running sum drifts by seconds an hour. An end that was rounded down to f32 may lie
        // more than `SAME_TIME` beside the grid and still be the same f32 as the grid's last time.
        let time = f64::from(frame) / self.rate_hz;
        let before_end = time < self.end() - SAME_TIME && (time as f32) < self.duration;
        if before_end { time } else { self.end() }
    }

    /// Whether frame `frame` is the last one, or behind it.
    pub fn is_last(&self, frame: u32) -> bool {
        self.at(frame) >= self.end()
    }

    /// How many there are, or one more.
    pub fn most(&self) -> usize {
        (self.end() * self.rate_hz).ceil() as usize + 1
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
    pub(super) fn between(begin: &SwingReadout, end: &SwingReadout, passes: u32) -> Self {
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

    /// The times of the frames from `first` on.
    fn times_from(first: u32, duration: f32, rate_hz: f64) -> Vec<f64> {
        let times = FrameTimes::new(duration, rate_hz).unwrap();
        let last = (first..).find(|&frame| times.is_last(frame)).unwrap();
        assert_eq!(times.at(last + 1), times.end(), "none is behind the last");
        (first..=last).map(|frame| times.at(frame)).collect()
    }

    #[test]
    fn exp_02_frames_lie_at_multiples_of_the_rate_and_at_the_end() {
        assert_eq!(times_from(0, 0.05, 60.0).len(), 4);
        assert_eq!(times_from(0, 0.0, 60.0), [0.0]);
        let hour = times_from(0, 3600.0, 60.0);
        assert_eq!(hour.len(), 216_001);
        assert!(FrameTimes::new(3600.0, 60.0).unwrap().most() >= hour.len());
        let stored: Vec<f32> = hour.iter().map(|&time| time as f32).collect();
        assert!(stored.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn exp_02_stored_times_increase_wherever_a_clip_ends_on_the_grid() {
        for rate in [24_u16, 30, 60, 144] {
            for frames in 1..=600 * u32::from(rate) {
                let end = (f64::from(frames) / f64::from(rate)) as f32;
                // The whole list is long; only its end depends on the clip's.
                let last = times_from(frames.saturating_sub(4), end, rate.into());
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
            let refused = FrameTimes::new(duration, rate).unwrap_err().to_string();
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
