//! Units, scaled and mirrored parents.

use bevy_math::{Quat, Vec3};
use flounce::collider::{Collider, Mask, PlacedShape, Shape, StaticCollider};
use flounce::plan::{DynamicPlan, Plan};
use flounce::rig::Rig;
use flounce::swing::Limit;

use crate::support::chains::{
    Frame, ROUNDING, Stage, angle, assert_near, assert_same_bits, assert_turned, ball, chain,
    rest_pose, rod3, soft, static_ball, turn, with_balls,
};

/// A chain with a ball to swing against, everything below the root in units of `unit` metres.
fn in_units(unit: f32) -> Rig {
    let mut rig = with_balls(rod3(), 0.02 / unit);
    for joint in &mut rig.joints[1..] {
        joint.rest.translation /= unit;
    }
    let at = Vec3::new(0.3, -0.25, 0.02) / unit;
    rig.colliders.push(static_ball(0, at, 0.12 / unit));
    rig
}

/// Five seconds of a body that turns and walks; lengths of the root joint in units of `unit` metres.
fn swung(rig: &Rig, unit: f32) -> Vec<Frame> {
    let mut stage = Stage::new(rig);
    let step = |frame: u16| {
        let time = f32::from(frame) / 60.0;
        let pose = &mut stage.pose().0[0];
        pose.rotation = turn(Vec3::Z, 30.0 * bevy_math::ops::sin(time * 3.0));
        pose.translation = Vec3::new(0.2 * bevy_math::ops::sin(time * 2.0), 1.0, 0.0) / unit;
        stage.substep()
    };
    (0..300).map(step).collect()
}

#[test]
fn scale_01_the_same_character_in_other_units_swings_alike() {
    let expected = swung(&in_units(1.0), 1.0);
    let hits = expected.iter().flat_map(|f| &f.swings).flatten();
    assert!(hits.map(|s| s.hits).sum::<u32>() > 0, "the ball is met");
    for unit in [0.01, 0.1, 8.0, 100.0] {
        let mut whole = in_units(unit);
        whole.joints[0].rest.translation /= unit;
        whole.metres_per_unit = unit;
        let mut scaled = in_units(unit);
        scaled.joints[0].rest.scale = Vec3::splat(unit);
        for (name, rig, root) in [
            ("metres_per_unit", whole, unit),
            ("scaled root", scaled, 1.0),
        ] {
            for (frame, (found, expected)) in swung(&rig, root).iter().zip(&expected).enumerate() {
                let what = format!("{name} {unit}, frame {frame}");
                assert_turned(found, expected, ROUNDING, &what);
            }
        }
    }
}

#[test]
fn scale_02_colliders_scale_with_their_joint() {
    let mut rig = rod3();
    rig.joints[0].rest.scale = Vec3::splat(0.5);
    rig.swing[0].collider = Some(ball(0.1));
    let capsule = Shape::Capsule {
        offset_a: Vec3::ZERO,
        offset_b: Vec3::Y,
        radius_a: 0.5,
        radius_b: 0.5,
    };
    let on_root = |shape| StaticCollider {
        joint: Some(0),
        collider: Collider {
            shape,
            mask: Mask::ALL,
        },
    };
    rig.colliders = vec![static_ball(0, Vec3::ZERO, 0.5), on_root(capsule)];
    let plan = Plan::compile(&rig);
    let expected = [
        PlacedShape::Sphere {
            offset: [0.0; 3],
            radius: 0.25,
        },
        PlacedShape::Capsule {
            offset: [[0.0; 3], [0.0, 0.5, 0.0]],
            radius: [0.25; 2],
        },
    ];
    assert_eq!([plan.statics[0].shape, plan.statics[1].shape], expected);
    let tip = DynamicPlan::Sphere {
        offset: [0.0; 3],
        radius: 0.05,
    };
    assert_eq!(plan.swings[0].collider, Some(tip));
}

#[test]
fn scale_04_a_chain_under_a_mirrored_parent_swings_in_the_mirror() {
    let limit = Limit {
        low: Vec3::new(-20.0, -5.0, -30.0),
        high: Vec3::new(20.0, 60.0, 10.0),
    };
    // A body that moves, a shoulder on it that may be mirrored, the chain below.
    let side = |mirror: f32| {
        let mut rig = with_balls(chain(3, Vec3::new(0.2, 0.0, 0.03), soft()), 0.02);
        rig.joints[1].rest.scale.x = mirror;
        rig.joints[1].rest.translation = Vec3::new(0.1 * mirror, 0.0, 0.0);
        rig.joints[2].rest.translation = Vec3::new(0.05, 0.0, 0.0);
        rig.swing.remove(0);
        for swing in &mut rig.swing {
            swing.limit = Some(limit);
        }
        rig.colliders
            .push(static_ball(1, Vec3::new(0.3, -0.12, 0.0), 0.1));
        rig
    };
    let run = |mirror: f32| {
        let mut stage = Stage::new(&side(mirror));
        let frame = |frame: u16| {
            let time = f32::from(frame) / 60.0;
            let (s, c) = bevy_math::ops::sin_cos(time * 4.0);
            let pose = &mut stage.pose().0[0];
            pose.translation = Vec3::new(0.3 * s * mirror, 1.0 + 0.1 * c, 0.2 * s);
            pose.rotation = turn(Vec3::Y, 50.0 * c * mirror) * turn(Vec3::X, 20.0 * s);
            let shown = stage.substep();
            let positions = (0..5).map(|joint| stage.model(joint).0).collect::<Vec<_>>();
            (shown, positions)
        };
        (0..300).map(frame).collect::<Vec<_>>()
    };
    let (right, left) = (run(1.0), run(-1.0));
    let hit = |(frame, _): &(Frame, _)| frame.swings.iter().flatten().any(|s| s.hits > 0);
    assert!(right.iter().any(hit), "the ball is met");
    for (index, ((r, at), (l, mirrored))) in right.iter().zip(&left).enumerate() {
        for (i, (at, found)) in at.iter().zip(mirrored).enumerate() {
            let expected = Vec3::new(-at.x, at.y, at.z);
            // Metres.
            assert_near(*found, expected, 1e-5, &format!("frame {index}, joint {i}"));
        }
        for i in 2..5 {
            let off = angle(r.local[i].rotation, l.local[i].rotation);
            assert!(
                off < 1e-4,
                "frame {index}, joint {i}: local rotations {off:e} rad apart"
            );
        }
    }
}

/// A rod whose root is scaled by `scale` at each frame, the rest of it at rest.
fn scaled_root(frames: u16, scale: impl Fn(u16) -> f32) -> Vec<Frame> {
    let mut stage = Stage::new(&with_balls(rod3(), 0.02));
    let frame = |frame: u16| {
        stage.pose().0[0].scale = Vec3::splat(scale(frame));
        let shown = stage.substep();
        assert!(shown.is_finite(), "frame {frame}");
        shown
    };
    (0..frames).map(frame).collect()
}

/// The model says nothing of it, this is ours: what is scaled to a point is held to the animation, and let go in the
/// second substep after its scale is back, without speed.
#[test]
fn scale_05_a_chain_that_is_scaled_to_a_point_is_held_and_comes_back_without_a_jump() {
    let rest = rest_pose(&rod3());
    for nothing in [0.0, 1e-30, -0.0] {
        let hidden = 60..120;
        let frames = scaled_root(240, |frame| {
            if hidden.contains(&frame) {
                nothing
            } else {
                1.0
            }
        });
        assert!(
            angle(frames[59].local[1].rotation, Quat::IDENTITY) > 0.1,
            "it swings"
        );
        for frame in &frames[60..121] {
            for (found, rest) in frame.local[1..].iter().zip(&rest[1..]) {
                let off = angle(found.rotation, rest.rotation);
                assert!(off < 1e-6, "held to the animation: {off:e} rad off");
            }
        }
        // Radians: mass · 0.01 · step on a bone of 0.2 m is 1.7e-3 in the first substep, and grows from there.
        let first = frames[121].turned(&frames[120]);
        assert!(first < 3e-3, "{first} rad in the first free substep");
        for pair in frames[121..].windows(2) {
            let turned = pair[1].turned(&pair[0]);
            assert!(turned < 0.05, "{turned} rad in one substep");
        }
        let settled = frames[239].turned(&frames[120]);
        assert!(settled > 0.1, "it swings again: {settled} rad");
    }
}

#[test]
fn scale_05_a_chain_that_shrinks_and_grows_is_finite_and_returns() {
    let frames = scaled_root(300, |frame| match frame {
        60..120 => f32::from(120 - frame) / 60.0,
        120..180 => f32::from(frame - 120) / 60.0,
        _ => 1.0,
    });
    let expected = scaled_root(300, |_| 1.0);
    assert_same_bits(&frames[..60], &expected[..60], "before");
    for pair in frames.windows(2) {
        let turned = pair[1].turned(&pair[0]);
        // Radians: the chain is put to its animated pose where it vanishes, which nobody sees.
        assert!(turned < 1.7, "{turned} rad in one substep");
    }
    let off = frames[299].turned(&expected[299]);
    assert!(
        off < 0.3,
        "two seconds later it hangs as ever: {off} rad apart"
    );
}

#[test]
fn scale_05_a_part_hidden_at_rest_stands_still() {
    let mut rig = rod3();
    rig.joints[0].rest.scale = Vec3::ZERO;
    rig.joints[1].rest.scale = Vec3::ZERO;
    let mut stage = Stage::new(&rig);
    for frame in stage.substeps(60) {
        assert_eq!(frame.local, rest_pose(&rig));
        assert!(frame.swings.iter().all(Option::is_none), "passive");
    }
    // Shown by the animation: its bones had no length when it was built, so they stay passive.
    stage.pose().0[0].scale = Vec3::ONE;
    stage.pose().0[1].scale = Vec3::ONE;
    for frame in stage.substeps(60) {
        assert!(frame.is_finite());
    }
}
