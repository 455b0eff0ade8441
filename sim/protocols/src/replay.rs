//! The sizes of the blocks that a benchmark run stores, by running its chain.
//!
//! Two agents talk through the contract as they would through a network; what
//! is chosen here is only which proposals are open at once.

use crate::block::Block;
use crate::contract::{AppRequest, EventKind, Machine, NodeId, Output, OutputsOf};
use crate::crypto::{directory, Counted, Crypto};
use crate::trustchain::{Agent, AgentConfig};

/// Sizes in bytes of the `count` blocks that a proposer stores, in order.
///
/// The first proposal and `outstanding` further ones are made before anything
/// is stored, later ones in lock-step. The chain's index starts at
/// `first_index`; if that is not 1, both chains go on from earlier runs.
pub fn replay_chain(
    payload_bytes: u32,
    first_index: u64,
    count: u32,
    outstanding: u32,
) -> Vec<u32> {
    let mut pair = Pair::new(first_index);
    let at_once = count.min(outstanding.saturating_add(1));
    let mut sizes = pair.trade(at_once, payload_bytes);
    for _ in at_once..count {
        sizes.extend(pair.trade(1, payload_bytes));
    }
    sizes
}

type Out = OutputsOf<Agent<Counted>>;

struct Pair {
    proposer: Agent<Counted>,
    countersigner: Agent<Counted>,
}

impl Pair {
    fn new(first_index: u64) -> Self {
        let keys = directory::<Counted>(SEED, 2);
        let agent = |node, first_index| {
            let config = AgentConfig {
                first_index,
                has_history: first_index != 1,
                ..AgentConfig::default()
            };
            Agent::new(Counted::new(SEED, node), node, keys.clone(), config)
        };
        Self {
            proposer: agent(PROPOSER, first_index),
            countersigner: agent(COUNTERSIGNER, first_index),
        }
    }

    /// `count` proposals at once, then their answers; sizes of what was stored.
    fn trade(&mut self, count: u32, payload_bytes: u32) -> Vec<u32> {
        let mut out = Out::new();
        for _ in 0..count {
            let request = AppRequest::Transact {
                peer: COUNTERSIGNER,
                payload_bytes,
            };
            self.proposer.command(request, 0.0, &mut out);
        }
        let answers = deliver(sent(out), PROPOSER, &mut self.countersigner);
        let stored = deliver(sent(answers), COUNTERSIGNER, &mut self.proposer);
        stored.iter().filter_map(stored_bytes).collect()
    }
}

fn deliver(blocks: Vec<Block>, from: NodeId, to: &mut Agent<Counted>) -> Out {
    let mut out = Out::new();
    for block in blocks {
        to.receive(from, block, 0.0, &mut out);
    }
    out
}

fn sent(out: Out) -> Vec<Block> {
    let message = |output| match output {
        Output::Send { message, .. } => Some(message),
        _ => None,
    };
    out.into_iter().filter_map(message).collect()
}

fn stored_bytes(output: &Output<Block, AppRequest<Block>, ()>) -> Option<u32> {
    match output {
        Output::Observe(event) if event.kind == EventKind::Store => Some(event.size_bytes),
        _ => None,
    }
}

const PROPOSER: NodeId = NodeId(0);
const COUNTERSIGNER: NodeId = NodeId(1);
/// Any would do: sizes do not depend on keys.
const SEED: u64 = 0;
