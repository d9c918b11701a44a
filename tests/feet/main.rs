//! Claim: held feet stay where they are held, legs keep their lengths and their knees' side, and what cannot be reached is
//! said. `[Q4]`
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod actor;
#[cfg(feature = "assets")]
mod files;
mod solve;
