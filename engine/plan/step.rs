//! Steps: the order in which a substep takes an actor's joints. `[5.2]`
//!
//! The model goes depth by depth: all joints of a depth move and collide, chain layers join them, then all are resolved.
//! Where nothing joins them the joints of a depth do not see each other, and each is moved and resolved in one go: its
//! numbers then stay in registers.

use super::Plan;

/// One step of a substep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Integrates, collides and resolves the swing joint at this place.
    Swing(usize),
    /// Integrates and collides the swing joint at this place, which waits for others of its depth.
    Move(usize),
    /// Joins the chains of this depth.
    Join(usize),
    /// Resolves the swing joint at this place.
    Resolve(usize),
}

/// The steps of `plan`. `layered` says of each depth whether chain layers join it.
pub fn steps_of(plan: &Plan, layered: &[bool]) -> Vec<Step> {
    let mut steps = Vec::with_capacity(2 * plan.swings.len() + plan.depths.len());
    for (depth, &is_layered) in layered.iter().enumerate() {
        let places = plan.depths[depth].clone();
        if is_layered {
            steps.extend(places.clone().map(Step::Move));
            steps.push(Step::Join(depth));
            steps.extend(places.map(Step::Resolve));
        } else {
            steps.extend(places.map(Step::Swing));
        }
    }
    steps
}

impl Plan {
    /// Whether joints wait for others before they are resolved.
    pub fn waits(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Move(_)))
    }
}
