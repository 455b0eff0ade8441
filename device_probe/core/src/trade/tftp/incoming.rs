//! A file that a client writes here.

use std::sync::Arc;

use pocketsim_protocols::contract::{
    Datagram, Delivery, Machine, MessageId, NodeId, Operation, Output, Path, Seconds,
};
use pocketsim_protocols::transport::tftp::{
    Tftp, TftpContent, TftpMessage, TftpPacket, TransferMode, BLOCK_BYTES,
};

use super::wire::{send, settle, Action, Pair, Parcel, TftpFile};

/// The transfers of one pair of ports: one, unless the client keeps its port for the next.
#[derive(Debug)]
pub(super) struct Incoming {
    machine: Tftp<Parcel>,
    /// The machine wants numbers that grow; the client has its port for it.
    transfer: u32,
    filename: String,
    mode: TransferMode,
    buffer: Vec<u8>,
    is_done: bool,
    /// Acknowledgements that were repeated to a client of whom only a request was seen.
    repeats_unproven: u32,
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
            repeats_unproven: 0,
            active_s: 0.0,
        }
    }
}

impl Incoming {
    pub(super) fn on_write(
        &mut self,
        pair: Pair,
        filename: String,
        mode: TransferMode,
        now_s: Seconds,
        actions: &mut Vec<Action>,
    ) {
        let is_same = self.transfer > 0 && self.filename == filename;
        // Late: it belongs to the file that is here, whose client may miss the last answer yet.
        if is_same && self.is_done && now_s - self.active_s <= QUIET_S {
            return;
        }
        if !is_same || self.is_done {
            self.transfer += 1;
            self.filename = filename;
            self.mode = mode;
            self.buffer.clear();
            self.is_done = false;
        }
        self.repeats_unproven = 0;
        self.tell(pair, TftpContent::Write, &[], now_s, actions);
    }

    pub(super) fn on_data(
        &mut self,
        pair: Pair,
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
        self.tell(pair, content, data, now_s, actions);
    }

    pub(super) fn handle_timeout(&mut self, pair: Pair, now_s: Seconds, actions: &mut Vec<Action>) {
        let mut out = Vec::new();
        self.machine.handle_timeout(now_s, &mut out);
        let before = actions.len();
        self.drain(pair, out, &[], now_s, actions);
        if self.buffer.is_empty() && actions.len() > before {
            self.repeats_unproven += 1;
            // Remembered in silence: the client may still have its first block on the way.
            if self.repeats_unproven > REPEATS_UNPROVEN_MAX {
                actions.truncate(before);
            }
        }
    }

    /// Whether this block would make the file longer than `bytes_max`: only the next one is taken.
    pub(super) fn outgrows(&self, bytes_max: usize, block: u16, data: &[u8]) -> bool {
        let next = self.buffer.len() / BLOCK_BYTES as usize + 1;
        let is_next = !self.is_done && usize::from(block) == next;
        is_next && self.buffer.len() + data.len() > bytes_max
    }

    /// Whether the file is whole.
    pub(super) fn is_done(&self) -> bool {
        self.is_done
    }

    /// When something was heard last.
    pub(super) fn active_s(&self) -> Seconds {
        self.active_s
    }

    /// Done, and too long ago to be asked for the last acknowledgement again; or given up.
    pub(super) fn is_over(&self, now_s: Seconds) -> bool {
        match self.is_done {
            true => now_s - self.active_s > DALLY_S,
            false => {
                self.machine.next_timeout().is_none()
                    || self.repeats_unproven > REPEATS_REMEMBERED_MAX
            }
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
        pair: Pair,
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
        self.drain(pair, out, data, now_s, actions);
    }

    fn drain(
        &mut self,
        pair: Pair,
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
                    actions.extend(answer(pair, message.body.content));
                }
                Output::Deliver {
                    value: Delivery::Received(parcel),
                    ..
                } => {
                    self.is_done = true;
                    self.buffer = Vec::new();
                    actions.push(Action::Received(self.file(pair, &parcel.bytes)));
                }
                _ => {}
            }
        }
    }

    fn file(&self, pair: Pair, bytes: &[u8]) -> TftpFile {
        TftpFile {
            from: pair.peer,
            filename: self.filename.clone(),
            bytes: match self.mode {
                TransferMode::Netascii => from_netascii(bytes),
                TransferMode::Octet | TransferMode::Mail => bytes.to_vec(),
            },
        }
    }
}

fn answer(to: Pair, content: TftpContent<Parcel>) -> Option<Action> {
    match content {
        // Files are so short that block numbers never need more than 16 bits.
        TftpContent::Ack(block) => {
            let block = block as u16;
            Some(send(to, &TftpPacket::Ack { block }))
        }
        // The machine's complaint of a stray, which is the wire's to make.
        TftpContent::Error | TftpContent::Write | TftpContent::Data { .. } => None,
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
/// As long as the machine's sender repeats its last block: seven times 5 s.
const DALLY_S: Seconds = 35.0;
/// No copy of a request is so late; a client that keeps its port and writes the same name again
/// (tftp-hpa does) has to ask a third time.
const QUIET_S: Seconds = 9.0;
/// With the first one three packets, no more than QUIC sends to an address that may be forged
/// (three times what came from there, RFC 9000 section 8.1); a real client asks again itself.
const REPEATS_UNPROVEN_MAX: u32 = 2;
/// Every 3 s, for as long as the machine's sender repeats its first block.
const REPEATS_REMEMBERED_MAX: u32 = 12;
