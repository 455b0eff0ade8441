//! What applications start from, and what is left of them at the end of a run, by family.
//!
//! What deliberately does not live here: how they behave, which is `pocketsim_protocols`'s.

pub mod blocks;
pub mod ending;
pub mod holdings;
pub(crate) mod town;
