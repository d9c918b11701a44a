//! Actions: motion out of curves, with a clock, a fade in and out, and the body as its stage. `[K3]`–`[K6]`
//!
//! An [`ActionClock`] turns the actor's time into active seconds and progress; an [`Envelope`] turns that into a
//! weight; [`Action`] lays its curves over a pose with it. Nothing here knows entities: a layer holds an action and
//! applies it. Times are f64 seconds, so that an action an hour into a session moves as it does at the start.

mod asset;
mod body;

#[cfg(feature = "rig_files")]
use serde::{Deserialize, Serialize};

pub use asset::{Action, ActionFault, ActionReadout, Body, Channel};
pub use body::{
    FeedForward, FeedForwardRule, body_rotation, body_translation, feed_forward, head_rotation,
};

use crate::curve::{Curve, Domain};

/// When an action happens. `[K3]`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(default, deny_unknown_fields))]
pub struct ActionClock {
    /// Before it, seconds, ≥ 0.
    pub lead_in: f64,
    /// The action itself, seconds, ≥ 0.
    pub length: f64,
    /// After it, seconds, ≥ 0: until nothing of it is left.
    pub lead_out: f64,
    /// Whether progress runs on to 2 after the end.
    pub recovers: bool,
}

/// Where a time lies in an action. `[K3]`
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActionTime {
    /// Seconds of the action that have passed: 0 to its length, to twice that where it recovers.
    pub active: f64,
    /// `active` as a share of the length: *0 its start, 1 its end, up to 2 while it recovers*; 0 without a length.
    pub progress: f64,
    /// Seconds since its start, negative before.
    pub elapsed: f64,
    /// Seconds until its end, negative after; a recovery does not count.
    pub remaining: f64,
    /// Whether the time lies between start and end, both included.
    pub inside: bool,
}

impl ActionClock {
    /// The whole of it with what leads in and out, seconds.
    pub fn duration(&self) -> f64 {
        self.lead_in + self.length + self.lead_out
    }

    /// How far progress can run: 1, or 2 with a recovery.
    pub fn last_progress(&self) -> f64 {
        if self.recovers { 2.0 } else { 1.0 }
    }

    /// Where `t` seconds after the beginning of the lead-in lie. `[K3]`
    pub fn at(&self, t: f64) -> ActionTime {
        let elapsed = t - self.lead_in;
        // Not `clamp`, which panics on a negative or NaN length that nobody has checked.
        let active = elapsed.min(self.length * self.last_progress()).max(0.0);
        ActionTime {
            active,
            progress: if self.length > 0.0 {
                active / self.length
            } else {
                0.0
            },
            elapsed,
            remaining: self.length - elapsed,
            inside: 0.0 <= elapsed && elapsed <= self.length,
        }
    }
}

impl Curve {
    /// The value at a time of an action, read in the curve's own unit. `[K3]`
    pub fn at(&self, time: &ActionTime) -> f32 {
        self.keys.value(match self.domain {
            Domain::Seconds => time.active,
            Domain::Progress => time.progress,
        })
    }
}

/// How a fade grows from 0 to 1. `[K4]`
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(rename_all = "snake_case"))]
pub enum Ease {
    /// u.
    #[default]
    Linear,
    /// u²(3 − 2u): slow at both ends.
    Smoothstep,
    /// u³: slow at the start.
    CubicIn,
    /// 1 − (1 − u)³: slow at the end.
    CubicOut,
    /// 4u³ below ½, else 1 − 4(1 − u)³: slower at both ends.
    CubicInOut,
    /// A curve over progress; values outside [0, 1] are held there, since a weight beyond is none.
    Custom(Curve),
}

impl Ease {
    /// The factor where the share `u` of the fade has passed; `u` beyond [0, 1] is held there, NaN is 0. `[K4]`
    ///
    /// A custom curve that is keyed in seconds is refused by [`Action::check`]; unchecked, it fades linearly.
    pub fn factor(&self, u: f64) -> f32 {
        let u = if u > 0.0 { u.min(1.0) } else { 0.0 };
        let left = 1.0 - u;
        let factor = match self {
            Self::Linear => u,
            Self::Smoothstep => u * u * (3.0 - 2.0 * u),
            Self::CubicIn => u * u * u,
            Self::CubicOut => 1.0 - left * left * left,
            Self::CubicInOut if u < 0.5 => 4.0 * u * u * u,
            Self::CubicInOut => 1.0 - 4.0 * left * left * left,
            Self::Custom(curve) => curve.in_progress(u).map_or(u, f64::from).clamp(0.0, 1.0),
        };
        factor as f32
    }
}

/// The fade in and out of an action. `[K4]`
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "rig_files", derive(Serialize, Deserialize))]
#[cfg_attr(feature = "rig_files", serde(default, deny_unknown_fields))]
pub struct Envelope {
    /// From the action's start, seconds, ≥ 0: *0 is there at once*.
    pub fade_in: f64,
    /// Until the action's end, seconds, ≥ 0: *0 stays to the end*.
    pub fade_out: f64,
    /// How it grows.
    pub ease_in: Ease,
    /// How it goes, read backwards from the end.
    pub ease_out: Ease,
}

impl Envelope {
    /// The weight at a time: the product of both fades, 0 outside the action. `[K4]`
    ///
    /// The product and not the smaller one: fades that overlap (0.8 and 0.5) give 0.4.
    pub fn weight(&self, time: &ActionTime) -> f32 {
        if !time.inside {
            return 0.0;
        }
        let fade = |ease: &Ease, passed: f64, length: f64| {
            if length > 0.0 {
                ease.factor(passed / length)
            } else {
                1.0
            }
        };
        fade(&self.ease_in, time.elapsed, self.fade_in)
            * fade(&self.ease_out, time.remaining, self.fade_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curve::{CurveKeys, LinearKeys};

    const CLOCK: ActionClock = ActionClock {
        lead_in: 0.5,
        length: 2.0,
        lead_out: 0.25,
        recovers: false,
    };

    #[test]
    fn k3_the_ends_belong_to_the_action() {
        for (t, active, progress, inside) in [
            (0.0, 0.0, 0.0, false),
            (0.5, 0.0, 0.0, true),
            (1.5, 1.0, 0.5, true),
            (2.5, 2.0, 1.0, true),
            (2.5_f64.next_up(), 2.0, 1.0, false),
            (9.0, 2.0, 1.0, false),
        ] {
            let at = CLOCK.at(t);
            assert_eq!(
                (at.active, at.progress, at.inside),
                (active, progress, inside),
                "at {t}"
            );
        }
        assert_eq!(CLOCK.duration(), 2.75);
    }

    #[test]
    fn k3_a_recovery_runs_on_to_two() {
        let clock = ActionClock {
            recovers: true,
            ..CLOCK
        };
        for (t, active, progress) in [(3.5, 3.0, 1.5), (4.5, 4.0, 2.0), (99.0, 4.0, 2.0)] {
            let at = clock.at(t);
            assert_eq!((at.active, at.progress), (active, progress), "at {t}");
        }
    }

    #[test]
    fn k3_an_action_without_length_is_one_moment() {
        let clock = ActionClock {
            length: 0.0,
            recovers: true,
            ..CLOCK
        };
        assert!(clock.at(0.5).inside && !clock.at(0.500_001).inside);
        assert_eq!(clock.at(7.0).progress, 0.0);
        assert_eq!(Envelope::default().weight(&clock.at(0.5)), 1.0);
    }

    #[test]
    fn k4_fades_that_overlap_are_multiplied() {
        let envelope = Envelope {
            fade_in: 2.0,
            fade_out: 2.0,
            ..Envelope::default()
        };
        // 1.5 of 2 s have passed and 0.5 s remain: 0.75 · 0.25.
        assert_eq!(envelope.weight(&CLOCK.at(2.0)), 0.1875);
        assert_eq!(envelope.weight(&CLOCK.at(0.5)), 0.0);
        assert_eq!(envelope.weight(&CLOCK.at(0.4)), 0.0);
    }

    #[test]
    fn k4_every_ease_starts_at_zero_and_ends_at_one() {
        let eases = [
            (Ease::Linear, 0.25),
            (Ease::Smoothstep, 0.156_25),
            (Ease::CubicIn, 0.015_625),
            (Ease::CubicOut, 0.578_125),
            (Ease::CubicInOut, 0.0625),
        ];
        for (ease, quarter) in eases {
            let found = [-1.0, 0.0, 0.25, 1.0, 7.0].map(|u| ease.factor(u));
            assert_eq!(found, [0.0, 0.0, quarter, 1.0, 1.0], "{ease:?}");
        }
        assert_eq!(Ease::CubicInOut.factor(0.75), 0.9375);
    }

    #[test]
    fn k4_a_custom_ease_is_held_between_zero_and_one() {
        let curve = |domain| Curve {
            domain,
            keys: CurveKeys::Linear(LinearKeys::new(vec![(0.0, -1.0), (1.0, 3.0)]).unwrap()),
        };
        let ease = Ease::Custom(curve(Domain::Progress));
        assert_eq!([0.0, 0.375, 1.0].map(|u| ease.factor(u)), [0.0, 0.5, 1.0]);
        assert_eq!(Ease::Custom(curve(Domain::Seconds)).factor(0.3), 0.3);
    }

    #[cfg(feature = "rig_files")]
    #[test]
    fn clocks_and_envelopes_are_read_from_ron() {
        let clock: ActionClock =
            ron::from_str("(lead_in: 0.5, length: 2, lead_out: 0.25)").unwrap();
        assert_eq!(clock, CLOCK);
        let text =
            "(fade_in: 1, ease_in: custom((domain: progress, keys: linear([(0, 0), (1, 1)]))))";
        let envelope: Envelope = ron::from_str(text).unwrap();
        assert_eq!(envelope.weight(&CLOCK.at(1.0)), 0.5);
        assert!(ron::from_str::<Envelope>("(fade: 1)").is_err());
    }
}
