//! Proposals that are sent again: what is repaired, what is given up, and what a phone that was off does.

use std::collections::{BTreeMap, BTreeSet};

use super::agents::*;
use pocketsim_protocols::block::Block;
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::trustchain::{AgentConfig, Retries};
use proptest::prelude::*;

const FOUR: Retries = Retries {
    attempts: 4,
    first_wait_s: 2.0,
    factor: 2.0,
    longest_wait_s: 100.0,
    jitter: 0.0,
    deadline_s: 600.0,
    kept_while_off: true,
};

fn world(retries: Retries) -> World<Counted> {
    World::retrying(3, AgentConfig::default(), retries)
}

/// Reasons for which transactions were lost.
fn lost(world: &World<Counted>) -> Vec<Reason> {
    let events = world.events().into_iter();
    let lost = events.filter(|event| event.kind == EventKind::Lose);
    lost.filter_map(|event| event.reason).collect()
}

/// When a proposal that is never answered leaves, and when it is given up.
fn unanswered(retries: Retries) -> (Vec<Seconds>, Seconds) {
    let mut world = world(retries);
    world.proposal(ALICE, BOB);
    let mut sent = vec![0.0];
    while let Some((date, _)) = world.agents[0].next_timeout() {
        world.wait_until(date);
        if world.table.pop().is_some() {
            sent.push(date);
        }
    }
    assert_eq!(lost(&world).len(), 1);
    (sent, world.now)
}

#[test]
fn a_lost_proposal_is_sent_again_and_stored() {
    let mut world = world(FOUR);
    let first = world.proposal(ALICE, BOB);
    world.log.clear();
    world.wait_until(1.9);
    assert!(world.table.is_empty());
    world.wait_until(2.0);
    assert_eq!(world.steps(), ["encode", "->"]);
    assert_eq!(world.table[0].block, first.block);
    world.settle();
    assert_eq!(world.count(EventKind::Store), 1);
    assert_eq!(world.agents[0].next_timeout(), None);
    assert_eq!(world.agents[0].repeated(), (1, 0));
}

#[test]
fn a_lost_answer_is_given_again_and_stored_once() {
    let mut world = world(FOUR);
    let proposal = world.proposal(ALICE, BOB);
    let first = world.answer(proposal);
    // Beyond the window of duplicates, with other blocks on both chains meanwhile.
    world.trade(BOB, CAROL);
    world.trade(CAROL, ALICE);
    world.now = 500.0;
    world.trade(BOB, ALICE);
    let before = (world.agents[1].stored(), world.count(EventKind::StorePeer));
    world.log.clear();
    let again = world.answer(proposal);
    assert_eq!(world.steps(), ["decode", "process", "encode", "->"]);
    assert_eq!(again.block, first.block);
    assert_eq!(world.agents[1].stored(), before.0);
    world.hand(again);
    world.hand(first);
    assert_eq!(world.count(EventKind::Store), 1);
    assert_eq!(world.refusals().len(), 1);
    assert_eq!(world.agents[1].repeated(), (0, 1));
}

#[test]
fn who_did_not_propose_it_gets_no_answer() {
    let mut world = world(FOUR);
    let proposal = world.proposal(ALICE, BOB);
    world.hand(proposal);
    world.table.clear();
    world.hand(Letter {
        from: CAROL,
        ..proposal
    });
    assert!(world.table.is_empty());
    assert_eq!(world.refusals(), [Reason::Duplicate]);
}

#[test]
fn another_proposal_for_a_place_is_a_fork_as_ever() {
    let mut world = world(FOUR);
    let proposal = world.proposal(ALICE, BOB);
    world.hand(proposal);
    world.table.clear();
    let mut block = Block {
        payload: pocketsim_protocols::block::Text::new(0, 99),
        ..proposal.block
    };
    block.sign_as_sender(&<Counted as pocketsim_protocols::crypto::Crypto>::new(
        SEED, ALICE,
    ));
    world.hand(Letter { block, ..proposal });
    assert!(world.table.is_empty());
    assert_eq!(world.refusals(), [Reason::Fork]);
}

#[test]
fn waits_grow_up_to_the_longest_and_the_last_is_waited_for() {
    assert_eq!(unanswered(FOUR), (vec![0.0, 2.0, 6.0, 14.0], 30.0));
    let capped = Retries {
        longest_wait_s: 3.0,
        ..FOUR
    };
    assert_eq!(unanswered(capped), (vec![0.0, 2.0, 5.0, 8.0], 11.0));
}

#[test]
fn a_share_of_each_wait_is_drawn() {
    // 0 and 0.5 are drawn in turn: nothing off, then half of half.
    let drawn = Retries {
        jitter: 0.5,
        ..FOUR
    };
    assert_eq!(unanswered(drawn), (vec![0.0, 2.0, 5.0, 13.0], 25.0));
}

#[test]
fn a_deadline_ends_it_whatever_is_left() {
    let short = Retries {
        deadline_s: 7.0,
        ..FOUR
    };
    assert_eq!(unanswered(short), (vec![0.0, 2.0, 6.0], 7.0));
}

#[test]
fn one_attempt_only_waits() {
    let once = Retries {
        attempts: 1,
        ..FOUR
    };
    assert_eq!(unanswered(once), (vec![0.0], 2.0));
}

#[test]
fn what_is_not_delivered_is_sent_again_and_lost_once_for_the_last_reason() {
    let mut world = world(FOUR);
    let letter = world.proposal(ALICE, BOB);
    for reason in [
        Reason::ConnectTimeout,
        Reason::IdleTimeout,
        Reason::Duplicate,
    ] {
        world.bounce(letter, reason);
    }
    assert_eq!(lost(&world), []);
    world.wait_until(100.0);
    assert_eq!(world.table.len(), 3);
    assert_eq!(lost(&world), [Reason::IdleTimeout]);
    world.bounce(letter, Reason::ConnectTimeout);
    assert_eq!(lost(&world).len(), 1);
}

#[test]
fn an_answer_that_is_not_delivered_is_its_proposers_business() {
    let mut world = world(FOUR);
    let proposal = world.proposal(ALICE, BOB);
    let answer = world.answer(proposal);
    world.bounce(answer, Reason::IdleTimeout);
    assert_eq!(lost(&world), []);
    world.wait_until(2.0);
    world.settle();
    assert_eq!(world.count(EventKind::Store), 1);
}

#[test]
fn an_unanswered_proposal_is_lost_as_one_whose_retries_are_exhausted() {
    let mut world = world(FOUR);
    world.proposal(ALICE, BOB);
    world.wait_until(100.0);
    assert_eq!(lost(&world), [Reason::RetriesExhausted]);
}

#[test]
fn an_answer_that_comes_after_all_is_refused_for_the_reason() {
    let mut world = world(FOUR);
    let proposal = world.proposal(ALICE, BOB);
    let answer = world.answer(proposal);
    world.wait_until(100.0);
    world.table.clear();
    world.hand(answer);
    world.hand(answer);
    let refused = [Reason::RetriesExhausted, Reason::BrokenLink];
    assert_eq!(world.refusals(), refused);
    assert_eq!(world.count(EventKind::Store), 0);
    assert_eq!(lost(&world).len(), 1);
}

#[test]
fn a_phone_that_was_off_tries_again_soon_after_it_is_on() {
    let mut world = world(FOUR);
    world.proposal(ALICE, BOB);
    world.proposal(ALICE, CAROL);
    assert_eq!(world.shut_down(ALICE, &[]), 2);
    world.now = 50.0;
    world.agents[0].turn_on(50.0);
    assert!(world.table.is_empty());
    // Half of a first wait, and nothing, by what is drawn.
    assert_eq!(world.agents[0].next_timeout().map(|of| of.0), Some(50.0));
    world.wait_until(50.5);
    assert_eq!(world.table.len(), 1);
    world.wait_until(51.0);
    assert_eq!(world.table.len(), 2);
    world.settle();
    assert_eq!(world.count(EventKind::Store), 2);
}

#[test]
fn what_is_not_due_when_a_phone_is_on_again_waits_on() {
    let mut world = world(FOUR);
    world.proposal(ALICE, BOB);
    world.shut_down(ALICE, &[]);
    world.agents[0].turn_on(1.0);
    assert_eq!(world.agents[0].next_timeout().map(|of| of.0), Some(2.0));
}

#[test]
fn a_deadline_that_passes_while_a_phone_is_off_is_its_own_fault() {
    let mut world = world(FOUR);
    world.proposal(ALICE, BOB);
    world.shut_down(ALICE, &[]);
    world.agents[0].turn_on(700.0);
    world.wait_until(700.0);
    assert_eq!(lost(&world), [Reason::SenderOff]);
}

#[test]
fn a_phone_may_lose_what_is_open_when_it_goes_off() {
    let forgetful = Retries {
        kept_while_off: false,
        ..FOUR
    };
    let mut world = world(forgetful);
    let letter = world.proposal(ALICE, BOB);
    world.trade(ALICE, CAROL);
    assert_eq!(world.shut_down(ALICE, &[]), 0);
    assert_eq!(lost(&world), [Reason::SenderOff]);
    world.agents[0].turn_on(50.0);
    assert_eq!(world.agents[0].next_timeout(), None);
    let answer = world.answer(letter);
    world.hand(answer);
    assert_eq!(world.refusals(), [Reason::SenderOff]);
}

#[test]
fn what_was_never_made_is_not_tried_again() {
    for kept_while_off in [true, false] {
        let mut world = world(Retries {
            kept_while_off,
            ..FOUR
        });
        let letter = world.proposal(ALICE, BOB);
        let unmade = letter.block.message_id();
        assert_eq!(world.shut_down(ALICE, &[unmade]), 0);
        assert_eq!(lost(&world), []);
        world.agents[0].turn_on(50.0);
        assert_eq!(world.agents[0].next_timeout(), None);
    }
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Transact { from: u32, step: u32 },
    Hand { pick: usize, keep: bool },
    Lose { pick: usize, told: bool },
    Wait { seconds: f64 },
    Restart { node: u32, seconds: f64 },
}

fn action() -> impl Strategy<Value = Action> {
    let (pick, either) = (any::<usize>, any::<bool>);
    prop_oneof![
        2 => (0..3u32, 1..3u32).prop_map(|(from, step)| Action::Transact { from, step }),
        4 => (pick(), either()).prop_map(|(pick, keep)| Action::Hand { pick, keep }),
        2 => (pick(), either()).prop_map(|(pick, told)| Action::Lose { pick, told }),
        2 => (0.0..4.0f64).prop_map(|seconds| Action::Wait { seconds }),
        1 => (0..3u32, 0.0..40.0f64)
            .prop_map(|(node, seconds)| Action::Restart { node, seconds }),
    ]
}

fn perform(world: &mut World<Counted>, action: Action) {
    let pick = |world: &World<Counted>, pick: usize| pick.checked_rem(world.table.len());
    match action {
        Action::Transact { from, step } => {
            world.transact(NodeId(from), NodeId((from + step) % 3), 100);
        }
        Action::Hand { pick: any, keep } => {
            if let Some(place) = pick(world, any) {
                let letter = world.table[place];
                if !keep {
                    world.table.remove(place);
                }
                world.hand(letter);
            }
        }
        Action::Lose { pick: any, told } => {
            if let Some(place) = pick(world, any) {
                let letter = world.table.remove(place);
                if told {
                    world.bounce(letter, Reason::IdleTimeout);
                }
            }
        }
        Action::Wait { seconds } => world.wait_until(world.now + seconds),
        Action::Restart { node, seconds } => {
            world.shut_down(NodeId(node), &[]);
            world.now += seconds;
            world.agents[node as usize].turn_on(world.now);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_proposal_is_stored_or_lost_once_and_nobody_stores_twice(
        actions in prop::collection::vec(action(), 0..120),
        kept_while_off in any::<bool>(),
        attempts in 1..6u32,
    ) {
        let retries = Retries { attempts, kept_while_off, deadline_s: 60.0, jitter: 0.5, ..FOUR };
        // Letters lie on the table for as long as they like.
        let config = AgentConfig { duplicate_window_s: 1e6, ..AgentConfig::default() };
        let mut world = World::<Counted>::retrying(3, config, retries);
        for action in actions {
            perform(&mut world, action);
        }
        world.wait_until(world.now + 100.0);
        world.settle();
        let mut counts: BTreeMap<(EventKind, MessageId), usize> = BTreeMap::new();
        for event in world.events() {
            *counts.entry((event.kind, event.message)).or_default() += 1;
        }
        let of = |kind, message| counts.get(&(kind, message)).copied().unwrap_or(0);
        let messages: BTreeSet<MessageId> = counts.keys().map(|&(_, message)| message).collect();
        for message in messages {
            prop_assert_eq!(of(EventKind::Send, message), 1);
            let ends = of(EventKind::Store, message) + of(EventKind::Lose, message);
            prop_assert_eq!(ends, 1);
            prop_assert!(of(EventKind::StorePeer, message) <= 1);
            prop_assert!(of(EventKind::StorePeer, message) >= of(EventKind::Store, message));
        }
    }
}
