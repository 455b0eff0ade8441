//! Measuring a device: its clock, samples and their sketches, whole runs and their reports; one
//! binary, as linking costs most.

#[cfg(feature = "check")]
mod check;
mod clock;
mod compute_kernels;
mod fakes;
mod host;
mod plan;
mod run;
mod sampler;
mod schema;
mod sketch;
mod throttle;
