//! Resolve: turns particles into rotations and slides, held by limits. `[V1]`–`[V8]`
//!
//! Runs last in a joint's substep. Reads the particle; writes its rotation, which the joints below hang on, the
//! particles themselves (onto the limited direction) and the results to be shown.
//!
//! Works with the deviation δ = r0⁻¹·r in the joint's own frame: the shortest arc from the axis to the particle is
//! already δ there, limits apply to it as it is, and local · δ is the local rotation to write.

use crate::account::{Term, Witness};
use crate::crowd::{Group, particle, property, result};
use crate::euler;
use crate::lane::{Lane, LaneMask, MOST_LANES, Pen, Vec3x};
use crate::plan::Plan;
use crate::plan::constant::{self, Row, Spread};
use crate::profile::RestPose;
use crate::rotation::{self, HALF_TURN, Rotation};
use crate::slide::SlidePlan;
use crate::systems::hanging::{Hung, Swung, parent_transform};
use crate::systems::substeps::Pass;

/// Resolves the swing joint at `place` under the animated pose `pose`.
#[inline(always)]
pub fn resolve_joint<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    pose: usize,
    (hung, swung): (&Hung<L>, &Swung<L>),
    witness: &mut W,
) {
    match &pass.plan.swings[place].slide {
        None => resolve_rotation::<L, S, W>(pass, place, group, pose, (hung, swung), witness),
        Some(slide) => {
            let slid = (&**slide, hung, swung.position);
            resolve_slide(pass, place, group, pose, slid, witness);
        }
    }
}

/// From the anchor to the tip of a bone that deviates from rest.
#[inline(always)]
fn reach<L: Lane, S: Spread>(row: Row<L, S>, turned: Rotation<L>) -> Vec3x<L> {
    turned.rotate(row.vector(constant::AXIS)) * row.number(constant::LENGTH)
}

/// The steps from the particle's direction to the rotation that is shown, as deviations from rest.
struct Steps<L> {
    /// `[V1]`
    free: Rotation<L>,
    /// `[V2]`
    limited: Rotation<L>,
    /// `[V4]`
    baked: Rotation<L>,
    /// `[V5]`
    weighted: Rotation<L>,
}

/// `[V1]` `[V2]` `[V4]`–`[V8]`
#[inline(always)]
fn resolve_rotation<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    pose: usize,
    (hung, swung): (&Hung<L>, &Swung<L>),
    witness: &mut W,
) {
    let plan = pass.plan;
    let row = Row::<L, S>::new(plan, place);
    let (local, target) = local_and_target::<L, S>(pass, row, group, pose);
    let held = held_at_rest::<L>(plan, group, pose, place);
    let mut free = deviation(row.vector(constant::AXIS), hung.rest.r, swung);
    if let Some(held) = held {
        free = Rotation::select(held, Rotation::identity(), free);
    }
    let limited = limited(row, group, free);
    let baked = baked(plan, group, limited, target, pose, place);
    let weighted = weighted(baked, group.property::<L>(property::WEIGHT));
    if W::LISTENS {
        let steps = Steps {
            free,
            limited,
            baked,
            weighted,
        };
        note_steps(place, row, (hung, swung), &steps, witness);
    }

    let turned = hung.rest.r * weighted;
    let reach = reach(row, turned);
    let tip = hung.anchor() + reach;
    store_position(pass.pen, group, place, tip, swung.healthy, held);
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..]
        [..particle::COMPONENTS * L::LANES];
    turned.store(&mut own[particle::ROTATION * L::LANES..]);
    if row.swing.is_reference {
        store_angles(weighted, &mut own[particle::ANGLES * L::LANES..]);
    }
    let to = &mut group.results[place * result::COMPONENTS * L::LANES..]
        [..result::COMPONENTS * L::LANES];
    (local * weighted).store(&mut to[result::ROTATION * L::LANES..]);
    let tip = match hung.correction {
        Some(_) => hung.rest.t + reach,
        None => tip,
    };
    tip.store(&mut to[result::POSITION * L::LANES..]);
}

/// The local rotation that the joint deviates from, and the deviation of the animated one. `[5.5]`
#[inline(always)]
fn local_and_target<L: Lane, S: Spread>(
    pass: &Pass<L>,
    row: Row<L, S>,
    group: &Group,
    pose: usize,
) -> (Rotation<L>, Rotation<L>) {
    let joints = pass.plan.rest.len();
    let animated = group.local::<L>(pose, row.swing.joint, joints).r;
    match pass.profile.rest_pose {
        RestPose::Animated => (animated, Rotation::identity()),
        RestPose::Bind => {
            let local = row.rest_local().r;
            (local, local.conjugate() * animated)
        }
    }
}

/// Tells a witness how far each step moves the particle.
#[inline(always)]
fn note_steps<L: Lane, S: Spread, W: Witness<L>>(
    place: usize,
    row: Row<L, S>,
    (hung, swung): (&Hung<L>, &Swung<L>),
    steps: &Steps<L>,
    witness: &mut W,
) {
    let anchor = hung.anchor();
    let tip = |deviation| anchor + reach(row, hung.rest.r * deviation);
    let lost = (!swung.healthy).any();
    let start = Vec3x::select(swung.healthy, swung.position, anchor);
    let aimed = if lost {
        Term::Restored
    } else {
        Term::Direction
    };
    witness.note(place, aimed, tip(steps.free) - start);
    if row.swing.limit.is_some() {
        witness.note(place, Term::Limit, tip(steps.limited) - tip(steps.free));
    }
    witness.note(place, Term::Bake, tip(steps.baked) - tip(steps.limited));
    witness.note(place, Term::Weight, tip(steps.weighted) - tip(steps.baked));
}

/// `[V3]` `[V6]`–`[V8]`: what hangs on a slide joint hangs on its particle.
#[inline(always)]
fn resolve_slide<L: Lane, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    pose: usize,
    (slide, hung, shifted): (&SlidePlan, &Hung<L>, Vec3x<L>),
    witness: &mut W,
) {
    let (plan, pen) = (pass.plan, pass.pen);
    let swing = &plan.swings[place];
    let parent = parent_transform::<L>(plan, swing, group, pose);
    let base = place * particle::COMPONENTS * L::LANES;
    let origin = hung.rest.t;
    let moved = hung.unshifted(shifted);
    let weight = group.property::<L>(property::WEIGHT);
    let (mut local, mut particle) = slide.resolve(parent, moved, weight);
    // A particle far outside of f32's comfort is finite itself and has no finite translation.
    let healthy = shifted.finite() & local.finite() & particle.finite();
    let held = held_at_rest::<L>(plan, group, pose, place);
    let free = match held {
        Some(held) => healthy & !held,
        None => healthy,
    };
    if (!free).any() {
        // The weight itself may be what is not finite.
        let whole = L::select(weight.finite(), weight, L::splat(1.0));
        let (at_origin, placed) = slide.resolve(parent, origin, whole);
        local = Vec3x::select(free, local, at_origin);
        particle = Vec3x::select(free, particle, placed);
    }
    let position = Vec3x::select(free, moved, origin);
    // Adding and taking off the correction rounds; what nothing held keeps its bits.
    let same = (particle - position).length_squared().le(L::splat(0.0)) & free;
    let moved = Vec3x::select(same, shifted, hung.shifted(particle));
    if W::LISTENS {
        let start = Vec3x::select(healthy, shifted, Vec3x::splat([0.0; 3]));
        let term = if (!healthy).any() {
            Term::Restored
        } else {
            Term::Limit
        };
        witness.note(place, term, moved - start);
    }
    store_position(pen, group, place, moved, healthy, held);
    let own = &mut group.particles[base..][..particle::COMPONENTS * L::LANES];
    particle.store(&mut own[particle::ORIGIN * L::LANES..]);
    hung.rest.r.store(&mut own[particle::ROTATION * L::LANES..]);
    let rotation = group.local::<L>(pose, swing.joint, plan.rest.len()).r;
    let to = &mut group.results[place * result::COMPONENTS * L::LANES..]
        [..result::COMPONENTS * L::LANES];
    rotation.store(&mut to[result::ROTATION * L::LANES..]);
    particle.store(&mut to[result::POSITION * L::LANES..]);
    local.store(&mut to[result::TRANSLATION * L::LANES..]);
}

/// The lanes in which a joint is held at rest, see [`Group::held`].
#[inline(always)]
fn held_at_rest<L: Lane>(plan: &Plan, group: &Group, pose: usize, place: usize) -> Option<L::Mask> {
    if group.held.is_empty() {
        return None;
    }
    let held = L::load(&group.held[(pose * plan.swings.len() + place) * L::LANES..]);
    Some(L::splat(0.5).lt(held))
}

/// Writes the resolved particle; one that was not finite or is held at rest has no speed from before. `[V8]`
#[inline(always)]
fn store_position<L: Lane>(
    pen: Pen<L>,
    group: &mut Group,
    place: usize,
    position: Vec3x<L>,
    healthy: L::Mask,
    held: Option<L::Mask>,
) {
    // What an idle lane holds is nobody's particle.
    let healthy = healthy | !pen.active();
    note_restored::<L>(group, place, healthy);
    let healthy = match held {
        Some(held) => healthy & !(held & pen.active()),
        None => healthy,
    };
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..]
        [..particle::COMPONENTS * L::LANES];
    if (!healthy).any() {
        let previous = &mut own[particle::PREVIOUS * L::LANES..];
        Vec3x::select(healthy, Vec3x::load(previous), position).store(previous);
        let velocity = &mut group.velocities[place * 3 * L::LANES..];
        let still = Vec3x::<L>::splat([0.0; 3]);
        Vec3x::select(healthy, Vec3x::load(velocity), still).store(velocity);
    }
    position.store(&mut own[particle::POSITION * L::LANES..]);
}

/// The turn from the rest direction to the particle, in the joint's own frame; none for a particle on its anchor or one
/// that is not finite. `[V1]` `[V8]`
#[inline(always)]
fn deviation<L: Lane>(axis: Vec3x<L>, rest: Rotation<L>, swung: &Swung<L>) -> Rotation<L> {
    let inside = rest.rotate_back(swung.direction);
    let mut deviation = rotation::from_to(axis, inside);
    let opposite = (L::splat(1.0) + axis.dot(inside)).lt(L::splat(HALF_TURN));
    if opposite.any() {
        // The axis of a half-turn is chosen in model space, where the model states the choice.
        let outside = rotation::from_to(rest.rotate(axis), swung.direction);
        let turned = rest.conjugate() * outside * rest;
        deviation = Rotation::select(opposite, turned, deviation);
    }
    let lost = !swung.aimed;
    if !lost.any() {
        return deviation;
    }
    Rotation::select(lost, Rotation::identity(), deviation)
}

/// `[V2]`
#[inline(always)]
fn limited<L: Lane, S: Spread>(
    row: Row<L, S>,
    group: &Group,
    deviation: Rotation<L>,
) -> Rotation<L> {
    let Some(limit) = &row.swing.limit else {
        return deviation;
    };
    let reference = match limit.reference {
        Some((place, _)) => {
            let angles = (place * particle::COMPONENTS + particle::ANGLES) * L::LANES;
            let angles = Vec3x::<L>::load(&group.particles[angles..]);
            Some([angles.x, angles.y, angles.z])
        }
        None => None,
    };
    limit.apply(deviation, &row.circle(), reference).0
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
#[inline(always)]
fn store_angles<L: Lane>(deviation: Rotation<L>, to: &mut [f32]) {
    let mut angles = [0.0; 4 * MOST_LANES];
    deviation.store(&mut angles);
    angles_into(L::LANES, &mut angles);
    Vec3x::<L>::load(&angles).store(to);
}

/// Replaces rotations, `[x y z w][lane]`, by their Euler angles.
#[inline(never)]
fn angles_into(lanes: usize, numbers: &mut [f32; 4 * MOST_LANES]) {
    for lane in 0..lanes {
        let of = |component: usize| numbers[component * lanes + lane];
        let angles = euler::to_euler_zxy(Rotation::new(of(0), of(1), of(2), of(3)));
        for (axis, angle) in angles.into_iter().enumerate() {
            numbers[axis * lanes + lane] = angle;
        }
    }
}

#[inline(always)]
fn note_restored<L: Lane>(group: &mut Group, place: usize, healthy: L::Mask) {
    if (!healthy).any() {
        let mut lost = [0.0; MOST_LANES];
        L::select(healthy, L::splat(0.0), L::splat(1.0)).store(&mut lost);
        remember_restored(&mut group.restored, place, &lost);
    }
}

/// Remembers which particles were not finite. `[V8]`
#[cold]
fn remember_restored(restored: &mut Vec<(usize, usize)>, place: usize, lost: &[f32]) {
    for (lane, &lost) in lost.iter().enumerate() {
        if lost != 0.0 {
            restored.push((lane, place));
        }
    }
}
