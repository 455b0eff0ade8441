//! Messages that come when nobody waits for them: from whom they should not, too late, or again.

use std::sync::Arc;

use crate::town::*;
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::payment::*;

const PAYER: u32 = 1;
const PAYEE: u32 = 2;
const OTHER: u32 = 0;

/// A town whose wallets are full, and whose letters a test carries itself.
fn town() -> Town<Counted> {
    let mut town = Town::<Counted>::new(3, CALM);
    town.run_until(10.0);
    town.mail.clear();
    town
}

fn is_paying(town: &Town<Counted>, payment: MessageId) -> bool {
    town.owner(PAYER).is_paying(&payment)
}

fn receipt(payment: MessageId) -> Body {
    Body::Receipt {
        payment,
        refusal: None,
        change: Arc::from([]),
    }
}

fn request(payment: MessageId, word: u8) -> Body {
    let challenge = Some([word; 16]);
    Body::Request { payment, challenge }
}

/// The payer has offered 10 EUR.
fn offered(town: &mut Town<Counted>) -> MessageId {
    town.pay(PAYER, PAYEE, 1_000, Conduct::Honest);
    let (_, (_, _, message)) = town.mail.pop_first().expect("an offer");
    match message.body {
        Body::Offer { payment, .. } => payment,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_payer_who_has_not_signed_listens_to_his_payee_only() {
    let mut town = town();
    let payment = offered(&mut town);
    assert_eq!(town.give(PAYEE, PAYER, receipt(payment)), []);
    for body in [request(payment, 7), Body::Decline { payment }] {
        assert_eq!(town.give(OTHER, PAYER, body), []);
    }
    assert!(is_paying(&town, payment));
    town.give(PAYEE, PAYER, Body::Decline { payment });
    assert!(!is_paying(&town, payment));
    assert_eq!(town.give(PAYEE, PAYER, request(payment, 7)), []);
    assert_eq!(town.cents(PAYER), 8_300);
}

#[test]
fn a_payer_signs_once_and_waits_for_the_receipt_of_his_payee() {
    let mut town = town();
    let payment = offered(&mut town);
    let signed = town.give(PAYEE, PAYER, request(payment, 7));
    assert!(matches!(signed[..], [Body::Payment { .. }]), "{signed:?}");
    let left_cents = town.cents(PAYER);
    assert!(left_cents <= 7_300);
    assert_eq!(town.give(PAYEE, PAYER, request(payment, 8)), []);
    town.give(PAYEE, PAYER, Body::Decline { payment });
    town.give(OTHER, PAYER, receipt(payment));
    assert!(is_paying(&town, payment));
    for _ in 0..2 {
        assert_eq!(town.give(PAYEE, PAYER, receipt(payment)), []);
        assert!(!is_paying(&town, payment));
    }
    assert_eq!(town.cents(PAYER), left_cents, "signed over once");
}

#[test]
fn a_payee_asks_the_same_until_the_payer_himself_cancels() {
    let mut town = town();
    let payment = MessageId::new(NodeId(PAYER), 9_000);
    let offer = Body::Offer {
        payment,
        amount_cents: 1_000,
        tendered_cents: 1_000,
    };
    assert_eq!(town.give(OTHER, PAYEE, offer.clone()), []);
    let asked = town.give(PAYER, PAYEE, offer.clone());
    assert!(matches!(asked[..], [Body::Request { .. }]), "{asked:?}");
    town.give(OTHER, PAYEE, Body::Cancel { payment });
    assert_eq!(town.give(PAYER, PAYEE, offer.clone()), asked);
    town.give(PAYER, PAYEE, Body::Cancel { payment });
    let again = town.give(PAYER, PAYEE, offer);
    assert!(matches!(again[..], [Body::Request { .. }]), "{again:?}");
    assert_ne!(again, asked, "the first request is forgotten");
}

#[test]
fn a_payee_gives_one_receipt_however_often_the_payment_comes() {
    let mut town = town();
    let payment = offered(&mut town);
    let offer = Body::Offer {
        payment,
        amount_cents: 1_000,
        tendered_cents: 1_000,
    };
    let asked = town.give(PAYER, PAYEE, offer.clone());
    let signed = town.give(PAYEE, PAYER, asked[0].clone());
    assert_eq!(town.give(OTHER, PAYEE, signed[0].clone()), []);
    let receipt = town.give(PAYER, PAYEE, signed[0].clone());
    assert!(matches!(receipt[..], [Body::Receipt { refusal: None, .. }]));
    let cents = town.cents(PAYEE);
    assert!(cents > 8_300);
    town.give(PAYER, PAYEE, Body::Cancel { payment });
    assert_eq!(town.give(PAYER, PAYEE, offer), [], "it is paid");
    assert_eq!(town.give(PAYER, PAYEE, signed[0].clone()), receipt);
    assert_eq!(town.cents(PAYEE), cents, "taken once");
}
