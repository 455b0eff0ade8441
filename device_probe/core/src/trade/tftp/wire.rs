//! Transfers on one socket, without the socket: packets in, packets and files out.
//!
//! The order and the patience are the machine's (`pocketsim_protocols::transport::tftp`), one
//! machine for each direction and address. What is here is what the simulation has no need of:
//! addresses as transfer ids, bytes, and the manners of a server among strangers.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;

use pocketsim_protocols::contract::{
    Machine, MessageId, NodeId, Output, OutputsOf, Payload, Reason, Seconds,
};
use pocketsim_protocols::transport::tftp::{Tftp, TftpPacket, TransferMode};

use super::incoming::Incoming;
use super::outgoing::Outgoing;

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
        /// To this address.
        to: SocketAddr,
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
    /// Data or acknowledgements of no transfer (answered with error 5).
    pub unknown_transfer: u64,
    /// Requests that are not served here.
    pub refused: u64,
    /// Files that grew beyond [`FILE_BYTES_MAX`].
    pub oversized: u64,
    /// Transfers dropped for newer ones.
    pub evicted: u64,
}

/// Every transfer on one socket.
#[derive(Debug)]
pub struct Wire {
    serves: bool,
    incoming: BTreeMap<SocketAddr, Incoming>,
    outgoing: BTreeMap<SocketAddr, Outgoing>,
    counts: WireCounts,
}

impl Wire {
    /// Takes files, and may write some.
    pub fn server() -> Self {
        Self {
            serves: true,
            incoming: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            counts: WireCounts::default(),
        }
    }

    /// Only writes.
    pub fn client() -> Self {
        Self {
            serves: false,
            ..Self::server()
        }
    }

    /// Begin or queue a transfer; false if too much is queued for that server.
    pub fn put(
        &mut self,
        server: SocketAddr,
        parcel: Parcel,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) -> bool {
        let is_new = !self.outgoing.contains_key(&server);
        if self.is_full(server) || (is_new && self.outgoing.len() == TRANSFERS_MAX) {
            return false;
        }
        let transfers = self.outgoing.entry(server);
        let transfers = transfers.or_insert_with(|| Outgoing::new(server));
        transfers.put(parcel, now_s, actions);
        true
    }

    /// A packet came.
    pub fn receive(
        &mut self,
        from: SocketAddr,
        bytes: &[u8],
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        match TftpPacket::decode(bytes) {
            Err(_) => self.counts.malformed += 1,
            Ok(TftpPacket::Read { .. }) => self.refuse(from, ACCESS_VIOLATION, actions),
            Ok(TftpPacket::Write { filename, mode }) => {
                if !self.serves || mode == TransferMode::Mail {
                    return self.refuse(from, ILLEGAL_OPERATION, actions);
                }
                self.make_room(from);
                let transfer = self.incoming.entry(from).or_default();
                transfer.on_write(from, filename, mode, now_s, actions);
            }
            Ok(TftpPacket::Data { block, data }) => {
                self.on_data(from, block, &data, now_s, actions)
            }
            Ok(TftpPacket::Ack { block }) => self.on_ack(from, block, now_s, actions),
            Ok(TftpPacket::Error { code, message }) => {
                self.on_error(from, code, &message, now_s, actions)
            }
        }
        self.outgoing.retain(|_, transfers| !transfers.is_idle());
    }

    /// Repeat and give up what is due.
    pub fn handle_timeout(&mut self, now_s: Seconds, actions: &mut Vec<Action>) {
        for (from, transfer) in &mut self.incoming {
            transfer.handle_timeout(*from, now_s, actions);
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

    /// Whether as much is queued for `server` as may be.
    pub fn is_full(&self, server: SocketAddr) -> bool {
        let transfers = self.outgoing.get(&server);
        transfers.is_some_and(|transfers| transfers.len() >= QUEUE_MAX)
    }

    /// Drop every transfer to others.
    pub fn forget_writes(&mut self) {
        self.outgoing.clear();
    }

    /// What was refused so far.
    pub fn counts(&self) -> WireCounts {
        self.counts
    }

    /// Transfers that are remembered: from others, and servers that are written to.
    pub fn transfers(&self) -> (usize, usize) {
        (self.incoming.len(), self.outgoing.len())
    }

    fn on_data(
        &mut self,
        from: SocketAddr,
        block: u16,
        data: &[u8],
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        let Some(transfer) = self.incoming.get_mut(&from) else {
            return self.unknown(from, actions);
        };
        if transfer.bytes() + data.len() > FILE_BYTES_MAX {
            self.incoming.remove(&from);
            self.counts.oversized += 1;
            return actions.push(error(from, DISK_FULL));
        }
        transfer.on_data(from, block, data, now_s, actions);
    }

    fn on_ack(&mut self, from: SocketAddr, block: u16, now_s: Seconds, actions: &mut Vec<Action>) {
        match self.writing_to(from, block == 0) {
            Some(transfers) => transfers.on_ack(from, block, now_s, actions),
            None => self.unknown(from, actions),
        }
    }

    fn on_error(
        &mut self,
        from: SocketAddr,
        code: u16,
        message: &str,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        // Never answered: two ends that complain about complaints would not stop.
        match self.writing_to(from, true) {
            Some(transfers) => transfers.on_error(from, code, message, now_s, actions),
            None => drop(self.incoming.remove(&from)),
        }
    }

    /// The transfer whose id `from` is, or could become by the first packet of an answer.
    fn writing_to(&mut self, from: SocketAddr, first: bool) -> Option<&mut Outgoing> {
        let all = || self.outgoing.iter();
        let exact = all().find(|(_, transfers)| transfers.is_at(from));
        let loose = || all().find(|(_, transfers)| first && transfers.is_on_host_of(from));
        let server = *exact.or_else(loose)?.0;
        self.outgoing.get_mut(&server)
    }

    fn make_room(&mut self, from: SocketAddr) {
        if self.incoming.len() < TRANSFERS_MAX || self.incoming.contains_key(&from) {
            return;
        }
        let age = |(_, transfer): &(&SocketAddr, &Incoming)| transfer.active_s();
        let oldest = self
            .incoming
            .iter()
            .min_by(|one, other| age(one).total_cmp(&age(other)));
        if let Some((&oldest, _)) = oldest {
            self.incoming.remove(&oldest);
            self.counts.evicted += 1;
        }
    }

    fn refuse(&mut self, from: SocketAddr, why: Complaint, actions: &mut Vec<Action>) {
        self.counts.refused += 1;
        actions.push(error(from, why));
    }

    fn unknown(&mut self, from: SocketAddr, actions: &mut Vec<Action>) {
        self.counts.unknown_transfer += 1;
        actions.push(error(from, UNKNOWN_TRANSFER));
    }
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

pub(super) fn send(to: SocketAddr, packet: &TftpPacket) -> Action {
    let packet = packet.encode();
    Action::Send { to, packet }
}

/// Code and words of RFC 1350's appendix.
pub(super) type Complaint = (u16, &'static str);

pub(super) fn error(to: SocketAddr, (code, message): Complaint) -> Action {
    let message = message.to_owned();
    send(to, &TftpPacket::Error { code, message })
}

const ACCESS_VIOLATION: Complaint = (2, "Access violation.");
const DISK_FULL: Complaint = (3, "Disk full or allocation exceeded.");
const ILLEGAL_OPERATION: Complaint = (4, "Illegal TFTP operation.");
pub(super) const UNKNOWN_TRANSFER: Complaint = (5, "Unknown transfer ID.");
/// No block of the experiment is longer, and nobody may fill the memory.
pub const FILE_BYTES_MAX: usize = 65_536;
/// At most 16 MiB of half-written files.
const TRANSFERS_MAX: usize = 256;
/// More than a lockstep of a few milliseconds drains in a repetition of 25 s.
const QUEUE_MAX: usize = 4_096;
