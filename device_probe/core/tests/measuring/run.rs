//! Whole runs over cases that are made up, on a clock that moves only when it is told to.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use pocketsim_probe_core::host::{Extras, Host, HostExtras, Properties, Tree};
use pocketsim_probe_core::kernel::{Case, Depth, Group, Unmeasured, Work};
use pocketsim_probe_core::report::{
    Condition, Measurement, Report, State, Status, REPORT_BYTES_MAX,
};
use pocketsim_probe_core::run::{run_in, Options, World};
use pocketsim_probe_core::stop::Stop;
use tempfile::TempDir;

mod spoiled;

use super::fakes::{experiment, plant, repeated, steady, wait, work, Counter, FINE};

struct Device {
    folder: TempDir,
    properties: &'static str,
}

impl Device {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        plant(folder.path(), files);
        Self {
            folder,
            properties: "",
        }
    }

    fn world(&self, catalogue: Vec<Case>) -> World<'static> {
        World {
            host: Host::read(
                Tree::new(self.folder.path()),
                Properties::parse(self.properties),
            ),
            time: &FINE,
            catalogue,
            fixed_kernel: Arc::new(|| Ok(Box::new(steady(1e-4)))),
            started_at: SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000),
            core_to_core_s: || None,
        }
    }
}

fn options(depth: Depth) -> Options {
    Options {
        threads_max: Some(1),
        ..Options::new(depth, "unused")
    }
}

fn run(options: &Options, catalogue: Vec<Case>, stop: &Stop) -> Report {
    let world = Device::new(&[]).world(catalogue);
    run_in(&world, options, &Counter::default(), stop).unwrap()
}

fn full(catalogue: Vec<Case>) -> Report {
    run(&options(Depth::Full), catalogue, &Stop::new())
}

fn steady_case(kernel: &'static str) -> Case {
    repeated(kernel, Group::Crypto, || {
        work(1e-4);
        Ok(())
    })
}

fn conditions(report: &Report) -> Vec<Condition> {
    // How the tests were compiled does not matter here.
    let found = report.spoiled.iter().map(|spoiled| spoiled.condition);
    found
        .filter(|condition| *condition != Condition::DebugBuild)
        .collect()
}

fn wall_median_s(measurement: &Measurement) -> f64 {
    let wall = measurement.quantities.iter().find(|q| q.name == "wall_s");
    wall.unwrap().samples.median
}

#[test]
fn a_full_run_goes_over_its_cases_three_times() {
    let counter = Counter::default();
    let catalogue = vec![
        steady_case("a"),
        experiment("b", "overshoot_s", vec![0.5, 0.25]),
        steady_case("c"),
    ];
    let world = Device::new(&[]).world(catalogue);
    let report = run_in(&world, &options(Depth::Full), &counter, &Stop::new()).unwrap();
    assert_eq!(counter.started.into_inner(), 9);
    assert_eq!(counter.measured.into_inner(), 9);
    let rounds: Vec<_> = report.measurements.iter().map(|m| m.rounds.len()).collect();
    assert_eq!(rounds, [3, 3, 3]);
    assert!((wall_median_s(&report.measurements[0]) / 1e-4 - 1.0).abs() < 0.01);
    assert_eq!(
        report.measurements[1].quantities[0].samples.values,
        Some([0.5, 0.25].repeat(3))
    );
    assert_eq!(conditions(&report), []);
    assert_eq!(report.made.started_at, "2023-11-14T22:13:20Z");
}

#[test]
fn rounds_interleave_the_cases() {
    let report = full(vec![steady_case("a"), steady_case("b")]);
    let [a, b] = &report.measurements[..] else {
        panic!("two cases")
    };
    for round in 0..2 {
        assert!(a.rounds[round].at_s < b.rounds[round].at_s);
        assert!(b.rounds[round].at_s < a.rounds[round + 1].at_s);
    }
}

#[test]
fn a_quick_run_goes_twice() {
    let report = run(&options(Depth::Quick), vec![steady_case("a")], &Stop::new());
    assert_eq!(
        (report.made.rounds, report.measurements[0].rounds.len()),
        (2, 2)
    );
}

#[test]
fn a_refused_case_is_reported_with_its_reason() {
    let refused = repeated("file_read", Group::Storage, || {
        Err(Unmeasured::because("read-only"))
    });
    let report = full(vec![
        refused,
        experiment("silent", "rtt_s", vec![]),
        steady_case("a"),
    ]);
    let [first, silent, last] = &report.measurements[..] else {
        panic!("three cases")
    };
    assert_eq!(
        (first.status, first.reason.as_deref()),
        (Status::NotMeasured, Some("read-only"))
    );
    assert_eq!(
        (silent.status, silent.reason.as_deref()),
        (Status::NotMeasured, Some("it gave no sample"))
    );
    assert_eq!(
        (last.status, last.reason.as_deref()),
        (Status::Measured, None)
    );
}

#[test]
fn a_failure_in_a_later_round_keeps_the_earlier_ones() {
    let made = Arc::new(AtomicU64::new(0));
    let mut case = steady_case("a");
    case.work = Work::Repeat(Arc::new(move || {
        match made.fetch_add(1, Ordering::Relaxed) {
            0 => Ok(Box::new(|| {
                work(1e-4);
                Ok(())
            })),
            _ => Err(Unmeasured::because("gone")),
        }
    }));
    let report = full(vec![case]);
    let measurement = &report.measurements[0];
    assert_eq!(
        (measurement.status, measurement.rounds.len()),
        (Status::Measured, 1)
    );
    assert_eq!(measurement.reason.as_deref(), Some("gone"));
}

#[test]
fn a_stopped_run_reports_what_it_has() {
    let stop = Stop::new();
    let raise = stop.clone();
    let stopping = repeated("a", Group::Crypto, move || {
        work(1e-4);
        raise.raise();
        Ok(())
    });
    let report = run(
        &options(Depth::Full),
        vec![stopping, steady_case("b")],
        &stop,
    );
    assert!(report.made.stopped && !report.clean());
    assert_eq!(conditions(&report), [Condition::Stopped]);
    let statuses: Vec<_> = report.measurements.iter().map(|m| m.status).collect();
    assert_eq!(statuses, [Status::Measured, Status::NotMeasured]);
}

#[test]
fn only_what_is_wanted_is_measured() {
    let wish = |only: &[&str]| Options {
        only: only.iter().map(|wish| (*wish).to_owned()).collect(),
        ..options(Depth::Quick)
    };
    let catalogue = || {
        vec![
            steady_case("sha256"),
            steady_case("ed25519_sign"),
            experiment("sleep", "overshoot_s", vec![1.0]),
        ]
    };
    let names = |options: &Options| {
        let report = run(options, catalogue(), &Stop::new());
        report
            .measurements
            .iter()
            .map(|m| m.kernel.clone())
            .collect::<Vec<_>>()
    };
    assert_eq!(names(&wish(&["ed*"])), ["ed25519_sign"]);
    assert_eq!(names(&wish(&["crypto"])), ["sha256", "ed25519_sign"]);
    assert_eq!(names(&wish(&["scheduling", "sha???"])), ["sha256", "sleep"]);
    let world = Device::new(&[]).world(catalogue());
    let error = run_in(&world, &wish(&["crypt"]), &Counter::default(), &Stop::new()).unwrap_err();
    assert!(
        error.0.contains("`crypt`") && error.0.contains("crypto") && error.0.contains("sha256")
    );
}

#[test]
fn impossible_numbers_of_threads_are_refused() {
    for threads in [0, 65] {
        let options = Options {
            threads_max: Some(threads),
            ..options(Depth::Quick)
        };
        let world = Device::new(&[]).world(vec![steady_case("a")]);
        assert!(run_in(&world, &options, &Counter::default(), &Stop::new()).is_err());
    }
}

#[test]
fn cores_that_the_kernel_keeps_away_are_not_measured() {
    let cpu = |n: u32| format!("sys/devices/system/cpu/cpu{n}/cpu_capacity");
    let files = [(cpu(900), "512"), (cpu(901), "1024")];
    let files: Vec<_> = files
        .iter()
        .map(|(path, text)| (path.as_str(), *text))
        .collect();
    let world = Device::new(&files).world(vec![Case {
        scales: true,
        ..steady_case("a")
    }]);
    let report = run_in(
        &world,
        &options(Depth::Full),
        &Counter::default(),
        &Stop::new(),
    )
    .unwrap();
    let pinned: Vec<_> = report
        .measurements
        .iter()
        .filter(|m| m.core_class.is_some())
        .collect();
    assert_eq!(pinned.len(), 2);
    assert!(pinned
        .iter()
        .all(|m| m.status == Status::NotMeasured && m.reason.is_some()));
}

#[test]
fn the_longest_report_stays_below_its_bound() {
    // Digits of the worst kind: seven, a sign in the exponent, and a leading zero that helps nobody.
    let three = |count: u32| {
        let values: Vec<f64> = (0..count)
            .map(|n| 1.234567e-7 * (1.0 + f64::from(n) * 1e-3))
            .collect();
        ["wall_s", "cpu_s", "rate_per_s"].map(|quantity| pocketsim_probe_core::kernel::Series {
            quantity,
            values: values.clone(),
        })
    };
    // The first have more samples than are kept, and must not use up what the others may have.
    let numbered = |number: u32| {
        let mut case = experiment("a_kernel_with_a_rather_long_name", "wall_s", vec![]);
        let series = three(if number < 50 { 1_000 } else { 333 });
        case.work = Work::Experiment(Arc::new(move |_| Ok(series.to_vec())));
        case.parameters.insert("bytes", f64::from(number));
        case
    };
    let report = full((0..2_000).map(numbered).collect());
    let bytes = report.to_json().len();
    assert!(bytes < REPORT_BYTES_MAX, "{bytes} bytes");
    let kept = |m: &&Measurement| m.quantities[0].samples.values.is_some();
    assert_eq!(
        report.measurements.iter().filter(kept).count(),
        100,
        "300 000 values in all"
    );
}
