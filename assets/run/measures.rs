//! Measures: what the actors of a scene did, in numbers that people compare. `[D2]`
//!
//! Watches every frame. The expectations about steps, limits, rings and rest are judged by what was kept here.

use std::fmt;

use bevy_math::{Quat, Vec3};

use super::Stage;
use crate::crowd::{ActorState, Crowd, Crowds, Slot, particle};
use crate::euler;
use crate::lane::Vec3x;
use crate::pose::JointTransform;
use crate::profile::RestPose;
use crate::rig::Rig;
use crate::rotation::{self, Rotation};
use crate::substep::ActorClock;
use crate::swing::{Motion, SwingReadout, SwingResult};
use crate::systems::collision::deepest_penetration;
use crate::systems::motion::WorldFromActor;
use crate::systems::preparation::Seat;

/// This near to an end of its limit a joint is at it, degrees (of a slide joint, millimetres). `[D2]`
const AT_END: f32 = 0.05;
/// A slower particle is at rest, metres per second.
const AT_REST: f32 = 0.01;

/// An animation that stands still for a shorter time has not stopped, seconds.
const LONG_ENOUGH: f64 = 0.25;

/// One number of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// What it is.
    pub name: &'static str,
    /// How much.
    pub value: f64,
    /// Of what; empty for a plain number.
    pub unit: &'static str,
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.value.is_finite() {
            write!(f, "{} {:.3} {}", self.name, self.value, self.unit)
        } else {
            write!(f, "{} none: still moving at the end", self.name)
        }
    }
}

/// What was seen of the actors so far.
#[derive(Clone, Debug, Default)]
pub struct Measures {
    actors: Vec<Seen>,
    /// What messages call the swing joints.
    names: Vec<String>,
}

/// What was seen of one actor.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// The largest turn of each swing joint between two frames, degrees, and when.
    pub steps: Vec<(f32, f64)>,
    /// Looks at a joint with a limit, and how many found it at an end.
    pub limited: (u64, u64),
    /// The ring that changed its length most: |length/rest − 1|, layer and time.
    pub ring: Option<(f32, usize, f64)>,
    /// Deepest that a collider reached into a static one, metres.
    pub penetration: f32,
    /// The largest deflection of any joint, degrees.
    pub deflection: f32,
    /// The last time at which its animation or its place changed.
    changed: f64,
    /// The last time at which a particle was not at rest.
    moving: f64,
    /// The last time that was looked at.
    last: f64,
    before: Option<Frame>,
}

/// What a frame is compared with.
#[derive(Clone, Debug)]
struct Frame {
    animated: Vec<JointTransform>,
    placed: WorldFromActor,
    shown: Vec<Option<Quat>>,
}

impl Measures {
    /// For the actors of `stage`.
    pub fn new(stage: &Stage) -> Self {
        let seen = || Seen {
            steps: vec![(0.0, 0.0); stage.rig.swing.len()],
            ..Seen::default()
        };
        Self {
            actors: stage.actors.iter().map(|_| seen()).collect(),
            names: stage
                .rig
                .swing
                .iter()
                .map(|swing| stage.rig.describe(swing.joint))
                .collect(),
        }
    }

    /// What messages call a swing joint.
    pub fn name(&self, swing: usize) -> &str {
        &self.names[swing]
    }

    /// Looks at the frame that just ran.
    pub fn look(&mut self, stage: &Stage, time: f64) {
        for (actor, seen) in self.actors.iter_mut().enumerate() {
            let world = &stage.host.world;
            let entity = stage.actors[actor];
            let parts = world
                .get::<Seat>(entity)
                .zip(world.get::<SwingReadout>(entity))
                .zip(world.get::<WorldFromActor>(entity));
            let Some(((seat, readout), placed)) = parts else {
                continue;
            };
            let crowd = &world.resource::<Crowds>().0[seat.crowd];
            let squad = &crowd.squads[seat.squad];
            let slot = &squad.slots[seat.slot];
            let state = squad.actor(seat.slot);
            let reset = world
                .get::<ActorClock>(entity)
                .is_some_and(|clock| clock.substeps == 0);
            let parts = (slot, &state, readout);
            seen.look(&stage.rig, crowd, parts, *placed, time, reset);
        }
    }

    /// What was seen of the actors that `only` names; of all without.
    pub fn of(&self, only: Option<usize>) -> impl Iterator<Item = (usize, &Seen)> {
        let actors = self.actors.iter().enumerate();
        actors.filter(move |(actor, _)| only.is_none_or(|only| only == *actor))
    }

    /// The numbers of the run: the worst of all actors, and shares over all of them.
    pub fn rows(&self) -> Vec<Measure> {
        let worst = |of: fn(&Seen) -> Option<f64>| {
            let values = self.actors.iter().filter_map(of);
            values.reduce(f64::max)
        };
        let limited = self.actors.iter().fold((0, 0), |(looks, ends), seen| {
            (looks + seen.limited.0, ends + seen.limited.1)
        });
        let step = |seen: &Seen| {
            seen.steps
                .iter()
                .map(|&(step, _)| f64::from(step))
                .reduce(f64::max)
        };
        let rows = [
            (
                "largest deflection",
                worst(|s| Some(s.deflection.into())),
                "°",
            ),
            ("largest step", worst(step), "°"),
            (
                "time at a limit",
                share(limited).map(|share| share * 100.0),
                "%",
            ),
            (
                "deepest penetration",
                worst(|s| Some(f64::from(s.penetration) * 1e3)),
                "mm",
            ),
            (
                "ring length error",
                worst(|s| s.ring.map(|(off, ..)| f64::from(off) * 100.0)),
                "%",
            ),
            (
                "settle time",
                worst(|s| s.settled().map(|found| found.unwrap_or(f64::INFINITY))),
                "s",
            ),
        ];
        let present = rows
            .into_iter()
            .filter_map(|(name, value, unit)| value.map(|value| Measure { name, value, unit }));
        present.collect()
    }
}

/// A share of looks; `None` when nothing was looked at.
pub fn share((looks, found): (u64, u64)) -> Option<f64> {
    (looks > 0).then(|| found as f64 / looks as f64)
}

impl Seen {
    fn look(
        &mut self,
        rig: &Rig,
        crowd: &Crowd,
        (slot, state, readout): (&Slot, &ActorState, &SwingReadout),
        placed: WorldFromActor,
        time: f64,
        reset: bool,
    ) {
        let frame = Frame {
            animated: slot.shown.clone(),
            placed,
            shown: readout.0.iter().map(|r| r.map(|r| r.rotation)).collect(),
        };
        self.last = time;
        let moving = readout.0.iter().flatten();
        if moving.clone().any(|result| !is_slow(result)) {
            self.moving = time;
        }
        match self.before.take() {
            Some(before) if !reset => {
                if before.animated != frame.animated || before.placed != frame.placed {
                    self.changed = time;
                }
                self.look_at_steps(&before, &frame, time);
            }
            _ => self.changed = time,
        }
        for result in moving {
            self.deflection = self.deflection.max(result.deflection.to_degrees());
        }
        self.look_at_limits(rig, crowd, slot, readout);
        self.look_at_rings(crowd, state, time);
        for place in 0..crowd.plan.swings.len() {
            let parallel = slot.profile.parallel_epsilon;
            let depth = deepest_penetration(&crowd.plan, state, place, parallel);
            self.penetration = self.penetration.max(depth);
        }
        self.before = Some(frame);
    }

    fn look_at_steps(&mut self, before: &Frame, now: &Frame, time: f64) {
        let pairs = before.shown.iter().zip(&now.shown);
        for (largest, pair) in self.steps.iter_mut().zip(pairs) {
            if let (Some(a), Some(b)) = pair {
                let turned = rotation::angle_between((*a).into(), (*b).into()).to_degrees();
                // NaN must not pass for small.
                if turned.is_nan() || turned > largest.0 {
                    *largest = (turned, time);
                }
            }
        }
    }

    fn look_at_limits(&mut self, rig: &Rig, crowd: &Crowd, slot: &Slot, readout: &SwingReadout) {
        let deviation = |swing: usize| {
            let result = readout.0[swing]?;
            Some(deviation(rig, crowd, slot, swing, &result))
        };
        for (swing, of) in rig.swing.iter().enumerate() {
            let (Some(limit), Some(own)) = (of.limit, deviation(swing)) else {
                continue;
            };
            let centre = of.reference_limit.and_then(|reference| {
                let other = rig.swing.iter().position(|s| s.joint == reference.joint)?;
                Some(deviation(other)? * reference.weight)
            });
            let centre = centre.unwrap_or(Vec3::ZERO);
            let at_end = (0..3).any(|axis| {
                let (low, high) = (limit.low[axis], limit.high[axis]);
                let at = own[axis] - centre[axis];
                low != high && (at - low <= AT_END || high - at <= AT_END)
            });
            self.limited.0 += 1;
            self.limited.1 += u64::from(at_end);
        }
    }

    fn look_at_rings(&mut self, crowd: &Crowd, state: &ActorState, time: f64) {
        for layer in crowd.plan.layers.iter().filter(|layer| layer.is_ring()) {
            let at = |member: usize| {
                let own = state.particle(layer.members[member]);
                let shifted = Vec3x::<f32>::load(&own[particle::POSITION..]);
                Vec3::from(shifted + Vec3x::load(&own[particle::CORRECTION..]))
            };
            let side = |link: usize| {
                let [a, b] = layer.ends(link);
                at(a).distance(at(b))
            };
            let length: f32 = (0..layer.links).map(side).sum();
            let off = (length / layer.rest_length - 1.0).abs();
            if self
                .ring
                .is_none_or(|(worst, ..)| off.is_nan() || off > worst)
            {
                self.ring = Some((off, layer.source, time));
            }
        }
    }

    /// How long after its last change the actor came to rest: `None` when it never stood still long enough to tell,
    /// `Some(None)` when it still moves at the end.
    pub fn settled(&self) -> Option<Option<f64>> {
        if self.last - self.changed < LONG_ENOUGH {
            return None;
        }
        if self.moving >= self.last {
            return Some(None);
        }
        Some(Some((self.moving - self.changed).max(0.0)))
    }
}

/// Whether a particle is at rest; one whose velocity is not finite is not.
fn is_slow(result: &SwingResult) -> bool {
    result.velocity.length() <= AT_REST
}

/// How far a joint is from where its limits are centred: degrees, or millimetres for a slide joint.
fn deviation(rig: &Rig, crowd: &Crowd, slot: &Slot, swing: usize, result: &SwingResult) -> Vec3 {
    let of = &rig.swing[swing];
    let rest = rig.joints[of.joint].rest;
    if of.motion == Motion::Slide {
        let place = crowd.plan.place_of_swing[swing];
        let slide = place.and_then(|place| crowd.plan.swings[place].slide.as_ref());
        let scale = slide.map_or(Vec3::ONE, |slide| Vec3::from_array(slide.scale).abs());
        let shift = result.translation.unwrap_or(rest.translation) - rest.translation;
        return shift * scale * 1e3;
    }
    let from = match slot.profile.rest_pose {
        RestPose::Animated => slot.shown[of.joint].rotation,
        RestPose::Bind => rest.rotation,
    };
    let turned = Rotation::from(from).conjugate() * Rotation::from(result.rotation);
    Vec3::from_array(euler::to_euler_zxy(turned)) * (180.0 / core::f32::consts::PI)
}
