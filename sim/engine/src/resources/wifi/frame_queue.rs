//! Packets that wait for their turn on the air, of one phone in one direction.
//!
//! A datagram is as many IP packets as it takes; it is over the air with the last of them, and lost
//! with any.

use std::collections::VecDeque;

use pocketsim_protocols::contract::Seconds;

use crate::resources::wifi::outcome::Outcome;

/// The first packets of it are those on the air.
#[derive(Debug, Default)]
pub struct FrameQueue(VecDeque<Packet>);

/// An IP packet that waits.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    /// Of its datagram.
    pub token: u32,
    /// With IP headers.
    pub bytes: u32,
    /// Whether its datagram ends with it.
    pub is_last: bool,
    /// How often a frame with it was lost.
    pub losses: u32,
    /// Since when it waits.
    pub since_s: Seconds,
    /// Whether it was on the air.
    pub is_begun: bool,
    /// Whether the receiver has it, and waits for one before it.
    pub is_received: bool,
}

/// How many packets of at most [`MTU_BYTES`] a datagram takes.
pub fn packets(wire_bytes: u32) -> u32 {
    wire_bytes.div_ceil(MTU_BYTES).max(1)
}

impl FrameQueue {
    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many packets wait.
    pub fn len(&self) -> u32 {
        self.0.len() as u32
    }

    /// Packets of which nobody knows that they go on the air, the last of each datagram.
    pub fn waiting(&self) -> impl Iterator<Item = &Packet> {
        let ends = self.0.iter().filter(|packet| packet.is_last);
        ends.filter(|packet| !packet.is_begun)
    }

    /// Adds the packets of a datagram.
    pub fn push(&mut self, token: u32, wire_bytes: u32, since_s: Seconds) {
        let count = packets(wire_bytes);
        for number in 1..=count {
            let is_last = number == count;
            let before = MTU_BYTES * (number - 1);
            self.0.push_back(Packet {
                token,
                bytes: if is_last {
                    wire_bytes - before
                } else {
                    MTU_BYTES
                },
                is_last,
                losses: 0,
                since_s,
                is_begun: false,
                is_received: false,
            });
        }
    }

    /// Packets that are to be sent, the first first.
    pub fn unsent(&self) -> impl Iterator<Item = &Packet> {
        self.0.iter().filter(|packet| !packet.is_received)
    }

    /// The first `count` go on the air; `begun` hears of each datagram that does so first.
    pub fn begin(&mut self, count: u32, mut begun: impl FnMut(&Packet)) {
        let mut before = None;
        let all = self.0.iter_mut().filter(|packet| !packet.is_received);
        for (at, packet) in (0..).zip(all) {
            let follows = before == Some(packet.token);
            // What is left of a datagram does not begin once more.
            if at >= count && !follows {
                break;
            }
            if !packet.is_begun && !follows {
                begun(packet);
            }
            packet.is_begun = true;
            before = Some(packet.token);
        }
    }

    /// Of the first `count`, which were on the air, the receiver lacks the first `lacking`.
    ///
    /// It hands datagrams on in their order. Those that lack a packet too often are lost, with all that
    /// is left of them.
    pub fn end(&mut self, count: u32, lacking: u32, losses_max: u32, outcome: &mut Outcome) {
        let sent = self.0.iter_mut().filter(|packet| !packet.is_received);
        let lost_before = outcome.lost.len();
        for (at, packet) in (0..count).zip(sent) {
            packet.is_received = at >= lacking;
            packet.losses += u32::from(at < lacking);
            if packet.losses > losses_max && outcome.lost.last() != Some(&packet.token) {
                outcome.lost.push(packet.token);
            }
        }
        let lost = &outcome.lost[lost_before..];
        if !lost.is_empty() {
            self.0.retain(|packet| !lost.contains(&packet.token));
        }
        self.hand_on(&mut outcome.over);
    }

    fn hand_on(&mut self, over: &mut Vec<u32>) {
        while self.0.front().is_some_and(|packet| packet.is_received) {
            let packet = self.0.pop_front();
            over.extend(packet.filter(|it| it.is_last).map(|it| it.token));
        }
    }

    /// Empties it: the datagrams that were in it.
    pub fn clear(&mut self) -> impl Iterator<Item = u32> + '_ {
        let gone = self.0.drain(..);
        gone.filter(|packet| packet.is_last)
            .map(|packet| packet.token)
    }
}

/// What an IP packet has at most, with its headers (Ethernet's).
pub const MTU_BYTES: u32 = 1500;
