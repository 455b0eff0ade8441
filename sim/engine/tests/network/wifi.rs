//! Access points of 802.11, against ns-3's 802.11 and Bianchi's closed form.
//!
//! ns-3's rows: release 3.44, one access point, 668 B IP packets, equal distances, no losses but by
//! collisions, constant rates, no RTS; delivered a second, and milliseconds from phone to phone.
//! Constants here are the standard's; none is fitted to those rows. What each test finds is left in a
//! file of its name in target/tmp.

use std::collections::BTreeMap;

use crate::common::{plan, Numbers};
use _engine::plan::{Plan, Wifi};
use _engine::resources::hybrid::Hybrid;
use _engine::resources::{Advance, Carried, Carrier, Happening, Hop, World};
use pocketsim_protocols::contract::{NodeId, Seconds};

const PACKET_BYTES: u32 = 668;
const SENDERS: [usize; 5] = [1, 2, 5, 10, 20];

#[derive(Clone, Copy, Debug)]
struct Kind {
    standard: &'static str,
    aggregation: bool,
    /// Saturated, delivered a second, by the number of senders.
    delivered_per_s: [f64; 5],
    /// From phone to phone: senders, most that is delivered a second, 95 % quantiles of the delay at
    /// 0.2, 0.5 and 0.8 of that, ms.
    pairwise: [(usize, f64, [f64; 3]); 3],
}

const KINDS: [Kind; 4] = [
    Kind {
        standard: "802.11n",
        aggregation: false,
        delivered_per_s: [3544., 3744., 3660., 3440., 3283.],
        pairwise: [
            (2, 1809., [0.94, 1.9, 5.8]),
            (10, 1778., [0.94, 2.1, 6.0]),
            (20, 1775., [0.99, 2.2, 6.5]),
        ],
    },
    Kind {
        standard: "802.11n",
        aggregation: true,
        delivered_per_s: [10856., 10164., 8776., 7758., 6624.],
        pairwise: [
            (2, 4320., [1.4, 3.6, 9.6]),
            (10, 3579., [1.7, 7.4, 80.]),
            (20, 3367., [2.0, 7.5, f64::NAN]),
        ],
    },
    Kind {
        standard: "802.11ac",
        aggregation: false,
        delivered_per_s: [4743., 5226., 5304., 4598., 4536.],
        pairwise: [
            (2, 2575., [0.64, 1.4, 4.3]),
            (10, 2418., [0.60, 1.3, 3.7]),
            (20, 2592., [0.66, 1.6, 4.6]),
        ],
    },
    Kind {
        standard: "802.11ac",
        aggregation: true,
        delivered_per_s: [51685., 48916., 42219., 37396., 31758.],
        pairwise: [
            (2, 20235., [2.2, 5.1, 9.7]),
            (10, 10856., [2.7, 24., 79.]),
            (20, 6021., [1.3, 8.7, 47.]),
        ],
    },
];

impl Kind {
    fn plan(self, phones: usize, mcs: impl Fn(usize) -> u32) -> Plan {
        let mut plan = plan(phones);
        plan.access[0].wifi = Some(Wifi {
            standard: self.standard.into(),
            channel_width_mhz: if self.standard == "802.11n" { 20 } else { 80 },
            streams: 1,
            aggregation: self.aggregation,
            block_ack_request: true,
            queue_packets: 500,
        });
        plan.phones.mcs = (0..phones).map(mcs).collect();
        plan
    }

    fn name(self) -> String {
        let aggregation = if self.aggregation { ", A-MPDU" } else { "" };
        format!("{}{aggregation}", self.standard)
    }

    /// 65 and 351 Mbit/s, as in ns-3's rows.
    fn mcs(self) -> u32 {
        if self.standard == "802.11n" {
            7
        } else {
            8
        }
    }
}

/// Packets over the air and lost, by phone, of phones that always have 200 waiting.
fn saturated(plan: &Plan, end_s: Seconds) -> (Vec<u64>, u64) {
    let mut world = Hybrid::new(plan);
    let phones = plan.phones.mcs.len();
    let (mut over, mut lost) = (vec![0; phones], 0);
    let sender = |token: u32| token % phones as u32;
    for token in 0..200 * phones as u32 {
        world.carry(token, Hop::Up(NodeId(sender(token))), PACKET_BYTES);
    }
    while let Some(happening) = world.advance(end_s) {
        let token = match happening {
            Happening::Hop(token, true) => {
                over[sender(token) as usize] += 1;
                token
            }
            Happening::Lost(token) => {
                lost += 1;
                token
            }
            other => unreachable!("{other:?}"),
        };
        let carried = world.carry(token, Hop::Up(NodeId(sender(token))), PACKET_BYTES);
        assert_eq!(carried, Carried::UntilTold);
    }
    (over, lost)
}

/// What is delivered a second, and the delays from phone to phone, of random pairs.
fn pairwise(plan: &Plan, offered_per_s: f64, end_s: Seconds) -> (f64, Vec<Seconds>) {
    let mut world = Hybrid::new(plan);
    let phones = plan.phones.mcs.len() as u32;
    let mut numbers = Numbers(3);
    let mut uniform = move || f64::from(numbers.draw()) / (f64::from(u32::MAX) + 1.0);
    let mut sent = BTreeMap::new();
    let (mut token, mut delays) = (0, Vec::new());
    world.wake_at(0.0);
    while let Some(happening) = world.advance(end_s) {
        let now = world.clock();
        match happening {
            Happening::Wake => {
                let from = (uniform() * f64::from(phones)) as u32;
                let to = (from + 1 + (uniform() * f64::from(phones - 1)) as u32) % phones;
                token += 1;
                if world.carry(token, Hop::Up(NodeId(from)), PACKET_BYTES) == Carried::UntilTold {
                    sent.insert(token, (now, to, true));
                }
                world.wake_at(now - (1.0 - uniform()).ln() / offered_per_s);
            }
            Happening::Hop(token, true) => {
                let (since_s, to, is_up) = sent.remove(&token).expect("it was sent");
                if !is_up {
                    delays.push(now - since_s);
                } else if world.carry(token, Hop::Down(NodeId(to)), PACKET_BYTES)
                    == Carried::UntilTold
                {
                    sent.insert(token, (since_s, to, false));
                }
            }
            Happening::Lost(token) => drop(sent.remove(&token)),
            other => unreachable!("{other:?}"),
        }
    }
    delays.sort_by(f64::total_cmp);
    (delays.len() as f64 / end_s, delays)
}

/// For whoever wants to read them.
fn leave(name: &str, rows: &[String]) {
    let file = format!("{}/{name}.txt", env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(file, rows.join("\n") + "\n").expect("the folder is Cargo's");
}

fn p95_ms(delays: &[Seconds]) -> f64 {
    delays[(delays.len() as f64 * 0.95) as usize] * 1e3
}

#[test]
fn saturated_senders_deliver_what_they_do_in_ns_3() {
    let mut found_rows = Vec::new();
    let end_s = 10.0;
    for kind in KINDS {
        for (phones, expected) in SENDERS.into_iter().zip(kind.delivered_per_s) {
            let plan = kind.plan(phones, |_| kind.mcs());
            let (over, _) = saturated(&plan, end_s);
            let found = over.iter().sum::<u64>() as f64 / end_s;
            let (error, row) = (found / expected - 1.0, kind.name());
            let percent = 100.0 * error;
            found_rows.push(format!(
                "{row}, {phones} senders: {found:.0}/s, ns-3 {expected:.0}: {percent:+.1} %"
            ));
            assert!(error.abs() < 0.15, "{found_rows:#?}");
        }
    }
    leave(
        "saturated_senders_deliver_what_they_do_in_ns_3",
        &found_rows,
    );
}

/// Delays that differ by more than 15 %, by so much at most: one where packets hardly ever meet, and
/// three of ten phones whose access point is nearly at its limit, which lies lower here.
const APART: [(&str, usize, f64, f64); 4] = [
    ("802.11n", 20, 0.2, 0.3),
    ("802.11n", 10, 0.8, 0.5),
    ("802.11ac", 10, 0.5, 0.3),
    ("802.11ac", 10, 0.8, 0.75),
];

#[test]
fn from_phone_to_phone_delays_are_those_of_ns_3() {
    let mut found_rows = Vec::new();
    for kind in KINDS {
        for (phones, most_per_s, expected_ms) in kind.pairwise {
            let plan = kind.plan(phones, |_| kind.mcs());
            for (load, expected_ms) in [0.2, 0.5, 0.8].into_iter().zip(expected_ms) {
                if expected_ms.is_nan() {
                    continue;
                }
                let (_, delays) = pairwise(&plan, load * most_per_s, 10.0);
                let (found_ms, row) = (p95_ms(&delays), kind.name());
                let error = found_ms / expected_ms - 1.0;
                let percent = 100.0 * error;
                found_rows.push(format!(
                    "{row}, {phones} phones, load {load}: {found_ms:.2} ms, ns-3 {expected_ms}: {percent:+.0} %"
                ));
                let apart = APART.iter().find(|row| {
                    kind.aggregation && (row.0, row.1, row.2) == (kind.standard, phones, load)
                });
                let bound = apart.map_or(0.15, |row| row.3);
                assert!(error.abs() < bound, "{found_rows:#?}");
            }
        }
    }
    leave("from_phone_to_phone_delays_are_those_of_ns_3", &found_rows);
}

/// The most that ns-3 delivers with 95 % of what is offered, beside the most here; for docs/models.md.
#[test]
#[ignore = "takes a minute"]
fn most_that_is_delivered_from_phone_to_phone() {
    let mut found_rows = Vec::new();
    for kind in KINDS {
        for (phones, expected_per_s, _) in kind.pairwise {
            let plan = kind.plan(phones, |_| kind.mcs());
            let loads = (10..30).map(|step| 0.05 * f64::from(step) * expected_per_s);
            let delivers = |&offered_per_s: &f64| {
                pairwise(&plan, offered_per_s, 10.0).0 >= 0.95 * offered_per_s
            };
            let most_per_s = loads.take_while(delivers).last().unwrap_or(0.0);
            let row = kind.name();
            found_rows.push(format!(
                "{row}, {phones} phones: {most_per_s:.0}/s, ns-3 {expected_per_s:.0}/s"
            ));
        }
    }
    leave("most_that_is_delivered_from_phone_to_phone", &found_rows);
}

/// What Bianchi's fixed point says of `n` saturated senders (IEEE JSAC 18(3), 2000), with the limit of
/// retries: the probability that a frame collides.
fn collision_ratio(n: usize) -> f64 {
    let sent = |p: f64| {
        let window = |k: i32| f64::min(16.0 * 2f64.powi(k), 1024.0);
        let sum = |of: &dyn Fn(i32) -> f64| (0..=7).map(of).sum::<f64>();
        let attempts = sum(&|k| p.powi(k));
        attempts / (attempts + sum(&|k| p.powi(k) * (window(k) - 1.0) / 2.0))
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let p = (low + high) / 2.0;
        let found = 1.0 - (1.0 - sent(p)).powi(n as i32 - 1);
        (low, high) = if found > p { (p, high) } else { (low, p) };
    }
    low
}

#[test]
fn frames_collide_as_often_as_by_bianchi() {
    let kind = KINDS[0];
    for n in [10, 20, 50] {
        let plan = kind.plan(n, |_| kind.mcs());
        let (over, lost) = saturated(&plan, 60.0);
        let delivered: u64 = over.iter().sum();
        let found = lost as f64 / (lost + delivered) as f64;
        // A packet is given up when all of eight attempts collide: the eighth root is what one does.
        let expected = collision_ratio(n).powi(8);
        let ratio = found.powf(0.125) / expected.powf(0.125);
        assert!(
            (ratio - 1.0).abs() < 0.05,
            "{n} senders: {found:.2e}, closed form {expected:.2e}"
        );
    }
}

#[test]
fn a_slow_phone_takes_as_many_turns_as_a_fast_one() {
    // The same chances to send are as many packets, and both are as slow as the slow one (Heusse et
    // al., INFOCOM 2003). Whose longer frame ended last after a collision counts a little later.
    let kind = KINDS[0];
    let plan = kind.plan(2, |phone| if phone == 0 { 0 } else { kind.mcs() });
    let (over, _) = saturated(&plan, 20.0);
    assert!((over[0] as f64 / over[1] as f64 - 1.0).abs() < 0.1);
    let all_slow: u64 = saturated(&kind.plan(2, |_| 0), 20.0).0.iter().sum();
    assert!(over[1] < all_slow);
}

#[test]
fn a_phone_that_goes_off_takes_its_packets_with_it() {
    let kind = KINDS[1];
    let plan = kind.plan(3, |_| kind.mcs());
    let mut world = Hybrid::new(&plan);
    for token in 0..90 {
        let phone = NodeId(token % 3);
        world.carry(token, Hop::Up(phone), PACKET_BYTES);
        world.carry(100 + token, Hop::Down(phone), PACKET_BYTES);
    }
    world.wake_at(0.001);
    let mut ends = BTreeMap::new();
    while let Some(happening) = world.advance(10.0) {
        match happening {
            Happening::Wake => world.set_on(NodeId(1), false),
            Happening::Hop(token, done) => assert_eq!(ends.insert(token, done), None),
            other => unreachable!("{other:?}"),
        }
    }
    assert_eq!(ends.len(), 180);
    assert!(ends
        .iter()
        .all(|(token, &done)| done || token % 100 % 3 == 1));
    assert!(ends.values().any(|done| !done));
}

#[test]
fn a_full_queue_refuses() {
    let kind = KINDS[0];
    let mut plan = kind.plan(2, |_| kind.mcs());
    plan.access[0].wifi.as_mut().expect("given").queue_packets = 10;
    let mut world = Hybrid::new(&plan);
    let mut taken = |hop| {
        let carried = (0..30).map(|token| world.carry(token, hop, 3000));
        carried.filter(|it| *it == Carried::UntilTold).count()
    };
    // Two packets each; the first is on the air and still counts.
    assert_eq!(taken(Hop::Up(NodeId(0))), 5);
    assert_eq!(taken(Hop::Down(NodeId(0))), 5);
    // The access point has one queue for all.
    assert_eq!(taken(Hop::Down(NodeId(1))), 0);
}
