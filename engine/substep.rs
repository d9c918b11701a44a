//! Substeps: how a frame is cut into steps of the solver's own clock. `[T1]` `[T2]` `[T3]`
//!
//! Time is counted, not summed: the actor's clock is an `f64` set by the host, substeps are counted since the reset.
//! Under [`SubstepPolicy::Fixed`] the particles' path at multiples of 1/60 s is therefore the same at every frame
//! rate, and a frame shows a blend of the last two substeps.

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::{ReflectComponent, ReflectResource};
use bevy_ecs::resource::Resource;
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::profile::{DeltaPolicy, MOST_PREWARM, SubstepPolicy, SwingProfile};

/// Length of a substep under [`SubstepPolicy::Fixed`], seconds: the f32 nearest to 1/60. `[T2]`
pub const FIXED_STEP: f64 = 0.016_666_667_535_901_07;
/// Forces per second of a substep. `[T3]`
pub const STEP_FACTOR: f32 = 40.0;
/// Longest substep under [`SubstepPolicy::Frame`], seconds; just above 1/60, so that 60 Hz gives one substep. `[T1]`
pub const LONGEST_STEP: f32 = 0.016_67;
/// A rest of a frame below this, seconds, is no substep of its own. `[T1]`
const FRAME_REST: f64 = 1e-3;
/// How far from one or two sixtieths a frame may last and still count as even, in sixtieths. `[T1]`
const EVEN_FRAME: f64 = 0.01;
/// How early a substep may be due, seconds: hides the rounding of times. `[T2]`
const DUE_EARLY: f64 = 1e-5;
/// Above this share of the way the input pose counts as reached. `[T2]`
const INPUT_REACHED: f64 = 1.0 - 1e-4;
/// Above this share of the way the last substep itself is written. `[T2]`
const RESULT_REACHED: f64 = 1.0 - 1e-3;

/// `step(h) = min(h, H) · 40`: the factor of all forces in a substep of `seconds`. `[T3]`
pub fn step_factor(seconds: f32) -> f32 {
    seconds.min(LONGEST_STEP) * STEP_FACTOR
}

/// The host's clock: what time the frame about to run ends at.
#[derive(Resource, Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Resource, Debug, Default, PartialEq, Clone))]
pub struct FrameClock {
    /// Seconds since the host began. Never decreases.
    pub now: f64,
}

/// How fast an actor's time goes against the host's, dimensionless: *0 stands still, 1 goes along (what an actor without
/// it does), 2 twice as fast*. Its clips, its wind and its particles go by that time. What is negative or not finite
/// counts as 0.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
pub struct TimeScale(pub f64);

/// An actor whose time stands still: it shows what it showed. What it moves in the world meanwhile is not felt later.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct SwingPaused;

/// Where an actor's time lies on the host's: a line that is drawn anew when its slope changes, so that no sum of scaled
/// frames can drift, and that is the host's own as long as nobody scales it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
pub struct TimeLine {
    /// The host's time where the line begins, seconds.
    host: f64,
    /// The actor's time there, seconds.
    own: f64,
    /// Actor's seconds per second of the host.
    scale: f64,
    /// The host's time asked for last, seconds.
    last: f64,
}

impl Default for TimeLine {
    fn default() -> Self {
        Self {
            host: 0.0,
            own: 0.0,
            scale: 1.0,
            last: 0.0,
        }
    }
}

impl TimeLine {
    /// The actor's time at `now`, seconds of the host's; a new `scale` holds for all of the frame that ends there.
    pub fn at(&mut self, now: f64, scale: f64) -> f64 {
        let scale = if scale.is_finite() && scale > 0.0 {
            scale
        } else {
            0.0
        };
        if scale != self.scale {
            self.own += (self.last - self.host) * self.scale;
            self.host = self.last;
            self.scale = scale;
        }
        self.last = now;
        self.own + (now - self.host) * self.scale
    }
}

/// The clock of an actor. What it calls the host's time is the actor's own where [`TimeScale`] or [`SwingPaused`] part them.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct ActorClock {
    /// The host's time at the last reset; `None`: the next frame resets the actor.
    pub started: Option<f64>,
    /// The host's time at the last frame that was not empty, seconds.
    pub last: f64,
    /// Time dropped by the cap on substeps, seconds.
    pub dropped: f64,
    /// Substeps since the reset.
    pub substeps: u64,
    /// The policy they were counted under: another one starts the count, and the actor, anew.
    pub policy: SubstepPolicy,
    /// Whether a frame of another length than 1/60 or 1/30 s was met under [`SubstepPolicy::Frame`]. `[T1]`
    pub uneven: bool,
    /// How its time goes.
    pub line: TimeLine,
}

/// When an animated pose is taken.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PosePoint {
    /// On the actor's clock, seconds: where clip-driven actors sample.
    pub time: f64,
    /// Where between the last frame's input pose (0) and this frame's (1): for actors whose poses the host gives.
    pub input: f32,
}

/// One step of the solver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Substep {
    /// Index of its pose in [`FrameSchedule::poses`].
    pub pose: usize,
    /// Factor of all forces. `[T3]`
    pub step: f32,
    /// Whether the stiffness pulls along the rest rotation (else along the one resolved last). `[S3]`
    pub from_rest: bool,
    /// Whether it only settles: no coupling, time stands still. `[S10]`
    pub prewarm: bool,
    /// When the wind is asked, on the host's clock, seconds. `[W1]`
    pub time: f64,
}

/// What a frame asks of an actor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FrameSchedule {
    /// No time has passed: nothing is computed and nothing written.
    pub idle: bool,
    /// Start at rest in the frame's pose and settle.
    pub reset: bool,
    /// Steps in order.
    pub substeps: Vec<Substep>,
    /// The animated poses that the steps take.
    pub poses: Vec<PosePoint>,
    /// Time of the frame on the actor's clock, seconds: when the pose is shown.
    pub shown: f64,
    /// Where between the results of the last two substeps (0, 1) the frame lies; an idle frame lies where the last did.
    pub blend: f32,
    /// Time dropped by the cap in this frame, seconds.
    pub dropped: f64,
    /// What deserves a word to people; each is said once per actor.
    pub notice: Option<Notice>,
}

/// What an actor's clock wants people to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The cap dropped time for the first time. `[T2]`
    TimeDropped,
    /// A frame under [`SubstepPolicy::Frame`] lasts neither 1/60 nor 1/30 s: motion changes with the rate. `[T1]`
    UnevenFrame,
}

impl FrameSchedule {
    /// Whether the solver takes the same steps for both, at whatever time: their actors can move side by side.
    pub fn is_cut_like(&self, other: &Self) -> bool {
        let alike = |(one, two): (&Substep, &Substep)| {
            one.pose == two.pose
                && one.step == two.step
                && (one.from_rest, one.prewarm) == (two.from_rest, two.prewarm)
        };
        self.reset == other.reset
            && self.poses.len() == other.poses.len()
            && self.substeps.len() == other.substeps.len()
            && self.substeps.iter().zip(&other.substeps).all(alike)
    }
}

impl ActorClock {
    /// What the actor's clock shows at the last frame, seconds: 0 at its reset, without what the cap dropped.
    pub fn time(&self) -> f64 {
        self.started
            .map_or(0.0, |started| self.last - started - self.dropped)
    }

    /// Makes the coming frame end when this clock shows `time` (seconds since the reset, with what the cap dropped; not
    /// before what it shows now), whenever that of other actors does.
    ///
    /// For a host whose own clock stands at 0 while each actor of it has frames of its own. Not the host's time moves on
    /// but the actor's beginning moves back: the differences that [`Self::schedule`] takes from a `now` of 0 are exact,
    /// so the frame has the bits it has on a host that goes there itself. Wind asks for the host's time and would stand
    /// still.
    ///
    /// An actor that waits for its reset has no time yet: the coming frame is its first and ends at 0.
    pub fn end_frame_at(&mut self, time: f64) {
        let Some(started) = self.started else { return };
        let elapsed = time - (self.last - started);
        self.started = Some(-time);
        self.last = -elapsed;
    }

    /// Cuts the frame that ends at `now` (host's time, seconds) and moves the clock on. Reuses `schedule`'s memory.
    ///
    /// `now` before the last frame counts as no time passed: hosts refuse negative steps themselves.
    pub fn schedule(&mut self, now: f64, profile: &SwingProfile, schedule: &mut FrameSchedule) {
        schedule.substeps.clear();
        schedule.poses.clear();
        schedule.dropped = 0.0;
        schedule.notice = None;
        let same_policy = self.policy == profile.substeps;
        let Some(started) = self.started.filter(|_| same_policy) else {
            self.reset(now, profile, schedule);
            return;
        };
        schedule.reset = false;
        let elapsed = now - self.last;
        schedule.idle = !(elapsed > 0.0 && elapsed.is_finite());
        if schedule.idle {
            return;
        }
        schedule.blend = 1.0;
        match profile.substeps {
            SubstepPolicy::Fixed => self.cut_fixed(started, now, elapsed, profile, schedule),
            SubstepPolicy::Frame => self.cut_frame(started, now, elapsed, profile, schedule),
        }
        if schedule.dropped > 0.0 && self.dropped == schedule.dropped {
            schedule.notice = Some(Notice::TimeDropped);
        }
        self.last = now;
    }

    fn reset(&mut self, now: f64, profile: &SwingProfile, schedule: &mut FrameSchedule) {
        *self = Self {
            started: Some(now),
            last: now,
            policy: profile.substeps,
            uneven: self.uneven,
            line: self.line,
            ..Self::default()
        };
        schedule.idle = false;
        schedule.reset = true;
        schedule.blend = 1.0;
        schedule.shown = 0.0;
        schedule.poses.push(PosePoint {
            time: 0.0,
            input: 1.0,
        });
        let settle = Substep {
            pose: 0,
            step: step_factor(LONGEST_STEP),
            from_rest: true,
            prewarm: true,
            time: now,
        };
        let count = profile.prewarm.min(MOST_PREWARM) as usize;
        schedule
            .substeps
            .extend(core::iter::repeat_n(settle, count));
    }

    fn cut_fixed(
        &mut self,
        started: f64,
        now: f64,
        elapsed: f64,
        profile: &SwingProfile,
        schedule: &mut FrameSchedule,
    ) {
        let mut shown = now - started - self.dropped;
        let due = ((shown - DUE_EARLY) / FIXED_STEP).ceil().max(0.0) as u64;
        let cap = u64::from(profile.substep_cap());
        let missing = due.saturating_sub(self.substeps + cap);
        if missing > 0 {
            schedule.dropped = missing as f64 * FIXED_STEP;
            self.dropped += schedule.dropped;
            shown -= schedule.dropped;
        }
        let last_frame = shown - elapsed + schedule.dropped;
        for index in self.substeps + 1..=due - missing.min(due) {
            let time = index as f64 * FIXED_STEP;
            let input = ((time - last_frame) / elapsed).clamp(0.0, 1.0);
            let input = if input > INPUT_REACHED { 1.0 } else { input };
            schedule.poses.push(PosePoint {
                time,
                input: input as f32,
            });
            schedule.substeps.push(Substep {
                pose: schedule.substeps.len(),
                step: step_factor(FIXED_STEP as f32),
                from_rest: takes_rest(profile.delta, true, index - 1),
                prewarm: false,
                time: started + self.dropped + time,
            });
            self.substeps = index;
        }
        schedule.shown = shown;
        let blend = (shown - (self.substeps as f64 - 1.0) * FIXED_STEP) / FIXED_STEP;
        schedule.blend = if blend > RESULT_REACHED {
            1.0
        } else {
            blend.max(0.0) as f32
        };
    }

    fn cut_frame(
        &mut self,
        started: f64,
        now: f64,
        elapsed: f64,
        profile: &SwingProfile,
        schedule: &mut FrameSchedule,
    ) {
        let longest = f64::from(LONGEST_STEP);
        let near = |count: f64| (elapsed * 60.0 - count).abs() < EVEN_FRAME;
        if !self.uneven && !near(1.0) && !near(2.0) {
            self.uneven = true;
            schedule.notice = Some(Notice::UnevenFrame);
        }
        let mut remaining = elapsed;
        schedule.shown = now - started - self.dropped;
        loop {
            if schedule.substeps.len() == profile.substep_cap() as usize {
                schedule.dropped = remaining;
                self.dropped += remaining;
                schedule.shown -= remaining;
                break;
            }
            let first = schedule.substeps.is_empty();
            schedule.substeps.push(Substep {
                pose: 0,
                step: step_factor(remaining.min(longest) as f32),
                from_rest: takes_rest(profile.delta, first, self.substeps),
                prewarm: false,
                time: now,
            });
            self.substeps += 1;
            remaining -= longest;
            if remaining <= FRAME_REST {
                break;
            }
        }
        schedule.poses.push(PosePoint {
            time: schedule.shown,
            input: 1.0,
        });
    }
}

/// Whether the stiffness of substep `index` (counted from the reset) pulls along the rest rotation. `[S3]`
fn takes_rest(delta: DeltaPolicy, first_of_frame: bool, index: u64) -> bool {
    match delta {
        DeltaPolicy::Carried => first_of_frame,
        DeltaPolicy::Rest => true,
        DeltaPolicy::Current => false,
        DeltaPolicy::CarriedPairs => index.is_multiple_of(2),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(rate: f64, seconds: f64, profile: &SwingProfile) -> (ActorClock, Vec<Substep>) {
        let mut clock = ActorClock::default();
        let mut schedule = FrameSchedule::default();
        let mut all = Vec::new();
        for frame in 0..=(rate * seconds).round() as u64 {
            clock.schedule(frame as f64 / rate, profile, &mut schedule);
            if !schedule.reset {
                all.extend_from_slice(&schedule.substeps);
            }
        }
        (clock, all)
    }

    #[test]
    fn t2_substeps_are_counted_alike_at_every_rate_for_ten_minutes() {
        for rate in [24.0, 30.0, 50.0, 60.0, 90.0, 120.0, 144.0, 165.0, 240.0] {
            let (clock, _) = run(rate, 600.0, &SwingProfile::default());
            assert_eq!(clock.substeps, 36_000, "at {rate} Hz");
        }
    }

    #[test]
    fn t1_sixty_hertz_is_one_substep_and_thirty_is_two() {
        let profile = SwingProfile {
            substeps: SubstepPolicy::Frame,
            ..SwingProfile::default()
        };
        assert_eq!(run(60.0, 1.0, &profile).1.len(), 60);
        let (_, substeps) = run(30.0, 1.0, &profile);
        assert_eq!(substeps.len(), 60);
        assert!((substeps[0].step - 0.6668).abs() < 1e-6 && substeps[0].from_rest);
        assert!((substeps[1].step - 0.666_533).abs() < 1e-6 && !substeps[1].from_rest);
    }

    #[test]
    fn time_05_a_hitch_drops_time_and_leaves_no_debt() {
        let mut clock = ActorClock::default();
        let mut schedule = FrameSchedule::default();
        let profile = SwingProfile::default();
        let mut now = 0.0;
        for (elapsed, expected) in [
            (0.0, 30),
            (1.0, 8),
            (1.0 / 60.0, 1),
            (1e6, 8),
            (1.0 / 60.0, 1),
        ] {
            now += elapsed;
            clock.schedule(now, &profile, &mut schedule);
            assert_eq!(schedule.substeps.len(), expected, "after {elapsed} s");
        }
    }

    #[test]
    fn frames_of_an_actors_own_are_cut_as_a_host_cuts_them_that_goes_there() {
        for substeps in [SubstepPolicy::Fixed, SubstepPolicy::Frame] {
            let profile = SwingProfile {
                substeps,
                delta: DeltaPolicy::CarriedPairs,
                ..SwingProfile::default()
            };
            let (mut moved, mut own) = (ActorClock::default(), ActorClock::default());
            let (mut there, mut here) = (FrameSchedule::default(), FrameSchedule::default());
            // Off the grid, no time at all, and a hitch whose time the cap drops.
            let times = [0.0, 0.1 / 3.0, 0.04, 0.04, 1.0 / 7.0, 9.1, 9.2, 700.0 / 3.0];
            for time in times
                .into_iter()
                .chain((0..600).map(|i| 300.0 + f64::from(i) / 24.0))
            {
                moved.schedule(time, &profile, &mut there);
                own.end_frame_at(time);
                own.schedule(0.0, &profile, &mut here);
                // When the wind is asked is the one thing that hangs on the host.
                for (here, there) in here.substeps.iter_mut().zip(&there.substeps) {
                    here.time = there.time;
                }
                assert_eq!(here, there, "at {time} s");
                assert_eq!(own.time(), moved.time());
            }
        }
    }

    #[test]
    fn a_line_that_nobody_scales_is_the_hosts_bit_for_bit_and_scaled_ones_do_not_drift() {
        let mut line = TimeLine::default();
        for frame in 0..1000 {
            let now = f64::from(frame) / 7.0;
            assert_eq!(line.at(now, 1.0).to_bits(), now.to_bits());
        }
        let start = line.last;
        for frame in 1..=36_000 {
            let own = line.at(start + f64::from(frame) / 60.0, 0.1);
            let expected = start + f64::from(frame) / 600.0;
            assert!((own - expected).abs() < 1e-12, "frame {frame}: {own}");
        }
        let stopped = line.at(start + 600.0, 0.0);
        for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(line.at(start + 700.0, scale), stopped, "{scale}");
        }
        // The frame that ends at 701 s is the first that goes ten times as fast.
        assert_eq!(line.at(start + 701.0, 10.0), stopped + 10.0);
    }

    #[test]
    fn time_03_no_time_is_no_substep() {
        let mut clock = ActorClock::default();
        let mut schedule = FrameSchedule::default();
        clock.schedule(1.0, &SwingProfile::default(), &mut schedule);
        let before = clock;
        clock.schedule(1.0, &SwingProfile::default(), &mut schedule);
        assert!(schedule.idle && schedule.substeps.is_empty());
        assert_eq!(clock, before);
        // What is shown between two substeps stays there.
        clock.schedule(1.01, &SwingProfile::default(), &mut schedule);
        let blend = schedule.blend;
        assert!(0.0 < blend && blend < 1.0, "{blend}");
        clock.schedule(1.01, &SwingProfile::default(), &mut schedule);
        assert!(schedule.idle && schedule.blend == blend);
    }
}
