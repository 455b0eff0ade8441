//! EVA with losses: what is repaired at once, what stalls, what fails though it arrived.

use super::phones::{
    drop_all, received_s, sizes, small, times, world, EvaWorld, ACK, BLOCK, OFFER,
};
use crate::common::{parcel, Parcel, Rule, Verdict, World};
use pocketsim_protocols::contract::{Delivery, EventKind, Machine, NodeId, Reason};
use pocketsim_protocols::transport::eva::{Eva, EvaConfig, Variant};
use proptest::prelude::*;

/// The fifteen datagrams of a clean transfer of ten blocks in windows of four.
#[derive(Debug, PartialEq)]
enum Datagram {
    Offer,
    Ack,
    LastOfWindow,
    Within,
    FinalAck,
}

fn datagram(k: usize) -> Datagram {
    match k {
        0 => Datagram::Offer,
        1 | 6 | 11 => Datagram::Ack,
        5 | 10 | 13 => Datagram::LastOfWindow,
        14 => Datagram::FinalAck,
        _ => Datagram::Within,
    }
}

#[test]
fn any_single_loss_ends_as_the_rules_say() {
    for lost in 0..15 {
        let mut world = world(2, &small());
        world.rule = drop_all(vec![lost]);
        world.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
        world.run_until(60.0);
        let late_s = received_s(&world, 1);
        let (expected_s, failed) = match datagram(lost) {
            Datagram::Offer => (None, true),
            Datagram::FinalAck => (Some(0.0..0.1), true),
            Datagram::Within => (Some(0.0..0.1), false),
            Datagram::Ack | Datagram::LastOfWindow => (Some(1.0..1.1), false),
        };
        match (late_s, expected_s) {
            (Some(at), Some(range)) => assert!(range.contains(&at), "{lost}: {at}"),
            (late_s, expected_s) => assert_eq!(late_s.is_some(), expected_s.is_some(), "{lost}"),
        }
        assert_eq!(!world.failed(0).is_empty(), failed, "{lost}");
        assert_eq!(world.machine(0).next_timeout(), None);
        assert_eq!(world.machine(1).next_timeout(), None);
        let offered_again = world.machine(0).counts().offers_sent_again;
        assert_eq!(
            offered_again, 0,
            "the thesis's branch does not repeat an offer"
        );
    }
}

#[test]
fn transfers_that_end_at_one_time_end_in_the_order_of_the_peers() {
    let mut world = world(4, &small());
    world.rule = Box::new(|_, _| Verdict::Drop);
    for to in [3, 1, 2] {
        world.transmit_at(0.0, 0, to, parcel(0, to, 100));
    }
    world.run_until(60.0);
    let began: Vec<NodeId> = world.sent.iter().map(|sent| sent.to).collect();
    assert_eq!(began, [3, 1, 2].map(NodeId));
    let ended_s = world.arrivals[0].time_s;
    let ended: Vec<_> = world
        .arrivals
        .iter()
        .map(|at| (at.time_s, at.from))
        .collect();
    assert_eq!(ended, [1, 2, 3].map(|from| (ended_s, NodeId(from))));
}

#[test]
fn a_loss_within_a_window_comes_first_in_the_next() {
    let mut world = world(2, &small());
    world.rule = drop_all(vec![3]);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 850));
    world.run_until(1.0);
    assert_eq!(sizes(&world, 1), [ACK, ACK + 4, ACK, ACK]);
    let counts = world.machine(0).counts();
    assert_eq!((counts.blocks_sent, counts.blocks_repeated), (10, 1));
    assert_eq!(times(&world, 0, BLOCK).len(), 9);
    let burst_s = times(&world, 0, BLOCK)[4..9].to_vec();
    assert!(
        burst_s.iter().all(|at| (at - 0.040).abs() < 1e-9),
        "{burst_s:?}"
    );
}

#[test]
fn a_lost_last_block_repeats_the_whole_window_after_the_next_check() {
    for phase in 0..20 {
        let check_phase_s = f64::from(phase) * 0.05;
        let config = EvaConfig {
            check_phase_s,
            ..small()
        };
        let mut world = world(2, &config);
        world.rule = drop_all(vec![10]);
        world.transmit_at(0.0, 0, 1, parcel(0, 1, 800));
        world.run_until(5.0);
        let acks_s = times(&world, 1, ACK);
        // 50 ms is when the last of the other blocks came.
        let silence_s = acks_s[2] - 0.050;
        assert!(
            (0.15..=1.16).contains(&silence_s),
            "{check_phase_s}: {silence_s}"
        );
        let checks = (acks_s[2] - check_phase_s).fract();
        assert!(checks.min(1.0 - checks) < 1e-6, "found at a check only");
        assert_eq!(
            world.machine(0).counts().blocks_repeated,
            4,
            "the whole window"
        );
        assert_eq!(world.machine(1).counts().acknowledgements_repeated, 1);
        assert!(received_s(&world, 1).is_some());
    }
}

#[test]
fn checks_a_second_apart_make_150_ms_a_second() {
    let mut config = small();
    config.check_phase_s = 0.19;
    let mut world = world(2, &config);
    world.rule = drop_all(vec![10]);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 800));
    world.run_until(5.0);
    // The check at 190 ms comes 140 ms after the last block, ten too early.
    assert!((times(&world, 1, ACK)[2] - 1.19).abs() < 1e-9);
}

#[test]
fn two_repeated_acknowledgements_are_all() {
    let mut world = world(2, &small());
    world.rule = Box::new(|_, sent| match sent.bytes {
        BLOCK => Verdict::Drop,
        _ => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
    world.run_until(60.0);
    assert_eq!(times(&world, 1, ACK), [0.010, 1.0, 2.0]);
    assert_eq!(world.failed(0), [(parcel(0, 1, 0).id, Reason::IdleTimeout)]);
    // The sender heard the last of them at 2.010, so 12 s later is found at 15.
    let failed_s = world.arrivals[0].time_s;
    assert!((failed_s - 15.0).abs() < 1e-9, "{failed_s}");
    assert_eq!(world.machine(1).counts().incoming_timed_out, 1);
}

#[test]
fn a_late_block_does_not_begin_the_chain_anew() {
    let mut world = world(2, &small());
    world.rule = Box::new(|k, sent| match (k, sent.bytes) {
        (2, _) => Verdict::Later(3.5),
        (_, BLOCK) => Verdict::Drop,
        _ => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
    world.run_until(14.9);
    assert_eq!(world.machine(1).counts().acknowledgements_repeated, 2);
    assert!(
        world.machine(1).next_timeout().is_some(),
        "but it is a sign of life"
    );
    world.run_until(16.0);
    assert_eq!(world.machine(1).next_timeout(), None);
    assert_eq!(world.machine(1).counts().acknowledgements_repeated, 2);
}

#[test]
fn a_block_before_the_chain_ends_keeps_it_going() {
    let mut world = world(2, &small());
    // The last block of the first window is lost four times in a row.
    world.rule = drop_all(vec![5, 10, 15, 20]);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 400));
    world.run_until(60.0);
    assert_eq!(world.machine(1).counts().acknowledgements_repeated, 4);
    assert!((4.0..4.1).contains(&received_s(&world, 1).unwrap()));
}

#[test]
fn an_offer_is_repeated_until_the_first_window_is_acknowledged() {
    let master = EvaConfig {
        block_bytes: 100,
        window_blocks: 4,
        ..EvaConfig::master()
    };
    let offer = OFFER + 48;
    let mut nobody = world(2, &master);
    nobody.rule = Box::new(|_, _| Verdict::Drop);
    nobody.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
    nobody.run_until(60.0);
    assert_eq!(times(&nobody, 0, offer), [0.0, 2.0, 4.0, 6.0]);
    assert_eq!(nobody.arrivals[0].time_s, 20.0);
    // So far away that window 0 is under way for long.
    let mut far = World::new(2, 1.4, |_| Eva::new(&master));
    far.transmit_at(0.0, 0, 1, parcel(0, 1, 3000));
    far.run_until(60.0);
    assert_eq!(times(&far, 0, offer), [0.0, 2.0, 4.0], "also after ack 0");
    assert_eq!(far.machine(1).counts().offers_repeated, 2);
    assert!(received_s(&far, 1).is_some());
}

#[test]
fn a_message_whose_last_acknowledgement_is_lost_can_never_succeed() {
    let mut world = world(2, &small());
    world.rule = drop_all(vec![14]);
    for at in [0.0, 20.0, 40.0] {
        world.transmit_at(at, 0, 1, parcel(0, 1, 1000));
    }
    world.run_until(100.0);
    assert!(received_s(&world, 1).is_some(), "once");
    assert_eq!(
        world.failed(0),
        [(parcel(0, 1, 0).id, Reason::IdleTimeout); 3]
    );
    assert_eq!(world.machine(1).counts().offers_repeated, 2);
}

#[test]
fn what_waits_behind_a_timeout_waits_for_the_five_seconds() {
    let mut world = world(2, &small());
    world.rule = drop_all(vec![0]);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.transmit_at(0.0, 0, 1, parcel(0, 2, 100));
    world.run_until(60.0);
    assert_eq!(world.failed(0).len(), 1);
    assert_eq!(world.arrivals[0].time_s, 12.0);
    assert!((received_s(&world, 1).unwrap() - 15.030).abs() < 1e-9);
}

/// The blocks of the first window when the message has timed out `timeouts` times.
fn window_after(timeouts: u32) -> usize {
    let config = EvaConfig {
        window_blocks: 64,
        min_window_blocks: 16,
        ..small()
    };
    let mut world = world(2, &config);
    world.rule = Box::new(
        move |_, sent| match sent.time_s < f64::from(timeouts) * 20.0 {
            true => Verdict::Drop,
            false => Verdict::Pass,
        },
    );
    for k in 0..=timeouts {
        world.transmit_at(f64::from(k) * 20.0, 0, 1, parcel(0, 1, 10_000));
    }
    world.run_until(f64::from(timeouts) * 20.0 + 1.0);
    assert_eq!(world.failed(0).len(), timeouts as usize);
    assert!(received_s(&world, 1).is_some());
    let blocks_s = times(&world, 0, BLOCK);
    blocks_s.iter().filter(|at| **at == blocks_s[0]).count()
}

#[test]
fn the_window_shrinks_with_every_timeout() {
    assert_eq!(
        [0, 1, 2, 3, 4, 9].map(window_after),
        [64, 48, 32, 16, 16, 16]
    );
}

/// A transfer of one window of 600 blocks that loses its first `lost` blocks.
fn lossy(lost: usize, encryption: bool) -> EvaWorld {
    let config = EvaConfig {
        window_blocks: 600,
        encryption,
        ..small()
    };
    let mut world = world(2, &config);
    world.rule = Box::new(move |k, _| match (2..2 + lost).contains(&k) {
        true => Verdict::Drop,
        false => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 60_000));
    world.run_until(0.9);
    world
}

#[test]
fn a_list_of_lost_blocks_must_fit_into_a_datagram() {
    for (encryption, largest) in [(false, 322), (true, 310)] {
        let world = lossy(largest, encryption);
        assert!(received_s(&world, 1).is_some());
        let sizes = sizes(&world, 1);
        assert!((1469..=1472).contains(&sizes[1]), "{sizes:?}");
        let world = lossy(largest + 1, encryption);
        assert_eq!(received_s(&world, 1), None);
        assert_eq!(world.machine(1).counts().packets_oversized, 1);
    }
}

#[test]
fn a_list_that_does_not_fit_ends_the_transfer() {
    let mut world = lossy(323, false);
    world.run_until(60.0);
    let (sender, receiver) = (world.machine(0).counts(), world.machine(1).counts());
    assert_eq!(
        receiver.packets_oversized, 3,
        "two repetitions do not fit either"
    );
    assert_eq!(
        (sender.outgoing_timed_out, receiver.incoming_timed_out),
        (1, 1)
    );
    assert_eq!(world.failed(0), [(parcel(0, 1, 0).id, Reason::IdleTimeout)]);
    let rows = world.events.iter().map(|(_, _, event)| event);
    let drops = rows.filter(|event| event.kind == EventKind::Drop);
    let sizes: Vec<u32> = drops.map(|event| event.size_bytes).collect();
    assert_eq!(sizes, [183 + 4 * 323; 3]);
    world.transmit_at(60.0, 0, 1, parcel(0, 1, 60_000));
    world.run_until(61.0);
    assert!(
        received_s(&world, 1).is_some(),
        "the next try may be luckier"
    );
}

#[test]
fn the_original_lists_lost_blocks_as_text() {
    let config = EvaConfig {
        variant: Variant::Original,
        ..small()
    };
    let mut world = world(2, &config);
    world.rule = drop_all(vec![2, 4]);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 400));
    world.run_until(1.0);
    assert_eq!(
        sizes(&world, 1),
        [231, 231 + "[0, 2]".len() as u32, 231 + 2]
    );
    assert!(received_s(&world, 1).is_some());
}

#[test]
fn a_block_that_is_overtaken_counts_as_lost() {
    let mut world = world(2, &small());
    world.rule = Box::new(|k, _| match k {
        2 => Verdict::Later(0.001),
        _ => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 1000));
    world.run_until(1.0);
    assert_eq!(world.machine(0).counts().blocks_repeated, 1);
    assert!(received_s(&world, 1).unwrap() < 0.1);
}

/// Loses, delays and doubles datagrams, each with this many per cent.
fn faults(seed: u64, percent: u64) -> Rule {
    let mut state = seed | 1;
    Box::new(move |_, _| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let (chance, delay_s) = ((state >> 16) % 100, (state >> 40) as f64 % 64.0 * 0.05);
        match chance {
            c if c < percent => Verdict::Drop,
            c if c < 2 * percent => Verdict::Later(delay_s),
            c if c < 3 * percent => Verdict::Twice(delay_s),
            _ => Verdict::Pass,
        }
    })
}

fn config() -> impl Strategy<Value = EvaConfig> {
    let variant = prop_oneof![Just(Variant::Original), Just(Variant::Modified)];
    (variant, any::<bool>(), 1u32..40, 0u32..4, 0.0..1.0).prop_map(
        |(variant, encryption, window_blocks, write_request_retries, check_phase_s)| EvaConfig {
            variant,
            encryption,
            window_blocks,
            write_request_retries,
            check_phase_s,
            min_window_blocks: 1,
            ..small()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_message_has_a_fate_under_loss_disorder_and_repetition(
        seed in any::<u64>(), percent in 0u64..25, config in config(),
        messages in proptest::collection::vec((0u32..2, 1u32..6000), 1..6),
    ) {
        let mut world = world(2, &config);
        world.rule = faults(seed, percent);
        for (k, (from, bytes)) in (0u32..).zip(&messages) {
            world.transmit_at(f64::from(k) * 0.3, *from, 1 - from, parcel(*from, k, *bytes));
        }
        world.run_until(1000.0);
        for (k, (from, bytes)) in (0u32..).zip(&messages) {
            let sent = parcel(*from, k, *bytes);
            let fates = fates(&world, &sent);
            prop_assert!(fates.iter().sum::<usize>() >= 1, "{sent:?} is nowhere");
            prop_assert!(fates.iter().all(|count| *count <= 1), "{sent:?} has {fates:?}");
        }
        for node in [0, 1] {
            prop_assert_eq!(world.machine(node).next_timeout(), None);
        }
        prop_assert_eq!(world.pending(), 0);
    }
}

/// How often a message arrived whole at its receiver, and failed at its sender.
fn fates(world: &EvaWorld, sent: &Parcel) -> [usize; 2] {
    let sender = sent.id.origin();
    let receiver = NodeId(1 - sender.0);
    let received = Delivery::Received(sent.clone());
    let at = |node, wanted: &dyn Fn(&Delivery<Parcel>) -> bool| {
        let mine = world.arrivals.iter().filter(|arrival| arrival.node == node);
        mine.filter(|arrival| wanted(&arrival.delivery)).count()
    };
    let is_failure = |delivery: &Delivery<Parcel>| match delivery {
        Delivery::Failed { payload, .. } => payload == sent,
        Delivery::Received(_) => false,
    };
    [
        at(receiver, &|delivery| *delivery == received),
        at(sender, &is_failure),
    ]
}
