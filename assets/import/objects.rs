//! What hangs on the nodes: meshes with their morph targets, skins, cameras; and the scenes. *glTF 2.0 §3.5, §3.7, §3.10*

use bevy_math::Mat4;

use super::accessor::Reader;
use super::document::{Document, Orthographic, Perspective};
use super::matrix::is_affine;
use super::nodes::Joints;
use super::{Camera, Mesh, MeshNode, Projection, Skin};
use crate::assets::json::{Fault, Number, entry, named, quote};

/// Morph targets and default weights of all meshes, in file order.
pub(super) fn meshes(document: &Document) -> Result<Vec<Mesh>, Fault> {
    let mut meshes = Vec::with_capacity(document.meshes.len());
    for (index, mesh) in document.meshes.iter().enumerate() {
        let mut primitives = mesh.primitives.iter().map(|p| p.targets.len());
        let targets = primitives.next().unwrap_or(0);
        if let Some(odd) = primitives.position(|count| count != targets) {
            let found = mesh.primitives[odd + 1].targets.len();
            return Err(Fault::new(
                format!("/meshes/{index}/primitives/{}/targets", odd + 1),
                format!("{found} morph targets"),
                format!("{targets}, as primitive 0 has"),
            ));
        }
        let place = format!("/meshes/{index}/weights");
        let weights = weights(mesh.weights.as_deref(), targets, place)?;
        meshes.push(Mesh {
            name: mesh.name.to_string(),
            weights: weights.unwrap_or_else(|| vec![0.0; targets]),
        });
    }
    Ok(meshes)
}

/// Given weights, one per target.
fn weights(
    given: Option<&[Number]>,
    targets: usize,
    place: String,
) -> Result<Option<Vec<f32>>, Fault> {
    let Some(given) = given else { return Ok(None) };
    if given.len() != targets {
        let found = format!("{} weights", given.len());
        return Err(Fault::new(
            place,
            found,
            format!("{targets}, one per morph target"),
        ));
    }
    Ok(Some(given.iter().map(|number| number.0).collect()))
}

/// The nodes that carry a mesh, in node order. Weights of the node win over those of the mesh.
pub(super) fn mesh_nodes(
    document: &Document,
    joints: &Joints,
    meshes: &[Mesh],
) -> Result<Vec<MeshNode>, Fault> {
    let mut nodes = Vec::new();
    for (index, node) in document.nodes.iter().enumerate() {
        let place = |member: &str| format!("/nodes/{index}/{member}");
        let skin = node.skin.map(|skin| skin.get());
        if let Some(skin) = skin {
            entry(&document.skins, "skins", skin).map_err(|fault| fault.used_by(&place("skin")))?;
        }
        let Some(mesh) = node.mesh else { continue };
        let of_mesh =
            entry(meshes, "meshes", mesh.get()).map_err(|fault| fault.used_by(&place("mesh")))?;
        let own = weights(
            node.weights.as_deref(),
            of_mesh.weights.len(),
            place("weights"),
        )?;
        nodes.push(MeshNode {
            joint: joints.of_node[index],
            mesh: mesh.get(),
            skin,
            weights: own,
        });
    }
    Ok(nodes)
}

/// All skins, in file order; they are read after all nodes, so a skin may lie below its own joints.
pub(super) fn skins(
    document: &Document,
    joints: &Joints,
    reader: &mut Reader,
) -> Result<Vec<Skin>, Fault> {
    let mut seen = vec![0; document.nodes.len()];
    let mut skins = Vec::with_capacity(document.skins.len());
    for (index, skin) in document.skins.iter().enumerate() {
        let place = format!("/skins/{index} ({})", named("skin", index, &skin.name));
        let joints = skin_joints(document, joints, index, &mut seen)
            .map_err(|fault| fault.used_by(&place))?;
        let inverse_bind = match skin.inverse_bind_matrices {
            None => vec![Mat4::IDENTITY; joints.len()],
            Some(accessor) => inverse_bind(reader, accessor.get(), joints.len())
                .map_err(|fault| fault.used_by(&place))?,
        };
        skins.push(Skin {
            name: skin.name.to_string(),
            joints,
            inverse_bind,
        });
    }
    Ok(skins)
}

/// The joints of skin `index`; `seen` holds the skin (plus one) that named a node last.
fn skin_joints(
    document: &Document,
    joints: &Joints,
    index: usize,
    seen: &mut [usize],
) -> Result<Vec<usize>, Fault> {
    let skin = &document.skins[index];
    if skin.joints.is_empty() {
        return Err(Fault::new("joints", "no joints", "at least one"));
    }
    let mut list = Vec::with_capacity(skin.joints.len());
    for (i, node) in skin.joints.iter().enumerate() {
        let node = node.get();
        let place = format!("joints/{i}");
        entry(&document.nodes, "nodes", node).map_err(|fault| fault.used_by(&place))?;
        if std::mem::replace(&mut seen[node], index + 1) == index + 1 {
            let found = format!("node {node} a second time");
            return Err(Fault::new(place, found, "each joint once"));
        }
        list.push(joints.of_node[node]);
    }
    Ok(list)
}

fn inverse_bind(reader: &mut Reader, accessor: usize, count: usize) -> Result<Vec<Mat4>, Fault> {
    let matrices = reader.read_matrices(accessor, count)?;
    let bad = |matrix: &Mat4| !matrix.is_finite() || !is_affine(&matrix.to_cols_array());
    match matrices.iter().position(bad) {
        None => Ok(matrices),
        Some(i) => Err(Fault::new(
            format!("/accessors/{accessor}, element {i}"),
            format!("{:?}", matrices[i].to_cols_array()),
            "finite numbers, the last row 0, 0, 0, 1",
        )),
    }
}

/// The cameras that nodes carry, in node order.
pub(super) fn cameras(document: &Document, joints: &Joints) -> Result<Vec<Camera>, Fault> {
    let projections = (0..document.cameras.len()).map(|index| projection(document, index));
    let projections: Vec<Projection> = projections.collect::<Result<_, _>>()?;
    let mut cameras = Vec::new();
    for (index, node) in document.nodes.iter().enumerate() {
        let Some(camera) = node.camera else { continue };
        let source = camera.get();
        let place = format!("/nodes/{index}/camera");
        let projection = entry(&projections, "cameras", source).map_err(|f| f.used_by(&place))?;
        cameras.push(Camera {
            joint: joints.of_node[index],
            source,
            name: document.cameras[source].name.to_string(),
            projection: *projection,
        });
    }
    Ok(cameras)
}

fn projection(document: &Document, index: usize) -> Result<Projection, Fault> {
    let camera = &document.cameras[index];
    let place = format!("/cameras/{index}");
    let found = match (&*camera.kind, &camera.perspective, &camera.orthographic) {
        ("perspective", Some(lens), None) => perspective(lens),
        ("orthographic", None, Some(lens)) => orthographic(lens),
        ("perspective" | "orthographic", _, _) => {
            let expected = format!("the member `{}` and no other lens", camera.kind.0);
            return Err(Fault::new(place, "other members", expected));
        }
        (other, _, _) => {
            let expected = "\"perspective\" or \"orthographic\"";
            return Err(Fault::new(format!("{place}/type"), quote(other), expected));
        }
    };
    found.ok_or_else(|| {
        let expected = "yfov, aspectRatio and magnifications above 0, 0 < znear < zfar (0 too when orthographic)";
        Fault::new(place, "a lens that shows nothing", expected)
    })
}

/// *glTF 2.0 §3.10.3*
fn perspective(lens: &Perspective) -> Option<Projection> {
    let aspect = lens.aspect_ratio.map(|number| number.0);
    let far = lens.zfar.map(|number| number.0);
    let (yfov, near) = (lens.yfov.0, lens.znear.0);
    let fine = yfov > 0.0
        && near > 0.0
        && aspect.is_none_or(|aspect| aspect > 0.0)
        && far.is_none_or(|far| far > near);
    fine.then_some(Projection::Perspective {
        yfov,
        aspect,
        near,
        far,
    })
}

/// *glTF 2.0 §3.10.4*
fn orthographic(lens: &Orthographic) -> Option<Projection> {
    let (xmag, ymag) = (lens.xmag.0, lens.ymag.0);
    let (near, far) = (lens.znear.0, lens.zfar.0);
    let fine = xmag != 0.0 && ymag != 0.0 && near >= 0.0 && far > near;
    fine.then_some(Projection::Orthographic {
        xmag,
        ymag,
        near,
        far,
    })
}

/// The root joints of each scene.
pub(super) fn scenes(document: &Document, joints: &Joints) -> Result<Vec<Vec<usize>>, Fault> {
    let mut seen = vec![0; document.nodes.len()];
    let mut scenes = Vec::with_capacity(document.scenes.len());
    for (index, scene) in document.scenes.iter().enumerate() {
        let mut roots = Vec::with_capacity(scene.nodes.len());
        for (i, node) in scene.nodes.iter().enumerate() {
            let node = node.get();
            let place = format!("/scenes/{index}/nodes/{i}");
            entry(&document.nodes, "nodes", node).map_err(|fault| fault.used_by(&place))?;
            if std::mem::replace(&mut seen[node], index + 1) == index + 1 {
                return Err(Fault::new(
                    place,
                    format!("node {node} a second time"),
                    "each node once",
                ));
            }
            let joint = joints.of_node[node];
            if let Some(parent) = joints.joints[joint].parent {
                let parent = joints.joints[parent].source;
                let found = format!("node {node}, a child of node {parent}");
                return Err(Fault::new(place, found, "nodes without a parent"));
            }
            roots.push(joint);
        }
        scenes.push(roots);
    }
    Ok(scenes)
}

/// The scene to show first, if the file says so.
pub(super) fn default_scene(document: &Document) -> Result<Option<usize>, Fault> {
    let Some(scene) = document.scene else {
        return Ok(None);
    };
    entry(&document.scenes, "scenes", scene.get()).map_err(|fault| fault.used_by("/scene"))?;
    Ok(Some(scene.get()))
}
