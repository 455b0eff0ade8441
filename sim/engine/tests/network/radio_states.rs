//! Radios that sleep, against closed forms of what datagrams wait for, and against their accounts.

use std::collections::BTreeMap;

use crate::common::sends::{arrivals, choose, simulated, simulated_with_energy, uniform, Send};
use crate::common::{counter, plan, reasons, turn, Numbers};
use _engine::plan::{Energy, Plan, Radio, States};
use pocketsim_protocols::contract::{EventKind, Reason, Seconds};

const AWAKE: States = States {
    promotion_s: 0.0,
    inactivity_timer_s: 10.0,
    drx_cycle_s: 0.0,
    on_duration_s: 0.0,
    drx_inactivity_timer_s: 0.0,
    paging_cycle_s: 0.0,
    sr_periodicity_s: 0.0,
    grant_delay_s: 0.0,
    bler: 0.0,
    harq_delay_s: 0.0,
};
/// An LTE as measured in 2020 and 2021 (docs/models.md).
const LTE: States = States {
    promotion_s: 0.255,
    inactivity_timer_s: 10.2,
    drx_cycle_s: 0.32,
    on_duration_s: 0.01,
    drx_inactivity_timer_s: 0.1,
    paging_cycle_s: 1.28,
    sr_periodicity_s: 0.01,
    grant_delay_s: 0.008,
    bler: 0.1,
    harq_delay_s: 0.008,
};
const RADIO: Radio = Radio {
    active_w: 8.0,
    up_per_byte_j: 0.0,
    down_per_byte_j: 0.0,
    tail_power_w: 2.0,
    tail_s: 10.0,
    promotion_j: 0.5,
};

const FREE: Radio = Radio {
    active_w: 0.0,
    up_per_byte_j: 0.0,
    down_per_byte_j: 0.0,
    tail_power_w: 0.0,
    tail_s: 0.0,
    promotion_j: 0.0,
};

/// Phones whose radios take no time; the first one's sleeps.
fn sleeping(states: States, phones: usize) -> Plan {
    let mut plan = plan(phones);
    let access = &mut plan.access[0];
    (access.up_bytes_per_s, access.down_bytes_per_s) = (1e15, 1e15);
    (access.up_queue_bytes, access.down_queue_bytes) = (Some(1e9), Some(1e9));
    access.latency_s = 0.0;
    let mut other = access.clone();
    access.states = Some(states);
    other.states = None;
    plan.access.push(other);
    plan.phones.access = (0..phones as u32).map(|phone| phone.min(1)).collect();
    plan.duration_s = 1e12;
    plan.energy = Some(Energy {
        core_w: 0.0,
        access: vec![RADIO, FREE],
        contact_w: vec![],
    });
    plan
}

/// Datagrams of 100 B one way, at dates whose distances are drawn.
fn sends(
    count: usize,
    way: (u32, u32),
    mut gap_s: impl FnMut(&mut Numbers) -> Seconds,
) -> Vec<Send> {
    let (mut numbers, mut now) = (Numbers(7), 0.0);
    let next = |_| {
        now += gap_s(&mut numbers);
        (now, way.0, way.1, 100)
    };
    (0..count).map(next).collect()
}

fn exponential(rate_per_s: f64) -> impl FnMut(&mut Numbers) -> Seconds {
    move |numbers| -(1.0 - uniform(numbers)).ln() / rate_per_s
}

fn between(low_s: Seconds, high_s: Seconds) -> impl FnMut(&mut Numbers) -> Seconds {
    move |numbers| low_s + (high_s - low_s) * uniform(numbers)
}

/// How long each took, in order, and how often the radio woke up by its account.
fn delays_s(plan: Plan, sends: &[Send]) -> (Vec<Seconds>, f64) {
    let (trace, spent_j) = simulated_with_energy(plan, sends);
    let arrivals = arrivals(&trace, sends.len());
    let ends = arrivals.iter().zip(sends);
    let delays_s = ends.map(|(end_s, send)| end_s.expect("no loss") - send.0);
    let promotions = spent_j["access_promotion"] / RADIO.promotion_j;
    (delays_s.collect(), promotions)
}

fn mean(values: &[Seconds]) -> Seconds {
    values.iter().sum::<f64>() / values.len() as f64
}

fn close(found: f64, expected: f64, share: f64, what: &str) {
    assert!(
        (found / expected - 1.0).abs() <= share,
        "{what}: {found} {expected}"
    );
}

fn quantile(values: &[Seconds], level: f64) -> Seconds {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(level * sorted.len() as f64) as usize]
}

#[test]
fn who_sends_now_and_then_waits_for_promotions_and_pays_for_each() {
    const PROMOTION_S: Seconds = 0.25;
    let states = States {
        promotion_s: PROMOTION_S,
        ..AWAKE
    };
    for (rate_per_s, count) in [(0.02, 50_000), (0.1, 100_000), (0.3, 400_000)] {
        let sends = sends(count, UP, exponential(rate_per_s));
        let (delays_s, promotions) = delays_s(sleeping(states, 2), &sends);
        let share = 1.0 / (rate_per_s * PROMOTION_S + (10.0 * rate_per_s).exp());
        let expected_s = (PROMOTION_S + rate_per_s * PROMOTION_S.powi(2) / 2.0) * share;
        let what = format!("{rate_per_s}/s: mean wait, s");
        close(mean(&delays_s), expected_s, 0.02, &what);
        // Who finds the radio idle waits for all of a promotion, to a rounding of dates.
        let waits_for_all = |delay_s: &&Seconds| **delay_s > PROMOTION_S - 1e-6;
        let delayed = delays_s.iter().filter(waits_for_all).count() as f64;
        assert_eq!(promotions, delayed);
        close(
            delayed / sends.len() as f64,
            share,
            0.02,
            "promotions a message",
        );
    }
}

#[test]
fn what_comes_to_a_connected_phone_waits_for_its_on_duration() {
    for (cycle_s, on_s) in [(0.32, 0.01), (0.08, 0.002), (0.04, 0.02)] {
        let states = States {
            drx_cycle_s: cycle_s,
            on_duration_s: on_s,
            ..LTE
        };
        let sends = sends(50_000, DOWN, between(1.0, 9.0));
        let (delays_s, _) = delays_s(sleeping(without_harq(states), 2), &sends[1..]);
        let expected_s = (cycle_s - on_s) * (cycle_s - on_s) / (2.0 * cycle_s);
        // But for the first, which wakes it.
        close(
            mean(&delays_s[1..]),
            expected_s,
            0.01,
            "mean wait in DRX, s",
        );
        let at_once = delays_s.iter().filter(|&&delay_s| delay_s < 1e-9).count();
        close(
            at_once as f64 / delays_s.len() as f64,
            on_s / cycle_s,
            0.08,
            "share that does not wait",
        );
    }
}

#[test]
fn what_follows_soon_does_not_wait() {
    let soon = sends(1000, DOWN, between(0.0, 0.099));
    let (delays_s, promotions) = delays_s(sleeping(without_harq(LTE), 2), &soon);
    let woken_s = soon[0].0 + delays_s[0];
    let later = soon
        .iter()
        .zip(&delays_s)
        .filter(|(send, _)| send.0 > woken_s);
    assert!(later.clone().count() > 900);
    assert!(later.into_iter().all(|(_, &delay_s)| delay_s < 1e-9));
    assert_eq!(promotions, 1.0);
}

#[test]
fn what_comes_to_an_idle_phone_waits_for_a_page_and_a_promotion() {
    let sends = sends(100_000, DOWN, between(13.0, 30.0));
    let (delays_s, promotions) = delays_s(sleeping(without_harq(LTE), 2), &sends);
    close(
        mean(&delays_s),
        1.28 / 2.0 + 0.255,
        0.01,
        "mean wait idle, s",
    );
    for (level, expected_s) in [(0.05, 0.319), (0.5, 0.895), (0.95, 1.471)] {
        close(
            quantile(&delays_s, level),
            expected_s,
            0.02,
            "its quantile, s",
        );
    }
    assert_eq!(promotions, sends.len() as f64);
}

#[test]
fn a_connected_phone_asks_for_a_grant() {
    let sends = sends(100_000, UP, between(1.0, 9.0));
    let (delays_s, _) = delays_s(sleeping(without_harq(LTE), 2), &sends);
    close(
        mean(&delays_s[1..]),
        0.013,
        0.01,
        "mean wait for a grant, s",
    );
    let longest_s = delays_s[1..].iter().copied().fold(0.0, f64::max);
    assert!(longest_s <= 0.018, "{longest_s}");
}

#[test]
fn who_still_sends_asks_for_nothing() {
    let mut plan = sleeping(without_harq(LTE), 2);
    plan.access[0].up_bytes_per_s = 1000.0;
    // A tenth of a second each, and always one behind the other.
    let sends = sends(1000, UP, between(0.0, 0.1));
    let (delays_s, promotions) = delays_s(plan, &sends);
    let out_s: Vec<_> = sends
        .iter()
        .zip(&delays_s)
        .map(|(send, delay_s)| send.0 + delay_s)
        .collect();
    assert!((out_s[0] - sends[0].0 - 0.255 - 0.1).abs() < 1e-9);
    assert!(out_s
        .windows(2)
        .all(|pair| (pair[1] - pair[0] - 0.1).abs() < 1e-6));
    assert_eq!(promotions, 1.0);
}

#[test]
fn what_is_sent_again_comes_later_and_holds_up_what_follows() {
    let states = States {
        bler: 0.1,
        harq_delay_s: 0.008,
        inactivity_timer_s: 1e9,
        ..AWAKE
    };
    for way in [UP, DOWN] {
        let sends = sends(200_000, way, between(0.1, 1.0));
        let (delays_s, _) = delays_s(sleeping(states, 2), &sends);
        close(mean(&delays_s), 0.1 * 0.008 / 0.9, 0.02, "mean of HARQ, s");
        for (level, expected_s) in [(0.985, 0.008), (0.9985, 0.016)] {
            close(
                quantile(&delays_s, level),
                expected_s,
                1e-3,
                "its quantile, s",
            );
        }
        // A millisecond apart: in order all the same.
        let sends = self::sends(20_000, way, between(0.0, 0.002));
        let (delays_s, _) = self::delays_s(sleeping(states, 2), &sends);
        let ends = sends
            .iter()
            .zip(&delays_s)
            .map(|(send, delay_s)| send.0 + delay_s);
        let ends: Vec<_> = ends.collect();
        assert!(ends.windows(2).all(|pair| pair[1] >= pair[0] - 1e-9));
        assert!(mean(&delays_s) > 0.002);
    }
}

#[test]
fn what_a_phone_sends_wakes_it_for_what_it_is_to_receive() {
    // Paged once in a thousand seconds, it sends at 10: both go on when it is awake.
    let idle = States {
        paging_cycle_s: 1000.0,
        ..without_harq(LTE)
    };
    let sends = [(9.0, 1, 0, 100), (10.0, 0, 1, 100), (10.1, 1, 0, 100)];
    let (delays_s, promotions) = delays_s(sleeping(idle, 2), &sends);
    let ends = [0, 1, 2].map(|number| sends[number].0 + delays_s[number]);
    assert!(
        ends.iter().all(|end_s| (end_s - 10.255).abs() < 1e-9),
        "{ends:?}"
    );
    assert_eq!(promotions, 1.0);
    // In a long DRX cycle, it asks for a grant at 22 and listens at once.
    let connected = States {
        drx_cycle_s: 1000.0,
        on_duration_s: 0.0,
        inactivity_timer_s: 100.0,
        ..without_harq(LTE)
    };
    let sends = [(20.0, 0, 1, 100), (21.0, 1, 0, 100), (22.0, 0, 1, 100)];
    let (delays_s, _) = self::delays_s(sleeping(connected, 2), &sends);
    assert!((21.0 + delays_s[1] - 22.0).abs() < 1e-9, "{delays_s:?}");
}

#[test]
fn a_wifi_that_dozes_holds_back_what_comes_until_a_beacon() {
    let (awake_s, beacon_s) = (0.2, 0.1024);
    for (rate_per_s, dtim) in [(0.5, 1.0), (2.0, 3.0), (10.0, 1.0)] {
        let wait_s = dtim * beacon_s;
        let states = States {
            inactivity_timer_s: awake_s,
            paging_cycle_s: wait_s,
            ..AWAKE
        };
        let sends = sends(100_000, DOWN, exponential(rate_per_s));
        let (delays_s, _) = delays_s(sleeping(states, 2), &sends);
        // As of promotions that take a uniform time w: (E[w] + l E[w^2] / 2) / (l E[w] + e^(l a)).
        let (first, second) = (wait_s / 2.0, wait_s * wait_s / 3.0);
        let expected_s = (first + rate_per_s * second / 2.0)
            / (rate_per_s * first + (rate_per_s * awake_s).exp());
        close(
            mean(&delays_s),
            expected_s,
            0.03,
            "mean wait for a beacon, s",
        );
        let (sent, _) = self::delays_s(
            sleeping(states, 2),
            &self::sends(1000, UP, between(0.1, 1.0)),
        );
        assert!(
            sent.iter().all(|&delay_s| delay_s < 1e-9),
            "it sends at once"
        );
    }
}

/// Random datagrams between a few phones, all of whose radios sleep; some on a shared site.
fn crowd(numbers: &mut Numbers, states: States) -> (Plan, Vec<Send>) {
    let mut plan = sleeping(states, 4);
    let access = &mut plan.access[0];
    access.up_bytes_per_s = 1000.0 * 100.0_f64.powf(uniform(numbers));
    access.down_bytes_per_s = 1000.0 * 100.0_f64.powf(uniform(numbers));
    access.latency_s = 0.05 * uniform(numbers);
    plan.phones.access = vec![0; 4];
    plan.sites.capacity_bytes_per_s = vec![f64::from(choose(numbers, 2)) * 3000.0];
    let (mut now, lull_s) = (0.0, 20.0_f64.powf(uniform(numbers)));
    let next = |_| {
        let is_lull = choose(numbers, 10) == 0;
        now += if is_lull { lull_s } else { 0.05 } * uniform(numbers);
        let from = choose(numbers, 4);
        let to = (from + 1 + choose(numbers, 3)) % 4;
        (now, from, to, 29 + choose(numbers, 1400))
    };
    let sends = (0..200).map(next).collect();
    (plan, sends)
}

#[test]
fn all_arrive_in_order_whatever_sleeps() {
    let mut numbers = Numbers(3);
    for _ in 0..300 {
        let (plan, sends) = crowd(&mut numbers, LTE);
        let trace = simulated(plan, &sends);
        let arrivals = arrivals(&trace, sends.len());
        let mut last_s = BTreeMap::new();
        for (end_s, &(_, from, to, _)) in arrivals.iter().zip(&sends) {
            let end_s = end_s.expect("there is room for all");
            let last_s = last_s.insert((from, to), end_s);
            assert!(last_s.is_none_or(|last_s| last_s <= end_s));
        }
    }
}

#[test]
fn a_radio_that_sleeps_for_nothing_costs_what_its_account_alone_would_say() {
    let mut numbers = Numbers(5);
    for round in 0..300 {
        let (mut plan, mut sends) = crowd(&mut numbers, AWAKE);
        if round % 2 == 0 {
            // An account alone hears of what comes down a link of its own when it is there, and has
            // taken for silent until then who sends meanwhile.
            plan.sites.capacity_bytes_per_s = vec![0.0];
            sends.retain(|&(_, from, ..)| from == 0);
        } else {
            plan.sites.capacity_bytes_per_s = vec![3000.0];
        }
        let mut alone = plan.clone();
        alone.access[0].states = None;
        let [found_j, expected_j] = [plan, alone].map(|plan| simulated_with_energy(plan, &sends).1);
        assert!(expected_j["access_promotion"] >= 1.0);
        for (name, expected_j) in expected_j {
            let found_j = found_j[name];
            assert!(
                (found_j - expected_j).abs() < 1e-6,
                "{name}: {found_j} {expected_j}"
            );
        }
    }
}

#[test]
fn a_datagram_costs_a_promotion_and_the_tail_behind_it() {
    let mut plan = sleeping(without_harq(LTE), 2);
    plan.access[0].up_bytes_per_s = 1000.0;
    plan.duration_s = 100.0;
    let (_, spent_j) = simulated_with_energy(plan.clone(), &[(10.0, 0, 1, 500)]);
    let parts = ["access_promotion", "access_active", "access_tail"].map(|name| spent_j[name]);
    let expected = [0.5, 0.5 * 8.0, 10.2 * 2.0];
    assert!(
        parts
            .iter()
            .zip(expected)
            .all(|(one, other)| (one - other).abs() < 1e-9),
        "{parts:?}"
    );
    // The run ends in the tail, which begins at 10.755.
    plan.duration_s = 12.0;
    let (_, spent_j) = simulated_with_energy(plan, &[(10.0, 0, 1, 500)]);
    assert!(
        (spent_j["access_tail"] - 1.245 * 2.0).abs() < 1e-9,
        "{spent_j:?}"
    );
}

#[test]
fn what_waits_for_a_radio_is_lost_with_its_phone() {
    let mut plan = sleeping(without_harq(LTE), 2);
    turn(&mut plan, 10.1, 0, false);
    turn(&mut plan, 11.0, 0, true);
    let sends = [(10.0, 0, 1, 100), (10.05, 1, 0, 100), (11.5, 0, 1, 100)];
    let (trace, spent_j) = simulated_with_energy(plan, &sends);
    let found = arrivals(&trace, sends.len());
    assert_eq!(found[..2], [None, None]);
    assert!(
        (found[2].expect("it is on again") - 11.755).abs() < 1e-9,
        "{found:?}"
    );
    let lost = [Reason::SenderOff, Reason::ReceiverOff];
    assert_eq!(reasons(&trace, EventKind::Drop), lost);
    assert_eq!(spent_j["access_promotion"], 2.0 * RADIO.promotion_j);
}

#[test]
fn what_waits_for_a_radio_takes_room_of_its_queue() {
    let mut plan = sleeping(without_harq(LTE), 2);
    plan.access[0].up_queue_bytes = Some(1000.0);
    let sends: Vec<Send> = (0..20).map(|_| (10.0, 0, 1, 100)).collect();
    plan.access[0].up_bytes_per_s = 1e4;
    let trace = simulated(plan.clone(), &sends);
    assert_eq!(counter(&trace, "queue_full"), 10);
    // A sender that waits for room loses nothing.
    plan.access[0].blocks = true;
    let (delays_s, promotions) = delays_s(plan, &sends);
    assert!(
        delays_s.windows(2).all(|pair| pair[0] < pair[1]),
        "{delays_s:?}"
    );
    assert_eq!(promotions, 1.0);
}

fn without_harq(states: States) -> States {
    States {
        bler: 0.0,
        harq_delay_s: 0.0,
        ..states
    }
}

/// From the phone whose radio sleeps, and to it.
const UP: (u32, u32) = (0, 1);
const DOWN: (u32, u32) = (1, 0);
