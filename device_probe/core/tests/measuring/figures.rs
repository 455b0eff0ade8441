//! What people are shown of a report, and the names that its documents have for things.

use std::collections::BTreeMap;

use pocketsim_probe_core::kernel::Group;
use pocketsim_probe_core::report::figures::{case_name, figure, figures, main_figures, with_unit};
use pocketsim_probe_core::report::{Condition, CoreClass, Measurement, Quantity, Report, Status};
use pocketsim_probe_core::sketch::sketch;
use serde_json::json;

fn measurement(kernel: &str, parameters: &[(&str, f64)], median: f64) -> Measurement {
    let parameters = parameters
        .iter()
        .map(|&(name, value)| (name.to_owned(), value));
    Measurement {
        kernel: kernel.to_owned(),
        group: Group::Crypto,
        parameters: parameters.collect::<BTreeMap<_, _>>(),
        threads: 1,
        core_class: None,
        status: Status::Measured,
        reason: None,
        warm_up: None,
        iterations_per_sample: None,
        noisy: false,
        rounds: Vec::new(),
        quantities: vec![Quantity {
            name: "wall_s".to_owned(),
            samples: sketch(&[median], 1),
        }],
    }
}

fn shown(measurements: Vec<Measurement>) -> Vec<(&'static str, String, f64)> {
    let text = include_str!("../../../../tests/reports/linux_vm.json");
    let mut report: Report = serde_json::from_str(text).expect("a report");
    report.measurements = measurements;
    let figures = main_figures(&report).into_iter();
    let figures = figures.map(|(words, figure)| (words, figure.name, figure.median));
    figures.collect()
}

#[test]
fn a_case_is_named_with_all_that_tells_it_from_others() {
    let plain = measurement("sha256", &[("bytes", 1024.0)], 1.0);
    assert_eq!(case_name(&plain), "sha256 1024 B");
    let named = Measurement {
        threads: 4,
        core_class: Some(CoreClass::Big),
        ..measurement("seal", &[("bytes", 64.0), ("recipients", 2.5)], 1.0)
    };
    assert_eq!(
        case_name(&named),
        "seal 64 B recipients=2.5, 4 threads, big cores"
    );
}

#[test]
fn a_measurement_without_a_quantity_has_no_figure() {
    let empty = Measurement {
        quantities: Vec::new(),
        ..measurement("sha256", &[], 1.0)
    };
    assert_eq!(figure(&empty), None);
}

#[test]
fn main_figures_come_in_the_order_of_a_trade_and_others_do_not() {
    let shown = shown(vec![
        measurement("udp_send", &[], 3.0),
        measurement("x25519_agree", &[], 2.0),
        measurement("ed25519_sign", &[], 1.0),
    ]);
    assert_eq!(
        shown,
        [
            ("sign", "ed25519_sign".into(), 1.0),
            ("UDP send", "udp_send".into(), 3.0)
        ]
    );
}

#[test]
fn a_main_figure_is_of_one_thread_on_any_core_and_was_measured() {
    let of = |change: fn(&mut Measurement)| {
        let mut measurement = measurement("udp_send", &[("bytes", 668.0)], 1.0);
        change(&mut measurement);
        measurement
    };
    let others = vec![
        of(|m| m.threads = 2),
        of(|m| m.core_class = Some(CoreClass::Little)),
        of(|m| m.status = Status::NotMeasured),
        measurement("udp_send", &[("bytes", 64.0)], 2.0),
    ];
    assert_eq!(shown(others), [("UDP send", "udp_send 64 B".into(), 2.0)]);
}

#[test]
fn of_sizes_as_near_to_a_block_the_first_is_shown() {
    let size = |bytes, median| measurement("block_encode", &[("bytes", bytes)], median);
    let sizes = vec![size(600.0, 1.0), size(700.0, 2.0), size(636.0, 3.0)];
    assert_eq!(
        shown(sizes),
        [("serialise", "block_encode 700 B".into(), 2.0)]
    );
}

#[test]
fn most_samples_are_between_a_figures_bounds() {
    let mut measured = measurement("sha256", &[], 1.0);
    let values: Vec<f64> = (0..=100).map(f64::from).collect();
    for values_max in [values.len(), 0] {
        measured.quantities[0].samples = sketch(&values, values_max);
        let figure = figure(&measured).unwrap();
        assert_eq!((figure.low, figure.median, figure.high), (5.0, 50.0, 95.0));
    }
    assert_eq!(figures(&measured).count(), 1);
}

#[test]
fn units_change_at_their_thousands_and_three_digits_are_shown() {
    for (value_s, text) in [
        (1.0, "1 s"),
        (12.345, "12.3 s"),
        (0.999, "999 ms"),
        (0.999_6, "1.00 s"),
        (1e-3, "1 ms"),
        (1.234e-6, "1.23 us"),
        (0.5e-6, "500 ns"),
        (-2.0, "-2 s"),
        (0.0, "0 ns"),
    ] {
        assert_eq!(with_unit("wall_s", value_s), text);
    }
}

#[test]
fn rates_are_per_second_and_numbers_without_a_unit_have_their_name() {
    assert_eq!(with_unit("goodput_bytes_per_s", 1.25e6), "1.25e6 B/s");
    assert_eq!(with_unit("rate_per_s", 32_340.0), "3.23e4 /s");
    assert_eq!(with_unit("count", 3.0), "3.00e0 (count)");
}

#[test]
fn a_name_stands_for_its_variant_and_others_say_what_they_are_not() {
    for &condition in Condition::ALL {
        let name = json!(condition.name());
        assert_eq!(serde_json::to_value(condition).unwrap(), name);
        assert_eq!(
            serde_json::from_value::<Condition>(name).unwrap(),
            condition
        );
    }
    let error = serde_json::from_value::<CoreClass>(json!("huge")).unwrap_err();
    assert_eq!(error.to_string(), "`huge` is no CoreClass");
}
