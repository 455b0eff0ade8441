//! How much a payee keeps in mind, and what it forgets when there is no room for more.

use std::sync::Arc;

use super::town::*;
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::payment::*;
use pocketsim_protocols::token::Handshake;

const PAYER: u32 = 1;
const PAYEE: u32 = 2;
const AUTHORITY: u32 = 3;

fn town(setting: Setting) -> Town<Counted> {
    let mut town = Town::<Counted>::new(3, setting);
    town.run_until(10.0);
    town
}

/// A payment of the payer's, who is played by the test.
fn payment(number: u32) -> MessageId {
    MessageId::new(NodeId(PAYER), 9_000 + number)
}

fn payments(numbers: impl Iterator<Item = u32>) -> Vec<MessageId> {
    numbers.map(payment).collect()
}

/// The payments whose tokens the payee asks for when it gets `body`.
fn asked_for(town: &mut Town<Counted>, from: u32, body: Body) -> Vec<MessageId> {
    let sent = town.give(from, PAYEE, body).into_iter();
    let payments = sent.filter_map(|body| match body {
        Body::Request { payment, .. } => Some(payment),
        _ => None,
    });
    payments.collect()
}

/// Whether it asks for the tokens of an offer.
fn asks(town: &mut Town<Counted>, number: u32) -> bool {
    let offer = Body::Offer {
        payment: payment(number),
        amount_cents: 100,
        tendered_cents: 100,
    };
    !asked_for(town, PAYER, offer).is_empty()
}

fn cancel(town: &mut Town<Counted>, number: u32) {
    let payment = payment(number);
    town.give(PAYER, PAYEE, Body::Cancel { payment });
}

/// A payment without a token in it, which is refused.
fn pay_nothing(town: &mut Town<Counted>, number: u32) {
    let terms = Terms {
        amount_cents: 100,
        tendered_cents: 100,
        challenge: None,
    };
    let body = Body::Payment {
        payment: payment(number),
        terms,
        tokens: Arc::from([]),
    };
    let sent = town.give(PAYER, PAYEE, body);
    assert!(
        matches!(
            sent[..],
            [Body::Receipt {
                refusal: Some(Reason::Malformed),
                ..
            }]
        ),
        "{sent:?}"
    );
}

/// The payments of which it keeps anything.
fn kept(town: &Town<Counted>) -> Vec<MessageId> {
    let outbox = town.owner(PAYEE).outbox();
    outbox.map(|(payment, _)| payment).collect()
}

#[test]
fn of_64_requests_the_oldest_is_forgotten_for_another_after_half_an_hour() {
    for handshake in [Handshake::None, Handshake::Challenge] {
        let mut town = town(Setting { handshake, ..CALM });
        for number in 0..64 {
            assert!(asks(&mut town, number));
            town.run_for(1.0);
        }
        assert!(!asks(&mut town, 64), "any of them may still be signed");
        town.run_until(10.0 + 1_800.5);
        assert!(asks(&mut town, 64), "the first is old");
        assert!(!asks(&mut town, 65), "the second is not");
        assert_eq!(kept(&town), payments(1..65), "{handshake:?}");
    }
}

#[test]
fn a_request_that_was_cancelled_makes_room_for_another() {
    for handshake in [Handshake::None, Handshake::Challenge] {
        let mut town = town(Setting { handshake, ..CALM });
        for number in 0..64 {
            assert!(asks(&mut town, number));
        }
        cancel(&mut town, 0);
        assert!(asks(&mut town, 64), "{handshake:?}");
        assert!(!asks(&mut town, 65));
    }
}

#[test]
fn of_receipts_without_tokens_the_newest_1024_are_kept() {
    let mut town = town(CALM);
    for number in 0..1_025 {
        assert!(asks(&mut town, number), "{number}");
        pay_nothing(&mut town, number);
    }
    assert_eq!(kept(&town), payments(1..1_025));
}

#[test]
fn sixty_four_offers_wait_for_the_authority_but_for_those_that_are_cancelled() {
    let acceptance = Acceptance::Online;
    let mut town = town(Setting { acceptance, ..CALM });
    town.run_for(60.0);
    for number in (1..65).chain([0]) {
        assert!(!asks(&mut town, number), "the authority was not heard");
    }
    cancel(&mut town, 5);
    assert_eq!(kept(&town), []);
    let due = payments((1..65).filter(|number| *number != 5));
    assert_eq!(asked_for(&mut town, AUTHORITY, Body::Welcome), due);
}
