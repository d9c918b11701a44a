//! Plans: a rig compiled to flat arrays, what the stages read.
//!
//! No names, no entities, no hash maps. Swing joints are sorted by depth, constants are precomputed, limits are cosines
//! and sines, colliders are scaled, and each joint lists the static colliders that it can meet in the rig's order.
//!
//! Everything that depends on the rest pose alone is settled here: bone lengths and axes `[5.1]`, depths, mirrored
//! axes. Equal rigs share one plan.

use core::ops::Range;

use bevy_math::Vec3;

use crate::bone::{Bone, SwingTree};
use crate::chain::LayerPlan;
use crate::channel::ChannelLayout;
use crate::collider::{Collider, Mask, PlacedShape, StaticCollider};
use crate::driver::{self, Driver};
use crate::leg::LegPlan;
use crate::limit::{self, LimitPlan};
use crate::pose::{JointTransform, ModelTransform, Rigid};
use crate::rig::Rig;
use crate::slide::SlidePlan;
use crate::swing::{Motion, SwingJoint};

pub mod chains;
pub mod constant;
mod marks;
pub mod step;

use step::Step;

/// A rig compiled.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Parent of each joint of the rig, in joint order.
    pub parents: Vec<Option<usize>>,
    /// Rest transform of each joint of the rig, in joint order.
    pub rest: Vec<JointTransform>,
    /// Joints whose animated transform the substeps read, parents first: the ancestors of swing joints and
    /// colliders with themselves.
    pub needed: Vec<usize>,
    /// For each joint of the rig, whether it is in `needed`.
    pub is_needed: Vec<bool>,
    /// For each joint of the rig, whether the substeps read its model transform: those that hold swing joints and carry
    /// colliders, with their ancestors.
    pub is_model_read: Vec<bool>,
    /// See [`Rig::metres_per_unit`].
    pub metres_per_unit: f32,
    /// Joint whose model translation is `hips` of `[S1]`.
    pub root_correction: Option<usize>,
    /// The moving swing joints, by depth, inside a depth in the rig's order.
    pub swings: Vec<SwingPlan>,
    /// For each of `swings`, its rest transform against its parent, scaled and rigid; read under
    /// [`crate::profile::RestPose::Bind`].
    pub rest_locals: Vec<Rigid<f32>>,
    /// What the kernels read of each swing joint, see [`constant`]: `[place][constant]`.
    pub constants: Vec<f32>,
    /// Ranges of `swings` of equal depth, shallow first.
    pub depths: Vec<Range<usize>>,
    /// The order in which a substep takes the joints.
    pub steps: Vec<Step>,
    /// For each swing joint of the rig, its place in `swings`; `None` when it is passive or inactive.
    pub place_of_swing: Vec<Option<usize>>,
    /// Joints between a swing joint and the swing joint above it, outermost first; ranges of this are in
    /// [`SwingPlan::between`].
    pub between: Vec<usize>,
    /// Static colliders in the rig's order.
    pub statics: Vec<StaticPlan>,
    /// Indices into `statics`; ranges of this are in [`SwingPlan::meets`] and [`LayerPlan::meets`].
    pub meets: Vec<usize>,
    /// The active chain layers in the rig's order.
    pub layers: Vec<LayerPlan>,
    /// For each of `depths`, its layers.
    pub layers_of_depth: Vec<Vec<usize>>,
    /// Drivers in the order in which they run.
    pub drivers: Vec<Driver>,
    /// Where its channels are.
    pub channels: ChannelLayout,
    /// The legs in the rig's order. `[Q4]`
    pub legs: Vec<LegPlan>,
    /// For each of `drivers`, the leg that it is.
    pub leg_of_driver: Vec<Option<usize>>,
}

/// What a moving swing joint hangs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hold {
    /// No swing joint above it moves: its animated model transform holds it.
    Animated,
    /// The swing joint at this place of [`Plan::swings`], through the joints of [`SwingPlan::between`].
    Swing(usize),
}

/// One moving swing joint.
#[derive(Clone, Debug, PartialEq)]
pub struct SwingPlan {
    /// Index of the joint in the rig.
    pub joint: usize,
    /// Index in [`Rig::swing`].
    pub source: usize,
    /// What it hangs on.
    pub hold: Hold,
    /// Its range in [`Plan::between`].
    pub between: Range<usize>,
    /// The joint at its tip; `None` for a virtual tail.
    pub tip: Option<usize>,
    /// Whether it starts where the bone above it ends: it is its tip child, with no joints between.
    pub is_on_tip: bool,
    /// Place of the swing joint whose particle moves the tip, if the tip child is a moving swing joint. `[S5]`
    pub tip_swing: Option<usize>,
    /// Direction of the bone, unit, in the joint's model frame (mirrored axes already reflected); zero for slide joints.
    pub axis: [f32; 3],
    /// Length of the bone at rest, metres in model space; 0 for slide joints.
    pub length: f32,
    /// Of a joint that slides.
    pub slide: Option<Box<SlidePlan>>,
    /// ±1 per axis: which axes of the parent are mirrored at rest; turns local rotations of the file into the model's.
    pub sign: [f32; 3],
    /// (1 − damping)²: inertia kept per substep. `[S5]`
    pub inertia: f32,
    /// Dimensionless.
    pub stiffness: f32,
    /// Dimensionless.
    pub spring: f32,
    /// mass · 0.01: gravity's force. `[S5]`
    pub weight: f32,
    /// Dimensionless; 0 when `[S4]`'s p is 0 for this joint.
    pub pendulum: f32,
    /// Dimensionless; 1 when `pendulum` is 0, so that it can be divided by.
    pub pendulum_range: f32,
    /// 1 if the actor's global force acts, else 0.
    pub global_force: f32,
    /// Share of the wind that it feels; 0 where global forces do not act. `[S5]`
    pub wind: f32,
    /// `[S1]`
    pub root_horizontal_weight: f32,
    /// `[S1]`
    pub root_vertical_weight: f32,
    /// `[V2]`
    pub limit: Option<LimitPlan>,
    /// Whether another joint's limit follows this one's angles.
    pub is_reference: bool,
    /// Its own collider, if that can hit anything.
    pub collider: Option<DynamicPlan>,
    /// Its range in [`Plan::meets`].
    pub meets: Range<usize>,
    /// See [`SwingJoint::bake_weight`].
    pub bake_weight: f32,
    /// Volume of a unit cube in the joint's space at rest: what an animated scale is compared with.
    pub volume: f32,
}

/// The collider of a swing joint, scaled to metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DynamicPlan {
    /// A ball at the particle.
    Sphere {
        /// From the particle, in the joint's model frame, metres.
        offset: [f32; 3],
        /// Metres.
        radius: f32,
    },
    /// From the particle to the joint's origin.
    Line {
        /// Insets times scale at the particle and at the origin, metres, ≥ 0.
        inset: [f32; 2],
        /// Radius at the particle and at the origin, metres.
        radius: [f32; 2],
    },
}

/// A static collider, scaled to metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StaticPlan {
    /// The joint it moves with; `None` for a plane.
    pub joint: Option<usize>,
    /// The joint above that one, where a static line ends.
    pub parent: Option<usize>,
    /// Shape in the joint's model frame, metres.
    pub shape: PlacedShape,
    /// Radius of the largest ball that meets it, metres.
    pub widest: f32,
}

impl Plan {
    /// Compiles `rig`.
    ///
    /// What makes a joint passive (no tip, a bone of no length) is settled here, silently; the rig's check names them.
    ///
    /// # Panics
    /// If an index of the rig points outside it: rigs are checked when they are read.
    pub fn compile(rig: &Rig) -> Self {
        let tree = SwingTree::new(rig);
        let moving: Vec<(usize, usize, Bone)> = by_depth(rig, &tree)
            .into_iter()
            .filter(|&(_, source)| rig.swing[source].active)
            .filter_map(|(depth, source)| {
                let bone = tree.bone(&rig.swing[source]).ok()?;
                Some((depth, source, bone))
            })
            .collect();
        let mut place_of_swing = vec![None; rig.swing.len()];
        for (place, &(_, source, _)) in moving.iter().enumerate() {
            place_of_swing[source] = Some(place);
        }
        let statics = rig.colliders.iter().map(|c| place_static(rig, &tree, c));
        // A rig whose drivers go round in circles is refused by its check.
        let order = driver::run_order(rig).unwrap_or((0..rig.drivers.len()).collect());
        let mut plan = Self {
            parents: rig.joints.iter().map(|joint| joint.parent).collect(),
            rest: rig.joints.iter().map(|joint| joint.rest).collect(),
            needed: Vec::new(),
            is_needed: vec![false; rig.joints.len()],
            is_model_read: vec![false; rig.joints.len()],
            metres_per_unit: rig.metres_per_unit,
            root_correction: rig.root_correction,
            swings: Vec::with_capacity(moving.len()),
            rest_locals: Vec::with_capacity(moving.len()),
            constants: Vec::new(),
            depths: ranges_of_equal(moving.iter().map(|&(depth, ..)| depth)),
            steps: Vec::new(),
            place_of_swing,
            between: Vec::new(),
            statics: statics.collect(),
            meets: Vec::new(),
            layers: Vec::new(),
            layers_of_depth: Vec::new(),
            drivers: order
                .iter()
                .map(|&index| rig.drivers[index].clone())
                .collect(),
            legs: rig
                .legs()
                .map(|leg| LegPlan::new(rig, &tree.model, leg))
                .collect(),
            leg_of_driver: order.iter().map(|&index| leg_of(rig, index)).collect(),
            channels: ChannelLayout::new(&rig.channels),
        };
        for &(_, source, bone) in &moving {
            let swing = plan.swing(rig, &tree, source, bone);
            plan.rest_locals.push(plan.rest_local(&tree, swing.joint));
            plan.swings.push(swing);
        }
        plan.join_chains(rig, &tree);
        plan.mark();
        plan.constants = constant::of_plan(&plan);
        plan.steps = step::steps_of(&plan, &plan.layered_depths());
        plan
    }

    /// How many particles an actor has.
    pub fn particles(&self) -> usize {
        self.swings.len()
    }

    /// Whether the state of an actor of `other` can be carried over: the same joints move.
    pub fn same_shape(&self, other: &Self) -> bool {
        let joint = |swing: &SwingPlan| (swing.joint, swing.slide.is_some());
        let joints = |plan: &Self| plan.swings.iter().map(joint).collect::<Vec<_>>();
        self.rest.len() == other.rest.len()
            && self.statics.len() == other.statics.len()
            && self.links() == other.links()
            && joints(self) == joints(other)
    }

    fn swing(&mut self, rig: &Rig, tree: &SwingTree, source: usize, bone: Bone) -> SwingPlan {
        let swing = &rig.swing[source];
        let joint = swing.joint;
        let sign = self.parent_sign(tree, joint);
        let (hold, between) = self.hold(tree, joint);
        let scale = tree.model[joint].scale;
        let collider = swing.collider.and_then(|c| dynamic(&c, scale));
        let meets = self.list_of_statics(rig, swing, collider.is_some());
        // `[S4]`: p is 0 for tiny pendulums and ranges.
        let has_pendulum = swing.pendulum > 1e-5 && swing.pendulum_range > 1e-5;
        SwingPlan {
            joint,
            source,
            hold,
            between,
            tip: bone.tip,
            is_on_tip: false,
            tip_swing: bone.tip.and_then(|tip| self.moving_swing(tree, tip)),
            axis: bone.axis.to_array(),
            length: bone.length,
            slide: SlidePlan::new(rig, tree, swing).map(Box::new),
            sign,
            inertia: (1.0 - swing.damping) * (1.0 - swing.damping),
            stiffness: swing.stiffness,
            spring: swing.spring,
            weight: swing.mass * 0.01,
            pendulum: if has_pendulum { swing.pendulum } else { 0.0 },
            pendulum_range: if has_pendulum {
                swing.pendulum_range
            } else {
                1.0
            },
            global_force: f32::from(u8::from(swing.use_wind_global_force)),
            wind: if swing.use_wind_global_force {
                swing.wind
            } else {
                0.0
            },
            root_horizontal_weight: swing.root_horizontal_weight,
            root_vertical_weight: swing.root_vertical_weight,
            limit: self.limit(rig, tree, swing, sign),
            is_reference: false,
            collider,
            meets,
            bake_weight: swing.bake_weight,
            volume: scale.x * scale.y * scale.z,
        }
    }

    /// The rest transform of `joint` against its parent, scaled and rigid.
    fn rest_local(&self, tree: &SwingTree, joint: usize) -> Rigid<f32> {
        let root = ModelTransform::root(self.metres_per_unit);
        let parent = self.parents[joint].map_or(root, |parent| tree.model[parent]);
        parent.scaled(&self.rest[joint])
    }

    fn limit(
        &self,
        rig: &Rig,
        tree: &SwingTree,
        swing: &SwingJoint,
        sign: [f32; 3],
    ) -> Option<LimitPlan> {
        let limit = swing.limit.filter(|_| swing.motion == Motion::Swing)?;
        let signs = limit::angle_signs(sign);
        let reference = swing.reference_limit.and_then(|reference| {
            let place = self.moving_swing(tree, reference.joint)?;
            // A slide joint does not turn: it leaves the limit where it is.
            tree.swing_of_joint[reference.joint]
                .filter(|&source| rig.swing[source].motion == Motion::Swing)?;
            let theirs = limit::angle_signs(self.parent_sign(tree, reference.joint));
            let weight = core::array::from_fn(|axis| reference.weight * signs[axis] * theirs[axis]);
            Some((place, weight))
        });
        Some(LimitPlan::new(&limit, reference, signs))
    }

    /// ±1 per axis: which axes the parent of `joint` mirrors.
    fn parent_sign(&self, tree: &SwingTree, joint: usize) -> [f32; 3] {
        self.parents[joint].map_or([1.0; 3], |p| tree.model[p].sign().lane(0))
    }

    /// Place of the moving swing joint on `joint`.
    fn moving_swing(&self, tree: &SwingTree, joint: usize) -> Option<usize> {
        tree.swing_of_joint[joint].and_then(|source| self.place_of_swing[source])
    }

    /// The nearest moving swing joint above `joint`, and the joints between the two, outermost first.
    fn hold(&mut self, tree: &SwingTree, joint: usize) -> (Hold, Range<usize>) {
        let start = self.between.len();
        let mut above = self.parents[joint];
        // Without swing joints above there is nothing to look for, however deep the tree.
        while let Some(parent) = above.filter(|_| tree.depth[joint] > 0) {
            if let Some(place) = self.moving_swing(tree, parent) {
                self.between[start..].reverse();
                return (Hold::Swing(place), start..self.between.len());
            }
            self.between.push(parent);
            above = self.parents[parent];
        }
        self.between.truncate(start);
        (Hold::Animated, start..start)
    }

    /// The static colliders that share a bit with the joint's own, in the rig's order. `[X3]`
    fn list_of_statics(&mut self, rig: &Rig, swing: &SwingJoint, collides: bool) -> Range<usize> {
        match swing.collider.filter(|_| collides) {
            Some(own) => self.list_met(rig, own.mask),
            None => self.meets.len()..self.meets.len(),
        }
    }

    /// Appends the static colliders that share a bit with `mask` to [`Plan::meets`], in the rig's order.
    pub(crate) fn list_met(&mut self, rig: &Rig, mask: Mask) -> Range<usize> {
        let start = self.meets.len();
        let met = rig.colliders.iter().enumerate();
        let met = met.filter(|(_, other)| mask.meets(other.collider.mask));
        self.meets.extend(met.map(|(index, _)| index));
        start..self.meets.len()
    }

    /// Compiles the chain layers; a layer belongs to the depth of its first member. `[5.1]`
    fn join_chains(&mut self, rig: &Rig, tree: &SwingTree) {
        self.layers_of_depth = vec![Vec::new(); self.depths.len()];
        let mut first_link = 0;
        for layer in rig.layers.iter().enumerate() {
            let Some(layer) = LayerPlan::new(layer, rig, tree, self, first_link) else {
                continue;
            };
            first_link += layer.links;
            let first = layer.members[0];
            if let Some(depth) = self
                .depths
                .iter()
                .position(|places| places.contains(&first))
            {
                self.layers_of_depth[depth].push(self.layers.len());
            }
            self.layers.push(layer);
        }
    }

    /// Of each depth, whether chain layers join it.
    pub(crate) fn layered_depths(&self) -> Vec<bool> {
        let layers = self.layers_of_depth.iter();
        layers.map(|layers| !layers.is_empty()).collect()
    }

    /// How many links all layers have together.
    pub fn links(&self) -> usize {
        self.layers.iter().map(|layer| layer.links).sum()
    }
}

/// `(depth, index in the rig)` of every swing joint, by depth, inside a depth in the rig's order.
fn by_depth(rig: &Rig, tree: &SwingTree) -> Vec<(usize, usize)> {
    let depth = |(index, swing): (usize, &SwingJoint)| (tree.depth[swing.joint], index);
    let mut order: Vec<_> = rig.swing.iter().enumerate().map(depth).collect();
    order.sort_unstable();
    order
}

/// Which of the rig's legs driver `index` is.
fn leg_of(rig: &Rig, index: usize) -> Option<usize> {
    let is_leg = |driver: &Driver| matches!(driver, Driver::Leg(_));
    let before = rig.drivers[..index].iter().filter(|driver| is_leg(driver));
    is_leg(&rig.drivers[index]).then(|| before.count())
}

fn ranges_of_equal(values: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut ranges: Vec<Range<usize>> = Vec::new();
    let mut last = None;
    for (place, value) in values.enumerate() {
        match ranges.last_mut() {
            Some(range) if last == Some(value) => range.end = place + 1,
            _ => ranges.push(place..place + 1),
        }
        last = Some(value);
    }
    ranges
}

/// A dynamic collider is a sphere or a line; anything else never hits. `[X3]`
fn dynamic(collider: &Collider, scale: Vec3) -> Option<DynamicPlan> {
    match PlacedShape::new(&collider.shape, scale) {
        PlacedShape::Sphere { offset, radius } => Some(DynamicPlan::Sphere { offset, radius }),
        PlacedShape::Line { inset, radius } => Some(DynamicPlan::Line { inset, radius }),
        PlacedShape::Capsule { .. } | PlacedShape::Plane { .. } => None,
    }
}

fn place_static(rig: &Rig, tree: &SwingTree, collider: &StaticCollider) -> StaticPlan {
    let on = |joint: usize| tree.model[joint].scale;
    let scale = collider.joint.map_or(Vec3::ONE, on);
    StaticPlan {
        joint: collider.joint,
        parent: collider.joint.and_then(|joint| rig.joints[joint].parent),
        shape: PlacedShape::new(&collider.collider.shape, scale),
        widest: 0.0,
    }
}
