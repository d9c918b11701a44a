//! Claim: what the model promises holds for rigs and motions nobody thought of.
//!
//! Random trees with in-between joints, mirrored and scaled joints, joints that turn and slide, limits, skirts whose
//! strands are joined, drivers, colliders of every kind, wind, actors that walk, turn and jump, animated poses that jump,
//! and every switch of the profile. The seeds are fixed, so a failure repeats, and what failed once is kept in
//! `tests/proptest-regressions` and tried first; `PROPTEST_CASES=100000 cargo test --test properties` searches longer.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/mod.rs"]
mod support;

mod accounts;
mod extremes;
mod held;
mod mirrored;
mod neighbours;
mod penetration;
mod random;
#[cfg(feature = "assets")]
mod rest;
mod rigs;
mod scene;

use flounce::plan::Plan;
use flounce::pose::AnimatedPose;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};
use support::chains::{Stage, assert_same_bits, rod3};

/// `cases` is how many are tried where `PROPTEST_CASES` does not say; `seed` tells the properties apart.
fn config(cases: u32, seed: u64) -> ProptestConfig {
    ProptestConfig {
        cases: std::env::var("PROPTEST_CASES").map_or(cases, |text| text.parse().unwrap()),
        rng_seed: RngSeed::Fixed(seed),
        ..ProptestConfig::default()
    }
}

/// The properties are about something: the scenes have contacts of every kind, joints at their limits, depth, slides,
/// rings that are smoothed, drivers that drive.
#[test]
fn the_random_scenes_are_not_empty() {
    let mut runner = TestRunner::new(config(1, 7));
    let names = [
        "hits",
        "limits",
        "deep rigs",
        "slides",
        "links hit",
        "rings smoothed",
        "drivers",
        "rigs that moved",
    ];
    let least = [200, 100, 20, 50, 50, 10, 50, 50];
    let mut seen = [0; 8];
    for _ in 0..100 {
        let scene = random::scene().new_tree(&mut runner).unwrap().current();
        let plan = Plan::compile(&scene.rig);
        let count = |wanted: &dyn Fn(&flounce::plan::SwingPlan) -> bool| {
            plan.swings.iter().filter(|swing| wanted(swing)).count()
        };
        let mut frames = Vec::new();
        let mut links = 0;
        let ran = scene.run(|_, stage| {
            frames.push(stage.frame());
            let actor = scene::actor(stage);
            let hit = (0..plan.links()).any(|link| actor.link_hits(link) > 0.0);
            links += usize::from(hit);
            Ok(())
        });
        ran.unwrap();
        let results = frames.iter().flat_map(|frame| &frame.swings).flatten();
        let (first, last) = (&frames[0], &frames[frames.len() - 1]);
        let found = [
            results.filter(|result| result.hits > 0).count(),
            count(&|swing| swing.limit.is_some()),
            usize::from(plan.depths.len() > 2),
            count(&|swing| swing.slide.is_some()),
            links,
            plan.layers
                .iter()
                .filter(|layer| layer.smoothing > 0.0)
                .count(),
            plan.drivers.len(),
            usize::from(first.turned(last) > 0.1),
        ];
        for (seen, found) in seen.iter_mut().zip(found) {
            *seen += found;
        }
    }
    assert!(
        seen.iter().zip(least).all(|(&seen, least)| seen >= least),
        "{names:?}: {seen:?}, at least {least:?}"
    );
}

#[test]
fn an_animated_pose_of_another_length_counts_as_rest() {
    let rig = rod3();
    let mut expected = Stage::new(&rig);
    let mut stage = Stage::new(&rig);
    stage.substep();
    expected.substep();
    *stage.pose() = AnimatedPose(Vec::new());
    assert_same_bits(&stage.substeps(20), &expected.substeps(20), "no pose");
}
