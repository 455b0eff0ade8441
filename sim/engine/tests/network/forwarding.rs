//! A process beside a phone that forwards all its datagrams on the phone's cores.

use crate::common::puppet::{act_in_hybrid, say, send, work, Act, Cue};
use crate::common::sends::{arrivals, simulated, Send};
use crate::common::{cost, plan, reasons, turn};
use _engine::plan::Plan;
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{EventKind, Operation, Reason, Seconds};

/// Two phones 20 ms apart, with radios that take nothing, of which phone 0 has such a process.
fn forwarded(cpu_s: Seconds) -> Plan {
    let mut plan = plan(2);
    let access = &mut plan.access[0];
    (access.up_bytes_per_s, access.down_bytes_per_s) = (1e12, 1e12);
    access.latency_s = 0.010;
    plan.access.push(plan.access[0].clone());
    plan.access[0].forwarding_cpu_s = cpu_s;
    plan.phones.access = vec![0, 1];
    plan
}

fn arrived_s(trace: &Trace, count: usize) -> Vec<Option<Seconds>> {
    let to_ms = |at: Seconds| (at * 1e3).round() / 1e3;
    let arrivals = arrivals(trace, count);
    arrivals.into_iter().map(|at| at.map(to_ms)).collect()
}

#[test]
fn a_datagram_arrives_when_its_way_and_the_work_are_both_over() {
    // Either way; the third finds the second being forwarded.
    let sends: [Send; 4] = [
        (1.0, 0, 1, 100),
        (2.0, 1, 0, 100),
        (2.0, 0, 1, 100),
        (9.0, 1, 0, 100),
    ];
    for (cpu_s, after_s) in [
        (0.0, [0.020; 4]),
        (0.005, [0.020; 4]),
        (0.015, [0.020, 0.020, 0.030, 0.020]),
        (0.050, [0.050, 0.050, 0.100, 0.050]),
    ] {
        let trace = simulated(forwarded(cpu_s), &sends);
        let due_s = sends.iter().zip(after_s);
        let due_s: Vec<_> = due_s
            .map(|(send, after_s)| Some(send.0 + after_s))
            .collect();
        assert_eq!(arrived_s(&trace, 4), due_s, "{cpu_s}");
    }
}

#[test]
fn what_the_link_loses_is_worked_on_as_well() {
    let mut plan = forwarded(0.050);
    plan.access.push(plan.access[1].clone());
    plan.access[2].loss_ratio = 1.0;
    plan.phones.access = vec![0, 2, 1];
    (plan.phones.profile, plan.phones.site) = (vec![0; 3], vec![0; 3]);
    (plan.phones.first_index, plan.phones.role) = (vec![1; 3], vec![0; 3]);
    let trace = simulated(plan, &[(1.0, 0, 1, 100), (1.0, 0, 2, 100)]);
    assert_eq!(arrived_s(&trace, 2), [None, Some(1.1)]);
}

#[test]
fn with_a_process_at_both_ends_the_later_one_counts() {
    let mut plan = forwarded(0.050);
    plan.access[1].forwarding_cpu_s = 0.030;
    let trace = simulated(plan, &[(1.0, 0, 1, 100), (1.0, 1, 0, 100)]);
    assert_eq!(arrived_s(&trace, 2), [Some(1.05), Some(1.1)]);
}

#[test]
fn nothing_comes_to_the_process_of_who_is_off() {
    let mut plan = forwarded(0.050);
    turn(&mut plan, 0.5, 0, false);
    turn(&mut plan, 1.02, 0, true);
    let trace = simulated(plan, &[(1.0, 1, 0, 100), (1.03, 1, 0, 100)]);
    assert_eq!(
        arrived_s(&trace, 2)[1],
        Some(1.08),
        "it has nothing left to do"
    );
}

/// When a datagram of phone 0 arrives, which then computes for a second on its only core.
#[test]
fn the_work_shares_the_cores_with_the_phones_own() {
    let mut plan = forwarded(0.050);
    cost(&mut plan, Operation::Sign, 1.0);
    crate::common::arrive(&mut plan, 1.0, 0, 1);
    let trace = act_in_hybrid(plan, |_, cue| -> Vec<Act> {
        match cue {
            Cue::Asked(_) => vec![send(1, 0, 100), work(Operation::Sign), say(1)],
            Cue::Got(_) => vec![say(0)],
            Cue::Failed(_) => vec![],
        }
    });
    // Both at half the speed while there are two.
    assert_eq!(arrived_s(&trace, 2), [Some(1.1), Some(2.05)]);
}

#[test]
fn who_goes_off_forwards_nothing_more() {
    let cases = [
        // Sent at 1 s, in work until 1.05; its way is over at 1.02.
        (0, 1.010, (0, 1), Reason::SenderOff),
        (0, 1.030, (0, 1), Reason::SenderOff),
        (0, 1.030, (1, 0), Reason::ReceiverOff),
        (1, 1.030, (0, 1), Reason::ReceiverOff),
    ];
    for (off, at_s, (from, to), reason) in cases {
        let mut plan = forwarded(0.050);
        turn(&mut plan, at_s, off, false);
        turn(&mut plan, 2.0, off, true);
        let trace = simulated(plan, &[(1.0, from, to, 100), (3.0, from, to, 100)]);
        assert_eq!(reasons(&trace, EventKind::Drop), [reason], "{off} {at_s}");
        let due_s = [None, Some(3.05)];
        assert_eq!(arrived_s(&trace, 2), due_s, "{off} {at_s}");
    }
}
