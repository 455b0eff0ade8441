//! What a phone that goes off was sending fails at once, and in an order that is the run's own.

use crate::common::{arrive, nodes, plan, times, trade_where, turn, Flights};
use _engine::plan::Plan;
use pocketsim_protocols::contract::EventKind;

/// Five proposals of phone 0 are in the air when it goes off.
fn cut_off() -> Plan {
    let mut plan = plan(6);
    for to in 1..6 {
        arrive(&mut plan, 1.0, 0, to);
    }
    turn(&mut plan, 1.005, 0, false);
    turn(&mut plan, 2.0, 0, true);
    arrive(&mut plan, 3.0, 0, 1);
    plan
}

#[test]
fn the_order_in_which_a_world_names_failures_does_not_show() {
    let [one, other] = [Flights::Fail, Flights::FailBackwards]
        .map(|order| trade_where(cut_off(), order).0.columns);
    assert_eq!(one.message, other.message);
    assert_eq!(one.kind, other.kind);
    assert_eq!(one.time_s, other.time_s);
}

#[test]
fn what_fails_ends_at_the_time_it_fails_and_in_order_of_its_token() {
    let (trace, _) = trade_where(cut_off(), Flights::FailBackwards);
    assert_eq!(times(&trace, EventKind::Drop), [1.005; 5]);
    assert_eq!(nodes(&trace, EventKind::Drop), [1, 2, 3, 4, 5]);
    // And the phone goes on when it is back.
    assert_eq!(times(&trace, EventKind::Store).len(), 1);
}
