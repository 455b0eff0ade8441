//! Conversations in which only signs of life pass: they are reckoned, not simulated.

pub(crate) mod fast_forward;
pub(crate) mod habit;
pub(crate) mod upkeep;
