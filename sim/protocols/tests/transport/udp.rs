//! UDP end to end: one datagram, no memory, no repair.

use crate::common::{parcel, Parcel, Verdict, World};
use pocketsim_protocols::contract::{Machine, Operation, Path, Reason, Transport};
use pocketsim_protocols::transport::udp::Udp;
use pocketsim_protocols::transport::TransportConfig;

fn world(count: u32) -> World<Udp<Parcel>> {
    World::new(count, 0.005, |_| Udp::new(&TransportConfig::default()))
}

#[test]
fn a_message_is_one_datagram_of_its_size() {
    let mut world = world(2);
    world.transmit_at(1.0, 0, 1, parcel(0, 1, 668));
    world.run_until(10.0);
    assert_eq!(world.received(1), [(1.005, parcel(0, 1, 0).id)]);
    assert_eq!(world.sent.len(), 1);
    assert_eq!(
        (world.sent[0].bytes, world.sent[0].path),
        (668, Path::Direct)
    );
    assert_eq!(world.sent[0].message, Some(parcel(0, 1, 0).id));
    assert_eq!(world.count(0, Operation::UdpSend), 1);
    assert_eq!(world.count(1, Operation::UdpReceive), 1);
}

#[test]
fn datagrams_wait_for_the_receiving_thread() {
    let mut world = world(3);
    world.work = Box::new(|operation, _| match operation {
        Operation::UdpReceive => 0.010,
        _ => 0.0,
    });
    world.transmit_at(0.0, 0, 2, parcel(0, 1, 100));
    world.transmit_at(0.0, 1, 2, parcel(1, 1, 100));
    world.run_until(1.0);
    let times: Vec<f64> = world.received(2).iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [0.015, 0.025]);
}

#[test]
fn an_answer_takes_one_round_trip() {
    let mut world = world(2);
    world.app = Box::new(|_, from, parcel| match from.0 {
        0 => vec![(from, parcel.clone())],
        _ => Vec::new(),
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 600));
    world.run_until(1.0);
    assert_eq!(world.received(0), [(0.010, parcel(0, 1, 0).id)]);
}

#[test]
fn a_lost_datagram_goes_unnoticed() {
    let mut world = world(2);
    world.rule = Box::new(|_, _| Verdict::Drop);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(100.0);
    assert!(world.arrivals.is_empty());
    assert!(world.switch_off(0).is_empty());
}

#[test]
fn what_ipv4_cannot_carry_is_refused() {
    let mut world = world(2);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 65_507));
    world.transmit_at(0.0, 0, 1, parcel(0, 2, 65_508));
    world.run_until(1.0);
    assert_eq!(world.received(1).len(), 1);
    assert_eq!(world.failed(0), [(parcel(0, 2, 0).id, Reason::Oversized)]);
}

#[test]
fn the_socket_timeout_only_costs_a_wake_up() {
    let config = TransportConfig {
        socket_wakeups: true,
        ..TransportConfig::default()
    };
    let mut world: World<Udp<Parcel>> = World::new(2, 0.0, |_| Udp::new(&config));
    world.transmit_at(1.0, 0, 1, parcel(0, 1, 100));
    world.run_until(12.0);
    // Woken at 6 s and 11 s, five seconds after the datagram of 1 s; and by that datagram.
    assert_eq!(world.count(1, Operation::UdpReceive), 3);
    let quiet: Udp<Parcel> = Udp::new(&TransportConfig::default());
    assert_eq!(quiet.next_timeout(), None);
}

#[test]
fn shutting_down_has_nothing_to_return() {
    let mut udp: Udp<Parcel> = Udp::new(&TransportConfig::default());
    assert_eq!(udp.shut_down(1.0), []);
}
