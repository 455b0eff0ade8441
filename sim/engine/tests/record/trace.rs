//! What a trace keeps: all of it, a sample of transactions, and no more than a benchmark's log.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{arrive, trade};
use _engine::cost::table::Priced;
use _engine::plan::{self, Plan};
use _engine::record::aggregates::LINGERING_MIN;
use _engine::record::summary::Standing;
use _engine::record::trace::{Columns, Tally, Trace, NO_REASON};
use pocketsim_protocols::contract::{Event, EventKind, MessageId, NodeId, Operation, Reason};

fn keeping(mode: &str, sample_ratio: f64, log_capacity: u64) -> Trace {
    let mut plan = crate::common::plan(4);
    plan.trace = plan::Trace {
        mode: mode.into(),
        sample_ratio,
        log_capacity,
        tokens: false,
        blocks: false,
    };
    Trace::new(&plan)
}

fn event(kind: EventKind, number: u64) -> Event {
    Event::new(kind, MessageId(number), NodeId(3), 668)
}

/// Two phones of `plan` trade a thousand times, by turns.
fn trade_by_turns(mut plan: Plan) -> Trace {
    for number in 0..1000 {
        let from = number % 2;
        arrive(&mut plan, f64::from(number) * 0.05, from, 1 - from);
    }
    trade(plan)
}

fn thousand(mode: &str, sample_ratio: f64) -> Trace {
    let mut plan = crate::common::plan(2);
    plan.trace.mode = mode.into();
    plan.trace.sample_ratio = sample_ratio;
    plan.access[0].loss_ratio = 0.05;
    trade_by_turns(plan)
}

/// How many rows each transaction has.
fn rows(columns: &Columns) -> BTreeMap<u64, usize> {
    let mut rows = BTreeMap::new();
    for &message in &columns.message {
        *rows.entry(message).or_default() += 1;
    }
    rows
}

#[test]
fn a_row_is_what_was_recorded() {
    let mut trace = keeping("full", 1.0, 0);
    trace.record(1.5, NodeId(2), &event(EventKind::Store, 7));
    let lost = event(EventKind::Lose, 8).because(Reason::SocketTimeout);
    trace.record(2.5, NodeId(0), &lost);
    let columns = &trace.columns;
    assert_eq!(columns.time_s, [1.5, 2.5]);
    assert_eq!(columns.node, [2, 0]);
    assert_eq!(
        columns.kind,
        [EventKind::Store as u8, EventKind::Lose as u8]
    );
    assert_eq!(columns.message, [7, 8]);
    assert_eq!(columns.peer, [3, 3]);
    assert_eq!(columns.size_bytes, [668, 668]);
    assert_eq!(columns.reason, [NO_REASON, Reason::SocketTimeout as u8]);
    assert_eq!(columns.logged, [1, 1]);
}

#[test]
fn a_sample_keeps_about_its_share_of_transactions() {
    for ratio in [0.1, 0.5, 0.9] {
        let mut trace = keeping("sampled", ratio, 0);
        for number in 0..100_000 {
            trace.record(0.0, NodeId(0), &event(EventKind::Send, number));
        }
        let kept = trace.columns.message.len() as f64 / 100_000.0;
        // Standard error: at most 0.0016.
        assert!((kept - ratio).abs() < 0.01, "{kept} of {ratio}");
    }
}

#[test]
fn a_sample_of_everything_is_the_whole_and_of_nothing_is_empty() {
    let full = thousand("full", 0.0);
    let all = thousand("sampled", 1.0);
    assert_eq!(full.columns.message, all.columns.message);
    assert_eq!(full.columns.time_s, all.columns.time_s);
    assert!(thousand("sampled", 0.0).columns.message.is_empty());
}

#[test]
fn a_transaction_is_kept_with_all_its_rows_or_not_at_all() {
    let (full, sampled) = (thousand("full", 1.0), thousand("sampled", 0.3));
    let (full, kept) = (rows(&full.columns), rows(&sampled.columns));
    assert!((200..400).contains(&kept.len()), "{}", kept.len());
    for (message, count) in &kept {
        assert_eq!(full[message], *count);
    }
}

#[test]
fn a_larger_sample_has_all_of_a_smaller_one() {
    let [few, many] = [0.2, 0.4].map(|ratio| {
        let kept = thousand("sampled", ratio).columns.message;
        kept.into_iter().collect::<BTreeSet<u64>>()
    });
    assert!(few.len() < many.len());
    assert!(few.is_subset(&many));
}

#[test]
fn sampling_changes_no_counter() {
    let (full, sampled) = (thousand("full", 1.0), thousand("sampled", 0.1));
    assert_eq!(full.counters(), sampled.counters());
    assert_eq!(full.counters()["send"], 1000);
}

#[test]
#[should_panic(expected = "unknown trace mode \"some\"")]
fn a_mode_that_nobody_knows_is_a_mistake() {
    keeping("some", 1.0, 0);
}

#[test]
fn a_log_counts_what_the_benchmark_writes_and_each_phone_has_its_own() {
    let mut trace = keeping("full", 1.0, 2);
    for (node, kind) in [
        (0, EventKind::Send),
        (0, EventKind::Drop),
        (1, EventKind::Send),
        (0, EventKind::ReceiveBack),
        (0, EventKind::Store),
        (0, EventKind::Lose),
        (1, EventKind::Store),
        (1, EventKind::Store),
    ] {
        trace.record(0.0, NodeId(node), &event(kind, 1));
    }
    assert_eq!(trace.columns.logged, [1, 1, 1, 1, 0, 1, 1, 0]);
}

#[test]
fn without_a_capacity_a_log_never_fills_up() {
    let mut trace = keeping("full", 1.0, 0);
    for number in 0..10_000 {
        trace.record(0.0, NodeId(0), &event(EventKind::Send, number));
    }
    assert!(trace.columns.logged.iter().all(|&logged| logged == 1));
}

#[test]
fn a_log_fills_up_with_what_a_sample_leaves_out_as_well() {
    let logged = |mode| {
        let mut trace = keeping(mode, 0.5, 50);
        for number in 0..100 {
            trace.record(0.0, NodeId(0), &event(EventKind::Send, number));
        }
        let rows = trace.columns.message.into_iter().zip(trace.columns.logged);
        rows.collect::<BTreeMap<u64, u8>>()
    };
    let (full, sampled) = (logged("full"), logged("sampled"));
    assert!(sampled.values().any(|&logged| logged == 0));
    assert!(sampled
        .iter()
        .all(|(message, logged)| full[message] == *logged));
}

#[test]
fn what_never_happened_is_not_counted() {
    let mut trace = keeping("full", 1.0, 0);
    assert!(trace.counters().is_empty());
    trace.count(Tally::DatagramsSent);
    trace.add(Tally::AccessBytes, u32::MAX);
    trace.add(Tally::AccessBytes, u32::MAX);
    trace.count_drop(Tally::DatagramsDropped, Reason::LinkLoss);
    let counters: Vec<_> = trace.counters().into_iter().collect();
    let expected = [
        ("access_bytes", 2 * u64::from(u32::MAX)),
        ("datagrams_dropped", 1),
        ("datagrams_sent", 1),
        ("link_loss", 1),
    ];
    assert_eq!(counters, expected);
}

#[test]
fn core_seconds_of_what_was_never_asked_for_are_left_out() {
    let mut trace = keeping("full", 1.0, 0);
    trace.spend(Operation::Sign, 0.25);
    trace.spend(Operation::Sign, 0.5);
    trace.spend(Operation::Verify, 0.0);
    let spent: Vec<_> = trace.cpu_s().into_iter().collect();
    assert_eq!(spent, [("sign", 0.75)]);
}

#[test]
fn core_seconds_of_a_scenarios_own_operations_have_their_names() {
    let mut plan = crate::common::plan(1);
    plan.protocol.own_operations = vec!["one".into(), "other".into()];
    let mut trace = Trace::new(&plan);
    trace.spend(Priced::own(1), 0.5);
    trace.spend(Operation::Hash, 0.25);
    let spent: Vec<_> = trace.cpu_s().into_iter().collect();
    assert_eq!(spent, [("hash", 0.25), ("other", 0.5)]);
}

/// A thousand trades on which nothing is lost, two at a time at most.
fn quiet(mode: &str) -> Trace {
    let mut plan = crate::common::plan(2);
    plan.trace.mode = mode.into();
    trade_by_turns(plan)
}

#[test]
fn a_ledger_keeps_no_rows_and_holds_no_more_than_is_under_way() {
    let (full, quiet) = (quiet("full"), quiet("metrics"));
    assert!(quiet.columns.time_s.is_empty());
    assert_eq!(quiet.counters(), full.counters());
    let aggregates = quiet.aggregates.expect("there is one");
    let found = aggregates.summary();
    let all = Standing {
        sent: 1000,
        stored: 1000,
        lost: 0,
    };
    assert_eq!((found.all, found.logged), (all, all));
    assert_eq!((found.send_count, found.store_count), (1000, 1000));
    assert!((1..=2).contains(&found.held_max), "{}", found.held_max);
    assert_eq!(aggregates.held(), 0);
}

#[test]
fn a_ledger_counts_the_fates_that_rows_tell() {
    let (full, aggregates) = (thousand("full", 1.0), thousand("metrics", 1.0));
    assert_eq!(full.counters(), aggregates.counters());
    let columns = &full.columns;
    let messages = |kind: EventKind| {
        let rows = columns.message.iter().zip(&columns.kind);
        let own = rows.filter(|&(_, &of_row)| of_row == kind as u8);
        own.map(|(&message, _)| message).collect::<BTreeSet<u64>>()
    };
    let (sent, stored) = (messages(EventKind::Send), messages(EventKind::Store));
    let dropped = messages(EventKind::Drop);
    let lost = dropped.difference(&stored).count() as u64;
    let found = aggregates.aggregates.expect("there is one").summary();
    assert!(lost > 50, "{lost}");
    assert_eq!(found.all.sent, sent.len() as u64);
    assert_eq!(
        (found.all.stored, found.all.lost),
        (stored.len() as u64, lost)
    );
    assert_eq!(found.lost, BTreeMap::from([("link_loss", lost)]));
    assert_eq!(found.rtt.count.iter().sum::<u64>(), found.all.stored);
}

#[test]
fn what_is_lost_and_then_stored_is_stored_and_its_last_reason_counts_until_then() {
    let mut trace = keeping("metrics", 1.0, 0);
    let lost = |reason| event(EventKind::Drop, 0).because(reason);
    trace.record(1.0, NodeId(0), &event(EventKind::Send, 0));
    trace.record(1.5, NodeId(1), &lost(Reason::Duplicate));
    let found = |trace: &Trace| trace.aggregates.as_ref().expect("there is one").summary();
    assert!(found(&trace).lost.is_empty());
    trace.record(2.0, NodeId(1), &lost(Reason::LinkLoss));
    trace.record(3.0, NodeId(1), &lost(Reason::QueueFull));
    assert_eq!(found(&trace).lost, BTreeMap::from([("queue_full", 1)]));
    let refused = event(EventKind::Refuse, 0).because(Reason::Fork);
    trace.record(4.0, NodeId(1), &refused);
    assert_eq!(found(&trace).lost, BTreeMap::from([("queue_full", 1)]));
    trace.record(5.0, NodeId(0), &event(EventKind::Store, 0));
    trace.record(6.0, NodeId(1), &lost(Reason::LinkLoss));
    let found = found(&trace);
    assert!(found.lost.is_empty());
    assert_eq!((found.all.stored, found.all.lost), (1, 0));
    assert_eq!(found.rtt.sum_s, 4.0);
}

#[test]
fn a_full_log_says_what_was_known_when_it_had_its_last() {
    let mut trace = keeping("metrics", 1.0, 2);
    let lost = |number| event(EventKind::Drop, number).because(Reason::LinkLoss);
    for (time_s, row) in [
        (1.0, event(EventKind::Send, 0)),
        (2.0, event(EventKind::Send, 1)),
        (2.0, lost(0)),
        (3.0, lost(1)),
        (4.0, event(EventKind::Send, 2)),
        (5.0, event(EventKind::Store, 1)),
    ] {
        trace.record(time_s, NodeId(0), &row);
    }
    let found = trace.aggregates.expect("there is one").summary();
    let [known, all] =
        [[2, 0, 1], [3, 1, 1]].map(|[sent, stored, lost]| Standing { sent, stored, lost });
    assert_eq!((found.logged, found.all), (known, all));
    assert_eq!((found.send_count, found.store_count), (2, 0));
    assert_eq!((found.first_s, found.last_s), (Some(1.0), Some(2.0)));
}

#[test]
fn a_ledger_forgets_the_first_of_many_that_are_lost_and_counts_them_all() {
    let mut trace = keeping("metrics", 1.0, 0);
    let sent = 5 * LINGERING_MIN as u64;
    for number in 0..sent {
        trace.record(0.5, NodeId(0), &event(EventKind::Send, number));
        let lost = event(EventKind::Drop, number).because(Reason::LinkLoss);
        trace.record(0.5, NodeId(1), &lost);
    }
    let aggregates = trace.aggregates.expect("there is one");
    assert!((LINGERING_MIN..2 * LINGERING_MIN).contains(&aggregates.held()));
    let found = aggregates.summary();
    assert_eq!(found.lost, BTreeMap::from([("link_loss", sent)]));
    assert_eq!(found.forgotten + aggregates.held() as u64, sent);
    assert_eq!(found.all.lost, sent);
}
