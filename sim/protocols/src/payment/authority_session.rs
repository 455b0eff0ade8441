//! The authority's session with whoever calls on it: mints what is ordered, decides on what is
//! submitted.
//!
//! A submission counts for who sends it, an order for who is to have the tokens: the layer
//! below has authenticated it. Other messages are not answered.
//!
//! What deliberately does not live here: the rules ([`crate::token::Authority`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::contract::{work, Event, EventKind, NodeId, Operation, Output, Payload, Random};
use crate::crypto::Crypto;
use crate::half_block::PublicKey;
use crate::token::{
    Answer, Authority, Ledger, Order, Record, Rules, Serial, Submission, Token, Work,
};

use super::message::Sender;
use super::wallet_owner::{charge, serial_id, size};
use super::{Body, Directory, Message, Out};

/// The authority as a node.
pub struct AuthoritySession<C, R> {
    sender: Sender,
    authority: Authority<C>,
    random: R,
    directory: Arc<Directory>,
    /// Whom it has named, for which token.
    named: BTreeSet<(Serial, PublicKey)>,
}

impl<C: Crypto, R: Random> AuthoritySession<C, R> {
    /// The session of `authority`, which is a node of `directory`.
    pub fn new(authority: Authority<C>, random: R, directory: Arc<Directory>) -> Self {
        Self {
            sender: Sender::new(directory.authority()),
            authority,
            random,
            directory,
            named: BTreeSet::new(),
        }
    }

    /// What it remembers.
    pub fn ledger(&self) -> &Ledger {
        self.authority.ledger()
    }

    /// Whose rules it follows.
    pub fn rules(&self) -> Rules {
        self.authority.rules()
    }

    /// Whom it has named, for which token.
    pub fn named(&self) -> impl Iterator<Item = &(Serial, PublicKey)> {
        self.named.iter()
    }

    pub(super) fn receive(&mut self, from: NodeId, message: Message, out: &mut Out) {
        work(out, Operation::Decode, message.wire_bytes());
        let Some(key) = self.directory.key(from) else {
            return;
        };
        let answer = match message.body {
            Body::Hello => Body::Welcome,
            Body::Orders(orders) => Body::Minted(self.mint(&key, &orders, out)),
            Body::Submissions(all) => Body::Answers(self.decide(from, &key, &all, out)),
            // What wallet owners say to each other.
            _ => return,
        };
        self.sender.send(from, answer, out);
    }

    fn mint(&mut self, customer: &PublicKey, orders: &[Order], out: &mut Out) -> Arc<[Token]> {
        let mut tokens = Vec::with_capacity(orders.len());
        for order in orders.iter().filter(|order| order.first == *customer) {
            let (mut done, random) = (Work::new(), self.random.bytes());
            let minted = self.authority.mint(order, random, &mut done);
            charge(out, &mut done);
            // A serial that another has is not minted again: 64 random bits each.
            if let Ok((record, token)) = minted {
                store(record.as_ref(), out);
                tokens.push(token);
            }
        }
        tokens.into()
    }

    fn decide(
        &mut self,
        from: NodeId,
        customer: &PublicKey,
        submissions: &[Submission],
        out: &mut Out,
    ) -> Arc<[Answer]> {
        let own = submissions.iter().filter(|one| one.submitter == *customer);
        own.map(|submission| self.decide_one(from, submission, out))
            .collect()
    }

    fn decide_one(&mut self, from: NodeId, submission: &Submission, out: &mut Out) -> Answer {
        let (mut done, random) = (Work::new(), self.random.bytes());
        let decision = self.authority.decide(submission, random, &mut done);
        charge(out, &mut done);
        store(decision.record.as_ref(), out);
        let (serial, bytes) = size(&submission.token);
        let row = Event::new(EventKind::Decide, serial_id(&serial), from, bytes);
        if let Answer::Refused {
            culprits, reason, ..
        } = &decision.answer
        {
            let reason = super::payee::reason(*reason);
            out.push(Output::Observe(row.because(reason)));
            self.name(&serial, culprits, out);
        } else {
            out.push(Output::Observe(row));
        }
        decision.answer
    }

    /// Writes a row for whom it names for the first time.
    fn name(&mut self, serial: &Serial, culprits: &[PublicKey], out: &mut Out) {
        for culprit in culprits {
            let node = self.directory.node(culprit);
            if let (true, Some(node)) = (self.named.insert((*serial, *culprit)), node) {
                let row = Event::new(EventKind::Accuse, serial_id(serial), node, 0);
                out.push(Output::Observe(row));
            }
        }
    }
}

/// What was decided is durable before it is told.
fn store(record: Option<&Record>, out: &mut Out) {
    if let Some(record) = record {
        work(out, Operation::Store, record.encode().len() as u32);
    }
}
