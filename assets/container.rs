//! The glTF container: a `.glb` or a `.gltf` with its buffers, read whole and checked for size.
//!
//! Only buffers are read; images and other files that the JSON names are never opened. Which files a URI may name is
//! in `uri.rs`. Nothing is allocated that a few sizes of the files involved do not cover.
//!
//! *glTF 2.0 §4* (GLB), *§3.6.1* (buffers). GLB chunks of unknown types are skipped, as the format asks of readers, and
//! so are bytes after the length that the header gives.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::Error;
use super::json::{self, Fault, Object, Size, Text, present, quote};

mod glb;
mod uri;

/// A glTF file as bytes: what reading starts from and baking patches.
#[derive(Clone, Debug)]
pub struct Container {
    /// The file.
    pub file: PathBuf,
    /// Binary (`.glb`) or text (`.gltf`) container, told by the content, not by the name.
    pub form: Form,
    /// The JSON text: the GLB's JSON chunk without its padding, or the whole `.gltf` (without a byte order mark).
    pub json: String,
    /// The bytes of each entry of `/buffers`, in file order, at least `byteLength` long; `None` for a buffer that has
    /// no bytes of its own (the placeholder that `EXT_meshopt_compression` decodes into). Reading refuses the file
    /// only if motion is stored there.
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

/// How often buffers may name one external file. Each use is its own copy in memory; real files name theirs once.
const MAX_FILE_USES: usize = 4;

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    asset: Object<Asset<'a>>,
    #[serde(borrow, default)]
    buffers: Vec<Object<Buffer<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asset<'a> {
    #[serde(borrow)]
    version: Text<'a>,
    #[serde(borrow, default, deserialize_with = "present")]
    min_version: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Buffer<'a> {
    byte_length: Size,
    #[serde(borrow, default, deserialize_with = "present")]
    uri: Option<Text<'a>>,
}

/// Reads a `.glb` or `.gltf` with all its buffers.
///
/// # Errors
/// [`Error::Io`] when the file cannot be read; otherwise as [`from_bytes`].
pub fn read(file: &Path) -> Result<Container, Error> {
    let io = |error| Error::io(file, "read", error);
    if !fs::metadata(file).map_err(io)?.is_file() {
        return Err(Error::gltf(
            file,
            "file",
            "a directory or a device",
            "a regular file",
        ));
    }
    from_bytes(file, fs::read(file).map_err(io)?)
}

/// Reads a glTF file from memory; external buffers are looked up beside `file`, which itself is not opened.
///
/// # Errors
/// [`Error::Gltf`] with a JSON pointer or a part of the container:
/// - a GLB whose header or chunks do not fit the bytes, or of another version than 2;
/// - text that is not UTF-8, has arrays and objects more than 127 deep, or is not JSON where buffers and version should
///   be; the rest of the text is checked by those who read it;
/// - `asset.version` missing or not 2.x, `asset.minVersion` above 2.0;
/// - a buffer whose bytes are missing, shorter than its `byteLength`, or named by a URI that is not allowed.
pub fn from_bytes(file: &Path, bytes: Vec<u8>) -> Result<Container, Error> {
    open(file, bytes).map_err(|fault| fault.in_file(file))
}

fn open(file: &Path, bytes: Vec<u8>) -> Result<Container, Fault> {
    if bytes.is_empty() {
        return Err(Fault::new("file", "no bytes", "a glTF file"));
    }
    let (form, json, bin) = if bytes.starts_with(glb::MAGIC) {
        let (json, bin) = glb::split(bytes)?;
        (Form::Glb, json, bin)
    } else {
        let json = bytes.strip_prefix(b"\xEF\xBB\xBF").map(<[u8]>::to_vec);
        (Form::Gltf, json.unwrap_or(bytes), None)
    };
    let json = String::from_utf8(json).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Fault::new(
            "JSON text",
            format!("bytes that are not UTF-8 at {at}"),
            "UTF-8",
        )
    })?;
    let head = parse_head(&json)?;
    let directory = match file.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let buffers = read_buffers(directory, form, &head.buffers, bin)?;
    Ok(Container {
        file: file.to_path_buf(),
        form,
        json,
        buffers,
    })
}

/// The parts of the JSON that say which version it is and which buffers there are.
///
/// The rest is looked at only for its depth: whoever reads it parses it anyway, and this takes a third of the time.
fn parse_head(json: &str) -> Result<Head<'_>, Fault> {
    let [asset, buffers] = json::outline(json, ["asset", "buffers"])?;
    let asset = asset.and_then(|text| json::parse::<Object<Asset>>(text).ok());
    if let Some(asset) = &asset {
        // Before anything else: a file of another version breaks the rules of this one in many places.
        check_version(asset)?;
    }
    let buffers = buffers.map_or(Ok(Vec::new()), json::parse);
    if let (Some(asset), Ok(buffers)) = (asset, buffers) {
        return Ok(Head { asset, buffers });
    }
    // Something is wrong, and only the whole text says where.
    let Object(head) = json::parse::<Object<Head>>(json)?;
    check_version(&head.asset)?;
    Ok(head)
}

fn check_version(asset: &Asset) -> Result<(), Fault> {
    let major = |version: &str| version.split_once('.').map(|(major, _)| major == "2");
    if major(&asset.version) != Some(true) {
        let found = quote(&asset.version);
        return Err(Fault::new(
            "/asset/version",
            found,
            "\"2.0\", or another 2.x",
        ));
    }
    match asset.min_version.as_deref() {
        None | Some("2.0") => Ok(()),
        Some(newer) => Err(Fault::new("/asset/minVersion", quote(newer), "\"2.0\"")),
    }
}

fn read_buffers(
    directory: &Path,
    form: Form,
    buffers: &[Object<Buffer>],
    mut bin: Option<Vec<u8>>,
) -> Result<Vec<Option<Vec<u8>>>, Fault> {
    let mut uses = BTreeMap::new();
    let mut read = Vec::with_capacity(buffers.len());
    for (index, buffer) in buffers.iter().enumerate() {
        let place = |member: &str| format!("/buffers/{index}/{member}");
        let bytes = match &buffer.uri {
            Some(uri) => Some(read_uri(
                directory,
                uri,
                buffer.byte_length,
                &place,
                &mut uses,
            )?),
            None if form == Form::Glb && index == 0 => bin.take(),
            None => None,
        };
        let length = bytes.as_ref().map_or(u64::MAX, |bytes| bytes.len() as u64);
        if length < buffer.byte_length.0 {
            let found = buffer.byte_length.0.to_string();
            return Err(Fault::new(
                place("byteLength"),
                found,
                format!("at most {length}, the bytes there are"),
            ));
        }
        read.push(bytes);
    }
    Ok(read)
}

/// The first `length` bytes of what `uri` names.
fn read_uri(
    directory: &Path,
    uri: &str,
    length: Size,
    place: &dyn Fn(&str) -> String,
    uses: &mut BTreeMap<PathBuf, usize>,
) -> Result<Vec<u8>, Fault> {
    let refuse = |(found, expected)| Fault::new(place("uri"), found, expected);
    if let Some(bytes) = uri::data(uri) {
        return bytes.map_err(refuse);
    }
    let path = uri::file(directory, uri).map_err(refuse)?;
    let times = uses.entry(path.clone()).or_insert(0);
    *times += 1;
    if *times > MAX_FILE_USES {
        let expected = format!("each file in at most {MAX_FILE_USES} buffers");
        return Err(Fault::new(place("uri"), quote(uri), expected));
    }
    let io = |error: std::io::Error| {
        let found = format!("{} ({})", quote(uri), error.kind());
        Fault::new(place("uri"), found, "a readable file")
    };
    let file = File::open(&path).map_err(io)?;
    let there = file.metadata().map_err(io)?.len();
    if there < length.0 {
        let expected = format!("at most {there}, the size of {}", quote(uri));
        return Err(Fault::new(
            place("byteLength"),
            length.0.to_string(),
            expected,
        ));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(length.0).unwrap_or(0));
    file.take(length.0).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINIMAL: &str = r#"{"asset":{"version":"2.0"}}"#;

    fn refusal(bytes: &[u8]) -> String {
        match from_bytes(Path::new("test.glb"), bytes.to_vec()) {
            Ok(_) => panic!("accepted: {}", String::from_utf8_lossy(bytes)),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn versions_other_than_2_are_refused_as_such() {
        for (json, part) in [
            (
                r#"{"asset":{"version":"1.0"},"buffers":{}}"#,
                "/asset/version: found \"1.0\"",
            ),
            (r#"{"asset":{"version":"3.0"}}"#, "/asset/version"),
            (r#"{"asset":{"version":"2"}}"#, "/asset/version"),
            (
                r#"{"asset":{"version":2.0}}"#,
                "/asset/version: found invalid type",
            ),
            (
                r#"{"asset":{"version":"2.0","minVersion":"2.1"}}"#,
                "/asset/minVersion",
            ),
            (r#"{"asset":{}}"#, "/asset: found no member `version`"),
            ("{}", "no member `asset`"),
        ] {
            let message = refusal(json.as_bytes());
            assert!(message.contains(part), "{message}\nlacks {part}");
        }
    }

    #[test]
    fn a_byte_order_mark_is_tolerated() {
        let bytes = [b"\xEF\xBB\xBF", MINIMAL.as_bytes()].concat();
        assert_eq!(
            from_bytes(Path::new("x.gltf"), bytes).unwrap().json,
            MINIMAL
        );
    }

    #[test]
    fn sec_01_buffers_have_the_bytes_they_claim() {
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join("a.bin"), [1, 2, 3, 4]).unwrap();
        let file = home.path().join("x.gltf");
        let read = |buffers: &str| {
            let json = format!("{{\"asset\":{{\"version\":\"2.0\"}},\"buffers\":[{buffers}]}}");
            from_bytes(&file, json.into_bytes())
        };
        let shorter = read(r#"{"byteLength":3,"uri":"a.bin"}"#).unwrap();
        assert_eq!(shorter.buffers, [Some(vec![1, 2, 3])]);
        let embedded =
            read(r#"{"byteLength":1,"uri":"data:;base64,AQI="},{"byteLength":9}"#).unwrap();
        assert_eq!(embedded.buffers, [Some(vec![1, 2]), None]);
        let use_of_a = r#"{"byteLength":4,"uri":"a.bin"}"#;
        for (buffers, part) in [
            (
                r#"{"byteLength":5,"uri":"a.bin"}"#.to_owned(),
                "/buffers/0/byteLength: found 5, expected at most 4",
            ),
            (
                r#"{"byteLength":1099511627776,"uri":"data:;base64,AQI="}"#.to_owned(),
                "/buffers/0/byteLength",
            ),
            (
                r#"{"byteLength":1099511627776,"uri":"a.bin"}"#.to_owned(),
                "/buffers/0/byteLength",
            ),
            (
                r#"{"byteLength":-1,"uri":"a.bin"}"#.to_owned(),
                "/buffers/0/byteLength",
            ),
            (
                r#"{"uri":"a.bin"}"#.to_owned(),
                "/buffers/0: found no member `byteLength`",
            ),
            (
                r#"{"byteLength":1,"uri":"../a.bin"}"#.to_owned(),
                "/buffers/0/uri: found \"../a.bin\"",
            ),
            (
                r#"{"byteLength":1,"uri":"b.bin"}"#.to_owned(),
                "/buffers/0/uri: found \"b.bin\"",
            ),
            (
                r#"{"byteLength":1,"uri":null}"#.to_owned(),
                "/buffers/0/uri",
            ),
            ([use_of_a; 5].join(","), "/buffers/4/uri"),
        ] {
            let message = read(&buffers).unwrap_err().to_string();
            assert!(message.contains(part), "{message}\nlacks {part}");
        }
    }

    #[test]
    fn a_directory_is_not_a_file() {
        let home = tempfile::tempdir().unwrap();
        let message = read(home.path()).unwrap_err().to_string();
        assert!(message.contains("expected a regular file"), "{message}");
        let missing = read(&home.path().join("no.glb")).unwrap_err().to_string();
        assert!(missing.contains("cannot read"), "{missing}");
    }
}
