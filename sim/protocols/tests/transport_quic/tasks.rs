//! What of a connection's work waits for tasks of messages.

use crate::common::{parcel, quic, Parcel};
use pocketsim_protocols::contract::{Datagram, Machine, NodeId, Output, OutputsOf, Transport};
use pocketsim_protocols::transport::quic::wire::{Content, Frame};
use pocketsim_protocols::transport::quic::{Quic, QuicDatagram};
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

type End = Quic<Parcel>;
type Sent = Datagram<QuicDatagram<Parcel>>;

/// Does all that the machine has asked itself for; what it sends.
fn sent(quic: &mut End, mut out: OutputsOf<End>, now: f64) -> Vec<Sent> {
    let mut sent = Vec::new();
    while !out.is_empty() {
        match out.remove(0) {
            Output::Post { request, .. } => quic.command(request, now, &mut out),
            Output::Send { message, .. } => sent.push(message),
            _ => {}
        }
    }
    sent
}

/// What an end sends because of datagrams of the other's.
fn heard(quic: &mut End, from: u32, datagrams: Vec<Sent>) -> Vec<Sent> {
    let mut out = Vec::new();
    for datagram in datagrams {
        quic.receive(NodeId(from), datagram, 0.0, &mut out);
    }
    sent(quic, out, 0.0)
}

#[test]
fn a_message_is_in_no_packet_before_its_task_has_run() {
    let config = TransportConfig {
        answer_on_same_connection: true,
        ..quic(ConnectionMode::Keep)
    };
    let [mut near, mut far] = [0, 1].map(|node| End::new(&config, NodeId(node)));
    let mut out = Vec::new();
    near.transmit(NodeId(1), parcel(0, 1, 100), 0.0, &mut out);
    let mut flight = sent(&mut near, out, 0.0);
    while !flight.is_empty() {
        let answer = heard(&mut far, 0, flight);
        flight = heard(&mut near, 1, answer);
    }
    let mut handed = Vec::new();
    near.transmit(NodeId(1), parcel(0, 2, 100), 0.0, &mut handed);
    let mut out = Vec::new();
    far.transmit(NodeId(0), parcel(1, 3, 100), 0.0, &mut out);
    let other = sent(&mut far, out, 0.0);
    assert!(other.iter().any(has_data));
    let told = heard(&mut near, 1, other);
    assert!(!told.iter().any(has_data));
    assert!(sent(&mut near, handed, 0.0).iter().any(has_data));
}

/// Whether there is data of a stream in it.
fn has_data(datagram: &Sent) -> bool {
    let Content::Packets(packets) = &datagram.body.content else {
        return false;
    };
    let mut frames = packets.iter().flat_map(|packet| &packet.frames);
    frames.any(|frame| matches!(frame, Frame::Chunk { .. }))
}
