//! A small animated document for the tests of this folder, and how to break it in one place at a time.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Model, model};
use crate::assets::container::{Container, Form};

/// Node 0 "root" with child 1 "tip"; a mesh of two morph targets at node 1; clip "sway" of three keys (0, 0.5, 2 s):
/// translation and rotation of node 1 and its weights, all LINEAR; a skin of both nodes.
///
/// Accessors: 0 times, 1 translations, 2 rotations, 3 weights, 4 bind matrices; each its own view of buffer 0.
pub(super) struct Fixture {
    pub(super) json: Value,
    pub(super) bytes: Vec<u8>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let mut fixture = Self {
            json: json!({
                "asset": { "version": "2.0" },
                "scene": 0,
                "scenes": [{ "nodes": [0] }],
                "nodes": [{ "name": "root", "children": [1] }, { "name": "tip", "mesh": 0, "skin": 0 }],
                "meshes": [{ "primitives": [{ "attributes": {}, "targets": [{}, {}] }] }],
                "skins": [{ "name": "skin", "joints": [0, 1], "inverseBindMatrices": 4 }],
                "animations": [{
                    "name": "sway",
                    "channels": [
                        { "sampler": 0, "target": { "node": 1, "path": "translation" } },
                        { "sampler": 1, "target": { "node": 1, "path": "rotation" } },
                        { "sampler": 2, "target": { "node": 1, "path": "weights" } },
                    ],
                    "samplers": [
                        { "input": 0, "output": 1 },
                        { "input": 0, "output": 2 },
                        { "input": 0, "output": 3 },
                    ],
                }],
                "accessors": [],
                "bufferViews": [],
                "buffers": [{ "byteLength": 0 }],
            }),
            bytes: Vec::new(),
        };
        fixture.floats("SCALAR", &[0.0, 0.5, 2.0]);
        fixture.floats("VEC3", &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        fixture.floats(
            "VEC4",
            &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, -0.6, -0.8, 1.0, 0.0, 0.0, 0.0],
        );
        fixture.floats("SCALAR", &[0.0, 1.0, 0.25, 0.75, 0.5, 0.5]);
        let identity = [
            1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0,
        ];
        fixture.floats("MAT4", &[identity, identity].concat());
        fixture
    }

    /// A new view of new bytes at the end of the buffer; its index.
    pub(super) fn view(&mut self, bytes: &[u8]) -> usize {
        let view =
            json!({ "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len() });
        self.bytes.extend(bytes);
        self.push("/bufferViews", view)
    }

    /// A new accessor of floats; its index.
    pub(super) fn floats(&mut self, dimensions: &str, values: &[f32]) -> usize {
        let bytes: Vec<u8> = values
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .collect();
        let view = self.view(&bytes);
        let components = match dimensions {
            "SCALAR" => 1,
            "VEC3" => 3,
            "VEC4" => 4,
            _ => 16,
        };
        let accessor = json!({
            "bufferView": view,
            "componentType": 5126,
            "count": values.len() / components,
            "type": dimensions,
        });
        self.push("/accessors", accessor)
    }

    /// Appends to an array; the index of the new entry.
    pub(super) fn push(&mut self, array: &str, value: Value) -> usize {
        let array = self
            .json
            .pointer_mut(array)
            .unwrap()
            .as_array_mut()
            .unwrap();
        array.push(value);
        array.len() - 1
    }

    /// Sets a member, new or old.
    pub(super) fn set(&mut self, pointer: &str, value: Value) -> &mut Self {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        match self.json.pointer_mut(parent).unwrap() {
            Value::Array(array) => array[member.parse::<usize>().unwrap()] = value,
            object => object[member] = value,
        }
        self
    }

    pub(super) fn container(&self) -> Container {
        Container {
            file: PathBuf::from("test.gltf"),
            form: Form::Gltf,
            json: self.json.to_string(),
            buffers: vec![Some(self.bytes.clone())],
        }
    }

    pub(super) fn model(&self) -> Model {
        model(&self.container()).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The message with which the document is refused.
    pub(super) fn refusal(&self) -> String {
        match model(&self.container()) {
            Ok(_) => panic!("accepted: {}", self.json),
            Err(error) => error.to_string(),
        }
    }
}

/// Each change on its own is refused, with a message that holds all the given parts.
pub(super) fn each_is_refused(cases: &[(&str, Value, &[&str])]) {
    for (pointer, value, parts) in cases {
        let message = Fixture::new().set(pointer, value.clone()).refusal();
        for part in *parts {
            assert!(
                message.contains(part),
                "{pointer} = {value}: {message}\nlacks {part}"
            );
        }
    }
}

/// Each change on its own is accepted.
pub(super) fn each_is_accepted(cases: &[(&str, Value)]) {
    for (pointer, value) in cases {
        Fixture::new().set(pointer, value.clone()).model();
    }
}
