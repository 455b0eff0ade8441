//! Simulated time: what comes due, in order.
//!
//! What deliberately does not live here: what becomes of it.

pub(crate) mod sim_context;
