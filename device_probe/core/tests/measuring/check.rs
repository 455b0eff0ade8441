//! Documents that are no reports are refused, with the place, the reason and the nearest choice.

use std::sync::Arc;
use std::time::SystemTime;

use pocketsim_probe_core::host::{Host, Properties, Tree};
use pocketsim_probe_core::kernel::{Case, Depth, Group};
use pocketsim_probe_core::kernels::{catalogue, Surroundings};
use pocketsim_probe_core::report::check::{parse, Finding, FINDINGS_MAX};
use pocketsim_probe_core::report::figures::with_unit;
use pocketsim_probe_core::report::known::{known, KERNELS};
use pocketsim_probe_core::report::{Report, REPORT_BYTES_MAX};
use pocketsim_probe_core::run::{run_in, Options, World};
use pocketsim_probe_core::stop::Stop;
use proptest::prelude::*;
use serde_json::{json, Value};

use super::fakes::{experiment, plant, repeated, steady, work, Counter, FINE};

/// A report of a phone that does not exist: two sizes of a hash, one experiment.
fn report() -> Report {
    let folder = tempfile::tempdir().unwrap();
    plant(
        folder.path(),
        &[("sys/devices/system/cpu/cpu0/cpu_capacity", "1024")],
    );
    let hash = |bytes: f64| {
        let mut case: Case = repeated("sha256", Group::Crypto, move || {
            work(bytes * 1e-7);
            Ok(())
        });
        case.parameters.insert("bytes", bytes);
        case
    };
    let mut slow = experiment("sleep_overshoot", "overshoot_s", vec![1e-4; 1_500]);
    slow.parameters.insert("requested_s", 0.01);
    let world = World {
        host: Host::read(Tree::new(folder.path()), Properties::default()),
        time: &FINE,
        catalogue: vec![hash(64.0), hash(160.0), slow],
        fixed_kernel: Arc::new(|| Ok(Box::new(steady(1e-4)))),
        started_at: SystemTime::UNIX_EPOCH,
        core_to_core_s: || None,
    };
    let options = Options {
        threads_max: Some(1),
        ..Options::new(Depth::Full, "unused")
    };
    run_in(&world, &options, &Counter::default(), &Stop::new()).unwrap()
}

fn document() -> Value {
    serde_json::to_value(report()).unwrap()
}

fn findings(document: &Value) -> Vec<Finding> {
    parse(&document.to_string()).expect_err("no report")
}

#[test]
fn a_report_of_an_earlier_probe_is_one_with_what_no_probe_writes_any_more() {
    let mut document = document();
    let now = parse(&document.to_string()).expect("a report");
    document["made"]["near"] = json!(true);
    document["made"]["awake"] = json!(true);
    for state in ["before", "after"] {
        let state = document["conditions"][state].as_object_mut().unwrap();
        state.remove("core_to_core_s");
    }
    let detail = "2 of 9 steps of two cores, which did not come near or moved apart";
    document["spoiled"] = json!([{ "condition": "cores_apart", "detail": detail }]);
    let earlier = parse(&document.to_string()).expect("a report");
    assert_eq!(earlier.measurements, now.measurements);
    assert!(!earlier.to_json().contains("\"near\""));
}

/// What is found after `value` was put at `pointer`.
fn after(pointer: &str, value: Value) -> Vec<Finding> {
    let mut document = document();
    *document.pointer_mut(pointer).expect("a place in a report") = value;
    findings(&document)
}

#[test]
fn a_report_of_an_earlier_probe_is_one() {
    // The one that notebooks read: its kernels have other parameters than today's.
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let file = format!("{root}/pocketsim/notebooks/loopback_report.json");
    let text = std::fs::read_to_string(file).expect("it is shipped");
    assert_eq!(parse(&text).err(), None);
}

#[test]
fn what_the_probe_writes_is_valid_and_comes_back() {
    let report = report();
    assert_eq!(parse(&report.to_json()), Ok(report));
}

#[test]
fn a_misspelt_key_is_found_with_the_right_one() {
    let mut document = document();
    document["measurements"][1]["iteration_per_sample"] = json!(1);
    let found = &findings(&document)[0];
    assert_eq!(found.path, "/measurements/1");
    assert!(found.reason.contains("iteration_per_sample"), "{found:?}");
    assert_eq!(found.nearest.as_deref(), Some("iterations_per_sample"));
}

#[test]
fn a_misspelt_name_is_found_with_the_right_one() {
    let found = &after("/measurements/0/group", json!("cripto"))[0];
    assert_eq!(found.path, "/measurements/0/group");
    assert!(found.reason.contains("cripto"), "{found:?}");
    assert_eq!(found.nearest.as_deref(), Some("crypto"));
}

#[test]
fn a_missing_key_is_named() {
    let mut document = document();
    document["made"].as_object_mut().unwrap().remove("target");
    let found = &findings(&document)[0];
    assert_eq!(found.path, "/made");
    assert!(found.reason.contains("target"), "{found:?}");
}

#[test]
fn another_version_of_the_format_is_refused() {
    assert_eq!(
        after("/schema_version", json!(2))[0].path,
        "/schema_version"
    );
}

#[test]
fn numbers_that_contradict_each_other_are_found() {
    let samples = "/measurements/0/quantities/0/samples";
    let sketch = "/measurements/2/quantities/0/samples";
    for (pointer, value, place) in [
        (
            format!("{samples}/count"),
            json!(7),
            format!("{samples}/values"),
        ),
        (
            format!("{samples}/mean"),
            json!(6.5e-6),
            format!("{samples}/values"),
        ),
        (
            format!("{samples}/standard_deviation"),
            json!(1.0),
            format!("{samples}/values"),
        ),
        (format!("{samples}/median"), json!(1.0), samples.to_owned()),
        (
            format!("{samples}/minimum"),
            json!(-1.0),
            format!("{samples}/minimum"),
        ),
        (format!("{samples}/values"), json!(null), samples.to_owned()),
        (
            format!("{sketch}/quantiles/100"),
            json!(1.0),
            format!("{sketch}/quantiles"),
        ),
        (
            format!("{sketch}/quantiles/0"),
            json!(0.0),
            format!("{sketch}/quantiles"),
        ),
        (
            "/measurements/0/status".into(),
            json!("not_measured"),
            "/measurements/0/quantities".into(),
        ),
        (
            "/measurements/0/quantities".into(),
            json!([]),
            "/measurements/0/quantities".into(),
        ),
        (
            "/measurements/0/group".into(),
            json!("udp"),
            "/measurements/0/group".into(),
        ),
        (
            "/measurements/0/parameters".into(),
            json!({}),
            "/measurements/0/parameters".into(),
        ),
        (
            "/measurements/0/quantities/1/name".into(),
            json!("cpu_ms"),
            "/measurements/0/quantities".into(),
        ),
        (
            "/measurements/0/quantities/1/name".into(),
            json!("wall_s"),
            "/measurements/0/quantities".into(),
        ),
        (
            "/measurements/0/parameters/bytes".into(),
            json!(160.0),
            "/measurements/1".into(),
        ),
        (
            "/throttle/baseline_s".into(),
            json!(0.0),
            "/throttle/baseline_s".into(),
        ),
    ] {
        let found = after(&pointer, value);
        assert!(
            found.iter().any(|f| f.path == place),
            "{pointer}: {found:?}"
        );
    }
}

#[test]
fn kernels_of_other_probes_are_let_through() {
    let mut document = document();
    document["measurements"][0]["kernel"] = json!("dilithium_sign");
    assert!(parse(&document.to_string()).is_ok());
}

#[test]
fn what_is_no_json_is_refused() {
    for text in ["", "{", "[]", "null", "\u{0}"] {
        assert!(parse(text).is_err(), "{text:?}");
    }
    let huge = " ".repeat(REPORT_BYTES_MAX + 1);
    assert!(parse(&huge).unwrap_err()[0].reason.contains("larger"));
}

#[test]
fn findings_are_bounded() {
    let mut document = document();
    let wrong = json!({"kernel": 1});
    document["measurements"] = Value::Array(vec![wrong; 1_000]);
    assert_eq!(findings(&document).len(), FINDINGS_MAX);
}

#[test]
fn figures_have_units_that_suit_them() {
    assert_eq!(with_unit("wall_s", 52.1e-6), "52.1 us");
    assert_eq!(with_unit("rtt_s", 2.5), "2.50 s");
    assert_eq!(with_unit("loss_ratio", 0.25), "25.00 %");
    assert_eq!(with_unit("capacity_datagrams", 277.0), "277 datagrams");
}

#[test]
fn known_kernels_have_one_entry_each() {
    for (number, entry) in KERNELS.iter().enumerate() {
        let first = KERNELS
            .iter()
            .position(|other| other.kernel == entry.kernel);
        assert_eq!(first, Some(number), "{}", entry.kernel);
    }
}

#[test]
fn the_catalogue_keeps_to_what_calibration_relies_on() {
    for depth in [Depth::Quick, Depth::Full] {
        let surroundings = Surroundings {
            depth,
            scratch: std::env::temp_dir(),
            peer: None,
        };
        for case in catalogue(&surroundings) {
            let known =
                known(case.kernel).unwrap_or_else(|| panic!("`{}` is new: add it", case.kernel));
            assert_eq!(known.group, case.group, "{}", case.kernel);
            for name in known.parameters {
                assert!(
                    case.parameters.contains_key(name),
                    "{} lacks {name}",
                    case.kernel
                );
            }
        }
    }
}

/// Every place in a document.
fn pointers(value: &Value, here: String, found: &mut Vec<String>) {
    match value {
        Value::Object(object) => object.iter().for_each(|(key, inner)| {
            pointers(inner, format!("{here}/{key}"), found);
        }),
        Value::Array(array) => array.iter().enumerate().for_each(|(number, inner)| {
            pointers(inner, format!("{here}/{number}"), found);
        }),
        _ => {}
    }
    found.push(here);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn schema_and_types_agree_on_what_a_report_is(
        place in any::<prop::sample::Index>(),
        value in prop::sample::select(vec![
            json!(null), json!(true), json!(-1), json!(0.5), json!("text"), json!([]), json!({}),
        ]),
    ) {
        let mut document = small();
        let mut places = Vec::new();
        pointers(&document, String::new(), &mut places);
        *document.pointer_mut(&places[place.index(places.len())]).unwrap() = value;
        let by_types = serde_json::from_value::<Report>(document.clone()).is_ok();
        let by_schema = jsonschema::is_valid(&pocketsim_probe_core::report::schema::schema(), &document);
        // The schema also knows ranges, so what it lets through the types must let through.
        prop_assert!(by_types || !by_schema, "{}", document);
        let _ = parse(&document.to_string());
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let _ = parse(&text);
    }
}

/// A report with few numbers, so that a random place is rarely one of many values.
fn small() -> Value {
    use std::sync::OnceLock;
    static SMALL: OnceLock<Value> = OnceLock::new();
    let make = || {
        let mut document = document();
        for measurement in document["measurements"].as_array_mut().unwrap() {
            measurement["quantities"] = json!([measurement["quantities"][0]]);
            measurement["quantities"][0]["samples"]["values"] = json!([1.0]);
        }
        document["conditions"]["before"]["battery"] = json!({"level_ratio": 0.5});
        document["spoiled"] = json!([{"condition": "noisy", "detail": "x"}]);
        document
    };
    SMALL.get_or_init(make).clone()
}
