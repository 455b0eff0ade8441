//! The sending end of a transfer.

use std::collections::BTreeSet;

use super::message::{Acknowledgement, Data, EvaMessage, Refusal, WriteRequest};
use super::output::Step;
use super::peer::Peer;
use super::waiting::Waiting;
use super::{EvaConfig, Variant};
use crate::contract::{Payload, Reason, Seconds};

/// A message that is being sent to the peer.
#[derive(Clone, Debug)]
pub(super) struct Outgoing<P> {
    pub payload: P,
    offer: WriteRequest,
    acked_windows: u32,
    /// Blocks that have left at least once are below this.
    fresh: u32,
    started_s: Seconds,
    updated_s: Seconds,
    /// The next look whether the write request needs repeating.
    repeat_s: Seconds,
    repeats_left: u32,
    terminate_s: Seconds,
}

impl<P> Outgoing<P> {
    fn new(payload: P, offer: WriteRequest, now: Seconds, config: &EvaConfig) -> Self {
        Self {
            payload,
            offer,
            acked_windows: 0,
            fresh: 0,
            started_s: now,
            updated_s: now,
            repeat_s: now + config.retransmit_interval_s,
            repeats_left: config.write_request_retries,
            terminate_s: config.found_s(now + config.timeout_s),
        }
    }

    pub fn deadline_s(&self) -> Seconds {
        self.repeat_s.min(self.terminate_s)
    }

    /// The size of a block; the last one is what is left.
    fn bytes_of(&self, block: u32) -> u32 {
        let offer = &self.offer;
        (offer.size_bytes - block * offer.block_bytes).min(offer.block_bytes)
    }
}

impl<P: Payload> Peer<P> {
    /// The application hands a message over (`sendBinary`); `held` makes it wait.
    pub(super) fn offer(&mut self, payload: P, held: bool, step: &mut Step<P>) {
        let size_bytes = payload.wire_bytes();
        if size_bytes == 0 {
            return step.fail(self.node, payload, Reason::Malformed);
        }
        if self.knows(&payload) {
            return step.fail(self.node, payload, Reason::Duplicate);
        }
        let waiting = Waiting {
            payload,
            size_bytes,
        };
        if held || self.is_busy() {
            self.queue.push_back(waiting);
        } else {
            self.start(waiting, step);
        }
    }

    /// Whether a message of this id waits, is under way, or has arrived.
    fn knows(&self, payload: &P) -> bool {
        let id = payload.message_id();
        let current = self.outgoing.as_ref().map(|outgoing| outgoing.offer.id);
        current == Some(id) || self.queue.has(id) || self.finished_outgoing.contains(&id)
    }

    /// Begins the next waiting transfer (`sendScheduled`), unless one is under way.
    pub(super) fn start_next(&mut self, step: &mut Step<P>) {
        let raced = |outgoing: &Outgoing<P>| {
            step.config.variant == Variant::Original
                && step.now - outgoing.started_s < step.config.race_window_s
        };
        if self
            .outgoing
            .as_ref()
            .is_some_and(|outgoing| !raced(outgoing))
        {
            return;
        }
        if let Some(waiting) = self.queue.pop_front() {
            self.start(waiting, step);
        }
    }

    /// Offers the message to the peer, or lets it wait again, without its bytes:
    /// `startOutgoingTransfer` schedules what it cannot start with an empty array.
    fn start(&mut self, waiting: Waiting<P>, step: &mut Step<P>) {
        let Waiting {
            payload,
            size_bytes,
        } = waiting;
        if self.is_busy() {
            step.counts.messages_emptied += 1;
            return self.queue.push_back(Waiting {
                payload,
                size_bytes: 0,
            });
        }
        if size_bytes > step.config.binary_size_limit_bytes {
            return step.fail(self.node, payload, Reason::Oversized);
        }
        let timeouts = self.timeouts.get(&payload.message_id());
        let window_blocks = step.config.window_after(timeouts.copied().unwrap_or(0));
        self.transfers += 1;
        let block_bytes = step.config.block_bytes;
        let offer = WriteRequest {
            id: payload.message_id(),
            nonce: self.transfers,
            size_bytes,
            blocks: size_bytes.div_ceil(block_bytes),
            block_bytes,
            window_blocks,
        };
        self.outgoing = Some(Outgoing::new(payload, offer, step.now, step.config));
        self.send_offer(step);
    }

    fn send_offer(&mut self, step: &mut Step<P>) {
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        if outgoing.repeats_left == 0 {
            outgoing.repeat_s = Seconds::INFINITY;
        }
        let offer = outgoing.offer;
        step.send(self.node, offer.id, EvaMessage::WriteRequest(offer));
    }

    /// The receiver asks for more, or says that it has everything.
    pub(super) fn on_acknowledgement(&mut self, ack: Acknowledgement, step: &mut Step<P>) {
        let known = self.outgoing.as_mut();
        let Some(outgoing) = known.filter(|t| t.offer.nonce == ack.nonce) else {
            step.counts.acknowledgements_stray += 1;
            return;
        };
        outgoing.updated_s = step.now;
        outgoing.acked_windows = ack.acked_windows;
        let WriteRequest {
            window_blocks,
            blocks,
            ..
        } = outgoing.offer;
        let set = send_set(&ack, window_blocks, blocks);
        if set.is_empty() {
            self.finish_outgoing(step);
        } else {
            self.send_blocks(&set, step);
        }
    }

    /// The whole set in one loop, without a pause; a block that does not exist ends it.
    fn send_blocks(&mut self, set: &[u32], step: &mut Step<P>) {
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        let blocks = outgoing.offer.blocks;
        for &block in set.iter().take_while(|block| **block < blocks) {
            step.counts.blocks_sent += 1;
            step.counts.blocks_repeated += u64::from(block < outgoing.fresh);
            outgoing.fresh = outgoing.fresh.max(block + 1);
            let data = Data {
                block,
                nonce: outgoing.offer.nonce,
                bytes: outgoing.bytes_of(block),
                payload: (block + 1 == blocks).then(|| outgoing.payload.clone()),
            };
            step.send(self.node, outgoing.offer.id, EvaMessage::Data(data));
        }
    }

    fn finish_outgoing(&mut self, step: &mut Step<P>) {
        if let Some(outgoing) = self.outgoing.take() {
            self.timeouts.remove(&outgoing.offer.id);
            self.finished_outgoing.insert(outgoing.offer.id);
        }
        step.start_waiting = true;
    }

    /// The peer refuses; the message does not say what, so it ends whatever is under way.
    pub(super) fn on_error(&mut self, refusal: Refusal, step: &mut Step<P>) {
        let Some(outgoing) = self.outgoing.take() else {
            step.counts.errors_stray += 1;
            return;
        };
        step.counts.outgoing_refused += 1;
        step.fail(self.node, outgoing.payload, refusal.reason());
        step.start_waiting = true;
    }

    /// Gives up after a silence, and repeats the offer before the first window is through.
    pub(super) fn check_outgoing(&mut self, step: &mut Step<P>) {
        let (now, timeout_s) = (step.now, step.config.timeout_s);
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        if outgoing.terminate_s <= now {
            let due_s = outgoing.updated_s + timeout_s;
            if due_s <= now {
                return self.give_up(step);
            }
            outgoing.terminate_s = step.config.found_s(due_s);
        }
        if outgoing.repeat_s <= now {
            self.repeat_offer(step);
        }
    }

    fn repeat_offer(&mut self, step: &mut Step<P>) {
        let Some(outgoing) = &mut self.outgoing else {
            return;
        };
        if outgoing.acked_windows > 0 {
            outgoing.repeat_s = Seconds::INFINITY;
            return;
        }
        outgoing.repeats_left -= 1;
        outgoing.repeat_s = step.now + step.config.retransmit_interval_s;
        step.counts.offers_sent_again += 1;
        self.send_offer(step);
    }

    /// What waits stays until the next look at waiting transfers.
    fn give_up(&mut self, step: &mut Step<P>) {
        if let Some(outgoing) = self.outgoing.take() {
            *self.timeouts.entry(outgoing.offer.id).or_default() += 1;
            step.counts.outgoing_timed_out += 1;
            step.fail(self.node, outgoing.payload, Reason::IdleTimeout);
        }
    }
}

/// What an acknowledgement asks for: lost blocks first, then the next window.
fn send_set(ack: &Acknowledgement, window_blocks: u32, blocks: u32) -> Vec<u32> {
    let start = ack.acked_windows.saturating_mul(window_blocks);
    let end = start.saturating_add(window_blocks).min(blocks);
    let lost: &[u32] = match ack.acked_windows {
        0 => &[],
        _ => &ack.lost,
    };
    let mut seen = BTreeSet::new();
    let all = lost.iter().copied().chain(start..end);
    all.filter(|block| seen.insert(*block)).collect()
}

#[cfg(test)]
mod tests {
    use super::{send_set, Acknowledgement};

    fn set(acked_windows: u32, lost: &[u32]) -> Vec<u32> {
        let lost = lost.to_vec();
        let ack = Acknowledgement {
            nonce: 1,
            acked_windows,
            lost,
        };
        send_set(&ack, 4, 10)
    }

    #[test]
    fn lost_blocks_come_first_and_each_block_once() {
        assert_eq!(set(0, &[]), [0, 1, 2, 3]);
        assert_eq!(set(1, &[2, 5, 2]), [2, 5, 4, 6, 7]);
        assert_eq!(set(2, &[]), [8, 9]);
        assert_eq!(set(3, &[1]), [1]);
        assert!(set(u32::MAX, &[]).is_empty());
        assert_eq!(
            set(0, &[7]),
            [0, 1, 2, 3],
            "before window 1 no list is read"
        );
    }
}
