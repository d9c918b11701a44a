//! Reducing keys.
