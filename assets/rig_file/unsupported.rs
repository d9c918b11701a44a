//! What the format has a place for and the engine does not do yet.
//!
//! Refused with its place, never ignored. Each line of the lists below goes when the engine learns it. A field whose
//! written value has no effect anyway is let through.

use super::schema::{MotionRule, Parameters, Rules, ShapeRule, Space};
use crate::assets::text::{Faults, FieldPath};

fn refuse(faults: &mut Faults, path: &FieldPath, what: &str) {
    faults.add(path, format!("{what} is not supported yet"));
}

/// Refusals of the file as a whole.
pub(super) fn refuse_rules(rules: &Rules, faults: &mut Faults) {
    let root = FieldPath::default();
    let list = [
        (
            "space",
            rules.space == Space::LeftHanded,
            "space: left_handed",
        ),
        ("layers", !rules.layers.is_empty(), "a chain layer"),
        (
            "skirt_drivers",
            !rules.skirt_drivers.is_empty(),
            "a skirt driver",
        ),
        (
            "blend_constraints",
            !rules.blend_constraints.is_empty(),
            "a blend constraint",
        ),
    ];
    for (field, used, what) in list {
        if used {
            refuse(faults, &root.field(field), what);
        }
    }
}

/// Refusals of one set of parameters.
pub(super) fn refuse_parameters(parameters: &Parameters, path: &FieldPath, faults: &mut Faults) {
    let set = |value: Option<f32>| value.is_some_and(|value| value != 0.0);
    let list = [
        (
            "motion",
            parameters.motion == Some(MotionRule::Slide),
            "motion: slide",
        ),
        ("wind", set(parameters.wind), "wind"),
        (
            "axis_add_x_to_y",
            set(parameters.axis_add_x_to_y),
            "axis_add_x_to_y (of motion: slide)",
        ),
        (
            "axis_add_x_to_z",
            set(parameters.axis_add_x_to_z),
            "axis_add_x_to_z (of motion: slide)",
        ),
        (
            "slide_x_mm",
            parameters.slide_x_mm.is_some(),
            "slide_x_mm (of motion: slide)",
        ),
        (
            "slide_y_mm",
            parameters.slide_y_mm.is_some(),
            "slide_y_mm (of motion: slide)",
        ),
        (
            "slide_z_mm",
            parameters.slide_z_mm.is_some(),
            "slide_z_mm (of motion: slide)",
        ),
        ("bake_weight", set(parameters.bake_weight), "bake_weight"),
    ];
    for (field, used, what) in list {
        if used {
            refuse(faults, &path.field(field), what);
        }
    }
}

/// Refusals of a static collider's shape.
pub(super) fn refuse_static_shape(shape: ShapeRule, path: &FieldPath, faults: &mut Faults) {
    match shape {
        ShapeRule::None | ShapeRule::Sphere { .. } | ShapeRule::Capsule { .. } => {}
        ShapeRule::Line { .. } => refuse(faults, path, "a line as a static collider"),
        ShapeRule::Plane { .. } => refuse(faults, path, "a plane"),
    }
}

/// Refusals of a swing joint's shape: a sphere or a line, anything else never hits. `[X3]`
pub(super) fn refuse_dynamic_shape(shape: ShapeRule, path: &FieldPath, faults: &mut Faults) {
    let expected = "on a swing joint, expected a sphere or a line (nothing else ever hits)";
    match shape {
        ShapeRule::None | ShapeRule::Sphere { .. } | ShapeRule::Line { .. } => {}
        ShapeRule::Capsule { .. } => faults.add(path, format!("found a capsule {expected}")),
        ShapeRule::Plane { .. } => faults.add(path, format!("found a plane {expected}")),
    }
}
