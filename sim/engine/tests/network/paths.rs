//! What a way adds beyond its links: the backbone, the relay, jitter, loss of fragments, outages.

use crate::common::puppet::{act_in, say, send, Cue};
use crate::common::{ask, counter, meet, plan, reasons, times, Closed, BYTES_PER_S, LATENCY_S};
use _engine::plan::{Outage, Plan, ProximityLink};
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{EventKind, Path, Reason};

const BYTES: u32 = 972; // 1000 with its headers
const LINKS_S: f64 = LATENCY_S + 1000.0 / BYTES_PER_S;

/// Phone 0 sends what it is asked for to phone 1, which says how much it got.
fn carry(plan: Plan, path: Path) -> Trace {
    act_in(Closed::default(), path, plan, |_, cue| match cue {
        Cue::Asked(bytes) => vec![send(1, bytes, bytes)],
        Cue::Got(parcel) => vec![say(parcel.bytes)],
        Cue::Failed(_) => vec![],
    })
}

fn one() -> Plan {
    let mut plan = plan(2);
    plan.backbone.latency_s = 0.5;
    plan.backbone.relay_latency_s = 2.0;
    plan.sites.capacity_bytes_per_s.push(0.0);
    ask(&mut plan, 1.0, BYTES);
    plan
}

/// A contact's link that is ready at once and loses nothing.
fn link(rate_bytes_per_s: f64, latency_s: f64) -> ProximityLink {
    ProximityLink {
        rate_bytes_per_s,
        latency_s,
        setup_s: 0.0,
        loss_ratio: 0.0,
        shares_air: false,
    }
}

/// How long the datagram takes beyond its links.
fn beyond_s(plan: Plan, path: Path) -> f64 {
    times(&carry(plan, path), EventKind::Take)[0] - 1.0 - LINKS_S
}

fn assert_close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-9, "{left} is not {right}");
}

#[test]
fn the_backbone_lies_between_sites_only() {
    let mut plan = one();
    assert_close(beyond_s(plan.clone(), Path::Direct), 0.0);
    plan.phones.site[1] = 1;
    assert_close(beyond_s(plan, Path::Direct), 0.5);
}

#[test]
fn the_relay_is_two_ways_from_any_site() {
    for site in [0, 1] {
        let mut plan = one();
        plan.phones.site[1] = site;
        assert_close(beyond_s(plan, Path::Relay), 4.0);
    }
}

#[test]
fn jitter_of_both_networks_adds_up() {
    let mut plan = one();
    plan.access.push(plan.access[0].clone());
    plan.phones.access[1] = 1;
    plan.access[0].jitter_median_s = 0.25;
    plan.access[1].jitter_median_s = 0.125;
    assert_close(beyond_s(plan, Path::Direct), 0.375);
}

#[test]
fn a_relayed_datagram_takes_no_contact() {
    let mut plan = one();
    meet(&mut plan, 0.0, 50.0, link(1e6, 0.0));
    let [relayed, direct] = [Path::Relay, Path::Direct].map(|path| carry(plan.clone(), path));
    assert_eq!(counter(&relayed, "contact_bytes"), 0);
    assert_eq!(counter(&relayed, "access_bytes"), 1000);
    assert_eq!(counter(&direct, "contact_bytes"), 1000);
    assert_eq!(counter(&direct, "access_bytes"), 0);
}

#[test]
fn a_contact_that_opens_later_takes_nothing_back() {
    let mut plan = one();
    plan.access[0].jitter_median_s = 1.0;
    meet(&mut plan, 1.5, 50.0, link(1e6, 0.25));
    ask(&mut plan, 2.0, 10);
    let trace = carry(plan, Path::Direct);
    // What is on the network still arrives over it, after what took the contact.
    assert_eq!(trace.columns.size_bytes, [10, BYTES]);
}

#[test]
fn what_left_before_an_outage_arrives_in_it() {
    let mut plan = one();
    plan.access[0].jitter_median_s = 1.0;
    plan.outages.push(Outage {
        access: 0,
        start_s: 1.5,
        end_s: 10.0,
    });
    ask(&mut plan, 1.5, BYTES);
    let trace = carry(plan, Path::Direct);
    assert_eq!(times(&trace, EventKind::Drop), [1.5]);
    assert_close(times(&trace, EventKind::Take)[0], 3.0 + LINKS_S);
}

#[test]
fn an_outage_stops_the_relay_too() {
    let mut plan = one();
    plan.outages.push(Outage {
        access: 0,
        start_s: 0.0,
        end_s: 10.0,
    });
    let trace = carry(plan, Path::Relay);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::LinkLoss]);
    assert_eq!(counter(&trace, "access_bytes"), 0);
}

#[test]
fn what_a_contact_has_not_sent_when_it_closes_ends_with_it() {
    let mut plan = plan(2);
    meet(&mut plan, 0.0, 3.5, link(1000.0, 0.25));
    (0..5).for_each(|_| ask(&mut plan, 1.0, BYTES));
    let trace = carry(plan, Path::Direct);
    // A second each: out at 2, 3, 4, ... of which the second arrives at 3.25.
    assert_eq!(times(&trace, EventKind::Take), [2.25, 3.25]);
    assert_eq!(times(&trace, EventKind::Drop), [3.5; 3]);
    // The third was on the air for half a second; the rest never were.
    assert_eq!(counter(&trace, "contact_datagrams"), 3);
}

#[test]
fn what_is_sent_after_a_contact_goes_over_the_network_again() {
    let mut plan = one();
    meet(&mut plan, 0.0, 2.0, link(1e6, 0.25));
    for time_s in [1.99, 2.0] {
        ask(&mut plan, time_s, BYTES);
    }
    let trace = carry(plan, Path::Direct);
    // The second is cut when they part; the third leaves at that moment.
    assert_eq!(times(&trace, EventKind::Drop), [2.0]);
    assert_eq!(counter(&trace, "access_bytes"), 1000);
    assert_eq!(times(&trace, EventKind::Take).len(), 2);
}

#[test]
fn a_datagram_is_lost_with_any_of_its_packets() {
    for (bytes, packets) in [(100, 1), (1473, 2), (6000, 5)] {
        let mut plan = plan(2);
        plan.access[0].loss_ratio = 0.05;
        for number in 0..10_000 {
            ask(&mut plan, f64::from(number) * 0.005, bytes);
        }
        let trace = carry(plan, Path::Direct);
        let arrived = counter(&trace, "datagrams_delivered") as f64 / 10_000.0;
        let expected = 0.95_f64.powi(2 * packets);
        // Four standard errors of at most 0.005.
        assert!((arrived - expected).abs() < 0.02, "{arrived} of {expected}");
    }
}

#[test]
fn headers_are_counted_for_what_is_lost_as_well() {
    let mut plan = one();
    plan.access[0].loss_ratio = 1.0;
    let trace = carry(plan, Path::Direct);
    assert_eq!(counter(&trace, "access_bytes"), 1000);
    assert_eq!(counter(&trace, "link_loss"), 1);
}
