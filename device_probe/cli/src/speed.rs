//! `probe speed`: how fast this core is at the moment, and a disk.

use std::path::PathBuf;
use std::process::ExitCode;

use pocketsim_probe_core::speed::{self, FileSpeed};
use serde_json::{json, Value};

use crate::failure::Failure;
use crate::say::print;

/// Arguments of `probe speed`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Time files, too, that are written in this folder, which is on a disk
    #[arg(long, value_name = "DIR")]
    files: Option<PathBuf>,

    /// As a JSON object
    #[arg(long)]
    json: bool,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let speed = speed::measure().map_err(|reason| Failure::environment(reason.0))?;
    let files = match &arguments.files {
        Some(folder) => speed::measure_files(folder),
        None => Ok(Vec::new()),
    };
    let files = files.map_err(|reason| Failure::environment(reason.0))?;
    if arguments.json {
        let mut told = json!(speed);
        if arguments.files.is_some() {
            told["files"] = Value::from_iter(files.iter().map(|file| json!(file)));
        }
        print(told);
    } else {
        let [sign_us, check_us] = [speed.sign_s, speed.check_s].map(|each_s| 1e6 * each_s);
        print(format_args!(
            "{sign_us:.1} us for a signature, {check_us:.1} us to check one"
        ));
        for FileSpeed {
            kernel,
            bytes,
            median_s,
        } in files
        {
            let took_us = 1e6 * median_s;
            print(format_args!(
                "{took_us:.1} us for {kernel} of {bytes} bytes"
            ));
        }
    }
    Ok(ExitCode::SUCCESS)
}
