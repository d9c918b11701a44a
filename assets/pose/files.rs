//! Poses as tables and objects, for programs that read them.

use serde_json::{Value, json};

use super::Posed;
use crate::assets::import::Model;
use crate::channel::{ChannelKind, ChannelLayout};
use crate::rotation::angle_between;

/// Columns of [`Posed::to_csv`].
const COLUMNS: &str =
    "node,name,parent,tx,ty,tz,rx,ry,rz,rw,sx,sy,sz,model_x,model_y,model_z,turned_deg";

impl Posed {
    /// One row per joint, numbers in the shortest form that reads back equal.
    pub fn to_csv(&self, model: &Model) -> String {
        let mut text = format!("{COLUMNS}\n");
        let joints = model.rig.joints.iter().zip(&self.local).zip(&self.model);
        for ((joint, local), of_model) in joints {
            let parent = joint
                .parent
                .map(|parent| model.rig.joints[parent].source.to_string());
            let turned = angle_between(joint.rest.rotation.into(), local.rotation.into());
            let mut numbers = local.translation.to_array().to_vec();
            numbers.extend(local.rotation.to_array());
            numbers.extend(local.scale.to_array());
            numbers.extend(of_model.rigid.t.lane(0));
            numbers.push(turned.to_degrees());
            let numbers: Vec<String> = numbers.iter().map(f32::to_string).collect();
            let (node, name) = (joint.source, joint.name.replace('"', "\"\""));
            let parent = parent.unwrap_or_default();
            text += &format!("{node},\"{name}\",{parent},{}\n", numbers.join(","));
        }
        text
    }

    /// All joints, channels and layers as one object; nodes are indices of the file.
    pub fn to_json(&self, model: &Model) -> String {
        let all = json!({
            "version": 1,
            "joints": self.json_joints(model),
            "channels": self.json_channels(model),
            "layers": self.json_layers(model),
            "invalid": self.invalid.iter().map(|&joint| model.rig.joints[joint].source).collect::<Vec<usize>>(),
        });
        format!("{all:#}\n")
    }

    fn json_joints(&self, model: &Model) -> Vec<Value> {
        let joints = model.rig.joints.iter().zip(&self.local).zip(&self.model);
        let json = joints.map(|((joint, local), of_model)| {
            json!({
                "node": joint.source,
                "name": joint.name,
                "parent": joint.parent.map(|parent| model.rig.joints[parent].source),
                "translation": local.translation.to_array(),
                "rotation": local.rotation.to_array(),
                "scale": local.scale.to_array(),
                "model_translation": of_model.rigid.t.lane(0),
                "model_rotation": of_model.rigid.r.lane(0),
            })
        });
        json.collect()
    }

    fn json_channels(&self, model: &Model) -> Vec<Value> {
        let layout = ChannelLayout::new(&model.rig.channels);
        let sets = layout.sets().iter().enumerate();
        let json = sets.map(|(index, set)| {
            let kind = match set.kind {
                ChannelKind::Morph => "weights",
                ChannelKind::Fov => "yfov",
            };
            let node = model.rig.joints[set.joint].source;
            json!({"node": node, "kind": kind, "values": &self.channels[layout.range(index)]})
        });
        json.collect()
    }

    fn json_layers(&self, model: &Model) -> Vec<Value> {
        let json = self.layers.iter().map(|layer| {
            let node = |joint: usize| model.rig.joints[joint].source;
            let moved = layer.joints.iter().map(|of| {
                json!({
                    "node": node(of.joint),
                    "turned_deg": of.turned.to_degrees(),
                    "moved": of.moved,
                    "scaled": of.scaled,
                })
            });
            let kept: Vec<usize> = layer.kept.iter().map(|&joint| node(joint)).collect();
            json!({
                "name": layer.name,
                "weight": layer.weight,
                "joints": moved.collect::<Vec<Value>>(),
                "kept": kept,
                "body_velocity": layer.action.map(|of| of.feed_forward.velocity.to_array()),
                "body_acceleration": layer.action.map(|of| of.feed_forward.acceleration.to_array()),
            })
        });
        json.collect()
    }
}
