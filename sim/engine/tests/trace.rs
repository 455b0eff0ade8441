//! What a trace keeps: all of it, a sample of transactions, and no more than a benchmark's log.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use _engine::costs::Priced;
use _engine::plan;
use _engine::trace::{Columns, Tally, Trace, NO_REASON};
use common::{arrive, trade};
use pocketsim_protocols::contract::{Event, EventKind, MessageId, NodeId, Operation, Reason};

fn keeping(mode: &str, sample_ratio: f64, log_capacity: u64) -> Trace {
    let options = plan::Trace {
        mode: mode.into(),
        sample_ratio,
        log_capacity,
        tokens: false,
        blocks: false,
    };
    Trace::new(&options, 4, &[])
}

fn event(kind: EventKind, number: u64) -> Event {
    Event::new(kind, MessageId(number), NodeId(3), 668)
}

/// A plan of a thousand trades between two phones.
fn thousand(mode: &str, sample_ratio: f64) -> Trace {
    let mut plan = common::plan(2);
    plan.trace.mode = mode.into();
    plan.trace.sample_ratio = sample_ratio;
    plan.access[0].loss_ratio = 0.05;
    for number in 0..1000 {
        arrive(
            &mut plan,
            f64::from(number) * 0.05,
            number % 2,
            1 - number % 2,
        );
    }
    trade(plan)
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
    let options = common::plan(1).trace;
    let mut trace = Trace::new(&options, 1, &["one".into(), "other".into()]);
    trace.spend(Priced::own(1), 0.5);
    trace.spend(Operation::Hash, 0.25);
    let spent: Vec<_> = trace.cpu_s().into_iter().collect();
    assert_eq!(spent, [("hash", 0.25), ("other", 0.5)]);
}
