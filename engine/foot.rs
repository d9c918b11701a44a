//! Feet: what an actor's soles stand on, and how well they stay there. `[Q4]`
//!
//! Components of an actor; one entry per leg, in the order of the rig's legs ([`crate::rig::Rig::legs`]).
//! [`crate::systems::footing`] reads the anchors and writes readout and record.

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
use bevy_math::Vec3;
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::leg::{Reach, Refusal};
use crate::pose::{JointTransform, ModelTransform, Rigid};
use crate::rotation::Rotation;

/// Where a sole is held.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct FootAnchor {
    /// World space, metres. `None`: where the sole is in the first frame of the plant, before it is held.
    pub at: Option<Vec3>,
    /// How much it holds, 0 to 1: *0 leaves the animation, 1 meets the anchor*.
    pub weight: f32,
    /// Which plant this is. Another number than in the last frame lets an anchor without a place take a new one.
    pub plant: u32,
}

impl FootAnchor {
    /// Holds the sole at a place of the world, wholly.
    pub fn at(place: Vec3) -> Self {
        Self {
            at: Some(place),
            weight: 1.0,
            plant: 0,
        }
    }

    /// Holds the sole where it is when this plant begins, wholly.
    pub fn here(plant: u32) -> Self {
        Self {
            at: None,
            weight: 1.0,
            plant,
        }
    }
}

/// The anchors of an actor's feet, in the order of the rig's legs; `None`, or nothing, for a foot that is free.
///
/// The engine reads it and never writes it. Anchors act in the frame that runs next, at the actor's place in it.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct FootAnchors(pub Vec<Option<FootAnchor>>);

/// What became of a foot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
pub enum FootState {
    /// No anchor.
    #[default]
    Idle,
    /// Its leg comes to the anchor.
    Reached,
    /// The anchor is out of reach: the leg is stretched out towards it.
    TooFar,
    /// The anchor is nearer than the folded leg comes.
    TooNear,
    /// The leg is as animated: the anchor has no answer.
    Refused(Refusal),
}

impl From<Result<Reach, Refusal>> for FootState {
    fn from(found: Result<Reach, Refusal>) -> Self {
        match found {
            Ok(Reach::Reached) => Self::Reached,
            Ok(Reach::TooFar) => Self::TooFar,
            Ok(Reach::TooNear) => Self::TooNear,
            Err(refusal) => Self::Refused(refusal),
        }
    }
}

/// What one foot did in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Debug, Default, PartialEq, Clone))]
pub struct FootResult {
    /// What became of it.
    pub state: FootState,
    /// How much its anchor holds, 0 to 1; 0 without one.
    pub weight: f32,
    /// Where its anchor is, world space, metres; the sole's own place without one.
    pub anchor: Vec3,
    /// Where the sole is, world space, metres.
    pub sole: Vec3,
    /// Distance of the sole from the anchor, metres; 0 without one, NaN where anchor or weight are none. Below full weight
    /// it is not meant to be 0.
    pub residual: f32,
    /// How far upper, lower and foot joint turned in the world since the last frame, radians; 0 in the first.
    pub turned: [f32; 3],
    /// Whether an anchor holds it in this frame or did in the last.
    pub held: bool,
}

/// What the feet of an actor did in the frame that just ran; optional, actors that carry it get it filled.
#[derive(Component, Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct FootReadout {
    /// In the order of the rig's legs.
    pub legs: Vec<FootResult>,
    /// World rotations of upper, lower and foot joint in the last frame; empty after a reset or a teleport.
    #[cfg_attr(feature = "bevy", reflect(ignore))]
    pub(crate) before: Vec<[Rotation<f32>; 3]>,
}

/// Watches an actor's feet: the first frame in which one slips or pops is kept. `[Q4]`
///
/// The residual counts at full weight only; a turn counts where the foot is held, or was in the frame before. It is kept
/// over resets; put a new record in its place to begin anew.
#[derive(Component, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
#[require(FootReadout)]
pub struct FootRecord {
    /// Largest residual, metres. Default 0.0005.
    pub most_residual: f32,
    /// Largest turn of a leg joint between two frames, radians. Default 5°.
    pub most_turn: f32,
    /// How many feet were looked at.
    pub looks: u64,
    /// The largest residual so far, metres.
    pub worst_residual: f32,
    /// The largest turn so far, radians.
    pub worst_turn: f32,
    /// The first frame that was not as it should be.
    pub failure: Option<FootFailure>,
}

impl Default for FootRecord {
    fn default() -> Self {
        Self::new(0.0005, 5.0_f32.to_radians())
    }
}

/// What a foot failed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub enum FootMeasure {
    /// Distance of the sole from its anchor, metres.
    Residual,
    /// Turn of a joint between two frames, radians.
    Turn,
}

/// The first frame that was not as it should be.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct FootFailure {
    /// The host's time, seconds.
    pub time: f64,
    /// Which of the rig's legs.
    pub leg: usize,
    /// Index of the joint: the foot for a residual.
    pub joint: usize,
    /// What was measured.
    pub measure: FootMeasure,
    /// What was found, metres or radians.
    pub value: f32,
    /// What was allowed, in the same unit.
    pub limit: f32,
    /// What became of the foot.
    pub state: FootState,
    /// Where the body was in the world: the root correction's joint, or without one the root above the leg.
    pub body: JointTransform,
}

impl FootRecord {
    /// A record with its limits: metres, and radians per frame.
    pub fn new(most_residual: f32, most_turn: f32) -> Self {
        Self {
            most_residual,
            most_turn,
            looks: 0,
            worst_residual: 0.0,
            worst_turn: 0.0,
            failure: None,
        }
    }

    /// Looks at what the feet did in the frame that ended at `time`.
    ///
    /// `joints` gives upper, lower and foot joint of a leg, `body` the body's place above it; `body` is asked once at
    /// most.
    pub fn look(
        &mut self,
        time: f64,
        feet: &FootReadout,
        joints: impl Fn(usize) -> [usize; 3],
        body: impl Fn(usize) -> JointTransform,
    ) {
        for (leg, foot) in feet.legs.iter().enumerate() {
            self.looks += u64::from(foot.held);
            let of_leg = joints(leg);
            let mut found = |joint: usize, measure: FootMeasure, value: f32, limit: f32| {
                // NaN does not.
                let fits = value <= limit;
                if self.failure.is_none() && !fits {
                    self.failure = Some(FootFailure {
                        time,
                        leg,
                        joint,
                        measure,
                        value,
                        limit,
                        state: foot.state,
                        body: body(leg),
                    });
                }
            };
            // A weight that is none holds nothing, and so has failed.
            if foot.weight >= 1.0 || !(0.0..=1.0).contains(&foot.weight) {
                found(
                    of_leg[2],
                    FootMeasure::Residual,
                    foot.residual,
                    self.most_residual,
                );
                self.worst_residual = worse(self.worst_residual, foot.residual);
            }
            for (joint, turned) in of_leg.into_iter().zip(foot.turned) {
                if foot.held {
                    found(joint, FootMeasure::Turn, turned, self.most_turn);
                    self.worst_turn = worse(self.worst_turn, turned);
                }
            }
        }
    }
}

/// The larger of two; NaN is larger than all, so that it cannot pass for small.
fn worse(before: f32, now: f32) -> f32 {
    if now.is_nan() || now > before {
        now
    } else {
        before
    }
}

/// What an actor's feet stand on in the running frame; part of its slot.
#[derive(Clone, Debug)]
pub struct Footing {
    /// Whether the rig's legs are others than in the frame before: their last rotations are not these legs'.
    pub renewed: bool,
    /// In the order of the plan's legs; empty where no foot is held.
    pub legs: Vec<LegFooting>,
    /// The actor's place in the frame.
    pub world_from_model: Rigid<f32>,
    /// Model transforms of a leg's path: scratch.
    pub path: Vec<ModelTransform>,
    /// Whether people know already that an anchor has no answer.
    pub reported: bool,
}

impl Default for Footing {
    fn default() -> Self {
        Self {
            renewed: false,
            legs: Vec::new(),
            world_from_model: Rigid::identity(),
            path: Vec::new(),
            reported: false,
        }
    }
}

/// What one foot stands on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LegFooting {
    /// As the host gave it.
    pub anchor: Option<FootAnchor>,
    /// Where the sole of an anchor without a place was when its plant began, world space, metres.
    pub caught: Option<Vec3>,
    /// What became of it in the pose that the frame shows.
    pub state: FootState,
}

impl LegFooting {
    /// Takes the host's anchor of a new frame; `fresh` forgets where the sole was caught.
    pub fn take(&mut self, anchor: Option<FootAnchor>, fresh: bool) {
        let plant = |anchor: Option<FootAnchor>| {
            let without_place = anchor.filter(|anchor| anchor.at.is_none());
            without_place.map(|anchor| anchor.plant)
        };
        if fresh || plant(anchor) != plant(self.anchor) {
            self.caught = None;
        }
        self.anchor = anchor;
        self.state = FootState::Idle;
    }

    /// Where the foot is held, world space, metres; `None` for a foot that is free or not caught yet.
    pub fn place(&self) -> Option<Vec3> {
        self.anchor.and_then(|anchor| anchor.at.or(self.caught))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(residual: f32, turned: f32, weight: f32) -> FootReadout {
        FootReadout {
            legs: vec![FootResult {
                weight,
                residual,
                turned: [0.0, turned, 0.0],
                held: weight > 0.0,
                ..FootResult::default()
            }],
            before: Vec::new(),
        }
    }

    fn look(record: &mut FootRecord, time: f64, feet: &FootReadout) {
        record.look(time, feet, |_| [4, 5, 6], |_| JointTransform::IDENTITY);
    }

    #[test]
    fn q4_the_first_failing_frame_is_kept_with_its_joint() {
        let mut record = FootRecord::default();
        look(&mut record, 0.1, &seen(0.0004, 0.08, 1.0));
        assert_eq!(record.failure, None);
        look(&mut record, 0.2, &seen(0.0, 0.1, 1.0));
        look(&mut record, 0.3, &seen(1.0, 1.0, 1.0));
        let failure = record.failure.unwrap();
        assert_eq!((failure.time, failure.joint), (0.2, 5));
        assert_eq!(failure.measure, FootMeasure::Turn);
        assert_eq!((record.worst_residual, record.looks), (1.0, 3));
    }

    #[test]
    fn q4_a_foot_that_is_let_go_may_be_anywhere_and_nan_may_not_pass() {
        let mut record = FootRecord::default();
        look(&mut record, 0.1, &seen(0.3, 0.0, 0.5));
        look(&mut record, 0.2, &seen(0.0, 3.0, 0.0));
        assert_eq!(record.failure, None);
        look(&mut record, 0.3, &seen(f32::NAN, 0.0, 1.0));
        assert_eq!(record.failure.map(|f| f.joint), Some(6));
    }

    #[test]
    fn q4_another_plant_is_caught_anew() {
        let mut foot = LegFooting::default();
        foot.take(Some(FootAnchor::here(1)), false);
        foot.caught = Some(Vec3::X);
        foot.take(Some(FootAnchor::here(1)), false);
        assert_eq!(foot.place(), Some(Vec3::X));
        foot.take(Some(FootAnchor::here(2)), false);
        assert_eq!(foot.place(), None);
    }
}
