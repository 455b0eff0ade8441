//! What is late: acknowledgements, losses and probes (RFC 9002).
//!
//! ECN is not modelled, nor that quinn takes a path for a black hole of large datagrams after four
//! bursts in which nothing but such was lost (quinn-proto `mtud::BlackHoleDetector`).

use super::connection::Connection;
use super::space::SentPacket;
use super::states::ConnectionState;
use super::timer::Timer;
use super::wire::{Ack, Level, Record};
use crate::contract::{Payload, Seconds};

impl<P: Payload> Connection<P> {
    /// The peer acknowledges packets of `level`.
    pub(super) fn on_ack(&mut self, level: Level, ack: &Ack, now: Seconds) {
        let Some(space) = &mut self.spaces[level as usize] else {
            return;
        };
        let acked = space.on_ack(ack);
        if !acked.is_news {
            return;
        }
        // Where nothing asked, nobody was in a hurry to answer.
        let largest_sent_s = acked.largest_sent_s.filter(|_| !acked.packets.is_empty());
        // Of Initials a server may have no proof that the client is where it says (quinn-proto
        // `Connection::peer_completed_address_validation`).
        if !self.dialler || level != Level::Initial {
            self.probe_count = 0;
        }
        for packet in acked.packets {
            let (bytes, sent_s) = (packet.bytes, packet.time_s);
            self.congestion
                .on_acknowledged(bytes, sent_s, &self.rtt, now);
            self.on_records_acknowledged(packet);
        }
        if let Some(sent_s) = largest_sent_s {
            self.take_round_trip(level, now - sent_s, ack.delay_s);
        }
        self.declare_losses(level, Some(ack), now);
    }

    fn take_round_trip(&mut self, level: Level, sample_s: Seconds, held_s: Seconds) {
        // What an end computes in the handshake is in the round trip (RFC 9002 5.3).
        let held_s = if level == Level::Data { held_s } else { 0.0 };
        self.rtt.update(sample_s, held_s.min(MAX_ACK_DELAY_S));
        if self.sampled_before.is_none() {
            let space = self.spaces[level as usize].as_ref();
            self.sampled_before = space.map(|space| (level, space.numbers().0));
        }
    }

    fn on_records_acknowledged(&mut self, packet: SentPacket) {
        for record in packet.records {
            match record {
                Record::Chunk(extent) => self.streams.on_acknowledged(extent),
                Record::MtuProbe => self.on_mtu_probe_acknowledged(),
                Record::Control(_) | Record::Finish(_) | Record::Credit { .. } => {}
            }
        }
    }

    /// Declares what is lost, by an acknowledgement or, without one, by time.
    fn declare_losses(&mut self, level: Level, ack: Option<&Ack>, now: Seconds) {
        let Some(space) = &mut self.spaces[level as usize] else {
            return;
        };
        let mut lost = space.detect_lost(self.rtt.loss_delay_s(), now);
        let persists = ack.is_some_and(|ack| self.persists(level, &lost, ack));
        let mut newest_s = None;
        lost.retain(|(_, packet)| {
            self.congestion.on_gone(packet.bytes);
            // It says nothing of congestion (RFC 8899, 3).
            let is_probe = packet.is_mtu_probe();
            match (is_probe, &mut self.path_management) {
                (true, Some(management)) => management.search.on_lost(),
                (true, None) => {}
                (false, _) => newest_s = Some(packet.time_s),
            }
            !is_probe
        });
        if let Some(newest_s) = newest_s {
            self.congestion.on_congestion(newest_s, persists, now);
        }
        if let Some(space) = &mut self.spaces[level as usize] {
            let records = lost.into_iter().flat_map(|(_, packet)| packet.records);
            space.pending.send_again(records.collect());
        }
    }

    /// Whether nothing passed for three probe timeouts: two of the lost packets are so far apart and
    /// none between them was confirmed (RFC 9002 7.6; quinn-proto `Connection::detect_lost_packets`).
    /// What asks for no acknowledgement counts as lost unless this one names it.
    fn persists(&self, level: Level, lost: &[(u32, SentPacket)], ack: &Ack) -> bool {
        let period_s = PERSISTENT_PROBE_TIMEOUTS * (self.rtt.probe_timeout_s() + MAX_ACK_DELAY_S);
        let mut since_s = None;
        let mut next = 0;
        lost.iter().any(|(number, packet)| {
            let mut ranges = ack.ranges.iter();
            if ranges.any(|range| range.0 < *number && next < range.1) {
                since_s = None;
            }
            next = number + 1;
            let sampled = self.sampled_before;
            let is_sampled = sampled.is_some_and(|first| first < (level, *number));
            match since_s {
                _ if packet.is_mtu_probe() => false,
                Some(since_s) => packet.time_s - since_s > period_s,
                None => {
                    since_s = is_sampled.then_some(packet.time_s);
                    false
                }
            }
        })
    }

    /// A packet is lost by time, or the peer is silent for too long.
    pub(super) fn on_recovery_timer(&mut self, now: Seconds) {
        self.asked_s = None; // What comes next is no sign of a rhythm.
        let mut any_lost = false;
        for level in Level::ALL {
            let space = self.spaces[level as usize].as_ref();
            if space.is_some_and(|space| space.loss_s <= now) {
                self.declare_losses(level, None, now);
                any_lost = true;
            }
        }
        if !any_lost {
            self.probe();
        }
    }

    /// Lets packets leave, whatever the window says: two, or one of a client that has nothing in
    /// flight (quinn-proto `Connection::on_loss_detection_timeout`).
    fn probe(&mut self) {
        self.probe_count += 1;
        let (level, count) = match self.waiting_level() {
            Some(level) => (level, PROBE_PACKETS),
            None => (Level::Initial, 1),
        };
        self.probe_level(level, count);
        // The server's flight spans two levels and one datagram, and is repeated as such.
        let flight = &self.spaces[Level::Handshake as usize];
        if level == Level::Initial && flight.as_ref().is_some_and(|space| space.is_waiting()) {
            self.probe_level(Level::Handshake, count);
        }
    }

    fn probe_level(&mut self, level: Level, count: u32) {
        if let Some(space) = &mut self.spaces[level as usize] {
            space.probes = space.probes.saturating_add(count);
        }
    }

    /// Sets the timer of the next loss or probe (RFC 9002 6.2.1); a server that may send nothing
    /// does not probe before it hears from the client (6.2.2.1).
    pub(super) fn set_recovery_timer(&mut self, now: Seconds) {
        let losses = self.spaces.iter().flatten().map(|space| space.loss_s);
        let loss_s = losses.fold(Seconds::INFINITY, Seconds::min);
        let at = if loss_s.is_finite() {
            loss_s
        } else if self.may_amplify() {
            self.probe_time_s(now)
        } else {
            Seconds::INFINITY
        };
        self.timers.set(Timer::Recovery, at);
    }

    fn probe_time_s(&self, now: Seconds) -> Seconds {
        let backoff = 2f64.powi(self.probe_count.min(BACKOFF_EXPONENT_MAX) as i32);
        if let Some(level) = self.waiting_level() {
            let held_s = if level == Level::Data {
                MAX_ACK_DELAY_S
            } else {
                0.0
            };
            let space = self.spaces[level as usize].as_ref();
            let sent_s = space.map_or(now, |space| space.last_sent_s);
            return sent_s + (self.rtt.probe_timeout_s() + held_s) * backoff;
        }
        // A client whose flight is acknowledged but not answered must keep the
        // server's amplification limit open (RFC 9002 6.2.2.1).
        let may_deadlock =
            self.dialler && self.state() == ConnectionState::Handshaking && !self.answered;
        match may_deadlock {
            true => now + self.rtt.probe_timeout_s() * backoff,
            false => Seconds::INFINITY,
        }
    }

    /// The first space in which an acknowledgement is missing; data counts only
    /// when the peer can read it.
    fn waiting_level(&self) -> Option<Level> {
        let waits = |level: &Level| {
            let space = self.spaces[*level as usize].as_ref();
            (*level < Level::Data || self.confirmed)
                && space.is_some_and(|space| space.is_waiting())
        };
        Level::ALL.into_iter().find(waits)
    }
}

/// max_ack_delay of both ends (RFC 9000 18.2; quinn-proto `TransportParameters`).
pub(super) const MAX_ACK_DELAY_S: Seconds = 0.025;

/// kPersistentCongestionThreshold (RFC 9002 7.6.1; quinn-proto `TransportConfig::default`).
const PERSISTENT_PROBE_TIMEOUTS: Seconds = 3.0;

/// Packets per probe timeout (RFC 9002 6.2.4; quinn-proto
/// `Connection::on_loss_detection_timeout`).
const PROBE_PACKETS: u32 = 2;

/// Probe timeouts double up to 2^16 (quinn-proto `Connection::pto_time_and_space`).
const BACKOFF_EXPONENT_MAX: u32 = 16;

#[cfg(test)]
mod tests {
    use super::super::states::ConnectionEvent::{Close, Drain, Finish, Launch, PeerClose};
    use super::super::streams::tests::Bytes;
    use super::super::wire::{ConnectionId, Content, Control, Frame};
    use super::*;
    use crate::contract::{Datagram, Lane, MessageId, NodeId, Output};
    use crate::transport::TransportConfig;

    /// A connection in its handshake; nothing is in flight.
    fn handshaking(dialler: bool, config: &TransportConfig) -> Connection<Bytes> {
        let (node, peer) = (NodeId(0), NodeId(1));
        let id = ConnectionId {
            dialler: if dialler { node } else { peer },
            number: 0,
        };
        let message = dialler.then(|| MessageId::new(node, 0));
        let mut connection = Connection::new(id, peer, Lane(16), message, config);
        if dialler {
            connection.happen(Launch);
        }
        connection
    }

    fn client() -> Connection<Bytes> {
        handshaking(true, &TransportConfig::default())
    }

    /// Ready for data, its handshake acknowledged, though perhaps not confirmed.
    fn established() -> Connection<Bytes> {
        let mut connection = client();
        connection.happen(Finish);
        connection
    }

    /// A server that may send no more before it hears from its client.
    fn blocked() -> Connection<Bytes> {
        let mut server = handshaking(false, &TransportConfig::default());
        (server.received_bytes, server.sent_bytes) = (1200, 3600);
        server
    }

    /// Packets of 100 bytes of `level` leave, one every 10 ms from `first_s` on.
    fn send(connection: &mut Connection<Bytes>, level: Level, count: u32, first_s: Seconds) {
        let space = connection.spaces[level as usize].as_mut().expect("kept");
        for number in 0..count {
            let at = first_s + 0.010 * f64::from(number);
            space.on_sent(vec![Record::Finish(number)], None, 100, at);
            connection.congestion.on_sent(100);
        }
    }

    fn ack(first: u32, end: u32, delay_s: Seconds) -> Ack {
        Ack {
            delay_s,
            ranges: vec![(first, end)],
        }
    }

    #[test]
    fn the_recovery_timer_is_that_of_losses_or_of_probes_or_of_a_client_that_waits() {
        type Make = fn() -> Connection<Bytes>;
        // What is there at 5 s, and when the timer fires.
        let cases: [(&str, Make, Option<Seconds>); 9] = [
            ("nothing is in flight", established, None),
            ("a flight is", with_flight, Some(1.0 + 0.999)),
            ("and was probed for", probed_flight, Some(1.0 + 8.0 * 0.999)),
            ("a packet counts as lost first", lossy_flight, Some(1.5)),
            ("no data the peer cannot read", with_data, None),
            ("data that it can", confirmed, Some(1.0 + 0.999 + 0.025)),
            ("a client may be all that moves", client, Some(5.0 + 0.999)),
            ("it has the flight", answered, None),
            ("a server that may send nothing", blocked_flight, None),
        ];
        for (what, make, due_s) in cases {
            let mut connection = make();
            connection.set_recovery_timer(5.0);
            let at = connection.timers.next().map(|(at, _)| at);
            let is_due = match (at, due_s) {
                (Some(at), Some(due_s)) => (at - due_s).abs() < 1e-9,
                (at, due_s) => at == due_s,
            };
            assert!(is_due, "{what}: {at:?}");
        }
    }

    fn with_flight() -> Connection<Bytes> {
        let mut connection = client();
        send(&mut connection, Level::Initial, 1, 1.0);
        connection
    }

    fn probed_flight() -> Connection<Bytes> {
        let mut connection = with_flight();
        connection.probe_count = 3;
        connection
    }

    fn lossy_flight() -> Connection<Bytes> {
        let mut connection = with_flight();
        let space = connection.spaces[Level::Initial as usize].as_mut();
        space.expect("kept").loss_s = 1.5;
        connection
    }

    fn with_data() -> Connection<Bytes> {
        let mut connection = established();
        send(&mut connection, Level::Data, 1, 1.0);
        connection
    }

    fn confirmed() -> Connection<Bytes> {
        let mut connection = with_data();
        connection.confirmed = true;
        connection
    }

    fn answered() -> Connection<Bytes> {
        let mut connection = client();
        connection.answered = true;
        connection
    }

    fn blocked_flight() -> Connection<Bytes> {
        let mut connection = blocked();
        send(&mut connection, Level::Handshake, 1, 1.0);
        connection
    }

    #[test]
    fn an_acknowledgement_of_something_ends_the_backoff() {
        let mut connection = probed_flight();
        connection.on_ack(Level::Initial, &ack(7, 8, 0.0), 2.0);
        assert_eq!(connection.probe_count, 3, "of nothing that was sent");
        connection.on_ack(Level::Initial, &ack(0, 1, 0.0), 2.0);
        assert_eq!(connection.probe_count, 3, "which proves no address");
        send(&mut connection, Level::Handshake, 1, 2.0);
        connection.discard(Level::Initial);
        assert_eq!(connection.probe_count, 3, "as in quinn");
        connection.on_ack(Level::Handshake, &ack(0, 1, 0.0), 2.0);
        assert_eq!(connection.probe_count, 0);
    }

    #[test]
    fn what_the_peer_held_an_acknowledgement_is_no_round_trip_up_to_25_ms() {
        for (delay_s, counted_s) in [(0.0, 0.0), (0.015, 0.015), (0.080, 0.025)] {
            let mut connection = established();
            send(&mut connection, Level::Data, 2, 0.0);
            connection.on_ack(Level::Data, &ack(0, 1, 0.0), 0.100);
            // Packet 1 left 10 ms later.
            connection.on_ack(Level::Data, &ack(1, 2, delay_s), 0.010 + 0.200);
            let due_s = 0.875 * 0.100 + 0.125 * (0.200 - counted_s);
            assert!(
                (connection.rtt.smoothed_s() - due_s).abs() < 1e-12,
                "{delay_s}"
            );
        }
    }

    #[test]
    fn what_is_lost_is_queued_again() {
        let mut connection = established();
        send(&mut connection, Level::Data, 5, 0.0);
        let ping = Record::Control(Control::Ping);
        connection.queue(Level::Data, ping);
        // A round trip of a second: none is lost by time.
        connection.on_ack(Level::Data, &ack(4, 5, 0.0), 1.040);
        let space = connection.spaces[Level::Data as usize].as_ref();
        let due = [ping, Record::Finish(0), Record::Finish(1)];
        assert_eq!(space.expect("kept").pending, due);
    }

    /// The window after packets that left so late were lost, and one after them is confirmed.
    fn window_after(sent_s: &[f64], acked: &[(u32, u32)]) -> u64 {
        let mut connection = established();
        for number in 0..2 {
            let at = f64::from(number) * 0.1;
            send(&mut connection, Level::Data, 1, at);
            connection.on_ack(Level::Data, &ack(number, number + 1, 0.0), at + 0.001);
        }
        for &sent_s in sent_s {
            send(&mut connection, Level::Data, 1, sent_s);
        }
        let last_s = sent_s.last().expect("some");
        let largest = sent_s.len() as u32 + 2;
        let ack_s = last_s + 0.010;
        send(&mut connection, Level::Data, 1, ack_s);
        let mut ranges = acked.to_vec();
        ranges.push((largest, largest + 1));
        let said = Ack {
            delay_s: 0.0,
            ranges,
        };
        connection.on_ack(Level::Data, &said, ack_s + 0.001);
        connection.congestion.window_bytes()
    }

    #[test]
    fn congestion_persists_if_nothing_passed_for_three_probe_timeouts() {
        // 1 ms with a deviation of at most as much, and 25 ms that the peer may wait: some 28 ms.
        let (once, anew) = (8400, 2400);
        assert_eq!(window_after(&[1.0, 1.1], &[]), anew);
        assert_eq!(window_after(&[1.0, 1.05], &[]), once, "not so long");
        assert_eq!(window_after(&[1.0, 1.05, 1.1], &[]), anew);
        assert_eq!(
            window_after(&[1.0, 1.05, 1.1], &[(3, 4)]),
            once,
            "one passed"
        );
    }

    #[test]
    fn what_is_forgotten_with_its_space_is_not_in_flight() {
        let mut connection = client();
        send(&mut connection, Level::Initial, 120, 0.0);
        assert!(!connection.congestion.allows());
        connection.discard(Level::Initial);
        assert!(connection.congestion.allows());
    }

    #[test]
    fn silence_ends_a_connection_after_three_probe_timeouts_at_least() {
        for (idle_timeout_s, due_s) in [(30.0, 30.0), (1.0, 3.0 * 0.999)] {
            let config = TransportConfig {
                idle_timeout_s,
                ..TransportConfig::default()
            };
            let mut connection = handshaking(true, &config);
            connection.reset_idle(10.0);
            let (at, timer) = connection.timers.next().expect("it is set");
            assert!(
                (at - 10.0 - due_s).abs() < 1e-9 && timer == Timer::Idle,
                "{at}"
            );
        }
    }

    /// How many times it says, for a late packet, that the connection is closed.
    fn closes(connection: &mut Connection<Bytes>) -> usize {
        let mut out = Vec::new();
        connection.on_packets(Vec::new(), 100, true, 10.1, &mut out);
        let is_close = |output: &&Output<Datagram<super::super::QuicDatagram<Bytes>>, _, _>| {
            let Output::Send { message, .. } = output else {
                return false;
            };
            let Content::Packets(packets) = &message.body.content else {
                return false;
            };
            packets.iter().any(|packet| packet.frames == [Frame::Close])
        };
        out.iter().filter(is_close).count()
    }

    #[test]
    fn who_has_closed_answers_late_packets_for_three_probe_timeouts() {
        for (event, answers) in [(Close, 1), (PeerClose, 0)] {
            let mut connection = established();
            match event {
                Close => connection.close(10.0, &mut Vec::new()),
                _ => connection.on_peer_close(10.0, &mut Vec::new()),
            }
            assert_eq!(closes(&mut connection), answers, "{event:?}");
            let (at, timer) = connection.timers.next().expect("it is set");
            assert_eq!(timer, Timer::Drain);
            assert!((at - 10.0 - 3.0 * (0.999 + 0.025)).abs() < 1e-9, "{at}");
            connection.happen(Drain);
            assert_eq!(closes(&mut connection), 0, "it is gone");
        }
    }
}
