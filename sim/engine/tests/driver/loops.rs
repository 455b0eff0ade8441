//! Sender loops: when a round takes place, how long it sleeps, and when a loop is over.

use crate::common::{
    arrive, cost, nodes, plan, run, sender_loop, times, trade, turn, Closed, Flights,
};
use _engine::driver::Driver;
use _engine::plan::{Plan, SenderLoop};
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{EventKind, NodeId, Operation};
use pocketsim_protocols::pairwise::Pairwise;
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

/// When a phone with one such loop proposes.
fn rounds(of: SenderLoop) -> Vec<f64> {
    rounds_in(plan(2), of)
}

fn rounds_in(plan: Plan, of: SenderLoop) -> Vec<f64> {
    times(&run_of(plan, of), EventKind::Send)
}

fn run_of(mut plan: Plan, of: SenderLoop) -> Trace {
    plan.workload.loops.push(of);
    trade(plan)
}

#[test]
fn a_loop_begins_at_its_start_and_ends_before_its_duration_is_over() {
    assert_eq!(rounds(sender_loop(0)), [1.0, 2.0, 3.0, 4.0, 5.0]);
}

#[test]
fn a_loop_sleeps_longer_than_it_asks() {
    let of = SenderLoop {
        overshoot_s: 0.25,
        ..sender_loop(0)
    };
    assert_eq!(rounds(of), [1.0, 2.25, 3.5, 4.75]);
}

#[test]
fn a_loop_sleeps_after_its_proposal_is_made_not_after_it_began() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::UdpSend, 0.5);
    assert_eq!(rounds_in(plan, sender_loop(0)), [1.0, 2.5, 4.0, 5.5]);
}

#[test]
fn a_loop_by_the_clock_keeps_to_it() {
    let by_clock = SenderLoop {
        by_clock: true,
        overshoot_s: 0.25,
        ..sender_loop(0)
    };
    // Neither a late waking nor the work of a proposal moves the next one.
    let mut plan = plan(2);
    cost(&mut plan, Operation::UdpSend, 0.5);
    assert_eq!(
        rounds_in(plan.clone(), by_clock.clone()),
        [1.0, 2.25, 3.25, 4.25, 5.25]
    );
    // Who is late goes on at once: what is due at 2 and 3 is proposed at 3 and 5.
    cost(&mut plan, Operation::UdpSend, 2.0);
    assert_eq!(rounds_in(plan, by_clock), [1.0, 3.0, 5.0]);
}

#[test]
fn a_loop_makes_no_proposal_while_too_many_have_no_answer() {
    let limited = SenderLoop {
        outstanding_max: 2,
        ..sender_loop(0)
    };
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 2.25);
    // Without a limit it proposes on, whatever has come back.
    let trace = run_of(plan.clone(), sender_loop(0));
    assert_eq!(times(&trace, EventKind::Send), [1.0, 2.0, 3.0, 4.0, 5.0]);
    assert!(!trace.counters().contains_key("proposals_withheld"));
    // The first comes back at 3.25, the second, which waited for it at the far core, at 5.5.
    let trace = run_of(plan, limited);
    assert_eq!(times(&trace, EventKind::Send), [1.0, 2.0, 4.0]);
    let stored = times(&trace, EventKind::Store);
    // And the network's 21 ms.
    for (came, expected) in stored.iter().zip([3.25, 5.5]) {
        assert!((came - expected - 0.021).abs() < 1e-3, "{came}");
    }
    assert_eq!(trace.counters()["proposals_withheld"], 2);
}

#[test]
#[should_panic(expected = "a loop that waits for room sleeps")]
fn a_loop_that_never_sleeps_has_no_limit() {
    let hasty = SenderLoop {
        interval_s: 0.0,
        outstanding_max: 1,
        ..sender_loop(0)
    };
    rounds(hasty);
}

#[test]
fn a_loop_may_wait_until_the_connection_of_a_message_has_drained() {
    // An answer is there after two round trips of 42 ms and some. A close is answered for three
    // probe timeouts more, each of a round trip, at least half of one besides, and 25 ms.
    let limited = |until_drained| SenderLoop {
        interval_s: 0.2,
        duration_s: 2.0,
        outstanding_max: 1,
        outstanding_until_drained: until_drained,
        ..sender_loop(0)
    };
    let config = TransportConfig {
        mode: ConnectionMode::Reconnect,
        answer_on_same_connection: true,
        ..TransportConfig::default()
    };
    let sent = |until_drained| {
        let mut plan = plan(2);
        plan.workload.loops.push(limited(until_drained));
        let (world, end) = (Closed::where_flights(Flights::default()), plan.duration_s);
        let mut driver = Driver::new(plan, world.clone(), |node| {
            let node = NodeId(node);
            (Pairwise::new(node), Quic::new(&config, node))
        });
        run(&world, &mut driver, end);
        times(&driver.finish().0, EventKind::Send).len()
    };
    assert_eq!([sent(false), sent(true)], [10, 5]);
}

#[test]
fn a_phone_that_was_off_has_room_for_proposals_again() {
    let limited = SenderLoop {
        outstanding_max: 1,
        ..sender_loop(0)
    };
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 100.0);
    turn(&mut plan, 2.5, 0, false);
    turn(&mut plan, 2.75, 0, true);
    // It sleeps until 3, and has proposed nothing at 2.
    assert_eq!(rounds_in(plan, limited), [1.0, 3.0]);
}

#[test]
fn overshoots_are_draws_of_mean_one_around_theirs() {
    let of = SenderLoop {
        duration_s: 90.0,
        interval_s: 0.01,
        by_clock: false,
        overshoot_s: 0.01,
        overshoot_sigma: 0.5,
        ..sender_loop(0)
    };
    let rounds = rounds(of);
    let sleeps: Vec<f64> = rounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mean = sleeps.iter().sum::<f64>() / sleeps.len() as f64;
    // About 4500 sleeps; standard error: 0.01 x sqrt(exp(0.25) - 1) / sqrt(4500) = 0.00008.
    assert!((mean - 0.02).abs() < 0.0004, "{mean}");
    assert!(sleeps.iter().all(|&sleep| sleep > 0.01));
    assert!(sleeps.iter().any(|&sleep| sleep > 0.03));
}

#[test]
fn a_loop_leaves_the_sleeps_of_other_phones_alone() {
    let of = |from_phone| SenderLoop {
        overshoot_s: 0.1,
        overshoot_sigma: 0.5,
        ..sender_loop(from_phone)
    };
    let alone = rounds(of(1));
    let mut plan = plan(2);
    plan.workload.loops = vec![of(0), of(1)];
    let trace = trade(plan);
    let sent = nodes(&trace, EventKind::Send).into_iter();
    let sent = sent.zip(times(&trace, EventKind::Send));
    let beside: Vec<f64> = sent.filter(|row| row.0 == 1).map(|row| row.1).collect();
    assert_eq!(beside, alone);
}

#[test]
fn a_loop_waits_for_its_lane() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::UdpSend, 1.5);
    arrive(&mut plan, 0.5, 0, 1);
    // Its first round waits until 2.0, then sends for 1.5 s and sleeps for a second.
    assert_eq!(rounds_in(plan, sender_loop(0)), [0.5, 2.0, 4.5]);
}

#[test]
fn a_loop_whose_phone_comes_back_too_late_is_over() {
    let mut plan = plan(2);
    turn(&mut plan, 2.5, 0, false);
    turn(&mut plan, 6.5, 0, true);
    assert_eq!(rounds_in(plan, sender_loop(0)), [1.0, 2.0]);
}

#[test]
fn a_loop_of_another_phone_does_not_resume_with_this_one() {
    let mut plan = plan(2);
    plan.workload.loops = vec![sender_loop(0), sender_loop(1)];
    for phone in [0, 1] {
        turn(&mut plan, 1.5, phone, false);
    }
    turn(&mut plan, 3.25, 1, true);
    turn(&mut plan, 4.25, 0, true);
    let trace = trade(plan);
    assert_eq!(nodes(&trace, EventKind::Send), [0, 1, 1, 0, 1, 0, 1]);
    let expected = [1.0, 1.0, 3.25, 4.25, 4.25, 5.25, 5.25];
    assert_eq!(times(&trace, EventKind::Send), expected);
}

#[test]
fn two_loops_of_a_phone_go_on_in_the_order_they_paused() {
    let mut plan = plan(2);
    let other = SenderLoop {
        start_s: 1.25,
        interval_s: 0.5,
        by_clock: false,
        ..sender_loop(0)
    };
    plan.workload.loops = vec![sender_loop(0), other];
    turn(&mut plan, 1.5, 0, false);
    turn(&mut plan, 3.0, 0, true);
    // The second slept until 1.75, the first until 2: so they paused, so they go on at 3.
    let sent = times(&trade(plan), EventKind::Send);
    assert_eq!(sent[..6], [1.0, 1.25, 3.0, 3.0, 3.5, 4.0]);
}
