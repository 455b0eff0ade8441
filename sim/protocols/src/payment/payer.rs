//! The payer's half of a payment.
//!
//! Until the tokens are signed it may give up; from then on they are the payee's, and what it
//! signed is repeated, ever more slowly, until there is a receipt.

use crate::contract::{
    Conduct, Event, EventKind, MessageId, NodeId, Output, Random, Reason, Seconds,
};
use crate::crypto::Crypto;
use crate::half_block::PublicKey;
use crate::token::{Challenge, Denomination, Token, Work};

use super::states::{PayerEvent, PayerState, PAYER};
use super::wallet_owner::{before, charge};
use super::{Body, Out, Terms, WalletOwner};

/// One payment that is not at its end.
pub(super) struct OutgoingPayment {
    to: NodeId,
    amount_cents: u64,
    tendered_cents: u64,
    conduct: Conduct,
    state: PayerState,
    /// The payment as it was signed, if it was.
    signed: Option<Body>,
    repeat_s: Seconds,
    interval_s: Seconds,
    give_up_s: Seconds,
}

impl OutgoingPayment {
    /// When it wants to be looked at.
    pub(super) fn due_s(&self) -> Seconds {
        match self.is_open() {
            true => self.repeat_s.min(self.give_up_s),
            false => self.repeat_s,
        }
    }

    /// What was signed away for it.
    pub(super) fn tokens(&self) -> &[Token] {
        match &self.signed {
            Some(Body::Payment { tokens, .. }) => tokens,
            _ => &[],
        }
    }

    /// Whether it may still be given up.
    fn is_open(&self) -> bool {
        self.state == PayerState::Offered
    }

    fn happen(&mut self, event: PayerEvent) {
        self.state = PAYER.next(Some(self.state), event);
    }

    fn wait(&mut self, now: Seconds, longest_s: Seconds) {
        self.interval_s = (2.0 * self.interval_s).min(longest_s);
        self.repeat_s = now + self.interval_s;
    }
}

impl<C: Crypto, R: Random> WalletOwner<C, R> {
    /// Pay `amount_cents` to `to`: with exact tokens, or with more and change.
    pub(super) fn pay(
        &mut self,
        to: NodeId,
        amount_cents: u64,
        conduct: Conduct,
        now: Seconds,
        out: &mut Out,
    ) {
        let payment = self.sender.next_id();
        let old_cents = self.paid.get(&to).map(|tokens| worth(tokens));
        let (conduct, amount_cents, tendered) = match (conduct, old_cents) {
            (Conduct::Replay, Some(cents)) => (conduct, cents, Some(cents)),
            // Who never paid this payee has nothing to replay.
            (Conduct::Replay, None) => {
                (Conduct::Honest, amount_cents, self.selectable(amount_cents))
            }
            _ => (conduct, amount_cents, self.selectable(amount_cents)),
        };
        let is_payee = to != self.sender.node && self.key(to).is_some();
        let Some(tendered_cents) = tendered.filter(|_| is_payee) else {
            let event = Event::new(EventKind::Unpayable, payment, to, 0);
            return out.push(Output::Observe(event));
        };
        out.push(Output::Observe(Event::new(EventKind::Send, payment, to, 0)));
        let outgoing = OutgoingPayment {
            to,
            amount_cents,
            tendered_cents,
            conduct,
            state: PAYER.next(None, PayerEvent::Offer),
            signed: None,
            repeat_s: now + REPEAT_S,
            interval_s: REPEAT_S,
            give_up_s: now + self.config.payment_timeout_s,
        };
        let offer = offer(payment, &outgoing);
        self.outgoing.insert(payment, outgoing);
        self.send(to, offer, out);
    }

    /// The payee asks for the tokens.
    pub(super) fn requested(
        &mut self,
        from: NodeId,
        payment: MessageId,
        challenge: Option<Challenge>,
        now: Seconds,
        out: &mut Out,
    ) {
        let outgoing = self.outgoing.get(&payment);
        let Some(outgoing) = outgoing.filter(|of| of.to == from && of.is_open()) else {
            return;
        };
        let (amount_cents, tendered_cents) = (outgoing.amount_cents, outgoing.tendered_cents);
        let conduct = outgoing.conduct;
        let for_change = self.ask_change(from);
        // Unless 64 others may give it something back, or the tokens went elsewhere meanwhile.
        let signed =
            for_change.and_then(|_| self.sign(from, tendered_cents, challenge, conduct, out));
        let Some(tokens) = signed else {
            self.forget_change(for_change.flatten());
            self.send(from, Body::Cancel { payment }, out);
            return self.give_up(payment, PayerEvent::Fail, out);
        };
        let terms = Terms {
            amount_cents,
            tendered_cents,
            challenge: for_change.flatten(),
        };
        let body = Body::Payment {
            payment,
            terms,
            tokens: tokens.into(),
        };
        let outgoing = self.outgoing.get_mut(&payment).expect("it was here");
        outgoing.happen(PayerEvent::Sign);
        outgoing.signed = Some(body.clone());
        outgoing.interval_s = REPEAT_S;
        outgoing.repeat_s = now + REPEAT_S;
        self.send(from, body, out);
    }

    /// The payee will not.
    pub(super) fn declined(&mut self, from: NodeId, payment: MessageId, out: &mut Out) {
        let open = self.outgoing.get(&payment);
        if open.is_some_and(|of| of.to == from && of.is_open()) {
            self.give_up(payment, PayerEvent::Decline, out);
        }
    }

    /// The payee has answered for good.
    pub(super) fn receipted(
        &mut self,
        from: NodeId,
        payment: MessageId,
        refusal: Option<Reason>,
        change: &[Token],
        out: &mut Out,
    ) {
        let outgoing = self.outgoing.get(&payment);
        if !outgoing.is_some_and(|of| of.to == from && !of.is_open()) {
            return;
        }
        let outgoing = self.end(payment, PayerEvent::Receipt);
        let bytes = super::message::batch(outgoing.tokens()) as u32;
        let row = |kind| Event::new(kind, payment, from, bytes);
        out.push(Output::Observe(row(EventKind::ReceiveBack)));
        let outcomes = self.take(from, change, out);
        let change_cents: u64 = outcomes.iter().filter_map(|(_, cents)| cents.ok()).sum();
        let is_short = change_cents < outgoing.tendered_cents - outgoing.amount_cents;
        let loss = refusal.or(is_short.then_some(Reason::Malformed));
        out.push(Output::Observe(match loss {
            None => row(EventKind::Store),
            Some(reason) => row(EventKind::Lose).because(reason),
        }));
        self.close(outgoing, refusal.is_some());
    }

    /// Nothing more will come for a payment; what was refused stays signed away.
    fn close(&mut self, outgoing: OutgoingPayment, is_refused: bool) {
        let Some(Body::Payment { terms, tokens, .. }) = outgoing.signed else {
            return;
        };
        self.forget_change(terms.challenge);
        if is_refused {
            self.refused.push(tokens);
        }
    }

    fn forget_change(&mut self, challenge: Option<Challenge>) {
        if let Some(challenge) = challenge {
            self.client.forget(&challenge);
        }
    }

    /// Repeats what was not answered, or gives it up while it may.
    pub(super) fn repeat_payments(&mut self, now: Seconds, out: &mut Out) {
        let due = self.outgoing.iter().filter(|(_, of)| of.due_s() <= now);
        let due: Vec<MessageId> = due.map(|(payment, _)| *payment).collect();
        for payment in due {
            let outgoing = self.outgoing.get_mut(&payment).expect("it was here");
            outgoing.wait(now, self.config.settle_interval_s);
            let to = outgoing.to;
            if outgoing.is_open() && now >= outgoing.give_up_s {
                self.send(to, Body::Cancel { payment }, out);
                self.give_up(payment, PayerEvent::Expire, out);
            } else {
                outgoing.happen(PayerEvent::Repeat);
                let offer = offer(payment, outgoing);
                let body = outgoing.signed.clone().unwrap_or(offer);
                self.send(to, body, out);
            }
        }
    }

    fn sign(
        &mut self,
        to: NodeId,
        cents: u64,
        challenge: Option<Challenge>,
        conduct: Conduct,
        out: &mut Out,
    ) -> Option<Vec<Token>> {
        let key = self.key(to)?;
        let mut done = Work::new();
        let tokens = match conduct {
            Conduct::Replay => Some(self.paid.get(&to)?.to_vec()),
            Conduct::Honest => self.client.pay(cents, key, challenge, &mut done).ok(),
            Conduct::DoubleSpend => self.sign_and_keep(cents, key, challenge, &mut done),
        };
        charge(out, &mut done);
        let tokens = tokens?;
        if conduct != Conduct::Replay {
            self.confess(to, &tokens, out);
        }
        if conduct == Conduct::DoubleSpend {
            self.kept.extend(tokens.iter().map(before));
        }
        if self.config.replays {
            self.paid.insert(to, tokens.clone().into());
        }
        Some(tokens)
    }

    fn sign_and_keep(
        &self,
        cents: u64,
        to: PublicKey,
        challenge: Option<Challenge>,
        done: &mut Work,
    ) -> Option<Vec<Token>> {
        let (change, serials) = self.wallet().select(cents, challenge.is_some())?;
        let sign = |serial| self.client.double_spend(serial, to, challenge, done);
        let signed: Option<Vec<Token>> = serials.iter().map(sign).collect();
        signed.filter(|_| change.sum_cents == cents)
    }

    /// What the proofs must answer of change, or of tokens that come back, if there is a
    /// handshake; `None` if nothing can be asked for.
    fn ask_change(&mut self, payee: NodeId) -> Option<Option<Challenge>> {
        let (random, key) = (self.random.bytes(), self.key(payee)?);
        self.client.challenge(random, key).ok()
    }

    fn give_up(&mut self, payment: MessageId, event: PayerEvent, out: &mut Out) {
        let outgoing = self.end(payment, event);
        let reason = match event {
            PayerEvent::Expire => Reason::SocketTimeout,
            _ => Reason::Unserved,
        };
        let row = Event::new(EventKind::Lose, payment, outgoing.to, 0);
        out.push(Output::Observe(row.because(reason)));
    }

    /// `event` is the last of the payment.
    fn end(&mut self, payment: MessageId, event: PayerEvent) -> OutgoingPayment {
        let mut outgoing = self.outgoing.remove(&payment).expect("it was here");
        outgoing.happen(event);
        assert!(PAYER.ends().contains(&outgoing.state), "{event:?}");
        outgoing
    }
}

fn offer(payment: MessageId, outgoing: &OutgoingPayment) -> Body {
    Body::Offer {
        payment,
        amount_cents: outgoing.amount_cents,
        tendered_cents: outgoing.tendered_cents,
    }
}

/// What tokens come to, in cents.
pub(super) fn worth(tokens: &[Token]) -> u64 {
    let cents = |token: &Token| Denomination::from_byte(token.value).map_or(0, Denomination::cents);
    tokens.iter().map(cents).sum()
}

/// Two phones beside each other answer within tenths of a second; assumed.
const REPEAT_S: Seconds = 1.0;
