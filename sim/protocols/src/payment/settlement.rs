//! What a wallet owner has to do with the authority: withdraw, submit, cash in.
//!
//! An owner says `Hello` first. Only a `Welcome` makes it sign a token over to the authority, since
//! what is submitted cannot be spent until the answer is there.

use std::sync::Arc;

use crate::contract::{Event, EventKind, Output, Random, Seconds};
use crate::crypto::Crypto;
use crate::token::{Answer, Denomination, Intent, Order, Serial, Submission, Token, Work};

use super::payer::worth;
use super::wallet_owner::{charge, serial_id, size};
use super::{Body, Out, WalletOwner};

/// How it stands between the owner and the authority.
pub(super) struct Settlement {
    next_s: Seconds,
    tries: u32,
    heard_s: Seconds,
    orders: Arc<[Order]>,
}

impl Settlement {
    pub(super) fn new(first_call_s: Seconds) -> Self {
        Self {
            next_s: first_call_s,
            tries: 0,
            heard_s: Seconds::NEG_INFINITY,
            orders: Arc::from([]),
        }
    }

    pub(super) fn due_s(&self) -> Seconds {
        self.next_s
    }

    pub(super) fn orders(&self) -> &[Order] {
        &self.orders
    }

    /// The authority spoke.
    fn hear(&mut self, now: Seconds) {
        self.heard_s = now;
        self.tries = 0;
    }

    /// Something was asked: without an answer it is asked again, soon and then rarely.
    fn wait(&mut self, now: Seconds, interval_s: Seconds) {
        self.tries += 1;
        if self.tries < TRIES_MAX {
            self.next_s = now + RETRY_S;
        } else {
            self.rest(now, interval_s);
        }
    }

    fn rest(&mut self, now: Seconds, interval_s: Seconds) {
        self.tries = 0;
        self.next_s = now + interval_s;
    }
}

impl<C: Crypto, R: Random> WalletOwner<C, R> {
    /// Calls on the authority if it is time and there is a reason.
    pub(super) fn call(&mut self, now: Seconds, out: &mut Out) {
        if now < self.settlement.next_s {
            return;
        }
        if self.needs_authority() {
            self.say_hello(now, out);
        } else {
            self.settlement.rest(now, self.config.settle_interval_s);
        }
    }

    /// Whether the authority was heard of late; if not, it is called.
    pub(super) fn reaches_authority(&mut self, now: Seconds, out: &mut Out) -> bool {
        let is_near = self.settlement.heard_s + REACHED_S >= now;
        if !is_near {
            self.say_hello(now, out);
        }
        is_near
    }

    /// The authority can be reached.
    pub(super) fn welcomed(&mut self, now: Seconds, out: &mut Out) {
        self.settlement.hear(now);
        self.answer_offers(now, out);
        self.order();
        // One thing at a time: EVA refuses both of two messages that cross, here a submission and
        // the new tokens, and would again each time.
        if self.settlement.orders.is_empty() {
            self.submit_next(now, out);
        } else {
            self.ask_authority(Body::Orders(self.settlement.orders.clone()), now, out);
        }
    }

    /// New tokens.
    pub(super) fn minted(&mut self, tokens: &[Token], now: Seconds, out: &mut Out) {
        self.settlement.hear(now);
        let orders = self.settlement.orders.clone();
        let is_due = |token: &&Token| orders.iter().any(|order| order.serial == token.serial);
        // Without a handshake what came before would be taken again.
        let due: Vec<Token> = tokens.iter().filter(is_due).cloned().collect();
        if !due.is_empty() {
            // The answer is to all of the order; a serial that another has is not minted.
            self.settlement.orders = Arc::from([]);
            self.take(self.directory.authority(), &due, out);
            self.pay_debts(out);
            self.submit_next(now, out);
        }
    }

    /// What became of what it submitted.
    pub(super) fn answered(&mut self, answers: &[Answer], now: Seconds, out: &mut Out) {
        self.settlement.hear(now);
        for answer in answers {
            self.settle(answer, out);
        }
        self.pay_debts(out);
        self.submit_next(now, out);
    }

    /// Signs these over to the authority at once.
    pub(super) fn submit_now(&mut self, serials: Vec<Serial>, now: Seconds, out: &mut Out) {
        let submissions = self.sign_over(serials, out);
        self.ask_authority(Body::Submissions(submissions.into()), now, out);
    }

    fn say_hello(&mut self, now: Seconds, out: &mut Out) {
        self.ask_authority(Body::Hello, now, out);
    }

    fn ask_authority(&mut self, body: Body, now: Seconds, out: &mut Out) {
        self.settlement.wait(now, self.config.settle_interval_s);
        self.send(self.directory.authority(), body, out);
    }

    fn rest_if_idle(&mut self, now: Seconds) {
        if !self.needs_authority() {
            self.settlement.rest(now, self.config.settle_interval_s);
        }
    }

    fn needs_authority(&self) -> bool {
        let wallet = self.wallet();
        !self.settlement.orders.is_empty()
            || self.wanted_cents() > 0
            || wallet.pending().next().is_some()
            || !wallet.to_submit().is_empty()
    }

    /// What it would withdraw now: to be full again, and for change that it owes.
    fn wanted_cents(&self) -> u64 {
        let wallet = self.wallet();
        let cents = wallet.held_cents() + wallet.pending_cents();
        let is_low = cents < self.config.low_cents;
        let missing_cents = self.config.full_cents.saturating_sub(cents);
        self.owed_cents() + if is_low { missing_cents } else { 0 }
    }

    /// Draws orders for what is wanted, unless some are open.
    fn order(&mut self) {
        let cents = self.wanted_cents();
        if cents == 0 || !self.settlement.orders.is_empty() {
            return;
        }
        let authority = self.key(self.directory.authority());
        let authority = authority.expect("the directory has it");
        let random = self.random.bytes();
        let challenge = self.client.challenge(random, authority);
        let challenge = challenge.expect("one order is open at a time");
        let first = *self.client.public_key();
        let order = |denomination| Order {
            serial: self.random.bytes(),
            denomination,
            first,
            challenge,
        };
        self.settlement.orders = purse(cents).map(order).collect();
    }

    /// The next batch for the authority, what waits for an answer first.
    fn submit_next(&mut self, now: Seconds, out: &mut Out) {
        let most = self.config.batch_tokens;
        let mut submissions = self.client.resubmissions();
        submissions.truncate(most);
        if submissions.is_empty() {
            let mut serials = self.wallet().to_submit();
            serials.truncate(most);
            submissions = self.sign_over(serials, out);
        }
        if submissions.is_empty() {
            self.rest_if_idle(now);
        } else {
            self.ask_authority(Body::Submissions(submissions.into()), now, out);
        }
    }

    fn sign_over(&mut self, serials: Vec<Serial>, out: &mut Out) -> Vec<Submission> {
        let authority = self.directory.authority();
        let mut above_cents = self.above_cents();
        let mut submissions = Vec::with_capacity(serials.len());
        for serial in serials {
            let (mut done, random) = (Work::new(), self.random.bytes());
            let intent = match above_cents {
                0 => Intent::Reissue,
                _ => Intent::Redeem,
            };
            let submission = self.client.submit(&serial, intent, random, &mut done);
            charge(out, &mut done);
            let Some(submission) = submission else {
                continue;
            };
            let token = std::slice::from_ref(&submission.token);
            above_cents = above_cents.saturating_sub(worth(token));
            self.confess(authority, token, out);
            let row = Event::new(
                EventKind::Submit,
                serial_id(&serial),
                authority,
                size(&token[0]).1,
            );
            out.push(Output::Observe(row));
            submissions.push(submission);
        }
        submissions
    }

    /// What a shop has beyond its till.
    fn above_cents(&self) -> u64 {
        let cents = self.wallet().held_cents();
        let above_cents = cents.saturating_sub(self.config.full_cents);
        if self.config.redeems {
            above_cents
        } else {
            0
        }
    }

    fn settle(&mut self, answer: &Answer, out: &mut Out) {
        let (authority, serial) = (self.directory.authority(), answer.serial());
        let submitted = self.submitted(&serial);
        let mut done = Work::new();
        let receipt = self.client.settle(answer.clone(), &mut done);
        charge(out, &mut done);
        let (Some(receipt), Some(submitted)) = (receipt, submitted) else {
            return;
        };
        // A token of an earlier life, that came late, settles nothing.
        if self.submitted(&serial).as_ref() == Some(&submitted) {
            return;
        }
        let row = Event::new(
            EventKind::Settle,
            serial_id(&serial),
            authority,
            size(&submitted).1,
        );
        let refusal = receipt.outcome.err().map(super::payee::reason);
        out.push(Output::Observe(Event {
            reason: refusal,
            ..row
        }));
        self.verified(&serial, refusal, out);
    }

    fn submitted(&self, serial: &Serial) -> Option<Token> {
        let mut pending = self.wallet().pending().map(|(token, _)| token);
        pending.find(|token| token.serial == *serial).cloned()
    }
}

/// Denominations for `cents`: first one of each coin series, so that most amounts can be paid,
/// then notes, and the rest in as few as can be.
fn purse(cents: u64) -> impl Iterator<Item = Denomination> {
    let mut left_cents = cents;
    let series = SERIES_CENTS
        .into_iter()
        .map(|each| Denomination::from_cents(each).expect("the series are of denominations"));
    let mut chosen: Vec<Denomination> = series
        .filter(|each| {
            let fits = each.cents() <= left_cents;
            left_cents -= if fits { each.cents() } else { 0 };
            fits
        })
        .collect();
    for each in Denomination::all().rev() {
        let count = left_cents / each.cents();
        left_cents -= count * each.cents();
        chosen.extend((0..count).map(|_| each));
    }
    chosen.into_iter()
}

/// With these every amount up to 11.10 EUR can be paid to the cent; and three notes.
const SERIES_CENTS: [u64; 15] = [
    1, 2, 2, 5, 10, 20, 20, 50, 100, 200, 200, 500, 1_000, 2_000, 2_000,
];
/// An answer takes milliseconds where there is a network; assumed.
const RETRY_S: Seconds = 5.0;
/// So often, then again at the next interval.
const TRIES_MAX: u32 = 3;
/// Who was heard so lately can be reached; assumed.
const REACHED_S: Seconds = 5.0;
