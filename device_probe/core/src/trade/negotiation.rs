//! The dialler's half of control: what to ask next, until the goal of its ladder is reached.
//!
//! ```text
//! nobody met --Cookie, Welcome--> met --Ready r--> trading r --Summary r--> done with r
//!                                  ^------ a Welcome with another key
//! ```
//! A listener that was killed and started again has forgotten everything and has a new key. The
//! dialler has a reason to doubt by `WhoAreYou`, or because nothing is stored any more: it asks
//! again who is there and goes on meanwhile. Only a welcome that is signed by another key, and
//! answers that very question, makes it go through all of it once more. No sockets and no clock
//! here.

use std::time::Duration;

use pocketsim_protocols::contract::Seconds;
use pocketsim_protocols::crypto::Key;

use super::control::{Control, Cookie, Hello, Summary};
use super::envelope::Envelope;
use super::Carrier;

/// What the dialler wants to have reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Goal {
    /// The listener counts for this repetition.
    Trading {
        /// Its number.
        repetition: u32,
        /// Number of its first proposal.
        first_sequence: u32,
    },
    /// The listener said what came of it.
    Summarised(u32),
}

impl Goal {
    fn repetition(self) -> u32 {
        match self {
            Goal::Trading { repetition, .. } | Goal::Summarised(repetition) => repetition,
        }
    }
}

/// A listener that was not known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Met {
    /// Its key.
    pub key: Key,
    /// The number of this dialler in the experiment.
    pub number: u32,
}

/// The state of the dialler's questions.
#[derive(Clone, Debug)]
pub struct Negotiation {
    session: u64,
    key: Key,
    carrier: Carrier,
    goal: Goal,
    /// Of the repetition that was traded last.
    first_sequence: u32,
    number: u32,
    peer: Option<Key>,
    /// The peer may be another: ask, but go on with it meanwhile.
    doubts: bool,
    /// Reasons to ask who is there, so far.
    round: u32,
    cookie: Cookie,
    ready: Option<u32>,
    summary: Option<(u32, Summary)>,
    full: bool,
    next_at_s: Seconds,
    patience: Duration,
}

impl Negotiation {
    /// Nobody met yet.
    pub fn new(session: u64, key: Key, carrier: Carrier) -> Self {
        Self {
            session,
            key,
            carrier,
            goal: Goal::Trading {
                repetition: 0,
                first_sequence: 0,
            },
            first_sequence: 0,
            number: 0,
            peer: None,
            doubts: false,
            round: 0,
            cookie: Cookie::default(),
            ready: None,
            summary: None,
            full: false,
            next_at_s: 0.0,
            patience: RETRY_FIRST,
        }
    }

    /// Want something else; what is asked for is asked at once.
    pub fn aim(&mut self, goal: Goal) {
        self.goal = goal;
        if let Goal::Trading { first_sequence, .. } = goal {
            self.first_sequence = first_sequence;
        }
        self.summary = None;
        self.hurry();
    }

    /// Whether the goal is reached.
    pub fn is_reached(&self) -> bool {
        let ready = self.peer.is_some() && self.ready == Some(self.goal.repetition());
        match self.goal {
            Goal::Trading { .. } => ready,
            Goal::Summarised(_) => ready && self.summary.is_some(),
        }
    }

    /// What the listener said at the end of the repetition that is the goal.
    pub fn summary(&self) -> Option<&Summary> {
        self.summary.as_ref().map(|(_, tally)| tally)
    }

    /// Whether the listener takes no more.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Nothing comes back: ask whether the listener is still the one it was.
    pub fn doubt(&mut self) {
        if self.peer.is_some() && !self.doubts {
            self.doubts = true;
            self.round = self.round.wrapping_add(1);
        }
    }

    /// The question to put now, if it is time for one.
    pub fn poll(&mut self, now_s: Seconds) -> Option<Control> {
        let question = self.question()?;
        if now_s < self.next_at_s {
            return None;
        }
        self.next_at_s = now_s + self.patience.as_secs_f64();
        self.patience = (self.patience * 2).min(RETRY_MAX);
        Some(question)
    }

    /// An answer; whom it introduces, if that is somebody new.
    pub fn receive(&mut self, envelope: &Envelope<'_>) -> Option<Met> {
        match envelope.control {
            Control::Cookie { session, cookie } if session == self.session => {
                // The same again says nothing, and somebody in between may say a wrong one often.
                if cookie != self.cookie && self.asks_who() {
                    self.cookie = cookie;
                    self.next_at_s = 0.0;
                }
            }
            Control::Welcome {
                session,
                key,
                number,
                round,
            } if session == self.session && round == self.round && self.asks_who() => {
                return envelope
                    .is_by(&key)
                    .then(|| self.welcome(key, number))
                    .flatten();
            }
            Control::WhoAreYou => self.doubt(),
            Control::Full { session } if session == self.session => {
                // Whose it is can be known only after a welcome.
                self.full |= self.peer.is_none_or(|peer| envelope.is_by(&peer));
            }
            _ => self.receive_of_peer(envelope),
        }
        None
    }

    /// What only the listener that was met can say.
    fn receive_of_peer(&mut self, envelope: &Envelope<'_>) {
        let is_peer = |this: &Self| this.peer.is_some_and(|peer| envelope.is_by(&peer));
        match &envelope.control {
            Control::Ready {
                session,
                repetition,
            } if *session == self.session
                && *repetition == self.goal.repetition()
                && is_peer(self) =>
            {
                self.progress(|this| this.ready = Some(*repetition));
            }
            Control::Summary {
                session,
                repetition,
                tally,
            } if *session == self.session
                && self.goal == Goal::Summarised(*repetition)
                && is_peer(self) =>
            {
                self.progress(|this| this.summary = Some((*repetition, tally.clone())));
            }
            _ => {}
        }
    }

    fn asks_who(&self) -> bool {
        self.peer.is_none() || self.doubts
    }

    fn welcome(&mut self, key: Key, number: u32) -> Option<Met> {
        let known = self.peer == Some(key);
        self.progress(|this| {
            this.doubts = false;
            this.peer = Some(key);
            this.number = number;
        });
        if known {
            return None;
        }
        self.ready = None;
        Some(Met { key, number })
    }

    fn question(&self) -> Option<Control> {
        let session = self.session;
        let repetition = self.goal.repetition();
        if self.asks_who() {
            return Some(Control::Hello(Hello {
                session,
                key: self.key,
                carrier: self.carrier,
                repetition,
                number: self.number,
                round: self.round,
                cookie: self.cookie,
            }));
        }
        if self.ready != Some(repetition) {
            return Some(Control::Start {
                session,
                repetition,
                first_sequence: self.first_sequence,
            });
        }
        let finish = Control::Finish {
            session,
            repetition,
        };
        (!self.is_reached()).then_some(finish)
    }

    fn progress(&mut self, change: impl FnOnce(&mut Self)) {
        change(self);
        self.hurry();
    }

    fn hurry(&mut self) {
        self.next_at_s = 0.0;
        self.patience = RETRY_FIRST;
    }
}

/// More than a round trip between two phones nearly always is.
const RETRY_FIRST: Duration = Duration::from_millis(200);
/// A listener that was started again is noticed within about this.
const RETRY_MAX: Duration = Duration::from_secs(1);
