//! How far a uniform clip may be from its keys, and why a clip stays keyed.

use thiserror::Error;

use super::rows::Property;

/// How far a uniform clip may be from the keyed one, at any time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorBound {
    /// Angle between the rotations of a joint against its parent, radians, ≥ 0.
    pub rotation: f32,
    /// Distance of the translations of a joint, metres, ≥ 0.
    pub translation: f32,
    /// Distance of the scales of a joint, dimensionless, ≥ 0.
    pub scale: f32,
}

impl Default for ErrorBound {
    /// A milliradian, a tenth of a millimetre, a thousandth: at the end of a leg a millimetre, which nobody sees.
    fn default() -> Self {
        Self {
            rotation: 1e-3,
            translation: 1e-4,
            scale: 1e-3,
        }
    }
}

impl ErrorBound {
    pub(super) const ZERO: Self = Self {
        rotation: 0.0,
        translation: 0.0,
        scale: 0.0,
    };

    /// The bound of a property, in its unit.
    pub fn of(&self, property: Property) -> f32 {
        match property {
            Property::Translation => self.translation,
            Property::Rotation => self.rotation,
            Property::Scale => self.scale,
        }
    }

    pub(super) fn raise(&mut self, property: Property, to: f32) {
        let bound = match property {
            Property::Translation => &mut self.translation,
            Property::Rotation => &mut self.rotation,
            Property::Scale => &mut self.scale,
        };
        *bound = bound.max(to);
    }
}

/// Why a clip stays keyed.
#[derive(Clone, Copy, Debug, PartialEq, Error)]
pub enum NotUniform {
    /// Even at the highest rate that was tried it is off by more than the bound; a STEP always is if it is larger.
    #[error(
        "channel {source_index} ({property:?} of joint {joint}) is {error} off at {time} s with {rate_hz} rows per second; expected {bound} at most"
    )]
    TooFar {
        /// Index of the joint in the rig.
        joint: usize,
        /// The property that is worst.
        property: Property,
        /// Index of the channel in the file's animation.
        source_index: usize,
        /// How far it is off: radians, metres or a scale.
        error: f32,
        /// The bound, in the same unit.
        bound: f32,
        /// Where, seconds.
        time: f32,
        /// The rate.
        rate_hz: f64,
    },
    /// A track moves a joint that the rig does not have.
    #[error("channel {source_index} moves joint {joint}; the rig has {joints}")]
    Joint {
        /// Index of the channel in the file's animation.
        source_index: usize,
        /// The joint it names.
        joint: usize,
        /// Joints of the rig.
        joints: usize,
    },
    /// A key is infinite or NaN, or a zero quaternion.
    #[error(
        "channel {source_index} ({property:?} of joint {joint}) has no usable value at {time} s"
    )]
    Value {
        /// Index of the channel in the file's animation.
        source_index: usize,
        /// Index of the joint in the rig.
        joint: usize,
        /// The property.
        property: Property,
        /// Where, seconds.
        time: f32,
    },
    /// No rate was given that is finite and above 0, and the keys have none of their own.
    #[error("no rate to try: the keys lie on no grid and no rate was given")]
    NoRate,
    /// The rows would need more than 256 MB.
    #[error("{seconds} s at {rate_hz} rows per second are too much memory")]
    TooLong {
        /// Length of the clip.
        seconds: f32,
        /// The rate.
        rate_hz: f64,
    },
}
