//! One rule of the TrustChain agent per test, under both crypto providers.

use super::agents::*;
use pocketsim_protocols::block::{Block, Text};
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::{Crypto, Digest};
use pocketsim_protocols::trustchain::{AgentConfig, PEERS_MAX};

/// Runs a generic function under both providers.
macro_rules! both {
    ($($(#[$attribute:meta])* fn $name:ident($world:ident) $body:block)+) => { $(
        #[test]
        $(#[$attribute])*
        fn $name() {
            fn check<C: Crypto>($world: &mut World<C>) $body
            under_both(|mut world| check(&mut world), |mut world| check(&mut world));
        }
    )+ };
}

fn resigned<C: Crypto>(mut block: Block) -> Block {
    block.sign_as_sender(&C::new(SEED, block.proposer));
    block
}

fn reanswered<C: Crypto>(mut block: Block, by: NodeId) -> Block {
    block.sign_as_receiver(&C::new(SEED, by));
    block
}

fn other_payload(block: Block) -> Block {
    let payload = Text::new(block.message_id().sequence(), 99);
    Block { payload, ..block }
}

both! {
    fn strangers_trade_once_they_are_introduced(world) {
        let key = C::new(SEED, NodeId(3)).public_key();
        world.transact(ALICE, NodeId(3), 128);
        assert_eq!(world.refusals(), [Reason::WrongReceiver]);
        assert_eq!(world.agents[0].introduce(key), Some(NodeId(3)));
        assert_eq!(world.agents[0].introduce(key), Some(NodeId(3)));
        let letter = world.proposal(ALICE, NodeId(3));
        assert_eq!(letter.block.receiver_pubkey, key);
    }

    fn the_address_book_is_bounded_and_numbers_stay(world) {
        let key = |node: usize| C::new(SEED + 1, NodeId(node as u32)).public_key();
        let bob = C::new(SEED, BOB).public_key();
        for node in 3..PEERS_MAX {
            assert_eq!(world.agents[0].introduce(key(node)), Some(NodeId(node as u32)));
        }
        assert_eq!(world.agents[0].introduce(key(PEERS_MAX)), None);
        assert_eq!(world.agents[0].introduce(bob), Some(BOB));
    }

    fn a_transaction_takes_these_steps(world) {
        world.trade(ALICE, BOB);
        assert_eq!(world.steps(), [
            "command", "sign", "encode", "send", "->",
            "decode", "process", "verify", "sign", "hash", "store", "store_peer", "encode", "->",
            "decode", "receive_back", "verify", "hash", "store", "store",
        ]);
        assert_eq!((world.agents[0].stored(), world.agents[1].stored()), (1, 1));
        assert!(world.refusals().is_empty());
    }

    fn events_of_a_transaction_share_its_number_and_say_its_size(world) {
        world.trade(CAROL, BOB);
        world.trade(CAROL, BOB);
        let events = world.events();
        let (first, second) = events.split_at(5);
        assert!(first.iter().all(|event| event.message == MessageId::new(CAROL, 0)));
        assert!(second.iter().all(|event| event.message == MessageId::new(CAROL, 1)));
        let sizes: Vec<u32> = events.iter().map(|event| event.size_bytes).collect();
        assert_eq!(sizes, [448, 448, 536, 536, 536, 512, 512, 664, 664, 664]);
    }

    fn work_is_charged_for_the_bytes_it_is_done_on(world) {
        world.trade(ALICE, BOB);
        let work = |step: &Step| match *step {
            Step::Work(_, operation, bytes) => Some((operation.name(), bytes)),
            _ => None,
        };
        let work: Vec<_> = world.log.iter().filter_map(work).collect();
        assert_eq!(work, [
            ("command", 128), ("sign", 360), ("encode", 448),
            ("decode", 448), ("verify", 360), ("sign", 448), ("hash", 536), ("store", 536),
            ("encode", 536),
            ("decode", 536), ("verify", 448), ("hash", 536), ("store", 536),
        ]);
    }

    fn open_proposals_share_a_previous_hash(world) {
        let first = world.proposal(ALICE, BOB);
        let second = world.proposal(ALICE, BOB);
        assert_eq!(first.block.prev_hash_sender, None);
        assert_eq!(second.block.prev_hash_sender, None);
        assert_eq!((first.block.index, second.block.index), (1, 2));
        let answers = [world.answer(first), world.answer(second)];
        assert_eq!(answers[1].block.prev_hash_receiver, Some(answers[0].block.digest::<C>()));
        answers.into_iter().for_each(|answer| world.hand(answer));
        let third = world.proposal(ALICE, BOB);
        assert_eq!(third.block.prev_hash_sender, Some(answers[1].block.digest::<C>()));
    }

    fn a_chain_goes_through_both_roles(world) {
        world.trade(ALICE, BOB);
        world.trade(BOB, CAROL);
        let proposal = world.proposal(CAROL, ALICE);
        assert_eq!(proposal.block.index, 1);
        assert!(proposal.block.prev_hash_sender.is_some());
        let answer = world.answer(proposal);
        assert!(answer.block.prev_hash_receiver.is_some());
        world.hand(answer);
        assert!(world.refusals().is_empty());
    }

    fn a_repeated_proposal_is_a_duplicate(world) {
        let proposal = world.proposal(ALICE, BOB);
        world.hand(proposal);
        world.log.clear();
        world.hand(proposal);
        assert_eq!(world.steps(), ["decode", "process", "refuse"]);
        assert_eq!(world.refusals(), [Reason::Duplicate]);
        assert_eq!(world.agents[1].stored(), 1);
    }

    fn a_duplicate_is_forgotten_after_the_window(world) {
        let proposal = world.proposal(ALICE, BOB);
        world.hand(proposal);
        world.now = 30.0;
        world.hand(proposal);
        world.now = 30.1;
        world.hand(proposal);
        assert_eq!(world.refusals(), [Reason::Duplicate]);
        assert_eq!(world.agents[1].stored(), 2);
    }

    fn a_repeated_answer_is_a_duplicate(world) {
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        world.hand(answer);
        world.hand(answer);
        assert_eq!(world.refusals(), [Reason::Duplicate]);
        assert_eq!(world.agents[0].stored(), 1);
    }

    fn another_content_at_one_place_is_a_fork(world) {
        let proposal = world.proposal(ALICE, BOB);
        world.hand(proposal);
        let block = resigned::<C>(other_payload(proposal.block));
        world.hand(Letter { block, ..proposal });
        assert_eq!(world.refusals(), [Reason::Fork]);
    }

    fn nobody_is_framed_for_a_fork_without_his_signature(world) {
        let proposal = world.proposal(ALICE, BOB);
        world.hand(proposal);
        let mut block = other_payload(proposal.block);
        block.sign_as_sender(&C::new(SEED, CAROL));
        world.hand(Letter { block, ..proposal });
        assert_eq!(world.refusals(), [Reason::InvalidSignature]);
    }

    fn a_fork_across_two_countersigners_is_not_seen(world) {
        // Each keeps to what it was shown; only an exchange of blocks would tell.
        let proposal = world.proposal(ALICE, BOB);
        let mut block = proposal.block;
        block.receiver_pubkey = C::new(SEED, CAROL).public_key();
        world.hand(proposal);
        world.hand(Letter { to: CAROL, block: resigned::<C>(block), ..proposal });
        assert!(world.refusals().is_empty());
    }

    fn two_countersignatures_on_one_proposal_are_a_fork(world) {
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        world.hand(answer);
        let prev_hash_receiver = Some(Digest([5; 32]));
        let block = reanswered::<C>(Block { prev_hash_receiver, ..answer.block }, BOB);
        world.hand(Letter { block, ..answer });
        let forged = reanswered::<C>(block, CAROL);
        world.hand(Letter { block: forged, ..answer });
        assert_eq!(world.refusals(), [Reason::Fork, Reason::InvalidSignature]);
    }

    fn a_proposal_for_another_is_refused_unread(world) {
        let proposal = world.proposal(ALICE, BOB);
        world.log.clear();
        world.hand(Letter { to: CAROL, ..proposal });
        assert_eq!(world.steps(), ["decode", "process", "refuse"]);
        assert_eq!(world.refusals(), [Reason::WrongReceiver]);
    }

    fn an_answer_for_another_is_refused(world) {
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        world.hand(Letter { to: CAROL, ..answer });
        assert_eq!(world.refusals(), [Reason::WrongReceiver]);
    }

    fn a_forged_proposal_is_refused(world) {
        let proposal = world.proposal(ALICE, BOB);
        let altered = Block { index: 9, ..proposal.block };
        world.hand(Letter { block: altered, ..proposal });
        let unsigned = Block { sender_sig: None, ..proposal.block };
        world.hand(Letter { block: unsigned, ..proposal });
        world.hand(Letter { from: CAROL, ..proposal });
        assert_eq!(world.refusals(), [Reason::InvalidSignature; 3]);
        assert_eq!(world.agents[1].stored(), 0);
    }

    fn a_forged_answer_does_not_close_the_proposal(world) {
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        let block = reanswered::<C>(answer.block, CAROL);
        world.hand(Letter { block, ..answer });
        assert_eq!(world.refusals(), [Reason::InvalidSignature]);
        world.hand(answer);
        assert_eq!(world.agents[0].stored(), 1);
    }

    fn an_answer_must_be_to_what_was_proposed(world) {
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        let block = reanswered::<C>(other_payload(answer.block), BOB);
        world.hand(Letter { block, ..answer });
        let payload = Text::new(77, 128);
        let block = reanswered::<C>(Block { payload, ..answer.block }, BOB);
        world.hand(Letter { block, ..answer });
        assert_eq!(world.refusals(), [Reason::BrokenLink; 2]);
    }

    fn an_index_starts_at_one(world) {
        let proposal = world.proposal(ALICE, BOB);
        let block = resigned::<C>(Block { index: 0, ..proposal.block });
        world.hand(Letter { block, ..proposal });
        assert_eq!(world.refusals(), [Reason::BrokenLink]);
    }

    fn a_proposal_leaves_the_other_hash_to_the_countersigner(world) {
        let proposal = world.proposal(ALICE, BOB);
        let prev_hash_receiver = Some(Digest([1; 32]));
        let block = Block { prev_hash_receiver, ..proposal.block };
        world.hand(Letter { block, ..proposal });
        assert_eq!(world.refusals(), [Reason::BrokenLink]);
    }

    fn a_link_into_a_chain_that_the_proposer_is_not_of_is_broken(world) {
        let first = world.proposal(CAROL, BOB);
        let with_carol = world.answer(first).block.digest::<C>();
        let proposal = world.proposal(ALICE, BOB);
        let prev_hash_sender = Some(with_carol);
        let block = resigned::<C>(Block { prev_hash_sender, ..proposal.block });
        world.hand(Letter { block, ..proposal });
        assert_eq!(world.refusals(), [Reason::BrokenLink]);
    }

    fn an_answer_that_links_into_a_chain_of_others_is_broken(world) {
        let first = world.proposal(CAROL, ALICE);
        let with_carol = world.answer(first).block.digest::<C>();
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        let prev_hash_receiver = Some(with_carol);
        let block = reanswered::<C>(Block { prev_hash_receiver, ..answer.block }, BOB);
        world.hand(Letter { block, ..answer });
        assert_eq!(world.refusals(), [Reason::BrokenLink]);
    }

    fn a_chain_does_not_begin_twice(world) {
        world.trade(ALICE, BOB);
        world.trade(ALICE, BOB);
        let proposal = world.proposal(ALICE, BOB);
        let block = resigned::<C>(Block { prev_hash_sender: None, ..proposal.block });
        world.hand(Letter { block, ..proposal });
        assert_eq!(world.refusals(), [Reason::BrokenLink]);
    }

    fn a_chain_does_not_return_to_an_earlier_block(world) {
        world.trade(ALICE, BOB);
        let early = world.proposal(ALICE, BOB);
        let answer = world.answer(early);
        world.hand(answer);
        world.trade(ALICE, BOB);
        let late = world.proposal(ALICE, BOB);
        let prev_hash_sender = early.block.prev_hash_sender;
        let block = resigned::<C>(Block { prev_hash_sender, ..late.block });
        world.hand(Letter { block, ..late });
        assert_eq!(world.refusals(), [Reason::BrokenLink]);
    }

    fn what_comes_late_may_link_where_its_index_belongs(world) {
        let early = [world.proposal(ALICE, BOB), world.proposal(ALICE, BOB)];
        let answer = world.answer(early[0]);
        world.hand(answer);
        world.trade(ALICE, BOB);
        world.hand(early[1]);
        world.settle();
        assert!(world.refusals().is_empty());
        assert_eq!(world.agents[0].stored(), 3);
    }

    fn a_proposal_to_nobody_or_oneself_is_not_made(world) {
        world.transact(ALICE, ALICE, 128);
        world.transact(ALICE, NodeId(99), 128);
        assert_eq!(world.refusals(), [Reason::WrongReceiver; 2]);
        assert_eq!(world.agents[0].next_index(), 1);
    }

    fn a_proposal_is_given_up_once(world) {
        let proposal = world.proposal(ALICE, BOB);
        world.bounce(proposal, Reason::ConnectTimeout);
        world.bounce(proposal, Reason::IdleTimeout);
        let lost: Vec<_> = world.events().into_iter().filter(|event| event.kind == EventKind::Lose).collect();
        assert_eq!(lost.len(), 1);
        assert_eq!(lost[0].reason, Some(Reason::ConnectTimeout));
        assert_eq!((lost[0].message, lost[0].peer), (MessageId::new(ALICE, 0), BOB));
    }

    fn an_answer_after_that_is_refused_for_the_same_reason(world) {
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        world.bounce(proposal, Reason::ConnectionLost);
        world.hand(answer);
        world.hand(answer);
        assert_eq!(world.refusals(), [Reason::ConnectionLost, Reason::BrokenLink]);
        assert_eq!(world.agents[0].stored(), 0);
    }

    fn a_stored_transaction_cannot_be_lost(world) {
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        world.hand(answer);
        world.bounce(proposal, Reason::IdleTimeout);
        assert_eq!(world.count(EventKind::Lose), 0);
    }

    fn a_lost_answer_is_observed_where_it_was_made(world) {
        let proposal = world.proposal(ALICE, BOB);
        let answer = world.answer(proposal);
        world.log.clear();
        world.bounce(answer, Reason::ReceiverOff);
        let event = world.events()[0];
        assert_eq!((event.kind, event.peer), (EventKind::Lose, ALICE));
        assert_eq!(event.message, MessageId::new(ALICE, 0));
    }

    fn bytes_are_read_like_blocks(world) {
        let proposal = world.proposal(ALICE, BOB);
        world.hand_bytes(ALICE, BOB, proposal.block.to_json().as_bytes());
        let answer = world.table.pop().expect("an answer");
        world.hand_bytes(BOB, ALICE, answer.block.to_json().as_bytes());
        assert_eq!(world.agents[0].stored(), 1);
        assert!(world.refusals().is_empty());
    }

    fn what_is_no_block_is_malformed(world) {
        for bytes in [&b""[..], b"{}", b"\xff\xfe", b"[1,2]", b"{\"index\":1"] {
            world.hand_bytes(ALICE, BOB, bytes);
        }
        assert_eq!(world.refusals(), [Reason::Malformed; 5]);
        assert_eq!(world.steps()[..2], ["decode", "refuse"]);
        assert_eq!(world.events()[0].message, MessageId::new(ALICE, u32::MAX));
    }

    fn nothing_waits_for_a_timer(world) {
        world.trade(ALICE, BOB);
        assert_eq!(world.agents[0].next_timeout(), None);
    }
}

#[test]
fn an_agent_keeps_blocks_if_it_is_asked_to() {
    let config = AgentConfig {
        keep_blocks: true,
        ..AgentConfig::default()
    };
    let mut world = World::<pocketsim_protocols::crypto::Real>::with(2, config);
    world.trade(ALICE, BOB);
    let proposal = world.proposal(BOB, ALICE);
    let answer = world.answer(proposal); // which is never handed over
    let (alice, bob) = (world.agents[0].kept(), world.agents[1].kept());
    assert_eq!(alice.iter().map(|of| of.0).collect::<Vec<_>>(), [BOB, BOB]);
    assert_eq!(alice[1].1, answer.block);
    assert_eq!(bob, [(ALICE, alice[0].1)]);
    assert_eq!(alice.len() as u64, world.agents[0].stored());

    let mut world = World::<pocketsim_protocols::crypto::Real>::with(2, AgentConfig::default());
    world.trade(ALICE, BOB);
    assert_eq!(world.agents[0].stored(), 1);
    assert!(world.agents[0].kept().is_empty());
}

#[test]
fn an_agent_goes_on_where_its_app_was() {
    let config = AgentConfig {
        first_index: 855,
        first_sequence: 10_000,
        has_history: true,
        ..AgentConfig::default()
    };
    let mut world = World::<pocketsim_protocols::crypto::Counted>::with(2, config);
    let proposal = world.proposal(ALICE, BOB);
    assert_eq!(proposal.block.index, 855);
    assert_eq!(proposal.block.message_id(), MessageId::new(ALICE, 10_000));
    assert_eq!(
        world.answer(proposal).block.wire_bytes(),
        536 + 2 * 64 + 2 + 1
    );
    assert_eq!(world.agents[0].next_index(), 856);
}
