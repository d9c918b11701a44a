//! Rigs out of random numbers: joints in trees and round a waist, what joins them, and what they bump into.

use bevy_math::{Quat, Vec3};
use flounce::bone::SwingTree;
use flounce::chain::ChainLayer;
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::driver::{BlendConstraint, BlendField, BlendSource, Driver, SkirtDriver};
use flounce::euler::EulerProduct;
use flounce::pose::JointTransform;
use flounce::rig::{Joint, Rig};
use flounce::swing::{Limit, Motion, ReferenceLimit, SwingJoint, Tip};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use crate::random::{direction, number, share, transform, vector};

fn mask() -> impl Strategy<Value = Mask> + Clone {
    select(vec![Mask::ALL, Mask::ALL, Mask(1), Mask(6)])
}
/// Degrees or millimetres: sometimes one-sided, sometimes wide, sometimes locked.
fn limit() -> impl Strategy<Value = Limit> + Clone {
    let end = || prop_oneof![Just(0.0_f32), 0.0_f32..40.0, 40.0_f32..180.0];
    let ends = || [end(), end(), end()].prop_map(Vec3::from);
    (ends(), ends()).prop_map(|(low, high)| Limit { low: -low, high })
}

// --- Colliders -----------------------------------------------------------------------------------------------------

pub fn shape(reach: f32) -> impl Strategy<Value = Shape> + Clone {
    let radius = move || 0.0_f32..reach;
    let sphere =
        (vector(reach), radius()).prop_map(|(offset, radius)| Shape::Sphere { offset, radius });
    let capsule = (vector(reach), vector(reach), radius(), radius()).prop_map(
        |(offset_a, offset_b, radius_a, radius_b)| Shape::Capsule {
            offset_a,
            offset_b,
            radius_a,
            radius_b,
        },
    );
    let line = (radius(), radius(), radius(), radius(), share()).prop_map(
        |(inset_a, inset_b, radius_a, radius_b, scale)| Shape::Line {
            inset_a,
            inset_b,
            radius_a,
            radius_b,
            scale,
        },
    );
    prop_oneof![sphere, capsule, line]
}

fn dynamic() -> impl Strategy<Value = Collider> + Clone {
    let centred = (0.0_f32..0.1).prop_map(|radius| Shape::Sphere {
        offset: Vec3::ZERO,
        radius,
    });
    (prop_oneof![centred, shape(0.1)], mask()).prop_map(|(shape, mask)| Collider { shape, mask })
}

/// Joint by a number to be wrapped, or a plane.
fn obstacle() -> impl Strategy<Value = (usize, Collider)> + Clone {
    let plane =
        (direction(), -0.4_f32..0.1).prop_map(|(normal, offset)| Shape::Plane { normal, offset });
    let shape = prop_oneof![5 => shape(0.2), 1 => plane];
    (any::<u16>(), shape, mask())
        .prop_map(|(j, shape, mask)| (usize::from(j), Collider { shape, mask }))
}

// --- Joints --------------------------------------------------------------------------------------------------------

/// A swing joint whose indices (joint, tip, reference) are still to be set.
fn swing() -> impl Strategy<Value = SwingJoint> + Clone {
    let tail = (direction(), 0.02_f32..0.3).prop_map(|(axis, length)| Tip::Tail { axis, length });
    let tip = prop_oneof![3 => Just(Tip::FirstChild), 1 => tail, 1 => Just(Tip::Joint(0))];
    let forces = (share(), 0.0_f32..2.0, share(), 0.0_f32..2.0);
    let pendulum = (share(), share(), any::<bool>());
    let reference = option::of((any::<u16>(), number()));
    let bounds = (
        option::of(limit()),
        reference,
        option::weighted(0.8, dynamic()),
    );
    let bake = prop_oneof![3 => Just(0.0_f32), 1 => share()];
    let rest = (number(), number(), share(), bake);
    let dice = (0..12_u8, 0..4_u8);
    (
        tip,
        forces,
        pendulum,
        (share(), share()),
        bounds,
        rest,
        dice,
    )
        .prop_map(
            |(tip, forces, pendulum, root, (limit, reference, collider), rest, dice)| SwingJoint {
                motion: if dice.1 > 0 {
                    Motion::Swing
                } else {
                    Motion::Slide
                },
                tip,
                active: dice.0 > 0,
                damping: forces.0,
                // A slide joint's stiffness is a share of its way per substep and wants to be larger.
                stiffness: if dice.1 > 0 {
                    forces.1
                } else {
                    forces.1 * 25.0
                },
                spring: forces.2,
                mass: forces.3,
                pendulum: pendulum.0,
                pendulum_range: pendulum.1,
                use_wind_global_force: pendulum.2,
                wind: rest.2,
                axis_add_x_to_y: rest.0,
                axis_add_x_to_z: rest.1,
                root_horizontal_weight: root.0,
                root_vertical_weight: root.1,
                limit,
                reference_limit: reference.map(|(joint, weight)| ReferenceLimit {
                    joint: usize::from(joint),
                    weight,
                }),
                collider,
                bake_weight: rest.3,
                ..SwingJoint::new(0)
            },
        )
}

/// How far back its parent is, its rest transform, how it swings.
type RandomJoint = (u16, JointTransform, Option<SwingJoint>);

fn random_joint() -> impl Strategy<Value = RandomJoint> + Clone {
    // Long chains more often than bushes: every second joint hangs on the one before it.
    let parent = prop_oneof![Just(0_u16), any::<u16>()];
    (parent, transform(0.3), option::weighted(0.7, swing()))
}

/// Strands round a joint, as a skirt has them: the joint by a number to be wrapped, how many strands, of how many
/// joints, what they are like, and how far each joint is out of its place.
type Strands = (u16, usize, usize, SwingJoint, Vec<Vec3>);

fn strands() -> impl Strategy<Value = Strands> + Clone {
    let untidy = vec(vector(0.02), 8);
    (any::<u16>(), 3..6_usize, 1..3_usize, swing(), untidy)
}

/// Appends `strands`, each with one joint more than swings.
fn hang(strands: Strands, joints: &mut Vec<Joint>, swings: &mut Vec<SwingJoint>) {
    let (at, count, rows, swing, untidy) = strands;
    let waist = usize::from(at) % joints.len();
    for strand in 0..count {
        let angle = core::f32::consts::TAU * strand as f32 / count as f32;
        let out = Vec3::new(bevy_math::ops::cos(angle), 0.0, bevy_math::ops::sin(angle));
        let mut parent = waist;
        for row in 0..=rows {
            let index = joints.len();
            let step = if row == 0 {
                out * 0.1
            } else {
                out * 0.02 - Vec3::Y * 0.12
            };
            let step = step + untidy[(strand + row) % untidy.len()];
            joints.push(Joint {
                name: String::new(),
                source: 0,
                parent: Some(parent),
                rest: JointTransform::rigid(step, Quat::IDENTITY),
            });
            if row < rows {
                swings.push(SwingJoint {
                    joint: index,
                    motion: Motion::Swing,
                    tip: Tip::FirstChild,
                    ..swing
                });
            }
            parent = index;
        }
    }
}

// --- What joins joints ---------------------------------------------------------------------------------------------

/// Which of the depths with two bones or more, and the layer without its joints.
type RandomLayer = (u16, ChainLayer);

fn layer() -> impl Strategy<Value = RandomLayer> + Clone {
    let how = (any::<bool>(), 0.0_f32..0.05, share(), mask(), 0..8_u8);
    (any::<u16>(), how).prop_map(|(depth, (around, radius, smoothing, mask, dice))| {
        let layer = ChainLayer {
            joints: Vec::new(),
            active: dice > 0,
            around,
            radius,
            smoothing,
            mask,
        };
        (depth, layer)
    })
}

/// The layers whose depth has bones to join: the tips of all bones of one depth.
fn join(layers: Vec<RandomLayer>, rig: &Rig) -> Vec<ChainLayer> {
    let tree = SwingTree::new(rig);
    let deepest = tree.depth.iter().max().copied().unwrap_or(0);
    let tips_at = |depth: usize| -> Vec<usize> {
        let swings = rig.swing.iter().filter(|s| tree.depth[s.joint] == depth);
        let mut tips: Vec<usize> = swings.filter_map(|s| tree.bone(s).ok()?.tip).collect();
        let mut seen = vec![false; rig.joints.len()];
        tips.retain(|&tip| !core::mem::replace(&mut seen[tip], true));
        tips
    };
    let rings: Vec<Vec<usize>> = (0..=deepest).map(tips_at).filter(|t| t.len() > 1).collect();
    let layers = layers.into_iter().filter(|_| !rings.is_empty());
    let joined = layers.map(|(depth, layer)| ChainLayer {
        joints: rings[usize::from(depth) % rings.len()].clone(),
        ..layer
    });
    joined.collect()
}

/// A driver whose joints are numbers to be wrapped.
fn driver() -> impl Strategy<Value = Driver> + Clone {
    let joint = || any::<u16>().prop_map(usize::from);
    let angles = || vector(90.0).prop_map(Vec3::abs);
    let skirt = (
        (joint(), joint()),
        any::<bool>(),
        (vector(1.5), vector(1.5)),
        (angles(), angles()),
        0..3_u32,
    )
        .prop_map(
            |((joint, reference), xyz, (inner, outer), (min, max), lag)| {
                Driver::Skirt(SkirtDriver {
                    joint,
                    reference,
                    product: if xyz {
                        EulerProduct::Xyz
                    } else {
                        EulerProduct::Zyx
                    },
                    inner,
                    outer,
                    min_deg: -min,
                    max_deg: max,
                    // Every third frame count would be late: most skirts are not.
                    lag: lag / 2,
                })
            },
        );
    let weight = || [share(), share(), share()].prop_map(Vec3::from);
    let source = (joint(), weight()).prop_map(|(joint, weight)| BlendSource { joint, weight });
    let field =
        (transform(0.1), weight()).prop_map(|(transform, weight)| BlendField { transform, weight });
    let blend = (
        joint(),
        vec(source, 0..4),
        option::of(field),
        transform(0.1),
    )
        .prop_map(|(joint, sources, field, offset)| {
            Driver::Blend(BlendConstraint {
                joint,
                sources,
                field,
                offset,
            })
        });
    prop_oneof![2 => skirt, 1 => blend]
}

/// Sets the joints of a driver: sources come before what they drive, so that no circle can close. The root is not
/// driven.
fn tie(mut driver: Driver, joints: usize) -> Driver {
    let driven = |joint: usize| 1 + joint % (joints - 1);
    match &mut driver {
        Driver::Skirt(skirt) => {
            skirt.joint = driven(skirt.joint);
            skirt.reference %= skirt.joint;
        }
        Driver::Blend(blend) => {
            blend.joint = driven(blend.joint);
            for source in &mut blend.sources {
                source.joint %= blend.joint;
            }
        }
        // Legs are no part of these rigs.
        Driver::Leg(_) => {}
    }
    driver
}

// --- Rigs ----------------------------------------------------------------------------------------------------------

/// What a rig is made of.
type Parts = (
    (Vec<RandomJoint>, Option<Strands>),
    Vec<(usize, Collider)>,
    Vec<RandomLayer>,
    Vec<Driver>,
    Option<u16>,
);

pub fn rig() -> impl Strategy<Value = Rig> + Clone {
    let joints = (vec(random_joint(), 2..12), option::weighted(0.4, strands()));
    let drivers = prop_oneof![vec(driver(), 0..1), vec(driver(), 1..4)];
    let root = option::of(any::<u16>());
    (
        joints,
        vec(obstacle(), 0..6),
        vec(layer(), 0..3),
        drivers,
        root,
    )
        .prop_map(assemble)
}

fn assemble(((joints, strands), obstacles, layers, drivers, root): Parts) -> Rig {
    let count = joints.len();
    let parent = |i: usize, back: u16| i.checked_sub(1 + usize::from(back) % i.max(1));
    let parents: Vec<Option<usize>> = joints
        .iter()
        .enumerate()
        .map(|(i, joint)| parent(i, joint.0))
        .collect();
    let named = joints.iter().zip(&parents).map(|(joint, &parent)| Joint {
        name: String::new(),
        source: 0,
        parent,
        rest: joint.1,
    });
    let mut all: Vec<Joint> = named.collect();
    let mut swings = Vec::new();
    let swinging: Vec<usize> = (0..count).filter(|&i| joints[i].2.is_some()).collect();
    let child_of = |joint: usize| (joint + 1..count).find(|&i| parents[i] == Some(joint));
    for &i in &swinging {
        let mut swing = joints[i].2.unwrap();
        swing.joint = i;
        if let Tip::Joint(_) = swing.tip {
            let grandchild = child_of(i).and_then(child_of);
            swing.tip = grandchild.map_or(Tip::FirstChild, Tip::Joint);
        }
        swings.push(swing);
    }
    if let Some(strands) = strands {
        hang(strands, &mut all, &mut swings);
    }
    let targets: Vec<usize> = swings.iter().map(|swing| swing.joint).collect();
    for swing in &mut swings {
        if let Some(reference) = &mut swing.reference_limit {
            reference.joint = targets[reference.joint % targets.len()];
        }
        let own = swing.joint;
        swing.reference_limit = swing.reference_limit.filter(|r| r.joint != own);
    }
    let count = all.len();
    let mut rig = Rig::new(all);
    rig.swing = swings;
    rig.root_correction = root.map(|joint| usize::from(joint) % count);
    rig.colliders = obstacles
        .into_iter()
        .map(|(joint, collider)| StaticCollider {
            joint: match collider.shape {
                Shape::Plane { .. } => None,
                _ => Some(joint % count),
            },
            collider,
        })
        .collect();
    rig.layers = join(layers, &rig);
    rig.drivers = drivers.into_iter().map(|d| tie(d, count)).collect();
    rig
}
