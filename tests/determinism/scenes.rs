//! Scenes as crowds: every actor of every demo scene ends with the same state alone, as the scene has it, in a crowd of
//! its copies, and among others. `[R1]`

use std::path::{Path, PathBuf};

use flounce::assets::run::{self, RunOptions, RunReport};
use flounce::assets::scene::{
    self, ActorRule, MoveKind, MoveRule, PropertiesRule, Scene, SceneActor,
};
use flounce::assets::state_hash::StateHash;

/// More than a group of 32 has lanes.
const CROWD: usize = 33;

/// The files of `scenes/`, in the order of their names.
pub fn demo_scenes() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenes");
    let files = std::fs::read_dir(folder).unwrap();
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "ron"));
    files.sort();
    assert!(files.len() >= 11, "{files:?}");
    files
}

/// Runs `scene` with these actors, without outputs and expectations.
fn states(scene: &Scene, actors: Vec<ActorRule>) -> Vec<StateHash> {
    let mut rules = scene.rules().clone();
    rules.actors = actors;
    rules.outputs.clear();
    rules.expectations.clear();
    run(&scene.with_rules(rules).unwrap()).states
}

fn run(scene: &Scene) -> RunReport {
    run::run(scene, &RunOptions::default(), &|_| {}).unwrap_or_else(|error| panic!("{error}"))
}

/// The rule of the group of `actor`, for `count` that are all like it and stand where it stands.
fn copies(scene: &Scene, actor: &SceneActor, count: usize) -> ActorRule {
    ActorRule {
        count,
        start: actor.start,
        start_step: 0.0,
        offset: actor.offset.to_array(),
        spacing: [0.0; 3],
        columns: None,
        ..scene.rules().actors[actor.group].clone()
    }
}

/// The first actor of each group.
fn leads(scene: &Scene) -> Vec<SceneActor<'_>> {
    let mut leads: Vec<SceneActor> = scene.actors().collect();
    leads.dedup_by_key(|actor| actor.group);
    leads
}

#[test]
fn r1_every_actor_of_a_demo_scene_has_the_bits_it_has_alone() {
    for file in demo_scenes() {
        let scene = scene::read(&file).unwrap();
        let report = run(&scene);
        // Among them the hash of the end, so what is compared below is what the scene promises.
        assert!(report.holds(), "{}: {:?}", file.display(), report.verdicts);
        assert_eq!(report.states.len(), scene.actor_count());
        for (index, actor) in scene.actors().enumerate() {
            let alone = states(&scene, vec![copies(&scene, &actor, 1)]);
            let found = report.states[index];
            assert_eq!(found, alone[0], "{}: actor {index}", file.display());
        }
    }
}

#[test]
fn r1_each_of_33_copies_of_a_demo_actor_has_its_bits() {
    for file in demo_scenes() {
        let scene = scene::read(&file).unwrap();
        for actor in leads(&scene) {
            let of = |count: usize| states(&scene, vec![copies(&scene, &actor, count)]);
            let (alone, crowd) = (of(1), of(CROWD));
            assert_eq!(crowd.len(), CROWD);
            for (index, found) in crowd.iter().enumerate() {
                let what = format!("{}: copy {index}", file.display());
                assert_eq!(*found, alone[0], "{what} of group {}", actor.group);
            }
        }
    }
}

#[test]
fn r1_a_demo_actor_among_others_has_its_bits_in_any_order() {
    for file in demo_scenes() {
        let scene = scene::read(&file).unwrap();
        for actor in leads(&scene) {
            let watched = || copies(&scene, &actor, 1);
            let alone = states(&scene, vec![watched()]);
            let mut rules = others(&scene, &actor);
            rules.insert(2, watched());
            for _ in 0..2 {
                let place = rules.iter().position(|rule| *rule == watched()).unwrap();
                let before = rules[..place].iter().map(|rule| rule.count).sum::<usize>();
                let found = states(&scene, rules.clone());
                assert!(found.len() >= CROWD);
                let what = format!("{}: after {before}", file.display());
                assert_eq!(found[before], alone[0], "{what}, group {}", actor.group);
                let same = found.iter().filter(|state| **state == alone[0]).count();
                // Where it plays no clip another start is no difference, and where nothing swings all but a clip is none.
                let most = if actor.clip.is_some() {
                    1
                } else {
                    found.len() - 3
                };
                assert!(same <= most, "{what}: {same} do the same");
                rules.reverse();
            }
        }
    }
}

/// Actors of the same rig that play something else: another time or clip, other properties, another way, resets.
fn others(scene: &Scene, actor: &SceneActor) -> Vec<ActorRule> {
    let of = |count: usize| ActorRule {
        start: actor.start + 0.31,
        start_step: 0.17,
        ..copies(scene, actor, count)
    };
    let shares = PropertiesRule {
        weight: Some(0.7),
        swing_power: Some(0.9),
        root_horizontal_weight: Some(0.3),
        root_vertical_weight: Some(0.0),
        ..PropertiesRule::default()
    };
    let pushed = PropertiesRule {
        global_force: Some([0.004, 0.0, -0.002]),
        gravity: Some([0.3, -1.0, 0.1]),
        ..PropertiesRule::default()
    };
    let to = |time: f32, x: f32, kind: MoveKind| MoveRule {
        time,
        position: [x, 0.0, 0.5 * x],
        yaw_deg: 40.0 * x,
        kind,
    };
    let moves = vec![
        to(0.4, 0.6, MoveKind::Glide),
        to(0.9, 1.1, MoveKind::Teleport),
        to(1.3, 1.2, MoveKind::Jump),
        to(1.7, 9.0, MoveKind::Jump),
        to(3.0, 9.5, MoveKind::Glide),
    ];
    vec![
        of(10),
        ActorRule {
            properties: shares,
            ..of(6)
        },
        ActorRule {
            moves,
            resets: vec![0.5, 1.1, 3.1],
            ..of(7)
        },
        ActorRule {
            properties: pushed,
            ..of(5)
        },
        // Another clip, and none.
        ActorRule {
            clip: Some("#0".to_owned()),
            layers: Vec::new(),
            repeats: true,
            ..of(3)
        },
        ActorRule {
            start_step: 0.0,
            clip: None,
            layers: Vec::new(),
            resets: vec![1.0],
            ..of(1)
        },
    ]
}
