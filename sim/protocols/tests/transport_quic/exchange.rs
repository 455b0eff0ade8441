//! QUIC end to end without faults: round trips, sizes, work, polling.

use crate::common::{parcel, quic, quic_world, Parcel, Sent, Verdict, World};
use pocketsim_protocols::contract::{EventKind, NodeId, Operation, Path};
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

const LATENCY_S: f64 = 0.010;

fn times(world: &World<Quic<Parcel>>, node: u32) -> Vec<f64> {
    let to_ms = |at: f64| (at * 1e6).round() / 1e3;
    world
        .received(node)
        .iter()
        .map(|(at, _)| to_ms(*at))
        .collect()
}

fn from_to(world: &World<Quic<Parcel>>, from: u32) -> Vec<u32> {
    let mine = world.sent.iter().filter(|sent| sent.from == NodeId(from));
    mine.map(|sent| sent.bytes).collect()
}

#[test]
fn the_first_message_takes_one_and_a_half_round_trips() {
    for mode in [ConnectionMode::Reconnect, ConnectionMode::Keep] {
        let mut world = quic_world(2, LATENCY_S, &quic(mode));
        world.transmit_at(0.0, 0, 1, parcel(0, 1, 668));
        world.run_until(1.0);
        assert_eq!(times(&world, 1), [30.0], "{mode:?}");
        assert!(world.failed(0).is_empty());
    }
}

#[test]
fn a_kept_connection_carries_the_next_at_once() {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Keep));
    for k in 0..5 {
        world.transmit_at(f64::from(k), 0, 1, parcel(0, k, 668));
    }
    world.run_until(10.0);
    assert_eq!(times(&world, 1), [30.0, 1010.0, 2010.0, 3010.0, 4010.0]);
    assert_eq!(world.count(0, Operation::HandshakeStart), 1);
    assert_eq!(world.count(0, Operation::Discovery), 1);
    assert_eq!(world.count(0, Operation::EndpointSetup), 0);
}

#[test]
fn reconnecting_pays_everything_for_every_message() {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Reconnect));
    for k in 0..5 {
        world.transmit_at(f64::from(k), 0, 1, parcel(0, k, 668));
    }
    world.run_until(10.0);
    assert_eq!(times(&world, 1), [30.0, 1030.0, 2030.0, 3030.0, 4030.0]);
    for operation in [
        Operation::TaskSpawn,
        Operation::EndpointSetup,
        Operation::Discovery,
        Operation::HandshakeStart,
        Operation::HandshakeFinish,
        Operation::StreamOpen,
        Operation::EndpointClose,
    ] {
        assert_eq!(world.count(0, operation), 5, "{operation:?}");
    }
    assert_eq!(world.count(1, Operation::HandshakeRespond), 5);
    assert_eq!(world.count(1, Operation::HandshakeConfirm), 5);
    assert_eq!(world.machine(0).open_connections(), 0);
    assert_eq!(world.machine(1).open_connections(), 0);
}

#[test]
fn datagrams_have_their_exact_sizes() {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Reconnect));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 668));
    world.run_until(5.0);
    // Initial; Initial + Handshake, padded; the block; an ACK of HANDSHAKE_DONE and
    // of the stream's end; CONNECTION_CLOSE.
    assert_eq!(from_to(&world, 0), [1200, 1200, 698, 31, 29]);
    // Flight; HANDSHAKE_DONE; an ACK, since three packets came at once; the stream's end.
    assert_eq!(from_to(&world, 1), [1200, 27, 32, 32]);
}

#[test]
fn an_answer_dials_its_own_connection() {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Keep));
    echo(&mut world);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 600));
    world.transmit_at(1.0, 0, 1, parcel(0, 2, 600));
    world.run_until(5.0);
    assert_eq!(times(&world, 0), [60.0, 1020.0]);
    assert_eq!(world.count(1, Operation::HandshakeStart), 1);
}

/// Each message has a connection of its own, and its answer comes back on it.
#[test]
fn a_connection_for_each_message_may_wait_for_the_answer() {
    let config = TransportConfig {
        answer_on_same_connection: true,
        ..quic(ConnectionMode::Reconnect)
    };
    let mut world = quic_world(2, LATENCY_S, &config);
    echo(&mut world);
    for k in 0..3 {
        world.transmit_at(0.001 * f64::from(k), 0, 1, parcel(0, k, 600));
    }
    world.run_until(5.0);
    assert_eq!(times(&world, 0), [40.0, 41.0, 42.0]);
    assert_eq!(world.count(0, Operation::HandshakeStart), 3);
    assert_eq!(world.count(1, Operation::HandshakeStart), 0);
    // What was answered was delivered, for both ends, and both are done with it.
    assert!(world.failed(0).is_empty() && world.failed(1).is_empty());
    assert_eq!(world.machine(0).open_connections(), 0);
    assert_eq!(world.machine(1).open_connections(), 0);
    assert_eq!(world.count(0, Operation::EndpointClose), 3);
}

#[test]
fn or_it_takes_the_one_that_is_there() {
    let config = TransportConfig {
        answer_on_same_connection: true,
        ..quic(ConnectionMode::Keep)
    };
    let mut world = quic_world(2, LATENCY_S, &config);
    echo(&mut world);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 600));
    world.transmit_at(1.0, 0, 1, parcel(0, 2, 600));
    world.run_until(5.0);
    assert_eq!(times(&world, 0), [40.0, 1020.0]);
    assert_eq!(world.count(1, Operation::HandshakeStart), 0);
}

/// The stream of the question brings the answer, and closes with it: no datagram of its own does.
#[test]
fn an_answer_may_end_the_stream_that_asked() {
    let config = TransportConfig {
        answer_on_same_connection: true,
        answer_on_same_stream: true,
        ack_bundling: true,
        keep_alive_s: 0.0,
        ..quic(ConnectionMode::Keep)
    };
    let mut world = quic_world(2, LATENCY_S, &config);
    echo(&mut world);
    for k in 0..4 {
        world.transmit_at(f64::from(k), 0, 1, parcel(0, k, 600));
    }
    world.run_until(3.9);
    assert_eq!(times(&world, 0), [40.0, 1020.0, 2020.0, 3020.0]);
    assert_eq!(world.count(0, Operation::StreamOpen), 4);
    assert_eq!(world.count(1, Operation::StreamOpen), 0);
    assert_eq!(world.count(1, Operation::TaskSpawn), 1, "the connection's");
    let later = |from: u32| {
        let is_last = |sent: &&Sent| sent.from == NodeId(from) && sent.time_s >= 2.9;
        let sent = world.sent.iter().filter(is_last);
        sent.map(|sent| sent.bytes).collect::<Vec<_>>()
    };
    // The message, which acknowledges again what was said a second ago, and what acknowledges the
    // answer 25 ms after it; the answer, which acknowledges.
    assert_eq!((later(0), later(1)), (vec![638, 32], vec![635]));
}

#[test]
fn a_connection_for_each_message_may_be_answered_on_its_stream() {
    let config = TransportConfig {
        answer_on_same_connection: true,
        answer_on_same_stream: true,
        ack_bundling: true,
        ..quic(ConnectionMode::Reconnect)
    };
    let mut world = quic_world(2, LATENCY_S, &config);
    echo(&mut world);
    for k in 0..3 {
        world.transmit_at(f64::from(k), 0, 1, parcel(0, k, 600));
    }
    world.run_until(5.0);
    assert_eq!(times(&world, 0), [40.0, 1040.0, 2040.0]);
    assert_eq!(world.count(1, Operation::StreamOpen), 0);
    assert!(world.failed(0).is_empty() && world.failed(1).is_empty());
    for node in 0..2 {
        assert_eq!(world.machine(node).open_connections(), 0);
    }
}

/// A thousand streams need credit ten times; it comes by the dozen.
#[test]
fn streams_that_were_answered_are_opened_again() {
    let config = TransportConfig {
        answer_on_same_connection: true,
        answer_on_same_stream: true,
        ..quic(ConnectionMode::Keep)
    };
    let mut world = quic_world(2, LATENCY_S, &config);
    echo(&mut world);
    for k in 0..1_000 {
        world.transmit_at(0.001 * f64::from(k), 0, 1, parcel(0, k, 100));
    }
    world.run_until(5.0);
    assert_eq!(times(&world, 0).len(), 1_000);
    assert!(world.failed(0).is_empty());
}

/// Whoever does not answer on the stream ends it, and an answer that comes later has its own.
#[test]
fn a_late_answer_has_a_stream_of_its_own() {
    let config = TransportConfig {
        answer_on_same_connection: true,
        answer_on_same_stream: true,
        ..quic(ConnectionMode::Keep)
    };
    let mut world = quic_world(2, LATENCY_S, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 600));
    world.transmit_at(1.0, 1, 0, parcel(0, 1, 600));
    world.run_until(5.0);
    assert_eq!(times(&world, 0), [1010.0]);
    assert_eq!(world.count(1, Operation::StreamOpen), 1);
}

fn echo(world: &mut World<Quic<Parcel>>) {
    world.app = Box::new(|node, from, parcel| match node.0 {
        1 => vec![(from, parcel.clone())],
        _ => Vec::new(),
    });
}

#[test]
fn messages_queue_on_a_connection_that_is_being_dialled() {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Keep));
    for k in 0..5 {
        world.transmit_at(0.004 * f64::from(k), 0, 1, parcel(0, k, 100));
    }
    world.run_until(5.0);
    assert_eq!(times(&world, 1), [30.0; 5]);
    // They share the first data packet: five frames of 4 bytes and their messages.
    assert!(from_to(&world, 0).contains(&(26 + 5 * 104)));
}

#[test]
fn long_messages_are_cut_into_packets() {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Keep));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 60_000));
    world.transmit_at(1.0, 0, 1, parcel(0, 2, 1_000_000));
    world.run_until(30.0);
    assert_eq!(world.received(1).len(), 2);
    let full = from_to(&world, 0)
        .iter()
        .filter(|bytes| **bytes == 1200)
        .count();
    assert!(full > 1_060_000 / 1200, "{full}");
    assert!(world.sent.iter().all(|sent| sent.bytes <= 1200));
    // Ten packets, then twice as many with every round trip.
    assert!(
        (70.0..=130.0).contains(&times(&world, 1)[0]),
        "{:?}",
        times(&world, 1)
    );
}

#[test]
fn the_app_looks_at_its_own_ticks_only() {
    let config = TransportConfig {
        poll_interval_s: 0.010,
        poll_phase_s: 0.003,
        ..quic(ConnectionMode::Keep)
    };
    let mut world = quic_world(2, 0.0101, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.transmit_at(1.0, 0, 1, parcel(0, 2, 100));
    world.run_until(2.0);
    assert_eq!(times(&world, 1), [33.0, 1013.0]);
}

#[test]
fn data_moves_to_the_direct_path_when_it_answers() {
    let config = TransportConfig {
        relay_first: true,
        ..quic(ConnectionMode::Keep)
    };
    let mut world = quic_world(2, LATENCY_S, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 668));
    world.transmit_at(1.0, 0, 1, parcel(0, 2, 668));
    world.run_until(12.0);
    let path = |bytes: u32, at: f64| {
        let at = |s: &&Sent| s.bytes == bytes && (s.time_s - at).abs() < 1e-9;
        world.sent.iter().find(at).map(|sent| sent.path)
    };
    assert_eq!(path(124, 0.0), Some(Path::Direct));
    assert_eq!(path(1200, 0.0), Some(Path::Relay));
    assert_eq!(path(110, 0.010), Some(Path::Direct));
    assert_eq!(path(1200, 0.010), Some(Path::Relay));
    assert_eq!(path(698, 0.020), Some(Path::Direct));
    assert_eq!(path(698, 1.0), Some(Path::Direct));
    let pings = world.sent.iter().filter(|sent| sent.bytes == 124).count();
    assert_eq!(pings, 6, "both ends, at once and every five seconds");
}

#[test]
fn without_a_direct_path_everything_stays_on_the_relay() {
    let config = TransportConfig {
        relay_first: true,
        ..quic(ConnectionMode::Keep)
    };
    let mut world = quic_world(2, LATENCY_S, &config);
    world.rule = Box::new(|_, sent| match sent.path {
        Path::Direct => Verdict::Drop,
        Path::Relay => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 668));
    world.transmit_at(7.0, 0, 1, parcel(0, 2, 668));
    world.run_until(12.0);
    assert_eq!(times(&world, 1), [30.0, 7010.0]);
}

#[test]
fn many_peers_are_no_different() {
    let mut world = quic_world(20, LATENCY_S, &quic(ConnectionMode::Keep));
    for from in 0..20 {
        for to in (0..20).filter(|to| *to != from) {
            world.transmit_at(0.0, from, to, parcel(from, to, 500));
        }
    }
    world.run_until(5.0);
    for node in 0..20 {
        assert_eq!(times(&world, node), [30.0; 19]);
    }
}

#[test]
fn connections_leave_rows_at_their_dialler() {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Reconnect));
    world.transmit_at(0.0, 0, 1, parcel(0, 7, 100));
    world.run_until(5.0);
    let rows: Vec<_> = world
        .events
        .iter()
        .map(|(_, node, e)| (node.0, e.kind, e.message))
        .collect();
    let id = parcel(0, 7, 0).id;
    assert_eq!(
        rows,
        [(0, EventKind::Connect, id), (0, EventKind::Disconnect, id)]
    );
}

#[test]
fn work_takes_its_time_on_the_connection_s_lane() {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Reconnect));
    world.work = Box::new(|operation, _| match operation {
        Operation::EndpointSetup => 0.040,
        Operation::Discovery => 0.020,
        Operation::HandshakeRespond => 0.003,
        Operation::HandshakeConfirm => 0.002,
        _ => 0.0,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.transmit_at(0.0, 0, 1, parcel(0, 2, 100));
    world.run_until(5.0);
    assert_eq!(
        times(&world, 1),
        [95.0, 95.0],
        "two tasks do not wait for each other"
    );
}
