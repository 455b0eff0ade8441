//! Taking datagrams of a connection apart.

use super::connection::Connection;
use super::recovery::MAX_ACK_DELAY_S;
use super::states::ConnectionState;
use super::timer::Timer;
use super::wire::{Control, Frame, Level, Packet, Record};
use super::Step;
use crate::contract::{work, Operation, Payload, Seconds};
use crate::transport::ConnectionMode;

impl<P: Payload> Connection<P> {
    /// A datagram of this connection reached its lane; what it asks for leaves with the last of those
    /// that are handled together.
    pub fn on_packets(
        &mut self,
        packets: Vec<Packet<P>>,
        bytes: u32,
        is_last: bool,
        now: Seconds,
        out: &mut super::Out<P>,
    ) {
        self.received_bytes = self.received_bytes.saturating_add(bytes);
        match self.state() {
            // One word of it for all that were handled together.
            ConnectionState::Closing if is_last => return self.send_close(now, out),
            ConnectionState::Closing => return,
            ConnectionState::Draining | ConnectionState::Gone => return,
            ConnectionState::Preparing
            | ConnectionState::Handshaking
            | ConnectionState::Established => self.heard(now),
        }
        for packet in packets {
            self.on_packet(packet, now, out);
        }
        if !is_last {
            return;
        }
        // What is due leaves before the app learns that it may open streams.
        self.flush(now, out);
        self.send_ready(now, out);
        self.close_if_done(now, out);
    }

    /// A connection of one message ends when that message is acknowledged, and answered if its
    /// answer comes back on it.
    pub(super) fn close_if_done(&mut self, now: Seconds, out: &mut super::Out<P>) {
        let single = self.dialler && self.config.mode == ConnectionMode::Reconnect;
        let waits = self.config.answer_on_same_connection && !self.streams.has_served();
        let done = self.streams.is_idle() && !waits;
        if single && self.state() == ConnectionState::Established && done {
            self.close(now, out);
        }
    }

    pub(super) fn on_packet(&mut self, packet: Packet<P>, now: Seconds, out: &mut super::Out<P>) {
        // Data that overtook the handshake cannot be read (RFC 9001 5.7).
        if !self.is_open() {
            return;
        }
        if packet.level == Level::Data && self.state() != ConnectionState::Established {
            return self.keep_early(packet);
        }
        let Some(space) = &mut self.spaces[packet.level as usize] else {
            return;
        };
        let is_new = space
            .received
            .on_received(packet.number, !packet.frames.is_empty(), now);
        if !is_new {
            return;
        }
        match packet.level {
            Level::Data if space.received.owes_ack() && !self.timers.is_set(Timer::AckDelay) => {
                self.timers.set(Timer::AckDelay, now + MAX_ACK_DELAY_S);
            }
            Level::Data => {}
            Level::Initial | Level::Handshake => {
                space.received.ack_due = space.received.owes_ack();
            }
        }
        if packet.level == Level::Handshake && !self.dialler {
            self.validated = true;
            self.discard(Level::Initial);
        }
        if let Some(ack) = &packet.ack {
            self.on_ack(packet.level, ack, now);
        }
        for frame in packet.frames {
            self.on_frame(frame, now, out);
        }
        if packet.level == Level::Data {
            self.queue_credit();
        }
    }

    fn on_frame(&mut self, frame: Frame<P>, now: Seconds, out: &mut super::Out<P>) {
        if !matches!(frame, Frame::Control(Control::Ping | Control::ImmediateAck)) {
            self.asked_s = None;
        }
        match frame {
            Frame::Control(control) => self.on_control(control, now, out),
            Frame::Chunk {
                extent,
                served,
                payload,
            } => {
                self.streams.on_chunk(extent, served, payload);
            }
            Frame::Finish { max_streams, .. } | Frame::Credit(max_streams) => {
                self.streams.on_credit(max_streams);
            }
            Frame::MtuProbe => self.acknowledge_data(),
            Frame::Close => self.on_peer_close(now, out),
        }
    }

    fn on_control(&mut self, control: Control, now: Seconds, out: &mut super::Out<P>) {
        match control {
            Control::ClientHello if !self.answered => {
                self.answer(Operation::HandshakeRespond, Step::Respond, out);
            }
            Control::ServerFlight if !self.answered => {
                self.answer(Operation::HandshakeFinish, Step::Proceed, out);
            }
            Control::ClientFinished if self.state() == ConnectionState::Handshaking => {
                work(out, Operation::HandshakeConfirm, 0);
                self.confirmed = true;
                self.discard(Level::Handshake);
                self.establish(now, out);
                self.open_streams(now, out);
                self.queue(Level::Data, Record::Control(Control::HandshakeDone));
                if self.path_management.is_some() {
                    self.queue(Level::Data, Record::Control(Control::SessionTickets));
                }
            }
            Control::HandshakeDone => {
                self.confirmed = true;
                self.discard(Level::Handshake);
            }
            Control::NewConnectionIds(_) if !self.dialler => self.renew_connection_id(),
            Control::RetireConnectionId => self.renew_connection_id(),
            Control::ImmediateAck => self.acknowledge_data(),
            Control::Migrate(number) => self.on_migrated(number),
            Control::PathChallenge => {
                self.queue(Level::Data, Record::Control(Control::PathResponse))
            }
            // ServerHello always comes with the flight; PING asks only for an
            // acknowledgement; everything else is a repetition.
            _ => {}
        }
    }

    /// Works on the peer's flight; nothing leaves before that is done.
    fn answer(&mut self, operation: Operation, then: Step<P>, out: &mut super::Out<P>) {
        self.answered = true;
        self.busy = true;
        work(out, operation, 0);
        self.post(then, out);
    }
}
