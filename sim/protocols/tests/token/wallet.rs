//! A wallet: what it pays with, what waits for the authority, and two tokens of one serial.

use crate::tokens::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::token::*;

type Counting = World<Counted>;

fn plain(clients: u32) -> Counting {
    Counting::new(clients, Rules::Thesis, Handshake::None, 1)
}

#[test]
fn a_held_serial_is_no_payment_and_is_not_lost() {
    for mut world in [Counting::thesis(3), plain(3)] {
        let serial = world.mint(0, 100);
        world.cheat(0, 2, &serial);
        world.pay(0, 1, &serial);
        let second = world.sign(1, 2, &serial, false);
        for _ in 0..2 {
            let outcome = world.receive(2, second.clone());
            assert!(outcome.is_err());
            let wallet = world.clients[2].wallet();
            assert_eq!((wallet.held_cents(), wallet.disputed().count()), (100, 1));
            assert_eq!(wallet.select(1, true), None, "one of the two is bad");
            assert_eq!(wallet.to_submit(), [serial]);
        }
    }
}

#[test]
fn of_two_tokens_of_a_serial_the_good_one_is_found() {
    // 2 holds what 0 spent twice; 1 has the other one verified, and pays 2 with it.
    let mut world = Counting::thesis(3);
    let serial = world.mint(0, 100);
    world.cheat(0, 2, &serial);
    world.pay(0, 1, &serial);
    reissued(&world.verify(1, &serial));
    let good = world.sign(1, 2, &serial, false);
    assert_eq!(world.receive(2, good), Err(Refusal::AlreadyHeld));
    let bad = world.submit(2, &serial, Intent::Reissue);
    let waiting = world.clients[2].wallet().to_submit();
    assert!(waiting.is_empty(), "one at a time");
    let random = world.chance.bytes();
    let again = world.clients[2].submit(&serial, Intent::Reissue, random, &mut world.work);
    assert_eq!(again, None);
    let answer = world.decide(&bad).answer;
    assert_eq!(refusal(&answer).1, [world.key(0)]);
    world.clients[2].settle(answer, &mut world.work);
    assert_eq!(world.clients[2].wallet().held_cents(), 0);
    reissued(&world.verify(2, &serial));
    assert_eq!(world.clients[2].wallet().held_cents(), 100);
    assert!(world.clients[2].wallet().to_submit().is_empty());
}

#[test]
fn a_wallet_pays_exactly_or_says_what_it_could() {
    let mut world = Counting::thesis(2);
    for cents in [500, 200, 200] {
        world.mint(0, cents);
    }
    let to = world.key(1);
    let pay = |world: &mut Counting, cents| {
        let challenge = world.challenge(1, world.key(0));
        world.clients[0].pay(cents, to, challenge, &mut world.work)
    };
    let nearest = |cents| {
        Err(Unpayable {
            nearest_above_cents: cents,
        })
    };
    assert_eq!(pay(&mut world, 300), nearest(Some(400)));
    assert_eq!(pay(&mut world, 901), nearest(None));
    assert_eq!(world.clients[0].wallet().held_cents(), 900);
    assert_eq!(pay(&mut world, 400).expect("exact").len(), 2);
    assert_eq!(world.clients[0].wallet().held_cents(), 500);
}

#[test]
fn the_longest_history_is_spent_first_and_submitted_first() {
    let mut world = Counting::thesis(3);
    let serials: Vec<Serial> = (0..3).map(|_| world.mint(0, 100)).collect();
    for (number, serial) in serials.iter().enumerate() {
        for _ in 0..number {
            world.pay(0, 1, serial);
            world.pay(1, 0, serial);
        }
    }
    let wallet = world.clients[0].wallet();
    let selected = wallet.select(200, true).expect("enough").1;
    assert_eq!(selected, [serials[2], serials[1]]);
    assert_eq!(wallet.to_submit(), [serials[2], serials[1]]);
    assert_eq!((wallet.held_cents(), wallet.unverified_cents()), (300, 200));
}

#[test]
fn a_token_is_not_paid_with_when_the_authority_would_find_no_room() {
    for most in [3, RECIPIENTS_TAKEN, RECIPIENTS_MAX] {
        let mut world = plain(0);
        let known = vec![*world.authority.public_key()];
        let client = Client::new(signer(0), known, Handshake::None);
        let authority = Authority::new(signer(AUTHORITY), Rules::Thesis);
        if most == RECIPIENTS_TAKEN {
            world.clients.push(client);
        } else {
            world.clients.push(client.with_recipients_max(most));
            world.authority = authority.with_recipients_max(most);
        }
        goes_round_until_full(world, most);
    }
}

fn goes_round_until_full(mut world: Counting, most: usize) {
    let serial = world.mint(0, 100);
    let own = world.key(0);
    let me = signer::<Counted>(0);
    let token = world.clients[0].hand_on(&serial, own, None, &mut world.work);
    let mut token = token.expect("held");
    while token.recipients().len() + 1 < most {
        transfer(&mut token, &me, own, None, &mut world.work).expect("room");
    }
    let mut full = token.clone();
    transfer(&mut full, &me, own, None, &mut world.work).expect("room");
    assert_eq!(full.recipients().len(), most);
    assert_eq!(world.receive(0, full), Err(Refusal::NoRoom));
    assert!(world.receive(0, token).is_ok());
    let client = &mut world.clients[0];
    assert_eq!(client.wallet().held_cents(), 100);
    assert_eq!(client.wallet().select(100, false), None);
    let handed = client.hand_on(&serial, own, None, &mut world.work);
    assert_eq!(handed, None);
    let token = reissued(&world.verify(0, &serial));
    assert_eq!(token.recipients().len(), 1);
    assert_eq!(world.clients[0].wallet().held_cents(), 100);
}

#[test]
fn what_is_pending_is_not_spent() {
    let mut world = Counting::thesis(3);
    let serial = world.mint(0, 100);
    world.pay(0, 1, &serial);
    let submission = world.submit(1, &serial, Intent::Reissue);
    let client = &world.clients[1];
    assert_eq!(client.wallet().held_cents(), 0);
    assert_eq!(client.wallet().pending_cents(), 100);
    assert_eq!(client.wallet().select(100, true), None);
    assert_eq!(client.resubmissions(), std::slice::from_ref(&submission));
    let answer = world.decide(&submission).answer;
    let receipt = world.clients[1].settle(answer.clone(), &mut world.work);
    assert!(receipt.expect("it was pending").outcome.is_ok());
    assert_eq!(world.clients[1].wallet().held_cents(), 100);
    assert_eq!(world.clients[1].wallet().unverified_cents(), 0);
    // The answer once more: nothing waits for it.
    assert_eq!(world.clients[1].settle(answer, &mut world.work), None);
    assert_eq!(world.clients[1].wallet().held_cents(), 100);
}

#[test]
fn only_the_answer_to_what_was_asked_settles() {
    let mut world = Counting::thesis(3);
    let serial = world.mint(0, 100);
    world.pay(0, 1, &serial);
    let old = world.verify(1, &serial);
    world.pay(1, 0, &serial);
    world.pay(0, 1, &serial);
    let submission = world.submit(1, &serial, Intent::Reissue);
    // The answer of the first submission, replayed.
    let receipt = world.clients[1].settle(old, &mut world.work);
    assert_eq!(
        receipt.expect("judged").outcome,
        Err(Refusal::UnknownChallenge)
    );
    assert_eq!(world.clients[1].wallet().pending_cents(), 100);
    let answer = world.decide(&submission).answer;
    let receipt = world.clients[1].settle(answer, &mut world.work);
    assert!(receipt.expect("judged").outcome.is_ok());
}

#[test]
fn fresh_tokens_need_no_verification() {
    let mut world = Counting::thesis(1);
    let serial = world.mint(0, 100);
    let random = world.chance.bytes();
    let mut submit = |intent| world.clients[0].submit(&serial, intent, random, &mut world.work);
    assert_eq!(submit(Intent::Reissue), None);
    assert!(submit(Intent::Redeem).is_some());
    assert_eq!(submit(Intent::Redeem), None);
}

#[test]
fn what_may_be_bad_is_not_handed_on() {
    let mut world = Counting::thesis(3);
    let serial = world.mint(0, 100);
    world.cheat(0, 2, &serial);
    world.pay(0, 1, &serial);
    let rival = world.sign(1, 2, &serial, false);
    assert_eq!(world.receive(2, rival), Err(Refusal::AlreadyHeld));
    let (to, challenge) = (world.key(0), world.challenge(0, world.key(2)));
    let client = &mut world.clients[2];
    let handed = client.hand_on(&serial, to, challenge, &mut world.work);
    assert_eq!(handed, None);
    assert_eq!(client.wallet().held_cents(), 100);
}

#[test]
fn an_authority_is_not_paid_with_its_own_tokens() {
    let mut world = Counting::thesis(2);
    let serial = world.mint(0, 100);
    let (to, challenge) = (*world.authority.public_key(), Some([1; 16]));
    let client = &mut world.clients[0];
    let handed = client.hand_on(&serial, to, challenge, &mut world.work);
    assert_eq!(handed, None);
    let unpayable = client.pay(100, to, challenge, &mut world.work);
    let nearest_above_cents = None;
    assert_eq!(
        unpayable,
        Err(Unpayable {
            nearest_above_cents
        })
    );
    assert_eq!(client.wallet().held_cents(), 100);
}

#[test]
fn a_cent_spent_a_thousand_times_crowds_nobody_out() {
    let mut world = Counting::thesis(3);
    let cent = world.mint(0, 1);
    world.cheat(0, 1, &cent);
    let mut outcomes = Vec::new();
    for _ in 0..20 {
        let again = world.sign(0, 1, &cent, true);
        outcomes.push(world.receive(1, again));
    }
    let (kept, refused) = outcomes.split_at(16);
    assert!(kept.iter().all(|one| *one == Err(Refusal::AlreadyHeld)));
    assert!(refused
        .iter()
        .all(|one| *one == Err(Refusal::TooManyDisputed)));
    // Another serial has its own room.
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(0, 2, &serial);
    let honest = world.sign(2, 1, &serial, false);
    assert_eq!(world.receive(1, honest), Err(Refusal::AlreadyHeld));
    assert_eq!(world.clients[1].wallet().disputed().count(), 17);
}

#[test]
fn who_is_refused_for_want_of_room_sends_it_again() {
    let mut world = Counting::thesis(3);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.cheat(0, 2, &serial);
    for _ in 0..16 {
        let again = world.sign(0, 1, &serial, true);
        assert_eq!(world.receive(1, again), Err(Refusal::AlreadyHeld));
    }
    let honest = world.sign(2, 1, &serial, false);
    let outcome = world.receive(1, honest.clone());
    assert_eq!(outcome, Err(Refusal::TooManyDisputed));
    world.verify(1, &serial);
    world.verify(1, &serial);
    // Its challenge is still good.
    assert_ne!(world.receive(1, honest), Err(Refusal::UsedChallenge));
}

#[test]
fn the_longest_of_a_serial_is_submitted_whether_held_or_disputed() {
    let mut world = Counting::thesis(4);
    let serial = world.mint(0, 100);
    world.cheat(0, 2, &serial);
    world.cheat(0, 1, &serial);
    world.pay(0, 3, &serial);
    world.pay(3, 0, &serial);
    for giver in [0, 1] {
        let rival = world.sign(giver, 2, &serial, false);
        assert_eq!(world.receive(2, rival), Err(Refusal::AlreadyHeld));
    }
    let mut lengths = Vec::new();
    for _ in 0..3 {
        let submission = world.submit(2, &serial, Intent::Reissue);
        lengths.push(submission.token.recipients().len());
        let refused = Answer::Refused {
            serial,
            last_proof: submission.token.last_recipient().proof,
            reason: Refusal::DoubleSpend,
            culprits: Vec::new(),
        };
        world.clients[2].settle(refused, &mut world.work);
    }
    assert_eq!(lengths, [5, 4, 3]);
}

#[test]
fn an_old_refusal_settles_nothing_new() {
    // 2 submits what 0 spent twice and is refused; then 2 gets the good one and submits that.
    let mut world = Counting::thesis(3);
    let serial = world.mint(0, 100);
    world.cheat(0, 2, &serial);
    world.pay(0, 1, &serial);
    reissued(&world.verify(1, &serial));
    let refused = world.verify(2, &serial);
    refusal(&refused);
    world.pay(1, 2, &serial);
    let submission = world.submit(2, &serial, Intent::Redeem);
    for _ in 0..2 {
        let settled = world.clients[2].settle(refused.clone(), &mut world.work);
        assert_eq!(settled, None, "late, or twice");
        assert_eq!(world.clients[2].wallet().pending_cents(), 100);
    }
    let redeemed = world.decide(&submission).answer;
    let mut other = redeemed.clone();
    if let Answer::Redeemed { last_proof, .. } = &mut other {
        last_proof[0] ^= 1;
    }
    assert_eq!(world.clients[2].settle(other, &mut world.work), None);
    let settled = world.clients[2].settle(redeemed, &mut world.work);
    assert!(settled.expect("it was pending").outcome.is_ok());
    assert_eq!(world.clients[2].wallet().pending_cents(), 0);
}
