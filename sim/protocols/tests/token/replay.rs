//! The replay attack of the thesis (IV-G): its victim wrongly accused, and saved.

use crate::tokens::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::token::*;

type Counting = World<Counted>;

/// 0 pays 1, who pays 2; then 0 sends 1 the old transfer again, and 1 pays 3 with it.
fn replay_attack(handshake: Handshake) -> (Counting, Serial, Result<Denomination, Refusal>) {
    let mut world = Counting::new(5, Rules::Thesis, handshake, 1);
    let serial = world.mint(0, 100);
    let old = world.pay(0, 1, &serial);
    world.pay(1, 2, &serial);
    world.challenge(1, world.key(0));
    let outcome = world.receive(1, old);
    (world, serial, outcome)
}

#[test]
fn without_the_handshake_the_victim_of_a_replay_is_accused() {
    let (mut world, serial, outcome) = replay_attack(Handshake::None);
    assert!(outcome.is_ok(), "1 cannot tell");
    world.pay(1, 3, &serial);
    reissued(&world.verify(2, &serial));
    let (reason, culprits) = refusal(&world.verify(3, &serial));
    assert_eq!(reason, Refusal::DoubleSpend);
    assert_eq!(culprits, [world.key(1)], "who did nothing wrong");
}

#[test]
fn with_the_handshake_a_replay_is_refused() {
    let (_, _, outcome) = replay_attack(Handshake::Challenge);
    assert_eq!(outcome, Err(Refusal::UsedChallenge));
}

#[test]
fn with_the_handshake_a_second_signature_names_its_signer() {
    let mut world = Counting::thesis(5);
    let serial = world.mint(0, 100);
    world.cheat(0, 1, &serial);
    world.pay(1, 2, &serial);
    // 1 asks anew, and 0 signs anew: another proof, on which 1 can build honestly.
    world.pay(0, 1, &serial);
    world.pay(1, 3, &serial);
    reissued(&world.verify(3, &serial));
    let (reason, culprits) = refusal(&world.verify(2, &serial));
    assert_eq!(reason, Refusal::DoubleSpend);
    assert_eq!(culprits, [world.key(0)]);
}

#[test]
fn a_new_challenge_beside_the_old_proof_does_not_verify() {
    // What a handshake beside the token would let through: an old proof, the new challenge.
    let mut world = Counting::thesis(5);
    let serial = world.mint(0, 100);
    let old = world.pay(0, 1, &serial);
    world.pay(1, 2, &serial);
    let asked = world.challenge(1, world.key(0));
    let pairs = old.recipients();
    let pair = Recipient {
        challenge: asked,
        ..pairs[1]
    };
    let replayed = with_pairs(&old, &[pairs[0], pair]);
    assert_eq!(world.receive(1, replayed), Err(Refusal::InvalidProof));
}
