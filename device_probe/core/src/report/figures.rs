//! The figures of a report, for people who look at a terminal or a screen.

use super::{Measurement, Quantity, Report, Status};

/// One figure: what it is, its median, and what most samples are between.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What, with its parameters: `ed25519_verify 147 B`.
    pub name: String,
    /// Which quantity.
    pub quantity: String,
    /// Its median, in the quantity's unit.
    pub median: f64,
    /// What 5 % of the samples are below.
    pub low: f64,
    /// What 5 % of the samples are above.
    pub high: f64,
}

/// What most people look for first, in plain words: sign, verify, serialise, store, send, receive,
/// connect; those that there are, on one thread and any core.
pub fn main_figures(report: &Report) -> Vec<(&'static str, Figure)> {
    let of_kernel = |&(words, kernel): &(&'static str, &str)| {
        let mut cases = report.measurements.iter().filter(|measurement| {
            measurement.kernel == kernel
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
        Some((words, figure(nearest)?))
    };
    MAIN_KERNELS.iter().filter_map(of_kernel).collect()
}

/// The first quantity of a measurement, as a figure; `None` if it was not measured.
pub fn figure(measurement: &Measurement) -> Option<Figure> {
    figures(measurement).next()
}

/// Every quantity of a measurement, as figures.
pub fn figures(measurement: &Measurement) -> impl Iterator<Item = Figure> + '_ {
    measurement
        .quantities
        .iter()
        .map(|Quantity { name, samples }| Figure {
            name: case_name(measurement),
            quantity: name.clone(),
            median: samples.median,
            low: samples.quantile(0.05),
            high: samples.quantile(0.95),
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
    if let Some(counted) = quantity.strip_suffix("_per_s") {
        let unit = if counted.ends_with("bytes") { "B" } else { "" };
        return format!("{value:.2e} {unit}/s");
    }
    match quantity.rsplit_once('_') {
        Some((_, "s")) => duration(value),
        Some((_, "ratio")) => format!("{:.2} %", value * 100.0),
        Some((_, unit)) => format!("{} {unit}", short(value)),
        None => format!("{value:.2e} ({quantity})"),
    }
}

fn duration(value_s: f64) -> String {
    let (factor, unit) = match value_s.abs() * ROUNDED_UP {
        size if size >= 1.0 => (1.0, "s"),
        size if size >= 1e-3 => (1e3, "ms"),
        size if size >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    };
    format!("{} {unit}", short(value_s * factor))
}

/// With three digits, or with all that are before the point.
fn short(value: f64) -> String {
    let decimals = match value.abs() * ROUNDED_UP {
        size if size >= 100.0 || value.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        _ => 2,
    };
    format!("{value:.decimals$}")
}

fn distance(measurement: &Measurement) -> f64 {
    let bytes = measurement.parameters.get("bytes").copied();
    (bytes.unwrap_or(BLOCK_BYTES) - BLOCK_BYTES).abs()
}

/// Costs that dominate a trade, in words.
const MAIN_KERNELS: &[(&str, &str)] = &[
    ("sign", "ed25519_sign"),
    ("verify", "ed25519_verify"),
    ("serialise", "block_encode"),
    ("store", "file_append"),
    ("store, synced", "file_append_fsync"),
    ("UDP send", "udp_send"),
    ("UDP receive", "udp_receive"),
    ("QUIC connection", "quic_handshake"),
];
/// A block of the theses with 128 bytes of payload and both previous hashes (Chirila 2025, appendix
/// B); sizes near it matter most.
const BLOCK_BYTES: f64 = 668.0;
/// Three digits of anything from 999.5 have one more before the point.
const ROUNDED_UP: f64 = 1.0005;
