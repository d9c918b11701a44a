//! Motion: what an actor's own way through the world does to its particles. `[S2]`
//!
//! `measure_motion` runs in [`super::FrameSystems::Preparation`], after the frame is cut into substeps: it compares
//! [`WorldFromActor`] with the last frame's and hands the difference to the lanes; [`carry_particles`] runs inside the
//! substeps. A jump beyond the profile's thresholds, or a [`Teleport`], carries nothing: the particles come along as if
//! nothing had happened. A [`Reset`] puts them at rest.

use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};

use crate::account::{Term, Witness};
use crate::crowd::{Crowds, Group, Seat, motion, particle};
use crate::lane::{Lane, LaneMask, Vec3x};
use crate::pose::Rigid;
use crate::profile::{SubstepPolicy, SwingProfile};
use crate::rotation;
use crate::substep::{ActorClock, SwingPaused};
use crate::systems::substeps::Pass;

/// Where the actor stands in the world. Gravity, wind and forces are turned into its space, and its motion is felt.
#[derive(Component, Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct WorldFromActor {
    /// Metres.
    pub translation: Vec3,
    /// Unit.
    pub rotation: Quat,
}

impl Default for WorldFromActor {
    fn default() -> Self {
        Self {
            translation: Vec3::ZERO,
            rotation: Quat::IDENTITY,
        }
    }
}

impl WorldFromActor {
    /// At the origin, turned by a unit quaternion.
    pub fn turned(rotation: Quat) -> Self {
        Self {
            rotation,
            ..Self::default()
        }
    }

    fn is_finite(&self) -> bool {
        self.translation.is_finite() && self.rotation.is_finite()
    }

    /// As a rigid transform; a rotation that is none stands straight.
    pub(crate) fn rigid(&self) -> Rigid<f32> {
        Rigid {
            t: self.translation.into(),
            r: rotation::unit_or_identity(self.rotation.into()),
        }
    }

    /// `self` at 0, `other` at 1.
    fn blend(&self, other: &Self, t: f32) -> Self {
        let turned = rotation::slerp(self.rotation.into(), other.rotation.into(), t);
        Self {
            translation: self.translation + (other.translation - self.translation) * t,
            rotation: turned.into(),
        }
    }

    /// Δ = `W_now⁻¹·W_before`: where what stood still in the world is now, seen from the actor.
    fn moved_from(&self, before: &Self) -> Rigid<f32> {
        let (now, before) = (self.rigid(), before.rigid());
        let back = now.r.conjugate();
        Rigid {
            t: back.rotate(before.t - now.t),
            r: back * before.r,
        }
    }
}

/// Tells that an actor's next change of place is no motion: its particles come along. Trigger it on the actor before
/// the frame, `world.trigger(Teleport { entity })`.
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Event, Debug, PartialEq, Clone))]
pub struct Teleport {
    /// The actor.
    pub entity: Entity,
}

/// Puts an actor's particles at rest in the next frame and lets them settle. `[S10]`
#[derive(EntityEvent, Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Event, Debug, PartialEq, Clone))]
pub struct Reset {
    /// The actor.
    pub entity: Entity,
}

/// What is known of an actor's way.
#[derive(Component, Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct ActorMotion {
    /// Where it stood at the last frame that was not empty.
    pub before: Option<WorldFromActor>,
    /// Whether a [`Teleport`] waits for the next frame.
    pub teleported: bool,
}

/// Registers the observers of [`Teleport`] and [`Reset`].
pub fn observe(world: &mut World) {
    world.add_observer(|event: On<Teleport>, mut actors: Query<&mut ActorMotion>| {
        if let Ok(mut motion) = actors.get_mut(event.entity) {
            motion.teleported = true;
        }
    });
    world.add_observer(|event: On<Reset>, mut actors: Query<&mut ActorClock>| {
        if let Ok(mut clock) = actors.get_mut(event.entity) {
            clock.started = None;
        }
    });
}

/// Hands each actor's motion since the last frame to the lanes.
pub(super) fn measure_motion(
    mut crowds: ResMut<Crowds>,
    mut actors: Query<(
        &Seat,
        &SwingProfile,
        &WorldFromActor,
        &mut ActorMotion,
        Has<SwingPaused>,
    )>,
) {
    for (seat, profile, placed, mut known, paused) in &mut actors {
        let slot = crowds.slot_mut(*seat);
        slot.motion.clear();
        slot.teleported = false;
        if paused && placed.is_finite() {
            known.before = Some(*placed);
        }
        // The new place is seen by the next frame that takes time. `[T2]`
        if slot.schedule.idle || !placed.is_finite() {
            continue;
        }
        let before = known.before.replace(*placed).unwrap_or(*placed);
        let teleported = core::mem::take(&mut known.teleported);
        slot.teleported = teleported || jumps(&before, placed, profile);
        if slot.schedule.reset || slot.teleported || before == *placed {
            continue;
        }
        let split = profile.split_motion && profile.substeps == SubstepPolicy::Fixed;
        let parts = if split {
            slot.schedule.substeps.len().max(1)
        } else {
            1
        };
        let place = |part: usize| before.blend(placed, part as f32 / parts as f32);
        for part in 1..=parts {
            let to = if part == parts { *placed } else { place(part) };
            let from = if part == 1 { before } else { place(part - 1) };
            let mut numbers = [0.0; motion::COMPONENTS];
            numbers[motion::CARRIES] = 1.0;
            to.moved_from(&from).store(&mut numbers[motion::MOVED..]);
            slot.motion.extend_from_slice(&numbers);
        }
    }
}

/// Whether the actor went farther than the profile calls motion.
fn jumps(before: &WorldFromActor, now: &WorldFromActor, profile: &SwingProfile) -> bool {
    let distance = (now.translation - before.translation).length();
    let angle = rotation::angle_between(now.rigid().r, before.rigid().r).to_degrees();
    let beyond = |found: f32, threshold: f32| threshold > 0.0 && found > threshold;
    beyond(distance, profile.teleport_distance) || beyond(angle, profile.teleport_angle_deg)
}

/// Keeps the particles where they were in the world, as far as `inertia` (ω) says, for part `part` of the frame's motion.
///
/// ```text
/// x + rc → lerp(x + rc, Δ(x + rc), ω)     the same for x_prev, with the last substep's rc     v → lerp(v, Δ.r·v, ω)
/// ```
#[inline(always)]
pub fn carry_particles<L: Lane, W: Witness<L>>(
    pass: &Pass<L>,
    group: &mut Group,
    part: usize,
    witness: &mut W,
) {
    let inertia = pass.profile.world_inertia;
    let size = motion::COMPONENTS * L::LANES;
    let numbers = &group.motion[part * size..][..size];
    let carries = L::splat(0.5).lt(L::load(&numbers[motion::CARRIES * L::LANES..]));
    let carries = carries & pass.pen.active();
    let moved = Rigid::<L>::load(&numbers[motion::MOVED * L::LANES..]);
    if inertia == 0.0 || !carries.any() {
        return;
    }
    let inertia = L::splat(inertia);
    for place in 0..pass.plan.swings.len() {
        let own = &mut group.particles[place * particle::COMPONENTS * L::LANES..]
            [..particle::COMPONENTS * L::LANES];
        let correction = Vec3x::load(&own[particle::CORRECTION * L::LANES..]);
        for component in [particle::POSITION, particle::PREVIOUS] {
            let shifted = Vec3x::load(&own[component * L::LANES..]);
            let model = shifted + correction;
            let carried = model.lerp(moved.apply(model), inertia) - correction;
            let carried = Vec3x::select(carries, carried, shifted);
            carried.store(&mut own[component * L::LANES..]);
            if W::LISTENS && component == particle::POSITION {
                witness.note(place, Term::Motion, carried - shifted);
            }
        }
        let own = &mut group.velocities[place * 3 * L::LANES..];
        let velocity = Vec3x::load(own);
        let turned = velocity.lerp(moved.r.rotate(velocity), inertia);
        Vec3x::select(carries, turned, velocity).store(own);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(x: f32) -> WorldFromActor {
        WorldFromActor {
            translation: Vec3::X * x,
            ..WorldFromActor::default()
        }
    }

    #[test]
    fn s2_what_stands_still_in_the_world_moves_against_the_actor() {
        let half = core::f32::consts::FRAC_1_SQRT_2;
        // A quarter turn about +Y: the actor's +Z is the world's +X now.
        let now = WorldFromActor {
            translation: Vec3::X,
            rotation: Quat::from_xyzw(0.0, half, 0.0, half),
        };
        let still = Vec3x::new(1.0, 2.0, 1.0);
        let seen = Vec3::from(now.moved_from(&at(0.0)).apply(still));
        assert!((seen - Vec3::new(-1.0, 2.0, 0.0)).length() < 1e-6, "{seen}");
    }

    #[test]
    fn s2_strictly_more_than_a_threshold_is_a_jump_and_a_threshold_of_0_is_none() {
        let profile = SwingProfile::default();
        assert!(!jumps(&at(0.0), &at(1.0), &profile));
        assert!(jumps(&at(0.0), &at(1.01), &profile));
        let never = SwingProfile {
            teleport_distance: 0.0,
            ..profile
        };
        assert!(!jumps(&at(0.0), &at(99.0), &never));
    }
}
