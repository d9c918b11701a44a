//! What can be checked without the model: ranges, references inside the file, contradictions.

use std::ops::RangeInclusive;

use globset::Glob;

use super::schema::{ChainRule, ColliderRule, LayerRule, Parameters, Rules, ShapeRule, StaticRule};
use super::unsupported;
use crate::assets::text::{Faults, FieldPath, VERSION, did_you_mean, quoted};

/// Largest factor: far above anything that moves sensibly, far below overflow.
const LARGEST: f32 = 1e4;
/// Largest length in any unit, as above.
const FARTHEST: f32 = 1e6;

const SHARE: RangeInclusive<f32> = 0.0..=1.0;
const FACTOR: RangeInclusive<f32> = 0.0..=LARGEST;
const SIGNED: RangeInclusive<f32> = -LARGEST..=LARGEST;
const LENGTH: RangeInclusive<f32> = 0.0..=FARTHEST;
const COORDINATE: RangeInclusive<f32> = -FARTHEST..=FARTHEST;

/// Every fault of the file that shows without a model.
pub(super) fn check(rules: &Rules) -> Faults {
    let mut faults = Faults::default();
    let root = FieldPath::default();
    if rules.version != VERSION {
        let found = rules.version;
        faults.add(
            &root.field("version"),
            format!("found {found}, expected {VERSION}"),
        );
    }
    let scale = rules.metres_per_unit;
    in_range(
        scale,
        1e-6..=1e6,
        &root.field("metres_per_unit"),
        &mut faults,
    );
    unsupported::refuse_rules(rules, &mut faults);
    shared_parameters(&rules.defaults, &root.field("defaults"), &mut faults);
    for (name, preset) in &rules.presets {
        shared_parameters(preset, &root.field("presets").key(name), &mut faults);
    }
    for (index, chain) in rules.chains.iter().enumerate() {
        check_chain(
            rules,
            chain,
            &root.field("chains").index(index),
            &mut faults,
        );
    }
    for (index, collider) in rules.colliders.iter().enumerate() {
        check_static(collider, &root.field("colliders").index(index), &mut faults);
    }
    for (index, layer) in rules.layers.iter().enumerate() {
        check_layer(layer, &root.field("layers").index(index), &mut faults);
    }
    faults
}

fn check_chain(rules: &Rules, chain: &ChainRule, path: &FieldPath, faults: &mut Faults) {
    let ways = [
        chain.root.is_some(),
        !chain.joints.is_empty(),
        chain.pattern.is_some(),
    ];
    if ways.into_iter().filter(|&used| used).count() != 1 {
        faults.add(
            path,
            "found none or several of `root`, `joints` and `pattern`, expected exactly one",
        );
    }
    if chain.root.is_none() && (chain.depth.is_some() || chain.until.is_some()) {
        let field = if chain.depth.is_some() {
            "depth"
        } else {
            "until"
        };
        faults.add(&path.field(field), "only goes with `root`");
    }
    if chain.depth == Some(0) {
        faults.add(
            &path.field("depth"),
            "found 0, expected at least 1: the root counts",
        );
    }
    if let Some(Err(error)) = chain.pattern.as_deref().map(Glob::new) {
        let fault = format!("found a pattern that cannot be read: {}", error.kind());
        faults.add(&path.field("pattern"), fault);
    }
    if let Some(preset) = &chain.preset
        && !rules.presets.contains_key(preset)
    {
        let names = rules.presets.keys().map(String::as_str);
        let fault = format!(
            "found {}, expected the name of an entry of `presets`",
            quoted(preset)
        );
        let help = did_you_mean(preset, names);
        faults.add_with_help(&path.field("preset"), fault, help);
    }
    shared_parameters(&chain.parameters, &path.field("parameters"), faults);
    for (joint, parameters) in &chain.overrides {
        check_parameters(parameters, &path.field("overrides").key(joint), faults);
    }
}

/// Parameters that are not those of a single joint.
fn shared_parameters(parameters: &Parameters, path: &FieldPath, faults: &mut Faults) {
    if parameters.tip.is_some() {
        faults.add_with_help(
            &path.field("tip"),
            "only goes in `overrides`",
            Some(
                "a tip is one joint's; `joints: [\"a\", \"b\"]` ends each bone at the next".into(),
            ),
        );
    }
    check_parameters(parameters, path, faults);
}

fn check_parameters(parameters: &Parameters, path: &FieldPath, faults: &mut Faults) {
    unsupported::refuse_parameters(parameters, path, faults);
    let p = parameters;
    for (field, value, range) in [
        ("damping", p.damping, SHARE),
        ("stiffness", p.stiffness, FACTOR),
        ("spring", p.spring, SHARE),
        ("mass", p.mass, FACTOR),
        ("pendulum", p.pendulum, FACTOR),
        ("pendulum_range", p.pendulum_range, SHARE),
        ("wind", p.wind, SIGNED),
        ("axis_add_x_to_y", p.axis_add_x_to_y, SIGNED),
        ("axis_add_x_to_z", p.axis_add_x_to_z, SIGNED),
        ("root_horizontal_weight", p.root_horizontal_weight, SHARE),
        ("root_vertical_weight", p.root_vertical_weight, SHARE),
        ("bake_weight", p.bake_weight, SHARE),
    ] {
        if let Some(value) = value {
            in_range(value, range, &path.field(field), faults);
        }
    }
    let (turn, shift) = (-180.0..=180.0, -FARTHEST..=FARTHEST);
    for (field, interval, range) in [
        ("limit_x_deg", p.limit_x_deg, &turn),
        ("limit_y_deg", p.limit_y_deg, &turn),
        ("limit_z_deg", p.limit_z_deg, &turn),
        ("slide_x_mm", p.slide_x_mm, &shift),
        ("slide_y_mm", p.slide_y_mm, &shift),
        ("slide_z_mm", p.slide_z_mm, &shift),
    ] {
        if let Some(interval) = interval {
            ordered(interval, range.clone(), &path.field(field), faults);
        }
    }
    check_ends(parameters, path, faults);
}

/// Tip, tail, reference and collider.
fn check_ends(parameters: &Parameters, path: &FieldPath, faults: &mut Faults) {
    if let Some(tail) = parameters.tail {
        let place = path.field("tail");
        direction(tail.axis, &place.field("axis"), faults);
        let length = place.field("length");
        if tail.length == 0.0 {
            faults.add(&length, "found 0, expected more than 0");
        }
        in_range(tail.length, LENGTH, &length, faults);
        if parameters.tip.is_some() {
            faults.add(&place, "found `tip` and `tail`, expected one of them");
        }
    }
    if let Some(reference) = &parameters.reference_limit {
        let weight = path.field("reference_limit").field("weight");
        in_range(reference.weight, -10.0..=10.0, &weight, faults);
    }
    if let Some(ColliderRule { shape, mask }) = &parameters.collider {
        let place = path.field("collider");
        unsupported::refuse_dynamic_shape(*shape, &place.field("shape"), faults);
        check_shape(*shape, &place.field("shape"), faults);
        check_mask(mask.as_deref(), &place.field("mask"), faults);
    }
}

fn check_static(collider: &StaticRule, path: &FieldPath, faults: &mut Faults) {
    unsupported::refuse_static_shape(collider.shape, &path.field("shape"), faults);
    check_shape(collider.shape, &path.field("shape"), faults);
    check_mask(collider.mask.as_deref(), &path.field("mask"), faults);
    if collider.joint.is_none() && !matches!(collider.shape, ShapeRule::Plane { .. }) {
        faults.add(path, "the field `joint` is missing");
    }
}

fn check_layer(layer: &LayerRule, path: &FieldPath, faults: &mut Faults) {
    in_range(layer.radius, LENGTH, &path.field("radius"), faults);
    in_range(layer.smoothing, SHARE, &path.field("smoothing"), faults);
    check_mask(layer.mask.as_deref(), &path.field("mask"), faults);
}

fn check_shape(shape: ShapeRule, path: &FieldPath, faults: &mut Faults) {
    let mut check = |field: &str, value, range| in_range(value, range, &path.field(field), faults);
    match shape {
        ShapeRule::None => {}
        ShapeRule::Sphere { radius, .. } => check("radius", radius, LENGTH),
        ShapeRule::Capsule {
            radius_a, radius_b, ..
        } => {
            check("radius_a", radius_a, LENGTH);
            check("radius_b", radius_b, LENGTH);
        }
        ShapeRule::Line {
            inset_a,
            inset_b,
            radius_a,
            radius_b,
            scale,
        } => {
            check("inset_a", inset_a, LENGTH);
            check("inset_b", inset_b, LENGTH);
            check("radius_a", radius_a, LENGTH);
            check("radius_b", radius_b, LENGTH);
            check("scale", scale, FACTOR);
        }
        ShapeRule::Plane { normal, offset } => {
            check("offset", offset, COORDINATE);
            direction(normal, &path.field("normal"), faults);
        }
    }
    let offsets = match shape {
        ShapeRule::Sphere { offset, .. } => vec![("offset", offset)],
        ShapeRule::Capsule {
            offset_a, offset_b, ..
        } => vec![("offset_a", offset_a), ("offset_b", offset_b)],
        _ => Vec::new(),
    };
    for (field, offset) in offsets {
        point(offset, &path.field(field), faults);
    }
}

/// Layers must fit into the 32 bits of a mask; a shift beyond would wrap around to another layer.
fn check_mask(mask: Option<&[u32]>, path: &FieldPath, faults: &mut Faults) {
    for (index, &layer) in mask.unwrap_or_default().iter().enumerate() {
        if layer >= u32::BITS {
            let fault = format!("found layer {layer}, expected 0 to 31");
            faults.add(&path.index(index), fault);
        }
    }
}

/// `value` must be in `range`; NaN and infinity are not.
pub(in crate::assets) fn in_range(
    value: f32,
    range: RangeInclusive<f32>,
    path: &FieldPath,
    faults: &mut Faults,
) {
    if !range.contains(&value) {
        let (low, high) = (range.start(), range.end());
        faults.add(path, format!("found {value}, expected {low} to {high}"));
    }
}

/// Both ends in `range`, the first not above the second.
fn ordered(
    (low, high): (f32, f32),
    range: RangeInclusive<f32>,
    path: &FieldPath,
    faults: &mut Faults,
) {
    in_range(low, range.clone(), &path.index(0), faults);
    in_range(high, range, &path.index(1), faults);
    if low > high {
        let fault = format!("found ({low}, {high}), expected the lower end first");
        faults.add(path, fault);
    }
}

/// Three coordinates.
pub(in crate::assets) fn point(value: [f32; 3], path: &FieldPath, faults: &mut Faults) {
    for (axis, value) in value.into_iter().enumerate() {
        in_range(value, COORDINATE, &path.index(axis), faults);
    }
}

/// Three coordinates that are not all 0.
pub(in crate::assets) fn direction(value: [f32; 3], path: &FieldPath, faults: &mut Faults) {
    point(value, path, faults);
    if value == [0.0; 3] {
        faults.add(path, "found (0, 0, 0), expected a direction");
    }
}
