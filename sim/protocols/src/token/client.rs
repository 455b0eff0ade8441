//! A client: takes tokens after the three-step verification (thesis IV-C), hands them on, and
//! settles with the authority when it can be reached.
//!
//! The steps: the last recipient is this client; a known authority made the first
//! proof; every other proof is that of the recipient before it. Beside them, from
//! us: the value is a denomination, no serial is held twice, and with
//! [`Handshake::Challenge`] the last pair answers a challenge of this client to its giver.
//!
//! A token with one recipient comes from the authority and answers too, or an old
//! one could be replayed like any other: its nonce starts with the challenge that
//! this client put into its order or into the token that it submitted.
//!
//! A payee owns what was signed to it, also if it refuses it. So a payer
//! who got no answer sends the same bytes again; to sign the token to anybody
//! else, or to the same with another challenge, would make the payer the cheat.
//!
//! What deliberately does not live here: messages and timers, and whether an
//! answer is the authority's (who carries it has to make sure).

use std::collections::BTreeSet;

use crate::crypto::Crypto;
use crate::half_block::PublicKey;

use super::challenges::{Busy, Challenges};
use super::layout::Malformed;
use super::proofs::{chain_holds, first_proof_holds, transfer, Signer, Work};
use super::request::{Answer, Submission};
use super::state::State;
use super::wallet::{id, Intent, Wallet};
use super::{Challenge, Denomination, Refusal, Serial, Token};

crate::named_enum! {
    /// What a receiver asks for before it is paid.
    Handshake {
        /// Nothing, as the prototype: an old transfer can be replayed, and its victim is accused.
        None = "none",
        /// That the proof signs a challenge drawn for this payment.
        Challenge = "challenge",
    }
}

/// What became of one token that came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Which token.
    pub serial: Serial,
    /// What it is worth, if it was taken.
    pub outcome: Result<Denomination, Refusal>,
}

/// An amount cannot be paid exactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unpayable {
    /// The smallest amount above it that can be; `None` if the wallet is worth less.
    pub nearest_above_cents: Option<u64>,
}

/// One holder of tokens.
pub struct Client<C> {
    signer: Signer<C>,
    authorities: Vec<PublicKey>,
    handshake: Handshake,
    challenges: Challenges,
    wallet: Wallet,
}

impl<C: Crypto> Client<C> {
    /// With an empty wallet; it trusts first proofs of `authorities`.
    pub fn new(signer: Signer<C>, authorities: Vec<PublicKey>, handshake: Handshake) -> Self {
        Self {
            signer,
            authorities,
            handshake,
            challenges: Challenges::default(),
            wallet: Wallet::default(),
        }
    }

    /// As it was when `state` was taken. Proofs are not checked again.
    ///
    /// # Errors
    /// When no client of this key can have been in such a state.
    pub fn restore(
        signer: Signer<C>,
        authorities: Vec<PublicKey>,
        handshake: Handshake,
        state: State,
    ) -> Result<Self, Malformed> {
        let (challenges, wallet) = state.parts(signer.public_key())?;
        Ok(Self {
            signer,
            authorities,
            handshake,
            challenges,
            wallet,
        })
    }

    /// All that it must not forget, but for its key.
    pub fn state(&self) -> State {
        State::of(&self.challenges, &self.wallet)
    }

    /// Which takes tokens that have, with the authority, up to `count` recipients; else it is
    /// [`super::RECIPIENTS_TAKEN`]. Nobody may take more than its authority does.
    pub fn with_recipients_max(mut self, count: usize) -> Self {
        self.wallet.recipients_max = count;
        self
    }

    /// Its name.
    pub fn public_key(&self) -> &PublicKey {
        self.signer.public_key()
    }

    /// What it asks for before it is paid.
    pub fn handshake(&self) -> Handshake {
        self.handshake
    }

    /// What it holds.
    pub fn wallet(&self) -> &Wallet {
        &self.wallet
    }

    /// Ask for a payment or for new tokens: what the proofs of `giver`, or the authority's nonces,
    /// must carry.
    ///
    /// It is good for all that `giver` gives until 64 others were used, and for nobody else;
    /// `random` has to be fresh. `None` without a handshake.
    ///
    /// # Errors
    /// When 64 payments are outstanding, or 64 orders (those are asked of an authority that is
    /// trusted). Nothing is forgotten by itself: who had signed already would pay for nothing.
    pub fn challenge(
        &mut self,
        random: Challenge,
        giver: PublicKey,
    ) -> Result<Option<Challenge>, Busy> {
        if !self.is_challenging() {
            return Ok(None);
        }
        let is_order = self.authorities.contains(&giver);
        self.challenges.issue(random, giver, is_order)?;
        Ok(Some(random))
    }

    /// Give a challenge up that nobody has answered; whether there was such a one.
    ///
    /// Whoever has signed an answer to it all the same has paid, and is refused.
    pub fn forget(&mut self, challenge: &Challenge) -> bool {
        self.challenges.forget(challenge)
    }

    /// Take the tokens of one payment, or of one order; each is judged for itself.
    ///
    /// Who is refused with [`Refusal::AlreadyHeld`] has paid nothing, and the token is kept
    /// as disputed: see [`Wallet::disputed`].
    pub fn receive(&mut self, tokens: Vec<Token>, work: &mut Work) -> Vec<Receipt> {
        let mut seen = BTreeSet::new();
        let mut receipts = Vec::with_capacity(tokens.len());
        for token in tokens {
            let serial = token.serial;
            let outcome = if seen.insert(id(&token)) {
                self.judge(&token, work)
            } else {
                Err(Refusal::DuplicateSerial)
            };
            if matches!(outcome, Ok(_) | Err(Refusal::AlreadyHeld)) {
                self.challenges.take(&token);
                self.keep(token, outcome.is_ok());
            }
            receipts.push(Receipt { serial, outcome });
        }
        receipts
    }

    /// Pay `amount_cents` exactly, with the fewest tokens.
    ///
    /// # Errors
    /// When the wallet has no exact change; nothing is spent then.
    pub fn pay(
        &mut self,
        amount_cents: u64,
        to: PublicKey,
        challenge: Option<Challenge>,
        work: &mut Work,
    ) -> Result<Vec<Token>, Unpayable> {
        let chosen = self
            .wallet
            .choose(amount_cents, challenge.is_some(), Some(&to));
        match chosen {
            Some((change, ids)) if change.sum_cents == amount_cents => {
                let tokens = ids.iter().filter_map(|id| self.wallet.take(id));
                let tokens: Vec<Token> = tokens.collect();
                let sign = |token| self.signed_over(token, to, challenge, work);
                let signed = tokens.iter().map(sign).collect::<Option<_>>();
                Ok(signed.expect("what is chosen can be handed on"))
            }
            other => Err(Unpayable {
                nearest_above_cents: other.map(|(change, _)| change.sum_cents),
            }),
        }
    }

    /// Hand one token on; `None` if it is not held or has no room for such a recipient and,
    /// after it, for the authority; if another of its serial is here and may be the good one;
    /// or if `to` is its authority, which is what [`Client::submit`] is for.
    pub fn hand_on(
        &mut self,
        serial: &Serial,
        to: PublicKey,
        challenge: Option<Challenge>,
        work: &mut Work,
    ) -> Option<Token> {
        let token = self.wallet.spendable(serial, &to)?;
        let signed = self.signed_over(token, to, challenge, work)?;
        self.wallet.take(&id(&signed));
        Some(signed)
    }

    /// For experiments: hand a token on and keep it (ClientCommunity.kt:37-43 has that option).
    pub fn double_spend(
        &self,
        serial: &Serial,
        to: PublicKey,
        challenge: Option<Challenge>,
        work: &mut Work,
    ) -> Option<Token> {
        self.signed_over(self.wallet.token(serial)?, to, challenge, work)
    }

    /// Sign a token over to its authority; it is pending until [`Client::settle`].
    ///
    /// `random` is the challenge that the reissued token has to answer. Repeat a submission
    /// that got no answer with [`Client::resubmissions`], not by submitting again. `None` if
    /// there is no such token, one of its authority and serial is pending, or it is fresh and `intent` is to
    /// reissue it.
    pub fn submit(
        &mut self,
        serial: &Serial,
        intent: Intent,
        random: Challenge,
        work: &mut Work,
    ) -> Option<Submission> {
        let mut token = self.wallet.take_to_submit(serial, intent)?;
        let fresh = token.recipients().len() == 1;
        let challenged = token.is_challenged() || fresh && self.is_challenging();
        let (to, challenge) = (token.authority, challenged.then_some(random));
        let signed = transfer(&mut token, &self.signer, to, challenge, work);
        signed.expect("what was received has room for the authority");
        self.wallet.put_pending(token.clone(), intent);
        Some(self.submission(token, intent))
    }

    /// What was submitted and not answered, byte for byte as it was.
    pub fn resubmissions(&self) -> Vec<Submission> {
        let pending = self.wallet.pending();
        pending
            .map(|(token, intent)| self.submission(token.clone(), *intent))
            .collect()
    }

    /// Take the authority's answer: a reissued token replaces the submitted one.
    ///
    /// `None` if nothing was pending that this answers, as when it is late or came twice. After a refusal or a redemption the
    /// token is gone; the authority keeps the evidence.
    pub fn settle(&mut self, answer: Answer, work: &mut Work) -> Option<Receipt> {
        let serial = answer.serial();
        let (last_proof, refusal) = match answer {
            Answer::Reissued(token) => {
                self.wallet.submitted(&id(&token))?;
                return self.receive(vec![token], work).pop();
            }
            Answer::Redeemed { last_proof, .. } => (last_proof, None),
            Answer::Refused {
                last_proof, reason, ..
            } => (last_proof, Some(reason)),
        };
        let submitted = self.wallet.take_pending(&serial, &last_proof)?;
        let denomination = Denomination::from_byte(submitted.value);
        let denomination = denomination.expect("a wallet takes denominations only");
        let outcome = refusal.map_or(Ok(denomination), Err);
        Some(Receipt { serial, outcome })
    }

    fn signed_over(
        &self,
        token: &Token,
        to: PublicKey,
        challenge: Option<Challenge>,
        work: &mut Work,
    ) -> Option<Token> {
        let mut token = Some(token)
            .filter(|token| self.wallet.is_payable(token, challenge.is_some()))?
            .clone();
        transfer(&mut token, &self.signer, to, challenge, work).ok()?;
        Some(token)
    }

    fn submission(&self, token: Token, intent: Intent) -> Submission {
        Submission {
            submitter: *self.public_key(),
            token,
            intent,
        }
    }

    fn keep(&mut self, token: Token, is_payment: bool) {
        if is_payment {
            self.wallet.put(token);
        } else {
            self.wallet.dispute(token);
        }
    }

    fn is_challenging(&self) -> bool {
        self.handshake == Handshake::Challenge
    }

    /// What is cheap comes before the proofs.
    fn judge(&self, token: &Token, work: &mut Work) -> Result<Denomination, Refusal> {
        let denomination =
            Denomination::from_byte(token.value).ok_or(Refusal::InvalidDenomination)?;
        ensure(
            token.last_recipient().key == *self.public_key(),
            Refusal::WrongRecipient,
        )?;
        ensure(
            self.authorities.contains(&token.authority),
            Refusal::UnknownAuthority,
        )?;
        let room = self.wallet.room(token, token.is_challenged());
        ensure(room > 0, Refusal::NoRoom)?;
        self.judge_novelty(token)?;
        ensure(
            first_proof_holds::<C>(token, work),
            Refusal::InvalidFirstProof,
        )?;
        ensure(chain_holds::<C>(token, work), Refusal::InvalidProof)?;
        // Last: who is refused for this alone has signed a good token away.
        if self.conflicts(token) {
            let has_room = self.wallet.has_room_to_dispute(token);
            ensure(has_room, Refusal::TooManyDisputed)?;
            return Err(Refusal::AlreadyHeld);
        }
        Ok(denomination)
    }

    /// Whether it may come in now, and not before or besides.
    fn judge_novelty(&self, token: &Token) -> Result<(), Refusal> {
        let fresh = token.recipients().len() == 1;
        let submitted = self.wallet.submitted(&id(token));
        if let (true, Some(submitted)) = (fresh, submitted) {
            ensure(token.value == submitted.value, Refusal::WrongValue)?;
            let asked = submitted.last_recipient().challenge;
            let answers = asked.is_none_or(|asked| token.nonce.starts_with(&asked));
            return ensure(answers, Refusal::UnknownChallenge);
        }
        if self.is_challenging() {
            self.challenges.check(token)?;
        }
        Ok(())
    }

    /// Whether another token of its serial is here, which it does not replace.
    fn conflicts(&self, token: &Token) -> bool {
        let replaces = token.recipients().len() == 1;
        match self.wallet.submitted(&id(token)) {
            Some(_) => !replaces,
            None => self.wallet.holds(&id(token)),
        }
    }
}

fn ensure(holds: bool, refusal: Refusal) -> Result<(), Refusal> {
    holds.then_some(()).ok_or(refusal)
}
