//! A client: what it takes, what it refuses and why, and what that costs.

use crate::tokens::*;
use pocketsim_protocols::contract::Operation;
use pocketsim_protocols::crypto::{Counted, Real};
use pocketsim_protocols::token::*;
use proptest::prelude::*;

type Counting = World<Counted>;

fn plain(clients: u32) -> Counting {
    Counting::new(clients, Rules::Thesis, Handshake::None, 1)
}

#[test]
fn a_token_goes_through_many_hands_offline() {
    let mut world = Counting::thesis(5);
    let serial = world.mint(0, 2_000);
    for hop in 0..50 {
        let token = world.pay(hop % 5, (hop + 1) % 5, &serial);
        assert_eq!(token.recipients().len(), hop + 2);
        assert_eq!(token.wire_bytes(), 287 + (138 + 16) * (hop + 1));
    }
    assert_eq!(world.clients[0].wallet().unverified_cents(), 2_000);
    assert!(world.clients[1..]
        .iter()
        .all(|client| client.wallet().held_cents() == 0));
}

#[test]
fn every_signature_is_charged_with_its_bytes() {
    let mut world = plain(4);
    let serial = world.mint(0, 100);
    let expected = [(Operation::Sign, 147), (Operation::Verify, 147)];
    assert_eq!(world.work, expected);
    world.pay(0, 1, &serial);
    world.work.clear();
    world.pay(1, 2, &serial);
    let expected = [
        (Operation::Sign, 138),
        (Operation::Verify, 147),
        (Operation::Verify, 138),
        (Operation::Verify, 138),
    ];
    assert_eq!(world.work, expected);
    // The authority's three verifications and one signature of the thesis's Fig. 3, for k = 3.
    let mut world = Counting::thesis(2);
    let serial = world.mint(0, 100);
    world.pay(0, 1, &serial);
    let submission = world.submit(1, &serial, Intent::Reissue);
    world.work.clear();
    world.decide(&submission);
    let expected = [
        (Operation::Verify, 147),
        (Operation::Verify, 154),
        (Operation::Verify, 154),
        (Operation::Sign, 147),
    ];
    assert_eq!(world.work, expected);
}

/// Changes of fields of a good token, and what each is refused for.
fn altered(good: &Token) -> Vec<(Token, Refusal)> {
    let alter = |change: &dyn Fn(&mut Token), refusal| {
        let mut token = good.clone();
        change(&mut token);
        (token, refusal)
    };
    let stranger = key::<Counted>(0);
    vec![
        alter(&|token| token.value = 0, Refusal::InvalidDenomination),
        alter(&|token| token.value = 16, Refusal::InvalidDenomination),
        alter(&|token| token.value = 15, Refusal::InvalidFirstProof),
        alter(&|token| token.serial[0] ^= 1, Refusal::InvalidFirstProof),
        alter(&|token| token.nonce[63] ^= 1, Refusal::InvalidFirstProof),
        alter(
            &|token| token.authority = stranger,
            Refusal::UnknownAuthority,
        ),
    ]
}

/// Changes of its pairs.
fn repaired(good: &Token) -> Vec<(Token, Refusal)> {
    let [first, last] = *good.recipients() else {
        panic!("a token of two recipients");
    };
    let forged = |pair| Recipient {
        proof: [9; 64],
        ..pair
    };
    let answering = |challenge| Recipient { challenge, ..last };
    let build = |pairs: &[Recipient], refusal| (with_pairs(good, pairs), refusal);
    vec![
        build(&[forged(first), last], Refusal::InvalidFirstProof),
        build(&[first, forged(last)], Refusal::InvalidProof),
        build(&[first, answering(None)], Refusal::MissingChallenge),
        build(
            &[first, answering(Some([9; 16]))],
            Refusal::UnknownChallenge,
        ),
        build(&[first], Refusal::WrongRecipient),
    ]
}

#[test]
fn each_check_refuses_what_it_is_for() {
    let mut world = Counting::thesis(3);
    let serial = world.mint(0, 100);
    let good = world.sign(0, 1, &serial, true);
    let mut hostile = altered(&good);
    hostile.extend(repaired(&good));
    hostile.push((world.sign(0, 2, &serial, true), Refusal::WrongRecipient));
    for (token, refusal) in hostile {
        assert_eq!(world.receive(1, token), Err(refusal));
        assert_eq!(world.clients[1].wallet().held_cents(), 0);
    }
    assert!(world.receive(1, good).is_ok());
}

proptest! {
    #[test]
    fn no_altered_payment_is_taken_and_none_panics(
        damage in prop::collection::vec((any::<prop::sample::Index>(), 1..=u8::MAX), 1..4),
        is_submitted: bool,
    ) {
        let mut world = Counting::thesis(3);
        let serial = world.mint(0, 100);
        world.pay(0, 1, &serial);
        let good = if is_submitted {
            world.submit(1, &serial, Intent::Reissue).token
        } else {
            world.sign(1, 2, &serial, false)
        };
        let mut bytes = good.encode();
        for (at, flip) in damage {
            let at = at.index(bytes.len());
            bytes[at] ^= flip;
        }
        let tokens = decode_batch(&bytes).unwrap_or_default();
        for token in tokens.into_iter().filter(|token| *token != good) {
            let submission = Submission { submitter: world.key(1), token, intent: Intent::Redeem };
            prop_assert_eq!(world.decide(&submission).record, None);
            prop_assert!(world.receive(2, submission.token).is_err());
        }
        prop_assert_eq!(world.clients[2].wallet().held_cents(), 0);
        prop_assert_eq!(world.clients[2].wallet().disputed().count(), 0);
    }
}

#[test]
fn reordered_proofs_are_refused() {
    let mut world = Counting::thesis(4);
    let serial = world.mint(0, 100);
    world.pay(0, 1, &serial);
    world.pay(1, 2, &serial);
    let good = world.sign(2, 3, &serial, true);
    // The last pair stays, or it would not even be addressed to 3.
    let orders = permutations(4).into_iter().filter(|order| order[3] == 3);
    for order in orders.filter(|order| !order.is_sorted()) {
        let pairs: Vec<Recipient> = order
            .iter()
            .map(|&place| challenged(&good, place))
            .collect();
        let outcome = world.receive(3, with_pairs(&good, &pairs));
        let broken = [
            Refusal::InvalidFirstProof,
            Refusal::InvalidProof,
            Refusal::WrongGiver,
        ];
        assert!(outcome.is_err_and(|refusal| broken.contains(&refusal)));
    }
    assert!(world.receive(3, good).is_ok());
}

/// The pair of a place, with a challenge if it had none.
fn challenged(token: &Token, place: usize) -> Recipient {
    let pair = token.recipients()[place];
    let challenge = pair.challenge.or(Some([0; 16]));
    Recipient { challenge, ..pair }
}

#[test]
fn one_batch_has_a_serial_once() {
    let mut world = Counting::thesis(2);
    let serial = world.mint(0, 100);
    let token = world.sign(0, 1, &serial, true);
    let batch = vec![token.clone(), token];
    let receipts = world.clients[1].receive(batch, &mut world.work);
    assert!(receipts[0].outcome.is_ok());
    assert_eq!(receipts[1].outcome, Err(Refusal::DuplicateSerial));
    assert_eq!(world.clients[1].wallet().held_cents(), 100);
}

#[test]
fn a_challenge_is_for_one_payment_of_many_tokens() {
    let mut world = Counting::thesis(2);
    for cents in [200, 50, 20, 2] {
        world.mint(0, cents);
    }
    let challenge = world.challenge(1, world.key(0));
    let to = world.key(1);
    let tokens = world.clients[0]
        .pay(272, to, challenge, &mut world.work)
        .expect("exact change");
    assert_eq!(tokens.len(), 4);
    let receipts = world.clients[1].receive(tokens.clone(), &mut world.work);
    assert!(receipts.iter().all(|receipt| receipt.outcome.is_ok()));
    // The same bytes again: an answer was lost, or somebody replays.
    for receipt in world.clients[1].receive(tokens, &mut world.work) {
        assert_eq!(receipt.outcome, Err(Refusal::UsedChallenge));
    }
    assert_eq!(world.clients[1].wallet().held_cents(), 272);
}

#[test]
fn garbage_does_not_use_a_challenge_up() {
    let mut world = Counting::thesis(2);
    let serial = world.mint(0, 100);
    let good = world.sign(0, 1, &serial, false);
    let mut bad = good.clone();
    bad.nonce[5] ^= 1;
    assert_eq!(world.receive(1, bad), Err(Refusal::InvalidFirstProof));
    assert!(world.receive(1, good).is_ok());
}

#[test]
fn outstanding_challenges_are_bounded_and_never_evicted() {
    let mut world = Counting::thesis(2);
    let serial = world.mint(0, 100);
    let token = world.sign(0, 1, &serial, false);
    let payer = world.key(0);
    let asked: Vec<Challenge> = (0..63)
        .map(|_| world.challenge(1, payer).expect("a handshake"))
        .collect();
    let mut ask = |client: &mut Client<Counted>| client.challenge(world.chance.bytes(), payer);
    let receiver = &mut world.clients[1];
    for _ in 0..100 {
        assert_eq!(ask(receiver), Err(Busy));
    }
    // The first is as good as ever, and its place is free then; or by giving one up.
    let mut receipts = receiver.receive(vec![token], &mut world.work);
    assert!(receipts.remove(0).outcome.is_ok());
    assert!(ask(receiver).is_ok());
    assert_eq!(ask(receiver), Err(Busy));
    assert!(receiver.forget(&asked[0]));
    assert!(!receiver.forget(&asked[0]));
    assert!(ask(receiver).is_ok());
    assert_eq!(ask(receiver), Err(Busy));
}

#[test]
fn what_was_given_up_is_unknown() {
    let mut world = Counting::thesis(2);
    let serial = world.mint(0, 100);
    let token = world.sign(0, 1, &serial, false);
    let challenge = token.last_recipient().challenge.expect("asked");
    assert!(world.clients[1].forget(&challenge));
    assert_eq!(world.receive(1, token), Err(Refusal::UnknownChallenge));
}

#[test]
fn orders_come_through_however_many_payments_are_asked_for() {
    let mut world = Counting::thesis(2);
    let payer = world.key(0);
    for _ in 0..64 {
        world.challenge(1, payer);
    }
    world.mint(1, 100);
    let authority = *world.authority.public_key();
    for _ in 0..64 {
        world.challenge(1, authority);
    }
    let one_more = world.clients[1].challenge([9; 16], authority);
    assert_eq!(one_more, Err(Busy));
    assert!(world.clients[0].challenge([9; 16], payer).is_ok());
}

#[test]
fn an_old_token_of_the_authority_cannot_be_replayed_either() {
    // Whoever was paid by 0 has seen the token as 0 got it.
    let mut world = Counting::thesis(2);
    let serial = world.mint(0, 100);
    let paid = world.pay(0, 1, &serial);
    let first = paid.recipients()[0];
    let minted = Token::new(serial, paid.value, paid.authority, paid.nonce, first);
    assert_eq!(
        world.receive(0, minted.clone()),
        Err(Refusal::UsedChallenge)
    );
    // Without the handshake 0 takes it, spends it, and is the cheat in the authority's eyes.
    let mut world = plain(2);
    let serial = world.mint(0, 100);
    let paid = world.pay(0, 1, &serial);
    let first = paid.recipients()[0];
    let minted = Token::new(serial, paid.value, paid.authority, paid.nonce, first);
    assert!(world.receive(0, minted).is_ok());
}

#[test]
fn both_cryptos_judge_alike() {
    fn story<C: pocketsim_protocols::crypto::Crypto>() -> Vec<String> {
        let mut world = World::<C>::thesis(4);
        let serial = world.mint(0, 5_000);
        world.cheat(0, 1, &serial);
        world.pay(0, 2, &serial);
        world.pay(2, 3, &serial);
        let mut story: Vec<String> = Vec::new();
        for client in [3, 1] {
            let answer = world.verify(client, &serial);
            story.push(match answer {
                Answer::Refused {
                    reason, culprits, ..
                } => format!("{} {}", reason.name(), culprits == [world.key(0)]),
                Answer::Reissued(token) => format!("reissued {}", token.wire_bytes()),
                Answer::Redeemed { .. } => "redeemed".into(),
            });
        }
        story.extend(world.work.iter().map(|work| format!("{work:?}")));
        story
    }
    let real = story::<Real>();
    assert_eq!(real, story::<Counted>());
    assert_eq!(real[..2], ["reissued 287", "double_spend true"]);
}

#[test]
fn who_saw_a_challenge_cannot_use_it_up() {
    let mut world = Counting::thesis(3);
    let (real, cent) = (world.mint(0, 100), world.mint(2, 1));
    let challenge = world.challenge(1, world.key(0));
    let to = world.key(1);
    let mut sign = |who: usize, serial| {
        let client = &mut world.clients[who];
        let signed = client.hand_on(&serial, to, challenge, &mut Work::new());
        signed.expect("held")
    };
    let (real, cent) = (sign(0, real), sign(2, cent));
    assert_eq!(world.receive(1, cent), Err(Refusal::WrongGiver));
    assert!(world.receive(1, real).is_ok());
}

#[test]
fn the_rest_of_a_payment_may_come_later() {
    let mut world = Counting::thesis(3);
    let serials: Vec<Serial> = [200, 50, 20].map(|cents| world.mint(0, cents)).to_vec();
    let challenge = world.challenge(1, world.key(0));
    let to = world.key(1);
    let sign = |serial: &Serial| {
        let signed = world.clients[0].hand_on(serial, to, challenge, &mut Work::new());
        signed.expect("held")
    };
    let tokens: Vec<Token> = serials.iter().map(sign).collect();
    assert!(world.receive(1, tokens[0].clone()).is_ok());
    assert!(world.receive(1, tokens[1].clone()).is_ok());
    // What was taken is not taken again, also after it was spent.
    world.pay(1, 2, &serials[0]);
    for taken in &tokens[..2] {
        let again = world.receive(1, taken.clone());
        assert_eq!(again, Err(Refusal::UsedChallenge));
    }
    // Until 64 other challenges were used.
    let cent = world.mint(0, 1);
    for hop in 0..126 {
        world.pay(hop % 2, 1 - hop % 2, &cent);
    }
    assert!(world.receive(1, tokens[2].clone()).is_ok());
    let late = world.mint(0, 5);
    let late = world.clients[0].hand_on(&late, to, challenge, &mut Work::new());
    world.pay(0, 1, &cent);
    let late = world.receive(1, late.expect("held"));
    assert_eq!(late, Err(Refusal::UnknownChallenge));
}

#[test]
fn an_order_is_answered_by_its_authority_only() {
    let mut world = Counting::thesis(2);
    let order = world.order(0, 100);
    let mint = world.authority.mint(&order, [1; 64], &mut Work::new());
    let (_, minted) = mint.expect("fresh");
    let serial = world.mint(1, 1);
    let to = world.key(0);
    let cent = world.clients[1].hand_on(&serial, to, order.challenge, &mut Work::new());
    let outcome = world.receive(0, cent.expect("held"));
    assert_eq!(outcome, Err(Refusal::WrongGiver));
    assert!(world.receive(0, minted).is_ok());
}
