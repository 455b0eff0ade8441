//! Which blocks every phone has stored at the end of a run, byte for byte.
//!
//! What deliberately does not live here: whether they link, and files.

use pocketsim_protocols::contract::Payload;
use pocketsim_protocols::crypto::Crypto;
use pocketsim_protocols::trustchain::Agent;

/// Blocks as columns of one length, by phone, then by their place on its chain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FinalBlocks {
    /// Whose chain.
    pub node: Vec<u32>,
    /// Place on it, from 1 at the start of the run.
    pub place: Vec<u32>,
    /// The other party.
    pub peer: Vec<u32>,
    /// `MessageId` as a number, as in the trace.
    pub message: Vec<u64>,
    /// The bytes on the wire.
    pub block: Vec<Vec<u8>>,
}

impl FinalBlocks {
    /// What `agents` have kept.
    pub fn of<C: Crypto>(agents: &[Agent<C>]) -> Self {
        let mut found = Self::default();
        for (agent, node) in agents.iter().zip(0..) {
            for ((peer, block), place) in agent.kept().iter().zip(1..) {
                found.node.push(node);
                found.place.push(place);
                found.peer.push(peer.0);
                found.message.push(block.message_id().0);
                found.block.push(block.to_json().into_bytes());
            }
        }
        found
    }
}
