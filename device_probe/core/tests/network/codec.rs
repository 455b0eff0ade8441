//! The datagrams of a link measurement: what is encoded is decoded, and nothing makes it panic.

use std::collections::BTreeSet;

use pocketsim_probe_core::peer::codec::{
    decode, Counts, Kind, Message, Refusal, HEADER_BYTES, REPORT_BYTES,
};
use proptest::prelude::*;

fn kinds() -> impl Strategy<Value = Kind> {
    prop::sample::select(Kind::ALL)
}

fn counts() -> impl Strategy<Value = Counts> {
    any::<[u64; 4]>().prop_map(|[datagrams, bytes, late, span_ns]| Counts {
        datagrams,
        bytes,
        late,
        span_ns,
    })
}

fn messages() -> impl Strategy<Value = Message> {
    let fields = (kinds(), any::<(u32, u64, u64)>(), counts());
    fields.prop_map(|(kind, (session, sequence, time_ns), counts)| Message {
        kind,
        session,
        sequence,
        time_ns,
        counts: match kind {
            Kind::Query | Kind::Report => counts,
            _ => Counts::default(),
        },
    })
}

fn example(kind: Kind) -> Message {
    Message {
        kind,
        session: 0x0102_0304,
        sequence: 5,
        time_ns: 6,
        counts: Counts::default(),
    }
}

proptest! {
    #[test]
    fn what_is_encoded_is_decoded(message in messages(), length_bytes in 0_usize..2000) {
        let bytes = message.encode(length_bytes);
        prop_assert_eq!(decode(&bytes), Ok(message));
        let exact = match message.kind {
            Kind::Query | Kind::Report => REPORT_BYTES,
            _ => length_bytes.max(HEADER_BYTES),
        };
        prop_assert_eq!(bytes.len(), exact);
    }

    #[test]
    fn arbitrary_bytes_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assume!(!bytes.starts_with(b"PKSP"));
        prop_assert!(decode(&bytes).is_err());
    }

    #[test]
    fn after_the_magic_everything_is_read_or_refused(
        tail in prop::collection::vec(any::<u8>(), 0..200),
        kind in 0_u8..8,
    ) {
        let mut bytes = b"PKSP\x01".to_vec();
        bytes.push(kind);
        bytes.extend(tail);
        if let Ok(message) = decode(&bytes) {
            let again = message.encode(bytes.len());
            prop_assert_eq!(again.len(), bytes.len());
            prop_assert_eq!(decode(&again), Ok(message));
        }
    }

    #[test]
    fn truncations_are_refused(message in messages(), kept in any::<prop::sample::Index>()) {
        let bytes = message.encode(0);
        let cut = &bytes[..kept.index(bytes.len())];
        prop_assert_eq!(decode(cut), Err(Refusal::Truncated));
    }
}

#[test]
fn each_reason_has_its_datagram() {
    let mut foreign = example(Kind::Echo).encode(100);
    foreign[0] ^= 1;
    let mut version = example(Kind::Echo).encode(100);
    version[4] = 2;
    let mut unknown = example(Kind::Echo).encode(100);
    unknown[5] = 200;
    let mut oversized = example(Kind::Query).encode(0);
    oversized.push(0);
    let refused: BTreeSet<Refusal> = [vec![], foreign, version, unknown, oversized]
        .iter()
        .map(|bytes| decode(bytes).expect_err("none of ours"))
        .collect();
    let expected = BTreeSet::from_iter(Refusal::ALL.iter().copied());
    let unasked = BTreeSet::from([Refusal::Unasked]);
    assert_eq!(refused, &expected - &unasked, "that one is the server's");
}

/// A change of these bytes needs a new version: other probes would not understand.
#[test]
fn the_wire_stays_as_it_is() {
    let report = Message {
        counts: Counts {
            datagrams: 7,
            bytes: 8,
            late: 9,
            span_ns: 10,
        },
        ..example(Kind::Report)
    };
    let mut expected = b"PKSP\x01\x04\x01\x02\x03\x04".to_vec();
    for number in 5_u64..=10 {
        expected.extend(number.to_be_bytes());
    }
    assert_eq!(report.encode(0), expected);
}

#[test]
fn a_report_is_as_long_as_its_query() {
    let query = example(Kind::Query).encode(0);
    assert_eq!(query.len(), example(Kind::Report).encode(9000).len());
}
