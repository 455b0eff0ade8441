//! `probe check`: whether files are reports that can be calibrated from.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pocketsim_probe_core::report::check::{parse, Finding};
use pocketsim_probe_core::report::{Report, Status};
use serde_json::json;

use crate::failure::Failure;
use crate::say::{print, say};
use crate::summary::{count, device_name, table};

/// Arguments of `probe check`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Reports
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// One JSON object for each file
    #[arg(long)]
    json: bool,
    /// Every figure of each report
    #[arg(long, conflicts_with = "json")]
    table: bool,
}

/// Do it.
pub fn main(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let mut all_valid = true;
    for path in &arguments.files {
        let result = read(path)?;
        all_valid &= result.is_ok();
        match arguments.json {
            true => print(as_json(path, &result)),
            false => tell(path, &result, arguments.table),
        }
    }
    Ok(ExitCode::from(if all_valid { 0 } else { INVALID }))
}

/// A file that cannot be read ends the command: it is no report, and no finding about one.
fn read(path: &Path) -> Result<Result<Report, Vec<Finding>>, Failure> {
    let bytes = std::fs::read(path)
        .map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    // What is not UTF-8 is no JSON either, and is found to be none.
    Ok(parse(&String::from_utf8_lossy(&bytes)))
}

fn tell(path: &Path, result: &Result<Report, Vec<Finding>>, as_table: bool) {
    match result {
        Ok(report) => {
            print(format_args!("{}: {}", path.display(), verdict(report)));
            if as_table {
                table(report).iter().for_each(print);
            }
        }
        Err(findings) => {
            for finding in findings {
                say(format_args!("probe: {}", line(path, finding)));
            }
        }
    }
}

fn line(path: &Path, finding: &Finding) -> String {
    let place = if finding.path.is_empty() {
        "/"
    } else {
        &finding.path
    };
    let nearest = finding
        .nearest
        .iter()
        .map(|name| format!("; did you mean `{name}`?"));
    let nearest: String = nearest.collect();
    format!("{}: {place}: {}{nearest}", path.display(), finding.reason)
}

fn verdict(report: &Report) -> String {
    let measured = count(report, Status::Measured);
    let missing = count(report, Status::NotMeasured);
    let conditions: Vec<_> = report.spoiled.iter().map(|s| s.condition.name()).collect();
    let device = device_name(report);
    format!(
        "valid; {device} ({}), {}; {measured} measured, {missing} not; {}",
        report.device.abi,
        report.made.depth.name(),
        match conditions.is_empty() {
            true => "clean".to_owned(),
            false => format!("spoiled: {}", conditions.join(", ")),
        }
    )
}

fn as_json(path: &Path, result: &Result<Report, Vec<Finding>>) -> serde_json::Value {
    let file = path.display().to_string();
    match result {
        Ok(report) => json!({
            "file": file,
            "valid": true,
            "device": report.device.model,
            "depth": report.made.depth,
            "measured": count(report, Status::Measured),
            "not_measured": count(report, Status::NotMeasured),
            "spoiled": report.spoiled,
        }),
        Err(findings) => json!({"file": file, "valid": false, "findings": findings}),
    }
}

/// An invalid document.
const INVALID: u8 = 2;
