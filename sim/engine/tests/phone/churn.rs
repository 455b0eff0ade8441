//! Phones that go off with something in flight, on a core, in a queue: everything has an end.

use crate::common::puppet::{act, act_in, post, said, say, send, work, Act, Cue};
use crate::common::{
    arrive, cost, counter, meet, plan, reasons, sender_loop, times, trade, trade_where, turn,
    Closed, Flights, Numbers,
};
use _engine::plan::Plan;
use pocketsim_protocols::contract::{EventKind, Lane, Operation, Path, Reason};

#[test]
fn a_flight_that_fails_ends_for_the_phone_that_is_off() {
    for (phone, reason) in [(0, Reason::SenderOff), (1, Reason::ReceiverOff)] {
        let mut plan = plan(2);
        arrive(&mut plan, 1.0, 0, 1);
        turn(&mut plan, 1.005, phone, false);
        turn(&mut plan, 1.006, phone, true);
        let (trace, _) = trade_where(plan, Flights::Fail);
        // It fails when the first of them goes off, and is taken to its end at that moment.
        assert_eq!(times(&trace, EventKind::Drop), [1.005]);
        assert_eq!(reasons(&trace, EventKind::Drop), [reason]);
    }
}

#[test]
fn a_flight_delayed_beyond_the_links_is_lost_on_a_phone_that_was_off_meanwhile() {
    let mut plan = plan(2);
    plan.access[0].jitter_median_s = 1.0;
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 1, false);
    turn(&mut plan, 2.0, 1, true);
    // A sigma of 0: exactly a second on each of two hops, long after the links are done.
    let trace = trade(plan);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::ReceiverOff]);
    assert!(times(&trace, EventKind::Drop)[0] > 3.0);
}

#[test]
fn a_flight_delayed_beyond_the_links_arrives_although_its_sender_is_off() {
    let mut plan = plan(2);
    plan.access[0].jitter_median_s = 1.0;
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 0, false);
    turn(&mut plan, 2.0, 0, true);
    let (trace, _) = trade_where(plan, Flights::Fail);
    assert_eq!(times(&trace, EventKind::Store).len(), 1);
}

#[test]
fn a_datagram_about_to_be_sent_was_never_on_the_air() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::UdpSend, 1.0);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 0, false);
    let trace = trade(plan);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::SenderOff]);
    assert_eq!(counter(&trace, "datagrams_cut_off"), 1);
    assert_eq!(counter(&trace, "datagrams_sent"), 0);
}

#[test]
fn arrivals_that_wait_for_a_busy_lane_are_cut_off_with_it() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::UdpSend, 1.0);
    (0..3).for_each(|_| arrive(&mut plan, 1.0, 0, 1));
    turn(&mut plan, 1.5, 0, false);
    let trace = trade(plan);
    assert_eq!(times(&trace, EventKind::Send).len(), 1);
    assert_eq!(counter(&trace, "arrivals_cut_off"), 2);
}

#[test]
fn a_row_about_to_be_written_is_written_as_a_loss() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Store, 1.0);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 0, false);
    let trace = trade(plan);
    assert_eq!(reasons(&trace, EventKind::Lose), [Reason::SenderOff]);
    assert_eq!(times(&trace, EventKind::Lose), [1.5]);
    assert!(times(&trace, EventKind::Store).is_empty());
}

/// Works on a task of its own when it is asked for something.
fn worker(_: u32, cue: Cue) -> Vec<Act> {
    match cue {
        Cue::Asked(100) => vec![post(Lane::FIRST_TASK, 1)],
        Cue::Asked(number) => vec![work(Operation::Sign), say(number)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    }
}

#[test]
fn a_wait_that_ends_when_the_phone_is_back_frees_no_lane_of_then() {
    let mut plan = plan(2);
    plan.profiles[0].wait_s[Operation::Sign as usize] = 4.0;
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 2.0, 0, false);
    turn(&mut plan, 3.0, 0, true);
    arrive(&mut plan, 3.5, 0, 1);
    let trace = act(plan, worker);
    // Not at 5 s, when the wait that was cut off would have ended.
    assert_eq!(times(&trace, EventKind::Take), [7.5]);
}

#[test]
fn work_that_is_cut_off_leaves_its_core_and_its_lane() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Sign, 4.0);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 2.0, 0, false);
    turn(&mut plan, 3.0, 0, true);
    arrive(&mut plan, 3.5, 0, 1);
    let world = Closed::default();
    let trace = act_in(world.clone(), Path::Direct, plan, worker);
    assert_eq!(times(&trace, EventKind::Take), [7.5]);
    assert_eq!(world.demands().len(), 2);
}

#[test]
fn requests_to_itself_die_with_a_phone() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Sign, 1.0);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 0, false);
    turn(&mut plan, 2.0, 0, true);
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(100) => vec![work(Operation::Sign), post(Lane::FIRST_TASK, 1)],
        Cue::Asked(number) => vec![say(number)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    assert!(said(&trace).is_empty());
}

#[test]
fn a_round_that_waits_when_its_phone_goes_off_takes_place_when_it_is_back() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::UdpSend, 1.0);
    plan.workload.loops.push(_engine::plan::SenderLoop {
        duration_s: 2.5,
        interval_s: 0.5,
        ..sender_loop(0)
    });
    // It waits for what an arrival sends.
    arrive(&mut plan, 0.5, 0, 1);
    turn(&mut plan, 1.2, 0, false);
    turn(&mut plan, 2.0, 0, true);
    let sent = times(&trade(plan), EventKind::Send);
    // A round of a second and its sleep; at 3.5 s the loop is over.
    assert_eq!(sent, [0.5, 2.0]);
}

#[test]
fn transitions_to_what_a_phone_is_already_change_nothing() {
    let mut plan = plan(2);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.001, 1, true);
    let trace = trade(plan);
    assert!(times(&trace, EventKind::PhoneOn).is_empty());
    assert_eq!(times(&trace, EventKind::Store).len(), 1);
}

#[test]
fn each_phone_says_when_it_goes_off_and_on() {
    let mut plan = plan(3);
    for (time_s, phone, on) in [(1.0, 2, false), (2.0, 0, false), (3.0, 2, true)] {
        turn(&mut plan, time_s, phone, on);
    }
    let trace = trade(plan);
    assert_eq!(crate::common::nodes(&trace, EventKind::PhoneOff), [2, 0]);
    assert_eq!(times(&trace, EventKind::PhoneOff), [1.0, 2.0]);
    assert_eq!(times(&trace, EventKind::PhoneOn), [3.0]);
}

#[test]
fn what_was_sent_in_a_contact_is_lost_if_its_receiver_was_off_meanwhile() {
    let mut plan = plan(2);
    let link = _engine::plan::ProximityLink {
        rate_bytes_per_s: 1e6,
        latency_s: 2.0,
        setup_s: 0.0,
        loss_ratio: 0.0,
        shares_air: false,
    };
    meet(&mut plan, 0.0, 50.0, link);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 1, false);
    turn(&mut plan, 2.0, 1, true);
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(bytes) => vec![send(1, 0, bytes)],
        Cue::Got(parcel) => vec![say(parcel.bytes)],
        Cue::Failed(_) => vec![],
    });
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::ReceiverOff]);
    assert!(said(&trace).is_empty());
}

/// Phones that trade at random while each of them comes and goes; the last seconds are quiet.
fn restless(seed: u32) -> Plan {
    let mut plan = plan(6);
    plan.seed = u64::from(seed);
    plan.access[0].jitter_median_s = 0.02;
    plan.access[0].jitter_sigma = 1.0;
    plan.access[0].loss_ratio = 0.02;
    for operation in [Operation::UdpSend, Operation::UdpReceive, Operation::Verify] {
        cost(&mut plan, operation, 0.05);
    }
    plan.profiles[0].wait_s[Operation::Store as usize] = 0.05;
    let (mut numbers, mut on) = (Numbers(seed), [true; 6]);
    let mut draw = |below: u32| (numbers.draw() >> 16) % below;
    for tick in 0..1500 {
        let (time_s, from, step) = (f64::from(tick) * 0.05, draw(6), 1 + draw(5));
        arrive(&mut plan, time_s, from, (from + step) % 6);
        if draw(10) == 0 {
            let phone = draw(6);
            on[phone as usize] ^= true;
            turn(&mut plan, time_s + 0.01, phone, on[phone as usize]);
        }
    }
    (0..6).for_each(|phone| turn(&mut plan, 80.0, phone, true));
    plan
}

#[test]
fn every_transaction_ends_once_whatever_goes_off() {
    for seed in 1..5 {
        for flights in [Flights::GoOn, Flights::Fail, Flights::FailBackwards] {
            let (trace, _) = trade_where(restless(seed), flights);
            let columns = &trace.columns;
            let of = |kinds: &[EventKind]| {
                let rows = columns.kind.iter().zip(&columns.message);
                let mut found: Vec<u64> = rows
                    .filter(|(kind, _)| kinds.iter().any(|of| **kind == *of as u8))
                    .map(|(_, &message)| message)
                    .collect();
                found.sort_unstable();
                found
            };
            let ends = of(&[EventKind::Store, EventKind::Lose, EventKind::Drop]);
            assert_eq!(ends, of(&[EventKind::Send]));
            let asked = ends.len() as u64
                + counter(&trace, "arrivals_while_off")
                + counter(&trace, "arrivals_cut_off");
            assert_eq!(asked, 1500);
            // It is churn that is tested: many of them end by it.
            assert!(counter(&trace, "receiver_off") > 50);
        }
    }
}

#[test]
fn datagrams_on_the_air_are_delivered_or_dropped() {
    for flights in [Flights::GoOn, Flights::Fail] {
        let (trace, _) = trade_where(restless(7), flights);
        let ended = counter(&trace, "datagrams_delivered") + counter(&trace, "datagrams_dropped");
        assert_eq!(counter(&trace, "datagrams_sent"), ended);
    }
}
