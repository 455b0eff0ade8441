//! The receiving end of a transfer.

use std::collections::BTreeSet;

use super::message::{
    Acknowledgement, Data, EvaMessage, Refusal, WriteRequest, UDP_PAYLOAD_LIMIT_BYTES,
};
use super::output::Step;
use super::peer::Peer;
use super::EvaConfig;
use crate::contract::{Payload, Seconds};

/// A message that the peer is sending.
#[derive(Clone, Debug)]
pub(super) struct Incoming<P> {
    offer: WriteRequest,
    acked_windows: u32,
    /// Repeated acknowledgements since the last block.
    attempt: u32,
    updated_s: Seconds,
    /// The next look whether to repeat the acknowledgement; infinite when that chain ended.
    repeat_s: Seconds,
    terminate_s: Seconds,
    /// Whether a block has come.
    begun: bool,
    blocks: Blocks,
    payload: Option<P>,
}

/// Which blocks are there: all before `whole`, and some behind it.
#[derive(Clone, Debug, Default)]
struct Blocks {
    whole: u32,
    ahead: BTreeSet<u32>,
}

impl Blocks {
    fn insert(&mut self, block: u32) {
        if block >= self.whole {
            self.ahead.insert(block);
        }
        while self.ahead.remove(&self.whole) {
            self.whole += 1;
        }
    }

    /// What is missing below `end`, ascending; no more than a packet could ever list.
    fn missing(&self, end: u32) -> Vec<u32> {
        let missing = (self.whole..end).filter(|n| !self.ahead.contains(n));
        missing.take(UDP_PAYLOAD_LIMIT_BYTES as usize).collect()
    }
}

impl<P> Incoming<P> {
    fn new(offer: WriteRequest, now: Seconds, config: &EvaConfig) -> Self {
        Self {
            offer,
            acked_windows: 0,
            attempt: 0,
            updated_s: now,
            repeat_s: config.found_s(now + config.retransmit_interval_s),
            terminate_s: config.found_s(now + config.timeout_s),
            begun: false,
            blocks: Blocks::default(),
            payload: None,
        }
    }

    pub fn deadline_s(&self) -> Seconds {
        self.repeat_s.min(self.terminate_s)
    }

    /// The first block behind the window that is under way.
    fn window_end(&self) -> u32 {
        (self.acked_windows + 1).saturating_mul(self.offer.window_blocks)
    }

    /// Whether `block` is the one that the receiver answers.
    fn is_last_of_window(&self, block: u32) -> bool {
        block == self.window_end().min(self.offer.blocks) - 1
    }

    fn acknowledgement(&self) -> Acknowledgement {
        let acked = self.acked_windows.saturating_mul(self.offer.window_blocks);
        Acknowledgement {
            nonce: self.offer.nonce,
            acked_windows: self.acked_windows,
            lost: self.blocks.missing(acked.min(self.offer.blocks)),
        }
    }
}

impl<P: Payload> Peer<P> {
    /// The peer offers a message; what is known already is not answered.
    pub(super) fn on_write_request(&mut self, offer: WriteRequest, step: &mut Step<P>) {
        let current = self.incoming.as_ref().map(|incoming| incoming.offer.id);
        if current == Some(offer.id) || self.finished_incoming.contains(&offer.id) {
            step.counts.offers_repeated += 1;
        } else if let Some(refusal) = self.refusal(&offer, step.config) {
            self.refuse(offer, refusal, step);
        } else if is_malformed(&offer) {
            step.counts.packets_malformed += 1;
        } else {
            self.incoming = Some(Incoming::new(offer, step.now, step.config));
            self.send_acknowledgement(step);
        }
    }

    fn refusal(&self, offer: &WriteRequest, config: &EvaConfig) -> Option<Refusal> {
        match offer.size_bytes {
            0 => Some(Refusal::Empty),
            bytes if bytes > config.binary_size_limit_bytes => Some(Refusal::TooLarge),
            _ => self.is_busy().then_some(Refusal::Busy),
        }
    }

    /// Whatever the peer was sending is forgotten with the offer (`incomingError` removes
    /// by peer, not by transfer).
    fn refuse(&mut self, offer: WriteRequest, refusal: Refusal, step: &mut Step<P>) {
        match refusal {
            Refusal::Busy => step.counts.offers_refused_busy += 1,
            Refusal::Empty | Refusal::TooLarge => step.counts.offers_refused_size += 1,
        }
        self.incoming = None;
        step.send(self.node, offer.id, EvaMessage::Error(refusal));
    }

    /// A block; any block of the transfer is a sign of life.
    pub(super) fn on_data(&mut self, data: Data<P>, step: &mut Step<P>) {
        let known = self.incoming.as_mut();
        let Some(incoming) = known.filter(|t| t.offer.nonce == data.nonce) else {
            step.counts.blocks_stray += 1;
            return;
        };
        let block = data.block;
        if !incoming.begun {
            incoming.begun = true;
            step.begin(self.node, incoming.offer.id, incoming.offer.size_bytes);
        }
        if block < incoming.offer.blocks {
            incoming.blocks.insert(block);
            incoming.payload = data.payload.or(incoming.payload.take());
        }
        incoming.attempt = 0;
        incoming.updated_s = step.now;
        if incoming.blocks.whole == incoming.offer.blocks {
            incoming.acked_windows += 1;
            self.send_acknowledgement(step);
            self.finish_incoming(step);
        } else if incoming.is_last_of_window(block) {
            incoming.acked_windows += 1;
            self.send_acknowledgement(step);
        }
    }

    /// The transfer is released with its first and only last acknowledgement.
    fn finish_incoming(&mut self, step: &mut Step<P>) {
        let Some(incoming) = self.incoming.take() else {
            return;
        };
        self.finished_incoming.insert(incoming.offer.id);
        match incoming.payload {
            Some(payload) => step.deliver(self.node, payload),
            None => step.counts.packets_malformed += 1,
        }
    }

    /// Gives up after a long silence, and repeats the acknowledgement after a short one.
    pub(super) fn check_incoming(&mut self, step: &mut Step<P>) {
        let (now, timeout_s) = (step.now, step.config.timeout_s);
        let Some(incoming) = &mut self.incoming else {
            return;
        };
        if incoming.terminate_s <= now {
            let due_s = incoming.updated_s + timeout_s;
            if due_s <= now {
                step.counts.incoming_timed_out += 1;
                self.incoming = None;
                return;
            }
            incoming.terminate_s = step.config.found_s(due_s);
        }
        if incoming.repeat_s <= now {
            self.repeat_acknowledgement(step);
        }
    }

    /// The sender answers it with a whole window, whatever of that has arrived.
    fn repeat_acknowledgement(&mut self, step: &mut Step<P>) {
        let (now, config) = (step.now, step.config);
        let Some(incoming) = &mut self.incoming else {
            return;
        };
        if incoming.attempt + 1 >= config.retransmit_attempts {
            // The chain ends for good: a later block does not begin it anew.
            incoming.repeat_s = Seconds::INFINITY;
            return;
        }
        incoming.repeat_s = config.found_s(now + config.retransmit_interval_s);
        if now - incoming.updated_s >= config.retransmit_interval_s {
            incoming.attempt += 1;
            step.counts.acknowledgements_repeated += 1;
            self.send_acknowledgement(step);
        }
    }

    fn send_acknowledgement(&mut self, step: &mut Step<P>) {
        if let Some(incoming) = &self.incoming {
            let message = EvaMessage::Acknowledgement(incoming.acknowledgement());
            step.counts.acknowledgements_sent += 1;
            step.send(self.node, incoming.offer.id, message);
        }
    }
}

/// Whether the numbers of an offer contradict each other. Kotlin-IPv8 takes them as they
/// are and never ends, or ends outside its buffer.
fn is_malformed(offer: &WriteRequest) -> bool {
    offer.window_blocks == 0
        || offer.block_bytes == 0
        || offer.blocks != offer.size_bytes.div_ceil(offer.block_bytes)
}
