//! The solve on random legs. The seeds are fixed, so a failure repeats.

use bevy_math::Vec3;
use flounce::leg::{LegTurns, Limb, Reach, Refusal};
use flounce::mirror;
use flounce::rotation::{self, Rotation};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

fn config(seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").map_or(2000, |text| text.parse().unwrap()),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_global_rejects: 100_000,
        ..ProptestConfig::default()
    }
}

fn point() -> impl Strategy<Value = Vec3> {
    prop::array::uniform3(-1.0_f32..1.0).prop_map(Vec3::from_array)
}

fn direction() -> impl Strategy<Value = Vec3> {
    let long = point().prop_filter("a direction", |v| v.length() > 0.1);
    long.prop_map(|v| v / v.length())
}

fn limb() -> impl Strategy<Value = Limb> {
    let bones = prop::array::uniform2(0.1_f32..1.0);
    let parts = (point(), prop::array::uniform2(direction()), bones);
    parts.prop_map(|(hip, [thigh, shin], [a, b])| Limb {
        hip,
        knee: hip + thigh * a,
        ankle: hip + thigh * a + shin * b,
    })
}

fn straight_limb() -> impl Strategy<Value = Limb> {
    (point(), direction(), prop::array::uniform2(0.1_f32..1.0)).prop_map(|(hip, down, [a, b])| {
        Limb {
            hip,
            knee: hip + down * a,
            ankle: hip + down * (a + b),
        }
    })
}

fn bones(limb: &Limb) -> [f32; 2] {
    [limb.knee.distance(limb.hip), limb.ankle.distance(limb.knee)]
}

/// A point in `direction` from the hip, at `share` of the way from the nearest to the farthest that the leg comes.
fn reachable(limb: &Limb, direction: Vec3, share: f32) -> Vec3 {
    let [a, b] = bones(limb);
    let (nearest, farthest) = ((a - b).abs(), a + b);
    limb.hip + direction * (nearest + (farthest - nearest) * share)
}

fn turn(by: Rotation<f32>, v: Vec3) -> Vec3 {
    by.rotate(v.into()).into()
}

/// Where the joints of a leg are after its turns.
fn turned(limb: &Limb, turns: &LegTurns) -> Limb {
    let knee = limb.hip + turn(turns.upper, limb.knee - limb.hip);
    Limb {
        hip: limb.hip,
        knee,
        ankle: knee + turn(turns.lower, limb.ankle - limb.knee),
    }
}

/// The part of the upper bone across the line from hip to ankle, in upper bones.
fn off_line(limb: &Limb) -> Vec3 {
    let line = (limb.ankle - limb.hip).normalize();
    let upper = limb.knee - limb.hip;
    (upper - line * upper.dot(line)) / upper.length()
}

proptest! {
    #![proptest_config(config(1))]

    #[test]
    fn q4_lengths_are_kept_and_what_is_in_reach_is_reached(
        limb in limb(), pole in direction(), to in direction(), share in 0.001_f32..0.999,
    ) {
        let target = reachable(&limb, to, share);
        let turns = limb.solve(target, pole).unwrap();
        let found = turned(&limb, &turns);
        for (found, expected) in bones(&found).into_iter().zip(bones(&limb)) {
            prop_assert!((found - expected).abs() < 1e-5, "{found} m for {expected} m");
        }
        let residual = found.ankle.distance(target);
        prop_assert!(residual < 1e-5, "off by {residual} m");
        prop_assert_eq!(turns.reach, Reach::Reached);
        for q in [turns.upper, turns.lower] {
            prop_assert!((q.dot(q) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn q4_a_bent_knee_keeps_its_side(
        limb in limb(), pole in direction(), to in direction(), share in 0.05_f32..0.95,
    ) {
        let before = off_line(&limb);
        let line = (limb.ankle - limb.hip).normalize();
        // A leg that turns round has no shortest way.
        prop_assume!(before.length() > 0.05 && line.dot(to) > -0.99 && limb.ankle.distance(limb.hip) > 0.05);
        let found = turned(&limb, &limb.solve(reachable(&limb, to, share), pole).unwrap());
        let carried = turn(rotation::from_to(line.into(), to.into()), before).normalize();
        let after = off_line(&found);
        prop_assume!(after.length() > 0.02);
        let cos = after.normalize().dot(carried);
        prop_assert!(cos > 0.999, "the knee goes {after} and not {carried}");
    }

    #[test]
    fn q4_a_straight_knee_bends_to_its_pole(
        limb in straight_limb(), pole in direction(), to in direction(), share in 0.1_f32..0.95,
    ) {
        let side = pole - to * pole.dot(to);
        prop_assume!(side.length() > 0.1);
        let found = turned(&limb, &limb.solve(reachable(&limb, to, share), pole).unwrap());
        let after = off_line(&found);
        prop_assume!(after.length() > 0.02);
        prop_assert!(after.normalize().dot(side.normalize()) > 0.999, "{after} for {side}");
    }

    #[test]
    fn q4_out_of_reach_the_residual_is_what_is_missing(
        limb in limb(), pole in direction(), to in direction(), beyond in 0.001_f32..5.0,
    ) {
        let [a, b] = bones(&limb);
        let target = limb.hip + to * (a + b + beyond);
        let turns = limb.solve(target, pole).unwrap();
        let found = turned(&limb, &turns);
        let (residual, missing) = (found.ankle.distance(target), target.distance(limb.hip) - (a + b));
        prop_assert!((residual - missing).abs() < 1e-4, "off by {residual} m for {missing} m");
        prop_assert_eq!(turns.reach, Reach::TooFar);
    }

    #[test]
    fn q4_too_near_the_residual_is_what_is_missing(
        limb in limb(), pole in direction(), to in direction(), share in 0.01_f32..0.99,
    ) {
        let [a, b] = bones(&limb);
        let nearest = (a - b).abs();
        prop_assume!(nearest > 0.01);
        let target = limb.hip + to * (nearest * share);
        let turns = limb.solve(target, pole).unwrap();
        let residual = turned(&limb, &turns).ankle.distance(target);
        let missing = nearest - target.distance(limb.hip);
        prop_assert!((residual - missing).abs() < 1e-4, "off by {residual} m for {missing} m");
        prop_assert_eq!(turns.reach, Reach::TooNear);
    }

    #[test]
    fn q4_a_small_step_of_the_anchor_is_a_small_turn(
        limb in limb(), pole in direction(), to in direction(), share in 0.1_f32..0.9, step in direction(),
    ) {
        // Near both ends of its reach a knee turns without bound, as the root of the way; elsewhere it does not.
        let line = (limb.ankle - limb.hip).normalize();
        let [a, b] = bones(&limb);
        prop_assume!(line.dot(to) > -0.5 && a.min(b) > 0.2 && off_line(&limb).length() > 0.05);
        let target = reachable(&limb, to, share);
        prop_assume!(target.distance(limb.hip) > 0.1);
        let one = limb.solve(target, pole).unwrap();
        let other = limb.solve(target + step * 1e-4, pole).unwrap();
        for (one, other) in [(one.upper, other.upper), (one.lower, other.lower)] {
            let turned = rotation::angle_between(one, other);
            prop_assert!(turned < 0.005, "{turned} rad for 0.1 mm");
        }
    }

    #[test]
    fn q4_a_leg_that_is_there_does_not_turn(limb in limb(), pole in direction()) {
        prop_assume!(off_line(&limb).length() > 0.06 && limb.ankle.distance(limb.hip) > 0.05);
        let turns = limb.solve(limb.ankle, pole).unwrap();
        for q in [turns.upper, turns.lower] {
            let angle = rotation::angle_between(q, Rotation::identity());
            prop_assert!(angle < 1e-4, "{angle} rad");
        }
    }

    #[test]
    fn c1_a_mirrored_leg_turns_in_the_mirror(
        limb in limb(), pole in direction(), to in direction(), share in 0.01_f32..1.5,
    ) {
        let target = reachable(&limb, to, share);
        let mirrored = Limb {
            hip: mirror::point(limb.hip),
            knee: mirror::point(limb.knee),
            ankle: mirror::point(limb.ankle),
        };
        let here = limb.solve(target, pole).unwrap();
        let there = mirrored.solve(mirror::point(target), mirror::point(pole)).unwrap();
        for (here, there) in [(here.upper, there.upper), (here.lower, there.lower)] {
            let here = rotation::mirror_x(here);
            prop_assert!(there == here || there == -here, "{there:?} for {here:?}");
        }
    }

    #[test]
    fn q4_whatever_is_asked_the_answer_is_finite_or_refused(
        numbers in prop::array::uniform12(prop_oneof![
            4 => -1.0_f32..1.0, 1 => Just(0.0), 1 => any::<f32>(), 1 => Just(1e30), 1 => Just(1e-30),
        ]),
        pole in direction(),
    ) {
        let at = |i: usize| Vec3::from_slice(&numbers[3 * i..]);
        let limb = Limb { hip: at(0), knee: at(1), ankle: at(2) };
        match limb.solve(at(3), pole) {
            Ok(turns) => for q in [turns.upper, turns.lower] {
                prop_assert!((q.dot(q) - 1.0).abs() < 1e-5, "{q:?}");
            },
            Err(refusal) => prop_assert!(
                matches!(refusal, Refusal::NotFinite | Refusal::NoBone | Refusal::OnHip)
            ),
        }
    }
}
