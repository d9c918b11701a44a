//! Idle lanes: keeping the bits of actors whose turn it is not.
//!
//! The kernels write all lanes. Where some are not to be written, a joint's numbers are kept before it moves and given
//! back to those lanes once it is resolved.

use super::frame::Pass;
use crate::crowd::{Group, particle, result};
use crate::lane::Lane;
use crate::plan::Plan;

/// Numbers of a joint: particle, velocity, result.
const NUMBERS: usize = particle::COMPONENTS + 3 + result::COMPONENTS;

/// Keeps the numbers of the joint at `place`.
#[inline(never)]
pub(super) fn keep_joint(plan: &Plan, place: usize, group: &mut Group) {
    let lanes = group.lanes;
    let size = NUMBERS * lanes;
    let needed = plan.swings.len() * size;
    if group.kept.len() < needed {
        group.kept.resize(needed);
    }
    let to = &mut group.kept[place * size..][..size];
    let (particles, rest) = to.split_at_mut(particle::COMPONENTS * lanes);
    let (velocity, results) = rest.split_at_mut(3 * lanes);
    particles.copy_from_slice(block(&group.particles, place, particle::COMPONENTS, lanes));
    velocity.copy_from_slice(block(&group.velocities, place, 3, lanes));
    results.copy_from_slice(block(&group.results, place, result::COMPONENTS, lanes));
}

fn block(of: &[f32], place: usize, components: usize, lanes: usize) -> &[f32] {
    let size = components * lanes;
    &of[place * size..][..size]
}

/// Gives the kept numbers of the joint at `place` back to the lanes whose turn it is not.
#[inline(always)]
pub(super) fn give_back<L: Lane>(pass: &Pass<L>, place: usize, group: &mut Group) {
    let size = NUMBERS * L::LANES;
    let kept = &group.kept[place * size..][..size];
    let (particles, rest) = kept.split_at(particle::COMPONENTS * L::LANES);
    let (velocity, results) = rest.split_at(3 * L::LANES);
    restore(pass, particles, &mut group.particles, place);
    restore(pass, velocity, &mut group.velocities, place);
    restore(pass, results, &mut group.results, place);
}

#[inline(always)]
fn restore<L: Lane>(pass: &Pass<L>, kept: &[f32], to: &mut [f32], place: usize) {
    let to = &mut to[place * kept.len()..][..kept.len()];
    for (kept, to) in kept
        .chunks_exact(L::LANES)
        .zip(to.chunks_exact_mut(L::LANES))
    {
        L::select(pass.pen.active(), L::load(to), L::load(kept)).store(to);
    }
}
