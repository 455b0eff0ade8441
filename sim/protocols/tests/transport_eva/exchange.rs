//! EVA without losses: windows, sizes, work, turns and refusals.

use super::phones::{received_s, sizes, small, times, world, ACK, BLOCK, OFFER};
use crate::common::{failed, parcel, Parcel, Verdict, World};
use pocketsim_protocols::contract::{Machine, NodeId, Operation, Reason};
use pocketsim_protocols::transport::eva::{Eva, EvaConfig, Variant};

const BUSY: u32 = 179 + 40 + 45;
const EMPTY: u32 = 179 + 40 + 39;

#[test]
fn a_message_goes_in_windows_and_each_is_acknowledged() {
    let mut world = world(2, &small());
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 950));
    world.run_until(0.5);
    let mut expected = vec![OFFER];
    expected.extend([BLOCK; 9]);
    expected.push(183 + 50);
    assert_eq!(sizes(&world, 0), expected);
    assert_eq!(
        sizes(&world, 1),
        [ACK; 4],
        "one per window, one for the offer"
    );
    let arrived_s = received_s(&world, 1).expect("it arrived");
    assert!((arrived_s - 0.070).abs() < 1e-9, "{arrived_s}");
    assert_eq!(world.arrivals[0].delivery, delivered(950));
    assert_eq!(world.machine(0).next_timeout(), None);
    assert_eq!(world.machine(1).next_timeout(), None);
}

fn delivered(bytes: u32) -> pocketsim_protocols::contract::Delivery<Parcel> {
    pocketsim_protocols::contract::Delivery::Received(parcel(0, 1, bytes))
}

#[test]
fn the_last_block_is_what_is_left() {
    for (bytes, blocks, last) in [
        (1, 1, 1),
        (99, 1, 99),
        (100, 1, 100),
        (101, 2, 1),
        (400, 4, 100),
    ] {
        let mut world = world(2, &small());
        world.transmit_at(0.0, 0, 1, parcel(0, 1, bytes));
        world.run_until(1.0);
        let sizes = sizes(&world, 0);
        assert_eq!(
            (sizes.len(), sizes[sizes.len() - 1]),
            (1 + blocks, 183 + last)
        );
        assert_eq!(world.received(1).len(), 1);
    }
}

#[test]
fn every_packet_is_signed_once_and_verified_once() {
    let mut world = world(2, &small());
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 300));
    world.run_until(1.0);
    for (node, sent, read) in [(0, 4, 2), (1, 2, 4)] {
        assert_eq!(world.count(node, Operation::Sign), sent);
        assert_eq!(world.count(node, Operation::UdpSend), sent);
        assert_eq!(world.count(node, Operation::Verify), read);
        assert_eq!(world.count(node, Operation::UdpReceive), read);
        assert_eq!(world.count(node, Operation::SealedBoxSeal), 0);
        assert_eq!(world.count(node, Operation::SealedBoxOpen), 0);
    }
    let signed = (NodeId(0), Operation::Sign, BLOCK - 64);
    assert!(world.operations.contains(&signed), "all but the signature");
}

#[test]
fn a_sealed_box_is_48_bytes_and_work_at_both_ends() {
    let config = EvaConfig {
        encryption: true,
        ..small()
    };
    let mut world = world(2, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 300));
    world.run_until(1.0);
    let sealed = [OFFER, BLOCK, BLOCK, BLOCK].map(|bytes| bytes + 48);
    assert_eq!(sizes(&world, 0), sealed);
    assert_eq!(sizes(&world, 1), [231; 2]);
    for node in [0, 1] {
        assert_eq!(
            world.count(node, Operation::SealedBoxSeal),
            sizes(&world, node).len()
        );
        assert_eq!(
            world.count(node, Operation::SealedBoxOpen),
            sizes(&world, 1 - node).len()
        );
    }
    let sealed = (NodeId(0), Operation::SealedBoxSeal, 12 + 100);
    assert!(
        world.operations.contains(&sealed),
        "the message alone is sealed"
    );
}

#[test]
fn the_original_cannot_do_without_encryption() {
    let config = EvaConfig {
        variant: Variant::Original,
        ..small()
    };
    let mut world = world(2, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(1.0);
    assert_eq!(sizes(&world, 0), [OFFER + 48, BLOCK + 48]);
    // The list is text, and says so also when it is empty; there is none before window 1.
    assert_eq!(sizes(&world, 1), [231, 231 + 2]);
}

#[test]
fn a_window_leaves_without_a_pause_and_acknowledgements_wait_for_it() {
    let mut world = world(2, &small());
    world.work = Box::new(|operation, _| match operation {
        Operation::Sign => 0.001,
        _ => 0.0,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 400));
    world.run_until(1.0);
    let times = times(&world, 0, BLOCK);
    let gaps: Vec<f64> = times.windows(2).map(|two| two[1] - two[0]).collect();
    assert!(
        gaps.iter().all(|gap| (gap - 0.001).abs() < 1e-9),
        "{gaps:?}"
    );
    assert!(
        (times[0] - 0.023).abs() < 1e-9,
        "two signatures, two ways, one more"
    );
}

#[test]
fn sending_threads_may_overtake_each_other() {
    let sent = |send_threads| {
        let config = EvaConfig {
            send_threads,
            ..small()
        };
        let mut world = world(2, &config);
        // A full block is longer in sendto than the short one behind it.
        world.work = Box::new(|operation, bytes| match operation {
            Operation::UdpSend => f64::from(bytes) * 1e-6,
            _ => 0.0,
        });
        world.transmit_at(0.0, 0, 1, parcel(0, 1, 110));
        world.run_until(1.0);
        (sizes(&world, 0), world.machine(0).counts().blocks_repeated)
    };
    assert_eq!(sent(1), (vec![OFFER, BLOCK, 193], 0));
    let (sizes, repeated) = sent(2);
    assert_eq!(sizes[1..3], [193, BLOCK]);
    assert_eq!(repeated, 1, "what has not arrived yet counts as lost");
}

#[test]
fn one_transfer_per_peer_the_rest_wait() {
    let mut world = world(3, &small());
    for k in 0..3 {
        world.transmit_at(0.0, 0, 1, parcel(0, k, 100));
    }
    world.transmit_at(0.0, 0, 2, parcel(0, 9, 100));
    world.run_until(1.0);
    let of = |node| world.received(node).into_iter();
    let times: Vec<f64> = of(1).map(|(at, _)| (at * 1e3).round()).collect();
    // An end is known 10 ms after it, and the next offer follows at once.
    assert_eq!(times, [30.0, 70.0, 110.0]);
    let sequences: Vec<u32> = of(1).map(|(_, id)| id.sequence()).collect();
    assert_eq!(sequences, [0, 1, 2]);
    assert_eq!((received_s(&world, 2).unwrap() * 1e3).round(), 30.0);
}

#[test]
fn above_the_limit_of_transfers_everything_waits() {
    let config = EvaConfig {
        simultaneous_transfers: Some(2),
        ..small()
    };
    let mut world = world(4, &config);
    for peer in 1..4 {
        world.transmit_at(0.0, 0, peer, parcel(0, peer, 100));
    }
    world.run_until(1.0);
    let arrived_ms = |node| (received_s(&world, node).unwrap() * 1e3).round();
    assert_eq!([1, 2, 3].map(arrived_ms), [30.0, 30.0, 70.0]);
}

#[test]
fn what_waits_for_an_incoming_transfer_waits_for_the_five_seconds() {
    let mut world = world(2, &small());
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
    world.transmit_at(0.030, 1, 0, parcel(1, 1, 100));
    world.run_until(4.9);
    assert_eq!(
        world.received(0),
        [],
        "an incoming transfer that ends starts nothing"
    );
    world.run_until(9.0);
    assert!((received_s(&world, 0).unwrap() - 5.030).abs() < 1e-9);
}

#[test]
fn a_message_whose_turn_comes_during_an_incoming_transfer_loses_its_bytes() {
    let mut world = world(2, &small());
    world.rule = Box::new(|k, _| match k {
        2 => Verdict::Later(0.5),
        _ => Verdict::Pass,
    });
    world.transmit_at(4.9, 0, 1, parcel(0, 1, 100));
    world.transmit_at(4.95, 1, 0, parcel(1, 1, 100));
    world.run_until(9.0);
    assert_eq!(world.received(1).len(), 1);
    assert_eq!(world.machine(1).counts().messages_emptied, 1);
    world.run_until(20.0);
    assert_eq!(world.received(0), []);
    assert_eq!(world.failed(1), [(parcel(1, 1, 0).id, Reason::Malformed)]);
    assert_eq!(sizes(&world, 0).last(), Some(&EMPTY));
    assert_eq!(world.machine(0).counts().offers_refused_size, 1);
}

#[test]
fn two_starts_at_once_lose_a_message_in_the_original_only() {
    for (variant, emptied) in [(Variant::Original, 1), (Variant::Modified, 0)] {
        let config = EvaConfig {
            variant,
            race_window_s: 0.1,
            ..small()
        };
        let mut world = world(2, &config);
        for k in 0..3 {
            world.transmit_at(4.91, 0, 1, parcel(0, k, 1000));
        }
        // The first ends at 4.99, so the second begins 10 ms before the look at 5.0.
        world.run_until(20.0);
        assert_eq!(world.machine(0).counts().messages_emptied, emptied);
        assert_eq!(world.failed(0).len() as u64, emptied);
        assert_eq!(world.received(1).len() as u64, 3 - emptied);
    }
}

#[test]
fn two_offers_that_cross_refuse_each_other() {
    let mut world = world(3, &small());
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.transmit_at(0.0, 1, 0, parcel(1, 1, 100));
    world.transmit_at(0.0, 0, 2, parcel(0, 2, 100));
    world.run_until(1.0);
    assert_eq!(world.failed(0), [(parcel(0, 1, 0).id, Reason::PeerBusy)]);
    assert_eq!(world.failed(1), [(parcel(1, 1, 0).id, Reason::PeerBusy)]);
    assert_eq!(sizes(&world, 1), [OFFER, BUSY]);
    assert_eq!(
        world.received(2).len(),
        1,
        "with others there is no conflict"
    );
    assert_eq!(world.machine(1).counts().offers_refused_busy, 1);
    assert_eq!(world.machine(1).counts().outgoing_refused, 1);
    world.transmit_at(1.0, 0, 1, parcel(0, 1, 100));
    world.run_until(2.0);
    assert_eq!(world.received(1).len(), 1, "the application may try again");
}

#[test]
fn a_refused_offer_ends_what_the_peer_was_sending() {
    let mut world = world(2, &small());
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
    world.run_until(0.025);
    world.switch_off(0);
    world.switch_on(0);
    // The receiver still waits for the old transfer, until this offer.
    for k in 2..4 {
        world.transmit_at(0.1, 0, 1, parcel(0, k, 100));
    }
    world.run_until(1.0);
    assert_eq!(world.failed(0), [(parcel(0, 2, 0).id, Reason::PeerBusy)]);
    assert_eq!(
        received_s(&world, 1).map(|at| (at * 1e3).round()),
        Some(150.0)
    );
    assert_eq!(world.machine(1).next_timeout(), None);
}

#[test]
fn sizes_that_neither_end_takes() {
    let limits = [1000, 500];
    let mut world = World::new(2, 0.010, |node| {
        Eva::new(&EvaConfig {
            binary_size_limit_bytes: limits[node.0 as usize],
            ..small()
        })
    });
    for (k, bytes) in [(1, 0), (2, 1001), (3, 501), (4, 500)] {
        world.transmit_at(f64::from(k), 0, 1, parcel(0, k, bytes));
    }
    world.run_until(9.0);
    let reasons = [
        (parcel(0, 1, 0).id, Reason::Malformed),
        (parcel(0, 2, 0).id, Reason::Oversized),
        (parcel(0, 3, 0).id, Reason::Oversized),
    ];
    assert_eq!(world.failed(0), reasons);
    let text = "Current data size limit(500) has been exceeded";
    assert_eq!(sizes(&world, 1)[0], 179 + 40 + text.len() as u32);
    assert_eq!(world.received(1).len(), 1);
    assert_eq!(times(&world, 0, OFFER), [3.0, 4.0], "the others never left");
}

#[test]
fn blocks_above_1472_bytes_never_leave() {
    for (encryption, largest) in [(false, 1289), (true, 1241)] {
        for (block_bytes, arrives) in [(largest, true), (largest + 1, false)] {
            let config = EvaConfig {
                encryption,
                block_bytes,
                ..small()
            };
            let mut world = world(2, &config);
            world.transmit_at(0.0, 0, 1, parcel(0, 1, 5000));
            world.run_until(40.0);
            assert_eq!(received_s(&world, 1).is_some(), arrives, "{block_bytes}");
            assert_eq!(world.failed(0).is_empty(), arrives);
            let drops = world.events.iter().filter(|(_, _, event)| {
                (event.reason, event.size_bytes) == (Some(Reason::Oversized), 1473)
            });
            assert_eq!(drops.count() > 0, !arrives);
        }
    }
}

#[test]
fn a_message_is_sent_once_under_one_id() {
    let mut world = world(2, &small());
    for at in [0.0, 0.001, 1.0] {
        world.transmit_at(at, 0, 1, parcel(0, 1, 100));
    }
    world.run_until(2.0);
    assert_eq!(world.received(1).len(), 1);
    assert_eq!(
        world.failed(0),
        [(parcel(0, 1, 0).id, Reason::Duplicate); 2]
    );
}

#[test]
fn shutting_down_returns_what_was_held() {
    let mut world = world(2, &small());
    for k in 1..3 {
        world.transmit_at(0.0, 0, 1, parcel(0, k, 1000));
    }
    world.run_until(0.015);
    let held = world.switch_off(0);
    let off = |k| failed(1, parcel(0, k, 1000), Reason::SenderOff);
    assert_eq!(held, [off(1), off(2)]);
    assert_eq!(world.machine(0).next_timeout(), None);
    assert!(world.switch_off(1).is_empty(), "half a message is nothing");
}

#[test]
fn a_restarted_phone_has_nothing_under_way() {
    let config = EvaConfig {
        simultaneous_transfers: Some(1),
        ..small()
    };
    let mut world = world(3, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
    world.run_until(0.015);
    world.switch_off(0);
    world.switch_on(0);
    world.transmit_at(1.0, 0, 2, parcel(0, 2, 100));
    world.run_until(2.0);
    assert_eq!(received_s(&world, 2), Some(1.030), "it does not wait");
}

#[test]
fn a_block_from_before_a_restart_is_of_no_transfer() {
    let mut world = world(2, &small());
    world.rule = Box::new(|k, _| match k {
        2 => Verdict::Later(20.0),
        _ => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
    world.run_until(0.025);
    world.switch_off(0);
    world.switch_on(0);
    // The old block comes at 20.030, the first of this message at 20.039.
    world.transmit_at(20.009, 0, 1, parcel(0, 2, 1000));
    world.run_until(21.0);
    assert_eq!(world.machine(1).counts().blocks_stray, 1);
    assert_eq!(world.received(1).len(), 1);
}

#[test]
fn presets_are_those_of_the_sources() {
    let master = EvaConfig::master();
    assert_eq!((master.block_bytes, master.window_blocks), (600, 80));
    assert!(master.encrypts());
    assert_eq!(master.kernel_buffer_bytes(), None);
    let thesis = EvaConfig::thesis();
    assert_eq!((thesis.block_bytes, thesis.window_blocks), (1200, 256));
    assert_eq!(
        (thesis.timeout_s, thesis.retransmit_interval_s),
        (12.0, 0.15)
    );
    assert!(!thesis.encrypts());
    assert_eq!(
        thesis.kernel_buffer_bytes(),
        Some(851_968),
        "socket(7) doubles it"
    );
}
