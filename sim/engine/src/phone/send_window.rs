//! How many proposals of phones have no answer yet, where their sender loops stop at so many.
//!
//! An app that keeps what is under way in tables of so many places proposes no more while they are
//! all taken: under overload it is this that bounds its queue, and how long its answers take. What
//! deliberately does not live here: what a transport does with a proposal.

use std::collections::BTreeMap;

use pocketsim_protocols::contract::{Event, EventKind};

use crate::plan::{SenderLoop, Workload};

/// Counts by phone; nothing is kept of those whose loops have no limit.
pub(crate) struct SendWindow(BTreeMap<u32, u32>);

impl SendWindow {
    /// Nobody has proposed yet.
    ///
    /// # Panics
    /// On a loop with a limit that never sleeps: it would look for room for ever, in no time.
    pub(crate) fn new(workload: &Workload) -> Self {
        let limited = workload.loops.iter().filter(|of| of.outstanding_max > 0);
        let phone = |of: &SenderLoop| {
            assert!(of.interval_s > 0.0, "a loop that waits for room sleeps");
            (of.from_phone, 0)
        };
        Self(limited.map(phone).collect())
    }

    /// Something happened to a transaction at a phone.
    pub(crate) fn note(&mut self, phone: u32, event: &Event) {
        let Some(count) = self.0.get_mut(&phone) else {
            return;
        };
        if event.message.origin().0 != phone {
            return; // it only answers
        }
        match event.kind {
            EventKind::Send => *count += 1,
            // Who gave up an answer that comes after all has its place free already.
            EventKind::Store | EventKind::Lose => *count = count.saturating_sub(1),
            _ => {}
        }
    }

    /// Whether a loop of a phone that stops at `most`, 0 for never, may propose.
    pub(crate) fn has_room(&self, phone: u32, most: u32) -> bool {
        most == 0 || self.0.get(&phone).is_none_or(|&count| count < most)
    }

    /// A phone went off, and whatever it was doing ended, but for proposals that it keeps.
    pub(crate) fn shut_down(&mut self, phone: u32, kept: usize) {
        if let Some(count) = self.0.get_mut(&phone) {
            *count = kept as u32;
        }
    }
}
