//! Contacts against their formula, alone and through the driver in a closed-form world.

use std::collections::BTreeMap;

use crate::common::{arrive, counter, meet, plan, reasons, times, trade, turn, Numbers, BLE};
use _engine::network::contacts::{Contacts, Passage};
use _engine::plan::{Access, Outage, Plan, Proximity, ProximityLink};
use pocketsim_protocols::contract::{EventKind, Reason};

/// Contacts of phones 0 and 1: when, for how long, on which of `links`.
fn contacts(links: &[ProximityLink], rows: &[(f64, f64, u32)]) -> Contacts {
    Contacts::new(Proximity {
        links: links.to_vec(),
        time_s: rows.iter().map(|row| row.0).collect(),
        duration_s: rows.iter().map(|row| row.1).collect(),
        phone_a: vec![1; rows.len()],
        phone_b: vec![0; rows.len()],
        link: rows.iter().map(|row| row.2).collect(),
    })
}

/// When a datagram is at the other end or the contact closes, and whether that cuts it.
type End = (f64, bool);

fn through(end_s: f64) -> End {
    (end_s, false)
}

/// Sends where the two must be in reach.
fn carry(contacts: &mut Contacts, from: u32, now: f64, wire_bytes: u32) -> End {
    let passage = pass(contacts, from, now, wire_bytes);
    (passage.end_s, passage.cut)
}

fn pass(contacts: &mut Contacts, from: u32, now: f64, wire_bytes: u32) -> Passage {
    assert!(contacts.join(from, 1 - from, now));
    contacts.carry(from, 1 - from, now, wire_bytes)
}

#[test]
fn a_datagram_waits_for_the_set_up_and_takes_size_over_rate_and_latency() {
    let mut of = contacts(&[BLE], &[(10.0, 20.0, 0)]);
    assert_eq!(carry(&mut of, 0, 10.0, 250), through(12.0 + 0.25 + 0.5));
    assert_eq!(carry(&mut of, 0, 20.0, 500), through(20.0 + 0.5 + 0.5));
}

#[test]
fn each_way_is_first_in_first_out_for_itself() {
    let mut of = contacts(&[BLE], &[(0.0, 100.0, 0)]);
    assert_eq!(carry(&mut of, 0, 5.0, 1000), through(6.5));
    assert_eq!(carry(&mut of, 0, 5.5, 100), through(6.6));
    assert_eq!(carry(&mut of, 1, 5.5, 100), through(6.1));
    assert_eq!(carry(&mut of, 0, 9.0, 100), through(9.6));
}

#[test]
fn what_is_not_through_when_the_contact_closes_is_cut_then() {
    let mut of = contacts(&[BLE], &[(0.0, 10.0, 0)]);
    assert_eq!(carry(&mut of, 0, 9.0, 500), through(10.0));
    assert_eq!(carry(&mut of, 1, 9.0, 501), (10.0, true));
}

#[test]
fn a_link_is_busy_with_a_datagram_only_while_the_contact_is_open() {
    let mut of = contacts(&[BLE, BLE], &[(0.0, 10.0, 1)]);
    let passages = [(8.0, 1500), (8.0, 1000), (9.0, 100)];
    let passages = passages.map(|(now, bytes)| pass(&mut of, 0, now, bytes));
    assert_eq!(passages.map(|passage| passage.busy_s), [1.5, 0.5, 0.0]);
    assert_eq!(passages.map(|passage| passage.link), [1; 3]);
}

#[test]
fn a_contact_is_open_from_its_time_to_before_its_end() {
    let mut of = contacts(&[BLE], &[(1.0, 2.0, 0), (5.0, 1.0, 0)]);
    let met = [0.999, 1.0, 2.999, 3.0, 4.999, 5.0, 6.0].map(|now| of.join(0, 1, now));
    assert_eq!(met, [false, true, true, false, false, true, false]);
    assert!(!contacts(&[BLE], &[(0.0, 9.0, 0)]).join(0, 2, 1.0));
}

#[test]
fn of_several_contacts_the_one_that_opened_first_carries() {
    let fast = ProximityLink {
        rate_bytes_per_s: 1e6,
        setup_s: 0.0,
        ..BLE
    };
    let mut of = contacts(
        &[BLE, fast],
        &[(0.0, 10.0, 1), (1.0, 19.0, 0), (2.0, 18.0, 1)],
    );
    assert_eq!(carry(&mut of, 0, 9.0, 1000), through(9.501));
    assert_eq!(carry(&mut of, 0, 11.0, 1000), through(12.5));
    // The two that are left close at once.
    assert!(!of.join(0, 1, 20.0));
}

#[test]
fn a_phone_that_goes_off_no_longer_keeps_its_way_busy() {
    let mut of = contacts(&[BLE], &[(0.0, 100.0, 0)]);
    carry(&mut of, 0, 5.0, 9000);
    carry(&mut of, 1, 5.0, 9000);
    of.silence(0, 6.0);
    assert_eq!(carry(&mut of, 0, 7.0, 100), through(7.6));
    assert_eq!(carry(&mut of, 1, 7.0, 100), through(14.6));
}

#[test]
fn every_datagram_ends_where_a_model_of_single_bytes_says() {
    // One byte per millisecond and way, as long as any is queued; 2^-10 s keep sums exact.
    let link = ProximityLink {
        rate_bytes_per_s: 1024.0,
        latency_s: 0.25,
        setup_s: 1.0,
        loss_ratio: 0.0,
        shares_air: false,
    };
    let mut of = contacts(&[link], &[(0.0, 60.0, 0)]);
    let mut next_free = BTreeMap::from([(0, 1024), (1, 1024)]);
    let mut numbers = Numbers(1);
    for tick in (0..40_000).step_by(97) {
        let state = numbers.draw();
        let (from, bytes) = (state >> 31, state >> 24 & 0x7f);
        let free = next_free.get_mut(&from).expect("both ways");
        (0..bytes).for_each(|_| *free = 1 + (*free).max(tick));
        let sent = if bytes == 0 { (*free).max(tick) } else { *free };
        let expected = through(f64::from(sent) / 1024.0 + 0.25);
        assert_eq!(
            carry(&mut of, from, f64::from(tick) / 1024.0, bytes),
            expected
        );
    }
}

/// A plan in which what is not carried by a contact is lost.
fn without_network() -> Plan {
    let mut plan = plan(2);
    plan.access[0].loss_ratio = 1.0;
    plan
}

#[test]
fn a_trade_in_a_contact_takes_its_two_ways() {
    let mut plan = without_network();
    meet(&mut plan, 10.0, 20.0, BLE);
    arrive(&mut plan, 11.0, 0, 1);
    let trace = trade(plan);
    let bytes = counter(&trace, "contact_bytes");
    assert!(bytes > 2 * 28);
    let back_s = 12.0 + bytes as f64 / 1000.0 + 2.0 * 0.5;
    assert!((times(&trace, EventKind::Store)[0] - back_s).abs() < 1e-9);
    assert_eq!(counter(&trace, "contact_datagrams"), 2);
    assert_eq!(counter(&trace, "access_bytes"), 0);
}

#[test]
fn bytes_are_counted_where_they_went() {
    let mut plan = plan(2);
    meet(&mut plan, 10.0, 20.0, BLE);
    arrive(&mut plan, 1.0, 0, 1);
    arrive(&mut plan, 11.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(times(&trace, EventKind::Store).len(), 2);
    let bytes = counter(&trace, "contact_bytes");
    assert!(bytes > 2 * 28);
    assert_eq!(counter(&trace, "access_bytes"), bytes);
}

#[test]
fn without_contacts_all_goes_over_access_networks() {
    let mut plan = plan(2);
    arrive(&mut plan, 1.0, 0, 1);
    let counters = trade(plan).counters();
    assert!(counters["access_bytes"] > 2 * 28);
    for name in ["contact_datagrams", "contact_bytes"] {
        assert_eq!(counters.get(name), None);
    }
}

#[test]
fn a_datagram_that_a_closing_contact_cuts_is_lost_on_the_link() {
    let mut plan = without_network();
    meet(&mut plan, 0.0, 2.5, BLE);
    arrive(&mut plan, 1.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::LinkLoss]);
    assert_eq!(times(&trace, EventKind::Drop), [2.5]);
}

#[test]
fn loss_on_a_contact_is_drawn_once_for_each_packet() {
    let mut plan = without_network();
    let lossy = ProximityLink {
        setup_s: 0.0,
        rate_bytes_per_s: 1e6,
        loss_ratio: 0.2,
        ..BLE
    };
    plan.duration_s = 3000.0;
    meet(&mut plan, 0.0, 3000.0, lossy);
    (0..2000).for_each(|number| arrive(&mut plan, f64::from(number), 0, 1));
    let trace = trade(plan);
    // There and back; standard error: sqrt(0.64 x 0.36 / 2000) = 0.011.
    let stored = times(&trace, EventKind::Store).len() as f64 / 2000.0;
    assert!((stored - 0.64).abs() < 0.04, "{stored}");
}

#[test]
fn what_a_phone_sends_when_it_goes_off_is_lost_with_that_reason() {
    let mut plan = without_network();
    meet(&mut plan, 0.0, 50.0, BLE);
    arrive(&mut plan, 1.0, 0, 1);
    turn(&mut plan, 2.1, 0, false);
    turn(&mut plan, 2.2, 0, true);
    let trace = trade(plan);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::SenderOff]);
}

#[test]
fn a_contact_does_not_reach_a_phone_that_is_off() {
    let mut plan = without_network();
    meet(&mut plan, 0.0, 50.0, BLE);
    turn(&mut plan, 0.5, 1, false);
    arrive(&mut plan, 1.0, 0, 1);
    let trace = trade(plan);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::ReceiverOff]);
    assert_eq!(counter(&trace, "contact_datagrams"), 0);
}

fn outage(access: u32) -> Outage {
    Outage {
        access,
        start_s: 10.0,
        end_s: 20.0,
    }
}

#[test]
fn an_outage_of_either_network_loses_what_is_sent_in_it() {
    for out in [0, 1] {
        let mut plan = plan(2);
        plan.access.push(Access {
            latency_s: 0.0,
            ..plan.access[0].clone()
        });
        plan.phones.access[1] = 1;
        plan.outages.push(outage(out));
        for at in [9.0, 10.0, 19.9, 20.0] {
            arrive(&mut plan, at, 0, 1);
        }
        let trace = trade(plan);
        assert_eq!(times(&trace, EventKind::Drop), [10.0, 19.9]);
        assert_eq!(reasons(&trace, EventKind::Drop), [Reason::LinkLoss; 2]);
        assert_eq!(times(&trace, EventKind::Store).len(), 2);
    }
}

#[test]
fn an_outage_of_another_network_or_with_a_contact_loses_nothing() {
    let mut plan = plan(2);
    plan.access.push(plan.access[0].clone());
    plan.outages.push(outage(1));
    arrive(&mut plan, 11.0, 0, 1);
    assert_eq!(times(&trade(plan.clone()), EventKind::Store).len(), 1);
    plan.outages.push(outage(0));
    meet(&mut plan, 10.0, 9.0, BLE);
    assert_eq!(times(&trade(plan), EventKind::Store).len(), 1);
}
