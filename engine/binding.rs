//! Binding: a clip made for one rig on another. `[L5]`
//!
//! Three identities are kept apart: the index of a track, the name of the joint it was made for, the joint of the rig it
//! is put on. [`Binding`] lists all three for each track, with what found no partner on either side.
//!
//! A rig that was built along other axes or at another size needs a change of basis: a rotation becomes `C·R·C⁻¹`, a
//! translation `scale·C·p`.

use std::collections::BTreeMap;

use bevy_math::Quat;

use crate::clip::{Clip, Track, TrackValues};
use crate::lane::Vec3x;
use crate::rig::Rig;
use crate::rotation::{self, Rotation};

/// How the tracks of a clip found joints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// One per track, in their order.
    pub tracks: Vec<BoundTrack>,
    /// Joints of the source that tracks move and no joint of the target is called like, each once, in joint order.
    pub unmatched_source: Vec<String>,
    /// Joints of the target that no track moves, ascending.
    pub unmatched_target: Vec<usize>,
}

/// One track and its joint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundTrack {
    /// Index of the track in the clip.
    pub track: usize,
    /// Name of the joint it was made for.
    pub source: String,
    /// Index of its joint in the target; `None` where no joint, or more than one, has the name.
    pub target: Option<usize>,
    /// The parent of that joint.
    pub target_parent: Option<usize>,
}

/// Between the axes and sizes of two rigs. `[L5]`
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retarget {
    /// C: `target_from_source`, unit.
    pub basis: Quat,
    /// Of translations, dimensionless: the target's size over the source's.
    pub scale: f32,
}

impl Default for Retarget {
    fn default() -> Self {
        Self {
            basis: Quat::IDENTITY,
            scale: 1.0,
        }
    }
}

impl Retarget {
    /// A rotation of the source in the target: `C·R·C⁻¹`.
    pub fn rotation(&self, r: Rotation<f32>) -> Rotation<f32> {
        if self.basis == Quat::IDENTITY {
            return r;
        }
        let c = rotation::unit_or_identity(self.basis.into());
        c * r * c.conjugate()
    }

    /// A translation of the source in the target: `scale·C·p`.
    pub fn translation(&self, p: [f32; 3]) -> [f32; 3] {
        let turned = if self.basis == Quat::IDENTITY {
            Vec3x::splat(p)
        } else {
            rotation::unit_or_identity(self.basis.into()).rotate(Vec3x::splat(p))
        };
        (turned * self.scale).lane(0)
    }
}

impl Binding {
    /// Finds the joints of `target` for the tracks of `clip`, which was made for `source`.
    ///
    /// A joint is found by its exact name; `renamed` gives the target's name for a source's name. A name that several
    /// joints of the target have finds none of them.
    pub fn new(
        clip: &Clip,
        source: &Rig,
        target: &Rig,
        renamed: &BTreeMap<String, String>,
    ) -> Self {
        let mut by_name: BTreeMap<&str, Option<usize>> = BTreeMap::new();
        for (index, joint) in target.joints.iter().enumerate() {
            let found = by_name.entry(&joint.name).or_insert(Some(index));
            if *found != Some(index) {
                *found = None;
            }
        }
        let find = |name: &str| {
            let name = renamed.get(name).map_or(name, String::as_str);
            by_name
                .get(name)
                .copied()
                .flatten()
                .filter(|_| !name.is_empty())
        };
        let mut binding = Self::default();
        let mut is_moved = vec![false; target.joints.len()];
        let mut unmatched = Vec::new();
        for (index, track) in clip.tracks.iter().enumerate() {
            let name = source
                .joints
                .get(track.joint)
                .map_or("", |joint| &joint.name);
            let found = find(name);
            match found {
                Some(joint) => is_moved[joint] = true,
                None => unmatched.push(track.joint),
            }
            binding.tracks.push(BoundTrack {
                track: index,
                source: name.to_owned(),
                target: found,
                target_parent: found.and_then(|joint| target.joints[joint].parent),
            });
        }
        unmatched.sort_unstable();
        unmatched.dedup();
        let describe = |joint: usize| {
            let known = source.joints.get(joint);
            known.map_or_else(|| format!("joint {joint}"), |_| source.describe(joint))
        };
        binding.unmatched_source = unmatched.into_iter().map(describe).collect();
        let still = is_moved.iter().enumerate().filter(|(_, moved)| !**moved);
        binding.unmatched_target = still.map(|(joint, _)| joint).collect();
        binding
    }

    /// The clip on the target: tracks that found a joint, along its axes and at its size.
    ///
    /// Scales and channels keep their numbers. Where two tracks found one property of one joint, by renaming, the first
    /// stays.
    pub fn apply(&self, clip: &Clip, retarget: &Retarget) -> Clip {
        let mut tracks: Vec<Track> = Vec::with_capacity(clip.tracks.len());
        for bound in &self.tracks {
            let (Some(joint), Some(track)) = (bound.target, clip.tracks.get(bound.track)) else {
                continue;
            };
            let kind = core::mem::discriminant(&track.values);
            let same = |known: &Track| {
                known.joint == joint && core::mem::discriminant(&known.values) == kind
            };
            if !tracks.iter().any(same) {
                let values = retargeted(&track.values, retarget);
                tracks.push(Track {
                    joint,
                    values,
                    ..track.clone()
                });
            }
        }
        Clip {
            tracks,
            ..clip.clone()
        }
    }
}

fn retargeted(values: &TrackValues, retarget: &Retarget) -> TrackValues {
    match values {
        TrackValues::Rotation(keys) => TrackValues::Rotation(
            // Tangents of splines turn like values: both products are linear in the four components.
            keys.iter()
                .map(|&key| retarget.rotation(Rotation::splat(key)).lane(0))
                .collect(),
        ),
        TrackValues::Translation(keys) => {
            TrackValues::Translation(keys.iter().map(|&key| retarget.translation(key)).collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clip::Interpolation;
    use crate::pose::JointTransform;
    use crate::rig::Joint;
    use bevy_math::Vec3;

    fn rig(joints: &[(&str, Option<usize>)]) -> Rig {
        let joint = |(index, &(name, parent)): (usize, &(&str, Option<usize>))| Joint {
            name: name.to_owned(),
            source: index,
            parent,
            rest: JointTransform::rigid(Vec3::Y, Quat::IDENTITY),
        };
        Rig::new(joints.iter().enumerate().map(joint).collect())
    }

    fn turn(joint: usize, source: usize) -> Track {
        Track {
            joint,
            source,
            interpolation: Interpolation::Linear,
            times: [0.0].into(),
            values: TrackValues::Rotation(vec![[0.6, 0.0, 0.0, 0.8]]),
        }
    }

    fn clip(tracks: Vec<Track>) -> Clip {
        Clip {
            name: "wave".to_owned(),
            source: 0,
            tracks,
            duration: 0.0,
        }
    }

    #[test]
    fn l5_three_identities_are_kept_apart() {
        let source = rig(&[("hips", None), ("arm", Some(0)), ("tail", Some(0))]);
        let target = rig(&[("arm", None), ("hips", None), ("Arm.L", Some(1))]);
        let clip = clip(vec![turn(2, 0), turn(1, 1), turn(0, 2)]);
        let renamed = BTreeMap::from([("arm".to_owned(), "Arm.L".to_owned())]);
        let binding = Binding::new(&clip, &source, &target, &renamed);
        let row = |i: usize| {
            let bound = &binding.tracks[i];
            (
                bound.track,
                bound.source.as_str(),
                bound.target,
                bound.target_parent,
            )
        };
        assert_eq!(row(0), (0, "tail", None, None));
        assert_eq!(row(1), (1, "arm", Some(2), Some(1)));
        assert_eq!(row(2), (2, "hips", Some(1), None));
        assert_eq!(binding.unmatched_source, ["\"tail\" (node 2)"]);
        assert_eq!(binding.unmatched_target, [0]);
        let bound = binding.apply(&clip, &Retarget::default());
        let joints: Vec<usize> = bound.tracks.iter().map(|track| track.joint).collect();
        assert_eq!(joints, [2, 1]);
        assert_eq!(bound.tracks[0].values, clip.tracks[1].values);
    }

    #[test]
    fn l5_a_name_that_two_joints_have_finds_neither() {
        let source = rig(&[("arm", None)]);
        let target = rig(&[("arm", None), ("arm", None), ("", None)]);
        let binding = Binding::new(&clip(vec![turn(0, 0)]), &source, &target, &BTreeMap::new());
        assert_eq!(binding.tracks[0].target, None);
    }

    #[test]
    fn l5_a_change_of_basis_turns_axes_and_scales_lengths() {
        // A quarter turn about Y takes Z to X: a turn about Z becomes one about X.
        let half = core::f32::consts::FRAC_1_SQRT_2;
        let retarget = Retarget {
            basis: Quat::from_xyzw(0.0, half, 0.0, half),
            scale: 2.0,
        };
        let turned = retarget.rotation(Rotation::new(0.0, 0.0, 0.6, 0.8)).lane(0);
        let moved = retarget.translation([0.0, 1.0, 3.0]);
        for (found, expected) in turned
            .into_iter()
            .chain(moved)
            .zip([0.6, 0.0, 0.0, 0.8, 6.0, 2.0, 0.0])
        {
            assert!((found - expected).abs() < 1e-5, "{turned:?} {moved:?}");
        }
    }
}
