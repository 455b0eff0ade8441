//! The main figures of a report, for people who look at a terminal or a screen.

use super::{Measurement, Report, Status};

/// One figure: what it is, and its median.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What, with its parameters: `ed25519_verify 147 B`.
    pub name: String,
    /// Which quantity.
    pub quantity: String,
    /// Its median, in the quantity's unit.
    pub median: f64,
}

/// What most people look for first: sign, verify, hash, store, send, connect; those that there are,
/// on one thread and any core.
pub fn main_figures(report: &Report) -> Vec<Figure> {
    let of_kernel = |kernel: &&str| {
        let mut cases = report.measurements.iter().filter(|measurement| {
            measurement.kernel == **kernel
                && measurement.threads == 1
                && measurement.core_class.is_none()
                && measurement.status == Status::Measured
        });
        let first = cases.next()?;
        // Of several sizes the one next to a block's.
        let nearest = cases.fold(first, |best, case| match distance(case) < distance(best) {
            true => case,
            false => best,
        });
        figure(nearest)
    };
    MAIN_KERNELS.iter().filter_map(of_kernel).collect()
}

/// The first quantity of a measurement, as a figure; `None` if it was not measured.
pub fn figure(measurement: &Measurement) -> Option<Figure> {
    let quantity = measurement.quantities.first()?;
    Some(Figure {
        name: case_name(measurement),
        quantity: quantity.name.clone(),
        median: quantity.samples.median,
    })
}

/// Kernel, parameters, threads and cores in words: `sha256 1024 B, 4 threads, big cores`.
pub fn case_name(measurement: &Measurement) -> String {
    let mut name = measurement.kernel.clone();
    for (parameter, value) in &measurement.parameters {
        name += &match parameter.strip_suffix("bytes") {
            Some("") => format!(" {value} B"),
            _ => format!(" {parameter}={value}"),
        };
    }
    if measurement.threads > 1 {
        name += &format!(", {} threads", measurement.threads);
    }
    if let Some(class) = measurement.core_class {
        name += &format!(", {} cores", class.name());
    }
    name
}

/// A number of that quantity with a unit that suits its size: `52.1 us`, `31 datagrams`.
pub fn with_unit(quantity: &str, value: f64) -> String {
    match quantity.rsplit_once('_') {
        Some((_, "s")) if !quantity.ends_with("per_s") => duration(value),
        Some((_, "ratio")) => format!("{:.2} %", value * 100.0),
        Some((_, unit)) if !quantity.ends_with("per_s") => format!("{value:.4} {unit}"),
        _ => format!("{value:.4e} ({quantity})"),
    }
}

fn duration(value_s: f64) -> String {
    let (factor, unit) = match value_s.abs() {
        size if size >= 1.0 => (1.0, "s"),
        size if size >= 1e-3 => (1e3, "ms"),
        size if size >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    };
    format!("{:.4} {unit}", value_s * factor)
}

fn distance(measurement: &Measurement) -> f64 {
    let bytes = measurement.parameters.get("bytes").copied();
    (bytes.unwrap_or(BLOCK_BYTES) - BLOCK_BYTES).abs()
}

/// Costs that dominate a trade.
const MAIN_KERNELS: &[&str] = &[
    "ed25519_sign",
    "ed25519_verify",
    "sha256",
    "file_append_fsync",
    "sqlite_insert_commit",
    "udp_send",
    "udp_round_trip",
    "quic_handshake",
];
/// A block of the theses with 128 bytes of payload and both previous hashes (Chirila 2025, appendix
/// B); sizes near it matter most.
const BLOCK_BYTES: f64 = 668.0;
