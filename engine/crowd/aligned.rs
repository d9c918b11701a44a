//! Numbers that start at a cache line, so that no load of a wide register straddles two.

use core::ops::{Deref, DerefMut};

/// Numbers of a cache line.
const LINE: usize = 16;

/// A row of numbers whose first one lies at a multiple of 64 bytes.
#[derive(Debug, Default)]
pub struct Aligned {
    numbers: Vec<f32>,
    start: usize,
    count: usize,
}

impl Aligned {
    /// `count` zeros.
    pub fn zeros(count: usize) -> Self {
        let mut made = Self::default();
        made.resize(count);
        made
    }

    /// Makes room for `count` numbers; new ones are 0, those that were there stay. Memory is kept when it shrinks.
    pub fn resize(&mut self, count: usize) {
        let had = self.count.min(count);
        if self.start + count > self.numbers.len() {
            let mut grown = vec![0.0; count + LINE - 1];
            let start = grown.as_ptr().align_offset(LINE * size_of::<f32>());
            // Without an offset to be had, unaligned numbers are as right.
            let start = if start < LINE { start } else { 0 };
            grown[start..start + had].copy_from_slice(&self[..had]);
            self.numbers = grown;
            self.start = start;
        }
        let had = self.start + had;
        self.numbers[had..self.start + count].fill(0.0);
        self.count = count;
    }

    /// Forgets all numbers.
    pub fn clear(&mut self) {
        self.count = 0;
    }
}

impl Deref for Aligned {
    type Target = [f32];
    #[inline(always)]
    fn deref(&self) -> &[f32] {
        &self.numbers[self.start..self.start + self.count]
    }
}

impl DerefMut for Aligned {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.numbers[self.start..self.start + self.count]
    }
}

impl Clone for Aligned {
    fn clone(&self) -> Self {
        let mut made = Self::zeros(self.count);
        made.copy_from_slice(self);
        made
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
        numbers.resize(4);
        numbers.resize(5);
        assert_eq!(numbers[4], 0.0, "what was cut off is gone");
        assert_eq!(numbers.clone().as_ptr().align_offset(64), 0);
    }
}
