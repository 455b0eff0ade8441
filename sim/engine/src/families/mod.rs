//! What applications start from, and what is left of them at the end of a run, by family.
//!
//! What deliberately does not live here: how they behave, which is `pocketsim_protocols`'s.

pub mod final_blocks;
pub mod final_state;
pub mod final_tokens;
pub(crate) mod town;
