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
            entry(&document.skins, "/skins", skin)
                .map_err(|fault| fault.used_by(&place("skin")))?;
        }
        let Some(mesh) = node.mesh else { continue };
        let of_mesh =
            entry(meshes, "/meshes", mesh.get()).map_err(|fault| fault.used_by(&place("mesh")))?;
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
        entry(&document.nodes, "/nodes", node).map_err(|fault| fault.used_by(&place))?;
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
        let projection = entry(&projections, "/cameras", source).map_err(|f| f.used_by(&place))?;
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
            entry(&document.nodes, "/nodes", node).map_err(|fault| fault.used_by(&place))?;
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
    entry(&document.scenes, "/scenes", scene.get()).map_err(|fault| fault.used_by("/scene"))?;
    Ok(Some(scene.get()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::fixture::{Fixture, each_is_accepted, each_is_refused};
    use super::*;

    #[test]
    fn gltf_06_bind_matrices_that_do_not_fit_are_refused_by_skin() {
        let accessor = "/accessors/4";
        let skin = "/skins/0 (\"skin\" (skin 0))";
        let mut two = Fixture::new().json["accessors"][4].clone();
        each_is_refused(&[
            (
                "/accessors/4/count",
                json!(1),
                &[skin, accessor, "found 1, expected at least 2"],
            ),
            (
                "/accessors/4/type",
                json!("MAT3"),
                &[skin, accessor, "\"MAT4\""],
            ),
            (
                "/accessors/4/componentType",
                json!(5121),
                &[skin, accessor, "5126"],
            ),
            (
                "/skins/0/inverseBindMatrices",
                json!(50),
                &[skin, "index 50"],
            ),
            ("/skins/0/joints", json!([]), &[skin, "no joints"]),
            (
                "/skins/0/joints",
                json!([0, 2]),
                &[skin, "joints/1", "index 2"],
            ),
            (
                "/skins/0/joints",
                json!([1, 1]),
                &[skin, "joints/1", "node 1 a second time"],
            ),
            ("/skins/0", json!({}), &["/skins/0", "`joints`"]),
        ]);
        let mut fixture = Fixture::new();
        let mut matrix = Mat4::IDENTITY.to_cols_array();
        matrix[15] = 2.0;
        two["bufferView"] = json!(
            fixture.view(
                &[matrix, matrix]
                    .concat()
                    .iter()
                    .flat_map(|n| n.to_le_bytes())
                    .collect::<Vec<_>>()
            )
        );
        let message = fixture.set("/accessors/4", two).refusal();
        assert!(
            message.contains("/accessors/4, element 0") && message.contains(skin),
            "{message}"
        );
    }

    #[test]
    fn gltf_06_without_bind_matrices_they_are_the_identity() {
        let mut fixture = Fixture::new();
        // GLTF-03: a skeleton that makes no sense is not looked at.
        fixture.set("/skins/0", json!({ "joints": [1], "skeleton": 99 }));
        let skin = fixture.model().skins.remove(0);
        assert_eq!(
            (skin.joints, skin.inverse_bind),
            (vec![1], vec![Mat4::IDENTITY])
        );
    }

    #[test]
    fn gltf_02_a_skinned_mesh_may_lie_below_its_own_joints() {
        let model = Fixture::new().model();
        assert_eq!(model.skins[0].joints, [0, 1]);
        assert_eq!(
            model.mesh_nodes,
            [MeshNode {
                joint: 1,
                mesh: 0,
                skin: Some(0),
                weights: None
            }]
        );
    }

    #[test]
    fn gltf_09_default_weights_are_zero_and_a_nodes_own_win() {
        let mut fixture = Fixture::new();
        assert_eq!(fixture.model().meshes[0].weights, [0.0, 0.0]);
        fixture
            .set("/meshes/0/weights", json!([0.5, 1]))
            .set("/nodes/1/weights", json!([0, 0.25]));
        let model = fixture.model();
        assert_eq!(model.meshes[0].weights, [0.5, 1.0]);
        assert_eq!(model.mesh_nodes[0].weights, Some(vec![0.0, 0.25]));
        let targets = vec![json!({}); 300];
        let mut many = Fixture::new();
        many.set("/meshes/0/primitives/0/targets", json!(targets))
            .set("/animations", json!([]));
        assert_eq!(many.model().meshes[0].weights.len(), 300);
    }

    #[test]
    fn indices_and_counts_of_meshes_are_checked() {
        let two = json!([{ "targets": [{}, {}] }, { "targets": [{}] }]);
        each_is_refused(&[
            (
                "/meshes/0/weights",
                json!([1]),
                &["/meshes/0/weights", "found 1 weights, expected 2"],
            ),
            (
                "/nodes/1/weights",
                json!([1, 2, 3]),
                &["/nodes/1/weights", "3 weights"],
            ),
            (
                "/meshes/0/primitives",
                two,
                &["/meshes/0/primitives/1/targets", "1 morph targets"],
            ),
            ("/nodes/1/mesh", json!(1), &["/nodes/1/mesh", "index 1"]),
            ("/nodes/1/skin", json!(1), &["/nodes/1/skin", "index 1"]),
            (
                "/nodes/1/camera",
                json!(0),
                &["/nodes/1/camera", "/cameras, which is empty"],
            ),
        ]);
    }

    #[test]
    fn scenes_list_roots_once() {
        each_is_refused(&[
            ("/scene", json!(1), &["/scene", "index 1"]),
            (
                "/scenes/0/nodes",
                json!([0, 0]),
                &["/scenes/0/nodes/1", "a second time"],
            ),
            (
                "/scenes/0/nodes",
                json!([1]),
                &["/scenes/0/nodes/0", "a child of node 0"],
            ),
            (
                "/scenes/0/nodes",
                json!([7]),
                &["/scenes/0/nodes/0", "index 7"],
            ),
        ]);
        each_is_accepted(&[("/scenes", json!([{}, { "nodes": [0] }]))]);
    }

    #[test]
    fn lenses_are_read_or_refused() {
        let mut fixture = Fixture::new();
        fixture.set("/nodes/0/camera", json!(0));
        let lens = |lens| json!([{ "type": "perspective", "perspective": lens }]);
        fixture.set("/cameras", lens(json!({ "yfov": 0.5, "znear": 1 })));
        let camera = fixture.model().cameras.remove(0);
        let expected = Projection::Perspective {
            yfov: 0.5,
            aspect: None,
            near: 1.0,
            far: None,
        };
        assert_eq!((camera.joint, camera.projection), (0, expected));
        for bad in [
            lens(json!({ "yfov": 0.5 })),
            lens(json!({ "yfov": 0, "znear": 1 })),
            lens(json!({ "yfov": 0.5, "znear": 1, "zfar": 0.5 })),
            json!([{ "type": "perspective" }]),
            json!([{ "type": "fisheye", "fisheye": {} }]),
            json!([{ "type": "orthographic", "orthographic": { "xmag": 0, "ymag": 1, "znear": 0, "zfar": 1 } }]),
        ] {
            let message = fixture.set("/cameras", bad).refusal();
            assert!(message.contains("/cameras/0"), "{message}");
        }
    }
}
