//! Offline tokens: the prototype's bytes, and bytes that are no token.

use ed25519_dalek::{Signature, VerifyingKey};
use pocketsim_protocols::half_block::{PublicKey, EMPTY_KEY};
use pocketsim_protocols::token::*;
use proptest::prelude::*;

fn vectors() -> serde_json::Value {
    serde_json::from_str(include_str!("../vectors/offline_tokens.json")).expect("JSON")
}

fn bytes_of(value: &serde_json::Value) -> Vec<u8> {
    hex::decode(value.as_str().expect("a text")).expect("hexadecimal")
}

fn key(filler: u8) -> PublicKey {
    let mut key = [filler; 74];
    key[..10].copy_from_slice(b"LibNaCLPK:");
    PublicKey(key)
}

fn step(filler: u8) -> Recipient {
    Recipient {
        key: key(filler),
        proof: [filler ^ 0xff; 64],
        challenge: None,
    }
}

fn token(recipients: usize) -> Token {
    let mut token = Token::new(*b"serial-7", 9, key(1), [2; 64], step(3));
    for number in 1..recipients {
        token.push(step(number as u8)).expect("room");
    }
    token
}

/// The messages that the proofs of `token` sign, each with the key of its signer.
fn signed(token: &Token) -> Vec<(PublicKey, Vec<u8>)> {
    let steps = token.recipients();
    let minted = minted_message(&token.serial, token.value, &token.nonce, &steps[0].key);
    let handed_on = steps.windows(2).map(|pair| {
        let message = transferred_message(&pair[0].proof, &pair[1].key);
        (pair[0].key, message.to_vec())
    });
    std::iter::once((token.authority, minted.to_vec()))
        .chain(handed_on)
        .collect()
}

fn holds(key: &PublicKey, message: &[u8], proof: &[u8; 64]) -> bool {
    let key = VerifyingKey::from_bytes(key.0[42..].try_into().expect("32 bytes")).expect("a point");
    key.verify_strict(message, &Signature::from_bytes(proof))
        .is_ok()
}

#[test]
fn the_vector_reads_as_it_was_made() {
    let vectors = vectors();
    let batch = decode_batch(&bytes_of(&vectors["batch_hex"])).expect("two tokens");
    let sizes: Vec<usize> = batch.iter().map(Token::wire_bytes).collect();
    assert_eq!(sizes, [287, 563]);
    assert_eq!((&batch[0].serial, batch[0].value), (b"serial-1", 1));
    assert_eq!((&batch[1].serial, batch[1].value), (b"serial-2", 200));
    let authority = bytes_of(&vectors["authority_hex"]);
    for token in &batch {
        assert_eq!(token.authority.0.to_vec(), authority);
        for (number, recipient) in token.recipients().iter().enumerate() {
            let expected = bytes_of(&vectors["recipients_hex"][number]);
            assert_eq!(recipient.key.0.to_vec(), expected);
        }
    }
    assert_eq!(batch[1].last_recipient(), &batch[1].recipients()[2]);
}

#[test]
fn the_vector_is_written_byte_for_byte() {
    let vectors = vectors();
    let batch = decode_batch(&bytes_of(&vectors["batch_hex"])).expect("two tokens");
    assert_eq!(encode_batch(&batch), bytes_of(&vectors["batch_hex"]));
    for (number, token) in batch.iter().enumerate() {
        let bytes = bytes_of(&vectors["tokens_hex"][number]);
        assert_eq!(token.encode(), bytes);
        assert_eq!(Token::decode(&bytes).as_ref(), Ok(token));
    }
}

#[test]
fn every_proof_signs_the_message_that_it_should() {
    let vectors = vectors();
    let batch = decode_batch(&bytes_of(&vectors["batch_hex"])).expect("two tokens");
    for (number, token) in batch.iter().enumerate() {
        for (place, (signer, message)) in signed(token).iter().enumerate() {
            let expected = bytes_of(&vectors["signed_messages_hex"][number][place]);
            assert_eq!(message, &expected);
            let proof = token.recipients()[place].proof;
            assert!(holds(signer, message, &proof));
            assert!(!holds(&token.last_recipient().key, message, &proof));
        }
    }
}

#[test]
fn sizes_are_those_of_the_thesis() {
    for (recipients, bytes) in [(1, 287), (2, 425), (3, 563), (50, 7_049)] {
        let token = token(recipients);
        assert_eq!((token.wire_bytes(), token.encode().len()), (bytes, bytes));
    }
}

#[test]
fn every_truncation_is_refused() {
    let bytes = token(3).encode();
    for end in 0..bytes.len() {
        let error = Token::decode(&bytes[..end]).expect_err("truncated");
        assert_eq!(error.to_string(), "ends too early", "{end}");
    }
}

#[test]
fn a_truncated_batch_is_refused_but_between_tokens() {
    let bytes = encode_batch(&[token(1), token(2)]);
    for end in 0..=bytes.len() {
        let read = decode_batch(&bytes[..end]).map(|tokens| tokens.len());
        match end {
            0 => assert_eq!(read, Ok(0)),
            287 => assert_eq!(read, Ok(1)),
            712 => assert_eq!(read, Ok(2)),
            _ => assert!(read.is_err(), "{end}"),
        }
    }
}

fn refusal(bytes: &[u8]) -> String {
    let alone = Token::decode(bytes).expect_err("no token");
    let in_batch = decode_batch(&[&token(1).encode()[..], bytes].concat()).expect_err("no batch");
    assert_eq!(alone, in_batch);
    alone.to_string()
}

#[test]
fn each_refusal_has_its_reason() {
    let good = token(2).encode();
    let with = |at: usize, bytes: &[u8]| {
        let mut altered = good.clone();
        altered[at..at + bytes.len()].copy_from_slice(bytes);
        altered
    };
    assert_eq!(refusal(&with(0, &[0, 0])), "a token has a recipient");
    assert_eq!(refusal(&with(0, &[0, 3])), "ends too early");
    assert_eq!(refusal(&with(0, &[0x7f, 0xff])), "ends too early");
    assert_eq!(
        refusal(&with(0, &[0xff, 0xff])),
        "a token has at most 32767 recipients"
    );
    // The mark of challenges, with no recipient and with one.
    assert_eq!(refusal(&with(0, &[0x80, 0])), "a token has a recipient");
    assert_eq!(
        refusal(&with(0, &[0x80, 1])),
        "a token's first pair has no challenge"
    );
    assert_eq!(refusal(&with(0, &[0x80, 2])), "ends too early");
    for key in [11, 149, 287] {
        let reason = "a public key starts with LibNaCLPK:";
        assert_eq!(refusal(&with(key, b"l")), reason);
    }
    assert_eq!(
        refusal(&with(11, &EMPTY_KEY.0)),
        "a public key starts with LibNaCLPK:"
    );
}

#[test]
fn nothing_may_follow_a_token() {
    let longer = [&token(2).encode()[..], b"x"].concat();
    let error = Token::decode(&longer).expect_err("overlong");
    assert_eq!(error.to_string(), "goes on behind its end");
    // A count too small leaves a recipient behind the end.
    let mut shorter = token(2).encode();
    shorter[1] = 1;
    assert_eq!(Token::decode(&shorter), Err(error));
}

#[test]
fn a_token_can_be_handed_on_until_its_count_is_full() {
    let mut full = token(RECIPIENTS_MAX);
    assert_eq!(full.wire_bytes(), 149 + 138 * 32_767);
    let error = full.push(step(5)).expect_err("full");
    assert_eq!(error.to_string(), "a token has at most 32767 recipients");
    assert_eq!(full.recipients().len(), RECIPIENTS_MAX);
    assert_eq!(Token::decode(&full.encode()), Ok(full));
}

#[test]
fn a_challenge_stands_between_key_and_proof() {
    let mut challenged = token(1);
    for challenge in [[4; 16], [5; 16]] {
        let pair = Recipient {
            challenge: Some(challenge),
            ..step(6)
        };
        challenged.push(pair).expect("room");
    }
    let bytes = challenged.encode();
    assert_eq!((bytes.len(), challenged.wire_bytes()), (595, 595));
    assert_eq!(bytes[..2], [0x80, 3]);
    assert_eq!(bytes[2..287], token(1).encode()[2..]);
    let pair = |challenge| [&key(6).0[..], &[challenge; 16], &[6 ^ 0xff; 64]].concat();
    assert_eq!(bytes[287..], [pair(4), pair(5)].concat());
    assert_eq!(Token::decode(&bytes), Ok(challenged));
    for end in 0..bytes.len() {
        let error = Token::decode(&bytes[..end]).expect_err("truncated");
        assert_eq!(error.to_string(), "ends too early", "{end}");
    }
}

#[test]
fn challenges_are_in_all_pairs_or_in_none() {
    let pair = |challenge| Recipient {
        challenge,
        ..step(6)
    };
    for first in [None, Some([4; 16])] {
        let mut token = token(1);
        assert!(!token.is_challenged());
        token.push(pair(first)).expect("either will do");
        let other = Some([5; 16]).filter(|_| first.is_none());
        let error = token.push(pair(other)).expect_err("mixed");
        assert_eq!(
            error.to_string(),
            "all pairs of a token have challenges, or none"
        );
        assert_eq!(token.is_challenged(), first.is_some());
        token.push(pair(first)).expect("alike");
    }
}

#[test]
fn a_challenged_token_is_full_one_earlier() {
    let pair = Recipient {
        challenge: Some([4; 16]),
        ..step(6)
    };
    let mut full = token(1);
    while full.push(pair).is_ok() {}
    assert_eq!(full.recipients().len(), CHALLENGED_MAX);
    assert_eq!(full.encode()[..2], [0xff, 0xfe]);
    assert_eq!(Token::decode(&full.encode()), Ok(full));
}

#[test]
fn signed_messages_bind_every_field() {
    let base = minted_message(b"serial-7", 9, &[2; 64], &key(3));
    assert_eq!(base.len(), 147);
    for other in [
        minted_message(b"serial-8", 9, &[2; 64], &key(3)),
        minted_message(b"serial-7", 8, &[2; 64], &key(3)),
        minted_message(b"serial-7", 9, &[3; 64], &key(3)),
        minted_message(b"serial-7", 9, &[2; 64], &key(4)),
    ] {
        assert_ne!(base, other);
    }
    let base = transferred_message(&[1; 64], &key(3));
    assert_eq!(base.len(), 138);
    assert_ne!(base, transferred_message(&[2; 64], &key(3)));
    assert_ne!(base, transferred_message(&[1; 64], &key(4)));
    let challenged = challenged_message(&[1; 64], &key(3), &[7; 16]);
    assert_eq!(challenged[..138], base);
    assert_eq!(challenged[138..], [7; 16]);
}

fn any_key() -> impl Strategy<Value = PublicKey> {
    prop::array::uniform32(any::<u8>()).prop_map(|half| {
        let mut key = key(0);
        key.0[10..42].copy_from_slice(&half);
        key.0[42..].copy_from_slice(&half);
        key
    })
}

fn any_recipient() -> impl Strategy<Value = Recipient> {
    let proof = prop::array::uniform(any::<u8>());
    (any_key(), proof, any::<Challenge>()).prop_map(|(key, proof, challenge)| Recipient {
        key,
        proof,
        challenge: Some(challenge),
    })
}

fn with_challenge(recipient: &Recipient, is_challenged: bool) -> Recipient {
    let challenge = recipient.challenge.filter(|_| is_challenged);
    Recipient {
        challenge,
        ..*recipient
    }
}

prop_compose! {
    fn any_token()(
        serial: [u8; 8],
        value: u8,
        authority in any_key(),
        nonce in prop::array::uniform(any::<u8>()),
        recipients in prop::collection::vec(any_recipient(), 1..12),
        is_challenged: bool,
    ) -> Token {
        let first = with_challenge(&recipients[0], false);
        let mut token = Token::new(serial, value, authority, nonce, first);
        for recipient in &recipients[1..] {
            token.push(with_challenge(recipient, is_challenged)).expect("room");
        }
        token
    }
}

proptest! {
    #[test]
    fn tokens_read_back(token in any_token()) {
        prop_assert_eq!(token.encode().len(), token.wire_bytes());
        prop_assert_eq!(Token::decode(&token.encode()), Ok(token));
    }

    #[test]
    fn batches_read_back(tokens in prop::collection::vec(any_token(), 0..6)) {
        prop_assert_eq!(decode_batch(&encode_batch(&tokens)), Ok(tokens));
    }

    #[test]
    fn one_token_has_one_spelling(token in any_token(), at: prop::sample::Index, bit in 0..8u8) {
        let mut bytes = token.encode();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        if let Ok(other) = Token::decode(&bytes) {
            prop_assert_ne!(&other, &token);
            prop_assert_eq!(other.encode(), bytes);
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let _ = Token::decode(&bytes);
        let _ = decode_batch(&bytes);
    }

    // Arbitrary bytes hardly ever get past the count and the first key.
    #[test]
    fn no_damage_panics(
        token in any_token(),
        count: u16,
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
    ) {
        let mut bytes = token.encode();
        bytes[..2].copy_from_slice(&count.to_be_bytes());
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(tokens) = decode_batch(&bytes) {
            prop_assert_eq!(encode_batch(&tokens), bytes);
        }
    }
}
