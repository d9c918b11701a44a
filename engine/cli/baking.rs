//! How motion is baked: the options of every command that bakes.

use clap::Args;
use flounce::assets::Error;
use flounce::assets::bake::BakeOptions;

use super::profile::ProfileArguments;

/// Which clips are baked, and how.
#[derive(Args)]
pub struct BakingArguments {
    /// Bake only this clip, by name or #index; may be given several times
    #[arg(long, value_name = "NAME")]
    clip: Vec<String>,
    /// Keys per second
    #[arg(long, value_name = "HZ", default_value_t = 60.0)]
    rate: f64,
    /// The clips are loops: play each until its end meets its start
    #[arg(long = "loop")]
    looped: bool,
    /// Length of the motion of a model without clips; others keep their own lengths [default: 2]
    #[arg(long, value_name = "S")]
    seconds: Option<f32>,
    /// Drop keys as long as no joint turns by more than this (what slides may shift as far as that turns its distance
    /// from its parent); 0 keeps all
    #[arg(long, value_name = "DEG", default_value_t = 0.0)]
    tolerance_deg: f32,
    #[command(flatten)]
    profile: ProfileArguments,
    /// Store rotations as 16-bit integers, half the bytes: each key turns by at most 0.0035°, on top of --tolerance-deg
    #[arg(long)]
    quantize: bool,
    /// Take VRM spring bones out of the output, which a viewer would simulate on top
    #[arg(long)]
    strip_springs: bool,
}

impl BakingArguments {
    /// The options as the library takes them; nothing is hashed.
    ///
    /// # Errors
    /// Those of the profile's switches. Other ranges are checked where clips are selected.
    pub fn options(&self) -> Result<BakeOptions, Error> {
        let defaults = BakeOptions::default();
        Ok(BakeOptions {
            clips: self.clip.clone(),
            rate_hz: self.rate,
            looped: self.looped,
            seconds: self.seconds.unwrap_or(defaults.seconds),
            tolerance_deg: self.tolerance_deg,
            profile: self.profile.profile()?,
            quantize: self.quantize,
            strip_springs: self.strip_springs,
            ..defaults
        })
    }

    /// Whether a length was given, which models with clips do not need.
    pub fn names_seconds(&self) -> bool {
        self.seconds.is_some()
    }
}
