//! Swing joints and colliders from rules, on the joints of a model.

use std::collections::{BTreeMap, BTreeSet};

use bevy_math::Vec3;

use super::names::Names;
use super::pick::{self, Children, Picked};
use super::schema::{ChainRule, MotionRule, Parameters, ShapeRule, StaticRule};
use super::{AppliedChain, Resolution, RigFile, ties};
use crate::assets::text::FieldPath;
use crate::bone::SwingTree;
use crate::collider::{Collider, Mask, Shape, StaticCollider};
use crate::rig::Rig;
use crate::swing::{Limit, Motion, ReferenceLimit, SwingJoint, Tip};

/// A limit that never clamps: rotations split into angles within ±180°.
const FREE_DEG: (f32, f32) = (-180.0, 180.0);

/// A swing joint's parameters and the places that other joints' names in them come from.
struct Planned {
    picked: Picked,
    parameters: Parameters,
    /// The joint's own overrides and their place, if the file has some.
    own: Option<(Parameters, FieldPath)>,
    /// The chain's place.
    chain: FieldPath,
    optional: bool,
}

impl Planned {
    /// Where its reference limit is written.
    fn reference_place(&self) -> FieldPath {
        let own = self.own.as_ref();
        let own = own.filter(|(own, _)| own.reference_limit.is_some());
        let place = own.map_or_else(
            || self.chain.field("parameters"),
            |(_, place)| place.clone(),
        );
        place.field("reference_limit")
    }
}

impl RigFile {
    /// This file on the joints of `rig`, with everything that is wrong.
    pub(in crate::assets) fn resolve(&self, rig: &Rig) -> Resolution {
        let mut out = Resolution::default();
        let (names, children) = (Names::new(rig), Children::new(rig));
        let root = FieldPath::default();
        if let Some(joint) = &self.rules.root_correction {
            out.root_correction = out.find(&names, joint, &root.field("root_correction"), false);
        }
        let mut owners = BTreeMap::new();
        let mut planned = Vec::new();
        for (index, chain) in self.rules.chains.iter().enumerate() {
            let path = root.field("chains").index(index);
            let picked = pick::pick(&names, rig, &children, chain, &path, &mut out);
            let picked = self.claim(rig, index, picked, &mut owners, &mut out);
            planned.extend(self.plan(&names, rig, chain, &path, &picked, &mut out));
            out.chains.push(AppliedChain {
                name: pick::label(chain),
                joints: picked.iter().map(|picked| picked.joint).collect(),
            });
        }
        for plan in &planned {
            let swing = swing_joint(&names, rig, &children, plan, &owners, &mut out);
            out.swing.push(swing);
        }
        check_references(rig, &planned, &mut out);
        warn_of_other_motion(rig, &planned, &mut out);
        for (index, collider) in self.rules.colliders.iter().enumerate() {
            let path = root.field("colliders").index(index);
            let collider = static_collider(&names, collider, &path, &mut out);
            out.colliders.extend(collider);
        }
        ties::resolve(&self.rules, &names, rig, &mut out);
        out
    }

    /// The picked joints that no chain before this one has; the others are a fault.
    fn claim(
        &self,
        rig: &Rig,
        chain: usize,
        picked: Vec<Picked>,
        owners: &mut BTreeMap<usize, usize>,
        out: &mut Resolution,
    ) -> Vec<Picked> {
        let mut shared: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut free = Vec::new();
        for joint in picked {
            let owner = *owners.entry(joint.joint).or_insert(chain);
            if owner == chain {
                free.push(joint);
            } else {
                shared.entry(owner).or_default().push(joint.joint);
            }
        }
        let path = FieldPath::default().field("chains").index(chain);
        for (owner, joints) in shared {
            let first = rig.describe(joints[0]);
            let more = match joints.len() - 1 {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            let here = pick::label(&self.rules.chains[chain]);
            let other = pick::label(&self.rules.chains[owner]);
            out.faults.add(
                &path,
                format!(
                    "chain {here} picks {first}{more}, which chain {other} (chains[{owner}]) picks \
                     too; expected each joint once"
                ),
            );
        }
        free
    }

    /// The parameters of each picked joint.
    fn plan(
        &self,
        names: &Names<'_>,
        rig: &Rig,
        chain: &ChainRule,
        path: &FieldPath,
        picked: &[Picked],
        out: &mut Resolution,
    ) -> Vec<Planned> {
        let mut overrides = overrides(names, rig, chain, path, picked, out);
        let preset = chain
            .preset
            .as_ref()
            .and_then(|name| self.rules.presets.get(name));
        let shared = match preset {
            Some(preset) => chain.parameters.over(preset),
            None => chain.parameters.clone(),
        }
        .over(&self.rules.defaults);
        let plan = |&picked: &Picked| {
            let own = overrides.remove(&picked.joint);
            Planned {
                picked,
                parameters: match &own {
                    Some((own, _)) => own.over(&shared),
                    None => shared.clone(),
                },
                own,
                chain: path.clone(),
                optional: chain.optional,
            }
        };
        picked.iter().map(plan).collect()
    }
}

/// The overrides of a chain by joint.
fn overrides(
    names: &Names<'_>,
    rig: &Rig,
    chain: &ChainRule,
    path: &FieldPath,
    picked: &[Picked],
    out: &mut Resolution,
) -> BTreeMap<usize, (Parameters, FieldPath)> {
    let mut overrides = BTreeMap::new();
    let of_chain: BTreeSet<usize> = picked.iter().map(|picked| picked.joint).collect();
    for (name, parameters) in &chain.overrides {
        let place = path.field("overrides").key(name);
        let Some(joint) = out.find(names, name, &place, chain.optional) else {
            continue;
        };
        // A chain that picked nothing has its own fault.
        if !picked.is_empty() && !of_chain.contains(&joint) {
            let fault = format!(
                "found {}, expected a joint of this chain",
                rig.describe(joint)
            );
            out.faults.add(&place, fault);
        } else if overrides
            .insert(joint, (parameters.clone(), place.clone()))
            .is_some()
        {
            let fault = format!("found {} twice, expected it once", rig.describe(joint));
            out.faults.add(&place, fault);
        }
    }
    overrides
}

fn swing_joint(
    names: &Names<'_>,
    rig: &Rig,
    children: &Children,
    plan: &Planned,
    owners: &BTreeMap<usize, usize>,
    out: &mut Resolution,
) -> SwingJoint {
    let p = &plan.parameters;
    let base = SwingJoint::new(plan.picked.joint);
    SwingJoint {
        joint: base.joint,
        motion: p.motion.map_or(base.motion, |motion| match motion {
            MotionRule::Swing => Motion::Swing,
            MotionRule::Slide => Motion::Slide,
        }),
        active: p.active.unwrap_or(base.active),
        tip: tip(names, rig, children, plan, out),
        damping: p.damping.unwrap_or(base.damping),
        stiffness: p.stiffness.unwrap_or(base.stiffness),
        spring: p.spring.unwrap_or(base.spring),
        mass: p.mass.unwrap_or(base.mass),
        pendulum: p.pendulum.unwrap_or(base.pendulum),
        pendulum_range: p.pendulum_range.unwrap_or(base.pendulum_range),
        wind: p.wind.unwrap_or(base.wind),
        use_wind_global_force: p
            .use_wind_global_force
            .unwrap_or(base.use_wind_global_force),
        axis_add_x_to_y: p.axis_add_x_to_y.unwrap_or(base.axis_add_x_to_y),
        axis_add_x_to_z: p.axis_add_x_to_z.unwrap_or(base.axis_add_x_to_z),
        root_horizontal_weight: p
            .root_horizontal_weight
            .unwrap_or(base.root_horizontal_weight),
        root_vertical_weight: p.root_vertical_weight.unwrap_or(base.root_vertical_weight),
        limit: limit(p),
        reference_limit: reference_limit(names, rig, plan, owners, out),
        collider: p.collider.as_ref().and_then(|collider| {
            let shape = shape(collider.shape)?;
            let mask = mask(collider.mask.as_deref());
            Some(Collider { shape, mask })
        }),
        bake_weight: p.bake_weight.unwrap_or(base.bake_weight),
    }
}

/// Where the bone ends: the joint's own tip or tail, the next of the chain's list, the tail for joints without
/// children, else the first child.
fn tip(
    names: &Names<'_>,
    rig: &Rig,
    children: &Children,
    plan: &Planned,
    out: &mut Resolution,
) -> Tip {
    let joint = plan.picked.joint;
    if let Some((own, place)) = &plan.own {
        if let Some(reference) = &own.tip {
            let place = place.field("tip");
            let tip = out.find(names, reference, &place, plan.optional);
            return match tip {
                Some(tip) if tip != joint && rig.is_below(tip, joint) => Tip::Joint(tip),
                Some(tip) => {
                    let (tip, joint) = (rig.describe(tip), rig.describe(joint));
                    let fault = format!("found {tip}, expected a joint below {joint}");
                    out.faults.add(&place, fault);
                    Tip::FirstChild
                }
                None => Tip::FirstChild,
            };
        }
        if let Some(tail) = own.tail {
            return virtual_tip(tail);
        }
    }
    match (plan.picked.tip, plan.parameters.tail) {
        (Some(tip), _) => Tip::Joint(tip),
        (None, Some(tail)) if children.of(joint).is_empty() => virtual_tip(tail),
        (None, _) => Tip::FirstChild,
    }
}

fn virtual_tip(tail: super::Tail) -> Tip {
    let axis = Vec3::from_array(tail.axis);
    // Largest component first, so that no length over- or underflows.
    let axis = axis / axis.abs().max_element();
    Tip::Tail {
        axis: axis / axis.length(),
        length: tail.length,
    }
}

/// Warns of limits that are of the other kind of motion, and so have no effect.
fn warn_of_other_motion(rig: &Rig, planned: &[Planned], out: &mut Resolution) {
    for plan in planned {
        let p = &plan.parameters;
        let turns = [p.limit_x_deg, p.limit_y_deg, p.limit_z_deg];
        let slides = [p.slide_x_mm, p.slide_y_mm, p.slide_z_mm];
        let is_set = |intervals: &[Option<(f32, f32)>; 3]| intervals.iter().any(Option::is_some);
        let (unused, motion) = match p.motion {
            Some(MotionRule::Slide) => (
                is_set(&turns),
                "slides: limit_x_deg, limit_y_deg and limit_z_deg have",
            ),
            _ => (
                is_set(&slides),
                "turns: slide_x_mm, slide_y_mm and slide_z_mm have",
            ),
        };
        if unused {
            let joint = rig.describe(plan.picked.joint);
            let place = &plan.chain;
            out.warnings
                .push(format!("{place}: {joint} {motion} no effect on it"));
        }
    }
}

/// Axes without an interval are free; a slide joint's intervals are millimetres.
fn limit(parameters: &Parameters) -> Option<Limit> {
    let p = parameters;
    let (intervals, free) = match p.motion {
        Some(MotionRule::Slide) => (
            [p.slide_x_mm, p.slide_y_mm, p.slide_z_mm],
            (f32::MIN, f32::MAX),
        ),
        _ => ([p.limit_x_deg, p.limit_y_deg, p.limit_z_deg], FREE_DEG),
    };
    if intervals.iter().all(Option::is_none) {
        return None;
    }
    let intervals = intervals.map(|interval| interval.unwrap_or(free));
    Some(Limit {
        low: Vec3::from_array(intervals.map(|(low, _)| low)),
        high: Vec3::from_array(intervals.map(|(_, high)| high)),
    })
}

fn reference_limit(
    names: &Names<'_>,
    rig: &Rig,
    plan: &Planned,
    owners: &BTreeMap<usize, usize>,
    out: &mut Resolution,
) -> Option<ReferenceLimit> {
    let reference = plan.parameters.reference_limit.as_ref()?;
    let place = plan.reference_place().field("joint");
    let joint = out.find(names, &reference.joint, &place, plan.optional)?;
    if !owners.contains_key(&joint) {
        let fault = format!("found {}, expected a swing joint", rig.describe(joint));
        out.faults.add(&place, fault);
    }
    Some(ReferenceLimit {
        joint,
        weight: reference.weight,
    })
}

/// Reference limits that could do nothing: without a limit to move, on the joint itself, or on one that stays still.
fn check_references(rig: &Rig, planned: &[Planned], out: &mut Resolution) {
    if out
        .swing
        .iter()
        .all(|swing| swing.reference_limit.is_none())
    {
        return;
    }
    let mut complete = rig.clone();
    complete.swing.clone_from(&out.swing);
    let tree = SwingTree::new(&complete);
    for (plan, swing) in planned.iter().zip(&complete.swing) {
        let Some(reference) = swing.reference_limit else {
            continue;
        };
        let place = plan.reference_place();
        if swing.limit.is_none() {
            let fault = format!(
                "found no limit on {} that it could move, expected one of limit_x_deg, limit_y_deg, limit_z_deg",
                rig.describe(swing.joint)
            );
            out.faults.add(&place, fault);
        }
        let place = place.field("joint");
        if reference.joint == swing.joint {
            let fault = format!(
                "found {} itself, expected another swing joint",
                rig.describe(swing.joint)
            );
            out.faults.add(&place, fault);
            continue;
        }
        // One that is no swing joint at all has its fault already.
        let other = tree.swing_of_joint[reference.joint].map(|index| &complete.swing[index]);
        if let Some(other) = other.filter(|other| !other.active || tree.bone(other).is_err()) {
            let fault = format!(
                "found {}, which is switched off or has no bone, expected a joint that swings",
                rig.describe(other.joint)
            );
            out.faults.add(&place, fault);
        }
    }
}

fn static_collider(
    names: &Names<'_>,
    rule: &StaticRule,
    path: &FieldPath,
    out: &mut Resolution,
) -> Option<StaticCollider> {
    let joint = match &rule.joint {
        Some(name) => Some(out.find(names, name, &path.field("joint"), rule.optional)?),
        None => None,
    };
    let collider = Collider {
        shape: shape(rule.shape)?,
        mask: mask(rule.mask.as_deref()),
    };
    Some(StaticCollider { joint, collider })
}

fn shape(rule: ShapeRule) -> Option<Shape> {
    Some(match rule {
        ShapeRule::None => return None,
        ShapeRule::Sphere { offset, radius } => Shape::Sphere {
            offset: Vec3::from_array(offset),
            radius,
        },
        ShapeRule::Capsule {
            offset_a,
            offset_b,
            radius_a,
            radius_b,
        } => Shape::Capsule {
            offset_a: Vec3::from_array(offset_a),
            offset_b: Vec3::from_array(offset_b),
            radius_a,
            radius_b,
        },
        ShapeRule::Line {
            inset_a,
            inset_b,
            radius_a,
            radius_b,
            scale,
        } => Shape::Line {
            inset_a,
            inset_b,
            radius_a,
            radius_b,
            scale,
        },
        ShapeRule::Plane { normal, offset } => Shape::Plane {
            normal: Vec3::from_array(normal).normalize_or(Vec3::Y),
            offset,
        },
    })
}

/// Layers as bits; layers beyond 31 were refused when the file was parsed.
pub(super) fn mask(layers: Option<&[u32]>) -> Mask {
    layers.map_or(Mask::ALL, |layers| {
        let bits = layers.iter().filter_map(|&layer| 1_u32.checked_shl(layer));
        Mask(bits.fold(0, |mask, bit| mask | bit))
    })
}
