//! A character of workload S as a loaded VRM would be: entities, and the components of `bevy_vrm1`.
//!
//! The numbers are those of `benches/support/workload.rs`.

use std::f32::consts::TAU;

use bevy::ecs::reflect::ReflectComponent;
use bevy::prelude::*;
use bevy::reflect::TypeRegistry;
use bevy::reflect::structs::DynamicStruct;
use bevy_vrm1::prelude::*;
use bevy_vrm1::vrm::spring_bone::{SpringCenterNode, SpringColliders};

/// Chains round the hips.
pub const CHAINS: usize = 24;
const LINKS: usize = 6;
/// Joints of a character.
pub const JOINTS: usize = CHAINS * LINKS;
const PERIOD: usize = 128;
const PHASE: usize = 17;

/// The hips of a character.
#[derive(Component)]
pub struct Hips(pub usize);

/// The end of a chain of a character.
#[derive(Component)]
pub struct Tip(pub usize);

/// The step that the hips are in.
#[derive(Resource)]
pub struct Step(pub usize);

/// Moves the hips.
pub fn drive(step: Res<Step>, mut hips: Query<(&Hips, &mut Transform)>) {
    for (hips, mut transform) in &mut hips {
        let u = ((step.0 + hips.0 * PHASE) % PERIOD) as f32 / PERIOD as f32 * TAU;
        transform.translation = Vec3::new(0.1 * (2.0 * u).sin(), 1.0 + 0.03 * (4.0 * u).sin(), 0.0);
        transform.rotation = Quat::from_rotation_y(0.5 * u.sin());
    }
}

fn on_circle(index: usize, count: usize) -> (f32, f32) {
    let (sin, cos) = (index as f32 / count as f32 * TAU).sin_cos();
    (cos, sin)
}

/// Spawns a character at rest; it is ahead of the one before it by [`PHASE`] steps.
pub fn spawn(world: &mut World, registry: &TypeRegistry, index: usize, colliders: usize) {
    let root = world.spawn(Transform::IDENTITY).id();
    let at = Transform::from_xyz(0.0, 1.0, 0.0);
    let hips = world.spawn((at, Hips(index), ChildOf(root))).id();
    let collider = |i| {
        let (x, z) = on_circle(i, colliders);
        // A capsule would be ignored.
        let shape = ColliderShape::Sphere(bevy_vrm1::prelude::Sphere {
            offset: [0.06 * x, -0.25, 0.06 * z],
            radius: 0.05,
        });
        let node = world.spawn((Transform::IDENTITY, ChildOf(hips)));
        (node.id(), shape)
    };
    let colliders = SpringColliders((0..colliders).map(collider).collect());
    for chain in 0..CHAINS {
        spawn_chain(world, registry, hips, chain, colliders.clone(), index);
    }
}

fn spawn_chain(
    world: &mut World,
    registry: &TypeRegistry,
    hips: Entity,
    chain: usize,
    colliders: SpringColliders,
    character: usize,
) {
    let (x, z) = on_circle(chain, CHAINS);
    let first = Vec3::new(0.13 * x, 0.0, 0.13 * z);
    let step = Vec3::new(0.01 * x, -0.07, 0.01 * z);
    let props = SpringJointProps {
        drag_force: 0.4,
        gravity_dir: Vec3::NEG_Y,
        gravity_power: 0.3,
        hit_radius: 0.02,
        stiffness: 0.6,
    };
    let mut nodes: Vec<Entity> = Vec::new();
    for link in 0..=LINKS {
        let rest = Transform::from_translation(if link == 0 { first } else { step });
        let parent = nodes.last().copied().unwrap_or(hips);
        let node = world.spawn((rest, ChildOf(parent))).id();
        if link < LINKS {
            world.entity_mut(node).insert(props);
            insert_state(world, registry, node, step, rest);
        } else {
            world.entity_mut(node).insert(Tip(character));
        }
        nodes.push(node);
    }
    world.entity_mut(nodes[0]).insert(SpringRoot {
        joints: SpringJoints(nodes),
        colliders,
        center_node: SpringCenterNode(None),
    });
}

/// Gives a joint the state that the loader of `bevy_vrm1` would: the type is private, its registration is not.
fn insert_state(
    world: &mut World,
    registry: &TypeRegistry,
    joint: Entity,
    step: Vec3,
    rest: Transform,
) {
    let path = "bevy_vrm1::vrm::spring_bone::SpringJointState";
    let state = registry
        .get_with_type_path(path)
        .expect("a registered state");
    let mut values = DynamicStruct::default();
    values.set_represented_type(Some(state.type_info()));
    values.insert("prev_tail", Vec3::ZERO);
    values.insert("current_tail", Vec3::ZERO);
    values.insert("bone_axis", step.normalize());
    values.insert("bone_length", step.length());
    values.insert("initial_local_matrix", rest.to_matrix());
    values.insert("initial_local_rotation", rest.rotation);
    let component = state.data::<ReflectComponent>().expect("a component");
    component.insert(&mut world.entity_mut(joint), &values, registry);
}
