//! Links between strands, masks, and colliders that come and go.

use bevy_math::{DVec3, Vec3};
use flounce::chain::{ChainLayer, ChainReadout};
use flounce::collider::{Collider, Mask, Shape, StaticCollider};
use flounce::profile::SwingProfile;
use flounce::rig::{Rig, RigParts};
use flounce::swing::{ActorProperties, SwingJoint};

use crate::support::chains::{
    BONE, Frame, Stage, assert_near, assert_same_bits, assert_turned, joint, rod3, soft,
    static_ball, stretch, weightless, with_balls,
};

/// Eight hanging chains of three bones of 0.2 m around +Y, joined at each height.
///
/// Strand k starts at an angle of k/8 of a turn; its joints are 1 + 4k to 4 + 4k, the last an end.
pub fn ring8(links: bool, smoothing: f32, swing: SwingJoint) -> Rig {
    let mut rig = Rig::new(vec![joint(None, Vec3::Y)]);
    for k in 0..8_u8 {
        let angle = f32::from(k) * core::f32::consts::TAU / 8.0;
        let (s, c) = bevy_math::ops::sin_cos(angle);
        let first = rig.joints.len();
        rig.joints
            .push(joint(Some(0), Vec3::new(0.3 * s, 0.0, 0.3 * c)));
        rig.joints
            .extend((0..3).map(|i| joint(Some(first + i), Vec3::NEG_Y * BONE)));
        rig.swing
            .extend((first..first + 3).map(|joint| SwingJoint { joint, ..swing }));
    }
    let layers = (2..5).map(|height| ChainLayer {
        joints: (0..8).map(|k| height + 4 * k).collect(),
        active: true,
        around: true,
        radius: 0.02,
        smoothing,
        mask: Mask::ALL,
    });
    rig.layers = if links { layers.collect() } else { Vec::new() };
    rig
}

/// A leg of radius 0.05 m that swings out between strands 0 and 1, 0.02 m per substep. Strands are thin: their own
/// balls have 0.02 m.
fn leg_between_strands(links: bool) -> (Vec<Frame>, Vec<u32>, Vec<f32>) {
    let mut rig = with_balls(ring8(links, 0.0, soft()), 0.02);
    rig.joints.push(joint(None, Vec3::ZERO));
    let leg = rig.joints.len() - 1;
    rig.colliders.push(StaticCollider {
        joint: Some(leg),
        collider: Collider {
            shape: Shape::Capsule {
                offset_a: Vec3::new(0.0, 1.2, 0.0),
                offset_b: Vec3::new(0.0, 0.2, 0.0),
                radius_a: 0.05,
                radius_b: 0.05,
            },
            mask: Mask::ALL,
        },
    });
    let mut stage = Stage::with(
        &rig,
        SwingProfile::default(),
        ActorProperties::default(),
        ChainReadout::default(),
    );
    stage.substeps(60);
    let (s, c) = bevy_math::ops::sin_cos(core::f32::consts::TAU / 16.0);
    let outward = Vec3::new(s, 0.0, c);
    let (mut frames, mut hits, mut reach) = (Vec::new(), Vec::new(), Vec::new());
    for frame in 0..=20_u8 {
        let far = 0.02 * f32::from(frame);
        stage.pose().0[leg].translation = outward * far;
        frames.push(stage.substep());
        let found = stage.host.world.get::<ChainReadout>(stage.actor).unwrap();
        // The two strands' lowest link, the first of its layer.
        hits.push(found.0.last().map_or(0, |layer| layer[0]));
        reach.push(far);
        let off = stretch(&stage, &rig);
        assert!(off < 1e-5, "frame {frame}: bones {off:e} longer");
    }
    (frames, hits, reach)
}

/// How far out the middle between the ends of strands 0 and 1 is, metres from the axis.
fn middle(frame: &Frame) -> f32 {
    let ends = (frame.particle(2) + frame.particle(5)) / 2.0;
    Vec3::new(ends.x, 0.0, ends.z).length()
}

#[test]
fn coll_14_a_leg_does_not_slip_between_two_strands_that_are_linked() {
    let (frames, hits, reach) = leg_between_strands(true);
    let met = hits
        .iter()
        .position(|&hits| hits > 0)
        .expect("the link is hit");
    // The gap's middle is 0.277 m from the axis: the leg's own axis is still inside when it touches.
    assert!(reach[met] < 0.277, "hit with the leg at {} m", reach[met]);
    for (index, frame) in frames.iter().enumerate() {
        let apart = middle(frame) - reach[index];
        // Metres: both radii, less what a push across the link loses to the bones' lengths.
        assert!(
            apart > 0.06 || index < met,
            "frame {index}: {apart} m outside of the leg"
        );
    }
    assert!(
        middle(&frames[20]) > 0.45,
        "carried out to {} m",
        middle(&frames[20])
    );
}

/// What the links are there for: strands 0.23 m apart let a leg of 0.1 m through.
#[test]
fn coll_14_without_links_the_leg_slips_through() {
    let (frames, _, reach) = leg_between_strands(false);
    assert!(
        middle(&frames[20]) < 0.29,
        "strands stay at {} m",
        middle(&frames[20])
    );
    assert!(reach[20] > 0.39, "the leg is outside");
}

/// `[X6]` Both ends move by the same vector across the link; then each keeps its own length.
#[test]
fn coll_14_a_link_is_pushed_sideways_as_a_whole() {
    let still = weightless(1);
    let mut rig = Rig::new(vec![joint(None, Vec3::ZERO)]);
    for x in [-0.1, 0.1] {
        let first = rig.joints.len();
        rig.joints.push(joint(Some(0), Vec3::new(x, 1.0, 0.0)));
        rig.joints.push(joint(Some(first), Vec3::NEG_Y));
        rig.swing.push(SwingJoint {
            joint: first,
            ..still
        });
    }
    rig.layers.push(ChainLayer {
        joints: vec![2, 4],
        active: true,
        around: false,
        radius: 0.02,
        smoothing: 0.0,
        mask: Mask::ALL,
    });
    // A ball that meets the link off its middle, and no strand.
    rig.colliders
        .push(static_ball(0, Vec3::new(0.05, 0.0, -0.06), 0.05));
    let mut stage = Stage::unsettled(&rig);
    stage.host.step(0.0).unwrap();
    let frame = stage.substep();
    for (i, x) in [(0, -0.1_f64), (1, 0.1)] {
        // 0.07 m between the axes, of which 0.06 m are there.
        let pushed = DVec3::new(0.0, -1.0, 0.01).normalize() + DVec3::new(x, 1.0, 0.0);
        assert_near(
            frame.particle(i),
            pushed.as_vec3(),
            1e-6,
            "an end of the link",
        );
    }
}

/// A mask has 32 bits by its type, so no shift can wrap: groups from 32 on are refused where they are written, see
/// [`crate::files`].
#[test]
fn coll_16_a_mask_has_32_groups_and_none_meets_another() {
    let alone = |bit: u32| Mask(1_u32.checked_shl(bit).unwrap());
    for a in 0..32 {
        for b in 0..32 {
            assert_eq!(alone(a).meets(alone(b)), a == b, "{a} and {b}");
        }
    }
    assert_eq!(Mask::ALL.0.count_ones(), 32);
}

/// Colliders belong to a rig: those of another character, shared or not, push nobody here.
#[test]
fn coll_18_characters_that_come_and_go_leave_no_colliders_behind() {
    let with_hand = |at: Vec3| {
        let mut rig = with_balls(rod3(), 0.02);
        rig.colliders.push(static_ball(0, at, 0.15));
        rig
    };
    // The other's hand is where our hair is; our own ball is elsewhere.
    let (ours, theirs) = (
        with_hand(Vec3::new(0.2, -0.4, 0.0)),
        with_hand(Vec3::new(0.3, -0.1, 0.0)),
    );
    let expected = Stage::new(&ours).substeps(300);
    let mut stage = Stage::new(&ours);
    let mut found = Vec::new();
    let mut guest = None;
    for frame in 0..300 {
        if [0, 200].contains(&frame) {
            let rig = stage.host.spawn_rig(&theirs);
            guest = Some((rig, stage.host.spawn_actor(rig, ())));
        }
        if let (100, Some((rig, actor))) = (frame, guest) {
            let parts = stage.host.world.get::<RigParts>(rig).unwrap().clone();
            for entity in parts.colliders.into_iter().chain([rig, actor]) {
                stage.host.world.despawn(entity);
            }
        }
        found.push(stage.substep());
    }
    assert_same_bits(&found, &expected, "beside another character");
}

#[test]
fn coll_18_a_collider_that_is_despawned_pushes_nobody_any_more() {
    let mut rig = with_balls(rod3(), 0.02);
    let free = Stage::new(&rig).substeps(1500).pop().unwrap();
    rig.colliders
        .push(static_ball(0, Vec3::new(0.25, -0.15, 0.0), 0.15));
    let mut stage = Stage::new(&rig);
    let pushed = stage.substeps(300).pop().unwrap();
    assert!(pushed.turned(&free) > 0.1, "the ball is in the way");
    let parts = stage.host.world.get::<RigParts>(stage.rig).unwrap().clone();
    stage.host.world.despawn(parts.colliders[0]);
    let settled = stage.substeps(1500).pop().unwrap();
    // Radians: two chains at rest.
    assert_turned(&settled, &free, 1e-4, "without the ball");
}
