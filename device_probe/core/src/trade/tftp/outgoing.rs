//! Files that this end writes to one peer, one after the other.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use pocketsim_protocols::contract::{
    Datagram, Delivery, Machine, NodeId, Output, OutputsOf, Path, Seconds, Transport,
};
use pocketsim_protocols::transport::tftp::{
    Tftp, TftpContent, TftpMessage, TftpPacket, TransferMode, BLOCK_BYTES,
};

use super::wire::{send, settle, Action, Pair, Parcel, SERVICE};

/// A queue of files for one peer.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Where the current transfer goes on: the server may choose another port for it.
    transfer_at: Option<SocketAddr>,
    machine: Tftp<Parcel>,
    /// The current transfer and those after it, by the machine's numbers.
    queue: BTreeMap<u32, (Pair, Parcel)>,
    /// Files that were ever queued: the machine numbers them the same.
    queued: u32,
    complaint: Option<String>,
}

impl Outgoing {
    pub(super) fn new() -> Self {
        Self {
            transfer_at: None,
            machine: Tftp::new(),
            queue: BTreeMap::new(),
            queued: 0,
            complaint: None,
        }
    }

    pub(super) fn put(
        &mut self,
        pair: Pair,
        parcel: Parcel,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        self.queue.insert(self.queued, (pair, parcel.clone()));
        self.queued += 1;
        let mut out = Vec::new();
        self.machine.transmit(SERVER, parcel, now_s, &mut out);
        self.drain(out, now_s, actions);
    }

    /// Files under way or queued.
    pub(super) fn len(&self) -> usize {
        self.queue.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.queue.is_empty()
    }

    /// Whether the current transfer goes on, or would begin, at this pair.
    pub(super) fn is_at(&self, pair: Pair) -> bool {
        self.current() == Some(pair)
    }

    /// Whether the answer to the request may come at this pair: the server chooses its port
    /// (RFC 1350 section 4). Not if this end answers from the port that it serves on, which others
    /// know too.
    pub(super) fn may_go_on_at(&self, pair: Pair) -> bool {
        let is_open = self.transfer_at.is_none() && pair.own != SERVICE;
        let asked = self.current().filter(|_| is_open);
        asked.is_some_and(|asked| asked.own == pair.own && asked.peer.ip() == pair.peer.ip())
    }

    pub(super) fn on_ack(
        &mut self,
        from: SocketAddr,
        block: u16,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        self.transfer_at = Some(from);
        self.tell(TftpContent::Ack(block.into()), now_s, actions);
    }

    pub(super) fn on_error(
        &mut self,
        code: u16,
        message: &str,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        self.complaint = Some(format!("error {code}: {message}"));
        self.tell(TftpContent::Error, now_s, actions);
    }

    pub(super) fn handle_timeout(&mut self, now_s: Seconds, actions: &mut Vec<Action>) {
        let mut out = Vec::new();
        self.machine.handle_timeout(now_s, &mut out);
        self.drain(out, now_s, actions);
    }

    fn tell(&mut self, content: TftpContent<Parcel>, now_s: Seconds, actions: &mut Vec<Action>) {
        let Some((&transfer, _)) = self.queue.first_key_value() else {
            return;
        };
        let message = Datagram {
            udp_payload_bytes: 0,
            path: Path::Direct,
            message: None,
            body: TftpMessage { transfer, content },
        };
        let mut out = Vec::new();
        self.machine.receive(SERVER, message, now_s, &mut out);
        self.drain(out, now_s, actions);
    }

    fn drain(&mut self, out: OutputsOf<Tftp<Parcel>>, now_s: Seconds, actions: &mut Vec<Action>) {
        for output in settle(&mut self.machine, out, now_s) {
            match output {
                Output::Send { message, .. } => self.send(message.body, actions),
                Output::Deliver {
                    value: Delivery::Failed { payload, reason },
                    ..
                } => {
                    self.queue.pop_first();
                    actions.push(Action::Failed {
                        parcel: payload,
                        reason,
                        complaint: self.complaint.take(),
                    });
                }
                _ => {}
            }
        }
        if self.machine.next_timeout().is_none() {
            self.queue.clear();
        }
    }

    fn send(&mut self, message: TftpMessage<Parcel>, actions: &mut Vec<Action>) {
        let TftpMessage { transfer, content } = message;
        let packet = match content {
            TftpContent::Write => self.request(transfer),
            TftpContent::Data { block, bytes, .. } => self.data(transfer, block, bytes),
            TftpContent::Ack(_) | TftpContent::Error => None,
        };
        let pair = self.current();
        actions.extend(pair.zip(packet).map(|(pair, packet)| send(pair, &packet)));
    }

    /// The transfer ids of the first in the queue.
    fn current(&self) -> Option<Pair> {
        let (_, (pair, _)) = self.queue.first_key_value()?;
        let peer = self.transfer_at.unwrap_or(pair.peer);
        Some(Pair { peer, ..*pair })
    }

    /// The machine begins with a file: it is done with those before.
    fn request(&mut self, transfer: u32) -> Option<TftpPacket> {
        self.queue = self.queue.split_off(&transfer);
        self.transfer_at = None;
        let (_, parcel) = self.queue.get(&transfer)?;
        Some(TftpPacket::Write {
            filename: parcel.filename.clone(),
            mode: TransferMode::Octet,
        })
    }

    fn data(&self, transfer: u32, block: u32, bytes: u32) -> Option<TftpPacket> {
        let start = (block as usize - 1) * BLOCK_BYTES as usize;
        let (_, parcel) = self.queue.get(&transfer)?;
        Some(TftpPacket::Data {
            block: block as u16,
            data: parcel.bytes[start..start + bytes as usize].to_vec(),
        })
    }
}

/// A machine here has one peer.
const SERVER: NodeId = NodeId(0);
