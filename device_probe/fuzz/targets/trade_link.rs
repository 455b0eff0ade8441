//! The link of a listener, as a person types it or a camera reads it: what is read and written
//! again reads as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::trade::link::Link;

fuzz_target!(|text: &str| {
    if let Ok(link) = text.parse::<Link>() {
        assert_eq!(link.to_string().parse(), Ok(link.clone()));
        assert!(!link.host.is_empty() && link.port > 0);
    }
});
