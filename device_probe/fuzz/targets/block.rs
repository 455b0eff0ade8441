//! A block as JSON: whatever is read is spelled exactly like that, and has the size it says.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_protocols::block::Block;
use pocketsim_protocols::contract::{NodeId, Payload};

fuzz_target!(|text: &str| {
    if let Ok(block) = Block::from_json(text, NodeId(3)) {
        assert_eq!(block.to_json(), text);
        assert_eq!(block.wire_bytes() as usize, text.len());
        assert_eq!(block.proposer, NodeId(3));
    }
});
