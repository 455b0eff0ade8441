//! A trade's listener that hears control and blocks in any order: the same question gets the same
//! answer however often it is asked, and the tally of a summary never exceeds what was heard.
//!
//! An input is datagrams, each behind two bytes for its length.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::trade::control::{Control, NotControl, CONTROL_BYTES_MAX};
use pocketsim_probe_core::trade::host::Host;
use pocketsim_probe_core::trade::node::Node;
use pocketsim_probe_core::trade::store::Store;

fuzz_target!(|bytes: &[u8]| {
    let node = Node::new([1; 32], Store::default(), Arc::new(|| 0.0));
    let mut host = Host::default();
    let mut blocks = 0;
    for datagram in datagrams(bytes) {
        match Control::decode(datagram) {
            Ok(control) => {
                let answer = host.answer(&control, &node);
                assert_eq!(host.answer(&control, &node), answer);
                check(answer.as_ref(), blocks);
            }
            Err(NotControl::Foreign) => {
                blocks += 1;
                let letters = node.receive(datagram).unwrap_or_default();
                assert!(letters.len() <= 1, "one message, one answer");
            }
            Err(_) => {}
        }
    }
});

fn check(answer: Option<&Control>, blocks: u64) {
    if let Some(answer) = answer {
        assert!(answer.encode().len() <= CONTROL_BYTES_MAX);
        if let Control::Summary { tally, .. } = answer {
            let refused: u32 = tally.refused.iter().map(|(_, count)| count).sum();
            assert!(tally.stored + u64::from(refused) <= blocks);
        }
    }
}

fn datagrams(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let (&[high, low], rest) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes([high, low])).min(rest.len());
        let (datagram, rest) = rest.split_at(length);
        bytes = rest;
        Some(datagram)
    })
}
