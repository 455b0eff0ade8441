//! NATs and the relay between two radios: who is let in, for how long, and what the relay carries.

use crate::common::puppet::{act_over_in_hybrid, say, send, Cue, Wire};
use crate::common::{arrive, counter, plan, reasons, times, turn, LATENCY_S};
use _engine::plan::{HolePunching, Nat, Nats, Plan, Relay};
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{EventKind, Path, Reason, Seconds};

const BYTES: u32 = 972; // 1000 with its headers
const OPEN: u32 = 0;
const FULL_CONE: u32 = 1;
const PORT_RESTRICTED: u32 = 3;
const SYMMETRIC: u32 = 4;
const BLOCKED: u32 = 5;

/// Two phones on sites of their own, behind NATs of these classes that keep bindings for 30 s.
fn behind(classes: [u32; 2]) -> Plan {
    let mut plan = plan(2);
    plan.duration_s = 1000.0;
    plan.phones.site = vec![0, 1];
    plan.sites.capacity_bytes_per_s.push(0.0);
    plan.nats = Some(Nats {
        classes: classes.to_vec(),
        access: vec![Nat {
            unreplied_timeout_s: 30.0,
            replied_timeout_s: 30.0,
            lifetime_s: None,
            inbound_refresh: false,
            client_isolation: false,
        }],
        hole_punching: HolePunching {
            success: 1.0,
            setup_median_s: 6.0,
            setup_sigma: 0.0,
            failure_median_s: 15.0,
            failure_sigma: 0.0,
            path_trust_s: 0.0,
        },
    });
    plan
}

/// Phone 0 sends at the first dates, phone 1 at the others; both say what they get.
fn carry(mut plan: Plan, path: Path, dates_s: [&[Seconds]; 2]) -> Trace {
    let dates = |from: u32| dates_s[from as usize].iter().map(move |&date| (date, from));
    let mut asked: Vec<_> = dates(0).chain(dates(1)).collect();
    asked.sort_by(|one, other| one.0.total_cmp(&other.0));
    for (number, (date, from)) in (0..).zip(asked) {
        arrive(&mut plan, date, from, 1 - from);
        plan.workload.payload_bytes[number] = number as u32;
    }
    act_over_in_hybrid(
        || Wire(path),
        plan,
        |node, cue| match cue {
            Cue::Asked(number) => vec![send(1 - node, number, BYTES)],
            Cue::Got(parcel) => vec![say(parcel.number)],
            Cue::Failed(_) => vec![],
        },
    )
}

/// How many seconds after its first datagram phone 0 is let in by phone 1, which sends at these dates.
fn let_in(classes: [u32; 2], from_1: &[Seconds], from_0: &[Seconds]) -> Vec<bool> {
    let trace = carry(behind(classes), Path::Direct, [from_0, from_1]);
    let dropped = times(&trace, EventKind::Drop);
    let unreachable = reasons(&trace, EventKind::Drop);
    assert!(unreachable
        .iter()
        .all(|&reason| reason == Reason::Unreachable));
    assert_eq!(counter(&trace, "unreachable"), dropped.len() as u64);
    let is_dropped = |date: &Seconds| dropped.iter().any(|at| (at - date).abs() < 0.1);
    from_0.iter().map(|date| !is_dropped(date)).collect()
}

#[test]
fn a_stranger_is_let_in_where_nothing_filters() {
    for class in 0..=BLOCKED {
        assert_eq!(
            let_in([OPEN, class], &[], &[1.0]),
            [class == OPEN],
            "{class}"
        );
    }
}

#[test]
fn a_full_cone_lets_strangers_in_while_its_port_lasts() {
    let mut plan = behind([OPEN, FULL_CONE]);
    plan.phones.profile.push(0);
    plan.phones.access.push(0);
    plan.phones.site.push(2);
    plan.phones.first_index.push(1);
    plan.phones.role.push(0);
    plan.sites.capacity_bytes_per_s.push(0.0);
    plan.nats.as_mut().expect("given").classes.push(OPEN);
    // Phone 1 sends to phone 2, and phone 0 to phone 1 before, soon after and long after.
    for (number, (date, from)) in [(1.0, 0), (2.0, 1), (3.0, 0), (40.0, 0)]
        .into_iter()
        .enumerate()
    {
        arrive(&mut plan, date, from, 1);
        plan.workload.payload_bytes[number] = number as u32;
    }
    let trace = act_over_in_hybrid(
        || Wire(Path::Direct),
        plan,
        |node, cue| match cue {
            Cue::Asked(number) => vec![send(1 + node % 2, number, BYTES)],
            Cue::Got(parcel) => vec![say(parcel.number)],
            Cue::Failed(_) => vec![],
        },
    );
    let got = trace.columns.size_bytes.iter().zip(&trace.columns.kind);
    let got = got.filter(|&(_, &kind)| kind == EventKind::Take as u8);
    assert_eq!(got.map(|(&number, _)| number).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn who_was_sent_to_is_let_in_until_the_binding_ends() {
    for class in [FULL_CONE, 2, PORT_RESTRICTED, SYMMETRIC] {
        let found = let_in([OPEN, class], &[1.0], &[2.0, 30.5, 31.5, 50.0]);
        assert_eq!(found, [true, true, false, false], "{class}");
        // The next outbound makes a new binding, and each keeps it.
        let found = let_in(
            [OPEN, class],
            &[1.0, 40.0, 69.0],
            &[35.0, 41.0, 98.0, 100.0],
        );
        assert_eq!(found, [false, true, true, false], "{class}");
    }
}

#[test]
fn both_behind_nats_are_let_in_as_their_ports_can_be_known() {
    // Phone 1 has sent before: who filters no port lets a symmetric NAT's in.
    let cases = [
        (PORT_RESTRICTED, PORT_RESTRICTED, true),
        (SYMMETRIC, 2, true),
        (SYMMETRIC, PORT_RESTRICTED, false),
        (PORT_RESTRICTED, SYMMETRIC, false),
        (SYMMETRIC, SYMMETRIC, false),
        (BLOCKED, PORT_RESTRICTED, false),
    ];
    for (from, to, is_let_in) in cases {
        assert_eq!(
            let_in([from, to], &[1.0], &[2.0]),
            [is_let_in],
            "{from} to {to}"
        );
    }
}

#[test]
fn phones_of_one_site_use_private_addresses() {
    for (isolated, due) in [(false, 1), (true, 0)] {
        let mut plan = behind([SYMMETRIC, SYMMETRIC]);
        plan.phones.site = vec![0, 0];
        plan.nats.as_mut().expect("given").access[0].client_isolation = isolated;
        let trace = carry(plan, Path::Direct, [&[1.0], &[]]);
        assert_eq!(counter(&trace, "datagrams_delivered"), due, "{isolated}");
    }
}

#[test]
fn a_phone_that_was_off_has_other_ports() {
    let mut plan = behind([OPEN, PORT_RESTRICTED]);
    turn(&mut plan, 3.0, 1, false);
    turn(&mut plan, 4.0, 1, true);
    let trace = carry(plan, Path::Direct, [&[2.0, 5.0], &[1.0]]);
    assert_eq!(times(&trace, EventKind::Drop).len(), 1);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::Unreachable]);
}

#[test]
fn an_absolute_life_ends_a_binding_in_use() {
    let mut plan = behind([OPEN, PORT_RESTRICTED]);
    plan.nats.as_mut().expect("given").access[0].lifetime_s = Some(57.0);
    let every_5_s: Vec<_> = (0..13)
        .map(|number| 1.0 + 5.0 * f64::from(number))
        .collect();
    // What phone 1 sends at 61 s makes another binding.
    let trace = carry(plan, Path::Direct, [&[57.0, 59.0, 60.9, 62.0], &every_5_s]);
    assert_eq!(times(&trace, EventKind::Drop).len(), 2);
}

#[test]
fn every_nat_lets_a_phone_dial_the_relay() {
    for class in 0..=BLOCKED {
        let trace = carry(behind([class, class]), Path::Relay, [&[1.0], &[]]);
        assert_eq!(counter(&trace, "datagrams_delivered"), 1, "{class}");
    }
}

fn limited(change: impl FnOnce(&mut Relay)) -> Plan {
    let mut plan = plan(2);
    plan.backbone.relay_latency_s = 2.0;
    let mut relay = Relay {
        up_bytes_per_s: None,
        down_bytes_per_s: None,
        queue_packets: 512,
        client_rate_bytes_per_s: None,
        client_burst_bytes: 0,
    };
    change(&mut relay);
    plan.relay = Some(relay);
    plan
}

#[test]
fn a_relay_without_limits_is_a_delay() {
    let mut delay = limited(|_| {});
    delay.relay = None;
    for jitter_median_s in [0.0, 0.5] {
        let dates = [delay.clone(), limited(|_| {})].map(|mut plan| {
            plan.access[0].jitter_median_s = jitter_median_s;
            plan.access[0].jitter_sigma = 0.5;
            times(
                &carry(plan, Path::Relay, [&[1.0, 1.1, 1.2], &[]]),
                EventKind::Take,
            )
        });
        assert_eq!(dates[0].len(), 3);
        for (one, other) in dates[0].iter().zip(&dates[1]) {
            assert!((one - other).abs() < 1e-9, "{dates:?}");
        }
    }
}

#[test]
fn a_relay_takes_as_long_as_its_capacities_say() {
    let plan = limited(|relay| {
        relay.up_bytes_per_s = Some(1e4);
        relay.down_bytes_per_s = Some(5e3);
    });
    let trace = carry(plan, Path::Relay, [&[1.0, 1.0], &[]]);
    let first_s = 1.0 + LATENCY_S + 4.0 + 2.0 * 0.001 + 0.1 + 0.2;
    for (found_s, due_s) in times(&trace, EventKind::Take)
        .iter()
        .zip([first_s, first_s + 0.2])
    {
        assert!((found_s - due_s).abs() < 1e-9, "{found_s} is not {due_s}");
    }
}

#[test]
fn an_overloaded_relay_passes_its_capacity_and_drops_the_rest() {
    let mut plan = limited(|relay| relay.down_bytes_per_s = Some(1e5));
    plan.duration_s = 300.0;
    // 150 datagrams of 1000 bytes each second for 200 s, where 100 pass.
    let sent = 30_000;
    let dates: Vec<_> = (0..sent).map(|number| f64::from(number) / 150.0).collect();
    let trace = carry(plan, Path::Relay, [&dates, &[]]);
    let [passed, full] = ["datagrams_delivered", "relay_full"].map(|name| counter(&trace, name));
    assert_eq!(passed + full, sent as u64);
    let share = passed as f64 / f64::from(sent);
    // Two thirds, and what the queue holds when the last has come.
    let due = 2.0 / 3.0 + 512.0 / f64::from(sent);
    assert!((share - due).abs() < 0.001, "{share} is not {due}");
    let dropped = reasons(&trace, EventKind::Drop);
    assert!(dropped.iter().all(|&reason| reason == Reason::RelayFull));
    assert_eq!(dropped.len() as u64, full);
}

#[test]
fn what_a_phone_has_not_sent_when_it_goes_off_never_comes_to_the_relay() {
    let mut plan = limited(|relay| relay.down_bytes_per_s = Some(1e3));
    plan.access[0].up_bytes_per_s = 1000.0;
    turn(&mut plan, 1.5, 0, false);
    let trace = carry(plan, Path::Relay, [&[1.0], &[]]);
    assert_eq!(reasons(&trace, EventKind::Drop), [Reason::SenderOff]);
}
