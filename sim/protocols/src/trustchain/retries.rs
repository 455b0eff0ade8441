//! When a proposal without an answer is sent again, and when it is given up.
//!
//! Each send is followed by a wait, `factor` times as long as the one before. A part of it is drawn,
//! so that phones do not keep step. A proposal is given up after the wait of its last attempt, or when
//! its deadline is over, for the reason that the transport last gave. Without one it is
//! `retries_exhausted`, or `sender_off` if its phone was off when the deadline passed.
//!
//! While its phone is off, a proposal waits on its disk or is lost ([`Retries::kept_while_off`]). A
//! phone that comes back spreads what came due meanwhile over a first wait.
//!
//! What deliberately does not live here: blocks, and what is sent.

use std::collections::BTreeMap;

use crate::contract::{MessageId, NodeId, Reason, Seconds};
use crate::deadlines::Deadlines;

/// How proposals are sent again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Retries {
    /// Most sends of one proposal, the first included; at least 1.
    pub attempts: u32,
    /// How long an answer is waited for after the first send.
    pub first_wait_s: Seconds,
    /// How many times as long each wait is as the one before; at least 1.
    pub factor: f64,
    /// No wait is longer.
    pub longest_wait_s: Seconds,
    /// Share of each wait that is drawn, from 0 to 1.
    pub jitter: f64,
    /// A proposal is given up so long after it was first sent.
    pub deadline_s: Seconds,
    /// Whether a phone that goes off keeps its open proposals.
    pub kept_while_off: bool,
}

/// Draws numbers from [0, 1), uniformly.
pub type Chance = Box<dyn FnMut() -> f64 + Send>;

/// What becomes of a proposal whose wait is over.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Turn {
    /// It is sent again.
    Again(MessageId, NodeId),
    /// It is lost.
    GiveUp(MessageId, NodeId, Reason),
}

/// The open proposals of an agent that sends them again.
pub(super) struct Retrier {
    pub(super) config: Retries,
    chance: Chance,
    trials: BTreeMap<MessageId, Trial>,
    due: Deadlines<MessageId>,
    /// Proposals sent again, and answers given again.
    pub(super) repeated: (u64, u64),
}

/// A proposal that is under way; each has one deadline in [`Retrier::due`], at `due_s`.
struct Trial {
    to: NodeId,
    attempts: u32,
    due_s: Seconds,
    expires_s: Seconds,
    /// What the transport last said.
    reason: Option<Reason>,
}

impl Retrier {
    pub(super) fn new(config: Retries, chance: Chance) -> Self {
        Self {
            config,
            chance,
            trials: BTreeMap::new(),
            due: Deadlines::new(),
            repeated: (0, 0),
        }
    }

    /// `message` is proposed to a peer, once.
    pub(super) fn begin(&mut self, message: MessageId, to: NodeId, now: Seconds) {
        let trial = Trial {
            to,
            attempts: 1,
            due_s: Seconds::INFINITY,
            expires_s: now + self.config.deadline_s,
            reason: None,
        };
        self.trials.insert(message, trial);
        let wait_s = self.wait_s(1);
        self.wait_until(message, now + wait_s);
    }

    /// It was answered, or never made.
    pub(super) fn end(&mut self, message: MessageId) {
        if let Some(trial) = self.trials.remove(&message) {
            self.due.clear(trial.due_s, message);
        }
    }

    /// The transport will not deliver it.
    pub(super) fn note(&mut self, message: MessageId, reason: Reason) {
        // A duplicate was refused because the transport has it already.
        if reason == Reason::Duplicate {
            return;
        }
        if let Some(trial) = self.trials.get_mut(&message) {
            trial.reason = Some(reason);
        }
    }

    /// The next whose wait is over by `now`, and what becomes of it.
    pub(super) fn take_due(&mut self, now: Seconds) -> Option<Turn> {
        let message = self.due.take_due(now)?;
        let trial = self.trials.get_mut(&message).expect("who waits is open");
        let to = trial.to;
        if trial.attempts >= self.config.attempts || now >= trial.expires_s {
            let reason = trial.reason.unwrap_or(Reason::RetriesExhausted);
            self.trials.remove(&message);
            return Some(Turn::GiveUp(message, to, reason));
        }
        trial.attempts += 1;
        let attempts = trial.attempts;
        let wait_s = self.wait_s(attempts);
        self.wait_until(message, now + wait_s);
        self.repeated.0 += 1;
        Some(Turn::Again(message, to))
    }

    /// When the next wait is over.
    pub(super) fn next_s(&self) -> Option<Seconds> {
        self.due.next().map(|(date_s, _)| date_s)
    }

    /// How many proposals are open.
    pub(super) fn open(&self) -> usize {
        self.trials.len()
    }

    /// Those that are lost with the phone that goes off: none if it keeps them.
    pub(super) fn shut_down(&mut self) -> Vec<(MessageId, NodeId)> {
        if self.config.kept_while_off {
            return Vec::new();
        }
        self.due.clear_all();
        let lost = std::mem::take(&mut self.trials);
        let told = |(message, trial): (MessageId, Trial)| (message, trial.to);
        lost.into_iter().map(told).collect()
    }

    /// The phone is on again.
    pub(super) fn turn_on(&mut self, now: Seconds) {
        let mut waited = Vec::new();
        while let Some(message) = self.due.take_due(now) {
            waited.push(message);
        }
        for message in waited {
            let wait_s = (self.chance)() * self.config.first_wait_s;
            let trial = self.trials.get_mut(&message).expect("who waits is open");
            if trial.expires_s <= now {
                trial.reason.get_or_insert(Reason::SenderOff);
            }
            self.wait_until(message, now + wait_s);
        }
    }

    /// How long an answer is waited for after so many sends.
    fn wait_s(&mut self, attempts: u32) -> Seconds {
        let Retries {
            first_wait_s,
            factor,
            longest_wait_s,
            jitter,
            ..
        } = self.config;
        let before = i32::try_from(attempts - 1).unwrap_or(i32::MAX);
        let wait_s = (first_wait_s * factor.powi(before)).min(longest_wait_s);
        wait_s * (1.0 - jitter * (self.chance)())
    }

    /// It is this proposal's turn at `date_s`, or when its deadline is over.
    fn wait_until(&mut self, message: MessageId, date_s: Seconds) {
        if let Some(trial) = self.trials.get_mut(&message) {
            trial.due_s = date_s.min(trial.expires_s);
            self.due.set(trial.due_s, message);
        }
    }
}
