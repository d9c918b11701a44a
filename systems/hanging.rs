//! Hanging: where a joint hangs in a substep, and what passes from stage to stage of it. `[5.5]`
//!
//! The first step of a joint's substep, after the joint above was resolved. Reads the animated pose and the resolved
//! joint above; writes the joint's origin and root correction.

use super::forces::Forces;
use super::integration::ON_ANCHOR_SQUARED;
use crate::crowd::{Group, particle, result, waiting};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::constant::{Row, Spread};
use crate::plan::{Hold, Plan, SwingPlan};
use crate::pose::Rigid;
use crate::profile::RestPose;
use crate::rotation::Rotation;
use crate::systems::substeps::Pass;

/// Where a joint hangs in a substep.
#[derive(Clone, Copy)]
pub struct Hung<L> {
    /// Its undeflected transform (t0, r0), true model space. `[5.5]`
    pub rest: Rigid<L>,
    /// rc of `[S1]`; `None` where the rig has no root correction.
    pub correction: Option<Vec3x<L>>,
}

impl<L: Lane> Hung<L> {
    /// A: the origin in shifted space.
    #[inline(always)]
    pub fn anchor(&self) -> Vec3x<L> {
        self.shifted(self.rest.t)
    }

    /// A point of true model space in shifted space. `[S1]`
    #[inline(always)]
    pub fn shifted(&self, point: Vec3x<L>) -> Vec3x<L> {
        match self.correction {
            Some(correction) => point - correction,
            None => point,
        }
    }

    /// A point of shifted space in true model space. `[S1]`
    #[inline(always)]
    pub fn unshifted(&self, point: Vec3x<L>) -> Vec3x<L> {
        match self.correction {
            Some(correction) => point + correction,
            None => point,
        }
    }

    /// Reads what [`hang_joint`] wrote of a joint that waited.
    #[inline(always)]
    pub fn load(plan: &Plan, group: &Group, place: usize) -> Self {
        let own = &group.particles[place * particle::COMPONENTS * L::LANES..]
            [..particle::COMPONENTS * L::LANES];
        let aside = &group.waiting[place * waiting::COMPONENTS * L::LANES..];
        // Not `map`: a closure would not be inlined into the instructions of wide lanes.
        let correction = if plan.root_correction.is_some() {
            Some(Vec3x::load(&own[particle::CORRECTION * L::LANES..]))
        } else {
            None
        };
        Self {
            rest: Rigid {
                t: Vec3x::load(&own[particle::ORIGIN * L::LANES..]),
                r: Rotation::load(&aside[waiting::REST * L::LANES..]),
            },
            correction,
        }
    }
}

/// A particle on its way through the stages of a substep.
#[derive(Clone, Copy)]
pub struct Swung<L: Lane> {
    /// Shifted space, metres.
    pub position: Vec3x<L>,
    /// From the anchor to it, unit, where it is aimed; not of slide joints.
    pub direction: Vec3x<L>,
    /// Where it is finite. `[V8]`
    pub healthy: L::Mask,
    /// Where it is finite and not on its anchor.
    pub aimed: L::Mask,
}

impl<L: Lane> Swung<L> {
    /// Of a slide joint, which has no bone.
    #[inline(always)]
    pub fn sliding(position: Vec3x<L>) -> Self {
        Self {
            position,
            direction: Vec3x::splat([0.0; 3]),
            healthy: L::Mask::splat(true),
            aimed: L::Mask::splat(true),
        }
    }

    /// Keeps what a joint that waits for others is resolved from; its particle lies where the others find it.
    #[inline(always)]
    pub fn put_aside(&self, hung: &Hung<L>, place: usize, group: &mut Group) {
        let to = &mut group.waiting[place * waiting::COMPONENTS * L::LANES..];
        hung.rest.r.store(&mut to[waiting::REST * L::LANES..]);
        self.position.store(&mut to[waiting::POSITION * L::LANES..]);
        self.direction
            .store(&mut to[waiting::DIRECTION * L::LANES..]);
        let (aimed, still, lost) = (L::splat(1.0), L::splat(0.0), L::splat(-1.0));
        let state = L::select(self.aimed, aimed, L::select(self.healthy, still, lost));
        state.store(&mut to[waiting::STATE * L::LANES..]);
    }

    /// Reads the particle of a joint that waited: where nothing moved it meanwhile, as it was put aside.
    #[inline(always)]
    pub fn load(group: &Group, place: usize, hung: &Hung<L>) -> Self {
        let position = (place * particle::COMPONENTS + particle::POSITION) * L::LANES;
        let position = Vec3x::<L>::load(&group.particles[position..]);
        let aside = &group.waiting[place * waiting::COMPONENTS * L::LANES..];
        let moved = position - Vec3x::load(&aside[waiting::POSITION * L::LANES..]);
        let direction = Vec3x::load(&aside[waiting::DIRECTION * L::LANES..]);
        let state = L::load(&aside[waiting::STATE * L::LANES..]);
        let (was_aimed, was_healthy) = (L::splat(0.5).lt(state), L::splat(-0.5).lt(state));
        let is_same = moved.length_squared().le(L::splat(0.0));
        let offset = position - hung.anchor();
        let squared = offset.length_squared();
        // What was lost before a layer moved it stays lost.
        let healthy = was_healthy & (is_same | squared.finite());
        let away = L::splat(ON_ANCHOR_SQUARED).lt(squared);
        let found = offset * squared.inverse_sqrt();
        Self {
            position,
            direction: Vec3x::select(is_same, direction, found),
            healthy,
            aimed: healthy & ((is_same & was_aimed) | (!is_same & away)),
        }
    }
}

/// Finds where the joint hangs in this substep, and notes it: its origin, its root correction, a slide joint's parent.
#[inline(always)]
pub fn hang_joint<L: Lane, S: Spread>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    pose: usize,
    forces: &Forces<L>,
) -> Hung<L> {
    let row = Row::<L, S>::new(pass.plan, place);
    let rest = rest_transform::<L, S>(pass.plan, row, group, pose, pass.profile.rest_pose);
    let from = place * particle::COMPONENTS * L::LANES;
    if row.swing.slide.is_some() {
        let parent = parent_transform::<L>(pass.plan, row.swing, group, pose);
        let to = from + particle::PARENT * L::LANES;
        parent.t.store(&mut group.particles[to..]);
    }
    let own = &mut group.particles[from..][..particle::COMPONENTS * L::LANES];
    rest.t.store(&mut own[particle::ORIGIN * L::LANES..]);
    let correction = match pass.plan.root_correction {
        Some(_) => {
            let correction = forces.correction(row);
            correction.store(&mut own[particle::CORRECTION * L::LANES..]);
            Some(correction)
        }
        None => None,
    };
    Hung { rest, correction }
}

/// Where the joint's undeflected transform is: (t0, r0) = P·local, with P as resolved in this substep. `[5.5]`
#[inline(always)]
fn rest_transform<L: Lane, S: Spread>(
    plan: &Plan,
    row: Row<L, S>,
    group: &Group,
    pose: usize,
    rest_pose: RestPose,
) -> Rigid<L> {
    let (swing, joints) = (row.swing, plan.rest.len());
    let local = match (rest_pose, swing.hold) {
        (RestPose::Animated, Hold::Animated) => return group.model(pose, swing.joint, joints),
        (RestPose::Animated, Hold::Swing(_)) => group.local(pose, swing.joint, joints),
        (RestPose::Bind, _) => row.rest_local(),
    };
    match swing.hold {
        Hold::Swing(above) if swing.is_on_tip => on_tip(row, group, above, local),
        _ => parent_transform(plan, swing, group, pose).compose(local),
    }
}

/// P·local of a joint at the tip of the bone at place `above`: it starts where that bone's particle was resolved, and
/// only what the animation moved it away from the tip has to be turned.
#[inline(always)]
fn on_tip<L: Lane, S: Spread>(
    row: Row<L, S>,
    group: &Group,
    above: usize,
    local: Rigid<L>,
) -> Rigid<L> {
    let tip = &group.results[(above * result::COMPONENTS + result::POSITION) * L::LANES..];
    let turned = &group.particles[(above * particle::COMPONENTS + particle::ROTATION) * L::LANES..];
    let (mut t, r) = (Vec3x::load(tip), Rotation::<L>::load(turned));
    let off = local.t - row.rest_local().t;
    let is_off = !off.length_squared().le(L::splat(0.0));
    if is_off.any() {
        t = Vec3x::select(is_off, t + r.rotate(off), t);
    }
    Rigid { t, r: r * local.r }
}

/// P: the parent's transform as resolved in this substep, true model space.
#[inline(always)]
pub fn parent_transform<L: Lane>(
    plan: &Plan,
    swing: &SwingPlan,
    group: &Group,
    pose: usize,
) -> Rigid<L> {
    let joints = plan.rest.len();
    let Hold::Swing(above) = swing.hold else {
        return match plan.parents[swing.joint] {
            Some(parent) => group.model(pose, parent, joints),
            None => Rigid::identity(),
        };
    };
    let above = &group.particles[above * particle::COMPONENTS * L::LANES..]
        [..particle::COMPONENTS * L::LANES];
    let mut parent = Rigid {
        t: Vec3x::load(&above[particle::ORIGIN * L::LANES..]),
        r: Rotation::load(&above[particle::ROTATION * L::LANES..]),
    };
    for &joint in &plan.between[swing.between.clone()] {
        parent = parent.compose(group.local(pose, joint, joints));
    }
    parent
}
