//! Phones that change their access network: what is under way then, and who has none meanwhile.
//!
//! A datagram is for the address that its receiver has when it is sent. Whatever has not left its
//! sender's radio when that phone leaves the network is lost, and so is what comes to a network that
//! its receiver has left, or that it had left already when this was sent. What deliberately does not
//! live here: when phones move ([`crate::driver::moving`]), and what connections make of it.

use pocketsim_protocols::contract::Seconds;

use crate::network::resequencer::Way;

/// The phones of a run of which some move.
pub(crate) struct Movers {
    /// By phone, when it left a network or joined one, in turn.
    changes_s: Vec<Vec<Seconds>>,
    /// By token, both phones' changes when it was sent, the sender's first.
    sent: Vec<[u32; 2]>,
}

impl Movers {
    /// Each phone is at its first network.
    pub(crate) fn new(phones: u32) -> Self {
        Self {
            changes_s: vec![Vec::new(); phones as usize],
            sent: Vec::new(),
        }
    }

    /// A phone has no network from `now` on.
    pub(crate) fn leave(&mut self, phone: u32, now: Seconds) {
        if !self.is_away(phone) {
            self.changes_s[phone as usize].push(now);
        }
    }

    /// A phone without a network joins one at `now`.
    pub(crate) fn join(&mut self, phone: u32, now: Seconds) {
        self.changes_s[phone as usize].push(now);
    }

    /// Whether a phone has no network.
    pub(crate) fn is_away(&self, phone: u32) -> bool {
        is_away(self.changes(phone))
    }

    /// A datagram is sent.
    pub(crate) fn send(&mut self, token: u32, way: Way) {
        let changes = [way.from, way.to].map(|phone| self.changes(phone.0));
        let needed = (token as usize + 1).max(self.sent.len());
        self.sent.resize(needed, [0; 2]);
        self.sent[token as usize] = changes;
    }

    /// When the sender of a datagram left the network that it was sent over, if it has.
    pub(crate) fn left_s(&self, token: u32, way: Way) -> Option<Seconds> {
        let [changes, _] = self.sent[token as usize];
        let dates = &self.changes_s[way.from.0 as usize];
        dates.get(changes as usize).copied()
    }

    /// Whether the receiver of a datagram is where that goes.
    pub(crate) fn is_met(&self, token: u32, way: Way) -> bool {
        let [_, changes] = self.sent[token as usize];
        changes == self.changes(way.to.0) && !is_away(changes)
    }

    fn changes(&self, phone: u32) -> u32 {
        self.changes_s[phone as usize].len() as u32
    }
}

/// Whether a phone has no network after so many changes.
fn is_away(changes: u32) -> bool {
    changes % 2 == 1
}
