//! What can be checked of layers without a model: ranges, sources, names and orders.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::schema::{
    BlendRule, ClipFileRule, KindRule, LayerRule, ReferenceRule, RowsRule, WindowRule,
};
use crate::action::Ease;
use crate::assets::rig_file::ranges::in_range;
use crate::assets::text::{Faults, FieldPath, quoted};
use crate::curve::Domain;
use crate::layer::MOST_BLENDED;

/// Times in seconds: an hour on either side.
const TIME: RangeInclusive<f32> = -3600.0..=3600.0;
/// Lengths of time in seconds.
const DURATION: RangeInclusive<f32> = 0.0..=3600.0;
/// Speeds of playing.
const SPEED: RangeInclusive<f32> = -1000.0..=1000.0;
/// Weights of a blend.
const BLEND_WEIGHT: RangeInclusive<f32> = 0.0..=1e6;

impl LayerRule {
    /// What it is called.
    pub fn called(&self) -> &str {
        if !self.name.is_empty() {
            return &self.name;
        }
        self.clip
            .as_deref()
            .or(self.action.as_deref())
            .unwrap_or("blend")
    }

    /// Its order, as layer number `index` of its list.
    pub fn ordered(&self, index: usize) -> i32 {
        self.order
            .unwrap_or(i32::try_from(index).unwrap_or(i32::MAX))
    }
}

/// Every fault of a list of layers that shows without a model.
pub(in crate::assets) fn check(rules: &[LayerRule], path: &FieldPath, faults: &mut Faults) {
    let (mut orders, mut names) = (BTreeMap::new(), BTreeMap::new());
    for (index, rule) in rules.iter().enumerate() {
        let path = path.index(index);
        layer(rule, &path, faults);
        let order = rule.ordered(index);
        if let Some(first) = orders.insert(order, index) {
            let fault = format!(
                "found {order}, the order of layer {first} as well; expected one of its own"
            );
            faults.add(&path.field("order"), fault);
        }
        if let Some(first) = names.insert(rule.called(), index) {
            let name = quoted(rule.called());
            let fault =
                format!("found {name}, the name of layer {first} as well; expected one of its own");
            faults.add(&path.field("name"), fault);
        }
    }
}

fn layer(rule: &LayerRule, path: &FieldPath, faults: &mut Faults) {
    sources(rule, path, faults);
    in_range(rule.weight, 0.0..=1.0, &path.field("weight"), faults);
    in_range(rule.start, TIME, &path.field("start"), faults);
    in_range(rule.speed, SPEED, &path.field("speed"), faults);
    in_range(rule.starts as f32, TIME, &path.field("starts"), faults);
    let blends = rule.blend.iter().enumerate();
    for (index, blend) in blends {
        blended(blend, &path.field("blend").index(index), faults);
    }
    if let Some(rule) = &rule.window {
        window(rule, &path.field("window"), faults);
    }
    for (joint, &weight) in &rule.mask.weights {
        let path = path.field("mask").field("weights").key(joint);
        in_range(weight, 0.0..=1.0, &path, faults);
    }
    if let KindRule::Additive {
        reference: ReferenceRule::At(at) | ReferenceRule::Clip { at, .. },
        ..
    } = rule.kind
    {
        in_range(at, TIME, &path.field("kind"), faults);
    }
}

/// One source, and nothing beside it that belongs to another.
fn sources(rule: &LayerRule, path: &FieldPath, faults: &mut Faults) {
    let given = [
        ("clip", rule.clip.is_some()),
        ("blend", !rule.blend.is_empty()),
        ("action", rule.action.is_some()),
    ];
    let given: Vec<&str> = given
        .iter()
        .filter(|(_, given)| *given)
        .map(|&(name, _)| name)
        .collect();
    match given.as_slice() {
        [_] => {}
        [] => faults.add(
            path,
            "found neither `clip`, `blend` nor `action`, expected one of them",
        ),
        many => {
            let fault = format!("found `{}`, expected one of them", many.join("` and `"));
            faults.add(path, fault);
        }
    }
    if rule.blend.len() > MOST_BLENDED {
        let fault = format!(
            "found {} clips, expected at most {MOST_BLENDED}",
            rule.blend.len()
        );
        faults.add(&path.field("blend"), fault);
    }
    if let KindRule::Additive { reference, .. } = &rule.kind {
        if rule.action.is_some() {
            let fault = "found additive on an action, expected override: actions have a way of their own to act";
            faults.add(&path.field("kind"), fault);
        }
        if matches!(reference, ReferenceRule::At(_)) && rule.clip.is_none() {
            let fault =
                "found at(…) without `clip`, expected `clip` in the layer, or reference: clip(…)";
            faults.add(&path.field("kind"), fault);
        }
    }
    idle_fields(rule, path, faults);
    if rule.action.is_some() && rule.window.is_some() {
        let fault =
            "found it on an action, expected none: an action brings its own clock and fades";
        faults.add(&path.field("window"), fault);
    }
}

/// Fields that do not act with the layer's source: whoever writes one means something else.
fn idle_fields(rule: &LayerRule, path: &FieldPath, faults: &mut Faults) {
    let default = LayerRule::default();
    let acts = rule.action.is_some();
    let help = "write `window: (starts: …)`".to_owned();
    if !acts && rule.starts != default.starts {
        let fault = "found it on a clip, expected it on an action";
        faults.add_with_help(&path.field("starts"), fault, Some(help));
    }
    if rule.blend.is_empty() && rule.about_rest {
        faults.add(
            &path.field("about_rest"),
            "found true, expected it with `blend`",
        );
    }
    for (field, is_set) in [
        ("start", rule.start != default.start),
        ("speed", rule.speed != default.speed),
        ("loop", rule.repeats != default.repeats),
        ("missing", rule.missing != default.missing),
    ] {
        if acts && is_set {
            faults.add(
                &path.field(field),
                "found it on an action, expected it on a clip",
            );
        }
    }
}

fn blended(rule: &BlendRule, path: &FieldPath, faults: &mut Faults) {
    in_range(rule.weight, BLEND_WEIGHT, &path.field("weight"), faults);
    in_range(rule.start, TIME, &path.field("start"), faults);
}

fn window(rule: &WindowRule, path: &FieldPath, faults: &mut Faults) {
    in_range(rule.starts as f32, TIME, &path.field("starts"), faults);
    for (field, value) in [
        ("lead_in", rule.lead_in),
        ("length", rule.length),
        ("fade_in", rule.fade_in),
        ("fade_out", rule.fade_out),
    ] {
        in_range(value as f32, DURATION, &path.field(field), faults);
    }
    if let Ease::Custom(curve) = &rule.ease
        && curve.domain != Domain::Progress
    {
        let fault = "found a curve in seconds, expected one over progress, 0 to 1";
        faults.add(&path.field("ease"), fault);
    }
}

/// What is wrong with a file of clips before it is read.
pub(in crate::assets) fn check_clip_file(
    rule: &ClipFileRule,
    path: &FieldPath,
    faults: &mut Faults,
) {
    in_range(rule.scale, 1e-6..=1e6, &path.field("scale"), faults);
    for (axis, angle) in rule.basis_deg.into_iter().enumerate() {
        let path = path.field("basis_deg").index(axis);
        in_range(angle, -360.0..=360.0, &path, faults);
    }
}

/// Bounds of rows: positive, and small enough to mean something.
pub(in crate::assets) fn check_rows(rule: &RowsRule, path: &FieldPath, faults: &mut Faults) {
    for (field, value) in [
        ("within_deg", rule.within_deg),
        ("within_length", rule.within_length),
        ("within_scale", rule.within_scale),
    ] {
        in_range(value, 1e-6..=1e3, &path.field(field), faults);
    }
}
