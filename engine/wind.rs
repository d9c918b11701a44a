//! Wind: a field over model space and time, a pure function of both and a seed. `[W1]`
//!
//! ```text
//! strength = Σ amplitude·sin(2π(frequency·t + phase)) + power·(noise(…)·½ + ½)        wind = direction · strength
//! advected    noise(f·(q − direction·speed·t))        the gusts travel with the wind
//! documented  noise(q·f·t)                            the source's; it speeds up for ever
//! ```
//!
//! The noise is `fastnoise-lite`'s `OpenSimplex2`, in [−1, 1]: a kept crate whose path from seed and point to number is
//! sums, products, comparisons and integer hashes, nothing that a platform or a processor may round in its own way. The
//! version is pinned, because its numbers are part of the result.

use bevy_ecs::component::Component;
#[cfg(feature = "bevy")]
use bevy_ecs::reflect::ReflectComponent;
use bevy_math::{Vec3, ops};
#[cfg(feature = "bevy")]
use bevy_reflect::{Reflect, std_traits::ReflectDefault};
use fastnoise_lite::{FastNoiseLite, NoiseType};

/// The wind that an actor stands in. Optional: without it the air is still.
///
/// Strength 1 on a swing joint with `wind` 1 moves its particle by 2/3 m per substep, so useful strengths are some
/// thousandths. Time is the host's, so that neighbours feel a gust together whenever they were spawned.
#[derive(Component, Clone, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect))]
#[cfg_attr(feature = "bevy", reflect(Component, Debug, Default, PartialEq, Clone))]
pub struct Wind {
    /// Where it blows to, world space, unit. Default +X.
    pub direction: Vec3,
    /// Strength of the first octave of noise, dimensionless: its contribution lies between 0 and this. Default 0.
    pub power: f32,
    /// Of the first octave: per metre (advected) or per metre and second (documented). Default 1.
    pub frequency: f32,
    /// A second octave with a power and a frequency of its own.
    pub octave: Option<Octave>,
    /// Regular gusts, the same everywhere.
    pub gusts: Vec<Gust>,
    /// How the noise moves.
    pub form: WindForm,
    /// Of the noise.
    pub seed: u32,
}

/// One octave of noise.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct Octave {
    /// Strength, dimensionless.
    pub power: f32,
    /// As [`Wind::frequency`].
    pub frequency: f32,
}

/// A regular gust: a sine of time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub struct Gust {
    /// Strength at its height, dimensionless.
    pub amplitude: f32,
    /// Hertz.
    pub frequency: f32,
    /// At time 0, in turns: 0.25 starts at the height.
    pub phase: f32,
}

/// How noise moves with time. `[W1]`
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "bevy", derive(Reflect), reflect(Debug, PartialEq, Clone))]
pub enum WindForm {
    /// It travels with the wind, at this speed in metres per second.
    Advected(f32),
    /// The source's form: ever faster as time goes on.
    Documented,
}

impl Default for Wind {
    fn default() -> Self {
        Self {
            direction: Vec3::X,
            power: 0.0,
            frequency: 1.0,
            octave: None,
            gusts: Vec::new(),
            form: WindForm::Advected(1.0),
            seed: 0,
        }
    }
}

/// A wind ready to be asked: its direction in model space, its noise set up.
pub struct WindField {
    octaves: Vec<(Octave, FastNoiseLite)>,
    of: Wind,
}

impl core::fmt::Debug for WindField {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        self.of.fmt(f)
    }
}

impl Clone for WindField {
    fn clone(&self) -> Self {
        Self::new(&self.of)
    }
}

impl WindField {
    /// Sets up `wind`, whose direction is in model space already.
    pub fn new(wind: &Wind) -> Self {
        let first = Octave {
            power: wind.power,
            frequency: wind.frequency,
        };
        let octaves = [Some(first), wind.octave].into_iter().flatten();
        let octaves = octaves.filter(|octave| octave.power != 0.0).zip(0..);
        Self {
            octaves: octaves
                .map(|(octave, index)| (octave, noise(wind.seed, index)))
                .collect(),
            of: wind.clone(),
        }
    }

    /// Whether it is what `wind` is, to whatever direction it blows.
    pub fn is_like(&self, wind: &Wind) -> bool {
        // The fields that say the wind's strength are the same in both spaces.
        (self.of.power, self.of.frequency) == (wind.power, wind.frequency)
            && (self.of.octave, self.of.form, self.of.seed) == (wind.octave, wind.form, wind.seed)
            && self.of.gusts == wind.gusts
    }

    /// Lets it blow to `direction`, in model space.
    pub fn turn_to(&mut self, direction: Vec3) {
        self.of.direction = direction;
    }

    /// The part of the strength that is the same everywhere at `time`, seconds.
    pub fn gust(&self, time: f64) -> f32 {
        let of = |gust: &Gust| {
            // Whole turns are dropped before the sine, in double precision: an hour must not cost the phase its digits.
            let turns = f64::from(gust.frequency) * time + f64::from(gust.phase);
            let angle = (turns - turns.floor()) * core::f64::consts::TAU;
            gust.amplitude * ops::sin(angle as f32)
        };
        self.of.gusts.iter().map(of).sum()
    }

    /// The wind at `point`, model space, metres, and `time`, seconds.
    pub fn at(&self, point: Vec3, time: f64) -> Vec3 {
        self.at_gust(point, time, self.gust(time))
    }

    /// As [`Self::at`], `gust` being [`Self::gust`] of that time: whoever asks at many points computes it once.
    pub fn at_gust(&self, point: Vec3, time: f64, gust: f32) -> Vec3 {
        let mut strength = gust;
        for (octave, noise) in &self.octaves {
            let at = self.noise_point(point, time, f64::from(octave.frequency));
            let value = noise.get_noise_3d(at[0], at[1], at[2]).clamp(-1.0, 1.0);
            strength += octave.power * (value * 0.5 + 0.5);
        }
        self.of.direction * strength
    }

    /// Where in the noise a point lies.
    fn noise_point(&self, point: Vec3, time: f64, frequency: f64) -> [f64; 3] {
        let (point, direction) = (point.to_array(), self.of.direction.to_array());
        let moved = |axis: usize| match self.of.form {
            WindForm::Advected(speed) => {
                let travelled = f64::from(direction[axis]) * f64::from(speed) * time;
                frequency * (f64::from(point[axis]) - travelled)
            }
            WindForm::Documented => f64::from(point[axis]) * frequency * time,
        };
        core::array::from_fn(moved)
    }
}

/// The noise of one octave: octaves of one wind differ, and so do seeds.
fn noise(seed: u32, octave: u32) -> FastNoiseLite {
    // The crate adds to the seed, so the highest bits stay free.
    let mixed = seed.wrapping_add(octave.wrapping_mul(0x9e37_79b9)) & 0x3fff_ffff;
    let mut noise = FastNoiseLite::with_seed(mixed as i32);
    noise.set_noise_type(Some(NoiseType::OpenSimplex2));
    noise.set_frequency(Some(1.0));
    noise
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breeze(form: WindForm) -> WindField {
        WindField::new(&Wind {
            power: 1.0,
            frequency: 0.7,
            octave: Some(Octave {
                power: 0.5,
                frequency: 2.3,
            }),
            form,
            seed: 7,
            ..Wind::default()
        })
    }

    #[test]
    fn w1_strength_stays_between_nothing_and_the_sum_of_powers() {
        let (mut low, mut high) = (f32::MAX, f32::MIN);
        let field = breeze(WindForm::Advected(2.0));
        for step in 0..20_000 {
            let t = f64::from(step) * 0.137;
            let point = Vec3::new(0.3, 1.0, -0.2) * (step % 17) as f32;
            let strength = field.at(point, t).x;
            low = low.min(strength);
            high = high.max(strength);
        }
        assert!(low >= 0.0 && high <= 1.5, "{low} to {high}");
        assert!(low < 0.3 && high > 1.2, "it blows: {low} to {high}");
    }

    #[test]
    fn w1_advected_noise_travels_with_the_wind() {
        let field = breeze(WindForm::Advected(2.0));
        let here = field.at(Vec3::new(0.5, 0.0, 0.0), 1.0);
        let downwind = field.at(Vec3::new(2.5, 0.0, 0.0), 2.0);
        assert!((here - downwind).length() < 1e-6, "{here} {downwind}");
    }

    #[test]
    fn w1_a_quarter_turn_of_phase_starts_a_gust_at_its_height() {
        let gust = Gust {
            amplitude: 2.0,
            frequency: 0.5,
            phase: 0.25,
        };
        let field = WindField::new(&Wind {
            gusts: vec![gust],
            ..Wind::default()
        });
        for (time, expected) in [(0.0, 2.0), (0.5, 0.0), (1.0, -2.0), (7200.0, 2.0)] {
            let found = field.gust(time);
            assert!((found - expected).abs() < 1e-5, "{found} at {time} s");
        }
    }

    #[test]
    fn the_bits_of_the_noise_are_those_they_were() {
        // A change here is a change of every simulation in wind: say so, and why.
        let field = breeze(WindForm::Advected(1.5));
        let at = |x: f32, t: f64| field.at(Vec3::new(x, 1.0, 0.25), t).x.to_bits();
        let found = [at(0.0, 0.0), at(1.25, 0.5), at(-3.0, 1000.0)];
        assert_eq!(found, [1_052_483_325, 1_059_388_354, 1_058_864_762]);
    }
}
