//! Integration: moves every particle of a depth by one substep. `[S1]` `[S3]`–`[S5]` `[S7]`–`[S9]`
//!
//! Runs first in a substep, per depth, after the depth above was resolved. Reads the plan, the animated pose and the
//! resolved rotations above; writes the particles.
//!
//! Position Verlet with the bone length restored after each step, so that no force can stretch a chain or tear it.
//! Collision runs next and restores the length after every push as well.

use core::ops::Range;

use crate::crowd::{Group, particle, property};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::{Hold, Plan, SwingPlan};
use crate::pose::Rigid;
use crate::rotation::Rotation;
use crate::substep::Substep;

/// A particle this near to its anchor, squared metres, has no direction of its own. `[S8]`
pub const ON_ANCHOR_SQUARED: f32 = 1e-10;
/// Forces are in units of 0.01 m per step. `[S4]` `[S5]`
const FORCE_UNIT: f32 = 0.01;

/// What all joints of an actor feel in a substep.
#[derive(Clone, Copy, Debug)]
pub struct Forces<L> {
    /// `[T3]` times the actor's swing power.
    scale: L,
    /// Unit.
    gravity: Vec3x<L>,
    /// `[S5]`'s global force.
    global: Vec3x<L>,
    /// Horizontal and vertical share of the root correction that the actor takes.
    root: [L; 2],
    /// hips of `[S1]`.
    hips: Vec3x<L>,
}

impl<L: Lane> Forces<L> {
    /// Reads the actor's properties for a substep with root correction `hips`.
    #[inline(always)]
    pub fn new(group: &Group, substep: &Substep, hips: Vec3x<L>) -> Self {
        Self {
            scale: L::splat(substep.step) * group.property(property::POWER),
            gravity: group.property_vector(property::GRAVITY),
            global: group.property_vector(property::FORCE),
            root: [
                group.property(property::ROOT_HORIZONTAL),
                group.property(property::ROOT_VERTICAL),
            ],
            hips,
        }
    }

    /// The root correction of a joint. `[S1]`
    #[inline(always)]
    fn correction(&self, swing: &SwingPlan) -> Vec3x<L> {
        let horizontal = L::splat(swing.root_horizontal_weight);
        let vertical = L::splat(swing.root_vertical_weight);
        root_correction(self.hips, self.root, [horizontal, vertical])
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

/// Integrates the swing joints at `places` of the plan, which share a depth.
#[inline(always)]
pub fn integrate_particles<L: Lane>(
    plan: &Plan,
    places: Range<usize>,
    group: &mut Group,
    substep: &Substep,
    forces: &Forces<L>,
) {
    for place in places {
        let swing = &plan.swings[place];
        let rest = rest_transform::<L>(plan, swing, group, substep.pose);
        let correction = forces.correction(swing);
        let child_speed = child_speed::<L>(swing, group, substep.prewarm);
        let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..]
            [..particle::COMPONENTS * L::LANES];
        rest.t.store(&mut own[particle::ORIGIN * L::LANES..]);
        rest.r.store(&mut own[particle::REST * L::LANES..]);
        correction.store(&mut own[particle::CORRECTION * L::LANES..]);

        let position = Vec3x::load(&own[particle::POSITION * L::LANES..]);
        let previous = Vec3x::load(&own[particle::PREVIOUS * L::LANES..]);
        let current = if substep.from_rest {
            rest.r
        } else {
            Rotation::load(&own[particle::ROTATION * L::LANES..])
        };
        let anchor = rest.t - correction;
        let axis = Vec3x::splat(swing.axis);
        // Not a product with 0: that would hand an infinite force on as NaN to joints that do not feel it.
        let outside = if swing.global_force == 0.0 {
            Vec3x::splat([0.0; 3])
        } else {
            forces.global * L::splat(swing.global_force)
        };
        let force = spring_force(swing, current.rotate(axis), position, previous)
            + (position - previous) * L::splat(swing.inertia)
            + forces.gravity * L::splat(swing.weight)
            + outside
            + child_speed;
        let moved = position + force * forces.scale;
        let kept = keep_length(moved, anchor, rest.r.rotate(axis), L::splat(swing.length));
        position.store(&mut own[particle::PREVIOUS * L::LANES..]);
        kept.store(&mut own[particle::POSITION * L::LANES..]);
    }
}

/// Where the joint's undeflected transform is: (t0, r0) = P·local, with P as resolved in this substep. `[5.5]`
#[inline(always)]
fn rest_transform<L: Lane>(plan: &Plan, swing: &SwingPlan, group: &Group, pose: usize) -> Rigid<L> {
    let joints = plan.rest.len();
    match swing.hold {
        Hold::Animated => group.model(pose, swing.joint, joints),
        Hold::Swing(above) => {
            let above = &group.particles[above * particle::COMPONENTS * L::LANES..]
                [..particle::COMPONENTS * L::LANES];
            let mut parent = Rigid {
                t: Vec3x::load(&above[particle::ORIGIN * L::LANES..]),
                r: Rotation::load(&above[particle::ROTATION * L::LANES..]),
            };
            for &joint in &plan.between[swing.between.clone()] {
                parent = parent.compose(group.local(pose, joint, joints));
            }
            parent.compose(group.local(pose, swing.joint, joints))
        }
    }
}

/// The pull towards the rest direction, weaker while the joint is still. `[S4]`
///
/// ```text
/// c = |x·x_prev| / (|x||x_prev|)     p = max(0, c − (1 − range)) / range · pendulum
/// s = direction · (stiffness − p) · 0.01
/// ```
/// `direction` is `R_cur·axis`, unit; both positions are taken from the origin of the shifted space.
#[inline(always)]
fn spring_force<L: Lane>(
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

/// The tip child's speed that pulls the particle along; none while settling. `[S5]` `[S9]` `[S10]`
///
/// The child moves after this joint, so its position and the one before still belong to the last substep: their
/// difference is its speed.
#[inline(always)]
fn child_speed<L: Lane>(swing: &SwingPlan, group: &Group, prewarm: bool) -> Vec3x<L> {
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

/// Puts `particle` back at bone length from `anchor`. `[S8]`
///
/// Both points are in one space, metres; `rest_direction` is unit; `length` > 0, metres. A particle on its anchor has no
/// direction of its own and takes `rest_direction`.
#[inline(always)]
pub fn keep_length<L: Lane>(
    particle: Vec3x<L>,
    anchor: Vec3x<L>,
    rest_direction: Vec3x<L>,
    length: L,
) -> Vec3x<L> {
    let offset = particle - anchor;
    let squared = offset.length_squared();
    let on_anchor = squared.le(L::splat(ON_ANCHOR_SQUARED));
    let kept = anchor + offset * (L::splat(1.0) / squared.sqrt()) * length;
    if !on_anchor.any() {
        return kept;
    }
    Vec3x::select(on_anchor, anchor + rest_direction * length, kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_particle_on_its_anchor_takes_the_rest_direction() {
        let anchor = Vec3x::new(1.0, 2.0, 3.0);
        let kept = keep_length(anchor, anchor, Vec3x::new(0.0, -1.0, 0.0), 0.5);
        assert_eq!(kept, Vec3x::new(1.0, 1.5, 3.0));
    }

    #[test]
    fn a_particle_keeps_its_direction_and_gets_its_length_back() {
        let kept = keep_length(
            Vec3x::new(0.0, -3.0, 0.0),
            Vec3x::splat([0.0; 3]),
            Vec3x::new(1.0, 0.0, 0.0),
            2.0_f32,
        );
        assert_eq!(kept, Vec3x::new(0.0, -2.0, 0.0));
    }
}
