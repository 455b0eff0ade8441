//! The authority's six steps, by both rules, and what it answers when something comes again.

use crate::tokens::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::token::*;

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
fn what_the_authority_has_seen_or_never_signed_costs_it_little() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let serial = world.mint(0, 100);
    world.cheat(0, 2, &serial);
    for hop in 0..100 {
        world.pay(hop % 2, (hop + 1) % 2, &serial);
    }
    let long = world.submit(0, &serial, Intent::Reissue);
    let split = world.submit(2, &serial, Intent::Reissue);
    let work = |world: &mut Counting, submission: &Submission| {
        world.work.clear();
        world.decide(submission);
        world.work.len()
    };
    assert_eq!(work(&mut world, &long), 102 + 1, "all verified, one signed");
    assert_eq!(work(&mut world, &split), 3);
    for known in [&long, &split] {
        assert_eq!(work(&mut world, known), 0, "is here byte for byte");
    }
    // A life that it never began: one look at the first proof.
    let mut unknown = long;
    unknown.token.nonce[0] ^= 1;
    assert_eq!(work(&mut world, &unknown), 1);
}

#[test]
fn no_more_recipients_are_taken_than_agreed() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let mut submission = submission(&mut world);
    let authority = *world.authority.public_key();
    let pairs = submission.token.recipients().to_vec();
    let held = with_pairs(&submission.token, &pairs[..2]);
    let mut sized = |count: usize| {
        let mut token = held.clone();
        let me = signer::<Counted>(1);
        while token.recipients().len() < count {
            let to = if token.recipients().len() + 1 < count {
                world.key(1)
            } else {
                authority
            };
            transfer(&mut token, &me, to, Some([3; 16]), &mut Work::new()).expect("room");
        }
        submission.token = token;
        world.work.clear();
        let answer = world.decide(&submission).answer;
        (answer, world.work.len())
    };
    let (answer, work) = sized(RECIPIENTS_TAKEN + 1);
    assert_eq!((refusal(&answer).0, work), (Refusal::NoRoom, 0));
    reissued(&sized(RECIPIENTS_TAKEN).0);
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
    let answer = Answer::Redeemed {
        serial,
        last_proof: redeemed.token.last_recipient().proof,
    };
    assert_eq!(world.decide(&redeemed).answer, answer);
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
        let in_circulation_and_paid = match first.answer {
            Answer::Reissued(_) => (100, 0),
            _ => (0, 100),
        };
        assert_eq!(
            (books.circulating_cents(), books.redeemed_cents),
            in_circulation_and_paid
        );
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
    // A fault of the prototype: 1 did nothing, its message came twice.
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
