//! Small skinned models, made and read the plain way.

use std::path::Path;

use flounce::assets::container::{Container, Form};
use flounce::assets::import;
use flounce::assets::patch::Patched;
use flounce::assets::skin::{SkinOptions, SkinReport, trim_weights};
use serde_json::{Value, json};

use crate::gltf::{list, number, parse, root};

pub const U8: u32 = 5121;
pub const U16: u32 = 5123;
pub const F32: u32 = 5126;

/// Four joints and four weights per vertex.
pub type Set<'a> = (&'a [[u16; 4]], &'a [[f32; 4]]);

/// Node 0 "root", joints as its children from node 1 on, then a node with mesh 0 and skin 0. No bind matrices, so that
/// a joint moves a vertex by its own translation.
pub struct Doc {
    pub json: Value,
    pub bytes: Vec<u8>,
}

impl Doc {
    pub fn new(joints: &[[f32; 3]]) -> Self {
        let of_joints: Vec<usize> = (1..=joints.len()).collect();
        let mut nodes = vec![json!({ "name": "root", "children": of_joints })];
        nodes.extend(joints.iter().map(|t| json!({ "translation": t })));
        nodes.push(json!({ "name": "body", "mesh": 0, "skin": 0 }));
        let json = json!({
            "asset": { "version": "2.0" },
            "nodes": nodes,
            "meshes": [{ "name": "body", "primitives": [] }],
            "skins": [{ "joints": of_joints }],
            "accessors": [],
            "bufferViews": [],
            "buffers": [{ "byteLength": 0 }],
        });
        let bytes = Vec::new();
        Self { json, bytes }
    }

    /// `joints` joints along X, 10 apart, the first at 10.
    pub fn row(joints: usize) -> Self {
        let at = |i: usize| [10.0 * (i + 1) as f32, 0.0, 0.0];
        Self::new(&(0..joints).map(at).collect::<Vec<_>>())
    }

    /// Appends to a list; the index of the new entry.
    pub fn push(&mut self, pointer: &str, value: Value) -> usize {
        let list = self
            .json
            .pointer_mut(pointer)
            .unwrap()
            .as_array_mut()
            .unwrap();
        list.push(value);
        list.len() - 1
    }

    pub fn view(&mut self, bytes: &[u8]) -> usize {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
        let view = json!({
            "buffer": 0, "byteOffset": self.bytes.len(), "byteLength": bytes.len(), "target": 34962,
        });
        self.bytes.extend(bytes);
        self.push("/bufferViews", view)
    }

    /// A new accessor over new bytes; its index.
    pub fn accessor(
        &mut self,
        kind: &str,
        component: u32,
        normalized: bool,
        bytes: &[u8],
    ) -> usize {
        let view = self.view(bytes);
        let size = match component {
            U8 => 1,
            U16 => 2,
            _ => 4,
        };
        let count = bytes.len() / (size * if kind == "VEC4" { 4 } else { 3 });
        self.push(
            "/accessors",
            json!({
                "bufferView": view, "componentType": component, "normalized": normalized,
                "count": count, "type": kind,
            }),
        )
    }

    pub fn positions(&mut self, positions: &[[f32; 3]]) -> usize {
        self.accessor("VEC3", F32, false, &floats(positions.as_flattened()))
    }

    /// Joints (as u16) and weights (as f32) of one set; their accessors.
    pub fn set(&mut self, (joints, weights): Set) -> (usize, usize) {
        let bytes = joints
            .as_flattened()
            .iter()
            .flat_map(|joint| joint.to_le_bytes());
        let joints = self.accessor("VEC4", U16, false, &bytes.collect::<Vec<u8>>());
        let weights = self.accessor("VEC4", F32, false, &floats(weights.as_flattened()));
        (joints, weights)
    }

    /// A primitive of mesh 0 with one point at (2, 0, 0) per vertex of the sets.
    pub fn primitive(&mut self, sets: &[Set]) -> usize {
        let positions = self.positions(&vec![[2.0, 0.0, 0.0]; sets[0].0.len()]);
        let sets: Vec<(usize, usize)> = sets.iter().map(|&set| self.set(set)).collect();
        self.primitive_of(0, positions, &sets)
    }

    pub fn primitive_of(
        &mut self,
        mesh: usize,
        positions: usize,
        sets: &[(usize, usize)],
    ) -> usize {
        let mut attributes = json!({ "POSITION": positions });
        for (set, (joints, weights)) in sets.iter().enumerate() {
            attributes[format!("JOINTS_{set}")] = json!(joints);
            attributes[format!("WEIGHTS_{set}")] = json!(weights);
        }
        let primitives = format!("/meshes/{mesh}/primitives");
        self.push(&primitives, json!({ "attributes": attributes, "mode": 0 }))
    }

    /// A clip that moves node `node` to `translation` at once.
    pub fn clip(&mut self, name: &str, node: usize, translation: [f32; 3]) {
        let bytes = floats(&[0.0, 0.5]);
        let view = self.view(&bytes);
        let times =
            json!({ "bufferView": view, "componentType": F32, "count": 2, "type": "SCALAR" });
        let times = self.push("/accessors", times);
        let values = self.positions(&[translation; 2]);
        let clip = json!({
            "name": name,
            "channels": [{ "sampler": 0, "target": { "node": node, "path": "translation" } }],
            "samplers": [{ "input": times, "output": values }],
        });
        if self.json.get("animations").is_none() {
            self.json["animations"] = json!([]);
        }
        self.push("/animations", clip);
    }

    pub fn container(&self) -> Container {
        let mut json = self.json.clone();
        json["buffers"][0]["byteLength"] = json!(self.bytes.len());
        Container {
            file: "model.glb".into(),
            form: Form::Glb,
            json: json.to_string(),
            buffers: vec![Some(self.bytes.clone())],
        }
    }

    pub fn trim(&self, options: &SkinOptions) -> Result<(Output, SkinReport), String> {
        let (patched, report) = trim(&self.container(), options)?;
        Ok((Output::of(&patched), report))
    }

    pub fn trimmed(&self, limit: usize) -> (Output, SkinReport) {
        self.trim(&to(limit)).unwrap()
    }

    /// The message that a trim to 4 ends with.
    pub fn refusal(&self) -> String {
        self.trim(&to(4)).map(|_| ()).unwrap_err()
    }
}

pub fn floats(numbers: &[f32]) -> Vec<u8> {
    numbers
        .iter()
        .flat_map(|number| number.to_le_bytes())
        .collect()
}

pub fn to(limit: usize) -> SkinOptions {
    SkinOptions {
        limit,
        ..SkinOptions::default()
    }
}

pub fn trim(container: &Container, options: &SkinOptions) -> Result<(Patched, SkinReport), String> {
    let model = import::model(container).map_err(|error| error.to_string())?;
    let out = container.file.with_file_name(match container.form {
        Form::Glb => "out.glb",
        Form::Gltf => "out.gltf",
    });
    trim_weights(container, &model, options, &out, &|_| {}).map_err(|error| error.to_string())
}

/// A file that was written.
pub struct Output {
    pub container: Container,
    pub root: Value,
}

impl Output {
    pub fn of(patched: &Patched) -> Self {
        Self::from(parse(Path::new("out.glb"), &patched.main))
    }

    pub fn from(container: Container) -> Self {
        let root = root(&container);
        Self { container, root }
    }

    pub fn attributes(&self, mesh: usize, primitive: usize) -> &Value {
        &self.root["meshes"][mesh]["primitives"][primitive]["attributes"]
    }

    /// Stored numbers of an accessor, per element; no sparse values.
    pub fn stored(&self, accessor: usize) -> Vec<Vec<f64>> {
        let accessor = &self.root["accessors"][accessor];
        let component = accessor["componentType"].as_u64().unwrap() as u32;
        let size = match component {
            U8 => 1,
            U16 => 2,
            F32 => 4,
            other => panic!("component type {other}"),
        };
        let width = if accessor["type"] == "VEC4" { 4 } else { 3 };
        let view = &self.root["bufferViews"][number(&accessor["bufferView"])];
        let stride = view["byteStride"]
            .as_u64()
            .map_or(width * size, |s| s as usize);
        let start = number(&view["byteOffset"]) + number(&accessor["byteOffset"]);
        let bytes = self.container.buffers[number(&view["buffer"])]
            .as_ref()
            .unwrap();
        let read = |at: usize| match component {
            U8 => f64::from(bytes[at]),
            U16 => f64::from(u16::from_le_bytes(bytes[at..at + 2].try_into().unwrap())),
            _ => f64::from(f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())),
        };
        let element = |i: usize| {
            (0..width)
                .map(|c| read(start + i * stride + c * size))
                .collect()
        };
        (0..number(&accessor["count"])).map(element).collect()
    }

    /// Per vertex all slots with weight: joint and weight, decoded.
    pub fn slots(&self, mesh: usize, primitive: usize) -> Vec<Vec<(usize, f64)>> {
        let attributes = self.attributes(mesh, primitive);
        let mut slots = Vec::new();
        for set in 0.. {
            let Some(joints) = attributes.get(format!("JOINTS_{set}")) else {
                break;
            };
            let weights = number(&attributes[format!("WEIGHTS_{set}")]);
            let unit = match self.root["accessors"][weights]["componentType"]
                .as_u64()
                .unwrap() as u32
            {
                U8 => 255.0,
                U16 => 65535.0,
                _ => 1.0,
            };
            let pairs = self
                .stored(number(joints))
                .into_iter()
                .zip(self.stored(weights));
            for (vertex, (joints, weights)) in pairs.enumerate() {
                slots.resize(slots.len().max(vertex + 1), Vec::new());
                let all = joints.into_iter().zip(weights);
                let there = all.filter(|&(_, weight)| weight > 0.0);
                slots[vertex].extend(there.map(|(joint, w)| (joint as usize, w / unit)));
            }
        }
        slots
    }

    /// Mesh and primitive of every primitive with joints.
    pub fn skinned(&self) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        for (m, mesh) in list(&self.root, "meshes").iter().enumerate() {
            for (p, primitive) in list(mesh, "primitives").iter().enumerate() {
                if primitive["attributes"].get("JOINTS_0").is_some() {
                    found.push((m, p));
                }
            }
        }
        found
    }
}

/// Whether the slots are these, weights to `tolerance`.
pub fn assert_slots(found: &[(usize, f64)], expected: &[(usize, f64)], tolerance: f64) {
    let joints = |slots: &[(usize, f64)]| slots.iter().map(|&(joint, _)| joint).collect::<Vec<_>>();
    assert_eq!(
        joints(found),
        joints(expected),
        "{found:?}, expected {expected:?}"
    );
    for (a, b) in found.iter().zip(expected) {
        assert!(
            (a.1 - b.1).abs() <= tolerance,
            "{found:?}, expected {expected:?}"
        );
    }
}
