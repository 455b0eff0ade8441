//! Outages between radios that store and forward: what reaches a network that is out is lost there.

use crate::common::puppet::{act_in_hybrid, say, send, Act, Cue};
use crate::common::{ask, counter, plan, reasons, times};
use _engine::plan::{Outage, Plan};
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{EventKind, Reason};

/// The networks of the sender and of the receiver.
const NEAR: u32 = 0;
const FAR: u32 = 1;

/// Phone 0 sends what it is asked for to phone 1: a second up, a quarter across, half a second down.
fn carry(plan: Plan) -> Trace {
    act_in_hybrid(plan, |_, cue| -> Vec<Act> {
        match cue {
            Cue::Asked(bytes) => vec![send(1, bytes, bytes)],
            Cue::Got(parcel) => vec![say(parcel.bytes)],
            Cue::Failed(_) => vec![],
        }
    })
}

/// Datagrams at these times, and an outage.
fn one(asked_s: &[f64], access: u32, start_s: f64, end_s: f64) -> Plan {
    let mut plan = plan(2);
    plan.access[0].up_bytes_per_s = 1000.0;
    plan.access[0].down_bytes_per_s = 2000.0;
    plan.access[0].latency_s = 0.125;
    plan.access.push(plan.access[0].clone());
    plan.phones.access[1] = FAR;
    plan.outages.push(Outage {
        access,
        start_s,
        end_s,
    });
    for &time_s in asked_s {
        ask(&mut plan, time_s, 972); // 1000 with its headers
    }
    plan
}

/// When each arrives or is lost.
fn ends(plan: Plan) -> [Vec<f64>; 2] {
    let trace = carry(plan);
    let drops = reasons(&trace, EventKind::Drop);
    assert!(drops.iter().all(|&reason| reason == Reason::LinkLoss));
    [EventKind::Take, EventKind::Drop].map(|kind| times(&trace, kind))
}

#[test]
fn the_sender_s_network_decides_when_it_is_out_of_the_radio() {
    // Handed over at 10, out at 11, across at 11.25, there at 11.75.
    let cases = [
        ((10.0, 11.0), true, "over when it is out"),
        ((10.5, 11.001), false, "over just after"),
        ((11.0, 12.0), false, "begins when it is out"),
        ((11.001, 12.0), true, "begins just after"),
    ];
    for ((start_s, end_s), arrives, what) in cases {
        let found = ends(one(&[10.0], NEAR, start_s, end_s));
        let expected = match arrives {
            true => [vec![11.75], vec![]],
            false => [vec![], vec![11.0]],
        };
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn the_receiver_s_network_decides_when_it_is_across() {
    let cases = [
        ((10.0, 11.25), true, "over when it is across"),
        ((11.0, 11.251), false, "over just after"),
        ((11.25, 12.0), false, "begins when it is across"),
        ((11.251, 12.0), true, "begins while it comes down"),
    ];
    for ((start_s, end_s), arrives, what) in cases {
        let found = ends(one(&[10.0], FAR, start_s, end_s));
        let expected = match arrives {
            true => [vec![11.75], vec![]],
            false => [vec![], vec![11.25]],
        };
        assert_eq!(found, expected, "{what}");
    }
}

#[test]
fn what_is_lost_keeps_the_sender_s_radio_and_not_the_receiver_s() {
    // Out at 11, 12 and 13.
    let near = ends(one(&[10.0; 3], NEAR, 10.5, 12.5));
    assert_eq!(near, [vec![13.75], vec![11.0, 12.0]]);
    // Ten seconds down: those of the first are not waited for.
    let mut far = one(&[10.0; 2], FAR, 11.0, 11.5);
    far.access[FAR as usize].down_bytes_per_s = 100.0;
    assert_eq!(ends(far), [vec![22.25], vec![11.25]]);
}

#[test]
fn bytes_that_an_outage_swallows_were_sent() {
    for (access, start_s) in [(NEAR, 10.0), (FAR, 10.0)] {
        let trace = carry(one(&[10.0, 10.5], access, start_s, 50.0));
        assert_eq!(counter(&trace, "access_bytes"), 2000);
        assert_eq!(counter(&trace, "link_loss"), 2);
    }
}

#[test]
fn what_a_phone_had_not_sent_when_it_went_off_is_not_lost_in_the_outage() {
    let mut plan = one(&[10.0; 2], NEAR, 10.5, 50.0);
    crate::common::turn(&mut plan, 11.5, 0, false);
    let trace = carry(plan);
    assert_eq!(counter(&trace, "link_loss"), 1);
    assert_eq!(counter(&trace, "sender_off"), 1);
    assert_eq!(counter(&trace, "access_bytes"), 1000);
}
