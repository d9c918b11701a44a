//! Claim: what a file claims is never allocated before it is checked. *SEC-01*

#![cfg(feature = "assets")]
#![expect(unsafe_code, reason = "an allocator that counts has to be one")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use flounce::assets::{container, import};

/// The system's allocator, with a count of the bytes in use and of the most there were.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to `System` unchanged; the counters do not touch the memory.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let in_use = IN_USE.fetch_add(layout.size(), Relaxed) + layout.size();
        PEAK.fetch_max(in_use, Relaxed);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The most that was in use while reading `json`, beyond what was in use before, in bytes.
fn peak(json: &str) -> usize {
    let before = IN_USE.load(Relaxed);
    PEAK.store(before, Relaxed);
    if let Ok(container) = container::from_bytes(Path::new("test.gltf"), json.as_bytes().to_vec()) {
        let _ = import::model(&container);
    }
    PEAK.load(Relaxed) - before
}

/// A document of one channel whose output is `output`; `views` and `buffers` as given.
fn document(output: &str, views: &str, buffers: &str) -> String {
    format!(
        r#"{{"asset":{{"version":"2.0"}},"nodes":[{{}}],
        "animations":[{{"channels":[{{"sampler":0,"target":{{"node":0,"path":"translation"}}}}],
        "samplers":[{{"input":0,"output":0}}]}}],
        "accessors":[{output}],"bufferViews":[{views}],"buffers":[{buffers}]}}"#
    )
}

#[test]
fn sec_01_a_file_of_a_kilobyte_never_needs_64_mib() {
    let buffer = r#"{"byteLength":12,"uri":"data:;base64,AAAAAAAAAAAAAAAA"}"#;
    let view = r#"{"buffer":0,"byteLength":12}"#;
    let scalar = |members: &str| format!(r#"{{"componentType":5126,"type":"SCALAR",{members}}}"#);
    let mut documents = Vec::new();
    for count in [
        "4294967295",
        "9007199254740992",
        "2147483648",
        "4000000",
        "4500000",
        "1e15",
        "-1",
        "1.5",
    ] {
        documents.push(document(
            &scalar(&format!(r#""count":{count}"#)),
            view,
            buffer,
        ));
        documents.push(document(
            &scalar(&format!(r#""bufferView":0,"count":{count}"#)),
            view,
            buffer,
        ));
        let sparse = format!(
            r#""count":{count},"sparse":{{"count":{count},"indices":{{"bufferView":0,"componentType":5121}},"values":{{"bufferView":0}}}}"#
        );
        documents.push(document(&scalar(&sparse), view, buffer));
        let offset = format!(r#""bufferView":0,"byteOffset":{count},"count":3"#);
        documents.push(document(&scalar(&offset), view, buffer));
        let long = format!(r#"{{"buffer":0,"byteLength":{count}}}"#);
        documents.push(document(
            &scalar(r#""bufferView":0,"count":3"#),
            &long,
            buffer,
        ));
        let long = format!(r#"{{"byteLength":{count},"uri":"data:;base64,AAAA"}}"#);
        documents.push(document(
            &scalar(r#""bufferView":0,"count":3"#),
            view,
            &long,
        ));
        let long = format!(r#"{{"byteLength":{count}}}"#);
        documents.push(document(
            &scalar(r#""bufferView":0,"count":3"#),
            view,
            &long,
        ));
    }
    for document in documents {
        assert!(document.len() < 1024);
        let peak = peak(&document);
        assert!(peak < 64 << 20, "{peak} bytes for {document}");
    }
}
