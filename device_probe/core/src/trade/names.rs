//! Who is who: keys, the agent's numbers, and the numbers in the experiment.
//!
//! An agent numbers its peers as it meets them, so both ends number differently. In what is
//! written down, the listener is 0 and the diallers are 1, 2 and so on at both ends; a listener
//! that was started again has a new key but is 0 still.

use std::collections::{BTreeMap, BTreeSet};

use base64::{engine::general_purpose::STANDARD, Engine as _};
use pocketsim_protocols::contract::{MessageId, NodeId};
use pocketsim_protocols::crypto::Key;
use pocketsim_protocols::trustchain::PEERS_MAX;

/// The peers of one node, and itself.
#[derive(Debug)]
pub(super) struct Numbers {
    nodes: BTreeMap<Key, NodeId>,
    numbers: Vec<u32>,
    taken: BTreeSet<u32>,
}

impl Numbers {
    pub(super) fn new(own: Key) -> Self {
        Self {
            nodes: BTreeMap::from([(own, NodeId(0))]),
            numbers: vec![0],
            taken: BTreeSet::new(),
        }
    }

    pub(super) fn add(&mut self, node: NodeId, key: Key, number: u32) {
        self.nodes.insert(key, node);
        if self.numbers.len() <= node.0 as usize {
            self.numbers.push(number);
        }
        self.set(node, number);
    }

    pub(super) fn set(&mut self, node: NodeId, number: u32) {
        self.numbers[node.0 as usize] = number;
        self.taken.insert(number);
    }

    pub(super) fn node(&self, key: Key) -> Option<NodeId> {
        let node = self.nodes.get(&key).copied();
        node.filter(|&node| node != NodeId(0))
    }

    pub(super) fn number(&self, node: NodeId) -> u32 {
        self.numbers[node.0 as usize]
    }

    pub(super) fn free(&self, key: Key, wants: u32) -> u32 {
        if let Some(node) = self.node(key) {
            return self.number(node);
        }
        if (1..PEERS_MAX as u32).contains(&wants) && !self.taken.contains(&wants) {
            return wants;
        }
        let is_free = |number: &u32| !self.taken.contains(number);
        (1..).find(is_free).expect("fewer peers than numbers")
    }

    pub(super) fn message(&self, message: MessageId) -> MessageId {
        let origin = NodeId(self.number(message.origin()));
        MessageId::new(origin, message.sequence())
    }
}

/// The key of whoever sent a block to the node of `own`: its proposer, or for a proposal of `own`
/// its countersigner. The block is not judged here; its signatures will tell.
pub(super) fn author(bytes: &[u8], own: &Key) -> Option<Key> {
    let sender = key_field(bytes, b"\"sender_pubkey\":\"")?;
    match sender == *own {
        true => key_field(bytes, b"\"receiver_pubkey\":\""),
        false => Some(sender),
    }
}

fn key_field(bytes: &[u8], name: &[u8]) -> Option<Key> {
    let at = bytes
        .windows(name.len())
        .position(|window| window == name)?;
    let text = bytes.get(at + name.len()..)?.get(..KEY_CHARS)?;
    let key = STANDARD.decode(text).ok()?;
    key.try_into().ok().map(Key)
}

/// 32 bytes in base64 with padding.
const KEY_CHARS: usize = 44;
