//! Neighbours: random actors of the same random rig that come, go, jump and are given what is not finite change no bit.

use bevy_ecs::prelude::*;
use bevy_math::{Quat, Vec3};
use flounce::pose::AnimatedPose;
use flounce::profile::SwingProfile;
use flounce::swing::{ActorProperties, BakeWeights, SwingReadout};
use flounce::systems::motion::{Reset, Teleport};
use flounce::systems::plugin::Headless;
use flounce::wind::Wind;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use crate::config;
use crate::random::{profile, properties, scene, share, wind};
use crate::scene::{Event, Input, Scene};
use crate::support::chains::{Frame, assert_same_bits, rest_pose};

/// A random actor: how it is solved, and when it is there.
#[derive(Clone, Debug)]
struct Neighbour {
    profile: SwingProfile,
    properties: ActorProperties,
    wind: Option<Wind>,
    bake: Option<Vec<f32>>,
    joins: usize,
    stays: usize,
    /// Its input is the scene's of so many frames later.
    shift: usize,
    /// Whether its input is not finite now and then.
    poisoned: bool,
}

fn neighbours() -> impl Strategy<Value = Vec<Neighbour>> {
    let bake = option::weighted(0.3, vec(share(), 1..5));
    let given = (profile(), properties(), option::of(wind()), bake);
    let there = (0..12_usize, 1..20_usize, 0..18_usize);
    let one = (given, there, prop::bool::weighted(0.15)).prop_map(
        |((profile, properties, wind, bake), (joins, stays, shift), poisoned)| Neighbour {
            profile,
            properties,
            wind,
            bake,
            // Half of them are there from the start.
            joins: joins.saturating_sub(6),
            stays,
            shift,
            poisoned,
        },
    );
    vec(one, 1..45)
}

/// The watched actor of the scene or a neighbour.
fn spawn(
    host: &mut Headless,
    rig: Entity,
    scene: &Scene,
    (profile, properties): (SwingProfile, ActorProperties),
    (wind, bake): (&Option<Wind>, &Option<Vec<f32>>),
) -> Entity {
    let pose = AnimatedPose(rest_pose(&scene.rig));
    let actor = host.spawn_actor(rig, (profile, properties, pose, SwingReadout::default()));
    let mut entity = host.world.entity_mut(actor);
    if let Some(wind) = wind {
        entity.insert(wind.clone());
    }
    if let Some(bake) = bake {
        let weights = bake.iter().cycle().copied();
        entity.insert(BakeWeights(weights.take(scene.rig.swing.len()).collect()));
    }
    actor
}

fn give(world: &mut World, entity: Entity, input: &Input) {
    let mut pose = world.get_mut::<AnimatedPose>(entity).unwrap();
    pose.0.clone_from(&input.pose);
    world.entity_mut(entity).insert(input.placed);
    match input.event {
        Some(Event::Teleport) => world.trigger(Teleport { entity }),
        Some(Event::Reset) => world.trigger(Reset { entity }),
        None => {}
    }
}

fn poison(world: &mut World, actor: Entity, frame: usize) {
    let mut pose = world.get_mut::<AnimatedPose>(actor).unwrap();
    let joint = frame % pose.0.len();
    pose.0[joint].translation = Vec3::new(f32::NAN, f32::INFINITY, 1e38);
    pose.0[joint].rotation = Quat::from_xyzw(f32::NAN, 0.0, 0.0, 0.0);
    if frame.is_multiple_of(3) {
        let mut properties = world.get_mut::<ActorProperties>(actor).unwrap();
        properties.global_force = Vec3::NAN;
        properties.gravity = Vec3::splat(f32::INFINITY);
    }
}

/// What the scene's actor shows among `neighbours`, of which the first half of those that are there from the start are
/// spawned before it.
fn shown(scene: &Scene, neighbours: &[Neighbour]) -> Vec<Frame> {
    let mut host = Headless::new();
    let rig = host.spawn_rig(&scene.rig);
    let mut others: Vec<Option<Entity>> = vec![None; neighbours.len()];
    let mut watched = None;
    let mut frames = Vec::new();
    for (frame, input) in scene.frames.iter().enumerate() {
        for (index, neighbour) in neighbours.iter().enumerate() {
            if index * 2 >= neighbours.len() && watched.is_none() {
                watched = Some(spawn_watched(&mut host, rig, scene));
            }
            if neighbour.joins == frame {
                let solved = (neighbour.profile, neighbour.properties);
                let extra = (&neighbour.wind, &neighbour.bake);
                others[index] = Some(spawn(&mut host, rig, scene, solved, extra));
            }
            if neighbour.joins + neighbour.stays == frame
                && let Some(leaving) = others[index].take()
            {
                host.world.despawn(leaving);
            }
        }
        let actor = *watched.get_or_insert_with(|| spawn_watched(&mut host, rig, scene));
        give(&mut host.world, actor, input);
        for (neighbour, other) in neighbours.iter().zip(&others) {
            let Some(other) = *other else { continue };
            let shifted = (frame + neighbour.shift) % scene.frames.len();
            give(&mut host.world, other, &scene.frames[shifted]);
            if neighbour.poisoned && frame % 4 > 0 {
                poison(&mut host.world, other, frame);
            }
        }
        host.step(input.seconds).unwrap();
        frames.push(Frame::of(&host.world, actor));
    }
    frames
}

fn spawn_watched(host: &mut Headless, rig: Entity, scene: &Scene) -> Entity {
    let solved = (scene.profile, scene.properties);
    spawn(host, rig, scene, solved, (&scene.wind, &scene.bake))
}

proptest! {
    #![proptest_config(config(600, 14))]

    #[test]
    fn r1_random_neighbours_change_no_bit(scene in scene(), neighbours in neighbours()) {
        let alone = shown(&scene, &[]);
        let among = shown(&scene, &neighbours);
        assert_same_bits(&among, &alone, "among neighbours");
    }
}
