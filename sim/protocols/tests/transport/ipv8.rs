//! Bare packets of IPv8: exact sizes, work at both ends, no repair.

use crate::common::{parcel, Parcel, Verdict, World};
use pocketsim_protocols::contract::{
    Delivery, Lane, Machine, NodeId, Operation, Output, Reason, Transport,
};
use pocketsim_protocols::transport::ipv8::{Ipv8, SendNext};

fn world(sealed: bool) -> World<Ipv8<Parcel>> {
    World::new(2, 0.005, |_| Ipv8::new(sealed))
}

#[test]
fn a_message_is_one_packet_with_its_header() {
    for (sealed, bytes) in [(false, 1200 + 31), (true, 1200 + 31 + 48)] {
        let mut world = world(sealed);
        world.transmit_at(1.0, 0, 1, parcel(0, 1, 1200));
        world.run_until(2.0);
        assert_eq!(world.received(1), [(1.005, parcel(0, 1, 0).id)]);
        assert_eq!(world.sent.len(), 1);
        assert_eq!(world.sent[0].bytes, bytes);
        assert_eq!(world.sent[0].message, Some(parcel(0, 1, 0).id));
    }
}

#[test]
fn making_and_reading_it_are_work_and_nothing_is_signed() {
    for sealed in [false, true] {
        let mut world = world(sealed);
        world.transmit_at(0.0, 0, 1, parcel(0, 1, 500));
        world.run_until(1.0);
        let boxes = u32::from(sealed);
        let mut expected = vec![(NodeId(0), Operation::OverlaySend, 531 + 48 * boxes)];
        expected.extend(sealed.then_some((NodeId(0), Operation::SealedBoxSeal, 500)));
        expected.push((NodeId(0), Operation::UdpSend, 531 + 48 * boxes));
        expected.push((NodeId(1), Operation::UdpReceive, 531 + 48 * boxes));
        expected.push((NodeId(1), Operation::OverlayReceive, 531 + 48 * boxes));
        expected.extend(sealed.then_some((NodeId(1), Operation::SealedBoxOpen, 500)));
        assert_eq!(world.operations, expected);
    }
}

#[test]
fn another_thread_sends_so_that_the_maker_goes_on() {
    let mut ipv8 = Ipv8::new(false);
    let mut out = Vec::new();
    ipv8.transmit(NodeId(1), parcel(0, 1, 100), 0.0, &mut out);
    let lane = Lane(Lane::FIRST_TASK);
    assert!(matches!(out.last(), Some(Output::Post { lane: to, .. }) if *to == lane));
    assert!(!out
        .iter()
        .any(|output| matches!(output, Output::Send { .. })));
    assert_eq!(ipv8.next_timeout(), None);
}

#[test]
fn the_largest_packet_is_1472_bytes() {
    for (sealed, largest) in [(false, 1472 - 31), (true, 1472 - 31 - 48)] {
        let mut world = world(sealed);
        world.transmit_at(0.0, 0, 1, parcel(0, 1, largest));
        world.transmit_at(0.1, 0, 1, parcel(0, 2, largest + 1));
        world.run_until(1.0);
        assert_eq!(world.received(1).len(), 1);
        assert_eq!(world.failed(0), [(parcel(0, 2, 0).id, Reason::Oversized)]);
    }
}

#[test]
fn a_lost_packet_goes_unnoticed() {
    let mut world = world(false);
    world.rule = Box::new(|_, _| Verdict::Drop);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(60.0);
    assert!(world.received(1).is_empty() && world.failed(0).is_empty());
    assert_eq!(world.sent.len(), 1);
}

#[test]
fn what_waits_for_the_sending_thread_is_lost_with_the_phone() {
    let mut ipv8 = Ipv8::new(false);
    let mut out = Vec::new();
    for sequence in [1, 2] {
        ipv8.transmit(NodeId(1), parcel(0, sequence, 100), 0.0, &mut out);
    }
    out.clear();
    ipv8.command(SendNext, 0.0, &mut out);
    assert!(matches!(out.last(), Some(Output::Send { .. })));
    let payload = parcel(0, 2, 100);
    let reason = Reason::SenderOff;
    let held = [(NodeId(1), Delivery::Failed { payload, reason })];
    assert_eq!(ipv8.shut_down(0.0), held, "the first has left");
    out.clear();
    ipv8.command(SendNext, 1.0, &mut out);
    assert!(out.is_empty(), "nothing is left of the time before");
}
