//! Resolve: turns particles into rotations and slides, held by limits. `[V1]`–`[V8]`
//!
//! Runs last in a substep, per depth. Reads the particles; writes their rotations, which the depth below hangs on, the
//! particles themselves (onto the limited direction) and the results to be shown.
//!
//! Works with the deviation δ = r0⁻¹·r in the joint's own frame: the shortest arc from the axis to the particle is
//! already δ there, limits apply to it as it is, and local · δ is the local rotation to write.

use core::ops::Range;

use crate::account::{Term, Witness};
use crate::crowd::{Group, particle, property, result};
use crate::euler;
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::{Plan, SwingPlan};
use crate::profile::{RestPose, SwingProfile};
use crate::rotation::{self, HALF_TURN, Rotation};
use crate::slide::SlidePlan;
use crate::systems::integration::{ON_ANCHOR_SQUARED, parent_transform};

/// Resolves the swing joints at `places` under the animated pose `pose`.
#[inline(always)]
pub fn resolve_joints<L: Lane, W: Witness<L>>(
    plan: &Plan,
    places: Range<usize>,
    group: &mut Group,
    profile: &SwingProfile,
    pose: usize,
    witness: &mut W,
) {
    for place in places {
        match &plan.swings[place].slide {
            None => resolve_rotation(plan, place, group, profile, pose, witness),
            Some(slide) => resolve_slide(plan, place, slide, group, pose, witness),
        }
    }
}

/// `[V1]` `[V2]` `[V4]`–`[V8]`
#[inline(always)]
fn resolve_rotation<L: Lane, W: Witness<L>>(
    plan: &Plan,
    place: usize,
    group: &mut Group,
    profile: &SwingProfile,
    pose: usize,
    witness: &mut W,
) {
    let swing = &plan.swings[place];
    let base = place * particle::COMPONENTS * L::LANES;
    let own = &group.particles[base..][..particle::COMPONENTS * L::LANES];
    let rest = Rotation::load(&own[particle::REST * L::LANES..]);
    let origin = Vec3x::load(&own[particle::ORIGIN * L::LANES..]);
    let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
    let position = Vec3x::load(&own[particle::POSITION * L::LANES..]);
    let anchor = origin - correction;
    let healthy = position.finite();
    let tip = |deviation: Rotation<L>| {
        let reach = (rest * deviation).rotate(Vec3x::splat(swing.axis));
        anchor + reach * L::splat(swing.length)
    };
    let animated = group.local::<L>(pose, swing.joint, plan.rest.len()).r;
    let (local, target) = match profile.rest_pose {
        RestPose::Animated => (animated, Rotation::identity()),
        RestPose::Bind => {
            let local = Rotation::splat(swing.rest_local.r.lane(0));
            (local, local.conjugate() * animated)
        }
    };

    let free = deviation(swing, rest, position - anchor, healthy);
    let held = limited(swing, group, free);
    let baked = baked(plan, group, held, target, pose, place);
    let deviation = weighted(baked, group.property::<L>(property::WEIGHT));
    if W::LISTENS {
        let lost = !healthy;
        let start = Vec3x::select(lost, anchor, position);
        let turned = if lost.any() {
            Term::Restored
        } else {
            Term::Direction
        };
        witness.note(place, turned, tip(free) - start);
        if swing.limit.is_some() {
            witness.note(place, Term::Limit, tip(held) - tip(free));
        }
        witness.note(place, Term::Bake, tip(baked) - tip(held));
        witness.note(place, Term::Weight, tip(deviation) - tip(baked));
    }

    let resolved = rest * deviation;
    let reach = resolved.rotate(Vec3x::splat(swing.axis)) * L::splat(swing.length);
    store_position(group, place, anchor + reach, healthy);
    let own = &mut group.particles[base..][..particle::COMPONENTS * L::LANES];
    resolved.store(&mut own[particle::ROTATION * L::LANES..]);
    if swing.is_reference {
        store_angles(deviation, &mut own[particle::ANGLES * L::LANES..]);
    }
    let to = &mut group.results[place * result::COMPONENTS * L::LANES..]
        [..result::COMPONENTS * L::LANES];
    (local * deviation).store(&mut to[result::ROTATION * L::LANES..]);
    (origin + reach).store(&mut to[result::POSITION * L::LANES..]);
}

/// `[V3]` `[V6]`–`[V8]`: what hangs on a slide joint hangs on its particle.
#[inline(always)]
fn resolve_slide<L: Lane, W: Witness<L>>(
    plan: &Plan,
    place: usize,
    slide: &SlidePlan,
    group: &mut Group,
    pose: usize,
    witness: &mut W,
) {
    let swing = &plan.swings[place];
    let parent = parent_transform::<L>(plan, swing, group, pose);
    let base = place * particle::COMPONENTS * L::LANES;
    let own = &group.particles[base..][..particle::COMPONENTS * L::LANES];
    let origin = Vec3x::load(&own[particle::ORIGIN * L::LANES..]);
    let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
    let shifted = Vec3x::load(&own[particle::POSITION * L::LANES..]);
    let rest = Rotation::<L>::load(&own[particle::REST * L::LANES..]);
    let weight = group.property::<L>(property::WEIGHT);
    let (mut local, mut particle) = slide.resolve(parent, shifted + correction, weight);
    // A particle far outside of f32's comfort is finite itself and has no finite translation.
    let healthy = shifted.finite() & local.finite() & particle.finite();
    if (!healthy).any() {
        let (at_origin, placed) = slide.resolve(parent, origin, weight);
        local = Vec3x::select(healthy, local, at_origin);
        particle = Vec3x::select(healthy, particle, placed);
    }
    let position = Vec3x::select(healthy, shifted + correction, origin);
    // Adding and taking off the correction rounds; what nothing held keeps its bits.
    let same = (particle - position).length_squared().le(L::splat(0.0)) & healthy;
    let moved = Vec3x::select(same, shifted, particle - correction);
    if W::LISTENS {
        let start = Vec3x::select(healthy, shifted, Vec3x::splat([0.0; 3]));
        let term = if (!healthy).any() {
            Term::Restored
        } else {
            Term::Limit
        };
        witness.note(place, term, moved - start);
    }
    store_position(group, place, moved, healthy);
    let own = &mut group.particles[base..][..particle::COMPONENTS * L::LANES];
    particle.store(&mut own[particle::ORIGIN * L::LANES..]);
    rest.store(&mut own[particle::ROTATION * L::LANES..]);
    let rotation = group.local::<L>(pose, swing.joint, plan.rest.len()).r;
    let to = &mut group.results[place * result::COMPONENTS * L::LANES..]
        [..result::COMPONENTS * L::LANES];
    rotation.store(&mut to[result::ROTATION * L::LANES..]);
    particle.store(&mut to[result::POSITION * L::LANES..]);
    local.store(&mut to[result::TRANSLATION * L::LANES..]);
}

/// Writes the resolved particle; one that was not finite has no speed from before. `[V8]`
#[inline(always)]
fn store_position<L: Lane>(group: &mut Group, place: usize, position: Vec3x<L>, healthy: L::Mask) {
    note_restored::<L>(group, place, healthy);
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..]
        [..particle::COMPONENTS * L::LANES];
    if (!healthy).any() {
        let mut forget = |component: usize, to: Vec3x<L>| {
            let before = Vec3x::load(&own[component * L::LANES..]);
            let kept = Vec3x::select(healthy, before, to);
            kept.store(&mut own[component * L::LANES..]);
        };
        forget(particle::PREVIOUS, position);
        forget(particle::VELOCITY, Vec3x::splat([0.0; 3]));
    }
    position.store(&mut own[particle::POSITION * L::LANES..]);
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

/// Towards the animated rotation by the joint's bake weight; at 0 the bits are kept. `[V4]`
///
/// `target` is the deviation of the animated rotation: none where the rest rotation r0 is the animated one.
#[inline(always)]
fn baked<L: Lane>(
    plan: &Plan,
    group: &Group,
    deviation: Rotation<L>,
    target: Rotation<L>,
    pose: usize,
    place: usize,
) -> Rotation<L> {
    if group.bake.is_empty() {
        return deviation;
    }
    let bake = L::load(&group.bake[(pose * plan.swings.len() + place) * L::LANES..]);
    let blended = L::splat(0.0).lt(bake);
    if !blended.any() {
        return deviation;
    }
    let share = rotation::slerp(deviation, target, bake);
    Rotation::select(blended, share, deviation)
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
        let angles = euler::to_euler_zxy(Rotation::splat(deviation.lane(lane)));
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
