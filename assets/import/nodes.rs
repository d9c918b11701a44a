//! Nodes become joints: parents first, each with its rest transform. *glTF 2.0 §3.5*
//!
//! The order of joints is the order of nodes as far as parents-first allows: of all nodes whose parent has its place,
//! the one with the lowest index comes next. Nothing here recurses; a chain may be as deep as the file is long.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bevy_math::{Quat, Vec3};

use super::Warnings;
use super::document::{Document, Node};
use super::matrix::{decompose, is_affine};
use crate::assets::json::{Fault, named};
use crate::pose::JointTransform;
use crate::rig::Joint;
use crate::rotation::{self, Rotation};

/// How far the square of a quaternion's length may be from 1 before it is put right: 1e-3 in length. Closer ones keep
/// the file's bits; unit quaternions stored in 16 bits are within 1e-4.
const UNIT_SQUARED: f32 = 2e-3;
/// Nodes of a cycle that a message lists.
const MAX_LISTED: usize = 8;

/// The joints of a file and where each node went.
pub(super) struct Joints {
    /// Parents first.
    pub(super) joints: Vec<Joint>,
    /// The joint of each node.
    pub(super) of_node: Vec<usize>,
}

/// All nodes as joints.
pub(super) fn read(document: &Document, warnings: &mut Warnings) -> Result<Joints, Fault> {
    let parents = parents(document)?;
    let order = parents_first(document, &parents)?;
    let mut of_node = vec![0; order.len()];
    let mut joints = Vec::with_capacity(order.len());
    for (joint, &node) in order.iter().enumerate() {
        of_node[node] = joint;
        joints.push(Joint {
            name: document.nodes[node].name.to_string(),
            source: node,
            parent: parents[node].map(|parent| of_node[parent]),
            rest: rest(&document.nodes[node], node, warnings)?,
        });
    }
    Ok(Joints { joints, of_node })
}

/// The parent of each node; every node has at most one and is listed once.
fn parents(document: &Document) -> Result<Vec<Option<usize>>, Fault> {
    let count = document.nodes.len();
    let mut parents = vec![None; count];
    for (parent, node) in document.nodes.iter().enumerate() {
        for (i, child) in node.children.iter().enumerate() {
            let child = child.get();
            let refuse = |found: String, expected: String| {
                Fault::new(format!("/nodes/{parent}/children/{i}"), found, expected)
            };
            match parents.get(child) {
                None => {
                    let expected = format!("a node index below {count}");
                    return Err(refuse(format!("node {child}"), expected));
                }
                Some(Some(other)) if *other == parent => {
                    let found = format!("node {child} a second time in node {parent}");
                    return Err(refuse(found, "each child once".to_owned()));
                }
                Some(Some(other)) => {
                    let found =
                        format!("node {child}, a child of node {other} and of node {parent}");
                    return Err(refuse(found, "one parent per node".to_owned()));
                }
                Some(None) => parents[child] = Some(parent),
            }
        }
    }
    Ok(parents)
}

/// Node indices, parents first, lowest index first.
fn parents_first(document: &Document, parents: &[Option<usize>]) -> Result<Vec<usize>, Fault> {
    let roots = (0..parents.len()).filter(|&node| parents[node].is_none());
    let mut ready: BinaryHeap<Reverse<usize>> = roots.map(Reverse).collect();
    let mut order = Vec::with_capacity(parents.len());
    let mut placed = vec![false; parents.len()];
    while let Some(Reverse(node)) = ready.pop() {
        placed[node] = true;
        order.push(node);
        let children = document.nodes[node].children.iter();
        ready.extend(children.map(|child| Reverse(child.get())));
    }
    match placed.iter().position(|placed| !placed) {
        None => Ok(order),
        Some(lost) => Err(cycle(parents, lost)),
    }
}

/// Names the cycle that `lost`, a node that no root leads to, is in or below.
fn cycle(parents: &[Option<usize>], lost: usize) -> Fault {
    let mut seen = vec![false; parents.len()];
    let mut node = lost;
    while !std::mem::replace(&mut seen[node], true) {
        node = parents[node].unwrap_or(node);
    }
    let start = node;
    let mut listed = vec![start];
    let mut length = 1;
    while let Some(parent) = parents[node].filter(|&parent| parent != start) {
        if length < MAX_LISTED {
            listed.push(parent);
        }
        length += 1;
        node = parent;
    }
    let list: Vec<String> = listed.iter().map(usize::to_string).collect();
    let more = if length > listed.len() {
        " below …"
    } else {
        ""
    };
    Fault::new(
        format!("/nodes/{start}/children"),
        format!(
            "a cycle of {length} nodes: {}{more} below {start}",
            list.join(" below ")
        ),
        "a tree",
    )
}

/// The rest transform of a node: its TRS, or its matrix taken apart.
fn rest(node: &Node, index: usize, warnings: &mut Warnings) -> Result<JointTransform, Fault> {
    let place = |member: &str| format!("/nodes/{index}/{member}");
    if let Some(matrix) = &node.matrix {
        let matrix = &matrix.0;
        if node.translation.is_some() || node.rotation.is_some() || node.scale.is_some() {
            let found = "a matrix beside translation, rotation or scale";
            return Err(Fault::new(place("matrix"), found, "one or the other"));
        }
        if !is_affine(matrix) {
            let row = [matrix[3], matrix[7], matrix[11], matrix[15]];
            let found = format!("the last row {row:?}");
            return Err(Fault::new(place("matrix"), found, "[0, 0, 0, 1]"));
        }
        let decomposed = decompose(matrix);
        if decomposed.sheared {
            warnings.add(|| {
                let node = named("node", index, &node.name);
                format!("{node}: its matrix shears; the nearest transform without shear stands in")
            });
        }
        if !decomposed.transform.is_finite() {
            return Err(Fault::new(
                place("matrix"),
                "numbers too large to take apart",
                "a transform",
            ));
        }
        return Ok(decomposed.transform);
    }
    let rotation = node
        .rotation
        .map_or([0.0, 0.0, 0.0, 1.0], |rotation| rotation.0);
    let checked = check_rotation(rotation).ok_or_else(|| {
        Fault::new(
            place("rotation"),
            format!("{rotation:?}"),
            "a unit quaternion",
        )
    })?;
    if checked != rotation {
        warnings.add(|| {
            let node = named("node", index, &node.name);
            format!("{node}: its rotation {rotation:?} is not of length 1 and was normalised")
        });
    }
    Ok(JointTransform {
        translation: node
            .translation
            .map_or(Vec3::ZERO, |t| Vec3::from_array(t.0)),
        rotation: Quat::from_array(checked),
        scale: node.scale.map_or(Vec3::ONE, |s| Vec3::from_array(s.0)),
    })
}

/// `rotation` as it is when its length is 1 to about 1e-3, else normalised; `None` if it has no direction.
pub(super) fn check_rotation(rotation: [f32; 4]) -> Option<[f32; 4]> {
    let [x, y, z, w] = rotation;
    let squared = x * x + y * y + z * z + w * w;
    if (squared - 1.0).abs() <= UNIT_SQUARED {
        return Some(rotation);
    }
    let unit = rotation::unit(Rotation::splat(rotation), "rotation").ok()?;
    Some(unit.lane(0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fixture::{Fixture, each_is_refused};
    use super::super::model;

    #[test]
    fn gltf_01_what_is_not_a_tree_is_refused_by_node_index() {
        let children = "/nodes/0/children";
        each_is_refused(&[
            (
                children,
                json!([0]),
                &["/nodes/0/children", "a cycle of 1 nodes: 0 below 0"],
            ),
            (
                children,
                json!([1, 1]),
                &["/nodes/0/children/1", "node 1 a second time in node 0"],
            ),
            (
                children,
                json!([2]),
                &["/nodes/0/children/0", "node 2", "below 2"],
            ),
            (
                "/nodes/1/children",
                json!([0]),
                &["a cycle of 2 nodes: 0 below 1 below 0"],
            ),
            (
                "/nodes/1/children",
                json!([1]),
                &["child of node 0 and of node 1"],
            ),
            (
                children,
                json!(-1),
                &["/nodes/0/children", "expected a sequence"],
            ),
        ]);
    }

    #[test]
    fn joints_keep_node_order_as_far_as_parents_first_allows() {
        let mut fixture = Fixture::new();
        let nodes = json!([{ "children": [4] }, {}, { "children": [0] }, {}, { "children": [1] }]);
        fixture.set("/nodes", nodes).set("/skins", json!([]));
        fixture
            .set("/scenes", json!([{ "nodes": [2, 3] }]))
            .set("/animations", json!([]));
        let model = fixture.model();
        let sources: Vec<usize> = model.rig.joints.iter().map(|joint| joint.source).collect();
        assert_eq!(sources, [2, 0, 3, 4, 1]);
        let parents: Vec<_> = model.rig.joints.iter().map(|joint| joint.parent).collect();
        assert_eq!(parents, [None, Some(0), None, Some(1), Some(3)]);
        assert_eq!(model.joint_of_node, [1, 4, 0, 2, 3].map(Some));
        assert_eq!(model.scenes, [[0, 2]]);
    }

    #[test]
    fn gltf_01_a_chain_of_200_000_nodes_loads() {
        let nodes: Vec<String> = (1..200_000)
            .map(|child| format!("{{\"children\":[{child}]}}"))
            .collect();
        let mut container = Fixture::new().container();
        container.json = format!("{{\"nodes\":[{},{{}}]}}", nodes.join(","));
        let model = std::thread::Builder::new()
            .stack_size(1 << 20)
            .spawn(move || model(&container).unwrap());
        let rig = model.unwrap().join().unwrap().rig;
        assert_eq!(rig.joints[199_999].parent, Some(199_998));
    }

    #[test]
    fn bone_09_names_may_be_missing_doubled_long_or_in_any_script() {
        let mut fixture = Fixture::new();
        let long = "長".repeat(100_000);
        let nodes =
            json!([{ "children": [1], "name": long }, {}, { "name": long }, { "name": "" }]);
        fixture
            .set("/nodes", nodes)
            .set("/animations", json!([]))
            .set("/skins", json!([]));
        let names: Vec<usize> = fixture
            .model()
            .rig
            .joints
            .iter()
            .map(|joint| joint.name.len())
            .collect();
        assert_eq!(names, [300_000, 0, 300_000, 0]);
        let message = fixture
            .set("/nodes/2/rotation", json!([0, 0, 0, 0]))
            .refusal();
        assert!(message.len() < 1000, "{}", message.len());
    }

    #[test]
    fn space_08_wrong_types_are_refused_with_their_pointer() {
        each_is_refused(&[
            (
                "/nodes/1/translation",
                json!([1, 2]),
                &["/nodes/1/translation", "an array of 3 numbers"],
            ),
            (
                "/nodes/1/translation",
                json!([1, 2, 3, 4]),
                &["/nodes/1/translation", "length 4"],
            ),
            (
                "/nodes/1/translation",
                json!(null),
                &["/nodes/1/translation", "null"],
            ),
            (
                "/nodes/1/translation",
                json!([1, "2", 3]),
                &["/nodes/1/translation/1", "string \"2\""],
            ),
            ("/nodes/1/scale", json!([1, 1, 1e39]), &["/nodes/1/scale/2"]),
            ("/nodes/1/name", json!(7), &["/nodes/1/name", "a string"]),
            ("/nodes/1/mesh", json!("0"), &["/nodes/1/mesh"]),
            ("/nodes/1", json!(["tip"]), &["/nodes/1", "an object"]),
            ("/nodes", json!({}), &["/nodes", "a sequence"]),
            (
                "/nodes/1/rotation",
                json!([0, 0, 0, 0]),
                &["/nodes/1/rotation", "a unit quaternion"],
            ),
            (
                "/nodes/1/rotation",
                json!({"a/b~c": 1}),
                &["/nodes/1/rotation", "4 numbers"],
            ),
        ]);
    }

    #[test]
    fn space_08_numbers_may_be_spelt_in_any_way() {
        let mut container = Fixture::new().container();
        container.json =
            r#"{"nodes":[{"translation":[0,-1,1e-2],"scale":[1E+2,-0.0,2]}]}"#.to_owned();
        let rest = model(&container).unwrap().rig.joints[0].rest;
        assert_eq!(rest.translation.to_array(), [0.0, -1.0, 0.01]);
        assert_eq!(rest.scale.to_array(), [100.0, -0.0, 2.0]);
    }

    #[test]
    fn gltf_05_matrices_are_taken_apart_or_refused() {
        let mut fixture = Fixture::new();
        let matrix = json!([0, 2, 0, 0, -2, 0, 0, 0, 0, 0, 2, 0, 1, 2, 3, 1]);
        let rest = fixture.set("/nodes/0/matrix", matrix).model().rig.joints[0].rest;
        assert_eq!(rest.translation.to_array(), [1.0, 2.0, 3.0]);
        assert_eq!(rest.scale.to_array(), [2.0; 3]);
        let sheared = json!([1, 0.5, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
        let warnings = fixture.set("/nodes/0/matrix", sheared).model().warnings;
        assert!(
            warnings[0].starts_with("\"root\" (node 0): its matrix shears"),
            "{warnings:?}"
        );
        let projecting = json!([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 2]);
        let message = fixture.set("/nodes/0/matrix", projecting).refusal();
        assert!(
            message.contains("/nodes/0/matrix") && message.contains("[0, 0, 0, 1]"),
            "{message}"
        );
        let identity = json!([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]);
        each_is_refused(&[(
            "/nodes/1/matrix",
            identity.clone(),
            &["/nodes/1/matrix", "animated"],
        )]);
        fixture
            .set("/nodes/0/matrix", identity)
            .set("/nodes/0/scale", json!([1, 1, 1]));
        assert!(fixture.refusal().contains("one or the other"));
    }

    #[test]
    fn rotations_keep_their_bits_unless_they_are_far_from_unit() {
        let mut fixture = Fixture::new();
        let near = fixture
            .set("/nodes/1/rotation", json!([0, 0, 0.6, 0.8003]))
            .model();
        assert_eq!(
            near.rig.joints[1].rest.rotation.to_array(),
            [0.0, 0.0, 0.6, 0.8003]
        );
        assert!(near.warnings.is_empty());
        let far = fixture
            .set("/nodes/1/rotation", json!([0, 0, 6, 8]))
            .model();
        assert_eq!(
            far.rig.joints[1].rest.rotation.to_array(),
            [0.0, 0.0, 0.6, 0.8]
        );
        assert!(
            far.warnings[0].contains("\"tip\" (node 1)"),
            "{:?}",
            far.warnings
        );
    }
}
