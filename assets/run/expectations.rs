//! Expectations: watches every frame of a scene and says in the end what held.

use std::path::Path;

use bevy_math::Vec3;

use super::{Stage, Verdict, point};
use crate::assets::Error;
use crate::assets::scene::{Expectation, Scene};
use crate::assets::state_hash::StateHash;
use crate::crowd::{Crowds, particle};
use crate::lane::Vec3x;
use crate::rig::Rig;
use crate::systems::collision::deepest_penetration;
use crate::systems::preparation::Seat;

/// All expectations of a scene, with what was seen so far.
pub struct Judge<'s> {
    watched: Vec<Watched<'s>>,
}

/// One expectation.
struct Watched<'s> {
    expectation: &'s Expectation,
    /// Index in the rig's swing joints of the joint it names.
    swing: Option<usize>,
    /// Frame to look at; `None`: every one.
    frame: Option<u64>,
    /// The worst that was seen, in the expectation's own measure, and where.
    worst: Option<(f32, String)>,
}

impl<'s> Judge<'s> {
    /// Resolves the joints that the expectations of `scene` name.
    ///
    /// # Errors
    /// [`Error::Faults`] with every joint that is no swing joint of `rig`.
    pub fn new(scene: &'s Scene, rig: &Rig) -> Result<Self, Error> {
        let mut faults = Vec::new();
        let mut watched = Vec::new();
        for (index, expectation) in scene.rules().expectations.iter().enumerate() {
            let (joint, frame) = match expectation {
                Expectation::TipAt { joint, time, .. } => {
                    let frame = (time * scene.rules().rate_hz).round() as u64;
                    (Some(joint), Some(frame.min(scene.frames())))
                }
                Expectation::LargestDeflection { joint, .. } => (Some(joint), None),
                Expectation::StateHash { .. } => (None, Some(u64::MAX)),
                Expectation::LengthsKept { .. } | Expectation::NoPenetration { .. } => (None, None),
            };
            let found = joint.map(|joint| swing_of(rig, joint));
            if let Some(Err(why)) = &found {
                faults.push(format!("expectations[{index}].joint: {why}"));
            }
            watched.push(Watched {
                expectation,
                swing: found.and_then(Result::ok),
                frame,
                worst: None,
            });
        }
        refuse(scene.file(), faults)?;
        Ok(Self { watched })
    }

    /// Looks at the frame that just ran.
    pub fn look(&mut self, stage: &Stage, frame: u64, time: f64) {
        for watched in &mut self.watched {
            if watched.frame.is_some_and(|wanted| wanted != frame) {
                continue;
            }
            let only = watched.expectation.actor();
            for actor in (0..stage.actors.len()).filter(|&actor| only.is_none_or(|o| o == actor)) {
                if let Some((value, what)) = watched.see(stage, actor) {
                    watched.keep(value, || format!("{what}, actor {actor} at {time:.4} s"));
                }
            }
        }
    }

    /// What held, in the scene's order; `state` is the hash of the end.
    pub fn verdicts(&self, state: StateHash) -> Vec<Verdict> {
        self.watched
            .iter()
            .map(|watched| watched.verdict(state))
            .collect()
    }
}

impl Watched<'_> {
    /// The frame in the expectation's own measure.
    fn see(&self, stage: &Stage, actor: usize) -> Seen {
        match self.expectation {
            Expectation::TipAt { position, .. } => off_place(stage, actor, self.swing?, position),
            Expectation::LargestDeflection { .. } => deflection(stage, actor, self.swing?),
            Expectation::LengthsKept { .. } => length_error(stage, actor),
            Expectation::NoPenetration { .. } => penetration(stage, actor),
            Expectation::StateHash { .. } => None,
        }
    }

    /// Keeps the larger value; NaN is larger than all, so that it cannot pass for small.
    fn keep(&mut self, value: f32, place: impl FnOnce() -> String) {
        let worst = self.worst.as_ref().map(|(worst, _)| *worst);
        if worst.is_none_or(|worst| value.is_nan() || value > worst) {
            self.worst = Some((value, place()));
        }
    }

    fn verdict(&self, state: StateHash) -> Verdict {
        let expected = self.expected();
        if let Expectation::StateHash { hash } = self.expectation {
            return Verdict {
                holds: state.to_hex().starts_with(hash.as_str()),
                message: format!("{expected}: found {state}"),
            };
        }
        // What was never looked at is not known to hold.
        let Some((value, place)) = &self.worst else {
            let why = match self.swing {
                Some(_) => "the joint does not move",
                None => "nothing swings on this rig",
            };
            return Verdict {
                holds: false,
                message: format!("{expected}: {why}"),
            };
        };
        let (holds, found) = match self.expectation {
            Expectation::StateHash { .. } => (false, String::new()),
            Expectation::TipAt { within, .. } => (value <= within, format!("off by {value:.6} m")),
            Expectation::LengthsKept { within, .. } => {
                (value <= within, format!("off by {value:.1e}"))
            }
            Expectation::NoPenetration { deeper_than, .. } => {
                (value <= deeper_than, format!("{value:.6} m"))
            }
            Expectation::LargestDeflection { .. } => {
                let (low, high) = self.deflections();
                ((low..=high).contains(value), format!("{value:.2}°"))
            }
        };
        Verdict {
            holds,
            message: format!("{expected}: {found} ({place})"),
        }
    }

    /// The expectation for people.
    fn expected(&self) -> String {
        match self.expectation {
            Expectation::StateHash { hash } => format!("state hash {hash}"),
            Expectation::TipAt {
                joint,
                position,
                within,
                time,
                ..
            } => {
                let position = point(Vec3::from_array(*position));
                format!("tip of \"{joint}\" within {within} m of {position} at {time} s")
            }
            Expectation::LengthsKept { within, .. } => format!("lengths kept within {within:e}"),
            Expectation::NoPenetration { deeper_than, .. } => {
                format!("nothing deeper than {deeper_than} m")
            }
            Expectation::LargestDeflection { joint, .. } => {
                let (low, high) = self.deflections();
                format!("largest deflection of \"{joint}\" from {low}° to {high}°")
            }
        }
    }

    /// Both ends of the range of a largest deflection, degrees.
    fn deflections(&self) -> (f32, f32) {
        match self.expectation {
            Expectation::LargestDeflection {
                at_least_deg,
                at_most_deg,
                ..
            } => (at_least_deg.unwrap_or(0.0), at_most_deg.unwrap_or(180.0)),
            _ => (0.0, 180.0),
        }
    }
}

/// Refuses with all faults, if there are any.
pub fn refuse(file: &Path, faults: Vec<String>) -> Result<(), Error> {
    if faults.is_empty() {
        return Ok(());
    }
    let file = file.to_path_buf();
    Err(Error::Faults { file, faults })
}

/// Index in the rig's swing joints of the joint that `name` means.
pub fn swing_of(rig: &Rig, name: &str) -> Result<usize, String> {
    let by_node = name
        .strip_prefix('#')
        .and_then(|node| node.parse::<usize>().ok());
    let named = |swing: usize| rig.joints[rig.swing[swing].joint].name == name;
    let source = |swing: usize| Some(rig.joints[rig.swing[swing].joint].source) == by_node;
    let all = 0..rig.swing.len();
    let exact: Vec<usize> = all.clone().filter(|&swing| named(swing)).collect();
    match exact.as_slice() {
        [one] => Ok(*one),
        [] => {
            let known = || rig.swing.iter().map(|swing| rig.describe(swing.joint));
            let list = || known().take(8).collect::<Vec<_>>().join(", ");
            all.clone()
                .find(|&swing| source(swing))
                .ok_or_else(|| format!("found \"{name}\", expected a swing joint: {}", list()))
        }
        several => {
            let list = several
                .iter()
                .map(|&swing| rig.describe(rig.swing[swing].joint));
            let list = list.collect::<Vec<_>>().join(", ");
            Err(format!(
                "found \"{name}\", which means {list}; write \"#node\""
            ))
        }
    }
}

type Seen = Option<(f32, String)>;

fn off_place(stage: &Stage, actor: usize, swing: usize, position: &[f32; 3]) -> Seen {
    let result = stage.readout(actor)?.0[swing]?;
    let off = (result.particle - Vec3::from_array(*position)).length();
    Some((off, format!("found {}", point(result.particle))))
}

fn deflection(stage: &Stage, actor: usize, swing: usize) -> Seen {
    let result = stage.readout(actor)?.0[swing]?;
    Some((result.deflection.to_degrees(), "largest".to_owned()))
}

/// The largest relative change of a bone's length after the frame's last substep.
fn length_error(stage: &Stage, actor: usize) -> Seen {
    worst_joint(stage, actor, |plan, group, place| {
        let own = &group.particles[place * particle::COMPONENTS..];
        let tip = Vec3x::<f32>::load(&own[particle::POSITION..])
            + Vec3x::load(&own[particle::CORRECTION..]);
        let bone = tip - Vec3x::load(&own[particle::ORIGIN..]);
        (bone.length_squared().sqrt() / plan.swings[place].length - 1.0).abs()
    })
}

fn penetration(stage: &Stage, actor: usize) -> Seen {
    worst_joint(stage, actor, deepest_penetration)
}

/// The largest value of a measure over an actor's moving joints, with the joint.
fn worst_joint(
    stage: &Stage,
    actor: usize,
    measure: impl Fn(&crate::plan::Plan, &crate::crowd::Group, usize) -> f32,
) -> Seen {
    let seat = stage.host.world.get::<Seat>(stage.actors[actor])?;
    let crowd = &stage.host.world.resource::<Crowds>().0[seat.crowd];
    let group = &crowd.slots[seat.slot].group;
    let values =
        (0..crowd.plan.swings.len()).map(|place| (measure(&crowd.plan, group, place), place));
    // NaN counts as the worst.
    let worst = values.max_by(|a, b| {
        let key = |value: f32| if value.is_nan() { f32::INFINITY } else { value };
        key(a.0).total_cmp(&key(b.0))
    });
    let (value, place) = worst?;
    Some((value, stage.rig.describe(crowd.plan.swings[place].joint)))
}
