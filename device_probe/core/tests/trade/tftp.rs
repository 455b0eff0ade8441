//! TFTP: transfers as packets on a table, then both ends on loopback.

use std::net::{SocketAddr, UdpSocket};
use std::sync::mpsc;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use pocketsim_probe_core::stop::Stop;
use pocketsim_probe_core::trade::tftp::{
    put, serve, Action, Pair, Parcel, TftpFile, Wire, FILE_BYTES_MAX, SERVICE,
};
use pocketsim_protocols::contract::{MessageId, NodeId, Reason};
use pocketsim_protocols::transport::tftp::{TftpPacket, TransferMode};
use proptest::prelude::*;

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([192, 0, 2, 1], port))
}

const SERVER: u16 = 69;
const CLIENT: u16 = 5_000;

fn parcel(filename: &str, bytes: &[u8]) -> Parcel {
    Parcel {
        filename: filename.to_owned(),
        bytes: Arc::from(bytes),
        id: MessageId(7),
        to: NodeId(1),
    }
}

fn write_request(mode: TransferMode) -> Vec<u8> {
    let filename = "a".to_owned();
    TftpPacket::Write { filename, mode }.encode()
}

fn data(block: u16, bytes: &[u8]) -> Vec<u8> {
    let data = bytes.to_vec();
    TftpPacket::Data { block, data }.encode()
}

fn ack(block: u16) -> Vec<u8> {
    TftpPacket::Ack { block }.encode()
}

/// What a wire answers to a packet on its service port.
fn tell(wire: &mut Wire, from: u16, packet: &[u8]) -> Vec<Action> {
    tell_at(wire, SERVICE, from, packet)
}

/// What a wire answers to a packet on one of its ports.
fn tell_at(wire: &mut Wire, own: u32, from: u16, packet: &[u8]) -> Vec<Action> {
    let mut actions = Vec::new();
    let peer = at(from);
    wire.receive(Pair { own, peer }, packet, 0.0, &mut actions);
    actions
}

/// The only packet among the actions, with where it goes.
fn answer(actions: &[Action]) -> (u16, TftpPacket) {
    let sent: Vec<_> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Send { pair, packet } => Some((pair.peer.port(), packet)),
            _ => None,
        })
        .collect();
    assert_eq!(sent.len(), 1, "{actions:?}");
    (sent[0].0, TftpPacket::decode(sent[0].1).expect("a packet"))
}

fn error_code(actions: &[Action]) -> (u16, u16) {
    match answer(actions) {
        (to, TftpPacket::Error { code, .. }) => (to, code),
        other => panic!("{other:?}"),
    }
}

fn received(actions: &[Action]) -> Vec<TftpFile> {
    let file = |action: &Action| match action {
        Action::Received(file) => Some(file.clone()),
        _ => None,
    };
    actions.iter().filter_map(file).collect()
}

/// A client and a server whose packets `passes` lets through; what the server got.
fn transfer(files: &[Vec<u8>], mut passes: impl FnMut() -> bool) -> (Vec<Vec<u8>>, usize) {
    let (mut client, mut server) = (Wire::client(), Wire::server());
    let mut table = Vec::new();
    for (number, bytes) in files.iter().enumerate() {
        let mut actions = Vec::new();
        client.put(
            at(SERVER),
            parcel(&number.to_string(), bytes),
            0.0,
            &mut actions,
        );
        table.extend(actions.into_iter().map(|action| (CLIENT, action)));
    }
    let (mut got, mut lost) = (Vec::new(), 0);
    for step in 0..4_000 {
        let now_s = f64::from(step) * 0.5;
        for (from, action) in std::mem::take(&mut table) {
            let mut actions = Vec::new();
            match action {
                Action::Send { pair, packet } if passes() => {
                    let (to, other, seen) = match from {
                        CLIENT => (&mut server, SERVER, (SERVICE, CLIENT + pair.own as u16)),
                        _ => (
                            &mut client,
                            CLIENT,
                            (u32::from(pair.peer.port() - CLIENT), SERVER),
                        ),
                    };
                    let (own, peer) = (seen.0, at(seen.1));
                    to.receive(Pair { own, peer }, &packet, now_s, &mut actions);
                    table.extend(actions.into_iter().map(|action| (other, action)));
                }
                Action::Received(file) => got.push(file.bytes),
                Action::Failed { .. } => lost += 1,
                Action::Send { .. } => {}
            }
        }
        for (wire, port) in [(&mut client, CLIENT), (&mut server, SERVER)] {
            let mut actions = Vec::new();
            wire.handle_timeout(now_s, &mut actions);
            table.extend(actions.into_iter().map(|action| (port, action)));
        }
    }
    assert!(!client.is_writing());
    assert_eq!(server.transfers(), (0, 0), "nothing is remembered for ever");
    (got, lost)
}

#[test]
fn files_of_every_awkward_length_arrive() {
    let files: Vec<Vec<u8>> = [0, 1, 511, 512, 513, 1_024, 5_000, FILE_BYTES_MAX]
        .map(|bytes| (0..bytes).map(|at| (at * 7) as u8).collect())
        .to_vec();
    assert_eq!(transfer(&files, || true), (files, 0));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn losses_are_repaired(
        lengths in proptest::collection::vec(0usize..2_000, 1..4),
        losses in proptest::collection::vec(0u8..10, 100),
    ) {
        let files: Vec<Vec<u8>> = lengths.iter().map(|&bytes| vec![bytes as u8; bytes]).collect();
        let mut losses = losses.into_iter();
        let (got, lost) = transfer(&files, || losses.next().is_none_or(|chance| chance > 0));
        prop_assert_eq!((got, lost), (files, 0));
    }

    #[test]
    fn no_packet_is_too_strange(
        packets in proptest::collection::vec((0u16..3, proptest::collection::vec(any::<u8>(), 0..40), 1u8..6), 0..30),
    ) {
        let mut wire = Wire::server();
        let mut actions = Vec::new();
        wire.put(at(0), parcel("a", &[1; 600]), 0.0, &mut actions);
        for (from, mut bytes, opcode) in packets {
            bytes.splice(0..0, [0, opcode]);
            tell(&mut wire, from, &bytes);
        }
    }
}

#[test]
fn a_server_s_own_port_for_a_transfer_is_followed() {
    let mut client = Wire::client();
    let mut actions = Vec::new();
    client.put(at(SERVER), parcel("a", b"hello"), 0.0, &mut actions);
    assert_eq!(answer(&actions).0, SERVER);
    assert!(
        tell_at(&mut client, 2, 7_777, &ack(0)).is_empty(),
        "another file's port"
    );
    let actions = tell_at(&mut client, 1, 7_777, &ack(0));
    assert!(matches!(
        answer(&actions),
        (7_777, TftpPacket::Data { block: 1, .. })
    ));
    // RFC 1350, section 4: a second answer, from elsewhere, does not disturb the transfer.
    for block in [0, 1] {
        assert!(tell_at(&mut client, 1, 8_888, &ack(block)).is_empty());
    }
    assert!(client.is_writing());
    assert!(tell_at(&mut client, 1, 7_777, &ack(1)).is_empty());
    assert!(!client.is_writing());
}

#[test]
fn what_a_server_does_not_do_is_refused_with_its_code() {
    let mut wire = Wire::server();
    let read = TftpPacket::Read {
        filename: "a".into(),
        mode: TransferMode::Octet,
    };
    assert_eq!(
        error_code(&tell(&mut wire, CLIENT, &read.encode())),
        (CLIENT, 2)
    );
    let mail = write_request(TransferMode::Mail);
    assert_eq!(error_code(&tell(&mut wire, CLIENT, &mail)), (CLIENT, 4));
    assert_eq!(
        error_code(&tell(&mut wire, CLIENT, &data(1, b"x"))),
        (CLIENT, 5)
    );
    assert!(tell(&mut wire, CLIENT, &ack(1)).is_empty(), "a late copy");
    assert!(
        tell(&mut wire, CLIENT, b"\0\x05\0\x01oops\0").is_empty(),
        "no answer to an error"
    );
    assert!(tell(&mut wire, CLIENT, b"nonsense").is_empty());
    let counts = wire.counts();
    assert_eq!(
        (counts.refused, counts.unknown_transfer, counts.malformed),
        (2, 2, 1)
    );
    let octet = write_request(TransferMode::Octet);
    assert_eq!(
        error_code(&tell(&mut Wire::client(), SERVER, &octet)),
        (SERVER, 4)
    );
}

#[test]
fn netascii_becomes_local_text() {
    let mut wire = Wire::server();
    tell(&mut wire, CLIENT, &write_request(TransferMode::Netascii));
    let files = received(&tell(&mut wire, CLIENT, &data(1, b"one\r\ntwo\r\0three\r")));
    assert_eq!(files[0].bytes, b"one\ntwo\rthree\r");
}

#[test]
fn a_repeated_last_block_is_acknowledged_but_not_delivered_again() {
    let mut wire = Wire::server();
    tell(&mut wire, CLIENT, &write_request(TransferMode::Octet));
    let actions = tell(&mut wire, CLIENT, &data(1, b"x"));
    assert_eq!(received(&actions).len(), 1);
    let again = tell(&mut wire, CLIENT, &data(1, b"x"));
    assert_eq!(answer(&again), (CLIENT, TftpPacket::Ack { block: 1 }));
    assert!(received(&again).is_empty());
}

#[test]
fn one_address_writes_one_file_after_the_other() {
    let mut wire = Wire::server();
    for filename in ["one", "two", "three"] {
        let (filename, mode) = (filename.to_owned(), TransferMode::Octet);
        let request = TftpPacket::Write { filename, mode }.encode();
        let actions = tell(&mut wire, CLIENT, &request);
        assert_eq!(answer(&actions), (CLIENT, TftpPacket::Ack { block: 0 }));
        assert_eq!(received(&tell(&mut wire, CLIENT, &data(1, b"x"))).len(), 1);
    }
}

#[test]
fn a_late_copy_of_a_request_begins_nothing_while_its_file_is_remembered() {
    let mut wire = Wire::server();
    let request = write_request(TransferMode::Octet);
    tell(&mut wire, CLIENT, &request);
    assert_eq!(received(&tell(&mut wire, CLIENT, &data(1, b"x"))).len(), 1);
    assert!(tell(&mut wire, CLIENT, &request).is_empty());
    let again = tell(&mut wire, CLIENT, &data(1, b"x"));
    assert_eq!(answer(&again), (CLIENT, TftpPacket::Ack { block: 1 }));
    assert!(received(&again).is_empty());
    // Later it is a file of the same name.
    wire.handle_timeout(11.0, &mut Vec::new());
    let (own, peer) = (SERVICE, at(CLIENT));
    let mut actions = Vec::new();
    wire.receive(Pair { own, peer }, &request, 11.0, &mut actions);
    assert_eq!(answer(&actions), (CLIENT, TftpPacket::Ack { block: 0 }));
}

#[test]
fn a_forged_request_draws_three_packets_and_is_forgotten() {
    let mut wire = Wire::server();
    let mut sent = tell(&mut wire, CLIENT, &write_request(TransferMode::Octet)).len();
    for second in 1..400u16 {
        let mut actions = Vec::new();
        wire.handle_timeout(f64::from(second), &mut actions);
        sent += actions.len();
    }
    assert_eq!((sent, wire.transfers()), (3, (0, 0)));
}

#[test]
fn a_client_that_has_begun_is_waited_for() {
    let mut wire = Wire::server();
    tell(&mut wire, CLIENT, &write_request(TransferMode::Octet));
    tell(&mut wire, CLIENT, &data(1, &[0; 512]));
    for second in 1..30 {
        wire.handle_timeout(f64::from(second), &mut Vec::new());
    }
    assert_eq!(received(&tell(&mut wire, CLIENT, &data(2, b""))).len(), 1);
}

#[test]
fn errors_are_rare_and_no_longer_than_what_they_answer() {
    let mut wire = Wire::server();
    let mut told = 0;
    for bytes in (0..=40).cycle().take(400) {
        let stray = data(1, &vec![0; bytes]);
        for action in tell(&mut wire, CLIENT, &stray) {
            let Action::Send { packet, .. } = action else {
                panic!("{action:?}")
            };
            assert!(packet.len() <= stray.len());
            told += 1;
        }
    }
    assert_eq!(told, 20);
}

#[test]
fn a_repeated_block_of_a_file_of_the_largest_size_is_no_growth() {
    let mut wire = Wire::server();
    tell(&mut wire, CLIENT, &write_request(TransferMode::Octet));
    for block in 1..=128 {
        tell(&mut wire, CLIENT, &data(block, &[0; 512]));
    }
    let again = tell(&mut wire, CLIENT, &data(128, &[0; 512]));
    assert_eq!(answer(&again), (CLIENT, TftpPacket::Ack { block: 128 }));
    assert_eq!(received(&tell(&mut wire, CLIENT, &data(129, b""))).len(), 1);
}

#[test]
fn an_error_ends_the_file_of_its_own_pair_alone() {
    let (mut wire, mut actions) = (Wire::dialler(), Vec::new());
    wire.put(at(SERVER), parcel("a", b"x"), 0.0, &mut actions);
    let error = b"\0\x05\0\x05Unknown transfer ID.\0";
    for (own, from) in [(0, SERVER), (2, SERVER), (1, SERVER)] {
        assert!(wire.is_writing());
        tell_at(&mut wire, own, from, error);
    }
    assert!(!wire.is_writing());
}

#[test]
fn nobody_fills_the_memory() {
    let mut wire = Wire::server();
    tell(&mut wire, CLIENT, &write_request(TransferMode::Octet));
    for block in 1..=128 {
        assert!(matches!(
            answer(&tell(&mut wire, CLIENT, &data(block, &[0; 512]))),
            (_, TftpPacket::Ack { .. })
        ));
    }
    assert_eq!(
        error_code(&tell(&mut wire, CLIENT, &data(129, b"x"))),
        (CLIENT, 3)
    );
    for client in 1_000..2_000 {
        tell(&mut wire, client, &write_request(TransferMode::Octet));
    }
    let counts = wire.counts();
    assert_eq!(
        (wire.transfers().0, counts.evicted, counts.oversized),
        (256, 744, 1)
    );
}

#[test]
fn two_servers_on_one_host_are_told_apart() {
    let mut wire = Wire::server();
    let mut actions = Vec::new();
    for port in [1_000, 2_000] {
        let to = NodeId(port.into());
        let parcel = Parcel {
            to,
            ..parcel("a", b"x")
        };
        wire.put(at(port), parcel, 0.0, &mut actions);
    }
    let to = |actions: &[Action]| answer(actions).0;
    assert_eq!(to(&tell(&mut wire, 2_000, &ack(0))), 2_000);
    assert_eq!(to(&tell(&mut wire, 1_000, &ack(0))), 1_000);
}

#[test]
fn a_refusal_is_told_with_its_words() {
    let mut client = Wire::client();
    client.put(at(SERVER), parcel("a", b"x"), 0.0, &mut Vec::new());
    let actions = tell_at(&mut client, 1, SERVER, b"\0\x05\0\x02Access violation.\0");
    let [Action::Failed {
        reason, complaint, ..
    }] = &actions[..]
    else {
        panic!("{actions:?}")
    };
    assert_eq!(*reason, Reason::ConnectionLost);
    assert_eq!(complaint.as_deref(), Some("error 2: Access violation."));
    assert!(!client.is_writing());
}

#[test]
fn a_file_goes_over_loopback() {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let server = socket.local_addr().expect("bound");
    let stop = Stop::new();
    let (send, files) = mpsc::channel();
    let stopped = stop.clone();
    let serving = thread::spawn(move || {
        serve(socket, &stopped, &mut |file| {
            send.send(file).expect("the test listens")
        })
    });
    let bytes: Vec<u8> = (0..3_000u32).map(|at| at as u8).collect();
    put(server, "0000000100000007", &bytes).expect("written");
    let file = files
        .recv_timeout(Duration::from_secs(30))
        .expect("it came");
    assert_eq!(
        (file.filename.as_str(), file.bytes),
        ("0000000100000007", bytes)
    );
    stop.raise();
    let counts = serving.join().expect("no panic").expect("no error");
    assert_eq!(counts, Default::default());
}

#[test]
fn an_impossible_file_is_refused_at_once() {
    let nobody = SocketAddr::from(([127, 0, 0, 1], 9));
    for (filename, bytes) in [("a", FILE_BYTES_MAX + 1), ("a\0b", 1)] {
        let error = put(nobody, filename, &vec![0; bytes]).expect_err("impossible");
        assert_eq!(error.kind(), std::io::ErrorKind::InvalidInput);
    }
}
