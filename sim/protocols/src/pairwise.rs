//! A trade of two messages, for benchmarks: 668 bytes there, 668 back.
//!
//! No chain, no signature, no refusal: what is left is the cost of the driver.

use crate::contract::{
    work, AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Operation, Output,
    OutputsOf, Payload, Reason, Seconds,
};

/// Either message of a trade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trade {
    message: MessageId,
    is_reply: bool,
}

impl Payload for Trade {
    fn wire_bytes(&self) -> u32 {
        TRADE_BYTES
    }

    fn message_id(&self) -> MessageId {
        self.message
    }
}

/// One node that trades.
#[derive(Clone, Debug)]
pub struct Pairwise {
    node: NodeId,
    next_sequence: u32,
}

impl Pairwise {
    /// A node that has not traded yet.
    pub fn new(node: NodeId) -> Self {
        Self {
            node,
            next_sequence: 0,
        }
    }

    fn propose(&mut self, peer: NodeId, out: &mut OutputsOf<Self>) {
        let message = MessageId::new(self.node, self.next_sequence);
        self.next_sequence += 1;
        observe(out, EventKind::Send, message, peer, None);
        send(out, peer, message, false);
    }
}

impl Machine for Pairwise {
    type Message = Trade;
    type Request = AppRequest<Trade>;
    type Value = ();

    fn receive(&mut self, from: NodeId, trade: Trade, _now: Seconds, out: &mut OutputsOf<Self>) {
        if trade.is_reply {
            work(out, Operation::Store, TRADE_BYTES);
            observe(out, EventKind::Store, trade.message, from, None);
        } else {
            work(out, Operation::Verify, TRADE_BYTES);
            send(out, from, trade.message, true);
        }
    }

    fn command(&mut self, request: Self::Request, _now: Seconds, out: &mut OutputsOf<Self>) {
        match request {
            AppRequest::Transact { peer, .. } => self.propose(peer, out),
            // The plan pays only where tokens run.
            AppRequest::Pay { .. } => unreachable!("paid without tokens"),
            AppRequest::Undelivered {
                to,
                payload,
                reason,
            } => observe(out, EventKind::Lose, payload.message, to, Some(reason)),
        }
    }

    fn handle_timeout(&mut self, _now: Seconds, _out: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl Application for Pairwise {
    type Block = Trade;
}

fn send(out: &mut OutputsOf<Pairwise>, to: NodeId, message: MessageId, is_reply: bool) {
    let message = Trade { message, is_reply };
    out.push(Output::Send { to, message });
}

fn observe(
    out: &mut OutputsOf<Pairwise>,
    kind: EventKind,
    message: MessageId,
    peer: NodeId,
    reason: Option<Reason>,
) {
    out.push(Output::Observe(Event {
        kind,
        message,
        peer,
        size_bytes: TRADE_BYTES,
        reason,
    }));
}

/// A complete block of 128-byte payload at a five-digit index weighs as much.
const TRADE_BYTES: u32 = 668;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trade_is_sent_verified_returned_and_stored() {
        let (mut alice, mut bob) = (Pairwise::new(NodeId(0)), Pairwise::new(NodeId(1)));
        let mut out = Vec::new();
        let request = AppRequest::Transact {
            peer: NodeId(1),
            payload_bytes: 128,
        };
        alice.command(request, 0.0, &mut out);
        let there = sent(&out);
        bob.receive(NodeId(0), there, 0.1, &mut out);
        let back = sent(&out);
        alice.receive(NodeId(1), back, 0.2, &mut out);
        let steps: Vec<&str> = out.iter().map(step).collect();
        assert_eq!(steps, ["send", "668", "verify", "668", "store", "store"]);
        assert_eq!(there.message_id(), back.message_id());
    }

    #[test]
    fn each_trade_has_its_own_number() {
        let mut alice = Pairwise::new(NodeId(3));
        let mut out = Vec::new();
        let request = AppRequest::Transact {
            peer: NodeId(1),
            payload_bytes: 128,
        };
        alice.command(request.clone(), 0.0, &mut out);
        alice.command(request, 0.0, &mut out);
        assert_eq!(sent(&out).message_id(), MessageId::new(NodeId(3), 1));
    }

    fn sent(out: &OutputsOf<Pairwise>) -> Trade {
        let trade = |output: &Output<Trade, _, _>| match output {
            Output::Send { message, .. } => Some(*message),
            _ => None,
        };
        out.iter().rev().find_map(trade).expect("something sent")
    }

    fn step(output: &Output<Trade, AppRequest<Trade>, ()>) -> &'static str {
        match output {
            Output::Work { operation, .. } => operation.name(),
            Output::Observe(event) => event.kind.name(),
            _ => "668",
        }
    }
}
