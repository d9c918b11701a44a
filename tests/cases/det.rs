//! What is broken stays where it is.

use bevy_math::{Quat, Vec3};
use flounce::collider::StaticCollider;
use flounce::pose::{AnimatedPose, PoseHealth};
use flounce::profile::SwingProfile;
use flounce::rig::Rig;
use flounce::swing::{ActorProperties, Limit, Motion, SwingJoint, SwingReadout};
use flounce::systems::motion::WorldFromActor;
use flounce::wind::{Gust, Wind};

use crate::coll_links::ring8;
use crate::support::chains::{
    BONE, Frame, Stage, assert_same_bits, assert_turned, chain, joint, rest_pose, rod3, soft,
    static_ball, stick3, turn, with_balls,
};

/// Two chains on one body: swing joints 1 to 3 with global force, and 6 to 8 without; the first meets a ball.
fn two_chains() -> Rig {
    let swing = SwingJoint {
        stiffness: 0.5,
        mass: 0.5,
        ..soft()
    };
    let mut rig = with_balls(chain(3, Vec3::X * BONE, swing), 0.02);
    rig.joints.push(joint(Some(0), Vec3::ZERO));
    for above in 5..8 {
        rig.joints.push(joint(Some(above), Vec3::NEG_X * BONE));
    }
    rig.swing.extend((5..8).map(|joint| SwingJoint {
        joint,
        use_wind_global_force: false,
        ..swing
    }));
    rig.colliders
        .push(static_ball(0, Vec3::new(0.3, -0.2, 0.0), 0.1));
    rig
}

/// One wrong number, put in for one frame.
type Fault = fn(&mut Stage, bool);

fn collider_radius(stage: &mut Stage, wrong: bool) {
    let world = &mut stage.host.world;
    let mut colliders = world.query::<&mut StaticCollider>();
    let mut collider = colliders.single_mut(world).unwrap();
    let radius = if wrong { f32::NAN } else { 0.1 };
    *collider = static_ball(0, Vec3::new(0.3, -0.2, 0.0), radius);
}

fn with_properties(stage: &mut Stage, edit: impl FnOnce(&mut ActorProperties)) {
    let mut properties = ActorProperties::default();
    edit(&mut properties);
    let actor = stage.actor;
    stage.host.world.entity_mut(actor).insert(properties);
}

const NAN: f32 = f32::NAN;

/// Faults of the first chain, or of what only it feels.
const OF_ONE_CHAIN: [(&str, Fault); 6] = [
    ("an animated rotation", |stage, wrong| {
        let value = if wrong {
            Quat::from_xyzw(NAN, 0.0, 0.0, 1.0)
        } else {
            Quat::IDENTITY
        };
        stage.pose().0[2].rotation = value;
    }),
    ("a rotation of length 0", |stage, wrong| {
        let value = if wrong {
            Quat::from_xyzw(0.0, 0.0, 0.0, 0.0)
        } else {
            Quat::IDENTITY
        };
        stage.pose().0[1].rotation = value;
    }),
    ("an animated translation", |stage, wrong| {
        stage.pose().0[2].translation.x = if wrong { f32::INFINITY } else { BONE };
    }),
    ("an animated scale", |stage, wrong| {
        stage.pose().0[3].scale.y = if wrong { f32::NEG_INFINITY } else { 1.0 };
    }),
    ("a collider's radius", collider_radius),
    ("the global force", |stage, wrong| {
        with_properties(stage, |p| p.global_force.z = if wrong { NAN } else { 0.0 });
    }),
];

/// Faults that the whole actor feels.
const OF_THE_ACTOR: [(&str, Fault); 6] = [
    ("the root's translation", |stage, wrong| {
        stage.pose().0[0].translation.y = if wrong { NAN } else { 1.0 };
    }),
    ("gravity", |stage, wrong| {
        with_properties(stage, |p| {
            p.gravity.y = if wrong { f32::NEG_INFINITY } else { -1.0 }
        });
    }),
    ("the weight", |stage, wrong| {
        with_properties(stage, |p| p.weight = if wrong { NAN } else { 1.0 });
    }),
    ("the swing power", |stage, wrong| {
        with_properties(stage, |p| p.swing_power = if wrong { NAN } else { 1.0 });
    }),
    ("a root weight", |stage, wrong| {
        with_properties(stage, |p| {
            p.root_vertical_weight = if wrong { NAN } else { 1.0 }
        });
    }),
    ("the placement", |stage, wrong| {
        let rotation = if wrong {
            Quat::from_xyzw(0.0, NAN, 0.0, 1.0)
        } else {
            Quat::IDENTITY
        };
        let actor = stage.actor;
        stage
            .host
            .world
            .entity_mut(actor)
            .insert(WorldFromActor::turned(rotation));
    }),
];

/// Fifty frames, one with the fault, 700 without; every frame of the actor and of its neighbour.
fn run_with(fault: Option<Fault>) -> (Vec<Frame>, Vec<Frame>, Vec<PoseHealth>) {
    let mut stage = Stage::new(&two_chains());
    let (rig, outputs) = (stage.rig, SwingReadout::default());
    let neighbour = stage.host.spawn_actor(rig, outputs);
    let (mut own, mut other, mut health) = (Vec::new(), Vec::new(), Vec::new());
    for frame in 0..751 {
        if let (Some(fault), 50 | 51) = (fault, frame) {
            fault(&mut stage, frame == 50);
        }
        own.push(stage.substep());
        other.push(Frame::of(&stage.host.world, neighbour));
        health.push(
            stage
                .host
                .world
                .get::<PoseHealth>(stage.actor)
                .unwrap()
                .clone(),
        );
    }
    (own, other, health)
}

#[track_caller]
fn assert_contained(name: &str, found: &[Frame], clean: &[Frame]) {
    for (index, frame) in found.iter().enumerate() {
        assert!(frame.is_finite(), "{name}: frame {index} is not finite");
    }
    assert_same_bits(&found[..50], &clean[..50], "before");
    // Radians: both hang still by now.
    assert_turned(
        &found[750],
        &clean[750],
        1e-3,
        &format!("{name}: 700 frames later"),
    );
}

#[test]
fn det_01_one_wrong_number_stays_in_its_chain_and_its_frame() {
    let (clean, clean_neighbour, _) = run_with(None);
    for (name, fault) in OF_ONE_CHAIN {
        let (found, neighbour, health) = run_with(Some(fault));
        assert_contained(name, &found, &clean);
        if name != "a collider's radius" {
            assert_same_bits(
                &neighbour,
                &clean_neighbour,
                &format!("{name}: another actor"),
            );
            assert!(!health[50].invalid.is_empty(), "{name}: reported");
            assert!(
                health[51].invalid.is_empty(),
                "{name}: over in the next frame"
            );
        }
        let second_chain = |frames: &[Frame]| -> Vec<Frame> {
            let one = |frame: &Frame| Frame {
                local: frame.local[5..].to_vec(),
                swings: frame.swings[3..].to_vec(),
            };
            frames.iter().map(one).collect()
        };
        let (found, clean) = (second_chain(&found), second_chain(&clean));
        assert_same_bits(&found, &clean, &format!("{name}: the other chain"));
    }
}

#[test]
fn det_01_one_wrong_number_of_an_actor_stays_with_it() {
    let (clean, clean_neighbour, _) = run_with(None);
    for (name, fault) in OF_THE_ACTOR {
        let (found, neighbour, _) = run_with(Some(fault));
        assert_contained(name, &found, &clean);
        assert_same_bits(
            &neighbour,
            &clean_neighbour,
            &format!("{name}: another actor"),
        );
    }
}

#[test]
fn det_01_a_joint_is_named_once() {
    let mut stage = Stage::new(&stick3());
    for _ in 0..3 {
        stage.pose().0[2].rotation = Quat::from_xyzw(NAN, NAN, NAN, NAN);
        stage.substep();
        let health = stage.host.world.get::<PoseHealth>(stage.actor).unwrap();
        assert_eq!(
            (&health.invalid[..], &health.reported[..]),
            (&[2][..], &[2][..])
        );
        *stage.pose() = AnimatedPose(rest_pose(&stick3()));
        stage.substep();
        let health = stage.host.world.get::<PoseHealth>(stage.actor).unwrap();
        assert_eq!(
            (&health.invalid[..], &health.reported[..]),
            (&[][..], &[2][..])
        );
    }
}

/// `[V8]` A joint far outside of what f32 can compose has no particle for a while; its parent, which feels the speed of
/// its child, does not notice.
#[test]
fn det_01_a_particle_that_overflows_does_not_reach_its_parent() {
    let mut rig = rod3();
    for swing in &mut rig.swing {
        swing.spring = 0.5;
    }
    let mut stage = Stage::new(&rig);
    for frame in 0..60 {
        let far = if frame == 20 {
            Vec3::MAX
        } else {
            Vec3::X * BONE
        };
        stage.pose().0[2].translation = far;
        stage.pose().0[1].rotation = turn(Vec3::Z, 30.0) * turn(Vec3::Y, 40.0);
        assert!(stage.substep().local.iter().all(|joint| joint.is_finite()));
        let health = stage.host.world.get::<PoseHealth>(stage.actor).unwrap();
        assert!(
            !health.invalid.contains(&1),
            "frame {frame}: the parent was put at rest"
        );
        assert!(frame != 20 || health.invalid.contains(&2), "it overflows");
    }
}

/// FNV-1a over the bits of every frame.
fn hash(frames: &[Frame]) -> u64 {
    let bits = frames.iter().flat_map(Frame::bits);
    bits.fold(0xcbf2_9ce4_8422_2325, |hash, bits| {
        (hash ^ u64::from(bits)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// One number for every processor, optimisation and thread count `[R1]`: whoever runs this somewhere else compares with
/// what x86-64 wrote. A change of results changes it, and says so.
#[test]
fn det_02_ten_seconds_of_everything_have_the_same_bits_on_every_machine() {
    let strand = SwingJoint {
        wind: 0.8,
        spring: 0.2,
        pendulum: 0.05,
        pendulum_range: 0.01,
        limit: Some(Limit {
            low: Vec3::new(-60.0, -50.0, -40.0),
            high: Vec3::new(70.0, 80.0, 30.0),
        }),
        ..soft()
    };
    let mut rig = with_balls(ring8(true, 0.15, strand), 0.02);
    rig.root_correction = Some(0);
    rig.colliders
        .push(static_ball(0, Vec3::new(0.0, -0.3, 0.05), 0.22));
    let slide = rig.joints.len();
    rig.joints.push(joint(Some(0), Vec3::Z * 0.1));
    rig.swing.push(SwingJoint {
        motion: Motion::Slide,
        ..SwingJoint::new(slide)
    });
    let wind = Wind {
        power: 0.01,
        frequency: 2.0,
        gusts: vec![Gust {
            amplitude: 0.004,
            frequency: 0.6,
            phase: 0.1,
        }],
        ..Wind::default()
    };
    let properties = ActorProperties {
        root_horizontal_weight: 0.7,
        ..ActorProperties::default()
    };
    let mut stage = Stage::with(&rig, SwingProfile::default(), properties, wind);
    // Not the platform's own sine: the input has to have the same bits as well.
    let turned = |axis: Vec3, radians: f32| {
        let (s, c) = bevy_math::ops::sin_cos(radians / 2.0);
        Quat::from_xyzw(axis.x * s, axis.y * s, axis.z * s, c)
    };
    let frame = |frame: u16| {
        let (s, c) = bevy_math::ops::sin_cos(f32::from(frame) * 0.05);
        stage.pose().0[0].rotation = turned(Vec3::Y, 0.7 * s);
        stage.pose().0[1].rotation = turned(Vec3::X, 0.4 * c);
        stage.pose().0[0].translation = Vec3::new(0.2 * s, 1.0 + 0.05 * c, 0.0);
        let placed = WorldFromActor {
            translation: Vec3::new(s, 0.0, 0.3 * c),
            rotation: turned(Vec3::Y, 0.4 * c),
        };
        stage.host.world.entity_mut(stage.actor).insert(placed);
        stage.substep()
    };
    let frames: Vec<Frame> = (0..600).map(frame).collect();
    assert!(frames.iter().all(Frame::is_finite));
    assert_eq!(format!("{:016x}", hash(&frames)), "bcfb997907463929");
}
