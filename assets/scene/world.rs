//! What happens around the actors of a scene: the wind, their way through the world, resets.

use bevy_math::Vec3;
use serde::{Deserialize, Serialize};

use super::schema::{is_default, unit_or};
use crate::wind::{Gust, Octave, Wind, WindForm};

/// The wind that all actors stand in; its noise is seeded by the scene's `seed`. `[W1]`
///
/// Strength 1 moves a joint with `wind: 1` by 0.67 m per substep: useful strengths are some thousandths.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default, rename = "Wind")]
pub struct WindRule {
    /// Where it blows to, world space; any length but 0. Default +X.
    pub direction: [f32; 3],
    /// Strength of the first octave of noise, which adds between 0 and this. Default 0.
    pub power: f32,
    /// Of the first octave, per metre, ≥ 0. Default 1.
    pub frequency: f32,
    /// How fast the noise travels, metres per second, ≥ 0. Default 1; only for `form: advected`.
    pub speed: f32,
    /// How the noise moves with time. Default advected.
    #[serde(skip_serializing_if = "is_default")]
    pub form: Form,
    /// A second octave.
    #[serde(skip_serializing_if = "is_default")]
    pub octave: Option<OctaveRule>,
    /// Regular gusts, the same everywhere.
    #[serde(skip_serializing_if = "is_default")]
    pub gusts: Vec<GustRule>,
}

/// How noise moves with time. `[W1]`
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Form {
    /// With the wind.
    #[default]
    Advected,
    /// The source's form, ever faster.
    Documented,
}

/// An octave of noise.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Octave")]
pub struct OctaveRule {
    /// Strength.
    pub power: f32,
    /// Per metre, ≥ 0.
    pub frequency: f32,
}

/// A regular gust.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Gust")]
pub struct GustRule {
    /// Strength at its height.
    pub amplitude: f32,
    /// Hertz, ≥ 0.
    pub frequency: f32,
    /// At time 0, in turns. Default 0.
    #[serde(default)]
    pub phase: f32,
}

impl Default for WindRule {
    fn default() -> Self {
        Self {
            direction: [1.0, 0.0, 0.0],
            power: 0.0,
            frequency: 1.0,
            speed: 1.0,
            form: Form::Advected,
            octave: None,
            gusts: Vec::new(),
        }
    }
}

impl WindRule {
    /// As the engine has it, with the noise of `seed`.
    pub(in crate::assets) fn wind(&self, seed: u64) -> Wind {
        let gust = |gust: &GustRule| Gust {
            amplitude: gust.amplitude,
            frequency: gust.frequency,
            phase: gust.phase,
        };
        Wind {
            direction: unit_or(self.direction, Vec3::X),
            power: self.power,
            frequency: self.frequency,
            octave: self.octave.map(|octave| Octave {
                power: octave.power,
                frequency: octave.frequency,
            }),
            gusts: self.gusts.iter().map(gust).collect(),
            form: match self.form {
                Form::Advected => WindForm::Advected(self.speed),
                Form::Documented => WindForm::Documented,
            },
            // Both halves of the seed count.
            seed: (seed ^ (seed >> 32)) as u32,
        }
    }
}

/// Where an actor is at a time; `[S2]` says what its hair makes of the way there.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename = "Move")]
pub struct MoveRule {
    /// Seconds from the start; after the time of the move before.
    pub time: f32,
    /// From where the actor stands, world space, metres.
    pub position: [f32; 3],
    /// Turn about +Y, degrees. Default 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub yaw_deg: f32,
    /// How it gets there. Default glide.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: MoveKind,
}

/// How an actor gets to a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveKind {
    /// In a straight line from the place before; before the first move, from where the actor stands.
    #[default]
    Glide,
    /// At once, in the frame of its time: the profile's thresholds say whether it is felt.
    Jump,
    /// At once, and the particles come along.
    Teleport,
}
