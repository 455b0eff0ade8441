//! The challenges that a receiver has handed out: bounded, and each good for one payment.
//!
//! The thesis gives the receiver's number as one way to prevent replays (IV-G).
//! Old numbers need not be kept for that, since they are drawn; the last few that
//! were used are, only to tell a replay or a repeated message from a wrong number.
//!
//! What deliberately does not live here: drawing them.

use std::collections::VecDeque;

use super::{Challenge, Refusal};

/// Challenges of one receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Challenges {
    outstanding: VecDeque<Challenge>,
    used: VecDeque<Challenge>,
}

impl Challenges {
    /// As they were.
    pub(super) fn restore(outstanding: &[Challenge], used: &[Challenge]) -> Self {
        Self {
            outstanding: outstanding.iter().copied().collect(),
            used: used.iter().copied().collect(),
        }
    }

    /// What was handed out and not answered, the oldest first.
    pub(super) fn outstanding(&self) -> Vec<Challenge> {
        self.outstanding.iter().copied().collect()
    }

    /// What was answered of late, the oldest first.
    pub(super) fn used(&self) -> Vec<Challenge> {
        self.used.iter().copied().collect()
    }

    /// Hand `challenge` out; the oldest of [`OUTSTANDING_MAX`] is forgotten for it.
    pub(super) fn issue(&mut self, challenge: Challenge) {
        keep(&mut self.outstanding, challenge, OUTSTANDING_MAX);
    }

    /// Whether a payment may answer `challenge`.
    pub(super) fn check(&self, challenge: &Challenge) -> Result<(), Refusal> {
        if self.outstanding.contains(challenge) {
            Ok(())
        } else if self.used.contains(challenge) {
            Err(Refusal::UsedChallenge)
        } else {
            Err(Refusal::UnknownChallenge)
        }
    }

    /// A payment has answered `challenge`: no other may.
    pub(super) fn close(&mut self, challenge: Challenge) {
        let before = self.outstanding.len();
        self.outstanding.retain(|other| *other != challenge);
        if self.outstanding.len() < before {
            keep(&mut self.used, challenge, USED_MAX);
        }
    }
}

fn keep(queue: &mut VecDeque<Challenge>, challenge: Challenge, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(challenge);
}

/// As many payers as may stand at one till at once, and more; 1 KiB.
pub(super) const OUTSTANDING_MAX: usize = 64;
/// Payments after which a replay is called an unknown challenge; either way it is refused.
pub(super) const USED_MAX: usize = 64;
