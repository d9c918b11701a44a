//! flounce
