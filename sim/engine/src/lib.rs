//! Drives the machines of `pocketsim_protocols` on SimGrid.
//!
//! The engine is given a [`plan::Plan`] of numbers and returns columns; it never
//! parses a document and knows no protocol by name outside [`run`].

mod abandoned;
pub mod blocks;
mod books;
mod bursts;
#[cfg(feature = "python")]
mod columns;
mod configs;
pub mod costs;
pub mod driver;
pub mod ending;
pub mod energy;
pub mod holdings;
mod lane;
mod lanes;
mod network;
pub mod order;
#[cfg(feature = "python")]
mod own_outputs;
#[cfg(feature = "python")]
mod own_protocol;
mod phone;
pub mod plan;
pub mod progress;
pub mod proximity;
#[cfg(feature = "python")]
mod python;
pub mod queue;
pub mod resources;
mod routes;
pub mod run;
mod schedule;
pub mod simgrid;
pub mod socket;
mod stage;
pub mod streams;
pub mod timeline;
mod town;
pub mod trace;
