//! Double spends: who is named by both rules, and what is kept as evidence.

use crate::tokens::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::token::*;

type Counting = World<Counted>;

fn world(rules: Rules, handshake: Handshake) -> Counting {
    Counting::new(5, rules, handshake, 1)
}

/// 0 signs to 1 and 2; 2 signs on to 3 and 4. What 1 sends in is honoured.
fn split_twice(rules: Rules, handshake: Handshake) -> (Counting, Serial) {
    let mut world = world(rules, handshake);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(0, 2, &serial);
    world.cheat(2, 3, &serial);
    world.pay(2, 4, &serial);
    reissued(&world.verify(1, &serial));
    (world, serial)
}

#[test]
fn the_prototype_compares_with_its_own_copy_and_keeps_nothing_else() {
    // Unlike the thesis's rules, which name 2 as well.
    let (mut world, serial) = split_twice(Rules::Prototype, Handshake::None);
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
fn the_prototype_names_one_even_from_a_ledger_that_knows_more() {
    // 0 signs to 1 and 2, and 2 to 3 and 4; the thesis's rules keep the branch of 3 as evidence.
    let mut world = world(Rules::Thesis, Handshake::None);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(0, 2, &serial);
    world.cheat(2, 3, &serial);
    world.pay(2, 4, &serial);
    reissued(&world.verify(1, &serial));
    refusal(&world.verify(3, &serial));
    let ledger = world.authority.ledger().clone();
    world.authority = Authority::with_ledger(signer(AUTHORITY), Rules::Prototype, ledger);
    let (reason, culprits) = refusal(&world.verify(4, &serial));
    let named = (Refusal::DoubleSpend, vec![world.key(0)]);
    assert_eq!((reason, culprits), named);
    assert_eq!(world.books().refused_cents, 100, "what was kept before");
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
                // A client that is refused for what it did itself has lost nothing.
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
fn a_withdrawn_serial_still_names_its_culprits() {
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(0, 2, &serial);
    let honoured = world.submit(2, &serial, Intent::Reissue);
    reissued(&world.decide(&honoured).answer);
    world.authority.blacklist(&serial);
    let split = world.verify(1, &serial);
    let named = (Refusal::DoubleSpend, vec![world.key(0)]);
    assert_eq!(refusal(&split), named);
    assert_eq!(world.authority.ledger().offences().len(), 1);
    // The answer that was lost is not given again: it would be of no worth.
    let again = refusal(&world.decide(&honoured).answer);
    assert_eq!(again, (Refusal::Blacklisted, vec![]));
    let books = world.books();
    assert_eq!(
        (books.blacklisted_cents, books.circulating_cents()),
        (100, 0)
    );
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
    let (mut world, serial) = split_twice(Rules::Thesis, Handshake::Challenge);
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
    assert_eq!(world.books().dropped_branches, 36);
}

#[test]
fn a_full_store_makes_nobody_immune() {
    // 0 fills the life with branches that name it only; then 3, on a branch of 0, signs twice.
    let mut world = world(Rules::Thesis, Handshake::Challenge);
    let serial = world.mint(0, 1);
    world.cheat(0, 1, &serial);
    world.verify(1, &serial);
    world.cheat(0, 3, &serial);
    world.cheat(3, 4, &serial);
    world.verify(4, &serial);
    for _ in 0..70 {
        world.cheat(0, 2, &serial);
        refusal(&world.verify(2, &serial));
    }
    assert_eq!(world.books().dropped_branches, 7);
    let submission = world.submit(3, &serial, Intent::Reissue);
    let decision = world.decide(&submission);
    assert_eq!(refusal(&decision.answer).1, [world.key(0), world.key(3)]);
    assert!(matches!(decision.record, Some(Record::Refused(_))));
    let offences = world.authority.ledger().offences();
    let named = |who| offences.iter().any(|offence| offence.culprit == who);
    assert!(named(world.key(3)), "{offences:?}");
    assert_eq!(world.books().refused_cents, 65);
    let again = world.decide(&submission);
    assert_eq!((again.record, again.answer), (None, decision.answer));
}
