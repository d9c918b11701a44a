//! Reading glTF the plain way, so that tests do not judge the engine by its own reader.

use std::path::Path;

use flounce::assets::container::{Container, Form};
use serde_json::Value;

/// The chunks of a GLB, each with its padding, after checking all that *glTF 2.0 §4.4* says of lengths.
pub fn glb_chunks(bytes: &[u8]) -> (&[u8], Option<&[u8]>) {
    let number = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
    assert_eq!(&bytes[..4], b"glTF");
    assert_eq!(number(4), 2, "version");
    assert_eq!(number(8), bytes.len(), "length of the file");
    let json_length = number(12);
    assert_eq!(&bytes[16..20], b"JSON");
    assert_eq!(json_length % 4, 0, "length of the JSON chunk");
    let json = &bytes[20..20 + json_length];
    let rest = 20 + json_length;
    if rest == bytes.len() {
        return (json, None);
    }
    let bin_length = number(rest);
    assert_eq!(&bytes[rest + 4..rest + 8], b"BIN\0");
    assert_eq!(bin_length % 4, 0, "length of the BIN chunk");
    assert_eq!(
        rest + 8 + bin_length,
        bytes.len(),
        "nothing behind the BIN chunk"
    );
    (json, Some(&bytes[rest + 8..]))
}

/// A container with the bytes of its buffers; external ones are read beside the file.
pub fn load(file: &Path) -> Container {
    parse(file, &std::fs::read(file).unwrap())
}

/// As [`load`], from bytes that stand for `file`.
pub fn parse(file: &Path, bytes: &[u8]) -> Container {
    let (form, json, bin) = if bytes.starts_with(b"glTF") {
        let (json, bin) = glb_chunks(bytes);
        (Form::Glb, json, bin)
    } else {
        (Form::Gltf, bytes, None)
    };
    let json = String::from_utf8(json.to_vec()).unwrap();
    let json = json.trim_end_matches(' ').to_owned();
    let root: Value = serde_json::from_str(&json).unwrap();
    let buffers = list(&root, "buffers")
        .iter()
        .map(|buffer| match buffer["uri"].as_str() {
            None => bin.map(<[u8]>::to_vec),
            Some(uri) if uri.starts_with("data:") => None,
            Some(uri) => Some(std::fs::read(file.with_file_name(uri.replace("%20", " "))).unwrap()),
        });
    Container {
        file: file.to_path_buf(),
        form,
        buffers: buffers.collect(),
        json,
    }
}

/// The JSON as a tree, in order and with the numbers' text.
pub fn root(container: &Container) -> Value {
    serde_json::from_str(&container.json).unwrap()
}

/// The array `key`, empty when there is none.
pub fn list<'v>(value: &'v Value, key: &str) -> &'v [Value] {
    value[key].as_array().map_or(&[], Vec::as_slice)
}

/// An index or a count; absent means 0.
pub fn number(value: &Value) -> usize {
    value.as_u64().unwrap_or(0) as usize
}

/// The f32 of an unstrided accessor, with the layout rules checked that new accessors have to obey.
pub fn floats(container: &Container, root: &Value, accessor: usize) -> Vec<f32> {
    let accessor = &root["accessors"][accessor];
    assert_eq!(number(&accessor["componentType"]), 5126);
    let view = &root["bufferViews"][number(&accessor["bufferView"])];
    assert!(
        view.get("byteStride").is_none(),
        "no stride on animation data"
    );
    let width = match accessor["type"].as_str().unwrap() {
        "SCALAR" => 1,
        "VEC3" => 3,
        "VEC4" => 4,
        other => panic!("type {other}"),
    };
    let length = 4 * width * number(&accessor["count"]);
    let within = number(&accessor["byteOffset"]);
    assert!(
        within + length <= number(&view["byteLength"]),
        "accessor within its view"
    );
    let start = number(&view["byteOffset"]) + within;
    assert_eq!(start % 4, 0, "offset");
    let buffer = number(&view["buffer"]);
    assert!(start + length <= number(&root["buffers"][buffer]["byteLength"]));
    let bytes = container.buffers[buffer].as_ref().unwrap();
    let numbers = bytes[start..start + length].chunks_exact(4);
    numbers
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

/// The paths at which `new` differs from `old`: `path` for a changed value, `path+` for an added element or member,
/// `path-` for one that is gone. Members have to keep their order, numbers their text.
pub fn differences(old: &Value, new: &Value, path: &str, found: &mut Vec<String>) {
    match (old, new) {
        (Value::Object(a), Value::Object(b)) => {
            let kept = a.keys().filter(|key| b.contains_key(*key));
            let order = b.keys().filter(|key| a.contains_key(*key));
            assert!(kept.eq(order), "{path}: members keep their order");
            for (key, value) in a {
                match b.get(key) {
                    Some(other) => differences(value, other, &format!("{path}/{key}"), found),
                    None => found.push(format!("{path}/{key}-")),
                }
            }
            let added = b.keys().filter(|key| !a.contains_key(*key));
            found.extend(added.map(|key| format!("{path}/{key}+")));
        }
        (Value::Array(a), Value::Array(b)) => {
            for (i, (x, y)) in a.iter().zip(b).enumerate() {
                differences(x, y, &format!("{path}/{i}"), found);
            }
            found.extend((a.len()..b.len()).map(|i| format!("{path}/{i}+")));
            found.extend((b.len()..a.len()).map(|i| format!("{path}/{i}-")));
        }
        _ if old == new => {}
        _ => found.push(path.to_owned()),
    }
}
