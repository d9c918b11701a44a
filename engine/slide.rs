//! Slide joints: joints that translate against their parent instead of turning. `[S4]` `[S6]` `[V3]`
//!
//! Their particle is their own origin and their target the rest translation; they have no bone. What the file says in
//! its own units is converted to metres in the parent's model frame once, here.

use crate::bone::SwingTree;
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::pose::Rigid;
use crate::rig::Rig;
use crate::rotation::Rotation;
use crate::swing::{Motion, SwingJoint};

/// Metres per millimetre.
const MILLIMETRE: f32 = 0.001;
/// How fast a moving slide joint leaves the band of its pendulum, per metre. `[S4]`
const STILLNESS: f32 = 10.0;

/// What a slide joint needs, compiled; vectors are in its parent's model frame, metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlidePlan {
    /// Rest translation: what it is pulled to and what its limits are about.
    pub rest: [f32; 3],
    /// Lowest shift from there, per axis; −∞ is free.
    pub low: [f32; 3],
    /// Highest shift.
    pub high: [f32; 3],
    /// Sideways force that becomes force along y and z, dimensionless. `[S6]`
    pub coupling: [f32; 2],
    /// The scale of the parent at rest: divides what is written to the file's frame.
    pub scale: [f32; 3],
}

impl SlidePlan {
    /// Compiles `swing` if it slides. A mirrored axis turns its interval round.
    pub fn new(rig: &Rig, tree: &SwingTree, swing: &SwingJoint) -> Option<Self> {
        if swing.motion != Motion::Slide {
            return None;
        }
        let scale = tree.parent_scale(swing.joint);
        let rest = scale * rig.joints[swing.joint].rest.translation;
        let (mut low, mut high) = ([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
        if let Some(limit) = swing.limit {
            for axis in 0..3 {
                let (from, to) = (limit.low[axis] * MILLIMETRE, limit.high[axis] * MILLIMETRE);
                (low[axis], high[axis]) = if scale[axis] < 0.0 {
                    (-to, -from)
                } else {
                    (from, to)
                };
            }
        }
        Some(Self {
            rest: rest.to_array(),
            low,
            high,
            coupling: [swing.axis_add_x_to_y, swing.axis_add_x_to_z],
            scale: scale.to_array(),
        })
    }

    /// Local translation and particle of a slide joint below `parent`: held by its limits and weighted. `[V3]`
    ///
    /// ```text
    /// δ = clamp(parent⁻¹·particle − rest, low, high)      local = rest + δ·weight      particle = parent·local
    /// ```
    /// `parent` and `particle` are in true model space. What is inside the limits keeps its bits at weight 1.
    #[inline(always)]
    pub fn resolve<L: Lane>(
        &self,
        parent: Rigid<L>,
        particle: Vec3x<L>,
        weight: L,
    ) -> (Vec3x<L>, Vec3x<L>) {
        let rest = Vec3x::splat(self.rest);
        let shift = parent.r.conjugate().rotate(particle - parent.t) - rest;
        let (low, high) = (Vec3x::splat(self.low), Vec3x::splat(self.high));
        let held = Vec3x::new(
            shift.x.clamp_to(low.x, high.x),
            shift.y.clamp_to(low.y, high.y),
            shift.z.clamp_to(low.z, high.z),
        );
        let out = outside(shift.x, low.x, high.x)
            | outside(shift.y, low.y, high.y)
            | outside(shift.z, low.z, high.z);
        let local = rest + held * weight;
        let changed = out | weight.lt(L::splat(1.0));
        if !changed.any() {
            return (local, particle);
        }
        let moved = parent.apply(local);
        (local, Vec3x::select(changed, moved, particle))
    }

    /// The target of the pull, model space. `[S4]`
    #[inline(always)]
    pub fn target<L: Lane>(&self, parent: Rigid<L>) -> Vec3x<L> {
        parent.apply(Vec3x::splat(self.rest))
    }
}

#[inline(always)]
fn outside<L: Lane>(value: L, low: L, high: L) -> L::Mask {
    value.lt(low) | high.lt(value)
}

/// Turns sideways force into force along y and z. `[S6]`
///
/// ```text
/// l = current⁻¹·force     l.y += to_y·sign(l.y)·|l.x|, l.z likewise, sign(0) = 0     force = current·l
/// ```
/// `coupling` is `(to_y, to_z)`; `current` is `R_cur`, `force` in model space.
#[inline(always)]
pub fn couple<L: Lane>(coupling: [f32; 2], current: Rotation<L>, force: Vec3x<L>) -> Vec3x<L> {
    let mut l = current.conjugate().rotate(force);
    let sideways = l.x.abs();
    l.y = coupled_to(l.y, sideways * L::splat(coupling[0]));
    l.z = coupled_to(l.z, sideways * L::splat(coupling[1]));
    current.rotate(l)
}

/// `component` larger by `added` in its own direction; one of 0 has none.
#[inline(always)]
fn coupled_to<L: Lane>(component: L, added: L) -> L {
    let zero = L::splat(0.0);
    let signed = L::select(component.lt(zero), -added, added);
    let still = component.le(zero) & zero.le(component);
    component + L::select(still, zero, signed)
}

/// The share of the stiffness that a slide joint loses while it is still. `[S4]`
///
/// ```text
/// p = (1 − min(10·|x − x_prev|, range)/range)·pendulum
/// ```
#[inline(always)]
pub fn stillness_loss<L: Lane>(speed: Vec3x<L>, pendulum: L, range: L) -> L {
    let moved = (L::splat(STILLNESS) * speed.length_squared().sqrt()).min(range);
    (L::splat(1.0) - moved / range) * pendulum
}
