//! Rotations: products, shortest arcs, blends, mirroring. `[C1]` `[C3]` `[B1]` `[B2]` `[V1]`
//!
//! Quaternions are (x, y, z, w); `a * b` applies `b` first. The simulation computes with [`Rotation`] and not with
//! `bevy_math::Quat`: the latter sums its lanes in an order that depends on the processor. Trigonometry comes from
//! `bevy_math::ops`, which with the `libm` feature is the same code on every machine.

use core::ops::{Mul, Neg};

use bevy_math::{Quat, ops};
use thiserror::Error;

use crate::lane::{Lane, LaneMask, MOST_LANES, Vec3x};

/// Where slerp becomes a normalised lerp: the sine of a smaller angle loses digits. `[C3]`
pub const SLERP_LINEAR_DOT: f32 = 0.9995;
/// `1 + a·b` below this is a half-turn, whose axis has to be chosen. `[V1]`
pub const HALF_TURN: f32 = 1e-6;

/// A rotation per lane, as a quaternion. Unit length unless a function says otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rotation<L> {
    /// Vector part, x.
    pub x: L,
    /// Vector part, y.
    pub y: L,
    /// Vector part, z.
    pub z: L,
    /// Scalar part.
    pub w: L,
}

impl<L: Lane> Rotation<L> {
    /// From four components.
    #[inline(always)]
    pub fn new(x: L, y: L, z: L, w: L) -> Self {
        Self { x, y, z, w }
    }
    /// No rotation.
    #[inline(always)]
    pub fn identity() -> Self {
        Self::splat([0.0, 0.0, 0.0, 1.0])
    }
    /// The same rotation in every lane.
    #[inline(always)]
    pub fn splat(q: [f32; 4]) -> Self {
        Self::new(
            L::splat(q[0]),
            L::splat(q[1]),
            L::splat(q[2]),
            L::splat(q[3]),
        )
    }
    /// Reads `[x…][y…][z…][w…]`, [`Lane::LANES`] numbers each.
    #[inline(always)]
    pub fn load(from: &[f32]) -> Self {
        let n = L::LANES;
        Self::new(
            L::load(from),
            L::load(&from[n..]),
            L::load(&from[2 * n..]),
            L::load(&from[3 * n..]),
        )
    }
    /// Writes `[x…][y…][z…][w…]`, [`Lane::LANES`] numbers each.
    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        let n = L::LANES;
        self.x.store(to);
        self.y.store(&mut to[n..]);
        self.z.store(&mut to[2 * n..]);
        self.w.store(&mut to[3 * n..]);
    }
    /// The rotation of lane `index`.
    #[inline(always)]
    pub fn lane(self, index: usize) -> [f32; 4] {
        [
            self.x.lane(index),
            self.y.lane(index),
            self.z.lane(index),
            self.w.lane(index),
        ]
    }
    /// Vector part.
    #[inline(always)]
    pub fn xyz(self) -> Vec3x<L> {
        Vec3x::new(self.x, self.y, self.z)
    }
    /// The rotation back.
    #[inline(always)]
    pub fn conjugate(self) -> Self {
        Self::new(-self.x, -self.y, -self.z, self.w)
    }
    /// Scalar product of the four components.
    #[inline(always)]
    pub fn dot(self, other: Self) -> L {
        self.x * other.x + self.y * other.y + self.z * other.z + self.w * other.w
    }
    /// `yes` where the mask says so, else `no`.
    #[inline(always)]
    pub fn select(mask: L::Mask, yes: Self, no: Self) -> Self {
        Self::new(
            L::select(mask, yes.x, no.x),
            L::select(mask, yes.y, no.y),
            L::select(mask, yes.z, no.z),
            L::select(mask, yes.w, no.w),
        )
    }
    /// Turns a vector: `v + 2w(u × v) + 2u × (u × v)`.
    #[inline(always)]
    pub fn rotate(self, v: Vec3x<L>) -> Vec3x<L> {
        let u = self.xyz();
        let half = u.cross(v);
        let twice = half + half;
        v + twice * self.w + u.cross(twice)
    }
    /// Turns a vector back: what `self.conjugate().rotate(v)` does, without turning signs.
    #[inline(always)]
    pub fn rotate_back(self, v: Vec3x<L>) -> Vec3x<L> {
        let u = self.xyz();
        let half = u.cross(v);
        let twice = half + half;
        v - twice * self.w + u.cross(twice)
    }
    /// Straight line between the components, `self` at 0 and `other` at 1; not unit in between.
    #[inline(always)]
    pub fn lerp(self, other: Self, t: L) -> Self {
        Self::new(
            self.x + (other.x - self.x) * t,
            self.y + (other.y - self.y) * t,
            self.z + (other.z - self.z) * t,
            self.w + (other.w - self.w) * t,
        )
    }
    /// Divided by its length; the length must not be 0.
    #[inline(always)]
    pub fn normalized(self) -> Self {
        self.scaled(L::splat(1.0) / self.dot(self).sqrt())
    }
    /// Seen in a space whose axes are flipped where `sign` is −1: `S·q·S`, again a rotation. `[C1]`
    ///
    /// `sign` holds ±1 per axis; all +1 changes nothing.
    #[inline(always)]
    pub fn reflected(self, sign: Vec3x<L>) -> Self {
        Self::new(
            self.x * (sign.y * sign.z),
            self.y * (sign.z * sign.x),
            self.z * (sign.x * sign.y),
            self.w,
        )
    }
    /// Whether all four components are finite.
    #[inline(always)]
    pub fn finite(self) -> L::Mask {
        self.xyz().finite() & self.w.finite()
    }
    /// Times a number.
    #[inline(always)]
    pub fn scaled(self, scale: L) -> Self {
        Self::new(
            self.x * scale,
            self.y * scale,
            self.z * scale,
            self.w * scale,
        )
    }
}

/// The product `self * other`: `other` is applied first.
impl<L: Lane> Mul for Rotation<L> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, o: Self) -> Self {
        Self::new(
            self.w * o.x + self.x * o.w + (self.y * o.z - self.z * o.y),
            self.w * o.y + self.y * o.w + (self.z * o.x - self.x * o.z),
            self.w * o.z + self.z * o.w + (self.x * o.y - self.y * o.x),
            self.w * o.w - self.x * o.x - self.y * o.y - self.z * o.z,
        )
    }
}
/// The same rotation, stored with the other sign.
impl<L: Lane> Neg for Rotation<L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z, -self.w)
    }
}

impl From<Quat> for Rotation<f32> {
    #[inline(always)]
    fn from(q: Quat) -> Self {
        Self::new(q.x, q.y, q.z, q.w)
    }
}
impl From<Rotation<f32>> for Quat {
    #[inline(always)]
    fn from(q: Rotation<f32>) -> Self {
        Self::from_xyzw(q.x, q.y, q.z, q.w)
    }
}

/// The shortest rotation that takes direction `a` to direction `b`, both unit. `[V1]`
///
/// `normalise(a × b, 1 + a·b)`. Opposite directions leave the axis open: a half-turn about `normalise(e × a)` then,
/// with `e` the basis vector of `a`'s smallest |component|, ties to the lowest index.
#[inline(always)]
pub fn from_to<L: Lane>(a: Vec3x<L>, b: Vec3x<L>) -> Rotation<L> {
    let w = L::splat(1.0) + a.dot(b);
    let cross = a.cross(b);
    let mut turn = Rotation::new(cross.x, cross.y, cross.z, w);
    let opposite = w.lt(L::splat(HALF_TURN));
    if opposite.any() {
        let axis = any_perpendicular(a);
        let half_turn = Rotation::new(axis.x, axis.y, axis.z, L::splat(0.0));
        turn = Rotation::select(opposite, half_turn, turn);
    }
    // Not by √(2w), which it is long between unit vectors: that would hand on, and enlarge, what these are off by.
    turn.scaled(turn.dot(turn).inverse_sqrt())
}

/// `e × a` with `e` the basis vector of `a`'s smallest |component|: perpendicular to `a`, not normalised. `[V1]`
#[inline(always)]
pub fn any_perpendicular<L: Lane>(a: Vec3x<L>) -> Vec3x<L> {
    let (x, y, z) = (a.x.abs(), a.y.abs(), a.z.abs());
    let zero = L::splat(0.0);
    let x_smallest = x.le(y) & x.le(z);
    let y_smallest = y.le(z);
    let of_y = Vec3x::new(a.z, zero, -a.x);
    let of_z = Vec3x::new(-a.y, a.x, zero);
    let of_x = Vec3x::new(zero, -a.z, a.y);
    Vec3x::select(x_smallest, of_x, Vec3x::select(y_smallest, of_y, of_z))
}

/// Spherical interpolation along the shorter way, `a` at 0 and `b` at 1. `[C3]`
///
/// Above [`SLERP_LINEAR_DOT`] a normalised lerp; below it the sine form, not normalised afterwards.
#[inline(always)]
pub fn slerp<L: Lane>(a: Rotation<L>, b: Rotation<L>, t: L) -> Rotation<L> {
    let dot = a.dot(b);
    let b = Rotation::select(dot.lt(L::splat(0.0)), -b, b);
    let dot = dot.abs();
    let one = L::splat(1.0);
    let near = a.lerp(b, t);
    let far = dot.lt(L::splat(SLERP_LINEAR_DOT));
    if !far.any() {
        return near.normalized();
    }
    let angle = dot.min(one).map(ops::acos);
    let sine = angle.map(ops::sin);
    let from = ((one - t) * angle).map(ops::sin) / sine;
    let to = (t * angle).map(ops::sin) / sine;
    let arc = Rotation::new(
        a.x * from + b.x * to,
        a.y * from + b.y * to,
        a.z * from + b.z * to,
        a.w * from + b.w * to,
    );
    Rotation::select(far, arc, near.normalized())
}

/// Why a blend was refused.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum BlendError {
    /// A rotation of length zero has no direction to blend.
    #[error("`{0}` is a zero quaternion; expected a rotation")]
    Zero(&'static str),
    /// A component is infinite or NaN.
    #[error("`{0}` has a component that is not finite")]
    NotFinite(&'static str),
    /// The weight is outside [0, 1] or not finite.
    #[error("`t` is {0}; expected a number from 0 to 1")]
    Weight(f32),
    /// Two inputs of a blend share an id, so that their order is open. `[B4]`
    #[error("two inputs have the id {0}; expected each id once")]
    DuplicateId(u32),
    /// No input of a blend has both a rotation and a weight. `[B4]`
    #[error("no input has a rotation and a weight; expected at least one")]
    NoInput,
}

/// `q` at unit length, whatever finite non-zero length it has: 1e30 and 1e-30 both work. `[B2]`
///
/// # Errors
/// [`BlendError`] naming `argument` when `q` is zero or not finite.
pub fn unit(q: Rotation<f32>, argument: &'static str) -> Result<Rotation<f32>, BlendError> {
    if !q.finite() {
        return Err(BlendError::NotFinite(argument));
    }
    let largest = q.x.abs().max(q.y.abs()).max(q.z.abs()).max(q.w.abs());
    if largest == 0.0 {
        return Err(BlendError::Zero(argument));
    }
    let near_one = Rotation::new(q.x / largest, q.y / largest, q.z / largest, q.w / largest);
    Ok(near_one.normalized())
}

/// `q` at unit length to rounding; what has no direction becomes no rotation. `[B2]`
///
/// For what is composed down a chain: ten rotations that are each off by 5e-4 would stretch it by a hundredth.
#[inline]
pub fn unit_or_identity(q: Rotation<f32>) -> Rotation<f32> {
    let squared = q.dot(q);
    if (squared - 1.0).abs() < 0.01 {
        return q.normalized();
    }
    unit(q, "rotation").unwrap_or(Rotation::identity())
}

/// [`unit_or_identity`] of every lane.
#[inline(always)]
pub fn unit_or_identity_in<L: Lane>(q: Rotation<L>) -> Rotation<L> {
    let squared = q.dot(q);
    let near = (squared - L::splat(1.0)).abs().lt(L::splat(0.01));
    let unit = q.normalized();
    if !(!near).any() {
        return unit;
    }
    let mut numbers = [0.0; 4 * MOST_LANES];
    q.store(&mut numbers);
    far_from_unit(L::LANES, &mut numbers);
    Rotation::select(near, unit, Rotation::load(&numbers))
}

/// Replaces rotations, `[x y z w][lane]`, by [`unit_or_identity`] of them.
#[cold]
fn far_from_unit(lanes: usize, numbers: &mut [f32; 4 * MOST_LANES]) {
    for lane in 0..lanes {
        let of = |component: usize| numbers[component * lanes + lane];
        let unit = unit_or_identity(Rotation::new(of(0), of(1), of(2), of(3)));
        for (component, value) in unit.lane(0).into_iter().enumerate() {
            numbers[component * lanes + lane] = value;
        }
    }
}

/// How far from 1 the squared length of a rotation may be to be shown with the bits it has, dimensionless.
///
/// A key stored in 16 bits is off by 1e-4. What the simulation composes is made exactly unit, see
/// [`unit_or_identity`].
const NEARLY_UNIT: f32 = 1e-3;

/// `q` itself when it is nearly unit, else at unit length; what has no direction becomes no rotation. `[B2]`
pub fn nearly_unit(q: Rotation<f32>) -> Rotation<f32> {
    if (q.dot(q) - 1.0).abs() <= NEARLY_UNIT {
        q
    } else {
        unit_or_identity(q)
    }
}

/// `b` with the sign that is on the hemisphere of `a`; at a dot product of exactly 0 the one it has. `[B1]`
#[inline(always)]
pub fn nearer<L: Lane>(a: Rotation<L>, b: Rotation<L>) -> Rotation<L> {
    Rotation::select(a.dot(b).lt(L::splat(0.0)), -b, b)
}

/// Shortest normalised lerp: `from` at 0, `to` at 1. `[B1]`
///
/// At a dot product of exactly 0 the stored sign of `to` decides, so that the answer is the same everywhere.
///
/// # Errors
/// [`BlendError`] naming the argument: a zero or non-finite rotation, a weight outside [0, 1].
pub fn nlerp(from: Rotation<f32>, to: Rotation<f32>, t: f32) -> Result<Rotation<f32>, BlendError> {
    let (a, b) = (unit(from, "from")?, unit(to, "to")?);
    if !(0.0..=1.0).contains(&t) {
        return Err(BlendError::Weight(t));
    }
    let mixed = a.lerp(nearer(a, b), t);
    debug_assert!(
        mixed.dot(mixed) > 0.25,
        "after the hemisphere choice a blend cannot collapse"
    );
    Ok(mixed.normalized())
}

/// Mirrors a rotation between a left-handed space and ours: (x, −y, −z, w). `[C1]`
pub fn mirror_x<L: Lane>(q: Rotation<L>) -> Rotation<L> {
    Rotation::new(q.x, -q.y, -q.z, q.w)
}

/// Angle between two unit rotations, radians, accurate also near 0. `[D1]`
pub fn angle_between(a: Rotation<f32>, b: Rotation<f32>) -> f32 {
    let d = a.conjugate() * b;
    2.0 * ops::atan2(d.xyz().length_squared().sqrt(), d.w.abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::euler::from_euler_zxy;

    fn turn(axis: [f32; 3], degrees: f32) -> Rotation<f32> {
        let (s, c) = ops::sin_cos(degrees.to_radians() * 0.5);
        Rotation::new(axis[0] * s, axis[1] * s, axis[2] * s, c)
    }

    #[test]
    fn b1_twenty_degrees_stored_with_the_other_sign_meets_at_ten() {
        let from = Rotation::identity();
        let middle = nlerp(from, -turn([1.0, 0.0, 0.0], 20.0), 0.5).unwrap();
        let degrees = angle_between(from, middle).to_degrees();
        assert!((degrees - 10.0).abs() < 1e-4, "{degrees}");
    }

    #[test]
    fn b1_names_the_argument_it_refuses() {
        let zero = Rotation::splat([0.0; 4]);
        let q = Rotation::identity();
        assert_eq!(nlerp(q, zero, 0.5), Err(BlendError::Zero("to")));
        assert_eq!(
            nlerp(Rotation::splat([f32::NAN; 4]), q, 0.5),
            Err(BlendError::NotFinite("from"))
        );
        assert_eq!(nlerp(q, q, 1.5), Err(BlendError::Weight(1.5)));
    }

    #[test]
    fn c3_slerp_goes_the_short_way_in_both_branches() {
        for degrees in [0.5, 20.0, 170.0] {
            let target = turn([0.0, 0.0, 1.0], degrees);
            for sign in [target, -target] {
                let middle = slerp(Rotation::identity(), sign, 0.5);
                let found = angle_between(Rotation::identity(), middle).to_degrees();
                assert!((found - degrees * 0.5).abs() < 1e-3, "{degrees}: {found}");
            }
        }
    }

    #[test]
    fn v1_opposite_directions_turn_half_about_a_perpendicular() {
        let a = Vec3x::new(1.0, 0.0, 0.0);
        for b in [Vec3x::new(-1.0, 0.0, 0.0), Vec3x::new(-1.0, 1e-7, 0.0)] {
            let q = from_to(a, b);
            let found = q.rotate(a);
            assert!((found - b).length_squared().sqrt() < 1e-5, "{found:?}");
            assert!((q.dot(q) - 1.0).abs() < 1e-6);
        }
        assert_eq!(from_to(a, a), Rotation::identity());
    }

    #[test]
    fn c1_reflecting_one_axis_is_mirroring() {
        let q = from_euler_zxy([0.1, 0.2, 0.3]);
        assert_eq!(q.reflected(Vec3x::new(-1.0, 1.0, 1.0)), mirror_x(q));
    }
}
