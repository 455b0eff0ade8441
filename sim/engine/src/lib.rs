//! Drives the machines of `pocketsim_protocols` in simulated time.
//!
//! The engine is given a [`plan::Plan`] of numbers and returns columns; it never parses a document.
//! Its rooms, each of which names only those before it:
//!
//! | room | what lives there |
//! |---|---|
//! | [`base`] | the queue of dates, random numbers, histograms, progress |
//! | [`plan`] | everything that a run needs, as numbers and columns |
//! | [`cost`] | what operations cost on a phone |
//! | [`resources`] | who carries datagrams and spends core time: arithmetic, or SimGrid |
//! | [`events`] | the clock, and what comes due |
//! | [`record`] | what is written down, and what it adds up to |
//! | [`network`] | datagrams on their way, and where they are lost |
//! | [`phone`] | lanes, core time, alarms, and a phone that goes off |
//! | [`driver`] | one run: arrivals, churn, and whose turn it is |
//! | [`families`] | what applications start from and leave behind |
//! | [`run`] | from a plan to machines, and to a result |
//! | [`bindings`] | Python, and protocols that users bring |

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
