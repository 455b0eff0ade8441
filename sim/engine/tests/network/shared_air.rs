//! Contacts that share the air: who waits for whom.

use crate::common::{Numbers, BLE};
use _engine::network::contacts::Contacts;
use _engine::plan::{Proximity, ProximityLink};

/// A kilobyte each second, at once.
const SHARED: ProximityLink = ProximityLink {
    latency_s: 0.0,
    setup_s: 0.0,
    shares_air: true,
    ..BLE
};
const OWN: ProximityLink = ProximityLink {
    shares_air: false,
    ..SHARED
};

/// Contacts of these pairs on link 0 of `links`, all of them open from 0 to 100 s.
fn contacts(links: &[ProximityLink], pairs: &[(u32, u32)]) -> Contacts {
    timed(
        links,
        &pairs.iter().map(|&pair| (pair, 100.0)).collect::<Vec<_>>(),
    )
}

fn timed(links: &[ProximityLink], pairs: &[((u32, u32), f64)]) -> Contacts {
    Contacts::new(Proximity {
        links: links.to_vec(),
        time_s: vec![0.0; pairs.len()],
        duration_s: pairs.iter().map(|pair| pair.1).collect(),
        phone_a: pairs.iter().map(|pair| pair.0 .0).collect(),
        phone_b: pairs.iter().map(|pair| pair.0 .1).collect(),
        link: vec![0; pairs.len()],
    })
}

/// When a datagram that takes a second and is sent at `now` is at the other end.
fn end(contacts: &mut Contacts, from: u32, to: u32, now: f64) -> f64 {
    assert!(contacts.join(from, to, now));
    contacts.carry(from, to, now, 1000).end_s
}

#[test]
fn both_ways_of_a_contact_take_turns() {
    let mut shared = contacts(&[SHARED], &[(0, 1)]);
    assert_eq!(end(&mut shared, 0, 1, 5.0), 6.0);
    assert_eq!(end(&mut shared, 1, 0, 5.0), 7.0);
    assert_eq!(end(&mut shared, 0, 1, 9.0), 10.0);
    let mut own = contacts(&[OWN], &[(0, 1)]);
    assert_eq!(end(&mut own, 0, 1, 5.0), 6.0);
    assert_eq!(end(&mut own, 1, 0, 5.0), 6.0);
}

#[test]
fn pairs_that_nobody_joins_send_at_once() {
    let mut shared = contacts(&[SHARED], &[(0, 1), (2, 3)]);
    assert_eq!(end(&mut shared, 0, 1, 5.0), 6.0);
    assert_eq!(end(&mut shared, 2, 3, 5.0), 6.0);
}

#[test]
fn who_is_near_the_sender_or_the_receiver_waits() {
    // 1 is near 2, and neither is one of the other's pair.
    let mut shared = contacts(&[SHARED], &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]);
    assert_eq!(end(&mut shared, 0, 1, 5.0), 6.0);
    assert_eq!(end(&mut shared, 2, 3, 5.0), 7.0); // 2 hears that 1 receives
    assert_eq!(end(&mut shared, 4, 5, 5.0), 8.0); // 4 hears that 3 receives
    assert_eq!(end(&mut shared, 0, 1, 5.5), 8.0); // 1 hears that 2 sends
}

#[test]
fn kinds_of_link_have_an_air_each() {
    let mut two = Contacts::new(Proximity {
        links: vec![SHARED, SHARED],
        time_s: vec![0.0; 2],
        duration_s: vec![100.0; 2],
        phone_a: vec![0, 1],
        phone_b: vec![1, 2],
        link: vec![0, 1],
    });
    assert_eq!(end(&mut two, 0, 1, 5.0), 6.0);
    assert_eq!(end(&mut two, 1, 2, 5.0), 6.0);
}

#[test]
fn a_phone_that_goes_off_leaves_the_air_to_others() {
    let mut shared = contacts(&[SHARED], &[(0, 1), (1, 2)]);
    for _ in 0..9 {
        end(&mut shared, 0, 1, 5.0);
    }
    shared.silence(0, 7.5);
    assert_eq!(end(&mut shared, 2, 1, 7.5), 8.5);
}

#[test]
fn who_has_left_is_not_waited_for() {
    let mut shared = timed(
        &[SHARED],
        &[((0, 1), 100.0), ((1, 2), 10.0), ((2, 3), 100.0)],
    );
    assert_eq!(end(&mut shared, 0, 1, 9.5), 10.5);
    assert_eq!(end(&mut shared, 2, 3, 9.5), 11.5); // they still hear each other
    assert_eq!(end(&mut shared, 0, 1, 20.0), 21.0);
    assert_eq!(end(&mut shared, 2, 3, 20.0), 21.0);
}

#[test]
fn nobody_sends_while_who_is_near_either_end_does() {
    let pairs = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4), (5, 6)];
    let mut shared = contacts(&[SHARED], &pairs);
    let near = |one: u32, other: u32| {
        one == other || pairs.contains(&(one, other)) || pairs.contains(&(other, one))
    };
    let mut numbers = Numbers(7);
    let mut sent: Vec<(u32, u32, f64, f64)> = Vec::new();
    for step in 0..300 {
        let (now, draw) = (f64::from(step) * 0.25, numbers.draw() >> 16);
        let (one, other) = pairs[draw as usize % pairs.len()];
        let (from, to) = if draw & 64 == 0 {
            (one, other)
        } else {
            (other, one)
        };
        let bytes = 1 + (draw >> 7) % 300;
        assert!(shared.join(from, to, now));
        let passage = shared.carry(from, to, now, bytes);
        if !passage.cut {
            sent.push((from, to, passage.end_s - passage.busy_s, passage.end_s));
        }
    }
    assert!(sent.len() > 250);
    for (place, &(from, to, start_s, end_s)) in sent.iter().enumerate() {
        for &(other, peer, since_s, until_s) in &sent[..place] {
            let hear = [other, peer]
                .iter()
                .any(|&one| near(one, from) || near(one, to));
            let overlap_s = end_s.min(until_s) - start_s.max(since_s);
            assert!(
                !hear || overlap_s < 1e-9,
                "{from} to {to} beside {other} to {peer}"
            );
        }
    }
}
