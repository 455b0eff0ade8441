//! Messages that come when nobody waits for them: from whom they should not, too late, or again.

use std::sync::Arc;

use super::town::*;
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

#[test]
fn a_payer_who_has_not_signed_listens_to_his_payee_only() {
    let mut town = town();
    let payment = town.offered(PAYER, PAYEE, 1_000);
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
    let payment = town.offered(PAYER, PAYEE, 1_000);
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
    let payment = town.offered(PAYER, PAYEE, 1_000);
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

#[test]
fn a_receipt_with_too_little_change_is_a_loss() {
    let mut town = town();
    // What is left are three notes of 20 EUR.
    for cents in [1_000, 1_300] {
        town.pay(PAYER, OTHER, cents, Conduct::Honest);
        town.run_for(5.0);
    }
    let payment = town.offered(PAYER, PAYEE, 1_500);
    town.give(PAYEE, PAYER, request(payment, 7));
    assert_eq!(town.cents(PAYER), 4_000);
    town.give(PAYEE, PAYER, receipt(payment));
    assert!(!is_paying(&town, payment));
    assert!(!town.messages(EventKind::Store).contains(&payment));
    assert_eq!(town.reasons(EventKind::Lose), [Some(Reason::Malformed)]);
}

/// When the payer says again what it has signed, for so many times, since it has.
fn repeated_s(town: &mut Town<Counted>, times: usize) -> Vec<f64> {
    let (signed_s, payer) = (town.now, NodeId(PAYER));
    let mut repeated_s = Vec::new();
    while repeated_s.len() < times {
        let mut out = Vec::new();
        let machine = &mut town.nodes[PAYER as usize];
        let (now, _) = machine.next_timeout().expect("it waits");
        machine.handle_timeout(now, &mut out);
        let is_payment = |output: &_| match output {
            Output::Send { message, .. } => matches!(
                message,
                Message {
                    body: Body::Payment { .. },
                    ..
                }
            ),
            _ => false,
        };
        if out.iter().any(is_payment) {
            repeated_s.push(now - signed_s);
        }
        town.now = now;
        town.drain(payer, out);
    }
    repeated_s
}

#[test]
fn what_is_signed_is_said_again_ever_more_slowly_up_to_the_interval_of_calls() {
    let mut town = town();
    let payment = town.offered(PAYER, PAYEE, 1_000);
    town.give(PAYEE, PAYER, request(payment, 7));
    let due_s = [1, 3, 7, 15, 31, 63, 127, 255, 511, 1_023, 1_923, 2_823];
    assert_eq!(repeated_s(&mut town, due_s.len()), due_s.map(f64::from));
}

#[test]
fn a_payer_who_cannot_sign_waits_for_no_change() {
    let mut town = town();
    // Each time all that it has, so it can sign only one of them.
    let payments: Vec<_> = (0..66).map(|_| town.offered(PAYER, PAYEE, 8_300)).collect();
    for (at, payment) in payments.into_iter().enumerate() {
        let sent = town.give(PAYEE, PAYER, request(payment, 7));
        let is_signed = matches!(sent[..], [Body::Payment { .. }]);
        assert!(is_signed == (at == 0) && is_signed == is_paying(&town, payment));
    }
    // It withdraws, and the first waits for its receipt still.
    town.run_without(PAYEE, 1_000.0);
    town.mail.clear();
    let payment = town.offered(PAYER, PAYEE, 8_300);
    let sent = town.give(PAYEE, PAYER, request(payment, 7));
    assert!(
        matches!(sent[..], [Body::Payment { .. }]),
        "there is room to ask for change"
    );
}
