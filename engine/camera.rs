//! Cameras of a left-handed source, in our space and along glTF's axis. `[K8]` `[C1]`
//!
//! The source's camera looks along its own +Z, a camera of glTF along its −Z. So beyond the mirror of all data a camera
//! takes half a turn about its own Y:
//!
//! ```text
//! q' = mirror(q) * (0, 1, 0, 0) = (qz, qw, qx, qy)
//! ```
//! All of it is linear in the components, so tangents of spline keys are converted as values are.

use bevy_math::{Quat, Vec3};

use crate::clip::{Interpolation, TrackValues, align_hemispheres};
use crate::mirror;

/// Where a camera is and how wide it looks, as glTF has it: along −Z, +Y up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Metres.
    pub position: Vec3,
    /// Unit.
    pub rotation: Quat,
    /// Vertical field of view, radians.
    pub yfov: f32,
}

impl Camera {
    /// From a left-handed source: position, rotation and vertical field of view in degrees. `[K8]`
    pub fn from_left_handed(position: Vec3, rotation: Quat, fov_deg: f32) -> Self {
        Self {
            position: mirror::point(position),
            rotation: Quat::from_array(turned(rotation.to_array())),
            yfov: fov_deg.to_radians(),
        }
    }
}

/// `mirror(q) * (0, 1, 0, 0)`. `[K8]`
fn turned([x, y, z, w]: [f32; 4]) -> [f32; 4] {
    [z, w, x, y]
}

/// The keys of a camera's translation, rotation or field of view, from a left-handed source. `[K8]` `[B5]`
///
/// Neighbouring rotation keys end on one hemisphere; a field of view comes in degrees and leaves in radians. Tracks of other properties are none of a camera's node and stay as
/// they are.
pub fn convert_keys(values: &mut TrackValues, interpolation: Interpolation) {
    match values {
        TrackValues::Translation(keys) => {
            for key in keys {
                *key = mirror::point(Vec3::from_array(*key)).to_array();
            }
        }
        TrackValues::Rotation(keys) => {
            for key in keys.iter_mut() {
                *key = turned(*key);
            }
            align_hemispheres(keys, interpolation.per_key(), interpolation.value_of_key());
        }
        TrackValues::Fov(keys) => {
            for [angle] in keys {
                *angle = angle.to_radians();
            }
        }
        TrackValues::Scale(_) | TrackValues::Weights { .. } | TrackValues::BakeWeight(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::euler::from_euler_zxy;
    use crate::rotation::Rotation;

    /// The source's yaw and pitch in degrees; the formula of the quaternion is the same on both sides.
    fn source(yaw: f32, pitch: f32) -> Quat {
        from_euler_zxy([pitch.to_radians(), yaw.to_radians(), 0.0]).into()
    }

    fn turn(q: Quat, v: Vec3) -> Vec3 {
        Rotation::from(q).rotate(v.into()).into()
    }

    #[test]
    fn gltf_13_a_source_camera_looks_where_it_looked() {
        let q = source(30.0, 15.0);
        let camera = Camera::from_left_handed(Vec3::new(1.0, 2.0, 3.0), q, 60.0);
        assert_eq!(camera.position, Vec3::new(-1.0, 2.0, 3.0));
        assert!((camera.yfov - core::f32::consts::FRAC_PI_3).abs() < 1e-6);
        for (ours, theirs) in [(Vec3::NEG_Z, Vec3::Z), (Vec3::Y, Vec3::Y)] {
            let (found, expected) = (turn(camera.rotation, ours), mirror::point(turn(q, theirs)));
            let error = (found - expected).length();
            assert!(error < 1e-6, "{found} for {expected}: {error:e}");
        }
        // Without the half-turn it would look exactly the other way.
        let backwards = turn(mirror::rotation(q), Vec3::NEG_Z);
        assert!((backwards + turn(camera.rotation, Vec3::NEG_Z)).length() < 1e-6);
    }

    #[test]
    fn gltf_13_neighbouring_keys_stay_on_one_hemisphere() {
        let turns = [170.0, 190.0, 350.0, 370.0].map(|yaw| source(yaw, 10.0));
        let mut keys: Vec<[f32; 4]> = turns.iter().map(|q| q.to_array()).collect();
        keys[1] = keys[1].map(|c| -c);
        let mut values = TrackValues::Rotation(keys);
        convert_keys(&mut values, Interpolation::Linear);
        let TrackValues::Rotation(keys) = &values else {
            panic!("a rotation track stays one");
        };
        for (index, pair) in keys.windows(2).enumerate() {
            let dot: f32 = pair[0].iter().zip(&pair[1]).map(|(a, b)| a * b).sum();
            assert!(dot >= 0.0, "keys {index}: {dot}");
        }
    }

    #[test]
    fn k8_tangents_turn_with_their_keys() {
        let value = source(30.0, 0.0).to_array();
        let tangent = [1.0, 2.0, 3.0, 4.0];
        let far = value.map(|c| -c);
        let keys = vec![[0.0; 4], value, tangent, tangent, far, [0.0; 4]];
        let mut rotations = TrackValues::Rotation(keys);
        convert_keys(&mut rotations, Interpolation::CubicSpline);
        let TrackValues::Rotation(keys) = &rotations else {
            panic!("a rotation track stays one");
        };
        assert_eq!(keys[2], [3.0, 4.0, 1.0, 2.0]);
        assert_eq!(keys[3], [-3.0, -4.0, -1.0, -2.0], "with its key's sign");
        assert_eq!(keys[4], keys[1]);
        let mut translations = TrackValues::Translation(vec![[1.0, 2.0, 3.0]]);
        convert_keys(&mut translations, Interpolation::Step);
        assert_eq!(
            translations,
            TrackValues::Translation(vec![[-1.0, 2.0, 3.0]])
        );
        let mut fov = TrackValues::Fov(vec![[180.0]]);
        convert_keys(&mut fov, Interpolation::Step);
        assert_eq!(fov, TrackValues::Fov(vec![[core::f32::consts::PI]]));
    }
}
