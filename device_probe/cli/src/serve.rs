//! `probe serve`.

use std::process::ExitCode;

/// Arguments of `probe serve`.
#[derive(Debug, clap::Args)]
pub struct Arguments {}

/// Do it.
pub fn main(_arguments: &Arguments) -> Result<ExitCode, crate::failure::Failure> {
    let _stop = crate::interrupt::stop_on_interrupt();
    Err(crate::failure::Failure::environment("not built yet"))
}
