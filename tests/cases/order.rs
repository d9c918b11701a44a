//! Who is computed before whom.

use bevy_math::{Quat, Vec3};
use flounce::clip::{Clip, ClipPlayer, Interpolation, Repeat, Track, TrackValues};
use flounce::driver::{BlendConstraint, BlendSource, Driver, SkirtDriver};
use flounce::euler::EulerProduct;
use flounce::plan::Plan;
use flounce::pose::JointTransform;
use flounce::profile::SwingProfile;
use flounce::rig::{Rig, RigParts};
use flounce::substep::FIXED_STEP;
use flounce::swing::{ActorProperties, SwingJoint, SwingReadout};
use flounce::systems::plugin::Headless;

use crate::support::chains::{
    BONE, Frame, ROUNDING, Stage, angle, assert_close, assert_near, assert_same_bits,
    assert_turned, joint, rod3, soft, static_ball, stick3, turn, with_balls,
};

#[test]
fn order_01_a_chain_on_a_chain_hangs_on_what_was_resolved_in_the_same_substep() {
    let mut rig = rod3();
    for above in [3, 5, 6, 7] {
        rig.joints
            .push(joint(Some(above), Vec3::new(0.0, -0.1, 0.05)));
    }
    let first: Vec<SwingJoint> = rig.swing.clone();
    let second: Vec<SwingJoint> = (5..8).map(|joint| SwingJoint { joint, ..soft() }).collect();
    let (mut a_first, mut b_first) = (rig.clone(), rig);
    a_first.swing = [first.clone(), second.clone()].concat();
    b_first.swing = [second, first].concat();

    let mut stage = Stage::new(&a_first);
    let mut expected = Vec::new();
    for frame in 0..300 {
        let shown = stage.substep();
        for (i, swing) in a_first.swing.iter().enumerate() {
            let length = shown.particle(i).distance(stage.model(swing.joint).0);
            let rest = Plan::compile(&a_first).swings[i].length;
            let what = format!("frame {frame}, bone {i} from where its parent is");
            assert_close(f64::from(length), f64::from(rest), 1e-6, &what);
        }
        expected.push(shown);
    }
    let mut found = Stage::new(&b_first).substeps(300);
    for frame in &mut found {
        frame.swings.rotate_left(3);
    }
    assert_same_bits(&found, &expected, "the lower chain declared first");
}

/// Chains side by side, each swinging from its own joint of the root.
fn chains(count: usize) -> (Rig, Vec<usize>) {
    let mut rig = Rig::new(vec![joint(None, Vec3::Y)]);
    let mut tips = Vec::new();
    for k in 0..count {
        let first = rig.joints.len();
        rig.joints.push(joint(Some(0), Vec3::Z * (0.15 * k as f32)));
        rig.joints
            .extend((0..3).map(|i| joint(Some(first + i), Vec3::X * BONE)));
        rig.swing
            .extend((first..first + 3).map(|joint| SwingJoint { joint, ..soft() }));
        tips.push(first + 3);
    }
    (with_balls(rig, 0.05), tips)
}

/// Static colliders follow the animated pose, also below a swing joint `[X1]`: chains whose colliders sit on each other
/// are no cycle, and there is nothing to warn of. (The case expects a warning and last substep's place.)
#[test]
fn order_02_colliders_on_each_others_chains_are_no_cycle() {
    // Each on the next one's tip round the circle; with one chain that is its own tip.
    for count in [1, 2, 3] {
        let (mut rig, tips) = chains(count);
        for k in 0..count {
            rig.colliders
                .push(static_ball(tips[(k + 1) % count], Vec3::NEG_Y * 0.12, 0.08));
        }
        let mut stage = Stage::new(&rig);
        let expected = stage.substeps(240);
        let hits = expected.iter().flat_map(|f| &f.swings).flatten();
        assert!(
            hits.map(|s| s.hits).sum::<u32>() > 0,
            "{count} chains meet them"
        );
        assert!(expected.iter().all(Frame::is_finite));
        assert_same_bits(&Stage::new(&rig).substeps(240), &expected, "a second time");

        // The same places on joints that do not swing.
        let (mut still, tips) = chains(count);
        for k in 0..count {
            let tip = still.rest_model()[tips[(k + 1) % count]].rigid.t;
            let on_root = Vec3::from(tip) - Vec3::Y;
            still
                .colliders
                .push(static_ball(0, on_root + Vec3::NEG_Y * 0.12, 0.08));
        }
        for (index, (found, other)) in Stage::new(&still)
            .substeps(240)
            .iter()
            .zip(&expected)
            .enumerate()
        {
            let what = format!("{count} chains, frame {index}");
            assert_turned(other, found, ROUNDING, &what);
        }
    }
}

fn follower(joint: usize, reference: usize) -> Driver {
    Driver::Skirt(SkirtDriver {
        joint,
        reference,
        product: EulerProduct::Xyz,
        inner: Vec3::ONE,
        outer: Vec3::ONE,
        min_deg: Vec3::splat(-180.0),
        max_deg: Vec3::splat(180.0),
        lag: 0,
    })
}

/// The order of drivers is found without recursion, and in time that does not explode.
#[test]
fn order_02_a_hundred_thousand_drivers_in_a_row_need_no_stack() {
    const COUNT: usize = 100_000;
    let mut rig = Rig::new(vec![joint(None, Vec3::ZERO)]);
    rig.joints
        .extend((0..COUNT).map(|_| joint(Some(0), Vec3::X)));
    // The last one first: each waits for the one listed after it.
    rig.drivers = (1..=COUNT).rev().map(|i| follower(i, i - 1)).collect();
    let ordered = move || {
        let order = flounce::driver::run_order(&rig).unwrap();
        let expected: Vec<usize> = (0..COUNT).rev().collect();
        assert_eq!(order, expected);
        // Closed to a circle it is refused.
        rig.drivers[COUNT - 1] = follower(1, COUNT);
        assert!(rig.check().is_err());
    };
    let thread = std::thread::Builder::new().stack_size(256 * 1024);
    thread.spawn(ordered).unwrap().join().unwrap();
}

/// A body, a neck, a head that looks where it is told, hair on the head.
fn head_with_hair() -> Rig {
    let mut rig = Rig::new(vec![
        joint(None, Vec3::Y),
        joint(Some(0), Vec3::Y * 0.3),
        joint(Some(0), Vec3::Y * 0.3),
        joint(Some(2), Vec3::Z * 0.1),
        joint(Some(3), Vec3::Z * BONE),
        joint(Some(4), Vec3::Z * BONE),
    ]);
    rig.swing = (3..5).map(|joint| SwingJoint { joint, ..soft() }).collect();
    rig
}

/// Sixty degrees of yaw in frame 10, by a driver, by a constraint, or by the pose itself: the hair's root is there in
/// frame 10, and what hangs on it starts from there.
#[test]
fn order_04_hair_follows_a_driven_head_in_the_same_frame() {
    let look_at = |joint, target| {
        Driver::Blend(BlendConstraint {
            joint,
            sources: vec![BlendSource {
                joint: target,
                weight: Vec3::Y,
            }],
            field: None,
            offset: JointTransform::rigid(Vec3::Y * 0.3, Quat::IDENTITY),
        })
    };
    let mut shown = Vec::new();
    for driver in [None, Some(follower(2, 1)), Some(look_at(2, 1))] {
        let mut rig = head_with_hair();
        let turned = if driver.is_some() { 1 } else { 2 };
        rig.drivers.extend(driver);
        let mut stage = Stage::new(&rig);
        for frame in 0..12 {
            let yaw = turn(Vec3::Y, if frame < 10 { 0.0 } else { 60.0 });
            stage.pose().0[turned].rotation = yaw;
            let found = stage.substep();
            let expected = Vec3::Y * 1.3 + yaw * (Vec3::Z * 0.1);
            assert_near(
                stage.model(3).0,
                expected,
                1e-6,
                &format!("hair root, frame {frame}"),
            );
            let bone = f64::from(found.particle(0).distance(expected));
            assert_close(bone, f64::from(BONE), 1e-6, "the bone starts there");
            if frame == 10 {
                shown.push(found);
            }
        }
    }
    for (found, what) in shown[1..].iter().zip(["driven", "constrained"]) {
        for joint in 3..5 {
            let off = angle(found.local[joint].rotation, shown[0].local[joint].rotation);
            assert!(
                off < 1e-5,
                "{what}: joint {joint} is {off:e} rad from the posed head's"
            );
        }
    }
}

/// A driver without lag reads what a clip says of the same time, and a driver of a driver what that one left.
#[test]
fn order_04_drivers_read_the_pose_of_their_own_substep() {
    let mut rig = head_with_hair();
    rig.joints.push(joint(Some(0), Vec3::X));
    rig.drivers = vec![follower(6, 2), follower(2, 1)];
    // Short of 90°, where `[Q1]` cannot tell x from z.
    let end = turn(Vec3::Y, 80.0).to_array();
    let clip = Clip {
        name: String::new(),
        source: 0,
        tracks: vec![Track {
            joint: 1,
            source: 0,
            interpolation: Interpolation::Linear,
            times: [0.0, 1.0].into(),
            values: TrackValues::Rotation(vec![[0.0, 0.0, 0.0, 1.0], end]),
        }],
        duration: 1.0,
    };
    let player = ClipPlayer::new(clip.into(), Repeat::Once);
    let properties = ActorProperties::default();
    let mut stage = Stage::with(&rig, SwingProfile::default(), properties, player);
    stage.host.run_to(0.0).unwrap();
    for frame in 1..=60_u8 {
        stage.host.run_to(f64::from(frame) / 60.0).unwrap();
        let expected = turn(Vec3::Y, f32::from(frame) * 80.0 / 60.0);
        for joint in [1, 2, 6] {
            let off = angle(stage.frame().local[joint].rotation, expected);
            assert!(off < 1e-4, "frame {frame}, joint {joint}: {off:e} rad off");
        }
        let root = Vec3::Y * 1.3 + expected * (Vec3::Z * 0.1);
        assert_near(
            stage.model(3).0,
            root,
            1e-5,
            &format!("hair root, frame {frame}"),
        );
    }
}

/// Each actor has its own block of state; places are given and taken back without moving anybody.
#[test]
fn order_05_a_character_that_leaves_moves_no_other() {
    let rigs = [stick3(), rod3(), with_balls(rod3(), 0.02)];
    for shared in [true, false] {
        let run = |alone: bool| {
            let mut host = Headless::new();
            let own = host.spawn_rig(&rigs[1]);
            let others = if shared {
                [own, own]
            } else {
                [host.spawn_rig(&rigs[0]), host.spawn_rig(&rigs[2])]
            };
            let mut first = (!alone).then(|| host.spawn_actor(others[0], ()));
            let watched = host.spawn_actor(own, SwingReadout::default());
            let third = (!alone).then(|| host.spawn_actor(others[1], ()));
            let mut frames = Vec::new();
            for frame in 0..240 {
                if let (100, Some(first)) = (frame, first) {
                    host.world.despawn(first);
                }
                if frame == 150 && !alone {
                    first = Some(host.spawn_actor(others[0], ()));
                }
                if frame == 160 && third.is_some() && !shared {
                    let ball = host.world.spawn(static_ball(0, Vec3::X * 0.3, 0.1)).id();
                    let mut parts = host.world.get_mut::<RigParts>(others[1]).unwrap();
                    parts.colliders.push(ball);
                }
                host.step(FIXED_STEP).unwrap();
                frames.push(Frame::of(&host.world, watched));
            }
            assert!(alone || first.is_some());
            frames
        };
        assert_same_bits(&run(false), &run(true), &format!("shared rig: {shared}"));
    }
}

/// Joints may be spawned over several frames, and one may go for a while: the last rig that made sense counts.
#[test]
fn order_07_a_chain_that_is_spawned_over_several_frames_is_complete_with_its_last_joint() {
    let rig = rod3();
    let mut stage = Stage::new(&Rig::new(rig.joints[..1].to_vec()));
    for (index, of) in rig.joints.iter().enumerate().skip(1) {
        stage.substep();
        let entity = stage.host.world.spawn(of.clone()).id();
        if (1..4).contains(&index) {
            stage
                .host
                .world
                .entity_mut(entity)
                .insert(rig.swing[index - 1]);
        }
        let mut parts = stage.host.world.get_mut::<RigParts>(stage.rig).unwrap();
        parts.joints.push(entity);
        let shown = stage.substep();
        assert!(shown.is_finite());
        assert_eq!(shown.local.len(), index + 1);
    }
    let found = stage.substeps(60);
    let whole = Stage::new(&rig).substeps(61);
    assert_turned(
        &found[59],
        &whole[60],
        1e-6,
        "as if it had been there at once",
    );

    let middle = stage.host.world.get::<RigParts>(stage.rig).unwrap().joints[2];
    stage.host.world.despawn(middle);
    let shown = stage.substeps(10).pop().unwrap();
    assert!(
        shown.is_finite() && shown.local.len() == 5,
        "the last rig counts"
    );
    let again = stage
        .host
        .world
        .spawn((rig.joints[2].clone(), rig.swing[1]))
        .id();
    let mut parts = stage.host.world.get_mut::<RigParts>(stage.rig).unwrap();
    parts.joints[2] = again;
    let shown = stage.substeps(60).pop().unwrap();
    assert!(
        angle(shown.local[2].rotation, Quat::IDENTITY) > 0.05,
        "it swings again"
    );
}
