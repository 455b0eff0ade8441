//! The timeline: when lanes spent what, when datagrams were under way, and what it costs a trace.

use crate::common::puppet::{act, act_in_hybrid, post, say, send, work, Act, Cue};
use crate::common::{arrive, cost, counter, plan, trade, trade_where, turn, Flights, Numbers};
use crate::common::{BYTES_PER_S, LATENCY_S};
use _engine::cost::table::Cost;
use _engine::plan::Plan;
use _engine::record::timeline::{Row, Timeline, NONE, NO_CODE, NO_MESSAGE};
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{Lane, NodeId, Operation, Reason, Seconds};

const TASK: u32 = Lane::FIRST_TASK;

/// Two phones, of which the first is asked for something at 1 s.
fn asked() -> Plan {
    let mut plan = plan(2);
    plan.trace.mode = "work".into();
    arrive(&mut plan, 1.0, 0, 1);
    plan
}

fn timeline(trace: &Trace) -> &Timeline {
    trace.timeline.as_ref().expect("the plan asked for it")
}

/// Phone, lane, operation, begin and end of every row of work.
fn works(trace: &Trace) -> Vec<(u32, u32, Operation, Seconds, Seconds)> {
    let spans = &timeline(trace).spans;
    (0..spans.begin_s.len())
        .filter(|&row| spans.operation[row] != NO_CODE)
        .map(|row| {
            let operation = Operation::ALL[spans.operation[row] as usize];
            let (begin_s, end_s) = (spans.begin_s[row], spans.end_s[row]);
            (spans.node[row], spans.lane[row], operation, begin_s, end_s)
        })
        .collect()
}

/// Sender, receiver, begin, end and reason of every datagram.
fn datagrams(trace: &Trace) -> Vec<(u32, u32, Seconds, Seconds, u8)> {
    let spans = &timeline(trace).spans;
    (0..spans.begin_s.len())
        .filter(|&row| spans.operation[row] == NO_CODE)
        .inspect(|&row| assert_eq!(spans.lane[row], NONE))
        .map(|row| {
            let (begin_s, end_s) = (spans.begin_s[row], spans.end_s[row]);
            (
                spans.node[row],
                spans.peer[row],
                begin_s,
                end_s,
                spans.reason[row],
            )
        })
        .collect()
}

/// What the phone that is asked does; others do nothing.
fn when_asked(acts: impl Fn() -> Vec<Act> + Clone) -> impl FnMut(u32, Cue) -> Vec<Act> + Clone {
    move |_, cue| match cue {
        Cue::Asked(_) => acts(),
        Cue::Got(_) | Cue::Failed(_) => vec![],
    }
}

#[test]
fn a_piece_of_work_is_shared_by_what_its_operations_cost() {
    let mut plan = asked();
    cost(&mut plan, Operation::Sign, 0.25);
    cost(&mut plan, Operation::Verify, 0.5);
    let acts = || {
        vec![
            work(Operation::Sign),
            work(Operation::Hash), // free
            work(Operation::Verify),
            say(1),
            work(Operation::Sign),
        ]
    };
    let trace = act(plan, when_asked(acts));
    let send = Lane::SEND.0;
    assert_eq!(
        works(&trace),
        [
            (0, send, Operation::Sign, 1.0, 1.25),
            (0, send, Operation::Verify, 1.25, 1.75),
            (0, send, Operation::Sign, 1.75, 2.0),
        ]
    );
    let spans = &timeline(&trace).spans;
    assert_eq!(spans.peer, [NONE; 3]);
    assert_eq!(spans.message, [NO_MESSAGE; 3]);
    assert_eq!(spans.reason, [NO_CODE; 3]);
}

#[test]
fn waiting_without_a_core_is_work_of_the_lane() {
    let mut plan = asked();
    plan.profiles[0].wait_s[Operation::Discovery as usize] = 0.5;
    cost(&mut plan, Operation::Sign, 0.25);
    let acts = || vec![work(Operation::Discovery), work(Operation::Sign)];
    let trace = act(plan, when_asked(acts));
    let found = works(&trace);
    assert_eq!((found[0].3, found[0].4), (1.0, 1.5));
    assert_eq!((found[1].3, found[1].4), (1.5, 1.75));
}

#[test]
fn lanes_of_a_phone_are_told_apart() {
    let mut plan = asked();
    cost(&mut plan, Operation::Sign, 1.0);
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(1) => vec![work(Operation::Sign)],
        Cue::Asked(_) => vec![post(TASK, 1), post(TASK + 1, 1)],
        Cue::Got(_) | Cue::Failed(_) => vec![],
    });
    let found = works(&trace);
    let lanes = found
        .iter()
        .map(|&(_, lane, _, begin_s, _)| (lane, begin_s));
    assert_eq!(lanes.collect::<Vec<_>>(), [(TASK, 1.0), (TASK + 1, 1.0)]);
}

#[test]
fn a_datagram_is_under_way_until_it_is_at_the_socket() {
    let mut plan = asked();
    cost(&mut plan, Operation::UdpSend, 0.5);
    let acts = || vec![work(Operation::UdpSend), send(1, 7, 972)];
    let trace = act(plan, when_asked(acts));
    let arrival_s = 1.5 + LATENCY_S + 1000.0 / BYTES_PER_S; // with 28 bytes of headers
    assert_eq!(datagrams(&trace), [(0, 1, 1.5, arrival_s, NO_CODE)]);
    let spans = &timeline(&trace).spans;
    assert_eq!((spans.size_bytes[1], spans.message[1]), (972, 7));
}

#[test]
fn a_lost_datagram_ends_with_a_reason() {
    let mut plan = asked();
    plan.access[0].loss_ratio = 1.0;
    let trace = act(plan, when_asked(|| vec![send(1, 7, 972)]));
    let (_, _, _, end_s, reason) = datagrams(&trace)[0];
    assert_eq!(reason, Reason::LinkLoss as u8);
    assert!(end_s > 1.0);
}

/// Since when and until when each datagram waits for its sender's radio and for its receiver's.
fn waits(trace: &Trace) -> Vec<[[Seconds; 2]; 2]> {
    let spans = &timeline(trace).spans;
    let of = |row: usize, link: usize| [spans.from_s[link][row], spans.until_s[link][row]];
    (0..spans.begin_s.len())
        .map(|row| [of(row, 0), of(row, 1)])
        .collect()
}

/// Three datagrams at once, a second each up and half a second down, on sites of this capacity.
fn queued(capacity_bytes_per_s: f64) -> Plan {
    let mut plan = asked();
    let access = &mut plan.access[0];
    (access.up_bytes_per_s, access.down_bytes_per_s) = (1000.0, 2000.0);
    (access.up_queue_bytes, access.latency_s) = (Some(2500.0), 0.0);
    plan.sites.capacity_bytes_per_s = vec![capacity_bytes_per_s, capacity_bytes_per_s];
    plan.phones.site[1] = 1;
    plan
}

fn send_three(_: u32, cue: Cue) -> Vec<Act> {
    match cue {
        Cue::Asked(_) => (0..3).map(|number| send(1, number, 972)).collect(),
        Cue::Got(_) | Cue::Failed(_) => vec![],
    }
}

#[test]
fn a_row_says_when_a_datagram_waited_for_radios() {
    for capacity_bytes_per_s in [0.0, 1e9] {
        let trace = act_in_hybrid(queued(capacity_bytes_per_s), send_three);
        let found = waits(&trace);
        let (first, second, third) = (found[0], found[1], found[2]);
        assert_eq!(first, [[1.0, 1.0], [2.0, 2.0]]);
        assert_eq!(second, [[1.0, 2.0], [3.0, 3.0]]);
        assert!(third.iter().flatten().all(|date| date.is_nan()), "no room");
    }
}

#[test]
fn nobody_waits_beyond_the_going_off_of_the_phone() {
    for capacity_bytes_per_s in [0.0, 1e9] {
        let mut plan = queued(capacity_bytes_per_s);
        turn(&mut plan, 1.25, 0, false);
        let trace = act_in_hybrid(plan, send_three);
        assert_eq!(waits(&trace)[1][0], [1.0, 1.25]);

        let mut plan = queued(capacity_bytes_per_s);
        plan.access[0].down_bytes_per_s = 500.0;
        turn(&mut plan, 3.5, 1, false);
        let trace = act_in_hybrid(plan, send_three);
        assert_eq!(waits(&trace)[1][1], [3.0, 3.5]);
    }
}

#[test]
fn what_waits_still_has_no_end() {
    let mut plan = queued(1e9);
    plan.duration_s = 1.5;
    let trace = act_in_hybrid(plan, send_three);
    let [from_s, until_s] = waits(&trace)[1][0];
    assert!(from_s == 1.0 && until_s.is_nan(), "{until_s}");
}

#[test]
fn a_full_socket_drops_what_arrives() {
    let mut plan = asked();
    cost(&mut plan, Operation::Sign, 9.0);
    plan.profiles[0].socket_buffer_bytes = 2304;
    let trace = act(plan, |_, cue| match cue {
        Cue::Asked(_) => (0..3).map(|number| send(1, number, 1200)).collect(),
        Cue::Got(_) => vec![work(Operation::Sign)],
        Cue::Failed(_) => vec![],
    });
    let reasons: Vec<_> = datagrams(&trace).iter().map(|of| of.4).collect();
    // One is being read, one fits.
    assert_eq!(reasons, [NO_CODE, NO_CODE, Reason::BufferFull as u8]);
}

#[test]
fn what_goes_off_cuts_its_work_and_nobody_elses() {
    let mut plan = asked();
    arrive(&mut plan, 1.0, 1, 0);
    cost(&mut plan, Operation::Sign, 1.0);
    turn(&mut plan, 1.5, 0, false);
    turn(&mut plan, 3.0, 0, true);
    let trace = act(plan, when_asked(|| vec![work(Operation::Sign)]));
    let ends: Vec<_> = works(&trace).iter().map(|of| (of.0, of.4)).collect();
    assert_eq!(ends, [(0, 1.5), (1, 2.0)]);
    let reasons = &timeline(&trace).spans.reason;
    assert_eq!(reasons, &[Reason::SenderOff as u8, NO_CODE]);
}

#[test]
fn what_has_not_ended_when_the_run_does_has_no_end() {
    let mut plan = asked();
    plan.duration_s = 1.5;
    cost(&mut plan, Operation::Sign, 1.0);
    let trace = act(plan, when_asked(|| vec![work(Operation::Sign)]));
    assert!(works(&trace)[0].4.is_nan());
}

#[test]
fn rows_beyond_the_limit_are_counted() {
    let mut timeline = Timeline::new(3);
    let phones = [NodeId(0), NodeId(1)];
    let sign = |timeline: &mut Timeline, count| {
        for _ in 0..count {
            let cost = Cost {
                cpu_s: 1.0,
                wait_s: 0.0,
            };
            timeline.draw((Operation::Sign.into(), 1), cost);
        }
    };
    sign(&mut timeline, 2);
    timeline.begin(1.0, 0, Lane::SEND);
    sign(&mut timeline, 2);
    timeline.begin(1.0, 1, Lane::SEND);
    assert_eq!(timeline.left_out, 2);
    assert_ne!(timeline.launch(2.0, phones, 10, None), Row::NONE);
    let late = timeline.launch(2.0, phones, 10, None);
    assert_eq!((late, timeline.left_out), (Row::NONE, 3));
    // What was not kept may end.
    timeline.land(3.0, late, Some(Reason::LinkLoss));
    timeline.end(3.0, 1, Lane::SEND);
    timeline.end(3.0, 0, Lane::SEND);
    assert_eq!(timeline.spans.end_s[..2], [2.0, 3.0]);
    assert_eq!(timeline.spans.begin_s, [1.0, 2.0, 2.0]);
}

/// A plan of trades among phones that come and go.
fn busy(mode: &str) -> Plan {
    let (mut plan, mut numbers) = (plan(8), Numbers(1));
    plan.trace.mode = mode.into();
    plan.access[0].loss_ratio = 0.05;
    for operation in [Operation::Sign, Operation::Verify, Operation::UdpReceive] {
        cost(&mut plan, operation, 0.02);
    }
    for number in 0..400 {
        let (from, step) = (numbers.draw() % 8, 1 + numbers.draw() % 7);
        arrive(&mut plan, f64::from(number) * 0.02, from, (from + step) % 8);
    }
    for phone in 0..4 {
        turn(&mut plan, 2.0 + f64::from(phone), phone, false);
        turn(&mut plan, 2.5 + f64::from(phone), phone, true);
    }
    plan
}

#[test]
fn events_and_counters_are_those_of_a_full_trace() {
    let (full, with) = (trade(busy("full")), trade(busy("work")));
    assert!(full.timeline.is_none());
    assert!(full.columns.time_s.len() > 500);
    assert_eq!(format!("{:?}", full.columns), format!("{:?}", with.columns));
    assert_eq!(full.counters(), with.counters());
    assert_eq!(full.cpu_s(), with.cpu_s());
}

#[test]
fn every_datagram_and_every_second_of_a_core_is_there() {
    let (trace, _) = trade_where(busy("work"), Flights::Fail);
    let sent = datagrams(&trace);
    assert_eq!(sent.len() as u64, counter(&trace, "datagrams_sent"));
    let dropped = sent.iter().filter(|of| of.4 != NO_CODE).count() as u64;
    assert_eq!(dropped, counter(&trace, "datagrams_dropped"));
    assert!(dropped > 10);
    assert!(sent.iter().all(|of| of.3 >= of.2));
    let found = works(&trace);
    // Free operations are left out; what was cut off took less than was asked for.
    let spent_s: Seconds = found.iter().map(|of| of.4 - of.3).sum();
    let asked_s: Seconds = trace.cpu_s().values().sum();
    assert!(spent_s <= asked_s + 1e-9 && spent_s > 0.9 * asked_s);
    let cut = timeline(&trace).spans.reason.iter();
    assert!(
        cut.filter(|&&reason| reason == Reason::SenderOff as u8)
            .count()
            > 0
    );
}

#[test]
fn work_of_a_lane_never_overlaps() {
    let (trace, _) = trade_where(busy("work"), Flights::Fail);
    let mut found = works(&trace);
    found.sort_by(|one, other| {
        (one.0, one.1)
            .cmp(&(other.0, other.1))
            .then(one.3.total_cmp(&other.3))
    });
    for pair in found.windows(2) {
        let same_lane = (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1);
        assert!(!same_lane || pair[0].4 <= pair[1].3, "{pair:?}");
    }
}
