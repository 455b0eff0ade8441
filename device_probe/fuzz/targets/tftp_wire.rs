//! The TFTP server and client of a trade among strangers: bounded, and never stuck on a timer.
//!
//! An input is packets, each behind one byte for who sends it and two for its length.
#![no_main]

use std::net::SocketAddr;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::trade::tftp::{Action, Pair, Parcel, Wire, FILE_BYTES_MAX};
use pocketsim_protocols::contract::{MessageId, NodeId};

fuzz_target!(|bytes: &[u8]| {
    // The first byte chooses the end, so that both are tried with the same packets.
    let (wire, bytes) = match bytes.split_first() {
        Some((0..128, rest)) => (Wire::server(), rest),
        Some((_, rest)) => (Wire::dialler(), rest),
        None => return,
    };
    let (mut wire, mut actions) = (wire, Vec::new());
    for _ in 0..2 {
        wire.put(pair(0).peer, parcel(), 0.0, &mut actions);
    }
    let mut now_s = 0.0;
    for (sender, packet) in packets(bytes) {
        now_s += 0.3;
        wire.receive(pair(sender), packet, now_s, &mut actions);
        let answers = actions.iter().filter(|action| is_error(action)).count();
        assert!(answers <= 1, "one packet, one complaint");
        wire.handle_timeout(now_s, &mut actions);
        for action in actions.drain(..) {
            check(&action);
        }
    }
    // With nobody there any more, everything comes to its end: after 100 repetitions at most.
    for _ in 0..110 {
        now_s += 10.0;
        wire.handle_timeout(now_s, &mut actions);
    }
    assert_eq!(wire.transfers(), (0, 0));
});

fn check(action: &Action) {
    match action {
        Action::Send { packet, .. } => assert!(packet.len() <= 4 + 512),
        Action::Received(file) => assert!(file.bytes.len() <= FILE_BYTES_MAX),
        Action::Failed { parcel, .. } => assert_eq!(parcel.bytes.len(), 600),
    }
}

fn is_error(action: &Action) -> bool {
    matches!(action, Action::Send { packet, .. } if packet.starts_with(&[0, 5]))
}

/// Hosts by the lowest bit, their ports by the next four, the ports here by the last three.
fn pair(sender: u8) -> Pair {
    let host = [192, 0, 2, sender & 1];
    let port = 1_000 + u16::from(sender >> 1 & 15);
    let own = u32::from(sender >> 5);
    let peer = SocketAddr::from((host, port));
    Pair { own, peer }
}

fn parcel() -> Parcel {
    Parcel {
        filename: "own".into(),
        bytes: Arc::from([7; 600]),
        id: MessageId(0),
        to: NodeId(1),
    }
}

fn packets(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[sender, high, low], rest) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
        let (packet, rest) = rest.split_at(length);
        bytes = rest;
        Some((sender, packet))
    })
}
