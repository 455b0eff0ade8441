//! What an agent keeps: its chain's head, its open proposals, recent places.
//!
//! Everything here is bounded, by time or by number; the limits are at the end.

use std::collections::{BTreeMap, VecDeque};

use crate::block::Block;
use crate::contract::{MessageId, NodeId, Payload, Reason, Seconds};
use crate::crypto::{Digest, Key, Signature};

/// The head of the own chain, and with whom its last blocks were.
pub(super) struct Chain {
    head: Option<Digest>,
    length: u64,
    recent: VecDeque<(u64, NodeId)>,
}

impl Chain {
    /// With `history`, on a head that stands for blocks that are not kept.
    pub(super) fn new(history: Option<Key>) -> Self {
        Self {
            head: history.map(|key| Digest(key.0)),
            length: 0,
            recent: VecDeque::new(),
        }
    }

    pub(super) fn head(&self) -> Option<Digest> {
        self.head
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    pub(super) fn append(&mut self, hash: Digest, peer: NodeId) {
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((hash.fingerprint(), peer));
        self.head = Some(hash);
        self.length += 1;
    }

    /// Whether `hash` is of a recent block that `peer` was no party to.
    pub(super) fn knows_of_another(&self, hash: Option<Digest>, peer: NodeId) -> bool {
        let of_another = |hash: Digest| {
            let known = |&&(other, _): &&(u64, NodeId)| other == hash.fingerprint();
            let block = self.recent.iter().rev().find(known);
            block.is_some_and(|&(_, party)| party != peer)
        };
        hash.is_some_and(of_another)
    }
}

/// Own proposals that were not answered, in the order they were made.
#[derive(Default)]
pub(super) struct Open {
    // Boxed: 100 000 agents have queues, few of them have proposals in theirs.
    proposals: VecDeque<Box<(Block, Option<Reason>)>>,
}

impl Open {
    pub(super) fn push(&mut self, block: Block) {
        if self.proposals.len() == OPEN_MAX {
            self.proposals.pop_front();
        }
        self.proposals.push_back(Box::new((block, None)));
    }

    /// The proposal of this number.
    pub(super) fn of(&self, message: MessageId) -> Option<&Block> {
        self.place_of(message).map(|at| &self.proposals[at].0)
    }

    /// Whether `answer` is one of them, and unaltered.
    pub(super) fn holds(&self, answer: &Block) -> bool {
        self.position(answer)
            .is_some_and(|at| self.proposals[at].0 == answer.proposal())
    }

    /// Why the transport gave it up, if it did.
    pub(super) fn given_up(&self, answer: &Block) -> Option<Reason> {
        self.position(answer).and_then(|at| self.proposals[at].1)
    }

    /// Note that it will not be answered; false if that is known or nothing is open.
    pub(super) fn give_up(&mut self, block: &Block, reason: Reason) -> bool {
        let Some(at) = self.position(block) else {
            return false;
        };
        self.proposals[at].1.replace(reason).is_none()
    }

    pub(super) fn close(&mut self, answer: &Block) {
        if let Some(at) = self.position(answer) {
            self.proposals.remove(at);
        }
    }

    fn position(&self, block: &Block) -> Option<usize> {
        self.place_of(block.message_id())
    }

    fn place_of(&self, message: MessageId) -> Option<usize> {
        self.proposals
            .binary_search_by_key(&message, |open| open.0.message_id())
            .ok()
    }
}

/// What is remembered of one place.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Of the signature that settled it: the other party's.
    signature: Option<u64>,
    /// Of the proposer's previous hash.
    previous: Option<u64>,
}

impl Place {
    /// One that this node countersigned.
    pub(super) fn countersigned(block: &Block) -> Self {
        Self::settled(block, block.sender_sig)
    }

    /// One that this node proposed and stored.
    pub(super) fn completed(block: &Block) -> Self {
        Self::settled(block, block.receiver_sig)
    }

    fn settled(block: &Block, signature: Option<Signature>) -> Self {
        Self {
            signature: signature.map(|signature| signature.fingerprint()),
            previous: block.prev_hash_sender.map(|hash| hash.fingerprint()),
        }
    }
}

/// The places that were settled within the duplicate window.
pub(super) struct Places {
    window_s: Seconds,
    by_index: BTreeMap<(NodeId, u64), Place>,
    by_age: VecDeque<(Seconds, (NodeId, u64))>,
    /// What this node answered at them; none unless it gives answers again.
    answers: Option<Box<Answers>>,
}

type Answers = BTreeMap<(NodeId, u64), Block>;

impl Places {
    pub(super) fn new(window_s: Seconds) -> Self {
        Self {
            window_s,
            by_index: BTreeMap::new(),
            by_age: VecDeque::new(),
            answers: None,
        }
    }

    /// Keep answers from now on, and all places for so much longer.
    pub(super) fn remember_answers(&mut self, deadline_s: Seconds) {
        self.window_s += deadline_s;
        self.answers = Some(Box::default());
    }

    /// Keep the answer to a proposal as long as its place, if answers are kept.
    pub(super) fn keep_answer(&mut self, block: &Block) {
        if let Some(answers) = &mut self.answers {
            answers.insert((block.proposer, block.index), *block);
        }
    }

    /// What was answered to the same proposal.
    pub(super) fn answer(&self, proposal: &Block) -> Option<&Block> {
        let answers = self.answers.as_ref()?;
        let answer = answers.get(&(proposal.proposer, proposal.index));
        answer.filter(|answer| answer.proposal() == *proposal)
    }

    pub(super) fn at(&self, block: &Block) -> Option<&Place> {
        self.by_index.get(&(block.proposer, block.index))
    }

    pub(super) fn remember(&mut self, now: Seconds, block: &Block, place: Place) {
        if self.by_age.len() == PLACES_MAX {
            self.forget_oldest();
        }
        let key = (block.proposer, block.index);
        self.by_index.insert(key, place);
        self.by_age.push_back((now, key));
    }

    /// Drop what is older than the window.
    pub(super) fn forget(&mut self, now: Seconds) {
        let horizon = now - self.window_s;
        while self.by_age.front().is_some_and(|&(at, _)| at < horizon) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some((_, key)) = self.by_age.pop_front() {
            self.by_index.remove(&key);
            if let Some(answers) = &mut self.answers {
                answers.remove(&key);
            }
        }
    }

    /// Whether the block's previous hash can stand among its proposer's others:
    /// equal ones are neighbours in the order of the index, and none comes first.
    pub(super) fn may_hold(&self, block: &Block) -> bool {
        let previous = block.prev_hash_sender.map(|hash| hash.fingerprint());
        let proposer = block.proposer;
        let at = (proposer, block.index);
        let before = self.by_index.range((proposer, 0)..at).rev();
        let after = self.by_index.range(at..=(proposer, u64::MAX));
        let before = before.map(|(_, place)| place.previous).take(NEIGHBOURS_MAX);
        let after = after.map(|(_, place)| place.previous).take(NEIGHBOURS_MAX);
        let lost = previous.is_none() && before.clone().any(|other| other.is_some());
        let early = previous.is_some() && after.clone().any(|other| other.is_none());
        !lost && !early && !recurs(before, previous) && !recurs(after, previous)
    }
}

/// Whether `previous` appears beyond another one.
fn recurs(mut others: impl Iterator<Item = Option<u64>>, previous: Option<u64>) -> bool {
    let interrupted = others.any(|other| other != previous);
    interrupted && others.any(|other| other == previous)
}

/// How many messages were refused, by reason.
#[derive(Default)]
pub(super) struct Refusals([u32; Reason::ALL.len()]);

impl Refusals {
    pub(super) fn add(&mut self, reason: Reason) {
        self.0[reason as usize] += 1;
    }

    pub(super) fn count(&self, reason: Reason) -> u32 {
        self.0[reason as usize]
    }
}

/// Half a kilobyte per agent; a false hash of an older block is believed.
const RECENT_MAX: usize = 16;
/// More than a link of 500 blocks a second leaves open in two minutes.
const OPEN_MAX: usize = 65_536;
/// More than 2000 blocks a second for the window of 30 s.
const PLACES_MAX: usize = 65_536;
/// Above the 26 proposals that a published run may have had open on one hash.
const NEIGHBOURS_MAX: usize = 32;
