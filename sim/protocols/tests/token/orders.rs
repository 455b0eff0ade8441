//! Branches of one token in every order of arrival: who is honoured, and who is named.

use std::collections::{BTreeMap, BTreeSet};

use crate::tokens::*;
use pocketsim_protocols::crypto::{Counted, Crypto, Real};
use pocketsim_protocols::half_block::PublicKey;
use pocketsim_protocols::token::*;
use proptest::prelude::*;

const PEOPLE: usize = 4;

/// A branch leaves an earlier one at a depth, and goes on through some hands.
type Shape = Vec<(usize, usize, usize)>;

/// A branch as the numbers of the hands it went through: one number, one token in one hand.
struct Way {
    hands: Vec<usize>,
    token: Token,
}

/// Ways of one token, and who each hand was.
struct Tree {
    ways: Vec<Way>,
    holders: Vec<usize>,
    chance: Chance,
}

impl Tree {
    /// The ways of `shape` from a token that `holder` has; whose hands they are is chance.
    fn grow<C: Crypto>(token: &Token, holder: usize, shape: &Shape, seed: u64) -> Self {
        let root = Way {
            hands: vec![0],
            token: token.clone(),
        };
        let mut tree = Self {
            ways: Vec::new(),
            holders: vec![holder],
            chance: Chance(seed),
        };
        for &(from, depth, hops) in shape {
            let origin = if tree.ways.is_empty() {
                &root
            } else {
                &tree.ways[from % tree.ways.len()]
            };
            let kept = depth % origin.hands.len() + 1;
            let hands = origin.hands[..kept].to_vec();
            let pairs = &origin.token.recipients()[..token.recipients().len() + kept - 1];
            let token = with_pairs(token, pairs);
            let way = tree.go_on::<C>(Way { hands, token }, hops);
            tree.ways.push(way);
        }
        tree
    }

    fn go_on<C: Crypto>(&mut self, mut way: Way, hops: usize) -> Way {
        for _ in 0..hops {
            let giver = self.holders[*way.hands.last().expect("a root")];
            let taker = self.chance.below(PEOPLE);
            let challenge = Some(self.chance.bytes());
            hand::<C>(&mut way.token, giver, key::<C>(taker as u32), challenge);
            way.hands.push(self.holders.len());
            self.holders.push(taker);
        }
        way
    }

    fn submission<C: Crypto>(&mut self, number: usize) -> Submission {
        let way = &self.ways[number];
        let last = self.holders[*way.hands.last().expect("a root")];
        let mut token = way.token.clone();
        let challenge = Some(self.chance.bytes());
        hand::<C>(&mut token, last, key::<C>(AUTHORITY), challenge);
        let intent = match token.recipients().len() {
            2 => Intent::Redeem,
            _ => Intent::Reissue,
        };
        Submission {
            submitter: key::<C>(last as u32),
            token,
            intent,
        }
    }

    /// Who signed on twice from one hand, among these ways: the model.
    fn culprits<C: Crypto>(&self, arrived: &[usize]) -> BTreeSet<PublicKey> {
        let mut next: BTreeMap<usize, BTreeSet<Option<usize>>> = BTreeMap::new();
        for &number in arrived {
            let hands = &self.ways[number].hands;
            for (place, hand) in hands.iter().enumerate() {
                let continued = hands.get(place + 1).copied();
                next.entry(*hand).or_default().insert(continued);
            }
        }
        next.into_iter()
            .filter(|(_, continued)| continued.len() > 1)
            .map(|(hand, _)| key::<C>(self.holders[hand] as u32))
            .collect()
    }

    /// Who signed the first difference between two ways.
    fn instigator<C: Crypto>(&self, one: usize, other: usize) -> Option<PublicKey> {
        let (one, other) = (&self.ways[one].hands, &self.ways[other].hands);
        let common = one.iter().zip(other).take_while(|(a, b)| a == b).count();
        let differ = common < one.len().max(other.len());
        differ.then(|| key::<C>(self.holders[one[common - 1]] as u32))
    }
}

fn hand<C: Crypto>(token: &mut Token, giver: usize, to: PublicKey, challenge: Option<Challenge>) {
    let giver = signer::<C>(giver as u32);
    transfer(token, &giver, to, challenge, &mut Work::new()).expect("room");
}

/// The branches arrive in `order`; in between, the honoured token lives on `lives` times.
fn arrive<C: Crypto>(shape: &Shape, order: &[usize], lives: usize, seed: u64) {
    let mut world = World::<C>::new(PEOPLE as u32, Rules::Thesis, Handshake::Challenge, seed);
    let serial = world.mint(0, 100);
    let token = world.clients[0].wallet().held().next().cloned();
    let mut tree = Tree::grow::<C>(&token.expect("minted"), 0, shape, seed);
    let mut answers = Vec::new();
    for (count, &number) in order.iter().enumerate() {
        let submission = tree.submission::<C>(number);
        let decision = world.decide(&submission);
        judge::<C>(&tree, &order[..=count], &decision, &answers, lives);
        let again = world.decide(&submission);
        assert_eq!((again.record, &again.answer), (None, &decision.answer));
        answers.push(decision.answer.clone());
        if let Answer::Reissued(token) = decision.answer {
            (0..lives).fold(token, |token, _| live::<C>(&mut world, token));
        }
    }
    let ledger = world.authority.ledger();
    let offences = ledger.offences();
    let named: BTreeSet<PublicKey> = offences.iter().map(|offence| offence.culprit).collect();
    assert_eq!(named, tree.culprits::<C>(order));
    assert!(offences.iter().all(|offence| offence.life == 0));
    let books = world.books();
    assert_eq!(books.minted_cents, 100);
    let all = &ledger.copy(&serial).expect("minted").lives;
    let open = all.iter().filter(|life| life.honoured.is_none()).count();
    assert_eq!(books.circulating_cents(), 100 * open as u64);
    // One life for each reissue, whatever else came back.
    let (expected_lives, expected_open) = match answers[0] {
        Answer::Redeemed { .. } => (1, 0),
        _ => (2 + lives, 1),
    };
    assert_eq!((all.len(), open), (expected_lives, expected_open));
}

/// What must hold of the answer to the last that arrived.
fn judge<C: Crypto>(
    tree: &Tree,
    arrived: &[usize],
    decision: &Decision,
    answers: &[Answer],
    lives: usize,
) {
    let (last, before) = arrived.split_last().expect("something arrived");
    let split = before
        .first()
        .and_then(|honoured| tree.instigator::<C>(*honoured, *last));
    match (&decision.answer, split) {
        (
            Answer::Refused {
                reason, culprits, ..
            },
            Some(instigator),
        ) => {
            assert_eq!(*reason, Refusal::DoubleSpend);
            assert_eq!(culprits[0], instigator);
            let all = tree.culprits::<C>(arrived);
            assert!(culprits.iter().all(|culprit| all.contains(culprit)));
        }
        // The same way once more, after what it was reissued as was spent and came back.
        (
            Answer::Refused {
                reason, culprits, ..
            },
            None,
        ) => {
            assert!(lives > 0, "an honest branch was refused");
            assert!(matches!(answers[0], Answer::Reissued(_)));
            assert_eq!((*reason, culprits.len()), (Refusal::AlreadyRedeemed, 0));
            assert!(decision.record.is_none());
        }
        (answer, None) if before.is_empty() => assert!(decision.record.is_some(), "{answer:?}"),
        // The same way, the same answer; it says of which submission it is.
        (Answer::Redeemed { .. }, None) => assert!(matches!(answers[0], Answer::Redeemed { .. })),
        (answer, None) => {
            assert_eq!((answer, lives), (&answers[0], 0));
        }
        (_, Some(_)) => panic!("two branches were honoured"),
    }
}

/// The reissued token goes to somebody and comes back.
fn live<C: Crypto>(world: &mut World<C>, mut token: Token) -> Token {
    let holder = (0..PEOPLE as u32).find(|&who| key::<C>(who) == token.last_recipient().key);
    let holder = holder.expect("one of the people") as usize;
    let next = (holder + 1) % PEOPLE;
    hand::<C>(&mut token, holder, key::<C>(next as u32), Some([1; 16]));
    hand::<C>(&mut token, next, key::<C>(AUTHORITY), Some([2; 16]));
    let submission = Submission {
        submitter: key::<C>(next as u32),
        token,
        intent: Intent::Reissue,
    };
    reissued(&world.decide(&submission).answer)
}

/// Splits at the first hand, in the middle and at the last; branches of branches; a token
/// that was both submitted and spent; and the same way twice.
fn shapes() -> Vec<Shape> {
    vec![
        vec![(0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1), (0, 0, 1)],
        vec![(0, 0, 4), (0, 1, 3), (0, 2, 2), (0, 3, 1), (0, 4, 1)],
        vec![(0, 0, 2), (0, 1, 2), (1, 2, 2), (2, 3, 2), (3, 4, 2)],
        vec![(0, 0, 3), (0, 2, 0), (0, 1, 0), (0, 0, 0), (0, 3, 2)],
        vec![(0, 0, 3), (0, 0, 3), (1, 2, 2), (1, 2, 2), (0, 3, 0)],
        vec![(0, 0, 1), (0, 1, 3), (1, 4, 0), (1, 1, 1), (0, 0, 6)],
    ]
}

#[test]
fn every_order_of_five_branches_names_who_signed_twice() {
    for (seed, shape) in shapes().iter().enumerate() {
        for count in 1..=shape.len() {
            for order in permutations(count) {
                arrive::<Counted>(&shape[..count].to_vec(), &order, 0, seed as u64);
            }
        }
    }
}

#[test]
fn lives_after_the_first_change_nothing_about_its_branches() {
    for (seed, shape) in shapes().iter().enumerate() {
        for order in permutations(4) {
            arrive::<Counted>(&shape[..4].to_vec(), &order, 3, seed as u64);
        }
    }
}

#[test]
fn real_signatures_name_the_same() {
    for shape in [&shapes()[2], &shapes()[5]] {
        for order in permutations(3) {
            arrive::<Real>(&shape[..3].to_vec(), &order, 1, 7);
        }
    }
}

proptest! {
    #[test]
    fn random_trees_name_who_signed_twice(
        shape in prop::collection::vec((0..6usize, 0..6usize, 0..4usize), 1..7),
        lives in 0..3usize,
        seed: u64,
    ) {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        let mut chance = Chance(seed);
        for place in (1..order.len()).rev() {
            order.swap(place, chance.below(place + 1));
        }
        arrive::<Counted>(&shape, &order, lives, seed);
    }
}
