//! QUIC's pacing: what leaves at once, and what waits for its turn.

use crate::common::{parcel, quic, quic_world, Parcel, Sent, World};
use pocketsim_protocols::contract::NodeId;
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::ConnectionMode;

const LATENCY_S: f64 = 0.050;
const FULL_BYTES: u32 = 1200;

/// A kept connection that has said a word, and at 1 s says so much.
fn say(bytes: u32) -> World<Quic<Parcel>> {
    let mut world = quic_world(2, LATENCY_S, &quic(ConnectionMode::Keep));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.transmit_at(1.0, 0, 1, parcel(0, 2, bytes));
    world
}

/// How many full packets leave at once, by milliseconds since the long message was handed over.
fn bursts(world: &World<Quic<Parcel>>) -> Vec<(f64, usize)> {
    let mut bursts: Vec<(f64, usize)> = Vec::new();
    let is_data =
        |sent: &&Sent| sent.from == NodeId(0) && sent.bytes == FULL_BYTES && sent.time_s >= 1.0;
    for sent in world.sent.iter().filter(is_data) {
        let at_ms = ((sent.time_s - 1.0) * 1e6).round() / 1e3;
        match bursts.last_mut() {
            Some((last_ms, packets)) if *last_ms == at_ms => *packets += 1,
            _ => bursts.push((at_ms, 1)),
        }
    }
    bursts
}

#[test]
fn what_a_first_window_holds_leaves_at_once() {
    let mut world = say(10_500);
    world.run_until(5.0);
    // And with them the end of the message, in a smaller one.
    assert_eq!(bursts(&world), [(0.0, 8)]);
    assert_eq!(world.received(1)[1].0, 1.0 + LATENCY_S);
}

#[test]
fn larger_windows_are_spread_over_the_round_trip() {
    let mut world = say(60_000);
    world.run_until(5.0);
    // Nine leave something of the window; for the last the bucket is filled, as the handshake took of
    // it. They come together, and are acknowledged so: after 100 ms as many and nine more may leave,
    // which is what the bucket holds and gains. What is left of each flight takes 0.8 of its share of
    // the round trip.
    let expected = [
        (0.0, 9),
        (100.0, 18),
        (200.0, 10),
        (221.622, 9),
        (241.083, 5),
    ];
    assert_eq!(bursts(&world), expected);
}
