//! A half-block and the transaction in it: bytes that are read are written back as they were.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_protocols::half_block::{HalfBlock, Value};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(block) = HalfBlock::decode(bytes) {
        assert_eq!(block.encode(), bytes);
        assert_eq!(block.wire_bytes(), bytes.len());
        block.signature_holds();
        block.hash();
        let _ = Value::decode(&block.transaction);
    }
});
