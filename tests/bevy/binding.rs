//! Joints are found when they are there, by name or by target, and what hangs on them otherwise is left alone.

use bevy_animation::AnimationTargetId;
use bevy_asset::Assets;
use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use bevy_transform::components::Transform;
use flounce::game::binding::PATIENCE;
use flounce::game::{
    Attachment, RestTransform, RigAsset, SharedRigs, Swing, SwingBones, SwingStatus,
};
use flounce::rig::{Joint, RigParts};
use flounce::swing::SwingJoint;
use flounce::systems::preparation::Actor;

use crate::game::{
    Character, HAIR, JOINTS, animate, app, assert_same, bones, path, rig, rig_entity, shown, spawn,
    spawn_joint, spawn_joints, status, swung, update,
};

#[test]
fn a_marked_character_swings() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 60);
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    assert!(swung(&app, &character) > 0.2, "{}", swung(&app, &character));
    // What the rig depends on, and not the hand.
    let here: Vec<Entity> = bones(&app, &character).entities().to_vec();
    assert_eq!(here, character.joints[..7]);
}

/// The character is spawned over five frames, and the file is there last of all; until then everything is at rest.
#[test]
fn order_07_bevy_joints_and_files_that_come_later_are_picked_up() {
    let mut app = app();
    let late = app.world().resource::<Assets<RigAsset>>().reserve_handle();
    let root = app.world_mut().spawn(Swing::rig(late.clone())).id();
    let mut character = Character {
        root,
        joints: Vec::new(),
    };
    for (joint, &(_, parent, _)) in JOINTS.iter().enumerate() {
        let parent = parent.map_or(root, |parent| character.joints[parent]);
        let entity = spawn_joint(&mut app, root, parent, joint);
        character.joints.push(entity);
        update(&mut app, 1);
        assert_eq!(status(&app, &character), SwingStatus::WaitingForRig);
    }
    let file = app.world_mut().resource_mut::<Assets<RigAsset>>();
    let text = flounce::assets::rig_file::parse("late.ron".as_ref(), HAIR).unwrap();
    file.into_inner().insert(late.id(), RigAsset(text)).unwrap();
    update(&mut app, 2);
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    update(&mut app, 60);
    assert!(swung(&app, &character) > 0.2);
}

/// The file is there, its joints come over several frames: at rest until the last one named is there, then all swing.
#[test]
fn order_07_bevy_a_chain_is_complete_with_its_last_joint() {
    let mut app = app();
    let listed = "joints: [\"hair_1\", \"hair_2\", \"hair_3\", \"hair_4\"]";
    let hair = rig(&mut app, &HAIR.replace("root: \"hair_1\"", listed));
    let root = app.world_mut().spawn(Swing::rig(hair)).id();
    let mut joints: Vec<Entity> = Vec::new();
    for (joint, &(_, parent, _)) in JOINTS.iter().enumerate().take(7) {
        let waits = app.world().get::<SwingStatus>(root).unwrap();
        assert_ne!(waits, &SwingStatus::Bound, "before joint {joint}");
        let parent = parent.map_or(root, |parent| joints[parent]);
        joints.push(spawn_joint(&mut app, root, parent, joint));
        update(&mut app, 3);
    }
    let character = Character { root, joints };
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    update(&mut app, 60);
    assert!(swung(&app, &character) > 0.2);
}

/// A bone in the middle goes, with all below it, and comes back: no panic, the rest shows its animation meanwhile.
#[test]
fn order_07_bevy_a_missing_bone_is_waited_for() {
    let mut app = app();
    let hair = rig(
        &mut app,
        &HAIR.replace(
            "root: \"hair_1\"",
            "joints: [\"hair_1\", \"hair_2\", \"hair_3\", \"hair_4\"]",
        ),
    );
    let mut character = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 60);
    assert!(swung(&app, &character) > 0.1);
    app.world_mut().despawn(character.joints[4]);
    update(&mut app, 3);
    let SwingStatus::WaitingForJoints { reason, frames } = status(&app, &character) else {
        panic!("{:?}", status(&app, &character));
    };
    assert!(
        reason.contains("hair.ron") && reason.contains("hair_2"),
        "{reason}"
    );
    assert_eq!(frames, 3);
    let stub = app.world().get::<Transform>(character.joints[3]).unwrap();
    assert_eq!(stub.rotation, Quat::IDENTITY, "at rest");
    assert!(app.world().get::<Actor>(character.root).is_none());
    assert_eq!(
        app.world_mut()
            .query::<&RigParts>()
            .iter(app.world())
            .count(),
        0
    );
    update(&mut app, PATIENCE as usize);
    for joint in 4..7 {
        let parent = character.joints[joint - 1];
        character.joints[joint] = spawn_joint(&mut app, character.root, parent, joint);
    }
    update(&mut app, 60);
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    assert!(swung(&app, &character) > 0.1, "it swings again");
}

/// The middle bone is not needed by name here: what is left of a chain below a root swings on.
#[test]
fn a_chain_below_a_root_is_what_is_there() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 10);
    app.world_mut().despawn(character.joints[5]);
    update(&mut app, 10);
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    assert_eq!(bones(&app, &character).entities().len(), 5);
}

/// Names were stripped or changed: the whole path in the rig file is the target's hash.
#[test]
fn joints_are_found_by_their_animation_target() {
    let mut app = app();
    let text = HAIR.replace("\"hair_1\"", &format!("{:?}", path(3).join("/")));
    let text = text.replace("\"head\"", &format!("{:?}", path(2).join("/")));
    let hair = rig(&mut app, &text);
    let character = spawn(&mut app, Swing::rig(hair));
    for (joint, &entity) in character.joints.iter().enumerate() {
        let mut entity = app.world_mut().entity_mut(entity);
        if joint == 3 {
            entity.insert(Name::new("renamed"));
        } else {
            entity.remove::<Name>();
        }
    }
    update(&mut app, 30);
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    assert!(swung(&app, &character) > 0.1);
    let target = app.world().get::<AnimationTargetId>(character.joints[3]);
    assert!(target.is_some());
}

/// A sword in the hand and a hat on the head are nothing to the hair, also where the whole skeleton is the rig; a rider
/// with a rig of its own is another character.
#[test]
fn what_is_carried_changes_nothing() {
    for all in [false, true] {
        let swing = |hair| {
            let swing = Swing::rig(hair);
            if all { swing.with_all_joints() } else { swing }
        };
        let run = |carries: bool| {
            let mut app = app();
            let hair = rig(&mut app, HAIR);
            let character = spawn(&mut app, swing(hair.clone()));
            animate(&mut app, &character);
            update(&mut app, 40);
            if carries {
                let at = Transform::from_xyz(0.0, 0.1, 0.0);
                let sword = (Name::new("sword"), at, ChildOf(character.joints[7]));
                let sword = app.world_mut().spawn(sword).id();
                app.world_mut()
                    .spawn((Name::new("blade"), at, ChildOf(sword)));
                // Its name is one of the chain's: as an attachment it is no joint.
                let hat = (
                    Name::new("hair_2"),
                    at,
                    Attachment,
                    ChildOf(character.joints[2]),
                );
                app.world_mut().spawn(hat);
                let root = (swing(hair), ChildOf(character.joints[1]));
                let root = app.world_mut().spawn(root).id();
                let joints = spawn_joints(&mut app, root);
                let rider = Character { root, joints };
                update(&mut app, 40);
                assert_eq!(status(&app, &rider), SwingStatus::Bound);
                assert!(swung(&app, &rider) > 0.1);
                app.world_mut().despawn(sword);
                update(&mut app, 40);
            } else {
                update(&mut app, 80);
            }
            assert_eq!(status(&app, &character), SwingStatus::Bound);
            shown(&app, &character)
        };
        assert_same(&run(true), &run(false), &format!("all joints: {all}"));
    }
}

/// What is carried by a joint that comes before the hair is no reason to leave the shared rig: what was edited stays.
#[test]
fn what_is_carried_keeps_the_rig_and_its_edited_parameters() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let one = spawn(&mut app, Swing::rig(hair.clone()));
    let two = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 2);
    let entity = rig_entity(&app, &one);
    let parts = app.world().get::<RigParts>(entity).unwrap().clone();
    let edited = parts.swing[0];
    app.world_mut()
        .get_mut::<SwingJoint>(edited)
        .unwrap()
        .stiffness = 7.0;
    let holster = Transform::from_xyz(0.1, 0.0, 0.0);
    let holster = app.world_mut().spawn((Name::new("holster"), holster)).id();
    app.world_mut()
        .entity_mut(one.joints[0])
        .insert_children(0, &[holster]);
    update(&mut app, 3);
    assert_eq!(rig_entity(&app, &one), entity);
    assert_eq!(rig_entity(&app, &two), entity);
    let kept = app.world().get::<SwingJoint>(edited).unwrap();
    assert_eq!(kept.stiffness, 7.0);
}

/// Bevy's glTF loader hangs what is drawn of a node below it, before its children: no bone ends there.
#[test]
fn what_is_drawn_is_no_joint() {
    let run = |drawn: bool| {
        let mut app = app();
        let hair = rig(&mut app, HAIR);
        let character = spawn(&mut app, Swing::rig(hair).with_all_joints());
        for joint in 0..JOINTS.len() {
            if drawn {
                let mesh = (Name::new("strand.Material"), Transform::IDENTITY);
                let mesh = app.world_mut().spawn(mesh).id();
                let mut joint = app.world_mut().entity_mut(character.joints[joint]);
                joint.insert_children(0, &[mesh]);
            }
        }
        update(&mut app, 60);
        assert_eq!(bones(&app, &character).entities(), character.joints);
        shown(&app, &character)
    };
    assert_same(&run(true), &run(false), "drawn");
}

/// A name that is there twice is told apart as soon as one of them is said to be carried.
#[test]
fn marks_that_come_later_are_noticed() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    let hat = (
        Name::new("hair_1"),
        Transform::default(),
        ChildOf(character.joints[2]),
    );
    let hat = app.world_mut().spawn(hat).id();
    update(&mut app, 3);
    let SwingStatus::WaitingForJoints { reason, .. } = status(&app, &character) else {
        panic!("{:?}", status(&app, &character));
    };
    assert!(
        reason.contains("2 joints are called \"hair_1\""),
        "{reason}"
    );
    app.world_mut().entity_mut(hat).insert(Attachment);
    update(&mut app, 30);
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    assert!(swung(&app, &character) > 0.1);
}

/// A bone that is moved to somewhere else is nobody's: not written any more, and at rest.
#[test]
fn a_bone_that_leaves_is_let_go() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 60);
    let elsewhere = app.world_mut().spawn(Transform::default()).id();
    let bone = character.joints[4];
    assert!(shown(&app, &character)[4].rotation != Quat::IDENTITY);
    app.world_mut().entity_mut(bone).insert(ChildOf(elsewhere));
    update(&mut app, 30);
    assert_eq!(shown(&app, &character)[4].rotation, Quat::IDENTITY);
    assert_eq!(bones(&app, &character).joint(bone), None);
}

/// A prefab that is cloned has a life of its own; the original takes nothing from it.
#[test]
fn clones_outlive_their_originals() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 30);
    let entity = rig_entity(&app, &character);
    let mut root = app.world_mut().entity_mut(character.root);
    let clone = root.clone_and_spawn_with_opt_out(|builder| {
        builder.linked_cloning(true);
    });
    update(&mut app, 30);
    let bones = app.world().get::<SwingBones>(clone).unwrap().clone();
    assert!(
        bones
            .entities()
            .iter()
            .all(|bone| !character.joints.contains(bone))
    );
    app.world_mut().despawn(character.root);
    update(&mut app, 30);
    assert_eq!(
        app.world().get::<Actor>(clone),
        Some(&Actor { rig: entity })
    );
    assert!(app.world().get::<RigParts>(entity).is_some(), "in use");
    let hair = bones.entity(3).unwrap();
    assert!(app.world().get::<Transform>(hair).unwrap().rotation != Quat::IDENTITY);
}

/// Somebody clears the World of what has no mark of its own, the rigs' entities too: characters that come later swing.
#[test]
fn rigs_that_somebody_despawned_are_made_anew() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair.clone()));
    update(&mut app, 10);
    let entity = rig_entity(&app, &character);
    let parts = app.world().get::<RigParts>(entity).unwrap().clone();
    for part in parts.iter().chain([entity]) {
        app.world_mut().despawn(part);
    }
    let other = spawn(&mut app, Swing::rig(hair));
    update(&mut app, 60);
    assert!(swung(&app, &other) > 0.2);
    assert!(swung(&app, &character) > 0.1, "it keeps its last plan");
}

/// Joints have the rest pose that they were seen with first, or the one that somebody says, however late the rig comes.
#[test]
fn rest_is_what_was_there_before_animation() {
    let mut app = app();
    let late = app.world().resource::<Assets<RigAsset>>().reserve_handle();
    let character = spawn(&mut app, Swing::rig(late.clone()));
    let said = RestTransform(Transform::from_xyz(0.0, 0.2, -0.1));
    app.world_mut().entity_mut(character.joints[3]).insert(said);
    animate(&mut app, &character);
    update(&mut app, 33);
    let file = flounce::assets::rig_file::parse("late.ron".as_ref(), HAIR).unwrap();
    let files = app.world_mut().resource_mut::<Assets<RigAsset>>();
    files
        .into_inner()
        .insert(late.id(), RigAsset(file))
        .unwrap();
    update(&mut app, 2);
    let parts = app
        .world()
        .get::<RigParts>(rig_entity(&app, &character))
        .unwrap();
    let rest = |joint: usize| app.world().get::<Joint>(parts.joints[joint]).unwrap().rest;
    assert_ne!(
        shown(&app, &character)[2].rotation,
        Quat::IDENTITY,
        "it nods"
    );
    assert_eq!(rest(2).rotation, Quat::IDENTITY);
    assert_eq!(rest(3).translation, Vec3::new(0.0, 0.2, -0.1));
}

/// Characters of one file and one skeleton share the entities with the parameters; the last one takes them along.
#[test]
fn rigs_are_shared_and_go_with_their_last_user() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let mut all: Vec<Character> = (0..3)
        .map(|_| spawn(&mut app, Swing::rig(hair.clone())))
        .collect();
    all.push(spawn(&mut app, Swing::rig(hair).with_own_parameters()));
    update(&mut app, 2);
    let rigs: Vec<Entity> = all.iter().map(|one| rig_entity(&app, one)).collect();
    assert!(rigs[0] == rigs[1] && rigs[0] == rigs[2] && rigs[0] != rigs[3]);
    assert!(app.world().resource::<SharedRigs>().rig(rigs[0]).is_some());
    let entities = |app: &mut bevy_app::App| {
        let mut parts = app.world_mut().query::<&Joint>();
        parts.iter(app.world()).count()
    };
    assert_eq!(entities(&mut app), 14);
    app.world_mut().despawn(all[3].root);
    app.world_mut().entity_mut(all[0].root).remove::<Swing>();
    update(&mut app, 2);
    assert_eq!(entities(&mut app), 7);
    assert!(app.world().get::<SwingBones>(all[0].root).is_none());
    assert_eq!(swung(&app, &all[0]), 0.0, "at rest again");
    for one in &all[1..3] {
        app.world_mut().despawn(one.root);
    }
    update(&mut app, 2);
    assert_eq!(entities(&mut app), 0);
}

/// A rig file that names what no model has says so once it is looked at, and the game goes on.
#[test]
fn a_rig_that_does_not_fit_is_said_with_its_place() {
    let mut app = app();
    let wrong = rig(&mut app, &HAIR.replace("hair_1", "hiar_1"));
    let character = spawn(&mut app, Swing::rig(wrong));
    update(&mut app, 5);
    let SwingStatus::WaitingForJoints { reason, .. } = status(&app, &character) else {
        panic!("{:?}", status(&app, &character));
    };
    for part in ["hair.ron", "chains[0].root", "hiar_1", "hair_1"] {
        assert!(reason.contains(part), "{part} in {reason}");
    }
}
