//! Wire: shapes of model space as lines in the world.

use bevy_ecs::entity::Entity;
use bevy_math::{Vec2, Vec3, ops};

use super::{DebugKind, DebugLine};
use crate::pose::Rigid;

/// Lines of a whole circle; a multiple of 4, so that circles about one centre meet in common points.
pub const CIRCLE_SEGMENTS: usize = 16;
/// Half the length of each line of a particle's cross, metres.
pub const CROSS: f32 = 0.01;
/// Half the side of the square that stands for a plane, metres.
pub const PATCH: f32 = 0.5;
/// A segment at most this long, metres, has no direction: its wire is a ball's.
const POINT: f32 = 1e-6;

/// The points of the unit circle in order, the first once more at the end.
#[derive(Debug)]
pub struct Circle([Vec2; CIRCLE_SEGMENTS + 1]);

impl Default for Circle {
    fn default() -> Self {
        let turn = core::f32::consts::TAU / CIRCLE_SEGMENTS as f32;
        let mut points = core::array::from_fn(|i| {
            let (sine, cosine) = ops::sin_cos(i as f32 * turn);
            Vec2::new(cosine, sine)
        });
        points[CIRCLE_SEGMENTS] = points[0];
        Self(points)
    }
}

/// A point of an actor's model space in the world: the one place that knows how the two hang together. A character's
/// place is given in the metres of its own rig, see [`crate::game::SwingTransformPlugin`].
fn world_point(metres_from_model: Rigid<f32>, metres_per_world: f32, point: Vec3) -> Vec3 {
    Vec3::from(metres_from_model.apply(point.into())) / metres_per_world
}

/// Draws the shapes of one actor; everything it is given is in the actor's model space, metres.
pub struct Wire<'a> {
    /// What is drawn so far, of this actor and those before.
    pub lines: &'a mut Vec<DebugLine>,
    /// Computed once.
    pub circle: &'a Circle,
    /// Whose lines they are.
    pub actor: Entity,
    /// Where it stands, in metres of its rig.
    pub metres_from_model: Rigid<f32>,
    /// How many of these a unit of the world is, > 0.
    pub metres_per_world: f32,
}

impl Wire<'_> {
    /// A line; one with an end that is not finite is passed over, because renderers have no answer to it.
    pub fn line(&mut self, kind: DebugKind, from: Vec3, to: Vec3) {
        let to_world = |point| world_point(self.metres_from_model, self.metres_per_world, point);
        let (from, to) = (to_world(from), to_world(to));
        if from.is_finite() && to.is_finite() {
            let actor = self.actor;
            self.lines.push(DebugLine {
                from,
                to,
                kind,
                actor,
            });
        }
    }

    /// Lines from point to point.
    pub fn path(&mut self, kind: DebugKind, points: impl IntoIterator<Item = Vec3>) {
        let mut points = points.into_iter();
        let Some(mut from) = points.next() else {
            return;
        };
        for to in points {
            self.line(kind, from, to);
            from = to;
        }
    }

    /// Three lines through `at`, along the axes of model space.
    pub fn cross(&mut self, kind: DebugKind, at: Vec3) {
        for axis in Vec3::AXES {
            self.line(kind, at - axis * CROSS, at + axis * CROSS);
        }
    }

    /// The first `segments` lines of a circle that begins at `centre + u` towards `v`; `u` and `v` are as long as its
    /// radius.
    fn arc(&mut self, kind: DebugKind, centre: Vec3, [u, v]: [Vec3; 2], segments: usize) {
        let circle = self.circle;
        let points = circle.0[..=segments].iter();
        self.path(kind, points.map(|at| centre + u * at.x + v * at.y));
    }

    /// A ball: its three great circles across the axes of model space.
    pub fn ball(&mut self, kind: DebugKind, centre: Vec3, radius: f32) {
        let [x, y, z] = Vec3::AXES.map(|axis| axis * radius);
        for sides in [[x, y], [y, z], [z, x]] {
            self.arc(kind, centre, sides, CIRCLE_SEGMENTS);
        }
    }

    /// A capsule whose ends may differ: a circle and two half circles at each end, four lines between, and only the axis
    /// where both radii are 0.
    ///
    /// The circles stand across the axis, as the solver's surface does: its radius goes linearly from end to end. `[X4]`
    pub fn capsule(&mut self, kind: DebugKind, ends: [Vec3; 2], radii: [f32; 2]) {
        let offset = ends[1] - ends[0];
        let length = offset.length();
        if radii == [0.0; 2] {
            self.line(kind, ends[0], ends[1]);
            return;
        }
        // So is one whose length is no number: its lines are not drawn.
        if length <= POINT {
            self.ball(kind, ends[0], radii[0].max(radii[1]));
            return;
        }
        let axis = offset / length;
        let (u, v) = axis.any_orthonormal_pair();
        for ((centre, radius), out) in ends.into_iter().zip(radii).zip([-axis, axis]) {
            let [u, v, out] = [u, v, out].map(|side| side * radius);
            self.arc(kind, centre, [u, v], CIRCLE_SEGMENTS);
            self.arc(kind, centre, [u, out], CIRCLE_SEGMENTS / 2);
            self.arc(kind, centre, [v, out], CIRCLE_SEGMENTS / 2);
        }
        for side in [u, v, -u, -v] {
            let [from, to] = [0, 1].map(|end| ends[end] + side * radii[end]);
            self.line(kind, from, to);
        }
    }

    /// A plane: a square about the point nearest to the model's origin, its diagonals, and a line along the unit
    /// `normal`.
    pub fn plane(&mut self, kind: DebugKind, normal: Vec3, offset: f32) {
        let at = normal * offset;
        let (u, v) = normal.any_orthonormal_pair();
        let corner = |x: f32, y: f32| at + (u * x + v * y) * PATCH;
        let corners = [
            corner(-1.0, -1.0),
            corner(1.0, -1.0),
            corner(1.0, 1.0),
            corner(-1.0, 1.0),
        ];
        self.path(kind, corners.into_iter().chain([corners[0]]));
        self.line(kind, corners[0], corners[2]);
        self.line(kind, corners[1], corners[3]);
        self.line(kind, at, at + normal * PATCH);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `draw` draws in a world whose origin is the actor's.
    fn drawn(draw: impl FnOnce(&mut Wire)) -> Vec<DebugLine> {
        let (mut lines, circle) = (Vec::new(), Circle::default());
        draw(&mut Wire {
            lines: &mut lines,
            circle: &circle,
            actor: Entity::PLACEHOLDER,
            metres_from_model: Rigid::identity(),
            metres_per_world: 1.0,
        });
        lines
    }

    #[test]
    fn a_circle_closes_and_its_quarters_lie_on_the_axes() {
        let Circle(points) = Circle::default();
        assert_eq!(points[0], points[CIRCLE_SEGMENTS]);
        let quarter = points[CIRCLE_SEGMENTS / 4];
        assert!((quarter - Vec2::Y).length() < 1e-6, "{quarter}");
    }

    #[test]
    fn the_wire_of_a_tapered_capsule_lies_on_its_surface() {
        let (ends, radii) = ([Vec3::Y, Vec3::new(0.0, 1.0, 2.0)], [0.1, 0.3]);
        let lines = drawn(|wire| wire.capsule(DebugKind::StaticCollider, ends, radii));
        assert_eq!(lines.len(), 2 * CIRCLE_SEGMENTS * 2 + 4);
        let (mut low, mut high) = (f32::MAX, f32::MIN);
        for point in lines.iter().flat_map(|line| [line.from, line.to]) {
            let along = (point.z / 2.0).clamp(0.0, 1.0);
            let from_axis = point.distance(ends[0].lerp(ends[1], along));
            let radius = 0.1 + 0.2 * along;
            assert!((from_axis - radius).abs() < 1e-6, "{point}: {from_axis} m");
            (low, high) = (low.min(point.z), high.max(point.z));
        }
        assert!((low + 0.1).abs() < 1e-6 && (high - 2.3).abs() < 1e-6);
    }

    #[test]
    fn a_capsule_without_length_is_a_ball_and_one_without_width_a_line() {
        let kind = DebugKind::StaticCollider;
        let point = drawn(|wire| wire.capsule(kind, [Vec3::X; 2], [0.1, 0.2]));
        assert_eq!(point, drawn(|wire| wire.ball(kind, Vec3::X, 0.2)));
        let thin = drawn(|wire| wire.capsule(kind, [Vec3::X, Vec3::Y], [0.0; 2]));
        assert_eq!(thin.len(), 1);
        assert_eq!((thin[0].from, thin[0].to), (Vec3::X, Vec3::Y));
    }

    #[test]
    fn what_is_not_finite_is_not_drawn() {
        let kind = DebugKind::StaticCollider;
        for bad in [f32::NAN, f32::INFINITY] {
            let ends = [Vec3::X, Vec3::splat(bad)];
            assert_eq!(drawn(|wire| wire.line(kind, ends[0], ends[1])), []);
            assert_eq!(drawn(|wire| wire.ball(kind, ends[1], 0.1)), []);
            assert_eq!(drawn(|wire| wire.plane(kind, Vec3::Y, bad)), []);
            assert!(drawn(|wire| wire.capsule(kind, ends, [0.1; 2])).len() <= 2 * CIRCLE_SEGMENTS);
        }
    }
}
