//! Pens: writing only the lanes whose turn it is.

use super::{Lane, LaneMask, Vec3x};

/// Which lanes of a group a pass writes; the others keep their bits.
#[derive(Clone, Copy, Debug)]
pub struct Pen<L: Lane> {
    is_whole: bool,
    active: L::Mask,
}

impl<L: Lane> Pen<L> {
    /// Writes the lanes where `active` has 1; all of them where it is empty.
    #[inline(always)]
    pub fn new(active: &[f32]) -> Self {
        if L::LANES == 1 || active.is_empty() {
            return Self {
                is_whole: true,
                active: L::Mask::splat(true),
            };
        }
        Self {
            is_whole: false,
            active: L::splat(0.5).lt(L::load(active)),
        }
    }

    /// Whether it writes every lane.
    #[inline(always)]
    pub fn is_whole(self) -> bool {
        L::LANES == 1 || self.is_whole
    }

    /// The lanes that it writes.
    #[inline(always)]
    pub fn active(self) -> L::Mask {
        self.active
    }

    /// Writes `value` to the front of `to`.
    #[inline(always)]
    pub fn put(self, value: L, to: &mut [f32]) {
        if self.is_whole() {
            value.store(to);
        } else {
            L::select(self.active, value, L::load(to)).store(to);
        }
    }

    /// As [`Self::put`], three components.
    #[inline(always)]
    pub fn put_vector(self, value: Vec3x<L>, to: &mut [f32]) {
        if self.is_whole() {
            value.store(to);
        } else {
            Vec3x::select(self.active, value, Vec3x::load(to)).store(to);
        }
    }
}
