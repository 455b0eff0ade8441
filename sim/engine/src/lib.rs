//! Drives the machines of `pocketsim_protocols` in simulated time.
//!
//! The engine is given a [`plan::Plan`] of numbers and returns columns; it never
//! parses a document and knows no protocol by name outside [`run`].

mod abandoned;
mod after_rest;
pub mod air;
pub mod blocks;
mod books;
mod bursts;
#[cfg(any(test, feature = "python"))]
mod checked;
#[cfg(feature = "python")]
mod columns;
mod computers;
mod configs;
pub mod costs;
pub mod driver;
pub mod ending;
pub mod energy;
mod forwarding;
mod gates;
mod governed;
mod habit;
mod habits;
pub mod histogram;
pub mod holdings;
pub mod hybrid;
mod idle;
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
mod phases;
mod phone;
pub mod plan;
pub mod policy;
pub mod pool;
mod prefetch;
pub mod progress;
pub mod proximity;
#[cfg(feature = "python")]
mod python;
pub mod queue;
pub mod radio;
pub mod resources;
mod rests;
mod routes;
pub mod run;
pub mod run_queue;
mod schedule;
pub mod share;
pub mod simgrid;
pub mod socket;
mod spending;
mod stage;
pub mod statement;
pub mod streams;
mod task_lanes;
pub mod timeline;
mod timers;
mod town;
pub mod trace;
mod turns;
mod upkeep;
pub mod waits;
mod wakes;
