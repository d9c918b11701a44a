//! Reading glTF: nodes become joints, animations become clips. *glTF 2.0*
//!
//! ```text
//! file ─ container ─ JSON + buffers ─ document ─ nodes ─ joints
//!                                          │      ├──── meshes, skins, cameras, scenes
//!                                          └ accessors ─ clips
//! ```
//!
//! The document is checked before it is used: indices, cycles, counts and sizes, in that order. What a rig needs must
//! be right; what it does not need (materials, vertices, images) is not looked at.
//!
//! # Extensions
//!
//! `extensionsRequired` does not stop the reading: extensions that files of characters require change vertices,
//! materials, lights or visibility (`KHR_mesh_quantization`, `KHR_draco_mesh_compression`, `KHR_materials_*`, `VRMC_*`
//! and so on) and leave nodes, skins and animations where the core format has them. The exception is
//! `EXT_meshopt_compression` (and `KHR_meshopt_compression`), which packs buffer views: a file is refused when a view
//! that is needed here has no uncompressed bytes.

use std::path::{Path, PathBuf};

use bevy_math::Mat4;

use super::Error;
use super::container::{self, Container};
use super::json::{self, Fault, Object};
use crate::channel::{ChannelKind, ChannelSet};
use crate::clip::Clip;
use crate::rig::Rig;

mod accessor;
mod clips;
mod document;
#[cfg(test)]
mod fixture;
mod keys;
pub(super) mod matrix;
mod nodes;
mod objects;
pub(super) mod vertices;

use document::Document;

/// Everything about motion that a glTF file holds.
#[derive(Clone, Debug)]
pub struct Model {
    /// The file.
    pub file: PathBuf,
    /// All nodes of the file as joints, those of every scene, with morph weights and fields of view as channels; no swing
    /// joints, no colliders. Parents come first; of
    /// all nodes whose parent has its place, the one with the lowest index is next, so files that list parents before
    /// children keep their order.
    pub rig: Rig,
    /// The joint of each node; [`crate::rig::Joint::source`] is the way back. Today every node has one.
    pub joint_of_node: Vec<Option<usize>>,
    /// All animations, in file order.
    pub clips: Vec<Clip>,
    /// All skins, in file order.
    pub skins: Vec<Skin>,
    /// All meshes, in file order.
    pub meshes: Vec<Mesh>,
    /// The nodes that carry a mesh, in node order.
    pub mesh_nodes: Vec<MeshNode>,
    /// The nodes that carry a camera, in node order.
    pub cameras: Vec<Camera>,
    /// The root joints of each scene, in file order.
    pub scenes: Vec<Vec<usize>>,
    /// Index of the scene to show first, if the file names one.
    pub default_scene: Option<usize>,
    /// What was put right or left out, for people; names the thing. Not one per key, and at most 101.
    pub warnings: Vec<String>,
}

/// Which joints move a mesh. *glTF 2.0 §3.7.3*
#[derive(Clone, Debug, PartialEq)]
pub struct Skin {
    /// Its name in the file; may be empty or doubled.
    pub name: String,
    /// Joints of the rig in the order that vertices refer to, at least one, none twice.
    pub joints: Vec<usize>,
    /// `joint_from_mesh` at bind time, one per joint, finite and affine; identity when the file gives none.
    pub inverse_bind: Vec<Mat4>,
}

/// The morph targets of a mesh. *glTF 2.0 §3.7.2.2*
#[derive(Clone, Debug, PartialEq)]
pub struct Mesh {
    /// Its name in the file; may be empty or doubled.
    pub name: String,
    /// Default weights, one per morph target, dimensionless; 0 when the file gives none.
    pub weights: Vec<f32>,
}

/// A mesh at a joint.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshNode {
    /// Where it is.
    pub joint: usize,
    /// Index into [`Model::meshes`].
    pub mesh: usize,
    /// Index into [`Model::skins`].
    pub skin: Option<usize>,
    /// The node's own weights, one per morph target, which win over those of the mesh; usually none.
    pub weights: Option<Vec<f32>>,
}

/// A camera at a joint; it looks along the joint's -Z. *glTF 2.0 §3.10*
#[derive(Clone, Debug, PartialEq)]
pub struct Camera {
    /// Where it is.
    pub joint: usize,
    /// Index of the camera in the file; several joints may carry one camera.
    pub source: usize,
    /// Its name in the file; may be empty or doubled.
    pub name: String,
    /// Its lens.
    pub projection: Projection,
}

/// The lens of a camera. Distances in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Projection {
    /// Far things are smaller.
    Perspective {
        /// Vertical field of view, radians, > 0.
        yfov: f32,
        /// Width by height, > 0; `None`: the viewport's.
        aspect: Option<f32>,
        /// Nearest distance shown, > 0.
        near: f32,
        /// Farthest distance shown, > `near`; `None`: no end.
        far: Option<f32>,
    },
    /// All things keep their size.
    Orthographic {
        /// Half the width shown, metres, not 0.
        xmag: f32,
        /// Half the height shown, metres, not 0.
        ymag: f32,
        /// Nearest distance shown, ≥ 0.
        near: f32,
        /// Farthest distance shown, > `near`.
        far: f32,
    },
}

/// Reads a `.glb` or `.gltf` and what moves in it; the container comes along for those who write.
///
/// # Errors
/// As [`container::read`] and [`model`].
pub fn read_model(file: &Path) -> Result<(Model, Container), Error> {
    let container = container::read(file)?;
    let model = model(&container)?;
    Ok((model, container))
}

/// What moves in a file that is in memory.
///
/// # Errors
/// [`Error::Gltf`] with a JSON pointer:
/// - a member of the wrong type (`null` included), an array of the wrong length, a required member missing;
/// - an index that points nowhere; nodes in a cycle, with two parents or listed twice; a scene's node with a parent;
/// - a matrix that is not affine, beside TRS or on an animated node; a rotation without direction;
/// - numbers outside their buffer, of a type that does not fit, not finite, or more than a file of this size may hold:
///   accessors need no bytes (zeros) and can be shared, so decoded numbers are limited to 16 MiB and 16 times the file;
/// - key times not increasing, counts that do not match the keys, two channels of an animation on one target (strict;
///   a player would have to guess which one wins);
/// - joints or inverse bind matrices of a skin that do not fit; lenses that show nothing.
pub fn model(container: &Container) -> Result<Model, Error> {
    convert(container).map_err(|fault| fault.in_file(&container.file))
}

fn convert(container: &Container) -> Result<Model, Fault> {
    let Object(document) = json::parse::<Object<Document>>(&container.json)?;
    let mut warnings = Warnings::default();
    let joints = nodes::read(&document, &mut warnings)?;
    let scenes = objects::scenes(&document, &joints)?;
    let default_scene = objects::default_scene(&document)?;
    let meshes = objects::meshes(&document)?;
    let mesh_nodes = objects::mesh_nodes(&document, &joints, &meshes)?;
    let cameras = objects::cameras(&document, &joints)?;
    let mut reader = accessor::Reader::new(&document, container);
    let skins = objects::skins(&document, &joints, &mut reader)?;
    let clips = clips::read(&document, reader, &joints, &meshes, &cameras, &mut warnings)?;
    let channels = channels(&meshes, &mesh_nodes, &cameras);
    Ok(Model {
        file: container.file.clone(),
        joint_of_node: joints.of_node.iter().copied().map(Some).collect(),
        rig: Rig {
            channels,
            ..Rig::new(joints.joints)
        },
        clips,
        skins,
        meshes,
        mesh_nodes,
        cameras,
        scenes,
        default_scene,
        warnings: warnings.finish(),
    })
}

/// The channels that hang on joints: morph weights (a node's own win over its mesh's), fields of view.
fn channels(meshes: &[Mesh], nodes: &[MeshNode], cameras: &[Camera]) -> Vec<ChannelSet> {
    let morphs = nodes.iter().map(|node| ChannelSet {
        joint: node.joint,
        kind: ChannelKind::Morph,
        rest: node
            .weights
            .clone()
            .unwrap_or_else(|| meshes[node.mesh].weights.clone()),
    });
    let lenses = cameras.iter().filter_map(|camera| match camera.projection {
        Projection::Perspective { yfov, .. } => Some(ChannelSet {
            joint: camera.joint,
            kind: ChannelKind::Fov,
            rest: vec![yfov],
        }),
        Projection::Orthographic { .. } => None,
    });
    morphs
        .chain(lenses)
        .filter(|set| !set.rest.is_empty())
        .collect()
}

/// Warnings of one file; a bad file may have more than anybody reads.
#[derive(Default)]
struct Warnings {
    list: Vec<String>,
    dropped: usize,
}

impl Warnings {
    /// Warnings that are kept.
    const MOST: usize = 100;

    fn add(&mut self, warning: impl FnOnce() -> String) {
        if self.list.len() < Self::MOST {
            self.list.push(warning());
        } else {
            self.dropped += 1;
        }
    }

    fn finish(mut self) -> Vec<String> {
        if self.dropped > 0 {
            self.list
                .push(format!("and {} warnings more", self.dropped));
        }
        self.list
    }
}
