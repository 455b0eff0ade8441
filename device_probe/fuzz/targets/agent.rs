//! An agent that hears anything: it refuses or answers, and its counts add up.
//!
//! An input is messages with the byte 0xff in between, which no UTF-8 has.
#![no_main]

use libfuzzer_sys::fuzz_target;
use pocketsim_protocols::contract::{
    AppRequest, EventKind, Machine, NodeId, Output, OutputsOf, Reason,
};
use pocketsim_protocols::crypto::{directory, Counted, Crypto};
use pocketsim_protocols::trustchain::{Agent, AgentConfig};

fuzz_target!(|bytes: &[u8]| {
    let (mut agent, peer) = (agent(), NodeId(0));
    let mut out = Vec::new();
    let payload_bytes = 20;
    agent.command(
        AppRequest::Transact {
            peer,
            payload_bytes,
        },
        0.0,
        &mut out,
    );
    for (second, message) in bytes.split(|&byte| byte == 0xff).enumerate() {
        let (stored, refused) = (agent.stored(), refusals(&agent));
        out.clear();
        agent.receive_bytes(peer, message, second as f64, &mut out);
        let seen = |kind| count(&out, kind);
        let stored = agent.stored() - stored;
        assert_eq!(seen(EventKind::Store) + seen(EventKind::StorePeer), stored);
        assert_eq!(
            seen(EventKind::Refuse),
            u64::from(refusals(&agent) - refused)
        );
        assert!(stored + seen(EventKind::Refuse) == 1 || seen(EventKind::ReceiveBack) == 1);
    }
});

fn agent() -> Agent<Counted> {
    let keys = directory::<Counted>(1, 2);
    let node = NodeId(1);
    Agent::new(Counted::new(1, node), node, keys, AgentConfig::default())
}

fn refusals(agent: &Agent<Counted>) -> u32 {
    Reason::ALL
        .iter()
        .map(|&reason| agent.refused(reason))
        .sum()
}

fn count(out: &OutputsOf<Agent<Counted>>, kind: EventKind) -> u64 {
    let is_kind = |output: &&_| matches!(output, Output::Observe(event) if event.kind == kind);
    out.iter().filter(is_kind).count() as u64
}
