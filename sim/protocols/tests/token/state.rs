//! A client that is put back behaves as the one that was taken out, and damage is refused.

use crate::tokens::*;
use pocketsim_protocols::crypto::Counted;
use pocketsim_protocols::reader::Malformed;
use pocketsim_protocols::token::*;

type Counting = World<Counted>;

fn restored(of: u32, state: State) -> Result<Client<Counted>, Malformed> {
    let authorities = vec![key::<Counted>(AUTHORITY)];
    Client::restore(signer(of), authorities, Handshake::Challenge, state)
}

/// Client 2 with a held, a pending and a disputed token, and challenges answered and not.
fn busy() -> (Counting, Serial) {
    let mut world = Counting::thesis(3);
    let [doubted, sent] = [world.mint(0, 100), world.mint(0, 200)];
    world.mint(2, 500);
    world.cheat(0, 2, &doubted);
    world.pay(0, 1, &doubted);
    let rival = world.sign(1, 2, &doubted, false);
    assert_eq!(world.receive(2, rival), Err(Refusal::AlreadyHeld));
    world.pay(0, 2, &sent);
    world.submit(2, &sent, Intent::Reissue);
    world.challenge(2, world.key(0));
    world.challenge(2, *world.authority.public_key());
    (world, sent)
}

#[test]
fn what_is_put_back_is_what_was_taken_out() {
    let (mut world, sent) = busy();
    let state = world.clients[2].state();
    let counts = [
        state.held.len(),
        state.pending.len(),
        state.disputed.len(),
        state.payments.len(),
        state.orders.len(),
        state.used.len(),
    ];
    assert_eq!(counts, [2, 1, 1, 1, 1, 4]);
    world.clients[2] = restored(2, state.clone()).expect("as it was");
    assert_eq!(world.clients[2].state(), state);
    // It goes on: what was pending is settled, a used challenge is known to be used.
    let submission = world.clients[2].resubmissions().remove(0);
    assert_eq!(submission.token.serial, sent);
    let answer = world.decide(&submission).answer;
    let receipt = world.clients[2].settle(answer, &mut Work::new());
    assert_eq!(receipt.expect("pending").outcome, Ok(denomination(200)));
    let old = state.held[0].clone();
    assert_eq!(world.receive(2, old), Err(Refusal::UsedChallenge));
}

#[test]
fn a_challenge_is_put_back_with_its_giver_and_what_he_gave() {
    let mut world = Counting::thesis(3);
    let [first, second, third] = [world.mint(0, 100), world.mint(0, 200), world.mint(1, 500)];
    let asked = [
        world.challenge(2, world.key(0)),
        world.challenge(2, world.key(1)),
    ];
    let (to, mut work) = (world.key(2), Work::new());
    let mut give = |from: usize, serial: &Serial, challenge| {
        let given = world.clients[from].hand_on(serial, to, challenge, &mut work);
        given.expect("held")
    };
    let [taken, later] = [give(0, &first, asked[0]), give(0, &second, asked[0])];
    let stranger = give(1, &third, asked[0]);
    assert!(world.receive(2, taken.clone()).is_ok());
    world.clients[2] = restored(2, world.clients[2].state()).expect("as it was");
    assert_eq!(world.receive(2, taken), Err(Refusal::UsedChallenge));
    assert_eq!(world.receive(2, stranger), Err(Refusal::WrongGiver));
    assert!(world.receive(2, later).is_ok());
}

/// What makes a good state an impossible one.
type Alter<'a> = &'a dyn Fn(&mut State);

#[test]
fn a_state_that_cannot_be_is_refused() {
    let (world, _) = busy();
    let good = world.clients[2].state();
    let refused = |alter: &dyn Fn(&mut State)| {
        let mut state = good.clone();
        alter(&mut state);
        restored(2, state).err().map(|error| error.0)
    };
    let cases: [(Alter, &str); 10] = [
        (&|state| state.held[0].value = 16, "no denomination"),
        (&|state| state.pending[0].0.value = 0, "no denomination"),
        (
            &|state| state.held.push(state.pending[0].0.clone()),
            "a token of somebody else",
        ),
        (
            &|state| state.pending[0].0 = state.held[0].clone(),
            "a pending token that its holder did not sign over to its authority",
        ),
        (
            &|state| state.disputed[0] = state.held[1].clone(),
            "a disputed token that nobody passed on",
        ),
        (
            &|state| state.held.push(state.held[0].clone()),
            "a serial held twice",
        ),
        (
            &|state| state.pending.push(state.pending[0].clone()),
            "a serial pending twice",
        ),
        (
            &|state| state.payments = vec![state.payments[0].clone(); 65],
            "more than a client keeps",
        ),
        (
            &|state| state.orders = vec![state.orders[0].clone(); 65],
            "more than a client keeps",
        ),
        (
            &|state| state.orders.push(state.used[0].clone()),
            "an answer to a challenge that nobody has answered",
        ),
    ];
    for (alter, reason) in cases {
        assert_eq!(refused(alter), Some(reason));
    }
    assert!(restored(1, good).is_err(), "the wallet of another");
}
