//! The life of QUIC connections: timers, limits, races, phones that go off.

use crate::common::{failed, parcel, quic, quic_world, Parcel, Verdict, World};
use pocketsim_protocols::contract::{
    Delivery, EventKind, Machine, NodeId, Operation, Output, OutputsOf, Path, Reason, Transport,
};
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

const KEEP: ConnectionMode = ConnectionMode::Keep;
const RECONNECT: ConnectionMode = ConnectionMode::Reconnect;

fn to_ms(time_s: f64) -> f64 {
    (time_s * 1e6).round() / 1e3
}

#[test]
fn an_open_connection_is_pinged_every_second() {
    let mut world = quic_world(2, 0.010, &quic(KEEP));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(1.0);
    let before = world.sent.len();
    world.run_until(61.0);
    // A ping 1 s after the last acknowledgement, one way and 25 ms later the next.
    let after = world.sent.len() - before;
    assert!((112..=116).contains(&after), "{after}");
    assert_eq!(world.machine(0).open_connections(), 1);
}

#[test]
fn without_pings_it_ends_after_thirty_seconds() {
    let config = TransportConfig {
        keep_alive_s: 0.0,
        ..quic(KEEP)
    };
    let mut world = quic_world(2, 0.010, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(29.9);
    assert_eq!(world.machine(0).open_connections(), 1);
    world.run_until(31.0);
    assert_eq!(world.machine(0).open_connections(), 0);
    assert_eq!(world.machine(1).open_connections(), 0);
    assert_eq!(world.machine(0).next_timeout(), None);
    assert!(world.failed(0).is_empty());
    world.transmit_at(40.0, 0, 1, parcel(0, 2, 100));
    world.run_until(41.0);
    assert_eq!(world.sequences(1), [1, 2], "dialled again");
}

#[test]
fn connections_that_end_at_one_time_end_in_the_order_of_their_numbers() {
    let config = TransportConfig {
        keep_alive_s: 0.0,
        ..quic(KEEP)
    };
    let mut world = quic_world(4, 0.010, &config);
    for (k, to) in [1, 2, 3, 3, 1, 2].into_iter().enumerate() {
        let dialled = k < 3;
        let at = if dialled { 0.0 } else { 1.0 };
        world.transmit_at(at, 0, to, parcel(0, k as u32, 100));
    }
    world.run_until(60.0);
    let ends = world
        .events
        .iter()
        .filter(|(_, node, event)| *node == NodeId(0) && event.kind == EventKind::Disconnect);
    let ends: Vec<_> = ends.map(|(at, _, event)| (*at, event.peer)).collect();
    assert_eq!(ends, [1, 2, 3].map(|peer| (ends[0].0, NodeId(peer))));
}

#[test]
fn a_connection_attempt_is_given_up_in_time() {
    for mode in [KEEP, RECONNECT] {
        let config = TransportConfig {
            connect_timeout_s: 2.0,
            ..quic(mode)
        };
        let mut world = quic_world(2, 0.010, &config);
        world.rule = Box::new(|_, sent| match sent.from {
            NodeId(1) => Verdict::Drop,
            _ => Verdict::Pass,
        });
        world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
        world.run_until(1.999);
        assert!(world.failed(0).is_empty());
        world.run_until(2.0);
        assert_eq!(
            world.failed(0),
            [(parcel(0, 1, 0).id, Reason::ConnectTimeout)]
        );
        // The server worked for nothing and does not know it yet.
        assert_eq!(world.count(1, Operation::HandshakeRespond), 1);
        world.run_until(60.0);
        assert_eq!(world.machine(1).open_connections(), 0);
        assert_eq!(world.failed(0).len(), 1);
    }
}

#[test]
fn an_attempt_may_end_before_its_first_flight() {
    let config = TransportConfig {
        connect_timeout_s: 2.0,
        ..quic(KEEP)
    };
    let mut world = quic_world(2, 0.010, &config);
    world.work = Box::new(|operation, _| match operation {
        Operation::Discovery => 3.0,
        _ => 0.0,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(60.0);
    assert!(world.sent.is_empty());
    assert_eq!(
        world.failed(0),
        [(parcel(0, 1, 0).id, Reason::ConnectTimeout)]
    );
    assert_eq!(world.machine(0).open_connections(), 0);
}

#[test]
fn late_answers_of_a_given_up_attempt_are_ignored() {
    let config = TransportConfig {
        connect_timeout_s: 0.5,
        ..quic(RECONNECT)
    };
    let mut world = quic_world(2, 0.010, &config);
    world.rule = Box::new(|_, sent| match sent.from {
        NodeId(1) => Verdict::Later(1.0),
        _ => Verdict::Pass,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(1.5);
    assert_eq!(world.machine(0).ignored_datagrams(), 1);
    assert!(world.received(1).is_empty());
}

/// A client whose first datagram is the only one that any node gets.
fn a_client_that_is_not_heard_again() -> World<Quic<Parcel>> {
    let mut world = quic_world(2, 0.010, &quic(RECONNECT));
    world.rule = Box::new(|k, _| match k {
        0 => Verdict::Pass,
        _ => Verdict::Drop,
    });
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world
}

#[test]
fn a_server_sends_three_times_what_it_got_and_no_more() {
    let mut world = a_client_that_is_not_heard_again();
    world.run_until(60.0);
    let flights = world.sent.iter().filter(|sent| sent.from == NodeId(1));
    let flights: Vec<_> = flights
        .map(|sent| (to_ms(sent.time_s), sent.bytes))
        .collect();
    // A probe is two packets.
    assert_eq!(flights, [(10.0, 1200), (1009.0, 1200), (1009.0, 1200)]);
}

#[test]
fn a_server_that_may_send_nothing_waits_without_a_probe() {
    let mut world = a_client_that_is_not_heard_again();
    world.run_until(12.0);
    let server = world.machine(1).next_timeout();
    let (at, reason) = server.expect("it does not wait for ever");
    assert_eq!((to_ms(at), reason), (30_010.0, "quic idle timeout"));
}

#[test]
fn a_hundred_streams_are_open_at_once_and_no_more() {
    let mut world = quic_world(2, 0.050, &quic(KEEP));
    world.transmit_at(0.0, 0, 1, parcel(0, 0, 10));
    for k in 1..=150 {
        world.transmit_at(1.0, 0, 1, parcel(0, k, 10));
    }
    world.run_until(1.06);
    assert_eq!(world.count(0, Operation::StreamOpen), 101);
    assert_eq!(world.received(1).len(), 101);
    world.run_until(2.0);
    assert_eq!(world.received(1).len(), 151);
}

/// Messages every 10 ms, four round trips long.
fn race(config: &TransportConfig, interval_s: f64) -> World<Quic<Parcel>> {
    let mut world = quic_world(2, 0.010, config);
    for k in 0..20 {
        world.transmit_at(interval_s * f64::from(k), 0, 1, parcel(0, k, 100));
    }
    world.run_until(20.0 * interval_s + 5.0);
    world
}

#[test]
fn a_duplicate_dial_stalls_what_comes_after_it() {
    let config = TransportConfig {
        duplicate_dial_s: 0.055,
        ..quic(KEEP)
    };
    let mut world = race(&config, 0.010);
    assert_eq!(world.sequences(1), [0, 1, 2, 3, 4, 5]);
    assert_eq!(world.count(0, Operation::HandshakeStart), 2);
    assert!(world.failed(0).is_empty(), "QUIC acknowledged them");
    let left = world.switch_off(0);
    assert_eq!(left.len(), 14);
    let unserved = |k| failed(1, parcel(0, k, 100), Reason::Unserved);
    let expected: Vec<_> = left.iter().zip(6..).map(|(_, k)| unserved(k)).collect();
    assert_eq!(left, expected);
}

#[test]
fn a_stall_ends_as_unserved_when_the_connection_does() {
    let config = TransportConfig {
        duplicate_dial_s: 0.055,
        ..quic(KEEP)
    };
    let mut world = race(&config, 0.010);
    world.rule = Box::new(|_, _| Verdict::Drop);
    world.run_until(100.0);
    let reasons: Vec<Reason> = world.failed(0).iter().map(|(_, reason)| *reason).collect();
    assert_eq!(reasons, [Reason::Unserved; 14]);
}

#[test]
fn no_race_without_a_second_message_in_time() {
    let config = TransportConfig {
        duplicate_dial_s: 0.055,
        ..quic(KEEP)
    };
    let world = race(&config, 0.030);
    assert_eq!(world.received(1).len(), 20);
    assert_eq!(world.count(0, Operation::HandshakeStart), 1);
    let never = race(&quic(KEEP), 0.010);
    assert_eq!(never.received(1).len(), 20);
}

#[test]
fn a_broken_connection_stays_broken() {
    let config = TransportConfig {
        connection_break_s: 0.305,
        ..quic(KEEP)
    };
    let mut world = race(&config, 0.030);
    assert_eq!(world.sequences(1), (0..=10).collect::<Vec<_>>());
    assert!(world.failed(0).is_empty());
    assert_eq!(world.switch_off(0).len(), 9);
    world.switch_on(0);
    let now_s = world.now_s;
    world.transmit_at(now_s, 0, 1, parcel(0, 99, 100));
    world.run_until(now_s + 1.0);
    assert_eq!(world.sequences(1).last(), Some(&99), "the app began anew");
}

#[test]
fn a_vanished_peer_is_noticed_after_the_idle_timeout() {
    let mut world = quic_world(2, 0.010, &quic(KEEP));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(2.0);
    assert!(world.switch_off(1).is_empty());
    world.transmit_at(3.0, 0, 1, parcel(0, 2, 100));
    world.transmit_at(4.0, 0, 1, parcel(0, 3, 100));
    world.run_until(31.0);
    assert!(world.failed(0).is_empty());
    world.run_until(34.0);
    let gone = |k| (parcel(0, k, 0).id, Reason::IdleTimeout);
    assert_eq!(world.failed(0), [gone(2), gone(3)]);
    world.switch_on(1);
    world.transmit_at(40.0, 0, 1, parcel(0, 4, 100));
    world.run_until(41.0);
    assert_eq!(world.sequences(1), [1, 4]);
}

#[test]
fn a_restarted_peer_ignores_the_old_connection() {
    let mut world = quic_world(2, 0.010, &quic(KEEP));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(2.0);
    world.switch_off(1);
    world.switch_on(1);
    world.transmit_at(3.0, 0, 1, parcel(0, 2, 100));
    world.run_until(60.0);
    assert_eq!(world.sequences(1), [1]);
    assert_eq!(world.failed(0).len(), 1);
    assert!(world.machine(1).ignored_datagrams() > 3);
}

#[test]
fn shutting_down_returns_what_was_under_way() {
    for mode in [KEEP, RECONNECT] {
        let mut world = quic_world(3, 0.010, &quic(mode));
        world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
        world.transmit_at(0.0, 0, 2, parcel(0, 2, 100));
        world.run_until(0.015);
        let left = world.switch_off(0);
        assert_eq!(
            left,
            [
                failed(1, parcel(0, 1, 100), Reason::SenderOff),
                failed(2, parcel(0, 2, 100), Reason::SenderOff)
            ]
        );
        world.run_until(100.0);
        assert!(world.arrivals.is_empty());
        assert_eq!(world.machine(1).open_connections(), 0);
        assert_eq!(world.pending(), 0);
    }
}

#[test]
fn what_the_app_has_not_looked_at_is_returned_too() {
    let config = TransportConfig {
        poll_interval_s: 1.0,
        ..quic(KEEP)
    };
    let mut world = quic_world(2, 0.010, &config);
    world.transmit_at(0.1, 0, 1, parcel(0, 1, 100));
    world.run_until(0.9);
    assert!(world.switch_off(0).is_empty(), "acknowledged");
    let received = Delivery::Received(parcel(0, 1, 100));
    assert_eq!(world.switch_off(1), [(NodeId(0), received)]);
}

#[test]
fn a_message_outlives_the_connection_that_brought_it() {
    let config = TransportConfig {
        poll_interval_s: 5.0,
        ..quic(RECONNECT)
    };
    let mut world = quic_world(2, 0.010, &config);
    world.transmit_at(0.1, 0, 1, parcel(0, 1, 100));
    world.run_until(4.9);
    assert_eq!(world.machine(1).open_connections(), 0);
    world.run_until(5.0);
    assert_eq!(world.sequences(1), [1]);
}

/// Does all that the machine has asked itself for; how many times that was.
fn obey(quic: &mut Quic<Parcel>, out: &mut OutputsOf<Quic<Parcel>>, now: f64) -> usize {
    let mut steps = 0;
    while let Some(output) = out.pop() {
        if let Output::Post { request, .. } = output {
            steps += 1;
            quic.command(request, now, out);
        }
    }
    steps
}

#[test]
fn a_timer_that_waits_for_its_lane_is_not_given_twice() {
    let mut quic: Quic<Parcel> = Quic::new(&quic(KEEP), NodeId(0));
    let mut out = Vec::new();
    quic.transmit(NodeId(1), parcel(0, 1, 100), 0.0, &mut out);
    assert_eq!(quic.next_timeout(), None, "its task has not begun");
    obey(&mut quic, &mut out, 0.0);
    let next = |quic: &Quic<Parcel>| quic.next_timeout().map(|(at, why)| (to_ms(at), why));
    let probe = |at_ms: f64| Some((at_ms, "quic loss or probe timeout"));
    assert_eq!(next(&quic), probe(999.0));
    let mut timer = Vec::new();
    quic.handle_timeout(1.0, &mut timer);
    // What is done meanwhile on the lane does not ask for it again.
    quic.transmit(NodeId(1), parcel(0, 2, 100), 1.5, &mut out);
    obey(&mut quic, &mut out, 1.5);
    assert_eq!(quic.next_timeout(), None, "its lane is busy");
    quic.handle_timeout(2.0, &mut out);
    assert_eq!(out, []);
    assert_eq!(obey(&mut quic, &mut timer, 3.0), 1, "it is free again");
    assert_eq!(next(&quic), probe(3_000.0 + 2.0 * 999.0));
    assert_eq!(quic.shut_down(0.0).len(), 2);
}

#[test]
fn nobody_dials_for_another() {
    let mut dialled = Vec::new();
    let mut dialler: Quic<Parcel> = Quic::new(&quic(KEEP), NodeId(0));
    dialler.transmit(NodeId(1), parcel(0, 1, 100), 0.0, &mut dialled);
    let mut hello = None;
    while let Some(output) = dialled.pop() {
        match output {
            Output::Post { request, .. } => dialler.command(request, 0.0, &mut dialled),
            Output::Send { message, .. } => hello = Some(message),
            _ => {}
        }
    }
    let hello = hello.expect("its first flight");
    let mut server: Quic<Parcel> = Quic::new(&quic(KEEP), NodeId(1));
    server.receive(NodeId(2), hello.clone(), 0.0, &mut Vec::new());
    assert_eq!(
        (server.open_connections(), server.ignored_datagrams()),
        (0, 1)
    );
    server.receive(NodeId(0), hello, 0.0, &mut Vec::new());
    assert_eq!(
        (server.open_connections(), server.ignored_datagrams()),
        (1, 1)
    );
}

/// By which paths the first flights of `node` leave, with their times.
fn dials(world: &World<Quic<Parcel>>, node: u32) -> Vec<(f64, Path)> {
    let mut connects = Vec::new();
    let sent = world.sent.iter().filter(|sent| sent.from == NodeId(node));
    for sent in sent.filter(|sent| sent.bytes == 1200) {
        connects.push((to_ms(sent.time_s), sent.path));
    }
    connects
}

#[test]
fn a_direct_path_is_remembered_while_a_connection_is_there() {
    let config = TransportConfig {
        relay_first: true,
        keep_alive_s: 0.0,
        ..quic(KEEP)
    };
    let mut world = quic_world(2, 0.010, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.transmit_at(1.0, 1, 0, parcel(1, 1, 100));
    world.transmit_at(100.0, 0, 1, parcel(0, 2, 100));
    world.run_until(110.0);
    let initials = |node| dials(&world, node);
    let first_of =
        |node: u32, from_ms: f64| initials(node).into_iter().find(|dial| dial.0 >= from_ms);
    assert_eq!(first_of(0, 0.0), Some((0.0, Path::Relay)));
    assert_eq!(first_of(1, 1_000.0), Some((1_000.0, Path::Direct)));
    assert_eq!(first_of(0, 50_000.0), Some((100_000.0, Path::Relay)));
}
