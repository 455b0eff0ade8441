//! What is late: acknowledgements, losses and probes (RFC 9002).
//!
//! A probe repeats the two oldest packets, as quinn does, but pads no second one
//! with a PING; persistent congestion and ECN are not modelled.

use super::connection::Connection;
use super::space::SentPacket;
use super::states::ConnectionState;
use super::timer::Timer;
use super::wire::{Ack, Control, Level, Record};
use crate::contract::{Payload, Seconds};

impl<P: Payload> Connection<P> {
    /// The peer acknowledges packets of `level`.
    pub(super) fn on_ack(&mut self, level: Level, ack: &Ack, now: Seconds) {
        let Some(space) = &mut self.spaces[level as usize] else {
            return;
        };
        let (packets, newest) = space.on_ack(ack);
        let Some(latest) = packets.last() else {
            return;
        };
        if newest {
            let ack_delay_s = ack.delay_s.min(MAX_ACK_DELAY_S);
            self.rtt.update(now - latest.time_s, ack_delay_s);
        }
        self.probe_count = 0;
        for packet in packets {
            let (bytes, sent_s) = (packet.bytes, packet.time_s);
            self.congestion
                .on_acknowledged(bytes, sent_s, &self.rtt, now);
            self.on_records_acknowledged(packet);
        }
        self.declare_losses(level, now);
    }

    fn on_records_acknowledged(&mut self, packet: SentPacket) {
        for record in packet.records {
            if let Record::Chunk(extent) = record {
                self.streams.on_acknowledged(extent);
            }
        }
    }

    fn declare_losses(&mut self, level: Level, now: Seconds) {
        let Some(space) = &mut self.spaces[level as usize] else {
            return;
        };
        let lost = space.detect_lost(self.rtt.loss_delay_s(), now);
        for packet in lost.into_iter().rev() {
            self.congestion.on_lost(packet.bytes, packet.time_s, now);
            space.send_again(packet.records);
        }
    }

    /// A packet is lost by time, or the peer is silent for too long.
    pub(super) fn on_recovery_timer(&mut self, now: Seconds) {
        let mut any_lost = false;
        for level in Level::ALL {
            let space = self.spaces[level as usize].as_ref();
            if space.is_some_and(|space| space.loss_s <= now) {
                self.declare_losses(level, now);
                any_lost = true;
            }
        }
        if !any_lost {
            self.probe();
        }
    }

    /// Sends the oldest data again, or a PING, whatever the window says.
    fn probe(&mut self) {
        self.probe_count += 1;
        let Some(first) = self.waiting_level() else {
            return self.probe_level(Level::Initial);
        };
        self.probe_level(first);
        // The server's flight spans two levels and one datagram.
        let flight = &self.spaces[Level::Handshake as usize];
        if first == Level::Initial && flight.as_ref().is_some_and(|space| space.is_waiting()) {
            self.probe_level(Level::Handshake);
        }
    }

    fn probe_level(&mut self, level: Level) {
        let Some(space) = &mut self.spaces[level as usize] else {
            return;
        };
        let mut records = space.take_oldest_records();
        records.extend(space.take_oldest_records());
        if records.is_empty() && space.pending.is_empty() {
            records.push(Record::Control(Control::Ping));
        }
        space.send_again(records);
        space.probes = PROBE_PACKETS;
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
            self.dialler && self.state == ConnectionState::Handshaking && !self.answered;
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

/// Packets per probe timeout (RFC 9002 6.2.4; quinn-proto
/// `Connection::on_loss_detection_timeout`).
const PROBE_PACKETS: u32 = 2;

/// Probe timeouts double up to 2^16 (quinn-proto `Connection::pto_time_and_space`).
const BACKOFF_EXPONENT_MAX: u32 = 16;
