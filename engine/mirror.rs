//! Mirroring: what a left-handed file says, in our right-handed space. `[C1]`
//!
//! Position (−x, y, z), quaternion (x, −y, −z, w). Angles about X keep their sign and those about Y and Z change it, so
//! every constant per axis is mirrored with the data; one-sided intervals show when one was forgotten. Mirroring twice
//! gives what was there, bit for bit.

use bevy_math::{Quat, Vec3};

use crate::collider::Shape;
use crate::driver::{BlendConstraint, Driver, SkirtDriver};
use crate::leg::LegChain;
use crate::pose::JointTransform;
use crate::rig::Rig;
use crate::rotation::mirror_x;
use crate::swing::{Limit, Motion, SwingJoint, Tip};

/// A position, direction or normal.
pub fn point(v: Vec3) -> Vec3 {
    Vec3::new(-v.x, v.y, v.z)
}

/// A rotation.
pub fn rotation(q: Quat) -> Quat {
    mirror_x(q.into()).into()
}

/// A transform; scale is the same on both sides.
pub fn transform(of: &JointTransform) -> JointTransform {
    JointTransform {
        translation: point(of.translation),
        rotation: rotation(of.rotation),
        scale: of.scale,
    }
}

/// An interval of angles: X stays, Y and Z turn round.
pub fn degrees(limit: Limit) -> Limit {
    let (low, high) = (limit.low, limit.high);
    Limit {
        low: Vec3::new(low.x, -high.y, -high.z),
        high: Vec3::new(high.x, -low.y, -low.z),
    }
}

/// An interval of lengths: X turns round, Y and Z stay.
pub fn millimetres(limit: Limit) -> Limit {
    let (low, high) = (limit.low, limit.high);
    Limit {
        low: Vec3::new(-high.x, low.y, low.z),
        high: Vec3::new(-low.x, high.y, high.z),
    }
}

/// A skirt driver: on Y and Z inner and outer change places and the limits turn round.
pub fn skirt_driver(of: SkirtDriver) -> SkirtDriver {
    let (inner, outer) = (of.inner, of.outer);
    let Limit { low, high } = degrees(Limit {
        low: of.min_deg,
        high: of.max_deg,
    });
    SkirtDriver {
        inner: Vec3::new(inner.x, outer.y, outer.z),
        outer: Vec3::new(outer.x, inner.y, inner.z),
        min_deg: low,
        max_deg: high,
        ..of
    }
}

/// A blend constraint: its offset and its field.
pub fn blend_constraint(of: &BlendConstraint) -> BlendConstraint {
    let mut mirrored = of.clone();
    mirrored.offset = transform(&of.offset);
    if let Some(field) = &mut mirrored.field {
        field.transform = transform(&field.transform);
    }
    mirrored
}

/// A leg: its sole and its pole.
pub fn leg(of: &LegChain) -> LegChain {
    LegChain {
        sole: point(of.sole),
        pole: of.pole.map(point),
        ..of.clone()
    }
}

/// A shape, in joint or model space.
pub fn shape(of: Shape) -> Shape {
    match of {
        Shape::Sphere { offset, radius } => Shape::Sphere {
            offset: point(offset),
            radius,
        },
        Shape::Capsule {
            offset_a,
            offset_b,
            radius_a,
            radius_b,
        } => Shape::Capsule {
            offset_a: point(offset_a),
            offset_b: point(offset_b),
            radius_a,
            radius_b,
        },
        Shape::Plane { normal, offset } => Shape::Plane {
            normal: point(normal),
            offset,
        },
        // A line has no direction of its own: it runs along the bone.
        line @ Shape::Line { .. } => line,
    }
}

/// A swing joint: its tail, limits and collider.
pub fn swing_joint(of: &SwingJoint) -> SwingJoint {
    let mut mirrored = *of;
    if let Tip::Tail { axis, length } = of.tip {
        let axis = point(axis);
        mirrored.tip = Tip::Tail { axis, length };
    }
    mirrored.limit = of.limit.map(|limit| match of.motion {
        Motion::Swing => degrees(limit),
        Motion::Slide => millimetres(limit),
    });
    if let Some(collider) = &mut mirrored.collider {
        collider.shape = shape(collider.shape);
    }
    mirrored
}

/// Everything on a rig that is not a joint: what a rig file says.
pub fn parts(rig: &mut Rig) {
    for swing in &mut rig.swing {
        *swing = swing_joint(swing);
    }
    for collider in &mut rig.colliders {
        collider.collider.shape = shape(collider.collider.shape);
    }
    for driver in &mut rig.drivers {
        *driver = match driver {
            Driver::Skirt(skirt) => Driver::Skirt(skirt_driver(*skirt)),
            Driver::Blend(constraint) => Driver::Blend(blend_constraint(constraint)),
            Driver::Leg(of) => Driver::Leg(leg(of)),
        };
    }
}
