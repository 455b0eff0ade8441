//! Control as bytes.

use pocketsim_probe_core::trade::control::{
    Control, Hello, NotControl, Summary, CONTROL_BYTES_MAX,
};
use pocketsim_probe_core::trade::envelope::{seal, Envelope, ENVELOPE_BYTES_MAX};
use pocketsim_probe_core::trade::Carrier;
use pocketsim_protocols::contract::Reason;
use pocketsim_protocols::crypto::Key;
use proptest::prelude::*;

use super::node::node;

fn summaries() -> impl Strategy<Value = Summary> {
    let reason = proptest::sample::select(Reason::ALL);
    let refused = proptest::collection::vec((reason, any::<u32>()), 0..=Reason::ALL.len());
    (any::<u64>(), any::<[u8; 32]>(), refused, any::<u64>()).prop_map(
        |(stored, digest, refused, malformed)| Summary {
            stored,
            digest,
            refused,
            malformed,
        },
    )
}

fn messages() -> impl Strategy<Value = Control> {
    let carrier = proptest::sample::select(Carrier::ALL);
    let hello = (any::<(u64, [u8; 32], u32, u32, u32, [u8; 16])>(), carrier).prop_map(
        |((session, key, repetition, number, round, cookie), carrier)| {
            Control::Hello(Hello {
                session,
                key: Key(key),
                carrier,
                repetition,
                number,
                round,
                cookie,
            })
        },
    );
    let cookie =
        any::<(u64, [u8; 16])>().prop_map(|(session, cookie)| Control::Cookie { session, cookie });
    let welcome = any::<(u64, [u8; 32], u32, u32)>().prop_map(|(session, key, number, round)| {
        let key = Key(key);
        Control::Welcome {
            session,
            key,
            number,
            round,
        }
    });
    let of_repetition = (any::<(u64, u32, u32)>(), 0..3).prop_map(
        |((session, repetition, first), kind)| match kind {
            0 => Control::Start {
                session,
                repetition,
                first_sequence: first,
            },
            1 => Control::Ready {
                session,
                repetition,
            },
            _ => Control::Finish {
                session,
                repetition,
            },
        },
    );
    let summary = (any::<(u64, u32)>(), summaries()).prop_map(|((session, repetition), tally)| {
        Control::Summary {
            session,
            repetition,
            tally,
        }
    });
    let full = any::<u64>().prop_map(|session| Control::Full { session });
    let asked = Just(Control::WhoAreYou);
    prop_oneof![hello, cookie, welcome, of_repetition, summary, full, asked]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_survives_its_bytes(message in messages()) {
        let bytes = message.encode();
        prop_assert!(bytes.len() <= CONTROL_BYTES_MAX);
        prop_assert_eq!(Control::decode(&bytes), Ok(message));
    }

    #[test]
    fn a_message_has_one_length(message in messages(), cut in 1usize..200) {
        let bytes = message.encode();
        let shorter = &bytes[..bytes.len() - cut.min(bytes.len())];
        prop_assert!(Control::decode(shorter).is_err());
        let longer = [&bytes[..], &[0]].concat();
        prop_assert_eq!(Control::decode(&longer), Err(NotControl::Malformed));
    }

    #[test]
    fn a_question_is_no_shorter_than_any_answer(message in messages()) {
        prop_assert!(!message.is_question() || message.encode().len() == CONTROL_BYTES_MAX);
        let sealed = seal(&message, &node(1));
        prop_assert!(sealed.len() <= ENVELOPE_BYTES_MAX);
        prop_assert!(!message.is_question() || sealed.len() == ENVELOPE_BYTES_MAX);
    }

    #[test]
    fn a_changed_bit_is_another_s(message in messages(), at: usize, bit in 0u8..8) {
        let signer = node(1);
        let mut sealed = seal(&message, &signer);
        let whole = Envelope::open(&sealed).expect("as sealed");
        prop_assert_eq!(&whole.control, &message);
        let unsigned = matches!(message, Control::Cookie { .. } | Control::WhoAreYou);
        prop_assert_eq!(whole.is_by(&signer.key()), !unsigned);
        prop_assert!(!whole.is_by(&node(2).key()));
        let at = at % sealed.len();
        sealed[at] ^= 1u8 << bit;
        if let Ok(changed) = Envelope::open(&sealed) {
            prop_assert!(!changed.is_by(&signer.key()));
        }
    }

    #[test]
    fn nothing_is_signed_by_leaving_the_signature_out(message in messages()) {
        let signed = !matches!(message, Control::Cookie { .. } | Control::WhoAreYou);
        prop_assert_eq!(Envelope::open(&message.encode()).is_err(), signed);
    }

    #[test]
    fn no_bytes_are_too_strange(tail in proptest::collection::vec(any::<u8>(), 0..200)) {
        let begun = [&Control::WhoAreYou.encode()[..5], &tail].concat();
        if let Ok(message) = Control::decode(&begun) {
            prop_assert_eq!(message.encode(), begun);
        }
        let _ = Control::decode(&tail);
    }
}

#[test]
fn the_longest_message_is_as_long_as_said() {
    let tally = Summary {
        refused: Reason::ALL.iter().map(|&reason| (reason, 1)).collect(),
        ..Summary::default()
    };
    let message = Control::Summary {
        session: 1,
        repetition: 2,
        tally,
    };
    assert_eq!(message.encode().len(), CONTROL_BYTES_MAX);
}

#[test]
fn what_is_not_control_says_why() {
    assert_eq!(Control::decode(b"{\"payload\""), Err(NotControl::Foreign));
    assert_eq!(Control::decode(b""), Err(NotControl::Foreign));
    assert_eq!(
        Control::decode(b"\0\x02a\0octet\0"),
        Err(NotControl::Foreign)
    );
    let mut bytes = Control::WhoAreYou.encode();
    bytes[4] = 9;
    assert_eq!(Control::decode(&bytes), Err(NotControl::Version(9)));
    bytes[4] = 6;
    bytes[5] = 99;
    assert_eq!(Control::decode(&bytes), Err(NotControl::Malformed));
}

#[test]
fn its_bytes_stay_as_they_are() {
    // Two phones may have different builds: a change here needs another version.
    let bytes = Control::Start {
        session: 0x0102_0304_0506_0708,
        repetition: 9,
        first_sequence: 0x0a0b_0c0d,
    }
    .encode();
    let (said, padding) = bytes.split_at(22);
    assert_eq!(
        said,
        b"\xc5pst\x06\x03\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\x09\x0a\x0b\x0c\x0d"
    );
    assert_eq!(padding, [0; 160]);
}

/// Of each kind one message and its bytes behind the magic, without the padding of questions.
fn examples() -> Vec<(Control, Vec<u8>)> {
    let (session, repetition) = (0x0102_0304_0506_0708, 9);
    let (key, cookie) = (Key([0xaa; 32]), [0xcc; 16]);
    let hello = Hello {
        session,
        key,
        carrier: Carrier::Tftp,
        repetition,
        number: 2,
        round: 3,
        cookie,
    };
    let welcome = Control::Welcome {
        session,
        key,
        number: 2,
        round: 3,
    };
    let tally = Summary {
        stored: 5,
        digest: [0xdd; 32],
        refused: vec![(Reason::ALL[1], 6)],
        malformed: 7,
    };
    let about = b"\x01\x02\x03\x04\x05\x06\x07\x08".as_slice();
    let ninth = b"\0\0\0\x09".as_slice();
    let (second, third) = (b"\0\0\0\x02".as_slice(), b"\0\0\0\x03".as_slice());
    let (keys, cookies) = (&[0xaa; 32][..], &[0xcc; 16][..]);
    let carrier = &[Carrier::Tftp as u8][..];
    let figures = [
        &[0, 0, 0, 0, 0, 0, 0, 5][..],
        &[0xdd; 32],
        &[0, 0, 0, 0, 0, 0, 0, 7, 1, 1, 0, 0, 0, 6],
    ]
    .concat();
    vec![
        (
            Control::Hello(hello),
            [b"\x01", about, keys, carrier, ninth, second, third, cookies].concat(),
        ),
        (welcome, [b"\x02", about, keys, second, third].concat()),
        (
            Control::Start {
                session,
                repetition,
                first_sequence: 3,
            },
            [b"\x03", about, ninth, third].concat(),
        ),
        (
            Control::Ready {
                session,
                repetition,
            },
            [b"\x04", about, ninth].concat(),
        ),
        (
            Control::Finish {
                session,
                repetition,
            },
            [b"\x05", about, ninth].concat(),
        ),
        (
            Control::Summary {
                session,
                repetition,
                tally,
            },
            [b"\x06", about, ninth, &figures].concat(),
        ),
        (Control::WhoAreYou, vec![7]),
        (Control::Full { session }, [b"\x08", about].concat()),
        (
            Control::Cookie { session, cookie },
            [b"\x09", about, cookies].concat(),
        ),
    ]
}

#[test]
fn every_kind_of_message_has_its_bytes() {
    for (message, expected) in examples() {
        let bytes = message.encode();
        let (magic, rest) = bytes.split_at(5);
        assert_eq!(magic, b"\xc5pst\x06");
        let (said, padding) = rest.split_at(expected.len());
        assert_eq!(said, expected, "{message:?}");
        let is_padded = message.is_question();
        let padding_bytes = if is_padded {
            CONTROL_BYTES_MAX - 5 - expected.len()
        } else {
            0
        };
        assert_eq!(padding, vec![0; padding_bytes], "{message:?}");
    }
}

#[test]
fn only_what_a_dialler_asks_is_a_question() {
    let questions = |(message, _): &(Control, _)| message.is_question();
    let kinds = examples().into_iter().filter(questions);
    let kinds: Vec<u8> = kinds.map(|(_, bytes)| bytes[0]).collect();
    assert_eq!(kinds, [1, 3, 5]);
}

#[test]
fn what_begins_as_control_is_never_taken_for_a_block() {
    for length in 6..300 {
        let bytes = [b"\xc5pst\x06\x01".to_vec(), vec![7; length - 6]].concat();
        let error = Envelope::open(&bytes).expect_err("malformed");
        assert_eq!(error, NotControl::Malformed, "{length} bytes");
    }
}
