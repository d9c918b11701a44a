//! Resolve: turns particles into rotations, held by limits. `[V1]` `[V2]` `[V5]`–`[V8]`
//!
//! Runs last in a substep, per depth. Reads the particles; writes their rotations, which the depth below hangs on, the
//! particles themselves (onto the limited direction) and the results to be shown.
//!
//! Works with the deviation δ = r0⁻¹·r in the joint's own frame: the shortest arc from the axis to the particle is
//! already δ there, limits apply to it as it is, and local · δ is the local rotation to write.

use core::ops::Range;

use crate::crowd::{Group, particle, property, result};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::{Plan, SwingPlan};
use crate::rotation::{self, HALF_TURN, Rotation};
use crate::systems::integration::ON_ANCHOR_SQUARED;

/// Resolves the swing joints at `places` under the animated pose `pose`.
#[inline(always)]
pub fn resolve_rotations<L: Lane>(
    plan: &Plan,
    places: Range<usize>,
    group: &mut Group,
    pose: usize,
) {
    let joints = plan.rest.len();
    let weight = group.property::<L>(property::WEIGHT);
    for place in places {
        let swing = &plan.swings[place];
        let base = place * particle::COMPONENTS * L::LANES;
        let own = &group.particles[base..][..particle::COMPONENTS * L::LANES];
        let rest = Rotation::load(&own[particle::REST * L::LANES..]);
        let origin = Vec3x::load(&own[particle::ORIGIN * L::LANES..]);
        let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
        let position = Vec3x::load(&own[particle::POSITION * L::LANES..]);
        let anchor = origin - correction;

        let healthy = position.finite();
        let deviation = deviation(swing, rest, position - anchor, healthy);
        let deviation = limited(swing, group, deviation);
        let deviation = weighted(deviation, weight);

        let resolved = rest * deviation;
        let reach = resolved.rotate(Vec3x::splat(swing.axis)) * L::splat(swing.length);
        note_restored::<L>(group, place, healthy);
        let own = &mut group.particles[base..][..particle::COMPONENTS * L::LANES];
        if (!healthy).any() {
            let previous = Vec3x::load(&own[particle::PREVIOUS * L::LANES..]);
            let previous = Vec3x::select(healthy, previous, anchor + reach);
            previous.store(&mut own[particle::PREVIOUS * L::LANES..]);
        }
        (anchor + reach).store(&mut own[particle::POSITION * L::LANES..]);
        resolved.store(&mut own[particle::ROTATION * L::LANES..]);
        if swing.is_reference {
            store_angles(deviation, &mut own[particle::ANGLES * L::LANES..]);
        }

        let local = group.local::<L>(pose, swing.joint, joints).r;
        let to = &mut group.results[place * result::COMPONENTS * L::LANES..]
            [..result::COMPONENTS * L::LANES];
        (local * deviation).store(&mut to[result::ROTATION * L::LANES..]);
        (origin + reach).store(&mut to[result::POSITION * L::LANES..]);
    }
}

/// The turn from the rest direction to the particle, in the joint's own frame; none for a particle on its anchor or one
/// that is not finite. `[V1]` `[V8]`
#[inline(always)]
fn deviation<L: Lane>(
    swing: &SwingPlan,
    rest: Rotation<L>,
    offset: Vec3x<L>,
    healthy: L::Mask,
) -> Rotation<L> {
    let squared = offset.length_squared();
    let direction = offset * (L::splat(1.0) / squared.sqrt());
    let axis = Vec3x::splat(swing.axis);
    let inside = rest.conjugate().rotate(direction);
    let mut deviation = rotation::from_to(axis, inside);
    let opposite = (L::splat(1.0) + axis.dot(inside)).lt(L::splat(HALF_TURN));
    if opposite.any() {
        // The axis of a half-turn is chosen in model space, where the model states the choice.
        let outside = rotation::from_to(rest.rotate(axis), direction);
        let turned = rest.conjugate() * outside * rest;
        deviation = Rotation::select(opposite, turned, deviation);
    }
    let lost = !(L::splat(ON_ANCHOR_SQUARED).lt(squared) & healthy);
    if !lost.any() {
        return deviation;
    }
    Rotation::select(lost, Rotation::identity(), deviation)
}

/// `[V2]`
#[inline(always)]
fn limited<L: Lane>(swing: &SwingPlan, group: &Group, deviation: Rotation<L>) -> Rotation<L> {
    let Some(limit) = &swing.limit else {
        return deviation;
    };
    let reference = |place: usize| {
        let angles = (place * particle::COMPONENTS + particle::ANGLES) * L::LANES;
        let angles = Vec3x::<L>::load(&group.particles[angles..]);
        [angles.x, angles.y, angles.z]
    };
    limit.apply(deviation, reference).0
}

/// The share `weight` of the swing; at 1 the bits are kept. `[V5]`
#[inline(always)]
fn weighted<L: Lane>(deviation: Rotation<L>, weight: L) -> Rotation<L> {
    let partial = weight.lt(L::splat(1.0));
    if !partial.any() {
        return deviation;
    }
    let share = rotation::slerp(Rotation::identity(), deviation, weight);
    Rotation::select(partial, share, deviation)
}

/// Euler angles of each lane's deviation, for limits that follow it. `[V2]`
fn store_angles<L: Lane>(deviation: Rotation<L>, to: &mut [f32]) {
    for lane in 0..L::LANES {
        let angles = rotation::to_euler_zxy(Rotation::splat(deviation.lane(lane)));
        for (axis, angle) in angles.into_iter().enumerate() {
            to[axis * L::LANES + lane] = angle;
        }
    }
}

#[inline(always)]
fn note_restored<L: Lane>(group: &mut Group, place: usize, healthy: L::Mask) {
    if (!healthy).any() {
        remember_restored::<L>(group, place, healthy);
    }
}

/// Remembers which particles were not finite. `[V8]`
#[cold]
fn remember_restored<L: Lane>(group: &mut Group, place: usize, healthy: L::Mask) {
    let lanes = (0..L::LANES).filter(|&lane| !healthy.lane(lane));
    group.restored.extend(lanes.map(|lane| (lane, place)));
}
