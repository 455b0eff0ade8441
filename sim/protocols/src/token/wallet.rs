//! What a client holds: verified and unverified tokens, and those with the authority.
//!
//! *Verified* is a token as the authority made it, with one recipient; one that
//! came from another client is *unverified* until the authority has reissued it
//! (ClientCommunity.kt:75-99 keeps the same two sets). A token that was submitted
//! is *pending* and cannot be spent: its holder has signed it away, and to sign it
//! to somebody else would be the crime. *Disputed* is a token whose serial is held
//! already: somebody before has spent it twice, and which of the two the authority
//! will honour depends on what came back first. It is no payment, yet whoever
//! signed it over no longer has it, so it is kept, to be submitted and not spent.
//!
//! What deliberately does not live here: signatures, and what may come in.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, Denomination, Held, Serial, Token, RECIPIENTS_TAKEN};

crate::named_enum! {
    /// What a client wants of the authority for a token.
    Intent {
        /// A fresh token of the same value.
        Reissue = "reissue",
        /// Its value, out of circulation; the thesis has no such step.
        Redeem = "redeem",
    }
}

/// Tokens of one client, at most one of each serial to spend.
#[derive(Clone, Debug)]
pub struct Wallet {
    pub(super) recipients_max: usize,
    held: BTreeMap<Serial, Token>,
    pending: BTreeMap<Serial, (Token, Intent)>,
    disputed: BTreeMap<Serial, Vec<Token>>,
}

impl Default for Wallet {
    fn default() -> Self {
        Self {
            recipients_max: RECIPIENTS_TAKEN,
            held: BTreeMap::new(),
            pending: BTreeMap::new(),
            disputed: BTreeMap::new(),
        }
    }
}

impl Wallet {
    /// Tokens that can be spent, in the order of their serials.
    pub fn held(&self) -> impl Iterator<Item = &Token> {
        self.held.values()
    }

    /// Tokens that came from other clients: the authority may yet refuse them.
    pub fn unverified(&self) -> impl Iterator<Item = &Token> {
        self.held().filter(|token| !is_fresh(token))
    }

    /// Tokens as submitted, for which no answer has come, and what for.
    pub fn pending(&self) -> impl Iterator<Item = &(Token, Intent)> {
        self.pending.values()
    }

    /// Tokens that came while another of their serial was here.
    pub fn disputed(&self) -> impl Iterator<Item = &Token> {
        self.disputed.values().flatten()
    }

    /// Worth of all that can be spent, in cents.
    pub fn held_cents(&self) -> u64 {
        self.held().map(cents).sum()
    }

    /// Worth of what the authority has not verified, in cents.
    pub fn unverified_cents(&self) -> u64 {
        self.unverified().map(cents).sum()
    }

    /// Worth of what is with the authority, in cents.
    pub fn pending_cents(&self) -> u64 {
        self.pending().map(|(token, _)| cents(token)).sum()
    }

    /// Unverified tokens to submit when the authority is back: the longest history first.
    ///
    /// Each hand that a token went through may have spent it twice, and the first branch
    /// that comes back is the one that counts. One of each serial: disputed ones follow
    /// when that is answered.
    pub fn to_submit(&self) -> Vec<Serial> {
        let doubted = self.disputed.values().flatten();
        let open = |token: &&Token| !self.pending.contains_key(&token.serial);
        let mut tokens: Vec<&Token> = self.unverified().chain(doubted).filter(open).collect();
        tokens.sort_by_key(|token| std::cmp::Reverse(token.recipients().len()));
        let mut seen = BTreeSet::new();
        let serials = tokens.iter().map(|token| token.serial);
        serials.filter(|serial| seen.insert(*serial)).collect()
    }

    /// Tokens for `amount_cents`, or for the nearest payable amount above it; and what they are.
    ///
    /// Only undisputed tokens with room for two more recipients. Of equal ones those with the longest
    /// history go first: what stays is short, so cheap to carry, or was verified.
    pub fn select(&self, amount_cents: u64, challenged: bool) -> Option<(Change, Vec<Serial>)> {
        let mut drawers = self.drawers(challenged);
        let counts = |drawer: &Vec<&Token>| u32::try_from(drawer.len()).expect("fits in memory");
        let held: Held = std::array::from_fn(|place| counts(&drawers[place]));
        let change = Change::nearest(amount_cents, &held)?;
        let mut serials = Vec::new();
        for (drawer, count) in drawers.iter_mut().zip(change.counts) {
            drawer.sort_by_key(|token| std::cmp::Reverse(token.recipients().len()));
            serials.extend(drawer[..count as usize].iter().map(|token| token.serial));
        }
        Some((change, serials))
    }

    /// The spendable tokens by denomination.
    fn drawers(&self, challenged: bool) -> [Vec<&Token>; Denomination::COUNT] {
        let mut drawers = [const { Vec::new() }; Denomination::COUNT];
        for token in self.held() {
            if self.is_payable(token, challenged) && !self.is_doubted(token) {
                drawers[denomination(token).place()].push(token);
            }
        }
        drawers
    }

    /// Whether another token of its serial is here or with the authority, and may be the good one.
    fn is_doubted(&self, token: &Token) -> bool {
        let serial = &token.serial;
        let is_rivalled = self.disputed.contains_key(serial) || self.pending.contains_key(serial);
        !is_fresh(token) && is_rivalled
    }

    pub(super) fn put_disputed(&mut self, token: Token) {
        self.disputed.entry(token.serial).or_default().push(token);
    }

    /// Whether it can be handed on so that who gets it can hand it to the authority.
    pub(super) fn is_payable(&self, token: &Token, challenged: bool) -> bool {
        token.can_take(challenged).is_ok() && self.room(token, challenged) > 1
    }

    /// How many more recipients it can have before the authority refuses it.
    pub(super) fn room(&self, token: &Token, challenged: bool) -> usize {
        let taken = self.recipients_max.saturating_sub(token.recipients().len());
        taken.min(token.room(challenged))
    }

    pub(super) fn token(&self, serial: &Serial) -> Option<&Token> {
        self.held.get(serial)
    }

    pub(super) fn submitted(&self, serial: &Serial) -> Option<&Token> {
        self.pending.get(serial).map(|(token, _)| token)
    }

    /// A reissued token takes the place of the one that was submitted, and of an older one.
    pub(super) fn put(&mut self, token: Token) {
        if is_fresh(&token) {
            self.pending.remove(&token.serial);
        }
        self.held.insert(token.serial, token);
    }

    /// Keep a token beside the one that is here, unless it is the same, or of a life that is over.
    pub(super) fn dispute(&mut self, token: Token) {
        let is_useless = is_fresh(&token) || self.knows(&token);
        if !is_useless && self.disputed().count() < DISPUTED_MAX {
            self.put_disputed(token);
        }
    }

    pub(super) fn take(&mut self, serial: &Serial) -> Option<Token> {
        self.held.remove(serial)
    }

    /// What to submit of a serial: the held token, or else a disputed one.
    pub(super) fn take_to_submit(&mut self, serial: &Serial, intent: Intent) -> Option<Token> {
        if self.pending.contains_key(serial) {
            return None;
        }
        let held = self.held.get(serial);
        match held.filter(|held| intent == Intent::Redeem || !is_fresh(held)) {
            Some(_) => self.take(serial),
            None => self.take_disputed(serial),
        }
    }

    /// Whether this very token is here, or was submitted.
    fn knows(&self, token: &Token) -> bool {
        let serial = &token.serial;
        let here = self.held.get(serial).into_iter();
        let doubted = self.disputed.get(serial).into_iter().flatten();
        here.chain(self.submitted(serial))
            .chain(doubted)
            .any(|known| known.recipients().starts_with(token.recipients()))
    }

    fn take_disputed(&mut self, serial: &Serial) -> Option<Token> {
        let tokens = self.disputed.get_mut(serial)?;
        let token = tokens.pop();
        if tokens.is_empty() {
            self.disputed.remove(serial);
        }
        token
    }

    pub(super) fn put_pending(&mut self, token: Token, intent: Intent) {
        self.pending.insert(token.serial, (token, intent));
    }

    pub(super) fn take_pending(&mut self, serial: &Serial) -> Option<Token> {
        self.pending.remove(serial).map(|(token, _)| token)
    }
}

/// Whether it is as the authority made it.
fn is_fresh(token: &Token) -> bool {
    token.recipients().len() == 1
}

fn denomination(token: &Token) -> Denomination {
    Denomination::from_byte(token.value).expect("a wallet takes denominations only")
}

fn cents(token: &Token) -> u64 {
    denomination(token).cents()
}

/// Disputed tokens come with proofs and an asked-for challenge, so slowly; a bound all the same.
pub(super) const DISPUTED_MAX: usize = 1_024;
