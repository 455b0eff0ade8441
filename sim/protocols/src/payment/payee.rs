//! The payee's half of a payment.
//!
//! A payment has one receipt: the payment may come often, its tokens are taken once. What it
//! asked for, it takes whenever it comes, since who signed it has paid; only requests that were
//! cancelled, or are old when there is no room for new ones, are forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::contract::{Event, EventKind, MessageId, NodeId, Output, Random, Reason, Seconds};
use crate::crypto::Crypto;
use crate::token::{Challenge, Refusal, Serial, Token, Work};

use super::states::{PayeeEvent, PayeeState, PAYEE};
use super::wallet_owner::charge;
use super::{Acceptance, Body, Out, Terms, WalletOwner};

/// One payment to this phone.
pub(super) enum IncomingPayment {
    /// Asked for, with what the offer said.
    Asked {
        challenge: Option<Challenge>,
        amount_cents: u64,
        tendered_cents: u64,
        since_s: Seconds,
    },
    /// With the authority (online).
    Verifying { bill: Bill, open: BTreeSet<Serial> },
    /// Taken, and there is no change for it yet.
    Owing(Bill),
    /// At its end, with the receipt.
    Answered(Body),
}

/// What a payment came to.
#[derive(Clone, Debug)]
pub(super) struct Bill {
    payer: NodeId,
    terms: Terms,
    /// What each token that was taken is worth.
    taken_cents: BTreeMap<Serial, u64>,
    bytes: u32,
    refusal: Option<Reason>,
}

impl Bill {
    fn is_paid(&self) -> bool {
        self.sum_cents() >= self.terms.amount_cents
    }

    fn sum_cents(&self) -> u64 {
        self.taken_cents.values().sum()
    }

    /// No more than was tendered: for what is beyond that it has not asked.
    fn change_cents(&self) -> u64 {
        let counted_cents = self.sum_cents().min(self.terms.tendered_cents);
        counted_cents.saturating_sub(self.terms.amount_cents)
    }
}

impl IncomingPayment {
    fn state(&self) -> PayeeState {
        match self {
            Self::Asked { .. } => PayeeState::Asked,
            Self::Verifying { .. } => PayeeState::Verifying,
            Self::Owing(_) => PayeeState::Owing,
            Self::Answered(_) => PayeeState::Answered,
        }
    }

    /// The change that was given.
    pub(super) fn change(&self) -> &[Token] {
        match self {
            Self::Answered(Body::Receipt { change, .. }) => change,
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

impl<C: Crypto, R: Random> WalletOwner<C, R> {
    /// Somebody would pay.
    pub(super) fn offered(
        &mut self,
        from: NodeId,
        payment: MessageId,
        (amount_cents, tendered_cents): (u64, u64),
        now: Seconds,
        out: &mut Out,
    ) {
        let challenge = match self.incoming.get(&payment) {
            Some(IncomingPayment::Asked { challenge, .. }) => *challenge,
            Some(_) => return,
            None if payment.origin() != from || tendered_cents > CENTS_MAX => return,
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
                let cents = (amount_cents, tendered_cents);
                let Some(challenge) = self.ask(from, payment, cents, now) else {
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
        let asked = self.incoming.get(&payment);
        if let (Some(IncomingPayment::Asked { .. }), true) = (asked, payment.origin() == from) {
            self.forget(payment, PayeeEvent::Cancel);
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
        match self.incoming.get(&payment) {
            Some(IncomingPayment::Answered(receipt)) => {
                let receipt = receipt.clone();
                return self.send(from, receipt, out);
            }
            Some(IncomingPayment::Owing(bill)) => {
                let bill = bill.clone();
                return self.finish(payment, bill, out);
            }
            Some(IncomingPayment::Verifying { .. }) => return,
            Some(IncomingPayment::Asked { .. }) | None => {}
        }
        let terms = self.agreed(payment, terms);
        let bytes = super::message::batch(tokens) as u32;
        let row = Event::new(EventKind::Process, payment, from, bytes);
        out.push(Output::Observe(row));
        let outcomes = self.take(from, tokens, out);
        let refused = outcomes.iter().find_map(|(_, outcome)| outcome.err());
        let bill = Bill {
            payer: from,
            terms,
            taken_cents: outcomes
                .iter()
                .filter_map(|(serial, cents)| Some((*serial, cents.ok()?)))
                .collect(),
            bytes,
            refusal: refused.map(reason),
        };
        let open: BTreeSet<Serial> = bill.taken_cents.keys().copied().collect();
        if self.config.acceptance == Acceptance::Online && !open.is_empty() {
            self.submit_now(open.iter().copied().collect(), now, out);
            let verifying = IncomingPayment::Verifying { bill, open };
            self.enter(payment, PayeeEvent::Submit, verifying);
        } else {
            self.finish(payment, bill, out);
        }
    }

    /// What was offered: a payer who signs for less has not paid. Who was never asked gets no change.
    fn agreed(&self, payment: MessageId, said: Terms) -> Terms {
        let (amount_cents, tendered_cents) = match self.incoming.get(&payment) {
            Some(IncomingPayment::Asked {
                amount_cents,
                tendered_cents,
                ..
            }) => (*amount_cents, *tendered_cents),
            _ => (said.amount_cents, said.amount_cents),
        };
        Terms {
            amount_cents,
            tendered_cents,
            ..said
        }
    }

    /// The authority has decided on a token (online), and refused it for a reason or not.
    pub(super) fn verified(&mut self, serial: &Serial, refusal: Option<Reason>, out: &mut Out) {
        let mut done = Vec::new();
        for (payment, incoming) in &mut self.incoming {
            if let IncomingPayment::Verifying { bill, open } = incoming {
                if !open.remove(serial) {
                    continue;
                }
                if refusal.is_some() {
                    bill.refusal = refusal;
                    bill.taken_cents.remove(serial);
                }
                if open.is_empty() {
                    done.push((*payment, bill.clone()));
                }
            }
        }
        for (payment, bill) in done {
            self.finish(payment, bill, out);
        }
    }

    /// Gives the change that is owed, as far as there are tokens for it by now.
    pub(super) fn pay_debts(&mut self, out: &mut Out) {
        let owing = self.incoming.iter().filter_map(|(payment, of)| match of {
            IncomingPayment::Owing(bill) => Some((*payment, bill.clone())),
            _ => None,
        });
        let owing: Vec<(MessageId, Bill)> = owing.collect();
        for (payment, bill) in owing {
            self.finish(payment, bill, out);
        }
    }

    /// Gives change and a receipt.
    fn finish(&mut self, payment: MessageId, bill: Bill, out: &mut Out) {
        let given = match bill.is_paid() {
            true => self.give_change(&bill, out),
            false => Some(self.give_back(&bill, out)),
        };
        let Some(change) = given else {
            return self.enter(payment, PayeeEvent::Owe, IncomingPayment::Owing(bill));
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
        let was_asked = self.incoming.contains_key(&payment);
        if was_asked || !bill.taken_cents.is_empty() {
            self.keep_receipt(payment, receipt.clone());
        }
        self.send(bill.payer, receipt, out);
    }

    /// The change of a bill; `None` while there are no tokens for it.
    fn give_change(&mut self, bill: &Bill, out: &mut Out) -> Option<Arc<[Token]>> {
        let cents = bill.change_cents();
        if cents == 0 {
            return Some(Arc::from([]));
        }
        let (mut done, key) = (Work::new(), self.key(bill.payer)?);
        let paid = self.client.pay(cents, key, bill.terms.challenge, &mut done);
        charge(out, &mut done);
        let change = paid.ok()?;
        self.confess(bill.payer, &change, out);
        Some(change.into())
    }

    /// The very tokens of a payment that was not enough; others would be a cheat's to choose.
    fn give_back(&mut self, bill: &Bill, out: &mut Out) -> Arc<[Token]> {
        let Some(payer) = self.key(bill.payer) else {
            return Arc::from([]);
        };
        let mut done = Work::new();
        let serials = bill.taken_cents.keys();
        let sign = |serial| {
            let challenge = bill.terms.challenge;
            self.client.hand_on(serial, payer, challenge, &mut done)
        };
        // Online, one may have been spent since it was verified.
        let tokens: Vec<Token> = serials.filter_map(sign).collect();
        charge(out, &mut done);
        self.confess(bill.payer, &tokens, out);
        tokens.into()
    }

    /// What has tokens in it is kept for good: the money in circulation bounds how many there are.
    fn keep_receipt(&mut self, payment: MessageId, receipt: Body) {
        let answered = IncomingPayment::Answered(receipt);
        let is_empty = answered.change().is_empty();
        self.enter(payment, PayeeEvent::Receipt, answered);
        if !is_empty {
            return;
        }
        self.receipts.push_back(payment);
        if self.receipts.len() > RECEIPTS_MAX {
            let oldest = self.receipts.pop_front();
            self.forget(oldest.expect("there are many"), PayeeEvent::Forget);
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
        (amount_cents, tendered_cents): (u64, u64),
        now: Seconds,
    ) -> Option<Option<Challenge>> {
        let (key, random) = (self.key(payer)?, self.random.bytes());
        if self.asked().count() >= ASKED_MAX {
            let oldest = self.oldest_request(now)?;
            self.forget(oldest, PayeeEvent::Expire);
        }
        let asked = self.client.challenge(random, key).or_else(|busy| {
            let oldest = self.oldest_request(now).ok_or(busy)?;
            self.forget(oldest, PayeeEvent::Expire);
            self.client.challenge(random, key)
        });
        let challenge = asked.ok()?;
        let asked = IncomingPayment::Asked {
            challenge,
            amount_cents,
            tendered_cents,
            since_s: now,
        };
        self.enter(payment, PayeeEvent::Ask, asked);
        Some(challenge)
    }

    /// Requests that nobody has answered, and since when.
    fn asked(&self) -> impl Iterator<Item = (Seconds, MessageId)> + '_ {
        self.incoming.iter().filter_map(|(payment, of)| match of {
            IncomingPayment::Asked { since_s, .. } => Some((*since_s, *payment)),
            _ => None,
        })
    }

    /// Of requests so old that their payer has long given up.
    fn oldest_request(&self, now: Seconds) -> Option<MessageId> {
        let oldest = self.asked().min_by(|a, b| a.0.total_cmp(&b.0))?;
        let kept_s = FORGET_S.max(2.0 * self.config.payment_timeout_s);
        (oldest.0 + kept_s < now).then_some(oldest.1)
    }

    /// `event` takes the payment to its next state, which is that of `next`.
    fn enter(&mut self, payment: MessageId, event: PayeeEvent, next: IncomingPayment) {
        let state = next.state();
        let before = self.incoming.insert(payment, next);
        let due = PAYEE.next(before.as_ref().map(IncomingPayment::state), event);
        assert_eq!(state, due, "{event:?} of {payment:?}");
        self.wait_no_more(before);
    }

    /// `event` ends the payment, and nothing is kept of it.
    fn forget(&mut self, payment: MessageId, event: PayeeEvent) {
        let Some(before) = self.incoming.remove(&payment) else {
            return;
        };
        let due = PAYEE.next(Some(before.state()), event);
        assert_eq!(PayeeState::Forgotten, due, "{event:?} of {payment:?}");
        self.wait_no_more(Some(before));
    }

    /// Gives up what was asked for, which no token may have answered: a payer who sends none, or
    /// only bad ones, must not keep others from being asked.
    fn wait_no_more(&mut self, before: Option<IncomingPayment>) {
        if let Some(IncomingPayment::Asked {
            challenge: Some(challenge),
            ..
        }) = before
        {
            self.client.forget(&challenge);
        }
    }
}

/// What the trace says of a token's refusal.
pub(super) fn reason(refusal: Refusal) -> Reason {
    match refusal {
        Refusal::UsedChallenge
        | Refusal::UnknownChallenge
        | Refusal::WrongGiver
        | Refusal::MissingChallenge => Reason::BrokenLink,
        Refusal::AlreadyHeld
        | Refusal::TooManyDisputed
        | Refusal::DuplicateSerial
        | Refusal::DoubleSpend => Reason::Fork,
        Refusal::AlreadyRedeemed => Reason::Duplicate,
        Refusal::InvalidFirstProof | Refusal::InvalidProof => Reason::InvalidSignature,
        Refusal::WrongRecipient | Refusal::WrongSubmitter => Reason::WrongReceiver,
        Refusal::NoRoom => Reason::Oversized,
        _ => Reason::Malformed,
    }
}

/// A day of a busy till; who asks for an older receipt, that had no tokens in it, is told what a
/// replay is told.
const RECEIPTS_MAX: usize = 1_024;
/// As many as challenges may be outstanding, which without a handshake there are none of.
const ASKED_MAX: usize = 64;
/// An amount has four bytes.
const CENTS_MAX: u64 = u32::MAX as u64;
/// As many as may have asked in the time that the authority takes to answer.
const OFFERS_MAX: usize = 64;
/// Far longer than a payer tries to agree; who had signed by then has paid for nothing.
const FORGET_S: Seconds = 1_800.0;
