//! Accounts: what is said to have moved a particle adds up to how it moved, and saying it moves nothing.

use flounce::account::{Account, Explanation};
use proptest::prelude::*;

use crate::config;
use crate::random::scene;
use crate::scene::Scene;
use crate::support::chains::assert_same_bits;

/// Share of the largest number that took part: every term is a difference of two positions in f32, each rounded by half a
/// unit in the last place (6e-8 of its size), a turn rounds a few times on its way to a position, and a substep has some
/// ten terms, which do not all err one way. A term that is forgotten is missing by a thousand times as much.
const ROUNDING: f32 = 1e-6;

/// By how much more than rounding the terms miss what happened, metres.
fn missing(account: &Account) -> f32 {
    let moved = account.after - account.before;
    let mut size = account.before.abs().max_element() + account.after.abs().max_element();
    size += account.correction.abs().max_element();
    // Collision works where the correction is added, and every step on the way had a size of its own.
    let mut at = account.before;
    for (_, term) in &account.terms {
        at += *term;
        size = size.max(at.abs().max_element() + account.correction.abs().max_element());
    }
    (account.sum() - moved).abs().max_element() - ROUNDING * size
}

impl Scene {
    fn explained(
        &self,
        swing: usize,
        mut check: impl FnMut(usize, &Account) -> Result<(), TestCaseError>,
    ) -> Result<Vec<crate::support::chains::Frame>, TestCaseError> {
        let mut stage = self.stage();
        stage
            .host
            .world
            .entity_mut(stage.actor)
            .insert(Explanation::of(swing));
        let mut frames = Vec::new();
        self.run_on(&mut stage, |index, stage| {
            for account in &stage
                .host
                .world
                .get::<Explanation>(stage.actor)
                .unwrap()
                .substeps
            {
                check(index, account)?;
            }
            frames.push(stage.frame());
            Ok(())
        })?;
        Ok(frames)
    }
}

proptest! {
    #![proptest_config(config(4000, 11))]

    /// Under every profile, with limits, hits, chain layers, slides, bake weights and a weight of the actor's.
    #[test]
    fn an_account_adds_up_to_what_happened(scene in scene(), swing in any::<u16>()) {
        if scene.rig.swing.is_empty() {
            return Ok(());
        }
        let swing = usize::from(swing) % scene.rig.swing.len();
        scene.explained(swing, |index, account| {
            let missing = missing(account);
            prop_assert!(
                missing <= 0.0,
                "frame {index}, swing joint {swing}: the terms add up to {}, the particle moved by {}; \
                 {missing:e} m beyond rounding: {account:?}",
                account.sum(), account.after - account.before
            );
            Ok(())
        })?;
    }
}

proptest! {
    #![proptest_config(config(1000, 12))]

    /// Who watches sees what happens when nobody does.
    #[test]
    fn an_account_changes_no_bit(scene in scene(), swing in any::<u16>()) {
        if scene.rig.swing.is_empty() {
            return Ok(());
        }
        let swing = usize::from(swing) % scene.rig.swing.len();
        let found = scene.explained(swing, |_, _| Ok(()))?;
        assert_same_bits(&found, &scene.shown(), "explained");
    }
}
