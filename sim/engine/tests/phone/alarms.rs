//! Timeouts of phones that go off: none while they are off, and none forgotten when they are back.

use crate::common::{arrive, nodes, plan, run, times, turn, Closed, Nothing};
use _engine::driver::Driver;
use _engine::plan::Plan;
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{
    AppRequest, Application, Conduct, Event, EventKind, Lane, Machine, MessageId, NodeId,
    Operation, Output, OutputsOf, Seconds,
};
use pocketsim_protocols::transport::udp::Udp;
use pocketsim_protocols::transport::TransportConfig;

/// Works and writes a row every ten seconds.
struct Clock {
    next_s: Seconds,
}

impl Machine for Clock {
    type Message = Nothing;
    type Request = AppRequest<Nothing>;
    type Value = ();

    fn receive(&mut self, _: NodeId, _: Nothing, _: Seconds, _: &mut OutputsOf<Self>) {}

    fn command(&mut self, _: Self::Request, _: Seconds, _: &mut OutputsOf<Self>) {}

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        if now < self.next_s {
            return;
        }
        self.next_s = now + 10.0;
        let operation = Operation::Sign;
        out.push(Output::Work {
            operation,
            bytes: 0,
        });
        let (kind, message, peer) = (EventKind::Take, MessageId(0), NodeId(0));
        out.push(Output::Observe(Event::new(kind, message, peer, 0)));
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        Some((self.next_s, "tick"))
    }
}

impl Application for Clock {
    type Block = Nothing;
}

/// When phone 0 ticks; each tick takes it a second.
fn ticks(plan: Plan) -> Vec<Seconds> {
    times(&watch(plan, |_| 10.0), EventKind::Take)
}

/// A run of clocks that tick first when `first_s` says.
fn watch(mut plan: Plan, first_s: impl Fn(u32) -> Seconds) -> Trace {
    plan.profiles[0].cpu_s[Operation::Sign as usize] = 1.0;
    let (world, end) = (Closed::default(), plan.duration_s);
    let config = TransportConfig::default();
    let clock = |phone| {
        let next_s = first_s(phone);
        (Clock { next_s }, Udp::new(&config))
    };
    let mut driver = Driver::new(plan, world.clone(), clock);
    run(&world, &mut driver, end);
    driver.finish().0
}

#[test]
fn a_phone_ticks_on_after_it_was_off_when_a_timeout_came_due() {
    let mut plan = plan(1);
    assert_eq!(ticks(plan.clone())[..4], [11.0, 21.0, 31.0, 41.0]);
    turn(&mut plan, 15.0, 0, false);
    turn(&mut plan, 34.5, 0, true);
    // What came due at 20 s, and once more while it was off, comes once: at once.
    assert_eq!(ticks(plan)[..4], [11.0, 35.5, 45.5, 55.5]);
}

#[test]
fn a_short_absence_moves_no_timeout() {
    let mut plan = plan(1);
    turn(&mut plan, 12.0, 0, false);
    turn(&mut plan, 12.5, 0, true);
    turn(&mut plan, 13.0, 0, false);
    turn(&mut plan, 14.0, 0, true);
    assert_eq!(ticks(plan)[..3], [11.0, 21.0, 31.0]);
}

#[test]
fn what_it_was_doing_when_it_went_off_is_not_done() {
    let mut plan = plan(1);
    turn(&mut plan, 10.5, 0, false);
    turn(&mut plan, 11.5, 0, true);
    assert_eq!(ticks(plan)[..2], [21.0, 31.0]);
}

#[test]
fn a_timeout_that_has_passed_comes_at_once() {
    let trace = watch(plan(1), |_| -5.0);
    assert_eq!(times(&trace, EventKind::Take)[..2], [1.0, 11.0]);
}

#[test]
fn phones_that_tick_at_once_tick_in_the_order_they_were_armed() {
    let trace = watch(plan(3), |_| 10.0);
    assert_eq!(nodes(&trace, EventKind::Take)[..6], [0, 1, 2, 0, 1, 2]);
    let trace = watch(plan(3), |phone| 12.0 - f64::from(phone));
    assert_eq!(nodes(&trace, EventKind::Take)[..3], [2, 1, 0]);
}

#[test]
fn a_phone_that_is_off_at_first_ticks_when_it_is_on() {
    let mut plan = plan(1);
    turn(&mut plan, 0.0, 0, false);
    turn(&mut plan, 50.0, 0, true);
    assert_eq!(ticks(plan)[..2], [51.0, 61.0]);
}

/// Waits until the second that it was last asked for, and tells of each timeout that it is given;
/// asked for none, it keeps its receive lane busy for six seconds.
struct Sleeper {
    next_s: Seconds,
}

impl Machine for Sleeper {
    type Message = Nothing;
    type Request = AppRequest<Nothing>;
    type Value = ();

    fn receive(&mut self, _: NodeId, _: Nothing, _: Seconds, _: &mut OutputsOf<Self>) {}

    fn command(&mut self, request: Self::Request, _: Seconds, out: &mut OutputsOf<Self>) {
        let (operation, bytes) = (Operation::Sign, 0);
        match request {
            AppRequest::Transact {
                payload_bytes: 0,
                peer,
            } => out.push(Output::Post {
                lane: Lane::RECEIVE,
                request: AppRequest::Pay {
                    peer,
                    amount_cents: 0,
                    conduct: Conduct::Honest,
                },
            }),
            AppRequest::Transact { payload_bytes, .. } => self.next_s = f64::from(payload_bytes),
            AppRequest::Pay { .. } => out.push(Output::Work { operation, bytes }),
            AppRequest::Undelivered { .. } => unreachable!("it sends nothing"),
        }
    }

    fn handle_timeout(&mut self, _: Seconds, out: &mut OutputsOf<Self>) {
        self.next_s = Seconds::INFINITY;
        let (kind, message, peer) = (EventKind::Take, MessageId(0), NodeId(0));
        out.push(Output::Observe(Event::new(kind, message, peer, 0)));
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        let waits = self.next_s.is_finite();
        waits.then_some((self.next_s, "what it was asked for"))
    }
}

impl Application for Sleeper {
    type Block = Nothing;
}

/// When a phone that waits until 5 s, and is busy until 6 s, is given its timeouts, if it is asked
/// each second from 1 s on to wait until another.
fn given(asked_s: &[u32]) -> Vec<Seconds> {
    let mut plan = plan(2);
    plan.profiles[0].cpu_s[Operation::Sign as usize] = 6.0;
    for (second, asked_s) in [0].iter().chain(asked_s).enumerate() {
        arrive(&mut plan, second as Seconds, 0, 1);
        plan.workload.payload_bytes[second] = *asked_s;
    }
    let (world, end) = (Closed::default(), plan.duration_s);
    let config = TransportConfig::default();
    let sleeper = |phone| {
        let next_s = if phone == 0 { 5.0 } else { Seconds::INFINITY };
        (Sleeper { next_s }, Udp::new(&config))
    };
    let mut driver = Driver::new(plan, world.clone(), sleeper);
    run(&world, &mut driver, end);
    times(&driver.finish().0, EventKind::Take)
}

#[test]
fn a_timeout_that_waits_for_its_lane_is_given_once() {
    assert_eq!(given(&[]), [6.0]);
    // What was armed for 5 s finds that of 3 s waiting.
    assert_eq!(given(&[3]), [6.0]);
}

#[test]
fn a_timeout_that_is_put_off_while_it_waits_comes_when_it_is_due() {
    assert_eq!(given(&[2, 2, 2, 50]), [50.0]);
}
