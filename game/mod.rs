//! What a Bevy game sees.

pub mod debug;
pub mod reflection;
