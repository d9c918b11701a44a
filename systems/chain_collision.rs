//! Chain collision: pushes the links between neighbouring chains out of the static colliders. `[X6]`
//!
//! Runs after collision in a substep, per depth, and once more after smoothing. Reads the placed static colliders; writes
//! the particles of the links' ends and the hits of the links.
//!
//! A push acts sideways: both ends move by the same vector across the link, then each goes back to its own bone length
//! from its own anchor.

use crate::account::{Term, Witness};
use crate::chain::LayerPlan;
use crate::contact::Segment;
use crate::crowd::{Group, PLACED, particle};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::Plan;
use crate::systems::collision::hit_segment;
use crate::systems::integration::{ON_ANCHOR_SQUARED, at_length};
use crate::systems::substeps::Pass;

/// Collides the links of `layer`, one after the other, with the static colliders they meet.
#[inline(always)]
pub fn collide_links<L: Lane, W: Witness<L>>(
    pass: &Pass<L>,
    layer: &LayerPlan,
    group: &mut Group,
    witness: &mut W,
) {
    let (plan, parallel) = (pass.plan, pass.profile.parallel_epsilon);
    for link in 0..layer.links {
        let places = layer.ends(link).map(|end| layer.members[end]);
        let mut ends = [
            End::<L>::load(plan, group, places[0]),
            End::<L>::load(plan, group, places[1]),
        ];
        let mut hits = L::splat(0.0);
        for &index in &plan.meets[layer.meets.clone()] {
            let line = Segment {
                a: ends[0].position,
                b: ends[1].position,
                radius_a: L::splat(layer.radius),
                radius_b: L::splat(layer.radius),
            };
            let placed = &group.statics[index * PLACED * L::LANES..][..PLACED * L::LANES];
            let Some(hit) = hit_segment(&line, &plan.statics[index], placed, parallel) else {
                continue;
            };
            if hit.touches.any() {
                let nearest = line.a.lerp(line.b, hit.along);
                let offset = sideways(line.b - line.a, hit.target() - nearest);
                for (end, place) in ends.iter_mut().zip(places) {
                    let moved = end.push(offset, hit.touches);
                    if W::LISTENS {
                        let term = Term::Link(layer.source, link, index);
                        witness.note(place, term, moved);
                    }
                }
                hits = L::select(hit.touches, hits + L::splat(1.0), hits);
            }
        }
        for (end, place) in ends.iter().zip(places) {
            end.store(group, place, L::splat(0.0).lt(hits) & pass.pen.active());
        }
        let to = (layer.first_link + link) * L::LANES;
        pass.pen.put(hits, &mut group.links[to..]);
    }
}

/// The part of `push` across `axis`; all of it where the link has no length. `[X6]`
#[inline(always)]
fn sideways<L: Lane>(axis: Vec3x<L>, push: Vec3x<L>) -> Vec3x<L> {
    let squared = axis.length_squared();
    let direction = axis * squared.inverse_sqrt();
    let across = push - direction * direction.dot(push);
    // One beyond all numbers has no direction either, and must not take the end that is not with it. `[V8]`
    let has_length = L::splat(ON_ANCHOR_SQUARED).lt(squared) & squared.finite();
    Vec3x::select(has_length, across, push)
}

/// One end of a link: a particle in true model space.
#[derive(Clone, Copy)]
struct End<L> {
    position: Vec3x<L>,
    anchor: Vec3x<L>,
    correction: Vec3x<L>,
    length: L,
}

impl<L: Lane> End<L> {
    #[inline(always)]
    fn load(plan: &Plan, group: &Group, place: usize) -> Self {
        let own = &group.particles[place * particle::COMPONENTS * L::LANES..];
        let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
        Self {
            position: Vec3x::load(&own[particle::POSITION * L::LANES..]) + correction,
            anchor: Vec3x::load(&own[particle::ORIGIN * L::LANES..]),
            correction,
            length: L::splat(plan.swings[place].length),
        }
    }

    /// Moves by `offset` where `touches`, then back to bone length; an end on its anchor stays there.
    /// Says how far it went.
    #[inline(always)]
    fn push(&mut self, offset: Vec3x<L>, touches: L::Mask) -> Vec3x<L> {
        let moved = self.position + offset;
        let bone = at_length(moved, self.anchor, self.length);
        let moved = Vec3x::select(bone.is_on_anchor(), moved, bone.particle);
        let before = self.position;
        self.position = Vec3x::select(touches, moved, before);
        self.position - before
    }

    /// Writes the particle back where any collider touched the link; others keep their bits.
    #[inline(always)]
    fn store(&self, group: &mut Group, place: usize, touched: L::Mask) {
        if touched.any() {
            let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
            let before = Vec3x::load(&own[particle::POSITION * L::LANES..]);
            let moved = Vec3x::select(touched, self.position - self.correction, before);
            moved.store(&mut own[particle::POSITION * L::LANES..]);
        }
    }
}
