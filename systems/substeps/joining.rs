//! Joining: the chain layers of a depth. `[5.2]` `[X6]` `[M1]`
//!
//! A layer couples neighbouring chains, one link after the other. Where the lanes are actors it runs in lanes like all
//! else; where they are the chains of one actor it couples lanes, and runs on a copy of its members, one number each.

use super::frame::Pass;
use crate::account::{Unwatched, Witness};
use crate::crowd::{Group, PLACED, particle};
use crate::lane::{Lane, Pen};
use crate::plan::chains::ChainRows;
use crate::profile::SwingProfile;
use crate::systems::chain_collision::collide_links;
use crate::systems::smoothing::smooth_ring;

/// Chain collision, smoothing, and chain collision again where something was smoothed. `[5.2]`
#[inline(always)]
pub(super) fn join_chains<L: Lane, W: Witness<L>>(
    pass: &Pass<L>,
    depth: usize,
    group: &mut Group,
    witness: &mut W,
) {
    let plan = pass.plan;
    let layers = &plan.layers_of_depth[depth];
    let mut is_smoothed = false;
    for &layer in layers {
        collide_links(pass, &plan.layers[layer], group, witness);
    }
    for &layer in layers {
        is_smoothed |= plan.layers[layer].smoothing > 0.0;
        smooth_ring(pass, &plan.layers[layer], group, witness);
    }
    if is_smoothed {
        for &layer in layers {
            collide_links(pass, &plan.layers[layer], group, witness);
        }
    }
}

/// What the layers read of a particle.
const READ: [usize; 3] = [particle::POSITION, particle::ORIGIN, particle::CORRECTION];

/// As [`join_chains`], across the lanes of one actor.
#[inline(never)]
pub(super) fn join_chains_across(
    rows: &ChainRows,
    profile: &SwingProfile,
    depth: usize,
    group: &mut Group,
) {
    let layers = &rows.whole.layers_of_depth[depth];
    if layers.is_empty() {
        return;
    }
    let Some(mut joined) = group.single.take() else {
        return;
    };
    let lanes = group.lanes;
    let members = || {
        let layers = layers.iter().map(|&layer| &rows.whole.layers[layer]);
        layers.flat_map(|layer| layer.members.iter().copied())
    };
    let offset = |place: usize, component: usize| {
        let (row, lane) = rows.at[place];
        (row * particle::COMPONENTS + component) * lanes + lane
    };
    for place in members() {
        for component in READ.iter().flat_map(|&first| first..first + 3) {
            let to = place * particle::COMPONENTS + component;
            joined.particles[to] = group.particles[offset(place, component)];
        }
    }
    for number in 0..rows.whole.statics.len() * PLACED {
        joined.statics[number] = group.statics[number * lanes];
    }
    let pass = Pass {
        plan: &rows.whole,
        profile,
        pen: Pen::<f32>::new(&[]),
        chains: None,
    };
    join_chains(&pass, depth, &mut joined, &mut Unwatched);
    for place in members() {
        for component in particle::POSITION..particle::POSITION + 3 {
            let from = place * particle::COMPONENTS + component;
            group.particles[offset(place, component)] = joined.particles[from];
        }
    }
    for layer in layers.iter().map(|&layer| &rows.whole.layers[layer]) {
        for link in layer.first_link..layer.first_link + layer.links {
            group.links[link * lanes] = joined.links[link];
        }
    }
    group.single = Some(joined);
}
