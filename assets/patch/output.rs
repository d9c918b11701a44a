//! Output: where the new bytes live, and the bytes of the patched container.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde::Deserialize;

use crate::assets::Error;
use crate::assets::container::{Container, Form};
use crate::assets::json::Object;
use crate::assets::patch::splice::Document;
use crate::assets::patch::{FileCopy, Patched};

/// Characters of a file name that a URI may have as they are. *RFC 3986 §2.3*
const FILE_NAME: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// Bytes of a GLB around its two chunks: the header and two chunk headers. *glTF 2.0 §4.4*
const GLB_OVERHEAD: u64 = 28;
const GLB_JSON: [u8; 4] = *b"JSON";
const GLB_BIN: [u8; 4] = *b"BIN\0";

/// The buffer that takes the new bytes.
pub(super) enum Home {
    /// The BIN chunk: the file's buffer 0, or the first buffer of a file that has none.
    Bin {
        /// Where the new bytes begin, a multiple of 4.
        start: usize,
    },
    /// A new buffer in the JSON, as a `data:` URI.
    Embedded {
        /// Its index.
        buffer: usize,
    },
    /// A new buffer in a file of its own.
    Side {
        /// Its index.
        buffer: usize,
        /// The file's name.
        name: String,
    },
}

/// What matters of a buffer or an image.
#[derive(Deserialize)]
struct Resource {
    uri: Option<String>,
}

impl Home {
    /// Where the new bytes of `container` go when it is written to `out`; `kind` is part of the name of a new file:
    /// "baked".
    pub(super) fn find(
        document: &Document<'_>,
        container: &Container,
        out: &Path,
        kind: &str,
    ) -> Result<Self, Error> {
        let buffers = resources(document, "buffers")?;
        let buffer = buffers.len();
        match container.form {
            Form::Gltf => {
                let images = resources(document, "images")?;
                let taken: Vec<&str> = buffers
                    .iter()
                    .chain(&images)
                    .filter_map(|it| it.uri.as_deref())
                    .collect();
                let name = side_name(out, kind, &taken);
                Ok(Self::Side { buffer, name })
            }
            Form::Glb => match (buffers.first(), container.buffers.first()) {
                (None, _) => Ok(Self::Bin { start: 0 }),
                (Some(Resource { uri: None }), Some(Some(bytes))) => Ok(Self::Bin {
                    start: bytes.len().next_multiple_of(4),
                }),
                _ => Ok(Self::Embedded { buffer }),
            },
        }
    }

    /// Index of the buffer.
    pub(super) fn buffer(&self) -> usize {
        match self {
            Self::Bin { .. } => 0,
            Self::Embedded { buffer } | Self::Side { buffer, .. } => *buffer,
        }
    }

    /// Where the new bytes begin in the buffer.
    pub(super) fn start(&self) -> usize {
        match self {
            Self::Bin { start } => *start,
            Self::Embedded { .. } | Self::Side { .. } => 0,
        }
    }
}

/// The entries of the root object's array `key`.
fn resources(document: &Document<'_>, key: &str) -> Result<Vec<Resource>, Error> {
    let elements = document
        .top_array(key)?
        .map_or(Vec::new(), |array| array.elements);
    let read = |(i, text)| {
        let Object(resource) = document.typed(&format!("/{key}/{i}"), text)?;
        Ok(resource)
    };
    elements.into_iter().enumerate().map(read).collect()
}

/// A name for the new file beside `out` that none of the `taken` URIs means: `walk.baked.bin`, `walk.baked-2.bin`, …
///
/// It depends on nothing but its arguments. Names that differ in case only count as equal, as some systems have it.
fn side_name(out: &Path, kind: &str, taken: &[&str]) -> String {
    let paths: Vec<PathBuf> = taken.iter().filter_map(|uri| relative_path(uri)).collect();
    free_name(out, kind, &lower_case(paths.iter().map(PathBuf::as_path)))
}

/// Paths as some systems compare them.
pub(super) fn lower_case<'p>(paths: impl Iterator<Item = &'p Path>) -> BTreeSet<String> {
    paths
        .map(|path| path.to_string_lossy().to_lowercase())
        .collect()
}

/// As [`side_name`], with the `taken` paths in lower case.
pub(super) fn free_name(out: &Path, kind: &str, taken: &BTreeSet<String>) -> String {
    let stem = out.file_stem().unwrap_or_default().to_string_lossy();
    let mut name = format!("{stem}.{kind}.bin");
    let mut number = 2_u32;
    while taken.contains(&name.to_lowercase()) {
        name = format!("{stem}.{kind}-{number}.bin");
        number += 1;
    }
    name
}

/// The path that a relative URI means, with `..` at its beginning only; `None` for absolute URIs (`data:`, `http:`,
/// `/…`) and for what no system takes for the same path: backslashes, colons, NUL.
fn relative_path(uri: &str) -> Option<PathBuf> {
    let path = percent_decode_str(uri).decode_utf8().ok()?;
    if path.contains(['\\', ':', '\0']) || path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    (!parts.is_empty()).then(|| parts.iter().collect())
}

/// The files that the model's buffers and images refer to, each once.
pub(super) fn referenced_files(
    document: &Document<'_>,
    container: &Container,
) -> Result<Vec<FileCopy>, Error> {
    let folder = container.file.parent().unwrap_or(Path::new(""));
    let mut seen = BTreeSet::new();
    let mut copies = Vec::new();
    for key in ["buffers", "images"] {
        for (i, resource) in resources(document, key)?.into_iter().enumerate() {
            let Some(relative) = resource.uri.as_deref().and_then(relative_path) else {
                continue;
            };
            if seen.insert(relative.clone()) {
                copies.push(FileCopy {
                    from: folder.join(&relative),
                    relative,
                    place: format!("/{key}/{i}"),
                });
            }
        }
    }
    Ok(copies)
}

/// Refuses a GLB whose length would not fit into its 32-bit header, before anything large is made.
pub(super) fn check_size(container: &Container, home: &Home, new: u64) -> Result<(), Error> {
    if container.form == Form::Gltf {
        return Ok(());
    }
    let new = match home {
        Home::Embedded { .. } => new.div_ceil(3) * 4,
        Home::Bin { .. } | Home::Side { .. } => new,
    };
    glb_length(container.json.len() as u64, home.start() as u64 + new).map(|_| ())
}

/// Length of a GLB with chunks of these sizes.
fn glb_length(json: u64, bin: u64) -> Result<u32, Error> {
    let length = GLB_OVERHEAD + json.next_multiple_of(4) + bin.next_multiple_of(4);
    u32::try_from(length).map_err(|_| {
        Error::Request(format!(
            "the output would have {length} bytes; a GLB can have {}: bake fewer clips, at a lower rate or with key \
             reduction, or start from a .gltf",
            u32::MAX
        ))
    })
}

/// Finishes the JSON and puts it together with the binary data.
pub(super) fn assemble(
    mut document: Document<'_>,
    container: &Container,
    home: Home,
    new: Vec<u8>,
    copies: Vec<FileCopy>,
    warnings: Vec<String>,
) -> Result<Patched, Error> {
    let mut side_files = Vec::new();
    let old = match home {
        Home::Bin { .. } => container.buffers.first().and_then(Option::as_deref),
        Home::Embedded { .. } | Home::Side { .. } => None,
    };
    // Models are large, and copied once: into the output.
    let mut bin = old.map(|old| Bin {
        old,
        new: Vec::new(),
    });
    if !new.is_empty() {
        let length = home.start() + new.len();
        match home {
            Home::Bin { start } => {
                set_bin_length(&mut document, length)?;
                let old = old.unwrap_or_default();
                debug_assert_eq!(
                    start,
                    old.len().next_multiple_of(4),
                    "new bytes are aligned"
                );
                bin = Some(Bin { old, new });
            }
            Home::Embedded { .. } => {
                let data = BASE64_STANDARD.encode(&new);
                let uri = format!("data:application/gltf-buffer;base64,{data}");
                push_buffer(&mut document, length, &uri)?;
            }
            Home::Side { name, .. } => {
                push_buffer(
                    &mut document,
                    length,
                    &utf8_percent_encode(&name, FILE_NAME).to_string(),
                )?;
                side_files.push((PathBuf::from(name), new));
            }
        }
    }
    let json = document.finish();
    let main = match container.form {
        Form::Gltf => json.into_bytes(),
        Form::Glb => glb(json.into_bytes(), bin.as_ref())?,
    };
    Ok(Patched {
        main,
        side_files,
        copies,
        warnings,
        quantization: Vec::new(),
    })
}

/// Gives buffer 0 the new length, or makes it.
fn set_bin_length(document: &mut Document<'_>, length: usize) -> Result<(), Error> {
    let buffers = document.top_array("buffers")?;
    match buffers.and_then(|buffers| buffers.elements.first().copied()) {
        Some(buffer) => {
            let buffer = document.object("/buffers/0", buffer)?;
            document.set(&buffer, "byteLength", &length.to_string());
            Ok(())
        }
        None => document.push_top("buffers", &[format!("{{\"byteLength\":{length}}}")]),
    }
}

fn push_buffer(document: &mut Document<'_>, length: usize, uri: &str) -> Result<(), Error> {
    document.push_top(
        "buffers",
        &[format!("{{\"byteLength\":{length},\"uri\":\"{uri}\"}}")],
    )
}

/// The bytes of a BIN chunk.
struct Bin<'a> {
    /// Those of the model, padded with zeros where new ones follow.
    old: &'a [u8],
    new: Vec<u8>,
}

impl Bin<'_> {
    fn len(&self) -> usize {
        if self.new.is_empty() {
            self.old.len()
        } else {
            self.old.len().next_multiple_of(4) + self.new.len()
        }
    }
}

/// A GLB of these chunks, padded as *glTF 2.0 §4.4.3* wants: JSON with spaces, BIN with zeros.
fn glb(mut json: Vec<u8>, bin: Option<&Bin<'_>>) -> Result<Vec<u8>, Error> {
    json.resize(json.len().next_multiple_of(4), b' ');
    let bin_length = bin.map_or(0, Bin::len);
    let length = glb_length(json.len() as u64, bin_length as u64)?;
    let length = if bin.is_none() { length - 8 } else { length };
    let mut out = Vec::with_capacity(length as usize);
    out.extend_from_slice(b"glTF");
    out.extend_from_slice(&2_u32.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
    let mut chunk = |kind: [u8; 4], length: usize, parts: [&[u8]; 2]| {
        // Both fit: the length of the whole does.
        out.extend_from_slice(&(length.next_multiple_of(4) as u32).to_le_bytes());
        out.extend_from_slice(&kind);
        for part in parts {
            // Headers are multiples of 4, so that this aligns within the chunk.
            out.extend_from_slice(part);
            out.resize(out.len().next_multiple_of(4), 0);
        }
    };
    chunk(GLB_JSON, json.len(), [&json, &[]]);
    if let Some(bin) = bin {
        chunk(GLB_BIN, bin.len(), [bin.old, &bin.new]);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_glb_beyond_four_gibibytes_is_refused_before_it_is_made() {
        assert_eq!(glb_length(1, 2).unwrap(), 28 + 4 + 4);
        let most = u64::from(u32::MAX) - 3;
        assert!(glb_length(100, most - 128).is_ok());
        let error = glb_length(100, most - 127).unwrap_err().to_string();
        assert!(error.contains("4294967296 bytes"), "{error}");
    }

    #[test]
    fn the_new_file_takes_no_name_that_the_model_uses() {
        let out = Path::new("out/walk.gltf");
        assert_eq!(side_name(out, "baked", &["walk.bin"]), "walk.baked.bin");
        let taken = ["./Walk.Baked.bin", "walk.baked%2D2.bin"];
        assert_eq!(side_name(out, "baked", &taken), "walk.baked-3.bin");
    }

    #[test]
    fn only_relative_uris_mean_files() {
        for uri in [
            "data:;base64,",
            "http://a/b.png",
            "/etc/passwd",
            "C:\\a.png",
            "\\\\host\\a",
            "",
            ".",
            "dir/a:b.png",
            "%2fetc/passwd",
        ] {
            assert_eq!(relative_path(uri), None, "{uri}");
        }
        for (uri, path) in [
            ("a%20b.png", "a b.png"),
            ("./maps/a.png", "maps/a.png"),
            ("../a.png", "../a.png"),
            ("a/../b.png", "b.png"),
            ("a/../../b.png", "../b.png"),
            ("A..B.png", "A..B.png"),
            ("%2e%2e/a.png", "../a.png"),
        ] {
            assert_eq!(relative_path(uri), Some(path.into()), "{uri}");
        }
    }
}
