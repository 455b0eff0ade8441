//! A file that a client writes here.

use std::net::SocketAddr;
use std::sync::Arc;

use pocketsim_protocols::contract::{
    Datagram, Delivery, Machine, MessageId, NodeId, Operation, Output, Path, Seconds,
};
use pocketsim_protocols::transport::tftp::{
    Tftp, TftpContent, TftpMessage, TftpPacket, TransferMode, BLOCK_BYTES,
};

use super::wire::{error, send, settle, Action, Parcel, TftpFile, UNKNOWN_TRANSFER};

/// The transfers of one client address, one after the other.
#[derive(Debug)]
pub(super) struct Incoming {
    machine: Tftp<Parcel>,
    /// The machine wants numbers that grow; the client has its port for it.
    transfer: u32,
    filename: String,
    mode: TransferMode,
    buffer: Vec<u8>,
    is_done: bool,
    active_s: Seconds,
}

impl Default for Incoming {
    fn default() -> Self {
        Self {
            machine: Tftp::new(),
            transfer: 0,
            filename: String::new(),
            mode: TransferMode::Octet,
            buffer: Vec::new(),
            is_done: false,
            active_s: 0.0,
        }
    }
}

impl Incoming {
    pub(super) fn on_write(
        &mut self,
        from: SocketAddr,
        filename: String,
        mode: TransferMode,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        let repeats = self.transfer > 0 && self.filename == filename && !self.is_done;
        if !repeats {
            self.transfer += 1;
            self.filename = filename;
            self.mode = mode;
            self.buffer.clear();
            self.is_done = false;
        }
        self.tell(from, TftpContent::Write, &[], now_s, actions);
    }

    pub(super) fn on_data(
        &mut self,
        from: SocketAddr,
        block: u16,
        data: &[u8],
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        let is_last = data.len() < BLOCK_BYTES as usize;
        let content = TftpContent::Data {
            block: block.into(),
            bytes: data.len() as u32,
            payload: is_last.then(|| self.parcel(data)),
        };
        self.tell(from, content, data, now_s, actions);
    }

    pub(super) fn handle_timeout(
        &mut self,
        from: SocketAddr,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        let mut out = Vec::new();
        self.machine.handle_timeout(now_s, &mut out);
        self.drain(from, out, &[], now_s, actions);
    }

    /// Bytes so far.
    pub(super) fn bytes(&self) -> usize {
        self.buffer.len()
    }

    /// When something was heard last.
    pub(super) fn active_s(&self) -> Seconds {
        self.active_s
    }

    /// Done, and too long ago to be asked for the last acknowledgement again; or given up.
    pub(super) fn is_over(&self, now_s: Seconds) -> bool {
        match self.is_done {
            true => now_s - self.active_s > DALLY_S,
            false => self.machine.next_timeout().is_none(),
        }
    }

    fn parcel(&self, data: &[u8]) -> Parcel {
        Parcel {
            filename: self.filename.clone(),
            bytes: Arc::from([&self.buffer[..], data].concat()),
            id: MessageId(0),
            to: CLIENT,
        }
    }

    fn tell(
        &mut self,
        from: SocketAddr,
        content: TftpContent<Parcel>,
        data: &[u8],
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        self.active_s = now_s;
        let message = Datagram {
            udp_payload_bytes: 0,
            path: Path::Direct,
            message: None,
            body: TftpMessage {
                transfer: self.transfer,
                content,
            },
        };
        let mut out = Vec::new();
        self.machine.receive(CLIENT, message, now_s, &mut out);
        self.drain(from, out, data, now_s, actions);
    }

    fn drain(
        &mut self,
        from: SocketAddr,
        out: pocketsim_protocols::contract::OutputsOf<Tftp<Parcel>>,
        data: &[u8],
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        for output in settle(&mut self.machine, out, now_s) {
            match output {
                // The machine takes the block: it is the next one.
                Output::Work {
                    operation: Operation::FileBlock,
                    ..
                } => self.buffer.extend_from_slice(data),
                Output::Send { message, .. } => {
                    actions.extend(answer(from, message.body.content));
                }
                Output::Deliver {
                    value: Delivery::Received(parcel),
                    ..
                } => {
                    self.is_done = true;
                    self.buffer = Vec::new();
                    actions.push(Action::Received(self.file(from, &parcel.bytes)));
                }
                _ => {}
            }
        }
    }

    fn file(&self, from: SocketAddr, bytes: &[u8]) -> TftpFile {
        TftpFile {
            from,
            filename: self.filename.clone(),
            bytes: match self.mode {
                TransferMode::Netascii => from_netascii(bytes),
                TransferMode::Octet | TransferMode::Mail => bytes.to_vec(),
            },
        }
    }
}

fn answer(to: SocketAddr, content: TftpContent<Parcel>) -> Option<Action> {
    match content {
        // Files are so short that block numbers never need more than 16 bits.
        TftpContent::Ack(block) => {
            let block = block as u16;
            Some(send(to, &TftpPacket::Ack { block }))
        }
        TftpContent::Error => Some(error(to, UNKNOWN_TRANSFER)),
        TftpContent::Write | TftpContent::Data { .. } => None,
    }
}

/// Line ends as they are here (RFC 764: CR LF is a line end, CR NUL a CR).
pub(super) fn from_netascii(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::with_capacity(bytes.len());
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        let (byte, after) = match (first, after.split_first()) {
            (b'\r', Some((b'\n', after))) => (b'\n', after),
            (b'\r', Some((0, after))) => (b'\r', after),
            _ => (first, after),
        };
        text.push(byte);
        rest = after;
    }
    text
}

/// A machine here has one peer.
const CLIENT: NodeId = NodeId(0);
/// Twice the patience of the machine's sender, whose last block may come again.
const DALLY_S: Seconds = 10.0;
