//! Chain layers, legs, drivers and bake curves from rules, on the joints of a model.

use std::collections::BTreeMap;
use std::sync::Arc;

use bevy_math::{Quat, Vec3};

use super::Resolution;
use super::build::mask;
use super::names::Names;
use super::pick::matcher;
use super::schema::{
    BakeCurveRule, BlendConstraintRule, ChainLayerRule, LegRule, PlacementRule, ProductRule, Rules,
    SkirtDriverRule,
};
use crate::assets::text::{Faults, FieldPath, quoted};
use crate::chain::ChainLayer;
use crate::clip::{Clip, Interpolation, Track, TrackValues};
use crate::driver::{BlendConstraint, BlendField, BlendSource, Driver, SkirtDriver};
use crate::euler::{self, EulerProduct};
use crate::leg::LegChain;
use crate::pose::JointTransform;
use crate::rig::Rig;

/// Adds the layers and drivers of `rules` to `out`, in the file's order: legs, then constraints, then skirt drivers.
pub(super) fn resolve(rules: &Rules, names: &Names<'_>, rig: &Rig, out: &mut Resolution) {
    let root = FieldPath::default();
    for (index, rule) in rules.layers.iter().enumerate() {
        let path = root.field("layers").index(index);
        let layer = layer(rule, names, &path, out);
        out.layers.extend(layer);
    }
    let mut owners: BTreeMap<usize, usize> = BTreeMap::new();
    for (index, rule) in rules.legs.iter().enumerate() {
        let path = root.field("legs").index(index);
        let leg = leg(rule, names, rig, &path, out);
        let leg = leg.filter(|leg| claim(rules, rig, leg, index, &mut owners, out));
        out.drivers.extend(leg.map(Driver::Leg));
    }
    for (index, rule) in rules.blend_constraints.iter().enumerate() {
        let path = root.field("blend_constraints").index(index);
        let constraint = constraint(rule, names, rig, &path, out);
        out.drivers.extend(constraint.map(Driver::Blend));
    }
    for (index, rule) in rules.skirt_drivers.iter().enumerate() {
        let path = root.field("skirt_drivers").index(index);
        let driver = skirt_driver(rule, names, &path, out);
        out.drivers.extend(driver.map(Driver::Skirt));
    }
}

/// A ring that misses a joint is no ring: it is there as a whole or not at all.
fn layer(
    rule: &ChainLayerRule,
    names: &Names<'_>,
    path: &FieldPath,
    out: &mut Resolution,
) -> Option<ChainLayer> {
    let place = path.field("joints");
    let find =
        |(index, name): (usize, &String)| out.find(names, name, &place.index(index), rule.optional);
    let found: Vec<Option<usize>> = rule.joints.iter().enumerate().map(find).collect();
    Some(ChainLayer {
        joints: found.into_iter().collect::<Option<_>>()?,
        active: rule.active,
        around: rule.around,
        radius: rule.radius,
        smoothing: rule.smoothing,
        mask: mask(rule.mask.as_deref()),
    })
}

/// Three joints that hang on each other.
fn leg(
    rule: &LegRule,
    names: &Names<'_>,
    rig: &Rig,
    path: &FieldPath,
    out: &mut Resolution,
) -> Option<LegChain> {
    let parts = [
        ("upper", &rule.upper),
        ("lower", &rule.lower),
        ("foot", &rule.foot),
    ];
    let find =
        |(field, name): (&str, &String)| out.find(names, name, &path.field(field), rule.optional);
    let [upper, lower, foot] = parts.map(find);
    let (upper, lower, foot) = (upper?, lower?, foot?);
    let mut hangs = |field: &str, joint: usize, above: usize| {
        let below = joint != above && rig.is_below(joint, above);
        if !below {
            let (joint, above) = (rig.describe(joint), rig.describe(above));
            let fault = format!("found {joint}, expected a joint below {above}");
            out.faults.add(&path.field(field), fault);
        }
        below
    };
    let hang = hangs("lower", lower, upper) & hangs("foot", foot, lower);
    hang.then(|| LegChain {
        name: rule.name.clone(),
        upper,
        lower,
        foot,
        sole: rule.sole.into(),
        pole: rule.pole.map(Vec3::from),
    })
}

/// Whether no leg before `leg`, which is `legs[index]`, has one of its joints; else that is a fault.
fn claim(
    rules: &Rules,
    rig: &Rig,
    leg: &LegChain,
    index: usize,
    owners: &mut BTreeMap<usize, usize>,
    out: &mut Resolution,
) -> bool {
    for joint in [leg.upper, leg.lower, leg.foot] {
        let owner = *owners.entry(joint).or_insert(index);
        if owner != index {
            let fault = format!(
                "leg {} has {}, which leg {} (legs[{owner}]) has too; expected each joint in one leg",
                quoted(&leg.name),
                rig.describe(joint),
                quoted(&rules.legs[owner].name)
            );
            out.faults
                .add(&FieldPath::default().field("legs").index(index), fault);
            return false;
        }
    }
    true
}

fn skirt_driver(
    rule: &SkirtDriverRule,
    names: &Names<'_>,
    path: &FieldPath,
    out: &mut Resolution,
) -> Option<SkirtDriver> {
    let joint = out.find(names, &rule.joint, &path.field("joint"), rule.optional);
    let place = path.field("reference");
    let reference = out.find(names, &rule.reference, &place, rule.optional);
    Some(SkirtDriver {
        joint: joint?,
        reference: reference?,
        product: match rule.product {
            ProductRule::Xyz => EulerProduct::Xyz,
            ProductRule::Zyx => EulerProduct::Zyx,
        },
        inner: rule.inner.into(),
        outer: rule.outer.into(),
        min_deg: rule.min_deg.into(),
        max_deg: rule.max_deg.into(),
        lag: rule.lag,
    })
}

fn constraint(
    rule: &BlendConstraintRule,
    names: &Names<'_>,
    rig: &Rig,
    path: &FieldPath,
    out: &mut Resolution,
) -> Option<BlendConstraint> {
    let joint = out.find(names, &rule.joint, &path.field("joint"), rule.optional);
    let mut sources = Vec::new();
    for (index, source) in rule.sources.iter().enumerate() {
        let place = path.field("sources").index(index).field("joint");
        let found = out.find(names, &source.joint, &place, rule.optional);
        sources.extend(found.map(|joint| BlendSource {
            joint,
            weight: source.weight.into(),
        }));
    }
    let joint = joint?;
    let field = rule.field.map(|field| BlendField {
        transform: placement(&field.transform, &JointTransform::IDENTITY),
        weight: field.weight.into(),
    });
    let weights = sources.iter().map(|source| source.weight);
    let total: Vec3 = weights.chain(field.map(|field| field.weight)).sum();
    // What no weight acts on stays at rest, unless the file says otherwise.
    let (rest, none) = (rig.joints[joint].rest, JointTransform::IDENTITY);
    let unmixed = JointTransform {
        translation: if total.x > 0.0 { none } else { rest }.translation,
        rotation: if total.y > 0.0 { none } else { rest }.rotation,
        scale: if total.z > 0.0 { none } else { rest }.scale,
    };
    (sources.len() == rule.sources.len()).then(|| BlendConstraint {
        joint,
        sources,
        field,
        offset: placement(&rule.offset, &unmixed),
    })
}

/// A transform as written, with `base` for what is not.
fn placement(rule: &PlacementRule, base: &JointTransform) -> JointTransform {
    let turned = |degrees: [f32; 3]| {
        let q = euler::from_euler_zxy(degrees.map(f32::to_radians));
        Quat::from(q)
    };
    JointTransform {
        translation: rule.translation.map_or(base.translation, Vec3::from),
        rotation: rule.rotation_deg.map_or(base.rotation, turned),
        scale: rule.scale.map_or(base.scale, Vec3::from),
    }
}

/// The tracks that `bake_curves` add to clips, each with the index of its clip, and what is wrong. `[V4]`
pub(super) fn bake_tracks(
    rules: &Rules,
    rig: &Rig,
    clips: &[Clip],
) -> (Vec<(usize, Track)>, Faults) {
    let (mut tracks, mut faults) = (Vec::new(), Faults::default());
    for (index, rule) in rules.bake_curves.iter().enumerate() {
        let path = FieldPath::default().field("bake_curves").index(index);
        let joints = swinging(rule, rig, &path, &mut faults);
        let named = |clip: &Clip| rule.clip.as_ref().is_none_or(|name| *name == clip.name);
        let chosen: Vec<usize> = (0..clips.len()).filter(|&c| named(&clips[c])).collect();
        if let Some(name) = rule.clip.as_ref().filter(|_| chosen.is_empty()) {
            let names: Vec<&str> = clips.iter().map(|clip| clip.name.as_str()).collect();
            let fault = format!(
                "found {}, expected a clip of the model: {}",
                quoted(name),
                names.join(", ")
            );
            faults.add(&path.field("clip"), fault);
        }
        for clip in chosen {
            tracks.extend(joints.iter().map(|&joint| (clip, track(rule, joint))));
        }
    }
    (tracks, faults)
}

fn track(rule: &BakeCurveRule, joint: usize) -> Track {
    Track {
        joint,
        source: usize::MAX,
        interpolation: Interpolation::Linear,
        times: rule.keys.iter().map(|&(time, _)| time).collect::<Arc<_>>(),
        values: TrackValues::BakeWeight(rule.keys.iter().map(|&(_, weight)| [weight]).collect()),
    }
}

/// The swing joints that a curve names, by name or pattern.
fn swinging(rule: &BakeCurveRule, rig: &Rig, path: &FieldPath, faults: &mut Faults) -> Vec<usize> {
    let mut joints = Vec::new();
    for (index, name) in rule.joints.iter().enumerate() {
        let matcher = matcher(name);
        let fits = |joint: usize| {
            let own = &rig.joints[joint].name;
            own == name
                || matcher
                    .as_ref()
                    .is_some_and(|matcher| matcher.is_match(own))
        };
        let swinging = rig.swing.iter().map(|swing| swing.joint);
        let found: Vec<usize> = swinging.filter(|&joint| fits(joint)).collect();
        if found.is_empty() {
            let fault = format!("no swing joint's name matches {}", quoted(name));
            faults.add(&path.field("joints").index(index), fault);
        }
        joints.extend(found);
    }
    joints.sort_unstable();
    joints.dedup();
    joints
}
