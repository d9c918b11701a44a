//! Action files: motion out of curves, in RON for people. `[K3]`–`[K6]`
//!
//! ```ron
//! // A nod.
//! (
//!     version: 1,
//!     name: "nod",
//!     clock: (lead_in: 0.1, length: 0.8, lead_out: 0.1),
//!     envelope: (fade_in: 0.2, fade_out: 0.3, ease_in: smoothstep),
//!     heads: [
//!         (joint: "Head", turn_deg: (x: (domain: progress, keys: linear([(0, 0), (0.5, 20), (1, 0)])))),
//!     ],
//! )
//! ```
//!
//! Angles are Euler angles ZXY in degrees; a curve says whether it is keyed in seconds or in progress.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Error;
use super::rig_file::is_default;
use super::rig_file::names::Names;
use super::rig_file::ranges::in_range;
use super::text::{self, Faults, FieldPath, VERSION};
use crate::action::{Action, ActionClock, Body, Channel, Envelope, FeedForwardRule};
use crate::curve::{Curve, CurveKeys};
use crate::rig::Rig;

/// An action as it is written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Action")]
pub struct ActionRules {
    /// Version of the format: 1.
    pub version: u32,
    /// For people. Default none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub name: String,
    /// When it happens, seconds.
    pub clock: ActionClock,
    /// How it fades, seconds. Default not at all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub envelope: Envelope,
    /// How it moves the body as a whole. Default not.
    #[serde(default, skip_serializing_if = "is_default")]
    pub body: Option<BodyRule>,
    /// Heads: they turn from the pose below to the angles, by the weight.
    #[serde(default, skip_serializing_if = "is_default")]
    pub heads: Vec<TurnRule>,
    /// Other joints: the weighted angles are added on the joint's own side.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turns: Vec<TurnRule>,
    /// How the body's motion is told ahead. `[K6]`
    #[serde(default, skip_serializing_if = "is_default")]
    pub feed_forward: FeedForwardRule,
}

/// Three curves, one per axis; an axis without one stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Axes")]
pub struct AxesRule {
    /// Along or about x.
    #[serde(skip_serializing_if = "is_default")]
    pub x: Option<Curve>,
    /// Along or about y.
    #[serde(skip_serializing_if = "is_default")]
    pub y: Option<Curve>,
    /// Along or about z.
    #[serde(skip_serializing_if = "is_default")]
    pub z: Option<Curve>,
}

/// A joint that turns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Turn")]
pub struct TurnRule {
    /// The joint: its name, `#node` or `Parent/Child`.
    pub joint: String,
    /// Euler angles ZXY, degrees.
    pub turn_deg: AxesRule,
}

/// The body's channel. `[K5]`
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Body")]
pub struct BodyRule {
    /// The joint that carries the rest, such as the hips.
    pub joint: String,
    /// In reference heights: x and z since the start of the action, y above the support. Default none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub translation: AxesRule,
    /// Euler angles ZXY on the joint's own side, degrees. Default none.
    #[serde(default, skip_serializing_if = "is_default")]
    pub turn_deg: AxesRule,
    /// Turns the horizontal axes about +Y, degrees. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub heading_deg: f32,
    /// One unit of the translation curves, metres, ≥ 0. Default 1.
    #[serde(default = "one")]
    pub reference_height: f32,
    /// What the body stands on, metres. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub support_height: f32,
}

fn one() -> f32 {
    1.0
}

/// Reads an action for the joints of a rig.
///
/// # Errors
/// [`Error::Io`] if it cannot be read; [`Error::Ron`] with the place if it cannot be parsed or one value is wrong, such as
/// a joint that the rig does not have; [`Error::Faults`] for several.
pub fn read(file: &Path, rig: &Rig) -> Result<Action, Error> {
    read_for(file, &Names::new(rig))
}

/// As [`read`], with the joints by name already.
pub(in crate::assets) fn read_for(file: &Path, names: &Names) -> Result<Action, Error> {
    let text = text::load(file)?;
    let rules: ActionRules = text::parse(file, &text)?;
    let mut faults = Faults::default();
    let action = build(&rules, names, &mut faults);
    if faults.0.is_empty()
        && let Err(fault) = action.check()
    {
        faults.add(&FieldPath::default(), fault.to_string());
    }
    faults.into_value_result(file, text::without_mark(&text))?;
    let name = if action.name.is_empty() {
        file.file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned()
    } else {
        action.name
    };
    Ok(Action { name, ..action })
}

fn build(rules: &ActionRules, names: &Names, faults: &mut Faults) -> Action {
    let root = FieldPath::default();
    if rules.version != VERSION {
        let fault = format!("found {}, expected {VERSION}", rules.version);
        faults.add(&root.field("version"), fault);
    }
    check_ranges(rules, faults);
    let mut channels = Vec::new();
    if let Some(rule) = &rules.body {
        let path = root.field("body");
        channels.push(Channel::Body(Body {
            joint: joint(&rule.joint, &path.field("joint"), names, faults),
            translation: [
                &rule.translation.x,
                &rule.translation.y,
                &rule.translation.z,
            ]
            .map(Option::clone),
            euler: radians(&rule.turn_deg, &path.field("turn_deg"), faults),
            heading: rule.heading_deg.to_radians(),
            reference_height: rule.reference_height,
            support_height: rule.support_height,
        }));
    }
    let mut turns =
        |field: &str, rules: &[TurnRule], make: fn(usize, [Option<Curve>; 3]) -> Channel| {
            for (index, rule) in rules.iter().enumerate() {
                let path = root.field(field).index(index);
                let joint = joint(&rule.joint, &path.field("joint"), names, faults);
                let euler = radians(&rule.turn_deg, &path.field("turn_deg"), faults);
                channels.push(make(joint, euler));
            }
        };
    turns("heads", &rules.heads, |joint, euler| Channel::Head {
        joint,
        euler,
    });
    turns("turns", &rules.turns, |joint, euler| Channel::Rotation {
        joint,
        euler,
    });
    if channels.is_empty() {
        faults.add(
            &root,
            "found neither `body`, `heads` nor `turns`, expected one of them",
        );
    }
    Action {
        name: rules.name.clone(),
        clock: rules.clock,
        envelope: rules.envelope.clone(),
        channels,
        feed_forward: rules.feed_forward,
    }
}

/// Numbers beyond these are mistyped.
fn check_ranges(rules: &ActionRules, faults: &mut Faults) {
    let root = FieldPath::default();
    let (clock, envelope) = (root.field("clock"), root.field("envelope"));
    for (path, field, seconds) in [
        (&clock, "lead_in", rules.clock.lead_in),
        (&clock, "length", rules.clock.length),
        (&clock, "lead_out", rules.clock.lead_out),
        (&envelope, "fade_in", rules.envelope.fade_in),
        (&envelope, "fade_out", rules.envelope.fade_out),
    ] {
        in_range(seconds as f32, 0.0..=3600.0, &path.field(field), faults);
    }
    if let Some(body) = &rules.body {
        let path = root.field("body");
        in_range(
            body.heading_deg,
            -360.0..=360.0,
            &path.field("heading_deg"),
            faults,
        );
        in_range(
            body.reference_height,
            0.0..=1e3,
            &path.field("reference_height"),
            faults,
        );
        in_range(
            body.support_height,
            -1e4..=1e4,
            &path.field("support_height"),
            faults,
        );
        for (axis, curve) in body.translation.axes() {
            values(curve, 1e4, &path.field("translation").field(axis), faults);
        }
        for (axis, curve) in body.turn_deg.axes() {
            values(curve, 3600.0, &path.field("turn_deg").field(axis), faults);
        }
    }
    for (field, turns) in [("heads", &rules.heads), ("turns", &rules.turns)] {
        for (index, turn) in turns.iter().enumerate() {
            let path = root.field(field).index(index).field("turn_deg");
            for (axis, curve) in turn.turn_deg.axes() {
                values(curve, 3600.0, &path.field(axis), faults);
            }
        }
    }
}

/// The values at the keys of a curve.
fn values(curve: Option<&Curve>, most: f32, path: &FieldPath, faults: &mut Faults) {
    let Some(curve) = curve else { return };
    let at_keys: Vec<f32> = match &curve.keys {
        CurveKeys::Linear(keys) => keys.keys().iter().map(|key| key.1).collect(),
        CurveKeys::Polynomial(curve) => curve.keys().iter().map(|key| key.v).collect(),
    };
    for value in at_keys {
        in_range(value, -most..=most, path, faults);
    }
}

impl AxesRule {
    fn axes(&self) -> [(&'static str, Option<&Curve>); 3] {
        [
            ("x", self.x.as_ref()),
            ("y", self.y.as_ref()),
            ("z", self.z.as_ref()),
        ]
    }
}

fn joint(name: &str, path: &FieldPath, names: &Names, faults: &mut Faults) -> usize {
    names.find(name).unwrap_or_else(|missing| {
        let (fault, help) = names.explain(name, &missing);
        faults.add_with_help(path, fault, help);
        0
    })
}

/// Curves of degrees as curves of radians.
fn radians(rule: &AxesRule, path: &FieldPath, faults: &mut Faults) -> [Option<Curve>; 3] {
    [("x", &rule.x), ("y", &rule.y), ("z", &rule.z)].map(|(axis, curve)| {
        let scaled = curve.as_ref()?.scaled(1.0_f32.to_radians());
        scaled
            .map_err(|fault| faults.add(&path.field(axis), fault.to_string()))
            .ok()
    })
}
