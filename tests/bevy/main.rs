//! Claim: in a Bevy game, characters swing by one plugin group: whatever loads late, pauses, teleports or is edited, and
//! with the bits of every other host. `App`s of Bevy's own animation, transforms, time and assets.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod binding;
mod bits;
mod editing;
mod game;
mod order;
mod time;
