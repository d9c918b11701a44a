//! Parameters edited while the game runs: through components, and by saving the file again.

use std::path::Path;
use std::sync::Arc;

use bevy_app::{App, TaskPoolPlugin};
use bevy_asset::io::memory::{Dir, MemoryAssetReader};
use bevy_asset::io::{AssetSourceBuilder, AssetSourceId};
use bevy_asset::{AssetApp, AssetPlugin, AssetServer, Assets, Handle, LoadState};
use bevy_math::Quat;
use bevy_time::{TimePlugin, TimeUpdateStrategy};
use bevy_transform::TransformPlugin;
use bevy_transform::components::Transform;
use flounce::game::{FlouncePlugins, RigAsset, SharedRigs, Swing, SwingStatus};
use flounce::prelude::*;

use crate::game::{
    FRAME, HAIR, animate, app, assert_same, rig, rig_entity, shown, spawn, status, swung, update,
};

/// The shared parameters of two characters are edited live; a third with parameters of its own stays as it is.
#[test]
fn parameters_are_edited_through_components() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let one = spawn(&mut app, Swing::rig(hair.clone()));
    let two = spawn(&mut app, Swing::rig(hair.clone()));
    let own = spawn(&mut app, Swing::rig(hair).with_own_parameters());
    update(&mut app, 120);
    let before = swung(&app, &one);
    let parts = app.world().get::<RigParts>(rig_entity(&app, &one)).unwrap();
    for joint in parts.swing.clone() {
        app.world_mut()
            .get_mut::<SwingJoint>(joint)
            .unwrap()
            .stiffness = 3.0;
    }
    // Not a jump, a pull.
    update(&mut app, 1);
    assert!((swung(&app, &one) - before).abs() < 0.2);
    update(&mut app, 120);
    assert!(
        swung(&app, &one) < before * 0.7,
        "{} after {before}",
        swung(&app, &one)
    );
    assert_same(&shown(&app, &two), &shown(&app, &one), "they share");
    assert!(swung(&app, &own) > before * 0.9);
}

/// Hot reload: the file is saved again with other numbers.
fn game_with_files(dir: &Dir) -> App {
    let mut app = App::new();
    let root = dir.clone();
    let source =
        AssetSourceBuilder::new(move || Box::new(MemoryAssetReader { root: root.clone() }));
    app.register_asset_source(AssetSourceId::Default, source);
    app.add_plugins((
        TaskPoolPlugin::default(),
        TimePlugin,
        AssetPlugin::default(),
        TransformPlugin,
        bevy_animation::AnimationPlugin,
        FlouncePlugins::default(),
    ));
    app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME));
    app
}

/// Updates until `done`, at the most for some thousand frames of a loader's time.
fn wait_for(app: &mut App, done: impl Fn(&App) -> bool) {
    for _ in 0..5000 {
        if done(app) {
            return;
        }
        app.update();
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    panic!("the asset server does not get there");
}

#[test]
fn a_file_that_is_saved_again_takes_effect_and_a_broken_one_does_not() {
    let dir = Dir::default();
    let file = Path::new("hair.rig.ron");
    dir.insert_asset_text(file, HAIR);
    let mut app = game_with_files(&dir);
    let handle: Handle<RigAsset> = app.world().resource::<AssetServer>().load("hair.rig.ron");
    let character = spawn(&mut app, Swing::rig(handle.clone()));
    let other = spawn(&mut app, Swing::rig(handle.clone()));
    wait_for(&mut app, |app| {
        status(app, &character) == SwingStatus::Bound
    });
    let entity = rig_entity(&app, &character);
    app.insert_resource(TimeUpdateStrategy::ManualDuration(FRAME));
    update(&mut app, 100);
    let before = swung(&app, &character);

    let of_file = |app: &App| {
        let files = app.world().resource::<Assets<RigAsset>>();
        files.get(&handle).unwrap().0.rules().chains[0]
            .parameters
            .stiffness
    };
    let reload = |app: &App| app.world().resource::<AssetServer>().reload("hair.rig.ron");
    dir.insert_asset_text(file, &HAIR.replace("stiffness: 0.2", "stiffness: 3.0"));
    reload(&app);
    wait_for(&mut app, |app| of_file(app) == Some(3.0));
    update(&mut app, 2);
    assert!((swung(&app, &character) - before).abs() < 0.4, "no pop");
    assert_eq!(rig_entity(&app, &character), entity, "the same rig, edited");
    assert_eq!(rig_entity(&app, &other), entity);
    update(&mut app, 120);
    assert!(
        swung(&app, &character) < before * 0.7,
        "{}",
        swung(&app, &character)
    );

    // Half written, and then written for another model: what was there stays.
    dir.insert_asset_text(file, "(version: 1, chains: [");
    reload(&app);
    update(&mut app, 50);
    let after = swung(&app, &character);
    dir.insert_asset_text(
        file,
        &HAIR.replace("hair_1", "nobody").replace("0.2,", "9.0,"),
    );
    reload(&app);
    wait_for(&mut app, |app| of_file(app) == Some(9.0));
    update(&mut app, 5);
    assert_eq!(status(&app, &character), SwingStatus::Bound);
    assert!((swung(&app, &character) - after).abs() < 0.05);
}

/// A file that is saved without a change moves no bit.
#[test]
fn a_reload_that_changes_nothing_changes_nothing() {
    let run = |reloads: bool| {
        let mut app = app();
        let hair = rig(&mut app, HAIR);
        let character = spawn(&mut app, Swing::rig(hair.clone()));
        animate(&mut app, &character);
        for frame in 0..100 {
            if reloads && frame % 10 == 3 {
                let mut files = app.world_mut().resource_mut::<Assets<RigAsset>>();
                let same = files.get(&hair).unwrap().clone();
                *files.get_mut(&hair).unwrap() = same;
            }
            app.update();
        }
        shown(&app, &character)
    };
    assert_same(&run(true), &run(false), "after reloads");
}

/// The loader says where a file is wrong.
#[test]
fn a_broken_file_fails_with_its_place() {
    let dir = Dir::default();
    let file = Path::new("broken.rig.ron");
    dir.insert_asset_text(file, "(\n    version: 1,\n    chians: [],\n)");
    let mut app = game_with_files(&dir);
    let handle: Handle<RigAsset> = app.world().resource::<AssetServer>().load("broken.rig.ron");
    let failed = |app: &App| match app.world().resource::<AssetServer>().load_state(&handle) {
        LoadState::Failed(error) => Some(error.to_string()),
        _ => None,
    };
    wait_for(&mut app, |app| failed(app).is_some());
    let error = failed(&app).unwrap();
    assert!(
        error.contains("broken.rig.ron:3:") && error.contains("chians"),
        "{error}"
    );
}

/// A despawned neighbour, whatever shares its rig, is not noticed.
#[test]
fn order_05_bevy_a_neighbour_that_goes_is_not_noticed() {
    let run = |leaves: bool| {
        let mut app = app();
        let hair = rig(&mut app, HAIR);
        let neighbours: Vec<_> = (0..3)
            .map(|_| spawn(&mut app, Swing::rig(hair.clone())))
            .collect();
        let character = spawn(&mut app, Swing::rig(hair.clone()));
        animate(&mut app, &character);
        update(&mut app, 50);
        if leaves {
            app.world_mut().despawn(neighbours[0].root);
            update(&mut app, 10);
            spawn(&mut app, Swing::rig(hair));
            app.world_mut().despawn(neighbours[2].root);
            update(&mut app, 40);
        } else {
            update(&mut app, 50);
        }
        shown(&app, &character)
    };
    assert_same(&run(true), &run(false), "the others gone");
}

/// A true additive layer over Bevy's pose: the arm is turned about its own axis, whatever Bevy's animation does below.
#[test]
fn layers_lie_over_the_pose_of_bevys_animation() {
    let mut app = app();
    let hair = rig(&mut app, HAIR);
    let character = spawn(&mut app, Swing::rig(hair).with_all_joints());
    animate(&mut app, &character);
    update(&mut app, 30);
    let rigs = app.world().resource::<SharedRigs>();
    let rig = Arc::clone(rigs.rig(rig_entity(&app, &character)).unwrap());
    let spine = rig
        .joints
        .iter()
        .position(|joint| joint.name == "spine")
        .unwrap();
    let parents: Vec<Option<usize>> = rig.joints.iter().map(|joint| joint.parent).collect();
    let mask = JointMask::new(&parents, &[spine], &[], &[]).unwrap();
    let turn = Quat::from_rotation_z(0.5);
    let clip = Clip {
        name: "lean".to_owned(),
        source: 0,
        tracks: vec![flounce::clip::Track {
            joint: spine,
            source: 0,
            interpolation: flounce::clip::Interpolation::Linear,
            times: [0.0, 1.0].into(),
            values: flounce::clip::TrackValues::Rotation(vec![turn.to_array(); 2]),
        }],
        duration: 1.0,
    };
    let source = LayerSource::Clip(Playback::new(clip.into(), Repeat::Loop));
    let mut layer = Layer::new("lean", 1, source, mask);
    layer.kind = LayerKind::Additive {
        side: flounce::additive::Side::Own,
        reference: Reference::Rest,
        continuous: false,
    };
    let layers = Layers::new([layer]).unwrap();
    app.world_mut().entity_mut(character.root).insert(layers);
    let mut farthest = 0.0_f32;
    for _ in 0..100 {
        app.update();
        let input = app.world().get::<AnimatedPose>(character.root).unwrap();
        let below = input.0[spine].rotation;
        let found = app
            .world()
            .get::<Transform>(character.joints[1])
            .unwrap()
            .rotation;
        let expected = below * turn;
        let off = (found - expected).length().min((found + expected).length());
        assert!(off < 1e-6, "{off}: {found} over {below}");
        assert_eq!(below.z, 0.0, "the layer does not feed back");
        farthest = farthest.max(below.y.abs());
    }
    assert!(farthest > 0.2, "Bevy animates below: {farthest}");
    app.world_mut()
        .entity_mut(character.root)
        .remove::<Layers>();
    update(&mut app, 1);
    let found = app
        .world()
        .get::<Transform>(character.joints[1])
        .unwrap()
        .rotation;
    assert_eq!(found.z, 0.0, "without the layer it shows its animation");
}
