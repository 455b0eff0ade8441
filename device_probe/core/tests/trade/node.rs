//! Two nodes whose letters a test carries.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;

use pocketsim_probe_core::trade::log::Run;
use pocketsim_probe_core::trade::node::{Letter, Node, Unattributed, MESSAGE_BYTES_MAX};
use pocketsim_probe_core::trade::store::{Storage, Store};
use pocketsim_probe_core::trade::Carrier;
use pocketsim_protocols::contract::{EventKind, NodeId, Reason};
use proptest::prelude::*;

/// A clock that moves a millisecond each time that it is read.
fn ticking() -> Arc<dyn Fn() -> f64 + Send + Sync> {
    let ticks = AtomicU64::new(0);
    Arc::new(move || ticks.fetch_add(1, Ordering::Relaxed) as f64 * 1e-3)
}

pub fn node(secret: u8) -> Node {
    Node::new([secret; 32], Store::default(), ticking())
}

/// A dialler and a listener who know each other and are in a repetition; their numbers there.
pub fn pair() -> (Node, Node, NodeId, NodeId) {
    let (dialler, listener) = (node(1), node(2));
    let at_dialler = dialler.introduce(listener.key(), 0).expect("room");
    let at_listener = listener.introduce(dialler.key(), 1).expect("room");
    dialler.set_number(1);
    dialler.begin(at_dialler, run(0, 0)).expect("room");
    listener.begin(at_listener, run(0, 0)).expect("room");
    (dialler, listener, at_dialler, at_listener)
}

/// A repetition of the first dialler.
fn run(repetition: u32, first_sequence: u32) -> Run {
    Run::new(1, repetition, Carrier::Udp, first_sequence)
}

pub fn only(letters: Vec<Letter>) -> Letter {
    let [letter] = <[Letter; 1]>::try_from(letters).expect("one letter");
    letter
}

fn kinds(node: &Node) -> Vec<&'static str> {
    node.with_log(|log| {
        log.records
            .iter()
            .map(|record| record.kind.name())
            .collect()
    })
}

#[test]
fn a_block_goes_there_and_back() {
    let (dialler, listener, peer, _) = pair();
    let proposal = only(dialler.propose(peer, 100));
    assert_eq!(dialler.open(), 1);
    let answer = only(listener.receive(&proposal.bytes).expect("of the dialler"));
    assert_eq!(dialler.receive(&answer.bytes), Ok(vec![]));
    assert_eq!(dialler.open(), 0);
    assert_eq!(kinds(&dialler), ["send", "receive_back", "store"]);
    assert_eq!(kinds(&listener), ["process", "store_peer"]);
    let (ours, theirs) = (dialler.tally(0), listener.tally(0));
    assert_eq!((ours.sent, ours.stored, theirs.stored), (1, 1, 1));
    assert_eq!(ours.digest, theirs.digest);
    assert_eq!(listener.summary(0).digest, ours.digest.to_bytes());
}

#[test]
fn both_ends_call_a_message_the_same() {
    let (dialler, listener, peer, _) = pair();
    let proposal = only(dialler.propose(peer, 100));
    listener.receive(&proposal.bytes).expect("of the dialler");
    let first = |node: &Node| node.with_log(|log| log.records[0]);
    let (sent, processed) = (first(&dialler), first(&listener));
    assert_eq!(sent.message, processed.message);
    assert_eq!(sent.message.origin(), NodeId(1));
    assert_eq!((sent.peer, processed.peer), (0, 1));
}

#[test]
fn a_round_trip_is_from_the_sending_to_the_storing() {
    let (dialler, listener, peer, _) = pair();
    let proposal = only(dialler.propose(peer, 100));
    for _ in 0..50 {
        dialler.now_s();
    }
    let answer = only(listener.receive(&proposal.bytes).expect("of the dialler"));
    dialler.receive(&answer.bytes).expect("of the listener");
    let times: Vec<f64> =
        dialler.with_log(|log| log.records.iter().map(|record| record.time_s).collect());
    let [sent_s, arrived_s, stored_s] = times[..] else {
        panic!("send, receive_back, store: {times:?}")
    };
    let tally = dialler.tally(0);
    let (rtt_s, response_s) = (tally.rtt_s[0], tally.response_s[0]);
    assert!((rtt_s - (stored_s - sent_s)).abs() < 1e-9, "T3 - T1");
    assert!((response_s - (arrived_s - sent_s)).abs() < 1e-9, "T2 - T1");
    assert!(response_s > 0.050 && rtt_s > response_s);
    assert!((dialler.recent_rtt_s(0) - rtt_s).abs() < 1e-9);
}

#[test]
fn what_a_stranger_or_nobody_sent_is_counted_and_left() {
    let (dialler, _, peer, _) = pair();
    let third = node(3);
    let proposal = only(dialler.propose(peer, 100)).bytes;
    assert_eq!(third.receive(&proposal), Err(Unattributed::Stranger));
    assert_eq!(
        third.receive(b"{\"payload\":"),
        Err(Unattributed::Malformed)
    );
    let huge = vec![b'{'; MESSAGE_BYTES_MAX + 1];
    assert_eq!(third.receive(&huge), Err(Unattributed::Oversized));
    let noise = third.noise();
    assert_eq!(
        (noise.strangers, noise.malformed, noise.oversized),
        (1, 1, 1)
    );
    assert!(kinds(&third).is_empty());
}

#[test]
fn a_block_of_its_own_that_comes_back_unanswered_is_no_peer_s() {
    let (dialler, _, peer, _) = pair();
    let proposal = only(dialler.propose(peer, 100)).bytes;
    // It names the listener as the other party, who has not signed: refused, not stored.
    assert_eq!(dialler.receive(&proposal), Ok(vec![]));
    assert_eq!(dialler.tally(0).stored, 0);
    assert_eq!(dialler.counts(0).2, 1);
}

#[test]
fn replays_and_cut_blocks_are_refused_by_reason() {
    let (dialler, listener, peer, _) = pair();
    let proposal = only(dialler.propose(peer, 100)).bytes;
    let answer = only(listener.receive(&proposal).expect("of the dialler")).bytes;
    assert_eq!(listener.receive(&proposal), Ok(vec![]));
    assert_eq!(
        listener.receive(&proposal[..proposal.len() - 1]),
        Ok(vec![])
    );
    dialler.receive(&answer).expect("of the listener");
    dialler.receive(&answer).expect("of the listener");
    let refused = |node: &Node| node.tally(0).refused.into_iter().collect::<Vec<_>>();
    assert_eq!(
        refused(&listener),
        [(Reason::Duplicate, 1), (Reason::Malformed, 1)]
    );
    assert_eq!(refused(&dialler), [(Reason::Duplicate, 1)]);
    assert_eq!((listener.tally(0).stored, dialler.tally(0).stored), (1, 1));
}

#[test]
fn what_the_carrier_gives_up_is_lost_for_that_reason() {
    let (dialler, listener, peer, _) = pair();
    let letter = only(dialler.propose(peer, 100));
    dialler.undelivered(&letter, Reason::ConnectTimeout);
    assert_eq!(dialler.open(), 0);
    assert_eq!(dialler.tally(0).lost[&Reason::ConnectTimeout], 1);
    let answer = only(listener.receive(&letter.bytes).expect("of the dialler"));
    listener.undelivered(&answer, Reason::ConnectionLost);
    assert_eq!(listener.tally(0).lost[&Reason::ConnectionLost], 1);
    assert_eq!(kinds(&listener), ["process", "store_peer", "lose"]);
    dialler.receive(&answer.bytes).expect("of the listener");
    assert_eq!(dialler.tally(0).refused[&Reason::ConnectTimeout], 1);
}

#[test]
fn what_is_abandoned_is_lost_and_does_not_come_back() {
    let (dialler, listener, peer, _) = pair();
    let letters: Vec<Letter> = (0..3).map(|_| only(dialler.propose(peer, 100))).collect();
    let answer = only(listener.receive(&letters[1].bytes).expect("of the dialler"));
    assert!(dialler.silence_s() > 0.0);
    dialler.abandon(Reason::SocketTimeout);
    assert_eq!((dialler.open(), dialler.silence_s()), (0, 0.0));
    assert_eq!(dialler.tally(0).lost[&Reason::SocketTimeout], 3);
    dialler.receive(&answer.bytes).expect("of the listener");
    assert_eq!(dialler.tally(0).refused[&Reason::SocketTimeout], 1);
    assert_eq!(dialler.tally(0).stored, 0);
}

#[test]
fn a_late_message_counts_in_the_repetition_that_it_is_of() {
    let (dialler, listener, at_dialler, at_listener) = pair();
    let late = only(dialler.propose(at_dialler, 100));
    let lost = only(dialler.propose(at_dialler, 100));
    dialler.abandon(Reason::SocketTimeout);
    for repetition in 1..3 {
        let run = run(repetition, dialler.next_sequence());
        dialler.begin(at_dialler, run.clone()).expect("room");
        listener.begin(at_listener, run).expect("room");
        let proposal = only(dialler.propose(at_dialler, 100)).bytes;
        let answer = only(listener.receive(&proposal).expect("of the dialler")).bytes;
        dialler.receive(&answer).expect("of the listener");
    }
    let answer = only(listener.receive(&late.bytes).expect("of the dialler"));
    listener.receive(&late.bytes).expect("of the dialler");
    dialler.receive(&answer.bytes).expect("of the listener");
    dialler.undelivered(&lost, Reason::LinkLoss);
    let stored = |node: &Node| [0, 1, 2].map(|place| node.tally(place).stored);
    assert_eq!(
        (stored(&listener), stored(&dialler)),
        ([1, 1, 1], [0, 1, 1])
    );
    for place in [1, 2] {
        let (ours, theirs) = (dialler.tally(place), listener.summary(place));
        assert_eq!(theirs.digest, ours.digest.to_bytes());
        assert!(ours.refused.is_empty() && ours.lost.is_empty());
        assert_eq!(theirs.refused, []);
    }
    assert_eq!(listener.summary(0).refused, [(Reason::Duplicate, 1)]);
    let first = dialler.tally(0);
    assert_eq!(first.lost[&Reason::SocketTimeout], 2);
    assert_eq!(first.refused[&Reason::SocketTimeout], 1);
    let of = |node: &Node| node.with_log(|log| log.records.last().map(|record| record.run));
    assert_eq!(
        (of(&dialler), of(&listener)),
        (Some(0), Some(0)),
        "in the file too"
    );
}

#[test]
fn what_is_of_no_repetition_counts_in_the_present_one() {
    let (dialler, listener, at_dialler, at_listener) = pair();
    listener.begin(at_listener, run(1, 7)).expect("room");
    let proposal = only(dialler.propose(at_dialler, 100)).bytes;
    let cut = &proposal[..proposal.len() - 1];
    listener.receive(cut).expect("it names the dialler");
    assert_eq!(listener.tally(1).refused[&Reason::Malformed], 1);
    // Nothing is known of what was before the first one that this end knows.
    let fresh = node(4);
    let known = fresh.introduce(dialler.key(), 1).expect("room");
    fresh.begin(known, run(3, 7)).expect("room");
    fresh.receive(&proposal).expect("of the dialler");
    assert_eq!(fresh.tally(0).refused[&Reason::WrongReceiver], 1);
}

#[test]
fn silence_lasts_from_a_proposal_until_something_is_stored() {
    let (dialler, listener, peer, _) = pair();
    assert_eq!(dialler.silence_s(), 0.0);
    let lost = only(dialler.propose(peer, 100));
    dialler.undelivered(&lost, Reason::Unserved);
    assert_eq!(dialler.open(), 0);
    assert!(
        dialler.silence_s() > 0.0,
        "given up at once, but nothing comes back all the same"
    );
    let proposal = only(dialler.propose(peer, 100)).bytes;
    let answer = only(listener.receive(&proposal).expect("of the dialler")).bytes;
    dialler.receive(&answer).expect("of the listener");
    assert_eq!(dialler.silence_s(), 0.0);
}

#[test]
fn a_new_listener_takes_over_in_the_same_chain() {
    let (dialler, old, peer, _) = pair();
    for _ in 0..3 {
        let proposal = only(dialler.propose(peer, 100)).bytes;
        let answer = only(old.receive(&proposal).expect("of the dialler")).bytes;
        dialler.receive(&answer).expect("of the listener");
    }
    let new = node(4);
    let peer = dialler.introduce(new.key(), 0).expect("room");
    dialler.assign(peer, 0);
    new.introduce(dialler.key(), 1).expect("room");
    let proposal = only(dialler.propose(peer, 100)).bytes;
    let answer = only(new.receive(&proposal).expect("of the dialler")).bytes;
    dialler.receive(&answer).expect("of the new listener");
    assert_eq!(dialler.tally(0).stored, 4);
}

#[test]
fn stored_blocks_are_appended_to_a_file_that_goes_with_the_node() {
    let folder = tempfile::tempdir().expect("a folder");
    for storage in [Storage::Append, Storage::Fsync] {
        let store = Store::open(storage, folder.path()).expect("a file");
        let listener = Node::new([2; 32], store, ticking());
        let (dialler, _, peer, _) = pair();
        listener.introduce(dialler.key(), 1).expect("room");
        let proposal = only(dialler.propose(peer, 100)).bytes;
        let answer = only(listener.receive(&proposal).expect("of the dialler")).bytes;
        assert_eq!(nameless(folder.path()), [answer]);
        let named = std::fs::read_dir(folder.path()).expect("it").count();
        assert_eq!(named, 0, "nothing to be left behind by a kill");
        drop(listener);
        assert!(nameless(folder.path()).is_empty());
    }
}

/// The content of the files of this process that were in `folder`.
fn nameless(folder: &std::path::Path) -> Vec<Vec<u8>> {
    let open = std::fs::read_dir("/proc/self/fd").expect("Linux");
    let open = open.filter_map(|entry| Some(entry.ok()?.path()));
    let here = |link: &std::path::PathBuf| {
        let target = std::fs::read_link(link).unwrap_or_default();
        target.starts_with(folder) && target.to_string_lossy().ends_with(" (deleted)")
    };
    open.filter(here)
        .map(|link| std::fs::read(link).expect("readable"))
        .collect()
}

/// A disk that is always full.
fn full_disk() -> Store {
    let file = std::fs::File::options().append(true).open("/dev/full");
    Store::on(file.expect("Linux"), Storage::Append)
}

#[test]
fn a_full_disk_is_counted_and_its_blocks_are_not_vouched_for() {
    let listener = Node::new([2; 32], full_disk(), ticking());
    let (dialler, _, peer, _) = pair();
    let known = listener.introduce(dialler.key(), 1).expect("room");
    listener.begin(known, run(0, 0)).expect("room");
    let proposal = only(dialler.propose(peer, 100)).bytes;
    let answer = listener.receive(&proposal).expect("of the dialler");
    assert_eq!(answer.len(), 1, "the trade goes on");
    assert_eq!(listener.store_failures(), 1);
    assert_eq!(listener.tally(0).store_failures, 1);
    let summary = listener.summary(0);
    assert_eq!((summary.stored, summary.digest), (0, [0; 32]));
}

#[test]
fn a_store_at_its_limit_refuses_what_it_could_not_keep_and_the_file_grows_no_more() {
    let folder = tempfile::tempdir().expect("a folder");
    let limit_bytes = 5_000;
    let store = Store::open(Storage::Append, folder.path()).expect("a file");
    let listener = Node::new([2; 32], store.limited_to(limit_bytes), ticking());
    let (dialler, _, peer, _) = pair();
    let known = listener.introduce(dialler.key(), 1).expect("room");
    listener.begin(known, run(0, 0)).expect("room");
    let mut answered = 0;
    for _ in 0..50 {
        let proposal = only(dialler.propose(peer, 100)).bytes;
        let answers = listener.receive(&proposal).expect("of the dialler");
        answered += answers.len();
        for answer in answers {
            dialler.receive(&answer.bytes).expect("of the listener");
        }
    }
    let summary = listener.summary(0);
    assert!((1..50).contains(&answered), "{answered}");
    assert_eq!(
        summary.stored, answered as u64,
        "all that it vouched for is there"
    );
    assert_eq!(summary.digest, dialler.tally(0).digest.to_bytes());
    assert_eq!(
        summary.refused,
        [(Reason::BufferFull, 50 - answered as u32)]
    );
    assert_eq!(
        (listener.store_full(), listener.store_failures()),
        (50 - answered as u64, 0)
    );
    let kept = nameless(folder.path());
    assert!(kept[0].len() as u64 <= limit_bytes, "{}", kept[0].len());
    assert!(
        kept[0].len() as u64 + 1_000 > limit_bytes,
        "{}",
        kept[0].len()
    );
}

#[test]
fn a_dialler_proposes_no_more_than_its_own_store_takes() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(Storage::Append, folder.path()).expect("a file");
    let dialler = Node::new([1; 32], store.limited_to(5_000), ticking());
    let (_, listener, _, _) = pair();
    let peer = dialler.introduce(listener.key(), 0).expect("room");
    let mut proposals = Vec::new();
    while dialler.has_store_room(100) {
        assert!(proposals.len() < 50, "no end");
        proposals.extend(dialler.propose(peer, 100));
    }
    for proposal in &proposals {
        for answer in listener.receive(&proposal.bytes).expect("of the dialler") {
            dialler.receive(&answer.bytes).expect("of the listener");
        }
    }
    assert!(!proposals.is_empty());
    assert_eq!((dialler.open(), dialler.store_failures()), (0, 0));
}

#[test]
fn a_repetition_begins_with_the_first_block_and_not_with_the_talk_before() {
    let (dialler, listener, peer, _) = pair();
    let started = |node: &Node| node.with_log(|log| log.runs[0].started_s);
    assert_eq!((started(&dialler), started(&listener)), (None, None));
    for _ in 0..100 {
        dialler.now_s();
        listener.now_s();
    }
    for _ in 0..2 {
        let proposal = only(dialler.propose(peer, 100)).bytes;
        listener.receive(&proposal).expect("of the dialler");
    }
    for node in [&dialler, &listener] {
        let first_s = node.with_log(|log| log.records[0].time_s);
        assert!(first_s > 0.09, "after the talk: {first_s}");
        assert_eq!(started(node), Some(first_s));
    }
}

/// The window of `pocketsim.sim.metrics.repetitions._window_s`, from the events.
#[test]
fn the_window_is_from_the_first_to_the_last_send_or_store() {
    let (dialler, listener, peer, _) = pair();
    let letters: Vec<Letter> = (0..3).map(|_| only(dialler.propose(peer, 100))).collect();
    for letter in &letters[..2] {
        let answer = only(listener.receive(&letter.bytes).expect("of the dialler"));
        dialler.receive(&answer.bytes).expect("of the listener");
    }
    dialler.now_s();
    dialler.undelivered(&letters[2], Reason::LinkLoss);
    let counts = |kind| matches!(kind, EventKind::Send | EventKind::Store);
    let times: Vec<f64> = dialler.with_log(|log| {
        let records = log.records.iter().filter(|record| counts(record.kind));
        records.map(|record| record.time_s).collect()
    });
    assert_eq!(times.len(), 5);
    let whole = times.iter().copied().fold(f64::INFINITY, f64::min)
        ..times.iter().copied().fold(0.0, f64::max);
    assert_eq!(dialler.tally(0).window_s, Some((whole.start, whole.end)));
    let last_s = dialler.with_log(|log| log.records.last().expect("a loss").time_s);
    assert!(whole.end < last_s, "the loss after it does not count");
    assert_eq!(
        listener.tally(0).window_s,
        None,
        "proposals and their stores"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_bytes_are_too_strange(at in 0usize..600, byte: u8, cut in 0usize..600) {
        let (dialler, listener, peer, _) = pair();
        let mut bytes = only(dialler.propose(peer, 100)).bytes;
        let length = bytes.len();
        let before = bytes.clone();
        bytes[at % length] = byte;
        bytes.truncate(length - cut % length);
        let stored = listener.receive(&bytes).is_ok_and(|letters| !letters.is_empty());
        prop_assert_eq!(stored, bytes == before);
        let kinds = [EventKind::Process, EventKind::StorePeer, EventKind::Refuse];
        prop_assert!(listener.with_log(|log| log.records.iter().all(|r| kinds.contains(&r.kind))));
    }
}
