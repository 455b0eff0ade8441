//! What is written down of a run, and what it adds up to.
//!
//! What deliberately does not live here: why something happened. Nothing here decides anything.

pub(crate) mod books;
pub mod energy;
pub mod ledger;
pub mod statement;
pub mod timeline;
pub mod trace;
