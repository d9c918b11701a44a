//! Vertices that joints move: their positions, joints and weights. *glTF 2.0 §3.7.3.3*
//!
//! Read only by those who work on skins; a broken vertex does not keep a character from moving. The member names of
//! this part of the document are here, beside the only code that reads them.

use std::collections::BTreeMap;

use gltf::accessor::Dimensions;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::accessor::{Reader, Stored};
use super::document::Document;
use crate::assets::container::Container;
use crate::assets::json::{self, Fault, Index, Object, Text, named};

/// The document of a file, for as long as vertices are read from it.
pub(in crate::assets) struct Vertices<'a> {
    document: Document<'a>,
    container: &'a Container,
    meshes: Vec<Object<Mesh<'a>>>,
}

#[derive(Deserialize)]
struct Meshes<'a> {
    #[serde(borrow, default)]
    meshes: Vec<Object<Mesh<'a>>>,
}

#[derive(Deserialize)]
struct Mesh<'a> {
    #[serde(borrow, default)]
    name: Text<'a>,
    primitives: Vec<Object<Primitive>>,
}

#[derive(Deserialize)]
struct Primitive {
    #[serde(default)]
    attributes: BTreeMap<String, Index>,
    #[serde(default)]
    extensions: Extensions,
}

#[derive(Default, Deserialize)]
struct Extensions {
    #[serde(rename = "KHR_draco_mesh_compression")]
    draco: Option<IgnoredAny>,
}

/// A primitive whose vertices name joints.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::assets) struct SkinnedPrimitive {
    /// Index of its mesh.
    pub(in crate::assets) mesh: usize,
    /// Index in its mesh.
    pub(in crate::assets) primitive: usize,
    /// How a message names it: `/meshes/0/primitives/1 ("body")`.
    pub(in crate::assets) place: String,
    /// Accessors of joints and of weights, set by set; at least one.
    pub(in crate::assets) sets: Vec<(usize, usize)>,
    /// Accessor of the positions.
    pub(in crate::assets) positions: usize,
}

/// The slots of all vertices, set by set.
pub(in crate::assets) struct Slots {
    sets: Vec<(Vec<[f32; 4]>, Vec<[f32; 4]>)>,
}

impl Slots {
    /// Number of vertices.
    pub(in crate::assets) fn len(&self) -> usize {
        self.sets.first().map_or(0, |(joints, _)| joints.len())
    }

    /// The slots of a vertex into `slots`: joint and weight, as they are after decoding.
    pub(in crate::assets) fn of_vertex(&self, vertex: usize, slots: &mut Vec<(u32, f64)>) {
        slots.clear();
        for (joints, weights) in &self.sets {
            let pairs = joints[vertex].into_iter().zip(weights[vertex]);
            // Joints were unsigned integers of at most 16 bits.
            slots.extend(pairs.map(|(joint, weight)| (joint as u32, f64::from(weight))));
        }
    }
}

impl<'a> Vertices<'a> {
    /// The document of `container`.
    ///
    /// # Errors
    /// A member of the wrong type in what reading needs.
    pub(in crate::assets) fn open(container: &'a Container) -> Result<Self, Fault> {
        let Object(document) = json::parse::<Object<Document>>(&container.json)?;
        let Object(Meshes { meshes }) = json::parse(&container.json)?;
        Ok(Self {
            document,
            container,
            meshes,
        })
    }

    /// The primitives that have joints or weights, in file order.
    ///
    /// # Errors
    /// Joints without weights or the other way round, a gap in the numbers of sets, no positions, and vertices that
    /// only an extension can unpack.
    pub(in crate::assets) fn skinned(&self) -> Result<Vec<SkinnedPrimitive>, Fault> {
        let mut skinned = Vec::new();
        for (index, mesh) in self.meshes.iter().enumerate() {
            for (i, primitive) in mesh.primitives.iter().enumerate() {
                let place = format!(
                    "/meshes/{index}/primitives/{i} (in {})",
                    named("mesh", index, &mesh.name)
                );
                let sets = sets(&primitive.attributes).map_err(|fault| fault.used_by(&place))?;
                if sets.is_empty() {
                    continue;
                }
                if primitive.extensions.draco.is_some() {
                    let expected = "uncompressed ones: decode the file first";
                    let found = "vertices packed by KHR_draco_mesh_compression";
                    return Err(Fault::new(place, found, expected));
                }
                let Some(positions) = primitive.attributes.get("POSITION") else {
                    return Err(Fault::new(place, "no POSITION", "positions to be moved"));
                };
                skinned.push(SkinnedPrimitive {
                    mesh: index,
                    primitive: i,
                    place,
                    sets,
                    positions: positions.get(),
                });
            }
        }
        Ok(skinned)
    }

    /// Reads accessors of the file, within one budget.
    pub(in crate::assets) fn reader(&self) -> VertexReader<'_> {
        VertexReader(Reader::new(&self.document, self.container))
    }
}

/// The accessors of joints and weights by set, which are numbered from 0 without gaps.
fn sets(attributes: &BTreeMap<String, Index>) -> Result<Vec<(usize, usize)>, Fault> {
    let mut sets = Vec::new();
    let of = |semantic: &str, set: usize| attributes.get(&format!("{semantic}_{set}"));
    while let (Some(joints), Some(weights)) = (of("JOINTS", sets.len()), of("WEIGHTS", sets.len()))
    {
        sets.push((joints.get(), weights.get()));
    }
    let odd = attributes.keys().find(|key| {
        let number = key
            .strip_prefix("JOINTS_")
            .or_else(|| key.strip_prefix("WEIGHTS_"));
        number.is_some_and(|number| {
            number
                .parse()
                .is_ok_and(|number: usize| number >= sets.len())
        })
    });
    match odd {
        None => Ok(sets),
        Some(odd) => Err(Fault::new(
            "attributes",
            format!("{odd} without its fellow"),
            "JOINTS_n and WEIGHTS_n for each n from 0 on",
        )),
    }
}

/// Reads the vertices of one file.
pub(in crate::assets) struct VertexReader<'a>(Reader<'a>);

impl VertexReader<'_> {
    /// Joints and weights of `sets`; all have the same number of vertices.
    pub(in crate::assets) fn slots(&mut self, sets: &[(usize, usize)]) -> Result<Slots, Fault> {
        let mut read = Vec::with_capacity(sets.len());
        let mut count = None;
        for &(joints_at, weights_at) in sets {
            let joints = self
                .0
                .read::<4>(joints_at, Dimensions::Vec4, Stored::Whole)?;
            let weights = self
                .0
                .read::<4>(weights_at, Dimensions::Vec4, Stored::Share)?;
            for (accessor, len) in [(joints_at, joints.len()), (weights_at, weights.len())] {
                same_count(accessor, len, *count.get_or_insert(len))?;
            }
            read.push((joints, weights));
        }
        Ok(Slots { sets: read })
    }

    /// The `count` positions of accessor `index`, finite, in the mesh's own space.
    pub(in crate::assets) fn positions(
        &mut self,
        index: usize,
        count: usize,
    ) -> Result<Vec<[f32; 3]>, Fault> {
        let positions = self.0.read::<3>(index, Dimensions::Vec3, Stored::Any)?;
        same_count(index, positions.len(), count)?;
        let odd = positions
            .iter()
            .position(|position| !position.iter().all(|number| number.is_finite()));
        match odd {
            None => Ok(positions),
            Some(i) => Err(Fault::new(
                format!("/accessors/{index}, element {i}"),
                format!("{:?}", positions[i]),
                "finite numbers",
            )),
        }
    }
}

fn same_count(accessor: usize, found: usize, expected: usize) -> Result<(), Fault> {
    if found == expected {
        return Ok(());
    }
    Err(Fault::new(
        format!("/accessors/{accessor}/count"),
        format!("{found} elements"),
        format!("{expected}, as the other attributes of the primitive have"),
    ))
}
