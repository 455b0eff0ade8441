//! The kernel `trade_bookkeeping`: what the program that trades takes beside the operations that
//! protocols ask for, in the three steps of a trade at its nodes.
//!
//! It runs what `probe trade` runs; `calibration.fit.own` makes costs of the implementation of it.
//! What deliberately does not live here: the operations themselves, steps at the pace of a workload
//! (`kernels::pace`), and files (`kernels::files`).

use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use ed25519_dalek::{Signer, SigningKey, VerifyingKey};
use pocketsim_protocols::block::Block;
use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::crypto::{Key, Signature};
use sha2::{Digest as _, Sha256};

use super::experiment::{case, collect};
use super::inputs::ensure;
use crate::clock::Clock;
use crate::kernel::{Budget, Case, Group, Series, Unmeasured};
use crate::trade::log::Run;
use crate::trade::node::{Letter, Node, TradeClock, Unattributed};
use crate::trade::store::Store;
use crate::trade::Carrier;

/// The cases: steps by what a transaction carries.
pub(super) fn cases() -> Vec<Case> {
    let of = |payload_bytes: u32| {
        let parameters = [("payload_bytes", f64::from(payload_bytes))];
        case(
            Group::Udp,
            "trade_bookkeeping",
            &parameters,
            move |budget| bookkeeping(budget, payload_bytes),
        )
    };
    [PAYLOAD_BYTES, PAYLOAD_BYTES_LARGE].map(of).into()
}

/// Two nodes without sockets, which know each other and have begun to trade.
pub(super) struct Traders {
    pub proposer: Arc<Node>,
    pub countersigner: Arc<Node>,
    peer: NodeId,
    payload_bytes: u32,
}

impl Traders {
    /// With the keys of two secrets, for transactions that carry so much.
    pub fn new(payload_bytes: u32) -> Result<Self, Unmeasured> {
        let began = Instant::now();
        let clock: TradeClock = Arc::new(move || began.elapsed().as_secs_f64());
        let [proposer, countersigner] =
            SECRETS.map(|secret| Arc::new(Node::new(secret, Store::default(), Arc::clone(&clock))));
        let peer = introduced(&proposer, &countersigner)?;
        introduced(&countersigner, &proposer)?;
        Ok(Self {
            proposer,
            countersigner,
            peer,
            payload_bytes,
        })
    }

    /// A new proposal.
    pub fn propose(&self) -> Result<Letter, Unmeasured> {
        only(self.proposer.propose(self.peer, self.payload_bytes))
    }

    /// What answers a proposal.
    pub fn countersign(&self, proposal: &[u8]) -> Result<Letter, Unmeasured> {
        only(self.countersigner.receive(proposal).map_err(refused)?)
    }

    /// No answer was refused, or given up.
    pub fn ensure_all_are_over(&self) -> Result<(), Unmeasured> {
        ensure(
            self.proposer.open() == 0,
            "an answer does not end its trade",
        )
    }

    /// The trade is over.
    pub fn complete(&self, answer: &[u8]) -> Result<(), Unmeasured> {
        let after = self.proposer.receive(answer).map_err(refused)?;
        ensure(after.is_empty(), "an answer does not end its trade")
    }
}

/// The other's number at `node`, which has begun to trade with it.
fn introduced(node: &Node, other: &Node) -> Result<NodeId, Unmeasured> {
    let no_room = || Unmeasured::because("a new node has no room");
    let peer = node.introduce(other.key(), OTHER).ok_or_else(no_room)?;
    let run = Run::new(OTHER, 0, Carrier::Udp, 0);
    node.begin(peer, run).ok_or_else(no_room)?;
    Ok(peer)
}

fn only(letters: Vec<Letter>) -> Result<Letter, Unmeasured> {
    let one: Result<[Letter; 1], _> = letters.try_into();
    one.map(|[letter]| letter)
        .map_err(|_| Unmeasured::because("a step of a trade does not send one letter"))
}

fn refused(why: Unattributed) -> Unmeasured {
    Unmeasured::because(format!("a node refuses a block: {why:?}"))
}

/// Wall time of proposing, of countersigning what was proposed, and of taking the answer, each less
/// its operations on the same blocks right after: what slows both is in neither difference.
fn bookkeeping(budget: &Budget<'_>, payload_bytes: u32) -> Result<Vec<Series>, Unmeasured> {
    let traders = Traders::new(payload_bytes)?;
    let signers = SECRETS.map(|secret| SigningKey::from_bytes(&secret));
    collect(budget, ["propose_s", "countersign_s", "complete_s"], || {
        let mut beside_s = [0.0; 3];
        for _ in 0..TRADES {
            let (steps_s, proposal, answer) = timed_trade(&traders, budget.clock)?;
            let operations_s = timed_operations(&signers, &proposal, &answer, budget.clock)?;
            for (sum, (step_s, operation_s)) in beside_s
                .iter_mut()
                .zip(steps_s.into_iter().zip(operations_s))
            {
                *sum += (step_s - operation_s) / TRADES as f64;
            }
        }
        Ok(beside_s.map(|mean_s: f64| mean_s.max(0.0)))
    })
}

fn timed_trade(traders: &Traders, clock: &Clock) -> Result<([f64; 3], Letter, Letter), Unmeasured> {
    let start = Instant::now();
    let proposal = traders.propose()?;
    let propose_s = clock.since(start);
    let start = Instant::now();
    let answer = traders.countersign(&proposal.bytes)?;
    let countersign_s = clock.since(start);
    let start = Instant::now();
    traders.complete(&answer.bytes)?;
    let complete_s = clock.since(start);
    Ok(([propose_s, countersign_s, complete_s], proposal, answer))
}

/// The operations of each step, in its order (`protocols::trustchain`), as other kernels time them:
/// what is signed, verified and hashed is serialised already.
fn timed_operations(
    [proposer, countersigner]: &[SigningKey; 2],
    proposal: &Letter,
    answer: &Letter,
    clock: &Clock,
) -> Result<[f64; 3], Unmeasured> {
    let (proposed, agreed) = (decoded(&proposal.bytes)?, decoded(&answer.bytes)?);
    let [said, vouched] = [
        Block {
            sender_sig: None,
            ..proposed
        },
        Block {
            receiver_sig: None,
            ..agreed
        },
    ]
    .map(|block| block.to_json().into_bytes());
    let start = Instant::now();
    black_box(proposer.sign(&said));
    black_box(proposed.to_json());
    let propose_s = clock.since(start);
    let start = Instant::now();
    black_box(decoded(&proposal.bytes)?);
    let mut holds = is_signed(&said, &proposed.sender_pubkey, proposed.sender_sig);
    black_box(countersigner.sign(&vouched));
    black_box(Sha256::digest(&answer.bytes));
    black_box(agreed.to_json());
    let countersign_s = clock.since(start);
    let start = Instant::now();
    black_box(decoded(&answer.bytes)?);
    holds &= is_signed(&vouched, &agreed.receiver_pubkey, agreed.receiver_sig);
    black_box(Sha256::digest(&answer.bytes));
    let complete_s = clock.since(start);
    ensure(holds, "a signature does not verify")?;
    Ok([propose_s, countersign_s, complete_s])
}

fn is_signed(bytes: &[u8], key: &Key, signature: Option<Signature>) -> bool {
    let signed = |signature: Signature| {
        let key = VerifyingKey::from_bytes(&key.0).ok()?;
        let signature = ed25519_dalek::Signature::from_bytes(&signature.0);
        key.verify_strict(bytes, &signature).ok()
    };
    signature.and_then(signed).is_some()
}

fn decoded(bytes: &[u8]) -> Result<Block, Unmeasured> {
    let refused = |error: &dyn std::fmt::Display| Unmeasured::because(error.to_string());
    let json = std::str::from_utf8(bytes).map_err(|error| refused(&error))?;
    Block::from_json(json, NodeId(OTHER)).map_err(|error| refused(&error))
}

/// A transaction of the theses.
pub(super) const PAYLOAD_BYTES: u32 = 100;
/// Ten times as much: what a byte takes stands out.
const PAYLOAD_BYTES_LARGE: u32 = 1_000;
/// Whoever they are, keys cost the same.
const SECRETS: [[u8; 32]; 2] = [[1; 32], [2; 32]];
/// The other's number in an experiment of two.
const OTHER: u32 = 1;
/// For one sample: differences are small beside what they are of.
const TRADES: usize = 4;
