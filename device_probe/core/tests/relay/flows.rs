//! The table of flows: who is found again, who expires, and what happens when it is full.

use std::net::SocketAddr;
use std::time::Duration;

use pocketsim_probe_core::relay::flow::{Table, Way};

const IDLE: Duration = Duration::from_secs(60);

fn client(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_client_is_found_again_on_its_port_only() {
    let mut table = Table::new(10, IDLE);
    let flow = table.open(0, client(1), s(0));
    assert_eq!(table.find(0, client(1)), Some(flow));
    assert_eq!(table.find(1, client(1)), None);
    assert_eq!(table.find(0, client(2)), None);
    assert_ne!(table.open(1, client(1), s(0)), flow);
}

#[test]
fn an_idle_flow_expires_with_its_doors() {
    let mut table = Table::new(10, IDLE);
    let (idle, used) = (
        table.open(0, client(1), s(0)),
        table.open(0, client(2), s(0)),
    );
    table.open_door(idle, 4000);
    table.open_door(idle, 4001);
    table.touch(used, s(1));
    assert!(table.idle_flows(s(60) - Duration::from_nanos(1)).is_empty());
    assert_eq!(table.idle_flows(s(60)), [idle]);
    let ways = [
        Way::Upstream(idle),
        Way::Door(idle, 4000),
        Way::Door(idle, 4001),
    ];
    assert_eq!(table.close(idle), ways);
    assert!(table.close(idle).is_empty(), "once");
    assert_eq!(table.find(0, client(1)), None);
    assert_eq!(table.idle_flows(s(61)), [used]);
    assert_eq!(table.opened_and_closed(), (2, 1));
}

#[test]
fn a_door_belongs_to_one_flow() {
    let mut table = Table::new(10, IDLE);
    let (first, second) = (
        table.open(2, client(1), s(0)),
        table.open(2, client(2), s(0)),
    );
    table.open_door(first, 4000);
    assert!(table.has_door(first, 4000));
    assert!(!table.has_door(first, 4001));
    assert!(!table.has_door(second, 4000));
}

#[test]
fn a_full_table_gives_up_the_flow_that_was_idle_longest() {
    let mut table = Table::new(3, IDLE);
    let flows = [0, 1].map(|port| table.open(0, client(port), s(0)));
    assert_eq!(table.make_room(s(10)), Some(None), "a third socket fits");
    table.open_door(flows[0], 4000);
    table.touch(flows[0], s(5));
    assert_eq!(table.make_room(s(10)), Some(Some(flows[1])));
}

#[test]
fn a_full_table_keeps_flows_that_are_in_use() {
    let mut table = Table::new(1, IDLE);
    let flow = table.open(0, client(1), s(0));
    table.touch(flow, s(9));
    assert_eq!(table.make_room(s(10)), None);
    assert_eq!(table.make_room(s(11)), Some(Some(flow)));
}

#[test]
fn a_number_is_never_used_twice() {
    let mut table = Table::new(10, IDLE);
    let first = table.open(0, client(1), s(0));
    table.close(first);
    assert_ne!(table.open(0, client(1), s(0)), first);
}
