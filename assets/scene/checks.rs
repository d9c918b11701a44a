//! What can be checked of a scene without its model: ranges, paths, references inside the file.

use std::ops::RangeInclusive;

use super::feet;
use super::schema::{ActorRule, Expectation, Output, PropertiesRule, SceneRules};
use super::stays_inside;
use super::world::WindRule;
use crate::assets::layers;
use crate::assets::rig_file::ranges::{direction, in_range, point};
use crate::assets::text::{Faults, FieldPath, VERSION, one_of, quoted};
use crate::profile::{JointOrder, MOST_PREWARM, MOST_SUBSTEPS, SubstepPolicy, SwingProfile};

/// Of winds: far above what moves anything sensibly.
const STRENGTH: RangeInclusive<f32> = -1e3..=1e3;
/// Per metre or hertz.
const FREQUENCY: RangeInclusive<f32> = 0.0..=1e3;
/// Most actors of a scene: more is a mistyped number.
const MOST_ACTORS: usize = 1_000_000;

pub(super) fn check(rules: &SceneRules) -> Faults {
    let mut faults = Faults::default();
    let root = FieldPath::default();
    if rules.version != VERSION {
        let fault = format!("found {}, expected {VERSION}", rules.version);
        faults.add(&root.field("version"), fault);
    }
    input(&rules.model, &root.field("model"), &mut faults);
    if let Some(rig) = &rules.rig {
        input(rig, &root.field("rig"), &mut faults);
    }
    for (index, rule) in rules.clip_files.iter().enumerate() {
        let path = root.field("clip_files").index(index);
        input(&rule.file, &path.field("file"), &mut faults);
        layers::check_clip_file(rule, &path, &mut faults);
    }
    let (seconds, rate) = (root.field("seconds"), root.field("rate_hz"));
    if !(rules.seconds > 0.0 && rules.seconds <= 3600.0) {
        let fault = format!(
            "found {}, expected more than 0 and at most 3600",
            rules.seconds
        );
        faults.add(&seconds, fault);
    }
    if !(1.0..=1000.0).contains(&rules.rate_hz) {
        let fault = format!("found {}, expected 1 to 1000", rules.rate_hz);
        faults.add(&rate, fault);
    }
    profile(&rules.profile, &root.field("profile"), &mut faults);
    properties(&rules.properties, &root.field("properties"), &mut faults);
    if let Some(rule) = &rules.wind {
        wind(rule, &root.field("wind"), &mut faults);
    }
    for (index, rule) in rules.actors.iter().enumerate() {
        actor(rule, &root.field("actors").index(index), &mut faults);
    }
    actor_total(rules, &root.field("actors"), &mut faults);
    for (index, output) in rules.outputs.iter().enumerate() {
        let path = root.field("outputs").index(index);
        check_output(rules, index, output, &path, &mut faults);
    }
    for (index, expected) in rules.expectations.iter().enumerate() {
        let path = root.field("expectations").index(index);
        expectation(rules, expected, &path, &mut faults);
    }
    faults
}

/// A path to a file that is read: relative, with `/`; it may go up.
fn input(path: &str, place: &FieldPath, faults: &mut Faults) {
    if path.is_empty() {
        faults.add(place, "found an empty path, expected a file");
    } else if path.contains('\\') || path.starts_with('/') || path.contains(':') {
        let fault = format!("found {}, expected a relative path with `/`", quoted(path));
        faults.add(place, fault);
    }
}

/// A path to a file that is written: it may not leave its folder.
fn output_path(path: &str, place: &FieldPath, faults: &mut Faults) {
    let before = faults.0.len();
    input(path, place, faults);
    if faults.0.len() == before && !stays_inside(path) {
        let fault = format!("found {}, expected a path without `..`", quoted(path));
        faults.add(place, fault);
    }
}

/// Ranges of the switches that are numbers, and switches that only act together.
pub(in crate::assets) fn profile(profile: &SwingProfile, path: &FieldPath, faults: &mut Faults) {
    let p = profile;
    if p.order == JointOrder::JointMajor && p.substeps != SubstepPolicy::Frame {
        let fault = "found joint_major, which divides frames: expected it with substeps: frame";
        faults.add(&path.field("order"), fault);
    }
    if p.split_motion && p.substeps != SubstepPolicy::Fixed {
        let fault = "found true, expected it with substeps: fixed";
        faults.add(&path.field("split_motion"), fault);
    }
    if p.prewarm > MOST_PREWARM {
        let fault = format!("found {}, expected at most {MOST_PREWARM}", p.prewarm);
        faults.add(&path.field("prewarm"), fault);
    }
    if !(1..=MOST_SUBSTEPS).contains(&p.max_substeps) {
        let fault = format!("found {}, expected 1 to {MOST_SUBSTEPS}", p.max_substeps);
        faults.add(&path.field("max_substeps"), fault);
    }
    for (field, value, highest) in [
        ("velocity_damping", p.velocity_damping, 1.0),
        ("world_inertia", p.world_inertia, 1.0),
        ("teleport_distance", p.teleport_distance, 1e6),
        ("teleport_angle_deg", p.teleport_angle_deg, 360.0),
    ] {
        in_range(value, 0.0..=highest, &path.field(field), faults);
    }
}

fn properties(properties: &PropertiesRule, path: &FieldPath, faults: &mut Faults) {
    let p = properties;
    for (field, value) in [
        ("weight", p.weight),
        ("root_horizontal_weight", p.root_horizontal_weight),
        ("root_vertical_weight", p.root_vertical_weight),
    ] {
        if let Some(value) = value {
            in_range(value, 0.0..=1.0, &path.field(field), faults);
        }
    }
    if let Some(power) = p.swing_power
        && !(power > 0.0 && power <= 100.0)
    {
        let fault = format!("found {power}, expected more than 0 and at most 100");
        faults.add(&path.field("swing_power"), fault);
    }
    if let Some(force) = p.global_force {
        point(force, &path.field("global_force"), faults);
    }
    if let Some(gravity) = p.gravity {
        direction(gravity, &path.field("gravity"), faults);
    }
}

fn wind(rule: &WindRule, path: &FieldPath, faults: &mut Faults) {
    direction(rule.direction, &path.field("direction"), faults);
    in_range(rule.power, STRENGTH, &path.field("power"), faults);
    in_range(rule.frequency, FREQUENCY, &path.field("frequency"), faults);
    in_range(rule.speed, 0.0..=1000.0, &path.field("speed"), faults);
    if let Some(octave) = &rule.octave {
        let place = path.field("octave");
        in_range(octave.power, STRENGTH, &place.field("power"), faults);
        in_range(
            octave.frequency,
            FREQUENCY,
            &place.field("frequency"),
            faults,
        );
    }
    for (index, gust) in rule.gusts.iter().enumerate() {
        let place = path.field("gusts").index(index);
        in_range(gust.amplitude, STRENGTH, &place.field("amplitude"), faults);
        in_range(gust.frequency, FREQUENCY, &place.field("frequency"), faults);
        in_range(gust.phase, -1e3..=1e3, &place.field("phase"), faults);
    }
}

fn actor(rule: &ActorRule, path: &FieldPath, faults: &mut Faults) {
    if rule.count == 0 {
        faults.add(&path.field("count"), "found 0, expected at least 1");
    }
    if rule.columns == Some(0) {
        faults.add(&path.field("columns"), "found 0, expected at least 1");
    }
    for (field, time) in [("start", rule.start), ("start_step", rule.start_step)] {
        in_range(time, 0.0..=86_400.0, &path.field(field), faults);
    }
    layers::check(&rule.layers, &path.field("layers"), faults);
    if let Some(rows) = &rule.in_rows {
        layers::check_rows(rows, &path.field("in_rows"), faults);
    }
    for (index, layer) in rule.layers.iter().enumerate() {
        if let Some(action) = &layer.action {
            input(
                action,
                &path.field("layers").index(index).field("action"),
                faults,
            );
        }
    }
    point(rule.offset, &path.field("offset"), faults);
    point(rule.spacing, &path.field("spacing"), faults);
    for (index, to) in rule.moves.iter().enumerate() {
        let place = path.field("moves").index(index);
        in_range(to.time, 0.0..=3600.0, &place.field("time"), faults);
        point(to.position, &place.field("position"), faults);
        in_range(
            to.yaw_deg,
            -36_000.0..=36_000.0,
            &place.field("yaw_deg"),
            faults,
        );
        let before = index.checked_sub(1).map(|before| rule.moves[before].time);
        if let Some(before) = before.filter(|&before| before >= to.time) {
            let fault = format!(
                "found {}, expected a time after {before}, that of the move before",
                to.time
            );
            faults.add(&place.field("time"), fault);
        }
    }
    for (index, &time) in rule.resets.iter().enumerate() {
        in_range(
            time,
            0.0..=3600.0,
            &path.field("resets").index(index),
            faults,
        );
    }
    feet::check(&rule.feet, path, faults);
    properties(&rule.properties, &path.field("properties"), faults);
}

fn actor_total(rules: &SceneRules, path: &FieldPath, faults: &mut Faults) {
    let count = rules.actor_count();
    if rules.actors.is_empty() {
        faults.add(path, "found no actor, expected at least one");
    } else if count > MOST_ACTORS {
        let fault = format!("found {count} actors, expected at most {MOST_ACTORS}");
        faults.add(path, fault);
    }
}

/// `number` must be that of an actor.
fn actor_number(rules: &SceneRules, number: usize, path: &FieldPath, faults: &mut Faults) {
    let count = rules.actor_count();
    if number >= count {
        let fault =
            format!("found actor {number}, expected a number below {count}, that of the actors");
        faults.add(&path.field("actor"), fault);
    }
}

fn check_output(
    rules: &SceneRules,
    index: usize,
    output: &Output,
    path: &FieldPath,
    faults: &mut Faults,
) {
    let place = path.field("file");
    output_path(output.file(), &place, faults);
    let endings: &[&str] = match output {
        Output::Baked { .. } => &[".glb", ".gltf", ".vrm"],
        Output::Trace { .. } => &[".csv"],
    };
    let ending = output
        .file()
        .rfind('.')
        .map_or("", |dot| &output.file()[dot..]);
    if !endings.contains(&ending) {
        let found = quoted(output.file());
        faults.add(
            &place,
            format!(
                "found {found}, expected a name that ends in {}",
                one_of(endings)
            ),
        );
    }
    let earlier = rules.outputs[..index].iter();
    if earlier
        .into_iter()
        .any(|other| other.file() == output.file())
    {
        let found = quoted(output.file());
        faults.add(
            &place,
            format!("found {found} twice, expected one output per file"),
        );
    }
    actor_number(rules, output.actor(), path, faults);
}

fn expectation(rules: &SceneRules, expected: &Expectation, path: &FieldPath, faults: &mut Faults) {
    if let Some(actor) = expected.actor() {
        actor_number(rules, actor, path, faults);
    }
    let mut distance = |field: &str, value| in_range(value, 0.0..=1e6, &path.field(field), faults);
    match expected {
        Expectation::TipAt { within, .. }
        | Expectation::LengthsKept { within, .. }
        | Expectation::FeetPlanted { within, .. } => {
            distance("within", *within);
        }
        Expectation::NoPenetration { deeper_than, .. } => distance("deeper_than", *deeper_than),
        Expectation::RingLength { within, .. } => distance("within", *within),
        Expectation::LargestDeflection { .. }
        | Expectation::LayerTurns { .. }
        | Expectation::LargestStep { .. }
        | Expectation::AtLimit { .. }
        | Expectation::Settles { .. }
        | Expectation::StateHash { .. } => {}
    }
    match expected {
        Expectation::TipAt { time, position, .. } => {
            if !(0.0..=rules.seconds).contains(time) {
                let fault = format!(
                    "found {time}, expected 0 to {}, the scene's length",
                    rules.seconds
                );
                faults.add(&path.field("time"), fault);
            }
            point(*position, &path.field("position"), faults);
        }
        Expectation::LargestDeflection {
            at_least_deg,
            at_most_deg,
            ..
        }
        | Expectation::LayerTurns {
            at_least_deg,
            at_most_deg,
            ..
        } => deflection(*at_least_deg, *at_most_deg, path, faults),
        Expectation::StateHash { hash } => {
            let digit = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
            if !(16..=64).contains(&hash.len()) || !hash.chars().all(digit) {
                let fault = format!(
                    "found {}, expected 16 to 64 digits 0 to 9, a to f",
                    quoted(hash)
                );
                faults.add(&path.field("hash"), fault);
            }
        }
        Expectation::LargestStep { at_most_deg, .. }
        | Expectation::FeetPlanted { at_most_deg, .. } => {
            in_range(
                *at_most_deg,
                0.0..=180.0,
                &path.field("at_most_deg"),
                faults,
            );
        }
        Expectation::AtLimit { at_most, .. } => {
            in_range(*at_most, 0.0..=1.0, &path.field("at_most"), faults);
        }
        Expectation::Settles { within_seconds, .. } => {
            in_range(
                *within_seconds,
                0.0..=3600.0,
                &path.field("within_seconds"),
                faults,
            );
        }
        Expectation::LengthsKept { .. }
        | Expectation::NoPenetration { .. }
        | Expectation::RingLength { .. } => {}
    }
}

fn deflection(low: Option<f32>, high: Option<f32>, path: &FieldPath, faults: &mut Faults) {
    for (field, end) in [("at_least_deg", low), ("at_most_deg", high)] {
        if let Some(end) = end {
            in_range(end, 0.0..=180.0, &path.field(field), faults);
        }
    }
    match (low, high) {
        (None, None) => faults.add(
            path,
            "found neither `at_least_deg` nor `at_most_deg`, expected one or both",
        ),
        (Some(low), Some(high)) if low > high => {
            faults.add(
                &path.field("at_least_deg"),
                format!("found {low}, expected at most at_most_deg, {high}"),
            );
        }
        _ => {}
    }
}
