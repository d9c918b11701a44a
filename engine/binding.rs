//! Binding: a clip made for one rig on another. `[L5]`
//!
//! Three identities are kept apart: the index of a track, the name of the joint it was made for, the joint of the rig it
//! is put on. [`Binding`] lists all three for each track, with what found no partner on either side.
//!
//! A rig that was built along other axes or at another size needs a change of basis: a rotation becomes `C·R·C⁻¹`, a
//! translation `scale·C·p`.

use std::collections::{BTreeMap, BTreeSet};

use bevy_math::{Quat, Vec3};

use crate::clip::{Clip, Track, TrackValues};
use crate::lane::Vec3x;
use crate::pose::{JointTransform, ModelTransform};
use crate::rig::Rig;
use crate::rotation::{self, Rotation};

/// For each joint of one rig, its joint in another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partners {
    /// In the source's joint order.
    pub of: Vec<Option<usize>>,
    /// Joints of the source whose name several joints of the target have, and whose parents do not tell which, ascending.
    pub ambiguous: Vec<usize>,
}

impl Partners {
    /// Finds a joint of `target` for each joint of `source`: the one that `renamed` says (source, target), else the one
    /// of the same name. Where several have the name, the one whose parent is the parent's partner.
    pub fn new(source: &Rig, target: &Rig, renamed: &[(usize, usize)]) -> Self {
        let mut by_name: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, joint) in target.joints.iter().enumerate() {
            by_name.entry(&joint.name).or_default().push(index);
        }
        let said: BTreeMap<usize, usize> = renamed.iter().copied().collect();
        let mut partners = Self::default();
        for (index, joint) in source.joints.iter().enumerate() {
            // Parents come first: theirs is known.
            let above = joint.parent.and_then(|parent| partners.of[parent]);
            let named = by_name
                .get(joint.name.as_str())
                .filter(|_| !joint.name.is_empty());
            let found = match (said.get(&index), named.map(Vec::as_slice)) {
                (Some(&joint), _) | (None, Some(&[joint])) => Some(joint),
                (None, Some(several)) => {
                    let below = |&&joint: &&usize| target.joints[joint].parent == above;
                    let mut fitting = several.iter().filter(below);
                    let one = fitting.next().filter(|_| fitting.next().is_none());
                    if one.is_none() {
                        partners.ambiguous.push(index);
                    }
                    one.copied()
                }
                (None, None) => None,
            };
            partners.of.push(found);
        }
        partners
    }
}

/// How the tracks of a clip found joints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Binding {
    /// One per track, in their order.
    pub tracks: Vec<BoundTrack>,
    /// Joints of the source that tracks move and that have no partner, ascending.
    pub unmatched_source: Vec<usize>,
    /// Joints of the target that no track moves, ascending.
    pub unmatched_target: Vec<usize>,
    /// Tracks of morph weights that find no mesh with as many targets.
    pub misfits: Vec<usize>,
}

/// One track and its joint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundTrack {
    /// Index of the track in the clip.
    pub track: usize,
    /// Name of the joint it was made for.
    pub source: String,
    /// Index of its joint in the target; `None` where there is none, or no mesh that fits.
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
    pub fn new(clip: &Clip, source: &Rig, target: &Rig, partners: &Partners) -> Self {
        let mut binding = Self::default();
        let mut is_moved = vec![false; target.joints.len()];
        for (index, track) in clip.tracks.iter().enumerate() {
            let partner = partners.of.get(track.joint).copied().flatten();
            let found = partner.filter(|&joint| fits(track, target, joint));
            match (partner, found) {
                (_, Some(joint)) => is_moved[joint] = true,
                (Some(_), None) => binding.misfits.push(index),
                (None, None) => binding.unmatched_source.push(track.joint),
            }
            let made_for = source.joints.get(track.joint);
            binding.tracks.push(BoundTrack {
                track: index,
                source: made_for.map_or_else(String::new, |joint| joint.name.clone()),
                target: found,
                target_parent: found.and_then(|joint| target.joints[joint].parent),
            });
        }
        binding.unmatched_source.sort_unstable();
        binding.unmatched_source.dedup();
        let still = is_moved.iter().enumerate().filter(|(_, moved)| !**moved);
        binding.unmatched_target = still.map(|(joint, _)| joint).collect();
        binding
    }

    /// The clip on the target: tracks that found a joint, along its axes and at its size.
    ///
    /// Scales and channels keep their numbers. Where two tracks found one property of one joint, by renaming, the first
    /// stays.
    pub fn apply(&self, clip: &Clip, retarget: &Retarget) -> Clip {
        self.carry(clip, |track, _| retargeted(&track.values, retarget))
    }

    /// As [`Binding::apply`], for rigs whose joints rest along other axes: each joint of the target turns and moves from
    /// its own rest as the source's does from its, seen in model space.
    ///
    /// Both have to rest in the same posture: arms that hang on one and reach out on the other stay that far apart.
    pub fn apply_by_rest(
        &self,
        clip: &Clip,
        source: &Rig,
        target: &Rig,
        retarget: &Retarget,
    ) -> Clip {
        let (theirs, ours) = (source.rest_model(), target.rest_model());
        let basis = rotation::unit_or_identity(retarget.basis.into());
        let between = |of: Option<Rotation<f32>>, to: Option<Rotation<f32>>| {
            let model = |of: Option<Rotation<f32>>| of.unwrap_or(Rotation::identity());
            model(to).conjugate() * basis * model(of)
        };
        let turned =
            |model: &[ModelTransform], joint: Option<usize>| joint.map(|at| model[at].rigid.r);
        self.carry(clip, |track, joint| {
            let (from, to) = (&source.joints[track.joint], &target.joints[joint]);
            let carried = Carried {
                from: &from.rest,
                to: &to.rest,
                turn: between(
                    turned(&theirs, Some(track.joint)),
                    turned(&ours, Some(joint)),
                ),
                shift: between(turned(&theirs, from.parent), turned(&ours, to.parent)),
                scale: retarget.scale,
            };
            carried.values(track)
        })
    }

    /// The tracks that found a joint, with the values that `values` makes of them.
    fn carry(&self, clip: &Clip, values: impl Fn(&Track, usize) -> TrackValues) -> Clip {
        let mut tracks: Vec<Track> = Vec::with_capacity(clip.tracks.len());
        let mut taken = BTreeSet::new();
        for bound in &self.tracks {
            let (Some(joint), Some(track)) = (bound.target, clip.tracks.get(bound.track)) else {
                continue;
            };
            if taken.insert((joint, kind(&track.values))) {
                tracks.push(Track {
                    joint,
                    values: values(track, joint),
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

/// How one joint's motion is carried from rest to rest.
struct Carried<'r> {
    from: &'r JointTransform,
    to: &'r JointTransform,
    /// `target_joint_from_source_joint`, as both rest.
    turn: Rotation<f32>,
    /// The same of their parents, with the scale of translations.
    shift: Rotation<f32>,
    scale: f32,
}

impl Carried<'_> {
    /// `rest_t · T·(conj(rest_s)·R)·T⁻¹`: what the joint turns from its rest, about the axes that mean the same.
    fn rotation(&self, key: [f32; 4]) -> [f32; 4] {
        let rest = |of: &JointTransform| rotation::unit_or_identity(of.rotation.into());
        let turned = rest(self.from).conjugate() * Rotation::splat(key);
        (rest(self.to) * (self.turn * turned * self.turn.conjugate())).lane(0)
    }

    fn vector(&self, moved: Vec3) -> Vec3 {
        Vec3::from(self.shift.rotate(moved.into())) * self.scale
    }

    fn values(&self, track: &Track) -> TrackValues {
        match &track.values {
            TrackValues::Rotation(keys) => {
                TrackValues::Rotation(keys.iter().map(|&key| self.rotation(key)).collect())
            }
            TrackValues::Translation(keys) => {
                let keys = keys.iter().enumerate().map(|(index, &key)| {
                    let key = Vec3::from_array(key);
                    if track.interpolation.is_tangent(index) {
                        return self.vector(key).to_array();
                    }
                    let moved = self.vector(key - self.from.translation);
                    (self.to.translation + moved).to_array()
                });
                TrackValues::Translation(keys.collect())
            }
            other => other.clone(),
        }
    }
}

/// Whether a joint has what a track moves: any joint has a transform, few have a mesh with so many morph targets.
fn fits(track: &Track, target: &Rig, joint: usize) -> bool {
    let Some(kind) = track.channel() else {
        return true;
    };
    let mut sets = target.channels.iter();
    let set = sets.find(|set| set.joint == joint && set.kind == kind);
    set.is_some_and(|set| match &track.values {
        TrackValues::Weights { count, .. } => set.rest.len() == *count,
        _ => true,
    })
}

/// Tells the properties apart.
fn kind(values: &TrackValues) -> u8 {
    match values {
        TrackValues::Translation(_) => 0,
        TrackValues::Rotation(_) => 1,
        TrackValues::Scale(_) => 2,
        TrackValues::Weights { .. } => 3,
        TrackValues::BakeWeight(_) => 4,
        TrackValues::Fov(_) => 5,
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
    use crate::rig::Joint;

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
        let partners = Partners::new(&source, &target, &[(1, 2)]);
        let binding = Binding::new(&clip, &source, &target, &partners);
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
        assert_eq!(binding.unmatched_source, [2]);
        assert_eq!(binding.unmatched_target, [0]);
        let bound = binding.apply(&clip, &Retarget::default());
        let joints: Vec<usize> = bound.tracks.iter().map(|track| track.joint).collect();
        assert_eq!(joints, [2, 1]);
        assert_eq!(bound.tracks[0].values, clip.tracks[1].values);
    }

    #[test]
    fn l5_of_joints_that_share_a_name_the_parent_tells() {
        let source = rig(&[
            ("hips", None),
            ("arm", Some(0)),
            ("hand", Some(1)),
            ("x", None),
        ]);
        let target = rig(&[
            ("hips", None),
            ("hand", Some(0)),
            ("arm", Some(0)),
            ("hand", Some(2)),
            ("x", Some(0)),
            ("x", Some(1)),
        ]);
        let partners = Partners::new(&source, &target, &[]);
        assert_eq!(partners.of, [Some(0), Some(2), Some(3), None]);
        assert_eq!(partners.ambiguous, [3]);
    }

    #[test]
    fn l5_morph_weights_want_a_mesh_with_as_many_targets() {
        use crate::channel::{ChannelKind, ChannelSet};
        let source = rig(&[("face", None)]);
        let mut target = source.clone();
        let track = Track {
            values: TrackValues::Weights {
                count: 2,
                values: vec![0.0; 2],
            },
            ..turn(0, 0)
        };
        let partners = Partners::new(&source, &target, &[]);
        for (targets, found) in [(2, Some(0)), (3, None)] {
            target.channels = vec![ChannelSet {
                joint: 0,
                kind: ChannelKind::Morph,
                rest: vec![0.0; targets],
            }];
            let binding = Binding::new(&clip(vec![track.clone()]), &source, &target, &partners);
            assert_eq!(binding.tracks[0].target, found);
            assert_eq!(binding.misfits.len(), usize::from(found.is_none()));
        }
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

    #[test]
    fn l5_joints_that_rest_along_other_axes_turn_alike_in_model_space() {
        use crate::pose::compose_model;
        let source = rig(&[("hips", None), ("arm", Some(0))]);
        let mut target = source.clone();
        let half = core::f32::consts::FRAC_1_SQRT_2;
        // The same places, the joints themselves turned.
        target.joints[0].rest.rotation = Quat::from_xyzw(half, 0.0, 0.0, half);
        let arm = target.joints[0].rest.rotation.inverse() * Quat::from_xyzw(0.0, 0.6, 0.0, 0.8);
        target.joints[1].rest.rotation = arm;
        target.joints[1].rest.translation = target.joints[0].rest.rotation.inverse() * Vec3::Y;
        let moved = Track {
            values: TrackValues::Translation(vec![[0.5, 1.25, -0.5]]),
            ..turn(0, 1)
        };
        let clip = clip(vec![turn(0, 0), moved, turn(1, 2)]);
        let partners = Partners::new(&source, &target, &[]);
        let binding = Binding::new(&clip, &source, &target, &partners);
        let bound = binding.apply_by_rest(&clip, &source, &target, &Retarget::default());
        let model = |rig: &Rig, clip: &Clip| {
            let mut pose: Vec<JointTransform> = rig.joints.iter().map(|joint| joint.rest).collect();
            let tracks = clip.tracks.iter();
            tracks.for_each(|track| track.sample(0.0, &mut pose[track.joint]));
            let parents: Vec<Option<usize>> = rig.joints.iter().map(|joint| joint.parent).collect();
            compose_model(&parents, &pose, ModelTransform::root(1.0)).unwrap()
        };
        let (theirs, ours) = (model(&source, &clip), model(&target, &bound));
        let rests = (source.rest_model(), target.rest_model());
        for joint in 0..2 {
            let (a, b) = (&theirs[joint].rigid, &ours[joint].rigid);
            let off = Vec3::from(a.t) - Vec3::from(b.t);
            assert!(off.length() < 1e-5, "joint {joint}: {off}");
            let from_rest =
                |of: Rotation<f32>, rest: &ModelTransform| of * rest.rigid.r.conjugate();
            let (a, b) = (
                from_rest(a.r, &rests.0[joint]),
                from_rest(b.r, &rests.1[joint]),
            );
            assert!(rotation::angle_between(a, b) < 1e-5, "joint {joint}");
        }
    }
}
