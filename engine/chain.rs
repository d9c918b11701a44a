//! Chain layers: rings and rows of neighbouring chains, joined so that a leg cannot slip between two strands. `[X6]`
//! `[M1]`–`[M3]`

use core::ops::Range;

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::bone::SwingTree;
use crate::collider::Mask;
use crate::plan::Plan;
use crate::rig::Rig;

/// Neighbouring particles at one height of a skirt, a cape or a curtain.
#[derive(Component, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
pub struct ChainLayer {
    /// The joints at the tips of the joined bones, in ring order: the particle of each belongs to the swing joint whose
    /// tip it is.
    pub joints: Vec<usize>,
    /// An inactive layer does nothing.
    pub active: bool,
    /// Whether the last joins the first.
    pub around: bool,
    /// Radius of the links, metres, ≥ 0.
    pub radius: f32,
    /// How far each particle moves towards the middle of its neighbours per substep, 0 to 1; acts only around a ring.
    pub smoothing: f32,
    /// Which static colliders the links meet.
    pub mask: Mask,
}

/// A chain layer compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerPlan {
    /// Index in [`Rig::layers`].
    pub source: usize,
    /// Places of the particles in [`Plan::swings`], in ring order.
    pub members: Vec<usize>,
    /// How many links: one less than members, or as many around a ring.
    pub links: usize,
    /// Offset of the first link in [`crate::crowd::Group::links`].
    pub first_link: usize,
    /// Radius of the links, metres.
    pub radius: f32,
    /// 0 where smoothing does not act.
    pub smoothing: f32,
    /// Length of the ring through the listed joints at rest, metres. `[M2]`
    pub rest_length: f32,
    /// Its range in [`Plan::meets`].
    pub meets: Range<usize>,
}

/// Below this smoothing does nothing. `[M1]`
const LEAST_SMOOTHING: f32 = 1e-5;
/// Fewer strands are no ring.
const LEAST_RING: usize = 3;

/// The smoothing of a layer that joins `members` particles; 0 where it does not act. `[M1]`
pub fn acting_smoothing(layer: &ChainLayer, members: usize) -> f32 {
    let acts = layer.around && members >= LEAST_RING && layer.smoothing >= LEAST_SMOOTHING;
    if acts { layer.smoothing } else { 0.0 }
}

impl LayerPlan {
    /// Compiles `layer`; `plan` has its swing joints. Members whose owner does not move are passed over and their
    /// neighbours joined. `None` when nothing is left to join.
    ///
    /// Appends to [`Plan::meets`].
    pub fn new(
        (source, layer): (usize, &ChainLayer),
        rig: &Rig,
        tree: &SwingTree,
        plan: &mut Plan,
        first_link: usize,
    ) -> Option<Self> {
        let owner = |joint: usize| {
            plan.swings
                .iter()
                .position(|swing| swing.tip == Some(joint))
        };
        let members: Vec<(usize, usize)> = layer
            .joints
            .iter()
            .filter_map(|&joint| Some((owner(joint)?, joint)))
            .collect();
        if !layer.active || members.len() < 2 {
            return None;
        }
        let smoothing = acting_smoothing(layer, members.len());
        let rest: Vec<_> = members
            .iter()
            .map(|&(_, joint)| tree.model[joint].rigid.t)
            .collect();
        let next = rest.iter().cycle().skip(1);
        let sides = rest
            .iter()
            .zip(next)
            .map(|(&a, &b)| (b - a).length_squared().sqrt());
        Some(Self {
            source,
            links: members.len() - usize::from(!layer.around),
            first_link,
            radius: layer.radius,
            smoothing,
            rest_length: sides.sum(),
            meets: plan.list_met(rig, layer.mask),
            members: members.into_iter().map(|(place, _)| place).collect(),
        })
    }

    /// Whether its last member is linked to its first, and enough of them for an inside.
    pub fn is_ring(&self) -> bool {
        self.links == self.members.len() && self.members.len() >= LEAST_RING
    }

    /// The members that link `index` joins.
    pub fn ends(&self, index: usize) -> [usize; 2] {
        [index, (index + 1) % self.members.len()]
    }
}

/// Hits of each link in a substep's last pass, per active layer of the rig. Optional: actors that carry it get it
/// filled.
#[derive(Component, Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct ChainReadout(pub Vec<Vec<u32>>);
