//! Memory of the layers of one actor: scratch of a frame, and what outlives it.

use std::sync::Arc;

use bevy_math::Vec3;

use super::{LayerContribution, Missing, Present, Reference};
use crate::blend::BlendInput;
use crate::channel::ChannelLayout;
use crate::clip::Clip;
use crate::pose::JointTransform;
use crate::rotation::Rotation;
use crate::track::{Track, TrackValues};
use crate::uniform::{PoseRows, Property, UniformClip};

/// What a source shows at a time.
#[derive(Clone, Debug, Default)]
pub struct Sampled {
    /// One per joint of the rig; only those of `touched` are up to date, what has no track is at rest.
    pub pose: Vec<JointTransform>,
    /// What each joint has tracks for.
    pub present: Vec<Present>,
    /// The joints that have any, in the order of the tracks.
    pub touched: Vec<usize>,
    /// All channels of the rig.
    pub channels: Vec<f32>,
    /// Which channel sets have a track.
    pub moved_sets: Vec<bool>,
}

impl Sampled {
    /// Forgets all, for a rig of `joints` joints and these channels.
    pub fn clear(&mut self, joints: usize, channels: &ChannelLayout) {
        if self.pose.len() != joints {
            self.pose.clear();
            self.pose.resize(joints, JointTransform::IDENTITY);
            self.present.clear();
            self.present.resize(joints, Present::default());
            self.touched.clear();
        }
        for joint in self.touched.drain(..) {
            self.present[joint] = Present::default();
        }
        self.channels.clear();
        self.channels.extend(channels.rest());
        self.moved_sets.clear();
        self.moved_sets.resize(channels.sets().len(), false);
    }

    /// Where to put what moves `joint`: its transform, at rest so far, and what is present of it.
    pub fn touch(
        &mut self,
        joint: usize,
        rest: &[JointTransform],
    ) -> (&mut JointTransform, &mut Present) {
        if self.present[joint].is_none() {
            self.touched.push(joint);
            self.pose[joint] = rest[joint];
        }
        (&mut self.pose[joint], &mut self.present[joint])
    }

    /// Puts the value of `track` at `time` where it belongs; channels have their own way.
    pub fn sample(&mut self, track: &Track, time: f32, rest: &[JointTransform]) {
        let moves = |present: &mut Present| match track.values {
            TrackValues::Translation(_) => present.translation = true,
            TrackValues::Rotation(_) => present.rotation = true,
            TrackValues::Scale(_) => present.scale = true,
            TrackValues::Weights { .. } | TrackValues::BakeWeight(_) | TrackValues::Fov(_) => {}
        };
        let mut of_track = Present::default();
        moves(&mut of_track);
        if of_track.is_none() {
            return;
        }
        let (transform, present) = self.touch(track.joint, rest);
        track.sample(time, transform);
        moves(present);
    }

    /// Puts what a clip in rows shows at `time` where it belongs, on the joints that `reaches`; `scratch` takes the rows.
    pub fn sample_rows(
        &mut self,
        clip: &UniformClip,
        time: f32,
        rest: &[JointTransform],
        reaches: impl Fn(usize) -> bool,
        scratch: &mut PoseRows,
    ) {
        for joint in (0..rest.len()).filter(|&joint| reaches(joint)) {
            let present = Present {
                translation: clip.has(joint, Property::Translation),
                rotation: clip.has(joint, Property::Rotation),
                scale: clip.has(joint, Property::Scale),
            };
            if !present.is_none() {
                *self.touch(joint, rest).1 = present;
            }
        }
        clip.sample_into(time, scratch);
        let joints = rest.len();
        clip.scatter(scratch, &mut self.pose, |joint| {
            joint < joints && reaches(joint)
        });
    }

    /// Puts what has no track at rest where the policy says so, on the joints that `reaches`. `[L4]`
    pub fn fill_missing(
        &mut self,
        missing: Missing,
        rest: &[JointTransform],
        reaches: impl Fn(usize) -> bool,
    ) {
        if missing == Missing::Rest {
            for joint in (0..rest.len()).filter(|&joint| reaches(joint)) {
                *self.touch(joint, rest).1 = Present::ALL;
            }
        }
    }
}

/// Running means of a blend: what has been added up of each property so far.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Sums of weights of translations and of scales, per joint.
    joints: Vec<[f32; 2]>,
    /// Sums of weights, per channel set.
    sets: Vec<f32>,
}

impl Totals {
    /// Forgets all, for a rig of `joints` joints and `sets` channel sets.
    pub fn clear(&mut self, joints: usize, sets: usize) {
        self.joints.clear();
        self.joints.resize(joints, [0.0; 2]);
        self.sets.clear();
        self.sets.resize(sets, 0.0);
    }

    /// Adds a joint of one clip: `mean += (value − mean) · w / W`, with W all weights so far. Rotations are not added
    /// here. True when a part was left out because it is not finite.
    pub fn add(
        &mut self,
        joint: usize,
        weight: f32,
        of: &JointTransform,
        present: Present,
        mean: &mut JointTransform,
        known: &mut Present,
    ) -> bool {
        let [translations, scales] = &mut self.joints[joint];
        let mut taken = present;
        taken.translation &= of.translation.is_finite();
        taken.scale &= of.scale.is_finite();
        if taken.translation {
            let (total, mean) = (translations, &mut mean.translation);
            *mean = running(*mean, of.translation, weight, total);
        }
        if taken.scale {
            let (total, mean) = (scales, &mut mean.scale);
            *mean = running(*mean, of.scale, weight, total);
        }
        known.translation |= taken.translation;
        known.rotation |= taken.rotation;
        known.scale |= taken.scale;
        taken != present
    }

    /// Adds the channels of one clip.
    pub fn add_channels(
        &mut self,
        layout: &ChannelLayout,
        weight: f32,
        of: &Sampled,
        mean: &mut Sampled,
    ) {
        for (set, total) in self.sets.iter_mut().enumerate() {
            if !of.moved_sets[set] {
                continue;
            }
            if !of.channels[layout.range(set)]
                .iter()
                .all(|value| value.is_finite())
            {
                continue;
            }
            let first = *total == 0.0;
            *total += weight;
            mean.moved_sets[set] = true;
            for number in layout.range(set) {
                let (value, mean) = (of.channels[number], &mut mean.channels[number]);
                *mean = if first {
                    value
                } else {
                    *mean + (value - *mean) * (weight / *total)
                };
            }
        }
    }
}

/// The next running mean; the first value is taken as it is.
fn running(mean: Vec3, value: Vec3, weight: f32, total: &mut f32) -> Vec3 {
    let first = *total == 0.0;
    *total += weight;
    if first {
        value
    } else {
        mean + (value - mean) * (weight / *total)
    }
}

/// What a layer remembers from frame to frame.
#[derive(Clone, Debug, Default)]
pub struct LayerState {
    /// Whose it is: layers come and go.
    pub name: String,
    /// Of an additive layer, the reference pose, one per joint.
    pub reference: Vec<JointTransform>,
    /// And the reference's channels.
    pub reference_channels: Vec<f32>,
    /// What `reference` was made from.
    made_from: Option<(Option<Arc<Clip>>, u32)>,
    /// Of a continuous layer, the signed delta that each joint showed last. `[L2]`
    pub deltas: Vec<Option<Rotation<f32>>>,
    /// Whether people were told that its weight was refused or a joint kept its base.
    pub warned: bool,
}

impl LayerState {
    /// Of the layer called `name`, on a rig of `joints` joints: nothing has happened yet.
    pub fn new(name: &str, joints: usize) -> Self {
        Self {
            name: name.to_owned(),
            deltas: vec![None; joints],
            ..Self::default()
        }
    }

    /// Whether the reference pose has to be made anew for `reference`; from then on it counts as made.
    pub fn renews(&mut self, reference: &Reference) -> bool {
        let (clip, time) = match reference {
            Reference::Rest => (None, 0),
            Reference::Clip { clip, time } => (Some(clip), time.to_bits()),
        };
        let same = self.made_from.as_ref().is_some_and(|(of, at)| {
            let same_clip = match (of, clip) {
                (None, None) => true,
                (Some(a), Some(b)) => Arc::ptr_eq(a, b),
                _ => false,
            };
            same_clip && *at == time
        });
        if !same {
            self.made_from = Some((clip.cloned(), time));
        }
        !same
    }
}

impl LayerWork {
    /// Lets reference poses be made anew: the rig's rest pose may be another one.
    pub fn forget_references(&mut self) {
        for state in &mut self.states {
            state.made_from = None;
        }
    }

    /// The memory of the layer called `name`, brought to place `index`; a new one where it has none for `joints` joints.
    pub fn state(&mut self, index: usize, name: &str, joints: usize) -> &mut LayerState {
        let known = self.states[index..]
            .iter()
            .position(|state| state.name == name);
        match known {
            Some(further) => self.states.swap(index, index + further),
            // What is here may belong to a layer further up.
            None => self.states.insert(index, LayerState::new(name, joints)),
        }
        let state = &mut self.states[index];
        if state.deltas.len() != joints {
            *state = LayerState::new(name, joints);
        }
        state
    }
}

/// The layers' memory of one actor.
#[derive(Clone, Debug, Default)]
pub struct LayerWork {
    /// Of each layer, in their order.
    pub states: Vec<LayerState>,
    /// What each layer did to the pose shown; which joints it moved only when `is_read`.
    pub contributions: Vec<LayerContribution>,
    /// Whether somebody reads the contributions.
    pub is_read: bool,
    /// Scratch: what a source shows.
    pub sampled: Sampled,
    /// Scratch: one clip of a blend.
    pub part: Sampled,
    /// Scratch: a clip in rows.
    pub rows: PoseRows,
    /// Scratch: the rotations of a blend, `[joint][clip]`.
    pub rotations: Vec<BlendInput>,
    /// Scratch: the means of a blend.
    pub totals: Totals,
    /// Scratch: a pose an action acts on.
    pub acted: Vec<JointTransform>,
}
