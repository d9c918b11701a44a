//! Smoothing: evens out the rings of chain layers, so that a skirt keeps its round. `[M1]`–`[M3]`
//!
//! Runs after the first pass of chain collision in a substep, per depth. Reads and writes the particles of the ring, in
//! shifted space.
//!
//! All neighbours are read from the ring as it was, so the result does not depend on where the list starts; a ring that
//! became shorter than at rest is widened about its centre; ends of links that touch something stay where they were.

use crate::account::{Term, Witness};
use crate::chain::LayerPlan;
use crate::crowd::{Group, particle};
use crate::lane::{Lane, LaneMask, Vec3x};

/// Smooths the ring of `layer`, if it is one that is smoothed.
#[inline(always)]
pub fn smooth_ring<L: Lane, W: Witness<L>>(layer: &LayerPlan, group: &mut Group, witness: &mut W) {
    if layer.smoothing == 0.0 {
        return;
    }
    let count = layer.members.len();
    let mut before = core::mem::take(&mut group.ring);
    before.clear();
    before.resize(layer.members.len() * 3 * L::LANES, 0.0);
    for (&place, to) in layer
        .members
        .iter()
        .zip(before.chunks_exact_mut(3 * L::LANES))
    {
        stand_in::<L>(group, place).store(to);
    }
    let at = |k: usize| Vec3x::<L>::load(&before[(k % count) * 3 * L::LANES..]);
    let smoothed = |k: usize| {
        let (own, left, right) = (at(k), at(k + count - 1), at(k + 1));
        own + ((left - own) + (right - own)) * L::splat(0.5) * L::splat(layer.smoothing)
    };
    let (centre, widening) = widening(layer, &smoothed);
    for k in 0..count {
        let position = centre + (smoothed(k) - centre) * widening;
        let touches = touches::<L>(layer, group, k);
        let own = &mut group.particles[layer.members[k] * particle::COMPONENTS * L::LANES..];
        let known = Vec3x::<L>::load(&own[particle::POSITION * L::LANES..]);
        let position = Vec3x::select(touches | !known.finite(), known, position);
        position.store(&mut own[particle::POSITION * L::LANES..]);
        if W::LISTENS {
            let moved = position - at(k);
            witness.note(layer.members[k], Term::Smoothing(layer.source), moved);
        }
    }
    group.ring = before;
}

/// The particle at `place`; one that is not finite, which resolve will put at rest, is stood in for by its anchor, so that
/// its neighbours do not notice. `[V8]`
#[inline(always)]
fn stand_in<L: Lane>(group: &Group, place: usize) -> Vec3x<L> {
    let own = &group.particles[place * particle::COMPONENTS * L::LANES..];
    let position = Vec3x::<L>::load(&own[particle::POSITION * L::LANES..]);
    let healthy = position.finite();
    if !(!healthy).any() {
        return position;
    }
    let origin = Vec3x::load(&own[particle::ORIGIN * L::LANES..]);
    let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
    Vec3x::select(healthy, position, origin - correction)
}

/// Centre of the smoothed ring, and by how much to widen it about that: never below 1. `[M2]`
#[inline(always)]
fn widening<L: Lane>(layer: &LayerPlan, smoothed: &impl Fn(usize) -> Vec3x<L>) -> (Vec3x<L>, L) {
    let count = layer.members.len();
    let mut sum = Vec3x::splat([0.0; 3]);
    let mut length = L::splat(0.0);
    for k in 0..count {
        let own = smoothed(k);
        sum = sum + own;
        let side = smoothed((k + 1) % count) - own;
        length = length + side.length_squared().sqrt();
    }
    let centre = sum * L::splat(1.0 / count as f32);
    let rest = L::splat(layer.rest_length);
    let one = L::splat(1.0);
    // A ring that fell into one point has no shape to widen.
    let shrunk = length.lt(rest) & L::splat(0.0).lt(length);
    (centre, L::select(shrunk, rest / length, one))
}

/// Whether one of the links at member `k` touched something in the first pass. `[M3]`
#[inline(always)]
fn touches<L: Lane>(layer: &LayerPlan, group: &Group, k: usize) -> L::Mask {
    let hit = |link: usize| {
        let hits = L::load(&group.links[(layer.first_link + link) * L::LANES..]);
        L::splat(0.0).lt(hits)
    };
    hit(k) | hit((k + layer.links - 1) % layer.links)
}
