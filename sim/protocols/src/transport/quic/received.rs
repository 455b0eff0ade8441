//! What came in one packet number space, and what the peer is told of it and when.

use super::ranges::Ranges;
use super::recovery::MAX_ACK_DELAY_S;
use super::wire::{ack_bytes, Ack};
use crate::contract::Seconds;

/// Packets that came, as the numbers of one space.
#[derive(Clone, Debug)]
pub(super) struct Received {
    /// Whether an acknowledgement is to leave now.
    pub ack_due: bool,
    all: Ranges,
    /// What the peer is not known to know of.
    unconfirmed: Ranges,
    largest_eliciting: Option<u32>,
    largest_received_s: Seconds,
    unacknowledged: u32,
    silent: u32,
    /// From when on an acknowledgement that is not due may ride along with data.
    bundle_from_s: Seconds,
}

impl Received {
    /// Nothing came.
    pub const fn new() -> Self {
        Self {
            ack_due: false,
            all: Ranges::new(),
            unconfirmed: Ranges::new(),
            largest_eliciting: None,
            largest_received_s: 0.0,
            unacknowledged: 0,
            silent: 0,
            bundle_from_s: Seconds::INFINITY,
        }
    }

    /// Notes packet `number`; false if it is not new.
    pub fn on_received(&mut self, number: u32, eliciting: bool, now: Seconds) -> bool {
        let expected = self.all.largest().map_or(0, |largest| largest + 1);
        if !self.all.insert(number, number + 1) {
            return false;
        }
        self.all.forget_all_but(RECEIVED_RANGES_MAX);
        self.unconfirmed.insert(number, number + 1);
        self.unconfirmed.drop_all_but(ACK_RANGES_MAX);
        if number >= expected {
            self.largest_received_s = now;
        }
        if !eliciting {
            self.silent += 1;
            return true;
        }
        self.unacknowledged += 1;
        let is_second = self.unacknowledged >= ACK_ELICITING_THRESHOLD;
        self.ack_due |= is_second || self.is_out_of_order(number);
        if self.unacknowledged == 1 && !self.ack_due {
            self.bundle_from_s = now;
        }
        self.largest_eliciting = self.largest_eliciting.max(Some(number));
        true
    }

    /// Whether packet `number`, which asks for an acknowledgement and came just now, is older than
    /// the newest that did, or something between the two is missing (RFC 9000 13.2.1; quinn-proto
    /// `PendingAcks::is_out_of_order`). What asks for none may have come after a gap.
    fn is_out_of_order(&self, number: u32) -> bool {
        let next = self.largest_eliciting.map_or(0, |largest| largest + 1);
        number < next || !self.all.covers(next, number)
    }

    /// Whether the peer waits for an acknowledgement.
    pub fn owes_ack(&self) -> bool {
        self.unacknowledged > 0
    }

    /// The acknowledgement that the next packet carries: one that is due, or one
    /// that rides along because many packets that ask for none came.
    pub fn take_ack(&mut self, now: Seconds) -> Option<Ack> {
        let is_due = self.ack_due || self.silent > LAZY_ACK_THRESHOLD;
        is_due.then(|| self.acknowledge(now))
    }

    /// One that is not due, for a packet of data with `room_bytes` left
    /// (quinn-proto 0.11.19 `Connection::populate_packet`).
    pub fn bundled_ack(&mut self, room_bytes: u32, now: Seconds) -> Option<Ack> {
        let ack = self.ack(now);
        let says_something = now >= self.bundle_from_s && !ack.ranges.is_empty();
        let fits = says_something && ack_bytes(&ack) <= room_bytes;
        fits.then(|| self.acknowledge(now))
    }

    /// None rides along before `until_s`, unless something asks for one.
    pub fn pause_bundling(&mut self, until_s: Seconds) {
        self.bundle_from_s = until_s;
    }

    fn acknowledge(&mut self, now: Seconds) -> Ack {
        self.unacknowledged = 0;
        self.silent = 0;
        self.ack_due = false;
        self.ack(now)
    }

    fn ack(&self, now: Seconds) -> Ack {
        Ack {
            delay_s: now - self.largest_received_s,
            ranges: self.unconfirmed.newest(ACK_RANGES_MAX).to_vec(),
        }
    }

    /// Whether nothing is left to be acknowledged.
    pub fn is_told(&self) -> bool {
        !self.owes_ack() && !self.ack_due
    }

    /// The peer knows of the packets before this one (quinn-proto `PendingAcks::subtract_below`).
    pub fn on_confirmed(&mut self, below: u32) {
        self.unconfirmed.remove_below(below);
    }

    /// What would confirm what came of `count` packets more and is not confirmed yet, where ends
    /// only ask and answer: each answer confirms the one before, so there is one range of few.
    pub fn ack_after(&self, count: u32) -> Ack {
        let newest = self.unconfirmed.newest(1).iter();
        let ranges = newest.map(|range| {
            let end = range.1.saturating_add(count);
            (end - (range.1 - range.0).min(UNCONFIRMED_AT_REST), end)
        });
        Ack {
            delay_s: MAX_ACK_DELAY_S,
            ranges: ranges.collect(),
        }
    }

    /// All packets passed up to the one that is the newest then, and were acknowledged.
    pub fn pass(&mut self, newest: impl Fn(u32) -> u32) {
        self.largest_eliciting = self.largest_eliciting.map(&newest);
        let Some(largest) = self.all.largest() else {
            return;
        };
        if newest(largest) > largest {
            self.all.insert(largest + 1, newest(largest) + 1);
            self.unconfirmed.insert(largest + 1, newest(largest) + 1);
            let after = newest(largest) + 1;
            self.unconfirmed
                .remove_below(after.saturating_sub(UNCONFIRMED_AT_REST));
        }
    }
}

/// The second packet that asks for it is acknowledged at once (RFC 9000 13.2.2;
/// quinn-proto `PendingAcks::packet_received`).
const ACK_ELICITING_THRESHOLD: u32 = 2;

/// After more packets than this that ask for nothing, an ACK rides along with the
/// next packet (quinn-proto `PendingAcks::maybe_ack_non_eliciting`).
const LAZY_ACK_THRESHOLD: u32 = 10;

/// quinn-proto 0.11.19 `MAX_ACK_BLOCKS`.
const ACK_RANGES_MAX: usize = 64;

/// Of a connection at rest on which both ask at once: the answer of the round before the last, the
/// last question and its answer, and this question. Where they ask in turn it is two.
const UNCONFIRMED_AT_REST: u32 = 4;

/// Below the newest gaps every number counts as received, as a repetition would.
const RECEIVED_RANGES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_packet_and_every_gap_is_acknowledged_at_once() {
        let mut received = Received::new();
        assert!(received.on_received(0, true, 1.0));
        assert!(
            received.owes_ack() && !received.ack_due,
            "the first may wait"
        );
        assert!(received.on_received(1, true, 1.1) && received.ack_due);
        let ack = received.take_ack(1.3).expect("it is due");
        assert_eq!(ack.ranges, [(0, 2)]);
        assert!((ack.delay_s - 0.2).abs() < 1e-12, "since the largest came");
        assert!(!received.owes_ack() && received.take_ack(1.3).is_none());
        assert!(
            received.on_received(3, true, 1.4) && received.ack_due,
            "2 is missing"
        );
        assert!(!received.on_received(3, true, 1.5), "not new");
    }

    /// Whether an acknowledgement is due after the last of these packets, of which those that are
    /// true ask for one; the first was acknowledged.
    fn is_due_after(packets: &[(u32, bool)]) -> bool {
        let mut received = Received::new();
        received.on_received(0, true, 1.0);
        received.ack_due = true;
        received.take_ack(1.0).expect("it is due");
        for (number, eliciting) in packets {
            received.on_received(*number, *eliciting, 2.0);
        }
        received.ack_due
    }

    #[test]
    fn after_more_than_ten_packets_that_ask_for_nothing_one_acknowledgement_rides_along() {
        let mut received = Received::new();
        for number in 0..10 {
            received.on_received(number, false, 1.0);
        }
        assert!(received.take_ack(1.0).is_none());
        received.on_received(10, false, 1.0);
        assert!(received.take_ack(1.0).is_some());
        assert!(received.take_ack(1.0).is_none(), "and they count anew");
    }

    #[test]
    fn an_acknowledgement_rides_along_once_something_asks_for_it() {
        let mut received = Received::new();
        received.on_received(0, false, 1.0);
        assert!(received.bundled_ack(100, 1.0).is_none(), "nothing asked");
        received.on_received(1, true, 1.0);
        assert!(received.bundled_ack(4, 1.0).is_none(), "no room");
        let ack = received.bundled_ack(8, 1.2).expect("there is room");
        assert_eq!(ack.ranges, [(0, 2)]);
        assert!(!received.owes_ack());
        received.pause_bundling(1.3);
        assert!(received.bundled_ack(100, 1.25).is_none(), "too soon");
        assert!(received.bundled_ack(100, 1.3).is_some());
        received.pause_bundling(2.0);
        received.on_received(2, true, 1.4);
        assert!(received.bundled_ack(100, 1.4).is_some(), "it asks");
    }

    #[test]
    fn only_what_asks_for_an_acknowledgement_closes_a_gap() {
        let (asks, silent) = (true, false);
        assert!(is_due_after(&[(2, silent), (3, asks)]), "1 is missing");
        assert!(!is_due_after(&[(1, silent), (2, asks)]), "nothing is");
        assert!(
            !is_due_after(&[(2, silent), (1, asks)]),
            "in order but for 2"
        );
        assert!(!is_due_after(&[(2, silent)]), "it asks for nothing");
        let mut received = Received::new();
        received.on_received(1, true, 1.0);
        assert!(received.ack_due, "0 is missing");
        received.take_ack(1.0).expect("it is due");
        received.on_received(0, true, 1.1);
        assert!(received.ack_due, "late");
    }
}
