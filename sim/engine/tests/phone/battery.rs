//! Batteries against sums made by hand, alone and through the driver in a closed-form world.

use crate::common::{arrive, cost, counter, nodes, plan, times, trade, turn};
use _engine::phone::battery::Batteries;
use _engine::plan::{Battery, Energy, Plan, Radio};
use pocketsim_protocols::contract::{EventKind, Operation, Seconds};

const CAPACITY_J: f64 = 1024.0;
const END_S: Seconds = 1e4;

/// Phones of half a charge, of which 64 joules bring a dead one back; nothing flows.
fn idle(phones: usize) -> Battery {
    Battery {
        capacity_j: vec![CAPACITY_J; phones],
        level_j: vec![CAPACITY_J / 2.0; phones],
        revives_j: vec![64.0; phones],
        phone: vec![],
        time_s: vec![],
        other_w: vec![],
        charge_w: vec![],
    }
}

/// From `time_s` on, `phone` draws and is given so much; in order of phones and times.
fn flow(battery: &mut Battery, phone: u32, time_s: Seconds, other_w: f64, charge_w: f64) {
    battery.phone.push(phone);
    battery.time_s.push(time_s);
    battery.other_w.push(other_w);
    battery.charge_w.push(charge_w);
}

/// When phone 0 goes off and on by its battery alone, if the app takes these joules at these times.
fn turns(battery: Battery, charges: &[(Seconds, f64)]) -> Vec<(Seconds, bool)> {
    let mut batteries = Batteries::new(battery, END_S);
    let (mut turns, mut charges) = (vec![], charges.iter().peekable());
    let (mut next, mut was_on) = (batteries.look(0.0, 0), true);
    loop {
        let date_s = next.map_or(Seconds::INFINITY, |(date_s, _)| date_s);
        let now = match charges.peek() {
            Some(&&(time_s, joules)) if time_s < date_s => {
                charges.next();
                if !batteries.take(time_s, 0, joules) {
                    continue;
                }
                time_s
            }
            _ if date_s > END_S => return turns,
            _ => date_s,
        };
        next = batteries.look(now, 0);
        if batteries.is_on(0) != was_on {
            was_on = !was_on;
            turns.push((now, was_on));
        }
    }
}

#[test]
fn without_a_charger_it_dies_when_its_level_is_used_up() {
    let mut battery = idle(1);
    flow(&mut battery, 0, 0.0, 0.25, 0.0);
    assert_eq!(turns(battery, &[]), [(2048.0, false)]);
}

#[test]
fn what_the_app_takes_brings_death_forward_by_just_that() {
    let mut battery = idle(1);
    flow(&mut battery, 0, 0.0, 0.25, 0.0);
    // 4 joules in small parts, also in the last second: 16 s of a quarter of a watt.
    let many: Vec<_> = (0..32)
        .map(|at| (f64::from(at) * 63.5 + 63.0, 0.125))
        .collect();
    assert_eq!(turns(battery.clone(), &many), [(2032.0, false)]);
    // More than is left kills at once.
    assert_eq!(
        turns(battery.clone(), &[(1024.0, 256.0)]),
        [(1024.0, false)]
    );
    assert_eq!(turns(battery, &[(1024.0, 255.0)]), [(1028.0, false)]);
}

#[test]
fn a_charger_fills_it_no_further_than_it_holds_and_revives_it() {
    let mut battery = idle(1);
    flow(&mut battery, 0, 0.0, 1.0, 9.0);
    // Full after 64 s, until unplugged at 1000: dead at 2024. Plugged in at 3000: back 8 s later.
    flow(&mut battery, 0, 1000.0, 1.0, 0.0);
    flow(&mut battery, 0, 3000.0, 1.0, 8.0);
    flow(&mut battery, 0, 3016.0, 1.0, 0.0);
    // 64 joules and 8 s of 7 watts last for 120 s.
    assert_eq!(
        turns(battery.clone(), &[]),
        [(2024.0, false), (3008.0, true), (3136.0, false)]
    );
    // What the app takes while the charger refills it is nothing in the end; afterwards it counts.
    let turned = turns(battery, &[(500.0, 100.0), (1500.0, 100.0)]);
    assert_eq!(turned[0], (1924.0, false));
}

#[test]
fn hours_that_draw_more_than_others_count_each() {
    let mut battery = idle(1);
    for hour in 0..8 {
        let time_s = f64::from(hour) * 256.0;
        flow(&mut battery, 0, time_s, f64::from(hour % 2) * 2.0, 0.0);
    }
    assert_eq!(turns(battery, &[]), [(512.0, false)]);
}

#[test]
fn the_mains_give_what_an_app_takes_and_count_for_no_battery() {
    let mut battery = idle(1);
    battery.capacity_j[0] = f64::INFINITY;
    let mut batteries = Batteries::new(battery, 4096.0);
    assert_eq!(batteries.look(0.0, 0), None);
    assert!(!batteries.take(8.0, 0, 1e9));
    assert!(batteries.is_on(0));
    let summary = batteries.close();
    assert_eq!((summary.phones, summary.deaths, summary.app_j), (0, 0, 0.0));
}

#[test]
fn the_summary_adds_up() {
    let mut battery = idle(2);
    (battery.capacity_j[1], battery.level_j[1]) = (f64::INFINITY, 1.0);
    flow(&mut battery, 0, 0.0, 0.25, 0.0);
    let mut batteries = Batteries::new(battery, 4096.0);
    let (date_s, version) = batteries.look(0.0, 0).expect("it dies");
    assert!(batteries.take(8.0, 0, 512.0) && batteries.is_due(0, version) && date_s > 8.0);
    assert_eq!(batteries.look(8.0, 0), None);
    assert!(!batteries.is_due(0, version));
    let summary = batteries.close();
    assert_eq!((summary.phones, summary.deaths), (1, 1));
    assert_eq!(
        (summary.dead_s, summary.app_j, summary.other_j),
        (4088.0, 512.0, 2.0)
    );
    assert_eq!(summary.level_end_ratio_sum, 0.0);
}

/// Two phones that trade each second; the second has this battery.
fn trading(battery: Battery) -> Plan {
    let mut plan = plan(2);
    plan.duration_s = 60.0;
    for second in 0..50 {
        arrive(&mut plan, f64::from(second) + 0.5, 0, 1);
    }
    plan.battery = Some(battery);
    plan
}

/// The first is on the mains; the second has 16 joules.
fn small() -> Battery {
    let mut battery = idle(2);
    battery.capacity_j[0] = f64::INFINITY;
    battery.level_j[1] = 16.0;
    battery.revives_j[1] = 8.0;
    battery
}

#[test]
fn a_dead_phone_answers_nobody_and_a_revived_one_does() {
    let mut battery = small();
    flow(&mut battery, 1, 0.0, 1.0, 0.0);
    flow(&mut battery, 1, 24.0, 1.0, 2.0);
    let trace = trade(trading(battery));
    assert_eq!(times(&trace, EventKind::PhoneOff), [16.0]);
    assert_eq!(times(&trace, EventKind::PhoneOn), [28.0]);
    let stored = times(&trace, EventKind::Store);
    assert!(stored
        .iter()
        .all(|&time_s| !(16.0..=28.0).contains(&time_s)));
    assert_eq!(stored.len(), 50 - 12);
}

#[test]
fn it_is_on_only_if_its_owner_and_its_battery_say_so() {
    let mut battery = small();
    flow(&mut battery, 1, 0.0, 1.0, 0.0);
    flow(&mut battery, 1, 24.0, 1.0, 2.0);
    let mut plan = trading(battery.clone());
    // It is off when it comes back, and its owner turns it on later.
    turn(&mut plan, 10.0, 1, false);
    turn(&mut plan, 20.0, 1, true);
    turn(&mut plan, 22.0, 1, false);
    turn(&mut plan, 30.0, 1, true);
    let trace = trade(plan);
    assert_eq!(times(&trace, EventKind::PhoneOff), [10.0]);
    assert_eq!(times(&trace, EventKind::PhoneOn), [30.0]);
    assert!(nodes(&trace, EventKind::PhoneOff)
        .iter()
        .all(|&phone| phone == 1));
    // It comes back of itself where its owner had it on meanwhile.
    let mut plan = trading(battery);
    turn(&mut plan, 10.0, 1, false);
    turn(&mut plan, 20.0, 1, true);
    assert_eq!(times(&trade(plan), EventKind::PhoneOn), [28.0]);
}

/// Powers of a core and of a radio that costs per byte.
fn priced(plan: &mut Plan) {
    cost(plan, Operation::UdpReceive, 0.25);
    let radio = Radio {
        active_w: 0.0,
        up_per_byte_j: 0.0,
        down_per_byte_j: 0.0,
        tail_power_w: 0.0,
        tail_s: 0.0,
        promotion_j: 0.0,
    };
    plan.energy = Some(Energy {
        core_w: 1.0,
        access: vec![radio],
        contact_w: vec![],
    });
}

#[test]
fn joules_of_the_account_come_off_in_a_run() {
    let mut battery = small();
    flow(&mut battery, 1, 0.0, 0.75, 0.0);
    let mut plan = trading(battery);
    priced(&mut plan);
    // Each proposal takes a quarter of a joule and each second three: one before each half is past.
    let trace = trade(plan);
    let offs_s = times(&trace, EventKind::PhoneOff);
    // After n proposals 16 - n / 4 = 3 t / 4, where n = 16 arrived by 15.5 s and t is 16.
    assert!((offs_s[0] - 16.0).abs() < 1e-9, "{offs_s:?}");
}

#[test]
fn a_battery_that_is_never_empty_changes_nothing() {
    let mut battery = small();
    (battery.capacity_j[1], battery.level_j[1]) = (1e12, 1e12);
    flow(&mut battery, 1, 0.0, 1.0, 0.0);
    let mut with = trading(battery);
    let mut without = with.clone();
    without.battery = None;
    priced(&mut with);
    priced(&mut without);
    let (with, without) = (trade(with), trade(without));
    assert_eq!(with.columns.time_s, without.columns.time_s);
    assert_eq!(with.columns.kind, without.columns.kind);
    assert_eq!(
        counter(&with, "datagrams_sent"),
        counter(&without, "datagrams_sent")
    );
}
