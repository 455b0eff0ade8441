//! Arrivals that are payments: what the driver asks an application for, and when it does not.

use crate::common::{plan, run, times, turn, Closed, Nothing};
use _engine::driver::Driver;
use _engine::plan::Plan;
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{
    AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Output, OutputsOf,
    Seconds,
};
use pocketsim_protocols::transport::udp::Udp;
use pocketsim_protocols::transport::TransportConfig;

/// Writes down what it is asked for and sends nothing.
struct Clerk;

impl Machine for Clerk {
    type Message = Nothing;
    type Request = AppRequest<Nothing>;
    type Value = ();

    fn receive(&mut self, _: NodeId, _: Nothing, _: Seconds, _: &mut OutputsOf<Self>) {}

    /// A row with the amount as its size, and how the payer behaves as its message.
    fn command(&mut self, request: Self::Request, _: Seconds, out: &mut OutputsOf<Self>) {
        let (kind, peer, size_bytes, message) = match request {
            AppRequest::Pay {
                peer,
                amount_cents,
                conduct,
            } => (EventKind::Take, peer, amount_cents, conduct as u64),
            AppRequest::Transact {
                peer,
                payload_bytes,
            } => (EventKind::Send, peer, payload_bytes, 0),
            AppRequest::Undelivered { .. } => unreachable!("nothing is sent"),
        };
        out.push(Output::Observe(Event {
            kind,
            message: MessageId(message),
            peer,
            size_bytes,
            reason: None,
        }));
    }

    fn handle_timeout(&mut self, _: Seconds, _: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl Application for Clerk {
    type Block = Nothing;
}

fn pay(plan: &mut Plan, time_s: Seconds, amount_cents: u32, conduct: u32) {
    crate::common::arrive(plan, time_s, 0, 1);
    plan.workload.amount_cents.push(amount_cents);
    plan.workload.conduct.push(conduct);
}

fn watch(plan: Plan) -> Trace {
    let (world, end) = (Closed::default(), plan.duration_s);
    let config = TransportConfig::default();
    let mut driver = Driver::new(plan, world.clone(), |_| (Clerk, Udp::new(&config)));
    run(&world, &mut driver, end);
    driver.finish().0
}

#[test]
fn amounts_make_arrivals_payments() {
    let mut plan = plan(2);
    for (at, amount_cents, conduct) in [(1.0, 250, 0), (2.0, 8300, 1), (3.0, 5, 2)] {
        pay(&mut plan, at, amount_cents, conduct);
    }
    let trace = watch(plan);
    assert_eq!(times(&trace, EventKind::Take), [1.0, 2.0, 3.0]);
    assert_eq!(trace.columns.size_bytes, [250, 8300, 5]);
    assert_eq!(trace.columns.message, [0, 1, 2]);
    assert_eq!(trace.columns.peer, [1; 3]);
    assert_eq!(trace.columns.node, [0; 3]);
}

#[test]
fn without_amounts_arrivals_are_proposals() {
    let mut plan = plan(2);
    crate::common::arrive(&mut plan, 1.0, 0, 1);
    assert_eq!(times(&watch(plan), EventKind::Send), [1.0]);
}

#[test]
fn who_is_off_pays_nothing_and_that_is_counted() {
    let mut plan = plan(2);
    turn(&mut plan, 1.5, 0, false);
    pay(&mut plan, 1.0, 100, 0);
    pay(&mut plan, 2.0, 100, 0);
    let trace = watch(plan);
    assert_eq!(times(&trace, EventKind::Take), [1.0]);
    assert_eq!(trace.counters()["arrivals_while_off"], 1);
}
