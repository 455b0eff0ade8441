//! What time does to a connection: silence, signs of life, endings.

use super::connection::Connection;
use super::recovery::MAX_ACK_DELAY_S;
use super::states::{ConnectionEvent, ConnectionState};
use super::timer::Timer;
use super::wire::{Content, Control, Level, Record, DISCO_PING_BYTES};
use super::Out;
use crate::contract::{work, EventKind, Operation, Path, Payload, Reason, Seconds};
use crate::transport::ConnectionMode;

impl<P: Payload> Connection<P> {
    /// Handles the timers that are due.
    pub fn on_timer(&mut self, now: Seconds, out: &mut Out<P>) {
        self.timer_posted = false;
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Recovery => self.on_recovery_timer(now),
                Timer::AckDelay => self.acknowledge_data(),
                Timer::KeepAlive => self.ping(now),
                Timer::Disco => self.probe_direct_path(now, out),
                Timer::Connect => self.abandon(Reason::ConnectTimeout, out),
                Timer::Idle => self.abandon(Reason::IdleTimeout, out),
                Timer::Drain => self.happen(ConnectionEvent::Drain),
                Timer::Pacing => {}
            }
        }
        self.flush(now, out);
    }

    /// A sign of life that asks for one.
    fn ping(&mut self, now: Seconds) {
        self.queue(Level::Data, Record::Control(Control::Ping));
        self.asked_s = Some(now);
    }

    pub(super) fn acknowledge_data(&mut self) {
        if let Some(space) = &mut self.spaces[Level::Data as usize] {
            space.received.ack_due = true;
        }
    }

    /// The peer is alive (RFC 9000 10.1).
    pub fn heard(&mut self, now: Seconds) {
        self.asked = false;
        self.reset_idle(now);
        self.reset_keep_alive(now + TIE_S);
    }

    /// A packet left or came, of whatever kind: the next sign of life is due so long after it
    /// (quinn-proto `Connection::reset_keep_alive`, which `on_packet_authenticated` and
    /// `PacketBuilder::finish_and_track` call).
    pub(super) fn reset_keep_alive(&mut self, now: Seconds) {
        if self.config.keep_alive_s > 0.0 && self.state() == ConnectionState::Established {
            let due_s = now + self.config.keep_alive_s;
            self.timers.set(Timer::KeepAlive, due_s);
        }
    }

    /// The idle time starts again.
    pub fn reset_idle(&mut self, now: Seconds) {
        let timeout_s = self
            .config
            .idle_timeout_s
            .max(3.0 * self.rtt.probe_timeout_s());
        self.timers.set(Timer::Idle, now + timeout_s);
    }

    /// Looks whether the direct path works, now and with every heartbeat.
    pub(super) fn probe_direct_path(&mut self, now: Seconds, out: &mut Out<P>) {
        if !self.config.relay_first {
            return;
        }
        self.timers.set(Timer::Disco, now + DISCO_HEARTBEAT_S);
        work(out, Operation::PacketSeal, DISCO_PING_BYTES);
        self.send(Content::DiscoPing, DISCO_PING_BYTES, Path::Direct, out);
    }

    /// Stays for a while after the end, to answer or swallow late packets.
    pub(super) fn linger(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.dialler {
            self.observe(EventKind::Disconnect, None, out);
        }
        let probe_timeout_s = self.rtt.probe_timeout_s() + MAX_ACK_DELAY_S;
        self.timers.stop_all();
        self.timers
            .set(Timer::Drain, now + DRAIN_PROBE_TIMEOUTS * probe_timeout_s);
    }

    /// Forgets the connection without a word to the peer.
    pub(super) fn abandon(&mut self, reason: Reason, out: &mut Out<P>) {
        self.give_up(reason, out);
        if self.dialler {
            self.observe(EventKind::Disconnect, Some(reason), out);
            if self.config.mode == ConnectionMode::Reconnect {
                work(out, Operation::EndpointClose, 0);
            }
        }
        self.timers.stop_all();
        self.happen(ConnectionEvent::Expire);
    }
}

/// How long a closed connection answers late packets (RFC 9000 10.2; quinn-proto
/// `Connection::set_close_timer`).
const DRAIN_PROBE_TIMEOUTS: f64 = 3.0;

/// How much later a ping is due after what came than after what left. On equal ways the peer, whose
/// acknowledgement was the last word, pings so that its ping comes just when this end would: it
/// comes first, as quinn handles what came before what is due (quinn 0.11 `ConnectionDriver::poll`).
/// Longer than the rounding of dates in a run of a century.
const TIE_S: Seconds = 1e-6;

/// Between disco pings of an open connection (iroh 0.35 magicsock.rs:99).
pub(super) const DISCO_HEARTBEAT_S: Seconds = 5.0;
