//! A client of two authorities that use the same serials, and one of which may lie.

use crate::tokens::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::token::*;

const OTHER: u32 = 1_000_001;

/// One of serial 1 by each of two authorities, in the hands of client 0.
fn holder() -> (Client<Counted>, [Token; 2]) {
    let known = [AUTHORITY, OTHER].map(key::<Counted>).to_vec();
    let mut client = Client::new(signer(0), known, Handshake::Challenge);
    let tokens = [(AUTHORITY, 100), (OTHER, 5)].map(|(by, cents)| {
        let challenge = client
            .challenge([cents as u8; 16], key::<Counted>(by))
            .expect("few");
        fresh(by, cents, challenge)
    });
    let receipts = client.receive(tokens.to_vec(), &mut Work::new());
    assert!(receipts.iter().all(|receipt| receipt.outcome.is_ok()));
    (client, tokens)
}

fn fresh(by: u32, cents: u64, challenge: Option<Challenge>) -> Token {
    let mut nonce = [3; 64];
    nonce[..16].copy_from_slice(&challenge.expect("asked"));
    let promise = Promise {
        serial: serial(1),
        denomination: denomination(cents),
        nonce,
        first: key::<Counted>(0),
    };
    mint(&signer::<Counted>(by), &promise, &mut Work::new())
}

#[test]
fn one_serial_of_two_authorities_is_two_tokens() {
    let (mut client, tokens) = holder();
    assert_eq!(client.wallet().held_cents(), 105);
    let (to, challenge) = (key::<Counted>(1), Some([2; 16]));
    let paid = client
        .pay(5, to, challenge, &mut Work::new())
        .expect("exact");
    assert_eq!(paid[0].authority, key::<Counted>(OTHER));
    assert_eq!(client.wallet().held().collect::<Vec<_>>(), [&tokens[0]]);
    let paid = client
        .pay(100, to, challenge, &mut Work::new())
        .expect("exact");
    assert_eq!(paid[0].authority, key::<Counted>(AUTHORITY));
}

#[test]
fn an_authority_is_paid_with_the_tokens_of_others() {
    let (mut client, _) = holder();
    let to = key::<Counted>(AUTHORITY);
    let paid = client.hand_on(&serial(1), to, Some([2; 16]), &mut Work::new());
    assert_eq!(paid.expect("held").authority, key::<Counted>(OTHER));
    assert_eq!(client.wallet().held_cents(), 100);
}

/// A client that has submitted a token of 100 c, received from somebody.
fn submitter() -> (Client<Counted>, Submission) {
    let known = [AUTHORITY, OTHER].map(key::<Counted>).to_vec();
    let mut client = Client::new(signer(1), known, Handshake::Challenge);
    let challenge = client.challenge([1; 16], key::<Counted>(0)).expect("few");
    let mut token = fresh(AUTHORITY, 100, Some([9; 16]));
    let giver = signer::<Counted>(0);
    let to = *client.public_key();
    transfer(&mut token, &giver, to, challenge, &mut Work::new()).expect("room");
    let receipts = client.receive(vec![token], &mut Work::new());
    assert!(receipts[0].outcome.is_ok());
    let submission = client.submit(&serial(1), Intent::Reissue, [5; 16], &mut Work::new());
    (client, submission.expect("unverified"))
}

fn answer(by: u32, cents: u64) -> Answer {
    let mut token = fresh(by, cents, Some([5; 16]));
    let promise = Promise {
        serial: serial(1),
        denomination: denomination(cents),
        nonce: token.nonce,
        first: key::<Counted>(1),
    };
    token = mint(&signer::<Counted>(by), &promise, &mut Work::new());
    Answer::Reissued(token)
}

#[test]
fn a_submission_is_answered_by_its_authority_with_its_value() {
    let (mut client, submission) = submitter();
    assert_eq!(submission.token.value, denomination(100).byte());
    assert_eq!(client.settle(answer(OTHER, 100), &mut Work::new()), None);
    let receipt = client.settle(answer(AUTHORITY, 5), &mut Work::new());
    assert_eq!(receipt.expect("judged").outcome, Err(Refusal::WrongValue));
    assert_eq!(client.wallet().pending_cents(), 100);
    assert_eq!(client.wallet().held_cents(), 0);
    let receipt = client.settle(answer(AUTHORITY, 100), &mut Work::new());
    assert_eq!(receipt.expect("judged").outcome, Ok(denomination(100)));
    assert_eq!(client.wallet().held_cents(), 100);
}

#[test]
fn two_authorities_are_asked_about_one_serial_at_once() {
    let (mut client, _) = holder();
    let mut submit = |random| client.submit(&serial(1), Intent::Redeem, random, &mut Work::new());
    let both = [[5; 16], [6; 16]].map(|random| submit(random).expect("held"));
    assert_ne!(both[0].token.authority, both[1].token.authority);
    assert_eq!(submit([7; 16]), None);
    let second = Denomination::from_byte(both[1].token.value).expect("as minted");
    for (submission, left_cents) in both.iter().zip([second.cents(), 0]) {
        let answer = Answer::Redeemed {
            serial: serial(1),
            last_proof: submission.token.last_recipient().proof,
        };
        assert!(client.settle(answer, &mut Work::new()).is_some());
        assert_eq!(client.wallet().pending_cents(), left_cents);
    }
}
