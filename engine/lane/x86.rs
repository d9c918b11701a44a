//! Lanes in the vector registers of x86-64: SSE2, AVX2 and AVX-512.
//!
//! A number per lane fills two registers, so that two independent operations are in flight where each waits for the one
//! before it, as along a chain. The operations are the correctly rounded ones of IEEE 754, each lane has the bits that
//! `f32` would have had: no fused multiply-add, no estimates.
//!
//! # Safety
//! The types of this module may only be used where the processor has their instructions. They stay inside the crate, and
//! the one place that names them, `enter_wide` in `systems/substeps.rs`, asks the processor first: that is what every
//! `unsafe` below relies on.

use core::arch::x86_64::*;
use core::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

use super::{INVERSE_SQRT_SEED, Lane, LaneMask, Task};

/// A cache line on the stack.
#[repr(align(64))]
struct StackLine([u8; 64]);

/// Makes the compiler align the stack of the function that this is inlined into.
///
/// Registers that it runs out of are put on the stack. Unless something else there asks for it, the compiler does not
/// align them, and nearly all of those of 64 bytes then straddle two cache lines: 3 % of the kernel's time.
#[inline(always)]
fn align_stack() {
    let line = StackLine([0; 64]);
    core::hint::black_box(&line.0);
}

/// An operation of each of the two registers.
macro_rules! both {
    ($name:ident, $call:expr $(, $argument:expr)*) => {
        // SAFETY: see the module's documentation.
        unsafe { both!(@ $name, $call, $($argument),*) }
    };
    (@ $name:ident, $call:expr, $a:expr) => {
        $name($call($a.0), $call($a.1))
    };
    (@ $name:ident, $call:expr, $a:expr, $b:expr) => {
        $name($call($a.0, $b.0), $call($a.1, $b.1))
    };
    (@ $name:ident, $call:expr, $a:expr, $b:expr, $c:expr) => {
        $name($call($a.0, $b.0, $c.0), $call($a.1, $b.1, $c.1))
    };
}

/// A lane type of `$lanes` lanes in two registers, with its mask.
macro_rules! lanes {
    (
        $(#[$doc:meta])* $name:ident($register:ty), $mask:ident($mask_register:ty), $lanes:literal, $features:literal,
        splat $splat:ident, load $load:ident, store $store:ident,
        add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident, sqrt $sqrt:ident, seed $seed:ident, min $min:ident, max $max:ident,
        bits $and:path, $andnot:path, $or:path, $xor:path,
        lt $lt:expr, le $le:expr, select $select:expr,
        mask_and $mask_and:expr, mask_or $mask_or:expr, mask_not $mask_not:expr, mask_splat $mask_splat:expr, bits_of $bits_of:expr,
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name($register, $register);

        /// The answers of its lanes.
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $mask($mask_register, $mask_register);

        impl Add for $name {
            type Output = Self;
            #[inline(always)]
            fn add(self, other: Self) -> Self {
                both!($name, $add, self, other)
            }
        }
        impl Sub for $name {
            type Output = Self;
            #[inline(always)]
            fn sub(self, other: Self) -> Self {
                both!($name, $sub, self, other)
            }
        }
        impl Mul for $name {
            type Output = Self;
            #[inline(always)]
            fn mul(self, other: Self) -> Self {
                both!($name, $mul, self, other)
            }
        }
        impl Div for $name {
            type Output = Self;
            #[inline(always)]
            fn div(self, other: Self) -> Self {
                both!($name, $div, self, other)
            }
        }
        impl Neg for $name {
            type Output = Self;
            #[inline(always)]
            fn neg(self) -> Self {
                both!($name, $xor, self, <$name as Lane>::splat(-0.0))
            }
        }
        impl BitAnd for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitand(self, other: Self) -> Self {
                both!($mask, $mask_and, self, other)
            }
        }
        impl BitOr for $mask {
            type Output = Self;
            #[inline(always)]
            fn bitor(self, other: Self) -> Self {
                both!($mask, $mask_or, self, other)
            }
        }
        impl Not for $mask {
            type Output = Self;
            #[inline(always)]
            fn not(self) -> Self {
                both!($mask, $mask_not, self)
            }
        }

        impl LaneMask for $mask {
            #[inline(always)]
            fn splat(value: bool) -> Self {
                // SAFETY: see the module's documentation.
                let all = unsafe { $mask_splat(value) };
                Self(all, all)
            }
            #[inline(always)]
            fn any(self) -> bool {
                // SAFETY: see the module's documentation.
                unsafe { $bits_of($mask_or(self.0, self.1)) != 0 }
            }
            #[inline(always)]
            fn lane(self, index: usize) -> bool {
                // SAFETY: see the module's documentation.
                let (first, second) = unsafe { ($bits_of(self.0), $bits_of(self.1)) };
                let bits = first as u64 | (second as u64) << ($lanes / 2);
                bits >> index & 1 == 1
            }
        }

        impl Lane for $name {
            type Mask = $mask;
            const LANES: usize = $lanes;

            fn enter<T: Task>(task: T) -> T::Output {
                #[target_feature(enable = $features)]
                #[inline(never)]
                fn with_features<T: Task>(task: T) -> T::Output {
                    align_stack();
                    task.run()
                }
                // SAFETY: see the module's documentation.
                unsafe { with_features(task) }
            }
            #[inline(always)]
            fn splat(value: f32) -> Self {
                // SAFETY: see the module's documentation.
                let all = unsafe { $splat(value) };
                Self(all, all)
            }
            #[inline(always)]
            fn load(from: &[f32]) -> Self {
                let from = &from[..$lanes];
                // SAFETY: there are that many numbers, at any alignment.
                unsafe { Self($load(from.as_ptr()), $load(from[$lanes / 2..].as_ptr())) }
            }
            #[inline(always)]
            fn store(self, to: &mut [f32]) {
                let to = &mut to[..$lanes];
                // SAFETY: there is room for that many numbers, at any alignment.
                unsafe {
                    $store(to.as_mut_ptr(), self.0);
                    $store(to[$lanes / 2..].as_mut_ptr(), self.1);
                }
            }
            #[inline(always)]
            fn lane(self, index: usize) -> f32 {
                let mut numbers = [0.0; $lanes];
                self.store(&mut numbers);
                numbers[index]
            }
            #[inline(always)]
            fn map(self, f: impl Fn(f32) -> f32) -> Self {
                let mut numbers = [0.0; $lanes];
                self.store(&mut numbers);
                for number in &mut numbers {
                    *number = f(*number);
                }
                Self::load(&numbers)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                both!($name, $sqrt, self)
            }
            #[inline(always)]
            fn inverse_sqrt_seed(self) -> Self {
                both!($name, $seed, self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                both!($name, $andnot, <$name as Lane>::splat(-0.0), self)
            }
            // The instructions give the second operand where either is NaN or both are zero: so does `Lane` for f32.
            #[inline(always)]
            fn min(self, other: Self) -> Self {
                both!($name, $min, self, other)
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                both!($name, $max, self, other)
            }
            #[inline(always)]
            fn copysign(self, sign: Self) -> Self {
                let mask = <$name as Lane>::splat(-0.0);
                let sign = both!($name, $and, mask, sign);
                both!($name, $or, Lane::abs(self), sign)
            }
            #[inline(always)]
            fn lt(self, other: Self) -> $mask {
                both!($mask, $lt, self, other)
            }
            #[inline(always)]
            fn le(self, other: Self) -> $mask {
                both!($mask, $le, self, other)
            }
            #[inline(always)]
            fn select(mask: $mask, yes: Self, no: Self) -> Self {
                both!($name, $select, mask, yes, no)
            }
        }
    };
}

lanes! {
    /// Eight lanes: what every x86-64 processor has.
    Sse2(__m128), Sse2Mask(__m128), 8, "sse2",
    splat _mm_set1_ps, load _mm_loadu_ps, store _mm_storeu_ps,
    add _mm_add_ps, sub _mm_sub_ps, mul _mm_mul_ps, div _mm_div_ps, sqrt _mm_sqrt_ps, seed seed_128, min _mm_min_ps, max _mm_max_ps,
    bits _mm_and_ps, _mm_andnot_ps, _mm_or_ps, _mm_xor_ps,
    lt _mm_cmplt_ps, le _mm_cmple_ps, select select_128,
    mask_and _mm_and_ps, mask_or _mm_or_ps, mask_not not_128, mask_splat splat_128, bits_of _mm_movemask_ps,
}

#[inline(always)]
unsafe fn seed_128(of: __m128) -> __m128 {
    // SAFETY: the caller's.
    unsafe {
        let half = _mm_srli_epi32::<1>(_mm_castps_si128(of));
        _mm_castsi128_ps(_mm_sub_epi32(
            _mm_set1_epi32(INVERSE_SQRT_SEED as i32),
            half,
        ))
    }
}
#[inline(always)]
unsafe fn select_128(mask: __m128, yes: __m128, no: __m128) -> __m128 {
    // SAFETY: the caller's.
    unsafe { _mm_or_ps(_mm_and_ps(mask, yes), _mm_andnot_ps(mask, no)) }
}
#[inline(always)]
unsafe fn not_128(mask: __m128) -> __m128 {
    // SAFETY: the caller's.
    unsafe { _mm_xor_ps(mask, splat_128(true)) }
}
#[inline(always)]
unsafe fn splat_128(value: bool) -> __m128 {
    // SAFETY: the caller's.
    unsafe { _mm_castsi128_ps(_mm_set1_epi32(-i32::from(value))) }
}

lanes! {
    /// Sixteen lanes.
    Avx2(__m256), Avx2Mask(__m256), 16, "avx2",
    splat _mm256_set1_ps, load _mm256_loadu_ps, store _mm256_storeu_ps,
    add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps, sqrt _mm256_sqrt_ps, seed seed_256,
    min _mm256_min_ps, max _mm256_max_ps,
    bits _mm256_and_ps, _mm256_andnot_ps, _mm256_or_ps, _mm256_xor_ps,
    lt _mm256_cmp_ps::<_CMP_LT_OQ>, le _mm256_cmp_ps::<_CMP_LE_OQ>, select select_256,
    mask_and _mm256_and_ps, mask_or _mm256_or_ps, mask_not not_256, mask_splat splat_256, bits_of _mm256_movemask_ps,
}

#[inline(always)]
unsafe fn seed_256(of: __m256) -> __m256 {
    // SAFETY: the caller's.
    unsafe {
        let half = _mm256_srli_epi32::<1>(_mm256_castps_si256(of));
        _mm256_castsi256_ps(_mm256_sub_epi32(
            _mm256_set1_epi32(INVERSE_SQRT_SEED as i32),
            half,
        ))
    }
}
#[inline(always)]
unsafe fn select_256(mask: __m256, yes: __m256, no: __m256) -> __m256 {
    // SAFETY: the caller's.
    unsafe { _mm256_blendv_ps(no, yes, mask) }
}
#[inline(always)]
unsafe fn not_256(mask: __m256) -> __m256 {
    // SAFETY: the caller's.
    unsafe { _mm256_xor_ps(mask, splat_256(true)) }
}
#[inline(always)]
unsafe fn splat_256(value: bool) -> __m256 {
    // SAFETY: the caller's.
    unsafe { _mm256_castsi256_ps(_mm256_set1_epi32(-i32::from(value))) }
}

lanes! {
    /// Thirty-two lanes.
    Avx512(__m512), Avx512Mask(__mmask16), 32, "avx512f,avx512dq",
    splat _mm512_set1_ps, load _mm512_loadu_ps, store _mm512_storeu_ps,
    add _mm512_add_ps, sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps, sqrt _mm512_sqrt_ps, seed seed_512,
    min _mm512_min_ps, max _mm512_max_ps,
    bits _mm512_and_ps, _mm512_andnot_ps, _mm512_or_ps, _mm512_xor_ps,
    lt _mm512_cmp_ps_mask::<_CMP_LT_OQ>, le _mm512_cmp_ps_mask::<_CMP_LE_OQ>, select select_512,
    mask_and and_16, mask_or or_16, mask_not not_16, mask_splat splat_16, bits_of bits_16,
}

#[inline(always)]
unsafe fn seed_512(of: __m512) -> __m512 {
    // SAFETY: the caller's.
    unsafe {
        let half = _mm512_srli_epi32::<1>(_mm512_castps_si512(of));
        _mm512_castsi512_ps(_mm512_sub_epi32(
            _mm512_set1_epi32(INVERSE_SQRT_SEED as i32),
            half,
        ))
    }
}
#[inline(always)]
unsafe fn select_512(mask: __mmask16, yes: __m512, no: __m512) -> __m512 {
    // SAFETY: the caller's.
    unsafe { _mm512_mask_blend_ps(mask, no, yes) }
}
#[inline(always)]
unsafe fn bits_16(mask: __mmask16) -> u32 {
    u32::from(mask)
}
#[inline(always)]
unsafe fn and_16(a: __mmask16, b: __mmask16) -> __mmask16 {
    a & b
}
#[inline(always)]
unsafe fn or_16(a: __mmask16, b: __mmask16) -> __mmask16 {
    a | b
}
#[inline(always)]
unsafe fn not_16(a: __mmask16) -> __mmask16 {
    !a
}
#[inline(always)]
unsafe fn splat_16(value: bool) -> __mmask16 {
    u16::MAX * u16::from(value)
}
