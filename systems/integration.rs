//! Integration: moves a particle by one substep. `[S3]`–`[S9]`
//!
//! Runs first in a joint's substep, after the joint above was resolved. Reads the plan, the animated pose and the
//! resolved rotations above; writes the particles.
//!
//! Position Verlet with the bone length restored after each step, so that no force can stretch a chain or tear it.
//! Collision runs next and restores the length after every push as well.

use super::forces::{Forces, Parts, child_speed, slide_force, spring_force};
use crate::account::{Term, Witness};
use crate::crowd::{Group, particle};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::constant::{self, Row, Spread};
use crate::plan::{Hold, Plan, SwingPlan};
use crate::pose::Rigid;
use crate::profile::{ForcePolicy, InertiaPolicy, RestPose, SwingProfile};
use crate::rotation::{self, Rotation};
use crate::slide;
use crate::substep::Substep;
use crate::systems::substeps::Pass;

/// A particle this near to its anchor, squared metres, has no direction of its own. `[S8]`
pub const ON_ANCHOR_SQUARED: f32 = 1e-10;

/// Integrates one swing joint.
#[inline(always)]
pub fn integrate_particle<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    substep: &Substep,
    forces: &Forces<L>,
    witness: &mut W,
) {
    let (plan, profile) = (pass.plan, pass.profile);
    let row = Row::<L, S>::new(plan, place);
    let swing = row.swing;
    let (rest, correction) = hang_joint::<L, S>(pass, place, group, substep.pose, forces);
    let (gravity, global, wind) = forces.outside(row, group, rest.t);
    let child = child_speed::<L, S>(row, group, substep.prewarm);
    let target = slide_target::<L>(plan, swing, group, substep.pose);
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..]
        [..particle::COMPONENTS * L::LANES];
    let position = Vec3x::load(&own[particle::POSITION * L::LANES..]);
    let previous = Vec3x::load(&own[particle::PREVIOUS * L::LANES..]);
    let axis = row.vector(constant::AXIS);
    let spring = match target {
        Some(target) => slide_force(row, target - correction, position, previous),
        None => {
            let current = if substep.from_rest {
                rest.r
            } else {
                Rotation::load(&own[particle::ROTATION * L::LANES..])
            };
            spring_force(row, current.rotate(axis), position, previous)
        }
    };
    let parts = Parts {
        inertia: (position - previous) * row.number(constant::INERTIA),
        spring,
        gravity,
        global,
        wind,
        child,
    };
    let mut force = match profile.force {
        ForcePolicy::Direct => parts.sum(),
        ForcePolicy::VelocityAdd | ForcePolicy::VelocityReplace => parts.sum_without_inertia(),
    };
    if let (Some(slide), false) = (&swing.slide, substep.prewarm) {
        let coupled = slide::couple(slide.coupling, rest.r, force);
        if W::LISTENS {
            let share = displacement_share(profile, forces);
            witness.note(place, Term::Coupling, (coupled - force) * share);
        }
        force = coupled;
    }
    let velocity = &mut group.velocities[place * 3 * L::LANES..];
    if W::LISTENS {
        note_parts(place, &parts, velocity, profile, forces, witness);
    }
    let moved = displaced(profile, position, &parts, force, velocity, forces);
    let kept = if swing.slide.is_some() {
        moved
    } else {
        let (anchor, length) = (rest.t - correction, row.number(constant::LENGTH));
        let (kept, on_anchor) = at_length(moved, anchor, length);
        if on_anchor.any() {
            // A particle on its anchor has no direction of its own and takes that of rest. `[S8]`
            let fallback = anchor + rest.r.rotate(axis) * length;
            Vec3x::select(on_anchor, fallback, kept)
        } else {
            kept
        }
    };
    if W::LISTENS && swing.slide.is_none() {
        witness.note(place, Term::Length, kept - moved);
    }
    position.store(&mut own[particle::PREVIOUS * L::LANES..]);
    kept.store(&mut own[particle::POSITION * L::LANES..]);
}

/// What a slide joint is pulled to, true model space. `[S4]`
#[inline(always)]
fn slide_target<L: Lane>(
    plan: &Plan,
    swing: &SwingPlan,
    group: &Group,
    pose: usize,
) -> Option<Vec3x<L>> {
    // `?` and not `map`: a closure would not be inlined into the instructions of wide lanes.
    let slide = swing.slide.as_ref()?;
    Some(slide.target(parent_transform::<L>(plan, swing, group, pose)))
}

/// Notes where the joint hangs in this substep: its undeflected transform, its root correction, a slide joint's parent.
#[inline(always)]
pub fn hang_joint<L: Lane, S: Spread>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    pose: usize,
    forces: &Forces<L>,
) -> (Rigid<L>, Vec3x<L>) {
    let row = Row::<L, S>::new(pass.plan, place);
    let rest = rest_transform::<L, S>(pass.plan, row, group, pose, pass.profile.rest_pose);
    let correction = forces.correction(row);
    let from = place * particle::COMPONENTS * L::LANES;
    if row.swing.slide.is_some() {
        let parent = parent_transform::<L>(pass.plan, row.swing, group, pose);
        let to = from + particle::PARENT * L::LANES;
        parent.t.store(&mut group.particles[to..]);
    }
    let own = &mut group.particles[from..][..particle::COMPONENTS * L::LANES];
    rest.t.store(&mut own[particle::ORIGIN * L::LANES..]);
    rest.r.store(&mut own[particle::REST * L::LANES..]);
    correction.store(&mut own[particle::CORRECTION * L::LANES..]);
    (rest, correction)
}

/// Where `force` takes the particle: F, which under the velocity policies is F' without inertia. `[S7]`
///
/// ```text
/// packed    x + F·step·power
/// free      x + inertia + (F − inertia)·step·power
/// velocity  v ← v·(1 − velocity_damping) + F'·step·power     x + v·step (+ inertia for velocity_add)
/// ```
#[inline(always)]
fn displaced<L: Lane>(
    profile: &SwingProfile,
    position: Vec3x<L>,
    parts: &Parts<L>,
    force: Vec3x<L>,
    velocity: &mut [f32],
    forces: &Forces<L>,
) -> Vec3x<L> {
    if profile.force == ForcePolicy::Direct {
        return match profile.inertia {
            InertiaPolicy::Packed => position + force * forces.scale,
            InertiaPolicy::Free => {
                position + parts.inertia + (force - parts.inertia) * forces.scale
            }
        };
    }
    let kept = Vec3x::load(velocity) * L::splat(1.0 - profile.velocity_damping);
    let next = kept + force * forces.scale;
    next.store(velocity);
    let moved = position + next * forces.step;
    match profile.force {
        ForcePolicy::VelocityAdd => moved + parts.inertia,
        ForcePolicy::Direct | ForcePolicy::VelocityReplace => moved,
    }
}

/// How far a force of 1 moves a particle, metres.
#[inline(always)]
fn displacement_share<L: Lane>(profile: &SwingProfile, forces: &Forces<L>) -> L {
    match profile.force {
        ForcePolicy::Direct => forces.scale,
        ForcePolicy::VelocityAdd | ForcePolicy::VelocityReplace => forces.scale * forces.step,
    }
}

/// Tells a witness what each part moves.
#[inline(always)]
fn note_parts<L: Lane, W: Witness<L>>(
    place: usize,
    parts: &Parts<L>,
    velocity: &[f32],
    profile: &SwingProfile,
    forces: &Forces<L>,
    witness: &mut W,
) {
    let share = displacement_share(profile, forces);
    let inertia = match (profile.force, profile.inertia) {
        (ForcePolicy::Direct, InertiaPolicy::Packed) => parts.inertia * share,
        (ForcePolicy::VelocityReplace, _) => Vec3x::splat([0.0; 3]),
        (ForcePolicy::Direct | ForcePolicy::VelocityAdd, _) => parts.inertia,
    };
    witness.note(place, Term::Inertia, inertia);
    if profile.force != ForcePolicy::Direct {
        let kept = Vec3x::load(velocity);
        let kept = kept * L::splat(1.0 - profile.velocity_damping);
        witness.note(place, Term::Velocity, kept * forces.step);
    }
    for (term, part) in [
        (Term::Spring, parts.spring),
        (Term::Gravity, parts.gravity),
        (Term::GlobalForce, parts.global),
        (Term::Wind, parts.wind),
        (Term::Child, parts.child),
    ] {
        witness.note(place, term, part * share);
    }
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
    match (rest_pose, swing.hold) {
        (RestPose::Animated, Hold::Animated) => group.model(pose, swing.joint, joints),
        (RestPose::Animated, Hold::Swing(_)) => {
            let parent = parent_transform(plan, swing, group, pose);
            parent.compose(group.local(pose, swing.joint, joints))
        }
        (RestPose::Bind, _) => {
            let parent = parent_transform(plan, swing, group, pose);
            parent.compose(row.rest_local())
        }
    }
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

/// Aims the rotation of a swing joint at its particle, without limits: `from_to(d_rest, x − A)·r0`. `[5.2]`
///
/// Between the substeps of a joint-major frame nothing else resolves it. A slide joint does not turn.
#[inline(always)]
pub fn aim_rotation<L: Lane, S: Spread>(pass: &Pass<L>, place: usize, group: &mut Group) {
    let row = Row::<L, S>::new(pass.plan, place);
    if row.swing.slide.is_some() {
        return;
    }
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
    let rest = Rotation::<L>::load(&own[particle::REST * L::LANES..]);
    let origin = Vec3x::<L>::load(&own[particle::ORIGIN * L::LANES..]);
    let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
    let position = Vec3x::load(&own[particle::POSITION * L::LANES..]);
    let bone = position - (origin - correction);
    let squared = bone.length_squared();
    let direction = bone * (L::splat(1.0) / squared.sqrt());
    let axis = row.vector(constant::AXIS);
    let aimed = rotation::from_to(rest.rotate(axis), direction) * rest;
    let known = L::splat(ON_ANCHOR_SQUARED).lt(squared) & aimed.finite();
    let aimed = Rotation::select(known, aimed, rest);
    aimed.store(&mut own[particle::ROTATION * L::LANES..]);
}

/// `particle` back at bone `length` from its anchor in the direction it has `[S8]`, and where it is too near to have one.
#[inline(always)]
pub fn at_length<L: Lane>(particle: Vec3x<L>, anchor: Vec3x<L>, length: L) -> (Vec3x<L>, L::Mask) {
    let offset = particle - anchor;
    let squared = offset.length_squared();
    let kept = anchor + offset * (L::splat(1.0) / squared.sqrt()) * length;
    (kept, squared.le(L::splat(ON_ANCHOR_SQUARED)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_particle_on_its_anchor_has_no_direction() {
        let anchor = Vec3x::new(1.0, 2.0, 3.0);
        assert!(at_length(anchor, anchor, 0.5_f32).1);
    }

    #[test]
    fn a_particle_keeps_its_direction_and_gets_its_length_back() {
        let particle = Vec3x::new(0.0, -3.0, 0.0);
        let (kept, on_anchor) = at_length(particle, Vec3x::splat([0.0; 3]), 2.0_f32);
        assert!(!on_anchor);
        assert_eq!(kept, Vec3x::new(0.0, -2.0, 0.0));
    }
}
