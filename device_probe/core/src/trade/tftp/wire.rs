//! Transfers on one socket, without the socket: packets in, packets and files out.
//!
//! The order and the patience are the machine's (`pocketsim_protocols::transport::tftp`), one
//! machine for each file that comes and for each peer that is written to. What is here is what the
//! simulation has no need of: ports as transfer ids, bytes, and the manners of a server among
//! strangers, who are not told more than they asked and not often.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use pocketsim_protocols::contract::{
    Machine, MessageId, NodeId, Output, OutputsOf, Payload, Reason, Seconds,
};
use pocketsim_protocols::transport::tftp::{Tftp, TftpPacket, TransferMode};

use super::incoming::Incoming;
use super::outgoing::Outgoing;
use crate::trade::limit::PerSecond;

/// The two ends of a transfer (RFC 1350 section 4): packets of another pair are not its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Pair {
    /// The port at this end: [`SERVICE`], or one of its own for each file that is written.
    pub own: u32,
    /// Address and port at the other end.
    pub peer: SocketAddr,
}

/// The port that files are taken on.
pub const SERVICE: u32 = 0;

/// A file that somebody wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TftpFile {
    /// The client.
    pub from: SocketAddr,
    /// As the client called it; nothing says that it is a safe name.
    pub filename: String,
    /// What was in it.
    pub bytes: Vec<u8>,
}

/// A file on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Parcel {
    /// What the server will call it.
    pub filename: String,
    /// What is in it.
    pub bytes: Arc<[u8]>,
    /// The transaction that it belongs to, if any.
    pub id: MessageId,
    /// Whom it is for, if it is a block.
    pub to: NodeId,
}

impl Payload for Parcel {
    fn wire_bytes(&self) -> u32 {
        self.bytes.len() as u32
    }

    fn message_id(&self) -> MessageId {
        self.id
    }
}

/// What the wire wants done.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// Send a packet.
    Send {
        /// From this port to that address.
        pair: Pair,
        /// As bytes.
        packet: Vec<u8>,
    },
    /// A file is whole.
    Received(TftpFile),
    /// A file of this end was given up.
    Failed {
        /// Which.
        parcel: Parcel,
        /// Why.
        reason: Reason,
        /// What the peer said about it.
        complaint: Option<String>,
    },
}

/// What was refused.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WireCounts {
    /// No TFTP.
    pub malformed: u64,
    /// Data or acknowledgements of no transfer; only data may be answered, with error 5.
    pub unknown_transfer: u64,
    /// Requests that are not served here.
    pub refused: u64,
    /// Files that grew beyond [`FILE_BYTES_MAX`].
    pub oversized: u64,
    /// Unfinished transfers dropped for newer ones.
    pub evicted: u64,
}

/// Every transfer of one end.
#[derive(Debug)]
pub struct Wire {
    serves: bool,
    /// Every file that is written gets a port of its own.
    has_ports: bool,
    ports: u32,
    incoming: BTreeMap<Pair, Incoming>,
    outgoing: BTreeMap<NodeId, Outgoing>,
    errors: PerSecond,
    counts: WireCounts,
}

impl Wire {
    /// Takes files on its service port, and answers from there what others write.
    ///
    /// The only port that a relay or a NAT before the others lets through. Pairs differ all the
    /// same, since the others have a port for each of their files.
    pub fn server() -> Self {
        Self {
            serves: true,
            has_ports: false,
            ports: SERVICE,
            incoming: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            errors: PerSecond::new(ERRORS_PER_S),
            counts: WireCounts::default(),
        }
    }

    /// Only writes, each file from a port of its own.
    pub fn client() -> Self {
        Self {
            serves: false,
            ..Self::dialler()
        }
    }

    /// Writes each file from a port of its own, and takes the file that answers it there.
    pub fn dialler() -> Self {
        Self {
            has_ports: true,
            ..Self::server()
        }
    }

    /// Begin a transfer, or queue it behind those to the same peer; false if too many are.
    pub fn put(
        &mut self,
        server: SocketAddr,
        parcel: Parcel,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) -> bool {
        let transfers = self.outgoing.get(&parcel.to);
        let is_full = match transfers {
            None => self.outgoing.len() == TRANSFERS_MAX,
            Some(transfers) => transfers.len() >= QUEUE_MAX,
        };
        if is_full {
            return false;
        }
        self.ports += u32::from(self.has_ports);
        let (own, peer) = (self.ports, server);
        let transfers = self.outgoing.entry(parcel.to);
        let transfers = transfers.or_insert_with(Outgoing::new);
        transfers.put(Pair { own, peer }, parcel, now_s, actions);
        true
    }

    /// A packet came.
    pub fn receive(&mut self, pair: Pair, bytes: &[u8], now_s: Seconds, actions: &mut Vec<Action>) {
        let question = Question {
            pair,
            bytes: bytes.len(),
            now_s,
        };
        match TftpPacket::decode(bytes) {
            Err(_) => self.counts.malformed += 1,
            Ok(TftpPacket::Read { .. }) => self.refuse(question, ACCESS_VIOLATION, actions),
            Ok(TftpPacket::Write { filename, mode }) => {
                if !self.serves || mode == TransferMode::Mail {
                    return self.refuse(question, ILLEGAL_OPERATION, actions);
                }
                self.make_room(pair);
                let transfer = self.incoming.entry(pair).or_default();
                transfer.on_write(pair, filename, mode, now_s, actions);
            }
            Ok(TftpPacket::Data { block, data }) => self.on_data(question, block, &data, actions),
            Ok(TftpPacket::Ack { block }) => self.on_ack(pair, block, now_s, actions),
            Ok(TftpPacket::Error { code, message }) => {
                self.on_error(pair, code, &message, now_s, actions)
            }
        }
        self.outgoing.retain(|_, transfers| !transfers.is_idle());
    }

    /// Repeat and give up what is due.
    pub fn handle_timeout(&mut self, now_s: Seconds, actions: &mut Vec<Action>) {
        for (pair, transfer) in &mut self.incoming {
            transfer.handle_timeout(*pair, now_s, actions);
        }
        for transfers in self.outgoing.values_mut() {
            transfers.handle_timeout(now_s, actions);
        }
        self.incoming.retain(|_, transfer| !transfer.is_over(now_s));
        self.outgoing.retain(|_, transfers| !transfers.is_idle());
    }

    /// Whether a transfer to anybody is under way or queued.
    pub fn is_writing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Whether as much is queued for somebody as may be.
    pub fn is_full(&self) -> bool {
        let mut all = self.outgoing.values();
        all.any(|transfers| transfers.len() >= QUEUE_MAX)
    }

    /// Drop every transfer to others.
    pub fn forget_writes(&mut self) {
        self.outgoing.clear();
    }

    /// What was refused so far.
    pub fn counts(&self) -> WireCounts {
        self.counts
    }

    /// Transfers that are remembered: from others, and peers that are written to.
    pub fn transfers(&self) -> (usize, usize) {
        (self.incoming.len(), self.outgoing.len())
    }

    fn on_data(&mut self, question: Question, block: u16, data: &[u8], actions: &mut Vec<Action>) {
        let Question { pair, now_s, .. } = question;
        let Some(transfer) = self.incoming.get_mut(&pair) else {
            self.counts.unknown_transfer += 1;
            return self.complain(question, UNKNOWN_TRANSFER, actions);
        };
        if transfer.outgrows(FILE_BYTES_MAX, block, data) {
            self.incoming.remove(&pair);
            self.counts.oversized += 1;
            return self.complain(question, DISK_FULL, actions);
        }
        transfer.on_data(pair, block, data, now_s, actions);
    }

    fn on_ack(&mut self, pair: Pair, block: u16, now_s: Seconds, actions: &mut Vec<Action>) {
        match self.writing_at(pair, block == 0) {
            Some(transfers) => transfers.on_ack(pair.peer, block, now_s, actions),
            // A late copy, most likely. An error would end what goes the other way on this pair.
            None => self.counts.unknown_transfer += 1,
        }
    }

    fn on_error(
        &mut self,
        pair: Pair,
        code: u16,
        message: &str,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        // Never answered: two ends that complain about complaints would not stop.
        match self.writing_at(pair, true) {
            Some(transfers) => transfers.on_error(code, message, now_s, actions),
            None => self
                .incoming
                .retain(|at, transfer| *at != pair || transfer.is_done()),
        }
    }

    /// The transfer of this pair, or the one that would be by the first packet of an answer.
    fn writing_at(&mut self, pair: Pair, first: bool) -> Option<&mut Outgoing> {
        let all = || self.outgoing.iter();
        let exact = all().find(|(_, transfers)| transfers.is_at(pair));
        let loose = || all().find(|(_, transfers)| first && transfers.may_go_on_at(pair));
        let peer = *exact.or_else(loose)?.0;
        self.outgoing.get_mut(&peer)
    }

    /// For one more file: first those go that are whole, and were only kept to say so again.
    fn make_room(&mut self, pair: Pair) {
        let unfinished = self.incoming.values().filter(|one| !one.is_done()).count();
        let is_full = unfinished >= TRANSFERS_MAX || self.incoming.len() >= REMEMBERED_MAX;
        if !is_full || self.incoming.contains_key(&pair) {
            return;
        }
        let drops_done = unfinished < TRANSFERS_MAX;
        let candidates = self.incoming.iter();
        let candidates = candidates.filter(|(_, one)| one.is_done() == drops_done);
        let oldest =
            candidates.min_by(|(_, one), (_, other)| one.active_s().total_cmp(&other.active_s()));
        if let Some((&oldest, _)) = oldest {
            self.incoming.remove(&oldest);
            self.counts.evicted += u64::from(!drops_done);
        }
    }

    fn refuse(&mut self, question: Question, why: Complaint, actions: &mut Vec<Action>) {
        self.counts.refused += 1;
        self.complain(question, why, actions);
    }

    /// An error, but not often, and never longer than what it answers: whoever forges an address
    /// gains nothing by it.
    fn complain(
        &mut self,
        question: Question,
        (code, message): Complaint,
        actions: &mut Vec<Action>,
    ) {
        let room = question.bytes.checked_sub(ERROR_BYTES_MIN);
        let Some(room) = room.filter(|_| self.errors.allows(question.now_s)) else {
            return;
        };
        let message = message.chars().take(room).collect();
        actions.push(send(question.pair, &TftpPacket::Error { code, message }));
    }
}

/// What a complaint answers.
#[derive(Clone, Copy)]
struct Question {
    pair: Pair,
    bytes: usize,
    now_s: Seconds,
}

/// Let the machine do at once what it posts to its lane; the outputs that are left.
pub(super) fn settle(
    machine: &mut Tftp<Parcel>,
    outputs: OutputsOf<Tftp<Parcel>>,
    now_s: Seconds,
) -> OutputsOf<Tftp<Parcel>> {
    let mut queue = VecDeque::from(outputs);
    let mut left = Vec::new();
    while let Some(output) = queue.pop_front() {
        match output {
            Output::Post { request, .. } => {
                let mut more = Vec::new();
                machine.command(request, now_s, &mut more);
                queue.extend(more);
            }
            other => left.push(other),
        }
    }
    left
}

pub(super) fn send(pair: Pair, packet: &TftpPacket) -> Action {
    let packet = packet.encode();
    Action::Send { pair, packet }
}

/// Code and words of RFC 1350's appendix.
type Complaint = (u16, &'static str);

const ACCESS_VIOLATION: Complaint = (2, "Access violation.");
const DISK_FULL: Complaint = (3, "Disk full or allocation exceeded.");
const ILLEGAL_OPERATION: Complaint = (4, "Illegal TFTP operation.");
const UNKNOWN_TRANSFER: Complaint = (5, "Unknown transfer ID.");
/// No block of the experiment is longer, and nobody may fill the memory.
pub const FILE_BYTES_MAX: usize = 65_536;
/// At most 16 MiB of half-written files.
const TRANSFERS_MAX: usize = 256;
/// With those that are whole: 400 a second for as long as each is remembered.
const REMEMBERED_MAX: usize = 4_096;
/// Opcode, code and the end of an empty message.
const ERROR_BYTES_MIN: usize = 5;
/// An end that has made a mistake needs one.
const ERRORS_PER_S: u32 = 20;
/// More than a lockstep of a few milliseconds drains in a repetition of 25 s.
const QUEUE_MAX: usize = 4_096;
