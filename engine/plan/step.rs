//! Steps: the order in which a substep takes an actor's joints. `[5.2]`
//!
//! The model goes depth by depth: all joints of a depth move and collide, chain layers join them, then all are resolved.
//! Where nothing joins them the joints of a depth do not see each other, and each is moved and resolved in one go: the same
//! bits, and its numbers stay in the nearest cache.

use super::Plan;

/// One step of a substep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Integrates and collides the swing joint at this place.
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
        depth_steps(plan, depth, is_layered, &mut steps);
    }
    steps
}

fn depth_steps(plan: &Plan, depth: usize, is_layered: bool, steps: &mut Vec<Step>) {
    let places = plan.depths[depth].clone();
    if is_layered {
        steps.extend(places.clone().map(Step::Move));
        steps.push(Step::Join(depth));
        steps.extend(places.map(Step::Resolve));
    } else {
        steps.extend(places.flat_map(|place| [Step::Move(place), Step::Resolve(place)]));
    }
}
