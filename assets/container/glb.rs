//! The binary container: a header and chunks. *glTF 2.0 §4.4*

use std::ops::Range;

use crate::assets::json::{Fault, quote};

/// First bytes of a GLB.
pub(super) const MAGIC: &[u8; 4] = b"glTF";
/// Chunk type of the JSON text.
const JSON_CHUNK: &[u8; 4] = b"JSON";
/// Chunk type of buffer 0.
const BIN_CHUNK: &[u8; 4] = b"BIN\0";

/// Four bytes as a little-endian number, with the name of the place if they are not there.
fn word(bytes: &[u8], at: usize, place: &str) -> Result<u32, Fault> {
    let word = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
    let word = word.ok_or_else(|| {
        let found = format!("the end of the file at byte {}", bytes.len());
        Fault::new(place, found, "4 more bytes")
    })?;
    Ok(u32::from_le_bytes(*word))
}

/// The JSON chunk without its padding, and the BIN chunk. *glTF 2.0 §4.4*
pub(super) fn split(mut bytes: Vec<u8>) -> Result<(Vec<u8>, Option<Vec<u8>>), Fault> {
    let (json, bin) = chunks(&bytes)?;
    let bin = bin.map(|range| bytes[range].to_vec());
    // The JSON stays in the file's own memory, moved to its front: large files are not copied as a whole.
    bytes.truncate(json.end);
    bytes.drain(..json.start);
    bytes.shrink_to_fit();
    Ok((bytes, bin))
}

/// Where the JSON text and the BIN chunk are.
fn chunks(bytes: &[u8]) -> Result<(Range<usize>, Option<Range<usize>>), Fault> {
    let version = word(bytes, 4, "GLB header, version")?;
    if version != 2 {
        let found = version.to_string();
        return Err(Fault::new("GLB header, version", found, "2 (glTF 2.0)"));
    }
    let length = word(bytes, 8, "GLB header, length")?;
    let Some(bytes) = bytes.get(..length as usize) else {
        let expected = format!("at most {}, the size of the file", bytes.len());
        return Err(Fault::new(
            "GLB header, length",
            length.to_string(),
            expected,
        ));
    };
    let (mut json, mut bin) = (None, None);
    let mut at = 12;
    for index in 0.. {
        if at == bytes.len() {
            break;
        }
        let (kind, data) = chunk(bytes, at, index)?;
        let refuse = |expected| {
            let found = quote(&String::from_utf8_lossy(kind));
            Err(Fault::new(
                format!("GLB chunk {index}, type"),
                found,
                expected,
            ))
        };
        let start = at + 8;
        at = start + data.len();
        match (index, kind) {
            (0, JSON_CHUNK) => json = Some(start..start + without_padding(data).len()),
            (0, _) | (_, JSON_CHUNK) => return refuse("JSON in the first chunk and only there"),
            (1, BIN_CHUNK) => bin = Some(start..at),
            (_, BIN_CHUNK) => return refuse("BIN in the second chunk only"),
            _ => {}
        }
    }
    let json = json.ok_or_else(|| Fault::new("GLB", "no chunks", "a JSON chunk"))?;
    Ok((json, bin))
}

/// The JSON chunk without the spaces that fill it up; some exporters fill with zeros. *glTF 2.0 §4.4.3.2*
fn without_padding(json: &[u8]) -> &[u8] {
    let padding = json
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b' ' | 0));
    &json[..json.len() - padding.count()]
}

/// Type and data of the chunk that starts at `at`.
fn chunk(bytes: &[u8], at: usize, index: usize) -> Result<(&[u8; 4], &[u8]), Fault> {
    let length = word(bytes, at, &format!("GLB chunk {index}, length"))? as usize;
    let place = format!("GLB chunk {index}, type");
    word(bytes, at + 4, &place)?;
    let (kind, rest) = bytes[at + 4..]
        .split_first_chunk::<4>()
        .ok_or_else(|| Fault::new(place, "the end of the file", "4 more bytes"))?;
    let data = rest.get(..length).ok_or_else(|| {
        let place = format!("GLB chunk {index}, length");
        Fault::new(place, length.to_string(), format!("at most {}", rest.len()))
    })?;
    Ok((kind, data))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::assets::container::{Form, from_bytes};

    const MINIMAL: &str = r#"{"asset":{"version":"2.0"}}"#;

    fn glb(version: u32, chunks: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
        let mut bytes = b"glTF".to_vec();
        bytes.extend(version.to_le_bytes());
        bytes.extend([0; 4]);
        for (kind, data) in chunks {
            bytes.extend((data.len() as u32).to_le_bytes());
            bytes.extend(*kind);
            bytes.extend(*data);
        }
        let length = bytes.len() as u32;
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        bytes
    }

    fn refusal(bytes: &[u8]) -> String {
        match from_bytes(Path::new("test.glb"), bytes.to_vec()) {
            Ok(_) => panic!("accepted: {}", String::from_utf8_lossy(bytes)),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn json_and_bin_chunks_come_apart_and_padding_goes() {
        let json = r#"{"asset":{"version":"2.0"},"buffers":[{"byteLength":3}]}"#;
        let padded = format!("{json}  ");
        let bytes = glb(
            2,
            &[
                (JSON_CHUNK, padded.as_bytes()),
                (BIN_CHUNK, &[1, 2, 3, 0]),
                (b"more", &[9]),
            ],
        );
        let container = from_bytes(Path::new("test.glb"), bytes).unwrap();
        assert_eq!(container.form, Form::Glb);
        assert_eq!(container.json, json);
        assert_eq!(container.buffers, [Some(vec![1, 2, 3, 0])]);
    }

    #[test]
    fn glbs_that_break_the_container_are_refused_by_part() {
        let json = MINIMAL.as_bytes();
        let mut longer = glb(2, &[(JSON_CHUNK, json)]);
        longer[8] += 1;
        let mut chunk = glb(2, &[(JSON_CHUNK, json)]);
        chunk[12] += 1;
        let cases: &[(Vec<u8>, &str)] = &[
            (
                glb(1, &[(JSON_CHUNK, json)]),
                "GLB header, version: found 1, expected 2",
            ),
            (
                glb(3, &[(JSON_CHUNK, json)]),
                "GLB header, version: found 3",
            ),
            (longer, "GLB header, length: found 48, expected at most 47"),
            (chunk, "GLB chunk 0, length: found 28, expected at most 27"),
            (glb(2, &[]), "GLB: found no chunks"),
            (
                glb(2, &[(BIN_CHUNK, &[0; 4])]),
                "GLB chunk 0, type: found \"BIN\\0\"",
            ),
            (
                glb(2, &[(JSON_CHUNK, json), (JSON_CHUNK, json)]),
                "GLB chunk 1, type",
            ),
            (
                glb(2, &[(JSON_CHUNK, json), (BIN_CHUNK, &[]), (BIN_CHUNK, &[])]),
                "GLB chunk 2, type: found \"BIN",
            ),
            (b"glTF".to_vec(), "GLB header, version: found the end"),
            (Vec::new(), "file: found no bytes"),
            (
                b"\xFF\xFE{".to_vec(),
                "JSON text: found bytes that are not UTF-8 at 0",
            ),
        ];
        for (bytes, part) in cases {
            let message = refusal(bytes);
            assert!(message.contains(part), "{message}\nlacks {part}");
        }
    }
}
