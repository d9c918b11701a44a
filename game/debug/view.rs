//! View: the lines of one actor, from the state it is stored with and the poses it shows.

use bevy_math::Vec3;

use super::wire::Wire;
use super::{DebugKind, NORMAL, SwingDebug};
use crate::collider::PlacedShape;
use crate::contact;
use crate::crowd::{ActorState, Slot, particle, placed};
use crate::euler;
use crate::lane::Vec3x;
use crate::plan::{DynamicPlan, Plan, StaticPlan, SwingPlan};
use crate::pose::{JointTransform, LocalPose, ModelTransform, Rigid, compose_model_into};
use crate::profile::RestPose;
use crate::rotation::Rotation;
use crate::slide::SlidePlan;
use crate::systems::placement::place_shape;
use crate::systems::writeback::shown_particle;

/// Lines of the arc of a limit.
const ARC_SEGMENTS: usize = 8;
/// A bone whose direction is nearer to an axis than this, as the sine of the angle between, only twists about it: its arc
/// would be a point.
const TWISTS: f32 = 0.05;

/// Composes the pose that an actor shows and the animated one below it; false where there is none yet.
pub fn pose_both(
    plan: &Plan,
    slot: &Slot,
    local: &LocalPose,
    [shown, animated]: [&mut Vec<ModelTransform>; 2],
) -> bool {
    let root = ModelTransform::root(plan.metres_per_unit);
    let compose = |locals: &[JointTransform], model: &mut Vec<ModelTransform>| {
        locals.len() == plan.rest.len()
            && compose_model_into(&plan.parents, locals, root, model).is_ok()
    };
    compose(&local.0, shown) && compose(&slot.shown, animated)
}

/// One actor as it is drawn.
pub struct View<'a> {
    /// What it shares with the actors of its rig.
    pub plan: &'a Plan,
    /// What it keeps for itself.
    pub slot: &'a Slot,
    /// Its state in the lanes.
    pub state: ActorState<'a>,
    /// The model transforms of the pose shown, in joint order.
    pub shown: &'a [ModelTransform],
    /// Those of the animated pose below it.
    pub animated: &'a [ModelTransform],
}

impl View<'_> {
    /// Adds the lines of what is switched on.
    pub fn draw(&self, debug: &SwingDebug, wire: &mut Wire) {
        for (place, swing) in self.plan.swings.iter().enumerate() {
            if debug.bones {
                self.draw_bone(place, swing, wire);
            }
            if let Some(collider) = swing.collider.as_ref().filter(|_| debug.colliders) {
                self.draw_swing_collider(place, swing, collider, wire);
            }
            if debug.contacts {
                self.draw_contact(place, wire);
            }
            if debug.limits {
                self.draw_limit(swing, wire);
            }
        }
        if debug.colliders {
            for (index, collider) in self.plan.statics.iter().enumerate() {
                self.draw_static(index, collider, wire);
            }
        }
        if debug.rings {
            self.draw_links(wire);
        }
    }

    /// The particle of the swing joint at `place`, model space.
    fn particle(&self, place: usize) -> Vec3 {
        shown_particle(self.slot, &self.state, place)
    }

    /// What a joint hangs on in the pose shown.
    fn parent(&self, joint: usize) -> ModelTransform {
        let root = ModelTransform::root(self.plan.metres_per_unit);
        self.plan.parents[joint].map_or(root, |parent| self.shown[parent])
    }

    /// Where a swing joint's bone starts; of a slide joint, where its parent is. `[X5]`
    fn anchor(&self, swing: &SwingPlan) -> Vec3 {
        let from = match swing.slide {
            Some(_) => self.parent(swing.joint).rigid.t,
            None => self.shown[swing.joint].rigid.t,
        };
        from.into()
    }

    fn draw_bone(&self, place: usize, swing: &SwingPlan, wire: &mut Wire) {
        let particle = self.particle(place);
        wire.line(DebugKind::Bone, self.anchor(swing), particle);
        wire.cross(DebugKind::Particle, particle);
    }

    fn draw_swing_collider(
        &self,
        place: usize,
        swing: &SwingPlan,
        collider: &DynamicPlan,
        wire: &mut Wire,
    ) {
        let (kind, particle) = (DebugKind::SwingCollider, self.particle(place));
        match *collider {
            DynamicPlan::Sphere { offset, radius } => {
                let beside = self.shown[swing.joint].rigid.r.rotate(Vec3x::splat(offset));
                wire.ball(kind, particle + Vec3::from(beside), radius);
            }
            DynamicPlan::Line { inset, radius } => {
                let (from, to) = (particle.into(), self.anchor(swing).into());
                let ends = contact::place_line(from, to, inset, [from; 2]);
                wire.capsule(kind, ends.map(Vec3::from), radius);
            }
        }
    }

    /// The last hit of a joint that was hit in the last substep, see [`crate::swing::SwingResult::last_hit`].
    fn draw_contact(&self, place: usize, wire: &mut Wire) {
        let own = self.state.particle(place);
        if own[particle::HITS] >= 1.0 {
            let at = Vec3::from_slice(&own[particle::HIT_POSITION..]);
            let normal = Vec3::from_slice(&own[particle::HIT_NORMAL..]);
            wire.line(DebugKind::Contact, at, at + normal * NORMAL);
        }
    }

    fn draw_static(&self, index: usize, collider: &StaticPlan, wire: &mut Wire) {
        let kind = DebugKind::StaticCollider;
        let model = |joint: Option<usize>| joint.map(|joint| self.animated[joint].rigid);
        let bone = model(collider.joint).unwrap_or(Rigid::identity());
        let parent = model(collider.parent).unwrap_or(bone).t;
        let own = self.state.placed(index);
        let before = [placed::END_A, placed::END_B].map(|end| Vec3x::load(&own[end..]));
        let ends = place_shape(&collider.shape, bone, parent, before).map(Vec3::from);
        match &collider.shape {
            PlacedShape::Sphere { radius, .. } => wire.ball(kind, ends[0], *radius),
            PlacedShape::Capsule { radius, .. } | PlacedShape::Line { radius, .. } => {
                wire.capsule(kind, ends, *radius);
            }
            PlacedShape::Plane { normal, offset } => {
                wire.plane(kind, Vec3::from_array(*normal), *offset);
            }
        }
    }

    fn draw_limit(&self, swing: &SwingPlan, wire: &mut Wire) {
        if let Some(slide) = &swing.slide {
            self.draw_slide_limit(swing, slide, wire);
        } else if let Some(limit) = &swing.limit {
            let mut shift = Vec3::ZERO;
            if let Some((other, weight)) = limit.reference {
                let angles = self.state.particle(other);
                let angles = Vec3::from_slice(&angles[particle::ANGLES..]);
                shift = angles * Vec3::from_array(weight);
            }
            let half_turn = Vec3::splat(core::f32::consts::PI);
            let [low, high] = [limit.low, limit.high]
                .map(|end| (Vec3::from_array(end) + shift).clamp(-half_turn, half_turn));
            self.draw_arcs(swing, low, high, wire);
        }
    }

    /// For each axis, the arc that the bone's end may describe about it, the other angles at rest or as near as they may
    /// come, and lines from the joint to the ends of the arc. `[V2]`
    fn draw_arcs(&self, swing: &SwingPlan, low: Vec3, high: Vec3, wire: &mut Wire) {
        let (rest, anchor) = (self.rest_rotation(swing), self.anchor(swing));
        let nearest = Vec3::ZERO.max(low).min(high);
        let bone = Vec3::from_array(swing.axis);
        for axis in 0..3 {
            if bone.cross(Vec3::AXES[axis]).length_squared() < TWISTS * TWISTS {
                continue;
            }
            let at = |step: usize| {
                let mut angles = nearest;
                let share = step as f32 / ARC_SEGMENTS as f32;
                angles[axis] = low[axis] + (high[axis] - low[axis]) * share;
                let turned = rest * euler::from_euler_zxy(angles.to_array());
                anchor + Vec3::from(turned.rotate((bone * swing.length).into()))
            };
            let arc = (0..=ARC_SEGMENTS).map(at);
            let fan = [anchor].into_iter().chain(arc).chain([anchor]);
            wire.path(DebugKind::Limit, fan);
        }
    }

    /// The rotation that a joint's deviation is measured from, model space. `[5.5]`
    fn rest_rotation(&self, swing: &SwingPlan) -> Rotation<f32> {
        let local = match self.slot.profile.rest_pose {
            RestPose::Animated => &self.slot.shown[swing.joint],
            RestPose::Bind => &self.plan.rest[swing.joint],
        };
        self.parent(swing.joint).child(local).rigid.r
    }

    /// For each axis that is limited, the way along it through the rest translation. `[V3]`
    fn draw_slide_limit(&self, swing: &SwingPlan, slide: &SlidePlan, wire: &mut Wire) {
        let parent = self.parent(swing.joint).rigid;
        let rest = Vec3::from_array(slide.rest);
        for axis in 0..3 {
            let ends = [slide.low[axis], slide.high[axis]];
            if ends.iter().all(|end| end.is_finite()) {
                let [from, to] = ends.map(|end| {
                    let local = rest + Vec3::AXES[axis] * end;
                    Vec3::from(parent.apply(local.into()))
                });
                wire.line(DebugKind::Limit, from, to);
            }
        }
    }

    /// The links of all chain layers, particle to particle. `[X6]`
    fn draw_links(&self, wire: &mut Wire) {
        for layer in &self.plan.layers {
            for link in 0..layer.links {
                let is_hit = self.state.link_hits(layer.first_link + link) >= 1.0;
                let kind = if is_hit {
                    DebugKind::HitLink
                } else {
                    DebugKind::Link
                };
                let ends = layer
                    .ends(link)
                    .map(|member| self.particle(layer.members[member]));
                wire.line(kind, ends[0], ends[1]);
            }
        }
    }
}
