//! The challenges that a receiver has handed out: bounded, and each for one giver.
//!
//! The thesis gives the receiver's number as one way to prevent replays (IV-G).
//! Who sees a number on its way must not be able to use it up, so it is good for
//! tokens of the giver that it was drawn for, and for as many as the giver gives: what was
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
    /// What the giver gave and was taken: serials with last proofs.
    pub taken: BTreeSet<(Serial, [u8; 64])>,
}

/// As many challenges are outstanding as may be: see [`super::Client::forget`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// Challenges of one receiver.
#[derive(Clone, Debug, Default)]
pub(super) struct Challenges {
    pub(super) payments: Vec<Asked>,
    /// Apart: a client that asks for payment a thousand times must not keep others from new tokens.
    pub(super) orders: Vec<Asked>,
    pub(super) used: VecDeque<Asked>,
}

impl Challenges {
    /// Hand `challenge` out to `giver`, for an order or for a payment.
    ///
    /// # Errors
    /// When [`OUTSTANDING_MAX`] of its kind are: to forget one for it would make somebody
    /// who has signed already pay for nothing.
    pub(super) fn issue(
        &mut self,
        challenge: Challenge,
        giver: PublicKey,
        is_order: bool,
    ) -> Result<(), Busy> {
        let outstanding = if is_order {
            &mut self.orders
        } else {
            &mut self.payments
        };
        if outstanding.len() == OUTSTANDING_MAX {
            return Err(Busy);
        }
        let asked = Asked {
            challenge,
            giver,
            taken: BTreeSet::new(),
        };
        outstanding.push(asked);
        Ok(())
    }

    /// Whether `challenge` was outstanding, which it no longer is.
    pub(super) fn forget(&mut self, challenge: &Challenge) -> bool {
        self.answered(|asked| asked.challenge == *challenge)
            .is_some()
    }

    /// Whether `token` answers a challenge that was handed out to who gives it, for the first time.
    pub(super) fn check(&self, token: &Token) -> Result<(), Refusal> {
        let answer = answer_of(token).ok_or(Refusal::MissingChallenge)?;
        let outstanding = self.payments.iter().chain(&self.orders);
        let mut all = outstanding.chain(&self.used);
        let asked = all.find(|asked| asked.challenge == answer);
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
        if let Some(asked) = self.answered(is_answered) {
            keep(&mut self.used, asked, USED_MAX);
        }
        let mut used = self.used.iter_mut();
        let asked = used.find(|asked| is_answered(asked));
        asked.map(|asked| asked.taken.insert(name(token)));
    }

    /// Of those outstanding, the one that is so.
    fn answered(&mut self, is_so: impl Fn(&Asked) -> bool) -> Option<Asked> {
        let kinds = [&mut self.payments, &mut self.orders];
        kinds.into_iter().find_map(|kind| {
            let place = kind.iter().position(&is_so)?;
            Some(kind.remove(place))
        })
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

/// As many payers as may stand at one till at once, and more; 8 KiB for each kind.
pub(super) const OUTSTANDING_MAX: usize = 64;
/// Payments after which a replay is called an unknown challenge; either way it is refused.
pub(super) const USED_MAX: usize = 64;
