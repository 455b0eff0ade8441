//! A client: what it takes, what it refuses and why, and what that costs.

mod tokens;

use pocketsim_protocols::contract::Operation;
use pocketsim_protocols::crypto::{Counted, Real};
use pocketsim_protocols::token::*;
use proptest::prelude::*;
use tokens::*;

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

/// Everything that a client checks of one token, by what was done to it.
fn hostile(world: &mut Counting) -> Vec<(Token, Refusal)> {
    let serial = world.mint(0, 100);
    let good = world.sign(0, 1, &serial, true);
    let altered = |change: &dyn Fn(&mut Token)| {
        let mut token = good.clone();
        change(&mut token);
        token
    };
    let rebuilt = |pairs: &[Recipient]| {
        let mut token = Token::new(
            good.serial,
            good.value,
            good.authority,
            good.nonce,
            pairs[0],
        );
        for pair in &pairs[1..] {
            token.push(*pair).expect("room");
        }
        token
    };
    let pairs = good.recipients();
    let forged_first = Recipient {
        proof: [9; 64],
        ..pairs[0]
    };
    let forged_last = Recipient {
        proof: [9; 64],
        ..pairs[1]
    };
    let unchallenged = Recipient {
        challenge: None,
        ..pairs[1]
    };
    let guessed = Recipient {
        challenge: Some([9; 16]),
        ..pairs[1]
    };
    let elsewhere = world.sign(0, 2, &serial, true);
    let for_nobody = rebuilt(&pairs[..1]);
    vec![
        (
            altered(&|token| token.value = 0),
            Refusal::InvalidDenomination,
        ),
        (
            altered(&|token| token.value = 16),
            Refusal::InvalidDenomination,
        ),
        (
            altered(&|token| token.value = 15),
            Refusal::InvalidFirstProof,
        ),
        (
            altered(&|token| token.serial[0] ^= 1),
            Refusal::InvalidFirstProof,
        ),
        (
            altered(&|token| token.nonce[63] ^= 1),
            Refusal::InvalidFirstProof,
        ),
        (
            altered(&|token| token.authority = key::<Counted>(0)),
            Refusal::UnknownAuthority,
        ),
        (
            rebuilt(&[forged_first, pairs[1]]),
            Refusal::InvalidFirstProof,
        ),
        (rebuilt(&[pairs[0], forged_last]), Refusal::InvalidProof),
        (
            rebuilt(&[pairs[0], unchallenged]),
            Refusal::MissingChallenge,
        ),
        (rebuilt(&[pairs[0], guessed]), Refusal::UnknownChallenge),
        (elsewhere, Refusal::WrongRecipient),
        (for_nobody, Refusal::WrongRecipient),
    ]
}

#[test]
fn each_check_refuses_what_it_is_for() {
    let mut world = Counting::thesis(3);
    for (token, refusal) in hostile(&mut world) {
        assert_eq!(world.receive(1, token), Err(refusal));
        assert_eq!(world.clients[1].wallet().held_cents(), 0);
    }
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
    let pairs = good.recipients();
    for order in permutations(4).into_iter().filter(|order| order[3] == 3) {
        let mut token = Token::new(serial, good.value, good.authority, good.nonce, {
            Recipient {
                challenge: None,
                ..pairs[order[0]]
            }
        });
        for &place in &order[1..] {
            let challenge = pairs[place].challenge.or(Some([0; 16]));
            let pair = Recipient {
                challenge,
                ..pairs[place]
            };
            token.push(pair).expect("room");
        }
        let outcome = world.receive(3, token);
        if order.is_sorted() {
            assert!(outcome.is_ok());
        } else {
            let broken = [Refusal::InvalidFirstProof, Refusal::InvalidProof];
            assert!(outcome.is_err_and(|refusal| broken.contains(&refusal)));
            continue;
        }
        // Only the last permutation of the first three in order is taken, and then is held.
        assert_eq!(world.clients[3].wallet().held_cents(), 100);
    }
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
    let challenge = world.challenge(1);
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
fn outstanding_challenges_are_bounded() {
    let mut world = Counting::thesis(2);
    let serial = world.mint(0, 100);
    let token = world.sign(0, 1, &serial, false);
    for _ in 0..63 {
        world.challenge(1);
    }
    let mut late = world.clients[1].receive(vec![token.clone()], &mut world.work);
    assert!(late.remove(0).outcome.is_ok());
    let serial = world.mint(0, 100);
    let token = world.sign(0, 1, &serial, false);
    for _ in 0..64 {
        world.challenge(1);
    }
    assert_eq!(world.receive(1, token), Err(Refusal::UnknownChallenge));
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
                Answer::Redeemed(_) => "redeemed".into(),
            });
        }
        story.extend(world.work.iter().map(|work| format!("{work:?}")));
        story
    }
    let real = story::<Real>();
    assert_eq!(real, story::<Counted>());
    assert_eq!(real[..2], ["reissued 287", "double_spend true"]);
}
