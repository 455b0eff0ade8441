//! When to propose.

use std::time::Duration;

use pocketsim_probe_core::trade::pace::{Pacing, Schedule};
use proptest::prelude::*;

/// Every start, when a proposal takes `takes` and a sleep ends `late`.
fn starts(schedule: &Schedule, takes: Duration, late: Duration) -> Vec<Duration> {
    let mut starts: Vec<Duration> = Vec::new();
    let mut ended = Duration::ZERO;
    while let Some(at) = schedule.next(starts.len() as u64, ended) {
        let start = match at > ended {
            true => at + late,
            false => ended,
        };
        starts.push(start);
        ended = start + takes;
    }
    starts
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn an_absolute_schedule_keeps_the_rate_whatever_a_proposal_takes() {
    let schedule = Schedule::new(100.0, 25 * 1000 * MS, Pacing::Absolute);
    let starts = starts(&schedule, 3 * MS, MS);
    assert_eq!((schedule.offered(), starts.len()), (2_500, 2_500));
    assert_eq!(starts[1_234], 12_340 * MS + MS);
}

#[test]
fn a_sender_that_was_held_up_catches_up() {
    let schedule = Schedule::new(100.0, 1000 * MS, Pacing::Absolute);
    assert_eq!(schedule.next(3, 90 * MS), Some(30 * MS), "overdue: at once");
}

#[test]
fn the_app_falls_short_by_what_it_takes() {
    let schedule = Schedule::new(100.0, 1000 * MS, Pacing::App);
    // 10 ms of sleep, 1 ms too long, and 3 ms for the proposal.
    assert_eq!(starts(&schedule, 3 * MS, MS).len(), 72);
    assert_eq!(starts(&schedule, Duration::ZERO, Duration::ZERO).len(), 100);
}

#[test]
fn a_repetition_ends_when_its_time_is_over() {
    let schedule = Schedule::new(10.0, 1000 * MS, Pacing::Absolute);
    assert_eq!(schedule.next(5, 1000 * MS), None);
    assert_eq!(schedule.next(10, 950 * MS), None);
    assert_eq!(schedule.next(9, 950 * MS), Some(900 * MS));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn as_many_are_offered_as_fit(rate in 1u32..2_000, seconds in 1u64..100) {
        let duration = Duration::from_secs(seconds);
        let schedule = Schedule::new(f64::from(rate), duration, Pacing::Absolute);
        prop_assert_eq!(schedule.offered(), u64::from(rate) * seconds);
    }
}
