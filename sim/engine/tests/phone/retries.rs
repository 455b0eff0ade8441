//! Proposals that are sent again, on phones that go off and on: nothing is lost too early, or twice.

use std::sync::Arc;

use crate::common::{
    arrive, cost, counter, nodes, plan, reasons, run, sender_loop, times, turn, Closed, Flights,
};
use _engine::driver::Driver;
use _engine::plan::{Plan, Retries, SenderLoop};
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{EventKind, MessageId, NodeId, Operation, Reason};
use pocketsim_protocols::crypto::{directory, Counted, Crypto};
use pocketsim_protocols::transport::udp::Udp;
use pocketsim_protocols::transport::TransportConfig;
use pocketsim_protocols::trustchain::{Agent, AgentConfig};

/// Two phones whose proposals are sent at 0, 2, 6 and 14 s and given up after 30 s.
fn patient() -> Plan {
    let mut plan = plan(2);
    plan.protocol.retries = Some(Retries {
        attempts: 4,
        first_wait_s: 2.0,
        factor: 2.0,
        longest_wait_s: 100.0,
        jitter: 0.0,
        deadline_s: 60.0,
        while_off: "kept".into(),
    });
    plan
}

fn forgetful() -> Plan {
    let mut plan = patient();
    let retries = plan.protocol.retries.as_mut();
    retries.expect("it has them").while_off = "lost".into();
    plan
}

/// Runs the plan's trades over UDP; who was off tries again after half of a first wait.
fn trade(plan: Plan) -> Trace {
    let world = Closed::where_flights(Flights::Fail);
    let (end, config) = (plan.duration_s, TransportConfig::default());
    let keys: Arc<[_]> = directory::<Counted>(plan.seed, plan.phones.profile.len() as u32);
    let retries = plan.protocol.retries.as_ref();
    let retries = retries.map(pocketsim_protocols::trustchain::Retries::from);
    let seed = plan.seed;
    let mut driver = Driver::new(plan, world.clone(), |node| {
        let node = NodeId(node);
        let crypto = Counted::new(seed, node);
        let agent = Agent::new(crypto, node, keys.clone(), AgentConfig::default());
        let agent = match retries {
            Some(retries) => agent.with_retries(retries, Box::new(|| 0.5)),
            None => agent,
        };
        (agent, Udp::new(&config))
    });
    run(&world, &mut driver, end);
    driver.finish().0
}

/// Sends, stores and losses of a trace.
fn ends(trace: &Trace) -> [usize; 3] {
    [EventKind::Send, EventKind::Store, EventKind::Lose].map(|kind| times(trace, kind).len())
}

#[test]
fn what_is_dropped_is_sent_again_until_its_receiver_is_back() {
    let mut plan = patient();
    turn(&mut plan, 0.5, 1, false);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 4.0, 1, true);
    let trace = trade(plan);
    assert_eq!(ends(&trace), [1, 1, 0]);
    let stored_s = times(&trace, EventKind::Store)[0];
    assert!((7.0..7.1).contains(&stored_s), "{stored_s}");
    // Of these datagrams none was the last hope of its transaction.
    assert_eq!(times(&trace, EventKind::Drop).len(), 2);
    let columns = &trace.columns;
    let dropped = columns.kind.iter().zip(&columns.message);
    let dropped = dropped.filter(|&(&kind, _)| kind == EventKind::Drop as u8);
    for (_, &message) in dropped {
        assert_eq!(MessageId(message), MessageId::new(NodeId(0), u32::MAX));
    }
}

#[test]
fn whoever_never_comes_back_is_given_up_on_once() {
    let mut plan = patient();
    turn(&mut plan, 0.5, 1, false);
    arrive(&mut plan, 1.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(ends(&trace), [1, 0, 1]);
    assert_eq!(reasons(&trace, EventKind::Lose), [Reason::RetriesExhausted]);
    assert_eq!(times(&trace, EventKind::Lose), [31.0]);
    assert_eq!(times(&trace, EventKind::Drop).len(), 4);
}

#[test]
fn what_a_phone_was_about_to_send_when_it_went_off_is_sent_when_it_is_back() {
    let mut plan = patient();
    cost(&mut plan, Operation::UdpSend, 1.0);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 0, false);
    turn(&mut plan, 20.0, 0, true);
    let trace = trade(plan);
    assert_eq!(counter(&trace, "datagrams_cut_off"), 1);
    assert_eq!(ends(&trace), [1, 1, 0]);
    // Half of a first wait after it came back, and a send of a second at either end.
    let stored_s = times(&trace, EventKind::Store)[0];
    assert!((23.0..23.1).contains(&stored_s), "{stored_s}");
}

#[test]
fn a_proposal_that_was_never_made_is_not_sent_later() {
    for mut plan in [patient(), forgetful()] {
        cost(&mut plan, Operation::Sign, 1.0);
        arrive(&mut plan, 1.0, 0, 1);
        turn(&mut plan, 1.5, 0, false);
        turn(&mut plan, 20.0, 0, true);
        let trace = trade(plan);
        assert_eq!(ends(&trace), [0, 0, 0]);
        assert_eq!(counter(&trace, "arrivals_cut_off"), 1);
        assert_eq!(counter(&trace, "datagrams_sent"), 0);
    }
}

#[test]
fn what_a_phone_stores_when_it_goes_off_is_stored() {
    let mut plan = patient();
    cost(&mut plan, Operation::Store, 1.0);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 2.5, 0, false);
    turn(&mut plan, 3.5, 0, true);
    let trace = trade(plan);
    assert_eq!(ends(&trace), [1, 1, 0]);
    assert_eq!(times(&trace, EventKind::Store), [2.5]);
}

#[test]
fn an_answer_that_dies_with_its_phone_is_given_again() {
    let mut plan = patient();
    cost(&mut plan, Operation::Store, 0.5);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.2, 1, false);
    turn(&mut plan, 1.3, 1, true);
    let trace = trade(plan);
    assert_eq!(ends(&trace), [1, 1, 0]);
    let stored_s = times(&trace, EventKind::Store)[0];
    // It stores nothing again: only the proposer takes half a second for that.
    assert!((3.5..3.6).contains(&stored_s), "{stored_s}");
    assert!(times(&trace, EventKind::StorePeer).is_empty());
}

#[test]
fn a_phone_may_lose_what_is_open_with_it() {
    let mut plan = forgetful();
    turn(&mut plan, 0.5, 1, false);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 1.5, 0, false);
    turn(&mut plan, 1.6, 0, true);
    turn(&mut plan, 1.7, 1, true);
    let trace = trade(plan);
    assert_eq!(ends(&trace), [1, 0, 1]);
    assert_eq!(reasons(&trace, EventKind::Lose), [Reason::SenderOff]);
    assert_eq!(times(&trace, EventKind::Lose), [1.5]);
}

#[test]
fn a_proposal_that_a_phone_keeps_holds_its_place_among_the_outstanding() {
    let loops = |plan: &mut Plan| {
        plan.workload.loops.push(SenderLoop {
            outstanding_max: 1,
            duration_s: 40.0,
            ..sender_loop(0)
        });
        turn(plan, 0.5, 1, false);
        turn(plan, 2.5, 0, false);
        turn(plan, 3.25, 0, true);
    };
    let (mut kept, mut lost) = (patient(), forgetful());
    loops(&mut kept);
    loops(&mut lost);
    let (kept, lost) = (trade(kept), trade(lost));
    let sent_s = |trace: &Trace| times(trace, EventKind::Send)[1];
    assert!(sent_s(&kept) > 30.0, "{}", sent_s(&kept));
    assert!(sent_s(&lost) < 5.0, "{}", sent_s(&lost));
    assert_eq!(nodes(&kept, EventKind::Lose)[0], 0);
}
