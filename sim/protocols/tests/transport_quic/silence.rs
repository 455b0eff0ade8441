//! When the ends of a silent connection ping each other.

use crate::common::{parcel, quic, quic_world, Sent};
use pocketsim_protocols::contract::Seconds;
use pocketsim_protocols::transport::ConnectionMode;

const LATENCY_S: Seconds = 0.010;
const HELD_S: Seconds = 0.025;
/// The exchange of a message is over by then.
const SILENT_FROM_S: Seconds = 0.5;

fn assert_same_s(found_s: Seconds, expected_s: Seconds) {
    assert!(
        (found_s - expected_s).abs() < 1e-5,
        "{found_s} s, expected {expected_s} s"
    );
}

/// What passes in a minute of silence.
fn signs() -> Vec<Sent> {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Keep));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(60.0);
    let sent = world.sent.into_iter();
    sent.filter(|sent| sent.time_s > SILENT_FROM_S).collect()
}

#[test]
fn who_acknowledged_a_ping_is_the_next_to_ping_a_second_later() {
    let signs = signs();
    assert!(signs.len() > 100, "{}", signs.len());
    for pair in signs.windows(2).step_by(2) {
        assert_ne!(
            pair[0].from, pair[1].from,
            "a ping, and its acknowledgement"
        );
        assert_same_s(pair[1].time_s - pair[0].time_s, LATENCY_S + HELD_S);
    }
    for pair in signs[1..].windows(2).step_by(2) {
        assert_eq!(
            pair[0].from, pair[1].from,
            "an acknowledgement, and the next ping"
        );
        assert_same_s(pair[1].time_s - pair[0].time_s, 1.0);
    }
}
