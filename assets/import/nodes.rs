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
    let list: Vec<String> = listed.iter().rev().map(usize::to_string).collect();
    let more = if length > listed.len() {
        " → …"
    } else {
        ""
    };
    Fault::new(
        format!("/nodes/{start}/children"),
        format!("a cycle of {length} nodes: {}{more}", list.join(" → ")),
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
