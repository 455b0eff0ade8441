//! Access points of 802.11, against ns-3's 802.11 and Bianchi's closed form.
//!
//! ns-3's rows: release 3.44, one access point, 668 B IP packets, equal distances, no losses but by
//! collisions, constant rates, no RTS; delivered a second, and milliseconds from phone to phone.
//! Constants here are the standard's; none is fitted to those rows.

use std::collections::BTreeMap;

use crate::common::{plan, Numbers};
use _engine::plan::wifi::Wifi;
use _engine::plan::Plan;
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

fn p95_ms(delays: &[Seconds]) -> f64 {
    delays[(delays.len() as f64 * 0.95) as usize] * 1e3
}

#[test]
fn saturated_senders_deliver_what_they_do_in_ns_3() {
    let end_s = 10.0;
    for kind in KINDS {
        for (phones, expected) in SENDERS.into_iter().zip(kind.delivered_per_s) {
            let plan = kind.plan(phones, |_| kind.mcs());
            let (over, _) = saturated(&plan, end_s);
            let found = over.iter().sum::<u64>() as f64 / end_s;
            let error = found / expected - 1.0;
            println!(
                "{} aggregation {}: {phones} senders {found:.0}/s, ns-3 {expected:.0}: {:+.1} %",
                kind.standard,
                kind.aggregation,
                100.0 * error
            );
            assert!(error.abs() < 0.15);
        }
    }
}

#[test]
fn from_phone_to_phone_delays_are_those_of_ns_3() {
    for kind in KINDS {
        for (phones, most_per_s, expected_ms) in kind.pairwise {
            let plan = kind.plan(phones, |_| kind.mcs());
            for (load, expected_ms) in [0.2, 0.5, 0.8].into_iter().zip(expected_ms) {
                let (_, delays) = pairwise(&plan, load * most_per_s, 20.0);
                let found_ms = p95_ms(&delays);
                println!(
                    "{} aggregation {}: {phones} phones, load {load}: {found_ms:.2} ms, ns-3 {expected_ms}: {:+.0} %",
                    kind.standard,
                    kind.aggregation,
                    100.0 * (found_ms / expected_ms - 1.0)
                );
            }
        }
    }
}
