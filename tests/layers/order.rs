//! Order, masks and who else is there.

use flounce::clip::{ClipPlayer, Playback, Repeat};
use flounce::layer::{Layer, LayerFault, LayerReadout, Layers, Missing};
use flounce::mask::JointMask;
use flounce::pose::{AnimatedPose, JointTransform};
use flounce::systems::motion::Reset;
use flounce::systems::plugin::Headless;

use crate::{Random, actor, clip, over, parents, shown, tree};

#[test]
fn layers_run_in_their_order_and_ties_are_refused() {
    let mut random = Random::new(4);
    let rig = tree(6, &mut random);
    let clips: Vec<_> = ["a", "b", "c"]
        .iter()
        .map(|name| clip(name, &[0, 1, 2], 4, &mut random))
        .collect();
    let layer = |index: usize, order: i32, weight: f32| Layer {
        weight,
        ..over(&clips[index].name, order, &clips[index], JointMask::all(6))
    };
    let run = |layers: Vec<Layer>| {
        let (mut host, actor) = actor(&rig, layers);
        host.run_to(0.0).unwrap();
        host.run_to(0.13).unwrap();
        shown(&host, actor)
    };
    let straight = run(vec![layer(0, -5, 0.5), layer(1, 0, 0.7), layer(2, 9, 0.3)]);
    let shuffled = run(vec![layer(2, 9, 0.3), layer(0, -5, 0.5), layer(1, 0, 0.7)]);
    assert_eq!(straight, shuffled, "the order says it, not the list");
    let other = run(vec![layer(0, 3, 0.5), layer(1, 0, 0.7), layer(2, 9, 0.3)]);
    assert_ne!(straight, other, "another order is another pose");
    let tie = Layers::new([layer(0, 1, 0.5), layer(1, 1, 0.5)]).unwrap_err();
    assert_eq!(
        tie.to_string(),
        "layers \"a\" and \"b\" have the same order 1"
    );
    let name = Layers::new([layer(0, 1, 0.5), layer(0, 2, 0.5)]).unwrap_err();
    assert_eq!(name, LayerFault::Name("a".to_owned()));
}

#[test]
fn joints_outside_a_mask_keep_every_bit() {
    let mut random = Random::new(5);
    let rig = tree(20, &mut random);
    let all: Vec<usize> = (0..20).collect();
    let (walk, wave) = (
        clip("walk", &all, 5, &mut random),
        clip("wave", &all, 5, &mut random),
    );
    let mask = JointMask::new(&parents(&rig), &[1], &[4], &[(3, 0.5)]).unwrap();
    for missing in [Missing::Base, Missing::Rest] {
        let layer = Layer {
            missing,
            ..over("wave", 1, &wave, mask.clone())
        };
        let base = || over("walk", 0, &walk, JointMask::all(20));
        let (mut plain, a) = actor(&rig, vec![base()]);
        let (mut layered, b) = actor(&rig, vec![base(), layer]);
        let mut changed = [false; 20];
        for frame in 0..30 {
            let time = f64::from(frame) / 48.0;
            plain.run_to(time).unwrap();
            layered.run_to(time).unwrap();
            let (below, above) = (shown(&plain, a), shown(&layered, b));
            for joint in 0..20 {
                let same = bits(&below[joint]) == bits(&above[joint]);
                assert!(
                    same || mask.weight(joint) > 0.0,
                    "joint {joint} at frame {frame}"
                );
                changed[joint] |= !same;
            }
        }
        assert!(
            mask.joints().all(|joint| changed[joint]),
            "every joint inside moves"
        );
    }
}

fn bits(of: &JointTransform) -> Vec<u32> {
    let (t, r, s) = (
        of.translation.to_array(),
        of.rotation.to_array(),
        of.scale.to_array(),
    );
    t.iter()
        .chain(&r)
        .chain(&s)
        .map(|number| number.to_bits())
        .collect()
}

#[test]
fn a_layer_at_full_weight_is_the_clip_bit_for_bit() {
    let mut random = Random::new(6);
    let rig = tree(9, &mut random);
    let all: Vec<usize> = (0..9).collect();
    let motion = clip("motion", &all, 5, &mut random);
    let (mut layered, a) = actor(&rig, vec![over("motion", 0, &motion, JointMask::all(9))]);
    let (mut played, b) = actor(&rig, vec![]);
    let player = ClipPlayer::new(motion, Repeat::Loop);
    played.world.entity_mut(b).insert(player);
    for frame in 0..50 {
        let time = f64::from(frame) / 30.0;
        layered.run_to(time).unwrap();
        played.run_to(time).unwrap();
        assert_eq!(shown(&layered, a), shown(&played, b), "frame {frame}");
    }
}

#[test]
fn spawn_order_and_neighbours_change_no_bit() {
    let mut random = Random::new(7);
    let rig = tree(15, &mut random);
    let all: Vec<usize> = (0..15).collect();
    let clips: Vec<_> = (0..4)
        .map(|n| clip(&format!("clip {n}"), &all, 6, &mut random))
        .collect();
    let layers = |n: usize| {
        let mask = JointMask::new(&parents(&rig), &[n % 5], &[], &[]).unwrap();
        Layers::new([
            Layer {
                weight: 0.25 + 0.1 * n as f32,
                ..over("low", 1, &clips[n], mask)
            },
            over(
                "high",
                2,
                &clips[(n + 1) % 4],
                JointMask::new(&parents(&rig), &[2], &[], &[]).unwrap(),
            ),
        ])
        .unwrap()
    };
    let run = |order: &[usize], strangers: bool| {
        let mut host = Headless::new();
        let entity = host.spawn_rig(&rig);
        let mut actors = [None; 4];
        for &n in order {
            if strangers {
                host.world.spawn_empty();
                let pose = vec![JointTransform::IDENTITY; 15];
                host.spawn_actor(entity, AnimatedPose(pose));
            }
            actors[n] = Some(host.spawn_actor(entity, layers(n)));
        }
        let mut poses = Vec::new();
        for frame in 0..20 {
            host.run_to(f64::from(frame) / 60.0).unwrap();
            poses.push(
                actors
                    .iter()
                    .map(|actor| shown(&host, actor.unwrap()))
                    .collect::<Vec<_>>(),
            );
        }
        poses
    };
    let straight = run(&[0, 1, 2, 3], false);
    assert_eq!(straight, run(&[3, 1, 0, 2], false));
    assert_eq!(straight, run(&[2, 3, 1, 0], true));
}

#[test]
fn a_reset_ends_fades_and_does_not_bring_back_what_was_left() {
    let mut random = Random::new(12);
    let rig = tree(3, &mut random);
    let [a, b] = ["a", "b"].map(|name| clip(name, &[1], 1, &mut random));
    for (fade_at, reset_at) in [(0.1, 2.0), (0.1, 0.2)] {
        let (mut host, actor) = actor(&rig, vec![]);
        let player = ClipPlayer::new(a.clone(), Repeat::Loop);
        host.world.entity_mut(actor).insert(player);
        let mut faded = false;
        for frame in 0..200 {
            let time = f64::from(frame) / 60.0;
            if time >= fade_at && !faded {
                faded = true;
                let mut player = host.world.get_mut::<ClipPlayer>(actor).unwrap();
                player.cross_fade(Playback::new(b.clone(), Repeat::Loop), time, 0.5);
            }
            if frame == (reset_at * 60.0) as i32 {
                host.world.trigger(Reset { entity: actor });
            }
            host.run_to(time).unwrap();
            if time > reset_at + 0.02 {
                let mut expected = rig.joints[1].rest;
                b.tracks
                    .iter()
                    .for_each(|track| track.sample(0.0, &mut expected));
                assert_eq!(shown(&host, actor)[1], expected, "at {time}");
            }
        }
    }
}

#[test]
fn a_mask_of_another_rig_is_refused_and_named() {
    let mut random = Random::new(13);
    let rig = tree(4, &mut random);
    let motion = clip("motion", &[1], 2, &mut random);
    let (mut host, actor) = actor(&rig, vec![over("motion", 0, &motion, JointMask::all(3))]);
    host.world.entity_mut(actor).insert(LayerReadout::default());
    host.run_to(0.0).unwrap();
    assert_eq!(shown(&host, actor)[1], rig.joints[1].rest);
    assert!(host.world.get::<LayerReadout>(actor).unwrap().0[0].refused);
}
