//! Control as bytes.

use pocketsim_probe_core::trade::control::{Control, NotControl, Summary, CONTROL_BYTES_MAX};
use pocketsim_probe_core::trade::Carrier;
use pocketsim_protocols::contract::Reason;
use pocketsim_protocols::crypto::Key;
use proptest::prelude::*;

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
    let hello = (any::<(u64, [u8; 32], u32, u32)>(), carrier).prop_map(
        |((session, key, repetition, number), carrier)| Control::Hello {
            session,
            key: Key(key),
            carrier,
            repetition,
            number,
        },
    );
    let welcome = any::<(u64, [u8; 32], u32)>().prop_map(|(session, key, number)| {
        let key = Key(key);
        Control::Welcome {
            session,
            key,
            number,
        }
    });
    let of_repetition =
        (any::<(u64, u32)>(), 0..3).prop_map(|((session, repetition), kind)| match kind {
            0 => Control::Start {
                session,
                repetition,
            },
            1 => Control::Ready {
                session,
                repetition,
            },
            _ => Control::Finish {
                session,
                repetition,
            },
        });
    let summary = (any::<(u64, u32)>(), summaries()).prop_map(|((session, repetition), tally)| {
        Control::Summary {
            session,
            repetition,
            tally,
        }
    });
    let full = any::<u64>().prop_map(|session| Control::Full { session });
    let asked = Just(Control::WhoAreYou);
    prop_oneof![hello, welcome, of_repetition, summary, full, asked]
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
    bytes[4] = 1;
    bytes[5] = 99;
    assert_eq!(Control::decode(&bytes), Err(NotControl::Malformed));
}

#[test]
fn its_bytes_stay_as_they_are() {
    // Two phones may have different builds: a change here needs another version.
    let bytes = Control::Start {
        session: 0x0102_0304_0506_0708,
        repetition: 9,
    };
    assert_eq!(
        bytes.encode(),
        b"\xc5pst\x01\x03\x01\x02\x03\x04\x05\x06\x07\x08\0\0\0\x09"
    );
}
