//! Single contacts: shapes, lengths, masks.

use bevy_math::Vec3;
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::rig::Rig;
use flounce::swing::{SwingJoint, Tip};

use crate::support::chains::{
    BONE, Frame, Stage, assert_near, assert_same_bits, ball, chain, joint, rod3, soft, static_ball,
    static_plane, stretch, weightless, with_balls,
};

/// A bone of 1 m that hangs from `tip + (0, 0, 1)` with its end at `tip`: what pushes the end sideways by little moves
/// it almost freely. Nothing else moves it.
fn probe(tip: Vec3, radius: f32, colliders: &[StaticCollider]) -> Rig {
    let mut rig = Rig::new(vec![joint(None, Vec3::ZERO), joint(Some(0), tip + Vec3::Z)]);
    rig.swing = vec![SwingJoint {
        tip: Tip::Tail {
            axis: Vec3::NEG_Z,
            length: 1.0,
        },
        collider: Some(ball(radius)),
        ..weightless(1)
    }];
    rig.colliders = colliders.to_vec();
    rig
}

/// Where the first substep leaves the end of [`probe`], and how many hits it counted.
fn probed(tip: Vec3, radius: f32, colliders: &[StaticCollider]) -> (Vec3, u32) {
    let mut stage = Stage::unsettled(&probe(tip, radius, colliders));
    stage.host.step(0.0).unwrap();
    let result = stage.substep().swings[0].unwrap();
    (result.particle, result.hits)
}

/// `target` at a bone's length of 1 m from the probe's joint.
fn at_length(tip: Vec3, target: Vec3) -> Vec3 {
    let anchor = (tip + Vec3::Z).as_dvec3();
    (anchor + (target.as_dvec3() - anchor).normalize()).as_vec3()
}

fn capsule(offset_b: Vec3) -> StaticCollider {
    let shape = Shape::Capsule {
        offset_a: Vec3::ZERO,
        offset_b,
        radius_a: 0.2,
        radius_b: 0.1,
    };
    StaticCollider {
        joint: Some(0),
        collider: Collider {
            shape,
            mask: Mask::ALL,
        },
    }
}

#[test]
fn coll_01_a_capsule_ends_where_it_is_drawn() {
    let capsule = [capsule(Vec3::Y)];
    for tip in [Vec3::new(0.0, 1.25, 0.0), Vec3::new(0.19, -0.2, 0.0)] {
        let (found, hits) = probed(tip, 0.02, &capsule);
        assert_eq!(hits, 0, "at {tip}");
        assert_near(found, tip, 1e-6, "missed");
    }
    let hits = [
        (
            Vec3::new(0.1, 1.05, 0.0),
            Vec3::new(0.107_331, 1.053_666, 0.0),
        ),
        (Vec3::new(0.12, 0.5, 0.0), Vec3::new(0.17, 0.5, 0.0)),
    ];
    for (tip, target) in hits {
        let (found, hits) = probed(tip, 0.02, &capsule);
        assert_eq!(hits, 1, "at {tip}");
        assert_near(found, at_length(tip, target), 2e-6, "pushed");
    }
}

#[test]
fn coll_03_a_capsule_of_no_length_is_its_first_ball() {
    for offset in [Vec3::ZERO, Vec3::Y * 1e-8, Vec3::Z * -1e-8] {
        let capsule = [capsule(offset)];
        for (tip, target) in [
            (Vec3::new(0.05, 0.0, 0.0), Vec3::new(0.2, 0.0, 0.0)),
            (Vec3::ZERO, Vec3::new(0.0, 0.2, 0.0)),
        ] {
            let (found, hits) = probed(tip, 0.0, &capsule);
            assert_eq!(hits, 1);
            assert_near(
                found,
                at_length(tip, target),
                1e-6,
                &format!("{offset} from {tip}"),
            );
        }
    }
}

#[test]
fn coll_04_a_tip_on_the_centre_is_pushed_out_the_same_way_every_time() {
    let axis = StaticCollider {
        collider: Collider {
            shape: Shape::Capsule {
                offset_a: Vec3::new(BONE, 0.0, -0.2),
                offset_b: Vec3::new(BONE, 0.0, 0.2),
                radius_a: 0.05,
                radius_b: 0.05,
            },
            mask: Mask::ALL,
        },
        joint: Some(0),
    };
    for obstacle in [static_ball(0, Vec3::X * BONE, 0.05), axis] {
        let mut rig = with_balls(chain(1, Vec3::X * BONE, weightless(1)), 0.02);
        rig.colliders.push(obstacle);
        let run = || {
            let mut stage = Stage::unsettled(&rig);
            let frames = stage.substeps(12);
            assert!(stretch(&stage, &rig) < 1e-5);
            frames
        };
        let frames = run();
        assert_same_bits(&run(), &frames, "a second time");
        assert!(frames.iter().all(Frame::is_finite));
        let tip = frames[11].particle(0);
        assert!(tip.y > 1.0, "the fallback normal is +Y: {tip}");
        let away = f64::from(tip.distance(Vec3::new(BONE, 1.0, 0.0)));
        assert!(
            away > 0.07 - 1e-4,
            "{away} m from the centre; the radii add up to 0.07"
        );
    }
}

#[test]
fn coll_04_a_ball_may_pass_through_the_tip() {
    let mut rig = with_balls(rod3(), 0.02);
    rig.joints.push(joint(None, Vec3::ZERO));
    let on = rig.joints.len() - 1;
    rig.colliders.push(static_ball(on, Vec3::ZERO, 0.1));
    for direction in [Vec3::X, Vec3::Y, Vec3::new(0.6, 0.8, 0.0), Vec3::NEG_X] {
        let mut stage = Stage::new(&rig);
        for frame in 0..400_u16 {
            let along = f32::from(frame) * 0.001 - 0.2;
            stage.pose().0[on].translation = Vec3::new(2.0 * BONE, 1.0, 0.0) + direction * along;
            assert!(stage.substep().is_finite());
            let off = stretch(&stage, &rig);
            assert!(
                off < 1e-5,
                "frame {frame} along {direction}: bones {off:e} longer"
            );
        }
    }
}

#[test]
fn coll_05_a_push_never_stretches_a_bone() {
    let mut rig = with_balls(rod3(), 0.02);
    rig.joints.push(joint(None, Vec3::ZERO));
    let on = rig.joints.len() - 1;
    rig.colliders = vec![
        static_ball(on, Vec3::ZERO, 0.15),
        static_ball(on, Vec3::new(0.1, 0.0, 0.0), 0.15),
        static_ball(on, Vec3::new(0.0, 0.1, 0.05), 0.15),
    ];
    for count in [1, 3] {
        let mut rig = rig.clone();
        rig.colliders.truncate(count);
        let mut stage = Stage::new(&rig);
        let mut hits = 0;
        for frame in 0..600_u16 {
            let time = f32::from(frame) / 60.0;
            let (s, c) = bevy_math::ops::sin_cos(time * 2.3);
            let (high, far) = bevy_math::ops::sin_cos(time * 0.7);
            let around = Vec3::new(0.3 + 0.25 * c, 1.0 + 0.25 * s * far, 0.25 * s * high);
            stage.pose().0[on].translation = around;
            let shown = stage.substep();
            hits += shown.swings.iter().flatten().map(|s| s.hits).sum::<u32>();
            let off = stretch(&stage, &rig);
            assert!(
                off < 1e-5,
                "frame {frame}, {count} balls: bones {off:e} longer"
            );
            for swing in &rig.swing {
                let (shown, rest) = (shown.local[swing.joint], rig.joints[swing.joint].rest);
                assert_eq!(shown.translation.to_array(), rest.translation.to_array());
            }
        }
        assert!(hits > 100, "{hits} hits");
    }
}

#[test]
fn coll_11_the_second_plane_sees_what_the_first_one_did() {
    let planes = [static_plane(Vec3::X, 0.0), static_plane(Vec3::Y, 0.0)];
    let tip = Vec3::new(-0.1, -0.1, 0.0);
    for order in [[0, 1], [1, 0]] {
        let (found, hits) = probed(tip, 0.0, &order.map(|i| planes[i]));
        assert_eq!(hits, 2);
        let mut expected = tip;
        for i in order {
            expected[i] = 0.0;
            expected = at_length(tip, expected);
        }
        assert_near(found, expected, 1e-6, "in the corner");
        // The length gives back a share z of each push: what is left outside is of second order.
        assert!(found.x > -1e-3 && found.y > -1e-3, "{found}");
    }

    let (found, hits) = probed(
        Vec3::new(0.3, 0.02, 0.0),
        0.05,
        &[static_plane(Vec3::Y, 0.0)],
    );
    let expected = at_length(Vec3::new(0.3, 0.02, 0.0), Vec3::new(0.3, 0.05, 0.0));
    assert_near(found, expected, 1e-6, "on one plane");
    assert_eq!(hits, 1);
}

#[test]
fn coll_11_a_bone_in_a_corner_keeps_its_length() {
    let mut rig = with_balls(chain(1, Vec3::new(-0.6, -0.8, 0.0), soft()), 0.0);
    rig.colliders = vec![static_plane(Vec3::X, 0.0), static_plane(Vec3::Y, 0.0)];
    let mut stage = Stage::new(&rig);
    stage.substeps(300);
    assert!(stretch(&stage, &rig) < 1e-5);
    let tip = stage.frame().particle(0);
    // Metres: the bone is exactly as long as the corner is far away.
    assert!(tip.x > -1e-3 && tip.y > -1e-3, "{tip} is outside");
}

#[test]
fn coll_16_groups_that_share_no_bit_do_not_meet() {
    let with_mask = |mask: Option<Mask>| {
        let mut rig = with_balls(rod3(), 0.02);
        for swing in &mut rig.swing {
            swing.collider.as_mut().unwrap().mask = Mask(1);
        }
        if let Some(mask) = mask {
            let mut obstacle = static_ball(0, Vec3::new(0.3, -0.05, 0.0), 0.2);
            obstacle.collider.mask = mask;
            rig.colliders.push(obstacle);
        }
        Stage::new(&rig).substeps(30)
    };
    let free = with_mask(None);
    for mask in [Mask(0), Mask(2), Mask(1 << 31), Mask(!1)] {
        assert_same_bits(&with_mask(Some(mask)), &free, &format!("{mask:?}"));
    }
    assert!(
        with_mask(Some(Mask(1)))[29].turned(&free[29]) > 0.01,
        "group 0 meets"
    );
}
