//! The messages that wait for their turn with one peer.

use std::collections::{BTreeSet, VecDeque};

use crate::contract::{MessageId, Payload};

/// A message that waits for its turn.
#[derive(Clone, Debug)]
pub(super) struct Waiting<P> {
    pub payload: P,
    /// 0 when its bytes were lost while it waited.
    pub size_bytes: u32,
}

/// Those of one peer, first in, first out.
///
/// Each that is offered is looked for among them, and a sender that does not wait for answers
/// leaves a million of them: so their ids are in a set, too.
#[derive(Clone, Debug)]
pub(super) struct Queue<P> {
    order: VecDeque<Waiting<P>>,
    ids: BTreeSet<MessageId>,
}

impl<P: Payload> Queue<P> {
    pub fn new() -> Self {
        Self {
            order: VecDeque::new(),
            ids: BTreeSet::new(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Whether a message of this id waits.
    pub fn has(&self, id: MessageId) -> bool {
        self.ids.contains(&id)
    }

    /// Puts a message last; none of its id waits.
    pub fn push_back(&mut self, waiting: Waiting<P>) {
        self.ids.insert(waiting.payload.message_id());
        self.order.push_back(waiting);
    }

    pub fn pop_front(&mut self) -> Option<Waiting<P>> {
        let first = self.order.pop_front()?;
        self.ids.remove(&first.payload.message_id());
        Some(first)
    }

    pub fn into_payloads(self) -> impl Iterator<Item = P> {
        self.order.into_iter().map(|waiting| waiting.payload)
    }
}
