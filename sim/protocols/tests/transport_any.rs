//! The wrapped transports behave as the bare ones.

mod common;

use common::{parcel, quic, Parcel, Sent, World};
use pocketsim_protocols::contract::{Machine, NodeId, Path, Payload, Transport};
use pocketsim_protocols::transport::any::{AnyTransport, Body};
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::tftp::Tftp;
use pocketsim_protocols::transport::udp::Udp;
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig, TransportKind};

fn conversation<T: Transport<Parcel>>(
    make: impl Fn(NodeId) -> T,
) -> (Vec<Sent>, Vec<common::Arrival>) {
    let mut world = World::new(3, 0.010, make);
    world.app = Box::new(|node, from, parcel| match node.0 {
        1 => vec![(from, parcel.clone())],
        _ => Vec::new(),
    });
    for k in 0..10 {
        world.transmit_at(0.005 * f64::from(k), k % 3, 1 + k % 2, parcel(k % 3, k, 300 * k));
    }
    world.run_until(50.0);
    (world.sent, world.arrivals)
}

#[test]
fn udp_is_udp() {
    let config = TransportConfig { socket_wakeups: true, ..TransportConfig::default() };
    let any = |node| AnyTransport::new(TransportKind::Udp, &config, node);
    assert_eq!(conversation(any), conversation(|_| Udp::new(&config)));
}

#[test]
fn quic_is_quic() {
    for mode in [ConnectionMode::Reconnect, ConnectionMode::Keep] {
        let config = TransportConfig { relay_first: true, poll_interval_s: 0.01, ..quic(mode) };
        let any = |node| AnyTransport::new(TransportKind::Quic, &config, node);
        assert_eq!(conversation(any), conversation(|node| Quic::new(&config, node)));
    }
}

#[test]
fn tftp_is_tftp() {
    let any = |node| AnyTransport::new(TransportKind::Tftp, &TransportConfig::default(), node);
    assert_eq!(conversation(any), conversation(|_| Tftp::new()));
}

#[test]
fn a_plain_body_costs_no_more_than_its_message_and_a_packet() {
    assert!(size_of::<Body<Parcel>>() <= size_of::<Parcel>().max(48) + 8);
    assert!(size_of::<AnyTransport<Parcel>>() <= 64);
}

#[test]
fn what_another_transport_sent_is_dropped() {
    let config = TransportConfig::default();
    let mut tftp = AnyTransport::new(TransportKind::Tftp, &config, NodeId(0));
    let mut out = Vec::new();
    let payload = parcel(1, 1, 100);
    let datagram = pocketsim_protocols::contract::Datagram {
        udp_payload_bytes: payload.wire_bytes(),
        path: Path::Direct,
        message: None,
        body: Body::Plain(payload),
    };
    tftp.receive(NodeId(1), datagram, 0.0, &mut out);
    assert_eq!(out, []);
    assert_eq!(tftp.next_timeout(), None);
    assert!(tftp.shut_down(0.0).is_empty());
}
