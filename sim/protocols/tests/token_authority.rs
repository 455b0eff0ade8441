//! The authority's six steps, by both rules, and what it answers when something comes again.

mod tokens;

use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::token::*;
use tokens::*;

type Counting = World<Counted>;

fn world(rules: Rules, handshake: Handshake) -> Counting {
    Counting::new(5, rules, handshake, 1)
}

/// Token of 100 c from 0 to 1, as 1 submits it.
fn submission(world: &mut Counting) -> Submission {
    let serial = world.mint(0, 100);
    world.pay(0, 1, &serial);
    world.submit(1, &serial, Intent::Reissue)
}

fn reason(world: &mut Counting, submission: &Submission) -> Refusal {
    let decision = world.decide(submission);
    assert_eq!(decision.record, None, "nothing changed");
    refusal(&decision.answer).0
}

#[test]
fn a_verified_token_is_short_again() {
    for (rules, handshake) in [
        (Rules::Prototype, Handshake::None),
        (Rules::Thesis, Handshake::None),
        (Rules::Thesis, Handshake::Challenge),
    ] {
        let mut world = world(rules, handshake);
        let serial = world.mint(0, 100);
        let mut nonces = Vec::new();
        for _ in 0..5 {
            world.pay(0, 1, &serial);
            let sent = world.pay(1, 0, &serial);
            let token = reissued(&world.verify(0, &serial));
            assert_eq!(token.wire_bytes(), 287);
            assert_eq!(token.last_recipient().key, world.key(0));
            let is_signature = token.nonce == sent.last_recipient().proof;
            assert_eq!(is_signature, rules == Rules::Prototype);
            assert!(!nonces.contains(&token.nonce), "lives differ");
            nonces.push(token.nonce);
        }
        let copy = world.authority.ledger().copy(&serial).expect("minted");
        let lengths = copy
            .lives
            .iter()
            .map(|life| life.honoured.as_ref().map(Vec::len));
        let came_back = [Some(3); 5].into_iter().chain([None]);
        assert!(lengths.eq(came_back), "the copy has the entire history");
        assert_eq!(world.books().circulating_cents(), 100);
    }
}

/// Changes of a good submission, and what each is refused for.
fn altered(good: &Submission) -> Vec<(Submission, Refusal)> {
    let alter = |change: &dyn Fn(&mut Token), refusal| {
        let mut submission = good.clone();
        change(&mut submission.token);
        (submission, refusal)
    };
    let pairs = good.token.recipients();
    let cut = |token: &mut Token, count: usize| *token = with_pairs(token, &pairs[..count]);
    let mut forged = pairs.to_vec();
    forged[2].proof[0] ^= 1;
    let stranger = key::<Counted>(0);
    vec![
        alter(&|token| cut(token, 1), Refusal::TooFewRecipients),
        alter(&|token| cut(token, 2), Refusal::TooFewRecipients),
        alter(
            &|token| token.authority = stranger,
            Refusal::UnknownAuthority,
        ),
        alter(&|token| token.serial[0] = 9, Refusal::UnknownSerial),
        alter(&|token| token.value = 15, Refusal::WrongValue),
        alter(&|token| token.nonce[0] ^= 1, Refusal::InvalidFirstProof),
        alter(
            &|token| *token = with_pairs(token, &forged),
            Refusal::InvalidProof,
        ),
    ]
}

#[test]
fn every_step_refuses_what_it_is_for() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let good = submission(&mut world);
    let stranger = Submission {
        submitter: world.key(0),
        ..good.clone()
    };
    assert_eq!(reason(&mut world, &stranger), Refusal::WrongSubmitter);
    for (submission, refusal) in altered(&good) {
        assert_eq!(reason(&mut world, &submission), refusal);
    }
    // Addressed to another than the authority.
    let serial = world.mint(0, 100);
    world.pay(0, 1, &serial);
    let elsewhere = Submission {
        token: world.sign(1, 2, &serial, true),
        ..good.clone()
    };
    assert_eq!(reason(&mut world, &elsewhere), Refusal::WrongRecipient);
    // None of that harmed the good one.
    reissued(&world.decide(&good).answer);
}

#[test]
fn a_life_that_never_began_is_refused() {
    // Two authorities with one key: the second has lost what the first minted.
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let submission = submission(&mut world);
    let mut other = Authority::<Counted>::new(signer(AUTHORITY), Rules::Thesis);
    let order = Order {
        serial: submission.token.serial,
        denomination: denomination(100),
        first: world.key(3),
        challenge: None,
    };
    other
        .mint(&order, [5; 64], &mut Work::new())
        .expect("fresh there");
    let decision = other.decide(&submission, [6; 64], &mut Work::new());
    assert_eq!(refusal(&decision.answer).0, Refusal::NeverIssued);
}

#[test]
fn the_prototype_omits_two_checks() {
    for rules in [Rules::Prototype, Rules::Thesis] {
        let mut world = world(rules, Handshake::None);
        let mut stolen = submission(&mut world);
        stolen.submitter = world.key(4);
        let taken = matches!(world.decide(&stolen).answer, Answer::Reissued(_));
        assert_eq!(taken, rules == Rules::Prototype);
        let blacklisted = submission(&mut world);
        let serial = blacklisted.token.serial;
        assert!(world.authority.blacklist(&serial).is_some());
        assert_eq!(world.authority.blacklist(&serial), None, "once");
        assert_eq!(world.books().blacklisted_cents, 100);
        let taken = matches!(world.decide(&blacklisted).answer, Answer::Reissued(_));
        assert_eq!(taken, rules == Rules::Prototype);
    }
}

#[test]
fn what_was_blacklisted_is_not_owed() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let submission = submission(&mut world);
    world.authority.blacklist(&submission.token.serial);
    assert_eq!(reason(&mut world, &submission), Refusal::Blacklisted);
    assert_eq!(world.books().circulating_cents(), 0);
    assert_eq!(world.authority.blacklist(&serial(99)), None);
    // The prototype pays all the same, and the books still add up.
    let mut world = self::world(Rules::Prototype, Handshake::None);
    let serial = world.mint(0, 100);
    world.authority.blacklist(&serial);
    let redeemed = world.submit(0, &serial, Intent::Redeem);
    assert_eq!(world.decide(&redeemed).answer, Answer::Redeemed(serial));
    assert_eq!(world.authority.blacklist(&serial), None, "it is gone");
    let books = world.books();
    assert_eq!((books.redeemed_cents, books.blacklisted_cents), (100, 0));
}

#[test]
fn a_lost_answer_is_given_again() {
    for intent in [Intent::Reissue, Intent::Redeem] {
        let mut world = world(Rules::Thesis, Handshake::Challenge);
        let serial = world.mint(0, 100);
        world.pay(0, 1, &serial);
        let submission = world.submit(1, &serial, intent);
        let first = world.decide(&submission);
        assert!(first.record.is_some());
        for again in world.clients[1].resubmissions() {
            let second = world.decide(&again);
            assert_eq!((second.record, &second.answer), (None, &first.answer));
        }
        // Asking for the other thing changes nothing either.
        let intent = Intent::ALL.iter().find(|other| **other != intent);
        let other = Submission {
            intent: *intent.expect("two"),
            ..submission
        };
        assert_eq!(world.decide(&other).answer, first.answer);
        let books = world.books();
        assert_eq!(books.circulating_cents() + books.redeemed_cents, 100);
        assert_eq!(books.refused_cents, 0);
    }
}

#[test]
fn signing_a_token_to_the_authority_twice_is_no_crime() {
    // With another challenge, so another proof: the way it went is the same.
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let serial = world.mint(0, 100);
    world.pay(0, 1, &serial);
    let authority = *world.authority.public_key();
    let held = world.clients[1].wallet().held().next().cloned();
    let twice = [[1; 16], [2; 16]].map(|challenge| {
        let mut token = held.clone().expect("paid");
        let me = signer::<Counted>(1);
        transfer(
            &mut token,
            &me,
            authority,
            Some(challenge),
            &mut Work::new(),
        )
        .expect("room");
        Submission {
            submitter: world.key(1),
            token,
            intent: Intent::Reissue,
        }
    });
    let answers = twice.map(|submission| world.decide(&submission).answer);
    assert_eq!(answers[0], answers[1]);
    assert!(reissued(&answers[0]).nonce.starts_with(&[1; 16]));
    assert_eq!(world.authority.ledger().offences(), []);
}

#[test]
fn the_prototype_accuses_who_asks_for_a_lost_answer() {
    // A fault of the prototype: 1 did nothing, his message came twice.
    let mut world = world(Rules::Prototype, Handshake::None);
    let submission = submission(&mut world);
    reissued(&world.decide(&submission).answer);
    let again = world.decide(&submission);
    let (reason, culprits) = refusal(&again.answer);
    assert_eq!(
        (reason, culprits),
        (Refusal::AlreadyRedeemed, vec![world.key(1)])
    );
    assert_eq!(again.record, None);
    assert_eq!(world.authority.ledger().offences(), []);
}

#[test]
fn the_prototype_compares_with_its_own_copy_and_keeps_nothing_else() {
    // As below in `a_cheat_on_a_refused_branch_is_found_too`, where the thesis's rules name 2.
    let mut world = world(Rules::Prototype, Handshake::None);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(0, 2, &serial);
    world.cheat(2, 3, &serial);
    world.pay(2, 4, &serial);
    reissued(&world.verify(1, &serial));
    for holder in [3, 4] {
        let submission = world.submit(holder, &serial, Intent::Reissue);
        let decision = world.decide(&submission);
        let (reason, culprits) = refusal(&decision.answer);
        let named = (Refusal::DoubleSpend, vec![world.key(0)]);
        assert_eq!((reason, culprits), named);
        assert_eq!(decision.record, None);
    }
    let copy = world.authority.ledger().copy(&serial).expect("minted");
    assert!(copy.lives.iter().all(|life| life.refused.is_empty()));
    assert_eq!(world.books().refused_cents, 0);
}

#[test]
fn who_pays_the_authority_and_somebody_else_signed_twice() {
    // 1 submits and pays 2, who submits too: in either order 1 signed both.
    for rules in [Rules::Thesis, Rules::Prototype] {
        for first in [1, 2] {
            let mut world = world(rules, Handshake::None);
            let serial = world.mint(0, 100);
            world.pay(0, 1, &serial);
            world.cheat(1, 2, &serial);
            let answers = [first, 3 - first].map(|who| world.verify(who, &serial));
            reissued(&answers[0]);
            let (reason, culprits) = refusal(&answers[1]);
            if rules == Rules::Prototype && first == 2 {
                // What came stops on the known way: the prototype names who is last on it.
                let named = (Refusal::AlreadyRedeemed, vec![world.key(1)]);
                assert_eq!((reason, culprits), named);
            } else {
                let named = (Refusal::DoubleSpend, vec![world.key(1)]);
                assert_eq!((reason, culprits), named);
            }
            if rules == Rules::Thesis {
                // Who is refused for what he did himself has lost nothing.
                let losses = world.authority.ledger().losses_cents();
                let lost = losses.get(&world.key(2)).copied();
                assert_eq!(
                    (losses.len(), lost),
                    match first {
                        1 => (1, Some(100)),
                        _ => (0, None),
                    }
                );
            }
        }
    }
}

#[test]
fn the_first_recipient_can_be_the_culprit() {
    for cheats_with in [Intent::Reissue, Intent::Redeem] {
        let mut world = world(Rules::Thesis, Handshake::Challenge);
        let serial = world.mint(0, 100);
        world.cheat(0, 1, &serial);
        match cheats_with {
            Intent::Reissue => {
                world.pay(0, 2, &serial);
                world.verify(2, &serial);
            }
            Intent::Redeem => {
                let submission = world.submit(0, &serial, Intent::Redeem);
                world.decide(&submission);
            }
        }
        let (reason, culprits) = refusal(&world.verify(1, &serial));
        assert_eq!(reason, Refusal::DoubleSpend);
        assert_eq!(culprits, [world.key(0)]);
        let losses = world.authority.ledger().losses_cents();
        assert_eq!(
            losses.into_iter().collect::<Vec<_>>(),
            [(world.key(1), 100)]
        );
    }
}

#[test]
fn a_cheat_on_a_refused_branch_is_found_too() {
    // 0 signs to 1 and 2; 2 signs on to 3 and 4. What 1 sends in is honoured.
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(0, 2, &serial);
    world.cheat(2, 3, &serial);
    world.pay(2, 4, &serial);
    reissued(&world.verify(1, &serial));
    let (_, culprits) = refusal(&world.verify(3, &serial));
    assert_eq!(culprits, [world.key(0)]);
    let (_, culprits) = refusal(&world.verify(4, &serial));
    assert_eq!(
        culprits,
        [world.key(0), world.key(2)],
        "the instigator first"
    );
    let offences = world.authority.ledger().offences();
    let mut expected = [world.key(0), world.key(2)];
    expected.sort();
    assert!(offences.iter().map(|offence| offence.culprit).eq(expected));
    assert_eq!(world.books().refused_cents, 200);
}

#[test]
fn a_branch_of_a_life_long_over_still_names_its_culprit() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(0, 2, &serial);
    for holder in [2, 3, 4, 2, 3] {
        reissued(&world.verify(holder, &serial));
        let next = [3, 4, 2][holder - 2];
        world.pay(holder, next, &serial);
    }
    let (_, culprits) = refusal(&world.verify(1, &serial));
    assert_eq!(culprits, [world.key(0)]);
    let offences = world.authority.ledger().offences();
    assert_eq!((offences.len(), offences[0].life), (1, 0));
    // Whose token it is by now is not touched.
    reissued(&world.verify(4, &serial));
    assert_eq!(world.books().circulating_cents(), 100);
}

#[test]
fn a_refused_branch_sent_again_is_counted_once() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(0, 2, &serial);
    world.verify(2, &serial);
    let submission = world.submit(1, &serial, Intent::Reissue);
    let first = world.decide(&submission);
    let again = world.decide(&submission);
    assert!(matches!(first.record, Some(Record::Refused(_))));
    assert_eq!((again.record, again.answer), (None, first.answer));
    assert_eq!(world.books().refused_cents, 100);
}

#[test]
fn a_cheat_cannot_fill_the_store() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let serial = world.mint(0, 1);
    world.cheat(0, 1, &serial);
    world.verify(1, &serial);
    let mut records = 0;
    for _ in 0..100 {
        world.cheat(0, 2, &serial);
        let submission = world.submit(2, &serial, Intent::Reissue);
        let decision = world.decide(&submission);
        assert_eq!(refusal(&decision.answer).1, [world.key(0)]);
        records += usize::from(decision.record.is_some());
        world.clients[2].settle(decision.answer, &mut Work::new());
    }
    assert_eq!(records, 64);
}

#[test]
fn an_order_gives_one_token_however_often_it_comes() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let order = world.order(0, 100);
    let mut mint = |order: &Order, random: u8| {
        let minted = world.authority.mint(order, [random; 64], &mut Work::new());
        minted.map(|(record, token)| (record.is_some(), token))
    };
    let (is_new, token) = mint(&order, 1).expect("fresh");
    assert!(is_new);
    assert_eq!(mint(&order, 2), Ok((false, token)));
    let other = Order {
        denomination: denomination(200),
        ..order
    };
    assert_eq!(mint(&other, 3), Err(SerialTaken));
    let other = Order {
        challenge: Some([3; 16]),
        ..order
    };
    assert_eq!(mint(&other, 3), Err(SerialTaken));
    assert_eq!(world.books().minted_cents, 100);
}

#[test]
fn the_prototype_reads_no_challenges() {
    let mut world = world(Rules::Prototype, Handshake::Challenge);
    let submission = submission(&mut world);
    assert_eq!(reason(&mut world, &submission), Refusal::UnknownLayout);
}
