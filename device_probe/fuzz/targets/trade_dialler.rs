//! A trade's dialler that hears control and answers in any order: whoever is introduced has signed
//! for it, and nothing is stored that the listener did not countersign.
//!
//! An input is datagrams, each behind two bytes for its length. Control that decodes is signed here
//! by the listener's secret key, or by another's if its last byte is odd.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use pocketsim_probe_core::trade::control::{Control, NotControl};
use pocketsim_probe_core::trade::envelope::{seal, Envelope};
use pocketsim_probe_core::trade::log::Run;
use pocketsim_probe_core::trade::negotiation::{Goal, Met, Negotiation};
use pocketsim_probe_core::trade::node::Node;
use pocketsim_probe_core::trade::store::Store;
use pocketsim_probe_core::trade::Carrier;

fuzz_target!(|bytes: &[u8]| {
    let node = |secret| Node::new([secret; 32], Store::default(), Arc::new(|| 0.0));
    let (dialler, listener, other) = (node(2), node(1), node(3));
    let mut asks = Negotiation::new(1, dialler.key(), Carrier::Udp);
    let peer = dialler.introduce(listener.key(), 0).expect("room for one");
    let run = Run::new(1, 0, Carrier::Udp, 0);
    dialler.begin(peer, run).expect("room for one");
    for _ in 0..2 {
        dialler.propose(peer, 10);
    }
    let mut now_s = 0.0;
    for datagram in datagrams(bytes) {
        now_s += 0.3;
        asks.poll(now_s);
        match Control::decode(datagram) {
            Ok(control) => {
                let is_odd = datagram.last().is_some_and(|byte| byte & 1 == 1);
                let by = if is_odd { &other } else { &listener };
                let bytes = seal(&control, by);
                let met = asks.receive(&Envelope::open(&bytes).expect("sealed here"));
                check(met, by);
            }
            Err(NotControl::Foreign) => {
                dialler.receive(datagram).unwrap_or_default();
            }
            Err(_) => asks.aim(Goal::Summarised(0)),
        }
    }
    let tally = dialler.tally(0);
    assert!(tally.stored <= 2, "two were proposed");
});

fn check(met: Option<Met>, by: &Node) {
    if let Some(met) = met {
        assert_eq!(met.key, by.key());
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
