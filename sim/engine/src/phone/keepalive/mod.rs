//! Conversations in which only signs of life pass: they are reckoned, not simulated.

pub(crate) mod habit;
pub(crate) mod rests;
pub(crate) mod upkeep;
