//! Patching: writes baked clips, or other skin weights, back into the glTF they came from.
//!
//! Only what changed is touched. The JSON is edited as text (see `splice`), so that every other value keeps
//! its place, its order and its digits; the existing binary data keeps its bytes and its offsets; what is new is
//! appended. The same input gives the same bytes: there are no dates, no versions and no hashed order in the output.
//!
//! - A channel of the animation that already moves the node's property is pointed to the new keys, in its place. Its
//!   sampler is rewritten when nobody else uses it, so that no sampler is left over; else a new one is appended.
//! - Each clip gets one buffer view (no stride, offsets that are multiples of 4). Tracks with the same keys share one
//!   time accessor; tracks that were not reduced share the one of the clip. `min` and `max` are those of the stored
//!   f32, printed so that reading gives the same bits. *glTF 2.0 §3.6.2.5*
//! - Baked tracks are LINEAR. Neighbouring rotation keys have a non-negative dot product. `[B5]` Rotations are f32, or
//!   normalised integers of 16 bits where that was asked for (see `quantize`); everything else is f32.
//! - A baked node that has a `matrix` gets translation, rotation and scale instead: *glTF 2.0 §3.5.3* wants it so for
//!   animated nodes.
//! - Primitives get other accessors of joints and weights, and lose the sets that they no longer need (see `weights`);
//!   the old accessors stay in the file, unused.
//!
//! Where the new bytes go: in a GLB whose buffer 0 is the BIN chunk (or that has no buffer), behind that chunk's
//! bytes; in a GLB whose buffer 0 has a `uri`, into a new buffer embedded as a `data:` URI, because only buffer 0 may
//! be the BIN chunk and moving the others would touch every buffer view; for a `.gltf`, into a new file beside it
//! that holds nothing else.

use std::path::{Path, PathBuf};

use crate::assets::Error;
use crate::assets::container::{Container, Form};

mod additions;
mod channels;
mod keys;
mod output;
mod quantize;
mod splice;
mod springs;
pub(super) mod weights;
mod write;

use additions::Additions;
use keys::LaidOut;
pub use quantize::QUANTIZATION_DEG;
use splice::Document;
pub use write::{Written, refuse_same, same_place, write, write_file, write_through};

/// Part of the name of the file that takes the keys of a `.gltf`.
const BAKED: &str = "baked";

/// A clip with the simulated motion, ready to be written.
#[derive(Clone, Debug, PartialEq)]
pub struct BakedClip {
    /// Where it goes.
    pub target: BakedTarget,
    /// Times of the frames in seconds: finite, ≥ 0, strictly increasing, at least one.
    pub times: Vec<f32>,
    /// What was simulated; at most one track per node and property.
    pub tracks: Vec<BakedTrack>,
}

/// Which animation of the file a baked clip becomes part of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BakedTarget {
    /// The animation with this index: baked tracks replace its channels of the same node and property, or join them.
    Animation(usize),
    /// A new animation of this name, behind those that exist; needs at least one track.
    New(String),
}

/// The baked motion of one property of one node.
#[derive(Clone, Debug, PartialEq)]
pub struct BakedTrack {
    /// Index of the node in the file.
    pub node: usize,
    /// One value per time of the clip.
    pub values: BakedValues,
    /// Which times have a key, ascending, at least one; `None`: all. See [`crate::assets::reduce`]: a track
    /// with fewer keys has times of its own unless another has the same keys.
    pub keys: Option<Vec<u32>>,
}

/// The property and its values against the parent.
#[derive(Clone, Debug, PartialEq)]
pub enum BakedValues {
    /// Unit quaternions (x, y, z, w).
    Rotation(Vec<[f32; 4]>),
    /// In the parent's units.
    Translation(Vec<[f32; 3]>),
    /// Dimensionless, per axis.
    Scale(Vec<[f32; 3]>),
    /// Morph weights of the node's mesh.
    Weights {
        /// Numbers per value: the mesh's morph targets, ≥ 1.
        count: usize,
        /// `count` numbers per time, flat.
        values: Vec<f32>,
    },
}

impl BakedValues {
    /// Numbers per value.
    pub fn width(&self) -> usize {
        match self {
            Self::Rotation(_) => 4,
            Self::Translation(_) | Self::Scale(_) => 3,
            Self::Weights { count, .. } => *count,
        }
    }
}

/// How to patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PatchOptions {
    /// Takes the spring bones of a VRM out, which a viewer would simulate on top of the baked motion. Default: they
    /// stay, with a warning, because whoever bakes one clip may still want them for others.
    pub strip_springs: bool,
    /// Stores rotations as normalised integers of 16 bits, half the bytes: each key turns by at most
    /// [`QUANTIZATION_DEG`], see [`Patched::quantization`]. Default: f32, bit for bit what was baked.
    pub quantize: bool,
}

/// Files to be written by [`write()`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patched {
    /// The bytes of the `.glb` or `.gltf`.
    pub main: Vec<u8>,
    /// Further new files: path relative to the output's folder, and bytes. At most one, for a `.gltf`.
    pub side_files: Vec<(PathBuf, Vec<u8>)>,
    /// Files that the model refers to by relative path and that have to be beside the output too.
    pub copies: Vec<FileCopy>,
    /// What the user should know, one sentence each.
    pub warnings: Vec<String>,
    /// Per clip, the largest angle between a rotation key and what is read for it, radians, at most
    /// [`QUANTIZATION_DEG`]; empty where rotations are stored as f32.
    pub quantization: Vec<f64>,
}

/// A file that the model refers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileCopy {
    /// Where it is.
    pub from: PathBuf,
    /// Where the model expects it, relative to its folder; may lead out of it.
    pub relative: PathBuf,
    /// What refers to it: `/images/3`.
    pub place: String,
}

/// Puts `clips` into the file `container` was read from, to be written as `out`. Touches no file.
///
/// `out` decides the name of the file that holds the keys of a `.gltf`; its extension has to fit the container.
///
/// # Errors
/// [`Error::Gltf`] when the file's JSON is not what patching depends on; [`Error::Request`] when a clip names an
/// animation or a node that does not exist or names one twice, when times or values are not as [`BakedClip`] wants
/// them, when `out` has another extension than the container's, or when a GLB would pass its limit of 4 GiB.
pub fn patch(
    container: &Container,
    clips: &[BakedClip],
    options: PatchOptions,
    out: &Path,
) -> Result<Patched, Error> {
    check_extension(container.form, out)?;
    let mut document = Document::open(container)?;
    let mut warnings = Vec::new();
    keys::check(clips)?;
    channels::check_targets(&document, clips)?;
    let home = output::Home::find(&document, container, out, BAKED)?;
    output::check_size(container, &home, keys::size(clips, options.quantize))?;

    let mut additions = Additions::new(&document, &home)?;
    let LaidOut {
        tracks,
        quantization,
    } = keys::lay_out(clips, options.quantize, &mut additions);
    let bytes = additions.add_to(&mut document)?;
    channels::connect(&mut document, clips, &tracks)?;
    channels::replace_matrices(&mut document, clips, &mut warnings)?;
    springs::treat(&mut document, options.strip_springs, &mut warnings)?;
    let copies = output::referenced_files(&document, container)?;
    let patched = output::assemble(document, container, home, bytes, copies, warnings)?;
    Ok(Patched {
        quantization,
        ..patched
    })
}

/// What a bake of a model writes beside its main file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whether the keys go into a file of their own: those of a `.gltf` do.
    pub keys_apart: bool,
    /// The files that the model refers to, each once.
    pub copies: Vec<FileCopy>,
}

impl Needs {
    /// The name of the file that takes the keys of `out`, in its folder.
    pub fn side_file(&self, out: &Path) -> Option<String> {
        let names = self.copies.iter().map(|copy| copy.relative.as_path());
        let free = || output::free_name(out, BAKED, &output::lower_case(names));
        self.keys_apart.then(free)
    }
}

/// What a bake of `container` will write beside its main file. Touches no file.
///
/// # Errors
/// [`Error::Gltf`] when the file's JSON is not what patching depends on.
pub fn needs(container: &Container) -> Result<Needs, Error> {
    let document = Document::open(container)?;
    Ok(Needs {
        keys_apart: container.form == Form::Gltf,
        copies: output::referenced_files(&document, container)?,
    })
}

/// Whether `out` can be written, before the work that leads to it is done: its extension fits the container, and its
/// folder exists.
///
/// # Errors
/// [`Error::Request`] that says what is wrong.
pub fn check_output(form: Form, out: &Path) -> Result<(), Error> {
    check_extension(form, out)?;
    check_folder(out)
}

/// Whether the folder of `out` exists.
///
/// # Errors
/// [`Error::Request`] that names both.
pub fn check_folder(out: &Path) -> Result<(), Error> {
    let folder = write::folder_of(out);
    if !folder.is_dir() {
        return Err(Error::Request(format!(
            "{}: folder {} does not exist",
            out.display(),
            folder.display()
        )));
    }
    Ok(())
}

/// Refuses a name that says another container than the model has.
pub(super) fn check_extension(form: Form, out: &Path) -> Result<(), Error> {
    let extension = out.extension().unwrap_or_default().to_ascii_lowercase();
    let (right, is, expected): (&[&str], _, _) = match form {
        Form::Glb => (&["glb", "vrm"], "a binary glTF", ".glb or .vrm"),
        Form::Gltf => (&["gltf"], "a text glTF", ".gltf"),
    };
    if !right.iter().any(|right| extension == *right) {
        return Err(Error::Request(format!(
            "{}: the model is {is} and stays one; the output should end in {expected}",
            out.display()
        )));
    }
    Ok(())
}
