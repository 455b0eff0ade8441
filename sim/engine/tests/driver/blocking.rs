//! Senders that wait for room at their own radio, against a model that is nobody's here.

use crate::common::puppet::{act_in_hybrid, post, said, say, send, Act, Cue};
use crate::common::sends::{arrivals, choose, simulated, uniform, Send, HEADERS_BYTES};
use crate::common::{counter, plan, turn, Numbers};
use _engine::plan::Plan;
use pocketsim_protocols::contract::{EventKind, Lane, Reason, Seconds};

/// Two phones, the first of which sends 1000 bytes a second and waits for room.
fn blocking(up_queue_bytes: f64) -> Plan {
    let mut plan = plan(2);
    let access = &mut plan.access[0];
    (access.up_bytes_per_s, access.down_bytes_per_s) = (1000.0, 1e12);
    (access.up_queue_bytes, access.latency_s) = (Some(up_queue_bytes), 0.0);
    access.blocks = true;
    plan.duration_s = 1e6;
    plan
}

/// When each datagram of one lane is out of a radio with this rate and room.
fn outs(sends: &[Send], rate: f64, room: f64) -> Vec<Seconds> {
    let (mut now, mut outs_s) = (0.0_f64, Vec::<Seconds>::new());
    for &(asked_s, _, _, bytes) in sends {
        let (bytes, free_s) = (f64::from(bytes), outs_s.last().copied().unwrap_or(0.0));
        now = now.max(asked_s);
        let is_full = |now: &Seconds| {
            let unsent = (free_s - now) * rate;
            unsent > 0.0 && unsent + bytes > room * (1.0 + 1e-9)
        };
        let mut ends = outs_s.iter().copied().filter(|&end_s| end_s > now);
        let mut ends = std::iter::once(now).chain(&mut ends);
        now = ends
            .find(|end_s| !is_full(end_s))
            .expect("it is idle at last");
        let out_s = free_s.max(now) + bytes / rate;
        outs_s.push(out_s);
    }
    outs_s
}

#[test]
fn dates_are_those_of_a_lane_that_waits() {
    let mut numbers = Numbers(31);
    for trial in 0..1000 {
        let rate = 1000.0 * 100.0_f64.powf(uniform(&mut numbers));
        let room = 6000.0 * uniform(&mut numbers);
        let mut plan = blocking(room);
        plan.access[0].up_bytes_per_s = rate;
        // A limit that nobody reaches changes nothing.
        plan.sites.capacity_bytes_per_s = vec![if trial % 2 == 0 { 0.0 } else { 1e13 }];
        let mut now = 0.0;
        let sends: Vec<Send> = (0..60)
            .map(|_| {
                now += 1500.0 / rate * uniform(&mut numbers);
                (now, 0, 1, HEADERS_BYTES + 1 + choose(&mut numbers, 1400))
            })
            .collect();
        let expected = outs(&sends, rate, room);
        let trace = simulated(plan, &sends);
        assert_eq!(counter(&trace, "queue_full"), 0);
        for ((found, out_s), send) in arrivals(&trace, 60).into_iter().zip(expected).zip(&sends) {
            let end_s = out_s + f64::from(send.3) / 1e12; // its way down
            let found = found.expect("nothing is lost");
            assert!((found - end_s).abs() < 1e-9 * end_s, "{found} {end_s}");
        }
    }
}

#[test]
fn twice_the_rate_of_a_link_goes_through_at_its_rate_later_and_later() {
    let sends: Vec<Send> = (0..100)
        .map(|at| (0.5 * f64::from(at), 0, 1, 1000))
        .collect();
    let trace = simulated(blocking(3000.0), &sends);
    for (at, end_s) in arrivals(&trace, 100).into_iter().enumerate() {
        assert!((end_s.expect("nothing is lost") - (at + 1) as f64).abs() < 1e-6);
    }
    let mut dropping = blocking(3000.0);
    dropping.access[0].blocks = false;
    let lost = counter(&simulated(dropping, &sends), "queue_full");
    assert!((40..=50).contains(&lost), "{lost} without waiting");
}

#[test]
fn phones_that_share_a_full_site_lose_nothing_either() {
    let mut plan = blocking(2000.0);
    plan.phones = crate::common::plan(4).phones;
    plan.phones.site = vec![0, 0, 0, 1];
    plan.sites.capacity_bytes_per_s = vec![1500.0, 0.0];
    let sends: Vec<Send> = (0..90).map(|at| (0.1, at % 3, 3, 1000)).collect();
    let trace = simulated(plan, &sends);
    let mut ends_s = arrivals(&trace, 90)
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    ends_s.sort_by(f64::total_cmp);
    assert_eq!((ends_s.len(), counter(&trace, "queue_full")), (90, 0));
    assert!((ends_s[89] - (0.1 + 60.0)).abs() < 1e-6, "{}", ends_s[89]);
}

/// Two tasks that each have three datagrams to send at once.
fn two_tasks(_: u32, cue: Cue) -> Vec<Act> {
    let task = Lane::FIRST_TASK;
    match cue {
        Cue::Asked(0) => vec![post(task, 10), post(task + 1, 20)],
        Cue::Asked(first) => (first..first + 3).map(|at| send(1, at, 972)).collect(),
        Cue::Got(parcel) => vec![say(parcel.number)],
        Cue::Failed(_) => vec![],
    }
}

#[test]
fn lanes_go_on_in_the_order_in_which_they_began_to_wait() {
    for capacity_bytes_per_s in [0.0, 1e13] {
        let mut plan = blocking(1000.0);
        plan.sites.capacity_bytes_per_s = vec![capacity_bytes_per_s];
        crate::common::arrive(&mut plan, 1.0, 0, 1);
        plan.workload.payload_bytes[0] = 0;
        assert_eq!(
            said(&act_in_hybrid(plan, two_tasks)),
            [10, 11, 20, 12, 21, 22]
        );
    }
}

#[test]
fn what_a_phone_that_goes_off_had_not_sent_is_cut_off() {
    for capacity_bytes_per_s in [0.0, 1e13] {
        let mut plan = blocking(1000.0);
        plan.sites.capacity_bytes_per_s = vec![capacity_bytes_per_s];
        turn(&mut plan, 1.5, 0, false);
        turn(&mut plan, 1.75, 0, true);
        for time_s in [1.0, 1.875] {
            crate::common::arrive(&mut plan, time_s, 0, 1);
        }
        plan.workload.payload_bytes = vec![10, 20];
        let trace = act_in_hybrid(plan, two_tasks);
        assert_eq!(said(&trace), [20, 21, 22]);
        // One was on the air, one waited for room, and one was no datagram yet.
        assert_eq!(counter(&trace, "datagrams_cut_off"), 1);
        let reasons = |kind| crate::common::reasons(&trace, kind);
        assert_eq!(reasons(EventKind::Drop), [Reason::SenderOff; 2]);
        assert_eq!(reasons(EventKind::Lose), [Reason::SenderOff]);
        assert_eq!(counter(&trace, "datagrams_sent"), 4);
    }
}
