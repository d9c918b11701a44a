//! Near: which placed colliders the collider of a joint may touch, and where it touches them. `[X3]` `[X4]`
//!
//! Most pairs are far apart: what tells that costs the least and is asked first, for all lanes at once.

use crate::collider::PlacedShape;
use crate::contact::{self, Axis, Hit, Segment};
use crate::crowd::placed;
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::StaticPlan;
use crate::profile::ParallelEpsilon;
use crate::systems::placement::{placed_ends, segment};

/// A static capsule or line from its placed ends.
#[inline(always)]
fn placed_segment<L: Lane>(placed: &[f32], radius: &[f32; 2]) -> Segment<L> {
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

/// Whether a ball may touch a placed collider: for capsules and lines, whether it is beside the axis.
///
/// ```text
/// v = centre − middle    h = half the axis    t = v·h/|h|²    |v|² − (v·h)·t ≤ the square of the reach
/// ```
/// A long capsule has most joints around it in its bounds `[X3]` and touches few: the distance from the line of its axis
/// tells better, without a division or a root. What touches is inside the bounds as well, so that these need not be asked.
#[inline(always)]
pub(super) fn is_beside<L: Lane>(
    centre: Vec3x<L>,
    radius: L,
    other: &StaticPlan,
    placed: &[f32],
) -> L::Mask {
    match &other.shape {
        PlacedShape::Capsule { .. } | PlacedShape::Line { .. } => {
            let axis = placed_axis::<L>(placed);
            let offset = centre - axis.middle;
            let dot = offset.dot(axis.half);
            let beside = offset.length_squared() - dot * (dot * axis.inverse);
            // An axis of no length gives what is not a number: it may be touched.
            !L::load(&placed[placed::BESIDE * L::LANES..]).lt(beside)
        }
        PlacedShape::Sphere { radius: theirs, .. } => {
            let reach = radius + L::splat(*theirs);
            let offset = centre - Vec3x::load(placed);
            offset.length_squared().le(reach * reach)
        }
        PlacedShape::Plane { normal, offset } => {
            let distance = centre.dot(Vec3x::splat(*normal)) - L::splat(*offset);
            distance.le(radius)
        }
    }
}

/// A placed capsule or line seen from its middle.
#[inline(always)]
fn placed_axis<L: Lane>(placed: &[f32]) -> Axis<L> {
    Axis {
        middle: Vec3x::load(&placed[placed::CENTRE * L::LANES..]),
        half: Vec3x::load(&placed[placed::HALF * L::LANES..]),
        inverse: L::load(&placed[placed::INVERSE * L::LANES..]),
    }
}

/// A dynamic ball against a static collider that it may touch.
#[inline(always)]
pub(super) fn touch_ball<L: Lane>(
    centre: Vec3x<L>,
    radius: L,
    other: &StaticPlan,
    placed: &[f32],
) -> Hit<L> {
    match &other.shape {
        PlacedShape::Sphere { radius: theirs, .. } => {
            let (at, theirs) = (Vec3x::load(placed), L::splat(*theirs));
            contact::sphere_sphere(centre, radius, at, theirs)
        }
        PlacedShape::Capsule { radius: theirs, .. } | PlacedShape::Line { radius: theirs, .. } => {
            contact::sphere_axis(centre, radius, theirs, &placed_axis(placed))
        }
        PlacedShape::Plane { normal, offset } => {
            let (normal, offset) = (Vec3x::splat(*normal), L::splat(*offset));
            contact::sphere_plane(centre, radius, normal, offset)
        }
    }
}

/// A dynamic ball against a static collider; `None` when no lane is near. `[X3]`
#[inline(always)]
pub fn hit_sphere<L: Lane>(
    centre: Vec3x<L>,
    radius: L,
    other: &StaticPlan,
    placed: &[f32],
) -> Option<Hit<L>> {
    let beside = is_beside(centre, radius, other, placed);
    if !beside.any() {
        return None;
    }
    Some(touch_ball(centre, radius, other, placed).only(beside))
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
