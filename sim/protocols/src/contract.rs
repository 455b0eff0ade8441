//! The machine contract: how every protocol here is driven.
//!
//! A machine owns no socket, clock, generator or logger. It is told things
//! ([`Machine::receive`], [`Machine::command`], [`Machine::handle_timeout`])
//! and answers with [`Output`]s, in order, that the driver drains before the
//! machine's next input on that lane. It cannot know whether the driver is the
//! simulator or a phone: the first spends calibrated time for [`Output::Work`],
//! the second performs the operation.
//!
//! What deliberately does not live here: anything of one protocol, and any cost.

/// A point in time, or a length of it, in seconds since the run began.
pub type Seconds = f64;

/// One phone (or other device) that takes part; dense from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// One transaction, the same at both ends: who proposed it, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MessageId(pub u64);

impl MessageId {
    /// The `sequence`-th transaction that `origin` proposed.
    pub fn new(origin: NodeId, sequence: u32) -> Self {
        Self(u64::from(origin.0) << 32 | u64::from(sequence))
    }

    /// The node that proposed the transaction.
    pub fn origin(self) -> NodeId {
        NodeId((self.0 >> 32) as u32)
    }

    /// Its number among the proposals of its origin.
    pub fn sequence(self) -> u32 {
        self.0 as u32
    }
}

/// A FIFO executor of one phone: a thread, or one task of an async runtime.
///
/// Inputs of one lane are handled one after the other, each when the work of
/// the one before is done; lanes share the cores of the phone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lane(pub u32);

impl Lane {
    /// The thread that reads the socket: datagrams wait in the socket buffer for it.
    pub const RECEIVE: Lane = Lane(0);
    /// The thread of the workload's sender loop.
    pub const SEND: Lane = Lane(1);
    /// The first number for tasks; a transport counts up from here.
    pub const FIRST_TASK: u32 = 16;
}

/// An enum whose variants have a number and a name.
#[macro_export]
macro_rules! named_enum {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant,)+ }

        impl $name {
            /// Every variant, in the order of its number.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The name in profiles, traces and reports.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }
        }
    };
}

named_enum! {
    /// What work a machine asks for; a device profile says what each costs.
    Operation {
        /// The app's call into the native library, per transaction.
        Command = "command",
        /// Ed25519 signature.
        Sign = "sign",
        /// Ed25519 verification.
        Verify = "verify",
        /// SHA-256.
        Hash = "hash",
        /// Block to bytes.
        Encode = "encode",
        /// Bytes to block.
        Decode = "decode",
        /// Append to the chain and the benchmark log.
        Store = "store",
        /// One `sendto`.
        UdpSend = "udp_send",
        /// One `recvfrom`, with the wake-up of its thread where a profile does not price that apart.
        UdpReceive = "udp_receive",
        /// Start of an asynchronous task.
        TaskSpawn = "task_spawn",
        /// A new runtime and endpoint, as the reconnecting app makes for every message.
        EndpointSetup = "endpoint_setup",
        /// Closing that endpoint and its runtime.
        EndpointClose = "endpoint_close",
        /// Finding the peer's addresses (waits for a server more than it computes).
        Discovery = "discovery",
        /// Client's first flight: key generation, ClientHello.
        HandshakeStart = "handshake_start",
        /// Server's flight: key agreement, certificate verify signature.
        HandshakeRespond = "handshake_respond",
        /// Client's second flight: key agreement, verification, own signature.
        HandshakeFinish = "handshake_finish",
        /// Server's check of the client's signature.
        HandshakeConfirm = "handshake_confirm",
        /// Building and encrypting one QUIC packet.
        PacketSeal = "packet_seal",
        /// Decrypting and processing one QUIC packet.
        PacketOpen = "packet_open",
        /// Opening a stream.
        StreamOpen = "stream_open",
        /// Accepting a stream of the peer's and serving what came on it.
        StreamAccept = "stream_accept",
        /// One TFTP block to or from its file.
        FileBlock = "file_block",
        /// Sealing one packet's content for its receiver (libsodium's `crypto_box_seal`).
        SealedBoxSeal = "sealed_box_seal",
        /// Opening such a box.
        SealedBoxOpen = "sealed_box_open",
        /// Making one IPv8 packet and handing it to the coroutine that sends it.
        OverlaySend = "overlay_send",
        /// Reading one IPv8 packet and offering it to every overlay.
        OverlayReceive = "overlay_receive",
        /// Waking the thread that sleeps in `recvfrom`: no machine asks for it, as only the driver
        /// knows who sleeps.
        UdpWake = "udp_wake",
        /// Waking the tasks of QUIC, which hand a datagram on to each other and a stream to the app.
        QuicWake = "quic_wake",
        /// Beginning a file of TFTP at either end: its port, and what is kept of it.
        FileOpen = "file_open",
        /// A sleep until a time, and going on after it: no machine asks for it, as only the driver
        /// knows who sleeps.
        TimedSleep = "timed_sleep",
        /// What the core loses to the interrupt that ends that sleep, beyond the sleeper's own time.
        TimerInterrupt = "timer_interrupt",
    }
}

named_enum! {
    /// Why a message was refused, dropped or lost.
    Reason {
        /// Signature does not verify.
        InvalidSignature = "invalid_signature",
        /// Addressed to somebody else.
        WrongReceiver = "wrong_receiver",
        /// Previous hash or index does not continue the chain.
        BrokenLink = "broken_link",
        /// Two different blocks claim one place.
        Fork = "fork",
        /// Seen within the duplicate window.
        Duplicate = "duplicate",
        /// Not parseable.
        Malformed = "malformed",
        /// Larger than the transport can carry.
        Oversized = "oversized",
        /// No room: in the socket's receive buffer, or in a queue before a socket.
        BufferFull = "buffer_full",
        /// No room in the queue of a radio.
        QueueFull = "queue_full",
        /// Lost on the link.
        LinkLoss = "link_loss",
        /// The phone that would send is off.
        SenderOff = "sender_off",
        /// The phone that would receive is off.
        ReceiverOff = "receiver_off",
        /// The handshake did not finish in time.
        ConnectTimeout = "connect_timeout",
        /// Nothing heard on the connection for too long.
        IdleTimeout = "idle_timeout",
        /// No answer within the socket timeout.
        SocketTimeout = "socket_timeout",
        /// Every retransmission was used.
        RetriesExhausted = "retries_exhausted",
        /// The connection was closed under the message.
        ConnectionLost = "connection_lost",
        /// A stream that the peer never accepted, or an offer that it declined.
        Unserved = "unserved",
        /// The peer was in another transfer with us.
        PeerBusy = "peer_busy",
        /// The policy of the transport gave it up before it was handed over.
        Withheld = "withheld",
        /// No way in: the NAT before the receiver has no binding for the sender.
        Unreachable = "unreachable",
        /// No room in a queue of the relay.
        RelayFull = "relay_full",
        /// The phone that would send or receive has left that network for another.
        Moved = "moved",
    }
}

named_enum! {
    /// What a benchmark event records.
    EventKind {
        /// A proposal was made and handed to the transport (T1).
        Send = "send",
        /// The peer starts to process a proposal.
        Process = "process",
        /// The countersigned block is back at the proposer (T2).
        ReceiveBack = "receive_back",
        /// The proposer stored the completed block (T3).
        Store = "store",
        /// The countersigner stored the completed block.
        StorePeer = "store_peer",
        /// A message was refused, with the reason.
        Refuse = "refuse",
        /// A transaction was given up, with the reason.
        Lose = "lose",
        /// A datagram was dropped, with the reason.
        Drop = "drop",
        /// A connection is ready for data.
        Connect = "connect",
        /// A connection ended.
        Disconnect = "disconnect",
        /// A payment could not be offered: the payer has not so much, or nobody to pay.
        Unpayable = "unpayable",
        /// A token was taken by this phone; the message is its serial, the peer who gave it.
        Take = "take",
        /// A token was signed over to the authority; the message is its serial.
        Submit = "submit",
        /// The authority decided on a token; the message is its serial, the peer its submitter.
        Decide = "decide",
        /// The answer to a submission reached the submitter; the message is the token's serial.
        Settle = "settle",
        /// A phone signed a token over that it had signed over before; the message is its serial.
        DoubleSpend = "double_spend",
        /// The authority names who signed two continuations, the peer; the message is the serial.
        Accuse = "accuse",
        /// The phone came on.
        PhoneOn = "phone_on",
        /// The phone went off.
        PhoneOff = "phone_off",
        /// Something long begins: where a message is from, its making; where it is for, the
        /// arrival of its first block.
        Begin = "begin",
        /// A task that only computes is done.
        Compute = "compute",
        /// A custom protocol hands a value up; the peer is who it was last from.
        Deliver = "deliver",
        /// A custom protocol observes something: such rows have the name that it gives.
        Observe = "observe",
    }
}

/// One row of the trace, but for its time and node, which the driver adds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// What happened.
    pub kind: EventKind,
    /// To which transaction.
    pub message: MessageId,
    /// The other phone.
    pub peer: NodeId,
    /// Size of the block as serialised, or of the datagram, in bytes.
    pub size_bytes: u32,
    /// Why, for refusals, losses and drops.
    pub reason: Option<Reason>,
}

impl Event {
    /// A row about nothing that went wrong.
    pub fn new(kind: EventKind, message: MessageId, peer: NodeId, size_bytes: u32) -> Self {
        Self {
            kind,
            message,
            peer,
            size_bytes,
            reason: None,
        }
    }

    /// The same row, for `reason`.
    pub fn because(self, reason: Reason) -> Self {
        Self {
            reason: Some(reason),
            ..self
        }
    }
}

/// Where a machine gets numbers from that nobody can foresee: a named stream in simulations, the
/// operating system on a phone.
pub trait Random {
    /// 64 bits.
    fn word(&mut self) -> u64;

    /// `N` bytes; `N` must be a multiple of eight.
    fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        for chunk in bytes.chunks_exact_mut(8) {
            chunk.copy_from_slice(&self.word().to_le_bytes());
        }
        bytes
    }
}

/// What a machine wants done; the order is part of the meaning.
#[derive(Clone, Debug, PartialEq)]
pub enum Output<M, R, V> {
    /// Spend one operation on this lane; what follows waits for it.
    Work {
        /// Which operation.
        operation: Operation,
        /// On how many bytes.
        bytes: u32,
    },
    /// Spend one of the operations that the scenario brings, as `Work` does one of everybody's.
    OwnWork {
        /// Its number among them, from 0.
        number: u32,
        /// On how many bytes.
        bytes: u32,
    },
    /// Hand a message to the layer below.
    Send {
        /// The receiver.
        to: NodeId,
        /// What to carry.
        message: M,
    },
    /// Write a row of the trace.
    Observe(Event),
    /// Hand a value to the layer above.
    Deliver {
        /// Whom it came from.
        from: NodeId,
        /// What came.
        value: V,
    },
    /// Give this machine `request` on `lane` as soon as that lane is free.
    Post {
        /// Where to go on.
        lane: Lane,
        /// With what.
        request: R,
    },
    /// This machine is done for good.
    Halt(Reason),
}

/// The outputs of one input, in order.
pub type Outputs<M, R, V> = Vec<Output<M, R, V>>;

/// Asks for one operation on `bytes`.
pub fn work<M, R, V>(out: &mut Outputs<M, R, V>, operation: Operation, bytes: u32) {
    out.push(Output::Work { operation, bytes });
}

/// The outputs of machine `T`.
pub type OutputsOf<T> =
    Outputs<<T as Machine>::Message, <T as Machine>::Request, <T as Machine>::Value>;

/// A protocol as a state machine; see the module's head.
pub trait Machine {
    /// What it exchanges with its peers.
    type Message;
    /// What it can be asked to do.
    type Request;
    /// What it hands to the layer above.
    type Value;

    /// A message arrived from `from`.
    fn receive(
        &mut self,
        from: NodeId,
        message: Self::Message,
        now: Seconds,
        out: &mut OutputsOf<Self>,
    );

    /// The layer above, or an earlier [`Output::Post`], asks for something.
    fn command(&mut self, request: Self::Request, now: Seconds, out: &mut OutputsOf<Self>);

    /// The time that [`Machine::next_timeout`] gave has come.
    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>);

    /// When this machine wants to be woken, and what for.
    fn next_timeout(&self) -> Option<(Seconds, &'static str)>;
}

/// What an application sends through a transport.
pub trait Payload: Clone {
    /// Serialised size in bytes, exact.
    fn wire_bytes(&self) -> u32;
    /// The transaction that it belongs to.
    fn message_id(&self) -> MessageId;
    /// What tells it from others between the same two phones.
    fn serial(&self) -> u64 {
        self.message_id().0
    }
}

named_enum! {
    /// How a payer behaves in one payment.
    Conduct {
        /// Spends what nobody else was given.
        Honest = "honest",
        /// Spends tokens and keeps them, to spend them again.
        DoubleSpend = "double_spend",
        /// Sends again what this payee was once paid with.
        Replay = "replay",
    }
}

/// What can be asked of an application machine.
#[derive(Clone, Debug, PartialEq)]
pub enum AppRequest<P> {
    /// Propose one transaction to `peer`.
    Transact {
        /// The counterparty.
        peer: NodeId,
        /// Nominal payload in bytes.
        payload_bytes: u32,
    },
    /// Pay `peer` with tokens.
    Pay {
        /// Who is paid.
        peer: NodeId,
        /// How much, in cents.
        amount_cents: u32,
        /// Whether the payer spends what is its own.
        conduct: Conduct,
    },
    /// The transport gave up on a message.
    Undelivered {
        /// Who should have had it.
        to: NodeId,
        /// What it was.
        payload: P,
        /// Why it did not arrive.
        reason: Reason,
    },
}

/// A protocol family's upper half: proposes, answers, stores.
pub trait Application:
    Machine<Message = Self::Block, Request = AppRequest<Self::Block>, Value = ()>
{
    /// What travels.
    type Block: Payload;

    /// The phone goes off, and `unmade` are proposals that have no row [`EventKind::Send`] yet and get
    /// none. Returns how many proposals stay open; adds rows about what is lost, and nothing else.
    fn shut_down(&mut self, _unmade: &[MessageId], _out: &mut OutputsOf<Self>) -> usize {
        0
    }

    /// The phone is on again.
    fn turn_on(&mut self, _now: Seconds) {}
}

/// What a transport reports to the application.
#[derive(Clone, Debug, PartialEq)]
pub enum Delivery<P> {
    /// It arrived whole.
    Received(P),
    /// It will not arrive; `from` of the output is the peer it was meant for.
    Failed {
        /// What was lost.
        payload: P,
        /// Why.
        reason: Reason,
    },
}

/// Which way a datagram goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Path {
    /// Between the two phones.
    Direct,
    /// Through a relay server on the Internet.
    Relay,
}

/// One UDP datagram.
#[derive(Clone, Debug, PartialEq)]
pub struct Datagram<B> {
    /// UDP payload in bytes; the network adds IP and UDP headers.
    pub udp_payload_bytes: u32,
    /// The way it takes.
    pub path: Path,
    /// The transaction whose loss this datagram's loss would be, if any.
    pub message: Option<MessageId>,
    /// What is in it.
    pub body: B,
}

/// One conversation of two transports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conversation {
    /// Who is at the other end.
    pub peer: NodeId,
    /// The same at both ends, and no other's.
    pub number: u64,
}

/// When one end of a silent conversation gives signs of life, by itself or as an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rhythm {
    /// When it last asked whether the other is there.
    pub asked_s: Seconds,
    /// When it would ask again if it heard nothing more.
    pub asks_s: Seconds,
    /// When it would look for a better path; infinite for never.
    pub probes_s: Seconds,
}

/// How signs of life go on in a conversation at rest, for one of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pace {
    /// As both ends kept it until now, the other with this rhythm.
    Kept(Rhythm),
    /// As chance has it, from `since_s` on: the other end had this rhythm, and when they are woken
    /// this end would ask after `left_s` if it heard nothing.
    Varied {
        /// Of the other end, until now.
        other: Rhythm,
        /// When the rest begins.
        since_s: Seconds,
        /// From its end until this end asks.
        left_s: Seconds,
        /// Whether the ends asked in turn until now, and not both at once.
        in_turn: bool,
    },
}

/// What one end of a conversation would have done while that was at rest.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Upkeep {
    /// Datagrams for the other end: of how many bytes, how many.
    pub sent: Vec<(u32, u64)>,
    /// For how long it was left to chance what is sent ([`Pace::Varied`]).
    pub varied_s: Seconds,
    /// Whether the ends asked in turn before that.
    pub in_turn: bool,
    /// What each of them takes at this end.
    pub sending: &'static [Operation],
    /// What each of them takes at the other.
    pub receiving: &'static [Operation],
}

/// What a transport says of conversations in which only signs of life pass.
#[derive(Clone, Debug, PartialEq)]
pub enum Notice {
    /// Nothing else has passed for a while, and none is under way: it may rest.
    Silent(Conversation),
    /// It rested until now, and would have done this meanwhile.
    Woken(Conversation, Upkeep),
}

/// A protocol family's lower half: turns payloads into datagrams and back.
///
/// [`Machine::receive`] takes datagrams on [`Lane::RECEIVE`]; work of one
/// connection belongs on its own lane, reached by [`Output::Post`]. The
/// driver calls [`Transport::transmit`] on whichever lane the application ran.
pub trait Transport<P: Payload>:
    Machine<Message = Datagram<Self::Body>, Value = Delivery<P>>
{
    /// The content of its datagrams.
    type Body;

    /// What it takes to wake those that a datagram is for, in order, where nobody is awake.
    const WAKES: &'static [Operation] = &[Operation::UdpWake];

    /// Carry `payload` to `to`.
    fn transmit(&mut self, to: NodeId, payload: P, now: Seconds, out: &mut OutputsOf<Self>);

    /// The phone goes off: forget every connection and return what was held.
    ///
    /// [`Delivery::Failed`] with the peer it was meant for, and [`Delivery::Received`]
    /// with the peer it came from: the application has not seen that, and its sender
    /// has been told that it arrived.
    fn shut_down(&mut self, now: Seconds) -> Vec<(NodeId, Delivery<P>)>;

    /// The phone has joined another access network, where it has another address.
    fn change_network(&mut self, _now: Seconds, _out: &mut OutputsOf<Self>) {}

    /// The lane on whose thread `lane` works, for who gives a core to threads: a runtime of one thread
    /// has many lanes.
    fn thread_of(&self, lane: Lane) -> Lane {
        lane
    }

    /// Whether each input of `lane` is a task of its own: what one wakes on its thread comes before the
    /// next.
    fn is_of_tasks(&self, _lane: Lane) -> bool {
        false
    }

    /// How many endpoints that it made for single messages are still there: one that is closed
    /// answers late packets for a while.
    fn own_endpoints(&self) -> usize {
        0
    }

    /// What there is to say of conversations since the last input; nobody has to ask.
    fn notice(&mut self) -> Option<Notice> {
        None
    }

    /// The rhythm of a conversation that may rest; none if it may not.
    fn rhythm(&self, _number: u64) -> Option<Rhythm> {
        None
    }

    /// Gives no signs of life from now on, in a conversation whose other end gives none either. What
    /// is sent or received there ends that ([`Notice::Woken`]).
    fn rest(&mut self, _number: u64, _pace: Pace) {}

    /// Goes on as if signs of life had passed all the time, if it rests.
    fn wake(&mut self, _number: u64, _now: Seconds) -> Option<Upkeep> {
        None
    }

    /// Does so in every conversation at rest ([`Notice::Woken`]).
    fn wake_all(&mut self, _now: Seconds) {}
}
