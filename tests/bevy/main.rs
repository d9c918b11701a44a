//! Claim: in a Bevy game, characters swing by one plugin group: whatever loads late, pauses, teleports or is edited, and
//! with the bits of every other host. `App`s of Bevy's own animation, transforms, time and assets.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/mod.rs"]
mod support;

mod binding;
mod bits;
mod debug;
mod editing;
mod game;
mod order;
mod reflection;
mod time;
