//! Claim: a Bevy game sees what the engine does, and may edit it as any other component.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/mod.rs"]
mod support;

mod debug;
mod reflection;
