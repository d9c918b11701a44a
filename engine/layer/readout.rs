//! What each layer did to the pose that is shown.

use bevy_ecs::component::Component;

use crate::action::ActionReadout;
use crate::pose::JointTransform;
use crate::rotation;

/// What the layers of an actor did in the frame that just ran. Optional: actors that carry it get it filled.
#[derive(Component, Clone, Debug, Default, PartialEq)]
pub struct LayerReadout(pub Vec<LayerContribution>);

impl LayerReadout {
    /// Takes over what the layers did; reuses its memory.
    pub fn copy_from(&mut self, contributions: &[LayerContribution]) {
        self.0
            .resize_with(contributions.len(), LayerContribution::default);
        for (to, from) in self.0.iter_mut().zip(contributions) {
            to.name.clone_from(&from.name);
            to.joints.clone_from(&from.joints);
            to.kept.clone_from(&from.kept);
            to.weight = from.weight;
            to.refused = from.refused;
            to.channels = from.channels;
            to.action = from.action;
        }
    }
}

/// What one layer did to the pose shown.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerContribution {
    /// The layer.
    pub name: String,
    /// Its weight in this frame, without the mask's; 0 also for a weight that was refused.
    pub weight: f32,
    /// Whether its weight was refused: not a number from 0 to 1.
    pub refused: bool,
    /// The joints it moved, ascending.
    pub joints: Vec<JointContribution>,
    /// Joints that kept a part of their pose because the layer's was not finite or a rotation was zero, ascending.
    pub kept: Vec<usize>,
    /// The largest change of a channel, in its unit.
    pub channels: f32,
    /// Of an action, its own time, and how fast the body is about to move. `[K3]` `[K6]`
    pub action: Option<ActionReadout>,
}

/// By how much one layer moved one joint.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct JointContribution {
    /// Index of the joint in the rig.
    pub joint: usize,
    /// Angle between its local rotation below the layer and above it, radians.
    pub turned: f32,
    /// Distance between its local translations, in the parent's units.
    pub moved: f32,
    /// Largest difference of its scales, dimensionless.
    pub scaled: f32,
}

impl JointContribution {
    /// From the joint's transforms below and above a layer.
    pub fn between(joint: usize, below: &JointTransform, above: &JointTransform) -> Self {
        Self {
            joint,
            turned: rotation::angle_between(below.rotation.into(), above.rotation.into()),
            moved: (above.translation - below.translation).length(),
            scaled: (above.scale - below.scale).abs().max_element(),
        }
    }

    /// Whether it moved the joint at all.
    pub fn is_none(&self) -> bool {
        self.turned == 0.0 && self.moved == 0.0 && self.scaled == 0.0
    }
}
