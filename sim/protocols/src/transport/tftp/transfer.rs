//! The two ends of a transfer.
//!
//! The receiving end is async-tftp's server, the sending end a client like
//! tftpd's; they differ in patience only.

use super::{send, Out, Peer, TftpContent, TftpMessage, BLOCK_BYTES};
use crate::contract::{work, Delivery, Operation, Output, Payload, Reason, Seconds};

/// A message that is being written to the peer.
#[derive(Clone, Debug)]
pub(super) struct Outgoing<P> {
    pub payload: P,
    pub deadline_s: Seconds,
    transfer: u32,
    /// The block that waits for its ACK; 0 for the request.
    block: u32,
    retries: u32,
}

/// A message that the peer is writing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub deadline_s: Seconds,
    transfer: u32,
    /// The block acknowledged last; 0 for the request.
    block: u32,
    retries: u32,
    done: bool,
}

impl<P: Payload> Outgoing<P> {
    /// The block whose shortness ends the transfer.
    fn last_block(&self) -> u32 {
        self.payload.wire_bytes() / BLOCK_BYTES + 1
    }

    /// What waits for an acknowledgement.
    fn content(&self) -> TftpContent<P> {
        if self.block == 0 {
            return TftpContent::Write;
        }
        let last = self.block == self.last_block();
        TftpContent::Data {
            block: self.block,
            bytes: match last {
                true => self.payload.wire_bytes() % BLOCK_BYTES,
                false => BLOCK_BYTES,
            },
            payload: last.then(|| self.payload.clone()),
        }
    }
}

impl<P: Payload> Peer<P> {
    /// Begins the next transfer, if none is under way.
    pub(super) fn start_next(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.outgoing.is_some() {
            return;
        }
        let Some((transfer, payload)) = self.queue.pop_front() else {
            return;
        };
        self.outgoing = Some(Outgoing {
            payload,
            deadline_s: now,
            transfer,
            block: 0,
            retries: 0,
        });
        work(out, Operation::FileOpen, 0);
        self.send_outgoing(now, out);
    }

    /// A packet of the peer.
    pub(super) fn on_message(&mut self, message: TftpMessage<P>, now: Seconds, out: &mut Out<P>) {
        let transfer = message.transfer;
        match message.content {
            TftpContent::Write => self.on_write(transfer, now, out),
            TftpContent::Ack(block) => self.on_ack(transfer, block, now, out),
            TftpContent::Error => {
                let current = self.outgoing.as_ref();
                if current.is_some_and(|outgoing| outgoing.transfer == transfer) {
                    self.fail(Reason::ConnectionLost, now, out);
                }
            }
            TftpContent::Data {
                block,
                bytes,
                payload,
            } => {
                if self.accepts(transfer, block, now, out) {
                    work(out, Operation::FileBlock, bytes);
                    self.send_ack(now, out);
                    self.finish(payload, out);
                }
            }
        }
    }

    /// The peer offers a message; a repeated offer is a lost acknowledgement.
    fn on_write(&mut self, transfer: u32, now: Seconds, out: &mut Out<P>) {
        let (known, block) = match &self.incoming {
            Some(incoming) => (Some(incoming.transfer), incoming.block),
            None => (None, 0),
        };
        // A later offer means that the peer gave up the one before.
        if known.is_none_or(|known| known < transfer) {
            self.incoming = Some(Incoming {
                deadline_s: now,
                transfer,
                block: 0,
                retries: 0,
                done: false,
            });
            work(out, Operation::FileOpen, 0);
            self.send_ack(now, out);
        } else if known == Some(transfer) && block == 0 {
            self.send_ack(now, out);
        }
    }

    /// Whether a block is the next one; a repeated one is acknowledged again.
    fn accepts(&mut self, transfer: u32, block: u32, now: Seconds, out: &mut Out<P>) -> bool {
        match &mut self.incoming {
            Some(incoming) if incoming.transfer == transfer => {
                if block == incoming.block + 1 && !incoming.done {
                    incoming.block = block;
                    incoming.retries = 0;
                    return true;
                }
                if block == incoming.block {
                    self.send_ack(now, out);
                }
            }
            // A straggler of an earlier transfer.
            Some(incoming) if incoming.transfer > transfer => {}
            _ => send(self.node, transfer, TftpContent::Error, out),
        }
        false
    }

    /// The message is whole; its last acknowledgement may have to be repeated.
    fn finish(&mut self, payload: Option<P>, out: &mut Out<P>) {
        let (Some(payload), Some(incoming)) = (payload, &mut self.incoming) else {
            return;
        };
        incoming.done = true;
        incoming.deadline_s = Seconds::INFINITY;
        let value = Delivery::Received(payload);
        let from = self.node;
        out.push(Output::Deliver { from, value });
    }

    /// The peer has a block: the next one leaves, unless it had it before.
    fn on_ack(&mut self, transfer: u32, block: u32, now: Seconds, out: &mut Out<P>) {
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        if outgoing.transfer != transfer || outgoing.block != block {
            return;
        }
        if block == outgoing.last_block() {
            self.outgoing = None;
            return self.start_next(now, out);
        }
        outgoing.block += 1;
        outgoing.retries = 0;
        self.send_outgoing(now, out);
    }

    /// Sends again what had no answer, or gives up.
    pub(super) fn on_timer(&mut self, now: Seconds, out: &mut Out<P>) {
        self.timer_posted = false;
        if let Some(incoming) = self.incoming.as_mut().filter(|t| t.deadline_s <= now) {
            incoming.retries += 1;
            match incoming.retries > SERVER_RETRIES {
                true => self.incoming = None,
                false => self.send_ack(now, out),
            }
        }
        if let Some(outgoing) = self.outgoing.as_mut().filter(|t| t.deadline_s <= now) {
            outgoing.retries += 1;
            match outgoing.retries > CLIENT_RETRIES {
                true => self.fail(Reason::RetriesExhausted, now, out),
                false => self.send_outgoing(now, out),
            }
        }
    }

    fn fail(&mut self, reason: Reason, now: Seconds, out: &mut Out<P>) {
        if let Some(outgoing) = self.outgoing.take() {
            let payload = outgoing.payload;
            let value = Delivery::Failed { payload, reason };
            let from = self.node;
            out.push(Output::Deliver { from, value });
        }
        self.start_next(now, out);
    }

    fn send_outgoing(&mut self, now: Seconds, out: &mut Out<P>) {
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        outgoing.deadline_s = now + CLIENT_TIMEOUT_S;
        let content = outgoing.content();
        if let TftpContent::Data { bytes, .. } = content {
            work(out, Operation::FileBlock, bytes);
        }
        send(self.node, outgoing.transfer, content, out);
    }

    fn send_ack(&mut self, now: Seconds, out: &mut Out<P>) {
        let Some(incoming) = &mut self.incoming else {
            return;
        };
        if !incoming.done {
            incoming.deadline_s = now + SERVER_TIMEOUT_S;
        }
        let content = TftpContent::Ack(incoming.block);
        send(self.node, incoming.transfer, content, out);
    }
}

/// A client that has no acknowledgement for so long repeats its last packet, in seconds; with the
/// next constant tftpd's defaults (rs-tftpd src/options.rs:8-12).
pub const CLIENT_TIMEOUT_S: Seconds = 5.0;
const CLIENT_RETRIES: u32 = 6;

/// async-tftp's defaults (async-tftp-rs src/server/builder.rs:66-69).
const SERVER_TIMEOUT_S: Seconds = 3.0;
const SERVER_RETRIES: u32 = 100;
