//! TrustChain as the theses' app runs it: propose, countersign, store, on one block.
//!
//! A proposer signs a block that links to the latest block it has stored, and
//! does not wait: several proposals may stand on one previous hash (the blocks
//! of 600 bytes in the published runs exist only because of that). A countersigner
//! adds the latest hash of its own chain, signs, stores, and returns the block;
//! the proposer checks it against what it proposed and stores it too.
//!
//! A *place* is a proposer and an index. A proposal is refused as
//! * `duplicate`, if its place was countersigned with the same signature within
//!   the duplicate window;
//! * `wrong_receiver`, if it names another countersigner;
//! * `invalid_signature`, if it is not signed by the node it came from;
//! * `fork`, if its place was countersigned within the window with another content;
//! * `broken_link`, if its index is 0, or it is countersigned in part, or its
//!   previous hash is that of a block of this node's chain with somebody else,
//!   or that hash cannot stand there: an honest proposer's latest hash never
//!   recurs and never goes back to none, so in the order of the index equal
//!   previous hashes are neighbours, and those without one come first. Loss,
//!   reordering and open proposals leave both true of the remaining places.
//!
//! A returned block is refused as `wrong_receiver` if another proposed it;
//! `duplicate` if it was stored already, or `fork` if stored with another
//! countersignature; `broken_link` if nothing was proposed like it, or its
//! countersigner's previous hash is of this node's chain with somebody else;
//! `invalid_signature`; and, if the transport had given it up, for that reason.
//! Whatever is refused is observed and counted, and changes nothing else.
//!
//! With [`Retries`] a proposal is open until it is answered or given up: it is sent again, the same
//! block, after each wait, and what the transport says of it decides no more than the reason. Whoever
//! has countersigned it gives the same answer again, and stores nothing. So places are
//! remembered for the deadline of retries on top of the window.
//!
//! What this file does not know: other nodes' chains (so a previous hash that it
//! never saw is believed); places older than the window, which are as new; the
//! whole chain, of which it keeps the head unless it is asked for more. The index is inferred to count the
//! proposals of its proposer: the published traffic goes one way, where that
//! cannot be told from the length of the chain.

use std::sync::Arc;

use crate::block::{Block, Part};
use crate::contract::{
    work, AppRequest, Application, Event, EventKind, Machine, MessageId, NodeId, Operation, Output,
    OutputsOf, Payload, Reason, Seconds,
};
use crate::crypto::{Crypto, Key};

use memory::{Chain, Open, Place, Places, Refusals};
use retries::{Retrier, Turn};

pub use retries::{Chance, Retries};

mod judge;
mod memory;
mod retries;

/// How an agent starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AgentConfig {
    /// Index of its first proposal; 1 for a fresh app.
    pub first_index: u64,
    /// Number of its first transaction in this run.
    pub first_sequence: u32,
    /// Whether its chain already has a head, from runs before this one.
    pub has_history: bool,
    /// For how long a place is remembered, in seconds.
    pub duplicate_window_s: Seconds,
    /// Whether it keeps every block that it stores, which then grow without bound.
    pub keep_blocks: bool,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            first_index: 1,
            first_sequence: 0,
            has_history: false,
            duplicate_window_s: DUPLICATE_WINDOW_S,
            keep_blocks: false,
        }
    }
}

/// One node of TrustChain, proposer and countersigner.
///
/// It remembers at most 65 536 places and as many open proposals; the oldest
/// go first, and an answer to a forgotten proposal is a `broken_link`.
pub struct Agent<C> {
    crypto: C,
    node: NodeId,
    key: Key,
    keys: Arc<[Key]>,
    next_index: u64,
    next_sequence: u32,
    chain: Chain,
    open: Open,
    places: Places,
    refusals: Refusals,
    /// None of an agent that sends nothing again.
    retrier: Option<Box<Retrier>>,
    /// With whom, and what; none unless it is to keep them.
    kept: Option<Vec<(NodeId, Block)>>,
}

type Out<C> = OutputsOf<Agent<C>>;

impl<C: Crypto> Agent<C> {
    /// `node` with its key pair, and the keys of every node by number.
    pub fn new(crypto: C, node: NodeId, keys: Arc<[Key]>, config: AgentConfig) -> Self {
        let key = crypto.public_key();
        Self {
            crypto,
            node,
            key,
            keys,
            next_index: config.first_index,
            next_sequence: config.first_sequence,
            chain: Chain::new(config.has_history.then_some(key)),
            open: Open::default(),
            places: Places::new(config.duplicate_window_s),
            refusals: Refusals::default(),
            retrier: None,
            kept: config.keep_blocks.then(Vec::new),
        }
    }

    /// The same agent, which sends proposals again; waits are drawn from `chance`.
    pub fn with_retries(mut self, retries: Retries, chance: Chance) -> Self {
        self.places.remember_answers(retries.deadline_s);
        self.retrier = Some(Box::new(Retrier::new(retries, chance)));
        self
    }

    /// How often it has sent a proposal again, and given an answer again.
    pub fn repeated(&self) -> (u64, u64) {
        let retrier = self.retrier.as_ref();
        retrier.map_or((0, 0), |retrier| retrier.repeated)
    }

    /// Add somebody to the address book: its number there, or the one that it has.
    ///
    /// The simulator knows everybody from the start; on a network, peers appear. `None` when the
    /// book is full ([`PEERS_MAX`]); nobody is ever taken out, as places and proposals name numbers.
    pub fn introduce(&mut self, key: Key) -> Option<NodeId> {
        if let Some(known) = self.keys.iter().position(|other| *other == key) {
            return Some(NodeId(known as u32));
        }
        if self.keys.len() >= PEERS_MAX {
            return None;
        }
        self.keys = self.keys.iter().copied().chain([key]).collect();
        Some(NodeId(self.keys.len() as u32 - 1))
    }

    /// Index that its next proposal will have.
    pub fn next_index(&self) -> u64 {
        self.next_index
    }

    /// Number that its next transaction will have.
    pub fn next_sequence(&self) -> u32 {
        self.next_sequence
    }

    /// Blocks stored since it started, proposed and countersigned.
    pub fn stored(&self) -> u64 {
        self.chain.length()
    }

    /// The blocks that it stored, each with the other party; none unless it keeps them.
    pub fn kept(&self) -> &[(NodeId, Block)] {
        self.kept.as_deref().unwrap_or_default()
    }

    /// Messages refused for `reason`.
    pub fn refused(&self, reason: Reason) -> u32 {
        self.refusals.count(reason)
    }

    /// A message as bytes off a socket: [`Machine::receive`] if it is a block.
    pub fn receive_bytes(&mut self, from: NodeId, bytes: &[u8], now: Seconds, out: &mut Out<C>) {
        let text = std::str::from_utf8(bytes).unwrap_or_default();
        match Block::from_json(text, from) {
            Ok(mut block) => {
                if block.sender_pubkey == self.key {
                    block.proposer = self.node;
                }
                self.receive(from, block, now, out);
            }
            Err(_) => {
                let bytes = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                work(out, Operation::Decode, bytes);
                let message = MessageId::new(from, UNREADABLE_SEQUENCE);
                self.refuse(message, from, bytes, Reason::Malformed, out);
            }
        }
    }

    fn propose(&mut self, peer: NodeId, payload_bytes: u32, now: Seconds, out: &mut Out<C>) {
        work(out, Operation::Command, payload_bytes);
        let Some(receiver_pubkey) = self.key_of(peer) else {
            let message = MessageId::new(self.node, self.next_sequence);
            return self.refuse(message, peer, 0, Reason::WrongReceiver, out);
        };
        let block = self.next_proposal(receiver_pubkey, payload_bytes);
        let bytes = block.wire_bytes();
        work(out, Operation::Sign, block.signed_bytes(Part::Proposal));
        work(out, Operation::Encode, bytes);
        observe(out, EventKind::Send, &block, peer);
        self.open.push(block);
        if let Some(retrier) = &mut self.retrier {
            retrier.begin(block.message_id(), peer, now);
        }
        send(out, peer, block);
    }

    fn next_proposal(&mut self, receiver_pubkey: Key, payload_bytes: u32) -> Block {
        let mut block = Block {
            proposer: self.node,
            payload: crate::block::Text::new(self.next_sequence, payload_bytes),
            sender_pubkey: self.key,
            receiver_pubkey,
            sender_sig: None,
            receiver_sig: None,
            prev_hash_sender: self.chain.head(),
            prev_hash_receiver: None,
            index: self.next_index,
        };
        block.sign_as_sender(&self.crypto);
        self.next_index += 1;
        self.next_sequence += 1;
        block
    }

    /// Anybody but itself that the address book knows.
    fn key_of(&self, peer: NodeId) -> Option<Key> {
        let key = self.keys.get(peer.0 as usize).copied();
        key.filter(|_| peer != self.node)
    }

    fn countersign(&mut self, from: NodeId, mut block: Block, now: Seconds, out: &mut Out<C>) {
        block.prev_hash_receiver = self.chain.head();
        work(out, Operation::Sign, block.signed_bytes(Part::Agreement));
        block.sign_as_receiver(&self.crypto);
        self.places
            .remember(now, &block, Place::countersigned(&block));
        self.places.keep_answer(&block);
        self.store(from, &block, EventKind::StorePeer, out);
        work(out, Operation::Encode, block.wire_bytes());
        send(out, from, block);
    }

    /// Gives the answer to a repeated proposal again, if it keeps it.
    fn answer_again(&mut self, from: NodeId, proposal: &Block, out: &mut Out<C>) -> bool {
        let (Some(retrier), Some(&answer)) = (&mut self.retrier, self.places.answer(proposal))
        else {
            return false;
        };
        if from != answer.proposer {
            return false;
        }
        retrier.repeated.1 += 1;
        work(out, Operation::Encode, answer.wire_bytes());
        send(out, from, answer);
        true
    }

    fn complete(&mut self, from: NodeId, block: &Block, now: Seconds, out: &mut Out<C>) {
        self.open.close(block);
        if let Some(retrier) = &mut self.retrier {
            retrier.end(block.message_id());
        }
        self.places.remember(now, block, Place::completed(block));
        self.store(from, block, EventKind::Store, out);
    }

    fn store(&mut self, peer: NodeId, block: &Block, kind: EventKind, out: &mut Out<C>) {
        let bytes = block.wire_bytes();
        // Hashed once, here, for every block that will refer to it.
        work(out, Operation::Hash, bytes);
        work(out, Operation::Store, bytes);
        self.chain.append(block.digest::<C>(), peer);
        if let Some(kept) = &mut self.kept {
            kept.push((peer, *block));
        }
        observe(out, kind, block, peer);
    }

    fn undelivered(&mut self, to: NodeId, block: &Block, reason: Reason, out: &mut Out<C>) {
        if let Some(retrier) = &mut self.retrier {
            // An answer is its proposer's business, who asks for it again.
            return retrier.note(block.message_id(), reason);
        }
        let own = block.proposer == self.node;
        // A proposal is given up once; an answer is told of once by its transport.
        if !own || self.open.give_up(block, reason) {
            lose(out, block, to, reason);
        }
    }

    /// The wait of a proposal is over.
    fn take(&mut self, turn: Turn, out: &mut Out<C>) {
        match turn {
            Turn::Again(message, to) => {
                if let Some(&block) = self.open.of(message) {
                    work(out, Operation::Encode, block.wire_bytes());
                    send(out, to, block);
                }
            }
            Turn::GiveUp(message, to, reason) => {
                let open = self.open.of(message).copied();
                if let Some(block) = open.filter(|block| self.open.give_up(block, reason)) {
                    lose(out, &block, to, reason);
                }
            }
        }
    }

    fn refuse(
        &mut self,
        message: MessageId,
        from: NodeId,
        bytes: u32,
        reason: Reason,
        out: &mut Out<C>,
    ) {
        self.refusals.add(reason);
        let event = Event::new(EventKind::Refuse, message, from, bytes);
        out.push(Output::Observe(event.because(reason)));
    }
}

impl<C: Crypto> Machine for Agent<C> {
    type Message = Block;
    type Request = AppRequest<Block>;
    type Value = ();

    fn receive(&mut self, from: NodeId, block: Block, now: Seconds, out: &mut Out<C>) {
        self.places.forget(now);
        work(out, Operation::Decode, block.wire_bytes());
        let verdict = if block.receiver_sig.is_none() {
            observe(out, EventKind::Process, &block, from);
            if self.answer_again(from, &block, out) {
                return;
            }
            self.judge_proposal(from, &block, out)
                .map(|()| self.countersign(from, block, now, out))
        } else {
            observe(out, EventKind::ReceiveBack, &block, from);
            self.judge_answer(from, &block, out)
                .map(|()| self.complete(from, &block, now, out))
        };
        if let Err(reason) = verdict {
            self.refuse(block.message_id(), from, block.wire_bytes(), reason, out);
        }
    }

    fn command(&mut self, request: Self::Request, now: Seconds, out: &mut Out<C>) {
        match request {
            AppRequest::Transact {
                peer,
                payload_bytes,
            } => self.propose(peer, payload_bytes, now, out),
            // The plan pays only where tokens run.
            AppRequest::Pay { .. } => unreachable!("paid without tokens"),
            AppRequest::Undelivered {
                to,
                payload,
                reason,
            } => self.undelivered(to, &payload, reason, out),
        }
    }

    fn handle_timeout(&mut self, now: Seconds, out: &mut Out<C>) {
        while let Some(turn) = self.retrier.as_mut().and_then(|of| of.take_due(now)) {
            self.take(turn, out);
        }
    }

    fn next_timeout(&self) -> Option<(Seconds, &'static str)> {
        // The window is pruned when it is next looked at.
        let date_s = self.retrier.as_ref()?.next_s()?;
        Some((date_s, "no answer"))
    }
}

impl<C: Crypto> Application for Agent<C> {
    type Block = Block;

    fn shut_down(&mut self, unmade: &[MessageId], out: &mut Out<C>) -> usize {
        let Some(retrier) = &mut self.retrier else {
            return 0;
        };
        unmade.iter().for_each(|&message| retrier.end(message));
        for (message, to) in retrier.shut_down() {
            self.take(Turn::GiveUp(message, to, Reason::SenderOff), out);
        }
        self.retrier.as_ref().map_or(0, |retrier| retrier.open())
    }

    fn turn_on(&mut self, now: Seconds) {
        if let Some(retrier) = &mut self.retrier {
            retrier.turn_on(now);
        }
    }
}

fn send<R, V>(out: &mut Vec<Output<Block, R, V>>, to: NodeId, message: Block) {
    out.push(Output::Send { to, message });
}

fn lose<R, V>(out: &mut Vec<Output<Block, R, V>>, block: &Block, to: NodeId, reason: Reason) {
    let event = Event::new(EventKind::Lose, block.message_id(), to, block.wire_bytes());
    out.push(Output::Observe(event.because(reason)));
}

fn observe<M, R, V>(out: &mut Vec<Output<M, R, V>>, kind: EventKind, block: &Block, peer: NodeId) {
    let event = Event::new(kind, block.message_id(), peer, block.wire_bytes());
    out.push(Output::Observe(event));
}

/// The app forgets which messages it has seen after 30 s (Iftode 2025, 3.3).
const DUPLICATE_WINDOW_S: Seconds = 30.0;
/// Somebody who presents new keys without end gets 128 KiB of memory, no more.
pub const PEERS_MAX: usize = 4_096;
/// Stands for the number of a transaction that could not be read.
const UNREADABLE_SEQUENCE: u32 = u32::MAX;
