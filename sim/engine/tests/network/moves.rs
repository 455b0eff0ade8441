//! Phones that change their access network: what is under way then, and what comes after.

use std::collections::BTreeMap;

use crate::common::puppet::{act_with_energy, say, send, Cue};
use crate::common::{arrive, counter, plan, reasons, times, BYTES_PER_S, LATENCY_S};
use _engine::plan::{Energy, Moves, Plan, Radio, States};
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{EventKind, Reason, Seconds};

type Joules = BTreeMap<&'static str, f64>;

const BYTES: u32 = 972; // 1000 with its headers
const SLOW_S: Seconds = 0.5;

/// Two phones, and a second network with ten times the rate and a latency of its own, at which
/// phone 1 is from 10 s on, and again from 30 s after the first from 20 s.
fn moving(interruption_s: Seconds) -> Plan {
    let mut plan = plan(2);
    plan.duration_s = 100.0;
    let mut other = plan.access[0].clone();
    other.up_bytes_per_s *= 10.0;
    other.down_bytes_per_s *= 10.0;
    other.latency_s = SLOW_S;
    plan.access.push(other);
    plan.sites.capacity_bytes_per_s.push(0.0);
    plan.phones.site = vec![0, 0];
    plan.moves = Some(Moves {
        phone: vec![1],
        access: vec![1],
        site: vec![1],
        mcs: vec![],
        nat_class: vec![],
        time_s: vec![10.0, 20.0, 30.0],
        interruption_s: vec![interruption_s; 3],
        attachment: vec![2, 1, 2],
    });
    plan
}

/// Phones send to each other at these dates and say what they get.
fn carry(plan: Plan, asked: &[(Seconds, u32)]) -> Trace {
    carry_with_energy(plan, asked).0
}

/// The same, and the joules of it by component.
fn carry_with_energy(mut plan: Plan, asked: &[(Seconds, u32)]) -> (Trace, Joules) {
    for (number, &(date, from)) in (0..).zip(asked) {
        arrive(&mut plan, date, from, 1 - from);
        plan.workload.payload_bytes[number] = number as u32;
    }
    act_with_energy(plan, |node, cue| match cue {
        Cue::Asked(number) => vec![send(1 - node, number, BYTES)],
        Cue::Got(parcel) => vec![say(parcel.number)],
        Cue::Failed(_) => vec![],
    })
}

fn near(one: Seconds, other: Seconds) -> bool {
    (one - other).abs() < 1e-9
}

#[test]
fn a_phone_has_rate_and_latency_of_the_network_that_it_is_at() {
    let trace = carry(moving(0.0), &[(5.0, 1), (15.0, 1), (25.0, 1), (35.0, 0)]);
    let radio_s = 1000.0 / BYTES_PER_S;
    let old_s = LATENCY_S + 2.0 * radio_s;
    let new_s = LATENCY_S / 2.0 + SLOW_S + 1.1 * radio_s;
    let expected = [5.0 + old_s, 15.0 + new_s, 25.0 + old_s, 35.0 + new_s];
    for (got, expected) in times(&trace, EventKind::Take).iter().zip(expected) {
        assert!(near(*got, expected), "{got} instead of {expected}");
    }
    assert_eq!(counter(&trace, "datagrams_delivered"), 4);
    assert_eq!(counter(&trace, "network_changes"), 3);
}

#[test]
fn what_comes_to_the_network_that_was_left_is_lost() {
    // On its way when phone 1 leaves; sent while that has no network; sent when it has another.
    let trace = carry(moving(2.0), &[(9.999, 0), (11.0, 0), (12.5, 0)]);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::Moved; 2]);
    assert_eq!(times(&trace, EventKind::Take).len(), 1);
    assert_eq!(counter(&trace, "moved"), 2);
}

#[test]
fn what_has_not_left_a_radio_is_lost_with_its_network() {
    // Ten datagrams, of a tenth of a second each at a hundredth of the rate: three are out by then.
    let mut plan = moving(0.0);
    plan.access[0].up_bytes_per_s = 10_000.0;
    let trace = carry(plan, &[(9.65, 1); 10]);
    assert_eq!(times(&trace, EventKind::Take).len(), 3);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::Moved; 7]);
}

#[test]
fn a_phone_without_a_network_sends_nothing() {
    let trace = carry(moving(2.0), &[(11.0, 1), (12.5, 1)]);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::Moved]);
    assert!(near(times(&trace, EventKind::Drop)[0], 11.0));
}

#[test]
fn a_phone_that_leaves_again_goes_to_the_later_network() {
    // It leaves the first at 10 s for 15 s, and at 20 s for the network that it had.
    let mut plan = moving(15.0);
    let moves = plan.moves.as_mut().expect("given");
    for column in [&mut moves.time_s, &mut moves.interruption_s] {
        column.truncate(2);
    }
    moves.attachment.truncate(2);
    let trace = carry(plan, &[(30.0, 1), (40.0, 1)]);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::Moved]);
    let radio_s = 1000.0 / BYTES_PER_S;
    assert!(near(
        times(&trace, EventKind::Take)[0],
        40.0 + LATENCY_S + 2.0 * radio_s
    ));
}

#[test]
fn on_shared_air_what_waits_is_lost_and_others_get_its_share() {
    let mut plan = moving(0.0);
    plan.sites.capacity_bytes_per_s[0] = 10_000.0;
    // Each takes 0.2 s while both send, and 0.1 s once phone 1 has gone.
    let asked: Vec<_> = (0..8).map(|number| (9.5, u32::from(number >= 4))).collect();
    let trace = carry(plan, &asked);
    let moved = reasons(&trace, EventKind::Drop);
    assert!(moved.iter().all(|&reason| reason == Reason::Moved));
    assert!(counter(&trace, "moved") > 0);
    let all = counter(&trace, "datagrams_delivered") + counter(&trace, "moved");
    assert_eq!(all, 8);
}

#[test]
fn what_was_cut_holds_up_nothing_on_the_new_network() {
    // Twenty datagrams of a tenth of a second each; jitter gives ways an order.
    let mut plan = moving(0.0);
    plan.access[0].up_bytes_per_s = 10_000.0;
    for access in &mut plan.access {
        (access.jitter_median_s, access.jitter_sigma) = (1e-4, 0.1);
    }
    let asked: Vec<_> = [(9.95, 1); 20].into_iter().chain([(10.1, 1)]).collect();
    let trace = carry(plan, &asked);
    let last_s = times(&trace, EventKind::Take).last().copied();
    assert!(
        last_s.is_some_and(|at| at < 10.1 + SLOW_S + 0.1),
        "{last_s:?}"
    );
    assert_eq!(counter(&trace, "moved"), 20);
}

#[test]
fn joules_are_taken_back_from_the_network_that_never_spent_them() {
    let radio = |up_per_byte_j| Radio {
        active_w: 0.0,
        up_per_byte_j,
        down_per_byte_j: 0.0,
        tail_s: 0.0,
        tail_power_w: 0.0,
        promotion_j: 0.0,
    };
    let mut plan = moving(0.0);
    plan.access[0].up_bytes_per_s = 10_000.0;
    plan.energy = Some(Energy {
        core_w: 0.0,
        access: vec![radio(1.0), radio(0.0)],
        contact_w: vec![],
    });
    // Ten are given to the radio, and three are out.
    let (_, spent_j) = carry_with_energy(plan, &[(9.65, 1); 10]);
    assert!(
        (spent_j["access_active"] - 3000.0).abs() < 1e-6,
        "{spent_j:?}"
    );
}

#[test]
fn a_network_blocks_those_who_have_moved_there() {
    for (blocks, lost) in [([false, true], 0), ([true, false], 9)] {
        let mut plan = moving(0.0);
        for (access, blocks) in plan.access.iter_mut().zip(blocks) {
            (access.blocks, access.up_queue_bytes) = (blocks, Some(1000.0));
        }
        let trace = carry(plan, &[(15.0, 1); 10]);
        assert_eq!(counter(&trace, "queue_full"), lost);
        assert_eq!(counter(&trace, "datagrams_delivered"), 10 - lost);
    }
}

#[test]
fn what_the_old_network_sends_again_comes_too_late() {
    let mut plan = moving(2.0);
    plan.access[0].states = Some(States {
        promotion_s: 0.0,
        inactivity_timer_s: 100.0,
        drx_cycle_s: 0.0,
        on_duration_s: 0.0,
        drx_inactivity_timer_s: 0.0,
        paging_cycle_s: 0.0,
        sr_periodicity_s: 0.0,
        grant_delay_s: 0.0,
        bler: 0.9,
        harq_delay_s: 0.1,
    });
    let trace = carry(plan, &[(9.9, 0); 50]);
    let last_s = times(&trace, EventKind::Take).last().copied();
    assert!(last_s.is_none_or(|at| at < 10.0), "{last_s:?}");
    assert!(counter(&trace, "moved") > 0);
}
