//! Packets that wait for their turn on the air, of one phone in one direction.
//!
//! A datagram is as many IP packets as it takes; it is over the air with the last of them, and lost
//! with any.

use std::collections::VecDeque;

use pocketsim_protocols::contract::Seconds;

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

    /// Since when the first waits; none if nothing does.
    pub fn since_s(&self) -> Option<Seconds> {
        self.0.front().map(|packet| packet.since_s)
    }

    /// Adds the packets of a datagram.
    pub fn push(&mut self, token: u32, wire_bytes: u32, since_s: Seconds) {
        let count = packets(wire_bytes);
        for number in 1..=count {
            let is_last = number == count;
            let before = MTU_BYTES * (number - 1);
            self.0.push_back(Packet {
                token,
                bytes: if is_last { wire_bytes - before } else { MTU_BYTES },
                is_last,
                losses: 0,
                since_s,
                is_begun: false,
            });
        }
    }

    /// Packets, the first first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Packet> {
        self.0.iter()
    }

    /// The first `count` go on the air; `begun` hears of each datagram that does so first.
    pub fn begin(&mut self, count: u32, mut begun: impl FnMut(&Packet)) {
        for at in 0..count as usize {
            let follows = at > 0 && self.0[at - 1].token == self.0[at].token;
            let packet = &mut self.0[at];
            if !packet.is_begun && !follows {
                begun(packet);
            }
            packet.is_begun = true;
        }
        // What is left of a datagram does not begin once more.
        let last = self.0[count as usize - 1].token;
        let rest = self.0.iter_mut().skip(count as usize);
        for packet in rest.take_while(|packet| packet.token == last) {
            packet.is_begun = true;
        }
    }

    /// The first `count` are over the air: the datagrams that end with them.
    pub fn deliver(&mut self, count: u32) -> impl Iterator<Item = u32> + '_ {
        let over = self.0.drain(..count as usize);
        over.filter(|packet| packet.is_last).map(|packet| packet.token)
    }

    /// The first `count` were on the air and lost; datagrams that have lost a packet too often are
    /// lost with all that is left of them.
    pub fn lose(&mut self, count: u32, losses_max: u32) -> Vec<u32> {
        let mut lost: Vec<u32> = Vec::new();
        for packet in self.0.iter_mut().take(count as usize) {
            packet.losses += 1;
            if packet.losses > losses_max && lost.last() != Some(&packet.token) {
                lost.push(packet.token);
            }
        }
        if !lost.is_empty() {
            self.0.retain(|packet| !lost.contains(&packet.token));
        }
        lost
    }

    /// Empties it: the datagrams that were in it.
    pub fn clear(&mut self) -> impl Iterator<Item = u32> + '_ {
        let gone = self.0.drain(..);
        gone.filter(|packet| packet.is_last).map(|packet| packet.token)
    }
}

/// What an IP packet has at most, with its headers (Ethernet's).
pub const MTU_BYTES: u32 = 1500;
