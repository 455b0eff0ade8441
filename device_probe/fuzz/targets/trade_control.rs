//! Control messages of a trade: bytes that are read are written back as they were, within bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::trade::control::{Control, CONTROL_BYTES_MAX};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(control) = Control::decode(bytes) {
        assert_eq!(control.encode(), bytes);
        assert!(bytes.len() <= CONTROL_BYTES_MAX);
    }
});
