//! Forces: what pulls at a particle in a substep. `[S1]` `[S4]` `[S5]` `[W1]`
//!
//! Pure functions that [`super::integration`] adds up, in units of metres per step factor `[T3]`.

use crate::crowd::{Group, particle, property};
use crate::lane::{Lane, Vec3x};
use crate::plan::SwingPlan;
use crate::slide;
use crate::substep::Substep;

/// Forces are in units of 0.01 m per step. `[S4]` `[S5]`
const FORCE_UNIT: f32 = 0.01;
/// Most lanes of a group: room for one number per lane.
const MOST_LANES: usize = 64;

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
    /// When the wind is asked, seconds. `[W1]`
    time: f64,
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
    /// The tip child's speed.
    pub child: Vec3x<L>,
}

impl<L: Lane> Forces<L> {
    /// Reads the actor's properties for a substep with root correction `hips`.
    #[inline(always)]
    pub fn new(group: &Group, substep: &Substep, hips: Vec3x<L>) -> Self {
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
            hips,
            time: substep.time,
            gust: gusts(group, substep.time),
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
    pub fn correction(&self, swing: &SwingPlan) -> Vec3x<L> {
        let horizontal = L::splat(swing.root_horizontal_weight);
        let vertical = L::splat(swing.root_vertical_weight);
        root_correction(self.hips, self.root, [horizontal, vertical])
    }

    /// Gravity, and what acts on joints that feel it: the global force and the wind at `origin`, model space.
    #[inline(always)]
    pub fn outside(
        &self,
        swing: &SwingPlan,
        group: &Group,
        origin: Vec3x<L>,
    ) -> (Vec3x<L>, Vec3x<L>, Vec3x<L>) {
        let none = Vec3x::splat([0.0; 3]);
        // Not a product with 0: that would hand an infinite force on as NaN to joints that do not feel it.
        let global = if swing.global_force == 0.0 {
            none
        } else {
            self.global * L::splat(swing.global_force)
        };
        let wind = if swing.wind == 0.0 || group.winds.is_empty() {
            none
        } else {
            wind_at(group, origin, self.time, self.gust) * L::splat(swing.wind)
        };
        (self.gravity * L::splat(swing.weight), global, wind)
    }
}

impl<L: Lane> Parts<L> {
    /// F, in one fixed order. `[S5]`
    #[inline(always)]
    pub fn sum(&self) -> Vec3x<L> {
        self.spring + self.inertia + self.gravity + (self.global + self.wind) + self.child
    }

    /// F without the inertia: what changes a velocity. `[S7]`
    #[inline(always)]
    pub fn sum_without_inertia(&self) -> Vec3x<L> {
        self.spring + self.gravity + (self.global + self.wind) + self.child
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

/// The gust of each lane's wind; 0 where there is none. `[W1]`
fn gusts<L: Lane>(group: &Group, time: f64) -> L {
    if group.winds.is_empty() {
        return L::splat(0.0);
    }
    let mut numbers = [0.0; MOST_LANES];
    for (number, wind) in numbers.iter_mut().zip(&group.winds) {
        *number = wind.as_ref().map_or(0.0, |field| field.gust(time));
    }
    L::load(&numbers)
}

/// The wind of each lane at its point. `[W1]`
fn wind_at<L: Lane>(group: &Group, point: Vec3x<L>, time: f64, gust: L) -> Vec3x<L> {
    let mut numbers = [0.0; 3 * MOST_LANES];
    for lane in 0..L::LANES {
        let Some(field) = group.winds.get(lane).and_then(Option::as_ref) else {
            continue;
        };
        let wind = field.at_gust(point.lane(lane).into(), time, gust.lane(lane));
        for (axis, value) in wind.to_array().into_iter().enumerate() {
            numbers[axis * L::LANES + lane] = value;
        }
    }
    Vec3x::load(&numbers)
}

/// The pull towards the rest direction, weaker while the joint is still. `[S4]`
///
/// ```text
/// c = |x·x_prev| / (|x||x_prev|)     p = max(0, c − (1 − range)) / range · pendulum
/// s = direction · (stiffness − p) · 0.01
/// ```
/// `direction` is `R_cur·axis`, unit; both positions are taken from the origin of the shifted space.
#[inline(always)]
pub fn spring_force<L: Lane>(
    swing: &SwingPlan,
    direction: Vec3x<L>,
    position: Vec3x<L>,
    previous: Vec3x<L>,
) -> Vec3x<L> {
    if swing.pendulum == 0.0 {
        return direction * L::splat(swing.stiffness * FORCE_UNIT);
    }
    let one = L::splat(1.0);
    let product = (position.length_squared() * previous.length_squared()).sqrt();
    let cosine = position.dot(previous).abs() / product;
    let cosine = L::select(product.lt(L::splat(1e-10)), one, cosine);
    let range = L::splat(swing.pendulum_range);
    let loss = (cosine - (one - range)).max(L::splat(0.0)) / range * L::splat(swing.pendulum);
    direction * ((L::splat(swing.stiffness) - loss) * L::splat(FORCE_UNIT))
}

/// The pull of a slide joint towards its target, weaker while it is still. `[S4]`
///
/// ```text
/// s = (target − x_prev)·(stiffness − p)·0.01
/// ```
#[inline(always)]
pub fn slide_force<L: Lane>(
    swing: &SwingPlan,
    target: Vec3x<L>,
    position: Vec3x<L>,
    previous: Vec3x<L>,
) -> Vec3x<L> {
    let loss = slide::stillness_loss(position - previous, swing.pendulum, swing.pendulum_range);
    (target - previous) * ((L::splat(swing.stiffness) - loss) * L::splat(FORCE_UNIT))
}

/// The tip child's speed that pulls the particle along; none while settling. `[S5]` `[S9]` `[S10]`
///
/// The child moves after this joint, so its position and the one before still belong to the last substep: their
/// difference is its speed.
#[inline(always)]
pub fn child_speed<L: Lane>(swing: &SwingPlan, group: &Group, prewarm: bool) -> Vec3x<L> {
    let coupled = swing.tip_swing.filter(|_| swing.spring != 0.0 && !prewarm);
    let Some(child) = coupled else {
        return Vec3x::splat([0.0; 3]);
    };
    let child = &group.particles[child * particle::COMPONENTS * L::LANES..];
    let position = Vec3x::load(&child[particle::POSITION * L::LANES..]);
    let previous = Vec3x::load(&child[particle::PREVIOUS * L::LANES..]);
    let speed = position - previous;
    // A particle that overflowed has no speed: its parent must not notice. `[V8]`
    let speed = Vec3x::select(speed.finite(), speed, Vec3x::splat([0.0; 3]));
    speed * L::splat(swing.spring)
}
