//! Links whose rate varies, against sums in small steps and against closed forms.

use crate::common::sends::{arrivals, choose, simulated, uniform, Send};
use crate::common::{counter, plan, Numbers};
use _engine::plan::{Interruption, Plan, RateSteps};
use _engine::resources::rates::curve::RateCurve;
use _engine::resources::rates::interruptions::Interruptions;
use pocketsim_protocols::contract::Seconds;

/// Steps of 1 to 3 s, a third of them without any rate.
fn steps(numbers: &mut Numbers, repeats: bool) -> RateSteps {
    let count = 1 + choose(numbers, 6) as usize;
    let (mut start_s, mut bytes_per_s, mut now) = (Vec::new(), Vec::new(), 0.0);
    for number in 0..count {
        start_s.push(now);
        let is_out = choose(numbers, 3) == 0 && number + 1 < count;
        bytes_per_s.push(if is_out {
            0.0
        } else {
            100.0 + 900.0 * uniform(numbers)
        });
        now += 1.0 + 2.0 * uniform(numbers);
    }
    RateSteps {
        start_s,
        bytes_per_s,
        period_s: repeats.then_some(now),
    }
}

/// The rate at a date.
fn rate(steps: &RateSteps, date_s: Seconds) -> f64 {
    let date_s = steps.period_s.map_or(date_s, |period_s| date_s % period_s);
    let step = steps.start_s.iter().rposition(|&start_s| start_s <= date_s);
    steps.bytes_per_s[step.expect("it begins at 0")]
}

#[test]
fn a_curve_carries_what_its_steps_come_to() {
    let mut numbers = Numbers(1);
    for round in 0..200 {
        let steps = steps(&mut numbers, round % 2 == 0);
        let curve = RateCurve::new(&steps);
        let from_s = 30.0 * uniform(&mut numbers);
        let to_s = from_s + 30.0 * uniform(&mut numbers);
        let step_s = (to_s - from_s) / 100_000.0;
        let middle = |number: u32| rate(&steps, from_s + (f64::from(number) + 0.5) * step_s);
        let expected = (0..100_000).map(middle).sum::<f64>() * step_s;
        let found = curve.bytes_between(from_s, to_s);
        assert!(
            (found - expected).abs() < 1.0 + 1e-4 * expected,
            "{found} {expected}"
        );
    }
}

#[test]
fn what_has_begun_is_out_when_so_much_is_carried() {
    let mut numbers = Numbers(2);
    for round in 0..2000 {
        let steps = steps(&mut numbers, round % 2 == 0);
        let curve = RateCurve::new(&steps);
        let (from_s, bytes) = (
            100.0 * uniform(&mut numbers),
            1.0 + 5000.0 * uniform(&mut numbers),
        );
        let out_s = curve.date_after(from_s, bytes);
        assert!((curve.bytes_between(from_s, out_s) - bytes).abs() < 1e-6 * bytes);
        // Not while nothing is carried, and no sooner.
        assert!(rate(&steps, out_s - 1e-9) > 0.0, "{out_s} {steps:?}");
        assert!(curve.bytes_between(from_s, out_s - 1e-6) < bytes);
    }
}

#[test]
fn what_ends_with_a_period_ends_in_it() {
    let curve = RateCurve::new(&RateSteps {
        start_s: vec![0.0, 1.0],
        bytes_per_s: vec![0.0, 100.0],
        period_s: Some(2.0),
    });
    for periods in 1..100 {
        let out_s = curve.date_after(0.0, 100.0 * f64::from(periods));
        assert_eq!(out_s, 2.0 * f64::from(periods));
    }
    assert_eq!(curve.date_after(2.5, 50.0), 3.5);
}

/// Two phones; the first one's link varies, the other's takes no time.
fn varying(change: impl FnOnce(&mut Plan)) -> Plan {
    let mut plan = plan(2);
    let access = &mut plan.access[0];
    (access.up_bytes_per_s, access.down_bytes_per_s) = (1e15, 1e15);
    (access.up_queue_bytes, access.down_queue_bytes) = (Some(1e9), Some(1e9));
    access.latency_s = 0.0;
    let other = access.clone();
    plan.access.push(other);
    plan.phones.access = vec![0, 1];
    plan.duration_s = 1e9;
    change(&mut plan);
    plan
}

/// Opportunities of 1500 B at these milliseconds, as steps; they repeat after the last.
fn opportunities(ms: &[u32]) -> RateSteps {
    let period = *ms.last().expect("one");
    let count = |from: u32| ms.iter().filter(|&&at| at == from + 1).count() as f64;
    RateSteps {
        start_s: (0..period).map(|from| f64::from(from) / 1000.0).collect(),
        bytes_per_s: (0..period).map(|from| count(from) * 1.5e6).collect(),
        period_s: Some(f64::from(period) / 1000.0),
    }
}

#[test]
fn a_saturated_link_delivers_at_each_opportunity_and_in_no_gap() {
    // Two at 3 ms, one at 7, a gap, one at 100.
    let steps = opportunities(&[3, 3, 7, 100]);
    for way in [(0, 1), (1, 0)] {
        let plan = varying(|plan| {
            plan.access[0].up_rate = Some(steps.clone());
            plan.access[0].down_rate = Some(steps.clone());
        });
        let sends: Vec<Send> = (0..40).map(|_| (0.0, way.0, way.1, 1500)).collect();
        let ends = arrivals(&simulated(plan, &sends), sends.len());
        for (number, end_s) in (0..).zip(ends) {
            let in_period = [0.0025, 0.003, 0.007, 0.1][number % 4];
            let expected_s = 0.1 * (number / 4) as f64 + in_period;
            let end_s = end_s.expect("there is room");
            assert!(
                (end_s - expected_s).abs() < 1e-9,
                "{number}: {end_s} {expected_s}"
            );
        }
    }
}

#[test]
fn a_queue_in_a_gap_holds_bytes_and_not_time() {
    let plan = varying(|plan| {
        plan.access[0].up_queue_bytes = Some(1000.0);
        plan.access[0].up_rate = Some(RateSteps {
            start_s: vec![0.0, 10.0],
            bytes_per_s: vec![0.0, 100.0],
            period_s: None,
        });
    });
    let sends: Vec<Send> = (0..20).map(|_| (1.0, 0, 1, 100)).collect();
    let trace = simulated(plan, &sends);
    let ends = arrivals(&trace, sends.len());
    assert_eq!(counter(&trace, "queue_full"), 10);
    let out = ends[..10]
        .iter()
        .zip(1..)
        .all(|(end_s, number)| (end_s.expect("it fits") - 10.0 - f64::from(number)).abs() < 1e-9);
    assert!(out, "{ends:?}");
}

const HANDOVER: Interruption = Interruption {
    rate_per_s: 71.6 / 3600.0,
    interruption_s: 0.05,
    interruption_sigma: 0.0,
};
const RAT_CHANGE: Interruption = Interruption {
    rate_per_s: 26.2 / 3600.0,
    interruption_s: 3.7,
    interruption_sigma: 0.3,
};

/// Those of a phone that begin before `end_s`, begin and end.
fn interruptions(plan: &Plan, end_s: Seconds) -> Vec<[Seconds; 2]> {
    let mut all = Interruptions::new(&plan.access[0], 7, 0).expect("it has some");
    let mut found: Vec<[Seconds; 2]> = Vec::new();
    while found.last().is_none_or(|last| last[0] < end_s) {
        let after_s = found.last().map_or(0.0, |last| last[1]);
        found.push(all.next(0.0, after_s));
    }
    found
}

#[test]
fn interruptions_come_as_often_and_take_as_long_as_put_in() {
    for law in [HANDOVER, RAT_CHANGE] {
        let plan = varying(|plan| plan.access[0].handover = Some(law));
        let end_s = 10_000.0 / law.rate_per_s;
        let found = interruptions(&plan, end_s);
        let mean_s = law.interruption_s * (law.interruption_sigma.powi(2) / 2.0).exp();
        let expected = end_s / (1.0 / law.rate_per_s + mean_s);
        assert!((found.len() as f64 / expected - 1.0).abs() < 0.03);
        let lengths_s = found.iter().map(|[begin_s, end_s]| end_s - begin_s);
        let found_s = lengths_s.sum::<f64>() / found.len() as f64;
        assert!((found_s / mean_s - 1.0).abs() < 0.01, "{found_s} {mean_s}");
        let gaps_s: Vec<f64> = found
            .windows(2)
            .map(|pair| pair[1][0] - pair[0][1])
            .collect();
        let mean_gap_s = gaps_s.iter().sum::<f64>() / gaps_s.len() as f64;
        let longer = gaps_s.iter().filter(|&&gap_s| gap_s > mean_gap_s).count();
        let share = longer as f64 / gaps_s.len() as f64;
        assert!(
            (share - (-1.0_f64).exp()).abs() < 0.02,
            "as of an exponential law: {share}"
        );
    }
}

#[test]
fn an_interrupted_link_carries_nothing_and_loses_nothing() {
    let plan = varying(|plan| {
        plan.seed = 7;
        let access = &mut plan.access[0];
        (access.handover, access.rat_change) = (Some(HANDOVER), Some(RAT_CHANGE));
        access.up_bytes_per_s = 1e5;
    });
    let sends: Vec<Send> = (0..200_000)
        .map(|number| (f64::from(number) * 0.05, 0, 1, 100))
        .collect();
    let trace = simulated(plan.clone(), &sends);
    let ends = arrivals(&trace, sends.len());
    let found = interruptions(&plan, 10_000.0);
    let mut next = found.iter().peekable();
    let (mut free_s, mut late) = (0.0, 0);
    // A queue that stands still while the link is interrupted, one datagram after the other.
    for (end_s, send) in ends.iter().zip(&sends) {
        let end_s = end_s.expect("nothing is lost");
        let (mut at_s, mut left_s) = (f64::max(free_s, send.0), 0.001);
        while next.next_if(|window| window[1] <= at_s).is_some() {}
        let mut coming = next.clone();
        while let Some(&&[begin_s, until_s]) = coming.peek() {
            if at_s + left_s <= begin_s {
                break;
            }
            left_s -= (begin_s - at_s).max(0.0);
            at_s = at_s.max(until_s);
            coming.next();
        }
        free_s = at_s + left_s;
        assert!((end_s - free_s).abs() < 1e-6, "{end_s} {free_s}");
        late += u32::from(end_s - send.0 > 0.0011);
    }
    assert!(late > 1000, "{late}");
}

#[test]
fn phones_are_interrupted_each_at_its_own_time_and_in_both_directions() {
    let plan = varying(|plan| plan.access[0].rat_change = Some(RAT_CHANGE));
    let begins = |phone| {
        let mut all = Interruptions::new(&plan.access[0], 7, phone).expect("it has some");
        all.next(0.0, 0.0)
    };
    assert_ne!(begins(0), begins(1));
    let [begin_s, end_s] = {
        let mut all = Interruptions::new(&plan.access[0], plan.seed, 0).expect("it has some");
        all.next(0.0, 0.0)
    };
    let middle_s = (begin_s + end_s) / 2.0;
    let sends = [(middle_s, 0, 1, 100), (middle_s, 1, 0, 100)];
    let ends = arrivals(&simulated(plan, &sends), sends.len());
    assert!(ends
        .iter()
        .all(|found_s| (found_s.expect("it waits") - end_s).abs() < 1e-6));
}
