//! The driver against hand-computed runs in a world of closed forms.

use crate::common::{arrive, cost, plan, reasons, times, trade, turn, BYTES_PER_S, LATENCY_S};
use _engine::plan::{AfterRest, OwnAfter};
use pocketsim_protocols::contract::{EventKind, Operation, Reason};

/// A trade's 668 B message with UDP and IP headers, on one link.
const ONE_WAY_S: f64 = LATENCY_S + (668.0 + 28.0) / BYTES_PER_S;

fn assert_close(actual: f64, expected: f64) {
    assert!(
        (actual - expected).abs() < 1e-9,
        "{actual} is not {expected}"
    );
}

#[test]
fn a_trade_takes_two_ways_and_the_work_on_them() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::UdpReceive, 0.001);
    cost(&mut plan, Operation::Verify, 0.002);
    cost(&mut plan, Operation::Store, 0.004);
    arrive(&mut plan, 1.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(times(&trace, EventKind::Send), [1.0]);
    assert_close(
        times(&trace, EventKind::Store)[0],
        1.0 + 2.0 * ONE_WAY_S + 0.001 * 2.0 + 0.006,
    );
}

#[test]
fn a_datagram_wakes_a_thread_that_sleeps_and_none_that_reads() {
    let mut plan = plan(2);
    plan.profiles[0].wait_s[Operation::UdpWake as usize] = 0.25;
    cost(&mut plan, Operation::UdpReceive, 0.001);
    for _ in 0..3 {
        arrive(&mut plan, 1.0, 0, 1);
    }
    let trace = trade(plan);
    // The first of three that come together wakes who countersigns, its answer who proposed.
    let awake_s = 1.0 + 2.0 * (ONE_WAY_S + 0.25 + 0.001);
    let stored = times(&trace, EventKind::Store);
    for (number, at) in stored.iter().enumerate() {
        assert_close(*at, awake_s + 0.001 * number as f64);
    }
    assert_eq!(stored.len(), 3);
}

#[test]
fn the_longer_a_phone_has_rested_the_longer_it_takes_to_wake() {
    const SEND_S: f64 = 0.001;
    const WAKE_S: f64 = 0.05;
    let mut plan = plan(2);
    cost(&mut plan, Operation::UdpSend, SEND_S);
    plan.profiles[0].wait_s[Operation::UdpWake as usize] = WAKE_S;
    plan.profiles[0].wake_after = AfterRest {
        rest_s: vec![0.5, 2.0, 8.0],
        ratio: vec![0.01, 1.0, 3.0],
    };
    for at_s in [1.0, 5.0, 20.0] {
        arrive(&mut plan, at_s, 0, 1);
    }
    let stored = times(&trade(plan), EventKind::Store);
    // The countersigner has rested since the beginning or its last answer; the proposer, since it
    // sent that: for less than the shortest rest that is known.
    let (mut rested_from_s, between) = (0.0, |low: f64, high: f64, share: f64| {
        low + (high - low) * share
    });
    for (at_s, stored_s) in [1.0, 5.0, 20.0].into_iter().zip(stored) {
        let arrived_s = at_s + SEND_S + ONE_WAY_S;
        let rest_s: f64 = arrived_s - rested_from_s;
        let ratio = match rest_s {
            0.5..2.0 => between(0.01, 1.0, (rest_s / 0.5).ln() / 4.0_f64.ln()),
            2.0..8.0 => between(1.0, 3.0, (rest_s / 2.0).ln() / 4.0_f64.ln()),
            _ => 3.0,
        };
        rested_from_s = arrived_s + WAKE_S * ratio + SEND_S;
        assert_close(stored_s, rested_from_s + ONE_WAY_S + WAKE_S * 0.01);
    }
}

#[test]
fn what_a_phone_does_after_a_rest_takes_longer() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 0.002);
    plan.profiles[0].pace_after = AfterRest {
        rest_s: vec![0.0, 0.5],
        ratio: vec![2.0, 3.0],
    };
    for _ in 0..3 {
        arrive(&mut plan, 1.0, 0, 1);
    }
    let stored = times(&trade(plan), EventKind::Store);
    // The first has been rested for, the others have waited. Proposing costs nothing here.
    let first_s = 1.0 + 2.0 * ONE_WAY_S + 0.006;
    for (number, at) in stored.iter().enumerate() {
        assert_close(*at, first_s + 0.004 * number as f64);
    }
    assert_eq!(stored.len(), 3);
}

#[test]
fn no_more_than_a_message_takes_is_cold() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 0.002);
    cost(&mut plan, Operation::Store, 0.005);
    plan.profiles[0].pace_after = AfterRest {
        rest_s: vec![0.0, 0.5],
        ratio: vec![2.0, 3.0],
    };
    arrive(&mut plan, 1.0, 0, 1);
    let trace = trade(plan);
    // Nobody has worked before: 2 ms are cold at either end, more of storing is as in a hot loop.
    let stored_s = 0.003 + 0.006;
    let at_s = 1.0 + 2.0 * ONE_WAY_S + 0.006 + stored_s;
    assert_close(times(&trace, EventKind::Store)[0], at_s);
    let spent: Vec<_> = trace.cpu_s().into_iter().collect();
    assert_eq!(spent.len(), 2, "{spent:?}");
    assert_close(spent[0].1, stored_s);
    assert_close(spent[1].1, 0.006);
    // Who has proposed alone stores it here.
    assert_close(trace.phone_cpu_s, stored_s + 0.006);
    let counters = trace.counters();
    assert_eq!(counters["phone_records_stored"], 1);
    let bytes = trace.columns.size_bytes.last().expect("it is stored");
    assert_eq!(counters["phone_bytes_stored"], u64::from(*bytes));
}

#[test]
fn what_tells_its_rests_itself_is_at_nobodys_pace() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 0.002);
    cost(&mut plan, Operation::Store, 0.005);
    let rest_s = vec![0.0, 0.5];
    plan.profiles[0].pace_after = AfterRest {
        rest_s: rest_s.clone(),
        ratio: vec![2.0, 3.0],
    };
    plan.profiles[0].own_after = vec![OwnAfter {
        operation: Operation::Store as u32,
        after: AfterRest {
            rest_s,
            ratio: vec![0.4, 7.0],
        },
    }];
    for _ in 0..2 {
        arrive(&mut plan, 1.0, 0, 1);
    }
    let trace = trade(plan);
    // Each end has rested before the first, and the second has waited there.
    let spent: Vec<_> = trace.cpu_s().into_iter().collect();
    assert_eq!(spent.len(), 2, "{spent:?}");
    assert_close(spent[0].1, 0.005 * (7.0 + 0.4));
    assert_close(spent[1].1, 0.002 * (3.0 + 2.0));
}

#[test]
fn what_was_not_done_for_long_is_cold_whatever_else_was_done() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 0.002);
    cost(&mut plan, Operation::UdpSend, 0.001);
    plan.profiles[0].pace_after = AfterRest {
        rest_s: vec![0.001, 1.0],
        ratio: vec![1.0, 4.0],
    };
    // Each has proposed just before it has anything to verify, for the first time.
    arrive(&mut plan, 2.0, 0, 1);
    arrive(&mut plan, 2.0, 1, 0);
    arrive(&mut plan, 2.5, 0, 1);
    let verified_s: f64 = trade(plan).cpu_s()["verify"];
    // Before the third it has rested for half a second, less verifying and answering the other.
    let rest_s: f64 = 0.5 - 0.008 - 0.001;
    let third = 1.0 + 3.0 * (rest_s / 0.001).ln() / 1000f64.ln();
    assert_close(verified_s, 0.002 * (4.0 + 4.0 + third));
}

#[test]
fn what_sockets_take_longer_is_in_what_waking_takes() {
    let mut plan = plan(2);
    for operation in [Operation::UdpSend, Operation::UdpReceive, Operation::Verify] {
        cost(&mut plan, operation, 0.001);
    }
    plan.profiles[0].pace_after = AfterRest {
        rest_s: vec![0.5],
        ratio: vec![3.0],
    };
    arrive(&mut plan, 1.0, 0, 1);
    let stored = times(&trade(plan), EventKind::Store);
    assert_close(stored[0], 1.0 + 2.0 * ONE_WAY_S + 4.0 * 0.001 + 0.003);
}

#[test]
fn who_works_has_not_rested() {
    let mut plan = plan(2);
    plan.profiles[0].cores = 1;
    cost(&mut plan, Operation::Verify, 1.0);
    plan.profiles[0].pace_after = AfterRest {
        rest_s: vec![0.0, 0.1],
        ratio: vec![1.0, 2.0],
    };
    plan.profiles[0].wait_s[Operation::UdpWake as usize] = 0.25;
    plan.profiles[0].wake_after = AfterRest {
        rest_s: vec![0.0, 0.1],
        ratio: vec![1.0, 2.0],
    };
    arrive(&mut plan, 1.0, 0, 1);
    arrive(&mut plan, 2.0, 0, 1);
    let stored = times(&trade(plan), EventKind::Store);
    // The second waits behind the first, which takes twice as long after a wake-up that does.
    let done_s = 1.0 + ONE_WAY_S + 0.5 + 2.0;
    assert_close(stored[0], done_s + ONE_WAY_S + 0.5);
    assert_close(stored[1], done_s + 1.0 + ONE_WAY_S + 0.5);
}

#[test]
fn core_seconds_are_counted_by_operation() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 0.002);
    cost(&mut plan, Operation::UdpSend, 0.001);
    plan.profiles[0].wait_s[Operation::Verify as usize] = 0.5;
    arrive(&mut plan, 1.0, 0, 1);
    arrive(&mut plan, 1.0, 0, 1);
    let trace = trade(plan);
    let spent: Vec<_> = trace.cpu_s().into_iter().collect();
    // Each proposal is verified once and sent there and back; waiting takes no core.
    assert_eq!(spent, [("udp_send", 0.004), ("verify", 0.004)]);
}

#[test]
fn a_lane_is_first_in_first_out() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 0.5);
    for _ in 0..3 {
        arrive(&mut plan, 0.0, 0, 1);
    }
    let stored = times(&trade(plan), EventKind::Store);
    for (done, at) in stored.iter().enumerate() {
        assert_close(*at, 2.0 * ONE_WAY_S + 0.5 * (done + 1) as f64);
    }
}

#[test]
fn waiting_takes_time_but_no_core() {
    let mut plan = plan(2);
    plan.profiles[0].wait_s[Operation::Verify as usize] = 0.25;
    arrive(&mut plan, 0.0, 0, 1);
    assert_close(
        times(&trade(plan), EventKind::Store)[0],
        2.0 * ONE_WAY_S + 0.25,
    );
}

#[test]
fn a_full_socket_buffer_drops_what_comes() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 10.0);
    for _ in 0..100 {
        arrive(&mut plan, 0.0, 0, 1);
    }
    plan.duration_s = 5.0;
    let trace = trade(plan);
    // 92 datagrams of 668 B fit the default buffer; one more is already being read.
    assert_eq!(
        reasons(&trace, EventKind::Drop),
        vec![Reason::BufferFull; 100 - 93]
    );
}

#[test]
fn loss_is_drawn_per_hop() {
    let mut plan = plan(2);
    plan.access[0].loss_ratio = 0.1;
    for i in 0..20_000 {
        arrive(&mut plan, f64::from(i) * 0.004, 0, 1);
    }
    let trace = trade(plan);
    let counters = trace.counters();
    let delivered = 1.0 - counters["link_loss"] as f64 / counters["datagrams_sent"] as f64;
    // Two hops of 0.9 each; the standard error is 0.002.
    assert!((delivered - 0.81).abs() < 0.01, "{delivered}");
}

#[test]
fn jitter_keeps_the_order_of_a_pair_unless_told_otherwise() {
    let overtakes = |reorders| {
        let mut plan = plan(2);
        plan.access[0].jitter_median_s = 0.01;
        plan.access[0].jitter_sigma = 1.0;
        plan.access[0].reorders = reorders;
        for i in 0..200 {
            arrive(&mut plan, f64::from(i) * 0.001, 0, 1);
        }
        let trace = trade(plan);
        let columns = &trace.columns;
        let stored: Vec<u64> = (0..columns.kind.len())
            .filter(|&row| columns.kind[row] == EventKind::Store as u8)
            .map(|row| columns.message[row])
            .collect();
        assert_eq!(stored.len(), 200);
        stored.windows(2).any(|pair| pair[1] < pair[0])
    };
    assert!(!overtakes(false));
    assert!(overtakes(true));
}

#[test]
fn what_is_sent_to_a_phone_that_is_off_is_lost_with_that_reason() {
    let mut plan = plan(2);
    turn(&mut plan, 1.0, 1, false);
    arrive(&mut plan, 2.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::ReceiverOff]);
    assert!(times(&trace, EventKind::Store).is_empty());
}

#[test]
fn what_is_on_the_way_when_a_phone_goes_off_is_lost_even_if_it_is_back_in_time() {
    let mut plan = plan(2);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.0 + 0.2 * ONE_WAY_S, 1, false);
    turn(&mut plan, 1.0 + 0.4 * ONE_WAY_S, 1, true);
    let trace = trade(plan);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::ReceiverOff]);
}

#[test]
fn a_reply_that_waits_in_a_phone_that_goes_off_is_lost() {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 1.0);
    arrive(&mut plan, 0.0, 0, 1);
    arrive(&mut plan, 0.0, 0, 1);
    turn(&mut plan, 0.5, 1, false);
    let trace = trade(plan);
    let mut lost = reasons(&trace, EventKind::Lose);
    lost.extend(reasons(&trace, EventKind::Drop));
    // One was being verified, one waited in the socket buffer.
    assert_eq!(lost, [Reason::SenderOff, Reason::ReceiverOff]);
}

#[test]
fn a_phone_that_is_off_proposes_nothing_and_does_again_when_it_is_back() {
    let mut plan = plan(2);
    turn(&mut plan, 0.5, 0, false);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 0, true);
    arrive(&mut plan, 2.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(times(&trace, EventKind::Send), [2.0]);
    assert_eq!(times(&trace, EventKind::Store).len(), 1);
    assert_eq!(trace.counters()["arrivals_while_off"], 1);
}

#[test]
fn adding_a_phone_does_not_reshuffle_the_others() {
    let stored = |count| {
        let mut plan = plan(count);
        plan.access[0].jitter_median_s = 0.01;
        plan.access[0].jitter_sigma = 1.0;
        plan.profiles[0].spread_sigma = vec![0.5; Operation::ALL.len()];
        cost(&mut plan, Operation::Verify, 0.001);
        for i in 0..50 {
            arrive(&mut plan, f64::from(i) * 0.01, 0, 1);
        }
        times(&trade(plan), EventKind::Store)
    };
    assert_eq!(stored(2), stored(7));
}

#[test]
fn the_benchmark_log_fills_up_and_says_so() {
    let mut plan = plan(2);
    plan.trace.log_capacity = 5;
    for i in 0..4 {
        arrive(&mut plan, f64::from(i), 0, 1);
    }
    // Send and store of each trade are benchmark events of phone 0.
    assert_eq!(trade(plan).columns.logged, [1, 1, 1, 1, 1, 0, 0, 0]);
}

#[test]
fn a_sender_loop_goes_on_when_its_phone_is_back() {
    let mut plan = plan(2);
    plan.workload.loops.push(_engine::plan::SenderLoop {
        from_phone: 0,
        to_phone: 1,
        start_s: 0.0,
        duration_s: 10.0,
        interval_s: 1.0,
        by_clock: false,
        overshoot_s: 0.0,
        overshoot_sigma: 0.0,
        payload_bytes: 100,
        outstanding_max: 0,
        outstanding_until_drained: false,
    });
    turn(&mut plan, 2.5, 0, false);
    turn(&mut plan, 6.5, 0, true);
    let sent = times(&trade(plan), EventKind::Send);
    assert_eq!(sent, [0.0, 1.0, 2.0, 6.5, 7.5, 8.5, 9.5]);
}
