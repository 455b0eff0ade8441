//! A trade's listener that hears control and blocks in any order: the same question gets the same
//! answer however often it is asked, and the tally of a summary never exceeds what was heard.
//!
//! An input is datagrams, each behind two bytes for its length. Cookies and signatures are made
//! good here by the secret keys that the target knows: a fuzzer does not find them.
#![no_main]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::trade::control::{Control, Hello, NotControl, CONTROL_BYTES_MAX};
use pocketsim_probe_core::trade::envelope::{seal, Envelope};
use pocketsim_probe_core::trade::host::Host;
use pocketsim_probe_core::trade::node::Node;
use pocketsim_probe_core::trade::store::Store;

fuzz_target!(|bytes: &[u8]| {
    // Time passes with every look at it, so that nobody asks too often.
    let ticks = AtomicU64::new(0);
    let clock = move || ticks.fetch_add(1, Ordering::Relaxed) as f64 * 0.1;
    let node = Node::new([1; 32], Store::default(), Arc::new(clock));
    let diallers = [2, 3].map(|secret| Node::new([secret; 32], Store::default(), Arc::new(|| 0.0)));
    let mut host = Host::new([1; 32]);
    let mut blocks = 0;
    for datagram in datagrams(bytes) {
        match Control::decode(datagram) {
            Ok(control) => {
                let by = &diallers[usize::from(datagram.last().is_some_and(|byte| byte & 1 == 1))];
                let answer = ask(&mut host, control.clone(), by, &node);
                assert_eq!(ask(&mut host, control, by, &node), answer);
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

/// Ask with the key of `by`, and once more if that gives a cookie.
fn ask(host: &mut Host, mut control: Control, by: &Node, node: &Node) -> Option<Control> {
    if let Control::Hello(Hello { key, .. }) = &mut control {
        *key = by.key();
    }
    let mut answer = None;
    for _ in 0..2 {
        let bytes = seal(&control, by);
        let envelope = Envelope::open(&bytes).expect("sealed here");
        answer = host.answer(&envelope, ([192, 0, 2, 1], 5_000).into(), node);
        match (&mut control, &answer) {
            (Control::Hello(Hello { cookie, .. }), Some(Control::Cookie { cookie: new, .. })) => {
                *cookie = *new;
            }
            _ => break,
        }
    }
    answer
}

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
