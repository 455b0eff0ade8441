//! `probe speed`: how fast this core is at the moment.

use std::process::ExitCode;

use pocketsim_probe_core::speed;
use serde_json::json;

use crate::failure::Failure;
use crate::say::print;

/// Arguments of `probe speed`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// As a JSON object
    #[arg(long)]
    json: bool,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let speed = speed::measure().map_err(|reason| Failure::environment(reason.0))?;
    match arguments.json {
        true => print(json!(speed)),
        false => {
            let [sign_us, check_us] = [speed.sign_s, speed.check_s].map(|each_s| 1e6 * each_s);
            print(format_args!(
                "{sign_us:.1} us for a signature, {check_us:.1} us to check one"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
