//! Contacts: where two colliders touch, and how far one is pushed out of the other. `[X1]`–`[X4]`
//!
//! Pure geometry in model space, metres, one answer per lane. A hit is (normal, position, value): the pushed point goes
//! to `position + normal · value`. `[X5]`

use crate::lane::{Lane, LaneMask, Vec3x};
use crate::profile::ParallelEpsilon;
use crate::rotation::Rotation;

/// Up to this squared distance, square metres, two points coincide and the normal is +Y. `[X4]`
const NO_DIRECTION_SQUARED: f32 = 1e-10;
/// A segment whose squared length is at most this is a point. `[X4]`
const POINT_SQUARED: f32 = 1e-5;
/// A line at most this long, metres, is left where it was. `[X1]`
const SHORTEST_LINE: f32 = 0.01;
/// How far beyond touching a ball still counts as beside an axis: this share of the square of what it spans. Far above
/// what rounding adds up to, even a hundred metres from the origin; larger would let more pass for nothing.
const BESIDE_SLACK: f32 = 2e-3;
/// Bounds are this much larger than the shape. `[X2]`
pub const BOUNDS_FACTOR: f32 = 1.1;

/// Whether and where a dynamic collider touches a static one.
#[derive(Clone, Copy, Debug)]
pub struct Hit<L: Lane> {
    /// Lanes that touch; in the others the rest means nothing.
    pub touches: L::Mask,
    /// Unit, from the static to the dynamic collider.
    pub normal: Vec3x<L>,
    /// Nearest point of the static collider's axis (of a sphere its centre; for planes the dynamic centre), metres.
    pub position: Vec3x<L>,
    /// How far along `normal` from `position` the dynamic centre belongs, metres.
    pub value: L,
    /// For a dynamic line, where along it the contact is, 0 at its first end; 0 for spheres.
    pub along: L,
}

impl<L: Lane> Hit<L> {
    /// Where the dynamic centre belongs. `[X5]`
    #[inline(always)]
    pub fn target(&self) -> Vec3x<L> {
        self.position + self.normal * self.value
    }

    /// The same hit where `near`: a lane that is not near must not see whether another is.
    #[inline(always)]
    pub fn only(self, near: L::Mask) -> Self {
        let touches = self.touches & near;
        Self { touches, ..self }
    }
}

/// A segment with a radius at each end: a placed capsule or line.
#[derive(Clone, Copy, Debug)]
pub struct Segment<L> {
    /// First end, metres.
    pub a: Vec3x<L>,
    /// Second end, metres.
    pub b: Vec3x<L>,
    /// Radius at the first end, metres.
    pub radius_a: L,
    /// Radius at the second end, metres.
    pub radius_b: L,
}

impl<L: Lane> Segment<L> {
    #[inline(always)]
    fn radius_at(&self, t: L) -> L {
        self.radius_a + (self.radius_b - self.radius_a) * t
    }
    #[inline(always)]
    fn point_at(&self, t: L) -> Vec3x<L> {
        self.a + (self.b - self.a) * t
    }
    /// Centre and radius of a ball around it, with the factor of `[X2]`.
    #[inline(always)]
    pub fn bounds(&self) -> (Vec3x<L>, L) {
        let half = L::splat(0.5);
        let axis = self.b - self.a;
        let radius = axis.length_squared().sqrt() * half + self.radius_a.max(self.radius_b);
        (self.a + axis * half, radius * L::splat(BOUNDS_FACTOR))
    }
}

/// A segment seen from its middle.
#[derive(Clone, Copy, Debug)]
pub struct Axis<L> {
    /// Metres.
    pub middle: Vec3x<L>,
    /// From the middle to the second end, metres.
    pub half: Vec3x<L>,
    /// 1 over the square of the length of `half`; infinite where it has none.
    pub inverse: L,
}

impl<L: Lane> Axis<L> {
    /// Of two ends.
    #[inline(always)]
    pub fn between([a, b]: [Vec3x<L>; 2]) -> Self {
        let half = (b - a) * L::splat(0.5);
        Self {
            middle: a + half,
            half,
            inverse: L::splat(1.0) / half.length_squared(),
        }
    }

    /// Square of the distance from the line within which a ball of `radius` may touch a shape of half-width `width`.
    ///
    /// What touches is no farther from the middle than |half| + width + radius: what is computed of such a distance is off
    /// by less than the slack.
    #[inline(always)]
    pub fn beside(&self, width: f32, radius: f32) -> L {
        let squared = (width + radius) * (width + radius);
        let slack = self.half.length_squared() + L::splat(squared);
        L::splat(squared) + slack * L::splat(BESIDE_SLACK)
    }
}

/// The ends of a bone's line collider between `bone` and `parent`, insets applied. `[X1]`
///
/// `inset` already has the shape's scale. A line of at most 0.01 m stays at `before`, its ends so far.
#[inline(always)]
pub fn place_line<L: Lane>(
    bone: Vec3x<L>,
    parent: Vec3x<L>,
    inset: [L; 2],
    before: [Vec3x<L>; 2],
) -> [Vec3x<L>; 2] {
    let zero = L::splat(0.0);
    let offset = parent - bone;
    let length = offset.length_squared().sqrt();
    let direction = offset * (L::splat(1.0) / length);
    let [a, c] = inset;
    let both = a + c;
    let squeezed_a = a * length / both;
    let squeezed_c = (c - c * (both - length) / (c + squeezed_a)).max(zero);
    let too_long = length.lt(both);
    let a = L::select(too_long, squeezed_a.max(zero), a);
    let c = L::select(too_long, squeezed_c, c);
    let long_enough = L::splat(SHORTEST_LINE).lt(length);
    [
        Vec3x::select(long_enough, bone + direction * a, before[0]),
        Vec3x::select(long_enough, parent - direction * c, before[1]),
    ]
}

/// A point of a collider: `bone + rotation · offset`. `[X1]`
#[inline(always)]
pub fn place_point<L: Lane>(bone: Vec3x<L>, rotation: Rotation<L>, offset: Vec3x<L>) -> Vec3x<L> {
    bone + rotation.rotate(offset)
}

/// Two balls: the dynamic one at `centre`, the static one at `other`. Touching counts. `[X4]`
#[inline(always)]
pub fn sphere_sphere<L: Lane>(
    centre: Vec3x<L>,
    radius: L,
    other: Vec3x<L>,
    other_radius: L,
) -> Hit<L> {
    touch(centre - other, other, radius + other_radius)
}

/// Two balls whose centres are `offset` apart, the static one at `position`, their radii together `value`.
#[inline(always)]
fn touch<L: Lane>(offset: Vec3x<L>, position: Vec3x<L>, value: L) -> Hit<L> {
    let squared = offset.length_squared();
    let apart = Hit {
        touches: squared.le(value * value),
        normal: offset,
        position,
        value,
        along: L::splat(0.0),
    };
    if !apart.touches.any() {
        // Most pairs that are near do not touch: no direction for them.
        return apart;
    }
    Hit {
        normal: direction_or_up(offset, squared),
        ..apart
    }
}

/// The direction of `offset`, whose squared length is given; +Y where it has none. `[X4]`
#[inline(always)]
pub fn direction_or_up<L: Lane>(offset: Vec3x<L>, squared: L) -> Vec3x<L> {
    let direction = offset * squared.inverse_sqrt();
    // Nor has one whose square is beyond all numbers.
    let has_one = L::splat(NO_DIRECTION_SQUARED).lt(squared) & squared.finite();
    if !(!has_one).any() {
        return direction;
    }
    let zero = L::splat(0.0);
    let up = Vec3x::new(zero, L::splat(1.0), zero);
    Vec3x::select(has_one, direction, up)
}

/// A dynamic ball against a static capsule or line: two balls at the nearest point of the axis. `[X4]`
///
/// `radii` are those of the ends.
#[inline(always)]
pub fn sphere_axis<L: Lane>(
    centre: Vec3x<L>,
    radius: L,
    radii: &[f32; 2],
    axis: &Axis<L>,
) -> Hit<L> {
    let one = L::splat(1.0);
    let offset = centre - axis.middle;
    // An axis of no length gives what is not a number, which the clamp turns into −1, the first end.
    let t = (offset.dot(axis.half) * axis.inverse).clamp_to(-one, one);
    let foot = axis.half * t;
    let middle = L::splat((radii[0] + radii[1]) * 0.5);
    let value = radius + middle + L::splat((radii[1] - radii[0]) * 0.5) * t;
    touch(offset - foot, axis.middle + foot, value)
}

/// A dynamic line against a static ball. `[X4]`
#[inline(always)]
pub fn segment_sphere<L: Lane>(line: &Segment<L>, other: Vec3x<L>, other_radius: L) -> Hit<L> {
    let (zero, one) = (L::splat(0.0), L::splat(1.0));
    let axis = line.b - line.a;
    let s = (axis.dot(other - line.a) / axis.length_squared()).clamp_to(zero, one);
    let hit = sphere_sphere(line.point_at(s), line.radius_at(s), other, other_radius);
    Hit { along: s, ..hit }
}

/// A dynamic line against a static capsule or line: two balls at the nearest points of the axes. `[X4]`
#[inline(always)]
pub fn segment_segment<L: Lane>(
    line: &Segment<L>,
    other: &Segment<L>,
    parallel: ParallelEpsilon,
) -> Hit<L> {
    let (s, t) = nearest_of_segments(line, other, parallel);
    let (point, radius) = (line.point_at(s), line.radius_at(s));
    let hit = sphere_sphere(point, radius, other.point_at(t), other.radius_at(t));
    Hit { along: s, ..hit }
}

/// Where along two segments, 0 to 1 each, they are nearest. `[X4]`
///
/// ```text
/// r = A1 − A2   a = |d1|²   e = |d2|²   b = d1·d2   c = d1·r   f = d2·r   D = a·e − b²
/// s = clamp((b·f − c·e)/D)   t = (b·s + f)/e   and, where t leaves [0, 1], s again for the end
/// ```
#[inline(always)]
fn nearest_of_segments<L: Lane>(
    one: &Segment<L>,
    two: &Segment<L>,
    parallel: ParallelEpsilon,
) -> (L, L) {
    let (zero, unit) = (L::splat(0.0), L::splat(1.0));
    let (d1, d2, r) = (one.b - one.a, two.b - two.a, one.a - two.a);
    let (a, e, b) = (d1.length_squared(), d2.length_squared(), d1.dot(d2));
    let (c, f) = (d1.dot(r), d2.dot(r));
    let point = L::splat(POINT_SQUARED);
    let (one_is_point, two_is_point) = (a.le(point), e.le(point));

    let determinant = a * e - b * b;
    let least = match parallel {
        ParallelEpsilon::Documented => L::splat(1e-5),
        ParallelEpsilon::Relative => L::splat(1e-6) * a * e,
    };
    let crossing = clamp_unit((b * f - c * e) / determinant);
    let s = L::select(least.lt(determinant), crossing, zero);
    let t = (b * s + f) / e;
    let before = t.lt(zero);
    let beyond = unit.lt(t);
    let s = L::select(
        before,
        clamp_unit(-c / a),
        L::select(beyond, clamp_unit((b - c) / a), s),
    );
    let t = clamp_unit(t);

    let s = L::select(two_is_point, clamp_unit(-c / a), s);
    let t = L::select(two_is_point, zero, t);
    let s = L::select(one_is_point, zero, s);
    let lone = L::select(two_is_point, zero, clamp_unit(f / e));
    (s, L::select(one_is_point, lone, t))
}

#[inline(always)]
fn clamp_unit<L: Lane>(x: L) -> L {
    x.clamp_to(L::splat(0.0), L::splat(1.0))
}

/// A dynamic ball against a plane. `[X4]`
#[inline(always)]
pub fn sphere_plane<L: Lane>(centre: Vec3x<L>, radius: L, normal: Vec3x<L>, offset: L) -> Hit<L> {
    let distance = centre.dot(normal) - offset;
    Hit {
        touches: distance.le(radius),
        normal,
        position: centre,
        value: radius - distance,
        along: L::splat(0.0),
    }
}

/// A dynamic line against a plane: its nearer end, the particle's where both are equally near. `[X4]`
#[inline(always)]
pub fn segment_plane<L: Lane>(line: &Segment<L>, normal: Vec3x<L>, offset: L) -> Hit<L> {
    let second = line.b.dot(normal).lt(line.a.dot(normal));
    let end = Vec3x::select(second, line.b, line.a);
    let radius = L::select(second, line.radius_b, line.radius_a);
    let hit = sphere_plane(end, radius, normal, offset);
    Hit {
        along: L::select(second, L::splat(1.0), L::splat(0.0)),
        ..hit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v(x: f32, y: f32, z: f32) -> Vec3x<f32> {
        Vec3x::new(x, y, z)
    }

    fn tapered() -> Segment<f32> {
        Segment {
            a: v(0.0, 0.0, 0.0),
            b: v(0.0, 1.0, 0.0),
            radius_a: 0.2,
            radius_b: 0.1,
        }
    }

    fn hit_tapered(centre: Vec3x<f32>, segment: &Segment<f32>) -> Hit<f32> {
        let axis = Axis::between([segment.a, segment.b]);
        let radii = [segment.radius_a, segment.radius_b];
        sphere_axis(centre, 0.02, &radii, &axis)
    }

    #[test]
    fn coll_01_a_capsule_ends_where_it_is_drawn() {
        let misses = [v(0.0, 1.25, 0.0), v(0.19, -0.2, 0.0)];
        for point in misses {
            assert!(!hit_tapered(point, &tapered()).touches, "{point:?}");
        }
        let hits = [
            (v(0.1, 1.05, 0.0), v(0.107_331, 1.053_666, 0.0)),
            (v(0.12, 0.5, 0.0), v(0.17, 0.5, 0.0)),
        ];
        for (point, expected) in hits {
            let hit = hit_tapered(point, &tapered());
            let difference = (hit.target() - expected).length_squared().sqrt();
            assert!(hit.touches && difference < 1e-6, "{point:?}: {difference}");
        }
    }

    #[test]
    fn coll_03_a_capsule_of_no_length_is_its_first_ball() {
        let point_like = Segment {
            b: v(0.0, 0.0, 0.0),
            ..tapered()
        };
        let hit = hit_tapered(v(0.05, 0.0, 0.0), &point_like);
        assert!((hit.target() - v(0.22, 0.0, 0.0)).length_squared() < 1e-12);
        let centre = hit_tapered(v(0.0, 0.0, 0.0), &point_like);
        assert!((centre.target() - v(0.0, 0.22, 0.0)).length_squared() < 1e-12);
    }

    #[test]
    fn coll_11_a_plane_pushes_along_its_normal() {
        let hit = sphere_plane(v(0.3, 0.02, 0.0), 0.05, v(0.0, 1.0, 0.0), 0.0);
        assert!(hit.touches);
        assert!((hit.target() - v(0.3, 0.05, 0.0)).length_squared() < 1e-12);
    }

    #[test]
    fn x1_insets_longer_than_the_bone_meet_inside_it() {
        let [a, b] = place_line(
            v(0.0, 0.0, 0.0),
            v(0.0, 0.1, 0.0),
            [0.08, 0.08],
            [v(0.0, 0.0, 0.0); 2],
        );
        assert!(a.y >= 0.0 && b.y <= 0.1 && a.y <= 0.1, "{a:?} {b:?}");
    }
}
