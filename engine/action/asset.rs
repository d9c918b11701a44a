//! The action as an asset: its channels, how they are checked, and how they are laid over a pose.

use bevy_math::Vec3;
use thiserror::Error;

use super::{
    ActionClock, ActionTime, Ease, Envelope, FeedForward, FeedForwardRule, body_rotation,
    body_translation, feed_forward, head_rotation,
};
use crate::curve::{Curve, Domain, DomainError};
use crate::euler::from_euler_zxy;
use crate::pose::JointTransform;
use crate::rotation::Rotation;

/// A key this far beyond the last progress is a decimal, not a mistake.
const PROGRESS_SLACK: f64 = 1e-6;

/// Curves that move a body and its parts once. `[K3]`–`[K6]`
///
/// Plain data without a state or a speed: the same time gives the same pose, and who plays it faster counts its time
/// faster.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Action {
    /// For people.
    pub name: String,
    /// When it happens.
    pub clock: ActionClock,
    /// How it fades.
    pub envelope: Envelope,
    /// What it moves, in the order in which it is applied.
    pub channels: Vec<Channel>,
    /// How the body's motion is told ahead.
    pub feed_forward: FeedForwardRule,
}

/// What an action moves. Angles are ZXY `[C2]`, in radians, per axis x y z; an axis without a curve is 0.
#[derive(Clone, Debug, PartialEq)]
pub enum Channel {
    /// The body as a whole; an action has one at most.
    Body(Body),
    /// The head: it turns from the pose below to the angles, by the weight. `[B1]`
    Head {
        /// Index of the joint in the rig.
        joint: usize,
        /// The angles it ends at.
        euler: [Option<Curve>; 3],
    },
    /// Any other joint: the weighted angles are added on the joint's own side, `out = base * turn`.
    Rotation {
        /// Index of the joint in the rig.
        joint: usize,
        /// The angles it turns by.
        euler: [Option<Curve>; 3],
    },
}

/// The body's channel. `[K5]`
#[derive(Clone, Debug, PartialEq)]
pub struct Body {
    /// Index of the joint in the rig: the one that carries the rest, such as the hips.
    pub joint: usize,
    /// In reference heights: x and z since the start of the action, y above the support. An axis without a curve is
    /// left as it is.
    pub translation: [Option<Curve>; 3],
    /// The angles it turns by, on the joint's own side: `out = base * turn`.
    pub euler: [Option<Curve>; 3],
    /// Turns the horizontal axes about +Y, radians: *0 moves along the parent's own*.
    pub heading: f32,
    /// One unit of the translation curves, metres, ≥ 0.
    pub reference_height: f32,
    /// What the body stands on, metres along the parent's y.
    pub support_height: f32,
}

impl Default for Body {
    fn default() -> Self {
        Self {
            joint: 0,
            translation: [None, None, None],
            euler: [None, None, None],
            heading: 0.0,
            reference_height: 1.0,
            support_height: 0.0,
        }
    }
}

/// What an action did at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ActionReadout {
    /// The action's own time.
    pub time: ActionTime,
    /// The layer's weight times the envelope's, 0 to 1.
    pub weight: f32,
    /// How fast the body is about to move in the pose it was given; nothing without a translated body. `[K6]`
    pub feed_forward: FeedForward,
    /// Channels whose joint kept its pose because what was asked is none: a weight outside [0, 1], a joint the pose
    /// does not have, a base that is not finite. `[B6]`
    pub kept: usize,
}

/// Why an action cannot be played.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum ActionFault {
    /// A time of the clock, the envelope or the feed-forward is negative or not finite.
    #[error("{field} is {found} s; expected {expected}")]
    Seconds {
        /// Which time.
        field: &'static str,
        /// What it is.
        found: f64,
        /// What would do.
        expected: &'static str,
    },
    /// A maximum of the feed-forward is negative or NaN.
    #[error("{field} is {found}; expected a number of at least 0")]
    Maximum {
        /// Which maximum.
        field: &'static str,
        /// What it is.
        found: f32,
    },
    /// A custom ease is not keyed in progress.
    #[error("{field}: {error}; expected a curve over progress")]
    Ease {
        /// Which ease.
        field: &'static str,
        /// What was asked of it.
        error: DomainError,
    },
    /// A number of a body channel is not one.
    #[error("channel {channel}: {field} is {found}; expected {expected}")]
    Number {
        /// Index of the channel.
        channel: usize,
        /// Which number.
        field: &'static str,
        /// What it is.
        found: f32,
        /// What would do.
        expected: &'static str,
    },
    /// A curve has keys that the action never reaches: it was keyed for another length, or in another unit.
    #[error(
        "channel {channel}, {property} {axis}: a key at {found} ({domain}) lies beyond the action, which ends at {end}"
    )]
    Beyond {
        /// Index of the channel.
        channel: usize,
        /// Translation or angles.
        property: &'static str,
        /// x, y or z.
        axis: char,
        /// Where the key is.
        found: f32,
        /// What it counts.
        domain: Domain,
        /// The last time the action reaches, in that unit.
        end: f64,
    },
    /// There is more than one body channel.
    #[error("channel {second} moves the body, as channel {first} does; expected one")]
    SecondBody {
        /// Index of the first.
        first: usize,
        /// Index of the second.
        second: usize,
    },
}

impl Channel {
    /// Index of the joint that it moves.
    pub fn joint(&self) -> usize {
        match self {
            Self::Body(body) => body.joint,
            Self::Head { joint, .. } | Self::Rotation { joint, .. } => *joint,
        }
    }

    fn euler(&self) -> &[Option<Curve>; 3] {
        match self {
            Self::Body(body) => &body.euler,
            Self::Head { euler, .. } | Self::Rotation { euler, .. } => euler,
        }
    }

    /// The joint's transform with this channel over it; `None` where there is no such.
    fn over(
        &self,
        base: &JointTransform,
        clock: &ActionClock,
        time: &ActionTime,
        w: f32,
        metres: Vec3,
    ) -> Option<JointTransform> {
        let mut moved = *base;
        if let Self::Body(body) = self {
            let from = base.translation * metres;
            let to = body.translated(from, clock, time, w);
            for axis in 0..3 {
                // An axis that stays keeps its bits.
                if to[axis] != from[axis] {
                    moved.translation[axis] = to[axis] / metres[axis];
                }
            }
        }
        if let Some(euler) = angles(self.euler(), time) {
            moved.rotation = self.turned(base.rotation.into(), euler, w)?.into();
        }
        moved.is_finite().then_some(moved)
    }

    fn turned(&self, base: Rotation<f32>, euler: [f32; 3], w: f32) -> Option<Rotation<f32>> {
        match self {
            Self::Head { .. } => head_rotation(base, euler, w).ok(),
            Self::Body(_) | Self::Rotation { .. } => Some(base * body_rotation(euler, w)),
        }
    }
}

impl Body {
    fn is_translated(&self) -> bool {
        self.translation.iter().any(Option::is_some)
    }

    /// `[K5]` in metres, with the axes that have no curve left as they are.
    fn translated(&self, base: Vec3, clock: &ActionClock, time: &ActionTime, w: f32) -> Vec3 {
        if !self.is_translated() {
            return base;
        }
        let start = clock.at(clock.lead_in);
        let at = |time: &ActionTime| {
            let value = |axis: &Option<Curve>| axis.as_ref().map_or(0.0, |curve| curve.at(time));
            Vec3::from_array(self.translation.each_ref().map(value))
        };
        let moved = body_translation(
            base,
            from_euler_zxy([0.0, self.heading, 0.0]),
            at(time),
            at(&start),
            self.reference_height,
            self.support_height,
            w,
        );
        match self.translation[1] {
            Some(_) => moved,
            None => moved.with_y(base.y),
        }
    }
}

/// The angles at a time; `None` without any curve, so that such a joint keeps its rotation to the bit.
fn angles(euler: &[Option<Curve>; 3], time: &ActionTime) -> Option<[f32; 3]> {
    let angle = |axis: &Option<Curve>| axis.as_ref().map_or(0.0, |curve| curve.at(time));
    let any = euler.iter().any(Option::is_some);
    any.then(|| euler.each_ref().map(angle))
}

impl Action {
    /// Lays the action over `pose`, which has one transform per joint of the rig. `[K3]`–`[K6]`
    ///
    /// `time` is seconds since the beginning of the lead-in; `weight` is the layer's, 0 to 1, the envelope comes on
    /// top. At a weight of 0 the pose keeps its bits.
    ///
    /// `metres` says how many metres a unit of what a joint hangs on has in this pose, per axis: translations of a pose
    /// are in units of the parent.
    pub fn apply(
        &self,
        time: f64,
        weight: f32,
        pose: &mut [JointTransform],
        metres: impl Fn(&[JointTransform], usize) -> Vec3,
    ) -> ActionReadout {
        let at = self.clock.at(time);
        let mut readout = ActionReadout {
            time: at,
            ..ActionReadout::default()
        };
        if !(0.0..=1.0).contains(&weight) || !time.is_finite() {
            readout.kept = self.channels.len();
            return readout;
        }
        readout.weight = weight * self.envelope.weight(&at);
        for channel in &self.channels {
            if channel.joint() >= pose.len() {
                readout.kept += 1;
                continue;
            }
            let metres = match channel {
                Channel::Body(_) => metres(pose, channel.joint()),
                Channel::Head { .. } | Channel::Rotation { .. } => Vec3::ONE,
            };
            let joint = &mut pose[channel.joint()];
            if let Channel::Body(body) = channel {
                let base = joint.translation * metres;
                readout.feed_forward = self.told_ahead(body, base, time, weight);
            }
            if readout.weight == 0.0 {
                continue;
            }
            match channel.over(joint, &self.clock, &at, readout.weight, metres) {
                Some(moved) => *joint = moved,
                None => readout.kept += 1,
            }
        }
        readout
    }

    /// How fast the body is about to leave `base`. `[K6]`
    fn told_ahead(&self, body: &Body, base: Vec3, time: f64, weight: f32) -> FeedForward {
        if !body.is_translated() {
            return FeedForward::default();
        }
        let position = |t: f64| {
            let at = self.clock.at(t);
            let w = weight * self.envelope.weight(&at);
            body.translated(base, &self.clock, &at, w)
        };
        feed_forward(position, time, &self.feed_forward)
    }

    /// Whether the action can be played.
    ///
    /// # Errors
    /// The first [`ActionFault`]: a time or number that is none, an ease that is not over progress, a curve keyed
    /// beyond the action, a second body.
    pub fn check(&self) -> Result<(), ActionFault> {
        self.check_times()?;
        self.check_eases()?;
        let mut first_body = None;
        for (channel, of) in self.channels.iter().enumerate() {
            if let Channel::Body(body) = of {
                if let Some(first) = first_body {
                    return Err(ActionFault::SecondBody {
                        first,
                        second: channel,
                    });
                }
                first_body = Some(channel);
                check_body(channel, body)?;
                self.check_curves(channel, "translation", &body.translation)?;
            }
            self.check_curves(channel, "euler", of.euler())?;
        }
        Ok(())
    }

    fn check_times(&self) -> Result<(), ActionFault> {
        let fault = |(field, found), expected| ActionFault::Seconds {
            field,
            found,
            expected,
        };
        let (clock, envelope) = (&self.clock, &self.envelope);
        for time in [
            ("lead_in", clock.lead_in),
            ("length", clock.length),
            ("lead_out", clock.lead_out),
            ("fade_in", envelope.fade_in),
            ("fade_out", envelope.fade_out),
        ] {
            if !time.1.is_finite() || time.1 < 0.0 {
                return Err(fault(time, "a finite time of at least 0"));
            }
        }
        let step = self.feed_forward.step;
        if !step.is_finite() || step <= 0.0 {
            return Err(fault(("feed_forward step", step), "a finite time above 0"));
        }
        let rule = &self.feed_forward;
        let maxima = [
            ("velocity_max", rule.velocity_max),
            ("acceleration_max", rule.acceleration_max),
        ];
        let wrong = maxima
            .into_iter()
            .find(|(_, found)| found.is_nan() || *found < 0.0);
        wrong.map_or(Ok(()), |(field, found)| {
            Err(ActionFault::Maximum { field, found })
        })
    }

    fn check_eases(&self) -> Result<(), ActionFault> {
        let eases = [
            ("ease_in", &self.envelope.ease_in),
            ("ease_out", &self.envelope.ease_out),
        ];
        for (field, ease) in eases {
            if let Ease::Custom(curve) = ease {
                let asked = curve.in_progress(0.0);
                asked.map_err(|error| ActionFault::Ease { field, error })?;
            }
        }
        Ok(())
    }

    /// Curves over progress end where progress does; those over seconds may be cut, but not before they begin.
    fn check_curves(
        &self,
        channel: usize,
        property: &'static str,
        curves: &[Option<Curve>; 3],
    ) -> Result<(), ActionFault> {
        let last = self.clock.last_progress();
        for (axis, curve) in ['x', 'y', 'z'].into_iter().zip(curves) {
            let Some(curve) = curve else { continue };
            let (first_key, last_key) = curve.keys.span();
            let (found, end) = match curve.domain {
                Domain::Progress => (last_key, last),
                Domain::Seconds => (first_key, self.clock.length * last),
            };
            if f64::from(found) > end + PROGRESS_SLACK {
                return Err(ActionFault::Beyond {
                    channel,
                    property,
                    axis,
                    found,
                    domain: curve.domain,
                    end,
                });
            }
        }
        Ok(())
    }
}

fn check_body(channel: usize, body: &Body) -> Result<(), ActionFault> {
    let fault = |field, found, expected| {
        Err(ActionFault::Number {
            channel,
            field,
            found,
            expected,
        })
    };
    if !body.reference_height.is_finite() || body.reference_height < 0.0 {
        return fault(
            "reference_height",
            body.reference_height,
            "a finite height of at least 0",
        );
    }
    for (field, found) in [
        ("support_height", body.support_height),
        ("heading", body.heading),
    ] {
        if !found.is_finite() {
            return fault(field, found, "a finite number");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
