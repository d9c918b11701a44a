//! Workload S by `bevy_vrm1`'s own spring system, in an App without a window.
//!
//! `flounce-peer-bevy-vrm1 CHARACTERSxCOLLIDERS` says `ready` when its characters swing, then measures a round for
//! each line of its input and prints `S CASE,bevy_vrm1,ns per joint update`: CPU time of this process between two systems that
//! run right before and right after the springs, so that neither the App nor the propagation of transforms counts. It panics
//! when the bones did not move or do not hang. `../run.sh` runs it.

mod character;

use std::time::Duration;

use bevy::app::{TaskPoolOptions, TaskPoolPlugin};
use bevy::prelude::*;
use bevy::time::{TimePlugin, TimeUpdateStrategy};
use bevy_vrm1::prelude::*;
use bevy_vrm1::vrm::spring_bone::VrmSpringBonePlugin;
use character::{CHAINS, Hips, JOINTS, Step, Tip};
use cpu_time::ProcessTime;

/// One step in so many comes untimed before each round.
const WARMING: usize = 3;
/// Joint updates of a round; at least [`LEAST_STEPS`] steps of all characters.
const WORK: usize = 144_000;
const LEAST_STEPS: usize = 2;
/// Steps that come before the characters are checked, at least.
const LEAST_WARM_UP: usize = 4;
/// How far the tips of each character have to move, in the world and against the hips, metres.
const LEAST_MOVED: f32 = 1e-4;
/// How deep below the hips they hang on average, metres.
const LEAST_DEPTH: f32 = 0.2;

/// CPU time that the springs have taken, and when they began.
#[derive(Resource)]
struct Springs {
    taken: Duration,
    begun: ProcessTime,
}

fn begin(mut springs: ResMut<Springs>) {
    springs.begun = ProcessTime::now();
}

fn end(mut springs: ResMut<Springs>) {
    let taken = springs.begun.elapsed();
    springs.taken += taken;
}

struct Side {
    app: App,
    characters: usize,
    /// Steps of a round.
    steps: usize,
}

impl Side {
    fn new(characters: usize, colliders: usize) -> Self {
        let mut app = App::new();
        app.add_plugins((
            TaskPoolPlugin {
                task_pool_options: TaskPoolOptions::with_num_threads(1),
            },
            TimePlugin,
            TransformPlugin,
            VrmSpringBonePlugin,
        ));
        let step = Duration::from_nanos(16_666_667);
        app.insert_resource(TimeUpdateStrategy::ManualDuration(step));
        app.insert_resource(Springs {
            taken: Duration::ZERO,
            begun: ProcessTime::now(),
        });
        app.insert_resource(Step(0));
        app.add_systems(Update, character::drive);
        let springs = VrmSystemSets::SpringBone;
        app.configure_sets(PostUpdate, springs.after(TransformSystems::Propagate));
        let clock = (
            begin
                .after(TransformSystems::Propagate)
                .before(VrmSystemSets::SpringBone),
            end.after(VrmSystemSets::SpringBone),
        );
        app.add_systems(PostUpdate, clock);
        let registry = app.world().resource::<AppTypeRegistry>().clone();
        for index in 0..characters {
            character::spawn(app.world_mut(), &registry.read(), index, colliders);
        }
        app.finish();
        app.cleanup();
        Self {
            app,
            characters,
            steps: WORK.div_ceil(characters * JOINTS).max(LEAST_STEPS),
        }
    }

    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            self.app.world_mut().resource_mut::<Step>().0 += 1;
            self.app.update();
        }
    }

    /// The tips of each character in the world, and its hips.
    fn tips(&mut self) -> Vec<(GlobalTransform, Vec<Vec3>)> {
        let world = self.app.world_mut();
        let mut hips = world.query::<(&Hips, &GlobalTransform)>();
        let mut found = vec![(GlobalTransform::IDENTITY, Vec::new()); self.characters];
        for (hips, transform) in hips.iter(world) {
            found[hips.0].0 = *transform;
        }
        let mut tips = world.query::<(&Tip, &GlobalTransform)>();
        for (tip, transform) in tips.iter(world) {
            found[tip.0].1.push(transform.translation());
        }
        found
    }

    /// Lets the characters swing.
    ///
    /// # Panics
    /// If a character did not, or its bones do not hang.
    fn warm_up(&mut self) {
        self.run(1);
        let before = self.tips();
        self.run(self.steps.max(LEAST_WARM_UP));
        let after = self.tips();
        for (index, ((old_hips, old), (hips, new))) in before.iter().zip(&after).enumerate() {
            assert_eq!(new.len(), CHAINS, "tips of character {index}");
            let local =
                |hips: &GlobalTransform, tip: Vec3| hips.affine().inverse().transform_point3(tip);
            let (mut in_world, mut against_hips, mut depth) = (0.0_f32, 0.0_f32, 0.0);
            for (&old, &new) in old.iter().zip(new) {
                in_world = in_world.max(old.distance(new));
                against_hips = against_hips.max(local(old_hips, old).distance(local(hips, new)));
                depth += (hips.translation().y - new.y) / CHAINS as f32;
            }
            assert!(
                in_world.min(against_hips) > LEAST_MOVED && depth > LEAST_DEPTH,
                "character {index}: tips moved {in_world} m, {against_hips} m against the hips, and hang {depth} m below them"
            );
        }
    }

    /// Nanoseconds per joint update of a round.
    fn round(&mut self) -> f64 {
        // What others left in the caches is not its own.
        self.run(self.steps.div_ceil(WARMING));
        self.app.world_mut().resource_mut::<Springs>().taken = Duration::ZERO;
        self.run(self.steps);
        let taken = self.app.world().resource::<Springs>().taken;
        taken.as_nanos() as f64 / (self.steps * self.characters * JOINTS) as f64
    }
}

fn main() {
    let case = std::env::args().nth(1).unwrap_or_default();
    let parts = case.split_once('x');
    let parts =
        parts.and_then(|(n, c)| Some((n.parse().ok().filter(|&n| n > 0)?, c.parse().ok()?)));
    let Some((characters, colliders)) = parts else {
        eprintln!("usage: flounce-peer-bevy-vrm1 CHARACTERSxCOLLIDERS");
        std::process::exit(2);
    };
    let mut side = Side::new(characters, colliders);
    side.warm_up();
    println!("ready");
    for _ in std::io::stdin().lines() {
        println!("S {case},bevy_vrm1,{:.4}", side.round());
    }
}
