//! What one core of this machine can do at most, with each instruction set it has: operations and bytes per nanosecond
//! of CPU time.
//!
//! An operation is one of a lane type on one lane, whatever instructions it takes: a selection under SSE2 takes three.

use std::hint::black_box;

use cpu_time::ThreadTime;
use flounce::lane::{Lane, Wide};

/// Numbers that a round of [`InstructionSet::bandwidth`] updates at least: long against the clock's own cost.
const STREAMED: usize = 1 << 23;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peak {
    /// Products alone.
    Multiply,
    /// Sums alone.
    Add,
    /// Comparisons and selections by them, half of each.
    Blend,
    /// A third each of products, sums and "the smaller one": whether they wait for the same ports.
    Mixed,
    /// Quotients alone.
    Divide,
    /// Square roots alone.
    Root,
    /// Half of each: whether they wait for the same unit.
    DivideAndRoot,
}

impl Peak {
    /// All of them, in the order in which they are printed.
    pub const ALL: [Self; 7] = [
        Self::Multiply,
        Self::Add,
        Self::Blend,
        Self::Mixed,
        Self::Divide,
        Self::Root,
        Self::DivideAndRoot,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Multiply => "multiply",
            Self::Add => "add",
            Self::Blend => "compare and select",
            Self::Mixed => "multiply add and min",
            Self::Divide => "divide",
            Self::Root => "root",
            Self::DivideAndRoot => "divide and root",
        }
    }

    /// Some milliseconds' worth.
    fn iterations(self) -> usize {
        match self {
            Self::Multiply | Self::Add | Self::Blend | Self::Mixed => 300_000,
            Self::Divide | Self::Root | Self::DivideAndRoot => 50_000,
        }
    }

    /// Operations per iteration and lane.
    fn operations(self) -> usize {
        match self {
            Self::Blend => 2 * CHAINS,
            _ => CHAINS,
        }
    }
}

/// Chains in flight: enough to hide the latency of each, few enough for 16 registers.
const CHAINS: usize = 12;

/// Applies steps to an equal number of independent chains each.
macro_rules! chains {
    ($iterations:ident, $start:expr, $($x:ident => $step:expr),+) => {{
        const KINDS: usize = [$(stringify!($step)),+].len();
        let mut chains = [[$start; KINDS]; CHAINS / KINDS];
        for _ in 0..$iterations {
            for chain in &mut chains {
                let [$($x),+] = *chain;
                *chain = [$($step),+];
            }
        }
        black_box(chains);
    }};
}

/// The loops of one instruction set.
macro_rules! instruction_set {
    (
        $module:ident, $(#[$feature:meta])?
        splat: $splat:expr, add: $add:expr, multiply: $multiply:expr, divide: $divide:expr, root: $root:expr,
        min: $min:expr, select_below: |$a:ident, $limit:ident, $other:ident| $select:expr
    ) => {
        mod $module {
            #[cfg(target_arch = "x86_64")]
            #[allow(unused_imports, reason = "one set needs none")]
            use std::arch::x86_64::*;

            use super::*;

            $(#[$feature])?
            pub fn operate(peak: Peak, iterations: usize) {
                let one = black_box($splat(1.0));
                let small = black_box($splat(1e-7));
                let $limit = black_box($splat(2.0));
                let $other = black_box($splat(1.7));
                match peak {
                    // A product by one keeps clear of subnormal numbers, which are slow.
                    Peak::Multiply => chains!(iterations, one, x => $multiply(x, one)),
                    Peak::Add => chains!(iterations, one, x => $add(x, small)),
                    Peak::Blend => chains!(iterations, one, $a => $select),
                    Peak::Mixed => chains!(iterations, one,
                        x => $multiply(x, one), y => $add(y, small), z => $min(z, $limit)),
                    // Operands whose digits do not end: some dividers are done early with others.
                    Peak::Divide => chains!(iterations, one, x => $divide($other, x)),
                    Peak::Root => chains!(iterations, one, x => $root($add(x, $other))),
                    Peak::DivideAndRoot => chains!(iterations, one,
                        x => $divide($other, x), y => $root($add(y, $other))),
                }
            }

            $(#[$feature])?
            pub fn stream(numbers: &mut [f32], passes: usize) {
                let factor = black_box(1.0_f32);
                for _ in 0..passes {
                    for number in black_box(&mut *numbers) {
                        *number *= factor;
                    }
                }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
instruction_set!(
    avx512, #[target_feature(enable = "avx512f")]
    splat: _mm512_set1_ps, add: _mm512_add_ps, multiply: _mm512_mul_ps, divide: _mm512_div_ps,
    root: _mm512_sqrt_ps, min: _mm512_min_ps,
    select_below: |a, limit, other| _mm512_mask_blend_ps(_mm512_cmp_ps_mask::<_CMP_LT_OQ>(a, limit), a, other)
);
#[cfg(target_arch = "x86_64")]
instruction_set!(
    avx2, #[target_feature(enable = "avx2")]
    splat: _mm256_set1_ps, add: _mm256_add_ps, multiply: _mm256_mul_ps, divide: _mm256_div_ps,
    root: _mm256_sqrt_ps, min: _mm256_min_ps,
    select_below: |a, limit, other| _mm256_blendv_ps(a, other, _mm256_cmp_ps::<_CMP_LT_OQ>(a, limit))
);
#[cfg(target_arch = "x86_64")]
instruction_set!(
    sse2, #[target_feature(enable = "sse2")]
    splat: _mm_set1_ps, add: _mm_add_ps, multiply: _mm_mul_ps, divide: _mm_div_ps,
    root: _mm_sqrt_ps, min: _mm_min_ps,
    select_below: |a, limit, other| {
        let below = _mm_cmplt_ps(a, limit);
        _mm_or_ps(_mm_and_ps(below, other), _mm_andnot_ps(below, a))
    }
);
instruction_set!(
    arrays,
    splat: Wide::<4>::splat, add: |a, b| a + b, multiply: |a, b| a * b, divide: |a, b| a / b,
    root: Wide::<4>::sqrt, min: Wide::<4>::min,
    select_below: |a, limit, other| Wide::<4>::select(a.lt(limit), other, a)
);

/// One instruction set of this machine.
pub struct InstructionSet {
    /// Its name in tables.
    pub name: &'static str,
    /// Lanes per register.
    lanes: usize,
    operate: fn(Peak, usize),
    stream: fn(&mut [f32], usize),
}

impl InstructionSet {
    /// Operations on one lane per nanosecond.
    pub fn rate(&self, peak: Peak) -> f64 {
        let iterations = peak.iterations();
        let start = ThreadTime::now();
        (self.operate)(peak, iterations);
        let time = start.elapsed().as_nanos() as f64;
        (iterations * peak.operations() * self.lanes) as f64 / time
    }

    /// Bytes read and written per nanosecond while `numbers` are updated in place, again and again.
    ///
    /// Starts at a multiple of 64 bytes: registers as wide as a line would otherwise each need two.
    pub fn bandwidth(&self, numbers: &mut [f32]) -> f64 {
        let start = numbers.as_ptr().align_offset(64);
        let numbers = &mut numbers[start..];
        let passes = STREAMED.div_ceil(numbers.len());
        let start = ThreadTime::now();
        (self.stream)(numbers, passes);
        let time = start.elapsed().as_nanos() as f64;
        (passes * 2 * size_of_val(numbers)) as f64 / time
    }
}

/// What this machine has, widest first; last what the compiler makes of plain arrays in this build.
pub fn instruction_sets() -> Vec<InstructionSet> {
    let mut sets = Vec::new();
    #[cfg(target_arch = "x86_64")]
    add_vector_sets(&mut sets);
    sets.push(InstructionSet {
        name: "arrays",
        lanes: 4,
        operate: arrays::operate,
        stream: arrays::stream,
    });
    sets
}

#[cfg(target_arch = "x86_64")]
#[expect(
    unsafe_code,
    reason = "instructions that this build does not assume are reached in no other way"
)]
fn add_vector_sets(sets: &mut Vec<InstructionSet>) {
    if is_x86_feature_detected!("avx512f") {
        sets.push(InstructionSet {
            name: "AVX-512",
            lanes: 16,
            // SAFETY: the processor has AVX-512F, as was asked a moment ago.
            operate: |peak, iterations| unsafe { avx512::operate(peak, iterations) },
            // SAFETY: likewise.
            stream: |numbers, passes| unsafe { avx512::stream(numbers, passes) },
        });
    }
    if is_x86_feature_detected!("avx2") {
        sets.push(InstructionSet {
            name: "AVX2",
            lanes: 8,
            // SAFETY: the processor has AVX2, as was asked a moment ago.
            operate: |peak, iterations| unsafe { avx2::operate(peak, iterations) },
            // SAFETY: likewise.
            stream: |numbers, passes| unsafe { avx2::stream(numbers, passes) },
        });
    }
    sets.push(InstructionSet {
        name: "SSE2",
        lanes: 4,
        // SAFETY: every x86-64 has SSE2.
        operate: |peak, iterations| unsafe { sse2::operate(peak, iterations) },
        // SAFETY: likewise.
        stream: |numbers, passes| unsafe { sse2::stream(numbers, passes) },
    });
}
