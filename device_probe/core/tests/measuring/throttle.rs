//! The fixed kernel is seen to become slower, and the device may cool down.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use pocketsim_probe_core::clock::TimeSource;
use pocketsim_probe_core::host::affinity::allowed_cores;
use pocketsim_probe_core::host::{Extras, HostExtras};
use pocketsim_probe_core::kernel::Depth;
use pocketsim_probe_core::report::CoreClass;
use pocketsim_probe_core::run::throttle::{Detector, Place};
use pocketsim_probe_core::sampler::{Plan, Sampler};
use pocketsim_probe_core::stop::Stop;

use super::fakes::{fine_clock, steady, wait, work, FINE};

/// A fixed kernel whose duration follows the script, one entry a look.
fn throttling(script: Vec<f64>, pause_max_s: f64) -> (Vec<f64>, f64) {
    let clock = fine_clock();
    let stop = Stop::new();
    let plan = Plan {
        sample_s: 1e-4,
        warm_up_s: 0.05,
        samples_s: 0.05,
        samples_max: 10,
    };
    let sampler = Sampler {
        time: &FINE,
        clock: &clock,
        plan,
        stop: &stop,
    };
    let now_ns = Arc::new(AtomicU64::new(1_000_000));
    let duration_ns = Arc::clone(&now_ns);
    let kernel = move || {
        work(duration_ns.load(Ordering::Relaxed) as f64 * 1e-9);
        Ok(())
    };
    let mut detector = Detector::with(Box::new(kernel), &sampler, Place::default()).unwrap();
    for ratio in script {
        now_ns.store((ratio * 1e6) as u64, Ordering::Relaxed);
        wait(10.0);
        detector.look(&sampler, 5.0, pause_max_s).unwrap();
    }
    let figures = detector.figures();
    (
        figures.checks.iter().map(|check| check.ratio).collect(),
        figures.paused_s,
    )
}

#[test]
fn a_slower_kernel_is_seen() {
    let (ratios, paused_s) = throttling(vec![1.0, 1.05, 1.5], 0.0);
    for (ratio, expected) in ratios.iter().zip([1.0, 1.05, 1.5]) {
        assert!((ratio - expected).abs() < 1e-3, "{ratios:?}");
    }
    assert_eq!((ratios.len(), paused_s), (3, 0.0));
}

#[test]
fn a_hot_device_may_cool_down_but_not_for_ever() {
    let (ratios, paused_s) = throttling(vec![1.5, 1.5, 1.0], 60.0);
    assert_eq!(paused_s, 60.0, "all of the patience goes to the first look");
    assert_eq!(ratios.len(), 13 + 1 + 1);
}

#[test]
fn nobody_looks_before_the_interval_is_over() {
    let clock = fine_clock();
    let stop = Stop::new();
    let plan = Plan::of(Depth::Quick, 0.1, &clock);
    let sampler = Sampler {
        time: &FINE,
        clock: &clock,
        plan,
        stop: &stop,
    };
    let kernel = || {
        work(1e-3);
        Ok(())
    };
    let mut detector = Detector::with(Box::new(kernel), &sampler, Place::default()).unwrap();
    detector.look(&sampler, 5.0, 0.0).unwrap();
    assert!(detector.figures().checks.is_empty());
    wait(5.0);
    detector.look(&sampler, 5.0, 0.0).unwrap();
    assert_eq!(detector.figures().checks.len(), 1);
}

fn steady_detector(place: Place, stop: &Stop, test: impl FnOnce(Detector, Sampler<'_>)) {
    let clock = fine_clock();
    let plan = Plan::of(Depth::Quick, 0.1, &clock);
    let sampler = Sampler {
        time: &FINE,
        clock: &clock,
        plan,
        stop,
    };
    let kernel = Box::new(steady(1e-3));
    test(Detector::with(kernel, &sampler, place).unwrap(), sampler);
}

#[test]
fn checks_count_from_the_start_of_the_run_and_know_the_thermal_status() {
    let place = Place {
        start_s: FINE.wall_s() - 1_000.0,
        extras: Extras::live(|| HostExtras {
            thermal_status: Some(1),
            ..HostExtras::default()
        }),
        ..Place::default()
    };
    steady_detector(place, &Stop::new(), |mut detector, sampler| {
        detector.look(&sampler, 0.0, 0.0).unwrap();
        let check = &detector.figures().checks[0];
        assert!(check.at_s > 1_000.0, "{check:?}");
        assert_eq!(check.thermal_status, Some(1));
    });
}

#[test]
fn the_kernel_stays_on_cores_that_there_are() {
    for (core, expected) in [(allowed_cores()[0], Some(CoreClass::Big)), (1_000, None)] {
        let place = Place {
            cores: Some((CoreClass::Big, vec![core])),
            ..Place::default()
        };
        steady_detector(place, &Stop::new(), |detector, _| {
            let figures = detector.figures();
            assert_eq!(figures.core_class, expected);
            assert!((figures.baseline_s / 1e-3 - 1.0).abs() < 0.01);
        });
    }
}

#[test]
fn the_baseline_is_the_fastest_try_after_a_warm_up() {
    let calls = AtomicU64::new(0);
    let kernel = move || {
        // 200 ms of warm-up, then a try that a neighbour disturbs, then quiet.
        let disturbed = calls.fetch_add(1, Ordering::Relaxed) < 150;
        work(if disturbed { 2e-3 } else { 1e-3 });
        Ok(())
    };
    let clock = fine_clock();
    let stop = Stop::new();
    let sampler = Sampler {
        time: &FINE,
        clock: &clock,
        plan: Plan::of(Depth::Quick, 0.1, &clock),
        stop: &stop,
    };
    let detector = Detector::with(Box::new(kernel), &sampler, Place::default()).unwrap();
    assert!((detector.figures().baseline_s / 1e-3 - 1.0).abs() < 0.01);
}
