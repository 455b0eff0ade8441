//! What is written down of a run, and what it adds up to.
//!
//! What deliberately does not live here: why something happened. Nothing here decides anything.

pub mod aggregates;
pub mod energy;
pub mod paths;
pub(crate) mod recorder;
pub mod summary;
pub mod timeline;
pub mod trace;
