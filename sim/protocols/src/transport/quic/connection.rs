//! One QUIC connection: its state, its life cycle and its timers.
//!
//! Which states it goes through is a table ([`super::states`]).
//!
//! How packets are taken apart is in `receive`, what came of a space in `received`, how they are put
//! together in `flush`, what is late in `recovery`, what it does for its path in `path`, what silence does in
//! `upkeep`. What a connection is for - one message or
//! all of them, which peer's it is - is decided by the transport above.

use super::congestion::{Congestion, Rtt};
use super::pacing::Pacer;
use super::path::PathManagement;
use super::rest::Rest;
use super::space::Space;
use super::states::ConnectionEvent::{Accept, Close, Dial, Finish, Launch, PeerClose};
use super::states::{ConnectionEvent, ConnectionState, CONNECTION};
use super::streams::Streams;
use super::timer::{Timer, TimerTable};
use super::wire::{ConnectionId, Content, Control, Half, Level, QuicDatagram, Record};
use super::{Out, Request, Step};
use crate::contract::{
    work, Datagram, Delivery, Event, EventKind, Lane, MessageId, NodeId, Operation, Output, Path,
    Payload, Reason, Seconds,
};
use crate::transport::{ConnectionMode, TransportConfig};

/// State of one connection at one end.
#[derive(Clone, Debug)]
pub(super) struct Connection<P> {
    pub id: ConnectionId,
    pub peer: NodeId,
    pub dialler: bool,
    /// Where packets are handled; the next lane is the app's task for its streams.
    pub lane: Lane,
    state: ConnectionState,
    /// Until when the direct path is used, infinite for ever; on the relay this is past.
    pub direct_until_s: Seconds,
    pub streams: Streams<P>,
    pub timers: TimerTable,
    /// Whether a timer's step is queued on the lane already.
    pub timer_posted: bool,
    /// Datagrams that are queued on the lane, and how many of them are left of those that are
    /// handled together.
    queued: u32,
    together: u32,
    /// Streams opened from this time on are never accepted.
    pub unserved_from_s: Seconds,
    pub(super) spaces: [Option<Box<Space>>; 3],
    pub(super) keys: Level,
    pub(super) rtt: Rtt,
    pub(super) congestion: Congestion,
    pub(super) pacer: Pacer,
    pub(super) probe_count: u32,
    /// The packet that was next when the first round trip was known.
    pub(super) sampled_before: Option<(Level, u32)>,
    /// The peer's first flight came.
    pub(super) answered: bool,
    /// That flight is being worked on.
    pub(super) busy: bool,
    /// The peer is known to have finished the handshake.
    pub(super) confirmed: bool,
    /// The peer's address is no forgery.
    pub(super) validated: bool,
    pub(super) received_bytes: u32,
    pub(super) sent_bytes: u32,
    /// Sent something that asks for an answer since the peer was last heard.
    pub(super) asked: bool,
    /// When this end last pinged, if nothing but signs of life has passed since.
    pub(super) asked_s: Option<Seconds>,
    /// Signs of life are not given, only reckoned.
    pub(super) rest: Option<Box<Rest>>,
    /// Where the implementation looks after paths.
    pub(super) path_management: Option<Box<PathManagement<P>>>,
    /// How often the end that dialled has migrated, as this end knows.
    pub(super) migrations: u32,
    pub(super) config: TransportConfig,
    first_message: MessageId,
}

impl<P: Payload> Connection<P> {
    /// A connection that `peer` dials, or that is dialled for `first_message`.
    pub fn new(
        id: ConnectionId,
        peer: NodeId,
        lane: Lane,
        first_message: Option<MessageId>,
        config: &TransportConfig,
    ) -> Self {
        let dialler = first_message.is_some();
        let space = || Some(Box::new(Space::new()));
        let (rtt, congestion) = (Rtt::new(config.initial_rtt_s), Congestion::new());
        Self {
            id,
            peer,
            dialler,
            lane,
            state: CONNECTION.next(None, if dialler { Dial } else { Accept }),
            direct_until_s: match config.relay_first {
                true => Seconds::NEG_INFINITY,
                false => Seconds::INFINITY,
            },
            streams: Streams::new(),
            timers: TimerTable::new(),
            timer_posted: false,
            queued: 0,
            together: 0,
            unserved_from_s: Seconds::INFINITY,
            spaces: [space(), space(), space()],
            keys: if dialler {
                Level::Initial
            } else {
                Level::Handshake
            },
            pacer: Pacer::new(congestion.window_bytes(), rtt.smoothed_s()),
            rtt,
            congestion,
            probe_count: 0,
            sampled_before: None,
            answered: false,
            busy: false,
            confirmed: false,
            validated: dialler,
            received_bytes: 0,
            sent_bytes: 0,
            asked: false,
            asked_s: None,
            rest: None,
            path_management: config
                .path_management
                .then(|| Box::new(PathManagement::new())),
            migrations: 0,
            config: *config,
            first_message: first_message.unwrap_or(MessageId::new(peer, 0)),
        }
    }

    /// Where it is in its life; only events change that.
    pub fn state(&self) -> ConnectionState {
        self.state
    }

    /// A datagram is queued on the lane.
    pub fn on_queued(&mut self) {
        self.queued += 1;
    }

    /// The next queued datagram is handled; whether it is the last of those that are together.
    ///
    /// quinn's endpoint reads what its socket holds, and the driver of a connection handles all that
    /// it is given before anything leaves (quinn 0.11 `ConnectionDriver::poll`). So it is those that
    /// were queued when the first of them was handled.
    pub fn takes_last(&mut self) -> bool {
        if self.together == 0 {
            // None is known of where it was queued for a connection of the same id that is gone.
            self.together = self.queued.max(1);
        }
        self.queued = self.queued.saturating_sub(1);
        self.together -= 1;
        self.together == 0
    }

    /// Goes where `event` leads.
    pub(super) fn happen(&mut self, event: ConnectionEvent) {
        self.state = CONNECTION.next(Some(self.state), event);
    }

    /// Whether messages may still be given to it.
    pub fn is_open(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::Preparing
                | ConnectionState::Handshaking
                | ConnectionState::Established
        )
    }

    /// Whether the handshake is still to be finished.
    pub fn is_dialling(&self) -> bool {
        matches!(
            self.state,
            ConnectionState::Preparing | ConnectionState::Handshaking
        )
    }

    /// Everything that did not reach the peer's app, with the peer.
    pub fn into_undelivered(mut self) -> impl Iterator<Item = (NodeId, Delivery<P>)> {
        let left = self.streams.give_up(Reason::SenderOff);
        left.into_iter()
            .map(move |(payload, reason)| (self.peer, Delivery::Failed { payload, reason }))
    }

    /// Asks the transport for `step` on the connection's lane.
    pub fn post(&self, step: Step<P>, out: &mut Out<P>) {
        let request = Request {
            connection: self.id,
            step,
        };
        out.push(Output::Post {
            lane: self.lane,
            request,
        });
    }

    /// Client: the first flight leaves.
    pub fn launch(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.state != ConnectionState::Preparing {
            return;
        }
        self.happen(Launch);
        self.heard(now);
        self.probe_direct_path(now, out);
        self.queue(Level::Initial, Record::Control(Control::ClientHello));
        self.flush(now, out);
    }

    /// Server: its only flight leaves.
    pub fn respond(&mut self, now: Seconds, out: &mut Out<P>) {
        self.busy = false;
        self.probe_direct_path(now, out);
        self.queue(Level::Initial, Record::Control(Control::ServerHello));
        self.queue(Level::Handshake, Record::Control(Control::ServerFlight));
        self.flush(now, out);
        if self.path_management.is_some() {
            // It has the keys already.
            self.keys = Level::Data;
            self.offer_connection_ids(now, out);
        }
    }

    /// Client: its second flight leaves, and messages may follow.
    pub fn proceed(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.state != ConnectionState::Handshaking {
            return;
        }
        self.busy = false;
        self.keys = Level::Handshake;
        self.queue(Level::Handshake, Record::Control(Control::ClientFinished));
        self.flush(now, out);
        self.discard(Level::Initial);
        self.establish(now, out);
        self.offer_connection_ids(now, out);
        self.open_streams(now, out);
        self.flush(now, out);
        for packet in self.take_early() {
            self.on_packet(packet, now, out);
        }
        self.flush(now, out);
    }

    /// Data may flow.
    pub fn establish(&mut self, now: Seconds, out: &mut Out<P>) {
        self.happen(Finish);
        self.keys = Level::Data;
        self.timers.stop(Timer::Connect);
        self.heard(now);
        if self.dialler {
            self.observe(EventKind::Connect, None, out);
        }
    }

    /// Opens streams for the messages that wait, as far as credit goes.
    pub fn open_streams(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.state != ConnectionState::Established {
            return;
        }
        while let Some(record) = self.streams.next_answer() {
            self.queue(Level::Data, record);
        }
        let served = now < self.unserved_from_s;
        while let Some(record) = self.streams.open_next(served) {
            work(out, Operation::StreamOpen, 0);
            self.queue(Level::Data, record);
        }
    }

    /// The task of a message that was handed to the connection runs.
    pub fn write(&mut self, now: Seconds, out: &mut Out<P>) {
        self.streams.write();
        self.send_ready(now, out);
    }

    /// Answers leave, and messages that were written, as far as the peer allows streams.
    pub fn send_ready(&mut self, now: Seconds, out: &mut Out<P>) {
        self.open_streams(now, out);
        self.flush(now, out);
    }

    /// The app is done with what came on a half of a stream.
    pub fn finish(&mut self, half: Half, now: Seconds, out: &mut Out<P>) {
        if self.state == ConnectionState::Established {
            if let Some(record) = self.streams.finish(half) {
                self.queue(Level::Data, record);
            }
            self.queue_credit();
            if self.dialler && self.config.mode == ConnectionMode::Reconnect {
                // What is closed next is acknowledged now: its sender would take it for lost.
                self.acknowledge_data();
            }
            self.flush(now, out);
            self.close_if_done(now, out);
        }
    }

    /// The app is done with the connection.
    pub fn close(&mut self, now: Seconds, out: &mut Out<P>) {
        self.happen(Close);
        self.send_close(now, out);
        self.linger(now, out);
        work(out, Operation::EndpointClose, 0);
    }

    /// The peer closed the connection.
    pub fn on_peer_close(&mut self, now: Seconds, out: &mut Out<P>) {
        self.happen(PeerClose);
        self.give_up(Reason::ConnectionLost, out);
        self.linger(now, out);
    }

    /// Tells the app what will not arrive.
    pub(super) fn give_up(&mut self, reason: Reason, out: &mut Out<P>) {
        for (payload, reason) in self.streams.give_up(reason) {
            let value = Delivery::Failed { payload, reason };
            out.push(Output::Deliver {
                from: self.peer,
                value,
            });
        }
    }

    /// One datagram to the peer.
    pub fn send(&self, content: Content<P>, bytes: u32, path: Path, out: &mut Out<P>) {
        work(out, Operation::UdpSend, bytes);
        let message = Datagram {
            udp_payload_bytes: bytes,
            path,
            // Its loss is repaired, so it is no message's loss.
            message: None,
            body: QuicDatagram {
                connection: self.id,
                content,
            },
        };
        out.push(Output::Send {
            to: self.peer,
            message,
        });
    }

    /// Queues `record` unless the space is gone; any record is as good as a PING.
    pub fn queue(&mut self, level: Level, record: Record) {
        if let Some(space) = &mut self.spaces[level as usize] {
            let only_asks = record.only_asks();
            if !only_asks {
                self.asked_s = None;
            }
            if !only_asks || space.pending.is_empty() {
                space.pending.queue(record);
            }
        }
    }

    /// Queues credit for streams, if some is owed (quinn-proto `StreamsState::queue_max_stream_id`).
    pub fn queue_credit(&mut self) {
        let Some(space) = &mut self.spaces[Level::Data as usize] else {
            return;
        };
        if self.streams.owes_credit() && !space.pending.has_credit() {
            let max_streams = 0; // as many as there are when it leaves
            space.pending.queue(Record::Credit { max_streams });
            self.asked_s = None;
        }
    }

    /// Forgets a packet number space whose keys are no longer needed (RFC 9001 4.9).
    pub fn discard(&mut self, level: Level) {
        if let Some(space) = self.spaces[level as usize].take() {
            self.congestion.on_gone(space.in_flight_bytes());
        }
    }

    /// Writes a row of the trace.
    pub(super) fn observe(&self, kind: EventKind, reason: Option<Reason>, out: &mut Out<P>) {
        out.push(Output::Observe(Event {
            kind,
            message: self.first_message,
            peer: self.peer,
            size_bytes: 0,
            reason,
        }));
    }
}
