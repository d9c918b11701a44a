//! Claim: a vertex keeps its strongest influences with a sum of 1, nothing else in the file changes, and the report
//! says how far that moves it. `[I1]` `[I2]`
#![cfg(feature = "assets")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../support/gltf.rs"]
#[expect(dead_code, reason = "each test uses its own part of it")]
mod gltf;

#[cfg(feature = "cli")]
mod command;
mod model;
mod real;
mod stored;
mod sums;
