//! Warm-up, batches and threads, on a clock that moves only when it is told to.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Arc;

use pocketsim_probe_core::clock::Clock;
use pocketsim_probe_core::kernel::{Depth, Repeat, Unmeasured};
use pocketsim_probe_core::sampler::threads::{self, rates_per_s, Progress};
use pocketsim_probe_core::sampler::{Plan, Sample, Sampler, Settling, Taken};
use pocketsim_probe_core::stop::Stop;
use proptest::prelude::*;

use super::fakes::{fine_clock, steady, wait, work, FINE};

const PLAN: Plan = Plan {
    sample_s: 1e-3,
    warm_up_s: 0.1,
    samples_s: 0.2,
    samples_max: 1_000,
};

fn with<R>(plan: Plan, stop: &Stop, test: impl FnOnce(Sampler<'_>) -> R) -> R {
    let clock = fine_clock();
    test(Sampler {
        time: &FINE,
        clock: &clock,
        plan,
        stop,
    })
}

fn sample(mut work: impl Repeat) -> Taken {
    with(PLAN, &Stop::new(), |sampler| {
        sampler.sample(&mut work).unwrap()
    })
}

fn wall_s(taken: &Taken) -> &[f64] {
    assert_eq!(taken.series[0].quantity, "wall_s");
    &taken.series[0].values
}

fn cpu_s(taken: &Taken) -> &[f64] {
    assert_eq!(taken.series[1].quantity, "cpu_s");
    &taken.series[1].values
}

/// Noise of some per cent, and an interrupt in every tenth sample.
fn jitter(number: u64) -> f64 {
    let noise = (number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) as f64 / (1 << 24) as f64;
    0.95 + 0.1 * noise + if number % 10 == 3 { 2.0 } else { 0.0 }
}

#[test]
fn a_noisy_operation_settles_within_the_shortest_warm_up() {
    let clock = fine_clock();
    let plan = Plan::of(Depth::Full, 0.06, &clock);
    let settled = |start: u64| {
        let mut calls = start;
        let mut noisy = move || {
            calls += 1;
            work(1e-3 * jitter(calls));
            Ok(())
        };
        let warm = with(plan, &Stop::new(), |sampler| sampler.warm_up(&mut noisy));
        warm.unwrap().warm_up.settled
    };
    let count = (0..100).filter(|start| settled(start * 1_000)).count();
    assert!(count >= 95, "{count} of 100");
}

#[test]
fn a_warm_up_lasts_as_long_as_a_governor_needs() {
    let mut operation = steady(1e-3);
    let warm = with(PLAN, &Stop::new(), |sampler| {
        sampler.warm_up(&mut operation)
    });
    let warm_up = warm.unwrap().warm_up;
    assert!((20..25).contains(&warm_up.samples), "{warm_up:?}");
}

proptest! {
    #[test]
    fn what_an_operation_takes_comes_out(exponent in -8.0..-1.5_f64) {
        let duration_s = 10_f64.powf(exponent);
        let taken = sample(steady(duration_s));
        for value in wall_s(&taken).iter().chain(cpu_s(&taken)) {
            prop_assert!((value / duration_s - 1.0).abs() < 0.01, "{value} for {duration_s}");
        }
    }

    #[test]
    fn a_sample_is_as_long_as_planned(exponent in -8.0..-3.5_f64) {
        let duration_s = 10_f64.powf(exponent);
        let lasts_s = sample(steady(duration_s)).iterations.unwrap() as f64 * duration_s;
        prop_assert!((0.4e-3..2e-3).contains(&lasts_s), "{lasts_s}");
    }

    #[test]
    fn durations_of_one_value_settle_and_growing_ones_do_not(value in 1e-9..1.0_f64) {
        let (mut constant, mut growing) = (Settling::default(), Settling::default());
        for number in 0..200 {
            constant.add(value);
            growing.add(value * 1.1_f64.powi(number));
        }
        prop_assert!(constant.has_settled());
        prop_assert!(!growing.has_settled());
    }

    #[test]
    fn rates_add_up_to_the_operations_done(iterations in 1_u64..1000, sample_ms in 1.0..50.0_f64) {
        let progress = progress(iterations, sample_ms * 1e-3, 40);
        let both = [&progress, &progress];
        for rate in rates_per_s(&both) {
            let expected = 2.0 * iterations as f64 / (sample_ms * 1e-3);
            prop_assert!((rate / expected - 1.0).abs() < 1e-6);
        }
    }
}

fn progress(iterations: u64, sample_s: f64, samples: usize) -> Progress {
    let sample = |number: usize| Sample {
        end_s: 5.0 + sample_s * (number + 1) as f64,
        wall_s: sample_s / iterations as f64,
        cpu_s: sample_s / iterations as f64,
    };
    Progress {
        start_s: 5.0,
        iterations,
        samples: (0..samples).map(sample).collect(),
    }
}

#[test]
fn a_coarse_clock_makes_longer_samples() {
    let mut clock = fine_clock();
    clock.resolution_s = 1e-4;
    assert_eq!(Plan::of(Depth::Quick, 0.15, &clock).sample_s, 0.1);
    clock.resolution_s = 1e-9;
    assert!(Plan::of(Depth::Quick, 0.15, &clock).sample_s < 1e-3);
}

#[test]
fn waiting_is_wall_time_and_not_cpu_time() {
    let taken = sample(|| {
        work(1e-4);
        wait(3e-4);
        Ok(())
    });
    assert!((wall_s(&taken)[0] - 4e-4).abs() < 1e-6);
    assert!((cpu_s(&taken)[0] - 1e-4).abs() < 1e-6);
}

#[test]
fn samples_begin_when_the_durations_have_settled() {
    let mut above_s = 2e-3;
    let taken = sample(move || {
        above_s *= 0.8;
        work(1e-3 + above_s);
        Ok(())
    });
    let warm_up = taken.warm_up.as_ref().unwrap();
    assert!(warm_up.settled);
    assert!(warm_up.samples > 20);
    assert!(wall_s(&taken).iter().all(|value| *value < 1.1e-3));
}

#[test]
fn a_slow_first_call_does_not_decide_the_size_of_samples() {
    let mut calls = 0_u64;
    let taken = sample(move || {
        calls += 1;
        work(if calls == 1 { 0.01 } else { 1e-6 });
        Ok(())
    });
    assert!(taken.iterations.unwrap() > 300, "{:?}", taken.iterations);
}

#[test]
fn what_never_settles_says_so_and_ends() {
    let mut duration_s = 1e-3;
    let taken = sample(move || {
        duration_s *= 1.05;
        work(duration_s);
        Ok(())
    });
    assert!(!taken.warm_up.unwrap().settled);
}

#[test]
fn a_long_operation_gets_few_samples_but_some() {
    assert_eq!(wall_s(&sample(steady(0.15))).len(), 3);
    assert_eq!(wall_s(&sample(steady(60.0))).len(), 1);
}

#[test]
fn samples_end_at_their_limit() {
    let plan = Plan {
        samples_max: 7,
        ..PLAN
    };
    let taken = with(plan, &Stop::new(), |sampler| {
        sampler.sample(&mut steady(1e-6)).unwrap()
    });
    assert_eq!(wall_s(&taken).len(), 7);
}

/// Every seventh operation costs more, and tidying up costs most.
struct Periodic(u64);

impl Repeat for Periodic {
    fn run(&mut self, iterations: u64) -> Result<(), Unmeasured> {
        for _ in 0..iterations {
            self.0 += 1;
            work(if self.0 % 7 == 0 { 1e-3 } else { 1e-6 });
        }
        Ok(())
    }

    fn period(&self) -> u64 {
        7
    }

    fn tidy(&mut self) -> Result<(), Unmeasured> {
        work(1.0);
        Ok(())
    }
}

#[test]
fn samples_hold_whole_periods_and_no_tidying() {
    let taken = sample(Periodic(3));
    assert_eq!(taken.iterations.unwrap() % 7, 0);
    let mean_s = (1e-3 + 6.0 * 1e-6) / 7.0;
    for value in [wall_s(&taken), cpu_s(&taken)].concat() {
        assert!((value / mean_s - 1.0).abs() < 1e-3, "{value}");
    }
}

#[test]
fn a_stop_ends_with_the_sample_at_hand() {
    let stop = Stop::new();
    let raise = stop.clone();
    let mut calls = 0;
    let mut operation = move || {
        calls += 1;
        if calls == 60 {
            raise.raise();
        }
        work(1e-3);
        Ok(())
    };
    let taken = with(PLAN, &stop, |sampler| {
        sampler.sample(&mut operation).unwrap()
    });
    let warm_up = taken.warm_up.as_ref().unwrap();
    assert_eq!(warm_up.samples as usize + wall_s(&taken).len(), 60);
}

#[test]
fn a_refusal_of_the_system_is_passed_on() {
    let mut refusing = || Err(Unmeasured::because("disk full"));
    let result = with(PLAN, &Stop::new(), |sampler| sampler.sample(&mut refusing));
    assert_eq!(result.unwrap_err().0, "disk full");
}

fn on_threads(
    threads: usize,
    make: impl Fn() -> Result<Box<dyn Repeat>, Unmeasured> + Send + Sync,
) -> Result<Taken, Unmeasured> {
    with(PLAN, &Stop::new(), |sampler| {
        threads::sample(&sampler, &make, threads)
    })
}

#[test]
fn each_thread_has_an_instance_and_the_rate_counts_all() {
    let made = AtomicUsize::new(0);
    let taken = on_threads(3, || {
        made.fetch_add(1, Ordering::Relaxed);
        Ok(Box::new(steady(1e-4)))
    });
    let taken = taken.unwrap();
    assert_eq!(made.into_inner(), 3);
    let rates = &taken.series[2];
    assert_eq!(rates.quantity, "rate_per_s");
    for rate in &rates.values {
        assert!((rate / 3e4 - 1.0).abs() < 0.02, "{rate}");
    }
    assert!(wall_s(&taken)
        .iter()
        .all(|value| (value / 1e-4 - 1.0).abs() < 0.01));
}

#[test]
fn a_thread_that_is_ready_works_on_until_all_are() {
    let (instances, calls) = (AtomicUsize::new(0), Arc::new(AtomicUsize::new(0)));
    // More than the longest warm-up makes, so that only the way to the start can bring them.
    let many = 5_000;
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
    let taken = on_threads(2, || {
        let slow = instances.fetch_add(1, Ordering::Relaxed) == 1;
        while slow && calls.load(Ordering::Relaxed) < many {
            assert!(std::time::Instant::now() < deadline, "the other one rests");
            std::thread::yield_now();
        }
        let calls = calls.clone();
        Ok(Box::new(move || {
            calls.fetch_add(1, Ordering::Relaxed);
            work(1e-3);
            Ok(())
        }))
    });
    assert!(taken.is_ok());
}

#[test]
fn nobody_waits_for_a_thread_that_failed() {
    let made = AtomicUsize::new(0);
    let result = on_threads(3, || match made.fetch_add(1, Ordering::Relaxed) {
        1 => Err(Unmeasured::because("no more memory")),
        _ => Ok(Box::new(steady(1e-4))),
    });
    assert_eq!(result.unwrap_err().0, "no more memory");
}

#[test]
#[should_panic(expected = "a fault of ours")]
fn a_panic_on_a_thread_is_passed_on() {
    let made = Arc::new(AtomicUsize::new(0));
    let _ = on_threads(2, || {
        let first = made.fetch_add(1, Ordering::Relaxed) == 0;
        Ok(Box::new(move || {
            assert!(first, "a fault of ours");
            work(1e-4);
            Ok(())
        }))
    });
}

#[test]
fn rates_of_threads_that_never_overlap_are_none() {
    let (early, mut late) = (progress(1, 1e-3, 5), progress(1, 1e-3, 5));
    late.start_s = 9.0;
    assert!(rates_per_s(&[&early, &late]).is_empty());
}

#[test]
fn the_cost_of_reading_is_subtracted() {
    let clock = Clock {
        read_s: 0.0,
        cpu_read_s: 0.0,
        ..fine_clock()
    };
    let (stop, mut nothing) = (Stop::new(), steady(0.0));
    let naive = Sampler {
        time: &FINE,
        clock: &clock,
        plan: PLAN,
        stop: &stop,
    };
    assert!(naive.one(&mut nothing, 1).unwrap().wall_s > 40e-9);
    let honest = with(PLAN, &stop, |sampler| sampler.one(&mut nothing, 1).unwrap());
    assert!(honest.wall_s < 5e-9 && honest.cpu_s < 10e-9, "{honest:?}");
}
