//! Lanes: one body of maths for one actor or for many side by side.
//!
//! Every kernel of the engine is written once, generic over [`Lane`]. With `f32` it moves one actor; with [`Wide`]
//! it moves `N` actors of one plan at the same cost per instruction. Each lane computes exactly what `f32` would have
//! computed alone: no fused multiply-add, no reductions across lanes, no estimates, so the bits of an actor do not
//! depend on who its neighbours are. `[R1]`
//!
//! [`Vec3x`] is a point or direction per lane. Sums are written in one fixed order, `(x + y) + z`, and every
//! expression keeps its form under a mirrored X axis, which makes `[C1]` hold exactly.

use core::fmt::Debug;
use core::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

use bevy_math::Vec3;

mod pen;
mod wide;
#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "vector instructions are unsafe outside of functions that enable them; see the module"
)]
pub(crate) mod x86;

pub use pen::Pen;
pub use wide::{Wide, WideMask};

/// Most lanes that a lane type has: room for a number each.
pub const MOST_LANES: usize = 32;

/// See [`Lane::inverse_sqrt_seed`]: the exponent's bias once and a half, as it lies in the bits, less what makes the first
/// step best.
const INVERSE_SQRT_SEED: u32 = 0x5f1f_fff9;

/// A piece of work that a lane type runs with its own instructions.
pub trait Task {
    /// What it gives.
    type Output;
    /// The work. Implementations are `#[inline(always)]`: only what is inlined into [`Lane::enter`] gets its instructions.
    fn run(self) -> Self::Output;
}

/// A number per lane.
///
/// The operations are those IEEE 754 rounds correctly, so every implementation gives the same bits per lane.
pub trait Lane:
    Copy
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
{
    /// A yes or no per lane.
    type Mask: LaneMask;
    /// How many lanes.
    const LANES: usize;

    /// Runs `task` where the instructions of this type are enabled.
    fn enter<T: Task>(task: T) -> T::Output {
        task.run()
    }
    /// The same number in every lane.
    fn splat(value: f32) -> Self;
    /// Reads the first [`Lane::LANES`] numbers of `from`.
    ///
    /// # Panics
    /// If `from` is shorter than that.
    fn load(from: &[f32]) -> Self;
    /// Writes the lanes to the front of `to`.
    ///
    /// # Panics
    /// If `to` has fewer than [`Lane::LANES`] numbers.
    fn store(self, to: &mut [f32]);
    /// The number of lane `index`.
    fn lane(self, index: usize) -> f32;
    /// Applies a scalar function lane by lane: for what has no lane form, such as trigonometry.
    fn map(self, f: impl Fn(f32) -> f32) -> Self;

    /// Correctly rounded square root; NaN below zero.
    fn sqrt(self) -> Self;
    /// What [`Self::inverse_sqrt`] starts from: the number whose bits are `0x5f1ffff9` less half of these, as
    /// integers that wrap.
    fn inverse_sqrt_seed(self) -> Self;
    /// Magnitude.
    fn abs(self) -> Self;
    /// The smaller of the two; `other` if `self` is NaN.
    fn min(self, other: Self) -> Self;
    /// The larger of the two; `other` if `self` is NaN.
    fn max(self, other: Self) -> Self;
    /// Magnitude of `self` with the sign of `sign`.
    fn copysign(self, sign: Self) -> Self;
    /// `self < other`; no where either is NaN.
    fn lt(self, other: Self) -> Self::Mask;
    /// `self <= other`; no where either is NaN.
    fn le(self, other: Self) -> Self::Mask;
    /// `yes` where the mask says so, else `no`.
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self;

    /// `self` between `low` and `high`, both ends included; NaN gives `low`.
    #[inline(always)]
    fn clamp_to(self, low: Self, high: Self) -> Self {
        self.max(low).min(high)
    }
    /// 1 / √self to 2 units in the last place where self is normal and above 0, from products and differences alone; some
    /// large number at 0, not finite at infinity and at what is not a number, without meaning below 0.
    ///
    /// The unit that divides and takes roots is the slowest of a processor, and with its widest registers five times as
    /// slow as this. A kernel that takes nearly all of its roots so leaves that unit to the others. The start and the two
    /// factors of the first step are those of J. Kadleč; the second step is Halley's.
    #[inline(always)]
    fn inverse_sqrt(self) -> Self {
        let seed = self.inverse_sqrt_seed();
        let near =
            seed * Self::splat(0.703_952_25) * (Self::splat(2.389_244_6) - self * seed * seed);
        let off = Self::splat(1.0) - self * near * near;
        near + near * (off * (Self::splat(0.5) + off * Self::splat(0.375)))
    }
    /// Whether the number is neither infinite nor NaN.
    #[inline(always)]
    fn finite(self) -> Self::Mask {
        self.abs().lt(Self::splat(f32::INFINITY))
    }
}

/// A yes or no per lane.
pub trait LaneMask:
    Copy + Debug + BitAnd<Output = Self> + BitOr<Output = Self> + Not<Output = Self>
{
    /// The same answer in every lane.
    fn splat(value: bool) -> Self;
    /// Whether any lane says yes. Kernels branch on this: work that no lane needs is skipped.
    fn any(self) -> bool;
    /// The answer of lane `index`.
    fn lane(self, index: usize) -> bool;
}

impl LaneMask for bool {
    #[inline(always)]
    fn splat(value: bool) -> Self {
        value
    }
    #[inline(always)]
    fn any(self) -> bool {
        self
    }
    #[inline(always)]
    fn lane(self, _index: usize) -> bool {
        self
    }
}

impl Lane for f32 {
    type Mask = bool;
    const LANES: usize = 1;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        value
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        from[0]
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        to[0] = self;
    }
    #[inline(always)]
    fn lane(self, _index: usize) -> f32 {
        self
    }
    #[inline(always)]
    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        f(self)
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.sqrt()
    }
    #[inline(always)]
    fn inverse_sqrt_seed(self) -> Self {
        Self::from_bits(INVERSE_SQRT_SEED.wrapping_sub(self.to_bits() >> 1))
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.abs()
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        if self < other { self } else { other }
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        if self > other { self } else { other }
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        self.copysign(sign)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> bool {
        self < other
    }
    #[inline(always)]
    fn le(self, other: Self) -> bool {
        self <= other
    }
    #[inline(always)]
    fn select(mask: bool, yes: Self, no: Self) -> Self {
        if mask { yes } else { no }
    }
}

/// A point or direction per lane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vec3x<L> {
    /// Along +X.
    pub x: L,
    /// Along +Y, up.
    pub y: L,
    /// Along +Z, forward.
    pub z: L,
}

impl<L: Lane> Vec3x<L> {
    /// From three components.
    #[inline(always)]
    pub fn new(x: L, y: L, z: L) -> Self {
        Self { x, y, z }
    }
    /// The same vector in every lane.
    #[inline(always)]
    pub fn splat(v: [f32; 3]) -> Self {
        Self::new(L::splat(v[0]), L::splat(v[1]), L::splat(v[2]))
    }
    /// Reads `[x…][y…][z…]`, [`Lane::LANES`] numbers each.
    #[inline(always)]
    pub fn load(from: &[f32]) -> Self {
        Self::new(
            L::load(from),
            L::load(&from[L::LANES..]),
            L::load(&from[2 * L::LANES..]),
        )
    }
    /// Writes `[x…][y…][z…]`, [`Lane::LANES`] numbers each.
    #[inline(always)]
    pub fn store(self, to: &mut [f32]) {
        self.x.store(to);
        self.y.store(&mut to[L::LANES..]);
        self.z.store(&mut to[2 * L::LANES..]);
    }
    /// Scalar product.
    #[inline(always)]
    pub fn dot(self, other: Self) -> L {
        self.x * other.x + self.y * other.y + self.z * other.z
    }
    /// Vector product.
    #[inline(always)]
    pub fn cross(self, other: Self) -> Self {
        Self::new(
            self.y * other.z - self.z * other.y,
            self.z * other.x - self.x * other.z,
            self.x * other.y - self.y * other.x,
        )
    }
    /// Square of the length.
    #[inline(always)]
    pub fn length_squared(self) -> L {
        self.dot(self)
    }
    /// `yes` where the mask says so, else `no`.
    #[inline(always)]
    pub fn select(mask: L::Mask, yes: Self, no: Self) -> Self {
        Self::new(
            L::select(mask, yes.x, no.x),
            L::select(mask, yes.y, no.y),
            L::select(mask, yes.z, no.z),
        )
    }
    /// `self` at 0, `other` at 1: `self + (other − self) · t`.
    #[inline(always)]
    pub fn lerp(self, other: Self, t: L) -> Self {
        self + (other - self) * t
    }
    /// Whether all three components are finite.
    #[inline(always)]
    pub fn finite(self) -> L::Mask {
        self.x.finite() & self.y.finite() & self.z.finite()
    }
    /// The vector of lane `index`.
    #[inline(always)]
    pub fn lane(self, index: usize) -> [f32; 3] {
        [self.x.lane(index), self.y.lane(index), self.z.lane(index)]
    }
}

impl<L: Lane> Add for Vec3x<L> {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Self::new(self.x + other.x, self.y + other.y, self.z + other.z)
    }
}
impl<L: Lane> Sub for Vec3x<L> {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        Self::new(self.x - other.x, self.y - other.y, self.z - other.z)
    }
}
impl<L: Lane> Neg for Vec3x<L> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        Self::new(-self.x, -self.y, -self.z)
    }
}
impl<L: Lane> Mul<L> for Vec3x<L> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, scale: L) -> Self {
        Self::new(self.x * scale, self.y * scale, self.z * scale)
    }
}
/// Component by component, as scale acts on a translation.
impl<L: Lane> Mul for Vec3x<L> {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        Self::new(self.x * other.x, self.y * other.y, self.z * other.z)
    }
}

impl From<Vec3> for Vec3x<f32> {
    #[inline(always)]
    fn from(v: Vec3) -> Self {
        Self::new(v.x, v.y, v.z)
    }
}
impl From<Vec3x<f32>> for Vec3 {
    #[inline(always)]
    fn from(v: Vec3x<f32>) -> Self {
        Self::new(v.x, v.y, v.z)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_wide_lane_has_the_bits_of_the_scalar() {
        let a: [f32; 4] = [1.5, -0.0, 3.0e-39, f32::NAN];
        let b: [f32; 4] = [0.1, 7.0, -2.5, 1.0];
        let (wa, wb) = (Wide(a), Wide(b));
        for i in 0..4 {
            let pairs = [
                ((wa * wb + wa).0[i], a[i] * b[i] + a[i]),
                ((wa / wb - wb).0[i], a[i] / b[i] - b[i]),
                (Lane::max(wa, wb).0[i], Lane::max(a[i], b[i])),
                (wa.copysign(wb).0[i], a[i].copysign(b[i])),
                (wb.inverse_sqrt().0[i], b[i].inverse_sqrt()),
                (
                    Wide::select(wa.lt(wb), wa, wb).0[i],
                    f32::select(a[i] < b[i], a[i], b[i]),
                ),
            ];
            for (wide, scalar) in pairs {
                assert_eq!(wide.to_bits(), scalar.to_bits(), "lane {i}");
            }
        }
    }

    #[test]
    fn the_inverse_root_is_right_to_two_units_in_the_last_place() {
        let mut worst = 0.0_f64;
        // Every exponent but those near the ends of the range, where squares leave it; many fractions of each.
        for bits in (0x0800_0000_u32..0x7700_0000).step_by(997) {
            let x = f32::from_bits(bits);
            let exact = 1.0 / f64::from(x).sqrt();
            worst = worst.max((f64::from(x.inverse_sqrt()) / exact - 1.0).abs());
        }
        assert!(worst < 2.4e-7, "{worst:e}");
        assert!(f32::NAN.inverse_sqrt().is_nan() && (-f32::NAN).inverse_sqrt().is_nan());
        assert!(!Lane::finite(f32::INFINITY.inverse_sqrt()));
        assert!(Lane::finite(0.0_f32.inverse_sqrt()) && 0.0_f32.inverse_sqrt() > 1e18);
    }

    #[test]
    fn infinite_and_nan_are_not_finite() {
        assert!(Lane::finite(3.0_f32) && !Lane::finite(f32::NAN) && !Lane::finite(f32::INFINITY));
    }
}
