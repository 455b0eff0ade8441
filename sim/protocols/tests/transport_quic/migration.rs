//! Connections of phones that change their access network.

use crate::common::{parcel, quic, quic_world, Parcel, Verdict, World};
use pocketsim_protocols::contract::{EventKind, NodeId, Path, Reason};
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

/// Phone 0 dials phone 1 and sends it a message; then one of them moves at 5 s.
fn moved(node: u32, config: TransportConfig) -> World<Quic<Parcel>> {
    let config = TransportConfig {
        path_management: true,
        ..config
    };
    let mut world = quic_world(2, 0.010, &config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.move_at(5.0, node);
    world
}

fn kept() -> TransportConfig {
    quic(ConnectionMode::Keep)
}

fn events(world: &World<Quic<Parcel>>, kind: EventKind) -> usize {
    let kinds = world.events.iter().map(|(_, _, event)| event.kind);
    kinds.filter(|&found| found == kind).count()
}

/// What a phone sends within 100 ms of the move, in bytes.
fn sent_after(world: &World<Quic<Parcel>>, node: u32) -> Vec<u32> {
    let own = world.sent.iter().filter(|sent| sent.from == NodeId(node));
    let soon = own.filter(|sent| sent.time_s >= 5.0 && sent.time_s < 5.1);
    soon.map(|sent| sent.bytes).collect()
}

#[test]
fn who_dialled_migrates_and_its_new_path_is_validated() {
    let mut world = moved(0, kept());
    world.transmit_at(6.0, 0, 1, parcel(0, 2, 100));
    world.transmit_at(7.0, 1, 0, parcel(1, 1, 100));
    world.run_until(8.0);
    assert_eq!(world.sequences(1), [1, 2]);
    assert_eq!(world.sequences(0), [1]);
    // Phone 1 answers on a connection that it dials itself.
    assert_eq!(events(&world, EventKind::Connect), 2);
    assert_eq!(events(&world, EventKind::Disconnect), 0);
    // PING and RETIRE_CONNECTION_ID at once, and a padded answer to a padded challenge.
    let [of_mover, of_other] = [0, 1].map(|node| sent_after(&world, node));
    assert!(of_mover[0] < 40, "{of_mover:?}");
    for sent in [of_mover, of_other] {
        assert!(
            sent.iter().any(|bytes| (1150..=1200).contains(bytes)),
            "{sent:?}"
        );
    }
}

#[test]
fn who_was_dialled_loses_the_connection_and_dials_itself() {
    let mut world = moved(1, kept());
    world.transmit_at(6.0, 1, 0, parcel(1, 1, 100));
    world.transmit_at(6.0, 0, 1, parcel(0, 2, 100));
    world.run_until(60.0);
    assert_eq!(world.sequences(0), [1]);
    assert_eq!(world.failed(0).len(), 1, "sent into silence");
    assert_eq!(world.failed(0)[0].1, Reason::IdleTimeout);
}

#[test]
fn without_migration_a_connection_ends_at_once_and_the_next_message_dials() {
    let config = TransportConfig {
        disable_active_migration: true,
        ..kept()
    };
    let mut world = moved(0, config);
    world.transmit_at(6.0, 0, 1, parcel(0, 2, 100));
    world.run_until(8.0);
    assert_eq!(world.sequences(1), [1, 2]);
    let ends = world
        .events
        .iter()
        .filter(|(_, _, event)| event.kind == EventKind::Disconnect);
    let reasons: Vec<_> = ends.map(|(_, _, event)| event.reason).collect();
    assert_eq!(reasons, [Some(Reason::ConnectionLost)]);
    assert_eq!(events(&world, EventKind::Connect), 2);
}

#[test]
fn over_the_relay_it_survives_at_either_end() {
    for node in [0, 1] {
        let config = TransportConfig {
            relay_first: true,
            ..kept()
        };
        let mut world = moved(node, config);
        world.transmit_at(5.001, node, 1 - node, parcel(node, 2, 300));
        world.run_until(8.0);
        assert!(world.sequences(1 - node).contains(&2), "{node}");
        assert_eq!(events(&world, EventKind::Disconnect), 0);
        // By the relay until the direct path has answered from the new network.
        let at_once = world.sent.iter().filter(|sent| {
            sent.from == NodeId(node) && sent.time_s > 5.0 && sent.time_s < 5.02 && sent.bytes > 130
        });
        let at_once: Vec<_> = at_once.map(|sent| sent.path).collect();
        assert!(
            !at_once.is_empty() && at_once.iter().all(|&path| path == Path::Relay),
            "{at_once:?}"
        );
        let later = world.sent.iter().rfind(|sent| sent.from == NodeId(node));
        assert_eq!(later.map(|sent| sent.path), Some(Path::Direct));
    }
}

#[test]
fn a_path_is_challenged_once_however_often_its_migration_is_told() {
    let mut world = moved(0, kept());
    // Acknowledgements take so long from 5 s on that the mover tells it again and again.
    world.rule = Box::new(
        |_, sent| match sent.from == NodeId(1) && sent.time_s >= 5.0 {
            true => Verdict::Later(0.5),
            false => Verdict::Pass,
        },
    );
    world.run_until(7.0);
    let challenges = world.sent.iter().filter(|sent| {
        sent.from == NodeId(1) && sent.time_s >= 5.0 && (1150..=1200).contains(&sent.bytes)
    });
    assert_eq!(challenges.count(), 1);
    let told = world
        .sent
        .iter()
        .filter(|sent| sent.from == NodeId(0) && sent.time_s >= 5.0 && sent.time_s < 5.5);
    assert!(told.count() > 1, "it is told again");
}

#[test]
fn a_handshake_of_which_nothing_was_heard_goes_on() {
    let mut world = quic_world(2, 0.010, &kept());
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.move_at(0.001, 0);
    world.run_until(5.0);
    assert_eq!(world.sequences(1), [1]);
    assert!(world.failed(0).is_empty());
}
