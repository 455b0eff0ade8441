//! Reports that the schema lets through and that cannot be: each is found once, and nothing else.

use std::collections::BTreeMap;

use pocketsim_probe_core::kernel::Group;
use pocketsim_probe_core::report::semantics::contradictions;
use pocketsim_probe_core::report::{
    Measurement, Quantity, Report, Samples, Status, MEASUREMENTS_MAX,
};
use pocketsim_probe_core::sketch::sketch;

const SAMPLES: &str = "/measurements/0/quantities/0/samples";

/// Nothing that calibration knows, so that nothing is expected of it.
fn measurement(quantities: Vec<Quantity>) -> Measurement {
    Measurement {
        kernel: "of_another_probe".to_owned(),
        group: Group::Udp,
        parameters: BTreeMap::new(),
        threads: 1,
        core_class: None,
        status: Status::Measured,
        reason: None,
        warm_up: None,
        iterations_per_sample: None,
        noisy: false,
        rounds: Vec::new(),
        quantities,
    }
}

fn quantity(name: &str, samples: Samples) -> Quantity {
    Quantity {
        name: name.to_owned(),
        samples,
    }
}

fn report(measurements: Vec<Measurement>) -> Report {
    let text = include_str!("../../../../tests/reports/linux_vm.json");
    let mut report: Report = serde_json::from_str(text).expect("a report");
    report.measurements = measurements;
    report
}

/// Where something is found, if one quantity has these samples.
fn places(name: &str, samples: Samples) -> Vec<String> {
    let found = contradictions(&report(vec![measurement(vec![quantity(name, samples)])]));
    found.into_iter().map(|(place, _)| place).collect()
}

fn values() -> Samples {
    sketch(&[3.0, 1.0, 2.0], 10)
}

fn quantiles() -> Samples {
    sketch(&[3.0, 1.0, 2.0], 0)
}

#[test]
fn what_a_sketch_makes_is_no_contradiction() {
    for samples in [values(), quantiles(), sketch(&[0.0], 1)] {
        assert!(places("wall_s", samples).is_empty());
    }
}

#[test]
fn nothing_takes_negative_time_or_has_a_negative_share() {
    let below = sketch(&[-1e-9, 1.0], 10);
    for name in ["wall_s", "rtt_s", "cpu_s", "loss_ratio", "reordered_ratio"] {
        assert_eq!(places(name, below.clone()), [format!("{SAMPLES}/minimum")]);
    }
    assert!(places("current_a", below).is_empty(), "it may charge");
}

#[test]
fn a_rate_is_never_nothing() {
    let minimum = [format!("{SAMPLES}/minimum")];
    assert_eq!(places("rate_per_s", sketch(&[0.0, 1.0], 10)), minimum);
    assert!(places("loss_ratio", sketch(&[0.0, 1.0], 10)).is_empty());
}

#[test]
fn mean_and_median_lie_between_the_ends() {
    for samples in [
        Samples {
            mean: 3.5,
            ..quantiles()
        },
        Samples {
            median: 0.5,
            ..quantiles()
        },
    ] {
        assert_eq!(places("wall_s", samples), [SAMPLES]);
    }
}

#[test]
fn each_moment_is_that_of_the_values_up_to_its_digits() {
    let of_values = [format!("{SAMPLES}/values")];
    let changes: [fn(&mut Samples); 4] = [
        |samples| samples.count = 4,
        |samples| samples.mean += 1e-3,
        |samples| samples.median -= 1e-3,
        |samples| samples.standard_deviation += 1e-3,
    ];
    for change in changes {
        let mut samples = values();
        change(&mut samples);
        assert_eq!(places("wall_s", samples), of_values);
    }
    let rounded = Samples {
        mean: 2.0 + 1e-6,
        ..values()
    };
    assert!(places("wall_s", rounded).is_empty());
}

#[test]
fn quantiles_rise_from_the_minimum_to_the_maximum() {
    let of_quantiles = [format!("{SAMPLES}/quantiles")];
    for (number, value) in [(0, 0.5), (200, 3.5), (100, 2.9)] {
        let mut samples = quantiles();
        samples.quantiles.as_mut().expect("no values")[number] = value;
        assert_eq!(places("wall_s", samples), of_quantiles, "{number}");
    }
}

#[test]
fn either_values_or_quantiles_are_kept() {
    let both = Samples {
        quantiles: quantiles().quantiles,
        ..values()
    };
    let neither = Samples {
        values: None,
        ..values()
    };
    assert_eq!(places("wall_s", both), [SAMPLES]);
    assert_eq!(places("wall_s", neither), [SAMPLES]);
}

#[test]
fn what_was_not_measured_says_why_and_has_no_figures() {
    let not_measured = |reason: Option<&str>, quantities| Measurement {
        status: Status::NotMeasured,
        reason: reason.map(str::to_owned),
        ..measurement(quantities)
    };
    let found = |measurement| contradictions(&report(vec![measurement])).len();
    assert_eq!(found(not_measured(Some("no battery"), Vec::new())), 0);
    assert_eq!(found(not_measured(None, Vec::new())), 1);
    let figures = vec![quantity("wall_s", values())];
    assert_eq!(found(not_measured(Some("no battery"), figures)), 1);
}

#[test]
fn the_same_case_twice_differs_in_threads_cores_or_parameters() {
    let case = |threads| Measurement {
        threads,
        ..measurement(vec![quantity("wall_s", values())])
    };
    assert!(contradictions(&report(vec![case(1), case(2)])).is_empty());
    let found = contradictions(&report(vec![case(1), case(2), case(1)]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, "/measurements/2");
}

#[test]
fn a_report_has_so_many_cases_and_no_more() {
    let cases = |count: usize| {
        let case = |threads: usize| Measurement {
            threads: threads as u32 + 1,
            ..measurement(vec![quantity("wall_s", values())])
        };
        contradictions(&report((0..count).map(case).collect()))
    };
    assert!(cases(MEASUREMENTS_MAX).is_empty());
    assert_eq!(cases(MEASUREMENTS_MAX + 1)[0].0, "/measurements");
}
