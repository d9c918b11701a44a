//! Lanes in plain arrays: what processors without registers of ours run, and tests.

use core::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

use super::{Lane, LaneMask};

/// `N` numbers side by side, in plain arrays that the compiler turns into vector registers.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(align(64))]
pub struct Wide<const N: usize>(pub [f32; N]);

/// The answers of `N` lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WideMask<const N: usize>(pub [bool; N]);

impl<const N: usize> Wide<N> {
    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Self(core::array::from_fn(|i| f(self.0[i], other.0[i])))
    }
}

macro_rules! wide_operator {
    ($trait:ident, $method:ident, $operator:tt) => {
        impl<const N: usize> $trait for Wide<N> {
            type Output = Self;
            #[inline(always)]
            fn $method(self, other: Self) -> Self {
                self.zip(other, |a, b| a $operator b)
            }
        }
    };
}
wide_operator!(Add, add, +);
wide_operator!(Sub, sub, -);
wide_operator!(Mul, mul, *);
wide_operator!(Div, div, /);

impl<const N: usize> Neg for Wide<N> {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}
impl<const N: usize> BitAnd for WideMask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitand(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] & other.0[i]))
    }
}
impl<const N: usize> BitOr for WideMask<N> {
    type Output = Self;
    #[inline(always)]
    fn bitor(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] | other.0[i]))
    }
}
impl<const N: usize> Not for WideMask<N> {
    type Output = Self;
    #[inline(always)]
    fn not(self) -> Self {
        Self(self.0.map(|a| !a))
    }
}

impl<const N: usize> LaneMask for WideMask<N> {
    #[inline(always)]
    fn splat(value: bool) -> Self {
        Self([value; N])
    }
    #[inline(always)]
    fn any(self) -> bool {
        self.0.iter().fold(false, |found, &a| found | a)
    }
    #[inline(always)]
    fn lane(self, index: usize) -> bool {
        self.0[index]
    }
}

impl<const N: usize> Lane for Wide<N> {
    type Mask = WideMask<N>;
    const LANES: usize = N;

    #[inline(always)]
    fn splat(value: f32) -> Self {
        Self([value; N])
    }
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        Self(core::array::from_fn(|i| from[i]))
    }
    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        to[..N].copy_from_slice(&self.0);
    }
    #[inline(always)]
    fn lane(self, index: usize) -> f32 {
        self.0[index]
    }
    #[inline(always)]
    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        Self(self.0.map(f))
    }
    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f32::sqrt)
    }
    #[inline(always)]
    fn inverse_sqrt_seed(self) -> Self {
        self.map(Lane::inverse_sqrt_seed)
    }
    #[inline(always)]
    fn abs(self) -> Self {
        self.map(f32::abs)
    }
    #[inline(always)]
    fn min(self, other: Self) -> Self {
        self.zip(other, Lane::min)
    }
    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, Lane::max)
    }
    #[inline(always)]
    fn copysign(self, sign: Self) -> Self {
        self.zip(sign, f32::copysign)
    }
    #[inline(always)]
    fn lt(self, other: Self) -> WideMask<N> {
        WideMask(core::array::from_fn(|i| self.0[i] < other.0[i]))
    }
    #[inline(always)]
    fn le(self, other: Self) -> WideMask<N> {
        WideMask(core::array::from_fn(|i| self.0[i] <= other.0[i]))
    }
    #[inline(always)]
    fn select(mask: WideMask<N>, yes: Self, no: Self) -> Self {
        Self(core::array::from_fn(|i| {
            if mask.0[i] { yes.0[i] } else { no.0[i] }
        }))
    }
}
