//! Forces: what pulls at a particle in a substep. `[S1]` `[S4]` `[S5]` `[W1]`
//!
//! Pure functions that [`super::integration`] adds up, in units of metres per step factor `[T3]`.

use bevy_math::Vec3;

use crate::crowd::{Group, particle, property};
use crate::lane::{Lane, LaneMask, MOST_LANES, Vec3x};
use crate::plan::Plan;
use crate::plan::constant::{self, FORCE_UNIT, Row, Spread};
use crate::profile::RootPolicy;
use crate::slide;
use crate::substep::Substep;
use crate::systems::substeps::Pass;

/// Below this product of two squared lengths, m⁴, the cosine between them counts as 1. `[S4]`
const SHORT_PRODUCT: f32 = 1e-20;

/// What all joints of an actor feel in a substep.
#[derive(Clone, Copy, Debug)]
pub struct Forces<L> {
    /// `[T3]`
    pub step: L,
    /// `[T3]` times the actor's swing power.
    pub scale: L,
    /// Unit.
    gravity: Vec3x<L>,
    /// `[S5]`'s global force.
    global: Vec3x<L>,
    /// Horizontal and vertical share of the root correction that the actor takes.
    root: [L; 2],
    /// hips of `[S1]`.
    hips: Vec3x<L>,
    /// Which substep of the frame it is: when each lane's wind is asked. `[W1]`
    index: usize,
    /// The part of each lane's wind that is the same for all joints.
    gust: L,
}

/// The parts of F, before they are added up. `[S5]`
#[derive(Clone, Copy, Debug)]
pub struct Parts<L> {
    /// Speed that is left.
    pub inertia: Vec3x<L>,
    /// `[S4]`
    pub spring: Vec3x<L>,
    /// Of gravity.
    pub gravity: Vec3x<L>,
    /// The actor's global force.
    pub global: Vec3x<L>,
    /// The wind's.
    pub wind: Vec3x<L>,
    /// The tip child's speed, if it is felt.
    pub child: Option<Vec3x<L>>,
}

impl<L: Lane> Forces<L> {
    /// Reads the actors' properties for substep `index` of a frame.
    #[inline(always)]
    pub fn new(pass: &Pass<L>, group: &Group, substep: &Substep, index: usize) -> Self {
        let step = L::splat(substep.step);
        Self {
            step,
            scale: step * group.property(property::POWER),
            gravity: group.property_vector(property::GRAVITY),
            global: group.property_vector(property::FORCE),
            root: [
                group.property(property::ROOT_HORIZONTAL),
                group.property(property::ROOT_VERTICAL),
            ],
            hips: hips(pass, group, substep.pose),
            index,
            gust: gusts(group, index),
        }
    }

    /// Goes on to another substep of the same pose and time.
    #[inline(always)]
    pub fn set_step(&mut self, group: &Group, substep: &Substep) {
        self.step = L::splat(substep.step);
        self.scale = self.step * group.property(property::POWER);
    }

    /// The root correction of a joint. `[S1]`
    #[inline(always)]
    pub fn correction<S: Spread>(&self, row: Row<L, S>) -> Vec3x<L> {
        let horizontal = row.number(constant::ROOT_HORIZONTAL);
        let vertical = row.number(constant::ROOT_VERTICAL);
        root_correction(self.hips, self.root, [horizontal, vertical])
    }

    /// Gravity, and what acts on joints that feel it: the global force and the wind at `origin`, model space.
    #[inline(always)]
    pub fn outside<S: Spread>(
        &self,
        row: Row<L, S>,
        group: &Group,
        origin: Vec3x<L>,
    ) -> (Vec3x<L>, Vec3x<L>, Vec3x<L>) {
        let none = Vec3x::splat([0.0; 3]);
        // Not a product with 0: that would hand an infinite force on as NaN to joints that do not feel it.
        let global = if row.swing.global_force == 0.0 {
            none
        } else {
            self.global * row.number(constant::GLOBAL_FORCE)
        };
        let wind = if row.swing.wind == 0.0 || group.winds.is_empty() {
            none
        } else {
            wind_at(group, origin, self.index, self.gust) * row.number(constant::WIND)
        };
        let weight = row.number(constant::WEIGHT);
        (self.gravity * weight, global, wind)
    }
}

impl<L: Lane> Parts<L> {
    /// F, in one fixed order. `[S5]`
    #[inline(always)]
    pub fn sum(&self) -> Vec3x<L> {
        self.with_child(self.spring + self.inertia + self.gravity + (self.global + self.wind))
    }

    /// F without the inertia: what changes a velocity. `[S7]`
    #[inline(always)]
    pub fn sum_without_inertia(&self) -> Vec3x<L> {
        self.with_child(self.spring + self.gravity + (self.global + self.wind))
    }

    #[inline(always)]
    fn with_child(&self, sum: Vec3x<L>) -> Vec3x<L> {
        match self.child {
            Some(child) => sum + child,
            None => sum,
        }
    }
}

/// rc: the part of `hips` that a joint does not feel. `[S1]`
///
/// ```text
/// h = 1 − a·root_horizontal_weight     v = 1 − b·root_vertical_weight     rc = (h·hips.x, v·hips.y, h·hips.z)
/// ```
/// `actor` is (a, b), `joint` the joint's weights, all 0 to 1; `hips` in model space, metres.
#[inline(always)]
pub fn root_correction<L: Lane>(hips: Vec3x<L>, actor: [L; 2], joint: [L; 2]) -> Vec3x<L> {
    let one = L::splat(1.0);
    let horizontal = one - actor[0] * joint[0];
    let vertical = one - actor[1] * joint[1];
    Vec3x::new(horizontal * hips.x, vertical * hips.y, horizontal * hips.z)
}

/// hips of `[S1]` in pose `pose`, or how far they went in the frame.
#[inline(always)]
fn hips<L: Lane>(pass: &Pass<L>, group: &Group, pose: usize) -> Vec3x<L> {
    match pass.profile.root {
        RootPolicy::Shift => hips_at(pass.plan, group, pose),
        RootPolicy::FrameDelta => Vec3x::load(&group.hips_moved),
        RootPolicy::Off => Vec3x::splat([0.0; 3]),
    }
}

/// Where the joint is that the root correction follows, model space; the origin where there is none. `[S1]`
#[inline(always)]
pub fn hips_at<L: Lane>(plan: &Plan, group: &Group, pose: usize) -> Vec3x<L> {
    match plan.root_correction {
        Some(joint) => group.model(pose, joint, plan.rest.len()).t,
        None => Vec3x::splat([0.0; 3]),
    }
}

/// The gust of each lane's wind in substep `index`; 0 where there is none. `[W1]`
#[inline(always)]
fn gusts<L: Lane>(group: &Group, index: usize) -> L {
    if group.winds.is_empty() {
        return L::splat(0.0);
    }
    let mut numbers = [0.0; MOST_LANES];
    gusts_into(group, index, L::LANES, &mut numbers);
    L::load(&numbers)
}

#[inline(never)]
fn gusts_into(group: &Group, index: usize, lanes: usize, numbers: &mut [f32; MOST_LANES]) {
    for (lane, (number, wind)) in numbers.iter_mut().zip(&group.winds).enumerate() {
        let time = group.times[index * lanes + lane];
        *number = wind.as_ref().map_or(0.0, |field| field.gust(time));
    }
}

/// The wind of each lane at its point in substep `index`. `[W1]`
#[inline(always)]
fn wind_at<L: Lane>(group: &Group, point: Vec3x<L>, index: usize, gust: L) -> Vec3x<L> {
    let mut at = [0.0; 4 * MOST_LANES];
    point.store(&mut at);
    gust.store(&mut at[3 * L::LANES..]);
    wind_into(group, index, L::LANES, &mut at);
    Vec3x::load(&at)
}

/// Replaces points by the wind there: `at` is `[x y z, gust][lane]`.
#[inline(never)]
fn wind_into(group: &Group, index: usize, lanes: usize, at: &mut [f32; 4 * MOST_LANES]) {
    for lane in 0..lanes {
        let point = Vec3::new(at[lane], at[lanes + lane], at[2 * lanes + lane]);
        let wind = match group.winds.get(lane).and_then(Option::as_ref) {
            Some(field) => {
                let time = group.times[index * lanes + lane];
                field.at_gust(point, time, at[3 * lanes + lane])
            }
            None => Vec3::ZERO,
        };
        for (axis, value) in wind.to_array().into_iter().enumerate() {
            at[axis * lanes + lane] = value;
        }
    }
}

/// The pull towards the rest direction, weaker while the joint is still. `[S4]`
///
/// ```text
/// c = |x·x_prev| / (|x||x_prev|)     p = max(0, c − (1 − range)) / range · pendulum
/// s = direction · (stiffness − p) · 0.01
/// ```
/// `direction` is `R_cur·axis`, unit; the unit 0.01 lies in the constants; both positions are taken from the origin of the shifted space.
#[inline(always)]
pub fn spring_force<L: Lane, S: Spread>(
    row: Row<L, S>,
    direction: Vec3x<L>,
    position: Vec3x<L>,
    previous: Vec3x<L>,
) -> Vec3x<L> {
    let pull = row.number(constant::PULL);
    if row.swing.pendulum == 0.0 {
        return direction * pull;
    }
    let product = position.length_squared() * previous.length_squared();
    let mut cosine = position.dot(previous).abs() / product.sqrt();
    let short = product.lt(L::splat(SHORT_PRODUCT));
    if short.any() {
        cosine = L::select(short, L::splat(1.0), cosine);
    }
    let above = (cosine - row.number(constant::PENDULUM_START)).max(L::splat(0.0));
    direction * (pull - above * row.number(constant::PENDULUM_SLOPE))
}

/// The pull of a slide joint towards its target, weaker while it is still. `[S4]`
///
/// ```text
/// s = (target − x_prev)·(stiffness − p)·0.01
/// ```
#[inline(always)]
pub fn slide_force<L: Lane, S: Spread>(
    row: Row<L, S>,
    target: Vec3x<L>,
    position: Vec3x<L>,
    previous: Vec3x<L>,
) -> Vec3x<L> {
    let stiffness = row.number(constant::STIFFNESS);
    let loss = if row.swing.pendulum == 0.0 {
        L::splat(0.0)
    } else {
        let (pendulum, range) = (
            row.number(constant::PENDULUM),
            row.number(constant::PENDULUM_RANGE),
        );
        slide::stillness_loss(position - previous, pendulum, range)
    };
    (target - previous) * ((stiffness - loss) * L::splat(FORCE_UNIT))
}

/// The tip child's speed that pulls the particle along; none while settling. `[S5]` `[S9]` `[S10]`
///
/// The child moves after this joint, so its position and the one before still belong to the last substep: their
/// difference is its speed.
#[inline(always)]
pub fn child_speed<L: Lane, S: Spread>(
    row: Row<L, S>,
    group: &Group,
    prewarm: bool,
) -> Option<Vec3x<L>> {
    let child = row.swing.tip_swing?;
    if row.swing.spring == 0.0 || prewarm {
        return None;
    }
    let child = &group.particles[child * particle::COMPONENTS * L::LANES..];
    let position = Vec3x::<L>::load(&child[particle::POSITION * L::LANES..]);
    let previous = Vec3x::load(&child[particle::PREVIOUS * L::LANES..]);
    let speed = position - previous;
    // A particle that overflowed has no speed: its parent must not notice. `[V8]`
    let speed = Vec3x::select(speed.finite(), speed, Vec3x::splat([0.0; 3]));
    Some(speed * row.number(constant::SPRING))
}
