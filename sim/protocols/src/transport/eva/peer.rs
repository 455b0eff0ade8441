//! What goes on with one peer, in both directions.

use std::collections::{BTreeMap, BTreeSet};

use super::incoming::Incoming;
use super::outgoing::Outgoing;
use super::output::Step;
use super::waiting::Queue;
use super::EvaMessage;
use crate::contract::{Delivery, MessageId, NodeId, Payload, Reason, Seconds};

/// One transfer at most, those that wait, and what is remembered of earlier ones.
#[derive(Clone, Debug)]
pub(super) struct Peer<P> {
    pub node: NodeId,
    pub queue: Queue<P>,
    pub outgoing: Option<Outgoing<P>>,
    pub incoming: Option<Incoming<P>>,
    /// Never forgotten, as in Kotlin-IPv8.
    pub finished_outgoing: BTreeSet<MessageId>,
    pub finished_incoming: BTreeSet<MessageId>,
    /// How often a message that is not finished has timed out.
    pub timeouts: BTreeMap<MessageId, u32>,
    /// Transfers begun; their number is the nonce, which is random in Kotlin-IPv8.
    pub transfers: u64,
}

impl<P: Payload> Peer<P> {
    pub fn new(node: NodeId, transfers: u64) -> Self {
        Self {
            node,
            queue: Queue::new(),
            outgoing: None,
            incoming: None,
            finished_outgoing: BTreeSet::new(),
            finished_incoming: BTreeSet::new(),
            timeouts: BTreeMap::new(),
            transfers,
        }
    }

    /// Whether there is a transfer in either direction.
    pub fn is_busy(&self) -> bool {
        self.transfers_under_way() > 0
    }

    pub fn transfers_under_way(&self) -> u32 {
        u32::from(self.outgoing.is_some()) + u32::from(self.incoming.is_some())
    }

    pub fn deadline_s(&self) -> Seconds {
        let outgoing = self.outgoing.as_ref().map(Outgoing::deadline_s);
        let incoming = self.incoming.as_ref().map(Incoming::deadline_s);
        let never = Seconds::INFINITY;
        outgoing.unwrap_or(never).min(incoming.unwrap_or(never))
    }

    pub fn on_message(&mut self, message: EvaMessage<P>, step: &mut Step<P>) {
        match message {
            EvaMessage::WriteRequest(offer) => self.on_write_request(offer, step),
            EvaMessage::Acknowledgement(ack) => self.on_acknowledgement(ack, step),
            EvaMessage::Data(data) => self.on_data(data, step),
            EvaMessage::Error(refusal) => self.on_error(refusal, step),
        }
    }

    pub fn on_timer(&mut self, step: &mut Step<P>) {
        self.check_incoming(step);
        self.check_outgoing(step);
    }

    /// What was held for the peer when the phone goes off.
    pub fn into_held(self) -> impl Iterator<Item = (NodeId, Delivery<P>)> {
        let current = self.outgoing.map(|outgoing| outgoing.payload);
        let waiting = self.queue.into_payloads();
        let node = self.node;
        current.into_iter().chain(waiting).map(move |payload| {
            let reason = Reason::SenderOff;
            (node, Delivery::Failed { payload, reason })
        })
    }
}
