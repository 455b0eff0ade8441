//! Connections at rest: what signs of life would have done, in arithmetic.
//!
//! Of a connection on which nothing else happens both ends ping, each as soon as it has heard
//! nothing for so long, and what they do repeats itself: between two pings of one end the other
//! pings once. So the dates of all that would follow are those of the last round, some rounds later.
//! That holds whether the ends take turns, which they do when the last word took longer to come than
//! the ping that answers it, or ping at once.
//!
//! What deliberately does not live here: who lets a connection rest. A driver may ask for that
//! ([`Transport::rest`](crate::contract::Transport::rest)); one that does not sees no difference.

use super::connection::Connection;
use super::endpoint::next_timer;
use super::states::ConnectionState;
use super::timer::Timer;
use super::upkeep::DISCO_HEARTBEAT_S;
use super::wire::{
    ack_bytes, packet_overhead_bytes, ConnectionId, Control, Level, Record, DISCO_PING_BYTES,
    DISCO_PONG_BYTES,
};
use super::Quic;
use crate::contract::{Conversation, NodeId, Operation, Payload, Rhythm, Seconds, Upkeep};
use crate::transport::ConnectionMode;

/// The rhythms of both ends of a connection at rest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rest {
    own: Rhythm,
    other: Rhythm,
}

/// How often the two ends would have pinged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Rounds {
    own: u64,
    other: u64,
}

impl Rest {
    /// A rest of both ends; none if they do not ping in turn, as after a delay of one of them.
    fn new(own: Rhythm, other: Rhythm) -> Option<Self> {
        let rest = Self { own, other };
        let (first, second) = rest.in_order();
        (first.asked_s <= second.asked_s && second.asked_s < first.asks_s).then_some(rest)
    }

    /// Whose ping comes next, and the other; the same at both ends.
    fn in_order(&self) -> (Rhythm, Rhythm) {
        match self.is_first() {
            true => (self.own, self.other),
            false => (self.other, self.own),
        }
    }

    fn is_first(&self) -> bool {
        (self.own.asks_s, self.own.asked_s) <= (self.other.asks_s, self.other.asked_s)
    }

    /// Between two pings of one end.
    fn round_s(&self) -> Seconds {
        let (first, _) = self.in_order();
        first.asks_s - first.asked_s
    }

    /// How often each end would have pinged by `now`.
    fn rounds(&self, now: Seconds) -> Rounds {
        let round_s = self.round_s();
        let (first, second) = self.in_order();
        let asked = count(now, first.asks_s, round_s);
        let answered = count(now, second.asked_s + round_s, round_s);
        match self.is_first() {
            true => Rounds {
                own: asked,
                other: answered,
            },
            false => Rounds {
                own: answered,
                other: asked,
            },
        }
    }

    /// When this end would ping after those if it heard nothing more.
    fn asks_s(&self, rounds: Rounds) -> Seconds {
        let (round_s, pings) = (self.round_s(), rounds.own as f64);
        if rounds.own == rounds.other {
            return self.own.asks_s + pings * round_s;
        }
        let asked_s = self.own.asked_s + pings * round_s;
        match self.is_first() {
            // It was the last to ping, as the other was when both came to rest.
            true => asked_s + self.other.asks_s - self.other.asked_s,
            false => asked_s + round_s,
        }
    }
}

impl<P: Payload> Connection<P> {
    /// When it gives signs of life, if nothing else has passed since the last that it gave, and
    /// nothing is under way or due.
    pub fn rhythm(&self) -> Option<Rhythm> {
        let asked_s = self.asked_s?;
        // On the relay it looks for a better path, and what it finds changes what comes after.
        let may = self.config.mode == ConnectionMode::Keep && self.direct && self.rest.is_none();
        (may && self.is_silent()).then(|| Rhythm {
            asked_s,
            asks_s: self.timers.at(Timer::KeepAlive),
            probes_s: self.timers.at(Timer::Disco),
        })
    }

    fn is_silent(&self) -> bool {
        let timers = [
            Timer::Recovery,
            Timer::AckDelay,
            Timer::Connect,
            Timer::Drain,
        ];
        let [initial, handshake, data] = &self.spaces;
        self.state() == ConnectionState::Established
            && self.confirmed
            && !self.timer_posted
            && self.timers.is_set(Timer::KeepAlive)
            && !timers.iter().any(|&timer| self.timers.is_set(timer))
            && initial.is_none()
            && handshake.is_none()
            && data.as_ref().is_some_and(|space| space.is_silent())
            && self.streams.is_silent()
    }

    /// Gives no signs of life any more, if the other end's rhythm goes with its own.
    pub fn rest(&mut self, other: Rhythm) {
        let Some(rest) = self.rhythm().and_then(|own| Rest::new(own, other)) else {
            return;
        };
        self.rest = Some(Box::new(rest));
        // Most connections of a phone that meets many are at rest: what they keep is what it needs.
        self.streams.shed();
        self.spaces
            .iter_mut()
            .flatten()
            .for_each(|space| space.shed());
    }

    /// Goes on as if it had given signs of life all the time; says what those were.
    pub fn wake(&mut self, now: Seconds) -> Option<Upkeep> {
        let rest = self.rest.take()?;
        let rounds = rest.rounds(now);
        let probes = [rest.own.probes_s, rest.other.probes_s]
            .map(|first_s| count(now, first_s, DISCO_HEARTBEAT_S));
        let upkeep = self.upkeep(rounds, rest.is_first(), probes);
        let asks_s = rest.asks_s(rounds);
        self.timers.set(Timer::KeepAlive, asks_s);
        self.reset_idle(asks_s - self.config.keep_alive_s);
        let probes_s = rest.own.probes_s + probes[0] as f64 * DISCO_HEARTBEAT_S;
        self.timers.set(Timer::Disco, probes_s);
        self.asked_s = None;
        self.rtt.repeat(rounds.own);
        if let Some(space) = &mut self.spaces[Level::Data as usize] {
            space.pass(rounds.own + rounds.other);
        }
        Some(upkeep)
    }

    fn upkeep(&self, rounds: Rounds, is_first: bool, probes: [u64; 2]) -> Upkeep {
        let mut sent = self.acknowledgements(rounds.other, u32::from(is_first));
        let ping = Record::Control(Control::Ping);
        sent.push((self.data_overhead_bytes() + ping.frame_bytes(), rounds.own));
        sent.push((DISCO_PING_BYTES, probes[0]));
        sent.push((DISCO_PONG_BYTES, probes[1]));
        sent.retain(|&(_, count)| count > 0);
        Upkeep {
            sent,
            sending: &[Operation::PacketSeal, Operation::UdpSend],
            receiving: &[Operation::UdpReceive, Operation::PacketOpen],
        }
    }

    /// Sizes of so many acknowledgements, which grow with the numbers that they name: one for every
    /// second packet that comes, after `before` others.
    fn acknowledgements(&self, count: u64, before: u32) -> Vec<(u32, u64)> {
        let Some(space) = &self.spaces[Level::Data as usize] else {
            return Vec::new();
        };
        let overhead_bytes = self.data_overhead_bytes();
        let size = |number: u64| {
            let after = u64::from(before) + 2 * number + 1;
            let ack = space.ack_after(after.try_into().unwrap_or(u32::MAX));
            overhead_bytes + ack_bytes(&ack)
        };
        let (mut sizes, mut from) = (Vec::new(), 0);
        while from < count {
            let bytes = size(from);
            let to = first_other(from, count, |number| size(number) == bytes);
            sizes.push((bytes, to - from));
            from = to;
        }
        sizes
    }

    fn data_overhead_bytes(&self) -> u32 {
        let space = self.spaces[Level::Data as usize].as_ref();
        let (number, acked) = space.map_or((0, None), |space| space.numbers());
        packet_overhead_bytes(Level::Data, number, acked)
    }
}

impl<P: Payload> Quic<P> {
    /// Changes when a connection is to be woken, if it is known.
    pub(super) fn change<R>(
        &mut self,
        number: u64,
        change: impl FnOnce(&mut Connection<P>) -> R,
    ) -> Option<R> {
        let connection = self.connections.get_mut(&Self::connection_id(number))?;
        let id = connection.id;
        if let Some((at, timer)) = next_timer(connection) {
            self.deadlines.clear(at, (id, timer));
        }
        let changed = change(connection);
        if let Some((at, timer)) = next_timer(connection) {
            self.deadlines.set(at, (id, timer));
        }
        Some(changed)
    }

    /// The rest of a connection is over, if it had one.
    pub(super) fn note_rest(&mut self, connection: &mut Connection<P>, now: Seconds) {
        if let Some(upkeep) = connection.wake(now) {
            self.woken.push((Self::conversation(connection), upkeep));
        }
    }

    /// A connection as drivers know it.
    pub(super) fn conversation(connection: &Connection<P>) -> Conversation {
        let (id, peer) = (connection.id, connection.peer);
        let number = u64::from(id.dialler.0) << 32 | u64::from(id.number);
        Conversation { peer, number }
    }

    /// The connection that drivers know by `number`.
    pub(super) fn connection_id(number: u64) -> ConnectionId {
        ConnectionId {
            dialler: NodeId((number >> 32) as u32),
            number: number as u32,
        }
    }
}

/// How many of the dates from `first_s` on, `interval_s` apart, have come by `now`.
fn count(now: Seconds, first_s: Seconds, interval_s: Seconds) -> u64 {
    match first_s <= now {
        true => ((now - first_s) / interval_s) as u64 + 1,
        false => 0,
    }
}

/// The first number up to `end` that is not as `from` is, if all from some number on are not.
fn first_other(from: u64, end: u64, is_same: impl Fn(u64) -> bool) -> u64 {
    if is_same(end - 1) {
        return end;
    }
    let (mut same, mut other) = (from, end - 1);
    while other - same > 1 {
        let middle = same + (other - same) / 2;
        match is_same(middle) {
            true => same = middle,
            false => other = middle,
        }
    }
    other
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SILENCE_S: Seconds = 1.0;
    const HELD_S: Seconds = 0.025;

    #[derive(Clone, Copy, Debug, PartialEq)]
    enum What {
        Alarm,
        Ping,
        Answer,
    }

    /// Two ends that ping and answer, one event after the other, on ways of their own length.
    #[derive(Clone, Debug)]
    struct Model {
        ways_s: [Seconds; 2],
        rhythms: [Rhythm; 2],
        pings: [u64; 2],
        events: Vec<(Seconds, What, usize)>,
    }

    impl Model {
        fn new(ways_s: [Seconds; 2], ahead_s: Seconds) -> Self {
            let rhythm = |asks_s| Rhythm {
                asked_s: 0.0,
                asks_s,
                probes_s: Seconds::INFINITY,
            };
            let rhythms = [rhythm(1.0), rhythm(1.0 + ahead_s)];
            Self {
                ways_s,
                rhythms,
                pings: [0; 2],
                events: (0..2)
                    .map(|end| (rhythms[end].asks_s, What::Alarm, end))
                    .collect(),
            }
        }

        /// Whether nothing is on its way.
        fn is_quiet(&self) -> bool {
            self.events.iter().all(|event| event.1 == What::Alarm)
        }

        fn next_s(&self) -> Seconds {
            let dates = self.events.iter().map(|event| event.0);
            dates.fold(Seconds::INFINITY, Seconds::min)
        }

        fn step(&mut self) {
            let next_s = self.next_s();
            let at = self.events.iter().position(|event| event.0 == next_s);
            let (now, what, end) = self.events.remove(at.expect("there is one"));
            match what {
                What::Alarm => {
                    self.pings[end] += 1;
                    self.rhythms[end].asked_s = now;
                    let way_s = self.ways_s[end];
                    self.events.push((now + way_s, What::Ping, 1 - end));
                }
                What::Ping => {
                    self.hear(now, end);
                    let way_s = HELD_S + self.ways_s[end];
                    self.events.push((now + way_s, What::Answer, 1 - end));
                }
                What::Answer => self.hear(now, end),
            }
        }

        fn hear(&mut self, now: Seconds, end: usize) {
            let asks_s = now + SILENCE_S;
            self.rhythms[end].asks_s = asks_s;
            self.events
                .retain(|event| event.1 != What::Alarm || event.2 != end);
            self.events.push((asks_s, What::Alarm, end));
        }
    }

    proptest! {
        #[test]
        fn both_ends_go_on_as_if_they_had_pinged(
            way_ms in 1..80u32,
            back_ms in 1..80u32,
            ahead_ms in 0..200u32,
            steps in 1..400usize,
        ) {
            let ways_s = [way_ms, back_ms].map(|ms| f64::from(ms) * 1e-3);
            // Not just as much as a way takes, where it is chance who pings first.
            let mut model = Model::new(ways_s, (f64::from(ahead_ms) + 0.5) * 1e-3);
            while model.pings.contains(&0) || !model.is_quiet() {
                model.step();
            }
            let [one, other] = model.rhythms;
            let rests = [Rest::new(one, other), Rest::new(other, one)];
            let before = model.pings;
            (0..steps).for_each(|_| model.step());
            while !model.is_quiet() {
                model.step();
            }
            let now = model.next_s() - 1e-6;
            for (end, rest) in rests.into_iter().enumerate() {
                let rest = rest.expect("they ping in turn");
                let rounds = rest.rounds(now);
                let pings = [rounds.own, rounds.other];
                let due = [end, 1 - end].map(|end| model.pings[end] - before[end]);
                prop_assert_eq!(pings, due);
                let off_s = rest.asks_s(rounds) - model.rhythms[end].asks_s;
                prop_assert!(off_s.abs() < 1e-6, "end {}: {}", end, off_s);
            }
        }

        #[test]
        fn the_first_other_is_found_as_by_looking_at_each(same in 1..50u64, more in 0..50u64) {
            let found = first_other(0, same + more, |number| number < same);
            prop_assert_eq!(found, same);
        }
    }

    #[test]
    fn ends_that_do_not_ping_in_turn_do_not_rest() {
        let rhythm = |asked_s, asks_s| Rhythm {
            asked_s,
            asks_s,
            probes_s: Seconds::INFINITY,
        };
        let cases = [
            ("in turn", rhythm(1.0, 3.0), rhythm(2.0, 3.1), true),
            ("at once", rhythm(1.0, 2.1), rhythm(1.0, 2.1), true),
            ("twice the same", rhythm(2.0, 3.0), rhythm(1.0, 3.1), false),
            ("long ago", rhythm(1.0, 2.0), rhythm(2.5, 3.1), false),
        ];
        for (what, one, other, may) in cases {
            let rests = [Rest::new(one, other), Rest::new(other, one)];
            assert_eq!(rests.map(|rest| rest.is_some()), [may; 2], "{what}");
        }
    }

    #[test]
    fn dates_are_counted_from_the_first_on() {
        let counts = [0.9, 1.0, 2.9, 3.0].map(|now| count(now, 1.0, 2.0));
        assert_eq!(counts, [0, 1, 1, 2]);
        assert_eq!(count(9.0, Seconds::INFINITY, 5.0), 0);
    }
}
