//! What several tests need.
#![allow(dead_code, reason = "each test uses its own part of it")]

pub mod chains;
pub mod golden;
