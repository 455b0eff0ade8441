//! What messages weigh.

use std::sync::Arc;

use super::town::*;
use crate::tokens::{denomination, key};
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::payment::*;
use pocketsim_protocols::token::{Answer, Order, Refusal, Token};

#[test]
fn messages_weigh_what_their_tokens_do() {
    let mut town = Town::<Counted>::new(3, CALM);
    town.run_until(10.0);
    let payment = town.offered(1, 2, 1_110);
    let challenge = Some([7; 16]);
    let signed = town.give(2, 1, Body::Request { payment, challenge });
    let Body::Payment { tokens, terms, .. } = &signed[0] else {
        panic!("{signed:?}");
    };
    assert!(terms.challenge.is_some() && tokens.len() > 1);
    let batch = tokens.iter().map(Token::wire_bytes).sum::<usize>() as u32;
    let weight = |body| Message { id: payment, body }.wire_bytes();
    assert_eq!(weight(signed[0].clone()), 9 + 2 * 4 + 1 + 16 + batch);
    assert_eq!(weight(Body::Minted(tokens.clone())), 9 + batch);
    let receipt = Body::Receipt {
        payment,
        refusal: None,
        change: tokens.clone(),
    };
    assert_eq!(weight(receipt), 9 + 1 + batch);
}

#[test]
fn each_message_has_its_fields_and_a_head_of_nine_bytes() {
    let (payment, challenge) = (MessageId::new(NodeId(1), 0), Some([0; 16]));
    let of = |challenge| Order {
        serial: [0; 8],
        denomination: denomination(100),
        first: key::<Counted>(1),
        challenge,
    };
    let terms = Terms {
        amount_cents: 1,
        tendered_cents: 2,
        challenge,
    };
    let refused = Answer::Refused {
        serial: [0; 8],
        last_proof: [0; 64],
        reason: Refusal::DoubleSpend,
        culprits: vec![key::<Counted>(1), key::<Counted>(2)],
    };
    let redeemed = Answer::Redeemed {
        serial: [0; 8],
        last_proof: [0; 64],
    };
    let (none, change): ([Token; 0], _) = ([], Arc::from([]));
    let receipt = Body::Receipt {
        payment,
        refusal: None,
        change,
    };
    let tokens = Arc::from(none);
    for (body, bytes) in [
        (
            Body::Request {
                payment,
                challenge: None,
            },
            1,
        ),
        (Body::Request { payment, challenge }, 1 + 16),
        (Body::Decline { payment }, 0),
        (Body::Cancel { payment }, 0),
        (
            Body::Payment {
                payment,
                terms,
                tokens,
            },
            2 * 4 + 1 + 16,
        ),
        (receipt, 1),
        (Body::Hello, 0),
        (Body::Welcome, 0),
        (
            Body::Orders(Arc::from([of(None), of(challenge)])),
            74 + 2 * (8 + 1 + 1) + 16,
        ),
        (Body::Answers(Arc::from([redeemed])), 1 + 8 + 64),
        (Body::Answers(Arc::from([refused])), 1 + 8 + 64 + 2 + 2 * 74),
    ] {
        let message = Message { id: payment, body };
        assert_eq!(message.wire_bytes(), 9 + bytes, "{message:?}");
    }
}
