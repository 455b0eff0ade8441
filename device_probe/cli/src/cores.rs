//! `probe cores`: how far the first and the last core of this process are from each other.

use std::process::ExitCode;
use std::time::Duration;

use pocketsim_probe_core::host::affinity::first_and_last_core;
use pocketsim_probe_core::host::core_to_core::{bring_near, latency_s, NEAR_S};
use serde_json::json;

use crate::failure::Failure;
use crate::quantity;
use crate::say::print;

/// Arguments of `probe cores`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Let them sleep and wake each other until they are near, for so long at most
    #[arg(long, value_name = "DURATION", value_parser = quantity::duration)]
    bring_near: Option<Duration>,

    /// As a JSON object
    #[arg(long)]
    json: bool,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let failed = |reason| Failure::environment(format!("{reason}"));
    let cores = first_and_last_core().map_err(failed)?;
    let apart_s = match arguments.bring_near {
        Some(patience) => bring_near(cores, patience),
        None => latency_s(cores),
    };
    let apart_s = apart_s.map_err(failed)?;
    let near = apart_s <= NEAR_S;
    if arguments.json {
        print(json!({ "latency_s": apart_s, "near": near }));
    } else {
        let [first, last] = cores;
        let said = if near { "near" } else { "not near" };
        print(format_args!(
            "{:.0} ns from core {first} to core {last}, one way: {said}",
            1e9 * apart_s
        ));
    }
    Ok(ExitCode::SUCCESS)
}
