//! What happens at one moment happens in an order of its own: what was queued first comes first.

use crate::common::puppet::{act, post, said, say, work, Cue};
use crate::common::{arrive, cost, counter, nodes, plan, sender_loop, times, trade, turn, Numbers};
use _engine::base::event_queue::EventQueue;
use _engine::plan::SenderLoop;
use pocketsim_protocols::contract::{EventKind, Lane, Operation};

fn loop_of(payload_bytes: u32) -> SenderLoop {
    SenderLoop {
        payload_bytes,
        ..sender_loop(0)
    }
}

/// Every puppet says what it is asked for.
fn echo(_: u32, cue: Cue) -> Vec<crate::common::puppet::Act> {
    match cue {
        Cue::Asked(number) => vec![say(number)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    }
}

#[test]
fn arrivals_of_one_moment_come_as_the_plan_has_them() {
    let mut plan = plan(4);
    for from in [2, 0, 3, 1] {
        arrive(&mut plan, 1.0, from, (from + 1) % 4);
    }
    assert_eq!(nodes(&trade(plan), EventKind::Send), [2, 0, 3, 1]);
}

#[test]
fn a_phone_that_goes_off_first_of_all_is_asked_for_nothing_then() {
    let mut plan = plan(2);
    turn(&mut plan, 1.0, 0, false);
    arrive(&mut plan, 1.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(counter(&trace, "arrivals_while_off"), 1);
    assert!(times(&trace, EventKind::Send).is_empty());
}

#[test]
fn a_phone_that_comes_on_at_the_moment_of_an_arrival_is_on_for_it() {
    let mut plan = plan(2);
    // The second transition is queued when the first one happens, the arrival at the beginning.
    turn(&mut plan, 0.5, 0, false);
    turn(&mut plan, 1.0, 0, true);
    arrive(&mut plan, 1.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(counter(&trace, "arrivals_while_off"), 0);
    assert_eq!(times(&trace, EventKind::Send)[0], 1.0);
}

#[test]
fn a_phone_that_goes_off_at_the_moment_of_an_arrival_is_off_for_it() {
    let mut plan = plan(2);
    for (time_s, on) in [(0.2, false), (0.5, true), (1.0, false)] {
        turn(&mut plan, time_s, 0, on);
    }
    arrive(&mut plan, 1.0, 0, 1);
    assert_eq!(counter(&trade(plan), "arrivals_while_off"), 1);
}

#[test]
fn a_phone_that_goes_off_at_the_moment_of_a_loops_round_is_off_for_it() {
    let mut plan = plan(2);
    plan.duration_s = 3.5;
    plan.workload.loops = vec![loop_of(30)];
    let start_s = plan.workload.loops[0].start_s;
    turn(&mut plan, start_s, 0, false);
    assert!(said(&act(plan, echo)).is_empty());
}

#[test]
fn an_arrival_comes_before_a_loop_and_loops_as_the_plan_has_them() {
    let mut plan = plan(2);
    plan.duration_s = 1.5;
    plan.workload.loops = vec![loop_of(30), loop_of(20)];
    arrive(&mut plan, 1.0, 0, 1);
    assert_eq!(said(&act(plan, echo)), [100, 30, 20]);
}

#[test]
fn loops_that_sleep_for_as_long_keep_their_order() {
    let mut plan = plan(2);
    plan.duration_s = 3.5;
    plan.workload.loops = vec![loop_of(30), loop_of(20)];
    assert_eq!(said(&act(plan, echo)), [30, 20, 30, 20, 30, 20]);
}

#[test]
fn transitions_of_one_moment_happen_one_after_the_other() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Sign, 2.0);
    for on in [false, true, false, true] {
        turn(&mut plan, 2.0, 0, on);
    }
    arrive(&mut plan, 1.0, 0, 1);
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(_) => vec![work(Operation::Sign), say(1)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    assert_eq!(times(&trace, EventKind::PhoneOff), [2.0; 2]);
    assert_eq!(times(&trace, EventKind::PhoneOn), [2.0; 2]);
    assert!(said(&trace).is_empty(), "its work was cut off");
}

#[test]
fn lanes_of_a_phone_take_turns_in_the_order_they_got_something() {
    let mut plan = plan(2);
    arrive(&mut plan, 1.0, 0, 1);
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(100) => [17, 16, 18].map(|lane| post(lane, lane)).to_vec(),
        Cue::Asked(lane) if lane < 20 => vec![say(lane), post(Lane::SEND.0, lane + 10)],
        Cue::Asked(number) => vec![say(number)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    assert_eq!(said(&trace), [17, 16, 18, 27, 26, 28]);
}

#[test]
fn a_queue_sorts_by_date_and_leaves_equal_dates_as_they_came() {
    let mut numbers = Numbers(1);
    let mut queue = EventQueue::new();
    let mut expected: Vec<(u32, u32)> = Vec::new();
    for number in 0..2000 {
        let date = numbers.draw() >> 26;
        queue.push(f64::from(date), number);
        expected.push((date, number));
    }
    expected.sort_by_key(|&(date, _)| date); // stable
    let taken = std::iter::from_fn(|| queue.pop_due(f64::INFINITY));
    assert!(taken.eq(expected.into_iter().map(|(_, number)| number)));
}
