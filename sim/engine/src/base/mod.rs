//! What every room uses: the queue of dates, random numbers, histograms, progress.
//!
//! Nothing here knows what is simulated.

pub mod event_queue;
pub mod histogram;
pub(crate) mod prefetch;
pub mod progress;
pub mod rng;
