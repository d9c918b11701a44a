//! Measuring: how far the new weights move every vertex, in the rest pose and over every clip. `[I2]`
//!
//! In f64 and with whole matrices, so that what is measured is the weights and not the measuring. Memory does not grow
//! with the length of clips: errors are counted by size, 1024 sizes to an octave.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bevy_math::{DAffine3, DMat4, DQuat, DVec3};
use rayon::prelude::*;

use super::rewrite::{Group, Rewritten};
use super::{PoseReport, SkinOptions, Worst};
use crate::assets::Error;
use crate::assets::import::vertices::{SkinnedPrimitive, VertexReader};
use crate::assets::import::{Model, Skin};
use crate::assets::json::Fault;
use crate::clip::Clip;
use crate::pose::JointTransform;
use crate::rig::Rig;
use crate::skin::change_error;

/// Most vertices and joints that a report moves, all poses together: some minutes of work.
pub const MOST_SAMPLES: u64 = 10_000_000_000;
/// Most primitives under skins: a small file can put every mesh under every skin.
const MOST_SURFACES: usize = 1_000_000;
/// Bits of an f32 that do not tell sizes apart: 10 of 23 remain, 0.1 %.
const DROPPED_BITS: u32 = 13;
/// Sizes up to infinity.
const SIZES: usize = (f32::INFINITY.to_bits() >> DROPPED_BITS) as usize + 1;

/// What is measured: primitives under skins.
pub(super) struct Scene<'a> {
    /// Skins that something hangs on.
    skins: Vec<(usize, Vec<Surface<'a>>)>,
    /// Vertices of all of them.
    vertices: u64,
}

/// A primitive under a skin.
struct Surface<'a> {
    mesh: usize,
    primitive: usize,
    positions: Arc<Vec<[f32; 3]>>,
    rewritten: &'a Rewritten,
}

/// Every skinned primitive under every skin that a node puts on its mesh, once.
pub(super) fn prepare<'a>(
    model: &Model,
    primitives: &[SkinnedPrimitive],
    groups: &[Group],
    rewritten: &'a [Rewritten],
    reader: &mut VertexReader,
) -> Result<Scene<'a>, Fault> {
    let mut group_of = vec![0; primitives.len()];
    for (index, group) in groups.iter().enumerate() {
        for &user in &group.users {
            group_of[user] = index;
        }
    }
    let mut skins_of_mesh = vec![BTreeSet::new(); model.meshes.len()];
    for node in &model.mesh_nodes {
        skins_of_mesh[node.mesh].extend(node.skin);
    }
    let mut read: BTreeMap<usize, Arc<Vec<[f32; 3]>>> = BTreeMap::new();
    let mut surfaces: BTreeMap<usize, Vec<Surface>> = BTreeMap::new();
    let (mut vertices, mut count) = (0, 0);
    for (primitive, group) in primitives.iter().zip(group_of) {
        let rewritten = &rewritten[group];
        let positions = match read.get(&primitive.positions) {
            Some(positions) if positions.len() == rewritten.vertices => Arc::clone(positions),
            _ => {
                let new = reader.positions(primitive.positions, rewritten.vertices);
                let new = Arc::new(new.map_err(|fault| fault.used_by(&primitive.place))?);
                read.insert(primitive.positions, Arc::clone(&new));
                new
            }
        };
        let skins = &skins_of_mesh[primitive.mesh];
        count += skins.len();
        if count > MOST_SURFACES {
            let found = format!("more than {MOST_SURFACES} primitives under skins");
            return Err(Fault::new(
                &primitive.place,
                found,
                "fewer, to measure them",
            ));
        }
        for &skin in skins {
            vertices += rewritten.vertices as u64;
            surfaces.entry(skin).or_default().push(Surface {
                mesh: primitive.mesh,
                primitive: primitive.primitive,
                positions: Arc::clone(&positions),
                rewritten,
            });
        }
    }
    Ok(Scene {
        skins: surfaces.into_iter().collect(),
        vertices,
    })
}

/// Poses that a report on `model` measures: one at rest, and each clip at the rate and at its end.
pub fn count_frames(model: &Model, options: &SkinOptions) -> u64 {
    let frames = model.clips.iter().map(|clip| frames(clip, options.rate_hz));
    frames.fold(1, u64::saturating_add)
}

fn frames(clip: &Clip, rate_hz: f64) -> u64 {
    // A cast saturates, and what is that long is refused.
    ((f64::from(clip.duration) * rate_hz).ceil() as u64).saturating_add(1)
}

/// Refuses more than [`MOST_SAMPLES`].
///
/// # Errors
/// [`Error::Request`] that says what to change.
pub(super) fn check_size(model: &Model, scene: &Scene, options: &SkinOptions) -> Result<(), Error> {
    let poses = count_frames(model, options);
    let skins = scene.skins.iter();
    let in_skins: usize = skins.map(|&(skin, _)| model.skins[skin].joints.len()).sum();
    let joints = (model.rig.joints.len() + in_skins) as u64;
    if poses.saturating_mul(scene.vertices + joints) > MOST_SAMPLES {
        return Err(Error::Request(format!(
            "{poses} poses of {} vertices and {joints} joints would be measured; expected at most {MOST_SAMPLES} of them \
             in all: take a lower --rate",
            scene.vertices
        )));
    }
    Ok(())
}

/// The rest pose, then every clip in file order.
pub(super) fn measure(
    model: &Model,
    scene: &Scene,
    options: &SkinOptions,
    progress: &(dyn Fn(u64) + Sync),
) -> Vec<PoseReport> {
    let jobs: Vec<Option<&Clip>> = std::iter::once(None)
        .chain(model.clips.iter().map(Some))
        .collect();
    let measured = jobs.into_par_iter().map(|clip| {
        let mut tally = Tally::new();
        let frames = clip.map_or(1, |clip| frames(clip, options.rate_hz));
        let mut posing = Posing::new(&model.rig);
        for frame in 0..frames {
            let seconds = clip.map_or(0.0, |clip| f64::from(clip.duration));
            let time = (frame as f64 / options.rate_hz).min(seconds);
            posing.pose(&model.rig, clip, time as f32);
            for (skin, surfaces) in &scene.skins {
                let mesh_matrices = posing.skin(&model.skins[*skin]);
                for surface in surfaces {
                    tally.surface(surface, &mesh_matrices, time);
                }
            }
            progress(1);
        }
        tally.report(clip, frames, frames * scene.vertices)
    });
    measured.collect()
}

/// The pose of a rig as matrices.
struct Posing {
    local: Vec<JointTransform>,
    model_from_joint: Vec<DAffine3>,
}

impl Posing {
    fn new(rig: &Rig) -> Self {
        Self {
            local: Vec::with_capacity(rig.joints.len()),
            model_from_joint: Vec::with_capacity(rig.joints.len()),
        }
    }

    /// The rest pose with what `clip` moves at `time`, seconds.
    fn pose(&mut self, rig: &Rig, clip: Option<&Clip>, time: f32) {
        self.local.clear();
        self.local.extend(rig.joints.iter().map(|joint| joint.rest));
        for track in clip.iter().flat_map(|clip| &clip.tracks) {
            track.sample(time, &mut self.local[track.joint]);
        }
        self.model_from_joint.clear();
        for (joint, local) in rig.joints.iter().zip(&self.local) {
            let parent_from_joint = affine(local);
            let model_from_joint = match joint.parent {
                Some(parent) => self.model_from_joint[parent] * parent_from_joint,
                None => parent_from_joint,
            };
            self.model_from_joint.push(model_from_joint);
        }
    }

    /// What each joint of `skin` does to a vertex: `model_from_mesh = model_from_joint * joint_from_mesh`.
    fn skin(&self, skin: &Skin) -> Vec<DAffine3> {
        let pairs = skin.joints.iter().zip(&skin.inverse_bind);
        let matrices = pairs.map(|(&joint, inverse_bind)| {
            let numbers = inverse_bind.to_cols_array().map(f64::from);
            let joint_from_mesh = DAffine3::from_mat4(DMat4::from_cols_array(&numbers));
            self.model_from_joint[joint] * joint_from_mesh
        });
        matrices.collect()
    }
}

fn affine(local: &JointTransform) -> DAffine3 {
    let [x, y, z, w] = local.rotation.to_array().map(f64::from);
    let rotation = DQuat::from_xyzw(x, y, z, w).normalize();
    let (scale, translation) = (local.scale.as_dvec3(), local.translation.as_dvec3());
    DAffine3::from_scale_rotation_translation(scale, rotation, translation)
}

/// The errors so far.
struct Tally {
    worst: Option<Worst>,
    bound: f64,
    not_finite: u64,
    /// How many errors above 0 there are of each size.
    sizes: Vec<u64>,
}

impl Tally {
    fn new() -> Self {
        Self {
            worst: None,
            bound: 0.0,
            not_finite: 0,
            sizes: vec![0; SIZES],
        }
    }

    /// All vertices that changed; the others have no error.
    fn surface(&mut self, surface: &Surface, matrices: &[DAffine3], time: f64) {
        let mut moved = Vec::new();
        for (vertex, joints, changes) in surface.rewritten.changes.iter() {
            let position = surface.positions[vertex as usize].map(f64::from);
            let position = DVec3::from_array(position);
            moved.clear();
            let of_joint = |&joint: &u32| matrices[joint as usize].transform_point3(position);
            moved.extend(joints.iter().map(of_joint));
            let found = change_error(changes, &moved);
            let error = found.error.length();
            if !(error.is_finite() && found.bound.is_finite()) {
                self.not_finite += 1;
                continue;
            }
            self.sizes[size_of(error)] += 1;
            self.bound = self.bound.max(found.bound);
            if error > self.worst.map_or(0.0, |worst| worst.error) {
                self.worst = Some(Worst {
                    error,
                    bound: found.bound,
                    time,
                    mesh: surface.mesh,
                    primitive: surface.primitive,
                    vertex,
                });
            }
        }
    }

    fn report(self, clip: Option<&Clip>, frames: u64, samples: u64) -> PoseReport {
        PoseReport {
            clip: clip.map(|clip| (clip.name.clone(), clip.source)),
            seconds: clip.map_or(0.0, |clip| f64::from(clip.duration)),
            frames,
            samples,
            percentile_99: self.percentile_99(samples),
            worst: self.worst,
            bound: self.bound,
            not_finite: self.not_finite,
        }
    }

    /// The smallest size that no more than 1 in 100 of `samples` is above, from the largest down.
    fn percentile_99(&self, samples: u64) -> f64 {
        let largest = self.worst.map_or(0.0, |worst| worst.error);
        let mut above = 0;
        for (size, count) in self.sizes.iter().enumerate().rev() {
            above += count;
            if above > samples / 100 {
                return upper_end(size).min(largest);
            }
        }
        0.0
    }
}

/// Index of the size that `error`, ≥ 0 and finite, belongs to.
fn size_of(error: f64) -> usize {
    ((error as f32).to_bits() >> DROPPED_BITS) as usize
}

/// The largest error of a size; the smallest size, far below what f32 tells from 0 anywhere near a model, counts as 0.
fn upper_end(size: usize) -> f64 {
    match size {
        0 => 0.0,
        _ => f32::from_bits(((size as u32 + 1) << DROPPED_BITS) - 1).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_is_the_size_that_one_in_a_hundred_exceeds() {
        let mut tally = Tally::new();
        for i in 1..=1000_u32 {
            tally.sizes[size_of(f64::from(i) * 1e-6)] += 1;
        }
        let worst = Worst {
            error: 1e-3,
            bound: 1.0,
            time: 0.0,
            mesh: 0,
            primitive: 0,
            vertex: 0,
        };
        tally.worst = Some(worst);
        // 990 of 1000 are at most 990 µm; with 99 000 zeros besides, every other one is among the largest hundredth.
        let all = tally.percentile_99(1000);
        assert!((all - 990e-6).abs() < 1e-6, "{all}");
        assert_eq!(tally.percentile_99(200_000), 0.0);
        assert_eq!(tally.percentile_99(1), 1e-3);
    }

    #[test]
    fn sizes_are_a_thousandth_wide_and_hold_what_they_should() {
        for error in [1e-30, 1e-9, 0.001, 0.3, 1.0, 123.4, 1e30] {
            let end = upper_end(size_of(error));
            assert!(
                end >= error * (1.0 - 1e-7) && end <= error * 1.001,
                "{error}: {end}"
            );
        }
        assert_eq!(upper_end(size_of(0.0)), 0.0);
        assert_eq!(size_of(f64::MAX), SIZES - 1);
    }
}
