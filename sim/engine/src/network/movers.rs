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
    /// By token.
    sent: Vec<Sent>,
}

/// How things were when a datagram was sent.
#[derive(Clone, Copy)]
struct Sent {
    /// How often each phone had changed, the sender first; none of what a contact carries.
    changes: Option<[u32; 2]>,
    /// The sender's network.
    network: u32,
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

    /// A datagram is sent over the sender's network, by number.
    pub(crate) fn send(&mut self, token: u32, way: Way, network: u32) {
        let changes = [way.from, way.to].map(|phone| self.changes(phone.0));
        self.note(token, Some(changes), network);
    }

    /// A datagram is given to a contact, which goes on wherever both phones have a network.
    pub(crate) fn send_near(&mut self, token: u32) {
        self.note(token, None, 0);
    }

    fn note(&mut self, token: u32, changes: Option<[u32; 2]>, network: u32) {
        let none = Sent {
            changes: None,
            network: 0,
        };
        let needed = (token as usize + 1).max(self.sent.len());
        self.sent.resize(needed, none);
        self.sent[token as usize] = Sent { changes, network };
    }

    /// The network that a datagram was sent over.
    pub(crate) fn network(&self, token: u32) -> u32 {
        self.sent[token as usize].network
    }

    /// When the sender of a datagram left the network that it was sent over, if it has.
    pub(crate) fn left_s(&self, token: u32, way: Way) -> Option<Seconds> {
        let [changes, _] = self.sent[token as usize].changes?;
        let dates = &self.changes_s[way.from.0 as usize];
        dates.get(changes as usize).copied()
    }

    /// Since when the receiver of a datagram is not where that goes, if it is elsewhere.
    pub(crate) fn gone_s(&self, token: u32, way: Way) -> Option<Seconds> {
        let [_, changes] = self.sent[token as usize].changes?;
        let dates = &self.changes_s[way.to.0 as usize];
        let away_s = changes.checked_sub(1).map(|last| dates[last as usize]);
        let away_s = away_s.filter(|_| is_away(changes));
        away_s.or_else(|| dates.get(changes as usize).copied())
    }

    /// What tells apart the networks that datagrams of one way left over: it grows with each.
    pub(crate) fn order(&self, token: u32) -> u32 {
        let changes = self.sent[token as usize].changes;
        changes.map_or(0, |[from, to]| from + to)
    }

    fn changes(&self, phone: u32) -> u32 {
        self.changes_s[phone as usize].len() as u32
    }
}

/// Whether a phone has no network after so many changes.
fn is_away(changes: u32) -> bool {
    changes % 2 == 1
}
