//! Socket buffers as the kernel counts them: what a reader who is busy leaves, and who empties them.

use crate::common::puppet::{act, said, say, send, work, Act, Cue};
use crate::common::{ask, cost, counter, plan, reasons, times, turn};
use _engine::plan::Plan;
use _engine::record::trace::Trace;
use pocketsim_protocols::contract::{EventKind, Operation, Reason};

const LARGE_BYTES: u64 = 2304; // what the kernel charges for a full packet

/// Sends to phone 1 as many bytes as it is asked for; reading takes what verifying costs.
fn courier(_: u32, cue: Cue) -> Vec<Act> {
    match cue {
        Cue::Asked(bytes) => vec![send(1, 0, bytes)],
        Cue::Got(parcel) => vec![say(parcel.bytes), work(Operation::Verify)],
        Cue::Failed(_) => vec![],
    }
}

/// Two phones; the second takes ten seconds for each datagram.
fn stalled() -> Plan {
    let mut plan = plan(2);
    cost(&mut plan, Operation::Verify, 10.0);
    plan
}

/// How many of `count` datagrams at once wait in the buffer; one more is being read.
fn held(mut plan: Plan, count: usize, bytes: u32) -> usize {
    plan.duration_s = 9.0;
    (0..count).for_each(|_| ask(&mut plan, 1.0, bytes));
    let trace = act(plan, courier);
    assert_eq!(said(&trace).len(), 1);
    count - 1 - buffer_full(&trace)
}

fn buffer_full(trace: &Trace) -> usize {
    let dropped = reasons(trace, EventKind::Drop);
    assert!(dropped.iter().all(|&reason| reason == Reason::BufferFull));
    dropped.len()
}

#[test]
fn a_busy_reader_leaves_as_many_datagrams_as_the_kernel_counts() {
    for (bytes, expected) in [
        (1, 256),
        (197, 256),
        (198, 166),
        (645, 166),
        (646, 92),
        (1472, 92),
    ] {
        assert_eq!(held(stalled(), 300, bytes), expected, "{bytes} B");
    }
}

#[test]
fn a_fragment_is_charged_as_a_buffer_of_its_own() {
    // A full packet and a small one: 212 992 / (2304 + 832).
    assert_eq!(held(stalled(), 100, 1473), 67);
    // Two full packets and a medium one: 212 992 / (2 x 2304 + 1280).
    assert_eq!(held(stalled(), 100, 2 * 1480 + 500), 36);
}

#[test]
fn the_transports_buffer_takes_the_place_of_the_profiles() {
    let mut plan = stalled();
    plan.transport.options.socket_buffer_bytes = 3 * LARGE_BYTES;
    assert_eq!(held(plan, 10, 1000), 3);
}

#[test]
fn a_phone_has_its_profiles_buffer() {
    let mut plan = stalled();
    let small = _engine::plan::Profile {
        socket_buffer_bytes: 5 * LARGE_BYTES,
        ..plan.profiles[0].clone()
    };
    plan.profiles.push(small);
    assert_eq!(held(plan.clone(), 100, 1000), 92);
    plan.phones.profile[1] = 1;
    assert_eq!(held(plan, 100, 1000), 5);
}

#[test]
fn what_does_not_fit_leaves_room_for_what_does() {
    let mut plan = stalled();
    plan.transport.options.socket_buffer_bytes = LARGE_BYTES + 832;
    plan.duration_s = 9.0;
    for bytes in [1000, 1000, 1000, 100, 100] {
        ask(&mut plan, 1.0, bytes);
    }
    let trace = act(plan, courier);
    // One is read, one held; the third is too large for what is left, the first small one is not.
    assert_eq!(counter(&trace, "datagrams_delivered"), 3);
    assert_eq!(buffer_full(&trace), 2);
}

#[test]
fn reading_makes_room() {
    let mut plan = stalled();
    plan.transport.options.socket_buffer_bytes = LARGE_BYTES;
    for time_s in [1.0, 2.0, 3.0, 12.0, 13.0] {
        ask(&mut plan, time_s, 1000);
    }
    let trace = act(plan, courier);
    // Read from 1 to 11, 11 to 21 and 21 to 31 s; the buffer is full from 2 to 11 and 12 to 21 s.
    let dropped = times(&trace, EventKind::Drop);
    assert_eq!(
        dropped.iter().map(|at| at.floor()).collect::<Vec<_>>(),
        [3.0, 13.0]
    );
    assert_eq!(said(&trace).len(), 3);
}

#[test]
fn a_phone_that_comes_back_finds_its_buffer_empty() {
    let mut plan = stalled();
    plan.transport.options.socket_buffer_bytes = 2 * LARGE_BYTES;
    (0..4).for_each(|_| ask(&mut plan, 1.0, 1000));
    turn(&mut plan, 2.0, 1, false);
    turn(&mut plan, 3.0, 1, true);
    (0..4).for_each(|_| ask(&mut plan, 4.0, 1000));
    plan.duration_s = 9.0;
    let trace = act(plan, courier);
    assert_eq!(counter(&trace, "buffer_full"), 2);
    assert_eq!(counter(&trace, "datagrams_unread"), 2);
    assert_eq!(counter(&trace, "datagrams_delivered"), 6);
}
