//! Accounts: what moved a particle in a substep, term by term.
//!
//! The kernels are written once, generic over a [`Witness`] that hears of every displacement. [`Unwatched`] hears
//! nothing and costs nothing; [`Notes`] keeps those of one joint. An account adds up: the terms of a substep sum to the
//! particle's displacement, to rounding.

use core::fmt;

use bevy_ecs::component::Component;
use bevy_math::Vec3;

use crate::lane::{Lane, Vec3x};

/// What moves a particle, in the order of a substep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// The actor moved in the world. `[S2]`
    Motion,
    /// Its own speed, damped. `[S5]`
    Inertia,
    /// The pull towards the rest direction or translation. `[S4]`
    Spring,
    /// `[S5]`
    Gravity,
    /// The actor's global force. `[S5]`
    GlobalForce,
    /// `[W1]`
    Wind,
    /// The tip child's speed. `[S5]`
    Child,
    /// Sideways force turned along y and z. `[S6]`
    Coupling,
    /// Velocity kept from the substeps before, under the velocity policies. `[S7]`
    Velocity,
    /// Back to bone length. `[S8]`
    Length,
    /// Pushed out of a static collider, length restored: its index in the rig's colliders. `[X5]`
    Hit(usize),
    /// A link of a chain layer pushed out: the indices of the layer, the link and the collider. `[X6]`
    Link(usize, usize, usize),
    /// A ring smoothed: the index of the layer. `[M1]`
    Smoothing(usize),
    /// Onto the sphere of the bone's length again, after chains and smoothing. `[V1]`
    Direction,
    /// `[V2]` `[V3]`
    Limit,
    /// Towards the animation by the bake weight. `[V4]`
    Bake,
    /// Towards the animation by the actor's weight. `[V5]`
    Weight,
    /// Not finite: put at rest. `[V8]`
    Restored,
}

impl fmt::Display for Term {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Motion => f.write_str("actor motion"),
            Self::Inertia => f.write_str("inertia"),
            Self::Spring => f.write_str("spring"),
            Self::Gravity => f.write_str("gravity"),
            Self::GlobalForce => f.write_str("global force"),
            Self::Wind => f.write_str("wind"),
            Self::Child => f.write_str("child"),
            Self::Coupling => f.write_str("axis coupling"),
            Self::Velocity => f.write_str("velocity"),
            Self::Length => f.write_str("length"),
            Self::Hit(collider) => write!(f, "hit, collider {collider}"),
            Self::Link(layer, link, collider) => {
                write!(f, "link {link} of layer {layer}, collider {collider}")
            }
            Self::Smoothing(layer) => write!(f, "smoothing, layer {layer}"),
            Self::Direction => f.write_str("length after chains"),
            Self::Limit => f.write_str("limit"),
            Self::Bake => f.write_str("bake"),
            Self::Weight => f.write_str("weight"),
            Self::Restored => f.write_str("restored"),
        }
    }
}

/// Hears what moves the particles.
pub trait Witness<L: Lane> {
    /// Whether it listens: kernels compute what only a witness wants to know behind this.
    const LISTENS: bool;

    /// `term` moved the particle of the swing joint at `place` by `displacement`, metres.
    fn note(&mut self, place: usize, term: Term, displacement: Vec3x<L>);
}

/// Nobody listens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl<L: Lane> Witness<L> for Unwatched {
    const LISTENS: bool = false;
    #[inline(always)]
    fn note(&mut self, _place: usize, _term: Term, _displacement: Vec3x<L>) {}
}

/// What moved one particle in one substep.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Account {
    /// End of the substep on the host's clock, seconds.
    pub time: f64,
    /// The particle before, shifted model space `[S1]`, metres.
    pub before: Vec3,
    /// The particle after.
    pub after: Vec3,
    /// The root correction, metres: added to a particle it gives its place in true model space. `[S1]`
    pub correction: Vec3,
    /// What moved it, in running order, metres; hits of zero length are kept.
    pub terms: Vec<(Term, Vec3)>,
}

impl Account {
    /// The sum of the terms.
    pub fn sum(&self) -> Vec3 {
        self.terms.iter().map(|(_, moved)| *moved).sum()
    }
}

/// Keeps what it hears of one place.
#[derive(Clone, Debug)]
pub struct Notes {
    /// Place of the watched joint in the plan's swing joints.
    pub place: usize,
    /// What was heard since it was last emptied.
    pub terms: Vec<(Term, Vec3)>,
}

impl Witness<f32> for Notes {
    const LISTENS: bool = true;
    fn note(&mut self, place: usize, term: Term, displacement: Vec3x<f32>) {
        if place == self.place {
            self.terms.push((term, displacement.into()));
        }
    }
}

/// Explains one swing joint of an actor: every frame, the account of each of its substeps. Optional: actors that carry
/// it get it filled.
#[derive(Component, Clone, Debug, PartialEq)]
pub struct Explanation {
    /// Index of the swing joint in [`crate::rig::Rig::swing`].
    pub swing: usize,
    /// One per substep of the last frame, settling included; empty for a joint that does not move.
    pub substeps: Vec<Account>,
}

impl Explanation {
    /// Explains the swing joint of index `swing`.
    pub fn of(swing: usize) -> Self {
        Self {
            swing,
            substeps: Vec::new(),
        }
    }
}
