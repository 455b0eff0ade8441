//! EVA's messages and packets as bytes, and a machine that is told nonsense.

use super::phones::{sizes, small, world};
use crate::common::{parcel, Parcel};
use pocketsim_protocols::contract::{Datagram, Machine, MessageId, NodeId, Path, Transport};
use pocketsim_protocols::half_block::PrivateKey;
use pocketsim_protocols::transport::eva::codec::{EvaBody, Malformed, Offer};
use pocketsim_protocols::transport::eva::packet::SignedPacket;
use pocketsim_protocols::transport::eva::{
    Acknowledgement, Data, Eva, EvaMessage, Refusal, Variant, WriteRequest,
};
use proptest::prelude::*;

fn key() -> PrivateKey {
    let mut bytes = b"LibNaCLSK:".to_vec();
    bytes.extend(1..=64);
    PrivateKey::from_bytes(&bytes).expect("a key")
}

fn packet(body: &EvaBody, variant: Variant) -> Vec<u8> {
    let packet = SignedPacket {
        service_id: [7; 20],
        message_id: body.message_id(),
        public_key: key().public_key(),
        global_time: 9,
        body: body.encode(variant),
    };
    packet.encode(&key())
}

fn offer() -> EvaBody {
    EvaBody::WriteRequest(Offer {
        info: "i".repeat(40),
        id: "0000000000000001".into(),
        nonce: 1,
        size_bytes: 950,
        blocks: 10,
        block_bytes: 100,
        window_blocks: 4,
    })
}

fn acknowledgement(acked_windows: u32, lost: &[u32]) -> EvaBody {
    EvaBody::Acknowledgement {
        nonce: 0x0102_0304_0506_0708,
        acked_windows,
        lost: lost.to_vec(),
    }
}

#[test]
fn messages_have_the_published_layout() {
    let ack = acknowledgement(3, &[1, 0x0102_0304]);
    let bytes = ack.encode(Variant::Modified);
    let expected = [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 3, 1, 0, 0, 0, 4, 3, 2, 1];
    assert_eq!(bytes, expected, "only lost blocks are little-endian");
    assert_eq!(ack.encode(Variant::Original)[12..], *b"[1, 16909060]");
    let request = EvaBody::WriteRequest(Offer {
        info: "ab".into(),
        id: "c".into(),
        nonce: 1,
        size_bytes: 2,
        blocks: 3,
        block_bytes: 4,
        window_blocks: 5,
    });
    let expected = b"\0\0\0\x02ab\0\0\0\x01c\0\0\0\0\0\0\0\x01\0\0\0\0\0\0\0\x02\
        \0\0\0\x03\0\0\0\x04\0\0\0\x05";
    assert_eq!(request.encode(Variant::Modified), expected);
    let data = EvaBody::Data {
        block: 6,
        nonce: 7,
        data: vec![8, 9],
    };
    let expected = [0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9];
    assert_eq!(data.encode(Variant::Modified), expected);
    let ids = [&request, &ack, &data].map(EvaBody::message_id);
    assert_eq!(ids, [130, 131, 132]);
}

#[test]
fn packets_are_as_long_as_the_simulation_says() {
    let mut world = world(2, &small());
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 950));
    world.run_until(1.0);
    let data = EvaBody::Data {
        block: 0,
        nonce: 1,
        data: vec![0; 100],
    };
    let sent = [&offer(), &data].map(|body| packet(body, Variant::Modified).len() as u32);
    assert_eq!(sizes(&world, 0)[..2], sent);
    let ack = packet(&acknowledgement(0, &[]), Variant::Modified);
    assert_eq!(sizes(&world, 1)[0], ack.len() as u32);
    for (refusal, length) in [(Refusal::Busy, 45), (Refusal::Empty, 39)] {
        let message = refusal.text(0);
        let info = "i".repeat(40);
        let bytes = packet(&EvaBody::Error { info, message }, Variant::Modified);
        assert_eq!(bytes.len(), 179 + 40 + length);
    }
}

#[test]
fn a_packet_has_the_layout_of_ipv8() {
    let bytes = packet(&offer(), Variant::Modified);
    assert_eq!(bytes[..2], [0, 2]);
    assert_eq!(bytes[2..22], [7; 20]);
    assert_eq!(bytes[22..25], [130, 0, 74]);
    assert!(bytes[25..99].starts_with(b"LibNaCLPK:"));
    assert_eq!(bytes[99..107], [0, 0, 0, 0, 0, 0, 0, 9]);
    let decoded = SignedPacket::decode(&bytes).expect("our own");
    let body = EvaBody::decode(decoded.message_id, &decoded.body, Variant::Modified);
    assert_eq!(body, Ok(offer()));
}

#[test]
fn a_packet_that_was_altered_anywhere_is_refused() {
    let bytes = packet(&offer(), Variant::Modified);
    for at in 0..bytes.len() {
        let mut altered = bytes.clone();
        altered[at] ^= 1;
        assert!(SignedPacket::decode(&altered).is_err(), "byte {at}");
        assert!(SignedPacket::decode(&bytes[..at]).is_err(), "cut at {at}");
    }
    let mut longer = bytes;
    longer.push(0);
    assert!(SignedPacket::decode(&longer).is_err());
}

fn refusal(message_id: u8, bytes: &[u8], variant: Variant) -> String {
    let refused: Result<EvaBody, Malformed> = EvaBody::decode(message_id, bytes, variant);
    refused.expect_err("nonsense").to_string()
}

#[test]
fn nonsense_is_refused_with_a_reason() {
    let ack = |list: &[u8]| [&[0; 12], list].concat();
    let (new, old) = (Variant::Modified, Variant::Original);
    for (message_id, bytes, variant, reason) in [
        (129, vec![], new, "is no message of EVA"),
        (134, vec![], new, "is no message of EVA"),
        (130, vec![], new, "ends too early"),
        (130, vec![255; 8], new, "ends too early"),
        (
            130,
            [offer().encode(new), vec![0]].concat(),
            new,
            "goes on behind its end",
        ),
        (131, vec![0; 11], new, "ends too early"),
        (131, ack(&[1, 2, 3]), new, "a lost block has 4 bytes"),
        (131, ack(b"[1, x]"), old, "a lost block is a number"),
        (131, ack(b"[-1]"), old, "a lost block is a number"),
        (131, ack(b"[4294967296]"), old, "a lost block is a number"),
        (131, ack(b"\xff"), old, "a text is UTF-8"),
        (132, vec![0; 11], new, "ends too early"),
        (
            133,
            b"\0\0\0\x01\xff\0\0\0\0".to_vec(),
            new,
            "a text is UTF-8",
        ),
        (133, vec![0; 9], new, "goes on behind its end"),
    ] {
        assert_eq!(
            refusal(message_id, &bytes, variant),
            reason,
            "{message_id} {bytes:?}"
        );
    }
}

#[test]
fn an_empty_list_is_nothing_or_brackets() {
    for (acked_windows, variant, list) in [
        (0, Variant::Modified, ""),
        (1, Variant::Modified, ""),
        (0, Variant::Original, ""),
        (1, Variant::Original, "[]"),
    ] {
        let ack = acknowledgement(acked_windows, &[]);
        let bytes = ack.encode(variant);
        assert_eq!(&bytes[12..], list.as_bytes());
        assert_eq!(EvaBody::decode(131, &bytes, variant), Ok(ack));
    }
}

fn body() -> impl Strategy<Value = EvaBody> {
    let bytes = proptest::collection::vec(any::<u8>(), 0..300);
    prop_oneof![
        (".{0,20}", ".{0,20}", any::<[u64; 2]>(), any::<[u32; 3]>()).prop_map(
            |(info, id, [nonce, size_bytes], [blocks, block_bytes, window_blocks])| {
                EvaBody::WriteRequest(Offer {
                    info,
                    id,
                    nonce,
                    size_bytes,
                    blocks,
                    block_bytes,
                    window_blocks,
                })
            }
        ),
        (1u32.., proptest::collection::vec(any::<u32>(), 0..50))
            .prop_map(|(acked_windows, lost)| acknowledgement(acked_windows, &lost)),
        (any::<u32>(), any::<u64>(), bytes).prop_map(|(block, nonce, data)| EvaBody::Data {
            block,
            nonce,
            data
        }),
        (".{0,20}", ".{0,20}").prop_map(|(info, message)| EvaBody::Error { info, message }),
    ]
}

fn variant() -> impl Strategy<Value = Variant> {
    prop_oneof![Just(Variant::Original), Just(Variant::Modified)]
}

/// A number that is likely to be near the edges of a small transfer.
fn number() -> impl Strategy<Value = u32> {
    prop_oneof![0u32..12, Just(u32::MAX), any::<u32>()]
}

fn message() -> impl Strategy<Value = EvaMessage<Parcel>> {
    let payload = proptest::option::of(number().prop_map(|k| parcel(1, k, 5)));
    let offers = (number(), 0u64..4, [number(), number(), number(), number()]);
    prop_oneof![
        offers.prop_map(
            |(id, nonce, [size_bytes, blocks, block_bytes, window_blocks])| {
                EvaMessage::WriteRequest(WriteRequest {
                    id: MessageId(u64::from(id)),
                    nonce,
                    size_bytes,
                    blocks,
                    block_bytes,
                    window_blocks,
                })
            }
        ),
        // Offers that agree with themselves, so that blocks find a transfer.
        (number(), 0u64..4, 1u32..60, number()).prop_map(|(id, nonce, bytes, window)| {
            EvaMessage::WriteRequest(WriteRequest {
                id: MessageId(u64::from(id)),
                nonce,
                size_bytes: bytes,
                blocks: bytes.div_ceil(7),
                block_bytes: 7,
                window_blocks: window,
            })
        }),
        (
            0u64..4,
            number(),
            proptest::collection::vec(number(), 0..20)
        )
            .prop_map(|(nonce, acked_windows, lost)| EvaMessage::Acknowledgement(
                Acknowledgement {
                    nonce,
                    acked_windows,
                    lost,
                }
            )),
        (number(), 0u64..4, 0u32..1500, payload).prop_map(|(block, nonce, bytes, payload)| {
            EvaMessage::Data(Data {
                block,
                nonce,
                bytes,
                payload,
            })
        }),
        prop_oneof![
            Just(Refusal::Empty),
            Just(Refusal::TooLarge),
            Just(Refusal::Busy)
        ]
        .prop_map(EvaMessage::Error),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_survives_its_bytes(body in body(), variant in variant()) {
        let bytes = body.encode(variant);
        prop_assert_eq!(EvaBody::decode(body.message_id(), &bytes, variant), Ok(body));
    }

    #[test]
    fn no_bytes_are_too_strange(
        message_id in 128u8..136, variant in variant(),
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = EvaBody::decode(message_id, &bytes, variant);
        let _ = SignedPacket::decode(&bytes);
    }

    #[test]
    fn no_message_is_too_strange(
        messages in proptest::collection::vec((message(), 0.0f64..3.0), 0..60),
    ) {
        let mut machine = Eva::new(&small());
        let (mut now, mut out) = (0.0, Vec::new());
        machine.transmit(NodeId(1), parcel(0, 1, 950), now, &mut out);
        for (body, pause_s) in messages {
            now += pause_s;
            let datagram = Datagram {
                udp_payload_bytes: 0,
                path: Path::Direct,
                message: None,
                body,
            };
            machine.receive(NodeId(1), datagram, now, &mut out);
            if machine.next_timeout().is_some_and(|(at, _)| at <= now) {
                machine.handle_timeout(now, &mut out);
            }
            out.clear();
        }
        for _ in 0..100 {
            let Some((at, _)) = machine.next_timeout() else { break };
            machine.handle_timeout(at, &mut out);
        }
        prop_assert_eq!(machine.next_timeout(), None, "everything ends");
    }
}
