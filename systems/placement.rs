//! Placement: puts the static colliders where the animated pose has their joints. `[X1]` `[X2]`
//!
//! Runs first in each substep. Reads the animated model transforms; writes [`Group::statics`]: both ends of each shape and
//! what they tell of its neighbourhood, which every joint then asks for.

use crate::collider::PlacedShape;
use crate::contact::{self, Axis, Segment};
use crate::crowd::{Group, PLACED, placed};
use crate::lane::{Lane, Pen, Vec3x};
use crate::pose::Rigid;
use crate::systems::substeps::Pass;

/// Puts the static colliders where the animated pose `pose` has their joints. `[X1]`
///
/// `fresh` actors have no place of a line before: both its ends start at the joint.
#[inline(always)]
pub fn place_statics<L: Lane>(pass: &Pass<L>, group: &mut Group, pose: usize, fresh: bool) {
    let plan = pass.plan;
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
        let to = &mut group.statics[own];
        put_placed(pass.pen, &collider.shape, collider.widest, ends, to);
    }
}

/// Writes the ends of a placed shape and what they tell of its neighbourhood. `[X2]`
///
/// Every joint asks for that, so it is computed once. `widest` is the radius of the largest ball that may ask; `to` has
/// [`PLACED`] numbers per lane.
#[inline(always)]
pub fn store_placed<L: Lane>(
    shape: &PlacedShape,
    widest: f32,
    ends: [Vec3x<L>; 2],
    to: &mut [f32],
) {
    put_placed(Pen::new(&[]), shape, widest, ends, to);
}

#[inline(always)]
fn put_placed<L: Lane>(
    pen: Pen<L>,
    shape: &PlacedShape,
    widest: f32,
    ends: [Vec3x<L>; 2],
    to: &mut [f32],
) {
    pen.put_vector(ends[0], &mut to[placed::END_A * L::LANES..]);
    pen.put_vector(ends[1], &mut to[placed::END_B * L::LANES..]);
    let (centre, reach) = match shape {
        PlacedShape::Sphere { radius, .. } => {
            let reach = L::splat(*radius) * L::splat(contact::BOUNDS_FACTOR);
            (ends[0], reach)
        }
        PlacedShape::Capsule { radius, .. } | PlacedShape::Line { radius, .. } => {
            let axis = Axis::between(ends);
            let beside = axis.beside(radius[0].abs().max(radius[1].abs()), widest);
            pen.put_vector(axis.half, &mut to[placed::HALF * L::LANES..]);
            pen.put(axis.inverse, &mut to[placed::INVERSE * L::LANES..]);
            pen.put(beside, &mut to[placed::BESIDE * L::LANES..]);
            segment(ends, radius).bounds()
        }
        // Everything is near a plane; nothing asks.
        PlacedShape::Plane { .. } => (ends[0], L::splat(0.0)),
    };
    pen.put_vector(centre, &mut to[placed::CENTRE * L::LANES..]);
    pen.put(reach, &mut to[placed::REACH * L::LANES..]);
}

/// Both ends of a placed shape.
#[inline(always)]
pub(super) fn placed_ends<L: Lane>(placed: &[f32]) -> [Vec3x<L>; 2] {
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
    match shape {
        PlacedShape::Sphere { offset, .. } => {
            let centre = bone.apply(Vec3x::splat(*offset));
            [centre, centre]
        }
        PlacedShape::Capsule { offset, .. } => [
            bone.apply(Vec3x::splat(offset[0])),
            bone.apply(Vec3x::splat(offset[1])),
        ],
        PlacedShape::Line { inset, .. } => {
            let inset = [L::splat(inset[0]), L::splat(inset[1])];
            contact::place_line(bone.t, parent, inset, before)
        }
        PlacedShape::Plane { .. } => before,
    }
}

/// A capsule or line from its ends.
#[inline(always)]
pub fn segment<L: Lane>([a, b]: [Vec3x<L>; 2], radius: &[f32; 2]) -> Segment<L> {
    Segment {
        a,
        b,
        radius_a: L::splat(radius[0]),
        radius_b: L::splat(radius[1]),
    }
}
