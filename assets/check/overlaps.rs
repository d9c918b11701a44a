//! Colliders that touch at rest: what they push apart in the first substep.

use bevy_math::Vec3;

use super::bones::{Bone, Bones, place};
use super::{Finding, Severity, Topic, listed};
use crate::collider::{Mask, Shape};
use crate::pose::ModelTransform;

/// Overlaps up to this are contact by design, metres.
const TOUCHING: f32 = 1e-5;

/// A tapered capsule in model space, metres; a sphere has both ends in one place.
#[derive(Clone, Copy)]
struct Body {
    a: Vec3,
    b: Vec3,
    radius_a: f32,
    radius_b: f32,
}

/// Each swing joint's collider against each static collider that it can meet.
pub(super) fn inspect(bones: &Bones<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, collider) in bones.rig.colliders.iter().enumerate() {
        let Some(joint) = collider.joint else {
            continue;
        };
        let Some(body) = static_body(bones.rest(joint), collider.collider.shape) else {
            continue;
        };
        let place = format!("{} (static collider {index})", bones.rig.describe(joint));
        let mut overlaps = Overlaps::default();
        for bone in bones.bones.iter().filter(|bone| bone.moves()) {
            overlaps.add(bones, bone, &body, collider.collider.mask);
        }
        findings.extend(overlaps.findings(bones, &place));
    }
    findings
}

/// The swing joints whose colliders reach into one static collider.
#[derive(Default)]
struct Overlaps {
    /// Those whose line does so at the joint's end, which no swing can change.
    lines: Vec<usize>,
    others: Vec<usize>,
    /// Of the others, metres.
    deepest: f32,
}

impl Overlaps {
    fn add(&mut self, bones: &Bones<'_>, bone: &Bone<'_>, body: &Body, mask: Mask) {
        let Some(collider) = bone.swing.collider.filter(|own| own.mask.meets(mask)) else {
            return;
        };
        let Some(own) = dynamic_body(bones, bone, collider.shape) else {
            return;
        };
        let depth = depth(&own, body);
        let line = matches!(collider.shape, Shape::Line { .. });
        if line && point_depth(own.b, own.radius_b, body) > TOUCHING {
            self.lines.push(bone.swing.joint);
        } else if depth > TOUCHING {
            self.others.push(bone.swing.joint);
            self.deepest = self.deepest.max(depth);
        }
    }

    fn findings(&self, bones: &Bones<'_>, place: &str) -> Vec<Finding> {
        let warning =
            |message, advice| Finding::new(Severity::Warning, Topic::Collisions, message, advice);
        let mut findings = Vec::new();
        if !self.lines.is_empty() {
            let joints = listed(bones.rig, &self.lines);
            findings.push(warning(
                format!("{joints}: the joint's end of the line collider lies inside the collider on {place} \
                     at rest: the bone will turn far away"),
                "stop the line short with a larger `inset_b`, use a sphere or the profile `line_push: lever`, or put them on different mask layers",
            ));
        }
        if !self.others.is_empty() {
            let joints = listed(bones.rig, &self.others);
            let millimetres = self.deepest * 1000.0;
            findings.push(warning(
                format!("{joints}: overlaps the collider on {place} by up to {millimetres:.1} mm at rest: \
                     it starts with a jump"),
                "make one of them smaller, or put them on different mask layers",
            ));
        }
        findings
    }
}

/// Radii scale with the joint's largest axis.
fn radius_scale(model_from_joint: &ModelTransform) -> f32 {
    model_from_joint.scale.abs().max_element()
}

fn static_body(model_from_joint: &ModelTransform, shape: Shape) -> Option<Body> {
    let scale = radius_scale(model_from_joint);
    match shape {
        Shape::Sphere { offset, radius } => {
            let centre = place(model_from_joint, offset);
            Some(Body {
                a: centre,
                b: centre,
                radius_a: radius * scale,
                radius_b: radius * scale,
            })
        }
        Shape::Capsule {
            offset_a,
            offset_b,
            radius_a,
            radius_b,
        } => Some(Body {
            a: place(model_from_joint, offset_a),
            b: place(model_from_joint, offset_b),
            radius_a: radius_a * scale,
            radius_b: radius_b * scale,
        }),
        Shape::Line { .. } | Shape::Plane { .. } => None,
    }
}

/// A sphere at the particle, or the line from the particle to the joint. `[X1]`
fn dynamic_body(bones: &Bones<'_>, bone: &Bone<'_>, shape: Shape) -> Option<Body> {
    let joint = bone.swing.joint;
    let ((end, length), origin) = (bone.end.ok()?, bones.origin(joint));
    let model_from_joint = bones.rest(joint);
    let scale = radius_scale(model_from_joint);
    match shape {
        Shape::Sphere { offset, radius } => {
            let centre = end + (place(model_from_joint, offset) - origin);
            Some(Body {
                a: centre,
                b: centre,
                radius_a: radius * scale,
                radius_b: radius * scale,
            })
        }
        Shape::Line {
            inset_a,
            inset_b,
            radius_a,
            radius_b,
            scale: insets,
        } => {
            let along = (origin - end) / length;
            // Insets longer than the bone meet in it, in their own proportion.
            let total = (inset_a + inset_b) * insets * scale;
            let fit = if total > length { length / total } else { 1.0 };
            Some(Body {
                a: end + along * (inset_a * insets * scale * fit),
                b: origin - along * (inset_b * insets * scale * fit),
                radius_a: radius_a * scale,
                radius_b: radius_b * scale,
            })
        }
        Shape::Capsule { .. } | Shape::Plane { .. } => None,
    }
}

/// How far a ball reaches into `body`, metres; negative outside.
fn point_depth(centre: Vec3, radius: f32, body: &Body) -> f32 {
    let axis = body.b - body.a;
    let length = axis.length_squared();
    let t = if length > 0.0 {
        (axis.dot(centre - body.a) / length).clamp(0.0, 1.0)
    } else {
        0.0
    };
    let distance = (centre - body.a - axis * t).length();
    body.radius_a + (body.radius_b - body.radius_a) * t + radius - distance
}

/// How far two bodies reach into each other, metres: the deepest of balls along `own`, which is close enough for a
/// message.
fn depth(own: &Body, body: &Body) -> f32 {
    const BALLS: u8 = 32;
    if own.a == own.b {
        return point_depth(own.a, own.radius_a, body);
    }
    (0..=BALLS)
        .map(|ball| {
            let t = f32::from(ball) / f32::from(BALLS);
            let radius = own.radius_a + (own.radius_b - own.radius_a) * t;
            point_depth(own.a + (own.b - own.a) * t, radius, body)
        })
        .fold(f32::NEG_INFINITY, f32::max)
}
