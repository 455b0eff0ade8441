//! Which way datagrams and transactions went: straight, or through the relay.
//!
//! A transaction counts as relayed if the last that its proposer had heard of its peer, when it stored
//! it, came through the relay. What deliberately does not live here: why.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{NodeId, Path, Seconds};

/// What is counted where a plan limits who reaches whom, or the relay.
#[derive(Debug, Default)]
pub(crate) struct Paths {
    /// By phone and peer, whether the last datagram came through the relay.
    relayed: BTreeMap<(u32, u32), bool>,
    delivered: Count,
    stored: Count,
}

impl Paths {
    /// A datagram is at its socket.
    pub(crate) fn deliver(&mut self, from: NodeId, to: NodeId, path: Path) {
        let is_relayed = path == Path::Relay;
        self.relayed.insert((to.0, from.0), is_relayed);
        self.delivered.add(is_relayed);
    }

    /// A transaction is stored that a phone has proposed to a peer.
    pub(crate) fn store(&mut self, phone: NodeId, peer: NodeId) {
        let relayed = self.relayed.get(&(phone.0, peer.0));
        self.stored.add(relayed.is_some_and(|&relayed| relayed));
    }

    /// What there is so far.
    pub(crate) fn summary(&self) -> ReachSummary {
        ReachSummary {
            delivered: self.delivered,
            stored: self.stored,
            punching: None,
            relay: None,
        }
    }
}

/// Who reached whom how, as Python gets it.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct ReachSummary {
    /// Datagrams that came to a socket.
    pub delivered: Count,
    /// Transactions that were stored.
    pub stored: Count,
    /// None where nobody punches.
    pub punching: Option<PunchingSummary>,
    /// None where the relay has no limits.
    pub relay: Option<RelaySummary>,
}

/// How many there are, and how many of them were relayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct Count {
    /// All of them.
    pub all: u64,
    /// Those that came through the relay.
    pub relayed: u64,
}

impl Count {
    fn add(&mut self, is_relayed: bool) {
        self.all += 1;
        self.relayed += u64::from(is_relayed);
    }
}

/// Pairs of phones that tried to punch.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct PunchingSummary {
    /// Those that did.
    pub opened: u64,
    /// Those that did not.
    pub failed: u64,
    /// Those that were at it when the run ended.
    pub pending: u64,
    /// How often one punched again.
    pub reopened: u64,
    /// How long it took those that did, seconds; none of none.
    pub setup_p50_s: Option<Seconds>,
    /// The same, 90th percentile.
    pub setup_p90_s: Option<Seconds>,
}

/// What the relay did.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "python", derive(pyo3::IntoPyObject))]
pub struct RelaySummary {
    /// Datagrams that left it.
    pub passed: u64,
    /// Datagrams that found no room.
    pub refused: u64,
    /// How long those that left were in it, all together, seconds.
    pub held_s: Seconds,
}
