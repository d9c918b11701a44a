//! A lane type that counts what is done with it.
//!
//! [`Counted`] does the arithmetic of the type inside, so its bits are that type's, and any-lane branches go where that
//! type takes them. An operation counts once, however many lanes it has. Nothing is inlined: a kernel is then a list of
//! calls, and 32 lanes compile as fast as one.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ops::{Add, BitAnd, BitOr, Div, Mul, Neg, Not, Sub};

use flounce::lane::{Lane, LaneMask};

/// Bytes that memory moves together.
pub const LINE: usize = 64;

/// What is told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Sums and differences.
    Add,
    /// Products.
    Multiply,
    /// What decides or touches bits: comparisons, smaller, larger, magnitude, sign, selection.
    Blend,
    /// Quotients.
    Divide,
    /// Square roots.
    Root,
    /// What is done with masks: and, or, not, any.
    Mask,
    /// Numbers read.
    Load,
    /// Numbers written.
    Store,
    /// One number put into all lanes.
    Splat,
    /// Lanes taken one by one: scalar functions, single lanes read.
    Scalar,
}

impl Operation {
    /// All of them, in the order in which they are printed.
    pub const ALL: [Self; 10] = [
        Self::Multiply,
        Self::Add,
        Self::Blend,
        Self::Mask,
        Self::Divide,
        Self::Root,
        Self::Load,
        Self::Store,
        Self::Splat,
        Self::Scalar,
    ];
}

/// How often each was done, and what memory it reached.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    operations: [f64; Operation::ALL.len()],
    /// Bytes of the lines read or written: what has to come in.
    pub bytes_in: f64,
    /// Bytes of the lines written: what has to go out.
    pub bytes_out: f64,
}

impl Counts {
    /// How often `operation` was done.
    pub fn of(&self, operation: Operation) -> f64 {
        self.operations[operation as usize]
    }

    /// The sum of two.
    pub fn plus(self, other: Self) -> Self {
        Self {
            operations: std::array::from_fn(|i| self.operations[i] + other.operations[i]),
            bytes_in: self.bytes_in + other.bytes_in,
            bytes_out: self.bytes_out + other.bytes_out,
        }
    }

    /// A share of it.
    pub fn over(self, parts: f64) -> Self {
        Self {
            operations: self.operations.map(|count| count / parts),
            bytes_in: self.bytes_in / parts,
            bytes_out: self.bytes_out / parts,
        }
    }
}

thread_local! {
    static DONE: [Cell<u64>; Operation::ALL.len()] = const { [const { Cell::new(0) }; Operation::ALL.len()] };
    static READ: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) };
    static WRITTEN: RefCell<BTreeSet<usize>> = const { RefCell::new(BTreeSet::new()) };
}

/// What this thread has counted since the last call.
pub fn take() -> Counts {
    let read = READ.take();
    let written = WRITTEN.take();
    let bytes = |lines: usize| (lines * LINE) as f64;
    Counts {
        operations: DONE.with(|done| std::array::from_fn(|i| done[i].take() as f64)),
        bytes_in: bytes(read.union(&written).count()),
        bytes_out: bytes(written.len()),
    }
}

fn count(operation: Operation) {
    DONE.with(|done| done[operation as usize].set(done[operation as usize].get() + 1));
}

/// Notes the lines of the first `lanes` numbers.
fn touch(
    lines: &'static std::thread::LocalKey<RefCell<BTreeSet<usize>>>,
    of: &[f32],
    lanes: usize,
) {
    let start = of.as_ptr().addr();
    let end = start + lanes * size_of::<f32>();
    lines.with_borrow_mut(|lines| lines.extend(start / LINE..end.div_ceil(LINE)));
}

/// Numbers of which every use counts.
#[derive(Clone, Copy)]
pub struct Counted<L>(L);

/// Answers of which every use counts.
#[derive(Clone, Copy, Debug)]
pub struct CountedMask<M>(M);

macro_rules! counted_operator {
    ($type:ident, $bound:ident, $trait:ident, $method:ident, $operation:ident) => {
        impl<T: $bound> $trait for $type<T> {
            type Output = Self;
            #[inline(never)]
            fn $method(self, other: Self) -> Self {
                count(Operation::$operation);
                Self($trait::$method(self.0, other.0))
            }
        }
    };
    (one $type:ident, $bound:ident, $trait:ident, $method:ident, $operation:ident) => {
        impl<T: $bound> $trait for $type<T> {
            type Output = Self;
            #[inline(never)]
            fn $method(self) -> Self {
                count(Operation::$operation);
                Self($trait::$method(self.0))
            }
        }
    };
}
counted_operator!(Counted, Lane, Add, add, Add);
counted_operator!(Counted, Lane, Sub, sub, Add);
counted_operator!(Counted, Lane, Mul, mul, Multiply);
counted_operator!(Counted, Lane, Div, div, Divide);
counted_operator!(one Counted, Lane, Neg, neg, Blend);
counted_operator!(CountedMask, LaneMask, BitAnd, bitand, Mask);
counted_operator!(CountedMask, LaneMask, BitOr, bitor, Mask);
counted_operator!(one CountedMask, LaneMask, Not, not, Mask);

impl<M: LaneMask> LaneMask for CountedMask<M> {
    fn splat(value: bool) -> Self {
        Self(M::splat(value))
    }
    #[inline(never)]
    fn any(self) -> bool {
        count(Operation::Mask);
        self.0.any()
    }
    fn lane(self, index: usize) -> bool {
        count(Operation::Scalar);
        self.0.lane(index)
    }
}

impl<L: Lane> Lane for Counted<L> {
    type Mask = CountedMask<L::Mask>;
    const LANES: usize = L::LANES;

    #[inline(never)]
    fn splat(value: f32) -> Self {
        count(Operation::Splat);
        Self(L::splat(value))
    }
    #[inline(never)]
    fn load(from: &[f32]) -> Self {
        count(Operation::Load);
        touch(&READ, from, L::LANES);
        Self(L::load(from))
    }
    #[inline(never)]
    fn store(self, to: &mut [f32]) {
        count(Operation::Store);
        touch(&WRITTEN, to, L::LANES);
        self.0.store(to);
    }
    #[inline(never)]
    fn lane(self, index: usize) -> f32 {
        count(Operation::Scalar);
        self.0.lane(index)
    }
    #[inline(never)]
    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        (0..L::LANES).for_each(|_| count(Operation::Scalar));
        Self(self.0.map(f))
    }
    #[inline(never)]
    fn sqrt(self) -> Self {
        count(Operation::Root);
        Self(self.0.sqrt())
    }
    #[inline(never)]
    fn inverse_sqrt_seed(self) -> Self {
        // A shift and a difference of integers.
        count(Operation::Add);
        count(Operation::Add);
        Self(self.0.inverse_sqrt_seed())
    }
    #[inline(never)]
    fn abs(self) -> Self {
        count(Operation::Blend);
        Self(self.0.abs())
    }
    #[inline(never)]
    fn min(self, other: Self) -> Self {
        count(Operation::Blend);
        Self(self.0.min(other.0))
    }
    #[inline(never)]
    fn max(self, other: Self) -> Self {
        count(Operation::Blend);
        Self(self.0.max(other.0))
    }
    #[inline(never)]
    fn copysign(self, sign: Self) -> Self {
        count(Operation::Blend);
        Self(self.0.copysign(sign.0))
    }
    #[inline(never)]
    fn lt(self, other: Self) -> Self::Mask {
        count(Operation::Blend);
        CountedMask(self.0.lt(other.0))
    }
    #[inline(never)]
    fn le(self, other: Self) -> Self::Mask {
        count(Operation::Blend);
        CountedMask(self.0.le(other.0))
    }
    #[inline(never)]
    fn select(mask: Self::Mask, yes: Self, no: Self) -> Self {
        count(Operation::Blend);
        Self(L::select(mask.0, yes.0, no.0))
    }
}
