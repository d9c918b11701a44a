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
use crate::crowd::{Group, PLACED, RIGID, particle, placed};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::{DynamicPlan, Plan, StaticPlan, SwingPlan};
use crate::pose::Rigid;
use crate::rotation::Rotation;
use crate::swing::ParallelEpsilon;
use crate::systems::integration::ON_ANCHOR_SQUARED;

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
        let model = |joint: usize| {
            let offset = group.pose_offset(pose, joint, joints);
            Rigid::<L>::load(&group.models[offset..][..RIGID * L::LANES])
        };
        let bone = model(joint);
        let own = index * PLACED * L::LANES..(index + 1) * PLACED * L::LANES;
        let before = if fresh {
            [bone.t; 2]
        } else {
            placed_ends(&group.statics[own.clone()])
        };
        let parent = collider.parent.map_or(bone.t, |parent| model(parent).t);
        let ends = place_shape(&collider.shape, bone, parent, before);
        store_placed(&collider.shape, ends, &mut group.statics[own]);
    }
}

/// Writes the ends of a placed shape and the bounds they give it. `[X2]`
///
/// Every joint asks for the bounds, so they are computed once. `to` has [`PLACED`] numbers per lane.
#[inline(always)]
pub fn store_placed<L: Lane>(shape: &PlacedShape, ends: [Vec3x<L>; 2], to: &mut [f32]) {
    let (centre, reach) = match shape {
        PlacedShape::Sphere { radius, .. } => {
            let reach = L::splat(*radius) * L::splat(contact::BOUNDS_FACTOR);
            (ends[0], reach)
        }
        PlacedShape::Capsule { radius, .. } | PlacedShape::Line { radius, .. } => {
            segment(ends, radius).bounds()
        }
        // A plane has no bounds: everything is near.
        PlacedShape::Plane { .. } => (ends[0], L::splat(f32::INFINITY)),
    };
    ends[0].store(&mut to[placed::END_A * L::LANES..]);
    ends[1].store(&mut to[placed::END_B * L::LANES..]);
    centre.store(&mut to[placed::CENTRE * L::LANES..]);
    reach.store(&mut to[placed::REACH * L::LANES..]);
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
    let mut position = shifted + correction;
    let mut count = L::splat(0.0);
    for &index in &plan.meets[swing.meets.clone()] {
        let placed = &statics[index * PLACED * L::LANES..][..PLACED * L::LANES];
        let other = &plan.statics[index];
        let Some((pushed, hit)) = push::<L>(body, position, other, placed, parallel) else {
            continue;
        };
        position = Vec3x::select(hit.touches, pushed, position);
        count = L::select(hit.touches, count + L::splat(1.0), count);
        let record = |own: &mut [f32], component: usize, value: Vec3x<L>| {
            let before = Vec3x::load(&own[component * L::LANES..]);
            Vec3x::select(hit.touches, value, before).store(&mut own[component * L::LANES..]);
        };
        record(own, particle::HIT_NORMAL, hit.normal);
        record(own, particle::HIT_POSITION, pushed);
    }
    let hit = L::splat(0.0).lt(count);
    if hit.any() {
        // Adding and taking off the correction rounds; a particle that nothing touched keeps its bits.
        let moved = Vec3x::select(hit, position - correction, shifted);
        moved.store(&mut own[particle::POSITION * L::LANES..]);
        count.store(&mut own[particle::HITS * L::LANES..]);
    }
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
    let (hit, moved) = match body.collider {
        DynamicPlan::Sphere { offset, radius } => {
            let centred = *offset == [0.0; 3];
            let centre = if centred {
                position
            } else {
                contact::place_point(position, body.rotation, Vec3x::splat(*offset))
            };
            let hit = hit_sphere(centre, L::splat(*radius), other, placed)?;
            let target = hit.target();
            let moved = if centred {
                target
            } else {
                position + (target - centre)
            };
            (hit, moved)
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
            (hit, hit.target())
        }
    };
    hit.touches
        .any()
        .then(|| (keep_length_or_anchor(moved, body.origin, body.length), hit))
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

/// A dynamic ball against a static collider; `None` when no lane is near. `[X3]`
#[inline(always)]
pub fn hit_sphere<L: Lane>(
    centre: Vec3x<L>,
    radius: L,
    other: &StaticPlan,
    placed: &[f32],
) -> Option<Hit<L>> {
    let bounds = (centre, radius * L::splat(contact::BOUNDS_FACTOR));
    match &other.shape {
        PlacedShape::Sphere { radius: theirs, .. } => {
            let (at, theirs) = (Vec3x::load(placed), L::splat(*theirs));
            Some(contact::sphere_sphere(centre, radius, at, theirs))
        }
        PlacedShape::Capsule { radius: theirs, .. } | PlacedShape::Line { radius: theirs, .. } => {
            is_near(bounds, placed)
                .then(|| contact::sphere_segment(centre, radius, &placed_segment(placed, theirs)))
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
            let (at, theirs) = (Vec3x::load(placed), L::splat(*theirs));
            is_near(line.bounds(), placed).then(|| contact::segment_sphere(line, at, theirs))
        }
        PlacedShape::Capsule { radius: theirs, .. } | PlacedShape::Line { radius: theirs, .. } => {
            is_near(line.bounds(), placed)
                .then(|| contact::segment_segment(line, &placed_segment(placed, theirs), parallel))
        }
        PlacedShape::Plane { normal, offset } => {
            let (normal, offset) = (Vec3x::splat(*normal), L::splat(*offset));
            Some(contact::segment_plane(line, normal, offset))
        }
    }
}
