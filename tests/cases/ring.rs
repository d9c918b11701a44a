//! Rings: smoothing and what may be listed in one.

use bevy_math::{DVec3, Quat, Vec3};
use flounce::chain::{ChainLayer, ChainReadout};
use flounce::collider::Mask;
use flounce::plan::Plan;
use flounce::pose::PoseHealth;
use flounce::profile::SwingProfile;
use flounce::rig::Rig;
use flounce::swing::ActorProperties;

use crate::coll_links::ring8;
use crate::support::chains::{
    Frame, ROUNDING, Stage, assert_near, assert_same_bits, assert_turned, joint, soft, static_ball,
    stretch, turn, weightless,
};

/// `rig` with the joints of every layer listed in another order.
fn reordered(rig: &Rig, order: impl Fn(usize) -> usize) -> Rig {
    let mut rig = rig.clone();
    for layer in &mut rig.layers {
        let joints = layer.joints.clone();
        for (place, joint) in layer.joints.iter_mut().enumerate() {
            *joint = joints[order(place)];
        }
    }
    rig
}

/// One frame of a body that turns and of two strands that are lifted, not symmetrically.
fn walk(stage: &mut Stage, frame: u16) -> Frame {
    let (s, c) = bevy_math::ops::sin_cos(f32::from(frame) * 0.08);
    let pose = &mut stage.pose().0;
    pose[0].rotation = turn(Vec3::Y, 25.0 * s) * turn(Vec3::X, 15.0 * c);
    pose[1].rotation = turn(Vec3::X, -40.0 * s);
    pose[9].rotation = turn(Vec3::Z, 30.0 * c);
    stage.substep()
}

fn walked(rig: &Rig, frames: u16) -> Vec<Frame> {
    let mut stage = Stage::new(rig);
    (0..frames).map(|frame| walk(&mut stage, frame)).collect()
}

/// Four strands of 1 m whose ends rest on a circle of 1 m, (1, 0), (0, 1), (−1, 0), (0, −1) in the horizontal plane.
fn square(smoothing: f32) -> Rig {
    let mut rig = Rig::new(vec![joint(None, Vec3::ZERO)]);
    for at in [Vec3::X, Vec3::Z, Vec3::NEG_X, Vec3::NEG_Z] {
        let first = rig.joints.len();
        rig.joints.push(joint(Some(0), at + Vec3::Y));
        rig.joints.push(joint(Some(first), Vec3::NEG_Y));
        rig.swing.push(weightless(first));
    }
    rig.layers.push(ChainLayer {
        joints: vec![2, 4, 6, 8],
        active: true,
        around: true,
        radius: 0.0,
        smoothing,
        mask: Mask::ALL,
    });
    rig
}

/// `[M1]` `[M2]` in double precision: where one smoothing takes `ring`, of length `rest` at rest, and the bones back.
fn smoothed(ring: &[DVec3], anchors: &[DVec3], smoothing: f64, rest: f64) -> Vec<DVec3> {
    let n = ring.len();
    let even: Vec<DVec3> = (0..n)
        .map(|k| {
            let (left, right) = (ring[(k + n - 1) % n], ring[(k + 1) % n]);
            ring[k] + smoothing * ((left - ring[k]) + (right - ring[k])) / 2.0
        })
        .collect();
    let length: f64 = (0..n).map(|k| even[k].distance(even[(k + 1) % n])).sum();
    let centre = even.iter().sum::<DVec3>() / n as f64;
    let wider = (rest / length).max(1.0);
    let lengths = anchors.iter().zip(ring).map(|(a, b)| a.distance(*b));
    even.iter()
        .zip(anchors)
        .zip(lengths)
        .map(|((&a, &anchor), length)| {
            let widened = centre + (a - centre) * wider;
            anchor + (widened - anchor).normalize() * length
        })
        .collect()
}

/// The case's numbers: smoothed to (0.5, 0) …, widened by 2 about the centre, which gives the input back.
#[test]
fn ring_01_a_regular_ring_keeps_its_place() {
    let ring = [DVec3::X, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Z];
    let anchors = ring.map(|point| point + DVec3::Y);
    for (found, expected) in smoothed(&ring, &anchors, 0.5, 5.656_854_249)
        .iter()
        .zip(ring)
    {
        assert!(found.distance(expected) < 1e-9, "{found}");
    }
    let mut stage = Stage::unsettled(&square(0.5));
    stage.host.step(0.0).unwrap();
    for _ in 0..10 {
        let frame = stage.substep();
        for (i, point) in ring.into_iter().enumerate() {
            assert_near(
                frame.particle(i),
                point.as_vec3(),
                1e-6,
                &format!("point {i}"),
            );
        }
    }
}

/// A ring of which one strand starts raised by 30°: all neighbours are read as they were, in one step.
#[test]
fn ring_01_neighbours_are_read_before_anything_moves() {
    for smoothing in [0.15_f32, 0.5, 1.0] {
        let rig = square(smoothing);
        let mut stage = Stage::unsettled(&rig);
        stage.pose().0[1].rotation = turn(Vec3::Z, 30.0);
        stage.pose().0[3].rotation = turn(Vec3::X, -10.0);
        stage.host.step(0.0).unwrap();
        let before = stage.frame();
        let ring: Vec<DVec3> = (0..4).map(|i| before.particle(i).as_dvec3()).collect();
        let anchors = [DVec3::X, DVec3::Z, DVec3::NEG_X, DVec3::NEG_Z].map(|p| p + DVec3::Y);
        let expected = smoothed(&ring, &anchors, f64::from(smoothing), 5.656_854_249);
        let frame = stage.substep();
        for (i, expected) in expected.into_iter().enumerate() {
            let what = format!("point {i}, smoothing {smoothing}");
            assert_near(frame.particle(i), expected.as_vec3(), 2e-6, &what);
        }
        let moved = frame.particle(0).distance(before.particle(0));
        assert!(moved > 0.02, "it is smoothed: {moved} m");
    }
}

#[test]
fn ring_01_the_start_and_the_direction_of_the_list_do_not_count() {
    let rig = ring8(true, 0.15, soft());
    let expected = walked(&rig, 240);
    let mut unsmoothed = rig.clone();
    for layer in &mut unsmoothed.layers {
        layer.smoothing = 0.0;
    }
    let without = walked(&unsmoothed, 240);
    let felt = expected.iter().zip(&without).map(|(a, b)| a.turned(b));
    assert!(felt.fold(0.0, f64::max) > 0.02, "smoothing is felt");
    for start in 1..8 {
        for around in [1, 7] {
            let found = walked(&reordered(&rig, |k| (start + k * around) % 8), 240);
            for (frame, (found, expected)) in found.iter().zip(&expected).enumerate() {
                // Radians: sums over the ring round in another order.
                let what = format!("from {start} by {around}, frame {frame}");
                assert_turned(found, expected, ROUNDING, &what);
            }
        }
    }
}

/// A skirt whose layers have their first members only.
fn with_members(count: usize, around: bool, smoothing: f32) -> Rig {
    let mut rig = ring8(true, smoothing, soft());
    for layer in &mut rig.layers {
        layer.joints.truncate(count);
        layer.around = around;
    }
    rig
}

#[test]
fn ring_03_less_than_three_members_are_linked_and_not_smoothed() {
    let free = walked(&with_members(0, true, 0.5), 120);
    for count in [1, 2] {
        let found = walked(&with_members(count, true, 0.5), 120);
        assert_same_bits(&found, &free, &format!("{count} members"));
    }
    for count in [3, 4, 8] {
        let rig = with_members(count, true, 0.5);
        let mut stage = Stage::new(&rig);
        let mut felt = 0.0_f64;
        for (frame, free) in (0..).zip(&free) {
            felt = felt.max(walk(&mut stage, frame).turned(free));
            let off = stretch(&stage, &rig);
            // Each end at its own length from its real parent, rotations derived from where it is.
            assert!(
                off < 1e-5,
                "{count} members, frame {frame}: bones {off:e} longer"
            );
            for (i, swing) in rig.swing.iter().enumerate() {
                let tip = stage.model(swing.joint + 1).0;
                assert_near(
                    tip,
                    stage.frame().particle(i),
                    1e-6,
                    "the tip is at its particle",
                );
            }
        }
        assert!(felt > 0.02, "{count} members are smoothed: {felt} rad");
    }
}

/// A strand that is switched off in all its joints, or whose joint is passive, is passed over: its neighbours are
/// joined. (A file that lists one is refused, see [`crate::files`].)
#[test]
fn ring_03_a_strand_that_does_not_move_is_passed_over() {
    let mut off = ring8(true, 0.5, soft());
    for swing in &mut off.swing[6..9] {
        swing.active = false;
    }
    let mut unlisted = off.clone();
    for layer in &mut unlisted.layers {
        layer.joints.remove(2);
    }
    let found = walked(&off, 120);
    assert_same_bits(&found, &walked(&unlisted, 120), "as if it were not listed");
    for frame in &found {
        for joint in 9..12 {
            let animated = if joint == 9 { continue } else { Quat::IDENTITY };
            assert_eq!(frame.local[joint].rotation, animated, "it is animated");
        }
    }
}

/// Not around: links along the row, none between its ends, and no smoothing.
#[test]
fn ring_03_a_row_is_open() {
    let mut row = with_members(8, false, 0.5);
    let plan = Plan::compile(&row);
    assert!(
        plan.layers
            .iter()
            .all(|layer| layer.links == 7 && layer.smoothing == 0.0)
    );
    let found = walked(&row, 120);
    row.layers.clear();
    assert_same_bits(
        &found,
        &walked(&row, 120),
        "without colliders a row does nothing",
    );

    // A ball between the last and the first strand meets a link only where the ring is closed.
    let hits = |around: bool| {
        let mut rig = with_members(8, around, 0.0);
        let (s, c) = bevy_math::ops::sin_cos(-core::f32::consts::TAU / 16.0);
        let at = Vec3::new(0.277 * s, -0.6, 0.277 * c);
        rig.colliders.push(static_ball(0, at, 0.03));
        let mut stage = Stage::with(
            &rig,
            SwingProfile::default(),
            ActorProperties::default(),
            ChainReadout::default(),
        );
        let mut seen = 0;
        for _ in 0..30 {
            stage.substep();
            let links = stage.host.world.get::<ChainReadout>(stage.actor).unwrap();
            seen += links.0.iter().flatten().sum::<u32>();
        }
        seen
    };
    assert_eq!(hits(false), 0, "an open row");
    assert!(hits(true) > 0, "a closed ring");
}

/// One joint whose numbers overflow in every substep is put at rest; the others of its ring swing on.
#[test]
fn det_01_a_strand_that_overflows_does_not_put_its_ring_at_rest() {
    let mut rig = ring8(true, 0.15, soft());
    let bad = rig.swing[0].joint;
    rig.swing[0].mass = f32::INFINITY;
    let mut stage = Stage::new(&rig);
    let mut frames = Vec::new();
    for frame in 0..120 {
        frames.push(walk(&mut stage, frame));
        let health = stage.host.world.get::<PoseHealth>(stage.actor).unwrap();
        assert_eq!(health.invalid, [bad], "frame {frame}");
    }
    let moved = |frame: &Frame, swing: usize| frame.swings[swing].unwrap().particle;
    let others = (0..rig.swing.len()).filter(|&swing| !rig.is_below(rig.swing[swing].joint, bad));
    let swinging =
        others.filter(|&s| moved(&frames[60], s).distance(moved(&frames[119], s)) > 1e-3);
    assert!(swinging.count() >= 14, "the other strands swing");
}
