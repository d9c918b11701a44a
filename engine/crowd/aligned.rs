//! Numbers in whole cache lines, so that no load of a wide register straddles two.

use core::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};

/// Numbers of a cache line.
const NUMBERS: usize = 16;

/// A cache line of numbers.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C, align(64))]
struct Line([f32; NUMBERS]);

/// A row of numbers whose first one lies at a multiple of 64 bytes, and whose last line is filled up with zeros.
///
/// Whole lines and nothing else: the kernels look into such rows dozens of times per joint, and what says where a row
/// starts and ends has to cost next to nothing.
#[derive(Clone, Debug, Default)]
pub struct Aligned(Vec<Line>);

impl Aligned {
    /// `count` zeros.
    pub fn zeros(count: usize) -> Self {
        let mut made = Self::default();
        made.resize(count);
        made
    }

    /// Makes room for `count` numbers; new lines are 0, those that were there stay. Memory is kept when it shrinks.
    pub fn resize(&mut self, count: usize) {
        self.0.resize(count.div_ceil(NUMBERS), Line([0.0; NUMBERS]));
    }

    /// Forgets all numbers.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

impl Deref for Aligned {
    type Target = [f32];
    #[inline(always)]
    fn deref(&self) -> &[f32] {
        bytemuck::must_cast_slice(&self.0)
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        bytemuck::must_cast_slice_mut(&mut self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_start_at_a_line_and_stay_when_it_grows() {
        let mut numbers = Aligned::zeros(5);
        numbers[4] = 7.0;
        numbers.resize(500);
        assert_eq!(numbers.as_ptr().align_offset(64), 0);
        assert_eq!((numbers[4], numbers[499]), (7.0, 0.0));
        numbers[20] = 3.0;
        numbers.resize(4);
        numbers.resize(32);
        assert_eq!(
            (numbers[4], numbers[20]),
            (7.0, 0.0),
            "lines cut off are gone"
        );
        assert_eq!(numbers.clone().as_ptr().align_offset(64), 0);
    }
}
