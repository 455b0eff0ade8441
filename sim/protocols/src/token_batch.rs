//! One round trip of a batch of offline tokens, as the thesis times it (table I).
//!
//! ```text
//! node 0, the authority       mints n tokens for node 1 ->
//! node 1                      validates, signs each over to node 2 ->
//! ...                         ...
//! the last node               validates, signs each over to node 0 ->
//! node 0                      validates
//! ```
//!
//! A batch is one message. Rows of the trace, of one message: at its origin `begin` before
//! the first signature and `send` after the last; at its receiver `process` when it is there
//! and `store` after the last verification. A batch in which one token does not hold is
//! refused whole; the prototype drops that token alone.
//!
//! What deliberately does not live here: the authority's books (`token`), so no double spend
//! is looked for; reissuing; and the cost of copying tokens to and from bytes, for which the
//! thesis has no figure: what it times with them differs from the signatures alone by less
//! than 2 % (figure 3 and table I).

use std::sync::Arc;

use crate::contract::{
    work, AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Output, OutputsOf,
    Payload, Reason, Seconds,
};
use crate::crypto::{self, Crypto};
use crate::half_block::PublicKey;
use crate::token::{
    chain_holds, first_proof_holds, mint, transfer, Denomination, Promise, Signer, Token, Work,
};

/// Tokens one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    id: MessageId,
    bytes: u32,
    tokens: Arc<Vec<Token>>,
}

impl Batch {
    fn new(id: MessageId, tokens: Vec<Token>) -> Self {
        let bytes = tokens.iter().map(Token::wire_bytes).sum::<usize>();
        Self {
            id,
            bytes: u32::try_from(bytes).expect("the number of tokens comes from 32 bits of bytes"),
            tokens: Arc::new(tokens),
        }
    }

    /// What is in it.
    pub fn tokens(&self) -> &[Token] {
        &self.tokens
    }
}

impl Payload for Batch {
    fn wire_bytes(&self) -> u32 {
        self.bytes
    }

    fn message_id(&self) -> MessageId {
        self.id
    }
}

/// One node of the round trip.
pub struct TokenBatch<C> {
    signer: Signer<C>,
    node: NodeId,
    keys: Arc<[PublicKey]>,
    next_sequence: u32,
    next_serial: u64,
}

/// The names of nodes `0..count`, for [`TokenBatch::new`].
pub fn keys<C: Crypto>(seed: u64, count: u32) -> Arc<[PublicKey]> {
    let halves = crypto::directory::<C>(seed, count);
    let name = |half: &crypto::Key| PublicKey::from_halves(NO_CURVE, *half);
    halves.iter().map(name).collect()
}

impl<C: Crypto> TokenBatch<C> {
    /// A node that has no tokens yet; node 0 is the authority.
    pub fn new(crypto: C, node: NodeId, keys: Arc<[PublicKey]>) -> Self {
        Self {
            signer: Signer::new(crypto, NO_CURVE),
            node,
            keys,
            next_sequence: 0,
            next_serial: 0,
        }
    }

    fn issue(&mut self, to: NodeId, bytes: u32, out: &mut OutputsOf<Self>) {
        let mut work = Work::new();
        let count = bytes / TOKEN_BYTES;
        let tokens = (0..count).map(|_| self.mint_one(to, &mut work)).collect();
        self.send(to, tokens, work, out);
    }

    fn mint_one(&mut self, to: NodeId, work: &mut Work) -> Token {
        let serial = self.next_serial.to_be_bytes();
        self.next_serial += 1;
        let mut nonce = [0; 64];
        nonce[..8].copy_from_slice(&serial);
        let promise = Promise {
            serial,
            denomination: Denomination::from_byte(1).expect("what the prototype mints"),
            nonce,
            first: self.keys[to.0 as usize],
        };
        mint(&self.signer, &promise, work)
    }

    /// Signs every token over to the next node.
    fn hand_on(&mut self, batch: &Batch, out: &mut OutputsOf<Self>) {
        let to = NodeId((self.node.0 + 1) % self.keys.len() as u32);
        let (mut work, mut tokens) = (Work::new(), batch.tokens.to_vec());
        for token in &mut tokens {
            let name = self.keys[to.0 as usize];
            transfer(token, &self.signer, name, None, &mut work)
                .expect("a ring is shorter than the longest token");
        }
        self.send(to, tokens, work, out);
    }

    fn send(
        &mut self,
        to: NodeId,
        tokens: Vec<Token>,
        signatures: Work,
        out: &mut OutputsOf<Self>,
    ) {
        let batch = Batch::new(MessageId::new(self.node, self.next_sequence), tokens);
        self.next_sequence += 1;
        observe(out, EventKind::Begin, &batch, to, None);
        charge(signatures, out);
        observe(out, EventKind::Send, &batch, to, None);
        let message = batch;
        out.push(Output::Send { to, message });
    }

    /// Why the batch is refused, after the work that showed it.
    fn refusal(&self, batch: &Batch, work: &mut Work) -> Option<Reason> {
        let own = self.signer.public_key();
        batch.tokens.iter().find_map(|token| {
            let holds = |work: &mut Work| {
                token.authority == self.keys[0]
                    && first_proof_holds::<C>(token, work)
                    && chain_holds::<C>(token, work)
            };
            match token.last_recipient().key == *own {
                false => Some(Reason::WrongReceiver),
                true => (!holds(work)).then_some(Reason::InvalidSignature),
            }
        })
    }
}

impl<C: Crypto> Machine for TokenBatch<C> {
    type Message = Batch;
    type Request = AppRequest<Batch>;
    type Value = ();

    fn receive(&mut self, from: NodeId, batch: Batch, _now: Seconds, out: &mut OutputsOf<Self>) {
        observe(out, EventKind::Process, &batch, from, None);
        let mut work = Work::new();
        let refusal = self.refusal(&batch, &mut work);
        charge(work, out);
        if let Some(reason) = refusal {
            return observe(out, EventKind::Refuse, &batch, from, Some(reason));
        }
        observe(out, EventKind::Store, &batch, from, None);
        if self.node != AUTHORITY {
            self.hand_on(&batch, out);
        }
    }

    fn command(&mut self, request: Self::Request, _now: Seconds, out: &mut OutputsOf<Self>) {
        match request {
            AppRequest::Transact {
                peer,
                payload_bytes,
            } => self.issue(peer, payload_bytes, out),
            // The plan pays only where tokens run.
            AppRequest::Pay { .. } => unreachable!("paid without tokens"),
            AppRequest::Undelivered {
                to,
                payload,
                reason,
            } => observe(out, EventKind::Lose, &payload, to, Some(reason)),
        }
    }

    fn handle_timeout(&mut self, _now: Seconds, _out: &mut OutputsOf<Self>) {}

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        None
    }
}

impl<C: Crypto> Application for TokenBatch<C> {
    type Block = Batch;
}

fn charge<R, V>(done: Work, out: &mut Vec<Output<Batch, R, V>>) {
    for (operation, bytes) in done {
        work(out, operation, bytes);
    }
}

fn observe<R, V>(
    out: &mut Vec<Output<Batch, R, V>>,
    kind: EventKind,
    batch: &Batch,
    peer: NodeId,
    reason: Option<Reason>,
) {
    out.push(Output::Observe(Event {
        kind,
        message: batch.id,
        peer,
        size_bytes: batch.bytes,
        reason,
    }));
}

/// Mints, and is where the round trip ends.
const AUTHORITY: NodeId = NodeId(0);
/// A token with one recipient: 149 + 138 (Token.kt:131-175).
const TOKEN_BYTES: u32 = 287;
/// Tokens carry this half of a name and never use it (thesis IV-A, note 3).
const NO_CURVE: [u8; 32] = [0; 32];
