//! Types that inspectors and scenes know by name.

use bevy_app::App;
use bevy_ecs::entity::EntityHashMap;
use bevy_ecs::prelude::*;
use bevy_ecs::reflect::{AppTypeRegistry, ReflectComponent, ReflectEvent, ReflectResource};
use bevy_ecs::relationship::RelationshipHookMode;
use bevy_math::{Quat, Vec3};
use bevy_reflect::serde::{ReflectDeserializer, ReflectSerializer};
use bevy_reflect::{FromReflect, GetPath, Reflect, TypeRegistry};
use flounce::collider::{Collider, Mask, Shape};
use flounce::driver::{BlendConstraint, BlendField, BlendSource, Driver};
use flounce::foot::{FootAnchor, FootAnchors};
use flounce::game::reflection::register_types;
use flounce::pose::JointTransform;
use flounce::profile::{JointOrder, LinePush, SubstepPolicy, SwingProfile};
use flounce::rig::RigParts;
use flounce::substep::{ActorClock, FIXED_STEP, FrameClock};
use flounce::swing::{
    ActorProperties, Limit, Motion, ReferenceLimit, SwingJoint, SwingReadout, Tip,
};
use flounce::systems::motion::Reset;
use flounce::systems::plugin::{FlouncePlugin, advance_clock};
use flounce::systems::preparation::Actor;
use flounce::wind::{Gust, Octave, Wind, WindForm};
use serde::de::DeserializeSeed;

use crate::support::chains::{Frame, assert_same_bits, rod3};

/// Every type of ours in the registry. A path is what stored scenes name a type by: one that changes breaks them.
const PATHS: &[&str] = &[
    "flounce::chain::ChainLayer",
    "flounce::chain::ChainReadout",
    "flounce::channel::ChannelKind",
    "flounce::channel::ChannelPose",
    "flounce::channel::ChannelSet",
    "flounce::collider::Collider",
    "flounce::collider::Mask",
    "flounce::collider::Shape",
    "flounce::collider::StaticCollider",
    "flounce::driver::BlendConstraint",
    "flounce::driver::BlendField",
    "flounce::driver::BlendSource",
    "flounce::driver::Driver",
    "flounce::driver::SkirtDriver",
    "flounce::euler::EulerProduct",
    "flounce::foot::FootAnchor",
    "flounce::foot::FootAnchors",
    "flounce::foot::FootFailure",
    "flounce::foot::FootMeasure",
    "flounce::foot::FootReadout",
    "flounce::foot::FootRecord",
    "flounce::foot::FootResult",
    "flounce::foot::FootState",
    "flounce::game::debug::SwingDebug",
    "flounce::game::swing::Attachment",
    "flounce::game::swing::JointScope",
    "flounce::game::swing::RestTransform",
    "flounce::game::swing::Swing",
    "flounce::game::swing::SwingStatus",
    "flounce::leg::LegChain",
    "flounce::leg::Refusal",
    "flounce::pose::AnimatedPose",
    "flounce::pose::JointTransform",
    "flounce::pose::LocalPose",
    "flounce::pose::PoseHealth",
    "flounce::profile::DeltaPolicy",
    "flounce::profile::ForcePolicy",
    "flounce::profile::InertiaPolicy",
    "flounce::profile::JointOrder",
    "flounce::profile::LinePush",
    "flounce::profile::ParallelEpsilon",
    "flounce::profile::RestPose",
    "flounce::profile::RootPolicy",
    "flounce::profile::SubstepPolicy",
    "flounce::profile::SwingProfile",
    "flounce::rig::Joint",
    "flounce::rig::RigParts",
    "flounce::substep::ActorClock",
    "flounce::substep::FrameClock",
    "flounce::substep::SwingPaused",
    "flounce::substep::TimeLine",
    "flounce::substep::TimeScale",
    "flounce::swing::ActorProperties",
    "flounce::swing::BakeWeights",
    "flounce::swing::Limit",
    "flounce::swing::Motion",
    "flounce::swing::ReferenceLimit",
    "flounce::swing::SwingJoint",
    "flounce::swing::SwingReadout",
    "flounce::swing::SwingResult",
    "flounce::swing::Tip",
    "flounce::systems::motion::ActorMotion",
    "flounce::systems::motion::Reset",
    "flounce::systems::motion::Teleport",
    "flounce::systems::motion::WorldFromActor",
    "flounce::systems::preparation::Actor",
    "flounce::wind::Gust",
    "flounce::wind::Octave",
    "flounce::wind::Wind",
    "flounce::wind::WindForm",
];

fn app() -> App {
    let mut app = App::new();
    app.add_plugins(FlouncePlugin::default());
    register_types(&mut app);
    app
}

/// What `look` finds in the registry of a new app.
fn in_registry<T>(look: impl FnOnce(&TypeRegistry) -> T) -> T {
    let app = app();
    let registry = app.world().resource::<AppTypeRegistry>().read();
    look(&registry)
}

#[test]
fn types_are_registered_under_paths_that_stay() {
    let mut found: Vec<&str> = in_registry(|registry| {
        let paths = registry.iter().map(|of| of.type_info().type_path());
        paths.filter(|path| path.starts_with("flounce::")).collect()
    });
    found.sort_unstable();
    assert_eq!(found, PATHS, "found {found:#?}");
}

#[test]
fn components_resources_and_events_are_registered_as_such() {
    let with = |path: &str| {
        in_registry(|registry| {
            let of = registry.get_with_type_path(path).unwrap();
            (
                of.data::<ReflectComponent>().is_some(),
                of.data::<ReflectResource>().is_some(),
                of.data::<ReflectEvent>().is_some(),
            )
        })
    };
    assert_eq!(with("flounce::swing::SwingJoint"), (true, false, false));
    assert_eq!(with("flounce::substep::FrameClock"), (true, true, false));
    assert_eq!(
        with("flounce::game::debug::SwingDebug"),
        (true, true, false)
    );
    for event in ["Teleport", "Reset"] {
        let path = format!("flounce::systems::motion::{event}");
        assert_eq!(with(&path), (false, false, true), "{path}");
    }
    // What an actor and a rig carry can be put on entities.
    for path in PATHS.iter().filter(|path| {
        let name = path.rsplit("::").next().unwrap();
        [
            "Actor",
            "ActorClock",
            "ActorMotion",
            "ActorProperties",
            "AnimatedPose",
            "BakeWeights",
            "ChainLayer",
            "ChainReadout",
            "ChannelPose",
            "Driver",
            "FootAnchors",
            "FootReadout",
            "FootRecord",
            "Joint",
            "LocalPose",
            "PoseHealth",
            "RigParts",
            "StaticCollider",
            "SwingProfile",
            "SwingReadout",
            "Swing",
            "SwingPaused",
            "SwingStatus",
            "TimeScale",
            "Wind",
            "WorldFromActor",
        ]
        .contains(&name)
    }) {
        assert!(with(path).0, "{path}");
    }
}

/// An app with an actor of three soft bones, and the entity of its first swing joint.
fn swinging() -> (App, Entity, Entity) {
    let mut app = app();
    let world = app.world_mut();
    let rig = RigParts::spawn(&rod3(), world);
    let joint = world.get::<RigParts>(rig).unwrap().swing[0];
    let actor = world.spawn((Actor { rig }, SwingReadout::default())).id();
    (app, actor, joint)
}

fn run(app: &mut App, actor: Entity, frames: usize) -> Vec<Frame> {
    let mut frame = || {
        let world = app.world_mut();
        advance_clock(&mut world.resource_mut::<FrameClock>(), FIXED_STEP).unwrap();
        app.update();
        Frame::of(app.world(), actor)
    };
    (0..frames).map(|_| frame()).collect()
}

#[test]
fn a_joint_edited_by_its_path_moves_as_one_edited_in_code() {
    let edit_by_path = |world: &mut World, joint: Entity| {
        let registry = world.resource::<AppTypeRegistry>().clone();
        let registry = registry.read();
        let of = registry.get_with_type_path("flounce::swing::SwingJoint");
        let component = of.unwrap().data::<ReflectComponent>().unwrap();
        let mut swing = component.reflect_mut(world.entity_mut(joint)).unwrap();
        let damping = swing.reflect_path_mut("damping").unwrap();
        damping.apply(&0.9_f32);
    };
    let edit_in_code = |world: &mut World, joint: Entity| {
        world.get_mut::<SwingJoint>(joint).unwrap().damping = 0.9;
    };
    let ran = |edit: Option<&dyn Fn(&mut World, Entity)>| {
        let (mut app, actor, joint) = swinging();
        let mut frames = run(&mut app, actor, 5);
        if let Some(edit) = edit {
            edit(app.world_mut(), joint);
        }
        frames.extend(run(&mut app, actor, 10));
        frames
    };
    let (by_path, in_code) = (ran(Some(&edit_by_path)), ran(Some(&edit_in_code)));
    let untouched = ran(None);
    assert_same_bits(&by_path, &in_code, "edited by path");
    assert_same_bits(&by_path[..5], &untouched[..5], "before the edit");
    let (found, before) = (by_path[14].particle(0), untouched[14].particle(0));
    assert!(found.distance(before) > 1e-3, "{found} {before}");
}

/// `value` written as a scene would write it, and read again.
fn reread<T: Reflect + FromReflect>(value: &T) -> T {
    in_registry(|registry| {
        let written = ron::to_string(&ReflectSerializer::new(value, registry)).unwrap();
        let mut from = ron::Deserializer::from_str(&written).unwrap();
        let read = ReflectDeserializer::new(registry).deserialize(&mut from);
        let read = read.unwrap_or_else(|error| panic!("{written}: {error}"));
        T::from_reflect(read.as_ref()).unwrap_or_else(|| panic!("{written} is no {read:?}"))
    })
}

#[track_caller]
fn assert_reread<T: Reflect + FromReflect + PartialEq + core::fmt::Debug>(value: &T) {
    assert_eq!(reread(value), *value);
}

#[test]
fn what_a_scene_writes_of_a_swing_joint_it_reads_again() {
    assert_reread(&SwingJoint::new(4));
    assert_reread(&SwingJoint {
        motion: Motion::Slide,
        active: false,
        tip: Tip::Tail {
            axis: Vec3::Z,
            length: 0.1,
        },
        damping: 0.1 + 0.2,
        limit: Some(Limit {
            low: Vec3::new(-10.0, f32::NEG_INFINITY, -0.3),
            high: Vec3::new(20.0, f32::INFINITY, 0.3),
        }),
        reference_limit: Some(ReferenceLimit {
            joint: 2,
            weight: 0.7,
        }),
        collider: Some(Collider {
            shape: Shape::Capsule {
                offset_a: Vec3::X,
                offset_b: Vec3::Y,
                radius_a: 0.1,
                radius_b: 0.2,
            },
            mask: Mask(6),
        }),
        ..SwingJoint::new(7)
    });
}

#[test]
fn what_a_scene_writes_of_an_actor_it_reads_again() {
    assert_reread(&ActorProperties {
        weight: 0.3,
        gravity: Vec3::new(0.6, -0.8, 0.0),
        ..ActorProperties::default()
    });
    assert_reread(&SwingProfile {
        substeps: SubstepPolicy::Frame,
        order: JointOrder::JointMajor,
        line_push: LinePush::Lever,
        prewarm: 7,
        split_motion: true,
        ..SwingProfile::default()
    });
    assert_reread(&Wind {
        power: 0.1,
        octave: Some(Octave {
            power: 0.2,
            frequency: 3.0,
        }),
        gusts: vec![Gust {
            amplitude: 1.0,
            frequency: 2.0,
            phase: 0.25,
        }],
        form: WindForm::Documented,
        seed: 9,
        ..Wind::default()
    });
    assert_reread(&FootAnchors(vec![None, Some(FootAnchor::here(3))]));
    let turned = JointTransform::rigid(Vec3::Y, Quat::from_xyzw(0.0, 0.6, 0.0, 0.8));
    assert_reread(&Driver::Blend(BlendConstraint {
        joint: 3,
        sources: vec![BlendSource {
            joint: 1,
            weight: Vec3::ONE,
        }],
        field: Some(BlendField {
            transform: turned,
            weight: Vec3::X,
        }),
        offset: turned,
    }));
}

#[test]
fn entities_that_a_component_names_are_mapped() {
    let mut world = World::new();
    let old: Vec<Entity> = (0..6).map(|_| world.spawn_empty().id()).collect();
    let new: Vec<Entity> = (0..6).map(|_| world.spawn_empty().id()).collect();
    let mut map: EntityHashMap<Entity> = old.iter().copied().zip(new.iter().copied()).collect();
    let parts = RigParts {
        joints: vec![old[0], old[1]],
        swing: vec![old[1]],
        colliders: vec![old[2]],
        layers: vec![old[3]],
        drivers: vec![old[4]],
        metres_per_unit: 0.01,
        root_correction: Some(1),
        channels: Vec::new(),
    };
    let target = world.spawn_empty().id();
    in_registry(|registry| {
        let mut put = |value: &dyn Reflect| {
            let of = registry.get(value.type_id()).unwrap();
            of.data::<ReflectComponent>()
                .unwrap()
                .apply_or_insert_mapped(
                    &mut world.entity_mut(target),
                    value.as_partial_reflect(),
                    registry,
                    &mut map,
                    RelationshipHookMode::Run,
                );
        };
        put(&parts);
        put(&Actor { rig: old[5] });
    });
    assert_eq!(world.get::<Actor>(target).unwrap().rig, new[5]);
    let found = world.get::<RigParts>(target).unwrap();
    assert_eq!(found.joints, new[..2]);
    assert_eq!(found.swing, new[1..2]);
    assert_eq!(found.colliders, new[2..3]);
    assert_eq!(found.layers, new[3..4]);
    assert_eq!(found.drivers, new[4..5]);
    assert_eq!(
        (found.metres_per_unit, found.root_correction),
        (0.01, Some(1))
    );
}

#[test]
fn a_reset_told_by_reflection_is_one() {
    let (mut app, actor, _) = swinging();
    run(&mut app, actor, 5);
    let substeps = |app: &App| app.world().get::<ActorClock>(actor).unwrap().substeps;
    assert_eq!(substeps(&app), 4, "the first frame settles");
    let registry = app.world().resource::<AppTypeRegistry>().clone();
    let registry = registry.read();
    let of = registry.get_with_type_path("flounce::systems::motion::Reset");
    let event = of.unwrap().data::<ReflectEvent>().unwrap();
    event.trigger(app.world_mut(), &Reset { entity: actor }, &registry);
    run(&mut app, actor, 1);
    assert_eq!(substeps(&app), 0);
}
