//! Payments between machines, one mechanism at a time.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::town::*;
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::{Counted, Real};
use pocketsim_protocols::payment::*;
use pocketsim_protocols::token::Handshake;

#[test]
fn a_payment_with_change_arrives_whole() {
    let mut town = Town::<Real>::new(3, CALM);
    town.run_until(10.0);
    assert_eq!([town.cents(0), town.cents(1)], [8_300, 8_300]);
    town.pay(1, 2, 2_470, Conduct::Honest);
    town.run_for(1.0);
    assert_eq!(
        [town.cents(1), town.cents(2)],
        [8_300 - 2_470, 8_300 + 2_470]
    );
    // What is left is notes, too large for this.
    town.pay(1, 2, 333, Conduct::Honest);
    town.run_for(1.0);
    town.pay(1, 2, 777, Conduct::Honest);
    town.run_for(1.0);
    assert_eq!(town.cents(1) + town.cents(2), 2 * 8_300);
    assert_eq!(town.messages(EventKind::Store).len(), 3);
    assert_eq!(
        town.messages(EventKind::Store),
        town.messages(EventKind::StorePeer)
    );
    assert_eq!(town.audit().circulating_cents, 3 * 8_300);
}

#[test]
fn without_a_network_payments_go_on_and_are_verified_afterwards() {
    let mut town = Town::<Counted>::new(4, CALM);
    town.run_until(10.0);
    town.online = false;
    for hop in [(1, 2), (2, 3), (3, 1), (1, 3)] {
        town.pay(hop.0, hop.1, 1_000, Conduct::Honest);
        town.run_for(1_000.0);
    }
    assert_eq!(town.messages(EventKind::Store).len(), 4);
    assert_eq!(
        town.count(EventKind::Submit),
        0,
        "nothing is signed away in vain"
    );
    town.online = true;
    town.run_for(2_000.0);
    let unverified =
        |node: &Participant<_, _>| node.wallet_owner().map(|of| of.wallet().unverified_cents());
    assert!(town
        .nodes
        .iter()
        .filter_map(unverified)
        .all(|cents| cents == 0));
    assert!(town.count(EventKind::Settle) > 0);
    town.audit();
}

#[test]
fn online_nothing_is_paid_without_a_network() {
    let acceptance = Acceptance::Online;
    let mut town = Town::<Counted>::new(3, Setting { acceptance, ..CALM });
    town.run_until(10.0);
    // Nobody has called of late, so the payee has to.
    town.run_for(60.0);
    town.pay(1, 2, 1_000, Conduct::Honest);
    town.run_for(0.2);
    assert_eq!(town.messages(EventKind::Store).len(), 1, "at once");
    let owner = town.nodes[2].wallet_owner().expect("no authority");
    assert_eq!(
        owner.wallet().unverified_cents(),
        0,
        "verified before the receipt"
    );
    town.online = false;
    town.run_for(60.0);
    town.pay(1, 2, 1_000, Conduct::Honest);
    town.run_for(60.0);
    assert_eq!(town.messages(EventKind::Store).len(), 1);
    assert_eq!(town.reasons(EventKind::Lose), [Some(Reason::SocketTimeout)]);
    town.audit();
}

#[test]
fn online_a_double_spender_is_refused_before_the_receipt() {
    let acceptance = Acceptance::Online;
    let mut town = Town::<Counted>::new(4, Setting { acceptance, ..CALM });
    town.run_until(10.0);
    town.pay(1, 2, 5_000, Conduct::DoubleSpend);
    town.run_for(5.0);
    town.pay(1, 3, 5_000, Conduct::DoubleSpend);
    town.run_for(5.0);
    assert_eq!(town.messages(EventKind::Store).len(), 1);
    for kind in [EventKind::Refuse, EventKind::Lose] {
        assert_eq!(
            town.reasons(kind),
            [Some(Reason::Fork)],
            "what the authority said"
        );
    }
    assert!(town.audit().accused > 0);
    assert_eq!(town.cents(3), 8_300);
}

#[test]
fn offline_a_double_spender_is_named_afterwards_and_the_second_payee_loses() {
    let mut town = Town::<Counted>::new(4, CALM);
    town.run_until(10.0);
    town.online = false;
    town.pay(1, 2, 5_000, Conduct::DoubleSpend);
    town.run_for(5.0);
    assert_eq!(
        town.count(EventKind::DoubleSpend),
        0,
        "kept, and not spent again"
    );
    town.pay(1, 3, 5_000, Conduct::DoubleSpend);
    town.run_for(5.0);
    assert!(town.count(EventKind::DoubleSpend) > 0);
    assert_eq!(town.messages(EventKind::Store).len(), 2, "nobody can know");
    assert_eq!(town.cents(2) + town.cents(3), 2 * (8_300 + 5_000));
    let before = town.audit();
    assert_eq!((before.accused, before.undetected_cents > 0), (0, true));
    town.online = true;
    town.run_for(2_000.0);
    let after = town.audit();
    assert!(after.accused > 0 && after.wrongly_accused == 0);
    assert_eq!(after.undetected_serials, 0);
    let accused = town
        .events
        .iter()
        .filter(|(_, _, event)| event.kind == EventKind::Accuse);
    let culprits: BTreeSet<NodeId> = accused.map(|(_, _, event)| event.peer).collect();
    assert_eq!(culprits, BTreeSet::from([NodeId(1)]));
    assert_eq!(town.cents(2) + town.cents(3), 2 * 8_300 + 5_000);
}

#[test]
fn who_pays_with_a_token_that_was_spent_twice_gets_the_others_back() {
    let mut town = Town::<Counted>::new(4, CALM);
    town.run_until(10.0);
    town.online = false;
    for payee in [2, 3] {
        town.pay(1, payee, 1_000, Conduct::DoubleSpend);
        town.run_for(5.0);
    }
    let both_cents = town.cents(2) + town.cents(3);
    // All of it, so what node 3 has too is among it.
    let all_cents = town.cents(2);
    town.pay(2, 3, all_cents as u32, Conduct::Honest);
    town.run_for(5.0);
    assert_eq!(town.count(EventKind::Refuse), 1);
    assert_eq!(
        town.cents(2),
        all_cents - 1_000,
        "but for what it was cheated of"
    );
    assert_eq!(town.cents(2) + town.cents(3), both_cents - 1_000);
    assert_eq!(worth(town.owner(2).refused()), all_cents, "signed away");
    assert_eq!(town.audit().wrongly_accused, 0);
}

/// Nodes 1 and 2 have agreed on a payment with change, and node 2 has paid all that it could have
/// given it with away before it is paid: the payment, and the change in cents.
fn change_that_left(town: &mut Town<Counted>) -> (MessageId, u64) {
    town.run_until(10.0);
    // What is left are three notes of 20 EUR.
    for cents in [1_000, 1_300] {
        town.pay(1, 0, cents, Conduct::Honest);
        town.run_for(5.0);
    }
    town.online = false;
    town.pay(1, 2, 1_500, Conduct::Honest);
    let (_, (_, _, message)) = town.mail.pop_first().expect("an offer");
    let Body::Offer { payment, .. } = message.body else {
        panic!("{message:?}");
    };
    let request = town.give(1, 2, message.body).remove(0);
    let signed = town.give(2, 1, request).remove(0);
    town.pay(2, 0, 8_300, Conduct::Honest);
    town.run_for(0.5);
    assert_eq!(town.cents(2), 0);
    assert_eq!(town.give(1, 2, signed), [], "no receipt without change");
    (payment, 500)
}

#[test]
fn change_that_is_owed_is_withdrawn_once_and_given_though_the_payer_is_silent() {
    let mut town = Town::<Counted>::new(3, CALM);
    let (payment, change_cents) = change_that_left(&mut town);
    assert_eq!(town.owner(2).owed_cents(), change_cents);
    assert!(!town.messages(EventKind::StorePeer).contains(&payment));
    let minted_cents = town.audit().minted_cents;
    town.online = true;
    town.run_without(1, 1_000.0);
    assert_eq!(town.owner(2).owed_cents(), 0);
    assert_eq!(town.audit().minted_cents, minted_cents + change_cents);
    assert!(town.messages(EventKind::StorePeer).contains(&payment));
    assert!(town.messages(EventKind::Store).contains(&payment));
    assert_eq!([town.cents(1), town.cents(2)], [4_500, 2_000]);
}

/// Node 2 is paid 50 EUR for nothing, and change is wanted, in a payment that it never asked for.
fn paid_unasked(acceptance: Acceptance) -> (Town<Counted>, Body, Vec<Body>) {
    let handshake = Handshake::None;
    let setting = Setting {
        handshake,
        acceptance,
        ..CALM
    };
    let mut town = Town::<Counted>::new(3, setting);
    town.run_until(10.0);
    let (payment, challenge) = (town.offered(1, 2, 5_000), None);
    let signed = town.give(2, 1, Body::Request { payment, challenge });
    let Body::Payment { terms, tokens, .. } = signed[0].clone() else {
        panic!("{signed:?}");
    };
    let terms = Terms {
        amount_cents: 0,
        ..terms
    };
    let body = Body::Payment {
        payment,
        terms,
        tokens,
    };
    let sent = town.give(1, 2, body.clone());
    (town, body, sent)
}

#[test]
fn there_is_no_change_for_what_was_never_asked_for() {
    let (mut town, body, receipt) = paid_unasked(Acceptance::Offline);
    let is_thanks = |body: &Body| match body {
        Body::Receipt {
            refusal, change, ..
        } => refusal.is_none() && change.is_empty(),
        _ => false,
    };
    assert!(
        matches!(&receipt[..], [one] if is_thanks(one)),
        "{receipt:?}"
    );
    assert_eq!(town.cents(2), 8_300 + 5_000);
    assert_eq!(town.give(1, 2, body), receipt, "kept to be given again");
    assert_eq!(town.cents(2), 8_300 + 5_000);
}

#[test]
fn online_what_was_never_asked_for_is_verified_before_its_receipt() {
    let (mut town, body, sent) = paid_unasked(Acceptance::Online);
    let [Body::Submissions(submissions)] = &sent[..] else {
        panic!("{sent:?}");
    };
    assert_eq!(worth(submissions.iter().map(|one| &one.token)), 5_000);
    assert_eq!(town.give(1, 2, body), [], "nothing is said before that");
    // What was not carried is submitted again.
    town.run_for(1_000.0);
    assert_eq!(town.messages(EventKind::StorePeer).len(), 1);
    assert_eq!(town.cents(2), 8_300 + 5_000);
}

#[test]
fn there_is_no_change_beyond_what_was_tendered() {
    let mut town = Town::<Counted>::new(3, CALM);
    town.run_until(10.0);
    let payment = town.offered(1, 2, 5_000);
    let offer = Body::Offer {
        payment,
        amount_cents: 1_000,
        tendered_cents: 1_200,
    };
    let request = town.give(1, 2, offer).remove(0);
    let signed = town.give(2, 1, request).remove(0);
    let receipt = town.give(1, 2, signed);
    let [Body::Receipt { change, .. }] = &receipt[..] else {
        panic!("{receipt:?}");
    };
    assert_eq!(worth(change.iter()), 200);
    assert_eq!(town.cents(2), 8_300 + 5_000 - 200);
}

#[test]
fn nobody_is_paid_with_nothing() {
    let mut town = Town::<Counted>::new(3, CALM);
    town.run_until(10.0);
    for sequence in 0..2_000 {
        let terms = Terms {
            amount_cents: 0,
            tendered_cents: 5_000,
            challenge: None,
        };
        let body = Body::Payment {
            payment: MessageId::new(NodeId(1), 1_000 + sequence),
            terms,
            tokens: Arc::from([]),
        };
        town.give(1, 2, body);
    }
    assert_eq!(town.cents(2), 8_300);
    assert_eq!(town.owner(2).outbox().count(), 0, "nothing is kept of it");
}

/// The thesis's victim: paid twice with one token, it spends it twice in good faith.
fn replay(handshake: Handshake) -> Town<Counted> {
    let mut town = Town::<Counted>::new(5, Setting { handshake, ..CALM });
    town.run_until(10.0);
    town.online = false;
    town.pay(1, 2, 5_000, Conduct::Honest);
    town.run_for(5.0);
    for payee in [3, 4] {
        // All that it has, so the paid tokens are among it.
        town.pay(2, payee, town.cents(2) as u32, Conduct::Honest);
        town.run_for(5.0);
        town.pay(1, 2, 5_000, Conduct::Replay);
        town.run_for(5.0);
    }
    town.online = true;
    town.run_for(2_000.0);
    town
}

#[test]
fn a_replay_makes_its_victim_the_accused_unless_he_asks_for_an_answer() {
    let robbed = replay(Handshake::None);
    let found = robbed.audit();
    assert!(found.wrongly_accused > 0);
    assert_eq!(found.wrongly_accused, found.accused);
    let under_oath = audit(&robbed.nodes, &robbed.directory, Handshake::Challenge);
    let violation = under_oath.expect_err("with the handshake nobody is accused wrongly");
    assert!(violation.0.contains("accused"), "{violation:?}");
    let saved = replay(Handshake::Challenge);
    assert_eq!(saved.audit().accused, 0);
    assert_eq!(saved.count(EventKind::Refuse), 2, "both replays");
}

#[test]
fn a_payment_is_cancelled_when_nobody_answers_and_its_request_is_forgotten() {
    let mut town = Town::<Counted>::new(2, CALM);
    town.run_until(10.0);
    town.pay(1, 0, 100, Conduct::Honest);
    town.run_without(0, 20.0);
    assert_eq!(town.owner(0).outbox().count(), 1, "it has asked");
    town.run_without(0, 20.0);
    assert_eq!(town.reasons(EventKind::Lose), [Some(Reason::SocketTimeout)]);
    assert_eq!(town.cents(1), 8_300);
    assert_eq!(town.owner(0).outbox().count(), 0);
}

#[test]
fn nobody_pays_what_he_has_not_nor_himself_nor_a_stranger() {
    let mut town = Town::<Counted>::new(2, CALM);
    town.run_until(10.0);
    town.pay(1, 0, 90_000, Conduct::Honest);
    town.pay(1, 1, 100, Conduct::Honest);
    town.pay(1, 7, 100, Conduct::Honest);
    assert_eq!(town.count(EventKind::Unpayable), 3);
    assert!(town.mail.is_empty());
}

#[test]
fn a_shop_cashes_in_what_is_above_its_till() {
    let mut town = Town::<Counted>::new(3, CALM);
    town.run_until(10.0);
    town.pay(1, 0, 5_000, Conduct::Honest);
    town.pay(2, 0, 5_000, Conduct::Honest);
    town.run_for(2_000.0);
    let audit = town.audit();
    assert!(
        (5_000..=10_000).contains(&audit.redeemed_cents),
        "{audit:?}"
    );
    assert_eq!(
        audit.minted_cents,
        audit.redeemed_cents + audit.circulating_cents
    );
}
