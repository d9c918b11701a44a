//! Collision: pushes the particles of a depth out of the static colliders. `[X1]` `[X3]` `[X5]`
//!
//! Runs second in a substep, per depth, after integration. Reads the placed static colliders; writes the particles and
//! their record of hits.
//!
//! Sequential: each hit sees what the last one did, in the rig's collider order, which is therefore part of the result.
//! The bone length is restored after every push. Works in true model space: the root correction is added before and
//! taken off after.

use core::ops::Range;

use crate::collider::PlacedShape;
use crate::contact::{self, Hit, Segment};
use crate::crowd::{Group, PLACED, particle, placed};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::{DynamicPlan, Plan, StaticPlan, SwingPlan};
use crate::pose::Rigid;
use crate::rotation::Rotation;
use crate::swing::ParallelEpsilon;
use crate::systems::integration::ON_ANCHOR_SQUARED;

/// How far beyond touching a ball still counts as beside a capsule: this share of its squared distance from the middle.
/// Far above what rounding adds up to, even a hundred metres from the origin; larger would let more pass for nothing.
const BESIDE_SLACK: f32 = 1e-3;

/// Puts the static colliders where the animated pose `pose` has their joints. `[X1]`
///
/// `fresh` actors have no place of a line before: both its ends start at the joint.
#[inline(always)]
pub fn place_statics<L: Lane>(plan: &Plan, group: &mut Group, pose: usize, fresh: bool) {
    let joints = plan.rest.len();
    for (index, collider) in plan.statics.iter().enumerate() {
        let Some(joint) = collider.joint else {
            continue;
        };
        let bone = group.model::<L>(pose, joint, joints);
        let own = index * PLACED * L::LANES..(index + 1) * PLACED * L::LANES;
        let before = if fresh {
            [bone.t; 2]
        } else {
            placed_ends(&group.statics[own.clone()])
        };
        let parent = match collider.parent {
            Some(parent) => group.model(pose, parent, joints).t,
            None => bone.t,
        };
        let ends = place_shape(&collider.shape, bone, parent, before);
        store_placed(&collider.shape, ends, &mut group.statics[own]);
    }
}

/// Writes the ends of a placed shape and what they tell of its neighbourhood. `[X2]`
///
/// Every joint asks for that, so it is computed once. `to` has [`PLACED`] numbers per lane.
#[inline(always)]
pub fn store_placed<L: Lane>(shape: &PlacedShape, ends: [Vec3x<L>; 2], to: &mut [f32]) {
    let half = (ends[1] - ends[0]) * L::splat(0.5);
    let (centre, reach, width) = match shape {
        PlacedShape::Sphere { radius, .. } => {
            let reach = L::splat(*radius) * L::splat(contact::BOUNDS_FACTOR);
            (ends[0], reach, L::splat(*radius))
        }
        PlacedShape::Capsule { radius, .. } | PlacedShape::Line { radius, .. } => {
            let segment = segment(ends, radius);
            let (centre, reach) = segment.bounds();
            (centre, reach, segment.radius_a.max(segment.radius_b))
        }
        // Everything is near a plane; nothing asks.
        PlacedShape::Plane { .. } => (ends[0], L::splat(0.0), L::splat(0.0)),
    };
    ends[0].store(&mut to[placed::END_A * L::LANES..]);
    ends[1].store(&mut to[placed::END_B * L::LANES..]);
    centre.store(&mut to[placed::CENTRE * L::LANES..]);
    reach.store(&mut to[placed::REACH * L::LANES..]);
    half.store(&mut to[placed::HALF * L::LANES..]);
    half.length_squared()
        .store(&mut to[placed::HALF_SQUARED * L::LANES..]);
    width.store(&mut to[placed::WIDTH * L::LANES..]);
}

/// Both ends of a placed shape.
#[inline(always)]
fn placed_ends<L: Lane>(placed: &[f32]) -> [Vec3x<L>; 2] {
    [
        Vec3x::load(&placed[placed::END_A * L::LANES..]),
        Vec3x::load(&placed[placed::END_B * L::LANES..]),
    ]
}

/// Both ends of `shape` on a joint at `bone` below one at `parent`; a ball's ends are both its centre. `[X1]`
///
/// `before` holds the ends so far: planes and lines too short to be placed stay there.
#[inline(always)]
pub fn place_shape<L: Lane>(
    shape: &PlacedShape,
    bone: Rigid<L>,
    parent: Vec3x<L>,
    before: [Vec3x<L>; 2],
) -> [Vec3x<L>; 2] {
    let point = |offset: &[f32; 3]| contact::place_point(bone.t, bone.r, Vec3x::splat(*offset));
    match shape {
        PlacedShape::Sphere { offset, .. } => {
            let centre = point(offset);
            [centre, centre]
        }
        PlacedShape::Capsule { offset, .. } => [point(&offset[0]), point(&offset[1])],
        PlacedShape::Line { inset, .. } => {
            contact::place_line(bone.t, parent, inset.map(L::splat), before)
        }
        PlacedShape::Plane { .. } => before,
    }
}

/// Collides the swing joints at `places` with the static colliders they meet.
#[inline(always)]
pub fn collide_particles<L: Lane>(
    plan: &Plan,
    places: Range<usize>,
    group: &mut Group,
    from_rest: bool,
    parallel: ParallelEpsilon,
) {
    for place in places {
        let swing = &plan.swings[place];
        let base = place * particle::COMPONENTS * L::LANES;
        let hits = particle::HITS * L::LANES;
        L::splat(0.0).store(&mut group.particles[base + hits..]);
        let Some(collider) = &swing.collider else {
            continue;
        };
        let own = &mut group.particles[base..][..particle::COMPONENTS * L::LANES];
        let rotation = if from_rest {
            Rotation::load(&own[particle::REST * L::LANES..])
        } else {
            Rotation::load(&own[particle::ROTATION * L::LANES..])
        };
        let body = Body {
            collider,
            origin: Vec3x::load(&own[particle::ORIGIN * L::LANES..]),
            rotation,
            length: L::splat(swing.length),
        };
        collide_particle(plan, swing, &body, own, &group.statics, parallel);
    }
}

/// The dynamic collider of a joint, and what it hangs on.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a, L> {
    /// Shape, metres.
    pub collider: &'a DynamicPlan,
    /// Origin of the joint, true model space.
    pub origin: Vec3x<L>,
    /// `R_cur` of `[S3]`.
    pub rotation: Rotation<L>,
    /// Bone length, metres.
    pub length: L,
}

#[inline(always)]
fn collide_particle<L: Lane>(
    plan: &Plan,
    swing: &SwingPlan,
    body: &Body<L>,
    own: &mut [f32],
    statics: &[f32],
    parallel: ParallelEpsilon,
) {
    let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
    let shifted = Vec3x::load(&own[particle::POSITION * L::LANES..]);
    let mut contacts = Contacts {
        position: shifted + correction,
        count: L::splat(0.0),
    };
    let size = PLACED * L::LANES;
    let meets = plan.meets[swing.meets.clone()].iter();
    let meets = meets.map(|&index| (&plan.statics[index], &statics[index * size..][..size]));
    match body.collider {
        // The usual shape has a loop of its own, which asks nothing about shapes that it is not.
        DynamicPlan::Sphere { offset, radius } if *offset == [0.0; 3] => {
            let radius = L::splat(*radius);
            for (other, placed) in meets {
                contacts.take(
                    push_ball(body, contacts.position, radius, other, placed),
                    own,
                );
            }
        }
        _ => {
            for (other, placed) in meets {
                contacts.take(push(body, contacts.position, other, placed, parallel), own);
            }
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
    /// Takes over what [`push`] found, and keeps the hit with the particle.
    #[inline(always)]
    fn take(&mut self, found: Option<(Vec3x<L>, Hit<L>)>, own: &mut [f32]) {
        let Some((pushed, hit)) = found else {
            return;
        };
        self.position = Vec3x::select(hit.touches, pushed, self.position);
        self.count = L::select(hit.touches, self.count + L::splat(1.0), self.count);
        let mut record = |component: usize, value: Vec3x<L>| {
            let before = Vec3x::load(&own[component * L::LANES..]);
            Vec3x::select(hit.touches, value, before).store(&mut own[component * L::LANES..]);
        };
        record(particle::HIT_NORMAL, hit.normal);
        record(particle::HIT_POSITION, pushed);
    }
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
    let kept = keep_length_or_anchor(target, body.origin, body.length);
    Some((kept, hit))
}

/// Where the particle goes when its collider touches `other`, bone length kept; `None` when no lane touches. `[X5]`
#[inline(always)]
pub fn push<L: Lane>(
    body: &Body<L>,
    position: Vec3x<L>,
    other: &StaticPlan,
    placed: &[f32],
    parallel: ParallelEpsilon,
) -> Option<(Vec3x<L>, Hit<L>)> {
    match body.collider {
        DynamicPlan::Sphere { offset, radius } if *offset == [0.0; 3] => {
            push_ball(body, position, L::splat(*radius), other, placed)
        }
        DynamicPlan::Sphere { offset, radius } => {
            let centre = contact::place_point(position, body.rotation, Vec3x::splat(*offset));
            let hit = hit_sphere(centre, L::splat(*radius), other, placed)?;
            pushed(body, position + (hit.target() - centre), hit)
        }
        DynamicPlan::Line { inset, radius } => {
            let inset = inset.map(L::splat);
            let [a, b] = contact::place_line(position, body.origin, inset, [position; 2]);
            let line = Segment {
                a,
                b,
                radius_a: L::splat(radius[0]),
                radius_b: L::splat(radius[1]),
            };
            let hit = hit_segment(&line, other, placed, parallel)?;
            pushed(body, hit.target(), hit)
        }
    }
}

/// How deep the joint's collider reaches into a static collider it can meet, metres; 0 when it touches none.
///
/// Looks at the state after a substep of one actor (a group of one lane): the measure of what `[X5]` and `[S8]` left.
pub fn deepest_penetration(plan: &Plan, group: &Group, place: usize) -> f32 {
    let swing = &plan.swings[place];
    let Some(collider) = &swing.collider else {
        return 0.0;
    };
    let own = &group.particles[place * particle::COMPONENTS..];
    let position =
        Vec3x::<f32>::load(&own[particle::POSITION..]) + Vec3x::load(&own[particle::CORRECTION..]);
    let body = Body {
        collider,
        origin: Vec3x::load(&own[particle::ORIGIN..]),
        rotation: Rotation::load(&own[particle::ROTATION..]),
        length: swing.length,
    };
    let depth = |&index: &usize| {
        let placed = &group.statics[index * PLACED..][..PLACED];
        let (target, at) = touch(&body, position, &plan.statics[index], placed)?;
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
) -> Option<(Vec3x<f32>, Vec3x<f32>)> {
    let parallel = ParallelEpsilon::Documented;
    match *body.collider {
        DynamicPlan::Sphere { offset, radius } => {
            let centre = contact::place_point(position, body.rotation, Vec3x::splat(offset));
            let hit = hit_sphere(centre, radius, other, placed)?;
            hit.touches.then(|| (hit.target(), centre))
        }
        DynamicPlan::Line { inset, radius } => {
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
    let offset = particle - anchor;
    let squared = offset.length_squared();
    let on_anchor = squared.le(L::splat(ON_ANCHOR_SQUARED));
    let kept = anchor + offset * (L::splat(1.0) / squared.sqrt()) * length;
    Vec3x::select(on_anchor, anchor, kept)
}

/// A static capsule or line from its placed ends.
#[inline(always)]
pub fn placed_segment<L: Lane>(placed: &[f32], radius: &[f32; 2]) -> Segment<L> {
    segment(placed_ends(placed), radius)
}

#[inline(always)]
fn segment<L: Lane>([a, b]: [Vec3x<L>; 2], radius: &[f32; 2]) -> Segment<L> {
    Segment {
        a,
        b,
        radius_a: L::splat(radius[0]),
        radius_b: L::splat(radius[1]),
    }
}

/// Whether bounds overlap those of a placed collider in any lane. `[X3]`
#[inline(always)]
fn is_near<L: Lane>((centre, reach): (Vec3x<L>, L), placed: &[f32]) -> bool {
    let theirs = Vec3x::load(&placed[placed::CENTRE * L::LANES..]);
    let reach = reach + L::load(&placed[placed::REACH * L::LANES..]);
    let offset = centre - theirs;
    offset.length_squared().le(reach * reach).any()
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
            let hit = contact::sphere_segment(centre, radius, &placed_segment(placed, theirs));
            // A lane that is not near must not see whether another is.
            let touches = hit.touches & near;
            Some(Hit { touches, ..hit })
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
            if !is_near(line.bounds(), placed) {
                return None;
            }
            let (at, theirs) = (Vec3x::load(placed), L::splat(*theirs));
            Some(contact::segment_sphere(line, at, theirs))
        }
        PlacedShape::Capsule { radius: theirs, .. } | PlacedShape::Line { radius: theirs, .. } => {
            if !is_near(line.bounds(), placed) {
                return None;
            }
            let segment = placed_segment(placed, theirs);
            Some(contact::segment_segment(line, &segment, parallel))
        }
        PlacedShape::Plane { normal, offset } => {
            let (normal, offset) = (Vec3x::splat(*normal), L::splat(*offset));
            Some(contact::segment_plane(line, normal, offset))
        }
    }
}
