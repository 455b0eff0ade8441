//! The TFTP machine fed with whatever packets decode, while it has a file of its own to write.
//!
//! An input is packets, each behind one byte for its transfer and two for its length.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_protocols::contract::{
    Datagram, Machine, MessageId, NodeId, Output, OutputsOf, Path, Payload, Transport,
};
use pocketsim_protocols::transport::tftp::{Tftp, TftpContent, TftpMessage, TftpPacket};

type Mach = Tftp<Parcel>;

fuzz_target!(|bytes: &[u8]| {
    let (mut tftp, mut out, peer) = (Mach::new(), Vec::new(), NodeId(1));
    tftp.transmit(peer, Parcel(600), 0.0, &mut out);
    settle(&mut tftp, out, 0.0);
    for (second, (transfer, packet)) in packets(bytes).enumerate() {
        let now = second as f64;
        let mut out = Vec::new();
        tftp.handle_timeout(now, &mut out);
        if let Some(message) = message(transfer, packet) {
            tftp.receive(peer, message, now, &mut out);
        }
        settle(&mut tftp, out, now);
        assert!(
            tftp.next_timeout().is_none_or(|(at, _)| at > now),
            "a timeout is left behind"
        );
    }
});

/// A payload of so many bytes.
#[derive(Clone, Debug, PartialEq)]
struct Parcel(u32);

impl Payload for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.0
    }
    fn message_id(&self) -> MessageId {
        MessageId::new(NodeId(0), 0)
    }
}

fn packets(mut bytes: &[u8]) -> impl Iterator<Item = (u8, TftpPacket)> + '_ {
    std::iter::from_fn(move || {
        let (&[transfer, high, low], rest) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
        let (packet, rest) = rest.split_at(length);
        bytes = rest;
        Some((transfer, packet))
    })
    .filter_map(|(transfer, packet)| Some((transfer, TftpPacket::decode(packet).ok()?)))
}

/// The packet as the machine knows it; it serves no reads.
fn message(transfer: u8, packet: TftpPacket) -> Option<Datagram<TftpMessage<Parcel>>> {
    let udp_payload_bytes = packet.encode().len() as u32;
    let content = match packet {
        TftpPacket::Read { .. } => return None,
        TftpPacket::Write { .. } => TftpContent::Write,
        TftpPacket::Data { block, data } => TftpContent::Data {
            block: block.into(),
            bytes: data.len() as u32,
            payload: (data.len() < 512).then_some(Parcel(data.len() as u32)),
        },
        TftpPacket::Ack { block } => TftpContent::Ack(block.into()),
        TftpPacket::Error { .. } => TftpContent::Error,
    };
    Some(Datagram {
        udp_payload_bytes,
        path: Path::Direct,
        message: None,
        body: TftpMessage {
            transfer: transfer.into(),
            content,
        },
    })
}

/// Give the machine back what it posts, until it posts no more.
fn settle(tftp: &mut Mach, mut out: OutputsOf<Mach>, now: f64) {
    for round in 0.. {
        assert!(round < 100, "the machine keeps itself busy");
        let mut next = Vec::new();
        for output in out {
            if let Output::Post { request, .. } = output {
                tftp.command(request, now, &mut next);
            }
        }
        if next.is_empty() {
            return;
        }
        out = next;
    }
}
