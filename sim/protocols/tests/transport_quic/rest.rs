//! Connections at rest, as a driver may ask for, beside those of one that does not.

use crate::common::{parcel, quic, quic_world, Parcel, Sent, World};
use pocketsim_protocols::contract::{
    Conversation, Machine, NodeId, Notice, Pace, Seconds, Transport, Upkeep,
};
use pocketsim_protocols::transport::quic::Quic;
use pocketsim_protocols::transport::{ConnectionMode, TransportConfig};

const NODES: [u32; 2] = [0, 1];
/// Both have pinged by then, and nothing is under way.
const SILENT_S: Seconds = 4.5;

/// Two phones that have said what they had to say.
fn silent(config: &TransportConfig) -> World<Quic<Parcel>> {
    let mut world = quic_world(2, 0.010, config);
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    world.run_until(SILENT_S);
    world
}

/// Their connection rests.
fn rest(world: &mut World<Quic<Parcel>>) -> Conversation {
    let Some(Notice::Silent(conversation)) = world.machine_mut(0).notice() else {
        panic!("something is under way");
    };
    assert_eq!(conversation.peer, NodeId(1));
    let number = conversation.number;
    let rhythms = NODES.map(|node| world.machine(node).rhythm(number));
    for (node, other) in [(0, rhythms[1]), (1, rhythms[0])] {
        let other = other.expect("it is silent");
        world.machine_mut(node).rest(number, Pace::Kept(other));
    }
    conversation
}

/// How many datagrams of how many bytes.
fn sizes(upkeep: &Upkeep) -> (u64, u64) {
    let bytes = upkeep
        .sent
        .iter()
        .map(|&(bytes, count)| u64::from(bytes) * count);
    let count = upkeep.sent.iter().map(|&(_, count)| count);
    (count.sum(), bytes.sum())
}

fn sizes_sent(sent: &[Sent], from: u32) -> (u64, u64) {
    let here = || sent.iter().filter(|sent| sent.from == NodeId(from));
    let bytes = here().map(|sent| u64::from(sent.bytes)).sum();
    (here().count() as u64, bytes)
}

#[test]
fn who_rests_sends_nothing_and_waits_for_nothing() {
    let mut world = silent(&quic(ConnectionMode::Keep));
    let before = world.sent.len();
    rest(&mut world);
    let waits = NODES.map(|node| world.machine(node).next_timeout());
    assert_eq!(waits, [None, None]);
    world.run_until(1000.0);
    assert_eq!(world.sent.len(), before);
    assert_eq!(world.machine(0).open_connections(), 1);
}

#[test]
fn who_is_woken_goes_on_where_it_would_have_been() {
    for relay_first in [false, true] {
        let config = TransportConfig {
            relay_first,
            ..quic(ConnectionMode::Keep)
        };
        // Between exchanges of either end, and between probes of the path.
        for woken_s in [5.4, 6.4, 50.4, 51.4, 399.9] {
            let (mut world, mut reference) = (silent(&config), silent(&config));
            let before = reference.sent.len();
            let number = rest(&mut world).number;
            reference.run_until(woken_s);
            for node in NODES {
                let upkeep = world.machine_mut(node).wake(number, woken_s);
                let upkeep = upkeep.expect("it rested");
                let sent = sizes_sent(&reference.sent[before..], node);
                assert_eq!(sizes(&upkeep), sent, "phone {node} by {woken_s} s");
                let waits = [&world, &reference].map(|world| world.machine(node).next_timeout());
                let [due, expected] = waits.map(|waits| waits.expect("it is awake"));
                assert!((due.0 - expected.0).abs() < 1e-6, "{due:?}, {expected:?}");
                assert_eq!(due.1, expected.1);
            }
        }
    }
}

#[test]
fn what_is_sent_on_it_or_comes_wakes_it() {
    let mut world = silent(&quic(ConnectionMode::Keep));
    let conversation = rest(&mut world);
    world.transmit_at(50.3, 0, 1, parcel(0, 2, 100));
    world.run_until(50.5);
    assert_eq!(world.sequences(1), [1, 2]);
    let peer = NodeId(0);
    for (node, woken) in [
        (0, conversation),
        (
            1,
            Conversation {
                peer,
                ..conversation
            },
        ),
    ] {
        let notice = world.machine_mut(node).notice();
        let Some(Notice::Woken(of, upkeep)) = notice else {
            panic!("{notice:?}");
        };
        assert_eq!(of, woken);
        assert!((44..=47).contains(&sizes(&upkeep).0), "{upkeep:?}");
        assert_eq!(
            world.machine_mut(node).wake(conversation.number, 50.5),
            None
        );
    }
}

#[test]
fn a_phone_that_goes_off_says_what_rested() {
    let mut world = silent(&quic(ConnectionMode::Keep));
    let conversation = rest(&mut world);
    world.run_until(20.0);
    world.switch_off(0);
    let notice = world.machine_mut(0).notice();
    assert!(
        matches!(notice, Some(Notice::Woken(of, _)) if of == conversation),
        "{notice:?}"
    );
    assert_eq!(world.machine_mut(0).notice(), None);
}

#[test]
fn nothing_rests_before_both_have_pinged_or_while_something_is_under_way() {
    let mut world = quic_world(2, 0.010, &quic(ConnectionMode::Keep));
    world.transmit_at(0.0, 0, 1, parcel(0, 1, 100));
    let mut may = Vec::new();
    for hundredths in 0..450 {
        world.run_until(f64::from(hundredths) * 0.01);
        let rhythms = NODES.map(|node| world.machine(node).rhythm(0));
        may.push(rhythms.iter().all(Option::is_some));
    }
    let first = may.iter().position(|&may| may).expect("in time");
    assert!((200..300).contains(&first), "{first}");
    // A way there, 25 ms and a way back, once a second.
    let busy = may[first..].iter().filter(|&&may| !may).count();
    assert!((3..=15).contains(&busy), "{busy}");
    world.transmit_at(4.5, 0, 1, parcel(0, 2, 100));
    world.run_until(4.505);
    assert_eq!(world.machine(0).rhythm(0), None);
}

#[test]
fn an_end_left_to_chance_asks_when_it_was_told_to_and_counts_nothing() {
    let config = TransportConfig {
        relay_first: false,
        ..TransportConfig::default()
    };
    for (woken_s, varied_s) in [(SILENT_S + 0.1, 0.0), (SILENT_S + 100.0, 100.0)] {
        let mut world = silent(&config);
        let Some(Notice::Silent(Conversation { number, .. })) = world.machine_mut(0).notice()
        else {
            panic!("something is under way");
        };
        let rhythms = NODES.map(|node| world.machine(node).rhythm(number));
        let [own, other] = rhythms.map(|rhythm| rhythm.expect("it is silent"));
        let pace = Pace::Varied {
            other,
            since_s: SILENT_S,
            left_s: 0.25,
            in_turn: true,
        };
        let machine = world.machine_mut(0);
        machine.rest(number, pace);
        assert_eq!(machine.rhythm(number), None, "it rests");
        let upkeep = machine.wake(number, woken_s).expect("it rested");
        assert_eq!((sizes(&upkeep), upkeep.varied_s), ((0, 0), varied_s));
        // Before the first of them would have asked nothing has changed.
        let asks_s = if varied_s == 0.0 {
            own.asks_s
        } else {
            woken_s + 0.25
        };
        let next_s = machine.next_timeout().map(|(date_s, _)| date_s);
        assert_eq!(next_s, Some(asks_s));
    }
}
