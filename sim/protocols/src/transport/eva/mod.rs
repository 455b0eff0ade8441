//! EVA of Kotlin-IPv8: windows of blocks, acknowledged one window at a time.
//!
//! ```text
//! sender     write request ->        data 0..w, unpaced ->               data lost + next w ->
//! receiver                  <- ack 0                      <- ack 1, lost                 ... <- ack n
//! ```
//!
//! Two peers have one transfer at a time, in either direction; others wait. The
//! receiver answers the last block of a window, or the last that was missing,
//! and nothing else; if that block is lost both ends wait until the receiver
//! repeats its old acknowledgement, found at a check once a second, and the
//! sender repeats the whole window. The last acknowledgement is never repeated:
//! if it is lost, the sender reports a failure of a message that arrived.
//!
//! Packets are read, checked and answered by the receiving thread, also the
//! loop that signs a whole window; `sendto` is called by other threads. Losses
//! of a burst come from the receiver's socket buffer, which is the driver's.
//!
//! Options and versions are in `config`, sizes in `message`, the two ends in
//! `incoming` and `outgoing`, bytes for real sockets in `codec` and `packet`.
//! Encryption is work and length only. Left out: stopping a transfer by hand,
//! and the timers of a transfer that a refused offer has displaced.
//!
//! Source: kotlin-ipv8 messaging/eva at f983ed4 (pull request 71) and 00517bb.

use std::collections::{BTreeMap, BTreeSet};

use self::message::SIGNATURE_BYTES;
use self::output::Step;
use self::peer::Peer;
use crate::contract::{
    work, Datagram, Delivery, Machine, NodeId, Operation, Output, Outputs, OutputsOf, Payload,
    Seconds, Transport,
};
use crate::deadlines::Deadlines;

pub mod codec;
mod config;
mod counts;
mod incoming;
mod message;
mod outgoing;
mod output;
pub mod packet;
mod peer;
mod waiting;

pub use self::config::{EvaConfig, Variant};
pub use self::counts::EvaCounts;
pub use self::message::{
    Acknowledgement, Data, EvaMessage, Refusal, WriteRequest, SIGNED_HEAD_BYTES,
    UDP_PAYLOAD_LIMIT_BYTES,
};

/// The outputs of [`Eva`].
type Out<P> = Outputs<Datagram<EvaMessage<P>>, EvaRequest<P>, Delivery<P>>;

/// A packet that waits for a sending thread.
#[derive(Clone, Debug, PartialEq)]
pub struct EvaRequest<P> {
    to: NodeId,
    datagram: Datagram<EvaMessage<P>>,
}

/// Sender and receiver of one phone.
#[derive(Clone, Debug)]
pub struct Eva<P> {
    config: EvaConfig,
    peers: BTreeMap<NodeId, Box<Peer<P>>>,
    deadlines: Deadlines<NodeId>,
    /// Peers for whom something waits.
    waiting: BTreeSet<NodeId>,
    /// When those are looked at; infinite if there are none.
    start_s: Seconds,
    under_way: u32,
    /// Above the nonce of every transfer before the phone last went off.
    first_nonce: u64,
    handed_over: u32,
    counts: EvaCounts,
}

impl<P: Payload> Eva<P> {
    /// Idle.
    ///
    /// # Panics
    /// For options that no transfer could end with.
    pub fn new(config: &EvaConfig) -> Self {
        config.check();
        Self {
            config: *config,
            peers: BTreeMap::new(),
            deadlines: Deadlines::new(),
            waiting: BTreeSet::new(),
            start_s: Seconds::INFINITY,
            under_way: 0,
            first_nonce: 0,
            handed_over: 0,
            counts: EvaCounts::default(),
        }
    }

    /// What has happened so far.
    pub fn counts(&self) -> &EvaCounts {
        &self.counts
    }

    /// Runs `change` on what goes on with `peer`, then starts what may start.
    fn with(
        &mut self,
        node: NodeId,
        now: Seconds,
        out: &mut Out<P>,
        change: impl FnOnce(&mut Peer<P>, &mut Step<P>),
    ) {
        if self.change(node, now, out, change) {
            self.start_waiting(now, out);
        }
        self.arm_start(now);
    }

    /// A look that is due or to come stays where it is.
    fn arm_start(&mut self, now: Seconds) {
        if self.waiting.is_empty() {
            self.start_s = Seconds::INFINITY;
        } else if self.start_s.is_infinite() {
            self.start_s = self.config.next_start_s(now);
        }
    }

    /// Runs `change` and books what it changed; whether waiting transfers are to be looked at.
    fn change(
        &mut self,
        node: NodeId,
        now: Seconds,
        out: &mut Out<P>,
        change: impl FnOnce(&mut Peer<P>, &mut Step<P>),
    ) -> bool {
        let mut step = Step {
            config: &self.config,
            now,
            counts: &mut self.counts,
            handed_over: &mut self.handed_over,
            start_waiting: false,
            out,
        };
        let first_nonce = self.first_nonce;
        let new = || Box::new(Peer::new(node, first_nonce));
        let peer = self.peers.entry(node).or_insert_with(new);
        let (before_s, before) = (peer.deadline_s(), peer.transfers_under_way());
        change(peer, &mut step);
        let start_waiting = step.start_waiting;
        let (after_s, after) = (peer.deadline_s(), peer.transfers_under_way());
        match peer.queue.is_empty() {
            true => self.waiting.remove(&node),
            false => self.waiting.insert(node),
        };
        self.under_way = self.under_way - before + after;
        self.deadlines.clear(before_s, node);
        self.deadlines.set(after_s, node);
        start_waiting
    }

    fn is_full(&self) -> bool {
        let max = self.config.simultaneous_transfers;
        max.is_some_and(|max| self.under_way >= max)
    }

    /// `sendScheduled`: the limit is asked for once, not for each peer.
    fn start_waiting(&mut self, now: Seconds, out: &mut Out<P>) {
        if self.is_full() {
            return;
        }
        for node in Vec::from_iter(self.waiting.iter().copied()) {
            self.change(node, now, out, |peer, step| peer.start_next(step));
        }
    }
}

impl<P: Payload> Machine for Eva<P> {
    type Message = Datagram<EvaMessage<P>>;
    type Request = EvaRequest<P>;
    type Value = Delivery<P>;

    fn receive(
        &mut self,
        from: NodeId,
        message: Self::Message,
        now: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        let bytes = message.udp_payload_bytes;
        work(out, Operation::UdpReceive, bytes);
        work(out, Operation::OverlayReceive, bytes);
        work(
            out,
            Operation::Verify,
            bytes.saturating_sub(SIGNATURE_BYTES),
        );
        if self.config.encrypts() {
            let body_bytes = message.body.body_bytes(&self.config);
            work(out, Operation::SealedBoxOpen, body_bytes);
        }
        self.with(from, now, out, |peer, step| {
            peer.on_message(message.body, step);
        });
    }

    fn command(&mut self, request: EvaRequest<P>, _now: Seconds, out: &mut OutputsOf<Self>) {
        let EvaRequest { to, datagram } = request;
        work(out, Operation::UdpSend, datagram.udp_payload_bytes);
        let message = datagram;
        out.push(Output::Send { to, message });
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        // That loop was launched first, so it is first where both are due.
        if self.start_s <= now {
            self.start_s = Seconds::INFINITY;
            self.start_waiting(now, out);
            self.arm_start(now);
        }
        while let Some(node) = self.deadlines.take_due(now) {
            self.with(node, now, out, |peer, step| peer.on_timer(step));
        }
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        let transfer = self.deadlines.next();
        let transfer_s = transfer.map_or(Seconds::INFINITY, |(at, _)| at);
        if transfer_s <= self.start_s {
            transfer_s
                .is_finite()
                .then_some((transfer_s, "eva transfer"))
        } else {
            Some((self.start_s, "eva waiting transfers"))
        }
    }
}

impl<P: Payload> Transport<P> for Eva<P> {
    type Body = EvaMessage<P>;

    fn transmit(&mut self, to: NodeId, payload: P, now: Seconds, out: &mut OutputsOf<Self>) {
        let held = self.is_full();
        self.with(to, now, out, |peer, step| peer.offer(payload, held, step));
    }

    fn shut_down(&mut self, _now: Seconds) -> Vec<(NodeId, Delivery<P>)> {
        self.deadlines.clear_all();
        self.waiting.clear();
        self.start_s = Seconds::INFINITY;
        self.under_way = 0;
        let peers = std::mem::take(&mut self.peers);
        for peer in peers.values() {
            self.first_nonce = self.first_nonce.max(peer.transfers);
        }
        let held = peers.into_values().map(|peer| peer.into_held());
        held.flatten().collect()
    }
}
