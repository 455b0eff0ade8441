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

#[cfg(test)]
mod tests {
    use super::*;

    fn key(byte: u8) -> Key {
        Key([byte; 32])
    }

    /// Of a listener that met two diallers.
    fn numbers() -> Numbers {
        let mut numbers = Numbers::new(key(0));
        numbers.add(NodeId(1), key(1), 1);
        numbers.add(NodeId(2), key(2), 3);
        numbers
    }

    fn block(sender: &Key, receiver: &Key) -> Vec<u8> {
        let field = |name, key: &Key| format!("\"{name}\":\"{}\"", STANDARD.encode(key.0));
        let fields = [
            field("sender_pubkey", sender),
            field("receiver_pubkey", receiver),
        ];
        format!("{{{}}}", fields.join(",")).into_bytes()
    }

    #[test]
    fn a_dialler_keeps_its_number_whatever_it_wants() {
        assert_eq!(numbers().free(key(2), 7), 3);
        assert_eq!(numbers().free(key(1), 3), 1);
    }

    #[test]
    fn a_new_one_gets_the_number_that_it_had_elsewhere_if_nobody_has_it() {
        assert_eq!(numbers().free(key(9), 7), 7);
        assert_eq!(
            numbers().free(key(9), 3),
            2,
            "taken: the lowest that is free"
        );
        assert_eq!(numbers().free(key(9), 0), 2, "it has none yet");
        assert_eq!(numbers().free(key(9), PEERS_MAX as u32), 2, "out of range");
    }

    #[test]
    fn nobody_is_its_own_peer() {
        assert_eq!(numbers().node(key(0)), None);
        assert_eq!(numbers().node(key(2)), Some(NodeId(2)));
        assert_eq!(numbers().node(key(9)), None);
    }

    #[test]
    fn a_new_key_takes_the_node_of_the_old_one() {
        let mut numbers = numbers();
        numbers.add(NodeId(2), key(5), 4);
        assert_eq!(numbers.node(key(5)), Some(NodeId(2)));
        assert_eq!(numbers.number(NodeId(2)), 4);
    }

    #[test]
    fn messages_are_called_by_the_number_of_their_origin() {
        let message = MessageId::new(NodeId(2), 17);
        assert_eq!(numbers().message(message), MessageId::new(NodeId(3), 17));
    }

    #[test]
    fn a_proposal_is_its_sender_s_and_an_answer_its_countersigner_s() {
        let theirs = block(&key(1), &key(0));
        assert_eq!(author(&theirs, &key(0)), Some(key(1)));
        let own = block(&key(0), &key(1));
        assert_eq!(author(&own, &key(0)), Some(key(1)));
    }

    #[test]
    fn bytes_without_a_whole_key_are_nobody_s() {
        let whole = block(&key(1), &key(2));
        for end in 0..60 {
            assert_eq!(author(&whole[..end], &key(0)), None, "{end} bytes");
        }
        assert_eq!(author(br#"{"sender_pubkey":"?"}"#, &key(0)), None);
    }
}
