//! The glTF container: a `.glb` or a `.gltf` with its buffers, read whole and checked for size.

use std::path::PathBuf;

/// A glTF file as bytes: what reading starts from and baking patches.
#[derive(Clone, Debug)]
pub struct Container {
    /// The file.
    pub file: PathBuf,
    /// Binary (`.glb`) or text (`.gltf`) container, told by the content, not by the name.
    pub form: Form,
    /// The JSON text: the GLB's JSON chunk without its padding, or the whole `.gltf` (without a byte order mark).
    pub json: String,
    /// The bytes of each entry of `/buffers`, in file order, at least `byteLength` long; `None` for a buffer that
    /// cannot be had but is not needed (an `EXT_meshopt_compression` fallback).
    pub buffers: Vec<Option<Vec<u8>>>,
}

/// Which container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// One binary file; its BIN chunk, if any, is buffer 0 (when that has no `uri`).
    Glb,
    /// JSON with external or embedded buffers.
    Gltf,
}
