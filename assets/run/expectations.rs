//! Expectations: watches every frame of a scene and says in the end what held.

use std::path::Path;

use bevy_math::Vec3;

use super::feet::FeetWatch;
use super::measures::{self, Measures, share};
use super::{Stage, Verdict, point};
use crate::assets::Error;
use crate::assets::layers::LayerRule;
use crate::assets::rig_file::names::Names;
use crate::assets::scene::{Expectation, Scene};
use crate::assets::state_hash::StateHash;
use crate::crowd::{Crowds, particle};
use crate::lane::Vec3x;
use crate::layer::LayerReadout;
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
    /// Index in the rig's joints of the joint that a layer is to turn.
    turned: Option<usize>,
    /// Frame to look at; `None`: every one.
    frame: Option<u64>,
    /// The worst that was seen, in the expectation's own measure, and where.
    worst: Option<(f32, String)>,
    /// Of an expectation about feet.
    feet: Option<FeetWatch>,
}

impl<'s> Judge<'s> {
    /// Resolves the joints that the expectations of `scene` name.
    ///
    /// # Errors
    /// [`Error::Faults`] with every joint that is no swing joint of `rig`, and every layer that no actor has.
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
                Expectation::LargestStep { joint, .. } => (joint.as_ref(), Some(u64::MAX)),
                // Judged at the end, by what was measured.
                Expectation::StateHash { .. }
                | Expectation::AtLimit { .. }
                | Expectation::RingLength { .. }
                | Expectation::Settles { .. } => (None, Some(u64::MAX)),
                Expectation::LengthsKept { .. }
                | Expectation::NoPenetration { .. }
                | Expectation::LayerTurns { .. }
                | Expectation::FeetPlanted { .. } => (None, None),
            };
            let found = joint.map(|joint| swing_of(rig, joint));
            if let Some(Err(why)) = &found {
                faults.push(format!("expectations[{index}].joint: {why}"));
            }
            let turned = turned_joint(scene, rig, expectation).unwrap_or_else(|why| {
                faults.push(format!("expectations[{index}].{why}"));
                None
            });
            let feet = match *expectation {
                Expectation::FeetPlanted {
                    within,
                    at_most_deg,
                    ..
                } => Some(FeetWatch::new(scene.actor_count(), within, at_most_deg)),
                _ => None,
            };
            watched.push(Watched {
                expectation,
                swing: found.and_then(Result::ok),
                turned,
                frame,
                worst: None,
                feet,
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
                if let Some(feet) = &mut watched.feet {
                    feet.look(stage, actor, frame, time);
                } else if let Some((value, what)) = watched.see(stage, actor) {
                    watched.keep(value, || format!("{what}, actor {actor} at {time:.4} s"));
                }
            }
        }
    }

    /// What held, in the scene's order; `state` is the hash of the end, `measures` what was seen on the way.
    pub fn verdicts(&self, state: StateHash, measures: &Measures) -> Vec<Verdict> {
        let verdict = |watched: &Watched<'_>| {
            let measured = watched.measured(measures);
            measured.unwrap_or_else(|| watched.verdict(state))
        };
        self.watched.iter().map(verdict).collect()
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
            Expectation::LayerTurns { layer, .. } => layer_turns(stage, actor, layer, self.turned?),
            _ => None,
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
        if let Some(feet) = &self.feet {
            return feet.verdict(&expected);
        }
        // What was never looked at is not known to hold.
        let Some((value, place)) = &self.worst else {
            return Verdict {
                holds: false,
                message: format!("{expected}: {}", self.never_seen()),
            };
        };
        let (holds, found) = match self.expectation {
            Expectation::TipAt { within, .. } => (value <= within, format!("off by {value:.6} m")),
            Expectation::LengthsKept { within, .. } => {
                (value <= within, format!("off by {value:.1e}"))
            }
            Expectation::NoPenetration { deeper_than, .. } => {
                (value <= deeper_than, format!("{value:.6} m"))
            }
            Expectation::LargestDeflection { .. } | Expectation::LayerTurns { .. } => {
                let (low, high) = self.deflections();
                ((low..=high).contains(value), format!("{value:.2}°"))
            }
            // The hash is judged above, the others by what was measured.
            _ => (false, String::new()),
        };
        Verdict {
            holds,
            message: format!("{expected}: {found} ({place})"),
        }
    }

    /// The verdict on an expectation that is judged by what was measured; `None` for the others.
    fn measured(&self, measures: &Measures) -> Option<Verdict> {
        let of = || measures.of(self.expectation.actor());
        let found: Vec<(bool, String)> = match self.expectation {
            Expectation::LargestStep { at_most_deg, .. } => of()
                .filter_map(|(actor, seen)| Some((largest_step(seen, self.swing)?, actor)))
                .map(|((swing, step, time), actor)| {
                    let place = format!("{}, actor {actor} at {time:.4} s", measures.name(swing));
                    (step <= *at_most_deg, format!("{step:.2}° ({place})"))
                })
                .collect(),
            Expectation::AtLimit { at_most, .. } => of()
                .filter_map(|(actor, seen)| Some((share(seen.limited)?, actor)))
                .map(|(share, actor)| {
                    let found = format!("{:.1} % (actor {actor})", share * 100.0);
                    (share <= f64::from(*at_most), found)
                })
                .collect(),
            Expectation::RingLength { within, .. } => of()
                .filter_map(|(actor, seen)| Some((seen.ring?, actor)))
                .map(|((off, layer, time), actor)| {
                    let found = format!("off by {:.2} %", off * 100.0);
                    let place = format!("layers[{layer}], actor {actor} at {time:.4} s");
                    (off <= *within, format!("{found} ({place})"))
                })
                .collect(),
            Expectation::Settles { within_seconds, .. } => of()
                .filter_map(|(actor, seen)| Some((seen.settled()?, actor)))
                .map(|(after, actor)| match after {
                    Some(after) => {
                        let holds = after <= f64::from(*within_seconds);
                        (holds, format!("after {after:.3} s (actor {actor})"))
                    }
                    None => (false, format!("still moving at the end (actor {actor})")),
                })
                .collect(),
            _ => return None,
        };
        let expected = self.expected();
        // What was never looked at is not known to hold; of several actors the first that fails tells.
        let told = found.iter().find(|(holds, _)| !holds).or(found.first());
        Some(match told {
            Some((holds, found)) => Verdict {
                holds: *holds,
                message: format!("{expected}: {found}"),
            },
            None => Verdict {
                holds: false,
                message: format!("{expected}: {}", self.never_seen()),
            },
        })
    }

    /// Why an expectation was never looked at.
    fn never_seen(&self) -> &'static str {
        match self.expectation {
            Expectation::AtLimit { .. } => "no joint that moves has a limit",
            Expectation::RingLength { .. } => "the rig has no ring",
            Expectation::Settles { .. } => "the animation never stops before the end",
            Expectation::LayerTurns { .. } => "no such actor has the layer",
            _ if self.swing.is_some() => "the joint does not move",
            _ => "nothing swings on this rig",
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
            Expectation::LayerTurns { layer, joint, .. } => {
                let (low, high) = self.deflections();
                format!("largest turn of \"{joint}\" by layer \"{layer}\" from {low}° to {high}°")
            }
            Expectation::LargestStep {
                joint, at_most_deg, ..
            } => {
                let joint = joint
                    .as_ref()
                    .map_or(String::new(), |j| format!(" of \"{j}\""));
                format!("largest step{joint} at most {at_most_deg}°")
            }
            Expectation::AtLimit { at_most, .. } => {
                format!("at a limit at most {:.1} % of the time", at_most * 100.0)
            }
            Expectation::RingLength { within, .. } => {
                format!("rings keep their length within {:.1} %", within * 100.0)
            }
            Expectation::Settles { within_seconds, .. } => {
                format!("settles within {within_seconds} s")
            }
            Expectation::FeetPlanted {
                within,
                at_most_deg,
                ..
            } => {
                format!("feet planted within {within} m, turning at most {at_most_deg}° per frame")
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
            }
            | Expectation::LayerTurns {
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

/// The joint that a layer is to turn, if the expectation is about one.
fn turned_joint(scene: &Scene, rig: &Rig, of: &Expectation) -> Result<Option<usize>, String> {
    let Expectation::LayerTurns { layer, joint, .. } = of else {
        return Ok(None);
    };
    let groups = || scene.rules().actors.iter().flat_map(|actor| &actor.layers);
    if groups().all(|rule| rule.called() != layer) {
        let mut known: Vec<&str> = groups().map(LayerRule::called).collect();
        known.dedup();
        let known = if known.is_empty() {
            "but no actor has layers".to_owned()
        } else {
            format!("expected a layer of an actor: {}", known.join(", "))
        };
        return Err(format!("layer: found \"{layer}\", {known}"));
    }
    let names = Names::new(rig);
    let found = names.find(joint);
    found.map(Some).map_err(|missing| {
        let (fault, help) = names.explain(joint, &missing);
        let help = help.map_or_else(String::new, |help| format!("; {help}"));
        format!("joint: {fault}{help}")
    })
}

/// How far a layer turns a joint in the pose that is shown.
fn layer_turns(stage: &Stage, actor: usize, layer: &str, joint: usize) -> Seen {
    let readout = stage.host.world.get::<LayerReadout>(stage.actors[actor])?;
    let layer = readout.0.iter().find(|of| of.name == layer)?;
    let moved = layer.joints.iter().find(|of| of.joint == joint);
    Some((
        moved.map_or(0.0, |of| of.turned.to_degrees()),
        "largest".to_owned(),
    ))
}

type Seen = Option<(f32, String)>;

/// The largest step of the swing joints of one actor, or of one of them: which, degrees, when.
fn largest_step(seen: &measures::Seen, only: Option<usize>) -> Option<(usize, f32, f64)> {
    let steps = seen.steps.iter().enumerate();
    let steps = steps.filter(|(swing, _)| only.is_none_or(|only| only == *swing));
    let worst = steps.max_by(|a, b| badness(a.1.0).total_cmp(&badness(b.1.0)));
    worst.map(|(swing, &(step, time))| (swing, step, time))
}

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
    worst_joint(stage, actor, |plan, state, place| {
        if plan.swings[place].slide.is_some() {
            // It has no bone that could change its length.
            return 0.0;
        }
        let own = state.particle(place);
        let tip = Vec3x::<f32>::load(&own[particle::POSITION..])
            + Vec3x::load(&own[particle::CORRECTION..]);
        let bone = tip - Vec3x::load(&own[particle::ORIGIN..]);
        (bone.length_squared().sqrt() / plan.swings[place].length - 1.0).abs()
    })
}

fn penetration(stage: &Stage, actor: usize) -> Seen {
    let seat = stage.host.world.get::<Seat>(stage.actors[actor])?;
    let crowd = &stage.host.world.resource::<Crowds>().0[seat.crowd];
    let parallel = crowd.squads[seat.squad].slots[seat.slot]
        .profile
        .parallel_epsilon;
    worst_joint(stage, actor, |plan, state, place| {
        deepest_penetration(plan, state, place, parallel)
    })
}

/// What a measure is compared by: NaN counts as the worst.
fn badness(value: f32) -> f32 {
    if value.is_nan() { f32::INFINITY } else { value }
}

/// The largest value of a measure over an actor's moving joints, with the joint.
fn worst_joint(
    stage: &Stage,
    actor: usize,
    measure: impl Fn(&crate::plan::Plan, &crate::crowd::ActorState, usize) -> f32,
) -> Seen {
    let seat = stage.host.world.get::<Seat>(stage.actors[actor])?;
    let crowd = &stage.host.world.resource::<Crowds>().0[seat.crowd];
    let state = crowd.squads[seat.squad].actor(seat.slot);
    let values =
        (0..crowd.plan.swings.len()).map(|place| (measure(&crowd.plan, &state, place), place));
    let worst = values.max_by(|a, b| badness(a.0).total_cmp(&badness(b.0)));
    let (value, place) = worst?;
    Some((value, stage.rig.describe(crowd.plan.swings[place].joint)))
}
