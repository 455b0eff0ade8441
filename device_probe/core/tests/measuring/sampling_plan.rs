//! How long a sample lasts, when a warm-up is over, and how many samples are enough.

use pocketsim_probe_core::clock::Clock;
use pocketsim_probe_core::kernel::Depth;
use pocketsim_probe_core::sampler::{Plan, Settling};
use proptest::prelude::*;

fn clock(resolution_s: f64) -> Clock {
    Clock {
        resolution_s,
        read_s: 0.0,
        cpu_read_s: 0.0,
    }
}

fn plan() -> Plan {
    Plan {
        sample_s: 1e-3,
        warm_up_s: 0.1,
        samples_s: 0.2,
        samples_max: 330,
    }
}

#[test]
fn a_case_s_time_is_shared_between_warm_up_and_samples() {
    for (depth, sample_s) in [(Depth::Quick, 0.5e-3), (Depth::Full, 1e-3)] {
        let plan = Plan::of(depth, 1.0, &clock(1e-9));
        assert_eq!(plan.sample_s, sample_s);
        assert!((plan.warm_up_s + plan.samples_s - 1.0).abs() < 1e-12);
        assert!((plan.warm_up_s - 0.3).abs() < 1e-12);
    }
}

#[test]
fn a_short_case_warms_up_for_a_twentieth_of_a_second_all_the_same() {
    let plan = Plan::of(Depth::Quick, 0.025, &clock(1e-9));
    assert_eq!(plan.warm_up_s, 0.05);
    assert!((plan.samples_s - 0.0175).abs() < 1e-12);
}

#[test]
fn a_sample_is_a_thousand_steps_of_a_coarse_clock() {
    let plan = Plan::of(Depth::Full, 1.0, &clock(1e-5));
    assert!((plan.sample_s - 1e-2).abs() < 1e-12);
}

#[test]
fn samples_grow_at_least_twofold_and_at_most_tenfold() {
    let plan = plan();
    assert_eq!(plan.grown(100, 1e-9), Some(1_000));
    assert_eq!(plan.grown(100, 2.5e-6), Some(400));
    assert_eq!(plan.grown(100, 4.9e-6), Some(204));
}

#[test]
fn a_sample_of_half_the_length_is_long_enough() {
    assert_eq!(plan().grown(100, 5e-6), None);
    assert_eq!(plan().grown(1, 1.0), None);
}

#[test]
fn what_the_compiler_left_out_does_not_grow_for_ever() {
    let mut iterations = 1;
    let mut steps = 0;
    while let Some(grown) = plan().grown(iterations, 0.0) {
        iterations = grown;
        steps += 1;
        assert!(steps < 20, "{iterations}");
    }
    assert!(iterations >= 1 << 40);
}

#[test]
fn durations_that_agree_before_a_governor_woke_up_settle_nothing() {
    assert!(!plan().may_settle(0.019));
    assert!(plan().may_settle(0.02));
}

#[test]
fn a_warm_up_with_too_few_samples_has_four_times_the_patience() {
    let plan = plan();
    assert!(!plan.warm_up_over(true, 0.099) && plan.warm_up_over(true, 0.1));
    assert!(!plan.warm_up_over(false, 0.399) && plan.warm_up_over(false, 0.4));
}

#[test]
fn slow_operations_overrun_for_three_samples_but_not_for_ever() {
    let plan = plan();
    assert!(!plan.enough(1_000, 0.199), "there is time left");
    assert!(plan.enough(3, 0.2) && !plan.enough(2, 0.2));
    assert!(!plan.enough(2, 0.799) && plan.enough(1, 0.8));
    assert!(
        !plan.enough(0, 100.0),
        "a case without a sample has no figure"
    );
}

#[test]
fn six_durations_are_a_judgement_and_five_are_none() {
    let mut settling = Settling::default();
    for _ in 0..5 {
        settling.add(1.0);
    }
    assert!(!settling.is_enough() && !settling.has_settled());
    settling.add(1.0);
    assert!(settling.is_enough() && settling.has_settled());
}

#[test]
fn four_per_cent_are_the_limit_and_one_outlier_in_a_half_is_none() {
    let settled = |durations: [f64; 6]| {
        let mut settling = Settling::default();
        for duration in durations {
            settling.add(duration);
        }
        settling.has_settled()
    };
    assert!(settled([1.0, 1.0, 1.0, 1.039, 1.039, 1.039]));
    assert!(!settled([1.0, 1.0, 1.0, 1.041, 1.041, 1.041]));
    assert!(!settled([1.0, 1.0, 1.0, 0.959, 0.959, 0.959]));
    assert!(settled([1.0, 9.0, 1.0, 1.0, 1.0, 9.0]));
}

proptest! {
    #[test]
    fn only_the_last_sixteen_durations_count(before in prop::collection::vec(0.1_f64..10.0, 0..40)) {
        let mut settling = Settling::default();
        before.into_iter().for_each(|duration| settling.add(duration));
        for _ in 0..16 {
            settling.add(2.0);
        }
        prop_assert!(settling.has_settled());
        for _ in 0..8 {
            settling.add(2.2);
        }
        prop_assert!(!settling.has_settled());
    }
}
