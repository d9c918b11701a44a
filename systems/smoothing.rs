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
use crate::systems::substeps::Pass;

/// Smooths the ring of `layer`, if it is one that is smoothed.
#[inline(always)]
pub fn smooth_ring<L: Lane, W: Witness<L>>(
    pass: &Pass<L>,
    layer: &LayerPlan,
    group: &mut Group,
    witness: &mut W,
) {
    if layer.smoothing == 0.0 {
        return;
    }
    let mut numbers = core::mem::take(&mut group.ring);
    numbers.clear();
    numbers.resize(layer.members.len() * 3 * L::LANES, 0.0);
    for (&place, to) in layer
        .members
        .iter()
        .zip(numbers.chunks_exact_mut(3 * L::LANES))
    {
        stand_in::<L>(group, place).store(to);
    }
    let ring = Ring {
        before: &numbers,
        count: layer.members.len(),
        smoothing: layer.smoothing,
    };
    let (centre, widening) = widening::<L>(layer, &ring);
    for (k, &place) in layer.members.iter().enumerate() {
        let position = centre + (ring.smoothed::<L>(k) - centre) * widening;
        let touches = touches::<L>(layer, group, k);
        let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
        let known = Vec3x::<L>::load(&own[particle::POSITION * L::LANES..]);
        let position = Vec3x::select(touches | !known.finite(), known, position);
        pass.pen
            .put_vector(position, &mut own[particle::POSITION * L::LANES..]);
        if W::LISTENS {
            let moved = position - ring.at(k);
            witness.note(place, Term::Smoothing(layer.source), moved);
        }
    }
    group.ring = numbers;
}

/// A ring before it is smoothed.
struct Ring<'r> {
    /// `[member][x y z][lane]`
    before: &'r [f32],
    count: usize,
    smoothing: f32,
}

impl Ring<'_> {
    #[inline(always)]
    fn at<L: Lane>(&self, k: usize) -> Vec3x<L> {
        Vec3x::load(&self.before[(k % self.count) * 3 * L::LANES..])
    }

    /// Member `k` nearer to the middle of its neighbours. `[M1]`
    #[inline(always)]
    fn smoothed<L: Lane>(&self, k: usize) -> Vec3x<L> {
        let (own, left, right) = (
            self.at::<L>(k),
            self.at::<L>(k + self.count - 1),
            self.at::<L>(k + 1),
        );
        own + ((left - own) + (right - own)) * L::splat(0.5) * L::splat(self.smoothing)
    }
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
fn widening<L: Lane>(layer: &LayerPlan, ring: &Ring) -> (Vec3x<L>, L) {
    let count = ring.count;
    let mut sum = Vec3x::splat([0.0; 3]);
    let mut length = L::splat(0.0);
    for k in 0..count {
        let own = ring.smoothed::<L>(k);
        sum = sum + own;
        let side = ring.smoothed((k + 1) % count) - own;
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
    link_hit::<L>(layer, group, k)
        | link_hit::<L>(layer, group, (k + layer.links - 1) % layer.links)
}

#[inline(always)]
fn link_hit<L: Lane>(layer: &LayerPlan, group: &Group, link: usize) -> L::Mask {
    let hits = L::load(&group.links[(layer.first_link + link) * L::LANES..]);
    L::splat(0.0).lt(hits)
}
