//! One truth: an `App` with Bevy's animation, a bare World and a bake have the same bits for the same poses and times.

use std::path::Path;
use std::sync::Arc;

use bevy_ecs::prelude::*;
use bevy_transform::components::Transform;
use flounce::assets::bake::{BakeOptions, simulate};
use flounce::assets::patch::BakedValues;
use flounce::assets::{import, rig_file};
use flounce::binding::{Binding, Partners, Retarget};
use flounce::game::{SharedRigs, Swing, SwingStatus};
use flounce::prelude::*;

use crate::game::{
    Character, HAIR, JOINTS, animate, app, bones, rig, rig_entity, shown, spawn, status, update,
};

/// The rig of the character with all its joints, made without Bevy.
fn whole_rig() -> Rig {
    let joints = JOINTS
        .iter()
        .enumerate()
        .map(|(source, &(name, parent, at))| Joint {
            name: name.to_owned(),
            source,
            parent,
            rest: JointTransform::rigid(at, bevy_math::Quat::IDENTITY),
        });
    let mut rig = Rig::new(joints.collect());
    let file = rig_file::parse(Path::new("hair.ron"), HAIR).unwrap();
    file.apply(&mut rig).unwrap();
    rig
}

#[test]
fn an_app_with_bevys_animation_has_the_bits_of_a_headless_world() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    animate(&mut app, &character);
    let mut host = Headless::new();
    let whole = whole_rig();
    let rests: Vec<JointTransform> = whole.joints.iter().map(|joint| joint.rest).collect();
    let rig = host.spawn_rig(&whole);
    let actor = host.spawn_actor(rig, AnimatedPose(rests));
    for frame in 0..400 {
        let mut root = app
            .world_mut()
            .get_mut::<Transform>(character.root)
            .unwrap();
        root.translation.x = (frame % 90) as f32 * 0.015;
        root.rotation = bevy_math::Quat::from_rotation_y((frame / 7 % 5) as f32 * 0.1);
        app.update();
        let world = app.world();
        let input = world.get::<AnimatedPose>(character.root).unwrap().0.clone();
        let here = bones(&app, &character);
        for (joint, &entity) in character.joints.iter().enumerate() {
            let now = match here.joint(entity) {
                Some(own) => input[own],
                // The hand is no joint of the game's rig.
                None => continue,
            };
            host.world.get_mut::<AnimatedPose>(actor).unwrap().0[joint] = now;
        }
        let placed = *world.get::<WorldFromActor>(character.root).unwrap();
        host.world.entity_mut(actor).insert(placed);
        host.run_to(world.resource::<FrameClock>().now).unwrap();
        let expected = &host.world.get::<LocalPose>(actor).unwrap().0;
        for (joint, found) in shown(&app, &character).iter().enumerate().take(7) {
            let bits = |q: bevy_math::Quat| q.to_array().map(f32::to_bits);
            let (found, expected) = (found.rotation, expected[joint].rotation);
            let name = JOINTS[joint].0;
            assert_eq!(
                bits(found),
                bits(expected),
                "frame {frame}, {name}: {found}, {expected}"
            );
        }
    }
    let turned = shown(&app, &character);
    assert!(turned[3].rotation.x.abs() > 0.05, "it swings");
    assert!(
        turned[2].rotation != bevy_math::Quat::IDENTITY,
        "Bevy animates"
    );
}

/// The fox runs in a game, by flounce's own clip on Bevy's entities, as the batch bakes it.
#[test]
fn a_clip_in_an_app_has_the_bits_of_the_batch() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    let (model, _) = import::read_model(&folder.join("models/Fox.glb")).unwrap();
    let file = rig_file::read(&folder.join("rigs/fox_tail.ron")).unwrap();
    let mut own = model.rig.clone();
    file.apply(&mut own).unwrap();
    let options = BakeOptions {
        rate_hz: 64.0,
        ..BakeOptions::default()
    };
    let run = model.clips.iter().find(|clip| clip.name == "Run").unwrap();
    let simulated = simulate(&own, &[Arc::new(run.clone())], &options, &|_| {}).unwrap();
    let recording = &simulated.recordings[0];

    let mut app = app();
    let text = std::fs::read_to_string(folder.join("rigs/fox_tail.ron")).unwrap();
    let tail = rig(&mut app, &text);
    let root = app
        .world_mut()
        .spawn(Swing::rig(tail).with_all_joints())
        .id();
    let mut character = Character {
        root,
        joints: Vec::new(),
    };
    for joint in &model.rig.joints {
        let parent = joint.parent.map_or(root, |parent| character.joints[parent]);
        let rest = Transform {
            translation: joint.rest.translation,
            rotation: joint.rest.rotation,
            scale: joint.rest.scale,
        };
        let parts = (Name::new(joint.name.clone()), rest, ChildOf(parent));
        character.joints.push(app.world_mut().spawn(parts).id());
    }
    // Bound in one frame, started in the next: the clip begins with the actor's clock.
    update(&mut app, 1);
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    let rigs = app.world().resource::<SharedRigs>();
    let rig = Arc::clone(rigs.rig(rig_entity(&app, &character)).unwrap());
    let partners = Partners::new(&model.rig, &rig, &[]);
    let clip = Binding::new(run, &model.rig, &rig, &partners).apply(run, &Retarget::default());
    let player = ClipPlayer::new(clip.into(), Repeat::Once);
    app.world_mut().entity_mut(root).insert(player);
    app.world_mut().trigger(Reset { entity: root });
    let on_grid = recording.times.iter().enumerate();
    let on_grid = on_grid.filter(|(frame, time)| f64::from(**time) == *frame as f64 / 64.0);
    let mut compared = 0;
    for (frame, _) in on_grid {
        app.update();
        for (joint, values) in &recording.tracks {
            let BakedValues::Rotation(rotations) = values else {
                panic!("the tail turns");
            };
            let found = app
                .world()
                .get::<Transform>(character.joints[*joint])
                .unwrap();
            let found = found.rotation.to_array();
            let (found, expected) = (found.map(f32::to_bits), rotations[frame].map(f32::to_bits));
            assert_eq!(found, expected, "frame {frame}, joint {joint}");
            compared += 1;
        }
    }
    assert!(compared > 3 * 70, "{compared}");
}
