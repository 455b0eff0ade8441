//! One run: the clock, the catalogue of cases one by one, throttling, the report.

use std::net::SocketAddr;
use std::path::PathBuf;

use crate::kernel::{Case, Depth};
use crate::report::{Measurement, Report};
use crate::stop::Stop;

/// What the user asked for.
#[derive(Clone, Debug)]
pub struct Options {
    /// How thorough.
    pub depth: Depth,
    /// A serving probe to measure the link to.
    pub peer: Option<SocketAddr>,
    /// A folder for files that are written and removed again.
    pub scratch: PathBuf,
}

/// Whoever wants to see the run go on.
pub trait Observer: Sync {
    /// Case `number` of `total` begins.
    fn started(&self, number: usize, total: usize, case: &Case);
    /// It is done, or could not be measured.
    fn measured(&self, measurement: &Measurement);
}

/// Measure this device.
///
/// A raised `stop` ends the run after the sample it is at; the report then says that it was stopped.
pub fn run(_options: &Options, _observer: &dyn Observer, _stop: &Stop) -> Report {
    Report {}
}
