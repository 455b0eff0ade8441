//! One packet number space: what was sent, what was received, what is to be sent.
//!
//! It knows nothing of time-outs' lengths and nothing of what records mean. What came is in
//! [`super::received`].

use std::collections::{BTreeMap, VecDeque};

use super::pending::Pending;
use super::received::Received;
use super::wire::{Ack, Control, Record};
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

/// A packet that only acknowledges, of which it is not known whether it came.
#[derive(Clone, Copy, Debug)]
struct SentAck {
    number: u32,
    time_s: Seconds,
    /// It told the peer of packets before this one.
    acked_below: u32,
}

/// What an acknowledgement is news of.
#[derive(Clone, Debug)]
pub(super) struct Acked {
    /// Packets that asked for it, ascending.
    pub packets: Vec<SentPacket>,
    /// When the packet with its largest number left, if that is among what is news.
    pub largest_sent_s: Option<Seconds>,
    /// Whether anything is, be it what did not ask.
    pub is_news: bool,
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
    /// What came, and what the peer is to be told of it.
    pub received: Received,
    next_number: u32,
    sent: BTreeMap<u32, SentPacket>,
    /// Ascending.
    sent_acks: VecDeque<SentAck>,
    largest_acked: Option<u32>,
}

impl Space {
    /// Nothing sent, nothing received.
    pub fn new() -> Self {
        Self {
            pending: Pending::default(),
            probes: 0,
            last_sent_s: 0.0,
            loss_s: Seconds::INFINITY,
            received: Received::new(),
            next_number: 0,
            sent: BTreeMap::new(),
            sent_acks: VecDeque::new(),
            largest_acked: None,
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
        self.carries(allowed) || (self.received.ack_due && self.pending.is_empty())
    }

    /// Takes the next number; what was sent is remembered, with what it acknowledged.
    pub fn on_sent(&mut self, records: Vec<Record>, ack: Option<&Ack>, bytes: u32, now: Seconds) {
        let number = self.next_number;
        let acked_below = ack.and_then(|ack| Some(ack.ranges.last()?.1));
        self.next_number += 1;
        if !records.is_empty() {
            self.probes = self.probes.saturating_sub(1);
            self.last_sent_s = now;
            let packet = SentPacket {
                time_s: now,
                bytes,
                records,
                acked_below,
            };
            self.sent.insert(number, packet);
        } else if let Some(acked_below) = acked_below {
            if self.sent_acks.len() > SENT_ACKS_MAX {
                self.sent_acks.pop_front();
            }
            self.sent_acks.push_back(SentAck {
                number,
                time_s: now,
                acked_below,
            });
        }
    }

    /// Removes and returns what `ack` is news of.
    pub fn on_ack(&mut self, ack: &Ack) -> Acked {
        let largest = ack.ranges.last().map(|range| range.1 - 1);
        self.largest_acked = self.largest_acked.max(largest);
        let mut largest_sent_s = None;
        let (mut confirmed, mut packets) = (None, Vec::new());
        let mut count = |number: u32, sent_s: Seconds, acked_below: Option<u32>| {
            if largest == Some(number) {
                largest_sent_s = Some(sent_s);
            }
            confirmed = confirmed.max(acked_below);
        };
        let numbers = ack.ranges.iter();
        let numbers = numbers.flat_map(|&(start, end)| self.sent.range(start..end));
        for number in numbers.map(|(number, _)| *number).collect::<Vec<_>>() {
            if let Some(packet) = self.sent.remove(&number) {
                count(number, packet.time_s, packet.acked_below);
                packets.push(packet);
            }
        }
        let acks_before = self.sent_acks.len();
        self.sent_acks.retain(|one| {
            let mut ranges = ack.ranges.iter();
            let came = ranges.any(|range| (range.0..range.1).contains(&one.number));
            if came {
                count(one.number, one.time_s, Some(one.acked_below));
            }
            !came
        });
        self.received.on_confirmed(confirmed.unwrap_or(0));
        Acked {
            is_news: !packets.is_empty() || self.sent_acks.len() < acks_before,
            packets,
            largest_sent_s,
        }
    }

    /// Removes and returns the packets that count as lost (RFC 9002 6.1) with their numbers,
    /// ascending, and notes when the next one would. What only acknowledges and does is forgotten.
    pub fn detect_lost(&mut self, loss_delay_s: Seconds, now: Seconds) -> Vec<(u32, SentPacket)> {
        self.loss_s = Seconds::INFINITY;
        let Some(largest) = self.largest_acked else {
            return Vec::new();
        };
        let is_lost = |number: u32, sent_s: Seconds| {
            sent_s + loss_delay_s <= now || number + PACKET_THRESHOLD <= largest
        };
        self.sent_acks
            .retain(|one| one.number > largest || !is_lost(one.number, one.time_s));
        let mut numbers = Vec::new();
        for (&number, packet) in self.sent.range(..largest) {
            if is_lost(number, packet.time_s) {
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
    /// an acknowledgement at once where there may be any. Data of streams that waits rides along, and
    /// what was sent of it is not repeated before it counts as lost (quinn-proto 0.11.19
    /// `PacketSpace::maybe_queue_probe`).
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
        self.pending.is_empty() && !self.is_waiting() && self.received.is_told()
    }

    /// Gives back the memory of what was, while nothing is.
    pub fn shed(&mut self) {
        (self.pending, self.sent) = (Pending::default(), BTreeMap::new());
        self.sent_acks = VecDeque::new();
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
        self.received.pass(newest);
    }

    /// Bytes sent and not acknowledged.
    pub fn in_flight_bytes(&self) -> u32 {
        self.sent.values().map(|packet| packet.bytes).sum()
    }
}

/// Reordering tolerated in packets (RFC 9002 6.1.1; quinn-proto `TransportConfig::default`).
const PACKET_THRESHOLD: u32 = 3;

/// Packets that only acknowledge and are remembered at most: whoever sends nothing else may never
/// learn that they came (quinn-proto `PacketSpace::sent`, which counts those since the last that
/// asked alone).
const SENT_ACKS_MAX: usize = 1000;

/// Numbers that rests use up at most, so that some are left: a connection has 2^62, not 2^32, and
/// beyond 2^30 none is longer.
const PASSED_NUMBERS_MAX: u32 = 1 << 31;

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
    fn an_acknowledgement_says_what_it_confirms_and_whether_its_largest_is_news() {
        let mut space = sent(5);
        let acked = space.on_ack(&ack(&[(0, 1), (2, 4)]));
        assert_eq!(acked.largest_sent_s, Some(0.030));
        assert_eq!(streams(&acked.packets), [0, 2, 3].map(Record::Finish));
        let acked = space.on_ack(&ack(&[(0, 4)]));
        assert_eq!(acked.largest_sent_s, None, "3 was confirmed before");
        assert_eq!(streams(&acked.packets), [Record::Finish(1)]);
        assert!(acked.is_news && !space.on_ack(&ack(&[(0, 4)])).is_news);
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
            far.received.on_received(number, true, 1.0);
        }
        for count in [1 << 30, 1 << 31, 5] {
            near.pass(count);
            far.pass(count);
        }
        let (number, _) = near.numbers();
        assert_eq!(number, PASSED_NUMBERS_MAX);
        assert!(far.received.on_received(number, true, 2.0));
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
        let acked = space.on_ack(&ack(&[(2, 3)])).packets;
        assert_eq!(streams(&acked), [Record::Finish(2)], "the probe's now");
        assert_eq!(space.in_flight_bytes(), 200);
    }

    #[test]
    fn what_the_peer_knows_is_not_acknowledged_again() {
        let mut space = Space::new();
        for number in [0, 1, 3] {
            space.received.on_received(number, true, 1.0);
        }
        let said = space.received.take_ack(1.0).expect("one is missing");
        assert_eq!(said.ranges, [(0, 2), (3, 4)]);
        space.on_sent(vec![Record::Finish(0)], Some(&said), 100, 1.0);
        space.on_ack(&ack(&[(0, 1)]));
        space.received.pause_bundling(1.0);
        let nothing = space.received.bundled_ack(100, 1.0);
        assert!(nothing.is_none(), "nothing is left");
        space.received.on_received(4, true, 2.0);
        let more = space.received.bundled_ack(100, 2.0).expect("that is news");
        assert_eq!(more.ranges, [(4, 5)]);
    }

    #[test]
    fn what_only_acknowledges_is_confirmed_too_unless_it_is_lost() {
        let mut space = Space::new();
        space.received.on_received(0, true, 1.0);
        space.received.on_received(2, true, 1.0);
        let said = space.received.take_ack(1.0).expect("one is missing");
        for time_s in [1.0, 1.1] {
            space.on_sent(Vec::new(), Some(&said), 40, time_s);
        }
        assert!(!space.is_waiting(), "nobody owes an answer");
        space.received.on_received(3, true, 2.0);
        let acked = space.on_ack(&ack(&[(1, 2)]));
        assert!(acked.is_news && acked.packets.is_empty());
        assert_eq!(acked.largest_sent_s, Some(1.1));
        let more = space.received.bundled_ack(100, 2.0).expect("that is news");
        assert_eq!(more.ranges, [(3, 4)]);
        assert!(space.detect_lost(0.5, 2.0).is_empty());
        assert!(!space.on_ack(&ack(&[(0, 1)])).is_news, "it counted as lost");
        for _ in 0..SENT_ACKS_MAX + 9 {
            space.on_sent(Vec::new(), Some(&said), 40, 3.0);
        }
        assert_eq!(space.sent_acks.len(), SENT_ACKS_MAX + 1);
        space.on_ack(&ack(&[(500, 501)]));
        space.detect_lost(9.0, 3.0);
        let oldest = space.sent_acks.front().map(|one| one.number);
        assert_eq!(oldest, Some(498), "three later ones came, or their like");
    }

    #[test]
    fn acknowledgements_wait_with_data_for_the_window() {
        let mut space = Space::new();
        space.received.ack_due = true;
        assert!(space.may_send(false));
        space.pending.queue(Record::Finish(0));
        assert!(!space.may_send(false) && space.may_send(true));
        space.probes = 1;
        assert!(space.may_send(false));
    }
}
