//! Gravity and wind belong to the world.

use bevy_math::{DVec3, Quat, Vec3};
use flounce::profile::SwingProfile;
use flounce::rig::Rig;
use flounce::substep::FIXED_STEP;
use flounce::swing::{ActorProperties, SwingJoint, SwingReadout};
use flounce::systems::motion::WorldFromActor;
use flounce::systems::plugin::Headless;
use flounce::systems::substeps::Workers;
use flounce::wind::{Gust, Octave, Wind, WindForm};

use crate::support::chains::{
    BONE, Frame, ROUNDING, Stage, angle_of, assert_near, assert_same_bits, assert_turned, chain,
    rod3, soft, step, stretch, turn,
};

#[test]
fn space_01_gravity_stays_with_the_world() {
    let heavy = SwingJoint {
        stiffness: 0.0,
        mass: 1.0,
        ..soft()
    };
    for rotation in [
        turn(Vec3::X, 90.0),
        turn(Vec3::Z, -50.0) * turn(Vec3::X, 120.0),
    ] {
        let placed = WorldFromActor::turned(rotation);
        let rig = chain(3, Vec3::X * BONE, heavy);
        let mut stage = Stage::with(
            &rig,
            SwingProfile::default(),
            ActorProperties::default(),
            placed,
        );
        stage.substeps(900);
        assert_hangs(&stage, rotation);
    }
}

/// The three bones of a chain hang along the world's plumb line, seen from an actor that is turned by `rotation`.
fn assert_hangs(stage: &Stage, rotation: Quat) {
    let frame = stage.frame();
    for i in 0..3 {
        let hanging = rotation * (frame.particle(i) - stage.model(i + 1).0);
        let off = angle_of(hanging, Vec3::NEG_Y);
        assert!(
            off < 1e-4,
            "bone {i}: {off:e} rad off the world's plumb line"
        );
    }
}

#[test]
fn space_03_gravity_is_a_hundredth_of_the_mass_times_the_step() {
    for mass in [0.0_f32, 0.05, 0.5, 1.0] {
        let bone = SwingJoint {
            stiffness: 0.0,
            mass,
            ..soft()
        };
        let mut stage = Stage::unsettled(&chain(1, Vec3::X * BONE, bone));
        stage.host.step(0.0).unwrap();
        let found = stage.substep().particle(0);
        let fall = f64::from(mass) * 0.01 * step();
        let expected = DVec3::new(f64::from(BONE), -fall, 0.0).normalize() * f64::from(BONE);
        assert_near(
            found,
            (expected + DVec3::Y).as_vec3(),
            1e-7,
            "after one substep",
        );
    }
}

/// Static colliders belong to the actor `[X1]`: one that is fixed in the world has no counterpart here. What the
/// actor's own turn changes is inertia only: whatever it did on the way, in the end the chain hangs in the world.
#[test]
fn space_01_an_actor_that_turned_hangs_along_the_worlds_gravity() {
    let heavy = SwingJoint {
        stiffness: 0.0,
        mass: 1.0,
        ..soft()
    };
    let rig = chain(3, Vec3::X * BONE, heavy);
    let mut stage = Stage::new(&rig);
    for frame in 0..900_u16 {
        let pitch = f32::from(frame.min(180)) * 0.5;
        let placed = WorldFromActor::turned(turn(Vec3::X, pitch) * turn(Vec3::Y, 2.0 * pitch));
        stage.host.world.entity_mut(stage.actor).insert(placed);
        stage.substep();
    }
    let rotation = turn(Vec3::X, 90.0) * turn(Vec3::Y, 180.0);
    assert_hangs(&stage, rotation);
}

#[test]
fn space_01_wind_and_global_force_blow_from_the_same_side_of_the_world() {
    let rotation = turn(Vec3::X, 40.0) * turn(Vec3::Y, -110.0);
    let blown = |rotation: Quat, turned_back: Quat| {
        let mut rig = rod3();
        for swing in &mut rig.swing {
            swing.wind = 1.0;
        }
        let properties = ActorProperties {
            gravity: turned_back * Vec3::NEG_Y,
            global_force: turned_back * Vec3::new(0.004, 0.0, 0.002),
            ..ActorProperties::default()
        };
        let wind = Wind {
            direction: turned_back * Vec3::Z,
            gusts: vec![Gust {
                amplitude: 0.005,
                frequency: 0.7,
                phase: 0.1,
            }],
            ..Wind::default()
        };
        let placed = WorldFromActor::turned(rotation);
        let extra = (wind, placed);
        Stage::with(&rig, SwingProfile::default(), properties, extra).substeps(240)
    };
    // An actor that is turned, and one that is not in a world that is turned the other way.
    let found = blown(rotation, Quat::IDENTITY);
    let expected = blown(Quat::IDENTITY, rotation.inverse());
    for (index, (found, expected)) in found.iter().zip(&expected).enumerate() {
        assert_turned(found, expected, ROUNDING, &format!("frame {index}"));
    }
    assert!(found[239].turned(&found[120]) > 0.02, "the gust is felt");
}

/// A breeze with everything it can have.
fn breeze(form: WindForm) -> Wind {
    Wind {
        direction: Vec3::new(0.8, 0.0, 0.6),
        power: 0.01,
        frequency: 1.3,
        octave: Some(Octave {
            power: 0.004,
            frequency: 4.1,
        }),
        gusts: vec![
            Gust {
                amplitude: 0.003,
                frequency: 0.5,
                phase: 0.25,
            },
            Gust {
                amplitude: 0.002,
                frequency: 1.7,
                phase: 0.0,
            },
        ],
        form,
        seed: 11,
    }
}

fn in_wind() -> Rig {
    let mut rig = rod3();
    for swing in &mut rig.swing {
        swing.wind = 1.0;
    }
    rig
}

/// Wind is asked at each substep's own time `[W1]`: whatever the frame rate, the same substeps are the same bits.
#[test]
fn space_04_wind_does_not_know_the_frame_rate() {
    for form in [WindForm::Advected(1.5), WindForm::Documented] {
        let at_rate = |rate: u32| -> Vec<Frame> {
            let properties = ActorProperties::default();
            let wind = breeze(form);
            let mut stage = Stage::with(&in_wind(), SwingProfile::default(), properties, wind);
            stage.host.run_to(0.0).unwrap();
            let mut common = Vec::new();
            for frame in 1..=rate * 10 {
                let time = f64::from(frame) / f64::from(rate);
                stage.host.run_to(time).unwrap();
                // Every half second all rates end a frame.
                if frame * 2 % rate == 0 {
                    common.push(stage.frame());
                }
            }
            common
        };
        let expected = at_rate(60);
        let still = Stage::new(&in_wind()).substeps(600).pop().unwrap();
        assert!(expected[19].turned(&still) > 0.02, "the wind is felt");
        assert!(expected[19].turned(&expected[18]) > 1e-3, "it changes");
        for rate in [24, 30, 60, 120, 144] {
            let what = format!("{form:?} at {rate} Hz");
            assert_same_bits(&at_rate(rate), &expected, &what);
        }
    }
}

/// No state, no shared source of chance: neighbours, their order and threads change no bit; another seed does.
#[test]
fn space_04_wind_is_the_same_for_everybody_who_asks() {
    let run = |before: usize, after: usize, workers: Workers, seed: u32| {
        let mut host = Headless::new();
        host.world.insert_resource(workers);
        let rig = host.spawn_rig(&in_wind());
        let wind = || Wind {
            seed,
            ..breeze(WindForm::Advected(1.5))
        };
        for _ in 0..before {
            host.spawn_actor(rig, wind());
        }
        let actor = host.spawn_actor(rig, (wind(), SwingReadout::default()));
        for _ in 0..after {
            host.spawn_actor(rig, (wind(), WorldFromActor::turned(turn(Vec3::Y, 30.0))));
        }
        let mut frames = Vec::new();
        for _ in 0..120 {
            host.step(FIXED_STEP).unwrap();
            frames.push(Frame::of(&host.world, actor));
        }
        frames
    };
    let alone = run(0, 0, Workers::One, 11);
    assert_same_bits(&run(0, 0, Workers::One, 11), &alone, "a second time");
    assert_same_bits(&run(400, 3, Workers::Pool, 11), &alone, "in a crowd");
    assert_same_bits(&run(3, 400, Workers::Pool, 11), &alone, "spawned first");
    let other = run(0, 0, Workers::One, 12);
    assert!(
        other[119].turned(&alone[119]) > 1e-4,
        "another seed is another wind"
    );
}

/// Native rigs have no centre node; the joint whose motion `[S1]` shares out takes its part. It may be any joint, also
/// one of the chain itself: its animated place counts, so nothing goes round in a circle.
#[test]
fn space_09_the_root_correction_may_be_a_joint_of_the_chain_itself() {
    for at in [0, 1, 2, 4] {
        let mut rig = rod3();
        rig.root_correction = Some(at);
        for swing in &mut rig.swing {
            swing.root_horizontal_weight = 0.5;
        }
        let run = || {
            let mut stage = Stage::new(&rig);
            let frame = |frame: u16| {
                let along = bevy_math::ops::sin(f32::from(frame) * 0.05);
                stage.pose().0[0].translation.x = along;
                let shown = stage.substep();
                assert!(shown.is_finite());
                let off = stretch(&stage, &rig);
                assert!(off < 1e-5, "bones are {off:e} longer");
                shown
            };
            (0..300).map(frame).collect::<Vec<_>>()
        };
        assert_same_bits(&run(), &run(), "a second time");
    }
    let mut rig = rod3();
    rig.root_correction = Some(99);
    assert!(rig.check().is_err(), "an index out of range is refused");
}
