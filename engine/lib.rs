//! flounce: the secondary motion of characters (hair, skirts, tails, sleeves, ears), computed with the same bits on
//! every machine.
//!
//! # Spaces and units
//!
//! Right-handed, +Y up, +Z forward; metres, seconds, radians; `a * b` applies `b` first. *Model space* is the space of
//! the actor (the parent of the rig's root joints), *joint space* is a joint's own. Fields in other units say so in
//! their name.

#[cfg(feature = "rig_files")]
#[path = "../assets/mod.rs"]
pub mod assets;
pub mod bone;
pub mod clip;
pub mod collider;
pub mod contact;
pub mod crowd;
pub mod lane;
pub mod limit;
pub mod plan;
pub mod pose;
pub mod rig;
pub mod rotation;
pub mod substep;
pub mod swing;
#[path = "../systems/mod.rs"]
pub mod systems;
