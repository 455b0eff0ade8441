//! Measuring a device: its clock, samples and their sketches, whole runs and their reports.

mod allocator;
mod battery;
#[cfg(feature = "check")]
mod check;
mod clock;
mod compute_kernels;
mod contradictions;
mod fakes;
mod figures;
mod host;
mod plan;
mod remaining;
mod run;
mod sampler;
mod sampling_plan;
mod schema;
mod sketch;
mod throttle;
