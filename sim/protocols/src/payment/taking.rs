//! The payee's half of a payment.
//!
//! A payment has one receipt: the payment may come often, its tokens are taken once. What he
//! asked for he takes whenever it comes, since who signed it has paid; only requests that were
//! cancelled, or are old when there is no room for new ones, are forgotten.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::contract::{Event, EventKind, MessageId, NodeId, Output, Random, Reason, Seconds};
use crate::crypto::Crypto;
use crate::token::{Challenge, Refusal, Serial, Token, Work};

use super::holder::charge;
use super::{Acceptance, Body, Holder, Out, Terms};

/// One payment to this phone.
pub(super) enum Taking {
    /// Asked for.
    Asked {
        challenge: Option<Challenge>,
        since_s: Seconds,
    },
    /// With the authority (online).
    Verifying { bill: Bill, open: BTreeSet<Serial> },
    /// Taken, and there is no change for it yet.
    Owing(Bill),
    /// At its end, with the receipt.
    Done(Body),
}

/// What a payment came to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bill {
    payer: NodeId,
    terms: Terms,
    taken_cents: u64,
    bytes: u32,
    refusal: Option<Reason>,
}

impl Bill {
    fn is_paid(&self) -> bool {
        self.taken_cents >= self.terms.amount_cents
    }

    /// No more than was tendered: for what is beyond that he has not asked.
    fn change_cents(&self) -> u64 {
        let counted_cents = self.taken_cents.min(self.terms.tendered_cents);
        counted_cents.saturating_sub(self.terms.amount_cents)
    }
}

impl Taking {
    /// The change that was given.
    pub(super) fn change(&self) -> &[Token] {
        match self {
            Self::Done(Body::Receipt { change, .. }) => change,
            _ => &[],
        }
    }

    /// The change that should have been given, in cents.
    pub(super) fn owed_cents(&self) -> u64 {
        match self {
            Self::Owing(bill) => bill.change_cents(),
            _ => 0,
        }
    }
}

impl<C: Crypto, R: Random> Holder<C, R> {
    /// Somebody would pay.
    pub(super) fn offered(
        &mut self,
        from: NodeId,
        payment: MessageId,
        (amount_cents, tendered_cents): (u64, u64),
        now: Seconds,
        out: &mut Out,
    ) {
        let challenge = match self.taking.get(&payment) {
            Some(Taking::Asked { challenge, .. }) => *challenge,
            Some(_) => return,
            None if payment.origin() != from => return,
            None => {
                let due_cents = tendered_cents.saturating_sub(amount_cents);
                if !self.has_change(due_cents) {
                    return self.send(from, Body::Decline { payment }, out);
                }
                if !self.is_verifiable(now, out) {
                    if self.offers.len() < OFFERS_MAX {
                        let cents = (amount_cents, tendered_cents);
                        self.offers.insert(payment, (from, cents));
                    }
                    return;
                }
                let Some(challenge) = self.ask(from, payment, now) else {
                    return;
                };
                challenge
            }
        };
        self.send(from, Body::Request { payment, challenge }, out);
    }

    /// The authority is reached: what waited for that goes on.
    pub(super) fn answer_offers(&mut self, now: Seconds, out: &mut Out) {
        for (payment, (from, cents)) in std::mem::take(&mut self.offers) {
            self.offered(from, payment, cents, now, out);
        }
    }

    /// The payer will not pay, and has signed nothing.
    pub(super) fn cancelled(&mut self, from: NodeId, payment: MessageId) {
        if payment.origin() == from {
            self.offers.remove(&payment);
        }
        let asked = self.taking.get(&payment);
        if let (Some(Taking::Asked { .. }), true) = (asked, payment.origin() == from) {
            self.forget(payment);
        }
    }

    /// The tokens.
    pub(super) fn paid(
        &mut self,
        from: NodeId,
        payment: MessageId,
        (terms, tokens): (Terms, &[Token]),
        now: Seconds,
        out: &mut Out,
    ) {
        if payment.origin() != from {
            return;
        }
        match self.taking.get(&payment) {
            Some(Taking::Done(receipt)) => {
                let receipt = receipt.clone();
                return self.send(from, receipt, out);
            }
            Some(Taking::Owing(bill)) => return self.finish(payment, *bill, out),
            Some(Taking::Verifying { .. }) => return,
            Some(Taking::Asked { .. }) | None => {}
        }
        let bytes = super::message::batch(tokens) as u32;
        let row = Event::new(EventKind::Process, payment, from, bytes);
        out.push(Output::Observe(row));
        let outcomes = self.take(from, tokens, out);
        let refused = outcomes.iter().find_map(|(_, outcome)| outcome.err());
        let bill = Bill {
            payer: from,
            terms,
            taken_cents: outcomes.iter().filter_map(|(_, cents)| cents.ok()).sum(),
            bytes,
            refusal: refused.map(reason),
        };
        let taken = outcomes.iter().filter(|(_, outcome)| outcome.is_ok());
        let open: BTreeSet<Serial> = taken.map(|(serial, _)| *serial).collect();
        if self.config.acceptance == Acceptance::Online && !open.is_empty() {
            self.submit_now(open.iter().copied().collect(), now, out);
            let verifying = Taking::Verifying { bill, open };
            self.taking.insert(payment, verifying);
        } else {
            self.finish(payment, bill, out);
        }
    }

    /// The authority has decided on a token (online): `cents` of it are lost if it refused.
    pub(super) fn verified(&mut self, serial: &Serial, lost_cents: u64, out: &mut Out) {
        let mut done = Vec::new();
        for (payment, taking) in &mut self.taking {
            if let Taking::Verifying { bill, open } = taking {
                if !open.remove(serial) {
                    continue;
                }
                bill.taken_cents -= lost_cents;
                if lost_cents > 0 {
                    bill.refusal = Some(Reason::Fork);
                }
                if open.is_empty() {
                    done.push((*payment, *bill));
                }
            }
        }
        for (payment, bill) in done {
            self.finish(payment, bill, out);
        }
    }

    /// Gives change and a receipt.
    fn finish(&mut self, payment: MessageId, bill: Bill, out: &mut Out) {
        let Some(change) = self.give_change(&bill, out) else {
            self.taking.insert(payment, Taking::Owing(bill));
            return;
        };
        let refusal = (!bill.is_paid()).then(|| bill.refusal.unwrap_or(Reason::Malformed));
        let row = |kind| Event::new(kind, payment, bill.payer, bill.bytes);
        out.push(Output::Observe(match refusal {
            None => row(EventKind::StorePeer),
            Some(reason) => row(EventKind::Refuse).because(reason),
        }));
        let receipt = Body::Receipt {
            payment,
            refusal,
            change,
        };
        self.keep_receipt(payment, receipt.clone());
        self.send(bill.payer, receipt, out);
    }

    /// The change of a bill; `None` while there are no tokens for it.
    fn give_change(&mut self, bill: &Bill, out: &mut Out) -> Option<Arc<[Token]>> {
        let cents = bill.change_cents();
        if cents == 0 || !bill.is_paid() {
            return Some(Arc::from([]));
        }
        let (mut done, key) = (Work::new(), self.key(bill.payer)?);
        let paid = self.client.pay(cents, key, bill.terms.challenge, &mut done);
        charge(out, &mut done);
        let change = paid.ok()?;
        self.confess(bill.payer, &change, out);
        Some(change.into())
    }

    fn keep_receipt(&mut self, payment: MessageId, receipt: Body) {
        self.taking.insert(payment, Taking::Done(receipt));
        self.receipts.push_back(payment);
        if self.receipts.len() > RECEIPTS_MAX {
            let oldest = self.receipts.pop_front();
            self.taking.remove(&oldest.expect("there are many"));
        }
    }

    fn has_change(&self, cents: u64) -> bool {
        cents == 0 || self.selectable(cents) == Some(cents)
    }

    /// Whether what is paid now could be verified, if it has to be at once.
    fn is_verifiable(&mut self, now: Seconds, out: &mut Out) -> bool {
        match self.config.acceptance {
            Acceptance::Offline => true,
            Acceptance::Online => self.reaches_authority(now, out),
        }
    }

    /// Draws what the payer has to answer; `None` if too many have been asked.
    fn ask(
        &mut self,
        payer: NodeId,
        payment: MessageId,
        now: Seconds,
    ) -> Option<Option<Challenge>> {
        let (key, random) = (self.key(payer)?, self.random.bytes());
        let asked = self.client.challenge(random, key).or_else(|busy| {
            let oldest = self.oldest_request(now).ok_or(busy)?;
            self.forget(oldest);
            self.client.challenge(random, key)
        });
        let challenge = asked.ok()?;
        let since_s = now;
        self.taking
            .insert(payment, Taking::Asked { challenge, since_s });
        Some(challenge)
    }

    /// Of requests so old that their payer has long given up.
    fn oldest_request(&self, now: Seconds) -> Option<MessageId> {
        let asked = self.taking.iter().filter_map(|(payment, of)| match of {
            Taking::Asked { since_s, .. } => Some((*since_s, *payment)),
            _ => None,
        });
        let oldest = asked.min_by(|a, b| a.0.total_cmp(&b.0))?;
        (oldest.0 + FORGET_S < now).then_some(oldest.1)
    }

    fn forget(&mut self, payment: MessageId) {
        if let Some(Taking::Asked {
            challenge: Some(challenge),
            ..
        }) = self.taking.remove(&payment)
        {
            self.client.forget(&challenge);
        }
    }
}

/// What the trace says of a token's refusal.
fn reason(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::UsedChallenge
        | Refusal::UnknownChallenge
        | Refusal::WrongGiver
        | Refusal::MissingChallenge => Reason::BrokenLink,
        Refusal::AlreadyHeld | Refusal::TooManyDisputed | Refusal::DuplicateSerial => Reason::Fork,
        Refusal::InvalidFirstProof | Refusal::InvalidProof => Reason::InvalidSignature,
        Refusal::WrongRecipient => Reason::WrongReceiver,
        Refusal::NoRoom => Reason::Oversized,
        _ => Reason::Malformed,
    }
}

/// A day of a busy till; who asks for an older receipt is told what a replay is told.
const RECEIPTS_MAX: usize = 1_024;
/// As many as may have asked in the time that the authority takes to answer.
const OFFERS_MAX: usize = 64;
/// Sixty times the time in which payers give up.
const FORGET_S: Seconds = 1_800.0;
