//! The connections of one phone: where datagrams and timers find theirs.

use super::connection::Connection;
use super::states::ConnectionState;
use super::timer::Timer;
use super::wire::{ConnectionId, Content, Control, Frame, Packet, QuicDatagram, DISCO_PONG_BYTES};
use super::{Out, Quic, Step};
use crate::contract::{work, Datagram, Lane, NodeId, Operation, Output, Path, Payload, Seconds};
use crate::transport::ConnectionMode;

impl<P: Payload> Quic<P> {
    pub(super) fn next_lane(&mut self) -> Lane {
        let lane = Lane(Lane::FIRST_TASK + self.lanes);
        self.lanes = self.lanes.wrapping_add(2) % (u32::MAX - Lane::FIRST_TASK - 1);
        lane
    }

    /// Runs `change` on a connection and sees to what it leaves behind.
    pub(super) fn with(
        &mut self,
        id: ConnectionId,
        out: &mut Out<P>,
        now: Seconds,
        change: impl FnOnce(&mut Connection<P>, &mut Out<P>),
    ) {
        let Some(mut connection) = self.connections.remove(&id) else {
            return;
        };
        self.disarm(&connection);
        self.note_rest(&mut connection, now);
        change(&mut connection, out);
        for (half, payload) in std::mem::take(&mut connection.streams.arrived) {
            let app = Lane(connection.lane.0 + 1);
            self.inbox
                .arrive((id, half), connection.peer, app, payload, now, out);
        }
        match connection.state() {
            ConnectionState::Gone => {
                self.direct.remove(&connection.peer);
                self.asking.retain(|_, asking| asking.connection != id);
            }
            _ => {
                let silent = connection.rhythm().is_some();
                self.silent = silent.then(|| Self::conversation(&connection));
                self.keep(connection);
            }
        }
    }

    pub(super) fn keep(&mut self, connection: Box<Connection<P>>) {
        if let Some((at, timer)) = next_timer(&connection) {
            self.deadlines.set(at, (connection.id, timer));
        }
        self.connections.insert(connection.id, connection);
    }

    pub(super) fn disarm(&mut self, connection: &Connection<P>) {
        if let Some((at, timer)) = next_timer(connection) {
            self.deadlines.clear(at, (connection.id, timer));
        }
    }

    /// Packets go to their connection's lane.
    pub(super) fn dispatch(
        &mut self,
        from: NodeId,
        id: ConnectionId,
        packets: Vec<Packet<P>>,
        bytes: u32,
        out: &mut Out<P>,
    ) {
        let own_socket = self.has_own_socket(id);
        if !own_socket {
            work(out, Operation::UdpReceive, bytes);
        }
        if !self.connections.contains_key(&id) && !self.accept(from, id, &packets, out) {
            self.ignored += 1;
            return;
        }
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.on_queued();
            connection.post(Step::Packets(packets, bytes, own_socket), out);
        }
    }

    /// A datagram reached its lane; its connection may be gone by now.
    pub(super) fn on_packets(
        &mut self,
        id: ConnectionId,
        packets: Vec<Packet<P>>,
        bytes: u32,
        now: Seconds,
        out: &mut Out<P>,
    ) {
        work(out, Operation::PacketOpen, bytes);
        if !self.connections.contains_key(&id) {
            self.ignored += 1;
        }
        self.with(id, out, now, |connection, out| {
            let is_last = connection.takes_last();
            connection.on_packets(packets, bytes, is_last, now, out);
        });
    }

    /// Whether the connection is that of a message with its own endpoint.
    pub(super) fn has_own_socket(&self, id: ConnectionId) -> bool {
        id.dialler == self.node && self.config.mode == ConnectionMode::Reconnect
    }

    /// Makes the server's end of a connection, if `packets` begin one.
    pub(super) fn accept(
        &mut self,
        from: NodeId,
        id: ConnectionId,
        packets: &[Packet<P>],
        out: &mut Out<P>,
    ) -> bool {
        let is_hello = |frame: &Frame<P>| matches!(frame, Frame::Control(Control::ClientHello));
        let begins = |packet: &Packet<P>| packet.frames.iter().any(is_hello);
        if id.dialler != from || !packets.iter().any(begins) {
            return false;
        }
        let lane = self.next_lane();
        let mut connection = Connection::new(id, from, lane, None, &self.config);
        self.join_path(&mut connection);
        self.accepted.insert(from, id);
        self.keep(Box::new(connection));
        work(out, Operation::TaskSpawn, 0);
        true
    }

    /// Answers a probe of the direct path; that needs no connection.
    pub(super) fn pong(&self, to: NodeId, connection: ConnectionId, out: &mut Out<P>) {
        work(out, Operation::PacketSeal, DISCO_PONG_BYTES);
        work(out, Operation::UdpSend, DISCO_PONG_BYTES);
        let body = QuicDatagram {
            connection,
            content: Content::DiscoPong,
        };
        let message = Datagram {
            udp_payload_bytes: DISCO_PONG_BYTES,
            path: Path::Direct,
            message: None,
            body,
        };
        out.push(Output::Send { to, message });
    }

    pub(super) fn on_pong(&mut self, from: NodeId, id: ConnectionId, now: Seconds) {
        if let Some(connection) = self.connections.get_mut(&id) {
            let until_s = now + self.config.path_trust_s;
            connection.direct_until_s = until_s;
            // A single message's endpoint dies with its socket, and so do its paths.
            if self.config.mode == ConnectionMode::Keep {
                self.direct.insert(from, until_s);
            }
        }
    }

    /// A new connection takes the direct path if that answered another of the same peers.
    pub(super) fn join_path(&self, connection: &mut Connection<P>) {
        if let Some(&until_s) = self.direct.get(&connection.peer) {
            connection.direct_until_s = connection.direct_until_s.max(until_s);
        }
    }
}

/// The timer to wake for; none while its step is queued already, or at rest.
pub(super) fn next_timer<P>(connection: &Connection<P>) -> Option<(Seconds, Timer)> {
    match connection.timer_posted || connection.rest.is_some() {
        true => None,
        false => connection.timers.next(),
    }
}
