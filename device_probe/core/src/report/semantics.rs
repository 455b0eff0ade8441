//! What must hold in a report beyond its schema: numbers that agree with each other.

use std::collections::BTreeSet;

use super::known::known;
use super::{Measurement, Quantity, Report, Samples, Status, MEASUREMENTS_MAX};
use crate::sketch::sketch;

/// Something that cannot be: where, as a JSON pointer, and why.
pub type Contradiction = (String, String);

/// Everything in `report` that cannot be.
pub fn contradictions(report: &Report) -> Vec<Contradiction> {
    let mut found = Vec::new();
    found.extend(whole(report));
    for (number, measurement) in report.measurements.iter().enumerate() {
        let path = format!("/measurements/{number}");
        found.extend(case(measurement, &path));
        for (number, quantity) in measurement.quantities.iter().enumerate() {
            let path = format!("{path}/quantities/{number}");
            found.extend(quantity_faults(quantity, &path));
        }
    }
    found
}

fn whole(report: &Report) -> Vec<Contradiction> {
    let mut found = Vec::new();
    require(
        &mut found,
        report.measurements.len() <= MEASUREMENTS_MAX,
        "/measurements",
        || format!("more than {MEASUREMENTS_MAX} cases"),
    );
    require(
        &mut found,
        report.throttle.baseline_s > 0.0,
        "/throttle/baseline_s",
        || "a duration must be positive".to_owned(),
    );
    let mut seen = BTreeSet::new();
    for (number, measurement) in report.measurements.iter().enumerate() {
        let path = format!("/measurements/{number}");
        require(
            &mut found,
            seen.insert(identity(measurement)),
            &path,
            || {
                format!(
                    "{} with these parameters is there twice",
                    measurement.kernel
                )
            },
        );
    }
    found
}

/// What tells two cases apart.
fn identity(measurement: &Measurement) -> String {
    format!(
        "{} {:?} {} {:?}",
        measurement.kernel, measurement.parameters, measurement.threads, measurement.core_class
    )
}

fn case(measurement: &Measurement, path: &str) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let measured = measurement.status == Status::Measured;
    require(
        &mut found,
        measured != measurement.quantities.is_empty(),
        &format!("{path}/quantities"),
        || match measured {
            true => "measured, but without a quantity".to_owned(),
            false => "not measured, but with quantities".to_owned(),
        },
    );
    require(
        &mut found,
        measured || measurement.reason.is_some(),
        &format!("{path}/reason"),
        || "not measured, but without a reason".to_owned(),
    );
    let names: BTreeSet<_> = measurement.quantities.iter().map(|q| &q.name).collect();
    require(
        &mut found,
        names.len() == measurement.quantities.len(),
        &format!("{path}/quantities"),
        || "a quantity is there twice".to_owned(),
    );
    found.extend(contract(measurement, path));
    found
}

/// What calibration relies on, for the kernels that it knows.
fn contract(measurement: &Measurement, path: &str) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let Some(known) = known(&measurement.kernel) else {
        return found;
    };
    let kernel = known.kernel;
    require(
        &mut found,
        measurement.group == known.group,
        &format!("{path}/group"),
        || format!("{kernel} belongs to {}", known.group.name()),
    );
    for name in known.parameters {
        let there = measurement.parameters.contains_key(*name);
        require(&mut found, there, &format!("{path}/parameters"), || {
            format!("{kernel} needs `{name}`")
        });
    }
    let expected = match measurement.status {
        Status::Measured => known.quantities,
        Status::NotMeasured => &[],
    };
    for name in expected {
        let there = measurement.quantities.iter().any(|q| q.name == *name);
        require(&mut found, there, &format!("{path}/quantities"), || {
            format!("{kernel} needs `{name}`")
        });
    }
    found
}

fn quantity_faults(quantity: &Quantity, path: &str) -> Vec<Contradiction> {
    let mut found = Vec::new();
    let samples = &quantity.samples;
    let path = format!("{path}/samples");
    require(&mut found, ordered(samples), &path, || {
        "not minimum <= mean, median <= maximum".to_owned()
    });
    // A duration may be nothing: of sleepers, and where a clock ticks too coarsely to see it.
    let possible = match quantity.name.as_str() {
        "rate_per_s" => samples.minimum > 0.0,
        "wall_s" | "rtt_s" | "cpu_s" | "loss_ratio" | "reordered_ratio" => samples.minimum >= 0.0,
        _ => true,
    };
    require(&mut found, possible, &format!("{path}/minimum"), || {
        format!("{} cannot be {}", quantity.name, samples.minimum)
    });
    found.extend(kept(samples, &path));
    found
}

fn ordered(samples: &Samples) -> bool {
    let inside = samples.minimum..=samples.maximum;
    inside.contains(&samples.mean) && inside.contains(&samples.median)
}

/// What is kept of the samples agrees with the moments.
fn kept(samples: &Samples, path: &str) -> Vec<Contradiction> {
    let mut found = Vec::new();
    match (&samples.values, &samples.quantiles) {
        (Some(values), None) => {
            let same = values.len() as u64 == samples.count && agrees(values, samples);
            require(&mut found, same, &format!("{path}/values"), || {
                "count, moments or median are not those of the values".to_owned()
            });
        }
        (None, Some(quantiles)) => {
            let rising = quantiles.windows(2).all(|pair| pair[0] <= pair[1]);
            let (first, last) = (quantiles.first(), quantiles.last());
            let ends = first == Some(&samples.minimum) && last == Some(&samples.maximum);
            require(
                &mut found,
                rising && ends,
                &format!("{path}/quantiles"),
                || "not rising from the minimum to the maximum".to_owned(),
            );
        }
        _ => require(&mut found, false, path, || {
            "either values or quantiles, not both and not neither".to_owned()
        }),
    }
    found
}

/// Whether the moments are those of the values, up to rounding.
fn agrees(values: &[f64], samples: &Samples) -> bool {
    let again = sketch(values, values.len());
    let scale = samples.minimum.abs().max(samples.maximum.abs());
    let close = |a: f64, b: f64| (a - b).abs() <= ROUNDING * scale;
    close(again.mean, samples.mean)
        && close(again.standard_deviation, samples.standard_deviation)
        && close(again.minimum, samples.minimum)
        && close(again.median, samples.median)
        && close(again.maximum, samples.maximum)
}

fn require(
    found: &mut Vec<Contradiction>,
    holds: bool,
    path: &str,
    reason: impl FnOnce() -> String,
) {
    if !holds {
        found.push((path.to_owned(), reason()));
    }
}

/// Values and moments are rounded to 7 digits each, on their own.
const ROUNDING: f64 = 1e-5;
