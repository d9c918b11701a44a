//! Crowds: 40 actors that all have everything, of one rig or three, in frames of no, one and two substeps.

use bevy_ecs::entity::Entity;
use bevy_math::{Quat, Vec3, ops};
use flounce::chain::{ChainLayer, ChainReadout};
use flounce::channel::ChannelPose;
use flounce::clip::{ClipPlayer, Repeat};
use flounce::collider::Mask;
use flounce::layer::LayerReadout;
use flounce::pose::{AnimatedPose, JointTransform, ModelPose};
use flounce::profile::{SubstepPolicy, SwingProfile};
use flounce::rig::{Joint, Rig};
use flounce::substep::{ActorClock, FIXED_STEP};
use flounce::swing::{ActorProperties, BakeWeights, SwingJoint, SwingReadout};
use flounce::systems::motion::{Reset, Teleport, WorldFromActor};
use flounce::systems::plugin::Headless;
use flounce::systems::substeps::Workers;
use flounce::wind::{Gust, Octave, Wind};

use crate::{COUNTED, WARM_UP, allocations, clip, layers, rig, rig_with_leg};

/// A group of 32 and one that is not full.
const CROWD: usize = 40;
/// Lengths of the frames in turn, seconds: actors that came at different times have 0, 1 or 2 substeps in each.
const LENGTHS: [f64; 5] = [FIXED_STEP, 1.0 / 144.0, 1.0 / 30.0, 1.0 / 144.0, 1.0 / 45.0];

/// Four strands of two bones round a waist, joined to a smoothed ring and a row.
fn skirt() -> Rig {
    let joint = |parent: Option<usize>, source: usize, translation: Vec3| Joint {
        name: format!("joint_{source}"),
        source,
        parent,
        rest: JointTransform::rigid(translation, Quat::IDENTITY),
    };
    let mut rig = Rig::new(vec![joint(None, 0, Vec3::Y)]);
    rig.root_correction = Some(0);
    let mut tips = [Vec::new(), Vec::new()];
    for out in [Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z] {
        let top = rig.joints.len();
        rig.joints.push(joint(Some(0), top, out * 0.1));
        for (row, tips) in tips.iter_mut().enumerate() {
            let below = top + row + 1;
            rig.joints
                .push(joint(Some(below - 1), below, out * 0.02 - Vec3::Y * 0.12));
            tips.push(below);
            rig.swing.push(SwingJoint {
                wind: 0.7,
                ..SwingJoint::new(below - 1)
            });
        }
    }
    rig.layers = tips
        .into_iter()
        .enumerate()
        .map(|(row, joints)| ChainLayer {
            joints,
            active: true,
            around: row == 0,
            radius: 0.01,
            smoothing: if row == 0 { 0.4 } else { 0.0 },
            mask: Mask::ALL,
        })
        .collect();
    rig
}

/// The strand of the other tests, in the wind.
fn strand() -> Rig {
    let mut rig = rig();
    for swing in &mut rig.swing {
        swing.wind = 0.5;
    }
    rig
}

fn wind(seed: u32) -> Wind {
    Wind {
        power: 0.02,
        octave: Some(Octave {
            power: 0.01,
            frequency: 4.0,
        }),
        gusts: vec![Gust {
            amplitude: 0.01,
            frequency: 0.7,
            phase: 0.1,
        }],
        seed,
        ..Wind::default()
    }
}

/// An actor with clip, layers, wind, weights of its own and every readout; some cut their frames by themselves, some are
/// animated by the host.
fn spawn(host: &mut Headless, of: Entity, rig: &Rig, number: usize) -> Entity {
    let profile = SwingProfile {
        substeps: [
            SubstepPolicy::Fixed,
            SubstepPolicy::Fixed,
            SubstepPolicy::Frame,
        ][number % 3],
        split_motion: number.is_multiple_of(2),
        ..SwingProfile::default()
    };
    let properties = ActorProperties {
        weight: if number.is_multiple_of(5) { 0.7 } else { 1.0 },
        ..ActorProperties::default()
    };
    let rest = rig.joints.iter().map(|joint| joint.rest).collect();
    let given = (profile, properties, AnimatedPose(rest), wind(number as u32));
    let outputs = (
        ModelPose::default(),
        SwingReadout::default(),
        ChannelPose::default(),
        LayerReadout::default(),
    );
    let actor = host.spawn_actor(of, (given, outputs));
    let mut entity = host.world.entity_mut(actor);
    if !number.is_multiple_of(4) {
        let mut player = ClipPlayer::new(clip(), Repeat::Loop);
        player.playing.start = 0.03 * number as f64;
        entity.insert(player);
    }
    if number.is_multiple_of(2) {
        entity.insert(layers(rig));
    }
    if number % 4 == 1 {
        entity.insert(BakeWeights(vec![0.3; rig.swing.len()]));
    }
    actor
}

/// What a crowd has or does that costs memory today.
#[derive(Clone, Copy, Default)]
struct Asks {
    /// Its actors turn as they walk.
    turns: bool,
    /// They show the hits of their links.
    links: bool,
}

/// A crowd of `rigs` in turn, one actor more in every frame at first, in a world where all of them move.
///
/// Fails in the first frame after warm-up that allocates.
fn assert_allocates_nothing(rigs: &[Rig], asks: Asks) {
    let mut host = Headless::new();
    host.world.insert_resource(Workers::One);
    let entities: Vec<Entity> = rigs.iter().map(|rig| host.spawn_rig(rig)).collect();
    let mut actors = Vec::new();
    // How many frames of how many substeps the actors had.
    let mut seen = [0_usize; 3];
    let (mut now, mut total) = (0.0, 0);
    for frame in 0..WARM_UP + COUNTED {
        if actors.len() < CROWD {
            let of = actors.len() % rigs.len();
            let actor = spawn(&mut host, entities[of], &rigs[of], actors.len());
            if asks.links {
                host.world.entity_mut(actor).insert(ChainReadout::default());
            }
            actors.push(actor);
        }
        for (number, &actor) in actors.iter().enumerate() {
            drive(&mut host, actor, number, frame, asks.turns);
        }
        let substeps = |host: &Headless, actor: Entity| {
            let clock = host.world.get::<ActorClock>(actor).expect("an actor's");
            clock.substeps
        };
        let before: Vec<u64> = actors.iter().map(|&it| substeps(&host, it)).collect();
        now += LENGTHS[frame % LENGTHS.len()];
        let count = allocations();
        host.run_to(now).expect("time goes on");
        let count = allocations() - count;
        total += count;
        if frame < WARM_UP {
            continue;
        }
        assert_eq!(count, 0, "allocations in frame {frame}");
        for (&actor, before) in actors.iter().zip(before) {
            let ran = substeps(&host, actor).saturating_sub(before);
            if let Some(seen) = seen.get_mut(ran as usize) {
                *seen += 1;
            }
        }
    }
    assert!(total > 0, "the counter counts: warming up allocates");
    assert!(seen.iter().all(|&frames| frames > COUNTED), "{seen:?}");
}

/// All actors walk, some are moved at once, some are put at rest.
fn drive(host: &mut Headless, entity: Entity, number: usize, frame: usize, turns: bool) {
    let world = &mut host.world;
    let time = frame as f32 / 60.0 + number as f32;
    let mut placed = world.get_mut::<WorldFromActor>(entity).expect("an actor's");
    placed.translation = Vec3::new(ops::cos(time), 0.0, ops::sin(time)) * 0.5;
    if turns {
        placed.rotation = Quat::from_rotation_y(time);
    }
    let mut pose = world.get_mut::<AnimatedPose>(entity).expect("set by us");
    pose.0[0].translation.x = ops::sin(time * 3.0) * 0.05;
    match (frame + number * 7) % 50 {
        3 => world.trigger(Teleport { entity }),
        17 if number % 3 == 1 => world.trigger(Reset { entity }),
        _ => {}
    }
}

#[test]
fn a_crowd_of_one_rig_allocates_nothing_after_warm_up() {
    assert_allocates_nothing(&[strand()], Asks::default());
}

#[test]
fn a_crowd_of_three_rigs_allocates_nothing_after_warm_up() {
    let rigs = [strand(), skirt(), rig_with_leg()];
    assert_allocates_nothing(&rigs, Asks::default());
}

#[test]
fn x6_a_crowd_that_shows_its_links_allocates_nothing_after_warm_up() {
    let asks = Asks {
        links: true,
        ..Asks::default()
    };
    assert_allocates_nothing(&[skirt()], asks);
}

#[test]
fn w1_a_crowd_that_turns_in_the_wind_allocates_nothing_after_warm_up() {
    let asks = Asks {
        turns: true,
        ..Asks::default()
    };
    assert_allocates_nothing(&[strand(), skirt()], asks);
}
