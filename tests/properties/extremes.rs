//! Extreme numbers: whatever finite number goes in, what comes out can be shown. `[V8]` `[B6]`

use bevy_math::Vec3;
use flounce::collider::Shape;
use flounce::driver::Driver;
use flounce::pose::{JointTransform, ModelPose};
use flounce::substep::FIXED_STEP;
use flounce::swing::Motion;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::config;
use crate::random::scene;
use crate::scene::Scene;

/// Where an extreme number is put.
#[derive(Clone, Copy, Debug)]
enum Target {
    RestTranslation,
    RestScale,
    Stiffness,
    Spring,
    Mass,
    Damping,
    PendulumRange,
    OwnOffset,
    OwnRadius,
    ObstacleOffset,
    ObstacleRadius,
    PoseTranslation,
    PoseScale,
    GlobalForce,
    MetresPerUnit,
    SwingPower,
    RootWeight,
    WindPower,
    WindFrequency,
    Coupling,
    SlideEnd,
    LinkRadius,
    DriverShare,
    ActorPlace,
    WorldInertia,
}

fn extreme() -> impl Strategy<Value = f32> + Clone {
    let sizes = select(vec![
        0.0_f32,
        1e-45,
        1e-40,
        f32::MIN_POSITIVE,
        1e-20,
        1e-10,
        1e-6,
        1e3,
        1e6,
        1e10,
        1e19,
        3e19,
        1e30,
        f32::MAX,
    ]);
    (sizes, any::<bool>()).prop_map(|(size, negative)| if negative { -size } else { size })
}

fn target() -> impl Strategy<Value = Target> + Clone {
    select(vec![
        Target::RestTranslation,
        Target::RestScale,
        Target::Stiffness,
        Target::Spring,
        Target::Mass,
        Target::Damping,
        Target::PendulumRange,
        Target::OwnOffset,
        Target::OwnRadius,
        Target::ObstacleOffset,
        Target::ObstacleRadius,
        Target::PoseTranslation,
        Target::PoseScale,
        Target::GlobalForce,
        Target::MetresPerUnit,
        Target::SwingPower,
        Target::RootWeight,
        Target::WindPower,
        Target::WindFrequency,
        Target::Coupling,
        Target::SlideEnd,
        Target::LinkRadius,
        Target::DriverShare,
        Target::ActorPlace,
        Target::WorldInertia,
    ])
}

fn put_in_shape(shape: &mut Shape, offset: Option<f32>, size: Option<f32>) {
    match shape {
        Shape::Sphere { offset: at, radius } => {
            at.y = offset.unwrap_or(at.y);
            *radius = size.unwrap_or(*radius);
        }
        Shape::Capsule {
            offset_b, radius_a, ..
        } => {
            offset_b.z = offset.unwrap_or(offset_b.z);
            *radius_a = size.unwrap_or(*radius_a);
        }
        Shape::Line {
            inset_b, radius_a, ..
        } => {
            *inset_b = offset.map_or(*inset_b, f32::abs);
            *radius_a = size.unwrap_or(*radius_a);
        }
        Shape::Plane { offset: at, .. } => *at = offset.or(size).unwrap_or(*at),
    }
}

impl Scene {
    /// Puts `value` into what joins joints, the air, or the actor's way.
    fn put_in_world(&mut self, target: Target, frame: usize, value: f32) {
        let (size, share) = (value.abs(), value.abs().min(1.0));
        match (target, &mut self.wind) {
            (Target::WindPower, Some(wind)) => wind.power = value,
            (Target::WindFrequency, Some(wind)) => wind.frequency = value,
            (Target::ActorPlace, _) => self.frames[frame].placed.translation.x = value,
            (Target::WorldInertia, _) => self.profile.world_inertia = share,
            _ => {}
        }
        for layer in &mut self.rig.layers {
            if let Target::LinkRadius = target {
                layer.radius = size;
            }
        }
        for driver in &mut self.rig.drivers {
            if let (Target::DriverShare, Driver::Skirt(skirt)) = (target, driver) {
                skirt.inner.x = value;
            }
        }
    }

    /// Puts `value` where `target` says, as far as a rig's check lets it in.
    fn put(&mut self, target: Target, index: usize, value: f32) {
        let (size, share) = (value.abs(), value.abs().min(1.0));
        let joints = self.rig.joints.len();
        let frames = self.frames.len();
        self.put_in_world(target, index % frames, value);
        let rest = &mut self.rig.joints[index % joints].rest;
        let pose = &mut self.frames[index % frames].pose[index / 7 % joints];
        match target {
            Target::RestTranslation => rest.translation.x = value,
            Target::RestScale => rest.scale.y = value,
            Target::PoseTranslation => pose.translation.z = value,
            Target::PoseScale => pose.scale.x = value,
            Target::GlobalForce => self.properties.global_force.x = value,
            Target::MetresPerUnit if size > 0.0 => self.rig.metres_per_unit = size,
            Target::SwingPower if size > 0.0 => self.properties.swing_power = size.min(1.5),
            Target::RootWeight => self.properties.root_horizontal_weight = share,
            _ => {}
        }
        let obstacles = self.rig.colliders.len().max(1);
        if let Some(other) = self.rig.colliders.get_mut(index % obstacles) {
            match target {
                Target::ObstacleOffset => {
                    put_in_shape(&mut other.collider.shape, Some(value), None);
                }
                Target::ObstacleRadius => put_in_shape(&mut other.collider.shape, None, Some(size)),
                _ => {}
            }
        }
        let swings = self.rig.swing.len().max(1);
        if let Some(swing) = self.rig.swing.get_mut(index % swings) {
            match target {
                Target::Stiffness => swing.stiffness = size,
                Target::Spring => swing.spring = share,
                Target::Mass => swing.mass = size,
                Target::Damping => swing.damping = share,
                Target::PendulumRange => (swing.pendulum, swing.pendulum_range) = (1.0, share),
                Target::Coupling => swing.axis_add_x_to_z = value,
                Target::SlideEnd => {
                    if let (Motion::Slide, Some(limit)) = (swing.motion, &mut swing.limit) {
                        limit.high.z = size;
                    }
                }
                _ => {}
            }
            if let Some(own) = &mut swing.collider {
                match target {
                    Target::OwnOffset => put_in_shape(&mut own.shape, Some(value), None),
                    Target::OwnRadius => put_in_shape(&mut own.shape, None, Some(size)),
                    _ => {}
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(config(2000, 5))]

    /// `[V8]` `[B6]` A pose that can be shown is finite, whatever finite numbers went in.
    #[test]
    fn v8_finite_numbers_never_make_a_pose_that_is_not(
        scene in scene(),
        extremes in vec((target(), any::<u16>(), extreme()), 1..5),
    ) {
        let mut scene = scene;
        for (target, index, value) in extremes {
            scene.put(target, usize::from(index), value);
        }
        let mut calm = 0;
        scene.run(|index, stage| {
            let frame = stage.frame();
            for (i, joint) in frame.local.iter().enumerate() {
                prop_assert!(joint.is_finite(), "frame {index}, joint {i}: {joint:?}");
            }
            // What overflows in model space has no finite particle to show, until a few substeps after it did.
            let model = &stage.host.world.get::<ModelPose>(stage.actor).unwrap().0;
            let inside = model.iter().all(|m| Vec3::from(m.rigid.t).abs().max_element() < 1e37);
            let long = u32::from(scene.frames[index].seconds >= FIXED_STEP);
            calm = if inside { calm + long } else { 0 };
            for (i, result) in frame.swings.iter().enumerate() {
                let Some(result) = result else { continue };
                let shown = result.particle.is_finite() || calm < 4;
                // What pushed a slide joint beyond all numbers, which no bone brings back, has no normal to show either.
                let slides = result.translation.is_some();
                let hit = slides || result.last_hit.is_none_or(|(normal, _)| normal.is_finite());
                let finite = shown && hit && result.rotation.is_finite();
                prop_assert!(finite, "frame {index}, swing joint {i}: {result:?}");
            }
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(config(800, 6))]

    /// `[B6]` A host that hands over rotations of any length gets a pose that can be shown.
    #[test]
    fn b6_rotations_of_any_length_never_make_a_pose_that_is_not_finite(
        scene in scene(),
        lengths in vec((any::<u16>(), any::<u16>(), extreme()), 1..5),
    ) {
        let mut scene = scene;
        for (frame, joint, length) in lengths {
            let frames = scene.frames.len();
            let pose: &mut Vec<JointTransform> = &mut scene.frames[usize::from(frame) % frames].pose;
            let joints = pose.len();
            let rotation = &mut pose[usize::from(joint) % joints].rotation;
            *rotation *= length;
        }
        scene.run(|index, stage| {
            let local = stage.frame().local;
            let lost = local.iter().position(|joint| !joint.is_finite());
            prop_assert!(lost.is_none(), "frame {index}, joint {}: {:?}", lost.unwrap(), local[lost.unwrap()]);
            Ok(())
        })?;
    }
}
