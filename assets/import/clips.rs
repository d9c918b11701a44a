//! Animations become clips: one track per channel, its keys checked in [`super::keys`]. *glTF 2.0 §3.11* `[K1]`
//!
//! What the format forbids and playing depends on is an error (times, counts, types, doubled targets); what merely
//! cannot be shown is left out with a warning (paths of extensions, weights of a mesh without targets); channels
//! without a node belong to extensions and are left out silently. A channel that is left out stays in the file.

use std::sync::Arc;

use gltf::accessor::Dimensions;

use super::accessor::{Reader, Stored};
use super::document::{Channel, Document, Sampler, Target};
use super::keys::{self, Shape};
use super::nodes::Joints;
use super::{Camera, Mesh, Projection, Warnings};
use crate::assets::json::{Fault, entry, named, quote};
use crate::clip::{Clip, Interpolation, Track, TrackValues};

/// A property of a node that a channel can move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    Translation,
    Rotation,
    Scale,
    Weights,
    /// The field of view of the node's camera.
    Fov,
}

impl Path {
    const COUNT: usize = 5;

    fn parse(name: &str) -> Option<Self> {
        match name {
            "translation" => Some(Self::Translation),
            "rotation" => Some(Self::Rotation),
            "scale" => Some(Self::Scale),
            "weights" => Some(Self::Weights),
            _ => None,
        }
    }
}

/// Reads the animations of one file.
struct Clips<'a> {
    document: &'a Document<'a>,
    reader: Reader<'a>,
    joints: &'a Joints,
    meshes: &'a [Mesh],
    cameras: &'a [Camera],
    /// Times by accessor: thousands of channels share a handful.
    times: Vec<Option<Arc<[f32]>>>,
    /// The animation (plus one) and the channel that moved a property last, to find doubled targets.
    movers: Vec<[(u32, u32); Path::COUNT]>,
    warnings: &'a mut Warnings,
}

/// A channel that is read, and how messages name it.
struct Place<'a> {
    animation: usize,
    channel: usize,
    sampler: usize,
    clip: &'a str,
    target: &'a Channel<'a>,
    node_name: &'a str,
}

impl<'a> Place<'a> {
    fn new(document: &'a Document<'a>, animation: usize, channel: usize, node: usize) -> Self {
        let of = &document.animations[animation];
        let target = &of.channels[channel];
        Self {
            animation,
            channel,
            sampler: target.sampler.get(),
            clip: &of.name,
            target,
            node_name: document.nodes.get(node).map_or("", |node| &node.name),
        }
    }

    /// `/animations/0/channels/12 (rotation of "hair_03" (node 7) in "walk")`
    fn describe(&self) -> String {
        let node = self.target.target.node.map_or(0, |node| node.get());
        format!(
            "/animations/{}/channels/{} ({} of {} in {})",
            self.animation,
            self.channel,
            self.target.target.path.0,
            named("node", node, self.node_name),
            named("animation", self.animation, self.clip),
        )
    }
}

/// All animations as clips, in file order.
pub(super) fn read(
    document: &Document,
    reader: Reader,
    joints: &Joints,
    meshes: &[Mesh],
    cameras: &[Camera],
    warnings: &mut Warnings,
) -> Result<Vec<Clip>, Fault> {
    let mut clips = Clips {
        document,
        reader,
        joints,
        meshes,
        cameras,
        times: vec![None; document.accessors.len()],
        movers: vec![Default::default(); document.nodes.len()],
        warnings,
    };
    (0..document.animations.len())
        .map(|animation| clips.clip(animation))
        .collect()
}

impl Clips<'_> {
    fn clip(&mut self, index: usize) -> Result<Clip, Fault> {
        let animation = &self.document.animations[index];
        let name = if animation.name.is_empty() {
            format!("animation_{index}")
        } else {
            animation.name.to_string()
        };
        let mut tracks = Vec::with_capacity(animation.channels.len());
        let (mut unknown, mut first_unknown) = (0_usize, None);
        for (channel, entry) in animation.channels.iter().enumerate() {
            match Path::parse(&entry.target.path) {
                Some(path) => tracks.extend(self.channel(index, channel, path)?),
                None if self.is_lens(&entry.target) => {
                    tracks.extend(self.lens(index, channel)?);
                }
                None => {
                    unknown += 1;
                    first_unknown.get_or_insert(&entry.target.path);
                }
            }
        }
        if let Some(path) = first_unknown {
            self.warnings.add(|| {
                let animation = named("animation", index, &animation.name);
                let path = quote(path);
                format!("{animation}: {unknown} channels left out, a rig has no {path}")
            });
        }
        let ends = tracks
            .iter()
            .filter_map(|track| track.times.last().copied());
        let duration = ends.fold(0.0, f32::max);
        Ok(Clip {
            name,
            source: index,
            tracks,
            duration,
        })
    }

    /// The track of a channel; `None` when it moves nothing that a rig has.
    fn channel(
        &mut self,
        animation: usize,
        channel: usize,
        path: Path,
    ) -> Result<Option<Track>, Fault> {
        let document = self.document;
        let entry = &document.animations[animation].channels[channel];
        let Some(node) = entry.target.node else {
            return Ok(None);
        };
        let place = Place::new(document, animation, channel, node.get());
        self.track(&place, node.get(), path)
            .map_err(|fault| fault.used_by(&place.describe()))
    }

    /// Whether a channel moves the field of view of a camera that some node carries. `KHR_animation_pointer`
    fn is_lens(&self, target: &Target) -> bool {
        let camera = camera_of(target);
        camera.is_some_and(|camera| self.carriers(camera).next().is_some())
    }

    /// The nodes that carry a perspective camera.
    fn carriers(&self, camera: usize) -> impl Iterator<Item = usize> + use<'_> {
        let carried = self.cameras.iter().filter(move |of| of.source == camera);
        let lens = carried.filter(|of| matches!(of.projection, Projection::Perspective { .. }));
        lens.map(|of| self.joints.joints[of.joint].source)
    }

    /// The field of view of a camera as a track for each node that carries it.
    fn lens(&mut self, animation: usize, channel: usize) -> Result<Vec<Track>, Fault> {
        let document = self.document;
        let entry = &document.animations[animation].channels[channel];
        let camera = camera_of(&entry.target).unwrap_or(0);
        let nodes: Vec<usize> = self.carriers(camera).collect();
        let mut tracks = Vec::with_capacity(nodes.len());
        for node in nodes {
            let place = Place::new(document, animation, channel, node);
            let track = self.track(&place, node, Path::Fov);
            tracks.extend(track.map_err(|fault| fault.used_by(&place.describe()))?);
        }
        Ok(tracks)
    }

    fn track(&mut self, place: &Place, node: usize, path: Path) -> Result<Option<Track>, Fault> {
        self.check_target(place, node, path)?;
        let targets = self.targets(node);
        if path == Path::Weights && targets == 0 {
            self.warnings
                .add(|| format!("{}: left out, there are no morph targets", place.describe()));
            return Ok(None);
        }
        let samplers = &self.document.animations[place.animation].samplers;
        let sampler = entry(samplers, "its animation's samplers", place.sampler)?;
        let interpolation = interpolation(sampler, place)?;
        let at = |member: &str| {
            let Place {
                animation, sampler, ..
            } = place;
            format!("/animations/{animation}/samplers/{sampler}/{member}")
        };
        let times = self
            .times(sampler.input.get())
            .map_err(|fault| fault.or_at(&at("input")))?;
        if times.len() == 1 && interpolation == Interpolation::CubicSpline {
            self.warnings
                .add(|| format!("{}: a spline of one key is a constant", place.describe()));
        }
        let shape = Shape {
            accessor: sampler.output.get(),
            keys: times.len(),
            per_key: interpolation.per_key(),
            per_value: if path == Path::Weights { targets } else { 1 },
        };
        let values = self
            .values(place, path, &shape)
            .map_err(|fault| fault.or_at(&at("output")))?;
        Ok(Some(Track {
            joint: self.joints.of_node[node],
            source: place.channel,
            interpolation,
            times,
            values,
        }))
    }

    /// A node that is there, keeps its transform in parts, and is not moved by another channel.
    fn check_target(&mut self, place: &Place, node: usize, path: Path) -> Result<(), Fault> {
        let entry = entry(&self.document.nodes, "/nodes", node)?;
        if !matches!(path, Path::Weights | Path::Fov) && entry.matrix.is_some() {
            let found = "an animated node with a matrix";
            let expected = "translation, rotation and scale";
            return Err(Fault::new(format!("/nodes/{node}/matrix"), found, expected));
        }
        let mover = &mut self.movers[node][path as usize];
        let now = place.animation as u32 + 1;
        if mover.0 == now {
            let found = format!(
                "a second channel for this target, after channel {}",
                mover.1
            );
            return Err(Fault::new("", found, "each target once per animation"));
        }
        *mover = (now, place.channel as u32);
        Ok(())
    }

    /// Morph targets of the mesh at `node`.
    fn targets(&self, node: usize) -> usize {
        let mesh = self.document.nodes[node].mesh;
        mesh.and_then(|mesh| self.meshes.get(mesh.get()))
            .map_or(0, |mesh| mesh.weights.len())
    }

    /// Key times: finite and strictly increasing; read and checked once per accessor.
    fn times(&mut self, accessor: usize) -> Result<Arc<[f32]>, Fault> {
        if let Some(Some(times)) = self.times.get(accessor) {
            return Ok(Arc::clone(times));
        }
        let times = keys::times(&mut self.reader, accessor)?;
        self.times[accessor] = Some(Arc::clone(&times));
        Ok(times)
    }

    /// The values at the keys, with warnings about what was put right.
    fn values(&mut self, place: &Place, path: Path, shape: &Shape) -> Result<TrackValues, Fault> {
        let reader = &mut self.reader;
        let (values, repairs) = match path {
            Path::Translation | Path::Scale => {
                let wanted = (Dimensions::Vec3, Stored::Float);
                let (values, repairs) = keys::values(reader, shape, wanted)?;
                let values = if path == Path::Scale {
                    TrackValues::Scale(values)
                } else {
                    TrackValues::Translation(values)
                };
                (values, repairs)
            }
            Path::Rotation => {
                let (values, repairs) = keys::rotations(reader, shape)?;
                (TrackValues::Rotation(values), repairs)
            }
            Path::Weights => {
                let wanted = (Dimensions::Scalar, Stored::FloatOrNormalized);
                let (values, repairs) = keys::values::<1>(reader, shape, wanted)?;
                let count = shape.per_value;
                let values = values.into_flattened();
                (TrackValues::Weights { count, values }, repairs)
            }
            Path::Fov => {
                let wanted = (Dimensions::Scalar, Stored::Float);
                let (values, repairs) = keys::values::<1>(reader, shape, wanted)?;
                (TrackValues::Fov(values), repairs)
            }
        };
        if repairs.unused_tangents {
            self.warnings.add(|| {
                let place = place.describe();
                format!("{place}: the first in-tangent or last out-tangent is not finite; it is not used")
            });
        }
        if repairs.normalised > 0 {
            self.warnings.add(|| {
                let (place, count) = (place.describe(), repairs.normalised);
                format!("{place}: {count} keys are not of length 1 and were normalised")
            });
        }
        Ok(values)
    }
}

/// The camera whose field of view a channel points to: `/cameras/3/perspective/yfov`. `KHR_animation_pointer`
fn camera_of(target: &Target) -> Option<usize> {
    let pointer = target.extensions.as_ref()?.pointer.as_ref()?;
    let camera = pointer.pointer.strip_prefix("/cameras/")?;
    camera.strip_suffix("/perspective/yfov")?.parse().ok()
}

fn interpolation(sampler: &Sampler, place: &Place) -> Result<Interpolation, Fault> {
    match sampler.interpolation.as_deref() {
        None | Some("LINEAR") => Ok(Interpolation::Linear),
        Some("STEP") => Ok(Interpolation::Step),
        Some("CUBICSPLINE") => Ok(Interpolation::CubicSpline),
        Some(other) => Err(Fault::new(
            format!(
                "/animations/{}/samplers/{}/interpolation",
                place.animation, place.sampler
            ),
            quote(other),
            "\"LINEAR\", \"STEP\" or \"CUBICSPLINE\"",
        )),
    }
}

#[cfg(test)]
mod tests;
