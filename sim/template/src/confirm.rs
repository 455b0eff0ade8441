//! Ask, answer, confirm: whoever is to trade asks a peer, again until it answers, and confirms;
//! the peer delivers then. A confirmation that is lost is not noticed: that trade stays in flight.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{
    work, AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Operation, Output,
    OutputsOf, Payload, Seconds,
};

/// Names of what is observed; such a row has for its peer the place of its name here.
pub const OBSERVED: &[&str] = &["asked_again"];

/// What travels: a step of a transaction, and its size in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Message(Step, MessageId, u32);

#[derive(Clone, Copy, Debug, PartialEq)]
enum Step {
    Ask,
    Answer,
    Confirm,
}

impl Payload for Message {
    fn wire_bytes(&self) -> u32 {
        self.2
    }

    fn message_id(&self) -> MessageId {
        self.1
    }
}

/// The machine of one phone.
pub struct Confirm {
    node: NodeId,
    /// The number of the scenario's operation that an answer takes.
    ponder: u32,
    patience_s: Seconds,
    proposed: u32,
    /// Who has not answered yet, what it was asked, and when it is asked again.
    waiting: BTreeMap<MessageId, (NodeId, Message, Seconds)>,
}

impl Confirm {
    /// One that waits for nobody.
    pub fn new(node: NodeId, ponder: u32, patience_s: Seconds) -> Self {
        Self {
            node,
            ponder,
            patience_s,
            proposed: 0,
            waiting: BTreeMap::new(),
        }
    }

    fn ask(&mut self, to: NodeId, message: Message, now: Seconds, out: &mut OutputsOf<Self>) {
        let asked = (to, message, now + self.patience_s);
        self.waiting.insert(message.1, asked);
        out.push(Output::Send { to, message });
    }
}

impl Machine for Confirm {
    type Message = Message;
    type Request = AppRequest<Message>;
    type Value = ();

    fn receive(&mut self, to: NodeId, message: Message, _now: Seconds, out: &mut OutputsOf<Self>) {
        let Message(step, id, bytes) = message;
        if step == Step::Ask {
            let (number, message) = (self.ponder, Message(Step::Answer, id, SHORT_BYTES));
            out.push(Output::OwnWork { number, bytes });
            out.push(Output::Send { to, message });
        } else if step == Step::Confirm {
            row(out, EventKind::Deliver, id, to, bytes);
        } else if self.waiting.remove(&id).is_some() {
            let message = Message(Step::Confirm, id, SHORT_BYTES);
            work(out, Operation::Verify, bytes);
            out.push(Output::Send { to, message });
        }
    }

    fn command(&mut self, request: Self::Request, now: Seconds, out: &mut OutputsOf<Self>) {
        if let AppRequest::Transact {
            peer,
            payload_bytes,
        } = request
        {
            let id = MessageId::new(self.node, self.proposed);
            self.proposed += 1;
            row(out, EventKind::Send, id, peer, payload_bytes);
            self.ask(peer, Message(Step::Ask, id, payload_bytes), now, out);
        } // what a transport could not deliver is asked again, like what is lost on the way
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut OutputsOf<Self>) {
        let waiting = self.waiting.values().copied();
        for (to, message, _) in waiting.filter(|asked| asked.2 <= now).collect::<Vec<_>>() {
            row(out, EventKind::Observe, message.1, NodeId(0), 0);
            self.ask(to, message, now, out);
        }
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        let due_s = self.waiting.values().map(|asked| asked.2);
        Some((due_s.min_by(f64::total_cmp)?, "an answer"))
    }
}

impl Application for Confirm {
    type Block = Message;
}

fn row(out: &mut OutputsOf<Confirm>, kind: EventKind, id: MessageId, peer: NodeId, bytes: u32) {
    out.push(Output::Observe(Event::new(kind, id, peer, bytes)));
}

const SHORT_BYTES: u32 = 32; // a digest of what it is about

#[cfg(test)]
mod tests;
