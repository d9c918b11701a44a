//! What a bone may look like, and how joints may be listed.

use bevy_math::{Quat, Vec3};
use flounce::plan::Plan;
use flounce::rig::Rig;
use flounce::swing::{SwingJoint, Tip};

use crate::support::chains::{
    BONE, Stage, angle, assert_close, assert_near, assert_same_bits, ball, chain, joint, rest_pose,
    rod3, soft, static_plane, turn,
};

#[test]
fn bone_01_a_joint_whose_child_sits_on_it_keeps_its_animated_rotation() {
    for offset in [0.0, 1e-9, -1e-9] {
        let mut rig = Rig::new(vec![
            joint(None, Vec3::Y),
            joint(Some(0), Vec3::new(0.0, offset, 0.0)),
            joint(Some(1), Vec3::new(0.1, 0.0, 0.0)),
        ]);
        rig.swing = (0..2).map(SwingJoint::new).collect();
        let mut stage = Stage::new(&rig);
        for frame in 0..120_u8 {
            let animated = turn(Vec3::Z, f32::from(frame));
            stage.pose().0[0].rotation = animated;
            let shown = stage.substep();
            assert_eq!(shown.local[0].rotation, animated, "frame {frame}");
            assert!(shown.swings[0].is_none() && shown.is_finite());
            let bone = shown.particle(1).distance(stage.model(1).0);
            assert_close(f64::from(bone), 0.1, 1e-6, "length of the child's bone");
        }
        assert!(
            angle(stage.frame().local[1].rotation, Quat::IDENTITY) > 0.05,
            "the child swings"
        );
    }
}

#[test]
fn bone_01_a_rig_of_one_point_stands_still() {
    let mut rig = Rig::new(vec![
        joint(None, Vec3::ZERO),
        joint(Some(0), Vec3::ZERO),
        joint(Some(1), Vec3::ZERO),
    ]);
    rig.swing = (0..3).map(SwingJoint::new).collect();
    let mut stage = Stage::new(&rig);
    for shown in stage.substeps(20) {
        assert_eq!(shown.local, rest_pose(&rig));
    }
}

#[test]
fn bone_03_a_bone_may_pass_over_a_joint() {
    let mut rig = Rig::new(vec![
        joint(None, Vec3::ZERO),
        joint(Some(0), Vec3::new(0.0, -0.1, 0.0)),
        joint(Some(1), Vec3::new(0.0, -0.1, 0.0)),
    ]);
    rig.joints[1].rest.rotation = turn(Vec3::X, 90.0);
    rig.swing = vec![SwingJoint {
        tip: Tip::Joint(2),
        ..SwingJoint::new(0)
    }];
    let plan = Plan::compile(&rig);
    let (axis, length) = (Vec3::from(plan.swings[0].axis), plan.swings[0].length);
    assert_close(f64::from(length), 0.141_421, 1e-6, "length");
    assert_near(axis * length, Vec3::new(0.0, -0.1, -0.1), 1e-6, "bone");

    let mut stage = Stage::new(&rig);
    for shown in stage.substeps(60) {
        assert_eq!(shown.local[1].rotation, rig.joints[1].rest.rotation);
    }
    assert!(
        angle(stage.frame().local[0].rotation, Quat::IDENTITY) > 0.01,
        "it swings"
    );
    assert_near(
        stage.model(2).0,
        stage.frame().particle(0),
        1e-6,
        "the tip is at the particle",
    );
}

#[test]
fn bone_10_the_order_of_the_list_is_not_the_order_of_the_tree() {
    let expected = Stage::new(&rod3()).substeps(120);
    for order in [[2, 1, 0], [0, 2, 1], [1, 2, 0]] {
        let mut rig = rod3();
        rig.swing = order.map(|i| rod3().swing[i]).to_vec();
        let mut found = Stage::new(&rig).substeps(120);
        for frame in &mut found {
            let swings = frame.swings.clone();
            for (place, &i) in order.iter().enumerate() {
                frame.swings[i] = swings[place];
            }
        }
        assert_same_bits(&found, &expected, &format!("listed as {order:?}"));
    }
}

/// Native rigs have no tail that nobody wrote: a leaf without one stays still. A virtual tail is an end node of the same
/// length. (The 7 cm of VRM 0.x belong to the work on VRM springs.)
#[test]
fn bone_02_a_leaf_has_the_tail_that_was_written_or_none() {
    let with_end = |tail: Option<Tip>| {
        let mut rig = chain(3, Vec3::X * BONE, soft());
        let end = rig.joints.pop().unwrap();
        if tail.is_none() {
            rig.joints.push(joint(end.parent, Vec3::X * 0.07));
        }
        rig.swing[2].tip = tail.unwrap_or_default();
        let mut stage = Stage::new(&rig);
        stage
            .substeps(120)
            .iter()
            .map(|frame| frame.local[..4].to_vec())
            .collect::<Vec<_>>()
    };
    let expected = with_end(None);
    let tail = Tip::Tail {
        axis: Vec3::X,
        length: 0.07,
    };
    for (frame, (found, expected)) in with_end(Some(tail)).iter().zip(&expected).enumerate() {
        for i in 1..4 {
            let off = angle(found[i].rotation, expected[i].rotation);
            assert!(off < 1e-5, "frame {frame}, joint {i}: {off:e} rad apart");
        }
    }
    assert!(
        angle(expected[119][3].rotation, Quat::IDENTITY) > 0.05,
        "the leaf swings"
    );
    for frame in with_end(Some(Tip::FirstChild)) {
        assert_eq!(frame[3].rotation, Quat::IDENTITY, "a leaf without an end");
        assert!(
            angle(frame[1].rotation, Quat::IDENTITY) > 0.0,
            "its parents swing"
        );
    }
}

/// A joint has one writer: its component. A second one in a list is passed over; files that say it are refused, see
/// [`crate::files`].
#[test]
fn bone_05_the_first_of_two_swing_joints_on_a_joint_counts() {
    let expected = Stage::new(&rod3()).substeps(60);
    for at in 1..4 {
        let mut rig = rod3();
        rig.swing.push(SwingJoint {
            stiffness: 5.0,
            mass: 3.0,
            ..SwingJoint::new(at)
        });
        let mut found = Stage::new(&rig).substeps(60);
        for frame in &mut found {
            frame.swings.truncate(3);
        }
        assert_same_bits(&found, &expected, &format!("joint {at} listed twice"));
    }
}

/// Parameters and collider of a swing joint belong to the bone that it turns: its ball is at the bone's end.
#[test]
fn bone_08_a_joints_ball_is_at_the_end_of_its_bone() {
    let heavy = SwingJoint {
        stiffness: 0.0,
        mass: 0.3,
        ..soft()
    };
    let radii = [0.01, 0.03, 0.06];
    let mut rig = chain(3, Vec3::new(0.14, -0.14, 0.0), heavy);
    for (swing, radius) in rig.swing.iter_mut().zip(radii) {
        swing.collider = Some(ball(radius));
    }
    rig.colliders.push(static_plane(Vec3::Y, 0.95));
    let mut stage = Stage::new(&rig);
    let frame = stage.substeps(900).pop().unwrap();
    for (i, radius) in radii.into_iter().enumerate() {
        let height = f64::from(frame.particle(i).y) - 0.95;
        // Metres: gravity pushes 2 mm into the plane per substep, the length gives a part of the push back.
        assert_close(
            height,
            f64::from(radius),
            2e-3,
            &format!("height of end {i}"),
        );
        let end = stage.model(i + 2).0;
        assert_near(
            end,
            frame.particle(i),
            1e-6,
            "the particle is the bone's end",
        );
    }
}
