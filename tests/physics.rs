//! Claim: chains move as closed forms say.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use bevy_math::Vec3;
use flounce::profile::SwingProfile;
use flounce::swing::{ActorProperties, SwingJoint};
use support::chains::{
    BONE, Stage, angle_of, assert_close, assert_near, chain, soft, step, turn, unsettled,
};

/// ```text
/// Along the arc, for small angles, a substep is      u' = ρ·((1 + κ)·u − κ·u₋₁)
/// with κ = (1 − damping)²·step·power, the speed kept `[S7]`, and ρ = L/(L + mass·0.01·step·power), which is what
/// restoring the bone length makes of gravity `[S8]`. Its roots are √(ρκ)·e^(±iω):
///     cos ω = √ρ·(1 + κ) / (2·√κ)        period 2π/ω substeps        decay √(ρκ) per substep
/// ```
#[test]
fn a_pendulum_has_the_period_and_the_decay_of_its_recurrence() {
    for (length, mass, damping, power) in [
        (0.2_f32, 0.1_f32, 0.0_f32, 1.5_f32),
        (0.2, 0.3, 0.02, 1.5),
        (0.5, 1.0, 0.01, 1.45),
    ] {
        let bob = SwingJoint {
            stiffness: 0.0,
            mass,
            damping,
            ..SwingJoint::new(1)
        };
        // It rests two degrees off the plumb line and is let go: the period of so small an arc is longer by 8e-5.
        let rig = chain(1, turn(Vec3::Z, 2.0) * Vec3::NEG_Y * length, bob);
        let properties = ActorProperties {
            swing_power: power,
            ..ActorProperties::default()
        };
        let mut stage = Stage::with(&rig, unsettled(), properties, ());
        let force = f64::from(power) * step();
        let kept = (1.0 - f64::from(damping)).powi(2) * force;
        let length = f64::from(length);
        let pull = length / (length + f64::from(mass) * 0.01 * force);
        let omega = (pull.sqrt() * (1.0 + kept) / (2.0 * kept.sqrt())).acos();
        let (period, decay) = (core::f64::consts::TAU / omega, (pull * kept).sqrt());

        let angles: Vec<f64> = stage
            .substeps((period * 4.3) as usize)
            .iter()
            .map(|frame| (frame.particle(0) - Vec3::Y).as_dvec3())
            .map(|offset| offset.x.atan2(-offset.y))
            .collect();
        let crossing = |i: usize| (i as f64) + angles[i] / (angles[i] - angles[i + 1]);
        let crossings: Vec<f64> = (0..angles.len() - 1)
            .filter(|&i| angles[i] * angles[i + 1] < 0.0)
            .map(crossing)
            .collect();
        let halves = crossings.len() - 1;
        assert!(halves >= 6, "{halves} half periods seen");
        let found = (crossings[halves] - crossings[0]) / halves as f64 * 2.0;
        // Substeps: a thousandth of the period; the small-angle form is good to 1e-4 of it.
        assert_close(found, period, period * 1e-3, "period in substeps");

        let peak = |from: f64| {
            let span = &angles[from as usize..(from + period / 2.0) as usize];
            span.iter()
                .fold(0.0_f64, |peak, angle| peak.max(angle.abs()))
        };
        let whole = crossings[2 * (halves / 2)] - crossings[0];
        let ratio = peak(crossings[2 * (halves / 2) - 1]) / peak(crossings[1] - period / 2.0);
        let spans = whole - (crossings[2] - crossings[0]) + period / 2.0;
        // Dimensionless: a peak lies up to half a substep from a sample, which is 1 − cos(ω/2) < 1 % of its height.
        assert_close(
            ratio.ln() / spans,
            decay.ln(),
            0.02 / spans + decay.ln().abs() * 0.02,
            "decay",
        );
    }
}

#[test]
fn a_free_chain_comes_to_rest_along_gravity() {
    let heavy = SwingJoint {
        stiffness: 0.0,
        mass: 1.0,
        ..soft()
    };
    for gravity in [
        Vec3::NEG_Y,
        Vec3::new(0.6, -0.8, 0.0),
        Vec3::new(-0.6, 0.0, 0.8),
    ] {
        let properties = ActorProperties {
            gravity,
            ..ActorProperties::default()
        };
        let rig = chain(3, Vec3::X * BONE, heavy);
        let mut stage = Stage::with(&rig, SwingProfile::default(), properties, ());
        let frames = stage.substeps(900);
        for i in 0..3 {
            let (last, before) = (frames[899].particle(i), frames[898].particle(i));
            let hanging = last - stage.model(i + 1).0;
            // Radians: at 1e-5 the pull of a substep is below the resolution of f32 at 1 m.
            let off = angle_of(hanging, gravity);
            assert!(
                off < 1e-4,
                "bone {i} under {gravity}: {off:e} rad off the plumb line"
            );
            assert_near(last, before, 1e-6, "a particle at rest");
        }
    }
}

/// Stiffness pulls along rest, gravity down: at rest the bone lies along their sum. `[S4]` `[S5]`
#[test]
fn a_stiff_bone_rests_where_stiffness_and_gravity_balance() {
    let bone = SwingJoint {
        stiffness: 0.8,
        mass: 0.6,
        ..soft()
    };
    let mut stage = Stage::new(&chain(1, Vec3::X * BONE, bone));
    let frames = stage.substeps(900);
    let found = frames[899].particle(0) - Vec3::Y;
    let off = angle_of(found, Vec3::new(0.8, -0.6, 0.0));
    assert!(off < 1e-4, "{found}: {off:e} rad off the balance");
}
