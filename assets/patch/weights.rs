//! Weights: gives primitives other accessors of joints and weights. *glTF 2.0 §3.7.3.3*

use std::collections::BTreeMap;
use std::path::Path;

use super::additions::{Additions, FLOAT, UNSIGNED_BYTE, UNSIGNED_SHORT};
use super::output::{self, Home};
use super::splice::{Array, Document};
use super::{Patched, check_extension};
use crate::assets::Error;
use crate::assets::container::Container;

/// Joints and weights for some primitives, which share them.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::assets) struct NewWeights {
    /// Mesh and primitive of each; all have `joints[0].len() / 4` vertices.
    pub(in crate::assets) users: Vec<(usize, usize)>,
    /// Per set, four joints per vertex.
    pub(in crate::assets) joints: Vec<Vec<u16>>,
    /// Per set, four weights per vertex.
    pub(in crate::assets) weights: Vec<StoredNumbers>,
}

/// Weights as a file stores them.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::assets) enum StoredNumbers {
    /// Shares of 1.
    F32(Vec<f32>),
    /// Shares of 65535.
    U16(Vec<u16>),
    /// Shares of 255.
    U8(Vec<u8>),
}

/// Puts `new` into the file `container` was read from, to be written as `out`. Touches no file.
///
/// Each accessor gets a buffer view of its own, so that none needs a stride. Sets of joints and weights that a primitive
/// has beyond the new ones are taken out.
///
/// # Errors
/// As [`super::patch()`], for the file and for `out`.
pub(in crate::assets) fn patch_weights(
    container: &Container,
    new: &[NewWeights],
    out: &Path,
) -> Result<Patched, Error> {
    check_extension(container.form, out)?;
    let mut document = Document::open(container)?;
    let home = Home::find(&document, container, out, "skinned")?;
    output::check_size(container, &home, new.iter().map(size).sum())?;
    let mut additions = Additions::new(&document, &home)?;
    let accessors: Vec<Accessors> = new.iter().map(|new| lay_out(new, &mut additions)).collect();
    let bytes = additions.add_to(&mut document)?;
    let mut of_mesh: BTreeMap<usize, Vec<(usize, &Accessors)>> = BTreeMap::new();
    for (new, accessors) in new.iter().zip(&accessors) {
        for &(mesh, primitive) in &new.users {
            of_mesh
                .entry(mesh)
                .or_default()
                .push((primitive, accessors));
        }
    }
    connect(&mut document, &of_mesh)?;
    let copies = output::referenced_files(&document, container)?;
    output::assemble(document, container, home, bytes, copies, Vec::new())
}

/// Upper bound of the bytes that `new` takes: two per joint, four per weight.
fn size(new: &NewWeights) -> u64 {
    new.joints.iter().map(|set| 6 * set.len() as u64).sum()
}

/// The accessor of each attribute by its name.
type Accessors = Vec<(String, usize)>;

/// Appends all sets.
fn lay_out(new: &NewWeights, additions: &mut Additions) -> Accessors {
    // One type for all sets: a skin is either small or not.
    let narrow = new.joints.iter().flatten().all(|&joint| joint <= 255);
    let mut accessors = Vec::new();
    for (set, (joints, weights)) in new.joints.iter().zip(&new.weights).enumerate() {
        let (bytes, component) = if narrow {
            (
                joints.iter().map(|&joint| joint as u8).collect(),
                UNSIGNED_BYTE,
            )
        } else {
            (
                little_endian(joints, |joint| joint.to_le_bytes()),
                UNSIGNED_SHORT,
            )
        };
        let count = joints.len() / 4;
        let mut add = |name: &str, bytes: Vec<u8>, component, flag| {
            let start = additions.start_view();
            let rest = format!("{flag}\"count\":{count},\"type\":\"VEC4\"");
            let accessor = additions.accessor(start, bytes, component, &rest);
            // 34962: vertex attributes.
            additions.end_view(start, ",\"target\":34962");
            accessors.push((format!("{name}_{set}"), accessor));
        };
        add("JOINTS", bytes, component, "");
        let (bytes, component) = match weights {
            StoredNumbers::F32(numbers) => (little_endian(numbers, |n| n.to_le_bytes()), FLOAT),
            StoredNumbers::U16(numbers) => {
                (little_endian(numbers, |n| n.to_le_bytes()), UNSIGNED_SHORT)
            }
            StoredNumbers::U8(numbers) => (numbers.clone(), UNSIGNED_BYTE),
        };
        let flag = if component == FLOAT {
            ""
        } else {
            "\"normalized\":true,"
        };
        add("WEIGHTS", bytes, component, flag);
    }
    accessors
}

fn little_endian<T: Copy, const N: usize>(numbers: &[T], bytes: impl Fn(T) -> [u8; N]) -> Vec<u8> {
    numbers.iter().flat_map(|&number| bytes(number)).collect()
}

/// Points the primitives of some meshes to their accessors and takes their other joints and weights out.
fn connect(
    document: &mut Document<'_>,
    of_mesh: &BTreeMap<usize, Vec<(usize, &Accessors)>>,
) -> Result<(), Error> {
    let Some(meshes) = document.top_array("meshes")? else {
        return Ok(());
    };
    for (&mesh, users) in of_mesh {
        let place = format!("/meshes/{mesh}");
        let object = document.object(&place, element(&meshes, mesh))?;
        let place = format!("{place}/primitives");
        let primitives = document.array(&place, object.get("primitives").unwrap_or(NOTHING))?;
        for &(primitive, accessors) in users {
            let place = format!("{place}/{primitive}");
            let object = document.object(&place, element(&primitives, primitive))?;
            let attributes = object.get("attributes").unwrap_or(NOTHING);
            let attributes = document.object(&format!("{place}/attributes"), attributes)?;
            for (name, accessor) in accessors {
                document.set(&attributes, name, &accessor.to_string());
            }
            document.remove(&attributes, |key| {
                let is_set = key.starts_with("JOINTS_") || key.starts_with("WEIGHTS_");
                is_set && accessors.iter().all(|(name, _)| name != key)
            });
        }
    }
    Ok(())
}

/// Stands for what is not there; reading it as an object is refused by its place.
const NOTHING: &str = "null";

fn element<'a>(array: &Array<'a>, index: usize) -> &'a str {
    array.elements.get(index).copied().unwrap_or(NOTHING)
}
