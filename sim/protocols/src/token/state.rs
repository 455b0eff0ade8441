//! What a client must not forget, as plain values: taken out, kept, and put back.
//!
//! What comes back is checked as far as a machine would otherwise do wrong with
//! it: whose the tokens are, and that there is money in them. Proofs are not
//! checked again; they were when the tokens came.
//!
//! What deliberately does not live here: bytes, and files.

use std::collections::{BTreeMap, BTreeSet};

use crate::half_block::PublicKey;

use super::challenges::{Asked, Challenges, OUTSTANDING_MAX, USED_MAX};
use super::layout::{Malformed, Token};
use super::wallet::{id, Intent, Wallet, DISPUTED_MAX};
use super::Denomination;

/// Everything about a client but its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Tokens that can be spent, in the order of their serials.
    pub held: Vec<Token>,
    /// Tokens with the authority, as submitted.
    pub pending: Vec<(Token, Intent)>,
    /// Tokens that came while another of their serial was here.
    pub disputed: Vec<Token>,
    /// Challenges for payments that nobody has answered, the oldest first.
    pub payments: Vec<Asked>,
    /// Challenges for orders that no authority has answered, the oldest first.
    pub orders: Vec<Asked>,
    /// Challenges that were answered of late, the oldest first.
    pub used: Vec<Asked>,
}

impl State {
    pub(super) fn of(challenges: &Challenges, wallet: &Wallet) -> Self {
        Self {
            held: wallet.held().cloned().collect(),
            pending: wallet.pending().cloned().collect(),
            disputed: wallet.disputed().cloned().collect(),
            payments: challenges.payments.clone(),
            orders: challenges.orders.clone(),
            used: challenges.used.iter().cloned().collect(),
        }
    }

    pub(super) fn parts(self, owner: &PublicKey) -> Result<(Challenges, Wallet), Malformed> {
        self.check(owner)?;
        let challenges = Challenges {
            payments: self.payments,
            orders: self.orders,
            used: self.used.into(),
        };
        let mut wallet = Wallet::default();
        // Held before pending: a fresh token that is put would end what is pending.
        self.held.into_iter().for_each(|token| wallet.put(token));
        for (token, intent) in self.pending {
            wallet.put_pending(token, intent);
        }
        let disputed = self.disputed.into_iter();
        disputed.for_each(|token| wallet.put_disputed(token));
        Ok((challenges, wallet))
    }

    fn check(&self, owner: &PublicKey) -> Result<(), Malformed> {
        let pending = || self.pending.iter().map(|(token, _)| token);
        let here = || self.held.iter().chain(&self.disputed);
        let is_money = |token: &Token| Denomination::from_byte(token.value).is_some();
        ensure(here().chain(pending()).all(is_money), "no denomination")?;
        let is_own = |token: &Token| token.last_recipient().key == *owner;
        ensure(here().all(is_own), "a token of somebody else")?;
        ensure(
            pending().all(|token| is_submitted(token, owner)),
            "a pending token that its holder did not sign over to its authority",
        )?;
        let is_passed_on = |token: &Token| token.recipients().len() > 1;
        ensure(
            self.disputed.iter().all(is_passed_on),
            "a disputed token that nobody passed on",
        )?;
        ensure(are_distinct(self.held.iter()), "a serial held twice")?;
        ensure(are_distinct(pending()), "a serial pending twice")?;
        let mut outstanding = self.payments.iter().chain(&self.orders);
        ensure(
            outstanding.all(|asked| asked.taken.is_empty()),
            "an answer to a challenge that nobody has answered",
        )?;
        let few = most_of_one(&self.disputed) <= DISPUTED_MAX
            && self.payments.len() <= OUTSTANDING_MAX
            && self.orders.len() <= OUTSTANDING_MAX
            && self.used.len() <= USED_MAX;
        ensure(few, "more than a client keeps")
    }
}

fn is_submitted(token: &Token, owner: &PublicKey) -> bool {
    match token.recipients() {
        [.., holder, last] => holder.key == *owner && last.key == token.authority,
        _ => false,
    }
}

fn are_distinct<'a>(tokens: impl Iterator<Item = &'a Token>) -> bool {
    let mut seen = BTreeSet::new();
    tokens.into_iter().all(|token| seen.insert(id(token)))
}

/// Of the token of which there are most.
fn most_of_one(tokens: &[Token]) -> usize {
    let mut counts = BTreeMap::<_, usize>::new();
    for token in tokens {
        *counts.entry(id(token)).or_default() += 1;
    }
    counts.into_values().max().unwrap_or(0)
}

fn ensure(holds: bool, reason: &'static str) -> Result<(), Malformed> {
    holds.then_some(()).ok_or(Malformed(reason))
}
