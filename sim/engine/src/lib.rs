//! Drives the machines of `pocketsim_protocols` in simulated time.
//!
//! The engine is given a [`plan::Plan`] of numbers and returns columns; it never
//! parses a document and knows no protocol by name outside [`run`].

pub mod base;
pub mod bindings;
pub mod cost;
pub mod driver;
pub mod events;
pub mod families;
pub mod network;
pub mod phone;
pub mod plan;
pub mod record;
pub mod resources;
pub mod run;
