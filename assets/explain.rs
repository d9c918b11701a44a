//! Explaining: what moved one swing joint of a scene in one substep, term by term, in metres.
//!
//! The scene runs as [`super::run`] runs it, with an [`Explanation`] on the actor, up to the frame that has the substep.
//! The terms add up to the particle's displacement, to rounding.

use core::ops::RangeInclusive;

use bevy_math::Vec3;

use super::Error;
use super::run::{Stage, stage, swing_of};
use super::scene::Scene;
use super::text::{did_you_mean, quoted};
use crate::account::{Account, Explanation, Term};
use crate::bone::{Passive, SwingTree};
use crate::collider::Shape;
use crate::crowd::Crowds;
use crate::plan::Plan;
use crate::rig::Rig;
use crate::substep::ActorClock;
use crate::systems::preparation::Seat;

/// How early a substep may end and still be the one asked for, seconds: hides the rounding of times.
const SAME_TIME: f64 = 1e-5;

/// What to explain.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// A swing joint: its name, or `#17` for the file's node 17.
    pub joint: String,
    /// Seconds from the scene's start; the first substep that ends then or later is explained.
    pub time: f64,
    /// Which actor, numbered from 0 through all groups.
    pub actor: usize,
}

/// What moved the particle of a joint in a substep.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The joint by name and node.
    pub joint: String,
    /// Which substep.
    pub when: When,
    /// Where the particle was and is.
    pub account: Account,
    /// What moved it, in running order, named for people; metres.
    pub terms: Vec<(String, Vec3)>,
    /// What deserves a look.
    pub warnings: Vec<String>,
}

/// Which substep an account is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum When {
    /// The last of `count` that settle after a reset, while time stands still.
    Settling {
        /// How many there are.
        count: usize,
    },
    /// Of these, counted from 1 since the last reset; more than one only under
    /// [`crate::profile::JointOrder::JointMajor`].
    Substeps(RangeInclusive<u64>),
}

/// Runs `scene` up to the substep in question. `progress` hears of every frame.
///
/// # Errors
/// [`Error::Request`] for a joint that is not there or does not move, an actor that is not there, and a time outside the
/// scene; and those of [`stage`].
pub fn explain(
    scene: &Scene,
    question: &Question,
    progress: &dyn Fn(u64),
) -> Result<Answer, Error> {
    let refuse = |why: String| Error::Request(format!("{}: {why}", scene.file().display()));
    check(scene, question).map_err(refuse)?;
    let mut stage = stage(scene)?;
    let swing = moving_swing(&stage.rig, &question.joint).map_err(refuse)?;
    let entity = stage.actors[question.actor];
    let explanation = Explanation::of(swing);
    stage.host.world.entity_mut(entity).insert(explanation);
    let (mut before, mut last, mut counted) = (f64::NEG_INFINITY, None, 0);
    for frame in 0..=scene.frames() {
        let time = frame as f64 / scene.rules().rate_hz;
        stage.move_actors(scene, before, time);
        before = time;
        // Times never decrease and are finite, so the clock cannot refuse them.
        let ran = stage.host.run_to(time);
        debug_assert!(ran.is_ok(), "frames come in order");
        progress(1);
        let world = &stage.host.world;
        let found = world
            .get::<Explanation>(entity)
            .zip(world.get::<ActorClock>(entity));
        let Some((explanation, clock)) = found else {
            continue;
        };
        if let Some((when, account)) = pick(&explanation.substeps, clock, counted, question.time) {
            return Ok(answer(&stage, question.actor, swing, when, account));
        }
        counted = clock.substeps;
        last = explanation
            .substeps
            .last()
            .map(|account| account.time)
            .or(last);
    }
    let ends = last.map_or("has no substep".to_owned(), |last| {
        format!("has its last substep at {last:.6} s")
    });
    Err(refuse(format!(
        "time: found {}, but the scene {ends}",
        question.time
    )))
}

/// What is wrong with a question before anything runs.
fn check(scene: &Scene, question: &Question) -> Result<(), String> {
    let (actors, seconds) = (scene.actor_count(), scene.rules().seconds);
    if question.actor >= actors {
        let found = question.actor;
        return Err(format!(
            "actor: found {found}, expected a number below {actors}, that of the actors"
        ));
    }
    if !(0.0..=seconds + SAME_TIME).contains(&question.time) {
        let found = question.time;
        return Err(format!(
            "time: found {found}, expected 0 to {seconds}, the scene's length"
        ));
    }
    Ok(())
}

/// Index in the rig's swing joints of the joint that `name` means, if it moves.
fn moving_swing(rig: &Rig, name: &str) -> Result<usize, String> {
    let swing = swing_of(rig, name).map_err(|why| format!("joint: {why}{}", advice(rig, name)))?;
    let tree = SwingTree::new(rig);
    let part = &rig.swing[swing];
    let still = match tree.bone(part) {
        _ if !part.active => "is switched off with `active: false`",
        Ok(_) => return Ok(swing),
        Err(Passive::NoTip) => "has no child and no tail: it does not swing",
        Err(Passive::NoLength) => "has a bone of no length: it does not swing",
        Err(Passive::NoRoom) => "hangs on a joint that is scaled to nothing: it does not slide",
    };
    let joint = rig.describe(part.joint);
    Err(format!(
        "joint: {joint} {still}; it follows its parent, and nothing moves it that could be explained"
    ))
}

/// Why a name means no swing joint, and what may have been meant.
fn advice(rig: &Rig, name: &str) -> String {
    if rig.joints.iter().any(|joint| joint.name == name) {
        return format!(
            "; {} is a joint of the model that no chain picks",
            quoted(name)
        );
    }
    let names = rig.swing.iter();
    let names = names.map(|swing| rig.joints[swing.joint].name.as_str());
    let help = did_you_mean(name, names.filter(|name| !name.is_empty()));
    help.map_or_else(String::new, |help| format!("; {help}"))
}

/// The first account of a frame that ends at `time` or later; of those that settle, which all end at once, the last.
/// `counted`: the clock's substeps before the frame.
fn pick<'a>(
    accounts: &'a [Account],
    clock: &ActorClock,
    counted: u64,
    time: f64,
) -> Option<(When, &'a Account)> {
    let due = |account: &Account| account.time >= time - SAME_TIME;
    // A frame without substeps after the reset is none that settles; settling ends when the reset was.
    let settled = |account: &Account| clock.substeps == 0 && clock.started == Some(account.time);
    if let Some(last) = accounts.last().filter(|account| settled(account)) {
        let count = accounts.len();
        return due(last).then_some((When::Settling { count }, last));
    }
    let index = accounts.iter().position(due)?;
    let numbers = if accounts.len() == 1 {
        // It may be of all substeps of the frame, which only the clock counts.
        counted + 1..=clock.substeps
    } else {
        let number = counted + 1 + index as u64;
        number..=number
    };
    Some((When::Substeps(numbers), &accounts[index]))
}

fn answer(stage: &Stage, actor: usize, swing: usize, when: When, account: &Account) -> Answer {
    let rig = &stage.rig;
    let world = &stage.host.world;
    let seat = world.get::<Seat>(stage.actors[actor]);
    let plan = seat.map(|seat| &*world.resource::<Crowds>().0[seat.crowd].plan);
    let terms = account.terms.iter();
    let terms = terms.map(|&(term, moved)| (name(rig, plan, term), moved));
    Answer {
        joint: rig.describe(rig.swing[swing].joint),
        when,
        terms: terms.collect(),
        account: account.clone(),
        warnings: stage.warnings.clone(),
    }
}

/// A term for people: colliders by their joint and shape, links by the joints they join.
fn name(rig: &Rig, plan: Option<&Plan>, term: Term) -> String {
    match term {
        Term::Hit(index) => format!("hit by {}", collider(rig, index)),
        Term::Link(layer, link, index) => {
            let ends = plan.and_then(|plan| ends(rig, plan, layer, link));
            let link = ends.unwrap_or_else(|| format!("link {link}"));
            format!("{link} of layer {layer} hit by {}", collider(rig, index))
        }
        other => other.to_string(),
    }
}

/// `collider 2 (capsule on "leg_l")`.
fn collider(rig: &Rig, index: usize) -> String {
    let Some(found) = rig.colliders.get(index) else {
        return format!("collider {index}");
    };
    let shape = match found.collider.shape {
        Shape::Sphere { .. } => "sphere",
        Shape::Capsule { .. } => "capsule",
        Shape::Line { .. } => "line",
        Shape::Plane { .. } => "plane",
    };
    let place = found.joint.map_or_else(
        || "that stands still".to_owned(),
        |joint| format!("on {}", short(rig, joint)),
    );
    format!("collider {index} ({shape} {place})")
}

/// `link "skirt_03"–"skirt_04"`: the joints at its ends.
fn ends(rig: &Rig, plan: &Plan, layer: usize, link: usize) -> Option<String> {
    let layer = plan.layers.iter().find(|found| found.source == layer)?;
    let joint = |member: usize| {
        let swing = &plan.swings[*layer.members.get(member)?];
        Some(short(rig, swing.tip.unwrap_or(swing.joint)))
    };
    let [a, b] = layer.ends(link);
    Some(format!("link {}–{}", joint(a)?, joint(b)?))
}

/// A joint by its name, which a column has room for.
fn short(rig: &Rig, joint: usize) -> String {
    let found = &rig.joints[joint];
    if found.name.is_empty() {
        format!("node {}", found.source)
    } else {
        quoted(&found.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(time: f64) -> Account {
        Account {
            time,
            ..Account::default()
        }
    }

    fn clock(substeps: u64) -> ActorClock {
        ActorClock {
            started: Some(1.0),
            substeps,
            ..ActorClock::default()
        }
    }

    fn picked(
        accounts: &[Account],
        clock: &ActorClock,
        counted: u64,
        time: f64,
    ) -> Option<(When, f64)> {
        let found = pick(accounts, clock, counted, time);
        found.map(|(when, account)| (when, account.time))
    }

    #[test]
    fn the_first_substep_that_ends_then_or_later_is_picked() {
        let accounts = [account(1.1), account(1.2), account(1.3)];
        let at = |time| picked(&accounts, &clock(5), 2, time);
        assert_eq!(at(1.2), Some((When::Substeps(4..=4), 1.2)));
        assert_eq!(at(1.200_009), Some((When::Substeps(4..=4), 1.2)));
        assert_eq!(at(1.200_011), Some((When::Substeps(5..=5), 1.3)));
        assert_eq!(at(1.4), None);
    }

    #[test]
    fn s10_of_substeps_that_settle_the_last_is_picked() {
        let accounts = [account(1.0), account(1.0)];
        let settling = Some((When::Settling { count: 2 }, 1.0));
        assert_eq!(picked(&accounts, &clock(0), 40, 1.0), settling);
        assert_eq!(picked(&accounts, &clock(0), 40, 1.1), None);
        assert_eq!(picked(&[], &clock(0), 0, 1.0), None);
    }

    #[test]
    fn an_account_of_a_whole_frame_names_all_its_substeps() {
        let found = picked(&[account(2.0)], &clock(8), 6, 2.0);
        assert_eq!(found, Some((When::Substeps(7..=8), 2.0)));
    }
}
