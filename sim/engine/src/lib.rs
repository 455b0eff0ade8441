//! Drives the machines of `pocketsim_protocols` in simulated time.
//!
//! The engine is given a [`plan::Plan`] of numbers and returns columns; it never
//! parses a document and knows no protocol by name outside [`run`].

pub mod base;
#[cfg(any(test, feature = "python"))]
mod checked;
pub mod cost;
pub mod driver;
pub mod events;
pub mod families;
mod gates;
mod habits;
pub mod network;
#[cfg(feature = "python")]
mod own_failures;
#[cfg(feature = "python")]
pub mod own_machine;
#[cfg(feature = "python")]
mod own_outputs;
pub mod own_phone;
#[cfg(feature = "python")]
mod own_policy;
#[cfg(feature = "python")]
mod own_protocol;
pub mod phone;
pub mod plan;
#[cfg(feature = "python")]
mod python;
pub mod record;
pub mod resources;
pub mod run;
mod schedule;
