//! TFTP: every message is a file, written to the peer in lockstep (RFC 1350).
//!
//! ```text
//! sender     WRQ ->         DATA 1 ->         ...  DATA n (short) ->
//! receiver          <- ACK 0         <- ACK 1                       <- ACK n
//! ```
//!
//! A message of exactly k blocks ends with an empty one. Each end sends its last
//! packet again when nothing new comes; a repeated ACK never repeats a block (the
//! "Sorcerer's Apprentice" fault, RFC 1123 4.2.3.1), a repeated block is
//! acknowledged again, the last one also after the end. The sender has one
//! transfer per peer, others queue.
//!
//! If every acknowledgement of the last block is lost, the sender reports a
//! failure of a message that arrived; no protocol can tell.
//! Options (block size, window) are not offered, as neither crate does by default.

use std::collections::{BTreeMap, VecDeque};

use self::transfer::{Incoming, Outgoing};
use crate::contract::{
    work, Datagram, Delivery, Lane, Machine, NodeId, Operation, Output, Outputs, OutputsOf, Path,
    Payload, Reason, Seconds, Transport,
};
use crate::deadlines::Deadlines;

mod codec;
mod transfer;

pub use self::codec::{TftpPacket, TransferMode};
pub use self::transfer::CLIENT_TIMEOUT_S;

/// The outputs of [`Tftp`].
type Out<P> = Outputs<Datagram<TftpMessage<P>>, TftpRequest<P>, Delivery<P>>;

/// A packet as the simulation carries it.
#[derive(Clone, Debug, PartialEq)]
pub struct TftpMessage<P> {
    /// Stands for the pair of ports that RFC 1350 section 4 calls transfer ids.
    pub transfer: u32,
    /// What it says.
    pub content: TftpContent<P>,
}

/// What a packet says.
#[derive(Clone, Debug, PartialEq)]
pub enum TftpContent<P> {
    /// WRQ.
    Write,
    /// DATA of so many bytes; the message itself travels with the last block.
    Data {
        /// From 1 on.
        block: u32,
        /// Without the header.
        bytes: u32,
        /// The message, if this is its end.
        payload: Option<P>,
    },
    /// ACK of a block; 0 for the request.
    Ack(u32),
    /// ERROR: unknown transfer id.
    Error,
}

impl<P> TftpContent<P> {
    /// UDP payload in bytes.
    fn wire_bytes(&self) -> u32 {
        match self {
            TftpContent::Write => WRITE_REQUEST_BYTES,
            TftpContent::Data { bytes, .. } => HEADER_BYTES + bytes,
            TftpContent::Ack(_) => HEADER_BYTES,
            TftpContent::Error => HEADER_BYTES + UNKNOWN_TRANSFER_TEXT.len() as u32 + 1,
        }
    }
}

/// A step of the task for one peer.
#[derive(Clone, Debug, PartialEq)]
pub struct TftpRequest<P> {
    peer: NodeId,
    step: Step<P>,
}

#[derive(Clone, Debug, PartialEq)]
enum Step<P> {
    /// A message was queued.
    Start,
    /// A packet was read.
    Packet(TftpMessage<P>),
    /// Something is overdue.
    Timer,
}

/// What goes on with one peer.
#[derive(Clone, Debug)]
struct Peer<P> {
    node: NodeId,
    lane: Lane,
    queue: VecDeque<(u32, P)>,
    outgoing: Option<Outgoing<P>>,
    incoming: Option<Incoming>,
    timer_posted: bool,
}

impl<P> Peer<P> {
    fn new(node: NodeId, lane: Lane) -> Self {
        Self {
            node,
            lane,
            queue: VecDeque::new(),
            outgoing: None,
            incoming: None,
            timer_posted: false,
        }
    }

    fn deadline_s(&self) -> Seconds {
        if self.timer_posted {
            return Seconds::INFINITY;
        }
        let outgoing = self
            .outgoing
            .as_ref()
            .map_or(Seconds::INFINITY, |t| t.deadline_s);
        let incoming = self
            .incoming
            .as_ref()
            .map_or(Seconds::INFINITY, |t| t.deadline_s);
        outgoing.min(incoming)
    }
}

/// Client and server of one phone.
#[derive(Clone, Debug)]
pub struct Tftp<P> {
    peers: BTreeMap<NodeId, Box<Peer<P>>>,
    deadlines: Deadlines<NodeId>,
    lanes: u32,
    transfers: u32,
}

impl<P: Payload> Tftp<P> {
    /// Idle; transfers have no options.
    pub fn new() -> Self {
        Self {
            peers: BTreeMap::new(),
            deadlines: Deadlines::new(),
            lanes: 0,
            transfers: 0,
        }
    }

    /// Runs `change` on what goes on with `peer`.
    fn with(&mut self, peer: NodeId, change: impl FnOnce(&mut Peer<P>)) {
        let lanes = &mut self.lanes;
        let entry = self.peers.entry(peer).or_insert_with(|| {
            *lanes += 1;
            Box::new(Peer::new(peer, Lane(Lane::FIRST_TASK + *lanes - 1)))
        });
        let before = entry.deadline_s();
        change(entry);
        let after = entry.deadline_s();
        if before != after {
            self.deadlines.clear(before, peer);
            self.deadlines.set(after, peer);
        }
    }
}

impl<P: Payload> Default for Tftp<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Payload> Machine for Tftp<P> {
    type Message = Datagram<TftpMessage<P>>;
    type Request = TftpRequest<P>;
    type Value = Delivery<P>;

    fn receive(
        &mut self,
        from: NodeId,
        message: Self::Message,
        _now: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        work(out, Operation::UdpReceive, message.udp_payload_bytes);
        self.with(from, |peer| {
            let step = Step::Packet(message.body);
            let request = TftpRequest { peer: from, step };
            out.push(Output::Post {
                lane: peer.lane,
                request,
            });
        });
    }

    fn command(&mut self, request: TftpRequest<P>, now: Seconds, out: &mut OutputsOf<Self>) {
        let TftpRequest { peer: to, step } = request;
        self.with(to, |peer| match step {
            Step::Start => peer.start_next(now, out),
            Step::Timer => peer.on_timer(now, out),
            Step::Packet(message) => peer.on_message(message, now, out),
        });
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        while let Some(to) = self.deadlines.take_due(now) {
            self.with(to, |peer| {
                peer.timer_posted = true;
                let request = TftpRequest {
                    peer: to,
                    step: Step::Timer,
                };
                out.push(Output::Post {
                    lane: peer.lane,
                    request,
                });
            });
        }
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        let (at, _) = self.deadlines.next()?;
        Some((at, "tftp retransmission"))
    }
}

impl<P: Payload> Transport<P> for Tftp<P> {
    type Body = TftpMessage<P>;

    fn transmit(&mut self, to: NodeId, payload: P, _now: Seconds, out: &mut OutputsOf<Self>) {
        if payload.wire_bytes() / BLOCK_BYTES >= BLOCKS_MAX {
            let reason = Reason::Oversized;
            let value = Delivery::Failed { payload, reason };
            return out.push(Output::Deliver { from: to, value });
        }
        let transfer = self.transfers;
        self.transfers += 1;
        self.with(to, |peer| {
            peer.queue.push_back((transfer, payload));
            let request = TftpRequest {
                peer: to,
                step: Step::Start,
            };
            out.push(Output::Post {
                lane: peer.lane,
                request,
            });
        });
    }

    fn shut_down(&mut self, _now: Seconds) -> Vec<(NodeId, Delivery<P>)> {
        self.deadlines.clear_all();
        let mut left = Vec::new();
        for (to, peer) in std::mem::take(&mut self.peers) {
            let current = peer.outgoing.map(|outgoing| outgoing.payload);
            let queued = peer.queue.into_iter().map(|(_, payload)| payload);
            left.extend(current.into_iter().chain(queued).map(|payload| {
                let reason = Reason::SenderOff;
                (to, Delivery::Failed { payload, reason })
            }));
        }
        left
    }
}

fn send<P>(to: NodeId, transfer: u32, content: TftpContent<P>, out: &mut Out<P>) {
    let bytes = content.wire_bytes();
    work(out, Operation::UdpSend, bytes);
    let message = Datagram {
        udp_payload_bytes: bytes,
        path: Path::Direct,
        // Its loss is repaired, so it is no message's loss.
        message: None,
        body: TftpMessage { transfer, content },
    };
    out.push(Output::Send { to, message });
}

/// Data bytes of a full block (RFC 1350 section 5).
pub const BLOCK_BYTES: u32 = 512;

/// Opcode and number of DATA and ACK (RFC 1350 section 5).
pub const HEADER_BYTES: u32 = 4;

/// Block numbers have 16 bits and RFC 1350 does not let them begin again.
const BLOCKS_MAX: u32 = 65_535;

/// Opcode, the message's id as 16 hexadecimal digits, "octet", two NULs.
const WRITE_REQUEST_BYTES: u32 = 2 + 16 + 1 + 5 + 1;

/// Error 5 in the words of RFC 1350's appendix.
const UNKNOWN_TRANSFER_TEXT: &str = "Unknown transfer ID.";
