//! Energy against sums made by hand, alone and through the driver in a closed-form world.

mod common;

use std::collections::BTreeMap;

use _engine::energy::Accountant;
use _engine::plan::{Energy, Outage, Phones, Plan, Radio};
use common::{arrive, cost, meet, plan, trade_with_energy, turn, BLE};
use pocketsim_protocols::contract::Operation;

// Powers of two, so that sums are exact.
const RADIO: Radio = Radio {
    active_w: 8.0,
    up_per_byte_j: 0.0,
    down_per_byte_j: 0.0,
    tail_power_w: 2.0,
    tail_s: 4.0,
    promotion_j: 0.5,
};

/// Two persons on a network of 1024 bytes a second up and 2048 down.
fn priced(radio: Radio) -> Plan {
    let mut plan = plan(2);
    plan.access[0].up_bytes_per_s = 1024.0;
    plan.access[0].down_bytes_per_s = 2048.0;
    plan.energy = Some(Energy {
        core_w: 4.0,
        access: vec![radio],
        contact_w: vec![16.0],
    });
    plan
}

fn accountant(radio: Radio) -> Accountant {
    Accountant::new(&priced(radio)).expect("the plan asks for energy")
}

/// Active, tail and promotion of a radio.
fn access(spent_j: &BTreeMap<&'static str, f64>) -> [f64; 3] {
    ["access_active", "access_tail", "access_promotion"].map(|name| spent_j[name])
}

#[test]
fn one_datagram_wakes_the_radio_and_leaves_a_whole_tail() {
    let mut of = accountant(RADIO);
    of.send(0, 10.0, 512);
    assert_eq!(access(&of.spent_j(100.0)), [0.5 * 8.0, 4.0 * 2.0, 0.5]);
}

#[test]
fn two_within_a_tail_share_it() {
    let mut of = accountant(RADIO);
    of.send(0, 10.0, 512);
    // Active until 10.5, in its tail until 13.5, active until 14, in its tail until 18.
    of.send(0, 13.5, 512);
    assert_eq!(access(&of.spent_j(100.0)), [8.0, (3.0 + 4.0) * 2.0, 0.5]);
}

#[test]
fn two_apart_wake_the_radio_twice() {
    let mut of = accountant(RADIO);
    of.send(0, 10.0, 512);
    of.send(0, 15.0, 512);
    assert_eq!(access(&of.spent_j(100.0)), [8.0, 16.0, 1.0]);
}

#[test]
fn the_end_of_the_tail_still_belongs_to_it() {
    let mut of = accountant(RADIO);
    of.send(0, 10.0, 512);
    of.send(0, 14.5, 512);
    assert_eq!(access(&of.spent_j(100.0)), [8.0, 16.0, 0.5]);
}

#[test]
fn datagrams_at_once_follow_each_other() {
    let mut of = accountant(RADIO);
    (0..3).for_each(|_| of.send(0, 10.0, 512));
    // Active until 11.5; at 12.5 a second of the tail is over.
    assert_eq!(access(&of.spent_j(12.5)), [1.5 * 8.0, 2.0, 0.5]);
}

#[test]
fn what_is_received_ends_when_it_is_there() {
    let mut of = accountant(RADIO);
    of.send(0, 10.0, 1024);
    // From 12 to 12.5: the tail lasted from 11 to 12.
    of.receive(0, 12.5, 1024);
    assert_eq!(access(&of.spent_j(12.5)), [8.0 + 0.5 * 8.0, 1.0 * 2.0, 0.5]);
}

#[test]
fn bytes_cost_what_their_way_says() {
    let radio = Radio {
        active_w: 0.0,
        up_per_byte_j: 0.25,
        down_per_byte_j: 0.125,
        tail_s: 0.0,
        ..RADIO
    };
    let mut of = accountant(radio);
    of.send(0, 1.0, 16);
    of.receive(1, 1.0, 16);
    assert_eq!(access(&of.spent_j(100.0)), [6.0, 0.0, 1.0]);
}

#[test]
fn a_radio_without_a_tail_wakes_for_all_that_comes_later() {
    let mut of = accountant(Radio {
        tail_s: 0.0,
        ..RADIO
    });
    of.send(0, 10.0, 512);
    of.send(0, 10.5, 512);
    of.send(0, 11.25, 512);
    assert_eq!(access(&of.spent_j(100.0)), [12.0, 0.0, 1.0]);
}

#[test]
fn a_phone_that_goes_off_cuts_its_tail_and_sleeps() {
    let mut of = accountant(RADIO);
    of.send(0, 10.0, 512);
    of.switch_off(0, 11.5);
    of.send(0, 12.0, 512);
    assert_eq!(access(&of.spent_j(12.5)), [8.0, 2.0, 1.0]);
}

#[test]
fn radios_of_two_phones_know_nothing_of_each_other() {
    let mut of = accountant(RADIO);
    of.send(0, 10.0, 512);
    of.send(1, 11.0, 512);
    assert_eq!(access(&of.spent_j(100.0)), [8.0, 16.0, 1.0]);
}

#[test]
fn a_contact_and_a_core_cost_their_time() {
    let mut of = accountant(RADIO);
    of.meet([0, 1], 0, 0.25);
    of.compute(1, 3.0);
    let spent_j = of.spent_j(100.0);
    assert_eq!((spent_j["contact"], spent_j["cpu"]), (2.0 * 4.0, 12.0));
    assert_eq!(access(&spent_j), [0.0; 3]);
}

#[test]
fn the_authority_has_no_account_and_a_shop_has() {
    let mut plan = priced(RADIO);
    plan.phones.role = vec![Phones::AUTHORITY, Phones::SHOP];
    let mut of = Accountant::new(&plan).expect("the plan asks for energy");
    let do_all = |of: &mut Accountant, phone| {
        of.compute(phone, 1.0);
        of.send(phone, 10.0, 512);
        of.receive(phone, 50.0, 512);
        of.switch_off(phone, 60.0);
    };
    do_all(&mut of, 0);
    assert_eq!(of.spent_j(100.0).values().sum::<f64>(), 0.0);
    of.meet([0, 1], 0, 0.25);
    assert_eq!(of.spent_j(100.0).values().sum::<f64>(), 4.0);
    do_all(&mut of, 1);
    let one = 4.0 + 4.0 + (4.0 + 2.0) + 2.0 * 8.0 + 2.0 * 0.5;
    assert_eq!(of.spent_j(100.0).values().sum::<f64>(), one);
}

#[test]
fn a_plan_that_does_not_ask_has_no_accounts() {
    let mut plan = plan(2);
    arrive(&mut plan, 1.0, 0, 1);
    assert!(Accountant::new(&plan).is_none());
    assert!(trade_with_energy(plan).1.is_empty());
}

/// What trades of `plan` cost, and the bytes of one datagram.
fn spend(plan: Plan) -> (BTreeMap<&'static str, f64>, f64) {
    let (trace, spent_j) = trade_with_energy(plan);
    let counters = trace.counters();
    let bytes = ["contact_bytes", "access_bytes"].map(|name| counters.get(name).unwrap_or(&0));
    let datagrams = counters["datagrams_sent"];
    (spent_j, (bytes[0] + bytes[1]) as f64 / datagrams as f64)
}

fn close(left: f64, right: f64) {
    assert!((left - right).abs() < 1e-9, "{left} {right}");
}

#[test]
fn a_trade_over_access_networks_costs_both_ends_both_ways() {
    let mut plan = priced(RADIO);
    // A contact that nobody uses, so that bytes are counted.
    meet(&mut plan, 90.0, 1.0, BLE);
    arrive(&mut plan, 10.0, 0, 1);
    let (spent_j, bytes) = spend(plan);
    let each_s = bytes / 1024.0 + bytes / 2048.0;
    close(spent_j["access_active"], 2.0 * each_s * 8.0);
    assert_eq!(spent_j["access_promotion"], 1.0);
    assert_eq!(spent_j["contact"], 0.0);
    // A whole tail each, and what little lies between the two ways.
    assert!(
        (16.0..16.1).contains(&spent_j["access_tail"]),
        "{spent_j:?}"
    );
}

#[test]
fn a_trade_in_a_contact_costs_its_air_at_both_ends() {
    let mut plan = priced(RADIO);
    meet(&mut plan, 10.0, 20.0, BLE);
    arrive(&mut plan, 11.0, 0, 1);
    let (spent_j, bytes) = spend(plan);
    close(spent_j["contact"], 2.0 * 2.0 * bytes / 1000.0 * 16.0);
    assert_eq!(access(&spent_j), [0.0; 3]);
}

#[test]
fn operations_cost_their_core_seconds() {
    let mut plan = priced(RADIO);
    cost(&mut plan, Operation::UdpSend, 0.25);
    cost(&mut plan, Operation::UdpReceive, 0.5);
    arrive(&mut plan, 10.0, 0, 1);
    close(spend(plan).0["cpu"], 2.0 * (0.25 + 0.5) * 4.0);
}

#[test]
fn what_no_network_carries_costs_nothing_and_what_is_lost_costs_its_sender() {
    let mut out = priced(RADIO);
    out.outages.push(Outage {
        access: 0,
        start_s: 0.0,
        end_s: 50.0,
    });
    arrive(&mut out, 10.0, 0, 1);
    assert_eq!(access(&spend(out).0), [0.0; 3]);
    let mut lossy = priced(RADIO);
    lossy.access[0].loss_ratio = 1.0;
    arrive(&mut lossy, 10.0, 0, 1);
    assert_eq!(spend(lossy).0["access_promotion"], 0.5);
}

#[test]
fn a_phone_that_goes_off_in_a_run_cuts_its_tail() {
    let [later_j, sooner_j] = [13.0, 12.0].map(|off_s| {
        let mut plan = priced(RADIO);
        arrive(&mut plan, 10.0, 0, 1);
        turn(&mut plan, off_s, 0, false);
        turn(&mut plan, off_s, 1, false);
        spend(plan).0["access_tail"]
    });
    // A second of both tails.
    close(later_j - sooner_j, 2.0 * 2.0);
}
