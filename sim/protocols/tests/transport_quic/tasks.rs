//! What of a connection's work waits for tasks of messages.

use crate::common::{parcel, quic, Parcel};
use pocketsim_protocols::contract::{
    Datagram, Delivery, Machine, NodeId, Output, OutputsOf, Transport,
};
use pocketsim_protocols::transport::quic::wire::{Content, Frame};
use pocketsim_protocols::transport::quic::{Quic, QuicDatagram};
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

type End = Quic<Parcel>;
type Sent = Datagram<QuicDatagram<Parcel>>;

/// Does all that the machine has asked itself for; what it sends. The app answers what it is given,
/// if it does.
fn sent(quic: &mut End, mut out: OutputsOf<End>, answers: bool) -> Vec<Sent> {
    let mut sent = Vec::new();
    while !out.is_empty() {
        match out.remove(0) {
            Output::Post { request, .. } => quic.command(request, 0.0, &mut out),
            Output::Send { message, .. } => sent.push(message),
            Output::Deliver { from, value } => {
                if let (Delivery::Received(parcel), true) = (value, answers) {
                    let mut before = Vec::new();
                    quic.transmit(from, parcel, 0.0, &mut before);
                    out.splice(0..0, before);
                }
            }
            _ => {}
        }
    }
    sent
}

/// What an end sends because of datagrams of the other's.
fn heard(quic: &mut End, from: u32, datagrams: Vec<Sent>, answers: bool) -> Vec<Sent> {
    let mut out = Vec::new();
    for datagram in datagrams {
        quic.receive(NodeId(from), datagram, 0.0, &mut out);
    }
    sent(quic, out, answers)
}

/// What asks an end to send a message.
fn asked(quic: &mut End, to: u32, number: u32) -> OutputsOf<End> {
    let mut out = Vec::new();
    let parcel = parcel(1 - to, number, 100);
    quic.transmit(NodeId(to), parcel, 0.0, &mut out);
    out
}

#[test]
fn a_message_is_in_no_packet_before_its_task_has_run() {
    let config = TransportConfig {
        answer_on_same_connection: true,
        answer_on_same_stream: true,
        ..quic(ConnectionMode::Keep)
    };
    let [mut near, mut far] = [0, 1].map(|node| End::new(&config, NodeId(node)));
    let first = asked(&mut near, 1, 1);
    let mut flight = sent(&mut near, first, false);
    while !flight.is_empty() {
        let back = heard(&mut far, 0, flight, false);
        flight = heard(&mut near, 1, back, false);
    }
    let handed = [2, 3].map(|number| asked(&mut near, 1, number));
    let other = asked(&mut far, 0, 4);
    let other = sent(&mut far, other, false);
    assert_eq!(messages(&other), 1);
    // What it hears, and the answer to that, take neither along.
    let told = heard(&mut near, 1, other, true);
    assert_eq!(messages(&told), 1);
    for task in handed {
        assert_eq!(messages(&sent(&mut near, task, false)), 1);
    }
}

/// How many messages end in datagrams.
fn messages(datagrams: &[Sent]) -> usize {
    let packets = datagrams
        .iter()
        .flat_map(|datagram| match &datagram.body.content {
            Content::Packets(packets) => packets.as_slice(),
            _ => &[],
        });
    let frames = packets.flat_map(|packet| &packet.frames);
    frames
        .filter(|frame| matches!(frame, Frame::Chunk { extent, .. } if extent.last))
        .count()
}
