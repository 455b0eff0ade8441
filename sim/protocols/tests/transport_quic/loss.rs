//! QUIC under loss and reordering: everything arrives once, or fails once.

use std::collections::BTreeMap;

use crate::common::{parcel, quic, quic_world, Parcel, Verdict, World};
use pocketsim_protocols::contract::{Delivery, MessageId, Transport};
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};
use proptest::prelude::*;

const MODES: [ConnectionMode; 2] = [ConnectionMode::Reconnect, ConnectionMode::Keep];

fn run(
    config: &TransportConfig,
    (latency_s, work_s): (f64, f64),
    rule: impl FnMut(usize) -> Verdict + 'static,
) -> World<Quic<Parcel>> {
    let mut rule = rule;
    let mut world = quic_world(2, latency_s, config);
    world.rule = Box::new(move |k, _| rule(k));
    world.work = Box::new(move |_, _| work_s);
    world.app = Box::new(|node, from, parcel| match node.0 {
        1 => vec![(from, parcel.clone())],
        _ => Vec::new(),
    });
    for k in 0..3 {
        world.transmit_at(0.2 * f64::from(k), 0, 1, parcel(0, k, 3000));
    }
    world.run_until(300.0);
    world
}

/// How often each message reached each node, and how often it failed there.
fn fates<T: Transport<Parcel>>(world: &World<T>) -> BTreeMap<(u32, MessageId), (u32, u32)> {
    let mut fates = BTreeMap::new();
    for arrival in &world.arrivals {
        match &arrival.delivery {
            Delivery::Received(parcel) => {
                fates.entry((arrival.node.0, parcel.id)).or_insert((0, 0)).0 += 1;
            }
            Delivery::Failed { payload, .. } => {
                fates
                    .entry((arrival.from.0, payload.id))
                    .or_insert((0, 0))
                    .1 += 1;
            }
        }
    }
    fates
}

#[test]
fn any_lost_datagram_is_repaired() {
    for mode in MODES {
        for relay_first in [false, true] {
            let config = TransportConfig {
                relay_first,
                ..quic(mode)
            };
            let undisturbed = run(&config, (0.010, 0.0), |_| Verdict::Pass).sent.len();
            for lost in 0..undisturbed.min(60) {
                let world = run(&config, (0.010, 0.0), move |k| match k == lost {
                    true => Verdict::Drop,
                    false => Verdict::Pass,
                });
                assert_eq!(world.received(1).len(), 3, "{mode:?} {lost}");
                assert_eq!(world.received(0).len(), 3, "{mode:?} {lost}");
                let last = world.received(0).last().unwrap().0;
                assert!(last < 3.0, "{mode:?} {lost}: {last}");
            }
        }
    }
}

#[test]
fn a_lost_initial_costs_999_ms() {
    for mode in MODES {
        let world = run(&quic(mode), (0.010, 0.0), |k| match k {
            0 => Verdict::Drop,
            _ => Verdict::Pass,
        });
        let (at, id) = world
            .received(1)
            .into_iter()
            .find(|(_, id)| id.sequence() == 0)
            .unwrap();
        assert_eq!(id, parcel(0, 0, 0).id);
        // Three thousand bytes are three packets, which leave together; those of three messages on
        // one connection take turns, and the window is 7 packets after the loss.
        let turn_s = if mode == ConnectionMode::Keep {
            0.020
        } else {
            0.0
        };
        assert!((at - 1.029 - turn_s).abs() < 1e-6, "{mode:?} {at}");
    }
}

#[test]
fn a_lost_block_costs_one_probe_timeout_and_a_round_trip() {
    let mut world = quic_world(2, 0.010, &quic(ConnectionMode::Keep));
    world.rule = Box::new(|_, sent| match sent.time_s == 5.0 && sent.bytes > 600 {
        true => Verdict::Drop,
        false => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 668));
    world.transmit_at(5.0, 0, 1, parcel(0, 2, 668));
    world.run_until(9.0);
    let late_s = world.received(1)[1].0 - 5.010;
    // srtt 20 ms and more for delayed acknowledgements, 4 rttvar, 25 ms; then a PING is answered.
    assert!((0.066..0.140).contains(&late_s), "{late_s}");
}

#[test]
fn nothing_heard_is_nothing_promised() {
    for mode in MODES {
        let world = run(&quic(mode), (0.010, 0.0), |_| Verdict::Drop);
        assert!(world.received(1).is_empty());
        assert_eq!(world.failed(0).len(), 3);
        assert_eq!(world.machine(0).open_connections(), 0);
        assert_eq!(world.pending(), 0, "{mode:?}: a timer runs for nobody");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_message_arrives_once_or_fails_once(
        seed in any::<u64>(),
        loss_percent in 0u64..35,
        late_percent in 0u64..50,
        keep in any::<bool>(),
        relay_first in any::<bool>(),
        latency_ms in 0u32..80,
        work_us in 0u32..4000,
    ) {
        let mode = MODES[usize::from(keep)];
        let config = TransportConfig { relay_first, poll_interval_s: 0.010, ..quic(mode) };
        let mut state = seed | 1;
        let mut chance = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state >> 16
        };
        let times_s = (f64::from(latency_ms) * 1e-3, f64::from(work_us) * 1e-6);
        let world = run(&config, times_s, move |_| {
            if chance() % 100 < loss_percent {
                return Verdict::Drop;
            }
            match chance() % 100 < late_percent {
                true => Verdict::Later((chance() % 50) as f64 * 1e-3),
                false => Verdict::Pass,
            }
        });
        let fates = fates(&world);
        // If all acknowledgements are lost for 30 s, who sent gives up what has arrived.
        let is_one = |fate| match fate {
            Some((1, 1)) => loss_percent >= 10,
            Some(once) => once == (1, 0) || once == (0, 1),
            None => false,
        };
        for k in 0..3 {
            let there = fates.get(&(1, parcel(0, k, 0).id)).copied();
            prop_assert!(is_one(there), "{there:?}");
            let back = fates.get(&(0, parcel(0, k, 0).id)).copied();
            prop_assert!(back.is_none() || is_one(back), "{back:?}");
            let has_arrived = there.is_some_and(|(arrived, _)| arrived == 1);
            prop_assert_eq!(back.is_some(), has_arrived);
        }
    }
}
