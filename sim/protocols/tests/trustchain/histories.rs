//! Random histories: an honest world against a ten-line model, and two
//! providers of crypto against each other in a world that is not honest.

use std::collections::BTreeSet;

use super::agents::*;
use pocketsim_protocols::block::{Block, Text};
use pocketsim_protocols::contract::*;
use pocketsim_protocols::crypto::{Counted, Crypto, Digest, Real};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

const NODES: u32 = 4;

#[derive(Clone, Copy, Debug)]
enum Action {
    Transact { from: u32, step: u32, bytes: u32 },
    Hand { pick: usize },
    Lose { pick: usize, told: bool },
    Wait { seconds: f64 },
    Repeat { pick: usize },
    Tamper { pick: usize, field: u8 },
    Resign { pick: usize, field: u8 },
    Misdeliver { pick: usize, from: u32, to: u32 },
}

fn honest() -> impl Strategy<Value = Action> {
    prop_oneof![
        3 => (0..NODES, 1..NODES, 0..300u32)
            .prop_map(|(from, step, bytes)| Action::Transact { from, step, bytes }),
        5 => any::<usize>().prop_map(|pick| Action::Hand { pick }),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(pick, told)| Action::Lose { pick, told }),
        1 => (0.0..20.0f64).prop_map(|seconds| Action::Wait { seconds }),
    ]
}

fn dishonest() -> impl Strategy<Value = Action> {
    prop_oneof![
        8 => honest(),
        1 => any::<usize>().prop_map(|pick| Action::Repeat { pick }),
        1 => (any::<usize>(), 0..9u8).prop_map(|(pick, field)| Action::Tamper { pick, field }),
        1 => (any::<usize>(), 0..9u8).prop_map(|(pick, field)| Action::Resign { pick, field }),
        1 => (any::<usize>(), 0..NODES, 0..NODES)
            .prop_map(|(pick, from, to)| Action::Misdeliver { pick, from, to }),
    ]
}

fn perform<C: Crypto>(world: &mut World<C>, action: Action) {
    match action {
        Action::Transact { from, step, bytes } => {
            world.transact(NodeId(from), NodeId((from + step) % NODES), bytes);
        }
        Action::Wait { seconds } => world.now += seconds,
        Action::Hand { pick } => with_letter(world, pick, World::hand),
        Action::Lose { pick, told } => with_letter(world, pick, |world, letter| {
            if told {
                world.bounce(letter, Reason::IdleTimeout);
            }
        }),
        Action::Repeat { pick } => with_letter(world, pick, |world, letter| {
            world.hand(letter);
            world.table.push(letter);
        }),
        Action::Tamper { pick, field } => with_letter(world, pick, |world, letter| {
            let block = tampered(letter.block, field);
            world.hand(Letter { block, ..letter });
            world.table.push(letter);
        }),
        Action::Resign { pick, field } => with_letter(world, pick, |world, letter| {
            let block = resigned::<C>(tampered(letter.block, field), letter.from);
            world.hand(Letter { block, ..letter });
            world.table.push(letter);
        }),
        Action::Misdeliver { pick, from, to } => with_letter(world, pick, |world, letter| {
            let (from, to) = (NodeId(from), NodeId(to));
            world.hand(Letter { from, to, ..letter });
            world.table.push(letter);
        }),
    }
}

fn with_letter<C: Crypto>(
    world: &mut World<C>,
    pick: usize,
    act: impl FnOnce(&mut World<C>, Letter),
) {
    if !world.table.is_empty() {
        let letter = world.table.remove(pick % world.table.len());
        act(world, letter);
    }
}

fn tampered(mut block: Block, field: u8) -> Block {
    let flipped = |hash: Option<Digest>| match hash {
        Some(_) => None,
        None => Some(Digest([3; 32])),
    };
    match field {
        0 => block.payload = Text::new(block.message_id().sequence(), 301),
        1 => block.payload = Text::new(block.message_id().sequence() + 1, 64),
        2 => block.sender_pubkey.0[9] ^= 1,
        3 => block.receiver_pubkey.0[9] ^= 1,
        4 => block.prev_hash_sender = flipped(block.prev_hash_sender),
        5 => block.prev_hash_receiver = flipped(block.prev_hash_receiver),
        6 => block.index = block.index.wrapping_sub(1),
        7 => block.sender_sig.iter_mut().for_each(|sig| sig.0[40] ^= 1),
        _ => block.receiver_sig.iter_mut().for_each(|sig| sig.0[3] ^= 1),
    }
    block
}

fn resigned<C: Crypto>(mut block: Block, by: NodeId) -> Block {
    let crypto = C::new(SEED, by);
    if block.receiver_sig.is_none() {
        block.sign_as_sender(&crypto);
    } else {
        block.sign_as_receiver(&crypto);
    }
    block
}

/// The reference: each node's latest hash and the length of its chain.
struct Model {
    heads: Vec<Option<Digest>>,
    lengths: Vec<u64>,
}

impl Model {
    fn new() -> Self {
        let nodes = NODES as usize;
        Self {
            heads: vec![None; nodes],
            lengths: vec![0; nodes],
        }
    }

    fn append(&mut self, node: NodeId, block: &Block) {
        self.heads[node.0 as usize] = Some(block.digest::<Counted>());
        self.lengths[node.0 as usize] += 1;
    }

    /// What `node` sends or stores must link to what the model says.
    fn follow(&mut self, event: &Event, node: NodeId, table: &[Letter], handed: Option<&Block>) {
        let sent = table.last().map(|letter| letter.block);
        let head = self.heads[node.0 as usize];
        match event.kind {
            EventKind::Send => assert_eq!(sent.expect("sent").prev_hash_sender, head),
            EventKind::StorePeer => {
                let sent = sent.expect("sent");
                assert_eq!(sent.prev_hash_receiver, head);
                self.append(node, &sent);
            }
            EventKind::Store => self.append(node, handed.expect("handed")),
            _ => {}
        }
    }
}

fn events_since<C>(world: &World<C>, start: usize) -> Vec<(NodeId, Event)> {
    let event = |step: &Step| match step {
        Step::Event(node, event) => Some((*node, *event)),
        _ => None,
    };
    world.log[start..].iter().filter_map(event).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Loss, reordering, give-ups and open proposals: nothing is ever refused,
    /// and every link is the one of the model.
    #[test]
    fn an_honest_world_follows_the_model(
        actions in prop::collection::vec(honest(), 0..200),
    ) {
        let mut world = World::<Counted>::new(NODES);
        let mut model = Model::new();
        for action in actions {
            let start = world.log.len();
            let handed = match action {
                Action::Hand { pick } if !world.table.is_empty() => {
                    Some(world.table[pick % world.table.len()].block)
                }
                _ => None,
            };
            perform(&mut world, action);
            for (node, event) in events_since(&world, start) {
                model.follow(&event, node, &world.table, handed.as_ref());
            }
        }
        prop_assert_eq!(world.refusals(), vec![]);
        let lengths: Vec<u64> = world.agents.iter().map(|agent| agent.stored()).collect();
        prop_assert_eq!(lengths, model.lengths);
    }

    /// Every transaction that was sent has at most one end of each kind.
    #[test]
    fn a_transaction_ends_at_most_once(
        actions in prop::collection::vec(dishonest(), 0..200),
    ) {
        let mut world = World::<Counted>::new(NODES);
        actions.iter().for_each(|&action| perform(&mut world, action));
        let mut stored: Vec<_> = world
            .events()
            .iter()
            .filter(|event| event.kind == EventKind::Store)
            .map(|event| event.message)
            .collect();
        let count = stored.len();
        stored.sort();
        stored.dedup();
        prop_assert_eq!(count, stored.len());
        prop_assert!(count <= world.count(EventKind::Send));
        world.refusals();
    }

    /// No tampering survives: whatever a proposer stores, it proposed.
    #[test]
    fn tampering_never_stores(
        actions in prop::collection::vec(honest(), 0..60),
        pick: usize,
        field in 0..9u8,
    ) {
        let mut world = World::<Counted>::new(NODES);
        actions.iter().for_each(|&action| perform(&mut world, action));
        prop_assume!(!world.table.is_empty());
        let letter = world.table[pick % world.table.len()];
        let block = tampered(letter.block, field);
        prop_assume!(block != letter.block);
        let stored = |world: &World<Counted>| -> u64 {
            world.agents.iter().map(|agent| agent.stored()).sum()
        };
        let before = stored(&world);
        world.hand(Letter { block, ..letter });
        prop_assert_eq!(stored(&world), before);
        prop_assert_eq!(world.refusals().len(), 1);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// The providers differ in cost only.
    #[test]
    fn counted_equals_real(actions in prop::collection::vec(dishonest(), 0..50)) {
        let mut counted = World::<Counted>::new(NODES);
        let mut real = World::<Real>::new(NODES);
        for &action in &actions {
            perform(&mut counted, action);
            perform(&mut real, action);
        }
        prop_assert_eq!(counted.log, real.log);
    }
}

/// The histories above are worth something only if they get refused for every reason.
#[test]
fn dishonest_histories_meet_every_refusal() {
    let mut runner = TestRunner::deterministic();
    let histories = prop::collection::vec(dishonest(), 300);
    let mut met = BTreeSet::new();
    for _ in 0..40 {
        let tree = histories.new_tree(&mut runner).expect("a history");
        let mut world = World::<Counted>::new(NODES);
        let actions = tree.current();
        actions
            .iter()
            .for_each(|&action| perform(&mut world, action));
        met.extend(world.refusals());
    }
    let expected = [
        Reason::InvalidSignature,
        Reason::WrongReceiver,
        Reason::BrokenLink,
        Reason::Fork,
        Reason::Duplicate,
        Reason::IdleTimeout,
    ];
    assert_eq!(met, BTreeSet::from(expected));
}
