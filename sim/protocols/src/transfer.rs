//! One-way messages: a phone sends bytes to another, which only takes them.
//!
//! What measures a transport rather than a protocol (offline token thesis, figures 6
//! to 8). Nothing is signed, checked or answered here; the receiver's `store` is the end.
//!
//! What deliberately does not live here: how a message is cut and repaired.

use crate::contract::{
    AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Output, OutputsOf,
    Payload, Reason, Seconds,
};

/// So many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    id: MessageId,
    bytes: u32,
}

impl Payload for Message {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn message_id(&self) -> MessageId {
        self.id
    }
}

/// One node that sends and takes.
#[derive(Clone, Debug)]
pub struct Transfer {
    node: NodeId,
    next_sequence: u32,
}

impl Transfer {
    /// A node that has sent nothing yet.
    pub fn new(node: NodeId) -> Self {
        Self {
            node,
            next_sequence: 0,
        }
    }

    fn send(&mut self, to: NodeId, bytes: u32, out: &mut OutputsOf<Self>) {
        let id = MessageId::new(self.node, self.next_sequence);
        self.next_sequence += 1;
        let message = Message { id, bytes };
        observe(out, EventKind::Send, message, to, None);
        out.push(Output::Send { to, message });
    }
}

impl Machine for Transfer {
    type Message = Message;
    type Request = AppRequest<Message>;
    type Value = ();

    fn receive(
        &mut self,
        from: NodeId,
        message: Message,
        _now: Seconds,
        out: &mut OutputsOf<Self>,
    ) {
        observe(out, EventKind::Store, message, from, None);
    }

    fn command(&mut self, request: Self::Request, _now: Seconds, out: &mut OutputsOf<Self>) {
        match request {
            AppRequest::Transact {
                peer,
                payload_bytes,
            } => self.send(peer, payload_bytes, out),
            // The plan pays only where tokens run.
            AppRequest::Pay { .. } => unreachable!("paid without tokens"),
            AppRequest::Undelivered {
                to,
                payload,
                reason,
            } => observe(out, EventKind::Lose, payload, to, Some(reason)),
        }
    }

    fn handle_timeout(&mut self, _now: Seconds, _out: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl Application for Transfer {
    type Block = Message;
}

fn observe(
    out: &mut OutputsOf<Transfer>,
    kind: EventKind,
    message: Message,
    peer: NodeId,
    reason: Option<Reason>,
) {
    out.push(Output::Observe(Event {
        kind,
        message: message.id,
        peer,
        size_bytes: message.bytes,
        reason,
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_has_its_bytes_and_its_own_number_and_is_stored_where_it_is_for() {
        let (mut alice, mut bob) = (Transfer::new(NodeId(4)), Transfer::new(NodeId(1)));
        for sequence in 0..2 {
            let mut out = Vec::new();
            let request = AppRequest::Transact {
                peer: NodeId(1),
                payload_bytes: 77,
            };
            alice.command(request, 0.0, &mut out);
            let Some(Output::Send { to, message }) = out.pop() else {
                panic!("{out:?}");
            };
            assert_eq!((to, message.wire_bytes()), (NodeId(1), 77));
            assert_eq!(message.message_id(), MessageId::new(NodeId(4), sequence));
            let mut rows = Vec::new();
            bob.receive(NodeId(4), message, 0.1, &mut rows);
            assert_eq!(kinds(&out), [EventKind::Send]);
            assert_eq!(kinds(&rows), [EventKind::Store]);
        }
    }

    #[test]
    fn what_cannot_be_delivered_is_lost() {
        let mut alice = Transfer::new(NodeId(0));
        let payload = Message {
            id: MessageId::new(NodeId(0), 3),
            bytes: 9,
        };
        let mut out = Vec::new();
        let request = AppRequest::Undelivered {
            to: NodeId(1),
            payload,
            reason: Reason::Oversized,
        };
        alice.command(request, 0.0, &mut out);
        assert_eq!(kinds(&out), [EventKind::Lose]);
    }

    fn kinds(out: &OutputsOf<Transfer>) -> Vec<EventKind> {
        let rows = out.iter().filter_map(|output| match output {
            Output::Observe(event) => Some(event.kind),
            _ => None,
        });
        rows.collect()
    }
}
