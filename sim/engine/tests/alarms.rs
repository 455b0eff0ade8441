//! Timeouts of phones that go off: none while they are off, and none forgotten when they are back.

mod common;

use _engine::driver::Driver;
use _engine::plan::Plan;
use _engine::trace::Trace;
use common::{nodes, plan, run, times, turn, Closed, Nothing};
use pocketsim_protocols::contract::{
    AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Operation, Output,
    OutputsOf, Seconds,
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
