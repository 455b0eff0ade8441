//! The clock is measured before anything is measured with it, and refused if it is none.

use pocketsim_probe_core::clock::{Clock, SystemTimeSource, TimeSource};
use proptest::prelude::*;

use super::fakes::{wait, FakeTime, FINE};

#[test]
fn the_clock_of_this_machine_is_usable() {
    let clock = Clock::measure();
    assert!(clock.resolution_s > 0.0 && clock.resolution_s < 0.1);
    assert!(clock.read_s >= 0.0 && clock.read_s < 1e-3);
}

#[test]
fn cpu_time_counts_work_and_not_sleep() {
    let time = SystemTimeSource;
    let before_s = time.thread_cpu_s();
    time.sleep(0.02);
    let slept_s = time.thread_cpu_s() - before_s;
    assert!(slept_s < 0.02, "a sleeper used {slept_s} s of CPU");
}

#[test]
fn a_coarse_clock_shows_its_step() {
    let time = FakeTime {
        step_s: 0.01,
        read_s: 1e-5,
        cpu_read_s: 2e-5,
    };
    let clock = Clock::of(&time).unwrap();
    assert!((clock.resolution_s - 0.01).abs() < 1e-9);
}

struct Broken(f64);

impl TimeSource for Broken {
    fn wall_s(&self) -> f64 {
        wait(self.0);
        FINE.wall_s()
    }
    fn thread_cpu_s(&self) -> f64 {
        0.0
    }
    fn sleep(&self, _duration_s: f64) {}
}

#[test]
fn a_clock_that_runs_backwards_is_refused() {
    let error = Clock::of(&Broken(-1.0)).unwrap_err();
    assert!(error.0.contains("backwards"), "{error}");
}

#[test]
fn a_clock_that_steps_by_seconds_is_refused() {
    assert!(Clock::of(&Broken(2.0)).is_err());
}

proptest! {
    #[test]
    fn costs_of_reading_are_found(read_ns in 5.0..5e3_f64, cpu_read_ns in 5.0..5e4_f64) {
        let time = FakeTime { step_s: 1e-10, read_s: read_ns * 1e-9, cpu_read_s: cpu_read_ns * 1e-9 };
        let clock = Clock::of(&time).unwrap();
        // A batch encloses one reading more than it counts, of 200.
        prop_assert!((clock.read_s / time.read_s - 1.0).abs() < 0.05);
        prop_assert!((clock.cpu_read_s - time.cpu_read_s).abs() < 0.05 * time.cpu_read_s + time.read_s / 100.0);
    }
}
