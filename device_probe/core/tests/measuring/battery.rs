//! The kernel of the battery, with batteries that do not exist; it never waits here: a time limit
//! below the interval between readings leaves it the first one.

use std::path::Path;
use std::time::Duration;

use pocketsim_probe_core::host::{Extras, HostExtras, Tree};
use pocketsim_probe_core::kernel::{Budget, Case, Group, Series, Unmeasured, Work};
use pocketsim_probe_core::kernels::battery;
use pocketsim_probe_core::stop::Stop;

use super::fakes::{fine_clock, plant};

const SUPPLY: &str = "sys/class/power_supply/battery";

fn supply(current_now: &str, status: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in [
        ("type", "Battery"),
        ("current_now", current_now),
        ("status", status),
    ] {
        plant(folder.path(), &[(&format!("{SUPPLY}/{file}"), text)]);
    }
    folder
}

fn case(root: &Path, extras: Extras) -> Case {
    let mut cases = battery::cases(&Tree::new(root), extras);
    assert_eq!(cases.len(), 1);
    cases.remove(0)
}

fn measured(root: &Path, extras: Extras) -> Result<Vec<Series>, Unmeasured> {
    let Work::Experiment(take) = case(root, extras).work else {
        panic!("a battery sets its own pace");
    };
    let clock = fine_clock();
    take(&Budget {
        clock: &clock,
        samples: 10,
        time_limit: Duration::ZERO,
        stop: &Stop::new(),
    })
}

fn current_a(values: &[f64]) -> Result<Vec<Series>, Unmeasured> {
    Ok(vec![Series {
        quantity: "current_a",
        values: values.to_vec(),
    }])
}

#[test]
fn it_is_one_experiment_on_one_thread() {
    let folder = supply("-300000", "Discharging");
    let case = case(folder.path(), Extras::default());
    assert_eq!(
        (case.kernel, case.group),
        ("battery_current", Group::Battery)
    );
    assert!(case.parameters.is_empty() && !case.scales);
}

#[test]
fn the_driver_s_microamperes_become_amperes() {
    let folder = supply("-300000", "Discharging");
    assert_eq!(
        measured(folder.path(), Extras::default()),
        current_a(&[-0.3])
    );
}

#[test]
fn milliamperes_are_known_by_their_size_while_it_powers_the_device() {
    let folder = supply("412", "Discharging");
    assert_eq!(
        measured(folder.path(), Extras::default()),
        current_a(&[0.412])
    );
}

#[test]
fn what_java_says_of_current_and_status_goes_before_the_driver() {
    let folder = supply("1", "Charging");
    let app = Extras::live(|| HostExtras {
        battery_current_a: Some(-0.25),
        battery_status: Some("Discharging".to_owned()),
        ..HostExtras::default()
    });
    assert_eq!(measured(folder.path(), app), current_a(&[-0.25]));
}

#[test]
fn a_current_of_either_unit_is_not_measured() {
    let folder = supply("412", "Charging");
    let unclear = measured(folder.path(), Extras::default()).expect_err("either unit");
    assert!(unclear.0.contains("milliamperes"), "{unclear}");
}

#[test]
fn a_device_without_a_battery_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let none = measured(folder.path(), Extras::default()).expect_err("no battery");
    assert!(none.0.contains("no battery"), "{none}");
}
