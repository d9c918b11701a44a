//! Collision: pushes a particle out of the static colliders. `[X3]` `[X5]`
//!
//! Runs second in a joint's substep, after integration. Reads the placed static colliders; writes the particles and
//! their record of hits.
//!
//! Sequential: each hit sees what the last one did, in the rig's collider order, which is therefore part of the result.
//! The bone length is restored after every push. Works in true model space: the root correction is added before and
//! taken off after.

use crate::account::{Term, Witness};
use crate::collider::PlacedShape;
use crate::contact::{self, Hit, Segment};
use crate::crowd::{ActorState, Group, PLACED, particle, placed};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::constant::{self, Row, Spread};
use crate::plan::{DynamicPlan, Plan, StaticPlan, SwingPlan};
use crate::profile::{LinePush, ParallelEpsilon, SwingProfile};
use crate::rotation::Rotation;
use crate::systems::integration::at_length;
use crate::systems::placement::{placed_ends, segment};
use crate::systems::substeps::Pass;

/// How far beyond touching a ball still counts as beside a capsule: this share of its squared distance from the middle.
/// Far above what rounding adds up to, even a hundred metres from the origin; larger would let more pass for nothing.
const BESIDE_SLACK: f32 = 1e-3;

/// Contacts nearer to the joint than this share of its line move the particle as if they were here. `[X5]`
const SHORTEST_LEVER: f32 = 0.25;

/// Collides the swing joint at `place` with the static colliders it meets.
#[inline(always)]
pub fn collide_joint<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    from_rest: bool,
    witness: &mut W,
) {
    let row = Row::<L, S>::new(pass.plan, place);
    let base = place * particle::COMPONENTS * L::LANES;
    let own = &mut group.particles[base..][..particle::COMPONENTS * L::LANES];
    L::splat(0.0).store(&mut own[particle::HITS * L::LANES..]);
    if let Some(collider) = &row.swing.collider {
        let shape = DynamicShape::read(row, collider);
        let length = row.number(constant::LENGTH);
        let body = body(row.swing, shape, length, own, from_rest);
        collide_particle(pass, place, &body, own, &group.statics, witness);
    }
}

/// The collider of `swing` and what it hangs on: the joint's own origin, or a slide joint's parent. `[X5]`
#[inline(always)]
fn body<L: Lane>(
    swing: &SwingPlan,
    shape: DynamicShape<L>,
    length: L,
    own: &[f32],
    from_rest: bool,
) -> Body<L> {
    let slides = swing.slide.is_some();
    let origin = if slides {
        particle::PARENT
    } else {
        particle::ORIGIN
    };
    let rotation = if from_rest || slides {
        particle::REST
    } else {
        particle::ROTATION
    };
    Body {
        shape,
        origin: Vec3x::load(&own[origin * L::LANES..]),
        rotation: Rotation::load(&own[rotation * L::LANES..]),
        length: if slides { None } else { Some(length) },
    }
}

/// [`DynamicPlan`] in lanes.
#[derive(Clone, Copy, Debug)]
pub enum DynamicShape<L> {
    /// A ball centred on the particle: the usual shape.
    Ball(L),
    /// A ball beside the particle.
    Offset {
        /// From the particle, in the joint's model frame, metres.
        offset: Vec3x<L>,
        /// Metres.
        radius: L,
    },
    /// From the particle to the joint's origin.
    Line {
        /// At the particle and at the origin, metres.
        inset: [L; 2],
        /// At the particle and at the origin, metres.
        radius: [L; 2],
    },
}

impl<L: Lane> DynamicShape<L> {
    #[inline(always)]
    fn read<S: Spread>(row: Row<L, S>, plan: &DynamicPlan) -> Self {
        match plan {
            DynamicPlan::Sphere { offset, .. } if *offset == [0.0; 3] => {
                Self::Ball(row.number(constant::RADIUS))
            }
            DynamicPlan::Sphere { .. } => Self::Offset {
                offset: row.vector(constant::OFFSET),
                radius: row.number(constant::RADIUS),
            },
            DynamicPlan::Line { .. } => Self::Line {
                inset: row.pair(constant::INSET),
                radius: row.pair(constant::RADIUS),
            },
        }
    }

    /// The same shape in every lane.
    #[inline(always)]
    pub fn splat(plan: &DynamicPlan) -> Self {
        match *plan {
            DynamicPlan::Sphere { offset, radius } if offset == [0.0; 3] => {
                Self::Ball(L::splat(radius))
            }
            DynamicPlan::Sphere { offset, radius } => Self::Offset {
                offset: Vec3x::splat(offset),
                radius: L::splat(radius),
            },
            DynamicPlan::Line { inset, radius } => Self::Line {
                inset: [L::splat(inset[0]), L::splat(inset[1])],
                radius: [L::splat(radius[0]), L::splat(radius[1])],
            },
        }
    }
}

/// The dynamic collider of a joint, and what it hangs on.
#[derive(Clone, Copy, Debug)]
pub struct Body<L> {
    /// Shape.
    pub shape: DynamicShape<L>,
    /// Origin of the joint (of a slide joint's parent), true model space: where a line ends.
    pub origin: Vec3x<L>,
    /// `R_cur` of `[S3]`.
    pub rotation: Rotation<L>,
    /// Bone length, metres; a slide joint has none to keep.
    pub length: Option<L>,
}

#[inline(always)]
fn collide_particle<L: Lane, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    body: &Body<L>,
    own: &mut [f32],
    statics: &[f32],
    witness: &mut W,
) {
    let plan = pass.plan;
    let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
    let shifted = Vec3x::load(&own[particle::POSITION * L::LANES..]);
    let mut contacts = Contacts {
        position: shifted + correction,
        count: L::splat(0.0),
    };
    let size = PLACED * L::LANES;
    let meets = &plan.meets[plan.swings[place].meets.clone()];
    if let DynamicShape::Ball(radius) = body.shape {
        // The usual shape has a loop of its own, which asks nothing about shapes that it is not.
        for &index in meets {
            let (other, placed) = (&plan.statics[index], &statics[index * size..][..size]);
            let found = push_ball(body, contacts.position, radius, other, placed);
            contacts.tell(&found, place, index, witness);
            contacts.take(found, own);
        }
    } else {
        for &index in meets {
            let (other, placed) = (&plan.statics[index], &statics[index * size..][..size]);
            let found = push(body, contacts.position, other, placed, pass.profile);
            contacts.tell(&found, place, index, witness);
            contacts.take(found, own);
        }
    }
    let Contacts { position, count } = contacts;
    let hit = L::splat(0.0).lt(count);
    if hit.any() {
        // Adding and taking off the correction rounds; a particle that nothing touched keeps its bits.
        let moved = Vec3x::select(hit, position - correction, shifted);
        moved.store(&mut own[particle::POSITION * L::LANES..]);
        count.store(&mut own[particle::HITS * L::LANES..]);
    }
}

/// What the static colliders have done to a particle so far in this substep.
struct Contacts<L> {
    /// Where it is now, true model space.
    position: Vec3x<L>,
    /// How many touched it.
    count: L,
}

impl<L: Lane> Contacts<L> {
    /// Tells a witness of what [`push`] found, before it is taken over.
    #[inline(always)]
    fn tell<W: Witness<L>>(
        &self,
        found: &Option<(Vec3x<L>, Hit<L>)>,
        place: usize,
        collider: usize,
        witness: &mut W,
    ) {
        if !W::LISTENS {
            return;
        }
        if let Some((pushed, hit)) = found {
            let none = Vec3x::splat([0.0; 3]);
            let moved = Vec3x::select(hit.touches, *pushed - self.position, none);
            witness.note(place, Term::Hit(collider), moved);
        }
    }

    /// Takes over what [`push`] found, and keeps the hit with the particle.
    #[inline(always)]
    fn take(&mut self, found: Option<(Vec3x<L>, Hit<L>)>, own: &mut [f32]) {
        let Some((pushed, hit)) = found else {
            return;
        };
        self.position = Vec3x::select(hit.touches, pushed, self.position);
        self.count = L::select(hit.touches, self.count + L::splat(1.0), self.count);
        record(
            hit.touches,
            hit.normal,
            &mut own[particle::HIT_NORMAL * L::LANES..],
        );
        record(
            hit.touches,
            pushed,
            &mut own[particle::HIT_POSITION * L::LANES..],
        );
    }
}

/// Writes `value` where `touches`.
#[inline(always)]
fn record<L: Lane>(touches: L::Mask, value: Vec3x<L>, to: &mut [f32]) {
    Vec3x::select(touches, value, Vec3x::load(to)).store(to);
}

/// [`push`] for a ball centred on the particle.
#[inline(always)]
fn push_ball<L: Lane>(
    body: &Body<L>,
    position: Vec3x<L>,
    radius: L,
    other: &StaticPlan,
    placed: &[f32],
) -> Option<(Vec3x<L>, Hit<L>)> {
    let hit = hit_sphere(position, radius, other, placed)?;
    pushed(body, hit.target(), hit)
}

/// The particle at `target` with its bone length kept; `None` when no lane of `hit` touches.
#[inline(always)]
fn pushed<L: Lane>(body: &Body<L>, target: Vec3x<L>, hit: Hit<L>) -> Option<(Vec3x<L>, Hit<L>)> {
    if !hit.touches.any() {
        return None;
    }
    let kept = match body.length {
        Some(length) => keep_length_or_anchor(target, body.origin, length),
        None => target,
    };
    Some((kept, hit))
}

/// Where the particle goes when its collider touches `other`, bone length kept; `None` when no lane touches. `[X5]`
#[inline(always)]
pub fn push<L: Lane>(
    body: &Body<L>,
    position: Vec3x<L>,
    other: &StaticPlan,
    placed: &[f32],
    profile: &SwingProfile,
) -> Option<(Vec3x<L>, Hit<L>)> {
    match body.shape {
        DynamicShape::Ball(radius) => push_ball(body, position, radius, other, placed),
        DynamicShape::Offset { offset, radius } => {
            let centre = contact::place_point(position, body.rotation, offset);
            let hit = hit_sphere(centre, radius, other, placed)?;
            pushed(body, position + (hit.target() - centre), hit)
        }
        DynamicShape::Line { inset, radius } => {
            let [a, b] = contact::place_line(position, body.origin, inset, [position; 2]);
            let [radius_a, radius_b] = radius;
            let line = Segment {
                a,
                b,
                radius_a,
                radius_b,
            };
            let hit = hit_segment(&line, other, placed, profile.parallel_epsilon)?;
            let target = match profile.line_push {
                LinePush::Documented => hit.target(),
                LinePush::Lever => position + lever(&line, &hit),
            };
            pushed(body, target, hit)
        }
    }
}

/// How far a push at one place of a line moves the particle at its first end. `[X5]`
///
/// ```text
/// (target − P1) / max(1 − s, ¼)     none where s = 1, at the joint itself
/// ```
#[inline(always)]
fn lever<L: Lane>(line: &Segment<L>, hit: &Hit<L>) -> Vec3x<L> {
    let one = L::splat(1.0);
    let off = hit.target() - line.a.lerp(line.b, hit.along);
    let arm = (one - hit.along).max(L::splat(SHORTEST_LEVER));
    let at_joint = one.le(hit.along);
    Vec3x::select(at_joint, Vec3x::splat([0.0; 3]), off * (one / arm))
}

/// How deep the collider of the joint at `place` reaches into a static collider it can meet, metres; 0 when it touches
/// none.
///
/// Looks at the state of one actor after a substep: the measure of what `[X5]` and `[S8]` left.
pub fn deepest_penetration(
    plan: &Plan,
    actor: &ActorState,
    place: usize,
    parallel: ParallelEpsilon,
) -> f32 {
    let swing = &plan.swings[place];
    let Some(collider) = &swing.collider else {
        return 0.0;
    };
    let own = actor.particle(place);
    let position =
        Vec3x::<f32>::load(&own[particle::POSITION..]) + Vec3x::load(&own[particle::CORRECTION..]);
    let body = body(
        swing,
        DynamicShape::splat(collider),
        swing.length,
        &own,
        false,
    );
    let depth = |&index: &usize| {
        let placed = actor.placed(index);
        let (target, at) = touch(&body, position, &plan.statics[index], &placed, parallel)?;
        Some((target - at).length_squared().sqrt())
    };
    let depths = plan.meets[swing.meets.clone()].iter().filter_map(depth);
    depths.fold(0.0, f32::max)
}

/// Where the touched point of the joint's collider belongs and where it is; `None` without contact.
fn touch(
    body: &Body<f32>,
    position: Vec3x<f32>,
    other: &StaticPlan,
    placed: &[f32],
    parallel: ParallelEpsilon,
) -> Option<(Vec3x<f32>, Vec3x<f32>)> {
    let ball = |centre: Vec3x<f32>, radius: f32| {
        let hit = hit_sphere(centre, radius, other, placed)?;
        hit.touches.then(|| (hit.target(), centre))
    };
    match body.shape {
        DynamicShape::Ball(radius) => ball(position, radius),
        DynamicShape::Offset { offset, radius } => ball(
            contact::place_point(position, body.rotation, offset),
            radius,
        ),
        DynamicShape::Line { inset, radius } => {
            let [a, b] = contact::place_line(position, body.origin, inset, [position; 2]);
            let line = Segment {
                a,
                b,
                radius_a: radius[0],
                radius_b: radius[1],
            };
            let hit = hit_segment(&line, other, placed, parallel)?;
            hit.touches.then(|| (hit.target(), a.lerp(b, hit.along)))
        }
    }
}

/// Bone length after a push: a particle on its anchor stays there. `[X5]`
#[inline(always)]
fn keep_length_or_anchor<L: Lane>(particle: Vec3x<L>, anchor: Vec3x<L>, length: L) -> Vec3x<L> {
    let (kept, on_anchor) = at_length(particle, anchor, length);
    Vec3x::select(on_anchor, anchor, kept)
}

/// A static capsule or line from its placed ends.
#[inline(always)]
pub fn placed_segment<L: Lane>(placed: &[f32], radius: &[f32; 2]) -> Segment<L> {
    segment(placed_ends(placed), radius)
}

/// Whether bounds overlap those of a placed collider. `[X3]`
#[inline(always)]
fn is_near<L: Lane>((centre, reach): (Vec3x<L>, L), placed: &[f32]) -> L::Mask {
    let theirs = Vec3x::load(&placed[placed::CENTRE * L::LANES..]);
    let reach = reach + L::load(&placed[placed::REACH * L::LANES..]);
    let offset = centre - theirs;
    offset.length_squared().le(reach * reach)
}

/// Whether a ball is near a placed capsule or line: inside its bounds `[X3]` and beside its axis.
///
/// ```text
/// v = centre − middle    h = half the axis     |v|²·|h|² − (v·h)² ≤ (width² + slack·|v|²)·|h|²
/// ```
/// A long capsule is in the bounds of most joints around it and touches few: the distance from the line of its axis
/// tells without a division. It only ever leaves out what does not touch, see [`BESIDE_SLACK`].
#[inline(always)]
fn near_segment<L: Lane>(centre: Vec3x<L>, radius: L, placed: &[f32]) -> L::Mask {
    let offset = centre - Vec3x::load(&placed[placed::CENTRE * L::LANES..]);
    let squared = offset.length_squared();
    let reach = radius * L::splat(contact::BOUNDS_FACTOR);
    let reach = reach + L::load(&placed[placed::REACH * L::LANES..]);
    let inside = squared.le(reach * reach);
    if !inside.any() {
        return inside;
    }
    let half_squared = L::load(&placed[placed::HALF_SQUARED * L::LANES..]);
    let along = offset.dot(Vec3x::load(&placed[placed::HALF * L::LANES..]));
    let width = radius + L::load(&placed[placed::WIDTH * L::LANES..]);
    let allowed = width * width + squared * L::splat(BESIDE_SLACK);
    inside & (squared * half_squared - along * along).le(allowed * half_squared)
}

/// A dynamic ball against a static collider; `None` when no lane is near. `[X3]`
#[inline(always)]
pub fn hit_sphere<L: Lane>(
    centre: Vec3x<L>,
    radius: L,
    other: &StaticPlan,
    placed: &[f32],
) -> Option<Hit<L>> {
    match &other.shape {
        PlacedShape::Sphere { radius: theirs, .. } => {
            let (at, theirs) = (Vec3x::load(placed), L::splat(*theirs));
            Some(contact::sphere_sphere(centre, radius, at, theirs))
        }
        PlacedShape::Capsule { radius: theirs, .. } | PlacedShape::Line { radius: theirs, .. } => {
            let near = near_segment(centre, radius, placed);
            if !near.any() {
                return None;
            }
            let segment = placed_segment(placed, theirs);
            Some(contact::sphere_segment(centre, radius, &segment).only(near))
        }
        PlacedShape::Plane { normal, offset } => {
            let (normal, offset) = (Vec3x::splat(*normal), L::splat(*offset));
            Some(contact::sphere_plane(centre, radius, normal, offset))
        }
    }
}

/// A dynamic line against a static collider; `None` when no lane is near. `[X3]`
#[inline(always)]
pub fn hit_segment<L: Lane>(
    line: &Segment<L>,
    other: &StaticPlan,
    placed: &[f32],
    parallel: ParallelEpsilon,
) -> Option<Hit<L>> {
    match &other.shape {
        PlacedShape::Sphere { radius: theirs, .. } => {
            let near = is_near(line.bounds(), placed);
            if !near.any() {
                return None;
            }
            let (at, theirs) = (Vec3x::load(placed), L::splat(*theirs));
            Some(contact::segment_sphere(line, at, theirs).only(near))
        }
        PlacedShape::Capsule { radius: theirs, .. } | PlacedShape::Line { radius: theirs, .. } => {
            let near = is_near(line.bounds(), placed);
            if !near.any() {
                return None;
            }
            let segment = placed_segment(placed, theirs);
            Some(contact::segment_segment(line, &segment, parallel).only(near))
        }
        PlacedShape::Plane { normal, offset } => {
            let (normal, offset) = (Vec3x::splat(*normal), L::splat(*offset));
            Some(contact::segment_plane(line, normal, offset))
        }
    }
}
