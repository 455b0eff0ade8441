//! The challenges that a receiver has handed out: bounded, and each for one giver.
//!
//! The thesis gives the receiver's number as one way to prevent replays (IV-G).
//! Who sees a number on its way must not be able to use it up, so it is good for
//! tokens of the giver that it was drawn for, and for as many as he gives: what was
//! taken is refused when it comes again, not what comes after it. Old numbers need
//! not be kept for that, since they are drawn; the last few that were used are, so
//! that what is late is taken, and a replay is told from a wrong number.
//!
//! What deliberately does not live here: drawing them.

use std::collections::{BTreeSet, VecDeque};

use crate::half_block::PublicKey;

use super::{Challenge, Refusal, Serial, Token};

/// A challenge that was handed out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// What was drawn.
    pub challenge: Challenge,
    /// Who was asked, and nobody else may answer.
    pub giver: PublicKey,
    /// What he gave and was taken: serials with last proofs.
    pub taken: BTreeSet<(Serial, [u8; 64])>,
}

/// Challenges of one receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Challenges {
    outstanding: VecDeque<Asked>,
    used: VecDeque<Asked>,
}

impl Challenges {
    /// As they were.
    pub(super) fn restore(outstanding: Vec<Asked>, used: Vec<Asked>) -> Self {
        Self {
            outstanding: outstanding.into(),
            used: used.into(),
        }
    }

    /// What was handed out and not answered, the oldest first.
    pub(super) fn outstanding(&self) -> Vec<Asked> {
        self.outstanding.iter().cloned().collect()
    }

    /// What was answered of late, the oldest first.
    pub(super) fn used(&self) -> Vec<Asked> {
        self.used.iter().cloned().collect()
    }

    /// Hand `challenge` out to `giver`; the oldest of [`OUTSTANDING_MAX`] is forgotten for it.
    pub(super) fn issue(&mut self, challenge: Challenge, giver: PublicKey) {
        let asked = Asked {
            challenge,
            giver,
            taken: BTreeSet::new(),
        };
        keep(&mut self.outstanding, asked, OUTSTANDING_MAX);
    }

    /// Whether `token` answers a challenge that was handed out to who gives it, for the first time.
    pub(super) fn check(&self, token: &Token) -> Result<(), Refusal> {
        let answer = answer_of(token).ok_or(Refusal::MissingChallenge)?;
        let mut asked = self.outstanding.iter().chain(&self.used);
        let asked = asked.find(|asked| asked.challenge == answer);
        let asked = asked.ok_or(Refusal::UnknownChallenge)?;
        if asked.giver != giver_of(token) {
            Err(Refusal::WrongGiver)
        } else if asked.taken.contains(&name(token)) {
            Err(Refusal::UsedChallenge)
        } else {
            Ok(())
        }
    }

    /// `token` was taken: it may not be again.
    pub(super) fn take(&mut self, token: &Token) {
        let is_answered = |asked: &Asked| Some(asked.challenge) == answer_of(token);
        if let Some(place) = self.outstanding.iter().position(is_answered) {
            let asked = self.outstanding.remove(place);
            keep(&mut self.used, asked.expect("it has that place"), USED_MAX);
        }
        let mut used = self.used.iter_mut();
        let asked = used.find(|asked| is_answered(asked));
        asked.map(|asked| asked.taken.insert(name(token)));
    }
}

fn keep(queue: &mut VecDeque<Asked>, asked: Asked, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(asked);
}

/// The challenge that a token answers, if it does: in its last pair, or before the nonce's rest.
fn answer_of(token: &Token) -> Option<Challenge> {
    match token.recipients() {
        [_] => token.nonce.first_chunk().copied(),
        [.., last] => last.challenge,
        [] => None,
    }
}

/// Who signed a token over to its last recipient.
fn giver_of(token: &Token) -> PublicKey {
    match token.recipients() {
        [.., giver, _] => giver.key,
        _ => token.authority,
    }
}

fn name(token: &Token) -> (Serial, [u8; 64]) {
    (token.serial, token.last_recipient().proof)
}

/// As many payers as may stand at one till at once, and more; 7 KiB.
pub(super) const OUTSTANDING_MAX: usize = 64;
/// Payments after which a replay is called an unknown challenge; either way it is refused.
pub(super) const USED_MAX: usize = 64;
