//! Feet in a run: holds them as the scene says and judges how well they stay. `[Q4]`

use bevy_ecs::world::World;

use super::{Stage, Verdict, point};
use crate::assets::scene::SceneActor;
use crate::crowd::Crowds;
use crate::euler;
use crate::foot::{FootAnchors, FootFailure, FootMeasure, FootReadout, FootRecord, FootState};
use crate::leg::Refusal;
use crate::pose::LocalPose;
use crate::rig::Rig;
use crate::systems::footing::look_at_feet;
use crate::systems::motion::WorldFromActor;
use crate::systems::preparation::Seat;

/// The legs of `rig` that the feet of `actor` name.
pub fn legs_of(actor: &SceneActor, rig: &Rig) -> Result<Vec<usize>, String> {
    let leg = |(index, name): (usize, &str)| {
        rig.legs().position(|leg| leg.name == name).ok_or_else(|| {
            let known: Vec<String> = rig.legs().map(|leg| format!("\"{}\"", leg.name)).collect();
            let known = if known.is_empty() {
                "the rig has no `legs`".to_owned()
            } else {
                format!("expected a leg of the rig: {}", known.join(", "))
            };
            let group = actor.group;
            format!("actors[{group}].feet[{index}].leg: found \"{name}\"; {known}")
        })
    };
    let names = actor.feet.iter().map(|foot| foot.leg.as_str());
    names.enumerate().map(leg).collect()
}

/// The anchors of an actor at `time`; `legs` are those of its feet.
pub fn anchors_at(actor: &SceneActor, legs: &[usize], time: f32) -> FootAnchors {
    let count = legs.iter().map(|leg| leg + 1).max().unwrap_or(0);
    let mut anchors = vec![None; count];
    for (foot, &leg) in actor.feet.iter().zip(legs) {
        anchors[leg] = foot.anchor(actor.offset, time);
    }
    FootAnchors(anchors)
}

/// Watches the feet of a scene's actors for one expectation.
pub struct FeetWatch {
    /// One per actor.
    records: Vec<FootRecord>,
    /// The first failure of any, for people.
    failed: Option<String>,
}

impl FeetWatch {
    /// For `actors` actors, with the expectation's limits: metres, and degrees per frame.
    pub fn new(actors: usize, within: f32, at_most_deg: f32) -> Self {
        let record = FootRecord::new(within, at_most_deg.to_radians());
        Self {
            records: vec![record; actors],
            failed: None,
        }
    }

    /// Looks at one actor in the frame that just ran.
    pub fn look(&mut self, stage: &Stage, actor: usize, frame: u64, time: f64) {
        let record = &mut self.records[actor];
        if look_at(&stage.host.world, stage, actor, record, time).is_none() {
            return;
        }
        if let (Some(failure), None) = (record.failure, &self.failed) {
            self.failed = Some(told(&stage.rig, &failure, actor, frame));
        }
    }

    /// Whether the feet stayed; `expected` is the expectation for people.
    pub fn verdict(&self, expected: &str) -> Verdict {
        let looks: u64 = self.records.iter().map(|record| record.looks).sum();
        let found = match &self.failed {
            Some(failed) => failed.clone(),
            // What was never looked at is not known to hold.
            None if looks == 0 => "no foot is held".to_owned(),
            None => {
                let worst =
                    |of: fn(&FootRecord) -> f32| self.records.iter().map(of).fold(0.0, f32::max);
                let (off, turn) = (worst(|r| r.worst_residual), worst(|r| r.worst_turn));
                format!(
                    "off by {off:.1e} m, turned {:.2}° at most",
                    turn.to_degrees()
                )
            }
        };
        Verdict {
            holds: self.failed.is_none() && looks > 0,
            message: format!("{expected}: {found}"),
        }
    }
}

fn look_at(
    world: &World,
    stage: &Stage,
    actor: usize,
    record: &mut FootRecord,
    time: f64,
) -> Option<()> {
    let entity = stage.actors[actor];
    let plan = &world.resource::<Crowds>().0[world.get::<Seat>(entity)?.crowd].plan;
    let pose = world.get::<LocalPose>(entity)?;
    let placed = world.get::<WorldFromActor>(entity)?;
    let feet = world.get::<FootReadout>(entity)?;
    look_at_feet(record, plan, pose, placed, feet, time);
    Some(())
}

/// A failure for people.
fn told(rig: &Rig, failure: &FootFailure, actor: usize, frame: u64) -> String {
    let FootFailure {
        time,
        leg,
        joint,
        value,
        limit,
        ..
    } = *failure;
    let name = rig.legs().nth(leg).map_or("", |leg| &leg.name);
    let joint = rig.describe(joint);
    let found = match failure.measure {
        FootMeasure::Residual => {
            let why = because(failure.state);
            format!("the sole of {joint} is {value:.6} m off its anchor{why}, more than {limit} m")
        }
        FootMeasure::Turn => {
            let (value, limit) = (value.to_degrees(), limit.to_degrees());
            format!("{joint} turned {value:.2}°, more than {limit:.2}°")
        }
    };
    let body = point(failure.body.translation);
    let turned = euler::to_euler_zxy(failure.body.rotation.into());
    let [x, y, z] = turned.map(f32::to_degrees);
    format!(
        "leg \"{name}\": {found} (first at {time:.4} s, frame {frame}, actor {actor}, body at {body} turned ({x:.1}, {y:.1}, {z:.1})°)"
    )
}

/// Why a sole is not where it should be.
fn because(state: FootState) -> &'static str {
    match state {
        FootState::Idle | FootState::Reached => "",
        FootState::TooFar => ", out of reach",
        FootState::TooNear => ", too near to be reached",
        FootState::Refused(Refusal::NotFinite) => ", which is not finite",
        FootState::Refused(Refusal::NoBone) => ": the leg has a bone without length",
        FootState::Refused(Refusal::OnHip) => ", which would have the ankle in the hip",
    }
}
