//! Datagrams of a link measurement: what is read and written again reads as the same, and is as
//! long as it was.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::peer::codec::{decode, HEADER_BYTES};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(message) = decode(bytes) {
        assert!(bytes.len() >= HEADER_BYTES);
        let again = message.encode(bytes.len());
        assert_eq!(again.len(), bytes.len());
        assert_eq!(again[..HEADER_BYTES], bytes[..HEADER_BYTES]);
        assert_eq!(decode(&again), Ok(message));
    }
});
