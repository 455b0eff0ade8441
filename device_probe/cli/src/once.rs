//! `probe once`: one operation of a kernel, for the run that has started this process.

use std::io;
use std::process::ExitCode;

use pocketsim_probe_core::kernels::once;
use serde_json::json;

use crate::failure::Failure;
use crate::say::print;

/// Arguments of `probe once`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The kernel; what its operation finds comes on the standard input
    kernel: String,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let taken = once::measure(&arguments.kernel, io::stdin().lock());
    print(json!(taken.map_err(Failure::usage)?));
    Ok(ExitCode::SUCCESS)
}
