//! What can be checked without the model: ranges, references inside the file, contradictions.

use std::ops::RangeInclusive;

use globset::Glob;

use super::schema::{
    BakeCurveRule, BlendConstraintRule, ChainLayerRule, ChainRule, ColliderRule, LegRule,
    Parameters, PlacementRule, Rules, ShapeRule, SkirtDriverRule, StaticRule,
};
use crate::assets::text::{Faults, FieldPath, VERSION, did_you_mean, quoted};
use crate::driver::{MOST_LAG, MOST_SOURCES};

/// Largest factor: far above anything that moves sensibly, far below overflow.
const LARGEST: f32 = 1e4;
/// Largest length in any unit, as above.
const FARTHEST: f32 = 1e6;

const SHARE: RangeInclusive<f32> = 0.0..=1.0;
const FACTOR: RangeInclusive<f32> = 0.0..=LARGEST;
const SIGNED: RangeInclusive<f32> = -LARGEST..=LARGEST;
const LENGTH: RangeInclusive<f32> = 0.0..=FARTHEST;
const COORDINATE: RangeInclusive<f32> = -FARTHEST..=FARTHEST;
const TURN: RangeInclusive<f32> = -180.0..=180.0;

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
    for (index, leg) in rules.legs.iter().enumerate() {
        let path = root.field("legs").index(index);
        check_leg(leg, &rules.legs[..index], &path, &mut faults);
    }
    for (index, driver) in rules.skirt_drivers.iter().enumerate() {
        let path = root.field("skirt_drivers").index(index);
        check_skirt_driver(driver, &path, &mut faults);
    }
    for (index, constraint) in rules.blend_constraints.iter().enumerate() {
        let path = root.field("blend_constraints").index(index);
        check_constraint(constraint, &path, &mut faults);
    }
    for (index, curve) in rules.bake_curves.iter().enumerate() {
        let path = root.field("bake_curves").index(index);
        check_curve(curve, &path, &mut faults);
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
    let (turn, shift) = (TURN, COORDINATE);
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
        check_dynamic_shape(*shape, &place.field("shape"), faults);
        check_shape(*shape, &place.field("shape"), faults);
        check_mask(mask.as_deref(), &place.field("mask"), faults);
    }
}

fn check_static(collider: &StaticRule, path: &FieldPath, faults: &mut Faults) {
    check_shape(collider.shape, &path.field("shape"), faults);
    check_mask(collider.mask.as_deref(), &path.field("mask"), faults);
    if collider.joint.is_none() && !matches!(collider.shape, ShapeRule::Plane { .. }) {
        faults.add(path, "the field `joint` is missing");
    }
}

fn check_layer(layer: &ChainLayerRule, path: &FieldPath, faults: &mut Faults) {
    if layer.joints.len() < 2 {
        let found = layer.joints.len();
        let fault = format!("found {found}, expected at least 2 joints to link");
        faults.add(&path.field("joints"), fault);
    }
    in_range(layer.radius, LENGTH, &path.field("radius"), faults);
    in_range(layer.smoothing, SHARE, &path.field("smoothing"), faults);
    if layer.smoothing > 0.0 && !layer.around {
        let fault = "only acts around a ring, expected `around: true` with it";
        faults.add(&path.field("smoothing"), fault);
    }
    check_mask(layer.mask.as_deref(), &path.field("mask"), faults);
}

fn check_leg(leg: &LegRule, before: &[LegRule], path: &FieldPath, faults: &mut Faults) {
    let name = path.field("name");
    if leg.name.is_empty() {
        faults.add(
            &name,
            "found no name, expected one that scenes can refer to",
        );
    } else if before.iter().any(|other| other.name == leg.name) {
        let fault = format!(
            "found {} twice, expected a name of its own",
            quoted(&leg.name)
        );
        faults.add(&name, fault);
    }
    point(leg.sole, &path.field("sole"), faults);
    if let Some(pole) = leg.pole {
        direction(pole, &path.field("pole"), faults);
    }
}

fn check_skirt_driver(driver: &SkirtDriverRule, path: &FieldPath, faults: &mut Faults) {
    for (field, shares) in [("inner", driver.inner), ("outer", driver.outer)] {
        for (axis, share) in shares.into_iter().enumerate() {
            in_range(share, -10.0..=10.0, &path.field(field).index(axis), faults);
        }
    }
    for axis in 0..3 {
        let interval = (driver.min_deg[axis], driver.max_deg[axis]);
        for (field, end) in [("min_deg", interval.0), ("max_deg", interval.1)] {
            in_range(end, TURN, &path.field(field).index(axis), faults);
        }
        if interval.0 > interval.1 {
            let fault = format!(
                "found {}, expected at most max_deg, {}",
                interval.0, interval.1
            );
            faults.add(&path.field("min_deg").index(axis), fault);
        }
    }
    if driver.lag > MOST_LAG {
        let fault = format!("found {}, expected at most {MOST_LAG} frames", driver.lag);
        faults.add(&path.field("lag"), fault);
    }
}

fn check_constraint(constraint: &BlendConstraintRule, path: &FieldPath, faults: &mut Faults) {
    let (sources, place) = (&constraint.sources, path.field("sources"));
    if sources.is_empty() && constraint.field.is_none() || sources.len() > MOST_SOURCES {
        let found = sources.len();
        let fault = format!("found {found}, expected 1 to {MOST_SOURCES} (or a field)");
        faults.add(&place, fault);
    }
    let weights = |weight: [f32; 3], place: &FieldPath, faults: &mut Faults| {
        for (part, weight) in weight.into_iter().enumerate() {
            in_range(weight, FACTOR, &place.field("weight").index(part), faults);
        }
    };
    for (index, source) in sources.iter().enumerate() {
        weights(source.weight, &place.index(index), faults);
    }
    if let Some(field) = &constraint.field {
        let place = path.field("field");
        weights(field.weight, &place, faults);
        check_placement(&field.transform, &place.field("transform"), faults);
    }
    check_placement(&constraint.offset, &path.field("offset"), faults);
}

fn check_placement(placement: &PlacementRule, path: &FieldPath, faults: &mut Faults) {
    if let Some(translation) = placement.translation {
        point(translation, &path.field("translation"), faults);
    }
    for (axis, angle) in placement
        .rotation_deg
        .unwrap_or_default()
        .into_iter()
        .enumerate()
    {
        in_range(
            angle,
            -360.0..=360.0,
            &path.field("rotation_deg").index(axis),
            faults,
        );
    }
    for (axis, scale) in placement.scale.unwrap_or([1.0; 3]).into_iter().enumerate() {
        in_range(scale, SIGNED, &path.field("scale").index(axis), faults);
    }
}

fn check_curve(curve: &BakeCurveRule, path: &FieldPath, faults: &mut Faults) {
    let place = path.field("keys");
    if curve.keys.is_empty() {
        faults.add(&place, "found none, expected at least one (time, weight)");
    }
    for (index, &(time, weight)) in curve.keys.iter().enumerate() {
        let place = place.index(index);
        in_range(time, 0.0..=86_400.0, &place.index(0), faults);
        in_range(weight, SHARE, &place.index(1), faults);
        let before = index.checked_sub(1).map(|before| curve.keys[before].0);
        if let Some(before) = before.filter(|&before| before >= time) {
            let fault = format!("found {time}, expected a time after {before}, the key before");
            faults.add(&place.index(0), fault);
        }
    }
    if curve.joints.is_empty() {
        faults.add(&path.field("joints"), "found none, expected swing joints");
    }
}

/// A swing joint's shape is a sphere or a line: anything else never hits. `[X3]`
fn check_dynamic_shape(shape: ShapeRule, path: &FieldPath, faults: &mut Faults) {
    let expected = "on a swing joint, expected a sphere or a line (nothing else ever hits)";
    match shape {
        ShapeRule::None | ShapeRule::Sphere { .. } | ShapeRule::Line { .. } => {}
        ShapeRule::Capsule { .. } => faults.add(path, format!("found a capsule {expected}")),
        ShapeRule::Plane { .. } => faults.add(path, format!("found a plane {expected}")),
    }
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
