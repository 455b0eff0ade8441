//! Files that this end writes to one server, one after the other.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use pocketsim_protocols::contract::{
    Datagram, Delivery, Machine, NodeId, Output, OutputsOf, Path, Seconds, Transport,
};
use pocketsim_protocols::transport::tftp::{
    Tftp, TftpContent, TftpMessage, TftpPacket, TransferMode, BLOCK_BYTES,
};

use super::wire::{error, send, settle, Action, Parcel, UNKNOWN_TRANSFER};

/// A queue of files for one server.
#[derive(Debug)]
pub(super) struct Outgoing {
    server: SocketAddr,
    /// Where the current transfer goes on: the server may choose another port for it.
    transfer_at: Option<SocketAddr>,
    machine: Tftp<Parcel>,
    parcels: BTreeMap<u32, Parcel>,
    /// Files that were ever queued: the machine numbers them the same.
    queued: u32,
    complaint: Option<String>,
}

impl Outgoing {
    pub(super) fn new(server: SocketAddr) -> Self {
        Self {
            server,
            transfer_at: None,
            machine: Tftp::new(),
            parcels: BTreeMap::new(),
            queued: 0,
            complaint: None,
        }
    }

    pub(super) fn put(&mut self, parcel: Parcel, now_s: Seconds, actions: &mut Vec<Action>) {
        self.parcels.insert(self.queued, parcel.clone());
        self.queued += 1;
        let mut out = Vec::new();
        self.machine.transmit(SERVER, parcel, now_s, &mut out);
        self.drain(out, now_s, actions);
    }

    /// Files under way or queued.
    pub(super) fn len(&self) -> usize {
        self.parcels.len()
    }

    pub(super) fn is_idle(&self) -> bool {
        self.parcels.is_empty()
    }

    /// Whether the current transfer goes on, or would begin, at this address.
    pub(super) fn is_at(&self, from: SocketAddr) -> bool {
        self.transfer_at.unwrap_or(self.server) == from
    }

    /// Whether this address could become the current transfer's: the server chooses its port.
    pub(super) fn is_on_host_of(&self, from: SocketAddr) -> bool {
        self.server.ip() == from.ip()
    }

    pub(super) fn on_ack(
        &mut self,
        from: SocketAddr,
        block: u16,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        // RFC 1350 section 4: the first answer settles the id, others are told they are strangers.
        if *self.transfer_at.get_or_insert(from) != from {
            return actions.push(error(from, UNKNOWN_TRANSFER));
        }
        self.tell(TftpContent::Ack(block.into()), now_s, actions);
    }

    pub(super) fn on_error(
        &mut self,
        from: SocketAddr,
        code: u16,
        message: &str,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        if self.transfer_at.is_none_or(|at| at == from) {
            self.complaint = Some(format!("error {code}: {message}"));
            self.tell(TftpContent::Error, now_s, actions);
        }
    }

    pub(super) fn handle_timeout(&mut self, now_s: Seconds, actions: &mut Vec<Action>) {
        let mut out = Vec::new();
        self.machine.handle_timeout(now_s, &mut out);
        self.drain(out, now_s, actions);
    }

    fn tell(&mut self, content: TftpContent<Parcel>, now_s: Seconds, actions: &mut Vec<Action>) {
        let Some((&transfer, _)) = self.parcels.first_key_value() else {
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
                    self.parcels.pop_first();
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
            self.parcels.clear();
        }
    }

    fn send(&mut self, message: TftpMessage<Parcel>, actions: &mut Vec<Action>) {
        let TftpMessage { transfer, content } = message;
        let packet = match content {
            TftpContent::Write => self.request(transfer),
            TftpContent::Data { block, bytes, .. } => self.data(transfer, block, bytes),
            TftpContent::Ack(_) | TftpContent::Error => None,
        };
        let to = self.transfer_at.unwrap_or(self.server);
        actions.extend(packet.map(|packet| send(to, &packet)));
    }

    /// The machine begins with a file: it is done with those before.
    fn request(&mut self, transfer: u32) -> Option<TftpPacket> {
        self.parcels = self.parcels.split_off(&transfer);
        self.transfer_at = None;
        let filename = self.parcels.get(&transfer)?.filename.clone();
        Some(TftpPacket::Write {
            filename,
            mode: TransferMode::Octet,
        })
    }

    fn data(&self, transfer: u32, block: u32, bytes: u32) -> Option<TftpPacket> {
        let start = (block as usize - 1) * BLOCK_BYTES as usize;
        let parcel = self.parcels.get(&transfer)?;
        Some(TftpPacket::Data {
            block: block as u16,
            data: parcel.bytes[start..start + bytes as usize].to_vec(),
        })
    }
}

/// A machine here has one peer.
const SERVER: NodeId = NodeId(0);
