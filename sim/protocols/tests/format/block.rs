//! The block: its size, its bytes, and bytes that are no block.

use pocketsim_protocols::block::{Block, Part, Text};
use pocketsim_protocols::contract::{MessageId, NodeId, Payload};
use pocketsim_protocols::crypto::{Counted, Crypto, Digest, Key, Real, Signature};
use proptest::prelude::*;

const PROPOSER: NodeId = NodeId(4);

fn complete(index: u64, counter: u32, payload_bytes: u32) -> Block {
    Block {
        proposer: PROPOSER,
        payload: Text::new(counter, payload_bytes),
        sender_pubkey: Key([0xfb; 32]),
        receiver_pubkey: Key([2; 32]),
        sender_sig: Some(Signature([0xff; 64])),
        receiver_sig: Some(Signature([4; 64])),
        prev_hash_sender: None,
        prev_hash_receiver: None,
        index,
    }
}

fn any_block() -> impl Strategy<Value = Block> {
    let keys = (any::<[u8; 32]>(), any::<[u8; 32]>());
    let signature = || prop::option::of(prop::array::uniform(any::<u8>()).prop_map(Signature));
    let hash = || prop::option::of(any::<[u8; 32]>().prop_map(Digest));
    let numbers = (any::<u32>(), 0..3000u32, any::<u64>());
    (keys, signature(), signature(), hash(), hash(), numbers).prop_map(
        |(keys, sender_sig, receiver_sig, prev_hash_sender, prev_hash_receiver, numbers)| Block {
            proposer: PROPOSER,
            payload: Text::new(numbers.0, numbers.1),
            sender_pubkey: Key(keys.0),
            receiver_pubkey: Key(keys.1),
            sender_sig,
            receiver_sig,
            prev_hash_sender,
            prev_hash_receiver,
            index: numbers.2,
        },
    )
}

#[test]
fn sizes_are_those_of_the_appendix() {
    let mut block = complete(1, 0, 128);
    assert_eq!(block.wire_bytes(), 536);
    block.prev_hash_receiver = Some(Digest([0; 32]));
    assert_eq!(block.wire_bytes(), 600);
    block.prev_hash_sender = Some(Digest([0; 32]));
    assert_eq!(block.wire_bytes(), 664);
    block.index = 10;
    assert_eq!(block.wire_bytes(), 665);
    block.index = 123_456;
    block.payload = Text::new(10_000, 128);
    assert_eq!(block.wire_bytes(), 670);
}

#[test]
fn a_proposal_weighs_88_bytes_less_per_missing_signature() {
    let block = complete(1, 0, 128);
    assert_eq!(block.proposal().wire_bytes(), 536 - 88);
    assert_eq!(block.signed_bytes(Part::Proposal), 536 - 2 * 88);
    assert_eq!(block.signed_bytes(Part::Agreement), 536 - 88);
    assert_eq!(block.signed_bytes(Part::Whole), 536);
}

#[test]
fn the_json_is_this_text() {
    let mut block = complete(42, 7, 10);
    block.sender_sig = None;
    block.prev_hash_sender = Some(Digest([0xab; 32]));
    let json = block.to_json();
    let hash = "ab".repeat(32);
    let (sender, receiver) = ("+/v7".repeat(10), "AgIC".repeat(10));
    let signature = "BAQE".repeat(21);
    assert_eq!(
        json,
        format!(
            "{{\"payload\":\"0007xxxxxx\",\"sender_pubkey\":\"{sender}+/s=\",\
             \"receiver_pubkey\":\"{receiver}AgI=\",\"sender_sig\":\"\",\
             \"receiver_sig\":\"{signature}BA==\",\"prev_hash_sender\":\"{hash}\",\
             \"prev_hash_receiver\":\"\",\"index\":42}}"
        )
    );
}

#[test]
fn a_payload_holds_its_number() {
    let bytes = |counter, bytes| Text::new(counter, bytes).wire_bytes();
    assert_eq!(bytes(0, 0), 4);
    assert_eq!(bytes(9_999, 3), 4);
    assert_eq!(bytes(9_999, 128), 128);
    assert_eq!(bytes(10_000, 128), 129);
    assert_eq!(bytes(100_000, 4), 6);
    assert_eq!(bytes(u32::MAX, u32::MAX), u32::MAX);
}

#[test]
fn a_block_knows_its_transaction() {
    let block = complete(3, 17, 64);
    assert_eq!(block.message_id(), MessageId::new(PROPOSER, 17));
    let read = Block::from_json(&block.to_json(), NodeId(8)).expect("a block");
    assert_eq!(read.message_id(), MessageId::new(NodeId(8), 17));
}

#[test]
fn other_spellings_are_refused_with_a_reason() {
    let json = complete(42, 7, 10).to_json();
    let cases = [
        (json.replace(":42", ": 42"), "compact"),
        (json.replace(":42", ":042"), "invalid number"),
        (json.replace(":42", ":-1"), "invalid value"),
        (json.replace(":42", ":4.2"), "invalid type"),
        (json.replace(":42", ":18446744073709551616"), "invalid"),
        (json.replace("index", "place"), "unknown field"),
        (json.replace("}", ",\"index\":42}"), "duplicate field"),
        (json.replace("}", ",\"fee\":1}"), "unknown field"),
        (json.replace(",\"index\":42", ""), "missing field"),
        (json.replace("0007", "+007"), "compact"),
        (json.replace("0007", "7"), "compact"),
        (json.replace("0007", "a007"), "payload"),
        (json.replace("0007", "\\u0030007"), "invalid type"),
        (json.replace("0007xxxxxx", ""), "payload"),
        (json.replace("AgIC", "Ag!C"), "receiver_pubkey"),
        (json.replace("AgI=", "AgIC"), "receiver_pubkey"),
        (json.replace("AgI=", "AgJ="), "receiver_pubkey"),
        (json.replace("AgI=\"", "AgI\""), "receiver_pubkey"),
        (json.replace("BA==", "BAQE"), "receiver_sig"),
        (
            json.replace("_sender\":\"\"", "_sender\":\"abcd\""),
            "prev_hash_sender",
        ),
        (format!("{json} "), "compact"),
        (format!("{json}{json}"), "trailing"),
        (json[..json.len() - 1].to_owned(), "EOF"),
        (String::new(), "EOF"),
        ("null".into(), "invalid type"),
    ];
    for (text, reason) in cases {
        let error = Block::from_json(&text, PROPOSER)
            .expect_err(&text)
            .to_string();
        assert!(error.contains(reason), "{text}\n{error} lacks {reason:?}");
    }
}

#[test]
fn capital_hexadecimal_is_another_spelling() {
    let mut block = complete(1, 1, 8);
    block.prev_hash_receiver = Some(Digest([0xab; 32]));
    let json = block.to_json().replace("abab", "ABAB");
    assert!(Block::from_json(&json, PROPOSER).is_err());
}

/// What each signature covers, and what it leaves to others.
fn signatures_cover<C: Crypto>() {
    let (alice, bob) = (C::new(1, NodeId(0)), C::new(1, NodeId(1)));
    let mut block = complete(5, 5, 32);
    block.sender_pubkey = alice.public_key();
    block.receiver_pubkey = bob.public_key();
    block.sign_as_sender(&alice);
    assert!(block.sender_signed::<C>());
    block.prev_hash_receiver = Some(Digest([9; 32]));
    block.sign_as_receiver(&bob);
    assert!(block.sender_signed::<C>() && block.receiver_signed::<C>());
    let before = block.digest::<C>();
    block.prev_hash_receiver = None;
    assert!(block.sender_signed::<C>() && !block.receiver_signed::<C>());
    block.index += 1;
    assert!(!block.sender_signed::<C>());
    assert_ne!(block.digest::<C>(), before);
    block.sender_sig = None;
    assert!(!block.sender_signed::<C>());
}

#[test]
fn signatures_cover_their_part() {
    signatures_cover::<Real>();
    signatures_cover::<Counted>();
}

proptest! {
    #[test]
    fn the_size_is_that_of_the_bytes(block in any_block()) {
        prop_assert_eq!(block.to_json().len(), block.wire_bytes() as usize);
    }

    #[test]
    fn bytes_and_block_are_one(block in any_block()) {
        prop_assert_eq!(Block::from_json(&block.to_json(), PROPOSER), Ok(block));
    }

    #[test]
    fn no_text_panics(text in ".{0,200}") {
        prop_assert!(Block::from_json(&text, PROPOSER).is_err());
    }

    #[test]
    fn an_altered_byte_is_refused_or_another_block(
        block in any_block(),
        at: prop::sample::Index,
        byte in 0x20..0x7fu8,
    ) {
        let mut bytes = block.to_json().into_bytes();
        let at = at.index(bytes.len());
        prop_assume!(bytes[at] != byte);
        bytes[at] = byte;
        let text = String::from_utf8(bytes).expect("ASCII");
        match Block::from_json(&text, PROPOSER) {
            Ok(other) => {
                prop_assert_ne!(other, block);
                prop_assert_eq!(other.to_json(), text);
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn providers_agree_on_which_blocks_differ(one in any_block(), other in any_block()) {
        let counted = one.digest::<Counted>() == other.digest::<Counted>();
        let real = one.digest::<Real>() == other.digest::<Real>();
        prop_assert_eq!(counted, real);
    }
}
