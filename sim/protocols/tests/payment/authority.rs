//! What the authority answers, and to whom; what wallet owners do with its answers.

use super::town::*;
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::payment::*;
use pocketsim_protocols::token::Handshake;

const OTHER: u32 = 0;
const PAYER: u32 = 1;
const PAYEE: u32 = 2;
const AUTHORITY: u32 = 3;

fn town(handshake: Handshake) -> Town<Counted> {
    Town::<Counted>::new(3, Setting { handshake, ..CALM })
}

/// What `node` is sent, or sends, by the authority: taken out of the mail as soon as it is there.
fn catch(town: &mut Town<Counted>, is_it: impl Fn(NodeId, NodeId, &Body) -> bool) -> Body {
    for _ in 0..2_000_000 {
        let found = town.mail.iter().find_map(|(key, (from, to, message))| {
            is_it(*from, *to, &message.body).then_some(*key)
        });
        if let Some(key) = found {
            let (_, _, message) = town.mail.remove(&key).expect("it is there");
            return message.body;
        }
        town.run_for(0.001);
    }
    panic!("nobody said that");
}

fn answers_to(node: u32) -> impl Fn(NodeId, NodeId, &Body) -> bool {
    move |_, to, body| to == NodeId(node) && matches!(body, Body::Answers(_))
}

fn pay_all(town: &mut Town<Counted>, from: u32, to: u32) {
    let cents = town.cents(from) as u32;
    town.pay(from, to, cents, Conduct::Honest);
    town.run_for(1.0);
    assert_eq!(town.cents(from), 0);
}

#[test]
fn tokens_are_minted_for_who_orders_them_himself() {
    let mut town = town(Handshake::Challenge);
    let is_order = |from, _, body: &Body| from == NodeId(PAYER) && matches!(body, Body::Orders(_));
    let orders = catch(&mut town, is_order);
    let minted_cents = town.audit().minted_cents;
    let answer = town.give(OTHER, AUTHORITY, orders.clone());
    assert!(matches!(&answer[..], [Body::Minted(tokens)] if tokens.is_empty()));
    assert_eq!(town.audit().minted_cents, minted_cents);
    let answer = town.give(PAYER, AUTHORITY, orders);
    assert!(matches!(&answer[..], [Body::Minted(tokens)] if !tokens.is_empty()));
    assert_eq!(town.audit().minted_cents, minted_cents + 8_300);
}

#[test]
fn tokens_are_decided_on_for_who_submits_them_himself() {
    let mut town = town(Handshake::Challenge);
    town.run_until(10.0);
    town.pay(PAYER, PAYEE, 1_000, Conduct::Honest);
    let is_submission =
        |from, _, body: &Body| from == NodeId(PAYEE) && matches!(body, Body::Submissions(_));
    let submissions = catch(&mut town, is_submission);
    let answer = town.give(OTHER, AUTHORITY, submissions.clone());
    assert!(matches!(&answer[..], [Body::Answers(answers)] if answers.is_empty()));
    assert_eq!(town.count(EventKind::Decide), 0);
    let answer = town.give(PAYEE, AUTHORITY, submissions);
    assert!(matches!(&answer[..], [Body::Answers(answers)] if answers.len() == 1));
    assert_eq!(town.count(EventKind::Decide), 1);
}

#[test]
fn what_was_minted_is_taken_once_though_it_comes_again_without_the_handshake() {
    let mut town = town(Handshake::None);
    let is_minted = |_, to, body: &Body| to == NodeId(PAYER) && matches!(body, Body::Minted(_));
    let minted = catch(&mut town, is_minted);
    town.give(AUTHORITY, PAYER, minted.clone());
    assert_eq!(town.cents(PAYER), 8_300);
    town.run_until(10.0);
    pay_all(&mut town, PAYER, PAYEE);
    town.give(AUTHORITY, PAYER, minted);
    assert_eq!(town.cents(PAYER), 0);
}

#[test]
fn only_the_authority_is_believed_to_be_it() {
    let mut town = town(Handshake::None);
    let is_minted = |_, to, body: &Body| to == NodeId(PAYER) && matches!(body, Body::Minted(_));
    let minted = catch(&mut town, is_minted);
    town.give(OTHER, PAYER, minted.clone());
    assert_eq!(town.cents(PAYER), 0);
    town.give(AUTHORITY, PAYER, minted);
    assert_eq!(town.cents(PAYER), 8_300);
}

#[test]
fn a_late_answer_does_not_settle_a_later_submission_of_the_same_tokens() {
    let mut town = town(Handshake::Challenge);
    town.run_until(10.0);
    pay_all(&mut town, PAYER, PAYEE);
    let first = catch(&mut town, answers_to(PAYEE));
    town.give(AUTHORITY, PAYEE, first.clone());
    let settled = town.count(EventKind::Settle);
    assert!(settled > 0);
    town.run_for(20.0);
    pay_all(&mut town, PAYEE, PAYER);
    pay_all(&mut town, PAYER, PAYEE);
    let before = town.count(EventKind::Settle);
    let second = catch(&mut town, answers_to(PAYEE));
    let pending_cents = town.owner(PAYEE).wallet().pending_cents();
    assert!(pending_cents > 0);
    let others = town.count(EventKind::Settle) - before;
    town.give(AUTHORITY, PAYEE, first);
    assert_eq!(town.count(EventKind::Settle), before + others, "late");
    assert_eq!(town.owner(PAYEE).wallet().pending_cents(), pending_cents);
    town.give(AUTHORITY, PAYEE, second);
    assert!(town.count(EventKind::Settle) > before + others);
    assert!(town.owner(PAYEE).wallet().pending_cents() < pending_cents);
}
