//! Integration: moves a particle by one substep. `[S3]`–`[S9]`
//!
//! Runs second in a joint's substep, once it hangs ([`super::hanging`]). Reads the plan and the particle; writes where that
//! was, and hands on where it is.
//!
//! Position Verlet with the bone length restored after each step, so that no force can stretch a chain or tear it.
//! Collision runs next and restores the length after every push as well.

use super::forces::{Forces, Parts, child_speed, slide_force, spring_force};
use super::hanging::{Hung, Swung, parent_transform};
use crate::account::{Term, Witness};
use crate::crowd::{Group, particle};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::plan::constant::{self, Row, Spread};
use crate::plan::{Plan, SwingPlan};
use crate::profile::{ForcePolicy, InertiaPolicy, SwingProfile};
use crate::rotation::{self, Rotation};
use crate::slide;
use crate::substep::Substep;
use crate::systems::substeps::Pass;

/// A particle this near to its anchor, squared metres, has no direction of its own. `[S8]`
pub const ON_ANCHOR_SQUARED: f32 = 1e-10;

/// Integrates one swing joint; the particle is not written yet, where it was is.
#[inline(always)]
pub fn integrate_particle<L: Lane, S: Spread, W: Witness<L>>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    substep: &Substep,
    (forces, hung): (&Forces<L>, &Hung<L>),
    witness: &mut W,
) -> Swung<L> {
    let profile = pass.profile;
    let row = Row::<L, S>::new(pass.plan, place);
    let swing = row.swing;
    let rest = hung.rest;
    let (gravity, global, wind) = forces.outside(row, group, rest.t);
    let child = child_speed::<L, S>(row, group, substep.prewarm);
    let target = slide_target::<L>(pass.plan, swing, group, substep.pose);
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..]
        [..particle::COMPONENTS * L::LANES];
    let position = Vec3x::load(&own[particle::POSITION * L::LANES..]);
    let previous = Vec3x::load(&own[particle::PREVIOUS * L::LANES..]);
    let axis = row.vector(constant::AXIS);
    let spring = match target {
        Some(target) => slide_force(row, hung.shifted(target), position, previous),
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
    position.store(&mut own[particle::PREVIOUS * L::LANES..]);
    let velocity = &mut group.velocities[place * 3 * L::LANES..];
    if W::LISTENS {
        note_parts(place, &parts, velocity, profile, forces, witness);
    }
    let moved = displaced(profile, position, &parts, force, velocity, forces);
    if swing.slide.is_some() {
        return Swung::sliding(moved);
    }
    let swung = swung_to(row, hung, moved);
    if W::LISTENS {
        witness.note(place, Term::Length, swung.position - moved);
    }
    swung
}

/// The particle of a bone that was moved: back at bone length. One on its anchor has no direction of its own and takes
/// that of rest. `[S8]`
#[inline(always)]
fn swung_to<L: Lane, S: Spread>(row: Row<L, S>, hung: &Hung<L>, moved: Vec3x<L>) -> Swung<L> {
    let (anchor, length) = (hung.anchor(), row.number(constant::LENGTH));
    let mut bone = at_length(moved, anchor, length);
    let on_anchor = bone.is_on_anchor();
    if on_anchor.any() {
        let resting = hung.rest.r.rotate(row.vector(constant::AXIS));
        let fallback = anchor + resting * length;
        bone.direction = Vec3x::select(on_anchor, resting, bone.direction);
        bone.particle = Vec3x::select(on_anchor, fallback, bone.particle);
    }
    let healthy = bone.squared.finite();
    Swung {
        position: bone.particle,
        direction: bone.direction,
        healthy,
        aimed: healthy,
    }
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
        (Term::Child, parts.child.unwrap_or(Vec3x::splat([0.0; 3]))),
    ] {
        witness.note(place, term, part * share);
    }
}

/// Aims the rotation of a swing joint at its particle, without limits: `from_to(d_rest, x − A)·r0`. `[5.2]`
///
/// Between the substeps of a joint-major frame nothing else resolves it. A slide joint does not turn.
#[inline(always)]
pub fn aim_rotation<L: Lane, S: Spread>(
    pass: &Pass<L>,
    place: usize,
    group: &mut Group,
    hung: &Hung<L>,
    swung: &Swung<L>,
) {
    let row = Row::<L, S>::new(pass.plan, place);
    if row.swing.slide.is_some() {
        return;
    }
    let rest = hung.rest.r;
    let axis = row.vector(constant::AXIS);
    let aimed = rotation::from_to(rest.rotate(axis), swung.direction) * rest;
    let known = swung.aimed & aimed.finite();
    let aimed = Rotation::select(known, aimed, rest);
    let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..];
    aimed.store(&mut own[particle::ROTATION * L::LANES..]);
}

/// A bone at its length again.
#[derive(Clone, Copy)]
pub struct KeptBone<L> {
    /// The particle; nowhere where it was on its anchor.
    pub particle: Vec3x<L>,
    /// From the anchor to the particle, unit.
    pub direction: Vec3x<L>,
    /// Square of the distance from the anchor before.
    pub squared: L,
}

impl<L: Lane> KeptBone<L> {
    /// Where the particle was too near to its anchor to have a direction.
    #[inline(always)]
    pub fn is_on_anchor(&self) -> L::Mask {
        self.squared.le(L::splat(ON_ANCHOR_SQUARED))
    }
}

/// `particle` back at bone `length` from its anchor in the direction it has. `[S8]`
#[inline(always)]
pub fn at_length<L: Lane>(particle: Vec3x<L>, anchor: Vec3x<L>, length: L) -> KeptBone<L> {
    let offset = particle - anchor;
    let squared = offset.length_squared();
    // By the unit that divides and takes roots, which stands idle here: the kernel is faster with some of both.
    let direction = offset * (L::splat(1.0) / squared.sqrt());
    KeptBone {
        particle: anchor + direction * length,
        direction,
        squared,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_particle_on_its_anchor_has_no_direction() {
        let anchor = Vec3x::new(1.0, 2.0, 3.0);
        assert!(at_length(anchor, anchor, 0.5_f32).is_on_anchor());
    }

    #[test]
    fn a_particle_keeps_its_direction_and_gets_its_length_back() {
        let particle = Vec3x::new(0.0, -3.0, 0.0);
        let bone = at_length(particle, Vec3x::splat([0.0; 3]), 2.0_f32);
        assert!(!bone.is_on_anchor());
        let off = bone.particle - Vec3x::new(0.0, -2.0, 0.0);
        assert!(off.length_squared() < 1e-13, "{off:?}");
    }
}
