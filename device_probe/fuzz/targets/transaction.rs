//! A transaction's value: what is read and written again reads as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_protocols::half_block::Value;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(value) = Value::decode(bytes) {
        // Spelling is not unique (`01i5`, `1i+`), and NaN is not equal to itself: compare the
        // canonical bytes.
        let written = value.encode();
        let again = Value::decode(&written).expect("its own encoding");
        assert_eq!(again.encode(), written);
    }
});
