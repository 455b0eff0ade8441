//! One packet number space: what was sent, what was received, what is to be sent.
//!
//! It knows nothing of time-outs' lengths and nothing of what records mean.

use std::collections::BTreeMap;

use super::pending::Pending;
use super::ranges::Ranges;
use super::recovery::MAX_ACK_DELAY_S;
use super::wire::{ack_bytes, Ack, Control, Record};
use crate::contract::Seconds;

/// A packet that asks for an acknowledgement and has none yet.
#[derive(Clone, Debug)]
pub(super) struct SentPacket {
    pub time_s: Seconds,
    pub bytes: u32,
    pub records: Vec<Record>,
    /// It told the peer of packets before this one.
    pub acked_below: Option<u32>,
}

impl SentPacket {
    /// Whether it only asked whether it passes.
    pub fn is_mtu_probe(&self) -> bool {
        self.records == [Record::MtuProbe]
    }

    /// What it controlled and would be said again if it were lost; none if there is nothing.
    fn take_controls(&mut self) -> Option<Vec<Record>> {
        let is_control = |record: &Record| {
            !record.is_data() && !record.only_asks() && *record != Record::MtuProbe
        };
        if !self.records.iter().any(is_control) {
            return None;
        }
        let (controls, rest): (Vec<_>, Vec<_>) = self.records.drain(..).partition(is_control);
        self.records = rest;
        Some(controls)
    }
}

/// State of one packet number space.
#[derive(Clone, Debug)]
pub(super) struct Space {
    /// What waits to be sent, first first.
    pub pending: Pending,
    /// Packets that may leave although the congestion window is full.
    pub probes: u32,
    /// When the latest packet that asks for an acknowledgement left.
    pub last_sent_s: Seconds,
    /// When the oldest packet counts as lost by time.
    pub loss_s: Seconds,
    /// Whether an acknowledgement is to leave now.
    pub ack_due: bool,
    next_number: u32,
    sent: BTreeMap<u32, SentPacket>,
    largest_acked: Option<u32>,
    received: Ranges,
    /// Of what came, what the peer is not known to know of.
    unconfirmed: Ranges,
    largest_eliciting: Option<u32>,
    largest_received_s: Seconds,
    unacknowledged: u32,
    silent: u32,
    /// From when on an acknowledgement that is not due may ride along with data.
    bundle_from_s: Seconds,
}

impl Space {
    /// Nothing sent, nothing received.
    pub fn new() -> Self {
        Self {
            pending: Pending::default(),
            probes: 0,
            last_sent_s: 0.0,
            loss_s: Seconds::INFINITY,
            ack_due: false,
            next_number: 0,
            sent: BTreeMap::new(),
            largest_acked: None,
            received: Ranges::default(),
            unconfirmed: Ranges::default(),
            largest_eliciting: None,
            largest_received_s: 0.0,
            unacknowledged: 0,
            silent: 0,
            bundle_from_s: Seconds::INFINITY,
        }
    }

    /// The number that the next packet gets, and the largest that the peer confirmed.
    pub fn numbers(&self) -> (u32, Option<u32>) {
        (self.next_number, self.largest_acked)
    }

    /// Whether its next packet asks for an acknowledgement, where the window is `allowed` one more.
    pub fn carries(&self, allowed: bool) -> bool {
        !self.pending.is_empty() && (allowed || self.probes > 0)
    }

    /// Whether a packet may leave now. What is due with data that waits for the window waits with
    /// it (quinn-proto 0.11.19 `Connection::poll_transmit`): whoever is held up confirms nothing.
    pub fn may_send(&self, allowed: bool) -> bool {
        self.carries(allowed) || (self.ack_due && self.pending.is_empty())
    }

    /// Takes the next number; packets with records are remembered, with what they acknowledged.
    pub fn on_sent(&mut self, records: Vec<Record>, ack: Option<&Ack>, bytes: u32, now: Seconds) {
        if !records.is_empty() {
            self.probes = self.probes.saturating_sub(1);
            self.last_sent_s = now;
            let packet = SentPacket {
                time_s: now,
                bytes,
                records,
                acked_below: ack.and_then(|ack| Some(ack.ranges.last()?.1)),
            };
            self.sent.insert(self.next_number, packet);
        }
        self.next_number += 1;
    }

    /// Notes packet `number`; false if it is not new.
    pub fn on_received(&mut self, number: u32, eliciting: bool, now: Seconds) -> bool {
        let expected = self.received.largest().map_or(0, |largest| largest + 1);
        if !self.received.insert(number, number + 1) {
            return false;
        }
        self.received.forget_all_but(RECEIVED_RANGES_MAX);
        self.unconfirmed.insert(number, number + 1);
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
        number < next || !self.received.covers(next, number)
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

    /// Removes and returns the packets that `ack` confirms, ascending, and
    /// whether its largest number is among them.
    pub fn on_ack(&mut self, ack: &Ack) -> (Vec<SentPacket>, bool) {
        let largest = ack.ranges.last().map(|range| range.1 - 1);
        let newest = largest.is_some_and(|number| self.sent.contains_key(&number));
        self.largest_acked = self.largest_acked.max(largest);
        let mut numbers = Vec::new();
        for &(start, end) in &ack.ranges {
            numbers.extend(self.sent.range(start..end).map(|(number, _)| *number));
        }
        let packets = numbers.iter().filter_map(|number| self.sent.remove(number));
        let packets: Vec<_> = packets.collect();
        let confirmed = packets.iter().filter_map(|packet| packet.acked_below).max();
        self.unconfirmed.remove_below(confirmed.unwrap_or(0));
        (packets, newest)
    }

    /// Removes and returns the packets that count as lost (RFC 9002 6.1) with their numbers,
    /// ascending, and notes when the next one would.
    pub fn detect_lost(&mut self, loss_delay_s: Seconds, now: Seconds) -> Vec<(u32, SentPacket)> {
        self.loss_s = Seconds::INFINITY;
        let Some(largest) = self.largest_acked else {
            return Vec::new();
        };
        let mut numbers = Vec::new();
        for (&number, packet) in self.sent.range(..largest) {
            if packet.time_s + loss_delay_s <= now || number + PACKET_THRESHOLD <= largest {
                numbers.push(number);
            } else {
                self.loss_s = self.loss_s.min(packet.time_s + loss_delay_s);
            }
        }
        let packets = numbers.into_iter();
        let packets = packets.filter_map(|number| Some((number, self.sent.remove(&number)?)));
        packets.collect()
    }

    /// Makes sure that a probe has something to ask for: what controls the connection, queued or of
    /// the oldest packet with any, which is the probe's then, or else nothing more than what asks: for
    /// an acknowledgement at once where there may be any. Data of streams that waits rides along, and what was sent of it is not repeated before it counts as lost
    /// (quinn-proto 0.11.19 `PacketSpace::maybe_queue_probe`).
    pub fn queue_probe(&mut self, asks_at_once: bool) {
        if self.probes == 0 {
            return;
        }
        if asks_at_once {
            self.pending.ask(Control::ImmediateAck);
        }
        if self.pending.controls() {
            return;
        }
        let mut packets = self.sent.values_mut();
        match packets.find_map(SentPacket::take_controls) {
            Some(records) => self.pending.send_again(records),
            None if asks_at_once => {}
            None => self.pending.ask(Control::Ping),
        }
    }

    /// Whether the peer owes an acknowledgement.
    pub fn is_waiting(&self) -> bool {
        !self.sent.is_empty()
    }

    /// Whether nothing is to be sent or waited for.
    pub fn is_silent(&self) -> bool {
        self.pending.is_empty() && !self.is_waiting() && !self.owes_ack() && !self.ack_due
    }

    /// Gives back the memory of what was, while nothing is.
    pub fn shed(&mut self) {
        (self.pending, self.sent) = (Pending::default(), BTreeMap::new());
    }

    /// What would confirm all that came and `count` packets more.
    pub fn ack_after(&self, count: u32) -> Ack {
        let mut ranges = self.unconfirmed.newest(ACK_RANGES_MAX).to_vec();
        if let Some(newest) = ranges.last_mut() {
            newest.1 = newest.1.saturating_add(count);
        }
        Ack {
            delay_s: MAX_ACK_DELAY_S,
            ranges,
        }
    }

    /// In each direction `count` packets passed, and all that asked for it was acknowledged.
    pub fn pass(&mut self, count: u64) {
        // Both ends stop at the same number: what one sends next is new to the other.
        let after = |number: u32| {
            let passed = u64::from(number).saturating_add(count);
            passed.min(u64::from(number.max(PASSED_NUMBERS_MAX))) as u32
        };
        let newest = |number: u32| after(number + 1) - 1;
        self.next_number = after(self.next_number);
        self.largest_acked = self.largest_acked.map(newest);
        self.largest_eliciting = self.largest_eliciting.map(newest);
        if let Some(largest) = self.received.largest() {
            self.received.insert(largest + 1, newest(largest) + 1);
            self.unconfirmed.insert(largest + 1, newest(largest) + 1);
        }
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight_bytes(&self) -> u32 {
        self.sent.values().map(|packet| packet.bytes).sum()
    }
}

/// The second packet that asks for it is acknowledged at once (RFC 9000 13.2.2;
/// quinn-proto `PendingAcks::packet_received`).
const ACK_ELICITING_THRESHOLD: u32 = 2;

/// After more packets than this that ask for nothing, an ACK rides along with the
/// next packet (quinn-proto `PendingAcks::maybe_ack_non_eliciting`).
const LAZY_ACK_THRESHOLD: u32 = 10;

/// Reordering tolerated in packets (RFC 9002 6.1.1; quinn-proto `TransportConfig::default`).
const PACKET_THRESHOLD: u32 = 3;

/// quinn-proto `MAX_ACK_BLOCKS`.
const ACK_RANGES_MAX: usize = 64;

/// Numbers that rests use up at most, so that some are left: a connection has 2^62, not 2^32, and
/// beyond 2^30 none is longer.
const PASSED_NUMBERS_MAX: u32 = 1 << 31;

/// Below the newest gaps every number counts as received, as a repetition would.
const RECEIVED_RANGES_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    /// A space that has sent `count` packets of 100 bytes, one every 10 ms.
    fn sent(count: u32) -> Space {
        let mut space = Space::new();
        for number in 0..count {
            let records = vec![Record::Finish(number)];
            space.on_sent(records, None, 100, f64::from(number) * 0.010);
        }
        space
    }

    fn ack(ranges: &[(u32, u32)]) -> Ack {
        Ack {
            delay_s: 0.0,
            ranges: ranges.to_vec(),
        }
    }

    fn streams(packets: &[SentPacket]) -> Vec<Record> {
        packets
            .iter()
            .flat_map(|packet| packet.records.clone())
            .collect()
    }

    fn numbers(packets: &[(u32, SentPacket)]) -> Vec<u32> {
        packets.iter().map(|(number, _)| *number).collect()
    }

    #[test]
    fn every_second_packet_and_every_gap_is_acknowledged_at_once() {
        let mut space = Space::new();
        assert!(space.on_received(0, true, 1.0));
        assert!(space.owes_ack() && !space.ack_due, "the first may wait");
        assert!(space.on_received(1, true, 1.1) && space.ack_due);
        let ack = space.take_ack(1.3).expect("it is due");
        assert_eq!(ack.ranges, [(0, 2)]);
        assert!((ack.delay_s - 0.2).abs() < 1e-12, "since the largest came");
        assert!(!space.owes_ack() && space.take_ack(1.3).is_none());
        assert!(
            space.on_received(3, true, 1.4) && space.ack_due,
            "2 is missing"
        );
        assert!(!space.on_received(3, true, 1.5), "not new");
    }

    /// Whether an acknowledgement is due after the last of these packets, of which those that are
    /// true ask for one; the first was acknowledged.
    fn is_due_after(packets: &[(u32, bool)]) -> bool {
        let mut space = Space::new();
        space.on_received(0, true, 1.0);
        space.ack_due = true;
        space.take_ack(1.0).expect("it is due");
        for (number, eliciting) in packets {
            space.on_received(*number, *eliciting, 2.0);
        }
        space.ack_due
    }

    #[test]
    fn after_more_than_ten_packets_that_ask_for_nothing_one_acknowledgement_rides_along() {
        let mut space = Space::new();
        for number in 0..10 {
            space.on_received(number, false, 1.0);
        }
        assert!(space.take_ack(1.0).is_none());
        space.on_received(10, false, 1.0);
        assert!(space.take_ack(1.0).is_some());
        assert!(space.take_ack(1.0).is_none(), "and they count anew");
    }

    #[test]
    fn an_acknowledgement_rides_along_once_something_asks_for_it() {
        let mut space = Space::new();
        space.on_received(0, false, 1.0);
        assert!(space.bundled_ack(100, 1.0).is_none(), "nothing asked");
        space.on_received(1, true, 1.0);
        assert!(space.bundled_ack(4, 1.0).is_none(), "no room");
        let ack = space.bundled_ack(8, 1.2).expect("there is room");
        assert_eq!(ack.ranges, [(0, 2)]);
        assert!(!space.owes_ack());
        space.pause_bundling(1.3);
        assert!(space.bundled_ack(100, 1.25).is_none(), "too soon");
        assert!(space.bundled_ack(100, 1.3).is_some());
        space.pause_bundling(2.0);
        space.on_received(2, true, 1.4);
        assert!(space.bundled_ack(100, 1.4).is_some(), "it asks");
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
        let mut space = Space::new();
        space.on_received(1, true, 1.0);
        assert!(space.ack_due, "0 is missing");
        space.take_ack(1.0).expect("it is due");
        space.on_received(0, true, 1.1);
        assert!(space.ack_due, "late");
    }

    #[test]
    fn packets_that_ask_for_nothing_are_acknowledged_when_they_are_many() {
        let mut space = Space::new();
        for number in 0..LAZY_ACK_THRESHOLD {
            space.on_received(number, false, 0.0);
        }
        assert!(space.take_ack(0.0).is_none());
        space.on_received(LAZY_ACK_THRESHOLD, false, 0.0);
        assert!(!space.owes_ack());
        assert_eq!(
            space.take_ack(0.0).map(|ack| ack.ranges),
            Some(vec![(0, 11)])
        );
    }

    #[test]
    fn an_acknowledgement_says_what_it_confirms_and_whether_its_largest_is_news() {
        let mut space = sent(5);
        let (packets, newest) = space.on_ack(&ack(&[(0, 1), (2, 4)]));
        assert!(newest);
        assert_eq!(streams(&packets), [0, 2, 3].map(Record::Finish));
        let (packets, newest) = space.on_ack(&ack(&[(0, 4)]));
        assert!(!newest, "3 was confirmed before");
        assert_eq!(streams(&packets), [Record::Finish(1)]);
        assert_eq!(space.in_flight_bytes(), 100);
        assert_eq!(space.numbers(), (5, Some(3)));
    }

    #[test]
    fn a_packet_is_lost_by_three_later_ones_or_by_time() {
        let mut space = sent(5);
        space.on_ack(&ack(&[(3, 4)]));
        let lost = space.detect_lost(1.0, 0.050);
        assert_eq!(numbers(&lost), [0]);
        assert!((space.loss_s - 1.010).abs() < 1e-12, "then 1 by time");
        let lost = space.detect_lost(1.0, 1.015);
        assert_eq!(numbers(&lost), [1]);
        assert!(space.is_waiting(), "4 is later than what was confirmed");
        space.on_ack(&ack(&[(2, 5)]));
        assert!(space.detect_lost(1.0, 9.0).is_empty() && !space.is_waiting());
        assert!(space.loss_s.is_infinite());
    }

    #[test]
    fn after_more_packets_than_are_counted_the_next_is_new_to_the_other_end() {
        let (mut near, mut far) = (sent(3), Space::new());
        for number in 0..2 {
            far.on_received(number, true, 1.0);
        }
        for count in [1 << 30, 1 << 31, 5] {
            near.pass(count);
            far.pass(count);
        }
        let (number, _) = near.numbers();
        assert_eq!(number, PASSED_NUMBERS_MAX);
        assert!(far.on_received(number, true, 2.0));
    }

    #[test]
    fn a_probe_repeats_what_controls_and_only_asks_for_data() {
        let credit = Record::Credit { max_streams: 100 };
        let [ping, at_once] = [Control::Ping, Control::ImmediateAck].map(Record::Control);
        let mut space = sent(2);
        space.queue_probe(true);
        assert!(space.pending.is_empty(), "none is due");
        space.probes = 2;
        for (asks_at_once, asking) in [(false, ping), (true, at_once)] {
            space.pending = Pending::default();
            space.queue_probe(asks_at_once);
            space.queue_probe(asks_at_once);
            assert_eq!(space.pending, [asking], "one for each packet");
        }
        space.pending = Pending::default();
        space.on_sent(vec![Record::Finish(2), credit], None, 100, 1.0);
        assert_eq!((space.probes, space.last_sent_s), (1, 1.0));
        space.pending.queue(Record::Finish(3));
        space.queue_probe(false);
        assert_eq!(space.pending, [credit, Record::Finish(3)]);
        let lost = space.on_ack(&ack(&[(2, 3)])).0;
        assert_eq!(streams(&lost), [Record::Finish(2)], "the probe's now");
        assert_eq!(space.in_flight_bytes(), 200);
    }

    #[test]
    fn what_the_peer_knows_is_not_acknowledged_again() {
        let mut space = Space::new();
        for number in [0, 1, 3] {
            space.on_received(number, true, 1.0);
        }
        let said = space.take_ack(1.0).expect("one is missing");
        assert_eq!(said.ranges, [(0, 2), (3, 4)]);
        space.on_sent(vec![Record::Finish(0)], Some(&said), 100, 1.0);
        space.on_ack(&ack(&[(0, 1)]));
        space.pause_bundling(1.0);
        assert!(space.bundled_ack(100, 1.0).is_none(), "nothing is left");
        space.on_received(4, true, 2.0);
        let more = space.bundled_ack(100, 2.0).expect("that is news");
        assert_eq!(more.ranges, [(4, 5)]);
    }

    #[test]
    fn acknowledgements_wait_with_data_for_the_window() {
        let mut space = Space::new();
        space.ack_due = true;
        assert!(space.may_send(false));
        space.pending.queue(Record::Finish(0));
        assert!(!space.may_send(false) && space.may_send(true));
        space.probes = 1;
        assert!(space.may_send(false));
    }
}
