//! Places at the QUIC port against a host that has many clients and does what it likes with them.

use std::collections::BTreeSet;
use std::net::{Ipv6Addr, SocketAddr};

use proptest::prelude::*;

use pocketsim_probe_core::trade::places::{
    Guest, Places, Verdict, HANDSHAKES_OF_PREFIX_MAX, PLACES_MAX, PLACES_OF_PREFIX_MAX,
    STRANGERS_MAX, UNPROVED_MAX,
};
use pocketsim_probe_core::trade::prefix::Prefix;

fn prefix(network: u16) -> Prefix {
    let ip = Ipv6Addr::new(0x2001, 0xdb8, 0, network, 0, 0, 0, 1);
    Prefix::of(SocketAddr::new(ip.into(), 4_747))
}

fn stranger(network: u16) -> Guest {
    Guest {
        prefix: prefix(network),
        is_proved: true,
        is_introduced: false,
    }
}

fn friend(network: u16) -> Guest {
    Guest {
        is_introduced: true,
        ..stranger(network)
    }
}

fn unproved(network: u16) -> Guest {
    Guest {
        is_proved: false,
        ..friend(network)
    }
}

/// A place for a guest who goes through with the handshake, and whose place it was.
fn enter(places: &mut Places, guest: Guest, now_s: f64) -> Option<(u64, Option<u64>)> {
    match places.ask(guest, now_s) {
        Verdict::Seated { place, instead_of } => {
            places.connected(place, now_s);
            Some((place, instead_of))
        }
        _ => None,
    }
}

/// As many places as are to be had, from one prefix and at once.
fn fill(places: &mut Places, guest: Guest) -> Vec<u64> {
    std::iter::from_fn(|| enter(places, guest, 0.0))
        .take(2 * PLACES_MAX)
        .map(|(place, _)| place)
        .collect()
}

const PATIENT_S: f64 = 3_600.0;

#[test]
fn one_prefix_leaves_half_of_the_places_to_others_and_strangers_a_quarter_to_the_known() {
    let mut places = Places::new(PATIENT_S);
    assert_eq!(fill(&mut places, stranger(1)).len(), PLACES_OF_PREFIX_MAX);
    fill(&mut places, stranger(2));
    assert_eq!(places.total(), STRANGERS_MAX);
    let (known, _) = enter(&mut places, friend(3), 0.0).expect("of the crowd's");
    places.served(known);
    assert_eq!(places.total(), STRANGERS_MAX);
    fill(&mut places, friend(3));
    assert_eq!(places.total(), PLACES_MAX);
    assert!(places.taken(prefix(3)) > PLACES_MAX - STRANGERS_MAX);
}

#[test]
fn without_a_proof_nobody_has_a_place_but_a_few_who_introduced_themselves() {
    let mut places = Places::new(PATIENT_S);
    let nobody = Guest {
        is_introduced: false,
        ..unproved(1)
    };
    assert_eq!(places.ask(nobody, 0.0), Verdict::Prove);
    let entered = (0..PLACES_MAX).filter(|_| places.ask(unproved(1), 0.0) != Verdict::Prove);
    assert_eq!(entered.count(), UNPROVED_MAX);
    // What others send in a friend's name does not keep the true friend out.
    assert!(enter(&mut places, friend(1), 0.0).is_some());
}

#[test]
fn nobody_leaves_for_a_guest_without_a_proof() {
    let mut places = Places::new(0.0);
    fill(&mut places, stranger(1));
    fill(&mut places, stranger(2));
    assert_eq!(places.ask(unproved(3), PATIENT_S), Verdict::Prove);
    assert_eq!(places.total(), STRANGERS_MAX);
}

#[test]
fn a_proof_by_the_handshake_makes_room_for_another_without_one() {
    let mut places = Places::new(PATIENT_S);
    for _ in 0..PLACES_OF_PREFIX_MAX {
        assert!(enter(&mut places, unproved(1), 0.0).is_some());
    }
}

#[test]
fn handshakes_that_never_end_are_bounded_for_each_prefix() {
    let mut places = Places::new(0.0);
    let open = |places: &mut Places, network| {
        let asked = (0..PLACES_MAX).map(|_| places.ask(stranger(network), 0.0));
        asked.filter(|verdict| *verdict != Verdict::Refused).count()
    };
    assert_eq!(open(&mut places, 1), HANDSHAKES_OF_PREFIX_MAX);
    assert_eq!(open(&mut places, 2), HANDSHAKES_OF_PREFIX_MAX);
    assert_eq!(open(&mut places, 3), HANDSHAKES_OF_PREFIX_MAX);
    assert_eq!(places.total(), STRANGERS_MAX);
    assert!(
        enter(&mut places, stranger(4), 0.0).is_some(),
        "they make room"
    );
}

#[test]
fn a_connection_that_brought_nothing_in_its_time_makes_room_for_its_like() {
    let mut places = Places::new(10.0);
    let first = fill(&mut places, stranger(1));
    places.served(first[0]);
    assert!(enter(&mut places, stranger(1), 9.9).is_none());
    let (_, instead_of) = enter(&mut places, stranger(1), 10.0).expect("overdue");
    assert_eq!(
        instead_of,
        Some(first[1]),
        "the longest waiting of those not served"
    );
}

#[test]
fn of_a_crowd_the_least_served_leave_first_and_the_longest_serving_last() {
    let mut places = Places::new(PATIENT_S);
    let crowd = fill(&mut places, stranger(1));
    for _ in crowd.len()..STRANGERS_MAX {
        enter(&mut places, stranger(2), 0.0).expect("room");
    }
    // All of them but two, in this order.
    for place in &crowd[2..] {
        places.served(*place);
    }
    let mut left = Vec::new();
    while places.taken(prefix(3)) < places.taken(prefix(1)) {
        let (_, instead_of) = enter(&mut places, stranger(3), 0.0).expect("of the crowd's");
        left.extend(instead_of);
    }
    let (unserved, served) = left.split_at(2);
    assert_eq!(unserved, &crowd[..2]);
    let expected: Vec<u64> = crowd.iter().rev().take(served.len()).copied().collect();
    assert_eq!(left.len(), crowd.len() / 2, "they are equals then");
    assert_eq!(served, expected);
}

#[test]
fn among_the_known_the_longer_known_has_one_against_any_number() {
    let mut places = Places::new(PATIENT_S);
    let (place, _) = enter(&mut places, friend(0), 0.0).expect("room");
    places.served(place);
    places.leave(place);
    for network in 1..=4 * PLACES_MAX as u16 {
        if let Some((place, _)) = enter(&mut places, friend(network), 0.0) {
            places.served(place);
        }
    }
    let (place, _) = enter(&mut places, friend(0), 0.0).expect("known before all of them");
    places.served(place);
    for network in 1..=4 * PLACES_MAX as u16 {
        enter(&mut places, friend(network), 0.0);
    }
    assert_eq!(places.taken(prefix(0)), 1);
}

/// What an attacker does next.
#[derive(Clone, Copy, Debug)]
enum Move {
    Ask { network: u16, kind: u8 },
    Connect(usize),
    Serve(usize),
    Leave(usize),
    Wait(u8),
}

/// From so many networks, numbered from 1.
fn moves(networks: u16) -> impl Strategy<Value = Vec<Move>> {
    let one = prop_oneof![
        8 => (1..=networks, 0u8..4).prop_map(|(network, kind)| Move::Ask { network, kind }),
        4 => any::<usize>().prop_map(Move::Connect),
        2 => any::<usize>().prop_map(Move::Serve),
        1 => any::<usize>().prop_map(Move::Leave),
        1 => any::<u8>().prop_map(Move::Wait),
    ];
    proptest::collection::vec(one, 0..600)
}

/// Attackers with all of their places.
struct Attack {
    places: Places,
    theirs: Vec<u64>,
    evicted: BTreeSet<u64>,
    now_s: f64,
}

impl Attack {
    fn new() -> Self {
        Self {
            places: Places::new(10.0),
            theirs: Vec::new(),
            evicted: BTreeSet::new(),
            now_s: 0.0,
        }
    }

    fn ask(&mut self, guest: Guest) -> Option<u64> {
        match self.places.ask(guest, self.now_s) {
            Verdict::Seated { place, instead_of } => {
                self.evicted.extend(instead_of);
                Some(place)
            }
            _ => None,
        }
    }

    /// Each of so many networks asks so often, one after the other.
    fn press(&mut self, networks: u16, times: usize) {
        for network in (1..=networks).cycle().take(usize::from(networks) * times) {
            self.make(Move::Ask { network, kind: 0 });
        }
    }

    /// One of all that were ever theirs; 0, which is nobody's, if there was none.
    fn pick(&self, at: usize) -> u64 {
        let of = self.theirs.len().max(1);
        self.theirs.get(at % of).copied().unwrap_or_default()
    }

    fn make(&mut self, one: Move) {
        match one {
            Move::Ask { network, kind } => {
                let guests = [stranger, stranger, friend, unproved];
                let place = self.ask(guests[usize::from(kind)](network));
                self.theirs.extend(place);
            }
            Move::Connect(at) => self.places.connected(self.pick(at), self.now_s),
            Move::Serve(at) => self.places.served(self.pick(at)),
            Move::Leave(at) => self.places.leave(self.pick(at)),
            Move::Wait(tenths) => self.now_s += f64::from(tenths) / 10.0,
        }
    }
}

/// Another address than all of theirs.
const ELSEWHERE: u16 = 0;

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bound_is_ever_passed(moves in moves(5)) {
        let mut attack = Attack::new();
        for one in moves {
            attack.make(one);
            let places = &attack.places;
            prop_assert!(places.total() <= PLACES_MAX);
            prop_assert!(places.strangers() <= STRANGERS_MAX);
            for network in 1..=5 {
                prop_assert!(places.taken(prefix(network)) <= PLACES_OF_PREFIX_MAX);
            }
        }
    }

    /// Strangers can have all of their share; with fewer networks than places one has two of them.
    #[test]
    fn whoever_comes_from_elsewhere_has_a_place_at_once_and_keeps_it(
        before in moves(40), after in moves(40),
    ) {
        let mut attack = Attack::new();
        before.into_iter().for_each(|one| attack.make(one));
        attack.press(40, 7);
        let place = attack.ask(stranger(ELSEWHERE));
        let place = place.expect("a place");
        attack.places.connected(place, attack.now_s);
        attack.places.served(place);
        after.into_iter().for_each(|one| attack.make(one));
        prop_assert!(!attack.evicted.contains(&place));
    }

    #[test]
    fn everybody_gets_a_fair_share(networks in 1u16..60, before in moves(60)) {
        let mut attack = Attack::new();
        before.into_iter().for_each(|one| attack.make(one));
        attack.press(networks, STRANGERS_MAX / usize::from(networks) + 1);
        let mut own = BTreeSet::new();
        for _ in 0..2 {
            while let Some(place) = attack.ask(stranger(ELSEWHERE)) {
                attack.places.connected(place, attack.now_s);
                own.insert(place);
            }
            attack.press(networks, 3);
        }
        let lost = own.intersection(&attack.evicted).count();
        prop_assert!(own.len() - lost >= STRANGERS_MAX / 61, "{} - {lost}", own.len());
    }
}
