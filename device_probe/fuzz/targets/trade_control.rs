//! Control messages of a trade: bytes that are read are written back as they were, within bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::trade::control::{Control, Hello, CONTROL_BYTES_MAX};
use pocketsim_probe_core::trade::envelope::{Envelope, ENVELOPE_BYTES_MAX};
use pocketsim_protocols::crypto::Key;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(control) = Control::decode(bytes) {
        assert_eq!(control.encode(), bytes);
        assert!(bytes.len() <= CONTROL_BYTES_MAX);
    }
    if let Ok(envelope) = Envelope::open(bytes) {
        assert!(bytes.starts_with(&envelope.control.encode()));
        assert!(bytes.len() <= ENVELOPE_BYTES_MAX);
        if let Control::Hello(Hello { key, .. }) = envelope.control {
            envelope.is_by(&key);
        }
        // A point of small order, which would verify anything if verification were not strict.
        assert!(!envelope.is_by(&Key([0; 32])));
    }
});
