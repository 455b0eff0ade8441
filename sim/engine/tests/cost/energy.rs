//! Energy against sums made by hand, alone and through the driver in a closed-form world.

use std::collections::BTreeMap;

use crate::common::puppet::{act_with_energy, send, Act, Cue};
use crate::common::sends::{arrivals, simulated_with_energy};
use crate::common::{arrive, ask, cost, counter, meet, plan, trade_with_energy, turn, BLE};
use _engine::plan::{Energy, Outage, Phones, Plan, Radio, States, Wifi};
use _engine::record::energy::{Accountant, Wake};
use _engine::record::trace::Trace;
use _engine::resources::radio::Direction;
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
fn each_direction_counts_for_itself() {
    let mut of = accountant(RADIO);
    // Up from 10 to 11, down from 10.5 to 10.75; a tail of a second from 11 on.
    of.send(0, 10.0, 1024);
    of.receive(0, 10.75, 512);
    assert_eq!(access(&of.spent_j(12.0)), [1.25 * 8.0, 1.0 * 2.0, 0.5]);
}

#[test]
fn what_is_not_sent_when_a_phone_goes_off_costs_no_time() {
    let mut of = accountant(RADIO);
    (0..3).for_each(|_| of.send(0, 10.0, 512));
    of.switch_off(0, 10.75);
    assert_eq!(access(&of.spent_j(100.0)), [0.75 * 8.0, 0.0, 0.5]);
    // Nor does it keep anything waiting after that.
    of.send(0, 11.0, 512);
    assert_eq!(access(&of.spent_j(11.75)), [1.25 * 8.0, 0.25 * 2.0, 1.0]);
}

#[test]
fn nothing_costs_less_than_nothing_where_dates_are_rounded() {
    for tenths in 1..1000 {
        let now = f64::from(tenths) / 10.0;
        let mut of = accountant(Radio {
            active_w: 1.0,
            ..RADIO
        });
        of.send(0, now, 7);
        of.switch_off(0, now);
        let [active_j, ..] = access(&of.spent_j(200.0));
        assert!((0.0..1e-12).contains(&active_j), "{now}: {active_j}");
    }
}

#[test]
fn what_is_not_sent_when_a_run_ends_costs_no_time() {
    let mut of = accountant(RADIO);
    (0..3).for_each(|_| of.send(0, 10.0, 512));
    assert_eq!(access(&of.spent_j(10.75)), [0.75 * 8.0, 0.0, 0.5]);
    assert_eq!(access(&of.spent_j(11.5)), [1.5 * 8.0, 0.0, 0.5]);
}

#[test]
fn on_shared_air_each_is_active_from_head_to_out() {
    let mut of = accountant(RADIO);
    of.queue(0, Direction::Up, 10.0);
    of.queue(0, Direction::Up, 10.25);
    of.leave(0, Direction::Up, 11.0, Some(512));
    of.leave(0, Direction::Up, 13.0, Some(512));
    assert_eq!(access(&of.spent_j(14.0)), [3.0 * 8.0, 1.0 * 2.0, 0.5]);
    // Its tail is over at 17, and it wakes.
    of.queue(0, Direction::Down, 18.0);
    of.leave(0, Direction::Down, 18.5, Some(512));
    assert_eq!(access(&of.spent_j(100.0)), [3.5 * 8.0, 8.0 * 2.0, 1.0]);
}

#[test]
fn the_tail_begins_when_the_last_is_off_the_shared_air() {
    let mut of = accountant(RADIO);
    of.queue(0, Direction::Up, 10.0);
    of.queue(0, Direction::Down, 10.5);
    of.leave(0, Direction::Up, 11.0, Some(512));
    assert_eq!(access(&of.spent_j(11.75)), [1.0 * 8.0, 0.0, 0.5]);
    // It was lost, and took the air all the same.
    of.leave(0, Direction::Down, 12.0, None);
    assert_eq!(access(&of.spent_j(13.0)), [1.0 * 8.0, 1.0 * 2.0, 0.5]);
}

#[test]
fn a_phone_that_goes_off_on_shared_air_has_paid_for_what_it_was_sending() {
    let mut of = accountant(RADIO);
    of.queue(0, Direction::Up, 10.0);
    of.queue(0, Direction::Up, 10.0);
    of.queue(0, Direction::Down, 10.5);
    assert_eq!(access(&of.spent_j(10.75)), [0.75 * 8.0, 0.0, 0.5]);
    of.switch_off(0, 10.75);
    assert_eq!(access(&of.spent_j(100.0)), [0.75 * 8.0, 0.0, 0.5]);
    of.queue(0, Direction::Up, 20.0);
    of.leave(0, Direction::Up, 20.25, Some(256));
    assert_eq!(access(&of.spent_j(20.25)), [1.0 * 8.0, 0.0, 1.0]);
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

/// What it costs when phone 0, asked for bytes with all headers, sends them to phone 1.
fn carry(plan: Plan) -> (Trace, BTreeMap<&'static str, f64>) {
    const HEADERS_BYTES: u32 = 28;
    act_with_energy(plan, |_, cue| -> Vec<Act> {
        match cue {
            Cue::Asked(bytes) => vec![send(1, bytes, bytes - HEADERS_BYTES)],
            Cue::Got(_) | Cue::Failed(_) => vec![],
        }
    })
}

/// Two phones, each on a site of its own with so many bytes a second, 0 for no limit.
fn on_sites(capacity_bytes_per_s: f64) -> Plan {
    let mut plan = priced(Radio {
        up_per_byte_j: 0.25,
        ..RADIO
    });
    plan.access[0].latency_s = 0.125;
    plan.sites.capacity_bytes_per_s = vec![capacity_bytes_per_s; 2];
    plan.phones.site[1] = 1;
    plan
}

/// Of a radio of its own, of air with room for it, and of air that halves its rates.
const CAPACITIES_BYTES_PER_S: [f64; 3] = [0.0, 4096.0, 512.0];

#[test]
fn air_costs_the_time_that_it_takes() {
    for (capacity, longer) in CAPACITIES_BYTES_PER_S.into_iter().zip([1.0, 1.0, 2.0]) {
        let mut plan = on_sites(capacity);
        (0..2).for_each(|_| ask(&mut plan, 10.0, 512));
        let (trace, spent_j) = carry(plan);
        let (up_s, down_s) = (longer, if capacity == 512.0 { 2.0 } else { 0.5 });
        let active_j = (up_s + down_s) * 8.0 + 1024.0 * 0.25;
        // Down the two are half a second apart, a quarter of it silent, where radios are as fast.
        let silent_s = if capacity == 512.0 { 0.0 } else { 0.25 };
        let tails_j = (4.0 + 4.0 + silent_s) * 2.0;
        assert_eq!(access(&spent_j), [active_j, tails_j, 1.0], "{capacity}");
        assert_eq!(counter(&trace, "access_bytes"), 1024);
    }
}

#[test]
fn two_on_one_air_take_twice_as_long_each() {
    let mut plan = on_sites(1024.0);
    plan.phones.site[1] = 0;
    plan.access[0].latency_s = 0.0;
    (0..2).for_each(|_| ask(&mut plan, 10.0, 512));
    let (_, spent_j) = carry(plan);
    // The first goes up alone and comes down beside the second, at half the rate; then the second
    // comes down alone.
    let active_j = (0.5 + 1.0 + 1.0 + 0.5) * 8.0 + 1024.0 * 0.25;
    assert_eq!(access(&spent_j), [active_j, 8.0 * 2.0, 1.0]);
}

#[test]
fn what_is_cut_off_costs_its_time_on_the_air_and_no_bytes() {
    for capacity in CAPACITIES_BYTES_PER_S {
        // Out at 10.5, 11, 11.5, 12; at half the rate at 11, 12, 13, 14.
        let (sent, out_s) = if capacity == 512.0 {
            (0, 0.75)
        } else {
            (1, 0.75)
        };
        let mut plan = on_sites(capacity);
        (0..4).for_each(|_| ask(&mut plan, 10.0, 512));
        turn(&mut plan, 10.75, 0, false);
        turn(&mut plan, 10.875, 0, true);
        let (trace, spent_j) = carry(plan);
        let sent_bytes = 512 * sent;
        assert_eq!(counter(&trace, "access_bytes"), sent_bytes, "{capacity}");
        assert_eq!(counter(&trace, "sender_off"), 4 - sent, "{capacity}");
        let down_s = sent as f64 * 0.25;
        let active_j = (out_s + down_s) * 8.0 + sent_bytes as f64 * 0.25;
        let tails_j = sent as f64 * 4.0 * 2.0;
        let promotions_j = 0.5 + sent as f64 * 0.5;
        assert_eq!(access(&spent_j), [active_j, tails_j, promotions_j]);
    }
}

#[test]
fn what_is_cut_off_late_is_taken_back_though_the_run_ends_before_it_is_missed() {
    for off_s in [None, Some(10.75)] {
        let mut plan = on_sites(0.0);
        plan.duration_s = 10.75;
        (0..4).for_each(|_| ask(&mut plan, 10.0, 512));
        if let Some(off_s) = off_s {
            turn(&mut plan, off_s, 0, false);
        }
        let (trace, spent_j) = carry(plan);
        assert_eq!(counter(&trace, "access_bytes"), 512);
        let active_j = 0.75 * 8.0 + 512.0 * 0.25;
        assert_eq!(access(&spent_j), [active_j, 0.0, 0.5]);
    }
}

/// Two networks and two kinds of link, with prices of their own; phone 1 is on the second network.
fn two_networks() -> Plan {
    let mut plan = priced(RADIO);
    let mut second = plan.access[0].clone();
    (second.up_bytes_per_s, second.down_bytes_per_s) = (512.0, 512.0);
    plan.access.push(second);
    plan.phones.access[1] = 1;
    let prices = plan.energy.as_mut().expect("it has prices");
    prices.contact_w.push(32.0);
    prices.access.push(Radio {
        active_w: 1.0,
        up_per_byte_j: 0.25,
        down_per_byte_j: 0.125,
        tail_power_w: 0.5,
        tail_s: 2.0,
        promotion_j: 4.0,
    });
    plan
}

#[test]
fn each_network_and_kind_of_link_has_its_own_joules() {
    let mut of = Accountant::new(&two_networks()).expect("the plan asks for energy");
    of.compute(0, 0.5);
    of.compute(1, 0.25);
    of.meet([0, 1], 1, 0.125);
    // Half a second up on the first; on the second a second down, a tail, and half a second up.
    of.send(0, 10.0, 512);
    of.receive(1, 11.0, 512);
    of.send(1, 20.0, 256);
    let parts_j = of.spent_by_part_j(100.0);
    assert_eq!(parts_j["cpu"], [0.75 * 4.0]);
    assert_eq!(parts_j["contact"], [0.0, 2.0 * 0.125 * 32.0]);
    let second_j = 1.0 + 512.0 * 0.125 + 0.5 + 256.0 * 0.25;
    assert_eq!(parts_j["access_active"], [0.5 * 8.0, second_j]);
    assert_eq!(parts_j["access_tail"], [4.0 * 2.0, 2.0 * 2.0 * 0.5]);
    assert_eq!(parts_j["access_promotion"], [0.5, 2.0 * 4.0]);
    for (name, spent_j) in of.spent_j(100.0) {
        assert_eq!(spent_j, parts_j[name].iter().sum::<f64>(), "{name}");
    }
}

#[test]
fn a_radio_that_sleeps_as_told_pays_its_own_network() {
    let mut plan = two_networks();
    plan.access[1].states = Some(States {
        promotion_s: 0.25,
        inactivity_timer_s: 2.0,
        drx_cycle_s: 0.0,
        on_duration_s: 0.0,
        drx_inactivity_timer_s: 0.0,
        paging_cycle_s: 0.0,
        sr_periodicity_s: 0.0,
        grant_delay_s: 0.0,
        bler: 0.0,
        harq_delay_s: 0.0,
    });
    let mut of = Accountant::new(&plan).expect("the plan asks for energy");
    of.send(1, 10.0, 256);
    of.wake(
        1,
        Wake {
            promotions: 3,
            tail_s: 1.5,
        },
    );
    let parts_j = of.spent_by_part_j(100.0);
    assert_eq!(parts_j["access_active"], [0.0, 0.5 + 256.0 * 0.25]);
    assert_eq!(parts_j["access_tail"], [0.0, 1.5 * 0.5]);
    assert_eq!(parts_j["access_promotion"], [0.0, 3.0 * 4.0]);
}

#[test]
fn bytes_of_phones_are_those_sent_and_those_heard_but_not_the_authoritys() {
    for (role, capacity) in [0, Phones::AUTHORITY]
        .into_iter()
        .flat_map(|role| CAPACITIES_BYTES_PER_S.map(|capacity| (role, capacity)))
    {
        let mut plan = on_sites(capacity);
        plan.phones.role = vec![0, role];
        (0..2).for_each(|_| ask(&mut plan, 10.0, 512));
        let (trace, _) = carry(plan);
        let ends = if role == 0 { 2 } else { 1 };
        assert_eq!(counter(&trace, "access_bytes"), 1024);
        assert_eq!(counter(&trace, "phone_access_bytes"), ends * 1024);
    }
    // What is lost was sent and not heard; what is not sent is neither.
    let mut lossy = on_sites(0.0);
    lossy.access[0].loss_ratio = 1.0;
    ask(&mut lossy, 10.0, 512);
    assert_eq!(counter(&carry(lossy).0, "phone_access_bytes"), 512);
    let mut off = on_sites(0.0);
    ask(&mut off, 10.0, 512);
    turn(&mut off, 10.25, 0, false);
    assert_eq!(counter(&carry(off).0, "phone_access_bytes"), 0);
}

#[test]
fn on_an_access_point_of_802_11_a_radio_is_active_while_its_datagram_contends() {
    let mut plan = plan(4);
    plan.access[0].latency_s = 0.0;
    plan.access[0].wifi = Some(Wifi {
        standard: "802.11n".into(),
        channel_width_mhz: 20,
        streams: 1,
        aggregation: false,
        block_ack_request: true,
        queue_packets: 500,
    });
    plan.phones.mcs = vec![7; 4];
    plan.energy = priced(RADIO).energy;
    let sends = [(10.0, 0, 1, 668), (10.0, 2, 3, 668)];
    let (trace, spent_j) = simulated_with_energy(plan, &sends);
    let found = arrivals(&trace, sends.len());
    let took_s: Vec<f64> = found
        .iter()
        .map(|end_s| end_s.expect("nothing loses it") - 10.0)
        .collect();
    // The last has two frames, and two of the other are in its way. No queue ever has two, so all
    // of that is somebody's time at the head of one.
    assert!(took_s.iter().all(|&took_s| took_s > 2.0 * FRAME_S));
    assert!(took_s.iter().any(|&took_s| took_s > 4.0 * FRAME_S));
    close(spent_j["access_active"], took_s.iter().sum::<f64>() * 8.0);
    assert_eq!(spent_j["access_promotion"], 4.0 * 0.5);
    assert!((spent_j["access_tail"] - 4.0 * 8.0).abs() < 1e-3 * 8.0);
}

/// A frame of 706 B at 65 Mbit/s.
const FRAME_S: f64 = (36.0 + 4.0 * 22.0 + 6.0) * 1e-6;
