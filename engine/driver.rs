//! Drivers: joints that follow a part of other joints' motion, or hold a sole, before anything swings. `[Q1]` `[Q2]` `[Q4]`
//!
//! Data and pure functions on local transforms; [`crate::systems::driving`] runs them on every animated pose, in the
//! order of [`run_order`]: dependencies first, else legs before constraints before skirt drivers, else the rig's order.

use std::collections::{BTreeMap, BTreeSet};

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
use bevy_math::{Quat, Vec3};
#[cfg(feature = "bevy")]
use bevy_reflect::Reflect;

use crate::euler::EulerProduct;
use crate::lane::Lane;
use crate::leg::LegChain;
use crate::pose::{JointTransform, ModelTransform};
use crate::rig::Rig;
use crate::rotation::{self, Rotation};

/// Something that sets local transforms of joints from those of others; one component per driver, see [`Rig::drivers`].
#[derive(Component, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, PartialEq, Clone))]
pub enum Driver {
    /// A part of another joint's rotation: a skirt over a leg.
    Skirt(SkirtDriver),
    /// A mixture of several joints.
    Blend(BlendConstraint),
    /// A leg whose sole can be held.
    Leg(LegChain),
}

/// A joint that follows a part of another's rotation. Stateless but for `lag`. `[Q1]`
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct SkirtDriver {
    /// Index of the joint that is driven.
    pub joint: usize,
    /// Index of the joint that drives.
    pub reference: usize,
    /// The product of turns that the reference's rotation is split into.
    pub product: EulerProduct,
    /// Share of positive angles that is passed on, per axis, dimensionless.
    pub inner: Vec3,
    /// Share of negative angles that is passed on, per axis, dimensionless.
    pub outer: Vec3,
    /// Lowest angles, degrees.
    pub min_deg: Vec3,
    /// Highest angles, degrees, none below `min_deg`.
    pub max_deg: Vec3,
    /// How many frames late the reference is read. Default 0; more makes the motion depend on the frame rate.
    pub lag: u32,
}

/// A joint that follows a mixture of up to four others and one field. `[Q2]`
///
/// Sources count as they stand against the driven joint's parent: for a sibling that is its local transform.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct BlendConstraint {
    /// Index of the joint that is driven.
    pub joint: usize,
    /// In order: rotations are mixed one after the other.
    pub sources: Vec<BlendSource>,
    /// A fixed transform that takes part after the sources.
    pub field: Option<BlendField>,
    /// Added to the position, multiplied onto the joint's own side of the rotation and onto the scale.
    pub offset: JointTransform,
}

/// A driver that reads older frames than this is a mistyped number; it reads this old ones then.
pub const MOST_LAG: u32 = 600;
/// Most joints that a constraint mixes. `[Q2]`
pub const MOST_SOURCES: usize = 4;

/// A joint that takes part in a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct BlendSource {
    /// Its index.
    pub joint: usize,
    /// Its weight in position, rotation and scale, each ≥ 0.
    pub weight: Vec3,
}

/// A fixed transform that takes part in a mixture.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct BlendField {
    /// Against the driven joint's parent.
    pub transform: JointTransform,
    /// Its weight in position, rotation and scale, each ≥ 0.
    pub weight: Vec3,
}

impl SkirtDriver {
    /// The driven joint's local rotation. `[Q1]`
    ///
    /// ```text
    /// e = euler(inverse(reference.rest)·reference.local)     c = outer where e < 0, else inner
    /// driven.local = driven.rest · from_euler(clamp(e·c, min, max))
    /// ```
    pub fn rotation(
        &self,
        reference_rest: Rotation<f32>,
        reference_local: Rotation<f32>,
        driven_rest: Rotation<f32>,
    ) -> Rotation<f32> {
        let turned = reference_rest.conjugate() * reference_local;
        let angles = self.product.split(turned);
        let passed = core::array::from_fn(|axis| {
            let angle = angles[axis];
            let share = if angle < 0.0 { self.outer } else { self.inner };
            let (low, high) = (self.min_deg[axis], self.max_deg[axis]);
            Lane::clamp_to(angle * share[axis], low.to_radians(), high.to_radians())
        });
        driven_rest * self.product.compose(passed)
    }
}

impl BlendConstraint {
    /// The mixture of `sources`, each with its weight. `[Q2]`
    ///
    /// ```text
    /// position = offset + Σ (w/W)·p     rotation: q = slerp(q, r, w/W) for each in order, then q·offset
    /// scale = offset ⊙ Σ (w/W)·s        each with the weights' own component; the offset alone where W = 0
    /// ```
    pub fn blend(
        offset: &JointTransform,
        sources: impl Iterator<Item = (JointTransform, Vec3)> + Clone,
    ) -> JointTransform {
        // A weight that is no weight takes no part.
        let weighed = |w: Vec3| Vec3::from_array(w.to_array().map(|w| w.clamp_to(0.0, f32::MAX)));
        let sources = sources.map(|(source, weight)| (source, weighed(weight)));
        let total: Vec3 = sources.clone().map(|(_, weight)| weight).sum();
        let mut out = *offset;
        let mut turned = Rotation::identity();
        let mut scale = Vec3::ZERO;
        for (source, weight) in sources {
            if total.x > 0.0 {
                out.translation += source.translation * (weight.x / total.x);
            }
            if total.y > 0.0 {
                let share = weight.y / total.y;
                turned = rotation::slerp(turned, source.rotation.into(), share);
            }
            if total.z > 0.0 {
                scale += source.scale * (weight.z / total.z);
            }
        }
        out.rotation = Quat::from(turned * Rotation::from(offset.rotation));
        if total.z > 0.0 {
            out.scale = offset.scale * scale;
        }
        out
    }

    /// The driven joint's local transform in `pose`, with the joints' `parents`.
    pub fn local(&self, parents: &[Option<usize>], pose: &[JointTransform]) -> JointTransform {
        let own = parents[self.joint];
        let joints = self.sources.iter();
        let joints = joints.map(|s| (against(parents, pose, s.joint, own), s.weight));
        let field = self.field.iter().map(|f| (f.transform, f.weight));
        Self::blend(&self.offset, joints.chain(field))
    }
}

/// The transform of `joint` against `base` (the model's space for none).
fn against(
    parents: &[Option<usize>],
    pose: &[JointTransform],
    joint: usize,
    base: Option<usize>,
) -> JointTransform {
    if parents[joint] == base {
        return pose[joint];
    }
    let model = |joint: usize| {
        let up: Vec<usize> = core::iter::successors(Some(joint), |&j| parents[j]).collect();
        let root = ModelTransform::root(1.0);
        up.iter().rev().fold(root, |at, &j| at.child(&pose[j]))
    };
    let base = base.map_or(ModelTransform::root(1.0), model);
    let own = model(joint);
    let back = base.rigid.r.conjugate();
    let translation = Vec3::from(back.rotate(own.rigid.t - base.rigid.t));
    JointTransform {
        translation: translation / base.scale,
        rotation: (back * own.rigid.r).reflected(base.sign()).into(),
        scale: own.scale / base.scale,
    }
}

impl Driver {
    /// Index of the joint that it sets; of a leg, the foot.
    pub fn joint(&self) -> usize {
        match self {
            Self::Skirt(driver) => driver.joint,
            Self::Blend(constraint) => constraint.joint,
            Self::Leg(leg) => leg.foot,
        }
    }

    /// The joints that it sets.
    pub fn sets(&self) -> Vec<usize> {
        match self {
            Self::Leg(leg) => vec![leg.upper, leg.lower, leg.foot],
            Self::Skirt(_) | Self::Blend(_) => vec![self.joint()],
        }
    }

    /// What messages call it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Skirt(_) => "skirt driver",
            Self::Blend(_) => "blend constraint",
            Self::Leg(_) => "leg",
        }
    }

    /// The joints that it names beside [`Self::joint`]: its sources, or the bones above a foot.
    pub fn sources(&self) -> Vec<usize> {
        match self {
            Self::Skirt(driver) => vec![driver.reference],
            Self::Blend(constraint) => constraint.sources.iter().map(|s| s.joint).collect(),
            Self::Leg(leg) => vec![leg.upper, leg.lower],
        }
    }

    /// The joints whose local transforms it reads.
    pub fn reads(&self, parents: &[Option<usize>]) -> Vec<usize> {
        let up = |joint: Option<usize>| core::iter::successors(joint, |&j| parents[j]);
        let constraint = match self {
            Self::Skirt(_) => return self.sources(),
            Self::Leg(leg) => {
                let own = self.sets();
                return up(Some(leg.foot)).filter(|j| !own.contains(j)).collect();
            }
            Self::Blend(constraint) => constraint,
        };
        let base = parents[constraint.joint];
        let mut read = Vec::new();
        for source in self.sources() {
            if parents[source] == base {
                read.push(source);
            } else {
                read.extend(up(Some(source)).chain(up(base)));
            }
        }
        read.sort_unstable();
        read.dedup();
        read
    }

    /// Legs come before constraints and those before skirt drivers where nothing else decides.
    fn rank(&self) -> usize {
        match self {
            Self::Leg(_) => 0,
            Self::Blend(_) => 1,
            Self::Skirt(_) => 2,
        }
    }
}

/// What a driver waits for: another driver, and, where it reads that one's joint only through a swing joint which hangs on
/// it, that swing joint.
type Need = (usize, Option<usize>);

/// The order in which the drivers of `rig` run: what one reads is set before.
///
/// Swing joints run after all drivers, so what a driver reads through one is not ordered; but a circle through swing
/// joints is one as well.
///
/// # Errors
/// The cycle, spelled out: what reads what.
pub fn run_order(rig: &Rig) -> Result<Vec<usize>, String> {
    let mut needs = needs(rig);
    sort_by_need(rig, &needs)?;
    for needed in &mut needs {
        needed.retain(|(_, through)| through.is_none());
    }
    sort_by_need(rig, &needs)
}

/// For each driver of `rig`, the drivers that set what it reads.
fn needs(rig: &Rig) -> Vec<Vec<Need>> {
    let parents: Vec<Option<usize>> = rig.joints.iter().map(|joint| joint.parent).collect();
    let mut setters: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (driver, of) in rig.drivers.iter().enumerate() {
        for joint in of.sets() {
            setters.entry(joint).or_default().push(driver);
        }
    }
    let active = rig.swing.iter().filter(|swing| swing.active);
    let swinging: BTreeSet<usize> = active.map(|swing| swing.joint).collect();
    let of = |driver: &Driver| {
        let mut needed: Vec<Need> = Vec::new();
        for read in driver.reads(&parents) {
            let set = |joint: usize| setters.get(&joint).into_iter().flatten().copied();
            needed.extend(set(read).map(|other| (other, None)));
            if swinging.contains(&read) {
                let above = core::iter::successors(parents[read], |&joint| parents[joint]);
                needed.extend(above.flat_map(set).map(|other| (other, Some(read))));
            }
        }
        needed
    };
    rig.drivers.iter().map(of).collect()
}

/// The drivers of `rig`, each after those it needs; where nothing decides by rank, then in the rig's order.
fn sort_by_need(rig: &Rig, needs: &[Vec<Need>]) -> Result<Vec<usize>, String> {
    let count = needs.len();
    let mut waits_for: Vec<usize> = needs.iter().map(Vec::len).collect();
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (driver, needed) in needs.iter().enumerate() {
        for &(other, _) in needed {
            readers[other].push(driver);
        }
    }
    let ranked = |driver: usize| (rig.drivers[driver].rank(), driver);
    let free = (0..count).filter(|&driver| waits_for[driver] == 0);
    let mut free: BTreeSet<(usize, usize)> = free.map(ranked).collect();
    let mut order = Vec::with_capacity(count);
    while let Some((_, driver)) = free.pop_first() {
        order.push(driver);
        for &reader in &readers[driver] {
            waits_for[reader] -= 1;
            if waits_for[reader] == 0 {
                free.insert(ranked(reader));
            }
        }
    }
    if order.len() == count {
        return Ok(order);
    }
    let waiting = (0..count).filter(|&driver| waits_for[driver] > 0);
    let first = waiting.min_by_key(|&driver| ranked(driver));
    Err(spell_cycle(rig, needs, &waits_for, first.unwrap_or(0)))
}

/// A cycle among the drivers that still wait for something, found from `first` on.
fn spell_cycle(rig: &Rig, needs: &[Vec<Need>], waits_for: &[usize], first: usize) -> String {
    let next = |driver: usize| {
        let mut needed = needs[driver].iter();
        needed.find(|&&(other, _)| waits_for[other] > 0).copied()
    };
    let mut path: Vec<(usize, Need)> = Vec::new();
    let mut driver = first;
    // Whoever waits needs one that waits, so the walk comes back to where it has been.
    while let Some(need) = next(driver) {
        if let Some(start) = path.iter().position(|&(seen, _)| seen == driver) {
            path.drain(..start);
            break;
        }
        path.push((driver, need));
        driver = need.0;
    }
    let link = |&(driver, (other, through)): &(usize, Need)| {
        let (own, read) = (rig.drivers[driver].joint(), rig.drivers[other].joint());
        let (own, read) = (rig.describe(own), rig.describe(read));
        let kind = rig.drivers[driver].kind();
        match through {
            None => format!("the {kind} of {own} reads {read}"),
            Some(swing) => {
                let swing = rig.describe(swing);
                format!("the {kind} of {own} reads the swing joint {swing}, which hangs on {read}")
            }
        }
    };
    let links: Vec<String> = path.iter().map(link).collect();
    links.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rig::Joint;
    use crate::swing::SwingJoint;

    fn rig(parents: &[Option<usize>]) -> Rig {
        let joint = |(source, &parent): (usize, &Option<usize>)| Joint {
            name: format!("j{source}"),
            source,
            parent,
            rest: JointTransform::rigid(Vec3::new(0.0, 0.1, 0.0), Quat::IDENTITY),
        };
        Rig::new(parents.iter().enumerate().map(joint).collect())
    }

    fn skirt(joint: usize, reference: usize) -> Driver {
        Driver::Skirt(SkirtDriver {
            joint,
            reference,
            product: EulerProduct::Xyz,
            inner: Vec3::ONE,
            outer: Vec3::ONE,
            min_deg: Vec3::splat(-90.0),
            max_deg: Vec3::splat(90.0),
            lag: 0,
        })
    }

    fn between(joint: usize, sources: [usize; 2]) -> Driver {
        let source = |joint| BlendSource {
            joint,
            weight: Vec3::splat(0.5),
        };
        Driver::Blend(BlendConstraint {
            joint,
            sources: sources.map(source).to_vec(),
            field: None,
            offset: JointTransform::IDENTITY,
        })
    }

    #[test]
    fn what_a_driver_reads_is_set_before() {
        let mut rig = rig(&[None, Some(0), Some(0), Some(0), Some(0)]);
        rig.drivers = vec![skirt(4, 3), skirt(3, 2), between(2, [0, 1])];
        assert_eq!(run_order(&rig), Ok(vec![2, 1, 0]));
        rig.drivers = vec![skirt(4, 1), between(2, [1, 3]), skirt(3, 1)];
        assert_eq!(run_order(&rig), Ok(vec![0, 2, 1]), "dependency beats kind");
    }

    #[test]
    fn a_cycle_is_spelled_out() {
        let mut rig = rig(&[None, Some(0), Some(0), Some(0)]);
        rig.drivers = vec![skirt(1, 2), skirt(2, 3), skirt(3, 1)];
        let cycle = run_order(&rig).unwrap_err();
        assert_eq!(
            cycle,
            "the skirt driver of \"j1\" (node 1) reads \"j2\" (node 2), \
             the skirt driver of \"j2\" (node 2) reads \"j3\" (node 3), \
             the skirt driver of \"j3\" (node 3) reads \"j1\" (node 1)"
        );
        rig.drivers = vec![skirt(1, 1)];
        assert!(run_order(&rig).is_err());
    }

    #[test]
    fn order_02_a_driver_that_reads_what_hangs_on_it_is_a_cycle() {
        let mut rig = rig(&[None, Some(0), Some(1), Some(2)]);
        rig.swing = vec![SwingJoint::new(2)];
        rig.drivers = vec![skirt(1, 2)];
        let cycle = run_order(&rig).unwrap_err();
        assert!(cycle.contains("which hangs on \"j1\""), "{cycle}");
    }

    #[test]
    fn order_02_a_circle_through_a_swing_joint_of_another_driver_is_one() {
        let mut rig = rig(&[None, Some(0), Some(1), Some(0)]);
        rig.swing = vec![SwingJoint::new(2)];
        rig.drivers = vec![skirt(1, 3), skirt(3, 2)];
        let cycle = run_order(&rig).unwrap_err();
        assert_eq!(
            cycle,
            "the skirt driver of \"j1\" (node 1) reads \"j3\" (node 3), the skirt driver of \"j3\" (node 3) \
             reads the swing joint \"j2\" (node 2), which hangs on \"j1\" (node 1)"
        );
        rig.drivers = vec![skirt(3, 2)];
        assert!(
            run_order(&rig).is_ok(),
            "without a circle it reads the animation"
        );
    }

    #[test]
    fn q2_a_source_elsewhere_counts_as_it_stands_against_the_parent() {
        let parents = [None, Some(0), Some(1), Some(0)];
        let half = core::f32::consts::FRAC_1_SQRT_2;
        let turn = Quat::from_xyzw(0.0, 0.0, half, half);
        let pose = [
            JointTransform::rigid(Vec3::new(5.0, 0.0, 0.0), turn),
            JointTransform::rigid(Vec3::new(0.0, 1.0, 0.0), turn),
            JointTransform::rigid(Vec3::new(0.0, 1.0, 0.0), Quat::IDENTITY),
            JointTransform::IDENTITY,
        ];
        let found = against(&parents, &pose, 2, Some(0));
        assert!((found.translation - Vec3::new(-1.0, 1.0, 0.0)).length() < 1e-6);
        assert!(rotation::angle_between(found.rotation.into(), turn.into()) < 1e-6);
    }
}
