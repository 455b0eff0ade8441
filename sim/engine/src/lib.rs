//! Drives the machines of `pocketsim_protocols` in simulated time.
//!
//! The engine is given a [`plan::Plan`] of numbers and returns columns; it never
//! parses a document and knows no protocol by name outside [`run`].

mod abandoned;
pub mod base;
pub mod blocks;
mod books;
mod bursts;
#[cfg(any(test, feature = "python"))]
mod checked;
pub mod cost;
pub mod driver;
pub mod ending;
pub mod energy;
pub mod events;
mod forwarding;
mod gates;
mod governed;
mod habit;
mod habits;
pub mod holdings;
mod lane;
mod lanes;
pub mod ledger;
mod legs;
mod network;
pub mod order;
mod outstanding;
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
mod phone;
pub mod plan;
pub mod policy;
pub mod proximity;
#[cfg(feature = "python")]
mod python;
pub mod resources;
mod rests;
mod routes;
pub mod run;
mod schedule;
pub mod socket;
mod spending;
pub mod statement;
mod task_lanes;
pub mod timeline;
mod timers;
mod town;
pub mod trace;
mod turns;
mod upkeep;
mod wakes;
