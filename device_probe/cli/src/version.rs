//! `probe version`: what this build is.

use std::process::ExitCode;

use pocketsim_probe_core::host::build;
use serde_json::json;

use crate::say::print;

/// Arguments of `probe version`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// As a JSON object
    #[arg(long)]
    json: bool,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, crate::failure::Failure> {
    match arguments.json {
        true => print(as_json()),
        false => tell(),
    }
    Ok(ExitCode::SUCCESS)
}

fn as_json() -> serde_json::Value {
    json!({
        "probe_version": build::PROBE_VERSION,
        "target": build::TARGET,
        "libc": build::libc(),
        "build": build::build(),
        "crates": build::crates(),
    })
}

fn tell() {
    let (version, target) = (build::PROBE_VERSION, build::TARGET);
    let (libc, kind) = (build::libc().name(), build::build().name());
    print(format_args!(
        "probe {version} for {target} ({libc}, {kind})"
    ));
    for (name, version) in build::crates() {
        print(format_args!("  {name} {version}"));
    }
}
