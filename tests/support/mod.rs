//! What several tests need.
#![allow(dead_code, reason = "each test uses its own part of it")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

pub mod chains;
pub mod golden;
