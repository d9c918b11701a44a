//! The URIs of buffers: `data:` URIs decode to bytes, all others must name a file beside or below the model.
//!
//! A model comes from anywhere and may name any path, so nothing is opened before the path is known to stay inside the
//! model's own directory: after percent-decoding, and after symbolic links. *glTF 2.0 §2.8*, *RFC 3986*, *RFC 2397*

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use percent_encoding::percent_decode_str;

use crate::assets::json::quote;

/// Why a URI was refused: found, expected.
pub(super) type Refusal = (String, String);

/// Some exporters leave the padding out.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The bytes of a `data:` URI, in base64 or percent-encoded; `None` when `uri` is not one.
pub(super) fn data(uri: &str) -> Option<Result<Vec<u8>, Refusal>> {
    let is_data = uri.get(..5)?.eq_ignore_ascii_case("data:");
    is_data.then(|| decode(&uri[5..]).map_err(|why| (why, "a data URI with base64".to_owned())))
}

/// `[media type][;base64],DATA`.
fn decode(rest: &str) -> Result<Vec<u8>, String> {
    let (head, body) = rest.split_once(',').ok_or("a data URI without a comma")?;
    let body: Cow<[u8]> = if body.contains('%') {
        percent_decode_str(body).into()
    } else {
        body.as_bytes().into()
    };
    if !head.to_ascii_lowercase().ends_with(";base64") {
        return Ok(body.into_owned());
    }
    BASE64
        .decode(body)
        .map_err(|error| format!("a data URI with broken base64 ({error})"))
}

/// The regular file that a relative `uri` names, inside `directory` after all links are followed.
///
/// Refused: an empty URI, any scheme, an absolute path, `..` that leaves the directory (also written `%2e%2e`), a
/// backslash, a colon (drive letters, alternate streams), a NUL, bytes that are not UTF-8, a link that leads outside,
/// whatever is not a regular file. Names that merely contain dots (`A..B.bin`) are names.
pub(super) fn file(directory: &Path, uri: &str) -> Result<PathBuf, Refusal> {
    let refuse = |expected: &str| (quote(uri), expected.to_owned());
    if let Some(scheme) = scheme(uri) {
        return Err((
            format!("{} with the scheme {}", quote(uri), quote(scheme)),
            "a relative file URI or a data URI".to_owned(),
        ));
    }
    let path = percent_decode_str(uri)
        .decode_utf8()
        .map_err(|_| refuse("a URI that decodes to UTF-8"))?;
    let inside = stays_inside(&path).map_err(refuse)?;
    let target = directory.join(inside);
    let io = |error: std::io::Error| {
        // The kind and not the error: its words are the same on every system.
        let found = format!("{} ({})", quote(uri), error.kind());
        (found, "a file in the model's directory".to_owned())
    };
    // Links are followed before anything is opened, and only regular files are opened: a device or a pipe can block.
    let home = fs::canonicalize(directory).map_err(io)?;
    let real = fs::canonicalize(&target).map_err(io)?;
    if !real.starts_with(&home) {
        return Err(refuse(
            "a file inside the model's directory, not a link out of it",
        ));
    }
    if !fs::metadata(&real).map_err(io)?.is_file() {
        return Err(refuse("a regular file"));
    }
    Ok(real)
}

/// What stands before the first colon, if it can be a scheme. *RFC 3986 §3.1*
fn scheme(uri: &str) -> Option<&str> {
    let (scheme, _) = uri.split_once(':')?;
    let first = scheme.starts_with(|c: char| c.is_ascii_alphabetic());
    let rest = scheme
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
    (first && rest).then_some(scheme)
}

/// The decoded path without `.` and `..`, or what is expected of one.
fn stays_inside(path: &str) -> Result<PathBuf, &'static str> {
    if path.contains(['\\', '\0', ':']) {
        return Err("a path without backslash, colon and NUL");
    }
    if path.starts_with('/') {
        return Err("a relative path");
    }
    let mut inside = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                inside
                    .pop()
                    .ok_or("a path that does not leave the model's directory")?;
            }
            name => inside.push(name),
        }
    }
    if inside.is_empty() {
        return Err("the path of a file");
    }
    Ok(inside.iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn home() -> tempfile::TempDir {
        let home = tempfile::tempdir().unwrap();
        fs::create_dir(home.path().join("model")).unwrap();
        fs::create_dir(home.path().join("model/sub")).unwrap();
        for name in [
            "outside.bin",
            "model/A..B.bin",
            "model/x y.bin",
            "model/sub/ä.bin",
        ] {
            fs::write(home.path().join(name), b"x").unwrap();
        }
        home
    }

    #[test]
    fn sec_03_files_inside_the_directory_are_found() {
        let home = home();
        let model = home.path().join("model");
        for uri in [
            "A..B.bin",
            "./A..B.bin",
            "x%20y.bin",
            "x y.bin",
            "sub/../A..B.bin",
            "sub/%C3%A4.bin",
            "sub/ä.bin",
        ] {
            assert!(file(&model, uri).is_ok(), "{uri}");
        }
    }

    #[test]
    fn sec_03_every_way_out_of_the_directory_is_refused() {
        let home = home();
        let model = home.path().join("model");
        let absolute = home.path().join("outside.bin").display().to_string();
        for uri in [
            "../outside.bin",
            "%2e%2e/outside.bin",
            "sub/../../outside.bin",
            "..\\outside.bin",
            "..%5Coutside.bin",
            "file:///etc/hostname",
            "http://example.org/x.bin",
            "C:/x.bin",
            "C%3A/x.bin",
            "\\\\host\\share\\x.bin",
            "//host/share/x.bin",
            "A..B.bin%00.png",
            "%ff.bin",
            "",
            ".",
            "sub",
            "missing.bin",
            &absolute,
        ] {
            assert!(file(&model, uri).is_err(), "{uri}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn sec_03_a_link_may_lead_within_but_not_out() {
        let home = home();
        let model = home.path().join("model");
        std::os::unix::fs::symlink("../outside.bin", model.join("out.bin")).unwrap();
        std::os::unix::fs::symlink("A..B.bin", model.join("in.bin")).unwrap();
        std::os::unix::fs::symlink("/dev/zero", model.join("zero.bin")).unwrap();
        assert!(file(&model, "in.bin").is_ok());
        assert!(file(&model, "out.bin").is_err());
        assert!(file(&model, "zero.bin").is_err());
    }

    #[test]
    fn data_uris_decode_with_and_without_padding() {
        let bytes = |uri| data(uri).unwrap().unwrap();
        assert_eq!(
            bytes("data:application/octet-stream;base64,AQID"),
            [1, 2, 3]
        );
        assert_eq!(bytes("DATA:;base64,AQI="), [1, 2]);
        assert_eq!(bytes("data:;base64,AQI%3D"), [1, 2]);
        assert_eq!(bytes("data:;base64,AQI"), [1, 2]);
        assert_eq!(bytes("data:application/gltf-buffer,a%00b"), *b"a\0b");
        for uri in ["data:", "data:;base64", "data:;base64,A*ID"] {
            assert!(data(uri).unwrap().is_err(), "{uri}");
        }
        assert!(data("datum.bin").is_none());
    }
}
