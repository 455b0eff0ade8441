//! A batch of tokens on its round trip, by hand and over the crate's own transports.

use pocketsim_protocols::contract::{
    AppRequest, EventKind, Machine, NodeId, Operation, Output, Outputs, Payload, Reason,
};
use pocketsim_protocols::crypto::{Counted, Crypto, Real};
use pocketsim_protocols::token_batch::{keys, Batch, TokenBatch};

type Out = Outputs<Batch, AppRequest<Batch>, ()>;

fn ring<C: Crypto>(count: u32) -> Vec<TokenBatch<C>> {
    let names = keys::<C>(1, count);
    let node = |number| {
        let node = NodeId(number);
        TokenBatch::new(C::new(1, node), node, names.clone())
    };
    (0..count).map(node).collect()
}

fn order<C: Crypto>(authority: &mut TokenBatch<C>, tokens: u32) -> Out {
    let mut out = Vec::new();
    let request = AppRequest::Transact {
        peer: NodeId(1),
        payload_bytes: tokens * 287,
    };
    authority.command(request, 0.0, &mut out);
    out
}

fn receive<C: Crypto>(node: &mut TokenBatch<C>, from: u32, batch: Batch) -> Out {
    let mut out = Vec::new();
    node.receive(NodeId(from), batch, 0.0, &mut out);
    out
}

fn sent(out: &Out) -> Option<(NodeId, Batch)> {
    out.iter().find_map(|output| match output {
        Output::Send { to, message } => Some((*to, message.clone())),
        _ => None,
    })
}

/// Rows and work in order; equal ones in a row once, with their number.
fn steps(out: &Out) -> Vec<(usize, &'static str)> {
    let mut steps: Vec<(usize, &'static str)> = Vec::new();
    for output in out {
        let name = match output {
            Output::Work { operation, .. } => operation.name(),
            Output::Observe(event) => event.kind.name(),
            Output::Send { .. } => "(send)",
            _ => "(else)",
        };
        match steps.last_mut().filter(|(_, last)| *last == name) {
            Some((count, _)) => *count += 1,
            None => steps.push((1, name)),
        }
    }
    steps
}

fn round_trip<C: Crypto>() {
    let mut nodes = ring::<C>(3);
    let out = order(&mut nodes[0], 5);
    assert_eq!(
        steps(&out),
        [(1, "begin"), (5, "sign"), (1, "send"), (1, "(send)")]
    );
    let (_, mut batch) = sent(&out).expect("minted");
    for (from, to, recipients) in [(0, 1, 1), (1, 2, 2), (2, 0, 3)] {
        assert_eq!(batch.wire_bytes() as usize, 5 * (149 + 138 * recipients));
        assert_eq!(batch.message_id().origin(), NodeId(from));
        let out = receive(&mut nodes[to as usize], from, batch.clone());
        let checks = [(1, "process"), (5 * recipients, "verify"), (1, "store")];
        assert_eq!(steps(&out)[..3], checks);
        if to == 0 {
            assert_eq!(out.len(), 2 + 5 * recipients, "the authority keeps them");
        } else {
            let (next, signed) = sent(&out).expect("handed on");
            assert_eq!(next, NodeId((to + 1) % 3));
            assert_eq!(steps(&out)[3..5], [(1, "begin"), (5, "sign")]);
            batch = signed;
        }
    }
}

#[test]
fn tokens_go_round_and_every_signature_is_made_and_checked() {
    round_trip::<Real>();
    round_trip::<Counted>();
}

#[test]
fn work_names_the_bytes_that_are_signed() {
    let mut nodes = ring::<Counted>(3);
    let (_, batch) = sent(&order(&mut nodes[0], 1)).expect("minted");
    let out = receive(&mut nodes[1], 0, batch);
    let bytes: Vec<(Operation, u32)> = out
        .iter()
        .filter_map(|output| match output {
            Output::Work { operation, bytes } => Some((*operation, *bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(bytes, [(Operation::Verify, 147), (Operation::Sign, 138)]);
}

#[test]
fn serials_differ_within_and_between_batches() {
    let mut nodes = ring::<Counted>(3);
    let mut serials: Vec<_> = (0..3)
        .filter_map(|_| sent(&order(&mut nodes[0], 10)))
        .flat_map(|(_, batch)| {
            let serials = batch.tokens().iter().map(|token| token.serial);
            serials.collect::<Vec<_>>()
        })
        .collect();
    serials.sort_unstable();
    serials.dedup();
    assert_eq!(serials.len(), 30);
}

#[test]
fn what_is_for_somebody_else_is_refused_without_a_check() {
    let mut nodes = ring::<Counted>(3);
    let (_, batch) = sent(&order(&mut nodes[0], 4)).expect("minted");
    let out = receive(&mut nodes[2], 0, batch);
    assert_eq!(steps(&out), [(1, "process"), (1, "refuse")]);
    assert_eq!(reason(&out), Some(Reason::WrongReceiver));
}

#[test]
fn a_token_of_another_authority_is_refused() {
    let mut nodes = ring::<Counted>(3);
    let strangers = keys::<Counted>(2, 3);
    let crypto = Counted::new(2, NodeId(0));
    // Another seed, the same names of recipients: a forger who knows whom it pays.
    let mut names = keys::<Counted>(1, 3).to_vec();
    names[0] = strangers[0];
    let mut forger = TokenBatch::new(crypto, NodeId(0), names.into());
    let (_, batch) = sent(&order(&mut forger, 2)).expect("minted");
    let out = receive(&mut nodes[1], 0, batch);
    assert_eq!(reason(&out), Some(Reason::InvalidSignature));
    assert!(sent(&out).is_none());
}

#[test]
fn what_cannot_be_delivered_is_lost() {
    let mut nodes = ring::<Counted>(3);
    let (to, payload) = sent(&order(&mut nodes[0], 1)).expect("minted");
    let reason_given = Reason::IdleTimeout;
    let mut out: Out = Vec::new();
    let request = AppRequest::Undelivered {
        to,
        payload,
        reason: reason_given,
    };
    nodes[0].command(request, 0.0, &mut out);
    assert_eq!(steps(&out), [(1, "lose")]);
    assert_eq!(reason(&out), Some(reason_given));
}

fn reason(out: &Out) -> Option<Reason> {
    out.iter().find_map(|output| match output {
        Output::Observe(event) if event.kind != EventKind::Process => event.reason,
        _ => None,
    })
}
