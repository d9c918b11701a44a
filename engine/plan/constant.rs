//! The constants of swing joints as the kernels read them: one table of numbers, in lanes.
//!
//! A group of many actors has the same constant in every lane ([`PerActor`]); a group of one actor's chains has that of
//! each chain's own joint ([`PerChain`]). The kernels are written once over [`Spread`].

use core::marker::PhantomData;

use super::{DynamicPlan, Plan, SwingPlan};
use crate::lane::{Lane, Vec3x};
use crate::limit::{Circle, End};
use crate::pose::Rigid;
use crate::rotation::Rotation;

/// Forces are in units of 0.01 m per step. `[S4]` `[S5]`
pub const FORCE_UNIT: f32 = 0.01;

/// Direction of the bone, x y z. See [`SwingPlan`] for this and the next ones.
pub const AXIS: usize = 0;
/// Metres.
pub const LENGTH: usize = 3;
/// `[S5]`
pub const INERTIA: usize = 4;
/// `[S4]`
pub const STIFFNESS: usize = 5;
/// `[S5]`
pub const SPRING: usize = 6;
/// `[S5]`
pub const WEIGHT: usize = 7;
/// `[S4]`
pub const PENDULUM: usize = 8;
/// `[S4]`
pub const PENDULUM_RANGE: usize = 9;
/// `[S5]`
pub const GLOBAL_FORCE: usize = 10;
/// `[W1]`
pub const WIND: usize = 11;
/// `[S1]`
pub const ROOT_HORIZONTAL: usize = 12;
/// `[S1]`
pub const ROOT_VERTICAL: usize = 13;
/// Radii of the own collider: at the particle and, of a line, at the origin, metres.
pub const RADIUS: usize = 14;
/// Insets of a line, metres.
pub const INSET: usize = 16;
/// Offset of a ball, x y z, metres.
pub const OFFSET: usize = 18;
/// Rest transform against the parent, scaled and rigid: t x y z, r x y z w.
pub const REST: usize = 21;
/// Sines of the ends of X, then low and high end of Y and of Z as (tangent, sine, cosine) of their halves. `[V2]`
pub const LIMIT: usize = 28;
/// Stiffness in metres per step factor. `[S4]`
pub const PULL: usize = 42;
/// 1 − the pendulum's range: the cosine above which it takes of the pull. `[S4]`
pub const PENDULUM_START: usize = 43;
/// What it takes of the pull per cosine above that: pendulum over range, metres per step factor. `[S4]`
pub const PENDULUM_SLOPE: usize = 44;
/// How many a joint has.
pub const CONSTANTS: usize = 45;

/// How the lanes of a group share the constants of a joint.
pub trait Spread: Copy {
    /// The constant at `index` of `numbers`.
    fn read<L: Lane>(numbers: &[f32], index: usize) -> L;
    /// How many numbers a constant takes.
    fn width<L: Lane>() -> usize;
}

/// An actor in every lane: one number for all.
#[derive(Clone, Copy, Debug)]
pub struct PerActor;

/// A chain of one actor in every lane: a number each.
#[derive(Clone, Copy, Debug)]
pub struct PerChain;

impl Spread for PerActor {
    #[inline(always)]
    fn read<L: Lane>(numbers: &[f32], index: usize) -> L {
        L::splat(numbers[index])
    }
    #[inline(always)]
    fn width<L: Lane>() -> usize {
        1
    }
}

impl Spread for PerChain {
    #[inline(always)]
    fn read<L: Lane>(numbers: &[f32], index: usize) -> L {
        L::load(&numbers[index * L::LANES..])
    }
    #[inline(always)]
    fn width<L: Lane>() -> usize {
        L::LANES
    }
}

/// A swing joint as a kernel reads it: what all lanes have in common, and its constants.
#[derive(Clone, Copy, Debug)]
pub struct Row<'p, L, S> {
    /// Which cases it takes; its numbers are those of the first lane.
    pub swing: &'p SwingPlan,
    numbers: &'p [f32],
    spread: PhantomData<(L, S)>,
}

impl<'p, L: Lane, S: Spread> Row<'p, L, S> {
    /// The swing joint at `place`.
    #[inline(always)]
    pub fn new(plan: &'p Plan, place: usize) -> Self {
        let size = CONSTANTS * S::width::<L>();
        Self {
            swing: &plan.swings[place],
            numbers: &plan.constants[place * size..][..size],
            spread: PhantomData,
        }
    }

    /// One constant.
    #[inline(always)]
    pub fn number(&self, constant: usize) -> L {
        S::read(self.numbers, constant)
    }

    /// Three constants.
    #[inline(always)]
    pub fn vector(&self, constant: usize) -> Vec3x<L> {
        Vec3x::new(
            self.number(constant),
            self.number(constant + 1),
            self.number(constant + 2),
        )
    }

    /// Two constants.
    #[inline(always)]
    pub fn pair(&self, constant: usize) -> [L; 2] {
        [self.number(constant), self.number(constant + 1)]
    }

    /// See [`REST`].
    #[inline(always)]
    pub fn rest_local(&self) -> Rigid<L> {
        Rigid {
            t: self.vector(REST),
            r: Rotation::new(
                self.number(REST + 3),
                self.number(REST + 4),
                self.number(REST + 5),
                self.number(REST + 6),
            ),
        }
    }

    /// See [`LIMIT`].
    #[inline(always)]
    pub fn circle(&self) -> Circle<L> {
        Circle {
            x: self.pair(LIMIT),
            y: [self.end(LIMIT + 2), self.end(LIMIT + 5)],
            z: [self.end(LIMIT + 8), self.end(LIMIT + 11)],
        }
    }

    #[inline(always)]
    fn end(&self, constant: usize) -> End<L> {
        End {
            tangent: self.number(constant),
            sine: self.number(constant + 1),
            cosine: self.number(constant + 2),
        }
    }
}

/// The constants of one swing joint that rests at `rest` against its parent.
pub fn of_joint(swing: &SwingPlan, rest: &Rigid<f32>) -> [f32; CONSTANTS] {
    let mut numbers = [0.0; CONSTANTS];
    numbers[AXIS..AXIS + 3].copy_from_slice(&swing.axis);
    for (constant, value) in [
        (LENGTH, swing.length),
        (INERTIA, swing.inertia),
        (STIFFNESS, swing.stiffness),
        (SPRING, swing.spring),
        (WEIGHT, swing.weight),
        (PENDULUM, swing.pendulum),
        (PENDULUM_RANGE, swing.pendulum_range),
        (GLOBAL_FORCE, swing.global_force),
        (WIND, swing.wind),
        (ROOT_HORIZONTAL, swing.root_horizontal_weight),
        (ROOT_VERTICAL, swing.root_vertical_weight),
        (PULL, swing.stiffness * FORCE_UNIT),
        (PENDULUM_START, 1.0 - swing.pendulum_range),
        (
            PENDULUM_SLOPE,
            swing.pendulum / swing.pendulum_range * FORCE_UNIT,
        ),
    ] {
        numbers[constant] = value;
    }
    match &swing.collider {
        Some(DynamicPlan::Sphere { offset, radius }) => {
            numbers[OFFSET..OFFSET + 3].copy_from_slice(offset);
            numbers[RADIUS] = *radius;
        }
        Some(DynamicPlan::Line { inset, radius }) => {
            numbers[INSET..INSET + 2].copy_from_slice(inset);
            numbers[RADIUS..RADIUS + 2].copy_from_slice(radius);
        }
        None => {}
    }
    rest.store(&mut numbers[REST..]);
    if let Some(limit) = &swing.limit {
        let circle = &limit.circle;
        numbers[LIMIT..LIMIT + 2].copy_from_slice(&circle.x);
        for (index, end) in circle.y.iter().chain(&circle.z).enumerate() {
            let end = [end.tangent, end.sine, end.cosine];
            numbers[LIMIT + 2 + 3 * index..][..3].copy_from_slice(&end);
        }
    }
    numbers
}

/// The constants of all swing joints of `plan`, one number each: `[place][constant]`.
pub fn of_plan(plan: &Plan) -> Vec<f32> {
    let joints = plan.swings.iter().zip(&plan.rest_locals);
    joints
        .flat_map(|(swing, rest)| of_joint(swing, rest))
        .collect()
}
