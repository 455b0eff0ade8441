//! Connections at rest: what signs of life would have done, in arithmetic.
//!
//! Of a connection on which nothing else happens both ends ping, each as soon as nothing has left it
//! or come to it for so long, and what they do repeats itself: between two pings of one end the other
//! pings once. So the dates of all that would follow are those of the last round, some rounds later.
//! That holds whether the ends take turns, which they do when the ping of one comes before the other
//! would ping, or ping at once. Where ways vary or lose it does not hold, and how many
//! signs pass is somebody else's to say.
//!
//! What deliberately does not live here: who lets a connection rest. A driver may ask for that
//! ([`Transport::rest`](crate::contract::Transport::rest)); one that does not sees no difference.

use super::connection::Connection;
use super::endpoint::next_timer;
use super::kept::{count, Kept, Rounds};
use super::states::ConnectionState;
use super::timer::Timer;
use super::upkeep::DISCO_HEARTBEAT_S;
use super::wire::{
    ack_bytes, packet_overhead_bytes, ConnectionId, Control, Level, Record, DISCO_PING_BYTES,
    DISCO_PONG_BYTES,
};
use super::Quic;
use crate::contract::{Conversation, NodeId, Operation, Pace, Payload, Rhythm, Seconds, Upkeep};
use crate::transport::ConnectionMode;

/// How the signs of life of a connection at rest go on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Rest {
    Kept(Kept),
    Varied(Varied),
}

/// The rhythms that both ends had until the rest began, and what is left of this one's at its end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Varied {
    own: Rhythm,
    other: Rhythm,
    since_s: Seconds,
    left_s: Seconds,
    in_turn: bool,
}

impl Rest {
    /// A rest of an end with this rhythm; none if the pace does not go with it.
    fn new(own: Rhythm, pace: Pace) -> Option<Self> {
        match pace {
            Pace::Kept(other) => Kept::new(own, other).map(Self::Kept),
            Pace::Varied {
                other,
                since_s,
                left_s,
                in_turn,
            } => Some(Self::Varied(Varied {
                own,
                other,
                since_s,
                left_s,
                in_turn,
            })),
        }
    }
}

impl<P: Payload> Connection<P> {
    /// When it gives signs of life, if nothing else has passed since the last that it gave, and
    /// nothing is under way or due.
    pub fn rhythm(&self) -> Option<Rhythm> {
        let asked_s = self.asked_s?;
        // On the relay it looks for a better path, and what it finds changes what comes after; so
        // does a direct path on which it looks for answers.
        let stays = self.direct_until_s == Seconds::INFINITY;
        let may = self.config.mode == ConnectionMode::Keep && stays && self.rest.is_none();
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
            Timer::Pacing,
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
    pub fn rest(&mut self, pace: Pace) {
        let Some(rest) = self.rhythm().and_then(|own| Rest::new(own, pace)) else {
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
        self.asked_s = None;
        Some(match *rest {
            Rest::Kept(kept) => self.go_on_in_time(&kept, now),
            Rest::Varied(varied) => self.go_on_by_chance(&varied, now),
        })
    }

    fn go_on_in_time(&mut self, kept: &Kept, now: Seconds) -> Upkeep {
        let rounds = kept.rounds(now);
        let probes = [kept.own, kept.other].map(|end| probes(&end, now));
        let upkeep = self.upkeep(rounds, kept.is_first(), probes);
        self.pacer.pass(rounds.own, self.ping_bytes());
        self.go_on(kept.asks_s(rounds), &kept.own, probes[0]);
        self.rtt.repeat(rounds.own);
        self.pass(rounds.own + rounds.other);
        upkeep
    }

    fn go_on_by_chance(&mut self, varied: &Varied, now: Seconds) -> Upkeep {
        if now < varied.own.asks_s.min(varied.other.asks_s) {
            return self.go_on_unasked(varied, now);
        }
        let varied_s = now - varied.since_s;
        self.go_on(now + varied.left_s, &varied.own, probes(&varied.own, now));
        // Each end asks or answers about once in the time after which it asks.
        let packets = (varied_s / self.config.keep_alive_s) as u64;
        self.pacer.pass(packets / 2, self.ping_bytes());
        self.pass(packets);
        Upkeep {
            varied_s,
            in_turn: varied.in_turn,
            ..UPKEEP
        }
    }

    /// Neither has asked yet: only looks for a better path may have passed.
    fn go_on_unasked(&mut self, varied: &Varied, now: Seconds) -> Upkeep {
        let probes = [varied.own, varied.other].map(|end| probes(&end, now));
        self.look_after(&varied.own, probes[0]);
        Upkeep {
            sent: looks(probes).to_vec(),
            ..UPKEEP
        }
    }

    /// It asks at `asks_s`, if it hears nothing, and has looked for a better path so often.
    fn go_on(&mut self, asks_s: Seconds, own: &Rhythm, probes: u64) {
        self.timers.set(Timer::KeepAlive, asks_s);
        self.reset_idle(asks_s - self.config.keep_alive_s);
        self.look_after(own, probes);
    }

    /// It looks for a better path again after so many looks.
    fn look_after(&mut self, own: &Rhythm, probes: u64) {
        let probes_s = own.probes_s + probes as f64 * DISCO_HEARTBEAT_S;
        self.timers.set(Timer::Disco, probes_s);
    }

    /// So many packets passed each way.
    fn pass(&mut self, packets: u64) {
        if let Some(space) = &mut self.spaces[Level::Data as usize] {
            space.pass(packets);
        }
    }

    fn upkeep(&self, rounds: Rounds, is_first: bool, probes: [u64; 2]) -> Upkeep {
        let mut sent = self.acknowledgements(rounds.other, u32::from(is_first));
        sent.push((self.ping_bytes(), rounds.own));
        sent.extend(looks(probes));
        sent.retain(|&(_, count)| count > 0);
        Upkeep { sent, ..UPKEEP }
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
            let ack = space
                .received
                .ack_after(after.try_into().unwrap_or(u32::MAX));
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

    fn ping_bytes(&self) -> u32 {
        self.data_overhead_bytes() + Record::Control(Control::Ping).frame_bytes()
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

/// How often an end would have looked for a better path by `now`.
fn probes(end: &Rhythm, now: Seconds) -> u64 {
    count(now, end.probes_s, DISCO_HEARTBEAT_S)
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

/// What an end sends that looks for a better path so often, and answers the other so often.
fn looks([own, other]: [u64; 2]) -> [(u32, u64); 2] {
    [(DISCO_PING_BYTES, own), (DISCO_PONG_BYTES, other)]
}

/// Nothing yet, of datagrams with one packet each.
const UPKEEP: Upkeep = Upkeep {
    sent: Vec::new(),
    varied_s: 0.0,
    in_turn: false,
    sending: &[Operation::PacketSeal, Operation::UdpSend],
    receiving: &[
        Operation::UdpWake,
        Operation::QuicWake,
        Operation::UdpReceive,
        Operation::PacketOpen,
    ],
};

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_first_other_is_found_as_by_looking_at_each(same in 1..50u64, more in 0..50u64) {
            let found = first_other(0, same + more, |number| number < same);
            prop_assert_eq!(found, same);
        }
    }
}
