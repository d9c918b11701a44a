//! What a trim did: counts, and errors pose by pose, for people and as JSON. `[I2]`

use serde_json::{Value, json};

use super::SkinOptions;
use crate::skin::Influence;

/// What trimming did, besides the file.
#[derive(Clone, Debug, PartialEq)]
pub struct SkinReport {
    /// How it was done.
    pub options: SkinOptions,
    /// Vertices of all skinned primitives; vertices that primitives share count for each.
    pub vertices: u64,
    /// Vertices that lost influences.
    pub trimmed: u64,
    /// Skinned primitives.
    pub primitives: usize,
    /// Primitives that have other weights now.
    pub changed: usize,
    /// Largest share of its weight that a vertex lost, 0 to 1.
    pub dropped_largest: f64,
    /// Sum of the shares that vertices lost.
    pub dropped_sum: f64,
    /// The rest pose, then every clip in file order.
    pub poses: Vec<PoseReport>,
    /// What deserves a look, one sentence each.
    pub warnings: Vec<String>,
}

/// The errors of all skinned vertices in the rest pose or in a clip.
#[derive(Clone, Debug, PartialEq)]
pub struct PoseReport {
    /// Name and index of the clip; `None`: the rest pose.
    pub clip: Option<(String, usize)>,
    /// Length, seconds.
    pub seconds: f64,
    /// Poses measured.
    pub frames: u64,
    /// Errors measured: vertices of each mesh under each of its skins, times poses.
    pub samples: u64,
    /// The largest error and where it is; `None` when no vertex moves.
    pub worst: Option<Worst>,
    /// No more than 1 in 100 errors is larger, metres; rounded up by at most 0.1 %.
    pub percentile_99: f64,
    /// The largest bound `r·D` of any vertex, metres.
    pub bound: f64,
    /// Errors that are not finite, of poses too large for numbers.
    pub not_finite: u64,
}

/// The vertex that is farthest from where all its influences put it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worst {
    /// How far, metres.
    pub error: f64,
    /// Its bound `r·D`, metres.
    pub bound: f64,
    /// Time in the clip, seconds.
    pub time: f64,
    /// Index of the mesh.
    pub mesh: usize,
    /// Index in the mesh.
    pub primitive: usize,
    /// Index in the primitive.
    pub vertex: u32,
}

impl SkinReport {
    pub(super) fn new(options: &SkinOptions, primitives: usize) -> Self {
        Self {
            options: options.clone(),
            vertices: 0,
            trimmed: 0,
            primitives,
            changed: 0,
            dropped_largest: 0.0,
            dropped_sum: 0.0,
            poses: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Counts a vertex with these influences, strongest first, of which `limit` are kept, in `users` primitives.
    pub(super) fn count(&mut self, full: &[Influence], limit: usize, users: usize) {
        self.vertices += users as u64;
        if full.len() > limit {
            let dropped: f64 = full[limit..].iter().map(|(_, weight)| weight).sum();
            self.trimmed += users as u64;
            self.dropped_largest = self.dropped_largest.max(dropped);
            self.dropped_sum += dropped * users as f64;
        }
    }

    /// Mean share of its weight that a vertex lost, 0 to 1; those that lost none count.
    pub fn dropped_mean(&self) -> f64 {
        self.dropped_sum / self.vertices.max(1) as f64
    }

    /// As JSON: what went in (`model` with its hash, the options) above what came out.
    pub fn to_json(&self, model: &str, blake3: &str) -> Value {
        json!({
            "format": "flounce-skin-report",
            "version": 1,
            "model": { "file": model, "blake3": blake3 },
            "limit": self.options.limit,
            "weights": self.options.weights.name(),
            "zero_weights": self.options.zero_weights.name(),
            "rate_hz": self.options.rate_hz,
            "vertices": self.vertices,
            "vertices_trimmed": self.trimmed,
            "primitives": self.primitives,
            "primitives_changed": self.changed,
            "dropped_weight": { "largest": self.dropped_largest, "mean": self.dropped_mean() },
            "poses": self.poses.iter().map(PoseReport::to_json).collect::<Vec<_>>(),
            "warnings": self.warnings,
        })
    }
}

impl PoseReport {
    /// The clip's name, or that it is the rest pose.
    pub fn name(&self) -> &str {
        self.clip.as_ref().map_or("(rest)", |(name, _)| name)
    }

    fn to_json(&self) -> Value {
        let worst = self.worst.map(|worst| {
            json!({
                "error_m": worst.error,
                "bound_m": worst.bound,
                "time_s": worst.time,
                "mesh": worst.mesh,
                "primitive": worst.primitive,
                "vertex": worst.vertex,
            })
        });
        json!({
            "clip": self.clip.as_ref().map(|(name, _)| name),
            "animation": self.clip.as_ref().map(|(_, index)| index),
            "seconds": self.seconds,
            "frames": self.frames,
            "samples": self.samples,
            "largest": worst,
            "percentile_99_m": self.percentile_99,
            "largest_bound_m": self.bound,
            "not_finite": self.not_finite,
        })
    }
}
