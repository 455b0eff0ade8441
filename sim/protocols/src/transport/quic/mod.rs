//! QUIC as quinn and iroh 0.35 do it, as far as sizes, times and work go.
//!
//! A message is a bidirectional stream of its own. In [`ConnectionMode::Reconnect`]
//! every message makes an endpoint, finds the peer, connects, writes, waits for
//! the acknowledgement and takes everything down again, as the benchmark app of
//! the throughput thesis first did (section 3.2); or, with
//! [`TransportConfig::answer_on_same_connection`], waits for the answer on it. In
//! [`ConnectionMode::Keep`] the first message to a peer dials and the connection stays (section
//! 4.2.4). Where `probe trade` is imitated, answers come back on the very stream of the question
//! ([`TransportConfig::answer_on_same_stream`]).
//!
//! Each connection has two lanes: packets and timers are handled on the first,
//! the app serves incoming streams on the second, as quinn's connection driver
//! and the app's task do. Only the system call is charged to the receiving thread,
//! and not even that for the endpoint of a single message, which has its own
//! socket and runtime.
//!
//! A connection's state lives in `connection`, `receive`, `flush`, `recovery`, `path`,
//! `migration` and `upkeep`, or in `rest` what that would do; which connection a message takes is in `pool`, which one a datagram
//! belongs to in `endpoint`. Encryption is work and length only. 0-RTT, Retry,
//! ECN and byte flow control are left out: tickets pass, but nobody uses them ([`TransportConfig::path_management`]). Functions of quinn-proto are named as they are in
//! its version 0.11.19.

use std::collections::{BTreeMap, BTreeSet};

use self::connection::Connection;
use self::pool::{Asking, PoolEntry};
use self::timer::Timer;
use self::wire::{Content, Half, Packet};
use super::{ConnectionMode, TransportConfig};
use crate::contract::{
    work, Conversation, Datagram, Delivery, Lane, Machine, MessageId, NodeId, Notice, Operation,
    Outputs, OutputsOf, Pace, Payload, Rhythm, Seconds, Transport, Upkeep,
};
use crate::deadlines::Deadlines;

mod congestion;
mod connection;
mod endpoint;
mod flush;
mod inbox;
mod kept;
mod migration;
mod pacing;
mod path;
mod pending;
mod pool;
mod ranges;
mod receive;
mod received;
mod recovery;
mod rest;
mod space;
mod states;
mod streams;
mod timer;
mod upkeep;
pub mod wire;

pub use self::states::{ConnectionEvent, ConnectionState, CONNECTION};
pub use self::wire::{ConnectionId, QuicDatagram};

/// The outputs of [`Quic`].
type Out<P> = Outputs<Datagram<QuicDatagram<P>>, Request<P>, Delivery<P>>;

/// A step of one connection, due when its lane is free.
#[derive(Clone, Debug, PartialEq)]
pub struct Request<P> {
    connection: ConnectionId,
    step: Step<P>,
}

/// What can be due on a connection's lanes.
#[derive(Clone, Debug, PartialEq)]
enum Step<P> {
    /// Make an endpoint, if every message has its own.
    Dial,
    /// Find the peer and begin the handshake.
    Connect,
    /// Send the client's first flight.
    Launch,
    /// Send the server's flight.
    Respond,
    /// Send the client's second flight, then data.
    Proceed,
    /// Handle a datagram of so many bytes; whether it was read on this lane.
    Packets(Vec<Packet<P>>, u32, bool),
    /// Handle the timers that are due.
    Timer,
    /// Open a stream for a message that waits for it.
    Write,
    /// Put answers on their streams.
    Answer,
    /// Hand an incoming message to the app.
    Serve(Half),
    /// The app is done with it.
    Finish(Half),
}

/// The QUIC endpoint of one phone.
#[derive(Clone, Debug)]
pub struct Quic<P> {
    node: NodeId,
    config: TransportConfig,
    connections: BTreeMap<ConnectionId, Box<Connection<P>>>,
    deadlines: Deadlines<(ConnectionId, Timer)>,
    pool: BTreeMap<NodeId, PoolEntry>,
    /// Peers that dialled us, by their latest connection.
    accepted: BTreeMap<NodeId, ConnectionId>,
    /// Peers whose addresses were found before.
    found: BTreeSet<NodeId>,
    /// Peers whose direct path answered, while the endpoint lives, and until when it is used.
    direct: BTreeMap<NodeId, Seconds>,
    /// What waits for an answer on the connection that brought it, by what it brought.
    asking: BTreeMap<MessageId, Asking>,
    inbox: inbox::Inbox<P>,
    /// The connection that the last input left silent.
    silent: Option<Conversation>,
    /// Connections that were at rest, and what they would have done.
    woken: Vec<(Conversation, Upkeep)>,
    dialled: u32,
    lanes: u32,
    ignored: u64,
}

impl<P: Payload> Quic<P> {
    /// The endpoint of phone `node`, started before anything is measured.
    pub fn new(config: &TransportConfig, node: NodeId) -> Self {
        Self {
            node,
            config: *config,
            connections: BTreeMap::new(),
            deadlines: Deadlines::new(),
            pool: BTreeMap::new(),
            accepted: BTreeMap::new(),
            found: BTreeSet::new(),
            direct: BTreeMap::new(),
            asking: BTreeMap::new(),
            inbox: inbox::Inbox::new(node, config.poll_interval_s, config.poll_phase_s),
            silent: None,
            woken: Vec::new(),
            dialled: 0,
            lanes: 0,
            ignored: 0,
        }
    }

    /// Datagrams that came for connections that no longer exist. quinn would
    /// answer with a stateless reset, which a restarted peer cannot recognise.
    pub fn ignored_datagrams(&self) -> u64 {
        self.ignored
    }

    /// Connections of which anything is remembered.
    pub fn open_connections(&self) -> usize {
        self.connections.len()
    }
}

impl<P: Payload> Machine for Quic<P> {
    type Message = Datagram<QuicDatagram<P>>;
    type Request = Request<P>;
    type Value = Delivery<P>;

    fn receive(
        &mut self,
        from: NodeId,
        message: Self::Message,
        now: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        let bytes = message.udp_payload_bytes;
        let QuicDatagram {
            connection,
            content,
        } = message.body;
        match content {
            Content::Packets(packets) => {
                return self.dispatch(from, connection, packets, bytes, out)
            }
            Content::DiscoPing | Content::DiscoPong => {
                work(out, Operation::UdpReceive, bytes);
                work(out, Operation::PacketOpen, bytes);
            }
        }
        match content {
            Content::DiscoPing => self.pong(from, connection, out),
            _ => self.on_pong(from, connection, now),
        }
    }

    fn command(&mut self, request: Request<P>, now: Seconds, out: &mut OutputsOf<Self>) {
        let Request {
            connection: id,
            step,
        } = request;
        match step {
            Step::Dial => self.dial(id, out),
            Step::Connect => self.connect(id, now, out),
            Step::Launch => self.with(id, out, now, |c, out| c.launch(now, out)),
            Step::Respond => self.with(id, out, now, |c, out| c.respond(now, out)),
            Step::Proceed => self.with(id, out, now, |c, out| c.proceed(now, out)),
            Step::Packets(packets, bytes, own_socket) => {
                if own_socket {
                    work(out, Operation::UdpReceive, bytes);
                }
                self.on_packets(id, packets, bytes, now, out);
            }
            Step::Timer => self.with(id, out, now, |c, out| c.on_timer(now, out)),
            Step::Write => self.with(id, out, now, |c, out| c.write(now, out)),
            Step::Answer => self.with(id, out, now, |c, out| c.send_ready(now, out)),
            Step::Serve(half) => self.serve(id, half, out),
            Step::Finish(half) => self.finish(id, half, now, out),
        }
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        while let Some((id, _)) = self.deadlines.take_due(now) {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.timer_posted = true;
                connection.post(Step::Timer, out);
            }
        }
        self.inbox.poll(now, out);
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        let deadline = self.deadlines.next();
        let deadline = deadline.map(|(at, (_, timer))| (at, timer.name()));
        match (deadline, self.inbox.next_poll()) {
            (Some(deadline), Some(poll)) if poll.0 < deadline.0 => Some(poll),
            (deadline, poll) => deadline.or(poll),
        }
    }
}

impl<P: Payload> Transport<P> for Quic<P> {
    type Body = QuicDatagram<P>;

    const WAKES: &'static [Operation] = &[Operation::UdpWake, Operation::QuicWake];

    fn transmit(&mut self, to: NodeId, payload: P, now: Seconds, out: &mut OutputsOf<Self>) {
        // Who serves a stream answers on it; what else is sent has a task of its own.
        let Some(payload) = self.answer(payload, out) else {
            return;
        };
        work(out, Operation::TaskSpawn, 0);
        match self.config.mode {
            ConnectionMode::Reconnect => self.transmit_alone(to, payload, out),
            ConnectionMode::Keep => self.transmit_pooled(to, payload, now, out),
        }
    }

    fn shut_down(&mut self, now: Seconds) -> Vec<(NodeId, Delivery<P>)> {
        let mut left = Vec::new();
        self.wake_all(now);
        for connection in std::mem::take(&mut self.connections).into_values() {
            left.extend(connection.into_undelivered());
        }
        left.extend(self.inbox.take_all());
        self.deadlines.clear_all();
        self.pool.clear();
        self.accepted.clear();
        self.found.clear();
        self.direct.clear();
        self.asking.clear();
        self.silent = None;
        left
    }

    fn change_network(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        self.direct.clear();
        let ids: Vec<_> = self.connections.keys().copied().collect();
        for id in ids {
            self.with(id, out, now, |connection, out| {
                connection.change_network(now, out)
            });
        }
    }

    /// One runtime has all connections and their socket, but who dials anew for each message has one
    /// for each, with both of its lanes. Proposals are on a thread of their own.
    fn thread_of(&self, lane: Lane) -> Lane {
        let dials_alone = || self.connections.keys().any(|&id| self.has_own_socket(id));
        match self.config.mode {
            _ if lane == Lane::SEND => lane,
            ConnectionMode::Reconnect if lane.0 >= Lane::FIRST_TASK && dials_alone() => {
                Lane(lane.0 - (lane.0 - Lane::FIRST_TASK) % 2) // as `next_lane` numbers them
            }
            _ => Lane::RECEIVE,
        }
    }

    /// A stream has a task, a connection one for all its packets.
    fn is_of_tasks(&self, lane: Lane) -> bool {
        lane.0 >= Lane::FIRST_TASK && (lane.0 - Lane::FIRST_TASK) % 2 == 1 // as `next_lane` numbers them
    }

    fn own_endpoints(&self) -> usize {
        let connections = self.connections.keys();
        connections.filter(|&&id| self.has_own_socket(id)).count()
    }

    fn notice(&mut self) -> Option<Notice> {
        let woken = self.woken.pop();
        let woken = woken.map(|(conversation, upkeep)| Notice::Woken(conversation, upkeep));
        woken.or_else(|| self.silent.take().map(Notice::Silent))
    }

    fn rhythm(&self, number: u64) -> Option<Rhythm> {
        self.connections.get(&Self::connection_id(number))?.rhythm()
    }

    fn rest(&mut self, number: u64, pace: Pace) {
        self.change(number, |connection| connection.rest(pace));
    }

    fn wake(&mut self, number: u64, now: Seconds) -> Option<Upkeep> {
        self.change(number, |connection| connection.wake(now))?
    }

    fn wake_all(&mut self, now: Seconds) {
        let resting = self.connections.values();
        let resting = resting.filter(|connection| connection.rest.is_some());
        let resting: Vec<_> = resting.map(|one| Self::conversation(one)).collect();
        for conversation in resting {
            let upkeep = self.wake(conversation.number, now);
            self.woken
                .extend(upkeep.map(|upkeep| (conversation, upkeep)));
        }
    }
}
