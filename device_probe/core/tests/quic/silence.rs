//! Signs of life of a connection on which nothing else passes.
//!
//! Each end pings when no packet has left it or come to it for the keep-alive time. A ping is
//! acknowledged 25 ms later, and so the next is the peer's, after all that. It comes when this end
//! would ping itself: on equal ways at the same moment, and on ways that vary it is chance whether
//! both do. What is compared is how many datagrams that makes, the first seconds left away.

use super::conversation::{End, Kind, Script, KEEP_ALIVE_S, KEPT_END_S, KEPT_WAY_S};
use super::{ours, theirs};

/// What each of the two sends from here on counts.
const SILENT_FROM_S: f64 = 10.0;
/// Conversations for each jitter, as what one of them does is chance.
const SEEDS: u64 = 30;

/// Signs of life and acknowledgements of all conversations.
fn sent(converse: fn(Script) -> super::Conversation, jitter_ms: u32, seeds: u64) -> [usize; 2] {
    let mut sent = [0; 2];
    for seed in 0..seeds {
        let seen = converse(Script::Kept(jitter_ms, seed));
        assert_eq!(seen.given_up_s, None);
        for end in End::BOTH {
            for (sent, kind) in sent.iter_mut().zip([Kind::Control, Kind::Ack]) {
                *sent += seen.sent(end, kind, SILENT_FROM_S..KEPT_END_S).len();
            }
        }
    }
    sent
}

/// Pings, each with its acknowledgement, in 30 times 590 s:
///
/// | jitter | the machine | quinn-proto 0.11.19 |
/// |---|---|---|
/// | 0 ms | 17 220 | 17 220 |
/// | 0 to 5 ms | 30 506 | 30 291 |
/// | 0 to 20 ms | 28 071 | 28 022 |
///
/// The same driver over iroh-quinn-proto 0.13.0, which is no dependency here, had 17 220, 30 102 and
/// 27 842.
#[test]
fn silent_ends_send_as_many_datagrams_where_ways_vary() {
    for jitter_ms in [0, 5, 20] {
        let [ours, theirs] =
            [ours::converse, theirs::converse].map(|converse| sent(converse, jitter_ms, SEEDS));
        for (ours, theirs) in ours.into_iter().zip(theirs) {
            let off = (ours as f64 / theirs as f64).ln().abs();
            assert!(off < 0.03, "{jitter_ms} ms: {ours}, expected {theirs}");
        }
    }
}

/// In a driver that handles what came before what is due, as quinn's does.
#[test]
fn on_equal_ways_ends_ping_in_turn_after_the_last_acknowledgement() {
    let cadence_s = KEPT_WAY_S + 0.025 + KEEP_ALIVE_S;
    let exchanges = (KEPT_END_S - SILENT_FROM_S) / cadence_s;
    for converse in [ours::converse, theirs::converse] {
        let sent = sent(converse, 0, 1);
        for sent in sent {
            assert!((sent as f64 - exchanges).abs() <= 1.0, "{sent} datagrams");
        }
    }
}
