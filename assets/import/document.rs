//! The members of a glTF document that reading a rig needs, as the JSON spells them. *glTF 2.0 §5*
//!
//! Types of members are checked here, for all entries; what the numbers refer to is checked where they are used, so
//! that a broken material or vertex buffer does not keep a character from moving.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::assets::json::{Index, Number, Numbers, Object, Size, Text, present};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Document<'a> {
    #[serde(borrow, default)]
    pub(super) accessors: Vec<Object<Accessor<'a>>>,
    #[serde(borrow, default)]
    pub(super) animations: Vec<Object<Animation<'a>>>,
    #[serde(default)]
    pub(super) buffer_views: Vec<Object<BufferView>>,
    #[serde(borrow, default)]
    pub(super) cameras: Vec<Object<Camera<'a>>>,
    #[serde(borrow, default)]
    pub(super) meshes: Vec<Object<Mesh<'a>>>,
    #[serde(borrow, default)]
    pub(super) nodes: Vec<Object<Node<'a>>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) scene: Option<Index>,
    #[serde(default)]
    pub(super) scenes: Vec<Object<Scene>>,
    #[serde(borrow, default)]
    pub(super) skins: Vec<Object<Skin<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accessor<'a> {
    #[serde(default, deserialize_with = "present")]
    pub(super) buffer_view: Option<Index>,
    #[serde(default)]
    pub(super) byte_offset: Size,
    pub(super) component_type: Index,
    pub(super) count: Size,
    #[serde(default)]
    pub(super) normalized: bool,
    #[serde(borrow, rename = "type")]
    pub(super) dimensions: Text<'a>,
    #[serde(default, deserialize_with = "present")]
    pub(super) sparse: Option<Box<Object<Sparse>>>,
}

#[derive(Deserialize)]
pub(super) struct Sparse {
    pub(super) count: Size,
    pub(super) indices: Object<SparseIndices>,
    pub(super) values: Object<SparseValues>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseIndices {
    pub(super) buffer_view: Index,
    #[serde(default)]
    pub(super) byte_offset: Size,
    pub(super) component_type: Index,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseValues {
    pub(super) buffer_view: Index,
    #[serde(default)]
    pub(super) byte_offset: Size,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BufferView {
    pub(super) buffer: Index,
    #[serde(default)]
    pub(super) byte_offset: Size,
    pub(super) byte_length: Size,
    #[serde(default, deserialize_with = "present")]
    pub(super) byte_stride: Option<Size>,
    #[serde(default)]
    pub(super) extensions: Compression,
}

/// Which extension, if any, stores the view's bytes packed.
#[derive(Default, Deserialize)]
pub(super) struct Compression {
    #[serde(rename = "EXT_meshopt_compression")]
    pub(super) ext_meshopt: Option<IgnoredAny>,
    #[serde(rename = "KHR_meshopt_compression")]
    pub(super) khr_meshopt: Option<IgnoredAny>,
}

#[derive(Deserialize)]
pub(super) struct Animation<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow)]
    pub(super) channels: Vec<Object<Channel<'a>>>,
    #[serde(borrow)]
    pub(super) samplers: Vec<Object<Sampler<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct Channel<'a> {
    pub(super) sampler: Index,
    #[serde(borrow)]
    pub(super) target: Object<Target<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Target<'a> {
    #[serde(default, deserialize_with = "present")]
    pub(super) node: Option<Index>,
    #[serde(borrow)]
    pub(super) path: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) extensions: Option<Object<TargetExtensions<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct TargetExtensions<'a> {
    /// What a channel of the path `pointer` moves. `KHR_animation_pointer`
    #[serde(
        borrow,
        rename = "KHR_animation_pointer",
        default,
        deserialize_with = "present"
    )]
    pub(super) pointer: Option<Object<Pointer<'a>>>,
}

#[derive(Deserialize)]
pub(super) struct Pointer<'a> {
    #[serde(borrow)]
    pub(super) pointer: Text<'a>,
}

#[derive(Deserialize)]
pub(super) struct Sampler<'a> {
    pub(super) input: Index,
    pub(super) output: Index,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) interpolation: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct Camera<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(default, deserialize_with = "present")]
    pub(super) perspective: Option<Object<Perspective>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) orthographic: Option<Object<Orthographic>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Perspective {
    #[serde(default, deserialize_with = "present")]
    pub(super) aspect_ratio: Option<Number>,
    pub(super) yfov: Number,
    #[serde(default, deserialize_with = "present")]
    pub(super) zfar: Option<Number>,
    pub(super) znear: Number,
}

#[derive(Deserialize)]
pub(super) struct Orthographic {
    pub(super) xmag: Number,
    pub(super) ymag: Number,
    pub(super) zfar: Number,
    pub(super) znear: Number,
}

#[derive(Deserialize)]
pub(super) struct Mesh<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    pub(super) primitives: Vec<Object<Primitive>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) weights: Option<Vec<Number>>,
}

#[derive(Deserialize)]
pub(super) struct Primitive {
    #[serde(default)]
    pub(super) targets: Vec<Object<IgnoredAny>>,
}

#[derive(Deserialize)]
pub(super) struct Node<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(default)]
    pub(super) children: Vec<Index>,
    #[serde(default, deserialize_with = "present")]
    pub(super) matrix: Option<Box<Numbers<16>>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) translation: Option<Numbers<3>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) rotation: Option<Numbers<4>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) scale: Option<Numbers<3>>,
    #[serde(default, deserialize_with = "present")]
    pub(super) mesh: Option<Index>,
    #[serde(default, deserialize_with = "present")]
    pub(super) skin: Option<Index>,
    #[serde(default, deserialize_with = "present")]
    pub(super) camera: Option<Index>,
    #[serde(default, deserialize_with = "present")]
    pub(super) weights: Option<Vec<Number>>,
}

#[derive(Deserialize)]
pub(super) struct Scene {
    #[serde(default)]
    pub(super) nodes: Vec<Index>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Skin<'a> {
    #[serde(borrow, default)]
    pub(super) name: Text<'a>,
    #[serde(default, deserialize_with = "present")]
    pub(super) inverse_bind_matrices: Option<Index>,
    pub(super) joints: Vec<Index>,
}
