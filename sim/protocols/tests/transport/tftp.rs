//! TFTP end to end: lockstep, patience, and its packets as bytes.

use std::collections::BTreeSet;

use crate::common::{failed, parcel, Parcel, Verdict, World};
use pocketsim_protocols::contract::{Machine, NodeId, Operation, Reason};
use pocketsim_protocols::transport::tftp::{Tftp, TftpPacket, TransferMode, CLIENT_TIMEOUT_S};
use proptest::prelude::*;

fn world(count: u32) -> World<Tftp<Parcel>> {
    World::new(count, 0.010, |_| Tftp::new())
}

fn sizes(world: &World<Tftp<Parcel>>, from: u32) -> Vec<u32> {
    let mine = world.sent.iter().filter(|sent| sent.from == NodeId(from));
    mine.map(|sent| sent.bytes).collect()
}

#[test]
fn a_message_is_a_request_and_its_blocks_in_lockstep() {
    let mut world = world(2);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 1100));
    world.run_until(1.0);
    assert_eq!(sizes(&world, 0), [25, 516, 516, 80]);
    assert_eq!(sizes(&world, 1), [4, 4, 4, 4]);
    assert!(
        (world.received(1)[0].0 - 0.070).abs() < 1e-9,
        "three round trips and a half"
    );
    assert_eq!(world.count(0, Operation::FileBlock), 3);
    assert_eq!(world.count(1, Operation::FileBlock), 3);
    assert_eq!(world.count(0, Operation::FileOpen), 1);
    assert_eq!(world.count(1, Operation::FileOpen), 1);
    assert_eq!(world.count(0, Operation::UdpSend), 4);
    assert_eq!(world.count(1, Operation::UdpReceive), 4);
}

#[test]
fn whole_blocks_end_with_an_empty_one() {
    for (bytes, expected) in [
        (0, vec![25, 4]),
        (511, vec![25, 515]),
        (512, vec![25, 516, 4]),
        (513, vec![25, 516, 5]),
    ] {
        let mut world = world(2);
        world.transmit_at(0.0, 0, 1, parcel(0, 1, bytes));
        world.run_until(1.0);
        assert_eq!(sizes(&world, 0), expected);
        assert_eq!(world.received(1).len(), 1);
    }
}

#[test]
fn one_transfer_per_peer_the_rest_queue() {
    let mut world = world(3);
    for k in 0..3 {
        world.transmit_at(0.0, 0, 1, parcel(0, k, 100));
    }
    world.transmit_at(0.0, 0, 2, parcel(0, 9, 100));
    world.run_until(1.0);
    let times: Vec<f64> = world
        .received(1)
        .iter()
        .map(|(at, _)| (at * 1e3).round())
        .collect();
    assert_eq!(times, [30.0, 70.0, 110.0]);
    assert_eq!((world.received(2)[0].0 * 1e3).round(), 30.0);
    assert_eq!(world.sequences(1), [0, 1, 2]);
}

#[test]
fn both_directions_at_once() {
    let mut world = world(2);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 2000));
    world.transmit_at(0.0, 1, 0, parcel(1, 1, 2000));
    world.run_until(1.0);
    assert_eq!((world.received(0).len(), world.received(1).len()), (1, 1));
}

#[test]
fn any_lost_datagram_is_repaired() {
    for lost in 0..12 {
        let mut world = world(2);
        world.rule = Box::new(move |k, _| match k == lost {
            true => Verdict::Drop,
            false => Verdict::Pass,
        });
        world.transmit_at(0.0, 0, 1, parcel(0, 1, 600));
        world.transmit_at(0.0, 0, 1, parcel(0, 2, 600));
        world.run_until(60.0);
        assert_eq!(world.sequences(1), [1, 2], "{lost}");
        let last_s = world.received(1)[1].0;
        // The very last acknowledgement is nobody's delay.
        let expected_s = if lost < 11 { 3.0..6.0 } else { 0.0..0.2 };
        assert!(expected_s.contains(&last_s), "{lost} {last_s}");
        assert!(world.failed(0).is_empty());
        assert_eq!(world.machine(0).next_timeout(), None);
    }
}

#[test]
fn what_is_overdue_at_one_time_is_repeated_in_the_order_of_the_peers() {
    let mut world = world(4);
    world.rule = Box::new(|_, _| Verdict::Drop);
    for to in [3, 1, 2] {
        world.transmit_at(0.0, 0, to, parcel(0, to, 100));
    }
    world.run_until(6.0);
    let sent: Vec<(f64, u32)> = world.sent.iter().map(|s| (s.time_s, s.to.0)).collect();
    let repeated_s = CLIENT_TIMEOUT_S;
    assert_eq!(sent[..3], [(0.0, 3), (0.0, 1), (0.0, 2)]);
    assert_eq!(sent[3..], [1, 2, 3].map(|to| (repeated_s, to)));
}

#[test]
fn a_late_acknowledgement_does_not_double_the_blocks() {
    let mut world = world(2);
    // The first ACK of a block comes after the sender has repeated that block.
    world.rule = Box::new(|k, _| match k == 3 {
        true => Verdict::Later(6.0),
        false => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 512 * 20));
    world.run_until(60.0);
    assert_eq!(world.received(1).len(), 1);
    let blocks = sizes(&world, 0)
        .iter()
        .filter(|bytes| **bytes == 516)
        .count();
    assert!(
        blocks <= 21,
        "{blocks}: twenty blocks, one of them repeated"
    );
}

/// A message of two blocks, of whose datagrams `rule` says what becomes; a minute of it.
fn two_blocks(rule: impl Fn(usize) -> Verdict + 'static) -> World<Tftp<Parcel>> {
    let mut world = world(2);
    world.rule = Box::new(move |k, _| rule(k));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 600));
    world.run_until(60.0);
    assert_eq!(world.sequences(1), [1]);
    world
}

#[test]
fn a_repeated_request_is_acknowledged_again() {
    // Request, acknowledgement, its repetition after three seconds, request after five.
    let world = two_blocks(|k| match k {
        1 | 2 => Verdict::Drop,
        _ => Verdict::Pass,
    });
    let at = world.received(1)[0].0;
    assert!((at - CLIENT_TIMEOUT_S - 0.050).abs() < 1e-9, "{at}");
}

#[test]
fn who_has_all_repeats_his_last_acknowledgement_when_asked_and_not_by_himself() {
    let world = two_blocks(|k| match k {
        5 => Verdict::Drop,
        _ => Verdict::Pass,
    });
    assert_eq!(sizes(&world, 0), [25, 516, 92, 92]);
    assert_eq!(sizes(&world, 1), [4; 4]);
    assert_eq!(world.machine(1).next_timeout(), None);
}

#[test]
fn a_block_of_an_earlier_transfer_is_no_error() {
    let mut world = world(2);
    world.rule = Box::new(|k, _| match k {
        2 => Verdict::Twice(1.0),
        _ => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 600));
    world.transmit_at(0.0, 0, 1, parcel(0, 2, 600));
    world.run_until(60.0);
    assert_eq!(world.sequences(1), [1, 2]);
    assert_eq!(sizes(&world, 1), [4; 6], "no more than was asked for");
}

#[test]
fn the_sender_gives_up_after_six_retries() {
    let mut world = world(2);
    world.rule = Box::new(|_, _| Verdict::Drop);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.transmit_at(0.0, 0, 1, parcel(0, 2, 100));
    world.run_until(34.9);
    assert!(world.failed(0).is_empty());
    world.run_until(35.0);
    assert_eq!(
        world.failed(0),
        [(parcel(0, 1, 0).id, Reason::RetriesExhausted)]
    );
    world.run_until(80.0);
    assert_eq!(world.failed(0).len(), 2);
    assert_eq!(world.sent.len(), 14);
}

#[test]
fn the_receiver_gives_up_after_a_hundred() {
    let mut world = world(2);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 5000));
    world.run_until(0.030);
    world.switch_off(0);
    world.run_until(1000.0);
    assert_eq!(world.machine(1).next_timeout(), None);
    let acks = world
        .sent
        .iter()
        .filter(|sent| sent.from == NodeId(1))
        .count();
    assert!((101..=103).contains(&acks), "{acks}");
}

#[test]
fn a_restarted_receiver_answers_with_an_error() {
    let mut world = world(2);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 5000));
    world.run_until(0.045);
    assert!(world.switch_off(1).is_empty());
    world.switch_on(1);
    world.run_until(20.0);
    assert_eq!(
        world.failed(0),
        [(parcel(0, 1, 0).id, Reason::ConnectionLost)]
    );
    assert!(sizes(&world, 1).contains(&25));
}

#[test]
fn shutting_down_returns_what_was_queued() {
    let mut world = world(2);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 5000));
    world.transmit_at(0.0, 0, 1, parcel(0, 2, 5000));
    world.run_until(0.015);
    let left = world.switch_off(0);
    assert_eq!(
        left,
        [
            failed(1, parcel(0, 1, 5000), Reason::SenderOff),
            failed(1, parcel(0, 2, 5000), Reason::SenderOff)
        ]
    );
    world.switch_on(0);
    world.transmit_at(1.0, 0, 1, parcel(0, 3, 5000));
    world.run_until(20.0);
    assert_eq!(world.sequences(1), [3]);
}

#[test]
fn sixteen_bits_of_block_numbers_are_the_limit() {
    let mut world = world(2);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 65_535 * 512));
    world.transmit_at(0.0, 0, 1, parcel(0, 2, 65_535 * 512 - 1));
    world.run_until(0.1);
    assert_eq!(world.failed(0), [(parcel(0, 1, 0).id, Reason::Oversized)]);
}

#[test]
fn packets_are_those_of_rfc_1350() {
    let write = TftpPacket::Write {
        filename: "0000000100000007".into(),
        mode: TransferMode::Octet,
    };
    let bytes = write.encode();
    assert_eq!(bytes, b"\x00\x020000000100000007\0octet\0");
    assert_eq!(bytes.len(), 25, "what the simulation charges");
    let data = TftpPacket::Data {
        block: 258,
        data: vec![9; 512],
    };
    assert_eq!(data.encode()[..5], [0, 3, 1, 2, 9]);
    assert_eq!(data.encode().len(), 516);
    assert_eq!(TftpPacket::Ack { block: 0 }.encode(), [0, 4, 0, 0]);
    let error = TftpPacket::Error {
        code: 5,
        message: "Unknown transfer ID.".into(),
    };
    assert_eq!(error.encode(), b"\x00\x05\x00\x05Unknown transfer ID.\0");
    let read = TftpPacket::decode(b"\x00\x01a\0OCTET\0blksize\x001024\0");
    assert_eq!(
        read,
        Ok(TftpPacket::Read {
            filename: "a".into(),
            mode: TransferMode::Octet
        })
    );
}

#[test]
fn everything_else_is_malformed() {
    let long = [&[0, 3, 0, 1][..], &[0; 513]].concat();
    let bad: [&[u8]; 16] = [
        b"",
        b"\x00",
        b"\x00\x00",
        b"\x00\x06\x00\x00",
        b"\x01\x04\x00\x00",
        b"\x00\x01",
        b"\x00\x01a",
        b"\x00\x01a\0octet",
        b"\x00\x01\0octet\0",
        b"\x00\x02a\0binary\0",
        b"\x00\x02a\0octet\0blksize\0",
        b"\x00\x02\xff\0octet\0",
        b"\x00\x03\x00",
        b"\x00\x04\x00\x01\x00",
        b"\x00\x05\x00\x01oops",
        &long,
    ];
    for bytes in bad {
        assert_eq!(
            TftpPacket::decode(bytes),
            Err(Reason::Malformed),
            "{bytes:?}"
        );
    }
    assert_eq!(
        TftpPacket::decode(b"\x00\x05\x00\x01oops\0more"),
        Err(Reason::Malformed)
    );
}

fn packets() -> impl Strategy<Value = TftpPacket> {
    let mode = prop_oneof![
        Just(TransferMode::Netascii),
        Just(TransferMode::Octet),
        Just(TransferMode::Mail)
    ];
    let name = proptest::collection::vec(1u8..128, 1..40);
    let name = name.prop_map(|bytes| String::from_utf8(bytes).expect("ASCII"));
    prop_oneof![
        (name.clone(), mode.clone())
            .prop_map(|(filename, mode)| TftpPacket::Read { filename, mode }),
        (name.clone(), mode).prop_map(|(filename, mode)| TftpPacket::Write { filename, mode }),
        (
            any::<u16>(),
            proptest::collection::vec(any::<u8>(), 0..=512)
        )
            .prop_map(|(block, data)| TftpPacket::Data { block, data }),
        any::<u16>().prop_map(|block| TftpPacket::Ack { block }),
        (any::<u16>(), name).prop_map(|(code, message)| TftpPacket::Error { code, message }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_survives_its_bytes(packet in packets()) {
        prop_assert_eq!(TftpPacket::decode(&packet.encode()), Ok(packet));
    }

    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        if let Ok(packet) = TftpPacket::decode(&bytes) {
            prop_assert!(packet.encode().len() <= bytes.len());
        }
    }

    #[test]
    fn messages_arrive_once_under_loss_and_disorder(
        seed in any::<u64>(), loss_percent in 0u64..10, bytes in 0u32..3000,
    ) {
        let mut state = seed | 1;
        let mut chance = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 16
        };
        let mut world = world(2);
        world.rule = Box::new(move |_, _| match chance() % 100 {
            percent if percent < loss_percent => Verdict::Drop,
            percent => Verdict::Later(percent as f64 * 0.1),
        });
        for k in 0..4 {
            world.transmit_at(0.0, 0, 1, parcel(0, k, bytes));
        }
        world.run_until(5000.0);
        let mut arrived = world.sequences(1);
        arrived.sort_unstable();
        prop_assert!(arrived.windows(2).all(|pair| pair[0] < pair[1]), "twice: {:?}", arrived);
        // One may be in both: if its last acknowledgement is lost each time, the sender gives up.
        let failed = world.failed(0).into_iter().map(|(id, _)| id.sequence());
        let known: BTreeSet<u32> = arrived.into_iter().chain(failed).collect();
        prop_assert!(known.into_iter().eq(0..4));
    }
}
