//! The order of a frame: after animation, before transforms are propagated; only what changed is written; places are felt.

use bevy_app::{App, PostUpdate, Update};
use bevy_ecs::prelude::*;
use bevy_ecs::schedule::{LogLevel, ScheduleBuildSettings};
use bevy_math::{Quat, Vec3};
use bevy_transform::TransformSystems;
use bevy_transform::components::{GlobalTransform, Transform};
use flounce::game::Swing;
use flounce::prelude::*;

use crate::game::{Character, HAIR, animate, app, assert_same, rig, shown, spawn, swung, update};

/// The head turns by 90° in frame 10: what reads global transforms after that frame sees the hair's root where the head is,
/// whether a system or the fixed loop turned it.
#[test]
fn bevy_01_the_hairs_root_is_where_the_head_is_in_the_same_frame() {
    for fixed in [false, true] {
        let mut app = app();
        let hair = rig(&mut app, HAIR);
        let character = spawn(&mut app, Swing::rig(hair));
        let head = character.joints[2];
        let turn = move |mut joints: Query<&mut Transform>, mut count: Local<u32>| {
            if *count == 10 {
                joints.get_mut(head).unwrap().rotation = Quat::from_rotation_y(1.5);
            }
            *count += 1;
        };
        if fixed {
            app.add_systems(bevy_app::FixedUpdate, turn);
        } else {
            app.add_systems(Update, turn);
        }
        for frame in 0..16 {
            app.update();
            let at = |joint: usize| {
                let global = app.world().get::<GlobalTransform>(character.joints[joint]);
                global.unwrap().translation()
            };
            let turned = app.world().get::<Transform>(head).unwrap().rotation;
            let expected = Vec3::new(0.0, 1.6, 0.0) + turned * Vec3::new(0.0, 0.1, -0.1);
            let off = (at(3) - expected).length();
            assert!(off < 1e-6, "frame {frame}: the hair's root is {off} m off");
            let bone = (at(4) - at(3)).length();
            assert!(
                (bone - 0.15).abs() < 1e-6,
                "frame {frame}: its bone is {bone} m"
            );
        }
        assert!(app.world().get::<Transform>(head).unwrap().rotation.y > 0.5);
    }
}

/// No system of ours runs in an order that only chance decides.
#[test]
fn bevy_01_no_order_is_ambiguous() {
    let mut app = app();
    app.edit_schedule(PostUpdate, |schedule| {
        schedule.set_build_settings(ScheduleBuildSettings {
            ambiguity_detection: LogLevel::Error,
            ..ScheduleBuildSettings::default()
        });
    });
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 30);
    assert!(swung(&app, &character) > 0.1);
}

#[derive(Resource, Default)]
struct Written(Vec<Entity>);

/// Bones that hang still are not written, and of the others only those that swing.
#[test]
fn only_bones_that_changed_are_written() {
    let mut app = app();
    app.init_resource::<Written>();
    let note = |changed: Query<Entity, Changed<Transform>>, mut written: ResMut<Written>| {
        written.0 = changed.iter().collect();
    };
    app.add_systems(PostUpdate, note.after(TransformSystems::Propagate));
    let hair = rig(&mut app, &HAIR.replace("damping: 0.1", "damping: 0.8"));
    let character = spawn(&mut app, Swing::rig(hair));
    let written = |app: &App| {
        let all = app.world().resource::<Written>().0.clone();
        all.into_iter()
            .filter(|entity| *entity != character.root)
            .collect::<Vec<_>>()
    };
    update(&mut app, 2);
    app.world_mut()
        .get_mut::<Transform>(character.joints[2])
        .unwrap()
        .rotation = Quat::from_rotation_x(0.4);
    update(&mut app, 2);
    let mut found = written(&app);
    found.sort();
    let mut expected = character.joints[3..6].to_vec();
    expected.sort();
    assert_eq!(found, expected, "the hair alone");
    update(&mut app, 2000);
    assert_eq!(written(&app), [], "at rest");
}

fn walk(app: &mut App, character: &Character, way: impl Fn(usize) -> Vec3, frames: usize) {
    for frame in 0..frames {
        let mut root = app
            .world_mut()
            .get_mut::<Transform>(character.root)
            .unwrap();
        root.translation = way(frame);
        app.update();
    }
}

/// The character's way through the world is felt, its teleports are not: by the event, by the threshold, and in any
/// depth of the hierarchy.
#[test]
fn root_01_bevy_walks_are_felt_and_teleports_are_not() {
    let still = {
        let mut app = app();
        let hair = rig(&mut app, HAIR);
        let character = spawn(&mut app, Swing::rig(hair));
        update(&mut app, 121);
        shown(&app, &character)
    };
    let run = |way: fn(usize) -> Vec3, teleports: bool| {
        let mut app = app();
        let hair = rig(&mut app, HAIR);
        let character = spawn(&mut app, Swing::rig(hair));
        let ship = app.world_mut().spawn(Transform::default()).id();
        app.world_mut()
            .entity_mut(character.root)
            .insert(ChildOf(ship));
        let entity = character.root;
        update(&mut app, 90);
        for frame in 0..31 {
            app.world_mut()
                .get_mut::<Transform>(ship)
                .unwrap()
                .translation = way(frame);
            if teleports {
                app.world_mut().trigger(Teleport { entity });
            }
            app.update();
        }
        shown(&app, &character)
    };
    let farthest = |found: &[Transform]| {
        let angles = found.iter().zip(&still);
        angles
            .map(|(a, b)| a.rotation.angle_between(b.rotation))
            .fold(0.0, f32::max)
    };
    let walked = run(|frame| Vec3::X * 0.04 * frame as f32, false);
    assert!(
        farthest(&walked) > 0.1,
        "a walk is felt: {}",
        farthest(&walked)
    );
    let jumped = run(|frame| Vec3::X * if frame < 30 { 0.0 } else { 10.0 }, false);
    assert_same(&jumped, &still, "ten metres at once");
    let told = run(|frame| Vec3::X * 0.9 * frame as f32, true);
    assert_same(&told, &still, "who says so");
}

/// `Reset` puts the hair at rest and lets it settle.
#[test]
fn root_01_bevy_a_reset_starts_anew() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 1);
    let fresh = shown(&app, &character);
    walk(
        &mut app,
        &character,
        |frame| Vec3::X * 0.05 * frame as f32,
        60,
    );
    let entity = character.root;
    app.world_mut().trigger(Reset { entity });
    update(&mut app, 1);
    assert_same(&shown(&app, &character), &fresh, "after a reset");
}

/// A model in centimetres that is scaled down feels the way it goes in metres, as one in metres does.
#[test]
fn a_scaled_character_feels_the_way_in_its_own_measure() {
    let run = |unit: f32| {
        let mut app = app();
        let text = HAIR.replace(
            "version: 1,",
            &format!("version: 1, metres_per_unit: {},", 1.0 / unit),
        );
        let text = text.replace("radius: 0.02", &format!("radius: {}", 0.02 * unit));
        let text = text.replace(
            "-0.1), radius: 0.08",
            &format!("{}), radius: {}", -0.1 * unit, 0.08 * unit),
        );
        let hair = rig(&mut app, &text);
        let character = spawn(&mut app, Swing::rig(hair));
        for &joint in &character.joints {
            app.world_mut()
                .get_mut::<Transform>(joint)
                .unwrap()
                .translation *= unit;
        }
        app.world_mut()
            .get_mut::<Transform>(character.root)
            .unwrap()
            .scale = Vec3::splat(1.0 / unit);
        walk(
            &mut app,
            &character,
            |frame| Vec3::X * 0.04 * frame as f32,
            60,
        );
        shown(&app, &character)
    };
    for (found, expected) in run(128.0).iter().zip(&run(1.0)) {
        let off = found.rotation.angle_between(expected.rotation);
        assert!(off < 2e-3, "{off} rad");
    }
}

/// Bevy animates, flounce swings on top, and neither takes what the other wrote for its own.
#[test]
fn what_swings_does_not_feed_back_into_the_animation() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    animate(&mut app, &character);
    update(&mut app, 256);
    app.world_mut().entity_mut(character.root).remove::<Swing>();
    update(&mut app, 1);
    let hair = &shown(&app, &character)[3..7];
    assert!(
        hair.iter().all(|bone| bone.rotation == Quat::IDENTITY),
        "{hair:?}"
    );
}
